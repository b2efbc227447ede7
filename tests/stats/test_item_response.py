"""Curves of items: published fits of other programs, the likelihood and its curvature by definition, truth by simulation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.item_response import PRIOR_MEAN, PRIOR_SD, ItemCurves, two_parameter

# Bock & Lieberman 1970, Psychometrika 35:179: answers of 1,000 people to two sections of the Law School Admission Test, by
# pattern from 00000 to 11111. R's packages ltm (LSAT) and mirt (LSAT7) ship them.
LSAT6 = (
    3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15, 10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28, 298,
)  # fmt: skip
LSAT7 = (
    12, 19, 1, 7, 3, 19, 3, 17, 10, 5, 3, 7, 7, 23, 8, 28, 7, 39, 11, 34, 14, 51, 15, 90, 6, 25, 7, 35, 18, 136, 32, 308,
)  # fmt: skip
GRID = np.linspace(-8, 8, 241)
# Programs differ by their nodes and by where they stop.
PRINTED = 3e-3
# Made by tests/golden/make_girth.py.
GIRTH = json.loads((Path(__file__).parents[1] / "golden" / "girth.json").read_text())
OF_GIRTH = 6e-3  # girth stops once a round moves no difficulty by 1e-3
DIFFERENCES = 1e-3  # of a second difference with steps of 1e-3


def answers(counts: tuple[int, ...]) -> np.ndarray:
    patterns = np.array([[int(bit) for bit in f"{at:05b}"] for at in range(32)], dtype=float)
    return np.repeat(patterns, counts, axis=0).T


def simulated(rng: np.random.Generator, n_items: int, n_models: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    slope, intercept = rng.normal(1.0, 0.5, n_items), rng.normal(0.3, 1.5, n_items)
    logit = np.outer(slope, rng.normal(size=n_models)) + intercept[:, None]
    return (rng.random(logit.shape) < special.expit(logit)).astype(float), slope, intercept


def log_likelihood(right: np.ndarray, slope: np.ndarray, intercept: np.ndarray) -> float:
    """The definition: every model's answers, integrated over a standard normal ability."""
    patterns, counts = np.unique(right.T, axis=0, return_counts=True)
    chance = special.expit(np.outer(slope, GRID) + intercept[:, None])
    told = patterns @ np.log(chance) + (1 - patterns) @ np.log(1 - chance)
    return float(counts @ np.log(integrate.simpson(np.exp(told) * stats.norm.pdf(GRID), x=GRID)))


def test_the_fit_of_ltm() -> None:
    """ltm(LSAT ~ z1), from the examples of R's package ltm (Rizopoulos 2006, doi:10.18637/jss.v017.i05)."""
    found = two_parameter(answers(LSAT6), prior=False)
    assert found.converged
    assert found.slope == pytest.approx([0.8254, 0.7229, 0.8905, 0.6886, 0.6575], abs=PRINTED)
    assert -found.intercept / found.slope == pytest.approx([-3.3597, -1.3696, -0.2799, -1.8659, -3.1236], abs=PRINTED)
    assert found.log_likelihood == pytest.approx(-2466.653, abs=1e-3)


def test_the_fit_of_mirt() -> None:
    """mirt(expand.table(LSAT7), 1), from the examples of R's package mirt (Chalmers 2012, doi:10.18637/jss.v048.i06)."""
    found = two_parameter(answers(LSAT7), prior=False)
    assert found.slope == pytest.approx([0.988, 1.081, 1.706, 0.765, 0.736], abs=PRINTED)
    assert found.intercept == pytest.approx([1.856, 0.808, 1.804, 0.486, 1.855], abs=PRINTED)
    assert found.log_likelihood == pytest.approx(-2658.805, abs=1e-3)


def test_the_fit_of_one_slope_by_definition() -> None:
    """The greatest marginal likelihood over one slope and five intercepts, by scipy."""
    right = answers(LSAT7)
    best = optimize.minimize(
        lambda x: -log_likelihood(right, np.full(5, np.exp(x[0])), x[1:]), np.zeros(6), method="BFGS"
    )
    found = two_parameter(right, prior=False, same_slope=True)
    assert np.ptp(found.slope) == 0
    assert np.r_[np.log(found.slope[0]), found.intercept] == pytest.approx(best.x, abs=2e-3)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-3)


@pytest.mark.parametrize("name", ["one", "two"])
@pytest.mark.parametrize("case", GIRTH["cases"], ids=lambda case: f"{len(case['answers'])} items")
def test_the_fits_of_girth(case: dict[str, Any], name: str) -> None:
    right = np.array([[float(answer) for answer in row] for row in case["answers"]])
    found = two_parameter(right, prior=False, same_slope=name == "one")
    assert found.slope == pytest.approx(case[name]["slope"], abs=OF_GIRTH)
    assert -found.intercept / found.slope == pytest.approx(case[name]["difficulty"], abs=OF_GIRTH)


@pytest.mark.parametrize("same_slope", [False, True])
def test_likelihood_and_errors_by_definition(*, same_slope: bool) -> None:
    right = answers(LSAT7)
    found = two_parameter(right, prior=False, same_slope=same_slope)
    assert found.log_likelihood == pytest.approx(log_likelihood(right, found.slope, found.intercept), abs=1e-5)
    n_slopes = 1 if same_slope else 5
    at, step = np.concatenate([found.slope[:n_slopes], found.intercept]), 1e-3

    def value(shift: np.ndarray) -> float:
        moved = at + shift
        return log_likelihood(right, np.resize(moved[:n_slopes], 5), moved[n_slopes:])

    unit = np.eye(len(at)) * step
    hessian = np.empty((len(at), len(at)))
    for i in range(len(at)):
        for j in range(i, len(at)):
            four = [value(a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            hessian[i, j] = hessian[j, i] = sum(four) / (4 * step**2)
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    own = np.concatenate([found.slope_error[:n_slopes], found.intercept_error])
    assert own == pytest.approx(errors, rel=DIFFERENCES)


@pytest.mark.parametrize("same_slope", [False, True])
def test_both_ways_to_the_errors_agree(*, same_slope: bool) -> None:
    """Few items and many models, or many items and few models, take different roads to the same inverse."""
    right, *_ = simulated(np.random.default_rng(3), 30, 12)
    wide = two_parameter(right, same_slope=same_slope)
    # The same answers with models that never answered: the road changes, the numbers do not.
    padded = np.concatenate([right, np.full((30, 200), np.nan)], axis=1)
    tall = two_parameter(padded, same_slope=same_slope)
    assert tall.slope == pytest.approx(wide.slope, abs=1e-3)
    assert tall.slope_error == pytest.approx(wide.slope_error, rel=1e-3)
    assert tall.intercept_error == pytest.approx(wide.intercept_error, rel=1e-3)


def test_order_and_names_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    right, *_ = simulated(rng, 40, 30)
    items, models = rng.permutation(40), rng.permutation(30)
    found, mixed = two_parameter(right), two_parameter(right[np.ix_(items, models)])
    assert mixed.slope == pytest.approx(found.slope[items], abs=1e-4)
    assert mixed.ability == pytest.approx(found.ability[models], abs=1e-4)


def test_an_item_keyed_the_wrong_way_has_the_opposite_slope() -> None:
    right, *_ = simulated(np.random.default_rng(6), 40, 300)
    found = two_parameter(right, prior=False)
    right[7] = 1 - right[7]
    turned = two_parameter(right, prior=False)
    assert turned.slope[7] == pytest.approx(-found.slope[7], abs=1e-3)
    assert turned.intercept[7] == pytest.approx(-found.intercept[7], abs=1e-3)


def test_trials_are_models_of_one_ability() -> None:
    """Two trials of each item tell the items what two answers of one model tell."""
    right, *_ = simulated(np.random.default_rng(8), 25, 40)
    once = two_parameter(right)
    twice = two_parameter(2 * right, np.full(right.shape, 2.0))
    assert twice.ability_error.mean() < once.ability_error.mean()
    assert np.corrcoef(twice.slope, once.slope)[0, 1] > 0.9


def test_intervals_hold_the_slopes() -> None:
    """Slopes drawn from the prior lie in 95% posterior intervals 95% of the time, whatever the number of models."""
    rng = np.random.default_rng(9)
    held = []
    for n_models in (15, 30, 60):
        slope = rng.normal(PRIOR_MEAN[0], PRIOR_SD[0], 400)
        logit = np.outer(slope, rng.normal(size=n_models)) + rng.normal(0, 1.5, 400)[:, None]
        found = two_parameter((rng.random(logit.shape) < special.expit(logit)).astype(float))
        held.append(np.mean(np.abs(found.slope - slope) < 1.96 * found.slope_error))
    # The scale of the abilities is that of these models, not of their law: with 15 it is off by a tenth for all items at once.
    assert min(held) > 0.85
    assert np.mean(held) > 0.90


@pytest.mark.parametrize(
    ("right", "error", "words"),
    [
        (np.ones((4, 3)), CannotAnswerError, "at least 5 models"),
        (np.ones((1, 9)), CannotAnswerError, "two items"),
        (np.full((4, 9), 0.5), None, ""),
        (np.full((4, 9), 1.5), InputError, "right-or-wrong"),
        (np.full((4, 9), -1.0), InputError, "right-or-wrong"),
    ],
)
def test_what_is_refused(right: np.ndarray, error: type[Exception] | None, words: str) -> None:
    if error is None:
        assert isinstance(two_parameter(right), ItemCurves)
        return
    with pytest.raises(error, match=words):
        two_parameter(right)


def test_an_item_that_all_solve_has_no_estimate_alone() -> None:
    right, *_ = simulated(np.random.default_rng(2), 10, 50)
    right[3] = 1.0
    assert np.isfinite(two_parameter(right).slope).all()
    with pytest.raises(CannotAnswerError, match="1 of 10 items"):
        two_parameter(right, prior=False)
