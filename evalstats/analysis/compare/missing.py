"""What is missing in a comparison, how far it could move the answer, and which claims it forbids."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.compare.design import PairedDesign
from evalstats.analysis.compare.difference import PairedScores, headline_interval
from evalstats.analysis.compare.result import Missing, Verdict
from evalstats.analysis.design.missing import too_much_missing
from evalstats.analysis.result import MethodRow, method_row, notes
from evalstats.document.model import Note
from evalstats.document.numbers import number, scaled, share_in_percent
from evalstats.grammar import plural
from evalstats.stats.estimate import IntervalEstimate
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable


def missing_account(design: PairedDesign) -> Missing:
    """Count what is missing and repeat the headline analysis with every missing score put at either end.

    Where the metric has no bounds, the lowest and highest item scores seen stand for them. Items that neither side has at all
    do not exist here; one that a side lacks, or holds as an error or unscored, is missing for it.
    """
    table, metric = design.table, design.metric
    first, second = table.scored.T
    share_first, share_second = (float(column.copy().mean()) for column in table.lost_shares().T)
    lacks = share_first > 0, share_second > 0
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
        return replace(counted, explanation=_complete_words(table))
    seen, run = table.values(), table.n_scored + table.n_lost
    low = float(np.nanmin(seen)) if metric.low is None else metric.low
    high = float(np.nanmax(seen)) if metric.high is None else metric.high
    lowest, highest = table.filled(low), table.filled(high)
    n_trials = table.steps or int(run[run > 0].min(initial=int(run.max())))
    codes, fixed = (tuple(map(table.codes, names)) for names in (design.clusters, design.partitions))

    def assigned(*, baseline_high: bool, candidate_high: bool) -> PairedScores:
        return PairedScores(
            baseline=(highest if baseline_high else lowest)[:, 0].copy(),
            candidate=(highest if candidate_high else lowest)[:, 1].copy(),
            n_trials=n_trials,
            clusters=codes,
            fixed=fixed,
            strata=design.strata(table),
        )

    def interval(scores: PairedScores, level: float) -> IntervalEstimate:
        return headline_interval(scores, metric, conf_level=level, method=design.fitting_method)

    good = metric.higher_is_better
    cases = {
        "every missing score at the lowest value": assigned(baseline_high=False, candidate_high=False),
        "every missing score at the highest value": assigned(baseline_high=True, candidate_high=True),
        "missing scores against the candidate": assigned(baseline_high=good, candidate_high=not good),
        "missing scores for the candidate": assigned(baseline_high=not good, candidate_high=good),
    }
    rows = tuple(method_row(interval(case, design.conf_level), "sensitivity", words) for words, case in cases.items())
    least = most = None
    if design.margin is not None:
        narrower = [interval(case, 2 * design.conf_level - 1) for case in cases.values()]
        lows, highs = [each.conf_low for each in narrower], [each.conf_high for each in narrower]
        least = None if None in lows else min(end for end in lows if end is not None)
        most = None if None in highs else max(end for end in highs if end is not None)
    words = [_range_words(rows, metric)]
    if metric.bounds is None:
        words.append("the metric has no bounds, so the lowest and the highest score seen stand for them")
    if design.ignorable:
        words.append("they are declared to be missing for a reason that has nothing to do with the answers")
    return replace(
        counted,
        rows=rows,
        explanation="; ".join(words),
        open_below=(metric.high is None and lacks[0]) or (metric.low is None and lacks[1]),
        open_above=(metric.low is None and lacks[0]) or (metric.high is None and lacks[1]),
        least=least,
        most=most,
    )


def account_for_missing(design: PairedDesign, *, watching: bool) -> Missing:
    """Account for what is missing; while a run is watched, items that are not finished yet are no missing scores."""
    every = missing_account(design)
    if not watching:
        return every
    words = "the run is watched while it goes on"
    if not any(bool((system.rows["status"] != "scored").any()) for system in design.table.systems):
        return replace(every, rows=(), share_baseline=0.0, share_candidate=0.0, explanation=words)
    done = missing_account(replace(design, table=design.table.take(np.flatnonzero(design.table.seen.all(axis=1)))))
    return replace(
        every,
        rows=done.rows,
        least=done.least,
        most=done.most,
        share_baseline=done.share_baseline,
        share_candidate=done.share_candidate,
        explanation=f"{words}; of the items that both sides finished, {done.explanation}",
    )


def _complete_words(table: ScoreTable) -> str:
    have, _ = table.counts()
    short = int((have < have.max(axis=0)).sum())
    if not short:
        return "every item has a score on both sides, in every trial"
    return (
        f"every item has a score on both sides; {plural(short, 'item')} of one side or the other "
        f"{'has' if short == 1 else 'have'} fewer trials than the rest, and trials that no file holds are not filled in"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict after a look at what is missing: forbidden (`withheld` is then what it was), limited, or as it was."""

    verdict: Verdict
    reason: str
    qualifiers: tuple[Note, ...] = ()
    withheld: Verdict | None = None
    names_missing: bool = False


def judged(
    missing: Missing, verdict: Verdict, reason: str, *, estimate: float | None, names: tuple[str, str], cause: str = ""
) -> Judged:
    """Forbid a direction that the missing scores could undo, or, where few are missing, limit it.

    Scores that are missing because they would have been failures make a side look better than it is. Where the interval with
    all of them at their worst includes 0, or the metric has no bound on the side of a failure, no direction is claimed from the
    rest, unless the user declares the reason harmless or at most 5% of either side are missing. `cause` is what all missing
    scores are, where that is one thing ("harness errors").
    """
    upward = (estimate or 0.0) > 0
    ends = [(row, row.conf_low if upward else row.conf_high) for row in missing.rows]
    lost = [row for row, end in ends if end is None or not (end > 0 if upward else end < 0)]
    few = not too_much_missing(missing.share_baseline, missing.share_candidate)
    unlimited = not few and (missing.open_below if upward else missing.open_above)
    if verdict not in ("better", "worse") or missing.ignorable or not (lost or unlimited):
        return Judged(verdict=verdict, reason=reason)
    shares = zip((missing.share_baseline, missing.share_candidate), names, strict=True)
    lacking = [(share_in_percent(share), name) for share, name in shares if share > 0]
    are_what = f"are {cause} and left out" if cause else "are missing"
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
    why = (
        f"{reason}, but {are}, and {could}; where the reason they are missing has nothing to do with the answers, "
        "that can be declared"
    )
    return Judged(verdict="inconclusive", reason=why, withheld=verdict, names_missing=bool(cause))


def rests_on_missing(missing: Missing, verdict: Verdict, *, margin: float | None) -> str | None:
    """Return a warning when a verdict of equivalence does not survive every assignment of the missing scores."""
    if verdict != "equivalent" or missing.ignorable or margin is None:
        return None
    ends = [(row, row.conf_low, row.conf_high) for row in missing.rows]
    lost = [row for row, low, high in ends if low is None or high is None or not -margin < low <= high < margin]
    if not lost:
        return None
    case = lost[0].note.partition(";")[0]
    return f"the verdict rests on scores that are missing: with {case}, the interval leaves the margin"


def _range_words(rows: tuple[MethodRow, ...], metric: MetricFacts) -> str:
    estimates = [row.estimate for row in rows if row.estimate is not None]
    low, high = min(estimates) * metric.scale, max(estimates) * metric.scale
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    ends = f"{number(low, 1)} and {number(high, 1)}{unit}"
    bounded = metric.low is not None and metric.high is not None
    where = "whatever the missing scores are" if bounded else "with the missing scores at either end"
    return f"{where}, the difference on all items lies between {ends}"


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
