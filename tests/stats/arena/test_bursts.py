"""Bursts: no alarm for people who vote in sittings and have tastes; planted ones are found."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from evalstats.errors import InputError
from evalstats.stats.arena.drift import _spreads, model_bursts, rater_bursts

DAY = 86_400.0


def _times(rng: np.random.Generator, n_raters: int, each: int, gap: str) -> tuple[np.ndarray, np.ndarray]:
    """Sittings of one to three, gaps of a minute on average (or in the median)."""
    raters, times = [], []
    for rater in range(n_raters):
        sittings = int(rng.integers(1, 4))
        sizes = rng.multinomial(each, np.full(sittings, 1.0 / sittings))
        for start, size in zip(rng.uniform(0.0, 30.0 * DAY, sittings), sizes, strict=True):
            gaps = rng.exponential(60.0, size) if gap == "even" else 60.0 * rng.lognormal(0.0, 1.0, size)
            times.append(start + np.cumsum(gaps))
            raters.append(np.full(size, rater))
    return np.concatenate(raters), np.concatenate(times)


def _votes_on_models(
    rng: np.random.Generator, n_models: int = 10, sd: float = 0.8
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rater, seconds = _times(rng, 100, 20, "even")
    strengths, tastes = rng.normal(0.0, 0.7, n_models), rng.normal(0.0, sd, (100, n_models))
    first = rng.integers(n_models, size=rater.size)
    second = (first + rng.integers(1, n_models, rater.size)) % n_models
    eta = strengths[first] - strengths[second]
    won = rng.random(rater.size) < expit(eta + tastes[rater, first] - tastes[rater, second])
    return rater, seconds, first, second, won, expit(eta / 1.2)


def _model_bursts(rater, seconds, first, second, won, likely):  # noqa: PLR0917 - the columns of a vote
    return model_bursts(
        np.concatenate([first, second]),
        np.tile(seconds, 2),
        np.concatenate([won, ~won]),
        np.concatenate([likely, 1.0 - likely]),
        np.tile(rater, 2),
    )


@pytest.mark.parametrize("gap", ["even", "uneven"])
def test_sittings_of_honest_raters_are_no_bursts(gap: str) -> None:
    alarms = [bool(rater_bursts(*_times(np.random.default_rng(seed), 20, 200, gap))) for seed in range(100)]
    # More than 12 of 100 come once in a thousand times at 5%.
    assert sum(alarms) <= 12


def test_a_script_that_votes_every_three_seconds_is_found() -> None:
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rater, seconds = _times(rng, 20, 300, "even")
        mine = np.flatnonzero(rater == 4)[70:130]
        seconds[mine] = seconds[mine[0]] + np.cumsum(rng.exponential(3.0, mine.size))
        found.append([burst.code for burst in rater_bursts(rater, np.round(seconds))])
    assert np.mean([4 in codes for codes in found]) >= 0.6


def test_tastes_and_sittings_make_no_bursts_of_models() -> None:
    alarms = [bool(_model_bursts(*_votes_on_models(np.random.default_rng(seed)))) for seed in range(100)]
    assert sum(alarms) <= 12


def test_a_night_of_votes_for_one_model_is_found() -> None:
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rater, seconds, first, second, won, likely = _votes_on_models(rng)
        mine = np.flatnonzero(((first == 3) | (second == 3)) & (seconds > 10.0 * DAY))
        mine = mine[np.argsort(seconds[mine])][:80]
        won[mine] = first[mine] == 3
        found.append([burst.code for burst in _model_bursts(rater, seconds, first, second, won, likely)])
    assert np.mean([3 in codes for codes in found]) >= 0.6


def test_order_does_not_matter_and_numbers_are_those_of_the_window() -> None:
    rng = np.random.default_rng(1)
    rater, seconds = _times(rng, 5, 300, "even")
    mine = np.flatnonzero(rater == 2)[100:180]
    seconds[mine] = seconds[mine[0]] + np.arange(mine.size)
    order = rng.permutation(rater.size)
    found = rater_bursts(rater, seconds)
    assert found == rater_bursts(rater[order], seconds[order])
    burst = next(one for one in found if one.code == 2)
    inside = (rater == 2) & (seconds >= burst.start) & (seconds <= burst.end)
    assert int(inside.sum()) == burst.n_votes
    assert burst.expected < burst.n_votes / 1.5
    assert 0.0 < burst.p_adjusted <= 0.05


def test_the_binomial_tail_is_above_that_of_unequal_votes() -> None:
    """Hoeffding 1956, by simulation of the sum of unequal votes."""
    rng = np.random.default_rng(7)
    p = rng.uniform(0.1, 0.9, 40)
    wins = (rng.random((20_000, 40)) < p).sum(axis=1)
    for least in range(int(p.sum()) + 2, 34):
        # Three standard errors of the simulated share.
        share = float((wins >= least).mean())
        assert share <= stats.binom.sf(least - 1, 40, p.mean()) + 3.0 * np.sqrt(share / 20_000)


def test_few_votes_and_missing_times() -> None:
    assert rater_bursts(np.zeros(5, dtype=int), np.arange(5.0)) == ()
    with pytest.raises(InputError, match="times"):
        rater_bursts(np.zeros(30, dtype=int), np.append(np.arange(29.0), np.nan))


def test_times_of_whole_days_are_no_bursts() -> None:
    rng = np.random.default_rng(0)
    assert rater_bursts(np.repeat(np.arange(5), 100), rng.integers(0, 30, 500) * DAY) == ()


def test_counts_vary_more_than_chance_by_the_median_of_many_windows_or_by_that_of_all():
    """A longer window varies at least as much as a shorter one; few windows of a length take the figure for all lengths."""
    rng = np.random.default_rng(2)
    squares, length = 3.0 * rng.chisquare(1, 219), np.repeat([4, 2, 1, 3], [80, 19, 100, 20])
    squares[length == 1] /= 6.0
    median = stats.chi2(1).median()
    of_four, of_three = (float(np.median(squares[length == k])) / median for k in (4, 3))
    for whole, of_two in ((2.5, 2.5), (0.5, 1.0), (None, 1.0)):
        found = _spreads(squares, length, whole)
        expected = {1: 1.0, 2: of_two, 3: max(of_two, of_three), 4: max(of_two, of_three, of_four)}
        np.testing.assert_allclose(found, [expected[k] for k in length.tolist()])
