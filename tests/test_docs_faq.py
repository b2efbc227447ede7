"""Every command of the page of symptoms runs, on files that show the symptom."""

import json
import random
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "faq.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", PAGE, re.MULTILINE))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)  # noqa: S311 - not for secrets
    sides = {
        name: [{"item": f"q{i}", "key": f"q{i}", "model": name, "score": int(draw.random() < 0.65)} for i in range(60)]
        for name in ("old", "new", "partial", "renamed")
    }
    sides["partial"] = sides["partial"][:50]
    sides["renamed"] = [{**row, "item": f"v2-{row['item']}"} for row in sides["renamed"]]
    for name, rows in sides.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = [
        f"{i},{name},{draw.randint(0, 1)},{draw.random():.2f},p{i // 5}" for name in ("old", "new") for i in range(60)
    ]
    (tmp_path / "results.csv").write_text("\n".join(["qid,system,grade,seconds,passage", *lines]))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("symptom", ENTRIES)
def test_the_command_against_a_symptom_runs(symptom: str, files: None) -> None:
    words, _, code = ENTRIES[symptom].partition("```")
    assert 1 <= len(words.strip().splitlines()) <= 3
    commands = re.findall(r"^\$ evalstats (.*)$", code, re.MULTILINE)
    assert commands
    for command in commands:
        found = CliRunner().invoke(app, shlex.split(command))
        # A gate may fail for too few items; nothing else may.
        assert found.exit_code == 0 or ("--fail-on" in command and found.exit_code == 1), found.output


def test_the_symptoms_are_there(files: None) -> None:
    def told(command: str) -> str:
        found = CliRunner().invoke(app, shlex.split(command))
        return " ".join(f"{found.output} {found.exception or ''}".split())

    assert "no item that both sides scored" in told("compare old renamed")
    assert "missing scores against the candidate" in told("compare old partial --margin 10pp --fail-on not-noninferior")
    assert "--cluster none" in told("compare results.csv --baseline old --candidate new")
    assert "seconds" in told("compare results.csv --baseline old --candidate new --map score=seconds")
