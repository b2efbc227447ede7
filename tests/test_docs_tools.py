"""What the pages on test suites, trackers and agents print works as printed."""

import json
import re
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

import evalstats as es
from evalstats.cli.main import app
from evalstats.testing import assert_not_worse

pytest_plugins = ["pytester"]

DOCS = Path(__file__).resolve().parents[1] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        block for of, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) if of == language
    ]


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    for folder, name in (("baseline", "old-prompt"), ("candidate", "new-prompt")):
        rows = [{"model": name, "item": f"q{i}", "score": int(i % 2 == 0 or name[0] == "n")} for i in range(60)]
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_suites_of_the_page_run(pytester, runs):
    # Suites within this process forget their own imports, and numpy loads once.
    assert_not_worse(es.datasets.tenacious_held_out(), "baseline", "trained", cluster="none").document()
    gate, plain, cases = blocks("in-tests.md", "python")
    commands = [shlex.split(line) for block in blocks("in-tests.md", "") for line in block.splitlines()]
    pytester.chdir()
    pytester.makepyfile(test_gate=gate, test_cases=f"ask = lambda question, lang: str(eval(question))\n{cases}")
    for side in ("baseline", "candidate"):
        (pytester.path / side).symlink_to(runs / side)
    _, *options = commands[0]
    done = pytester.runpytest("test_gate.py", *options)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["test_gate.py::test_the_new_prompt_is_not_worse: BETTER: new-prompt is better*"])
    _, *options = commands[1]
    for name in ("old.jsonl", "new.jsonl"):
        pytester.runpytest("test_cases.py", *[each.replace("new.jsonl", name) for each in options])
    assert len((pytester.path / "new.jsonl").read_text().splitlines()) == 30
    for _, *words in commands[2:]:
        # Both files say the same of 6 items: too few for a verdict, which is the data's fault and not the command's.
        assert CliRunner().invoke(app, words).exit_code in (0, 3), words
    exec(plain, {})  # noqa: S102 - our own page


def test_the_tracker_of_the_page_is_logged_to(runs, monkeypatch):
    told: list[Any] = []

    def log_metrics(numbers, step):
        told.append((numbers, step))

    fake = SimpleNamespace(
        log_metrics=log_metrics, set_tags=told.append, log_artifact=told.append, start_run=nullcontext
    )
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    monkeypatch.setattr("evalstats.exporters.trackers.report", lambda _, path: path.write_text(""))
    exec(blocks("trackers.md", "python")[0], {})  # noqa: S102 - our own page
    (numbers, step), *_ = told
    assert (numbers["evalstats/estimate"], step) == (0.5, None)
    assert len(told) == 4


def test_the_stage_of_dvc_writes_what_it_plots(runs):
    recipe = yaml.safe_load(blocks("trackers.md", "yaml")[0])
    stage = recipe["stages"]["compare"]
    assert CliRunner().invoke(app, shlex.split(stage["cmd"])[1:]).exit_code == 0
    ((name, plot),) = recipe["plots"][0].items()
    assert stage["outs"] == [name]
    head = (runs / name).read_text().splitlines()[0].split(",")
    assert {plot["x"], plot["y"]} <= {*head}


def test_the_server_is_started_as_the_page_says(runs):
    (configured,) = json.loads(blocks("agents.md", "json")[0])["mcpServers"].values()
    assert configured["command"] == "evalstats"
    for words in (configured["args"], shlex.split(blocks("agents.md", "")[0].splitlines()[1])[1:]):
        name, folder = words
        assert get_command(app).commands[name].make_context(name, [str(runs)]).params == {"folder": runs}  # pyright: ignore[reportAttributeAccessIssue]
        assert folder


@pytest.mark.parametrize("page", ["in-tests.md", "trackers.md", "agents.md"])
def test_what_a_page_names_is_there(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert all((DOCS / target).is_file() for target in re.findall(r"\]\(([^)#:]+)\)", text))
    assert all(hasattr(es, name) for name in re.findall(r"`?es\.(\w+)\(", text))
    assert len(text.split()) <= 420
