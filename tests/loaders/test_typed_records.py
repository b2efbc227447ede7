"""Records as structs: every container gives the same ones, each says where it stands, and what is no record is counted."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import UnreadableFileError
from evalstats.loaders import typed_records
from evalstats.loaders.base import Source
from evalstats.loaders.typed_records import TypedRecords

ROWS: list[dict[str, Any]] = [{"id": f"q{n}", "n": n, "parts": [n, "é"], "text": "x" * n} for n in range(7)]


class Record(msgspec.Struct):
    id: str
    n: int | None = None
    parts: Any = None


def lines(rows: list[Any], end: str = "\n", encoding: str = "utf-8") -> bytes:
    return end.join(json.dumps(row, ensure_ascii=False) for row in rows).encode(encoding)


def table(rows: list[dict[str, Any]]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(rows[0])
    writer.writerows([json.dumps(cell) if isinstance(cell, list) else cell for cell in row.values()] for row in rows)
    return stream.getvalue().encode()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    pl.DataFrame([{**row, "parts": [str(part) for part in row["parts"]]} for row in rows]).write_parquet(stream)
    return stream.getvalue()


def read(
    path: Path, content: bytes, record: Any = Record, **how: Any
) -> tuple[list[Any], list[str], TypedRecords[Any]]:
    """Return the records of a file, where each stands, and their reader."""
    path.write_bytes(content)
    records = TypedRecords(Source(path=path), record, **how)
    found = [*records]
    return [record for _, record in found], [locator for locator, _ in found], records


def left_out(records: TypedRecords[Any]) -> list[str]:
    return [problem.message for problem in records.problems()]


CONTAINERS: dict[str, tuple[str, bytes, str]] = {
    "lines": ("x.jsonl", lines(ROWS), "line {1}"),
    "a last line that is ended": ("x.jsonl", lines(ROWS) + b"\n", "line {1}"),
    "CR LF": ("x.jsonl", lines(ROWS, "\r\n"), "line {1}"),
    "old Macs": ("x.jsonl", lines(ROWS, "\r"), "line {1}"),
    "a byte-order mark": ("x.jsonl", b"\xef\xbb\xbf" + lines(ROWS), "line {1}"),
    "UTF-16": ("x.jsonl", lines(ROWS, encoding="utf-16"), "line {1}"),
    "gzip": ("x.jsonl.gz", gzip.compress(lines(ROWS)), "line {1}"),
    "an array": ("x.json", json.dumps(ROWS).encode(), "[{0}]"),
    "an array in UTF-16": ("x.json", json.dumps(ROWS).encode("utf-16"), "[{0}]"),
    "an array behind a mark": ("x.json", b"\xef\xbb\xbf " + json.dumps(ROWS).encode(), "[{0}]"),
    "a member": ("x.json", json.dumps({"a": 1, "rows": ROWS}).encode(), "rows[{0}]"),
    "a member of a member": ("x.json", json.dumps({"in": {"rows": ROWS, "n": 2}}, indent=1).encode(), "in.rows[{0}]"),
    "delimited text": ("x.csv", table(ROWS), "line {2}"),
    "Parquet": ("x.parquet", parquet(ROWS), "row {0}"),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_every_container_gives_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, size: int
) -> None:
    """Also where a block is smaller than a record, and where a document is read piece by piece."""
    monkeypatch.setattr(typed_records, "_BLOCK_BYTES", size)
    monkeypatch.setattr(typed_records, "_WHOLE_BYTES", size)
    monkeypatch.setattr(typed_records, "_BLOCK_RECORDS", max(size // 50, 1))
    name, content, pattern = CONTAINERS[kind]
    found, locators, records = read(tmp_path / name, content, at=("rows", "in.rows"))
    assert [(record.id, record.n) for record in found] == [(row["id"], row["n"]) for row in ROWS]
    assert [list(map(str, record.parts)) for record in found] == [[str(n), "é"] for n in range(7)]
    assert locators == [pattern.format(n, n + 1, n + 2) for n in range(7)]
    assert (records.n_read, records.n_left_out, left_out(records)) == (7, 0, [])


@pytest.mark.parametrize("kind", ["lines", "an array", "delimited text"])
def test_dicts_hold_every_member(tmp_path: Path, kind: str) -> None:
    name, content, _ = CONTAINERS[kind]
    found, _, _ = read(tmp_path / name, content, dict[str, Any])
    assert [set(record) for record in found] == [{"id", "n", "parts", "text"}] * 7


def test_lists_are_records_too(tmp_path: Path) -> None:
    found, locators, records = read(tmp_path / "x.json", b'{"data": [[1, "a"], {}, [2]]}', list[Any], at=("data",))
    assert (found, locators) == ([[1, "a"], [2]], ["data[0]", "data[2]"])
    assert left_out(records) == ["1 of 3 records are dropped (no JSON list): data[1]"]


def test_what_is_no_record_is_counted_named_and_left_out(tmp_path: Path) -> None:
    content = [
        *(
            b'{"id": "a"}',
            b"",
            b"   ",
            b"[1]",
            b'{"id": ',
            b'"half"',
            b'{"n": 3}',
            b'{"id": 4}',
            b'{"id": "b", "n": "x"}',
        ),
        *(b"[" * 60_000, b"null", b'{"id": "c", "n": null}'),
    ]
    found, locators, records = read(tmp_path / "x.jsonl", b"\n".join(content))
    assert ([record.id for record in found], locators) == (["a", "c"], ["line 1", "line 12"])
    assert (records.n_read, records.n_left_out) == (10, 8)
    assert left_out(records) == [
        "2 of 10 records are dropped (no JSON object): line 4, line 11",
        "2 of 10 records are dropped (no JSON, or cut off): line 5, line 10",
        "1 of 10 records are dropped (a bare text): line 6",
        "1 of 10 records are dropped (no id): line 7",
        "1 of 10 records are dropped (expected str, got int - at $.id): line 8",
        "1 of 10 records are dropped (expected int | null, got str - at $.n): line 9",
    ]


def test_a_row_of_another_width_is_left_out(tmp_path: Path) -> None:
    found, locators, records = read(tmp_path / "x.csv", b'id,n\na,1\nb\n\nc,,\nd,"3"\n')
    assert [(record.id, record.n) for record in found] == [("a", 1), ("d", 3)]
    assert locators == ["line 2", "line 6"]
    assert left_out(records) == ["2 of 4 records are dropped (not as many cells as the header): line 3, line 5"]


def test_cells_are_json_where_they_hold_it_and_texts_where_that_fits(tmp_path: Path) -> None:
    found, _, _ = read(tmp_path / "x.csv", b'id,n,parts\n"{""a"": 1}",,"[1, 2]"\n[x],,\n')
    assert [(record.id, record.parts) for record in found] == [('{"a": 1}', [1, 2]), ("[x]", None)]


@pytest.mark.parametrize("content", [b'{"id": "a", "parts": [NaN, Infinity]}', b'{"id": "a", "parts": ["\\ud800", 1]}'])
@pytest.mark.parametrize("wrap", [b"%s\n", b"[%s]", b'{"rows": [%s]}'])
def test_what_only_python_reads_is_read(tmp_path: Path, content: bytes, wrap: bytes) -> None:
    found, _, records = read(tmp_path / ("x.jsonl" if wrap.endswith(b"\n") else "x.json"), wrap % content, at=("rows",))
    assert [record.id for record in found] == ["a"]
    assert len(found[0].parts) == 2
    assert records.n_left_out == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[{"id": "a"}, {"id": ', "cut off"),
        (b'{"rows": [{"id": "a"}', "cut off"),
        (b'[{"id": "a"}] x', "goes on after the end"),
        (b'[{"id": "a"} {"id": "b"}]', "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_document_that_is_cut_off_or_broken_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=said):
        read(tmp_path / "x.json", content, at=("rows",))


def test_a_line_that_is_no_text_is_left_out_and_a_document_refused(tmp_path: Path) -> None:
    found, _, records = read(tmp_path / "x.jsonl", b'{"id": "\xff"}\n{"id": "a"}')
    assert ([record.id for record in found], records.n_left_out) == (["a"], 1)
    with pytest.raises(UnreadableFileError, match="is not utf-8 text"):
        read(tmp_path / "x.json", b'[{"id": "\xff"}, {"id": "a"}]')


def test_an_object_is_refused_where_a_list_was_expected(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="is one JSON object; a list of answers was expected"):
        read(tmp_path / "x.json", b'{"rows": []}', called="answers")


@pytest.mark.parametrize("text", ['{"id": "a", "parts": [1]}', '{"id": "a", "parts": [NaN]}'])
def test_an_object_may_be_the_only_record(tmp_path: Path, text: str) -> None:
    found, locators, records = read(tmp_path / "x.json", text.encode(), at=(".",))
    assert ([record.id for record in found], locators, records.n_read) == (["a"], [""], 1)


@pytest.mark.parametrize("whole", [1, 1 << 20])
def test_members_that_were_asked_for_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int) -> None:
    monkeypatch.setattr(typed_records, "_WHOLE_BYTES", whole)
    text = b'{"in": {"at": 5, "rows": [{"id": "a"}]}, "big": [1, 2], "own": {"b": 1}}'
    found, locators, records = read(tmp_path / "x.json", text, at=("in.rows",), keep=("in.at", "own"))
    assert ([record.id for record in found], locators) == (["a"], ["in.rows[0]"])
    assert records.members == {"in.at": 5, "own": {"b": 1}}


def test_blocks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No block holds much more than its bytes, however the records are wrapped."""
    monkeypatch.setattr(typed_records, "_BLOCK_BYTES", 2_000)
    monkeypatch.setattr(typed_records, "_PIECE_BYTES", 500)
    monkeypatch.setattr(typed_records, "_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(typed_records, "_PIECES", 1)
    rows = [{"id": f"q{n}", "parts": "y" * 90} for n in range(500)]
    for name, content in (("x.jsonl", lines(rows)), ("x.json", json.dumps(rows).encode())):
        path = tmp_path / name
        path.write_bytes(content)
        sizes = [len(list(block)) for block in TypedRecords(Source(path=path), Record).blocks()]
        assert sum(sizes) == 500
        assert max(sizes) <= 25


def test_a_packed_record_of_too_many_objects_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSTATS_MAX_MEMORY", "64M")
    deep = '{"id": "a", "parts": [' + ",".join(["[]"] * 12_000_000) + "]}"
    for name, content in (("x.jsonl.gz", deep), ("x.json.gz", f"[{deep}]")):
        with pytest.raises(UnreadableFileError, match="takes more"):
            read(tmp_path / name, gzip.compress(content.encode(), 1))


@given(
    st.lists(st.sampled_from(["good", "blank", "spaces", "cut", "list", "number"]), max_size=30), st.integers(1, 200)
)
def test_lines_count_whatever_stands_between_them(kinds: list[str], size: int) -> None:
    texts = {"good": '{"id": "a"}', "blank": "", "spaces": "  ", "cut": '{"id"', "list": "[]", "number": "1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typed_records, "_BLOCK_BYTES", size)
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            content = "\n".join(texts[kind] for kind in ["good", *kinds]).encode()
            _, locators, records = read(Path(folder, "x.jsonl"), content)
    assert locators == [f"line {n}" for n, kind in enumerate(["good", *kinds], start=1) if kind == "good"]
    assert records.n_read == 1 + sum(kind not in {"blank", "spaces"} for kind in kinds)


def test_places_of_a_block(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id": "a"}\nno\n{"id": "b"}\n')
    records = TypedRecords(Source(path=path), Record)
    for block in records.blocks():
        list(block)
        assert records.locators.to_list() == ["line 1", "line 3"]


class Keyed(msgspec.Struct):
    key: str
    value: Record


@pytest.mark.parametrize(
    ("text", "how", "locators"),
    [
        (b'{"a": {"id": "x"}, "n": 1, "b": {"id": "y"}}', {"at": ("*",), "keep": ("n",)}, ["a", "b"]),
        (b'{"n": 1, "in": {"a": {"id": "x"}, "b": {"id": "y"}}}', {"at": ("in.*",), "keep": ("n",)}, ["in.a", "in.b"]),
    ],
)
def test_members_of_an_object_may_be_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, how: dict[str, Any], locators: list[str]
) -> None:
    for whole in (1, 1 << 20):
        monkeypatch.setattr(typed_records, "_WHOLE_BYTES", whole)
        found, places, records = read(tmp_path / "x.json", text, Keyed, **how)
        assert [(record.key, record.value.id) for record in found] == [("a", "x"), ("b", "y")]
        assert (places, records.members) == (locators, {"n": 1})


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("at", "before"), [("*", ""), ("in.*", "in.")])
def test_a_name_that_stands_twice_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None, at: str, before: str
) -> None:
    members = json.dumps({"a": {"id": "x"}, "again": {"id": "z"}, "b": {"id": "y"}}, indent=indent)
    members = members.replace('"again"', '"a"')
    text = (f'{{"in": {members}}}' if before else members).encode()
    for whole in (1, 1 << 20):
        monkeypatch.setattr(typed_records, "_WHOLE_BYTES", whole)
        found, places, records = read(tmp_path / "x.json", text, Keyed, at=(at,))
        assert [(record.key, record.value.id) for record in found] == [("a", "x"), ("b", "y")]
        assert places == [f"{before}a", f"{before}b"]
        assert (records.n_read, records.n_left_out) == (3, 1)
