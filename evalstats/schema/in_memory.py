"""Whatever a caller holds in memory as one Polars table: tables of any library, scores in lists and arrays, rows as dicts.

pandas keeps in an index what others keep in columns, and allows names of several levels and cells of mixed types. Here they
become what the same table would be as a file, so that nothing behind this knows of pandas.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Any, cast

import polars as pl

from evalstats.errors import InputError

# What other libraries raise where they cannot make a table: cells, lengths or labels that do not fit, or pyarrow is not there.
_FAULTS = (TypeError, ValueError, ImportError, NotImplementedError, pl.exceptions.PolarsError)
# Types of columns that no other library reads as they are.
_OF_PANDAS = frozenset({"CategoricalDtype", "IntervalDtype", "PeriodDtype", "ObjectDType"})
_NUMBER = (int, float, type(None))


def as_polars(frame: object) -> pl.DataFrame:
    """Return any dataframe (pandas, pyarrow, DuckDB relation, Polars, lazy or not), dict or list of dicts as a Polars frame.

    Levels of an index are columns, and so are the levels of a column's name, with underscores between them. Series of pandas
    in a dict are put together by their index, lists and arrays by place; tuples are rows without names. Tables in a dict are
    those of one model each, which their names are; so are numbers by item in it, and lists of numbers that are not equally
    long.

    >>> as_polars({"old": {"id": [1], "ok": [1]}, "new": {"id": [1], "ok": [0]}}).rows()
    [(1, 1, 'old'), (1, 0, 'new')]
    >>> as_polars({"old": {"q1": 1, "q2": 0}, "new": {"q2": 1}}).rows()
    [('q1', 1, None), ('q2', 0, 1)]
    >>> as_polars({"old": [1, 0, 1], "new": [0, 1]}).rows()
    [('old', 'old/0', 1), ('old', 'old/1', 0), ('old', 'old/2', 1), ('new', 'new/0', 0), ('new', 'new/1', 1)]
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, str | Path):
        raise InputError(
            f"{str(frame)!r} is not a table; read the file first: evalstats.read({str(frame)!r}), or two files as one: "
            "evalstats.read(old, new)"
        )
    try:
        if isinstance(frame, Mapping):
            return _of_dict(cast("Mapping[str, Any]", frame))
        if are_rows(frame):
            return _made(_listed(frame))
        rows = _listed(frame) if type(frame) is list else []
        if rows and all(isinstance(row, tuple) for row in rows):
            return pl.DataFrame(rows, orient="row", infer_schema_length=None, strict=False)
        return _of_library(cast("object", frame))
    except _FAULTS as error:
        said = str(error).partition("\n")[0]
        raise InputError(f"the table cannot be read ({said}); make a column of mixed types text first") from error


def as_table(scores: object) -> Any:
    """Return scores alone, a list, an array or a series of numbers, as the column of a table; anything else as it is.

    >>> as_table([1, 0, None]).columns, as_table([{"score": 1}])
    (['score'], [{'score': 1}])
    """
    values = cast("Any", scores)
    if hasattr(values, "to_frame") and not hasattr(values, "columns"):
        return values.to_frame("score")
    if _are_numbers(values) or getattr(values, "ndim", 2) == 1:
        return pl.DataFrame({"score": values}, strict=False)
    return values


def are_rows(value: object) -> bool:
    """Whether something is a list of rows, each a dict."""
    listed = _listed(value)
    return bool(listed) and all(isinstance(row, Mapping) for row in listed)


def are_tables(values: Sequence[object]) -> bool:
    """Whether each of some values is a table, and none of them a column, or numbers by item or task."""
    plain = [each for each in values if not (hasattr(each, "columns") or are_rows(each))]
    dicts = all(_inside(each) is not None and not _by_item(each) for each in plain)
    return bool(values) and dicts and not _by_task(plain)


def _by_item(value: object) -> bool:
    """Whether something is a dict of numbers."""
    inside = _inside(value)
    return inside is not None and _are_numbers([*inside.values()])


def _by_task(values: Sequence[object]) -> bool:
    """Whether all values are dicts of lists of numbers, of which some are no columns: they are not equally long."""
    dicts = [[*(_inside(each) or {}).values()] for each in values]
    uneven = any(len({len(listed) for listed in lists if isinstance(listed, Sized)}) > 1 for lists in dicts)
    return uneven and all(lists and all(map(_are_numbers, lists)) and all(map(len, lists)) for lists in dicts)


def _holds_trials(value: object) -> bool:
    """Whether something is a list or an array of the scores of each item's trials."""
    listed = _listed(value)
    return getattr(value, "ndim", 1) == 2 or (bool(listed) and all(map(_are_numbers, listed)))


def _are_numbers(value: object) -> bool:
    return (isinstance(value, list) or getattr(value, "ndim", 0) == 1) and all(
        isinstance(each, _NUMBER) for each in _listed(value)
    )


def _inside(value: object) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def _listed(value: Any) -> list[Any]:
    """Return a list as it is, an array as a list, and nothing for anything else."""
    if getattr(value, "ndim", 0) and hasattr(value, "tolist"):  # a number of numpy has no dimension
        return cast("list[Any]", value.tolist())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _made(columns: Mapping[str, Any] | list[Any]) -> pl.DataFrame:
    """Make a table of columns or rows; cells of several types in a column become text, as in a file."""
    try:
        return pl.DataFrame(columns, infer_schema_length=None)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.DataFrame(columns, infer_schema_length=None, strict=False)


def _of_dict(named: Mapping[str, Any]) -> pl.DataFrame:
    values, systems = [*named.values()], named.items()
    if are_tables(values):
        own = [as_polars(each).with_columns(model=pl.lit(str(name))) for name, each in systems]
        return pl.concat(own, how="diagonal_relaxed")
    if values and all(map(_by_item, values)):
        items = [*dict.fromkeys(chain.from_iterable(values))]
        return _made({"item": items, **{name: [each.get(item) for item in items] for name, each in systems}})
    if any(hasattr(each, "index") and hasattr(each, "to_frame") for each in values):
        import pandas as pd  # there is a series of it

        return _of_library(pd.DataFrame(named))
    if len(values) > 1 and all(map(_holds_trials, values)):
        cells = [
            (name, k, cell) for name, each in systems for k, listed in enumerate(each) for cell in enumerate(listed)
        ]
        return _made([{"model": name, "item": k, "trial": t, "score": score} for name, k, (t, score) in cells])
    if _by_task(values):
        rows = [
            (name, task, cell) for name, each in systems for task, listed in each.items() for cell in enumerate(listed)
        ]
        # Row k is the same item for all systems only where each has as many.
        lengths = {(task, len(listed)) for each in values for task, listed in each.items()}
        alike = len(lengths) == len({task for task, _ in lengths})
        keys = [(k if alike else f"{name}/{k}") for name, _, (k, _) in rows]
        return _made(
            [
                {"model": name, "task": task, "item": key, "score": score}
                for (name, task, (_, score)), key in zip(rows, keys, strict=True)
            ]
        )
    if _by_task([named]):  # rows of systems on items of their own
        rows = [(name, *cell) for name, each in systems for cell in enumerate(each)]
        return _made([{"model": name, "item": f"{name}/{k}", "score": score} for name, k, score in rows])
    return _made(named)


def _of_library(frame: object) -> pl.DataFrame:
    import narwhals as nw  # tables of other libraries are few, and each start would wait for it

    try:
        wrapped = nw.from_native(_plain(frame))
    except TypeError:
        kind = type(frame)
        raise InputError(
            f"a {kind.__module__}.{kind.__qualname__} is not a table; "
            "pass a pandas, Polars, pyarrow or DuckDB table, a dict of columns, a list of dicts, or what a store's read() gives; "
            'scores of two systems: {"old": first, "new": second}'
        ) from None
    eager = wrapped.collect("polars") if isinstance(wrapped, nw.LazyFrame) else wrapped
    return pl.DataFrame(eager.to_polars())


def _plain(frame: Any) -> Any:
    """Return a table of pandas with plain columns alone; that of any other library as it is."""
    of_pandas = any(base.__module__.split(".")[0] == "pandas" for base in type(frame).__mro__)
    if not (of_pandas and hasattr(frame, "columns")):
        return frame
    given: list[Any] = [*frame.columns]
    names = ["_".join(filter(None, map(str, cast("Any", name)))) if isinstance(name, tuple) else name for name in given]
    if twice := next((name for name, n in Counter(map(str, names)).items() if n > 1), None):
        raise InputError(f"column {twice!r} appears twice in the table; rename one of the two")
    table, index = frame.set_axis(names, axis=1), frame.index
    # Rows that nobody named are numbered, with gaps after a filter, or labelled, which names them where no two are alike.
    if index.nlevels > 1 or index.name is not None or (index.dtype.kind not in "iuf" and index.is_unique):
        again = [level for level, name in enumerate(index.names) if name is not None and name in names]
        if len(again) < index.nlevels:
            table = (table.droplevel(again) if again else table).reset_index()
    kinds = {name: type(dtype).__name__ for name, dtype in table.dtypes.items()}
    sparse = {name: table.dtypes[name].subtype for name, kind in kinds.items() if kind == "SparseDtype"}
    texts = {name: _as_texts(table[name]) for name, kind in kinds.items() if kind in _OF_PANDAS}
    return table.astype(sparse).assign(**{name: cells for name, cells in texts.items() if cells is not None})


def _as_texts(column: Any) -> Any:
    """Return cells of several types, or of one that no other library has, as texts; None where they can stay as they are."""
    if column.dtype.name == "object":
        kinds = {*map(type, column.dropna())}
        alike = len(kinds) < 2 or (all(issubclass(kind, Real) for kind in kinds) and bool not in kinds)
        if alike or any(issubclass(kind, list | dict | tuple) for kind in kinds):
            return None
    elif column.dtype.name == "category" and column.cat.categories.dtype.kind in "iuf":
        return column.astype(float)
    return column.astype(object).where(column.isna(), column.astype(str)).where(~column.isna(), None)
