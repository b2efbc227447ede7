"""Whole commands at the size of real boards: CPU seconds and peak memory, beside a bare parse of the same file.

`python -m benchmarks.commands [WORD ...]` measures the commands whose name holds a word; without words all, which takes some
minutes. The floor is what any program pays that imports numpy and Polars and reads the file; it runs in the same minute, so
that a machine with other work slows both.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.runner import ROOT, Command

_FLOOR: Final = """
import sys, numpy, polars as pl
for path in sys.argv[1:]:
    if path.endswith(".csv"):
        pl.read_csv(path)
    elif path.endswith(".parquet"):
        pl.read_parquet(path)
    else:
        import json
        json.load(open(path, encoding="utf-8"))
"""
_KENDALL: Final = """
import numpy as np, scipy.stats
from evalstats.stats.agreement.correlation import kendall
x, y = np.random.default_rng(0).normal(size=(2, 5000))
kendall(x, y)
"""


def scores(
    folder: Path, n_models: int, n_items: int, *, kind: str = "binary", by: int = 0, file: str = "data.csv"
) -> None:
    """Write scores of models on the same items of unequal difficulty, with a factor of `by` levels if asked.

    A binary score is the sign of ease + skill + noise, a graded one is their sum as a share with four digits.
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
    frame = frame.with_columns(pl.format("q{}", "item").alias("item"))
    path = folder / file
    if file.endswith(".csv"):
        frame.write_csv(path)
    elif file.endswith(".parquet"):
        frame.write_parquet(path)
    else:
        path.write_text(frame.write_json(), encoding="utf-8")


def votes(folder: Path, n_raters: int = 0) -> None:
    """Write a million votes on 100 models, by raters of unlike zeal if asked."""
    import numpy as np
    import polars as pl

    from benchmarks.problems import vote_parquet

    vote_parquet(folder, 1_000_000)
    if n_raters:
        rater = (n_raters * np.random.default_rng(2).random(1_000_000) ** 2).astype(int)
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


_TWO: Final = ("--baseline", "model-0000", "--candidate", "model-0001")
# Name: what writes the data, the files that are read, the command with its options.
COMMANDS: Final[dict[str, tuple[Callable[[Path], None], tuple[str, ...], tuple[str, ...]]]] = {
    "compare 2 x 200": (lambda to: scores(to, 2, 200), ("data.csv",), ("compare", "data.csv", *_TWO)),
    "compare 2 x 10,000 graded": (
        lambda to: scores(to, 2, 10_000, kind="graded"),
        ("data.csv",),
        ("compare", "data.csv", *_TWO),
    ),
    "compare 2 x 1,000,000 Parquet": (
        lambda to: scores(to, 2, 1_000_000, file="data.parquet"),
        ("data.parquet",),
        ("compare", "data.parquet", *_TWO),
    ),
    "compare --by 5,000 levels": (
        lambda to: scores(to, 2, 50_000, by=5000),
        ("data.csv",),
        ("compare", "data.csv", *_TWO, "--by", "scenario"),
    ),
    "leaderboard 29 x 12,032": (lambda to: scores(to, 29, 12_032), ("data.csv",), ("leaderboard", "data.csv")),
    "leaderboard 100 x 1,000": (lambda to: scores(to, 100, 1000), ("data.csv",), ("leaderboard", "data.csv")),
    "leaderboard 300 x 1,000": (lambda to: scores(to, 300, 1000), ("data.csv",), ("leaderboard", "data.csv")),
    "leaderboard 10 x 1,000,000": (
        lambda to: scores(to, 10, 1_000_000, file="data.parquet"),
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
    "arena 33,000 raters": (lambda to: votes(to, 33_000), ("votes.parquet",), ("arena", "votes.parquet")),
    "gap 100 models": (
        lambda to: lab_and_live(to, 100),
        ("lab.csv", "live.csv"),
        ("gap", "--lab", "lab.csv", "--live", "live.csv"),
    ),
    "overview 20 x 1,000": (lambda to: scores(to, 20, 1000), ("data.csv",), ("overview", "data.csv")),
    "audit 20 x 50,000": (lambda to: scores(to, 20, 50_000), ("data.csv",), ("audit", "data.csv")),
    "compare --report": (
        lambda to: scores(to, 2, 200),
        ("data.csv",),
        ("compare", "data.csv", *_TWO, "--report", "page.html"),
    ),
    "compare 100,000 items JSON": (
        lambda to: scores(to, 2, 100_000, file="data.json"),
        ("data.json",),
        ("compare", "data.json", *_TWO),
    ),
    "kendall 5,000": (lambda _: None, (), ("-c", _KENDALL)),
}


def measure(name: str, rounds: int) -> str:
    """Return the line of one command: the least CPU seconds of so many runs and the peak memory, its own and the floor's."""
    _, files, words = COMMANDS[name]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # The peak of a child is at least what its parent held: another process writes the data.
        subprocess.run([sys.executable, "-m", "benchmarks.commands", "--write", name, folder], check=True, cwd=ROOT)
        paths = {file: str(folder / file) for file in files}
        floor = Command([sys.executable, "-c", _FLOOR, *paths.values()], 1, stack)
        program = [sys.executable] if words[0] == "-c" else [sys.executable, "-m", "evalstats"]
        try:
            command = Command([*program, *(paths.get(word, word) for word in words)], 1, stack)
        except ChildProcessError as error:
            return f"{name:32} {error}"
        ours, bare = [command.told["seconds"]], [floor.told["seconds"]]
        for _ in range(rounds - 1):
            bare.append(floor.time())
            ours.append(command.time())
        peaks = command.told["peak_mb"], floor.told["peak_mb"]
    return f"{name:32} {min(ours):8.2f} {peaks[0]:7.0f} {min(bare):8.2f} {peaks[1]:7.0f} {min(ours) / min(bare):7.1f}"


def main() -> None:
    """Print the table; with `--write`, write the data of one command instead."""
    parser = argparse.ArgumentParser(description="CPU seconds and peak memory of whole commands beside a bare parse.")
    parser.add_argument("word", nargs="*", help="measure the commands whose name holds one of these")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each; the best counts")
    parser.add_argument("--write", nargs=2, metavar=("NAME", "FOLDER"), help="write the data of that command there")
    given = parser.parse_args()
    if given.write:
        COMMANDS[given.write[0]][0](Path(given.write[1]))
        return
    print(f"{'command':32} {'CPU s':>8} {'MB':>7} {'floor s':>8} {'MB':>7} {'ratio':>7}")
    for name in COMMANDS:
        if not given.word or any(word in name for word in given.word):
            print(measure(name, given.rounds), flush=True)


if __name__ == "__main__":
    main()
