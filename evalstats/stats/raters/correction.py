"""What a judge's scores, and the difference of two models, become when people have labelled a part of the answers.

Rogan and Gladen's correction is for shares, prediction-powered means are for scores.

A judge that errs at random makes scores noisy; one that errs to one side makes them wrong, and no number of judged items helps.
Labels of a random part tell how it errs; how many to buy is told from those that are there.

References: Rogan & Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510; Lang & Reiczigel 2014,
doi:10.1016/j.prevetmed.2013.09.015; Angelopoulos, Bates et al. 2023, doi:10.1126/science.adi6000; Angelopoulos, Duchi & Zrnic
2023, arXiv:2311.01453; Horvitz & Thompson 1952, doi:10.1080/01621459.1952.10483446.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    as_codes,
    as_values,
    check_count,
    check_level,
    too_few_clusters,
)
from evalstats.stats.estimate import IntervalEstimate, normal_quantile, positive_p, t_quantile, two_sided_t_p
from evalstats.stats.one_sample import wilson_ends

# Below so much of sensitivity + specificity - 1 a corrected share hangs on the labels of very few items.
WEAK_JUDGE = 0.3
FEW_LABELS = 50
# With 10 labels of a binary score of 0.9 the intervals hold the truth in 86% (simulated), with 20 in 95%.
FEWEST_LABELS = 20
# The level of one pair of models where several are adjusted for.
_OF_PAIRS = 0.99
# Rounding of chances that were written to a file.
_WHOLE = 1e-6


@record
class JudgeErrors:
    """How a judge's yes and no compare with people's, as counts of labelled items."""

    yes_yes: int
    yes_no: int
    no_yes: int
    no_no: int

    @property
    def sensitivity(self) -> float:
        """Share of people's yes that the judge says yes to (its second word); NaN without any."""
        n = self.yes_yes + self.no_yes
        return self.yes_yes / n if n else math.nan

    @property
    def specificity(self) -> float:
        """Share of people's no that the judge says no to; NaN without any."""
        n = self.no_no + self.yes_no
        return self.no_no / n if n else math.nan


def judge_errors(judged: ArrayLike, labels: ArrayLike) -> JudgeErrors:
    """Count how a judge's verdicts (0 or 1) go with people's labels (0 or 1)."""
    f, y = as_values(judged, "verdicts"), as_values(labels, "labels")
    if f.shape != y.shape or not np.isin(f, (0, 1)).all() or not np.isin(y, (0, 1)).all():
        raise InputError("verdicts and labels must be 0 or 1, one of each for every labelled item")
    counts = np.bincount((2 * f + y).astype(np.int64), minlength=4)
    return JudgeErrors(no_no=int(counts[0]), no_yes=int(counts[1]), yes_no=int(counts[2]), yes_yes=int(counts[3]))


def rogan_gladen(n_yes: int, n: int, errors: JudgeErrors, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Estimate the true share of yes from a judge's share of yes and how it errs on labelled items.

    `n_yes`, `n`: items the judge says yes to, of all it judged; labelled ones are not among them. `errors`: its verdicts on
    items that people labelled, drawn from those with a true yes and a true no at will.
    """
    level = check_level(conf_level)
    n_yes, n = check_count(n_yes, "n_yes"), check_count(n, "n", least=1)
    if n_yes > n:
        raise InputError(f"n_yes is {n_yes} of n = {n}; it cannot be more")
    n_pos, n_neg = errors.yes_yes + errors.no_yes, errors.no_no + errors.yes_no
    if not n_pos or not n_neg:
        raise CannotAnswerError("labels hold only one of yes and no, so the judge's errors on the other are not known")
    power = errors.sensitivity + errors.specificity - 1.0
    if power <= 0:
        raise CannotAnswerError(
            f"the judge's sensitivity {errors.sensitivity:.2f} and specificity {errors.specificity:.2f} tell nothing: together "
            "they must exceed 1"
        )
    p = n_yes / n
    raw = (p + errors.specificity - 1.0) / power
    variance = (
        p * (1 - p) / n
        + raw**2 * errors.sensitivity * (1 - errors.sensitivity) / n_pos
        + (1 - raw) ** 2 * errors.specificity * (1 - errors.specificity) / n_neg
    ) / power**2
    estimate = min(max(raw, 0.0), 1.0)
    low, high = _profile_ends(estimate, (n_yes, n), errors, level)
    weak = (
        f"the judge is weak (sensitivity + specificity - 1 is {power:.2f}): the corrected share hangs on few labels"
        if power < WEAK_JUDGE
        else ""
    )
    return IntervalEstimate(
        estimate=estimate,
        method="Rogan-Gladen, profile-likelihood interval",
        conf_level=level,
        n=n,
        std_error=math.sqrt(variance) if variance > 0 else None,
        conf_low=low,
        conf_high=high,
        warnings=(weak,) if weak else (),
    )


def rogan_gladen_smoothed(n_yes: int, n: int, errors: JudgeErrors, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Estimate the same with the interval of Lee et al. 2025, arXiv:2511.21140: in closed form, from smoothed rates.

    The judge's share takes z^2 pseudo-items, half of them a yes, as Agresti and Coull's interval does; sensitivity and
    specificity take one of each answer. The middle of the interval is moved by the skew of the ratio.

    >>> found = rogan_gladen_smoothed(1240, 2000, JudgeErrors(yes_yes=81, no_yes=9, no_no=80, yes_no=20))
    >>> round(found.estimate, 3), round(found.conf_low, 2), round(found.conf_high, 2)
    (0.6, 0.53, 0.68)
    """
    found = rogan_gladen(n_yes, n, errors, conf_level=conf_level)
    z = normal_quantile(found.conf_level)
    m_yes, m_no, m = errors.yes_yes + errors.no_yes + 2.0, errors.no_no + errors.yes_no + 2.0, n + z**2
    p, se, sp = (n_yes + z**2 / 2.0) / m, (errors.yes_yes + 1.0) / m_yes, (errors.no_no + 1.0) / m_no
    power = se + sp - 1.0
    share = (p + sp - 1.0) / power
    of_yes, of_no = share * se * (1.0 - se) / m_yes, (1.0 - share) * sp * (1.0 - sp) / m_no
    middle = share + 2.0 * z**2 * (of_yes - of_no)
    error = math.sqrt(p * (1.0 - p) / m + share * of_yes + (1.0 - share) * of_no) / power
    low, high = (min(max(end, 0.0), 1.0) for end in (middle - z * error, middle + z * error))
    return replace(found, method="Rogan-Gladen, interval of estimated rates (Lee et al.)", conf_low=low, conf_high=high)


def _profile_ends(estimate: float, judged: tuple[int, int], errors: JudgeErrors, level: float) -> tuple[float, float]:
    from scipy import optimize  # slow to load, and every comparison imports this module

    best = _profile(estimate, judged, errors)
    drop = normal_quantile(level) ** 2 / 2.0

    def excess(share: float) -> float:
        return _profile(share, judged, errors) - best + drop

    low = 0.0 if excess(0.0) >= 0 else float(optimize.brentq(excess, 0.0, estimate))
    high = 1.0 if excess(1.0) >= 0 else float(optimize.brentq(excess, estimate, 1.0))
    return low, high


def _profile(share: float, judged: tuple[int, int], errors: JudgeErrors) -> float:
    """Return the highest log-likelihood of all counts where the true share is `share`."""
    from scipy import optimize

    n_yes, n = judged
    seen = np.array([n_yes, n - n_yes], dtype=np.float64)
    ones = np.array([errors.yes_yes, errors.yes_no], dtype=np.float64)
    zeros = np.array([errors.no_yes, errors.no_no], dtype=np.float64)
    mix = np.array([share, 1.0 - share])

    def negative(logits: FloatArray) -> tuple[float, FloatArray]:
        rates = 1.0 / (1.0 + np.exp(-np.clip(logits, -40.0, 40.0)))
        p = min(max(float(mix @ rates), 1e-300), 1.0 - 1e-16)
        value = special.xlogy(seen, [p, 1.0 - p]).sum()
        value += special.xlogy(ones, rates).sum() + special.xlogy(zeros, 1.0 - rates).sum()
        slope = (seen[0] / p - seen[1] / (1.0 - p)) * mix * rates * (1.0 - rates) + ones * (1.0 - rates) - zeros * rates
        return -float(value), np.asarray(-slope, dtype=np.float64)

    near = np.clip([errors.sensitivity, 1.0 - errors.specificity], 0.01, 0.99)
    found = optimize.minimize(negative, np.log(near / (1.0 - near)), method="L-BFGS-B", jac=True)
    return -float(found.fun)


# --- prediction-powered means ---


@record
class PoweredMean:
    """A mean by labels and judge together, beside what each says alone.

    Attributes
    ----------
    estimate
        The prediction-powered mean.
    labels_only
        Mean of the labels alone, with t; what the judge has to improve on.
    judge_mean
        Mean of the judge's scores over all items: wrong by `bias`.
    bias
        Judge minus label on labelled items, with its interval.
    tuning
        Weight of the judge, 0 (labels alone) to 1.
    n_labels, n_judged
        Labelled items, and items with the judge alone.
    label_worth
        So many labels alone would give the same standard error; never above n_labels plus n_judged in truth.
    """

    estimate: IntervalEstimate
    labels_only: IntervalEstimate
    judge_mean: float
    bias: IntervalEstimate
    tuning: float
    n_labels: int
    n_judged: int
    label_worth: float


def powered_mean(
    judged: ArrayLike,
    judged_labelled: ArrayLike,
    labels: ArrayLike,
    *,
    probabilities: ArrayLike | None = None,
    clusters: tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[float, float] | None = None,
    tuning: float | None = None,
    pseudo: float = 0.0,
    finite: bool = False,
    conf_level: float = 0.95,
) -> PoweredMean:
    """Estimate the mean that people would give, from a judge on all items and labels on a random part of them.

    For paired differences of two models give the differences of the judge and of the labels.

    `judged`: float64, shape (n_judged,): the judge's scores of items without a label. `judged_labelled`, `labels`: float64,
    shape (n_labels,): the judge's score and the label of every labelled item. `probabilities`: probability with which each
    labelled item was chosen, where they differ (Horvitz-Thompson weights, normalised); `judged` then holds every item that
    was not chosen. Labels without it must be a simple random part. `clusters`: codes of clusters of the items without and
    with a label; an item and its cluster may stand in both. `bounds`: the scale's ends, for a score of one model: the
    interval then stays within them. None for differences. `tuning`: the judge's weight; None: by how well it goes with the
    labels (PPI++). `pseudo`: two residuals more are counted, so far above and below their mean: half of the
    scale where scores are yes or no. A judge who agrees with all of few labels would seem never to err; not for clusters.
    `finite`: the mean is that of these very items, of which the labels are a simple random part, and not of a domain that they
    stand for: the more of them have labels, the less is open (Cochran 1977, Sampling Techniques, chapter 7). Neither with
    probabilities nor with clusters.
    """
    level = check_level(conf_level)
    f_u, f, y = as_values(judged, "scores"), as_values(judged_labelled, "scores"), as_values(labels, "labels")
    if f.shape != y.shape:
        raise InputError(f"{y.size} labels and {f.size} scores of labelled items; give one of each")
    if y.size < FEWEST_LABELS:
        raise CannotAnswerError(
            f"{y.size} labels are too few to correct a judge; at least {FEWEST_LABELS} are needed, better {FEW_LABELS}"
        )
    if finite:
        if probabilities is not None or clusters is not None:
            raise InputError(
                "the mean of these very items is told from a simple random part, without chances or clusters"
            )
        probabilities = np.full(y.size, y.size / (y.size + f_u.size))
    weights = _weights(probabilities, y.size)
    chance = None if probabilities is None else as_values(probabilities, "probabilities")
    codes = None if clusters is None else _shared_codes(clusters, f_u.size, y.size)
    tuned = tuning is None
    tuning = _tuning(f_u, f, y, weights, finite=finite) if tuning is None else tuning
    n, extra = y.size, f_u.size
    # The judge's weight was fitted to these very residuals: without it they are longer.
    longer = 1.0 / (1.0 - _leverage(f, weights)) if tuned else np.ones(n)
    # Where items were chosen by chances that differ, those left over are no random part either; all items together are.
    pool, within = (f_u, 0.0) if probabilities is None else (np.concatenate((f_u, f)), 1.0)
    middle = float(pool.mean())

    def mean_of(
        judge: float, labelled: FloatArray, stretch: FloatArray, method: str, *, kept: bool, more: float = 0.0
    ) -> IntervalEstimate:
        value = judge * middle + float(weights @ labelled)
        ends, strata = bounds if kept else None, None
        least = 0.5 / n * (1.0 - 0.5 / n) if more else 1e-4
        if chance is not None and codes is None:
            strata = _stratified_error(
                judge * f + labelled, labelled, stretch, chance, n_items=pool.size, more=more, finite=finite
            )
        if strata is not None:
            return _mean_estimate(value, *strata, n, None, method=method, level=level, bounds=ends, least=least)
        rest = weights * (labelled - weights @ labelled) * stretch + within * judge * (f - middle) / pool.size
        errors = np.concatenate((judge * (f_u - middle) / pool.size, rest))
        sums = errors if codes is None else np.bincount(codes, weights=errors)
        n_clusters = None if codes is None else int(np.unique(codes[-n:]).size)
        units = n if n_clusters is None else n_clusters
        variance = float(np.square(sums).sum()) * units / max(units - 1.0, 1.0)
        if more and codes is None:
            own = float(np.square(rest).sum()) * n / (n - 1.0)
            variance += (own * n + 2.0 * more**2 / n) / (n + 2.0) - own
        error = math.sqrt(variance)
        return _mean_estimate(
            value, error, units - 1.0, n, n_clusters, method=method, level=level, bounds=ends, least=least
        )

    same = np.ones(n)
    method = f"prediction-powered mean{f', judge weighted {tuning:.2f}' if tuned else ''}"
    estimate = mean_of(tuning, y - tuning * f, longer, method, kept=True, more=pseudo)
    alone = mean_of(0.0, y, same, "mean of the labels", kept=True)
    bias = mean_of(0.0, f - y, same, "judge minus label", kept=False)
    worth = n * (alone.std_error / estimate.std_error) ** 2 if alone.std_error and estimate.std_error else float(n)
    return PoweredMean(
        estimate=estimate,
        labels_only=alone,
        judge_mean=float(np.concatenate((f_u, f)).mean()),
        bias=bias,
        tuning=tuning,
        n_labels=n,
        n_judged=extra,
        label_worth=worth,
    )


def _weights(probabilities: ArrayLike | None, n: int) -> FloatArray:
    if probabilities is None:
        return np.full(n, 1.0 / n)
    chance = as_values(probabilities, "probabilities")
    if chance.shape != (n,) or not ((chance > 0) & (chance <= 1)).all():
        raise InputError("give one probability above 0 and at most 1 for every labelled item")
    return np.asarray((1.0 / chance) / (1.0 / chance).sum(), dtype=np.float64)


def _shared_codes(clusters: tuple[ArrayLike, ArrayLike], n_judged: int, n_labels: int) -> IntArray:
    both = np.concatenate([np.asarray(each) for each in clusters])
    return as_codes(both, n_judged + n_labels)[0]


def _tuning(f_u: FloatArray, f: FloatArray, y: FloatArray, weights: FloatArray, *, finite: bool = False) -> float:
    """Return the judge's weight with the least variance, kept within 0 and 1."""
    spread = float(np.concatenate((f_u, f)).var())
    if spread <= 0:
        return 0.0
    together = float(weights @ ((f - weights @ f) * (y - weights @ y)))
    # With weights the labelled part has the variance of fewer items.
    worth = 0.0 if finite else 1.0 / float(np.square(weights).sum())
    return float(min(max(together / ((1.0 + worth / f_u.size) * spread), 0.0), 1.0))


def _leverage(f: FloatArray, weights: FloatArray) -> FloatArray:
    """Return how much each label counts for the judge's fitted weight, at most 0.5."""
    away = weights * np.square(f - weights @ f)
    total = float(away.sum())
    return np.minimum(away / total, 0.5) if total > 0 else np.zeros_like(f)


def corrected_values(
    judged: ArrayLike,
    labels: ArrayLike,
    *,
    probabilities: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    pseudo: float = 0.0,
) -> FloatArray:
    """Return a value of every item whose mean is the prediction-powered mean, for methods that know only values of items.

    `judged`, `labels`: float64, shape (n_items,), labels NaN where there is none; `probabilities` of that shape; `clusters` are
    codes. A value is the mean plus what its item adds to the error, n_items times. Values are stretched about the mean so that
    their plain standard error, and t on all items at the level of a pair among several (99%), are those of the mean: an item with
    a label adds far more than one without, and there are few of them.
    """
    f, y = as_values(judged, "scores"), np.asarray(labels, dtype=np.float64)
    known = np.isfinite(y)
    chance = None if probabilities is None else np.asarray(probabilities, dtype=np.float64)[known]
    found = powered_mean(f[~known], f[known], y[known], probabilities=chance, pseudo=pseudo)
    weights, judge, n = _weights(chance, int(known.sum())), found.tuning, f.size
    rest = y[known] - judge * f[known]
    errors = judge * (f - f.mean()) / n
    if chance is None:
        errors[known], errors[~known] = 0.0, judge * (f[~known] - f[~known].mean()) / (~known).sum()
    middle, more = np.full(rest.size, weights @ rest), 1.0
    if chance is not None and (drawn := _strata(chance, n)) is not None:
        strata, counts, _ = drawn
        middle = (np.bincount(strata, weights=rest) / counts)[strata]
        more = np.sqrt(counts / (counts - 1.0))[strata]
    errors[known] += weights * more * (rest - middle) / (1.0 - _leverage(f[known], weights))
    errors -= errors.mean()
    size = math.sqrt(float(np.square(errors).sum()) * n / (n - 1))
    estimate = found.estimate
    if not size or not estimate.std_error or not estimate.df:
        return np.full(n, estimate.estimate)
    # Of clusters those with a label are the units, which methods for clusters cannot know.
    codes = None if clusters is None else np.asarray(clusters)
    units = (n, estimate.df) if codes is None else (np.unique(codes).size, np.unique(codes[known]).size - 1.0)
    wider = t_quantile(_OF_PAIRS, max(units[1], 1.0)) / t_quantile(_OF_PAIRS, max(units[0] - 1.0, 1.0))
    return np.asarray(estimate.estimate + errors * n * wider * estimate.std_error / size, dtype=np.float64)


def _stratified_error(
    total: FloatArray,
    rest: FloatArray,
    stretch: FloatArray,
    chance: FloatArray,
    *,
    n_items: int,
    more: float,
    finite: bool = False,
) -> tuple[float, float] | None:
    """Return the standard error and degrees of freedom of a mean whose labels were drawn from strata; None where they were not.

    `total`, `rest`: what is averaged, and its part that only labels tell. `finite`: the items are all there are. Labels of one
    chance are one stratum; where the strata have as many items as there are, they were drawn in this number. Cochran 1977,
    Sampling Techniques, section 5A; degrees of freedom by Satterthwaite.
    """
    drawn = _strata(chance, n_items)
    if drawn is None:
        return None
    codes, n, size = drawn
    mean = np.bincount(codes, weights=rest) / n
    squares = np.bincount(codes, weights=np.square((rest - mean[codes]) * stretch))
    spread = (squares + 2.0 * more**2) / (n - 1.0 + (2.0 if more else 0.0))
    parts = np.square(size / n_items) * spread / n * np.clip(1.0 - n / size, 0.0, 1.0)
    weights = (1.0 / chance) / (1.0 / chance).sum()
    among = 0.0 if finite else float(weights @ np.square(total - weights @ total)) / n_items
    variance = float(parts.sum()) + among
    if variance <= 0:
        return 0.0, 1.0
    return math.sqrt(variance), variance**2 / float((np.square(parts) / (n - 1)).sum() + among**2 / (len(total) - 1))


def _strata(chance: FloatArray, n_items: int) -> tuple[IntArray, FloatArray, FloatArray] | None:
    """Return the stratum of each label, and labels and items of each stratum; None where chances are not those of strata."""
    levels, codes, counts = np.unique(chance.round(12), return_inverse=True, return_counts=True)
    n = counts.astype(np.float64)
    size = n / levels
    if (counts < 2).any() or abs(size.sum() - n_items) > _WHOLE * n_items:
        return None
    return codes.astype(np.int64), n, size


def _mean_estimate(
    value: float,
    error: float,
    df: float,
    n: int,
    n_clusters: int | None,
    *,
    method: str,
    level: float,
    bounds: tuple[float, float] | None,
    least: float = 1e-4,
) -> IntervalEstimate:
    """Return a mean of `n` labels with its interval."""
    reason = None if n_clusters is None else too_few_clusters(n_clusters)
    if reason is None and error <= 1e-12 * max(1.0, abs(value)):
        reason = "all values are the same; the interval would have no width"
    few = (f"{n} labels are few: at least {FEW_LABELS} make the interval reliable",) if n < FEW_LABELS else ()
    if reason is not None:
        return IntervalEstimate(
            estimate=value,
            method=method,
            conf_level=level,
            n=n,
            n_clusters=n_clusters,
            reason=reason,
            warnings=few,
        )
    q = t_quantile(level, df)
    low, high = value - q * error, value + q * error
    statistic = value / error
    if bounds is not None:
        low, high = _matched(value, error, q, bounds, least)
    return IntervalEstimate(
        estimate=value,
        method=f"{method}, {'t' if bounds is None else 'Wilson of matched variance'}",
        conf_level=level,
        n=n,
        std_error=error,
        conf_low=low,
        conf_high=high,
        statistic=statistic if bounds is None else None,
        df=df,
        p_value=two_sided_t_p(statistic, df) if bounds is None else None,
        n_clusters=n_clusters,
        warnings=few,
    )


def _matched(
    value: float, error: float, q: float, bounds: tuple[float, float], least: float = 1e-4
) -> tuple[float, float]:
    """Return Wilson's ends for as many items as would have this standard error, on the scale between the bounds."""
    low, high = bounds
    wide = high - low
    p = min(max((value - low) / wide, 0.0), 1.0)
    # At an end of the scale the binomial has no spread: half an item away there is some.
    n = max(p * (1.0 - p), least) / (error / wide) ** 2
    ends = wilson_ends(p, n, q)
    return low + wide * ends[0], low + wide * ends[1]


def equal_means_p(groups: Sequence[FloatArray]) -> float:
    """Return the p of the hypothesis that several groups have one mean, whatever their spreads: Welch's analysis of variance.

    Every group needs two values that differ. Welch 1951, doi:10.1093/biomet/38.3-4.330.
    """
    n = np.array([each.size for each in groups], dtype=np.float64)
    mean = np.array([each.mean() for each in groups])
    weight = n / np.array([each.var(ddof=1) for each in groups])
    centre = float(weight @ mean / weight.sum())
    k = len(groups)
    spread = float((np.square(1 - weight / weight.sum()) / (n - 1)).sum())
    statistic = float(weight @ np.square(mean - centre)) / (k - 1) / (1 + 2 * (k - 2) * spread / (k**2 - 1))
    return positive_p(float(special.fdtrc(k - 1, (k**2 - 1) / (3 * spread), statistic)))


# What t takes where the formula has the normal curve (Guenther 1981), and the judge's weight, which labels have to tell as well.
_SCATTER, _FITTED = 2, 4


@record
class LabelsNeeded:
    """Labels for a wanted standard error of a mean that a judge helps to estimate.

    Attributes
    ----------
    n
        Labels with the judge's help; None where even a label of every item is not enough.
    low, high
        The same at the ends of the interval of the judge's correlation with people; `high` is None where it is out of reach.
    alone
        Labels without a judge; more than `n_items` where the items are too few.
    correlation, correlation_low, correlation_high
        Of the judge with people, over the labelled items.
    """

    n: int | None
    low: int | None
    high: int | None
    alone: int
    n_items: int
    correlation: float
    correlation_low: float
    correlation_high: float


def labels_needed(
    judged: ArrayLike,
    labels: ArrayLike,
    std_error: float,
    *,
    n_items: int,
    inflation: float = 1.0,
    conf_level: float = 0.95,
) -> LabelsNeeded:
    """Return how many of `n_items` judged items need a label for a prediction-powered mean of this standard error.

    `judged`, `labels`: float64, shape (n,): what the judge and people say of the items that are labelled now; differences of
    two models where the mean is a difference. `std_error`: the standard error wanted: for an interval of half width h at 95%
    it is h/1.96; to detect a difference m with 80% power m/(1.96 + 0.84). `n_items`: items that the judge has rated, those to
    be labelled among them. `inflation`: how much larger clusters make the variance.

    Notes
    -----
    With the judge weighted best, n labels drawn at random of T items give the variance
    s^2 ((1 - r^2)/n + r^2/T), where s is the standard deviation of the labels and r their correlation with the judge; labels
    alone s^2/n. To that come 2 labels for t in place of the normal curve, and 2 more for the judge's fitted weight. r has
    Fisher's interval. Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453.
    """
    f, y = as_values(judged, "scores"), as_values(labels, "labels")
    n_items, level = check_count(n_items, "n_items", least=1), check_level(conf_level)
    if f.shape != y.shape:
        raise InputError(f"{y.size} labels and {f.size} scores of labelled items; give one of each")
    if y.size < FEWEST_LABELS:
        raise CannotAnswerError(f"{y.size} labels are too few to plan by; at least {FEWEST_LABELS} are needed")
    if not std_error > 0 or not inflation > 0:
        raise InputError("the standard error wanted must be above 0")
    variance = float(y.var(ddof=1)) * inflation
    if variance <= 0:
        raise CannotAnswerError("all labels are the same, so nothing tells how many more are needed")
    r = _correlation(f, y)
    reach = normal_quantile(level) / math.sqrt(y.size - 3)
    z = math.atanh(min(max(r, -0.9999), 0.9999))
    low, high = math.tanh(z - reach), math.tanh(z + reach)

    def needed(correlation: float) -> int | None:
        # A judge that goes against people has the weight 0: then labels stand alone.
        square = max(correlation, 0.0) ** 2
        room = std_error**2 / variance - square / n_items
        if room <= 0:
            return None
        n = max(math.ceil((1.0 - square) / room - 1e-9) + _FITTED, FEWEST_LABELS)
        return n if n <= n_items else None

    return LabelsNeeded(
        n=needed(r),
        low=needed(high),
        high=needed(low),
        alone=max(math.ceil(variance / std_error**2 - 1e-9) + _SCATTER, FEWEST_LABELS),
        n_items=n_items,
        correlation=r,
        correlation_low=low,
        correlation_high=high,
    )


def std_error_for_power(difference: float, *, conf_level: float = 0.95, power: float = 0.8) -> float:
    """Return the standard error with which a true difference is found with this power."""
    # The quantile of a one-sided power p is that of a central interval of level 2p - 1.
    return abs(difference) / (normal_quantile(conf_level) + normal_quantile(2 * power - 1))


def _correlation(f: "np.ndarray", y: "np.ndarray") -> float:
    if f.std() <= 0:
        return 0.0
    return float(np.corrcoef(f, y)[0, 1])


@record
class JudgedPair:
    """Two models on the same items: what the judge says of all, and people of some.

    Attributes
    ----------
    judged
        float64, shape (n_items, 2): the judge's scores of the baseline and the candidate.
    labels
        float64, shape (n_items, 2): people's scores; NaN where there is none. Items with a label of one side alone count as
        unlabelled.
    probabilities
        float64, shape (n_items,): the known chance with which each labelled item was chosen; None where all had the same.
    clusters
        int64, shape (n_items,); None where items share nothing.
    """

    judged: FloatArray
    labels: FloatArray
    probabilities: FloatArray | None = None
    clusters: IntArray | None = None

    @property
    def both(self) -> BoolArray:
        """Items whose answers of both sides have a label."""
        return np.asarray(np.isfinite(self.labels).all(axis=1))


def judged_pair(
    judged: ArrayLike, labels: ArrayLike, *, probabilities: ArrayLike | None = None, clusters: ArrayLike | None = None
) -> JudgedPair:
    """Check and hold the scores of two models."""
    f, y = np.asarray(judged, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if f.ndim != 2 or f.shape[1] != 2 or f.shape != y.shape:
        raise InputError(f"scores have shape {f.shape} and labels {y.shape}; give two columns of each, one row an item")
    if not np.isfinite(f).all():
        raise InputError("the judge lacks a score of some items; give items that it scored for both sides")
    chance = None if probabilities is None else np.asarray(probabilities, dtype=np.float64)
    if chance is not None and chance.shape != (len(f),):
        raise InputError(f"{chance.size} probabilities of {len(f)} items; give one for each")
    codes = None if clusters is None else as_codes(np.asarray(clusters), len(f))[0]
    return JudgedPair(judged=f, labels=y, probabilities=chance, clusters=codes)


def powered_difference(pair: JudgedPair, *, conf_level: float = 0.95) -> PoweredMean:
    """Estimate candidate minus baseline as people would have it: the prediction-powered mean of the items' differences.

    Its `bias` is what the judge adds to the difference: its leaning to the candidate. Where scores and labels are yes or no (two
    values in all), two residuals more are counted, half of the scale off, as for a score of one model.
    """
    both, ends = pair.both, np.unique(np.append(pair.judged, pair.labels[np.isfinite(pair.labels)]))
    d, f = pair.labels[:, 1] - pair.labels[:, 0], pair.judged[:, 1] - pair.judged[:, 0]
    n = int(both.sum())
    if n < FEWEST_LABELS:
        raise CannotAnswerError(
            f"{n} items have labels for both sides, too few to correct a judge: at least {FEWEST_LABELS} are needed; "
            "label both sides of the same items"
        )
    if both.all():
        raise CannotAnswerError(
            "every item has labels for both sides: compare the labels themselves, no judge is needed"
        )
    return powered_mean(
        f[~both],
        f[both],
        d[both],
        probabilities=None if pair.probabilities is None else pair.probabilities[both],
        clusters=None if pair.clusters is None else (pair.clusters[~both], pair.clusters[both]),
        pseudo=float(np.ptp(ends)) / 2.0 if ends.size == 2 else 0.0,
        conf_level=conf_level,
    )


def rogan_gladen_difference(pair: JudgedPair, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Estimate candidate minus baseline from the judge's yes-or-no, each side corrected by the judge's error rates on it.

    Each side's share is Rogan and Gladen's, with the sensitivity and specificity of that side's own labelled items. The error is
    that of the linearised difference, item by item, so that what both sides share cancels.
    """
    level, n_items = check_level(conf_level), len(pair.judged)
    if pair.probabilities is not None:
        raise CannotAnswerError("labels were drawn with unequal chances, for which error rates are not corrected here")
    (baseline, of_baseline), (candidate, of_candidate) = (
        _corrected_share(pair.judged[:, side], pair.labels[:, side]) for side in (0, 1)
    )
    estimate, influence = candidate - baseline, of_candidate - of_baseline
    sums = influence if pair.clusters is None else np.bincount(pair.clusters, weights=influence)
    labelled = np.isfinite(pair.labels).any(axis=1)
    n_units = int(labelled.sum() if pair.clusters is None else np.unique(pair.clusters[labelled]).size)
    reason = None if pair.clusters is None else too_few_clusters(n_units)
    error = float(np.sqrt(np.square(sums).sum() * n_units / max(n_units - 1, 1)))
    method = "Rogan-Gladen on each side, t"
    if reason is not None or error <= 0:
        return IntervalEstimate(
            estimate=estimate,
            method=method,
            conf_level=level,
            n=n_items,
            reason=reason or "the judge never errs on labels",
        )
    df = n_units - 1.0
    reach, statistic = t_quantile(level, df) * error, estimate / error
    return IntervalEstimate(
        estimate=estimate,
        method=method,
        conf_level=level,
        n=n_items,
        std_error=error,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        statistic=statistic,
        df=df,
        p_value=two_sided_t_p(statistic, df),
        n_clusters=None if pair.clusters is None else n_units,
    )


def _corrected_share(judged: FloatArray, labels: FloatArray) -> tuple[float, FloatArray]:
    """Return Rogan and Gladen's share, not cut at 0 and 1, and what every item adds to its error."""
    known = np.isfinite(labels)
    if not known.any():
        raise CannotAnswerError("one side has no labels of yes or no")
    errors = judge_errors(judged[known], labels[known])
    n_pos, n_neg = errors.yes_yes + errors.no_yes, errors.no_no + errors.yes_no
    if not n_pos or not n_neg:
        raise CannotAnswerError("the labels of one side hold only one of yes and no")
    power = errors.sensitivity + errors.specificity - 1.0
    if power <= 0:
        raise CannotAnswerError("on one side the judge's sensitivity and specificity together do not exceed 1")
    p = float(judged.mean())
    share = (p + errors.specificity - 1.0) / power
    influence = (judged - p) / judged.size
    yes, no = known & (labels == 1), known & (labels == 0)
    influence[yes] -= share * (judged[yes] - errors.sensitivity) / n_pos
    influence[no] += (1.0 - share) * (1.0 - judged[no] - errors.specificity) / n_neg
    return share, influence / power
