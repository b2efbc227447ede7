"""Tables: header cells tied to columns and rows, fixed ids, no cell that is markup."""

import re
from html.parser import HTMLParser

from evalstats.document.blocks import Table
from evalstats.report.tables import html_table, table_float, typst_table, without_empty_columns

TABLE = Table(
    columns=("Name <b>", "n|", "Verdict"),
    rows=(("<script>x</script>", "1", "better"), ("a_b/c", "−2", "=cmd()")),
    align="lrl",
    caption="What & why",
)


class Cells(HTMLParser):
    """Collect the cells of a table with their attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[tuple[str, dict[str, str | None], str]] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)
        if tag in ("th", "td"):
            self.cells.append((tag, dict(attrs), ""))

    def handle_data(self, data) -> None:
        if self.cells:
            tag, attributes, text = self.cells[-1]
            self.cells[-1] = (tag, attributes, text + data)


def parsed(html: str) -> Cells:
    parser = Cells()
    parser.feed(html)
    return parser


def test_every_cell_is_the_text_it_was() -> None:
    found = parsed(html_table(TABLE, "t", tones={"better": "good"}))
    assert [text.strip() for _, _, text in found.cells] == [*TABLE.columns, *TABLE.rows[0], *TABLE.rows[1]]
    assert found.tags == {"table", "thead", "tbody", "tr", "th", "td", "span", "wbr"}


def test_header_cells_have_a_scope_and_every_other_cell_its_headers() -> None:
    found = parsed(html_table(TABLE, "t", tones={}))
    ids = {attributes["id"] for _, attributes, _ in found.cells if attributes.get("id")}
    scopes = [attributes.get("scope") for tag, attributes, _ in found.cells if tag == "th"]
    assert scopes == ["col", "col", "col", "row", "row"]
    for tag, attributes, _ in found.cells:
        if tag == "td":
            assert set((attributes["headers"] or "").split()) <= ids


def test_the_same_table_has_the_same_bytes_and_no_style_of_its_own() -> None:
    first = html_table(TABLE, "t", tones={})
    assert first == html_table(TABLE, "t", tones={})
    assert "<style" not in first
    assert "style=" not in first


def test_only_words_with_a_tone_are_toned() -> None:
    html = html_table(TABLE, "t", tones={"better": "good", "=cmd()": "bad"})
    assert re.findall(r'class="es-pill es-(\w+)">([^<]+)<', html) == [("good", "better"), ("bad", "=cmd()")]


def test_numbers_are_aligned_right_in_head_and_body() -> None:
    found = parsed(html_table(TABLE, "t", tones={}))
    second = [attributes["class"] or "" for _, attributes, text in found.cells if text.strip() in {"n|", "1", "−2"}]
    assert len(second) == 3
    assert all("gt_right" in classes for classes in second)


def test_a_float_scrolls_by_keyboard_and_names_itself() -> None:
    text = table_float(TABLE, "tbl-x", lead=True)
    assert text.startswith("::: {#tbl-x}")
    assert 'class="es-table es-lead" role="region" aria-label="What &amp; why" tabindex="0"' in text
    assert text.rstrip(":\n").rstrip().endswith("\n\nWhat \\& why\\.")


def test_typst_gets_strings_only() -> None:
    call = typst_table(TABLE, tones={"better": "good"})
    assert call == (
        '#es-table(("Name <b>", "n|", "Verdict", ), (("<script>x</script>", "1", "better", ), '
        '("a_b/c", "−2", "=cmd()", ), ), align: "lrl", tones: ("better": "good"), lead: false)'
    )


def test_columns_that_say_nothing_are_left_out() -> None:
    table = Table(columns=("a", "b", "c"), rows=(("x", "–", ""), ("y", " ", "z")), align="lrl", caption="k")
    assert without_empty_columns(table) == Table(
        columns=("a", "c"), rows=(("x", ""), ("y", "z")), align="ll", caption="k"
    )


def test_no_cell_keeps_a_control_character() -> None:
    hostile = "a\x1b[31m\u202eb"
    table = Table(columns=("one", "two"), rows=((hostile, hostile),), align="ll")
    assert not {"\x1b", "\u202e"} & set(html_table(table, "t", tones={}))


def test_long_names_break_in_the_head_as_in_the_rows() -> None:
    """A column that is named for a factor must not push the last one out of sight."""
    table = Table(columns=("unstable_behavior", "a/b"), rows=(("goal_switching", "1"),), align="lr")
    text = html_table(table, "t", tones={})
    assert "unstable_<wbr>behavior" in text
    assert "a/<wbr>b" in text
    assert "goal_<wbr>switching" in text
