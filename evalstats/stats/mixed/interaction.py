"""Do several profiles run parallel? Models in groups of items: whether a group does the same to every model."""

from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray

_MIN_UNITS = 6
# A stratum of questions with the same number of successes holds at least so many for each group.
_IN_EACH = 2
_ROUNDING = 1e-9
# Largest number of permuted scores kept at once.
_BLOCK = 4_000_000
_MOST_PERMUTED = 15_000_000
_LEAST_DRAWS = 499


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelismTest:
    """The test that profiles run parallel.

    Attributes
    ----------
    statistic
        Sum of squared z of all models and groups (right or wrong), or the largest |t| of them (graded scores).
    p_value
        Share of permutations with a statistic at least as large, the observed one among them.
    n_resamples
        Permutations drawn.
    n_questions
        Questions that tell anything: those that some models answer better than others.
    """

    statistic: float
    p_value: float
    n_resamples: int
    n_questions: int


def parallelism_test(
    scores: FloatArray, group: IntArray, unit: IntArray, *, binary: bool, n_resamples: int = 1_999, seed: int = 0
) -> ParallelismTest:
    """Test that a group of questions does the same to every model, by permutation of the groups.

    With a single model: that groups do not differ.

    Parameters
    ----------
    scores
        float64, shape (n_questions, n_models); NaN where a model has no score.
    group
        int64, shape (n_questions,): codes from 0 of the group that each question belongs to.
    unit
        int64, shape (n_questions,): codes from 0 of the independent unit. A unit in one group is permuted whole; in a unit that
        is in several groups, its own groups are.
    binary
        Whether a score is one right or wrong answer.

    Raises
    ------
    InputError
        If shapes do not agree.
    CannotAnswerError
        If there are fewer than six units, or nothing varies.

    Notes
    -----
    Right or wrong: questions are laid in strata of the same number of successes over the models. If the log-odds of success
    are a model's skill less a question's difficulty (the Rasch model), then which models succeed does not depend on the group
    within a stratum, however hard the groups are and however unlike the models. So groups are permuted within strata, as in the
    Mantel-Haenszel test of differential item functioning, and the test is exact near 0% and 100% too. It is exact as well for
    models that copy one another, as long as groups are equally hard. Each z has the variance within strata.

    Graded: residuals from the mean of each question are permuted, and each |t| has the variances of its own groups, so
    that groups may scatter unlike (Chung & Romano).

    References
    ----------
    Rasch 1960; Holland & Thayer 1988 (Mantel-Haenszel and differential item functioning); Chung & Romano 2013,
    doi:10.1214/13-AOS1090; Friedrich, Brunner & Pauly 2017, doi:10.1016/j.jmva.2016.10.004.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> skill = np.array([2.0, 0.0, 0.0])
    >>> group = np.arange(300) % 3
    >>> scores = (rng.random((300, 3)) < 1 / (1 + np.exp(-np.where(group[:, None] == 0, -skill, skill)))).astype(float)
    >>> parallelism_test(scores, group, np.arange(300), binary=True, n_resamples=999).p_value
    0.001
    """
    n_questions, n_models = scores.shape
    if group.shape != (n_questions,) or unit.shape != (n_questions,):
        message = f"scores have shape {scores.shape}, groups {group.shape} and units {unit.shape}; give one of each a question"
        raise InputError(message)
    n_units = len(np.unique(unit))
    if n_units < _MIN_UNITS:
        message = f"{n_units} independent units are too few to permute; {_MIN_UNITS} are needed"
        raise CannotAnswerError(message)
    n_groups = int(group.max()) + 1
    stratified = binary and n_models > 1
    level = _level(scores)
    stratum = _strata(level, _IN_EACH * n_groups) if stratified else np.zeros(n_questions, dtype=np.int64)
    residual = _within(scores, stratum) if stratified or n_models == 1 else _within(scores - level[:, None], stratum)
    variance = _variance(residual, stratum)
    varied = (variance > _ROUNDING * max(float(variance.max()), _ROUNDING)).any(axis=1)
    if varied.sum() < 2:
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
    return ParallelismTest(
        statistic=observed,
        p_value=(1 + reached) / (1 + draws),
        n_resamples=draws,
        n_questions=int(varied.sum()),
    )


def _level(scores: FloatArray) -> FloatArray:
    """How well each question is answered, free of which models have a score: mean of what each is above the model's mean."""
    above = scores - np.nanmean(scores, axis=0)
    return np.nanmean(above, axis=1)


def _strata(level: FloatArray, least: int) -> IntArray:
    """Put questions of the same level together; neighbouring levels share a stratum until it holds `least`."""
    _, code = np.unique(np.round(level, 9), return_inverse=True)
    counts = np.bincount(code)
    of_level = np.zeros(len(counts), dtype=np.int64)
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


def _variance(residual: FloatArray, stratum: IntArray) -> FloatArray:
    """Variance of each model within the stratum of each question."""
    counts = np.bincount(stratum)[:, None]
    return (_sums(residual**2, stratum) / np.maximum(counts - 1.0, 1.0))[stratum]


def _sums(values: FloatArray, code: IntArray) -> FloatArray:
    out = np.zeros((int(code.max()) + 1, values.shape[1]))
    np.add.at(out, code, values)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
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
        middle = np.array([int(np.median(part)) for part in np.split(*_by(code, stratum))], dtype=np.int64)
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


def _by(code: IntArray, values: IntArray) -> tuple[IntArray, IntArray]:
    """Values ordered by a code that starts at 0 without gaps, and where to split them."""
    return values[np.argsort(code, kind="stable")], np.cumsum(np.bincount(code))[:-1]


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
