"""The verdict on a difference, and how the candidate stands at a declared margin."""

from dataclasses import dataclass, replace

from evalstats.analysis.compare.design import PairedDesign
from evalstats.analysis.compare.difference import Difference, PairedScores
from evalstats.analysis.compare.result import AtMargin, Verdict
from evalstats.document.numbers import declared, digits_of_interval, number, p_value, scaled
from evalstats.stats.paired.binary import PairedCounts
from evalstats.stats.paired.effect_sizes import t_margin_test, tango_margin_test
from evalstats.stats.runs import with_runs
from evalstats.table.metric import MetricFacts


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


def evidence_of(
    design: PairedDesign,
    found: Difference,
    low: float | None,
    high: float | None,
    *,
    noninferior: bool = False,
) -> Evidence:
    """Gather what the verdict on a difference is made from; `low` and `high` are the interval that decides equivalence."""
    headline, metric = found.headline, design.metric
    if headline.n_clusters:
        test = "the cluster sign-flip, which must agree,"
    else:
        test = "the sign-flip on these items" if headline.method.startswith("paired t") else "the test"
    return Evidence(
        conf_low=headline.conf_low,
        conf_high=headline.conf_high,
        no_interval_reason=headline.reason,
        conf_level=design.conf_level,
        smallest_p=found.smallest_p,
        mde=found.mde,
        margin=design.margin,
        equivalence_low=low,
        equivalence_high=high,
        noninferior=noninferior,
        higher_is_better=metric.higher_is_better,
        doubts=(*filter(None, [design.open_direction]), *found.doubts),
        no_equivalence=found.no_equivalence,
        smallest_p_of=test,
        scale=metric.scale,
        unit=metric.shown_unit,
    )


def verdict_of(design: PairedDesign, evidence: Evidence) -> tuple[Verdict, str]:
    """Return the verdict; a factor that nobody declared may leave it open, and says nothing of the design."""
    if design.widened_by is None and design.too_few is None:
        return decide(evidence)
    verdict, reason = decide(replace(evidence, smallest_p=None))
    if design.too_few is not None and verdict == "inconclusive":
        return verdict, design.too_few.why()
    return ("inconclusive", reason) if verdict == "invalid" else (verdict, reason)


def withheld(account: AtMargin | None, why: str | None) -> AtMargin | None:
    """Take a claim of non-inferiority back, for a reason that the test does not know."""
    if account is None or why is None or not account.noninferior:
        return account
    return replace(account, noninferior=False, reason=f"{account.reason}, but {why}")


def decide(evidence: Evidence) -> tuple[Verdict, str]:
    """Return the verdict and the reason for it, in words.

    The order is fixed: invalid, powerless, equivalent, better or worse, inconclusive.
    """
    low, high, margin = evidence.conf_low, evidence.conf_high, evidence.margin
    unit = f" {evidence.unit}" if evidence.unit else ""
    if evidence.smallest_p is not None and evidence.smallest_p > 1 - evidence.conf_level:
        if low is None and evidence.no_interval_reason:
            return "invalid", evidence.no_interval_reason
        return "powerless", (
            f"no outcome of this design could have shown a difference: the p of {evidence.smallest_p_of} cannot go below "
            f"{p_value(evidence.smallest_p)}"
        )
    if low is None or high is None:
        return "invalid", evidence.no_interval_reason or "the data give no interval"
    upward: Verdict = "better" if evidence.higher_is_better else "worse"
    downward: Verdict = "worse" if evidence.higher_is_better else "better"
    direction = upward if low > 0 else downward if high < 0 else None
    if margin is not None:
        ends, within = (
            (evidence.equivalence_low, evidence.equivalence_high),
            f"{declared(margin, evidence.scale)}{unit}",
        )
        inside = ends[0] is not None and ends[1] is not None and -margin < ends[0] and ends[1] < margin
        underpowered = evidence.mde is None or evidence.mde > margin
        if underpowered and direction is None and not inside and not evidence.noninferior:
            found = "" if evidence.mde is None else number(evidence.mde * evidence.scale, 1)
            power = f": only {found}{unit} or more would be detected with 80% power" if found else ""
            return "powerless", f"the interval includes 0, and a margin of {within} is out of reach{power}"
        if inside:
            why = f"the {_percent(2 * evidence.conf_level - 1)} interval lies within ±{within}"
            forbid = "; ".join(evidence.no_equivalence)
            return ("inconclusive", f"{why}, but {forbid}") if forbid else ("equivalent", why)
    level = _percent(evidence.conf_level)
    if direction is None:
        return "inconclusive", f"the {level} interval includes 0"
    if evidence.doubts:
        return "inconclusive", f"the interval excludes 0, but {'; '.join(evidence.doubts)}"
    return direction, f"the {level} interval excludes 0"


def _percent(level: float) -> str:
    # One that was given has few digits; one that an adjustment made is shown with four.
    given = declared(level, 100)
    return f"{given if len(given) <= 7 else f'{100 * level:.4g}'}%"


def at_margin(
    found: Difference, scores: PairedScores, metric: MetricFacts, margin: float | None, conf_level: float
) -> AtMargin | None:
    """Test at the margin by the method that the headline interval comes from, so that neither contradicts the other.

    What forbids a verdict of equivalence (too few clusters that differ, too few items) forbids non-inferiority as well:
    both rest on an interval that may be too short.
    """
    if margin is None:
        return None
    headline = found.headline
    if found.table is not None and headline.df is None:
        counts = PairedCounts.from_scores(scores.baseline, scores.candidate)
        tested = tango_margin_test(counts, margin=margin, conf_level=conf_level)
    else:
        if found.without_runs is not None:
            # A mixture is no single t: its law at the level of the interval that is held to the margin.
            headline = with_runs(replace(found.without_runs, conf_level=2 * conf_level - 1), scores.runs)
        tested = t_margin_test(headline, margin=margin, conf_level=conf_level, bound=metric.span)
    # A loss is a fall where higher is better, and a rise where lower is.
    good = metric.higher_is_better
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
        conf_level=conf_level,
        limit=limit,
        noninferior_p=tested.noninferior_p if good else tested.nonsuperior_p,
        equivalence_p=tested.tost_p,
    )
