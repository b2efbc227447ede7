"""BCa from the exact law: every resample listed, a large bootstrap by scipy, the published audit, refusals."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from evalstats.stats.bootstrap import acceleration, bca_law, corrected_tails, percentile_law
from tests.stats.coverage import ends


def bca_by_listing(values, conf_level):
    """BCa with all n^n resamples and the formulae of the paper."""
    means = np.array(list(itertools.product(values, repeat=len(values)))).mean(axis=1)
    means = np.sort(np.round(means, 9))
    centre = round(float(np.mean(values)), 9)
    z0 = stats.norm.ppf((np.mean(means < centre) + np.mean(means <= centre)) / 2)
    a = stats.skew(values) / (6 * math.sqrt(len(values)))
    z = stats.norm.ppf((1 + conf_level) / 2)
    levels = [stats.norm.cdf(z0 + (z0 + s * z) / (1 - a * (z0 + s * z))) for s in (-1, 1)]
    low = np.quantile(means, levels[0], method="inverted_cdf")
    high = -np.quantile(-means, 1 - levels[1], method="inverted_cdf")
    return low, high


@pytest.mark.parametrize("values", [[0, 0, 1, 3, 7, 2], [1, 1, 1, 0, 1, -1], [0, 0, 0, 0, 0, 1], [2, 9, 4, 4, 1, 8]])
@pytest.mark.parametrize("conf_level", [0.5, 0.8, 0.95])
def test_ends_are_those_of_every_resample_listed(values, conf_level):
    found = bca_law(np.array(values) / 4, conf_level=conf_level)
    assert ends(found) == pytest.approx(bca_by_listing(np.array(values) / 4, conf_level), abs=1e-8)


@pytest.mark.parametrize("shape", ["exponential", "beta", "lognormal"])
def test_ends_of_continuous_scores_equal_a_large_bootstrap_by_scipy(shape):
    rng = np.random.default_rng(3)
    args = {"exponential": (1.0,), "beta": (8.0, 0.7), "lognormal": (0.0, 0.7)}[shape]
    values = getattr(rng, shape)(*args, size=60)
    drawn = stats.bootstrap((values,), np.mean, n_resamples=60_000, method="BCa", rng=np.random.default_rng(1))
    found = bca_law(values)
    expected = (drawn.confidence_interval.low, drawn.confidence_interval.high)
    assert ends(found) == pytest.approx(expected, abs=0.05 * found.std_error)
    # The correction is what is tested: the percentile interval is further off.
    assert abs(found.conf_low - percentile_law(values).conf_low) > 0.05 * found.std_error


def test_published_audit(golden):
    audit = json.loads((golden / "py_golden.json").read_text())["tenacious"]
    found = bca_law(np.repeat([1.0, 0.0], [21, 22]))
    assert [100 * end for end in ends(found)] == pytest.approx(audit["BCa_exact"], abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=40), st.floats(0.5, 0.99))
def test_bca_properties(quarters, conf_level):
    values = np.array(quarters) / 4
    found = bca_law(values, conf_level=conf_level)
    turned, moved = bca_law(-values, conf_level=conf_level), bca_law(7 + 100 * values, conf_level=conf_level)
    if found.reason is not None:
        assert ends(found) == ends(turned) == (None, None)
        return
    assert values.min() <= found.conf_low < found.conf_high <= values.max()
    assert ends(turned) == pytest.approx([-end for end in reversed(ends(found))], abs=1e-9)
    assert ends(moved) == pytest.approx([7 + 100 * end for end in ends(found)], rel=1e-9, abs=1e-7)
    wider = bca_law(values, conf_level=0.5 * (1 + conf_level))
    if wider.reason is None:
        assert wider.conf_low <= found.conf_low
        assert wider.conf_high >= found.conf_high


def test_symmetric_values_have_the_percentile_interval():
    values = np.repeat([1.0, 0.0, -1.0], [12, 40, 12])
    assert ends(bca_law(values)) == pytest.approx(ends(percentile_law(values)), abs=1e-12)


@pytest.mark.parametrize("values", [[1.0] * 43, [0.1 + 0.2, 0.3, 0.3], [0.7]])
def test_constant_values_are_refused(values):
    found = bca_law(values)
    assert "equal: a bootstrap would give an interval of width zero" in found.reason
    assert ends(found) == (None, None)
    assert found.std_error is None


def test_one_failure_in_many_still_has_two_ends_or_a_reason():
    for n in (12, 200, 100_000):
        found = bca_law(np.where(np.arange(n) == 3, 0.0, 1.0))
        assert found.reason is not None or found.conf_low < found.conf_high
    extreme = bca_law(np.where(np.arange(200) == 3, 0.0, 1.0), conf_level=1 - 1e-12)
    assert extreme.reason == "the values are so skewed that BCa has no ends at this level"
    assert ends(extreme) == (None, None)


def test_corrections_written_out():
    influence = np.array([0.2, -0.7, 0.1, 0.9, -0.5])
    for u in (influence, -influence, np.abs(influence), -np.abs(influence)):
        assert acceleration(u) == pytest.approx((u**3).sum() / (6 * (u**2).sum() ** 1.5))
        assert acceleration(1e-150 * u) == pytest.approx(acceleration(u))
    z0, z = stats.norm.ppf(0.6), stats.norm.ppf(0.95)
    for a in (0.03, -0.03):
        low, high = corrected_tails(0.6, a, 0.9)
        assert low == pytest.approx(stats.norm.cdf(z0 + (z0 - z) / (1 - a * (z0 - z))))
        assert 1 - high == pytest.approx(stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))))


@pytest.mark.parametrize("sign", [1, -1])
def test_corrections_without_an_end_are_none(sign):
    z = -float(special.ndtri((1 - 0.99) / 2))
    assert corrected_tails(0.5 + 0.5 * sign, 0.0, 0.99) is None
    assert corrected_tails(0.5, sign * 0.7, 0.99) is None
    assert corrected_tails(0.5, sign / z, 0.99) is None  # one of the denominators is 0: z * (1 / z) is 1 here
    assert corrected_tails(0.5, sign * 0.99 / z, 0.99) is not None
