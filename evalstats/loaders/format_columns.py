"""What values of a file say: the state and score of an outcome, one by one or as columns, and records as frames.

What a file may hold in place of a number, a verdict or a time is told apart here once: nothing is guessed, and what does not fit
is null or unscored with its reason.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.loaders.rows import Row, Said, held, scored, unscored
from evalstats.loaders.values import as_number, as_text, numbers_of, text_of, times_of
from evalstats.schema.tables import columns_of_rows

T = TypeVar("T")


class InEvery(msgspec.Struct, frozen=True):
    """The outcome of a record in every metric of the file, or in those that one evaluator gives, which only its end tells."""

    said: Row
    evaluator: str | None = None


# What one record says: what all of its outcomes share, and each outcome, a metric with its score or with why there is none.
# Costs, times, counts and timestamps may be as the file has them.
Scores = tuple[Row, Sequence[tuple[str, Said]]]
Sample = tuple[Row, Sequence[tuple[str, Said]] | InEvery]


def amounts(values: list[object]) -> pl.Series:
    """Return costs, times and the like as a column; what is no number from 0 is null.

    >>> amounts([1, "2.5", -1, None, "x"]).to_list()
    [1.0, 2.5, None, None, None]
    """
    return _where(found := _numpy(values), found >= 0)


def counts(values: list[object]) -> pl.Series:
    """Return whole numbers from 0 as a column; what is none is null.

    >>> counts([3, 2.0, 0.5, -1, 1e300]).to_list()
    [3, 2, None, None, None]
    """
    found = _numpy(values)
    return _where(found, (found >= 0) & (found < 2.0**63) & (found == np.floor(found))).cast(pl.Int64)


def times(values: list[object]) -> pl.Series:
    """Return times in UTC as a column, from ISO 8601 or counts since 1970; what is none is null."""
    return times_of(series(values))[0]


# Columns whose cells may hold anything in a file: what does not fit is null.
MAKERS: Final[Mapping[str, Callable[[list[object]], pl.Series]]] = {
    **dict.fromkeys(("cost_usd", "latency_s"), amounts),
    **dict.fromkeys(("n_turns", "input_tokens", "output_tokens"), counts),
    "timestamp": times,
}


def number(value: object, low: float | None = None, high: float | None = None) -> Said:
    """Return a score, where a value is a number in the range; else why there is none.

    >>> number(0.5), number("high")["status_reason"], number(11, 0, 10)["status_reason"]
    (0.5, 'the score is no number', 'the score lies outside 0 to 10')
    """
    found = None if isinstance(value, bool) else as_number(value)
    if found is None:
        return unscored("there is no score" if value is None else "the score is no number", held(value))
    if (low is not None and found < low) or (high is not None and found > high):
        return unscored(f"the score lies outside {low:g} to {high:g}", held(value))
    return scored(found, value_raw=held(value)) if isinstance(value, str) else found


def series(values: Sequence[object]) -> pl.Series:
    """Return the values of one member as a column: numbers, true and false, or text; text where they are of several kinds.

    Lists and objects are null.

    >>> series([1, None, 0.5]).to_list(), series(["a", 2.0, [1]]).to_list()
    ([1.0, None, 0.5], ['a', '2', None])
    """
    kinds = {*map(type, values)} - {type(None)}
    dtype = next((dtype for some, dtype in _DTYPES if kinds <= some), None)
    try:
        if dtype is not None:
            return pl.Series(values, dtype=dtype, strict=dtype != pl.Float64)
    except (OverflowError, TypeError, UnicodeEncodeError):  # more than 64 bits, or half of a character
        pass
    return pl.Series([*map(as_text, values)], dtype=pl.String)


def sample_columns(samples: Iterable[Scores]) -> pl.DataFrame:
    """Return what records of a block say as columns, for a format whose records mean something only beside each other."""
    said = list(samples)
    shared = columns_of_rows([of_all for of_all, _ in said], "outcomes", MAKERS)
    return with_outcomes(shared, [outcomes for _, outcomes in said]) if said else pl.DataFrame()


def with_outcomes(shared: pl.DataFrame, outcomes: Sequence[Sequence[tuple[str, Said]]]) -> pl.DataFrame:
    """Repeat what outcomes share for each of them, and put it beside what they say."""
    if any(len(found) != 1 for found in outcomes):
        shared = shared[[place for place, found in enumerate(outcomes) for _ in found]]
    metrics = texts([metric for found in outcomes for metric, _ in found])
    return shared.hstack([metrics.alias("metric"), *states([said for found in outcomes for _, said in found])])


def states(said: Sequence[Said]) -> pl.DataFrame:
    """Return scores, and what is said in place of one or beside it, as columns; a dict that comes again is looked at once.

    >>> states([1.0, unscored("no verdict"), 0.5])["status_reason"].to_list()
    [None, 'no verdict', None]
    """
    odd = {id(each): each for each in said if isinstance(each, dict)}
    if not odd:
        return _scored(pl.Series(said, dtype=pl.Float64))
    places = {key: place for place, key in enumerate(odd, start=1)}
    rows: list[Row] = [{**_OUTCOME, "status": "scored"}, *odd.values()]
    frame = columns_of_rows(rows, "outcomes")[[places.get(id(each), 0) for each in said]]
    plain = [None if isinstance(each, dict) else each for each in said]
    return frame.with_columns(score=pl.coalesce(pl.Series(plain, dtype=pl.Float64), "score"))


def _scored(scores: pl.Series) -> pl.DataFrame:
    nothing = pl.lit(None, dtype=pl.String)
    return pl.select(status=pl.lit("scored"), status_reason=nothing, score=scores, value_raw=nothing)


def texts(values: Sequence[object]) -> pl.Series:
    """Return ids or labels as a column of text."""
    return text_of(series(values))


def floats(values: Sequence[object]) -> pl.Series:
    """Return numbers as a column; what is none is null."""
    return _where(found := _numpy(values), np.isfinite(found))


def _numpy(values: Sequence[object]) -> npt.NDArray[np.float64]:
    """Return numbers, NaN for what is none or not finite: for columns of a block NumPy takes a tenth of what expressions do."""
    found = series(values)
    is_plain = found.dtype.is_numeric() or found.null_count() == len(found)
    found = found.cast(pl.Float64) if is_plain else numbers_of(found)[0]
    number = found.to_numpy()
    return np.where(np.isfinite(number), number, np.nan)


def _where(numbers: npt.NDArray[np.float64], fits: npt.NDArray[np.bool_]) -> pl.Series:
    return pl.Series(np.where(fits, numbers, np.nan), nan_to_null=True)


def numbers(values: Sequence[object], low: float | None = None, high: float | None = None) -> pl.DataFrame:
    """Return what `number` says of each value, as the columns `status`, `status_reason`, `score` and `value_raw`.

    >>> numbers([1, None, 0.5])["status"].to_list()
    ['scored', 'unscored', 'scored']
    """
    found = series(values)
    if len(found) and found.dtype.is_numeric() and not found.null_count():
        score = found.cast(pl.Float64).to_numpy()
        lowest, highest = score.min(), score.max()  # NaN where one is
        inside = (low is None or lowest >= low) and (high is None or highest <= high)
        if inside and isfinite(lowest) and isfinite(highest):
            return _scored(found.cast(pl.Float64))
    return states(each_once(values, lambda value: number(value, low, high)))


def each_once(values: Sequence[object], say: Callable[[object], T]) -> list[T]:
    """Return what is said of each value; one that comes again is looked at once."""
    if {*map(type, values)} <= {str, type(None)}:
        words = {value: say(value) for value in {*values}}
        return [words[value] for value in values]
    known: dict[object, T] = {}
    found: list[T] = []
    for value in values:
        kind = type(value)
        key = (kind, value) if kind in _PLAIN else id(value)
        if key not in known:
            known[key] = say(value)
        found.append(known[key])
    return found


def verdicts(values: Sequence[object]) -> pl.DataFrame:
    """Return what `verdict` says of each value, as the columns `status`, `status_reason`, `score` and `value_raw`.

    >>> verdicts([True, None])["status"].to_list()
    ['scored', 'unscored']
    """
    found = series(values)
    if found.dtype == pl.Boolean and not found.null_count():
        return _scored(found.cast(pl.Float64))
    return states(each_once(values, verdict))


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_OUTCOME: Final[Row] = {"status": None, "status_reason": None, "score": None, "value_raw": None}
_DTYPES: Final = (
    ({str}, pl.String),
    ({bool}, pl.Boolean),
    ({int}, pl.Int64),
    ({int, float}, pl.Float64),
)


def verdict(value: object) -> Said:
    """Return 1 or 0, where a value is one of these, true or false; else why there is no score.

    >>> verdict(True), verdict(0), verdict(None)["status"]
    (1.0, 0.0, 'unscored')
    """
    found = as_number(value)
    if found in (0.0, 1.0):
        return found
    return unscored("there is no verdict" if value is None else "the verdict is neither true nor false", held(value))


def with_said(shared: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Put states beside what outcomes share, whose `error` comes before what the values say, and its `status_reason` behind.

    >>> shared = pl.DataFrame({"item": ["a", "b"], "error": [None, "timeout"]})
    >>> with_said(shared, numbers([0.5, 0.0])).select("item", "status", "status_reason", "score").rows()
    [('a', 'scored', None, 0.5), ('b', 'error', 'timeout', None)]
    """
    if "status_reason" in shared.columns:
        reason = pl.coalesce(said["status_reason"], shared["status_reason"])
        shared, said = shared.drop("status_reason"), said.with_columns(reason.alias("status_reason"))
    if "error" in shared.columns and shared["error"].null_count() < shared.height:
        error, failed = shared["error"], shared["error"].is_not_null()
        said = said.with_columns(
            status=pl.when(failed).then(pl.lit("error")).otherwise("status"),
            status_reason=pl.coalesce(error, "status_reason"),
            value_raw=pl.when(failed).then(pl.coalesce("value_raw", text_of(said["score"]))).otherwise("value_raw"),
            score=pl.when(~failed).then("score"),
        )
    return shared.drop("error", strict=False).hstack(said)


def unscored_where(frame: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    """Return outcomes without the scores for which there is a reason why they are none.

    >>> frame = pl.DataFrame({"item": ["a", "b"]}).hstack(numbers([0.5, 0.0]))
    >>> unscored_where(frame, pl.when(pl.col("score") == 0).then(pl.lit("not run"))).select("status", "score").rows()
    [('scored', 0.5), ('unscored', None)]
    """
    none = reason.is_not_null() & (pl.col("status") != "error")
    return frame.with_columns(
        status=pl.when(none).then(pl.lit("unscored")).otherwise("status"),
        status_reason=pl.when(none).then(reason).otherwise("status_reason"),
        value_raw=pl.when(none).then(pl.coalesce("value_raw", text_of(frame["score"]))).otherwise("value_raw"),
        score=pl.when(~none).then("score"),
    )
