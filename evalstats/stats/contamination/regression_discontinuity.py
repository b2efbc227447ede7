"""A break of item scores at a date: local linear regression discontinuity, and how far from the date items count."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, as_values
from evalstats.stats.contamination.item_contrast import ItemContrast, item_contrast

MIN_SIDE = 20
MIN_DATES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DateWindow:
    """The items that count, and the contrast "limit from before less limit from after" on them.

    Attributes
    ----------
    inside
        bool, shape (n_items,): items closer to the break than `width`.
    n_before, n_after, dates_before, dates_after
        Items and different dates on each side of it.
    """

    width: float
    order: int
    inside: npt.NDArray[np.bool_]
    contrast: ItemContrast
    n_before: int
    n_after: int
    dates_before: int
    dates_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DateDensity:
    """How many items lie close to the break on each side, and whether they are spread as evenly as dates by chance.

    Attributes
    ----------
    n_before, n_after
        Items within half the bandwidth.
    p_value
        Two-sided binomial p of equal chances; small where items were gathered on one side, or chosen by date.
    gap_before, gap_after
        Distance of the nearest item on each side.
    """

    n_before: int
    n_after: int
    p_value: float
    gap_before: float
    gap_after: float


def date_window(days: ArrayLike, width: float, *, order: int = 1, clusters: Sequence[ArrayLike] = ()) -> DateWindow:
    """Prepare the jump at 0 of a local regression, before less after.

    Parameters
    ----------
    days
        float64, shape (n_items,): date of every item less that of the break; 0 is before (the day itself was seen).
    width
        Bandwidth, in the same unit.
    order
        1: straight lines on both sides, the answer. 2: parabolas, which at the same width equal the straight lines with
        their bias taken out (Calonico, Cattaneo & Titiunik 2014), the check of curvature.
    clusters
        Integer codes, one array of shape (n_items,) for each way of clustering.

    Raises
    ------
    CannotAnswerError
        If either side has fewer than 20 items or fewer than 5 different dates within the bandwidth.

    References
    ----------
    Hahn, Todd & van der Klaauw 2001, doi:10.1111/1468-0262.00183; Calonico et al. 2014, doi:10.3982/ECTA11757.

    Examples
    --------
    >>> days = np.arange(-50.0, 50.0)
    >>> found = date_window(days, 40.0)
    >>> scores = 0.01 * days + 0.3 * (days <= 0)
    >>> found.contrast.estimate(scores[found.inside, np.newaxis]).round(6).tolist()
    [0.3]
    """
    x = as_values(days, "dates")
    if not (width > 0 and math.isfinite(width)):
        raise InputError(f"the bandwidth is {width}; give a number above 0, in days")
    if order not in (1, 2):
        raise InputError(f"order is {order}; give 1 (straight lines) or 2 (parabolas)")
    inside = np.abs(x) < width
    near = x[inside]
    before = near <= 0
    counts = (int(before.sum()), int((~before).sum()))
    dates = (len(np.unique(near[before])), len(np.unique(near[~before])))
    _refuse_few(counts, dates, width)
    scaled = near / width
    powers = np.column_stack([scaled**k for k in range(order + 1)])
    design = np.hstack([powers * before[:, np.newaxis], powers * ~before[:, np.newaxis]])
    coefficient = np.zeros(2 * (order + 1))
    coefficient[0], coefficient[order + 1] = 1.0, -1.0
    contrast = item_contrast(
        design,
        coefficient,
        weights=1.0 - np.abs(scaled),
        clusters=[np.asarray(each, dtype=np.int64)[inside] for each in clusters],
    )
    return DateWindow(
        width=float(width),
        order=order,
        inside=inside,
        contrast=contrast,
        n_before=counts[0],
        n_after=counts[1],
        dates_before=dates[0],
        dates_after=dates[1],
    )


def _refuse_few(counts: tuple[int, int], dates: tuple[int, int], width: float) -> None:
    for n, different, side in zip(counts, dates, ("before", "after"), strict=True):
        if n < MIN_SIDE or different < MIN_DATES:
            raise CannotAnswerError(
                f"{n} items on {different} different dates lie {side} the break within {width:.0f} days of it; at least "
                f"{MIN_SIDE} items on {MIN_DATES} dates are needed on each side: use a plain split into old and new items"
            )


def date_density(days: ArrayLike, width: float) -> DateDensity:
    """Count the items close to the break on both sides.

    Examples
    --------
    >>> found = date_density(np.arange(-40.0, 41.0), 40.0)
    >>> found.n_before, found.n_after, found.gap_after
    (21, 20, 1.0)
    """
    x = as_values(days, "dates")
    close = np.abs(x) <= width / 2
    counts: tuple[int, int] = (int((close & (x <= 0)).sum()), int((close & (x > 0)).sum()))
    n, least = sum(counts), min(counts)
    p = 1.0 if n == 0 or 2 * least >= n else min(1.0, 2.0 * float(special.bdtr(least, n, 0.5)))
    before, after = -x[x <= 0], x[x > 0]
    return DateDensity(
        n_before=counts[0],
        n_after=counts[1],
        p_value=p,
        gap_before=float(before.min(initial=math.inf)),
        gap_after=float(after.min(initial=math.inf)),
    )


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
