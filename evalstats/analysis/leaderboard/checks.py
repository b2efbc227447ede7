"""What limits a leaderboard: the winner's curse, suspected dependence, missing scores, unseen failures; a test of all models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.costs import runaway_words
from evalstats.analysis.design.averages import fixed_by, other_averages
from evalstats.analysis.design.comparability import MIN_SHARED, ComparabilityGraph, identical_runs
from evalstats.analysis.design.dependence import ItemFactor, crossed_factors, deciding_factor, dependence
from evalstats.analysis.design.missing import too_much_missing
from evalstats.analysis.leaderboard.entries import EntryTable
from evalstats.analysis.leaderboard.result import TIED, LeaderboardRow, OtherLeader, PairsOfTheseItems, Winner
from evalstats.analysis.leaderboard.standings import MIN_CLUSTERS, Plan, Scores, Standings, claims, separated
from evalstats.analysis.pairs import Bools, Floats, Pairs, Side
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import share_in_percent
from evalstats.errors import CannotAnswerError
from evalstats.grammar import and_list, is_are, plural
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.many.multiplicity import Omnibus, cochran_q, friedman
from evalstats.stats.many.pair_table import score_covariance
from evalstats.stats.many.pairwise import PairwiseDifferences
from evalstats.stats.many.winners_curse import WinnerInterval, shrunken_means, winner_interval
from evalstats.stats.one_sample import UnseenRunaways, unseen_runaways
from evalstats.stats.paired.means import rests_on_unseen_tail

_ROUNDING = 1e-12
# The correction takes the covariance as known and the scores as normal.
_MIN_ITEMS, _MIN_DRAWN, _MIN_EITHER = 100, 40, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Shrunken scores in column order (None where there are none), and the winner."""

    shrunken: tuple[float | None, ...]
    winner: Winner | None = None


def corrected(scores: Scores, plan: Plan, names: Sequence[str], graph: ComparabilityGraph) -> Correction:
    """Correct the scores of models on the same or overlapping items for the luck of the draw of items.

    The covariance is that of items, or of the clusters that are fewest. Models that fall into unconnected parts have no
    common mean to be drawn to, and no winner.
    """
    if not graph.connected:
        return Correction(shrunken=(None,) * len(names))
    estimates = np.nanmean(scores.values, axis=0) if scores.means is None else scores.means
    codes = min(scores.clusters, key=lambda each: len(np.unique(each)), default=None)
    scored = ~np.isnan(scores.values)
    units = scored.sum(axis=0).tolist() if codes is None else [len(np.unique(codes[here])) for here in scored.T]
    what = "items" if codes is None else "clusters"
    if not scores.allowed.all() or np.isnan(scores.values).any():
        return uncorrected(estimates, plan, names, "the models did not see the same items")
    least = _MIN_ITEMS if codes is None else _MIN_DRAWN
    tied = _tied(estimates, plan, names)
    if min(units) < least and len(tied) < 2:
        few = f"there are {min(units)} {what}, and at least {least} are needed to know the noise by"
        return uncorrected(estimates, plan, names, few)
    near = _near_an_end(scores.values[:, int(np.argmax(plan.turned(estimates)))], plan)
    if near is not None:
        found = corrected_estimates(estimates, score_covariance(scores.values, clusters=codes), plan, names)
        return replace(uncorrected(estimates, plan, names, near), shrunken=found.shrunken)
    return corrected_estimates(estimates, score_covariance(scores.values, clusters=codes), plan, names)


def corrected_estimates(estimates: Floats, covariance: Floats, plan: Plan, names: Sequence[str]) -> Correction:
    """Do the same for estimates with a known covariance, shape (n_models, n_models)."""
    noise = np.diagonal(covariance)
    flat = [
        name for name, variance in zip(names, noise.tolist(), strict=True) if not variance > _ROUNDING * noise.max()
    ]
    if flat:
        return uncorrected(estimates, plan, names, f"the scores of {flat[0]} are all equal, so its noise is not known")
    drawn = (
        shrunken_means(estimates, covariance=covariance).shrunken.tolist() if len(names) > 2 else [None] * len(names)
    )
    best = int(np.argmax(plan.turned(estimates)))
    tied = _tied(estimates, plan, names)
    if len(tied) > 1:
        correction = uncorrected(
            estimates, plan, names, f"{len(tied)} models share it, so the data picked none of them"
        )
        return replace(correction, shrunken=tuple(drawn))
    found = winner_interval(plan.turned(estimates), covariance, conf_level=plan.conf_level)
    found = _sober(found, math.sqrt(float(noise[best])))
    ends = plan.turned(np.array([found.estimate, found.conf_low, found.conf_high]))
    ends = np.clip(ends, plan.metric.low, plan.metric.high).tolist()
    winner = Winner(
        name=names[best],
        estimate=float(estimates[best]),
        conf_level=plan.conf_level,
        method=found.method if found.note is None else f"{found.method}: {found.note}",
        corrected=ends[0],
        conf_low=min(ends[1:]),
        conf_high=max(ends[1:]),
        shrunken=drawn[best],
    )
    return Correction(shrunken=tuple(drawn), winner=winner)


def _sober(found: WinnerInterval, sd: float) -> WinnerInterval:
    """Give the simultaneous interval where the correction is wild, or its interval shorter than the model's own.

    A near tie moves the corrected score below all that the simultaneous interval holds.
    """
    own = 2.0 * normal_quantile(found.conf_level) * sd
    wild = not found.projection_low <= found.estimate <= found.projection_high
    if not wild and found.conf_high - found.conf_low >= own and found.conf_low >= found.observed - 3.0 * own:
        return found
    return replace(
        found,
        estimate=found.observed,
        conf_low=found.projection_low,
        conf_high=found.projection_high,
        method="simultaneous (projection)",
        note="the lead is too narrow for a correction of its own"
        if wild
        else "never shorter than the model's own interval",
    )


def _near_an_end(values: Floats, plan: Plan) -> str | None:
    """Return why the score on top is too near an end of its scale for a normal law; a bounded metric only."""
    if plan.bounds is None:
        return None
    low, high = plan.bounds
    share = (values - low) / (high - low)
    fewest = min(float(share.sum()), float((1.0 - share).sum()))
    if fewest >= _MIN_EITHER:
        return None
    return f"it lies within {_MIN_EITHER} items of an end of the scale, where its noise is not normal"


def uncorrected(estimates: Floats, plan: Plan, names: Sequence[str], reason: str) -> Correction:
    """Name the model on top and say why its score is not corrected."""
    tied = _tied(estimates, plan, names)
    best = float(estimates[int(np.argmax(plan.turned(estimates)))])
    winner = Winner(name=", ".join(tied), estimate=best, conf_level=plan.conf_level, reason=reason)
    return Correction(shrunken=(None,) * len(names), winner=winner)


def _tied(estimates: Floats, plan: Plan, names: Sequence[str]) -> list[str]:
    turned = plan.turned(estimates)
    return [name for name, value in zip(names, turned.tolist(), strict=True) if turned.max() - value <= TIED]


_NAMED = 3


def omnibus_of(scores: Scores) -> tuple[Omnibus | None, str | None]:
    """Test whether the models differ at all, on the items that all of them have; or say why that is not tested."""
    common = scores.common()
    n = len(common.values)
    if not scores.allowed.all():
        return None, "models that were measured differently are not tested together"
    if scores.raw is not None:
        return None, "tests over all models take items alike, and levels are averaged over"
    if scores.clusters:
        return None, "tests over all models take items as independent, and they are clustered"
    if n < MIN_SHARED:
        return None, f"{plural(n, 'item')} that all models have; at least {MIN_SHARED} are needed"
    return (cochran_q if scores.single else friedman)(common.values), None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """By which factors the lead of the first model goes; `decides` is the one whose levels are the clusters, if any is."""

    factors: tuple[ItemFactor, ...]
    untested: tuple[str, ...]
    decides: ItemFactor | None


def lead_of(table: EntryTable, found: Standings, plan: Plan, clusters: tuple[str, ...]) -> Lead:
    """Test whether the lead of the first model runs in groups of items that were not declared as clusters.

    The difference looked at is that of the first model (or the baseline) and the mean of the others of its part, item by item,
    each model's own mean taken out first, so that it does not matter which models have an item. Items are permuted, which
    leaves every model's mean and so the order of the lines as it is. What could not be tested is noted.
    """
    values = table.values.values
    head, part = plan.baseline or 0, np.array(found.ranks.part)
    centred = values - np.nanmean(values, axis=0)
    rivals = part == part[head]
    rivals[head] = False
    others = centred[:, rivals]
    n_others = (~np.isnan(others)).sum(axis=1)
    rest = np.divide(np.nansum(others, axis=1), n_others, out=np.full(len(values), np.nan), where=n_others > 0)
    keep = ~np.isnan(centred[:, head]) & (n_others > 0)
    one = np.ones(int(keep.sum()), dtype=np.int64)
    lead = Pairs(
        items=table.every.subset(keep).items,
        baseline=Side(n_scored=one, present=one, total=rest[keep]),
        candidate=Side(n_scored=one, present=one, total=centred[keep, head]),
    )
    names = table.data.factor_names()
    rows = dependence(lead, table.groups, clusters, names=names, seed=plan.seed)
    crossed = crossed_factors(lead, table.groups, clusters, names)
    told = f"Not tested for dependence, since they vary within the clusters: {', '.join(crossed)}"
    untested = (*table.ungrouped, *((told,) if crossed else ()))
    return Lead(factors=rows, untested=untested, decides=deciding_factor(lead, rows, fewest=MIN_CLUSTERS))


def on_these_items(
    table: EntryTable, found: Standings, plan: Plan, before: Scores, factor: ItemFactor
) -> PairsOfTheseItems:
    """Say what the items would separate if they were independent: `before` are the scores without the factor as clusters."""
    then, ranks = claims(before, plan)
    now = separated(found.every, plan.conf_level)
    return PairsOfTheseItems(
        factor=factor.factor,
        n_levels=factor.n_levels,
        clear=factor.flag == "warn",
        n_separated=int(then.sum()),
        n_kept=int((then & now).sum()),
        best=tuple(table.names[j] for j, top in enumerate(ranks.top) if dict(top).get(1)),
    )


def other_leaders(
    table: EntryTable, plan: Plan, clusters: tuple[str, ...], best: Sequence[str], *, declared: Sequence[str] = ()
) -> tuple[OtherLeader, ...]:
    """Ask by each other average that could have been meant who leads; those that name another model, or not the one best."""
    whole, found = table.whole or table, list[OtherLeader]()
    for average in other_averages(table.data, table.every.items, but=table.average, declared=declared):
        if any(fixed_by(average, table.every, name) for name in clusters):
            continue
        try:
            plain = replace(whole, average=None, whole=None, common=None)
            other = plain if average.kind == "micro" else plain.averaged_over(average)
        except CannotAnswerError:  # too few items that every model has
            continue
        means = np.nanmean(other.on_common_scale(), axis=0)
        places = np.flatnonzero(plan.turned(means) >= plan.turned(means).max() - TIED)
        leads = table.names[int(places[0])]
        if 0 in places and len(best) != 1:
            continue
        _, ranks = claims(replace(other, common=other.on_common_scale()).scores(clusters), plan)
        could = tuple(table.names[j] for j, top in enumerate(ranks.top) if dict(top).get(1))
        if 0 in places and could == tuple(best):
            continue
        found.append(
            OtherLeader(
                factor=average.label,
                kind="micro" if average.kind == "micro" else "macro",
                words=average.words(table.every.items),
                leader=leads,
                estimate=float(means[places[0]]),
                best=could,
            )
        )
    return tuple(found)


def cautions(
    table: EntryTable, scores: Scores, found: Standings, plan: Plan, lines: Sequence[LeaderboardRow]
) -> tuple[Note, ...]:
    """Return what every reader must know before the ranks are used."""
    return (
        *_lost(table, lines),
        *_missing(found, plan, lines),
        *as_notes("few", _unseen_failures(found, plan)),
        *as_notes("fit", _unseen_tails(scores, found, plan) or _unseen_runaways(scores, found, plan)),
        *table.measured.notes("weakens"),
        *as_notes("comparability", _one_run_twice(table, found)),
        *_own_scores(lines),
    )


def failures_of_the_best(
    table: EntryTable, found: Standings, plan: Plan, lines: Sequence[LeaderboardRow]
) -> tuple[str, ...]:
    """Return what limits the first place of one model on graded scores: outright failures that were not seen."""
    best = {row.name for row in lines if row.may_be_best}
    risk = found.every.failures
    if len(best) != 1 or risk is None:
        return ()
    own = np.array([name in best for name in table.names])
    leads = (own[found.every.first] | own[found.every.second]) & separated(found.every, plan.conf_level)
    rests = np.flatnonzero(leads & risk.within)
    if not rests.size:
        return ()
    nearest = rests[np.argmin(risk.undoing[rests])]
    undoing, possible = (share_in_percent(float(each[nearest])) for each in (risk.undoing, risk.possible))
    return (f"outright failures on {undoing} of the items would undo that, and the items cannot exclude {possible}",)


def _unseen_failures(found: Standings, plan: Plan) -> list[str]:
    """Count the separated pairs that rest on failures which did not show."""
    risk = found.shown.failures
    if risk is None:
        return []
    apart = separated(found.shown, plan.conf_level)
    frail = apart & risk.within
    if not frail.any():
        return []
    possible = share_in_percent(float(risk.possible[frail].max()))
    told = (
        f"{int(frail.sum())} of {plural(int(apart.sum()), 'separated pair')} would be undone if the better model failed outright "
        f"on {possible} of the items, which these cannot exclude"
    )
    return [told]


def tails_of_the_best(scores: Scores, found: Standings, plan: Plan, lines: Sequence[LeaderboardRow]) -> tuple[str, ...]:
    """Return what limits who could be best on scores without a worst one: that rare extreme items were not seen.

    A model is not the best if some model is shown to be better; where none is for sure, the first place rests on the tail.
    """
    frail = _on_unseen_tails(scores, found.every, plan)
    if not frail.any():
        return ()
    sure = separated(found.every, plan.conf_level) & ~frail
    beaten = set(np.where(plan.sign * found.every.estimate > 0, found.every.second, found.every.first)[sure].tolist())
    lost = [k for k, row in enumerate(lines) if row.rank_low is not None and not row.may_be_best and k not in beaten]
    return ("rare extreme items could undo it",) if lost else ()


def _unseen_tails(scores: Scores, found: Standings, plan: Plan) -> list[str]:
    """Count the separated pairs that may rest on a tail that was hardly seen."""
    frail = int(_on_unseen_tails(scores, found.shown, plan).sum())
    if not frail:
        return []
    apart = int(separated(found.shown, plan.conf_level).sum())
    which = "the one separated pair" if frail == apart == 1 else f"{frail:,} of {plural(apart, 'separated pair')}"
    return [f"in {which} a few items go far against the better model, and more of them would undo it"]


def _unseen_runaways(scores: Scores, found: Standings, plan: Plan) -> list[str]:
    """Count the separated pairs on costs that runaway answers would undo, as many as the items cannot exclude."""
    shown = found.shown
    apart: list[int] = np.flatnonzero(separated(shown, plan.conf_level)).tolist()
    held = scores.values[~np.isnan(scores.values)]
    if not apart or scores.raw is not None or not plan.metric.is_cost(held):
        return []
    risks: list[UnseenRunaways] = []
    for place in apart:
        both = scores.values[:, [shown.first[place], shown.second[place]]]
        cheap, dear = sorted(both[~np.isnan(both).any(axis=1)].T, key=lambda costs: float(costs.mean()))
        lead = max(float(shown.conf_low[place]), -float(shown.conf_high[place]))
        risks.append(unseen_runaways(cheap, dear, lead=lead, conf_level=plan.conf_level))
    frail = [risk for risk in risks if risk.within]
    if not frail:
        return []
    nearest = min(frail, key=lambda risk: risk.undoing)
    which = f"{len(frail):,} of {plural(len(apart), 'separated pair')}. {runaway_words('the cheaper model', nearest, 'undo one')}"
    return [which]


def _on_unseen_tails(scores: Scores, found: PairwiseDifferences, plan: Plan) -> Bools:
    """Tell which separated pairs may rest on an unseen tail, by the rule of a comparison of two."""
    frail = np.zeros(found.first.size, dtype=np.bool_)
    graded = plan.metric.worst is None and plan.metric.is_graded(scores.values)
    if not graded or scores.clusters or scores.raw is not None:
        return frail
    turned = plan.sign * scores.values
    for place in np.flatnonzero(separated(found, plan.conf_level)).tolist():
        sides = turned[:, [found.first[place], found.second[place]]]
        one, other = sides[~np.isnan(sides).any(axis=1)].T
        ahead, behind = (one, other) if one.mean() > other.mean() else (other, one)
        frail[place] = rests_on_unseen_tail(
            ahead, behind, float(found.p_value[place]), conf_level=plan.conf_level, n_claims=found.first.size
        )
    return frail


def _one_run_twice(table: EntryTable, found: Standings) -> list[str]:
    """Name the models whose runs are one run under two names, as far as can be told."""
    said: list[str] = []
    same = np.flatnonzero(np.isnan(found.every.std_error) & (found.every.estimate == 0))
    for k in same.tolist():
        one, other = (table.arms[int(j)] for j in (found.every.first[k], found.every.second[k]))
        twice = identical_runs(table.data, one, other)
        if twice:
            said.append(f"{one.name} and {other.name}: {twice}")
    return said


def _lost(table: EntryTable, lines: Sequence[LeaderboardRow]) -> list[Note]:
    noted: list[Note] = []
    silent = [arm.name for arm in table.silent]
    if silent:
        text = f"No score at all, and so no rank: {and_list(silent, _NAMED)}"
        noted.append(Note(kind="left_out", text=text))
    failed = [row for row in lines if row.n_error]
    if failed:
        rows = sum(row.n_error for row in failed)
        text = (
            f"{plural(rows, 'harness error')} of {and_list([row.name for row in failed], _NAMED)} "
            f"{is_are(rows)} left out, not counted as wrong"
        )
        noted.append(Note(kind="missing", text=text))
    return noted


def _missing(found: Standings, plan: Plan, lines: Sequence[LeaderboardRow]) -> list[Note]:
    """Say how many models miss items, and how many separated pairs could reverse if these were scored."""
    short = [row for row in lines if row.share_missing and row.estimate is not None]
    if not short:
        return []
    most = max(row.n_missing for row in short)
    names = [row.name for row in short]
    who = and_list(names, 2) if len(names) < 3 else plural(len(names), "model")
    pairs = _better_first(found, plan)
    half = _half_widths(found)
    shaken = sum(_could_turn(lines[one], lines[other], plan, half[one, other]) for one, other in pairs)
    if not shaken and all(row.n_missing <= row.n_error for row in short):
        return []  # the note on errors says it
    if not shaken:
        return [
            Note(kind="missing", text=f"Scores that others have are missing for {who}, up to {plural(most, 'item')}")
        ]
    all_of = "the one separated pair" if len(pairs) == 1 else f"all {len(pairs):,} separated pairs"
    which = all_of if shaken == len(pairs) else f"{shaken:,} of {len(pairs):,} separated pairs"
    return [Note(kind="missing", text=f"At worst, missing scores of {who} reverse {which}")]


def best_if_missing(found: Standings, plan: Plan, lines: Sequence[LeaderboardRow]) -> tuple[str, ...]:
    """Name the models that could overtake the one best if every missing score went against it."""
    best = [k for k, row in enumerate(lines) if row.may_be_best]
    if len(best) != 1:
        return ()
    top, half = best[0], _half_widths(found)
    rivals = [k for k, row in enumerate(lines) if k != top and row.component == lines[top].component]
    turning = [k for k in rivals if _could_turn(lines[top], lines[k], plan, half.get((top, k), 0.0))]
    return tuple(lines[k].name for k in turning)


def missing_share(lines: Sequence[LeaderboardRow], rivals: Sequence[str]) -> float:
    """Return the largest share of scores that are missing, of the one best and of those that could overtake it."""
    named = [row for row in lines if rivals and (row.may_be_best or row.name in rivals)]
    return max((row.share_missing for row in named), default=0.0)


def _better_first(found: Standings, plan: Plan) -> list[tuple[int, int]]:
    """Return the separated pairs, the better model first."""
    every = found.every
    apart = separated(every, plan.conf_level)
    pairs = zip(every.first[apart].tolist(), every.second[apart].tolist(), every.estimate[apart].tolist(), strict=True)
    return [(i, j) if plan.sign * estimate > 0 else (j, i) for i, j, estimate in pairs]


def _half_widths(found: Standings) -> dict[tuple[int, int], float]:
    """Return how far the interval of every pair reaches to either side, by the pair in both orders."""
    every = found.every
    half = np.nan_to_num((every.conf_high - every.conf_low) / 2).tolist()
    pairs = list(zip(every.first.tolist(), every.second.tolist(), strict=True))
    return dict(zip(pairs, half, strict=True)) | {(j, i): h for (i, j), h in zip(pairs, half, strict=True)}


def _could_turn(better: LeaderboardRow, worse: LeaderboardRow, plan: Plan, half_width: float) -> bool:
    """Tell whether the worst case of the better model lies beyond the best case of the worse one.

    Above 5% missing it has to stay on its side by as much as chance could move the difference, as in a comparison of two; and
    nothing limits what is missing where the metric has no bound on that side.
    """
    many_missing = too_much_missing(better.share_missing, worse.share_missing)
    bad, good = plan.metric.bad_to_good()
    if many_missing and ((better.share_missing and bad is None) or (worse.share_missing and good is None)):
        return True
    if better.missing_low is None and worse.missing_low is None:
        return False
    at_worst, at_best = (
        (better.missing_low, worse.missing_high) if plan.sign > 0 else (better.missing_high, worse.missing_low)
    )
    low = better.estimate if at_worst is None else at_worst
    high = worse.estimate if at_best is None else at_best
    if low is None or high is None:
        return False
    lead = plan.sign * (low - high)
    return lead <= half_width if many_missing else lead < 0


def _own_scores(lines: Sequence[LeaderboardRow]) -> list[Note]:
    """Gather what is noted of single scores, each thing said once."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in lines:
        for note in row.notes:
            names.setdefault((note.kind, note.text), []).append(row.name)
    of = {(note.kind, note.text): note for row in lines for note in row.notes}
    return [replace(of[key], text=f"Score of {and_list(who, _NAMED)}: {of[key].text}") for key, who in names.items()]
