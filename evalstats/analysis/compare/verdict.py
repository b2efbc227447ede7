"""From an interval to a verdict, in a fixed order, and how the candidate stands at a declared margin."""

from dataclasses import dataclass, replace

from evalstats.analysis.arms import Metric
from evalstats.analysis.compare.difference import Difference, PairedScores
from evalstats.analysis.compare.result import AtMargin, Missing, Verdict
from evalstats.document.numbers import number, p_value, scaled
from evalstats.stats.paired.binary import PairedCounts
from evalstats.stats.paired.effect_sizes import MarginTest, t_margin_test, tango_margin_test


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
        within = f"the {narrower} interval lies within ±{_shown(evidence, evidence.margin)}"
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
    if evidence.margin is None or _direction(evidence) is not None or _inside_margin(evidence):
        return False
    return evidence.mde is None or evidence.mde > evidence.margin


def _power_words(evidence: Evidence) -> str:
    found = "no difference" if evidence.mde is None else f"only {_shown(evidence, evidence.mde)}"
    return (
        f"the interval includes 0, and a difference as large as the margin of {_shown(evidence, evidence.margin)} would be "
        f"missed: {found} would be found with 80% power"
    )


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


def _percent(level: float) -> str:
    return f"{100 * level:.4g}%"


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
    reason = _reason(tested, metric, limit, inside=inside, withheld=found.no_equivalence)
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


def missing_beyond(missing: Missing, metric: Metric, margin: float | None) -> str | None:
    """Say that the missing scores alone could make a loss beyond the margin, where they could."""
    estimates = [row.estimate for row in missing.rows if row.estimate is not None]
    if margin is None or not estimates or missing.ignorable:
        return None
    worst = min(estimates) if metric.higher_is_better else max(estimates)
    if (worst if metric.higher_is_better else -worst) > -margin:
        return None
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    shown = f"{scaled(worst, metric.scale, sign=True)}{unit}"
    return (
        f"with the missing scores against the candidate the difference on all items would be {shown}, beyond the margin"
    )


def _tested(found: Difference, scores: PairedScores, metric: Metric, margin: float, conf_level: float) -> MarginTest:
    headline = found.headline
    if found.table is not None and headline.df is None:
        counts = PairedCounts.from_scores(scores.baseline, scores.candidate)
        return tango_margin_test(counts, margin=margin, conf_level=conf_level)
    return t_margin_test(headline, margin=margin, conf_level=conf_level, bound=metric.span)


def _reason(tested: MarginTest, metric: Metric, limit: float | None, *, inside: bool, withheld: tuple[str, ...]) -> str:
    if limit is None:
        return f"no test at the margin: {tested.reason or 'there is no interval'}"
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    end = "lower" if metric.higher_is_better else "upper"
    level = f"{100 * tested.conf_level:g}%"
    where = f"the one-sided {level} {end} limit of the difference is {scaled(limit, metric.scale, sign=True)}{unit}"
    bound = -tested.margin if metric.higher_is_better else tested.margin
    shown = f"{scaled(bound, metric.scale, sign=True)}{unit}"
    if not inside:
        return f"{where}, which leaves a loss beyond {shown} possible"
    if withheld:
        return f"{where}, which excludes a loss of {shown}, but {'; '.join(withheld)}"
    return f"{where}, which excludes a loss of {shown}"
