"""The law of the largest |t| among correlated estimates: for adjusted p-values and simultaneous intervals."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import optimize, special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count, check_level
from evalstats.stats.tails import SMALLEST_P

_SHIFTS = 8  # independent shifts of the points; their spread is the error reported
_HIGHEST = 8  # rungs are drawn for c = 0, 1, ..., 8
_LEAST = 1e-14  # below it p is the sum over the estimates, which it cannot exceed
_HELD = 2_000_000


@dataclass(frozen=True, slots=True)
class _Rung:
    """Directions: the largest |t| on each at length 1, and its weight; shape (n_shifts, n_points)."""

    reach: FloatArray
    weight: FloatArray


class MaxLaw:
    """P(the largest |t| reaches c) for estimates with a given correlation and a common scale.

    Parameters
    ----------
    correlation
        Of the estimates, shape (k, k); it may be singular, as for all differences of some means.
    seed, n_points
        Of the random shifts of the points, and how many points there are for each rung.

    Notes
    -----
    A normal vector of rank r has a direction and an independent length, chi with r degrees of freedom (over sqrt(chi2/df) for
    t). Along a direction the largest |t| reaches c from a certain length on, so the length is integrated in closed form and
    only directions are drawn: p = E S(c / reach), with S the upper tail of the length. For c up to 1 directions are uniform.
    For larger c they are those of the mixture of the k laws "given that |t_j| reaches c0", reweighted by its density
    sum_j S(c0 / |t_j|), so that the relative error does not grow as p falls. Points are a Kronecker sequence with 8 random
    shifts, whose spread gives the error. The answer is kept between the p of one estimate and the sum of all (Bonferroni).

    References
    ----------
    Owen, Maximov & Chertkov 2019, doi:10.1214/18-EJS1527 (the mixture); Deak 1980, doi:10.1007/BF01396339 (directions);
    Genz & Bretz 2009, doi:10.1007/978-3-642-01689-9 (the law).

    Examples
    --------
    >>> law = MaxLaw(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> p, error = law.p(2.5, df=20)
    >>> round(p, 4), error < 1e-4
    (0.0389, True)
    """

    def __init__(self, correlation: FloatArray, *, seed: int = 0, n_points: int = 16_000) -> None:
        given = np.asarray(correlation, dtype=np.float64)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.allclose(np.diagonal(given), 1.0, atol=1e-8):
            raise InputError(f"correlation has shape {given.shape}; give a square matrix with a diagonal of ones")
        self.seed = seed
        self._factor = _root(given)
        self.k, self.rank = self._factor.shape
        self.n_points = _SHIFTS * max(1, check_count(n_points, "n_points", least=1) // _SHIFTS)
        self._rungs: dict[int, _Rung] = {}

    def p(self, c: float, df: float = math.inf) -> tuple[float, float]:
        """Return P(max |t| >= |c|) and the standard error of that number; the error is 0 where p is exact or a bound."""
        single = _length_tail(np.array(abs(c)), 1, df).item()
        if self.rank == 1 or single < _LEAST:
            bound = single if self.rank == 1 else self.k * single
            return min(1.0, max(bound, SMALLEST_P)), 0.0
        value, error = self._at(self._rung(_equivalent(c, df)), c, df)
        return min(1.0, max(value, single), self.k * single), error

    def critical(self, conf_level: float, df: float = math.inf) -> tuple[float, float]:
        """Return the c that the largest |t| exceeds with probability 1 - conf_level, and its standard error.

        Never below the quantile of one estimate and never above Bonferroni's.
        """
        beyond = 1.0 - check_level(conf_level)
        least, most = _quantile(beyond, df), _quantile(beyond / self.k, df)
        if self.rank == 1:
            return least, 0.0
        rung = self._rung(_equivalent(least, df))
        goal = math.log(beyond)

        def excess(c: float) -> float:
            return math.log(max(self._at(rung, c, df)[0], SMALLEST_P)) - goal

        if excess(least) <= 0.0:
            return least, 0.0
        if excess(most) >= 0.0:
            return most, 0.0
        c = float(optimize.brentq(excess, least, most, xtol=1e-10))
        slope = (excess(c * 1.001) - excess(c * 0.999)) / (0.002 * c) * beyond
        return c, self._at(rung, c, df)[1] / abs(slope)

    def _at(self, rung: _Rung, c: float, df: float) -> tuple[float, float]:
        each = (rung.weight * _length_tail(abs(c) / rung.reach, self.rank, df)).mean(axis=1)
        return float(each.mean()), float(each.std(ddof=1)) / math.sqrt(_SHIFTS)

    def _rung(self, c: float) -> _Rung:
        at = min(_HIGHEST, math.floor(c))
        if at not in self._rungs:
            self._rungs[at] = self._drawn(0.0 if at <= 1 else float(at))
        return self._rungs[at]

    def _drawn(self, bound: float) -> _Rung:
        n = self.n_points // _SHIFTS
        rng = np.random.default_rng(self.seed)
        base = _kronecker(n, self.rank + 2)
        reach, weight = np.empty((_SHIFTS, n)), np.ones((_SHIFTS, n))
        rows = max(1, _HELD // self.k)
        for i in range(_SHIFTS):
            shift = np.asarray(rng.random(base.shape[1]), dtype=np.float64)
            tent = np.abs(2.0 * np.mod(base + shift, 1.0) - 1.0)  # makes the integrand periodic
            u = np.clip(tent, 1e-15, 1.0 - 1e-15)
            for start in range(0, n, rows):
                part = slice(start, start + rows)
                on_each = self._directions(u[part], bound)
                reach[i, part] = on_each.max(axis=1)
                if bound > 0.0:
                    density = _length_tail(bound / on_each, self.rank, math.inf).mean(axis=1)
                    weight[i, part] = 2.0 * float(special.ndtr(-bound)) / density
        return _Rung(reach, weight)

    def _directions(self, u: FloatArray, bound: float) -> FloatArray:
        """Return |t| at length 1, shape (n, k), for directions of normal vectors given that some |t_j| reaches the bound."""
        x = np.asarray(special.ndtri(u[:, 2:]), dtype=np.float64)
        if bound > 0.0:
            j = np.minimum((u[:, 0] * self.k).astype(np.int64), self.k - 1)
            axis = self._factor[j]
            t = -special.ndtri(u[:, 1] * float(special.ndtr(-bound)))  # its sign does not matter
            x += (t - (x * axis).sum(axis=1))[:, np.newaxis] * axis
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        return np.maximum(np.abs(x @ self._factor.T), 1e-150)


def _equivalent(c: float, df: float) -> float:
    """Return the normal c whose tail falls as fast along a direction as that of t with df degrees of freedom at c."""
    return abs(c) if math.isinf(df) else abs(c) * math.sqrt((df + 1.0) / (df + c * c))


def _length_tail(length: FloatArray, rank: int, df: float) -> FloatArray:
    """Return P(chi_rank > length), or that of chi_rank / sqrt(chi2_df / df)."""
    square = np.square(np.minimum(length, 1e150))
    if math.isinf(df):
        return np.asarray(special.gammaincc(0.5 * rank, 0.5 * square), dtype=np.float64)
    return np.asarray(special.betainc(0.5 * df, 0.5 * rank, df / (df + square)), dtype=np.float64)


def _quantile(beyond: float, df: float) -> float:
    return -float(special.ndtri(0.5 * beyond) if math.isinf(df) else special.stdtrit(df, 0.5 * beyond))


def _root(matrix: FloatArray) -> FloatArray:
    """Return F with F F' = matrix and no more columns than its rank."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    if values[0] < -1e-8 * values[-1]:
        raise InputError(f"correlation has the negative eigenvalue {values[0]:.3g}; give the matrix of a covariance")
    kept = values > 1e-12 * values[-1]
    factor = vectors[:, kept] * np.sqrt(values[kept])
    return factor / np.linalg.norm(factor, axis=1, keepdims=True)


@lru_cache(maxsize=8)
def _primes(n: int) -> tuple[int, ...]:
    found: list[int] = []
    candidate = 2
    while len(found) < n:
        if all(candidate % prime for prime in found if prime * prime <= candidate):
            found.append(candidate)
        candidate += 1
    return tuple(found)


def _kronecker(n: int, dimensions: int) -> FloatArray:
    """Return n points of Richtmyer's sequence, multiples of the roots of primes modulo 1."""
    roots = np.sqrt(np.array(_primes(dimensions), dtype=np.float64))
    return np.asarray(np.outer(np.arange(1, n + 1), roots) % 1.0, dtype=np.float64)
