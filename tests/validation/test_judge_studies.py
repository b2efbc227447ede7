"""The worlds of the simulations of judges: their truths against plain definitions, and by drawing many units."""

import numpy as np
import pytest

from dev.validation import judge_agreement, judge_correction, judge_differences
from dev.validation.judge_agreement import ALPHAS, DIFFERENCES, RARE, alpha_of, counted, pair_chances, ratings_of, slips
from evalstats.stats.raters.agreement import RatingTable, judge_minus_people, krippendorff_alpha, rating_table

MANY = 40_000


def few_percent(truth: float) -> float:
    """Alpha of 40,000 units has a standard error of some .005; of rare answers .01."""
    return 0.03 if truth < 0.9 else 0.01


def test_alpha_of_two_raters_is_that_of_the_textbook() -> None:
    """Half the units yes, each rater wrong in a tenth: 18% disagree where chance gives 50%."""
    chances = pair_chances((0.5, 0.5), slips(2, 0.1), slips(2, 0.1))
    assert chances.sum() == pytest.approx(1)
    assert alpha_of(chances, "nominal") == pytest.approx(1 - 0.18 / 0.5)


@pytest.mark.parametrize("world", ALPHAS, ids=lambda world: world.words)
def test_the_true_alpha_is_that_of_many_units(world: judge_agreement.World) -> None:
    rng = np.random.default_rng(1)
    category, clusters = judge_agreement.true_categories(rng, world, MANY)
    assert (clusters is None) == (world.size == 0)
    given = ratings_of(rng, world.kernel, category, world.raters)
    counts = counted(given, rng.random(given.shape) >= world.gaps, len(world.shares))
    found = krippendorff_alpha(RatingTable(counts=counts, levels=world.levels), world.metric, n_resamples=200)
    truth = judge_agreement.true_alpha(world)
    assert found.estimate == pytest.approx(truth, abs=few_percent(truth))


@pytest.mark.parametrize("world", DIFFERENCES, ids=lambda world: world.words)
def test_the_true_difference_is_that_of_many_units(world: judge_agreement.World) -> None:
    rng = np.random.default_rng(2)
    category, _ = judge_agreement.true_categories(rng, world, MANY)
    people = ratings_of(rng, world.kernel, category, world.raters)
    judge = ratings_of(rng, world.judge, category, 1)[:, 0]
    q = len(world.shares)
    counts = counted(people, np.ones(people.shape, dtype=bool), q)
    own = np.eye(q, dtype=np.int64)[judge]
    found = judge_minus_people(own, counts, world.levels, world.metric, n_resamples=200)
    assert found.estimate == pytest.approx(judge_agreement.true_difference(world), abs=0.03)


def test_clusters_hold_the_shares_of_the_world() -> None:
    (world,) = [world for world in ALPHAS if world.size and world.shares == (0.75, 0.25)]
    category, clusters = judge_agreement.true_categories(np.random.default_rng(3), world, MANY)
    assert category.mean() == pytest.approx(0.25, abs=0.02)
    # Alike within a cluster: their means differ far more than those of five independent units.
    means = np.bincount(clusters, weights=category) / world.size
    assert means.var() > 2 * 0.25 * 0.75 / world.size


def test_the_bootstrap_of_pairs_holds_the_estimate() -> None:
    rng = np.random.default_rng(4)
    world = judge_agreement.World(words="", shares=RARE, kernel=slips(2, 0.05), raters=2)
    category, _ = judge_agreement.true_categories(rng, world, 300)
    given = ratings_of(rng, world.kernel, category, 2)
    low, high = judge_agreement._pair_ends(rng, counted(given, np.ones(given.shape, dtype=bool), 2), world)
    table = rating_table(np.repeat(np.arange(300), 2), given.ravel().astype(float))
    assert low < krippendorff_alpha(table).estimate < high


@pytest.mark.parametrize(
    ("case", "draw", "truth"),
    [(c.name, w.keywords["draw"], w.keywords["truth"]) for c, w in judge_correction._scores()],
)
def test_what_people_would_say_is_the_truth_of_the_world(case: str, draw, truth: float) -> None:
    """The mean of 200 data sets, within four standard errors; and the judge's is another."""
    rng = np.random.default_rng(5)
    drawn = [draw(rng) for _ in range(200)]
    means = np.array([each.people.mean() for each in drawn])
    assert means.mean() == pytest.approx(truth, abs=4 * means.std() / 200**0.5), case
    judged = np.mean([each.judge.mean() for each in drawn])
    assert abs(judged - truth) > 0.01


def test_every_world_of_differences_has_a_name_of_its_own() -> None:
    names = [case.name for case in judge_differences.QUESTION.cases]
    assert len(set(names)) == len(names) == len(judge_differences.WORLDS) == 18
    assert {world.n_labels for world in judge_differences.WORLDS.values()} == {20, 50, 100, 200}
