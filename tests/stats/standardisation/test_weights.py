"""Weights by cell against R's survey package and their definition."""

import json
from pathlib import Path

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.standardisation import cell_weights

REFERENCE = json.loads((Path(__file__).parents[2] / "golden" / "raking.json").read_text())
Y = np.array(REFERENCE["data"]["y"], dtype=np.float64)
CLOSED_FORM = 1e-11  # double precision


def codes(name: str) -> np.ndarray:
    return np.unique(REFERENCE["data"][name], return_inverse=True)[1]


def shares(name: str) -> np.ndarray:
    wanted = REFERENCE["wanted"][name]
    return np.array([wanted[level] for level in sorted(wanted)])


@pytest.mark.parametrize("kind", ["items", "clusters"])
def test_the_survey_package_weighs_cells_alike(kind: str) -> None:
    theirs = REFERENCE["results"][kind]["poststratified"]
    cell = codes("scenario")
    weights = cell_weights(np.bincount(cell), shares("scenario")).by_cell[cell]
    assert weights == pytest.approx(theirs["weights"], abs=CLOSED_FORM)
    assert weights @ Y / weights.sum() == pytest.approx(theirs["mean"], abs=CLOSED_FORM)


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
