"""Ratings of one part of the votes with their errors, and what may be claimed of pairs and ranks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from evalstats.analysis.arena.adjustments import SIDE, Covariates
from evalstats.analysis.arena.options import ArenaOptions
from evalstats.analysis.arena.result import ClusterCount, VoteCovariate
from evalstats.analysis.arena.votes import VoteTable
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bootstrap import PercentileIntervals, bootstrap_strengths
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, fit_strengths
from evalstats.stats.arena.contrasts import (
    PairContrasts,
    StrengthRanks,
    arena_ranks,
    more_votes,
    pair_contrasts,
    strength_ranks,
)
from evalstats.stats.arena.covariance import (
    StrengthCovariance,
    clustered_meat,
    combination_variance,
    covariance_of,
    covariance_of_meat,
    vote_meat,
)
from evalstats.stats.arena.likelihood import PairFit, connection
from evalstats.stats.arena.votes import stacked
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import t_quantile, two_sided_t_p

ELO_BASE = 1000.0
_NO_DF = 1e-6
_LEAST_WORTH = 2.0  # clusters: with fewer the t law has less than 1 degree of freedom
_HELD = 30_000_000  # rows of votes by cluster that may be held, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ArenaOptions):
    """What was asked for, checked and settled; a prior of 0 is none."""

    prior: float = 0.0
    conf_level: float = 0.95

    @property
    def points(self) -> float:
        """Rating points for one unit of log-odds."""
        return ELO_PER_LOG_ODDS if self.scale == "elo" else 1.0

    @property
    def base(self) -> float:
        """Rating of the average model, or of the anchor."""
        return ELO_BASE if self.scale == "elo" else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What may be said of pairs and of ranks.

    Matrices have shape (n_models, n_models), entry (i, j) for model i less model j, NaN where nothing is known; `std_error` is in
    rating points.

    Attributes
    ----------
    separated
        Whether the order of i and j is shown, all pairs taken together.
    by_prior
        Whether the prior alone puts the two on one scale; then no order is claimed.
    order
        Probability that i is the stronger, nothing known before.
    more_votes
        Further votes between the two that would separate them; `more_votes_reasons` says why there is no number.
    rank_arena
        int64, shape (n_models,): the rank that live arenas print.
    """

    ranks: StrengthRanks
    df: FloatArray
    std_error: FloatArray
    p_value: FloatArray
    separated: NDArray[np.bool_]
    by_prior: NDArray[np.bool_]
    order: FloatArray
    more_votes: FloatArray
    more_votes_reasons: dict[tuple[int, int], str]
    rank_arena: IntArray


def claims_of(table: VoteTable, fit: PairFit, covariance: StrengthCovariance, options: Options) -> Claims:
    """Return what may be claimed of pairs and ranks."""
    rows = table.rows if table.chunks is None else None
    ranks = strength_ranks(fit, covariance, rows, conf_level=options.conf_level, top=options.top, seed=options.seed)
    pairs = pair_contrasts(fit, covariance, ranks, conf_level=options.conf_level)
    shown = ranks.p_adjusted <= 1.0 - options.conf_level
    apart = np.zeros_like(shown)
    if options.prior > 0.0:
        apart = _parts_apart(table, fit.n_models)
        shown, ranks = shown & ~apart, _within_parts(fit, shown & ~apart, apart, ranks)
    n = fit.n_models
    bar = ranks.critical if np.isfinite(ranks.critical) else None
    more = more_votes(fit, covariance, pairs, critical=bar)
    needed = np.array([np.nan if votes is None else float(votes) for votes, _ in more])
    why = {
        pair: reason
        for i, j, (_, reason) in zip(pairs.first.tolist(), pairs.second.tolist(), more, strict=True)
        if reason is not None
        for pair in ((i, j), (j, i))
    }
    error = np.sqrt(np.maximum(combination_variance(covariance, np.eye(n, fit.n_parameters)), 0.0))
    reach = np.array([t_reach(options.conf_level, df) for df in model_df(covariance)]) * error
    order = _matrix(pairs.order_probability, pairs, n)
    return Claims(
        ranks=ranks,
        df=_matrix(pairs.df, pairs, n),
        std_error=_matrix(pairs.std_error, pairs, n) * options.points,
        p_value=_matrix(pairs.p_value, pairs, n),
        separated=shown,
        by_prior=apart,
        order=np.where(np.tri(n, dtype=np.bool_), 1.0 - order, order),
        more_votes=_matrix(needed, pairs, n),
        more_votes_reasons=why,
        rank_arena=arena_ranks(fit.strengths - reach, fit.strengths + reach),
    )


def _parts_apart(table: VoteTable, n_models: int) -> NDArray[np.bool_]:
    """Tell the pairs of models that votes alone do not put on one scale."""
    part = np.empty(n_models, dtype=np.int64)
    for number, models in enumerate(connection(table.rows).components):
        part[list(models)] = number
    return part[:, np.newaxis] != part


def _within_parts(
    fit: PairFit, within: NDArray[np.bool_], apart: NDArray[np.bool_], ranks: StrengthRanks
) -> StrengthRanks:
    """Count ranks from what is shown within parts; sets of a model alone get room for all of the other parts."""
    if not apart.any():
        return ranks
    above = fit.strengths[:, np.newaxis] < fit.strengths  # entry (i, j): j is rated above i
    return replace(
        ranks,
        low=1 + (within & above).sum(axis=1),
        high=fit.n_models - (within & ~above).sum(axis=1),
        marginal_low=np.maximum(1, ranks.marginal_low - (apart & above).sum(axis=1)),
        marginal_high=np.minimum(fit.n_models, ranks.marginal_high + (apart & ~above).sum(axis=1)),
        p_adjusted=np.where(apart, np.nan, ranks.p_adjusted),
    )


def model_df(covariance: StrengthCovariance) -> list[float]:
    """Return the degrees of freedom of every model's strength; NaN where its votes are worth one cluster."""
    df = np.minimum(covariance.df, covariance.model_effective - 1.0)
    return np.where(df > _NO_DF, df, np.nan).tolist()


def t_reach(conf_level: float, df: float) -> float:
    """Return how many standard errors an interval reaches; NaN where there are no degrees of freedom."""
    return t_quantile(conf_level, df) if np.isfinite(df) else np.nan


def _matrix(values: FloatArray, pairs: PairContrasts, n: int) -> FloatArray:
    """Return what belongs to pairs as a symmetric table."""
    table = np.full((n, n), np.nan)
    table[pairs.first, pairs.second] = table[pairs.second, pairs.first] = values
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The models of one part, rated.

    Attributes
    ----------
    models
        Their numbers in the whole table, in the order of the part's own numbers.
    ratings, std_errors
        float64, shape (n_models,), on the result's scale; NaN where there is no standard error.
    rating_covariance
        float64, shape (n_models, n_models), or None.
    claims
        What may be said of pairs and ranks; None where there are no intervals, or only coefficients were wanted.
    """

    models: tuple[int, ...]
    table: VoteTable
    options: Options
    fit: PairFit
    covariance: StrengthCovariance
    ratings: FloatArray
    std_errors: FloatArray
    rating_covariance: FloatArray | None
    claims: Claims | None
    boot: PercentileIntervals | None
    rank_reason: str | None
    notes: tuple[Note, ...]

    @property
    def reason(self) -> str | None:
        """Why there are no intervals."""
        return self.covariance.reason

    @property
    def df(self) -> float | None:
        """Degrees of freedom of the t law; None where there are no intervals."""
        return None if self.reason or not np.isfinite(self.covariance.df) else float(self.covariance.df)

    def scaled(self, strengths: FloatArray) -> FloatArray:
        """Return ratings on the result's scale."""
        return scaled(strengths, self.table.models, self.options)


def scaled(strengths: FloatArray, names: tuple[str, ...], options: Options) -> FloatArray:
    """Return ratings on the result's scale: the mean of all models, or the anchor, at the base."""
    fixed = strengths[names.index(options.anchor)] if options.anchor in names else 0.0
    return options.base + options.points * (strengths - fixed)


def rate(
    table: VoteTable,
    models: Sequence[int],
    options: Options,
    *,
    bare: bool = False,
    widening: float = 1.0,
    withheld: str | None = None,
) -> Part:
    """Rate one part, `models` of the whole table, from its votes alone; `bare`: for coefficients, without pairs and ranks.

    `widening` multiplies all standard errors; `withheld` says why there are none.
    """
    fit = _fitted(table, options)
    table, covariance = _covariance(table, fit)
    if options.prior > 0.0:
        covariance = _with_prior(covariance, fit)
    if widening != 1.0:
        covariance = replace(
            covariance,
            covariance=widening**2 * covariance.covariance,
            joint=widening**2 * covariance.joint,
            one_way=tuple(widening**2 * each for each in covariance.one_way),
        )
    covariance = replace(
        covariance,
        model_effective=np.where(_unknown(table, covariance), 1.0, covariance.model_effective),
        reason=withheld or covariance.reason or _too_unequal(covariance),
    )
    weights = _against(table.models, options, fit.n_parameters)
    variance = combination_variance(covariance, weights) * options.points**2
    known = covariance.reason is None
    std_errors = (
        np.where(variance > 0.0, np.sqrt(np.maximum(variance, 0.0)), np.nan) if known else np.full(len(models), np.nan)
    )
    boot, lent = (None, ()) if bare else _bootstrap(table, fit, covariance, options)
    claims = None if bare or not known else claims_of(table, fit, covariance, options)
    return Part(
        models=tuple(models),
        table=table,
        options=options,
        fit=fit,
        covariance=covariance,
        ratings=scaled(fit.strengths, table.models, options),
        std_errors=std_errors,
        rating_covariance=_rating_covariance(covariance, weights, options) if known else None,
        claims=claims,
        boot=boot,
        rank_reason=covariance.reason if claims is None else claims.ranks.reason,
        notes=(
            # Of votes at hand these say how errors were computed; merged ones leave nothing better to compute.
            *as_notes("few", covariance.warnings, caution=table.chunks is not None),
            *as_notes("few", (*(() if claims is None else claims.ranks.warnings), *lent)),
        ),
    )


def _fitted(table: VoteTable, options: Options) -> PairFit:
    """Fit, with the names of covariates in what is said of them."""
    try:
        return fit_strengths(table.rows, ties=options.ties, prior=options.prior)
    except CannotAnswerError as error:
        names = table.covariate_names
        told = re.sub(r"covariate (\d+)", lambda found: names[int(found[1])], str(error)) if names else str(error)
        raise CannotAnswerError(told) from error


def _words(table: VoteTable) -> list[str]:
    """Return the clusters as a reader calls them."""
    return ["prompt" if name == "item" else name for name in table.cluster_names]


def _covariance(table: VoteTable, fit: PairFit) -> tuple[VoteTable, StrengthCovariance]:
    """Return the covariance, and the table with its clusters held where claims need them by themselves."""
    if table.chunks is None:
        return table, covariance_of(fit, table.rows, names=_words(table))
    meat = clustered_meat(fit, table.chunks())
    found = covariance_of_meat(fit, meat, vote_meat(fit, table.rows), name=_words(table)[0])
    if not found.few_clusters or meat.n_clusters * table.rows.n_rows > _HELD:
        return table, found
    held = replace(table, rows=stacked(list(table.chunks())), chunks=None)
    return held, covariance_of(fit, held.rows, names=_words(held))


def _with_prior(covariance: StrengthCovariance, fit: PairFit) -> StrengthCovariance:
    """Count the prior's wins and losses as votes in the spread too, not in the information alone.

    Otherwise a model that won all its few votes would have a rating made by the prior, and hardly any error.
    """
    n = fit.n_models
    win = expit(fit.strengths)
    meat = np.zeros_like(fit.bread)
    meat[np.arange(n), np.arange(n)] = fit.prior * (win**2 + (1.0 - win) ** 2)
    added = fit.bread @ meat @ fit.bread
    return replace(
        covariance,
        covariance=covariance.covariance + added,
        joint=covariance.joint + added[:n, :n],
        votes=covariance.votes + added,
        one_way=tuple(each + added for each in covariance.one_way),
    )


def _too_unequal(covariance: StrengthCovariance) -> str | None:
    """Say why no interval is given where nearly all votes lie in one cluster."""
    worth = covariance.df + 1.0
    if worth >= _LEAST_WORTH:
        return None
    way = min(covariance.used, key=lambda way: way.effective, default=None)
    what = "votes" if way is None else f"{way.n_clusters} clusters by {way.name}"
    return f"the {what} are so unequal that they are worth {worth:.1f} equal ones, too few for an interval"


def _unknown(table: VoteTable, covariance: StrengthCovariance) -> NDArray[np.bool_]:
    """Tell the models of which no error can be told: all their votes are ties, or lie in hardly more than one cluster."""
    decided = table.rows.share != 0.5
    sides = np.concatenate([table.rows.first[decided], table.rows.second[decided]])
    all_tied = np.bincount(sides, minlength=table.n_models) == 0  # their residuals are 0, which is no precision
    return all_tied | (covariance.model_effective < _LEAST_WORTH)


def _bootstrap(
    table: VoteTable, fit: PairFit, covariance: StrengthCovariance, options: Options
) -> tuple[PercentileIntervals | None, tuple[str, ...]]:
    """Return percentile intervals of the strengths, by the way of clustering that has the fewest equal levels."""
    if options.n_resamples is None:
        return None, ()
    if table.chunks is not None:
        return None, ("votes that came merged by cluster cannot be drawn by cluster: there is no bootstrap",)
    used = [k for k, way in enumerate(covariance.ways) if way.nested_in is None]
    way = min(used, key=lambda k: covariance.ways[k].effective) if used else None
    found = bootstrap_strengths(fit, table.rows, n_resamples=options.n_resamples, seed=options.seed, way=way)
    names = table.models
    if options.anchor not in names:
        return found.intervals(conf_level=options.conf_level), found.warnings
    others = np.arange(len(names))
    fixed = np.full(len(names), names.index(options.anchor))
    return found.contrasts(others, fixed, conf_level=options.conf_level), found.warnings


def _against(names: tuple[str, ...], options: Options, n_parameters: int) -> FloatArray:
    """Return what makes ratings of parameters: every strength, less the anchor's where there is one."""
    weights = np.eye(len(names), n_parameters)
    if options.anchor in names:
        weights[:, names.index(options.anchor)] -= 1.0
    return weights


def _rating_covariance(covariance: StrengthCovariance, weights: FloatArray, options: Options) -> FloatArray:
    n = covariance.n_models
    return options.points**2 * weights[:, :n] @ covariance.covariance[:n, :n] @ weights[:, :n].T


def cluster_counts(part: Part) -> tuple[ClusterCount, ...]:
    """Return what standard errors are clustered by."""
    ways = part.covariance.ways
    # Of merged votes it is not known how many have no level.
    nameless = part.table.nameless or (0,) * len(ways)
    return tuple(
        ClusterCount(
            name=name,
            n_levels=way.n_clusters - n,
            n_nameless=n,
            effective=way.effective,
            largest=way.largest_share,
        )
        for name, way, n in zip(part.table.cluster_names, ways, nameless, strict=False)
        if way.nested_in is None
    )


def covariate_rows(part: Part, covariates: Covariates, *, held: bool) -> tuple[VoteCovariate, ...]:
    """Return the coefficients of the side and of style with their intervals."""
    fit, found, options = part.fit, part.covariance, part.options
    rows: list[VoteCovariate] = []
    for place, name in enumerate(covariates.names):
        weights = np.zeros((1, fit.n_parameters))
        weights[0, fit.n_models + place] = 1.0
        estimate, variance = float(fit.coefficients[place]), float(combination_variance(found, weights)[0])
        row = VoteCovariate(
            name=name,
            conf_level=options.conf_level,
            estimate=estimate,
            held=held,
            points=estimate * options.points,
            mean=covariates.mean[place],
            sd=None if name == SIDE else covariates.sd[place],
            reason=found.reason or ("its standard error cannot be estimated" if variance <= 0.0 else None),
        )
        rows.append(row if row.reason else _with_interval(row, float(np.sqrt(variance)), found.df, options))
    return tuple(rows)


def _with_interval(row: VoteCovariate, error: float, df: float, options: Options) -> VoteCovariate:
    reach = t_quantile(options.conf_level, df) * error
    return replace(
        row,
        std_error=error,
        conf_low=row.estimate - reach,
        conf_high=row.estimate + reach,
        df=df if np.isfinite(df) else None,
        p_value=two_sided_t_p(row.estimate / error, df),
    )


def vote_level_ratio(part: Part) -> float | None:
    """Return the median over pairs of the standard error over the one of independent votes."""
    if part.claims is None or not part.covariance.ways:
        return None
    first, second = np.triu_indices(part.fit.n_models, k=1)
    votes = part.covariance.votes
    alone = votes[first, first] + votes[second, second] - 2.0 * votes[first, second]
    ratio = part.claims.std_error[first, second] / (part.options.points * np.sqrt(alone))
    return float(np.nanmedian(ratio)) if np.isfinite(ratio).any() else None
