"""Real and shipped files, saved results and command lines, damaged in all ways we know: read, or refused in our words.

In bounded time and memory; any other end is a crash of ours. `tests/loaders/test_fuzz.py` does the same with small made files.
"""

import json
import os
import queue
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import evalstats
from evalstats.analysis.result import Result
from evalstats.errors import EvalStatsError
from evalstats.loaders.registry import plan
from evalstats.report.examples import EXAMPLES
from tests.frozen.cases import CASES
from tests.tally import Tally

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="limits of memory are POSIX")]

# How many inputs in all; a longer run: EVALSTATS_FUZZ=10.
_TIMES = float(os.environ.get("EVALSTATS_FUZZ", "1"))
N_FILES, N_RESULTS, N_COMMANDS = (int(n * _TIMES) for n in (2_000, 1_500, 500))
_SECONDS = 300
_LARGEST = 200_000
_SHIPPED = Path(evalstats.__file__).parent / "datasets"


class Worker:
    """The process that does the work, started anew where it died."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        environment = {**os.environ, "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).parents[2],
            env=environment,
            encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process, self._lines), daemon=True).start()

    @staticmethod
    def _listen(process: "subprocess.Popen[str]", lines: "queue.Queue[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def does(self, job: dict[str, Any]) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=_SECONDS)
        except queue.Empty:
            line = ""
        if line:
            return json.loads(line)[0]
        self.close()
        self._start()
        return "crash: the process died, or was still at work after five minutes"

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def working() -> Iterator[Worker]:
    worker = Worker()
    try:
        yield worker
    finally:
        worker.close()


def fuzzed(tally: Tally, jobs: list[tuple[str, dict[str, Any]]]) -> None:
    """Do the jobs and count the crashes, each told once."""
    told: set[tuple[str, str]] = set()
    refused = dict.fromkeys((name for name, _ in jobs), 0)
    with working() as worker:
        for name, job in jobs:
            tally.tried(name)
            said = worker.does(job)
            refused[name] += said == "refused"
            if said.startswith("crash"):
                tally.failed(name, said + ("" if (name, said) in told else f" ({json.dumps(job)})"))
                told.add((name, said))
    log = os.environ.get("EVALSTATS_FUZZ_LOG")
    if log:
        Path(log).write_text("\n".join(f"{name}\t{what}" for name, found in tally.failures.items() for what in found))
    # Neither may be all: then nothing was damaged, or nothing was read.
    assert 0 < sum(refused.values()) < len(jobs)


def by_format(folders: list[Path]) -> dict[str, list[Path]]:
    """Return small files by the format they are read as, at most three of each."""
    found: dict[str, list[Path]] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        if not 0 < path.stat().st_size <= _LARGEST:
            continue
        try:
            planned, _ = plan([path])
        except EvalStatsError:
            continue
        for part in planned:
            found.setdefault(part.loader.name, []).append(path)
    return {name: sorted(paths, key=lambda path: path.stat().st_size)[-3:] for name, paths in sorted(found.items())}


def test_damaged_real_files(shared_data: Path, tally: Tally) -> None:
    found = by_format([shared_data, _SHIPPED])
    assert len(found) > 10
    each = max(1, N_FILES // len(found))
    jobs = [
        (f"files: {name}", {"kind": "file", "path": str(paths[seed % len(paths)]), "seed": seed})
        for name, paths in found.items()
        for seed in range(each)
    ]
    fuzzed(tally, jobs)


def test_damaged_results(tmp_path: Path, tally: Tally) -> None:
    """Every kind of result, as saved: other bytes, other types, and other values of the same type."""
    paths: list[Path] = []
    for name, make in {**CASES, **EXAMPLES}.items():
        result = make()
        if isinstance(result, Result):
            paths.append(tmp_path / f"{type(result).__name__} {name}.json")
            result.save(paths[-1])
    jobs = [
        (f"results: {path.name.partition(' ')[0]}", {"kind": "result", "path": str(path), "seed": seed})
        for path in paths
        for seed in range(max(1, N_RESULTS // len(paths)))
    ]
    fuzzed(tally, jobs)


# What stands behind an option: names of the file, numbers of every size, and what is neither.
_VALUES = (
    *(
        "a",
        "b",
        "item",
        "score",
        "level",
        "model",
        "correct",
        "none",
        "all",
        "auto",
        "json",
        "csv",
        "latex",
        "markdown",
    ),
    *(
        "0",
        "1",
        "-1",
        "2",
        "3",
        "10",
        "0.05",
        "0.5",
        "0.95",
        "1.5",
        "5pp",
        "1e-300",
        "1e308",
        "1e400",
        "nan",
        "inf",
        "-inf",
    ),
    *(
        "",
        " ",
        "=",
        "a=b",
        "level=1",
        "level=",
        "item=item",
        "x" * 5_000,
        "\x1b[31m",
        "é",
        "😀",
        "*",
        "^.*$",
        "[",
        "(",
        "{}",
    ),
    *(
        "../x",
        "nowhere.csv",
        "data.csv",
        "2024-01-01",
        "9999-99-99",
        "99999999999999999999",
        "score ~ model + (1|item)",
        "~",
    ),
    *(
        "half",
        "davidson",
        "max-t",
        "holm",
        "tango",
        "mcnemar",
        "worse",
        "better",
        "error",
        "run",
        "missing",
        "equal",
        "macro",
    ),
)
# Where something is written: files and folders, some of which are there, and what no file can be called.
_PLACES = (
    "new", "new.html", "new.pdf", "new.csv", "new/deeper/x.json", "data.csv", "src", "store", "data.csv/x", "", " ", "-", ".",
    "x" * 300 + ".html", "\x1b[31m.html", "é😀.html", "new\n.html", "new.docx", "/dev/full", "/proc/x", "nowhere/../new.json",
)  # fmt: skip
_WRITES = {"--output", "-o", "--report", "--junit", "--key-file", "--store"}
# Rounds and sizes are as many as one asks for, however long they take: small ones, and those that no machine has room for.
_REPEATS = {"--resamples", "--bootstrap", "--votes", "--models", "--users", "--items", "--event-size"}
_COUNTS = ("0", "1", "-1", "2", "7", "100", "1e3", "nan", "", "x", "99999999999999999999", "9223372036854775807")
# Options that name what to do take a right value half of the time: else hardly a line gets any further.
_RIGHT = {
    "--to": ("html", "pdf", "csv", "json", "parquet", "eee"),
    "--engine": ("embedded", "polars", "duckdb"),
    "--live": ("outcomes", "votes", "published"),
    "--gap": ("sim-model-01=-0.15", "lab-01=0.2"),
}
_SIMULATED = ("rutbench", "harmamp", "devicerepair", "arena", "lab-live", "arena", "lab-live", "x", "")
# Pages take many seconds each.
_PAGES, _PAGE_SECONDS = 0.2, 240


def value_for(option: str, folder: Path, rng: random.Random) -> str:
    """Return something to stand behind an option."""
    if option in _WRITES:
        place = rng.choice(_PLACES)
        return place if place.startswith("/") or place in {"", " ", "-", "."} else str(folder / "out" / place)
    if option in _REPEATS:
        return rng.choice(_COUNTS)
    if option in _RIGHT and rng.random() < 0.5:
        return rng.choice(_RIGHT[option])
    return rng.choice(_VALUES)


def subjects(name: str, folder: Path, rng: random.Random) -> list[str]:
    """Return what a command is asked about: files, a benchmark, saved results."""
    if name == "simulate":
        return [rng.choice(_SIMULATED)]
    if name in {"demo", "doctor"}:
        return []
    if name == "label":
        return [rng.choice(["draw", "draw", "status", "read", "x"]), str(folder / "data.csv")]
    if name == "report":
        held = ["r.json", "r.json", "board.json", "data.csv", "new", "page.qmd", "validation", "x", ""]
        return [
            each if each in {"new", "validation", "x", ""} else str(folder / each)
            for each in rng.choices(held, k=rng.randint(1, 2))
        ]
    return [str(folder / rng.choice(["data.csv", "data.csv", "votes.csv", "store", "src"]))]


def command_lines(folder: Path, n: int) -> list[tuple[str, list[str]]]:
    """Return command lines of every command: one to three options, mostly with values that do not belong to them."""
    import typer.main

    from evalstats.cli.main import app

    rng = random.Random(5)  # noqa: S311 - inputs, no secrets
    commands: Any = typer.main.get_command(app)
    names = sorted(commands.commands)
    lines: list[tuple[str, list[str]]] = []
    for k in range(n):
        name = names[k % len(names)]
        options = [p for p in commands.commands[name].params if p.param_type_name == "option"]
        arguments = subjects(name, folder, rng)
        for option in rng.sample(options, min(len(options), rng.randint(1, 3))):
            flag = getattr(option, "is_flag", False)
            written = option.opts[0] if flag else f"{option.opts[0]}={value_for(option.opts[0], folder, rng)}"
            # A page for every second or third line would be all that is tried.
            if option.opts[0] != "--report" or rng.random() < _PAGES:
                arguments.append(written)
        if name in {"simulate", "demo"} and not any(each.startswith("--output=") for each in arguments):
            arguments.append(f"--output={folder / 'out' / 'made'}")
        lines.append((name, [name, *arguments]))
    return lines


def test_odd_command_lines(tmp_path: Path, tally: Tally) -> None:
    """Every option with values that do not belong to it."""
    from evalstats.cli.ingest_run import ingest

    rows = [f"q{k},{m},{(k * p) % 7 % 2},{k % 4},{k * p % 5}" for k in range(40) for p, m in enumerate("abc", 3)]
    (tmp_path / "src").mkdir()
    for place in (tmp_path / "data.csv", tmp_path / "src" / "data.csv"):
        place.write_text("\n".join(["item,model,score,level,cost_usd", *rows]))
    votes = [
        f"{m},{n},{('model_a', 'model_b', 'tie')[(k + p) % 3]}"
        for k in range(20)
        for p, (m, n) in enumerate(("ab", "bc", "ca"))
    ]
    (tmp_path / "votes.csv").write_text("\n".join(["model_a,model_b,winner", *votes]))
    ingest([tmp_path / "src"], tmp_path / "store")
    (tmp_path / "out").mkdir()
    (tmp_path / "page.qmd").write_text("---\ntitle: x\n---\n\n```{python}\n1 +\n```\n")
    evalstats.compare(evalstats.read(tmp_path / "data.csv"), "a", "b").save(tmp_path / "r.json")
    evalstats.leaderboard(evalstats.read(tmp_path / "data.csv")).save(tmp_path / "board.json")
    before = {path.name for path in tmp_path.iterdir()}
    jobs = [
        (f"command: {name}", {"kind": "command", "arguments": arguments, "seconds": _PAGE_SECONDS})
        for name, arguments in command_lines(tmp_path, N_COMMANDS)
    ]
    told = 0
    with working() as worker:
        for name, job in jobs:
            tally.tried(name)
            said = worker.does(job)
            told += said == "read"
            if said.startswith("crash"):
                tally.failed(name, f"{said} ({json.dumps(job['arguments'])[:600]})")
    log = os.environ.get("EVALSTATS_FUZZ_LOG")
    if log:
        Path(log).write_text("\n".join(f"{name}\t{what}" for name, found in tally.failures.items() for what in found))
    assert told
    assert {path.name for path in tmp_path.iterdir()} == before, "something was written where nobody said"
