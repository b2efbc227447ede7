"""Assertions for other people's test suites: fail when a new run is worse than the old one."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from warnings import catch_warnings, simplefilter

from evalstats.analysis.compare.gate import Gate, gate
from evalstats.analysis.compare.result import Comparison, Comparisons
from evalstats.errors import CannotAnswerError, EvalStatsWarning, InputError
from evalstats.grammar import quoted_list
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.table.systems import refuse_guess

__all__ = ["assert_not_worse"]

_PathLike = str | Path


def assert_not_worse(
    data: EvalData | _PathLike | Sequence[_PathLike],
    baseline: str | None = None,
    candidate: str | None = None,
    *,
    margin: float | str | None = None,
    fail_on: str | None = None,
    **options: Any,
) -> Comparison:
    """Fail the test where the candidate is worse than the baseline.

    Where the differences go by a factor that nobody declared (a chapter, a user), the clustered interval decides if it is the
    wider; cluster="none" says that the groups are all there are.

    Parameters
    ----------
    data
        What `evalstats.read` or `from_frame` gave; or paths of result files, folders or a store.
    baseline, candidate
        A run, system or model of the data; without names, the first of two paths is the baseline. Two paths may stand one
        after the other, as on the shell. Of other data names may be left out where they say which is the baseline.
    margin
        The largest loss that does not matter, such as "2pp". With a margin the candidate must be shown to lose no more than
        that (non-inferiority); without one it must not be shown to lose.
    fail_on
        Another rule of `evalstats.analysis.compare.gate.gate`: "worse", "worse-overall", "not-noninferior" or "inconclusive".
    **options
        Further options of `evalstats.compare`: metric (one), by, cluster, conf_level, ...

    Returns
    -------
    Comparison
        The result, for further assertions.

    Raises
    ------
    AssertionError
        If the rule fails; its message is the summary of the comparison.
    CannotAnswerError
        If the data cannot answer: a test that could not run must not pass.
    InputError
        If a name, column or option is unknown.

    Examples
    --------
    >>> from evalstats import datasets
    >>> assert_not_worse(datasets.tenacious_held_out(), "baseline", "trained", cluster="none").verdict
    'better'
    """
    __tracebackhide__ = True
    return passed(*judged(data, baseline, candidate, margin=margin, fail_on=fail_on, **options))


def judged(
    data: EvalData | _PathLike | Sequence[_PathLike],
    baseline: str | None,
    candidate: str | None,
    *,
    margin: float | str | None = None,
    fail_on: str | None = None,
    **options: Any,
) -> tuple[Comparison, Gate]:
    """Return the comparison that a test asserts, and whether it passes."""
    with catch_warnings():  # how a file is read is no matter of a test that asserts what it holds
        simplefilter("ignore", EvalStatsWarning)
        asked = import_module("evalstats").compare(data, baseline, candidate, margin=margin, **options)
    result = cast("Comparison | Comparisons", asked)
    if isinstance(result, Comparisons):
        raise InputError(
            f"the comparison is by {quoted_list(result.metrics)}, and a test asserts one metric; write an assertion for each "
            "metric"
        )
    if baseline is candidate is None and not (isinstance(data, list | tuple) and len(data) == 2):
        plan: Plan | None = options.get("plan")
        refuse_guess((result.baseline.name, result.candidate.name), plan.baseline if plan else None)
    return result, gate(result, fail_on or ("worse" if margin is None else "not-noninferior"))


def passed(result: Comparison, found: Gate) -> Comparison:
    """Return a comparison that passes its gate; the error says why one does not."""
    __tracebackhide__ = True  # pytest shows the line of the test
    if found.passed is None:
        raise CannotAnswerError(found.reason)
    if not found.passed:
        raise AssertionError(f"{found.reason}\n{result.summary()}")
    return result
