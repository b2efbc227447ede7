"""Intraclass correlations against Shrout and Fleiss (values of R's psych)."""

import json

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.raters.agreement import intraclass_correlations


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
