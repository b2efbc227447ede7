"""The band of the line: the textbook's where all errors are equal, and it moves with the units."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.analysis.gap.figures import line_band
from tests.analysis.gap import example_gap as example

EQUAL = 1e-9  # rounding alone


def test_with_exact_lab_scores_and_equal_errors_it_is_the_band_of_ordinary_regression() -> None:
    """Without errors in the lab, tau² = residual variance: the confidence band of scipy's ordinary line."""
    found = example.aligned()
    lab = np.array([row.lab for row in found.rows])
    live = np.array([row.live for row in found.rows])
    fit = stats.linregress(lab, live)
    n = lab.size
    spread = float(((live - fit.intercept - fit.slope * lab) ** 2).sum() / (n - 2))
    rows = tuple(replace(row, lab_std_error=0.0, live_std_error=0.0) for row in found.rows)
    assert found.line is not None
    line = replace(
        found.line,
        slope=float(fit.slope),
        intercept=float(fit.intercept),
        slope_std_error=float(fit.stderr),
        tau=spread**0.5,
        df=n - 2,
    )
    x = np.linspace(0.3, 0.8, 7)
    got = line_band(replace(found, rows=rows, line=line), x)
    assert got is not None
    error = np.sqrt(spread * (1 / n + (x - lab.mean()) ** 2 / ((lab - lab.mean()) ** 2).sum()))
    half = stats.t.ppf(0.975, n - 2) * error
    assert got[0] == pytest.approx(fit.intercept + fit.slope * x, rel=EQUAL)
    assert got[2] - got[0] == pytest.approx(half, rel=EQUAL)
    assert got[0] - got[1] == pytest.approx(half, rel=EQUAL)


def test_it_moves_with_the_units_of_either_side() -> None:
    found = example.one_scale()
    assert found.line is not None
    rows = tuple(replace(row, lab=10 * row.lab, lab_std_error=10 * (row.lab_std_error or 0.0)) for row in found.rows)
    line = replace(found.line, slope=found.line.slope / 10, slope_std_error=found.line.slope_std_error / 10)
    x = np.array([0.4, 0.6, 0.8])
    one, other = line_band(found, x), line_band(replace(found, rows=rows, line=line), 10 * x)
    assert one is not None
    assert other is not None
    for a, b in zip(one, other, strict=True):
        assert a == pytest.approx(b, rel=EQUAL)


def test_without_a_line_there_is_no_band() -> None:
    assert line_band(example.four(), np.array([0.5])) is None
