"""How many human labels to buy, given how well a judge goes with people on those that are there."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import as_values, check_count, check_level
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.raters.correction import FEWEST_LABELS

# What t takes where the formula has the normal curve (Guenther 1981), and the judge's weight, which labels have to tell as well.
_SCATTER, _FITTED = 2, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsNeeded:
    """Labels for a wanted standard error of a mean that a judge helps to estimate.

    Attributes
    ----------
    n
        Labels with the judge's help; None where even a label of every item is not enough.
    low, high
        The same at the ends of the interval of the judge's correlation with people; `high` is None where it is out of reach.
    alone
        Labels without a judge; more than `n_items` where the items are too few.
    correlation, correlation_low, correlation_high
        Of the judge with people, over the labelled items.
    """

    n: int | None
    low: int | None
    high: int | None
    alone: int
    n_items: int
    correlation: float
    correlation_low: float
    correlation_high: float


def labels_needed(
    judged: ArrayLike,
    labels: ArrayLike,
    std_error: float,
    *,
    n_items: int,
    inflation: float = 1.0,
    conf_level: float = 0.95,
) -> LabelsNeeded:
    """Return how many of `n_items` judged items need a label for a prediction-powered mean of this standard error.

    Parameters
    ----------
    judged, labels
        float64, shape (n,): what the judge and people say of the items that are labelled now; differences of two models where
        the mean is a difference.
    std_error
        The standard error wanted: for an interval of half width h at 95% it is h/1.96; to detect a difference m with 80% power
        m/(1.96 + 0.84).
    n_items
        Items that the judge has rated, those to be labelled among them.
    inflation
        How much larger clusters make the variance.

    Notes
    -----
    With the judge weighted best, n labels drawn at random of T items give the variance
    s^2 ((1 - r^2)/n + r^2/T), where s is the standard deviation of the labels and r their correlation with the judge; labels
    alone s^2/n. To that come 2 labels for t in place of the normal curve, and 2 more for the judge's fitted weight. r has
    Fisher's interval. Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453.

    Raises
    ------
    CannotAnswerError
        With fewer than 20 labels, or where labels do not differ.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = rng.normal(size=100)
    >>> found = labels_needed(people + 0.6 * rng.normal(size=100), people, 0.1, n_items=1000)
    >>> found.n, found.low, found.high, found.alone, round(found.correlation, 2)
    (30, 23, 39, 76, 0.81)
    """
    f, y = as_values(judged, "scores"), as_values(labels, "labels")
    n_items, level = check_count(n_items, "n_items", least=1), check_level(conf_level)
    if f.shape != y.shape:
        raise InputError(f"{y.size} labels and {f.size} scores of labelled items; give one of each")
    if y.size < FEWEST_LABELS:
        raise CannotAnswerError(f"{y.size} labels are too few to plan by; at least {FEWEST_LABELS} are needed")
    if not std_error > 0 or not inflation > 0:
        raise InputError("the standard error wanted must be above 0")
    variance = float(y.var(ddof=1)) * inflation
    if variance <= 0:
        raise CannotAnswerError("all labels are the same, so nothing tells how many more are needed")
    r = _correlation(f, y)
    reach = normal_quantile(level) / math.sqrt(y.size - 3)
    z = math.atanh(min(max(r, -0.9999), 0.9999))
    low, high = math.tanh(z - reach), math.tanh(z + reach)

    def needed(correlation: float) -> int | None:
        # A judge that goes against people has the weight 0: then labels stand alone.
        square = max(correlation, 0.0) ** 2
        room = std_error**2 / variance - square / n_items
        n = (1.0 - square) / room if room > 0 else math.inf
        n = max(math.ceil(n - 1e-9) + _FITTED, FEWEST_LABELS) if n <= n_items else math.inf
        return int(n) if n <= n_items else None

    return LabelsNeeded(
        n=needed(r),
        low=needed(high),
        high=needed(low),
        alone=max(math.ceil(variance / std_error**2 - 1e-9) + _SCATTER, FEWEST_LABELS),
        n_items=n_items,
        correlation=r,
        correlation_low=low,
        correlation_high=high,
    )


def std_error_for_power(difference: float, *, conf_level: float = 0.95, power: float = 0.8) -> float:
    """Return the standard error with which a true difference is found with this power.

    Examples
    --------
    >>> round(std_error_for_power(0.05), 4)
    0.0178
    """
    # The quantile of a one-sided power p is that of a central interval of level 2p - 1.
    return abs(difference) / (normal_quantile(conf_level) + normal_quantile(2 * power - 1))


def _correlation(f: "np.ndarray", y: "np.ndarray") -> float:
    if f.std() <= 0:
        return 0.0
    return float(np.corrcoef(f, y)[0, 1])
