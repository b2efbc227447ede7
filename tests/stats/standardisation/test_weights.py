"""Weights by cell and by margin against R's survey package, known margins and their definition."""

import json
from pathlib import Path

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.standardisation import cell_weights, raked_cells

REFERENCE = json.loads((Path(__file__).parents[2] / "golden" / "raking.json").read_text())
Y = np.array(REFERENCE["data"]["y"], dtype=np.float64)
CLOSED_FORM = 1e-11  # double precision
FITTED = 1e-8  # both stop when the margins are met to about 1e-11; a weight hangs on them by a factor below 100
FACTORS = (np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]))  # of the six joint cells


def codes(name: str) -> np.ndarray:
    return np.unique(REFERENCE["data"][name], return_inverse=True)[1]


def shares(name: str) -> np.ndarray:
    wanted = REFERENCE["wanted"][name]
    return np.array([wanted[level] for level in sorted(wanted)])


def raked_rows(n_lab: np.ndarray, n_live: np.ndarray, trim: float | None = None) -> tuple[np.ndarray, bool]:
    """Weights of the rows of each cell, with a mean of 1."""
    masses, _, met = raked_cells(n_lab, n_live, FACTORS, trim=trim)
    return masses / masses.sum() * n_lab.sum() / n_lab, met


@pytest.mark.parametrize("kind", ["items", "clusters"])
def test_the_survey_package_weighs_cells_alike(kind: str) -> None:
    theirs = REFERENCE["results"][kind]["poststratified"]
    cell = codes("scenario")
    weights = cell_weights(np.bincount(cell), shares("scenario")).by_cell[cell]
    assert weights == pytest.approx(theirs["weights"], abs=CLOSED_FORM)
    assert weights @ Y / weights.sum() == pytest.approx(theirs["mean"], abs=CLOSED_FORM)


@pytest.mark.parametrize("kind", ["items", "clusters"])
def test_the_survey_package_rakes_alike(kind: str) -> None:
    theirs = REFERENCE["results"][kind]["raked"]
    cell = codes("scenario") * 2 + codes("user")
    by_cell, met = raked_rows(
        np.bincount(cell, minlength=6).astype(float), np.outer(shares("scenario"), shares("user")).ravel()
    )
    assert met
    assert by_cell[cell] == pytest.approx(theirs["weights"], abs=FITTED)
    assert by_cell[cell] @ Y / Y.size == pytest.approx(theirs["mean"], abs=FITTED)


def test_weights_reach_the_shares_and_kish_counts_them() -> None:
    count, share = np.array([40.0, 30, 20, 10]), np.array([0.1, 0.2, 0.3, 0.4])
    weights = cell_weights(count, share)
    assert weights.by_cell * count / 100 == pytest.approx(share)
    rows = np.repeat(weights.by_cell, count.astype(int))
    assert weights.effective_n == pytest.approx(rows.sum() ** 2 / (rows**2).sum())
    assert (weights.uncovered, weights.empty) == (0.0, ())


def test_a_cell_without_rows_is_named_and_not_given_to_others() -> None:
    weights = cell_weights([3, 3, 0], [0.3, 0.3, 0.4])
    assert weights.empty == (2,)
    assert weights.uncovered == pytest.approx(0.4)
    assert weights.by_cell == pytest.approx([1.0, 1.0, 0.0])


def test_raked_weights_are_a_product_of_one_factor_a_level() -> None:
    n_lab, n_live = np.array([8.0, 3, 5, 4, 6, 9]), np.array([1.0, 2, 7, 1, 3, 2])
    weights, met = raked_rows(n_lab, n_live)
    assert met
    for codes_of in FACTORS:
        got, want = (np.bincount(codes_of, weights=each) / each.sum() for each in (weights * n_lab, n_live))
        assert got == pytest.approx(want, abs=FITTED)
    logs = np.log(weights.reshape(3, 2))
    assert logs - logs.mean(0) - logs.mean(1, keepdims=True) + logs.mean() == pytest.approx(
        np.zeros((3, 2)), abs=FITTED
    )


def test_no_weight_is_above_the_cut_and_margins_still_hold() -> None:
    n_lab = np.array([190.0, 190, 9, 7, 2, 2])
    n_live = np.outer([0.4, 0.45, 0.15], [0.4, 0.6]).ravel()
    free, _ = raked_rows(n_lab, n_live)
    assert free.max() > 16
    held, met = raked_rows(n_lab, n_live, 16.0)
    assert held.max() <= 16.0 * (1 + 1e-6)
    assert not met or np.bincount(FACTORS[0], weights=held * n_lab) / 400 == pytest.approx([0.4, 0.45, 0.15], abs=1e-8)


def test_margins_that_the_cut_makes_unreachable_are_not_met() -> None:
    assert not raked_rows(np.array([50.0, 49, 1, 1, 1, 1]), np.outer([0.2, 0.4, 0.4], [0.5, 0.5]).ravel(), 5.0)[1]


def test_impossible_mixes_are_refused() -> None:
    with pytest.raises(CannotAnswerError, match="nothing can stand"):
        cell_weights([3, 0], [0.0, 1.0])
    with pytest.raises(InputError, match=r"add up to 0\.9"):
        cell_weights([3, 1], [0.4, 0.5])


def test_cells_of_one_row_count_and_cells_that_nobody_wants_are_no_gap() -> None:
    found = cell_weights([1, 5, 0, 0, 4], [0.2, 0.5, 0.3, 0.0, 0.0])
    assert (found.empty, found.uncovered) == ((2,), pytest.approx(0.3))
    assert found.by_cell == pytest.approx([6 * 2 / 7, 6 * 5 / 7 / 5, 0.0, 0.0, 0.0])
    assert found.by_cell @ [1, 5, 0, 0, 4] == pytest.approx(6.0)
    assert found.ratio == pytest.approx(2.0)


def test_one_factor_is_raked_in_one_round() -> None:
    codes_of = np.array([0, 0, 1, 2])
    n_lab, n_live = np.array([4.0, 6, 5, 5]), np.array([1.0, 2, 3, 4])
    weights, rounds, met = raked_cells(n_lab, n_live, (codes_of,), trim=None)
    assert (rounds, met) == (1, True)
    assert weights == pytest.approx([0.3 * 0.4, 0.3 * 0.6, 0.3, 0.4])


def test_levels_without_rows_are_left_out_and_those_of_one_row_are_not() -> None:
    """Level 1 of the first factor holds one row in all; level 2 none, and its live share is given to the others."""
    n_lab, n_live = np.array([5.0, 3, 0.4, 0.6, 0, 0]), np.array([1.0, 2, 7, 1, 3, 6])
    weights, _, met = raked_cells(n_lab, n_live, FACTORS, trim=None)
    assert met
    assert weights[4:].tolist() == [0.0, 0.0]
    margins = [np.bincount(codes_of, weights=weights) for codes_of in FACTORS]
    assert margins[0] == pytest.approx([3 / 11, 8 / 11, 0.0])
    assert margins[1] == pytest.approx([11 / 20, 9 / 20])
