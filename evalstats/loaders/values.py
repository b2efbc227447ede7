"""Narrow the values that JSON files hold, without ever guessing: what does not fit is None, and the caller says so."""

import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import cast

from evalstats.schema.tables import MILLISECONDS_FROM

# Letter grades and words that harnesses use for right and wrong.
_LETTERS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
# As text, a number is a time from 1973 on: "2024" is no count of seconds. Eight digits are a date.
_TEXT_SECONDS_FROM = 1e8
_COMPACT_DATE = 8
# Counts since 1970, the finest first. Each unit reaches its limit in 1973, the next coarser one reaches it in 5138.
_UNITS = (("nanoseconds", 1e17, 1e9), ("microseconds", 1e14, 1e6), ("milliseconds", MILLISECONDS_FROM, 1e3))


def as_dict(value: object) -> dict[str, object]:
    """Return `value` if it is a JSON object, else an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return `value` if it is a JSON array, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def dicts(value: object) -> Iterator[dict[str, object]]:
    """Yield the JSON objects in an array, passing over anything else."""
    return (cast("dict[str, object]", element) for element in as_list(value) if isinstance(element, dict))


def get(value: object, *path: str) -> object:
    """Follow member names into nested objects; None where one is absent."""
    for name in path:
        value = as_dict(value).get(name)
    return value


def as_text(value: object) -> str | None:
    """Return an id or label as text: 12 and "12" and 12.0 are the same id; None and containers are None.

    Half of a character (a lone surrogate, which JSON can hold and no table can) becomes the replacement character.
    """
    if value is None or isinstance(value, dict | list):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _HALF_CHARACTER.sub("\ufffd", str(value))


def as_number(value: object) -> float | None:
    """Return a finite number, from a number, a boolean or numeric text; None for anything else, NaN included.

    Text with underscores ("1_000", which Python would read) is no number.
    """
    if isinstance(value, str):
        try:
            value = math.nan if "_" in value else float(value)
        except ValueError:
            return None
    if isinstance(value, bool | int | float):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    return None


def as_whole(value: object) -> int | None:
    """Return a whole number, or None where the value is not one."""
    number = as_number(value)
    return int(number) if number is not None and number.is_integer() else None


def as_count(value: object) -> int | None:
    """Return a whole number that a column of counts can hold: from 0, within 64 bits; None for anything else.

    >>> as_count(12.0), as_count(-1), as_count(1e30), as_count("x")
    (12, None, None, None)
    """
    number = as_whole(value)
    return number if number is not None and 0 <= number < 1 << 63 else None


def as_time(value: object) -> datetime | None:
    """Return a time in UTC from ISO 8601 text, a count since 1970, or a datetime; None for the rest.

    The count is of seconds, milliseconds, microseconds or nanoseconds, told apart by its size. It may stand as text, as it
    does in a CSV file. A time without a zone is taken for UTC.
    """
    seconds = None if isinstance(value, bool) else as_number(value)
    if isinstance(value, str) and (seconds is None or len(value) <= _COMPACT_DATE):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if seconds is None or (isinstance(value, str) and seconds < _TEXT_SECONDS_FROM):
        return None
    try:
        return datetime.fromtimestamp(seconds / _per_second(seconds), tz=UTC)
    except (OverflowError, OSError, ValueError):
        return None


def day_of(value: object) -> date | None:
    """Return the day of a time, in UTC.

    >>> day_of("2024-07-31 23:07:07").isoformat(), day_of(1770784106.0).isoformat(), day_of("latest")
    ('2024-07-31', '2026-02-11', None)
    """
    time = as_time(value)
    return None if time is None else time.date()


def unit_of_count(value: object) -> str:
    """Return how `as_time` takes a time: "seconds", ..., "nanoseconds", or "dates" for ISO text and datetimes."""
    number = None if isinstance(value, datetime) else as_number(value)
    if number is None or (isinstance(value, str) and len(value) <= _COMPACT_DATE):
        return "dates"
    return next((name for name, limit, _ in _UNITS if abs(number) >= limit), "seconds")


def _per_second(count: float) -> float:
    return next((factor for _, limit, factor in _UNITS if abs(count) >= limit), 1.0)


def letter_grade(value: object) -> float | None:
    """Return the number behind a grade: C, P, I, N, yes, no, true, false, or numeric text; None for an unknown word."""
    if isinstance(value, str) and value.strip().lower() in _LETTERS:
        return _LETTERS[value.strip().lower()]
    return as_number(value)


_SHOWN = 200


def first_line(value: object) -> str:
    r"""Return the first line of an error message, short enough for a table.

    >>> first_line("APIError: 500\n  at line 3"), first_line(None)
    ('APIError: 500', '')
    """
    return (as_text(value) or "").strip().partition("\n")[0][:_SHOWN]


def user_turns(messages: object) -> int | None:
    """Count the messages of the user; None where the conversation was not kept.

    >>> user_turns([{"role": "user"}, {"role": "assistant"}]), user_turns(None)
    (1, None)
    """
    return sum(message.get("role") == "user" for message in dicts(messages)) if messages else None
