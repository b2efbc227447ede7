"""How a file's head is looked at, and how the rows of a source become checked tables with counts."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import (
    Frame,
    Head,
    Loader,
    Match,
    Rows,
    SingleFileLoader,
    Source,
    in_batches,
    parquet_fault,
    read_head,
    tables_of,
    with_digest,
)
from evalstats.loaders.registry import read_source
from evalstats.schema.data import Problem


def head(data: bytes | str, name: str = "x") -> Head:
    raw = data.encode() if isinstance(data, str) else data
    return Head(path=Path(name), size=len(raw), data=raw)


@pytest.mark.parametrize(
    ("data", "name", "shape"),
    [
        (b"", "x", "empty"),
        (b"  \n ", "x", "empty"),
        (b"PK\x03\x04rest", "x.eval", "zip"),
        (b"PAR1....", "x", "parquet"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "x.png", "binary"),
        (b' [{"a": 1}]', "x", "array"),
        (b'{"a": 1}', "x.json", "object"),
        (b'{"a": 1}', "x.jsonl", "lines"),
        (b'{"a": 1}', "x.jsonl.gz", "lines"),
        (b'{"a": 1}\n{"a": 2}', "x.json", "lines"),
        (b'{\n "a": 1\n}', "x.json", "object"),
        (b"a,b\n1,2", "x.csv", "text"),
    ],
)
def test_the_shape_of_a_file(data: bytes, name: str, shape: str) -> None:
    assert head(data, name).shape == shape


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_head_holds_no_mark_of_its_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("é,b\n".encode(encoding))
    assert read_head(path).columns == ("é", "b")
    path.write_bytes("é,b\n".encode("utf-16")[:-1])
    with pytest.raises(UnreadableFileError, match=r"ends inside a character \(utf-16.*\). The file is cut off"):
        read_head(path)


def test_members_of_the_first_object_are_seen_without_the_rest() -> None:
    cut = '[{"model": "m", "rows": [1, 2'
    assert head(cut).members == {"model": "m"}
    assert head(cut).keys == {"model", "rows"}
    assert head('{"a": 1}\n{"b": 2}', "x.jsonl").keys == {"a"}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a,b\n1,2\n", ("a", "b")),
        ("a;b\n1;2\n", ("a", "b")),
        ("a\tb\n", ("a", "b")),
        ("a , b\r\n", ("a", "b")),
        ('"a,1",b\n', ("a,1", "b")),
        ("a,b\rc,d\r", ("a", "b")),
        ("one", ("one",)),
        ('{"a": 1}', ()),
    ],
)
def test_columns_of_delimited_text(text: str, columns: tuple[str, ...]) -> None:
    assert head(text).columns == columns


def test_columns_of_a_parquet_file_also_with_a_pattern_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x[1]*.parquet"
    pl.DataFrame({"a": [1], "b": [2]}).write_parquet(path)
    assert read_head(path).columns == ("a", "b")
    path.write_bytes(path.read_bytes()[:20])
    assert read_head(path).columns == ()


def test_the_head_of_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n"))
    assert (read_head(path).name, read_head(path).columns) == ("x.csv", ("a", "b"))


@pytest.mark.parametrize(
    ("name", "stem"),
    [("run.json", "run"), ("run.jsonl.gz", "run"), ("a.b.csv", "a.b"), ("noend", "noend"), (".x", ".x")],
)
def test_the_readable_part_of_a_run_s_name(name: str, stem: str) -> None:
    assert Source(path=Path(name)).stem == stem


def test_the_digest_of_several_files_does_not_depend_on_their_order(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(name)
    one, other = (
        with_digest(Source(path=tmp_path / "a", companions=tuple(tmp_path / name for name in names)))
        for names in ("bc", "cb")
    )
    assert one.digest == other.digest
    assert one.digest != with_digest(Source(path=tmp_path / "a")).digest


@pytest.mark.parametrize("n_rows", [0, 1, 4, 5, 6, 10])
def test_batches_hold_all_rows_in_order(n_rows: int) -> None:
    batches = list(in_batches(({"n": number} for number in range(n_rows)), "outcomes", size=5))
    assert [row["n"] for batch in batches for row in batch.rows] == list(range(n_rows))
    assert all(1 <= len(batch.rows) <= 5 for batch in batches)


ROW: dict[str, object] = {"model": "m", "system": "m", "benchmark": "b", "metric": "acc", "trial": 0}


class FakeLoader(SingleFileLoader):
    """Hands on what it is given, and raises what it is given to raise."""

    name = "fake"
    title = "fake"
    version = "7"

    def __init__(self, *parts: Rows | Frame | Problem | BaseException) -> None:
        self.parts = parts

    def sniff(self, head: Head) -> Match | None:
        assert head.size >= 0

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        assert source.digest
        for part in self.parts:
            if isinstance(part, BaseException):
                raise part
            yield part


RUN = Rows(table="runs", rows=[{"run": "r", "model": "m", "benchmark": "b"}])
SOURCE = Source(path=Path("dir/x.json"), digest="d" * 64)


def outcome(item: str, status: str = "scored", score: float | None = 1.0, run: str = "r") -> dict[str, object]:
    return {**ROW, "run": run, "item": item, "status": status, "score": score}


def test_runs_come_last_with_source_loader_and_counts() -> None:
    loader = FakeLoader(
        RUN,
        Rows(table="outcomes", rows=[outcome("1"), outcome("2", "error", None)]),
        Problem(path="x", message="something", severity="note"),
        Rows(table="outcomes", rows=[outcome("3", "unscored", None), outcome("4")]),
    )
    assert isinstance(loader, Loader)
    parts = list(tables_of(loader, SOURCE))
    tables = [part for part in parts if not isinstance(part, Problem)]
    assert [name for name, _ in tables] == ["outcomes", "outcomes", "runs"]
    assert [part.message for part in parts if isinstance(part, Problem)] == ["something"]
    run = tables[-1][1].row(0, named=True)
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (2, 1, 1)
    assert (run["source"], run["source_digest"]) == ("dir/x.json", "d" * 64)
    assert (run["loader"], run["loader_version"]) == ("fake", "7")


def test_frames_are_checked_and_counted_as_rows_are() -> None:
    frame = pl.DataFrame([outcome("1"), outcome("2", "unscored", None)])
    (name, table), (_, runs) = list(tables_of(FakeLoader(Frame(table="outcomes", frame=frame), RUN), SOURCE))
    assert (name, table.height, runs["n_unscored"].item()) == ("outcomes", 2, 1)
    bad = Frame(table="outcomes", frame=frame.with_columns(status=pl.lit("great")))
    with pytest.raises(UnreadableFileError, match="'great'"):
        list(tables_of(FakeLoader(bad, RUN), SOURCE))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (InputError("row 3 is wrong"), r"^dir/x\.json: row 3 is wrong$"),
        (UnreadableFileError("dir/x.json: is cut off"), r"^dir/x\.json: is cut off$"),
        (KeyError("model"), r"could not be read by the fake loader \(KeyError: 'model'\)"),
        (RecursionError("deep"), r"^dir/x\.json: JSON is nested too deeply to be a result$"),
        (pl.exceptions.ComputeError("bad"), "ComputeError"),
        (
            ZeroDivisionError("division"),
            r"^dir/x\.json: could not be read by the fake loader \(ZeroDivisionError: divis",
        ),
        (pl.exceptions.PanicException("index"), r"could not be read by the fake loader \(PanicException: index\)"),
    ],
)
def test_whatever_goes_wrong_names_the_file(fault: BaseException, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=said):
        list(tables_of(FakeLoader(RUN, fault), SOURCE))


def test_a_name_that_is_no_unicode_becomes_text_that_a_table_can_hold() -> None:
    source = Source(path=Path("dir/caf\udce9.json"), digest="d" * 64)
    _, runs = list(tables_of(FakeLoader(RUN, Rows(table="outcomes", rows=[outcome("1")])), source))[-1]
    assert runs["source"].item() == "dir/caf\ufffd.json"
    assert source.run_id("m") == "caf\ufffd.m~dddddddd"


def test_a_source_without_a_run_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match="holds no run that the fake loader could read"):
        list(tables_of(FakeLoader(Rows(table="outcomes", rows=[outcome("1")])), SOURCE))


def test_json_numbers_too_large_for_a_factor_do_not_stop_a_file(tmp_path: Path) -> None:
    row = {**outcome("1"), "seed": json.loads("123456789012345678901234567890")}
    _, table = next(
        part
        for part in tables_of(FakeLoader(Rows(table="outcomes", rows=[row]), RUN), SOURCE)
        if not isinstance(part, Problem)
    )
    assert table["seed"].to_list() == ["123456789012345678901234567890"]


def test_a_panic_is_told_in_words_that_do_not_differ() -> None:
    assert parquet_fault(pl.exceptions.PanicException("JoinError::Panic(Id(53))")) == "its data are damaged"
    assert parquet_fault(pl.exceptions.ComputeError("no footer")) == "no footer"


def test_a_key_that_stands_twice_is_refused_in_one_frame_as_in_two() -> None:
    frame = pl.DataFrame([outcome("1"), outcome("2")])
    twice = Frame(table="outcomes", frame=pl.concat([frame, frame.head(1)]))
    apart = [Frame(table="outcomes", frame=part) for part in (frame, frame.head(1))]
    for parts in ([twice], apart):
        with pytest.raises(UnreadableFileError, match=r"^dir/x\.json: outcomes: 2 rows share their key.*item='1'"):
            read_source(FakeLoader(*parts, RUN), SOURCE)
