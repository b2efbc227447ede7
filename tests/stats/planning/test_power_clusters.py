"""Power with clusters: the detectable difference is found as often as it says, by the rule that `compare` applies."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.clusters import cluster_mean, cluster_sign_flip
from evalstats.stats.one_sample import satterthwaite_df
from evalstats.stats.paired.means import augmented_t, paired_t
from evalstats.stats.planning.clusters import (
    _FLIPS,
    _augmented,
    _cr2_claims,
    _flips_agree,
    _hopeless,
    _Judge,
    _Noise,
    _plain,
    _sets,
    _sign_flip_effects,
    _whole_sizes,
    cluster_power,
    design_effect,
    gamma_shares,
    mde_clusters,
    shares_with_df,
    simulated_power,
)
from evalstats.stats.planning.mean import mean_power
from evalstats.stats.planning.power import mde_from_std_error

REPLICATES = [pytest.param(250, id="quick"), pytest.param(20_000, id="long", marks=pytest.mark.slow)]


def claimed(d, clusters):
    """The rule of `compare`: CR2's interval lies above 0, and the cluster sign-flip agrees."""
    estimate = cluster_mean(d, clusters).estimate
    return estimate.conf_low is not None and estimate.conf_low > 0 and cluster_sign_flip(d, clusters).p_value <= 0.05


def simulated(delta, sizes, cluster_variance, replicates, seed):
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    hits = 0
    for _ in range(replicates):
        effects = math.sqrt(cluster_variance) * rng.standard_normal(len(sizes))
        noise = math.sqrt(1 - cluster_variance) * rng.standard_normal(clusters.size)
        hits += claimed(delta + effects[clusters] + noise, clusters)
    return hits / replicates


def error_of(sizes, cluster_variance):
    f = np.array(sizes) / sum(sizes)
    return math.sqrt(cluster_variance * (f**2).sum() + (1 - cluster_variance) / sum(sizes)), satterthwaite_df(f)


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize("n_clusters", [6, 7, 9])
def test_what_is_detectable_is_found_with_the_power(n_clusters, replicates):
    """80% within 4 standard errors of the simulation and .01 for the table of draws; equal clusters of 4 items."""
    sizes = [4] * n_clusters
    std_error, df = error_of(sizes, 0.3)
    power = simulated(mde_clusters(std_error, df, n_clusters), sizes, 0.3, replicates, n_clusters)
    assert power == pytest.approx(0.8, abs=0.01 + 4 * math.sqrt(0.16 / replicates))


@pytest.mark.parametrize(("n_clusters", "expected"), [(6, 0.62), (7, 0.75)])
def test_the_t_test_alone_promises_too_much(n_clusters, expected):
    """Power at what CR2's t test alone finds with 80%."""
    std_error, df = error_of([4] * n_clusters, 0.3)
    alone = mde_from_std_error(std_error, df)
    assert cluster_power(alone, std_error, df, n_clusters) == pytest.approx(expected, abs=0.015)
    power = simulated(alone, [4] * n_clusters, 0.3, 400, 3)
    assert power == pytest.approx(expected, abs=0.015 + 4 * math.sqrt(0.25 / 400))


@pytest.mark.parametrize(
    ("sizes", "icc", "conf_level"),
    [(list(range(2, 12)), 0.3, 0.95), ([16, 4, 4, 4] * 4, 0.0, 0.95), ([16, 4, 4, 4] * 4, 0.3, 0.9)],
    ids=["ramp", "four to one, independent", "four to one"],
)
def test_unequal_clusters_keep_at_least_the_power(sizes, icc, conf_level):
    """CR2's df suppose independent items, so with dependence the power is rather above what is asked for."""
    std_error, df = error_of(sizes, icc)
    delta = mde_clusters(std_error, df, len(sizes), conf_level=conf_level)
    shares = np.array(sizes) / sum(sizes)
    found = simulated_power(
        delta,
        n_items=sum(sizes),
        variance=1 - icc,
        cluster_variance=icc,
        shares=shares,
        rule="cr2",
        conf_level=conf_level,
    )
    assert 0.8 - 0.03 < found.power < 0.8 + 0.09


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize(("n_clusters", "size"), [(8, 6), (45, 3)])
def test_ties_of_right_or_wrong_items_are_counted(n_clusters, size, replicates):
    """Sets of clusters cancel exactly on a lattice: at 8 clusters of 6 items that costs .07 of the power."""
    clusters = np.repeat(np.arange(n_clusters), size)
    n, psi = clusters.size, 0.4
    step = 1 / n
    delta = 0.2
    for _ in range(30):  # the variance of right/wrong items follows the difference
        std_error = math.sqrt((psi - delta**2) / n)
        delta = 0.5 * (delta + mde_clusters(std_error, n_clusters - 1, n_clusters, step=step))
    rng = np.random.default_rng(n_clusters)
    shares = [(psi - delta) / 2, 1 - psi, (psi + delta) / 2]
    draws = rng.choice([-1.0, 0.0, 1.0], size=(replicates, n), p=shares)
    power = np.mean([claimed(d, clusters) for d in draws])
    assert power == pytest.approx(0.8, abs=0.025 + 4 * math.sqrt(0.16 / replicates))
    assert cluster_power(delta, std_error, n_clusters - 1, n_clusters) > 0.83


def test_all_clusters_must_agree_where_only_that_is_significant():
    """At 6 clusters the sign-flip needs all sums on one side: with a known spread that is Phi(delta sqrt(6)/sd)^6."""
    shift = 4.0
    all_agree = stats.norm.cdf(shift / math.sqrt(6)) ** 6
    assert cluster_power(shift, 1.0, 5, 6) <= all_agree + 0.005
    assert cluster_power(12.0, 1.0, 5, 6) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("df", "n_clusters"), [(5, 6), (6.1, 9), (11, 12), (18, 25), (99, 100)])
def test_power_and_detectable_difference_are_inverse(df, n_clusters, power):
    delta = mde_clusters(0.02, df, n_clusters, power=power)
    assert cluster_power(delta, 0.02, df, n_clusters) == pytest.approx(power, abs=0.003)
    assert delta >= mde_from_std_error(0.02, df, power=power) * (1 - 1e-6)


def test_an_effect_below_one_standard_error_can_be_enough():
    delta = mde_clusters(1.0, 29, 30, conf_level=0.5, power=0.6)
    assert 0.3 < delta < 1.0
    assert cluster_power(delta, 1.0, 29, 30, conf_level=0.5) == pytest.approx(0.6, abs=0.003)


@pytest.mark.parametrize("conf_level", [0.8, 0.95])
def test_rows_that_the_sign_flip_rejects_are_those_of_the_listed_test(conf_level):
    rng = np.random.default_rng(4)
    sums = rng.normal(0.8, 1.0, size=(60, 8))
    sums[0], sums[1, 0] = 1.0, -1.0
    p = [cluster_sign_flip(row, np.arange(8)).p_value for row in sums]
    assert _flips_agree(sums, conf_level) == sum(each <= 1 - conf_level + 1e-9 for each in p)
    assert _flips_agree(np.ones((1, 6)), 0.95) == 1  # 2 of 64 patterns; counting the observed one twice would not do
    assert _flips_agree(np.ones((1, 5)), 0.95) == 0
    assert _flips_agree(np.ones((3, 15)), 0.999) == 3  # drawn: none of 1,999 patterns is as far out


def test_rows_of_a_simulation_have_the_t_and_augmented_t_of_each():
    rng = np.random.default_rng(5)
    d = rng.integers(-3, 4, size=(10, 12)) / 3.0
    d[0, 3:], d[1, :] = 0.0, 0.0
    for row, told in ((7, 4), (8, 5), (9, 6)):  # below five that are not 0 the pseudo-items are whole
        d[row] = (np.arange(12) < told) / 3.0
    for of_rows, of_one in ((_plain(d[2:]), paired_t), (_augmented(d, 2.0), augmented_t)):
        rows = d[2:] if of_one is paired_t else 2.0 * d
        for row, mean, std_error in zip(rows, *of_rows[:2], strict=True):
            one = of_one(row) if of_one is paired_t else of_one(row, bound=2.0)
            assert one.df == of_rows[2]
            assert one.std_error == pytest.approx(std_error, rel=1e-12)
            centre = one.estimate if one.statistic is None else one.statistic * one.std_error
            assert mean == pytest.approx(centre, abs=1e-12)


def test_many_clusters_need_no_more_than_t():
    for n_clusters in (40, 50):
        df = n_clusters - 1
        assert cluster_power(0.03, 0.01, df, n_clusters) == mean_power(0.03, 0.01, df)
    close = mde_clusters(1.0, 38, 39) / mde_from_std_error(1.0, 38)
    assert 1.0 <= close < 1.015


@pytest.mark.parametrize(
    ("n_clusters", "df", "conf_level"), [(4, 3, 0.95), (5, 4, 0.95), (12, 3.5, 0.95), (6, 5, 0.98), (7, 6, 0.99)]
)
def test_nothing_is_detectable_where_no_direction_is_ever_claimed(n_clusters, df, conf_level):
    assert mde_clusters(1.0, df, n_clusters, conf_level=conf_level) is None
    assert cluster_power(100.0, 1.0, df, n_clusters, conf_level=conf_level) == 0.0


def test_the_same_answer_every_time_and_for_either_direction():
    assert mde_clusters(1.0, 7, 8) == mde_clusters(1.0, 7, 8)
    assert cluster_power(-3.0, 1.0, 7, 8) == cluster_power(3.0, 1.0, 7, 8)
    assert mde_clusters(3.0, 7, 8) == pytest.approx(3 * mde_clusters(1.0, 7, 8), rel=1e-12)
    assert cluster_power(6.0, 2.0, 7, 8, step=1.0) == cluster_power(3.0, 1.0, 7, 8, step=0.5)


def test_where_a_step_takes_the_whole_effect_half_the_level_is_left():
    """A claim of this direction, where there is nothing to find."""
    assert cluster_power(0.4, 1.0, 40, 41, step=1.0) == pytest.approx(0.025, abs=1e-9)


@pytest.mark.parametrize("size_cv", [0.0, 0.4])
def test_design_effect_is_that_of_the_sizes(size_cv):
    """1 + (sum n_g^2/n - 1) rho is the definition; the formula writes it with the mean size and its cv."""
    sizes = np.array([3.0, 5.0, 7.0]) if size_cv else np.full(3, 5.0)
    cv = sizes.std() / sizes.mean()
    by_definition = 1 + ((sizes**2).sum() / sizes.sum() - 1) * 0.3
    assert design_effect(5, 0.3, size_cv=cv) == pytest.approx(by_definition, abs=1e-12)


def test_made_up_sizes_have_the_degrees_of_freedom():
    for n_clusters, df in [(8, 6.0), (20, 5.0), (50, 30.0)]:
        shares = shares_with_df(n_clusters, df)
        assert satterthwaite_df(shares) == pytest.approx(df, abs=1e-6)
        assert shares.sum() == pytest.approx(1.0)
    assert np.ptp(shares_with_df(10, 9.0)) == 0.0
    assert shares_with_df(1, 0.0).tolist() == [1.0]
    assert shares_with_df(2, 0.5).tolist() == [0.5, 0.5]  # two have 1 degree of freedom whatever their sizes
    assert satterthwaite_df(shares_with_df(3, 1.5)) == pytest.approx(1.5)
    wide = gamma_shares(200, 0.7) * 200
    assert wide.std() == pytest.approx(0.7, rel=0.03)
    quantiles = stats.gamma.ppf((np.arange(5) + 0.5) / 5, 0.7**-2)
    assert gamma_shares(5, 0.7) == pytest.approx(quantiles / quantiles.sum())
    assert gamma_shares(1, 0.7).tolist() == gamma_shares(1, 0.0).tolist() == [1.0]


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="std_error is 0"):
        mde_clusters(0.0, 5, 6)
    with pytest.raises(InputError, match="df is 0"):
        mde_clusters(1.0, 0, 6)
    with pytest.raises(InputError, match="power is 2"):
        mde_clusters(1.0, 5, 6, power=2)
    with pytest.raises(InputError, match="6 positive numbers"):
        mde_clusters(1.0, 5, 6, shares=[1, 2])
    with pytest.raises(InputError, match="step is -1"):
        mde_clusters(1.0, 5, 6, step=-1)
    for size_cv in (-0.1, math.nan, math.inf):
        with pytest.raises(InputError, match="give a number from 0"):
            design_effect(5, 0.1, size_cv=size_cv)
    with pytest.raises(InputError, match="6 positive numbers"):
        mde_clusters(1.0, 5, 6, shares=[1, 1, 1, 1, 1, 0])
    halves = [0.5, 0.25, 0.5, 0.5, 0.25, 0.5]
    assert mde_clusters(1.0, 5, 6, shares=halves) == mde_clusters(1.0, 5, 6, shares=[2 * each for each in halves])
    with pytest.raises(InputError, match=r"between is 1\.01"):
        mde_clusters(1.0, 5, 6, between=1.01)
    with pytest.raises(InputError, match="icc is 2"):
        design_effect(5, 2)
    with pytest.raises(InputError, match="cluster_size is 0"):
        design_effect(0, 0.1)
    with pytest.raises(InputError, match="size_cv is -1"):
        gamma_shares(5, -1)


def test_drawn_flips_have_the_monte_carlo_p_that_counts_the_data_itself():
    """20 clusters that agree: no drawn pattern is as extreme, so that p is 1/(1 + draws); a level beyond is not reached."""
    sums, least = np.ones((3, 20)), 1.0 / (1.0 + _FLIPS)
    assert _flips_agree(sums, 1.0 - least) == 3
    assert _flips_agree(sums, 1.0 - 0.999 * least) == 0


def test_sets_of_clusters_are_all_that_are_not_empty_or_a_sample_of_them():
    listed = _sets(4, np.random.default_rng(0))
    assert sorted(map(tuple, listed.tolist())) == sorted(itertools.product((0.0, 1.0), repeat=4))[1:]
    assert _sets(12, np.random.default_rng(0)).shape == (4095, 12)
    drawn = _sets(13, np.random.default_rng(0))
    assert drawn.shape[1] == 13
    assert 4000 < len(drawn) <= 4096
    assert drawn.any(axis=1).all()
    assert drawn.mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("n_clusters", "df", "level", "hopeless"),
    [
        (8, 4.0, 0.95, False),
        (8, 4.0 - 1e-12, 0.95, False),  # up to rounding
        (8, 3.999, 0.95, True),
        (4, 9.0, 0.5, True),
        (5, 4.0, 0.9, False),
        (5, 4.0, 0.95, True),  # 2^(1 - 5) = .0625
        (6, 5.0, 0.96875, False),  # 2^(1 - 6) = .03125
        (6, 5.0, 0.97, True),
    ],
)
def test_no_direction_is_claimed_with_too_few_clusters_in_number_in_effect_or_for_the_level(
    n_clusters, df, level, hopeless
):
    assert _hopeless(n_clusters, df, level) == hopeless
    assert (cluster_power(50.0, 1.0, df, n_clusters, conf_level=level) == 0.0) == hopeless


def test_items_of_a_cluster_may_be_unrelated_or_all_alike():
    assert design_effect(7, 0.0) == 1.0
    assert design_effect(7, 1.0) == 7.0
    assert design_effect(1, 0.4) == 1.0
    for icc in (-0.01, 1.01):
        with pytest.raises(InputError, match="between 0 and 1"):
            design_effect(7, icc)


@pytest.mark.parametrize("pool", [None, (-1.0, 0.0, 0.0, 3.0)])
def test_rounded_sums_of_clusters_keep_their_variance(pool):
    """Rounding adds step^2/12, which is taken off before (Sheppard); 4 standard errors of a variance of 40,000 draws."""
    sizes = np.array([1.0, 2.0, 6.0])
    ours = None if pool is None else np.array(pool) / np.std(pool) - np.mean(pool) / np.std(pool)
    noise = _Noise(rng=np.random.default_rng(1), spread=0.5, pool=ours)
    plain = noise.cluster_sums(sizes, 0.0, 40_000, 0.0)
    assert plain.var(axis=0) == pytest.approx(0.25 * sizes, rel=0.06)
    if ours is not None:
        assert set(plain[:, 0].round(9)) == set((0.5 * ours).round(9))
        return
    sums = noise.cluster_sums(sizes, 0.3, 40_000, 0.6)
    assert sums.var(axis=0) == pytest.approx(
        0.25 * sizes + (0.3 * sizes) ** 2 - 0.6**2 / 12, rel=4 * np.sqrt(2 / 40_000)
    )
    wide = noise.cluster_sums(sizes, 0.0, 40_000, 1.4)
    assert wide.var(axis=0) == pytest.approx(0.25 * sizes - 1.4**2 / 12, rel=4 * np.sqrt(2 / 40_000))
    assert (noise.cluster_sums(sizes, 0.0, 5, 1.8)[:, 0] == 0.0).all()  # less than a step's own variance
    rounded = np.rint(sums / 0.6) * 0.6
    assert rounded.var(axis=0) == pytest.approx(0.25 * sizes + (0.3 * sizes) ** 2, rel=4 * np.sqrt(2 / 40_000) + 0.01)


def test_a_fine_step_changes_no_power():
    told = {"n_items": 60, "variance": 1.0, "shares": np.full(10, 0.1), "cluster_variance": 0.02, "rule": "cr2"}
    fine, none = (simulated_power(0.5, **told, step=step, n_resamples=400, seed=3).power for step in (0.01, 0.0))
    assert 0.3 < none < 0.98
    assert fine == pytest.approx(none, abs=0.02)


@pytest.mark.parametrize("n_clusters", [6, 9])
@pytest.mark.parametrize("conf_level", [0.9, 0.95])
def test_the_sign_flip_rejects_from_the_critical_effect_on(n_clusters, conf_level):
    """The test itself just below and just above, on sums that the effect moves by the clusters' shares."""
    rng = np.random.default_rng(n_clusters)
    f = rng.uniform(1.0, 3.0, n_clusters)
    f /= f.sum()
    e = rng.normal(size=(20, n_clusters)) * np.sqrt(f)
    found = _sign_flip_effects(e, f, _sets(n_clusters, rng), conf_level, 0.0)
    for noise, effect in zip(e, found, strict=True):
        for moved, rejected in ((-1e-4, False), (1e-4, True)):  # single precision
            p = cluster_sign_flip((effect + moved) * f + noise, np.arange(n_clusters)).p_value
            assert (p <= 1 - conf_level + 1e-9) is rejected


def test_on_a_lattice_sets_that_add_up_to_half_a_step_count_against_the_effect():
    rng = np.random.default_rng(3)
    f, e, room = np.array([0.1, 0.2, 0.3, 0.15, 0.15, 0.1]), rng.normal(size=(12, 6)), 0.3
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=6))[1:])
    found = _sign_flip_effects(e, f, _sets(6, rng), 0.9, room)
    for noise, effect in zip(e, found, strict=True):
        against = [int((sets @ ((effect + moved) * f + noise) <= room).sum()) for moved in (-1e-4, 1e-4)]
        # p = (1 + number) / 2^5 is at most .1 with 2 sets at most.
        assert against[0] > 2 >= against[1]


@pytest.mark.parametrize("between", [0.0, 1.0])
def test_the_sign_flip_costs_unequal_clusters_what_it_takes_from_draws(between):
    """Seven clusters, one of them large; sums that vary with the size where items differ, with its square where clusters do."""
    sizes = np.array([12.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0])
    f, draws, shift = sizes / 36.0, 20_000, 3.6
    spread = f / math.sqrt((f**2).sum()) if between else np.sqrt(f)
    sums = shift * f + np.random.default_rng(5).normal(size=(draws, 7)) * spread
    both = _cr2_claims(sums, sizes, _Judge(claim="difference", margin=0.0, level=0.95, upward=True))
    by_t = _cr2_claims(sums, sizes, _Judge(claim="noninferiority", margin=0.0, level=0.975, upward=True))
    df = satterthwaite_df(f)
    found = mean_power(shift, 1.0, df) - cluster_power(shift, 1.0, df, 7, shares=f, between=between)
    lost = (by_t - both) / draws
    assert lost > 0.02
    assert found == pytest.approx(lost, abs=0.01)  # as the docstring promises


@pytest.mark.parametrize("conf_level", [0.8, 0.95])
def test_claims_by_clusters_are_those_of_the_methods(conf_level):
    rng = np.random.default_rng(8)
    sizes = np.array([3.0, 5.0, 4.0, 4.0, 6.0, 3.0, 5.0])
    clusters = np.repeat(np.arange(7), sizes.astype(int))
    sums = rng.normal(0.25, 0.7, size=(60, 1)) * sizes + rng.normal(size=(60, 7)) * np.sqrt(sizes)
    wanted = {"up": 0, "down": 0, "noninferiority": 0, "equivalence": 0}
    for row in sums:
        d = np.repeat(row / sizes, sizes.astype(int))
        two_sided = cluster_mean(d, clusters, conf_level=conf_level).estimate
        agrees = cluster_sign_flip(d, clusters).p_value <= 1 - conf_level + 1e-9
        wanted["up"] += two_sided.conf_low > 0 and agrees
        wanted["down"] += two_sided.conf_high < 0 and agrees
        one_sided = cluster_mean(d, clusters, conf_level=2 * conf_level - 1).estimate
        wanted["noninferiority"] += one_sided.conf_low > -0.6
        wanted["equivalence"] += one_sided.conf_low > -0.6 and one_sided.conf_high < 0.6
    judges = {
        "up": _Judge(claim="difference", margin=0.0, level=conf_level, upward=True),
        "down": _Judge(claim="difference", margin=0.0, level=conf_level, upward=False),
        "noninferiority": _Judge(claim="noninferiority", margin=0.6, level=conf_level, upward=True),
        "equivalence": _Judge(claim="equivalence", margin=0.6, level=conf_level, upward=True),
    }
    assert {name: _cr2_claims(sums, sizes, judge) for name, judge in judges.items()} == wanted
    assert min(wanted.values()) > 0


def test_whole_sizes_add_up_and_are_as_near_to_the_shares_as_one_item_each_allows():
    assert _whole_sizes(np.ones(4), 12).tolist() == [3.0, 3.0, 3.0, 3.0]
    assert _whole_sizes(np.array([5.0, 1.0]), 8).tolist() == [6.0, 2.0]
    assert _whole_sizes(np.array([100.0, 1.0, 1.0]), 3).tolist() == [1.0, 1.0, 1.0]
    shares = np.random.default_rng(0).dirichlet(np.ones(30))
    sizes = _whole_sizes(shares, 400)
    assert sizes.sum() == 400
    assert np.abs(sizes - (1 + shares * 370)).max() <= 1.0
    for bad in (np.ones(1), np.array([1.0, 0.0]), np.ones((2, 2))):
        with pytest.raises(InputError, match="at least 2 clusters"):
            _whole_sizes(bad, 40)
