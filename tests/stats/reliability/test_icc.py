"""Intraclass correlations against Shrout and Fleiss, R and simulation."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.reliability.icc import intraclass_correlations, latent_icc, one_way_icc

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "golden" / "mixed_means.json").read_text())["icc"]


def test_shrout_and_fleiss_1979(golden):
    stored = json.loads((golden / "r_icc.json").read_text())
    found = intraclass_correlations(stored["data"])
    for row in stored["results"]:
        one = found.estimates[row["type"]]
        ours = [
            one.estimate,
            one.statistic,
            one.df,
            found.df_denominator[row["type"]],
            one.p_value,
            one.conf_low,
            one.conf_high,
        ]
        names = ("ICC", "F", "df1", "df2", "p", "lower bound", "upper bound")
        assert ours == pytest.approx([row[name] for name in names], abs=1e-7)  # stored with 8 decimals
    printed = [round(found.estimates[kind].estimate, 2) for kind in ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")]
    assert printed == stored["published"]


def test_reml_of_sleepstudy(golden):
    with (golden / "sleepstudy.csv").open() as file:
        rows = list(csv.DictReader(file))
    codes = np.unique([row["Subject"] for row in rows], return_inverse=True)[1]
    expected = json.loads((golden / "r_mixed_models.json").read_text())["sleepstudy_icc"]["ICC1"]
    found = one_way_icc([float(row["Reaction"]) for row in rows], codes)
    assert found.estimate == pytest.approx(
        expected, abs=1e-6
    )  # REML is the analysis of variance where groups are equal


def test_unequal_groups_equal_the_mean_squares_and_limits_of_r():
    found = one_way_icc(GOLDEN["values"], GOLDEN["groups"])
    among, within = GOLDEN["mean_squares"]
    sizes = np.bincount(GOLDEN["groups"])
    n0 = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(sizes) - 1)
    part = (among - within) / n0
    assert found.estimate == pytest.approx(part / (part + within), abs=1e-9)
    assert [found.conf_low, found.conf_high] == pytest.approx(GOLDEN["limits"], abs=1e-8)


def test_equal_groups_are_shrout_and_fleiss():
    y = np.random.default_rng(0).normal(size=(7, 4)) + np.arange(7)[:, None] * 0.4
    one = intraclass_correlations(y).estimates["ICC1"]
    other = one_way_icc(y.ravel(), np.repeat(np.arange(7), 4))
    for name in ("estimate", "conf_low", "conf_high", "statistic", "p_value"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9)


def test_shift_scale_and_order_do_not_matter():
    rng = np.random.default_rng(1)
    y = rng.normal(size=(6, 3)) + rng.normal(size=(6, 1))
    one = intraclass_correlations(y).estimates
    for turned in (5.0 - 3.0 * y, y[::-1], y[:, ::-1]):
        for kind, other in intraclass_correlations(turned).estimates.items():
            assert (other.estimate, other.conf_low, other.conf_high) == pytest.approx(
                (one[kind].estimate, one[kind].conf_low, one[kind].conf_high)
            )
    stricter = intraclass_correlations(y + np.array([0.0, 5.0, -9.0])).estimates
    assert stricter["ICC3"].estimate == pytest.approx(one["ICC3"].estimate)
    assert stricter["ICC2"].estimate < one["ICC2"].estimate


def test_what_has_no_interval():
    y = np.arange(12.0).reshape(4, 3)  # every rater the same distance apart on every object
    found = intraclass_correlations(y).estimates["ICC3"]
    assert found.estimate == pytest.approx(1.0)
    assert found.conf_low is None
    assert "no width" in str(found.reason)
    for bad, said in (
        ([[1, 1], [2, 2]], "agree on every object"),
        ([[1, 2], [2, 1]], "same mean"),
        ([[1, np.nan], [2, 1]], "1 of 4 scores"),
        ([[1, 2]], "at least 2 of each"),
    ):
        with pytest.raises(InputError, match=said):
            intraclass_correlations(bad)
    with pytest.raises(InputError, match="at least 2 groups"):
        one_way_icc([1.0, 2.0], [0, 1])
    with pytest.raises(InputError, match="no group has values that differ"):
        one_way_icc([1.0, 1.0, 2.0, 2.0], [0, 0, 1, 1])


def test_latent_correlation():
    assert latent_icc(math.pi**2 / 3).item() == pytest.approx(0.5)
    np.testing.assert_allclose(latent_icc([0.0, 1.0], 2.0), [0.0, 1.0 / (3.0 + math.pi**2 / 3)])
    with pytest.raises(InputError, match="at least 0"):
        latent_icc(-0.1)


@pytest.mark.parametrize("truth", [0.0, 0.3, 0.8])
def test_the_interval_of_unequal_groups_covers(truth):
    rng, sizes, repeats = np.random.default_rng(2), [2, 3, 3, 5, 9, 14], 500
    groups = np.repeat(np.arange(6), sizes)
    held = 0
    for _ in range(repeats):
        y = math.sqrt(truth) * rng.normal(size=6)[groups] + math.sqrt(1 - truth) * rng.normal(size=groups.size)
        found = one_way_icc(y, groups)
        low = -1.0 if found.conf_low is None else found.conf_low
        high = -1.0 if found.conf_high is None else found.conf_high
        held += low <= truth <= high
    assert abs(held / repeats - 0.95) < 4 * math.sqrt(0.95 * 0.05 / repeats)  # exact in theory
