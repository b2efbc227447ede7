"""Sums of squares and products of what one elimination leaves: T' D^-1 T without ever forming a row per cell.

For a block of the chain, T holds N'V: sums over each level of the weighted columns V of the effects that stay and of the
fixed effects. Cells with the same V share one row of distinct rows, so T = U P with U the sums by (level, distinct row).
Where levels and distinct rows fall into separate components (items nested in scenarios), U' D^-1 U is formed component by
component with dense products; where distinct rows are many (a covariate of its own for every cell), T itself is small.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from evalstats.stats.mixed.design import Floats, Ints
from evalstats.stats.mixed.laplace_plan import Groups

CALL = 1e4  # multiplications that take as long as calling for one
PRODUCT = 10.0  # the same for one product of sparse matrices


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Levels and distinct rows that occur together, and only with each other.

    `pairs` are positions in the list of pairs, `cell` where each goes in the dense matrix of `shape`; `columns` are the
    columns of P that its distinct rows use, `rows` those parts of P.
    """

    shape: tuple[int, int]
    pairs: Ints
    cell: Ints
    columns: Ints
    rows: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Gram:
    """Pairs of (level, distinct row) of one block, worked out once.

    `pairs` sums over the cells of a pair; `level` and `row` are those of each pair, sorted, `starts` where each level's
    begin; `components` is None where T is formed instead.
    """

    pairs: Groups
    level: Ints
    row: Ints
    starts: Ints
    profiles: "sparse.csr_array[np.float64]"
    components: tuple[Component, ...] | None

    def sums(self, values: Floats) -> Floats:
        """Sum a value of every cell over the cells of each pair."""
        return self.pairs.sums(values)

    def columns(self, data: Floats) -> "sparse.csr_array[np.float64]":
        """Return T from the sums of every pair, shape (n_levels, columns of P)."""
        shape = (self.starts.size - 1, int(self.profiles.shape[0]))
        return cast(
            "sparse.csr_array[np.float64]", sparse.csr_array((data, self.row, self.starts), shape=shape) @ self.profiles
        )

    def subtract(self, out: Floats, data: Floats) -> None:
        """Take sum_k T_k' T_k from `out`, T_k made from `data[k]`; shape of `data` (n_columns, n_pairs)."""
        if self.components is None:
            for values in data:
                t = self.columns(values)
                if t.nnz > 0.1 * t.shape[0] * t.shape[1]:
                    dense = t.toarray()
                    out -= dense.T @ dense
                else:
                    out -= (t.T @ t).toarray()
            return
        for part in self.components:
            inner = np.zeros((part.shape[1], part.shape[1]))
            for values in data:
                dense = np.zeros(part.shape)
                dense.ravel()[part.cell] = values[part.pairs]
                inner += dense.T @ dense
            out[np.ix_(part.columns, part.columns)] -= part.rows.T @ inner @ part.rows


def make_gram(groups: Groups, profile: Groups, profiles: "sparse.csr_array[np.float64]") -> Gram:
    """Find the pairs and components of one grouping."""
    n_profiles = profile.n_levels
    codes, inverse = np.unique(groups.level * n_profiles + profile.level, return_inverse=True)
    level, row = codes // n_profiles, codes % n_profiles
    return Gram(
        pairs=Groups(inverse.ravel().astype(np.int64), codes.size),
        level=level,
        row=row,
        starts=np.searchsorted(level, np.arange(groups.n_levels + 1)).astype(np.int64),
        profiles=profiles,
        components=_components(level, row, groups.n_levels, profiles),
    )


def _components(
    level: Ints, row: Ints, n_levels: int, profiles: "sparse.csr_array[np.float64]", patience: float = 1.0
) -> tuple[Component, ...] | None:
    """Split pairs into components, or return None where T' T directly is the cheaper by `patience` times the cost."""
    n_profiles, width = int(profiles.shape[0]), int(profiles.shape[1])
    n_all = n_levels + n_profiles
    graph = sparse.coo_array((np.ones(level.size), (level, n_levels + row)), shape=(n_all, n_all))
    n_parts, part_of = csgraph.connected_components(graph, directed=False)
    n_level = np.bincount(part_of[:n_levels], minlength=n_parts).astype(float)
    n_row = np.bincount(part_of[n_levels:], minlength=n_parts).astype(float)
    by_component = float((n_level * n_row**2 + n_row**3).sum()) + CALL * n_parts
    if by_component * patience > n_levels * width**2 + CALL + PRODUCT * level.size * width:
        return None
    order = np.argsort(part_of[level], kind="stable")
    ends = np.cumsum(np.bincount(part_of[level], minlength=n_parts))
    out: list[Component] = []
    for pairs in np.split(order, ends[:-1]):
        levels, i = np.unique(level[pairs], return_inverse=True)
        rows, j = np.unique(row[pairs], return_inverse=True)
        part = profiles[rows]
        columns = np.unique(part.indices).astype(np.int64)
        out.append(
            Component(
                shape=(levels.size, rows.size),
                pairs=pairs,
                cell=i * rows.size + j,
                columns=columns,
                rows=part[:, columns].toarray(),
            )
        )
    return tuple(out)
