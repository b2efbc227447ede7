"""Tables: header cells tied to columns and rows, fixed ids, no cell that is markup."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

from evalstats.document.model import Column, Figure, Table
from evalstats.report.markup import html_table, table_float, typst_table
from evalstats.report.page import _block, figure_data

TABLE = Table(
    id="x",
    columns=(
        Column(title="Name <b>", kind="name"),
        Column(title="n|", kind="count"),
        Column(title="Verdict", kind="verdict"),
    ),
    rows=(("<script>x</script>", 1, "better"), ("a_b/c", -2, "=cmd()")),
    caption="What & why",
)
TITLES = ("Name <b>", "n|", "Verdict")


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
    found = parsed(html_table(replace(TABLE, tones={"better": "good"}), "t"))
    assert [text.strip() for _, _, text in found.cells] == [*TITLES, *TABLE.written()[0], *TABLE.written()[1]]
    assert found.tags == {"table", "thead", "tbody", "tr", "th", "td", "span", "wbr"}


def test_header_cells_have_a_scope_and_every_other_cell_its_headers() -> None:
    found = parsed(html_table(TABLE, "t"))
    ids = {attributes["id"] for _, attributes, _ in found.cells if attributes.get("id")}
    scopes = [attributes.get("scope") for tag, attributes, _ in found.cells if tag == "th"]
    assert scopes == ["col", "col", "col", "row", "row"]
    for tag, attributes, _ in found.cells:
        if tag == "td":
            assert set((attributes["headers"] or "").split()) <= ids


def test_the_same_table_has_the_same_bytes_and_no_style_of_its_own() -> None:
    first = html_table(TABLE, "t")
    assert first == html_table(TABLE, "t")
    assert "<style" not in first
    assert "style=" not in first


def test_only_words_with_a_tone_are_toned() -> None:
    html = html_table(replace(TABLE, tones={"better": "good", "=cmd()": "bad"}), "t")
    assert re.findall(r'class="es-pill es-(\w+)">([^<]+)<', html) == [("good", "better"), ("bad", "=cmd()")]


def test_numbers_are_aligned_right_in_head_and_body() -> None:
    found = parsed(html_table(TABLE, "t"))
    second = [attributes["class"] or "" for _, attributes, text in found.cells if text.strip() in {"n|", "1", "−2"}]
    assert len(second) == 3
    assert all("es-right" in classes for classes in second)


def test_a_float_scrolls_by_keyboard_and_names_itself() -> None:
    text = table_float(replace(TABLE, lead=True), "tbl-x")
    assert text.startswith("::: {#tbl-x}")
    assert 'class="es-table es-lead" role="region" aria-label="What &amp; why" tabindex="0"' in text
    assert text.rstrip(":\n").rstrip().endswith("\n\n[What \\& why\\.]{.es-caption}")


def test_typst_gets_strings_only() -> None:
    call = typst_table(replace(TABLE, tones={"better": "good"}))
    assert call == (
        '#es-table(("Name <b>", "n|", "Verdict", ), (("<script>x</script>", "1", "better", ), '
        '("a_b/c", "−2", "=cmd()", ), ), align: "lrl", tones: ("better": "good"), lead: false)'
    )


def test_columns_that_say_nothing_are_left_out() -> None:
    columns = (Column(title="a"), Column(title="b", kind="number"), Column(title="c"))
    table = Table(id="t", columns=columns, rows=(("x", None, ""), ("y", None, "z")))
    found = table.without_empty_columns()
    assert [column.title for column in found.columns] == ["a", "c"]
    assert found.rows == (("x", ""), ("y", "z"))


def test_no_cell_keeps_a_control_character() -> None:
    hostile = "a\x1b[31m\u202eb"
    table = Table(id="t", columns=(Column(title="one"), Column(title="two")), rows=((hostile, hostile),))
    assert not {"\x1b", "\u202e"} & set(html_table(table, "t"))


def test_long_names_break_in_the_head_as_in_the_rows() -> None:
    """A column that is named for a factor must not push the last one out of sight."""
    table = Table(
        id="t", columns=(Column(title="unstable_behavior"), Column(title="a/b")), rows=(("goal_switching", "1"),)
    )
    text = html_table(table, "t")
    assert "unstable_<wbr>behavior" in text
    assert "a/<wbr>b" in text
    assert "goal_<wbr>switching" in text


def test_a_short_name_with_hyphens_stays_on_one_line() -> None:
    names = ("ui-tars-1.5-7b", "claude-3-5-sonnet-20241022", f"{'very-' * 9}long")
    columns = (Column(title="Model", kind="name"), Column(title="What to do"))
    text = html_table(Table(id="t", columns=columns, rows=tuple((name, f"read {name}") for name in names)), "t")
    for name, kept in zip(names, ("es-whole", None, None), strict=True):
        assert text.count(f'<span class="{kept}">{name}</span>') == (2 if kept else 0)
        assert text.count(name) == 2


def test_a_table_without_a_frame_is_a_csv_of_numbers_with_every_digit() -> None:
    columns = (
        Column(title="Model", kind="name"),
        Column(title="Score (%)", kind="number", scale=100, digits=1),
        Column(title="CI", kind="interval", scale=100),
        Column(title="p", kind="p"),
        Column(title="p"),
    )
    rows = (("=a", -0.12345, (-0.5, None), 0.00001, "x"), ("b", None, None, None, None))
    text = _block(Table(id="t", columns=columns, rows=rows), "")
    link = re.search(r'download="t.csv" href="data:text/csv;charset=utf-8;base64,([^"]+)"', text)
    assert link
    assert base64.b64decode(link[1]).decode().splitlines() == [
        "Model,Score (%),CI low,CI high,p,p (4)",
        "'=a,-12.345,-50.0,,0.00001,x",
        "b,,,,,",
    ]


def test_a_figure_has_the_rows_as_drawn_where_the_frame_of_its_table_lacks_their_numbers() -> None:
    drawn = {"model": ["a", "b"], "estimate": [12.5, -1.0], "tone": ["good", "bad"]}

    def links(frame: dict[str, list[object]]) -> list[tuple[str, list[str]]]:
        table = replace(TABLE, frame=frame)
        figure = Figure(id="f", plot="forest", rows=drawn, alt="A.", table=table)
        return [(name, list(rows)) for name, _, rows in figure_data(figure)]

    assert links({}) == [("f", ["model", "estimate"])]
    assert links({"model": ["a", "b"], "score": [0.125, -0.01]}) == [("f", ["model", "score"])]
    assert links({"model": ["a", "b"], "score": [12.5, 7.0]}) == [
        ("f", ["model", "score"]),
        ("f-drawn", ["model", "estimate"]),
    ]
