"""Read `.eval` archives: ZIP files whose members are packed with Deflate or Zstandard.

Python knows Zstandard in ZIP files (method 93) only from 3.14 on, so the directory is read with `zipfile` and such
members are unpacked here. Nothing is ever written to disk, and the names in the archive are labels, never paths.
"""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import zstandard

from evalstats.errors import UnreadableFileError
from evalstats.loaders.files import MAX_RATIO, MAX_RECORD_CHARS, RATIO_FROM_BYTES, loads
from evalstats.loaders.values import as_dict

HEADER: Final = "header.json"
START: Final = "_journal/start.json"
SUMMARIES: Final = "summaries.json"
JOURNAL: Final = "_journal/summaries/"
SAMPLES: Final = "samples/"

_ZSTANDARD: Final = 93
_ENCRYPTED: Final = 0x1
_LOCAL_HEADER: Final = 30
_CHUNKED = re.compile(r"(?P<prefix>.*_epoch_\d+/)(?P<rest>.+)", re.DOTALL)
_SHELL: Final = "sample.json"
_CHUNK_METADATA: Final = "metadata.json"
_FAULTS: Final = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    zstandard.ZstdError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)


@contextmanager
def open_archive(path: Path) -> Generator["EvalArchive"]:
    """Open an archive for reading."""
    with path.open("rb") as stream:
        try:
            directory = zipfile.ZipFile(stream)
        except _FAULTS as error:
            raise UnreadableFileError(
                f"{path}: is no whole ZIP archive ({error}); it is cut off or damaged: fetch it again"
            ) from error
        with directory:
            yield EvalArchive(path, stream, directory)


class EvalArchive:
    """The members of an open archive. Where a name stands several times, the last member counts, as for Inspect."""

    def __init__(self, path: Path, stream: BinaryIO, directory: zipfile.ZipFile) -> None:
        self._path = path
        self._stream = stream
        self._directory = directory
        listed = directory.infolist()
        self._members = {info.filename: info for info in listed}
        self.n_repeated = len(listed) - len(self._members)
        self._budget = max(RATIO_FROM_BYTES, MAX_RATIO * path.stat().st_size)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members, each once."""
        return tuple(self._members)

    def sample_names(self) -> Iterator[str]:
        """Yield the names of the members that are samples.

        A sample is one member, `samples/<id>_epoch_<n>.json`, or a folder of that name (without the ending) with the
        sample's own fields in `sample.json` and its messages and events in pieces beside it, which are passed over.
        """
        folders = {name.removesuffix(_SHELL) for name in self._members if _is_shell(name)}
        for name in self._members:
            if not name.startswith(SAMPLES) or not name.endswith(".json"):
                continue
            found = _CHUNKED.fullmatch(name)
            if found and found["prefix"] in folders and not _is_shell(name):
                continue
            yield name

    def sample(self, name: str) -> object:
        """Read one sample; the metadata of one that is kept in pieces are put back."""
        value: object = self.json(name)
        beside = name.removesuffix(_SHELL) + _CHUNK_METADATA
        if _is_shell(name) and beside in self._members and as_dict(value):
            return {**as_dict(value), "metadata": self.json(beside)}
        return value

    def journal_names(self) -> list[str]:
        """Names of the journal's summaries, in the order in which they were written."""
        numbered = [
            (int(number), name)
            for name in self._members
            if name.startswith(JOURNAL) and (number := name.removeprefix(JOURNAL).removesuffix(".json")).isdecimal()
        ]
        return [name for _, name in sorted(numbered)]

    def json(self, name: str) -> object:
        """Unpack and parse a member."""
        return loads(self.read(name), f"{self._path}: {name}")

    def read(self, name: str) -> bytes:
        """Unpack a member, never further than the size that the directory declares for it."""
        info = self._members[name]
        self._check_size(info)
        try:
            data = self._unpacked(info)
        except _FAULTS as error:
            raise self._fault(info, f"is damaged or cannot be unpacked ({error}); fetch the file again") from error
        if len(data) != info.file_size:
            raise self._fault(info, "unpacks to another size than the archive's directory says; fetch the file again")
        return data

    def _check_size(self, info: zipfile.ZipInfo) -> None:
        if info.flag_bits & _ENCRYPTED:
            raise self._fault(info, "is encrypted; unpack the archive and pack it again without a password")
        if info.file_size > MAX_RECORD_CHARS:
            raise self._fault(info, f"is larger than {MAX_RECORD_CHARS >> 20} MiB, too large for one sample")
        self._budget -= info.file_size
        too_packed = info.file_size > max(RATIO_FROM_BYTES, MAX_RATIO * info.compress_size)
        if too_packed or self._budget < 0:
            text = f"unpacks to over {MAX_RATIO} times its size; refused as a decompression bomb"
            raise self._fault(info, f"{text}. If it is genuine, pack it again without compression")

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        if info.compress_type != _ZSTANDARD:
            with self._directory.open(info) as member:
                return member.read(info.file_size + 1)
        packed = io.BytesIO(self._packed(info))
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as member:
            data = member.read(info.file_size + 1)
        if len(data) == info.file_size and zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("wrong checksum")
        return data

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        """Read a member's bytes as they are; the local header before them has names of its own length."""
        self._stream.seek(info.header_offset)
        header = self._stream.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile("no local header where the directory says")
        name_size, extra_size = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        self._stream.seek(name_size + extra_size, io.SEEK_CUR)
        return self._stream.read(info.compress_size)

    def _fault(self, info: zipfile.ZipInfo, problem: str) -> UnreadableFileError:
        return UnreadableFileError(f"{self._path}: the member {info.filename!r} {problem}")


def _is_shell(name: str) -> bool:
    found = _CHUNKED.fullmatch(name)
    return name.startswith(SAMPLES) and found is not None and found["rest"] == _SHELL
