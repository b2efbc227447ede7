"""A store that is larger than memory: every question asked of it, in a process of its own, for its time and its peak of memory.

Twice, with a tenth of the rows and with all of them: `python -m benchmarks.store --rows 10_000_000`. Memory that grows with the
rows shows as the slope; the rest is what the program takes whatever the size.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import problems

MODELS = 10
# The peak is read inside the process: the kernel's own account for a child would include its parent's pages.
_RUN = """
import json, resource, sys
from pathlib import Path
from evalstats.cli.main import app
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    print("\\n" + json.dumps({"seconds": used.ru_utime + used.ru_stime, "peak": peak}))
"""


def write_board(path: Path, n_items: int) -> None:
    """Write right and wrong answers of ten models to the same items, which come from 20 topics."""
    rng = np.random.default_rng(0)
    easy = rng.normal(size=n_items)
    items = pl.DataFrame({"item": pl.Series(range(n_items)).cast(pl.String), "topic": rng.integers(0, 20, n_items)})
    with path.open("wb") as stream:
        parts = [
            items.select(
                pl.lit(f"model-{k}").alias("model"),
                "item",
                pl.Series("correct", (rng.random(n_items) < 1 / (1 + np.exp(-easy - 0.05 * k))).astype(np.int8)),
                pl.format("topic {}", "topic").alias("topic"),
            )
            for k in range(MODELS)
        ]
        pl.concat(parts).write_parquet(stream, row_group_size=500_000)


def measure(*arguments: str | Path) -> tuple[float, float]:
    """Return CPU seconds and peak MB of one command."""
    command = [sys.executable, "-c", _RUN, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    used = json.loads(done.stdout.splitlines()[-1])
    return used["seconds"], used["peak"]


def questions(folder: Path, n_rows: int) -> dict[str, tuple[float, float]]:
    """Write votes and a board of so many rows each, and ask everything of their stores."""
    votes, board = folder / "votes.parquet", folder / "board.parquet"
    problems.vote_parquet(folder, n_rows, raters=True)
    write_board(board, n_rows // MODELS)
    stores = {votes: folder / "votes", board: folder / "board"}
    asked: dict[str, tuple[str | Path, ...]] = {
        "ingest votes": ("ingest", votes, "--store", stores[votes], "-q"),
        "ingest votes again": ("ingest", votes, "--store", stores[votes], "-q"),
        "arena": ("arena", stores[votes], "--no-checks"),
        "ingest a board": ("ingest", board, "--store", stores[board], "-q"),
        "compare two of its models": ("compare", "model-0", "model-1", "--store", stores[board]),
        "leaderboard": ("leaderboard", stores[board]),
        "audit": ("audit", stores[board]),
    }
    found: dict[str, tuple[float, float]] = {}
    for what, arguments in asked.items():
        found[what] = measure(*arguments)
        print(f"  {n_rows:>12,} rows  {what:28} {found[what][0]:8.1f} CPU s {found[what][1]:8.0f} MB", flush=True)
    return found


def main() -> None:
    """Print what both sizes take, and what each further million rows takes."""
    parser = argparse.ArgumentParser(
        description="A store's questions: CPU seconds, peak memory, and the slope of both."
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    n_rows = parser.parse_args().rows
    sizes: list[dict[str, tuple[float, float]]] = []
    for n in (n_rows // 10, n_rows):
        with tempfile.TemporaryDirectory() as folder:
            sizes.append(questions(Path(folder), n))
    millions = 0.9 * n_rows / 1e6
    for what, (seconds, peak) in sizes[1].items():
        before = sizes[0][what]
        print(
            f"{what:28} a further million rows: {(seconds - before[0]) / millions:.2f} CPU s, "
            f"{(peak - before[1]) / millions:.0f} MB"
        )


if __name__ == "__main__":
    main()
