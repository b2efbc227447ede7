"""Run the benchmarks and print one table: ours, the other package in the same run, and the ratio."""

import os
import sys
from importlib import import_module

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(name, "1" if name != "POLARS_MAX_THREADS" else "2")

NAMES = (
    "start",
    "compare",
    "bootstrap",
    "leaderboard",
    "dependence",
    "ingest",
    "loaders",
    "mixed",
    "mixed_binomial",
    "arena",
)


def main(names: list[str]) -> None:
    """Run the named benchmarks, or all."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"unknown benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    print(f"{'what':44} {'ours':>10} {'other':>10} {'ratio':>9}  note")
    for name in names or NAMES:
        for row in import_module(f"benchmarks.{name}").run():
            other = "" if row["other"] is None else f"{row['other']:.4g}"
            ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}x"
            print(f"{row['name']:44} {row['ours']:>10.4g} {other:>10} {ratio:>9}  {row['note']}", flush=True)


main(sys.argv[1:])
