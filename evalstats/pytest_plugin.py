"""The pytest plugin: comparisons that a test asserts, and pass/fail cases as outcomes.

Every pytest of an environment loads this module, so it imports nothing of evalstats before a test or an option asks for it.
What a test learns travels on its report, as pytest-xdist sends it: properties, which JUnit files show, and the row of a case.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from evalstats.analysis.compare.result import Comparison

_HEADING = "evalstats"
# A longer text of a parameter is a question or an answer, and no level of a factor.
_LONGEST_LEVEL = 60
_LARGEST_LEVEL = 2**53
_LONGEST_REASON = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup(_HEADING, "comparisons of evaluation results")
    group.addoption(
        "--evalstats-baseline",
        metavar="PATH",
        help="Results that evalstats_compare compares with, or an earlier --evalstats-out file to compare this run with.",
    )
    group.addoption(
        "--evalstats-out",
        metavar="FILE",
        help="Write each passed or failed case as a row of this .jsonl file, for `evalstats score` and `evalstats compare`.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks, and collect outcomes where a file of them is asked for."""
    for mark in (
        "evalstats(**options): options of evalstats_compare, such as margin or cluster",
        "evalstats_trials(n): run the test n times; --evalstats-out takes the runs for trials of one item",
    ):
        config.addinivalue_line("markers", mark)
    out = config.getoption("evalstats_out")
    if out is not None:
        path = Path(out).absolute()  # a test may change the working folder
        if not hasattr(config, "workerinput") and (path.suffix != ".jsonl" or not path.parent.is_dir()):
            raise pytest.UsageError(f"--evalstats-out {out}: name a .jsonl file in a folder that exists")
        config.pluginmanager.register(_Outcomes(path, out), "evalstats-outcomes")


@pytest.fixture
def evalstats_compare(request: pytest.FixtureRequest) -> "Callable[..., Comparison]":
    """Compare results with the baseline's; the test fails where they are worse, and the report shows the answer.

    `evalstats_compare(candidate, baseline=None, **options)` takes two paths and the options of
    `evalstats.testing.assert_not_worse`. Without a baseline it is that of --evalstats-baseline: in such a folder what has the
    candidate's name, else the folder itself.
    """

    def compared(candidate: str | Path, baseline: str | Path | None = None, **options: Any) -> "Comparison":
        __tracebackhide__ = True
        first = baseline or request.config.getoption("evalstats_baseline")
        if first is None:
            pytest.fail("nothing to compare with: give --evalstats-baseline PATH, or baseline=PATH", pytrace=False)
        within = Path(first, Path(candidate).name)
        for mark in request.node.iter_markers("evalstats"):
            options = {**mark.kwargs, **options}

        from evalstats.document.terminal import headline
        from evalstats.testing import judged, passed

        paths = (within if baseline is None and within.exists() else Path(first), Path(candidate))
        result, gate = judged(paths, None, None, **options)
        told: list[tuple[str, object]] = request.node.user_properties
        told.append((_HEADING, headline(result.document())))
        told += [
            (f"{_HEADING}.{name}", value)
            for name in ("verdict", "estimate", "conf_low", "conf_high", "p_value", "n_items")
            if (value := getattr(result, name)) is not None
        ]
        return passed(result, gate)

    return compared


@pytest.fixture
def evalstats_trial(request: pytest.FixtureRequest) -> int:
    """Return the number of this run of a test with the mark `evalstats_trials`, from 0; it may serve as a seed."""
    return getattr(request, "param", 0)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test as often as its mark says; behind all other parameters, so that its id ends in the trial."""
    mark = metafunc.definition.get_closest_marker("evalstats_trials")
    if mark is not None:
        n = mark.args[0] if len(mark.args) == 1 and not mark.kwargs else None
        if type(n) is not int or n < 1:
            raise pytest.UsageError(
                f"{metafunc.definition.nodeid}: evalstats_trials takes one number of runs, such as 5"
            )
        metafunc.fixturenames.append("evalstats_trial")
        metafunc.parametrize("evalstats_trial", range(n), indirect=True, ids=map(_trial_id, range(n)))


def _trial_id(trial: int) -> str:
    return f"trial{trial}"


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """Print the answer of every comparison, under the name of its test."""
    answers = {
        (report.nodeid, str(value)): None
        for reports in terminalreporter.stats.values()
        for report in cast("list[object]", reports)
        if isinstance(report, pytest.TestReport)
        for name, value in report.user_properties
        if name == _HEADING
    }
    outcomes = cast("_Outcomes | None", terminalreporter.config.pluginmanager.get_plugin("evalstats-outcomes"))
    lines = [*(f"{test}: {answer}" for test, answer in answers), *(outcomes.said if outcomes else ())]
    if lines:
        terminalreporter.section(_HEADING)
        for line in lines:
            terminalreporter.write_line(line)


class _Outcomes:
    """The rows of --evalstats-out: made where a test runs, gathered and written where the session is."""

    def __init__(self, path: Path, called: str) -> None:
        self.path, self.called = path, called
        self.rows: dict[str, dict[str, object]] = {}
        self.said: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        outcome = _outcome(report, call.excinfo)
        if outcome is not None and "evalstats_compare" not in getattr(item, "fixturenames", ()):
            vars(report)["evalstats_row"] = {**_case(item), **outcome}
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = getattr(report, "evalstats_row", None)
        # Of a test that is rerun until it passes, only the first run says how often it passes; a subtest is a part of one.
        if row is not None and type(report) is pytest.TestReport:
            self.rows.setdefault(report.nodeid, row)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        if not self.rows:
            self.said.append(f"No case ran, so {self.called} was not written.")
            return
        from evalstats.atomic import write_whole

        # In an order that no worker changes; trials are counted, however a test came to run several times.
        rows, n_trials = sorted(self.rows.values(), key=lambda row: (str(row["item"]), row["trial"])), Counter[str]()
        for row in rows:
            one = repr([row.get(name) for name in ("item", "model", "system")])
            row["trial"] = n_trials[one]
            n_trials[one] += 1
        # Where some tests name one, the others are the file's: a table names all or none.
        for name in ("model", "benchmark"):
            if any(name in row for row in rows):
                rows = [{name: self.path.stem, **row} for row in rows]
        try:
            write_whole(self.path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
            self.said.append(f"Written: {self.called}")
            self.said.append(_answer(self.path, session.config.getoption("evalstats_baseline")))
        except Exception as error:  # noqa: BLE001 - the tests have run, and what they say stands
            self.said.append(f"error: {error or type(error).__name__}")


def _answer(path: Path, baseline: str | None) -> str:
    """Return how often the cases pass, or the comparison with an earlier run, in a line."""
    from evalstats.analysis.score.score import score
    from evalstats.document.terminal import headline
    from evalstats.loaders.registry import read
    from evalstats.testing import judged

    result = score(read(path)) if baseline is None else judged((baseline, path), None, None)[0]
    return headline(result.document())


def _outcome(
    report: pytest.TestReport, error: "pytest.ExceptionInfo[BaseException] | None"
) -> dict[str, object] | None:
    """Return what a phase of a test says of its case; None where a later one decides.

    An assertion that fails is a wrong answer. Any other exception is a failure of the harness, which is missing and not wrong.
    """
    expected = hasattr(report, "wasxfail")
    if report.when == "teardown" or (report.when == "setup" and report.passed):
        return None
    if report.skipped and not expected:
        return _without_score("unscored", str(report.longrepr[-1] if isinstance(report.longrepr, tuple) else "skipped"))
    if error is None:
        # A strict xfail that passes fails without an exception, and so does a test of which only subtests failed.
        correct = report.passed or str(report.longrepr).startswith("[XPASS")
    elif report.when == "call" and error.errisinstance((AssertionError, pytest.fail.Exception)):
        correct = False
    else:
        status = "unscored" if expected and report.when == "setup" else "error"
        return _without_score(status, error.exconly(tryshort=True).partition("\n")[0])
    return {"score": int(correct), "status": "scored", "status_reason": None, "latency_s": report.duration}


def _without_score(status: str, reason: str) -> dict[str, object]:
    told = "".join(char for char in reason[:_LONGEST_REASON] if char.isprintable())
    return {"score": None, "status": status, "status_reason": told, "latency_s": None}


def _case(item: pytest.Item) -> dict[str, object]:
    """Return the item and trial that a test is, and what may group items: test, case and parameters with short values."""
    call = getattr(item, "callspec", None)
    given: dict[str, Any] = {} if call is None else dict(call.params)
    trial, repeat = given.pop("evalstats_trial", None), given.pop("__pytest_repeat_step_number", None)
    factors = {name: value for name, value in given.items() if _is_level(value)}
    test, case = item.nodeid, "" if call is None else str(call.id)
    test = test.removesuffix(f"[{case}]")
    own = [
        *([_trial_id(trial)] if trial is not None else ()),
        *([rf"{repeat + 1}-\d+"] if repeat is not None else ()),
        *(re.escape(str(factors[name])) for name in ("model", "system") if name in factors),
    ]
    for part in own:
        case = "-".join(filter(None, re.split(rf"(?:^|-){part}(?:-|$)", case, maxsplit=1)))
    return {
        **factors,
        "item": f"{test}[{case}]" if case else test,
        "trial": [repeat or 0, trial or 0],
        "metric": "passed",
        "test": test,
        **({"case": case} if case else {}),
    }


def _is_level(value: object) -> bool:
    """Whether a parameter may be the level of a factor; its type exactly, since no other can be sent between workers."""
    if type(value) is str:
        return len(value) <= _LONGEST_LEVEL and value.isprintable()
    return type(value) is bool or (type(value) in (int, float) and abs(cast("float", value)) < _LARGEST_LEVEL)
