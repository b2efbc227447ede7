"""The page of lab and live from two tables to file: asked, rendered, seen in a browser. One page serves all tests."""

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

from evalstats.analysis.gap.gap import gap
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.plots.style import contrast
from evalstats.report.engine import loads, page_script
from evalstats.report.page import open_result
from evalstats.report.render import render_results
from evalstats.schema.data import EvalData
from evalstats.simulate.lab_live import simulate_lab_live
from tests.analysis.gap import example_gap as example
from tests.report.test_browser import COLOURS, STRUCTURE

# Without letters that fonts of a PDF may lack.
MODELS = (*example.HOSTILE[:5], "third", "plain", "other")
SCENARIOS = {"stable": "<i>stable</i>|$x$", "hasty": "=hasty()", "rare": "`rare` #eval"}


def hostile_sides() -> tuple[EvalData, EvalData]:
    """Eight models with hostile names, three scenarios of which the lab lacks one, one of them far worse live."""
    mix = {"stable": 0.5, "hasty": 0.3, "rare": 0.2}
    both = simulate_lab_live(
        8, n_lab_only=1, n_items=90, n_users=120, n_live=1600, scenarios=tuple(SCENARIOS), live_mix=mix,
        lab_mix={"stable": 0.5, "hasty": 0.5}, gaps={"model-01": -0.4}, seed=3,
    )  # fmt: skip
    names = dict(zip([f"model-{i:02d}" for i in range(1, 9)], MODELS, strict=True))

    def renamed(data: EvalData) -> EvalData:
        frame = data.outcomes.with_columns(
            pl.col("model", "system").replace(names), pl.col("scenario").replace(SCENARIOS)
        )
        return replace(data, outcomes=frame)

    return renamed(both.lab), renamed(both.live)


@pytest.fixture(scope="module")
def sides() -> tuple[EvalData, EvalData]:
    return hostile_sides()


@pytest.fixture(scope="module")
def found(sides: tuple[EvalData, EvalData]) -> LabLiveGap:
    return gap(*sides, by="scenario", margin="5pp", n_resamples=100, top=(3,))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, found: LabLiveGap) -> Path:
    path = tmp_path_factory.mktemp("lab-live") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1763683200")
        return render_results([found], [path], engine="embedded")[0].path


@pytest.fixture(scope="module")
def page(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def test_the_page_is_the_document_in_its_order(page: str, found: LabLiveGap) -> None:
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))
    start = text.index("The data are simulated")  # the list of contents stands before it
    document = found.document()
    marks = [document.scope[:20], "What to do", "Data (CSV)", "How it was computed", "Repeat this"]
    for phrase in marks:
        assert phrase in text[start:], phrase
        start = text.index(phrase, start) + 1


def test_a_reader_is_not_drowned(page: str) -> None:
    shown = re.sub(r"(?s)<(head|script|style|svg|math|details)\b.*?</\1>", " ", page)
    assert len(re.sub(r"<[^>]*>", " ", shown).split()) <= 1500


def test_every_page_of_an_example_says_that_it_is_simulated() -> None:
    opened = open_result(kind="lab-live")
    assert [note.kind for note in opened.document.banners] == ["simulated"]


def test_no_user_is_named(page: str, sides: tuple[EvalData, EvalData]) -> None:
    users = set(sides[1].outcomes["user"].unique())
    assert len(users) > 50
    shown = html.unescape(page) + "".join(
        base64.b64decode(data).decode() for data in re.findall(r"base64,([A-Za-z0-9+/=]*)", page)
    )
    assert not users & set(re.findall(r"u\d+", shown))


def test_the_rendered_page_runs_and_loads_nothing(page: str) -> None:
    assert loads(page, script=page_script()) == []
    tags = set(re.findall(r"<([a-z]+)[\s>]", page))
    assert not tags & {"b", "i", "iframe", "link", "img"}


def test_rendered_drawings_have_their_words(page: str) -> None:
    drawings = [html.unescape(text) for text in re.findall(r'<svg role="img" aria-label="([^"]*)"', page)]
    assert len(drawings) == len(re.findall(r'<div class="es-figure', page)) >= 6
    assert all(len(text) > 40 for text in drawings)


def test_rendered_headings_and_ids_are_in_order(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[\s>]", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_rendered_cells_are_no_formulas(page: str) -> None:
    found = re.findall(r"base64,([A-Za-z0-9+/=]*)", page)
    assert len(found) >= 3
    for data in found:
        assert not re.search(r"(?:^|,)\"?[=@+](?!\d)", base64.b64decode(data).decode(), re.MULTILINE)


@pytest.mark.slow
def test_the_pdf_says_the_same(tmp_path: Path, pdf_text: Callable[[Path], str], found: LabLiveGap) -> None:
    made = render_results([found], [tmp_path / "page.pdf"], engine="embedded")[0].path
    text = re.sub(r"\s+", "", pdf_text(made))
    for phrase in ("Do lab scores on simulated lab predict", "What to do", "=cmd()", "Figure 2", "References"):
        assert phrase.replace(" ", "") in text


@pytest.fixture
def seen(request: pytest.FixtureRequest, file: Path) -> Iterator[Any]:
    started = request.getfixturevalue("browser")
    contexts: list[Any] = []

    def opened_at(width: int, scheme: str = "light") -> Any:
        context = started.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        return page

    yield opened_at
    for context in contexts:
        context.close()


OUTSIDE = """() => [...document.querySelectorAll('main svg text')].filter(t => {
    const box = t.getBoundingClientRect(), drawing = t.ownerSVGElement.getBoundingClientRect();
    return box.width && (box.left < drawing.left - 1 || box.right > drawing.right + 1 || box.top < drawing.top - 1);
}).map(t => t.textContent)"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_overflows_and_no_word_is_cut(seen: Any, width: int) -> None:
    page = seen(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(STRUCTURE) == []
    if width > 320:
        assert page.evaluate(OUTSIDE) == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(seen: Any, scheme: str) -> None:
    page = seen(1280, scheme)
    for selector in (
        "#fig-scores svg text",
        "#fig-gaps svg text",
        "td",
        "th",
        ".es-answer p",
        "li",
    ):
        found = page.evaluate(COLOURS, selector)
        assert found, f"nothing matches {selector}"
        for text, ink, ground in found:
            assert contrast(ink, ground) >= 4.5, (selector, text, ink, ground)
