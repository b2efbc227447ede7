"""What keeps the code holdable by one head: a class name means one thing, a module has one subject, an option one place."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "evalstats"
_LONGEST = 800  # lines of a module


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    return {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def test_a_class_name_means_one_thing(modules: dict[str, str]) -> None:
    where: dict[str, list[str]] = defaultdict(list)
    for name, text in modules.items():
        for defined in re.findall(r"^ *class ([A-Z]\w*)[(:]", text, re.MULTILINE):
            where[defined].append(name)
    assert {name: places for name, places in where.items() if len(places) > 1} == {}


def test_no_module_is_longer_than_a_reader_can_follow(modules: dict[str, str]) -> None:
    assert {name: text.count("\n") for name, text in modules.items() if text.count("\n") > _LONGEST} == {}
