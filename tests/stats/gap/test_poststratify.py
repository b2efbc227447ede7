"""Post-stratified means against R's survey package and known margins."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.gap.poststratify import cell_weights, poststratified_mean

REFERENCE = json.loads((Path(__file__).parents[2] / "golden" / "raking.json").read_text())
# Both are closed forms in double precision.
CLOSED_FORM = 1e-11


def codes(name: str) -> np.ndarray:
    return np.unique(REFERENCE["data"][name], return_inverse=True)[1]


def shares(name: str) -> list[float]:
    wanted = REFERENCE["wanted"][name]
    return [wanted[level] for level in sorted(wanted)]


@pytest.mark.parametrize("kind", ["items", "clusters"])
def test_the_survey_package_agrees(kind: str) -> None:
    theirs: dict[str, Any] = REFERENCE["results"][kind]["poststratified"]
    clusters = None if kind == "items" else REFERENCE["data"]["cluster"]
    mean, weights = poststratified_mean(
        REFERENCE["data"]["y"], codes("scenario"), shares("scenario"), clusters=clusters
    )
    assert mean.estimate == pytest.approx(theirs["mean"], abs=CLOSED_FORM)
    assert mean.std_error == pytest.approx(theirs["std_error"], abs=CLOSED_FORM)
    assert weights.by_cell[codes("scenario")] == pytest.approx(theirs["weights"], abs=CLOSED_FORM)


def test_weights_reach_the_shares_and_kish_counts_them() -> None:
    count, share = np.array([40.0, 30, 20, 10]), np.array([0.1, 0.2, 0.3, 0.4])
    weights = cell_weights(count, share)
    assert weights.by_cell * count / 100 == pytest.approx(share)
    rows = np.repeat(weights.by_cell, count.astype(int))
    assert weights.effective_n == pytest.approx(rows.sum() ** 2 / (rows**2).sum())
    assert (weights.uncovered, weights.empty) == (0.0, ())


def test_a_cell_without_rows_is_named_and_not_given_to_others() -> None:
    mean, weights = poststratified_mean([1, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1], [0.3, 0.3, 0.4])
    assert weights.empty == (2,)
    assert weights.uncovered == pytest.approx(0.4)
    # Over the covered mix, half and half.
    assert mean.estimate == pytest.approx(0.5 * 2 / 3 + 0.5 / 3)


def test_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    y, cell, cluster = rng.random(40), rng.integers(0, 3, 40), rng.integers(0, 12, 40)
    at = rng.permutation(40)
    one, _ = poststratified_mean(y, cell, [0.2, 0.3, 0.5], clusters=cluster)
    other, _ = poststratified_mean(y[at], cell[at], [0.2, 0.3, 0.5], clusters=cluster[at])
    assert (one.estimate, one.std_error) == pytest.approx((other.estimate, other.std_error))


def test_no_interval_without_spread_or_clusters() -> None:
    flat, _ = poststratified_mean([1.0] * 6, [0, 0, 0, 1, 1, 1], [0.5, 0.5])
    assert (flat.std_error, flat.conf_low) == (None, None)
    assert flat.reason is not None
    assert "equal" in flat.reason
    few, _ = poststratified_mean([1, 0, 1, 0], [0, 0, 1, 1], [0.5, 0.5], clusters=[0, 0, 1, 1])
    assert few.reason is not None
    assert "2 clusters" in few.reason


def test_bad_input_is_named() -> None:
    with pytest.raises(CannotAnswerError, match="no cell of the mix has a row"):
        cell_weights([3, 0], [0.0, 1.0])
    with pytest.raises(InputError, match=r"add up to 0.9"):
        cell_weights([3, 1], [0.4, 0.5])
    with pytest.raises(InputError, match="codes from 0 to 1"):
        poststratified_mean([1.0, 0.0], [0, 2], [0.5, 0.5])
