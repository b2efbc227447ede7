"""The gate of a comparison by several metrics: it passes where every metric does."""

from dataclasses import replace

from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.compare.verdict import Gate, gate
from evalstats.analysis.comparisons.result import Comparisons
from evalstats.analysis.design.metric import open_direction


def gate_of(result: Comparison | Comparisons, *fail_on: str) -> Gate:
    """Apply one or several rules to a comparison, or to the comparison by each metric.

    Each metric is judged by its own interval, adjusted for all. One that fails is a failure, whatever the others say; where
    none fails and the data cannot answer for one of them, there is no answer.

    Raises
    ------
    InputError
        If there is no such rule, or the rule needs a margin and one of the metrics has none.
    """
    if isinstance(result, Comparison):
        return gate(result, *fail_on)
    found = each_gate(result, *fail_on)
    named = " and ".join(fail_on)
    for passed in (False, None):
        reasons = [each.reason for each in found if each.passed is passed]
        if reasons:
            return Gate(rule=named, passed=passed, reason="; ".join(reasons))
    return Gate(rule=named, passed=True, reason="; ".join(each.reason for each in found))


def each_gate(result: Comparisons, *fail_on: str) -> list[Gate]:
    """Apply rules to the comparison by each metric; the reasons name it."""
    return [_of_metric(row, fail_on) for row in result.rows]


def _of_metric(row: Comparison, fail_on: tuple[str, ...]) -> Gate:
    if row.verdict != "invalid" and row.direction == "asked":
        # The options that declare a direction are of one metric.
        reason = f"which way is better is not known: {open_direction(row.metric)}; declare it in evalstats.toml"
        return Gate(rule=" and ".join(fail_on), passed=None, reason=reason)
    found = gate(row, *fail_on)
    return replace(found, reason=f"{row.metric}: {found.reason}")
