"""Agreement and corrected means on random data, as the packages `krippendorff` and `ppi-python` give them."""

import json
from pathlib import Path

import krippendorff
import numpy as np
import pytest

from evalstats.stats.raters.agreement import krippendorff_alpha, rating_table
from evalstats.stats.raters.correction import powered_mean

STORED = json.loads((Path(__file__).parents[2] / "golden" / "ppi.json").read_text())


def ratings_of(seed: int) -> np.ndarray:
    """Raters x units: 2 to 6 raters of 8 to 60 units, 2 to 7 levels, up to half of the ratings missing."""
    rng = np.random.default_rng(seed)
    n_raters, n_units, n_levels = rng.integers(2, 7), rng.integers(8, 61), rng.integers(2, 8)
    truth = rng.integers(1, n_levels + 1, n_units)
    shape = (n_raters, n_units)
    ratings = np.where(rng.random(shape) < rng.uniform(0.2, 0.95), truth, rng.integers(1, n_levels + 1, shape)).astype(
        float
    )
    ratings[rng.random(shape) < rng.uniform(0, 0.5)] = np.nan
    # Two units that all rate and that differ, so that there is something to agree on.
    ratings[:, 0], ratings[:, 1] = 1.0, 2.0
    return ratings


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("seed", range(12))
def test_alpha_is_that_of_krippendorff(metric, seed):
    ratings = ratings_of(seed)
    known = ~np.isnan(ratings)
    units = np.broadcast_to(np.arange(ratings.shape[1]), ratings.shape)
    ours = krippendorff_alpha(rating_table(units[known], ratings[known]), metric, n_resamples=200).estimate
    theirs = krippendorff.alpha(reliability_data=ratings, level_of_measurement=metric)
    assert ours == pytest.approx(theirs, abs=1e-10)


def assert_as_theirs(labels, judged_labelled, judged, plain, tuned):
    n = len(labels)
    ours = powered_mean(judged, judged_labelled, labels, tuning=1.0).estimate
    assert ours.estimate == pytest.approx(plain["estimate"], abs=1e-10)
    # Theirs divides squares by n, ours by n - 1.
    assert plain["std_error"] <= ours.std_error <= plain["std_error"] * (1 + 0.6 / (n - 1))
    found = powered_mean(judged, judged_labelled, labels)
    ours = found.estimate
    # The judge's weight is its covariance with the labels over its variance; theirs divides this variance by one item less.
    theirs = found.tuning * (1 - 1 / (n + len(judged))) if found.tuning < 1 else 1.0
    expected = np.mean(labels) + theirs * (np.mean(judged) - np.mean(judged_labelled))
    assert tuned["estimate"] == pytest.approx(expected, abs=1e-10)
    assert ours.estimate == pytest.approx(tuned["estimate"], abs=0.01 * tuned["std_error"])
    # Ours counts each label as if it had been left out when the judge's weight was found: longer, by some two parts in n.
    assert tuned["std_error"] * (1 - 1e-12) <= ours.std_error <= tuned["std_error"] * (1 + 4 / n)


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: f"seed {case['seed']}")
def test_powered_means_are_those_that_ppi_python_gave(case):
    assert_as_theirs(case["labels"], case["judged_labelled"], case["judged"], case["ppi"], case["ppi++"])


def test_powered_means_are_those_of_ppi_python_where_it_is_installed():
    ppi = pytest.importorskip(
        "ppi_py", reason="ppi-python brings 220 MB of compilers; its stored values are tested above"
    )
    for seed in range(20):
        rng = np.random.default_rng(100 + seed)
        n_labels, n_judged = int(rng.integers(60, 400)), int(rng.integers(100, 3000))
        truth = rng.normal(size=n_labels + n_judged)
        judge = rng.uniform(0, 1) * truth + rng.normal(0.2, 0.7, truth.size)
        parts = truth[:n_labels], judge[:n_labels], judge[n_labels:]
        found = {}
        for name, lam in (("plain", 1), ("tuned", None)):
            low, high = ppi.ppi_mean_ci(*parts, alpha=0.05, lam=lam)
            value = float(np.ravel(ppi.ppi_mean_pointestimate(*parts, lam=lam))[0])
            found[name] = {"estimate": value, "std_error": float(np.ravel(high - low)[0]) / (2 * 1.959963984540054)}
        assert_as_theirs(*parts, **found)
