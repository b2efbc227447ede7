"""Traces and quadratic forms of V against matrices that are formed in full."""

import numpy as np
import pytest

from evalstats.stats.mixed.degrees_of_freedom import blocks, forms, independent_sets
from tests.stats.mixed.dense import (
    derivatives,
    deviance,
    fit_at,
    golden_cases,
    golden_design,
    merged,
    numeric_gradient,
    relative_covariance,
)

ROUNDING = 1e-8  # relative: both sides are the same algebra, through inverses of matrices of a few hundred rows
CASES = ("sleepstudy_holes", "penicillin", "pastes", "crossed")


@pytest.fixture(scope="module")
def cases():
    return golden_cases()


def close(found, expected, rel=ROUNDING):
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=rel, atol=rel * np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
def test_every_form_equals_its_definition(cases, name):
    case = cases[name]
    design = golden_design(name, case)
    # Variances away from the optimum, where nothing vanishes by chance.
    fit = fit_at(design, np.asarray(case["theta"]) * 1.3 + 0.02, case["sigma"] * 0.9)
    v = fit.sigma**2 * relative_covariance(design, fit.theta)
    inverse, x, y = np.linalg.inv(v), design.fixed.at(), design.response
    phi = np.linalg.inv(x.T @ inverse @ x)
    p = inverse - inverse @ x @ phi @ x.T @ inverse
    g = derivatives(design)
    found = forms(fit)
    close(found.covariance, phi)
    close(sum(psi * matrix for psi, matrix in zip(found.psi, g, strict=True)), v)
    close(found.trace, [np.trace(inverse @ r) for r in g])
    close(found.trace_pairs, [[np.trace(inverse @ r @ inverse @ s) for s in g] for r in g])
    close(found.single, [x.T @ inverse @ r @ inverse @ x for r in g])
    close(found.pairs, [[x.T @ inverse @ r @ inverse @ s @ inverse @ x for s in g] for r in g])
    close(found.quadratic, [y @ p @ r @ p @ y for r in g])
    close(found.quadratic_pairs, [[y @ p @ r @ p @ s @ p @ y for s in g] for r in g])
    close(found.restricted_trace(), [np.trace(p @ r) for r in g])
    close(found.restricted_trace_pairs(), [[np.trace(p @ r @ p @ s) for s in g] for r in g])


@pytest.mark.parametrize("name", CASES)
def test_cells_give_the_same_forms_as_their_rows(cases, name):
    case = cases[name]
    design = golden_design(name, case)
    cells = merged(design)
    if name in ("pastes", "crossed"):
        assert cells.n_cells < design.n_cells
    rows, merged_rows = (forms(fit_at(d, case["theta"], case["sigma"])) for d in (design, cells))
    for field in ("psi", "covariance", "trace", "trace_pairs", "single", "pairs", "quadratic", "quadratic_pairs"):
        close(getattr(merged_rows, field), getattr(rows, field))


@pytest.mark.parametrize("restricted", [True, False])
def test_derivatives_of_the_deviance(cases, restricted):
    """Trace less quadratic form is the slope of the deviance that the density of the normal law gives."""
    case = cases["pastes"]
    design = golden_design("pastes", case)
    theta, sigma = np.asarray(case["theta"]) * 1.2, case["sigma"] * 1.1
    found = forms(fit_at(design, theta, sigma))
    trace = found.restricted_trace() if restricted else found.trace

    def by_psi(psi):
        return deviance(design, np.sqrt(psi[:-1] / psi[-1]), np.sqrt(psi[-1]), restricted=restricted)

    slope = numeric_gradient(by_psi, found.psi, step=1e-3)
    # Fourth-order differences of a deviance of 230 computed to 1e-13 leave an error near 1e-8.
    assert trace - found.quadratic == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_blocks_are_as_small_as_the_groupings_allow(cases):
    assert len(blocks(golden_design("sleepstudy", cases["sleepstudy"]))) == 18
    assert len(blocks(golden_design("penicillin", cases["penicillin"]))) == 1
    assert len(blocks(golden_design("pastes", cases["pastes"]))) == 10
    design = golden_design("crossed", cases["crossed"])
    sets = independent_sets(design)
    assert len(np.unique(sets)) == 6
    for grouping in design.terms:
        assert len(set(zip(grouping.level.tolist(), sets.tolist(), strict=True))) == len(np.unique(grouping.level))
    assert len(np.unique(independent_sets(design, np.zeros(design.n_cells, dtype=np.int64)))) == 1
