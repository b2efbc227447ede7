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
class Batch:
    """Components of about the same size: levels and distinct rows that occur together, and only with each other.

    They stand in one array of `shape` (n_components, n_levels, n_rows), padded with zeros. `pairs` are positions in the list
    of pairs, `cell` where each goes in that array. `rows`, shape (n_components, n_rows, n_columns), are those parts of P that
    are not 0, `columns`, shape (n_components, n_columns), where they stand in P.
    """

    shape: tuple[int, int, int]
    pairs: Ints
    cell: Ints
    rows: Floats
    columns: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Gram:
    """Pairs of (level, distinct row) of one block, worked out once.

    `pairs` sums over the cells of a pair; `level` and `row` are those of each pair, sorted, `starts` where each level's
    begin; `batches` is None where T is formed instead.
    """

    pairs: Groups
    level: Ints
    row: Ints
    starts: Ints
    profiles: "sparse.csr_array[np.float64]"
    batches: tuple[Batch, ...] | None

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
        if self.batches is None:
            for values in data:
                t = self.columns(values)
                if t.nnz > 0.1 * t.shape[0] * t.shape[1]:
                    dense = t.toarray()
                    out -= dense.T @ dense
                else:
                    out -= (t.T @ t).toarray()
            return
        for batch in self.batches:
            inner = np.zeros((batch.shape[0], batch.shape[2], batch.shape[2]))
            for values in data:
                dense = np.zeros(batch.shape)
                dense.ravel()[batch.cell] = values[batch.pairs]
                inner += dense.transpose(0, 2, 1) @ dense
            products = batch.rows.transpose(0, 2, 1) @ inner @ batch.rows
            if len(products) == 1:
                out[np.ix_(batch.columns[0], batch.columns[0])] -= products[0]
                continue
            where = batch.columns[:, :, None] * len(out) + batch.columns[:, None, :]
            out -= np.bincount(where.ravel(), weights=products.ravel(), minlength=out.size).reshape(out.shape)


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
        batches=_batches(level, row, groups.n_levels, profiles),
    )


def _batches(
    level: Ints, row: Ints, n_levels: int, profiles: "sparse.csr_array[np.float64]", patience: float = 1.0
) -> tuple[Batch, ...] | None:
    """Split pairs into components, or return None where T' T directly is the cheaper by `patience` times the cost."""
    n_profiles, width = int(profiles.shape[0]), int(profiles.shape[1])
    n_all = n_levels + n_profiles
    graph = sparse.coo_array((np.ones(level.size), (level, n_levels + row)), shape=(n_all, n_all))
    n_parts, part_of = csgraph.connected_components(graph, directed=False)
    n_level = np.bincount(part_of[:n_levels], minlength=n_parts).astype(float)
    n_row = np.bincount(part_of[n_levels:], minlength=n_parts).astype(float)
    by_component = float((n_level * n_row**2 + n_row**3).sum()) + CALL * min(n_parts, 10)
    if by_component * patience > n_levels * width**2 + CALL + PRODUCT * level.size * width:
        return None
    order = np.argsort(part_of[level], kind="stable")
    ends = np.cumsum(np.bincount(part_of[level], minlength=n_parts))
    alike: dict[tuple[int, int, int], list[tuple[Ints, Ints, Ints, Floats, Ints]]] = {}
    for pairs in np.split(order, ends[:-1]):
        if pairs.size == 0:  # a level that no cell has
            continue
        levels, i = np.unique(level[pairs], return_inverse=True)
        rows, j = np.unique(row[pairs], return_inverse=True)
        part = profiles[rows]
        columns = np.unique(part.indices).astype(np.int64)
        size = (1 << int(levels.size - 1).bit_length(), rows.size, columns.size)
        alike.setdefault(size, []).append((pairs, i, j, part[:, columns].toarray(), columns))
    return tuple(_stack(size, parts) for size, parts in alike.items())


def _stack(size: tuple[int, int, int], parts: "list[tuple[Ints, Ints, Ints, Floats, Ints]]") -> Batch:
    """Put components of one size into one array."""
    n_levels, n_rows, _ = size
    cells = [(k * n_levels + i) * n_rows + j for k, (_, i, j, _, _) in enumerate(parts)]
    return Batch(
        shape=(len(parts), n_levels, n_rows),
        pairs=np.concatenate([part[0] for part in parts]),
        cell=np.concatenate(cells),
        rows=np.stack([part[3] for part in parts]),
        columns=np.stack([part[4] for part in parts]),
    )
