"""A store that is larger than memory: every question asked of it, in a process of its own, for its time and its peak of memory.

Twice, with a tenth of the rows and with all of them: `python -m benchmarks.store --rows 10_000_000`. Memory that grows with the
rows shows as the slope; the rest is what the program takes whatever the size.
"""

import argparse
import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import problems

MODELS, TRIALS = 10, 160
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


def write_rollouts(folder: Path, n_items: int) -> None:
    """Write 160 trials of the same items by ten models, a file each, with a time and an answer that nothing is known of."""
    folder.mkdir()
    easy, topic = np.random.default_rng(5).normal(size=n_items), np.random.default_rng(6).integers(0, 20, n_items)
    for k in range(MODELS):
        rng = np.random.default_rng(100 + k)
        item, trial = np.repeat(np.arange(n_items), TRIALS), np.tile(np.arange(TRIALS), n_items)
        chance = 1 / (1 + np.exp(-easy - 0.05 * k))[item] + 0.002 * rng.normal(size=TRIALS)[trial]
        answers = pl.Series([base64.b64encode(rng.bytes(60 * item.size)).decode("ascii")])
        pl.DataFrame(
            {
                "model": pl.repeat(f"model-{k}", item.size, eager=True),
                "item": pl.Series(item).cast(pl.String),
                "trial": trial,
                "correct": (rng.random(item.size) < chance).astype(np.float64),
                "topic": pl.Series(topic[item]).cast(pl.String),
                "latency_s": rng.gamma(2.0, 2.0, item.size).round(3),
                "answer": answers.str.extract_all(r".{80}").explode(),
            }
        ).write_parquet(folder / f"model-{k}.parquet", row_group_size=500_000)


def measure(*arguments: str | Path) -> tuple[float, float]:
    """Return CPU seconds and peak MB of one command."""
    command = [sys.executable, "-c", _RUN, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    used = json.loads(done.stdout.splitlines()[-1])
    return used["seconds"], used["peak"]


def questions(folder: Path, n_rows: int) -> dict[str, tuple[float, float]]:
    """Write votes and a board of so many rows each, and ask everything of their stores."""
    votes, board, rollouts = folder / "votes.parquet", folder / "board.parquet", folder / "rollouts"
    problems.vote_parquet(folder, n_rows, raters=True)
    write_board(board, n_rows // MODELS)
    write_rollouts(rollouts, n_rows // MODELS // TRIALS)
    stores = {votes: folder / "votes", board: folder / "board", rollouts: folder / "trials"}
    asked: dict[str, tuple[str | Path, ...]] = {
        "ingest votes": ("ingest", votes, "--store", stores[votes], "-q"),
        "ingest votes again": ("ingest", votes, "--store", stores[votes], "-q"),
        "arena": ("arena", stores[votes], "--no-checks"),
        "ingest a board": ("ingest", board, "--store", stores[board], "-q"),
        "compare two of its models": ("compare", "model-0", "model-1", "--store", stores[board]),
        "leaderboard": ("leaderboard", stores[board]),
        "audit": ("audit", stores[board]),
        "ingest trials": ("ingest", rollouts, "--store", stores[rollouts], "-q", "--map", "score=correct"),
        "compare two by trials": ("compare", "model-0", "model-5", "--store", stores[rollouts]),
        "leaderboard of trials": ("leaderboard", stores[rollouts]),
        "audit of trials": ("audit", stores[rollouts]),
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
