"""Which files of lm-evaluation-harness belong together, told by folder and by the time stamp in their names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Source, read_head

# Local time without a zone; ":" became "-" in 2023.
_STAMP: Final = r"\d{4}-\d{2}-\d{2}T\d{2}[-:]\d{2}[-:]\d{2}(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+?)(?:_(?P<stamp>{_STAMP}))?\.(?:jsonl|json|ndjson)")
_RESULTS_NAME = re.compile(rf"(?:.*_)?(?P<stamp>{_STAMP})\.json")
_PACKED = (".gz", ".zst")
_DETAILS_PREFIX: Final = "details_"
_DETAILS_SUFFIX: Final = "-details"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file, whether it holds samples (else results), and what its name says."""

    path: Path
    samples: bool
    task: str = ""
    stamp: str = ""


def plain_name(path: Path) -> str:
    """File name without the ending of a packer."""
    name = path.name
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name


def task_of_name(name: str) -> str:
    """Return the task a samples file is about: what stands between `samples_` and the stamp.

    Examples
    --------
    >>> task_of_name("samples_toy_mc_a_2026-11-21T20-31-50.724826.jsonl")
    'toy_mc_a'
    """
    found = _SAMPLES_NAME.fullmatch(name)
    return found["task"] if found else name.rpartition(".")[0] or name


def stamp_of_name(name: str) -> str:
    """Return the time stamp in a file's name, or "" where there is none.

    Examples
    --------
    >>> stamp_of_name("results_2026-11-21T20-31-50.724826.json"), stamp_of_name("mine.json")
    ('2026-11-21T20-31-50.724826', '')
    """
    found = _SAMPLES_NAME.fullmatch(name) or _RESULTS_NAME.fullmatch(name)
    return (found["stamp"] or "") if found else ""


def day_of_stamp(stamp: str) -> date | None:
    """Return the day in a time stamp. More is not known: the time is local and has no zone.

    Examples
    --------
    >>> day_of_stamp("2023-08-09T10-55-53.123").isoformat()
    '2023-08-09'
    """
    try:
        return date.fromisoformat(stamp.partition("T")[0])
    except ValueError:
        return None


def model_of_folder(path: Path) -> str:
    """Return the model that the folder of a file is named after, with the first "__" read as the "/" it stands for.

    Examples
    --------
    >>> model_of_folder(Path("out/EleutherAI__pythia-14m/samples_x.jsonl"))
    'EleutherAI/pythia-14m'
    >>> model_of_folder(Path("out/org__m-details/samples_x.jsonl"))
    'org/m'
    """
    folder = path.parent.name or path.resolve().parent.name
    name = folder.removeprefix(_DETAILS_PREFIX).removesuffix(_DETAILS_SUFFIX)
    return name.replace("__", "/", 1) or "unknown"


def looks_like_samples(head: Head) -> bool:
    """Whether the first object of a file is a sample."""
    if {"doc_id", "doc"} <= head.keys and (head.keys & {"target", "arguments", "resps", "filtered_resps"}):
        return True
    if not ({"doc_id", "doc_hash"} & head.keys):
        return False
    # A first document of more than the head leaves nothing but its own name to see; other writers leave it out.
    by_name = plain_name(head.path).startswith("samples_") and head.shape in ("lines", "array")
    return by_name or {"doc_id", "filtered_resps"} <= head.keys


def group(files: Iterable[Path]) -> list[Source]:
    """Make a source of every results file with its samples, and of every set of samples without results.

    Samples belong to the results file in the same folder with the same stamp. Files without a stamp stand alone.
    """
    named = [_named(path) for path in sorted(files)]
    results = [file for file in named if not file.samples]
    # With two results files of one stamp (`a_<stamp>.json` beside `results_<stamp>.json`) the samples go to one only.
    results.sort(key=lambda file: (not file.path.name.startswith("results_"), file.path))
    waiting: dict[tuple[Path, str], list[Path]] = {}
    alone: list[Path] = []
    for file in named:
        if file.samples and file.stamp:
            waiting.setdefault((file.path.parent, file.stamp), []).append(file.path)
        elif file.samples:
            alone.append(file.path)
    sources = [
        Source(path=file.path, companions=tuple(waiting.pop((file.path.parent, file.stamp), ()))) for file in results
    ]
    sources += [Source(path=paths[0], companions=tuple(paths[1:])) for paths in waiting.values()]
    sources += [Source(path=path) for path in alone]
    return sorted(sources, key=lambda source: source.path)


def _named(path: Path) -> NamedFile:
    name = plain_name(path)
    try:
        samples = holds_samples(read_head(path))
    except UnreadableFileError:  # it is reported when it is read
        samples = _SAMPLES_NAME.fullmatch(name) is not None
    return NamedFile(path=path, samples=samples, task=task_of_name(name), stamp=stamp_of_name(name))


def holds_samples(head: Head) -> bool:
    """Whether a file of this format holds samples; else it holds results."""
    if head.shape in ("array", "lines"):
        return True
    return looks_like_samples(head) or (head.shape != "object" and plain_name(head.path).startswith("samples_"))
