"""The verdict on a difference, how missing scores and margins limit it, and the gate that a build passes or fails by it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from evalstats.analysis.compare.difference import Difference, PairedScores, headline_interval
from evalstats.analysis.compare.result import AtMargin, Comparison, Missing, Verdict
from evalstats.analysis.design.metric import HOW_TO_DIRECT, Metric, open_direction
from evalstats.analysis.pairs import Ints, Pairs, Side, item_labels, too_much_missing
from evalstats.analysis.result import MethodRow, method_row, notes
from evalstats.document.model import Note
from evalstats.document.numbers import declared, digits_of_interval, number, p_value, scaled, share_in_percent
from evalstats.errors import InputError, written
from evalstats.grammar import has_have, plural, plural_of
from evalstats.stats.estimate import Estimate
from evalstats.stats.paired.binary import PairedCounts
from evalstats.stats.paired.effect_sizes import MarginTest, t_margin_test, tango_margin_test
from evalstats.stats.runs import with_runs
from evalstats.stats.stratified import Strata

BOUNDED, IGNORABLE = "bounded", "ignorable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict after a look at what is missing: forbidden (`withheld` is then what it was), limited, or as it was."""

    verdict: Verdict
    reason: str
    qualifiers: tuple[Note, ...] = ()
    withheld: Verdict | None = None
    names_missing: bool = False


def judged(
    missing: Missing, verdict: Verdict, reason: str, *, upward: bool, names: tuple[str, str], cause: str = ""
) -> Judged:
    """Forbid a direction that the missing scores could undo, or, where few are missing, limit it.

    Scores that are missing because they would have been failures make a side look better than it is. Where the interval with
    all of them at their worst includes 0, or the metric has no bound on the side of a failure, no direction is claimed from the
    rest, unless the user declares the reason harmless or at most 5% of either side are missing. `upward` tells that the
    difference is above 0; `cause` is what all missing scores are, where that is one thing ("harness errors").
    """
    lost = [row for row in missing.rows if not _beyond_0(row, upward=upward)]
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


def checked_missing(missing: str | None) -> bool:
    """Return whether the user declares missing scores ignorable."""
    if missing not in (None, BOUNDED, IGNORABLE):
        raise InputError(
            f"missing is {missing!r}; it must be {BOUNDED} (what is missing could be anything) or {IGNORABLE} (it is missing for "
            "a reason that has nothing to do with the answers)"
        )
    return missing == IGNORABLE


def missing_account(
    pairs: Pairs,
    metric: Metric,
    clusters: tuple[str, ...],
    *,
    conf_level: float,
    method: str,
    strata: Strata | None = None,
    partitions: tuple[str, ...] = (),
    ignorable: bool = False,
    margin: float | None = None,
) -> Missing:
    """Count what is missing and repeat the headline analysis with every missing score put at either end.

    Where the metric has no bounds, the lowest and highest item scores seen stand for them. Items that neither side has at all
    do not exist here; one that a side lacks, or holds as an error or unscored, is missing for it. `strata` are those of all
    items, where levels of a factor are averaged over.
    """
    counted = Missing(
        n_both=int(pairs.paired.sum()),
        n_only_baseline=int(pairs.only_baseline.sum()),
        n_only_candidate=int(pairs.only_candidate.sum()),
        n_neither=int((~pairs.paired & ~pairs.only_baseline & ~pairs.only_candidate).sum()),
        only_baseline=item_labels(pairs, pairs.only_baseline),
        only_candidate=item_labels(pairs, pairs.only_candidate),
        share_baseline=_share(pairs.baseline),
        share_candidate=_share(pairs.candidate),
        ignorable=ignorable,
    )
    if not pairs.incomplete():
        return replace(counted, explanation=_complete_words(pairs))
    low, high = _ends(pairs, metric)
    expected = max(int(pairs.baseline.present.max()), int(pairs.candidate.present.max()), 1)
    n_trials = pairs.steps or int(min(_smallest(pairs.baseline.present), _smallest(pairs.candidate.present)))
    codes, fixed = (tuple(pairs.codes(name) for name in names) for names in (clusters, partitions))

    def assigned(*, baseline_high: bool, candidate_high: bool) -> PairedScores:
        return PairedScores(
            baseline=pairs.baseline.filled(high if baseline_high else low, expected),
            candidate=pairs.candidate.filled(high if candidate_high else low, expected),
            n_trials=n_trials,
            clusters=codes,
            fixed=fixed,
            strata=strata,
        )

    def interval(scores: PairedScores, level: float) -> Estimate:
        return headline_interval(scores, metric, conf_level=level, method=method)

    lacks = (counted.share_baseline > 0, counted.share_candidate > 0)
    counted = replace(
        counted,
        open_below=(metric.high is None and lacks[0]) or (metric.low is None and lacks[1]),
        open_above=(metric.low is None and lacks[0]) or (metric.high is None and lacks[1]),
    )
    good = metric.higher_is_better
    cases = {
        "every missing score at the lowest value": assigned(baseline_high=False, candidate_high=False),
        "every missing score at the highest value": assigned(baseline_high=True, candidate_high=True),
        "missing scores against the candidate": assigned(baseline_high=good, candidate_high=not good),
        "missing scores for the candidate": assigned(baseline_high=not good, candidate_high=good),
    }
    rows = tuple(method_row(interval(case, conf_level), "sensitivity", words) for words, case in cases.items())
    if margin is not None:
        narrower = [interval(case, 2 * conf_level - 1) for case in cases.values()]
        counted = replace(
            counted, least=_least(e.conf_low for e in narrower), most=_most(e.conf_high for e in narrower)
        )
    words = [_range_words(rows, metric)]
    if metric.low is None or metric.high is None:
        words.append("the metric has no bounds, so the lowest and the highest score seen stand for them")
    if ignorable:
        words.append("they are declared to be missing for a reason that has nothing to do with the answers")
    return replace(counted, rows=rows, explanation="; ".join(words))


def _least(ends: Iterable[float | None]) -> float | None:
    """Return the lowest of the limits; None where one of them is not known."""
    known = list(ends)
    return None if None in known else min(end for end in known if end is not None)


def _most(ends: Iterable[float | None]) -> float | None:
    lowest = _least(None if end is None else -end for end in ends)
    return None if lowest is None else -lowest


def _share(side: Side) -> float:
    """Return the share of a side's scores that is missing: the mean over the items of both sides."""
    lost = np.divide(side.present - side.n_scored, side.present, out=np.ones(len(side.present)), where=side.present > 0)
    return float(lost.mean())


def _ends(pairs: Pairs, metric: Metric) -> tuple[float, float]:
    """Return the bounds of the metric; where it has none, those of the item scores seen."""
    if metric.low is not None and metric.high is not None:
        return metric.low, metric.high
    seen = np.concatenate([pairs.baseline.means(), pairs.candidate.means()])
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    return low if metric.low is None else metric.low, high if metric.high is None else metric.high


def _complete_words(pairs: Pairs) -> str:
    short = sum(int((side.present < side.present.max(initial=0)).sum()) for side in (pairs.baseline, pairs.candidate))
    if not short:
        return "every item has a score on both sides, in every trial"
    return (
        f"every item has a score on both sides; {plural(short, 'item')} of one side or the other "
        f"{has_have(short)} fewer trials than the rest, and trials that no file holds are not filled in"
    )


def _smallest(present: Ints) -> int:
    seen = present[present > 0]
    return int(seen.min()) if len(seen) else 1


def fragile(missing: Missing, verdict: Verdict, *, margin: float | None) -> str | None:
    """Return a warning when a verdict of equivalence does not survive every assignment of the missing scores."""
    lost = [] if margin is None else [row for row in missing.rows if not _within(row, margin)]
    if verdict != "equivalent" or missing.ignorable or not lost:
        return None
    case = lost[0].note.partition(";")[0]
    return f"the verdict rests on scores that are missing: with {case}, the interval leaves the margin"


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
    bounded = metric.low is not None and metric.high is not None
    where = "whatever the missing scores are" if bounded else "with the missing scores at either end"
    return f"{where}, the difference on all items lies between {ends}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a verdict is made from; intervals are those of the headline method, adjusted for their family.

    `doubts` are the reasons for which no direction may be claimed even though the interval excludes 0; `no_equivalence`
    those for which the two may not be called equivalent. `smallest_p_of` names the test that `smallest_p` belongs to.
    """

    conf_low: float | None
    conf_high: float | None
    no_interval_reason: str | None
    conf_level: float
    smallest_p: float | None
    mde: float | None
    margin: float | None
    equivalence_low: float | None
    equivalence_high: float | None
    higher_is_better: bool
    doubts: tuple[str, ...]
    no_equivalence: tuple[str, ...]
    smallest_p_of: str
    scale: float
    unit: str
    noninferior: bool = False


def decide(evidence: Evidence) -> tuple[Verdict, str]:
    """Return the verdict and the reason for it, in words.

    The order is fixed: invalid, powerless, equivalent, better or worse, inconclusive.
    """
    if evidence.smallest_p is not None and evidence.smallest_p > 1 - evidence.conf_level:
        return _cannot_show(evidence)
    if evidence.conf_low is None or evidence.conf_high is None:
        return "invalid", evidence.no_interval_reason or "the data give no interval"
    if _underpowered(evidence):
        return "powerless", _power_words(evidence)
    narrower = _percent(2 * evidence.conf_level - 1)
    if _inside_margin(evidence):
        within = f"the {narrower} interval lies within ±{_margin_words(evidence)}"
        if not evidence.no_equivalence:
            return "equivalent", within
        return "inconclusive", f"{within}, but {'; '.join(evidence.no_equivalence)}"
    direction = _direction(evidence)
    if direction is None:
        return "inconclusive", f"the {_percent(evidence.conf_level)} interval includes 0"
    if evidence.doubts:
        return "inconclusive", f"the interval excludes 0, but {'; '.join(evidence.doubts)}"
    return direction, f"the {_percent(evidence.conf_level)} interval excludes 0"


def _cannot_show(evidence: Evidence) -> tuple[Verdict, str]:
    if evidence.conf_low is None and evidence.no_interval_reason:
        return "invalid", evidence.no_interval_reason
    return "powerless", (
        f"no outcome of this design could have shown a difference: the p of {evidence.smallest_p_of} cannot go below "
        f"{p_value(evidence.smallest_p)}"
    )


def _underpowered(evidence: Evidence) -> bool:
    if evidence.margin is None or _direction(evidence) is not None or _inside_margin(evidence) or evidence.noninferior:
        return False
    return evidence.mde is None or evidence.mde > evidence.margin


def _power_words(evidence: Evidence) -> str:
    power = (
        ""
        if evidence.mde is None
        else f": only {_shown(evidence, evidence.mde)} or more would be detected with 80% power"
    )
    return f"the interval includes 0, and a margin of {_margin_words(evidence)} is out of reach{power}"


def _inside_margin(evidence: Evidence) -> bool:
    low, high = evidence.equivalence_low, evidence.equivalence_high
    if evidence.margin is None or low is None or high is None:
        return False
    return -evidence.margin < low and high < evidence.margin


def _direction(evidence: Evidence) -> Verdict | None:
    if evidence.conf_low is not None and evidence.conf_low > 0:
        return "better" if evidence.higher_is_better else "worse"
    if evidence.conf_high is not None and evidence.conf_high < 0:
        return "worse" if evidence.higher_is_better else "better"
    return None


def _shown(evidence: Evidence, value: float | None) -> str:
    unit = f" {evidence.unit}" if evidence.unit else ""
    return f"{number(None if value is None else value * evidence.scale, 1)}{unit}"


def _margin_words(evidence: Evidence) -> str:
    unit = f" {evidence.unit}" if evidence.unit else ""
    return f"{declared(evidence.margin or 0.0, evidence.scale)}{unit}"


def _percent(level: float) -> str:
    # One that was given has few digits; one that an adjustment made is shown with four.
    given = declared(level, 100)
    return f"{given if len(given) <= 7 else f'{100 * level:.4g}'}%"


def at_margin(
    found: Difference, scores: PairedScores, metric: Metric, margin: float | None, conf_level: float
) -> AtMargin | None:
    """Test at the margin by the method that the headline interval comes from, so that neither contradicts the other.

    What forbids a verdict of equivalence (too few clusters that differ, too few items) forbids non-inferiority as well:
    both rest on an interval that may be too short.
    """
    if margin is None:
        return None
    tested = _tested(found, scores, metric, margin, conf_level)
    # A loss is a fall where higher is better, and a rise where lower is.
    good = metric.higher_is_better
    limit = tested.low_one_sided if good else tested.high_one_sided
    p = tested.noninferior_p if good else tested.nonsuperior_p
    inside = limit is not None and (limit > -margin if good else limit < margin)
    digits = max(2, digits_of_interval(found.headline.conf_low, found.headline.conf_high, metric.scale))
    reason = _reason(tested, metric, limit, inside=inside, withheld=found.no_equivalence, digits=digits)
    return AtMargin(
        margin=margin,
        noninferior=inside and not found.no_equivalence,
        reason=reason,
        method=tested.method,
        conf_level=conf_level,
        limit=limit,
        noninferior_p=p,
        equivalence_p=tested.tost_p,
    )


def withheld(account: AtMargin | None, why: str | None) -> AtMargin | None:
    """Take a claim of non-inferiority back, for a reason that the test does not know."""
    if account is None or why is None or not account.noninferior:
        return account
    return replace(account, noninferior=False, reason=f"{account.reason}, but {why}")


def missing_beyond(missing: Missing, metric: Metric, margin: float | None, *, loss: bool = True) -> str | None:
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


def _tested(found: Difference, scores: PairedScores, metric: Metric, margin: float, conf_level: float) -> MarginTest:
    headline = found.headline
    if found.table is not None and headline.df is None:
        counts = PairedCounts.from_scores(scores.baseline, scores.candidate)
        return tango_margin_test(counts, margin=margin, conf_level=conf_level)
    if found.without_runs is not None:
        # A mixture is no single t: its law at the level of the interval that is held to the margin.
        headline = with_runs(replace(found.without_runs, conf_level=2 * conf_level - 1), scores.runs)
    return t_margin_test(headline, margin=margin, conf_level=conf_level, bound=metric.span)


def _reason(
    tested: MarginTest, metric: Metric, limit: float | None, *, inside: bool, withheld: tuple[str, ...], digits: int
) -> str:
    if limit is None:
        return f"no test at the margin: {tested.reason or 'there is no interval'}"
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    end = "lower" if metric.higher_is_better else "upper"
    level = f"{100 * tested.conf_level:g}%"
    where = (
        f"the one-sided {level} {end} limit of the difference is {scaled(limit, metric.scale, digits, sign=True)}{unit}"
    )
    shown = f"{declared(tested.margin, metric.scale)}{unit}"
    if not inside:
        return f"{where}, which leaves a loss beyond {shown} possible"
    if withheld:
        return f"{where}, which excludes a loss of {shown}, but {'; '.join(withheld)}"
    return f"{where}, which excludes a loss of {shown}"


FailOn = Literal["worse", "not-noninferior", "inconclusive"]
RULES: tuple[str, ...] = get_args(FailOn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Whether a comparison passes a rule, and why.

    `passed` is None where the data cannot answer: that is neither a pass nor a failure.
    """

    rule: str
    passed: bool | None
    reason: str

    @property
    def exit_status(self) -> int:
        """Return 0 where the gate passed, 1 where it failed, 3 where the data cannot answer."""
        return 3 if self.passed is None else 0 if self.passed else 1


def gate(result: Comparison, *fail_on: str) -> Gate:
    """Apply one or several rules to a comparison; it passes if it passes every one.

    No gate passes on a powerless comparison: what has to be shown is not, and that no loss is shown says nothing.

    Parameters
    ----------
    fail_on
        "worse" fails when the candidate is shown to be worse, on all items or in a level of `by` (adjusted for all levels).
        "not-noninferior" fails unless the candidate is shown to be at most the declared margin worse.
        "inconclusive" fails unless the candidate is shown to be better, or equivalent by the declared margin.

    Raises
    ------
    InputError
        If there is no such rule, or the rule needs a margin and none was declared.

    Examples
    --------
    >>> from evalstats import compare, datasets
    >>> gate(compare(datasets.tenacious_held_out(), "baseline", "trained"), "worse").passed
    True
    >>> gate(compare(datasets.tenacious_held_out(), "baseline", "trained"), "inconclusive").passed
    False
    """
    for rule in fail_on:
        check_rule(rule, has_margin=result.margin is not None)
    named = " and ".join(fail_on)
    if result.verdict == "invalid":
        return Gate(rule=named, passed=None, reason=result.verdict_reason)
    if result.direction == "asked":
        reason = f"which way is better is not known: {open_direction(result.metric)}; "
        return Gate(rule=named, passed=None, reason=f"{reason}{written(HOW_TO_DIRECT)}")
    outcomes = [_RULES[rule](result) for rule in fail_on]
    failed = [reason for passed, reason in outcomes if not passed]
    if not failed and result.verdict == "powerless":
        # That a loss was not shown says nothing where none could have been.
        return Gate(rule=named, passed=None, reason=result.verdict_reason)
    reasons = failed or [reason for _, reason in outcomes]
    return Gate(rule=named, passed=not failed, reason="; ".join(dict.fromkeys(reasons)))


def check_rule(fail_on: str, *, has_margin: bool) -> None:
    """Refuse an unknown rule, and one that needs a margin where none is declared."""
    if fail_on not in RULES:
        raise InputError(f"there is no rule {fail_on!r} to fail on; there are {', '.join(RULES)}")
    if fail_on == "not-noninferior" and not has_margin:
        raise InputError("to be no worse by more than a margin needs a margin, declared before looking, such as 2pp")


def _worse(result: Comparison) -> tuple[bool, str]:
    if result.verdict == "worse":
        return False, f"{result.candidate.name} is worse: {result.verdict_reason}"
    if result.missing.withheld == "worse":
        return False, f"{result.candidate.name} is worse on the items that both have: {result.verdict_reason}"
    levels = _levels_worse(result)
    if levels:
        return False, f"{result.candidate.name} is worse in {result.by}: {', '.join(levels)} (adjusted for all levels)"
    these = result.open_for_others
    if these is not None and these.verdict == "worse":
        others = f"other {plural_of(these.factor)}"
        return True, f"it is worse on these {plural(result.n_items, 'item')}, and not shown to be on {others}"
    if result.verdict in ("better", "equivalent"):
        return True, f"the verdict is {result.verdict}"
    return True, f"not shown to be worse; the verdict is {result.verdict}, which is no proof of being as good"


def _levels_worse(result: Comparison) -> list[str]:
    return [group.level for group in result.groups if "worse" in (group.verdict, group.withheld)]


def _not_noninferior(result: Comparison) -> tuple[bool, str]:
    account = result.at_margin
    if account is None:
        return False, "there is no test at the margin"
    if account.noninferior or account.limit is None:
        return account.noninferior, account.reason
    unit = f" {result.unit}" if result.unit else ""
    digits = digits_of_interval(result.conf_low, result.conf_high, result.scale)
    margin, limit = declared(account.margin, result.scale), scaled(account.limit, result.scale, digits)
    inside = account.limit > -account.margin if result.higher_is_better else account.limit < account.margin
    end = "lower" if result.higher_is_better else "upper"
    why = f": {account.reason}" if inside else f" ({end} limit {limit}{unit})"
    return False, f"non-inferiority within {margin}{unit} is not established{why}"


def _inconclusive(result: Comparison) -> tuple[bool, str]:
    passed = result.verdict in ("better", "equivalent")
    return passed, f"the verdict is {result.verdict}: {result.verdict_reason}"


_RULES: Mapping[str, Callable[[Comparison], tuple[bool, str]]] = {
    "worse": _worse,
    "not-noninferior": _not_noninferior,
    "inconclusive": _inconclusive,
}
