"""Attenuation: the correlation of true scores, freed of the noise of both sides, and what noise alone would leave of it.

References: Spearman 1904, American Journal of Psychology 15:72; Louis 1984, JASA 79:393, and Ghosh 1992, JASA 87:533
(constrained empirical Bayes), here for two scores at once.
"""

import math
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.agreement.correlation import NAMES, CoefficientName, correlate, mean_ranks, pearson
from evalstats.stats.checks import FloatArray, IntArray, check_level, is_constant
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance

FEW_MODELS = 10  # below it, resampling models says nothing about other models
_TINY = 1e-300
TINY_RELIABILITY = 0.1  # below it the noise is more than nine tenths of the spread, and a ratio to it says nothing


@record
class ReliabilityRatio:
    """How much of the variance between models on one side is not noise.

    `value` is 1 - noise/spread; below 0 where the scores vary less than noise alone would make them. `noise` is the variance of
    the error of one score about the mean of all, `spread` that of the scores over the models (divisor n - 1).
    """

    value: float
    noise: float
    spread: float


def reliability(scores: FloatArray, covariance: FloatArray) -> ReliabilityRatio:
    """Return the share of the variance between models that is not noise; what all models share drops out.

    Errors are taken as unrelated to the true scores. With published variances alone (no covariances) the noise is too large
    wherever the models answered the same items, and the reliability a lower bound.

    Examples
    --------
    >>> round(reliability(np.array([1.0, 2.0, 3.0]), 0.2 * np.eye(3)).value, 12)
    0.8
    """
    if scores.size < 3 or is_constant(scores):
        raise CannotAnswerError("reliability needs 3 models or more whose scores are not all equal")
    spread, noise = float(scores.var(ddof=1)), centred_variance(covariance)
    return ReliabilityRatio(value=1.0 - noise / spread, noise=noise, spread=spread)


def shared_noise(cross: FloatArray | None) -> float:
    """Return the covariance of the lab error and the live error of one model, about the means of all; 0 for None."""
    if cross is None:
        return 0.0
    n = cross.shape[0]
    return float((np.trace(cross) - cross.sum() / n) / (n - 1))


@record
class TrueCorrelation:
    """Pearson's correlation freed of noise.

    `ceiling` is what `observed` would be expected to be if the true scores agreed perfectly: the root of the product of the
    reliabilities, lifted where the sides share noise; None with `reason` where a reliability is not above 0. `disattenuated`, of
    the true scores, may exceed 1; None with `reason` where a reliability is below 0.1.
    """

    observed: float
    ceiling: float | None
    disattenuated: float | None
    lab: ReliabilityRatio
    live: ReliabilityRatio
    reason: str | None = None


def true_correlation(scores: LabLiveScores) -> TrueCorrelation:
    """Correlate the true scores of both sides: the covariance less shared noise, over the spreads less noise.

    Raises CannotAnswerError if the errors of a side are unknown, there are fewer than 3 models, or a side is constant.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.array([1.0, 2.0, 3.0]),
    ...     live=np.array([1.0, 3.0, 2.0]),
    ...     lab_covariance=0.2 * np.eye(3),
    ...     live_covariance=0.2 * np.eye(3),
    ... )
    >>> r = true_correlation(s)
    >>> round(r.observed, 3), round(r.ceiling, 3), round(r.disattenuated, 3)
    (0.5, 0.8, 0.625)
    """
    if scores.lab_covariance is None or scores.live_covariance is None:
        raise CannotAnswerError("errors of both sides are needed to free their correlation of noise")
    lab = reliability(scores.lab, scores.lab_covariance)
    live = reliability(scores.live, scores.live_covariance)
    observed = float(pearson(scores.lab, scores.live))
    lift = shared_noise(scores.cross) / math.sqrt(lab.spread * live.spread)
    worst = min(lab.value, live.value)
    weak = [
        f"{name} {side.value:.2f}" for name, side in (("lab", lab), ("live", live)) if side.value < TINY_RELIABILITY
    ]
    return TrueCorrelation(
        observed=observed,
        ceiling=math.sqrt(lab.value * live.value) + lift if worst > 0 else None,
        disattenuated=(observed - lift) / math.sqrt(lab.value * live.value) if worst >= TINY_RELIABILITY else None,
        lab=lab,
        live=live,
        reason=f"reliability of {' and '.join(weak)}, below {TINY_RELIABILITY}: the models differ hardly more than noise makes "
        "them differ, and a correlation of true scores would be a ratio to nearly nothing"
        if weak
        else None,
    )


NoiseSource: TypeAlias = Literal["items", "votes", "items and votes"]

_NEARLY_ONE = 1.0 - 1e-9


def without_noise(scores: LabLiveScores, source: NoiseSource) -> tuple[FloatArray, FloatArray]:
    """Return lab and live scores whose variances and covariance are the observed ones less the noise of one source.

    For "items" the lab's noise is taken out and the live scores stay; for "votes" the other way round. Single values are no
    estimates of single true scores: only their spread and their covariance are right. Where noise exceeds spread the side is
    flat.
    """
    scale, matching = _matched(scores, source, None)
    centre = np.array([scores.lab.mean(), scores.live.mean()])
    turned = (np.column_stack([scores.lab, scores.live]) - centre) @ (matching * scale[:, None] / scale).T + centre
    # A side that is held stays exactly as it is, not as a product with one.
    return (
        scores.lab if source == "votes" else turned[:, 0],
        scores.live if source == "items" else turned[:, 1],
    )


def map_to_correlation(scores: LabLiveScores, rho: float) -> FloatArray:
    """Return the linear map, shape (2, 2), from the scores to scores without noise that have the correlation `rho`."""
    scale, matching = _matched(scores, "items and votes", rho)
    return matching * scale[:, None] / scale


def own_variances(covariance: FloatArray) -> FloatArray:
    """Return each model's noise variance about what all models share; their mean is `centred_variance`."""
    n = covariance.shape[0]
    diagonal = np.diag(covariance)
    others = (covariance.sum(axis=1) - diagonal) / (n - 1)
    own = np.maximum(diagonal - 2.0 * others + others.mean(), 0.0)
    mean = float(own.mean())
    return own * (centred_variance(covariance) / mean) if mean > 0 else own


def symmetric_root(table: FloatArray) -> FloatArray:
    """Return the symmetric root of a covariance; rounding that makes a variance negative is put back to 0."""
    values, vectors = np.linalg.eigh((table + table.T) / 2.0)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def known(covariance: FloatArray | None, side: str) -> FloatArray:
    """Return the covariance of a side, or raise CannotAnswerError where it is not known."""
    if covariance is None:
        raise CannotAnswerError(f"the errors of the {side} scores are unknown; give their standard errors")
    return covariance


def _matched(scores: LabLiveScores, source: NoiseSource, rho: float | None) -> tuple[FloatArray, FloatArray]:
    """Spread of both sides, and the map of standardised scores that takes the noise out."""
    scale = np.array([scores.lab.std(ddof=1), scores.live.std(ddof=1)])
    if not (scale > 0).all():
        raise CannotAnswerError("all scores of a side are equal; noise cannot be told from spread")
    centre = np.array([scores.lab.mean(), scores.live.mean()])
    standard = (np.column_stack([scores.lab, scores.live]) - centre) / scale
    seen = standard.T @ standard / (scores.n_models - 1)
    # The noise of one model on both sides, with the side that is held free of it.
    lab = 0.0 if source == "votes" else centred_variance(known(scores.lab_covariance, "lab"))
    live = 0.0 if source == "items" else centred_variance(known(scores.live_covariance, "live"))
    both = shared_noise(scores.cross) if source == "items and votes" else 0.0
    less = seen - np.array([[lab, both], [both, live]]) / np.outer(scale, scale)
    # Brought back to moments that can be: no negative variance, no correlation beyond one.
    lab, live = max(float(less[0, 0]), 0.0), max(float(less[1, 1]), 0.0)
    most = float(np.sqrt(lab * live))
    both = float(np.clip(less[0, 1], -most, most))
    true = np.array([[lab, both], [both, live]])
    if rho is not None:
        true[0, 1] = true[1, 0] = rho * np.sqrt(true[0, 0] * true[1, 1])
    return scale, _matching(seen, true, source)


def _matching(seen: FloatArray, true: FloatArray, source: NoiseSource) -> FloatArray:
    """Return the linear map that gives scores with moments `seen` the moments `true`.

    For one source the side that is held does not move: the other keeps its regression on it and shrinks about that. For
    both, the map is the one that moves the scores least.
    """
    r = float(np.clip(seen[0, 1], -_NEARLY_ONE, _NEARLY_ONE))
    seen = np.array([[1.0, r], [r, 1.0]])
    if source == "items and votes":
        root = symmetric_root(seen)
        back = np.linalg.inv(root)
        return back @ symmetric_root(root @ true @ root) @ back
    if source == "votes":
        slope, left = true[0, 1], max(float(true[1, 1] - true[0, 1] ** 2), 0.0)
        keep = np.sqrt(left / (1.0 - r * r))
        return np.array([[1.0, 0.0], [slope - keep * r, keep]])
    flipped = _matching(seen, true[::-1, ::-1], "votes")
    return flipped[::-1, ::-1]


@record
class ScoreDraws:
    """Scores drawn anew, shape (n_resamples, n_models), or (1, n_models) for a side that is held as it is."""

    lab: FloatArray
    live: FloatArray


def draw_noise(
    scores: LabLiveScores,
    source: NoiseSource,
    *,
    n_resamples: int,
    rng: np.random.Generator,
    lab_df: float | None = None,
    live_df: float | None = None,
) -> ScoreDraws:
    """Draw the scores that the same models would have with other items, other votes, or both.

    Centred on `without_noise`, normal with the covariances given, or t where few clusters give the errors `lab_df` or
    `live_df`; `cross` is used for both sources together.
    """
    lab, live = without_noise(scores, source)
    n = scores.n_models
    normal = rng.standard_normal((n_resamples, 2 * n))
    if source == "items and votes" and scores.cross is not None:
        lab_noise, live_noise = known(scores.lab_covariance, "lab"), known(scores.live_covariance, "live")
        joint = np.block([[lab_noise, scores.cross], [scores.cross.T, live_noise]])
        # Both sides in units of their own noise, or the root would depend on the units they came in.
        unit = np.repeat(
            np.sqrt([max(float(np.diag(joint)[side].mean()), _TINY) for side in (slice(n), slice(n, None))]), n
        )
        errors = normal @ symmetric_root(joint / np.outer(unit, unit)) * unit
        lab_error, live_error = errors[:, :n], errors[:, n:]
    else:
        lab_error = None if source == "votes" else normal[:, :n] @ symmetric_root(known(scores.lab_covariance, "lab"))
        live_error = (
            None if source == "items" else normal[:, n:] @ symmetric_root(known(scores.live_covariance, "live"))
        )
    return ScoreDraws(
        lab=lab[None] if lab_error is None else lab + _heavier(lab_error, lab_df, rng),
        live=live[None] if live_error is None else live + _heavier(live_error, live_df, rng),
    )


def own_noise(scores: LabLiveScores, places: IntArray, rng: np.random.Generator) -> ScoreDraws:
    """Draw noise for the models at `places`, each on its own, about what all models share."""
    lab_sd = np.sqrt(own_variances(known(scores.lab_covariance, "lab")))
    live_sd = np.sqrt(own_variances(known(scores.live_covariance, "live")))
    product = float(np.sqrt((lab_sd**2).mean() * (live_sd**2).mean()))
    together = float(np.clip(shared_noise(scores.cross) / product if product > 0 else 0.0, -1.0, 1.0))
    first, second = rng.standard_normal(places.shape), rng.standard_normal(places.shape)
    return ScoreDraws(
        lab=lab_sd[places] * first,
        live=live_sd[places] * (together * first + np.sqrt(1.0 - together**2) * second),
    )


def _heavier(errors: FloatArray, df: float | None, rng: np.random.Generator) -> FloatArray:
    return errors if df is None else errors * np.sqrt(df / rng.chisquare(df, (len(errors), 1)))


_Ends: TypeAlias = "tuple[float, float] | str"
_TOO_HIGH = (
    "the scores agree more than even perfect agreement would explain: the noise is overstated, or errors are shared"
)
_TOO_LOW = "the scores disagree more than even perfect disagreement would explain: the noise is overstated, or errors are shared"
_STEPS = 41


@record
class TrueAgreement:
    """Pearson's correlation of true scores, with intervals; `estimate` may exceed 1.

    `low` and `high` are for models like these (models, items and votes are all drawn), None below 10 models; `these_low` and
    `these_high` for these very models. Ends are correlations that can be: an interval that reaches 1 does not exclude perfect
    agreement, and the estimate may lie above it. `reason` says why there is no estimate (a reliability is too low),
    `interval_reason` why there is no interval of one kind.
    """

    estimate: float | None
    low: float | None = None
    high: float | None = None
    these_low: float | None = None
    these_high: float | None = None
    reason: str | None = None
    interval_reason: str | None = None


def true_agreement(
    scores: LabLiveScores, *, conf_level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> TrueAgreement:
    """Free Pearson's correlation of noise, with intervals by bootstrap of the whole ratio.

    The estimate is not clipped at 1: one above it says that the noise is given too large, that errors are shared, or that
    chance lifted the sample. Raises as `true_correlation`.

    Notes
    -----
    The interval holds every correlation of true scores under which an estimate like this one is no surprise. For each one
    tried, true scores are made with that correlation and the spread that the sides have beyond noise, models (for "like
    these") and noise are drawn, and the whole ratio is computed anew. The spread of the ratio shrinks towards 1, which
    makes percentiles of a bootstrap about the estimate far too short there: they covered .74 to .85 in place of .95.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.arange(12.0),
    ...     live=np.arange(12.0) % 7,
    ...     lab_covariance=0.1 * np.eye(12),
    ...     live_covariance=0.1 * np.eye(12),
    ... )
    >>> r = true_agreement(s, n_resamples=499)
    >>> r.low < r.these_low < r.estimate < r.these_high < r.high
    True
    """
    level, truth = check_level(conf_level), true_correlation(scores)
    if truth.disattenuated is None:
        return TrueAgreement(estimate=None, reason=truth.reason)
    streams = np.random.SeedSequence(seed).spawn(2)
    these = _ends(scores, truth.disattenuated, level, _these(scores, n_resamples, np.random.default_rng(streams[0])))
    wider: _Ends = f"fewer than {FEW_MODELS} models: the interval is for these alone"
    if scores.n_models >= FEW_MODELS:
        wider = _ends(
            scores, truth.disattenuated, level, _others(scores, n_resamples, np.random.default_rng(streams[1]))
        )
    return TrueAgreement(
        estimate=truth.disattenuated,
        low=None if isinstance(wider, str) else wider[0],
        high=None if isinstance(wider, str) else wider[1],
        these_low=None if isinstance(these, str) else these[0],
        these_high=None if isinstance(these, str) else these[1],
        interval_reason=these if isinstance(these, str) else wider if isinstance(wider, str) else None,
    )


@record
class _Draws:
    """What every draw adds to the moments of made-up true scores, whatever their correlation.

    `moments`, shape (n_resamples, 4, 4), are of lab score, live score, lab noise and live noise over the models drawn.
    """

    moments: FloatArray
    lab_noise: FloatArray
    live_noise: FloatArray


def _these(scores: LabLiveScores, n_resamples: int, rng: np.random.Generator) -> _Draws:
    draws = draw_noise(scores, "items and votes", n_resamples=n_resamples, rng=rng)
    lab, live = without_noise(scores, "items and votes")
    return _Draws(
        moments=_moments(scores.lab[None], scores.live[None], draws.lab - lab, draws.live - live),
        lab_noise=own_variances(known(scores.lab_covariance, "lab")).mean(keepdims=True),
        live_noise=own_variances(known(scores.live_covariance, "live")).mean(keepdims=True),
    )


def _others(scores: LabLiveScores, n_resamples: int, rng: np.random.Generator) -> _Draws:
    places = rng.integers(0, scores.n_models, (n_resamples, scores.n_models))
    lab, live = (
        own_variances(known(scores.lab_covariance, "lab")),
        own_variances(known(scores.live_covariance, "live")),
    )
    noise = own_noise(scores, places, rng)
    return _Draws(
        moments=_moments(scores.lab[places], scores.live[places], noise.lab, noise.live),
        lab_noise=lab[places].mean(axis=1),
        live_noise=live[places].mean(axis=1),
    )


def _moments(*parts: FloatArray) -> FloatArray:
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    centred = [np.broadcast_to(part - part.mean(axis=-1, keepdims=True), shape) for part in parts]
    found = np.empty((shape[0], 4, 4))
    for i in range(4):
        for j in range(i, 4):
            found[:, i, j] = found[:, j, i] = np.einsum("dm,dm->d", centred[i], centred[j]) / (shape[1] - 1)
    return found


def _ends(scores: LabLiveScores, estimate: float, level: float, draws: _Draws) -> _Ends:
    """Invert the test of every correlation on a grid that is dense near -1 and 1."""
    tried = np.sin(np.linspace(-np.pi / 2.0, np.pi / 2.0, _STEPS))
    tails = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    laws = np.array([np.quantile(_ratios(scores, float(rho), draws), tails, method="lower") for rho in tried])
    if estimate > laws[-1, 1]:
        return _TOO_HIGH
    if estimate < laws[0, 0]:
        return _TOO_LOW
    return _crossing(tried, laws[:, 1], estimate, -1.0), _crossing(tried, laws[:, 0], estimate, 1.0)


def _crossing(tried: FloatArray, quantile: FloatArray, estimate: float, beyond: float) -> float:
    """Return the correlation at which the rising quantile meets the estimate; `beyond` where it never does."""
    rising = np.maximum.accumulate(quantile)
    if not rising[0] < estimate < rising[-1]:
        return beyond
    after = int(np.searchsorted(rising, estimate))
    low, high = float(rising[after - 1]), float(rising[after])
    share = (estimate - low) / (high - low) if np.isfinite(low) and np.isfinite(high) else 0.5
    return float(tried[after - 1] + share * (tried[after] - tried[after - 1]))


def _ratios(scores: LabLiveScores, rho: float, draws: _Draws) -> FloatArray:
    """Disattenuated correlations of draws; beyond all bounds, with the sign of the covariance, where noise exceeds spread."""
    weights = np.hstack([map_to_correlation(scores, rho), np.eye(2)])
    seen = np.einsum("ai,dij,bj->dab", weights, draws.moments, weights, optimize=True)
    product = seen[:, 0, 1] - shared_noise(scores.cross)
    left, right = seen[:, 0, 0] - draws.lab_noise, seen[:, 1, 1] - draws.live_noise
    size = np.sqrt(np.maximum(left, 0.0) * np.maximum(right, 0.0))
    ratios = np.where(product < 0, -np.inf, np.inf)
    np.divide(product, size, out=ratios, where=size > 0)
    return ratios


@record
class Ceiling:
    """What a coefficient comes out as if the true scores agree perfectly, and where that of one sample then lies."""

    expected: float
    low: float
    high: float


def ceilings(
    scores: LabLiveScores, *, conf_level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> dict[CoefficientName, Ceiling]:
    """Return the ceilings of all three coefficients; empty where a reliability is not above 0.

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
    level, truth = check_level(conf_level), true_correlation(scores)
    if truth.ceiling is None:
        return {}
    noise_free = _agreeing(scores, truth.lab.spread - truth.lab.noise, truth.live.spread - truth.live.noise)
    # Noise alone: draws about the data, less their centre.
    draws = draw_noise(scores, "items and votes", n_resamples=n_resamples, rng=np.random.default_rng(seed))
    centre = without_noise(scores, "items and votes")
    lab, live = draws.lab - centre[0] + noise_free[0], draws.live - centre[1] + noise_free[1]
    found: dict[CoefficientName, Ceiling] = {}
    for name in NAMES:
        values = correlate(name, lab, live)
        low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        expected = truth.ceiling if name == "pearson" else float(values.mean())
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
