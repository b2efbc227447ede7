"""How far from a date items count: the bandwidth of Imbens & Kalyanaraman, widened where it holds too few items."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, as_values
from evalstats.stats.contamination.date_break import MIN_DATES, MIN_SIDE

_TRIANGULAR = 3.4375  # constant of the optimal bandwidth for the triangular kernel at a boundary
_CURVATURE = 3.56  # the same for the uniform kernel in the pilot estimate of a second derivative


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """How far from the break items count, in the unit of the dates, and why so far."""

    width: float
    reason: str


def break_bandwidth(days: ArrayLike, scores: ArrayLike) -> Bandwidth:
    """Choose the bandwidth by the rule of Imbens & Kalyanaraman, widened where it holds too few items.

    Parameters
    ----------
    days
        float64, shape (n_items,): date of every item less that of the break.
    scores
        float64, shape (n_items,): what may break, the suspect's scores less the mean of the references.

    Raises
    ------
    CannotAnswerError
        If either side has fewer than 20 items on fewer than 5 different dates in all.

    Notes
    -----
    h = C [(s2- + s2+) / (f ((m''+ - m''-)^2 + r- + r+))]^(1/5) n^(-1/5), C = 3.4375 for the triangular kernel: f the density
    of items at the break, s2 the variance of scores on its sides, m'' pilot estimates of curvature, r what guards against
    curvature that is small by chance.

    References
    ----------
    Imbens & Kalyanaraman 2012, doi:10.1093/restud/rdr043.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days = rng.uniform(-365, 365, 800)
    >>> 60 < break_bandwidth(days, rng.random(800)).width < 730
    True
    """
    x, y = as_values(days, "dates"), as_values(scores, "scores")
    if x.shape != y.shape:
        raise InputError(f"{x.size} dates and {y.size} scores; give one of each for every item")
    least, most = _least_width(x), float(np.abs(x).max()) * (1 + 1e-9)
    width = _optimal(x, y)
    rule = "the rule of Imbens & Kalyanaraman"
    if width is None:
        return Bandwidth(width=most, reason=f"{rule} finds neither noise nor curvature, so every item counts")
    if width < least:
        return Bandwidth(
            width=least, reason=f"{rule} gives {width:.0f} days, too few items; widened until both sides have enough"
        )
    if width > most:
        return Bandwidth(width=most, reason=f"{rule} gives {width:.0f} days, more than there are; every item counts")
    return Bandwidth(width=width, reason=rule)


def _least_width(x: FloatArray) -> float:
    """Return the least bandwidth at which both sides have enough items and dates."""
    needed = 0.0
    for side, name in ((-x[x <= 0], "before"), (x[x > 0], "after")):
        different = np.unique(side)
        if side.size < MIN_SIDE or different.size < MIN_DATES:
            raise CannotAnswerError(
                f"{side.size} items on {different.size} different dates lie {name} the break; at least {MIN_SIDE} items on "
                f"{MIN_DATES} dates are needed on each side: use a plain split into old and new items"
            )
        needed = max(needed, float(np.sort(side)[MIN_SIDE - 1]), float(different[MIN_DATES - 1]))
    return needed * (1 + 1e-9) + 1e-9


def _optimal(x: FloatArray, y: FloatArray) -> float | None:
    """Return Imbens & Kalyanaraman's bandwidth; None where nothing can be told of noise and curvature."""
    n, left = x.size, x <= 0
    pilot = max(1.84 * float(x.std(ddof=1)) * n**-0.2, _least_width(x))
    near = [(np.abs(x) <= pilot) & side for side in (left, ~left)]
    density = sum(int(each.sum()) for each in near) / (2 * n * pilot)
    noise = [float(y[each].var(ddof=1)) for each in near]
    if sum(noise) <= 0:
        return None
    scale = float(np.abs(x).max())
    cubic = np.column_stack([np.ones(n), ~left, x / scale, (x / scale) ** 2, (x / scale) ** 3])
    third = 6.0 * float(np.linalg.lstsq(cubic, y, rcond=None)[0][4]) / scale**3
    # Where nothing is left of a third derivative, all of a side tells its curvature.
    parts = [s2 / (density * third**2) if third else math.inf for s2 in noise]
    bends = [_bend(x[side], y[side], s2, part) for side, s2, part in zip((left, ~left), noise, parts, strict=True)]
    curved = (bends[1][0] - bends[0][0]) ** 2 + bends[0][1] + bends[1][1]
    if not (curved > 0 and math.isfinite(curved)):
        return None
    return _TRIANGULAR * (sum(noise) / (density * curved)) ** 0.2 * n**-0.2


def _bend(x: FloatArray, y: FloatArray, noise: float, part: float) -> tuple[float, float]:
    """Return the second derivative on one side of the break, and the guard against its noise."""
    far = np.abs(x)
    least = float(np.sort(far)[min(MIN_SIDE, far.size) - 1])
    reach = min(max(least, _CURVATURE * (part / far.size) ** (1 / 7)), float(far.max()))
    kept = far <= reach
    scaled = far[kept] / reach
    square = np.column_stack([np.ones_like(scaled), scaled, scaled**2])
    bend = 2.0 * float(np.linalg.lstsq(square, y[kept], rcond=None)[0][2]) / reach**2
    return bend, 2160.0 * noise / (scaled.size * reach**4)
