"""Rank sets: published sets, the stepwise procedure by hand, permutations, and data that leave every rank open."""

import json

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.many import reference_laws
from evalstats.stats.many.pair_table import pair_table, score_covariance
from evalstats.stats.many.ranks import _draws, rank_sets, rank_sets_normal
from tests.stats.flips_by_hand import all_flips, shown_one_sided


def made(seed, n, models=5, missing=0.0, gap=0.6):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, models)) + gap * np.arange(models)
    scores[rng.random(scores.shape) < missing] = np.nan
    return scores


def counted(pairs, shown, n_models):
    """Rank sets from the pairs shown, as sets of (pair, direction)."""
    low, high = np.ones(n_models, dtype=int), np.full(n_models, n_models)
    for pair, way in shown:
        above, below = pairs[pair] if way > 0 else pairs[pair][::-1]
        low[below] += 1
        high[above] -= 1
    return low.tolist(), high.tolist()


def test_published_sets(golden):
    """The R package csranks on ten estimates .1 to 1 with standard error .1 (its draws may move a bound by 1)."""
    toy = json.loads((golden / "r_misc.json").read_text())["csranks_toy"]
    found = rank_sets_normal(toy["x"], toy["se"] ** 2 * np.eye(10), n_resamples=20_000)
    for ours, theirs in (("low", "simulL"), ("high", "simulU"), ("marginal_low", "margL"), ("marginal_high", "margU")):
        assert np.abs(getattr(found, ours) - toy[theirs]).max() <= 1
        assert np.mean(getattr(found, ours) == toy[theirs]) >= 0.8
    assert found.top[3].tolist() == [low <= 3 for low in found.low]
    assert np.abs(found.top[3].sum() - sum(low <= 3 for low in toy["simulL"])) <= 1


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("seed", range(4))
def test_items_by_the_stepwise_procedure(seed, missing):
    scores = made(seed, 9, models=4, missing=missing, gap=1.3)
    check_by_hand(scores, None, list(range(9)))


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_by_the_stepwise_procedure(seed, missing):
    codes = np.repeat(np.arange(8), [6, 2, 3, 1, 4, 3, 3, 6])
    scores = made(seed + 10, 28, models=4, missing=missing, gap=1.0)
    check_by_hand(scores, codes, codes.tolist())


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_more_pairs_than_are_worked_on_at_once(missing):
    """Twelve models are 66 pairs, two more than a block holds."""
    codes = np.repeat(np.arange(8), [6, 2, 3, 1, 4, 3, 3, 6])
    scores = made(20, 28, models=12, missing=missing, gap=1.0)
    check_by_hand(scores, codes, codes.tolist())


def check_by_hand(scores, clusters, codes):
    n = scores.shape[1]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    flips = all_flips(scores.tolist(), codes, pairs)
    found = rank_sets(scores, clusters=clusters, conf_level=0.9)
    assert found.exact
    low, high = counted(pairs, shown_one_sided(flips, 0.1), n)
    assert (found.low.tolist(), found.high.tolist()) == (low, high)
    assert any(entry > 1 for entry in low)
    for j in range(n):
        own = [k for k, pair in enumerate(pairs) if j in pair]
        low, high = counted(pairs, shown_one_sided(flips, 0.1, own), n)
        assert (found.marginal_low[j], found.marginal_high[j]) == (low[j], high[j])


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_sets_hang_together_and_do_not_depend_on_order(missing, n, clustered):
    rng = np.random.default_rng(n)
    scores = made(1, n, models=6, missing=missing, gap=0.25)
    codes = np.arange(n) % 25 if clustered else None
    found = rank_sets(scores, clusters=codes, n_resamples=499)
    rank = 1 + (np.nanmean(scores, axis=0)[:, None] < np.nanmean(scores, axis=0)).sum(axis=1)
    assert ((found.low <= found.marginal_low) & (found.marginal_high <= found.high)).all()
    assert ((found.marginal_low <= rank) & (rank <= found.marginal_high)).all()
    assert (found.low < found.high).any()
    assert (found.top[1] <= found.top[3]).all()
    assert found.top[1][np.argmin(rank)]
    rows, columns = rng.permutation(n), rng.permutation(6)
    other = rank_sets(scores[rows][:, columns], clusters=None if codes is None else 40 - codes[rows], n_resamples=499)
    for name in ("low", "high", "marginal_low", "marginal_high"):
        assert getattr(other, name).tolist() == getattr(found, name)[columns].tolist()
    # Other draws, so that a pair at the edge may fall on the other side.
    turned = rank_sets(-scores, clusters=codes, n_resamples=499)
    assert np.abs((turned.low + found.high) - 7).max() <= 2
    assert np.abs((turned.high + found.low) - 7).max() <= 2


def test_the_law_fits_the_units():
    assert "normal law" in rank_sets(made(2, 100)).method
    assert "sign flips of items" in rank_sets(made(2, 99)).method
    clustered = rank_sets(made(2, 200), clusters=np.arange(200) % 9)
    assert "sign flips of clusters" in clustered.method
    assert clustered.exact
    assert clustered.n_resamples is None
    drawn = rank_sets(made(2, 200), clusters=np.arange(200) % 40, n_resamples=299, seed=6)
    assert (drawn.exact, drawn.n_resamples, drawn.seed) == (False, 299, 6)


def test_normal_law_is_the_published_one():
    # The covariance of the items, given as known, differs from the law of items by its degrees of freedom only.
    scores = made(3, 2000, models=6, gap=0.05)
    items = rank_sets(scores)
    known = rank_sets_normal(scores.mean(axis=0), score_covariance(scores), n_resamples=9999)
    assert np.abs(items.low - known.low).max() <= 1
    assert np.abs(items.high - known.high).max() <= 1
    assert (items.low > 1).any()


def test_missing_scores_by_another_route(monkeypatch):
    """The normal law of pairs on different items against sign flips of the same table."""
    scores = made(4, 300, models=5, missing=0.2, gap=0.25)
    normal = rank_sets(scores)
    monkeypatch.setattr(reference_laws, "ENOUGH_ITEMS", 10_000)
    flips = rank_sets(scores)
    assert "normal" in normal.method
    assert "flips" in flips.method
    for name in ("low", "high", "marginal_low", "marginal_high"):
        assert np.abs(getattr(normal, name) - getattr(flips, name)).max() <= 1
    assert (normal.low > 1).any()


def test_covariance_of_pairs_on_different_items():
    scores = made(5, 120, models=4, missing=0.3)
    table = pair_table(scores)
    root = reference_laws._root(
        reference_laws._correlation(table.scores, table.times, table.first, table.second, table.estimate)
    )
    for k in range(6):
        for m in range(k):
            d, e = (table.scores[:, table.first[x]] - table.scores[:, table.second[x]] for x in (k, m))
            both = np.isfinite(d) & np.isfinite(e)
            cross = ((d - np.nanmean(d)) * (e - np.nanmean(e)))[both].sum()
            wanted = cross / np.sqrt(np.nansum((d - np.nanmean(d)) ** 2) * np.nansum((e - np.nanmean(e)) ** 2))
            assert (root.T @ root)[k, m] == pytest.approx(wanted, abs=1e-6)


def test_too_few_clusters_leave_every_rank_open():
    found = rank_sets(made(6, 50, gap=5.0), clusters=np.arange(50) % 5)
    assert found.reason == "5 clusters: at least 6 are needed for rank sets"
    assert found.low.tolist() == [1] * 5
    assert found.marginal_high.tolist() == [5] * 5
    assert found.top[1].all()
    assert rank_sets(made(6, 60, gap=5.0), clusters=np.arange(60) % 6).low.tolist() == [5, 4, 3, 2, 1]


def test_a_difference_that_is_the_same_on_every_item_is_counted_and_none_at_all_is_not():
    # 200 of 200 items point the same way: no spread is needed to see it.
    flat = rank_sets(np.tile([1.0, 0.0, 0.5], (200, 1)))
    assert flat.low.tolist() == flat.high.tolist() == [1, 3, 2]
    scores = np.column_stack([np.tile([1.0, 0.0], 100), np.tile([1.0, 0.0], 100), np.zeros(200)])
    twins = rank_sets(scores)
    assert twins.low.tolist() == [1, 1, 3]
    assert twins.high.tolist() == [2, 2, 3]
    assert "1 of 3 pairs have no standard error" in twins.warnings[0]


def test_estimates_that_move_as_one_are_not_separated():
    covariance = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) * 0.01
    found = rank_sets_normal([0.9, 0.8, 0.1], covariance)
    assert found.low.tolist() == [1, 1, 3]
    assert found.high.tolist() == [2, 2, 3]
    assert (
        rank_sets_normal([0.9, 0.8], covariance[:2, :2]).reason
        == "no difference between two models has a standard error"
    )


@pytest.mark.parametrize(
    ("covariance", "says"),
    [
        (np.eye(2), r"shape \(2, 2\) for 3"),
        (np.diag([1.0, 0.0, 1.0]), "not above 0"),
        (np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        (np.array([[1, 2.0, 0], [2, 1, 0], [0, 0, 1]]), "negative variance"),
        (np.diag([1.0, np.nan, 1.0]), "NaN"),
    ],
)
def test_a_covariance_that_is_none_is_refused(covariance, says):
    with pytest.raises(InputError, match=says):
        rank_sets_normal([1.0, 2.0, 3.0], covariance)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_negative_variance_is_found_in_any_unit(unit):
    with pytest.raises(InputError, match="negative variance"):
        rank_sets_normal(unit * np.array([0.9, 0.5]), unit**2 * np.array([[1.0, 1.01], [1.01, 1.0]]))


def test_bad_options_are_refused():
    with pytest.raises(InputError, match="an entry of top"):
        rank_sets(made(0, 20), top=(0,))
    with pytest.raises(InputError, match="at least 2 models"):
        rank_sets_normal([1.0], [[1.0]])


def test_the_best_1_3_and_5_are_told_unless_others_are_asked_for():
    scores = made(3, 30, models=7)
    covariance = score_covariance(scores)
    estimates = scores.mean(axis=0)
    assert list(rank_sets_normal(estimates, covariance, n_resamples=99).top) == [1, 3, 5]
    assert list(rank_sets(scores, n_resamples=99).top) == [1, 3, 5]
    assert list(rank_sets_normal(estimates, covariance, n_resamples=99, top=(2,)).top) == [2]


def test_a_model_with_one_score_has_no_variance():
    scores = np.array([[0.1, 0.4, 0.3], [0.5, np.nan, 0.2], [0.3, np.nan, 0.9]])
    with pytest.raises(InputError, match="model 1 has 1 scored items; at least 2 are needed"):
        score_covariance(scores)
    assert score_covariance(scores[1:, [0, 2]]).shape == (2, 2)
    assert score_covariance(scores[:, :1]) == pytest.approx(np.var(scores[:, :1], ddof=1) / 3)


@pytest.mark.parametrize("clustered", [False, True])
def test_covariance_of_scores_by_definition(clustered):
    scores = made(7, 30, models=3, missing=0.2)
    codes = np.arange(30) % 7 if clustered else np.arange(30)
    found = score_covariance(scores, clusters=codes if clustered else None)
    for a in range(3):
        for b in range(3):
            total = 0.0
            for g in np.unique(codes):
                part = 1.0
                for model in (a, b):
                    y, inside = scores[:, model], codes == g
                    n = np.isfinite(y).sum()
                    residual = np.nansum((y - np.nanmean(y))[inside])
                    part *= residual / n / np.sqrt(1 - np.isfinite(y[inside]).sum() / n)
                total += part
            assert found[a, b] == pytest.approx(total, rel=1e-9, abs=1e-15)
    with pytest.raises(InputError, match="too few"):
        score_covariance(scores, clusters=np.arange(30) % 4)


def test_models_without_a_difference_leave_every_rank_open():
    for found in (
        rank_sets(np.ones((30, 3))),
        rank_sets(np.ones((40, 3)), clusters=np.arange(40) % 8),
        rank_sets_normal([0.9, 0.8], np.full((2, 2), 0.01)),
    ):
        assert found.reason == "no difference between two models has a standard error"
        assert set(found.low.tolist()) == {1}
        assert set(found.high.tolist()) == {len(found.low)}
        assert (found.exact, found.n_resamples, found.seed, found.method) == (True, None, None, "none")


def test_a_barred_order_is_not_claimed_and_barred_sets_overlap():
    """Models far apart: without bars every rank is sure. Two barred models share ranks, whoever stands between them."""
    scores = made(8, 60, models=5, gap=5.0)
    assert rank_sets(scores).low.tolist() == [5, 4, 3, 2, 1]
    barred = np.zeros((5, 5), dtype=bool)
    barred[0, 3] = barred[3, 0] = True
    found = rank_sets(scores, barred=barred)
    assert (found.low.tolist(), found.high.tolist()) == ([3, 4, 3, 2, 1], [5, 4, 3, 3, 1])
    assert (found.marginal_low.tolist(), found.marginal_high.tolist()) == ([4, 4, 3, 2, 1], [5, 4, 3, 3, 1])
    columns = np.array([3, 0, 4, 1, 2])
    turned = rank_sets(scores[:, columns], barred=barred[np.ix_(columns, columns)])
    assert turned.low.tolist() == found.low[columns].tolist()
    assert turned.high.tolist() == found.high[columns].tolist()
    assert rank_sets(scores, barred=~np.eye(5, dtype=bool)).high.tolist() == [5] * 5


def test_many_draws_are_taken_of_the_normal_law_of_few_pairs():
    """A million statistics, but 9,999 draws at least and 99,999 at most; flips, which cost more, 9,999."""
    rng = np.random.default_rng(1)
    table = pair_table(rng.normal(size=(100, 8)))
    for n_pairs, draws in ((1, 99_999), (10, 99_999), (28, 1_000_000 // 28), (28 * 8, 9_999)):
        assert _draws(table, np.arange(n_pairs) % 28) == draws
    assert _draws(pair_table(rng.normal(size=(99, 8))), np.arange(3)) == 9_999
    scores = rng.normal(size=(130, 3))
    scores[:31, 0] = np.nan  # 99 of one model with either of the others, 130 of these
    assert _draws(pair_table(scores), np.arange(3)) == 9_999
    assert _draws(pair_table(rng.normal(size=(100, 8)), None, np.arange(100) % 50), np.arange(3)) == 9_999


@pytest.mark.parametrize("n_items", [40, 300])
def test_marginal_sets_do_not_hang_on_whether_the_joint_ones_are_wanted(n_items: int) -> None:
    scores = np.random.default_rng(3).random((n_items, 6)) + np.linspace(0.0, 0.4, 6)
    both, alone = (rank_sets(scores, n_resamples=999, joint=joint) for joint in (True, False))
    assert alone.marginal_low.tolist() == both.marginal_low.tolist()
    assert alone.marginal_high.tolist() == both.marginal_high.tolist()
    assert (set(alone.low.tolist()), set(alone.high.tolist())) == ({1}, {6})
