"""Conditional modes of the random effects of a linear mixed model, and their conditional covariances.

Given theta, sigma and beta the effects are normal with mean b = Lambda u and covariance sigma^2 Lambda M^-1 Lambda'
(`condVar` of lme4's `ranef`). The stages of the elimination are walked backwards.
"""

import numpy as np

from evalstats.stats.mixed.blocks import Scaling, split_theta
from evalstats.stats.mixed.design import Floats, Ints, RandomTerm
from evalstats.stats.mixed.linear_structured import Structured
from evalstats.stats.mixed.structure import Slot


def effects(core: Structured, theta: Floats) -> tuple[Floats, ...]:
    """Conditional modes of every term, shape (n_levels, n_columns)."""
    design, plan = core.design, core.plan
    factors = split_theta(design, theta)
    middle, last = core.solve_rest(theta)
    r = plan.outer_size
    of_middle = Scaling.of(plan.middle_size, plan.middle, factors).transposed().right(middle)
    of_outer = Scaling.of(r, plan.outer, factors).transposed().right(last[:r])
    out: dict[int, Floats] = {}
    for slot in plan.middle:
        out[slot.term] = _levels(of_middle.reshape(-1), slot)
    for slot in plan.outer:
        out[slot.term] = _levels(of_outer, slot)
    zm, zr, gain = core.inner_blocks(theta)
    left = zr @ np.concatenate([-of_outer, -last[r:], [1.0]])[:, None]
    if plan.middle:
        left = left - zm @ of_middle[:, None, :, None]
    b = gain @ left
    for slot in plan.inner:
        out[slot.term] = _levels(b.reshape(-1), slot)
    if plan.cell_term is not None:
        residual = core.response - core.fixed @ last[r:]
        for k, values in out.items():
            term = design.terms[k]
            residual = residual - np.einsum("ij,ij->i", term.values, values[term.level])
        t2n = float(factors[plan.cell_term][0, 0]) ** 2 * design.count
        out[plan.cell_term] = _of_levels(design.terms[plan.cell_term], t2n / (1.0 + t2n) * residual)[:, None]
    return tuple(out[k] for k in range(len(design.terms)))


def effect_covariances(core: Structured, theta: Floats) -> tuple[Floats, ...]:
    """Conditional covariances of every term over sigma^2, shape (n_levels, n_columns, n_columns)."""
    design, plan = core.design, core.plan
    ell, r = plan.middle_size, plan.outer_size
    found = core.rest_covariance(theta)
    rest = np.empty((plan.n_components, ell + r, ell + r))
    rest[:, :ell, :ell], rest[:, ell:, ell:] = found.mm, found.rr[:r, :r]
    rest[:, :ell, ell:], rest[:, ell:, :ell] = found.mr[..., :r], np.swapaxes(found.mr[..., :r], -1, -2)
    zm, zr, gain = core.inner_blocks(theta)
    z = np.concatenate([zm, zr[..., :r]], axis=-1)
    alike = z.shape[1] > 1 and _alike(z, gain)
    if alike:  # complete data: one block of each component stands for all
        z, gain = z[:, :1], gain[:, :1]
    gain_z = gain @ z
    cross = gain_z @ rest[:, None]  # minus the covariance of inner and other effects
    within = gain + cross @ np.swapaxes(gain_z, -1, -2)
    if alike:
        within, cross = (np.repeat(a, plan.n_blocks, axis=1) for a in (within, cross))
    out: dict[int, Floats] = {}
    for slot in plan.inner:
        out[slot.term] = _blocks(within.reshape(-1, plan.inner_size, plan.inner_size), slot, slot.place)
    for slot in plan.middle:
        out[slot.term] = _blocks(found.mm, slot, slot.place)
    for slot in plan.outer:
        out[slot.term] = _blocks(found.rr[None], slot, slot.place)
    if plan.cell_term is not None:
        t2 = float(split_theta(design, theta)[plan.cell_term][0, 0]) ** 2
        t2n = t2 * design.count
        spread = _predictor_variance(core, rest, cross, within)
        variance = t2 / (1.0 + t2n) + (t2n / (1.0 + t2n)) ** 2 * spread
        out[plan.cell_term] = _of_levels(design.terms[plan.cell_term], variance)[:, None, None]
    return tuple(out[k] for k in range(len(design.terms)))


def _alike(z: Floats, gain: Floats) -> bool:
    """Whether all blocks of a component are the same, but for padding; the first is never padding."""
    if not z.size:
        # Nothing stands beside the blocks: no zero tells padding from a block, and gains alone tell blocks apart.
        return bool((gain == gain[:, :1]).all())
    if np.array_equal(z[:, 0], z[:, 1]):
        padding = ~z.any(axis=(2, 3))
        same = (z == z[:, :1]).all(axis=(2, 3)) & (gain == gain[:, :1]).all(axis=(2, 3))
        return bool((same | padding).all())
    return False


def _levels(flat: Floats, slot: Slot) -> Floats:
    return flat[slot.place[:, None] + np.arange(slot.n_columns)]


def _of_levels(term: RandomTerm, of_cells: Floats) -> Floats:
    out = np.empty(term.n_levels)
    out[term.level] = of_cells
    return out


def _blocks(matrices: Floats, slot: Slot, place: Ints) -> Floats:
    """Diagonal block of every level, from one matrix for each block or component."""
    which, first = np.divmod(place, matrices.shape[-1])
    at = first[:, None] + np.arange(slot.n_columns)
    return matrices[which[:, None, None], at[:, :, None], at[:, None, :]]


def _predictor_variance(core: Structured, rest: Floats, cross: Floats, within: Floats) -> Floats:
    """Conditional variance over sigma^2 of what all effects but the cell term's add up to, for every cell."""
    design, plan = core.design, core.plan
    inner: list[tuple[Ints, Floats]] = []
    others: list[tuple[Ints, Floats]] = []
    for slots, size, shift, columns in (
        (plan.inner, plan.inner_size, 0, inner),
        (plan.middle, plan.middle_size, 0, others),
        (plan.outer, plan.outer_size, plan.middle_size, others),
    ):
        for slot in slots:
            term = design.terms[slot.term]
            first = (slot.place % size + shift)[term.level]
            columns += [(first + k, term.values[:, k]) for k in range(term.n_columns)]
    within = within.reshape(-1, plan.inner_size, plan.inner_size)
    cross = cross.reshape(cross.shape[0] * cross.shape[1], *cross.shape[2:])
    out = np.zeros(design.n_cells)
    for at, values in inner:
        for other, more in inner:
            out += values * more * within[plan.block, at, other]
        for other, more in others:
            out -= 2.0 * values * more * cross[plan.block, at, other]
    for at, values in others:
        for other, more in others:
            out += values * more * rest[plan.component, at, other]
    return out
