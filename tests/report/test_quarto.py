"""The same pages by real Quarto, where it is on the machine."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.pages import results
from evalstats import compare, datasets
from evalstats.report.engine import find_quarto, loads, page_script
from evalstats.report.render import render_results

pytestmark = pytest.mark.quarto
_ONE_LINE = 12  # of small type, in pixels


@pytest.fixture(scope="module", autouse=True)
def _quarto() -> None:
    if find_quarto(required=False) is None:
        pytest.skip("Quarto is not on this machine: set QUARTO_PATH or put it on the path")


@pytest.mark.parametrize("to", ["html", "pdf"])
def test_quarto_renders_the_shipped_page(to: str, tmp_path: Path) -> None:
    result = compare(datasets.tenacious_held_out(), "baseline", "trained")
    path = render_results([result], [tmp_path / f"page.{to}"], engine="quarto")[0].path
    assert path.stat().st_size > 10_000
    if to == "html":
        html = path.read_text(encoding="utf-8")
        assert loads(html, script=page_script()) == []
        for phrase in (
            "Is trained better than baseline on Tenacious-Bench?",
            "es-verdict",
            "Figure",
            "fig-flips",
            "Quarto ",
        ):
            assert phrase in html
    else:
        assert path.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    "name", ["compare", *(pytest.param(each, marks=pytest.mark.slow) for each in results() if each != "compare")]
)
def test_both_engines_make_the_same_page(name: str, tmp_path: Path) -> None:
    """All texts in one order, and the same picture of every sheet, but for the line that names the engine."""
    given = results()[name]()
    pages = {engine: (tmp_path / f"{engine}.html", tmp_path / f"{engine}.pdf") for engine in ("embedded", "quarto")}
    for engine, outputs in pages.items():
        render_results(given, outputs, engine=engine)
        # The identifier of PDF/UA stands in the metadata, which are not compressed.
        assert b"pdfuaid:part" in outputs[1].read_bytes()
    (html, pdf), (other_html, other_pdf) = pages.values()
    assert _words_of_page(html) == _words_of_page(other_html)
    assert _words_of_paper(pdf) == _words_of_paper(other_pdf)
    # Every result of a document names the engine.
    most = _ONE_LINE * len(given) if isinstance(given, Sequence) and not isinstance(given, str) else _ONE_LINE
    assert sum(_rows_that_differ(pdf, other_pdf)) <= most


def _rows_that_differ(*paths: Path) -> list[int]:
    """How many rows of pixels lie between the first and the last that differ, for each sheet."""
    pdfium, chops = pytest.importorskip("pypdfium2"), pytest.importorskip("PIL.ImageChops")
    first, second = ([sheet.render().to_pil().convert("RGB") for sheet in pdfium.PdfDocument(path)] for path in paths)
    boxes = [chops.difference(*pair).getbbox() for pair in zip(first, second, strict=True)]
    return [box[3] - box[1] for box in boxes if box]


def _words_of_page(path: Path) -> list[str]:
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return _but_the_engine(re.sub(r"<wbr>|<!--.*?-->", "", text).replace("<", " <"))


def _words_of_paper(path: Path) -> list[str]:
    document = pytest.importorskip("pypdfium2").PdfDocument(path)
    return _but_the_engine(" ".join(page.get_textpage().get_text_range() for page in document))


def _but_the_engine(text: str) -> list[str]:
    words = re.sub(r"<[^>]*>", " ", text).replace("\xa0", " ")
    return re.sub(r"Rendered by .*? on (?=\d)", "Rendered on ", " ".join(words.split())).split()
