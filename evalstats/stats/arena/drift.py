"""Change over time: strengths that drift, and bursts of votes."""

from dataclasses import replace

import numpy as np
from scipy import special
from scipy.sparse import hstack

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.arena.covariance import few_factor
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.parametric_bootstrap import pseudo_inverse
from evalstats.stats.arena.slices import (
    Clustering,
    SlicedScores,
    clustering,
    enough_clusters,
    heterogeneity,
    heterogeneity_draws,
    rank_between,
    sliced_scores,
)
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, check_count
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import SMALLEST_P, two_sided_t_p
from evalstats.stats.many.multiplicity import holm


@record
class PeriodTest:
    """Whether strengths are the same in all periods.

    `statistic` is the sum over periods of u' I^- u; `df` are the degrees of freedom that it would have under the chi-squared
    law, which holds only for independent votes; `p_value` is from random signs of clusters.
    """

    statistic: float
    df: int
    p_value: float
    n_resamples: int


@one_thread
def period_test(fit: PairFit, rows: VoteRows, period: IntArray, *, n_resamples: int = 999, seed: int = 0) -> PeriodTest:
    """Test that strengths are the same in all periods, whatever the change.

    `fit`: strengths fitted to all rows together. `rows`: votes with their clusters; rows of different periods must not be
    merged. `period`: shape (n_rows,): 0..n_periods-1.

    Notes
    -----
    A score test: nothing is fitted by period, so that periods with few votes do no harm. With u the scores of a period's
    votes at the common fit, the common part taken off, and I their information, Q = sum u' I^- u. Its law comes from the
    same sums with a random sign for every cluster (see `heterogeneity_draws` for several ways). Coefficients of covariates
    stay as fitted.
    """
    n_resamples = check_count(n_resamples, "n_resamples", least=99)
    scores = period_scores(fit, rows, period)
    used = clustering(rows)
    enough_clusters(used)
    df = rank_between(scores)
    if df <= 0:
        raise CannotAnswerError("no models met in more than one period, so no change can be seen")
    statistic = float(heterogeneity(scores, scores.gradient()))
    drawn = heterogeneity_draws(scores, used, n_resamples, np.random.default_rng(seed))
    p = (1 + int(np.count_nonzero(drawn >= statistic))) / (1 + n_resamples)
    return PeriodTest(statistic=statistic, df=df, p_value=p, n_resamples=n_resamples)


def period_scores(fit: PairFit, rows: VoteRows, period: IntArray) -> SlicedScores:
    """Return scores by period, or raise where periods are not what they must be."""
    n_periods = int(period.max(initial=-1)) + 1
    if period.shape != (rows.n_rows,) or (period.size and period.min() < 0):
        raise InputError(
            f"periods have shape {period.shape}, but there are {rows.n_rows} rows; give one of 0, 1, ... each"
        )
    if n_periods < 2:
        raise CannotAnswerError("all votes are of one period, so no change can be seen")
    return sliced_scores(fit, rows, period, n_periods)


FEWEST_VOTES = 10  # of a model outside of its busiest period, for a slope of its own
_STEPS = 3
_LARGEST_STEP = 3.0  # log-units over the whole time
_ESTIMABLE = 1e-6


@record
class LinearDrift:
    """Change of strengths by a unit of time, against the other models; arrays of shape (n_tested,).

    Attributes
    ----------
    models
        int64: models with enough votes at different times.
    slope, std_error, p_value, p_adjusted
        float64: log-units by a unit of time; p of no change by t with `df`, adjusted by Holm.
    anchors
        Models against whose mean slope (by how much each is known) the others are measured; a model is never its own anchor.
    """

    models: IntArray
    slope: FloatArray
    std_error: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    df: float
    anchors: IntArray


@one_thread
def linear_drift(
    fit: PairFit, rows: VoteRows, period: IntArray, *, times: FloatArray | None = None, level: float = 0.05
) -> LinearDrift:
    """Estimate how each model's strength changes with time, and test it.

    `fit`: strengths fitted to all rows together. `period`: shape (n_rows,): 0..n_periods-1. `times`: shape (n_periods,): the
    time of each period; None for 0, 1, 2, ... `level`: where an anchor's adjusted p is at most this, the surest one is taken
    out of the anchors and all are measured again, as long as half of the models are left: else one model's rise would look
    like a fall of all others.

    Notes
    -----
    Strength m at time t is a_m + b_m (t - mean), fitted from the common fit by three Newton steps. Only differences of
    slopes are known; each is measured against the mean of the anchors' slopes, weighted by their information. Errors are
    clustered (inclusion and exclusion over several ways, never below the largest single one), t with min G* - 1 df, G* over
    all votes and over the model's own. A slope of few votes is too far from 0 for its error (of 60 equal models with 17 votes
    each one was flagged in 43% of tables at .05): p is the larger one of this and of the score test of that slope, whose
    error is that of the sum of the scores of clusters where nothing changes.
    """
    used = clustering(rows)
    enough_clusters(used)
    n_periods = int(period.max(initial=-1)) + 1
    when = np.arange(n_periods, dtype=np.float64) if times is None else np.asarray(times, dtype=np.float64)
    if when.shape != (n_periods,) or not np.isfinite(when).all():
        raise InputError(
            f"times have shape {when.shape}, but there are {n_periods} periods; give one finite number each"
        )
    tested = _tested(rows, period, n_periods)
    tau = when - float(np.average(when, weights=np.bincount(period, weights=rows.weight, minlength=n_periods)))
    df = _model_df(rows, used)
    least_p = _score_p(period_scores(fit, rows, period), used, tau, period, df)
    scores, slopes, inverse = _fitted(fit, rows, period, tau)
    meats = _meats(scores, used, tau[period])
    known = _own_information(scores, tau)
    anchors = tested[known[tested] > 0.0]

    def measured(anchors: IntArray) -> LinearDrift:
        return _measured(tested, anchors, known, slopes, inverse=inverse, meats=meats, df=df, least_p=least_p)

    found = measured(anchors)
    least = max(2, anchors.size // 2)
    while anchors.size > least:
        # The surest alone: what it did to the others' slopes goes with it.
        of_anchors = np.where(np.isin(found.models, anchors), found.p_adjusted, 1.0)
        if of_anchors.min() > level:
            break
        tied = np.flatnonzero(of_anchors == of_anchors.min())
        surest = tied[np.argmax(np.abs(found.slope[tied] / found.std_error[tied]))]
        anchors = anchors[anchors != found.models[surest]]
        found = measured(anchors)
    return replace(found, df=used.df)


def _tested(rows: VoteRows, period: IntArray, n_periods: int) -> IntArray:
    n = rows.n_models
    votes = np.zeros(n_periods * n)
    for side in (rows.first, rows.second):
        votes += np.bincount(period * n + side, weights=rows.count, minlength=n_periods * n)
    table = votes.reshape(n_periods, n)
    tested = np.flatnonzero(table.sum(axis=0) - table.max(axis=0) >= FEWEST_VOTES)
    if tested.size < 3:
        raise CannotAnswerError(
            f"{tested.size} models have {FEWEST_VOTES} votes outside of their busiest period; at least 3 are needed to tell "
            "who changes"
        )
    return tested.astype(np.int64)


def _fitted(
    fit: PairFit, rows: VoteRows, period: IntArray, tau: FloatArray
) -> tuple[SlicedScores, FloatArray, FloatArray]:
    """Return scores at the linear fit, its slopes, and the inverse of its information (strengths, then slopes)."""
    n, span = rows.n_models, max(float(np.ptp(tau)), 1e-300)
    change = np.zeros(2 * n)
    inverse = np.empty((0, 0))
    scores = period_scores(fit, rows, period)
    for _ in range(_STEPS):
        by_period = scores.gradient()
        inverse = pseudo_inverse(_information(scores, tau))
        step = inverse @ np.concatenate([by_period.sum(axis=0), tau @ by_period])
        reach = float(max(np.abs(step[:n]).max(), np.abs(step[n:]).max() * span))
        change += step * min(1.0, _LARGEST_STEP / max(reach, 1e-300))
        level, slope = change[:n], change[n:]
        shift = level[rows.first] - level[rows.second] + tau[period] * (slope[rows.first] - slope[rows.second])
        scores = sliced_scores(fit, rows, period, tau.size, shift=shift)
    return scores, change[n:], inverse


def _information(scores: SlicedScores, tau: FloatArray) -> FloatArray:
    level, cross, slope = (np.tensordot(tau**power, scores.information, axes=1) for power in range(3))
    return np.asarray(np.block([[level, cross], [cross, slope]]), dtype=np.float64)


def _model_df(rows: VoteRows, used: Clustering) -> FloatArray:
    """Return degrees of freedom of every model's slope, shape (n_models,), at least 1."""
    n, least = rows.n_models, np.full(rows.n_models, used.df)
    for codes in used.ways:
        model = np.concatenate([rows.first, rows.second])
        cell, place = np.unique(model * (int(codes.max()) + 1) + np.tile(codes, 2), return_inverse=True)
        size = np.bincount(place, weights=np.tile(rows.weight, 2))
        owner = cell // (int(codes.max()) + 1)
        total, squares = (np.bincount(owner, weights=size**power, minlength=n) for power in (1, 2))
        least = np.minimum(least, total**2 / np.maximum(squares, 1e-300) - 1.0)
    return np.maximum(least, 1.0)


def _score_p(scores: SlicedScores, used: Clustering, tau: FloatArray, period: IntArray, df: FloatArray) -> FloatArray:
    """Return p of each model's slope by its score where nothing changes, shape (n_models,), with the largest error of any way."""
    n = scores.n_models
    level, cross = (np.tensordot(tau**power, scores.information, axes=1) for power in (0, 1))
    # The scores of slopes less what strengths explain of them.
    left = np.concatenate([-pseudo_inverse(level) @ cross, np.eye(n)])
    by_period = scores.gradient()
    score = np.concatenate([by_period.sum(axis=0), tau @ by_period]) @ left
    single = [meat for sign, meat in _meats(scores, used, tau[period]) if sign >= 0.0]
    variance = np.max([np.einsum("im,ij,jm->m", left, meat, left, optimize=True) for meat in single], axis=0)
    z = score / np.sqrt(np.maximum(variance, 1e-300))
    return np.array([two_sided_t_p(value, each) for value, each in zip(z.tolist(), df.tolist(), strict=True)])


def _own_information(scores: SlicedScores, tau: FloatArray) -> FloatArray:
    """Return what is known of each model's slope if all other models were known, shape (n_models,)."""
    own = np.diagonal(scores.information, axis1=1, axis2=2)
    level, cross, slope = own.sum(axis=0), tau @ own, tau**2 @ own
    left = slope - cross**2 / np.maximum(level, 1e-300)
    return np.where(left > _ESTIMABLE * slope, left, 0.0)


def _meats(scores: SlicedScores, used: Clustering, tau: FloatArray) -> list[tuple[float, FloatArray]]:
    """Return (sign, meat) of the terms of inclusion and exclusion, then that of single votes with sign 0."""
    whole = replace(scores, slices=np.zeros_like(scores.slices), n_slices=1)
    parts: list[tuple[float, FloatArray]] = []
    for sign, codes, count in used.terms:
        both = hstack([whole.by_cluster(codes), whole.by_cluster(codes, tau)]).tocsr()
        parts.append((sign, np.asarray((both.T @ both).toarray(), dtype=np.float64) * few_factor(count)))
    level, cross, slope = (whole.vote_meat(tau**power)[0] for power in range(3))
    parts.append((0.0, np.asarray(np.block([[level, cross], [cross, slope]]), dtype=np.float64)))
    return parts


def _measured(
    tested: IntArray,
    anchors: IntArray,
    known: FloatArray,
    slopes: FloatArray,
    *,
    inverse: FloatArray,
    meats: list[tuple[float, FloatArray]],
    df: FloatArray,
    least_p: FloatArray,
) -> LinearDrift:
    """Measure every tested model's slope against the anchors'."""
    n = slopes.size
    contrasts = np.zeros((tested.size, 2 * n))
    for row, model in enumerate(tested.tolist()):
        others = anchors[anchors != model]
        contrasts[row, n + others] = -known[others] / known[others].sum()
        contrasts[row, n + model] += 1.0
    solved = contrasts @ inverse
    variances = [np.einsum("mi,ij,mj->m", solved, meat, solved, optimize=True) for _, meat in meats]
    signs = np.array([sign for sign, _ in meats])
    total = signs @ np.array(variances)
    # Inclusion and exclusion may come out too small by chance: no less than any single way.
    floor = np.max([v for v, sign in zip(variances, signs, strict=True) if sign >= 0.0], axis=0)
    variance = np.where(total > 1e-9 * floor, total, floor) if signs.any() else floor
    # What the information cannot tell has no variance there.
    seen = (known[tested] > 0.0) & (variance > 0.0)
    slope, error = (contrasts[:, n:] @ slopes)[seen], np.sqrt(variance[seen])
    by_slope = [two_sided_t_p(value, own) for value, own in zip(slope / error, df[tested][seen], strict=True)]
    p = np.maximum(by_slope, least_p[tested][seen])
    return LinearDrift(
        models=tested[seen],
        slope=slope,
        std_error=error,
        p_value=p,
        p_adjusted=holm(p),
        df=float(df.max(initial=1.0)),
        anchors=anchors,
    )


FEWEST_TIMES = 20

_PAUSE = 1800.0  # seconds after which a rater has been away
_LEAST_RUN = 4
_LEAST_MODEL = 8
_MANY_WINDOWS = 20
_CHI_MEDIAN = 0.4549364  # median of a chi-square law of 1 df
_MATERIAL = 1.5  # times as many as expected, below which a burst is not worth telling


@record
class BurstFound:
    """The clearest burst of one model or rater (`code`), from `start` to `end`, in seconds as given.

    `n_votes` are those in that time (for a model: votes that it won), `expected` how many were to be expected; `p_adjusted` is
    Holm's over all windows of all series.
    """

    code: int
    start: float
    end: float
    n_votes: int
    expected: float
    p_adjusted: float


def rater_bursts(rater: IntArray, seconds: FloatArray, *, level: float = 0.05) -> tuple[BurstFound, ...]:
    """Find raters who voted much faster for a while than they do on the whole.

    People vote in sittings. Pauses of more than half an hour count as half an hour, so that a burst is one against the pace
    of the rater's own sittings, not against days without a vote. Times come in any order; where they are rounded the shortest
    window is longer by the smallest difference between two of them. `level` is the chance that any rater is named where all vote
    at an even pace.

    Notes
    -----
    Under an even pace the time that k of a rater's g gaps take, as a share of all, is Beta(k, g - k). Gaps that vary more
    than at an even (Poisson) pace, with a squared coefficient of variation c > 1, count as g / c gaps (quasi-Poisson).
    """
    _, rater, seconds = _in_order(rater, seconds)
    if seconds.size < FEWEST_TIMES or seconds.min() == seconds.max():
        return ()
    resolution = float(np.diff(np.unique(seconds)).min())
    gap = np.minimum(np.diff(seconds, prepend=seconds[0]), _PAUSE)
    starts = np.flatnonzero(np.diff(rater, prepend=-1))
    sizes = np.diff(np.append(starts, rater.size))
    clock, squares = np.cumsum(gap), np.cumsum(gap**2)
    series, begin, length = _runs(sizes - 1, _LEAST_RUN)
    first, last = starts[series] + begin, starts[series] + begin + length
    ends = starts + sizes - 1
    g = (sizes - 1)[series].astype(np.float64)
    total = (clock[ends] - clock[starts])[series] + resolution
    square = (squares[ends] - squares[starts])[series]
    uneven = np.maximum(g * square / total**2 - 1.0, 1.0)
    took = np.minimum((clock[last] - clock[first] + resolution) / total, 1.0)
    p = special.betainc(length / uneven, (g - length) / uneven, took)
    times = seconds[first], seconds[last]
    return _clearest(
        rater[first],
        times,
        observed=(length + 1).astype(np.float64),
        expected=1.0 + g * took,
        p_value=np.maximum(p, SMALLEST_P),
        level=level,
    )


def model_bursts(
    model: IntArray,
    seconds: FloatArray,
    won: np.ndarray,
    expected: FloatArray,
    rater: IntArray | None = None,
    *,
    level: float = 0.05,
) -> tuple[BurstFound, ...]:
    """Find models that won many more votes in some time than their usual share.

    The clock is the model's own votes, so that a model that the arena shows more often for a while has no burst. What is
    expected of a vote is what the ratings say, scaled to the wins that the model has on the whole.

    `model`, `seconds`, `won`, `expected`: shape (n,): one entry for each decided vote and each of its two models; `expected`
    is the fitted probability of `won`. `rater`: codes, shape (n,); None where nothing is known of raters. `level`: chance
    that any model is named where there is no burst.

    Notes
    -----
    Votes of one rater on a model go together (taste, a sitting), so counts are divided by how much more than chance they
    vary: the median of the squared standardised counts of all windows of a length over that of a chi-square of 1 df, at
    least 1 and never less than for shorter windows; where there are fewer than 20 windows of a length, by how much wins
    vary between raters. The p-value of a window of n votes is P(Binomial(n, E / n) >= O), which is no smaller than that of
    votes with unequal probabilities where O exceeds E by 1 (Hoeffding 1956, Annals of Mathematical Statistics 27:713).
    """
    if not (model.shape == seconds.shape == won.shape == expected.shape):
        raise InputError("models, times, wins and expected wins differ in length; give one of each for every vote")
    order, model, seconds = _in_order(model, seconds)
    if seconds.size < FEWEST_TIMES:
        return ()
    wins, likely = won[order].astype(np.float64), np.clip(expected[order], 1e-9, 1.0 - 1e-9)
    starts = np.flatnonzero(np.diff(model, prepend=-1))
    sizes = np.diff(np.append(starts, model.size))
    total = np.add.reduceat(wins, starts) / np.add.reduceat(likely, starts)
    likely = np.minimum(likely * np.repeat(total, sizes), 1.0)
    series, begin, length = _runs(sizes, _LEAST_MODEL)
    first, last = starts[series] + begin, starts[series] + begin + length - 1
    summed, mean = np.append(0.0, np.cumsum(wins)), np.append(0.0, np.cumsum(likely))
    observed, usual = summed[last + 1] - summed[first], mean[last + 1] - mean[first]
    whole = None if rater is None else _dispersion(model, rater[order], wins, likely)
    noise = np.append(0.0, np.cumsum(likely * (1.0 - likely)))
    spread = _spreads((observed - usual) ** 2 / np.maximum(noise[last + 1] - noise[first], 1e-9), length, whole)
    chance = np.minimum(usual / length, 1.0)
    p = special.betainc(np.maximum(observed, 1e-9) / spread, (length - observed) / spread + 1.0, chance)
    p[observed < usual + 1.0] = 1.0
    return _clearest(
        model[first],
        (seconds[first], seconds[last]),
        observed=observed,
        expected=usual,
        p_value=np.maximum(p, SMALLEST_P),
        level=level,
    )


def _in_order(code: IntArray, seconds: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    if not np.isfinite(seconds).all():
        raise InputError("some times are missing or not finite; leave those votes out")
    order = np.lexsort((seconds, code))
    return order.astype(np.int64), code[order], seconds[order]


def _runs(sizes: IntArray, least: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return series, begin and length of runs of least, 2 least, ... entries, up to half of each series, at half steps."""
    parts: list[IntArray] = [np.empty((3, 0), dtype=np.int64)]
    length = least
    while length <= int(sizes.max(initial=0)) // 2:
        step = length // 2
        count = np.where(sizes >= 2 * length, (sizes - length) // step + 1, 0)
        series = np.repeat(np.arange(sizes.size), count)
        begin = (np.arange(series.size) - np.repeat(np.cumsum(count) - count, count)) * step
        parts.append(np.stack([series, begin, np.full(series.size, length)]))
        length *= 2
    found = np.concatenate(parts, axis=1)
    return found[0], found[1], found[2]


def _dispersion(model: IntArray, rater: IntArray, wins: FloatArray, likely: FloatArray) -> float:
    """Return how much more wins of one rater on one model vary than those of as many raters, at least 1."""
    _, cell = np.unique(model * (int(rater.max()) + 1) + rater, return_inverse=True)
    excess = np.bincount(cell, weights=wins - likely)
    return max(1.0, float((excess**2).sum() / (likely * (1.0 - likely)).sum()))


def _spreads(squares: FloatArray, length: IntArray, whole: float | None) -> FloatArray:
    """Return by how much counts of windows of each length vary more than chance, shape (n_windows,)."""
    out, least = np.ones(squares.size), 1.0
    for one in np.unique(length).tolist():
        same = length == one
        if int(np.count_nonzero(same)) >= _MANY_WINDOWS:
            least = max(least, float(np.median(squares[same])) / _CHI_MEDIAN)
        elif whole is not None:
            least = max(least, whole)
        out[same] = least
    return out


def _clearest(
    code: IntArray,
    times: tuple[FloatArray, FloatArray],
    *,
    observed: FloatArray,
    expected: FloatArray,
    p_value: FloatArray,
    level: float,
) -> tuple[BurstFound, ...]:
    """Return the clearest of the windows of each series (by its code), with p adjusted over all windows; the surest first."""
    if not code.size:
        return ()
    adjusted = holm(p_value)
    told = np.flatnonzero((adjusted <= level) & (observed >= _MATERIAL * expected))
    told = told[np.lexsort((-observed[told], p_value[told]))]
    _, best = np.unique(code[told], return_index=True)
    return tuple(
        BurstFound(
            code=int(code[i]),
            start=float(times[0][i]),
            end=float(times[1][i]),
            n_votes=int(observed[i]),
            expected=float(expected[i]),
            p_adjusted=float(adjusted[i]),
        )
        for i in told[np.sort(best)]
    )
