"""Small parts of ratings by their definitions: laws, connection, clusters of models, slices and cautions."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.arena.bootstrap import single_votes
from evalstats.stats.arena.bradley_terry import fit_strengths, rising_direction
from evalstats.stats.arena.covariance import (
    Way,
    _cautions,
    _repaired,
    combination_variance,
    contrast_p,
    covariance_of,
    model_clusters,
)
from evalstats.stats.arena.likelihood import (
    _condensed,
    _contracted,
    _inseparable,
    connection,
    first_tie_parameter,
    pair_cells,
    vote_law,
    win_table,
)
from evalstats.stats.arena.slices import slice_fit
from evalstats.stats.arena.votes import merged, vote_rows
from tests.stats.arena.votes_by_hand import some_votes


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_moments_of_a_vote_are_sums_over_its_outcomes(ties):
    law = vote_law(ties, np.linspace(-2.0, 3.0, 7), 1.6)
    a, t, b = law.scores
    assert law.score_squares == pytest.approx(law.win * a**2 + law.tie * t**2 + law.loss * b**2)
    mean = law.win + law.tie / 2
    variance = law.win * (1 - mean) ** 2 + law.tie * (0.5 - mean) ** 2 + law.loss * mean**2
    assert law.share_variance == pytest.approx(variance)
    if ties != "half":
        # The mean square of a score is the information where the law is a likelihood.
        assert law.score_squares == pytest.approx(law.information)
        assert law.win * a + law.tie * t + law.loss * b == pytest.approx(np.zeros(7), abs=1e-12)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
def test_the_first_tie_parameter_gives_equal_models_the_share_of_ties(ties, share):
    law = vote_law(ties, np.zeros(1), float(np.exp(first_tie_parameter(ties, share))))
    assert law.tie[0] == pytest.approx(share)


def reached(edges):
    """From where to where one comes along edges, 0 steps counted in."""
    out = np.eye(len(edges), dtype=bool) | edges
    for middle in range(len(edges)):
        out |= out[:, [middle]] & out[[middle]]
    return out


@pytest.mark.parametrize("seed", range(12))
def test_groups_that_beat_come_before_those_they_beat(seed):
    rng = np.random.default_rng(seed)
    edges = rng.random((9, 9)) < 0.05 + 0.02 * seed
    np.fill_diagonal(edges, val=False)
    found, ways = _condensed(edges), reached(edges)
    assert sorted(model for group in found for model in group) == list(range(9))
    place = {model: at for at, group in enumerate(found) for model in group}
    for i in range(9):
        for j in range(9):
            assert (place[i] == place[j]) == (ways[i, j] and ways[j, i])
            if ways[i, j]:
                assert place[i] <= place[j]
    # Of groups that may come next the one with the lowest number does.
    left = set(range(9))
    for group in found:
        free = [m for m in left if not any(ways[k, m] and not ways[m, k] for k in left)]
        assert min(group) == min(free)
        left -= set(group)


def test_islands_unbeaten_and_winless():
    rows = vote_rows([0, 1, 4, 5, 6], [1, 2, 3, 3, 7], [0, 0, 2, 0, 1], n_models=9)
    found = connection(rows)
    assert found.islands == ((0, 1, 2), (3, 4, 5), (6, 7), (8,))
    assert found.unbeaten == (0, 5, 7)
    assert found.winless == (2, 6)
    cells = pair_cells(rows, "half")
    wanted = np.zeros((9, 9))
    for a, b, won, lost in [(0, 1, 1, 0), (1, 2, 1, 0), (4, 3, 0.5, 0.5), (5, 3, 1, 0), (6, 7, 0, 1)]:
        wanted[a, b], wanted[b, a] = won, lost
    assert win_table(cells) == pytest.approx(wanted)


def test_models_made_one_keep_what_they_won_of_others():
    table = np.arange(16.0).reshape(4, 4)
    label = np.array([0, 1, 0, 2])
    assert _contracted(table, label, 3).tolist() == [[0.0, 10.0, 14.0], [10.0, 0.0, 7.0], [26.0, 13.0, 0.0]]
    strong = np.array([[0, 9, 0, 0], [9, 0, 1, 0], [0, 1, 0, 8], [0, 0, 8, 0]], dtype=float)
    assert _inseparable(strong, 5.0).tolist() == [0, 0, 1, 1]
    assert np.unique(_inseparable(strong, 0.5)).size == 1
    assert np.unique(_inseparable(strong, 9.5)).size == 4
    # 4 directly and 3 by a third model are 7 in all.
    round_about = np.array([[0, 4, 3], [4, 0, 3], [3, 3, 0]], dtype=float)
    assert _inseparable(round_about, 7.0)[0] == _inseparable(round_about, 7.0)[1]
    assert np.unique(_inseparable(round_about, 7.5)).size == 3


def test_votes_on_a_model_lie_in_clusters():
    rng = np.random.default_rng(0)
    rows = vote_rows(
        rng.integers(0, 3, 80), np.full(80, 3), rng.integers(0, 2, 80), n_models=5, weight=rng.uniform(0.5, 2.0, 80),
        clusters=(rng.integers(0, 7, 80),),
    )  # fmt: skip
    worth, largest = model_clusters(rows, rows.clusters[0])
    for model in range(4):
        on_it = (rows.first == model) | (rows.second == model)
        k = np.bincount(rows.clusters[0][on_it], weights=rows.weight[on_it])
        assert worth[model] == pytest.approx(k.sum() ** 2 / (k @ k))
        assert largest[model] == pytest.approx(k.max() / k.sum())
    assert (worth[4], largest[4]) == (0.0, 0.0)
    alone, share = model_clusters(rows, None)
    for model in range(4):
        on_it = (rows.first == model) | (rows.second == model)
        assert alone[model] == pytest.approx(rows.weight[on_it].sum() ** 2 / rows.weight_squares[on_it].sum())
    assert share.tolist() == [0.0] * 5


def test_a_model_does_not_differ_from_itself_by_any_p():
    rows = some_votes(3)
    fit = fit_strengths(rows)
    found = contrast_p(fit, covariance_of(fit, rows), [0, 0, 2], [0, 1, 2])
    assert np.isnan(found[[0, 2]]).all()
    assert 0.0 < found[1] <= 1.0


def test_what_must_be_said_of_clusters_is_said():
    many = np.full(3, 60.0)
    assert _cautions((), many, 40.0, 0.0) == ()
    way = Way(name="rater", n_clusters=8, effective=5.3, largest_share=0.4, jackknife=True, nested_in=None)
    (one,) = _cautions((way,), many, 4.3, 0.0)
    assert one.startswith("rater: 8 clusters worth 5 equal ones")
    (few,) = _cautions((), many, 3.9, 0.0)
    assert few == "the clusters are so unequal that they are worth 4.9: too few for a verdict"
    assert _cautions((), many, 4.0, 0.0) == ()
    (rare,) = _cautions((), np.array([60.0, 5.9, 6.0, 3.0]), 5.0, 0.0)
    assert rare.startswith("the votes on 2 models come from clusters worth fewer than 6")
    assert _cautions((), np.array([60.0, 5.9]), 4.9, 0.0) == ()
    (repaired,) = _cautions((), many, 40.0, 0.0134)
    assert "(1.3% of the positive ones)" in repaired


def test_negative_eigenvalues_are_set_to_zero_and_counted():
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    whole = np.pad((turned * [-0.5, 1.0, 4.0]) @ turned.T, ((0, 1), (0, 1)))
    repaired, share = _repaired(whole, 3)
    assert repaired == pytest.approx((turned * [0.0, 1.0, 4.0]) @ turned.T)
    assert share == pytest.approx(0.1)
    as_is, none = _repaired((turned * [0.0, 1.0, 4.0]) @ turned.T, 3)
    assert (none, as_is) == (0.0, pytest.approx((turned * [0.0, 1.0, 4.0]) @ turned.T))


def test_a_direction_in_which_the_likelihood_rises_is_as_long_as_its_bounds():
    """Model 2 has only lost: it runs away from the others, the farthest by 1 each way."""
    rows = vote_rows([0, 1, 0, 1], [1, 0, 2, 2], [0, 0, 0, 0], count=[3, 3, 2, 2])
    cells = pair_cells(rows, "half")
    found = rising_direction(cells, "half", 0.0)
    assert found[0] == pytest.approx(found[1])
    assert (found[0], found[2]) == (pytest.approx(1.0), pytest.approx(-1.0))
    assert rising_direction(cells, "half", 0.5) is None
    free = vote_rows([0, 1], [1, 0], [0, 0], count=[3, 2], covariates=np.array([[1.0], [1.0]]))
    only = rising_direction(pair_cells(free, "half"), "half", 0.5)
    assert only == pytest.approx([0.0, 0.0, 1.0])


def test_a_part_is_measured_against_the_mean_of_its_anchors():
    rows = some_votes(8, n_models=5)
    found = slice_fit(rows)
    anchors = np.array([1, 4])
    estimate, error = found.against(anchors)
    assert estimate == pytest.approx(found.fit.strengths - found.fit.strengths[anchors].mean())
    for model in range(5):
        weights = np.eye(5)[model]
        weights[anchors] -= 0.5
        assert error[model] == pytest.approx(np.sqrt(combination_variance(found.covariance, weights[None])[0]))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
def test_draws_of_single_votes_do_not_hang_on_the_unit_of_weights(unit):
    rng = np.random.default_rng(2)
    weight = rng.choice([0.5, 1.0, 3.0], 200)
    rows = merged(vote_rows(rng.integers(0, 3, 200), np.full(200, 3), rng.integers(0, 2, 200), weight=weight * unit))
    units = single_votes(rows, "half", 100)
    # Votes of one row with differing weights are as many as their weights are worth.
    each = rows.weight**2 / rows.weight_squares
    assert units.expected.sum() == pytest.approx(each.sum())
    assert units.expected.size == rows.n_rows
    assert units.n_drawn == 200


def test_a_start_from_another_law_of_ties_leads_to_the_same_fit():
    rows = some_votes(5, ties=0.3)
    for ties in ("davidson", "rao-kupper"):
        wanted = fit_strengths(rows, ties=ties)
        for start in ("half", "davidson", "rao-kupper"):
            found = fit_strengths(rows, ties=ties, start=fit_strengths(rows, ties=start))
            assert found.strengths == pytest.approx(wanted.strengths, abs=1e-7)
            assert found.tie == pytest.approx(wanted.tie, abs=1e-7)
    with pytest.raises(InputError, match="start has 3 models"):
        fit_strengths(rows, start=fit_strengths(some_votes(5, n_models=3)))


def test_rows_alike_in_all_but_their_share_stay_apart():
    rows = vote_rows([0, 0, 0], [1, 1, 1], [0, 0, 1])
    assert merged(rows).n_rows == 2
    strong = replace(rows, share=np.where(rows.outcome == 0, np.linspace(0.8, 1.0, rows.n_rows), rows.share))
    assert merged(strong).n_rows == rows.n_rows
