"""Coefficients of a design, D-studies and their intervals."""

import json
import math

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.reliability import from_components, levels_needed, reliability, reliability_interval


def test_penicillin(golden):
    stored = json.loads((golden / "r_mixed_models.json").read_text())["Penicillin"]
    ours = {"plate": "model", "sample": "item", "Residual": "residual"}
    given = {ours[row["grp"]]: row["vcov"] for row in stored["varcomp"]}
    found = reliability(from_components(given, {"model": 24, "item": 6}))
    assert found.relative == pytest.approx(stored["gtheory"]["relative_Erho2"], abs=1e-9)
    assert found.absolute == pytest.approx(stored["gtheory"]["absolute_Phi"], abs=1e-9)


def mean_squares(y):
    """Mean squares between rows, between columns, and of the rest of a two-way table."""
    n, k = y.shape
    rest = y - y.mean(axis=1)[:, None] - y.mean(axis=0) + y.mean()
    return k * y.mean(axis=1).var(ddof=1), n * y.mean(axis=0).var(ddof=1), (rest**2).sum() / ((n - 1) * (k - 1))


def test_crossed_coefficients_are_the_intraclass_correlations_of_shrout_and_fleiss():
    y = np.random.default_rng(1).normal(size=(8, 5)) + np.arange(8)[:, None] + np.arange(5)
    between, raters, residual = mean_squares(y)
    components = {"model": (between - residual) / 5, "item": (raters - residual) / 8, "residual": residual}
    study = from_components(components, {"model": 8, "item": 5})
    found = reliability(study)
    assert found.relative == pytest.approx((between - residual) / between)
    assert found.absolute == pytest.approx((between - residual) / (between + (raters - residual) / 8))
    single = reliability(study, {"item": 1})
    assert single.relative == pytest.approx((between - residual) / (between + 4 * residual))


STUDY = from_components(
    {"model": 4.0, "scenario": 1.0, "item:scenario": 2.0, "model:scenario": 0.5, "residual": 6.0},
    {"model": 12, "scenario": 5, "item": 10},
    nested={"item": ["scenario"]},
)


def fixed_scenarios():
    return from_components(
        {part.name: part.variance for part in STUDY.components},
        {"model": 12, "scenario": 5, "item": 10},
        nested={"item": ["scenario"]},
        fixed=["scenario"],
    )


def test_fixed_scenarios_move_their_interaction_into_the_true_scores():
    random, fixed = reliability(STUDY), reliability(fixed_scenarios())
    assert random.universe == 4.0
    assert fixed.universe == pytest.approx(4.0 + 0.5 / 5)
    for found, relative, absolute in ((random, 0.5 / 5 + 6.0 / 50, 1.0 / 5 + 2.0 / 50), (fixed, 6.0 / 50, 2.0 / 50)):
        assert found.relative == pytest.approx(found.universe / (found.universe + relative))
        assert found.absolute == pytest.approx(found.universe / (found.universe + relative + absolute))
    assert fixed.relative > random.relative


@pytest.mark.parametrize("coefficient", ["relative", "absolute"])
@pytest.mark.parametrize("study", [STUDY, fixed_scenarios()])
def test_levels_needed_are_the_first_that_reach_it(coefficient, study):
    curve = [getattr(reliability(study, {"item": n}), coefficient) for n in range(1, 3_000)]
    for target in (0.5, 0.8, 0.9, 0.93):
        found = levels_needed(study, "item", target, coefficient=coefficient)
        reach = [n for n, value in enumerate(curve, start=1) if value >= target]
        assert found.n == (reach[0] if reach else None)
        assert found.limit == pytest.approx(curve[-1], abs=2e-3)
        if found.n is None:
            assert "falls only with more of scenario" in str(found.reason)


def test_a_target_that_is_the_limit_itself_takes_one_level_of_a_facet_without_error():
    """Only model:scenario is left, 4/4 = 1 against true scores of 1: the reliability is a half with any number of items."""
    study = from_components(
        {"model": 1.0, "model:scenario": 4.0, "residual": 0.0},
        {"model": 12, "scenario": 4, "item": 10},
        nested={"item": ["scenario"]},
    )
    assert reliability(study, {"item": 1}).relative == reliability(study, {"item": 10}).relative == 0.5
    found = levels_needed(study, "item", 0.5)
    assert (found.n, found.limit, found.reason) == (1, 0.5, None)


def test_what_cannot_be_reached_says_what_would_help():
    found = levels_needed(STUDY, "item", 0.98, coefficient="absolute")
    assert found.n is None
    assert found.reason == (
        "with any number of item Phi stays below 0.93: the error that is left, mostly scenario, falls only with more of scenario"
    )
    more = levels_needed(STUDY, "scenario", 0.98, coefficient="absolute")
    assert more.n is not None
    none = from_components({"model": 0.0, "residual": 1.0}, {"model": 12, "item": 5})
    assert "do not tell them apart" in str(levels_needed(none, "item", 0.9).reason)
    assert reliability(none).relative is None
    with pytest.raises(InputError, match="is fixed"):
        levels_needed(fixed_scenarios(), "scenario", 0.9)
    with pytest.raises(InputError, match="not a facet"):
        levels_needed(STUDY, "trial", 0.9)


def test_all_facets_that_would_help_are_named_in_order():
    study = from_components(
        {"model": 1.0, "model:user": 4.0, "model:scenario": 3.0, "residual": 2.0},
        {"model": 12, "user": 4, "scenario": 4, "item": 10},
    )
    reason = str(levels_needed(study, "item", 0.9).reason)
    assert reason.endswith("mostly model:user, falls only with more of scenario or user")
    without = from_components(
        {"model": 1.0, "model:user": 0.0, "model:scenario": 3.0, "residual": 2.0},
        {"model": 12, "user": 4, "scenario": 4, "item": 10},
    )
    assert str(levels_needed(without, "item", 0.9).reason).endswith("falls only with more of scenario")


def test_a_component_that_is_not_given_is_0_and_named():
    study = from_components({"model": 1.0, "residual": 3.0}, {"model": 12, "item": 5})
    assert {part.name: part.variance for part in study.components} == {"model": 1.0, "item": 0.0, "model:item": 3.0}
    assert study.warnings == ("no variance was given for item: taken as 0",)
    few = from_components({"model": 1.0, "item": 2.0, "residual": 3.0}, {"model": 9, "item": 5}).warnings
    assert [each.startswith("only 9 levels of model") for each in few] == [True]
    assert not from_components({"model": 1.0, "item": 2.0, "residual": 3.0}, {"model": 10, "item": 5}).warnings


@pytest.mark.parametrize(("residual", "n"), [(0.9, 9), (0.05, 1), (1.0, 10), (1.01, 11), (40.0, 400)])
def test_levels_are_the_error_of_one_over_the_room_for_it(residual, n):
    """True scores of 1 leave room for an error of .1 at a reliability of 1/1.1."""
    study = from_components({"model": 1.0, "item": 3.0, "residual": residual}, {"model": 12, "item": 5})
    assert levels_needed(study, "item", 1 / 1.1).n == n


def test_more_levels_than_can_be_had_are_out_of_reach():
    """The error of one item is 1; the room for it falls with the target."""
    study = from_components({"model": 1.0, "item": 0.0, "residual": 1.0}, {"model": 12, "item": 5})
    assert levels_needed(study, "item", 1 - 2.0**-29).n == 2**29 - 1
    found = levels_needed(study, "item", 1 - 2.0**-31)
    assert (found.n, found.limit) == (None, 1.0)
    assert found.reason == "more than 1,000,000,000 levels of item are needed; aim lower"


@pytest.mark.parametrize("target", [-0.5, 0.0, 1.0, 80.0, math.nan])
def test_a_target_is_a_reliability(target):
    with pytest.raises(InputError, match=r"target is .*; give a reliability between 0 and 1"):
        levels_needed(STUDY, "item", target)


def test_error_falls_with_every_facet():
    for facet in ("item", "scenario"):
        curve = [reliability(STUDY, {facet: n}) for n in (1, 2, 5, 20, 100)]
        for name in ("relative", "absolute"):
            values = [getattr(each, name) for each in curve]
            assert values == sorted(values)
            assert len(set(values)) == 5
        assert all(each.absolute < each.relative for each in curve)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: from_components({"model": 1.0}, {"model": 3, "item": 3}, fixed=["item"]), "every facet is fixed"),
        (lambda: from_components({"user": 1.0}, {"model": 3, "item": 3}), "none of this design's"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_draws_of_a_bootstrap_are_taken_as_they_are():
    draws = np.column_stack([np.linspace(1, 4, 1001), np.ones(1001), np.full(1001, 6.0)])
    study = from_components({"model": 2.5, "item": 1.0, "residual": 6.0}, {"model": 20, "item": 6})
    found = reliability_interval(study, draws)
    expected = [value / (value + 1.0) for value in np.quantile(draws[:, 0], [0.025, 0.975])]
    assert list(found) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("coefficient", ["relative", "absolute"])
def test_an_interval_divides_by_the_levels_and_takes_components_below_0_as_0(coefficient):
    study = from_components({"model": 1.0, "item": 0.5, "residual": 4.0}, {"model": 20, "item": 5})
    names = ["model", "item", "residual"]
    draws = np.random.default_rng(3).normal(1.0, 1.0, (999, 3)) * [study.components[k].variance for k in range(3)]
    above = dict(zip(names, np.maximum(draws, 0.0).T, strict=True))
    noise = above["residual"] / 5 + (above["item"] / 5 if coefficient == "absolute" else 0.0)
    total = above["model"] + noise
    shares = np.where(total > 0, above["model"] / np.where(total > 0, total, 1.0), 0.0)
    found = reliability_interval(study, draws, coefficient=coefficient, conf_level=0.9)
    assert list(found) == pytest.approx(list(np.quantile(shares, [0.05, 0.95])))


@pytest.mark.filterwarnings("error")
def test_a_draw_without_any_variance_has_a_reliability_of_0():
    study = from_components({"model": 1.0, "item": 0.5, "residual": 4.0}, {"model": 20, "item": 5})
    draws = np.vstack([np.zeros((60, 3)), -np.ones((60, 3)), np.tile([1.0, 0.0, 0.0], (120, 1))])
    assert reliability_interval(study, draws) == (0.0, 1.0)
