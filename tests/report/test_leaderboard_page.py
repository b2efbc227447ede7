"""The page of a leaderboard with hostile names: what it says first, names as text, what stands where, on any screen."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evalstats.report.engine import find_page, loads, page_script
from evalstats.report.qmd import check_constructs, read_document
from evalstats.report.render import render_results
from tests.plots import boards
from tests.report.page_words import words


def test_the_page_uses_only_what_both_engines_know() -> None:
    check_constructs(read_document(find_page("leaderboard").source))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The hostile board as HTML and as PDF, by the embedded engine."""
    folder = tmp_path_factory.mktemp("rendered")
    found = boards.hostile(baseline=boards.HOSTILE_MODELS[0])
    page, paper = render_results([found], [folder / "page.html", folder / "page.pdf"], engine="embedded")
    return page.path, paper.path


@pytest.fixture(scope="module")
def page(files: tuple[Path, Path]) -> str:
    return files[0].read_text(encoding="utf-8")


def test_it_answers_first_and_the_method_comes_last(page: str) -> None:
    text = words(page)
    order = [
        "Which model is best on b $y$ <b>?", "No clear winner", "2 of 6 models could be best", "What to do",
        "No rank is certain", "models are shown worse than <script>|$x$", "models lack scores", "Method", "References",
        "Repeat this",
    ]  # fmt: skip
    start = text.index("Skip to the report")
    for phrase in order:
        start = text.index(phrase, start) + 1


def test_it_runs_and_loads_nothing(page: str) -> None:
    assert loads(page, script=page_script()) == []
    tags = set(re.findall(r"<([a-z]+)[\s>]", page))
    assert not tags & {"b", "i", "iframe", "link", "img"}
    shown = page.partition("</style>")[2].replace('<span class="es-whole">{.callout-note}</span>', "{.callout-note}")
    assert "callout-note" not in shown.replace("::: {.callout-note}", "")


def test_drawings_have_their_words(page: str) -> None:
    drawings = re.findall(r'<svg role="img" aria-label="([^"]*)"', page)
    assert len(drawings) == 4  # the leaderboard and the baseline, each wide and narrow
    assert all("the ranks left open" in html.unescape(text) for text in drawings[:2])


def test_the_pdf_says_the_same(files: tuple[Path, Path], pdf_text: Callable[[Path], str]) -> None:
    text = re.sub(r"\s+", "", pdf_text(files[1]))
    for phrase in ("Which model is best on b $y$ <b>?", "2 of 6", "{{< env HOME >}}", "Figure 2", "References"):
        assert phrase.replace(" ", "") in text
