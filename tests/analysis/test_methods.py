"""The methods section: every method that occurs is named with its works, and nothing that does not."""

from dataclasses import replace

import polars as pl
import pytest

from evalstats import compare, datasets
from evalstats.analysis.comparability.rules import setting_words
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.method_texts import known_methods, texts_for
from evalstats.analysis.methods import method_lines, methods_paragraph, references
from evalstats.schema.data import EvalData
from evalstats.schema.plan import SETTINGS, Margin, Plan


@pytest.fixture(scope="module")
def airline() -> EvalData:
    """The published run of one model, and beside it a second one that fails on every fifth trial that it got right."""
    data = datasets.tau_airline()
    other = data.outcomes.with_columns(
        model=pl.lit("other"),
        system=pl.lit("other"),
        run=pl.lit("other-run"),
        score=pl.when(pl.int_range(pl.len()) % 5 == 0).then(0.0).otherwise(pl.col("score")),
    )
    runs = pl.concat(
        [data.runs, data.runs.with_columns(run=pl.lit("other-run"), model=pl.lit("other"), system=pl.lit("other"))]
    )
    return replace(data, outcomes=pl.concat([data.outcomes, other]), runs=runs)


@pytest.fixture(scope="module")
def tenacious() -> EvalData:
    return datasets.tenacious_held_out()


@pytest.fixture(scope="module")
def results(airline: EvalData, tenacious: EvalData) -> dict[str, Comparison]:
    judged = tenacious.runs.with_columns(judge=pl.int_range(pl.len()).cast(pl.String))
    return {
        "plain": compare(tenacious, "baseline", "trained"),
        "by": compare(tenacious, "baseline", "trained", by="dimension", margin="2pp"),
        "clusters": compare(tenacious, "baseline", "trained", cluster="dimension"),
        "watched": compare(tenacious, "baseline", "trained", sequential=True, planned_n=50, margin="2pp"),
        "trials": compare(airline, "gpt-4o", "other"),
        "pass": compare(airline, "gpt-4o", "other", pass_hat=4),
        "refused": compare(replace(tenacious, runs=judged), "baseline", "trained"),
    }


CASES = ("plain", "by", "clusters", "watched", "trials", "pass")


@pytest.mark.parametrize("case", CASES)
def test_every_method_of_every_row_has_its_works_in_the_references(results: dict[str, Comparison], case: str) -> None:
    result = results[case]
    methods = {row.method for row in (*result.rows, *result.effects)}
    methods |= {result.method, result.baseline.method, result.candidate.method}
    works = {source for name in methods for text in texts_for(name) for source in text.sources}
    assert works
    assert works <= set(references(result))


@pytest.mark.parametrize("case", CASES)
def test_every_row_is_named_in_the_text_and_has_a_line(results: dict[str, Comparison], case: str) -> None:
    result = results[case]
    text = methods_paragraph(result)
    assert all(row.method in text for row in result.rows)
    lines = dict(method_lines(result))
    for row in result.rows:
        assert texts_for(row.method)[0].what in lines[row.method]
        assert row.note in lines[row.method]


@pytest.mark.parametrize("case", CASES)
def test_whoever_is_cited_in_the_text_stands_in_the_references(results: dict[str, Comparison], case: str) -> None:
    result = results[case]
    text, listed = methods_paragraph(result), references(result)
    every = {source for each in known_methods().values() for source in each.sources}
    cited = {source for source in every if _short(source) in text}
    assert len(cited) > 5
    assert cited <= set(listed)
    assert listed == sorted(listed)


def _short(source: str) -> str:
    """Authors and year: all up to the comma after the year."""
    parts = source.split(", ")
    for count in range(1, len(parts) + 1):
        if parts[count - 1][-4:].isdigit():
            return ", ".join(parts[:count])
    return source


def test_only_what_was_done_is_told(results: dict[str, Comparison]) -> None:
    plain = methods_paragraph(results["plain"])
    for word in ("margin", "family", "pass^", "clusters are those", "order in which", "plan", "Missing"):
        assert word not in plain
    assert "Schuirmann 1987, doi:10.1007/BF01068419" not in references(results["plain"])
    assert "Schuirmann 1987, doi:10.1007/BF01068419" in references(results["by"])
    assert "Dunn 1961, JASA 56:52" in references(results["by"])


def test_a_margin_a_family_and_pass_are_told(results: dict[str, Comparison]) -> None:
    by = methods_paragraph(results["by"])
    assert "A margin of 2.00 pp was declared" in by
    assert "Tango score tests at the margin" in by
    assert "The 7 levels of dimension are one family" in by
    passes = methods_paragraph(results["pass"])
    assert "its pass^4: the share of all ways to pick 4 of its trials in which every one succeeds" in passes
    assert "(Yao et al. 2024)" in passes
    assert "Yao et al. 2024, arXiv:2406.12045" in references(results["pass"])


def test_a_watched_run_says_its_order_and_plan(results: dict[str, Comparison]) -> None:
    text = methods_paragraph(results["watched"])
    assert "betting confidence sequence, an interval that may be looked at after every item" in text
    assert "50 items were planned before the first look" in text
    assert "Waudby-Smith & Ramdas 2024, doi:10.1093/jrsssb/qkad009" in references(results["watched"])


def test_other_questions_are_told_apart(results: dict[str, Comparison]) -> None:
    text = methods_paragraph(results["trials"])
    beside, others = text.split("Other questions are answered by ")
    assert "difference on these items, new trials" in others
    assert "difference on these items" not in beside
    assert "sign-flip (Fisher 1935)" in beside


def test_a_refused_comparison_names_the_settings_and_no_method(results: dict[str, Comparison]) -> None:
    result = results["refused"]
    assert result.verdict == "invalid"
    text = methods_paragraph(result)
    assert "They differ in the judge, so that a difference in scores cannot be laid to the systems" in text
    assert "Tango" not in text
    assert references(result) == ["Miller 2024, arXiv:2411.00640"]
    assert method_lines(result) == ()


def test_no_interval_says_why(tenacious: EvalData) -> None:
    bare = compare(tenacious, "baseline", "trained", cluster="dimension")
    bare = replace(bare, conf_low=None, conf_high=None, verdict="invalid", verdict_reason="3 clusters are too few")
    assert "It gives no interval here: 3 clusters are too few." in methods_paragraph(bare)


def test_a_plan_and_a_departure_are_told(tenacious: EvalData) -> None:
    plan = Plan(source="evalstats.toml", margins=(Margin(value="2pp", reason="users do not notice less"),))
    kept = methods_paragraph(compare(tenacious, "baseline", "trained", plan=plan))
    assert f"(evalstats.toml, SHA-256 {plan.digest[:12]}). The analysis does not depart from it." in kept
    left = methods_paragraph(compare(tenacious, "baseline", "trained", plan=plan, margin="5pp"))
    assert "The analysis departs from the plan: margin 5pp given, 2pp declared." in left


def test_every_setting_has_words() -> None:
    words = [setting_words(name) for name in SETTINGS]
    assert len(set(words)) == len(words)
    assert not any("_" in each for each in words)
    assert setting_words("something_new") == "something new"
