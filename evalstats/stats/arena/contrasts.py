"""What is shown of strengths: contrasts of all pairs, ranks they leave open, votes still needed, limits for perfect records."""

import math
from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.arena.covariance import (
    ENOUGH_CLUSTERS,
    StrengthCovariance,
    bread_root,
    cluster_parts,
    clusters_at_once,
    combination_variance,
    contrast_df,
    contrast_p,
    contrast_variance,
    df_words,
    information_roots,
    score_sums,
    sorted_part,
    variances_of,
)
from evalstats.stats.arena.likelihood import PairFit, derivatives
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes, check_count, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import SMALLEST_P, t_quantile
from evalstats.stats.many.pair_table import FLAT
from evalstats.stats.many.ranks import RankSets, checked_top, no_ranks, ranks_of_law
from evalstats.stats.many.reference_laws import LISTED, normal_known, sign_patterns
from evalstats.stats.many.step_down import ROWS, Draws, ReferenceLaw

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
) -> ReferenceLaw:
    """Law of the studentised contrasts strength[first] - strength[second] if none differed, by sign flips of clusters.

    `std_error`, of shape (n_contrasts,), is what the observed contrasts are divided by where it is larger than the clusters' own
    standard error, so that other ways of clustering count too.

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
        # The draws of a contrast side by side, as `ReferenceLaw` has them, and some contrasts at once, in the processor's cache.
        turned, out = np.ascontiguousarray(signs.T), np.empty((first.size, len(signs)))
        for start in range(0, first.size, ROWS):
            part = slice(start, start + ROWS)
            mean, rest = parts[:, part].T @ turned, lifted[:, part].T @ turned
            rest *= -2.0
            rest += sizes[part, None] * mean
            rest *= mean
            rest += squares[part, None]
            np.maximum(rest, (_FLAT * squares + 1e-300)[part, None], out=rest)
            np.sqrt(rest, out=rest)
            mean *= own[part, None]
            np.divide(mean, rest, out=out[part])
        return out.T

    estimate = inside[first] - inside[second]
    by_clusters = np.sqrt(spread(estimate, lifted.sum(axis=0)))
    observed = own * estimate / np.maximum(by_clusters, std_error)
    listed = int(min(LISTED, _MOST_STATISTICS / first.size))
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
    block = clusters_at_once(fit, rows, codes)
    for part, local, starts in map(sorted_part, cluster_parts(rows, codes, block)):
        pull = score_sums(fit, part, local) @ fit.bread[:, :n]
        pulls.append(pull[:, first] - pull[:, second])
        through = information_roots(fit, part, root) @ root[:, :n]
        for g in range(starts.size - 1):
            own = through[starts[g] : starts[g + 1]].reshape(-1, n)
            shares.append(variances_of(own.T @ own, first, second))
    share = np.stack(shares)
    share /= share.sum(axis=0)
    pull = np.concatenate(pulls)
    estimate = fit.strengths[first] - fit.strengths[second]
    # A prior holds information too, which belongs to no cluster; without one the pulls sum to 0.
    return pull + share * (estimate - pull.sum(axis=0)), share, fit.strengths


_LEAST_DRAWS, _MOST_DRAWS = 4_999, 29_999
_MOST_IN_A_TABLE = 25_000_000
_MOST_FLIPPED = 256


@one_thread
def _joint_law(
    fit: PairFit, covariance: StrengthCovariance, rows: VoteRows | None, *, seed: int, n_resamples: int | None = None
) -> tuple[IntArray, IntArray, ReferenceLaw, str] | str:
    """Return the pairs of models with a standard error, their law if none differed and its name; or why there is none.

    Models are put in the order of their strengths, so that their numbers and the order of votes do not matter. The votes are
    needed where `covariance.few_clusters`. Without `n_resamples`: as many draws as 25 million statistics allow, from 4,999 to
    29,999.
    """
    if covariance.reason is not None:
        return covariance.reason
    order, a, b, size = _ordered_pairs(fit, covariance)
    first, second = order[a], order[b]
    if not first.size:
        return "no difference between two models has a standard error"
    draws = n_resamples or int(np.clip(_MOST_IN_A_TABLE // first.size, _LEAST_DRAWS, _MOST_DRAWS))
    if covariance.few_clusters:
        if rows is None:
            return "clusters are few, and sign flips of clusters need the votes themselves"
        codes, name = _flipped(covariance, rows := rows.heavy())
        law = flipped_contrasts(fit, rows, codes, first, second, std_error=size, seed=seed, n_resamples=draws)
        return first, second, law, f"sign flips of clusters by {name}"
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
    return first, second, law, f"multivariate t with {df_words(covariance.df)} df"


def _ordered_pairs(fit: PairFit, covariance: StrengthCovariance) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
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
    t = np.abs(fit.strengths[first] - fit.strengths[second]) / size
    p = np.maximum(special.stdtr(df, -t), SMALLEST_P)
    alike = -special.stdtrit(covariance.df, p)
    return np.where((df < covariance.df) & (alike > 0.0), size * t / np.where(alike > 0.0, alike, 1.0), size)


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


@record
class StrengthRanks(RankSets):
    """Ranks that the votes leave open; rank 1 is the strongest.

    Attributes
    ----------
    p_adjusted
        float64, shape (n_models, n_models), symmetric: step-down p-value of every pair among all pairs, from which `low` and
        `high` are counted. NaN on the diagonal and for pairs without a standard error.
    critical
        What the largest of all |t| exceeds with probability 1 - conf_level if no two models differ; NaN where unknown.
    """

    p_adjusted: FloatArray
    critical: float


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

    `covariance`: from `covariance_of`. With a `reason` in it, no rank is told. `rows`: the votes; needed where clusters are
    few (`covariance.few_clusters`), for sign flips. `top`: for each tau in it, which models may be among the tau best.
    `n_resamples`: draws of the law where it cannot be listed; None: 4,999 to 29,999, the more the fewer pairs there are.

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
    """
    level, taus, n = check_level(conf_level), checked_top(top), fit.n_models
    table, critical = np.full((n, n), np.nan), np.nan
    draws = None if n_resamples is None else check_count(n_resamples, "n_resamples", least=1)
    found = _joint_law(fit, covariance, rows, seed=seed, n_resamples=draws)
    if isinstance(found, str):
        sets = no_ranks(n, taus, found)
    else:
        first, second, law, method = found
        own_p = contrast_p(fit, covariance, first, second)
        missing = n * (n - 1) // 2 - first.size
        words = f"{missing} of {missing + first.size} pairs have no standard error and are not separated"
        sets, every = ranks_of_law(
            law,
            first,
            second,
            np.arange(n),
            taus=taus,
            level=level,
            method=method,
            least_p=own_p,
            warnings=(words,) if missing else (),
        )
        table[first, second] = table[second, first] = np.maximum(every.p_adjusted(), own_p)
        critical = every.critical(level)
    return StrengthRanks(
        **{each.name: getattr(sets, each.name) for each in fields(sets)}, p_adjusted=table, critical=critical
    )


def arena_ranks(low: ArrayLike, high: ArrayLike) -> IntArray:
    """Rank as public arenas do: 1 + the number of models whose interval lies wholly above one's own.

    A model without an interval (NaN) is not compared and ranks 1. Of a single pair it is conservative, and it is not adjusted for
    the number of pairs: see `strength_ranks` for what holds.
    """
    lower, upper = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if lower.ndim != 1 or lower.shape != upper.shape:
        raise InputError(
            f"there are low ends of shape {lower.shape} and high ends of shape {upper.shape}; give one each"
        )
    known = np.sort(lower[~np.isnan(lower)])
    above = known.size - np.searchsorted(known, upper, side="right")
    return 1 + np.where(np.isnan(upper), 0, above).astype(np.int64)


@record
class PairContrasts:
    """Strength of the first model less that of the second, in log-units, one entry of every array for each pair.

    Attributes
    ----------
    first, second
        Models, (0, 1), (0, 2), ..., first < second.
    std_error, conf_low, conf_high, p_value
        Of this difference alone, by the t law with `df` degrees of freedom (see `contrast_df`); NaN where there is a
        `reason`, or where all votes on one of the two models lie in one cluster.
    p_adjusted
        Step-down p-value among all pairs: at most 1 - conf_level exactly where the rank sets count the pair as shown. NaN
        where no ranks were given or the pair has no standard error.
    order_probability
        Probability that the first is the stronger, if nothing was known before (a flat prior): the t law around the estimate.
    """

    first: IntArray
    second: IntArray
    estimate: FloatArray
    std_error: FloatArray
    df: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    order_probability: FloatArray
    conf_level: float
    method: str
    reason: str | None = None


def pair_contrasts(
    fit: PairFit, covariance: StrengthCovariance, ranks: StrengthRanks | None = None, *, conf_level: float = 0.95
) -> PairContrasts:
    """Contrast all pairs of models of a fit, each from the full covariance.

    Adjusted p-values are taken over from `ranks`, from `strength_ranks` of the same fit.
    """
    level = check_level(conf_level)
    first, second = np.triu_indices(fit.n_models, k=1)
    estimate = fit.strengths[first] - fit.strengths[second]
    nothing = np.full(first.size, np.nan)
    df = std_error = p_value = order = reach = nothing
    if covariance.reason is None:
        variance, df = contrast_variance(covariance, first, second), contrast_df(covariance, first, second)
        known = (variance > 0.0) & ~np.isnan(df)
        std_error, df = np.where(known, np.sqrt(np.abs(variance)), np.nan), np.where(known, df, np.nan)
        p_value = contrast_p(fit, covariance, first, second)
        order = np.where(known, special.stdtr(df, estimate / std_error), np.nan)
        reach = -special.stdtrit(df, (1.0 - level) / 2.0) * std_error
    return PairContrasts(
        first=first,
        second=second,
        estimate=estimate,
        std_error=std_error,
        df=df,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        p_value=p_value,
        p_adjusted=nothing if ranks is None else ranks.p_adjusted[first, second],
        order_probability=order,
        conf_level=level,
        method=covariance.method,
        reason=covariance.reason,
    )


_POWER = 0.8
_CAP = 10_000_000  # direct votes
_NO_SPREAD = "the difference has no standard error, so what votes would add is unknown"


SEPARATED = "separated already"


def more_votes(
    fit: PairFit,
    covariance: StrengthCovariance,
    contrasts: PairContrasts,
    *,
    critical: float | None = None,
) -> tuple[tuple[int | None, str | None], ...]:
    """Count the direct votes that separate each pair of `contrasts` with 80% power if the difference is as estimated.

    For each pair: the votes between these two alone, on top of those there are, or None and the reason. `critical` is what |t|
    has to exceed: `StrengthRanks.critical` for claims among all pairs; None: the t quantile of one pair alone. Where more votes
    than ten million are needed, a reason is given instead of a number.

    Notes
    -----
    A direct vote adds the information I = -E[d2 log-likelihood / d eta2] to that of the contrast. With b the contrast's
    variance by the model alone and V its variance by the covariance, n further votes leave V / (1 + n I b): the new votes
    are as dependent as the old ones (design effect V / V_votes) and as informative, whatever ties do to them. That holds for
    votes of new raters on new prompts; more votes of the same few raters add less. With d the estimate, n is the least
    number for which |d| reaches (critical + t_power) times the standard error. Estimated differences are somewhat too large
    where they were looked for, and n then too small.
    """
    estimate, df, alpha = contrasts.estimate, contrasts.df, 1.0 - contrasts.conf_level
    bar = -special.stdtrit(df, alpha / 2.0) if critical is None else critical
    decided = contrasts.p_value if critical is None else contrasts.p_adjusted
    reach = bar + special.stdtrit(df, _POWER)
    # The expected information by eta of one vote between models that differ by `eta`, covariates 0.
    none, one = np.zeros_like(estimate), np.ones_like(estimate)
    information = np.zeros_like(estimate)
    kinds = [(one, none, none), (none, one, none), (none, none, one)]
    for votes in kinds[: 2 if fit.ties == "half" else 3]:
        at = derivatives(fit.ties, estimate, fit.tau, votes)
        information += np.exp(at.log_lik) * at.curve
    gain = information * variances_of(fit.bread, contrasts.first, contrasts.second)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (np.square(contrasts.std_error * reach / estimate) - 1.0) / gain
    lacking = contrasts.reason or (None if critical is None else _clusters_lacking(covariance))
    return tuple(_one(float(n), float(p), lacking, alpha) for n, p in zip(needed, decided, strict=True))


def _clusters_lacking(covariance: StrengthCovariance) -> str | None:
    """Say of which clusters more are needed where claims rest on sign flips of few: votes in the same ones cannot help."""
    few = [way for way in covariance.used if covariance.few_clusters and way.n_clusters < ENOUGH_CLUSTERS]
    if not few:
        return None
    least = min(few, key=lambda way: way.n_clusters)
    return f"more clusters by {least.name} are needed, not more votes: there are {least.n_clusters}"


def _one(needed: float, p: float, reason: str | None, alpha: float) -> tuple[int | None, str | None]:
    """Return the number of votes of one pair, or why there is none."""
    if p <= alpha:
        return None, SEPARATED
    if reason is not None:
        return None, reason
    if math.isnan(needed):
        return None, _NO_SPREAD
    if not needed <= _CAP:
        return None, f"more than {_CAP:,} votes: the estimated difference is too close to 0"
    # A pair that is not separated though its estimate already stands out enough needs a vote at least to change anything.
    return max(1, math.ceil(needed)), None


_FARTHEST = 200.0  # log-odds
_LEAST_WORTH = 2.0  # equal clusters: with fewer, an opponent's strength has no error to allow for
_LEVELS = np.logspace(-12.0, 0.0, 145)[:-1]


@record
class PerfectRecord:
    """The votes of one model against rated ones, all won (`won`) or all lost.

    Attributes
    ----------
    opponent
        int64, shape (n_rows,): numbers of the fit.
    lift
        float64, shape (n_rows,): log-odds that covariates add to the result that came.
    count
        int64, shape (n_rows,): votes that the row stands for.
    ways
        Codes of clusters, each of shape (n_rows,); empty where every vote stands on its own.
    """

    won: bool
    opponent: IntArray
    lift: FloatArray
    count: IntArray
    ways: tuple[IntArray, ...] = ()


def perfect_record(rows: VoteRows, model: int, place: IntArray, coefficients: FloatArray) -> PerfectRecord:
    """Return the record of a model; `place`, shape (n_models,), has the numbers of rated models in the fit, -1 of others."""
    on_a = (rows.first == model) & (place[rows.second] >= 0)
    on_b = (rows.second == model) & (place[rows.first] >= 0)
    own = rows.take((on_a | on_b) & (rows.weight > 0.0))
    here = own.first == model
    got = np.where(here, own.share, 1.0 - own.share)
    if not got.size or not (np.all(got == 1.0) or np.all(got == 0.0)):
        raise InputError(f"model {model} did not win or lose all of its votes against rated models; give one that did")
    won = bool(got[0] == 1.0)
    return PerfectRecord(
        won=won,
        opponent=place[np.where(here, own.second, own.first)],
        lift=np.where(here == won, 1.0, -1.0) * (own.covariates @ coefficients),
        count=own.count,
        ways=own.clusters,
    )


@record
class RecordLimits:
    """Limits for contrasts of the model's strength with combinations of the others', one for each combination.

    Attributes
    ----------
    limit
        Strength of the model less the combination: at least this with `won`, at most this else, with probability
        1 - (1 - conf_level) / 2; NaN where it is not known.
    p_value
        Two-sided, of the combination being as strong as the model; NaN where it is not known.
    """

    limit: FloatArray
    p_value: FloatArray


@one_thread
def record_limits(
    record: PerfectRecord,
    fit: PairFit,
    covariance: StrengthCovariance,
    against: FloatArray,
    *,
    conf_level: float = 0.95,
) -> RecordLimits:
    """Return limits for a model that won (or lost) every vote, against combinations of strengths.

    `fit`, `covariance`: of the other models, from votes among them. `against`: float64, shape (n_combinations, n_models): a
    row of the identity is one other model, 1/n everywhere their mean.

    Notes
    -----
    The likelihood of a model that won everything rises for ever, so its strength has a lower limit only: where so many wins
    would have had a chance of a/2. Votes of one cluster (a rater, a prompt) may be one vote in effect: all of them went one
    way with a probability of at most that of the least likely, which is what a cluster counts, and clusters multiply. That
    holds whatever votes of a cluster share. Of several ways of clustering the one counts that says least. The limit is for
    given strengths of the opponents; their error, weighted by how much the limit rests on each, is allowed for by the t law
    at another a/2 (Bonferroni). So the limit misses with a probability of at most a = (1 - conf_level)/2, and is as a rule
    lower than it need be.

    A p-value is twice the smallest a of a grid (12 to a power of ten) at which the limit excludes no difference.

    References
    ----------
    Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404 (the limit of a share of 1).
    """
    level = check_level(conf_level)
    weights = np.pad(np.asarray(against, dtype=np.float64), ((0, 0), (0, fit.n_parameters - fit.n_models)))
    unknown = np.full(len(weights), np.nan)
    if covariance.reason is not None or not np.isfinite(covariance.df):
        return RecordLimits(limit=unknown, p_value=unknown)
    sign = 1.0 if record.won else -1.0
    ways = _ways(record, fit)
    here = sign * _limit(ways, fit, covariance, weights, (1.0 - level) / 2.0, sign=sign)
    p_value = np.ones(len(weights))
    # Limits rise with the level: a contrast is shown at every level from the first at which its limit is above 0.
    every = np.stack([sign * _limit(ways, fit, covariance, weights, float(a), sign=sign) for a in _LEVELS])
    for k, column in enumerate(every.T):
        below = np.flatnonzero(~(column > 0.0))
        first = int(below[-1]) + 1 if below.size else 0
        p_value[k] = 2.0 * _LEVELS[first] if first < _LEVELS.size else 1.0
    known = np.isfinite(here)
    return RecordLimits(
        limit=np.where(known, sign * here, np.nan), p_value=np.where(known, np.minimum(1.0, p_value), np.nan)
    )


@record
class _Way:
    """The votes that count in one way of clustering: opponents, their strengths less what covariates add, and how many."""

    opponent: IntArray
    strength: FloatArray
    count: IntArray


def _ways(record: PerfectRecord, fit: PairFit) -> list[_Way]:
    """Return, for each way of clustering, the least likely vote of every cluster, equal ones together."""
    sign = 1.0 if record.won else -1.0
    # Where the opponents' strengths are turned round, losses are wins; the strongest opponent makes the least likely win.
    strength = sign * fit.strengths[record.opponent] - record.lift
    found: list[_Way] = []
    for codes in record.ways or (None,):
        kept, count = np.arange(strength.size), record.count
        if codes is not None:
            order = np.lexsort((-strength, codes))
            kept = order[np.unique(codes[order], return_index=True)[1]]
            count = np.ones(kept.size, dtype=np.int64)
        value, at, same = np.unique(strength[kept], return_index=True, return_inverse=True)
        total = np.bincount(same, weights=count, minlength=value.size).astype(np.int64)
        found.append(_Way(opponent=record.opponent[kept][at], strength=value, count=total))
    return found


def _limit(
    ways: list[_Way], fit: PairFit, covariance: StrengthCovariance, weights: FloatArray, a: float, *, sign: float
) -> FloatArray:
    """Return the limits at a one-sided level, shape (n_combinations,)."""
    target = math.log(a / 2.0)

    def chance(own: float) -> float:
        return max(_log_chance(way, fit, own)[0] for way in ways) - target

    start = float(ways[0].strength.mean())
    from scipy.optimize import brentq  # slow to load

    own = float(brentq(chance, start - _FARTHEST, start + _FARTHEST, xtol=1e-10))  # pyright: ignore[reportArgumentType]
    way = max(ways, key=lambda way: _log_chance(way, fit, own)[0])
    pull = _log_chance(way, fit, own)[1]
    rests = np.bincount(way.opponent, weights=pull, minlength=fit.n_parameters) / pull.sum()
    alone = covariance.model_effective < _LEAST_WORTH
    error = np.sqrt(np.maximum(combination_variance(covariance, rests - weights), 0.0))
    doubtful = (np.abs(rests - weights)[:, : fit.n_models] * alone).sum(axis=1) > 0.0
    reach = t_quantile(1.0 - a, covariance.df) * error
    limit = sign * own - weights[:, : fit.n_models] @ fit.strengths - sign * reach
    return np.where(doubtful, np.nan, limit)


def _log_chance(way: _Way, fit: PairFit, own: float) -> tuple[float, FloatArray]:
    """Return the logarithm of the probability of winning all votes that count, and what each adds to its slope."""
    votes = way.count.astype(np.float64)
    nothing = np.zeros_like(votes)
    at = derivatives(fit.ties, own - way.strength, fit.tau, (votes, nothing, nothing))
    return float(at.log_lik.sum()), at.slope
