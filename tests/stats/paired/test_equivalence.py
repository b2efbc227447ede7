"""Tests at a margin: the published example, limits and p that agree, exact size."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.stats.clusters import cluster_mean
from evalstats.stats.paired.binary import PairedCounts, score_test_p
from evalstats.stats.paired.effect_sizes import t_margin_test, tango_margin_test
from evalstats.stats.paired.means import augmented_t, paired_t

CELL = st.integers(0, 60)
COUNTS = st.builds(PairedCounts, CELL, CELL, CELL, CELL.map(lambda k: k + 1))


def test_contact_lens_example_of_the_paper():
    """Tango 1998: 43 pairs agree, 1 against; its 90% interval [-.096, .037] lies inside a margin of .1."""
    found = tango_margin_test(PairedCounts(43, 0, 1, 0), margin=0.1)
    assert (found.low_one_sided, found.high_one_sided) == pytest.approx((-0.096, 0.037), abs=5e-4)
    assert found.noninferior
    assert found.equivalent
    assert found.noninferior_p < 0.05
    assert not tango_margin_test(PairedCounts(43, 0, 1, 0), margin=0.09).noninferior


@settings(deadline=None)
@given(COUNTS, st.floats(0.005, 0.4), st.floats(0.6, 0.99))
def test_limit_and_p_of_the_score_test_agree(counts, margin, conf_level):
    found = tango_margin_test(counts, margin=margin, conf_level=conf_level)
    for p in (found.noninferior_p, found.nonsuperior_p):
        assume(abs(p - (1 - conf_level)) > 1e-9)
    assert found.noninferior == (found.noninferior_p < 1 - conf_level) == (found.low_one_sided > -margin)
    assert (found.high_one_sided < margin) == (found.nonsuperior_p < 1 - conf_level)
    assert found.equivalent == (found.tost_p < 1 - conf_level)


@settings(deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=3, max_size=40),
    st.sampled_from(["t", "augmented", "clusters"]),
    st.floats(0.005, 0.9),
    st.floats(0.6, 0.99),
)
def test_limit_and_p_of_the_t_tests_agree_and_are_the_interval(thirds, kind, margin, conf_level):
    d = np.array(thirds) / 3
    assume(np.ptp(d) > 0)
    build = {
        "t": lambda level: paired_t(d, conf_level=level),
        "augmented": lambda level: augmented_t(d, conf_level=level),
        "clusters": lambda level: cluster_mean(d, np.arange(d.size) % 7, low=-1, high=1, conf_level=level).estimate,
    }[kind]
    estimate = build(0.5)
    found = t_margin_test(estimate, margin=margin, conf_level=conf_level, bound=1.0)
    if estimate.reason is not None:
        assert found.reason == estimate.reason
        assert (found.noninferior, found.tost_p) == (None, None)
        return
    interval = build(2 * conf_level - 1)
    low, high = max(-1, interval.conf_low), min(1, interval.conf_high)
    assert (found.low_one_sided, found.high_one_sided) == pytest.approx((low, high), abs=1e-10)
    for p in (found.noninferior_p, found.nonsuperior_p):
        assume(abs(p - (1 - conf_level)) > 1e-9)
    assert found.noninferior == (found.noninferior_p < 1 - conf_level)
    assert found.equivalent == (found.tost_p < 1 - conf_level)


def test_one_sided_t_tests_equal_scipy():
    d = np.random.default_rng(4).normal(0.02, 0.3, 40)
    found = t_margin_test(paired_t(d), margin=0.1)
    assert found.noninferior_p == pytest.approx(stats.ttest_1samp(d, -0.1, alternative="greater").pvalue, rel=1e-10)
    assert found.nonsuperior_p == pytest.approx(stats.ttest_1samp(d, 0.1, alternative="less").pvalue, rel=1e-10)
    assert found.tost_p == max(found.noninferior_p, found.nonsuperior_p)


def test_the_augmented_t_is_centred_on_its_shrunken_mean():
    """On [0, 1]: m' = sum(d)/(n + 2), not the mean of d; in another unit everything scales."""
    d = np.repeat([1 / 3, -1 / 3, 0.0], [12, 2, 16])
    headline = augmented_t(d)
    found = t_margin_test(headline, margin=0.05, bound=1.0)
    centre = (found.low_one_sided + found.high_one_sided) / 2
    assert centre == pytest.approx(d.sum() / 32, rel=1e-12)
    expected = stats.t.sf((centre + 0.05) / headline.std_error, 31)
    assert found.noninferior_p == pytest.approx(expected, rel=1e-10)
    points = t_margin_test(augmented_t(100 * d, bound=100), margin=5, bound=100)
    assert points.noninferior_p == pytest.approx(found.noninferior_p, rel=1e-9)
    assert points.low_one_sided == pytest.approx(100 * found.low_one_sided, rel=1e-9)


@settings(deadline=None)
@given(COUNTS, st.floats(0.01, 0.3))
def test_swapping_the_models_swaps_the_tests(counts, margin):
    there = PairedCounts(counts.both, counts.only_baseline, counts.only_candidate, counts.neither)
    here, swapped = tango_margin_test(counts, margin=margin), tango_margin_test(there, margin=margin)
    assert here.noninferior_p == pytest.approx(swapped.nonsuperior_p, rel=1e-9, abs=0)
    assert here.low_one_sided == pytest.approx(-swapped.high_one_sided, abs=1e-12)
    assert here.equivalent == swapped.equivalent


def test_the_p_falls_as_the_margin_grows_and_starts_at_half_the_two_sided_test():
    counts = PairedCounts(300, 20, 25, 55)
    p = [tango_margin_test(counts, margin=m).noninferior_p for m in (1e-9, 0.02, 0.05, 0.1, 0.5)]
    assert p == sorted(p, reverse=True)
    assert 2 * (1 - p[0]) == pytest.approx(score_test_p(counts), rel=1e-4)


@pytest.mark.parametrize(("n", "most"), [(20, 0.057), (43, 0.064)])
def test_exact_size_of_the_non_inferiority_test(n, most):
    """Every table of n items at a true loss of exactly the margin; greatest where the candidate only ever loses."""
    cells = np.array([(b, c, n - b - c) for b in range(n + 1) for c in range(n + 1 - b)])
    for margin in (0.05, 0.1):
        tested = [tango_margin_test(PairedCounts(int(r), int(b), int(c), 0), margin=margin) for b, c, r in cells]
        claimed = np.array([each.noninferior for each in tested])
        sizes = [
            stats.multinomial.pmf(cells, n, [(psi - margin) / 2, (psi + margin) / 2, 1 - psi]) @ claimed
            for psi in np.arange(margin, 0.5, 0.03)
        ]
        assert 0.03 < max(sizes) <= most


def test_data_without_spread_have_no_answer_but_a_reason():
    found = t_margin_test(paired_t([0.1] * 12), margin=0.05)
    assert "all 12 items differ by the same amount" in found.reason
    assert found.low_one_sided is None
    assert found.noninferior is None
    assert found.equivalent is None


def test_no_discordant_items_still_have_limits_and_a_warning():
    found = tango_margin_test(PairedCounts(300, 0, 0, 100), margin=0.02)
    assert found.equivalent
    z = stats.norm.ppf(0.95)
    assert found.high_one_sided == pytest.approx(z**2 / (400 + z**2), abs=1e-10)
    assert "No discordant items" in found.warnings[-1]
