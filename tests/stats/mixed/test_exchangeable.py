"""Errors in closed form where models are exchangeable: against those of the equations in full."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from evalstats.stats.mixed.exchangeable import exchangeable_errors
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.mixed.prediction import predictive_law
from tests.stats.mixed.dense import dummies, rows_design, term

# Of the largest variance: both forms are exact.
ALGEBRA = 1e-10
MODELS, ITEMS = 4, (2, 3, 5, 4, 2, 6)
LEVELS = np.tile(5 - np.arange(6), MODELS), np.random.default_rng(2).permutation(24)


def answered(*, spread=(1.0, 0.7), missing=False, coded=False):
    """All models on all items of six scenarios of unlike size; one score less, or another coding of models, if asked."""
    rng = np.random.default_rng(3)
    of_item = np.repeat(np.arange(len(ITEMS)), ITEMS)
    item, model = (each.ravel() for each in np.indices((len(of_item), MODELS)))
    if missing:
        item, model = item[1:], model[1:]
    scenario = of_item[item]
    pair = model * len(ITEMS) + scenario
    response = spread[0] * rng.normal(size=6)[scenario] + spread[1] * rng.normal(size=6 * MODELS)[pair]
    response += rng.normal(size=len(of_item))[item] + rng.normal(size=item.size)
    own = [(f"model {k}", (model == k).astype(float)) for k in range(MODELS)]
    fixed = [("(Intercept)", np.ones(item.size)), *dummies(model)] if coded else own
    # Levels in another order than cells.
    terms = [
        term("item", item),
        term("scenario", 5 - scenario),
        term("pair", [f"{level:02}" for level in LEVELS[1][pair]]),
    ]
    return rows_design(fixed, terms, response)


def laws(design):
    """Both forms of the errors, with the rows of all cells and what is predicted at each point."""
    fit = fit_linear(design)
    rows = np.hstack([np.repeat(np.eye(MODELS), 6, axis=0), np.eye(6)[LEVELS[0]], np.eye(24)[LEVELS[1]]])
    law = predictive_law(fit, (1, 2))
    values = np.stack([rows @ np.concatenate([f.beta, f.effects[1].ravel(), f.effects[2].ravel()]) for f in law.fits])
    return law, rows, values, exchangeable_errors(law, (1, 2), LEVELS, values)


@pytest.mark.parametrize("spread", [(1.0, 0.7), (0.0, 1.0), (2.0, 0.0)], ids=str)
def test_closed_form_is_that_of_the_equations(spread):
    law, rows, values, found = laws(answered(spread=spread))
    assert found is not None
    errors, variances = found
    assert len(law.fits) > 5
    expected = law.errors_of(sparse.csr_array(rows), values, np.ones(values.shape))
    weights = np.random.default_rng(1).normal(size=(40, len(rows)))
    for some in (np.eye(len(rows)), np.ones((1, len(rows))), weights):
        of = sparse.csr_array(some)
        np.testing.assert_allclose(errors.variance(of), expected.variance(of), rtol=ALGEBRA)
    effects = np.eye(rows.shape[1])[MODELS:]
    full = np.stack([each.variance(effects) for each in law.errors])
    np.testing.assert_allclose(variances, full, rtol=ALGEBRA, atol=ALGEBRA * full.max())


def test_standard_deviations_of_0():
    """A single point on the boundary, as of a fit that did not converge."""
    law, rows, values, _ = laws(answered())
    for theta in ((0.5, 0.0), (0.0, 0.5), (0.0, 0.0)):
        at = replace(law, fits=(replace(law.fits[0], theta=np.array([1.0, *theta])),), weights=np.ones(1))
        found = exchangeable_errors(at, (1, 2), LEVELS, values[:1])
        assert found is not None
        expected = at.errors_of(sparse.csr_array(rows), values[:1], np.ones((1, 24)))
        weights = sparse.csr_array(np.random.default_rng(1).normal(size=(9, 24)))
        np.testing.assert_allclose(found[0].variance(weights), expected.variance(weights), rtol=ALGEBRA)
        full = at.errors[0].variance(np.eye(rows.shape[1])[MODELS:])
        np.testing.assert_allclose(found[1][0], full, rtol=ALGEBRA, atol=ALGEBRA)


@pytest.mark.parametrize("other", [{"missing": True}, {"coded": True}], ids=str)
def test_models_that_are_not_exchangeable(other):
    """A score is missing, or columns of X are not the models."""
    assert laws(answered(**other))[-1] is None
