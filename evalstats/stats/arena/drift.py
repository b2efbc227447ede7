"""Do strengths change over time? A test that sees any change, and one for models that rise or fall steadily."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import hstack

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.covariance import FEWEST_CLUSTERS
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.parametric_bootstrap import pseudo_inverse
from evalstats.stats.arena.sandwich import few_factor
from evalstats.stats.arena.slices import (
    Clustering,
    SlicedScores,
    clustering,
    heterogeneity,
    heterogeneity_draws,
    rank_between,
    sliced_scores,
)
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, check_count
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import two_sided_t_p
from evalstats.stats.many.multiplicity import holm


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodTest:
    """Whether strengths are the same in all periods.

    Attributes
    ----------
    statistic
        Score statistic: sum over periods of u' I^- u.
    df
        Degrees of freedom it would have under the chi-squared law, which holds only for independent votes; `p_value` is from
        random signs of clusters.
    """

    statistic: float
    df: int
    p_value: float
    n_resamples: int
    n_clusters: int


@one_thread
def period_test(fit: PairFit, rows: VoteRows, period: IntArray, *, n_resamples: int = 999, seed: int = 0) -> PeriodTest:
    """Test that strengths are the same in all periods, whatever the change.

    Parameters
    ----------
    fit
        Strengths fitted to all rows together.
    rows
        Votes with their clusters; rows of different periods must not be merged.
    period
        Shape (n_rows,): 0..n_periods-1.

    Raises
    ------
    CannotAnswerError
        If no two models met in more than one period, or clusters are fewer than 6.

    Notes
    -----
    A score test: nothing is fitted by period, so that periods with few votes do no harm. With u the scores of a period's
    votes at the common fit, the common part taken off, and I their information, Q = sum u' I^- u. Its law comes from the
    same sums with a random sign for every cluster (see `heterogeneity_draws` for several ways). Coefficients of covariates
    stay as fitted.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> first, second = np.repeat([0, 1, 0], 400), np.repeat([1, 2, 2], 400)
    >>> when = np.tile([0, 1], 600)
    >>> won = np.where(when == 0, np.arange(1200) % 3 == 0, np.arange(1200) % 3 > 0)
    >>> rows = vote_rows(first, second, np.where(won, 0, 1), clusters=(when,))
    >>> from dataclasses import replace
    >>> period_test(fit_strengths(rows), replace(rows, clusters=()), rows.clusters[0]).p_value
    0.001
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
    return PeriodTest(
        statistic=statistic, df=df, p_value=p, n_resamples=n_resamples, n_clusters=used.fewest if used.ways else 0
    )


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


def enough_clusters(used: Clustering) -> None:
    """Raise CannotAnswerError where clusters are too few to tell change from chance."""
    if used.fewest < FEWEST_CLUSTERS:
        raise CannotAnswerError(
            f"votes come from {used.fewest} clusters; at least {FEWEST_CLUSTERS} are needed to tell change from chance"
        )


FEWEST_VOTES = 10  # of a model outside of its busiest period, for a slope of its own
_STEPS = 3
_LARGEST_STEP = 3.0  # log-units over the whole time
_ESTIMABLE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearDrift:
    """Change of strengths by a unit of time, against the other models.

    Attributes
    ----------
    models
        int64, shape (n_tested,): models with enough votes at different times.
    slope, std_error, p_value, p_adjusted
        float64, shape (n_tested,): log-units by a unit of time; p of no change by t with `df`, adjusted by Holm.
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

    Parameters
    ----------
    fit
        Strengths fitted to all rows together.
    period
        Shape (n_rows,): 0..n_periods-1.
    times
        Shape (n_periods,): the time of each period; None for 0, 1, 2, ...
    level
        Where an anchor's adjusted p is at most this, the surest one is taken out of the anchors and all are measured again,
        as long as half of the models are left: else one model's rise would look like a fall of all others.

    Raises
    ------
    CannotAnswerError
        If fewer than 3 models have votes enough at different times, or clusters are fewer than 6.

    Notes
    -----
    Strength m at time t is a_m + b_m (t - mean), fitted from the common fit by three Newton steps. Only differences of
    slopes are known; each is measured against the mean of the anchors' slopes, weighted by their information. Errors are
    clustered (inclusion and exclusion over several ways, never below the largest single one), t with min G* - 1 df, G* over
    all votes and over the model's own. A slope of few votes is too far from 0 for its error (of 60 equal models with 17 votes
    each one was flagged in 43% of tables at .05): p is the larger one of this and of the score test of that slope, whose
    error is that of the sum of the scores of clusters where nothing changes.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rng = np.random.default_rng(0)
    >>> when, first = rng.integers(0, 6, 6000), rng.integers(0, 4, 6000)
    >>> second = (first + rng.integers(1, 4, 6000)) % 4
    >>> rise = 0.3 * when * ((first == 0) * 1.0 - (second == 0))
    >>> lost = rng.random(6000) > 1.0 / (1.0 + np.exp(-rise))
    >>> rows = vote_rows(first, second, lost.astype(int), clusters=(when,))
    >>> found = linear_drift(fit_strengths(rows), replace(rows, clusters=()), rows.clusters[0])
    >>> np.abs(found.slope - [0.3, 0, 0, 0]).max() < 0.05, (found.p_adjusted < 0.05).tolist()
    (np.True_, [True, False, False, False])
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
    inverse = np.zeros((2 * n, 2 * n))
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
