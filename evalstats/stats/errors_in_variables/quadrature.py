"""Quadrature of a posterior of three parameters on a lattice that follows its shape, and mixtures of normal laws."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import ndtr

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.roots import bracketed_roots

LogDensity = Callable[[FloatArray], FloatArray]

# Points this far below the top, in log density, are not followed further.
_DROP = 9.0
_STEP = 0.8
_MOST_POINTS = 6000
_MOST_LAYERS = 400
# Weight that may lie on the rim of the lattice.
_RIM = 2e-3
_SIDES = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.int64)
_FINE = 8
_FAR_BELOW = 25.0
# No posterior is as narrow as this in its own coordinates but where errors are said to be exactly 0.
_NARROWEST = 1e-4
_FIRST_WIDTH = 0.3


@record
class Lattice:
    """Points with weights. The first coordinate is 0 or more, and the density is even in it.

    `index` says which layer, row and place; `share` is 1/2 in the layer at 0, which is the edge of the range, else 1; `inner`
    whether all neighbours of the point are points too.
    """

    points: FloatArray
    index: IntArray
    log_density: FloatArray
    share: FloatArray
    inner: npt.NDArray[np.bool_]

    def weights(self, log_ratio: FloatArray | None = None) -> FloatArray:
        """Return weights that sum to 1, of the density times exp(log_ratio); a column of `log_ratio` each."""
        ratio = np.zeros((len(self.share), 1)) if log_ratio is None else log_ratio
        height = self.log_density[:, None] + ratio
        raw = self.share[:, None] * np.exp(height - height.max(axis=0))
        return raw / raw.sum(axis=0)

    def holds(self, weights: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether the lattice reaches as far as these weights: next to nothing lies on its rim."""
        return weights[~self.inner].sum(axis=0) < _RIM


def lattice_of(log_density: LogDensity, start: FloatArray) -> Lattice:
    """Lay a lattice over a density of three parameters that is even in the first, from a start near its top.

    The axes are those of the density's own covariance, sheared so that all points of a layer have the same first coordinate
    and all points of a row the same first two. From the top, neighbours are followed until the density has fallen by
    e^-9. Raises CannotAnswerError if the density is so wide in some direction that it cannot be covered.
    """
    top = _top(log_density, start)
    axes = _first_axes(log_density, top)
    for _ in range(8):
        found = _spread_out(log_density, top, _STEP * axes)
        if found is None:
            axes = 1.6 * axes
            continue
        better = _axes_of(found)
        change = np.diag(better) / np.diag(axes)
        if np.diag(better).min() < _NARROWEST:
            break
        if change.min() > 0.7 and change.max() < 1.6:
            return found
        axes = better
    raise CannotAnswerError(
        "the posterior of slope and spreads cannot be integrated: the scores say next to nothing of them, or covariances say "
        "that some difference of scores has no error at all; more models, smaller errors or full-rank covariances are needed"
    )


def first_quantiles(lattice: Lattice, p: tuple[float, ...]) -> FloatArray:
    """Return quantiles of the first coordinate, of which the density is even."""
    layers, layer_of = np.unique(lattice.index[:, 0], return_inverse=True)
    places = np.zeros(len(layers))
    places[layer_of] = lattice.points[:, 0]
    height = np.maximum(lattice.log_density - lattice.log_density.max(), -_FAR_BELOW)
    sums = np.log(np.bincount(layer_of, np.exp(height)))
    if layers[0] == 0:
        places, sums = np.concatenate([-places[:0:-1], places]), np.concatenate([sums[:0:-1], sums])
    fine, mass = _refined(places, sums)
    keep = fine > -1e-9 * fine[-1]
    fine, mass = fine[keep], mass[keep]
    below = np.concatenate([[0.0], np.cumsum(mass[1:] + mass[:-1])])
    return np.asarray(np.interp(np.array(p) * below[-1], below, fine), dtype=np.float64)


def last_quantiles(lattice: Lattice, value: LogDensity, p: tuple[float, ...]) -> FloatArray:
    """Return quantiles of a value that grows with the last coordinate; `value` takes points, shape (n_points, 3)."""
    order = np.lexsort(lattice.index.T[::-1])
    index, points = lattice.index[order], lattice.points[order]
    height = lattice.log_density[order] + np.log(lattice.share[order])
    height = np.maximum(height - height.max(), -_FAR_BELOW)
    breaks = np.flatnonzero((np.diff(index[:, :2], axis=0) != 0).any(axis=1)) + 1
    places, mass = list[FloatArray](), list[FloatArray]()
    for row, line in zip(np.split(points, breaks), np.split(height, breaks), strict=True):
        if line.max() > -_DROP:
            last, weight = _refined(row[:, 2], line)
            places.append(np.column_stack([np.broadcast_to(row[0, :2], (len(last), 2)), last]))
            mass.append(weight)
    values, weights = value(np.concatenate(places)), np.concatenate(mass)
    by_size = np.argsort(values, kind="stable")
    values, weights = values[by_size], weights[by_size]
    below = np.cumsum(weights) - weights / 2
    return np.asarray(np.interp(np.array(p) * weights.sum(), below, values), dtype=np.float64)


def _refined(places: FloatArray, height: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return places in between with their mass, the log density joined by a cubic spline."""
    if len(places) < 4:
        return places, np.exp(height)
    cells = _FINE * (len(places) - 1)
    fine: FloatArray = places[0] + (places[-1] - places[0]) / cells * np.arange(cells + 1, dtype=np.float64)
    # A row of the lattice stands for the same share however finely it is cut.
    # Next to a cliff a spline swings: what is far below is as good as nothing, and no top lies much above the points.
    top = float(height.max())
    joined = CubicSpline(places, np.maximum(height, top - _FAR_BELOW), bc_type="natural")(fine)
    return fine, np.exp(np.minimum(joined, top + 1.0)) / _FINE


def _top(log_density: LogDensity, start: FloatArray) -> FloatArray:
    """Return the place of the maximum, rounded so that a different order of additions does not move the lattice."""

    def fall(point: FloatArray) -> float:
        return -float(log_density(point[None, :])[0])

    simplex = np.vstack([start, start + _FIRST_WIDTH * np.eye(3)])
    found = minimize(
        fall, start, method="Nelder-Mead", options={"initial_simplex": simplex, "xatol": 1e-4, "fatol": 1e-6}
    )
    top = np.round(np.asarray(found.x, dtype=np.float64), 2)
    top[0] = abs(top[0])
    return top


def _first_axes(log_density: LogDensity, top: FloatArray) -> FloatArray:
    """Return a triangular root of the covariance of the normal law that touches the density at its top."""
    step = 0.02
    shift = step * np.array([np.eye(3)[i] * a + np.eye(3)[j] * b for i, j, a, b in _STENCIL])
    value = log_density(top + shift).reshape(3, 3, 4)
    curve = -(value[..., 0] - value[..., 1] - value[..., 2] + value[..., 3]) / (4 * step**2)
    size, turn = np.linalg.eigh((curve + curve.T) / 2)
    return _rounded(np.linalg.cholesky((turn / np.maximum(size, 0.5)) @ turn.T).astype(np.float64))


_STENCIL = [(i, j, a, b) for i in range(3) for j in range(3) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]


def _axes_of(lattice: Lattice) -> FloatArray:
    """Return a triangular root of the covariance of the density on the lattice."""
    weight = lattice.weights()[:, 0]
    points = lattice.points.copy()
    # The density is even in the second coordinate too, so that both of its halves may be there.
    points[:, 1] = np.abs(points[:, 1])
    away = points - weight @ points
    return _rounded(np.linalg.cholesky((away.T * weight) @ away + 1e-12 * np.eye(3)).astype(np.float64))


def _rounded(axes: FloatArray) -> FloatArray:
    """Round to two digits: rounding errors of another order of models then give the same lattice."""
    diagonal = np.diag(axes)
    digits = 10.0 ** (np.floor(np.log10(diagonal)) - 1)
    slant = np.round(axes / diagonal, 2)
    return slant * (np.round(diagonal / digits) * digits)


def _spread_out(log_density: LogDensity, top: FloatArray, axes: FloatArray) -> Lattice | None:
    """Follow neighbours from the top; None where that takes too many points."""
    first = np.array([[round(float(top[0] / axes[0, 0])), 0, 0]], dtype=np.int64)
    origin = np.array([0.0, *(top[1:] - axes[1:, 0] / axes[0, 0] * top[0])])
    seen = {tuple(first[0])}
    index, height = [first], [log_density(origin + first @ axes.T)]
    edge, highest, n = [first], float(height[0][0]), 1
    for _ in range(_MOST_LAYERS):
        alive = edge[-1][height[-1] > highest - _DROP]
        near = (alive[:, None, :] + _SIDES).reshape(-1, 3)
        fresh = sorted({tuple(row) for row in near[near[:, 0] >= 0].tolist()} - seen)
        if not fresh:
            break
        seen.update(fresh)
        n += len(fresh)
        if n > _MOST_POINTS:
            return None
        edge.append(np.array(fresh, dtype=np.int64))
        index.append(edge[-1])
        height.append(log_density(origin + edge[-1] @ axes.T))
        highest = max(highest, float(height[-1].max()))
    where, log_values = np.concatenate(index), np.concatenate(height)
    return Lattice(
        points=origin + where @ axes.T,
        index=where,
        log_density=log_values,
        share=np.where(where[:, 0] == 0, 0.5, 1.0),
        inner=log_values > highest - _DROP,
    )


@record
class Mixture:
    """One mixture of normal laws for each column: `weight` (columns sum to 1), `mean` and `sd` of shape (n_parts, n).

    Examples
    --------
    >>> one = Mixture(weight=np.ones((1, 1)), mean=np.zeros((1, 1)), sd=np.ones((1, 1)))
    >>> one.quantile(0.975).round(6), one.below(0.0)
    (array([1.959964]), array([0.5]))
    """

    weight: FloatArray
    mean: FloatArray
    sd: FloatArray

    def centre(self) -> FloatArray:
        """Return the means, shape (n,)."""
        return np.asarray((self.weight * self.mean).sum(axis=0), dtype=np.float64)

    def spread(self) -> FloatArray:
        """Return the standard deviations, shape (n,)."""
        away = np.square(self.mean - self.centre())
        return np.sqrt((self.weight * (away + np.square(self.sd))).sum(axis=0))

    def below(self, value: FloatArray | float) -> FloatArray:
        """Return the probability of lying below a value (one for each column, or one for all)."""
        return np.asarray((self.weight * ndtr((value - self.mean) / self.sd)).sum(axis=0), dtype=np.float64)

    def quantile(self, p: float) -> FloatArray:
        """Return the quantiles, shape (n,), sought where they surely lie (Cantelli's inequality)."""
        centre, spread = self.centre(), 1.001 * self.spread()
        low = centre - spread * float(np.sqrt((1 - p) / p))
        high = centre + spread * float(np.sqrt(p / (1 - p)))
        return bracketed_roots(
            lambda value: self.below(value) - p, low, high, at_low=self.below(low) - p, at_high=self.below(high) - p
        )
