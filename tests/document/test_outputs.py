"""The same document in every output."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.document.escape import cell_width
from evalstats.document.formats import summary, to_html, to_markdown
from evalstats.document.model import Code, Column, Document, Items, Note, Section, Table, Text
from evalstats.document.numbers import interval, number, p_value
from evalstats.document.terminal import headline, table_text, to_text

NAME = "<script>alert(1)</script>|x\n=cmd()"
LONG = "A paragraph that is long enough to be wrapped at eighty columns, since it goes on and on and on and on."
SCORES = Table(
    id="scores",
    columns=(
        Column(title="System", kind="name"),
        Column(title="Score", kind="number"),
        Column(title="Interval", kind="interval"),
        Column(title="A note that may go", spare=True),
    ),
    rows=((NAME, 51.2, (36.8, 65.4), "long " * 20), ("trained", 100.0, (91.8, 100.0), "")),
    caption="Scores",
)
DOCUMENT = Document(
    kind="compare",
    title=f"Is {NAME} better?",
    label="better",
    tone="good",
    headline=f"{NAME} is better",
    number="+48.8 pp",
    number_words="95% CI 34.6 to 63.3",
    scope=LONG,
    answer=(SCORES,),
    notes=(
        *(Note(kind="few", text=f"{NAME} {which}") for which in ("one", "two", "three", "four", "five")),
        Note(kind="simulated", text="These data are simulated"),
    ),
    actions=(f"drop {NAME}",),
    evidence=(
        Section(id="more", heading=f"{NAME} wins", blocks=(Text(text=LONG), Items(items=("first " * 30, NAME)))),
    ),
    method=(Section(id="how", heading="How", blocks=(Code(code=f"es.compare(data, {NAME!r})"), Text(text=LONG))),),
)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("full", [False, True])
def test_text_keeps_to_its_width(width: int, full: bool) -> None:
    lines = to_text(DOCUMENT, width=width, full=full).splitlines()
    assert max(cell_width(line) for line in lines if not line.startswith("    es.")) <= width


def test_text_has_colour_only_when_asked() -> None:
    assert "\x1b" not in to_text(DOCUMENT)
    assert "\x1b[1;32mBETTER\x1b[0m" in to_text(DOCUMENT, color=True)


def test_text_leaves_out_the_columns_that_may_go_and_never_cuts_numbers() -> None:
    text = to_text(DOCUMENT)
    assert "A note that may go" not in text
    assert "91.8 to 100.0" in text


def test_the_answer_comes_first_and_all_of_it_on_demand() -> None:
    """Three cautions, and how many more there are; evidence and method only in full, texts of the method on demand."""
    short, explained, full = (
        to_text(DOCUMENT, **{name: True}) if name else to_text(DOCUMENT) for name in ("", "explain", "full")
    )
    assert short.index("simulated") < short.index("BETTER") < short.index("+48.8 pp") < short.index("! ")
    assert "three" in short
    assert "four" not in short
    assert "2 more with full=True" in short
    assert "wins" not in short
    assert "How" in explained
    assert "es.compare" not in explained
    for part in ("four", "wins", "es.compare", "drop"):
        assert part in full


def test_quiet_is_one_line_that_begins_with_what_data_these_are() -> None:
    line = headline(DOCUMENT)
    assert "\n" not in line
    assert line.startswith("These data are simulated. BETTER: ")
    assert line.endswith("+48.8 pp; 95% CI 34.6 to 63.3.")
    assert summary(DOCUMENT).index("+48.8 pp") < summary(DOCUMENT).index("five")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_cell_keeps_the_table_within_the_width(first: str, second: str) -> None:
    table = Table(id="t", columns=(Column(title="a"), Column(title="b")), rows=((first, second),))
    assert all(cell_width(line) <= 80 for line in table_text(table).split("\n"))


@given(st.lists(st.text(alphabet="ab/-.", min_size=1, max_size=90), unique=True, min_size=2, max_size=6))
def test_names_that_differ_stay_different_at_80_columns(names: list[str]) -> None:
    rows = tuple((name, 1.0) for name in names)
    table = Table(id="t", columns=(Column(title="Model", kind="name"), Column(title="x", kind="number")), rows=rows)
    lines = table_text(table).split("\n")[-len(names) :]
    assert len(set(lines)) == len(names)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's own signature
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_balanced_and_runs_nothing() -> None:
    parser = _Tags()
    parser.feed(to_html(DOCUMENT))
    assert not parser.open
    assert "script" not in parser.tags


def test_markdown_tables_keep_their_number_of_cells() -> None:
    lines = [line for line in to_markdown(DOCUMENT).splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {5}


def test_markdown_holds_no_tag() -> None:
    """But those that fold, which are ours; in a fence a tag is text."""
    text = re.sub(r"````.*?````|</?(?:details|summary)>", "", to_markdown(DOCUMENT), flags=re.DOTALL)
    assert not re.search(r"(?<!\\)<", text)


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


def test_a_difference_too_small_for_its_column_is_not_written_with_more_digits_than_the_rest() -> None:
    column = Column(title="Gap", kind="number", scale=100, sign=True)
    rows = ((0.076,), (0.000066,))
    assert Table(id="t", columns=(column,), rows=rows).written() == (("+7.6",), ("0.0",))
    assert Table(id="t", columns=(column,), rows=rows[1:]).written() == (("+0.0066",),)
    ratio = replace(column, sign=False, scale=1.0)
    assert Table(id="t", columns=(ratio,), rows=((30.0,), (0.0008,))).written()[1] == ("0.00080",)
