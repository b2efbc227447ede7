"""The same pages by real Quarto, where it is on the machine."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evalstats import Dashboard, compare, datasets
from evalstats.report.engine import find_quarto, loads, page_script
from evalstats.report.examples import example
from evalstats.report.render import render_results

pytestmark = pytest.mark.quarto


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
            "fig-difference",
            "Quarto ",
        ):
            assert phrase in html
    else:
        assert path.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("kinds", [("compare",), ("judges", "score")])
def test_both_engines_say_the_same_in_the_same_order(kinds: tuple[str, ...], tmp_path: Path) -> None:
    said: dict[str, dict[str, list[str]]] = {}
    for engine in ("embedded", "quarto"):
        outputs = [tmp_path / f"{engine}.html", tmp_path / f"{engine}.pdf"]
        render_results([example(kind) for kind in kinds], outputs, engine=engine)
        said[engine] = {"html": _words_of_page(outputs[0]), "pdf": _words_of_paper(outputs[1])}
        # The identifier of PDF/UA stands in the metadata, which are not compressed.
        assert b"pdfuaid:part" in outputs[1].read_bytes()
    assert said["embedded"] == said["quarto"]


def _words_of_page(path: Path) -> list[str]:
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return _but_the_engine(re.sub(r"<wbr>|<!--.*?-->", "", text).replace("<", " <"))


def _words_of_paper(path: Path) -> list[str]:
    document = pytest.importorskip("pypdfium2").PdfDocument(path)
    return _but_the_engine(" ".join(page.get_textpage().get_text_range() for page in document))


def _but_the_engine(text: str) -> list[str]:
    words = re.sub(r"<[^>]*>", " ", text).replace("\xa0", " ")
    return re.sub(r"Rendered by .*? on (?=\d)", "Rendered on ", " ".join(words.split())).split()


def test_watched_scores_are_a_dashboard_that_runs_nothing_of_quartos(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    found = example("dashboard")
    assert isinstance(found, Dashboard)
    rows = tuple(replace(row, name=hostile) if row.drifted else row for row in found.rows)
    days = tuple(replace(day, name=hostile) if day.name == found.rows[0].name else day for day in found.days)
    path = render_results(replace(found, rows=rows, days=days), [tmp_path / "page.html"], engine="quarto")[0].path
    html = path.read_text(encoding="utf-8")
    assert loads(html, script=page_script()) == []
    assert hostile not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    for phrase in ("quarto-dashboard", "bslib-value-box", "es-amount", "Scores by day", "How changes were found"):
        assert phrase in html
