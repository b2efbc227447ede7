"""Lab and live scores given slope and spreads: a normal law, in which all else has a closed form.

With theta_m ~ N(mu, sigma^2), x = theta + e_x, z = a + b theta + delta + e_z and flat mu and a, the differences between models
hold all there is to know. They are taken in the basis in which the errors of the lab are uncorrelated.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray
from evalstats.stats.gap.scores import LabLiveScores

# Keeps a variance of exactly 0 from making a matrix singular; in units of the variance of the scores.
_JITTER = 1e-11
_NEGATIVE = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Points at which laws are evaluated: slope, spread of true lab scores, spread of true gaps; shape (n_points,) each."""

    slope: FloatArray
    sigma: FloatArray
    tau: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrasts:
    """Differences between models on both sides, standardised.

    Attributes
    ----------
    lab, live
        float64, shape (n_models - 1,): the estimates in the basis.
    lab_noise
        float64, shape (n_models - 1,): variances of the errors of `lab`, which are uncorrelated.
    live_noise
        float64, shape (n_models - 1, n_models - 1): covariance of the errors of `live`.
    cross
        Covariance of live errors (rows) with lab errors (columns); None where they are independent.
    basis
        float64, shape (n_models, n_models - 1): coordinates of each model.
    centre
        Means of lab and live estimates, and `unit` their standard deviations: what was taken off, in own units.
    lab_mean_noise
        float64, shape (n_models,): covariance of each lab error with their mean, standardised.
    live_mean_noise
        Variance of the mean of live errors that are each model's own, standardised.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional:
    """What the scores say at each point of the parameters.

    Attributes
    ----------
    pull
        float64, shape (n_points, n_models): the element of Q y for the live score of each model, with Q the inverse
        covariance of all scores, cleared of both means.
    precision
        float64, shape (n_points, n_models): the diagonal of Q for the live scores. A live score less its prediction from all
        other scores is pull / precision, with variance 1 / precision (Dubrule 1983).
    lab_pull
        float64, shape (n_points, n_models - 1): the elements of Q y for the lab, in the basis.
    inverse
        float64, shape (n_points, n_models - 1, n_models - 1): inverse covariance of live given lab, in the basis.
    gain
        float64, shape (n_points, n_models - 1) or with one more axis: regression of live errors and scores on lab.
    """

    pull: FloatArray
    precision: FloatArray
    lab_pull: FloatArray
    inverse: FloatArray
    gain: FloatArray


def contrasts_of(scores: LabLiveScores) -> Contrasts:
    """Take the differences between models, standardise them and turn them into the basis of the lab's errors.

    Raises
    ------
    InputError
        Where the covariances together are none.
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
    _check_joint(lab_errors, live_errors, cross)
    noise, turn = np.linalg.eigh((lab_errors + lab_errors.T) / 2)
    basis = plain @ turn
    own = np.diag(plain @ live_errors @ plain.T) * n / (n - 1)
    return Contrasts(
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


def log_likelihood(data: Contrasts, at: Parameters) -> FloatArray:
    """Return the log density of the differences at each point, but for a constant; shape (n_points,)."""
    lab_variance = data.lab_noise + np.square(at.sigma)[:, None] + _JITTER
    _, rest, table = _live_given_lab(data, at, lab_variance)
    root = np.linalg.cholesky(table)
    white = np.linalg.solve(root, rest[:, :, None])[:, :, 0]
    log_root = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    of_lab = (np.log(lab_variance) + np.square(data.lab) / lab_variance).sum(axis=1)
    return -0.5 * of_lab - log_root - 0.5 * np.square(white).sum(axis=1)


def conditional(data: Contrasts, at: Parameters) -> Conditional:
    """Return what the scores say at each point of the parameters."""
    lab_variance = data.lab_noise + np.square(at.sigma)[:, None] + _JITTER
    gain, rest, table = _live_given_lab(data, at, lab_variance)
    inverse = np.linalg.inv(table).astype(np.float64)
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
    data: Contrasts, at: Parameters, lab_variance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the regression of live on lab, the residual of live, and its covariance, at each point."""
    shared = at.slope * np.square(at.sigma)
    spread = np.square(at.tau) + at.slope * shared + _JITTER
    size = data.live.size
    if data.cross is None:
        gain = shared[:, None] / lab_variance
        own = spread[:, None] - shared[:, None] * gain
        table = data.live_noise + own[:, :, None] * np.eye(size)
        return gain, data.live - gain * data.lab, table
    joint = data.cross + shared[:, None, None] * np.eye(size)
    gain = joint / lab_variance[:, None, :]
    table = data.live_noise + spread[:, None, None] * np.eye(size) - gain @ joint.transpose(0, 2, 1)
    return gain, data.live - gain @ data.lab, table


def _check_joint(lab: FloatArray, live: FloatArray, cross: FloatArray | None) -> None:
    """Raise InputError where the errors of both sides have no covariance of this kind."""
    off = np.zeros_like(lab) if cross is None else cross
    smallest = np.linalg.eigvalsh(np.block([[lab, off.T], [off, live]]))
    if smallest[0] < -_NEGATIVE * max(1.0, float(smallest[-1])):
        raise InputError(
            "the covariances of lab and live errors together are no covariance: some combination of scores would have a "
            "negative variance; check that `cross` belongs to them"
        )


def gained(data: Contrasts, at: Parameters, given: Conditional, shared: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what the scores say of errors that are correlated with those of the lab.

    Parameters
    ----------
    shared
        float64, shape (n_models - 1, n_new): covariance of the lab's errors, in the basis, with the further errors.

    Returns
    -------
    The expected errors and how much of their variance is known, shape (n_points, n_new) each.
    """
    if not shared.any():
        nothing = np.zeros((len(at.slope), shared.shape[1]))
        return nothing, nothing
    lab_variance = data.lab_noise + np.square(at.sigma)[:, None] + _JITTER
    diagonal = given.gain.ndim == 2
    through = given.gain[:, :, None] * shared if diagonal else np.asarray(given.gain @ shared, dtype=np.float64)
    known = (through * (given.inverse @ through)).sum(axis=1)
    return given.lab_pull @ shared, (1 / lab_variance) @ np.square(shared) + known
