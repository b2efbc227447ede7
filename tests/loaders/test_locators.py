"""Every loader says where in its source a row stands, so that whoever follows the locator finds that record.

`found` is a second, independent reading of the files: it opens the source and goes where the locator points.
"""

import csv
import gzip
import json
import re
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.frames import from_frame
from evalstats.loaders.registry import read
from tests.loaders import test_inspect_ai as inspect
from tests.loaders import test_lm_eval as lm_eval
from tests.loaders import test_rutbench as rutbench
from tests.loaders import test_tau2_bench as tau2
from tests.loaders import test_tau_bench as tau
from tests.loaders import test_tenacious as tenacious

STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
LINE = re.compile(r"(?:(?P<beside>.+) )?line (?P<number>\d+)")


@cache
def text_of(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.name.endswith(".gz") else raw).decode()


@cache
def parsed(path: Path) -> Any:
    return json.loads(text_of(path))


def found(source: Path, locator: str) -> Any:
    """Follow a locator: the parsed record that stands there."""
    if named := LINE.fullmatch(locator):
        path = source.parent / named["beside"] if named["beside"] else source
        lines = text_of(path).splitlines()
        line = lines[int(named["number"]) - 1]
        return next(csv.DictReader([lines[0], line])) if path.suffix == ".csv" else json.loads(line)
    if locator.startswith("row "):
        return pl.read_parquet(source).row(int(locator.removeprefix("row ")), named=True)
    name, _, place = locator.partition("[")
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            held = json.loads(archive.read(name))
        return held[int(place.rstrip("]"))] if place else held
    beside = source.parent / name
    if name and beside.is_file():  # a file beside the source, and a place in it if it is a list
        return parsed(beside)[int(place.rstrip("]"))] if place else parsed(beside)
    held = parsed(source)
    for key, at in STEP.findall(locator):
        held = held[key] if key else held[int(at)]
    return held


def check(folder: Path, item_of: Callable[[Any], object], *, n_rows: int | None = None) -> list[str]:
    """Follow the locator of every outcome; return the locators."""
    data = read(folder)
    source = dict(data.runs.select("run", "source").iter_rows())
    assert data.outcomes.height > 0
    assert n_rows is None or data.outcomes.height == n_rows
    for row in data.outcomes.iter_rows(named=True):
        record = found(Path(source[row["run"]]), row["locator"])
        assert str(item_of(record)) == row["item"], (row["locator"], record)
    return data.outcomes["locator"].unique(maintain_order=True).to_list()


TABLE = [{"item": f"q{n}", "model": "m", "score": n % 2} for n in range(4)]


def test_csv_names_the_line_also_behind_a_cell_of_two_lines(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('item,model,score,note\nq0,m,1,\n\nq1,m,0,"two\nlines"\nq2,m,1,\n')
    outcomes = read(tmp_path / "x.csv").outcomes
    assert dict(outcomes.select("item", "locator").iter_rows()) == {"q0": "line 2", "q1": "line 4", "q2": "line 6"}
    assert found(tmp_path / "x.csv", "line 6")["item"] == "q2"


def test_json_lines_json_lists_and_parquet(tmp_path: Path) -> None:
    lines = tmp_path / "x.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in TABLE))
    assert check(lines, lambda row: row["item"]) == ["line 1", "line 2", "line 3", "line 4"]
    listed = tmp_path / "x.json"
    listed.write_text(json.dumps(TABLE))
    assert check(listed, lambda row: row["item"]) == ["[0]", "[1]", "[2]", "[3]"]
    parquet = tmp_path / "x.parquet"
    pl.DataFrame(TABLE).write_parquet(parquet)
    assert check(parquet, lambda row: row["item"]) == ["row 0", "row 1", "row 2", "row 3"]


def test_rows_of_a_large_parquet_file_are_counted_through(tmp_path: Path) -> None:
    n = 120_000  # three blocks
    pl.DataFrame({"item": pl.int_range(n, eager=True), "score": 1.0}).write_parquet(tmp_path / "x.parquet")
    outcomes = read(tmp_path / "x.parquet").outcomes
    assert outcomes["locator"].to_list() == [f"row {item}" for item in outcomes["item"]]


def test_a_frame_counts_rows_and_several_metrics_share_one() -> None:
    data = from_frame({"item": [7, 8], "model": ["m", "m"], "a": [1, 0], "b": [0, 1]}, item="item", score=["a", "b"])
    assert data.outcomes.select("item", "metric", "locator").rows() == [
        ("7", "a", "row 0"),
        ("8", "a", "row 1"),
        ("7", "b", "row 0"),
        ("8", "b", "row 1"),
    ]


def test_a_column_that_is_called_locator_is_a_factor_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("item,model,score,locator\nq0,m,1,shelf 3\n")
    outcomes = read(tmp_path / "x.csv").outcomes
    assert outcomes.select("locator", "source_locator").rows() == [("line 2", "shelf 3")]
    with pytest.raises(
        InputError, match="'locator' cannot be mapped; it is made from the place of the row in its file"
    ):
        ColumnMap.from_options(["locator=place"])


@pytest.mark.parametrize("packed", [False, True])
def test_lm_eval_names_the_samples_file_beside_the_results(tmp_path: Path, packed: bool) -> None:
    samples = {"t": [lm_eval.sample(n, acc=1.0) for n in range(3)]}
    lm_eval.write_run(tmp_path, lm_eval.results({"t": {"acc,none": 1.0}}), samples)
    path = tmp_path / f"samples_t_{lm_eval.STAMP}.jsonl"
    if packed:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    locators = check(tmp_path, lambda row: row["doc_hash"], n_rows=3)
    ending = ".gz" if packed else ""
    assert locators == [f"{path.name}{ending} line {n}" for n in (1, 2, 3)]


def test_lm_eval_without_results_within_them_and_in_older_lists(tmp_path: Path) -> None:
    alone = lm_eval.write(
        tmp_path / "m" / f"samples_t_{lm_eval.STAMP}.jsonl", lm_eval.lines([lm_eval.sample(0, acc=1.0)])
    )
    assert check(alone.parent, lambda row: row["doc_hash"]) == ["line 1"]
    older = tmp_path / "old" / f"samples_t_{lm_eval.STAMP}.json"
    lm_eval.write(older, [lm_eval.old_sample(0, acc=1.0), lm_eval.old_sample(1, acc=0.0)])
    assert check(older.parent, lambda row: row["doc_id"]) == ["[0]", "[1]"]
    lm_eval.write(older.parent / f"results_{lm_eval.STAMP}.json", lm_eval.results({"t": {"acc,none": 0.5}}))
    assert check(older.parent, lambda row: row["doc_id"]) == [f"{older.name}[0]", f"{older.name}[1]"]
    held = lm_eval.results({"t": {"acc,none": 1.0}}, samples={"t": [lm_eval.sample(0, acc=1.0)]})
    within = lm_eval.write(tmp_path / "in" / f"results_{lm_eval.STAMP}.json", held)
    assert check(within.parent, lambda row: row["doc_hash"]) == ["samples.t[0]"]


def test_inspect_names_the_member_of_an_archive_and_the_place_in_a_json_log(tmp_path: Path) -> None:
    samples = [inspect.sample(n, epoch, scores={"s": 1}) for n in (3, 5) for epoch in (1, 2)]
    path = inspect.archive(tmp_path / "a" / "x.eval", inspect.members_of(inspect.header(), samples))
    members = ["samples/3_epoch_1.json", "samples/3_epoch_2.json", "samples/5_epoch_1.json", "samples/5_epoch_2.json"]
    assert check(path, lambda row: row["id"], n_rows=4) == members
    log = inspect.json_log(tmp_path / "b" / "x.json", inspect.header(), samples)
    assert check(log, lambda row: row["id"], n_rows=4) == [f"samples[{n}]" for n in range(4)]


def test_inspect_samples_without_scores_and_summaries_have_places_too(tmp_path: Path) -> None:
    samples = [inspect.sample(1, scores={"s": 1}), inspect.failed(2)]
    log = inspect.json_log(tmp_path / "x.json", inspect.header(), samples)
    assert check(log, lambda row: row["id"], n_rows=2) == ["samples[0]", "samples[1]"]
    head = inspect.header()
    members = [("_journal/start.json", inspect.start_of(head)), ("summaries.json", samples), ("header.json", head)]
    path = inspect.archive(tmp_path / "y.eval", members)
    assert check(path, lambda row: row["id"], n_rows=2) == ["summaries.json[0]", "summaries.json[1]"]


def test_tau_bench_names_the_element_of_the_list(tmp_path: Path) -> None:
    path = tau.write(tmp_path / "gpt-4o-airline.json", [tau.row(4), tau.crash(9, 0), tau.row(4, trial=1)])
    assert check(path, lambda row: row["task_id"], n_rows=3) == ["[0]", "[1]", "[2]"]


def test_tau2_bench_names_the_simulation_its_file_or_its_line_in_the_index(tmp_path: Path) -> None:
    path = tau2.write(tmp_path / "a" / "results.json", tau2.results([tau2.sim("3"), tau2.sim("5")]))
    assert check(path.parent, lambda row: row["task_id"]) == ["simulations[0]", "simulations[1]"]
    index = [{"id": "s-7-0", "task_id": "7", "trial": 0, "reward": 1.0, "termination_reason": "user_stop"}]
    tau2.write(tmp_path / "b" / "results.json", tau2.results(None, simulation_index=index))
    tau2.write(tmp_path / "b" / "simulations" / "s-3-0.json", tau2.sim("3"))
    places = check(tmp_path / "b", lambda row: row["task_id"])
    assert places == ["simulation_index[0]", "simulations/s-3-0.json"]


def test_tenacious_names_the_line_or_the_result(tmp_path: Path) -> None:
    traces = tenacious.lines(tmp_path / "held_out_traces.jsonl", tenacious.pair("a"), tenacious.pair("b"))
    assert check(traces, lambda row: row["task_id"], n_rows=8) == ["line 1", "line 2"]
    judged = tenacious.evaluation(tenacious.result("a"), tenacious.result("b"))
    path = tenacious.write(tmp_path / "m_dev_eval.json", judged)
    assert check(path, lambda row: row["task_id"]) == ["results[0]", "results[1]"]


def test_rutbench_names_the_sample(tmp_path: Path) -> None:
    path = rutbench.write(
        tmp_path / "eval_results.json", [rutbench.sample("t1"), rutbench.sample("t2", "goal_switching")]
    )
    assert check(path, lambda row: row["task_id"], n_rows=16) == ["samples[0]", "samples[1]"]


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("tau_bench/gpt-4o-airline.json.gz", "task_id"),
        ("tenacious/ablations/held_out_traces.jsonl", "task_id"),
        ("lm_eval/genuine_lm_eval_0.4.13_dummy_model", "doc_hash"),
        ("inspect_logs/scorer/logs/2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval", "id"),
        ("inspect_logs/analysis/test_logs/2025-05-12T20-28-13-04-00_popularity.json", "id"),
    ],
)
def test_real_files(shared_data: Path, where: str, name: str) -> None:
    assert len(check(shared_data / where, lambda row: row[name])) > 2


def test_locators_are_short(shared_data: Path) -> None:
    """A row's place costs memory in every row: nothing longer than a file's name and a number."""
    for where in ("lm_eval/genuine_lm_eval_0.4.13_dummy_model", "tau_bench/gpt-4o-airline.json.gz"):
        outcomes = read(shared_data / where).outcomes
        assert outcomes["locator"].null_count() == 0
        assert outcomes["locator"].str.len_chars().max() < 64
