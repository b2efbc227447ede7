"""The layout of Every Eval Ever's datastore: folders from names that may be hostile, and files named after their content."""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from evalstats.atomic import whole_file
from evalstats.errors import InputError, Option
from evalstats.loaders.values import as_dict
from evalstats.record import record
from evalstats.regular import digest_of, read_regular

DATA: Final = "data"
UNKNOWN: Final = "unknown"
_UNFIT: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]|[\ud800-\udfff]')
_RESERVED: Final = frozenset(
    {"CON", "PRN", "AUX", "NUL", *(f"COM{k}" for k in range(1, 10)), *(f"LPT{k}" for k in range(1, 10))}
)
_MOST_BYTES: Final = 120


def folder_name(name: str) -> str:
    """Return a name as that of a folder on any system, as the datastore spells it.

    A name of which nothing is left, or that is too long, ends in a digest. Files are named after their content, so that two
    models whose folders meet stay apart.

    >>> folder_name("qwen2.5:0.5b"), folder_name("org/model"), folder_name("..")
    ('qwen2.5_0.5b', 'org_model', '_-5ec1f7e7')
    """
    fit = _UNFIT.sub("_", name.replace("/", "_")).strip().lstrip(".").rstrip(". ")
    cut = fit.encode()[:_MOST_BYTES].decode(errors="ignore").rstrip(". ")
    if cut.split(".", 1)[0].upper() in _RESERVED or cut.lower() == DATA:
        cut = f"_{cut}"
    if cut in (fit, f"_{fit}"):
        return cut or f"_-{_digest8(name)}"
    return f"{cut}-{_digest8(name)}"


def _digest8(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def model_folders(model: str, developer: str | None) -> tuple[str, str]:
    """Return the folders of a model's developer and of the model.

    >>> model_folders("org/one", None), model_folders("one", None), model_folders("one", "Org")
    (('org', 'one'), ('unknown', 'one'), ('Org', 'one'))
    """
    maker, slash, rest = model.partition("/")
    if slash and maker.strip() and rest.strip():
        return folder_name(maker), folder_name(rest)
    return folder_name(developer or UNKNOWN), folder_name(model)


@record
class Draft:
    """One log as it is to be published, and its samples, written already to a draft file (None where there are none)."""

    folder: tuple[str, str, str]
    log: dict[str, Any]
    samples: Path | None = None
    digest: str = ""
    n_samples: int = 0

    @property
    def uuid(self) -> str:
        """Name of the files: the same for the same content, whenever it was written."""
        content = json.dumps([_timeless(self.log), self.digest], sort_keys=True)
        return str(UUID(bytes=hashlib.sha256(content.encode()).digest()[:16], version=4))

    @property
    def place(self) -> str:
        """Path of the log within the datastore, without its ending."""
        return "/".join((DATA, *self.folder, self.uuid))

    def whole_log(self) -> dict[str, Any]:
        """Return the log with what it says of its samples."""
        if self.samples is None:
            return self.log
        details = {
            "format": "jsonl",
            "file_path": f"{self.place}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": self.digest,
            "total_rows": self.n_samples,
        }
        return {**self.log, "detailed_evaluation_results": details}


def publish(folder: Path, drafts: Sequence[Draft]) -> tuple[int, int]:
    """Move logs and samples into a datastore; return how many logs are new, and how many were there already.

    Each file appears whole: the samples first, then their log. Nothing is moved if any place is taken by another file.
    """
    root = folder.resolve()
    moves: list[tuple[Draft, Path]] = []
    n_there = 0
    for draft in drafts:
        log = root / f"{draft.place}.json"
        samples = root / f"{draft.place}_samples.jsonl"
        _refuse_links(root, log.parent)
        if log.exists() and _same(log, draft) and (draft.samples is None or _digest(samples) == draft.digest):
            n_there += 1
        elif log.exists():
            raise InputError(
                f"{log}: is there and was changed after it was exported; move it away, or name a new folder: "
                f"{Option('folder', blank='DIR')}"
            )
        else:
            moves.append((draft, log))
    for draft, log in moves:
        log.parent.mkdir(parents=True, exist_ok=True)
        if draft.samples is not None:
            draft.samples.replace(log.with_name(f"{draft.uuid}_samples.jsonl"))
        with whole_file(log) as stream:
            stream.write((json.dumps(draft.whole_log(), indent=1) + "\n").encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
    return len(moves), n_there


def _refuse_links(root: Path, folder: Path) -> None:
    """Raise where a link on the way leads out of the datastore."""
    if not folder.resolve().is_relative_to(root):
        raise InputError(
            f"{folder}: leads out of {root} by a link; remove the link, or name a new folder: "
            f"{Option('folder', blank='DIR')}"
        )


def _timeless(log: Mapping[str, Any]) -> dict[str, Any]:
    """Return a log without when it was written and where its samples are: neither belongs to its content."""
    return {
        name: value for name, value in log.items() if name not in {"retrieved_timestamp", "detailed_evaluation_results"}
    }


def _same(path: Path, draft: Draft) -> bool:
    try:
        there = as_dict(json.loads(read_regular(path)))
    except (OSError, ValueError, RecursionError):
        return False
    return _timeless(there) == _timeless(json.loads(json.dumps(draft.log)))


def _digest(path: Path) -> str:
    try:
        return digest_of(path)
    except OSError:
        return ""
