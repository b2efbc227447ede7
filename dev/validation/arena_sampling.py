"""Rerun the simulation of ways of sampling and store it in the package.

python -m dev.validation.arena_sampling            all of it, some five minutes of processor; stores the results
python -m dev.validation.arena_sampling 0.05       a part of the arenas; prints, and stores nothing
"""

import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(variable, "1")

STORED = Path(__file__).resolve().parents[2] / "evalstats" / "datasets" / "arena_sampling.json"


def main(arguments: list[str]) -> int:
    """Run and store, or run a part and print."""
    from dev.validation.arena_study import arena_study
    from dev.validation.running import processor_seconds

    share = float(arguments[0]) if arguments else 1.0
    study = arena_study(share=share, on_step=lambda step: sys.stderr.write(f"{processor_seconds():.0f} s: {step}\n"))
    if share == 1.0:
        STORED.write_text(study.to_text(), encoding="utf-8")
    else:
        sys.stdout.write(study.to_text())
    sys.stderr.write(f"{processor_seconds():.0f} s of processor\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
