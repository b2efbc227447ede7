"""The lines of a ranking: every model and every pair of models, those that won or lost all their votes included."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from evalstats.analysis.arena.checks import votes_of
from evalstats.analysis.arena.ratings import UNKNOWN, Claims, RatedPart, RatingOptions, strength_reach
from evalstats.analysis.arena.result import PairContrast, PairVerdict, RatingRow
from evalstats.analysis.result import finite
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.arena.contrasts import PerfectRecord, arena_ranks, perfect_record, record_limits
from evalstats.stats.arena.likelihood import Connection
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, TIE, VoteRows, stacked
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, levels_and_places
from evalstats.stats.estimate import t_quantile
from evalstats.table.votes import VoteTable

_SHARE = 0.1  # of the error rate of all ranks together, for pairs with a model without a finite rating


@record
class UnboundedModel:
    """A model that won (`won`) or lost all its votes against the rated ones; `model` is its number in the whole table.

    `n_votes` are those; `limit` is its rating at least (at most). `lead` and `p_value`, shape (n_rated,), are limits of its
    rating less those of the rated models, and two-sided p-values; NaN where unknown.
    """

    model: int
    name: str
    won: bool
    n_votes: int
    limit: float | None
    lead: FloatArray
    p_value: FloatArray

    @property
    def reason(self) -> str:
        """Why it has no finite rating."""
        done, end = ("won", "upper") if self.won else ("lost", "lower")
        return f"it {done} all its {plural(self.n_votes, 'vote')} on rated models, so its rating has no {end} limit"


@record
class Placement:
    """The place of every model of the whole table where some have no finite rating (`unbounded`, those that won first).

    Attributes
    ----------
    part
        The rated models, with claims that leave room for those of the others.
    shown
        Shape (n_models, n_models): whether i is shown to be above j.
    low, high, rank_arena
        int64, shape (n_models,): ranks left open, and the rank that live arenas print; None where no rank can be told.
    factor
        By what p-values of pairs with a model without a finite rating are multiplied, all pairs taken together.
    """

    part: RatedPart
    unbounded: tuple[UnboundedModel, ...]
    shown: BoolArray
    factor: float
    low: IntArray | None = None
    high: IntArray | None = None
    rank_arena: IntArray | None = None


# --- models ---


def rating_rows(
    table: VoteTable,
    rows: VoteRows,
    parts: Sequence[RatedPart],
    found: Connection,
    *,
    placement: Placement | None,
    options: RatingOptions,
) -> tuple[tuple[RatingRow, ...], list[int]]:
    """Return a line for each model, by part and then by rating, and the order of their numbers.

    `rows` are the votes of the table merged without clusters.
    """
    n = table.n_models
    first, second = ((side, rows.outcome) for side in (rows.first, rows.second))

    def outcomes(side: tuple[IntArray, IntArray], outcome: int) -> IntArray:
        at = side[1] == outcome
        return np.bincount(side[0][at], weights=rows.count[at], minlength=n).astype(np.int64)

    counts = {
        "n_votes": votes_of(rows),
        "n_wins": outcomes(first, A_WINS) + outcomes(second, B_WINS),
        "n_losses": outcomes(first, B_WINS) + outcomes(second, A_WINS),
        "n_ties": outcomes(first, TIE) + outcomes(second, TIE),
        "n_both_bad": outcomes(first, BOTH_BAD) + outcomes(second, BOTH_BAD),
        "n_opponents": (met_table(rows) > 0).sum(axis=1),
    }
    got = np.bincount(rows.first, weights=rows.weight * rows.share, minlength=n)
    got += np.bincount(rows.second, weights=rows.weight * (1.0 - rows.share), minlength=n)
    total = np.bincount(rows.first, weights=rows.weight, minlength=n)
    total += np.bincount(rows.second, weights=rows.weight, minlength=n)
    levels = [_levels_met(table.rows, codes) for codes in table.rows.clusters]
    rated = {model: (part, place) for part in parts for place, model in enumerate(part.models)}
    unbounded = {each.model: each for each in placement.unbounded} if placement else {}
    number = {model: k + 1 for k, group in enumerate(found.components) for model in group}
    lines: dict[int, RatingRow] = {}
    for model, name in enumerate(table.models):
        counted: dict[str, Any] = {what: int(count[model]) for what, count in counts.items()}
        base = RatingRow(
            name=name,
            conf_level=options.conf_level,
            estimate=None,
            win_share=float(got[model] / total[model]) if total[model] > 0.0 else None,
            n_clusters=tuple(int(each[model]) for each in levels),
            component=1 if options.prior > 0.0 or placement else number[model],
            **counted,
        )
        if model in rated:
            lines[model] = _rated_row(base, *rated[model])
        elif placement is not None and model in unbounded:
            lines[model] = _unbounded_row(base, placement, unbounded[model], options)
        else:
            why = "no chain of wins and losses joins it to another model"
            if model in found.unbeaten:
                why = "it lost no vote, so its rating has no upper end"
            elif model in found.winless:
                why = "it won no vote, so its rating has no lower end"
            lines[model] = replace(base, reason=why, rank_reason=why)

    def place(model: int) -> tuple[int, int, float, str]:
        # Parts are in the order of who beat whom: models that won everything come before the rated ones.
        line = lines[model]
        down = -(line.estimate if line.estimate is not None else np.inf)
        return number[model] if placement else 0, line.component or 0, down, line.name

    order = sorted(lines, key=place)
    return tuple(lines[model] for model in order), order


def _levels_met(rows: VoteRows, codes: IntArray) -> IntArray:
    """Return from how many levels of a cluster the votes of every model come."""
    pairs = np.concatenate([codes, codes]) * rows.n_models + np.concatenate([rows.first, rows.second])
    return np.bincount(levels_and_places(pairs)[0] % rows.n_models, minlength=rows.n_models).astype(np.int64)


def met_table(rows: VoteRows) -> IntArray:
    """Return the votes between every two models."""
    n = rows.n_models
    there = np.bincount(rows.first * n + rows.second, weights=rows.count, minlength=n * n).reshape(n, n)
    return (there + there.T).astype(np.int64)


def _rated_row(line: RatingRow, part: RatedPart, place: int) -> RatingRow:
    options, own = part.options, part.estimate(place)
    line = replace(
        line,
        estimate=own.estimate,
        strength=float(part.fit.strengths[place]),
        std_error=own.std_error,
        conf_low=own.conf_low,
        conf_high=own.conf_high,
        reason=own.reason,
    )
    if part.boot is not None:
        low, high = (finite(float(ends[place])) for ends in (part.boot.conf_low, part.boot.conf_high))
        low, high = (None if end is None else options.base + options.points * end for end in (low, high))
        line = replace(line, boot_low=low, boot_high=high)
    claims = part.claims
    if claims is None or claims.ranks.reason is not None:
        return replace(line, rank_reason=part.rank_reason)
    ranks = claims.ranks
    marginal = (int(ranks.marginal_low[place]), int(ranks.marginal_high[place]))
    return _ranked(line, (int(ranks.low[place]), int(ranks.high[place])), marginal, claims.rank_arena[place], options)


def _unbounded_row(line: RatingRow, placement: Placement, each: UnboundedModel, options: RatingOptions) -> RatingRow:
    end = {"conf_low": each.limit} if each.won else {"conf_high": each.limit}
    line = replace(line, reason=each.reason, **end)
    if placement.low is None or placement.high is None or placement.rank_arena is None:
        return replace(line, rank_reason=placement.part.rank_reason)
    ranks = int(placement.low[each.model]), int(placement.high[each.model])
    return _ranked(line, ranks, ranks, placement.rank_arena[each.model], options)


def _ranked(
    line: RatingRow, ranks: tuple[int, int], marginal: tuple[int, int], rank_arena: int, options: RatingOptions
) -> RatingRow:
    return replace(
        line,
        rank_low=ranks[0],
        rank_high=ranks[1],
        rank_low_marginal=marginal[0],
        rank_high_marginal=marginal[1],
        rank_arena=int(rank_arena),
        may_be_best=ranks[0] <= 1,
        top=tuple((k, ranks[0] <= k) for k in options.top),
    )


# --- pairs ---


def pair_rows(part: RatedPart, options: RatingOptions) -> tuple[PairContrast, ...]:
    """Return every pair of a part, the better rated first."""
    names, met = part.table.models, met_table(part.table.rows)
    ratings = part.ratings
    order: list[int] = np.argsort(-ratings, kind="stable").tolist()
    rows: list[PairContrast] = []
    for k, i in enumerate(order):
        for j in order[k + 1 :]:
            estimate = float(ratings[i] - ratings[j])
            told: dict[str, Any] = {"reason": part.reason}
            if part.claims is not None:
                told |= _errors(estimate, part.claims, options, i, j)
            rows.append(
                PairContrast(
                    conf_level=options.conf_level,
                    first=names[i],
                    second=names[j],
                    estimate=estimate,
                    win_probability=float(expit(float(part.fit.strengths[i] - part.fit.strengths[j]))),
                    n_votes=int(met[i, j]),
                    **told,
                )
            )
    return tuple(rows)


def _errors(estimate: float, claims: Claims, options: RatingOptions, i: int, j: int) -> dict[str, Any]:
    """Return what claims say of a pair, as fields of its row."""
    error, df = finite(claims.std_error[i, j]), finite(claims.df[i, j])
    if error is None or df is None:
        return {"reason": f"its {UNKNOWN}: all votes on one of the two are ties, or lie almost all in one cluster"}
    reach = t_quantile(options.conf_level, df) * error
    low, high = estimate - reach, estimate + reach
    interval = {"std_error": error, "df": df, "conf_low": low, "conf_high": high}
    if claims.by_prior[i, j]:
        reason = "the prior alone puts the two on one scale, and it orders nobody"
        return {**interval, "reason": reason, "more_votes_reason": reason}
    separated = bool(claims.separated[i, j])
    verdict: PairVerdict = ("better" if estimate > 0.0 else "worse") if separated else "not separated"
    more = None if separated else finite(claims.more_votes[i, j])
    return interval | {
        "p_value": finite(claims.p_value[i, j]),
        "p_adjusted": finite(claims.ranks.p_adjusted[i, j]),
        "win_low": float(expit(low / options.points)),
        "win_high": float(expit(high / options.points)),
        "order_probability": finite(claims.order[i, j]),
        "more_votes": None if more is None else int(more),
        "more_votes_reason": None if separated else claims.more_votes_reasons.get((i, j)),
        "verdict": verdict,
    }


def unbounded_pairs(placement: Placement, met: IntArray, options: RatingOptions) -> tuple[PairContrast, ...]:
    """Return the pairs of models of which one or both have no finite rating, whoever is ahead first."""
    part, rows = placement.part, list[PairContrast]()
    names = dict(zip(part.models, part.table.models, strict=True))
    names |= {each.model: each.name for each in placement.unbounded}

    def pair(first: int, second: int, each: UnboundedModel) -> PairContrast:
        return PairContrast(
            conf_level=options.conf_level,
            estimate=None,
            first=names[first],
            second=names[second],
            n_votes=int(met[first, second]),
            reason=f"{each.name}: {each.reason}",
            verdict="better" if placement.shown[first, second] else "not separated",
        )

    order: list[int] = np.argsort(-part.ratings, kind="stable").tolist()
    for k, each in enumerate(placement.unbounded):
        for j in order:
            p, lead = finite(float(each.p_value[j])), finite(float(each.lead[j]))
            models = (each.model, part.models[j]) if each.won else (part.models[j], each.model)
            between = pair(*models, each)
            rows.append(
                replace(
                    between,
                    conf_low=lead if lead is None or each.won else -lead,
                    p_value=p,
                    p_adjusted=None if p is None else min(1.0, placement.factor * p),
                    verdict="not compared" if p is None or placement.low is None else between.verdict,
                )
            )
        # These are in the order of who beat whom.
        rows.extend(pair(each.model, other.model, each) for other in placement.unbounded[k + 1 :])
    return tuple(rows)


# --- models that won, or lost, all their votes: no finite rating, but a limit and a place among the others ---


def placement_of(
    table: VoteTable, parts: Sequence[RatedPart], found: Connection, options: RatingOptions
) -> Placement | None:
    """Place the models that won or lost all their votes; None where there is none, or where parts cannot be compared.

    They can be placed where there is one part of rated models, and each other model met some of these. `parts` are rated without
    a prior.
    """
    if found.is_connected or len(parts) != 1:
        return None
    part = parts[0]
    others = [model for group in found.components for model in group if model not in set(part.models)]
    chunks = [table.rows] if table.chunks is None else table.chunks()
    rows = stacked([chunk.take(np.isin(chunk.first, others) | np.isin(chunk.second, others)) for chunk in chunks])
    place = np.full(table.n_models, -1, dtype=np.int64)
    place[list(part.models)] = np.arange(len(part.models))
    for model in others:
        on_rated = (rows.first == model) & (place[rows.second] >= 0) | (rows.second == model) & (place[rows.first] >= 0)
        if not np.any(on_rated & (rows.weight > 0.0)):
            return None
    records = [perfect_record(rows, model, place, part.fit.coefficients) for model in others]
    unbounded = [_limited(table, part, model, record) for model, record in zip(others, records, strict=True)]
    return _placed(table, part, tuple(unbounded), options)


def _limited(table: VoteTable, part: RatedPart, model: int, record: PerfectRecord) -> UnboundedModel:
    """Return the limits of a record on the scale of the ratings."""
    n, options = part.fit.n_models, part.options
    base = np.full((1, n), 1.0 / n)
    if options.anchor in part.table.models:
        base[0] = np.arange(n) == part.table.models.index(options.anchor)
    against = np.vstack([base, np.eye(n)])
    found = record_limits(record, part.fit, part.covariance, against, conf_level=options.conf_level)
    return UnboundedModel(
        model=model,
        name=table.models[model],
        won=record.won,
        n_votes=int(record.count.sum()),
        limit=finite(options.base + options.points * float(found.limit[0])),
        lead=options.points * found.limit[1:],
        p_value=found.p_value[1:],
    )


def _placed(
    table: VoteTable, part: RatedPart, unbounded: tuple[UnboundedModel, ...], options: RatingOptions
) -> Placement:
    """Count ranks from what is shown of all pairs: pairs that need a limit share a tenth of the level, others have the rest."""
    n, rated = table.n_models, np.asarray(part.models, dtype=np.int64)
    factor, level = len(unbounded) * rated.size / _SHARE, 1.0 - options.conf_level
    shown = np.zeros((n, n), dtype=np.bool_)
    bare = Placement(part=part, unbounded=unbounded, shown=shown, factor=factor)
    claims = part.claims
    if claims is None or claims.ranks.reason is not None:
        return bare
    adjusted = np.minimum(1.0, claims.ranks.p_adjusted / (1.0 - _SHARE))
    above = part.fit.strengths[:, np.newaxis] > part.fit.strengths
    shown[np.ix_(rated, rated)] = (adjusted <= level) & above
    for each in unbounded:
        apart = rated[factor * each.p_value <= level]
        if each.won:
            shown[each.model, apart] = True
        else:
            shown[apart, each.model] = True
    # Whoever is above a model that is above a third one is above that one, too.
    shown |= (shown[:, rated].astype(np.int64) @ shown[rated].astype(np.int64)) > 0
    low, high = 1 + shown.sum(axis=0), n - shown.sum(axis=1)
    ranks = replace(
        claims.ranks,
        low=low[rated],
        high=high[rated],
        marginal_low=low[rated],
        marginal_high=high[rated],
        p_adjusted=adjusted,
    )
    # The rank that live arenas print: 1 + the models whose whole interval lies above.
    ends = np.full((2, n), np.nan)
    reach = strength_reach(part.fit, part.covariance, options.conf_level)
    ends[:, list(part.models)] = [part.scaled(part.fit.strengths + way * reach) for way in (-1.0, 1.0)]
    for each in unbounded:
        if each.limit is not None:
            ends[:, each.model] = (each.limit, np.inf) if each.won else (-np.inf, each.limit)
    arena = arena_ranks(*ends)
    within = shown[np.ix_(rated, rated)]
    placed = replace(claims, ranks=ranks, separated=within | within.T, rank_arena=arena[rated])
    return replace(bare, part=replace(part, claims=placed), low=low, high=high, rank_arena=arena)


def with_placement(part: RatedPart, placement: Placement) -> RatedPart:
    """Return all models rated with a prior, with the ranks and the order that the votes alone show.

    A prior gives a model that lost every vote a rating, and cannot make it less certain that the model is last.
    """
    own, claims = placement.part.claims, part.claims
    if claims is None or own is None or placement.low is None or placement.rank_arena is None:
        return part
    rated, n = np.asarray(placement.part.models, dtype=np.int64), part.fit.n_models
    p_value, p_adjusted = np.full((n, n), np.nan), np.full((n, n), np.nan)
    p_value[np.ix_(rated, rated)], p_adjusted[np.ix_(rated, rated)] = own.p_value, own.ranks.p_adjusted
    for each in placement.unbounded:
        p_value[each.model, rated] = p_value[rated, each.model] = each.p_value
        adjusted = np.minimum(1.0, placement.factor * each.p_value)
        p_adjusted[each.model, rated] = p_adjusted[rated, each.model] = adjusted
    # A prior of many wins may turn estimates round; nothing is claimed against them.
    shown = placement.shown & (part.fit.strengths[:, np.newaxis] > part.fit.strengths)
    low, high, separated = 1 + shown.sum(axis=0), n - shown.sum(axis=1), shown | shown.T
    ranks = replace(
        claims.ranks,
        low=low,
        high=high,
        marginal_low=low,
        marginal_high=high,
        top={tau: low <= tau for tau in claims.ranks.top},
        p_adjusted=p_adjusted,
    )
    placed = replace(
        claims,
        ranks=ranks,
        p_value=p_value,
        separated=separated,
        by_prior=claims.by_prior & ~separated,
        rank_arena=placement.rank_arena,
    )
    return replace(part, claims=placed)
