"""The workflows are what GitHub can read, use what the project has, and may do no more than their work takes."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".github" / "workflows"
ACTION = "action.yml"
FILES = {path.name: path for path in (*sorted(FOLDER.glob("*.yml")), ROOT / ACTION)}
NAMES = [name for name in FILES if name != ACTION]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def workflow(name: str) -> dict[str, Any]:
    return yaml.load(FILES[name].read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - texts alone


def steps(name: str) -> Iterator[dict[str, Any]]:
    found = workflow(name)
    for job in (found["runs"],) if name == ACTION else found["jobs"].values():
        yield from job["steps"]


def test_there_are_four() -> None:
    assert NAMES == ["docs.yml", "evaluation.yml", "release.yml", "tests.yml"]


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_has_its_parts(name: str) -> None:
    found = workflow(name)
    assert set(found) <= {"name", "on", "permissions", "concurrency", "jobs"}
    assert found["permissions"] == {"contents": "read"}
    jobs = found["jobs"]
    for job in jobs.values():
        assert {"runs-on", "steps"} <= set(job)
        assert {job["needs"]} <= set(jobs) if "needs" in job else True
    for step in steps(name):
        assert ("uses" in step) != ("run" in step)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_plain(name: str) -> None:
    """What yamllint would say of it."""
    text = FILES[name].read_text(encoding="utf-8")
    assert text.isascii()
    assert text.endswith("\n")
    assert not re.search(r"\t|[ \t]+$|\n{3}|\n\n\Z", text, re.MULTILINE)
    for line in text.splitlines():
        assert (len(line) - len(line.lstrip())) % 2 == 0, line
    # Each key stands once: of two, a reader would take the last without a word.
    keys: list[tuple[int, str]] = []
    for node in (each for each in ast_of(text) if isinstance(each, yaml.MappingNode)):
        keys += [(id(node), key.value) for key, _ in node.value]
    assert len(set(keys)) == len(keys) > 5


def ast_of(text: str) -> Iterator[yaml.Node]:
    """Walk the nodes of a file."""
    waiting = [yaml.compose(text)]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def test_the_action_is_one_that_github_can_read() -> None:
    action = workflow(ACTION)
    assert set(action) == {"name", "description", "author", "branding", "inputs", "outputs", "runs"}
    assert action["runs"]["using"] == "composite"
    for each in action["inputs"].values():
        assert {"description"} < set(each) <= {"description", "default", "required"}
    for step in steps(ACTION):
        assert ("shell" in step) == ("run" in step) != ("uses" in step)
    used = workflow("evaluation.yml")["jobs"]["compare"]
    (step,) = [each for each in used["steps"] if each.get("uses") == "./"]
    assert set(step["with"]) <= set(action["inputs"])
    assert {name for name, each in action["inputs"].items() if each.get("required") == "true"} <= set(step["with"])
    assert used["permissions"] == {"contents": "read", "pull-requests": "write"}


@pytest.mark.parametrize("name", FILES)
def test_actions_are_pinned_by_commit(name: str) -> None:
    """A tag can be moved to other code; the version that the commit is of stands behind it."""
    text = FILES[name].read_text(encoding="utf-8").replace("uses: ./\n", "")
    lines = re.findall(r"^.*\buses:.*$", text, re.MULTILINE)
    assert len(lines) == sum(step.get("uses", "./") != "./" for step in steps(name)) > 0
    for line in lines:
        assert re.fullmatch(r" +- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_one_action_is_pinned_to_one_commit() -> None:
    used = {step["uses"] for name in FILES for step in steps(name) if "uses" in step}
    assert len({uses.split("@")[0] for uses in used}) == len(used)


@pytest.mark.parametrize("name", FILES)
def test_a_workflow_names_files_and_targets_that_are_there(name: str) -> None:
    commands = "\n".join(step.get("run", "") for step in steps(name))
    for target in re.findall(r"\bmake ([a-z-]+)", commands):
        assert f"\n{target}:" in MAKEFILE, target
    for path in re.findall(r"(?:-r |pytest -q |bash )\"?(\S+\.(?:txt|lock|py|sh))", commands):
        assert (ROOT / path.removeprefix("$GITHUB_ACTION_PATH/")).is_file(), path
    # An expression in a command is where a branch called `$(...)` would run.
    assert set(re.findall(r"\$\{\{ *(.*?) *\}\}", commands)) <= {"matrix.python"}


def test_the_versions_that_are_tested_are_those_that_are_claimed() -> None:
    matrix = workflow("tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = [each.rpartition(" ")[2] for each in project["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert matrix["python"] == claimed
    assert project["requires-python"] == f">={claimed[0]}"
    assert matrix["system"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_only_the_step_that_publishes_has_an_identity() -> None:
    jobs = workflow("release.yml")["jobs"]
    assert {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})} == {"publish"}
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["environment"] == "release"
    assert "secrets." not in (FOLDER / "release.yml").read_text(encoding="utf-8")


def test_a_release_is_checked_before_it_is_published() -> None:
    commands = "\n".join(step.get("run", "") for step in workflow("release.yml")["jobs"]["build"]["steps"])
    order = ["make dist", "GITHUB_REF_NAME#v", "test_distribution.py", "pip-audit --strict", "cyclonedx-py"]
    assert sorted(order, key=commands.index) == order
