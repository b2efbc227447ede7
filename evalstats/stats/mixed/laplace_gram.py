"""Sums of squares and products of what one elimination leaves: T' D^-1 T without ever forming a row per cell.

For a block of the chain, T holds N'V: sums over each level of the weighted columns V of the effects that stay and of the
fixed effects. Cells with the same V share one row of distinct rows, so T = U P with U the sums by (level, distinct row).
Where levels and distinct rows fall into separate components (items nested in scenarios), U' D^-1 U is formed component by
component with dense products; where distinct rows are many (a covariate of its own for every cell), T itself is small.
"""

from dataclasses import dataclass

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

    `pairs` sums over the cells of a pair; `components` is None where T is formed instead.
    """

    n_levels: int
    pairs: Groups
    indices: Ints
    indptr: Ints
    profiles: "sparse.csr_array[np.float64]"
    components: tuple[Component, ...] | None

    def sums(self, values: Floats) -> Floats:
        """Sum a value of every cell over the cells of each pair."""
        return self.pairs.sums(values)

    def columns(self, data: Floats) -> "sparse.csr_array[np.float64]":
        """Return T from the sums of every pair, shape (n_levels, columns of P)."""
        u = sparse.csr_array((data, self.indices, self.indptr), shape=(self.n_levels, self.profiles.shape[0]))
        return u @ self.profiles

    def add(self, out: Floats, data: list[Floats], factor: float = 1.0) -> None:
        """Add factor * sum_a T_a' T_a to `out`, T_a made from `data[a]`."""
        if self.components is None:
            for values in data:
                t = self.columns(values)
                if t.nnz > 0.1 * t.shape[0] * t.shape[1]:
                    dense = t.toarray()
                    out += factor * (dense.T @ dense)
                else:
                    out += factor * (t.T @ t).toarray()
            return
        for part in self.components:
            inner = np.zeros((part.shape[1], part.shape[1]))
            for values in data:
                dense = np.zeros(part.shape)
                dense.ravel()[part.cell] = values[part.pairs]
                inner += dense.T @ dense
            out[np.ix_(part.columns, part.columns)] += factor * (part.rows.T @ inner @ part.rows)


def make_gram(groups: Groups, profile: Groups, profiles: "sparse.csr_array[np.float64]") -> Gram:
    """Find the pairs and components of one grouping."""
    n_profiles = profile.n_levels
    codes, inverse = np.unique(groups.level * n_profiles + profile.level, return_inverse=True)
    level, row = codes // n_profiles, codes % n_profiles
    indptr = np.concatenate([[0], np.cumsum(np.bincount(level, minlength=groups.n_levels))])
    return Gram(
        n_levels=groups.n_levels,
        pairs=Groups(inverse.ravel().astype(np.int64), codes.size),
        indices=row,
        indptr=indptr,
        profiles=profiles,
        components=_components(level, row, groups.n_levels, profiles),
    )


def _components(
    level: Ints, row: Ints, n_levels: int, profiles: "sparse.csr_array[np.float64]", patience: float = 1.0
) -> tuple[Component, ...] | None:
    """Split pairs into components, or return None where T' T directly is the cheaper by `patience` times the cost."""
    n_profiles, width = profiles.shape
    graph = sparse.coo_array((np.ones(level.size), (level, n_levels + row)), shape=(n_levels + n_profiles,) * 2)
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
