"""Whole columns of cells as ids, numbers, scores, times, tags and factors.

Every function returns what it read and a mask of the cells that it could not read: the caller knows where those stand
and says so. Nothing is guessed, and nothing unknown becomes 0.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from evalstats.loaders.values import as_list, as_number, as_text, as_time, letter_grade
from evalstats.schema.tables import time_of_number

# Words that programs write where there is no value.
_NO_VALUE = frozenset({"", "nan", "na", "n/a", "<na>", "none", "null"})
_NO_FAILURE = (*_NO_VALUE, "false", "0", "0.0")
# Words that people write into their own tables for right and wrong. Harnesses have theirs (`letter_grade`), which stay
# as upstream has them: there "failed" may be a crash.
_WORDS = {
    **dict.fromkeys(("correct", "right", "pass", "passed", "success"), 1.0),
    **dict.fromkeys(("incorrect", "wrong", "fail", "failed", "failure"), 0.0),
}
_WHOLE_WITH_POINT = r"^(-?(?:0|[1-9]\d*))\.0+$"


@dataclass(frozen=True, slots=True)
class Scores:
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

    Examples
    --------
    >>> text_of(pl.Series([12.0, 1.5, None])).to_list(), text_of(pl.Series(["12.0", "012"])).to_list()
    (['12', '1.5', None], ['12.0', '012'])
    """
    if not values.dtype.is_float():
        return values.cast(pl.String)
    return without_points(values.fill_nan(None).cast(pl.String))


def without_points(text: pl.Series) -> pl.Series:
    """Return the texts of numbers with whole ones written without a point.

    Examples
    --------
    >>> without_points(pl.Series(["12.0", "1.5", "q1.0"])).to_list()
    ['12', '1.5', 'q1.0']
    """
    return text.str.replace(_WHOLE_WITH_POINT, "$1")


def numbers_of(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return numbers, and a mask of the cells that are none. NaN and words for "no value" are null."""
    if not (values.dtype.is_numeric() or isinstance(values.dtype, pl.Boolean | pl.Null)):
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        text = values.str.strip_chars()
        present = ~text.str.to_lowercase().is_in(list(_NO_VALUE)) & text.is_not_null()
        number = text.cast(pl.Float64, strict=False)
    else:
        number = values.cast(pl.Float64, strict=False)
        present = values.is_not_null() & ~number.is_nan().fill_null(value=False)
    number = number.fill_nan(None)
    number = number.set(number.is_infinite().fill_null(value=False), None)
    return number, present.fill_null(value=False) & number.is_null()


def word_score(word: str) -> float | None:
    """Return what a word in a table's column of scores stands for, in any case; None for an unknown word.

    Examples
    --------
    >>> word_score("Correct"), word_score("FAIL"), word_score("C"), word_score("good")
    (1.0, 0.0, 1.0, None)
    """
    known = _WORDS.get(word.strip().lower())
    return letter_grade(word) if known is None else known


def scores_of(values: pl.Series, labels: Mapping[str, str | float] | None = None, *, percent: bool = False) -> Scores:
    """Read scores: numbers, booleans, words (`word_score`), and labels that the user has given a meaning.

    A label counts as the user wrote it, and its word in another case is then unknown: "PASS" is not read as 1 where
    "pass" was said to be 0.5. With `percent` (the scores are percentages) "54.0%" is 54.

    Examples
    --------
    >>> found = scores_of(pl.Series(["0.5", "C", "good", "-1", "", "B+"]), {"good": 0.8, "-1": "unscored"})
    >>> found.number.to_list(), found.state.to_list()[3], found.unknown.to_list()[3:]
    ([0.5, 1.0, 0.8, None, None, None], 'unscored', [False, False, True])
    """
    number, unread = numbers_of(values)
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(values))
    if not labels and not unread.any():
        return Scores(number, nothing, nothing, unread)
    text = without_points(text_of(values).str.strip_chars())
    known = {label: meaning for label, meaning in (labels or {}).items() if not isinstance(meaning, str)}
    states = {label: meaning for label, meaning in (labels or {}).items() if isinstance(meaning, str)}
    told = {label.lower() for label in (*known, *states)}
    for word in text.filter(unread).unique().to_list():
        score = percent_score(word) if percent else None
        score = word_score(word) if score is None else score
        if score is not None and word.lower() not in told:
            known[word] = score
    meant = text.replace_strict(list(known), list(known.values()), default=None, return_dtype=pl.Float64)
    state = text.replace_strict(list(states), list(states.values()), default=None, return_dtype=pl.String)
    plain = meant.is_null() & state.is_null()
    return Scores(number.zip_with(plain, meant), nothing.zip_with(plain, text), state, unread & plain)


def percent_score(text: str) -> float | None:
    """Return the number before a percent sign; None where the text is not a number with one.

    Examples
    --------
    >>> percent_score("54.0%"), percent_score("54.0 %"), percent_score("54"), percent_score("%")
    (54.0, 54.0, None, None)
    """
    number, sign, rest = text.strip().partition("%")
    return as_number(number) if sign and not rest else None


def times_of(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return times in UTC (from ISO 8601 text, seconds, milliseconds, dates), and a mask of what is no time."""
    if values.dtype == pl.String:
        times = [as_time(text) for text in values.to_list()]
        read = pl.Series("timestamp", times, dtype=pl.Datetime("us", "UTC"))
    elif isinstance(values.dtype, pl.Datetime):
        zoned = values if values.dtype.time_zone else values.dt.replace_time_zone("UTC")
        read = zoned.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
    elif values.dtype == pl.Date:
        read = values.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    else:
        seconds, _ = numbers_of(values)
        read = time_of_number(seconds)
    missing = values.is_null() | values.cast(pl.String).str.to_lowercase().is_in(list(_NO_VALUE))
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
