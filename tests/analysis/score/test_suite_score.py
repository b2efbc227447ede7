"""The score of a suite of tasks: its average and interval, the rows of tasks, and what the harness publishes of groups."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.analysis.score.result import Score, Scores
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.stratified import stratified_wilson
from tests.analysis.builders import data_of, printed, rows_of
from tests.suites import GROUPS, TASKS, pooled, write_suite

# Sums in another order.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> es.EvalData:
    return es.read(write_suite(tmp_path_factory.mktemp("suite"), {"base": 0.0, "large": 0.4}))


def one(data: es.EvalData, name: str, **options: object) -> Score:
    found = es.score(data, name, **options)  # type: ignore[arg-type]
    assert isinstance(found, Score)
    return found


def scores_of(data: es.EvalData, name: str, **levels: str) -> dict[str, np.ndarray]:
    rows = data.outcomes.filter(pl.col("model") == name, **levels)
    return {str(task): part["score"].to_numpy() for (task,), part in rows.group_by("benchmark")}


def test_every_task_counts_alike_and_a_group_is_one_task(suite: es.EvalData) -> None:
    found, own = one(suite, "base"), scores_of(suite, "base")
    assert len(own) == 20
    assert found.average == "macro average over 20 tasks of 24 to 500 items"
    assert found.estimate == pytest.approx(np.mean([each.mean() for each in own.values()]), abs=ROUNDING)
    assert found.std_error == pytest.approx(
        math.sqrt(sum(each.var(ddof=1) / each.size for each in own.values())) / 20, rel=1e-9
    )
    assert [row.level for row in found.tasks] == sorted([*TASKS, *GROUPS])
    for row in found.tasks:
        alone = one(suite.where(benchmark=row.level), "base", cluster="none")
        assert (row.estimate, row.conf_low, row.conf_high) == (alone.estimate, alone.conf_low, alone.conf_high)
    frame = found.to_frame().filter(pl.col("term").str.starts_with("task="))
    assert frame["estimate"].to_list() == [row.estimate for row in found.tasks]
    (micro,) = found.other_averages
    every = np.concatenate(list(own.values()))
    assert (micro.kind, micro.estimate) == ("micro", pytest.approx(every.mean(), abs=ROUNDING))
    assert micro.agrees == (found.conf_low <= every.mean() <= found.conf_high)  # type: ignore[operator]


def test_a_micro_average_that_says_otherwise_stands_on_the_first_screen(suite: es.EvalData) -> None:
    text = " ".join(printed(one(suite, "base"), full=False).split())
    assert "The score with every item weighted equally is 54.0% (micro average" in text
    assert not any("micro" in note.text for note in one(suite, "large", average="micro").document().notes)


def test_every_system_has_one_line_and_a_claim_is_of_the_average(suite: es.EvalData) -> None:
    found = es.score(suite, against=0.5)
    assert isinstance(found, es.Scores)
    assert [(each.name, len(each.tasks)) for each in found] == [("base", 20), ("large", 20)]
    assert found[1].against is not None
    assert found[1].against.verdict == "above"
    board = es.leaderboard(suite)
    assert {row.name: row.estimate for row in board.rows} == pytest.approx({each.name: each.estimate for each in found})
    text = printed(Scores(rows=found))
    assert "Every item alike" in text
    assert "Scores run from 18.9% (base on qnli) to" in text
    assert "winogrande" in text


def test_labels_of_a_suite_correct_the_micro_average_and_it_is_said() -> None:
    judged, more = {"a": [1.0, 0.0] * 60, "b": [1.0, 1.0, 0.0] * 40}, [f"r{i}" for i in range(20)]
    data = data_of(*(rows_of(m, x) + rows_of(m, x[:20], items=more, benchmark="other") for m, x in judged.items()))
    labels = pl.DataFrame(
        [{"item": f"q{i:04d}", "model": m, "value": x[i]} for m, x in judged.items() for i in range(20, 60)]
    )
    answers = (
        one(data, "a", labels=labels),
        es.compare(data, "a", "b", labels=labels),
        es.leaderboard(data, labels=labels),
    )
    for found in answers:
        assert found.average == "micro average over 2 tasks of 20 to 120 items"
        (note,) = [note for note in found.notes if "micro average" in note.text]
        assert (note.kind, note.caution) == ("choice", False)
        assert note.text.endswith("the micro average over 2 tasks")
    assert answers[0].other_averages == ()


def labelled_suite(rng: np.random.Generator, n_labels: int = 150) -> tuple[es.EvalData, pl.DataFrame, float]:
    """Tasks of 60 and 240 items; the judge passes more failures of the small one; and people's macro average."""
    task = np.repeat(["small", "large"], [60, 240])
    people = (rng.random(300) < np.where(task == "small", 0.4, 0.8)).astype(float)
    judge = np.where(rng.random(300) < np.where(task == "small", 0.5, 0.1), 1.0, people)
    columns = {"item": [f"q{k}" for k in range(300)], "model": "a", "benchmark": task}
    data = es.from_frame(
        pl.DataFrame({**columns, "score": judge}), item="item", score="score", model="model", benchmark="benchmark"
    )
    drawn = rng.choice(300, n_labels, replace=False)
    labels = pl.DataFrame({"item": drawn, "task": task[drawn], "value": people[drawn]})
    return data, labels.with_columns(item=pl.format("q{}", "item")), 0.6


def test_labels_of_every_task_correct_the_macro_average_too() -> None:
    data, labels, _ = labelled_suite(np.random.default_rng(1))
    found = es.score(data, "a", labels=labels)
    (macro,) = [row for row in found.other_averages if row.kind == "macro"]
    by_task = [
        es.score(data.where(benchmark=name), "a", labels=labels.filter(task=name)) for name in ("small", "large")
    ]
    assert macro.estimate == pytest.approx(np.mean([each.estimate for each in by_task]))
    assert macro.std_error == pytest.approx(np.sqrt(sum(each.std_error**2 for each in by_task)) / 2)
    assert not any(note.kind == "average" for note in found.notes)
    said = [note.text for note in found.document().notes if "macro average" in note.text]
    assert macro.agrees or said[0].startswith("The score with tasks weighted equally is")


@pytest.mark.slow
def test_the_corrected_macro_average_holds_people_s_in_nineteen_of_twenty() -> None:
    """Of 400 suites: the Monte Carlo error of 5% is 1.1 points."""
    rng, missed, refused = np.random.default_rng(0), 0, 0
    for _ in range(400):
        data, labels, truth = labelled_suite(rng)
        try:
            (macro,) = [row for row in es.score(data, "a", labels=labels).other_averages if row.kind == "macro"]
        except CannotAnswerError:  # once in 1,000 random draws
            refused += 1
            continue
        assert macro.conf_low is not None
        assert macro.conf_high is not None
        missed += not macro.conf_low <= truth <= macro.conf_high
    assert refused <= 4
    assert missed / 400 < 0.085


def test_systems_without_the_same_tasks_are_listed() -> None:
    both = rows_of("a", [1.0, 0.0] * 10), rows_of("a", [1.0] * 20, benchmark="other")
    found = es.score(data_of(*both, rows_of("b", [1.0, 0.0] * 10)))
    assert isinstance(found, es.Scores)
    assert [(each.name, each.benchmark) for each in found] == [("a", "bench"), ("b", "bench"), ("a", "other")]


def test_what_has_no_average_is_listed_and_refused_by_name() -> None:
    rows = [*rows_of("a", [1.0, 0.0] * 10), *rows_of("a", [3.0, 4.0] * 10, benchmark="other", metric="grade")]
    data = data_of(rows, kind="binary", low=0.0, high=1.0)
    assert [each.benchmark for each in es.score(data)] == ["bench", "other"]  # type: ignore[union-attr]
    with pytest.raises(InputError, match="scale of its own"):
        one(data, "a")


def test_tasks_of_few_items_are_named() -> None:
    found = one(data_of(rows_of("a", [1.0, 0.0] * 20), rows_of("a", [1.0] * 4, benchmark="tiny")), "a")
    assert any("Fewer than 10 items" in note.text and "tiny (4)" in note.text for note in found.notes)


def test_saved_and_read_back(suite: es.EvalData, tmp_path: Path) -> None:
    found = one(suite, "base")
    found.save(tmp_path / "score.json")
    assert es.load_result(tmp_path / "score.json") == found


# --- what lm-evaluation-harness publishes of a group: its mean, and pooled_sample_stderr of api/metrics.py, however it weighs ---


def test_the_published_group_of_a_genuine_file(shared_data: Path) -> None:
    """The harness weighs a group by size unless told not to: our micro average, its error the pooled one to a percent."""
    data = es.read(shared_data / "lm_eval" / "genuine_lm_eval_0.4.13_dummy_model").where(benchmark="toy_mc")
    (name,) = data.outcomes["model"].unique()
    published = data.aggregates.filter(benchmark="toy_mc", task="", metric="acc").row(0, named=True)
    found = one(data, name, average="micro", over="task")
    assert found.estimate == pytest.approx(published["estimate"], abs=ROUNDING)
    errors = data.aggregates.filter(pl.col("task") != "", metric="acc").sort("task")["std_error"].to_list()
    assert published["std_error"] == pytest.approx(pooled(errors, [12, 8]), abs=ROUNDING)
    assert found.std_error == pytest.approx(math.hypot(12 * errors[0], 8 * errors[1]) / 20, rel=1e-9)
    assert found.std_error == pytest.approx(published["std_error"], rel=0.01)


@pytest.mark.parametrize(("group", "average"), [("mmlu", "micro"), ("musr", "macro")])
def test_the_error_of_a_group_that_counts_tasks_alike_is_not_the_published_one(
    suite: es.EvalData, group: str, average: str
) -> None:
    published = suite.aggregates.filter(benchmark=group, task="", metric="acc", model="base").row(0, named=True)
    found = one(suite.where(benchmark=group), "base", average=average, over="task")
    assert found.estimate == pytest.approx(published["estimate"], abs=ROUNDING)
    assert found.std_error is not None
    if average == "micro":
        assert published["std_error"] == pytest.approx(found.std_error, rel=0.02)
    else:
        # 25, 250 and 50 items: the pooled error is that of 325 items counted alike.
        assert published["std_error"] < 0.75 * found.std_error


@pytest.mark.slow
@pytest.mark.parametrize("average", ["micro", "macro"])
def test_which_error_of_a_group_is_right(average: str) -> None:
    """4,000 groups of 25, 250 and 50 items: the spread of the group's score against the mean of either standard error."""
    sizes, success, rng = (25, 250, 50), (0.4, 0.7, 0.5), np.random.default_rng(11)
    scores, ours, theirs, hits = list[float](), list[float](), list[float](), 0
    weights = np.array(sizes) / sum(sizes) if average == "micro" else np.full(3, 1 / 3)
    truth = float(weights @ success)
    codes = np.repeat([0, 1, 2], sizes)
    for _ in range(4_000):
        parts = [(rng.random(n) < p).astype(float) for n, p in zip(sizes, success, strict=True)]
        errors = [part.std(ddof=1) / math.sqrt(part.size) for part in parts]
        found = stratified_wilson(np.concatenate(parts), codes, weights=None if average == "micro" else [1, 1, 1])
        assert found.std_error is not None
        assert found.conf_low is not None
        assert found.conf_high is not None
        hits += found.conf_low <= truth <= found.conf_high
        scores.append(found.estimate)
        ours.append(found.std_error)
        theirs.append(pooled(errors, sizes))
    spread = np.std(scores)
    assert np.mean(ours) == pytest.approx(spread, rel=0.04)
    assert stats.binomtest(hits, 4_000, 0.95).pvalue > 0.001
    if average == "micro":
        assert np.mean(theirs) == pytest.approx(spread, rel=0.04)
    else:
        assert np.mean(theirs) < 0.75 * spread
