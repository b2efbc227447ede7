"""Interactions of models with groups of items: do profiles run parallel, and do models swap their order?"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.many.multiplicity import holm

_MIN_UNITS = 6
# A stratum of questions with the same number of successes holds at least so many for each group.
_IN_EACH = 2
_ROUNDING = 1e-9
# Largest number of permuted scores kept at once.
_BLOCK = 4_000_000
_MOST_PERMUTED = 15_000_000
_LEAST_DRAWS = 499


@record
class ParallelismTest:
    """The test that profiles run parallel, from `n_resamples` permutations.

    `statistic` is the sum of squared z of all models and groups (right or wrong), or the largest |t| of them (graded scores);
    `p_value` the share of permutations with one at least as large, the observed one among them.
    """

    statistic: float
    p_value: float
    n_resamples: int


def parallelism_test(
    scores: FloatArray, group: IntArray, unit: IntArray, *, binary: bool, n_resamples: int = 1_999, seed: int = 0
) -> ParallelismTest:
    """Test that a group of questions does the same to every model, by permutation of the groups.

    With a single model: that groups do not differ. `scores`, shape (n_questions, n_models), are NaN where a model has none, and
    right or wrong answers where `binary`; `group` and `unit` are codes from 0 of the group that each question belongs to, and of
    the independent unit. A unit in one group is permuted whole; in a unit that is in several groups, its own groups are.
    CannotAnswerError if there are fewer than six units, or nothing varies.

    Right or wrong: questions are laid in strata of the same number of successes over the models. If the log-odds of
    success are a model's skill less a question's difficulty (the Rasch model, 1960), then which models succeed does not depend
    on the group within a stratum, however hard the groups are and however unlike the models. So groups are permuted within
    strata, as in the Mantel-Haenszel test of differential item functioning (Holland & Thayer 1988), and the test is exact near
    0% and 100% too. It is exact as well for models that copy one another, as long as groups are equally hard. Each z has the
    variance within strata.

    Graded: residuals from the mean of each question are permuted, and each |t| has the variances of its own groups, so
    that groups may scatter unlike (Chung & Romano 2013, doi:10.1214/13-AOS1090; Friedrich, Brunner & Pauly 2017,
    doi:10.1016/j.jmva.2016.10.004).

    >>> rng = np.random.default_rng(0)
    >>> skill = np.array([2.0, 0.0, 0.0])
    >>> group = np.arange(300) % 3
    >>> scores = (rng.random((300, 3)) < 1 / (1 + np.exp(-np.where(group[:, None] == 0, -skill, skill)))).astype(float)
    >>> parallelism_test(scores, group, np.arange(300), binary=True, n_resamples=999).p_value
    0.001
    """
    n_questions, n_models = scores.shape
    n_units = len(np.unique(unit))
    if n_units < _MIN_UNITS:
        raise CannotAnswerError(f"{n_units} independent units are too few to permute; {_MIN_UNITS} are needed")
    n_groups = int(group.max()) + 1
    stratified = binary and n_models > 1
    level = _level(scores)
    stratum = _strata(level, _IN_EACH * n_groups) if stratified else np.zeros(n_questions, dtype=np.int64)
    residual = _within(scores, stratum) if stratified or n_models == 1 else _within(scores - level[:, None], stratum)
    spread = _sums(residual**2, stratum) / np.maximum(np.bincount(stratum)[:, None] - 1.0, 1.0)
    variance = spread[stratum]  # of each model within the stratum of each question
    varied = (variance > _ROUNDING * max(float(variance.max()), _ROUNDING)).any(axis=1)
    if not varied.any():
        message = "no question is answered better by some models than by others" if n_models > 1 else "no score differs"
        raise CannotAnswerError(message)
    if stratified:
        # A question that all models get right tells nothing, and within its stratum it moves nothing.
        residual, variance = residual[varied], variance[varied]
        group, unit, stratum = group[varied], unit[varied], stratum[varied]
    arranged = _Arrangement.of(group, unit, stratum, n_groups)
    draws = int(np.clip(_MOST_PERMUTED // residual.size, min(_LEAST_DRAWS, n_resamples), n_resamples))
    rng = np.random.default_rng(seed)

    def statistic(labels: IntArray) -> FloatArray:
        if stratified:
            return _sum_of_squares(labels, residual, variance, n_groups)
        return _largest(labels, residual, n_groups)

    observed = float(statistic(group[None, :])[0])
    block = max(1, _BLOCK // residual.size)
    reached = 0
    for start in range(0, draws, block):
        drawn = statistic(arranged.drawn(min(block, draws - start), rng))
        reached += int((drawn >= observed * (1 - _ROUNDING)).sum())
    return ParallelismTest(statistic=observed, p_value=(1 + reached) / (1 + draws), n_resamples=draws)


def _level(scores: FloatArray) -> FloatArray:
    """How well each question is answered, free of which models have a score: mean of what each is above the model's mean."""
    above = scores - np.nanmean(scores, axis=0)
    return np.nanmean(above, axis=1)


def _strata(level: FloatArray, least: int) -> IntArray:
    """Put questions of the same level together; neighbouring levels share a stratum until it holds `least`."""
    _, code = np.unique(np.round(level, 9), return_inverse=True)
    counts = np.bincount(code)
    of_level = np.empty(len(counts), dtype=np.int64)
    stratum, held = 0, 0
    for place, count in enumerate(counts):
        if held >= least:
            stratum, held = stratum + 1, 0
        of_level[place] = stratum
        held += int(count)
    if held < least and stratum:
        of_level[of_level == stratum] = stratum - 1
    return of_level[code]


def _within(scores: FloatArray, stratum: IntArray) -> FloatArray:
    """Residuals from each model's mean within strata; 0 where there is no score, which then moves nothing."""
    known = ~np.isnan(scores)
    filled = np.where(known, scores, 0.0)
    total, count = _sums(filled, stratum), _sums(known.astype(np.float64), stratum)
    mean = total / np.maximum(count, 1.0)
    return np.where(known, filled - mean[stratum], 0.0)


def _sums(values: FloatArray, code: IntArray) -> FloatArray:
    out = np.zeros((int(code.max()) + 1, values.shape[1]))
    np.add.at(out, code, values)
    return out


@record
class _Arrangement:
    """What may be permuted: groups of whole units within a stratum, and the groups that a unit has within it.

    `first` and `of_unit` are places of the first questions of units in one group, and for each question of such a unit which
    of them it follows; `slots` are (questions, number of the unit's group) by the number of groups that a unit has.
    """

    group: IntArray
    whole: tuple[IntArray, ...]
    follows: tuple[IntArray, ...]
    slots: tuple[tuple[IntArray, IntArray, IntArray, IntArray], ...]

    @classmethod
    def of(cls, group: IntArray, unit: IntArray, stratum: IntArray, n_groups: int) -> "_Arrangement":
        code = np.unique(unit, return_inverse=True)[1]
        pairs = np.unique(code * n_groups + group)
        n_own = np.bincount(pairs // n_groups)
        first = np.unique(code, return_index=True)[1]
        # A unit of several questions has the stratum of the middle one.
        by_unit = np.split(stratum[np.argsort(code, kind="stable")], np.cumsum(np.bincount(code))[:-1])
        middle = np.array([int(np.median(part)) for part in by_unit], dtype=np.int64)
        whole: list[IntArray] = []
        follows: list[IntArray] = []
        for each in np.unique(middle[n_own == 1]):
            own = np.flatnonzero((middle == each) & (n_own == 1))
            place = np.full(len(n_own), -1, dtype=np.int64)
            place[own] = np.arange(len(own))
            questions = np.flatnonzero(place[code] >= 0)
            whole.append(np.stack([questions, place[code[questions]]]))
            follows.append(group[first[own]])
        slots: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
        starts = np.concatenate([[0], np.cumsum(n_own)[:-1]])
        for size in np.unique(n_own[n_own > 1]):
            own = np.flatnonzero(n_own == size)
            place = np.full(len(n_own), -1, dtype=np.int64)
            place[own] = np.arange(len(own))
            questions = np.flatnonzero(place[code] >= 0)
            held = (pairs % n_groups)[starts[own][:, None] + np.arange(size)]
            slot = (held[place[code[questions]]] == group[questions][:, None]).argmax(axis=1)
            slots.append((questions, place[code[questions]], slot.astype(np.int64), held))
        return cls(group=group, whole=tuple(whole), follows=tuple(follows), slots=tuple(slots))

    def drawn(self, n: int, rng: np.random.Generator) -> IntArray:
        """Return the groups of all questions in `n` permutations, shape (n, n_questions)."""
        labels = np.repeat(self.group[None, :], n, axis=0)
        for (questions, place), own in zip(self.whole, self.follows, strict=True):
            labels[:, questions] = rng.permuted(np.repeat(own[None, :], n, axis=0), axis=1)[:, place]
        for questions, place, slot, held in self.slots:
            labels[:, questions] = rng.permuted(np.repeat(held[None], n, axis=0), axis=2)[:, place, slot]
        return labels


def _by_group(labels: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Return sums of each column over the questions of each group, shape (n, n_columns, n_groups)."""
    n = len(labels)
    key = (labels + n_groups * np.arange(n)[:, None]).ravel()
    sums = [np.bincount(key, np.tile(column, n), n * n_groups).reshape(n, n_groups) for column in values.T]
    return np.stack(sums, axis=1).astype(np.float64, copy=False)


def _sum_of_squares(labels: IntArray, residual: FloatArray, variance: FloatArray, n_groups: int) -> FloatArray:
    """Sum of squared z: what is left of each model in each group over its standard deviation within strata."""
    sums, own = _by_group(labels, residual, n_groups), _by_group(labels, variance, n_groups)
    total = variance.sum(axis=0)[None, :, None]
    spread = own * (1.0 - own / np.maximum(total, _ROUNDING))
    enough = spread > _ROUNDING * max(float(total.max()), _ROUNDING)
    return np.where(enough, sums**2 / np.where(enough, spread, 1.0), 0.0).sum(axis=(1, 2))


def _largest(labels: IntArray, residual: FloatArray, n_groups: int) -> FloatArray:
    """Largest |t| of a group's mean residual less the mean over groups, with the variances of these groups."""
    ones = np.ones((len(residual), 1))
    n = _by_group(labels, ones, n_groups)
    mean = _by_group(labels, residual, n_groups) / np.maximum(n, 1.0)
    square = _by_group(labels, residual**2, n_groups) / np.maximum(n, 1.0)
    variance = np.maximum(square - mean**2, 0.0) / np.maximum(n - 1.0, 1.0)
    spread = (1.0 - 2.0 / n_groups) * variance + variance.sum(axis=2, keepdims=True) / n_groups**2
    enough = spread > _ROUNDING * max(float(variance.max()), _ROUNDING**2)
    t = np.abs(mean - mean.mean(axis=2, keepdims=True)) / np.sqrt(np.where(enough, spread, 1.0))
    return np.where(enough, t, 0.0).max(axis=(1, 2))


@record
class Swap:
    """One pair of models.

    `first_better` and `second_better` name the scenario in which the data speak most clearly for each; None where its estimate
    is the better one in none. `p_value` is of "their order is the same in all scenarios" (either way, or equal): the larger of
    two p, one for each direction, each the smallest one-sided p times the number of scenarios; null where fewer than two
    scenarios can be compared. `p_adjusted` is the same by Holm over all pairs, and `shown` whether that is at most 1 -
    conf_level.
    """

    first: str
    second: str
    first_better: str | None
    second_better: str | None
    p_value: float | None
    p_adjusted: float | None
    shown: bool


def ranking_change(
    estimates: ArrayLike,
    covariance: ArrayLike,
    *,
    models: Sequence[str],
    scenarios: Sequence[str],
    df: float | None = None,
    conf_level: float = 0.95,
) -> tuple[Swap, ...]:
    """Find pairs of models whose order is shown to differ between scenarios.

    "A is ahead here and not there" is no swap; both orders must be shown. An interaction, too, may leave the order as it is.
    `estimates`, shape (n_models, n_scenarios), are better where higher, on any scale that keeps the order; NaN where null.
    `covariance` is theirs together, scenarios running fastest; `df` the degrees of freedom of the differences, None for the
    normal law.

    A swap is shown by intersection-union (Berger 1982, doi:10.1080/00401706.1982.10487790; Piantadosi & Gail 1993,
    doi:10.1002/sim.4780121308): "A is never better" and "B is never better" must both be rejected, each by the smallest one-sided
    p over scenarios times their number, so the larger p counts and needs no further adjustment; Holm (1979, Scandinavian Journal
    of Statistics 6:65) over pairs of models.

    >>> (swap,) = ranking_change(
    ...     [[0.9, 0.2], [0.6, 0.5]], 0.002 * np.eye(4), models=["A", "B"], scenarios=["ideal", "rude"]
    ... )
    >>> swap.first_better, swap.second_better, round(swap.p_value, 6)
    ('ideal', 'rude', 2e-06)
    """
    theta, sigma = np.asarray(estimates, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if min(theta.shape) < 2:
        raise InputError(
            f"{len(models)} models in {len(scenarios)} scenarios: an order can change with at least 2 of each"
        )
    pairs = list(combinations(range(len(models)), 2))
    found = [_one_pair(theta, sigma, i, j, df=df) for i, j in pairs]
    made = [p for _, _, p in found if p is not None]
    stepped = iter(holm(made).tolist() if made else [])
    adjusted = [None if p is None else next(stepped) for _, _, p in found]

    def clearest(p: FloatArray) -> str | None:
        return scenarios[int(np.nanargmin(p))] if (p < 0.5).any() else None

    return tuple(
        Swap(
            first=models[i],
            second=models[j],
            first_better=clearest(ahead),
            second_better=clearest(behind),
            p_value=p,
            p_adjusted=after,
            shown=after is not None and after <= 1.0 - conf_level,
        )
        for (i, j), (ahead, behind, p), after in zip(pairs, found, adjusted, strict=True)
    )


def _one_pair(
    theta: FloatArray, sigma: FloatArray, i: int, j: int, *, df: float | None
) -> tuple[FloatArray, FloatArray, float | None]:
    """One-sided p of each model being better, scenario by scenario (NaN where null), and the p of a swap."""
    n = theta.shape[1]
    d = theta[i] - theta[j]
    blocks = sigma.reshape(theta.shape + theta.shape)
    v = blocks[i, :, i] + blocks[j, :, j] - blocks[i, :, j] - blocks[j, :, i]
    total = np.diagonal(blocks[i, :, i]) + np.diagonal(blocks[j, :, j])
    known = np.isfinite(d) & (np.diagonal(v) > 1e-12 * np.maximum(total, 1e-300))
    z = np.full(n, np.nan)
    z[known] = d[known] / np.sqrt(np.diagonal(v)[known])
    ahead, behind = _upper(z, df), _upper(-z, df)
    m = int(known.sum())
    if m < 2:
        return ahead, behind, None
    return ahead, behind, max(min(1.0, m * float(np.nanmin(ahead))), min(1.0, m * float(np.nanmin(behind))))


def _upper(z: FloatArray, df: float | None) -> FloatArray:
    """Return P(Z >= z), in (0, 1]; NaN stays NaN."""
    tail = special.ndtr(-z) if df is None or math.isinf(df) else special.stdtr(df, -z)
    return np.maximum(np.asarray(tail, dtype=np.float64), SMALLEST_P)
