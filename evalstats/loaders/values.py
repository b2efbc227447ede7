"""Values that JSON files hold, and whole columns of cells, as ids, numbers, scores, times, tags and factors: never guessed.

What does not fit is None (null in a column), and the caller says so, with the row at fault.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import cast

import msgspec
import polars as pl

from evalstats.errors import InputError, Option
from evalstats.grammar import comma_list
from evalstats.schema.columns import STATUSES, GlossaryColumn
from evalstats.schema.tables import HALF_CHARACTER, MILLISECONDS_FROM, at_codes, coded, in_utc, time_of_number

# Letter grades and words that harnesses use for right and wrong.
_LETTERS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
# Grades as schools give them, where C is no "correct". C alone is not told apart.
_GRADE = re.compile(r"[A-Fa-f][+-]?")
_SCHOOL_GRADE = re.compile(r"[ABDEFabdef]|[A-Fa-f][+-]")
# As text, a number is a time from 1973 on: "2024" is no count of seconds. Eight digits are a date.
_TEXT_SECONDS_FROM = 1e8
_COMPACT_DATE = 8
# Counts since 1970, the finest first. Each unit reaches its limit in 1973, the next coarser one reaches it in 5138.
_UNITS = (("nanoseconds", 1e17, 1e9), ("microseconds", 1e14, 1e6), ("milliseconds", MILLISECONDS_FROM, 1e3))


# A union that is written where it is asked would be made anew for every value of a file.
_HOLDING = (dict, list)
_NUMBERS = (int, float)


def as_dict(value: object) -> dict[str, object]:
    """Return `value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - a cast is a call


def as_list(value: object) -> list[object]:
    """Return `value` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - as above


def dicts(value: object) -> Iterator[dict[str, object]]:
    """Yield the JSON objects in an array, passing over anything else."""
    elements = cast("list[dict[str, object]]", as_list(value))
    return (element for element in elements if isinstance(element, dict))  # pyright: ignore[reportUnnecessaryIsInstance]


def get(value: object, *path: str) -> object:
    """Follow member names into nested objects; None where one is absent."""
    for name in path:
        value = as_dict(value).get(name)
    return value


def as_text(value: object) -> str | None:
    """Return an id or label as text: 12 and "12" and 12.0 are the same id; None and containers are None.

    Half of a character (a lone surrogate, which JSON can hold and no table can) becomes the replacement character.
    """
    if isinstance(value, str):
        return value if value.isascii() else HALF_CHARACTER.sub("\ufffd", value)
    if value is None or isinstance(value, _HOLDING):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, _NUMBERS) else HALF_CHARACTER.sub("\ufffd", str(value))


def as_number(value: object) -> float | None:
    """Return a finite number, from a number, a boolean or numeric text; None for anything else, NaN included.

    Text with underscores ("1_000", which Python would read) is no number.
    """
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        try:
            value = math.nan if "_" in value else float(value)
        except ValueError:
            return None
    if isinstance(value, _NUMBERS):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    return None


def as_amount(value: object) -> float | None:
    """Return a finite number from 0 (a cost, a time, a standard error); None for anything else."""
    number = as_number(value)
    return number if number is not None and number >= 0 else None


def as_whole(value: object) -> int | None:
    """Return a whole number that a table can hold, within 64 bits; None for anything else.

    >>> as_whole(3.0), as_whole("-7"), as_whole(1e30), as_whole(0.5)
    (3, -7, None, None)
    """
    number = as_number(value)
    return int(number) if number is not None and number.is_integer() and abs(number) < 1 << 63 else None


def as_count(value: object) -> int | None:
    """Return a whole number that a column of counts can hold: from 0, within 64 bits; None for anything else.

    >>> as_count(12.0), as_count(-1), as_count(1e30), as_count("x")
    (12, None, None, None)
    """
    number = as_whole(value)
    return number if number is not None and number >= 0 else None


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
        per_second = next((factor for _, limit, factor in _UNITS if abs(seconds) >= limit), 1.0)
        return datetime.fromtimestamp(seconds / per_second, tz=UTC)
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


def letter_grade(value: object) -> float | None:
    """Return the number behind a grade: C, P, I, N, yes, no, true, false, or numeric text; None for an unknown word."""
    if isinstance(value, str) and value.strip().lower() in _LETTERS:
        return _LETTERS[value.strip().lower()]
    return as_number(value)


_SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str)
_LINE_CHARS = 200
_RAW_CHARS = 2_000


def shortened(text: str) -> str:
    """Return a text that a table keeps: at most its first 2,000 characters."""
    text = as_text(text) or ""
    return text if len(text) <= _RAW_CHARS else f"{text[:_RAW_CHARS]}…"


def json_text(value: object) -> str:
    """Return a value as JSON with sorted keys, as digests and configurations need it."""
    return as_text(_SORTED.encode(value)) or ""


def first_line(value: object) -> str:
    r"""Return the first line of an error message, short enough for a table.

    >>> first_line("APIError: 500\n  at line 3"), first_line(None)
    ('APIError: 500', '')
    """
    return "" if value is None else (as_text(value) or "").strip().partition("\n")[0][:_LINE_CHARS]


def user_turns(messages: object) -> int | None:
    """Count the messages of the user; None where the conversation was not kept.

    >>> user_turns([{"role": "user"}, {"role": "assistant"}]), user_turns(None)
    (1, None)
    """
    return sum(message.get("role") == "user" for message in dicts(messages)) if messages else None


# Words that programs write where there is no value.
NO_VALUE = frozenset({"", "nan", "na", "n/a", "<na>", "none", "null"})
# The same, and what people write there.
ABSENT = NO_VALUE | {"-", "–", "—"}
# Words in a column of scores that tell of a run without a score.
_NO_RESULT_WORDS = (
    "- – — -- ? . error err exception crash crashed timeout timed_out missing skipped skip unscored unknown invalid unparsed "
    "unparseable unparsable parse_error no_response no_answer no_output cancelled canceled aborted "
    "pending #n/a #ref! #div/0! #value!"
)
_NO_RESULT = frozenset(_NO_RESULT_WORDS.split())
# What a message of a failure begins with ("ERROR: timeout", "TimeoutError after 30 s").
_FAILURE_BEGINS = re.compile(r"(?i)(?:err|\w*error|\w*failure|\w*exception|crashed|timeout|timed out)\b")
_NOT_FINITE = re.compile(r"(?i)[+-]?inf(?:inity)?")
_FRACTION = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)")
# Numbers as people write them: an own minus sign, a currency before or behind, or a percent sign, which is told by the column.
CURRENCY = "[$€£¥]"
_WRITTEN = rf"^([+-]?){CURRENCY}?\s*((?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?)(?:\s*{CURRENCY})?$"
# What programs write in a column called status. What failed and has a score all the same is scored.
_FAILED = "failed failure fail crashed crash exception errored timeout timed_out cancelled canceled aborted killed"
_DONE = "ok success succeeded successful complete completed done finished"
_NOT_DONE = "skipped skip missing pending running queued unparsed invalid incomplete not_run not_started"
_STATUS_WORDS = {
    word: status for text, status in zip((_DONE, _FAILED, _NOT_DONE), STATUSES, strict=True) for word in text.split()
}
_NO_FAILURE = (*NO_VALUE, "false", "0", "0.0")
# Words that people write into their own tables for right and wrong. Harnesses have theirs (`letter_grade`), which stay
# as upstream has them: there "failed" may be a crash.
_RIGHT = "y correct right pass passed success resolved solved up thumbs_up 👍 upvote liked ✓ ✔ ✔\ufe0f ✅"
_WRONG = "incorrect wrong fail failed failure unresolved unsolved down thumbs_down 👎 downvote disliked ✗ ✘ ✘\ufe0f ❌"
_WORDS = {**dict.fromkeys(_RIGHT.split(), 1.0), **dict.fromkeys(_WRONG.split(), 0.0)}
TIME = pl.Datetime("us", "UTC")
# Times as programs write them. What Python reads besides is left to it.
_ISO_TIME = (
    r"^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
    r"(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$"
)
_ZONE = r"(?:Z|[+-]\d\d:\d\d)$"
# A count since 1970 in text, long enough to be no date.
_COUNT = r"^[1-9]\d{8,18}(?:\.\d+)?$"
_FIRST_TIME, _LAST_TIME = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
_WHOLE_WITH_POINT = r"^(-?(?:0|[1-9]\d*))\.0+$"


class ScoreValues(msgspec.Struct, frozen=True):
    """Scores of one column: the numbers, and the labels behind those that were not plain numbers.

    `state` is the status that a label stands for instead of a number. `unknown` marks labels that stand for nothing
    known; any other null number is a missing score.
    """

    number: pl.Series
    label: pl.Series
    state: pl.Series
    unknown: pl.Series


def text_of(values: pl.Series) -> pl.Series:
    """Return ids and labels as text: 12 and 12.0 are the same; text stays as it is; NaN is null.

    >>> text_of(pl.Series([12.0, 1.5, None])).to_list(), text_of(pl.Series(["12.0", "012"])).to_list()
    (['12', '1.5', None], ['12.0', '012'])
    """
    if not values.dtype.is_float():
        return values.cast(pl.String)
    return without_points(values.fill_nan(None).cast(pl.String))


def without_points(text: pl.Series) -> pl.Series:
    """Return the texts of numbers with whole ones written without a point.

    >>> without_points(pl.Series(["12.0", "1.5", "q1.0"])).to_list()
    ['12', '1.5', 'q1.0']
    """
    return text.str.replace(_WHOLE_WITH_POINT, "$1")


def numbers_of(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return numbers, and a mask of the cells that are none. NaN and words for "no value" are null.

    >>> numbers_of(pl.Series(["$0.0021", "-3.5 $", "−2", "n/a", "54%", "1,385"]))[0].to_list()
    [0.0021, -3.5, -2.0, None, None, None]
    """
    if (number := _finite(values)) is not None:
        return number, pl.Series([False]).new_from_index(0, len(values))
    is_text = not values.dtype.is_numeric()
    cells = values.cast(pl.String).str.strip_chars().str.replace("−", "-", literal=True) if is_text else values
    if is_text and cells.str.extract(f"({CURRENCY})").drop_nulls().n_unique() < 2:  # amounts of one currency
        cells = cells.str.replace(_WRITTEN, "$1$2")
    cell, read = pl.col("cell"), pl.col("read")
    is_none = cell.str.to_lowercase().is_in(list(NO_VALUE)) if is_text else read.is_nan()
    is_number = read.is_finite().fill_null(value=False)
    found = pl.DataFrame({"cell": cells, "read": cells.cast(pl.Float64, strict=False)}).select(
        number=pl.when(is_number).then(read), unread=cell.is_not_null() & ~(is_none | is_number)
    )
    return found["number"].alias(values.name), found["unread"]


def _finite(values: pl.Series) -> pl.Series | None:
    """Return cells as numbers, where each that holds anything is a finite one."""
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if not (values.dtype.is_numeric() or isinstance(values.dtype, pl.Boolean | pl.Null)):
        values = values.cast(pl.String)
    number = values.cast(pl.Float64, strict=False)
    # The sum is NaN or infinite if one of them is.
    return number if number.null_count() == values.null_count() and math.isfinite(number.sum()) else None


def word_score(word: str) -> float | None:
    """Return what a word in a table's column of scores stands for, in any case, or a fraction; None for an unknown word.

    >>> (
    ...     word_score("Correct"),
    ...     word_score("FAIL"),
    ...     word_score("C"),
    ...     word_score("3/5"),
    ...     word_score("7/5"),
    ...     word_score("good"),
    ... )
    (1.0, 0.0, 1.0, 0.6, None, None)
    """
    known = _WORDS.get(word.strip().lower().replace(" ", "_"))
    if known is None and (fraction := _FRACTION.fullmatch(word.strip())):
        part, whole = float(fraction[1]), float(fraction[2])
        return part / whole if part <= whole > 0 else None
    return letter_grade(word) if known is None else known


def scores_of(
    values: pl.Series, labels: Mapping[str, str | float] | None = None, *, percent: bool = False
) -> ScoreValues:
    """Read scores: numbers, booleans, words (`word_score`), and labels that the user has given a meaning.

    A label counts as the user wrote it, and its word in another case is then unknown: "PASS" is not read as 1 where
    "pass" was said to be 0.5. Beside a school's grade, among the labels or in the column, a single letter is one too: C
    is then not "correct". With `percent` (the scores are percentages) "54.0%" is 54, and "3/5" 60.

    >>> found = scores_of(pl.Series(["0.5", "C", "good", "-1", "", "so-so"]), {"good": 0.8, "-1": "unscored"})
    >>> found.number.to_list(), found.state.to_list()[3], found.unknown.to_list()[3:]
    ([0.5, 1.0, 0.8, None, None, None], 'unscored', [False, False, True])
    >>> scores_of(pl.Series(["B", "C"]), {"B": 3}).number.to_list()
    [3.0, None]
    >>> scores_of(pl.Series(["54.0%", "3/5", "yes", "54"]), percent=True).number.to_list()
    [54.0, 60.0, 100.0, 54.0]
    """
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(values))
    if not labels and (number := _finite(values)) is not None:
        return ScoreValues(number, nothing, nothing, pl.Series([False]).new_from_index(0, len(values)))
    if 2 * values.head(_FIRST).n_unique() < min(_FIRST, len(values)):
        first, codes = coded(values.to_frame())  # what holds of a level holds of all its rows
        found = scores_of(values.gather(first), labels, percent=percent)
        return ScoreValues(*(at_codes(part, codes) for part in (found.number, found.label, found.state, found.unknown)))
    number, unread = numbers_of(values)
    if not labels and not unread.any():
        return ScoreValues(number, nothing, nothing, unread)
    text = without_points(text_of(values).str.strip_chars())
    known = {label: meaning for label, meaning in (labels or {}).items() if not isinstance(meaning, str)}
    states = {label: meaning for label, meaning in (labels or {}).items() if isinstance(meaning, str)}
    told = {label.lower() for label in (*known, *states)}
    words = text.filter(unread).unique().to_list()
    school = any(_SCHOOL_GRADE.fullmatch(label) for label in (*told, *words))
    for word in words:
        if school and len(word) == 1:
            continue
        score, share = as_number(word.rstrip("% ")) if percent else None, word_score(word)
        if score is None and share is not None:
            score = 100 * share if percent else share
        if score is not None and word.lower() not in told:
            known[word] = score
    # -1 is a code however the file writes it: -1, -1.0, -1.00.
    by_number = {code: meaning for label, meaning in reversed(states.items()) if (code := as_number(label)) is not None}
    meant = text.replace_strict(list(known), [*map(float, known.values())], default=None, return_dtype=pl.Float64)
    state = nothing
    if states:
        state = text.replace_strict(list(states), list(states.values()), default=None, return_dtype=pl.String)
        code = number.replace_strict(list(by_number), list(by_number.values()), default=None, return_dtype=pl.String)
        state = state.fill_null(code)
    plain = meant.is_null() & state.is_null()
    return ScoreValues(number.zip_with(plain, meant), text.set(plain, None), state, unread & plain)


def is_written_number(text: str) -> bool:
    """Whether a text is a number as people write it: with a currency or percent sign, or a decimal comma.

    >>> [is_written_number(text) for text in ("67,7 %", "$0.0021", "0.38", "1, 2", "%")]
    [True, True, True, False, False]
    """
    return re.match(_WRITTEN, text.strip(" %").replace("−", "-")) is not None


def units_of_times(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return times in UTC as `as_time` reads them, and what each is given in ("seconds", ..., "dates")."""
    if values.null_count() == len(values):
        nothing = pl.Series([None], dtype=TIME).new_from_index(0, len(values))
        return nothing, nothing.cast(pl.String)
    if values.dtype == pl.String:
        return _text_times(values)
    if isinstance(values.dtype, pl.Datetime | pl.Date):
        read = in_utc(values)
        units = pl.Series(["dates"]).new_from_index(0, len(values))
    else:
        numeric = values.dtype.is_numeric()
        number = values.cast(pl.Float64, strict=False) if numeric else pl.Series([None] * len(values), dtype=pl.Float64)
        size, unit = pl.lit(number.abs()), pl.lit("seconds")
        for name, limit, _ in reversed(_UNITS):
            unit = pl.when(size >= limit).then(pl.lit(name)).otherwise(unit)
        units = pl.select(unit).to_series()
        read = time_of_number(number).cast(TIME)
        read = read.set(~read.is_between(_FIRST_TIME, _LAST_TIME).fill_null(value=True), None)
    return read, units.set(read.is_null(), None)


def _text_times(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Read times in text: in the common forms as a whole, in any other one by one."""
    counts = values.str.contains(_COUNT).fill_null(value=False)
    if counts.all():
        return units_of_times(values.cast(pl.Float64))
    text = pl.col("text")
    patterns = {"common": _ISO_TIME, "zoned": _ZONE}
    shapes = (text.str.contains(pattern).fill_null(value=False).alias(name) for name, pattern in patterns.items())
    seen = values.alias("text").to_frame().with_columns(shapes)
    zoned = seen["zoned"]
    plain = pl.when("common").then(text).str.replace(" ", "T", literal=True)
    ways: list[pl.Expr] = []
    if not zoned.all():
        formed = pl.when(~pl.col("zoned")).then(plain)
        formed = formed.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
        ways.append(formed.dt.replace_time_zone("UTC"))
    if zoned.any():
        formed = pl.when("zoned").then(plain).str.replace("Z$", "+00:00")
        formed = formed.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", strict=False, time_zone="UTC")
        ways.append(formed)
    read = seen.select(pl.coalesce(ways).alias(values.name)).to_series()
    units = pl.Series(["dates"]).new_from_index(0, len(read))
    if not read.null_count():
        return read, units
    units = units.set(read.is_null(), None)
    if counts.any():
        by_count, unit = units_of_times(values.set(~counts, None).cast(pl.Float64, strict=False))
        read, units = read.fill_null(by_count), units.fill_null(unit)
    rest = read.is_null() & values.is_not_null()
    if rest.any():
        single = {text: (as_time(text), unit_of_count(text)) for text in values.filter(rest).unique().to_list()}
        known = {text: found for text, found in single.items() if found[0] is not None}
        odd = values.set(~rest, None)
        times = [None if text not in known else known[text][0] for text in odd.to_list()]
        read = read.fill_null(pl.Series(times, dtype=TIME))
        units = units.fill_null(
            pl.Series([None if text not in known else known[text][1] for text in odd.to_list()], dtype=pl.String)
        )
    return read, units


def times_of(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return times in UTC (from ISO 8601 text, seconds, milliseconds, dates), and a mask of what is no time."""
    read, _ = units_of_times(values)
    missing = values.is_null() | values.cast(pl.String).str.to_lowercase().is_in(list(NO_VALUE))
    return read, read.is_null() & ~missing


def tags_of(values: pl.Series) -> pl.Series:
    """Return lists of tags from lists, JSON lists in text, or text with semicolons."""
    if isinstance(values.dtype, pl.List | pl.Array):
        return values.cast(pl.List(pl.String))
    return pl.Series(values.name, [_tags(text) for text in values.cast(pl.String).to_list()], dtype=pl.List(pl.String))


def failures_of(values: pl.Series) -> pl.Series:
    """Return what a column of errors says: its text where there was a failure, null where there was none."""
    text = without_points(text_of(values))
    none = text.is_null() | text.str.strip_chars().str.to_lowercase().is_in(list(_NO_FAILURE))
    bare = text.str.to_lowercase().is_in(["true", "1"])
    said = pl.Series([None], dtype=pl.String).new_from_index(0, len(text))
    said = said.zip_with(none, text)
    return said.zip_with(~(bare & ~none), pl.Series(["the error column says so"]).new_from_index(0, len(text)))


def factor_of(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a factor in the dtype that fits the whole column."""
    if values.dtype == pl.String and dtype == pl.Boolean:
        return values.str.to_lowercase() == "true"
    return values.cast(dtype)


def digests_of(texts: pl.Series) -> pl.Series:
    """Return a digest of each text, by which copies are known and nothing is read."""
    digests = {text: hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts.drop_nulls().unique().to_list()}
    return texts.replace_strict(digests, default=None, return_dtype=pl.String)


def _tags(text: str | None) -> list[str] | None:
    if text is None:
        return None
    if text.startswith("["):
        try:
            listed = as_list(json.loads(text))
        except (ValueError, RecursionError):
            listed = []
        if listed:
            return [tag for part in listed if (tag := as_text(part)) is not None]
    return [tag for part in text.strip("[]").split(";") if (tag := part.strip())]


# Columns of a frame that is being made, beside those it will have; `bind` keeps such names out of the factors.
PLACE = "\x00place"
FAILURE = "\x00failure"
STATE = "\x00state"
_STANDS = "\x00stands"
# Why a row with a score may not be whole: what its status is called.
BROKEN_OFF = "its status is {}"

_SHOWN = 3
_FIRST = 100  # rows that show whether a column has few levels
_TOO_LARGE = 2.0**63  # for a whole number of 64 bits
_SHOWN_CHARS = 80
_STATE_WORDS = pl.when(pl.col(STATE) == "error").then(pl.lit("an error")).otherwise(pl.lit("no score"))


def grades_in_order(labels: Iterable[str]) -> str:
    """Return the grades of a school numbered from the lowest one up, as lines of a map; "" where some label is none.

    >>> grades_in_order(["B", "A+", "C-", "B+"]), grades_in_order(["A", "good"])
    ('"A+" = 4, "B+" = 3, "B" = 2, "C-" = 1', '')
    """
    grades = {*labels}
    if not all(map(_GRADE.fullmatch, grades)):
        return ""
    best_first = sorted(grades, key=lambda grade: (grade[0].upper(), "+ -".index(grade[1:] or " ")))
    return ", ".join(f'"{grade}" = {len(grades) - place}' for place, grade in enumerate(best_first))


class Places(msgspec.Struct, frozen=True):
    """Where rows stand in their file, for messages: `word` is line, record or row."""

    word: str
    at: pl.Series

    def reject(self, wrong: pl.Series, problem: str, values: pl.Series | None = None, remedy: str = "") -> None:
        """Raise an `InputError` that names the rows marked in `wrong`; do nothing where none is."""
        if not wrong.any():
            return
        rows = wrong.fill_null(value=False).arg_true()
        named = [
            f"{self.word} {self.at[row]}{'' if values is None else f': {str(values[row])[:_SHOWN_CHARS]!r}'}"
            for row in rows[:_SHOWN]
        ]
        shown = comma_list(named, _SHOWN, total=len(rows))
        advice = f"; {remedy}" if remedy else ""
        raise InputError(f"a row {problem} ({shown}){advice}")


def refuse_labels(places: Places, unknown: pl.Series, labels: pl.Series, source: str, n_rows: int) -> None:
    """Raise an `InputError` if the column of scores holds words that stand for no known score; say how to tell them.

    `n_rows` are the rows of the whole table, of which this may be the first part.
    """
    n = unknown.sum()
    if not n:
        return
    row = unknown.arg_true()[0]
    first = str(labels[row])[:_SHOWN_CHARS]
    count = f"{n:,} of {n_rows:,} rows have"
    if len(unknown) != n_rows:
        count = f"at least {count}"
    seen = labels.filter(unknown).cast(pl.String).unique(maintain_order=True)
    others = seen[1:]
    shown = "".join(f", {str(label)[:_SHOWN_CHARS]!r}" for label in others[:_SHOWN])
    more = f" and {len(others) - _SHOWN} more labels" if len(others) > _SHOWN else ""
    what = f"{places.word} {places.at[row]}: {first!r}{f'; then {shown[2:]}' if shown else ''}{more}"
    message = f"{count} no known score in {source!r} ({what}); "
    # A word among many numbers is no step of their scale.
    known = labels.filter(~unknown).drop_nulls()
    number, unread = numbers_of(known)
    graded = known.n_unique() > 2 and not unread.any() and bool((number % 1 == 0).all())
    meant = [each for each in seen if not (_tells_of_no_result(each) or (graded and each.replace(" ", "").isalpha()))]
    if "%" in first and is_written_number(first):
        remedy = f"for percentages say {Option('map', 'percent', of='scale')}, or take the signs off"
    elif all("," in each and is_written_number(each) for each in seen):
        plain, pointed = first.replace(",", ""), first.replace(",", ".")
        remedy = f"a comma may part thousands or decimals; write {plain} if it parts thousands, {pointed} if decimals"
    elif not meant:
        codes = [label.strip() for label in seen]
        lost = str(Option("map", tuple(codes), of="unscored"))
        if any("," in code or "(" in code or ")" in code for code in codes):
            lost = str(Option("values", (first, "unscored"), of="score"))
        remedy = f"if they mean no score: {lost}; if for a wrong answer: {Option('values', (first, 0), of='score')}"
    else:
        label = meant[0][:_SHOWN_CHARS]
        meant_by = Option("values", (label, 1), of="score")
        graded_by = f"; from the lowest up: {order}" if (order := grades_in_order(seen)) else ""
        remedy = f"say what each label means: {meant_by}{graded_by}; or map another column to score"
    raise InputError(message + remedy)


def _tells_of_no_result(label: str) -> bool:
    word = label.strip()
    known = re.sub(r"(?<=[a-z])[ -](?=[a-z])", "_", word.lower()) in _NO_RESULT or _NOT_FINITE.fullmatch(word)
    return bool(known or _FAILURE_BEGINS.match(word))


def read_standard(column: GlossaryColumn, series: pl.Series, places: Places) -> pl.Series:
    """Return a column in its glossary dtype."""
    if isinstance(column.dtype, pl.List):
        return tags_of(series)
    if isinstance(column.dtype, pl.Datetime):
        read, unread = times_of(series)
        remedy = "use ISO 8601, or seconds or milliseconds since 1970"
        places.reject(unread, f"has a {column.name} that is no time", series, remedy)
        return read
    if column.dtype == pl.String:
        read = text_of(series)
        if column.levels:
            is_status = column.name == "status"
            known = (*column.levels, *_STATUS_WORDS) if is_status else column.levels
            read = _in_one_spelling(read, known) if is_status else read
            wrong = read.is_not_null() & ~read.is_in(list(known))
            example = str(next(iter(series.filter(wrong)), ""))[:_SHOWN_CHARS]
            meant_by = Option("values", (example, column.levels[0]), of=column.name)
            remedy = f"say what each label means: {meant_by}"
            places.reject(wrong, f"has a {column.name} that is not one of {', '.join(column.levels)}", series, remedy)
        return read
    return _read_number(column, series, places)


def _in_one_spelling(words: pl.Series, known: Sequence[str]) -> pl.Series:
    """Return known words in lower case, joined by underscores; others as they are, and null where there is no value."""
    plain = words.str.strip_chars().str.to_lowercase().str.replace_all(r"[\s-]+", "_")
    is_known, nothing = plain.is_in(list(known)), plain.is_in(list(NO_VALUE))
    return pl.select(pl.when(is_known).then(plain).when(~nothing).then(words).alias(words.name)).to_series()


def misfit(column: GlossaryColumn, series: pl.Series, places: Places) -> str:
    """Say why a column that merely bears a standard name cannot be that column; "" where it can.

    >>> turns = GlossaryColumn(name="n_turns", dtype=pl.Int64(), meaning="Turns")
    >>> misfit(turns, pl.Series(["two"]), Places("line", pl.Series([2])))
    "a row has a n_turns that is no number (line 2: 'two')"
    """
    try:
        read_standard(column, series, places)
    except InputError as error:
        return str(error).partition("; ")[0]
    return ""


def _read_number(column: GlossaryColumn, series: pl.Series, places: Places) -> pl.Series:
    read, unread = numbers_of(series)
    by_order = f"to number repetitions in the order of the file, write {Option('map', '#order', of='trial')}"
    remedy = by_order if column.name == "trial" else ""
    places.reject(unread, f"has a {column.name} that is no number", series, remedy)
    if column.unit == "US dollars" and series.dtype == pl.String:
        places.reject(series.str.contains("[€£¥]"), f"has a {column.name} in another currency", series)
    lowest, highest = cast("tuple[float | None, float | None]", (read.min(), read.max()))
    if lowest is None or highest is None:
        return read.cast(pl.Int64) if column.dtype.is_integer() else read
    if column.low is not None and lowest < column.low:
        places.reject(read < column.low, f"has a {column.name} below {column.low:g}", series)
    if column.high is not None and highest > column.high:
        places.reject(read > column.high, f"has a {column.name} above {column.high:.0f}", series)
    if not column.dtype.is_integer():
        return read
    if max(-lowest, highest) >= _TOO_LARGE:
        places.reject(read.abs() >= _TOO_LARGE, f"has a {column.name} that is too large", series)
    places.reject(read != read.round(), f"has a {column.name} that is no whole number", series)
    return read.cast(pl.Int64)


def with_states(frame: pl.DataFrame) -> pl.DataFrame:
    """Give every row its status, from `score`, `value_raw`, the failures and what the table itself says.

    A failure, or a state the table gives, outranks a score in the same row: the number then stands in `value_raw` only. The words
    of programs for a state (ok, failed) tell why there is no score. Beside one they change nothing, but that a program broke off
    stays as the row's reason: its score may be the harness's 0.
    """
    scored, error, unscored = STATUSES
    no_reason = pl.lit(None, dtype=pl.String)
    is_plain = "status" not in frame.columns and not frame["score"].null_count()
    if is_plain and all(frame[name].null_count() == frame.height for name in (FAILURE, STATE)):
        reason = pl.col("status_reason") if "status_reason" in frame.columns else no_reason
        return frame.with_columns(status=pl.lit(scored), status_reason=reason).drop(FAILURE, STATE)
    own = pl.col("status") if "status" in frame.columns else pl.lit(None, dtype=pl.String)
    word = own.replace_strict(_STATUS_WORDS, default=None, return_dtype=pl.String)
    said = pl.coalesce(STATE, pl.when(word.is_null()).then(own).when(pl.col("score").is_null()).then(word))
    reason = pl.col("status_reason") if "status_reason" in frame.columns else no_reason
    empty = pl.col("score").is_null()
    stands = (
        pl.when(pl.col(STATE).is_not_null())
        .then(pl.format("{} stands for {}", pl.col("value_raw").str.slice(0, _SHOWN_CHARS), _STATE_WORDS))
        .when((word != scored) & (empty | ~own.str.starts_with("fail")))
        .then(pl.format(BROKEN_OFF, own))
    )
    status = (
        pl.when(pl.col(FAILURE).is_not_null())
        .then(pl.lit(error))
        .when(said.is_not_null() & (said != scored))
        .then(said)
        .when(empty)
        .then(pl.lit(unscored))
        .otherwise(pl.lit(scored))
    )
    frame = frame.with_columns(status=status, **{_STANDS: stands})
    kept = pl.col("status") == scored
    return frame.with_columns(
        status_reason=pl.coalesce(reason, FAILURE, _STANDS, pl.when(~kept & empty).then(pl.lit("there is no score"))),
        value_raw=pl.coalesce("value_raw", pl.when(~kept).then(pl.col("score").cast(pl.String))),
        score=pl.when(kept).then("score"),
    ).drop(FAILURE, STATE, _STANDS)
