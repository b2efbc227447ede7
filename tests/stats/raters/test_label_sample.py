"""Samples of items to label: allocation against its definition, known chances, and the suspicion of a chosen part."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.stats import fisher_exact

from dev.validation.judge_world import JudgeWorld
from dev.validation.label_samples import DIFFERENCE, SCORE, WORLDS, replicate
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.raters import label_sample
from evalstats.stats.raters.label_sample import (
    LEAST_IN_STRATUM,
    chosen_part,
    draw_sample,
    label_strata,
    neyman_allocation,
)


def test_neymans_allocation_has_the_least_variance_of_all():
    """All allocations of 24 labels to three strata, counted out: none has a smaller variance of the mean."""
    sizes, spreads = np.array([60, 30, 10]), np.array([0.5, 0.3, 0.4])

    def variance(counts: np.ndarray) -> float:
        return float((np.square(sizes / 100 * spreads) / counts).sum())

    found = neyman_allocation(sizes, spreads, 24, least=1)
    every = [np.array((a, b, 24 - a - b)) for a, b in product(range(1, 22), repeat=2) if a + b < 24]
    assert found.sum() == 24
    assert variance(found) <= 1.01 * min(variance(each) for each in every if (each <= sizes).all())


def test_a_stratum_gets_no_more_than_it_has_and_at_least_five():
    assert neyman_allocation([10, 500], [1, 0.01], 100).tolist() == [10, 90]
    assert neyman_allocation([50, 500], [1, 0.0], 60).tolist() == [50, 10]
    assert neyman_allocation([500, 500], [1, 0.0], 60).tolist() == [60 - LEAST_IN_STRATUM, LEAST_IN_STRATUM]
    assert neyman_allocation([10, 50], [1, 0.1], 60).tolist() == [10, 50]
    for n in (7, 61):
        with pytest.raises(InputError, match="labels cannot be drawn"):
            neyman_allocation([10, 50], [1, 0.1], n)


def test_strata_of_the_judges_score():
    two = np.tile([1.0, 1.0, 1.0, 0.0], 50)[:, None]
    codes, spreads = label_strata(two, "stratified")
    assert np.array_equal(codes, two[:, 0])
    assert spreads == pytest.approx([0.3, 0.3])
    graded = np.arange(40.0)[:, None]
    codes, spreads = label_strata(graded, "stratified")
    assert np.bincount(codes).tolist() == [10, 10, 10, 10]
    assert (np.diff(codes) >= 0).all()
    assert spreads[1] > spreads[0]
    assert label_strata(np.ones((9, 2)), "stratified")[0].max() == 0
    assert label_strata(graded, "random")[0].max() == 0


def test_strata_of_disagreement_halve_the_labels():
    judged = np.column_stack((np.zeros(100), np.arange(100) < 20)).astype(float)
    codes, spreads = label_strata(judged, "disagreement")
    assert np.array_equal(codes, judged[:, 1])
    assert neyman_allocation(np.bincount(codes), spreads, 30).tolist() == [15, 15]
    most = np.column_stack((np.zeros(100), np.arange(100) < 70)).astype(float)
    assert np.array_equal(label_strata(most, "disagreement")[0], most[:, 1])
    with pytest.raises(InputError, match="two systems"):
        label_strata(judged[:, :1], "disagreement")
    with pytest.raises(CannotAnswerError, match="no item apart"):
        label_strata(np.ones((9, 2)), "disagreement")


def test_a_drawn_item_comes_as_often_as_its_chance_says():
    codes, counts, seen = np.repeat([0, 1], [30, 10]), np.array([6, 5]), np.zeros(40)
    for seed in range(400):
        places, chances = draw_sample(codes, counts, np.random.default_rng(seed))
        assert len(set(places.tolist())) == 11
        assert chances == pytest.approx(np.where(codes[places] == 0, 0.2, 0.5))
        # As many items as there are, by Horvitz and Thompson.
        assert (1 / chances).sum() == pytest.approx(40)
        seen[places] += 1
    # Four standard errors of a share of 400 draws.
    assert np.abs(seen / 400 - np.where(codes == 0, 0.2, 0.5)).max() < 0.1


def test_a_chosen_part_is_fishers_exact_test_of_the_score():
    judged = np.repeat([1.0, 0.0], [120, 180])[:, None]
    for own in range(30, 42):
        labelled = np.r_[np.arange(120) < own, np.arange(180) < 20]
        table = [[own, 120 - own], [20, 160]]
        tail = min(fisher_exact(table, "greater")[1], fisher_exact(table, "less")[1])
        found = chosen_part(judged, labelled)
        # The distance from the mean of a share is the share again: two features.
        assert (found is None) == (min(1.0, 2 * tail) * 2 >= 0.001)
        if found is not None:
            assert found == ("score", pytest.approx(own / (own + 20)), pytest.approx((120 - own) / (280 - own)))


def test_items_on_which_sides_disagree_are_a_chosen_part_though_scores_are_alike():
    rng = np.random.default_rng(2)
    judged = (rng.random((600, 2)) < 0.5).astype(float)
    apart = judged[:, 0] != judged[:, 1]
    labelled = np.zeros(600, dtype=bool)
    labelled[rng.choice(np.flatnonzero(apart), 60, replace=False)] = True
    labelled[rng.choice(np.flatnonzero(~apart), 15, replace=False)] = True
    feature, own, rest = chosen_part(judged, labelled)
    assert feature == "disagreement"
    assert (own, rest) == (pytest.approx(60 / 75), pytest.approx((apart.sum() - 60) / 525))


def test_many_systems_take_little_room():
    # 1,770 pairs of 60 systems: how far the scores of all pairs lie apart would be 14 MB at once, and the scores are .5 MB.
    rng = np.random.default_rng(4)
    judged = (rng.random((1000, 60)) < 0.6).astype(float)
    apart = judged[:, 58] != judged[:, 59]
    tracemalloc.start()
    found = chosen_part(judged, apart & (rng.random(1000) < 0.2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found is not None
    assert found[:2] == ("disagreement", 1.0)
    assert peak < 4e6


def test_unsure_scores_and_whole_clusters():
    rng = np.random.default_rng(3)
    graded = rng.normal(size=(500, 1))
    middle = np.zeros(500, dtype=bool)
    middle[np.argsort(np.abs(graded[:, 0]))[:60]] = True
    assert chosen_part(graded, middle)[0] == "extremeness"
    clusters = np.repeat(np.arange(20), 25)
    by_cluster = (np.arange(20) % 2.0)[clusters][:, None]
    drawn = np.isin(clusters, (1, 3, 5, 7, 9, 10))
    # Five of the ten high clusters and one of the low ones: six of twenty are no evidence, 150 of 500 would be.
    assert chosen_part(by_cluster, drawn) is not None
    assert chosen_part(by_cluster, drawn, clusters) is None
    assert chosen_part(np.ones((30, 2)), np.arange(30) < 9) is None
    assert chosen_part(np.arange(30.0)[:, None], np.ones(30, dtype=bool)) is None


@pytest.mark.slow
@pytest.mark.parametrize("how", ["random", "stratified", "disagreement"])
@pytest.mark.parametrize(("items", "labels"), [(100, 30), (1000, 20), (1000, 100)])
@pytest.mark.parametrize("words", [*WORLDS])
def test_corrected_scores_and_differences_hold_the_truth_however_drawn(how, items, labels, words):
    world = JudgeWorld(n_items=items, n_labels=items, **WORLDS[words])
    found = replicate(np.random.default_rng(6), 1000, world=world, n=labels, how=how)
    for name in (SCORE, DIFFERENCE):
        # 5%, four standard errors of 1,000 tables, and half a point for 20 labels.
        assert found[name].errors / found[name].total < 0.05 + 4 * (0.05 * 0.95 / 1000) ** 0.5 + 0.005


def test_a_random_part_is_seldom_called_chosen(monkeypatch):
    """At 1 in 20, of which fewer tables tell than of 1 in 1,000."""
    monkeypatch.setattr(label_sample, "CHOSEN_AT", 0.05)
    rng, called = np.random.default_rng(5), 0
    for _ in range(300):
        share = rng.choice([0.5, 0.95])
        judged = (rng.random((200, 2)) < share).astype(float)
        labelled = np.zeros(200, dtype=bool)
        labelled[rng.choice(200, 25, replace=False)] = True
        called += chosen_part(judged, labelled) is not None
    assert 1 <= called <= 15 + 3 * 3.8
