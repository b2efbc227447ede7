"""Result files are hostile: every way in which one can be damaged ends in an UnreadableFileError that names it."""

import gzip
import hashlib
import json
import math
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders import files, registry, typed_records
from evalstats.loaders.base import read_head
from evalstats.loaders.delimited import iter_cells
from evalstats.loaders.files import (
    BadRow,
    JsonPart,
    JsonStream,
    iter_json,
    line_pieces,
    load_json,
    loads,
    object_bytes,
    open_bytes,
    open_text,
    partial_object,
    zstd,
)
from evalstats.loaders.typed_records import PlainRecords
from evalstats.regular import digest_of

Pack = Callable[[bytes], bytes]


def json_lines(path: Path, bad: BadRow | None = None) -> Iterator[tuple[int, dict[str, object]]]:
    return PlainRecords(path, bad).numbered()


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
def test_compression_is_told_by_the_bytes_and_not_the_name(tmp_path: Path, pack: Pack) -> None:
    packed = pack(b"some bytes " * 1000)
    with open_bytes(written(tmp_path / "plain.json", packed)) as stream:
        assert stream.read() == b"some bytes " * 1000


def test_several_compressed_frames_are_one_stream(tmp_path: Path) -> None:
    for pack in (gzip.compress, zstd.compress):
        with open_bytes(written(tmp_path / "x", pack(b"one ") + pack(b"two"))) as stream:
            assert stream.read() == b"one two"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with (
        pytest.raises(UnreadableFileError, match=r"none\.json: cannot be opened \(No such file"),
        open_bytes(tmp_path / "none.json"),
    ):
        pass


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_compressed_data_that_are_cut_off(tmp_path: Path, pack: Pack, kept: float) -> None:
    lines = "\n".join(json.dumps({"n": number}) for number in range(5_000))
    packed = pack(lines.encode())
    path = written(tmp_path / "cut.gz", packed[: int(len(packed) * kept)])
    with pytest.raises(UnreadableFileError, match=r"cut\.gz: the compressed data are damaged or cut off"):
        list(json_lines(path))


def test_damaged_compressed_data_are_named(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(json.dumps(list(range(10_000))).encode()))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(UnreadableFileError, match=r"bad\.gz: the compressed data are damaged"):
        load_json(written(tmp_path / "bad.gz", bytes(packed)))


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Pack) -> None:
    monkeypatch.setattr(files, "RATIO_FROM_BYTES", 1 << 20)
    bomb = written(tmp_path / "bomb.gz", pack(b"0" * (8 << 20)))
    with pytest.raises(UnreadableFileError, match="refused as a decompression bomb"):
        load_json(bomb)


def test_the_digest_is_of_the_bytes_on_disk(tmp_path: Path) -> None:
    packed = gzip.compress(b"x")
    assert digest_of(written(tmp_path / "x.gz", packed)) == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path / "x.json", json.dumps({"a": "ü€"}, ensure_ascii=False).encode(encoding))
    assert load_json(path) == {"a": "ü€"}
    assert list(iter_json(path)) == [JsonPart(member="a", value="ü€")]
    assert [record for _, record in json_lines(path)] == [{"a": "ü€"}]


@pytest.mark.parametrize("content", ["", "a", "ab", "abc", "abcd", "abcde" * 5000])
def test_text_of_any_length_is_read_whole(tmp_path: Path, content: str) -> None:
    with open_text(written(tmp_path / "x.txt", content)) as stream:
        assert stream.read() == content


def test_wrong_encoding_names_the_byte(tmp_path: Path) -> None:
    path = written(tmp_path / "latin.json", '{"a": "ü"}'.encode("latin-1"))
    for read in (load_json, lambda path: list(iter_json(path)), lambda path: list(json_lines(path))):
        with pytest.raises(
            UnreadableFileError, match=r"latin\.json: is not utf-8 text \(byte 0xfc\); save it as UTF-8"
        ):
            read(path)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_streamed_arrays_are_what_json_reads(value: object) -> None:
    document = json.dumps({"head": 1, "rows": [value, value], "tail": value})
    at = 0

    def read(size: int) -> str:  # three characters at a time, so that every token is cut somewhere
        nonlocal at
        at += 3
        return document[at - 3 : at]

    parts = list(JsonStream(read, Path("x")).document(("rows",)))
    assert parts == [
        JsonPart(member="head", value=1),
        JsonPart(member="rows", index=0, value=value),
        JsonPart(member="rows", index=1, value=value),
        JsonPart(member="tail", value=value),
    ]


def test_numbers_and_words_at_the_window_s_end_are_whole() -> None:
    document = '{"a":123456,"b":true,"c":-1.5e3,"d":NaN,"e":[1234567]}'
    for step in range(1, 12):
        pieces = iter([document[at : at + step] for at in range(0, len(document), step)])
        parts = list(JsonStream(lambda _, pieces=pieces: next(pieces, ""), Path("x")).document())
        values = {part.member: part.value for part in parts}
        assert (values["a"], values["b"], values["c"], values["e"]) == (123456, True, -1500.0, [1234567])
        assert values["d"] != values["d"]


def test_a_top_level_array_is_streamed(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", '[{"a": 1}, 2]')
    assert list(iter_json(path)) == [
        JsonPart(member="", index=0, value={"a": 1}),
        JsonPart(member="", index=1, value=2),
    ]
    assert list(iter_json(written(path, "[]"))) == []
    assert list(iter_json(written(path, "{}"))) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; a JSON document was expected"),
        ("   ", "is empty"),
        ("3", "starts with neither an object nor an array"),
        ('{"a": 1', "The file is cut off"),
        ("[1, 2", "The file is cut off"),
        ('[{"a": "unfinis', "The file is cut off"),
        ('{"a" 1}', "expected one of :"),
        ("{1: 2}", "has a member without a name"),
        ("[1 2]", "expected one of , ]"),
        ('[1] {"b": 2}', "goes on after the end"),
        ('{"a": flase}', "is not valid JSON at character 6"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_damaged_json_names_the_file_and_the_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=r"x\.json: ") as caught:
        list(iter_json(written(tmp_path / "x.json", text)))
    assert said in str(caught.value)


WHOLE = {
    "a": [{"b": 'x"é', "n": -1.5e-7, "t": True, "z": None, "f": [1, 2.25, math.nan, -math.inf]}],
    "c": {"d": "é\U0001f600\\", "e": [False, "w"]},
    "m": [12],
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("arrays", [(), ("a",)])
def test_a_cut_is_called_a_cut_wherever_it_falls(
    tmp_path: Path, indent: int | None, ascii_only: bool, arrays: tuple[str, ...]
) -> None:
    """In a string, an escape, a character of several bytes, a number, a word, or among the blanks of indented JSON."""
    data = json.dumps(WHOLE, indent=indent, ensure_ascii=ascii_only).encode()
    for kept in range(1, len(data)):
        with pytest.raises(UnreadableFileError, match=r"x\.json: .* The file is cut off\.$"):
            list(iter_json(written(tmp_path / "x.json", data[:kept]), arrays=arrays))
    assert list(iter_json(written(tmp_path / "x.json", data), arrays=arrays))


@pytest.mark.parametrize(
    "text", ['{"a": flase}', "[1 2]", '["a\\q"]', '["\\u12"]', '[1] {"b": 2}', '{"a" 1}', "[1.]", "[tru]", '["\n"]']
)
def test_what_is_whole_and_wrong_is_not_called_cut_off(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableFileError, match=r"x\.json: ") as caught:
        list(iter_json(written(tmp_path / "x.json", text)))
    assert "cut off" not in str(caught.value)


def test_an_element_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_RECORD_CHARS", 2 << 20)
    with pytest.raises(UnreadableFileError, match="one element is longer than 2 MiB, or a bracket is never closed"):
        list(JsonStream(lambda size: "[[" + "1," * (size // 2), Path("x")).document())


def test_memory_holds_one_element_and_not_the_array() -> None:
    element = json.dumps({"text": "x" * 1000}) + ","
    sizes: list[int] = []
    sent = iter(["["] + [element * 1000] * 40 + ['{"text": ""}]'])

    def read(size: int) -> str:
        sizes.append(size)
        return next(sent, "")

    assert sum(1 for _ in JsonStream(read, Path("x")).document()) == 40_001
    assert max(sizes) <= 4 << 20


def test_json_lines_name_the_line(tmp_path: Path) -> None:
    text = '{"a": 1}\r\n\n{"a": NaN}\n'
    assert [number for number, _ in json_lines(written(tmp_path / "x.jsonl", text))] == [1, 3]
    with pytest.raises(UnreadableFileError, match=r"x\.jsonl: line 4: is not JSON, or is cut off"):
        list(json_lines(written(tmp_path / "x.jsonl", text + '{"a": \n')))


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_RECORD_CHARS", 1 << 20)
    path = written(tmp_path / "x.jsonl", '{"a": "' + "x" * (2 << 20))
    with pytest.raises(UnreadableFileError, match=r"x\.jsonl: one line is longer than 1 MiB"):
        list(json_lines(path))


@given(
    lines=st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=12),
    size=st.integers(1, 30),
)
def test_pieces_are_whole_lines_and_together_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], size: int
) -> None:
    """Also where a line is longer than a piece and where the last one has no end."""
    data = b"{}" + b"\n".join(lines)
    pieces = [*map(bytes, line_pieces(written(tmp_path_factory.mktemp("x") / "x.jsonl", data), size))]
    assert b"".join(pieces) == data
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_without_end_is_no_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Pack) -> None:
    monkeypatch.setattr(files, "MAX_RECORD_CHARS", 1 << 10)
    path = written(tmp_path / "x.jsonl", pack(b"{}\n" + b"x" * (2 << 10)))
    with pytest.raises(UnreadableFileError, match=r"x\.jsonl: one line is longer than 0 MiB"):
        list(line_pieces(path, 64))


def test_a_document_too_long_to_be_held_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="too large for one JSON document"):
        load_json(written(tmp_path / "x.json", "[1, 2, 3]"), max_chars=5)


@pytest.mark.parametrize("text", ["", "nope", "{", "[" * 100_000, b"\xff\xff"])
def test_loads_has_one_kind_of_error(text: str | bytes) -> None:
    with pytest.raises(UnreadableFileError, match=r"^here: "):
        loads(text, "here")


def test_a_number_of_thousands_of_digits_is_larger_than_any(tmp_path: Path) -> None:
    text = f'{{"a": {"9" * 5000}, "b": {"7" * 30}}}'
    assert loads(text, "here") == {"a": float("inf"), "b": int("7" * 30)}
    members = list(iter_json(written(tmp_path / "x.json", text)))
    assert members == [JsonPart(member="a", value=float("inf")), JsonPart(member="b", value=int("7" * 30))]


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.none())), st.integers(min_value=0))
def test_the_head_of_an_object_tells_true_members(value: dict[str, object], cut: int) -> None:
    text = json.dumps(value)
    whole, names = partial_object(text[: cut % (len(text) + 1)])
    assert whole.items() <= value.items()
    assert set(names) <= set(value)
    assert partial_object(text) == (value, tuple(value))


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"a"', '{"a":', '{"a": 1 "b": 2}', '{"a": ' + "[" * 100_000])
def test_the_head_of_what_is_no_object(text: str) -> None:
    whole, names = partial_object(text)
    assert set(whole) <= {"a"}
    assert set(names) <= {"a"}


def test_json_lines_reads_what_json_reads(tmp_path: Path) -> None:
    texts = [
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e400}',
        '{"a": "\\ud800"}',
        '{"a": 1, "a": 2}',
    ]
    texts += ['{"a": 123456789012345678901234567890}', '{"a": -0.0, "b": 0.1234567890123456789}', '{"ä": "ö\\u2028"}']
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(texts), encoding="utf-8")
    assert repr([value for _, value in json_lines(path)]) == repr([json.loads(text) for text in texts])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_lines_in_any_encoding_and_with_any_ends(tmp_path: Path, end: str, encoding: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(end.join(['{"a": 1}', "", '{"a": ', '{"b": "é"}', "4", ""]).encode(encoding))
    wrong: list[str] = []
    assert list(json_lines(path, wrong.append)) == [(1, {"a": 1}), (4, {"b": "é"})]
    assert [message.partition(": ")[0] for message in wrong] == [
        "line 3",
        "line 5 is not a JSON object; every line must be one record",
    ]


def test_a_line_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes('{"a": 1}\n{"a": "é"}\n'.encode("latin-1"))
    with pytest.raises(UnreadableFileError, match=r"is not utf-8 text \(byte 0xe9\)"):
        list(json_lines(path))


def zipped(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_of_one_file_is_that_file(tmp_path: Path, method: int) -> None:
    members = {"folder/": b"", "__MACOSX/._a.json": b"junk", "../../a.json": b'[{"a": 1}]'}
    path = zipped(tmp_path / "x.zip", members, method)
    assert load_json(path) == [{"a": 1}]
    assert [part.value for part in iter_json(path) if part.index is not None] == [{"a": 1}]
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["x.zip"]  # nothing is written, inside or outside


def test_an_archive_of_several_files_is_refused_by_name(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a.json": b"[]", "b.json": b"[]"})
    with pytest.raises(UnreadableFileError, match=r"x\.zip: holds 2 files \('a\.json', 'b\.json'\)"):
        load_json(path)
    with pytest.raises(UnreadableFileError, match=r"holds 0 files \(none\)"):
        load_json(zipped(tmp_path / "empty.zip", {"a/": b""}))


def test_a_zip_by_another_name_stays_closed(tmp_path: Path) -> None:
    path = zipped(tmp_path / "log.eval", {"header.json": b"{}"})
    assert read_head(path).shape == "zip"
    assert read_head(zipped(tmp_path / "log.zip", {"header.json": b"{}", "samples/1.json": b"{}"})).shape == "zip"


def test_archives_that_cannot_be_read_are_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = zipped(tmp_path / "whole.zip", {"a.json": json.dumps(list(range(9_999))).encode()}).read_bytes()
    with pytest.raises(UnreadableFileError, match=r"cut\.zip: is not a readable ZIP archive"):
        load_json(written(tmp_path / "cut.zip", whole[: len(whole) // 2]))
    bent = bytearray(whole)
    bent[len(bent) // 3] ^= 0xFF
    with pytest.raises(UnreadableFileError, match=r"bent\.zip: the compressed data are damaged"):
        load_json(written(tmp_path / "bent.zip", bytes(bent)))
    locked = bytearray(whole)
    locked[locked.index(b"PK\x01\x02") + 8] |= 1  # says that the member is encrypted
    with pytest.raises(UnreadableFileError, match="is not a readable ZIP archive"):
        load_json(written(tmp_path / "locked.zip", bytes(locked)))
    monkeypatch.setattr(files, "RATIO_FROM_BYTES", 1 << 20)
    with pytest.raises(UnreadableFileError, match="refused as a decompression bomb"):
        load_json(zipped(tmp_path / "bomb.zip", {"a.json": b"0" * (8 << 20)}))


def test_damage_inside_packed_data_is_told(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(json.dumps(list(range(3_000))).encode()))
    for place in range(40, len(data) - 8, 7):
        data[place] ^= 0xFF
    with pytest.raises(UnreadableFileError, match="the compressed data are damaged or cut off"):
        list(iter_json(written(tmp_path / "x.json.gz", bytes(data))))


@pytest.mark.parametrize(
    "element", ['{"":0}', "{}", "[]", "1.5", '"ab"', "12345", '{"item":"q1","score":1}', "[[[1]]]", '{"a":{"b":[{}]}}']
)
@pytest.mark.parametrize("packed", ["msgspec", "json"])
def test_objects_take_no_more_than_is_counted_for_them(element: str, packed: str) -> None:
    read = partial(loads, where="x") if packed == "msgspec" else json.loads
    text = "[" + ",".join([element] * 20_000) + "]"
    tracemalloc.start()
    value = read(text)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(value, list)
    assert taken <= object_bytes(text) + 4_000
    # Unpacked, a file of this text is never refused: it may take a hundred times its size.
    assert object_bytes(text) <= 100 * len(text)


def test_packed_json_whose_objects_take_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LONG_CHARS", 100_000)
    monkeypatch.setattr(typed_records, "_BLOCK_BYTES", 50_000)
    monkeypatch.setenv("EVALSTATS_MAX_MEMORY", "64M")
    rows = "[" + ",".join(['{"":0}'] * 300_000) + "]"
    refused = r"\.gz: one JSON value of .* or more takes more in memory than 64 MiB; write it as JSON Lines, .*=256M$"
    document, lines = tmp_path / "x.json.gz", tmp_path / "x.jsonl.gz"
    document.write_bytes(gzip.compress(f'{{"rows": [[1], {rows}]}}'.encode()))
    lines.write_bytes(gzip.compress(f'{{"a": [1]}}\n{{"a": {rows}}}\n'.encode()))
    with pytest.raises(UnreadableFileError, match=refused):
        load_json(document)
    with pytest.raises(UnreadableFileError, match=refused):
        list(iter_json(document, arrays=("rows",)))
    with pytest.raises(UnreadableFileError, match=refused):
        list(json_lines(lines))
    monkeypatch.setenv("EVALSTATS_MAX_MEMORY", "256M")
    assert len(list(iter_json(document, arrays=("rows",)))) == len(list(json_lines(lines))) == 2


BOARD = "| Model | Score |\n|:--|--:|\n| [gpt-4o](https://x.org/a) | **71.2%** |\n| a\\|b | |\n"


def test_a_table_of_markdown_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "board.md"
    path.write_text(BOARD)
    data = registry.read(path)
    assert data.aggregates.select("model", "estimate", "unit").rows() == [("gpt-4o", 71.2, "percent")]
    assert [cells for _, cells in iter_cells(path, ",")][2] == ["a|b", ""]
    path.write_text("|item|model|score|\n|-|-|-|\n|q1|a|1|\n|q1|b|0|\n")
    assert registry.read(path).outcomes.select("model", "score", "locator").rows() == [
        ("a", 1.0, "line 3"),
        ("b", 0.0, "line 4"),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"{BOARD}\nAs of May.\n\n{BOARD}", "several tables of Markdown, the first of which ends in line 4"),
        (f"{BOARD}| c | 1 | 2 |\n", "line 5 has 3 cells, the header 2"),
    ],
)
def test_what_is_no_single_table_of_markdown_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "board.md"
    path.write_text(text)
    with pytest.raises(InputError, match=fault):
        registry.read(path)
