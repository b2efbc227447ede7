"""Contrasts of items and their cluster-robust variance, against the definitions with whole matrices."""

from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm

from evalstats.errors import InputError
from evalstats.stats.contamination import item_contrast, split_contrast, twin_contrast
from evalstats.stats.one_sample import cr2_of_mean

# Sums of a few dozen products in double precision.
CLOSE = 1e-9


def by_definition(x, c, w, codes):
    """Rows v_g of the CR2 variance sum (v_g'y)^2 and its Satterthwaite df, from matrices of n x n."""
    n = len(x)
    bread = np.linalg.inv(x.T @ np.diag(w) @ x)
    left = np.eye(n) - x @ bread @ x.T @ np.diag(w)
    line = np.diag(w) @ x @ bread @ c
    rows = []
    for g in np.unique(codes):
        own = codes == g
        values, vectors = np.linalg.eigh((left @ left.T)[np.ix_(own, own)])
        root = vectors @ np.diag(np.where(values > 1e-10, np.abs(values) ** -0.5, 0.0)) @ vectors.T
        a = np.zeros(n)
        a[own] = root @ line[own]
        rows.append(left.T @ a)
    v = np.array(rows)
    g = v @ v.T
    return v, np.trace(g) ** 2 / (g**2).sum()


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("p", [1, 2, 4])
def test_variance_and_df_are_those_of_the_definition(p, clustered):
    rng = np.random.default_rng(p)
    x, c, w, y = rng.normal(size=(36, p)), rng.normal(size=p), rng.random(36) + 0.1, rng.normal(size=(36, 3))
    codes = rng.integers(0, 9, 36) if clustered else np.arange(36)
    found = item_contrast(x, c, weights=w, clusters=[codes] if clustered else [])
    v, df = by_definition(x, c, w, codes)
    assert found.variance(y) == pytest.approx(((v @ y) ** 2).sum(axis=0), rel=CLOSE)
    assert found.df == pytest.approx(df, rel=CLOSE)
    fitted = [float(c @ sm.WLS(y[:, k], x, weights=w).fit().params) for k in range(3)]
    assert found.estimate(y) == pytest.approx(fitted, rel=CLOSE)


def test_a_mean_has_the_variance_of_the_closed_form():
    rng = np.random.default_rng(0)
    values, codes = rng.random(40), rng.integers(0, 7, 40)
    found = twin_contrast(40, [codes])
    closed = cr2_of_mean(values, codes, 7)
    assert found.variance(values[:, np.newaxis])[0] == pytest.approx(closed.variance, rel=CLOSE)
    assert found.df == pytest.approx(closed.df, rel=CLOSE)


def test_old_less_new_has_welchs_variance():
    rng = np.random.default_rng(1)
    values, old = rng.random(50), np.arange(50) < 20
    found = split_contrast(old).variance(values[:, np.newaxis])[0]
    assert found == pytest.approx(values[old].var(ddof=1) / 20 + values[~old].var(ddof=1) / 30, rel=CLOSE)


def test_a_cluster_with_items_of_both_kinds_takes_its_own_level_out():
    rng = np.random.default_rng(2)
    codes, old = np.repeat(np.arange(20), 10), np.arange(200) % 2 == 0
    values = (rng.normal(size=20)[codes] * 5.0)[:, np.newaxis]
    # What a cluster adds to old and new items alike falls out of the difference.
    assert split_contrast(old, [codes]).variance(values)[0] < 1e-12
    assert split_contrast(old).variance(values)[0] > 0.1


def test_two_ways_of_clustering_give_no_less_than_either():
    rng = np.random.default_rng(3)
    values, old = rng.random((120, 4)), np.arange(120) < 60
    ways = [rng.integers(0, 12, 120), rng.integers(0, 10, 120)]
    both = split_contrast(old, ways)
    singles = [split_contrast(old, [each]) for each in ways]
    assert (both.variance(values) >= np.max([each.variance(values) for each in singles], axis=0) - 1e-15).all()
    assert both.df == min(each.df for each in singles)


@pytest.mark.parametrize("n_columns", [2, 3])
def test_several_ways_of_clustering_are_added_and_taken_off_by_definition(n_columns):
    """Inclusion and exclusion over the columns and their intersections, with the largest of one way as a floor."""
    rng = np.random.default_rng(n_columns)
    n = 36
    x, c, w, y = rng.normal(size=(n, 2)), rng.normal(size=2), rng.random(n) + 0.1, rng.normal(size=(n, 40))
    columns = [rng.integers(0, groups, n) for groups in (9, 7, 8)[:n_columns]]
    total, single, df = np.zeros(40), [], []
    for k in range(1, n_columns + 1):
        for chosen in combinations(columns, k):
            codes = np.unique(np.column_stack(chosen), axis=0, return_inverse=True)[1].reshape(-1)
            v, own_df = by_definition(x, c, w, codes)
            one = ((v @ y) ** 2).sum(axis=0)
            total += one if k % 2 else -one
            if k == 1:
                single.append(one)
                df.append(own_df)
    found = item_contrast(x, c, weights=w, clusters=columns)
    assert found.variance(y) == pytest.approx(np.maximum(total, np.max(single, axis=0)), rel=CLOSE)
    # Neither the sum nor the floor is all there is to see.
    assert {bool(each) for each in total > np.max(single, axis=0)} == {True, False}
    assert found.df == pytest.approx(min(df), rel=CLOSE)
    assert found.n_clusters == 7


def test_an_item_or_a_cluster_that_fits_itself_counts_nothing():
    # A column of its own leaves an item, or a cluster of a single item, no residual.
    rng = np.random.default_rng(5)
    x, y = np.column_stack([np.ones(12), np.arange(12) == 3]), rng.normal(size=(12, 2))
    for codes in (np.arange(12), np.r_[np.arange(11), 10]):
        found = item_contrast(x, [1.0, 0.5], clusters=[codes])
        v, df = by_definition(x, np.array([1.0, 0.5]), np.ones(12), codes)
        assert found.variance(y) == pytest.approx(((v @ y) ** 2).sum(axis=0), rel=CLOSE)
        assert found.df == pytest.approx(df, rel=CLOSE)


def test_scores_without_noise_have_no_variance():
    assert split_contrast(np.arange(20) < 10).variance(np.full((20, 2), 0.1)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"design": np.ones((5, 2)), "coefficient": [1.0, 0.0]}, "cannot tell 2 coefficients apart"),
        ({"design": np.ones((5, 1)), "coefficient": [1.0], "clusters": [np.arange(5)] * 5}, "at most 4"),
    ],
)
def test_what_cannot_be_is_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        item_contrast(**arguments)


def test_both_kinds_and_two_pairs_are_needed():
    with pytest.raises(InputError, match="both needed"):
        split_contrast([True, True])
    with pytest.raises(InputError, match="at least 2"):
        twin_contrast(1)
