"""Balanced designs: the mean of the replicates and their differences give what elimination gives."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.stats.mixed import linear
from evalstats.stats.mixed.design import MixedDesign
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.linear import LinearCriterion, fit_linear
from evalstats.stats.mixed.linear_balanced import BalancedCore, balance_of
from evalstats.stats.mixed.linear_elimination import StagedCore
from tests.stats.mixed.dense import deviance, merged, rows_design, term

CASES = [
    ("own", ("item", "scenario", "pair")),
    ("own", ("item", "scenario")),
    ("own", ("item", "answer")),
    ("same", ("model", "scenario", "pair", "item")),
    ("same", ("model", "item")),
    ("slope", ("item", "model", "answer")),
]
ROUNDING = 1e-9


def design_of(fixed, groups, *, n_models=7, n_items=12, n_scenarios=4):
    """Models that answered the same items, some of them twice or thrice, with rows in no order."""
    rng = np.random.default_rng(sum(map(ord, fixed + "".join(groups))))
    model, item = np.divmod(rng.permutation(n_models * n_items), n_items)
    scenario = item % n_scenarios
    codes = {
        "item": item,
        "scenario": scenario,
        "model": model,
        "pair": model * n_scenarios + scenario,
        "answer": model * n_items + item,
    }
    rows, of_cell, names = {
        "own": (np.eye(n_models), model, tuple(f"model {k}" for k in range(n_models))),
        "same": (np.ones((1, 1)), np.zeros_like(model), ("(Intercept)",)),
        "slope": (np.stack([np.ones(n_scenarios), np.arange(n_scenarios)], axis=1), scenario, ("(Intercept)", "x")),
    }[fixed]
    effects = sum(rng.normal(size=int(each.max()) + 1)[each] for each in codes.values())
    return MixedDesign(
        fixed=distinct_rows(rows.astype(float), of_cell),
        fixed_names=names,
        terms=tuple(term(group, codes[group]) for group in groups),
        count=1.0 + item % 3,
        response=effects + rng.normal(size=len(item)),
        within=3.3,
    )


def numbers(criterion, theta):
    at = criterion.at(theta)
    return [
        criterion.deviance(theta),
        criterion.gradient(theta),
        criterion.gradient_at(theta, 0.8),
        at.sigma,
        at.beta,
        criterion.covariance(theta),
        *criterion.effects(theta),
        *criterion.effect_covariances(theta),
    ]


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize(("fixed", "groups"), CASES)
def test_equal_to_elimination(fixed, groups, reml, monkeypatch):
    design = design_of(fixed, groups)
    eliminated = LinearCriterion(design, reml=reml)
    monkeypatch.setattr(linear, "_LARGE", 1)
    balanced = LinearCriterion(design, reml=reml)
    assert isinstance(eliminated._core, StagedCore)
    assert isinstance(balanced._core, BalancedCore)
    rng = np.random.default_rng(3)
    for at_zero in (None, *range(design.n_theta)):
        theta = rng.uniform(0.1, 1.5, design.n_theta)
        if at_zero is not None:
            theta[at_zero] = 0.0
        for found, expected in zip(numbers(balanced, theta), numbers(eliminated, theta), strict=True):
            assert found == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)
        response = rng.normal(size=design.n_cells)
        for criterion in (balanced, eliminated):
            criterion.set_response(response, 1.5)
        assert balanced.deviance(theta) == pytest.approx(eliminated.deviance(theta), rel=ROUNDING)


def test_equal_to_the_definition(monkeypatch):
    """The normal density of all rows."""
    monkeypatch.setattr(linear, "_LARGE", 1)
    model, item = np.divmod(np.arange(40), 8)
    terms = [term("item", item), term("scenario", item % 2), term("model:scenario", model * 2 + item % 2)]
    rng = np.random.default_rng(5)
    columns = [(f"model {k}", (model == k) * 1.0) for k in range(5)]
    design = merged(rows_design(columns, terms, rng.normal(size=40) + item % 3))
    theta = np.array([0.7, 0.4, 1.2])
    criterion = LinearCriterion(design)
    assert isinstance(criterion._core, BalancedCore)
    assert criterion.deviance_at(theta, 0.9) == pytest.approx(deviance(design, theta, 0.9, restricted=True), abs=1e-8)


def test_the_same_fit(monkeypatch):
    design = design_of("own", ("item", "scenario", "pair"), n_models=20, n_items=40)
    expected = fit_linear(design)
    monkeypatch.setattr(linear, "_LARGE", 1)
    found = fit_linear(design)
    assert found.theta == pytest.approx(expected.theta, rel=1e-5)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-8)
    assert found.std_errors == pytest.approx(expected.std_errors, rel=1e-6)


def test_columns_of_any_sign(monkeypatch):
    """Where each model has a column of its own, what it is multiplied by may be below 0."""
    design = design_of("own", ("item", "pair"))
    fixed = replace(design.fixed, rows=design.fixed.rows * np.array([1.0, -1.0, 2.0, -0.5, 1.0, 1.0, -3.0]))
    expected = numbers(LinearCriterion(replace(design, fixed=fixed)), np.array([0.7, 1.1]))
    monkeypatch.setattr(linear, "_LARGE", 1)
    criterion = LinearCriterion(replace(design, fixed=fixed))
    assert isinstance(criterion._core, BalancedCore)
    for found, wanted in zip(numbers(criterion, np.array([0.7, 1.1])), expected, strict=True):
        assert found == pytest.approx(wanted, rel=ROUNDING, abs=ROUNDING)


@pytest.mark.parametrize("change", ["missing", "counts", "scenario", "slope", "two groupings", "empty level"])
def test_what_is_not_balanced(change):
    design = design_of("own", ("item", "scenario", "pair"))
    assert balance_of(design) is not None
    first, second, last = design.terms
    if change == "missing":
        kept = np.arange(design.n_cells) > 0
        design = replace(
            design,
            fixed=distinct_rows(design.fixed.rows, design.fixed.of_cell.level[kept]),
            terms=tuple(replace(each, level=each.level[kept], values=each.values[kept]) for each in design.terms),
            count=design.count[kept],
            response=design.response[kept],
        )
    elif change == "counts":
        design = replace(design, count=design.count + (np.arange(design.n_cells) == 0))
    elif change == "scenario":  # one answer in another scenario than those of other models to its item
        level = second.level.copy()
        level[0] = (level[0] + 1) % 4
        design = replace(design, terms=(first, replace(second, level=level), last))
    elif change == "slope":
        design = replace(design, terms=(replace(first, values=first.values * 2.0), second, last))
    elif change == "empty level":  # which no answer has
        design = replace(
            design, terms=(first, second, replace(last, levels=("none", *last.levels), level=last.level + 1))
        )
    else:
        answer = design.fixed.of_cell.level * 12 + first.level
        design = replace(design, terms=(*design.terms, term("answer", answer)))
    assert balance_of(design) is None
