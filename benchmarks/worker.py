"""One side of a benchmark in a process of its own: answers every line of its input with what one call took, as JSON.

`worker.py MODULE CALL FOLDER [MODULE-OF-A-PACKAGE ...]`: the call is made ready from the data in the folder, untimed, and made
once before it is timed. Run by the Python of any environment; it needs numpy alone.
"""

import importlib
import importlib.metadata
import json
import logging
import math
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np

SHORTEST = 0.02  # seconds that a timing takes at least: shorter calls are repeated


def main(module: str, call: str, folder: str, package: str) -> None:
    """Make the call ready, and time it whenever a line is read."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    side = importlib.import_module(f"{__package__}.{module}" if __package__ else module)
    with np.load(Path(folder, "data.npz")) as stored:
        data = {name: stored[name] for name in stored.files}
    run = getattr(side, call)(data)
    before = _peak(reset=True)
    seconds, answer = _timed(run, 1)
    _say(
        {
            "seconds": seconds,
            "peak_mb": max(before, _peak()),
            "answer": np.asarray(answer, dtype=float).ravel().tolist(),
            "version": importlib.metadata.version(package),
        }
    )
    loops = max(1, math.ceil(SHORTEST / max(_timed(run, 1)[0] if seconds < 1 else seconds, 1e-6)))
    for _ in sys.stdin:
        _say({"seconds": _timed(run, loops)[0]})


def _timed(run: object, loops: int) -> tuple[float, object]:
    """Return the processor seconds of one call, of all threads, and what it returned."""
    answer = None
    began = time.process_time()
    for _ in range(loops):
        answer = run()
    return (time.process_time() - began) / loops, answer


def _peak(*, reset: bool = False) -> float:
    """Return the most megabytes that the process has held (since the reset), NaN where the system does not tell."""
    try:
        if reset:
            with suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return math.nan
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def _say(told: dict[str, object]) -> None:
    print("@" + json.dumps(told), flush=True)  # packages print lines of their own


if __name__ == "__main__":
    main(*sys.argv[1:])
