"""The gap between two rates as mix of cells, behaviour within cells and what only one side has; Shapley values by factor."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray, as_values
from evalstats.stats.standardisation.linearisation import Sums
from evalstats.stats.standardisation.weights import raked_cells

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


MOST_FACTORS = 6


def shapley_shares(w_lab: Sums, w_live: Sums, rate: Sums, factors: Sequence[IntArray]) -> Sums:
    """Split the mix effect sum (w_live - w_lab) rate into one contribution for each factor of the cells.

    The value of a set of factors is the change of the rate when the lab is reweighted so that the joint shares of these
    factors are the live ones, and the shares within them stay the lab's. A factor's contribution is its mean increment over
    all orders in which the factors can change; contributions add up to the mix effect.

    Parameters
    ----------
    w_lab, w_live, rate
        Shape (..., n_cells): shares over the common cells, where the lab's are above 0, and the mean of both sides' rates.
    factors
        For each factor the integer code of its level in each cell, shape (n_cells,).

    Returns
    -------
    Shape (..., n_factors).

    Raises
    ------
    InputError
        With no factor, or more than 6.

    References
    ----------
    Shorrocks 2013, doi:10.1007/s10888-011-9214-z.

    Examples
    --------
    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> lab, live, rate = np.full(4, 0.25), np.array([0.4, 0.4, 0.1, 0.1]), np.array([1.0, 0.5, 0.6, 0.1])
    >>> shapley_shares(lab, live, rate, [a, b]).round(3).tolist()
    [0.12, 0.0]
    """
    n = len(factors)
    if not 1 <= n <= MOST_FACTORS:
        raise InputError(f"{n} factors; contributions of 1 to {MOST_FACTORS} factors can be told")
    values = [_value(chosen, w_lab, w_live, rate, factors) for chosen in range(2**n)]
    out: list[Sums] = []
    for factor in range(n):
        part = np.zeros_like(values[0])
        for chosen in range(2**n):
            if chosen >> factor & 1:
                continue
            size = chosen.bit_count()
            part = part + factorial(size) * factorial(n - size - 1) / factorial(n) * (
                values[chosen | 1 << factor] - values[chosen]
            )
        out.append(part)
    return np.stack(out, axis=-1)


def _value(chosen: int, w_lab: Sums, w_live: Sums, rate: Sums, factors: Sequence[IntArray]) -> Sums:
    """Change of the rate when the joint margin of the chosen factors (bits) is the live one."""
    if chosen == 0:
        return (w_lab * rate).sum(-1) * 0.0
    group = _groups([codes for place, codes in enumerate(factors) if chosen >> place & 1])
    member: FloatArray = np.eye(int(group.max()) + 1)[group]
    have: Sums = w_lab @ member
    want: Sums = w_live @ member
    factor = np.where(have != 0, want / np.where(have != 0, have, 1.0), 0.0)
    return ((w_lab * factor[..., group] - w_lab) * rate).sum(-1)


def _groups(codes: Sequence[IntArray]) -> IntArray:
    return np.unique(np.stack(codes), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


PARTS = ("lab", "live", "total", "mix", "behaviour", "unexplained", "poststratified")


@dataclass(frozen=True, slots=True, kw_only=True)
class GapStatistic:
    """The parts of the gap of each model, in the order of `names`.

    Attributes
    ----------
    common
        bool, shape (n_models, n_cells): cells that a model has on both sides; resamples keep those of the data.
    factors
        For each factor the code of its level in each cell; empty where there is one alone.
    outside
        Shares of the cells given from outside, which then stand for the live ones; None where they are counted.
    lab_rate, live_rate
        Shape (n_models, n_cells): rates that stand in where a resample has nothing in a cell.
    trim
        Largest weight in raking, as a multiple of the mean; None for no limit.
    """

    common: npt.NDArray[np.bool_]
    factors: tuple[IntArray, ...] = ()
    outside: FloatArray | None = None
    lab_rate: FloatArray | None = None
    live_rate: FloatArray | None = None
    trim: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics: the parts, factors, raked, and three blocks of one number a cell."""
        several = (*(f"factor {place}" for place in range(len(self.factors))), "raked") if self.factors else ()
        cells = range(self.common.shape[-1])
        blocks = tuple(f"{block} {cell}" for block in ("mix", "behaviour", "live share") for cell in cells)
        return (*PARTS, *several, *blocks)

    def __call__(self, n_lab: Sums, total_lab: Sums, n_live: Sums, total_live: Sums) -> Sums:
        """Return the statistics, shape (..., n_models, n_statistics), of sums of shape (..., n_models, n_cells)."""
        if self.outside is not None:
            some = n_live != 0
            rate = np.where(some, total_live / np.where(some, n_live, 1.0), 0.0)
            n_live = np.where(some, self.outside, 0.0)
            total_live = n_live * rate
        parts = gap_parts(
            n_lab, total_lab, n_live, total_live, common=self.common, lab_rate=self.lab_rate, live_rate=self.live_rate
        )
        columns: list[Sums] = [
            parts.lab,
            parts.live,
            parts.live - parts.lab,
            parts.mix,
            parts.behaviour,
            parts.unexplained_live + parts.unexplained_lab,
            parts.poststratified,
        ]
        blocks: list[Sums] = [parts.mix_terms, parts.behaviour_terms, n_live / n_live.sum(-1)[..., None]]
        if self.factors:
            middle = np.where(self.common, (parts.lab_rate + parts.live_rate) / 2.0, 0.0)
            blocks.insert(0, shapley_shares(parts.lab_share, parts.live_share, middle, self.factors))
            weights = raked_cells(n_lab, n_live, self.factors, trim=self.trim)[0]
            rate = np.where(n_lab != 0, parts.lab_rate, 0.0)
            blocks.insert(1, ((weights * rate).sum(-1) / weights.sum(-1))[..., None])
        shape = np.broadcast_shapes(*(column.shape for column in columns))
        head = np.stack([np.broadcast_to(column, shape) for column in columns], axis=-1)
        return np.concatenate([head, *(np.broadcast_to(block, (*shape, block.shape[-1])) for block in blocks)], axis=-1)
