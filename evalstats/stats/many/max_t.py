"""Laws of the largest |t| of several estimates: correlated normal and t estimates, and Tukey's studentised range.

References: Owen, Maximov & Chertkov 2019, doi:10.1214/18-EJS1527 (the mixture of directions); Deak 1980,
doi:10.1007/BF01396339; Genz & Bretz 2009, doi:10.1007/978-3-642-01689-9 (the law); Tukey 1953, The problem of multiple
comparisons; Copenhaver & Holland 1988, doi:10.1080/00949658808811082 (the studentised range).
"""

import math
from functools import lru_cache

import numpy as np
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.estimate import SMALLEST_P, legendre, positive_p

_SHIFTS = 8  # independent shifts of the points; their spread is the error reported
_POINTS = 2000  # for each rung and shift
_HIGHEST = 8  # rungs are drawn for c = 0, 1, ..., 8
_LEAST = 1e-14  # below it p is the sum over the estimates, which it cannot exceed
_HELD = 2_000_000
_NODES = 200
_FAR = 38.0  # beyond it the normal density is 0 in double precision
_LARGE_DF = 1e7  # from here on the law is the normal one to 7 digits or more


class MaxLaw:
    """P(the largest |t| reaches c) for estimates with a given correlation, which may be singular, and a common scale.

    Notes
    -----
    A normal vector of rank r has a direction and an independent length, chi with r degrees of freedom (over sqrt(chi2/df) for
    t). Along a direction the largest |t| reaches c from a certain length on, so the length is integrated in closed form and
    only directions are drawn: p = E S(c / reach), with S the upper tail of the length. For c up to 1 directions are uniform.
    For larger c they are those of the mixture of the k laws "given that |t_j| reaches c0", reweighted by its density
    sum_j S(c0 / |t_j|), so that the relative error does not grow as p falls. Points are a Kronecker sequence with 8 random
    shifts, whose spread gives the error. The answer is kept between the p of one estimate and the sum of all (Bonferroni).

    Examples
    --------
    >>> law = MaxLaw(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> p, error = law.p(2.5, df=20)
    >>> round(p, 4), error < 1e-4
    (0.0389, True)
    """

    def __init__(self, correlation: FloatArray, *, seed: int = 0) -> None:
        self.seed = seed
        self._factor = _root(correlation)
        self.k, self.rank = self._factor.shape
        self._rungs: dict[int, tuple[FloatArray, FloatArray]] = {}

    def p(self, c: float, df: float = math.inf) -> tuple[float, float]:
        """Return P(max |t| >= |c|) and the standard error of that number; the error is 0 where p is exact or a bound."""
        c = abs(c)
        single = _length_tail(np.array(c), 1, df).item()
        if self.rank == 1 or single < _LEAST:
            return max(single if self.rank == 1 else self.k * single, SMALLEST_P), 0.0
        value, error = self._at(self._rung(_equivalent(c, df)), c, df)
        return min(max(value, single), self.k * single), error

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
        from scipy import optimize  # slow to load, and p-values alone do without

        c = float(optimize.brentq(excess, least, most, xtol=1e-10))
        slope = (excess(c * 1.001) - excess(c * 0.999)) / (0.002 * c) * beyond
        return c, self._at(rung, c, df)[1] / abs(slope)

    def _at(self, rung: tuple[FloatArray, FloatArray], c: float, df: float) -> tuple[float, float]:
        reach, weight = rung
        each = (weight * _length_tail(c / reach, self.rank, df)).mean(axis=1)
        return float(each.mean()), float(each.std(ddof=1)) / math.sqrt(_SHIFTS)

    def _rung(self, c: float) -> tuple[FloatArray, FloatArray]:
        """Return the largest |t| at length 1 on the directions drawn for c, and their weights; shape (n_shifts, n_points)."""
        at = min(_HIGHEST, math.floor(c))
        if at not in self._rungs:
            self._rungs[at] = self._drawn(0.0 if at <= 1 else float(at))
        return self._rungs[at]

    def _drawn(self, bound: float) -> tuple[FloatArray, FloatArray]:
        n = _POINTS
        rng = np.random.default_rng(self.seed)
        # Richtmyer's sequence: multiples of the roots of primes modulo 1.
        roots = np.sqrt(np.array(_primes(self.rank + 2), dtype=np.float64))
        base = np.asarray(np.outer(np.arange(1, n + 1), roots) % 1.0, dtype=np.float64)
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
        return reach, weight

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
    """Return the normal c whose tail falls as fast along a direction as that of t with df degrees of freedom at c >= 0."""
    return c if math.isinf(df) else c * math.sqrt((df + 1.0) / (df + c * c))


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
    if -values[0] > 1e-8 * values[-1]:
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


def range_p(q: float, n_means: int, df: float = math.inf) -> float:
    """P(range of n_means independent standard normals, over an independent sqrt(chi2_df/df), exceeds q).

    Tukey's p of a difference with t = difference/std_error is range_p(sqrt(2) |t|, n_means, df); df is infinite for a known
    standard error.

    Notes
    -----
    With F and f the normal law, the upper tail is n int f(z) (F(z)^(n-1) - (F(z) - F(z-q))^(n-1)) dz, whose integrand is
    written without a difference, so that small p keep their digits; then averaged over the chi law. Gauss-Legendre, 200 nodes.

    Examples
    --------
    >>> round(range_p(3.633, 4), 4), round(range_p(4.0, 3, df=10.5), 4)
    (0.05, 0.0417)
    """
    if math.isinf(df) or df > _LARGE_DF:
        return positive_p(float(_normal_tail(np.array([q]), n_means)[0]))
    # The square of the scale is chi2/df; where it is small q counts for less, which is where a small p comes from.
    high = float(special.chdtri(df, 1e-15))
    least = max(2.0 * float(special.gammaincinv(0.5 * df, 1e-40)), 1e-60)
    u, w = _between(0.5 * math.log(least / df), 0.5 * math.log(high / df))
    scale = np.exp(u)
    log_density = (
        math.log(2.0)
        + 0.5 * df * math.log(0.5 * df)
        - float(special.gammaln(0.5 * df))
        + df * u
        - 0.5 * df * np.square(scale)
    )
    return positive_p(float(w @ (np.exp(log_density) * _normal_tail(q * scale, n_means))))


def range_critical(conf_level: float, n_means: int, df: float = math.inf) -> float:
    """Return q that the studentised range exceeds with probability 1 - conf_level.

    Examples
    --------
    >>> round(range_critical(0.95, 3, 20), 3)
    3.578
    """
    beyond = 1.0 - check_level(conf_level)
    first_guess = 8.0
    high = first_guess
    while range_p(high, n_means, df) > beyond:
        high *= 2.0
    goal = math.log(beyond)
    from scipy import optimize

    found = optimize.brentq(lambda q: math.log(range_p(q, n_means, df)) - goal, 0.0, high, xtol=1e-12, rtol=1e-13)
    return float(found)


def _normal_tail(q: FloatArray, n: int) -> FloatArray:
    """Return P(range of n normals > q) for every q."""
    # Two pieces: where all n lie near 0, and where the largest lies near q.
    total = np.zeros(q.shape)
    for low, high in ((-8.5, 0.0), (0.0, 9.0)):
        total += _piece(q, n, np.full(q.shape, low), np.full(q.shape, high))
    start = np.full(q.shape, 9.0)
    total += _piece(q, n, start, np.clip(q + 9.0, start, _FAR))
    return np.clip(total, SMALLEST_P, 1.0)


def _piece(q: FloatArray, n: int, low: FloatArray, high: FloatArray) -> FloatArray:
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    nodes, weights = legendre(_NODES)
    z = middle[:, np.newaxis] + half[:, np.newaxis] * nodes
    below = special.ndtr(z)
    left_out = np.minimum(special.ndtr(z - q[:, np.newaxis]) / below, 1.0)
    with np.errstate(divide="ignore"):
        gap = -np.expm1((n - 1) * np.log1p(-left_out))
    density = np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi)
    return half * ((density * below ** (n - 1) * gap) @ weights) * n


def _between(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    half = 0.5 * (high - low)
    nodes, weights = legendre(_NODES)
    return 0.5 * (high + low) + half * nodes, half * weights
