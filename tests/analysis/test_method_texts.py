"""Every method that a result names has words, and they are well formed."""

import re

import pytest

from evalstats.analysis.compare.document import references
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.design.run_settings import setting_words
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.method_texts import known_methods, texts_for
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import score
from evalstats.schema.plan import SETTINGS
from tests.analysis.builders import data_of, rows_of
from tests.analysis.compare.test_document import CASES, LEVELS, N, draws, graded, right_or_wrong


@pytest.fixture(scope="module")
def results() -> dict[str, Comparison]:
    return {name: make() for name, make in CASES.items()}


def methods_of(result: Comparison) -> set[str]:
    rows = (
        *result.rows, *result.effects, *result.missing.rows, *result.groups, *result.costs,
        *result.baseline.rows, *result.candidate.rows,
    )  # fmt: skip
    margin = [result.at_margin.method] if result.at_margin else []
    return {result.method, result.baseline.method, result.candidate.method, *margin, *(row.method for row in rows)} - {
        ""
    }


def test_every_method_of_a_comparison_has_words(results: dict[str, Comparison]) -> None:
    names = {name for result in results.values() for name in methods_of(result)}
    # A sample of what must be among them, so that this test cannot pass on nothing.
    assert {"Tango score", "augmented t", "paired t", "sign-flip", "cluster sign-flip", "McNemar mid-p"} <= names
    assert len(names) >= 20
    assert not {name for name in names if not texts_for(name)}


def test_every_method_has_its_works_in_the_references(results: dict[str, Comparison]) -> None:
    for result in results.values():
        names = {row.method for row in (*result.rows, *result.effects)} | {result.method, result.baseline.method}
        works = {source for name in names for text in texts_for(name) for source in text.sources}
        assert works <= set(references(result))
        assert references(result) == sorted(references(result))


def test_every_method_of_a_score_has_words() -> None:
    found = [
        score(right_or_wrong(), "a"), score(right_or_wrong(trials=3), "a"), score(right_or_wrong(trials=3), "a", pass_at=2),
        score(right_or_wrong(factors=LEVELS), "a", cluster="passage"), score(graded("continuous"), "a"),
        score(right_or_wrong(factors=LEVELS), "a", cluster=["passage", "user"]),
        score(graded("continuous", factors=LEVELS), "a", cluster="passage"),
    ]  # fmt: skip
    for each in found:
        assert isinstance(each, Score)
        for name in (each.method, *(row.method for row in each.rows)):
            assert texts_for(name), name


@pytest.mark.parametrize(
    ("adjust", "cluster"), [("max-t", None), ("max-t", "passage"), ("holm", None), ("bh", "passage"), ("by", None)]
)
def test_every_method_of_a_leaderboard_has_words(adjust: str, cluster: str | None) -> None:
    found = leaderboard(
        data_of(
            *(
                rows_of(name, draws(rate, N, i), factors=LEVELS)
                for i, (name, rate) in enumerate((("a", 0.4), ("b", 0.9)))
            )
        ),
        adjust=adjust,
        cluster=cluster,
    )
    names = {found.method, found.rank_method, *(row.method for row in found.rows)} - {""}
    assert names
    assert not {name for name in names if not texts_for(name)}


def test_the_longest_name_counts() -> None:
    assert texts_for("augmented t on cluster means") != texts_for("augmented t")
    assert texts_for("cluster percentile bootstrap, exact law") != texts_for("percentile bootstrap, exact law")
    assert [text.what for text in texts_for("paired t, Holm, Bonferroni intervals")] == [
        known_methods()[name].what for name in ("paired t", "Holm", "Bonferroni")
    ]
    assert texts_for("t") == (known_methods()["t"],)
    assert texts_for("astrology") == ()


@pytest.mark.parametrize("name", sorted(known_methods()))
def test_words_are_well_formed(name: str) -> None:
    text = known_methods()[name]
    assert 1 <= len(re.findall(r"[.!?](?: |$)", text.how)) <= 5
    assert text.how.endswith(".")
    assert text.what[0].islower() or text.what.startswith(("Wilson", "McNemar"))
    assert not text.what.endswith(".")
    for part in (text.what, text.how, text.takes):
        assert "—" not in part
        assert "  " not in part
        assert "!" not in part
    for source in text.sources:
        assert re.search(r"\d{4}", source), source


def test_every_setting_has_words() -> None:
    words = [setting_words(name) for name in SETTINGS]
    assert len(set(words)) == len(words)
    assert not any("_" in each for each in words)
    assert setting_words("something_new") == "something new"
