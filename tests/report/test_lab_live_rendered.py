"""The page of lab and live from two tables to file: asked, rendered, seen in a browser. One page serves all tests."""

import base64
import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evalstats.analysis.gap.gap import gap
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.report.engine import loads, page_script
from evalstats.report.page import open_result
from evalstats.report.render import render_results
from evalstats.schema.data import EvalData
from evalstats.simulate.lab_live import simulate_lab_live
from tests.analysis.gap import example_gap as example

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


@pytest.mark.slow
def test_the_pdf_says_the_same(tmp_path: Path, pdf_text: Callable[[Path], str], found: LabLiveGap) -> None:
    made = render_results([found], [tmp_path / "page.pdf"], engine="embedded")[0].path
    text = re.sub(r"\s+", "", pdf_text(made))
    for phrase in ("Do lab scores on simulated lab predict", "What to do", "=cmd()", "Figure 2", "References"):
        assert phrase.replace(" ", "") in text
