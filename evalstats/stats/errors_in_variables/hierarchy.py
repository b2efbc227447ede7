"""One model of lab and live together: the posterior of the line between true scores and of both spreads, and predictions.

References: Fuller 1987, doi:10.1002/9780470316665 (structural errors in variables with equation error); Gelman 2006,
doi:10.1214/06-BA117A (half-t priors of spreads); Dubrule 1983, doi:10.1007/BF01033232 (leaving one out in closed form).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import helmert

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, check_level, is_constant
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.quadrature import Lattice, Mixture, first_quantiles, last_quantiles, lattice_of
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance
from evalstats.stats.errors_in_variables.true_gaps import LEAST_MODELS
from evalstats.stats.estimate import IntervalEstimate, normal_quantile
from evalstats.stats.one_sample import wilson

_TAU_DF = 4.0
_SIGMA_DF = 4.0


@record
class Priors:
    """Scales of the priors, as multiples of the spread of the data.

    `slope` is the standard deviation of the normal prior of the slope of standardised scores (each side divided by the standard
    deviation of its estimates). Errors in the lab push that slope to at most 1/sqrt(reliability), so 2 holds any lab with a
    reliability of a quarter or more within one standard deviation. `tau` and `sigma` scale half-t priors (4 degrees of freedom)
    of the spread of true gaps and of true lab scores, in standard deviations of the live and of the lab estimates.
    """

    slope: float = 2.0
    tau: float = 1.0
    sigma: float = 1.0

    def log_density(self, slope: FloatArray, sigma: FloatArray, tau: FloatArray) -> FloatArray:
        """Return the log density but for a constant, at parameters of standardised scores."""
        return (
            -0.5 * np.square(slope / self.slope)
            - (_SIGMA_DF + 1) / 2 * np.log1p(np.square(sigma / self.sigma) / _SIGMA_DF)
            - (_TAU_DF + 1) / 2 * np.log1p(np.square(tau / self.tau) / _TAU_DF)
        )

    def words(self) -> str:
        """Say what the priors are."""
        return (
            f"slope of standardised scores: normal, mean 0, standard deviation {self.slope:g}; "
            f"spread of true gaps: half-t with {_TAU_DF:g} degrees of freedom and scale {self.tau:g} x the standard deviation of "
            f"the live scores; spread of true lab scores: the same with {self.sigma:g} x that of the lab scores; "
            "mean and intercept: flat"
        )


ALTERNATIVES: tuple[tuple[str, Priors], ...] = (
    ("half the scale of the prior on the spread of gaps", Priors(tau=0.5)),
    ("twice that scale", Priors(tau=2.0)),
    ("a prior on the slope ten times as wide, so almost flat", Priors(slope=20.0)),
)


# Keeps a variance of exactly 0 from making a matrix singular; in units of the variance of the scores.
_CORNER = 1e200  # larger than any sum of squares; nothing but itself hangs on it
_JITTER = 1e-11
_NEGATIVE_ROUNDING = 1e-8


@record
class Parameters:
    """Points at which laws are evaluated: slope, spread of true lab scores, spread of true gaps; shape (n_points,) each."""

    slope: FloatArray
    sigma: FloatArray
    tau: FloatArray


@record
class ScoreContrasts:
    """Differences between models on both sides, standardised, in a basis in which the errors of the lab are uncorrelated.

    `lab`, `live`, `lab_noise` (variances) and both covariances run over n_models - 1 contrasts; `cross` is that of live errors
    (rows) with lab errors. `basis` holds the coordinates of each model, `centre` and `unit` the means and standard deviations
    that were taken off. `lab_mean_noise` is the covariance of each lab error with their mean, `live_mean_noise` the variance of
    the mean of live errors that are each model's own.
    """

    lab: FloatArray
    live: FloatArray
    lab_noise: FloatArray
    live_noise: FloatArray
    cross: FloatArray | None
    basis: FloatArray
    centre: tuple[float, float]
    unit: tuple[float, float]
    lab_mean_noise: FloatArray
    live_mean_noise: float

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return self.basis.shape[0]


@record
class Conditional:
    """What the scores say at each point of the parameters; arrays start with n_points.

    With Q the inverse covariance of all scores, cleared of both means: `pull` is the element of Q y for each model's live score
    and `precision` its diagonal, so that a live score less its prediction from all other scores is pull / precision, with
    variance 1 / precision (Dubrule). `lab_pull` are the elements of Q y for the lab, `inverse` the inverse covariance of live
    given lab, both in the basis; `gain` is the regression of live errors and scores on lab (diagonal, or with one more axis).
    """

    pull: FloatArray
    precision: FloatArray
    lab_pull: FloatArray
    inverse: FloatArray
    gain: FloatArray


def contrasts_of(scores: LabLiveScores) -> ScoreContrasts:
    """Take the differences between models, standardise them and turn them into the basis of the lab's errors.

    Raises InputError where the covariances together are none.
    """
    lab_table, live_table = scores.lab_covariance, scores.live_covariance
    if lab_table is None or live_table is None:
        raise InputError("the errors of both sides are needed; a covariance is None")
    n = scores.n_models
    unit = float(scores.lab.std(ddof=1)), float(scores.live.std(ddof=1))
    plain = helmert(n).T
    lab_errors = plain.T @ (lab_table / unit[0] ** 2) @ plain
    live_errors = plain.T @ (live_table / unit[1] ** 2) @ plain
    cross = None if scores.cross is None else plain.T @ (scores.cross.T / (unit[0] * unit[1])) @ plain
    off = np.zeros_like(lab_errors) if cross is None else cross
    smallest = np.linalg.eigvalsh(np.block([[lab_errors, off.T], [off, live_errors]]))
    if -smallest[0] > _NEGATIVE_ROUNDING * max(1.0, float(smallest[-1])):
        raise InputError(
            "the covariances of lab and live errors together are no covariance: some combination of scores would have a "
            "negative variance; check that `cross` belongs to them"
        )
    noise, turn = np.linalg.eigh((lab_errors + lab_errors.T) / 2)
    basis = plain @ turn
    own = np.diag(plain @ live_errors @ plain.T) * n / (n - 1)
    return ScoreContrasts(
        lab=basis.T @ (scores.lab / unit[0]),
        live=basis.T @ (scores.live / unit[1]),
        lab_noise=np.maximum(noise, 0.0),
        live_noise=turn.T @ live_errors @ turn,
        cross=None if cross is None else turn.T @ cross @ turn,
        basis=basis,
        centre=(float(scores.lab.mean()), float(scores.live.mean())),
        unit=unit,
        lab_mean_noise=lab_table.mean(axis=0) / unit[0] ** 2,
        live_mean_noise=float(np.median(own)) / n,
    )


def log_likelihood(data: ScoreContrasts, at: Parameters) -> FloatArray:
    """Return the log density of the differences at each point, but for a constant; shape (n_points,)."""
    lab_variance = data.lab_noise + np.square(at.sigma)[:, None] + _JITTER
    _, rest, table = _live_given_lab(data, at, lab_variance)
    # With the rest as one more row of the table, its Cholesky factor has the whitened rest as its last row.
    n = rest.shape[1]
    bordered = np.empty((len(table), n + 1, n + 1))
    bordered[:, :n, :n], bordered[:, n, :n], bordered[:, n, n] = table, rest, _CORNER
    root = np.linalg.cholesky(bordered)
    log_root = np.log(np.diagonal(root, axis1=1, axis2=2)[:, :n]).sum(axis=1)
    of_lab = (np.log(lab_variance) + np.square(data.lab) / lab_variance).sum(axis=1)
    return -0.5 * of_lab - log_root - 0.5 * np.square(root[:, n, :n]).sum(axis=1)


def conditional(data: ScoreContrasts, at: Parameters) -> Conditional:
    """Return what the scores say at each point of the parameters."""
    lab_variance = data.lab_noise + np.square(at.sigma)[:, None] + _JITTER
    gain, rest, table = _live_given_lab(data, at, lab_variance)
    inverse = np.asarray(np.linalg.inv(table), dtype=np.float64)
    heavy = (inverse @ rest[:, :, None])[:, :, 0]
    back = gain * heavy if gain.ndim == 2 else np.einsum("pzx,pz->px", gain, heavy)
    return Conditional(
        pull=heavy @ data.basis.T,
        precision=np.einsum("mi,pim->pm", data.basis, inverse @ data.basis.T),
        lab_pull=data.lab / lab_variance - back,
        inverse=inverse,
        gain=gain,
    )


def _live_given_lab(
    data: ScoreContrasts, at: Parameters, lab_variance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the regression of live on lab, the residual of live, and its covariance, at each point."""
    shared = at.slope * np.square(at.sigma)
    spread = np.square(at.tau) + at.slope * shared + _JITTER
    size = data.live.size
    if data.cross is None:
        gain = shared[:, None] / lab_variance
        own = spread[:, None] - shared[:, None] * gain
        table = np.repeat(data.live_noise[None], len(own), axis=0)
        np.einsum("pii->pi", table)[...] += (
            own  # a view of the diagonals: products with an identity cost more than the rest
        )
        return gain, data.live - gain * data.lab, table
    joint = data.cross + shared[:, None, None] * np.eye(size)
    gain = joint / lab_variance[:, None, :]
    table = data.live_noise + spread[:, None, None] * np.eye(size) - gain @ joint.transpose(0, 2, 1)
    return gain, data.live - gain @ data.lab, table


def gained(
    data: ScoreContrasts, at: Parameters, given: Conditional, shared: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return errors expected from the scores, where correlated with those of the lab, and how much of their variance is known.

    `shared`, shape (n_models - 1, n_new), is the covariance of the lab's errors, in the basis, with the further errors.
    """
    if not shared.any():
        nothing = np.zeros((len(at.slope), shared.shape[1]))
        return nothing, nothing
    lab_variance = data.lab_noise + np.square(at.sigma)[:, None] + _JITTER
    diagonal = given.gain.ndim == 2
    through = given.gain[:, :, None] * shared if diagonal else np.asarray(given.gain @ shared, dtype=np.float64)
    known = (through * (given.inverse @ through)).sum(axis=1)
    return given.lab_pull @ shared, (1 / lab_variance) @ np.square(shared) + known


# Spreads are this size times the hyperbolic sine of a coordinate: linear near 0, where the density is flat, logarithmic above.
_SMALL_SIGMA = 0.3
_SMALL_TAU = 0.5
_TINY_NOISE = 1e-6


@record
class Coordinates:
    """Map between points of the lattice and parameters.

    The slope is laid about the one that is most likely at the given spreads, in units of its uncertainty there, as if all
    models had the same noise. Without that the posterior is a funnel: wide in the slope where true lab scores hardly differ.
    `small_sigma` and `small_tau` are sizes below which a spread is as good as 0, `n` the models less one.
    """

    small_sigma: float
    small_tau: float
    lab_noise: float
    live_noise: float
    n: int
    correlation: float
    prior_slope: float

    def parameters(self, points: FloatArray) -> Parameters:
        """Return the parameters at points, shape (n_points, 3)."""
        tau, sigma = self._spreads(points)
        centre, width = self._slope_law(sigma, tau)
        return Parameters(slope=centre + width * points[:, 2], sigma=sigma, tau=tau)

    def slope(self, points: FloatArray) -> FloatArray:
        """Return the slope at points."""
        return self.parameters(points).slope

    def log_volume(self, points: FloatArray) -> FloatArray:
        """Return the log of how much of the parameters a unit of the coordinates holds, but for a constant."""
        tau, sigma = self._spreads(points)
        _, width = self._slope_law(sigma, tau)
        return np.logaddexp(points[:, :2], -points[:, :2]).sum(axis=1) + np.log(width)

    def _spreads(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        tau = self.small_tau * np.sinh(np.minimum(np.abs(points[:, 0]), 30.0))
        return tau, self.small_sigma * np.sinh(np.minimum(np.abs(points[:, 1]), 30.0))

    def _slope_law(self, sigma: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
        variance = np.square(sigma)
        reliable = variance / (variance + self.lab_noise + _TINY_NOISE)
        left = np.square(tau) + self.live_noise + variance * (1 - reliable) * self.correlation**2 + _TINY_NOISE
        precision = 1 / self.prior_slope**2 + np.square(reliable) * self.n / left
        return reliable * self.n * self.correlation / left / precision, 1 / np.sqrt(precision)


@record
class HierarchyPosterior:
    """Weighted points of slope and spreads, and what the scores say of models at each of them."""

    data: ScoreContrasts
    priors: Priors
    coordinates: Coordinates
    lattice: Lattice
    at: Parameters
    given: Conditional

    def slope_quantiles(self, p: tuple[float, ...]) -> FloatArray:
        """Return quantiles of the slope of standardised scores."""
        return last_quantiles(self.lattice, self.coordinates.slope, p)

    def tau_quantiles(self, p: tuple[float, ...]) -> FloatArray:
        """Return quantiles of the spread of true gaps, standardised."""
        return self.coordinates.small_tau * np.sinh(first_quantiles(self.lattice, p))

    def top(self) -> FloatArray:
        """Return the coordinates of the highest point."""
        return self.lattice.points[int(np.argmax(self.lattice.log_density))]

    def under(self, other: Priors) -> "HierarchyPosterior":
        """Return the posterior under other priors, on the same lattice where it reaches far enough."""
        at = self.at
        change = other.log_density(at.slope, at.sigma, at.tau) - self.priors.log_density(at.slope, at.sigma, at.tau)
        if not self.lattice.holds(self.lattice.weights(change[:, None])).all():
            return posterior_of(self.data, other, start=self.top())
        return replace(self, priors=other, lattice=replace(self.lattice, log_density=self.lattice.log_density + change))


LogRatio = Callable[[Parameters, Conditional], FloatArray]


def posterior_of(
    data: ScoreContrasts, priors: Priors, *, ratio: LogRatio | None = None, start: FloatArray | None = None
) -> HierarchyPosterior:
    """Integrate the posterior of slope and spreads, from coordinates near the top.

    `ratio` is a further log factor of the density, such as the density of a score that is to be left out. Raises
    CannotAnswerError if live scores lie on a line in the lab scores and have no error, or the posterior is too wide.
    """
    n = data.lab.size
    lab_noise, live_noise = float(data.lab_noise.mean()), float(np.trace(data.live_noise)) / n
    correlation = float(data.lab @ data.live) / n
    residual = max(0.0, 1 - correlation**2)
    if residual < 1e-12 and live_noise < 1e-12:
        raise CannotAnswerError(
            "the live scores lie on one line in the lab scores and are said to have no error; give their standard errors"
        )
    coordinates = Coordinates(
        small_sigma=_SMALL_SIGMA,
        small_tau=_SMALL_TAU * float(np.sqrt(max(residual, 1e-4, min(live_noise, 0.5)))),
        lab_noise=lab_noise,
        live_noise=live_noise,
        n=n,
        correlation=correlation,
        prior_slope=priors.slope,
    )

    def log_density(points: FloatArray) -> FloatArray:
        at = coordinates.parameters(points)
        height = (
            log_likelihood(data, at) + priors.log_density(at.slope, at.sigma, at.tau) + coordinates.log_volume(points)
        )
        return height if ratio is None else height + ratio(at, conditional(data, at))

    lattice = lattice_of(log_density, np.array([1.0, 1.5, 0.0]) if start is None else start)
    at = coordinates.parameters(lattice.points)
    return HierarchyPosterior(
        data=data,
        priors=priors,
        coordinates=coordinates,
        lattice=lattice,
        at=at,
        given=conditional(data, at),
    )


# A normal law of no spread has no distribution function that can be computed; in standard deviations of the scores.
_LEAST_SD = 1e-9


@record
class NewLab:
    """Lab scores of models without live scores, standardised, as differences from the mean of the shared models.

    `noise` is the variance of the error of that difference, `shared`, shape (n_models - 1, n_new), its covariance with the errors
    of the contrasts of the lab.
    """

    away: FloatArray
    noise: FloatArray
    shared: FloatArray


def new_lab_of(data: ScoreContrasts, lab: FloatArray, covariance: FloatArray, with_lab: FloatArray | None) -> NewLab:
    """Prepare lab scores of new models.

    `covariance` of their errors has shape (n_new, n_new) or, for variances alone, (n_new,); `with_lab`, (n_new, n_models), that
    with the errors of the shared models' lab scores, None where they are independent. Raises InputError if these are none.
    """
    n_new, n = lab.size, data.n_models
    variance = np.diag(covariance) if covariance.ndim == 2 else covariance
    shared = np.zeros((n_new, n)) if with_lab is None else with_lab
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


def typical_new(data: ScoreContrasts) -> NewLab:
    """Return a new model in the middle of the others, with an error like theirs."""
    n = data.n_models
    own = float(np.mean(data.lab_noise))
    return NewLab(away=np.zeros(1), noise=np.array([own * (1 + 1 / n)]), shared=np.zeros((n - 1, 1)))


def true_gaps(posterior: HierarchyPosterior) -> Mixture:
    """Return the posterior of each shared model's true gap, standardised."""
    square = np.square(posterior.at.tau)[:, None]
    variance = square - np.square(square) * posterior.given.precision
    return Mixture(
        weight=posterior.lattice.weights(),
        mean=square * posterior.given.pull,
        sd=np.maximum(np.sqrt(np.maximum(variance, 0.0)), _LEAST_SD),
    )


def left_out_lives(posterior: HierarchyPosterior) -> Mixture:
    """Predict each shared model's live score from all other scores, its own error included.

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


def new_lives(posterior: HierarchyPosterior, new: NewLab) -> Mixture:
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


def _reweighted(posterior: HierarchyPosterior, ratio: LogRatio, law: Law) -> Mixture:
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
    )


def _column(weight: FloatArray, mean: FloatArray, sd: FloatArray, j: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    return weight[:, min(j, weight.shape[1] - 1)], mean[:, j], sd[:, j]


# --- the fit ---


@record
class Predicted:
    """Predictions of live scores, one for each model, in the unit of the live scores, with equal-tailed intervals."""

    expected: FloatArray
    std_error: FloatArray
    low: FloatArray
    high: FloatArray


@record
class NewModels:
    """Predictions for models that only the lab has scored: of their *true* live scores, the spread of true gaps in them.

    What is measured live has its own error on top. `rank_low` and `rank_high` are places among the shared models that the
    prediction leaves open, the best being 1. Where the lab score lies outside those of the shared models (`extrapolated`) the
    interval assumes that the line goes on and that gaps are no larger out there.
    """

    live: Predicted
    rank_low: IntArray
    rank_high: IntArray
    extrapolated: BoolArray


@record
class HierarchyFit:
    """Posterior of one model of lab and live, in their units: medians and equal-tailed intervals.

    Attributes
    ----------
    probability_below
        float64, shape (n_models,): probability that a model's true gap from the line is below 0.
    left_out, inside
        Prediction of each model's *observed* live score from all other scores; its own live error is in it. Whether the observed
        score lies in that interval.
    coverage
        Share inside with Wilson's interval, which takes models as independent; predictions share the line, so it is somewhat
        too narrow.
    sensitivity
        Width of the prediction interval of a typical new model under other priors, relative to these.
    """

    slope: float
    slope_low: float
    slope_high: float
    tau: float
    tau_low: float
    tau_high: float
    probability_below: FloatArray
    left_out: Predicted
    inside: BoolArray
    coverage: IntervalEstimate
    new: NewModels | None
    sensitivity: tuple[tuple[str, float], ...]
    priors: str
    conf_level: float
    n_models: int
    warnings: tuple[str, ...] = ()


@one_thread
def fit_hierarchy(
    scores: LabLiveScores,
    *,
    new_lab: FloatArray | None = None,
    new_lab_covariance: FloatArray | None = None,
    new_cross_with_lab: FloatArray | None = None,
    conf_level: float = 0.95,
) -> HierarchyFit:
    """Fit one model of lab and live, and predict live scores.

    True lab-scale scores theta ~ N(mu, sigma^2); lab x = theta + e_x; live z = a + b theta + delta + e_z with true gaps
    delta ~ N(0, tau^2). The covariances of e_x and e_z are given. mu and a have flat priors and are integrated out in closed
    form; b, sigma and tau on a lattice. Nothing is drawn at random, so there is no seed.

    Parameters
    ----------
    scores
        At least six models, with errors on both sides. An error that all models share changes nothing.
    new_lab
        float64, shape (k,): lab scores of models without a live score. Each is predicted by itself: the shared models and its
        own lab score say what is known.
    new_lab_covariance
        float64, shape (k, k) or (k,) for variances alone: of their errors. Needed with `new_lab`.
    new_cross_with_lab
        float64, shape (k, n_models): covariance of their errors with the lab errors of the shared models; None where those are
        independent.

    Raises
    ------
    InputError
        Errors of a side missing, a constant side, covariances that are none.
    CannotAnswerError
        Fewer than six models, or scores that say next to nothing of the line.

    Notes
    -----
    Assumes that models, new ones too, come from one population: true lab scores and gaps normal, the line straight, gaps of the
    same size everywhere. The zero of the live scale is that of this live measurement: an error that moves all live scores
    alike is no part of a prediction.

    Examples
    --------
    >>> lab = np.arange(8.0)
    >>> live = 10 * lab + np.array([3.0, -3.0, 3.0, -3.0, -3.0, 3.0, -3.0, 3.0])
    >>> noise = LabLiveScores(lab=lab, live=live, lab_covariance=0.01 * np.eye(8), live_covariance=np.eye(8))
    >>> fit = fit_hierarchy(noise, new_lab=np.array([3.5]), new_lab_covariance=np.array([[0.01]]))
    >>> round(fit.slope), fit.new.live.expected.round(), int(fit.inside.sum())
    (10, array([35.]), 8)
    """
    level = check_level(conf_level)
    if scores.n_models < LEAST_MODELS:
        raise CannotAnswerError(
            f"{scores.n_models} models say too little of a line and of the spread about it; at least {LEAST_MODELS} are needed"
        )
    for name, side in (("lab", scores.lab), ("live", scores.live)):
        if is_constant(side):
            raise InputError(f"all {name} scores are the same; there is no line to predict by")
    if new_lab is not None and new_lab_covariance is None:
        raise InputError("new_lab is given without new_lab_covariance; give the errors of these scores")
    data = contrasts_of(scores)
    prepared = None
    if new_lab is not None and new_lab_covariance is not None and new_lab.size:
        prepared = new_lab_of(data, new_lab, new_lab_covariance, new_cross_with_lab)
    posterior = posterior_of(data, Priors())
    ends = ((1 - level) / 2, 0.5, (1 + level) / 2)
    slope = posterior.slope_quantiles(ends) * data.unit[1] / data.unit[0]
    tau = posterior.tau_quantiles(ends) * data.unit[1]
    left_out = _live_scores(left_out_lives(posterior), data, level)
    inside = (left_out.low <= scores.live) & (scores.live <= left_out.high)
    new = None
    if new_lab is not None and prepared is not None:
        new = _new_models(scores, new_lab, _live_scores(new_lives(posterior, prepared), data, level), level)
    return HierarchyFit(
        slope=float(slope[1]),
        slope_low=float(slope[0]),
        slope_high=float(slope[2]),
        tau=float(tau[1]),
        tau_low=float(tau[0]),
        tau_high=float(tau[2]),
        probability_below=true_gaps(posterior).below(0.0),
        left_out=left_out,
        inside=inside,
        coverage=wilson(int(inside.sum()), scores.n_models, conf_level=level),
        new=new,
        sensitivity=_sensitivity(posterior, level),
        priors=posterior.priors.words(),
        conf_level=level,
        n_models=scores.n_models,
        warnings=_warnings(scores),
    )


def _live_scores(law: Mixture, data: ScoreContrasts, level: float) -> Predicted:
    """Turn standardised differences from the mean of the shared models into live scores."""
    centre, unit = data.centre[1], data.unit[1]
    return Predicted(
        expected=centre + unit * law.centre(),
        std_error=unit * law.spread(),
        low=centre + unit * law.quantile((1 - level) / 2),
        high=centre + unit * law.quantile((1 + level) / 2),
    )


def _new_models(scores: LabLiveScores, lab: FloatArray, live: Predicted, level: float) -> NewModels:
    """Add ranks: a shared model is surely better where the interval of the difference lies above 0."""
    own = centred_variance(np.asarray(scores.live_covariance))
    reach = normal_quantile(level) * np.sqrt(np.square(live.std_error) + own)
    away = scores.live[:, None] - live.expected
    return NewModels(
        live=live,
        rank_low=1 + (away > reach).sum(axis=0).astype(np.int64),
        rank_high=1 + (away >= -reach).sum(axis=0).astype(np.int64),
        extrapolated=(lab < scores.lab.min()) | (lab > scores.lab.max()),
    )


def _sensitivity(posterior: HierarchyPosterior, level: float) -> tuple[tuple[str, float], ...]:
    """Width of a typical prediction interval under other priors, relative to the one used."""
    typical = typical_new(posterior.data)

    def width(under: HierarchyPosterior) -> float:
        law = new_lives(under, typical)
        return float((law.quantile((1 + level) / 2) - law.quantile((1 - level) / 2))[0])

    usual = width(posterior)
    return tuple((name, width(posterior.under(other)) / usual) for name, other in ALTERNATIVES)


def _warnings(scores: LabLiveScores) -> tuple[str, ...]:
    """Say where the noise of a side is as large as its spread."""
    found = list[str]()
    for name, side, table in (
        ("lab", scores.lab, scores.lab_covariance),
        ("live", scores.live, scores.live_covariance),
    ):
        noise, spread = centred_variance(np.asarray(table)), float(side.var(ddof=1))
        if noise > 0.5 * spread:
            found.append(
                f"noise makes up {min(1.0, noise / spread):.0%} of the variance of the {name} scores: slope and predictions rest "
                "more on the priors than on the scores"
            )
    return tuple(found)
