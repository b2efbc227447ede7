"""Which ranks votes leave open for every model, from the joint law of all contrasts of strengths."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.arena.covariance import (
    StrengthCovariance,
    contrast_df,
    contrast_p,
    contrast_variance,
    df_words,
    variances_of,
)
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.sandwich import bread_root, cluster_parts, information_roots, score_sums, with_weight
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes, check_count, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.many.max_t import Draws, OneSided, ReferenceLaw, collect
from evalstats.stats.many.reference_laws import LISTED, normal_known, sign_patterns

_HELD = 4_000_000
_MOST_STATISTICS = 6.0e7  # patterns times contrasts listed at most
_ALL = 1.0 - 1e-6  # share of a contrast's information in one cluster, from which no other could contradict it
_FLAT = 1e-12


@one_thread
def flipped_contrasts(
    fit: PairFit,
    rows: VoteRows,
    codes: IntArray,
    first: IntArray,
    second: IntArray,
    *,
    std_error: FloatArray,
    seed: int,
    n_resamples: int,
    most_listed: int = LISTED,
) -> ReferenceLaw:
    """Law of the studentised contrasts strength[first] - strength[second] if none differed.

    Parameters
    ----------
    codes
        Cluster of each row, shape (n_rows,).
    std_error
        Shape (n_contrasts,): what the observed contrasts are divided by where it is larger than the clusters' own standard
        error, so that other ways of clustering count too.

    Notes
    -----
    Of a contrast with estimate d, cluster g holds the share h_g of the information and adds D_g = c'B S_g + h_g d, with S_g
    its score and B the bread: c'B S_g + h_g d is what it would add at the best fit with no difference. The D_g sum to d as
    cluster sums do to n times a mean, and with no difference each is as likely with either sign. A draw of signs s gives
    m = sum(s_g D_g) over the root of sum((s_g D_g - h_g m)^2 / (1 - h_g)).

    A contrast of which one cluster holds all information has a statistic of 0: it is not claimed.
    """
    parts, shares, inside = _contributions(fit, rows, codes, first, second)
    own = np.where(shares.max(axis=0) < _ALL, 1.0, 0.0)
    weight = 1.0 / np.maximum(1.0 - shares, 1.0 - _ALL)
    squares, sizes, lifted = (parts**2 * weight).sum(axis=0), (shares**2 * weight).sum(axis=0), parts * shares * weight

    def spread(mean: FloatArray, lift: FloatArray) -> FloatArray:
        return np.maximum(squares - mean * (2.0 * lift - mean * sizes), _FLAT * squares + 1e-300)

    def statistics(signs: FloatArray) -> FloatArray:
        mean = signs @ parts
        return own * mean / np.sqrt(spread(mean, signs @ lifted))

    estimate = inside[first] - inside[second]
    by_clusters = np.sqrt(spread(estimate, lifted.sum(axis=0)))
    observed = own * estimate / np.maximum(by_clusters, std_error)
    listed = int(min(most_listed, _MOST_STATISTICS / first.size))
    patterns = sign_patterns(
        np.ones(len(parts), dtype=np.int64), seed=seed, n_resamples=n_resamples, most_listed=listed
    )

    def chunks() -> Draws:
        if not patterns.exact:
            yield observed[np.newaxis], np.ones(1)
        for signs, each in patterns.chunks(max(1, _HELD // max(first.size, parts.shape[0]))):
            yield statistics(np.asarray(signs, dtype=np.float64)), each

    return ReferenceLaw(
        observed=observed,
        chunks=chunks,
        exact=patterns.exact,
        n_resamples=None if patterns.exact else n_resamples,
        seed=None if patterns.exact else seed,
    )


def _contributions(
    fit: PairFit, rows: VoteRows, codes: IntArray, first: IntArray, second: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return D and h of every cluster and contrast, shape (n_clusters, n_contrasts), and the strengths."""
    root, n = bread_root(fit.bread), fit.n_models
    pulls: list[FloatArray] = []
    shares: list[FloatArray] = []
    each = max(1.0, rows.n_rows / max(1, np.unique(codes).size))
    for part, local in cluster_parts(rows, codes, max(1, int(_HELD / (fit.n_parameters * each)))):
        pull = score_sums(fit, part, local) @ fit.bread[:, :n]
        pulls.append(pull[:, first] - pull[:, second])
        through = information_roots(fit, part, root) @ root[:, :n]
        starts = np.concatenate([[0], np.cumsum(np.bincount(local))])
        for g in range(starts.size - 1):
            own = through[starts[g] : starts[g + 1]].reshape(-1, n)
            shares.append(variances_of(own.T @ own, first, second))
    share = np.stack(shares)
    share /= share.sum(axis=0)
    pull = np.concatenate(pulls)
    estimate = fit.strengths[first] - fit.strengths[second]
    # A prior holds information too, which belongs to no cluster; without one the pulls sum to 0.
    return pull + share * (estimate - pull.sum(axis=0)), share, fit.strengths


FLAT = 1e-12  # a variance below this share of those of its two models is rounding
_LEAST_DRAWS, _MOST_DRAWS = 4_999, 29_999
_MOST_IN_A_TABLE = 25_000_000
_MOST_FLIPPED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLaw:
    """Pairs with their law.

    Attributes
    ----------
    first, second
        Models of each pair, shape (n_pairs,). Pairs without a standard error are left out.
    law
        Of the studentised contrasts.
    """

    first: IntArray
    second: IntArray
    law: ReferenceLaw
    method: str


@one_thread
def joint_law(
    fit: PairFit, covariance: StrengthCovariance, rows: VoteRows | None, *, seed: int, n_resamples: int | None = None
) -> JointLaw | str:
    """Return the law of all pairs of models if none differed, or why there is none.

    Models are put in the order of their strengths, so that their numbers and the order of votes do not matter.

    Parameters
    ----------
    rows
        The votes; needed where `covariance.few_clusters`.
    n_resamples
        None: as many draws as 25 million statistics allow, from 4,999 to 29,999.
    """
    if covariance.reason is not None:
        return covariance.reason
    order, a, b, size = _pairs(fit, covariance)
    first, second = order[a], order[b]
    if not first.size:
        return "no difference between two models has a standard error"
    draws = n_resamples or int(np.clip(_MOST_IN_A_TABLE // first.size, _LEAST_DRAWS, _MOST_DRAWS))
    if covariance.few_clusters:
        if rows is None:
            return "clusters are few, and sign flips of clusters need the votes themselves"
        codes, name = _flipped(covariance, rows := with_weight(rows))
        law = flipped_contrasts(fit, rows, codes, first, second, std_error=size, seed=seed, n_resamples=draws)
        return JointLaw(first=first, second=second, law=law, method=f"sign flips of clusters by {name}")
    law = normal_known(
        fit.strengths[order],
        covariance.joint[np.ix_(order, order)],
        a,
        b,
        seed=seed,
        n_resamples=draws,
        df=covariance.df,
        variance=_in_one_law(fit, covariance, first, second, size) ** 2,
    )
    return JointLaw(first=first, second=second, law=law, method=f"multivariate t with {df_words(covariance.df)} df")


def _pairs(fit: PairFit, covariance: StrengthCovariance) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return the models in the order of their strengths, pairs of places in it, and the pairs' standard errors.

    Pairs without one are left out.
    """
    own = np.diagonal(covariance.joint)
    order = np.lexsort((own, fit.strengths))
    a, b = np.triu_indices(fit.n_models, k=1)
    first, second = order[a], order[b]
    joint = variances_of(covariance.joint, first, second)
    # What is shown of many pairs is never shown with less doubt than of one alone.
    variance = np.maximum(contrast_variance(covariance, first, second), joint)
    known = (joint > FLAT * (own[first] + own[second])) & ~np.isnan(contrast_df(covariance, first, second))
    return order.astype(np.int64), a[known], b[known], np.sqrt(variance[known])


def _in_one_law(
    fit: PairFit, covariance: StrengthCovariance, first: IntArray, second: IntArray, size: FloatArray
) -> FloatArray:
    """Return standard errors that make each t of its own degrees of freedom as unlikely as one of those of the law."""
    df = contrast_df(covariance, first, second)
    t = (fit.strengths[first] - fit.strengths[second]) / size
    p = np.maximum(special.stdtr(df, -np.abs(t)), SMALLEST_P)
    alike = -special.stdtrit(covariance.df, p)
    return np.where((df < covariance.df) & (alike > 0.0), size * np.abs(t) / np.where(alike > 0.0, alike, 1.0), size)


def _flipped(covariance: StrengthCovariance, rows: VoteRows) -> tuple[IntArray, str]:
    """Return the codes and the name of the way that is worth the fewest clusters.

    Of many clusters the largest stay as they are and the others are dealt out to groups: groups of independent clusters are
    independent too, and flipping so many signs more would tell no more.
    """
    used = [w for w, way in enumerate(covariance.ways) if way.nested_in is None]
    fewest = min(used, key=lambda w: covariance.ways[w].effective)
    codes, count = as_codes(rows.clusters[fewest], rows.n_rows)
    if count > _MOST_FLIPPED:
        by_size = np.argsort(-np.bincount(codes, weights=rows.weight), kind="stable")
        group, half = np.empty(count, dtype=np.int64), _MOST_FLIPPED // 2
        group[by_size] = np.where(np.arange(count) < half, np.arange(count), half + np.arange(count) % half)
        codes = group[codes]
    return codes, covariance.ways[fewest].name


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthRanks:
    """Ranks that the votes leave open; rank 1 is the strongest.

    Attributes
    ----------
    low, high
        int64, shape (n_models,): best and worst rank of each model; all these sets hold together with `conf_level`.
    marginal_low, marginal_high
        The same for a model looked at alone.
    top
        For every tau asked for, a boolean array: models that may be among the tau best. Holds for all models together.
    p_adjusted
        float64, shape (n_models, n_models), symmetric: step-down p-value of every pair among all pairs, from which `low` and
        `high` are counted. NaN on the diagonal and for pairs without a standard error.
    critical
        What the largest of all |t| exceeds with probability 1 - conf_level if no two models differ; NaN where unknown.
    reason
        Why nothing could be said; then every set runs from 1 to the number of models.
    """

    low: IntArray
    high: IntArray
    marginal_low: IntArray
    marginal_high: IntArray
    top: dict[int, NDArray[np.bool_]]
    p_adjusted: FloatArray
    critical: float
    conf_level: float
    method: str
    exact: bool
    n_resamples: int | None
    seed: int | None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


@one_thread
def strength_ranks(
    fit: PairFit,
    covariance: StrengthCovariance,
    rows: VoteRows | None = None,
    *,
    conf_level: float = 0.95,
    top: Sequence[int] = (1, 3, 5),
    seed: int = 0,
    n_resamples: int | None = None,
) -> StrengthRanks:
    """Confidence sets for the ranks of all models of a fit.

    Parameters
    ----------
    covariance
        From `covariance_of`. With a `reason` in it, no rank is told.
    rows
        The votes; needed where clusters are few (`covariance.few_clusters`), for sign flips.
    top
        For each tau in it, which models may be among the tau best.
    n_resamples
        Draws of the law where it cannot be listed; None: 4,999 to 29,999, the more the fewer pairs there are.

    Notes
    -----
    The rank of a model lies between 1 + the number of models shown to be above it and n_models - the number shown to be
    below it. "Shown" comes from one step-down procedure over all pairs in both directions. The critical values are those of
    the largest studentised contrast under a multivariate t with the covariance of the strengths; or under sign flips of
    whole clusters where these are worth fewer than the models, or fewer than 40: their covariance then has too low a rank,
    or is too uncertain, to draw from. No pair is shown whose own p-value is above 1 - conf_level.

    How often any difference between equal models was shown at a nominal .05, 100 to 300 data sets each, by the
    multivariate t and by sign flips: 10 models and 20, 40, 300 raters .06, .07, .04 and .02, .05, .04; 300 raters of whom
    the k-th votes in proportion to 1/k .09 and .03; 13 prompts and such raters .10 and .04; 30 models and 60 raters .07 and
    .05, with uneven raters .18 and .03; 15 models and 8 prompts .23 and .04.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.covariance import covariance_of
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 0, 1], count=[55, 45, 80, 20, 80, 20])
    >>> fit = fit_strengths(rows)
    >>> found = strength_ranks(fit, covariance_of(fit, rows))
    >>> found.low.tolist(), found.high.tolist(), found.top[1].tolist()
    ([1, 1, 3], [2, 2, 3], [True, True, False])
    """
    level = check_level(conf_level)
    taus = tuple(check_count(tau, "an entry of top", least=1) for tau in top)
    draws = None if n_resamples is None else check_count(n_resamples, "n_resamples", least=1)
    pairs = joint_law(fit, covariance, rows, seed=seed, n_resamples=draws)
    if isinstance(pairs, str):
        return _none(fit.n_models, taus, level, pairs)
    own_p = contrast_p(fit, covariance, pairs.first, pairs.second)
    return _counted(pairs, own_p, fit.n_models, taus, level)


def arena_ranks(low: ArrayLike, high: ArrayLike) -> IntArray:
    """Rank as public arenas do: 1 + the number of models whose interval lies wholly above one's own.

    Of a single pair it is conservative, and it is not adjusted for the number of pairs: see `strength_ranks` for what holds.

    Parameters
    ----------
    low, high
        Ends of each model's interval, shape (n_models,); NaN for a model without one, which is not compared and ranks 1.

    Examples
    --------
    >>> arena_ranks([3.0, 2.5, 1.0], [4.0, 3.5, 2.0]).tolist()
    [1, 1, 3]
    """
    lower, upper = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if lower.ndim != 1 or lower.shape != upper.shape:
        raise InputError(
            f"there are low ends of shape {lower.shape} and high ends of shape {upper.shape}; give one each"
        )
    known = np.sort(lower[~np.isnan(lower)])
    above = known.size - np.searchsorted(known, upper, side="right")
    return 1 + np.where(np.isnan(upper), 0, above).astype(np.int64)


def _counted(pairs: JointLaw, own_p: FloatArray, n_models: int, taus: tuple[int, ...], level: float) -> StrengthRanks:
    """Count the models shown to be above and below each, over all pairs and over the pairs of each model alone."""
    law, first, second = pairs.law, pairs.first, pairs.second
    every = OneSided(law.observed, np.arange(first.size))
    own = [OneSided(law.observed, np.flatnonzero((first == j) | (second == j))) for j in range(n_models)]
    collect(law, [every, *(family for family in own if family.members.size)])
    p_adjusted = np.maximum(every.p_adjusted(), own_p)
    up = law.observed > 0.0
    winner, loser = np.where(up, first, second), np.where(up, second, first)
    shown = p_adjusted <= 1.0 - level
    low = 1 + np.bincount(loser[shown], minlength=n_models)
    marginal_low, marginal_high = np.ones(n_models, dtype=np.int64), np.full(n_models, n_models, dtype=np.int64)
    for j, family in enumerate(own):
        if family.members.size:
            alone = family.members[np.maximum(family.p_adjusted(), own_p[family.members]) <= 1.0 - level]
            marginal_low[j] += np.count_nonzero(loser[alone] == j)
            marginal_high[j] -= np.count_nonzero(winner[alone] == j)
    table = np.full((n_models, n_models), np.nan)
    table[first, second] = table[second, first] = p_adjusted
    missing = n_models * (n_models - 1) // 2 - first.size
    words = f"{missing} of {missing + first.size} pairs have no standard error and are not separated"
    return StrengthRanks(
        low=low,
        high=n_models - np.bincount(winner[shown], minlength=n_models),
        marginal_low=marginal_low,
        marginal_high=marginal_high,
        top={tau: low <= tau for tau in taus},
        p_adjusted=table,
        critical=every.critical(level),
        conf_level=level,
        method=f"rank sets, max-T step-down, {pairs.method}",
        exact=law.exact,
        n_resamples=law.n_resamples,
        seed=law.seed,
        warnings=(words,) if missing else (),
    )


def _none(n_models: int, taus: tuple[int, ...], level: float, reason: str) -> StrengthRanks:
    """Say that every rank is possible."""
    low, high = np.ones(n_models, dtype=np.int64), np.full(n_models, n_models, dtype=np.int64)
    return StrengthRanks(
        low=low,
        high=high,
        marginal_low=low.copy(),
        marginal_high=high.copy(),
        top={tau: low <= tau for tau in taus},
        p_adjusted=np.full((n_models, n_models), np.nan),
        critical=np.nan,
        conf_level=level,
        method="none",
        exact=True,
        n_resamples=None,
        seed=None,
        reason=reason,
    )
