"""Drift within runs: planted changes, silence for sorted files and weak categories, error rates."""

import numpy as np
import pytest
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.score_drift import run_drifts


def drawn(rng: np.random.Generator, n: int, m: int, *, ease: np.ndarray | None = None, extra: float | np.ndarray = 0.0):
    ease = rng.normal(size=n) * 2 if ease is None else ease
    return (rng.random((n, m)) < 1 / (1 + np.exp(-(rng.normal(size=m) * 1.5 + extra + ease[:, None])))).astype(float)


def places(n: int, m: int) -> np.ndarray:
    return np.repeat(np.arange(float(n))[:, None], m, axis=1)


def test_the_statistic_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    scores, order = drawn(rng, 120, 4), rng.permuted(places(120, 4), axis=0)
    found = run_drifts(scores, order)
    for each in found:
        rows = np.argsort(order[:, each.run])
        excess = [scores[i, each.run] - scores[i].mean() for i in rows]
        v = [scores[i].var() for i in rows]
        b = sum(excess) / sum(v)
        values = np.array([e - b * w for e, w in zip(excess, v, strict=True)])
        path = np.abs(np.cumsum(values))
        assert each.p_value == pytest.approx(special.kolmogorov(path.max() / np.sqrt((values**2).sum())))
        assert each.at == pytest.approx((path.argmax() + 1) / 120)
        cut = path.argmax() + 1
        assert each.change == pytest.approx(values[cut:].mean() - values[:cut].mean())


def test_a_run_that_breaks_is_found_and_alone():
    rng = np.random.default_rng(1)
    scores = drawn(rng, 600, 5)
    scores[400:, 3] *= rng.random(200) < 0.5
    found = run_drifts(scores, places(600, 5))
    assert [each.run for each in found if each.clear] == [3]
    assert found[0].at == pytest.approx(2 / 3, abs=0.1)
    assert found[0].change < -0.1
    backwards = run_drifts(scores, -places(600, 5))
    assert backwards[0].change == pytest.approx(-found[0].change, abs=0.02)
    rows = rng.permutation(600)
    again = run_drifts(scores[rows], places(600, 5)[rows])
    assert [(each.run, each.at) for each in again] == [(each.run, each.at) for each in found]
    assert [each.p_value for each in again] == pytest.approx([each.p_value for each in found])


def test_runs_that_stop_half_way_do_not_make_a_file_look_sorted():
    """The others' mean is over those that answered: where fewer do, it stays what it was."""
    rng = np.random.default_rng(1)
    scores = (rng.random((600, 6)) < 0.7).astype(float)
    scores[400:, 1] *= rng.random(200) < 0.5
    scores[300:, 3:] = np.nan
    found = run_drifts(scores, places(600, 6))
    assert [each.run for each in found if each.clear] == [1]


def test_a_batch_of_one_time_is_one_unit_and_few_units_are_not_tested():
    rng = np.random.default_rng(2)
    scores = drawn(rng, 200, 3)
    assert run_drifts(scores, np.floor(places(200, 3) / 20)) == ()
    batched = np.floor(places(200, 3) / 4)
    one = run_drifts(scores, batched)
    inside = rng.permuted(np.arange(200).reshape(50, 4), axis=1).ravel()
    assert [each.p_value for each in run_drifts(scores[inside], batched)] == pytest.approx(
        [each.p_value for each in one]
    )
    unknown = places(200, 3)
    unknown[:, 1] = np.nan
    assert [each.run for each in run_drifts(scores, unknown)] == [0, 2]
    with pytest.raises(InputError, match="at least 3"):
        run_drifts(scores[:, :2], unknown[:, :2])


@pytest.mark.parametrize("worlds", [40, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["random", "sorted", "partly sorted", "weak categories", "graded"])
def test_sound_runs_are_flagged_as_rarely_as_promised(kind: str, worlds: int):
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(worlds):
        n, m = 300, 6
        ease, strata, extra = rng.normal(size=n) * 2, None, 0.0
        if kind == "sorted":
            ease.sort()
        if kind == "partly sorted":
            ease = ease[np.argsort(0.05 * ease + rng.normal(size=n))]
        if kind == "weak categories":
            strata = np.arange(n) // 30
            extra = rng.normal(size=(10, m))[strata]
        scores = rng.normal(size=(n, m)) if kind == "graded" else drawn(rng, n, m, ease=ease, extra=extra)
        alarms += any(each.clear for each in run_drifts(scores, places(n, m), strata=strata))
    assert alarms / worlds <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / worlds)


def test_runs_without_noise_have_no_drift_and_p_is_at_most_1():
    """Equal runs leave nothing beside the items' means; a run that differs by the same everywhere leaves nothing either."""
    rng = np.random.default_rng(4)
    base = rng.random(40)
    assert run_drifts(np.repeat(base[:, None], 4, axis=1), places(40, 4)) == ()
    found = run_drifts(drawn(rng, 80, 6), places(80, 6))
    assert len(found) > 2
    for each in found:
        assert each.p_adjusted == min(1.0, 6 * each.p_value)
    assert max(each.p_adjusted for each in found) == 1.0


def test_twenty_units_are_enough():
    scores = drawn(np.random.default_rng(5), 80, 3)
    assert run_drifts(scores, np.floor(places(80, 3) * 19 / 80)) == ()
    assert len(run_drifts(scores, np.floor(places(80, 3) * 20 / 80))) > 0


def test_missing_scores_strata_and_times_by_loops():
    """Each score less its item's mean over the runs that have it; what a stratum has for its variance is taken out."""
    rng = np.random.default_rng(6)
    n, scores = 120, drawn(rng, 120, 4)
    scores[rng.random((n, 4)) < 0.3] = np.nan
    strata, order = rng.integers(0, 3, n), rng.permuted(places(n, 4) // 2, axis=0)
    order[rng.random((n, 4)) < 0.05] = np.nan
    found = run_drifts(scores, order, strata=strata)
    assert [each.run for each in found] == [0, 1, 2, 3]
    for each in found:
        rows = [i for i in range(n) if np.isfinite(scores[i, each.run]) and np.isfinite(order[i, each.run])]
        rows = sorted((i for i in rows if np.isfinite(scores[i]).sum() > 1), key=lambda i: order[i, each.run])
        excess = {i: scores[i, each.run] - np.nanmean(scores[i]) for i in rows}
        v = {i: np.nanvar(scores[i]) for i in rows}
        values = []
        for i in rows:
            alike = [k for k in rows if strata[k] == strata[i]]
            values.append(excess[i] - v[i] * sum(excess[k] for k in alike) / sum(v[k] for k in alike))
        times = [order[i, each.run] for i in rows]
        ends = [k for k in range(len(rows)) if k + 1 == len(rows) or times[k + 1] > times[k]]
        path = np.array([sum(values[: k + 1]) for k in ends])
        noise = np.square(np.diff(path, prepend=0.0)).sum()
        cut = ends[int(np.abs(path).argmax())] + 1
        assert each.n_items == len(rows)
        assert each.p_value == pytest.approx(special.kolmogorov(np.abs(path).max() / np.sqrt(noise)))
        assert each.at == pytest.approx(cut / len(rows))
        assert each.change == pytest.approx(np.mean(values[cut:]) - np.mean(values[:cut]))
