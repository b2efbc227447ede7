"""Cross-products of a linear mixed model, computed once from the cells, and the elimination of the inner stage from them.

With Z1 the inner effects (items), W = [other random effects, X, y] and weights w: D = Z1'wZ1 (one small block an item),
C = Z1'wW and A = W'wW. For factors Lambda1 of the inner effects the inner stage leaves

    K = A - sum over blocks of C_b' G_b C_b,   G = Lambda1 (Lambda1' D_b Lambda1 + I)^-1 Lambda1'.

Blocks with the same D have the same G. So the products C_b' C_b are summed over them once, where few blocks differ: then an
evaluation does not touch items at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from evalstats.stats.mixed.blocks import Scaling, invert_blocks, slot_products
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.structure import Plan, Slot

_FEW_COLUMNS = 12  # fixed columns summed one by one; more are multiplied as a matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossProducts:
    """D, C and A for one set of weights, in the padded layout of the plan.

    Attributes
    ----------
    D
        float64, shape (n_components, n_blocks, s, s), with s effects in a block.
    C
        float64, shape (n_components, n_blocks, s, m): columns are middle, outer and fixed effects, and the response.
    A
        float64, shape (n_components, m, m). What does not involve the middle stage stands in component 0 alone.
    """

    D: Floats
    C: Floats
    A: Floats


def cross_products(design: MixedDesign, plan: Plan, fixed: Floats, response: Floats, weight: Floats) -> CrossProducts:
    """Sum over cells. `fixed` and `response` are those of the cells, perhaps transformed."""
    s, m = plan.inner_size, plan.middle_size + plan.outer_size + fixed.shape[1] + 1
    inner = [
        column for slot in plan.inner for column in _columns(design, slot, slot.place[design.terms[slot.term].level])
    ]
    rest = _rest_columns(design, plan)
    dense = np.column_stack([fixed, response])
    D = np.zeros(plan.n_components * plan.n_blocks * s * s)
    for i, (at, values) in enumerate(inner):
        for other, others in inner[: i + 1]:
            D += _sums(at * s + other % s, D.size, weight, values, others)
    D = D.reshape(plan.n_components, plan.n_blocks, s, s)
    upper = np.swapaxes(D, -1, -2) - D * np.eye(s)
    D = D + upper if s > 1 else D
    C = np.zeros((plan.n_components * plan.n_blocks * s, m))
    for at, values in inner:
        for other, others, _ in rest:
            C += _sums(at * m + other, C.size, weight, values, others).reshape(C.shape)
        C[:, m - dense.shape[1] :] += _dense_sums(at, len(C), _times(weight, values), dense)
    A = _rest_products(plan, rest, dense, weight, m)
    return CrossProducts(D=D, C=C.reshape(plan.n_components, plan.n_blocks, s, m), A=A)


def replace_response(
    products: CrossProducts, design: MixedDesign, plan: Plan, fixed: Floats, response: Floats, weight: Floats
) -> None:
    """Write the sums that involve the response, in place."""
    weighted = weight * response
    m = products.A.shape[-1]
    column = np.zeros(products.C.size // m)
    for slot in plan.inner:
        for at, values in _columns(design, slot, slot.place[design.terms[slot.term].level]):
            column += np.bincount(at, weights=_times(weighted, values), minlength=len(column))
    products.C[..., -1] = column.reshape(products.C.shape[:-1])
    rest = np.zeros(plan.n_components * m)
    for at, values, middle in _rest_columns(design, plan):
        row = plan.component * m + at if middle else at
        rest += np.bincount(row, weights=_times(weighted, values), minlength=len(rest))
    rest = rest.reshape(plan.n_components, m)
    rest[0, m - 1 - fixed.shape[1] : -1] = weighted @ fixed
    rest[0, -1] = weighted @ response
    products.A[..., -1] = rest
    products.A[:, -1, :] = rest


_Column = tuple[Ints, Floats | None]


def _columns(design: MixedDesign, slot: Slot, first: Ints) -> Iterator[_Column]:
    """Position of every cell's effect, and its multiplier (None for ones), column by column of a term."""
    term = design.terms[slot.term]
    for k in range(term.n_columns):
        values = None if term.is_intercept else np.ascontiguousarray(term.values[:, k])
        yield (first + k if k else first), values


def _rest_columns(design: MixedDesign, plan: Plan) -> list[tuple[Ints, Floats | None, bool]]:
    """Columns of the middle and outer stages: position in a row of C, multiplier, whether it is of the middle stage."""
    out: list[tuple[Ints, Floats | None, bool]] = []
    for slot in plan.middle:
        first = slot.place % plan.middle_size
        out += [(*column, True) for column in _columns(design, slot, first[design.terms[slot.term].level])]
    for slot in plan.outer:
        first = slot.place + plan.middle_size
        out += [(*column, False) for column in _columns(design, slot, first[design.terms[slot.term].level])]
    return out


def _rest_products(
    plan: Plan, rest: list[tuple[Ints, Floats | None, bool]], dense: Floats, weight: Floats, m: int
) -> Floats:
    A = np.zeros(plan.n_components * m * m)
    flat = A.reshape(plan.n_components, m, m)
    first_dense = m - dense.shape[1]
    for i, (at, values, middle) in enumerate(rest):
        row = plan.component * m + at if middle else at
        for j, (other, others, partly) in enumerate(rest[: i + 1]):
            both = plan.component * m + at if partly and not middle else row
            sums = _sums(both * m + other, A.size, weight, values, others)
            A += sums
            if j < i:
                flat += np.swapaxes(sums.reshape(flat.shape), -1, -2)
        sums = _dense_sums(row, plan.n_components * m, _times(weight, values), dense).reshape(plan.n_components, m, -1)
        flat[:, :, first_dense:] += sums
        flat[:, first_dense:, :] += np.swapaxes(sums, -1, -2)
    flat[0, first_dense:, first_dense:] = _gram(dense, weight)
    return flat


def _times(weight: Floats, values: Floats | None) -> Floats:
    return weight if values is None else weight * values


def _sums(index: Ints, size: int, weight: Floats, values: Floats | None, others: Floats | None) -> Floats:
    return np.bincount(index, weights=_times(_times(weight, values), others), minlength=size)


def _dense_sums(index: Ints, size: int, weight: Floats, dense: Floats) -> Floats:
    """Sum weight * dense over cells with the same index: shape (size, n_columns)."""
    if dense.shape[1] <= _FEW_COLUMNS:
        return np.column_stack([np.bincount(index, weights=weight * column, minlength=size) for column in dense.T])
    cells = np.arange(len(index))
    sums: Floats = csr_array((weight, (index, cells)), (size, len(index))) @ dense
    return sums


def _gram(dense: Floats, weight: Floats) -> Floats:
    return dense.T @ (weight[:, None] * dense)


class Inner:
    """What the inner stage leaves, and derivatives through it.

    Parameters
    ----------
    plan
        The stages.
    products
        Cross-products for each class of cells that share their number of rows; one class where no term is at the cell
        stage, whose weights then are the numbers of rows.
    """

    def __init__(self, plan: Plan, products: tuple[CrossProducts, ...]) -> None:
        self.plan, self.classes = plan, products
        grouped = _grouped(products[0]) if len(products) == 1 else None
        self.grouped = None if grouped is None else grouped[:3]
        self.group = np.zeros(0, dtype=np.int64) if grouped is None else grouped[3]

    def replace_response(self) -> None:
        """Bring the grouped products up to date after C has a new last column."""
        if self.grouped is None:
            return
        C = self.classes[0].C
        n_components, _, s, m = C.shape
        which = self.group.reshape(C.shape[:2])
        flat = self.grouped[1].reshape(-1, s, s, n_components, m, m)
        for d in range(len(flat)):
            for c in range(n_components):
                chosen = C[c, which[c] == d]
                sums = np.einsum("bim,bj->ijm", chosen, chosen[..., -1])
                flat[d, :, :, c, :, -1] = sums
                flat[d, :, :, c, -1, :] = np.swapaxes(sums, 0, 1)

    def reduce(self, weight: Floats, scaling: Scaling) -> tuple[Floats, float, "InnerState"]:
        """K, shape (n_components, m, m), and the log-determinant of the inner stage, for class weights and Lambda1."""
        if self.grouped is not None:
            w = float(weight[0])
            D, products, count = self.grouped
            G, _, _, logdet, state = _eliminate(D * w, scaling, count)
            A = self.classes[0].A
            K = w * A - w**2 * (G.reshape(-1) @ products).reshape(A.shape)
            return K, logdet, state
        D = _combine(weight, [p.D for p in self.classes])
        C = _combine(weight, [p.C for p in self.classes])
        G, _, _, logdet, state = _eliminate(D, scaling, np.ones(D.shape[:2]))
        n, m = D.shape[0], C.shape[-1]
        state.C = C
        state.GC = G @ C
        K = _combine(weight, [p.A for p in self.classes])
        K = K - np.swapaxes(C.reshape(n, -1, m), -1, -2) @ state.GC.reshape(n, -1, m)
        return K, logdet, state

    def gradient(self, weight: Floats, state: "InnerState", K_bar: Floats) -> tuple[list[Floats], Floats]:
        """Derivatives by the factor of each inner term and by the class weights, for the derivative K_bar by K."""
        scaling = state.scaling
        if self.grouped is not None:
            _, products, _ = self.grouped
            H = (products @ K_bar.reshape(-1)).reshape(state.D.shape)
            Hw = H * float(weight[0]) ** 2
        else:
            assert state.C is not None
            n, m = len(state.C), state.C.shape[-1]
            CK = (state.C.reshape(n, -1, m) @ K_bar).reshape(state.C.shape)
            H = Hw = CK @ np.swapaxes(state.C, -1, -2)
        inverse = state.inverse
        right = scaling.right(Hw) @ inverse  # H Lambda N^-1
        N_bar = state.count[..., None, None] * inverse + inverse @ scaling.left(right)
        left = scaling.right(state.D)
        factors = [
            2.0 * (slot_products(left, N_bar, slot) - slot_products(right, _unit(right), slot))
            for slot in self.plan.inner
        ]
        by_weight = np.empty(len(weight))
        D_bar = scaling.transposed().both(N_bar)
        for k, each in enumerate(self.classes):
            by_weight[k] = np.vdot(K_bar, each.A)
            if self.grouped is not None:
                by_weight[k] += np.vdot(D_bar, self.grouped[0]) - 2.0 * float(weight[0]) * np.vdot(state.G, H)
            else:
                assert state.GC is not None
                n, m = len(each.A), each.A.shape[-1]
                by_weight[k] += np.vdot(D_bar, each.D) - 2.0 * np.vdot(
                    state.GC.reshape(n, -1, m) @ K_bar, each.C.reshape(n, -1, m)
                )
        return factors, by_weight

    def blocks(self, weight: Floats, state: "InnerState") -> tuple[Floats, Floats]:
        """C for these weights, and G of every block, shape (n_components, n_blocks, s, s)."""
        C = _combine(weight, [p.C for p in self.classes])
        if self.grouped is None:
            return C, state.G
        return C, state.G[self.group].reshape(*C.shape[:2], *state.G.shape[1:])


@dataclass(slots=True)
class InnerState:
    """What `Inner.gradient` needs from `Inner.reduce`."""

    scaling: Scaling
    D: Floats
    inverse: Floats
    G: Floats
    count: Floats
    C: Floats | None = None
    GC: Floats | None = None


def _eliminate(D: Floats, scaling: Scaling, count: Floats) -> tuple[Floats, Floats, Floats, float, InnerState]:
    N = scaling.both(D) + np.eye(D.shape[-1])
    inverse, logdets = invert_blocks(N)
    G = scaling.transposed().both(inverse)
    logdet = float(np.vdot(count, logdets))
    return G, N, inverse, logdet, InnerState(scaling, D, inverse, G, count)


def _unit(array: Floats) -> Floats:
    return np.broadcast_to(np.eye(array.shape[-1]), array.shape)


def _combine(weight: Floats, arrays: list[Floats]) -> Floats:
    if len(arrays) == 1:
        return arrays[0] if weight[0] == 1.0 else weight[0] * arrays[0]
    out = weight[0] * arrays[0]
    for w, array in zip(weight[1:], arrays[1:], strict=True):
        out += w * array
    return out


def _grouped(products: CrossProducts) -> tuple[Floats, Floats, Floats, Ints] | None:
    """Distinct D, the products C_b' C_b summed over blocks that share it, how many share it, and which each block has.

    None if too many differ.

    The products have shape (n_distinct * s * s, n_components * m * m), so that one matrix product contracts them with G.
    """
    D, C = products.D, products.C
    n_components, n_blocks, s, m = C.shape
    distinct, which = _distinct(D.reshape(-1, s * s))
    if len(distinct) * s * m > 4 * n_blocks:  # several times the numbers that C has
        return None
    which = which.reshape(n_components, n_blocks)
    out = np.empty((len(distinct), s, s, n_components, m, m))
    for d in range(len(distinct)):
        for c in range(n_components):
            chosen = C[c, which[c] == d]
            for i in range(s):
                for j in range(s):
                    out[d, i, j, c] = chosen[:, i].T @ chosen[:, j]
    count = np.bincount(which.reshape(-1), minlength=len(distinct)).astype(np.float64)
    return distinct.reshape(-1, s, s), out.reshape(len(distinct) * s * s, -1), count, which.reshape(-1)


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    if rows.shape[1] == 1:
        values, which = np.unique(rows[:, 0], return_inverse=True)
        return values[:, None], which.astype(np.int64)
    values, which = np.unique(rows, axis=0, return_inverse=True)
    return values, which.reshape(-1).astype(np.int64)
