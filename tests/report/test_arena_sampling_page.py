"""The page of ways of sampling: answers that follow from the stored intervals, every measure shown, no data of anyone."""

import base64
import io
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evalstats.datasets.arena_sampling import SamplingMeasure, SamplingStudy, load_arena_sampling
from evalstats.report.arena_sampling import ASKED, amount, answers, claims, difference, document, lessons, rows_for
from evalstats.report.engine import find_page, loads, page_script
from evalstats.report.qmd import problems, read_document
from evalstats.report.render import report
from tests.report.page_words import Outline


@pytest.fixture(scope="module")
def study() -> SamplingStudy:
    return load_arena_sampling()


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> str:
    (path,) = report("arena-sampling", tmp_path_factory.mktemp("sampling") / "page.html", engine="embedded")
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def outline(rendered: str) -> Outline:
    return Outline(rendered)


def judged(study: SamplingStudy, verdict: str) -> SamplingStudy:
    """The study with one verdict everywhere."""
    rows = tuple(replace(row, verdict=verdict if row.verdict else "") for row in study.rows)
    return replace(study, rows=rows)


def test_what_was_found_comes_before_how(outline: Outline) -> None:
    order = [
        "Which models should an arena let meet?",
        "claims borne out",
        "Are rankings more accurate",
        "accuracy is much the same",
        "Ranks are steadier",
        "A ring of ten raters often wins more",
        "For whoever reads an arena's ratings",
        "What is assumed",
        "1618033988",
    ]
    start = outline.words.index("Skip to the report")
    for phrase in order:
        start = outline.words.index(phrase, start) + 1


def test_every_measure_has_a_figure_or_a_table(outline: Outline, study: SamplingStudy) -> None:
    floats = {attributes.get("id") for tag, attributes in outline.elements if tag == "figure"}
    for measure in study.measures:
        named = {"order": "fig-order", "needed": "tbl-needed"}.get(measure.key, f"fig-{measure.key.replace('_', '-')}")
        assert named in floats


def test_one_file_that_loads_nothing_and_knows_no_path(rendered: str) -> None:
    assert loads(rendered, script=page_script()) == []
    assert str(Path(__file__).parents[2]) not in rendered


def test_the_page_keeps_to_what_both_engines_render() -> None:
    assert list(problems(read_document(find_page("arena-sampling").source))) == []


def test_all_rows_stand_behind_the_figure(outline: Outline, study: SamplingStudy) -> None:
    links = {
        attributes["download"]: attributes["href"] or ""
        for _, attributes in outline.elements
        if attributes.get("download")
    }
    link = links["needed.csv"]
    frame = pl.read_csv(io.BytesIO(base64.b64decode(link.partition("base64,")[2])), infer_schema_length=None)
    assert frame.height == len(study.rows)


@pytest.mark.parametrize(("verdict", "word"), [("better", "Yes"), ("worse", "No"), ("not separated", "Not shown")])
def test_answers_are_counts_of_verdicts(study: SamplingStudy, verdict: str, word: str) -> None:
    found = answers(judged(study, verdict))
    for answer in found:
        assert answer.total > 0
        if answer.asked.key == "intervals":
            # Intervals are asked whether they hold, which no simulation proves.
            assert answer.word == ("No" if verdict == "worse" else "Nothing against it")
        else:
            assert answer.word == word
    of = claims(found)
    assert (len(of["borne out"]), len(of["not"])) == ((4, 0) if verdict == "better" else (0, 4))


def test_better_in_some_and_worse_in_others_is_mixed(study: SamplingStudy) -> None:
    rows = list(judged(study, "better").rows)
    place = next(i for i, row in enumerate(rows) if row.measure == "ring" and row.sampling == "proximity, wide")
    rows[place] = replace(rows[place], verdict="worse")
    (answer,) = [a for a in answers(replace(study, rows=tuple(rows))) if a.asked.key == "ring"]
    assert (answer.word, answer.tone, answer.worse) == ("Mixed", "caution", 1)
    assert answer.counts.endswith("1 worse")


def test_better_in_few_is_an_answer_in_part(study: SamplingStudy) -> None:
    rows = list(judged(study, "not separated").rows)
    place = next(i for i, row in enumerate(rows) if row.measure == "ring" and row.sampling == "proximity, wide")
    rows[place] = replace(rows[place], verdict="better")
    found = answers(replace(study, rows=tuple(rows)))
    (answer,) = [a for a in found if a.asked.key == "ring"]
    assert (answer.word, answer.tone) == ("In part", "caution")
    assert claims(found)["in part"] == ["harder to manipulate"]


def test_accuracy_is_asked_at_the_end_only(study: SamplingStudy) -> None:
    asked = next(each for each in ASKED if each.key == "accuracy")
    conditions = {row.condition for row in rows_for(study, asked) if row.measure == "order"}
    assert conditions == {"6,000 votes", "60,000 votes"}


def test_the_banner_counts_claims(study: SamplingStudy) -> None:
    for verdict, words in (("better", "4 of 4"), ("worse", "0 of 4")):
        assert document(judged(study, verdict)).number == words


@pytest.mark.parametrize(
    ("unit", "value", "sign", "words"),
    [
        ("share", 0.9434, False, "94.3%"),
        ("share", -0.012, True, "−1.2"),
        ("share", -0.0001, True, "0.0"),
        ("points", 12.34, True, "+12.3"),
        ("votes", 1234.5, False, "1,234"),
        ("places", 1.234, False, "1.23"),
    ],
)
def test_amounts_have_the_digits_of_their_unit(unit: str, value: float, sign: bool, words: str) -> None:
    assert amount(SamplingMeasure(key="k", title="t", unit=unit, higher_is_better=True), value, sign=sign) == words


def test_what_is_drawn_is_what_is_stored(study: SamplingStudy) -> None:
    rows = difference(study, "far", "fig-far").rows
    stored = [row for row in study.of("far") if row.sampling != "random"]
    assert list(rows["estimate"]) == [row.difference for row in stored]
    assert [bool(settled) for settled in rows["settled"]] == [row.verdict in ("better", "worse") for row in stored]
    shares = difference(study, "violations", "fig-violations").rows["estimate"]
    stored = [row for row in study.of("violations") if row.sampling != "random"]
    assert list(shares) == pytest.approx([100 * (row.difference or 0) for row in stored])


def test_tables_have_a_cell_for_every_way_of_sampling(study: SamplingStudy) -> None:
    tables = document(study).tables
    needed = study.of("needed")
    assert len(tables["needed"].columns) == 1 + len({(row.world, row.condition) for row in needed})
    assert [row[0] for row in tables["needed"].rows] == list(dict.fromkeys(row.sampling for row in needed))
    for world in study.worlds:
        made = tables[f"numbers-{world.replace(' ', '-')}"]
        assert all(cell != "–" for row in made.rows for cell in row)
        (row,) = [row for row in made.rows if row[0] == "Error between first and last"]
        (stored,) = study.of("far", world=world, sampling="random")
        assert str(row[1]).startswith(f"{stored.estimate:.1f} ± ")


def test_lessons_take_their_numbers_from_the_rows(study: SamplingStudy) -> None:
    rows = tuple(replace(row, estimate=row.estimate and row.estimate * 0.9) for row in study.rows)
    before, after = dict(lessons(study)), dict(lessons(replace(study, rows=rows)))
    assert all(before[lead] != after[lead] for lead in before)


@pytest.mark.slow
def test_the_pdf_says_the_same(tmp_path: Path, pdf_text) -> None:
    text = re.sub(r"\s+", " ", pdf_text(report("arena-sampling", tmp_path / "page.pdf", engine="embedded")[0]))
    for phrase in ("Which models should an arena let meet?", "claims borne out", "Votes needed", "is run again"):
        assert phrase in text
