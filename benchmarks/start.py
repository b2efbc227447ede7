"""Start-up: importing the package and printing the help, as whole processes (wall-clock seconds)."""

import statistics
import subprocess
import sys
import time

from benchmarks.timing import Row, against

RUNS = 5


def run() -> list[Row]:
    """Median of five starts each; the bare interpreter beside them."""
    bare = _wall([sys.executable, "-c", "pass"])
    help_code = "import sys; sys.argv = ['evalstats', '--help']; from evalstats.cli.main import main; main()"
    return [
        against(
            "import evalstats",
            _wall([sys.executable, "-c", "import evalstats"]),
            bare,
            "other: bare Python; target .2 s",
        ),
        against("evalstats --help", _wall([sys.executable, "-c", help_code]), bare, "other: bare Python; target .5 s"),
    ]


def _wall(command: list[str]) -> float:
    times: list[float] = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])
