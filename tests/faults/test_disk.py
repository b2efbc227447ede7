"""A full disk and folders without rights: what was reported is there, nothing is called damaged, and it is said what to do."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import evalstats as es
from evalstats.cli.ingest_run import ingest
from evalstats.errors import StoreError
from tests.faults.stores import result_files, sound_store, what_is_wrong
from tests.tally import Tally

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can mount a disk or be without its rights"
    ),
]


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a disk in memory of this size; the test is skipped where that is not possible."""
    folder.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here; tests/store/test_write.py limits the size of files instead")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_ingest_onto_a_full_disk(tmp_path: Path, tally: Tally) -> None:
    """After more space is there the same ingest goes through."""
    src = result_files(tmp_path / "src", 8)
    files, done = sorted(src.iterdir()), list[str]()

    def on_progress(n: int, _total: int, _path: Path) -> None:
        done.extend(file.stem for file in files[:n])

    for kilobytes in range(8, 408, 8):
        with small_disk(tmp_path / "disk", kilobytes) as disk:
            done.clear()
            tally.tried("ingest, full disk")
            try:
                ingest(files, disk / "store", on_progress=on_progress)
            except StoreError as error:
                if "space" not in str(error):
                    tally.failed("ingest, full disk", str(error))
            wrong = what_is_wrong(disk / "store", set(done))
            if wrong:
                tally.failed("ingest, full disk", f"{kilobytes} kB: {wrong}")
            subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
            ingest(files, disk / "store")
            wrong = what_is_wrong(disk / "store", {file.stem for file in files})
            if wrong:
                tally.failed("ingest, full disk", f"{kilobytes} kB, after more space: {wrong}")


def test_a_report_with_a_full_folder_for_temporary_files(tmp_path: Path, tally: Tally) -> None:
    es.compare(es.datasets.tenacious_held_out(), "baseline", "trained").save(tmp_path / "r.json")
    page = tmp_path / "page.html"
    for kilobytes in (4, 16, 64, 128, 256, 512, 1024, 1536):
        for where in ("temporary", "output"):
            page.unlink(missing_ok=True)
            with small_disk(tmp_path / "disk", kilobytes) as disk:
                to = disk / "page.html" if where == "output" else page
                run = subprocess.run(
                    [sys.executable, "-m", "evalstats", "report", str(tmp_path / "r.json"), "-o", str(to)],
                    env={**os.environ, **({"TMPDIR": str(disk)} if where == "temporary" else {})},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                name = f"report, full {where} folder"
                tally.tried(name)
                whole = to.exists() and to.read_text().rstrip().endswith("</html>")
                if run.returncode not in {0, 2} or (run.returncode == 0) != whole or (to.exists() and not whole):
                    tally.failed(name, f"{kilobytes} kB: status {run.returncode}: {run.stderr[-300:]}")
                elif run.returncode and "space" not in run.stderr:
                    tally.failed(name, f"{kilobytes} kB: {run.stderr[-300:]}")
                if [*disk.iterdir()] not in ([], [to]):
                    tally.failed(name, f"leaves {next(disk.iterdir()).name}")


def without_rights(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command as a root to whom the rights of files apply: another user might not reach this Python."""
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv here, which takes root's right to all files")
    return subprocess.run(
        [
            "setpriv",
            "--bounding-set=-dac_override,-dac_read_search",
            "--",
            sys.executable,
            "-m",
            "evalstats",
            *arguments,
        ],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_folders_without_rights(tmp_path: Path, tally: Tally) -> None:
    """What may not be read is not called damaged, and nobody is told to delete it."""
    store = sound_store(tmp_path)
    source = next(iter(sorted((store / "sources").iterdir())))
    commands = [["store", str(store), "check"], ["store", str(store), "repair"], ["store", str(store)]]
    commands += [["leaderboard", "--store", str(store)], ["ingest", str(tmp_path / "src"), "--store", str(store)]]
    places = [store, store / "evalstats-store.json", store / "sources", source, source / "manifest.json"]
    for place in [*places, *sorted(source.glob("*.parquet"))]:
        rights = place.stat().st_mode
        for command in commands:
            place.chmod(0o000)
            run = without_rights(*command, folder=tmp_path)
            place.chmod(rights)
            name = "no right to read"
            tally.tried(name)
            told = run.stderr.lower()
            unread = place.suffix == ".parquet" and command[0] in {"store", "ingest"} and run.returncode == 0
            if not unread and (run.returncode != 2 or ("denied" not in told and "not readable" not in told)):
                tally.failed(name, f"{place.name}: {' '.join(command)}: {run.returncode} {run.stderr}")
            if "delete" in told or "is damaged" in told or "ingest its file again" in told:
                tally.failed(name, f"{place.name}: {' '.join(command)}: {run.stderr}")
            wrong = what_is_wrong(store, {"m0", "m1"})
            if wrong:
                tally.failed(name, wrong)


def test_folders_that_may_not_be_written(tmp_path: Path, tally: Tally) -> None:
    store = sound_store(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "m9.csv").write_text("item,model,score\nq1,m9,1\n")
    es.compare(es.datasets.tenacious_held_out(), "baseline", "trained").save(tmp_path / "r.json")
    written = [tmp_path, *tmp_path.rglob("*")]
    for path in written:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for command in (
        ["ingest", "more", "--store", "store"],
        ["ingest", "more", "--store", "new"],
        ["store", "store", "remove", "m0.m0"],
        ["report", "r.json", "-o", "page.html"],
        ["compare", "--store", "store", "m0", "m1", "--output", "answer.txt"],
        ["export", "src", "--to", "csv", "--output", "out"],
    ):
        run = without_rights(*command, folder=tmp_path)
        tally.tried("no right to write")
        if run.returncode != 2 or "Traceback" in run.stderr:
            tally.failed("no right to write", f"{' '.join(command)}: {run.returncode} {run.stderr}")
    assert {tmp_path, *tmp_path.rglob("*")} == set(written)
    assert what_is_wrong(store, {"m0", "m1"}) is None
