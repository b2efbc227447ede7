"""Escaping: whatever stands in a result file stays text, in Markdown, HTML, Typst and CSV."""

import base64
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.document.model import Note
from evalstats.report import pieces as markup
from evalstats.report.cells import PRINTED
from evalstats.report.engine import pandoc_program
from evalstats.report.examples import example
from evalstats.report.page import open_page

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


def plain_text(block: dict[str, object]) -> str:
    parts = []
    for inline in block["c"]:
        assert inline["t"] in {"Str", "Space", "SoftBreak"}, inline
        parts.append(inline["c"] if inline["t"] == "Str" else " ")
    return "".join(parts)


@pytest.mark.parametrize("text", HOSTILE)
def test_prose_is_one_paragraph_of_words(text: str) -> None:
    """Pandoc, with every extension that Quarto leaves on, reads back the same words and nothing else."""
    blocks = as_json(markup.prose(text))["blocks"]
    assert [block["t"] for block in blocks] == ["Para"]
    expected = re.sub(r"\s+", " ", text).strip().replace("\u202e", "\\u202e").replace("\x00", "\\x00")
    assert plain_text(blocks[0]) == expected


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
        ("doi:10.1002/sim.4780080705.", "https://doi.org/10.1002/sim.4780080705"),
        ("(10.1093/restud/rdad006)", "https://doi.org/10.1093/restud/rdad006"),
        ("arXiv:2411.00640", "https://arxiv.org/abs/2411.00640"),
        ("see https://example.org/a_b, there", "https://example.org/a_b"),
    ],
)
def test_addresses_become_links(text: str, address: str) -> None:
    blocks = as_json(markup.linked(text))["blocks"]
    links = [inline["c"][2][0] for inline in blocks[0]["c"] if inline["t"] == "Link"]
    assert links == [address]


def test_words_keep_their_distance_from_links() -> None:
    blocks = as_json(markup.linked("evaluations. arXiv:2411.00640 and more"))["blocks"]
    assert [inline["t"] for inline in blocks[0]["c"]] == ["Str", "Space", "Link", "Space", "Str", "Space", "Str"]


def test_a_sentence_without_an_address_has_no_link() -> None:
    assert markup.linked("version 10.2 of 3") == markup.prose("version 10.2 of 3")


def test_metadata_is_read_by_pandoc() -> None:
    found = as_json(markup.metadata(title=markup.prose('Is "a" <b> 1. better?')))["meta"]
    assert "".join(part.get("c", " ") for part in found["title"]["c"]) == 'Is "a" <b> 1. better?'


def test_show_separates_blocks_and_drops_empty_ones(capsys: pytest.CaptureFixture[str]) -> None:
    markup.show("a", "", "b")
    assert capsys.readouterr().out == "a\n\nb\n\n"


def test_an_address_in_a_note_is_no_link(capsys: pytest.CaptureFixture[str]) -> None:
    """It may be what a file calls a model; references are ours, and are links."""
    address = "https://example.org/x"
    assert f"](<{address}>)" in markup.linked(f"see {address}")
    assert "](" not in markup.said(f"see {address}")
    assert "](" not in markup.linked(f"{address} leads", addresses=False)
    assert markup.linked("arXiv:2411.00640", addresses=False).startswith("[arXiv")
    result: Any = example("score")
    note = Note(kind="choice", text=f"{address} was left out", caution=False)
    open_page(replace(result, notes=(*result.notes, note))).show("method")
    told = capsys.readouterr().out
    assert "example" in told
    assert f"](<{address}>)" not in told
    assert "](<https://doi.org" in told


@pytest.mark.parametrize("printed", ["0", "1", ""])
def test_a_figure_is_drawn_for_paper_where_a_pdf_may_be_made(
    printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PRINTED, printed)
    open_page(example("compare")).show("title", "answer")
    assert any(tmp_path.rglob("*.svg")) == (printed != "0")
