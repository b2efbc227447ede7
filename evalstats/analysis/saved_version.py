"""Which saved results are read: those of this version as they are, older ones with a note, newer ones not at all.

An older result holds what an older method found, so whoever reads it is told. A newer one may hold what this version would drop
without a word.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from evalstats.analysis.provenance import toolkit_version
from evalstats.document.model import Note
from evalstats.errors import InputError

_PARTS = 3


def version_of(values: Mapping[str, Any]) -> str:
    """Return the version that computed saved values, or the first of their rows; "" where none is said."""
    said = values.get("version")
    if said is None:
        rows = values.get("rows")
        first = cast("list[object]", rows)[0] if isinstance(rows, list) and rows else None
        said = cast("Mapping[str, object]", first).get("version") if isinstance(first, dict) else None
    return said if isinstance(said, str) else ""


def refuse_newer(version: str, source: str) -> None:
    """Raise where a newer version of evalstats saved the result."""
    if _numbers(version) > _numbers(toolkit_version()) != ():
        raise InputError(
            f"{source}: was saved by evalstats {version}, and this is {toolkit_version()}; "
            "update evalstats, or compute it again with this version"
        )


def note_of_older(version: str) -> Note | None:
    """Return what is said of a result that an older version of evalstats computed; None where it was this version."""
    if not () < _numbers(version) < _numbers(toolkit_version()):
        return None
    text = f"this was computed by evalstats {version}, and {toolkit_version()} only shows it: methods may have changed"
    return Note(kind="source", text=text, remedy="compute it again for today's numbers")


def unreadable_older(version: str, source: str, why: str) -> str:
    """Say that a result of an older version has a shape that is not read any more."""
    return (
        f"{source}: was saved by evalstats {version}, in a form that {toolkit_version()} does not read ({why}); "
        "compute it again"
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release as numbers that can be compared; none where the version is not known.

    >>> _numbers("0.10.2rc1"), _numbers("unknown")
    ((0, 10, 2), ())
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")[:_PARTS]] if found else []
    return tuple(numbers + [0] * (_PARTS - len(numbers))) if numbers else ()
