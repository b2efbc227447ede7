"""Whole commands at the size of real boards: CPU seconds and peak memory, beside a bare parse of the same file.

`python -m benchmarks.commands [WORD ...]` measures the commands whose name holds a word; without words all, which takes some
minutes. The floor is what any program pays that imports numpy and Polars and reads the file; it runs in the same minute, so
that a machine with other work slows both. Where a command is measured at two sizes, the power of the size that its seconds grow
by is printed. `--store` keeps the figures for `docs/speed.md`.
"""

import argparse
import datetime as dt
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.page import write
from benchmarks.runner import HERE, ROOT, Command, Row, laid_out

_FLOOR: Final = """
import sys, numpy, polars as pl
for path in sys.argv[1:]:
    if path.endswith(".csv"):
        pl.read_csv(path)
    elif path.endswith(".parquet"):
        pl.read_parquet(path)
    else:
        import msgspec
        data = open(path, "rb").read()
        record = msgspec.defstruct("Record", [("score", float, 0.0), ("acc", float, 0.0)])
        if path.endswith(".jsonl"):
            decode = msgspec.json.Decoder(record).decode
            for line in data.splitlines():
                decode(line)
        else:
            msgspec.json.decode(data, type=list[record])
"""
_KENDALL: Final = """
import numpy as np, scipy.stats
from evalstats.stats.agreement.correlation import kendall
x, y = np.random.default_rng(0).normal(size=(2, 5000))
kendall(x, y)
"""


def scores(
    folder: Path,
    n_models: int,
    n_items: int,
    *,
    kind: str = "binary",
    by: int = 0,
    file: str = "data.csv",
    item_by_item: bool = False,
) -> None:
    """Write scores of models on the same items of unequal difficulty, with a factor of `by` levels if asked.

    A binary score is the sign of ease + skill + noise, a graded one is their sum as a share with four digits. Rows go model by
    model, or item by item.
    """
    import numpy as np
    import polars as pl

    rng = np.random.default_rng((n_models, n_items))
    ease, skill = rng.normal(size=n_items), np.linspace(-0.8, 1.5, n_models)
    logit = ease + skill[:, None] + rng.normal(size=(n_models, n_items))
    score = (logit > 0).astype(int) if kind == "binary" else (1 / (1 + np.exp(-logit))).round(4)
    item = np.tile(np.arange(n_items), n_models)
    model = np.repeat([f"model-{k:04}" for k in range(n_models)], n_items)
    frame = pl.DataFrame({"item": item, "model": model, "score": score.ravel()})
    if by:
        frame = frame.with_columns(scenario=pl.format("level {}", pl.col("item") % by))
    frame = frame.sort("item", maintain_order=True) if item_by_item else frame
    frame = frame.with_columns(pl.format("q{}", "item").alias("item"))
    path = folder / file
    if file.endswith(".csv"):
        frame.write_csv(path)
    elif file.endswith(".parquet"):
        frame.write_parquet(path)
    else:
        path.write_text(frame.write_json(), encoding="utf-8")


def votes(folder: Path, n_raters: int = 0, n_votes: int = 1_000_000) -> None:
    """Write votes on 100 models, by raters of unlike zeal if asked."""
    import numpy as np
    import polars as pl

    from benchmarks.problems import vote_parquet

    vote_parquet(folder, n_votes)
    if n_raters:
        rater = (n_raters * np.random.default_rng(2).random(n_votes) ** 2).astype(int)
        frame = pl.read_parquet(folder / "votes.parquet").with_columns(rater=pl.Series(rater))
        frame.with_columns(pl.format("rater {}", "rater").alias("rater")).write_parquet(folder / "votes.parquet")


def lab_and_live(folder: Path, n_models: int) -> None:
    """Write scores of the lab and of live users of as many models, in two files."""
    import numpy as np
    import polars as pl

    scores(folder, n_models, 1000, by=7, file="lab.csv")
    rng, n_users = np.random.default_rng(7), 500
    skill = np.linspace(-0.8, 1.5, n_models) + 0.2 * rng.normal(size=n_models)
    right = rng.normal(size=(n_models, n_users)) + skill[:, None] > 0
    model = np.repeat([f"model-{k:04}" for k in range(n_models)], n_users)
    live = pl.DataFrame({"model": model, "n": np.arange(model.size), "score": right.ravel().astype(int)})
    named = {"user": pl.format("u{}", pl.col("n") // 2), "scenario": pl.format("level {}", pl.col("n") % 7)}
    live.with_columns(pl.format("l{}", "n").alias("item"), **named).drop("n").write_csv(folder / "live.csv")


def samples(folder: Path) -> None:
    """Write 100 MB of samples of lm-evaluation-harness."""
    from benchmarks import problems

    problems.samples(folder, 100)


def voted(folder: Path) -> None:
    """Write a million votes as CSV."""
    from benchmarks.problems import vote_table

    vote_table(folder, 1_000_000)


_SAMPLES: Final = "samples_t_2026-02-03T04-05-06.789012.jsonl"
_MAPPED: Final = ("--map", "item=item", "--map", "score=score", "--map", "model=model")
_TWO: Final = ("--baseline", "model-0000", "--candidate", "model-0001")
# Name: what writes the data, the files that are read, the command with its options.
COMMANDS: Final[dict[str, tuple[Callable[[Path], None], tuple[str, ...], tuple[str, ...]]]] = {
    "compare 2 x 200": (lambda to: scores(to, 2, 200), ("data.csv",), ("compare", "data.csv", *_TWO)),
    "compare 2 x 10,000 graded": (
        lambda to: scores(to, 2, 10_000, kind="graded"),
        ("data.csv",),
        ("compare", "data.csv", *_TWO),
    ),
    "compare 2 x 100,000 Parquet": (
        lambda to: scores(to, 2, 100_000, file="data.parquet"),
        ("data.parquet",),
        ("compare", "data.parquet", *_TWO),
    ),
    "compare 2 x 1,000,000 Parquet": (
        lambda to: scores(to, 2, 1_000_000, file="data.parquet"),
        ("data.parquet",),
        ("compare", "data.parquet", *_TWO),
    ),
    "compare 2 x 1,000,000 DuckDB": (
        lambda to: scores(to, 2, 1_000_000, file="data.parquet"),
        ("data.parquet",),
        ("compare", "data.parquet", "--engine", "duckdb", *_MAPPED, *_TWO),
    ),
    "compare --by 5,000 levels": (
        lambda to: scores(to, 2, 50_000, by=5000),
        ("data.csv",),
        ("compare", "data.csv", *_TWO, "--by", "scenario"),
    ),
    "leaderboard 29 x 12,032": (lambda to: scores(to, 29, 12_032), ("data.csv",), ("leaderboard", "data.csv")),
    "leaderboard 100 x 1,000": (lambda to: scores(to, 100, 1000), ("data.csv",), ("leaderboard", "data.csv")),
    "leaderboard 300 x 1,000": (lambda to: scores(to, 300, 1000), ("data.csv",), ("leaderboard", "data.csv")),
    "leaderboard 10 x 100,000": (
        lambda to: scores(to, 10, 100_000, file="data.parquet"),
        ("data.parquet",),
        ("leaderboard", "data.parquet"),
    ),
    "leaderboard 10 x 1,000,000": (
        lambda to: scores(to, 10, 1_000_000, file="data.parquet"),
        ("data.parquet",),
        ("leaderboard", "data.parquet"),
    ),
    "leaderboard 10 x 1,000,000 by item": (
        lambda to: scores(to, 10, 1_000_000, file="data.parquet", item_by_item=True),
        ("data.parquet",),
        ("leaderboard", "data.parquet"),
    ),
    "scenarios 29 x 14 x 12,032": (
        lambda to: scores(to, 29, 12_032, by=14),
        ("data.csv",),
        ("scenarios", "data.csv"),
    ),
    "scenarios 100 x 10": (lambda to: scores(to, 100, 1000, by=10), ("data.csv",), ("scenarios", "data.csv")),
    "scenarios 300 x 10": (lambda to: scores(to, 300, 1000, by=10), ("data.csv",), ("scenarios", "data.csv")),
    "scenarios 1,000 x 10": (lambda to: scores(to, 1000, 200, by=10), ("data.csv",), ("scenarios", "data.csv")),
    "scenarios 10 x 1,000": (lambda to: scores(to, 10, 10_000, by=1000), ("data.csv",), ("scenarios", "data.csv")),
    "arena 1,000,000": (votes, ("votes.parquet",), ("arena", "votes.parquet")),
    "arena 10,000,000": (lambda to: votes(to, n_votes=10_000_000), ("votes.parquet",), ("arena", "votes.parquet")),
    "arena 33,000 raters": (lambda to: votes(to, 33_000), ("votes.parquet",), ("arena", "votes.parquet")),
    "gap 100 models": (
        lambda to: lab_and_live(to, 100),
        ("lab.csv", "live.csv"),
        ("gap", "--lab", "lab.csv", "--live", "live.csv"),
    ),
    "overview 20 x 1,000": (lambda to: scores(to, 20, 1000), ("data.csv",), ("overview", "data.csv")),
    "audit 20 x 5,000": (lambda to: scores(to, 20, 5000), ("data.csv",), ("audit", "data.csv")),
    "audit 20 x 50,000": (lambda to: scores(to, 20, 50_000), ("data.csv",), ("audit", "data.csv")),
    "compare --report": (
        lambda to: scores(to, 2, 200),
        ("data.csv",),
        ("compare", "data.csv", *_TWO, "--report", "page.html"),
    ),
    "compare 2 x 100,000 JSON": (
        lambda to: scores(to, 2, 100_000, file="data.json"),
        ("data.json",),
        ("compare", "data.json", *_TWO),
    ),
    "compare 2 x 100,000 --format json": (
        lambda to: scores(to, 2, 100_000),
        ("data.csv",),
        ("compare", "data.csv", *_TWO, "--format", "json"),
    ),
    "ingest lm-eval 100 MB": (samples, (_SAMPLES,), ("ingest", _SAMPLES, "--store", "{fresh}")),
    "ingest 1,000,000 votes CSV": (voted, ("votes.csv",), ("ingest", "votes.csv", "--store", "{fresh}")),
    "kendall 5,000": (lambda _: None, (), ("-c", _KENDALL)),
}


# Soon measured: `make bench-check` holds their seconds to those of reading alone.
QUICK: Final = (
    "compare 2 x 200",
    "compare 2 x 10,000 graded",
    "compare 2 x 100,000 Parquet",
    "compare --by 5,000 levels",
)
# What is linear by nature, at ten times the size.
TENFOLD: Final = {
    "compare 2 x 1,000,000 Parquet": "compare 2 x 100,000 Parquet",
    "leaderboard 10 x 1,000,000": "leaderboard 10 x 100,000",
    "audit 20 x 50,000": "audit 20 x 5,000",
}


def measure(name: str, rounds: int) -> Row:
    """Return the least CPU seconds of so many runs of a command and the peak memory, its own and the floor's."""
    _, files, words = COMMANDS[name]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # The peak of a child is at least what its parent held: another process writes the data.
        subprocess.run([sys.executable, "-m", "benchmarks.commands", "--write", name, folder], check=True, cwd=ROOT)
        paths = {file: str(folder / file) for file in files}
        floor = Command([sys.executable, "-c", _FLOOR, *paths.values()], 1, stack)
        program = [sys.executable] if words[0] == "-c" else [sys.executable, "-m", "evalstats"]
        command = Command([*program, *(paths.get(word, word) for word in words)], 1, stack)
        ours, bare = [command.told["seconds"]], [floor.told["seconds"]]
        for _ in range(rounds - 1):
            bare.append(floor.time())
            ours.append(command.time())
        peaks = command.told["peak_mb"], floor.told["peak_mb"]
    return {
        "command": name,
        "seconds": round(min(ours), 2),
        "peak_mb": round(peaks[0]),
        "floor_seconds": round(min(bare), 2),
        "floor_mb": round(peaks[1]),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
    }


def main() -> None:
    """Print the table; with `--write`, write the data of one command instead."""
    parser = argparse.ArgumentParser(description="CPU seconds and peak memory of whole commands beside a bare parse.")
    parser.add_argument("word", nargs="*", help="measure the commands whose name holds one of these")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each; the best counts")
    parser.add_argument("--store", action="store_true", help="keep the figures, and renew the page on speed")
    parser.add_argument("--write", nargs=2, metavar=("NAME", "FOLDER"), help="write the data of that command there")
    given = parser.parse_args()
    if given.write:
        COMMANDS[given.write[0]][0](Path(given.write[1]))
        return
    print(f"{'command':32} {'CPU s':>8} {'MB':>7} {'floor s':>8} {'MB':>7} {'ratio':>7}")
    seconds: dict[str, float] = {}
    for name in COMMANDS:
        if given.word and not any(word in name for word in given.word):
            continue
        try:
            row = measure(name, given.rounds)
        except ChildProcessError as error:
            print(f"{name:32} {error}", flush=True)
            continue
        seconds[name] = row["seconds"]
        ratio = row["seconds"] / row["floor_seconds"]
        print(
            f"{name:32} {row['seconds']:8.2f} {row['peak_mb']:7} {row['floor_seconds']:8.2f} {row['floor_mb']:7} {ratio:7.1f}",
            flush=True,
        )
        if given.store:
            _store(row)
    for name, smaller in TENFOLD.items():
        if {name, smaller} <= seconds.keys():
            print(f"{name}: seconds grow as size^{math.log10(seconds[name] / seconds[smaller]):.2f} from {smaller}")


def _store(row: Row) -> None:
    path = HERE / "results.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    kept = [each for each in stored["commands"] if each["command"] != row["command"]]
    stored["commands"] = sorted([*kept, row], key=lambda each: list(COMMANDS).index(each["command"]))
    path.write_text(laid_out(stored), encoding="utf-8")
    write(stored)


if __name__ == "__main__":
    main()
