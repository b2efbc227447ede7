"""The signed rank test: Hollander and Wolfe's example, all signs listed, scipy, memory, size and coverage."""

import itertools
import json
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.stats.paired import means as module
from evalstats.stats.paired.means import sign_flip, signed_rank

THIRDS = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


def pratt_ranks(d):
    """Ranks of |d| with the zeros, then without them."""
    return np.where(d == 0, 0.0, stats.rankdata(np.abs(d)))


def walsh(d):
    first, second = np.triu_indices(len(d))
    return np.sort((d[first] + d[second]) / 2)


def test_depression_scale_example_of_hollander_and_wolfe(golden):
    case = json.loads((golden / "r_misc.json").read_text())["wilcoxon_HollanderWolfe"]
    found = signed_rank(np.array(case["x"]) - np.array(case["y"]))
    assert (found.statistic, found.p_value) == (case["V"], case["p"])
    assert found.estimate == pytest.approx(case["HL"], abs=1e-12)
    assert (found.conf_low, found.conf_high) == pytest.approx(case["ci"], abs=1e-12)
    assert "exact" in found.method


@settings(deadline=None)
@given(THIRDS)
def test_p_is_that_of_all_signs_listed(thirds):
    d = np.array(thirds) / 3
    ranks = pratt_ranks(np.array(thirds))
    sizes = ranks[ranks > 0]
    v = ranks[np.array(thirds) > 0].sum()
    listed = np.array([np.dot(signs, sizes) for signs in itertools.product((0, 1), repeat=sizes.size)])
    expected = np.mean(np.abs(listed - sizes.sum() / 2) >= abs(v - sizes.sum() / 2) - 1e-9)
    found = signed_rank(d)
    assert found.statistic == v
    assert found.p_value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [30, 120])
def test_p_is_the_sign_flip_test_of_the_ranks(n):
    rng = np.random.default_rng(n)
    d = np.rint(3 * rng.normal(0.3, 1, n)) / 3
    found = signed_rank(d)
    assert found.p_value == pytest.approx(sign_flip(np.sign(d) * pratt_ranks(np.rint(3 * d))).p_value, rel=1e-6)


def test_exact_p_without_ties_equals_scipy():
    d = np.random.default_rng(2).normal(0.2, 1, 40)
    expected = stats.wilcoxon(d, method="exact")
    found = signed_rank(d)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert min(found.statistic, 820 - found.statistic) == expected.statistic


@pytest.mark.parametrize("lumpy", [False, True])
def test_normal_p_equals_scipy(monkeypatch, lumpy):
    monkeypatch.setattr(module, "_MOST_AVERAGED", 0.0)
    d = np.random.default_rng(5).normal(0.2, 1, 80)
    d = np.rint(2 * d) / 2 if lumpy else np.where(np.arange(80) < 11, 0.0, d)
    expected = stats.wilcoxon(d, zero_method="pratt", correction=True, method="asymptotic")
    found = signed_rank(d)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert "normal" in found.method


def test_exact_and_normal_agree_at_the_border(monkeypatch):
    d = np.random.default_rng(6).standard_t(3, size=400) + 0.1
    exact = signed_rank(d)
    assert "exact" in exact.method
    monkeypatch.setattr(module, "_MOST_AVERAGED", 0.0)
    normal = signed_rank(d)
    assert normal.p_value == pytest.approx(exact.p_value, rel=0.02)
    averages = walsh(d)
    places = [np.searchsorted(averages, each.conf_low) for each in (exact, normal)]
    assert abs(places[0] - places[1]) <= 0.001 * averages.size


@settings(deadline=None)
@given(st.lists(st.integers(-30, 30), min_size=6, max_size=25), st.floats(0.5, 0.96))
def test_estimate_and_ends_are_pairwise_averages(values, conf_level):
    d = np.array(values) / 8
    found = signed_rank(d, conf_level=conf_level)
    averages, n = walsh(d), len(d)
    assert found.estimate == np.median(averages)
    if found.conf_low is None:
        assert found.reason
        return
    law = np.zeros(1)
    law[0] = 1.0
    for rank in range(1, n + 1):
        law = np.convolve(law, np.eye(1, rank + 1)[0] / 2 + np.eye(1, rank + 1, rank)[0] / 2)
    tail = (1 - conf_level) / 2
    # k is the smallest with P(V <= k) > tail, so that the two tails outside, P(V < k), hold at most 1 - conf_level.
    k = int(np.argmax(np.cumsum(law) >= tail * (1 + 1e-12)))
    assert (found.conf_low, found.conf_high) == (averages[k - 1], averages[len(averages) - k])
    turned = signed_rank(-d, conf_level=conf_level)
    assert (turned.conf_low, turned.conf_high) == (-found.conf_high, -found.conf_low)
    assert turned.p_value == pytest.approx(found.p_value, rel=1e-12)


@pytest.mark.parametrize("lumpy", [False, True])
def test_counting_and_listing_averages_agree(monkeypatch, lumpy):
    d = np.random.default_rng(1).standard_t(2, size=301)
    d = np.rint(d * 4) / 4 if lumpy else d
    listed = signed_rank(d)
    monkeypatch.setattr(module, "_MOST_LISTED", 1)
    counted = signed_rank(d)
    for name in ("estimate", "conf_low", "conf_high"):
        assert getattr(counted, name) == pytest.approx(getattr(listed, name), abs=1e-10)


@pytest.mark.parametrize(
    "values",
    [
        [0.3, -1.1, 2.0, 0.4, 5.3, -0.2],
        [1.0, 1.0, 2.0, 2.0, 2.0],
        [4.0, 9.0],
        [-7.0, -3.0, -3.0],
        [-1e6, 2e-9 - 1e6, 1e-3 - 1e6],  # numbers between them lie further apart than 1e-12 of their range
    ],
)
def test_each_counted_average_is_the_listed_one(values):
    ordered = np.sort(values)
    listed = sorted(
        (first + second) / 2 for first, second in itertools.combinations_with_replacement(ordered.tolist(), 2)
    )
    counted = [module._counted(ordered, k) for k in range(1, len(listed) + 1)]
    assert counted == pytest.approx(listed, rel=1e-15, abs=2e-12 * float(np.ptp(ordered)))


def test_memory_and_place_of_many_items():
    """20,000 distinct differences have 200 million averages: 1.6 GB if they were listed."""
    d = np.random.default_rng(3).standard_t(2, size=20_000) + 0.02
    tracemalloc.start()
    found = signed_rank(d)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000
    assert 0 < found.conf_low < 0.02 < found.conf_high < 0.06
    ordered = np.sort(d)
    below = np.searchsorted(ordered, 2 * found.conf_low - ordered, side="right") - np.arange(d.size)
    sd = math.sqrt(20_000 * 20_001 * 40_001 / 24)
    assert np.maximum(below, 0).sum() == pytest.approx(20_000 * 20_001 / 4 - stats.norm.ppf(0.975) * sd, abs=sd / 1000)


def test_sizes_that_differ_by_rounding_are_tied():
    d = np.array([0.1 + 0.2, -0.3, 0.3, 0.6, 1.0, 1.0 + 1e-13, 0.2 + 0.1 - 0.3])
    assert signed_rank(d).statistic == signed_rank(np.round(d, 9)).statistic
    assert signed_rank(d).p_value == signed_rank(np.round(d, 9)).p_value


def test_zeros_stay_in_the_ranking():
    """Pratt: with two zeros the smallest difference has rank 3."""
    found = signed_rank([0.0, 0.0, 0.4, -0.5, 0.7, 0.9, 1.1, 1.4])
    assert found.statistic == 3 + 5 + 6 + 7 + 8


@pytest.mark.parametrize(
    ("d", "p", "reason"),
    [
        ([0.0] * 12, 1.0, "all 12 differences are equal"),
        ([0.1 + 0.2, 0.3] * 6, 2.0**-11, "all 12 differences are equal"),
        ([0.0] * 50 + [1.0], 1.0, "so many differences are equal"),
        ([0.4, 0.1, 0.9, -0.2, 0.7], 0.1875, "5 items are too few"),
        ([0.4], 1.0, "1 item is too few"),
    ],
)
def test_what_has_no_interval_says_why(d, p, reason):
    found = signed_rank(d)
    assert found.reason.startswith(reason)
    assert (found.conf_low, found.conf_high) == (None, None)
    assert found.p_value == pytest.approx(p)


def test_p_is_never_zero():
    assert 0 < signed_rank(np.arange(1.0, 400.0)).p_value <= 2.0**-390
    assert signed_rank(np.arange(1.0, 20_000.0)).p_value > 0


@pytest.mark.parametrize(
    "replicates", [pytest.param(150, id="quick"), pytest.param(10_000, id="long", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("ordinal", [False, True])
def test_size_and_coverage_under_symmetry(ordinal, replicates):
    rng = np.random.default_rng(9)
    rejected, hits = [], []
    for _ in range(replicates):
        d = rng.integers(1, 6, 30) - rng.integers(1, 6, 30) if ordinal else rng.standard_t(2, size=30)
        found = signed_rank(d)
        rejected.append(found.p_value <= 0.05)
        hits.append(found.conf_low <= 0 <= found.conf_high)
    allowance = 4 * math.sqrt(0.05 * 0.95 / replicates)
    assert 0.035 - allowance <= np.mean(rejected) <= 0.05 + allowance
    assert np.mean(hits) >= 0.95 - allowance


@pytest.mark.parametrize("n", [5, 6, 9])
def test_a_level_that_a_pair_of_averages_has_exactly_takes_that_pair(n):
    """The whole range of n averages has the level 1 - 2 / 2^n; a little more, and no pair has it."""
    d = np.random.default_rng(n).normal(size=n)
    level = 1 - 2.0 ** (1 - n)
    found = signed_rank(d, conf_level=level)
    assert (found.conf_low, found.conf_high) == (d.min(), d.max())
    assert signed_rank(d, conf_level=level + 1e-9).conf_low is None


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_normal_place_is_the_exact_one_or_the_next(monkeypatch, level):
    exact = [module._place(n, level) for n in range(20, 60)]
    monkeypatch.setattr(module, "_MOST_AVERAGED", 0)
    near = [module._place(n, level) for n in range(20, 60)]
    off = np.subtract(near, exact)
    assert np.abs(off).max() <= 1
    assert abs(off.mean()) < 0.6
