"""Power for right-or-wrong scores: exact sums of the paired tests, the formula of two groups, and detectable differences.

References: Farrington & Manning 1990, doi:10.1002/sim.4780091208 (two groups);
Connor 1987, Biometrics 43:207, doi:10.2307/2531961; Tango 1998, Statistics in Medicine 17:891.
"""

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count, check_level
from evalstats.stats.estimate import normal_quantile, t_quantile
from evalstats.stats.paired.binary import MIN_DISCORDANT, tango_statistics
from evalstats.stats.planning.mean import MarginClaim, check_power, positive, smallest_effect, two_sided_level

PairedTest = Literal["score", "midp", "exact"]

_WINDOW = 9.0
_ROUNDING = 1e-12
_MANY = 3000
_TOLERANCE = 1e-9
_FEASIBLE = 1e-12


def likely_counts(n: int, share: float) -> tuple[FloatArray, FloatArray]:
    """Return the counts within 9 standard deviations (and 40) of the mean of Bin(n, share), and their probabilities.

    What is left out has a probability below 1e-15.
    """
    reach = _WINDOW * math.sqrt(n * share * (1.0 - share)) + 40.0
    m = np.arange(max(0, math.floor(n * share - reach)), min(n, math.ceil(n * share + reach)) + 1.0)
    log_mass = (
        special.gammaln(n + 1.0)
        - special.gammaln(m + 1.0)
        - special.gammaln(n - m + 1.0)
        + special.xlogy(m, share)
        + special.xlog1py(n - m, -share)
    )
    return m, np.exp(log_mass)


def thinned(m: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Keep every k-th of very many counts, with k odd, and their share of the weight.

    Tails of two binomials at neighbouring large counts differ by parity and by the fraction that the critical count is
    rounded by. Both go through all their values within the counts kept: a power changes by less than 1e-6.
    """
    step = 2 * (m.size // (2 * _MANY)) + 1
    if step == 1:
        return m, weights
    kept = weights[::step]
    return m[::step], kept * (float(weights.sum()) / float(kept.sum()))


def at_least(least: FloatArray, m: FloatArray, share: float) -> FloatArray:
    """Return P(Bin(m, share) >= least), elementwise; 1 where `least` is 0 or below."""
    possible = (least <= m) & (least > 0.0)
    inside = np.where(possible, least, 1.0)
    rest = np.where(possible, m - inside + 1.0, 1.0)
    return np.where(possible, special.betainc(inside, rest, share), np.where(least > 0.0, 0.0, 1.0))


def fewest_wins(m: FloatArray, conf_level: float, test: PairedTest) -> FloatArray:
    """Return the fewest wins of one side, of m discordant items each, at which the test rejects; above m where none does.

    "score": (2b - m)^2/m > z^2. "exact": 2 P(Bin(m, 1/2) >= b) <= 1 - conf_level. "midp": the same less P(= b).
    """
    z = normal_quantile(conf_level)
    wins = np.floor(0.5 * (m + z * np.sqrt(m))) + 1.0
    if test == "score":
        return wins
    size = (1.0 - conf_level) * (1.0 + _ROUNDING)
    while (too_few := _two_sided(wins, m, test) > size).any():
        wins = wins + too_few
    while (spare := _two_sided(wins - 1.0, m, test) <= size).any():
        wins = wins - spare
    return wins


def _two_sided(wins: FloatArray, m: FloatArray, test: PairedTest) -> FloatArray:
    tail = at_least(wins, m, 0.5)
    return 2.0 * tail if test == "exact" else tail + at_least(wins + 1.0, m, 0.5)


def paired_binary_power(
    n: int,
    p10: float,
    p01: float,
    *,
    conf_level: float = 0.95,
    min_discordant: int = MIN_DISCORDANT,
    test: PairedTest = "score",
) -> float:
    """Exact power of a paired test on n right/wrong items with at least `min_discordant` discordant ones, in either direction.

    `p10` and `p01` are the probabilities that only the candidate, or only the baseline, gets an item right; tests are the
    "score" test (the headline), McNemar's "midp" or "exact". Summed over the number of discordant items m ~ Bin(n, p10 +
    p01), and the candidate's share of them Bin(m, p10/(p10 + p01)).

    Examples
    --------
    >>> round(paired_binary_power(43, 0.2, 0.1), 3)
    0.206
    """
    n = _checked_design(n, p10, p01)
    return _power(_rejections(n, p10 + p01, check_level(conf_level), min_discordant, test), (p10, p01))


@lru_cache(maxsize=1024)
def mde_paired_binary(n: int, discordance: float, *, conf_level: float = 0.95, power: float = 0.8) -> float | None:
    """Smallest difference, as a proportion, that the paired score test on n items finds with the power asked for.

    None where no difference could be found with that power (fewer than 6 items, or a very high level).

    `discordance`: Share of items on which the models differ, as observed or assumed. It bounds the difference; where even a
    difference as large as the discordance lacks power, the discordance is raised with the difference: every discordant item
    then favours one model, and the answer is the smallest such share.
    """
    n = check_count(n, "n", least=1)
    if not 0.0 <= discordance <= 1.0:
        raise InputError(f"discordance is {discordance:g}; give a proportion between 0 and 1")
    level = check_level(conf_level)
    goal = check_power(power, conf_level)

    # Where the discordance stays as it is, so do the counts that are summed over.
    design = _rejections(n, discordance, level, MIN_DISCORDANT)

    def power_at(delta: float) -> float:
        known = design if delta <= discordance else _rejections(n, delta, level, MIN_DISCORDANT)
        shared = max(discordance, delta)
        return _power(known, (0.5 * (shared + delta), 0.5 * (shared - delta)))

    return smallest_effect(power_at, goal, low=0.0, high=1.0, tolerance=_TOLERANCE)


def mde_from_std_error(
    std_error: float, df: float | None = None, *, conf_level: float = 0.95, power: float = 0.8
) -> float:
    """Smallest difference that a t test with this standard error finds with the power asked for; df None for a normal statistic.

    For clustered items use `mde_clusters`. Exact under normality: std_error times the noncentrality at which T exceeds its
    critical value with that power. The usual t_(1-alpha/2) + t_(power) is 1% too small at 5 df and 5% at 2.
    """
    positive(std_error, "std_error")
    level = check_level(conf_level)
    goal = check_power(power, level)
    if df is None or math.isinf(df):
        return std_error * (normal_quantile(level) + float(special.ndtri(goal)))
    return std_error * float(special.nctdtrinc(positive(df, "df"), 1.0 - goal, t_quantile(level, df)))


def _checked_design(n: int, p10: float, p01: float) -> int:
    if not (p10 >= 0.0 and p01 >= 0.0 and p10 + p01 <= 1.0 + _FEASIBLE):
        raise InputError(f"p10 = {p10:g} and p01 = {p01:g} are not the probabilities of two discordant cells")
    return check_count(n, "n", least=1)


Rejections = tuple[FloatArray, FloatArray, FloatArray]


def _rejections(
    n: int, discordance: float, level: float, min_discordant: int, test: PairedTest = "score"
) -> Rejections:
    """Return the likely numbers of discordant items, their weights, and the fewest wins at which the test rejects in each."""
    m, weight = likely_counts(n, min(1.0, discordance))
    keep = m >= max(1, min_discordant)
    m, weight = thinned(m[keep], weight[keep])
    return m, weight, fewest_wins(m, level, test)


def _power(rejections: Rejections, shares: tuple[float, float]) -> float:
    m, weight, least = rejections
    share = shares[0] / max(sum(shares), 1e-300)
    return float(weight @ (at_least(least, m, share) + at_least(least, m, 1.0 - share)))


def discordant_shares(discordance: float, delta: float) -> tuple[float, float]:
    """Return the probabilities that only the candidate, and only the baseline, gets an item right."""
    if not 0.0 <= discordance <= 1.0:
        raise InputError(f"discordance is {discordance:g}; give a proportion between 0 and 1")
    if abs(delta) > discordance + _FEASIBLE:
        raise InputError(
            f"a difference of {delta:g} needs at least as large a share of items on which the two differ, and "
            f"discordance is {discordance:g}"
        )
    return 0.5 * (discordance + delta), max(0.0, 0.5 * (discordance - delta))


def connor_n(delta: float, discordance: float, *, conf_level: float = 0.95, power: float = 0.8) -> float:
    """Items for the paired test of two proportions by Connor's normal formula; a quick start, not rounded.

    n = [z_(1 - alpha/2) sqrt(psi) + z_power sqrt(psi - delta^2)]^2 / delta^2, psi the discordance. It ignores that counts
    are whole and that fewer than 6 discordant items decide nothing.
    """
    if delta == 0.0:
        raise InputError("delta is 0; give the difference that is to be found")
    discordant_shares(discordance, delta)
    level = check_level(conf_level)
    z, z_power = normal_quantile(level), float(special.ndtri(check_power(power, level)))
    return (z * math.sqrt(discordance) + z_power * math.sqrt(discordance - delta**2)) ** 2 / delta**2


def precision_n(half_width: float, variance: float, *, conf_level: float = 0.95) -> float:
    """Items at which the interval reaches `half_width` to either side: z^2 variance / h^2, not rounded.

    `variance` is that of one item's difference; psi - delta^2 for right/wrong items.
    """
    return (
        normal_quantile(check_level(conf_level)) ** 2
        * positive(variance, "variance")
        / positive(half_width, "half_width") ** 2
    )


def paired_binary_margin_power(
    n: int,
    p10: float,
    p01: float,
    margin: float,
    *,
    test: MarginClaim = "noninferiority",
    conf_level: float = 0.95,
) -> float:
    """Exact power to show non-inferiority or equivalence at a margin on n right/wrong items, by Tango's score test.

    Arguments as in `paired_binary_power`. "noninferiority": the score interval at level 2 conf_level - 1 lies above -margin.
    "equivalence": it lies within the margin on both sides.

    Notes
    -----
    Summed over every table that can occur. For c items that only the baseline gets right, Tango's statistic rises with b,
    so that each c has one b from which the lower test rejects, and one up to which the upper one does.
    """
    n = _checked_design(n, p10, p01)
    if not 0.0 < margin < 1.0:
        raise InputError(f"margin is {margin:g}; give a proportion between 0 and 1 (0.02 for two points)")
    z = normal_quantile(two_sided_level(conf_level))
    c, weight = thinned(*likely_counts(n, p01))
    rest = n - c
    share = p10 / max(p10, 1.0 - p01, 1e-300)
    above = at_least(_first_b(n, c, -margin, z), rest, share)
    if test == "noninferiority":
        return float(weight @ above)
    beyond = at_least(_first_b(n, c, margin, -z, reached=True), rest, share)
    return float(weight @ np.maximum(above - beyond, 0.0))


def _first_b(n: int, c: FloatArray, delta: float, bound: float, *, reached: bool = False) -> FloatArray:
    """Return for each c the smallest b with T(delta) > bound (>= where `reached`), n - c + 1 where there is none."""
    low, high = np.full(c.shape, -1.0), n - c + 1.0
    while (open_ := high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        statistic = tango_statistics(n, np.maximum(middle, 0.0), c, delta)
        enough = statistic >= bound if reached else statistic > bound
        high, low = np.where(open_ & enough, middle, high), np.where(open_ & ~enough, middle, low)
    return high


def two_proportions_power(n: int, baseline: float, candidate: float, *, conf_level: float = 0.95) -> float:
    """Power of the score test for two independent proportions, `n` rows on each side, in the direction of the truth.

    Notes
    -----
    Phi((|delta| - z sqrt(V_0)) / sqrt(V_1)): V_1 is the variance of the difference, V_0 what Miettinen and Nurminen's test takes
    it to be, 2 p (1 - p) / n times 2 n / (2 n - 1), with the mean p of both rates.

    Examples
    --------
    >>> round(two_proportions_power(500, 0.5, 0.6), 3)
    0.889
    """
    rows = check_count(n, "n", least=1)
    middle = 0.5 * (baseline + candidate)
    null = 2.0 * middle * (1.0 - middle) / rows * 2.0 * rows / (2.0 * rows - 1.0)
    truth = (baseline * (1.0 - baseline) + candidate * (1.0 - candidate)) / rows
    apart = abs(candidate - baseline) - normal_quantile(check_level(conf_level)) * math.sqrt(null)
    if not truth > 0.0:
        return float(apart > 0.0)
    return float(special.ndtr(apart / math.sqrt(truth)))
