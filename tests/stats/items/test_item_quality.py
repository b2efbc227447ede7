"""Items that tell nothing, keys that only weak models meet, rows that coincide: definitions, outside truth, error rates."""

import itertools
from math import comb

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.item_quality import (
    RepeatedRows,
    _by_model,
    _column_codes,
    _law,
    _shuffled,
    item_information,
    item_slopes,
    least_p,
    repeated_rows,
    strength_ranks,
    weak_models_test,
)
from evalstats.stats.many.multiplicity import benjamini_hochberg, conditional_benjamini_hochberg


def rasch(rng: np.random.Generator, n: int, m: int, spread: float = 1.0) -> np.ndarray:
    ability, ease = rng.normal(size=m) * spread, rng.normal(size=n)
    return (rng.random((n, m)) < 1 / (1 + np.exp(-(ability + ease[:, None])))).astype(float)


def with_holes(rng: np.random.Generator, scores: np.ndarray, share: float = 0.15) -> np.ndarray:
    return np.where(rng.random(scores.shape) < share, np.nan, scores)


def test_information_is_what_a_loop_over_items_says():
    rng = np.random.default_rng(0)
    scores = with_holes(rng, rng.integers(0, 3, (300, 4)) / 2.0, 0.4)
    found = item_information(scores)
    for i, row in enumerate(scores):
        known = row[~np.isnan(row)]
        alike = known.size > 1 and len(set(known)) == 1
        assert found.tied[i] == alike
        assert found.saturated[i] == (alike and known[0] == 1)
        assert found.unsolvable[i] == (alike and known[0] == 0)
        assert found.informative[i] == (known.size > 1 and not alike)
    assert found.saturated.any()
    assert found.unsolvable.any()


def test_items_without_information_change_no_difference_but_its_size():
    scores = rasch(np.random.default_rng(1), 200, 3)
    kept = scores[item_information(scores).informative]
    before, after = scores[:, 0] - scores[:, 1], kept[:, 0] - kept[:, 1]
    assert before.sum() == after.sum()


def slow_ranks(scores: np.ndarray) -> np.ndarray:
    """Strength without the item, model by model, ties in favour of the better score."""
    n, m = scores.shape
    ranks = np.full(scores.shape, np.nan)
    for i in range(n):
        strength = {}
        for j in range(m):
            if np.isnan(scores[i, j]):
                continue
            others = [k for k in range(n) if k != i and not np.isnan(scores[k, j])]
            strength[j] = round(sum(scores[k, j] - np.nanmean(scores[k]) for k in others) / max(len(others), 1), 12)
        for place, j in enumerate(sorted(strength, key=lambda j: (strength[j], scores[i, j])), 1):
            ranks[i, j] = place
    return ranks


def test_ranks_are_those_of_the_definition():
    rng = np.random.default_rng(2)
    scores = with_holes(rng, rasch(rng, 40, 9))
    seen = ~np.isnan(scores)
    found = np.where(seen, strength_ranks(scores, seen), np.nan)
    expected = slow_ranks(scores)
    # Equal in strength and in score: which of the two comes first has no meaning.
    for item in range(40):
        for value in (0.0, 1.0):
            own = scores[item] == value
            assert sorted(found[item, own]) == sorted(expected[item, own])


@pytest.mark.parametrize(("k", "m"), [(1, 8), (3, 8), (4, 9), (6, 13)])
def test_the_law_is_that_of_all_sets_of_models_and_scipys(k: int, m: int):
    ranks = np.arange(1.0, m + 1)
    sums = np.array([sum(chosen) for chosen in itertools.combinations(ranks, k)])
    sets = list(itertools.combinations(range(m), k))[:: max(1, len(sums) // 40)]
    chosen = np.zeros((len(sets), m), dtype=bool)
    for row, models in enumerate(sets):
        chosen[row, list(models)] = True
    found = weak_models_test(chosen, np.tile(ranks, (len(sets), 1)), np.ones_like(chosen))
    for row, models in enumerate(sets):
        own = sum(ranks[list(models)])
        assert found.p_value[row] == pytest.approx(np.mean(sums <= own), rel=1e-12)
        weak, strong = ranks[chosen[row]], ranks[~chosen[row]]
        outside = stats.mannwhitneyu(weak, strong, alternative="less", method="exact").pvalue
        assert found.p_value[row] == pytest.approx(outside, rel=1e-9)
    law = np.array([np.mean(sums <= s) for s in np.unique(sums)])
    assert found.cut[0] == pytest.approx(law[law <= 0.5].max())
    assert least_p(m) == pytest.approx(1 / stats.binom(m, 0.5).pmf(m // 2) / 2**m)


def test_many_models_have_the_normal_law_close_to_the_exact_one():
    rng = np.random.default_rng(3)
    chosen = rng.random((20, 60)) < np.linspace(0.7, 0.3, 60)
    ranks = np.tile(np.arange(1.0, 61.0), (20, 1))
    found = weak_models_test(chosen, ranks, np.ones_like(chosen)).p_value
    exact = [
        stats.mannwhitneyu(r[c], r[~c], alternative="less", method="exact").pvalue
        for c, r in zip(chosen, ranks, strict=True)
    ]
    assert found == pytest.approx(exact, rel=0.2)
    far = weak_models_test(ranks[:1] <= 30, ranks[:1], np.ones((1, 60), dtype=bool)).p_value[0]
    assert far >= least_p(60)


def test_graded_scores_have_spearmans_correlation():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(60, 12)) + np.linspace(0, 3, 12)
    found = item_slopes(scores)
    ranks = strength_ranks(scores, np.ones(scores.shape, dtype=bool))
    for i in range(60):
        outside = stats.spearmanr(scores[i], ranks[i], alternative="less")
        assert found.correlation[i] == pytest.approx(outside.statistic)
        assert found.p_value[i] == pytest.approx(outside.pvalue, rel=1e-6, abs=1e-12)


def test_a_wrong_key_is_found_and_turned_scores_turn_the_sign():
    rng = np.random.default_rng(5)
    scores = rasch(rng, 300, 25, spread=2.0)
    wrong = [10, 70, 200]
    scores[wrong] = 1.0 - (rng.random((3, 25)) < 1 / (1 + np.exp(-2.0 * np.argsort(np.argsort(scores.sum(0))) + 24)))
    found = item_slopes(scores)
    assert set(np.flatnonzero(found.p_adjusted <= 0.05)) == set(wrong)
    order = rng.permutation(300)
    shuffled = item_slopes(scores[order])
    np.testing.assert_array_equal(shuffled.p_adjusted, found.p_adjusted[order])
    columns = rng.permutation(25)
    np.testing.assert_allclose(item_slopes(scores[:, columns]).p_value, found.p_value)
    mirrored = item_slopes(1.0 - scores)  # strong models become weak, and right becomes wrong
    np.testing.assert_allclose(mirrored.correlation, found.correlation, atol=0.2)


def test_few_models_and_items_without_information_are_not_tested():
    scores = rasch(np.random.default_rng(6), 50, 7)
    assert np.isnan(item_slopes(scores).p_value).all()
    assert np.isnan(item_slopes(scores).p_adjusted).all()
    some = np.column_stack([scores, scores[:, ::-1]])
    some[0], some[1, :10] = 1.0, np.nan
    found = item_slopes(some)
    assert np.isnan(found.p_value[:2]).all()
    assert np.count_nonzero(~np.isnan(found.p_value)) == int(item_information(some).informative[2:].sum())
    assert found.least_p == pytest.approx(1 / 3432)


def test_the_conditional_family_is_that_of_the_quotients():
    rng = np.random.default_rng(7)
    p = np.concatenate([rng.random(20) ** 3, np.ones(30) - rng.random(30) * 0.1])
    found = conditional_benjamini_hochberg(p, np.full(50, 0.5))
    inside = p <= 0.5
    np.testing.assert_allclose(found[inside], benjamini_hochberg(2 * p[inside]))
    assert (found[~inside] == 1).all()
    assert conditional_benjamini_hochberg([0.0, 0.2], [0.0, 0.0]).tolist() == [1.0, 1.0]


def false_shares(kind: str, repetitions: int) -> tuple[float, float]:
    """Mean share of good keys among those called wrong, and share of wrong keys that are called so."""
    rng = np.random.default_rng(8)
    shares, power = [], []
    for _ in range(repetitions):
        n, m, n_bad = 400, 30, 20
        ability = rng.normal(size=m) * 1.5
        slope = np.where(rng.random(n) < 0.5, 1.0, 0.0) if kind == "half without slope" else np.ones(n)
        slope[:n_bad] = -2.0
        logits = slope[:, None] * ability + 0.7 * rng.normal(size=n)[:, None]
        scores = (rng.random((n, m)) < 1 / (1 + np.exp(-logits))).astype(float)
        called = item_slopes(scores).p_adjusted <= 0.05
        shares.append(called[n_bad:].sum() / max(called.sum(), 1))
        power.append(called[:n_bad].mean())
    return float(np.mean(shares)), float(np.mean(power))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["all with slope", "half without slope"])
def test_few_good_keys_are_called_wrong(kind: str):
    share, power = false_shares(kind, 200)
    assert share <= 0.06
    assert power >= 0.5


@pytest.mark.slow
def test_where_no_key_has_a_slope_a_false_alarm_is_rare():
    """The hardest case: 300 items that have nothing to do with strength, which others make; 8, 12 and 30 models."""
    rng = np.random.default_rng(9)
    for m in (8, 12, 30):
        alarms = 0
        for _ in range(300):
            scores = (rng.random((300, m)) < rng.random(300)[:, None]).astype(float)
            alarms += bool((item_slopes(scores).p_adjusted <= 0.05).any())
        assert alarms / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_repeated_rows_need_ten_items_with_a_score():
    scores = np.random.default_rng(0).random((11, 2))
    scores[10] = np.nan
    found = repeated_rows(scores)
    assert found is not None
    assert (found.n_rows, found.n_distinct) == (10, 10)
    assert repeated_rows(scores[1:]) is None


def test_repeated_rows_are_counted_as_a_set_would():
    rng = np.random.default_rng(10)
    scores = with_holes(rng, rng.integers(0, 2, (200, 5)).astype(float), 0.1)
    found = repeated_rows(scores)
    assert found is not None
    kept = [row for row in scores if not np.isnan(row).all()]
    assert found.n_rows == len(kept)
    assert found.n_distinct == len({tuple(str(v) for v in row) for row in kept})
    keys = [tuple(str(v) for v in row) for row in scores]
    for i, j in itertools.combinations(range(0, 200, 7), 2):
        assert (found.group[i] == found.group[j]) == (keys[i] == keys[j])


def test_copies_are_found_in_graded_scores_and_right_or_wrong_ones():
    rng = np.random.default_rng(11)
    graded = np.repeat(rng.normal(size=(25, 2)).round(3), 2, axis=0)
    found = repeated_rows(graded)
    assert found is not None
    assert (found.n_rows, found.n_distinct, found.p_value) == (50, 25, 0.01)
    noisy = repeated_rows(graded * (1 + 1e-15 * rng.integers(-2, 3, graded.shape)))
    assert noisy is not None
    assert noisy.n_distinct == 25
    binary = np.repeat(rasch(rng, 150, 12), 2, axis=0)
    found = repeated_rows(binary)
    assert found is not None
    assert found.p_value == 0.01
    assert found.n_distinct < 0.8 * found.expected


@pytest.mark.parametrize("tables", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_no_copies_where_models_err_independently(tables):
    """Rejections at 5% over so many tables: easy and hard items alike coincide often, and that is expected."""
    rng = np.random.default_rng(12)
    for n, m in ((60, 5), (300, 3), (43, 2), (300, 8)):
        found = [repeated_rows(rasch(rng, n, m, 1.5), seed=seed) for seed in range(tables)]
        p = [1.0 if each is None else each.p_value for each in found]
        assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / tables)
    different = repeated_rows(rng.normal(size=(50, 3)))
    assert different is not None
    assert (different.p_value, different.n_distinct) == (1.0, 50)


def test_metrics_of_one_model_that_follow_from_each_other_are_no_copies():
    rng = np.random.default_rng(13)
    scores = rng.integers(0, 2, (80, 1)).astype(float)
    alone = repeated_rows(np.column_stack([scores, scores, 1 - scores]), models=[0, 0, 0])
    assert alone is not None
    assert (alone.p_value, alone.expected) == (1.0, 2.0)
    other = np.round(rng.normal(size=80), 1)
    both = repeated_rows(np.column_stack([scores, scores, other]), models=[0, 0, 1])
    once = repeated_rows(np.column_stack([scores[:, 0], other]))
    assert both is not None
    assert once is not None
    assert both.n_distinct == once.n_distinct
    assert both.p_value > 0.05


def test_rows_are_shuffled_among_those_of_like_mean_whatever_their_order_and_holes():
    # The third kind has holes of its own and is a group by itself; by their means the others make a run of each kind.
    kinds = np.array([[0.1, 0.1], [0.1, 0.3], [0.25, np.nan], [0.25, 0.9]])
    scores = np.vstack([kinds[np.random.default_rng(0).permutation(80) % 4], np.full((3, 2), np.nan)])
    found = repeated_rows(scores)
    assert found is not None
    assert (found.n_rows, found.n_distinct, found.expected, found.p_value) == (80, 4, 4.0, 1.0)


@pytest.mark.parametrize(("n", "ends"), [(15, [15]), (39, [39]), (40, [20, 40]), (45, [20, 45]), (65, [20, 40, 65])])
def test_columns_are_shuffled_by_themselves_in_runs_of_twenty_and_the_last_takes_the_rest(n, ends):
    table = np.arange(2 * n, dtype=np.uint64).reshape(n, 2)
    found = _shuffled(table, np.random.default_rng(1))
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        assert (np.sort(found[start:end], axis=0) == table[start:end]).all()
        # The first place and the last of a run take part: no run is cut further.
        moved = np.abs(found[start:end].astype(int) - table[start:end].astype(int)) // 2
        assert (moved.max(axis=0) > (end - start) / 2).all()
    assert (found[:, 0] + 1 != found[:, 1]).sum() > n / 2


def test_too_few_items_have_no_answer_and_bad_input_is_named():
    assert repeated_rows(np.arange(18.0).reshape(9, 2)) is None
    same = repeated_rows(np.ones((40, 3)))
    assert same is not None
    assert (same.n_distinct, same.p_value) == (1, 1.0)
    with pytest.raises(InputError, match="finite numbers"):
        repeated_rows(np.array([[np.inf, 1.0]]))
    with pytest.raises(InputError, match="infinite"):
        item_slopes(np.full((10, 9), np.inf))


@pytest.mark.parametrize(
    ("n_distinct", "p_value", "far"), [(40, 0.01, True), (41, 0.01, False), (40, 0.02, False), (0, 0.01, True)]
)
def test_rows_are_far_fewer_up_to_four_fifths_of_those_expected_and_p_of_one_percent(n_distinct, p_value, far):
    found = RepeatedRows(
        n_rows=60, n_distinct=n_distinct, expected=50.0, p_value=p_value, group=np.zeros(60, dtype=np.int64)
    )
    assert found.far_fewer is far


def test_a_models_key_is_the_sum_of_its_columns_keys():
    cells = np.random.default_rng(0).integers(0, 2**64, size=(6, 5), dtype=np.uint64)
    models = [2, 0, 2, 1, 2]
    found = _by_model(cells, models)
    for row in range(6):
        for model in range(3):
            own = [int(cells[row, k]) for k in range(5) if models[k] == model]
            assert int(found[row, model]) == sum(own) % 2**64
    assert (_by_model(cells, None) == cells).all()


@pytest.mark.parametrize("unit", [1e-7, 1.0, 1e7])
def test_codes_of_values_do_not_depend_on_the_unit(unit):
    y = np.array([[0.1, 2.0], [0.3, np.nan], [0.1, -5.0], [0.2, np.nan]])
    codes = _column_codes(unit * y)
    assert codes[:, 0].tolist() == [0, 2, 0, 1]
    assert codes[:, 1].tolist() == [1, 2, 0, 2]


def test_a_model_with_two_items_is_ranked_by_the_other_one_and_with_one_by_nothing():
    """Strength on the other items is a mean of what a model does beyond the item's mean; without others it is 0."""
    nan = np.nan
    scores = np.array([[1.0, 0.0, 0.0, nan], [1.0, 1.0, 0.0, 1.0], [0.0, 1.0, nan, 0.0], [1.0, 0.0, nan, nan]])
    seen = ~np.isnan(scores)
    excess = np.where(seen, scores - np.nanmean(scores, axis=1, keepdims=True), 0.0)
    found = strength_ranks(scores, seen)
    for item in range(4):
        strength = []
        for model in range(4):
            others = [k for k in range(4) if k != item and seen[k, model]]
            strength.append(np.mean(excess[others, model]) if others else 0.0)
        here = np.flatnonzero(seen[item])
        order = sorted(here, key=lambda m: (round(strength[m], 12), scores[item, m]))
        assert [int(found[item, m]) for m in order] == list(range(1, here.size + 1))


@pytest.mark.parametrize(("k", "others"), [(20, 21), (1, 60), (45, 30), (0, 50)])
def test_the_normal_law_of_many_models_has_mann_and_whitneys_moments(k, others):
    law = _law(k, others)
    assert law.size == k * others + 1
    if k:
        sd = np.sqrt(k * others * (k + others + 1) / 12)
        wanted = stats.norm.cdf((np.arange(law.size) + 0.5 - k * others / 2) / sd)
        assert law == pytest.approx(wanted, rel=1e-12, abs=0)
    else:
        assert law.tolist() == [1.0]


def test_forty_models_have_the_listed_law():
    """The smallest rank sum of k among m is one set of (m choose k)."""
    assert _law(20, 20)[0] == pytest.approx(1.0 / comb(40, 20), rel=1e-9, abs=0)
    assert _law(3, 37)[0] == pytest.approx(1.0 / comb(40, 3), rel=1e-9, abs=0)


def test_rows_of_few_answers_are_held_to_what_few_can_give():
    """Two pairs of models on halves of the items: of eight different rows no more can be expected than these."""
    scores = np.random.default_rng(4).integers(0, 2, (120, 4)).astype(float)
    scores[:60, :2] = scores[60:, 2:] = np.nan
    found = repeated_rows(scores)
    assert (found.n_distinct, found.expected) == (8, 8.0)
    assert not found.far_fewer
