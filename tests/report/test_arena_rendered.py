"""The page of an arena from votes to file: asked, rendered, seen in a browser."""

import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evalstats.analysis.arena.arena import arena
from evalstats.report.engine import loads, page_script
from evalstats.report.render import render_results
from evalstats.schema.data import EvalData
from evalstats.simulate.arena import simulate_arena
from evalstats.simulate.arena_world import ArenaDesign
from tests.analysis.arena import example_ranking as example

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


def test_the_pdf_says_the_same(files: tuple[Path, Path], pdf_text: Callable[[Path], str]) -> None:
    text = re.sub(r"\s+", "", pdf_text(files[1]))
    for phrase in ("Whom do users prefer", "simulated", "=cmd()", "Figure 1", "References"):
        assert phrase.replace(" ", "") in text
