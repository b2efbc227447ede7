"""The test of several contrasts by signs of clusters: by listing, by its level, by its power."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from dev.validation.sign_contrasts import max_contrast
from evalstats.errors import CannotAnswerError, InputError

LEVEL = 0.05


def in_every_cell(rng, n_clusters, n_contrasts):
    """Clusters that all carry the same: estimates are means of a column."""
    values = rng.normal(size=(n_clusters, 1)) + rng.normal(size=(n_clusters, n_contrasts))
    return values.mean(axis=0), (values - values.mean(axis=0)) / n_clusters, values / n_clusters


@pytest.mark.parametrize("n_clusters", [6, 7, 10])
def test_listing_of_all_patterns(n_clusters):
    rng = np.random.default_rng(n_clusters)
    estimates, influence, parts = in_every_cell(rng, n_clusters, 3)
    found = max_contrast(estimates, influence)
    root = [sum(part**2 for part in parts[:, k]) ** 0.5 for k in range(3)]
    observed = [abs(sum(parts[:, k])) / root[k] for k in range(3)]
    largest = [
        max(abs(sum(sign * part for sign, part in zip(signs, parts[:, k], strict=True))) / root[k] for k in range(3))
        for signs in product((-1, 1), repeat=n_clusters)
    ]
    shares = [np.mean([value >= one - 1e-9 for value in largest]) for one in observed]
    assert found.exact
    assert found.n_resamples == 2**n_clusters
    assert found.statistic == pytest.approx(max(observed), rel=1e-12)
    np.testing.assert_allclose(found.p_adjusted, shares, rtol=1e-12)
    assert found.p_value == pytest.approx(min(shares), rel=1e-12)
    assert np.mean([value > found.critical for value in largest]) <= LEVEL


def test_one_contrast_is_the_sign_flip_test_of_a_mean():
    """scipy's paired permutation test flips the signs of differences."""
    values = np.random.default_rng(4).normal(0.6, 1.0, size=9)
    reference = stats.permutation_test(
        (values, np.zeros(9)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    found = max_contrast(values.mean(keepdims=True), (values - values.mean())[:, None] / 9)
    assert found.p_value == pytest.approx(reference.pvalue, rel=1e-9)


def test_draws_estimate_the_listing():
    rng = np.random.default_rng(0)
    estimates, influence, parts = in_every_cell(rng, 13, 2)
    found = max_contrast(estimates, influence, n_resamples=9999, seed=3)
    signs = np.array(list(product((-1.0, 1.0), repeat=13)))
    root = np.sqrt((parts**2).sum(axis=0))
    largest = (np.abs(signs @ parts) / root).max(axis=1)
    listed = np.array([(largest >= abs(e) / r * (1 - 1e-9)).mean() for e, r in zip(estimates, root, strict=True)])
    assert not found.exact
    assert found.n_resamples == 9999
    np.testing.assert_allclose(found.p_adjusted, listed, atol=4 * np.sqrt(0.25 / 9999))


def test_order_scale_and_sign_leave_no_trace():
    rng = np.random.default_rng(1)
    estimates, influence, _ = in_every_cell(rng, 11, 4)
    plain = max_contrast(estimates, influence)
    rows, columns = rng.permutation(11), rng.permutation(4)
    scale = np.array([-1.0, 2.0, -1e4, 1e-4])
    turned = max_contrast((scale * estimates)[columns], (scale * influence)[rows][:, columns])
    np.testing.assert_allclose(turned.p_adjusted, plain.p_adjusted[columns], rtol=1e-12)
    assert turned.critical == pytest.approx(plain.critical, rel=1e-9)


def test_same_seed_same_answer():
    estimates, influence, _ = in_every_cell(np.random.default_rng(1), 40, 4)
    one, two = (max_contrast(estimates, influence, seed=8) for _ in range(2))
    np.testing.assert_array_equal(one.p_adjusted, two.p_adjusted)
    assert one.p_adjusted.tolist() != max_contrast(estimates, influence, seed=9).p_adjusted.tolist()


def test_p_is_never_0():
    estimates, influence = np.array([1e3]), np.linspace(-1, 1, 7)[:, None]
    assert max_contrast(estimates, influence).p_value == 2 / 2**7
    wide = np.linspace(-1, 1, 41)[:, None]
    assert max_contrast(estimates, wide, n_resamples=199).p_value == 1 / 200


def test_a_copy_of_a_contrast_costs_nothing():
    estimates, influence, _ = in_every_cell(np.random.default_rng(2), 30, 2)
    twice = max_contrast(np.tile(estimates, 3), np.tile(influence, 3))
    np.testing.assert_array_equal(twice.p_adjusted[:2], max_contrast(estimates, influence).p_adjusted)


def test_even_shares_are_the_default():
    estimates, influence, _ = in_every_cell(np.random.default_rng(2), 9, 3)
    given = max_contrast(estimates, influence, imposed=np.tile(estimates / 9, (9, 1)))
    np.testing.assert_array_equal(given.p_adjusted, max_contrast(estimates, influence).p_adjusted)


@pytest.mark.parametrize(
    ("estimates", "influence", "more", "error", "words"),
    [
        (np.zeros(2), np.ones((9, 3)), {}, InputError, "2 estimates"),
        (np.zeros(0), np.ones((9, 0)), {}, InputError, "0 estimates"),
        (np.zeros(1), np.ones((5, 1)), {}, CannotAnswerError, "5 clusters"),
        (np.zeros(2), np.zeros((9, 2)), {}, InputError, "no contribution"),
        (np.array([np.nan]), np.eye(9)[:, :1], {}, InputError, "finite"),
        (np.ones(1), np.eye(9)[:, :1], {"imposed": np.zeros((9, 1))}, InputError, "sums to the estimates"),
        (np.ones(1), np.eye(9)[:, :1], {"imposed": np.zeros((9, 2))}, InputError, "shape"),
    ],
)
def test_bad_input(estimates, influence, more, error, words):
    with pytest.raises(error, match=words):
        max_contrast(estimates, influence, **more)


def test_a_contrast_without_contributions_beside_one_with_them():
    influence = np.zeros((9, 2))
    influence[:, 0] = np.linspace(-1, 1, 9)
    # What rounding leaves of nothing is nothing.
    influence[:, 1] = 1e-17 * influence[::-1, 0]
    with pytest.raises(InputError, match="no contribution"):
        max_contrast(np.array([0.5, 0.0]), influence)


def rejections(draw, n, *, seed):
    rng = np.random.default_rng(seed)
    return np.mean([max_contrast(*draw(rng), n_resamples=399).p_value <= LEVEL for _ in range(n)])


def contrasts_of_clusters(n_clusters, kind, effect=0.0, n_contrasts=6):
    def draw(rng):
        values = 0.8 * rng.normal(size=(n_clusters, 1)) + rng.normal(size=(n_clusters, n_contrasts))
        if kind == "unequal":
            values *= np.exp(0.7 * rng.normal(size=(n_clusters, 1))) * np.geomspace(0.2, 5, n_contrasts)
        if kind == "copies":
            values[:, 1:] = values[:, :1] + 0.05 * values[:, 1:]
        values[:, 0] += effect
        return values.mean(axis=0), (values - values.mean(axis=0)) / n_clusters

    return draw


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["correlated", "unequal", "copies"])
@pytest.mark.parametrize("n_clusters", [8, 12, 20, 50])
def test_level(n_clusters, kind):
    """Exact for symmetric contributions: the rate is the level, up to noise and the steps of p."""
    n = 1000
    rate = rejections(contrasts_of_clusters(n_clusters, kind), n, seed=n_clusters)
    noise = np.sqrt(LEVEL * (1 - LEVEL) / n)
    assert rate < LEVEL + 3 * noise
    assert rate > LEVEL - 4 * noise


def items_in_scenarios(n_per, *, n_models=3, n_scenarios=4, imposed=True, effect=0.0):
    """Every cluster is in one scenario; contrasts are what the cells differ by from rows plus columns."""
    place = np.repeat(np.arange(n_scenarios), n_per)

    def doubly_centred(values):
        centred = values - values.mean(axis=-1, keepdims=True)
        return centred - centred.mean(axis=-2, keepdims=True)

    def draw(rng):
        values = rng.normal(size=(len(place), 1)) + rng.normal(size=(len(place), n_models))
        values[place == 0, 0] += effect
        cells = np.stack([values[place == j].mean(axis=0) for j in range(n_scenarios)], axis=1)
        own = np.eye(n_scenarios)[place][:, None, :] / n_per
        # CR2 of a mean inflates a residual by the root of n / (n - 1).
        residual = (values - cells.T[place])[:, :, None] * own * np.sqrt(n_per / (n_per - 1))
        interaction = doubly_centred(cells)
        carried = doubly_centred(own * interaction).reshape(len(place), -1) if imposed else None
        return {
            "estimates": interaction.ravel(),
            "influence": doubly_centred(residual).reshape(len(place), -1),
            "imposed": carried,
        }

    return draw


@pytest.mark.slow
@pytest.mark.parametrize("n_per", [5, 10, 25])
def test_level_of_items_within_scenarios(n_per):
    rng = np.random.default_rng(n_per)
    n = 800
    found = {True: 0, False: 0}
    for imposed in found:
        draw = items_in_scenarios(n_per, imposed=imposed)
        found[imposed] = np.mean([max_contrast(**draw(rng), n_resamples=399).p_value <= LEVEL for _ in range(n)])
    assert found[True] < LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / n)
    if n_per == 5:
        # Shares that are even though clusters are not in all cells are what `imposed` is for.
        assert found[False] > 0.08


@pytest.mark.slow
def test_power():
    """A shift of one contrast by one standard deviation is found; a t test of it alone, Bonferroni, finds about as much."""
    n, n_clusters = 300, 30
    draw = contrasts_of_clusters(n_clusters, "correlated", effect=0.9)
    rate = rejections(draw, n, seed=5)
    rng = np.random.default_rng(5)
    plain = 0
    for _ in range(n):
        estimates, influence = draw(rng)
        error = np.sqrt((influence**2).sum(axis=0) * n_clusters / (n_clusters - 1))
        plain += 6 * 2 * stats.t.sf(np.abs(estimates / error), n_clusters - 1).min() <= LEVEL
    assert rate > plain / n - 0.05
    assert rate > 0.7
    nested = items_in_scenarios(20, effect=2.0)
    assert np.mean([max_contrast(**nested(rng), n_resamples=399).p_value <= LEVEL for _ in range(100)]) > 0.8
