"""Contrasts of proportions: against the likelihood by brute force, exact tests, and what an interval must do."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from evalstats.stats.proportion_contrasts import condensed, proportion_contrasts


def independent(shares, sizes, weights):
    shares, sizes, weights = (np.atleast_2d(np.asarray(each, dtype=float)) for each in (shares, sizes, weights))
    variance = (weights**2 * shares * (1 - shares) / sizes).sum(axis=1)
    return proportion_contrasts(shares, sizes, weights, variance=variance, df=np.full(len(shares), np.inf))


def both(shares, sizes, weights, value):
    """Likelihood ratio and score of a contrast of two or more proportions, by a general optimiser."""
    shares, sizes, weights = (np.asarray(each, dtype=float) for each in (shares, sizes, weights))

    def deviance(p):
        return 2 * (sizes * (special.rel_entr(shares, p) + special.rel_entr(1 - shares, 1 - p))).sum()

    found = optimize.minimize(
        deviance,
        np.full(len(shares), 0.5),
        bounds=[(1e-9, 1 - 1e-9)] * len(shares),
        constraints={"type": "eq", "fun": lambda p: weights @ p - value},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    variance = (weights**2 * found.x * (1 - found.x) / sizes).sum()
    return found.fun, (weights @ shares - value) ** 2 / variance


@pytest.mark.parametrize(
    ("shares", "sizes", "weights"),
    [
        ([0.9, 0.6], [20, 30], [1, -1]),
        ([0.95, 0.9, 0.7, 0.8], [40, 40, 40, 20], [1, -1 / 3, -1 / 3, -1 / 3]),
        ([0.5, 0.4, 0.9], [10, 10, 10], [0.5, 0.5, -1]),
    ],
)
def test_statistic_is_the_smaller_of_likelihood_ratio_and_score(shares, sizes, weights):
    found = independent(shares, sizes, weights)
    assert found.t[0] ** 2 == pytest.approx(min(both(shares, sizes, weights, 0.0)), rel=1e-4)
    low, high = found.interval(0.9)
    for end in (low[0], high[0]):
        assert min(both(shares, sizes, weights, end)) == pytest.approx(stats.chi2.isf(0.1, 1), rel=1e-3)


def test_a_single_proportion_without_failures():
    """None of n fails: the lower end is Wilson's, n / (n + z^2), in closed form; the likelihood ratio's is nearer to 1."""
    found = independent([1.0], [20], [1.0])
    low, high = found.interval(0.95)
    z2 = stats.chi2.isf(0.05, 1)
    assert low[0] == pytest.approx(20 / (20 + z2), rel=1e-9)
    assert low[0] < np.exp(-z2 / 40)
    assert high[0] == pytest.approx(1.0)


def test_cell_without_failures_against_the_others():
    """20 of 20 against 160 of 180: Wald's p is below 1e-5, the exact test says .14, likelihood ratio and score .04 and .12."""
    found = independent([1.0] + [160 / 180] * 1, [20, 180], [1.0, -1.0])
    exact = stats.fisher_exact([[20, 0], [160, 20]]).pvalue
    wald = 2 * stats.norm.sf(found.estimate / np.sqrt(found.scale * (160 / 180) * (20 / 180) / 180))
    assert wald[0] < 1e-5
    assert 0.02 < found.p_values()[0] < exact
    low, high = found.interval(0.99)
    assert low[0] < 0 < high[0]


@pytest.mark.parametrize("seed", range(4))
def test_interval_and_p_agree_at_every_level(seed):
    """An interval excludes 0 where p is below one minus its level, with any variance and df."""
    rng = np.random.default_rng(seed)
    n, cells = 60, 4
    sizes = rng.integers(5, 60, size=(n, cells)).astype(float)
    shares = rng.binomial(sizes.astype(int), rng.choice([0.02, 0.5, 0.95], size=(n, 1))) / sizes
    weights = np.tile([1.0, -1 / 3, -1 / 3, -1 / 3], (n, 1))
    variance = rng.uniform(0.3, 3, n) * (weights**2 * shares * (1 - shares) / sizes).sum(axis=1)
    found = proportion_contrasts(shares, sizes, weights, variance=variance, df=rng.uniform(4, 90, n))
    p = found.p_values()
    for level in (0.8, 0.95, 0.998):
        low, high = found.interval(level)
        assert (low >= -1).all()
        assert (high <= 1).all()
        assert ((low <= found.estimate + 1e-12) & (found.estimate <= high + 1e-12)).all()
        excluded = (low > 1e-9) | (high < -1e-9)
        np.testing.assert_array_equal(excluded, p < 1 - level)


@pytest.mark.parametrize(("n", "success"), [(20, 0.9), (25, 0.95), (40, 0.95), (100, 0.98), (40, 0.5)])
def test_size_of_one_change(n, success):
    """Two scenarios and one model: no family dilutes the level, and the likelihood ratio alone alarms in up to 10%."""
    shares = np.random.default_rng(11).binomial(n, success, size=(1500, 2)) / n
    weights = np.tile([1.0, -1.0], (1500, 1))
    variance = (shares * (1 - shares) / (n - 1)).sum(axis=1)
    df = np.full(1500, 2.0 * (n - 1))
    found = proportion_contrasts(shares, np.full(shares.shape, float(n)), weights, variance=variance, df=df)
    assert np.mean(found.p_values() <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1500)


def test_signs_turn_with_the_weights():
    rng = np.random.default_rng(3)
    shares, sizes = rng.uniform(size=(8, 3)), np.full((8, 3), 25.0)
    weights = rng.normal(size=(8, 3))
    one, two = independent(shares, sizes, weights), independent(shares, sizes, -weights)
    np.testing.assert_allclose(two.t, -one.t, rtol=1e-9)
    np.testing.assert_allclose(two.interval(0.95)[0], -one.interval(0.95)[1], atol=1e-12)


def test_the_variance_given_scales_the_ratio():
    shares, sizes, weights = np.array([[0.7, 0.5]]), np.array([[40.0, 40.0]]), np.array([[1.0, -1.0]])
    once = independent(shares, sizes, weights)
    variance = (weights**2 * shares * (1 - shares) / sizes).sum(axis=1)
    wide = proportion_contrasts(shares, sizes, weights, variance=4 * variance, df=np.array([np.inf]))
    assert wide.t == pytest.approx(once.t / 2)


@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_condensed_cells_give_the_tests_of_all(spread):
    """One of 300 cells against the mean of the others, from near 0% to near 100%, at plain and at far levels."""
    rng = np.random.default_rng(8)
    shares, sizes = special.expit(rng.normal(size=300) * spread), rng.integers(3, 12, 300).astype(float)
    shares[:3] = 0.001, 0.999, 1.0
    sizes[:3] = 3, 200, 5
    which = np.concatenate([np.arange(6), np.argsort(shares)[[5, 150, -5]]])
    weights = np.full((len(which), 300), -1 / 299)
    weights[np.arange(len(which)), which] = 1.0
    variance = rng.uniform(0.3, 1.5, len(which)) * np.maximum(shares * (1 - shares), 0.02)[which] / sizes[which]
    df = np.full(len(which), 90.0)
    tiled = (np.tile(each, (len(which), 1)) for each in (shares, sizes))
    whole = proportion_contrasts(*tiled, weights, variance=variance, df=df)
    node, size, count = condensed(shares, sizes)
    assert len(node) < 150
    columns = [
        np.column_stack([np.tile(part, (len(which), 1)), own, own])
        for part, own in ((node, shares[which]), (size, sizes[which]))
    ]
    few = np.tile(np.append(np.full(len(node), -1 / 299), [-1 / 299, 1.0]), (len(which), 1))
    counts = np.tile(np.append(count, [-1.0, 1.0]), (len(which), 1))
    found = proportion_contrasts(*columns, few, variance=variance, df=df, counts=counts)
    np.testing.assert_allclose(found.t, whole.t, rtol=1e-8, atol=1e-8)
    # Far out, where the one cell can move no further and the others must, the rule's error rises to a thousandth of a point.
    for level, close in ((0.95, 1e-6), (1 - 1e-5, 3e-5)):
        np.testing.assert_allclose(found.interval(level), whole.interval(level), rtol=0.0, atol=close)


def test_few_distinct_shares_are_kept_as_they_are():
    share, size, count = condensed(np.array([0.5, 0.2, 0.5, 1.0]), np.array([4.0, 4.0, 4.0, 9.0]))
    assert share.tolist() == [0.2, 0.5, 1.0]
    assert size.tolist() == [4.0, 4.0, 9.0]
    assert count.tolist() == [1.0, 2.0, 1.0]


def test_t_has_the_sign_of_the_contrast_and_no_contrast_has_none():
    found = independent([[0.5, 0.8], [0.8, 0.5], [0.4, 0.4]], [[40, 40]] * 3, [[-1, 1]] * 3)
    assert np.sign(found.t).tolist() == [1, -1, 0]
    assert found.t[0] == pytest.approx(-found.t[1], rel=1e-9)
    assert found.p_values()[2] == pytest.approx(1.0)


@pytest.mark.parametrize(("shares", "variance"), [([0.5, 0.8], 0.0), ([1.0, 1.0], 0.01), ([1.0, 0.0], 0.0)])
def test_a_scale_is_made_only_of_two_variances_that_are_known(shares, variance):
    found = proportion_contrasts(
        np.array([shares]),
        np.array([[20.0, 20.0]]),
        np.array([[-1.0, 1.0]]),
        variance=np.array([variance]),
        df=np.array([38.0]),
    )
    assert found.scale.tolist() == [1.0]


def test_more_than_two_shares_a_node_are_condensed():
    for distinct, kept in ((8, 8), (9, 4)):
        share, size, count = condensed(np.linspace(0.1, 0.9, distinct), np.full(distinct, 7.0), n_nodes=4)
        assert (len(share), count.sum()) == (kept, pytest.approx(distinct))
        assert set(size) == {7.0}
