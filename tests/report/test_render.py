"""Reports end to end, by the embedded engine."""

import base64
import io
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from evalstats import compare, datasets, read_plan
from evalstats.errors import InputError
from evalstats.report import render
from evalstats.report.engine import loads, page_script
from evalstats.report.examples import example
from evalstats.report.page import today
from evalstats.report.render import render_results, report
from evalstats.schema.data import EvalData
from tests.report.page_words import Outline


@pytest.fixture(scope="module")
def outline(pages) -> Outline:
    return Outline(pages.html)


@pytest.fixture(scope="module")
def hostile_outline(hostile_pages) -> Outline:
    return Outline(hostile_pages.html)


def test_the_answer_comes_first_then_evidence_then_method(outline: Outline) -> None:
    words = outline.words
    order = [
        "Is trained better than baseline on Tenacious-Bench?",
        "Inconclusive",
        "trained scores higher on these 43 items; whether it does on other dimensions is open",
        "+48.8 pp",
        # CR2 by dimension: [-5.56, 103.2] clipped at 100 (shared/methods.md, section 3.1).
        "95% CI −5.6 to 100.0, p = 0.070",
        "Basis",
        "trained 100.0% against baseline 51.2% in correct, on the 43 items of Tenacious-Bench",
        "clustered by dimension (7)",
        "Caution",
        "Items of one dimension behave alike",
        "What to do",
        "trained gains all 21 items of 3 dimensions and changes nothing in the other 4.",
        "trained gained 21 items and lost none",
        "Each side on its own",
        "2 methods disagree",
        "Method",
        "References",
        "es.compare(data, 'baseline', 'trained')",
    ]
    start = words.index("Skip to the report")
    for phrase in order:
        start = words.index(phrase, start) + 1


def test_landmarks_language_and_headings(outline: Outline) -> None:
    tags = [tag for tag, _ in outline.elements]
    assert outline.all("html")[0]["lang"] == "en"
    for landmark in ("header", "nav", "main", "footer"):
        assert tags.count(landmark) == 1
    assert tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert "title" in tags
    targets = {link["href"] for link in outline.all("a") if (link.get("href") or "").startswith("#")}
    ids = [attributes["id"] for _, attributes in outline.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    assert {target[1:] for target in targets} <= set(ids)
    assert {"#method", "#report"} <= targets


def test_every_drawing_has_alternative_text(outline: Outline) -> None:
    drawings = outline.all("svg")
    assert len(drawings) == 5  # that of the card, and two figures, each wide and narrow
    assert all(drawing["role"] == "img" and drawing["aria-label"] for drawing in drawings)
    assert "+48.8 [−5.6, +100.0]" in (drawings[0]["aria-label"] or "")


def test_data_stand_behind_the_figures(outline: Outline) -> None:
    links = {link["download"]: link["href"] for link in outline.all("a") if link.get("download")}
    assert {"methods.csv", "flips.csv"} <= set(links)
    frames = {
        name: pl.read_csv(io.BytesIO(base64.b64decode((links[name] or "").partition("base64,")[2])))
        for name in ("methods.csv", "flips.csv")
    }
    headline = frames["methods.csv"].filter(pl.col("role") == "headline").row(0, named=True)
    assert headline["estimate"] == pytest.approx(21 / 43)
    assert frames["flips.csv"].height == 21


def test_one_file_that_loads_nothing(pages, hostile_pages) -> None:
    for page in (pages, hostile_pages):
        assert loads(page.html, script=page_script()) == []
        assert re.findall('http-equiv="([^"]*)', page.html) == ["Content-Security-Policy"]


def test_no_path_of_this_machine_is_in_the_page(pages) -> None:
    for part in ("evalstats-report-", "evalstats-cells-", str(Path(__file__).parents[2])):
        assert part not in pages.html


def test_hostile_names_are_text(hostile_outline: Outline, hostile_models: tuple[str, str]) -> None:
    words = hostile_outline.words
    for name in hostile_models:
        assert re.sub(r"\s+", " ", name) in words
    tags = {tag for tag, _ in hostile_outline.elements}
    assert not tags & {"b", "i", "iframe", "link"}
    assert len(hostile_outline.all("script")) == 1  # the page's own, as `loads` has found
    assert not hostile_outline.all("img")
    assert "callout-note" not in {cls for _, a in hostile_outline.elements for cls in (a.get("class") or "").split()}


def test_hostile_cells_are_no_formulas(hostile_outline: Outline) -> None:
    for link in hostile_outline.all("a"):
        if link.get("download"):
            text = base64.b64decode((link["href"] or "").partition("base64,")[2]).decode()
            assert not re.search(r"(?:^|,)\"?[=@+](?!\d)", text, re.MULTILINE)
            assert "'=" in text or link["download"] != "flips.csv"


def test_missing_data_are_accounted_for(hostile_outline: Outline) -> None:
    words = hostile_outline.words
    assert "4 items scored only for" in words
    assert "every missing score at the lowest value" in words
    assert "1 of 57 rows of" in words


def test_pdf_says_the_same(pages, pdf_text: Callable[[Path], str]) -> None:
    text = re.sub(r"\s+", " ", pdf_text(pages.pdf_path))
    for phrase in (
        "Is trained better than baseline on Tenacious-Bench?",
        "+48.8 pp",
        "Figure 1",
        "Table 1",
        "21 November 2025",
    ):
        assert phrase in text
    assert text.index("+48.8 pp") < text.index("2 methods disagree") < text.index("References")


def test_twice_the_same_bytes(pages, fixed_date: None, tmp_path: Path) -> None:
    result = compare(datasets.tenacious_held_out(), "baseline", "trained")
    steps: list[str] = []
    outputs = [tmp_path / "again.html", tmp_path / "again.pdf"]
    made = render_results([result], outputs, engine="embedded", on_step=steps.append)
    assert steps == ["running the cells", "making HTML", "making Typst", "making the PDF"]
    for again, first in zip(made, (pages.html_path, pages.pdf_path), strict=True):
        assert again.engine == "embedded"
        assert again.path.read_bytes() == first.read_bytes()


def test_another_day_changes_the_date_line_alone(pages, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    result = compare(datasets.tenacious_held_out(), "baseline", "trained")
    other = render_results([result], [tmp_path / "x.html"], engine="embedded")[0].path
    changed = [
        (before, after)
        for before, after in zip(pages.html.splitlines(), other.read_text().splitlines(), strict=True)
        if before != after
    ]
    before, after = (" ".join(lines) for lines in zip(*changed, strict=True))
    assert len(changed) <= 2
    assert "21 November 2025" in before
    assert "1 January 2026" in after


def test_plan_simulation_and_options_reach_the_page(
    hostile: EvalData, hostile_models: tuple[str, str], tmp_path: Path
) -> None:
    runs = hostile.runs.with_columns(simulated=pl.lit("truth <known> for $every$ item"))
    plan = tmp_path / "evalstats.toml"
    plan.write_text(
        '[plan]\nclusters = ["template"]\n[[margins]]\nvalue = "2pp"\nreason = "<b> $x$"\n', encoding="utf-8"
    )
    result = compare(
        replace(hostile, runs=runs),
        *hostile_models,
        cluster=["template"],
        margin=0.5,
        conf_level=0.9,
        seed=3,
        plan=read_plan(plan),
        accept=["temperature"],
    )
    path = render_results([result], [tmp_path / "x.html"], engine="embedded")[0].path
    words = Outline(path.read_text(encoding="utf-8")).words
    assert "90% CI" in words
    assert "cluster=['template'], margin=0.5, conf_level=0.9, accept=['temperature'], plan=" in words
    assert "seed=3" in words
    assert "plan=es.read_plan('evalstats.toml')" in words
    assert "Departs from the plan: margin 0.5 given, 2pp declared." in words
    assert "reason for the margin <b> $x$" in words
    assert str(tmp_path) not in words
    assert words.index("The data are simulated: truth <known> for $every$ item.") < words.index("90% CI")


@pytest.mark.parametrize(
    ("results", "outputs", "message"),
    [
        ("weather", ["x.html"], "no stored study 'weather'; there are validation, arena-sampling"),
        ((), ["x.html"], "no result to render"),
        ("validation", ["x.docx"], "ends in .html or .pdf"),
        ("validation", ["none/x.html"], "no such folder"),
    ],
)
def test_wrong_calls_are_refused_before_anything_runs(
    results: str, outputs: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        render_results(results, outputs, engine="embedded")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_takes_the_name_of_the_page(tmp_path: Path) -> None:
    assert render.output_path(tmp_path, "frontier") == ("html", tmp_path / "frontier.html")


def test_several_results_are_one_document_with_an_index(tmp_path: Path) -> None:
    results = [example("frontier"), compare(datasets.tenacious_held_out(), "baseline", "trained")]
    paths = report(results, tmp_path / "all.html", engine="embedded")  # a PDF of several is that of an overview
    assert paths == (tmp_path / "all.html",)
    outline = Outline(paths[0].read_text(encoding="utf-8"))
    words = outline.words
    for result in results:
        title = result.document().title
        assert words.index(title) < words.rindex(title)
    ids = [attributes["id"] for _, attributes in outline.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    targets = {(link["href"] or "")[1:] for link in outline.all("a") if (link.get("href") or "").startswith("#")}
    assert {"sec-r1", "sec-r2"} <= targets <= set(ids)
    assert loads(paths[0].read_text(encoding="utf-8"), script=page_script()) == []


def test_a_place_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    finished = tmp_path / "a"
    finished.write_text("x")
    (tmp_path / "target.html").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        render._put(finished, tmp_path / "target.html")
    assert not list(tmp_path.glob(".*.part"))


def test_the_date_comes_from_source_date_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    assert today() == date(2026, 1, 1)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert abs(today() - datetime.now(tz=UTC).date()) <= timedelta(days=1)
