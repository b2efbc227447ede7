"""The status of a process is an answer, bad input, or a fault of ours, and never one for another."""

import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from evalstats.cli import gate, main
from evalstats.errors import OUR_FAULT, CannotAnswerError, EvalStatsWarning, InputError

TWO_ARMS = "item,model,score\n" + "".join(
    f"q{i},{model},{(i * k) % 2}\n" for k, model in enumerate("ab") for i in range(30)
)


def status_of(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as caught:
        main.main()
    return caught.value.code


class Panic(BaseException):
    """As polars panics: no Exception."""


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ZeroDivisionError("division by zero"), 70, "a fault of evalstats (ZeroDivisionError); nothing was answered"),
        (RecursionError("too deep"), 70, "a fault of evalstats (RecursionError)"),
        (Panic("index out of bounds"), 70, "a fault of evalstats (Panic)"),
        (MemoryError(), 70, "not enough memory"),
        (InputError("there is no x"), 2, "there is no x"),
        (CannotAnswerError("no shared item"), 3, "no shared item"),
        (KeyboardInterrupt(), 130, "stopped"),
        (PermissionError(13, "Permission denied", "a.json"), 2, "a.json: Permission denied"),
    ],
)
def test_each_end_has_its_status(
    error: BaseException, status: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(error, monkeypatch) == status
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert ("Traceback" in said) == (status == 70 and not isinstance(error, MemoryError))


@pytest.mark.filterwarnings("default")
def test_a_warning_of_ours_is_a_note_and_any_other_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    others: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: others.append(str(message)))

    def warn() -> None:
        warnings.warn("two names look the same", EvalStatsWarning, stacklevel=1)
        warnings.warn("an old name", UserWarning, stacklevel=1)

    monkeypatch.setattr(main, "app", warn)
    main.main()
    assert capsys.readouterr().err == "note: two names look the same\n"
    assert others == ["an old name"]


def test_a_fault_inside_a_command_is_no_failed_gate(tmp_path: Path) -> None:
    """The whole process: what a build server sees, also of an EOFError, which typer would end with 1."""
    (tmp_path / "x.csv").write_text(TWO_ARMS)
    code = (
        "import sys; sys.argv = ['evalstats', 'compare', 'x.csv', '--baseline', 'a', '--candidate', 'b', "
        "'--fail-on', 'worse', '--junit', 'j.xml']\n"
        "from evalstats.cli import load, start\n"
        "def fail(*a, **k): raise EOFError('cut')\n"
        "load.load = fail\n"
        "start.main()"
    )
    (tmp_path / "j.xml").write_text("<older/>")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (70, "")
    assert "nothing was answered" in " ".join(done.stderr.split())
    assert "stopped by EOFError: cut" in (tmp_path / "j.xml").read_text()


def test_an_installation_that_does_not_import_is_no_failed_gate(tmp_path: Path) -> None:
    """A package that is broken fails before any command begins."""
    (tmp_path / "typer").mkdir()
    (tmp_path / "typer" / "__init__.py").write_text("raise ImportError('broken')")
    done = subprocess.run(
        [sys.executable, "-c", "from evalstats.cli.start import main; main()", "--version"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == OUR_FAULT == 70
    assert "does not import" in done.stderr


def test_a_stopped_comparison_leaves_no_older_outcome(tmp_path: Path) -> None:
    junit = tmp_path / "j.xml"
    junit.write_text("<older/>")

    def stopped() -> None:
        with gate.told_in_junit(junit):
            raise SystemExit(143)

    with pytest.raises(SystemExit):
        stopped()
    assert "stopped by SystemExit: 143" in junit.read_text()


def test_terminated_is_told_apart_from_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: dict[int, object] = {}
    monkeypatch.setattr(signal, "getsignal", lambda _number: signal.SIG_DFL)
    monkeypatch.setattr(signal, "signal", set_to.__setitem__)
    main._end_well_when_told_to()
    stop = set_to[signal.SIGTERM]
    assert callable(stop)
    with pytest.raises(SystemExit) as caught:
        stop(signal.SIGTERM, None)
    assert caught.value.code == 143


def test_docs_and_help_name_every_status() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+)[ ,|]", docs, re.MULTILINE) == ["0", "1", "2", "3", "70", "130"]
    assert all(f"{number} " in (main.app.info.epilog or "") for number in (0, 1, 2, 3, 70))
