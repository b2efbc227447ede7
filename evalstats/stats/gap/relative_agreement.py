"""Is a benchmark's agreement with a reference good? Judged against the agreement of other benchmarks on the same models."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, check_count, check_level
from evalstats.stats.gap.correlations import CoefficientName, correlate


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeAgreement:
    """Agreement of several benchmarks with one reference; arrays have shape (n_benchmarks,).

    Attributes
    ----------
    agreement
        Each benchmark's coefficient with the reference, on the same models.
    z
        How many standard deviations it lies above the mean of all benchmarks.
    difference, low, high
        Agreement less the mean of the *other* benchmarks, with its interval over models: benchmarks share the models, so
        much of what moves one coefficient moves all.
    """

    agreement: FloatArray
    z: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    n_models: int


def relative_agreement(
    benchmarks: ArrayLike,
    reference: ArrayLike,
    *,
    name: CoefficientName = "kendall",
    conf_level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> RelativeAgreement:
    """Compare the agreement of benchmarks with a reference, all on the same models.

    Parameters
    ----------
    benchmarks
        float64, shape (n_models, n_benchmarks), no missing scores: agreement on different models cannot be compared.
    reference
        float64, shape (n_models,): live scores, or an aggregate of several references.
    name
        The coefficient.

    Raises
    ------
    InputError
        If shapes do not fit or a score is missing.
    CannotAnswerError
        If there are fewer than 3 benchmarks or 5 models, or a benchmark is constant.

    References
    ----------
    Perlitz et al. 2024, arXiv 2407.13696: a threshold from the data, in place of a fixed one such as .8.

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> r = relative_agreement(np.column_stack([x, x[[1, 0, 2, 3, 5, 4]], x[::-1]]), x, n_resamples=99)
    >>> r.agreement.round(3).tolist(), r.z.round(3).tolist()
    ([1.0, 0.733, -1.0], [0.696, 0.45, -1.146])
    """
    scores, truth = np.asarray(benchmarks, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    level, n = check_level(conf_level), check_count(n_resamples, "n_resamples", least=99)
    if scores.ndim != 2 or truth.shape != scores.shape[:1]:
        raise InputError(
            f"benchmarks have shape {scores.shape} and the reference {truth.shape}; models must be the rows of both"
        )
    if not (np.isfinite(scores).all() and np.isfinite(truth).all()):
        raise InputError("a score is missing; cut all benchmarks to the models that every one of them has")
    if scores.shape[0] < 5 or scores.shape[1] < 3:
        raise CannotAnswerError(
            f"{scores.shape[0]} models and {scores.shape[1]} benchmarks; at least 5 and 3 are needed"
        )
    agreement = correlate(name, scores.T, truth)
    if np.isnan(agreement).any():
        raise CannotAnswerError("a benchmark or the reference is constant over these models; leave it out")
    places = np.random.default_rng(seed).integers(0, truth.size, (n, truth.size))
    drawn = np.stack([correlate(name, column[places], truth[places]) for column in scores.T])
    apart = _apart(drawn[:, np.isfinite(drawn).all(axis=0)])
    low, high = np.quantile(apart, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=1)
    spread = float(agreement.std(ddof=1))
    if spread == 0:
        raise CannotAnswerError("all benchmarks agree with the reference alike; there is no scale to judge one by")
    return RelativeAgreement(
        agreement=agreement,
        z=(agreement - agreement.mean()) / spread,
        difference=_apart(agreement[:, None])[:, 0],
        low=low,
        high=high,
        n_models=truth.size,
    )


def _apart(values: FloatArray) -> FloatArray:
    """Return each row less the mean of the other rows."""
    n = values.shape[0]
    return (values - values.mean(axis=0)) * n / (n - 1)
