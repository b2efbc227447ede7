"""`--fail-on` and `--junit`: a comparison as a gate in CI."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats.document.model import Note
from evalstats.errors import EvalStatsError

if TYPE_CHECKING:
    from evalstats.analysis.compare.gate import Gate
    from evalstats.analysis.compare.result import Comparison
    from evalstats.cli.plan import Declared


def rules_in_force(fail_on: Sequence[str] | None, declared: "Declared | None") -> tuple[str, ...]:
    """Return the rules that were named, else those that the plan declares."""
    if fail_on:
        return tuple(fail_on)
    return declared.plan.fail_on if declared else ()


def check_rules(rules: Sequence[str], margin: str | None, declared: "Declared | None") -> None:
    """Refuse a rule that cannot be applied before anything is read.

    Raises
    ------
    InputError
        If there is no such rule, or it needs a margin and none is given or declared.
    """
    if rules:
        from evalstats.analysis.compare.gate import check_rule

        has_margin = margin is not None or bool(declared and declared.plan.margins)
        for rule in rules:
            check_rule(rule, has_margin=has_margin)


def apply_gate(result: "Comparison", rules: Sequence[str], junit: Path | None) -> "Gate | None":
    """Apply the rules, if there are any, and write the JUnit file, if one is wanted."""
    from evalstats.analysis.compare.gate import gate

    found = gate(result, *rules) if rules else None
    if junit is not None:
        from evalstats.cli.junit import junit_xml
        from evalstats.cli.output import write_atomically

        write_atomically(junit, junit_xml(result, found) + "\n")
    return found


@contextmanager
def told_in_junit(junit: Path | None) -> Generator[None]:
    """Write the JUnit file also where there is no result, so that no older one is taken for it."""
    try:
        yield
    except EvalStatsError as error:
        if junit is not None:
            from evalstats.cli.junit import junit_error
            from evalstats.cli.output import write_atomically

            write_atomically(junit, junit_error(str(error)) + "\n")
        raise


def with_gate(result: "Comparison", found: "Gate | None") -> "Comparison":
    """Return the comparison with a caution that it does not pass, so that every form of it says so."""
    if found is None or found.passed:
        return result
    return replace(result, notes=(Note(kind="gate", text=f"{_label(found)}: {found.reason}"), *result.notes))


def gate_line(found: "Gate", output: Path | None) -> str:
    """Return what stderr says of a gate that did not pass, wherever the result goes."""
    return f"{_label(found)}: {found.reason}.{'' if output is None else f' Written: {output}'}"


def _label(found: "Gate") -> str:
    return "gate failed" if found.passed is False else "gate: no answer"


def gate_values(found: "Gate | None") -> Mapping[str, Any]:
    """Return the gate's outcome for JSON."""
    return {} if found is None else {"gate": {**asdict(found), "exit_status": found.exit_status}}
