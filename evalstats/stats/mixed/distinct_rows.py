"""Distinct rows of the fixed part of a mixed model, which are few where its columns are factors, and sums over their cells."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from evalstats.record import record

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads the bits of neighbouring numbers


@dataclass(frozen=True, slots=True)
class Groups:
    """Levels of a grouping over the cells, and sums over them."""

    level: Ints
    n_levels: int
    identity: bool = field(init=False)

    def __post_init__(self) -> None:
        n = self.level.size
        object.__setattr__(self, "identity", n == self.n_levels and bool(np.array_equal(self.level, np.arange(n))))

    def sums(self, values: Floats) -> Floats:
        """Sum of a value of every cell over the cells of each level."""
        if self.identity:
            return values
        return np.asarray(np.bincount(self.level, weights=values, minlength=self.n_levels), dtype=np.float64)

    def at_cells(self, values: Floats) -> Floats:
        """Value of its level for every cell."""
        return values if self.identity else values[self.level]


@record
class Distinct:
    """A matrix X with a row for every cell, kept by its distinct rows, shape (n_rows, n_columns).

    Attributes
    ----------
    rows
        The distinct rows, in the order in which cells first have them.
    of_cell
        The row of every cell.
    first
        The first cell that has each row.
    """

    rows: Floats
    of_cell: Groups
    first: Ints

    @property
    def n_columns(self) -> int:
        """Columns of X."""
        return self.rows.shape[1]

    def at(self, cells: Ints | slice = slice(None)) -> Floats:
        """Rows of X of some cells, all if not given."""
        return self.rows[self.of_cell.level[cells]]

    def at_cells(self, beta: Floats) -> Floats:
        """X beta."""
        return self.of_cell.at_cells(self.rows @ beta)

    def sums(self, values: Floats) -> Floats:
        """X' times a value of every cell."""
        return self.rows.T @ self.of_cell.sums(values)

    def gram(self, weights: Floats) -> Floats:
        """X' diag(weights) X."""
        return self.rows.T @ (self.of_cell.sums(weights)[:, np.newaxis] * self.rows)

    def replaced(self, rows: Floats) -> "Distinct":
        """Another X, of which these are the rows in place of `self.rows`."""
        return distinct_rows(rows, self.of_cell.level)


def distinct_rows(rows: Floats, of_cell: Ints | None = None) -> Distinct:
    """Find the distinct rows of X, which has a row for every cell, or the row `of_cell` where that is given."""
    keys = hash_rows(rows)
    groups, first = numbered(keys if of_cell is None else keys[of_cell])
    found = first if of_cell is None else of_cell[first]
    return Distinct(rows=np.ascontiguousarray(rows[found]), of_cell=groups, first=first)


def numbered(keys: Bits) -> tuple[Groups, Ints]:
    """Return the number of every key, in the order in which distinct keys come first, and where each comes first."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return Groups(rank[inverse.ravel()], first.size), np.sort(first)


def mixed_bits(values: Bits) -> Bits:
    """Spread every bit of 64 over all others (Stafford's variant 13 of the finaliser of MurmurHash3)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def hash_rows(rows: Floats) -> Bits:
    """Return 64 bits for every row: the same for equal rows, and for different ones but with a chance of 2^-64.

    A column is added to the sum only where it is not 0, which makes indicator columns cheap.
    """
    keys = mixed_bits(_MULTIPLIER * np.arange(1, rows.shape[1] + 1, dtype=np.uint64))
    out: Bits = np.zeros(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), 4096):
        part = rows[start : start + 4096]
        row, column = np.nonzero(part)
        terms = mixed_bits(part[row, column].view(np.uint64) ^ keys[column])
        total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
        ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(part)))])
        out[start : start + 4096] = total[ends[1:]] - total[ends[:-1]]
    return out
