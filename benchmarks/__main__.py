"""Measure us and the other packages in one run, and store what was found: `python -m benchmarks [CASE ...] [--check]`.

Without names all cases are measured; the rows of a case that is measured again take the place of those stored. `--check`
measures the quick cases alone, stores nothing, and fails where one is worse than stored. `--page` makes the page from what
is stored.
"""

import argparse
import datetime as dt
import json
import sys
from typing import Any

from benchmarks.cases import CASES, OURS, SLOWER
from benchmarks.check import check, check_commands
from benchmarks.runner import HERE, Row, laid_out, machine, measure, missing

RESULTS = HERE / "results.json"


def main() -> int:
    """Measure, check, or make the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed and accuracy beside other packages."
    )
    parser.add_argument("case", nargs="*", help=f"of {', '.join(case.name for case in CASES)}; default: all")
    parser.add_argument(
        "--check", action="store_true", help="measure the quick cases and fail where one has become worse"
    )
    parser.add_argument("--page", action="store_true", help="make docs/speed.md from the stored figures")
    given = parser.parse_args()
    if unknown := set(given.case) - {case.name for case in CASES}:
        parser.error(
            f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(case.name for case in CASES)}"
        )
    if given.page:
        return _page()
    for gap in missing():
        print(f"not measured: {gap}", file=sys.stderr)
    return _check() if given.check else _measure(given.case)


def _measure(names: list[str]) -> int:
    stored = _stored()
    print(f"{'case':20} {'size':>11} {'package':18} {'CPU s':>9} {'ratio':>8} {'error':>9} {'MB':>6}")
    for case in CASES:
        if names and case.name not in names:
            continue
        rows: list[Row] = []
        for size in case.sizes:
            for row in measure(case, size):
                rows.append(row)
                print(_line(row), flush=True)
        stored["date"], stored["machine"] = dt.datetime.now(dt.UTC).date().isoformat(), machine()
        for row in rows:
            row["date"] = stored["date"]
        found = {row["package"]: row.pop("version", None) for row in rows}
        stored["packages"] |= {name: version for name, version in sorted(found.items()) if version}
        stored["rows"] = [row for row in stored["rows"] if row["case"] != case.name] + rows
        order = [case.name for case in CASES]
        stored["rows"].sort(key=lambda row: order.index(row["case"]))
        # A run that is stopped leaves the cases that it finished.
        RESULTS.write_text(laid_out(stored), encoding="utf-8")
    return _page()


def _check() -> int:
    stored = _stored()
    worse = [*check(stored["rows"]), *check_commands(stored["commands"])]
    for sentence in worse:
        print(sentence, file=sys.stderr)
    if not worse:
        print(f"no ratio is more than {SLOWER:g} times worse than stored")
    return 1 if worse else 0


def _page() -> int:
    from benchmarks.page import write

    write(_stored())
    return 0


def _stored() -> dict[str, Any]:
    if not RESULTS.exists():
        return {"date": "", "machine": {}, "packages": {}, "commands": [], "rows": []}
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def _line(row: Row) -> str:
    name = row["package"] if row["package"] != OURS else "(ours)"
    head = f"{row['case']:20} {row['size']:>11,} {name:18}"
    if row["seconds"] is None:
        return f"{head} not measured: {row['why']}"
    values = ((row["seconds"], "9.3g"), (row["ratio"], "8.3g"), (row["miss"], "9.1e"), (row["peak_mb"], "6.0f"))
    return " ".join(
        [head, *(" " * int(form.split(".")[0]) if value is None else format(value, form) for value, form in values)]
    )


if __name__ == "__main__":
    sys.exit(main())
