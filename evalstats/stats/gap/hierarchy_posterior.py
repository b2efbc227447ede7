"""The posterior of slope and spreads: coordinates in which it is nearly normal, and what follows from it for models."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray
from evalstats.stats.gap.hierarchy_lattice import Lattice, first_quantiles, last_quantiles, lattice_of
from evalstats.stats.gap.hierarchy_model import Conditional, Contrasts, Parameters, conditional, log_likelihood
from evalstats.stats.gap.hierarchy_priors import Priors

# Spreads are this size times the hyperbolic sine of a coordinate: linear near 0, where the density is flat, logarithmic above.
_SMALL_SIGMA = 0.3
_SMALL_TAU = 0.5
_LEAST_NOISE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """Map between points of the lattice and parameters.

    The slope is laid about the one that is most likely at the given spreads, in units of its uncertainty there, as if all
    models had the same noise. Without that the posterior is a funnel: wide in the slope where true lab scores hardly differ.

    Attributes
    ----------
    small_sigma, small_tau
        Sizes below which a spread is as good as 0.
    lab_noise, live_noise
        Typical variance of an error, standardised.
    n
        Degrees of freedom: models less one.
    correlation
        Of lab and live estimates.
    prior_slope
        Standard deviation of the slope's prior.
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
        reliable = variance / (variance + self.lab_noise + _LEAST_NOISE)
        left = np.square(tau) + self.live_noise + variance * (1 - reliable) * self.correlation**2 + _LEAST_NOISE
        precision = 1 / self.prior_slope**2 + np.square(reliable) * self.n / left
        return reliable * self.n * self.correlation / left / precision, 1 / np.sqrt(precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Weighted points of slope and spreads, and what the scores say of models at each of them.

    Attributes
    ----------
    lattice
        The points.
    at
        Their parameters, standardised.
    given
        What the scores say there.
    """

    data: Contrasts
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

    def under(self, other: Priors) -> "Posterior":
        """Return the posterior under other priors, on the same lattice where it reaches far enough."""
        at = self.at
        change = other.log_density(at.slope, at.sigma, at.tau) - self.priors.log_density(at.slope, at.sigma, at.tau)
        if not self.lattice.holds(self.lattice.weights(change[:, None])).all():
            return posterior_of(self.data, other, start=self.top())
        return replace(self, priors=other, lattice=replace(self.lattice, log_density=self.lattice.log_density + change))


LogRatio = Callable[[Parameters, Conditional], FloatArray]


def posterior_of(
    data: Contrasts, priors: Priors, *, ratio: LogRatio | None = None, start: FloatArray | None = None
) -> Posterior:
    """Integrate the posterior of slope and spreads.

    Parameters
    ----------
    data, priors
        The scores and what is held likely before.
    ratio
        A further log factor of the density, shape (n_points,), such as the density of a score that is to be left out.
    start
        Coordinates near the top.

    Raises
    ------
    CannotAnswerError
        If live scores lie on a line in the lab scores and have no error, or the posterior is too wide to be integrated.
    """
    coordinates = _coordinates_of(data, priors)

    def log_density(points: FloatArray) -> FloatArray:
        at = coordinates.parameters(points)
        height = (
            log_likelihood(data, at) + priors.log_density(at.slope, at.sigma, at.tau) + coordinates.log_volume(points)
        )
        return height if ratio is None else height + ratio(at, conditional(data, at))

    lattice = lattice_of(log_density, np.array([1.0, 1.5, 0.0]) if start is None else start)
    at = coordinates.parameters(lattice.points)
    return Posterior(
        data=data,
        priors=priors,
        coordinates=coordinates,
        lattice=lattice,
        at=at,
        given=conditional(data, at),
    )


def _coordinates_of(data: Contrasts, priors: Priors) -> Coordinates:
    n = data.lab.size
    lab_noise, live_noise = float(data.lab_noise.mean()), float(np.trace(data.live_noise)) / n
    correlation = float(data.lab @ data.live) / n
    residual = max(0.0, 1 - correlation**2)
    if residual < 1e-12 and live_noise < 1e-12:
        raise CannotAnswerError(
            "the live scores lie on one line in the lab scores and are said to have no error; give their standard errors"
        )
    return Coordinates(
        small_sigma=_SMALL_SIGMA,
        small_tau=_SMALL_TAU * float(np.sqrt(max(residual, 1e-4, min(live_noise, 0.5)))),
        lab_noise=lab_noise,
        live_noise=live_noise,
        n=n,
        correlation=correlation,
        prior_slope=priors.slope,
    )
