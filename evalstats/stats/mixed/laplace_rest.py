"""Random effects that are left once the nested groupings are gone: solved component by component where they fall apart."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph

from evalstats.stats.mixed.design import Floats, Ints
from evalstats.stats.mixed.linear_elimination import Scaling, invert_blocks
from evalstats.stats.mixed.structure import Slot, within_owner


class Grouping(Protocol):
    """The levels of a grouping over the cells."""

    @property
    def level(self) -> Ints:
        """Level of every cell."""
        ...

    @property
    def n_levels(self) -> int:
        """How many there are."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RestLayout:
    """Where the effects that stay stand: `n_local` in each of `n_components`, and a border that meets all components.

    An axis of one component is [local effects, border, fixed effects], the first padded to the largest component. `slots` say
    where the effects of each block stand on it; `component` and `place` the same of every column of [rest, fixed], with the
    component 0 for what meets all; `is_local`, shape (n_rest,), which random effects do not.
    """

    n_components: int
    n_local: int
    n_border: int
    n_fixed: int
    slots: tuple[Slot, ...]
    of_cell: Ints
    component: Ints
    place: Ints
    is_local: "np.ndarray[tuple[int], np.dtype[np.bool_]]"

    @property
    def n_random(self) -> int:
        """Random effects on the axis of a component."""
        return self.n_local + self.n_border

    @property
    def width(self) -> int:
        """Length of that axis."""
        return self.n_random + self.n_fixed

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a symmetric matrix on [rest, fixed], in this layout."""
        return self.n_components, self.width, self.width

    def where(self, row: Ints, column: Ints) -> Ints:
        """Return the flattened position of entries of such a matrix; a row and a column of two components have none."""
        component = np.maximum(self.component[row], self.component[column])
        return (component * self.width + self.place[row]) * self.width + self.place[column]

    def scaling(self, factors: tuple[Floats, ...], *, with_fixed: bool) -> Scaling:
        """Return the covariance factors along the axis of a component; `factors` are those of all blocks."""
        return Scaling.of(self.width if with_fixed else self.n_random, self.slots, factors)

    def along(self, rows: "sparse.csr_array[np.float64]") -> Floats:
        """Lay rows over [rest, fixed] out along the axis of the component that each lies in, without the fixed effects."""
        entries = rows.tocoo()
        row, column = entries.coords
        kept = column < self.is_local.size
        out = np.zeros((int(rows.shape[0]), self.n_random))
        out[row[kept], self.place[column[kept]]] = entries.data[kept]
        return out


def lay_out(rest: dict[int, tuple[Grouping, int]], top: Grouping | None, n_cells: int, n_fixed: int) -> RestLayout:
    """Divide the effects that stay into components, where that pays.

    `rest` holds for every block its grouping and the effects of a level, from the most levels; `top` is the coarsest grouping
    that is eliminated before them. A grouping that joins everything goes to the border, and so do all where little is won.
    """
    n_rest = sum(groups.n_levels * size for groups, size in rest.values())
    of_cell: Ints = np.zeros(n_cells, dtype=np.int64)
    local: list[int] = []
    if not _one_is_cheaper(n_rest + n_fixed):
        joined = [] if top is None else [top]
        for b, (groups, _) in rest.items():
            trial = _components([*joined, groups], n_cells)
            if trial.max() > 0:
                joined.append(groups)
                local.append(b)
                of_cell = trial
    found = _placed(rest, local, of_cell, n_fixed)
    if _one_is_cheaper(n_rest + n_fixed, found):
        return _placed(rest, [], np.zeros(n_cells, dtype=np.int64), n_fixed)
    return found


def _one_is_cheaper(size: int, by_component: RestLayout | None = None) -> bool:
    """Say whether one dense factor of that size takes no time, or not much more than those of the components."""
    small, repaid = 200, 0.3  # effects; share of the multiplications at which components are worth their bookkeeping
    if by_component is None:
        return size <= small
    return by_component.n_components * by_component.width**3 > repaid * size**3


def _components(groupings: list[Grouping], n_cells: int) -> Ints:
    """Component of every cell, where cells that share a level are joined."""
    starts = np.cumsum([0, *(groups.n_levels for groups in groupings)])
    first = groupings[0].level
    rows = np.concatenate([first] * len(groupings))
    columns = np.concatenate([groups.level + start for groups, start in zip(groupings, starts, strict=False)])
    size = int(starts[-1])
    graph = sparse.coo_array((np.ones(rows.size, dtype=np.int8), (rows, columns)), shape=(size, size))
    labels = csgraph.connected_components(graph, directed=False)[1]
    return np.unique(labels[first], return_inverse=True)[1].reshape(n_cells).astype(np.int64)


def _placed(rest: dict[int, tuple[Grouping, int]], local: list[int], of_cell: Ints, n_fixed: int) -> RestLayout:
    """Give every effect its component and place."""
    n_components = int(of_cell.max()) + 1 if local else 1
    slots: dict[int, Slot] = {}
    component: dict[int, Ints] = {}
    start = 0
    for b in (*local, *(b for b in rest if b not in local)):
        groups, size = rest[b]
        owner: Ints = np.zeros(groups.n_levels, dtype=np.int64)
        rank: Ints = np.arange(groups.n_levels)
        if b in local:
            owner[groups.level] = of_cell
            rank = within_owner(owner, n_components)
        slots[b] = Slot(term=b, start=start, n_places=int(rank.max()) + 1, n_columns=size, place=start + rank * size)
        component[b] = owner
        start = slots[b].stop
    n_local = max((slots[b].stop for b in local), default=0)
    nothing: list[Ints] = [np.empty(0, dtype=np.int64)]
    places = [(slots[b].place[:, None] + np.arange(slots[b].n_columns)).ravel() for b in rest]
    return RestLayout(
        n_components=n_components,
        n_local=n_local,
        n_border=start - n_local,
        n_fixed=n_fixed,
        slots=tuple(slots[b] for b in rest),
        of_cell=of_cell,
        component=np.concatenate(
            [*(np.repeat(component[b], slots[b].n_columns) for b in rest), np.zeros(n_fixed, dtype=np.int64)]
        ),
        place=np.concatenate([*places, start + np.arange(n_fixed)]),
        is_local=np.concatenate([place < n_local for place in places or nothing]),
    )


class RestFactor:
    """The rest factored: I + S of the random effects that stay, and what they leave of the fixed effects.

    `gram` is S scaled by the covariance factors, shape (n_components, width, width) without the fixed effects or with them;
    then `extra` is added to their part.
    """

    def __init__(self, layout: RestLayout, gram: Floats, extra: Floats | None) -> None:
        self.layout = layout
        m, q = layout.n_local, layout.n_border
        border = gram[:, m:, m:].sum(axis=0)
        border[np.arange(q), np.arange(q)] += 1.0
        if extra is not None:
            border[q:, q:] += extra
        self.log_determinant = 0.0
        self.inverse: Floats = np.empty((layout.n_components, 0, 0))
        self.gain: Floats = np.empty((layout.n_components, 0, border.shape[0]))
        if m:
            coupling = gram[:, :m, m:]
            self.inverse, logdets = invert_blocks(gram[:, :m, :m] + np.eye(m))
            self.log_determinant = float(logdets.sum())
            self.gain = self.inverse @ coupling
            border -= np.tensordot(coupling, self.gain, axes=((0, 1), (0, 1)))
        self.lower: Floats = border
        if border.size:
            self.lower = np.asarray(linalg.cholesky(border, lower=True, check_finite=False), dtype=np.float64)
            self.log_determinant += 2.0 * float(np.log(np.diagonal(self.lower)[:q]).sum())

    def solve(self, right: Floats) -> Floats:
        """Solve for [rest, fixed], in the order of the columns."""
        layout, n_rest = self.layout, self.layout.is_local.size
        if not layout.n_local:
            return self._solve_border(right)
        local, others = np.flatnonzero(layout.is_local), np.flatnonzero(~layout.is_local)
        component, place = layout.component[local], layout.place[local]
        inside = np.zeros((layout.n_components, layout.n_local))
        inside[component, place] = right[local]
        border = np.concatenate([right[others], right[n_rest:]])
        border = self._solve_border(border - np.einsum("kmi,km->i", self.gain, inside))
        inside = np.einsum("kmn,kn->km", self.inverse, inside) - self.gain @ border
        out = np.empty(right.size)
        out[local], out[others], out[n_rest:] = inside[component, place], border[: others.size], border[others.size :]
        return out

    def _solve_border(self, right: Floats) -> Floats:
        return linalg.cho_solve((self.lower, True), right, check_finite=False) if right.size else right

    def fixed_precision(self) -> Floats:
        """Precision of the fixed effects once every random effect is eliminated."""
        lower = self.lower[self.layout.n_border :, self.layout.n_border :]
        return lower @ lower.T

    def covariance(self) -> Floats:
        """Covariance of the random effects of each component and the border, shape (n_components, n_random, n_random)."""
        m, q = self.layout.n_local, self.layout.n_border
        border = np.empty((0, 0))
        if q:
            lower = np.asfortranarray(self.lower[:q, :q])
            border = np.asarray(linalg.cho_solve((lower, True), np.eye(q), check_finite=False), dtype=np.float64)
        if not m:
            return border[None]
        out = np.empty((self.layout.n_components, m + q, m + q))
        gain = self.gain[:, :, :q]
        across = gain @ border
        out[:, :m, :m] = self.inverse + across @ gain.transpose(0, 2, 1)
        out[:, :m, m:], out[:, m:, :m] = -across, -across.transpose(0, 2, 1)
        out[:, m:, m:] = border
        return out
