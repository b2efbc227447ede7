"""What a question reads of a store, and that its answer is that of all of it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evalstats as es
from evalstats.cli.load import Narrow, load
from evalstats.cli.main import app
from evalstats.questions import QUESTIONS
from evalstats.store.read import Store, open_store

RUNNER = CliRunner()
MODELS = ("ann", "bob", "cyd", "dee")


def table(n_items: int, n_models: int = len(MODELS), *, seed: int = 1) -> pl.DataFrame:
    """Items in eight chapters, answers in words, a few failures, and a column that only one model's rows disagree on."""
    rng = np.random.default_rng(seed)
    item = np.tile(np.arange(n_items), n_models)
    model = np.repeat(np.arange(n_models), n_items)
    right = (rng.random(item.size) < 0.4 + 0.05 * model + 0.05 * (item % 8)).astype(float)
    return pl.DataFrame(
        {
            "question": [f"question-{k:06d}" for k in item],
            "llm": [f"model-{k}" if n_models > len(MODELS) else MODELS[k] for k in model],
            "right": pl.Series(right).set(pl.Series(rng.random(item.size) < 0.01), None),
            "chapter": [f"chapter {k % 8}" for k in item],
            "answer": [f"it-is-{k}" for k in rng.integers(0, 1_000_000, item.size)],
            "page": [int(k) // 4 + (m == n_models - 1 and k % 50 == 0) for k, m in zip(item, model, strict=True)],
        }
    )


def put(frame: pl.DataFrame, folder: Path, store: Path, *more: str) -> None:
    """Write a file for each model, and ingest them."""
    folder.mkdir()
    for (name,), part in frame.partition_by("llm", as_dict=True).items():
        part.write_parquet(folder / f"{name}.parquet")
    maps = [f"--map={pair}" for pair in ("item=question", "model=llm", "score=right", "scenario=chapter", *more)]
    done = RUNNER.invoke(app, ["ingest", str(folder), "--store", str(store), *maps])
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two benchmarks; `page` holds numbers in one, and words in the other."""
    folder = tmp_path_factory.mktemp("narrow")
    put(table(200), folder / "one", folder / "store", "benchmark=@one")
    other = table(60, seed=2).with_columns(page=pl.format("page {}", "page"))
    put(other, folder / "two", folder / "store", "benchmark=@two")
    return folder / "store"


def answers(data: es.EvalData, question: str) -> list[str]:
    """What a question says, as it is saved; of a leaderboard also that of runs."""
    one = data.where(benchmark=sorted(data.outcomes["benchmark"].unique().to_list())[:1])
    found: dict[str, Callable[[], list[Any]]] = {
        "audit": lambda: [es.audit(data)],
        "compare": lambda: [es.compare(one, "ann", "cyd")],
        "leaderboard": lambda: [es.leaderboard(one), es.leaderboard(one, contrast="run")],
    }
    return [json.dumps(each.to_dict(), default=str) for each in found[question]()]


def test_answers_are_those_of_the_whole_store_to_the_last_bit(store: Path) -> None:
    whole = load([store])
    for name in ("audit", "compare", "leaderboard"):
        part = load([store], narrow=Narrow(keeps=QUESTIONS[name].keeps))
        assert answers(part, name) == answers(whole, name)


def _said(data: es.EvalData) -> str:
    """A board of runs as it is saved, or why there is none."""
    try:
        return json.dumps(es.leaderboard(data, contrast="run").to_dict(), default=str)
    except es.EvalStatsError as error:
        return repr(error)


@pytest.mark.parametrize("source", ["inspect_logs", "tenacious"])
def test_answers_of_real_results_are_those_of_the_whole_store(source: str, shared_data: Path, tmp_path: Path) -> None:
    assert RUNNER.invoke(app, ["ingest", str(shared_data / source), "--store", str(tmp_path / "s")]).exit_code == 0
    whole = load([tmp_path / "s"], quiet=True)
    part = load([tmp_path / "s"], narrow=Narrow(keeps="columns"), quiet=True)
    for benchmark in whole.outcomes["benchmark"].unique().sort().to_list():
        boards = [_said(each.where(benchmark=benchmark)) for each in (whole, part)]
        assert boards[0] == boards[1]
    audits = [json.dumps(es.audit(each).to_dict(), default=str) for each in (whole, part)]
    assert audits[0] == audits[1]


def _whole(_: Narrow, store: Store) -> es.EvalData:
    return store.read()


@pytest.mark.parametrize(
    "asked",
    [
        ("leaderboard", "--where", "benchmark=one"),
        ("leaderboard", "--where", "benchmark=two", "--cluster", "chapter"),
        ("compare", "--where", "benchmark=one", "--baseline", "ann", "--candidate", "bob", "--by", "chapter"),
        ("audit", "--where", "benchmark=one", "--models", "ann,bob"),
    ],
)
def test_the_commands_say_what_the_functions_say_of_the_whole_store(
    asked: tuple[str, ...], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [asked[0], str(store), *asked[1:], "--format", "json", "--no-plan"]
    narrow = RUNNER.invoke(app, command)
    monkeypatch.setattr(Narrow, "read", _whole)
    whole = RUNNER.invoke(app, command)
    assert (narrow.exit_code, whole.exit_code) == (0, 0), narrow.output
    assert narrow.stdout == whole.stdout


def test_columns_that_no_answer_uses_are_not_read(store: Path) -> None:
    board = load([store], narrow=Narrow(keeps="scores")).outcomes
    assert board["answer"].null_count() == board["locator"].null_count() == board.height
    assert board["item"].dtype == board["scenario"].dtype == board["run"].dtype == pl.Categorical
    for asked in (("answer",), ("--where answer=it-is-3",), ({"over": "answer"},)):
        assert load([store], narrow=Narrow(keeps="scores", asked=asked)).outcomes["answer"].null_count() == 0
    audited = load([store], narrow=Narrow(keeps="columns")).outcomes
    assert audited["answer"].null_count() == audited["locator"].null_count() == 0
    whole = open_store(store).read().outcomes
    assert audited.select(pl.col(name).cast(kind) for name, kind in whole.schema.items()).equals(whole)


def test_a_comparison_leaves_out_other_benchmarks_and_keeps_the_kinds_of_their_columns(tmp_path: Path) -> None:
    put(table(50), tmp_path / "one", tmp_path / "store", "benchmark=@one")
    words = table(20, seed=2).with_columns(pl.format("{}-2", "llm").alias("llm"), page=pl.format("page {}", "page"))
    put(words, tmp_path / "two", tmp_path / "store", "benchmark=@two")
    stored = open_store(tmp_path / "store")
    found = Narrow(keeps="scores and costs", sides=("ann", "bob")).read(stored)
    assert found.outcomes["benchmark"].unique().to_list() == ["one"]
    assert found.outcomes.height == 4 * 50
    assert found.outcomes["page"].dtype == pl.Categorical  # words in the other benchmark, so words here as well
    assert found.runs.equals(stored.read().runs)
    for sides in (("ann", "nobody"), ("ann", "bob-2"), ()):
        assert Narrow(keeps="scores and costs", sides=sides).read(stored).outcomes.height == 4 * 70


_CHILD = """
import pathlib, sys
from evalstats.cli.main import main
try:
    main()
except SystemExit as done:
    assert not done.code
status = pathlib.Path("/proc/self/status").read_text()
print(next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) >> 10, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="peaks of memory are read from /proc")
@pytest.mark.parametrize(
    ("command", "most"), [("leaderboard", 220), ("audit", 370), ("compare --baseline model-0 --candidate model-5", 260)]
)
def test_memory_grows_by_the_columns_in_use(command: str, most: int, tmp_path: Path) -> None:
    peaks: list[int] = []
    for n_items in (20_000, 120_000):
        put(table(n_items, 10).drop("answer"), tmp_path / f"files-{n_items}", tmp_path / f"store-{n_items}")
        name, *options = command.split()
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, name, str(tmp_path / f"store-{n_items}"), *options, "--no-plan", "-q"],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(child.stderr.splitlines()[-1]))
    # The whole store, held, took 343, 501 and 387 bytes for each of a million rows more.
    assert (peaks[1] - peaks[0]) * 2**20 / 1_000_000 < most, peaks
