"""How the random effects of a binomial model are eliminated: in which order, and from which sums over cells.

Random effects are eliminated in three layers. A *leaf* is a grouping whose every level is one cell, such as item:model: it
only changes the cells' weights. A *chain* is a sequence of groupings each nested in the next, such as user within
segment: every one is block diagonal once those below it are gone. The *rest* is what crosses the chain, such as models
beside items; it stays in one dense matrix together with the fixed effects. That is the elimination of Bates et al. 2015
(doi:10.18637/jss.v067.i01) with an order chosen once, whatever the variances and weights are.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evalstats.stats.mixed.design import Floats, Ints, MixedDesign

Bits = npt.NDArray[np.uint64]


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
        return values if self.identity else np.bincount(self.level, weights=values, minlength=self.n_levels)

    def at_cells(self, values: Floats) -> Floats:
        """Value of its level for every cell."""
        return values if self.identity else values[self.level]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """All terms of one grouping: `(1|g)` and `(0 + x|g)` are eliminated together.

    `values` has shape (n_columns, n_cells): what each effect of a level is multiplied by.
    """

    terms: tuple[int, ...]
    groups: Groups
    values: Floats

    @property
    def size(self) -> int:
        """Effects of a level."""
        return len(self.values)

    @property
    def n_levels(self) -> int:
        """Levels of the grouping."""
        return self.groups.n_levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Order of elimination, and the distinct rows of everything that stays.

    Attributes
    ----------
    blocks
        All groupings: the leaf if there is one, the chain from its finest, then the rest.
    has_leaf, n_chain
        Whether the first is a leaf, and how many blocks after it are the chain.
    entries
        For every entry of theta its block, and its row and column in the factor of the block.
    profiles, profile
        Distinct rows of [rest, fixed] as a matrix, shape (n_profiles, n_rest + n_fixed); the row of every cell.
    fixed
        The fixed-effect part of the distinct rows, dense.
    """

    blocks: tuple[Block, ...]
    has_leaf: bool
    n_chain: int
    entries: tuple[tuple[int, int, int], ...]
    profiles: "sparse.csr_array[np.float64]"
    profile: Groups
    fixed: Floats

    @property
    def chain(self) -> range:
        """Which blocks are the chain."""
        return range(int(self.has_leaf), int(self.has_leaf) + self.n_chain)

    @property
    def rest(self) -> range:
        """Which blocks stay."""
        return range(int(self.has_leaf) + self.n_chain, len(self.blocks))

    @property
    def n_rest(self) -> int:
        """Random effects that stay."""
        return sum(self.blocks[b].size * self.blocks[b].n_levels for b in self.rest)

    @property
    def n_cells(self) -> int:
        """Cells."""
        return self.profile.level.size

    def factors(self, theta: Floats) -> tuple[Floats, ...]:
        """Relative covariance factor of every block: block diagonal where a grouping has several terms."""
        out = tuple(np.zeros((block.size, block.size)) for block in self.blocks)
        for (block, row, column), value in zip(self.entries, theta, strict=True):
            out[block][row, column] = value
        return out

    def columns(self, factors: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """What the spherical effects of every block are multiplied by, shape (n_columns, n_cells) each."""
        return tuple(factor.T @ block.values for factor, block in zip(factors, self.blocks, strict=True))


def make_plan(design: MixedDesign) -> Plan:
    """Order the groupings of a design and find its distinct rows."""
    merged = _merge(design)
    leaf, chain, rest = _order([block.groups for block in merged])
    blocks = tuple(merged[b] for b in [*leaf, *chain, *rest])
    profile, rows = _distinct(design.fixed, [merged[b] for b in rest])
    fixed = np.ascontiguousarray(design.fixed[rows])
    stays = _columns_of_rest([merged[b] for b in rest], rows)
    entries: dict[int, list[tuple[int, int, int]]] = {}
    for b, block in enumerate(blocks):
        start = 0
        for term in block.terms:
            size = design.terms[term].n_columns
            columns, lines = np.triu_indices(size)
            entries[term] = [(b, start + int(i), start + int(j)) for i, j in zip(lines, columns, strict=True)]
            start += size
    return Plan(
        blocks=blocks,
        has_leaf=bool(leaf),
        n_chain=len(chain),
        entries=tuple(entry for term in range(len(design.terms)) for entry in entries[term]),
        profiles=sparse.csr_array(sparse.hstack([stays, sparse.csr_array(fixed)], format="csr")),
        profile=profile,
        fixed=fixed,
    )


def _merge(design: MixedDesign) -> list[Block]:
    """Put terms of the same grouping together."""
    found: list[tuple[list[int], Groups]] = []
    for t, term in enumerate(design.terms):
        for terms, groups in found:
            if groups.n_levels == term.n_levels and np.array_equal(groups.level, term.level):
                terms.append(t)
                break
        else:
            found.append(([t], Groups(term.level, term.n_levels)))
    return [
        Block(
            terms=tuple(terms),
            groups=groups,
            values=np.concatenate([np.ascontiguousarray(design.terms[t].values.T) for t in terms]),
        )
        for terms, groups in found
    ]


def nested_in(inner: Ints, outer: Ints) -> bool:
    """Whether every level of `inner` lies within one level of `outer`.

    Examples
    --------
    >>> nested_in(np.array([0, 0, 1, 2]), np.array([5, 5, 5, 4]))
    True
    >>> nested_in(np.array([5, 5, 5, 4]), np.array([0, 0, 1, 2]))
    False
    """
    parent = np.zeros(int(inner.max()) + 1, dtype=np.int64)
    parent[inner] = outer
    return bool(np.array_equal(parent[inner], outer))


def _order(groups: list[Groups]) -> tuple[list[int], list[int], list[int]]:
    """Pick the leaf, the chain of nested groupings with the most levels, and the rest."""
    n_cells = groups[0].level.size
    finest = sorted(range(len(groups)), key=lambda g: -groups[g].n_levels)
    leaf = [g for g in finest if groups[g].n_levels == n_cells][:1]
    others = [g for g in finest if g not in leaf]
    best: dict[int, list[int]] = {}
    for g in reversed(others):
        above = [best[h] for h in best if nested_in(groups[g].level, groups[h].level)]
        best[g] = [g, *max(above, key=lambda chain: sum(groups[h].n_levels for h in chain), default=[])]
    chain = max(best.values(), key=lambda chain: sum(groups[h].n_levels for h in chain), default=[])
    return leaf, chain, [g for g in others if g not in chain]


def _distinct(fixed: Floats, rest: list[Block]) -> tuple[Groups, Ints]:
    """Return the distinct row of every cell, and one cell for every distinct row."""
    keys = [hash_rows(fixed)]
    for block in rest:
        keys += [block.groups.level.astype(np.uint64), hash_rows(np.ascontiguousarray(block.values.T))]
    mixed = _mix(keys)
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    rows = np.sort(first)
    rank = np.empty(rows.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(rows.size)
    return Groups(rank[inverse.ravel()], rows.size), rows


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads the bits of neighbouring numbers


def hash_rows(rows: Floats) -> Bits:
    """Return 64 bits for every row; equal rows give equal bits, and different ones differ but for chances of 2^-64."""
    return _mix((rows[:, j] + 0.0).view(np.uint64) for j in range(rows.shape[1]))  # + 0.0: -0.0 is 0.0


def _mix(columns: Iterable[Bits]) -> Bits:
    out: Bits = np.zeros(1, dtype=np.uint64)
    for column in columns:
        out = (out ^ column) * _MULTIPLIER
        out ^= out >> np.uint64(29)
    return out


def _columns_of_rest(rest: list[Block], rows: Ints) -> "sparse.csr_array[np.float64]":
    """Unscaled columns of the effects that stay, one row for every distinct row."""
    start, parts = 0, list[Ints]()
    values: list[Floats] = []
    for block in rest:
        level = block.groups.level[rows]
        parts += [start + level * block.size + a for a in range(block.size)]
        values += [block.values[a, rows] for a in range(block.size)]
        start += block.size * block.n_levels
    if not parts:
        return sparse.csr_array((rows.size, 0), dtype=np.float64)
    where = (np.tile(np.arange(rows.size), len(parts)), np.concatenate(parts))
    return sparse.csr_array((np.concatenate(values), where), shape=(rows.size, start))
