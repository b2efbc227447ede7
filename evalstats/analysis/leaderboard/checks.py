"""What limits a leaderboard: suspected dependence, other averages, missing scores, unseen failures; a test of all models."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.costs import runaway_words
from evalstats.analysis.design.averages import fixed_by, other_averages
from evalstats.analysis.design.clusters import ItemFactor, crossed_factors, deciding_factor, dependence
from evalstats.analysis.design.comparability import identical_runs
from evalstats.analysis.design.entries import MIN_SHARED
from evalstats.analysis.leaderboard.board import Board
from evalstats.analysis.leaderboard.ranks import (
    MIN_CLUSTERS,
    BoardScores,
    Ranking,
    RankingOptions,
    claims,
    separated,
    shown_better,
)
from evalstats.analysis.leaderboard.result import TIED, LeaderboardRow, OtherLeader, PairsOfTheseItems
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import share_in_percent
from evalstats.errors import CannotAnswerError
from evalstats.grammar import and_list, plural
from evalstats.stats.many.multiplicity import Omnibus, cochran_q, friedman
from evalstats.stats.many.pairwise import PairwiseDifferences
from evalstats.stats.one_sample import UnseenRunaways, unseen_runaways
from evalstats.stats.paired.means import rests_on_unseen_tail
from evalstats.table.items import Bools
from evalstats.table.score_table import ScoreTable, too_much_missing

_NAMED = 3


def omnibus_of(scores: BoardScores) -> tuple[Omnibus | None, str | None]:
    """Test whether the models differ at all, on the items that all of them have; or say why that is not tested."""
    n_common = int(scores.each @ ~np.isnan(scores.values).any(axis=1))
    if not scores.comparable.all():
        return None, "models that were measured differently are not tested together"
    if scores.raw is not None:
        why = "scores are corrected by labels" if scores.weights is None else "levels are averaged over"
        return None, f"tests over all models take items alike, and {why}"
    if scores.clusters:
        return None, "tests over all models take items as independent, and they are clustered"
    if n_common < MIN_SHARED:
        return None, f"{plural(n_common, 'item')} that all models have; at least {MIN_SHARED} are needed"
    return cochran_q(scores.values, scores.times) if scores.single else friedman(scores.values), None


def dependence_of_lead(
    board: Board, found: Ranking, asked: RankingOptions, clusters: tuple[str, ...]
) -> tuple[tuple[ItemFactor, ...], ItemFactor | None, tuple[str, ...]]:
    """Test whether the lead of the first model runs in groups of items that were not declared as clusters.

    The difference looked at is that of the first model (or the baseline) and the mean of the others of its part, item by item,
    each model's own mean taken out first, so that it does not matter which models have an item. Items are permuted, which
    leaves every model's mean and so the order of the lines as it is. Returns the factors, the one whose levels are the
    clusters, if any is, and notes on what could not be tested.
    """
    if not board.groups:
        return (), None, tuple(board.ungrouped)
    values, part = board.values, found.ranks.parts
    head = asked.baseline or 0
    centred = values - np.nanmean(values, axis=0)
    rivals = part == part[head]
    rivals[head] = False
    others = centred[:, rivals]
    n_others = (~np.isnan(others)).sum(axis=1)
    rest = np.divide(np.nansum(others, axis=1), n_others, out=np.full(len(values), np.nan), where=n_others > 0)
    keep = ~np.isnan(centred[:, head]) & (n_others > 0)
    both = np.stack([rest[keep], centred[keep, head]], axis=1)
    lead = ScoreTable.of_values(both, board.table.items.filter(pl.Series(keep)), board.metric)
    names = board.data.factor_names()
    rows = dependence(lead, board.groups, clusters, names=names, seed=asked.seed)
    untested = (*board.ungrouped, *crossed_factors(lead, board.groups, clusters, names))
    return rows, deciding_factor(lead, rows, fewest=MIN_CLUSTERS), untested


def on_these_items(
    board: Board, found: Ranking, asked: RankingOptions, before: BoardScores, factor: ItemFactor
) -> PairsOfTheseItems:
    """Say what the items would separate if they were independent: `before` are the scores without the factor as clusters."""
    then, ranks = claims(before, asked)
    now = separated(found.every, asked.conf_level)
    return PairsOfTheseItems(
        factor=factor.factor,
        n_levels=factor.n_levels,
        clear=factor.flag == "warn",
        n_separated=int(then.sum()),
        n_kept=int((then & now).sum()),
        best=ranks.best(board.names),
    )


def other_leaders(
    board: Board, asked: RankingOptions, clusters: tuple[str, ...], best: Sequence[str]
) -> tuple[OtherLeader, ...]:
    """Ask by each other average that could have been meant who leads: another, or the one best where this one leaves several."""
    found: list[OtherLeader] = []
    for average in other_averages(board.data, board.table.items, but=board.average):
        if any(fixed_by(average, board.table, name) for name in clusters):
            continue
        try:
            other = board.without_average()
            other = other if average.kind == "micro" else other.averaged_over(average)
        except CannotAnswerError:  # too few items that every model has
            continue
        on_scale = other.on_common_scale()
        means = np.nanmean(on_scale, axis=0)
        places = np.flatnonzero(asked.turned(means) >= asked.turned(means).max() - TIED)
        could = claims(replace(other, on_scale=on_scale).scores(clusters), asked)[1].best(board.names)
        if 0 in places and (len(could) == 1) == (len(best) == 1):
            continue
        found.append(
            OtherLeader(
                factor=average.label,
                kind="micro" if average.kind == "micro" else "macro",
                words=average.words(board.table.items),
                leader=board.names[int(places[0])],
                estimate=float(means[places[0]]),
                best=could,
            )
        )
    return tuple(found)


def cautions(
    board: Board, scores: BoardScores, found: Ranking, asked: RankingOptions, lines: Sequence[LeaderboardRow]
) -> tuple[Note, ...]:
    """Return what every reader must know before the ranks are used."""
    tails = _unseen_tails(scores, found, asked) or _unseen_runaways(scores, found, asked)
    return (
        *_lost(board, lines),
        *_missing(found, asked, lines),
        *as_notes("few", _unseen_failures(found, asked)),
        *as_notes("fit", tails),
        *board.kinds.notes("weakens"),
        *as_notes("comparability", _one_run_twice(board, found)),
        *_own_scores(lines, found.warnings),
    )


def failures_of_the_best(
    board: Board, found: Ranking, asked: RankingOptions, lines: Sequence[LeaderboardRow]
) -> tuple[str, ...]:
    """Return what limits the first place of one model on graded scores: outright failures that were not seen."""
    best = {row.name for row in lines if row.may_be_best}
    risk = found.every.failures
    if len(best) != 1 or risk is None:
        return ()
    own = np.array([name in best for name in board.names])
    leads = (own[found.every.first] | own[found.every.second]) & separated(found.every, asked.conf_level)
    rests = np.flatnonzero(leads & risk.within)
    if not rests.size:
        return ()
    nearest = rests[np.argmin(risk.undoing[rests])]
    undoing, possible = (share_in_percent(float(each[nearest])) for each in (risk.undoing, risk.possible))
    return (f"outright failures on {undoing} of the items would undo that, and the items cannot exclude {possible}",)


def _unseen_failures(found: Ranking, asked: RankingOptions) -> list[str]:
    """Count the separated pairs that rest on failures which did not show."""
    risk = found.shown.failures
    if risk is None:
        return []
    apart = separated(found.shown, asked.conf_level)
    frail = apart & risk.within
    if not frail.any():
        return []
    possible = share_in_percent(float(risk.possible[frail].max()))
    text = (
        f"{int(frail.sum())} of {plural(int(apart.sum()), 'separated pair')} would be undone if the better model failed outright "
        f"on {possible} of the items, which these cannot exclude"
    )
    return [text]


def tails_of_the_best(
    scores: BoardScores, found: Ranking, asked: RankingOptions, lines: Sequence[LeaderboardRow]
) -> tuple[str, ...]:
    """Return what limits who could be best on scores without a worst one: that rare extreme items were not seen.

    A model is not the best if some model is shown to be better; where none is for sure, the first place rests on the tail.
    """
    frail = _on_unseen_tails(scores, found.every, asked)
    if not frail.any():
        return ()
    sure = separated(found.every, asked.conf_level) & ~frail
    beaten = set(np.where(asked.sign * found.every.estimate > 0, found.every.second, found.every.first)[sure].tolist())
    lost = [k for k, row in enumerate(lines) if row.rank_low is not None and not row.may_be_best and k not in beaten]
    return ("rare extreme items could undo it",) if lost else ()


def _unseen_tails(scores: BoardScores, found: Ranking, asked: RankingOptions) -> list[str]:
    """Count the separated pairs that may rest on a tail that was hardly seen."""
    frail = int(_on_unseen_tails(scores, found.shown, asked).sum())
    if not frail:
        return []
    apart = int(separated(found.shown, asked.conf_level).sum())
    which = "the one separated pair" if frail == apart == 1 else f"{frail:,} of {plural(apart, 'separated pair')}"
    return [f"in {which} a few items go far against the better model, and more of them would undo it"]


def _unseen_runaways(scores: BoardScores, found: Ranking, asked: RankingOptions) -> list[str]:
    """Count the separated pairs on costs that runaway answers would undo, as many as the items cannot exclude."""
    shown = found.shown
    apart: list[int] = np.flatnonzero(separated(shown, asked.conf_level)).tolist()
    if not apart or scores.raw is not None or not asked.metric.is_cost():
        return []
    if not asked.metric.is_cost(scores.values[~np.isnan(scores.values)]):
        return []
    risks: list[UnseenRunaways] = []
    for place in apart:
        both = scores.values[:, [shown.first[place], shown.second[place]]]
        sides = both[~np.isnan(both).any(axis=1)].T
        if scores.apart:
            sides = [column[~np.isnan(column)] for column in both.T]
        cheap, dear = sorted(sides, key=lambda costs: float(costs.mean()))
        lead = max(float(shown.conf_low[place]), -float(shown.conf_high[place]))
        same = not scores.apart
        risks.append(unseen_runaways(cheap, dear, lead=lead, conf_level=asked.conf_level, same_items=same))
    frail = [risk for risk in risks if risk.within]
    if not frail:
        return []
    nearest = min(frail, key=lambda risk: risk.undoing)
    which = (
        "the one separated pair" if len(apart) == 1 else f"one of {len(frail)} such pairs, of {len(apart)} separated"
    )
    return [runaway_words("the cheaper model", nearest, f"undo {which}")]


def _on_unseen_tails(scores: BoardScores, found: PairwiseDifferences, asked: RankingOptions) -> Bools:
    """Tell which separated pairs may rest on an unseen tail, by the rule of a comparison of two."""
    frail = np.zeros(found.first.size, dtype=np.bool_)
    graded = asked.metric.worst is None and asked.metric.is_graded(scores.values)
    if not graded or scores.clusters or scores.raw is not None:
        return frail
    turned = asked.sign * scores.values
    for place in np.flatnonzero(separated(found, asked.conf_level)).tolist():
        sides = turned[:, [found.first[place], found.second[place]]]
        one, other = sides[~np.isnan(sides).any(axis=1)].T
        if scores.apart:
            one, other = (column[~np.isnan(column)] for column in sides.T)
        ahead, behind = (one, other) if one.mean() > other.mean() else (other, one)
        frail[place] = rests_on_unseen_tail(
            *(ahead, behind, float(found.p_value[place])),
            conf_level=asked.conf_level,
            n_claims=found.first.size,
            same_items=not scores.apart,
        )
    return frail


def _one_run_twice(board: Board, found: Ranking) -> list[str]:
    """Name the models whose runs are one run under two names, as far as can be told."""
    texts: list[str] = []
    for k in np.flatnonzero(np.isnan(found.every.std_error) & (found.every.estimate == 0)).tolist():
        one, other = (board.table.systems[int(j)] for j in (found.every.first[k], found.every.second[k]))
        if twice := identical_runs(board.data, one, other):
            texts.append(f"{one.name} and {other.name}: {twice}")
    return texts


def _lost(board: Board, lines: Sequence[LeaderboardRow]) -> list[Note]:
    notes: list[Note] = []
    if board.silent:
        names = and_list([system.name for system in board.silent], _NAMED)
        notes.append(Note(kind="left_out", text=f"No score at all, and so no rank: {names}"))
    failed = [row for row in lines if row.n_error]
    if failed:
        rows, names = sum(row.n_error for row in failed), and_list([row.name for row in failed], _NAMED)
        are = "is" if rows == 1 else "are"
        text = f"{plural(rows, 'harness error')} of {names} {are} dropped, not counted as wrong"
        notes.append(Note(kind="missing", text=text))
    return notes


def _missing(found: Ranking, asked: RankingOptions, lines: Sequence[LeaderboardRow]) -> list[Note]:
    """Say how many models miss items, and how many separated pairs could reverse if these were scored."""
    short = [row for row in lines if row.share_missing and row.estimate is not None]
    if not short:
        return []
    pairs: list[list[int]] = np.argwhere(shown_better(found.every, asked, len(found.tiers))).tolist()
    half = _half_widths(found)
    shaken = [(i, j) for i, j in pairs if _could_turn(lines[i], lines[j], asked, half[i, j])]
    if not shaken and all(row.n_missing <= row.n_error for row in short):
        return []  # the note on errors says it
    if shaken:
        short = [row for row in short if any(lines[k] is row for pair in shaken for k in pair)]
    names = [row.name for row in sorted(short, key=lambda row: -row.share_missing)]
    who = and_list(names, 2) if len(names) < 3 else plural(len(names), "model")
    if not shaken:
        lack, most = "lacks" if len(short) == 1 else "lack", max(row.n_missing for row in short)
        return [Note(kind="missing", text=f"{who} {lack} scores that others have, up to {plural(most, 'item')}")]
    all_of = "the one separated pair" if len(pairs) == 1 else f"all {len(pairs):,} separated pairs"
    which = all_of if len(shaken) == len(pairs) else f"{len(shaken):,} of {len(pairs):,} separated pairs"
    return [Note(kind="missing", text=f"At worst, missing scores of {who} reverse {which}")]


def best_if_missing(found: Ranking, asked: RankingOptions, lines: Sequence[LeaderboardRow]) -> tuple[str, ...]:
    """Name the models that could overtake the one best if every missing score went against it."""
    best = [k for k, row in enumerate(lines) if row.may_be_best]
    if len(best) != 1:
        return ()
    top, half = best[0], _half_widths(found)
    rivals = [k for k, row in enumerate(lines) if k != top and row.component == lines[top].component]
    turning = [k for k in rivals if _could_turn(lines[top], lines[k], asked, half.get((top, k), 0.0))]
    return tuple(lines[k].name for k in turning)


def missing_share(lines: Sequence[LeaderboardRow], rivals: Sequence[str]) -> float:
    """Return the largest share of scores that are missing, of the one best and of those that could overtake it."""
    named = [row for row in lines if rivals and (row.may_be_best or row.name in rivals)]
    return max((row.share_missing for row in named), default=0.0)


def _half_widths(found: Ranking) -> dict[tuple[int, int], float]:
    """Return how far the interval of every pair reaches to either side, by the pair in both orders."""
    every = found.every
    half = np.nan_to_num((every.conf_high - every.conf_low) / 2).tolist()
    pairs = list(zip(every.first.tolist(), every.second.tolist(), strict=True))
    return dict(zip(pairs, half, strict=True)) | {(j, i): h for (i, j), h in zip(pairs, half, strict=True)}


def _could_turn(better: LeaderboardRow, worse: LeaderboardRow, asked: RankingOptions, half_width: float) -> bool:
    """Tell whether the worst case of the better model lies beyond the best case of the worse one.

    Above 5% missing it has to stay on its side by as much as chance could move the difference, as in a comparison of two; and
    nothing limits what is missing where the metric has no bound on that side.
    """
    many_missing = too_much_missing(better.share_missing, worse.share_missing)
    bad, good = asked.metric.bad_to_good()
    if many_missing and ((better.share_missing and bad is None) or (worse.share_missing and good is None)):
        return True
    if better.missing_low is None and worse.missing_low is None:
        return False
    at_worst, at_best = (
        (better.missing_low, worse.missing_high) if asked.sign > 0 else (better.missing_high, worse.missing_low)
    )
    low = better.estimate if at_worst is None else at_worst
    high = worse.estimate if at_best is None else at_best
    if low is None or high is None:
        return False
    lead = asked.sign * (low - high)
    return lead <= half_width if many_missing else lead < 0


def _own_scores(lines: Sequence[LeaderboardRow], known: Sequence[str]) -> list[Note]:
    """Gather what is noted of single scores and not of the whole board, each thing said once."""
    names: dict[Note, list[str]] = {}
    for row in lines:
        for note in row.notes:
            if note.text not in known:
                names.setdefault(note, []).append(row.name)
    return [replace(note, text=f"Score of {and_list(who, _NAMED)}: {note.text}") for note, who in names.items()]
