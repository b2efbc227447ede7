"""`--fail-on` and `--junit`: an answer as a gate in CI."""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from evalstats.document.escape import inert
from evalstats.document.model import Note
from evalstats.errors import EvalStatsError, InputError, Option
from evalstats.options import Flag
from evalstats.questions import Question
from evalstats.record import record

if TYPE_CHECKING:
    from evalstats.analysis.compare.gate import Gate
    from evalstats.analysis.compare.result import Comparison, Comparisons
    from evalstats.cli.load import Declared


# The status of a command whose data cannot answer the question.
CANNOT_ANSWER = 3


@record
class FailOn:
    """What makes a command fail though it answered; its help is that of the question."""

    fail_on: Annotated[
        Sequence[str], Flag("Exit with status 1 if the rule fails.", metavar="RULE", section="Gate")
    ] = ()

    def applied(self, question: Question, declared: "Declared | None", given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the rules that were named, else those that the plan declares, before anything is read.

        InputError if there is no such rule, or it needs an option that is not given, or a margin and none is declared.
        """
        for rule in self.fail_on:
            if rule not in question.rules:
                raise InputError(f"there is no rule {rule!r} to fail on; there are {', '.join(question.rules)}")
            if question.gated_by and given.get(question.gated_by) is None:
                raise InputError(f"to fail on {rule!r} needs {Option(question.gated_by, blank='NUMBER')}")
        rules = tuple(self.fail_on) or _planned(question, declared)
        if _OF_MARGIN in rules:
            from evalstats.analysis.compare.gate import check_rule

            check_rule(
                _OF_MARGIN, has_margin=given.get("margin") is not None or bool(declared and declared.plan.margins)
            )
        return rules

    def departing(self, result: Any, question: Question, declared: "Declared | None") -> Any:
        """Return the result, which first says where the rules that were named are not those of the plan."""
        from evalstats.schema.plan import Plan, departures

        texts = departures(Plan(fail_on=_planned(question, declared)), fail_on=self.fail_on or None)
        notes = tuple(Note(kind="plan", text=text) for text in texts)
        return replace(result, notes=(*notes, *result.notes)) if notes else result

    @property
    def output(self) -> Path | None:
        """The JUnit file that is wanted."""
        return None


def _planned(question: Question, declared: "Declared | None") -> tuple[str, ...]:
    """Return the rules that the plan declares, of those that the question has."""
    return tuple(rule for rule in (declared.plan.fail_on if declared else ()) if rule in question.rules)


@record
class FailOnJUnit(FailOn):
    """The same, and written for a build server."""

    junit: Annotated[Path | None, Flag("Also write the outcome as JUnit XML.", metavar="FILE", section="Gate")] = None

    @property
    def output(self) -> Path | None:
        """The JUnit file that is wanted."""
        return self.junit


_OF_MARGIN = "not-noninferior"
# Characters that XML 1.0 cannot hold, even escaped.
_FORBIDDEN = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def junit_xml(result: "Comparison | Comparisons", gate: "Gate | None") -> str:
    """Return one test case for the comparison by each metric, and one for every level of `by`, such as the tasks of a suite.

    Each case fails by what it shows itself. Without a gate no case fails; a comparison that the data cannot answer is an error
    either way.
    """
    from evalstats.analysis.compare.result import Comparisons

    several = isinstance(result, Comparisons)
    rows = result.rows if several else (result,)
    benchmarks = ", ".join(dict.fromkeys(row.benchmark for row in rows))
    suite = Element("testsuite", name=_clean(f"evalstats compare: {benchmarks}"))
    for row in rows:
        _add_cases(suite, row, gate and gate.rule.split(" and "), f" [{row.metric}]" if several else "")
    for kind in ("failure", "error", "skipped"):
        suite.set(
            {"failure": "failures", "error": "errors", "skipped": "skipped"}[kind],
            str(len(suite.findall(f".//{kind}"))),
        )
    suite.set("tests", str(len(suite.findall("testcase"))))
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode")


def _add_cases(suite: Element, result: "Comparison", rules: Sequence[str] | None, which: str) -> None:
    from evalstats.analysis.compare.gate import gate_of, is_worse
    from evalstats.analysis.compare.result import Comparisons

    # What levels show is for their own cases.
    overall = Comparisons(rows=(replace(result, groups=()),)) if which else replace(result, groups=())
    gate = gate_of(overall, *rules) if rules else None
    title = f"{result.candidate.name} against {result.baseline.name}{which}"
    case = _case(suite, title, result)
    if result.verdict == "invalid":
        _add(case, "error", result.verdict, result.verdict_reason)
    elif gate is not None and gate.passed is None:
        _add(case, "error", gate.rule, gate.reason)
    elif gate is not None and not gate.passed:
        _add(case, "failure", gate.rule, gate.reason)
    told = "" if gate is None else f"\n{gate_line(gate, None)}"
    SubElement(case, "system-out").text = _clean(result.summary() + told)
    for group in result.groups:
        level = _case(suite, f"{title} [{result.by}={group.level}]", result)
        if group.verdict == "invalid":
            SubElement(level, "skipped", message=_clean(group.verdict_reason))
        elif is_worse(group) and "worse" in (rules or ()):
            _add(level, "failure", "worse", group.verdict_reason)
        SubElement(level, "system-out").text = _clean(f"{group.verdict}: {group.verdict_reason}")


def junit_error(message: str) -> str:
    """Return one test case in error, for a comparison that came to no result."""
    suites = Element("testsuites")
    suite = SubElement(suites, "testsuite", name="evalstats compare", tests="1", failures="0", errors="1", skipped="0")
    _add(SubElement(suite, "testcase", name="compare", classname="evalstats"), "error", "no answer", message)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode")


def _case(suite: Element, name: str, result: "Comparison") -> Element:
    return SubElement(suite, "testcase", name=_clean(name), classname=_clean(f"{result.benchmark}.{result.metric}"))


def _add(case: Element, kind: str, what: str, reason: str) -> None:
    SubElement(case, kind, type=what, message=_clean(reason))


def _clean(text: str) -> str:
    """Spell out what XML cannot hold, and what a build server would run."""
    return inert(re.sub(_FORBIDDEN, lambda match: f"\\u{ord(match[0]):04x}", text))


def apply_gate(result: Any, rules: Sequence[str], junit: Path | None) -> "Gate | None":
    """Apply the rules, if there are any, and write the JUnit file, if one is wanted."""
    found = _gate_of(result, rules) if rules else None
    if junit is not None:
        from evalstats.cli.output import write_atomically

        write_atomically(junit, junit_xml(result, found) + "\n")
    return found


def _gate_of(result: Any, rules: Sequence[str]) -> "Gate":
    from evalstats.analysis.audit.result import Audit
    from evalstats.analysis.compare.gate import Gate, gate_of
    from evalstats.analysis.score.result import Score, Scores, score_gate

    if isinstance(result, Score | Scores):
        passed, reason = score_gate(result, *rules)
        return Gate(rule=" and ".join(rules), passed=passed, reason=reason)
    if not isinstance(result, Audit):
        return gate_of(result, *rules)
    flips = result.n_flipping
    reason = f"{flips or 'none'} of {len(result.findings)} findings flip{'s' * (flips == 1)} a comparison"
    return Gate(rule=" and ".join(rules), passed=not flips, reason=reason)


@contextmanager
def told_in_junit(junit: Path | None) -> Generator[None]:
    """Write the JUnit file also where there is no result, so that no older one is taken for it."""
    try:
        yield
    except BaseException as error:
        if junit is not None:
            from evalstats.cli.output import write_atomically

            told = str(error) if isinstance(error, EvalStatsError) else f"stopped by {type(error).__name__}: {error}"
            write_atomically(junit, junit_error(told) + "\n")
        raise


def with_gate(result: Any, found: "Gate | None") -> Any:
    """Return the result with what the gate says, a caution where it does not pass, so that every form of it says so."""
    if found is None:
        return result
    told = Note(kind="gate", text=f"{_label(found).capitalize()}: {found.reason}", caution=not found.passed)
    return replace(result, notes=(told, *result.notes))


def gate_line(found: "Gate", output: Path | None) -> str:
    """Return what stderr says of a gate, wherever the result goes."""
    return f"{_label(found)}: {found.reason}.{'' if output is None else f' Written: {output}'}"


def _label(found: "Gate") -> str:
    return {True: "gate passed", False: "gate failed", None: "gate: no answer"}[found.passed]


def gate_values(found: "Gate | None") -> Mapping[str, Any]:
    """Return the gate's outcome for JSON."""
    return {} if found is None else {"gate": {**asdict(found), "exit_status": found.exit_status}}
