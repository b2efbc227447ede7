"""Conditional modes of the random effects of a linear mixed model, and their conditional covariances.

Given theta, sigma and beta the effects are normal with mean b = Lambda u and covariance sigma^2 Lambda M^-1 Lambda'
(`condVar` of lme4's `ranef`). The stages of the elimination are walked backwards.
"""

import numpy as np

from evalstats.stats.mixed.blocks import Scaling
from evalstats.stats.mixed.design import Floats, Ints, RandomTerm
from evalstats.stats.mixed.linear_structured import Structured
from evalstats.stats.mixed.structure import Slot


def effects(core: Structured, theta: Floats) -> tuple[Floats, ...]:
    """Conditional modes of every term, shape (n_levels, n_columns)."""
    design, plan = core.design, core.plan
    factors = design.factors(theta)
    middle, last = core.solve_rest(theta)
    ell, r = plan.middle_size, plan.outer_size
    out: dict[int, Floats] = {}
    v = np.zeros((plan.n_components, ell + len(last) + 1))
    v[:, :ell] = -Scaling.of(ell, plan.middle, factors).transposed().right(middle)
    v[:, ell : ell + r] = -Scaling.of(r, plan.outer, factors).transposed().right(last[:r])
    v[:, ell + r : -1] = -last[r:]
    v[:, -1] = 1.0
    for slot in plan.middle:
        out[slot.term] = -_levels(v[:, :ell].reshape(-1), slot)
    for slot in plan.outer:
        out[slot.term] = -_levels(v[0, ell : ell + r], slot)
    zw, gain = core.weighted_inner(theta)
    b = gain @ (zw @ v[:, None, :, None])
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
    rest = core.rest_covariance(theta)[:, : ell + r, : ell + r]
    zw, gain = core.weighted_inner(theta)
    gain_zw = gain @ zw[..., : ell + r]
    cross = gain_zw @ rest[:, None]  # minus the covariance of inner and other effects
    within = gain + cross @ np.swapaxes(gain_zw, -1, -2)
    out: dict[int, Floats] = {}
    for slot in plan.inner:
        out[slot.term] = _blocks(within.reshape(-1, plan.inner_size, plan.inner_size), slot, slot.place)
    for slot in plan.middle:
        out[slot.term] = _blocks(rest[:, :ell, :ell], slot, slot.place)
    for slot in plan.outer:
        out[slot.term] = _blocks(rest[:1], slot, slot.place + ell)
    if plan.cell_term is not None:
        t2 = float(design.factors(theta)[plan.cell_term][0, 0]) ** 2
        t2n = t2 * design.count
        spread = _predictor_variance(core, rest, cross, within)
        variance = t2 / (1.0 + t2n) + (t2n / (1.0 + t2n)) ** 2 * spread
        out[plan.cell_term] = _of_levels(design.terms[plan.cell_term], variance)[:, None, None]
    return tuple(out[k] for k in range(len(design.terms)))


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
    cross = cross.reshape(-1, *cross.shape[2:])
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
