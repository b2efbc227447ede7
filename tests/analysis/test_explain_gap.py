"""Lab against live explained: every method has words, the numbers are this result's, and nothing is claimed beyond it."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.explaining.explain import explain, explain_text
from evalstats.analysis.explaining.gap import explain_gap
from evalstats.analysis.gap.gap import gap
from evalstats.analysis.gap.layers import Part
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.words import flagged, gap_text, score_text, share
from evalstats.analysis.method_texts import GAP_TEXTS, known_methods, texts_for
from evalstats.document.blocks import Bullets, Heading, Paragraph
from evalstats.document.markup import to_html
from evalstats.document.numbers import interval
from tests.analysis.gap import example_gap as example

ALL: dict[str, Callable[[], LabLiveGap]] = {
    "one scale": example.one_scale,
    "votes": example.votes,
    "without errors": example.without_errors,
    "four": example.four,
    "invalid": example.invalid,
    "aligned": example.aligned,
    "hostile": example.hostile,
}
MADE = {name: make() for name, make in ALL.items()}


@pytest.fixture(params=ALL)
def found(request: pytest.FixtureRequest) -> LabLiveGap:
    return MADE[request.param]


def in_one_line(result: LabLiveGap) -> str:
    return " ".join(explain_text(result, width=100_000).split())


def test_it_reads_well_whatever_the_result(found: LabLiveGap) -> None:
    text = explain_text(found)
    assert max(map(len, text.splitlines())) <= 80
    assert found.explain() == text
    for hole in (" None", "(None", "nan", " .", "..", " ,", "There is no description", "—", "{", "}"):
        assert hole not in in_one_line(found), hole
    for block in explain(found):
        for item in (
            block.items if isinstance(block, Bullets) else (block.text,) if isinstance(block, Paragraph) else ()
        ):
            assert item[-1] == "." or re.search(r"\d|Models", item), item
    assert "<script" not in to_html(explain_gap(found))


def test_the_verdict_is_explained(found: LabLiveGap) -> None:
    headings = [block.text for block in explain(found) if isinstance(block, Heading)]
    assert f"What the verdict means: {found.verdict}" in headings
    assert headings[1:3] == ["What was asked", "How it was answered"]
    assert headings[-1] == "Where the methods come from"


def test_a_name_is_never_capitalised() -> None:
    text = in_one_line(MADE["one scale"])
    assert "grebe" in text
    assert "Grebe" not in text


def test_the_line_is_set_against_ordinary_regression_and_the_deleted_residual_explained() -> None:
    text = in_one_line(MADE["votes"])
    assert GAP_TEXTS["York's line"].how in text
    assert GAP_TEXTS["each model against the line of the others"].how in text
    assert GAP_TEXTS["false-coverage intervals"].how in text
    assert known_methods()["Benjamini-Hochberg"].how in text
    line = MADE["votes"].line
    assert line is not None
    ols = next(each for each in line.others if each.key == "ols")
    assert f"Ordinary regression of live on lab would call {ols.n_beyond} models significant" in text


def test_the_numbers_are_those_of_the_result() -> None:
    result = MADE["one scale"]
    text = in_one_line(result)
    (row,) = flagged(result)
    assert f"Take {row.name}: it has {score_text(row.lab, result, result.lab)} in the lab" in text
    assert f"Its gap is the difference, live less expected: {gap_text(row.gap, result)}" in text
    pairs = result.agreement.pairs
    assert pairs is not None
    assert f"in {share(pairs.agreement)} of 66 pairs" in text
    like = result.agreement.of("spearman").interval("all")
    assert like is not None
    assert f"it would move within {interval(like.conf_low, like.conf_high)}" in text


def test_agreement_that_rests_on_the_range_of_models_is_said() -> None:
    assert "weak models are weak on both sides" in in_one_line(MADE["votes"])
    assert "weak models are weak on both sides" not in in_one_line(MADE["aligned"])


def test_without_a_line_none_is_explained() -> None:
    for name in ("without errors", "invalid", "four"):
        text = in_one_line(MADE[name])
        assert GAP_TEXTS["York's line"].how not in text
        assert MADE[name].method_reason in text
    assert "No gap was estimated" in in_one_line(MADE["invalid"])
    assert "a plain difference means something even for a few models" in in_one_line(MADE["four"])


def test_missing_and_marginal_errors_are_told_apart() -> None:
    assert "The lab and live scores come without standard errors" in in_one_line(MADE["without errors"])
    assert "Of the lab and live scores the published standard errors alone" in in_one_line(MADE["invalid"])
    assert "standard errors alone are known" not in in_one_line(MADE["one scale"])


def test_not_finding_is_not_finding_none() -> None:
    result = MADE["one scale"]
    rows = tuple(replace(row, verdict="inconclusive") for row in result.rows)
    text = in_one_line(replace(result, verdict="inconclusive", rows=rows, margin=None))
    assert "not finding a gap is not finding that there is none" in text
    assert "Without a declared margin nothing can be called aligned" in text


def test_with_a_mix_from_outside_the_weighting_alone_is_explained() -> None:
    result = MADE["one scale"]
    parts = result.decomposition
    assert parts is not None
    gone = Part(estimate=None, reason="no live outcomes")
    overall = replace(parts.overall, live=gone, total=gone, mix=gone, behaviour=gone)
    outside = replace(parts, overall=overall, rows=(), method="rates of the lab in shares from elsewhere")
    text = in_one_line(replace(result, decomposition=outside, same_scale=False))
    assert "There is no description" not in text
    assert GAP_TEXTS["lab items weighted to the live mix"].how in text
    assert "Mix and behaviour." not in text


def test_every_method_of_a_real_answer_has_words() -> None:
    rng = np.random.default_rng(5)
    lab = np.linspace(0.9, 0.3, 12)
    live = 1000 + 300 * lab + rng.normal(0, 8, 12)
    names = [f"m{i:02d}" for i in range(12)]
    result = gap(
        {"model": names, "estimate": lab.tolist(), "std_error": [0.02] * 12},
        {"model": names, "estimate": live.tolist(), "std_error": [8.0] * 12},
        n_resamples=100,
    )
    for each in (result.method, result.hierarchy and result.hierarchy.method):
        assert each
        assert texts_for(each)
    assert "There is no description" not in explain_text(result)
