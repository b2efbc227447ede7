"""A comparison as JUnit XML, which CI systems show beside the other tests."""

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from evalstats.analysis.compare.gate import Gate
from evalstats.analysis.compare.result import Comparison
from evalstats.document.escape import inert

# Characters that XML 1.0 cannot hold, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: Comparison, gate: Gate | None) -> str:
    """Return one test case for the comparison and one for every level of `by`.

    Without a gate no case fails; a comparison that the data cannot answer is an error either way.
    """
    title = f"{result.candidate.name} against {result.baseline.name}"
    suite = Element("testsuite", name=_clean(f"evalstats compare: {result.benchmark}"))
    case = _case(suite, title, result)
    if result.verdict == "invalid":
        _add(case, "error", result.verdict, result.verdict_reason)
    elif gate is not None and not gate.passed:
        _add(case, "failure", gate.rule, gate.reason)
    SubElement(case, "system-out").text = _clean(result.summary())
    for group in result.groups:
        level = _case(suite, f"{title} [{result.by}={group.level}]", result)
        if group.verdict == "invalid":
            SubElement(level, "skipped", message=_clean(group.verdict_reason))
        elif group.verdict == "worse" and gate is not None and "worse" in gate.rule.split(" and "):
            _add(level, "failure", "worse", group.verdict_reason)
        SubElement(level, "system-out").text = _clean(f"{group.verdict}: {group.verdict_reason}")
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


def junit_error(message: str) -> str:
    """Return one test case in error, for a comparison that came to no result."""
    suites = Element("testsuites")
    suite = SubElement(suites, "testsuite", name="evalstats compare", tests="1", failures="0", errors="1", skipped="0")
    _add(SubElement(suite, "testcase", name="compare", classname="evalstats"), "error", "no answer", message)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode")


def _case(suite: Element, name: str, result: Comparison) -> Element:
    return SubElement(suite, "testcase", name=_clean(name), classname=_clean(f"{result.benchmark}.{result.metric}"))


def _add(case: Element, kind: str, what: str, reason: str) -> None:
    SubElement(case, kind, type=what, message=_clean(reason))


def _clean(text: str) -> str:
    """Spell out what XML cannot hold, and what a build server would run."""
    return inert(_FORBIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text))
