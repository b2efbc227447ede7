"""Measure a case: every side in a process of its own, one repetition of each in turn, in processor seconds.

Nothing heavy is imported here: what the kernel says of a child's memory includes what its parent held.
"""

import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks.cases import OURS, Case, Peer

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "benchmarks"
Row = dict[str, Any]
# One thread for all: what a package gains by many is another question.
_ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
_OFTEN, _SOME, _SELDOM = 5, 3, 1  # repetitions of what takes under half a second, under five, and more


class Side(Protocol):
    """One package on one problem."""

    rounds: int
    told: Row

    def time(self) -> float:
        """Return the processor seconds of one more call."""
        ...


@dataclass
class Kernel:
    """A function that a process of its own holds ready."""

    command: list[str]
    rounds: int
    stack: ExitStack
    told: Row = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._process = self.stack.enter_context(
            subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env=_environment(),
            )
        )
        self.told = self._read()
        self.told["seconds"] /= self.rounds

    def time(self) -> float:
        """Ask for one more timing, per round."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._read()["seconds"] / self.rounds

    def _read(self) -> Row:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
        _, said = self._process.communicate()
        raise ChildProcessError(f"{' '.join(self.command[:4])}: {(said.strip() or 'ended').splitlines()[-1]}")


@dataclass
class Command:
    """A program that is run anew each time."""

    command: list[str]
    rounds: int
    stack: ExitStack
    told: Row = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self._runs = 0
        self.told = {"seconds": 0.0, "peak_mb": 0.0, "answer": []}
        self.told["seconds"] = self.time()

    def time(self) -> float:
        """Run the program once, and wait for it."""
        self._runs += 1
        words = [word.replace("{fresh}", str(self._folder / f"{self._runs}")) for word in self.command]
        with (self._folder / "said").open("w+", encoding="utf-8") as said:
            process = subprocess.Popen(words, stdout=said, stderr=said, cwd=self._folder, env=_environment())
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                raise ChildProcessError(f"{' '.join(words[:3])}: {said.read()[-300:]}")
        self.told["peak_mb"] = max(self.told["peak_mb"], used.ru_maxrss / 1024)
        return used.ru_utime + used.ru_stime


def measure(case: Case, size: int, packages: tuple[str, ...] | None = None, *, often: int = 1) -> Iterator[Row]:
    """Yield a row for our side and each of the others at this size; the seconds are medians.

    A ratio is the median of the ratios of each repetition to our repetition just before it, so that a machine that slows
    down meanwhile slows both. `often` multiplies the repetitions.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        _python("problems", case.problem, str(size), folder)
        sides: dict[str, Side] = {}
        notes: dict[str, str] = {}
        asked = [peer for peer in case.peers if size <= peer.most and (packages is None or peer.package in packages)]
        for peer in (Peer(package=OURS, run=case.run, most=size, environment="ours", rounds=case.rounds), *asked):
            try:
                sides[peer.package] = _side(peer, folder, stack)
            except (ChildProcessError, FileNotFoundError) as error:
                if peer.package == OURS:
                    raise
                notes[peer.package] = str(error)
        seconds, ratios = _repeat(sides, often)
        misses = _misses(case, folder, sides)
        for name, side in sides.items():
            yield {
                "case": case.name,
                "size": size,
                "package": name,
                "seconds": _digits(statistics.median(seconds[name])),
                "ratio": None if name == OURS else _digits(statistics.median(ratios[name])),
                "repeats": len(seconds[name]),
                "miss": _digits(misses.get(name)),
                "peak_mb": _digits(side.told["peak_mb"]),
                "version": side.told.get("version"),
            }
        for name, why in notes.items():
            yield {"case": case.name, "size": size, "package": name, "seconds": None, "why": why[:200]}


def laid_out(stored: Mapping[str, Any]) -> str:
    """Return the stored figures as JSON with one measurement a line."""
    parts = [json.dumps({name: stored[name] for name in ("date", "machine", "packages")}, indent=1)[:-2]]
    for name in ("commands", "rows"):
        rows = ",\n".join(f"  {json.dumps(row)}" for row in stored.get(name, []))
        parts.append(f' "{name}": [\n{rows}\n ]')
    return ",\n".join(parts) + "\n}\n"


def machine() -> Row:
    """Return what the figures depend on, besides the packages."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        named = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = named[0] if named else model
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": _digits(os.getloadavg()[0]),
    }


def missing() -> list[str]:
    """Return the environments that are not there, each with how it comes there."""
    there = {
        "science": _python_of("science").exists(),
        "namesake": _python_of("namesake").exists(),
        "R": shutil.which("Rscript") is not None,
    }
    ways = {"R": "R with lme4 is not on the path"}
    return [
        ways.get(name, f"no environment {name}: make .peers/stamp") for name, is_there in there.items() if not is_there
    ]


def _repeat(sides: Mapping[str, Side], often: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return the seconds of each side, and its ratios to ours, repetition by repetition in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    ratios: dict[str, list[float]] = {name: [] for name in sides}
    planned = {name: often * _repeats(side.told["seconds"] * side.rounds) for name, side in sides.items()}
    planned[OURS] = max(planned.values()) if _repeats(sides[OURS].told["seconds"]) == _OFTEN else planned[OURS]
    for k in range(max(planned.values())):
        for name, side in sides.items():
            if k < planned[name]:
                seconds[name].append(side.time())
                ratios[name].append(seconds[name][-1] / seconds[OURS][-1])
    return seconds, ratios


def _repeats(seconds: float) -> int:
    return _OFTEN if seconds < 0.5 else _SOME if seconds < 5 else _SELDOM


def _side(peer: Peer, folder: str, stack: ExitStack) -> Side:
    if isinstance(peer.run, tuple):
        program, *words = peer.run
        filled = [word.replace("{folder}", folder).replace("{here}", str(HERE)) for word in words]
        return Command([str(_python_of(peer.environment).with_name(program)), *filled], peer.rounds, stack)
    if peer.environment == "R":
        program = shutil.which("Rscript")
        if program is None:
            raise FileNotFoundError("R is not on the path")
        return Kernel([program, str(HERE / "lme4.R"), peer.run, folder], peer.rounds, stack)
    python = str(_python_of(peer.environment))
    # By its path, so that `import evalstats` finds the package of that environment and not this folder's.
    start = ["-m", "benchmarks.worker", "ours"] if peer.package == OURS else [str(HERE / "worker.py"), "peers"]
    return Kernel([python, *start, peer.run, folder, peer.package], peer.rounds, stack)


def _misses(case: Case, folder: str, sides: Mapping[str, Side]) -> dict[str, float]:
    if not case.truth:
        return {}
    answers = json.dumps({name: side.told["answer"] for name, side in sides.items()})
    return json.loads(_python("truth", case.truth, folder, given=answers))


def _python(module: str, *arguments: str, given: str | None = None) -> str:
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, input=given, cwd=ROOT).stdout


def _python_of(environment: str) -> Path:
    return Path(sys.executable) if environment == "ours" else ROOT / ".peers" / environment / "bin" / "python"


def _environment() -> dict[str, str]:
    # A command that may not store what it compiled would compile the whole package each time.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **_ONE_THREAD, "COLUMNS": "100", "NO_COLOR": "1"}


def _digits(value: float | None) -> float | None:
    """Three digits: more would be noise."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.3g}")
