"""The page of scenarios from data to file: asked, rendered, seen in a browser."""

import base64
import html
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.plots.style import contrast
from evalstats.report.engine import loads
from evalstats.report.handover import write_tables
from evalstats.report.names import LONGEST
from evalstats.report.render import render_reports, report
from evalstats.report.scenario.page import ScenarioPage, open_page
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of
from tests.analysis.scenarios import example
from tests.report.test_browser import COLOURS, STRUCTURE, browser  # noqa: F401 - a fixture
from tests.report.test_leaderboard_page import words

MODELS = (*example.HOSTILE_MODELS[:2], example.HOSTILE_MODELS[-1])
SCENARIOS = example.HOSTILE_SCENARIOS[:3]
LOGITS = ((1.5, 1.4, -1.5), (0.9, 0.8, 0.7), (0.3, 0.4, 0.0))


def hostile_data(n_items: int = 60) -> EvalData:
    """Three models in three scenarios with hostile names; the first breaks in the last one. Two metrics."""
    rng = np.random.default_rng(8)
    ease = rng.normal(0, 0.7, n_items)
    rows = []
    for place, model in enumerate(MODELS):
        for turn, scenario in enumerate(SCENARIOS):
            right = rng.logistic(size=n_items) < LOGITS[place][turn] + ease
            scores = right.astype(float).tolist()
            seconds = (10 + 3 * turn + rng.normal(0, 1, n_items)).tolist()
            for metric, values in (("co|rrect_$x$", scores), ("<b>se|conds</b>", seconds)):
                part = rows_of(model, values, metric=metric, benchmark="b $y$ <b>")
                for row in part:
                    row |= {"variant": scenario, "scenario": scenario}
                rows.append(part)
    return data_of(*rows, note="a note with <i> and $z$")


@pytest.fixture(scope="module", autouse=True)
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Figures for the PDF are written into the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        yield


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> ScenarioPage:
    folder = tmp_path_factory.mktemp("asked") / "data"
    write_tables(hostile_data(), folder)
    return open_page(
        store=str(folder),
        metric="co|rrect_$x$",
        reference=SCENARIOS[0],
        n_resamples=0,
        rendered="2025-11-21",
        engine="an engine",
    )


def test_the_page_asks_what_scenarios_answers(asked: ScenarioPage) -> None:
    found = asked.model
    assert (found.n_models, found.n_scenarios) == (3, 3)
    assert {row.n_items for row in found.cells} == {60}
    assert found.reference == SCENARIOS[0]
    assert found.drop(MODELS[0], SCENARIOS[2]).verdict == "drop"
    assert max(map(len, found.model_names)) <= LONGEST
    assert [name for _, name in asked.full_names] == [MODELS[2]]
    assert "reference=" in asked.reproduce
    assert "es.read(...)" in asked.reproduce


def test_the_other_metric_is_asked_as_well(asked: ScenarioPage) -> None:
    (other,) = asked.further
    assert other.metric == "<b>se|conds</b>"
    assert other.model is not None
    assert other.model.family == "gaussian"
    assert other.model.model_names != ()
    assert set(other.model.model_names) == set(asked.model.model_names)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder, data = tmp_path_factory.mktemp("rendered"), hostile_data()
    page, paper = render_reports(
        kind="scenarios",
        data=data,
        outputs={"html": folder, "pdf": folder},
        engine="embedded",
        options={"metric": "co|rrect_$x$", "reference": SCENARIOS[0], "n_resamples": 0},
    )
    return page.path, paper.path


@pytest.fixture(scope="module")
def rendered(files: tuple[Path, Path]) -> tuple[str, Path]:
    return files[0].read_text(encoding="utf-8"), files[1]


def test_the_rendered_page_answers_first(rendered: tuple[str, Path]) -> None:
    text = words(rendered[0])
    order = [
        "Where do models break on b $y$ <b>?", "Breaks shown", "shown to be worse", "Every model in every scenario",
        "Every change", "From the reference to each scenario", "Do models differ?", "In where they break", "In their order",
        "How far can scores be trusted?", "What scores vary by", "How reliable the benchmark is", "Further metrics",
        "<b>se|conds</b>", "Method", "References", "Where this report comes from",
    ]  # fmt: skip
    start = text.index("Skip to the report")
    for phrase in order:
        start = text.index(phrase, start) + 1


def test_the_rendered_page_runs_and_loads_nothing(rendered: tuple[str, Path]) -> None:
    page = rendered[0]
    assert loads(page) == []
    tags = set(re.findall(r"<([a-z]+)[\s>]", page))
    assert not tags & {"script", "b", "i", "iframe", "link", "img"}
    assert not re.search(r'class="[^"]*callout-note', page)


def test_rendered_drawings_have_their_words(rendered: tuple[str, Path]) -> None:
    drawings = [html.unescape(text) for text in re.findall(r'<svg role="img" aria-label="([^"]*)"', rendered[0])]
    assert len(drawings) == len(re.findall(r'<div class="es-figure', rendered[0]))
    assert (
        sum(
            "changes are shown to be to the worse" in text or "is shown to be to the worse" in text for text in drawings
        )
        == 4
    )
    assert all(len(text) > 40 for text in drawings)


def test_rendered_headings_and_ids_are_in_order(rendered: tuple[str, Path]) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[\s>]", rendered[0])]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = re.findall(r'\sid="([^"]*)"', rendered[0])
    assert len(ids) == len(set(ids))


def test_rendered_cells_are_no_formulas(rendered: tuple[str, Path]) -> None:
    for data in re.findall(r"base64,([A-Za-z0-9+/=]*)", rendered[0]):
        assert not re.search(r"(?:^|,)\"?[=@+](?!\d)", base64.b64decode(data).decode(), re.MULTILINE)


def test_the_pdf_says_the_same(rendered: tuple[str, Path], pdf_text: Callable[[Path], str]) -> None:
    text = re.sub(r"\s+", "", pdf_text(rendered[1]))
    for phrase in ("Where do models break on b $y$ <b>?", "Breaks shown", "{{< env HOME >}}", "Figure 3", "References"):
        assert phrase.replace(" ", "") in text


def test_options_that_the_page_has_not_are_refused() -> None:
    with pytest.raises(InputError, match="no option 'candidate'"):
        report("scenarios", hostile_data(5), candidate="east")
    with pytest.raises(InputError, match="no option 'margin'"):
        report("scenarios", hostile_data(5), margin="2pp")


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
    for selector in ("#fig-map svg text", "#fig-slopes svg text", "td", "th", ".es-facts small", ".es-answer p"):
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
            return box.width && (box.left < drawing.left - 1 || box.right > drawing.right + 1);
        }).map(t => t.textContent)"""
    )
    assert outside == []
