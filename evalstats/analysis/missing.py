"""What could not be paired, and how far it could move the answer: missing is neither wrong nor ignored."""

from dataclasses import replace

from evalstats.analysis.arms import Metric
from evalstats.analysis.difference import PairedScores, headline_interval
from evalstats.analysis.pairs import Ints, Pairs, item_labels
from evalstats.analysis.results import MethodRow, Missing, Verdict
from evalstats.analysis.rows import method_row
from evalstats.display.numbers import number, plural
from evalstats.stats.stratified import Strata


def _assignments(metric: Metric) -> tuple[tuple[str, bool, bool], ...]:
    """Return the four assignments of a missing score: words, at the high end for the baseline, for the candidate."""
    good = metric.higher_is_better
    return (
        ("every missing score at the lowest value", False, False),
        ("every missing score at the highest value", True, True),
        ("missing scores against the candidate", good, not good),
        ("missing scores for the candidate", not good, good),
    )


def missing_account(
    pairs: Pairs,
    metric: Metric,
    clusters: tuple[str, ...],
    *,
    conf_level: float,
    method: str,
    strata: Strata | None = None,
) -> Missing:
    """Count what is missing and repeat the headline analysis with every missing score put at either end.

    A metric without bounds gets counts only: no worst case exists. `strata` are those of all items, where levels of a factor
    are averaged over.
    """
    counted = Missing(
        n_both=int(pairs.paired.sum()),
        n_only_baseline=int(pairs.only_baseline.sum()),
        n_only_candidate=int(pairs.only_candidate.sum()),
        n_neither=int((~pairs.paired & ~pairs.only_baseline & ~pairs.only_candidate).sum()),
        only_baseline=item_labels(pairs, pairs.only_baseline),
        only_candidate=item_labels(pairs, pairs.only_candidate),
    )
    if not pairs.incomplete():
        return replace(counted, explanation=_complete_words(pairs))
    if metric.low is None or metric.high is None:
        return replace(counted, explanation="the metric has no bounds, so no worst case can be computed")
    rows = tuple(
        _assigned(pairs, metric, clusters, conf_level=conf_level, method=method, strata=strata, assignment=assignment)
        for assignment in _assignments(metric)
    )
    return replace(counted, rows=rows, explanation=_range_words(rows, metric))


def _complete_words(pairs: Pairs) -> str:
    short = sum(int((side.present < side.present.max(initial=0)).sum()) for side in (pairs.baseline, pairs.candidate))
    if not short:
        return "every item has a score on both sides, in every trial"
    return (
        f"every item has a score on both sides; {plural(short, 'item')} of one side or the other "
        f"{'has' if short == 1 else 'have'} fewer trials than the rest, and trials that no file holds are not filled in"
    )


def _assigned(
    pairs: Pairs,
    metric: Metric,
    clusters: tuple[str, ...],
    *,
    conf_level: float,
    method: str,
    strata: Strata | None,
    assignment: tuple[str, bool, bool],
) -> MethodRow:
    words, baseline_high, candidate_high = assignment
    low, high = metric.low or 0.0, metric.high if metric.high is not None else 1.0
    expected = max(int(pairs.baseline.present.max()), int(pairs.candidate.present.max()), 1)
    scores = PairedScores(
        baseline=pairs.baseline.filled(high if baseline_high else low, expected),
        candidate=pairs.candidate.filled(high if candidate_high else low, expected),
        n_trials=pairs.steps or int(min(_smallest(pairs.baseline.present), _smallest(pairs.candidate.present))),
        clusters=tuple(pairs.codes(name) for name in clusters),
        strata=strata,
    )
    found = headline_interval(scores, metric, conf_level=conf_level, method=method)
    return method_row(found, term="difference", role="sensitivity", note=words)


def _smallest(present: Ints) -> int:
    seen = present[present > 0]
    return int(seen.min()) if len(seen) else 1


def fragile(missing: Missing, verdict: Verdict, *, upward: bool, margin: float | None) -> str | None:
    """Return a warning when the verdict does not survive every assignment of the missing scores.

    Parameters
    ----------
    upward
        Whether the difference is above 0, where a direction is claimed.
    margin
        The declared margin, where equivalence is claimed.
    """
    if verdict in ("better", "worse"):
        lost = [row for row in missing.rows if not _beyond_0(row, upward=upward)]
        problem = "the interval does not exclude 0 on that side"
    elif verdict == "equivalent" and margin is not None:
        lost = [row for row in missing.rows if not _within(row, margin)]
        problem = "the interval leaves the margin"
    else:
        return None
    if not lost:
        return None
    return f"the verdict rests on scores that are missing: with {lost[0].note.partition(';')[0]}, {problem}"


def _beyond_0(row: MethodRow, *, upward: bool) -> bool:
    end = row.conf_low if upward else row.conf_high
    return end is not None and (end > 0 if upward else end < 0)


def _within(row: MethodRow, margin: float) -> bool:
    low, high = row.conf_low, row.conf_high
    return low is not None and high is not None and -margin < low and high < margin


def _range_words(rows: tuple[MethodRow, ...], metric: Metric) -> str:
    estimates = [row.estimate for row in rows if row.estimate is not None]
    low, high = min(estimates) * metric.scale, max(estimates) * metric.scale
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    ends = f"{number(low, 1)} and {number(high, 1)}{unit}"
    return f"whatever the missing scores are, the difference on all items lies between {ends}"
