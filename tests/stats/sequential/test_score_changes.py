"""Changes of a watched score: against the definition in plain loops, as properties, and by simulation with many looks."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.score_drift import Change, _ends, score_changes, weights_of
from evalstats.stats.sequential import mixture_half_width


def drawn(n: int, runs: int, *, drop: float = 0.0, at: int = 1, seed: int = 0) -> np.ndarray:
    """Right or wrong answers of items of unequal difficulty; from run `at` on each item is answered less often."""
    rng = np.random.default_rng(seed)
    p = np.repeat(rng.beta(2.0, 1.0, n), runs).reshape(n, runs)
    p[:, at:] *= 1.0 - drop / (2.0 / 3.0)
    return (rng.random(p.shape) < p).astype(np.float64)


def by_definition(y: np.ndarray, clusters: list[int], level: float, span: float = 1.0) -> list[tuple[float, ...]]:
    """Return look, place, change, ends and p of the clearest change at each look, item by item."""
    found = []
    for look in range(1, y.shape[1]):
        every = [_at_place(y[:, : look + 1], clusters, since, level, span) for since in range(1, look + 1)]
        e, since, mean, inside = max((each for each in every if each), key=lambda each: each[0])
        ends = []
        for sign in (-1, 1):
            near, far = mean, mean + sign * 50.0
            for _ in range(60):
                middle = (near + far) / 2
                near, far = (middle, far) if inside(middle) else (near, middle)
            ends.append(near)
        found.append((look, since, mean, *ends, min(1.0, 1 / e)))
    return found


def _at_place(
    y: np.ndarray, clusters: list[int], since: int, level: float, span: float
) -> tuple[float, int, float, Callable[[float], bool]] | None:
    """Return e-value, place, change, and whether a change of u is inside the interval."""
    runs = y.shape[1]
    d: dict[int, float] = {}
    factor: dict[int, float] = {}
    for item, row in enumerate(y):
        before, after = (part[~np.isnan(part)] for part in (row[:since], row[since:]))
        if len(before) and len(after):
            d[item] = after.mean() - before.mean()
            factor[item] = 1 / len(before) + 1 / len(after)
    if not d:
        return None
    m, n = runs - since, len(d)

    def residuals(u: float) -> list[list[float]]:
        """Return scores less their item's mean, once a change of u is taken off the later runs."""
        found = []
        for item, scores in enumerate(y):
            row = scores - (u * (np.arange(runs) >= since) if item in d else 0.0)
            mean = sum(row[~np.isnan(row)]) / max(1, np.count_nonzero(~np.isnan(row)))
            found.append([0.0 if math.isnan(each) else float(each - mean) for each in row])
        return found

    def variance(u: float) -> float:
        left = residuals(u)
        first = second = 0.0
        for cluster in set(clusters):
            own = [i for i in range(len(y)) if clusters[i] == cluster]
            paired = [i for i in own if i in d]
            first += sum(d[i] - u for i in paired) ** 2
            if paired:
                degrees = sum(max(int((~np.isnan(y[i])).sum()) - 1, 0) for i in own)
                square = sum(sum(left[i][run] for i in own) ** 2 for run in range(runs))
                second += square * sum(factor[i] for i in paired) / degrees
        return max(first, second) + span**2 * (1 / since + 1 / m) / 2

    unshifted = residuals(0.0)
    totals = [sum(unshifted[i][run] for i in range(len(y))) for run in range(runs)]
    ratio = 1.0
    if runs > 2:
        parts = (totals[:since], totals[since:])
        within = sum((t - sum(part) / len(part)) ** 2 for part in parts for t in part)
        own_square = sum(
            sum(unshifted[i][run] for i in range(len(y)) if clusters[i] == cluster) ** 2
            for cluster in set(clusters)
            for run in range(runs)
        )
        shown = within / own_square * (runs - 1)
        ratio = shown / (runs - 2) if stats.chi2.sf(shown, runs - 2) < 0.05 else 1.0
    mean = sum(d.values()) / n
    information = 9.0 * since * m / (since + m)
    weight = 1 / (since * (since + 1))
    z2 = (n * mean) ** 2 / (ratio * variance(0.0))
    e = weight * math.exp(information * z2 / (2 * (1 + information))) / math.sqrt(1 + information)
    k2 = (1 + 1 / information) * (2 * math.log(1 / ((1 - level) * weight)) + math.log(1 + information))
    return e, since, mean, lambda u: (n * (mean - u)) ** 2 <= k2 * ratio * variance(u)


def as_rows(found: tuple[Change, ...]) -> list[tuple[float, ...]]:
    return [(c.look, c.since, c.estimate, c.conf_low, c.conf_high, c.p_value) for c in found]  # type: ignore[misc]  # ends are there


@pytest.mark.parametrize("clustered", [False, True])
def test_a_small_table_is_its_definition(clustered: bool) -> None:
    y = drawn(14, 2, drop=0.4, seed=5)
    y[2, 1] = np.nan
    clusters = [0, 5, 5, 2, 3, 4, 6, 7, 1, 8, 9, 10, 1, 10] if clustered else list(range(14))
    found = as_rows(score_changes(y, clusters=clusters if clustered else None, conf_level=0.8))
    for own, other in zip(found, by_definition(y, clusters, 0.8), strict=True):
        assert own == pytest.approx(other, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(("n", "runs"), [(24, 4), pytest.param(28, 6, marks=pytest.mark.slow)])
def test_it_is_its_definition(n: int, runs: int, seed: int, clustered: bool) -> None:
    y = drawn(n, runs, drop=0.4, at=runs // 2, seed=seed)
    y[np.random.default_rng(seed + 10).random(y.shape) < 0.15] = np.nan
    clusters = [i % (3 * n // 4) for i in range(n)] if clustered else list(range(n))
    expected = by_definition(y, clusters, 0.9)
    found = as_rows(score_changes(y, clusters=clusters if clustered else None, conf_level=0.9))
    assert len(found) == len(expected) == runs - 1
    for own, other in zip(found, expected, strict=True):
        assert own == pytest.approx(other, rel=1e-6, abs=1e-9)


def test_the_boundary_is_that_of_the_normal_mixture_on_the_scale_of_information() -> None:
    y = drawn(200, 7, drop=0.1, at=4)
    last = score_changes(y, reference=4)[-1]
    d = y[:, 4:].mean(axis=1) - y[:, :4].mean(axis=1)
    information = 4 * 3 / 7
    k2 = float(mixture_half_width(information, 3.0)) ** 2 * information
    of_changes = float(np.square(d - d.mean()).sum()) + (1 / 4 + 1 / 3) / 2
    within = sum(float(np.square(part - part.mean(axis=1, keepdims=True)).sum()) for part in (y[:, :4], y[:, 4:]))
    # About a change of u the items' variances are (within + 12/7 sum of (d - u)^2)/6, times 7/12 in that of d.
    of_runs = (within * 7 / 12 + float(np.square(d - d.mean()).sum())) / 6 + (1 / 4 + 1 / 3) / 2
    half = max(math.sqrt(k2 * of_changes / (200 * (200 - k2))), math.sqrt(k2 * of_runs / (200 * (200 - k2 / 6))))
    assert last.dispersion == 1.0
    assert (last.conf_low, last.conf_high) == pytest.approx((d.mean() - half, d.mean() + half))


def test_the_weights_add_up_to_one() -> None:
    assert float(weights_of(np.arange(1, 100_000)).sum()) == pytest.approx(1.0, abs=2e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6), st.floats(0.0, 0.4))
def test_the_interval_and_p_agree_and_order_of_items_does_not_matter(seed: int, runs: int, drop: float) -> None:
    y = drawn(80, runs, drop=drop, at=runs // 2, seed=seed)
    found = score_changes(y)
    for each in found:
        assert each.p_value is not None
        assert each.clear == (each.p_value <= 0.05)
    shuffled = score_changes(y[np.random.default_rng(seed).permutation(80)])
    assert [c.since for c in shuffled] == [c.since for c in found]
    assert [c.estimate for c in shuffled] == pytest.approx([c.estimate for c in found])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_right_and_wrong_swapped_turns_the_sign(seed: int) -> None:
    y = drawn(60, 5, drop=0.2, at=3, seed=seed)
    for own, other in zip(score_changes(y), score_changes(1.0 - y), strict=True):
        assert own.since == other.since
        assert (own.estimate, own.conf_low, own.conf_high) == pytest.approx(
            (-other.estimate, -other.conf_high, -other.conf_low)
        )  # type: ignore[operator]  # ends are there


def test_a_look_knows_nothing_of_later_runs() -> None:
    y = drawn(100, 8, drop=0.3, at=5)
    assert score_changes(y)[:4] == score_changes(y[:, :5])


def test_a_model_that_answers_alike_every_time_has_an_interval_of_some_width() -> None:
    y = np.repeat(np.r_[np.ones(70), np.zeros(30)], 6).reshape(100, 6)
    last = score_changes(y)[-1]
    assert last.estimate == 0.0
    assert last.p_value == 1.0
    assert last.conf_low is not None
    assert -0.2 < last.conf_low < -0.01


def test_a_reference_is_compared_with_all_that_follows() -> None:
    y = drawn(300, 10, drop=0.15, at=4)
    found = score_changes(y, reference=4)
    assert {each.since for each in found} == {4}
    assert [each.look for each in found] == [4, 5, 6, 7, 8, 9]
    assert found[-1].estimate == pytest.approx(y[:, 4:].mean() - y[:, :4].mean())
    with pytest.raises(InputError, match="at least one must come after"):
        score_changes(y, reference=10)


def test_what_cannot_be_compared_has_no_interval() -> None:
    assert score_changes(np.ones((5, 1))) == ()
    few = score_changes(np.ones((9, 3)))
    assert [(each.conf_low, each.p_value) for each in few] == [(None, None)] * 2
    apart = np.full((40, 2), np.nan)
    apart[:20, 0] = apart[20:, 1] = 1.0
    assert score_changes(apart) == ()
    with pytest.raises(InputError, match="infinite"):
        score_changes([[1.0, math.inf]])


def test_a_lucky_run_without_rare_failures_is_no_certainty() -> None:
    # 5 of 100 answers fail by chance in every run, each time others; then none does, as 1 run in 150 has it.
    y = np.ones((100, 21))
    for run in range(20):
        y[(5 * run + np.arange(5)) % 100, run] = 0.0
    last = score_changes(y)[-1]
    assert not last.clear
    z = score_changes(y, reference=20)[-1]
    assert z.conf_low is not None
    # The normal approximation to 5 failures expected and none seen: z = 2.2.
    assert z.conf_low < -0.02


def test_whole_runs_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    moods = np.where(np.arange(12) % 3 == 0, 0.65, 0.85)
    y = (rng.random((300, 12)) < moods).astype(np.float64)
    plain = score_changes(rng.permuted(y, axis=1))[-1]
    moody = score_changes(y)[-1]
    assert moody.dispersion > 3.0
    assert not moody.clear
    assert plain.dispersion == 1.0
    lasting = score_changes(drawn(300, 12, drop=0.3, at=6, seed=2))[-1]
    assert (lasting.since, lasting.dispersion, lasting.clear) == (6, 1.0, True)


def test_a_run_of_few_items_does_not_hide_the_others() -> None:
    y = drawn(200, 8, drop=0.3, at=4)
    y[5:, 7] = np.nan
    last = score_changes(y)[-1]
    assert last.clear
    assert last.n_units == 200


def alarms(n: int, runs: int, rounds: int, seed: int, **change: float) -> float:
    """Return the share of rounds in which any look shows a change."""
    at = int(change.get("at", 1))
    found = [score_changes(drawn(n, runs, drop=change.get("drop", 0.0), at=at, seed=seed + k)) for k in range(rounds)]
    return float(np.mean([any(each.clear for each in looks) for looks in found]))


def test_without_drift_looks_after_ten_runs_seldom_alarm() -> None:
    assert alarms(60, 11, 60, seed=1) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 200, 600])
def test_without_drift_looks_after_each_of_30_runs_alarm_at_most_5_in_100(n: int) -> None:
    assert alarms(n, 31, 600, seed=n) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(100, 0.95), (500, 0.99), (40, 0.8)])
def test_failures_by_chance_alone_raise_few_alarms(n: int, p: float) -> None:
    rng = np.random.default_rng(n)
    rounds = [score_changes((rng.random((n, 30)) < p).astype(np.float64)) for _ in range(400)]
    assert np.mean([any(each.clear for each in looks) for looks in rounds]) <= 0.05


@pytest.mark.slow
def test_a_drop_of_5_points_on_500_items_is_seen_within_the_runs() -> None:
    assert alarms(500, 31, 150, seed=7, drop=0.05, at=10) >= 0.9
    assert alarms(100, 31, 150, seed=7, drop=0.05, at=10) <= 0.4


@pytest.mark.slow
def test_the_intervals_hold_the_change_at_every_look_and_place() -> None:
    missed = 0
    for seed in range(300):
        y = drawn(150, 15, drop=0.1, at=6, seed=seed)
        # What is estimated is the drop of the items that were drawn: the first draw of that seed.
        drop = 0.15 * float(np.random.default_rng(seed).beta(2.0, 1.0, 150).mean())
        for each in score_changes(y):
            level = np.where(np.arange(each.look + 1) >= 6, -drop, 0.0)
            truth = level[each.since :].mean() - level[: each.since].mean()
            assert each.conf_low is not None
            assert each.conf_high is not None
            if not each.conf_low <= truth <= each.conf_high:
                missed += 1
                break
    assert missed / 300 <= 0.05


@pytest.mark.parametrize(
    ("low", "high", "clear"), [(-0.2, 0.0, False), (0.0, 0.1, False), (-0.2, -0.1, True), (0.1, 0.2, True)]
)
def test_an_interval_that_touches_0_does_not_exclude_it(low: float, high: float, clear: bool) -> None:
    assert Change(look=2, since=1, estimate=0.5 * (low + high), n_units=9, conf_low=low, conf_high=high).clear is clear


@pytest.mark.parametrize("unit", [1e-4, 1e3])
def test_the_unit_of_scores_does_not_matter(unit: float) -> None:
    y = np.random.default_rng(3).normal(size=(400, 5)) + np.array([0.0, 0.15, -0.15, 0.09, -0.06])
    assert {each.dispersion > 1.0 for each in score_changes(y, span=8.0)} == {True, False}
    for own, other in zip(score_changes(y, span=8.0), score_changes(unit * y, span=unit * 8.0), strict=True):
        assert (other.since, other.n_units) == (own.since, own.n_units)
        assert (other.p_value, other.dispersion) == pytest.approx((own.p_value, own.dispersion), rel=1e-9)
        assert (other.estimate, other.conf_low, other.conf_high) == pytest.approx(
            (unit * own.estimate, unit * own.conf_low, unit * own.conf_high), rel=1e-9, abs=0
        )  # type: ignore[operator]  # ends are there


def test_an_interval_that_nothing_bounds_is_none() -> None:
    """At high levels the variance that a change of u would bring grows as fast as its square."""
    y, level, seen = drawn(10, 3, drop=0.4, at=2, seed=4), 0.5, []
    while level < 1.0 - 1e-6:
        (found,) = score_changes(y, conf_level=level, reference=2)
        *_, inside = _at_place(y, list(range(10)), 2, level, 1.0) or (lambda _: False,)
        # The reference is declared, so it has all of the weight that a search gives to place 2.
        (alone,) = score_changes(y, conf_level=1.0 - (1.0 - level) / 6.0, reference=2)
        assert (alone.conf_low is None) == inside(1e7) == inside(-1e7)
        assert (found.conf_low is None) <= (alone.conf_low is None)
        seen.append(alone.conf_low is None)
        level = 1.0 - 0.6 * (1.0 - level)
    assert set(seen) == {True, False}
    assert sorted(seen) == seen


@pytest.mark.parametrize(("n", "of_square"), [(1.0, 0.4), (3.0, 2.0), (10.0, 30.0)])
def test_ends_are_where_the_square_meets_the_variance(n: float, of_square: float) -> None:
    cross, rest, floor, square = -0.3, 1.7, 0.2, 1.3

    def beyond(u: float) -> float:
        return (n * u) ** 2 - square * (of_square * u * u + 2 * cross * u + rest + floor)

    for end in _ends((of_square, cross, rest), n=n, floor=floor, square=square) or ():
        assert beyond(end) == pytest.approx(0.0, abs=1e-9)
    assert _ends((of_square, cross, rest), n=n, floor=floor, square=n * n / of_square) is None


def test_ten_units_are_enough_and_the_first_run_can_be_the_reference() -> None:
    for n, enough in ((9, False), (10, True)):
        (found,) = score_changes(drawn(n, 2), conf_level=0.3)
        assert (found.conf_low is not None) == enough
    found = score_changes(drawn(30, 3), reference=1)
    assert [(each.look, each.since) for each in found] == [(1, 1), (2, 1)]
    with pytest.raises(InputError, match="at least 1"):
        score_changes(drawn(30, 3), reference=0)


def test_three_runs_show_that_whole_runs_differ() -> None:
    """Of the part with two runs: half the square of their totals' difference, over the mean square of the items' residuals."""
    y = (np.random.default_rng(6).random((40, 3)) < np.array([0.9, 0.45, 0.9])).astype(np.float64)
    first, last = score_changes(y)
    residuals = y - y.mean(axis=1, keepdims=True)
    totals = residuals.sum(axis=0)
    pair = totals[1:] if last.since == 1 else totals[:2]
    ratio = (pair[0] - pair[1]) ** 2 / 2 / (np.square(residuals).sum() / 2)
    assert ratio > stats.chi2.ppf(0.95, 1)
    assert last.dispersion == pytest.approx(ratio)
    assert first.dispersion == 1.0
