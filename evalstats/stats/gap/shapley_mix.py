"""How much of a mix effect belongs to each of several factors: Shapley values over the order in which they change."""

from collections.abc import Sequence
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, as_values
from evalstats.stats.gap.kitagawa import Sums

MOST_FACTORS = 6


def shapley_mix(
    lab_share: ArrayLike, live_share: ArrayLike, rate: ArrayLike, factors: Sequence[ArrayLike]
) -> FloatArray:
    """Split the mix effect sum (w_V - w_L) r into one contribution for each factor of the cells.

    The value of a set of factors is the change of the rate when the lab is reweighted so that the joint shares of these
    factors are the live ones, and the shares within them stay the lab's. A factor's contribution is its mean increment over
    all orders in which the factors can change; contributions add up to the mix effect.

    Parameters
    ----------
    lab_share, live_share
        float64, shape (n_cells,): shares over the common cells; the lab's are above 0.
    rate
        float64, shape (n_cells,): the mean of the two sides' rates in each cell.
    factors
        For each factor the integer code of its level in each cell, shape (n_cells,). At most 6 factors.

    Raises
    ------
    InputError
        If there is no factor or too many, or a cell with a live share has none in the lab.

    References
    ----------
    Shorrocks 2013, doi:10.1007/s10888-011-9214-z.

    Examples
    --------
    >>> a, b = [0, 0, 1, 1], [0, 1, 0, 1]
    >>> shapley_mix([0.25, 0.25, 0.25, 0.25], [0.4, 0.4, 0.1, 0.1], [1.0, 0.5, 0.6, 0.1], [a, b]).round(3).tolist()
    [0.12, 0.0]
    """
    w_lab, w_live, r = (
        as_values(lab_share, "lab shares"),
        as_values(live_share, "live shares"),
        as_values(rate, "rates"),
    )
    codes = [np.asarray(factor, dtype=np.int64) for factor in factors]
    if any(array.shape != w_lab.shape for array in (w_live, r, *codes)):
        raise InputError("shares, rates and levels of factors must have one entry for each cell")
    if (w_lab < 0).any() or (w_live < 0).any() or ((w_lab <= 0) & (w_live > 0)).any():
        raise InputError("a cell has a live share and none in the lab; cut both sides to their common cells first")
    return shapley_shares(w_lab, w_live, r, codes)


def shapley_shares(w_lab: Sums, w_live: Sums, rate: Sums, factors: Sequence[IntArray]) -> Sums:
    """Return contributions for many tables at once: arrays of shape (..., n_cells) in, (..., n_factors) out."""
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
