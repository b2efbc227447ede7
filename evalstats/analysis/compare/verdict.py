"""The verdict on a difference: by its interval and a declared margin, and which claims forbid scores that nobody has, or saw."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.compare.design import PairedDesign
from evalstats.analysis.compare.difference import Difference, PairedScores, headline_interval
from evalstats.analysis.compare.result import AtMargin, Missing, Verdict
from evalstats.analysis.costs import runaway_words
from evalstats.analysis.design.metric import open_direction
from evalstats.analysis.result import method_row, notes
from evalstats.document.model import Note
from evalstats.document.numbers import declared, digits_of_interval, number, p_value, p_words, scaled, share_in_percent
from evalstats.grammar import and_list, plural
from evalstats.record import record
from evalstats.schema.columns import STATUSES
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.one_sample import UnseenFailures, unseen_failures, unseen_runaways
from evalstats.stats.paired.binary import MIN_DISCORDANT, PairedCounts
from evalstats.stats.paired.effect_sizes import MarginTest, t_margin_test, tango_margin_test
from evalstats.stats.paired.means import has_unseen_tail, rests_on_unseen_tail
from evalstats.stats.runs import with_runs
from evalstats.table.items import Floats
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable, too_much_missing

Ends = tuple[float | None, float | None]


def verdict_of(
    design: PairedDesign, found: Difference, equivalence: Ends, *, noninferior: bool = False
) -> tuple[Verdict, str]:
    """Return the verdict of a design, and the reason for it.

    A factor that nobody declared may leave the verdict open, and says nothing of what the design could have shown.
    """
    undeclared = design.widened_by is not None or design.too_few is not None
    verdict, reason = decide(
        replace(found, smallest_p=None) if undeclared else found,
        design.metric,
        margin=design.margin,
        equivalence=equivalence,
        noninferior=noninferior,
    )
    if design.too_few is not None and verdict == "inconclusive":
        return verdict, design.too_few.why()
    return ("inconclusive", reason) if undeclared and verdict == "invalid" else (verdict, reason)


def answered(design: PairedDesign) -> tuple[PairedScores, Difference, Verdict, str]:
    """Answer with a part of the items, or with another decision: the scores, their difference, the verdict and its reason."""
    scores = design.scores()
    found = design.without_claims(with_unseen(design.difference(scores), scores, design.margin))
    return scores, found, *verdict_of(design, found, design.equivalence(scores))


def decide(
    found: Difference,
    metric: MetricFacts,
    *,
    margin: float | None = None,
    equivalence: Ends = (None, None),
    noninferior: bool = False,
) -> tuple[Verdict, str]:
    """Return the verdict and the reason for it, in words; intervals are adjusted for their family.

    The order is fixed: invalid, powerless, equivalent, better or worse, inconclusive. `equivalence` is the interval that is held
    to the margin; `noninferior` tells that a loss beyond it is excluded.
    """
    headline, unit, conf_level = found.headline, f" {metric.shown_unit}".rstrip(), found.headline.conf_level
    low, high, level = headline.conf_low, headline.conf_high, _percent(conf_level)
    if found.smallest_p is not None and found.smallest_p > 1 - conf_level:
        if low is None and headline.reason:
            return "invalid", headline.reason
        flip = "a cluster sign-flip" if headline.n_clusters else "a sign-flip"
        test = flip if headline.n_clusters or headline.method.startswith("paired t") else "the test"
        least = f"the p of {test} could not go below {p_value(found.smallest_p)}"
        few = f"fewer than {MIN_DISCORDANT} items decide nothing"
        return "powerless", f"whatever the outcome, {few if found.smallest_p >= 1.0 else least}"
    if low is None or high is None:
        return "invalid", headline.reason or "the data give no interval"
    sides: tuple[Verdict, Verdict] = ("better", "worse") if metric.higher_is_better else ("worse", "better")
    direction = sides[0] if low > 0 else sides[1] if high < 0 else None
    if margin is not None:
        least, most = equivalence
        within = f"{declared(margin, metric.scale)}{unit}"
        inside = _inside(least, most, margin)
        underpowered = found.mde is None or found.mde > margin
        if underpowered and direction is None and not inside and not noninferior:
            size = "" if found.mde is None else number(found.mde * metric.scale, 1)
            power = f": only {size}{unit} or more would be detected with 80% power" if size else ""
            return "powerless", f"the interval includes 0, and a margin of {within} is out of reach{power}"
        if inside:
            why = f"the {_percent(2 * conf_level - 1)} interval lies within ±{within}"
            forbid = "; ".join(found.no_equivalence)
            return ("inconclusive", f"{why}, but {forbid}") if forbid else ("equivalent", why)
    if direction is None:
        return "inconclusive", f"the {level} interval includes 0"
    asked = [open_direction(metric.name)] if metric.direction == "asked" else []
    if doubts := [*asked, *found.doubts]:
        return "inconclusive", f"the interval excludes 0, but {'; '.join(doubts)}"
    return direction, f"the {level} interval excludes 0"


def _percent(level: float) -> str:
    # One that was given has few digits; one that an adjustment made is shown with four.
    given = declared(level, 100)
    return f"{given if len(given) <= 7 else f'{100 * level:.4g}'}%"


# --- at a declared margin ---


def withheld(account: AtMargin | None, why: str | None) -> AtMargin | None:
    """Take a claim of non-inferiority back, for a reason that the test does not know."""
    if account is None or why is None or not account.noninferior:
        return account
    return replace(account, noninferior=False, reason=f"{account.reason}, but {why}")


def at_margin(found: Difference, scores: PairedScores, margin: float | None) -> AtMargin | None:
    """Test at the margin by the method that the headline interval comes from, so that neither contradicts the other.

    What forbids a verdict of equivalence (too few clusters that differ, too few items) forbids non-inferiority as well:
    both rest on an interval that may be too short.
    """
    if margin is None:
        return None
    headline, conf_level = found.headline, found.headline.conf_level
    if found.table is not None and headline.df is None:
        counts = PairedCounts.from_scores(scores.baseline, scores.candidate)
        tested = tango_margin_test(counts, margin=margin, conf_level=conf_level)
    else:
        if found.without_runs is not None:
            # A mixture is no single t: its law at the level of the interval that is held to the margin.
            headline = with_runs(replace(found.without_runs, conf_level=2 * conf_level - 1), scores.runs)
        tested = t_margin_test(headline, margin=margin, conf_level=conf_level, bound=scores.metric.span)
    return margin_words(tested, found, scores.metric)


def margin_words(tested: MarginTest, found: Difference, metric: MetricFacts) -> AtMargin:
    """Say how the candidate stands at a margin that was tested."""
    # A loss is a fall where higher is better, and a rise where lower is.
    good, margin = metric.higher_is_better, tested.margin
    limit = tested.low_one_sided if good else tested.high_one_sided
    inside = limit is not None and (limit > -margin if good else limit < margin)
    if limit is None:
        reason = f"no test at the margin: {tested.reason or 'there is no interval'}"
    else:
        digits = max(2, digits_of_interval(found.headline.conf_low, found.headline.conf_high, metric.scale))
        unit = f" {metric.shown_unit}" if metric.shown_unit else ""
        loss = f"{declared(tested.margin, metric.scale)}{unit}"
        then = f"excludes a loss of {loss}" if inside else f"leaves a loss beyond {loss} possible"
        reason = (
            f"the one-sided {100 * tested.conf_level:g}% {'lower' if good else 'upper'} limit of the difference is "
            f"{scaled(limit, metric.scale, digits, sign=True)}{unit}, which {then}"
        )
        if inside and found.no_equivalence:
            reason = f"{reason}, but {'; '.join(found.no_equivalence)}"
    return AtMargin(
        margin=margin,
        noninferior=inside and not found.no_equivalence,
        reason=reason,
        method=tested.method,
        conf_level=tested.conf_level,
        limit=limit,
        noninferior_p=tested.noninferior_p if good else tested.nonsuperior_p,
        equivalence_p=tested.tost_p,
    )


# --- what is missing ---


def missing_account(design: PairedDesign) -> Missing:
    """Count what is missing and repeat the headline analysis with every missing score put at either end.

    Items that neither side has at all do not exist here; one that a side lacks, or holds as an error or unscored, is missing
    for it. While a run is watched, items that are not finished yet are no missing scores.
    """
    table, metric = design.table, design.metric
    if design.sequential:
        return _missing_so_far(replace(design, sequential=False))
    first, second = table.scored.T
    share_first, share_second = (float(column.copy().mean()) for column in table.lost_shares().T)
    counted = Missing(
        n_both=int((first & second).sum()),
        n_only_baseline=int((first & ~second).sum()),
        n_only_candidate=int((second & ~first).sum()),
        n_neither=int((~first & ~second).sum()),
        only_baseline=table.labels(first & ~second),
        only_candidate=table.labels(second & ~first),
        share_baseline=share_first,
        share_candidate=share_second,
        ignorable=design.ignorable,
    )
    if not table.incomplete:
        have, _ = table.counts()
        short, words = int((have < have.max(axis=0)).sum()), "every item has a score on both sides"
        if not short:
            return replace(counted, explanation=f"{words}, in every trial")
        fewer = (
            f"{plural(short, 'item')} of one side or the other {'has' if short == 1 else 'have'} fewer trials than the rest, and "
            "trials that no file holds are not filled in"
        )
        return replace(counted, explanation=f"{words}; {fewer}")
    run = table.n_scored + table.n_lost
    n_trials = table.steps or int(run[run > 0].min(initial=int(run.max())))
    codes, fixed = (tuple(map(table.codes, names)) for names in (design.clusters, design.partitions))

    def difference(values: Floats, conf_level: float) -> IntervalEstimate:
        scores = PairedScores(
            metric=metric,
            baseline=values[:, 0].copy(),
            candidate=values[:, 1].copy(),
            n_trials=n_trials,
            clusters=codes,
            fixed=fixed,
            strata=design.strata(table),
        )
        return headline_interval(scores, conf_level=conf_level, method=design.fitting_method)

    return at_either_end(counted, table, difference, conf_level=design.conf_level, margin=design.margin)


def at_either_end(
    counted: Missing,
    table: ScoreTable,
    difference: Callable[[Floats, float], IntervalEstimate],
    *,
    conf_level: float,
    margin: float | None,
) -> Missing:
    """Repeat an analysis with every missing score at either end of the scale, and say between which values that leaves it.

    `difference` takes the values of both sides, shape (n_items, 2), and a level. Where the metric has no bounds, the lowest and
    highest item scores seen stand for them.
    """
    metric, seen = table.metric, table.values()
    low = float(np.nanmin(seen)) if metric.low is None else metric.low
    high = float(np.nanmax(seen)) if metric.high is None else metric.high
    ends, good = (table.filled(low), table.filled(high)), metric.higher_is_better
    # Of the baseline and the candidate, whether what is missing is at the high end.
    cases = {
        "every missing score at the lowest value": (False, False),
        "every missing score at the highest value": (True, True),
        "missing scores against the candidate": (good, not good),
        "missing scores for the candidate": (not good, good),
    }
    filled = [np.stack([ends[first][:, 0], ends[second][:, 1]], axis=1) for first, second in cases.values()]
    rows = tuple(
        method_row(difference(values, conf_level), "sensitivity", words)
        for words, values in zip(cases, filled, strict=True)
    )
    least = most = None
    if margin is not None:
        narrower = [difference(values, 2 * conf_level - 1) for values in filled]
        lows, highs = [each.conf_low for each in narrower], [each.conf_high for each in narrower]
        least = None if None in lows else min(end for end in lows if end is not None)
        most = None if None in highs else max(end for end in highs if end is not None)
    estimates = [row.estimate * metric.scale for row in rows if row.estimate is not None]
    between = f"{number(min(estimates), 1)} and {number(max(estimates), 1)}{f' {metric.shown_unit}'.rstrip()}"
    where = "with the missing scores at either end" if metric.bounds is None else "whatever the missing scores are"
    words = [f"{where}, the difference on all items lies between {between}"]
    if metric.bounds is None:
        words.append("the metric has no bounds, so the lowest and the highest score seen stand for them")
    if counted.ignorable:
        words.append("they are declared to be missing for a reason that has nothing to do with the answers")
    lacks = counted.share_baseline > 0, counted.share_candidate > 0
    return replace(
        counted,
        rows=rows,
        explanation="; ".join(words),
        open_below=(metric.high is None and lacks[0]) or (metric.low is None and lacks[1]),
        open_above=(metric.low is None and lacks[0]) or (metric.high is None and lacks[1]),
        least=least,
        most=most,
    )


def _missing_so_far(design: PairedDesign) -> Missing:
    """Account for what is missing among the items that both sides have finished."""
    every, watched = missing_account(design), "the run is monitored"
    if not any(bool((system.rows["status"] != "scored").any()) for system in design.table.systems):
        return replace(every, rows=(), share_baseline=0.0, share_candidate=0.0, explanation=watched)
    done = missing_account(replace(design, table=design.table.take(np.flatnonzero(design.table.seen.all(axis=1)))))
    return replace(
        every,
        rows=done.rows,
        least=done.least,
        most=done.most,
        share_baseline=done.share_baseline,
        share_candidate=done.share_candidate,
        explanation=f"{watched}; of the items that both sides finished, {done.explanation}",
    )


@record
class Judged:
    """A verdict after a look at what is missing: forbidden (`withheld` is then what it was), limited, or as it was.

    `qualifiers` limit it on the first line, `cautions` below.
    """

    verdict: Verdict
    reason: str
    qualifiers: tuple[Note, ...] = ()
    cautions: tuple[Note, ...] = ()
    withheld: Verdict | None = None
    names_missing: bool = False


def judged(
    missing: Missing,
    verdict: Verdict,
    reason: str,
    *,
    estimate: float | None,
    names: tuple[str, str],
    margin: float | None = None,
    cause: str = "",
) -> Judged:
    """Forbid a direction that the missing scores could undo, or, where few are missing, limit it.

    Scores that are missing because they would have been failures make a side look better than it is. Where the interval with
    all of them at their worst includes 0, or the metric has no bound on the side of a failure, no direction is claimed from the
    rest, unless the user declares the reason harmless or at most 5% of either side are missing. A verdict of equivalence that
    does not survive every assignment of the missing scores is cautioned. `cause` is what all missing scores are, where that is
    one thing ("harness errors").
    """
    shares = zip((missing.share_baseline, missing.share_candidate), names, strict=True)
    lacking = [(share_in_percent(share), name) for share, name in shares if share > 0]
    if missing.ignorable:
        # What the user declared, and the data cannot tell.
        of = and_list([f"{share} of {name}" for share, name in lacking])
        told = f"Scores are missing ({of}), declared to have nothing to do with the answers"
        return Judged(verdict=verdict, reason=reason, cautions=notes("missing", [told] if of else []))
    if verdict not in ("better", "worse", "equivalent"):
        return Judged(verdict=verdict, reason=reason)
    if verdict == "equivalent":
        beyond = [
            row for row in missing.rows if margin is not None and not _inside(row.conf_low, row.conf_high, margin)
        ]
        told = [row.note.partition(";")[0] for row in beyond[:1]]
        rests = (
            f"the verdict rests on scores that are missing: with {case}, the interval leaves the margin"
            for case in told
        )
        return Judged(verdict=verdict, reason=reason, cautions=notes("missing", rests))
    upward = (estimate or 0.0) > 0
    ends = [(row, row.conf_low if upward else row.conf_high) for row in missing.rows]
    lost = [row for row, end in ends if end is None or not (end > 0 if upward else end < 0)]
    few = not too_much_missing(missing.share_baseline, missing.share_candidate)
    unlimited = not few and (missing.open_below if upward else missing.open_above)
    if not (lost or unlimited):
        return Judged(verdict=verdict, reason=reason)
    are_what = f"are {cause} and dropped" if cause else "are missing"
    if len(lacking) == 2 and lacking[0][0] == lacking[1][0]:
        are = f"{lacking[0][0]} of the scores of either side {are_what}"
    else:
        first, *rest = (
            f"{share} of the scores of {name}" if not i else f"{share} of {name}"
            for i, (share, name) in enumerate(lacking)
        )
        are = f"{' and '.join((first, *rest))} {are_what}"
    case = lost[0].note.partition(";")[0] if lost else ""
    if few:
        told = notes("missing", (f"{are}, and with {case} the interval includes 0",))
        return Judged(verdict=verdict, reason=reason, qualifiers=told, names_missing=bool(cause))
    could = f"with {case} it includes 0" if lost else "the metric has no bound that limits what they could be"
    why = f"{reason}, but {are}, and {could}"
    return Judged(verdict="inconclusive", reason=why, withheld=verdict, names_missing=bool(cause))


def _inside(low: float | None, high: float | None, margin: float) -> bool:
    return low is not None and high is not None and -margin < low <= high < margin


def missing_beyond(missing: Missing, metric: MetricFacts, margin: float | None, *, loss: bool = True) -> str | None:
    """Say that the missing scores alone could make a loss (or a gain) beyond the margin, where they could.

    Up to 5% missing of either side, the estimate with all of them at their worst has to stay within the margin. Above, the
    bounds decide: the limit of that interval has to, as it has to where nothing is missing. A gain beyond the margin, which
    only equivalence excludes, is looked at above 5%.
    """
    if margin is None or not missing.rows or missing.ignorable:
        return None
    many_missing = too_much_missing(missing.share_baseline, missing.share_candidate)
    if not loss and not many_missing:
        return None
    downward = loss == metric.higher_is_better
    if many_missing:
        end = missing.least if downward else missing.most
        if missing.open_below if downward else missing.open_above:
            return "scores are missing, and the metric has no bound that limits what they could be"
        what = f"the {'lower' if downward else 'upper'} limit of the difference on all items"
    else:
        estimates = [row.estimate for row in missing.rows if row.estimate is not None]
        end = min(estimates, default=None) if downward else max(estimates, default=None)
        what = "the difference on all items"
    whom = f"with the missing scores {'against' if loss else 'for'} the candidate"
    if end is None:
        return f"{whom} there is no interval"
    if (end if downward else -end) > -margin:
        return None
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    return f"{whom} {what} would be {scaled(end, metric.scale, sign=True)}{unit}, beyond the margin"


def left_out(design: PairedDesign, *, told: bool) -> list[str]:
    """Say how many rows are harness errors, else how many items are not paired; `told`: the verdict says what is missing."""
    counted = [(each.name, each.count("error"), each.count(*STATUSES)) for each in design.table.systems]
    failed = [(f"{k:,} of {of:,} rows", name) for name, k, of in counted if k]
    if failed:
        rows = " and ".join(f"{count} of {name}" for count, name in failed)
        if len(failed) == 2 and failed[0][0] == failed[1][0]:
            rows = f"{failed[0][0]} of either side"
        return [] if told else [f"{rows} are harness errors, dropped and not counted as wrong"]
    n, total = len(design.paired), len(design.table)
    weakened = any(each.setting == "items" for each in design.differences if each.severity == "weakens")
    if n == total or weakened:
        return []
    lacking = dict(zip(design.names, (design.table.n_scored == 0).sum(axis=0).tolist(), strict=True))
    sides = and_list([f"{name} has no score on {k:,}" for name, k in lacking.items() if k])
    return [f"{sides} of {total:,} items, which are dropped"]


# --- what nobody saw ---


def with_unseen(found: Difference, scores: PairedScores, margin: float | None = None) -> Difference:
    """Limit a result on graded scores by what answers that nobody saw would do to it: failures, a tail, costs that run away.

    What people's labels corrected is no mean of the judge's scores, and has no such limit.
    """
    if not scores.graded or found.labels is not None or found.headline.conf_low is None:
        return found
    if scores.metric.worst is not None:
        return _failures(found, scores, scores.metric.worst, margin)
    if scores.metric.is_cost(scores.baseline, scores.candidate):
        found = _runaways(found, scores, margin)
    return found if scores.clusters or scores.strata is not None else _tail(found, scores, margin)


def _failures(found: Difference, scores: PairedScores, worst: float, margin: float | None) -> Difference:
    """Limit a result by outright failures that were not seen.

    Where either side failed outright on some item, a result that possible failures would undo is none; elsewhere it is
    qualified. Clustered items are counted as if failures came one by one, which is the least that cannot be excluded.
    """
    level, pull = found.headline.conf_level, _pull(scores)
    own, other = (np.abs(each - worst) * pull for each in (scores.candidate, scores.baseline))
    sides = (("the candidate", own, other), ("the baseline", other, own))

    def words(who: str, risk: UnseenFailures, effect: str) -> str:
        more = "further outright" if risk.failures else "outright"
        return (
            f"{more} failures of {who} on {share_in_percent(risk.undoing)} of the items would {effect}, and {risk.n:,} items "
            f"cannot exclude {share_in_percent(risk.possible)}"
        )

    who, ahead, behind = max(sides, key=lambda side: float(side[1].mean()))
    risk = unseen_failures(ahead, behind, conf_level=level)
    found = replace(found, failures=risk)
    if risk.within and risk.undoing > 0:
        told = words(who, risk, "undo it")
        limit = {"doubts": (*found.doubts, told)} if risk.seen else {"if_claimed": notes("few", (told,))}
        found = replace(found, **limit)
    if margin is None:
        return found
    beyond = [(who, unseen_failures(own, other, allowance=margin, conf_level=level)) for who, own, other in sides]
    who, risk = min(beyond, key=lambda each: each[1].undoing - each[1].possible)
    if not risk.within or risk.undoing <= 0:
        return found
    told = words(who, risk, "take it beyond the margin")
    if risk.seen:
        return replace(found, no_equivalence=(*found.no_equivalence, told))
    return replace(found, if_equivalent=notes("few", (told,)))


def _pull(scores: PairedScores) -> float | Floats:
    """Return what weights items so that their means are those that are compared, where levels are averaged over."""
    return 1.0 if scores.strata is None else len(scores.baseline) * scores.strata.item_weights


def _tail(found: Difference, scores: PairedScores, margin: float | None) -> Difference:
    """Limit a claim on scores without a worst one (costs, seconds) by a tail that was hardly seen.

    A claim that the candidate loses no more than a margin is not made at all: a gate that passes on it is read by nobody.
    """
    metric, headline, level = scores.metric, found.headline, found.headline.conf_level
    sign = 1.0 if metric.higher_is_better else -1.0
    candidate, baseline = sides = (sign * scores.candidate, sign * scores.baseline)
    ahead, behind = sides if candidate.mean() > baseline.mean() else sides[::-1]
    words = ("a few items go far against it, and more of them would undo it",)
    if rests_on_unseen_tail(ahead, behind, headline.p_value, conf_level=level):
        found = replace(found, if_claimed=notes("fit", words))
    if margin is None:
        return found
    if has_unseen_tail(candidate, baseline) or has_unseen_tail(baseline, candidate):
        found = replace(found, if_equivalent=notes("fit", words))
    tested = t_margin_test(headline, margin=margin, conf_level=level, bound=metric.span)
    p = tested.noninferior_p if metric.higher_is_better else tested.nonsuperior_p
    if rests_on_unseen_tail(candidate, baseline, p, conf_level=level):
        found = replace(found, no_equivalence=(*found.no_equivalence, *words))
    return found


def _runaways(found: Difference, scores: PairedScores, margin: float | None) -> Difference:
    """Qualify a claim on costs by runaway answers that would undo it, as many as the items cannot exclude.

    That is told in the first line, too; clustered items are counted as if answers ran away one by one.
    """
    headline, level, pull = found.headline, found.headline.conf_level, _pull(scores)
    own, other = scores.candidate * pull, scores.baseline * pull
    low, high = headline.conf_low or 0.0, headline.conf_high or 0.0
    for who, cheap, dear, lead in (("the candidate", own, other, -high), ("the baseline", other, own, low)):
        risk = unseen_runaways(cheap, dear, lead=lead, conf_level=level)
        if risk.within:
            found = replace(found, if_claimed=notes("fit", (runaway_words(who, risk, "undo it"),)))
    if margin is None or headline.statistic is None:
        return found
    tested = t_margin_test(headline, margin=margin, conf_level=level)
    low, high = tested.low_one_sided or 0.0, tested.high_one_sided or 0.0
    beyond = [
        (who, unseen_runaways(cheap, dear, lead=margin + end, conf_level=level))
        for who, cheap, dear, end in (("the candidate", own, other, -high), ("the baseline", other, own, low))
    ]
    who, risk = min(beyond, key=lambda each: each[1].undoing - each[1].possible)
    if risk.within:
        found = replace(found, if_equivalent=notes("fit", (runaway_words(who, risk, "take it beyond the margin"),)))
    return found


# --- picked among many ---


def picked_notes(design: PairedDesign, found: Difference, verdict: Verdict) -> tuple[Note, ...]:
    """Warn where the claim is of the first or last of many systems, and would not stand had that been why it was picked.

    The best of k equal systems is ahead of any other by luck: p counts for all k - 1 comparisons then (Bonferroni).
    """
    metric, p, data = design.metric, found.headline.p_value, design.data.outcomes
    if verdict not in ("better", "worse") or p is None:
        return ()
    own = (pl.col("benchmark") == metric.benchmark) & (pl.col("metric") == metric.name) & pl.col("score").is_not_null()
    means = data.lazy().filter(own).group_by("system").agg(pl.col("score").mean())  # lazily, no other column is copied
    order = means.sort("score").collect()["system"].to_list()
    others = len(order) - 1
    if others < 2 or not {*design.names} <= {*order} or others * p <= 1 - design.conf_level:
        return ()
    ends = {order[-1]: "highest", order[0]: "lowest"}
    first = next((name for name in reversed(design.names) if name in ends), None)
    if first is None:
        return ()
    text = (
        f"{first} scores {ends[first]} of {len(order)} systems; if it was picked for that, {p_words(min(1.0, others * p))} "
        f"adjusted for {others} comparisons, and the difference is exaggerated"
    )
    return (Note(kind="selection", text=text, remedy="A leaderboard corrects for both"),)
