"""The gap between two rates as mix of cells, behaviour within cells, and what no cell has on both sides."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, as_values

# Sums may be complex: their derivatives are taken by steps along the imaginary axis.
Sums = npt.NDArray[Any]
_SHARES = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Kitagawa:
    """A gap in parts, live less lab, in the unit of the rates.

    Attributes
    ----------
    lab, live, total
        Overall rates, and live less lab. `mix + behaviour + unexplained` is `total`.
    unexplained
        Because of cells that one side lacks: `unexplained_live` for live cells without lab, `unexplained_lab` for lab cells
        without live.
    uncovered_live, uncovered_lab
        Share of the side's mass in cells that the other lacks.
    mix_terms, behaviour_terms
        float64, shape (n_cells,): they add up to `mix` and `behaviour`; 0 in cells that one side lacks.
    poststratified
        The lab's rates in the live shares, over the common cells.
    threefold
        (mix at the lab's rates, behaviour at the lab's shares, interaction).
    """

    lab: float
    live: float
    total: float
    mix: float
    behaviour: float
    unexplained: float
    unexplained_live: float
    unexplained_lab: float
    uncovered_live: float
    uncovered_lab: float
    poststratified: float
    threefold: tuple[float, float, float]
    mix_terms: FloatArray
    behaviour_terms: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class GapParts:
    """The parts for many tables at once: arrays of shape (...), and by cell (..., n_cells)."""

    lab: Sums
    live: Sums
    mix: Sums
    behaviour: Sums
    unexplained_live: Sums
    unexplained_lab: Sums
    poststratified: Sums
    mix_terms: Sums
    behaviour_terms: Sums
    lab_share: Sums
    live_share: Sums
    lab_rate: Sums
    live_rate: Sums


def kitagawa(lab_share: ArrayLike, lab_rate: ArrayLike, live_share: ArrayLike, live_rate: ArrayLike) -> Kitagawa:
    """Decompose the difference of two rates into mix and behaviour, symmetric in the two sides.

    With shares w and rates r by cell, mix = sum (w_V - w_L)(r_L + r_V)/2 and behaviour = sum (r_V - r_L)(w_L + w_V)/2. Cells
    with a share on one side alone have no rate to compare: both sides are cut to the common cells with shares renormalised,
    and what that changes in the two rates is `unexplained`, by design.

    Parameters
    ----------
    lab_share, live_share
        float64, shape (n_cells,), 0 or more, adding up to 1 on each side.
    lab_rate, live_rate
        float64, shape (n_cells,); NaN where the side has no share.

    Raises
    ------
    InputError
        If shares are negative or do not add up to 1, or a rate is missing where there is a share.
    CannotAnswerError
        If the sides have no cell in common.

    Notes
    -----
    A term of the mix is (w_V - w_L)(r - r0) with r the mean of the two rates in the cell and r0 their mean over both mixes:
    the sum does not change, since the differences of shares add up to 0, and terms do not hinge on the zero of the scale.

    References
    ----------
    Kitagawa 1955, doi:10.1080/01621459.1955.10501299; Nopo 2008, doi:10.1162/rest.90.2.290.

    Examples
    --------
    >>> r = kitagawa([0.5, 0.3, 0.2], [0.9, 0.7, 0.4], [0.2, 0.3, 0.5], [0.85, 0.6, 0.3])
    >>> round(r.total, 4), round(r.mix, 4), round(r.behaviour, 4), round(r.poststratified, 4)
    (-0.24, -0.1575, -0.0825, 0.59)
    """
    w_lab, r_lab = _side(lab_share, lab_rate, "lab")
    w_live, r_live = _side(live_share, live_rate, "live")
    if w_lab.size != w_live.size:
        raise InputError(f"the lab has {w_lab.size} cells and live {w_live.size}; give both sides the same cells")
    common = (w_lab > 0) & (w_live > 0)
    if not common.any():
        raise CannotAnswerError("lab and live have no cell in common; decompose by a coarser factor")
    parts = gap_parts(w_lab, w_lab * r_lab, w_live, w_live * r_live, common=common)
    one, other = float(parts.unexplained_live), float(parts.unexplained_lab)
    return Kitagawa(
        lab=float(parts.lab),
        live=float(parts.live),
        total=float(parts.live - parts.lab),
        mix=float(parts.mix),
        behaviour=float(parts.behaviour),
        unexplained=one + other,
        unexplained_live=one,
        unexplained_lab=other,
        uncovered_live=float(w_live[~common].sum()),
        uncovered_lab=float(w_lab[~common].sum()),
        poststratified=float(parts.poststratified),
        threefold=threefold(parts),
        mix_terms=parts.mix_terms,
        behaviour_terms=parts.behaviour_terms,
    )


def gap_parts(
    n_lab: Sums,
    total_lab: Sums,
    n_live: Sums,
    total_live: Sums,
    *,
    common: npt.NDArray[np.bool_],
    lab_rate: FloatArray | None = None,
    live_rate: FloatArray | None = None,
) -> GapParts:
    """Decompose from sums, for any number of tables at once.

    Parameters
    ----------
    n_lab, total_lab, n_live, total_live
        Sums of weights and of weighted scores, shape (..., n_cells).
    common
        Cells that count as had by both sides, broadcast against the sums. Resamples keep those of the data.
    lab_rate, live_rate
        Rates that stand in where a resample has nothing in a common cell (its share is 0 there, and only half of the other
        side's weight falls on it); NaN where left out.
    """
    inside = np.where(common, 1.0, 0.0)
    rate_lab = _rates(n_lab, total_lab, lab_rate)
    rate_live = _rates(n_live, total_live, live_rate)
    r_lab, r_live = np.where(common, rate_lab, 0.0), np.where(common, rate_live, 0.0)
    w_lab, w_live = _shares(n_lab * inside), _shares(n_live * inside)
    lab, live = total_lab.sum(-1) / n_lab.sum(-1), total_live.sum(-1) / n_live.sum(-1)
    middle, weight = (r_lab + r_live) / 2.0, (w_lab + w_live) / 2.0
    mix_terms = (w_live - w_lab) * (middle - (weight * middle).sum(-1)[..., None])
    behaviour_terms = (r_live - r_lab) * weight
    return GapParts(
        lab=lab,
        live=live,
        mix=mix_terms.sum(-1),
        behaviour=behaviour_terms.sum(-1),
        unexplained_live=live - (w_live * r_live).sum(-1),
        unexplained_lab=(w_lab * r_lab).sum(-1) - lab,
        poststratified=(w_live * r_lab).sum(-1),
        mix_terms=mix_terms,
        behaviour_terms=behaviour_terms,
        lab_share=w_lab,
        live_share=w_live,
        lab_rate=rate_lab,
        live_rate=rate_live,
    )


def threefold(parts: GapParts) -> tuple[float, float, float]:
    """Return mix at the lab's rates, behaviour at the lab's shares, and their interaction, of one table."""
    shift = np.asarray(parts.live_share - parts.lab_share)
    known = (parts.lab_share > 0) & (parts.live_share > 0)
    change = np.where(known, parts.live_rate - parts.lab_rate, 0.0)
    mix = float((shift * np.where(known, parts.lab_rate, 0.0)).sum())
    return mix, float((parts.lab_share * change).sum()), float((shift * change).sum())


def _rates(n: Sums, total: Sums, instead: FloatArray | None) -> Sums:
    some = n != 0
    return np.where(some, total / np.where(some, n, 1.0), np.nan if instead is None else instead)


def _shares(n: Sums) -> Sums:
    total = n.sum(-1)[..., None]
    return n / np.where(total != 0, total, 1.0)


def _side(share: ArrayLike, rate: ArrayLike, name: str) -> tuple[FloatArray, FloatArray]:
    w, r = as_values(share, f"shares of the {name} side"), np.asarray(rate, dtype=np.float64)
    if r.shape != w.shape:
        raise InputError(f"the {name} side has {w.size} shares and rates of shape {r.shape}; give one rate a cell")
    if w.min() < 0.0 or abs(w.sum() - 1.0) > _SHARES:
        raise InputError(f"shares of the {name} side add up to {w.sum():g}; they must be 0 or more and add up to 1")
    if not np.isfinite(r[w > 0]).all():
        raise InputError(f"the {name} side has a share but no rate in {np.count_nonzero(~np.isfinite(r[w > 0]))} cells")
    return w, np.where(w > 0, r, 0.0)
