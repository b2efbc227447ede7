"""Turn any frame into a checked tidy table, or say which row, column and value is at fault.

Ingesting thousands of small files goes mostly through here, and a Polars expression costs more than the few rows that it
looks at: each check first asks what a column knows cheaply (its nulls, sum, ends), and builds a mask only for a fault.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.selectors import by_name

from evalstats.errors import InputError
from evalstats.grammar import comma_list
from evalstats.schema.columns import KEYS, TABLES, GlossaryColumn, TableName, column_names, schema_of
from evalstats.schema.in_memory import as_polars

# Factors are kept in one of these dtypes; anything else becomes text.
_FACTOR_DTYPES = (pl.String, pl.Boolean, pl.Int64, pl.Float64)
_SHOWN = 3
# Fourth powers of numbers are summed (the variance of a variance), and these are the largest of which a table can be.
LARGEST = 1e70
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
MILLISECONDS_FROM = 1e11  # seconds reach this in the year 5138, milliseconds reached it in 1973
# Each unit reaches its limit when the next finer one has passed it for 50 years: (limit, microseconds in the unit).
_UNITS = ((MILLISECONDS_FROM, 1e6), (1e14, 1e3), (1e17, 1.0))


def frame_from_rows(rows: Iterable[Mapping[str, object]], table: TableName) -> pl.DataFrame:
    """Build a tidy table from dicts that hold any of its columns, and any factors; then check it.

    Keys that a row lacks are null. Factor values other than text, whole number, number and boolean become text.
    """
    return check_table(columns_of_rows(list(rows), table), table)


def columns_of_rows(
    rows: Sequence[Mapping[str, object]],
    table: TableName,
    makers: Mapping[str, Callable[[list[object]], pl.Series]] | None = None,
) -> pl.DataFrame:
    """Return dicts as the columns that any of them has, in the table's dtypes as far as the values fit, not yet checked.

    `makers` turn the values of some columns into series in place of that.
    """
    standard = {column.name: column for column in TABLES[table]}
    shapes = list(dict.fromkeys(map(tuple, rows)))
    columns: Iterable[list[object]]
    if len(shapes) == 1:  # the rows are alike, as those of most loaders are
        names = list(shapes[0])
        columns = map(list, zip(*(row.values() for row in rows), strict=True))
    else:
        names = list(dict.fromkeys(chain.from_iterable(shapes)))
        columns = ([row.get(name) for row in rows] for name in names)
    made: list[pl.Series] = []
    for name, values in zip(names, columns, strict=True):
        if makers is not None and name in makers:
            made.append(makers[name](values).alias(name))
        elif name in standard:
            made.append(_standard_series(standard[name], values))
        else:
            made.append(factor_series(name, values))
    return pl.DataFrame(made)


def empty_table(table: TableName) -> pl.DataFrame:
    """Return the table with its standard columns and no rows."""
    return _empty_table(table).clone()


@cache
def _empty_table(table: TableName) -> pl.DataFrame:
    """Make it once: reading a thousand small files asks for thousands."""
    return pl.DataFrame(schema=schema_of(table))


def factor_columns(frame: pl.DataFrame, table: TableName = "outcomes") -> tuple[str, ...]:
    """Names of the columns that the glossary does not list, in order."""
    standard = set(column_names(table))
    return tuple(name for name in frame.columns if name not in standard)


def check_table(frame: object, table: TableName, *, source: str = "", keyed: bool = True) -> pl.DataFrame:
    """Return `frame` with every standard column, in glossary order and dtype, factors behind them.

    A factor whose name is empty gets the name that Polars makes of its place: `column_N`. `source` is what to call the table in
    messages, for example the file it came from. An `InputError` names the column, row (from 0), value and remedy: wrong dtype,
    null or NaN where none may be, a value outside its levels or bounds, a duplicated key (unless `keyed` says that it is a part
    of a table, whose keys are checked together).

    >>> table = check_table({"benchmark": ["b"], "metric": ["acc"], "kind": ["binary"]}, "metrics")
    >>> table["higher_is_better"].to_list()  # nothing declares it
    [None]
    """
    data = as_polars(frame)
    where = f"{source}: {table}" if source else table
    given = {series.name: series for series in data.iter_columns()}
    checked = [
        _missing(data, column, where)
        if (series := given.pop(column.name, None)) is None
        else _checked(series, column, where)
        for column in TABLES[table]
    ]
    result = pl.DataFrame([*checked, *map(_checked_factor, given.values())])
    if table == "outcomes":
        _check_status(result, where)
    if keyed:
        check_key(result, table, source=source)
    return result


def _standard_series(column: GlossaryColumn, values: list[object]) -> pl.Series:
    if isinstance(column.dtype, pl.List):
        return lists_of_texts(column.name, values)
    if column.dtype == pl.String:
        return _text_series(column.name, values)
    try:
        return pl.Series(column.name, values, dtype=column.dtype, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(column.name, values, strict=False)  # check_table names the value that does not fit


def lists_of_texts(name: str, values: Sequence[object]) -> pl.Series:
    """Make lists of texts: each that differs once, since Polars takes them one by one and rows seldom differ in them."""
    place_of: dict[tuple[str, ...] | None, int] = {}
    places = [
        place_of.setdefault(None if value is None else (*map(str, cast("Iterable[object]", value)),), len(place_of))
        for value in values
    ]
    listed = [None if each is None else list(each) for each in place_of]
    try:
        distinct = pl.Series(name, listed, dtype=pl.List(pl.String))
    except UnicodeEncodeError:
        whole = [None if each is None else [HALF_CHARACTER.sub("\ufffd", text) for text in each] for each in listed]
        distinct = pl.Series(name, whole, dtype=pl.List(pl.String))
    return distinct.gather(places)


def factor_series(name: str, values: list[object]) -> pl.Series:
    """Return values as a factor: whole numbers, numbers or booleans where all are, else text."""
    kinds = {*map(type, values)} - {type(None)}
    if kinds == {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    if kinds in ({float}, {bool}) or (kinds == {int} and _fits_int64(values)):
        return pl.Series(name, values)
    return _text_series(name, values)


def _text_series(name: str, values: list[object]) -> pl.Series:
    """Make texts of values; half of a character, which no table can hold, becomes the replacement character."""
    texts = [value if value is None or isinstance(value, str) else str(value) for value in values]
    try:
        return pl.Series(name, texts, dtype=pl.String)
    except UnicodeEncodeError:
        whole = [None if text is None else HALF_CHARACTER.sub("\ufffd", text) for text in texts]
        return pl.Series(name, whole, dtype=pl.String)


def _fits_int64(values: list[object]) -> bool:
    whole = cast("list[int]", [value for value in values if value is not None])
    return min(whole) >= -(1 << 63) and max(whole) < 1 << 63


def _missing(data: pl.DataFrame, column: GlossaryColumn, where: str) -> pl.Series:
    if column.required and column.fill is None and data.height:
        raise InputError(
            f"{where}: column {column.name!r} is missing ({column.meaning}); have {', '.join(data.columns)}"
        )
    return _filled(column).new_from_index(0, data.height)


def _checked(given: pl.Series, column: GlossaryColumn, where: str) -> pl.Series:
    series = _cast(given, column, where)
    if series.null_count():
        if column.fill is not None:
            series = series.fill_null(column.fill)
        elif column.required:
            raise InputError(_fault(where, column, series, series.is_null(), "is null", "fill it or drop those rows"))
        elif series.null_count() == len(series):
            return series
    if series.dtype.is_float():
        _check_finite(series, column, where)
    if column.levels and not set(column.levels).issuperset(levels_of(series)):
        unknown = series.is_not_null() & ~series.is_in(list(column.levels))
        raise InputError(_fault(where, column, series, unknown, "is unknown", f"use one of {', '.join(column.levels)}"))
    _check_bounds(series, column, where)
    return series


@cache
def _filled(column: GlossaryColumn) -> pl.Series:
    """Return one row of what stands in a column that a table lacks."""
    return pl.Series(column.name, [column.fill], dtype=column.dtype)


def _check_finite(series: pl.Series, column: GlossaryColumn, where: str) -> None:
    if not len(series):
        return
    lowest, highest = cast("tuple[float, float]", (series.min(), series.max()))
    largest = max(-lowest, highest)
    if math.isfinite(series.sum()) and largest <= LARGEST:
        if 0 < largest < 1 / LARGEST:
            remedy = "squares of such numbers are 0: give them in another unit, or their logarithms"
            raise InputError(_fault(where, column, series, series != 0, "holds nothing but numbers near 0", remedy))
        return
    if series.is_nan().any():
        remedy = "put null where there is no score and say why in 'status'"
        raise InputError(_fault(where, column, series, series.is_nan(), "is NaN", remedy))
    if series.is_infinite().any():
        raise InputError(
            _fault(where, column, series, series.is_infinite(), "is infinite", "put null or a finite number")
        )
    if (beyond := series.abs() > LARGEST).any():
        remedy = "its squares cannot be summed: check the column, or give it in another unit"
        raise InputError(_fault(where, column, series, beyond, f"is beyond {LARGEST:g}", remedy))


def _check_bounds(series: pl.Series, column: GlossaryColumn, where: str) -> None:
    if column.low is None and column.high is None:
        return
    lowest, highest = cast("float | None", series.min()), cast("float | None", series.max())
    if lowest is None or highest is None:
        return
    remedy = "check the unit and the column"
    if column.low is not None and lowest < column.low:
        raise InputError(_fault(where, column, series, series < column.low, f"is below {column.low:g}", remedy))
    if column.high is not None and highest > column.high:
        raise InputError(_fault(where, column, series, series > column.high, f"is above {column.high:g}", remedy))


def _cast(series: pl.Series, column: GlossaryColumn, where: str) -> pl.Series:
    if series.dtype == column.dtype:
        return series
    if series.dtype == pl.Null:
        return pl.Series(column.name, [None] * len(series), dtype=column.dtype)
    if column.dtype == pl.String and series.dtype.is_float() and _is_whole(series):
        series = series.cast(pl.Int64)  # ids that a reader widened to 12.0 because of a null elsewhere
    if isinstance(column.dtype, pl.Datetime):
        return _cast_time(series, column, where)
    other = f"{where}: column {column.name!r} holds {series.dtype}, which is not {column.dtype}; convert it first"
    try:
        cast_series = series.cast(column.dtype, strict=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(other) from error
    if cast_series.dtype != column.dtype:  # Polars casts the fields of a struct
        raise InputError(other)
    is_cut = column.dtype.is_integer() and series.dtype.is_float()
    if cast_series.null_count() == series.null_count() and not is_cut:
        return cast_series
    lost = cast_series.is_null() & series.is_not_null()
    if is_cut:
        lost |= (cast_series != series).fill_null(value=False)  # a cast cuts 1.5 to 1
    if lost.any():
        expected = f"is not {column.dtype}"
        raise InputError(_fault(where, column, series, lost, expected, "convert or map another column"))
    return cast_series


def _cast_time(series: pl.Series, column: GlossaryColumn, where: str) -> pl.Series:
    if series.dtype == pl.String:
        counts = time_of_number(series.cast(pl.Float64, strict=False))  # a CSV file holds counts as text
        parsed = series.str.to_datetime(time_unit="us", time_zone="UTC", strict=False).fill_null(counts)
    elif isinstance(series.dtype, pl.Datetime | pl.Date):
        parsed = in_utc(series)
    elif series.dtype.is_numeric():
        parsed = time_of_number(series.cast(pl.Float64))
    else:
        parsed = pl.Series(column.name, [None] * len(series), dtype=column.dtype)
    lost = parsed.is_null() & series.is_not_null()
    if lost.any():
        raise InputError(_fault(where, column, series, lost, "is not a time", "use ISO 8601 or seconds since 1970"))
    return parsed.alias(column.name)


def in_utc(times: pl.Series) -> pl.Series:
    """Return datetimes or dates in UTC, in microseconds; one without a zone is taken for UTC."""
    times = times.cast(pl.Datetime("us")) if times.dtype == pl.Date else times
    zoned = times if cast("pl.Datetime", times.dtype).time_zone else times.dt.replace_time_zone("UTC")
    return zoned.dt.convert_time_zone("UTC").dt.cast_time_unit("us")


def time_of_number(counts: pl.Series) -> pl.Series:
    """Read counts since 1970 as times: seconds, milliseconds, microseconds or nanoseconds, told apart by their size.

    >>> time_of_number(pl.Series("t", [1.6e9, 1.6e12, 1.6e15, 1.6e18])).n_unique()
    1
    """
    values = counts.to_numpy()
    size = np.abs(values)
    most, least = (size.max(), size.min()) if len(size) else (0.0, 0.0)  # NaN where a number is missing
    lows = (0.0, *(limit for limit, _ in _UNITS[:-1]))
    alike = [by for low, (limit, by) in zip(lows, _UNITS, strict=True) if low <= least and most < limit]
    if alike:
        scaled = values * alike[0]
    else:
        scaled = np.select([size < limit for limit, _ in _UNITS], [values * by for _, by in _UNITS], values / 1e3)
    known = pl.Series(counts.name, scaled).set(counts.is_null(), None).fill_nan(None)
    return known.round().cast(pl.Int64, strict=False).cast(pl.Datetime("us", "UTC"))


def _is_whole(series: pl.Series) -> bool:
    present = series.drop_nulls()
    return bool((present.is_finite() & (present == present.round())).all())


def _checked_factor(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, _FACTOR_DTYPES):
        return series
    if series.dtype.is_integer():
        whole = series.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == series.null_count() else series.cast(pl.String)
    if series.dtype.is_float():
        return series.cast(pl.Float64)
    if isinstance(series.dtype, pl.List | pl.Struct | pl.Array):
        return pl.Series(
            series.name, [None if value is None else str(value) for value in series.to_list()], dtype=pl.String
        )
    if isinstance(series.dtype, pl.Duration):
        return series.dt.to_string("iso")
    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError:  # an interval, a map: no text of its own
        return _text_series(series.name, series.to_list())


def _check_status(data: pl.DataFrame, where: str) -> None:
    scored = data["status"] == "scored"
    if scored.all() and not data["score"].null_count():
        return
    empty = scored & data["score"].is_null()
    if empty.any():
        row = empty.arg_true()[0]
        raise InputError(
            f"{where}: row {row} (item {data['item'][row]!r}) has status 'scored' but no score; "
            "set status to 'error' or 'unscored', or give the score"
        )
    extra = ~scored & data["score"].is_not_null()
    if extra.any():
        row = extra.arg_true()[0]
        status = data["status"][row]
        raise InputError(
            f"{where}: row {row} (item {data['item'][row]!r}) has status {status!r} but a score of "
            f"{data['score'][row]:g}; a harness failure is not a score: drop one of the two"
        )


# What Polars evaluates as an expression takes a tenth of a millisecond however short the column: of fewer rows than this,
# Python is quicker.
_FEW = 1_000
_HASHED_AT_ONCE = 100_000


def is_constant(column: pl.Series) -> bool:
    """Whether all rows have one value, or none has any."""
    if nulls := column.null_count():
        return nulls == len(column)
    if len(column) < 2:
        return True
    flags = column.flags
    if len(column) and (flags["SORTED_ASC"] or flags["SORTED_DESC"]):  # as what Polars filled with one value is
        return bool(column[0] == column[-1])
    # A text that varies most often ends on another value than it begins with.
    ends_alike = not len(column) or column.dtype != pl.String or column[0] == column[-1]
    return ends_alike and bool((column == column[:1]).all())


def levels_of(column: pl.Series) -> list[Any]:
    """Return the different values of a column, sorted, without null.

    >>> levels_of(pl.Series(["b", None, "a", "b"]))
    ['a', 'b']
    """
    if len(column) < _FEW:
        return sorted({value for value in column.to_list() if value is not None})
    # A part of a long column is most often of one level; hashes are told apart four times as fast as texts.
    parts = [
        part[:1] if is_constant(part) else part.gather(part.hash(seed=0).arg_unique()) for part in column.get_chunks()
    ]
    return pl.concat(parts).drop_nulls().unique().sort().to_list()


def combinations_in(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return which values of some columns stand together, in the order of the rows, and in how many rows, as `len`.

    >>> combinations_in(pl.DataFrame({"a": [1, 1, 1], "b": ["x", "y", "x"]}), ["a", "b"]).rows()
    [(1, 'x', 2), (1, 'y', 1)]
    """
    varying = [name for name in names if not is_constant(frame[name])]
    if not varying:
        alike = frame[list(names)].head(1)
        return alike.hstack([pl.Series("len", [frame.height] * alike.height, dtype=pl.get_index_type())])
    hashed = frame.select(varying).hash_rows(seed=0).alias("hash").to_frame().with_row_index("row")
    counted = hashed.group_by("hash").agg(pl.col("row").first(), pl.len()).sort("row")
    return frame.select(names)[counted["row"]].with_columns(counted["len"])


def coded(frame: pl.DataFrame) -> tuple[pl.Series, npt.NDArray[np.int64]]:
    """Return the rows in which combinations of values stand first, and for each row the number of its combination.

    >>> first, codes = coded(pl.DataFrame({"a": ["x", "y", "x"]}))
    >>> first.to_list(), codes.tolist()
    ([0, 1], [0, 1, 0])
    """
    hashes = frame.hash_rows(seed=0)
    first = hashes.arg_unique()
    order = hashes.gather(first).arg_sort()
    in_order = hashes.gather(first.gather(order)).to_numpy()
    return first, order.to_numpy().astype(np.int64)[np.searchsorted(in_order, hashes.to_numpy())]


def at_codes(levels: pl.Series, codes: npt.NDArray[np.int64]) -> pl.Series:
    """Return the level of each code; most often they are all alike, and none need be looked up."""
    return levels.new_from_index(0, len(codes)) if len(codes) and is_constant(levels) else levels.gather(codes)


def parts_of(column: pl.Series) -> list[str]:
    """Return the different texts in a column of lists, sorted.

    >>> parts_of(pl.Series([["b", "a"], None, ["a"]]))
    ['a', 'b']
    """
    return sorted({part for parts in column.to_list() if parts for part in parts if part is not None})


def check_key(data: pl.DataFrame, table: TableName, *, source: str = "") -> None:
    """Raise an `InputError` where two rows of a table in glossary columns share their key."""
    key, where = KEYS[table], f"{source}: {table}" if source else table
    if not key or data.height < 2:
        return
    # A column that is the same throughout tells no two rows apart, and takes as long as one that does.
    telling = [name for name in key if not is_constant(data[name])] or list(key[:1])
    told = data[telling]
    if told.height < _FEW and len(set(told.iter_rows())) == told.height:
        return
    if not any(map(_hashed_alike, _by_run(told))):
        return
    twice = told.is_duplicated()
    if not twice.any():
        return
    rows = twice.arg_true()
    first = data.select(key).row(rows[0], named=True)
    named = ", ".join(f"{name}={value!r}" for name, value in first.items() if value not in (None, ""))
    repeated = " (repetitions by 'trial')" if "trial" in key else ""
    raise InputError(
        f"{where}: {len(rows):,} rows share their key with another row, first row {rows[0]}: {named}; "
        f"a row is named by {', '.join(key)}: drop the copies or tell them apart{repeated}"
    )


def _by_run(keys: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the rows of whole runs, short ones with others, where those of each stand together; else all at once.

    Keys of two runs differ, and the hashes of one run take a part of the memory.
    """
    run = keys["run"] if "run" in keys.columns else pl.Series([None])
    starts = run != run.shift()
    if run.null_count() or int(starts.sum()) >= len(levels_of(run)):
        return [keys]
    ends = starts.arg_true().to_numpy()
    ends = ends[np.diff(ends // _HASHED_AT_ONCE, prepend=0) > 0].tolist()
    return [keys[first:stop] for first, stop in pairwise((0, *ends, keys.height))]


def _hashed_alike(keys: pl.DataFrame) -> bool:
    """Whether the hashes of any two rows are one; rows with different hashes differ."""
    hashes = keys.hash_rows(seed=0).to_numpy(writable=True)
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def _fault(where: str, column: GlossaryColumn, series: pl.Series, wrong: pl.Series, problem: str, remedy: str) -> str:  # noqa: PLR0917 - six words of one sentence
    rows = wrong.arg_true()
    shown = comma_list((f"row {row}: {series[row]!r}" for row in rows[:_SHOWN]), _SHOWN, total=len(rows))
    return f"{where}: column {column.name!r} {problem} ({shown}); {remedy}"


def concat_tables(frames: Sequence[pl.DataFrame], table: TableName) -> pl.DataFrame:
    """Stack checked tables; a factor whose parts differ in dtype gets the one that `shared_dtypes` names."""
    frames = [frame for frame in frames if frame.height]
    if not frames:
        return empty_table(table)
    found = [factor_dtypes(frame, table) for frame in frames]
    if len(frames) == 1 and pl.Null() not in found[0].values():
        return frames[0]
    shared = shared_dtypes(found)
    casted = [
        frame
        if all(shared[name] == frame.schema[name] for name in dtypes)
        else frame.with_columns(factor_cast(name, dtype, shared[name]) for name, dtype in dtypes.items())
        for frame, dtypes in zip(frames, found, strict=True)
    ]
    return pl.concat(casted, how="diagonal")


def factor_dtypes(frame: pl.DataFrame, table: TableName) -> dict[str, pl.DataType]:
    """Dtype of every factor of a checked table; `Null` for one that holds nothing but nulls."""
    factors = [frame[name] for name in factor_columns(frame, table)]
    return {part.name: pl.Null() if part.null_count() == frame.height else part.dtype for part in factors}


def shared_dtypes(found: Iterable[Mapping[str, pl.DataType]]) -> dict[str, pl.DataType]:
    """Dtype that holds a factor in all parts: whole and other numbers make numbers, any other mixture makes text.

    A part where the factor is null throughout has no say, so that the answer does not depend on where a file was cut.
    """
    kinds: dict[str, set[pl.DataType]] = {}
    for dtypes in found:
        for name, dtype in dtypes.items():
            kinds.setdefault(name, set()).add(dtype)
    shared: dict[str, pl.DataType] = {}
    for name, of_name in kinds.items():
        present = of_name - {pl.Null()}
        if len(present) == 1:
            shared[name] = next(iter(present))
        else:
            shared[name] = pl.Float64() if present == {pl.Int64(), pl.Float64()} else pl.String()
    return shared


def factor_cast(name: str, dtype: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    """Expression for a factor of one dtype in another; a whole number becomes the same text whether it was 1 or 1.0."""
    column = by_name(name).as_expr()  # pl.col would take a factor called "*" or "^a.*$" for a pattern
    if dtype == wanted:
        return column
    if dtype == pl.Null():
        return pl.lit(None, dtype=wanted).alias(name)
    if dtype == pl.Float64() and wanted == pl.String():
        whole = pl.when(column == column.round()).then(column.cast(pl.Int64, strict=False))
        return pl.coalesce(whole.cast(pl.String), column.cast(pl.String)).alias(name)
    return column.cast(wanted)
