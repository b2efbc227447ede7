"""Dependence by factor: known design effects, the permutation moments, error rates."""

import itertools

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.clusters import undeclared_dependence
from evalstats.stats.factor_dependence import (
    _Moments,
    double_centred,
    factor_dependence,
)


def test_residuals_have_no_means_left_where_cells_are_missing():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(50, 6)) + rng.normal(size=(50, 1)) + rng.normal(size=6)
    seen = rng.random((50, 6)) < 0.8
    seen[:, 0] = True
    found = double_centred(scores, seen)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-6)
    # Least squares with a column for every item and model.
    i, j = np.nonzero(seen)
    design = np.zeros((i.size, 56))
    design[np.arange(i.size), i] = design[np.arange(i.size), 50 + j] = 1
    fit = design @ np.linalg.lstsq(design, scores[seen], rcond=None)[0]
    np.testing.assert_allclose(found[seen], scores[seen] - fit, atol=1e-6)


def test_two_models_have_the_known_design_effect_and_its_permutation_p():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 8, 60)
    d = rng.normal(size=60) + 0.4 * rng.normal(size=8)[codes]
    scores = np.column_stack([np.zeros(60), d])
    (found,) = factor_dependence(scores, {"passage": codes})
    (known,) = undeclared_dependence(d, {"passage": codes}, n_permutations=9999)
    assert found.design_effect == pytest.approx(known.design_effect)
    assert found.p_value == pytest.approx(known.p_value, abs=0.02)


def slow_effect(scores: np.ndarray, codes: np.ndarray) -> float:
    """The design effect of all pairs of models, pair by pair."""
    top = bottom = 0.0
    for a, b in itertools.combinations(range(scores.shape[1]), 2):
        d = scores[:, a] - scores[:, b]
        d = d - d.mean()
        top += sum(d[codes == g].sum() ** 2 for g in set(codes.tolist()))
        bottom += (d**2).sum()
    return top / bottom


def test_the_design_effect_is_that_of_all_pairs_and_its_law_has_the_moments_of_all_permutations():
    rng = np.random.default_rng(5)
    scores, codes = rng.normal(size=(6, 4)), np.array([0, 0, 0, 1, 1, 2])
    (found,) = factor_dependence(scores, {"f": codes})
    assert found.design_effect == pytest.approx(slow_effect(scores, codes))
    every = np.array([slow_effect(scores[list(rows)], codes) for rows in itertools.permutations(range(6))])
    assert found.chance == pytest.approx(every.mean())
    law = stats.gamma(every.mean() ** 2 / every.var(), scale=every.var() / every.mean())
    assert found.p_value == pytest.approx(law.sf(found.design_effect))
    assert found.p_value == pytest.approx(np.mean(every >= found.design_effect - 1e-12), abs=0.05)


def test_the_published_audit_is_caught(reference):
    items, gained = np.array(reference["tenacious"]["clusters"]).T
    codes = np.repeat(np.arange(7), items)
    d = np.concatenate([np.repeat([1.0, 0.0], [g, m - g]) for m, g in zip(items, gained, strict=True)])
    rng = np.random.default_rng(0)
    factors = {f"unrelated {k}": rng.integers(0, 6, 43) for k in range(9)} | {"dimension": codes}
    found = factor_dependence(np.column_stack([1 - d, np.ones(43)]), factors)
    assert [each.factor for each in found if each.matters] == ["dimension"]
    assert found[0].design_effect == pytest.approx(6.74, abs=0.005)


@pytest.mark.parametrize("tables", [80, pytest.param(2000, marks=pytest.mark.slow)])
def test_unrelated_factors_are_flagged_as_rarely_as_promised(tables):
    """Ten factors, so many tables each of right-or-wrong and skewed scores with missing cells."""
    rng = np.random.default_rng(6)
    for binary in (True, False):
        alarms = 0
        for _ in range(tables):
            ease = rng.normal(size=(80, 1))
            scores = (
                (rng.random((80, 5)) < 1 / (1 + np.exp(-ease))).astype(float)
                if binary
                else rng.exponential(size=(80, 5)) ** 2
            )
            scores[rng.random((80, 5)) < 0.1] = np.nan
            factors = {str(k): rng.integers(0, 3 + 3 * k, 80) for k in range(10)}
            alarms += any(each.p_adjusted <= 0.05 for each in factor_dependence(scores, factors))
        # Where a few items hold most of the variance, a gamma law is somewhat short in the tail: 7.4% of 5,000 tables.
        share = 0.075 if tables > 80 and not binary else 0.05
        assert alarms / tables <= share + 3 * np.sqrt(share * (1 - share) / tables)


def test_items_of_one_model_or_of_none_say_nothing():
    rng = np.random.default_rng(13)
    scores, codes = rng.normal(size=(24, 3)), np.arange(24) // 4
    more = np.full((12, 3), np.nan)
    more[:8, 1] = rng.normal(size=8)
    found = factor_dependence(np.vstack([scores, more]), {"f": np.concatenate([codes, np.arange(12) % 7])})
    assert found == factor_dependence(scores, {"f": codes})


def test_nothing_to_say_is_empty():
    assert factor_dependence(np.ones((20, 2)), {"f": np.arange(20) // 5}) == ()
    assert (
        factor_dependence(np.random.default_rng(0).normal(size=(20, 2)), {"f": np.arange(20), "g": np.zeros(20, int)})
        == ()
    )
    alone = np.full((10, 2), np.nan)
    alone[:, 0] = 1.0
    assert factor_dependence(alone, {"f": np.arange(10) // 5}) == ()


@pytest.mark.parametrize("sizes", [[2], [2, 1], [2, 2], [2, 3], [2, 1, 3]])
def test_the_moments_of_few_items_are_those_of_all_permutations(sizes):
    rng = np.random.default_rng(len(sizes))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    e = rng.normal(size=(codes.size, 3)) + 0.4
    moments = _Moments.of(e)

    def within(rows):
        return sum(
            e[rows[i]] @ e[rows[j]] for i, j in itertools.permutations(range(len(rows)), 2) if codes[i] == codes[j]
        )

    every = np.array([within(rows) for rows in itertools.permutations(range(codes.size))])
    mean, p = moments.tail(np.array(sizes, dtype=float), float(every[0]))
    assert mean == pytest.approx(every.mean())
    level = every.mean() + float((e**2).sum())
    if every.var() < 1e-12 or level <= 0:
        assert p == 1.0
    else:
        law = stats.gamma(level**2 / every.var(), scale=every.var() / level)
        assert p == pytest.approx(law.sf(every[0] + float((e**2).sum())), rel=1e-7)


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_the_unit_of_scores_does_not_matter(unit):
    rng = np.random.default_rng(11)
    scores, codes = rng.normal(size=(12, 3)), np.repeat(np.arange(4), 3)
    own, other = (factor_dependence(scale * scores, {"f": codes})[0] for scale in (1.0, unit))
    assert (other.p_value, other.design_effect) == pytest.approx((own.p_value, own.design_effect))


@pytest.mark.parametrize(("n_levels", "told"), [(1, False), (2, True), (6, True), (7, False)])
def test_factors_have_two_levels_to_half_as_many_as_items(n_levels, told):
    scores = np.random.default_rng(12).normal(size=(12, 3))
    assert bool(factor_dependence(scores, {"f": np.arange(12) % n_levels})) == told
