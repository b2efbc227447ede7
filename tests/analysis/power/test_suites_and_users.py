"""Plans of a suite of tasks, and of two groups of different users: against scipy, statsmodels, and by simulation."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import power_proportions_2indep

import evalstats as es
from evalstats.analysis.power.power import power
from evalstats.analysis.power.result import PowerPlan
from evalstats.document.terminal import to_text
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.planning.power import two_proportions_power
from evalstats.stats.unpaired import TwoProportions, clustered_difference
from tests.analysis.builders import data_of, rows_of
from tests.suites import write_suite

Z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)


def text_of(plan: PowerPlan) -> str:
    return " ".join(to_text(plan.document(), full=True).split())


# --- different users ---


@pytest.mark.parametrize(
    ("baseline", "candidate", "n"), [(0.7, 0.75, 800), (0.5, 0.6, 390), (0.95, 0.98, 600), (0.9, 0.8, 200)]
)
def test_two_proportions_against_statsmodels(baseline: float, candidate: float, n: int) -> None:
    theirs = power_proportions_2indep(candidate - baseline, baseline, n, alternative="two-sided", return_results=False)
    # Theirs has both tails, and not the factor 2n/(2n - 1) of Miettinen and Nurminen.
    assert two_proportions_power(n, baseline, candidate) == pytest.approx(theirs, abs=0.003)


@pytest.mark.parametrize(("baseline", "candidate", "n"), [(0.7, 0.85, 100), (0.9, 0.98, 120), (0.5, 0.7, 60)])
def test_two_proportions_against_the_sum_over_every_table(baseline: float, candidate: float, n: int) -> None:
    one, other = (stats.binom.pmf(np.arange(n + 1), n, p) for p in (baseline, candidate))
    total = 0.0
    for x in np.flatnonzero(one > 1e-7).tolist():
        for y in np.flatnonzero(other > 1e-7).tolist():
            counts = TwoProportions(baseline=x, n_baseline=n, candidate=y, n_candidate=n)
            total += one[x] * other[y] * (y > x and 2 * stats.norm.sf(abs(counts.statistic())) <= 0.05)
    # The normal law is a little too careful near the ends of the scale.
    assert two_proportions_power(n, baseline, candidate) == pytest.approx(total, abs=0.04)


def test_users_of_an_ab_test() -> None:
    plan = power(delta="3pp", accuracy=0.7, paired=False)
    assert (plan.solved, plan.method, plan.different) == ("n_items", "independent", "users")
    n = plan.n_items or 0
    assert two_proportions_power(n - 1, 0.7, 0.73) < 0.8 <= two_proportions_power(n, 0.7, 0.73)
    assert "3,554 users a side give 80% power" in text_of(plan)
    assert "Both systems answer the same items" not in text_of(plan)
    loss = power(delta="-3pp", accuracy=0.7, paired=False)
    assert two_proportions_power(loss.n_items or 0, 0.7, 0.67) == pytest.approx(0.8, abs=0.001)
    assert (loss.n_items or 0) > n


@pytest.mark.parametrize("n", [20, 64, 500])
def test_graded_scores_have_the_power_of_the_two_sample_t(n: int) -> None:
    plan = power(delta=0.5, variance=1.0, n_items=n, paired=False)
    theirs = TTestIndPower().power(0.5, n, 0.05, ratio=1.0, alternative="larger" if n > 200 else "two-sided")
    assert plan.power == pytest.approx(theirs, abs=0.002)
    wanted = power(delta=0.5, variance=1.0, paired=False).n_items
    assert wanted == math.ceil(TTestIndPower().solve_power(0.5, None, 0.05, 0.8))


def test_users_with_several_rows_multiply_by_the_design_effect() -> None:
    alone = power(delta="3pp", accuracy=0.7, paired=False).n_items or 0
    plan = power(delta="3pp", accuracy=0.7, icc=0.2, cluster_size=4, paired=False)
    assert plan.solved == "n_clusters"
    assert (plan.n_items or 0) / alone == pytest.approx(1 + 3 * 0.2, rel=0.005)
    assert plan.n_items == 4 * (plan.n_clusters or 0)
    assert f"{plan.n_clusters:,} users a side ({plan.n_items:,} rows)" in text_of(plan)


def test_margins_of_two_groups_are_t_tests() -> None:
    plan = power(margin="3pp", test="noninferiority", accuracy=0.8, paired=False)
    n, se = plan.n_items or 0, math.sqrt(2 * 0.16 / (plan.n_items or 1))
    expected = stats.nct.sf(stats.t.ppf(0.95, 2 * n - 2), 2 * n - 2, 0.03 / se)
    assert plan.power == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("users", [30, 120])
def test_clustered_power_is_that_of_the_test(users: int) -> None:
    """2,000 tables: normal scores of 1 to 9 rows a user, ICC .3, tested as `compare` does."""
    rng, hits = np.random.default_rng(users), 0
    sizes = rng.integers(1, 10, 2 * users)
    cv = float(sizes.std() / sizes.mean())
    plan = power(variance=1.0, icc=0.3, cluster_size=float(sizes.mean()), cluster_cv=cv, n_clusters=users, paired=False)
    delta = plan.delta or 0.0
    user = np.repeat(np.arange(2 * users), sizes)
    second = user >= users
    for _ in range(2_000):
        score = math.sqrt(0.3) * rng.normal(size=2 * users)[user] + math.sqrt(0.7) * rng.normal(size=user.size)
        found = clustered_difference(score[~second], score[second] + delta, user[~second], user[second])
        hits += (found.conf_low or 0.0) > 0.0
    assert hits / 2_000 == pytest.approx(0.8, abs=0.035)


def visits(rows: int = 1, n: tuple[int, int] = (300, 360)) -> es.EvalData:
    rng = np.random.default_rng(5)
    parts: list[list[dict[str, object]]] = []
    for name, size in zip(("old", "new"), n, strict=True):
        ability = rng.beta(4, 2, size)
        scores = (rng.random(size * rows) < np.repeat(ability, rows)).astype(float)
        users = [f"{name}{u}" for u in np.repeat(np.arange(size), rows)]
        items = [f"{name}-{i}" for i in range(size * rows)]
        parts.append(rows_of(name, scores.tolist(), items=items, factors={"user": users}))
    return data_of(*parts, kind="binary", low=0.0, high=1.0)


def test_a_pilot_of_different_users_keeps_its_own_precision() -> None:
    data = visits()
    two = es.compare(data, "old", "new", paired=False)
    assert isinstance(two, es.Comparison)
    for pilot, options in ((data, {"baseline": "old", "candidate": "new", "paired": False}), (two, {})):
        plan = power(pilot=pilot, **options)  # type: ignore[arg-type]
        assert plan.delta == pytest.approx(two.mde, rel=0.03)
        assert plan.n_items == round(2 / (1 / 300 + 1 / 360))
        assert not plan.next_steps
    assert "660 items" in plan.pilot


def test_a_pilot_whose_users_have_several_rows_counts_users() -> None:
    data = visits(rows=4)
    two = es.compare(data, "old", "new", paired=False, cluster="user")
    assert isinstance(two, es.Comparison)
    plan = power(pilot=data, baseline="old", candidate="new", paired=False, cluster="user")
    assert plan.n_clusters == round(2 / (1 / 300 + 1 / 360))
    assert plan.delta == pytest.approx(two.mde, rel=0.03)
    # The variance of a beta(4, 2) ability over that of its answers.
    assert plan.icc == pytest.approx((8 / 252) / (2 / 9), abs=0.06)
    assert "2,640 rows, clustered by user (660)" in plan.pilot


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"discordance": 0.2, "delta": 0.03}, "of items that both systems answer"),
        ({"accuracy": 0.7, "delta": 0.03, "method": "exact"}, "leave it out"),
        ({"accuracy": 0.99, "delta": 0.03}, "cannot be 3 pp better"),
    ],
)
def test_what_needs_pairs_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        power(paired=False, **options)


def test_a_comparison_says_itself_whether_it_is_paired() -> None:
    two = es.compare(visits(), "old", "new", paired=False)
    with pytest.raises(InputError, match="already"):
        power(pilot=two, paired=True)


# --- a suite ---


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> es.EvalData:
    return es.read(write_suite(tmp_path_factory.mktemp("suite"), {"base": 0.0, "tuned": 0.15}))


def within(data: es.EvalData) -> tuple[np.ndarray, np.ndarray]:
    """The variance of the differences within each task, and its items."""
    rows = data.outcomes.pivot("model", index=["benchmark", "task", "item"], values="score")
    own = rows.with_columns(d=pl.col("tuned") - pl.col("base")).group_by("benchmark").agg(pl.col("d").var(), n=pl.len())
    return own["d"].to_numpy(), own["n"].to_numpy()


def test_the_detectable_macro_difference_is_that_of_the_pilots_own_items(suite: es.EvalData) -> None:
    variance, n = within(suite)
    plan = power(pilot=suite, baseline="base", candidate="tuned")
    assert plan.n_tasks == 20
    assert plan.delta == pytest.approx(Z * math.sqrt((variance / n).sum()) / 20, rel=0.01)
    result = es.compare(suite, "base", "tuned")
    assert isinstance(result, es.Comparison)
    assert plan.delta == pytest.approx(result.mde, rel=0.02)
    assert "4,529 items are worth" in text_of(plan)
    of_comparison = power(pilot=result)
    assert of_comparison.delta == pytest.approx(plan.delta, rel=0.02)
    assert of_comparison.assumptions[0].startswith("Items are spread as in the pilot (macro average over 20 tasks")


def test_items_of_each_task(suite: es.EvalData) -> None:
    variance, _ = within(suite)
    plan = power(pilot=suite, baseline="base", candidate="tuned", delta="2pp")
    each = Z**2 * variance.mean() / 20 / 0.02**2
    assert plan.n_items == 20 * math.ceil(each)
    assert f"{math.ceil(each)} items of each of 20 tasks ({plan.n_items:,}) give 80% power" in text_of(plan)
    assert "items of each of 20 tasks" in plan.question


@pytest.mark.slow
def test_the_planned_suite_has_the_power_asked_for(suite: es.EvalData) -> None:
    """2,000 suites of the planned items a task: t on the macro difference of right-or-wrong answers."""
    plan = power(pilot=suite, baseline="base", candidate="tuned", delta="3pp")
    each, rng, hits = (plan.n_items or 0) // 20, np.random.default_rng(8), 0
    variance, _ = within(suite)
    losses = (variance - 0.03) / 2
    for _ in range(2_000):
        u = rng.random((20, each))
        d = (u < losses[:, None] + 0.03).astype(float) - (u > 1 - losses[:, None])
        error = math.sqrt((d.var(axis=1, ddof=1) / each).sum()) / 20
        hits += d.mean() / error > stats.norm.ppf(0.975)
    assert hits / 2_000 == pytest.approx(0.8, abs=0.03)


def test_trials_of_a_suite_are_told_from_its_items() -> None:
    rng = np.random.default_rng(3)
    rows: list[list[dict[str, object]]] = []
    for task in ("a", "b", "c"):
        ease = rng.random(60)
        for name in ("old", "new"):
            scores = (rng.random((60, 4)) < ease[:, None]).astype(float).ravel().tolist()
            rows.append(rows_of(name, scores, benchmark=task, trials=4))
    plan = power(pilot=data_of(*rows), baseline="old", candidate="new", delta="5pp")
    counts = [row.n_items for row in plan.by_trials]
    assert len(counts) > 3
    assert counts == sorted(counts, reverse=True)  # type: ignore[type-var]


def test_a_number_of_items_is_so_many_of_each_task(suite: es.EvalData) -> None:
    plan = power(pilot=suite, baseline="base", candidate="tuned", n_items=515)
    assert plan.n_items == 500
    assert "25 items of each of 20 tasks (500)" in plan.summary()
    with pytest.raises(InputError, match="15 items are fewer than 2 of each of 20 tasks; give at least 40"):
        power(pilot=suite, baseline="base", candidate="tuned", n_items=15)


NAMED = {"org/base": 2, "org/tuned": 3, "other/tuned": 4}


def test_a_name_may_leave_out_whose_model_it_is() -> None:
    """As the guide asks: `--baseline base` of org/base; not where two organisations have one."""
    data = data_of(*(rows_of(name, [float(i % k > 0) for i in range(60)]) for name, k in NAMED.items()))
    asked = power(pilot=data, baseline="base", candidate="org/tuned", delta="2pp")
    assert asked.n_items == power(pilot=data, baseline="org/base", candidate="org/tuned", delta="2pp").n_items
    assert es.compare(data, "base", "org/tuned").estimate == es.compare(data, "org/base", "org/tuned").estimate
    assert es.leaderboard(data, baseline="base").baseline == "org/base"
    for question in (lambda: es.compare(data, "base", "tuned"), lambda: es.leaderboard(data, baseline="tuned")):
        with pytest.raises(InputError, match="tuned"):
            question()


def test_what_a_suite_cannot_plan_is_said(tmp_path: Path) -> None:
    sides = [rows_of(name, [1.0, 0.0] * 20) for name in ("old", "new")]
    alone = [rows_of(name, [score], benchmark="tiny") for name, score in (("old", 1.0), ("new", 0.0))]
    with pytest.raises(CannotAnswerError, match=r"a single item of tiny, and a spread needs two; keep the other tasks"):
        power(pilot=data_of(*sides, *alone), baseline="old", candidate="new")
    groups = {"passage": [f"p{i // 4}" for i in range(40)]}
    rng = np.random.default_rng(1)
    clustered = [
        rows_of(name, rng.integers(0, 2, 40).astype(float).tolist(), benchmark=task, factors=groups)
        for name in ("old", "new")
        for task in ("one", "two")
    ]
    with pytest.raises(InputError, match="clusters of passage"):
        power(pilot=data_of(*clustered), baseline="old", candidate="new", cluster="passage")
