"""Variance components against lme4 and by hand; coefficients, D-studies and their intervals."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.reliability.decision_study import (
    component_draws,
    levels_needed,
    reliability,
    reliability_interval,
)
from evalstats.stats.reliability.generalizability import from_components, g_study

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "golden" / "mixed_means.json").read_text())["gstudy"]
REML = 1e-4  # relative: lme4's optimiser stops there; with no variance at 0, REML of balanced data is the mean squares


def parts(study):
    return {part.name: part.estimate for part in study.components}


def test_items_in_scenarios_equal_lme4():
    stored = GOLDEN["nested"]
    y = np.array(stored["y"]).reshape(stored["shape"])
    found = parts(g_study(y, ["scenario", "item"], nested={"item": ["scenario"]}))
    names = {"model": "model", "scenario": "scenario", "scenario:item": "it", "model:scenario": "ms"}
    for ours, theirs in (names | {"model:scenario:item": "Residual"}).items():
        assert found[ours] == pytest.approx(stored["variances"][theirs], rel=REML)
    assert set(found) == {*names, "model:scenario:item"}


def test_trials_of_items_equal_lme4():
    stored = GOLDEN["trials"]
    y = np.array(stored["y"]).reshape(stored["shape"])
    found = parts(g_study(y, ["item", "trial"], nested={"trial": ["model", "item"]}))
    for ours, theirs in {"model": "model", "item": "item", "model:item": "mi", "model:item:trial": "Residual"}.items():
        assert found[ours] == pytest.approx(stored["variances"][theirs], rel=REML)


def test_three_crossed_facets_solve_their_expected_mean_squares():
    # Brennan's equations for p x i x h, written out.
    y = np.random.default_rng(0).normal(size=(4, 5, 3)) + np.arange(4)[:, None, None]
    m, n_p, n_i, n_h = y.mean(), 4, 5, 3

    def ms(effect, df, copies):
        return copies * float((effect**2).sum()) / df

    p, i, h = y.mean((1, 2)) - m, y.mean((0, 2)) - m, y.mean((0, 1)) - m
    pi = y.mean(2) - m - p[:, None] - i
    ph = y.mean(1) - m - p[:, None] - h
    ih = y.mean(0) - m - i[:, None] - h
    rest = y - m - p[:, None, None] - i[:, None] - h - pi[:, :, None] - ph[:, None] - ih
    s_pih = ms(rest, 24, 1)
    s_pi, s_ph, s_ih = (ms(pi, 12, 3) - s_pih) / n_h, (ms(ph, 6, 5) - s_pih) / n_i, (ms(ih, 8, 4) - s_pih) / n_p
    s_p = (ms(p, 3, 15) - s_pih - n_h * s_pi - n_i * s_ph) / (n_i * n_h)
    s_i = (ms(i, 4, 12) - s_pih - n_h * s_pi - n_p * s_ih) / (n_p * n_h)
    s_h = (ms(h, 2, 20) - s_pih - n_i * s_ph - n_p * s_ih) / (n_p * n_i)
    expected = {
        "model": s_p,
        "item": s_i,
        "h": s_h,
        "model:item": s_pi,
        "model:h": s_ph,
        "item:h": s_ih,
        "model:item:h": s_pih,
    }
    assert parts(g_study(y, ["item", "h"])) == pytest.approx(expected)


def test_penicillin(golden):
    stored = json.loads((golden / "r_mixed_models.json").read_text())["Penicillin"]
    given = {row["grp"].lower(): row["vcov"] for row in stored["varcomp"]}
    found = reliability(from_components(given, {"plate": 24, "sample": 6}, object="plate"))
    assert found.relative == pytest.approx(stored["gtheory"]["relative_Erho2"], abs=1e-9)
    assert found.absolute == pytest.approx(stored["gtheory"]["absolute_Phi"], abs=1e-9)


def mean_squares(y):
    """Mean squares between rows, between columns, and of the rest of a two-way table."""
    n, k = y.shape
    rest = y - y.mean(axis=1)[:, None] - y.mean(axis=0) + y.mean()
    return k * y.mean(axis=1).var(ddof=1), n * y.mean(axis=0).var(ddof=1), (rest**2).sum() / ((n - 1) * (k - 1))


def test_crossed_coefficients_are_the_intraclass_correlations_of_shrout_and_fleiss():
    y = np.random.default_rng(1).normal(size=(8, 5)) + np.arange(8)[:, None] + np.arange(5)
    found = reliability(g_study(y, ["item"]))
    between, raters, residual = mean_squares(y)
    assert found.relative == pytest.approx((between - residual) / between)
    assert found.absolute == pytest.approx((between - residual) / (between + (raters - residual) / 8))
    single = reliability(g_study(y, ["item"]), {"item": 1})
    assert single.relative == pytest.approx((between - residual) / (between + 4 * residual))


STUDY = from_components(
    {"model": 4.0, "scenario": 1.0, "item:scenario": 2.0, "model:scenario": 0.5, "residual": 6.0},
    {"model": 12, "scenario": 5, "item": 10},
    nested={"item": ["scenario"]},
)


def fixed_scenarios():
    return from_components(
        {part.name: part.estimate for part in STUDY.components},
        {"model": 12, "scenario": 5, "item": 10},
        nested={"item": ["scenario"]},
        fixed=["scenario"],
    )


def test_fixed_scenarios_move_their_interaction_into_the_true_scores():
    random, fixed = reliability(STUDY), reliability(fixed_scenarios())
    assert random.universe == 4.0
    assert random.relative_error == pytest.approx(0.5 / 5 + 6.0 / 50)
    assert random.absolute_error == pytest.approx(0.5 / 5 + 6.0 / 50 + 1.0 / 5 + 2.0 / 50)
    assert fixed.universe == pytest.approx(4.0 + 0.5 / 5)
    assert fixed.relative_error == pytest.approx(6.0 / 50)
    assert fixed.absolute_error == pytest.approx(6.0 / 50 + 2.0 / 50)
    assert fixed.relative > random.relative


@pytest.mark.parametrize("coefficient", ["relative", "absolute"])
@pytest.mark.parametrize("study", [STUDY, fixed_scenarios()])
@pytest.mark.parametrize("target", [0.5, 0.8, 0.9, 0.93])
def test_levels_needed_are_the_first_that_reach_it(coefficient, study, target):
    found = levels_needed(study, "item", target, coefficient=coefficient)
    curve = [getattr(each, coefficient) for each in (reliability(study, {"item": n}) for n in range(1, 3_000))]
    reach = [n for n, value in enumerate(curve, start=1) if value >= target]
    assert found.n == (reach[0] if reach else None)
    assert found.limit == pytest.approx(curve[-1], abs=2e-3)
    if found.n is None:
        assert "falls only with more of scenario" in str(found.reason)
    else:
        assert found.reached == pytest.approx(curve[found.n - 1])


def test_what_cannot_be_reached_says_what_would_help():
    found = levels_needed(STUDY, "item", 0.98, coefficient="absolute")
    assert found.n is None
    assert found.reason == (
        "with any number of item Phi stays below 0.93: the error that is left, mostly scenario, falls only with more of scenario"
    )
    more = levels_needed(STUDY, "scenario", 0.98, coefficient="absolute")
    assert more.n is not None
    none = from_components({"model": 0.0, "residual": 1.0}, {"model": 12, "item": 5})
    assert "do not tell them apart" in str(levels_needed(none, "item").reason)
    assert reliability(none).relative is None
    with pytest.raises(InputError, match="is fixed"):
        levels_needed(fixed_scenarios(), "scenario")
    with pytest.raises(InputError, match="would be of something else"):
        reliability(fixed_scenarios(), {"scenario": 9})
    with pytest.raises(InputError, match="not a facet"):
        levels_needed(STUDY, "trial")


def test_error_falls_with_every_facet():
    for facet in ("item", "scenario"):
        curve = [reliability(STUDY, {facet: n}) for n in (1, 2, 5, 20, 100)]
        for name in ("relative", "absolute"):
            values = [getattr(each, name) for each in curve]
            assert values == sorted(values)
            assert len(set(values)) == 5
        assert all(each.absolute < each.relative for each in curve)


def test_negative_estimates_are_kept_and_said():
    y = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.1]])
    study = g_study(y, ["item"])
    model = study.components[0]
    assert model.estimate < 0.0
    assert model.variance == 0.0
    assert any(f"the variance of model is estimated as {model.estimate:.3g}" in each for each in study.warnings)
    assert reliability(study).relative is None
    interval = reliability_interval(study)
    assert (interval.estimate, interval.conf_low) == (None, None)


def test_shift_and_order_of_items_do_not_matter():
    y = np.random.default_rng(2).normal(size=(5, 4, 3))
    one = parts(g_study(y, ["scenario", "item"], nested={"item": ["scenario"]}))
    items = np.stack([y[:, s][:, np.random.default_rng(s).permutation(3)] for s in range(4)], axis=1)
    for turned in (7.0 - y, y[::-1], y[:, ::-1], items):
        assert parts(g_study(turned, ["scenario", "item"], nested={"item": ["scenario"]})) == pytest.approx(
            one, abs=1e-12
        )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: g_study(np.ones((3, 2)), ["item", "trial"]), "2 axes for model, item, trial"),
        (lambda: g_study(np.ones((3, 1)), ["item"]), "item has 1 level"),
        (lambda: g_study([[1, np.nan], [1, 2]], ["item"]), "from_components"),
        (lambda: g_study(np.eye(2), ["item"], fixed=["item"]), "every facet is fixed"),
        (lambda: g_study(np.eye(2), ["item"], fixed=["user"]), "fixed names user"),
        (lambda: g_study(np.eye(2), ["item"], nested={"item": ["user"]}), "cannot be nested"),
        (lambda: g_study(np.eye(2), ["model"]), "all different"),
        (lambda: from_components({"model": 1.0}, {"item": 3}), "do not name the object"),
        (lambda: from_components({"user": 1.0}, {"model": 3, "item": 3}), "none of this design's"),
        (lambda: from_components({"model": math.nan}, {"model": 3, "item": 3}), "finite"),
        (lambda: from_components({"residual": 1, "item:model": 1}, {"model": 3, "item": 3}), "given twice"),
        (lambda: levels_needed(STUDY, "item", 1.2), "between 0 and 1"),
        (lambda: reliability(STUDY, {"item": 0}), "at least 1"),
        (lambda: component_draws(STUDY), "no mean squares"),
        (lambda: reliability_interval(STUDY, draws=np.ones((20, 2))), "of 5 components"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_the_interval_of_crossed_objects_is_feldts():
    y = np.random.default_rng(3).normal(size=(9, 6)) + np.arange(9)[:, None] * 0.5
    between, _, residual = mean_squares(y)
    low, high = (1 - residual / between * stats.f.ppf(level, 8, 40) for level in (0.975, 0.025))
    found = reliability_interval(g_study(y, ["item"]), n_draws=200_000)
    assert found.conf_low == pytest.approx(low, abs=5 * found.end_errors[0])
    assert found.conf_high == pytest.approx(high, abs=5 * found.end_errors[1])
    assert max(found.end_errors) < 2e-3
    assert reliability_interval(g_study(y, ["item"]), seed=4) == reliability_interval(g_study(y, ["item"]), seed=4)


def test_draws_of_a_bootstrap_are_taken_as_they_are():
    draws = np.column_stack([np.linspace(1, 4, 1001), np.ones(1001), np.full(1001, 6.0)])
    study = from_components({"model": 2.5, "item": 1.0, "residual": 6.0}, {"model": 20, "item": 6})
    found = reliability_interval(study, draws=draws)
    expected = [value / (value + 1.0) for value in np.quantile(draws[:, 0], [0.025, 0.975])]
    assert [found.conf_low, found.conf_high] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("coefficient", ["relative", "absolute"])
def test_intervals_cover(coefficient):
    rng, repeats, held = np.random.default_rng(5), 600, 0
    truth = {"relative": 1 / (1 + 0.5 / 8), "absolute": 1 / (1 + 0.5 / 8 + 0.6 / 8)}[coefficient]
    for seed in range(repeats):
        y = rng.normal(size=(12, 1)) + math.sqrt(0.6) * rng.normal(size=8) + math.sqrt(0.5) * rng.normal(size=(12, 8))
        found = reliability_interval(g_study(y, ["item"]), coefficient=coefficient, n_draws=2_000, seed=seed)
        low, high = (0.0, 0.0) if found.conf_low is None else (found.conf_low, found.conf_high)
        held += low <= truth <= high
    share, error = held / repeats, math.sqrt(0.95 * 0.05 / repeats)
    # E rho^2 is exact but for 2,000 draws; generalised limits of Phi may hold a little more or less often.
    assert 0.95 - 4.5 * error < share < 0.95 + (4.5 * error if coefficient == "relative" else 0.04)
