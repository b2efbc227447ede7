"""A rendering leaves nothing behind, whether it ends well, is stopped or is killed, and two of them do not meet."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evalstats.errors import InputError, RenderError
from evalstats.report import render
from evalstats.report.engine import find_quarto
from evalstats.report.examples import example
from evalstats.report.workspace import UNGUARDED, guarded, private_folder, run_program

WORK = """
import sys, time
from pathlib import Path
from evalstats.report.workspace import guarded, private_folder, run_program
with guarded() as guard, private_folder("evalstats-report-", guard) as folder:
    (folder / "result-0.json").write_text("secret")
    part = Path("out.html.part")
    part.write_text("half")
    guard.made(part)
    child = "import pathlib, subprocess, sys, time; pathlib.Path('begun').write_text('x'); time.sleep(60)"
    run_program([sys.executable, "-S", "-c", child], guard=guard, time_limit=60, folder=Path.cwd())
"""
PAGE = """---
title: "Slow"
format:
  evalstats-html: default
jupyter: python3
---

```{{python}}
#| tags: [parameters]
result = "s.json"
engine = ""
rendered = ""
```

```{{python}}
import time
from pathlib import Path
Path({begun!r}).write_text("x")
time.sleep({seconds})
```
"""


def wait_for(found: Callable[[], bool], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def users_of(folder: Path) -> list[str]:
    """Processes that were started with this folder for temporary files and live still."""
    found: list[str] = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if str(folder).encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().decode())
            except OSError:
                continue
    return found


def nothing_left(temporary: Path) -> bool:
    return not list(temporary.iterdir()) and not users_of(temporary)


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc to see which processes live")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_what_a_killed_process_was_at_is_gone(name: str, tmp_path: Path, temporary: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WORK],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.DEVNULL,
    )
    wait_for((tmp_path / "begun").exists)
    assert list(temporary.rglob("result-0.json"))
    os.kill(process.pid, getattr(signal, name))
    assert process.wait(timeout=20) != 0
    wait_for(lambda: nothing_left(temporary), 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "tmp"]


def test_a_program_that_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    child = f"import time, pathlib; time.sleep(1.5); pathlib.Path({str(tmp_path / 'late')!r}).write_text('x')"
    command = [
        sys.executable,
        "-S",
        "-c",
        f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {child!r}])",
    ]
    with guarded() as guard, pytest.raises(subprocess.TimeoutExpired):
        run_program(command, guard=guard, time_limit=0.3)
    time.sleep(1.6)
    assert not (tmp_path / "late").exists()


def test_what_a_program_prints_is_returned_whatever_its_letters(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(b'a\\xff'); sys.exit(3)"
    done = run_program([sys.executable, "-S", "-c", code], guard=UNGUARDED, time_limit=20)
    assert (done.returncode, done.stdout) == (3, "a�")


def test_the_guard_leaves_alone_what_came_to_its_place(tmp_path: Path) -> None:
    with guarded() as guard:
        kept, left = tmp_path / "kept", tmp_path / "left"
        for path in (kept, left):
            path.write_text("x")
            guard.made(path)
        guard.removed(kept)
        with private_folder("evalstats-test-", guard) as folder:
            assert folder.is_dir()
    assert (kept.exists(), left.exists(), folder.exists()) == (True, False, False)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["embedded", "quarto"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_an_interrupted_report_leaves_nothing(engine: str, name: str, tmp_path: Path, temporary: Path) -> None:
    if engine == "quarto" and find_quarto(required=False) is None:
        pytest.skip("Quarto is not on this machine: set QUARTO_PATH or put it on the path")
    example("score").save(tmp_path / "s.json")
    (tmp_path / "p.qmd").write_text(PAGE.format(begun=str(tmp_path / "begun"), seconds=60))
    process = subprocess.Popen(
        [sys.executable, "-m", "evalstats.cli.main", "report", "p.qmd", "-o", "out.html", "--engine", engine],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.DEVNULL,
    )
    wait_for((tmp_path / "begun").exists)
    os.kill(process.pid, getattr(signal, name))
    assert process.wait(timeout=20) == {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -9}[name]
    wait_for(lambda: nothing_left(temporary), 15)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "p.qmd", "s.json", "tmp"]


@pytest.mark.slow
def test_two_renderings_at_once_of_one_page_to_one_file(tmp_path: Path, temporary: Path) -> None:
    example("score").save(tmp_path / "s.json")
    text = PAGE.format(begun=str(tmp_path / "begun"), seconds=0)
    (tmp_path / "p.qmd").write_text(text + "\n```{python}\n#| output: asis\nprint('All of it.')\n```\n")
    command = [sys.executable, "-m", "evalstats.cli.main", "report", "p.qmd", "-o", "out.html", "--engine", "embedded"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    running = [subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
    said = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], said
    html = (tmp_path / "out.html").read_text()
    assert "All of it." in html
    assert html.rstrip().endswith("</html>")
    assert nothing_left(temporary)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "out.html", "p.qmd", "s.json", "tmp"]


def test_no_room_to_work_in_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(RenderError, match=r"No such file or directory, in the folder for temporary files .* TMPDIR"):
        render.render_results(example("score"), [tmp_path / "a.html"], engine="embedded")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_a_sentence(tmp_path: Path) -> None:
    finished = tmp_path / "a"
    finished.write_text("x")
    with pytest.raises(InputError, match=r"/dev/full: the report cannot be written there \(No space left on device\)"):
        render._put(finished, Path("/dev/full"))
