"""Tables out and back: whatever a cell holds, in whatever format, it comes back as it was; and no spreadsheet runs it."""

import csv
import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evalstats as es
from evalstats.errors import InputError
from evalstats.schema.columns import TABLES
from evalstats.schema.data import EvalData, Problem
from evalstats.schema.interchange import ExportedColumn, TableFormat, from_cells, to_cells
from evalstats.schema.tables import check_table, frame_from_rows
from tests.exporters.tidy_data import HOSTILE, tidy_data

FORMATS: list[TableFormat] = ["parquet", "csv", "json"]
OUTCOME = {"run": "r", "model": "m", "system": "m", "benchmark": "b", "metric": "acc", "status": "scored", "score": 1.0}


def data_of(*rows: dict[str, object], **tables: pl.DataFrame) -> EvalData:
    outcomes = frame_from_rows([{**OUTCOME, **row} for row in rows], "outcomes")
    runs = frame_from_rows(
        [{"run": "r", "model": "m", "benchmark": "b", "source": "x.json", "n_scored": len(rows)}], "runs"
    )
    return EvalData(outcomes=outcomes, runs=runs, **tables)


def assert_same(first: EvalData, second: EvalData) -> None:
    for name in TABLES:
        assert second.table(name).equals(first.table(name)), name


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(data=tidy_data(), to=st.sampled_from(FORMATS))
def test_every_table_comes_back_as_it_was(data: EvalData, to: TableFormat) -> None:
    with tempfile.TemporaryDirectory() as folder:
        es.export(data, Path(folder, "out"), to=to)
        assert_same(data, es.read(Path(folder, "out")))


@pytest.mark.parametrize("to", FORMATS)
def test_votes_ratings_and_odd_numbers_come_back(tmp_path: Path, to: TableFormat) -> None:
    votes = check_table(
        {
            "run": ["r"],
            "battle": ["=1"],
            "model_a": ["m"],
            "model_b": ["n"],
            "outcome": ["a"],
            "status": ["scored"],
            "tags": [["-1", ""]],
        },
        "comparisons",
    )
    ratings = check_table(
        {"item": ["q"], "rater": ["ann"], "run": ["r"], "label_prob": [0.1], "label": [""]}, "ratings"
    )
    odd = [float("nan"), float("inf"), -float("inf"), -0.0, None]
    data = data_of(*({"item": str(k), "odd": value} for k, value in enumerate(odd)), comparisons=votes, ratings=ratings)
    es.export(data, tmp_path / "out", to=to)
    back = es.read(tmp_path / "out")
    assert_same(data, back)
    assert str(back.outcomes["odd"][3]) == "-0.0"


def test_no_cell_of_csv_begins_like_a_formula_and_each_is_restored(tmp_path: Path) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in HOSTILE]
    data = data_of(*({"item": str(k), "scenario": text, "@name": text} for k, text in enumerate(texts)))
    es.export(data, tmp_path / "out", to="csv")
    with (tmp_path / "out" / "outcomes.csv").open(newline="", encoding="utf-8") as stream:
        cells = [cell for row in csv.reader(line.replace("\0", "?") for line in stream) for cell in row]
    assert len(cells) > len(texts)
    dangerous = [cell for cell in cells if cell[:1] in tuple("=+-@\t\r＝＋－＠")]
    assert not dangerous
    assert es.read(tmp_path / "out").outcomes["scenario"].to_list() == texts
    assert "'@name" in cells


def test_json_is_one_object_a_line_and_csv_tells_null_from_empty(tmp_path: Path) -> None:
    data = data_of({"item": "a", "scenario": ""}, {"item": "b", "scenario": None})
    es.export(data, tmp_path / "json", to="json")
    lines = [json.loads(line) for line in (tmp_path / "json" / "outcomes.ndjson").read_text().splitlines()]
    assert [(line["item"], line["scenario"]) for line in lines] == [("a", ""), ("b", None)]
    es.export(data, tmp_path / "csv", to="csv")
    first, second = (tmp_path / "csv" / "outcomes.csv").read_text().splitlines()[1:]
    assert ',"",' in first
    assert first.count('""') == second.count('""') + 1


def test_a_spreadsheet_may_move_columns(tmp_path: Path) -> None:
    data = data_of({"item": "a", "scenario": "x"}, {"item": "b", "scenario": "=y"})
    es.export(data, tmp_path, to="csv")
    path = tmp_path / "outcomes.csv"
    frame = pl.read_csv(path, infer_schema=False)
    frame.select(reversed(frame.columns)).write_csv(path)
    assert_same(data, es.read(tmp_path))


def test_one_table_alone_is_read_with_its_description(tmp_path: Path) -> None:
    data = data_of({"item": "a"})
    es.export(data, tmp_path, to="csv")
    assert es.read(tmp_path / "outcomes.csv").outcomes.equals(data.outcomes)
    assert es.read(tmp_path / "evalstats-tables.json").outcomes.equals(data.outcomes)
    (tmp_path / "runs.csv").unlink()
    found = es.read(tmp_path)
    assert any("runs.csv is not beside it" in str(problem) for problem in found.problems)
    assert found.runs["run"].to_list() == ["r"]


@pytest.mark.parametrize(("rows", "had"), [(5, "5"), (None, "an unknown number of"), (-1, "an unknown number of")])
def test_a_table_that_was_cut_is_told(tmp_path: Path, rows: int | None, had: str) -> None:
    es.export(data_of({"item": "a"}), tmp_path, to="csv")
    path = tmp_path / "evalstats-tables.json"
    said = json.loads(path.read_text())
    entry = next(each for each in said["tables"] if each["file"] == "outcomes.csv")
    entry["rows"] = rows
    path.write_text(json.dumps(said))
    assert any(f"outcomes.csv had {had} rows when it was exported" in str(note) for note in es.read(tmp_path).problems)


def test_a_store_takes_exported_tables(tmp_path: Path) -> None:
    from evalstats.cli.ingest_run import ingest

    data = data_of({"item": "a"}, {"item": "b", "status": "error", "score": None})
    es.export(data, tmp_path / "out", to="csv")
    ingest([tmp_path / "out"], tmp_path / "store")
    stored = es.open_store(tmp_path / "store").read()
    assert stored.outcomes.equals(data.outcomes)
    assert stored.runs["source"].to_list() == ["x.json"]


def test_notes_of_the_data_come_along(tmp_path: Path) -> None:
    data = EvalData(outcomes=data_of({"item": "a"}).outcomes, problems=(Problem(path="x.json", message="half of it"),))
    es.export(data, tmp_path, to="json")
    assert [str(problem) for problem in es.read(tmp_path, strict=True).problems] == ["x.json: half of it"]


def test_no_folder_of_somebody_is_written_with_a_problem(tmp_path: Path) -> None:
    problem = Problem(path="/home/alice/secret/x.json", message="half of it")
    es.export(EvalData(outcomes=data_of({"item": "a"}).outcomes, problems=(problem,)), tmp_path / "out")
    assert "alice" not in "".join(path.read_text("utf-8") for path in (tmp_path / "out").glob("*.json"))
    assert [str(each) for each in es.read(tmp_path / "out").problems] == ["x.json: half of it"]


def test_another_export_replaces_an_earlier_one_and_nothing_else(tmp_path: Path) -> None:
    data = data_of({"item": "a"})
    out = tmp_path / "out"
    es.export(data, out, to="csv")
    es.export(data, out, to="parquet")
    assert sorted(path.name for path in out.iterdir()) == ["evalstats-tables.json", "outcomes.parquet", "runs.parquet"]
    (out / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match=r"holds 'mine\.txt'"):
        es.export(data, out, to="csv")
    assert (out / "mine.txt").read_text() == "keep"
    other = tmp_path / "other"
    other.mkdir()
    (other / "outcomes.csv").write_text("of someone else")
    with pytest.raises(InputError, match=r"holds 'outcomes\.csv'"):
        es.export(data, other, to="csv")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_failed_export_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = data_of({"item": "a"})
    out = tmp_path / "out"
    es.export(data, out, to="csv")
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def fail(*arguments: object, **options: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(pl.DataFrame, "write_ndjson", fail)
    with pytest.raises(OSError, match="no space"):
        es.export(data, out, to="json")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_cannot_be_written_or_read_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to write"):
        es.export(EvalData(), tmp_path / "a")
    with pytest.raises(InputError, match="one of parquet, csv, json, eee"):
        es.export(data_of({"item": "a"}), tmp_path / "a", to="xlsx")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="belong to to="):
        es.export(data_of({"item": "a"}), tmp_path / "a", organization="we")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        es.export(data_of({"item": "a"}), tmp_path / "file")
    es.export(data_of({"item": "a"}), tmp_path / "out", to="csv")
    path = tmp_path / "out" / "outcomes.csv"
    path.write_text(path.read_text().replace(",1.0", ",lots"))
    with pytest.raises(InputError, match=r"column 'score' holds 'lots' \(row 0\)"):
        es.read(tmp_path / "out")
    description = tmp_path / "out" / "evalstats-tables.json"
    description.write_text(description.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(InputError, match="newer evalstats"):
        es.read(tmp_path / "out")


def test_a_description_leads_to_no_other_file(tmp_path: Path) -> None:
    es.export(data_of({"item": "a"}), tmp_path / "out", to="csv")
    (tmp_path / "secret.csv").write_text("run\nhidden\n")
    description = tmp_path / "out" / "evalstats-tables.json"
    said = json.loads(description.read_text())
    said["tables"][0]["file"] = "../secret.csv"
    description.write_text(json.dumps(said))
    found = es.read(tmp_path / "out")
    assert "hidden" not in str(found.outcomes.to_dicts())
    assert any("outcomes.csv belongs to no export" in str(problem) for problem in found.problems)


def test_a_cell_that_was_changed_is_named() -> None:
    with pytest.raises(InputError, match="is no list of labels"):
        from_cells(
            pl.Series("tags", ["{}"]),
            ExportedColumn(name="tags", dtype=pl.List(pl.String()), form="text"),
            "csv",
            "x.csv",
        )
    ancient = pl.Series("timestamp", [-(1 << 60)], dtype=pl.Int64).cast(pl.Datetime("us", "UTC"))
    with pytest.raises(InputError, match="which text cannot hold"):
        to_cells(ancient, "csv")


def test_any_frame_is_data_and_categories_become_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": ["a", "b"], "score": [1, 0], "model": ["m", "m"], "kind": ["x", "y"]})
    frame = frame.with_columns(pl.col("kind").cast(pl.Categorical))
    es.from_frame(frame, item="item", score="score", model="model").export(tmp_path / "one", to="csv")
    assert es.read(tmp_path / "one").outcomes["kind"].to_list() == ["x", "y"]
    made = EvalData(outcomes=data_of({"item": "a"}).outcomes.with_columns(kind=pl.Series(["x"], dtype=pl.Categorical)))
    made.export(tmp_path / "two", to="parquet")
    assert es.read(tmp_path / "two").outcomes["kind"].to_list() == ["x"]
