"""The break at a date against a weighted regression of statsmodels; its bandwidth; error rates by simulation."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.contamination import (
    MIN_DATES,
    MIN_SIDE,
    _least_width,
    break_bandwidth,
    date_density,
    date_window,
    reference_gap,
)

CLOSE = 1e-8


def items(seed, n=400, jump=0.0, slope=0.0):
    rng = np.random.default_rng(seed)
    days = np.sort(rng.uniform(-300, 300, n))
    return days, 0.5 + slope * days + jump * (days <= 0) + rng.normal(0, 0.3, n)


@pytest.mark.parametrize("order", [1, 2])
def test_it_is_the_weighted_regression_with_a_jump(order):
    days, scores = items(0, jump=0.2, slope=0.001)
    found = date_window(days, 150.0, order=order)
    near = np.abs(days) < 150
    x, before = days[near], (days[near] <= 0).astype(float)
    columns = [before * x**k for k in range(order + 1)] + [x**k for k in range(order + 1)]
    fitted = sm.WLS(scores[near], np.column_stack(columns), weights=1 - np.abs(x) / 150).fit(cov_type="HC2")
    # Both sides have lines of their own, so the coefficient of "before" is the jump.
    assert found.contrast.estimate(scores[near, np.newaxis])[0] == pytest.approx(fitted.params[0], rel=CLOSE)
    assert (found.n_before, found.n_after) == (int(before.sum()), int((1 - before).sum()))
    # HC2 divides by 1 - h of the weighted regression and CR2 by that of an unweighted error: alike, not the same.
    ours = math.sqrt(found.contrast.variance(scores[near, np.newaxis])[0])
    assert ours == pytest.approx(fitted.bse[0], rel=0.02)


def test_a_straight_line_has_no_break_and_the_day_itself_is_before():
    days = np.arange(-60.0, 61.0)
    found = date_window(days, 50.0)
    scores = (0.2 + 0.01 * days)[found.inside, np.newaxis]
    assert found.contrast.estimate(scores)[0] == pytest.approx(0.0, abs=1e-12)
    assert (found.n_before, found.n_after) == (50, 49)


def test_units_and_side_do_not_matter():
    days, scores = items(1, jump=0.3)
    one = date_window(days, 120.0)
    other = date_window(-days, 120.0)
    years = date_window(days / 365.25, 120.0 / 365.25)
    y = scores[one.inside, np.newaxis]
    assert other.contrast.estimate(y)[0] == pytest.approx(-one.contrast.estimate(y)[0], rel=CLOSE)
    assert years.contrast.variance(y)[0] == pytest.approx(one.contrast.variance(y)[0], rel=CLOSE)


@pytest.mark.parametrize(
    "days",
    [
        np.concatenate([np.arange(-15.0, 0.0), np.arange(1.0, 60.0)]),
        np.repeat([-30.0, -20.0, 10.0, 15.0, 20.0, 25.0, 30.0], 30),
    ],
)
def test_too_few_items_or_dates_are_refused(days):
    for work in (lambda: date_window(days, 90.0), lambda: break_bandwidth(days, np.zeros(days.size))):
        with pytest.raises(CannotAnswerError, match="at least 20 items on 5 dates"):
            work()


def by_the_paper(x, y):
    """Imbens & Kalyanaraman 2012, section 4.2, step by step, treated side on the right."""
    n = len(x)
    h1 = 1.84 * x.std(ddof=1) * n**-0.2
    left, right = x <= 0, x > 0
    near_left, near_right = left & (x >= -h1), right & (x <= h1)
    f = (near_left.sum() + near_right.sum()) / (2 * n * h1)
    s_left, s_right = y[near_left].var(ddof=1), y[near_right].var(ddof=1)
    cubic = np.column_stack([np.ones(n), right, x, x**2, x**3])
    third = 6 * np.linalg.lstsq(cubic, y, rcond=None)[0][4]
    second, guard = {}, {}
    for name, side, s in (("left", left, s_left), ("right", right, s_right)):
        h2 = 3.56 * (s / (f * third**2)) ** (1 / 7) * side.sum() ** (-1 / 7)
        own = side & (np.abs(x) <= h2)
        square = np.column_stack([np.ones(own.sum()), x[own], x[own] ** 2])
        h2 = min(h2, np.abs(x[side]).max())
        second[name] = 2 * np.linalg.lstsq(square, y[own], rcond=None)[0][2]
        guard[name] = 2160 * s / (own.sum() * h2**4)
    bent = (second["right"] - second["left"]) ** 2 + guard["left"] + guard["right"]
    return 3.4375 * ((s_left + s_right) / (f * bent)) ** 0.2 * n**-0.2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bandwidth_is_that_of_the_paper(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 600)
    y = np.sin(3 * x) + 0.3 * (x > 0) + rng.normal(0, 0.3, 600)
    found = break_bandwidth(x, y)
    assert found.reason == "the rule of Imbens & Kalyanaraman"
    assert found.width == pytest.approx(by_the_paper(x, y), rel=1e-6)
    days = break_bandwidth(365.25 * x, 5 * y)
    assert days.width == pytest.approx(365.25 * found.width, rel=1e-6)


def test_the_bandwidth_is_widened_and_cut_and_says_so():
    rng = np.random.default_rng(0)
    days = np.concatenate([-np.arange(200.0, 221.0), np.arange(1.0, 101.0)])
    wide = break_bandwidth(days, np.sin(days / 5) + rng.normal(0, 0.01, days.size))
    assert int((np.abs(days) < wide.width)[days <= 0].sum()) >= MIN_SIDE
    flat = break_bandwidth(np.arange(-40.0, 41.0), np.zeros(81))
    assert "every item counts" in flat.reason


def test_items_gathered_on_one_side_show():
    even = date_density(np.arange(-50.0, 50.0), 60.0)
    assert even.p_value > 0.5
    crowded = date_density(np.concatenate([np.linspace(-30, -1, 100), np.linspace(5, 30, 20)]), 60.0)
    assert crowded.p_value < 1e-6
    assert crowded.gap_after == 5.0


def breaks(rounds, seed, *, jump=0.0, r=4, sd=0.0):
    """Share of rounds that find a break, and that find it by items alone."""
    rng = np.random.default_rng(seed)
    hits = np.zeros(2)
    for _ in range(rounds):
        days = rng.uniform(-400, 400, 500)
        jumps = rng.normal(0, sd, r + 1)
        jumps[0] += jump
        chance = np.clip(0.5 - 0.0005 * days[:, np.newaxis] + np.outer(days <= 0, jumps), 0, 1)
        y = (rng.random(chance.shape) < chance).astype(float)
        window = date_window(days, break_bandwidth(days, y[:, 0] - y[:, 1:].mean(axis=1)).width)
        found = reference_gap(y[window.inside, 0], y[window.inside, 1:], window.contrast)
        hits += [(found.p_value or 0.0) <= 0.05, (found.item_p_value or 0.0) <= 0.05]
    return hits / rounds


def test_difficulty_that_moves_with_the_date_is_no_break_and_a_planted_one_is_found():
    rounds = 80
    clean = breaks(rounds, 0)
    assert clean[0] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / rounds)
    assert breaks(30, 1, jump=0.45, r=10)[0] > 0.7


@pytest.mark.slow
@pytest.mark.parametrize(("r", "sd"), [(3, 0.0), (3, 0.1), (5, 0.1), (10, 0.1)])
def test_type_one_error_of_the_break(r, sd):
    rounds = 1500
    found = breaks(rounds, 10 * r, r=r, sd=sd)
    assert found[0] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / rounds)
    if sd == 0.0:
        # A data-driven bandwidth costs items alone a little of their level.
        assert found[1] <= 0.08


def test_density_counts_the_day_of_the_break_as_before():
    days = np.array([-31.0, -30.0, -2.0, 0.0, 0.0, 0.5, 1.0, 29.0, 30.0, 30.5])
    found = date_density(days, 60.0)
    before, after = [d for d in days if -30 <= d <= 0], [d for d in days if 0 < d <= 30]
    assert (found.n_before, found.n_after) == (len(before), len(after))
    assert found.p_value == pytest.approx(stats.binomtest(len(before), len(before) + len(after), 0.5).pvalue)
    assert (found.gap_before, found.gap_after) == (0.0, 0.5)
    uneven = date_density(np.concatenate([-np.arange(12.0), np.arange(1.0, 4.0)]), 60.0)
    assert uneven.p_value == pytest.approx(stats.binomtest(3, 15, 0.5).pvalue)
    none = date_density(np.array([-200.0, 100.0]), 60.0)
    assert (none.n_before, none.n_after, none.p_value) == (0, 0, 1.0)


def test_the_bandwidth_takes_the_day_of_the_break_as_before():
    rng = np.random.default_rng(3)
    days = np.round(rng.uniform(-60, 60, 900))
    scores = np.sin(days / 20) + (days > 0) + rng.normal(0, 0.2, days.size)
    assert (days == 0).sum() > 3
    shifted = np.where(days == 0, -1e-9, days)
    assert break_bandwidth(days, scores).width == pytest.approx(break_bandwidth(shifted, scores).width, rel=1e-6)


@pytest.mark.parametrize("few", ["dates", "items"])
def test_the_least_width_holds_items_and_dates_enough_on_both_sides(few):
    # Many items on the first date, so that the fifth date is the last needed; or one a date, and the items are.
    side = np.concatenate([np.ones(40), np.arange(2.0, 12.0)]) if few == "dates" else np.arange(1.0, 41.0)
    days = np.concatenate([-side, 1.5 * side])

    def holds(width):
        inside = days[np.abs(days) < width]
        return all(
            each.size >= MIN_SIDE and np.unique(each).size >= MIN_DATES
            for each in (inside[inside < 0], inside[inside > 0])
        )

    found = _least_width(days)
    assert holds(found)
    assert not holds(found * (1 - 1e-6))


def test_without_noise_or_curvature_every_item_counts_on_the_longer_side_too():
    for days in (np.arange(-60.0, 41.0), np.arange(-40.0, 61.0)):
        found = break_bandwidth(days, np.zeros(101))
        assert found.width == pytest.approx(60.0, rel=1e-6)
        assert found.width > 60.0
    # Noise without curvature asks for more than there is.
    rng = np.random.default_rng(4)
    wide = break_bandwidth(np.arange(-60.0, 41.0), rng.normal(size=101))
    assert wide.width <= 60.0 * (1 + 1e-6)


def test_items_of_the_day_itself_are_among_those_before():
    # Sixteen items on the day of the break: four more make twenty, and only with the day are there five dates.
    days = np.concatenate([np.zeros(16), [-3.0, -5.0, -7.0, -9.0], np.linspace(0.1, 2.5, 30)])
    assert _least_width(days) == pytest.approx(9.0, rel=1e-6)
    # On the other side it is the twentieth item that is far, and the day does not count there.
    later = np.concatenate([-np.linspace(0.1, 2.5, 30), np.zeros(16), np.arange(1.0, 31.0)])
    assert _least_width(later) == pytest.approx(float(MIN_SIDE), rel=1e-6)


def test_a_width_below_the_least_or_above_the_most_is_said_with_its_number():
    rng = np.random.default_rng(0)
    days = np.concatenate([-np.arange(200.0, 221.0), np.arange(1.0, 101.0)])
    wide = break_bandwidth(days, np.sin(days / 5) + rng.normal(0, 0.01, days.size))
    assert wide.width == _least_width(days)
    assert wide.reason.endswith("too few items; widened until both sides have enough")
    every = break_bandwidth(np.arange(-60.0, 41.0), np.random.default_rng(4).normal(size=101))
    assert (every.width > 60.0) == ("more than there are; every item counts" in every.reason)
