"""Differences of two models by a judge and people: definitions, properties, and coverage where the judge favours one side."""

import numpy as np
import pytest
from scipy import stats

from dev.validation.judge_world import JudgeWorld, _standard, corrected_intervals
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.raters.correction import (
    judge_errors,
    judged_pair,
    powered_difference,
    powered_mean,
    rogan_gladen,
    rogan_gladen_difference,
)


def sample(n_labels: int = 80, n: int = 300, seed: int = 1):
    world = JudgeWorld(n_items=n, n_labels=n_labels, rates=(0.5, 0.6), sensitivity=(0.9, 0.95), false_yes=(0.1, 0.3))
    return world.draw(np.random.default_rng(seed))


def test_each_side_of_the_error_rates_is_rogan_and_gladens():
    pair = sample()
    known = np.isfinite(pair.labels[:, 0])
    shares = []
    for side in (0, 1):
        f, y = pair.judged[:, side], pair.labels[:, side]
        errors = judge_errors(f[known], y[known])
        shares.append(rogan_gladen(int(f.sum()), f.size, errors).estimate)
    assert rogan_gladen_difference(pair).estimate == pytest.approx(shares[1] - shares[0])


def test_the_error_of_the_error_rates_is_that_of_a_bootstrap():
    pair, rng = sample(n_labels=150, n=600), np.random.default_rng(2)
    drawn = []
    for _ in range(600):
        rows = rng.integers(0, len(pair.judged), len(pair.judged))
        drawn.append(rogan_gladen_difference(judged_pair(pair.judged[rows], pair.labels[rows])).estimate)
    assert rogan_gladen_difference(pair).std_error == pytest.approx(np.std(drawn), rel=0.1)


def test_swapping_and_shuffling():
    pair = sample()
    rows = np.random.default_rng(1).permutation(len(pair.judged))
    for statistic in (rogan_gladen_difference, lambda each: powered_difference(each).estimate):
        one = statistic(pair)
        swapped = statistic(judged_pair(pair.judged[:, ::-1], pair.labels[:, ::-1]))
        assert (-swapped.estimate, -swapped.conf_high) == pytest.approx((one.estimate, one.conf_low))
        mixed = statistic(judged_pair(pair.judged[rows], pair.labels[rows]))
        assert (mixed.estimate, mixed.conf_low, mixed.p_value) == pytest.approx(
            (one.estimate, one.conf_low, one.p_value)
        )


def test_each_item_twice_as_clusters_is_each_item_once():
    pair = sample()
    double = judged_pair(
        np.repeat(pair.judged, 2, axis=0),
        np.repeat(pair.labels, 2, axis=0),
        clusters=np.repeat(np.arange(len(pair.judged)), 2),
    )
    one, two = rogan_gladen_difference(pair), rogan_gladen_difference(double)
    assert (two.estimate, two.std_error) == pytest.approx((one.estimate, one.std_error))


def test_what_cannot_be_corrected_says_why():
    pair = sample()
    with pytest.raises(CannotAnswerError, match="19 items have labels for both sides"):
        powered_difference(sample(n_labels=19))
    assert powered_difference(sample(n_labels=20)).n_labels == 20
    with pytest.raises(CannotAnswerError, match="no judge is needed"):
        powered_difference(judged_pair(pair.judged, pair.judged))
    with pytest.raises(CannotAnswerError, match="only one of yes and no"):
        rogan_gladen_difference(judged_pair(pair.judged, np.where(np.isfinite(pair.labels), 1.0, np.nan)))
    with pytest.raises(InputError, match="two columns"):
        judged_pair(pair.judged[:, 0], pair.labels[:, 0])
    with pytest.raises(InputError, match="lacks a score"):
        judged_pair(np.full((5, 2), np.nan), np.zeros((5, 2)))
    with pytest.raises(InputError, match="4 probabilities of 5 items"):
        judged_pair(np.zeros((5, 2)), np.zeros((5, 2)), probabilities=np.full(4, 0.5))
    with pytest.raises(InputError, match="two columns"):
        judged_pair(np.zeros((5, 3)), np.zeros((5, 3)))
    with pytest.raises(InputError, match="two columns"):
        judged_pair(np.zeros((5, 2)), np.zeros((4, 2)))


@pytest.mark.parametrize(("scale", "pseudo"), [((0.0, 1.0), 0.5), ((0.0, 100.0), 50.0), ((0.0, 0.5, 1.0), 0.0)])
def test_differences_of_yes_or_no_have_two_residuals_more_half_a_scale_off(scale, pseudo):
    """Two values are yes or no on any scale; a third is graded, and has none."""
    rng = np.random.default_rng(4)
    judged, labels = rng.choice(scale, (2, 300, 2))
    labels[40:] = np.nan
    f, d = np.diff(judged)[:, 0], np.diff(labels[:40])[:, 0]
    assert powered_difference(judged_pair(judged, labels)) == powered_mean(f[40:], f[:40], d, pseudo=pseudo)


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [20, 50, 100, 200])
def test_a_judge_who_passes_rare_failures_of_one_side_makes_no_difference(n_labels):
    """The judge passes 70% of the 5% failures of one of two equal models; few labels hold such a failure."""
    world = JudgeWorld(
        n_items=1000, n_labels=n_labels, rates=(0.95, 0.95), sensitivity=(1.0, 1.0), false_yes=(0.7, 0.0)
    )
    rng, repeats = np.random.default_rng(7), 2000
    found = [powered_difference(world.draw(rng)).estimate for _ in range(repeats)]
    missed = np.mean([e.conf_low is None or not e.conf_low <= 0.0 <= e.conf_high for e in found])
    assert missed < 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [20, 50, 100, 200])
@pytest.mark.parametrize("kind", ["yes or no", "1 to 10", "clusters"])
def test_corrected_intervals_hold_the_truth_where_the_judge_favours_one_side(n_labels, kind):
    world = {
        "yes or no": JudgeWorld(n_items=1000, n_labels=n_labels, sensitivity=(0.85, 0.95), false_yes=(0.15, 0.3)),
        "1 to 10": JudgeWorld(n_items=1000, n_labels=n_labels, graded=True, leaning=0.6),
        "clusters": JudgeWorld(
            n_items=1000, n_labels=n_labels, sensitivity=(0.85, 0.95), false_yes=(0.15, 0.3), n_clusters=50
        ),
    }[kind]
    rng, repeats = np.random.default_rng(6), 1500
    found = [corrected_intervals(world, rng) for _ in range(repeats)]

    def held(method: str) -> float:
        ends = [each[method] for each in found]
        return float(np.mean([e.conf_low is not None and e.conf_low <= world.truth <= e.conf_high for e in ends]))

    error = 4 * np.sqrt(0.95 * 0.05 / repeats)
    assert 0.95 - error - 0.01 < held("corrected") < 0.985
    assert held("judge alone") < 0.7


def test_simulated_items_vary_by_one_and_share_as_much_as_stated():
    """Half of the variance is the item's, in both models; three tenths of either part are the cluster's."""
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(40_000), 2)
    for groups in (None, codes):
        found = _standard(rng, codes.size, groups)
        first, second = found[0::2], found[1::2]
        np.testing.assert_allclose(found.var(axis=0), 1.0, atol=0.03)
        assert np.mean(found[:, 0] * found[:, 1]) == pytest.approx(0.5, abs=0.03)
        within = 0.0 if groups is None else 0.3
        np.testing.assert_allclose((first * second).mean(axis=0), within, atol=0.03)
        assert np.mean(first[:, 0] * second[:, 1]) == pytest.approx(0.5 * within, abs=0.03)


def test_a_leaning_judge_favours_the_candidate_by_as_much():
    world = JudgeWorld(n_items=20_000, n_labels=100, graded=True, leaning=0.5)
    pair = world.draw(np.random.default_rng(6))
    assert world.truth == 0.0
    assert np.diff(pair.judged.mean(axis=0))[0] == pytest.approx(0.5, abs=0.08)


def weighted_difference(weights, pair):
    """Candidate minus baseline by the judge's error rates, each item counted by its weight."""
    shares = []
    for side in (0, 1):
        f, y = pair.judged[:, side], pair.labels[:, side]
        yes, no = y == 1, y == 0
        p = np.average(f, weights=weights)
        sensitivity = np.average(f[yes], weights=weights[yes])
        specificity = 1 - np.average(f[no], weights=weights[no])
        shares.append((p + specificity - 1) / (sensitivity + specificity - 1))
    return shares[1] - shares[0]


@pytest.mark.parametrize("clustered", [False, True])
def test_the_error_is_that_of_what_every_item_moves(clustered):
    """Derivatives by the items' weights, summed over clusters, squared; t with a degree less than labelled units."""
    pair = sample(n_labels=60, n=150, seed=5)
    codes = np.arange(150) // 5 if clustered else np.arange(150)
    if clustered:
        pair = judged_pair(pair.judged, pair.labels, clusters=codes)
    moved = []
    for i in range(150):
        up, down = np.ones(150), np.ones(150)
        up[i], down[i] = 1.001, 0.999
        moved.append((weighted_difference(up, pair) - weighted_difference(down, pair)) / 0.002)
    labelled = np.isfinite(pair.labels).any(axis=1)
    units = np.unique(codes[labelled]).size
    squares = np.square(np.bincount(codes, weights=moved)).sum()
    found = rogan_gladen_difference(pair, conf_level=0.9)
    assert found.estimate == pytest.approx(weighted_difference(np.ones(150), pair), rel=1e-12)
    assert found.std_error == pytest.approx(np.sqrt(squares * units / (units - 1)), rel=1e-5)
    assert (found.df, found.n, found.n_clusters) == (units - 1, 150, units if clustered else None)
    t = found.estimate / found.std_error
    reach = stats.t(units - 1).ppf(0.95) * found.std_error
    assert (found.conf_low, found.conf_high) == pytest.approx((found.estimate - reach, found.estimate + reach))
    assert (found.statistic, found.p_value) == pytest.approx((t, 2 * stats.t(units - 1).sf(abs(t))))


def test_a_judge_that_never_errs_on_labels_has_no_interval_and_few_clusters_none_either():
    people = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 10)
    same = judged_pair(np.tile([[0.0, 1.0], [1.0, 0.0]], (20, 1)), np.tile([[0.0, 1.0], [1.0, 0.0]], (20, 1)))
    found = rogan_gladen_difference(same)
    assert found.estimate == pytest.approx(0.0)
    clustered = judged_pair(people, people, clusters=np.arange(40) % 4)
    assert "4 clusters" in str(rogan_gladen_difference(clustered).reason)
    assert rogan_gladen_difference(clustered).conf_low is None


@pytest.mark.parametrize(
    ("judged", "labels", "says"),
    [
        ([0, 1, 0, 1], [np.nan] * 4, "no labels"),
        ([0, 1, 0, 1], [1, 1, np.nan, 1], "only one of yes and no"),
        ([0, 1, 0, 1], [1, 0, np.nan, np.nan], "do not exceed 1"),
        ([0, 0, 1, 1], [0, 1, 0, 1], "do not exceed 1"),
    ],
)
def test_labels_that_tell_nothing_of_one_side_are_refused(judged, labels, says):
    fine = np.array([[0.0, 1, 0, 1], [0.0, 1, np.nan, np.nan]])
    for order in (slice(None), slice(None, None, -1)):
        both = [
            np.column_stack([np.array(each, float), known][order])
            for each, known in ((judged, fine[0]), (labels, fine[1]))
        ]
        with pytest.raises(CannotAnswerError, match=says):
            rogan_gladen_difference(judged_pair(*both))


def test_labels_drawn_with_unequal_chances_are_not_corrected_by_error_rates():
    pair = sample()
    with pytest.raises(CannotAnswerError, match="unequal chances"):
        rogan_gladen_difference(judged_pair(pair.judged, pair.labels, probabilities=np.full(len(pair.judged), 0.3)))


def test_graded_scores_of_a_simulation_are_whole_and_on_the_scale():
    pair = JudgeWorld(n_items=4000, n_labels=4000, graded=True, leaning=3.0).draw(np.random.default_rng(9))
    for side in (pair.judged, pair.labels):
        assert (side == np.rint(side)).all()
        assert (side.min(), side.max()) == (1.0, 10.0)
