"""What readers see of each frozen result is what was read and found good: `python -m tests.golden_texts` renews it."""

from difflib import unified_diff

import pytest

from tests.frozen.cases import CASES
from tests.golden_texts.texts import FOLDER, texts


@pytest.mark.parametrize("name", CASES)
def test_a_result_reads_as_before(name: str) -> None:
    before = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    lines = [*unified_diff(before.splitlines(), texts(name).splitlines(), "before", "now", lineterm="", n=2)]
    assert not lines, "\n".join([*lines, f"if this is meant: python -m tests.golden_texts {name}"])


def test_every_text_has_its_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(CASES)
