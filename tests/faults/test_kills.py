"""A process killed at any moment: the store opens, and nothing is lost that was reported as written; no page is half there."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import evalstats as es
from evalstats.store.manifest import INCOMING
from evalstats.store.read import open_store
from tests.faults.stores import result_files, what_is_wrong
from tests.tally import Tally

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals and forks are POSIX")]

# A process that has imported everything, and forks one for each line: the import takes longer than what is killed.
_SERVER = """
import json, os, signal, sys, time
from pathlib import Path
import evalstats.cli.main
from evalstats.cli.ingest_run import ingest
from evalstats.errors import EvalStatsError
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import loaders
loaders()

def work(order):
    columns = ColumnMap.from_options(order["map"]) if order["map"] else None
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    files = sorted(Path(order["src"]).iterdir())
    def on_progress(done, total, path):
        os.write(log, ("".join(f"{file.stem}\\n" for file in files[:done])).encode())
    evalstats.cli.main._end_well_when_told_to()
    ingest(files, order["store"], column_map=columns, on_progress=on_progress)

for line in sys.stdin:
    orders = json.loads(line)
    children = []
    for order in orders:
        child = os.fork()
        if not child:
            status = 70
            try:
                work(order)
                status = 0
            except SystemExit as error:
                status = error.code
            except EvalStatsError as error:
                print(error, file=sys.stderr)
                status = 2
            finally:
                os._exit(status)
        children.append(child)
    start = time.monotonic()
    if orders[0]["signal"]:
        time.sleep(orders[0]["delay"])
        for child in children:
            os.kill(child, orders[0]["signal"])
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps([ended, time.monotonic() - start]), flush=True)
"""
N_KILLS, N_STOPS, N_PAIRS, N_REPORTS = 200, 50, 40, 50
_MODELS = 12


class Server:
    """Lets a process ingest, and may kill it on the way."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, *orders: dict[str, object], number: int = 0, delay: float = 0.0) -> tuple[list[int], float]:
        lines = [{"map": [], **order, "signal": number, "delay": delay} for order in orders]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(lines) + "\n")
        self._process.stdin.flush()
        statuses, seconds = json.loads(self._process.stdout.readline())
        return statuses, seconds


@contextmanager
def serving() -> Iterator[Server]:
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environment
    ) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()


def seeded(name: str) -> random.Random:
    return random.Random(name)  # noqa: S311 - moments, no secrets


def reported(log: Path) -> set[str]:
    return set(log.read_text().split()) if log.exists() else set()


@pytest.mark.parametrize(("how", "n"), [("SIGKILL", N_KILLS), ("SIGTERM", N_STOPS)])
def test_ingest_killed_at_any_moment(tmp_path: Path, tally: Tally, how: str, n: int) -> None:
    """Kill it on an empty store, on one half full, and while readings take the place of earlier ones."""
    src, name, rng = result_files(tmp_path / "src", _MODELS), f"ingest, {how}", seeded(how)
    with serving() as server:
        _, whole = server.run({"src": str(src), "store": str(tmp_path / "first"), "log": str(tmp_path / "log-first")})
        for k in range(n):
            if k % 5 == 0:
                store, known = tmp_path / f"store-{k}", set[str]()
            log = tmp_path / f"log-{k}"
            order = {"src": str(src), "store": str(store), "log": str(log), "map": ["benchmark=level"] * (k % 5 > 2)}
            [status], _ = server.run(order, number=getattr(signal, how), delay=rng.uniform(0, 1.05 * whole))
            tally.tried(name)
            # It may be done before the signal comes, or the signal comes before it listens to it.
            if status not in {0, -getattr(signal, how), 128 + getattr(signal, how)}:
                tally.failed(name, f"status {status}")
            known |= reported(log)
            wrong = what_is_wrong(store, known)
            if wrong:
                tally.failed(name, wrong)
            if how == "SIGTERM" and (store / INCOMING).is_dir() and any((store / INCOMING).iterdir()):
                tally.failed(name, "leaves unfinished folders")
            if k % 5 == 4:
                [status], _ = server.run(order)
                if status or what_is_wrong(store, {f"m{m}" for m in range(_MODELS)}):
                    tally.failed(name, f"does not go on after a kill: {status}")


def test_two_writers(tmp_path: Path, tally: Tally) -> None:
    """Two at once ingest the same files, and copies of them elsewhere that hold the same runs; then one is killed."""
    src, name, rng = result_files(tmp_path / "src", _MODELS), "two writers", seeded("two")
    shutil.copytree(src, tmp_path / "copy" / "src")
    with serving() as server:
        for k in range(N_PAIRS):
            store, logs = tmp_path / f"store-{k}", [tmp_path / f"log-{k}-{n}" for n in range(2)]
            folders = (src, tmp_path / "copy" / "src" if k % 2 else src)
            orders = [
                {"src": str(folder), "store": str(store), "log": str(log)}
                for folder, log in zip(folders, logs, strict=True)
            ]
            statuses, _ = server.run(*orders, number=signal.SIGKILL * (k % 4 > 1), delay=rng.uniform(0, 0.3))
            tally.tried(name)
            wrong = what_is_wrong(store, reported(logs[0]) | reported(logs[1]))
            if wrong or not set(statuses) <= {0, -signal.SIGKILL}:
                tally.failed(name, wrong or f"statuses {statuses}")


@pytest.mark.parametrize(("how", "n"), [("SIGKILL", N_REPORTS // 2), ("SIGTERM", N_REPORTS // 2)])
def test_report_killed_at_any_moment(tmp_path: Path, tally: Tally, how: str, n: int) -> None:
    """Nothing of the results stays in the folder for temporary files, and beside the page is no half of it."""
    name, rng, number = f"report, {how}", seeded(how), getattr(signal, how)
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    out.mkdir()
    temporary.mkdir()
    es.compare(es.datasets.tenacious_held_out(), "baseline", "trained").save(tmp_path / "r.json")
    command = [sys.executable, "-m", "evalstats", "report", str(tmp_path / "r.json"), "-o", str(out / "page.html")]
    options = {"env": {**os.environ, "TMPDIR": str(temporary)}, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    start = time.monotonic()
    subprocess.run(command, check=True, **options)
    whole, page = time.monotonic() - start, (out / "page.html").read_bytes()
    for k in range(n):
        if k % 2:
            (out / "page.html").write_bytes(b"an earlier page")
        else:
            (out / "page.html").unlink(missing_ok=True)
        with subprocess.Popen(command, **options) as process:
            time.sleep(rng.uniform(0, 1.05 * whole))
            process.send_signal(number)
            process.communicate()
        tally.tried(name)
        end = time.monotonic() + 20
        while any(temporary.iterdir()) and time.monotonic() < end:
            time.sleep(0.1)
        left = [*temporary.iterdir(), *(path for path in out.iterdir() if path.name != "page.html")]
        if left:
            tally.failed(name, f"leaves {left[0].name}")
        if (out / "page.html").exists() and len((out / "page.html").read_bytes()) not in {len(page), 15}:
            tally.failed(name, "half a page")


def test_a_store_that_was_never_touched_is_what_the_checks_call_sound(tmp_path: Path) -> None:
    """The checks above can fail: a model that is missing, and one of whose rows some are."""
    src = result_files(tmp_path / "src", 2)
    with serving() as server:
        [status], _ = server.run({"src": str(src), "store": str(tmp_path / "store"), "log": str(tmp_path / "log")})
    assert status == 0
    assert reported(tmp_path / "log") == {"m0", "m1"}
    assert what_is_wrong(tmp_path / "store", {"m0", "m1"}) is None
    assert what_is_wrong(tmp_path / "store", {"m2"}) == "lost: ['m2']"
    shutil.rmtree(open_store(tmp_path / "store").sources()[0].folder)
    assert what_is_wrong(tmp_path / "store", {"m0", "m1"}) == "lost: ['m0']"
