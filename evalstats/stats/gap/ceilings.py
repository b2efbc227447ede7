"""What noise leaves of perfect agreement: the value that a coefficient has if the true scores agree perfectly."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.gap.agreement_draws import draw_noise
from evalstats.stats.gap.correlations import NAMES, CoefficientName, correlate, mean_ranks
from evalstats.stats.gap.noise_free import without_noise
from evalstats.stats.gap.reliability import true_correlation
from evalstats.stats.gap.scores import LabLiveScores


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What a coefficient comes out as if the true scores agree perfectly.

    Attributes
    ----------
    expected
        Mean over draws of noise; for Pearson by formula, the root of the product of the reliabilities.
    low, high
        Where the coefficient of one sample then lies, with the probability asked for.
    """

    expected: float
    low: float
    high: float


def ceilings(
    scores: LabLiveScores, *, conf_level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> dict[CoefficientName, Ceiling]:
    """Return the ceilings of all three coefficients; empty where a reliability is not above 0.

    Parameters
    ----------
    scores
        With the covariances of both sides.
    conf_level
        Of the range in which a sample's coefficient lies.

    Notes
    -----
    True scores that agree perfectly are made from the mean of both sides' standardised scores, with the spread that each
    side has beyond its noise; noise is drawn with the covariances given. Agreement below `low` is not noise alone.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.arange(12.0), live=np.arange(12.0), lab_covariance=1.3 * np.eye(12), live_covariance=2.6 * np.eye(12)
    ... )
    >>> round(ceilings(s, n_resamples=199)["pearson"].expected, 12)
    0.848528137424
    """
    level, known = check_level(conf_level), true_correlation(scores)
    if known.ceiling is None:
        return {}
    noise_free = _agreeing(scores, known.lab.spread - known.lab.noise, known.live.spread - known.live.noise)
    lab, live = _with_noise(noise_free, scores, n_resamples, np.random.default_rng(seed))
    found: dict[CoefficientName, Ceiling] = {}
    for name in NAMES:
        values = correlate(name, lab, live)
        low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        expected = known.ceiling if name == "pearson" else float(values.mean())
        found[name] = Ceiling(expected=expected, low=float(low), high=float(high))
    return found


def _agreeing(scores: LabLiveScores, lab_variance: float, live_variance: float) -> tuple[FloatArray, FloatArray]:
    """Make true scores that agree perfectly, in the order and with the spacing of both sides taken together."""
    together = _standard(scores.lab) + _standard(scores.live)
    if together.std() < 1e-6:  # the sides are opposite: there is no common order, and any spacing will do
        together = special.ndtri(mean_ranks(scores.live) / (scores.n_models + 1.0))
    standard = _standard(together)
    return math.sqrt(lab_variance) * standard, math.sqrt(live_variance) * standard


def _standard(values: FloatArray) -> FloatArray:
    return (values - values.mean()) / values.std(ddof=1)


def _with_noise(
    noise_free: tuple[FloatArray, FloatArray], scores: LabLiveScores, n_resamples: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Add noise alone: draws about the data, less their centre."""
    draws = draw_noise(scores, "items and votes", n_resamples=n_resamples, rng=rng)
    lab, live = without_noise(scores, "items and votes")
    return draws.lab - lab + noise_free[0], draws.live - live + noise_free[1]
