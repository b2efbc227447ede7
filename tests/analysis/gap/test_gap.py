"""`gap()` from tables to the answer: what was planted is found, what was not is not, and what cannot be said is not said."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Margin, Plan
from evalstats.schema.tables import frame_from_rows
from evalstats.simulate.lab_live import simulate_lab_live
from tests.analysis.gap.notes import lines_of

ROUNDS = 100  # the fewest that are allowed


def published(scores: dict[str, float], error: float | None, *, live: bool) -> EvalData:
    rows = [
        {
            "model": name,
            "benchmark": "arena" if live else "bench",
            "metric": "rating" if live else "score",
            "estimate": value,
            "std_error": error,
            "setting": "live" if live else "lab",
        }
        for name, value in scores.items()
    ]
    return EvalData(aggregates=frame_from_rows(rows, "aggregates"))


def line_of(n: int, *, off: dict[int, float] | None = None, noise: float = 0.5, seed: int = 0):
    """Published tables of n models on a line, some of them off it by so many live points."""
    rng = np.random.default_rng(seed)
    true = np.linspace(0, 10, n)
    lab = true + rng.normal(0, 0.1, n)
    live = 1000 + 30 * true + rng.normal(0, noise, n)
    for place, by in (off or {}).items():
        live[place] += by
    names = [f"m{j:02d}" for j in range(n)]
    return (
        published(dict(zip(names, lab, strict=True)), 0.1, live=False),
        published(dict(zip(names, live, strict=True)), noise, live=True),
    )


@pytest.fixture(scope="module")
def planted():
    """Twelve models, one of which does worse live than in the lab; the rest are as they should be."""
    both = simulate_lab_live(12, gaps={"model-03": -0.25}, n_items=280, n_users=900, seed=5)
    return both, es.gap(both.lab, both.live, n_resamples=ROUNDS, margin="10pp")


@pytest.fixture(scope="module")
def few_models():
    """Four models, too few for a line: for what is asked of scenarios and users, which is the same of any number of models."""
    both = simulate_lab_live(4, n_items=140, n_users=300, seed=5)
    return both, es.gap(both.lab, both.live, n_resamples=ROUNDS)


def test_a_planted_gap_is_found_and_no_other(planted) -> None:
    _, found = planted
    assert found.flagged() == ("model-03",)
    assert found.verdict == "gap"
    row = found.row("model-03")
    assert row.adjusted_high is not None
    assert row.adjusted_high < 0


def test_a_planted_gap_is_sized(planted) -> None:
    both, found = planted
    truth = dict(zip(both.truth.live_names, both.truth.deleted, strict=True))
    inside = [row.conf_low <= truth[row.name] <= row.conf_high for row in found.rows]
    # Twelve 95% intervals: two misses have a chance of one in nine, four one in five hundred.
    assert sum(inside) >= 9
    assert found.row("model-03").estimate == pytest.approx(truth["model-03"], abs=0.08)  # 3 standard errors


def test_every_layer_is_there_for_outcomes_on_one_scale(planted) -> None:
    _, found = planted
    assert found.same_scale
    assert found.left_out == ()
    for layer in (found.line, found.level, found.decomposition, found.scenario_gaps, found.hierarchy):
        assert layer is not None
    assert {threat.key for threat in found.threats} >= {"self-selection", "versions", "contamination", "survivorship"}


def test_nothing_is_found_where_nothing_is_planted() -> None:
    both = simulate_lab_live(12, n_items=140, n_users=300, seed=2)
    found = es.gap(both.lab, both.live, n_resamples=ROUNDS, margin="25pp")
    assert found.flagged() == ()
    assert found.verdict in {"aligned", "inconclusive"}
    assert found.line is not None
    assert found.line.slope_low < 1 < found.line.slope_high


def test_a_mix_shift_alone_is_mix_and_not_behaviour() -> None:
    levels = ("stable", "underspecification", "impatience_and_hostility")
    both = simulate_lab_live(
        8,
        scenarios=levels,
        live_mix={"stable": 0.1, "underspecification": 0.3, "impatience_and_hostility": 0.6},
        n_items=240,
        n_users=600,
        seed=4,
    )
    found = es.gap(both.lab, both.live, n_resamples=ROUNDS).decomposition
    assert found is not None
    assert found.overall.mix.conf_high < 0  # live users bring what is harder
    assert found.overall.behaviour.conf_low < 0 < found.overall.behaviour.conf_high
    total = found.overall.mix.estimate + found.overall.behaviour.estimate
    assert found.overall.total.estimate == pytest.approx(total, abs=1e-12)


def test_parts_add_up_to_live_less_lab(planted) -> None:
    _, found = planted
    for row in found.decomposition.rows:
        parts = row.mix.estimate + row.behaviour.estimate + (row.unexplained.estimate if row.unexplained else 0.0)
        assert parts == pytest.approx(row.live.estimate - row.lab.estimate, abs=1e-12)
        assert row.live.estimate == pytest.approx(found.row(row.model).live, abs=1e-12)


def test_rows_in_another_order_change_nothing(planted) -> None:
    both, found = planted

    def shuffled(data: EvalData) -> EvalData:
        return replace(data, outcomes=data.outcomes.sample(fraction=1.0, shuffle=True, seed=3))

    again = es.gap(shuffled(both.lab), shuffled(both.live), n_resamples=ROUNDS, margin="10pp")
    assert [row.name for row in again.rows] == [row.name for row in found.rows]
    for one, other in zip(found.rows, again.rows, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-8)
        assert one.verdict == other.verdict


def test_other_names_for_the_models_change_nothing_but_names(planted) -> None:
    both, found = planted
    aliases = {f"model-{j:02d}": f"z{13 - j:02d}" for j in range(1, 13)}
    again = es.gap(both.lab, both.live, n_resamples=ROUNDS, margin="10pp", aliases=aliases)
    assert again.flagged() == (aliases["model-03"],)
    for row in found.rows:
        assert again.row(aliases[row.name]).estimate == pytest.approx(row.estimate, abs=1e-6)


def test_another_unit_of_the_live_side_scales_gaps_with_it() -> None:
    lab, live = line_of(12, off={4: -60.0})
    times = replace(
        live, aggregates=live.aggregates.with_columns(pl.col("estimate") * 7 - 300, pl.col("std_error") * 7)
    )
    one, seven = (es.gap(lab, each, n_resamples=ROUNDS) for each in (live, times))
    for row, other in zip(one.rows, seven.rows, strict=True):
        assert other.estimate == pytest.approx(7 * row.estimate, rel=1e-5)
        assert other.p_adjusted == pytest.approx(row.p_adjusted, rel=1e-4)
        assert other.verdict == row.verdict


def test_less_is_better_turns_the_line_and_not_the_meaning() -> None:
    lab, live = line_of(12, off={4: -60.0})
    turned = EvalData(
        aggregates=lab.aggregates.with_columns(-pl.col("estimate")),
        metrics=frame_from_rows(
            [
                {
                    "benchmark": "bench",
                    "metric": "score",
                    "kind": "continuous",
                    "higher_is_better": False,
                    "primary": True,
                }
            ],
            "metrics",
        ),
    )
    one, other = es.gap(lab, live, n_resamples=ROUNDS), es.gap(turned, live, n_resamples=ROUNDS)
    assert one.flagged() == other.flagged() == ("m04",)
    assert other.row("m04").estimate == pytest.approx(one.row("m04").estimate, rel=1e-6)
    assert other.row("m04").lab == -one.row("m04").lab
    assert other.line.slope == pytest.approx(-one.line.slope, rel=1e-6)
    assert other.agreement.of("spearman").estimate == one.agreement.of("spearman").estimate


@pytest.mark.parametrize("n_models", [8, 3])
def test_users_of_several_models_are_counted_once(n_models: int) -> None:
    both = simulate_lab_live(8, n_items=70, seed=3)
    models = sorted(both.lab.models())[:n_models]
    found = es.gap(both.lab, both.live, models=models, n_resamples=ROUNDS)
    theirs = both.live.outcomes.filter(pl.col("model").is_in(models))
    assert found.live.clusters == ("user",)
    assert found.live.n_clusters == theirs["user"].n_unique()
    assert theirs["user"].n_unique() > theirs.group_by("model").agg(pl.col("user").n_unique())["user"].max()
    assert f" in {found.live.n_clusters:,} users" in found.summary()


@pytest.mark.parametrize("n_models", [8, 3])
def test_raters_of_several_models_are_counted_once(n_models: int) -> None:
    both = simulate_lab_live(8, live="comparisons", n_items=70, seed=3)
    models = sorted(both.lab.models())[:n_models]
    found = es.gap(both.lab, both.live, models=models, cluster=None, n_resamples=ROUNDS)
    theirs = both.live.comparisons.filter(pl.any_horizontal(pl.col("model_a", "model_b").is_in(models)))
    assert found.live.clusters[0] == "rater"
    assert found.live.n_clusters == theirs["rater"].n_unique()


def test_votes_against_outcomes_have_a_line_and_no_plain_difference() -> None:
    both = simulate_lab_live(8, live="comparisons", n_items=70, seed=3)
    found = es.gap(both.lab, both.live, n_resamples=ROUNDS)
    assert not found.same_scale
    assert found.level is None
    assert all(row.difference is None for row in found.rows)
    assert found.line is not None
    assert found.line.slope_low > 0
    assert "gaps by scenario" in dict(found.left_out)
    votes = both.live.comparisons
    shares = dict(votes["scenario"].value_counts(normalize=True).iter_rows())
    assert found.decomposition is not None
    assert found.decomposition.mix_source == f"counted in {votes.height:,} votes"
    assert {part.cell: part.live_share for part in found.decomposition.cells} == pytest.approx(shares)
    unlabelled = replace(both.live, comparisons=votes.with_columns(scenario=pl.lit(None, dtype=pl.String)))
    mixed = es.gap(both.lab, unlabelled, n_resamples=ROUNDS, mix=es.datasets.rutbench_live_mix())
    assert mixed.decomposition is not None
    assert mixed.decomposition.overall.poststratified is not None
    assert "only their mix is known" in dict(mixed.left_out)["gaps by scenario"]
    assert "decomposition" in dict(es.gap(both.lab, unlabelled, n_resamples=ROUNDS).left_out)


def test_few_models_get_differences_and_no_line() -> None:
    both = simulate_lab_live(4, n_items=140, n_users=200, behaviour_shift=-0.2, seed=3)
    found = es.gap(both.lab, both.live, n_resamples=ROUNDS)
    assert found.line is None
    assert {row.verdict for row in found.rows} == {"invalid"}
    assert found.level is not None
    assert found.level.conf_high < 0
    assert found.verdict == "gap"
    assert "calibrated gap" in dict(found.left_out)


def test_without_errors_only_agreement_is_left() -> None:
    lab, live = line_of(12)
    bare = EvalData(aggregates=lab.aggregates.with_columns(std_error=pl.lit(None, dtype=pl.Float64)))
    found = es.gap(bare, live, n_resamples=ROUNDS)
    assert found.verdict == "invalid"
    assert found.lab.errors == "none"
    assert found.agreement.of("spearman").estimate == 1.0
    assert {row.estimate for row in found.rows} == {None}
    assert "not every lab score has a standard error" in dict(found.left_out)["calibrated gap"]


def test_a_constant_side_orders_nothing() -> None:
    lab, live = line_of(10)
    flat = EvalData(aggregates=lab.aggregates.with_columns(estimate=pl.lit(1.0)))
    found = es.gap(flat, live, n_resamples=ROUNDS)
    assert found.agreement.of("pearson").estimate is None
    assert found.verdict == "invalid"


def test_no_verdict_without_an_interval() -> None:
    lab, live = line_of(12, off={4: -60.0})
    for row in es.gap(lab, live, n_resamples=ROUNDS, margin=40.0).rows:
        if row.verdict == "gap":
            assert not row.adjusted_low <= 0 <= row.adjusted_high
            assert row.p_adjusted <= 0.05
        if row.verdict == "aligned":
            assert row.equivalence_low > -40.0
            assert row.equivalence_high < 40.0
        assert row.p_value > 0
        assert row.conf_low < row.conf_high


@pytest.mark.slow
def test_the_word_over_everything_counts_two_questions() -> None:
    """With nothing planted, the overall verdict is wrong no more often than 5%, though it asks for models and for the level."""
    wrong = 0
    rounds = 40
    for draw in range(rounds):
        both = simulate_lab_live(8, n_items=140, n_users=200, seed=9, draw=draw)
        wrong += es.gap(both.lab, both.live, n_resamples=100, by=()).verdict == "gap"
    assert wrong <= 6  # the 99.7th percentile of a binomial with 40 trials and .05


def test_without_a_margin_nothing_is_aligned() -> None:
    lab, live = line_of(12)
    found = es.gap(lab, live, n_resamples=ROUNDS)
    assert {row.verdict for row in found.rows} == {"inconclusive"}
    assert "without a declared margin" in found.verdict_reason


def test_a_plan_settles_the_margin_and_departures_are_said() -> None:
    lab, live = line_of(12)
    plan = Plan(margins=(Margin(value=40.0, reason="users do not notice less"),), aliases={"m00": "first"})
    found = es.gap(lab, live, n_resamples=ROUNDS, plan=plan)
    assert found.margin == 40.0
    assert found.row("first").name == "first"
    departed = es.gap(lab, live, n_resamples=ROUNDS, plan=plan, margin=10.0)
    assert "margin" in lines_of(departed.notes, "plan", caution=True)


def test_small_cells_are_withheld(few_models) -> None:
    both, _ = few_models
    found = es.gap(both.lab, both.live, n_resamples=ROUNDS, min_cell=100)
    hidden = [row for row in found.scenario_gaps.rows if row.reason and "withheld" in row.reason]
    assert hidden
    assert all(row.estimate is None and not row.n_live for row in hidden)
    assert "min_cell" in lines_of(found.notes, "left_out")


def test_no_single_cell_is_withheld_since_the_total_would_give_it_away(few_models) -> None:
    both, _ = few_models
    found = es.gap(both.lab, both.live, n_resamples=ROUNDS, min_cell=30)
    for name in both.truth.live_names:
        hidden = [
            row for row in found.scenario_gaps.rows if row.model == name and row.reason and "withheld" in row.reason
        ]
        assert len(hidden) != 1


def test_levels_of_few_users_are_taken_together(few_models) -> None:
    both, whole = few_models
    few = both.live.outcomes["user"].unique().sort()[:3].to_list()
    rare = pl.when(pl.col("user").is_in(few)).then(pl.lit("rare thing")).otherwise(pl.col("scenario"))
    live = replace(both.live, outcomes=both.live.outcomes.with_columns(scenario=rare))
    found = es.gap(both.lab, live, n_resamples=ROUNDS)
    text = json.dumps(found.to_dict()["decomposition"]) + json.dumps(found.to_dict()["scenario_gaps"])
    assert "rare thing" not in text.replace("rare thing is", "")
    assert "(levels of few users)" in {part.cell for part in found.decomposition.cells}
    assert len(found.decomposition.cells) < len(whole.decomposition.cells) + 1
    assert "fewer than 10 live users" in lines_of(found.notes, "left_out")
    parts = [row.mix.estimate + row.behaviour.estimate for row in (found.decomposition.overall,)]
    shown = es.gap(both.lab, live, n_resamples=ROUNDS, min_cell=1).decomposition
    assert "rare thing" in {part.cell for part in shown.cells}
    assert found.decomposition.overall.total.estimate == pytest.approx(shown.overall.total.estimate)
    assert parts[0] == pytest.approx(found.decomposition.overall.total.estimate, abs=0.02)


def test_a_model_of_few_users_is_withheld_as_a_whole(few_models) -> None:
    both, _ = few_models
    few = both.live.outcomes.filter(pl.col("model") == "model-02")["user"].unique().sort()[:9].to_list()
    rows = both.live.outcomes.filter((pl.col("model") != "model-02") | pl.col("user").is_in(few))
    live = replace(both.live, outcomes=rows)
    found = es.gap(both.lab, live, n_resamples=ROUNDS)
    assert "model-02" not in [row.name for row in found.rows]
    assert "odel-02 has fewer than 10 users" in lines_of(found.notes, "left_out", caution=True)
    assert "model-02" in [row.name for row in es.gap(both.lab, live, n_resamples=ROUNDS, min_cell=1).rows]


def test_the_result_can_be_written_down(planted) -> None:
    _, found = planted
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["verdict"] == "gap"
    assert found.to_frame().height == 12
    assert found.agreement.to_frame().height == 6
    assert "model-03" in found.summary()
    assert "12 models" in repr(found)
    assert "<table" in found.to_html()


def test_the_same_seed_gives_the_same_answer(planted) -> None:
    both, found = planted
    again = es.gap(both.lab, both.live, n_resamples=ROUNDS, margin="10pp")
    assert again.to_dict() == found.to_dict()


def test_rows_without_a_scenario_are_no_scenario(few_models) -> None:
    both, whole = few_models
    half = pl.when(pl.int_range(pl.len()) % 2 == 0).then(None).otherwise(pl.col("scenario"))
    live = replace(both.live, outcomes=both.live.outcomes.with_columns(scenario=half))
    found = es.gap(both.lab, live, n_resamples=ROUNDS)
    assert {part.cell for part in found.decomposition.cells} == {part.cell for part in whole.decomposition.cells}
    assert found.row("model-01").live == whole.row("model-01").live
    assert "of the live outcomes have no level of scenario" in lines_of(found.notes, "missing", caution=True)


def test_a_mix_that_the_live_rows_tell_themselves_is_left_aside(few_models) -> None:
    both, whole = few_models
    found = es.gap(both.lab, both.live, n_resamples=ROUNDS, mix={"stable": 0.9, "goal_switching": 0.1})
    assert found.decomposition.overall.live == whole.decomposition.overall.live
    assert "instead of the one given" in lines_of(found.notes, "choice", caution=True)


def test_plain_frames_need_no_system(few_models) -> None:
    both, whole = few_models
    found = es.gap(both.lab.outcomes.drop("system"), both.live.outcomes.drop("system"), n_resamples=ROUNDS)
    assert found.row("model-04").estimate == pytest.approx(whole.row("model-04").estimate)


def test_intervals_without_a_level_are_said_not_to_count() -> None:
    lab, live = line_of(8)
    ends = live.aggregates.with_columns(
        std_error=pl.lit(None, dtype=pl.Float64), conf_low=pl.col("estimate") - 1, conf_high=pl.col("estimate") + 1
    )
    found = es.gap(lab, EvalData(aggregates=ends), n_resamples=ROUNDS)
    assert "8 live numbers have an interval of unknown level" in lines_of(found.notes, "missing", caution=True)


def test_weights_of_the_lab_are_said_not_to_count() -> None:
    both = simulate_lab_live(6, n_items=70, n_users=100, seed=1)
    weighted = both.lab.outcomes.with_columns(weight=1.0 + 9.0 * pl.col("score"))
    found = es.gap(replace(both.lab, outcomes=weighted), both.live, n_resamples=ROUNDS)
    assert "sampling weights, which are not used" in lines_of(found.notes, "average", caution=True)
    weighted = both.live.outcomes.with_columns(weight=1.0 + pl.int_range(pl.len()) % 2)
    found = es.gap(both.lab, replace(both.live, outcomes=weighted), n_resamples=ROUNDS)
    assert "sampling weights, which are used" in lines_of(found.notes, "choice")
    assert not lines_of(found.notes, "average")
    nothing = replace(both.live, outcomes=both.live.outcomes.with_columns(weight=0.0))
    with pytest.raises(InputError, match="weights of the live rows of 'model-01' sum to 0"):
        es.gap(both.lab, nothing)


def test_one_scale_against_the_known_ranges_is_refused() -> None:
    both = simulate_lab_live(6, n_items=70, n_users=100, seed=1)
    percent = EvalData(
        outcomes=both.live.outcomes.with_columns(pl.col("score") * 100),
        metrics=both.live.metrics.with_columns(kind=pl.lit("bounded"), low=0.0, high=100.0),
    )
    with pytest.raises(InputError, match="from 0 to 100: bring both to one range"):
        es.gap(both.lab, percent, same_scale=True)
    assert not es.gap(both.lab, percent, n_resamples=ROUNDS).same_scale


def test_the_level_is_said_in_one_direction_where_less_is_better() -> None:
    both = simulate_lab_live(6, n_items=140, n_users=200, behaviour_shift=-0.15, seed=1)

    def turned(data: EvalData) -> EvalData:
        return replace(
            data,
            outcomes=data.outcomes.with_columns(score=1.0 - pl.col("score"), metric=pl.lit("error")),
            metrics=data.metrics.with_columns(metric=pl.lit("error"), higher_is_better=False),
        )

    found = es.gap(turned(both.lab), turned(both.live), n_resamples=ROUNDS)
    assert found.level.conf_high < 0  # live is worse
    assert found.decomposition.overall.total.conf_low > 0  # there are more errors
    document = found.document()
    assert "points low" in document.headline  # the lab shows fewer errors than live
    assert "harder tasks" in document.headline or "worse on the same tasks" in document.headline
    assert document.number.startswith("+")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"margin": "2pp"}, "percentage points"),
        ({"margin": -1.0}, "positive"),
        ({"conf_level": 1.5}, "conf_level"),
        ({"n_resamples": 5}, "n_resamples"),
        ({"top": (1,)}, "top"),
        ({"models": ["m00", "nobody", "m01"]}, "'nobody'"),
        ({"lab_metric": "other"}, "'other'"),
        ({"same_scale": True, "by": "scenario", "mix": {"a": 0.4}}, "sum to 0.4"),
        ({"by": "scenario", "mix": {"a": float("nan"), "b": 0.6}}, "sum to nan"),
        ({"by": ["scenario", "scenario"]}, "name every factor once"),
        ({"by": "user"}, "no kind of situation"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], said: str) -> None:
    lab, live = line_of(8)
    with pytest.raises(InputError, match=said):
        es.gap(lab, live, **options)
