"""A process that reads damaged files and saved results and runs command lines, and says of each what became of it.

Of its own, so that a crash of the interpreter is a finding and not the end, and that memory can be limited.
"""

import contextlib
import gzip
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evalstats as es
from evalstats.analysis.saved import load_result
from evalstats.errors import EvalStatsError
from tests.loaders.damage import KINDS, Mutation, damaged

SECONDS = 30
MOST_BYTES = 6 << 30
STATUSES = {0, 1, 2, 3}
# Our words for what nobody foresaw: reading goes on with the other files, but it is a fault of ours.
_UNFORESEEN = re.compile(r"could not be (?:read|stored) .*\((?!UnreadableFileError)\w+: |failed to (?:look|group)")
_LOADED = {"csv": "x.csv", "jsonl": "x.jsonl", "yaml": "x.yml", "yml": "x.yml"}


class HangError(BaseException):
    """Raised by an alarm; no `except Exception` swallows it."""


def ring(_number: int, _frame: object) -> None:
    raise HangError("still at work when its time was over")


def mutations(rng: random.Random) -> list[Mutation]:
    return [(rng.choice(KINDS), rng.randrange(1 << 20), rng.randrange(1 << 20)) for _ in range(rng.randint(1, 3))]


def changed(name: str, data: bytes, rng: random.Random) -> bytes:
    """Damage a file by what it holds or by its bytes; one that is packed is damaged inside, or as it is."""
    packed = name.endswith(".gz")
    if packed and rng.random() < 0.8:
        return gzip.compress(changed(name.removesuffix(".gz"), gzip.decompress(data), rng), 1)
    ending = name.rpartition(".")[2].lower()
    try:
        return damaged(_LOADED.get(ending, f"x.{ending}"), data, mutations(rng))
    except NotImplementedError:  # an archive packed in a way that the library cannot write
        return damaged("x.bin", data, [("flip", rng.randrange(1 << 20), rng.randrange(8))])


def read_file(path: Path, seed: int) -> None:
    rng = random.Random(f"{path.name} {seed}")  # noqa: S311 - damage, no secrets
    with tempfile.TemporaryDirectory() as folder:
        # Some formats are told by their folder.
        copy = Path(folder, path.parent.name, path.name)
        copy.parent.mkdir()
        copy.write_bytes(changed(path.name, path.read_bytes(), rng))
        data = es.read(copy)
        for problem in data.problems:
            if _UNFORESEEN.search(problem.message):
                raise AssertionError(problem.message)
        scored = data.outcomes["status"] == "scored"
        assert (data.outcomes["score"].is_not_null() == scored).all()
        assert data.outcomes["score"].drop_nulls().is_finite().all()


def like(value: object, rng: random.Random) -> object:
    """Return another value of the same type: what no check of types finds."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((0, 1, -1, 2, value + 1, -value, 10**6, 2**53))
    if isinstance(value, float):
        return rng.choice((0.0, -value, 1.0, -1.0, 0.5, value * 1e6, 1e308, -1e308, 5e-324))
    if isinstance(value, str):
        return rng.choice(("", "x", value + "x", "a" * 3_000, "\x1b[31m", "é😀", "<b>", value[:-1]))
    if isinstance(value, list):
        return rng.choice(([], value[:1], value[1:], value * 2, value[::-1]))
    return None


def alike(data: bytes, rng: random.Random) -> bytes:
    """Replace one to three values of a saved result by others of their type, or by null."""
    document = json.loads(data)
    for _ in range(rng.randint(1, 3)):
        places: list[tuple[Any, Any]] = []
        queue = [document]
        while queue:
            held = queue.pop()
            keys = held.keys() if isinstance(held, dict) else range(len(held)) if isinstance(held, list) else ()
            places += [(held, key) for key in keys if key != "result"]
            queue += [held[key] for key in keys]
        holder, key = rng.choice(places)
        holder[key] = None if rng.random() < 0.2 else like(holder[key], rng)
    return json.dumps(document).encode()


def read_result(path: Path, seed: int) -> None:
    rng = random.Random(f"{path.name} {seed}")  # noqa: S311 - damage, no secrets
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "r.json")
        change = changed(path.name, path.read_bytes(), rng) if seed % 3 == 0 else alike(path.read_bytes(), rng)
        copy.write_bytes(change)
        result = load_result(copy)
        assert result.summary()
        result.to_markdown()
        result.to_frame()


def run_command(arguments: list[str]) -> None:
    """Run a command line; AssertionError if it ends in a way that none may end."""
    from evalstats.cli.main import main

    sys.argv = ["evalstats", *arguments]
    out, err = io.StringIO(), io.StringIO()
    status: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as error:
            status = error.code or 0
    lines = [line for line in err.getvalue().splitlines() if line.strip()]
    assert status in STATUSES, f"status {status}: {' | '.join(lines[-8:])}"
    assert status != 1 or any(each.startswith("--fail-on") for each in arguments), f"status 1: {lines[-3:]}"
    assert status == 0 or lines, f"status {status} without a word"


WORK: dict[str, Callable[..., None]] = {
    "file": lambda job: read_file(Path(job["path"]), job["seed"]),
    "result": lambda job: read_result(Path(job["path"]), job["seed"]),
    "command": lambda job: run_command(job["arguments"]),
}


def outcome(job: dict[str, object]) -> str:
    """Say what became of a job: read, refused, or the crash."""
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, float(str(job.get("seconds", SECONDS))))
    try:
        WORK[str(job["kind"])](job)
    except EvalStatsError as error:
        return f"crash: {error}" if _UNFORESEEN.search(str(error)) else "refused"
    except BaseException as error:  # noqa: BLE001 - whatever else comes is a finding
        where = [frame for frame in traceback.extract_tb(error.__traceback__) if "evalstats/" in frame.filename]
        at = f" at {Path(where[-1].filename).name}:{where[-1].lineno}" if where else ""
        return f"crash: {type(error).__name__}: {str(error)[:400]}{at}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "read"


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        for line in sys.stdin:
            job = json.loads(line)
            start = time.monotonic()
            said = outcome(job)
            print(json.dumps([said, time.monotonic() - start]), file=answers, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
