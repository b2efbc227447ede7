"""What the guides print works as printed."""

import ast
import inspect
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

import evalstats
from evalstats.analysis.brief import Brief
from evalstats.cli.main import app

DOCS = Path(__file__).resolve().parents[1] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    for folder, name, scores in (("baseline", "old-prompt", [1, 0]), ("candidate", "new-prompt", [1, 1])):
        rows = [{"model": name, "item": f"q{i}", "score": scores[i % 2]} for i in range(60)]
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_workflow_gives_the_action_what_it_takes():
    workflow = yaml.safe_load(blocks("ci.md", "yaml")[0])
    (step,) = [step for step in workflow["jobs"]["compare"]["steps"] if "evalstats@" in step.get("uses", "")]
    action = yaml.safe_load((DOCS.parent / "action.yml").read_text())
    assert set(step["with"]) <= set(action["inputs"])
    page = (DOCS / "ci.md").read_text()
    assert {
        name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", row)
    } >= {*action["inputs"]}
    assert all(f"`{name}`" in page for name in action["outputs"])


def test_the_commands_for_other_servers_run(runs):
    gitlab = yaml.safe_load(blocks("ci.md", "yaml")[1])["compare"]["script"]
    azure = yaml.safe_load(blocks("ci.md", "yaml")[2])["steps"][0]["script"].splitlines()
    (jenkins,) = re.findall(r"sh '(evalstats .*)'", blocks("ci.md", "groovy")[0])
    commands = [line for line in (*gitlab, *azure, jenkins) if line.startswith("evalstats ")]
    assert len(commands) == 3
    for command in commands:
        assert CliRunner().invoke(app, shlex.split(command.replace(" --report page.html", ""))[1:]).exit_code == 0
        assert (runs / "comment.md").read_text().startswith("<!-- evalstats: compare -->\n\n**Better.**")
        assert "<testsuites>" in (runs / "junit.xml").read_text()


def test_what_agents_are_told_is_there():
    text = (DOCS.parent / "AGENTS.md").read_text()
    assert len(text.split()) <= 400
    known = {option for parameter in get_command(app).commands["compare"].params for option in parameter.opts}
    assert set(re.findall(r"--[\w-]+", text)) <= known
    fields = Brief.__struct_fields__
    assert set(re.findall(r"`(\w+)`", text)) - {"what", "found", "do", "evalstats"} <= {*fields}
    for path in re.findall(r"\]\(([^)]+)\)", text):
        assert (DOCS.parent / path).is_file()


def test_the_first_command_runs(runs):
    command = blocks("ci.md", "")[0]
    assert CliRunner().invoke(app, shlex.split(command)[1:]).exit_code == 0


def test_the_test_in_the_guide_runs(runs):
    space: dict[str, object] = {}
    exec(blocks("ci.md", "python")[0], space)  # noqa: S102 - our own page
    space["test_the_new_prompt_is_not_worse"]()


def test_the_guide_on_what_changed_runs_from_top_to_bottom(tmp_path, monkeypatch):
    for folder, name in (("old_run", "old"), ("new_run", "new")):
        rows = [
            {
                "item": f"q{i}",
                "model": name,
                "score": int(i > 4 or name == "old"),
                "question": f"{i}?",
                "response": f"{name} {i}",
            }
            for i in range(40)
        ]
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "guides" / "read-what-changed.md").read_text()
    assert len(text.split()) <= 300
    lines = [line for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE) if "build/demo" not in line]
    found = [CliRunner().invoke(app, shlex.split(line)[1:]) for line in lines]
    assert [each.exit_code for each in found] == [0] * 5
    assert [("Question: 0?" in each.stdout, "old 0" in each.stdout) for each in found] == [
        (True, True), (False, False), (False, False), (False, False), (True, True),
    ]  # fmt: skip
    assert "new 0" in (tmp_path / "build" / "changes.html").read_text()


PAGES_OF_FORMATS = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / "formats").glob("*.md"))


@pytest.mark.parametrize("page", PAGES_OF_FORMATS)
def test_the_commands_of_a_format_have_the_options_that_its_page_gives_them(page):
    commands = [line for block in blocks(page, "") for line in block.splitlines() if line.startswith("evalstats ")]
    for command in commands:
        _, name, *words = shlex.split(command, comments=True)
        known = {option for each in get_command(app).commands[name].params for option in each.opts}
        assert {word for word in words if word.startswith("-")} <= known, command


@pytest.mark.parametrize("page", PAGES_OF_FORMATS)
def test_what_a_page_of_a_format_links_to_is_there(page):
    text = (DOCS / page).read_text()
    for file, heading in re.findall(r"\]\((?!\w+:)([^)#]+)#?([^)]*)\)", text):
        target = DOCS / Path(page).parent / file
        assert target.is_file(), file
        names = {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in headings(target)}
        assert not heading or heading in names, f"{file}#{heading}"


def headings(path: Path) -> list[str]:
    return re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)


SHEET = (DOCS / "cheat-sheet.md").read_text()
TYPED = [each for each in re.findall(r"`([^`]+)`", SHEET) if each.startswith("evalstats ") and " " in each[10:]]
CALLS = [each for each in re.findall(r"`([^`]+)`", SHEET) if each.startswith("es.")]
OPTIONS = re.findall(r"^\| (`--[^|]*) \|", SHEET, re.MULTILINE)


@pytest.fixture
def named_files(tmp_path, monkeypatch):
    for name in ("A", "B", "DATA", "VOTES", "LAB", "LIVE", "RATINGS", "FILE", "r.json"):
        (tmp_path / name).write_text("")
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", TYPED)
@pytest.mark.usefixtures("named_files")
def test_a_command_of_the_cheat_sheet_is_understood(line):
    _, name, *words = shlex.split(line)
    get_command(app).commands[name].make_context(name, words)


@pytest.mark.parametrize("line", CALLS)
def test_a_call_of_the_cheat_sheet_fits_its_function(line):
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    given = [None] * len(call.args), {word.arg: None for word in call.keywords}
    inspect.signature(getattr(evalstats, call.func.attr)).bind(*given[0], **given[1])


def test_an_option_of_the_cheat_sheet_is_one_of_compare():
    named = re.findall(r"`(--?[a-z-]+)", " ".join(OPTIONS))
    known = {option for each in get_command(app).commands["compare"].params for option in each.opts}
    assert len(named) >= 12
    assert set(named) <= known


def test_the_cheat_sheet_has_every_question():
    asked = {line.split()[1] for line in TYPED}
    assert asked >= {
        "compare", "leaderboard", "scenarios", "arena", "gap", "judges", "audit", "contamination", "frontier", "score",
        "power", "overview", "items", "reliability",
    }  # fmt: skip
    assert len(CALLS) >= 12
