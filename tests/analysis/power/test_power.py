"""Plans: golden numbers, one number solved from the others, what a pilot tells, what to buy next, and what is refused."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.power import basis
from evalstats.analysis.power import power as planning
from evalstats.analysis.power.result import NextStep, PowerPlan
from evalstats.document.formats import to_html, to_markdown
from evalstats.document.latex import to_latex
from evalstats.document.terminal import to_text
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.simulate.draws import simulate_pairs
from evalstats.stats.one_sample import satterthwaite_df
from evalstats.stats.planning.clusters import cluster_power, gamma_shares, mde_clusters, simulated_power
from evalstats.stats.planning.mean import difference_parts
from evalstats.stats.planning.power import (
    mde_paired_binary,
    paired_binary_margin_power,
    paired_binary_power,
)
from tests.analysis.builders import data_of, rows_of

power = partial(planning.power, n_resamples=1_000)  # for each size that is simulated: by default 4,000


def kinds(plan: PowerPlan) -> set[str]:
    return {note.kind for note in plan.notes}


def pilot(n: int = 120, trials: int = 1, *, clusters: int | None = None, icc: float = 0.0, seed: int = 1) -> EvalData:
    """Right-or-wrong answers of "old" and "new" with a known truth; passages where there are clusters."""
    drawn = simulate_pairs(
        n,
        p_baseline=0.55,
        p_candidate=0.6,
        discordance=0.3,
        n_trials=trials,
        clusters=clusters,
        icc=icc,
        repeatability=0.3,
        seed=seed,
    )
    passages = [f"p{code}" for code in drawn.cluster] if clusters else [f"p{i}" for i in range(n)]
    return data_of(
        *[
            rows_of(name, scores.astype(float).ravel().tolist(), trials=trials, factors={"passage": passages})
            for name, scores in (("old", drawn.baseline), ("new", drawn.candidate))
        ]
    )


def graded(effects: np.ndarray, trials: int = 1, *, noise: float = 0.0, seed: int = 0, size: int = 1) -> EvalData:
    """Continuous scores: the candidate's are the baseline's plus the items' effects plus noise of each trial."""
    rng = np.random.default_rng(seed)
    base = rng.normal(0, 1, effects.size)
    levels = {"passage": [f"p{i // size}" for i in range(effects.size)]}
    parts = [
        rows_of(
            name,
            (np.repeat(base + shift, trials) + noise * rng.standard_normal(effects.size * trials)).tolist(),
            trials=trials,
            factors=levels,
        )
        for name, shift in (("old", 0.0 * effects), ("new", effects))
    ]
    return data_of(*parts, kind="continuous")


SIDES: dict[str, Any] = {"baseline": "old", "candidate": "new"}


@pytest.fixture(scope="module")
def clustered_plan() -> PowerPlan:
    return power(pilot=pilot(120, 3, clusters=24, icc=0.15), **SIDES, cluster="passage", delta="10pp")


@pytest.fixture(scope="module")
def trials_plan() -> PowerPlan:
    return power(pilot=pilot(100, 4), **SIDES, delta="5pp")


def test_sample_size_and_detectable_difference_of_miller(golden) -> None:
    miller = json.loads((golden / "py_golden.json").read_text())["miller"]
    assert power(delta=0.03, variance=1 / 9).n_items == miller["published_n"]
    parts = {"item": 1 / 9, "trial": 1 / 6}
    for n, k in ((198, 1), (198, 10), (200, 1), (200, 10)):
        plan = power(n_items=n, n_trials=k, variance=parts)
        assert plan.method == "miller"
        assert plan.delta == pytest.approx(miller[f"mde_n{n}_K{k}"], rel=1e-6)


def test_powers_beside_the_exact_one_are_the_published(golden) -> None:
    for case in json.loads((golden / "py_golden.json").read_text())["power_mcnemar"]:
        psi, delta = case["p10"] + case["p01"], case["p10"] - case["p01"]
        plan = power(n_items=case["n"], delta=delta, discordance=psi)
        found = {row.method: row.power for row in plan.beside}
        assert found["McNemar exact"] == pytest.approx(case["exact"], abs=1e-8)
        assert found["McNemar mid-p"] == pytest.approx(case["midp"], abs=1e-8)
        assert plan.power == found["score test, exact sum"] == paired_binary_power(case["n"], case["p10"], case["p01"])


@pytest.mark.parametrize(("delta", "psi"), [(0.05, 0.2), (0.1, 0.1), (0.2, 0.9), (0.4, 0.5)])
def test_exact_size_reaches_the_power_and_the_one_below_does_not(delta: float, psi: float) -> None:
    plan = power(delta=delta, discordance=psi)
    assert plan.n_items is not None
    shares = ((psi + delta) / 2, max(0.0, (psi - delta) / 2))
    assert paired_binary_power(plan.n_items - 1, *shares) < 0.8 <= plan.power
    assert all(paired_binary_power(plan.n_items + more, *shares) >= 0.8 for more in range(12))
    assert plan.power == paired_binary_power(plan.n_items, *shares)


QUESTIONS: list[dict[str, Any]] = [
    {"discordance": 0.2},
    {"variance": 0.15},
    {"variance": {"item": 0.1, "trial": 0.2}, "n_trials": 3},
    {"discordance": 0.2, "icc": 0.1, "cluster_size": 4},
    {"variance": {"item": 0.1, "cluster": 0.05}, "cluster_size": 3, "cluster_cv": 0.5},
]


@pytest.mark.parametrize("known", QUESTIONS, ids=",".join)
def test_size_difference_and_power_answer_each_other(known: Mapping[str, Any]) -> None:
    plan = power(delta=0.08, **known)
    assert plan.power is not None
    assert 0.8 <= plan.power < 0.84
    size = {"n_items": plan.n_items, "n_clusters": plan.n_clusters}
    again = power(delta=0.08, **size, **known)
    assert again.solved == "power"
    assert again.power == pytest.approx(plan.power, abs=0.002)
    found = power(**size, **known)
    assert found.solved == "delta"
    assert 0.076 < (found.delta or 0.0) <= 0.0802


@pytest.mark.parametrize(
    ("known", "test"),
    [
        *(pytest.param(known, "noninferiority", id=f"{','.join(known)}-noninferiority") for known in QUESTIONS),
        *(
            pytest.param(
                known,
                "equivalence",
                id=f"{','.join(known)}-equivalence",
                marks=[pytest.mark.slow] if [*known] == ["discordance"] else [],
            )
            for known in QUESTIONS
        ),
    ],
)
def test_size_margin_and_power_answer_each_other(known: Mapping[str, Any], test: str) -> None:
    plan = power(margin=0.08, delta=0.01, test=test, **known)
    assert plan.power is not None
    assert 0.8 <= plan.power < 0.84
    size = {"n_items": plan.n_items, "n_clusters": plan.n_clusters}
    assert power(margin=0.08, delta=0.01, test=test, **size, **known).power == pytest.approx(plan.power, abs=0.002)
    found = power(delta=0.01, test=test, **size, **known)
    assert found.solved == "margin"
    assert 0.075 < (found.margin or 0.0) <= 0.0802


def test_margins_of_right_or_wrong_items_are_summed_exactly() -> None:
    plan = power(margin="8pp", test="noninferiority", discordance=0.1)
    assert plan.n_items is not None
    assert paired_binary_margin_power(plan.n_items, 0.05, 0.05, 0.08) >= 0.8
    assert paired_binary_margin_power(plan.n_items - 1, 0.05, 0.05, 0.08) < 0.8
    better = power(margin="8pp", delta="2pp", test="noninferiority", discordance=0.1)
    assert (
        (better.n_items or 0) < plan.n_items < (power(margin="8pp", test="equivalence", discordance=0.1).n_items or 0)
    )


def test_precision_is_the_formula_and_its_inverse() -> None:
    plan = power(half_width="2pp", discordance=0.2)
    assert plan.n_items == math.ceil(stats.norm.ppf(0.975) ** 2 * 0.2 / 0.02**2)
    assert plan.test == "precision"
    back = power(n_items=plan.n_items, test="precision", discordance=0.2)
    assert back.half_width == pytest.approx(0.02, rel=1e-3)
    tango = next(row for row in plan.beside if row.method == "Tango score interval")
    assert tango.half_width == pytest.approx(0.02, rel=0.01)


def test_percentage_points_and_numbers_are_the_same_amounts() -> None:
    assert power(delta="5pp", discordance=0.2) == power(delta=0.05, discordance=0.2)
    in_points = power(delta="3pp", variance=1 / 9)
    assert (in_points.n_items, in_points.unit, in_points.scale) == (969, "pp", 100)
    assert power(delta=0.03, variance=1 / 9).unit == ""


@pytest.mark.parametrize(("accuracy", "delta", "turned"), [(0.98, "5pp", "-5pp"), (0.03, "-5pp", "5pp")])
def test_a_difference_beyond_the_ends_says_how_the_other_one_is_asked_for(
    accuracy: float, delta: str, turned: str
) -> None:
    with pytest.raises(InputError, match="lies outside 0 to 100%") as refused:
        power(accuracy=accuracy, delta=delta)
    assert str(refused.value).endswith(f"with delta={turned!r}")
    assert power(accuracy=accuracy, delta=turned).n_items
    with pytest.raises(InputError, match=r"197% lies outside 0 to 100%; give a smaller difference$"):
        power(accuracy=0.98, delta="99pp")


def test_accuracy_takes_the_two_as_independent() -> None:
    plan = power(n_items=400, accuracy=0.7)
    assert plan.discordance == pytest.approx(2 * 0.7 * 0.3)
    assert "nothing to do with each other" in " ".join(plan.assumptions)
    assert plan.delta == pytest.approx(mde_paired_binary(400, 0.42), abs=1e-6)


def test_few_items_take_the_t_and_say_so() -> None:
    plan = power(delta=0.5, variance=1.0)
    assert plan.method == "t"
    assert "fewer than 100 items" in plan.method_reason
    assert plan.n_items == 34  # pwr::pwr.t.test(d = .5, power = .8, type = "paired") gives 33.4
    assert power(delta=0.5, variance=1.0, method="miller").n_items == 32


def test_clusters_bound_what_items_can_do() -> None:
    known: dict[str, Any] = {"variance": 0.2, "icc": 0.2, "cluster_size": 5}
    floor = mde_clusters(math.sqrt(0.2 * 0.2 / 12), 11, 12)
    plan = power(n_clusters=12, **known)
    assert plan.smallest_delta == pytest.approx(floor, rel=5e-3)
    impossible = power(delta=0.99 * (floor or 0.0), n_clusters=12, **known)
    assert impossible.answer is None
    assert "stays however many items" in (impossible.reason or "")
    assert impossible.document().label == "out of reach"
    assert "No number of items is enough" in impossible.document().headline
    possible = power(delta=1.1 * (floor or 0.0), n_clusters=12, **known)
    assert possible.solved == "n_items"
    assert (possible.n_items or 0) > 12


def test_clusters_needed_are_the_fewest_with_the_power() -> None:
    plan = power(delta=0.2, variance=0.3, icc=0.3, cluster_size=4, cluster_cv=0.4)
    count = plan.n_clusters or 0

    def power_of(clusters: int) -> float:
        shares = gamma_shares(60, 0.4)
        places = np.floor((np.arange(clusters) + 0.5) / clusters * 60).astype(int)
        f = np.sort(shares)[places] / np.sort(shares)[places].sum()
        variance = 0.09 * (f**2).sum() + 0.21 / round(4 * clusters)
        return cluster_power(0.2, math.sqrt(variance), satterthwaite_df(f), clusters, shares=f, between=0.75)

    assert power_of(count) == pytest.approx(plan.power, abs=0.01)
    assert power_of(count - 2) < 0.8
    rows = {row.method: row for row in plan.beside}
    alone = rows["items taken as independent"].n_items or 0
    assert alone < (plan.n_items or 0)
    effect = 1 + ((1 + 0.4**2) * 4 - 1) * 0.3
    assert rows["Miller times design effect"].n_items == pytest.approx(effect * alone, rel=0.02)


def test_simulation_agrees_with_the_formula_for_clusters(clustered_plan: PowerPlan) -> None:
    found = next(row for row in clustered_plan.beside if row.role == "simulation")
    assert found.power == pytest.approx(clustered_plan.power, abs=0.04)
    assert (found.conf_low or 1) < (found.power or 0) < (found.conf_high or 0)


def test_method_simulation_gives_a_monte_carlo_interval_and_depends_on_the_seed_alone() -> None:
    known: dict[str, Any] = {
        "variance": 0.3,
        "icc": 0.3,
        "cluster_size": 4,
        "method": "simulation",
        "n_resamples": 500,
    }
    one, same, other = (power(delta=0.3, **known, seed=seed) for seed in (3, 3, 4))
    assert one == same != other
    assert one.conf_low is not None
    assert one.conf_high is not None
    assert one.conf_low < (one.power or 0) < one.conf_high
    assert one.n_clusters == pytest.approx(power(delta=0.3, **{**known, "method": "auto"}).n_clusters, rel=0.15)
    assert "Monte Carlo interval" in one.explain()


def test_simulation_of_trials_takes_the_rule_of_the_comparison() -> None:
    plan = power(pilot=pilot(60, 3), **SIDES, n_items=150, delta="8pp", method="simulation", n_resamples=2000)
    formula = power(pilot=pilot(60, 3), **SIDES, n_items=150, delta="8pp")
    assert plan.power == pytest.approx(formula.power, abs=0.06)


def test_parts_are_those_of_the_pilot(trials_plan: PowerPlan) -> None:
    drawn = simulate_pairs(
        100, p_baseline=0.55, p_candidate=0.6, discordance=0.3, n_trials=4, repeatability=0.3, seed=1
    )
    expected = difference_parts(
        drawn.item_differences,
        trial_variances=(drawn.baseline.var(axis=1, ddof=1), drawn.candidate.var(axis=1, ddof=1)),
        n_trials=(np.full(100, 4), np.full(100, 4)),
    )
    parts = {part.part: part for part in trials_plan.parts}
    assert parts["items"].variance == pytest.approx(expected.item)
    assert parts["trials of the baseline"].variance == pytest.approx(expected.trials[0])
    assert sum(part.share for part in trials_plan.parts) == pytest.approx(1.0)
    assert trials_plan.variance == pytest.approx(drawn.item_differences.var(ddof=1))


def steps_of(plan: PowerPlan) -> dict[str, NextStep]:
    return {step.buy: step for step in plan.next_steps}


def test_a_formula_that_promises_too_much_gives_way_to_simulation() -> None:
    """Three trials on 30 items: the augmented t of a comparison needs more than the formula says."""
    data = pilot(30, 3)
    found = power(pilot=data, **SIDES)
    asked = power(pilot=data, **SIDES, method="simulation")
    formula = power(pilot=data, **SIDES, method="t")
    assert found.method == "simulation"
    assert "promises a power of" in found.method_reason
    assert (found.delta or 0) == (asked.delta or 0) > (formula.delta or 1)
    assert "fit" not in kinds(found)
    assert "fit" in kinds(formula)
    (here,) = (point for point in found.curve if point.n_items == 30)
    assert here.mde == found.delta
    assert steps_of(found)["as it is"].mde == pytest.approx(found.delta, rel=0.01)
    assert (found.answer_low or 1) < (found.delta or 0) < (found.answer_high or 0)


def test_power_and_detectable_difference_of_a_row_agree() -> None:
    data = pilot(30, 3)
    formula = power(pilot=data, **SIDES, method="t")
    found = power(pilot=data, **SIDES, delta=formula.delta, n_items=30)
    assert (found.power or 1) < 0.77
    assert found.answer_low is not None
    for point in found.curve:
        assert ((point.mde or 1) > (formula.delta or 0)) == ((point.power or 0) < 0.8)


def test_a_pilot_of_right_or_wrong_trials_in_clusters_is_simulated_without_bias() -> None:
    """Sums of a pilot lie on a lattice: rounding them to the nearest step moved the true difference with them."""
    draws = np.repeat([-1 / 3, 0.0, 1 / 3], [19, 2, 22])
    known: dict[str, Any] = {
        "variance": float(draws.var()),
        "shares": np.full(90, 1 / 90),
        "rule": "cr2",
        "step": 1 / 3,
    }
    normal, pooled = (
        simulated_power(0.05, n_items=450, pool=pool, **known, n_resamples=1000).power for pool in (None, draws)
    )
    assert pooled == pytest.approx(normal, abs=0.06)


def test_doubling_each_does_what_the_variance_says(trials_plan: PowerPlan) -> None:
    steps = steps_of(trials_plan)
    now, items, trials = steps["as it is"], steps["items"], steps["trials"]
    variance = {part.part: part for part in trials_plan.parts}
    drawn = (now.std_error or 0) ** 2
    assert (items.std_error or 0) ** 2 == pytest.approx(drawn / 2)
    assert (trials.std_error or 0) ** 2 == pytest.approx(drawn * (1 - 0.5 * (1 - variance["items"].share)))
    assert items.precision_per_cost == pytest.approx(1.0)
    assert (trials.precision_per_cost or 0) < 1
    assert trials_plan.recommendation[0].startswith("Buy items first")
    assert items.needed == pytest.approx(trials_plan.n_items, abs=3)


def test_doubling_clusters_beats_doubling_their_items(clustered_plan: PowerPlan) -> None:
    steps = steps_of(clustered_plan)
    now, clusters, items = (steps[name].std_error or 0.0 for name in ("as it is", "clusters", "items"))
    assert clusters == pytest.approx(now / math.sqrt(2))
    assert clusters < items < now
    assert clustered_plan.recommendation[0].startswith("Buy clusters first")
    assert steps["clusters"].needed == clustered_plan.n_clusters
    found = compare(pilot(120, 3, clusters=24, icc=0.15), **SIDES, cluster="passage")
    (apart,) = [row for row in found.rows if row.method == "CR2, Satterthwaite df"]  # a plan leaves runs out
    assert now == pytest.approx(apart.std_error, rel=1e-9)  # equal clusters: the parts add up to CR2


@pytest.mark.parametrize(("shift", "contradicts"), [(-0.1, True), (0.0, False)])
def test_a_pilot_that_excludes_the_assumed_difference_is_said(shift: float, *, contradicts: bool) -> None:
    """A plan for a gate takes the two as equal, also where its pilot shows that the candidate is worse."""
    differences = shift + np.random.default_rng(1).normal(scale=0.2, size=100)
    plan = power(pilot=graded(differences, trials=1, noise=0.0), **SIDES, margin=0.03, test="noninferiority")
    low, high = stats.t.interval(0.95, 99, differences.mean(), differences.std(ddof=1) / 10)
    assert (not low <= 0.0 <= high) == contradicts
    assert any("excludes the assumed true difference" in note.text for note in plan.notes) == contradicts


def test_trials_are_bought_where_they_are_what_varies_and_cost_little() -> None:
    noisy = graded(np.linspace(0, 0.1, 60), trials=2, noise=1.0)
    plan = power(pilot=noisy, **SIDES, delta=0.2, costs={"item": 20, "trial": 0.1})
    assert plan.recommendation[0].startswith("Buy trials first")
    assert plan.cost_unit == "cost"
    said = " ".join(plan.recommendation)
    assert "make the most of a budget" in said or "every answer counts the same" in said
    assert steps_of(plan)["trials"].needed is not None
    dear = power(pilot=noisy, **SIDES, delta=0.2)
    assert dear.recommendation[0].startswith("Buy items first")


def test_trial_noise_that_cannot_be_told_is_none_with_a_reason() -> None:
    step = steps_of(power(pilot=pilot(60), **SIDES, delta="10pp"))["trials"]
    assert step.std_error is None
    assert step.mde is None
    assert "one trial an item" in step.reason
    rows = [
        {**row, "trial": None, "n_trials": 4, "score": 0.25 * (i % 5)}
        for name in ("old", "new")
        for i, row in enumerate(rows_of(name, [0.0] * 40))
    ]
    shuffled = [{**row, "score": (row["score"] if row["model"] == "old" else 1 - row["score"])} for row in rows]
    averaged = power(pilot=data_of(shuffled), **SIDES, delta="10pp")
    assert "not known one by one" in steps_of(averaged)["trials"].reason


def test_trials_of_the_plan_change_the_items_needed(trials_plan: PowerPlan) -> None:
    by_trials = {row.n_trials: row.n_items for row in trials_plan.by_trials}
    assert by_trials[4] == trials_plan.n_items
    assert power(pilot=pilot(100, 4), **SIDES, delta="5pp", n_trials=1).n_items == by_trials[1]
    assert (by_trials[1] or 0) > (by_trials[2] or 0) > (by_trials[10] or 0)


def test_the_difference_of_the_pilot_is_never_used() -> None:
    """Only the spread counts: moving every score of the candidate changes nothing."""
    effects = np.random.default_rng(5).normal(0, 1, 40)
    still, *moved = (
        power(pilot=graded(effects + shift, size=2), **SIDES, delta=0.3, cluster="passage")
        for shift in (0.0, 0.7, -2.0)
    )
    for plan in moved:
        assert plan.n_clusters == still.n_clusters
        assert plan.parts[0].variance == pytest.approx(still.parts[0].variance)
        assert "selection" not in kinds(plan)
    assert "selection" not in kinds(still)


def test_a_difference_taken_from_the_pilot_is_warned_of() -> None:
    data = pilot(100, seed=2)
    seen = compare(data, **SIDES).estimate or 0.0
    assert "selection" in kinds(power(pilot=data, **SIDES, delta=seen))


def test_exchanging_the_two_changes_nothing(clustered_plan: PowerPlan) -> None:
    data = pilot(120, 3, clusters=24, icc=0.15)
    other = power(pilot=data, baseline="new", candidate="old", cluster="passage", delta="10pp")
    assert clustered_plan.n_clusters == other.n_clusters
    assert [step.mde for step in clustered_plan.next_steps] == pytest.approx([step.mde for step in other.next_steps])


def test_the_order_of_the_rows_changes_nothing() -> None:
    data = pilot(60, 3)
    shuffled = replace(data, outcomes=data.outcomes.sample(fraction=1.0, shuffle=True, seed=3))
    assert power(pilot=shuffled, **SIDES, delta="5pp") == power(pilot=data, **SIDES, delta="5pp")


def test_a_comparison_is_a_pilot_too() -> None:
    data = pilot(120)
    plan = power(pilot=data, **SIDES, delta="5pp")
    assert power(pilot=compare(data, **SIDES), delta="5pp").n_items == plan.n_items
    clustered = pilot(120, clusters=24, icc=0.15)
    whole = power(pilot=clustered, **SIDES, cluster="passage", delta="10pp")
    read_back = power(pilot=compare(clustered, **SIDES, cluster="passage"), delta="10pp")
    assert read_back.n_clusters == pytest.approx(whole.n_clusters, rel=0.03)
    with pytest.raises(InputError, match="give none of them again"):
        power(pilot=compare(data, **SIDES), baseline="old", delta="5pp")


def test_a_pilot_alone_asks_what_its_own_size_finds() -> None:
    data = pilot(120)
    plan = power(pilot=data, **SIDES)
    assert plan.solved == "delta"
    assert plan.n_items == 120
    assert plan.delta == pytest.approx(compare(data, **SIDES).mde, rel=1e-5)


def test_the_range_is_that_of_the_variance() -> None:
    effects = np.random.default_rng(5).normal(0, 1, 30)
    plan = power(pilot=graded(effects), **SIDES, delta=0.3, method="miller")
    variance = effects.var(ddof=1)
    ends = [29 * variance / stats.chi2.ppf(q, 29) for q in (0.975, 0.025)]
    z = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 / 0.09
    assert [plan.answer_low, plan.answer_high] == [math.ceil(z * end) for end in ends]
    assert "29 degrees of freedom" in plan.answer_range
    binary = power(pilot=pilot(120), **SIDES, delta="5pp")
    assert (binary.answer_low or 0) < (binary.n_items or 0) < (binary.answer_high or 0)
    assert "discordant" in binary.answer_range


def test_warnings_name_extrapolation_and_few_clusters() -> None:
    data = pilot(60, clusters=12, icc=0.2)
    plan = power(pilot=data, **SIDES, cluster="passage", delta="5pp")
    said = " ".join(note.text for note in plan.notes if note.kind == "few" and note.caution)
    assert "times the 60 items of the pilot" in said
    assert "The pilot has 12 clusters" in said


def test_undeclared_dependence_of_the_pilot_is_passed_on() -> None:
    effects = np.repeat(np.random.default_rng(3).normal(0, 1, 20), 4)
    plan = power(pilot=graded(effects, noise=0.1, size=4), **SIDES, delta=0.3)
    assert any("Items of one passage behave alike" in note.text for note in plan.notes if note.kind == "dependence")


@pytest.mark.parametrize("trials", [1, 5])
@pytest.mark.parametrize("clusters", [None, 12])
def test_a_comparison_and_its_data_give_one_plan(trials: int, clusters: int | None) -> None:
    """Few trials make the augmented t's error larger than the items' spread, and a factor that nobody declared decides both."""
    data = pilot(120, trials, clusters=clusters, icc=0.4 if clusters else 0.0)
    found = compare(data, **SIDES)
    assert found.clusters == (("passage",) if clusters else ())
    from_result, from_data = power(pilot=found, delta="5pp"), power(pilot=data, **SIDES, delta="5pp")
    assert from_result.n_items == pytest.approx(from_data.n_items, rel=0.03)
    assert (from_result.n_clusters or 0) == pytest.approx(from_data.n_clusters or 0, rel=0.03)
    assert from_data.n_trials == from_result.n_trials == (trials, trials)


def test_a_pilot_without_spread_cannot_answer() -> None:
    same = data_of(rows_of("old", [0.5] * 20), rows_of("new", [0.75] * 20), kind="continuous")
    with pytest.raises(CannotAnswerError, match="spread tells nothing"):
        power(pilot=same, **SIDES, delta=0.1)
    never = data_of(rows_of("old", [1.0, 0.0] * 10), rows_of("new", [1.0, 0.0] * 10))
    assert "best case" in " ".join(note.text for note in power(pilot=never, **SIDES, delta="5pp").notes)


@pytest.mark.parametrize("scores", [(0, 1), (1, 1), (0.2, 0.5)])
def test_a_clustered_pilot_whose_differences_are_all_alike_tells_nothing(scores: tuple[float, float]) -> None:
    """Their variance is nothing but rounding: no design effect, and no plan of a few clusters."""
    rows = [
        {"item": i, "model": name, "passage": i // 5, "score": score}
        for name, score in zip(("a", "b"), scores, strict=True)
        for i in range(20)
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")
    with pytest.raises(CannotAnswerError, match="spread tells nothing"):
        power(delta=0.1, pilot=data, baseline="a", candidate="b", cluster="passage")
    if scores == (0.2, 0.5):
        with pytest.raises(CannotAnswerError, match="spread tells nothing"):
            power(delta=0.1, pilot=data, baseline="a", candidate="b")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing says how much"),
        ({"discordance": 0.2}, "say what to plan for: delta"),
        ({"discordance": 0.2, "test": "noninferiority"}, "say what to plan for: margin"),
        ({"discordance": 0.2, "variance": 0.1, "delta": 0.1}, "both discordance and variance"),
        ({"discordance": 0.2, "delta": 0.0}, "use a margin"),
        ({"discordance": 0.2, "delta": 5}, "discordance is 0.2"),
        ({"discordance": 0.2, "delta": "five"}, "is no amount"),
        ({"discordance": 0.2, "delta": 0.1, "margin": 0.1}, "say which is meant"),
        ({"discordance": 0.2, "margin": 0.1, "delta": -0.2, "test": "noninferiority"}, "claim would be false"),
        ({"discordance": 0.2, "margin": -0.1, "test": "equivalence"}, "margin is -0.1"),
        ({"discordance": 0.2, "half_width": 0.1, "n_items": 50}, "a precision has no power"),
        ({"discordance": 0.2, "half_width": 0.1, "test": "equivalence"}, "leave one of them out"),
        ({"discordance": 0.2, "delta": 0.1, "n_clusters": 5}, "nothing says that items come in clusters"),
        ({"discordance": 0.2, "delta": 0.1, "cluster_size": 5}, "give icc"),
        ({"discordance": 0.2, "delta": 0.1, "icc": 0.1}, "give cluster_size"),
        ({"discordance": 0.2, "delta": 0.1, "icc": 1.5, "cluster_size": 2}, "icc is 1.5"),
        ({"discordance": 0.2, "delta": 0.1, "n_trials": 3}, "one trial an item"),
        ({"discordance": 0.2, "delta": 0.1, "n_items": 1}, "n_items is 1"),
        ({"discordance": 0.2, "delta": 0.1, "power": 80}, "power is 80"),
        ({"discordance": 0.2, "delta": 0.1, "method": "simulation"}, "use method 'exact'"),
        ({"variance": 0.2, "delta": 0.1, "method": "exact"}, "right-or-wrong"),
        ({"variance": 0.2, "delta": 0.1, "method": "clusters"}, "needs clusters"),
        ({"variance": {"items": 0.2}, "delta": 0.1}, "no part 'items'"),
        ({"variance": {"item": -0.2}, "delta": 0.1}, "a number from 0"),
        ({"variance": 0.0, "delta": 0.1}, "above 0"),
        ({"accuracy": 1.2, "delta": 0.1}, "accuracy is 1.2"),
        ({"discordance": 0.2, "delta": 0.1, "costs": {"answer": 1}}, "costs has no 'answer'"),
        ({"discordance": 0.2, "delta": 0.1, "costs": {"item": 0}}, "above 0"),
        ({"discordance": 0.2, "delta": 0.1, "costs": {"item": 0.25}}, "after a pilot"),
        ({"discordance": 0.2, "delta": 0.1, "cluster": "passage"}, "name things in a pilot"),
        ({"discordance": 0.2, "delta": 0.1, "n_resamples": 10}, "n_resamples is 10"),
    ],
)
def test_bad_options_are_refused_in_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        power(**options)


def test_bad_options_with_a_pilot_are_refused_in_words() -> None:
    data = pilot(40)
    assert power(pilot=data, delta="5pp").n_items == power(pilot=data, **SIDES, delta="5pp").n_items
    with pytest.raises(InputError, match="the pilot tells these itself"):
        power(pilot=data, **SIDES, delta="5pp", discordance=0.2)
    with pytest.raises(InputError, match="does not tell how much trials"):
        power(pilot=data, **SIDES, delta="5pp", n_trials=3)
    with pytest.raises(InputError, match="no model, system or run"):
        power(pilot=data, baseline="old", candidate="newer", delta="5pp")
    with pytest.raises(InputError, match="percentage points"):
        power(pilot=graded(np.arange(9.0)), **SIDES, delta="5pp")


def test_clusters_of_one_item_tell_nothing_of_more_items() -> None:
    data = pilot(60, 2)
    plan = power(pilot=data, **SIDES, cluster="passage", delta="10pp")
    assert plan.n_items == plan.n_clusters
    step = steps_of(plan)["items"]
    assert step.std_error is None
    assert "no cluster of the pilot holds two items" in step.reason
    assert plan.recommendation[0].startswith("Buy clusters")
    with pytest.raises(InputError, match="plan in clusters of one item"):
        power(pilot=data, **SIDES, cluster="passage", delta="10pp", n_clusters=60)
    with pytest.raises(CannotAnswerError, match="1 cluster"):
        power(pilot=pilot(60, clusters=1), **SIDES, cluster="passage", delta="10pp")


def test_a_pilot_of_four_clusters_is_no_comparison_but_can_be_planned_from() -> None:
    data = pilot(60, 2, clusters=4, icc=0.05)
    assert compare(data, **SIDES, cluster="passage").verdict == "invalid"
    plan = power(pilot=data, **SIDES, cluster="passage", delta="10pp")
    assert (plan.n_clusters or 0) >= 6
    assert (plan.answer_high or 0) > 5 * (plan.n_clusters or 0)
    assert "3 degrees of freedom" in plan.answer_range


def test_clusters_that_the_method_ignores_are_warned_of() -> None:
    data = pilot(120, clusters=24, icc=0.15)
    plan = power(pilot=data, **SIDES, cluster="passage", delta="10pp", method="exact")
    assert plan.method == "exact"
    assert "takes them as independent" in " ".join(note.text for note in plan.notes if note.kind == "dependence")


def test_a_size_too_small_for_any_claim_has_no_answer_and_a_reason() -> None:
    few = power(n_clusters=4, variance=0.2, icc=0.2, cluster_size=5)
    assert few.answer is None
    assert "4 clusters" in (few.reason or "")
    assert few.to_dict()["answer"] is None
    tiny = power(n_items=5, discordance=0.3)
    assert tiny.answer is None
    endless = power(delta=1e-6, discordance=0.2)
    assert endless.answer is None
    assert "100,000,000" in (endless.reason or "")


@pytest.mark.parametrize("which", ["trials_plan", "clustered_plan"])
def test_a_plan_is_data_and_words(which: str, request: pytest.FixtureRequest) -> None:
    plan: PowerPlan = request.getfixturevalue(which)
    values = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert values["answer"] == plan.answer
    frame = plan.to_frame()
    assert set(frame["term"].to_list()) >= {"plan", "curve", "buy: items"}
    assert frame.filter(term="curve")["mde"].is_sorted(descending=True)
    assert frame.filter(term="curve")["power"].is_sorted()
    said = plan.document()
    text = to_text(said, full=True)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert [section.id for section in said.evidence][:1] == ["methods"]
    assert "next" in [section.id for section in said.evidence]
    assert said.actions[0].startswith("Buy ")
    assert plan.summary().startswith(f"{plan.answer:,} {'clusters (' if plan.solved == 'n_clusters' else 'items '}")
    assert "<table>" in plan.to_html()
    for style in (to_html, to_markdown, to_latex):
        assert "nan" not in style(said)
    assert str(plan.answer) in repr(plan).replace(",", "")


def test_every_question_fits_80_columns_and_says_its_answer() -> None:
    for options in (
        {"delta": "3pp", "discordance": 0.2},
        {"n_items": 500, "discordance": 0.2},
        {"n_items": 500, "delta": "3pp", "discordance": 0.2},
        {"margin": "8pp", "test": "noninferiority", "discordance": 0.1},
        {"n_items": 200, "test": "equivalence", "discordance": 0.1},
        {"half_width": "2pp", "discordance": 0.1},
        {"delta": 0.001, "variance": 1e-4},
        {"delta": "5pp", "discordance": 0.2, "icc": 0.2, "cluster_size": 5},
        {"n_clusters": 12, "discordance": 0.2, "icc": 0.2, "cluster_size": 5},
    ):
        plan = planning.power(**options)  # by default, so that the call is as short as it is
        said = plan.document()
        assert len(to_text(said).splitlines()) <= 15
        text = " ".join([to_text(said, full=True), plan.explain()])
        assert max(len(line) for line in to_text(said, full=True).splitlines()) <= 80
        for wrong in ("None", "nan", "{}", "..", "??"):
            assert wrong not in text.replace("read(...)", "")
        assert plan.answer is not None
        assert plan.question.endswith("?")
        assert len(said.headline.split()) <= 18


def test_small_differences_are_shown_with_enough_decimals() -> None:
    text = power(delta=0.001, variance=1e-4).summary()
    assert "difference of 0.001." in text


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 7, 12])
def test_a_planned_difference_is_found_as_often_as_planned(clusters: int | None) -> None:
    """The whole path: the detectable difference of a design, data with that difference, and the verdict of `compare`.

    With few clusters the latent model of the data is not the normal one of the plan: the allowance is .05 beside 4 standard
    errors.
    """
    n, icc = (120, 0.0) if clusters is None else (10 * clusters, 0.1)
    known: dict[str, Any] = {} if clusters is None else {"icc": icc, "cluster_size": 10, "n_clusters": clusters}
    plan = power(n_items=n, discordance=0.4, **known)
    delta = plan.delta or 0.0
    hits = 0
    for seed in range(300):
        drawn = simulate_pairs(
            n,
            p_baseline=0.5 - delta / 2,
            p_candidate=0.5 + delta / 2,
            discordance=0.4,
            clusters=clusters,
            icc=icc,
            seed=seed,
        )
        levels = {"passage": [f"p{code}" for code in drawn.cluster]}
        data = data_of(
            *[
                rows_of(name, scores.astype(float).ravel().tolist(), factors=levels)
                for name, scores in (("old", drawn.baseline), ("new", drawn.candidate))
            ]
        )
        hits += compare(data, **SIDES, cluster="passage" if clusters else None).verdict == "better"
    assert hits / 300 == pytest.approx(0.8, abs=0.05 + 4 * math.sqrt(0.16 / 300))


@pytest.mark.parametrize(("item", "cluster"), [(0.2, 0.0), (0.15, 0.05), (0.02, 0.3), (0.0, 0.25)])
def test_parts_are_read_back_from_what_both_variances_expect(item: float, cluster: float) -> None:
    """Of sizes n_g: Var(mean) = item/n + cluster x sum n_g^2/n^2, and E(s^2) = item + cluster x (n - sum n_g^2/n)/(n - 1)."""
    sizes = np.array([8, 6, 8, 6, 2, 6, 7])
    n, weight = int(sizes.sum()), float((sizes**2).sum() / sizes.sum())
    variance = item / n + cluster * weight / n
    plain = (item + cluster * (n - weight) / (n - 1)) / n
    found = basis._parts_of_variances(n, variance, variance / plain, weight)
    assert found == pytest.approx((item, cluster), abs=1e-12)


def test_a_comparison_and_its_data_plan_alike() -> None:
    """A comparison knows the number of clusters and not their sizes: a few clusters more or less, where it was a tenth less."""
    data = es.datasets.tenacious_held_out()
    result = compare(data, "baseline", "trained", cluster="dimension")
    of_data = power(delta=0.2, pilot=data, baseline="baseline", candidate="trained", cluster="dimension")
    of_result = power(delta=0.2, pilot=result)
    needed = [_clusters(each) for each in (of_result, of_data)]
    assert needed[0] == pytest.approx(needed[1], rel=0.05)


def _clusters(plan: PowerPlan) -> int:
    found = re.match(r"(\d+) clusters", plan.summary())
    assert found
    return int(found[1])


def test_a_plan_by_runs_has_a_floor_that_only_more_runs_lower() -> None:
    known = {"variance": {"item": 0.05, "trial": 0.15}, "run_sd": "1pp"}
    reach = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    for runs in (1, 3, 10):
        found = power(n_items=2000, n_trials=runs, **known)
        variance = (0.05 + 0.3 / runs) / 2000 + 2 * 0.01**2 / runs
        assert found.delta == pytest.approx(reach * math.sqrt(variance), rel=1e-3)
        assert found.smallest_delta == pytest.approx(reach * 0.01 * math.sqrt(2 / runs), rel=1e-3)
    none = power(delta="1pp", n_trials=3, **known)
    assert none.n_items is None
    assert "only more runs lower it" in none.summary()
    assert "More items without more runs cannot get below 2.29 pp" in none.summary()
    with pytest.raises(InputError, match="does not cover whole runs"):
        power(delta="3pp", discordance=0.2, run_sd="1pp", method="exact")
    single = power(delta="5pp", discordance=0.2, run_sd="0.5pp")
    assert single.n_items > 1.1 * power(delta="5pp", discordance=0.2).n_items


def test_a_pilot_of_whole_runs_tells_how_far_they_differ() -> None:
    rng = np.random.default_rng(3)
    base = rng.uniform(0.3, 0.7, (300, 1))
    rows = [
        rows_of(name, (rng.random((300, 3)) < base + np.array(moved)).astype(float).ravel().tolist(), trials=3)
        for name, moved in (("a", (-0.1, 0.0, 0.1)), ("b", (-0.1, 0.0, 0.1)))
    ]
    plain = power(pilot=data_of(*rows), baseline="a", candidate="b", delta="5pp")
    result = compare(data_of(*rows), "a", "b", runs="sample")
    found = power(pilot=result, delta="5pp")
    assert any("as in the pilot" in text for text in found.assumptions)
    assert found.n_items is None or found.n_items > 2 * plain.n_items
    assert {part.part for part in found.parts} >= {"runs"}
    said = power(pilot=data_of(*rows), baseline="a", candidate="b", delta="5pp", run_sd="1pp")
    assert plain.n_items < said.n_items
