"""What holds for a result of any kind: saved it is the same again, and names from files stay text in every form."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.cli.options import Format
from evalstats.cli.output import written
from evalstats.document.terminal import to_text
from tests.analysis.test_damaged_results import MADE


@cache
def results(name: str) -> tuple[Any, ...]:
    found = MADE[name]()
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", MADE)
def test_a_saved_result_is_the_same_again(name: str, tmp_path: Path) -> None:
    for result in results(name):
        result.save(tmp_path / "r.json")
        assert es.load_result(tmp_path / "r.json") == result


@pytest.mark.parametrize("name", [name for name in MADE if name.startswith("hostile")])
def test_hostile_names_stay_text(name: str) -> None:
    for result in results(name):
        html, markdown = result.to_html(), result.to_markdown()
        assert not re.search(r"<(script|img|svg|b|i)[ >]", html)
        # Within a fence of code names are what they are.
        before_code = re.sub(r"(`{3,}).*?\1", "", markdown, flags=re.DOTALL)
        assert not re.search(r"(?<!\\)<(script|img)", before_code)
        assert "\n# heading" not in markdown
        assert not re.search(r"(?<!\\)\$x", result.to_latex())
        text = to_text(result.document(), full=True)
        assert "\x1b" not in text
        assert not re.search(r"^\s*::", text, re.MULTILINE)


def test_what_the_command_line_writes_beside_a_result_is_no_fault(tmp_path: Path) -> None:
    (result,) = results("score_clusters")
    (tmp_path / "r.json").write_text(written(result, style=Format.JSON, explain=True, more={"gate": {"passed": True}}))
    assert es.load_result(tmp_path / "r.json") == result
