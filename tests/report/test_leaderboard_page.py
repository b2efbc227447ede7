"""The page of a leaderboard with hostile names: what it says first, names as text, what stands where, on any screen."""

import base64
import html
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstats.plots.style import contrast
from evalstats.report.engine import find_page, loads, page_script
from evalstats.report.qmd import check_constructs, read_document
from evalstats.report.render import render_results
from tests.plots import boards
from tests.report.page_words import words
from tests.report.test_browser import COLOURS, STRUCTURE


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


def test_headings_and_ids_are_in_order(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[\s>]", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_cells_of_the_data_are_no_formulas(page: str) -> None:
    found = re.findall(r"base64,([A-Za-z0-9+/=]*)", page)
    assert len(found) == 4  # ranks, differences from the baseline, what is missing, further numbers
    for data in found:
        assert not re.search(r"(?:^|,)\"?[=@+](?!\d)", base64.b64decode(data).decode(), re.MULTILINE)


def test_the_pdf_says_the_same(files: tuple[Path, Path], pdf_text: Callable[[Path], str]) -> None:
    text = re.sub(r"\s+", "", pdf_text(files[1]))
    for phrase in ("Which model is best on b $y$ <b>?", "2 of 6", "{{< env HOME >}}", "Figure 2", "References"):
        assert phrase.replace(" ", "") in text


@pytest.fixture
def seen(request: pytest.FixtureRequest, files: tuple[Path, Path]) -> Iterator[Any]:
    started = request.getfixturevalue("browser")
    contexts: list[Any] = []

    def opened_at(width: int, scheme: str = "light") -> Any:
        context = started.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.goto(files[0].as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        return page

    yield opened_at
    for context in contexts:
        context.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_overflows_sideways(seen: Any, width: int) -> None:
    page = seen(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(STRUCTURE) == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(seen: Any, scheme: str) -> None:
    page = seen(1280, scheme)
    for selector in ("#fig-ranks svg text", "#fig-against-baseline svg text", "td", "th", ".es-answer p"):
        found = page.evaluate(COLOURS, selector)
        assert found, f"nothing matches {selector}"
        for text, ink, ground in found:
            assert contrast(ink, ground) >= 4.5, (selector, text, ink, ground)
