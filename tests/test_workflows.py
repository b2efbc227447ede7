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
