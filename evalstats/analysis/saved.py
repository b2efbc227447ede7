"""Saved results, read back: those of this version as they were, those of an older one with a note, and nothing else."""

import dataclasses
import json
import re
from collections.abc import Generator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import polars as pl

from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Result
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.grammar import comma_list
from evalstats.regular import read_regular

# Where the class of every result stands, so that a saved one can be read back before any analysis was asked for.
RESULTS = {
    "Comparison": "evalstats.analysis.compare.result",
    "Comparisons": "evalstats.analysis.compare.result",
    "Score": "evalstats.analysis.score.result",
    "Scores": "evalstats.analysis.score.result",
    "ArenaRanking": "evalstats.analysis.arena.result",
    "Audit": "evalstats.analysis.audit.result",
    "ContaminationCheck": "evalstats.analysis.contamination.result",
    "Changes": "evalstats.analysis.overview.changes_result",
    "Frontier": "evalstats.analysis.frontier.result",
    "ItemReport": "evalstats.analysis.items.result",
    "JudgeReport": "evalstats.analysis.judges.result",
    "LabLiveGap": "evalstats.analysis.gap.result",
    "PowerPlan": "evalstats.analysis.power.result",
    "Means": "evalstats.analysis.mixed.means",
    "MixedModel": "evalstats.analysis.mixed.result",
    "ReliabilityReport": "evalstats.analysis.reliability.result",
    "ScenarioModel": "evalstats.analysis.scenarios.result",
    "Leaderboard": "evalstats.analysis.leaderboard.result",
    "Leaderboards": "evalstats.analysis.leaderboard.result",
    "Posterior": "evalstats.analysis.posterior.result",
    "RankPosterior": "evalstats.analysis.posterior.result",
    "Overview": "evalstats.analysis.overview.result",
}
_HALF_LETTER = re.compile(r"\\u[dD][89a-fA-F]")
_PARTS = 3


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release as numbers that can be compared; none where the version is not known.

    >>> _numbers("0.10.2rc1"), _numbers("unknown")
    ((0, 10, 2), ())
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")[:_PARTS]] if found else []
    return tuple(numbers + [0] * (_PARTS - len(numbers))) if numbers else ()


def load_result(path: str | Path) -> Result:
    """Read a result that `save`, or `evalstats ... --format json`, wrote.

    Raises
    ------
    InputError
        If the file is not there, holds no result, one that cannot be shown since it was damaged or edited, or one that a newer
        version of evalstats saved.

    Examples
    --------
    >>> import tempfile
    >>> import evalstats as es
    >>> path = Path(tempfile.mkdtemp(), "score.json")
    >>> es.score(es.datasets.tenacious_held_out(), "baseline").save(path)
    >>> load_result(path)
    <Score: baseline on Tenacious-Bench: 51.16% [13.96, 87.12]>
    """
    try:
        text = read_regular(path)
        values: Any = json.loads(text)
        if _HALF_LETTER.search(text):
            # Half of a letter can be escaped in JSON, and written nowhere.
            json.dumps(values, ensure_ascii=False).encode()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}; {_HOW_SAVED}") from error
    except (OSError, ValueError, RecursionError) as error:  # too deep is no result either
        why = (error.strerror or str(error)) if isinstance(error, OSError) else "it holds no JSON"
        raise InputError(f"{path} is not a saved result ({why}); {_HOW_SAVED}") from error
    return result_of(values, str(path))


def _version_of(values: Mapping[str, Any]) -> str:
    """Return the version that computed saved values, or the first of their rows; "" where none is said."""
    parts: list[object] = [values, values.get("origin")]
    rows = values.get("rows")
    first = cast("list[object]", rows)[0] if isinstance(rows, list) and rows else None
    if isinstance(first, dict):
        parts += [first, cast("Mapping[str, object]", first).get("origin")]
    said = (cast("Mapping[str, object]", part).get("version") for part in parts if isinstance(part, dict))
    return next((version for version in said if isinstance(version, str)), "")


def result_of(values: object, source: str) -> Result:
    """Return the result that saved values hold; `source` names where they stand.

    One that an older version computed says so in a note. InputError if they are no result, or of a newer version.
    """
    name = cast("Mapping[str, Any]", values).get("result") if isinstance(values, dict) else None
    if name not in RESULTS:
        raise InputError(f"{source}: is no saved result; expected JSON whose 'result' is one of {', '.join(RESULTS)}")
    saved, this = cast("Mapping[str, Any]", values), toolkit_version()
    version = _version_of(saved)
    if _numbers(version) > _numbers(this) != ():
        raise InputError(
            f"{source}: was saved by evalstats {version}, and this is {this}; update evalstats, or compute it again with this "
            "version"
        )
    older = () < _numbers(version) < _numbers(this)
    of: type[Result] = getattr(import_module(RESULTS[name]), name)
    try:
        found = of.from_dict(saved)
    except InputError as error:
        form = f"was saved by evalstats {version}, in a form that {this} does not read ({error}); compute it again"
        raise InputError(f"{source}: {form if older else error}") from error
    try:
        found.document()
        found.to_frame()
    except _IMPOSSIBLE as error:
        raise InputError(
            f"{source}: holds a {name} with values that none has ({type(error).__name__}: {error}), so it was damaged or "
            "edited; compute it again"
        ) from error
    if older:
        text = f"This was computed by evalstats {version}, and {this} only shows it: methods may have changed"
        return _with_note(found, Note(kind="source", text=text, remedy="Compute it again for today's numbers"))
    unread = [place for place in _unread(saved, found.to_dict()) if place not in _BESIDE]
    if unread:
        raise InputError(
            f"{source}: holds {comma_list(map(repr, unread), 3)}, which no {name} has, so it was damaged or edited; "
            "compute it again"
        )
    return found


_HOW_SAVED = "`save()` and the command line, asked for JSON, write such files"
# What the command line writes beside a result.
_BESIDE = ("gate", "explanation")


def _unread(saved: object, read: object, place: str = "") -> Generator[str]:
    """Yield where saved values have a name that was not read."""
    if isinstance(saved, dict) and isinstance(read, dict):
        known = cast("dict[str, object]", read)
        for name, value in cast("dict[str, object]", saved).items():
            at = f"{place}.{name}" if place else name
            yield from _unread(value, known[name], at) if name in known else (at,)
    elif isinstance(saved, list) and isinstance(read, list):
        for n, (one, other) in enumerate(zip(cast("list[object]", saved), cast("list[object]", read), strict=False)):
            yield from _unread(one, other, f"{place}[{n}]")


# What values of the right types bring about that no result has: a name that no row has, a number beyond all others.
_IMPOSSIBLE = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(StopIteration, RuntimeError, pl.exceptions.PolarsError),  # StopIteration in a generator is a RuntimeError
)


def _with_note(result: Result, note: Note) -> Result:
    """Return the result, or each of its rows, with a note in front, once."""
    held: Any = result
    if hasattr(held, "notes"):
        return held if note in held.notes else dataclasses.replace(held, notes=(note, *held.notes))
    if hasattr(held, "rows") and all(isinstance(row, Result) for row in held.rows):
        return dataclasses.replace(held, rows=tuple(_with_note(row, note) for row in held.rows))
    return held
