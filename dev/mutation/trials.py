"""Trials of mutants in one pytest session: tests are collected once, and each mutant lives and dies in a child of its own.

Tests of `analysis` cannot be collected before a child is forked (`Suite.fresh`): each collects those that reach its mutant.

Why not a package for this: cosmic-ray starts pytest anew for every mutant, which took 5 seconds each here before a test had
run, and makes 660 mutants of one module; mutmut forks as we do, but picks tests by function instead of by line, mutates messages
and tolerances, leaves constants alone, and draws no sample. Here a child is forked from a session that has imported
everything and run nothing, so that no cache holds an answer of the right program; the mutant is put in by changing the code
of live functions, and tests run until one fails.
"""

import contextlib
import gc
import importlib
import inspect
import json
import os
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dev.mutation.chapters import ROOT, Suite
from dev.mutation.fault import live_functions, put
from dev.mutation.mutants import Mutant
from dev.mutation.reach import Reach, Tracer

LONGEST = 6.0  # processor seconds, traced, above which a test is too long to be run against many mutants
PATIENCE = 900.0  # seconds without any word from a child, after which it hangs
MEMORY = 8 << 30  # bytes that a child may take, so that a mutant which asks for everything fails alone
_OPTIONS = ["-q", "-s", "-p", "no:cacheprovider", "--assert=plain", "--tb=no", "-m", "not slow"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: killed (by that test), survived (so many tests), timed out (in that test)."""

    outcome: str
    tests: int
    seconds: float
    by: str = ""


class Trials:
    """The session: its tests, what they reach, and the trial of a mutant."""

    def __init__(self, items: Sequence[pytest.Item], reach: Reach, limit: float) -> None:
        self.reach = reach
        self.limit = limit
        self._hold(items)

    def _hold(self, items: Sequence[pytest.Item]) -> None:
        self.items = {item.nodeid: item for item in items}
        self._functions = live_functions()

    def trial(self, mutant: Mutant, killers: Sequence[str] = ()) -> Verdict:
        """Run the tests that reach the mutant, those first that killed it before, until one fails or time is up."""
        tests = self.reach.reaching(mutant)
        tests = [test for test in killers if test in tests] + [test for test in tests if test not in killers]
        if not tests:
            return Verdict("survived", 0, 0.0)
        with _child(lambda write: self._in_child(mutant, tests, write)) as child:
            at, spent = 0, 0.0
            while (line := child.line(PATIENCE)) is not None and line:
                word, number, seconds = line.split()
                at, spent = int(number), float(seconds)
                if word != "runs":
                    return Verdict(word, at + 1, spent, tests[at] if word == "killed" else "")
            outcome = "timed out" if line is None or child.ended_by() == signal.SIGPROF else "killed"
            return Verdict(outcome, at + 1, spent, tests[at])

    def stamp(self, mutant: Mutant, by: str) -> str:
        """Return what a verdict rests on: the mutated file, and the test that killed or all tests that did not."""
        return self.reach.stamp(mutant, [by] if by else self.reach.reaching(mutant))

    def _in_child(self, mutant: Mutant, tests: Sequence[str], write: Callable[[str], None]) -> None:
        if not self.reach.suite.fresh:
            return self._run(mutant, tests, write)

        def run(items: Sequence[pytest.Item]) -> None:
            self._hold(items)
            self._run(mutant, [test for test in tests if test in self.items], write)

        return _collected(tests, run)

    def _run(self, mutant: Mutant, tests: Sequence[str], write: Callable[[str], None]) -> None:
        def tell(word: str, at: int) -> None:
            write(f"{word} {at} {time.process_time() - started:.3f}")

        started = time.process_time()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if not put(mutant, self._functions):
            return tell("unchanged", 0)
        for at, test in enumerate(tests):
            tell("runs", at)
            after = self.items[tests[at + 1]] if at + 1 < len(tests) else None
            # The signal ends a process that runs in circles, in Python or below it.
            signal.setitimer(signal.ITIMER_PROF, 5.0 + 10.0 * self.reach.tests[test]["seconds"])
            if "failed" in _outcomes(self.items[test], after):
                return tell("killed", at)
            if time.process_time() - started > self.limit:
                break
        return tell("survived", at)


def session(suite: Suite, work: Callable[[Trials], None], *, limit: float, say: Callable[[str], None]) -> None:
    """Collect the tests of a suite, trace those not known, and call `work` with the trials."""
    places, reach = [str(ROOT / place) for place in suite.tests], Reach(suite)

    def begin(items: Sequence[pytest.Item], there: Iterable[str]) -> None:
        known = set(there)
        reach.tests = {test: about for test, about in reach.tests.items() if test in known}
        reach.index()
        trials = Trials(items, reach, limit)
        gc.collect()
        gc.freeze()
        gc.disable()  # a child enables it; here nothing more is made
        work(trials)

    def here(items: Sequence[pytest.Item]) -> None:
        _read_traces(lambda write: _trace(items, reach, write), reach, say)
        _import(reach.modules)
        begin(items, [item.nodeid for item in items])

    if suite.fresh:
        begin((), _read_traces(lambda write: _collected(places, lambda items: _trace(items, reach, write)), reach, say))
    else:
        _collected(places, here)


def _collected(places: Sequence[str], work: Callable[[Sequence[pytest.Item]], None]) -> None:
    """Collect tests, and call `work` with those that read no clock in place of running them."""

    class Plugin:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            work([item for item in session.items if not _clocked(item)])
            return True

    status = pytest.main([*_OPTIONS, *places], plugins=[Plugin()])
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        raise SystemExit(f"the tests could not be collected: pytest ended with {status}")


def _clocked(item: pytest.Item) -> bool:
    """Whether a test reads a clock: a busy machine must not kill a mutant."""
    function = getattr(item, "function", None)
    return function is not None and any(
        name in inspect.getsource(function) for name in ("perf_counter", "process_time")
    )


def _trace(items: Sequence[pytest.Item], reach: Reach, write: Callable[[str], None]) -> None:
    """Run the tests that are not known, in a child, and write of each what it runs; at the end the names of all."""
    new = [item for item in items if not reach.knows(item.nodeid, item.path)]
    tracer = Tracer(reach.suite.folder)
    signal.signal(signal.SIGPROF, _too_long)
    for at, item in enumerate(new):
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        tracer.begin()
        outcomes = _outcomes(item, new[at + 1] if at + 1 < len(new) else None)
        lines = tracer.end()
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        seconds = round(time.process_time() - started, 4)
        about = {"seconds": seconds, "passed": outcomes == {"passed"}, "lines": lines}
        write(json.dumps([item.nodeid, str(item.path), about]))
    modules = [name for name in sys.modules if name.partition(".")[0] in _WARM]
    write(json.dumps(["", modules, [item.nodeid for item in items]]))


def _read_traces(
    trace: Callable[[Callable[[str], None]], None], reach: Reach, say: Callable[[str], None]
) -> Sequence[str]:
    """Let a child trace, keep what it writes, and return the names of all tests."""
    say("tracing tests that are new or changed")
    n, last = 0, "the beginning"
    with _child(trace) as child:
        while line := child.line(PATIENCE):
            test, *told = json.loads(line)
            if not test:
                reach.modules = sorted({*reach.modules, *told[0]})
                reach.save()
                say(f"traced {n} of {len(told[1])} tests")
                return told[1]
            reach.add(test, Path(told[0]), told[1])
            reach.save(now=False)
            n, last = n + 1, test
    raise SystemExit(f"tracing broke off after {last}")


def _too_long(*_: object) -> None:
    raise TimeoutError


_WARM = {"evalstats", "numpy", "scipy", "pandas", "statsmodels", "hypothesis", "threadpoolctl", "patsy", "formulaic"}


def _import(modules: Sequence[str]) -> None:
    """Import what tests import while they run, so that a child need not."""
    for name in modules:
        with contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)


def _outcomes(item: pytest.Item, after: pytest.Item | None) -> set[str]:
    class Reports:
        def __init__(self) -> None:
            self.found: set[str] = set()

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            self.found.add(report.outcome)

    reports = Reports()
    item.config.pluginmanager.register(reports)
    try:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    finally:
        item.config.pluginmanager.unregister(reports)
    return reports.found


class _Child:
    """A forked process that does `work`; what it writes is read line by line."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._end, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _be_child(work, self._end, write_end)
        os.close(write_end)
        self._buffer = bytearray()
        self._status: int | None = None

    def line(self, seconds: float) -> str | None:
        """Return the next line, "" at the end, None after so many seconds of silence."""
        until = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            if not select.select([self._end], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            part = os.read(self._end, 1 << 16)
            if not part:
                return ""
            self._buffer.extend(part)
        text, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer[:] = rest
        return text.decode()

    def ended_by(self) -> int:
        """Return the signal that ended the process, or 0."""
        if self._status is None:
            _, self._status = os.waitpid(self.pid, 0)
        return os.WTERMSIG(self._status) if os.WIFSIGNALED(self._status) else 0

    def close(self) -> None:
        """End the process and what it started."""
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                if self._status is None:
                    end(self.pid, signal.SIGKILL)
        self.ended_by()
        os.close(self._end)


@contextlib.contextmanager
def _child(work: Callable[[Callable[[str], None]], None]) -> Iterator[_Child]:
    child = _Child(work)
    try:
        yield child
    finally:
        child.close()


def _be_child(work: Callable[[Callable[[str], None]], None], read_end: int, write_end: int) -> Any:
    status = 1
    try:
        os.setsid()  # what it starts ends with it
        os.close(read_end)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        gc.enable()
        signal.signal(signal.SIGINT, _interrupted)
        work(lambda text: _write(write_end, text))
        status = 0
    finally:
        os._exit(status)  # the parent's session is not ours to end


def _write(end: int, text: str) -> None:
    data = memoryview(text.encode() + b"\n")
    while data:
        data = data[os.write(end, data) :]


def _interrupted(*_: object) -> None:
    os._exit(1)
