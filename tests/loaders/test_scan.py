"""A table merged where it lies gives the same data on every engine, and the answers that all of its rows give."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.loaders import scan as scan_module
from evalstats.loaders.engines import lazy_table, open_table
from evalstats.table import merged
from evalstats.table.items import trial_sets
from evalstats.table.merged import merged_rows, remote_table

COLUMNS: dict[str, Any] = {"item": "question", "score": "my.score", "model": "llm", "scenario": "^kind$", "grp": "grp"}
WITH_TRIALS = COLUMNS | {"trial": "attempt"}
TOLERANCE = 1e-12


def rows(n_items: int = 60, n_trials: int = 4, *, clean: bool = False) -> pl.DataFrame:
    """Trials of three models, with empty scores, NaN, -0 and names that are not plain, in no order."""
    rng = np.random.default_rng(7)
    found: list[tuple[object, ...]] = []
    for model, more in (("Größe-β", 0.0), ("model.b", 0.08), ("模型", 0.2)):
        for item in range(n_items):
            easy = 0.2 + 0.5 * ((item * 7) % 10) / 10
            for trial in range(n_trials):
                score: float | None = float(rng.random() < easy + more)
                if not clean and rng.random() < 0.05:
                    score = [None, float("nan"), -0.0][int(rng.integers(3))]
                found.append((f"q {item}é", model, trial, score, f"kind {item % 3}", f"g{item // 4}", rng.random()))
    schema = ["question", "llm", "attempt", "my.score", "^kind$", "grp", "latency"]
    return pl.DataFrame(found, schema=schema, orient="row").sample(fraction=1.0, shuffle=True, seed=1)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return rows()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none on the PATH")
    build = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = build.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def database(table: pl.DataFrame, folder: Path) -> str:
    path = folder / "results.duckdb"
    connection = duckdb.connect(str(path))
    connection.register("given", table.to_arrow())
    connection.execute('create table "the rows" as select * from given; create table other (x int)')
    connection.close()
    return f"{path}::the rows"


def parquet(table: pl.DataFrame, folder: Path) -> Path:
    """Write a folder whose names engines would take for patterns."""
    inner = folder / "a [1]*b"
    inner.mkdir()
    table.head(300).write_parquet(inner / "part?.parquet")
    table.slice(300).write_parquet(inner / "part 2.parquet")
    return inner


SOURCES: dict[str, Callable[[pl.DataFrame, Path], dict[str, Any]]] = {
    "polars": lambda table, _: {"source": table.lazy()},
    "polars path": lambda table, folder: {"source": parquet(table, folder)},
    "pandas": lambda table, _: {"source": table.to_pandas()},
    "duckdb": lambda table, _: {"source": duckdb.from_arrow(table.to_arrow())},
    "duckdb path": lambda table, folder: {"source": parquet(table, folder), "engine": "duckdb"},
    "duckdb table": lambda table, folder: {"source": database(table, folder), "engine": "duckdb"},
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_engine_gives_the_same_data(source: str, table: pl.DataFrame, tmp_path: Path) -> None:
    wanted = es.scan(table.lazy(), **WITH_TRIALS)
    data = es.scan(**SOURCES[source](table, tmp_path), **WITH_TRIALS)
    if source == "pandas":  # which has no null of its own: an empty score is NaN there, and both are unscored
        names = ["model", "item", "status"]
        assert counts(data, *names, "score") == counts(wanted, *names, "score")
        return
    assert data.outcomes.equals(wanted.outcomes)
    assert trial_sets(data.outcomes) is not None
    assert data.runs.drop("source").equals(wanted.runs.drop("source"))


@pytest.mark.filterwarnings("ignore")  # of Spark about pandas, and of what Java leaves open
def test_spark_gives_the_same_data(spark: Any, table: pl.DataFrame, tmp_path: Path) -> None:
    wanted = es.scan(table.lazy(), **WITH_TRIALS)
    folder = parquet(table, tmp_path)
    frame = lazy_table(folder, "spark")
    assert type(frame).__module__.startswith("pyspark")
    frame.createOrReplaceTempView("scanned_rows")
    for given in (
        {"source": folder, "engine": "spark"},
        {"source": frame},
        {"source": "scanned_rows", "engine": "spark"},
    ):
        data = es.scan(**given, **WITH_TRIALS)
        assert data.outcomes.equals(wanted.outcomes)
    with pytest.raises(es.InputError, match="no_such_table"):
        es.scan("no_such_table", engine="spark", **WITH_TRIALS)


@pytest.mark.filterwarnings("ignore")  # as above
@pytest.mark.parametrize("named", [False, True])
def test_spark_knows_the_same_trials(spark: Any, tmp_path: Path, *, named: bool) -> None:
    made, columns = run_rows(named=named), COLUMNS | {"trial": "seed" if named else "attempt"}
    made.write_parquet(tmp_path / "runs.parquet")
    data = es.scan(tmp_path / "runs.parquet", engine="spark", **columns)
    assert data.outcomes.equals(es.scan(made.lazy(), **columns).outcomes)
    assert trial_sets(data.outcomes) is not None


@pytest.mark.filterwarnings("ignore")  # as above
def test_spark_ranks_the_same(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    votes().write_parquet(path)
    same_ranking(es.arena(lazy_table(path, "spark"), checks=False), es.arena(pl.scan_parquet(path), checks=False))


def counts(data: es.EvalData, *names: str) -> dict[tuple[object, ...], int]:
    summed = data.outcomes.group_by(names).agg(pl.col("n_trials").sum())
    return {row[:-1]: row[-1] for row in summed.iter_rows()}


def test_counts_are_those_of_a_plain_loop(table: pl.DataFrame) -> None:
    counted: Counter[tuple[object, ...]] = Counter()
    for row in table.iter_rows(named=True):
        score = row["my.score"]
        empty = score is None or np.isnan(score)
        counted[row["llm"], row["question"], "unscored" if empty else "scored", None if empty else score + 0.0] += 1
    data = es.scan(duckdb.from_arrow(table.to_arrow()), **WITH_TRIALS)
    assert counts(data, "model", "item", "status", "score") == counted
    n_empty = sum(n for key, n in counted.items() if key[2] == "unscored")
    assert data.runs["n_unscored"].sum() == n_empty
    assert any(f"{n_empty} rows have no score" in each.message for each in data.problems)
    assert data.merged


def numbers(found: object) -> list[float]:
    """Every number of a result, in order, without what names its rows and files."""
    if isinstance(found, dict):
        left = {
            "sources",
            "settings",
            "runs",
            "locator",
            "flipped",
            "notes",
            "baseline_source",
            "candidate_source",
            "version",
        }
        return [x for key in sorted(found) if key not in left for x in numbers(found[key])]
    if isinstance(found, list):
        return [x for each in found for x in numbers(each)]
    return [float(found)] if isinstance(found, int | float) else []


QUESTIONS: dict[str, Callable[[es.EvalData], Any]] = {
    "compare": lambda data: es.compare(data, "Größe-β", "模型"),
    "compare, clustered": lambda data: es.compare(data, "Größe-β", "模型", cluster="grp", by="scenario"),
    "leaderboard": lambda data: es.leaderboard(data, cluster="grp"),
    "scenarios": es.scenarios,
    "score": lambda data: es.score(data, "模型"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_of_one_trial_the_whole_answer_is_that_of_rows(question: str) -> None:
    table = rows(n_trials=1, clean=True)
    held = es.from_frame(table.drop("latency"), **WITH_TRIALS)
    data = es.scan(table.lazy(), **COLUMNS)
    assert not data.merged
    wanted, found = (numbers(QUESTIONS[question](each).to_dict()) for each in (held, data))
    assert len(wanted) > 10
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE)


def run_rows(*, named: bool) -> pl.DataFrame:
    """Trials whose whole runs differ, some of which lack items; `named`: by a seed that all models share."""
    rng = np.random.default_rng(11)
    found: list[tuple[object, ...]] = []
    for number, (model, more) in enumerate((("Größe-β", 0.0), ("model.b", 0.08), ("模型", 0.2))):
        moved = rng.normal(scale=0.12, size=5)
        for item, trial in np.ndindex(80, 5):
            if rng.random() < 0.02 or (trial == 4 and item % 3 and number == 1):
                continue
            score = 1.0 * (rng.random() < 0.1 + 0.07 * (item % 10) + more + moved[trial])
            when: object = f"seed {9 - trial}" if named else int(trial)
            found.append((f"q{item}", model, when, score, f"kind {item % 3}", f"g{item // 4}"))
    columns = ["question", "llm", "seed" if named else "attempt", "my.score", "^kind$", "grp"]
    return pl.DataFrame(found, schema=columns, orient="row").sample(fraction=1.0, shuffle=True, seed=2)


TRIALS_ASKED = QUESTIONS | {
    "runs": lambda data: es.compare(data, "Größe-β", "模型", runs="sample"),
    "a board of runs": lambda data: es.leaderboard(data, runs="sample"),
    "shared trials": lambda data: es.compare(data, "Größe-β", "模型", shared_trials=True),
    "independent trials": lambda data: es.compare(data, "Größe-β", "模型", shared_trials=False),
    "average": lambda data: es.compare(data, "Größe-β", "model.b", average="macro", over="scenario"),
    "some items": lambda data: es.compare(data.where(scenario="kind 1"), "model.b", "模型"),
    "pass^2": lambda data: es.compare(data, "Größe-β", "模型", pass_hat=2),
    "some models": lambda data: es.leaderboard(data, models=("Größe-β", "模型")),
}


def test_a_run_and_its_model_are_one_system_in_merged_rows_too() -> None:
    data = es.scan(run_rows(named=False).lazy(), **WITH_TRIALS)
    run = data.outcomes.filter(pl.col("model") == "模型")["run"][0]
    with pytest.raises(es.InputError, match=r"share rows of the run .*: a system cannot stand in a leaderboard twice"):
        es.leaderboard(data, models=("模型", run, "Größe-β"))


@cache
def both_of(kind: str) -> tuple[es.EvalData, es.EvalData]:
    """Trials of a kind, held as rows and merged where they lie."""
    made = rows().drop("latency") if kind == "with empty scores" else run_rows(named=kind == "named")
    columns = COLUMNS | {"trial": "seed" if kind == "named" else "attempt"}
    return es.from_frame(made, **columns), es.scan(duckdb.from_arrow(made.to_arrow()), **columns)


# Who looks at the names of trials, and at empty scores: they reach other questions no other way.
ALSO_ASKED = {
    "numbered": set(TRIALS_ASKED),
    "named": {"runs", "a board of runs", "shared trials", "independent trials"},
    "with empty scores": {"compare, clustered", "leaderboard", "score", "pass^2", "some items"},
}


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        pytest.param(kind, question, marks=() if question in asked else pytest.mark.slow)
        for kind, asked in ALSO_ASKED.items()
        for question in TRIALS_ASKED
    ],
)
def test_of_several_trials_the_whole_answer_is_that_of_rows(kind: str, question: str) -> None:
    held, data = both_of(kind)
    assert data.merged
    first, second = (TRIALS_ASKED[question](each) for each in (held, data))
    wanted, found = numbers(first.to_dict()), numbers(second.to_dict())
    assert len(wanted) > 10
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE)
    assert [note.text for note in second.notes] == [note.text for note in first.notes]


def test_runs_among_merged_rows_make_an_interval_longer() -> None:
    made = run_rows(named=False)
    known = es.compare(es.scan(made.lazy(), **WITH_TRIALS), "Größe-β", "模型", runs="sample")
    unknown = es.compare(es.scan(made.lazy(), **COLUMNS, trial="#order"), "Größe-β", "模型")
    assert known.method.endswith("runs counted")
    assert known.conf_high - known.conf_low > 1.5 * (unknown.conf_high - unknown.conf_low)
    assert not unknown.runs_counted  # and it says so
    assert any("Which trials made up one run is not known" in note.text for note in unknown.notes)
    assert not any("one run is not known" in note.text for note in known.notes)
    with pytest.raises(es.CannotAnswerError, match="name the column that tells them apart"):
        es.compare(es.scan(made.lazy(), **COLUMNS, trial="#order"), "Größe-β", "模型", shared_trials=True)


def test_only_the_merged_rows_are_collected(table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[int] = []
    plain = merged.collected

    def watched(frame: Any) -> pl.DataFrame:
        found = plain(frame)
        fetched.append(found.height)
        return found

    monkeypatch.setattr(merged, "collected", watched)
    for trial in ("#order", "attempt"):
        fetched.clear()
        data = es.scan(table.lazy(), **{**COLUMNS, "trial": trial})
        # Of two scores an item and model has at most four rows: 0, 1, null, NaN, and -0 where an engine keeps it apart.
        assert max(fetched) < 0.7 * table.height
        assert len(fetched) == (1 if trial == "#order" else 2)  # the trials, then the rows
        assert data.outcomes["n_trials"].sum() == table.height


def test_too_many_different_rows_are_refused_before_they_are_fetched(table: pl.DataFrame) -> None:
    with pytest.raises(es.CannotAnswerError, match="more than 50 rows differ in question, llm"):
        merged_rows(remote_table(table.lazy()), ["question", "llm"], most=50)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"trial": None}, "items of a model stand in several rows"),
        ({"trial": "grp"}, "with the same trial"),
        ({"item": "#row"}, "no order"),
        ({"item": "nope"}, "there is no column 'nope'"),
        ({"engine": "dask"}, "there is no engine 'dask'"),
        ({"engine": "duckdb"}, "the frame is one of polars"),
        ({"n_trials": "attempt"}, "averages already"),
        ({"judge": "grp"}, "those of 15 judges"),
    ],
)
def test_what_counts_cannot_tell_is_refused(given: dict[str, Any], said: str, table: pl.DataFrame) -> None:
    with pytest.raises(es.InputError, match=said):
        es.scan(table.lazy(), **{**WITH_TRIALS, **given})


def test_a_copy_of_the_table_is_refused_though_its_rows_are_merged(table: pl.DataFrame) -> None:
    other_group, other_score = (
        table.head(1).with_columns(pl.lit(value).alias(name)) for name, value in (("grp", "g"), ("my.score", 7.0))
    )
    for copy in (table, table.head(1), other_group, other_score):
        twice = pl.concat([table, copy])
        with pytest.raises(es.InputError, match="a row stands 2 times with the same trial"):
            es.scan(twice.lazy(), **WITH_TRIALS)
        with pytest.raises(es.InputError, match="repeat"):
            es.from_frame(twice.drop("latency"), **WITH_TRIALS)


def test_questions_about_single_rows_are_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    data = es.scan(table.lazy(), **WITH_TRIALS)
    asked: list[Callable[[], object]] = [
        lambda: es.audit(data),
        lambda: es.overview(data),
        lambda: es.judges(data),
        lambda: es.gap(data, data),
        lambda: es.frontier(data),
        lambda: es.contamination(data, split="scenario"),
        lambda: es.mixed("score ~ model + (1|item)", data),
        lambda: es.power(pilot=data, baseline="Größe-β", candidate="模型"),
        lambda: es.export(data, tmp_path / "out"),
        lambda: es.compare(data, "Größe-β", "模型", sequential=True),
        data.trials_from_runs,
    ]
    for ask in asked:
        with pytest.raises(es.CannotAnswerError, match="needs single rows"):
            ask()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_paths_that_are_no_table_are_refused(engine: str, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no more")
    (tmp_path / "x.csv").write_text("item,score\n")
    (tmp_path / "empty").mkdir()
    for name, said in {
        "x.parquet": "cannot be opened",
        "x.csv": "is no Parquet file",
        "empty": "holds no file",
        "none.parquet": "there is no file",
    }.items():
        with pytest.raises(es.UnreadableFileError, match=said):
            open_table(tmp_path / name, engine)


def test_a_database_of_several_tables_needs_the_name_of_one(table: pl.DataFrame, tmp_path: Path) -> None:
    path = database(table, tmp_path).partition("::")[0]
    with pytest.raises(es.InputError, match=r"holds 2 tables; name one as .*::TABLE: other, the rows"):
        open_table(path, "duckdb")
    with pytest.raises(es.InputError, match="has no table 'x'"):
        open_table(f"{path}::x", "duckdb")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table.write_parquet(path)
    for engine, package in {"duckdb": "duckdb", "spark": "pyspark.sql"}.items():
        monkeypatch.setitem(__import__("sys").modules, package, None)
        with pytest.raises(
            es.InputError, match=rf"the engine {engine} is not installed; pip install 'evalstats-toolkit\[{engine}\]'"
        ):
            open_table(path, engine)


def test_the_order_of_rows_moves_nothing(table: pl.DataFrame) -> None:
    assert es.scan(table.reverse().lazy(), **WITH_TRIALS).outcomes.equals(es.scan(table.lazy(), **WITH_TRIALS).outcomes)


def test_columns_left_out_are_named(table: pl.DataFrame) -> None:
    told = [each.message for each in es.scan(table.lazy(), **WITH_TRIALS).problems]
    assert any("columns dropped: latency" in each for each in told)
    assert scan_module.MOST_ROWS == merged.MOST_ROWS


def votes(*, weighted: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    n = 4000
    a = rng.integers(0, 6, n)
    b = (a + rng.integers(1, 6, n)) % 6
    first = rng.random(n) < 0.5 + 0.05 * (b - a)
    winner = np.where(rng.random(n) < 0.1, "tie", np.where(first, "model_a", "model_b"))
    rater = [None if rng.random() < 0.1 else f"ü{rng.integers(0, 300)}" for _ in range(n)]
    found = pl.DataFrame(
        {
            "model_a": [f"m{k}" for k in a],
            "model_b": [f"m{k}" for k in b],
            "winner": winner,
            "rater": rater,
            "od.d": 1.0,
        }
    )
    return found.with_columns(weight=pl.Series(rng.choice([0.5, 1.0, 2.0], n))) if weighted else found


def same_ranking(found: es.ArenaRanking, wanted: es.ArenaRanking) -> None:
    assert [row.name for row in found.rows] == [row.name for row in wanted.rows]
    assert found.n_votes == wanted.n_votes
    for name in ("estimate", "std_error", "conf_low", "conf_high"):
        first, second = ([getattr(row, name) for row in each.rows] for each in (found, wanted))
        np.testing.assert_allclose(first, second, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cluster", ["auto", "none"])
def test_votes_on_duckdb_rank_as_streamed_ones(cluster: str, tmp_path: Path, *, weighted: bool) -> None:
    path = tmp_path / "votes.parquet"
    votes(weighted=weighted).write_parquet(path)
    wanted = es.arena(pl.scan_parquet(path), cluster=cluster, checks=False)
    same_ranking(es.arena(lazy_table(path, "duckdb"), cluster=cluster, checks=False), wanted)
