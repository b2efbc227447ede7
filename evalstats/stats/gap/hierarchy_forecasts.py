"""What one model of lab and live says of single models: true gaps, models left out, models that only the lab has scored."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray
from evalstats.stats.gap.hierarchy_mixture import Mixture
from evalstats.stats.gap.hierarchy_model import Conditional, Contrasts, Parameters, gained
from evalstats.stats.gap.hierarchy_posterior import Posterior, posterior_of

# A normal law of no spread has no distribution function that can be computed; in standard deviations of the scores.
_LEAST_SD = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLab:
    """Lab scores of models without live scores, as differences from the mean of the shared models; standardised.

    Attributes
    ----------
    away
        float64, shape (n_new,): score less the mean of the shared models.
    noise
        float64, shape (n_new,): variance of the error of that difference.
    shared
        float64, shape (n_models - 1, n_new): covariance of that error with the errors of the contrasts of the lab.
    """

    away: FloatArray
    noise: FloatArray
    shared: FloatArray


def new_lab_of(data: Contrasts, lab: FloatArray, covariance: FloatArray, with_lab: FloatArray | None) -> NewLab:
    """Prepare lab scores of new models.

    Parameters
    ----------
    lab
        float64, shape (n_new,), own unit.
    covariance
        float64, shape (n_new, n_new) or, for variances alone, (n_new,).
    with_lab
        float64, shape (n_new, n_models): covariance of their errors with those of the shared models' lab scores; None where
        they are independent.

    Raises
    ------
    InputError
        If shapes do not agree, numbers are not finite, or the variances and covariances are none.
    """
    n_new, n = lab.size, data.n_models
    variance = np.diag(covariance) if covariance.ndim == 2 else covariance
    shared = np.zeros((n_new, n)) if with_lab is None else with_lab
    if lab.shape != (n_new,) or variance.shape != (n_new,) or shared.shape != (n_new, n):
        raise InputError(
            f"new_lab has shape {lab.shape}, its covariance {covariance.shape}, its cross-covariance {shared.shape}; "
            f"they must be (k,), (k, k) and (k, {n})"
        )
    if not (
        np.isfinite(lab).all() and np.isfinite(variance).all() and np.isfinite(shared).all() and (variance >= 0).all()
    ):
        raise InputError("a lab score of a new model, or its error, is NaN, infinite or negative")
    square = data.unit[0] ** 2
    noise = variance / square - 2 * shared.mean(axis=1) / square + float(data.lab_mean_noise.mean())
    off = data.basis.T @ (shared.T / square - data.lab_mean_noise[:, None])
    explained = np.divide(
        np.square(off), data.lab_noise[:, None], out=np.zeros_like(off), where=data.lab_noise[:, None] > 1e-9
    )
    if (noise - explained.sum(axis=0) < -1e-6 * (1 + np.abs(noise))).any():
        raise InputError(
            "the errors of a new model's lab score have no covariance of this kind with those of the shared models: the "
            "variance of a difference would be negative"
        )
    return NewLab(away=(lab - data.centre[0]) / data.unit[0], noise=np.maximum(noise, 0.0), shared=off)


def typical_new(data: Contrasts) -> NewLab:
    """Return a new model in the middle of the others, with an error like theirs."""
    n = data.n_models
    own = float(np.mean(data.lab_noise))
    return NewLab(away=np.zeros(1), noise=np.array([own * (1 + 1 / n)]), shared=np.zeros((n - 1, 1)))


def true_gaps(posterior: Posterior) -> Mixture:
    """Return the posterior of each shared model's true gap, standardised."""
    square = np.square(posterior.at.tau)[:, None]
    variance = square - np.square(square) * posterior.given.precision
    return Mixture(
        weight=posterior.lattice.weights(),
        mean=square * posterior.given.pull,
        sd=np.maximum(np.sqrt(np.maximum(variance, 0.0)), _LEAST_SD),
    )


def left_out_lives(posterior: Posterior) -> tuple[Mixture, int]:
    """Predict each shared model's live score from all other scores, its own error included; and how often that took a refit.

    The posterior without a live score is the posterior with it, divided by that score's density given all others. The same
    lattice serves as long as it reaches far enough; where it does not, a new one is laid.
    """
    data = posterior.data
    live = data.basis @ data.live

    def ratio(_: Parameters, given: Conditional) -> FloatArray:
        return 0.5 * np.square(given.pull) / given.precision - 0.5 * np.log(given.precision)

    def law(_: Parameters, given: Conditional) -> tuple[FloatArray, FloatArray]:
        return live - given.pull / given.precision, 1 / np.sqrt(given.precision)

    return _reweighted(posterior, ratio, law)


def new_lives(posterior: Posterior, new: NewLab) -> tuple[Mixture, int]:
    """Predict true live scores of models that only the lab has scored; standardised, from the mean of the shared models."""
    data = posterior.data
    more = 1 + 1 / data.n_models

    def lab_law(at: Parameters, given: Conditional) -> tuple[FloatArray, FloatArray]:
        expected, known = gained(data, at, given, new.shared)
        return expected, np.square(at.sigma)[:, None] * more + np.maximum(new.noise - known, 0.0) + 1e-12

    def ratio(at: Parameters, given: Conditional) -> FloatArray:
        expected, variance = lab_law(at, given)
        return -0.5 * np.log(variance) - 0.5 * np.square(new.away - expected) / variance

    def law(at: Parameters, given: Conditional) -> tuple[FloatArray, FloatArray]:
        expected, variance = lab_law(at, given)
        shared = (at.slope * np.square(at.sigma) * more)[:, None]
        spread = (np.square(at.slope * at.sigma) + np.square(at.tau))[:, None] * more + data.live_mean_noise
        rest = np.maximum(spread - np.square(shared) / variance, 0.0)
        return shared / variance * (new.away - expected), np.maximum(np.sqrt(rest), _LEAST_SD)

    return _reweighted(posterior, ratio, law)


Law = Callable[[Parameters, Conditional], tuple[FloatArray, FloatArray]]
Ratio = Callable[[Parameters, Conditional], FloatArray]


def _reweighted(posterior: Posterior, ratio: Ratio, law: Law) -> tuple[Mixture, int]:
    """Return the law of each column under the posterior times exp(ratio), on a new lattice where the old is too small."""
    weight = posterior.lattice.weights(ratio(posterior.at, posterior.given))
    mean, sd = law(posterior.at, posterior.given)
    poor = np.flatnonzero(~posterior.lattice.holds(weight))
    parts = [_column(weight, mean, sd, j) for j in range(weight.shape[1])]
    for j in poor:

        def one(at: Parameters, given: Conditional, column: int = int(j)) -> FloatArray:
            return ratio(at, given)[:, column]

        again = posterior_of(
            posterior.data, posterior.priors, ratio=one, start=posterior.lattice.points[weight[:, j].argmax()]
        )
        parts[j] = _column(again.lattice.weights(), *law(again.at, again.given), int(j))
    longest = max(len(w) for w, _, _ in parts)
    # Parts of no weight make all columns as long as the longest.
    return Mixture(
        weight=np.column_stack([np.pad(w, (0, longest - len(w))) for w, _, _ in parts]),
        mean=np.column_stack([np.pad(m, (0, longest - len(m)), mode="edge") for _, m, _ in parts]),
        sd=np.column_stack([np.pad(s, (0, longest - len(s)), mode="edge") for _, _, s in parts]),
    ), len(poor)


def _column(weight: FloatArray, mean: FloatArray, sd: FloatArray, j: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    return weight[:, min(j, weight.shape[1] - 1)], mean[:, j], sd[:, j]
