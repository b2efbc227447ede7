"""The gate that a build passes or fails by a comparison; one by several metrics passes where every metric does."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, get_args

from evalstats.analysis.compare.result import Comparison, Comparisons, GroupRow
from evalstats.analysis.design.metric import HOW_TO_DIRECT, open_direction
from evalstats.document.numbers import declared, digits_of_interval, scaled
from evalstats.errors import InputError, written
from evalstats.grammar import plural, plural_of
from evalstats.record import record

FailOn = Literal["worse", "worse-overall", "not-noninferior", "inconclusive"]


RULES: tuple[str, ...] = get_args(FailOn)


@record
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
        "worse" fails when the candidate is shown to be worse, on all items (of a suite: on average) or in a level of `by` (of a
        suite: on a task), adjusted for all levels. "worse-overall" does not look at levels.
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
        check_rule(rule, has_margin=result.margin is not None, metric=result.metric)
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


def check_rule(fail_on: str, *, has_margin: bool, metric: str = "") -> None:
    """Refuse an unknown rule, and one that needs a margin where none is declared."""
    if fail_on not in RULES:
        raise InputError(f"there is no rule {fail_on!r} to fail on; there are {', '.join(RULES)}")
    if fail_on == "not-noninferior" and not has_margin:
        of = f" for {metric!r}" if metric else ""
        raise InputError(
            f"to be no worse by more than a margin needs a margin{of}, declared before looking, such as 2pp"
        )


def _worse(result: Comparison) -> tuple[bool, str]:
    passed, reason = _worse_overall(result)
    levels = [group.level for group in result.groups if is_worse(group)]
    if passed and levels:
        return False, f"{result.candidate.name} is worse in {result.by}: {', '.join(levels)} (adjusted for all levels)"
    return passed, reason


def is_worse(group: GroupRow) -> bool:
    """Whether the candidate is worse in a level, also where missing scores forbid to say so."""
    return "worse" in (group.verdict, group.withheld)


def _worse_overall(result: Comparison) -> tuple[bool, str]:
    if result.verdict == "worse":
        return False, f"{result.candidate.name} is worse: {result.verdict_reason}"
    if result.missing.withheld == "worse":
        return False, f"{result.candidate.name} is worse on the items that both have: {result.verdict_reason}"
    these = result.open_for_others
    if these is not None and these.verdict == "worse":
        others = f"other {plural_of(these.factor)}"
        return True, f"it is worse on these {plural(result.n_items, 'item')}, and not shown to be on {others}"
    if result.verdict in ("better", "equivalent"):
        return True, f"the verdict is {result.verdict}"
    return True, f"not shown to be worse; the verdict is {result.verdict}, which is no proof of being as good"


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
    "worse-overall": _worse_overall,
    "not-noninferior": _not_noninferior,
    "inconclusive": _inconclusive,
}


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
