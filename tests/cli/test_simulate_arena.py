"""`evalstats simulate arena`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.loaders.registry import read


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_votes_are_written_and_said_to_be_invented(tmp_path: Path) -> None:
    done = run("simulate", "arena", "-o", tmp_path, "--votes", 400, "--seed", 3)
    assert done.exit_code == 0
    words = " ".join(done.output.split())
    assert "all but the number of models, the two apps and the order of the first five is invented" in words
    votes = read(tmp_path, strict=True).comparisons
    assert votes.height == 400
    assert votes["simulated"].unique().to_list() == ["by evalstats, seed 3"]


def test_events_may_hold_several_models(tmp_path: Path) -> None:
    assert run("simulate", "arena", "-o", tmp_path, "--votes", 300, "--event-size", 4).exit_code == 0
    votes = read(tmp_path, strict=True).comparisons
    assert votes.group_by("event").len()["len"].unique().to_list() == [3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rutbench", "-o", "x", "--votes", "400"], "--votes is for an arena; rutbench has no such option"),
        (["arena", "-o", "x", "--model", "m"], "leave out --model"),
        (["arena"], "no folder is named"),
        (["rutbench"], "no folder is named"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("simulate", *arguments)
    assert isinstance(done.exception, InputError)
    assert words in str(done.exception)
    assert list(tmp_path.iterdir()) == []
