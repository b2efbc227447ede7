"""From `evalstats simulate` to a conclusion, as the guide to the assumed formats prints it."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from evalstats.cli.main import app
from evalstats.store.read import open_store

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "assumed-formats.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("block", BLOCKS[1:], ids=["harmamp", "devicerepair"])
def test_the_commands_of_the_guide_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in block.splitlines():
        done = run(*shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_mapped_command_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("pid,seed_id,label,harmful\np1,s1,malicious,1\np2,s1,malicious,0\n", encoding="utf-8")
    (line,) = BLOCKS[0].splitlines()
    assert run(*shlex.split(line)[1:]).exit_code == 0
    stored = open_store("results.store").read()
    assert stored.outcomes.select("model", "item", "metric", "score").rows() == [
        ("gpt-x", "p1", "harmful", 1.0),
        ("gpt-x", "p2", "harmful", 0.0),
    ]
    assert stored.metrics["higher_is_better"].to_list() == [False]


@pytest.mark.parametrize(
    ("what", "names", "words"),
    [
        ("harmamp", ["sim-frontier_harmamp.jsonl"], "all but the numbers of plans and two rates of harm is"),
        ("devicerepair", ["sim-model-6_device_repair.jsonl"], "all scores are invented"),
    ],
)
def test_one_model_may_be_chosen(what: str, names: list[str], words: str, tmp_path: Path) -> None:
    model = names[0].partition("_")[0]
    done = run("simulate", what, "--output", tmp_path, "--model", model, "--seed", "3")
    assert done.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == names
    assert words in " ".join(done.output.split())
    assert "seed 3" in (tmp_path / names[0]).read_text(encoding="utf-8").splitlines()[0]
