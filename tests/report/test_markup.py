"""Escaping: whatever stands in a result file stays text, in Markdown, HTML, Typst and CSV."""

import base64
import html
import json
import re
import subprocess
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pypandoc
import pytest

from evalstats.document.escape import for_pandoc
from evalstats.document.formats import html_prose
from evalstats.document.model import Column, Document, Note, Section, Table, Text
from evalstats.document.names import marked, named, pieces, told
from evalstats.document.pandoc import prose
from evalstats.report import markup
from evalstats.report.engine import pandoc_program
from evalstats.report.examples import example
from evalstats.report.kernel import PRINTED
from evalstats.report.markup import WHOLE
from evalstats.report.page import Page, open_page

HOSTILE = [
    "1. a list",
    "# heading",
    "$x_1$ and @ref and [link](https://example.org)",
    "*a* _b_ ~c~ ^d^ `e` <b>f</b> &amp; | g",
    "::: {.callout-note}",
    "{{< env HOME >}}",
    "```{=html}",
    "a -- b --- c ... \"q\" 'q'",
    "- item",
    "https://example.org/x",
    "\\begin{x} \\alpha",
    "![i](https://example.org/i.png)",
    "[^1]: note",
    "--- \ntitle: x\n---",
    "line\r\nbreak\u202e\x00",
]


def as_json(text: str) -> dict[str, object]:
    program, _ = pandoc_program()
    done = subprocess.run(
        [program, "--from=markdown", "--to=json"], input=text, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def test_raw_cannot_be_closed_from_inside() -> None:
    inside = "a\n```\nb\n`````\nc"
    blocks = as_json(markup.raw("html", inside))["blocks"]
    assert blocks == [{"t": "RawBlock", "c": ["html", inside]}]


def test_typst_strings_are_read_back(tmp_path) -> None:
    import typst

    for text in HOSTILE:
        source = tmp_path / "x.typ"
        source.write_text(f"#metadata({markup.typst_string(text)}) <x>", encoding="utf-8")
        (found,) = json.loads(typst.query(source, "<x>", field="value"))
        assert found == markup.one_line(text)


def test_typst_strings_hide_shortcodes_from_quarto() -> None:
    assert "{" not in markup.typst_string("{{< env HOME >}}").replace("\\u{7b}", "")


def test_an_array_of_one_is_an_array() -> None:
    assert markup.typst_strings(["a"]) == '("a", )'
    assert markup.typst_strings([]) == "()"


def test_csv_disarms_formulas_and_keeps_numbers(numbers: pl.DataFrame) -> None:
    assert markup.csv_text(numbers) == "name,value\n'=cmd(),-1.5\nplain,\n"
    assert markup.csv_text(numbers.rename({"name": "=x"})).startswith("'=x,")


def test_a_data_link_holds_the_data(numbers: pl.DataFrame) -> None:
    link = markup.csv_link(numbers, "a.csv", "Data")
    found = re.search(r'download="a.csv" href="data:text/csv;charset=utf-8;base64,([^"]+)"', link)
    assert found
    assert base64.b64decode(found.group(1)).decode() == markup.csv_text(numbers)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Newcombe 1998, doi:10.1002/sim.4780080705.", "https://doi.org/10.1002/sim.4780080705"),
        ("(doi:10.1093/restud/rdad006)", "https://doi.org/10.1093/restud/rdad006"),
        ("Miller 2024, arXiv:2411.00640", "https://arxiv.org/abs/2411.00640"),
        ("doi:10.1234/)![](../x)\\", "https://doi.org/10.1234/%29%21%5B%5D%28../x%29%5C"),
    ],
)
def test_references_become_links(text: str, address: str) -> None:
    blocks = as_json(markup.cited(text))["blocks"]
    links = [inline["c"][2][0] for inline in blocks[0]["c"] if inline["t"] == "Link"]
    assert links == [address]
    assert {inline["t"] for inline in blocks[0]["c"]} <= {"Link", "Str", "Space"}


def test_words_keep_their_distance_from_links() -> None:
    blocks = as_json(markup.cited("evaluations. arXiv:2411.00640 and more"))["blocks"]
    assert [inline["t"] for inline in blocks[0]["c"]] == ["Str", "Space", "Link", "Space", "Str", "Space", "Str"]


def test_metadata_is_read_by_pandoc() -> None:
    found = as_json(markup.metadata(title=for_pandoc('Is "a" <b> 1. better?')))["meta"]
    assert "".join(part.get("c", " ") for part in found["title"]["c"]) == 'Is "a" <b> 1. better?'


def test_show_separates_blocks_and_drops_empty_ones(capsys: pytest.CaptureFixture[str]) -> None:
    markup.show("a", "", "b")
    assert capsys.readouterr().out == "a\n\nb\n\n"


@pytest.mark.parametrize("address", ["https://example.org/x", "doi:10.1234/x", "arXiv:2411.00640", "10.1234/)[x](y)\\"])
def test_only_our_references_are_links(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What looks like an address may be what a file calls a model."""
    result: Any = example("score")
    note = Note(kind="choice", text=f"{address} was left out", caution=False)
    links: list[list[str]] = []
    for notes in (result.notes, (*result.notes, note)):
        open_page(replace(result, notes=notes)).show("title", "answer", "evidence", "method")
        read = json.dumps(as_json(capsys.readouterr().out)["blocks"])
        links.append(re.findall(r'"t": "(?:Link|Image|Code)"|"https?:[^"]*", ""', read))
    assert len(links[0]) > 2
    assert links[0] == links[1]
    assert json.dumps(address.split(maxsplit=1)[0]) in read


@pytest.mark.parametrize("printed", ["0", "1", ""])
def test_a_figure_is_drawn_for_paper_where_a_pdf_may_be_made(
    printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PRINTED, printed)
    open_page(example("compare")).show("flips")
    assert any(tmp_path.rglob("*.svg")) == (printed != "0")


NAMED = "Qwen-3.5-plus", "a/b-1_x", "--cluster x", "gpt `5`", "<b>{{< env >}}"


def test_no_line_of_a_page_ends_within_a_name_or_an_interval() -> None:
    text = "{} gained 3.5 pp (95% CI −0.4 to 6.3, p < 0.001; 12% to 36%) on {}, add {} to {} {}: it's well-made <-a-b>"
    marked, plain = text.format(*map(named, NAMED)), text.format(*NAMED)
    page = pypandoc.convert_text(prose(marked), "html", format="markdown", extra_args=["--wrap=none"])
    for shown, code in ((page, NAMED[:3]), (html_prose(marked, WHOLE), NAMED)):
        found = re.findall(r"<code(?: [^>]*)?>(.*?)</code>", shown)
        assert [html.unescape(each) for each in found] == [*code]
        told = html.unescape(re.sub(r"<[^>]*>", "", shown))
        assert "3.5\xa0pp" in told
        assert "CI\xa0−0.4\xa0to\xa06.3" in told
        assert "12%\xa0to\xa036%" in told
        assert "p\xa0<\xa00.001" in told
        assert re.sub(r"\s", " ", told).strip() == plain


def test_what_is_named_is_plain_to_all_but_views_and_a_mark_in_a_file_is_none() -> None:
    document = told(
        Document(kind="score", title="", label="", tone="good", headline=f"{named('the')} leads the others")
    )
    assert (document.headline, str(replace(document, scope="x").headline)) == ("the leads the others",) * 2
    assert pieces(marked(document).headline) == [("the", True), (" leads the others", False)]
    hostile = replace(document, headline="\ufdd0x\ufdd1 and a_b", names=("a_b",))
    assert pieces(marked(hostile).headline) == [("\\ufdd0x\\ufdd1 and ", False), ("a_b", True)]


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("Worst in goal_switching, law and ethics", "Worst in `goal_switching`, `law` and `ethics`"),
        (
            "Worst in law, ethics and goal_switching (law costs most)",
            "Worst in `law`, `ethics` and `goal_switching` (law costs most)",
        ),
        ("Neither law nor a_b; by law and ethics", "Neither `law` nor `a_b`; by law and ethics"),
        ("a_b and lawful", "`a_b` and lawful"),
        ("a_b, law and 3 more", "`a_b`, `law` and 3 more"),
    ],
)
def test_of_a_list_all_names_are_set_or_none(told: str, shown: str) -> None:
    document = Document(
        kind="score", title="", label="", tone="good", headline=told, names=("law", "a_b", "goal_switching", "ethics")
    )
    headline = pieces(marked(document).headline)
    assert "".join(f"`{part}`" if is_name else part for part, is_name in headline) == shown


def test_a_name_at_the_end_of_a_sentence_stays_beside_a_reference_to_a_figure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = Table(id="t", columns=(Column(title="A", kind="name"),), rows=(("a",),), caption="c")
    section = Section(id="s", heading="h", blocks=(Text(text="Worst is a_b"), Text(text="Best is a_b."), table))
    Page(
        document=Document(
            kind="score", title="", label="", tone="good", headline="h", evidence=(section,), names=("a_b",)
        ),
        engine="",
        day=date(2026, 1, 31),
    ).show("evidence")
    page = pypandoc.convert_text(capsys.readouterr().out, "html", format="markdown")
    assert "Best is <code>a_b</code>" in page
