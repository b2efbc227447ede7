"""Text from files is harmless in every output."""

import csv
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.document.escape import as_json, for_csv, for_html, for_markdown, one_line

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b",
    "two\nlines",
    "=cmd()",
    "\x1b[31mred\x1b[0m",
    "right\u202eleft",
    "[link](javascript:x)",
    "\\input{x}",
    "#eval(1)",
    "$x$",
    "@ref",
    "`code`",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_one_line_has_no_control_characters(text: str) -> None:
    assert all(char.isprintable() for char in one_line(text))
    assert "\n" not in one_line(text)


@given(st.text())
def test_html_holds_no_tag_and_no_open_quote(text: str) -> None:
    escaped = for_html(text)
    assert not set('<>"') & set(escaped)


@given(st.text())
def test_markdown_escapes_every_active_character(text: str) -> None:
    escaped = for_markdown(text)
    bare = [
        char for previous, char in zip("x" + escaped, escaped, strict=False) if char in "|*_`[]<>#" and previous != "\\"
    ]
    assert not bare


@pytest.mark.parametrize("text", ["63.7% against 60.1%", "+4.2 pp, 95% CI 1 to 7", "2024-05-01", "-5", "3.", "a.b"])
def test_markdown_leaves_numbers_as_they_are(text: str) -> None:
    assert for_markdown(text) == text if text != "3." else for_markdown(text) == "3\\."


@pytest.mark.parametrize("text", ["1. one", "2) two", "- three", "+ four", "---", "=== five", ": six"])
def test_markdown_escapes_what_begins_a_block(text: str) -> None:
    assert "\\" in for_markdown(text)


@given(st.text())
def test_a_spreadsheet_sees_no_formula(text: str) -> None:
    stream = io.StringIO()
    csv.writer(stream).writerow([for_csv(text)])
    read_back = next(csv.reader(io.StringIO(stream.getvalue())), [""])
    assert not (read_back[0] if read_back else "").startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("text", ["- item", "1. item", "2) item", "+ x", "=====", "::: {.x}", "https://x.y", "www.x.y"])
def test_markdown_starts_no_block_and_no_link(text: str) -> None:
    pypandoc = pytest.importorskip("pypandoc")
    shown = pypandoc.convert_text(for_markdown(text), "html", format="gfm").strip()
    assert shown == f"<p>{text}</p>"


_PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_KEYED = st.recursive(_PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(_KEYED, st.sampled_from([1, 2]))
def test_json_is_that_of_the_standard_library(values: object, indent: int) -> None:
    assert as_json(values, indent=indent) == json.dumps(values, indent=indent, ensure_ascii=False)


def test_numbers_that_json_does_not_know_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json([math.nan], indent=1)


def test_half_a_character_stays_in_json() -> None:
    assert as_json(["a\udc80"], indent=1) == '[\n "a\udc80"\n]'
