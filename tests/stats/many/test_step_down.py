"""Step-down tests: what is counted draw by draw, what chunks and blocks must not change, and the laws that are drawn."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.stats.many import reference_laws, step_down
from evalstats.stats.many.pair_table import pair_table
from evalstats.stats.many.reference_laws import _on_lattice, flip_clusters, normal_items, normal_known, sign_patterns
from evalstats.stats.many.step_down import OneSided, ReferenceLaw, TwoSided, collect, upper_quantile

FIRST, SECOND = np.array([0, 0, 1]), np.array([1, 2, 2])


def drawn(seed, n_draws, n_pairs):
    """Draws with ties, weights among them that are not 1, and observed statistics that stand among the draws."""
    rng = np.random.default_rng(seed)
    t = np.round(rng.standard_t(3, size=(n_draws, n_pairs)) + rng.normal(size=(n_draws, 1)), 1)
    return t[0] * rng.choice([0.7, 1.0, 1.6], n_pairs), t, rng.integers(1, 4, n_draws).astype(float)


def counted(found, t, weight, size):
    for start in range(0, len(t), size):
        found.add(np.asfortranarray(t[start : start + size]), weight[start : start + size])
    return found


def stepped(shares, order):
    p = np.empty(len(order))
    p[order] = np.maximum.accumulate(shares)
    return p


@pytest.mark.parametrize("rows", [64, 3])
@pytest.mark.parametrize("seed", range(4))
def test_step_down_counts_draws_in_which_any_later_pair_reaches_it(monkeypatch, seed, rows):
    monkeypatch.setattr(step_down, "ROWS", rows)
    observed, t, weight = drawn(seed, 50, 7)
    weight = np.ones(50) if seed == 0 else weight
    found = counted(TwoSided(observed), t, weight, 20)
    order = np.argsort(-np.abs(observed), kind="stable")
    shares = [
        weight @ (np.abs(t[:, order[k:]]).max(axis=1) >= np.abs(observed[order[k]]) * (1 - 1e-9)) / weight.sum()
        for k in range(7)
    ]
    assert found.p_adjusted() == pytest.approx(stepped(shares, order), rel=1e-12)
    assert found.critical(0.8) == upper_quantile(np.abs(t).max(axis=1), weight, 0.8)


@pytest.mark.parametrize("rows", [64, 3])
@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_one_sided_step_down_keeps_the_mirror_images_of_all_pairs(monkeypatch, seed, every, rows):
    """A rejected direction leaves the family, its mirror image does not; each draw stands for its mirror image, too."""
    monkeypatch.setattr(step_down, "ROWS", rows)
    observed, t, weight = drawn(seed, 50, 9)
    members = np.arange(9) if every else np.array([1, 2, 4, 5, 8])
    found = counted(OneSided(observed, members), t, weight, 20)
    own = observed[members]
    order = np.argsort(-np.abs(own), kind="stable")
    ahead = np.concatenate([t, -t])[:, members] * np.where(own < 0, -1.0, 1.0)
    both = np.concatenate([weight, weight])
    shares = [
        both @ (np.maximum(-ahead.min(axis=1), ahead[:, order[k:]].max(axis=1)) >= abs(own[order[k]]) * (1 - 1e-9))
        for k in range(len(members))
    ]
    assert found.p_adjusted() == pytest.approx(stepped(np.array(shares) / both.sum(), order), rel=1e-12)
    assert found.critical(0.8) == upper_quantile(np.abs(t[:, members]).max(axis=1), weight, 0.8)[0]


def test_a_pair_far_ahead_of_all_draws_and_one_without_a_difference():
    observed = np.array([0.0, 9.0, -0.5])
    t = np.array([[0.0, 1.0, 0.5], [0.0, -1.0, 0.25], [0.0, 0.0, 0.0]])
    two, one = (counted(each, t, np.ones(3), 3) for each in (TwoSided(observed), OneSided(observed, np.arange(3))))
    # Of the later pairs of the second: .5 reaches |-.5|, .25 and 0 do not. Then 0 is reached by all.
    assert two.p_adjusted() == pytest.approx([1.0, 1e-300, 1 / 3])
    # Ahead of all is (0, 1, -.5), (0, -1, -.25), zeros and their negatives: of these six .5 is reached by 1 of the second
    # pair where it points the other way, twice, and by .5 of the third's own mirror image.
    assert one.p_adjusted() == pytest.approx([1.0, 1e-300, 3 / 6])


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_quantile_is_the_least_value_with_little_weight_above_it(level):
    rng = np.random.default_rng(1)
    for _ in range(20):
        values, weights = rng.integers(0, 12, 30).astype(float), rng.integers(1, 5, 30).astype(float)
        kept = [q for q in np.unique(values) if weights[values > q].sum() <= (1 - level) * weights.sum() + 1e-9]
        q, reached = upper_quantile(values, weights, level)
        assert q == kept[0]
        assert reached == (q < values.max())


# The normal law.


def law_of(law):
    return np.concatenate([t.copy() for t, _ in law.chunks()])


@pytest.mark.parametrize("df", [None, 6.0])
def test_draws_of_a_known_covariance_are_differences_in_their_own_units(df):
    """A sum of two differences is the third, draw by draw; over a common scale t has the t distribution's variance."""
    a = np.random.default_rng(2).normal(size=(3, 3))
    covariance, x = a @ a.T + np.diag([0.1, 2.0, 0.5]), np.array([1.0, 0.2, -0.7])
    law = normal_known(x, covariance, FIRST, SECOND, seed=3, n_resamples=4000, df=df)
    t = law_of(law)
    sd = np.sqrt([covariance[i, i] + covariance[j, j] - 2 * covariance[i, j] for i, j in ((0, 1), (0, 2), (1, 2))])
    assert law.observed == pytest.approx(np.array([0.8, 1.7, 0.9]) / sd)
    assert (t[0] == law.observed).all()
    assert len(t) == 4001
    own = t[1:] * sd
    assert own[:, 0] + own[:, 2] == pytest.approx(own[:, 1], abs=1e-6)
    # Four standard errors of a variance, whose kurtosis is 3 + 6/(df - 4) of t; the correlation of differences by the way.
    wanted, kurtosis = (1.0, 3.0) if df is None else (df / (df - 2), 3.0 + 6.0 / (df - 4))
    assert (t[1:] ** 2).mean(axis=0) == pytest.approx(wanted, rel=4 * np.sqrt((kurtosis - 1) / 4000))
    contrast = np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    correlation = contrast @ covariance @ contrast.T / np.outer(sd, sd)
    assert np.corrcoef(t[1:], rowvar=False) == pytest.approx(correlation, abs=0.1)
    given = normal_known(x, covariance, FIRST, SECOND, seed=3, n_resamples=9, variance=4 * sd**2)
    assert given.observed == pytest.approx(law.observed / 2)


@pytest.mark.parametrize(("missing", "most_correlated"), [(False, 5000), (True, 5000), (True, 2)])
def test_draws_for_items_have_their_fewest_degrees_of_freedom(missing, most_correlated, monkeypatch):
    """t of 8 items and fewer: a variance of df / (df - 2), where the normal law would have 1; correlations of what was seen."""
    monkeypatch.setattr(reference_laws, "_MOST_CORRELATED", most_correlated)
    scores = np.random.default_rng(4).normal(size=(40, 3))
    scores[8:, 2] = np.nan if missing else 0.0
    table = pair_table(scores)
    n = 60_000
    law = normal_items(table, np.arange(3), seed=5, n_resamples=n)
    df = 7 if missing else 39
    kurtosis = 3.0 + 6.0 / (df - 4)
    drawn = law_of(law)[1:]
    assert (drawn**2).mean(axis=0) == pytest.approx(df / (df - 2), rel=5 * np.sqrt((kurtosis - 1) / n))
    d = table.scores[:, table.first] - table.scores[:, table.second]
    left = np.nan_to_num(d - np.nanmean(d, axis=0))
    size = np.sqrt((left**2).sum(axis=0))
    assert np.corrcoef(drawn, rowvar=False) == pytest.approx(left.T @ left / np.outer(size, size), abs=0.03)


def test_draws_come_in_chunks_and_all_of_them_once(monkeypatch):
    covariance = np.diag([1.0, 2.0, 3.0])
    whole = law_of(normal_known(np.zeros(3), covariance, FIRST, SECOND, seed=1, n_resamples=25, df=5.0))
    monkeypatch.setattr(reference_laws, "_HELD", 12)
    monkeypatch.setattr(reference_laws, "_LONG", 8)
    chunks = [
        t.copy() for t, _ in normal_known(np.zeros(3), covariance, FIRST, SECOND, seed=1, n_resamples=25).chunks()
    ]
    assert [len(each) for each in chunks] == [1, 8, 8, 8, 1]
    assert len(whole) == 26
    patterns = sign_patterns(np.array([1, 1, 40]), seed=1, n_resamples=25, most_listed=1)
    assert [len(signs) for signs, _ in patterns.chunks(10)] == [10, 10, 5]


@pytest.mark.parametrize("copies", [[1] * 9, [1, 1, 40, 1, 3], [7, 12], [40, 1, 1, 1]])
@pytest.mark.parametrize("most_listed", [1, 10**6])
def test_blocks_of_a_chunk_change_no_draw(copies, most_listed):
    patterns = sign_patterns(np.array(copies), seed=3, n_resamples=103, most_listed=most_listed)
    apart = [(signs.copy(), weight.copy()) for signs, weight in patterns.chunks(10)]
    together = [(signs.copy(), weight.copy()) for signs, weight in patterns.chunks(10, blocks=4)]
    assert len(together) == -(-len(apart) // 4)
    for one, other in zip(zip(*apart, strict=True), zip(*together, strict=True), strict=True):
        assert np.concatenate(one).tobytes() == np.concatenate(other).tobytes()


def test_signs_drawn_for_one_unit_do_not_hang_on_those_of_others():
    signs = np.concatenate(
        [s for s, _ in sign_patterns(np.ones(11, int), seed=2, n_resamples=4000, most_listed=1).chunks(999)]
    )
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert signs.mean(axis=0) == pytest.approx(0.0, abs=5 / np.sqrt(4000))
    assert np.corrcoef(signs, rowvar=False) - np.eye(11) == pytest.approx(0.0, abs=5 / np.sqrt(4000))


def test_all_that_count_get_every_draw():
    law = ReferenceLaw(
        observed=np.array([1.0]),
        chunks=lambda: iter([(np.array([[1.0], [-2.0]]), np.ones(2))]),
        exact=True,
        n_resamples=None,
        seed=None,
    )
    found = [TwoSided(law.observed), OneSided(law.observed, np.arange(1))]
    collect(law, found)
    assert [each.p_adjusted().tolist() for each in found] == [[1.0], [1.0]]


@pytest.mark.parametrize(
    ("copies", "kind"), [([1, 1], np.float32), ([2**22, 2**22], np.float64), ([2**23, 1], np.float64)]
)
def test_whole_steps_are_in_single_precision_where_their_sums_are_exact(copies, kind):
    units, step = _on_lattice(np.array([[0.0, 1.5], [0.5, 1.0]]), np.array(copies))
    assert (units.dtype, step) == (kind, 0.5)
    assert units.tolist() == [[0.0, 3.0], [1.0, 2.0]]


def test_totals_of_clusters_that_are_not_held_are_made_again():
    rng = np.random.default_rng(6)
    scores = np.where(rng.random((40, 3)) < 0.2, np.nan, rng.normal(size=(40, 3)))
    table = pair_table(scores, clusters=np.arange(40) % 9)
    assert table.totals is not None
    one, other = (
        flip_clusters(each, np.arange(3), seed=1, n_resamples=50)
        for each in (table, replace(table, totals=None, laws={}))
    )
    assert law_of(other) == pytest.approx(law_of(one), rel=1e-9)
    with pytest.raises(ValueError, match="no clusters"):
        flip_clusters(pair_table(scores), np.arange(3), seed=1, n_resamples=50)
