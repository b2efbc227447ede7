"""Inspect's `.eval` archives: how members are packed, runs that crashed, and what hostile archives try."""

import json
import struct
import tracemalloc
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.files import zstd
from evalstats.loaders.inspect_ai import LOADER
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said as messages

STORED, DEFLATE, ZSTD = 0, 8, 93
SPACES = 80 << 20


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member of an archive, written byte by byte, so that its directory can lie."""

    name: str
    content: object
    method: int = DEFLATE
    frames: int = 1
    size: int | None = None
    crc: int | None = None
    flags: int = 0
    packed: bytes = field(default=b"")

    @property
    def data(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()

    def pack(self) -> bytes:
        if self.packed:
            return self.packed
        if self.method == DEFLATE:
            deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
            return deflate.compress(self.data) + deflate.flush()
        if self.method == ZSTD:
            cut = len(self.data) // self.frames + 1
            parts = [self.data[at : at + cut] for at in range(0, max(len(self.data), 1), cut)]
            return b"".join(zstd.compress(part) for part in parts)
        return self.data


def write(path: Path, members: Iterable[Member]) -> Path:
    body, directory, n = b"", b"", 0
    for member in members:
        packed, name = member.pack(), member.name.encode()
        size = len(member.data) if member.size is None else member.size
        crc = zlib.crc32(member.data) if member.crc is None else member.crc
        flags = member.flags | 0x800  # names are UTF-8
        common = struct.pack("<HHHHHLLLHH", 20, flags, member.method, 0, 0, crc, len(packed), size, len(name), 0)
        directory += (
            b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHLL", 0, 0, 0, 0, len(body)) + name
        )
        body += b"PK\x03\x04" + common + name + packed
        n += 1
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, n, n, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path


def sample(identity: object, epoch: int = 1, value: object = "C", **changes: object) -> dict[str, object]:
    scores = {"match": {"value": value}}
    return {
        "id": identity,
        "epoch": epoch,
        "input": f"q{identity}",
        "target": "",
        "scores": scores,
        "metadata": {},
    } | changes


SPEC = {
    "created": "2026-02-03T04:05:06+00:00",
    "task": "demo",
    "task_id": "t",
    "model": "m",
    "dataset": {},
    "config": {},
}
START = Member(name="_journal/start.json", content={"version": 2, "eval": SPEC, "plan": {}})
HEADER = Member(
    name="header.json",
    content={"version": 2, "status": "success", "eval": SPEC, "plan": {}, "results": {"scores": []}, "stats": {}},
)


def one(identity: object, epoch: int = 1, value: object = "C", *, method: int = DEFLATE, frames: int = 1) -> Member:
    name = f"samples/{identity}_epoch_{epoch}.json"
    return Member(name=name, content=sample(identity, epoch, value), method=method, frames=frames)


def load(path: Path) -> EvalData:
    return read_source(LOADER, with_digest(Source(path=path)))


def load_members(tmp_path: Path, *members: Member) -> EvalData:
    return load(write(tmp_path / "log.eval", (START, *members, HEADER)))


def cells(data: EvalData) -> list[tuple[object, ...]]:
    return sorted(data.outcomes.select("item", "trial", "score").rows(), key=str)


def test_members_packed_in_every_way(tmp_path: Path) -> None:
    """Stored, Deflate, and Zstandard of one and of several frames, in one archive."""
    data = load_members(
        tmp_path,
        one(1, method=STORED),
        one(2, value="I"),
        one(3, method=ZSTD),
        one(4, value="I", method=ZSTD, frames=3),
    )
    assert cells(data) == [("1", 0, 1.0), ("2", 0, 0.0), ("3", 0, 1.0), ("4", 0, 0.0)]
    assert messages(data) == ""


def test_of_members_of_one_name_the_last_counts(tmp_path: Path) -> None:
    data = load_members(tmp_path, one(1, value="I"), one(2), one(1, value="C"))
    assert cells(data) == [("1", 0, 1.0), ("2", 0, 1.0)]


def test_id_and_epoch_are_those_in_the_sample_and_not_in_its_name(tmp_path: Path) -> None:
    members = [
        Member(name="samples/1_epoch_1.json", content=sample("real", 3)),
        Member(name="samples/a/b_epoch_1.json", content=sample("a/b", 1)),
        Member(name="samples/no pattern.json", content=sample("ü", 2)),
    ]
    assert cells(load_members(tmp_path, *members)) == [("a/b", 0, 1.0), ("real", 2, 1.0), ("ü", 1, 1.0)]


def test_a_member_named_by_half_a_character_does_not_cost_the_archive(tmp_path: Path) -> None:
    odd = sample(1) | {"\ud83d": 1, "messages": [{"role": "assistant", "\ud83d": float("nan")}]}
    assert cells(load_members(tmp_path, Member(name="samples/1_epoch_1.json", content=odd))) == [("1", 0, 1.0)]


def test_names_that_climb_out_are_labels(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    names = (
        "samples/../../evil.json",
        "samples//etc/evil.json",
        "../evil.json",
        "/etc/evil.json",
        "samples/C:\\evil.json",
    )
    members = [Member(name=name, content=sample(at)) for at, name in enumerate(names)]
    data = load(write(folder / "log.eval", (START, *members, HEADER)))
    assert [row[0] for row in cells(data)] == ["0", "1", "4"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["log.eval", "logs"]


def test_crashed_run_is_read_from_its_journal_and_samples(tmp_path: Path) -> None:
    path = write(tmp_path / "log.eval", (START, one(1), one(2, value="I")))
    data = load(path)
    assert cells(data) == [("1", 0, 1.0), ("2", 0, 0.0)]
    run = data.runs.row(0, named=True)
    assert (run["status"], run["model"]) == ("started", "m")
    assert "read from its journal" in run["note"]
    assert "the run did not end" in messages(data)


def test_summaries_stand_in_for_samples_that_were_not_kept(tmp_path: Path) -> None:
    """Of summaries of one sample the last counts; an error is text here, and the input is cut short."""
    summaries = [
        Member(
            name="_journal/summaries/10.json",
            content=[sample(1, value="C"), sample(3, value=None, error="boom", scores=None)],
        ),
        Member(name="_journal/summaries/2.json", content=[sample(1, value="I"), sample(2, value="I")]),
    ]
    data = load(write(tmp_path / "log.eval", (START, *summaries)))
    assert cells(data) == [("1", 0, 1.0), ("2", 0, 0.0), ("3", 0, None)]
    error = data.outcomes.filter(status="error").row(0, named=True)
    assert (error["item"], error["metric"], error["status_reason"]) == ("3", "match", "boom")
    assert data.outcomes["prompt_hash"].null_count() == 3
    whole = Member(name="summaries.json", content=[sample(9)])
    assert cells(load(write(tmp_path / "b.eval", (START, *summaries, whole, HEADER)))) == [("9", 0, 1.0)]


def test_samples_kept_in_pieces(tmp_path: Path) -> None:
    """`samples/<id>_epoch_<n>/` holds the sample's own fields, its metadata, and messages and events in chunks."""
    prefix = "samples/x_epoch_1/"
    members = [
        Member(name=f"{prefix}sample.json", content=sample("x", metadata={})),
        Member(name=f"{prefix}metadata.json", content={"difficulty": "hard"}),
        Member(name=f"{prefix}skeleton.json", content={}),
        Member(name=f"{prefix}messages/0.json", content=[]),
        Member(name=f"{prefix}events/stats.json", content={}),
        one(2, value="I"),
    ]
    data = load_members(tmp_path, *members)
    assert cells(data) == [("2", 0, 0.0), ("x", 0, 1.0)]
    assert data.outcomes.filter(item="x")["difficulty"].to_list() == ["hard"]


BOMB = Member(name="samples/1_epoch_1.json", content=b" " * SPACES)
HALF_BOMB = b" " * (SPACES // 2)


@pytest.mark.parametrize("method", [DEFLATE, ZSTD], ids=["deflate", "zstd"])
def test_member_that_grows_beyond_measure_is_refused(tmp_path: Path, method: int) -> None:
    path = write(tmp_path / "log.eval", (START, Member(name=BOMB.name, content=BOMB.content, method=method), HEADER))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(UnreadableFileError, match="decompression bomb") as error:
        load(path)
    assert "log.eval" in str(error.value)


def test_one_bomb_in_a_large_archive_is_refused(tmp_path: Path) -> None:
    """The archive as a whole grows by less than the ratio, the member by more."""
    noise = Member(name="noise", content=np.random.default_rng(0).bytes(1 << 20), method=STORED)
    with pytest.raises(UnreadableFileError, match="decompression bomb"):
        load_members(tmp_path, noise, BOMB)


def test_members_that_are_small_and_too_much_together_are_refused(tmp_path: Path) -> None:
    """Each stays below the 64 MiB from which the ratio counts; all together unpack to 1,000 times the archive."""
    end = json.dumps(sample(1)).encode()
    members = [
        Member(name=f"samples/{n}_epoch_1.json", content=HALF_BOMB + end.replace(b'"id": 1', b'"id": %d' % n))
        for n in range(3)
    ]
    with pytest.raises(UnreadableFileError, match="decompression bomb"):
        load_members(tmp_path, *members)


def test_member_declared_too_large_is_refused_without_unpacking(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="larger than 512 MiB"):
        load_members(tmp_path, Member(name="samples/1_epoch_1.json", content=sample(1), size=3 << 30))


@pytest.mark.parametrize("method", [DEFLATE, ZSTD], ids=["deflate", "zstd"])
@pytest.mark.parametrize("wrong", [-5, 7], ids=["smaller", "larger"])
def test_member_of_another_size_than_declared_is_refused(tmp_path: Path, method: int, wrong: int) -> None:
    good = one(1, method=method)
    lying = Member(name=good.name, content=good.content, method=method, size=len(good.data) + wrong)
    with pytest.raises(UnreadableFileError, match=r"samples/1_epoch_1\.json.*(another size|is damaged)"):
        load_members(tmp_path, lying)


def test_no_more_is_unpacked_than_was_declared(tmp_path: Path) -> None:
    """80 MiB of spaces declared as 10 bytes: refused, and not unpacked to see how much it is."""
    path = write(
        tmp_path / "log.eval", (START, Member(name=BOMB.name, content=BOMB.content, method=ZSTD, size=10), HEADER)
    )
    tracemalloc.start()
    with pytest.raises(UnreadableFileError, match="another size"):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < SPACES / 4


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (Member(name="samples/1_epoch_1.json", content=sample(1), method=ZSTD, crc=1), "wrong checksum"),
        (Member(name="samples/1_epoch_1.json", content=sample(1), crc=1), "is damaged"),
        (Member(name="samples/1_epoch_1.json", content=sample(1), packed=b"\xff\xff no deflate"), "is damaged"),
        (Member(name="samples/1_epoch_1.json", content=sample(1), method=ZSTD, packed=b"no zstd"), "is damaged"),
        (Member(name="samples/1_epoch_1.json", content=sample(1), method=98), "cannot be unpacked"),
        (Member(name="samples/1_epoch_1.json", content=sample(1), flags=1), "is encrypted"),
        (Member(name="samples/1_epoch_1.json", content=b'{"id": 1'), "is not JSON, or is cut off"),
        (Member(name="samples/1_epoch_1.json", content=b'{"id": "\xe4"}'), "is not utf-8 text"),
        (Member(name="samples/1_epoch_1.json", content=b"[" * 100_000), "nested too deeply"),
        (Member(name="samples/1_epoch_1.json", content=[1]), "holds list, not a sample"),
    ],
    ids=["crc zstd", "crc", "deflate", "zstd", "method", "encrypted", "json", "encoding", "nesting", "list"],
)
def test_damaged_members_are_refused_by_name(tmp_path: Path, member: Member, expected: str) -> None:
    with pytest.raises(UnreadableFileError, match=expected) as error:
        load_members(tmp_path, member)
    assert "log.eval" in str(error.value)
    assert "samples/1_epoch_1.json" in str(error.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_archives_that_are_cut_off_are_refused_by_name(tmp_path: Path, share: float) -> None:
    whole = write(tmp_path / "whole.eval", (START, one(1), HEADER)).read_bytes()
    path = tmp_path / "cut.eval"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(UnreadableFileError, match="is no whole ZIP archive") as error:
        load(path)
    assert "cut.eval" in str(error.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"plain text", "is no whole ZIP archive"),
        (b"", "is no whole ZIP archive"),
        (b"PK\x05\x06" + bytes(18), "holds neither"),
    ],
    ids=["text", "empty", "no members"],
)
def test_files_that_are_no_archive_of_inspect_are_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=expected):
        load(path)


def test_directory_that_points_elsewhere_is_refused(tmp_path: Path) -> None:
    """The directory's offset of the Zstandard member is moved into the middle of it."""
    path = write(tmp_path / "log.eval", (START, one(1, method=ZSTD), HEADER))
    data = bytearray(path.read_bytes())
    at = data.rindex(b"samples/1_epoch_1.json") - 4
    offset = struct.unpack_from("<L", data, at)[0]
    struct.pack_into("<L", data, at, offset + 40)
    path.write_bytes(data)
    with pytest.raises(UnreadableFileError, match="no local header"):
        load(path)
