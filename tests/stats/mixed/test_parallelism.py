"""The test of parallel profiles: its size near 0% and 100%, with copies of models, with unlike scenarios; and what it finds."""

import itertools

import numpy as np
import pytest
from scipy import special

from evalstats.errors import CannotAnswerError
from evalstats.stats.mixed import interaction
from evalstats.stats.mixed.interaction import (
    _Arrangement,
    _largest,
    _level,
    _strata,
    _sum_of_squares,
    _within,
    parallelism_test,
)

ALPHA = 0.05


def laid(scores, *, crossed=False):
    """Lay scores of shape (models, scenarios, items) out by question."""
    n_models, n_scenarios, n_items = scores.shape
    scenario = np.repeat(np.arange(n_scenarios), n_items)
    unit = np.tile(np.arange(n_items), n_scenarios) if crossed else np.arange(len(scenario))
    return scores.transpose(1, 2, 0).reshape(-1, n_models), scenario, unit


def right_or_wrong(
    rng, n_models, n_scenarios, n_items, logit, *, item_sd=1.0, crossed=False, apart=0.0, copies=0, drop=0.0
):
    """Draw answers by the Rasch model; `apart` moves models and scenarios, `drop` one model in one scenario."""
    level = logit + item_sd * rng.normal(size=(1, 1 if crossed else n_scenarios, n_items))
    level = level + apart * np.linspace(-1, 1, n_scenarios)[None, :, None]
    level = level + apart * np.linspace(-1, 1, n_models)[:, None, None]
    level = np.broadcast_to(level, (n_models, n_scenarios, n_items)).copy()
    level[0, 0] -= drop
    scores = (rng.random(level.shape) < special.expit(level)).astype(float)
    if copies:
        same = rng.random((copies, n_scenarios, n_items)) < 0.9
        scores[:copies] = np.where(same, scores[:1], scores[:copies])
    return scores


def rejected(draw, n, *, crossed=False, binary=True, n_resamples=199):
    count = 0
    for seed in range(n):
        try:
            found = parallelism_test(
                *laid(draw(np.random.default_rng([5, seed])), crossed=crossed), binary=binary, n_resamples=n_resamples
            )
        except CannotAnswerError:
            continue
        count += found.p_value <= ALPHA
    return count / n


def test_against_every_permutation():
    """Two scenarios of four questions with the same number right: the share of all 70 arrangements."""
    scores = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1], [0, 1]], dtype=float)
    scenario = np.repeat([0, 1], 4)
    found = parallelism_test(scores, scenario, np.arange(8), binary=True, n_resamples=50_000, seed=3)
    observed = abs(scores[:4, 0].sum() - 2)
    at_least = [abs(scores[list(each), 0].sum() - 2) >= observed for each in itertools.combinations(range(8), 4)]
    assert found.p_value == pytest.approx(np.mean(at_least), abs=0.01)


@pytest.mark.parametrize("crossed", [False, True])
def test_size_near_the_ceiling(crossed):
    """Success near .9, where random signs of residuals alarm in 13% to 21%."""
    rate = rejected(
        lambda rng: right_or_wrong(rng, 5, 5, 40, 2.6, crossed=crossed), 60, crossed=crossed, n_resamples=99
    )
    assert rate <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / 60)


GRID = {
    "middle": (3, 3, 10, 0.0, {}),
    "many models": (8, 8, 10, 0.0, {}),
    "near 90%": (5, 5, 40, 2.6, {}),
    "near 95%, items alike": (5, 5, 40, 2.94, {"item_sd": 0.0}),
    "near 98%": (8, 8, 40, 4.4, {}),
    "near 2%": (3, 5, 100, -4.4, {}),
    "near 10%": (8, 3, 20, -2.6, {}),
    "apart": (5, 5, 40, 2.6, {"apart": 1.0}),
    "far apart": (5, 5, 40, 2.6, {"apart": 2.0}),
    "copies": (10, 4, 40, 2.6, {"copies": 8}),
}


@pytest.mark.slow
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("name", GRID)
def test_size_over_the_grid(name, crossed):
    n_models, n_scenarios, n_items, logit, more = GRID[name]
    n = 400
    rate = rejected(
        lambda rng: right_or_wrong(rng, n_models, n_scenarios, n_items, logit, crossed=crossed, **more),
        n,
        crossed=crossed,
    )
    assert rate <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / n)


GRADED = {
    "normal": lambda rng, item: rng.normal(size=(4, 4, 20)) + item,
    "skewed": lambda rng, item: rng.exponential(size=(4, 4, 20)) ** 2 + item + np.arange(4)[None, :, None],
    "scenarios scatter unlike": lambda rng, item: (
        rng.normal(size=(4, 4, 20)) * np.array([1, 1, 1, 3])[None, :, None] + item
    ),
    "models scatter unlike": lambda rng, item: (
        rng.normal(size=(4, 4, 20)) * np.array([1, 1, 1, 3])[:, None, None] + item + np.arange(4)[:, None, None]
    ),
    "ceiling": lambda rng, _: np.where(rng.random((4, 4, 20)) < 0.8, 1.0, rng.random((4, 4, 20))),
}


@pytest.mark.slow
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("name", GRADED)
def test_size_of_graded_scores(name, crossed):
    n = 400
    rate = rejected(
        lambda rng: GRADED[name](rng, rng.normal(size=(1, 1 if crossed else 4, 20))), n, crossed=crossed, binary=False
    )
    assert rate <= 0.06 + 3 * np.sqrt(ALPHA * (1 - ALPHA) / n)


@pytest.mark.parametrize("crossed", [False, True])
def test_one_break_is_found(crossed):
    draw = lambda rng: right_or_wrong(rng, 5, 5, 40, 2.6, crossed=crossed, drop=3.0)  # noqa: E731
    assert rejected(draw, 20, crossed=crossed, n_resamples=99) > 0.8


def test_hard_scenarios_and_unlike_models_are_no_interaction():
    """Only what a scenario does to one model and not to another counts; the size is in the grid."""
    scores = right_or_wrong(np.random.default_rng(6), 4, 3, 200, 0.0, apart=1.5)
    assert parallelism_test(*laid(scores), binary=True).p_value > 0.01
    assert parallelism_test(*laid(scores.mean(axis=0, keepdims=True)), binary=False).p_value < 0.01


def test_names_and_order_do_not_matter():
    scores, scenario, unit = laid(right_or_wrong(np.random.default_rng(7), 3, 4, 15, 0.0))
    one = parallelism_test(scores, scenario, unit, binary=True)
    turned = parallelism_test(scores[:, ::-1], 3 - scenario, unit, binary=True)
    assert turned.statistic == pytest.approx(one.statistic)
    assert parallelism_test(scores, scenario, unit, binary=True).p_value == one.p_value


def test_questions_without_a_difference_tell_nothing():
    """Questions that all models get right, added: their strata hold no variance, and nothing moves."""
    scores, scenario, unit = laid(right_or_wrong(np.random.default_rng(8), 3, 3, 30, 0.0))
    kept = scores.min(axis=1) != scores.max(axis=1)
    all_of_them = parallelism_test(scores, scenario, unit, binary=True)
    some = parallelism_test(scores[kept], scenario[kept], unit[kept], binary=True)
    assert some.statistic == pytest.approx(all_of_them.statistic)


def test_missing_scores_are_left_out():
    scores, scenario, unit = laid(right_or_wrong(np.random.default_rng(9), 4, 3, 60, 0.0, drop=4.0))
    scores[::11, 2] = np.nan
    assert parallelism_test(scores, scenario, unit, binary=True).p_value < 0.01


def test_units_move_whole():
    """Items with three versions in one scenario: versions that are copies tell no more than one does."""
    scores, scenario, unit = laid(right_or_wrong(np.random.default_rng(10), 3, 3, 12, 0.0, drop=1.0))
    p_once = parallelism_test(scores, scenario, unit, binary=True).p_value
    thrice = [np.repeat(each, 3, axis=0) for each in (scores, scenario, unit)]
    assert parallelism_test(*thrice, binary=True).p_value == pytest.approx(p_once, abs=0.05)
    apart = parallelism_test(thrice[0], thrice[1], np.arange(len(thrice[1])), binary=True).p_value
    assert apart < p_once


def test_what_cannot_be_tested_is_refused():
    with pytest.raises(CannotAnswerError, match="too few to permute"):
        parallelism_test(np.eye(4), np.arange(4) % 2, np.arange(4), binary=True)
    with pytest.raises(CannotAnswerError, match="no question is answered better"):
        parallelism_test(np.ones((10, 2)), np.arange(10) % 2, np.arange(10), binary=True)


def test_the_spread_over_groups_is_the_sum_of_squared_z():
    """Of every permutation, group and model: what is left over its standard deviation, the group being drawn from all."""
    rng = np.random.default_rng(4)
    labels, residual = rng.integers(0, 3, (5, 40)), rng.normal(size=(40, 2))
    variance = rng.uniform(0.2, 2.0, (40, 2))
    found = _sum_of_squares(labels, residual, variance, 3)
    for drawn, value in zip(labels, found, strict=True):
        total = 0.0
        for model in range(2):
            for group in range(3):
                own = variance[drawn == group, model].sum()
                total += residual[drawn == group, model].sum() ** 2 / (own * (1 - own / variance[:, model].sum()))
        assert value == pytest.approx(total)
    # A group whose questions tell nothing counts for nothing.
    flat = np.where((labels[0] == 1)[:, None], 0.0, variance)
    found = _sum_of_squares(labels[:1], residual, flat, 3)[0]
    total = 0.0
    for model in range(2):
        for group in (0, 2):
            own = flat[labels[0] == group, model].sum()
            z2 = residual[labels[0] == group, model].sum() ** 2 / (own * (1 - own / flat[:, model].sum()))
            total += z2
    assert found == pytest.approx(total)


def test_the_largest_t_is_that_of_a_group_against_the_mean_of_groups():
    rng = np.random.default_rng(5)
    labels, residual = rng.integers(0, 4, (5, 50)), rng.normal(size=(50, 3))
    for drawn, value in zip(labels, _largest(labels, residual, 4), strict=True):
        sizes = []
        for model in range(3):
            parts = [residual[drawn == group, model] for group in range(4)]
            means, errors = [p.mean() for p in parts], [p.var() / (len(p) - 1) for p in parts]
            for mean, error in zip(means, errors, strict=True):
                sizes.append(abs(mean - np.mean(means)) / np.sqrt((1 - 2 / 4) * error + sum(errors) / 16))
        assert value == pytest.approx(max(sizes))


def test_questions_of_one_level_are_together_and_strata_hold_enough():
    level = np.array([0.1, 0.9, 0.1, 0.5, 0.9, 0.9, 0.5 + 1e-12, 0.2])
    assert _strata(level, 1).tolist() == [0, 3, 0, 2, 3, 3, 2, 1]
    assert _strata(level, 3).tolist() == [0, 1, 0, 1, 1, 1, 1, 0]  # .1 and .2; .5 has two, so .9 is with it
    assert _strata(level, 4).tolist() == [0, 0, 0, 0, 0, 0, 0, 0]  # .1, .2 and .5 are five; the three of .9 are too few
    assert _strata(level, 9).tolist() == [0] * 8
    assert _strata(np.repeat([0.2, 0.4], 3), 3).tolist() == [0, 0, 0, 1, 1, 1]


def test_residuals_within_strata():
    scores = np.array([[1.0, 0.0], [3.0, np.nan], [5.0, 1.0], [2.0, 2.0]])
    stratum = np.array([0, 0, 0, 1])
    residual = _within(scores, stratum)
    assert residual == pytest.approx(np.array([[-2.0, -0.5], [0.0, 0.0], [2.0, 0.5], [0.0, 0.0]]))
    assert _level(scores) == pytest.approx([(-1.75 - 1) / 2, 0.25, (2.25 + 0) / 2, (-0.75 + 1) / 2])


def every_arrangement(group, unit, stratum):
    """All labels that permutation may give: groups of whole units within the stratum of their middle question, and a
    unit's own groups where it has several."""
    kinds = {}
    for each in np.unique(unit):
        own = sorted(set(group[unit == each].tolist()))
        key = ("whole", int(np.median(stratum[unit == each]))) if len(own) == 1 else ("own", int(each))
        kinds.setdefault(key, []).append((each, own))
    out = [group.copy()]
    for (kind, _), members in kinds.items():
        turned = []
        given = [own[0] for _, own in members] if kind == "whole" else members[0][1]
        for order in itertools.permutations(given):
            for labels in out:
                new = labels.copy()
                for at, (each, own) in enumerate(members):
                    if kind == "whole":
                        new[unit == each] = order[at]
                    else:
                        for before, after in zip(own, order, strict=True):
                            new[(unit == each) & (group == before)] = after
                turned.append(new)
        out = turned
    return [tuple(labels.tolist()) for labels in out]


def test_permutations_are_all_those_allowed_and_equally_likely():
    """Units whole within strata, one of them over two strata; others that are in two groups or in three."""
    unit = np.array([7, 7, 3, 1, 1, 1, 9, 4, 4, 5, 5, 5, 2, 2, 2])
    group = np.array([0, 0, 1, 2, 2, 2, 1, 0, 2, 0, 1, 2, 1, 3, 1])
    stratum = np.array([0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1])
    allowed = every_arrangement(group, unit, stratum)
    drawn = _Arrangement.of(group, unit, stratum, 4).drawn(4_000, np.random.default_rng(1))
    found, times = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(each) for each in found.tolist()} == set(allowed)
    # 2 x 2 whole units, two groups twice, three once.
    assert len(set(allowed)) == 2 * 2 * 2 * 2 * 6
    expected = 4_000 / 96
    assert np.abs(times - expected).max() < 5 * np.sqrt(expected)


def test_a_level_of_its_own_for_each_question_is_taken_out_of_graded_scores():
    rng = np.random.default_rng(11)
    scores, scenario, unit = rng.normal(size=(40, 3)), np.arange(40) % 4, np.arange(40)
    found = parallelism_test(scores, scenario, unit, binary=False, n_resamples=99)
    other = parallelism_test(scores + 10.0 * rng.normal(size=(40, 1)), scenario, unit, binary=False, n_resamples=99)
    assert other.statistic == pytest.approx(found.statistic)
    assert other.p_value == found.p_value
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    assert found.statistic == pytest.approx(_largest(scenario[None, :], residual, 4)[0])
    # One model alone: its scores as they are.
    alone = parallelism_test(scores[:, :1], scenario, unit, binary=True, n_resamples=99)
    centred = scores[:, :1] - scores[:, :1].mean()
    assert alone.statistic == pytest.approx(_largest(scenario[None, :], centred, 4)[0])


def test_strata_of_right_or_wrong_answers_hold_two_questions_for_each_group():
    """Two groups: levels share a stratum until it holds four questions, and each z has the variance within its stratum."""
    rng = np.random.default_rng(12)
    right = np.repeat([1, 2, 3, 4], [3, 2, 4, 7])
    scores = np.array([rng.permutation(np.arange(5) < k) for k in right], dtype=float)
    right = np.where(right == 1, 2, right)  # three are too few, five are enough
    scenario = np.arange(16) % 2
    found = parallelism_test(scores, scenario, np.arange(16), binary=True, n_resamples=9)
    residual, variance = np.empty_like(scores), np.empty_like(scores)
    for k in (2, 3, 4):
        own = scores[right == k]
        residual[right == k], variance[right == k] = own - own.mean(axis=0), own.var(axis=0, ddof=1)
    total = 0.0
    for model in range(5):
        for of in (0, 1):
            own = variance[scenario == of, model].sum()
            z2 = residual[scenario == of, model].sum() ** 2 / (own * (1 - own / variance[:, model].sum()))
            total += z2
    assert found.statistic == pytest.approx(total)


def test_every_draw_counts_once(monkeypatch):
    """Where all arrangements are alike, all of them reach the observed one; and draws come in blocks."""
    scores = np.tile([[1.0, 0.0], [0.0, 1.0]], (3, 1))
    same = np.zeros(6, dtype=np.int64)
    for block in (4_000_000, 5 * scores.size):
        monkeypatch.setattr(interaction, "_BLOCK", block)
        found = parallelism_test(scores, same, np.arange(6), binary=False, n_resamples=23)
        assert (found.p_value, found.n_resamples) == (1.0, 23)
    with pytest.raises(CannotAnswerError, match="5 independent units"):
        parallelism_test(scores[:5], same[:5], np.arange(5), binary=False)
    # However large the table, p can be as small as .002.
    monkeypatch.setattr(interaction, "_MOST_PERMUTED", 12)
    assert parallelism_test(scores, same, np.arange(6), binary=False).n_resamples == 499
    assert parallelism_test(scores, same, np.arange(6), binary=False, n_resamples=30).n_resamples == 30
    monkeypatch.setattr(interaction, "_MOST_PERMUTED", 700 * scores.size)
    assert parallelism_test(scores, same, np.arange(6), binary=False).n_resamples == 700


def test_why_nothing_can_be_tested_depends_on_how_many_models_there_are():
    same = np.zeros(8, dtype=np.int64)
    with pytest.raises(CannotAnswerError, match="no score differs"):
        parallelism_test(np.ones((8, 1)), same, np.arange(8), binary=False)


def test_small_groups_and_strata():
    """A group of one question adds no variance to the t of the others."""
    labels, residual = np.array([[0, 0, 1, 1, 1, 2]]), np.array([[1.0], [2.0], [-1.0], [0.5], [0.0], [4.0]])
    parts = [residual[labels[0] == group, 0] for group in range(3)]
    means = np.array([part.mean() for part in parts])
    errors = np.array([part.var() / max(len(part) - 1, 1) for part in parts])
    t = np.abs(means - means.mean()) / np.sqrt((1 - 2 / 3) * errors + errors.sum() / 9)
    assert _largest(labels, residual, 3)[0] == pytest.approx(t.max())
    assert _largest(labels, np.zeros((6, 2)), 3).tolist() == [0.0]
