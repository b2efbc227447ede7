"""Counts of tries and failures of long tests that repeat one thing many times, printed as a table when all is done."""

from collections.abc import Generator
from dataclasses import dataclass, field

import pytest

_KEY = "tally"


@dataclass
class Tally:
    """What was tried, how often, and what failed; one row of the table for each name."""

    tries: dict[str, int] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)

    def tried(self, name: str, n: int = 1) -> None:
        self.tries[name] = self.tries.get(name, 0) + n

    def failed(self, name: str, what: str) -> None:
        self.failures.setdefault(name, []).append(what)


@pytest.fixture
def tally(record_property) -> Generator[Tally]:
    """A tally; the test fails at its end if anything in it did."""
    held = Tally()
    yield held
    for name, n in held.tries.items():
        record_property(_KEY, (name, n, len(held.failures.get(name, []))))
    told = [f"{name}: {what}" for name, failures in held.failures.items() for what in failures[:5]]
    assert not told, "\n".join(told)


def pytest_terminal_summary(terminalreporter) -> None:
    """Print the table."""
    rows: dict[str, list[int]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for key, value in report.user_properties:
                    if key == _KEY:
                        name, tries, failures = value
                        held = rows.setdefault(name, [0, 0])
                        held[0] += tries
                        held[1] += failures
    if rows:
        width = max(map(len, rows))
        terminalreporter.section("tries and failures")
        terminalreporter.write_line(f"{'':<{width}}  {'tries':>8}  {'failures':>8}")
        for name, (tries, failures) in rows.items():
            terminalreporter.write_line(f"{name:<{width}}  {tries:>8,}  {failures:>8,}")
        total, failed = (sum(counts) for counts in zip(*rows.values(), strict=True))
        terminalreporter.write_line(f"{'all':<{width}}  {total:>8,}  {failed:>8,}")
