"""Does a comparison pass? The rule that CI is gated by, in one place for the command line and for test suites."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from evalstats.analysis.compare.result import DECIDED, Comparison, OtherLevels
from evalstats.analysis.scales import open_direction
from evalstats.document.numbers import many, scaled
from evalstats.errors import InputError

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

    Parameters
    ----------
    fail_on
        No rule passes on an answer that holds for these items alone, because the differences run in groups of a factor that
        nobody declared: declare it as the cluster, or rule it out with cluster "none".
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
    False
    >>> gate(compare(datasets.tenacious_held_out(), "baseline", "trained", cluster="none"), "worse").passed
    True
    """
    for rule in fail_on:
        check_rule(rule, has_margin=result.margin is not None)
    named = " and ".join(fail_on)
    if result.verdict == "invalid":
        return Gate(rule=named, passed=None, reason=f"the data cannot answer: {result.verdict_reason}")
    if result.direction == "asked":
        reason = f"which way is better is not known: {open_direction(result.metric)}; on the shell --lower-is-better"
        return Gate(rule=named, passed=None, reason=f"{reason} or --higher-is-better")
    outcomes = [_RULES[rule](result) for rule in fail_on]
    failed = [reason for passed, reason in outcomes if not passed]
    reasons = failed or [reason for _, reason in outcomes]
    return Gate(rule=named, passed=not failed, reason="; ".join(dict.fromkeys(reasons)))


def check_rule(fail_on: str, *, has_margin: bool) -> None:
    """Refuse an unknown rule, and one that needs a margin where none is declared.

    Raises
    ------
    InputError
        Saying which rules there are, or how a margin is given.
    """
    if fail_on not in RULES:
        message = f"there is no rule {fail_on!r} to fail on; there are {', '.join(RULES)}"
        raise InputError(message)
    if fail_on == "not-noninferior" and not has_margin:
        message = "to be no worse by more than a margin needs a margin, declared before looking, such as 2pp"
        raise InputError(message)


def _undeclared(others: Sequence[OtherLevels]) -> str:
    """Say which factor has to be declared, or ruled out, before the answer can pass."""
    main = max(others, key=lambda row: (row.n_levels, row.factor))
    return (
        f"items of one {main.factor} behave alike, and the answer does not hold for other {many(main.factor)} than these "
        f"{main.n_levels}; declare it with --cluster {main.factor}, or rule it out with --cluster none"
    )


def _worse(result: Comparison) -> tuple[bool, str]:
    if result.verdict == "worse":
        return False, f"{result.candidate.name} is worse: {result.verdict_reason}"
    if result.missing.withheld == "worse":
        return False, f"{result.candidate.name} is worse on the items that both have: {result.verdict_reason}"
    lost = [row for row in result.other_levels if not row.holds]
    if lost and result.verdict in DECIDED:
        return False, _undeclared(lost)
    levels = [group.level for group in result.groups if "worse" in (group.verdict, group.withheld)]
    if levels:
        return False, f"{result.candidate.name} is worse in {result.by}: {', '.join(levels)} (adjusted for all levels)"
    if result.verdict in ("better", "equivalent"):
        return True, f"the verdict is {result.verdict}"
    return True, f"not shown to be worse; the verdict is {result.verdict}, which is no proof of being as good"


def _not_noninferior(result: Comparison) -> tuple[bool, str]:
    account = result.at_margin
    if account is None:
        return False, "there is no test at the margin"
    lost = [row for row in result.other_levels if not row.noninferior]
    if lost and account.noninferior:
        return False, _undeclared(lost)
    if account.noninferior or account.limit is None:
        return account.noninferior, account.reason
    unit = f" {result.unit}" if result.unit else ""
    margin, limit = (scaled(value, result.scale, 1) for value in (account.margin, account.limit))
    inside = account.limit > -account.margin if result.higher_is_better else account.limit < account.margin
    end = "lower" if result.higher_is_better else "upper"
    why = f": {account.reason}" if inside else f" ({end} limit {limit}{unit})"
    return False, f"non-inferiority within {margin}{unit} is not established{why}"


def _inconclusive(result: Comparison) -> tuple[bool, str]:
    passed = result.verdict in ("better", "equivalent")
    lost = [row for row in result.other_levels if not row.holds]
    if lost and passed:
        return False, _undeclared(lost)
    return passed, f"the verdict is {result.verdict}: {result.verdict_reason}"


_RULES: Mapping[str, Callable[[Comparison], tuple[bool, str]]] = {
    "worse": _worse,
    "not-noninferior": _not_noninferior,
    "inconclusive": _inconclusive,
}
