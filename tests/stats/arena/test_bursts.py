"""Bursts: no alarm for people who vote in sittings and have tastes; planted ones are found."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from evalstats.errors import InputError
from evalstats.stats.arena.drift import _dispersion, _spreads, model_bursts, rater_bursts

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
    alarms = [bool(rater_bursts(*_times(np.random.default_rng(seed), 20, 200, gap))) for seed in range(40)]
    # More than 7 of 40 come once in a thousand times at 5%.
    assert sum(alarms) <= 7


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
    alarms = [bool(_model_bursts(*_votes_on_models(np.random.default_rng(seed)))) for seed in range(40)]
    assert sum(alarms) <= 7


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


def _windows(n: int, least: int) -> list[tuple[int, int]]:
    """Begin and length of runs of least, 2 least, ... entries, up to half of all, each half of its length after the last."""
    lengths = [least * 2**k for k in range(20) if least * 2 ** (k + 1) <= n]
    return [(begin, length) for length in lengths for begin in range(0, n - length + 1, length // 2)]


def _told(windows: list[tuple], level: float) -> list[tuple]:
    """The clearest window of each series: Holm over all of them, half as many again as expected, by p and then by size."""
    order = sorted(range(len(windows)), key=lambda at: windows[at][-1])
    adjusted, worst = {}, 0.0
    for rank, at in enumerate(order):
        worst = adjusted[at] = min(1.0, max(worst, (len(order) - rank) * windows[at][-1]))
    named: dict[int, tuple] = {}
    for at in sorted(order, key=lambda at: (windows[at][-1], -windows[at][3])):
        code, start, end, observed, expected, _ = windows[at]
        if adjusted[at] <= level and observed >= 1.5 * expected and code not in named:
            named[code] = (code, start, end, observed, expected, adjusted[at])
    return list(named.values())


def _compared(found, wanted) -> None:
    assert [(one.code, one.start, one.end, one.n_votes) for one in found] == [one[:4] for one in wanted]
    for one, by_hand in zip(found, wanted, strict=True):
        assert one.expected == pytest.approx(by_hand[4])
        assert one.p_adjusted == pytest.approx(by_hand[5], rel=1e-5, abs=0.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("level", [0.05, 0.5])
def test_bursts_of_raters_window_by_window(seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    rater, seconds = _times(rng, 6, 90, "uneven" if seed % 2 else "even")
    for quick in (1, 4):
        mine = np.flatnonzero(rater == quick)[5 : 20 + 6 * quick]
        seconds[mine] = seconds[mine[0]] + np.arange(mine.size)
    rater, seconds = np.append(rater, [6, 6, 6, 7]) + 1, np.append(np.round(seconds), [5.0, 9.0, 9.0, 1e6])
    resolution, windows = np.diff(np.unique(seconds)).min(), []
    for code in range(1, 9):
        mine = np.sort(seconds[rater == code])
        gaps = np.minimum(np.diff(mine), 1800.0)
        for begin, length in _windows(gaps.size, 4):
            total, part = gaps.sum() + resolution, gaps[begin : begin + length].sum() + resolution
            uneven = max(gaps.size * (gaps**2).sum() / total**2 - 1.0, 1.0)
            p = stats.beta.cdf(part / total, length / uneven, (gaps.size - length) / uneven)
            expected = 1.0 + gaps.size * part / total
            windows.append((code, mine[begin], mine[begin + length], length + 1, expected, p))
    wanted = _told(windows, level)
    assert wanted
    _compared(rater_bursts(rater, seconds, level=level), wanted)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("known", "n_models"), [(True, 4), (False, 4), (True, 10)])
def test_bursts_of_models_window_by_window(seed: int, known: bool, n_models: int) -> None:
    rng = np.random.default_rng(seed)
    n = 1500
    model, rater = rng.integers(1, n_models + 1, n), rng.integers(0, 25, n)
    seconds = np.sort(rng.uniform(0.0, 30.0 * DAY, n))
    expected = np.clip(rng.beta(3.0, 3.0, n), 0.01, 0.99)
    won = rng.random(n) < 0.9 * expected
    for chosen in (1, 3):
        won[np.flatnonzero(model == chosen)[20 * chosen : 20 * chosen + 26]] = True
    wins, likely, series = won.astype(float), expected.copy(), []
    for code in range(1, n_models + 1):
        mine = model == code
        likely[mine] = np.minimum(1.0, likely[mine] * wins[mine].sum() / likely[mine].sum())
        series += [
            (code, np.flatnonzero(mine)[begin : begin + length]) for begin, length in _windows(int(mine.sum()), 8)
        ]
    noise = likely * (1.0 - likely)
    whole = max(
        1.0,
        sum(
            ((wins - likely)[(model == m) & (rater == r)].sum()) ** 2 for m in range(1, n_models + 1) for r in range(25)
        )
        / noise.sum(),
    )
    spread, least = {}, 1.0
    for length in sorted({at.size for _, at in series}):
        squares = [(wins - likely)[at].sum() ** 2 / noise[at].sum() for _, at in series if at.size == length]
        if len(squares) >= 20:
            least = max(least, np.median(squares) / stats.chi2(1).median())
        elif known:
            least = max(least, whole)
        spread[length] = least
    windows = []
    for code, at in series:
        o, e, c = wins[at].sum(), likely[at].sum(), spread[at.size]
        # P(Binomial >= o) as a beta law, whose counts may be divided.
        p = stats.beta.cdf(e / at.size, o / c, (at.size - o) / c + 1.0) if o >= e + 1.0 else 1.0
        windows.append((code, seconds[at[0]], seconds[at[-1]], int(o), e, p))
    wanted = _told(windows, 0.5)
    assert wanted
    order = rng.permutation(n)
    found = model_bursts(
        model[order], seconds[order], won[order], expected[order], rater[order] if known else None, level=0.5
    )
    _compared(found, wanted)


def test_votes_that_were_certain_beforehand_are_no_burst_and_no_warning() -> None:
    model, seconds = np.repeat([0, 1], 30), np.tile(np.arange(30.0), 2)
    certain = model.astype(float)
    assert model_bursts(model, seconds, certain == 1.0, certain, np.tile(np.arange(6), 10)) == ()


@pytest.mark.parametrize("n", [19, 20])
def test_twenty_times_at_least(n: int) -> None:
    """Nothing is said of fewer, nor of votes that all have the same time."""
    seconds = np.append(1000.0 * np.arange(n - 10), 1000.0 * (n - 10) + np.arange(10))
    assert len(rater_bursts(np.zeros(n, dtype=int), seconds, level=0.9)) == (n >= 20)
    assert rater_bursts(np.zeros(30, dtype=int), np.ones(30)) == ()
    won = np.arange(n) >= n - 10
    found = model_bursts(np.zeros(n, dtype=int), seconds, won, np.full(n, 0.5), level=0.9)
    assert len(found) == (n >= 20)
    with pytest.raises(InputError, match="differ in length"):
        model_bursts(np.zeros(n, dtype=int), seconds, won[1:], np.full(n, 0.5))


@pytest.mark.parametrize("taste", [0.0, 2.0])
def test_wins_vary_between_raters_by_the_square_of_what_each_leaves_of_the_expected(taste: float) -> None:
    rng = np.random.default_rng(3)
    model, rater = rng.integers(0, 4, 300), rng.integers(0, 9, 300)
    likely = rng.uniform(0.2, 0.8, 300)
    lean = taste * rng.normal(size=(4, 9))[model, rater]
    wins = (rng.random(300) < expit(np.log(likely / (1.0 - likely)) + lean)).astype(float)
    left = [((wins - likely)[(model == m) & (rater == r)].sum()) ** 2 for m in range(4) for r in range(9)]
    ratio = sum(left) / (likely * (1.0 - likely)).sum()
    assert bool(ratio > 1.5) is (taste > 0.0)
    assert _dispersion(model, rater, wins, likely) == pytest.approx(max(1.0, ratio))
