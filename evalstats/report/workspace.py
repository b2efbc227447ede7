"""Folders that a rendering works in, and the programs that it runs there: both are gone when it ends, however it ends.

What is rendered may be nobody else's business, so nothing of it stays in the folder for temporary files. A `with` block cannot
see to that where the process is killed; a small process of its own does. It is told what there is through a pipe, and acts
when the pipe is closed, which the system does whatever happened to us.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

_GRACE_SECONDS: Final = 3.0
# Run by itself, without this package, so that it is there within some hundredths of a second.
_GUARD: Final = """
import json, os, shutil, signal, sys, time
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
paths, groups = set(), set()
for line in sys.stdin:
    what, value = json.loads(line)
    held = groups if what in ("runs", "ended") else paths
    (held.add if what in ("made", "runs") else held.discard)(value)
def gone():
    for path in list(paths):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            try:
                os.unlink(path)
            except OSError:
                pass
for number in (15, 9):
    for group in groups:
        try:
            os.killpg(group, number)
        except (AttributeError, OSError):
            pass
    gone()
    if groups:
        time.sleep(0.5)
# A program that was just killed may have had a file half open.
for _ in range(20):
    gone()
    if not any(os.path.lexists(path) for path in paths):
        break
    time.sleep(0.2)
"""


class Guard:
    """What clears up after us: told what there is, it removes what we did not come to. Without a process it does nothing."""

    __slots__ = ("_process",)

    def __init__(self, process: "subprocess.Popen[bytes] | None" = None) -> None:
        self._process = process

    def made(self, path: Path) -> None:
        """Have this file or folder removed, if we do not come to it."""
        self._tell("made", str(path.absolute()))

    def removed(self, path: Path) -> None:
        """Say that it is removed, or where it belongs."""
        self._tell("removed", str(path.absolute()))

    def runs(self, group: int) -> None:
        """Have a group of processes ended, if we do not come to it."""
        self._tell("runs", group)

    def ended(self, group: int) -> None:
        """Say that a group of processes has ended: its number may be another's soon."""
        self._tell("ended", group)

    def _tell(self, what: str, value: str | int) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(json.dumps([what, value]).encode() + b"\n")
                self._process.stdin.flush()

    def close(self) -> None:
        """Let it go: it removes what is left, which is nothing by now."""
        if self._process is not None:
            with suppress(OSError):
                if self._process.stdin is not None:
                    self._process.stdin.close()
            self._process.wait()


UNGUARDED: Final = Guard()


@contextmanager
def guarded() -> Generator[Guard]:
    """Give a guard for as long as the block lasts; where its process cannot be started, one that does nothing."""
    process = None
    with suppress(OSError):
        process = subprocess.Popen(  # noqa: S603 - the text above
            [sys.executable, "-I", "-S", "-c", _GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=Path(Path.cwd().anchor),  # it must hold no folder that someone may want to remove
        )
    guard = Guard(process)
    try:
        yield guard
    finally:
        guard.close()


def today() -> date:
    """Return the date in UTC, or that of SOURCE_DATE_EPOCH, so that a build can be repeated byte for byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (datetime.fromtimestamp(int(epoch), tz=UTC) if epoch.isdecimal() else datetime.now(tz=UTC)).date()


@contextmanager
def private_folder(prefix: str, guard: Guard) -> Generator[Path]:
    """Make a folder for temporary files that only this user can open, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        guard.made(Path(folder))
        yield Path(folder)
    guard.removed(Path(folder))


def run_program(
    command: Sequence[str],
    *,
    guard: Guard,
    time_limit: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return what it printed; it and all that it started end with us.

    OSError if it cannot be started, subprocess.TimeoutExpired if it takes longer.
    """
    more: dict[str, Any] = {"env": dict(environment)} if environment is not None else {}
    with subprocess.Popen(  # noqa: S603 - what the callers name: our own modules, Pandoc, Quarto
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        **more,
    ) as process:
        guard.runs(process.pid)
        try:
            out, err = process.communicate(timeout=time_limit)
        except BaseException:
            end_program(process)
            guard.ended(process.pid)
            raise
        guard.ended(process.pid)
    return subprocess.CompletedProcess(list(command), process.returncode, out, err)


def end_program(process: "subprocess.Popen[str]") -> None:
    """End a program with all that it started: asked first, then made to."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, number)
            else:
                process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE_SECONDS)
    # What it printed is nobody's any more; an orphan that holds the pipe open must not hold us.
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
