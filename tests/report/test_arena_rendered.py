"""The page of an arena from votes to file: asked, rendered, seen in a browser."""

import base64
import html
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.analysis.arena.arena import arena
from evalstats.plots.style import contrast
from evalstats.report.engine import loads, page_script
from evalstats.report.render import render_results
from evalstats.schema.data import EvalData
from evalstats.simulate.arena import simulate_arena
from evalstats.simulate.arena_world import ArenaDesign
from tests.analysis.arena import example_ranking as example
from tests.report.test_browser import COLOURS, STRUCTURE

MODELS = example.HOSTILE[:4]


def hostile_votes() -> EvalData:
    """Four models with hostile names in 600 simulated votes."""
    data = simulate_arena(600, seed=3, design=ArenaDesign(models=4))
    frame = data.comparisons
    named = dict(zip(sorted({*frame["model_a"], *frame["model_b"]}), MODELS, strict=True))
    frame = frame.with_columns(pl.col("model_a", "model_b").replace(named), app=pl.lit("<b>app</b> $y$"))
    return replace(data, comparisons=frame)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("arena")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1763683200")
        found = arena(hostile_votes(), by="app")
        page, paper = render_results([found], [folder / "arena.html", folder / "arena.pdf"], engine="embedded")
    return page.path, paper.path


@pytest.fixture(scope="module")
def page(files: tuple[Path, Path]) -> str:
    return files[0].read_text(encoding="utf-8")


def visible(page: str) -> str:
    """The words that a reader sees before anything is unfolded."""
    body = re.sub(r"<(script|style|svg|details|nav)\b.*?</\1>", " ", page.partition("<body")[2], flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def test_the_page_says_the_answer_before_anything_else_in_few_words(page: str) -> None:
    text = visible(page)
    start = 0
    order = ("Whom do users prefer", "simulated", "all 3 others", "neighbours", "checks passed", "Method")
    for phrase in order:
        start = text.index(phrase, start) + 1
    assert len([word for word in text.split() if any(letter.isalnum() for letter in word)]) <= 1100


def test_the_rendered_page_runs_and_loads_nothing(page: str) -> None:
    assert loads(page, script=page_script()) == []
    tags = set(re.findall(r"<([a-z]+)[\s>]", page))
    assert not tags & {"b", "i", "iframe", "link", "img"}


def test_rendered_drawings_have_their_words(page: str) -> None:
    drawings = [html.unescape(text) for text in re.findall(r'<svg role="img" aria-label="([^"]*)"', page)]
    assert len(drawings) == len(re.findall(r'<div class="es-figure', page)) >= 2
    assert all(len(text) > 40 for text in drawings)


def test_rendered_headings_and_ids_are_in_order(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[\s>]", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_rendered_cells_are_no_formulas(page: str) -> None:
    found = re.findall(r"base64,([A-Za-z0-9+/=]*)", page)
    assert len(found) >= 2
    for data in found:
        assert not re.search(r"(?:^|,)\"?[=@+](?!\d)", base64.b64decode(data).decode(), re.MULTILINE)


def test_the_pdf_says_the_same(files: tuple[Path, Path], pdf_text: Callable[[Path], str]) -> None:
    text = re.sub(r"\s+", "", pdf_text(files[1]))
    for phrase in ("Whom do users prefer", "simulated", "=cmd()", "Figure 1", "References"):
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
    for selector in ("#fig-ratings svg text", "#fig-wins svg text", "td", "th", ".es-answer p"):
        found = page.evaluate(COLOURS, selector)
        assert found, f"nothing matches {selector}"
        for text, ink, ground in found:
            assert contrast(ink, ground) >= 4.5, (selector, text, ink, ground)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_words_of_the_drawings_are_not_cut(seen: Any, width: int) -> None:
    outside = seen(width).evaluate(
        """() => [...document.querySelectorAll('main svg text')].filter(t => {
            const box = t.getBoundingClientRect(), drawing = t.ownerSVGElement.getBoundingClientRect();
            return box.width && (box.left < drawing.left - 1 || box.right > drawing.right + 1 || box.top < drawing.top - 1);
        }).map(t => t.textContent)"""
    )
    assert outside == []
