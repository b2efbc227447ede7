"""An overview asks each question that the data allow once, as its own command does, and says why the others are not."""

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.overview import overview as module
from evalstats.document.terminal import to_text
from evalstats.errors import CannotAnswerError, InputError
from evalstats.simulate.arena_world import ArenaDesign

HOSTILE = ("::error::pwned", "<script>alert(1)</script>", "[x](javascript:alert(1))\x1b[2J")


def scores(models: tuple[str, ...] = ("a", "b", "c"), n: int = 80, *, benchmark: str = "maths") -> es.EvalData:
    draw = np.random.default_rng(len(models))
    ease = draw.normal(size=n)
    rows = [
        {"item": f"q{i}", "model": name, "score": int(ease[i] + 0.4 * place + draw.logistic() > 0)}
        for place, name in enumerate(models)
        for i in range(n)
    ]
    return es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score", benchmark=f"@{benchmark}")


def ratings(n: int = 80) -> es.EvalData:
    wide = pl.DataFrame(
        {
            "item": [f"q{i}" for i in range(n)],
            "ann": [i % 2 for i in range(n)],
            "ben": [(i + (i % 11 == 0)) % 2 for i in range(n)],
            "gpt": [(i + (i % 7 == 0)) % 2 for i in range(n)],
        }
    )
    return es.from_ratings(wide, raters=["ann", "ben", "gpt"], humans=["ann", "ben"])


def votes() -> es.EvalData:
    return es.simulate_arena(500, design=ArenaDesign(models=4), seed=1)


@cache
def of_two_systems() -> es.Overview:
    return es.overview(es.datasets.tenacious_held_out())


def reasons(found: es.Overview) -> dict[tuple[str, str], str]:
    return {(each.question, each.benchmark): each.reason for each in found.refusals}


def without_costs(data: es.EvalData, **columns: object) -> es.EvalData:
    return replace(data, outcomes=data.outcomes.with_columns(**{name: pl.lit(x) for name, x in columns.items()}))


def test_two_systems_are_compared_and_what_is_not_there_is_named() -> None:
    found = of_two_systems()
    assert [each.question for each in found.answers] == ["compare", "scenarios", "audit"]
    why = reasons(found)
    assert why["arena", ""] == "no votes"
    assert why["judges", ""] == "no ratings"
    assert why["gap", ""] == "no live results"
    assert why["frontier", "Tenacious-Bench"] == "no costs of two systems"
    assert why["contamination", "Tenacious-Bench"] == "no column named split"
    assert sum(each.n_scored for each in found.holdings) == es.datasets.tenacious_held_out().outcomes.height


def test_every_answer_is_that_of_its_own_function() -> None:
    data = es.datasets.tenacious_held_out()
    compared, broken, audited = of_two_systems().results
    assert compared == es.compare(data, "baseline", "trained")
    assert broken == es.scenarios(data)
    assert audited == es.audit(data)


def test_more_systems_are_ranked_with_costs_and_a_split() -> None:
    data = scores()
    place = pl.col("item").str.slice(1).cast(pl.Int64)
    more = data.outcomes.with_columns(cost_usd=0.01 + place / 1000, split=pl.when(place % 2 == 0).then(pl.lit("old")))
    more = more.with_columns(pl.col("split").fill_null("new"), scenario=pl.when(place % 3 == 0).then(pl.lit("x")))
    data = replace(data, outcomes=more.with_columns(pl.col("scenario").fill_null("y")))
    found = es.overview(data, seed=3)
    by_name = {each.question: each.result for each in found.answers}
    assert by_name["leaderboard"] == es.leaderboard(data, seed=3)
    assert by_name["frontier"] == es.frontier(data, seed=3)
    assert "scenarios" in by_name
    # With two levels of unknown meaning it answers or says itself what it needs.
    asked = {each.question for each in (*found.answers, *found.refusals)}
    assert "contamination" in asked
    assert reasons(found).get(("contamination", "maths")) != "no column named split"


def test_votes_and_ratings_are_answered_beside_scores() -> None:
    battles, rated = votes(), ratings()
    data = replace(scores(), comparisons=battles.comparisons, ratings=rated.ratings)
    found = es.overview(data)
    by_name = {each.question: each.result for each in found.answers}
    assert by_name["arena"] == es.arena(data)
    assert by_name["judges"] == es.judges(data)
    assert {each.kind for each in found.holdings} == {"scores", "votes", "ratings"}
    held = {each.kind: each.n_scored for each in found.holdings if each.kind != "scores"}
    assert held == {"votes": battles.comparisons.height, "ratings": rated.ratings.height}


def test_one_model_gets_its_score_and_no_comparison() -> None:
    data = scores(("alone",))
    found = es.overview(data)
    assert found.answers[0].question == "score"
    assert found.results[0] == es.score(data, "alone")
    assert "compare" not in {each.question for each in found.answers}


def test_nothing_is_refused() -> None:
    with pytest.raises(CannotAnswerError, match="nothing to look over"):
        es.overview(es.EvalData())


def test_states_are_counted_apart() -> None:
    data = scores(("a", "b"), n=30)
    place = pl.col("item").str.slice(1).cast(pl.Int64)
    state = (
        pl.when(place < 2).then(pl.lit("error")).when(place < 5).then(pl.lit("unscored")).otherwise(pl.lit("scored"))
    )
    rows = data.outcomes.with_columns(status=state).with_columns(
        score=pl.when(pl.col("status") == "scored").then("score")
    )
    found = es.overview(replace(data, outcomes=rows))
    assert [(each.n_scored, each.n_error, each.n_unscored) for each in found.holdings] == [(25, 2, 3)] * 2


def test_a_question_that_refuses_is_listed_with_its_own_words() -> None:
    lab = without_costs(scores(), setting="lab")
    live = without_costs(scores(("a", "b", "d")), setting="live")
    rows = live.outcomes.with_columns(benchmark=pl.lit("live"), run=pl.col("run") + "-live")
    data = replace(lab, outcomes=pl.concat([lab.outcomes, rows], how="diagonal"))
    found = es.overview(data)
    with pytest.raises(CannotAnswerError) as refused:
        es.gap(data)
    assert reasons(found)["gap", ""] == str(refused.value)


def test_each_benchmark_is_asked_by_itself_and_no_more_than_the_largest() -> None:
    parts = [scores(("a", "b"), n=20 + k, benchmark=f"b{k}") for k in range(module.MOST_BENCHMARKS + 2)]
    rows = [part.outcomes.with_columns(run=pl.col("run") + f"-{k}") for k, part in enumerate(parts)]
    data = replace(parts[0], outcomes=pl.concat(rows))
    found = es.overview(data)
    asked = [each.benchmark for each in found.answers if each.question == "compare"]
    assert asked == [f"b{k}" for k in range(2, module.MOST_BENCHMARKS + 2)]
    assert found.results[0] == es.compare(data.where(benchmark="b2"), "a", "b")
    assert {each.benchmark for each in found.refusals if "largest" in each.reason} == {"b0", "b1"}
    text = to_text(found.document(), width=80)
    assert len(text.splitlines()) <= 25


def test_nothing_moves_when_rows_are_shuffled_or_saved(tmp_path) -> None:
    data = scores()
    found = es.overview(data)
    shuffled = es.overview(replace(data, outcomes=data.outcomes.sample(fraction=1, shuffle=True, seed=2)))
    assert found.to_frame().equals(shuffled.to_frame())
    assert found.holdings == shuffled.holdings
    found.save(tmp_path / "overview.json")
    assert es.load_result(tmp_path / "overview.json") == found


def test_a_saved_overview_of_another_shape_is_refused(tmp_path) -> None:
    inside = {"question": "x", "benchmark": "", "result": {"result": "Overview"}}
    values = {"holdings": [], "answers": [inside], "refusals": [], "origin": {}}
    with pytest.raises(InputError, match="one of its answers is an overview"):
        es.Overview.from_dict(values)
    with pytest.raises(InputError, match="not a Overview of this version"):
        es.Overview.from_dict({"answers": 3})


def test_the_terminal_says_it_in_25_lines() -> None:
    lines = to_text(of_two_systems().document(), width=80, hint="x").splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_an_audit_that_changes_a_conclusion_comes_before_one_that_does_not() -> None:
    tenacious = es.datasets.tenacious_held_out()
    calm = scores(("baseline", "trained"), n=43, benchmark="A calm one")
    data = replace(tenacious, outcomes=pl.concat([tenacious.outcomes, calm.outcomes], how="diagonal"))
    audits = [each.benchmark for each in es.overview(data).answers if each.question == "audit"]
    assert audits == ["Tenacious-Bench", "A calm one"]


def test_published_numbers_are_answered_as_scores_where_nothing_ranks_them() -> None:
    published = pl.DataFrame({"model": ["a", "b"], "estimate": [0.61, 0.7], "benchmark": "maths"})
    found = es.overview(published)
    assert [each.question for each in found.answers] == ["score"]
    assert "standard error" in reasons(found)["leaderboard", "maths"]


def test_runs_that_answered_the_same_items_refuse_a_comparison_by_several_metrics_and_nothing_breaks() -> None:
    rows = [
        {"item": f"q{i}", "model": name, "run": f"{name}{run}", "metric": metric, "score": float((i + run) % 2)}
        for name in ("a", "b")
        for run in range(2)
        for metric in ("f1", "em")
        for i in range(12)
    ]
    made = pl.DataFrame(rows).with_columns(system="model", benchmark=pl.lit("maths"), status=pl.lit("scored"))
    with pytest.raises(
        InputError, match=r"^metric 'em': the baseline 'a' is ambiguous: 2 runs answered the same 12 items"
    ):
        es.compare(made, "a", "b", metric=["em", "f1"])
    assert "ambiguous" in reasons(es.overview(made))["compare", "maths"]
