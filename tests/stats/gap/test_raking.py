"""Raking against R's survey package, known margins and its definition."""

import json
from pathlib import Path

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.gap.parts import raked_cells
from evalstats.stats.gap.raking import rake, raked_mean
from evalstats.stats.gap.weighted_mean import clustered_mean, residuals_on_margins

REFERENCE = json.loads((Path(__file__).parents[2] / "golden" / "raking.json").read_text())
# Both stop when the margins are met to about 1e-11; a weight hangs on them by less than a factor of 100.
FITTED = 1e-8
Y = np.array(REFERENCE["data"]["y"], dtype=np.float64)


def margins() -> list[tuple[np.ndarray, list[float]]]:
    out = []
    for name in ("scenario", "user"):
        wanted = REFERENCE["wanted"][name]
        levels = np.unique(REFERENCE["data"][name], return_inverse=True)[1]
        out.append((levels, [wanted[level] for level in sorted(wanted)]))
    return out


@pytest.mark.parametrize("kind", ["items", "clusters"])
def test_the_survey_package_agrees(kind: str) -> None:
    theirs = REFERENCE["results"][kind]["raked"]
    clusters = None if kind == "items" else REFERENCE["data"]["cluster"]
    mean, raked = raked_mean(Y, margins(), clusters=clusters, trim=None)
    assert raked.weights == pytest.approx(theirs["weights"], abs=FITTED)
    assert mean.estimate == pytest.approx(theirs["mean"], abs=FITTED)
    # The package takes residuals by the weights before raking; with these the error is the same.
    residuals = residuals_on_margins(Y, [levels for levels, _ in margins()], np.ones(Y.size))
    same = clustered_mean(Y, residuals, raked.weights, clusters=clusters, conf_level=0.95, method="")
    # Its residuals come from ten alternating rounds.
    assert same.std_error == pytest.approx(theirs["std_error"], rel=1e-6)


def test_the_error_is_the_derivative_of_raking() -> None:
    # Infinitesimal jackknife: one row's weight moved a little, everything raked again.
    _, raked = raked_mean(Y, margins(), trim=None)
    base, step = float(raked.weights @ Y / Y.size), 1e-4
    moved = np.empty(Y.size)
    for row in range(Y.size):
        weights = np.ones(Y.size)
        weights[row] += step
        again = rake(margins(), weights=weights, trim=None).weights
        moved[row] = (again @ Y / Y.size - base) / step
    mean, _ = raked_mean(Y, margins(), trim=None)
    by_hand = np.sqrt(Y.size / (Y.size - 1) * ((moved - moved.mean()) ** 2).sum())
    assert mean.std_error == pytest.approx(by_hand, rel=2e-3)  # the step's own curvature


def test_margins_are_met() -> None:
    raked = rake(margins(), trim=None)
    assert raked.converged
    for (levels, wanted), reached in zip(margins(), raked.reached, strict=True):
        assert np.bincount(levels, weights=raked.weights) / Y.size == pytest.approx(wanted, abs=FITTED)
        assert reached == pytest.approx(wanted, abs=FITTED)
    assert raked.weights.mean() == pytest.approx(1.0)
    assert raked.effective_n == pytest.approx(raked.weights.sum() ** 2 / (raked.weights**2).sum())
    assert raked.effective_n < Y.size


def test_weights_are_a_product_of_one_factor_a_level() -> None:
    raked = rake(margins(), trim=None)
    (a, _), (b, _) = margins()
    table = np.array([[raked.weights[(a == i) & (b == j)].mean() for j in range(2)] for i in range(3)])
    logs = np.log(table)
    assert logs - logs.mean(0) - logs.mean(1, keepdims=True) + logs.mean() == pytest.approx(
        np.zeros((3, 2)), abs=FITTED
    )


def test_cells_and_rows_are_raked_alike() -> None:
    (a, _), (b, _) = margins()
    rng = np.random.default_rng(1)
    n_lab, n_live = np.bincount(a * 2 + b, minlength=6).astype(float), rng.random(6)
    factors = (np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]))
    wanted = [(level, np.bincount(f, weights=n_live) / n_live.sum()) for level, f in zip((a, b), factors, strict=True)]
    for trim in (None, 1.6):
        masses, _, _ = raked_cells(n_lab, n_live, factors, trim=trim)
        rows = rake(wanted, trim=trim).weights
        by_cell = np.bincount(a * 2 + b, weights=rows, minlength=6)
        assert masses / masses.sum() == pytest.approx(by_cell / by_cell.sum(), abs=1e-6)


def test_no_weight_is_above_the_cut_and_margins_still_hold() -> None:
    rng = np.random.default_rng(3)
    rare, other = (rng.random(400) < 0.04).astype(int), rng.integers(0, 2, 400)
    wanted = [(rare, [0.85, 0.15]), (other, [0.2, 0.8])]
    free, held = rake(wanted, trim=None), rake(wanted, trim=5.0)
    assert free.weights.max() > 5.0
    assert held.weights.max() <= 5.0 * held.weights.mean() * (1 + 1e-6)
    assert held.converged
    assert held.effective_n > free.effective_n
    assert 0 < held.trimmed < 0.04


def test_margins_that_the_cut_makes_unreachable_do_not_converge() -> None:
    levels = np.array([0] * 99 + [1])
    raked = rake([(levels, [0.5, 0.5])], trim=5.0)
    assert not raked.converged
    assert raked.miss > 0.1


def test_a_level_without_rows_is_named_and_left_out() -> None:
    raked = rake([(np.array([0, 0, 1, 1]), [0.3, 0.3, 0.4]), (np.array([0, 1, 0, 1]), [0.5, 0.5])])
    assert raked.empty == ((0, 2),)
    assert raked.uncovered == pytest.approx((0.4, 0.0))
    assert raked.reached[0] == pytest.approx([0.5, 0.5, 0.0])


def test_rows_of_a_level_that_is_not_wanted_have_no_weight() -> None:
    raked = rake([(np.array([0, 0, 1, 2]), [0.5, 0.5, 0.0])])
    assert raked.weights[3] == 0.0
    assert raked.converged


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match=r"margin 1 add up to 1.2"):
        rake([(np.array([0, 1]), [0.6, 0.6])])
    with pytest.raises(InputError, match="more than 1 mean weight"):
        rake([(np.array([0, 1]), [0.5, 0.5])], trim=1.0)
    with pytest.raises(InputError, match="same number of rows"):
        rake([(np.array([0, 1]), [0.5, 0.5]), (np.array([0]), [1.0])])
    with pytest.raises(CannotAnswerError, match="no row has a level of margin 1"):
        rake([(np.array([0, 0]), [0.0, 1.0])])
