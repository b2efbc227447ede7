"""Pairs of models: every pattern of signs by hand, the pair's own methods, permutations, and tables that say little."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.many import reference_laws
from evalstats.stats.many import step_down as step_down_module
from evalstats.stats.many.multiplicity import benjamini_hochberg, benjamini_yekutieli, cochran_q, holm
from evalstats.stats.many.pair_table import (
    _block_moments,
    _exact_sum,
    _lattice_moments,
    _unique_pairs,
    as_estimates,
    as_scores,
    canonical_order,
    difference_blocks,
    pair_table,
    satterthwaite,
    score_covariance,
)
from evalstats.stats.many.pairwise import pair_tests, pairwise_differences, tango_limits
from evalstats.stats.many.ranks import rank_sets, with_the_best
from evalstats.stats.many.reference_laws import _item_units, flip_clusters, flip_items, normal_items, sign_patterns
from evalstats.stats.many.step_down import TwoSided, collect, upper_quantile
from evalstats.stats.one_sample import pair_failures
from evalstats.stats.paired.binary import PairedCounts, score_test_p, tango
from evalstats.stats.paired.means import augmented_t, paired_t
from tests.stats.flips_by_hand import all_flips, reaches, step_down

ALL_OF_4 = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def made(seed, n=9, models=4, missing=0.0, kind="graded"):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, models)) + 0.8 * np.arange(models)
    if kind == "binary":
        scores = (scores > 1.0).astype(float)
    if kind == "trials":
        scores = np.rint(np.clip(scores, 0, 3)) / 3
    scores[rng.random(scores.shape) < missing] = np.nan
    return scores


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


# Against the definition


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("kind", ["graded", "binary", "trials"])
@pytest.mark.parametrize("seed", [0, 1])
def test_items_every_flip_by_hand(seed, kind, missing):
    scores = made(seed, kind=kind, missing=missing)
    flips = all_flips(scores.tolist(), list(range(len(scores))), ALL_OF_4)
    kept = np.isfinite(flips[0])
    found = pairwise_differences(scores)
    assert found.exact
    assert found.n_resamples is None
    close(found.p_adjusted[kept], np.maximum(step_down(flips[:, kept]), found.p_value[kept]))
    close((found.estimate / found.std_error)[kept], flips[0, kept])
    largest = np.nanmax(np.abs(flips[:, kept]), axis=1)
    # At most 5% of the patterns lie above the critical value, and more than 5% reach it.
    assert np.mean(largest > found.critical * (1 + 1e-9)) <= 0.05
    one_way = np.isnan(found.std_error) & (np.abs(found.estimate) > 0) & np.isfinite(found.p_adjusted)
    if not one_way.any():  # their t is infinite in some patterns, which the flips by hand leave out
        assert np.mean(reaches(largest, found.critical)) > 0.05


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["graded", "binary"])
def test_clusters_every_flip_by_hand(kind, missing):
    scores = made(5, n=24, kind=kind, missing=missing)
    codes = np.array([0] * 9 + [1] * 2 + [2] * 4 + [3] * 1 + [4] * 3 + [5] * 5)
    flips = all_flips(scores.tolist(), codes.tolist(), ALL_OF_4)
    found = pairwise_differences(scores, clusters=codes)
    kept = found.n_clusters == 6
    assert kept.sum() >= 3
    assert found.exact
    close(found.p_adjusted[kept], np.maximum(step_down(flips[:, kept]), found.p_value[kept]))
    close((found.estimate / found.std_error)[kept], flips[0, kept])
    assert np.isnan(found.p_adjusted[~kept]).all()


def test_wild_quantile_by_hand():
    scores = made(6, n=20)
    codes = np.repeat(np.arange(7), [6, 1, 4, 2, 3, 2, 2])
    table = pair_table(scores, None, codes)
    law = flip_clusters(table, np.arange(6), seed=0, n_resamples=99, centred=True)
    found = TwoSided(law.observed)
    collect(law, [found])
    centred = table.scores - table.scores.mean(axis=0)
    pairs = list(zip(table.first.tolist(), table.second.tolist(), strict=True))
    flips = all_flips(centred.tolist(), table.codes.tolist(), pairs)
    wanted = np.sort(np.nanmax(np.abs(np.nan_to_num(flips)), axis=1))
    assert found.critical(0.95)[0] == pytest.approx(wanted[math.ceil(0.95 * 128) - 1])


def test_golden_step_down(golden):
    """Exhaustive 2^12 flips of four columns of differences, computed apart from this package."""
    wanted = json.loads((golden / "py_golden.json").read_text())["maxT_exact_signflip"]
    differences = np.array(wanted["D"])
    scores = np.column_stack([differences, np.zeros(len(differences))])
    pairs = [(j, 4) for j in range(4)]
    found = pairwise_differences(scores, pairs=pairs)
    assert found.exact
    close(found.p_adjusted, wanted["stepdown_maxT"])
    close(found.estimate / found.std_error, wanted["t"])
    law = flip_items(pair_table(scores, pairs), np.arange(4), seed=0, n_resamples=99)
    single = [np.zeros(4), 0.0]
    for t, weight in law.chunks():
        single[0] += weight @ reaches(np.abs(t).max(axis=1)[:, None], np.abs(law.observed))
        single[1] += weight.sum()
    close(np.sort(single[0] / single[1]), np.sort(wanted["singlestep_maxT"]))


# Against the pair's own methods


@pytest.mark.parametrize("adjust", ["max-t", "holm", "bh", "by", "none"])
def test_one_pair_is_the_pair_alone(adjust):
    scores = made(3, n=60, models=2, kind="binary")
    found = pairwise_differences(scores, binary=True, adjust=adjust)
    alone = tango(PairedCounts.from_scores(scores[:, 1], scores[:, 0]))
    assert found.p_value[0] == found.p_adjusted[0] == pytest.approx(alone.p_value)
    assert (found.conf_low[0], found.conf_high[0]) == pytest.approx((alone.conf_low, alone.conf_high))
    graded = made(3, n=15, models=2)
    found = pairwise_differences(graded, adjust=adjust)
    alone = paired_t(graded[:, 0] - graded[:, 1])
    assert found.p_value[0] == found.p_adjusted[0] == pytest.approx(alone.p_value)
    assert (found.conf_low[0], found.conf_high[0]) == pytest.approx((alone.conf_low, alone.conf_high))


def test_one_pair_of_few_clusters_keeps_its_flips():
    scores, codes = made(3, n=60, models=2), np.repeat(np.arange(8), [2, 3, 4, 5, 6, 10, 14, 16])
    found = pairwise_differences(scores, clusters=codes)
    flips = pairwise_differences(np.column_stack([scores, scores[:, 1]]), pairs=[(0, 1), (0, 2)], clusters=codes)
    assert found.p_adjusted[0] == pytest.approx(flips.p_adjusted[0])
    assert found.p_adjusted[0] > found.p_value[0]


def own(kind, first, second, codes, level):
    """The estimate of two models by the module that is about two models."""
    d = first - second
    if kind == "score":
        return tango(PairedCounts.from_scores(second, first), conf_level=level)
    if kind == "augmented t":
        return augmented_t(d, conf_level=level)
    return paired_t(d, conf_level=level) if kind == "t" else cluster_mean(d, codes, conf_level=level).estimate


@pytest.mark.parametrize("adjust", ["holm", "bh", "by", "none"])
@pytest.mark.parametrize("kind", ["score", "augmented t", "t", "CR2"])
def test_pairs_have_their_own_test_and_interval(kind, adjust):
    scores = made(4, n=40, models=3, missing=0.1, kind={"score": "binary", "augmented t": "trials"}.get(kind, "graded"))
    codes = np.arange(40) % 8
    options = {
        "score": {"binary": True},
        "augmented t": {"bounds": (0.0, 1.0), "shares": True},
        "t": {},
        "CR2": {"clusters": codes},
    }[kind]
    found = pairwise_differences(scores, adjust=adjust, **options)
    level = 1 - 0.05 / 3 if adjust == "holm" else 0.95
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        both = np.isfinite(scores[:, i]) & np.isfinite(scores[:, j])
        alone = own(kind, scores[both, i], scores[both, j], codes[both], level)
        assert found.n_items[k] == both.sum()
        assert found.estimate[k] == pytest.approx(alone.estimate)
        assert found.p_value[k] == pytest.approx(alone.p_value)
        assert (found.conf_low[k], found.conf_high[k]) == pytest.approx((alone.conf_low, alone.conf_high), abs=1e-9)
        if kind != "score":
            assert (found.std_error[k], found.df[k]) == pytest.approx((alone.std_error, alone.df))
    by = {"holm": holm, "bh": benjamini_hochberg, "by": benjamini_yekutieli, "none": np.asarray}[adjust]
    close(found.p_adjusted, by(found.p_value))
    assert math.isnan(found.critical)
    assert kind in found.method or kind in {"score", "t"}


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.floats(0.2, 5.0))
def test_tango_limits_for_arrays_are_tangos(b, c, rest, z):
    n = b + c + rest
    if n == 0:
        return
    level = math.erf(z / math.sqrt(2))
    one = tango(PairedCounts(rest, b, c, 0), conf_level=level)
    low, high = tango_limits(np.array([n]), np.array([float(b)]), np.array([float(c)]), np.array([z]))
    assert (low[0], high[0]) == pytest.approx((one.conf_low, one.conf_high), abs=1e-7)


# What the family says hangs together


@settings(deadline=None, max_examples=20)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["graded", "binary", "trials"]),
    st.integers(5, 60),
    st.tuples(st.sampled_from([0.0, 0.15]), st.booleans()),
    st.sampled_from([0.8, 0.95]),
)
def test_an_interval_without_zero_means_a_small_adjusted_p(seed, kind, n, shape, level):
    missing, clustered = shape
    scores = made(seed, n=n, models=3, missing=missing, kind=kind)
    found = pairwise_differences(
        scores,
        clusters=np.arange(n) % 7 if clustered else None,
        binary=kind == "binary",
        bounds=(0.0, 1.0) if kind == "trials" else None,
        conf_level=level,
        n_resamples=199,
    )
    tested = np.isfinite(found.std_error) & np.isfinite(found.p_adjusted) & np.isfinite(found.conf_low)
    excludes = (found.conf_low > 0) | (found.conf_high < 0)
    assert (found.p_adjusted[tested & excludes] <= 1 - level + 1e-12).all()
    assert (found.p_adjusted[tested] >= found.p_value[tested]).all()
    assert (found.p_adjusted[tested] > 0).all()
    assert (found.conf_high[tested] > found.conf_low[tested]).all()


def test_one_binary_family_decides_alike_by_interval_and_by_single_step():
    # Single-step p <= .05 exactly where Tango's limits at the critical value exclude 0.
    seen = set()
    for seed in range(40):
        scores = made(seed, n=40, models=3, kind="binary")[:, [0, 1]]
        found = pairwise_differences(scores, binary=True)
        excludes = bool(found.conf_low[0] > 0 or found.conf_high[0] < 0)
        assert excludes == bool(found.p_adjusted[0] <= 0.05)
        seen.add(excludes)
    assert seen == {True, False}


def test_step_down_is_sharper_than_single_step():
    rng = np.random.default_rng(8)
    scores = rng.normal(size=(12, 5)) + np.array([0, 0.9, 0.9, 4, 4])
    found = pairwise_differences(scores, pairs=[(j, 0) for j in range(1, 5)])
    law = flip_items(pair_table(scores, [(j, 0) for j in range(1, 5)]), np.arange(4), seed=0, n_resamples=9)
    largest = np.concatenate([np.abs(t).max(axis=1) for t, _ in law.chunks()])
    single = np.array([np.mean(reaches(largest, t)) for t in np.abs(found.estimate / found.std_error)])
    assert (found.p_adjusted <= single + 1e-12).all()
    assert (found.p_adjusted[:2] < single[:2]).all()


# Orders and names


def permuted(scores, **options):
    """The same family from a table with items and models in other orders, pairs put back."""
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(scores.shape[0]), rng.permutation(scores.shape[1])
    place = np.argsort(columns)
    if options.get("clusters") is not None:
        relabelled = rng.permutation(100)[options["clusters"]]
        options["clusters"] = relabelled[rows]
    pairs = [(int(place[i]), int(place[j])) for i, j in ALL_OF_4]
    return pairwise_differences(scores[rows][:, columns], pairs=pairs, **options)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["graded", "binary", "trials"])
def test_order_of_items_models_and_labels_changes_nothing(kind, missing, clustered):
    # 160 items or 40 clusters: random draws, and still the same numbers.
    scores = made(7, n=160, missing=missing, kind=kind)
    codes = np.arange(160) % 40 if clustered else None
    options = {"clusters": codes, "binary": kind == "binary", "n_resamples": 99, "seed": 4}
    one, other = pairwise_differences(scores, **options), permuted(scores, **options)
    assert not one.exact
    assert one.seed == 4
    for name in ("estimate", "std_error", "p_value", "p_adjusted", "conf_low", "conf_high", "n_items", "critical"):
        close(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("n", [10, 60])
def test_turned_pairs_and_turned_scores_change_signs_only(n):
    scores = made(9, n=n)
    one = pairwise_differences(scores, n_resamples=99)
    turned = pairwise_differences(scores, pairs=[(j, i) for i, j in ALL_OF_4], n_resamples=99)
    negative = pairwise_differences(-scores, n_resamples=99)
    for other in (turned, negative):
        close(other.estimate, -one.estimate)
        close(other.p_value, one.p_value)
    close(turned.conf_low, -one.conf_high)
    close(turned.conf_high, -one.conf_low)
    close(turned.p_adjusted, one.p_adjusted)
    assert turned.first.tolist() == one.second.tolist()
    # Negative scores put the models in another order, hence other draws where there are draws.
    np.testing.assert_allclose(negative.p_adjusted, one.p_adjusted, atol=1e-12 if one.exact else 0.15)
    np.testing.assert_allclose(negative.conf_low, -one.conf_high, rtol=1e-9 if one.exact else 0.2)


def test_same_seed_same_numbers_other_seed_other_draws():
    scores = made(10, n=60) - 0.7 * np.arange(4)
    one, same, other = (pairwise_differences(scores, seed=seed, n_resamples=499) for seed in (1, 1, 2))
    assert one.p_adjusted.tolist() == same.p_adjusted.tolist()
    assert one.p_adjusted.tolist() != other.p_adjusted.tolist()


def test_scale_of_scores_is_a_matter_of_units():
    scores = made(11, n=14, kind="trials")
    one, other = pairwise_differences(scores), pairwise_differences(7.3 * scores)
    close(one.p_adjusted, other.p_adjusted)
    close(7.3 * one.conf_low, other.conf_low)


def test_canonical_order_does_not_depend_on_the_order_given():
    rng = np.random.default_rng(2)
    scores = made(12, n=30, missing=0.1, kind="binary")
    rows, columns = canonical_order(scores)
    wanted = scores[rows][:, columns]
    for _ in range(5):
        mixed = scores[rng.permutation(30)][:, rng.permutation(4)]
        rows, columns = canonical_order(mixed)
        np.testing.assert_array_equal(mixed[rows][:, columns], wanted)


# Laws: draws against lists, merged against single items


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_draws_agree_with_the_list(missing, clustered):
    scores = made(13, n=14, missing=missing)
    codes = np.arange(14) % 11 if clustered else None
    table = pair_table(scores, None, codes)
    flip = flip_clusters if clustered else flip_items
    pairs = np.flatnonzero(table.testable)
    p = []
    for most in (2**19, 1):
        law = flip(table, pairs, seed=3, n_resamples=9999, most_listed=most)
        found = TwoSided(law.observed)
        collect(law, [found])
        assert law.exact == (most > 1)
        p.append(found.p_adjusted())
    # Monte Carlo error of a share is at most .005 here.
    assert np.abs(p[0] - p[1]).max() < 0.025


def test_alike_items_are_merged_and_counted():
    # Three models and 400 items of five kinds: too many flips to list, few enough sums.
    rng = np.random.default_rng(14)
    kinds = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1], [0, 1, 1]], dtype=float)
    scores = kinds[np.repeat(np.arange(5), [30, 22, 318, 12, 18])]
    found = pairwise_differences(scores[rng.permutation(400)], binary=True)
    assert found.exact
    drawn = np.random.default_rng(0).integers(0, 2, (8000, 400)) * 2 - 1
    differences = np.stack([scores[:, i] - scores[:, j] for i, j in [(0, 1), (0, 2), (1, 2)]], axis=1)
    z = np.abs(drawn @ differences) / np.sqrt((differences**2).sum(axis=0))
    observed = np.abs(differences.sum(axis=0)) / np.sqrt((differences**2).sum(axis=0))
    most = int(np.argmax(observed))
    assert found.p_adjusted[most] > 0.01
    share = np.mean(z.max(axis=1) >= observed[most] - 1e-9)
    assert found.p_adjusted[most] == pytest.approx(share, abs=4 * math.sqrt(share / 8000))


@pytest.mark.parametrize("copies", [[1, 1, 1], [2, 3], [4, 2], [700], [1, 20, 2]])
def test_patterns_are_all_there_and_weigh_what_they_should(copies):
    patterns = sign_patterns(np.array(copies), seed=0, n_resamples=9)
    signs, weights = (np.concatenate(parts) for parts in zip(*patterns.chunks(7), strict=True))
    assert patterns.exact
    odd = any(c % 2 for c in copies)
    assert weights.sum() == pytest.approx(0.5 if odd else 1.0, rel=1e-9)
    assert len(np.unique(signs, axis=0)) == len(signs)
    both, twice = np.concatenate([signs, -signs]), np.concatenate([weights, weights]) / (2 * weights.sum())
    close(twice @ both, np.zeros(len(copies)))
    close(twice @ both**2, np.array(copies, dtype=float))


def test_drawn_signs_have_the_right_variance():
    copies = np.array([1, 40, 1, 100, 1])
    patterns = sign_patterns(copies, seed=5, n_resamples=4000, most_listed=1)
    signs = np.concatenate([part for part, _ in patterns.chunks(300)])
    assert len(signs) == 4000
    # The standard error of a variance of 4,000 draws is about 2.2%.
    close_to = np.abs((signs**2).mean(axis=0) / copies - 1)
    assert close_to.max() < 0.1
    assert set(np.unique(signs[:, 0])) == {-1.0, 1.0}


def test_normal_law_and_flips_agree_for_many_items():
    for missing in (0.0, 0.1):
        table = pair_table(made(15, n=400, missing=missing, kind="binary"))
        quantiles = []
        for law in (
            flip_items(table, np.arange(6), seed=1, n_resamples=9999),
            normal_items(table, np.arange(6), seed=1, n_resamples=9999),
        ):
            found = TwoSided(law.observed)
            collect(law, [found])
            quantiles.append(found.critical(0.95)[0])
        assert quantiles[0] == pytest.approx(quantiles[1], rel=0.03)
        assert 2.3 < quantiles[0] < 2.8


def test_whole_numbers_and_single_precision_change_nothing(monkeypatch):
    scores = made(16, n=300, kind="trials", missing=0.05)
    one = pairwise_differences(scores, n_resamples=199)
    monkeypatch.setattr(reference_laws, "_EXACT_IN_SINGLE", 0.0)
    monkeypatch.setattr(reference_laws, "_KEPT", 0)
    other = pairwise_differences(scores, n_resamples=199)
    close(one.p_adjusted, other.p_adjusted)
    assert one.critical == pytest.approx(other.critical, rel=1e-9)


def test_upper_quantile_at_its_edges():
    values, weights = np.arange(1.0, 21.0), np.ones(20)
    assert upper_quantile(values, weights, 0.95) == (19.0, True)
    assert upper_quantile(values[:19], weights[:19], 0.95) == (19.0, False)
    assert upper_quantile(np.array([1.0, np.inf]), np.array([96.0, 4.0]), 0.95) == (1.0, True)
    assert upper_quantile(np.array([1.0, np.inf]), np.array([94.0, 6.0]), 0.95) == (np.inf, False)


# Tables that say little


def test_models_that_agree_have_p_1_and_their_methods_interval():
    found = pairwise_differences(np.ones((20, 3)), binary=True)
    assert found.p_value.tolist() == found.p_adjusted.tolist() == [1, 1, 1]
    assert np.isnan(found.std_error).all()
    assert (found.conf_low < -0.1).all()
    assert "differ by the same amount on every item" in found.warnings[0]
    plain = pairwise_differences(np.ones((20, 3)))
    assert plain.p_adjusted.tolist() == [1, 1, 1]
    assert np.isnan(plain.conf_low).all()
    beside = pairwise_differences(
        np.column_stack([np.ones(20), np.ones(20), np.random.default_rng(0).random(20)]), n_resamples=500
    )
    assert beside.adjust == "max-t"
    assert beside.p_adjusted[0] == 1
    assert (beside.p_adjusted[1:] < 0.01).all()


def test_a_constant_difference_is_separated_by_the_sign_flips():
    scores = np.column_stack([np.zeros(30), np.full(30, 0.3), np.random.default_rng(0).random(30)])
    found = pairwise_differences(scores)
    assert np.isnan([found.std_error[0], found.conf_low[0]]).all()
    assert found.p_value[0] == pytest.approx(2.0**-29)
    assert found.p_adjusted[0] < 0.001
    assert found.estimate[0] == pytest.approx(-0.3)
    assert np.isfinite(found.p_adjusted[1:]).all()


def test_rounding_is_no_difference():
    scores = np.column_stack([np.full(12, 0.1 + 0.2), np.full(12, 0.3), np.arange(12) / 12])
    found = pairwise_differences(scores)
    assert found.p_value[0] == 1
    assert np.isnan(found.std_error[0])


def test_models_on_other_items_are_not_compared():
    nan = np.nan
    rng = np.random.default_rng(3)
    scores = rng.random((40, 3))
    scores[:20, 1], scores[20:, 2] = nan, nan
    found = pairwise_differences(scores)
    assert found.n_items.tolist() == [20, 20, 0]
    assert np.isnan([found.estimate[2], found.p_value[2], found.p_adjusted[2], found.conf_low[2]]).all()
    assert any("share no item" in warning for warning in found.warnings)
    assert np.isfinite(found.p_adjusted[:2]).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**9))
def test_any_table_gets_numbers_or_nan(seed):
    """Few items, many holes, twins, large offsets, few clusters: no warning, no empty interval, no p of 0."""
    rng = np.random.default_rng(seed)
    n, models, kind = int(rng.integers(1, 30)), int(rng.integers(2, 6)), int(rng.integers(4))
    scores = (
        rng.normal(size=(n, models)),
        rng.integers(0, 2, (n, models)).astype(float),
        rng.integers(0, 4, (n, models)) / 3,
        np.round(rng.normal(size=(n, models)), 1) * 1e6 + 1e9,
    )[kind]
    scores[rng.random(scores.shape) < rng.choice([0, 0.1, 0.6, 0.95])] = np.nan
    if rng.random() < 0.2:
        scores[:, 0] = scores[:, -1]
    codes = None if rng.random() < 0.5 else rng.integers(0, rng.integers(1, 14), n)
    found = pairwise_differences(
        scores,
        clusters=codes,
        bounds=(0.0, 1.0) if kind in {1, 2} else None,
        binary=kind == 1,
        conf_level=float(rng.choice([0.8, 0.95, 0.999])),
        adjust=str(rng.choice(["max-t", "holm", "bh"])),
        n_resamples=49,
    )
    given_ = np.isfinite(found.conf_low)
    slack = 1e-9 * np.abs(found.estimate[given_])
    assert (found.conf_low[given_] < found.conf_high[given_]).all()
    assert (found.conf_low[given_] <= found.estimate[given_] + slack).all()
    assert (found.estimate[given_] - slack <= found.conf_high[given_]).all()
    p = found.p_adjusted[np.isfinite(found.p_adjusted)]
    assert ((p > 0) & (p <= 1)).all()


def test_items_of_no_pair_change_nothing():
    # Items that nobody or one model alone has, some of them in clusters of their own.
    scores = made(20, n=30)
    lone = np.full((8, 4), np.nan)
    lone[3:, 2] = 1.0
    codes = np.arange(30) % 7
    for one, other in (({}, {}), ({"clusters": codes}, {"clusters": np.append(codes, np.arange(8) + 5)})):
        alone, padded = pairwise_differences(scores, **one), pairwise_differences(np.vstack([scores, lone]), **other)
        close(padded.p_adjusted, alone.p_adjusted)
        close(padded.conf_low, alone.conf_low)
        assert padded.n_items.tolist() == [30] * 6


def test_few_clusters():
    scores = made(17, n=36)
    three = pairwise_differences(scores, clusters=np.arange(36) % 3)
    assert np.isnan([three.std_error, three.p_value, three.p_adjusted, three.conf_low]).all()
    assert "fewer than 5 clusters" in three.warnings[0]
    five = pairwise_differences(scores, clusters=np.arange(36) % 5)
    assert five.adjust == "holm"
    close(five.p_adjusted, holm(five.p_value))
    assert "Holm" in five.warnings[0]
    assert "Bonferroni" in five.method
    six = pairwise_differences(scores, clusters=np.arange(36) % 6)
    assert six.adjust == "max-t"
    assert (six.p_adjusted >= 1 / 32).all()


def test_too_few_patterns_for_the_level_widen_the_interval():
    # 6 clusters show no p below 1/32: no pair can be separated at 99%, and no interval may exclude 0.
    scores = made(18, n=30) + np.array([0, 3, 6, 9])
    found = pairwise_differences(scores, clusters=np.arange(30) % 6, conf_level=0.99)
    bonferroni = pairwise_differences(scores, clusters=np.arange(30) % 6, conf_level=0.99, adjust="holm")
    assert (found.p_adjusted > 0.01).all()
    assert ((found.conf_low <= 0) & (found.conf_high >= 0)).all()
    assert (found.conf_high - found.conf_low >= bonferroni.conf_high - bonferroni.conf_low - 1e-12).all()


def test_uneven_clusters_are_named():
    codes = np.array([0] * 60 + [1, 2, 3, 4, 5, 6, 7])
    found = pairwise_differences(made(19, n=67), clusters=codes)
    assert any("Unequal clusters, worth" in warning for warning in found.warnings)


def test_two_items_say_as_much_as_t_with_one_df():
    scores = np.array([[0.2, 0.2, 0.6], [0.9, 0.9, 1.1]])
    table = pair_table(scores)
    found = pair_tests(table, binary=False, bounds=None)
    assert found.p_value[0] == 1.0
    wanted = stats.ttest_rel(scores[:, 0], scores[:, 2])
    assert found.p_value[1] == pytest.approx(wanted.pvalue)
    assert (abs(table.estimate[1]), table.df[1], table.n_items[1]) == (pytest.approx(0.3), 1, 2)
    assert np.isnan(pair_tests(pair_table(scores[:1]), binary=False, bounds=None).p_value).all()


@pytest.mark.parametrize("clustered", [False, True])
def test_a_pair_with_a_single_item_has_that_item_s_difference(clustered):
    rng = np.random.default_rng(5)
    scores = rng.random((30, 3))
    scores[:10, 0], scores[11:, 2] = np.nan, np.nan
    codes = np.arange(30) % 6 if clustered else None
    for rows in (slice(None), rng.permutation(30)):
        table = pair_table(scores[rows], ((0, 1), (0, 2), (1, 2)), None if codes is None else codes[rows])
        assert table.n_items[table.position].tolist() == [20, 1, 11]
        wanted = [np.nanmean(scores[:, i] - scores[:, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
        assert table.sign * table.estimate[table.position] == pytest.approx(np.array(wanted), rel=1e-12)
        if codes is not None:
            own = cluster_mean((scores[:, 0] - scores[:, 1])[10:], codes[10:]).estimate
            at = table.position[0]
            assert (table.std_error[at], table.df[at]) == pytest.approx((own.std_error, own.df), rel=1e-9)


def test_items_that_mirror_one_another_are_one_unit():
    """A change of all signs turns (1, 0, 0) into (0, 1, 1): the law of their flips is the same."""
    scores = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=float)
    distinct, copies = reference_laws._item_units(scores, np.array([3, 2, 4, 1, 5, 6, 9]))
    assert sorted(copies.tolist()) == [5, 5, 11]
    assert len(distinct) == 3
    with_gaps = np.array([[np.nan, 1, 0], [np.nan, 0, 1], [1, np.nan, np.nan]], dtype=float)
    assert reference_laws._item_units(with_gaps, np.ones(3, dtype=np.int64))[1].tolist() == [2]


def test_flips_that_leave_no_spread_are_the_most_extreme():
    """Six clusters, one of them against: the 12 patterns of one against five tie, and the two of all alike lie beyond."""
    scores = np.array([[1.0, 0.0], [0.0, 1.0], *[[1.0, 0.0]] * 4])
    law = flip_clusters(pair_table(scores, clusters=np.arange(6)), np.array([0]), seed=0, n_resamples=99)
    assert law.exact
    found = TwoSided(law.observed)
    collect(law, [found])
    assert found.p_adjusted() == pytest.approx([14 / 64])


def test_one_item_says_nothing():
    found = pairwise_differences([[1.3, 0.2, 1.0]])
    assert np.isnan(found.p_adjusted).all()
    assert found.warnings == ("Only 1 item: no method is reliable below 10",)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scores": np.ones(3)}, "1 dimensions"),
        ({"scores": np.ones((3, 1))}, r"shape \(3, 1\)"),
        ({"scores": np.full((3, 2), np.inf)}, "infinite"),
        ({"binary": True}, "right-or-wrong scores are 0 or 1"),
        ({"bounds": (0, 1)}, "check the unit"),
        ({"adjust": "tukey"}, "use one of max-t, holm"),
        ({"pairs": [(0, 1), (2, 2)]}, r"\(2, 2\) is no pair; give two different columns, 0 to 3"),
        ({"pairs": [(0, 4)]}, r"\(0, 4\) is no pair"),
        ({"pairs": [(-1, 2)]}, r"\(-1, 2\) is no pair"),
        ({"conf_level": 95}, "0.95, not 95"),
        ({"n_resamples": 0}, "at least 1"),
        ({"clusters": [1, 2]}, "one code per value"),
        ({"clusters": np.full(9, 0.5)}, "integer codes"),
    ],
)
def test_bad_input_is_refused_in_words(change, says):
    with pytest.raises(InputError, match=says):
        pairwise_differences(**({"scores": made(0)} | change))


@pytest.mark.parametrize(("n", "missing"), [(40, 0.0), (40, 0.2), (150, 0.0)])
def test_how_draws_are_grouped_changes_no_number(monkeypatch, n, missing):
    """Draws come in small chunks and are worked on in large ones; the stream of random numbers is that of the small."""
    scores = made(11, n=n, models=6, missing=missing)
    monkeypatch.setattr(reference_laws, "_HELD", 4000)
    whole = [f(scores, n_resamples=500) for f in (pairwise_differences, rank_sets, with_the_best)]
    monkeypatch.setattr(reference_laws, "_LONG", 1)
    monkeypatch.setattr(step_down_module, "ROWS", 4)
    monkeypatch.setattr(reference_laws, "ROWS", 3)
    again = [f(scores, n_resamples=500) for f in (pairwise_differences, rank_sets, with_the_best)]
    close(again[0].p_adjusted, whole[0].p_adjusted)
    close(again[0].conf_low, whole[0].conf_low)
    assert (again[1].low.tolist(), again[1].high.tolist()) == (whole[1].low.tolist(), whole[1].high.tolist())
    close(again[2].low, whole[2].low)
    close(again[2].high, whole[2].high)


def test_many_pairs_on_different_items_have_the_same_law(monkeypatch):
    """Above 5,000 pairs normal draws come from the items and not from the correlation of all pairs."""
    scores = made(12, n=300, models=8, missing=0.1)
    table = pair_table(scores, None, None)
    pairs = np.arange(table.first.size)
    laws = []
    for most in (5000, 1):
        monkeypatch.setattr(reference_laws, "_MOST_CORRELATED", most)
        law = reference_laws.normal_items(table, pairs, seed=1, n_resamples=20_000)
        laws.append(np.concatenate([t.copy() for t, _ in law.chunks()][1:]))
    for t in laws:
        np.testing.assert_allclose(t.std(axis=0), 1.0, atol=0.03)
    np.testing.assert_allclose(*(np.corrcoef(t, rowvar=False) for t in laws), atol=0.04)


@pytest.mark.parametrize(
    "values", [[1.0, 0.0, 1.0], [2.0**52, 2.0**52, 1.0, 1.0], [0.1] * 10, [1e16, 1.0, -1e16, 0.5], []]
)
def test_sums_are_rounded_once(values: list[float]):
    assert _exact_sum(np.array(values), np.ones(len(values), dtype=np.int64)) == math.fsum(values)
    assert _exact_sum(np.array(values), np.full(len(values), 3)) == math.fsum(3 * values)


def test_the_score_test_counts_items_that_differ_and_knows_nothing_of_pairs_without_items():
    scores = made(4, n=30, models=4, kind="binary")
    scores[:15, 2], scores[15:, 3] = np.nan, np.nan
    found = pairwise_differences(scores, binary=True, adjust="none")
    for k, (i, j) in enumerate(ALL_OF_4):
        differ = [a != b for a, b in scores[:, [i, j]].tolist() if not (math.isnan(a) or math.isnan(b))]
        assert (found.n_items[k], found.n_differing[k]) == (len(differ), sum(differ))
        counts = (
            PairedCounts.from_scores(*scores[~np.isnan(scores[:, [i, j]]).any(axis=1)][:, [j, i]].T) if differ else None
        )
        assert counts is None or found.p_value[k] == pytest.approx(score_test_p(counts), rel=1e-12)
    assert np.isnan(found.p_value).tolist() == [False] * 5 + [True]


def test_one_item_that_differs_is_one_standard_error_of_the_score_test():
    found = pairwise_differences(np.column_stack([np.ones(9), np.arange(9) > 0, np.arange(9) > 1]), binary=True)
    assert found.p_value == pytest.approx(2 * stats.norm.sf([1.0, 2**0.5, 1.0]))


def test_scores_are_graded_unless_they_are_said_to_be_shares_or_right_or_wrong():
    scores = made(4, n=30, kind="binary")
    assert pairwise_differences(scores, bounds=(0, 1)).method.startswith("paired t")
    assert pairwise_differences(scores, bounds=(0, 1), shares=True).method.startswith("augmented t")
    assert pairwise_differences(scores, binary=True).method.startswith("Tango score")
    tests = pair_tests(pair_table(scores), binary=False, bounds=(0, 1))
    assert tests.kind == "t"


@pytest.mark.parametrize(("n", "says"), [(1, False), (2, True), (5, True), (6, False)])
def test_equal_differences_are_named_where_there_are_two_and_too_few_for_sign_flips(n, says):
    found = pairwise_differences(np.tile([0.0, 0.3], (n, 1)))
    assert any("1 of 1 pairs differ by the same amount on every item" in each for each in found.warnings) == says


def test_differences_within_rounding_are_none():
    (part, d), *more = difference_blocks(np.array([[0.1 + 0.2, 0.3], [1.0, 1.0 + 1e-9]]), np.array([0]), np.array([1]))
    assert (part, more) == (slice(0, 1), [])
    assert d[0, 0] == 0.0
    assert d[1, 0] == pytest.approx(-1e-9, rel=1e-6, abs=0)


def test_a_large_common_level_of_scores_costs_clusters_no_digits():
    """Sums of scores would lose what tells models apart; sums of what lies around each item's mean do not."""
    scores, codes = np.rint(8 * made(2, n=80)) / 8, np.arange(80) % 10
    near, far = (pairwise_differences(scores + level, clusters=codes) for level in (0.0, 2.0**30))
    close(far.std_error, near.std_error)
    close(far.p_adjusted, near.p_adjusted)


def test_patterns_are_listed_as_long_as_there_are_not_too_many_pairs():
    copies = np.ones(16, dtype=np.int64)
    exact = [reference_laws._patterns(copies, pairs, 0, 99, 2**19).exact for pairs in (1, 1000, 10_000)]
    assert exact == [True, True, False]
    assert not reference_laws._patterns(copies, 1, 0, 99, 2**14).exact


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_what_unseen_failures_would_do_is_told_of_heights_above_the_worst_score(missing):
    scores = 2.0 + np.abs(made(5, n=40, missing=missing))
    found = pairwise_differences(scores, worst=1.0, conf_level=0.9, pairs=[(2, 0), (1, 3)]).failures
    wanted = pair_failures(scores - 1.0, [2, 1], [0, 3], conf_level=0.9)
    close(found.undoing, wanted.undoing)
    close(found.possible, wanted.possible)
    turned = pairwise_differences(-scores, worst=-1.0, conf_level=0.9, pairs=[(2, 0), (1, 3)]).failures
    close(turned.undoing, wanted.undoing)
    assert pairwise_differences(scores).failures is None


@pytest.mark.parametrize(("n", "exact"), [(8, True), (40, False)])
def test_the_observed_is_one_of_the_draws_unless_all_are_listed(n, exact):
    table = pair_table(made(6, n=n) + 50.0 * np.arange(4))
    law = flip_items(table, np.arange(6), seed=0, n_resamples=9)
    found = TwoSided(law.observed)
    collect(law, [found])
    assert law.exact == exact
    assert found.total == pytest.approx(0.5 if exact else 10.0)  # each pattern listed stands for its mirror image too
    assert found.p_adjusted().min() == pytest.approx(2.0 ** (1 - n) if exact else 0.1)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("centred", [False, True])
def test_t_of_flipped_clusters_is_cr2_s_of_flipped_sums(missing, centred):
    """Every pattern, pair by pair: the sums of differences, or what is left of them beside the mean, with signs."""
    scores, codes = made(7, n=24, models=3, missing=missing), np.arange(24) % 7
    table = pair_table(scores, None, codes)
    law = flip_clusters(table, np.arange(3), seed=0, n_resamples=9, centred=centred)
    t = np.concatenate([each for each, _ in law.chunks()])
    assert law.exact
    assert len(t) == 2**6
    for k in range(3):
        d = table.scores[:, table.first[k]] - table.scores[:, table.second[k]]
        held = ~np.isnan(d)
        sums = np.bincount(table.codes[held], weights=d[held] - (d[held].mean() if centred else 0.0), minlength=7)
        share = np.bincount(table.codes[held], minlength=7) / held.sum()
        wanted = []
        for signs in itertools.product((1, -1), repeat=7):
            flipped = np.array(signs) * sums
            left = flipped - share * flipped.sum()
            wanted.append(flipped.sum() / math.sqrt((left**2 / (1 - share)).sum()))
        np.testing.assert_allclose(np.sort(np.abs(np.r_[t[:, k], t[:, k]])), np.sort(np.abs(wanted)), 1e-7, 1e-12)


def test_items_that_tell_models_apart_alike_are_copies_of_one_unit():
    nan = math.nan
    row, gap = np.array([0.0, 1.0, 3.0]), np.array([2.0, nan, 0.5])
    items = np.array([row, row + 5, 7 - row, 2 * row, row * 0 + 4, gap, 1 - gap, [nan, nan, 3]])
    units, copies = _item_units(items, np.ones(8, dtype=np.int64))
    found = {tuple(np.nan_to_num(unit, nan=-9.0).tolist()): int(n) for unit, n in zip(units, copies, strict=True)}
    ours = [{kind, tuple(max(kind) - v if v >= 0 else v for v in kind)} for kind in found]
    assert sorted(found.values()) == [1, 2, 3]
    for wanted, times in (((0.0, 1.0, 3.0), 3), ((0.0, 2.0, 6.0), 1), ((1.5, -9.0, 0.0), 2)):
        assert [n for kinds, n in zip(ours, found.values(), strict=True) if wanted in kinds] == [times]


@pytest.mark.parametrize("kind", ["binary", "graded"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_row_may_stand_for_several_items(kind: str, missing: float):
    rows = made(17, n=20, missing=missing, kind=kind)
    times = np.random.default_rng(3).integers(1, 9, size=len(rows))
    found, single = pair_table(rows, times=times), pair_table(np.repeat(rows, times, axis=0))
    assert found.n_groups == single.n_groups == times.sum()
    for name in ("scores", "times", "columns", "n_items", "estimate", "squares", "std_error", "df"):
        np.testing.assert_array_equal(getattr(found, name), getattr(single, name))
    every = np.repeat(rows, times, axis=0)
    for (i, j), n, mean, error in zip(ALL_OF_4, found.n_items, found.estimate, found.std_error, strict=True):
        d = every[:, found.columns[i]] - every[:, found.columns[j]]
        d = d[~np.isnan(d)]
        assert (n, mean, error) == pytest.approx((d.size, d.mean(), d.std(ddof=1) / math.sqrt(d.size)))
    np.testing.assert_allclose(score_covariance(rows, times=times), score_covariance(every), rtol=1e-12)
    heights = np.abs(rows)
    apart, together = (
        pair_failures(np.repeat(heights, times, axis=0), [0], [1]),
        pair_failures(heights, [0], [1], times=times),
    )
    for name in ("undoing", "possible", "seen"):
        assert getattr(apart, name) == pytest.approx(getattr(together, name))
    if kind == "binary":
        assert cochran_q(rows, times) == cochran_q(every)


@pytest.mark.parametrize("count", [1, 7, 499, 500, 501, 3000])
def test_signs_of_many_copies_are_binomial(count):
    found = reference_laws._binomial(count)
    assert found.size == count + 1
    np.testing.assert_allclose(found, stats.binom.pmf(np.arange(count + 1), count, 0.5), rtol=1e-9, atol=1e-300)


def test_items_of_one_model_alone_are_left_out_of_the_table():
    table = pair_table([[1.0, 2.0, math.nan], [math.nan, 3.0, math.nan], [0.0, 1.0, 1.0]])
    assert table.scores.shape == (2, 3)
    assert np.isfinite(table.scores).sum(axis=1).tolist() in ([2, 3], [3, 2])


def test_a_single_bounded_item_has_an_augmented_interval():
    found = pairwise_differences([[0.0, 0.3]], bounds=(0, 1))
    assert -1.0 <= found.conf_low[0] < -0.3 < found.conf_high[0] <= 1.0
    alone = augmented_t([-0.3])
    assert (found.conf_low[0], found.conf_high[0]) == pytest.approx((alone.conf_low, alone.conf_high))


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_shares_on_any_scale_have_the_augmented_t_of_that_scale(unit):
    scores = unit * np.random.default_rng(5).integers(0, 5, (40, 3)) / 4
    found = pairwise_differences(scores, bounds=(0.0, unit), shares=True, adjust="none")
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        alone = augmented_t(scores[:, i] - scores[:, j], bound=unit)
        assert (found.conf_low[k], found.conf_high[k], found.p_value[k]) == pytest.approx(
            (alone.conf_low, alone.conf_high, alone.p_value), rel=1e-9
        )


@pytest.mark.parametrize("nonzero", [0, 4, 5, 6])
def test_five_items_that_differ_say_how_large_a_difference_is(nonzero):
    shares = np.zeros((30, 3))
    shares[:nonzero, 1] = 0.25
    shares[:9, 2] = 0.5
    found = pairwise_differences(shares, bounds=(0.0, 1.0), shares=True, adjust="none")
    alone = augmented_t(shares[:, 0] - shares[:, 1])
    assert (found.conf_low[0], found.conf_high[0]) == pytest.approx((alone.conf_low, alone.conf_high))


@pytest.mark.parametrize(("count", "adjust"), [(5, "none"), (5, "holm"), (6, "max-t")])
def test_clusters_that_are_just_enough_are_not_warned_of(count, adjust):
    assert pairwise_differences(made(17, n=30), clusters=np.arange(30) % count, adjust=adjust).warnings == ()


@pytest.mark.parametrize(("n", "whole"), [(8191, True), (8192, False)])
def test_moments_by_models_are_taken_where_sums_of_squares_are_exact(n, whole):
    """A million squared, 8,192 times, is 2^53: one more than whole numbers that doubles hold without gaps."""
    scores = np.zeros((n, 2))
    scores[0, 0] = 2.0**20
    scores[:, 1] = np.arange(n) % 2
    assert (_lattice_moments(scores, np.ones(n, dtype=np.int64), np.array([0]), np.array([1])) is not None) == whole


def test_the_most_clusters_of_any_pair_are_named_where_they_are_too_few_for_flips():
    """Two of the pairs share 4 clusters and cannot be tested at all; one shares 5."""
    scores, clusters = made(16, n=40, models=3), np.arange(40) % 5
    scores[clusters == 0, 2] = np.nan
    found = pairwise_differences(scores, clusters=clusters)
    assert found.adjust == "holm"
    assert found.warnings[0].startswith("5 clusters are too few for max-T, which needs 6")
    assert np.isnan(found.p_adjusted).tolist() == [False, True, True]


@pytest.mark.parametrize("clustered", [False, True])
def test_a_table_made_before_gives_the_same_answers(clustered):
    scores = made(12, n=40, missing=0.1)
    clusters = np.arange(40) % 8 if clustered else None
    table = pair_table(scores, [(1, 0), (2, 3)], clusters)
    assert pair_table(table) is table
    here = pairwise_differences(table)
    there = pairwise_differences(scores, pairs=[(1, 0), (2, 3)], clusters=clusters)
    assert here.first.tolist() == [1, 2]
    for name in ("estimate", "std_error", "p_adjusted", "conf_low", "conf_high"):
        assert getattr(here, name).tolist() == getattr(there, name).tolist()


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("step", [0.25, 2**0.5])
def test_one_item_or_cluster_has_no_spread_and_no_degrees_of_freedom(clustered, step):
    """The first two models share one item, or several of one cluster; the third has all."""
    scores = step * np.random.default_rng(3).integers(0, 9, (30, 3)) + np.random.default_rng(4).normal(size=(30, 3)) * (
        step > 1
    )
    codes = np.arange(30) % 6
    scores[np.arange(30) != 4 if not clustered else codes != 4, 0] = np.nan
    table = pair_table(scores, [(0, 1), (1, 2)], codes if clustered else None)
    at, other = table.position
    assert np.isnan([table.std_error[at], table.df[at]]).all()
    assert np.isfinite([table.std_error[other], table.df[other]]).all()
    assert table.n_items[at] == (5 if clustered else 1)


@pytest.mark.parametrize("seed", range(4))
def test_the_quantile_of_clusters_is_the_larger_of_both_laws(seed):
    """Signs of the sums as they are, and of what is left of them beside the means: the wild bootstrap for intervals."""
    scores, codes = made(seed, n=32), np.arange(32) % 8
    table = pair_table(scores, None, codes)
    reached = []
    for centred in (False, True):
        law = flip_clusters(table, np.arange(6), seed=0, n_resamples=9, centred=centred)
        found = TwoSided(law.observed)
        collect(law, [found])
        reached.append(found.critical(0.9)[0])
    assert reached[0] != pytest.approx(reached[1])
    assert pairwise_differences(scores, clusters=codes, conf_level=0.9).critical == pytest.approx(max(reached))


def test_cautions_are_of_the_pairs_that_share_items():
    """Of six pairs three share nothing; the fewest items of the others are named, and none of pairs without any."""
    scores = np.random.default_rng(1).normal(size=(12, 4))
    scores[:, 3] = np.nan
    scores[0:5, 0] = np.nan
    found = pairwise_differences(scores)
    assert found.warnings == (
        "3 of 6 pairs share no item and are not compared",
        "Only 7 items: no method is reliable below 10",
    )
    none = pairwise_differences(np.where(np.arange(12)[:, None] % 2 == [0, 1], scores[:, :2] + 1.0, np.nan)[5:])
    assert none.warnings == ("1 of 1 pairs share no item and are not compared",)


def test_the_least_that_unequal_clusters_are_worth_is_named():
    """A pair without the items of one model lies in other clusters, and the fewest degrees of freedom count."""
    codes = np.r_[np.repeat(0, 30), np.repeat(1, 12), np.arange(2, 9), np.arange(2, 9)]
    scores = np.random.default_rng(2).normal(size=(len(codes), 3))
    scores[30:42, 2] = np.nan
    found = pairwise_differences(scores, clusters=codes)
    assert len(set(found.df.round(3).tolist())) == 2
    assert found.df.max() < 4
    (said,) = [each for each in found.warnings if "Unequal" in each]
    assert f"worth {math.floor(10 * (1 + found.df.min())) / 10:.1f} equal ones" in said  # rounded down
    level = pairwise_differences(scores, clusters=np.arange(len(codes)) % 8)
    assert not any("Unequal" in each for each in level.warnings)


@pytest.mark.parametrize("kind", ["binary", "graded", "one way"])
def test_p_values_too_small_for_a_number_are_not_0(kind):
    scores = np.tile([1.0, 0.0], (4_000, 1))
    if kind == "graded":
        scores[::2, 0] = 1.01
    found = pairwise_differences(scores, binary=kind == "binary")
    assert found.p_value.tolist() == [SMALLEST_P]


def test_a_single_infinite_score_is_refused():
    scores = made(3)
    scores[2, 1] = -math.inf
    scores[4, 0] = math.nan
    with pytest.raises(InputError, match="1 scores are infinite"):
        as_scores(scores)


@pytest.mark.parametrize(("shape", "says"), [((0, 3), "at least 1 item"), ((4, 1), "2 models"), ((4,), "1 dimensions")])
def test_a_table_has_an_item_and_two_models(shape, says):
    with pytest.raises(InputError, match=says):
        as_scores(np.ones(shape))
    assert as_scores(np.ones((1, 2))).shape == (1, 2)
    assert as_scores(np.ones((4, 1)), least_models=1).shape == (4, 1)


@pytest.mark.parametrize("step", [0.25, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_moments_by_models_are_those_of_the_differences(step, missing):
    """Scores on a lattice, by products of models; any scores, from the differences: both as numpy has them."""
    rng = np.random.default_rng(4)
    y = step * rng.integers(-3, 4, size=(25, 4)).astype(float)
    y[rng.random(y.shape) < missing] = np.nan
    y[1:, 3] = np.nan if missing else y[1:, 3]
    first, second, each = *np.triu_indices(4, k=1), np.ones(25, dtype=np.int64)
    found = [_lattice_moments(y, each, first, second), _block_moments(y, each, first, second)]
    assert found[0] is not None
    for place, (i, j) in enumerate(zip(first, second, strict=True)):
        d = (y[:, i] - y[:, j])[~np.isnan(y[:, i] - y[:, j])]
        for n, mean, squares, around in found:
            assert n[place] == d.size
            if d.size:
                expected = (d.mean(), (d**2).sum(), ((d - d.mean()) ** 2).sum())
                assert (mean[place], squares[place], around[place]) == pytest.approx(expected, abs=1e-12)
            else:
                assert np.isnan(mean[place])
    assert _lattice_moments(rng.normal(size=(25, 4)), each, first, second) is None
    # Whole numbers whose sums of squares are beyond 2^53 would not be exact.
    assert _lattice_moments(np.array([[0.0, 2.0**26], [1.0, 0.0]]), each[:2], np.array([0]), np.array([1])) is None
    assert _lattice_moments(np.full((3, 2), np.nan), each[:3], np.array([0]), np.array([1])) is None


def test_df_of_means_of_clusters_by_the_covariances_of_the_residuals():
    """2 (E v)^2 / Var v where v is the CR2 variance of a mean of independent items with equal variances."""
    share = np.array([[0.5, 0.2, 0.3], [0.25, 0.25, 0.5], [0.7, 0.1, 0.2]]).T
    for column, df in zip(share.T, satterthwaite(share), strict=True):
        g = len(column)
        # Sums of residuals of clusters, in items of which there are as many as the shares say.
        covariance = np.diag(column) - np.outer(column, column)
        form = covariance / np.sqrt(np.outer(1.0 - column, 1.0 - column))
        assert df == pytest.approx(np.trace(form) ** 2 / np.trace(form @ form))
        assert g == 3


def test_pairs_asked_for_are_found_again_in_their_direction():
    columns = np.array([2, 0, 3, 1])
    pairs = [(0, 1), (3, 2), (1, 0), (2, 3), (0, 1)]
    first, second, position, sign = _unique_pairs(pairs, columns)
    assert len(first) == 2
    assert (first < second).all()
    for k, (i, j) in enumerate(pairs):
        at = columns[first[position[k]]], columns[second[position[k]]]
        assert at == ((i, j) if sign[k] > 0 else (j, i))
    assert set(sign.tolist()) == {1.0, -1.0}
    every = _unique_pairs(None, columns)
    assert sorted(zip(every[0].tolist(), every[1].tolist(), strict=True)) == ALL_OF_4


def test_a_sum_of_whole_numbers_and_others_is_rounded_once():
    values = np.array([1.0] + [0.1] * 10)
    assert values.sum() != 2.0
    each = np.ones(11, dtype=np.int64)
    assert _exact_sum(values, each) == 2.0
    assert _exact_sum(np.array([2.0**53, 1.0, 1.0]), each[:3]) == 2.0**53 + 2.0
    assert _exact_sum(np.array([3.0, -1.0, 2.0]), each[:3]) == 4.0


def test_estimates_and_their_covariance_are_taken_as_they_are_but_for_rounding():
    sigma = np.array([[4.0, 1.0 + 1e-14], [1.0, 1e-6]])
    theta, made = as_estimates([1, 2], sigma * [[1.0, 1e-3], [1e-3, 1.0]])
    assert theta.tolist() == [1.0, 2.0]
    assert made[0, 1] == made[1, 0] == pytest.approx(1e-3)
    assert np.diag(made).tolist() == [4.0, 1e-6]
    for covariance, says in (
        ([[4.0, 1.1], [1.0, 1.0]], "not symmetric"),
        ([[4.0, 2.1], [2.1, 1.0]], "negative variance"),
        ([[4.0, 0.0], [0.0, 0.0]], "not above 0"),
        ([[4.0, np.nan], [np.nan, 1.0]], "NaN"),
        ([[4.0, 0.0]], "square matrix"),
    ):
        with pytest.raises(InputError, match=says):
            as_estimates([1.0, 2.0], covariance)
    # Estimates that move as one have a covariance, if a singular one.
    assert as_estimates([1.0, 2.0], [[4.0, 2.0], [2.0, 1.0]])[1].tolist() == [[4.0, 2.0], [2.0, 1.0]]
    with pytest.raises(InputError, match="1 estimate"):
        as_estimates([1.0], [[1.0]])


def test_clusters_of_a_pair_are_those_in_which_it_shares_items():
    codes = np.array([0, 0, 1, 2, 2, 3, 4, 5])
    scores = np.random.default_rng(6).normal(size=(8, 3))
    scores[[0, 1, 3], 1] = np.nan
    scores[[6], 2] = np.nan
    found = pairwise_differences(scores, clusters=codes)
    assert found.n_clusters.tolist() == [5, 5, 4]
    assert found.n_items.tolist() == [5, 7, 4]


def test_no_difference_has_no_sign():
    scores = np.array([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]])
    found = pairwise_differences(scores, pairs=[(0, 1), (1, 0)])
    assert found.estimate.tolist() == [0.0, 0.0]
    assert not np.signbit(found.estimate).any()
