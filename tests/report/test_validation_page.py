"""The page of our own error rates: what is kept, missed and undecided; every question and rate; no data of anyone."""

import base64
import io
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evalstats.datasets.validation import Claim, Rate, Study, validation_names
from evalstats.document.model import Document
from evalstats.report.engine import find_page, loads, page_script
from evalstats.report.qmd import problems, read_document
from evalstats.report.render import report
from evalstats.report.validation import (
    QUESTIONS,
    chance,
    document,
    limit_words,
    standing_of,
    studies,
    weaknesses,
)
from evalstats.stats.one_sample import wilson
from tests.report.page_words import Outline


@pytest.fixture(scope="module")
def found() -> dict[str, Study]:
    return studies()


@pytest.fixture(scope="module")
def said(found: dict[str, Study]) -> Document:
    return document(found)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> str:
    (path,) = report("validation", tmp_path_factory.mktemp("validation") / "page.html", engine="embedded")
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def outline(rendered: str) -> Outline:
    return Outline(rendered)


def with_rate(questions: dict[str, Study], rate: float) -> dict[str, Study]:
    """The questions with another rate found for the first promise about ranks."""
    study = questions["ranks"]
    return {
        **questions,
        "ranks": replace(
            study, claims=(replace(study.claims[0], found=rate, replicates=2_000, tables=2_000), *study.claims[1:])
        ),
    }


def test_every_stored_question_has_its_place(found: dict[str, Study], said: Document, outline: Outline) -> None:
    assert set(QUESTIONS) == set(validation_names())
    assert {section.id for section in said.method} >= set(QUESTIONS)
    for study in found.values():
        assert study.question in outline.words


def test_what_was_found_comes_before_how(outline: Outline) -> None:
    order = [
        "How often is evalstats wrong?",
        "promises about error rates",
        "One model",
        "Live arenas",
        "Method",
        "2718281828",
    ]
    start = outline.words.index("Skip to the report")
    for phrase in order:
        start = outline.words.index(phrase, start) + 1


def test_one_file_that_loads_nothing_and_knows_no_path(rendered: str) -> None:
    assert loads(rendered, script=page_script()) == []
    assert str(Path(__file__).parents[2]) not in rendered


def test_all_rates_stand_behind_the_tables(outline: Outline, found: dict[str, Study]) -> None:
    links = {
        attributes["download"]: attributes["href"] or ""
        for tag, attributes in outline.elements
        if attributes.get("download")
    }
    for name, study in found.items():
        frame = pl.read_csv(io.BytesIO(base64.b64decode(links[f"{name}-rates.csv"].partition("base64,")[2])))
        assert frame.height == len(study.rows)
        assert frame["rate"].to_list() == pytest.approx([row.rate for row in study.rows])


def test_a_promise_is_kept_missed_or_undecided(found: dict[str, Study]) -> None:
    """5.5% of 2,000 tables has an error of 1 point: it does not tell on which side of 6% the rate is."""
    claim = next(claim for claim in found["ranks"].claims if claim.high == 0.06)
    claim = replace(claim, found=0.055, replicates=2_000, tables=2_000)
    assert standing_of(claim) == "undecided"
    assert standing_of(replace(claim, found=0.4)) == "missed"
    assert standing_of(replace(claim, found=0.04)) == "kept"
    # Proved never to exceed the limit, which it may equal.
    proved = replace(claim, up_to_chance=True)
    assert [standing_of(replace(proved, found=rate)) for rate in (0.04, 0.055, 0.4)] == [
        "kept",
        "at the limit",
        "missed",
    ]
    exact = replace(claim, replicates=None, tables=None)
    assert [standing_of(replace(exact, found=rate)) for rate in (0.04, 0.07)] == ["kept", "missed"]


def test_a_promise_with_fewer_than_two_thousand_tables_is_not_judged_and_the_page_says_so(
    found: dict[str, Study], outline: Outline
) -> None:
    claim = next(claim for claim in found["ranks"].claims if claim.high == 0.06)
    assert standing_of(replace(claim, found=0.4, replicates=1_999, tables=1_999)) == "not judged"
    few = replace(found["ranks"], claims=(replace(claim, tables=1_999), *found["ranks"].claims[1:]))
    assert "1 not judged: too few tables" in document({**found, "ranks": few}).number_words
    assert "No promise is judged on fewer than 2,000 tables" in outline.words


def test_the_chance_of_a_rate_is_wilsons(found: dict[str, Study]) -> None:
    for claim in (claim for study in found.values() for claim in study.claims if claim.replicates is not None):
        n = claim.replicates or 0
        expected = wilson(round(claim.found * n), n)
        assert chance(claim) == pytest.approx((expected.conf_low, expected.conf_high), abs=0.6 / n)


def test_the_card_counts_them_and_a_broken_promise_is_said_first(found: dict[str, Study], said: Document) -> None:
    claims = [claim for study in found.values() for claim in study.claims]
    kept = sum(standing_of(claim) == "kept" for claim in claims)
    assert said.number == f"{kept} of {len(claims)}"
    assert (said.tone, said.label) == ("good", "no promise broken")
    worse = document(with_rate(found, 0.5))
    assert (worse.tone, worse.label) == ("bad", "promise broken")
    assert "1 is broken" in worse.headline


@pytest.mark.parametrize(
    ("low", "high", "limit"), [(None, 0.065, "at most 6.5%"), (0.04, 0.06, "4% to 6%"), (0.7, None, "at least 70%")]
)
def test_words_of_a_limit(low: float | None, high: float | None, limit: str) -> None:
    claim = Claim(
        text="t", method="m", cases=(), low=low, high=high, found=0.05, replicates=None, up_to_chance=False, holds=True
    )
    assert limit_words(claim) == limit


def test_tables_hold_least_and_most_of_every_method(found: dict[str, Study], said: Document) -> None:
    for name, study in found.items():
        rows = said.tables[f"{name}-rates"].rows
        assert [row[0] for row in rows] == list(dict.fromkeys(row.method for row in study.rows))
        rates = [100 * row.rate for row in study.rows if row.method == rows[0][0]]
        assert rows[0][2] in (f"{min(rates):.1f} to {max(rates):.1f}", f"{min(rates):.1f}")


def test_weak_points_take_their_numbers_from_the_rates(found: dict[str, Study]) -> None:
    study = found["one-score"]
    worst = max(row.rate for row in study.rows if row.method == "Wilson")
    assert f"up to {100 * worst:.1f}%" in dict(weaknesses(found))["One score at its worst p"]

    def shifted(study: Study) -> Study:
        rows: tuple[Rate, ...] = tuple(
            replace(row, rate=row.rate / 2, width=row.width and row.width**2) for row in study.rows
        )
        return replace(study, rows=rows)

    before = dict(weaknesses(found))
    after = dict(weaknesses({name: shifted(study) for name, study in found.items()}))
    assert all(before[lead] != after[lead] for lead in before)


def test_the_page_keeps_to_what_both_engines_render() -> None:
    document = read_document(find_page("validation").source)
    assert list(problems(document)) == []


@pytest.mark.slow
def test_the_pdf_says_the_same(tmp_path: Path, pdf_text) -> None:
    text = re.sub(r"\s+", " ", pdf_text(report("validation", tmp_path / "page.pdf", engine="embedded")[0]))
    for phrase in ("How often is evalstats wrong?", "promises about error rates", "Where evalstats is weak"):
        assert phrase in text
