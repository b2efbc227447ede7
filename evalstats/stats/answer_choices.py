"""Multiple choice by the answers themselves: unread answers, keys that strong models contradict, positions, shared errors.

Answers are codes 0, 1, ... of the options, shape (n_items, n_models), -1 where a model has no readable answer or was not run.

References: Haladyna & Rodriguez 2013, Developing and Validating Test Items (distractors); Rao & Scott 1981,
doi:10.1080/01621459.1981.10477633 (counts that are not multinomial); Cohen 1960, doi:10.1177/001316446002000104.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_values, check_level
from evalstats.stats.estimate import IntervalEstimate, normal_quantile, positive_p, t_quantile
from evalstats.stats.item_quality import least_p, strength_ranks, weak_models_test
from evalstats.stats.many.multiplicity import conditional_benjamini_hochberg
from evalstats.stats.one_sample import wilson

FEWEST_MODELS = 8
FEWEST_WRONG = 30
_AGREED, _CLEAR = 0.9, 0.05


def as_choices(choices: ArrayLike) -> IntArray:
    """Return int64 codes of shape (n_items, n_models), -1 for no answer, or raise InputError."""
    codes = np.asarray(choices)
    if codes.ndim != 2 or codes.dtype.kind not in "iu" or codes.size == 0:
        raise InputError(f"answers have shape {codes.shape} and type {codes.dtype}; give integer codes, items in rows")
    if int(codes.min()) < -1:
        raise InputError(f"answers hold {int(codes.min())}; codes are 0 or more, and -1 for no answer")
    return codes.astype(np.int64)


def as_keys(keys: ArrayLike, n_items: int) -> IntArray:
    """Return the code of the right option of every item, or raise InputError."""
    codes = np.asarray(keys)
    if codes.shape != (n_items,) or codes.dtype.kind not in "iu" or (n_items and int(codes.min()) < 0):
        raise InputError(
            f"keys have shape {codes.shape}; give the code, 0 or more, of the right option of each of {n_items} items"
        )
    return codes.astype(np.int64)


@record
class UnreadAnswers:
    """One model's score under three readings of the answers that could not be read.

    Attributes
    ----------
    n, n_unread
        Answers, and those among them that could not be read.
    left_out
        Score of the answers that were read.
    as_wrong
        Score with unread answers as wrong: right answers over all.
    as_luck
        Score that a random pick among the options is expected to give: as_wrong plus the chance of a hit on each unread answer.
    luck_sd
        Standard deviation of that pick over repetitions: what a published score owes to the draw.
    """

    n: int
    n_unread: int
    left_out: IntervalEstimate | None
    as_wrong: IntervalEstimate
    as_luck: float | None
    luck_sd: float | None

    @property
    def share(self) -> float:
        """Share of answers that could not be read."""
        return self.n_unread / self.n


def unread_answers(
    right: ArrayLike, unread: ArrayLike, n_options: ArrayLike | None = None, *, conf_level: float = 0.95
) -> UnreadAnswers:
    """Return a model's score with unread answers left out, as wrong, and as random picks.

    Parameters
    ----------
    right, unread
        Bool, shape (n,), one for every answer; an unread answer is not right.
    n_options
        Options of each item, shape (n,), at least 1; without them there is no expectation of a random pick.

    Examples
    --------
    >>> found = unread_answers([True] * 5 + [False] * 5, [False] * 8 + [True] * 2, [4] * 10)
    >>> found.left_out.estimate, found.as_wrong.estimate, found.as_luck
    (0.625, 0.5, 0.55)
    """
    hit, lost = np.asarray(right, dtype=np.bool_), np.asarray(unread, dtype=np.bool_)
    if hit.ndim != 1 or hit.shape != lost.shape or hit.size == 0:
        raise InputError(f"{hit.size} answers and {lost.size} marks of unread ones; give one of each for every answer")
    if (hit & lost).any():
        raise InputError(f"{int((hit & lost).sum())} unread answers count as right; they are guesses or were read")
    n, n_unread, n_right = hit.size, int(lost.sum()), int(hit.sum())
    chance = None if n_options is None else _chances(n_options, n)[lost]
    return UnreadAnswers(
        n=n,
        n_unread=n_unread,
        left_out=wilson(n_right, n - n_unread, conf_level=conf_level) if n > n_unread else None,
        as_wrong=wilson(n_right, n, conf_level=conf_level),
        as_luck=None if chance is None else (n_right + float(chance.sum())) / n,
        luck_sd=None if chance is None else math.sqrt(float((chance * (1.0 - chance)).sum())) / n,
    )


def _chances(n_options: ArrayLike, n: int) -> FloatArray:
    options = as_values(n_options, "numbers of options")
    if options.size != n or options.min() < 1:
        raise InputError(
            f"{options.size} numbers of options from {options.min():g}; give at least 1 for each of {n} answers"
        )
    return 1.0 / options


@record
class ChanceLevel:
    """A model's number of right answers beside what blind picks give: one-sided p of "no better than blind"."""

    score: float
    chance: float
    p_value: float


def chance_level(right: ArrayLike, n_options: ArrayLike) -> ChanceLevel:
    """Test whether a model does better than a pick at random among the options.

    The number of blind hits has the mean and variance of independent picks, and a normal law with continuity correction.

    Examples
    --------
    >>> found = chance_level([True] * 40 + [False] * 60, [4] * 100)
    >>> found.score, found.chance, round(found.p_value, 5)
    (0.4, 0.25, 0.00041)
    """
    hit = np.asarray(right, dtype=np.bool_)
    chance = _chances(n_options, hit.size)
    mean, spread = float(chance.sum()), math.sqrt(float((chance * (1.0 - chance)).sum()))
    z = (float(hit.sum()) - 0.5 - mean) / spread if spread > 0.0 else -math.inf
    return ChanceLevel(
        score=float(hit.mean()), chance=float(chance.mean()), p_value=positive_p(float(special.ndtr(-z)))
    )


@record
class RivalOptions:
    """Of each item the option other than the key that most models choose, and whether the strong ones do. Shape (n_items,).

    Attributes
    ----------
    option
        Its code; -1 where no model is wrong.
    n_chosen, n_right, n_models
        Models that choose it, that choose the key, and that have a readable answer.
    strong_share
        Share of the stronger half of those models that choose it.
    p_value, p_adjusted
        One-sided, of "strong models choose it no more often than weak ones"; NaN where not tested.
    """

    option: IntArray
    n_chosen: IntArray
    n_right: IntArray
    n_models: IntArray
    strong_share: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    least_p: float

    @property
    def suspect(self) -> BoolArray:
        """Items that more models answer with the rival than with the key, strong models above all.

        Either the test says so (adjusted p up to .05), or nine tenths of the stronger half agree on the rival: where all models
        do, nobody is left to test against.
        """
        agreed = (self.strong_share >= _AGREED) & (self.n_models >= FEWEST_MODELS)
        return (self.n_chosen > self.n_right) & (agreed | (self.p_adjusted <= _CLEAR))


def rival_options(choices: ArrayLike, keys: ArrayLike) -> RivalOptions:
    """Test of every item whether strong models agree on another option than the key: a wrong key, or a trap.

    A wrong option draws weak models; one that draws the strong ones is likely to be right. Which option is looked at
    follows from the counts alone and not from who chose it, so no correction is due for the choice. No model need be right, so
    it reaches items that every model gets wrong.

    Notes
    -----
    The rank-sum test of `weak_models_test` on those who did not choose the rival; the family as in `item_slopes`. Strong
    models may share a misconception: a rival is a reason to look at the item. Of 33 questions of MMLU-Pro whose key was
    changed later, the rival under the old key was the new key in 23, and 13 of these were suspects; of all questions
    2.4% are.

    Examples
    --------
    >>> keys, rng = np.zeros(100, dtype=int), np.random.default_rng(0)
    >>> able = np.linspace(0.2, 0.9, 20)
    >>> choices = np.where(rng.random((100, 20)) < able, 0, rng.integers(1, 4, (100, 20)))
    >>> choices[5] = np.where(able > 0.5, 2, 0)
    >>> found = rival_options(choices, keys)
    >>> int(np.nanargmin(found.p_value)), int(found.option[5]), bool(found.p_adjusted[5] < 0.05)
    (5, 2, True)
    """
    codes = as_choices(choices)
    key = as_keys(keys, codes.shape[0])
    seen = codes >= 0
    right = seen & (codes == key[:, None])
    counts = np.stack([(codes == option).sum(axis=1) for option in range(int(max(codes.max(), key.max())) + 1)], axis=1)
    counts[np.arange(key.size), key] = 0
    n_chosen = counts.max(axis=1)
    option = np.where(n_chosen > 0, counts.argmax(axis=1), -1)
    n_models = seen.sum(axis=1)
    ranks = strength_ranks(right.astype(np.float64), seen)
    chose = seen & (codes == option[:, None])
    tested = (n_models >= FEWEST_MODELS) & (n_chosen > 0) & (n_chosen < n_models)
    test = weak_models_test((seen & ~chose)[tested], ranks[tested], seen[tested])
    p_value, p_adjusted = np.full(key.size, np.nan), np.full(key.size, np.nan)
    p_value[tested] = test.p_value
    p_adjusted[tested] = conditional_benjamini_hochberg(test.p_value, test.cut)
    strong = seen & (ranks > n_models[:, None] / 2.0)
    return RivalOptions(
        option=option.astype(np.int64),
        n_chosen=n_chosen.astype(np.int64),
        n_right=right.sum(axis=1).astype(np.int64),
        n_models=n_models.astype(np.int64),
        strong_share=(chose & strong).sum(axis=1) / np.maximum(strong.sum(axis=1), 1),
        p_value=p_value,
        p_adjusted=p_adjusted,
        least_p=least_p(int(n_models.max())),
    )


@record
class PositionBias:
    """Which positions a model chooses when it is wrong, beside an even choice among the wrong options. Shape (n_positions,).

    Attributes
    ----------
    n_wrong
        Wrong answers.
    share, expected
        Share of them at each position, and what it would be if every wrong option drew alike.
    favourite, excess
        The position chosen most above that, and by how much.
    p_value
        Of an even choice; with many answers any unevenness shows, so read `excess`.
    """

    n_wrong: int
    share: FloatArray
    expected: FloatArray
    favourite: int
    excess: IntervalEstimate
    p_value: float


def position_bias(
    choices: ArrayLike, keys: ArrayLike, n_options: ArrayLike, *, conf_level: float = 0.95
) -> PositionBias | None:
    """Compare where one model's wrong answers stand with an even choice; None with fewer than 30 wrong answers.

    Parameters
    ----------
    choices, keys, n_options
        Shape (n,): codes of position, the answer -1 where unread, and how many options each item has. Items whose answer or
        key lies beyond its options are left out.

    Notes
    -----
    Each wrong answer is one draw among n_options - 1 positions; the statistic is the quadratic form of observed less expected
    counts in the inverse of their covariance, with a chi-squared law. The interval of the excess is adjusted for the positions
    (Bonferroni).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> keys = rng.integers(0, 4, 400)
    >>> answers = np.where(rng.random(400) < 0.3, 0, rng.integers(0, 4, 400))
    >>> found = position_bias(answers, keys, np.full(400, 4))
    >>> found.favourite, round(found.excess.estimate, 2), found.p_value < 0.001
    (0, 0.16, True)
    """
    chosen, key = np.asarray(choices, dtype=np.int64), np.asarray(keys, dtype=np.int64)
    options = np.asarray(n_options, dtype=np.int64)
    level = check_level(conf_level)
    usable = (chosen >= 0) & (chosen != key) & (key >= 0) & (chosen < options) & (key < options)
    chosen, key, options = chosen[usable], key[usable], options[usable]
    n = chosen.size
    if n < FEWEST_WRONG:
        return None
    width = int(options.max())
    chance = (np.arange(width) < options[:, None]) & (np.arange(width) != key[:, None])
    p = chance / (options[:, None] - 1.0)
    observed, expected = np.bincount(chosen, minlength=width).astype(np.float64), p.sum(axis=0)
    covariance = np.diag(expected) - p.T @ p
    apart = observed - expected
    p_value = _quadratic_p(apart, covariance)
    favourite = int(np.argmax(apart))
    score = (chosen == favourite) - p[:, favourite]
    std_error = float(score.std(ddof=1)) / math.sqrt(n)
    reach = normal_quantile(1.0 - (1.0 - level) / width) * std_error
    excess = IntervalEstimate(
        estimate=float(score.mean()),
        method="share of wrong answers at a position less an even choice",
        conf_level=level,
        n=n,
        std_error=std_error,
        conf_low=float(score.mean()) - reach,
        conf_high=float(score.mean()) + reach,
    )
    return PositionBias(
        n_wrong=n,
        share=observed / n,
        expected=expected / n,
        favourite=favourite,
        excess=excess,
        p_value=positive_p(p_value),
    )


def _quadratic_p(apart: FloatArray, covariance: FloatArray) -> float:
    """Return the chi-squared p of a vector with this covariance, on the directions in which it varies."""
    values, vectors = np.linalg.eigh(covariance)
    varies = values > 1e-9 * float(values.max(initial=0.0))
    if not varies.any():
        return 1.0
    along = np.square(vectors[:, varies].T @ apart) / values[varies]
    return float(special.gammaincc(int(varies.sum()) / 2.0, float(along.sum()) / 2.0))


@record
class SharedErrors:
    """How often pairs of models give the same wrong answer, beyond what each item's wrong answers make likely.

    Arrays have shape (n_pairs,); pairs with fewer than 30 items on which both are wrong are left out.

    Attributes
    ----------
    first, second
        Columns of the models.
    n_both_wrong
        Items on which both are wrong and at least two other models are.
    agreement, expected
        Share of these with the same answer, and the share that two of the other models have, drawn at random.
    kappa, std_error, conf_low, conf_high
        (agreement - expected) / (1 - expected): 0 for a pair that agrees as often as two of the other models, 1 for the same
        errors always; intervals over items, at the level asked for jointly over all pairs (Bonferroni).
    """

    first: IntArray
    second: IntArray
    n_both_wrong: IntArray
    agreement: FloatArray
    expected: FloatArray
    kappa: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    conf_level: float


def shared_errors(choices: ArrayLike, keys: ArrayLike, *, conf_level: float = 0.95) -> SharedErrors | None:
    """Estimate for all pairs of models how far their wrong answers agree beyond those of the others; None with fewer than four.

    Pairs of one family lie above 0. One close to 1 is consistent with one model under two names, or with one trained on the
    other's answers.

    Notes
    -----
    On an item with s other models wrong, c of them with one answer, two of these agree with the chance
    sum c (c - 1) / (s (s - 1)), which is not biased by how few they are. The standard error is that of a ratio over items.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> choices = rng.integers(0, 5, (300, 6))
    >>> choices[:250, 1] = choices[:250, 0]
    >>> found = shared_errors(choices, np.zeros(300, dtype=int))
    >>> top = int(found.kappa.argmax())
    >>> int(found.first[top]), int(found.second[top]), round(float(found.kappa[top]), 2)
    (0, 1, 0.87)
    """
    codes = as_choices(choices)
    key = as_keys(keys, codes.shape[0])
    level = check_level(conf_level)
    wrong = (codes >= 0) & (codes != key[:, None])
    n_wrong = wrong.sum(axis=1)
    kept = n_wrong >= 4
    if not kept.any():
        return None
    both, *sums = _pair_sums(np.where(wrong, codes, -1)[kept], n_wrong[kept])
    first, second = np.triu_indices(codes.shape[1], 1)
    enough = both[first, second] >= FEWEST_WRONG
    first, second = first[enough], second[enough]
    if first.size == 0:
        return None
    n, same, likely, squares, cross = (each[first, second] for each in (both, *sums))
    room = n - likely
    possible = room > 1e-9 * n
    first, second, n, same, likely, squares, cross, room = (
        each[possible] for each in (first, second, n, same, likely, squares, cross, room)
    )
    kappa = (same - likely) / room
    # Sum over items of (same - likely - kappa (1 - likely))^2, multiplied out.
    k = kappa
    variance = (
        same + squares * (1 - k) ** 2 + k**2 * n - 2 * (1 - k) * cross - 2 * k * same + 2 * k * (1 - k) * likely
    ) / np.square(room)
    std_error = np.sqrt(np.maximum(variance, 0.0) * n / (n - 1.0))
    reach = np.array([t_quantile(1.0 - (1.0 - level) / n.size, float(df)) for df in np.unique(n - 1)])
    reach = reach[np.unique(n - 1, return_inverse=True)[1]] * std_error
    return SharedErrors(
        first=first.astype(np.int64),
        second=second.astype(np.int64),
        n_both_wrong=np.rint(n).astype(np.int64),
        agreement=same / n,
        expected=likely / n,
        kappa=kappa,
        std_error=std_error,
        conf_low=kappa - reach,
        conf_high=np.minimum(kappa + reach, 1.0),
        conf_level=level,
    )


def _pair_sums(codes: IntArray, n_wrong: IntArray) -> tuple[FloatArray, ...]:
    """Sum over the items on which both of a pair are wrong; shape (n_models, n_models) each.

    Returned are the items, same answers, their chance, its square, and the chance where the answers are the same.
    Without models a and b, the ordered pairs of equal wrong answers are P - 2(c_a - 1) - 2(c_b - 1) + 2 [same], with P those of
    all models and c_a the models that answer as a does.
    """
    wrong: FloatArray = (codes >= 0).astype(np.float64)
    answered = [(codes == option).astype(np.float64) for option in range(int(codes.max()) + 1)]
    company = sum((each * each.sum(axis=1, keepdims=True) for each in answered), np.zeros(wrong.shape))
    x = 2.0 * (company - wrong)  # 2 (c_a - 1), 0 where not wrong
    pairs = np.square(np.stack([each.sum(axis=1) for each in answered])).sum(axis=0) - n_wrong
    w = 1.0 / ((n_wrong - 2.0) * (n_wrong - 3.0))

    def over(left: FloatArray, weight: FloatArray, right: FloatArray) -> FloatArray:
        return (left * weight[:, None]).T @ right

    def where_same(weight: FloatArray, table: FloatArray | None = None) -> FloatArray:
        return sum(
            (over(each if table is None else each * table, weight, each) for each in answered),
            np.zeros((wrong.shape[1],) * 2),
        )

    def both_ways(weight: FloatArray, table: FloatArray) -> FloatArray:
        one = over(table, weight, wrong)
        return one + one.T

    same = where_same(np.ones_like(w))
    likely = over(wrong, w * pairs, wrong) - both_ways(w, x) + 2.0 * where_same(w)
    # Where both answer alike, x is the same for both.
    cross = where_same(w * (pairs + 2.0)) - 2.0 * where_same(w, x)
    w2 = np.square(w)
    squares = (
        over(wrong, w2 * np.square(pairs), wrong)
        + both_ways(w2, np.square(x))
        + 2.0 * over(x, w2, x)
        - 2.0 * both_ways(w2 * pairs, x)
        + where_same(w2 * (4.0 + 4.0 * pairs))
        - 8.0 * where_same(w2, x)
    )
    return over(wrong, np.ones_like(w), wrong), same, likely, squares, cross
