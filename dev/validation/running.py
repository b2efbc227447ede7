"""Run tasks on all processors, say how far they are, and keep what is done, so that a run broken off goes on."""

import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import joblib
from joblib.externals.loky import get_reusable_executor

from dev.validation.study import Tallies, Tally, Task

ROOT = Path(__file__).resolve().parents[2]


class Done(NamedTuple):
    """What one task found; `place` is where it stands among the tasks."""

    place: int
    tallies: Tallies


class Journal:
    """What is done of one question, a line a task, as long as the code is the one that did it.

    A line that was being written when the run was broken off is no JSON, and its task is done again.
    """

    def __init__(self, path: Path, *, code: str) -> None:
        self._path, self._code = path, code
        self._done = dict(self._read())

    def of(self, task: Task) -> Tallies | None:
        """Return what a task found in an earlier run; None where it was not done."""
        return self._done.get((task.cell, task.part))

    def add(self, task: Task, tallies: Tallies) -> None:
        """Keep what a task found."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rows = [[case, method, *tally] for (case, method), tally in tallies.items()]
        line = json.dumps({"code": self._code, "cell": task.cell, "part": task.part, "tallies": rows})
        with self._path.open("a", encoding="utf-8") as file:
            # The line break comes first: so a torn line spoils no other.
            file.write(f"\n{line}")

    def remove(self) -> None:
        """Forget all, where the whole run is done."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> Iterator[tuple[tuple[str, int], Tallies]]:
        if not self._path.exists():
            return
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                kept = json.loads(line)
            except ValueError:
                continue
            if kept["code"] == self._code:
                tallies = {(case, method): Tally(*rest) for case, method, *rest in kept["tallies"]}
                yield (kept["cell"], kept["part"]), tallies


def digest_of_code(folders: Sequence[Path] = (ROOT / "evalstats", ROOT / "dev" / "validation")) -> str:
    """Return a digest of all that a simulation could depend on: the modules and data of the package, and the simulations."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.*")):
            stored = path.parent.name == "validation" and path.suffix == ".json"  # what is made, nothing simulated from
            if path.suffix in (".py", ".toml", ".csv", ".json") and not stored:
                found.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def run(tasks: Sequence[Task], *, jobs: int, journal: Journal | None = None) -> list[Tallies]:
    """Do all tasks that are not done; what comes back is in the order of the tasks, whatever the number of processes."""
    found: dict[int, Tallies] = {}
    if journal is not None:
        kept = ((place, journal.of(task)) for place, task in enumerate(tasks))
        found = {place: tallies for place, tallies in kept if tallies is not None}
        if found:
            sys.stderr.write(f"{len(found)} of {len(tasks)} parts are done from an earlier run\n")
    left = [(place, task) for place, task in enumerate(tasks) if place not in found]
    for done in _told(_worked(left, jobs), tasks, found):
        if journal is not None:
            journal.add(tasks[done.place], done.tallies)
        found[done.place] = done.tallies
    return [found[place] for place in range(len(tasks))]


def processor_seconds() -> float:
    """Return the seconds of processor that this run has taken so far, its finished processes included."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _worked(left: Sequence[tuple[int, Task]], jobs: int) -> Iterator[Done]:
    if jobs <= 1 or len(left) <= 1:
        yield from map(_done, left)
        return
    # Part by part, since one takes seconds and what is done must be kept; or where `joblib.parallel_config` says.
    spread = joblib.Parallel(n_jobs=min(jobs, len(left)), batch_size=1, return_as="generator_unordered")
    yield from spread(joblib.delayed(_done)(placed) for placed in left)
    # The time of processes counts once they have ended.
    get_reusable_executor().shutdown(wait=True)


def _done(placed: tuple[int, Task]) -> Done:
    place, task = placed
    return Done(place, task.work())


def _told(results: Iterable[Done], tasks: Sequence[Task], found: Mapping[int, Tallies]) -> Iterator[Done]:
    """Pass results on and print each cell when it is complete."""
    began = time.monotonic()
    left = Counter((task.study, task.cell) for place, task in enumerate(tasks) if place not in found)
    for number, done in enumerate(results, start=len(found) + 1):
        yield done
        task = tasks[done.place]
        left[task.study, task.cell] -= 1
        if not left[task.study, task.cell]:
            passed = time.monotonic() - began
            sys.stderr.write(f"{passed:6.0f} s  {100 * number // len(tasks):3d}%  {task.study}: {task.cell}\n")
            sys.stderr.flush()
