"""`evalstats simulate lab-live`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.loaders.registry import read


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["simulate", "lab-live", *(str(argument) for argument in arguments)])


def test_what_was_asked_is_planted_and_said(tmp_path: Path) -> None:
    sizes = ("--models", 6, "--users", 30, "--items", 70, "--seed", 4)
    done = run("-o", tmp_path, "--gap", "model-03=-0.15", "--gap", "model-01=0.02", "--mix-shift", "--aliases", *sizes)
    assert done.exit_code == 0
    assert done.stdout == ""
    words = " ".join(done.output.split())
    assert "all but the live mix of behaviours, which RUT-Bench surveyed, is invented" in words
    told = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    assert [row["planted"] for row in told["models"]] == [0.02, 0, -0.15, 0, 0, 0]
    assert told["live_mix"][0] > 0.7 > told["lab_mix"][0]
    lab, live = read(tmp_path / "lab", strict=True), read(tmp_path / "live", strict=True)
    assert lab.outcomes.height == 6 * 70
    assert not set(lab.models()) & set(live.models())


def test_votes(tmp_path: Path) -> None:
    assert run("-o", tmp_path, "--live", "votes", "--models", 6, "--users", 30).exit_code == 0
    assert read(tmp_path / "live", strict=True).comparisons.height == 450


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lab-live", "-o", "x", "--votes", "5"], "--votes is for an arena; lab-live has no such option"),
        (["arena", "-o", "x", "--mix-shift"], "--mix-shift is for lab-live; arena has no such option"),
        (["rutbench", "-o", "x", "--gap", "m=1"], "--gap is for lab-live; rutbench has no such option"),
        (["lab-live", "-o", "x", "--model", "m"], "say how many with --models"),
        (["lab-live", "-o", "x", "--gap", "model-03"], "is no MODEL=GAP"),
        (["lab-live", "-o", "x", "--gap", "m=0.1"], "'m', which is no model here"),
        (["lab-live"], "no folder is named"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["simulate", *arguments])
    assert isinstance(done.exception, InputError)
    assert words in str(done.exception)
    assert list(tmp_path.iterdir()) == []
