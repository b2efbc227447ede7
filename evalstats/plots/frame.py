"""Tidy rows as columns: any frame that narwhals reads, or a dict of columns, with one word for what is missing."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from evalstats.document.escape import one_line
from evalstats.errors import InputError

NAMES = ("label", "model")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of some rows as lists; a null and a NaN are None."""

    figure: str
    data: dict[str, list[Any]]
    n: int

    def has(self, name: str) -> bool:
        """Whether there is such a column with anything in it."""
        return any(value is not None for value in self.data.get(name, ()))

    def need(self, *names: str) -> list[Any]:
        """Return the first of these columns that there is."""
        for name in names:
            if name in self.data:
                return self.data[name]
        wanted = " or ".join(f"'{name}'" for name in names)
        have = ", ".join(self.data) or "no columns"
        raise InputError(f"{self.figure} needs a column {wanted}; the rows have {one_line(have)}")

    def names(self, *names: str) -> list[str]:
        """Return what rows are called, each on one line."""
        return [one_line(str(value)).strip() for value in self.need(*(names or NAMES))]

    def texts(self, name: str) -> list[str]:
        """Return a column of words; "" where there are none."""
        found = self.data.get(name) or [None] * self.n
        return ["" if value is None else one_line(str(value)) for value in found]

    def numbers(self, name: str) -> list[float | None]:
        """Return a column of numbers."""
        found = self.data.get(name) or [None] * self.n
        try:
            return [None if value is None else float(value) for value in found]
        except (TypeError, ValueError):
            raise InputError(
                f"{self.figure} needs numbers in column '{name}'; it holds {one_line(repr(found[0]))}"
            ) from None

    def flags(self, name: str, *, default: bool = False) -> list[bool]:
        """Return a column of yes and no."""
        found = self.data.get(name) or [None] * self.n
        return [default if value is None else bool(value) for value in found]

    def intervals(self, low: str = "conf_low", high: str = "conf_high") -> list[tuple[float, float] | None]:
        """Return both ends of each row; None where one is missing."""
        both = zip(self.numbers(low), self.numbers(high), strict=True)
        return [None if one is None or other is None else (one, other) for one, other in both]

    def where(self, kept: Sequence[bool]) -> "Columns":
        """Return the rows that are kept."""
        data = {
            name: [value for value, keep in zip(column, kept, strict=True) if keep]
            for name, column in self.data.items()
        }
        return Columns(self.figure, data, sum(kept))

    def by(self, name: str) -> Iterator[tuple[str, "Columns"]]:
        """Yield the rows of each value of a column, in the order in which values appear; all rows where there is none."""
        if name not in self.data:
            yield "", self
            return
        values = self.texts(name)
        for value in dict.fromkeys(values):
            yield value, self.where([each == value for each in values])


def columns_of(rows: object, figure: str, *, empty: bool = False) -> Columns:
    """Return the columns of a frame (Polars, pandas, Arrow, DuckDB, a dict of columns).

    `figure` is whose rows they are, for messages. InputError if it is no frame, or has no rows and may not be `empty`.

    >>> columns_of({"label": ["a", "b"], "estimate": [1, float("nan")]}, "forest").numbers("estimate")
    [1.0, None]
    """
    data = _as_dict(rows, figure)
    lengths = {name: len(column) for name, column in data.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{figure} needs columns of one length; the rows have {lengths}")
    n = next(iter(lengths.values()), 0)
    if not n and not empty:
        raise InputError(f"{figure} has no rows to draw")
    known = {
        name: [None if isinstance(value, float) and math.isnan(value) else value for value in column]
        for name, column in data.items()
    }
    return Columns(figure, known, n)


def _as_dict(rows: object, figure: str) -> dict[str, list[Any]]:
    given: Any = rows
    if isinstance(rows, Mapping):
        return {str(name): list(column) for name, column in given.items()}
    narwhals: Any = nw
    frame: Any = narwhals.from_native(given, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, narwhals.DataFrame):
        raise InputError(f"{figure} needs a data frame or a dict of columns, not {type(rows).__name__}")
    return {str(name): list(column) for name, column in frame.to_dict(as_series=False).items()}
