"""From an interval to a verdict, in a fixed order. Never from a point estimate."""

from dataclasses import dataclass

from evalstats.analysis.results import Verdict
from evalstats.document.numbers import number, p_value


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
