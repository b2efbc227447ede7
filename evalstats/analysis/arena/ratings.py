"""Ratings of one part of the votes with their errors, what may be claimed of pairs and ranks, and what else moves a vote."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit

from evalstats.analysis.arena.notes import source_levels, source_word
from evalstats.analysis.arena.result import ClusterCount, PromptLevels, VoteCovariate
from evalstats.analysis.result import Estimate, finite
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import plural
from evalstats.options import RatingScale, Ties
from evalstats.record import record
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
    FEWEST_CLUSTERS,
    StrengthCovariance,
    clustered_meat,
    combination_variance,
    covariance_of,
    covariance_of_meat,
    plus,
    vote_meat,
)
from evalstats.stats.arena.labelled import with_labels
from evalstats.stats.arena.likelihood import PairFit, connection
from evalstats.stats.arena.votes import A_WINS, TIE, VoteRows, stacked
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.estimate import t_quantile, two_sided_t_p
from evalstats.table.votes import PEOPLE, SIDE, VoteTable

ELO_BASE = 1000.0
_NO_DF = 1e-6
UNKNOWN = "standard error cannot be estimated"
_LEAST_WORTH = 2.0  # clusters: with fewer the t law has less than 1 degree of freedom
_HELD = 30_000_000  # rows of votes by cluster that may be held, at most
_FEWEST_DECIDED = 6  # 2 x .5^6 is the first p below .05
_PROMPT = "item"


@record
class RatingOptions:
    """What was asked for, checked and settled; a prior of 0 is none."""

    ties: Ties = "half"
    prior: float = 0.0
    anchor: str | None = None
    scale: RatingScale = "elo"
    conf_level: float = 0.95
    n_resamples: int | None = None
    top: tuple[int, ...] = (1, 3, 5)
    seed: int = 0

    @property
    def points(self) -> float:
        """Rating points for one unit of log-odds."""
        return ELO_PER_LOG_ODDS if self.scale == "elo" else 1.0

    @property
    def base(self) -> float:
        """Rating of the average model, or of the anchor."""
        return ELO_BASE if self.scale == "elo" else 0.0


@record
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
    separated: BoolArray
    by_prior: BoolArray
    order: FloatArray
    more_votes: FloatArray
    more_votes_reasons: dict[tuple[int, int], str]
    rank_arena: IntArray


def claims_of(table: VoteTable, fit: PairFit, covariance: StrengthCovariance, options: RatingOptions) -> Claims:
    """Return what may be claimed of pairs and ranks."""
    rows = table.rows if table.chunks is None else None
    ranks = strength_ranks(fit, covariance, rows, conf_level=options.conf_level, top=options.top, seed=options.seed)
    pairs = pair_contrasts(fit, covariance, ranks, conf_level=options.conf_level)
    shown = ranks.p_adjusted <= 1.0 - options.conf_level
    apart = np.zeros_like(shown)
    if options.prior > 0.0:
        component = np.empty(fit.n_models, dtype=np.int64)
        for number, models in enumerate(connection(table.rows).components):
            component[list(models)] = number
        apart = component[:, np.newaxis] != component
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
    reach = strength_reach(fit, covariance, options.conf_level)
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


def _within_parts(fit: PairFit, within: BoolArray, apart: BoolArray, ranks: StrengthRanks) -> StrengthRanks:
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


def strength_reach(fit: PairFit, covariance: StrengthCovariance, conf_level: float) -> FloatArray:
    """Return half the interval of every strength in log-units; NaN where it has no degrees of freedom."""
    error = np.sqrt(np.maximum(combination_variance(covariance, np.eye(fit.n_models, fit.n_parameters)), 0.0))
    quantile = [t_quantile(conf_level, df) if np.isfinite(df) else np.nan for df in model_df(covariance)]
    return np.array(quantile) * error


def _matrix(values: FloatArray, pairs: PairContrasts, n: int) -> FloatArray:
    """Return what belongs to pairs as a symmetric table."""
    table = np.full((n, n), np.nan)
    table[pairs.first, pairs.second] = table[pairs.second, pairs.first] = values
    return table


@record
class RatedPart:
    """The models of one part, rated.

    Attributes
    ----------
    models
        Their numbers in the whole table, in the order of the part's own numbers.
    std_errors
        float64, shape (n_models,), on the result's scale; NaN where there is none.
    rating_covariance
        float64, shape (n_models, n_models), or None.
    claims
        What may be said of pairs and ranks; None where there are no intervals, or only coefficients were wanted.
    """

    models: tuple[int, ...]
    table: VoteTable
    options: RatingOptions
    fit: PairFit
    covariance: StrengthCovariance
    std_errors: FloatArray
    rating_covariance: FloatArray | None
    claims: Claims | None
    boot: PercentileIntervals | None
    rank_reason: str | None
    notes: tuple[Note, ...]

    @property
    def ratings(self) -> FloatArray:
        """Ratings on the result's scale, shape (n_models,)."""
        return self.scaled(self.fit.strengths)

    @property
    def reason(self) -> str | None:
        """Why there are no intervals."""
        return self.covariance.reason

    @property
    def df(self) -> float | None:
        """Degrees of freedom of the t law; None where there are no intervals."""
        return None if self.reason or not np.isfinite(self.covariance.df) else float(self.covariance.df)

    def scaled(self, strengths: FloatArray) -> FloatArray:
        """Return ratings on the result's scale: the mean of all models, or the anchor, at the base."""
        names, options = self.table.models, self.options
        fixed = strengths[names.index(options.anchor)] if options.anchor in names else 0.0
        return options.base + options.points * (strengths - fixed)

    def estimate(self, place: int) -> Estimate:
        """Return the rating of one model with its interval, or why it has none."""
        options, rating = self.options, float(self.ratings[place])
        error, df, reason = finite(self.std_errors[place]), finite(model_df(self.covariance)[place]), self.reason
        known = error is not None and df is not None
        if self.table.models[place] == options.anchor:
            reason = "its rating is fixed: it is the anchor"
        elif reason is None and not known:
            reason = f"its {UNKNOWN}: all its votes are ties, or lie almost all in one cluster"
        found = Estimate(estimate=rating, conf_level=options.conf_level, reason=reason)
        if error is None or df is None:
            return found
        reach = t_quantile(options.conf_level, df) * error
        return replace(found, std_error=error, df=df, conf_low=rating - reach, conf_high=rating + reach)


def rate(
    table: VoteTable,
    models: Sequence[int],
    options: RatingOptions,
    *,
    bare: bool = False,
    widening: float = 1.0,
    withheld: str | None = None,
) -> RatedPart:
    """Rate one part, `models` of the whole table, from its votes alone; `bare`: for coefficients, without pairs and ranks.

    `widening` multiplies all standard errors; `withheld` says why there are none.
    """
    fit = _fitted(table, options)
    table, covariance = _covariance(table, fit)
    if options.prior > 0.0:
        covariance = _with_prior(covariance, fit)
    if table.label_weight.any():
        labelled = table.labelled_rows()
        covariance = with_labels(covariance, fit, labelled)
        withheld = withheld or _too_few_labelled(table, labelled)
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
    # What makes ratings of parameters: every strength, less the anchor's where there is one.
    weights = np.eye(len(models), fit.n_parameters)
    if options.anchor in table.models:
        weights[:, table.models.index(options.anchor)] -= 1.0
    own = slice(0, fit.n_models)
    of_ratings = options.points**2 * weights[:, own] @ covariance.covariance[own, own] @ weights[:, own].T
    variance = combination_variance(covariance, weights) * options.points**2
    known = covariance.reason is None
    std_errors = (
        np.where(variance > 0.0, np.sqrt(np.maximum(variance, 0.0)), np.nan) if known else np.full(len(models), np.nan)
    )
    boot, lent = (None, ()) if bare else _bootstrap(table, fit, covariance, options)
    claims = None if bare or not known else claims_of(table, fit, covariance, options)
    return RatedPart(
        models=tuple(models),
        table=table,
        options=options,
        fit=fit,
        covariance=covariance,
        std_errors=std_errors,
        rating_covariance=of_ratings if known else None,
        claims=claims,
        boot=boot,
        rank_reason=covariance.reason if claims is None else claims.ranks.reason,
        notes=(
            # Of votes at hand these say how errors were computed; merged ones leave nothing better to compute.
            *as_notes("few", covariance.warnings, caution=table.chunks is not None),
            *as_notes("few", (*(() if claims is None else claims.ranks.warnings), *lent)),
        ),
    )


def _fitted(table: VoteTable, options: RatingOptions) -> PairFit:
    """Fit, with the names of covariates in what is said of them."""
    try:
        return fit_strengths(table.rows, ties=options.ties, prior=options.prior)
    except CannotAnswerError as error:
        names = table.covariate_names
        told = re.sub(r"covariate (\d+)", lambda found: names[int(found[1])], str(error)) if names else str(error)
        raise CannotAnswerError(told) from error


def _covariance(table: VoteTable, fit: PairFit) -> tuple[VoteTable, StrengthCovariance]:
    """Return the covariance, and the table with its clusters held where claims need them by themselves."""
    words = [source_word(name) for name in table.cluster_names]
    if table.chunks is None:
        return table, covariance_of(fit, table.rows, names=words)
    meat = clustered_meat(fit, table.chunks())
    found = covariance_of_meat(fit, meat, vote_meat(fit, table.rows), name=words[0])
    if not found.few_clusters or meat.n_clusters * table.rows.n_rows > _HELD:
        return table, found
    held = replace(table, rows=stacked(list(table.chunks())), chunks=None)
    return held, covariance_of(fit, held.rows, names=words)


def _with_prior(covariance: StrengthCovariance, fit: PairFit) -> StrengthCovariance:
    """Count the prior's wins and losses as votes in the spread too, not in the information alone.

    Otherwise a model that won all its few votes would have a rating made by the prior, and hardly any error.
    """
    n = fit.n_models
    win = expit(fit.strengths)
    meat = np.zeros_like(fit.bread)
    meat[np.arange(n), np.arange(n)] = fit.prior * (win**2 + (1.0 - win) ** 2)
    return plus(covariance, fit.bread @ meat @ fit.bread)


def _too_few_labelled(table: VoteTable, labelled: VoteRows) -> str | None:
    """Say why no interval is given where people labelled votes of a few clusters alone."""
    for name, codes in zip(table.cluster_names, labelled.clusters, strict=True):
        n = np.unique(codes).size
        if n < FEWEST_CLUSTERS:
            words = source_levels(name, int(n))
            return f"the labelled votes come from {words}, too few for an interval; label votes of {FEWEST_CLUSTERS} or more"
    return None


def _too_unequal(covariance: StrengthCovariance) -> str | None:
    """Say why no interval is given where nearly all votes lie in one cluster."""
    worth = covariance.df + 1.0
    if worth >= _LEAST_WORTH:
        return None
    way = min(covariance.used, key=lambda way: way.effective, default=None)
    what = "votes" if way is None else f"{way.n_clusters} clusters by {way.name}"
    return f"the {what} are so unequal that they are worth {worth:.1f} equal ones, too few for an interval"


def _unknown(table: VoteTable, covariance: StrengthCovariance) -> BoolArray:
    """Tell the models of which no error can be told: all their votes are ties, or lie in hardly more than one cluster."""
    decided = table.rows.share != 0.5
    sides = np.concatenate([table.rows.first[decided], table.rows.second[decided]])
    all_tied = np.bincount(sides, minlength=table.n_models) == 0  # their residuals are 0, which is no precision
    return all_tied | (covariance.model_effective < _LEAST_WORTH)


def _bootstrap(
    table: VoteTable, fit: PairFit, covariance: StrengthCovariance, options: RatingOptions
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


def cluster_counts(part: RatedPart) -> tuple[ClusterCount, ...]:
    """Return what standard errors are clustered by."""
    ways = part.covariance.ways
    # Of merged votes it is not known how many have no level.
    nameless = part.table.nameless or (0,) * len(ways)
    return tuple(
        ClusterCount(
            name=name, n_levels=way.n_clusters - n, n_nameless=n, effective=way.effective, largest=way.largest_share
        )
        for name, way, n in zip(part.table.cluster_names, ways, nameless, strict=False)
        if way.nested_in is None
    )


def covariate_rows(part: RatedPart, *, held: bool) -> tuple[VoteCovariate, ...]:
    """Return the coefficients of the side and of style with their intervals."""
    fit, found, options, table = part.fit, part.covariance, part.options, part.table
    rows: list[VoteCovariate] = []
    for place, (name, mean, sd) in enumerate(
        zip(table.covariate_names, table.covariate_mean, table.covariate_sd, strict=True)
    ):
        weights = np.zeros((1, fit.n_parameters))
        weights[0, fit.n_models + place] = 1.0
        estimate, variance = float(fit.coefficients[place]), float(combination_variance(found, weights)[0])
        row = VoteCovariate(
            name=name,
            conf_level=options.conf_level,
            estimate=estimate,
            held=held,
            points=estimate * options.points,
            mean=mean,
            sd=None if name == SIDE else sd,
            reason=found.reason or ("its standard error cannot be estimated" if variance <= 0.0 else None),
        )
        if not row.reason:
            error = float(np.sqrt(variance))
            reach = t_quantile(options.conf_level, found.df) * error
            row = replace(
                row,
                std_error=error,
                conf_low=estimate - reach,
                conf_high=estimate + reach,
                df=found.df if np.isfinite(found.df) else None,
                p_value=two_sided_t_p(estimate / error, found.df),
            )
        rows.append(row)
    return tuple(rows)


def side_effect(part: RatedPart) -> VoteCovariate | str:
    """Return by how much side a (or the answer shown first, where that is known) is preferred, or why that cannot be said.

    It is the intercept of the ratings: log-odds of that side between equal models, with the errors of the ratings. Models
    that stand on one side more often do not bias it. Where every decided vote goes to one side, it has no finite estimate
    and the test is exact: each cluster, of the way with the fewest, went to that side with probability 1/2.
    """
    table = part.table
    if SIDE in table.covariate_names:
        return covariate_rows(part, held=True)[0]
    n_decided = int(table.rows.count[table.rows.outcome < TIE].sum())
    if n_decided < _FEWEST_DECIDED:
        words = plural(n_decided, "decided vote")
        return f"{words}: fewer than {_FEWEST_DECIDED} could show no preference, whatever they were"
    sided = table.with_side()
    rows, n = sided.rows, sided.n_models
    as_shown = rows.covariates[:, 0] > 0.0
    earlier, later = np.where(as_shown, rows.first, rows.second), np.where(as_shown, rows.second, rows.first)
    if not np.isin(earlier * n + later, later * n + earlier).any():
        return "every pair of models stands in one order only, so that side and model cannot be told apart"
    try:
        refit = rate(sided, part.models, part.options, bare=True)
    except (CannotAnswerError, InputError) as error:
        decided = rows.take(rows.outcome < TIE)
        to_first = (decided.outcome == A_WINS) == (decided.covariates[:, 0] > 0.0)
        if to_first.any() and not to_first.all():
            return str(error)
        fewest = min((np.unique(codes).size for codes in decided.clusters), default=n_decided)
        return VoteCovariate(
            name=SIDE,
            conf_level=part.options.conf_level,
            estimate=float("inf") if to_first.all() else float("-inf"),
            held=False,
            mean=sided.covariate_mean[0],
            p_value=min(1.0, 2.0 * 0.5**fewest),
            reason=f"all {n_decided:,} decided votes went to it, so that it has no finite estimate",
        )
    return covariate_rows(refit, held=False)[0]


def vote_level_ratio(part: RatedPart) -> float | None:
    """Return the median over pairs of the standard error over the one of independent votes."""
    if part.claims is None or not part.covariance.ways:
        return None
    first, second = np.triu_indices(part.fit.n_models, k=1)
    votes = part.covariance.votes
    alone = votes[first, first] + votes[second, second] - 2.0 * votes[first, second]
    ratio = part.claims.std_error[first, second] / (part.options.points * np.sqrt(alone))
    return float(np.nanmedian(ratio)) if np.isfinite(ratio).any() else None


# --- for which prompts a ranking holds ---


def for_these_prompts(parts: Sequence[RatedPart]) -> list[RatedPart]:
    """Return the parts with prompts taken as all there are: errors are those of other raters on the same prompts."""
    return [rate(part.table.without_cluster(_PROMPT), part.models, part.options) for part in parts]


def at_decided_level(parts: Sequence[RatedPart], *, asked: bool) -> tuple[list[RatedPart], PromptLevels | None]:
    """Return the parts at the level that the votes can decide, and both levels in numbers.

    Claims for other prompts are shown where they separate any pair, else those for these prompts where these do. There is one
    level where clusters were `asked` for, or votes do not share both prompts and people.
    """
    table = parts[0].table
    names = table.cluster_names
    if asked or _PROMPT not in names or PEOPLE.isdisjoint(names) or table.chunks is not None:
        return list(parts), None
    narrow = for_these_prompts(parts)
    these, new = (
        sum(0 if part.claims is None else int(np.triu(part.claims.separated, k=1).sum()) for part in level)
        for level in (narrow, parts)
    )
    levels = PromptLevels(
        n_prompts=int(np.unique(table.codes[names.index(_PROMPT)]).size),
        n_pairs=sum(part.fit.n_models * (part.fit.n_models - 1) // 2 for part in parts),
        n_separated_these=these,
        n_separated_new=new,
        shown="these" if these and not new else "new",
    )
    return (narrow if levels.shown == "these" else list(parts)), levels
