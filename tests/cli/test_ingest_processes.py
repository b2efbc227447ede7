"""Ingesting by several processes: the same store and the same report as by one, and nothing left of what is ended."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from evalstats.cli import ingest_run
from evalstats.cli.ingest_run import IngestReport, ingest
from evalstats.store.manifest import INCOMING
from evalstats.store.read import open_store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts cores as Linux does")


@pytest.fixture(autouse=True)
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_run, "_BYTES_OF_A_PROCESS", 1)
    monkeypatch.setattr(ingest_run, "_MOST_PROCESSES", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three models, a copy of the first beside it, and a file that cannot be read."""
    folder = tmp_path / "logs"
    for model in "abc":
        (folder / model).mkdir(parents=True)
        rows = "".join(f"q{k},{model},{k % 2}\n" for k in range(20))
        (folder / model / "run.csv").write_text(f"item,model,correct\n{rows}")
    (folder / "a" / "same.csv").write_bytes((folder / "a" / "run.csv").read_bytes())
    (folder / "bad.json").write_text('{"no": "results')
    (folder / "lost.csv").write_text("item,model,correct\nq1,d,1\nq1,d,0\n")
    return folder


def told(report: IngestReport) -> list[tuple[object, ...]]:
    return [(each.path, each.status, each.reason, each.runs, each.rows) for each in report.sources]


def test_the_store_and_the_report_are_those_of_one_process(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []
    report = ingest([logs], tmp_path / "two", on_rows=rows.append)
    monkeypatch.setattr(ingest_run, "_MOST_PROCESSES", 1)
    alone = ingest([logs], tmp_path / "one")
    assert told(report) == told(alone)
    assert {each.status for each in report.sources} == {"loaded", "skipped", "failed"}
    assert sum(rows) == sum(sum(each.rows.values()) for each in report.loaded)
    two, one = (open_store(tmp_path / name).read() for name in ("two", "one"))
    assert two.outcomes.height == sum(each.rows["outcomes"] for each in report.loaded) > 0
    assert two.outcomes.equals(one.outcomes)
    assert two.runs.equals(one.runs)


def test_a_killed_process_leaves_its_sources_unread_and_named(logs: Path, tmp_path: Path) -> None:
    def kill() -> None:
        while len(children := multiprocessing.active_children()) < 2:
            time.sleep(0.01)
        time.sleep(0.05)  # the second has been told what to begin with
        os.kill(children[0].pid or 0, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    report = ingest([logs], tmp_path / "store")
    killer.join()
    reasons = [each.reason for each in report.failed if "was killed" in each.reason]
    assert reasons
    assert len(report.sources) == len(told(ingest([logs], tmp_path / "store")))
    assert not any((tmp_path / "store" / INCOMING).iterdir())


def test_an_interrupt_ends_the_processes(logs: Path, tmp_path: Path) -> None:
    def interrupt(_done: int, _total: int, _path: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest([logs], tmp_path / "store", on_progress=interrupt)
    assert not multiprocessing.active_children()
    assert not any((tmp_path / "store" / INCOMING).iterdir())
