"""Margins by enumeration of every table, Connor's formula, precision, and the search for a count."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.paired.binary import PairedCounts, tango, tango_margin_p, tango_statistics
from evalstats.stats.planning.mean import smallest_count, smallest_effect, wave_of
from evalstats.stats.planning.power import (
    _first_b,
    connor_n,
    discordant_shares,
    paired_binary_margin_power,
    paired_binary_power,
    precision_n,
)
from tests.stats.planning.enumeration import enumerated_power


@pytest.mark.parametrize(
    ("p10", "p01", "margin", "conf_level"),
    [
        (0.1, 0.1, 0.1, 0.95),
        (0.05, 0.15, 0.25, 0.9),
        (0.3, 0.0, 0.1, 0.9),
        (0.0, 0.2, 0.25, 0.95),
        (0.5, 0.5, 0.25, 0.9),
    ],
)
def test_margin_powers_equal_the_sum_over_all_tables(p10, p01, margin, conf_level):
    """The definition is the interval at level 2 conf_level - 1, which is how `compare` decides."""
    n = 24
    intervals = {}

    def ends(counts):
        key = (counts.only_candidate, counts.only_baseline)
        if key not in intervals:
            intervals[key] = tango(counts, conf_level=2 * conf_level - 1)
        return intervals[key]

    inferior = enumerated_power(n, p10, p01, lambda counts: ends(counts).conf_low > -margin)
    equal = enumerated_power(n, p10, p01, lambda t: ends(t).conf_low > -margin and ends(t).conf_high < margin)
    found = paired_binary_margin_power(n, p10, p01, margin, conf_level=conf_level)
    both = paired_binary_margin_power(n, p10, p01, margin, conf_level=conf_level, test="equivalence")
    assert found == pytest.approx(inferior, abs=1e-9)
    assert both == pytest.approx(equal, abs=1e-9)
    assert both <= found


@pytest.mark.parametrize(("p10", "p01"), [(0.3, 0.2), (0.0, 1.0), (1.0, 0.0)])
def test_margin_power_of_one_item_is_a_sum_over_three_tables(p10, p01):
    """At a level of .6 one item can show something, at .95 none."""
    for test, above, below in (("noninferiority", True, False), ("equivalence", True, True)):
        for level in (0.6, 0.95):
            wanted = 0.0
            for counts, chance in (((0, 1, 0), p10), ((0, 0, 1), p01), ((1, 0, 0), 1 - p10 - p01)):
                found = tango(PairedCounts(*counts, 0), conf_level=2 * level - 1)
                claimed = (not above or found.conf_low > -0.5) and (not below or found.conf_high < 0.5)
                wanted += chance * claimed
            assert paired_binary_margin_power(1, p10, p01, 0.5, test=test, conf_level=level) == pytest.approx(wanted)


def test_equivalence_is_the_same_for_both_directions():
    one = paired_binary_margin_power(300, 0.08, 0.05, 0.06, test="equivalence")
    other = paired_binary_margin_power(300, 0.05, 0.08, 0.06, test="equivalence")
    assert one == pytest.approx(other, abs=1e-12)
    assert 0.1 < one < 0.9


def test_margin_power_of_many_items_is_the_normal_one():
    n, psi, margin = 200_000, 0.2, 0.003
    shift = margin / math.sqrt(psi / n)
    expected = stats.norm.sf(stats.norm.ppf(0.95) - shift)
    assert paired_binary_margin_power(n, psi / 2, psi / 2, margin) == pytest.approx(expected, abs=0.003)


@given(st.integers(1, 60), st.data(), st.floats(0.001, 0.999), st.sampled_from([-1, 1]))
@settings(deadline=None, max_examples=60)
def test_statistics_are_those_of_the_test(n, data, margin, sign):
    b = data.draw(st.integers(0, n))
    c = data.draw(st.integers(0, n - b))
    counts = PairedCounts(n - b - c, b, c, 0)
    statistic = float(tango_statistics(n, np.array([float(b)]), np.array([float(c)]), sign * margin)[0])
    side = "lower" if sign < 0 else "upper"
    p = tango_margin_p(counts, margin, side=side)
    assert stats.norm.sf(-sign * statistic) == pytest.approx(p, rel=1e-6, abs=1e-12)


def test_quick_formula_is_connor_and_close_to_exact():
    """[1.95996 sqrt(.2) + .84162 sqrt(.2 - .05^2)]^2 / .05^2 by hand."""
    by_hand = (1.959964 * math.sqrt(0.2) + 0.841621 * math.sqrt(0.2 - 0.0025)) ** 2 / 0.0025
    assert connor_n(0.05, 0.2) == pytest.approx(by_hand, rel=1e-5)
    exact = smallest_count(
        lambda n: paired_binary_power(n, *discordant_shares(0.2, 0.05)), 0.8, start=round(by_hand), wave=wave_of(600)
    )
    assert exact == pytest.approx(by_hand, rel=0.02)


def test_half_width_of_the_formula_is_that_of_the_interval():
    """n for +-2 points at 20% discordance, and Tango's interval on the expected table."""
    n = math.ceil(precision_n(0.02, 0.2))
    found = tango(PairedCounts(n - 2 * round(n / 10), round(n / 10), round(n / 10), 0))
    assert (found.conf_high - found.conf_low) / 2 == pytest.approx(0.02, rel=0.005)


def test_the_answer_of_the_search_holds_from_there_on():
    """Where every item is discordant the power has waves; the first count that reaches the goal is not safe."""

    def power_at(n):
        return paired_binary_power(n, 0.7, 0.3)

    powers = {n: power_at(n) for n in range(30, 110)}
    first = min(n for n, power in powers.items() if power >= 0.8)
    lasting = max(n for n, power in powers.items() if power < 0.8) + 1
    assert first < lasting
    assert smallest_count(power_at, 0.8, start=50, wave=wave_of(50)) == lasting


@given(st.integers(1, 10_000), st.integers(1, 20_000))
def test_search_finds_a_threshold_from_any_start(threshold, start):
    assert smallest_count(lambda n: float(n >= threshold), 0.5, start=start) == threshold


def test_search_knows_when_to_give_up():
    assert smallest_count(lambda _: 0.3, 0.5, most=1000) is None
    assert smallest_count(lambda n: n / 2000, 0.5, most=1000) == 1000
    assert smallest_effect(lambda _: 0.1, 0.5, low=0.0, high=1.0) is None
    with pytest.raises(InputError, match="hold none"):
        smallest_effect(lambda x: x, 0.5, low=1.0, high=1.0)


def test_a_power_that_is_flat_where_it_reaches_the_goal_is_no_endless_search():
    """False position alone takes thousands of powers of z = 50 (x - 0.3)^9; with halves, not many more than halving would."""
    asked = []

    def power_at(effect):
        asked.append(effect)
        return float(stats.norm.cdf(50.0 * (effect - 0.3) ** 9))

    found = smallest_effect(power_at, 0.5, low=0.0, high=1.0)
    assert found == pytest.approx(0.3, abs=0.02)
    assert power_at(found) >= 0.5
    assert len(asked) < 300


@pytest.mark.parametrize("start", [1, 40, 400, 90_000])
def test_the_search_takes_few_powers(start):
    asked = []

    def power_at(n):
        asked.append(n)
        return float(stats.norm.cdf(0.14 * math.sqrt(n) - 1.96))

    found = smallest_count(power_at, 0.8, start=start)
    assert found == math.ceil(((1.96 + stats.norm.ppf(0.8)) / 0.14) ** 2)
    assert len(asked) <= 25
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize(
    ("dips", "wave", "found"), [((53,), 2, 50), ((53,), 3, 54), ((53, 57), 3, 58), ((53, 58), 3, 54)]
)
def test_a_dip_within_the_wave_starts_it_anew(dips, wave, found):
    assert smallest_count(lambda n: 0.9 if n >= 50 and n not in dips else 0.1, 0.8, start=50, wave=wave) == found


def test_a_dip_at_the_last_count_leaves_no_answer():
    assert smallest_count(lambda n: 0.9 if n < 60 else 0.1, 0.8, start=55, least=50, most=60, wave=20) is None


@pytest.mark.parametrize(("n", "wave"), [(0, 4), (4, 7), (16, 10), (4095, 99), (4096, 100), (10**6, 100)])
def test_waves_grow_with_the_root_of_the_count_up_to_a_hundred(n, wave):
    assert wave_of(n) == wave


def test_an_effect_at_either_end_is_found_without_a_search():
    assert smallest_effect(lambda x: x, 0.2, low=0.2, high=0.9) == 0.2
    assert smallest_effect(lambda x: x, 0.9, low=0.2, high=0.9) == pytest.approx(0.9, rel=1e-7)
    assert smallest_effect(lambda x: x, 0.91, low=0.2, high=0.9) is None
    for reached in (0.5, 0.6, 1.0):
        found = smallest_effect(lambda x, reached=reached: reached * (x >= 0.37), 0.5, low=0.0, high=1.0)
        assert 0.37 <= found <= 0.37 * (1 + 1e-8)


def test_a_count_that_has_just_the_power_asked_for_is_enough():
    for start in (5, 36, 37, 100):
        assert smallest_count(lambda n: 0.8 if n >= 37 else 0.5, 0.8, start=start, wave=5) == 37
        assert smallest_count(lambda n: 0.8 if n >= 37 else 0.5, 0.8, start=start, most=37) == 37
        assert smallest_count(lambda n: 0.8 + 0.0 * n, 0.8, start=start, least=4) == 4


def test_no_power_is_asked_for_beyond_the_most():
    asked = []

    def power(n):
        asked.append(n)
        return 1 - 1 / n

    assert smallest_count(power, 0.8, start=100, most=50) == 5
    assert smallest_count(power, 0.99, start=100, most=50) is None
    assert max(asked) == 50


@pytest.mark.parametrize(
    ("delta", "bound", "reached"), [(-0.1, 1.6, False), (0.1, -1.6, True), (0.0, 0.0, True), (0.0, 9.0, False)]
)
def test_the_first_count_that_rejects_by_trying_all(delta, bound, reached):
    c = np.arange(13.0)
    found = _first_b(12, c, delta, bound, reached=reached)
    for k in range(13):
        b = np.arange(13.0 - k)
        told = tango_statistics(12, b, np.full(b.shape, float(k)), delta)
        beyond = np.flatnonzero(told >= bound if reached else told > bound)
        assert found[k] == (beyond[0] if beyond.size else 13 - k)
