"""Text from files is harmless in every output."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.document.escape import for_csv, for_html, for_markdown, for_typst, one_line

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


@given(st.text())
def test_typst_escapes_every_active_character(text: str) -> None:
    escaped = for_typst(text)
    bare = [
        char for previous, char in zip("x" + escaped, escaped, strict=False) if char in "#$*_`<@" and previous != "\\"
    ]
    assert not bare


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
