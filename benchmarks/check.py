"""Has anything become slower, or less exact, than the stored figures say? `make bench-check` asks this of the quick cases.

It asks the same of quick commands, beside reading their files alone. A ratio to another package moves much less than seconds do
when the machine is busy or another one, but it moves: `SLOWER` leaves room for that, and what looks slower is measured again
before it counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks import commands
from benchmarks.cases import CASES, OURS, SLOWER
from benchmarks.commands import QUICK
from benchmarks.runner import measure

Row = Mapping[str, Any]
LESS_EXACT: Final = 10.0  # so is an error this many times the stored one, where it is larger than rounding
ROUNDING: Final = 1e-6


def check(stored: Sequence[Row]) -> Iterator[str]:
    """Measure the quick cases, printing each, and yield what is worse than stored."""
    for case in CASES:
        if case.quick is None:
            continue
        size, packages = case.quick
        fresh = list(measure(case, size, packages))
        worse = list(regressions(stored, fresh))
        if worse:  # measured again, more often: of two measurements a disturbed one is never the faster
            again = {row["package"]: row for row in measure(case, size, packages, often=3)}
            fresh = [_better(row, again[row["package"]]) for row in fresh]
            worse = list(regressions(stored, fresh))
        for row in fresh:
            before = _stored(stored, row)
            if row["package"] != OURS and row.get("ratio") is not None:
                was = f", stored {before['ratio']:.3g}" if before else ", not stored"
                print(f"{case.title}, {size:,} {case.unit}: {row['ratio']:.3g} times {row['package']}{was}", flush=True)
            elif row["package"] != OURS:
                print(f"{case.title}: {row['package']} was not measured ({row['why']})", flush=True)
        yield from worse


def check_commands(stored: Sequence[Row]) -> Iterator[str]:
    """Measure the quick commands, printing each, and yield those that take more than stored beside reading their files."""
    before = {row["command"]: _to_floor(row) for row in stored}
    for name in QUICK:
        if name not in before:
            continue
        ratio = _to_floor(commands.measure(name, 2))
        if ratio > SLOWER * before[name]:
            ratio = min(ratio, _to_floor(commands.measure(name, 4)))
        print(f"{name}: {ratio:.3g} times reading alone, stored {before[name]:.3g}", flush=True)
        if ratio > SLOWER * before[name]:
            yield f"{name}: slower. It takes {ratio:.3g} times reading alone, stored is {before[name]:.3g}"


def _to_floor(row: Row) -> float:
    return row["seconds"] / row["floor_seconds"]


def regressions(stored: Sequence[Row], fresh: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for every fresh row that is worse than the stored row of the same case, size and package."""
    for row in fresh:
        before = _stored(stored, row)
        if before is None:
            continue
        what = f"{row['case']} at {row['size']:,}"
        if row.get("ratio") is not None and row["ratio"] * SLOWER < before["ratio"]:
            yield (
                f"{what}: slower. {row['package']} takes {row['ratio']:.3g} times our time, stored is {before['ratio']:.3g}; "
                f"at least {before['ratio'] / SLOWER:.3g} is expected"
            )
        miss, was = row.get("miss"), before.get("miss")
        if row["package"] == OURS and None not in {miss, was} and miss > max(LESS_EXACT * was, ROUNDING):
            yield f"{what}: less exact. Off by {miss:.3g}, stored is {was:.3g}"


def _stored(stored: Sequence[Row], row: Row) -> Row | None:
    names = ("case", "size", "package")
    found = (each for each in stored if all(each[name] == row[name] for name in names))
    return next((each for each in found if each.get("seconds") is not None), None)


def _better(one: Row, other: Row) -> Row:
    return other if (other.get("ratio") or 0.0) > (one.get("ratio") or 0.0) else one
