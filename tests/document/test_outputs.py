"""The same blocks in every output."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table
from evalstats.document.markup import to_html, to_latex, to_markdown
from evalstats.document.numbers import interval, number, p_value
from evalstats.document.text import to_text

NAME = "<script>alert(1)</script>|x\n=cmd()"
BLOCKS: list[Block] = [
    Heading(text=f"{NAME} against baseline", level=1),
    Banner(label="better", text=f"{NAME} is better.", tone="good"),
    Paragraph(text="A paragraph that is long enough to be wrapped at eighty columns, since it goes on and on and on."),
    Bullets(title="Warnings", items=("first " * 30, NAME), tone="caution"),
    Table(
        columns=("System", "Score", "Interval", "A note that may go"),
        rows=((NAME, "51.2", "[36.8, 65.4]", "long " * 20), ("trained", "100.0", "[91.8, 100.0]", "")),
        align="lrrl",
        caption="Scores",
        wide=("A note that may go",),
    ),
]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_keeps_to_its_width(width: int) -> None:
    assert max(len(line) for line in to_text(BLOCKS, width=width).splitlines()) <= width


def test_text_has_colour_only_when_asked() -> None:
    assert "\x1b" not in to_text(BLOCKS)
    assert "\x1b[1;32mBETTER\x1b[0m" in to_text(BLOCKS, color=True)


def test_text_leaves_out_the_columns_that_may_go_and_never_cuts_numbers() -> None:
    text = to_text(BLOCKS)
    assert "A note that may go" not in text
    assert "[91.8, 100.0]" in text


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_cell_keeps_the_table_within_the_width(first: str, second: str) -> None:
    table = Table(columns=("a", "b"), rows=((first, second),), align="ll")
    assert all(len(line) <= 80 for line in to_text([table]).split("\n"))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's own signature
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_balanced_and_runs_nothing() -> None:
    parser = _Tags()
    parser.feed(to_html(BLOCKS))
    assert not parser.open
    assert "script" not in parser.tags


def test_markdown_tables_keep_their_number_of_cells() -> None:
    lines = [line for line in to_markdown(BLOCKS).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}


def test_markdown_holds_no_tag() -> None:
    assert not re.search(r"(?<!\\)<", to_markdown(BLOCKS))


def test_latex_tables_keep_their_number_of_cells() -> None:
    rows = [line for line in to_latex(BLOCKS).splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {3}


@given(st.floats(min_value=5e-324, max_value=1.0))
def test_a_p_value_is_never_written_as_0_nor_rounded_up_to_1(p: float) -> None:
    shown = p_value(p)
    assert shown.startswith(("<", ">")) or float(shown) > 0
    assert shown != "1" or p == 1.0


def test_a_negative_number_has_a_true_minus_and_no_negative_zero() -> None:
    assert number(-1.0) == "\u22121.00"
    assert number(-1e-12) == "0.00"
    assert number(-0.001) == "\u22120.0010"
    assert interval(-0.05, 0.1, 100, 1) == "[\u22125.0, 10.0]"
