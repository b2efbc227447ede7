"""Read the standard columns of a table, and say which row is at fault where a cell does not fit."""

import json
from dataclasses import dataclass

import polars as pl

from evalstats.errors import InputError
from evalstats.loaders.cells import numbers_of, percent_score, tags_of, text_of, times_of
from evalstats.loaders.mapping import spelled
from evalstats.schema.columns import STATUSES, Column

# Columns of a frame that is being made, beside those it will have; `bind` keeps such names out of the factors.
PLACE = "\x00place"
FAILURE = "\x00failure"
STATE = "\x00state"

_SHOWN = 3
_TOO_LARGE = 2.0**63  # for a whole number of 64 bits
_SHOWN_CHARS = 80
_STATE_WORDS = pl.when(pl.col(STATE) == "error").then(pl.lit("an error")).otherwise(pl.lit("no score"))


@dataclass(frozen=True, slots=True)
class Places:
    """Where rows stand in their file, for messages: `word` is line, record or row."""

    word: str
    at: pl.Series

    def reject(self, wrong: pl.Series, problem: str, values: pl.Series | None = None, remedy: str = "") -> None:
        """Raise an `InputError` that names the rows marked in `wrong`; do nothing where none is."""
        wrong = wrong.fill_null(value=False)
        if not wrong.any():
            return
        rows = wrong.arg_true()
        shown = [f"{self.word} {self.at[row]}" for row in rows[:_SHOWN]]
        if values is not None:
            cells = [repr(str(values[row])[:_SHOWN_CHARS]) for row in rows[:_SHOWN]]
            shown = [f"{place}: {cell}" for place, cell in zip(shown, cells, strict=True)]
        more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
        advice = f"; {remedy}" if remedy else ""
        message = f"a row {problem} ({', '.join(shown)}{more}){advice}"
        raise InputError(message)


def refuse_labels(places: Places, unknown: pl.Series, labels: pl.Series, source: str, n_rows: int) -> None:
    """Raise an `InputError` if the column of scores holds words that stand for no known score; say how to tell them.

    `n_rows` are the rows of the whole table, of which this may be the first part.
    """
    n = unknown.sum()
    if not n:
        return
    row = unknown.arg_true()[0]
    first = str(labels[row])[:_SHOWN_CHARS]
    count = f"{n} of {n_rows} rows have" if len(unknown) == n_rows else f"at least {n} of {n_rows} rows have"
    others = labels.filter(unknown).cast(pl.String).unique(maintain_order=True)[1:]
    shown = "".join(f", {str(label)[:_SHOWN_CHARS]!r}" for label in others[:_SHOWN])
    more = f" and {len(others) - _SHOWN} more labels" if len(others) > _SHOWN else ""
    what = f"{places.word} {places.at[row]}: {first!r}{f'; then {shown[2:]}' if shown else ''}{more}"
    message = f"{count} no known score in {source!r} ({what}); "
    if percent_score(first) is not None:
        remedy = f"for percentages say {spelled('scale', 'percent')}, or take the signs off"
    else:
        remedy = f"{how_to_say_labels('score', first, '1')}; or map another column to score"
    raise InputError(message + remedy)


def how_to_say_labels(column: str, label: str, meaning: str) -> str:
    """Say where the user writes down what the labels in a column stand for: in a TOML file, or in Python.

    Examples
    --------
    >>> how_to_say_labels("score", "good", "1")  # doctest: +NORMALIZE_WHITESPACE
    'write into a file map.toml a line [values.score] and below it what each label stands for, as in "good" = 1, and
    give it with --map map.toml (in from_frame: values={"score": {"good": 1}})'
    """
    quoted = json.dumps(label, ensure_ascii=False)
    return (
        f"write into a file map.toml a line [values.{column}] and below it what each label stands for, as in "
        f"{quoted} = {meaning}, and give it with --map map.toml "
        f'(in from_frame: values={{"{column}": {{{quoted}: {meaning}}}}})'
    )


def read_standard(column: Column, series: pl.Series, places: Places) -> pl.Series:
    """Return a column in its glossary dtype.

    Raises
    ------
    InputError
        Naming the row and value: not a number, not a time, not one of the column's levels, out of its bounds.
    """
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
            wrong = read.is_not_null() & ~read.is_in(list(column.levels))
            example = str(next(iter(series.filter(wrong)), ""))[:_SHOWN_CHARS]
            remedy = how_to_say_labels(column.name, example, f'"{column.levels[0]}"')
            places.reject(wrong, f"has a {column.name} that is not one of {', '.join(column.levels)}", series, remedy)
        return read
    return _read_number(column, series, places)


def misfit(column: Column, series: pl.Series, places: Places) -> str:
    """Say why a column that merely bears a standard name cannot be that column; "" where it can.

    Examples
    --------
    >>> turns = Column(name="n_turns", dtype=pl.Int64(), meaning="Turns")
    >>> misfit(turns, pl.Series(["two"]), Places("line", pl.Series([2])))
    "a row has a n_turns that is no number (line 2: 'two')"
    """
    try:
        read_standard(column, series, places)
    except InputError as error:
        return str(error).partition("; ")[0]
    return ""


def _read_number(column: Column, series: pl.Series, places: Places) -> pl.Series:
    read, unread = numbers_of(series)
    by_order = f"to number repetitions in the order of the file, write {spelled('trial', '#order')}"
    remedy = by_order if column.name == "trial" else ""
    places.reject(unread, f"has a {column.name} that is no number", series, remedy)
    if column.low is not None:
        places.reject(read < column.low, f"has a {column.name} below {column.low:g}", series)
    if column.high is not None:
        places.reject(read > column.high, f"has a {column.name} above {column.high:.0f}", series)
    if not column.dtype.is_integer():
        return read
    places.reject(read.abs() >= _TOO_LARGE, f"has a {column.name} that is too large", series)
    places.reject(read != read.round(), f"has a {column.name} that is no whole number", series)
    return read.cast(pl.Int64)


def with_states(frame: pl.DataFrame) -> pl.DataFrame:
    """Give every row its status, from `score`, `value_raw`, the failures and what the table itself says.

    A failure, or a state the table gives, outranks a score in the same row: the number then stands in `value_raw` only.
    """
    scored, error, unscored = STATUSES
    said = pl.coalesce(STATE, *(["status"] if "status" in frame.columns else []))
    reason = pl.col("status_reason") if "status_reason" in frame.columns else pl.lit(None, dtype=pl.String)
    empty = pl.col("score").is_null()
    stands = pl.when(pl.col(STATE).is_not_null()).then(
        pl.format("{} stands for {}", pl.col("value_raw").str.slice(0, _SHOWN_CHARS), _STATE_WORDS)
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
    frame = frame.with_columns(status=status)
    kept = pl.col("status") == scored
    return frame.with_columns(
        status_reason=pl.coalesce(reason, FAILURE, stands, pl.when(~kept & empty).then(pl.lit("there is no score"))),
        value_raw=pl.coalesce("value_raw", pl.when(~kept).then(pl.col("score").cast(pl.String))),
        score=pl.when(kept).then("score"),
    ).drop(FAILURE, STATE)
