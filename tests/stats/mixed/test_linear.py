"""Linear mixed models against their definition, their symmetries, and what must be refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed import linear, trust_region
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.linear import LinearCriterion, Refitter, fit_linear
from evalstats.stats.mixed.trust_region import minimise
from tests.stats.mixed.dense import (
    deviance,
    fit_dense,
    merged,
    numeric_gradient,
    random_matrices,
    relative_covariance,
    rows_design,
    term,
)

ROUNDING = 1e-8  # of deviances of a few hundred: sums of some thousand terms


def random_design(rng, shape):
    """Some sixty rows of one shape; levels meet at random, so nothing is balanced."""
    n = 64
    a, b, x, z = rng.integers(0, 9, n), rng.integers(0, 5, n), rng.normal(size=n), rng.normal(size=n)
    ones = ("(Intercept)", np.ones(n))
    fixed = [ones, ("x", x)]
    if shape == "one":
        terms = [term("a", a)]
    elif shape == "crossed":
        terms = [term("b", b), term("a", a)]
    elif shape == "nested":
        terms = [term("a", a), term("a:b", a * 10 + b)]
    elif shape == "slopes":
        terms = [term("a", a, ones, ("x", x)), term("b", b, ones, ("x", x), ("z", z))]
    elif shape == "uncorrelated":
        terms = [term("a", a), term("a", a, ("x", x)), term("b", b)]
    elif shape == "nested slopes":
        terms = [term("a", a, ("z", z)), term("a:b", a * 10 + b, ones, ("x", x))]
    else:  # items of a few models in scenarios, over trials; "cells" with an effect for each item and model
        n = 120
        cell = np.sort(rng.integers(0, 60, n))
        item, model = cell % 15, cell // 15
        ones = ("(Intercept)", np.ones(n))
        fixed = [ones, ("model 1", (model == 1) * 1.0)]
        terms = [term("item", item), term("model", model), term("model:scenario", model * 10 + item % 3)]
        if shape == "cells":
            terms.append(term("item:model", cell))
    y = rng.normal(size=n) + sum(
        rng.normal(size=t.n_levels)[t.level] * t.values[:, 0] * rng.choice([0.0, 0.4, 1.5]) for t in terms
    )
    return rows_design(fixed, terms, y)


SHAPES = ("one", "crossed", "nested", "slopes", "uncorrelated", "nested slopes", "scenarios", "cells")
seeds = st.integers(0, 10**6)


def random_theta(design, rng):
    theta = rng.normal(size=design.n_theta)
    return np.where(rng.random(design.n_theta) < 0.15, 0.0, theta)


@pytest.fixture(params=["eliminated", "sparse"])
def path(request, monkeypatch):
    if request.param == "sparse":
        monkeypatch.setattr(linear, "_DENSE_ENTRIES", -1)
    return request.param


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize("shape", SHAPES)
def test_criterion_is_the_normal_likelihood(shape, reml, path):
    """Rows of one cell each give V and the density of y by themselves; cells of several rows give the same."""
    rng = np.random.default_rng(sum(map(ord, shape)))
    rows = random_design(rng, shape)
    theta, sigma = random_theta(rows, rng), rng.uniform(0.3, 2.0)
    expected = deviance(rows, theta, sigma, restricted=reml)
    for design in (rows, merged(rows)):
        criterion = LinearCriterion(design, reml=reml)
        assert isinstance(criterion._core, linear.StagedCore) == (path == "eliminated")
        assert criterion.deviance_at(theta, sigma) == pytest.approx(expected, abs=ROUNDING)
        at = criterion.at(theta)
        assert at.deviance == pytest.approx(criterion.deviance_at(theta, at.sigma), abs=ROUNDING)
        assert at.deviance <= min(criterion.deviance_at(theta, at.sigma * f) for f in (0.99, 1.01))


def test_likelihood_is_scipys():
    """The oracle itself against the multivariate normal density of scipy, at the best beta."""
    rows = random_design(np.random.default_rng(1), "crossed")
    theta = np.array([0.7, 1.2])
    at = LinearCriterion(rows, reml=False).at(theta)
    v = at.sigma**2 * relative_covariance(rows, theta)
    density = stats.multivariate_normal(rows.fixed.at() @ at.beta, v).logpdf(rows.response)
    assert at.deviance == pytest.approx(-2 * density, abs=ROUNDING)


@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives(shape, path):
    rng = np.random.default_rng(len(shape))
    design = merged(random_design(rng, shape))
    criterion = LinearCriterion(design)
    theta = random_theta(design, rng)
    scale = max(1.0, float(np.abs(criterion.gradient(theta)).max()))
    # Differences of the sparse path are of second order in a step of 1e-4.
    tolerance = scale * (1e-7 if path == "eliminated" else 1e-5)
    assert criterion.gradient(theta) == pytest.approx(numeric_gradient(criterion.deviance, theta), abs=tolerance)
    both = np.append(theta, 0.8)
    numeric = numeric_gradient(lambda x: criterion.deviance_at(x[:-1], x[-1]), both)
    assert criterion.gradient_at(theta, 0.8) == pytest.approx(numeric, abs=100 * tolerance)
    if path == "eliminated":
        joint = numeric_gradient(lambda t: criterion.gradient_at(t[:-1], t[-1]), both)
        assert criterion.hessian_at(theta, 0.8) == pytest.approx(joint, abs=1e-4 * max(1.0, float(np.abs(joint).max())))


@pytest.mark.parametrize("shape", SHAPES)
def test_fixed_and_random_effects_by_generalised_least_squares(shape, path):
    """b given y is normal with mean G Z' V^-1 (y - X beta) and covariance G - G Z' V^-1 Z G."""
    rng = np.random.default_rng(7 * len(shape))
    rows = random_design(rng, shape)
    theta = random_theta(rows, rng)
    inverse = np.linalg.inv(relative_covariance(rows, theta))
    x, y = rows.fixed.at(), rows.response
    unscaled = np.linalg.inv(x.T @ inverse @ x)
    beta = unscaled @ x.T @ inverse @ y
    for design in (rows, merged(rows)):
        criterion = LinearCriterion(design)
        at = criterion.at(theta)
        assert at.beta == pytest.approx(beta, abs=1e-9)
        assert criterion.covariance(theta) == pytest.approx(at.sigma**2 * unscaled, abs=1e-9)
        found = zip(
            rows.terms,
            random_matrices(rows),
            rows.factors(theta),
            criterion.effects(theta),
            criterion.effect_covariances(theta),
            strict=True,
        )
        for t, columns, factor, modes, covariances in found:
            z = np.stack(columns, axis=-1).reshape(rows.n_cells, -1)  # effects of a level together
            prior = np.kron(np.eye(t.n_levels), factor @ factor.T)
            gain = prior @ z.T @ inverse
            assert modes.reshape(-1) == pytest.approx(gain @ (y - x @ beta), abs=1e-9)
            posterior = at.sigma**2 * (prior - gain @ z @ prior)
            k = t.n_columns
            for level in range(t.n_levels):
                at_level = slice(level * k, level * k + k)
                assert covariances[level] == pytest.approx(posterior[at_level, at_level], abs=1e-9)


@pytest.mark.parametrize(
    ("shape", "method"),
    [("one", "ML"), ("crossed", "REML"), ("nested", "ML"), ("slopes", "REML"), ("uncorrelated", "REML")],
)
def test_fit_is_the_best_of_direct_maximisation(shape, method):
    rng = np.random.default_rng(5)
    rows = random_design(rng, shape)
    direct = fit_dense(rows, method=method)
    fit = fit_linear(merged(rows), reml=method == "REML")
    assert fit.convergence.converged
    assert fit.log_likelihood >= direct.log_likelihood - ROUNDING
    v = fit.sigma**2 * relative_covariance(rows, fit.theta)  # the likelihood claimed is that of its estimates
    x, e = rows.fixed.at(), rows.response - rows.fixed.at() @ fit.beta
    value = -0.5 * (np.linalg.slogdet(2 * np.pi * v)[1] + e @ np.linalg.solve(v, e))
    if method == "REML":
        value -= 0.5 * np.linalg.slogdet(x.T @ np.linalg.solve(v, x) / (2 * np.pi))[1]
    assert fit.log_likelihood == pytest.approx(value, abs=ROUNDING)
    assert np.all(np.concatenate([np.diag(f) for f in fit.design.factors(fit.theta)]) >= 0.0)


@pytest.mark.parametrize("shape", ["uncorrelated", "cells"])
def test_order_of_rows_and_merging_change_nothing(shape):
    rng = np.random.default_rng(2)
    rows = random_design(rng, shape)
    order = rng.permutation(rows.n_cells)
    shuffled = replace(
        rows,
        fixed=distinct_rows(rows.fixed.at()[order]),
        response=rows.response[order],
        terms=tuple(replace(t, level=t.level[order], values=t.values[order]) for t in rows.terms),
    )
    first, second, third = fit_linear(rows), fit_linear(shuffled), fit_linear(merged(rows))
    for other in (second, third):
        assert other.deviance == pytest.approx(first.deviance, abs=1e-7)
        assert other.beta == pytest.approx(first.beta, abs=1e-5)
        assert other.singular == first.singular


@settings(max_examples=4, deadline=None)
@given(seeds)
def test_unit_and_place_of_the_response(seed):
    rng = np.random.default_rng(seed)
    design = merged(random_design(rng, "crossed"))
    factor, shift = 10.0 ** rng.uniform(-6, 6), 10.0 ** rng.uniform(-2, 3)
    moved = replace(design, response=factor * (design.response + shift), within=factor**2 * design.within)
    fit, other = fit_linear(design), fit_linear(moved)
    assert other.theta == pytest.approx(fit.theta, abs=1e-5)
    assert other.sigma == pytest.approx(factor * fit.sigma, rel=1e-6)
    moved_beta = factor * (fit.beta + np.array([shift, 0.0]))
    assert other.beta == pytest.approx(moved_beta, rel=1e-6, abs=factor * 1e-6)
    for mine, theirs in zip(fit.effects, other.effects, strict=True):
        assert theirs == pytest.approx(factor * mine, abs=factor * 1e-5)


def test_unit_of_a_slope():
    rng = np.random.default_rng(3)
    design = random_design(rng, "slopes")
    scaled = replace(
        design, terms=tuple(replace(t, values=t.values * ([1.0, 1e4, 1e-4][: t.n_columns])) for t in design.terms)
    )
    fit, other = fit_linear(design), fit_linear(scaled)
    assert other.deviance == pytest.approx(fit.deviance, abs=1e-6)
    assert other.beta == pytest.approx(fit.beta, abs=1e-4)


def test_offset_is_taken_from_the_response():
    design = merged(random_design(np.random.default_rng(2), "crossed"))
    offset = np.linspace(-3, 3, design.n_cells)
    fit = fit_linear(replace(design, offset=offset))
    assert fit.beta == pytest.approx(fit_linear(replace(design, response=design.response - offset)).beta, abs=1e-9)


def test_balanced_one_way_layout_has_a_closed_form():
    """Searle, Casella & McCulloch (1992), section 3.8: the estimates are mean squares."""
    rng = np.random.default_rng(4)
    k, m = 12, 5
    y = rng.normal(size=k)[:, None] * 1.3 + rng.normal(size=(k, m))
    group = np.repeat(np.arange(k), m)
    fit = fit_linear(rows_design([("(Intercept)", np.ones(k * m))], [term("g", group)], y.ravel()))
    between = m * y.mean(axis=1).var(ddof=1)
    inside = y.var(axis=1, ddof=1).mean()
    assert fit.sigma**2 == pytest.approx(inside, rel=1e-8)
    assert fit.covariances()[0][0, 0] == pytest.approx((between - inside) / m, rel=1e-8)
    assert fit.std_errors[0] == pytest.approx(np.sqrt(between / (k * m)), rel=1e-8)


@pytest.mark.parametrize(
    ("shape", "path"),
    [(shape, "eliminated") for shape in ("crossed", "slopes", "scenarios", "cells")] + [("one", "sparse")],
    indirect=["path"],
)
def test_refit_is_a_fit_to_the_new_response(shape, path):
    rng = np.random.default_rng(11)
    design = merged(random_design(rng, shape))
    fit = fit_linear(design)
    again = Refitter(fit)
    # The second response shows that the first left nothing behind; for one shape, as a fit from the start takes longest.
    for _ in range(2 if (shape, path) == ("crossed", "eliminated") else 1):
        y, within = design.response + 0.4 * rng.normal(size=design.n_cells), float(rng.uniform(5.0, 50.0))
        expected = fit_linear(replace(design, response=y, within=within))
        found = again(y, within)
        assert found.deviance == pytest.approx(expected.deviance, abs=2e-6 if path == "sparse" else 1e-7)
        assert found.beta == pytest.approx(expected.beta, abs=1e-4)
        assert found.design.response is y
        assert found.theta == pytest.approx(expected.theta, abs=1e-3)


def test_search_leaves_a_start_on_the_boundary():
    design = merged(random_design(np.random.default_rng(4), "crossed"))
    fit = fit_linear(design)
    assert fit.theta.min() > 0.1
    assert fit_linear(design, start=np.zeros(2)).deviance == pytest.approx(fit.deviance, abs=1e-7)
    assert fit_linear(design, start=np.array([1e3, 1e-5])).deviance == pytest.approx(fit.deviance, abs=1e-7)


def test_many_fixed_columns_and_their_covariance(monkeypatch):
    """X is taken as it is where orthogonalising would cost more than the fit."""
    rng = np.random.default_rng(8)
    rows = random_design(rng, "crossed")
    x = [
        ("(Intercept)", np.ones(64)),
        *((f"x{j}", (rng.integers(0, 15, 64) == j) + 0.1 * rng.random(64)) for j in range(14)),
    ]
    rows = rows_design(x, rows.terms, rows.response)
    fit = fit_linear(rows)
    monkeypatch.setattr(linear, "_QR_WORK", 0)
    other = fit_linear(rows)
    assert other.deviance == pytest.approx(fit.deviance, abs=1e-7)
    assert other.covariance == pytest.approx(fit.covariance, rel=1e-5, abs=1e-7)
    with pytest.raises(InputError, match="'twice' follows from the columns before"):
        fit_linear(rows_design([*x, ("twice", x[1][1] * 2)], rows.terms, rows.response))
    equal = rows_design([x[0], ("again", x[0][1])], rows.terms, rows.response)
    with pytest.raises(InputError, match="'again' follows from the columns before"):
        fit_linear(equal)  # whose crossproducts have no root at all


def refused(error, match, **changes):
    design = merged(random_design(np.random.default_rng(6), "crossed"))
    with pytest.raises(error, match=match):
        fit_linear(replace(design, **changes))


def test_refusals():
    design = merged(random_design(np.random.default_rng(6), "crossed"))
    x, n = design.fixed.at(), design.n_cells
    refused(InputError, "no random effect", terms=())
    refused(
        InputError,
        "'double' follows",
        fixed=distinct_rows(np.column_stack([x, x[:, 1] * 2])),
        fixed_names=("1", "x", "double"),
    )
    refused(
        InputError,
        "'zero' follows",
        fixed=distinct_rows(np.column_stack([x, x[:, 1] * 0])),
        fixed_names=("1", "x", "zero"),
    )
    refused(InputError, "NaN", response=np.where(np.arange(n) == 3, np.nan, design.response))
    refused(InputError, "NaN", within=float("nan"))
    refused(InputError, "at least one row", count=np.where(np.arange(n) == 3, 0.0, design.count))
    refused(InputError, "cannot be negative", within=-1.0)
    refused(CannotAnswerError, "same response, 2", response=np.full(n, 2.0), within=0.0)
    refused(CannotAnswerError, "fit it exactly", response=x @ [1.0, 2.0], within=0.0)
    one = term("only", np.zeros(n))
    refused(InputError, "'only' has one level", terms=(*design.terms, one))
    zero = term("a", design.terms[0].level, ("x", np.zeros(n)))
    refused(InputError, "'x' of the grouping 'a' is 0 in all rows", terms=(zero,))


def test_refuses_effects_as_many_as_rows():
    rows = random_design(np.random.default_rng(6), "crossed")
    each = term("row", np.arange(rows.n_cells))
    with pytest.raises(InputError, match="'row' has as many levels as there are rows"):
        fit_linear(replace(rows, terms=(*rows.terms, each)))
    pair = np.arange(rows.n_cells) // 2
    with pytest.raises(InputError, match="effects of 'pair' are 64 for 64 rows"):
        fit_linear(replace(rows, terms=(term("pair", pair, ("1", np.ones(64)), ("x", rows.fixed.at()[:, 1])),)))
    few = replace(
        rows,
        fixed=distinct_rows(np.random.default_rng(1).normal(size=(64, 64))),
        fixed_names=tuple(f"x{j}" for j in range(64)),
    )
    with pytest.raises(InputError, match="64 rows for 64 fixed effects"):
        fit_linear(few)


def test_refuses_a_perfect_fit():
    group = np.repeat(np.arange(6), 4)
    y = np.array([1.0, 4.0, 2.0, 8.0, 5.0, 7.0])[group]
    with pytest.raises(CannotAnswerError, match="residual variance is estimated as 0"):
        fit_linear(rows_design([("(Intercept)", np.ones(24))], [term("g", group)], y))


def test_refuses_a_start_that_does_not_fit():
    design = merged(random_design(np.random.default_rng(6), "crossed"))
    with pytest.raises(InputError, match="give 2 finite entries of theta"):
        fit_linear(design, start=np.ones(3))


def test_warns_of_few_levels():
    fit = fit_linear(random_design(np.random.default_rng(6), "scenarios"))
    assert any("model has only 4 levels" in warning for warning in fit.warnings)
    assert (fit.convergence.converged, fit.convergence.message) == (True, "a minimum was found")


def test_non_convergence_is_said(monkeypatch):
    end = minimise(lambda x: (float(x.sum()), np.ones(1)), np.zeros(1))
    assert not end.converged
    assert "without bound" in end.message
    monkeypatch.setattr(trust_region, "_MOST_STEPS", 2)
    short = minimise(lambda x: (float(np.sum(x**4)), 4 * x**3), np.full(2, 20.0))
    assert not short.converged
    assert "no minimum found in 2 steps" in short.message
    design = random_design(np.random.default_rng(6), "one")
    monkeypatch.setattr(trust_region, "_MOST_STEPS", 1)
    fit = fit_linear(design)
    assert not fit.convergence.converged
    assert any("did not converge: no minimum found in 1 steps" in warning for warning in fit.warnings)


def test_variance_without_evidence_is_0_whatever_the_start():
    """Balanced: zero exactly when the mean square between groups is below that within."""
    rng = np.random.default_rng(9)
    seen = set()
    for _ in range(20):
        y = rng.normal(size=(6, 4))
        below = 4 * y.mean(axis=1).var(ddof=1) < y.var(axis=1, ddof=1).mean()
        fit = fit_linear(
            rows_design([("(Intercept)", np.ones(24))], [term("g", np.repeat(np.arange(6), 4))], y.ravel())
        )
        assert (fit.theta[0] == 0.0) == below == bool(fit.singular)
        seen.add(bool(below))
    assert seen == {True, False}


def test_large_sparse_design_takes_the_sparse_path():
    rng = np.random.default_rng(1)
    n = 12_000
    terms = tuple(
        RandomTerm(
            group=name,
            columns=("(Intercept)",),
            levels=tuple(map(str, range(size))),
            level=np.concatenate([np.arange(size), rng.integers(0, size, n - size)]),
            values=np.ones((n, 1)),
        )
        for name, size in (("a", 5000), ("b", 4500))
    )
    y = sum(rng.normal(size=t.n_levels)[t.level] for t in terms) + rng.normal(size=n)
    design = MixedDesign(
        fixed=distinct_rows(np.ones((n, 1))), fixed_names=("(Intercept)",), terms=terms, count=np.ones(n), response=y
    )  # fmt: skip
    criterion = LinearCriterion(design)
    assert isinstance(criterion._core, linear.SparseCore)
    assert np.isfinite(criterion.deviance(np.ones(2)))


def test_conditional_covariances_of_unequal_items_with_nothing_beside_them():
    """(1 | item) + (1 | item:model) alone: items differ in their rows, so their conditional variances do, as by definition."""
    rng = np.random.default_rng(0)
    item, model = np.divmod(np.arange(24), 3)
    keep = rng.random(24) < 0.85
    item, model = item[keep], model[keep]
    count = rng.integers(1, 5, size=len(item)).astype(np.float64)
    pair = np.unique(item * 3 + model, return_inverse=True)[1]
    response = rng.normal(size=8)[item] + 0.7 * rng.normal(size=24)[pair] + rng.normal(size=len(item)) / np.sqrt(count)
    terms = tuple(
        RandomTerm(
            group=name,
            columns=("(Intercept)",),
            levels=tuple(str(level) for level in range(int(code.max()) + 1)),
            level=code.astype(np.int64),
            values=np.ones((len(code), 1)),
        )
        for name, code in (("item", item), ("item:model", pair))
    )
    design = MixedDesign(
        fixed=distinct_rows(np.eye(3)[model]),
        fixed_names=("a", "b", "c"),
        terms=terms,
        count=count,
        response=response,
        within=float((count - 1).sum()),
    )
    fit = fit_linear(design)
    scaled = np.hstack([np.eye(t.n_levels)[t.level] * theta for t, theta in zip(terms, fit.theta, strict=True)])
    inverse = np.linalg.inv(scaled.T @ (count[:, None] * scaled) + np.eye(scaled.shape[1]))
    scale = np.concatenate([np.full(t.n_levels, theta) for t, theta in zip(terms, fit.theta, strict=True)])
    defined = fit.sigma**2 * np.diag(inverse) * scale**2
    found = np.concatenate([each.ravel() for each in fit.effect_covariances])
    assert np.ptp(found[:8]) > 0.01
    np.testing.assert_allclose(found, defined, rtol=1e-9)  # both are exact up to rounding
