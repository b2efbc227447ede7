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
NAMES = sorted(path.name for path in FOLDER.glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def workflow(name: str) -> dict[str, Any]:
    return yaml.load((FOLDER / name).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - texts alone


def steps(name: str) -> Iterator[dict[str, Any]]:
    for job in workflow(name)["jobs"].values():
        yield from job["steps"]


def test_there_are_three() -> None:
    assert NAMES == ["docs.yml", "release.yml", "tests.yml"]


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


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_pinned_by_commit(name: str) -> None:
    """A tag can be moved to other code; the version that the commit is of stands behind it."""
    lines = re.findall(r"^.*\buses:.*$", (FOLDER / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == sum("uses" in step for step in steps(name)) > 0
    for line in lines:
        assert re.fullmatch(r" +- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_one_action_is_pinned_to_one_commit() -> None:
    used = {step["uses"] for name in NAMES for step in steps(name) if "uses" in step}
    assert len({uses.split("@")[0] for uses in used}) == len(used)


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_names_files_and_targets_that_are_there(name: str) -> None:
    commands = "\n".join(step.get("run", "") for step in steps(name))
    for target in re.findall(r"\bmake ([a-z-]+)", commands):
        assert f"\n{target}:" in MAKEFILE, target
    for path in re.findall(r"(?:-r |pytest -q )(\S+\.(?:txt|lock|py))", commands):
        assert (ROOT / path).is_file(), path
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
