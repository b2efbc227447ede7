"""Claims that one system scores more for less: what they need, and how often they are false."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.clusters import multiway_mean
from evalstats.stats.many.multiplicity import holm
from evalstats.stats.many.pareto import _firm, _tests, certain_dominance, unsure_savings
from evalstats.stats.paired.binary import PairedCounts, tango
from evalstats.stats.paired.means import has_unseen_tail, paired_t

Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def settled(n: int = 60, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Three systems: good and cheap, bad and dear, bad and cheap."""
    rng = np.random.default_rng(seed)
    scores = (rng.random((n, 3)) < [0.9, 0.3, 0.35]).astype(float)
    return scores, rng.lognormal(sigma=0.4, size=(n, 3)) * [1.0, 4.0, 0.9]


def test_the_better_and_cheaper_dominates() -> None:
    scores, costs = settled()
    found = certain_dominance(scores, costs, binary=True)
    # the third costs as little as the first: nothing is shown of the two
    assert found.tolist() == [[False, False, False], [True, False, False], [False, False, False]]


def test_both_differences_are_needed() -> None:
    scores, costs = settled()
    assert not certain_dominance(scores, np.tile(costs[:, :1], 3), binary=True).any()
    assert not certain_dominance(np.tile(scores[:, :1], 3), costs, binary=True).any()
    # a trade-off is no dominance, however sure both differences are
    assert not certain_dominance(scores[:, :2], costs[:, 1::-1], binary=True).any()


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_what_is_better_and_dearer_dominates_nothing_in_any_unit(unit: float) -> None:
    scores, costs = settled()
    good, cheap = np.column_stack([scores[:, 0], scores[:, 1]]), np.column_stack([costs[:, 1], costs[:, 0]])
    for order in ([0, 1], [1, 0]):
        assert not certain_dominance(unit * good[:, order], unit * cheap[:, order]).any()
        found = certain_dominance(unit * good[:, order], unit * cheap[:, order[::-1]])
        assert found.tolist() == [[False, order == [1, 0]], [order == [0, 1], False]]


def test_the_larger_p_decides_and_holm_adjusts_for_pairs() -> None:
    """Against the tests of pairs themselves, at levels on either side of the adjusted p."""
    scores, costs = settled(40, 3)
    p = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        gain = tango(PairedCounts.from_scores(scores[:, j], scores[:, i]))
        price = paired_t(costs[:, i] - costs[:, j])
        p.append(max(gain.p_value, price.p_value) if gain.estimate * price.estimate < 0 else 1.0)
    adjusted = holm(p)[0]
    assert 1e-12 < adjusted < 0.2
    for factor, expected in ((0.999, False), (1.001, True)):
        level = 1.0 - adjusted * factor
        assert certain_dominance(scores, costs, binary=True, conf_level=level)[1, 0] == expected


def test_order_of_systems_and_items_and_unit_of_cost_mean_nothing() -> None:
    scores, costs = settled()
    found = certain_dominance(scores, costs, binary=True)
    order, rows = [2, 0, 1], np.random.default_rng(2).permutation(60)
    turned = certain_dominance(scores[rows][:, order], 1e-4 * costs[rows][:, order], binary=True)
    assert turned.tolist() == found[np.ix_(order, order)].tolist()


def test_few_items_that_differ_show_nothing() -> None:
    """Five of 40 differ: p of the score test is .025, and a comparison of two would call it inconclusive."""
    scores, costs = np.zeros((40, 2)), np.ones((40, 2))
    for n, expected in ((5, False), (9, True)):
        scores[:n, 0], costs[:n, 0] = 1.0, 0.5
        assert certain_dominance(scores, costs, binary=True)[1, 0] == expected


def test_a_saving_that_is_the_same_on_every_item_counts_by_its_signs() -> None:
    scores, _ = settled()
    costs = np.tile([1.0, 2.0, 1.0], (60, 1))
    assert certain_dominance(scores, costs, binary=True).tolist()[1] == [True, False, False]
    few = certain_dominance(scores[:5], costs[:5], binary=True)
    assert not few.any()


def test_rare_dear_items_that_were_not_drawn_make_nothing_cheap() -> None:
    """Both cost 1 on average; the second has a long tail that few samples show."""
    rng = np.random.default_rng(5)
    scores = np.column_stack([np.zeros(50), np.ones(50)])
    claims = 0
    for _ in range(150):
        tails = np.exp(np.array([0.3, 1.2]) * rng.normal(size=(50, 2)) - np.array([0.3, 1.2]) ** 2 / 2)
        claims += certain_dominance(scores, tails, binary=True).any()
    # t alone would claim it in 11 of 100, 17 of 150
    assert claims / 150 < 0.05 + 3 * (0.05 * 0.95 / 150) ** 0.5


def test_clusters_are_the_unit() -> None:
    rng = np.random.default_rng(6)
    codes = np.repeat(np.arange(12), 10)
    effects = 0.8 * rng.normal(size=12)[codes]
    scores = np.column_stack([0.62 + 0.12 * effects, np.full(120, 0.6)]) + 0.02 * rng.normal(size=(120, 2))
    costs = rng.lognormal(sigma=0.3, size=(120, 2)) * [1.0, 3.0]
    apart = scores + np.array([0.5, 0.0])
    alone = certain_dominance(scores, costs)
    assert alone[1, 0] == (paired_t(scores[:, 0] - scores[:, 1]).p_value <= 0.05)
    assert alone[1, 0]
    assert not certain_dominance(scores, costs, clusters=[codes]).any()
    assert certain_dominance(apart, costs, clusters=[codes])[1, 0]
    few = np.minimum(codes, 3)
    assert not certain_dominance(apart, costs, clusters=[few]).any()
    # six clusters agree in 1 of 32 ways: enough; five in 1 of 16: not
    for n, expected in ((6, True), (5, False)):
        assert certain_dominance(apart, costs, clusters=[codes % n])[1, 0] == expected


def test_crossed_clusters_take_the_multiway_variance() -> None:
    rng = np.random.default_rng(7)
    first, second = np.repeat(np.arange(10), 12), np.tile(np.arange(12), 10)
    scores = rng.normal(size=(120, 2)) + np.column_stack([0.9 * rng.normal(size=12)[second] + 0.8, np.zeros(120)])
    costs = rng.lognormal(sigma=0.3, size=(120, 2)) * [1.0, 5.0]
    p = multiway_mean(scores[:, 0] - scores[:, 1], [first, second]).estimate.p_value
    for factor, expected in ((0.99, False), (1.01, True)):
        level = 1.0 - p * factor
        assert certain_dominance(scores, costs, clusters=[first, second], conf_level=level)[1, 0] == expected


def test_the_column_of_the_fewest_clusters_decides_whether_they_are_enough() -> None:
    scores, costs = settled()
    items = np.arange(60)
    assert certain_dominance(scores, costs, clusters=[items % 30, items % 20], binary=True).any()
    for columns in ([items % 4, items % 30], [items % 30, items % 4], [items % 4]):
        assert not certain_dominance(scores, costs, clusters=columns, binary=True).any()


def test_one_system_dominates_nobody() -> None:
    assert certain_dominance(np.ones((9, 1)), np.ones((9, 1))).tolist() == [[False]]


@pytest.mark.parametrize(
    ("scores", "costs"),
    [
        (np.ones((5, 2)), np.ones((5, 3))),
        (np.ones(5), np.ones(5)),
        (np.full((5, 2), np.nan), np.ones((5, 2))),
        (np.ones((5, 2)), np.full((5, 2), np.inf)),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), np.ones((2, 2))),
        (np.ones((2, 2)), np.array([[1.0, 2.0], [np.inf, 1.0]])),
        (np.ones((0, 2)), np.ones((0, 2))),
    ],
)
def test_tables_that_do_not_match_are_refused(scores: np.ndarray, costs: np.ndarray) -> None:
    with pytest.raises(InputError, match="complete cases only"):
        certain_dominance(scores, costs)


def same_scores(rng: np.random.Generator, n_clusters: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Five systems that score the same at costs far apart: every claim is false."""
    if n_clusters is None:
        scores = (rng.random((80, 5)) < 0.6).astype(float)
    else:
        shared = rng.normal(size=(n_clusters, 5))[np.arange(80) * n_clusters // 80]
        scores = (rng.normal(size=(80, 5)) + shared > 0).astype(float)
    return scores, rng.lognormal(sigma=0.3, size=(80, 5)) * 2.0 ** np.arange(5)


def same_costs(rng: np.random.Generator, tails: tuple[float, float] = (0.5, 0.5)) -> tuple[np.ndarray, np.ndarray]:
    """Four systems far apart in score at the same mean cost: every claim is false."""
    sd = np.array([*tails, *tails])
    return (rng.random((80, 4)) < [0.2, 0.45, 0.7, 0.95]).astype(float), np.exp(
        sd * rng.normal(size=(80, 4)) - sd**2 / 2
    )


def share_of_false_claims(draw: Draw, reps: int, seed: int, *, n_clusters: int | None = None) -> float:
    rng = np.random.default_rng(seed)
    clusters = [] if n_clusters is None else [np.arange(80) * n_clusters // 80]
    return np.mean(
        [
            certain_dominance(*draw(rng), clusters=clusters, bounds=(0, 1), binary=n_clusters is None).any()
            for _ in range(reps)
        ]
    ).item()


def test_claims_are_seldom_false() -> None:
    """At most .05 and four binomial standard errors."""
    for draw in (same_scores, same_costs):
        assert share_of_false_claims(draw, 40, 11) <= 0.05 + 4 * (0.05 * 0.95 / 40) ** 0.5
    clustered = share_of_false_claims(lambda rng: same_scores(rng, 16), 20, 12, n_clusters=16)
    assert clustered <= 0.05 + 4 * (0.05 * 0.95 / 20) ** 0.5


@pytest.mark.slow
def test_claims_are_false_in_at_most_five_of_a_hundred_data_sets() -> None:
    """4,000 data sets each; four binomial standard errors are .014."""
    limit = 0.05 + 4 * (0.05 * 0.95 / 4000) ** 0.5
    for draw in (same_scores, same_costs, lambda rng: same_costs(rng, (0.3, 1.2))):
        assert share_of_false_claims(draw, 4000, 13) <= limit
    for n_clusters in (16, 8):
        found = share_of_false_claims(lambda rng, n=n_clusters: same_scores(rng, n), 4000, 14, n_clusters=n_clusters)
        assert found <= limit


def test_up_to_thirty_clusters_the_sign_flip_must_agree() -> None:
    """One cluster decides the mean; flips of clusters see that."""
    for count, firm in ((20, False), (30, False), (31, True)):
        codes = np.arange(count)
        differences = np.where(codes == 0, 9.0, np.where(codes % 2, 1.0, -1.0))
        assert _firm(differences, (codes, count), 0.05, 0) == firm
    assert _firm(np.linspace(1, 2, 20), (np.arange(20), 20), 0.05, 0)


def test_without_clusters_six_items_must_differ() -> None:
    for differing, firm in ((5, False), (6, True)):
        assert _firm(np.r_[np.ones(differing), np.zeros(20)], None, 0.05, 0) == firm


@pytest.mark.parametrize("clustered", [False, True])
def test_a_saving_is_unsure_where_a_comparison_of_two_would_say_so(clustered: bool) -> None:
    """Of items, or of what clusters add to the means, with the error shared by the three pairs."""
    codes = np.arange(60) // 3
    found = []
    for seed in range(8):
        costs = np.random.default_rng(seed).lognormal(sigma=[0.3, 1.0, 1.5], size=(60, 3)) * [1.3, 1.0, 0.6]
        parts = costs - costs.mean(axis=0)
        if clustered:
            parts = np.array([parts[codes == g].sum(axis=0) for g in range(20)])
        expected = np.zeros((3, 3), dtype=bool)
        for cheap, dear in permutations(range(3), 2):
            saved = costs[:, dear] - costs[:, cheap]
            if saved.mean() > 0.0:
                p = multiway_mean(saved, [codes]).estimate.p_value if clustered else paired_t(saved).p_value
                expected[cheap, dear] = 3 * p > 0.05 / 500 and has_unseen_tail(-parts[:, cheap], -parts[:, dear])
        assert (unsure_savings(costs, clusters=[codes] if clustered else []) == expected).all()
        found.append(expected.any())
    assert set(found) == {True, False}


def test_five_equal_clusters_are_enough_where_the_level_is_within_reach() -> None:
    """Signs of five clusters reach a p of 2/32."""
    rng = np.random.default_rng(5)
    scores, costs = rng.normal(size=(40, 2)) * 0.1 + [3.0, 0.0], rng.normal(size=(40, 2)) * 0.1 + [1.0, 5.0]
    codes = np.arange(40) % 5
    assert certain_dominance(scores, costs, clusters=[codes], conf_level=0.9)[1, 0]
    assert not certain_dominance(scores, costs, clusters=[codes], conf_level=0.95).any()
    assert not certain_dominance(scores, costs, clusters=[np.arange(40) % 4], conf_level=0.6).any()


def test_what_cannot_be_tested_has_a_p_of_1() -> None:
    values, codes = np.tile([1.0, 3.0], (30, 1)), np.arange(30) % 6
    for columns in ([codes], [codes, np.arange(30) // 5]):
        estimates, p = _tests(values, [(0, 1), (1, 0)], columns, None, binary=False)
        assert (estimates.tolist(), p.tolist()) == ([-2.0, 2.0], [1.0, 1.0])
    estimates, p = _tests(values, [(1, 0)], [], None, binary=False)
    assert (estimates.tolist(), p.tolist()) == ([2.0], [pytest.approx(2.0**-29)])


def test_a_difference_that_is_the_same_on_every_item_is_tested_by_its_signs() -> None:
    values = np.random.default_rng(2).normal(size=12)
    estimates, p = _tests(np.column_stack([values, values + 1.0]), [(0, 1)], [], None, binary=False)
    assert estimates == pytest.approx([-1.0])
    assert p == pytest.approx([2.0**-11])


def test_each_pair_is_tested_by_its_difference() -> None:
    """Crossed clusters by the multiway variance; the same difference on every item by its signs."""
    rng = np.random.default_rng(8)
    values, columns = rng.normal([1.0, -1.0, 0.0], size=(60, 3)), [np.arange(60) % 6, np.arange(60) // 10]
    pairs = [(0, 1), (2, 1)]
    estimates, p = _tests(values, pairs, columns, None, binary=False)
    for (i, j), estimate, value in zip(pairs, estimates, p, strict=True):
        alone = multiway_mean(values[:, i] - values[:, j], columns).estimate
        assert (estimate, value) == (pytest.approx(alone.estimate), pytest.approx(alone.p_value))
        assert estimate == pytest.approx(values[:, i].mean() - values[:, j].mean())
    # A common level that varies, and a difference that does not: too few items for t to be infinite.
    level = np.array([1.0, -2.0, 3.0, -4.0, 1.0])
    same = np.column_stack([level, level - 8.0])
    assert _tests(same, [(0, 1)], [], None, binary=False)[1].tolist() == [pytest.approx(2.0**-4)]


def test_signs_of_clusters_that_just_reach_the_level_are_enough() -> None:
    """Five clusters one way: 2 of 32 patterns are as extreme, which is 1 less .9375."""
    assert _firm(np.linspace(1, 2, 5), (np.arange(5), 5), 0.0625, 0)
    assert not _firm(np.linspace(1, 2, 5), (np.arange(5), 5), 0.0624, 0)
