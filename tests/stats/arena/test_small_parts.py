"""Small parts of ratings by their definitions: laws, connection, clusters of models, slices and cautions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena import parametric_bootstrap
from evalstats.stats.arena.bootstrap import _ends, single_votes
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, _reach, fit_strengths, rising_direction
from evalstats.stats.arena.covariance import (
    Meat,
    Way,
    _assembled,
    _cautions,
    _repaired,
    combination_variance,
    contrast_p,
    covariance_of,
    covariance_of_meat,
    df_words,
    model_clusters,
)
from evalstats.stats.arena.likelihood import (
    _classes,
    _condensed,
    _contracted,
    _inseparable,
    connection,
    first_tie_parameter,
    pair_cells,
    tie_of_half,
    vote_law,
    win_table,
)
from evalstats.stats.arena.parametric_bootstrap import simulated
from evalstats.stats.arena.slices import (
    DeviationModel,
    WayNoise,
    _root,
    _settled,
    _squares,
    cluster_noise,
    clustering,
    slice_fit,
)
from evalstats.stats.arena.votes import merged, vote_rows
from tests.stats.arena.votes_by_hand import log_likelihood, some_votes


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
    assert win_table(pair_cells(rows, "davidson")) == pytest.approx(wanted)


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
    assert few == "Unequal clusters, worth 4.9 equal ones, are too few for a verdict"
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


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
def test_votes_of_another_weight_are_other_units_whatever_the_unit(unit):
    weight = np.array([1.0, 3.0, 1.0, 3.0, 0.5]) * unit
    rows = vote_rows([0] * 5, [1] * 5, [0, 0, 0, 1, 0], weight=weight, clusters=[np.arange(5)])
    units = single_votes(rows, "half", 100)
    # Won at weight 1 (two votes), 3 and 0.5, and lost at weight 3.
    assert sorted(units.expected.round(9).tolist()) == [1.0, 1.0, 1.0, 2.0]
    assert sorted((units.parts.sum(axis=0) / unit).round(9).tolist()) == [0.5, 1.0, 3.0, 3.0]


class _Peak:
    """A likelihood with its top where `at` says."""

    def __init__(self, at):
        self.at = at

    def largest_tau(self):
        return 4.0

    def log_lik(self, tau):
        return -100.0 * (tau - self.at) ** 2


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_the_spread_and_the_noise_left_beside_it_settle_from_either_side(start):
    asked = []

    def model_at(tau):
        asked.append(tau)
        return _Peak(0.5 + 0.3 * tau)  # the larger the spread, the less noise is left, the larger the spread

    model, tau = _settled(model_at, start)
    assert tau == pytest.approx(0.5 / 0.7, rel=0.01)  # as near as _NEAR asks
    assert model.at == pytest.approx(0.5 + 0.3 * asked[-1])
    assert 3 <= len(asked) <= 8


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


def test_the_information_of_clusters_is_squared_category_by_category():
    rng = np.random.default_rng(3)
    rows = vote_rows(
        rng.integers(0, 3, 120), np.full(120, 3), rng.integers(0, 2, 120), weight=rng.uniform(0.5, 2.0, 120),
        clusters=(rng.integers(0, 9, 120), rng.integers(0, 2, 120)),
    )  # fmt: skip
    codes, category = rows.clusters
    weight = rng.uniform(0.1, 1.0, rows.n_rows)
    found = _squares(rows, category, codes, weight, 2)
    for s in range(2):
        wanted = np.zeros((4, 4))
        for cluster in range(9):
            own = np.zeros((4, 4))
            for row in np.flatnonzero((codes == cluster) & (category == s)):
                d = np.eye(4)[rows.first[row]] - np.eye(4)[rows.second[row]]
                own += weight[row] * np.outer(d, d)
            wanted += own @ own
        assert found[s] == pytest.approx(wanted)


def test_what_clusters_add_to_noise_is_what_chance_and_categories_leave():
    noise = WayNoise(blocks=np.zeros((1, 2, 2)), at_zero=3.0, by_clusters=4.0, by_deviations=5.0)
    assert noise.variance(0.0) == pytest.approx(0.5)
    assert noise.variance(0.5) == pytest.approx((2.0 - 1.25) / 4.0)
    assert noise.variance(2.0) == 0.0
    assert replace(noise, by_clusters=0.0).variance(0.0) == 0.0


def test_the_largest_tau_is_twice_the_spread_of_values_or_of_the_quietest_noise():
    values = (np.array([0.3, -0.1]), np.array([0.2]))
    for scale, wanted in ((1.0, 2.0 * np.sqrt((0.09 + 0.01 + 0.04) / 3)), (1e-3, 2.0 * np.sqrt(0.02))):
        model = DeviationModel(
            n_models=3,
            axes=(np.eye(3)[:, :2], np.eye(3)[:, :1]),
            values=tuple(scale * y for y in values),
            noise=(np.array([0.01, 0.03]), np.array([0.05])),
        )
        assert model.largest_tau() == pytest.approx(wanted)


def test_clusters_with_deviations_of_their_own_are_noisier_by_what_is_foretold():
    """Means over 5 tables: single votes have a ratio of 1; deviations of variance .3 add that much of `by_clusters`."""
    rng, none, some, foretold = np.random.default_rng(4), [], [], []
    for _ in range(5):
        n = 1500
        first = rng.integers(0, 5, n)
        second, category = (first + rng.integers(1, 5, n)) % 5, rng.integers(0, 3, n)
        rater = 13 * category + rng.integers(0, 13, n)
        own = rng.normal(0.0, np.sqrt(0.3), (39, 5))
        for eta, kept in ((np.zeros(n), none), (own[rater, first] - own[rater, second], some)):
            lost = rng.random(n) > 1.0 / (1.0 + np.exp(-eta))
            rows = vote_rows(first, second, lost.astype(int), clusters=(rater, category))
            (found,) = cluster_noise(
                fit_strengths(rows), replace(rows, clusters=rows.clusters[:1]), rows.clusters[1],
                used=clustering(replace(rows, clusters=rows.clusters[:1])),
            )  # fmt: skip
            kept.append(found.at_zero)
        foretold.append(1.0 + 0.3 * found.by_clusters)
    assert np.mean(none) == pytest.approx(1.0, abs=0.1)
    # Tastes also blur votes, which takes a tenth or two off what first order foretells.
    assert np.mean(some) == pytest.approx(np.mean(foretold), rel=0.25)
    assert np.mean(some) > 1.5


@pytest.mark.parametrize("raters", [0, 12])
def test_strengths_of_draws_are_as_far_apart_as_those_observed(raters, monkeypatch):
    """Votes are drawn with strengths drawn together by their noise, that of tastes counted in."""
    rng = np.random.default_rng(5)
    n = 1200
    first = rng.integers(0, 8, n)
    second = (first + rng.integers(1, 8, n)) % 8
    rater, strengths = rng.integers(0, max(raters, 1), n), np.linspace(-0.5, 0.5, 8)
    taste = rng.normal(0.0, 0.7 if raters else 0.0, (max(raters, 1), 8))
    eta = strengths[first] - strengths[second] + taste[rater, first] - taste[rater, second]
    rows = vote_rows(
        first, second, (rng.random(n) > 1 / (1 + np.exp(-eta))).astype(int), clusters=(rater,) if raters else ()
    )
    fit = fit_strengths(rows)
    found = simulated(fit, rows, n_resamples=150)
    spread = np.square(found.drawn.strengths).sum(axis=1)
    observed = np.square(fit.strengths).sum()
    # 150 draws, and a pilot of 60 behind them.
    assert spread.mean() == pytest.approx(observed, rel=0.12)
    monkeypatch.setattr(parametric_bootstrap, "_together", lambda _: 1.0)
    further = simulated(fit, rows, n_resamples=150)
    assert np.square(further.drawn.strengths).sum(axis=1).mean() > 1.04 * observed
    assert (len(found.tastes.sd) > 0) is bool(raters)


@pytest.mark.parametrize(("tail", "place"), [(1e-4, 0), (0.05, 0), (0.1, 0), (0.11, 1), (0.2, 1), (0.975, 9), (1.0, 9)])
def test_ends_of_draws_are_counted_from_either_side(tail, place):
    values = np.random.default_rng(6).permutation(np.arange(10.0))
    low, high = _ends(values, np.zeros(10, dtype=bool), tail)
    assert (low, high) == (place, 9.0 - place)
    lost = values == 9.0
    low, high = _ends(values, lost, tail)
    assert low == (-np.inf if place == 0 else place - 1)
    assert high == (np.inf if place == 0 else 9.0 - place)


@pytest.mark.parametrize("unit", [1e-7, 1.0, 1e6])
def test_a_covariate_that_pairs_determine_is_refused_in_any_unit(unit):
    rng = np.random.default_rng(7)
    first = rng.integers(0, 4, 200)
    second = (first + rng.integers(1, 4, 200)) % 4
    size = np.array([1.0, 2.0, 4.0, 7.0])
    free, bound = rng.normal(size=200).round(1), size[first] - size[second]
    outcome = rng.integers(0, 2, 200)
    fit = fit_strengths(vote_rows(first, second, outcome, covariates=unit * free[:, None]))
    plain = fit_strengths(vote_rows(first, second, outcome, covariates=free[:, None]))
    assert unit * fit.coefficients == pytest.approx(plain.coefficients)
    for columns in (bound[:, None], np.column_stack([free, bound]), np.column_stack([free, 2.0 * free])):
        with pytest.raises(CannotAnswerError, match="is determined by which models meet"):
            fit_strengths(vote_rows(first, second, outcome, covariates=unit * columns))
    for place, columns in enumerate(([bound, free], [free, bound])):
        with pytest.raises(CannotAnswerError, match=f"covariate {place} is determined"):
            fit_strengths(vote_rows(first, second, outcome, covariates=unit * np.column_stack(columns)))


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_the_bread_is_the_inverse_curvature_where_strengths_sum_to_zero(ties, prior):
    """Second differences of the log-likelihood, prior and all, in coordinates that keep the sum."""
    rows = some_votes(11, n_models=4, n_votes=300, n_covariates=1)
    fit = fit_strengths(rows, ties=ties, prior=prior)
    basis = linalg.block_diag(linalg.helmert(4).T, np.eye(1 if ties == "half" else 2))

    def height(move):
        moved = basis @ move
        strengths, coefficients = fit.strengths + moved[:4], fit.coefficients + moved[4:5]
        tie = 1.0 if ties == "half" else fit.tie * np.exp(moved[5])
        against_average = -np.log1p(np.exp(-strengths)) - np.log1p(np.exp(strengths))
        return log_likelihood(ties, rows, strengths, coefficients, tie) + prior * against_average.sum()

    k, step = basis.shape[1], 1e-3
    curve = np.array(
        [
            [
                sum(a * b * height(step * (a * one + b * other)) for a in (1, -1) for b in (1, -1)) / (4 * step**2)
                for one in np.eye(k)
            ]
            for other in np.eye(k)
        ]
    )
    assert fit.bread == pytest.approx(basis @ np.linalg.inv(-curve) @ basis.T, abs=1e-5)


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_a_step_reaches_as_far_as_it_moves_any_vote(ties, prior):
    """Votes of the pairs, those of the prior against an average model, and ties; covariates and signs counted in."""
    rows = vote_rows([0, 1, 1], [1, 2, 2], [0, 1, 2], covariates=np.array([[1.0], [-2.0], [0.5]]))
    cells = pair_cells(rows, ties)
    for strengths, coefficient, tau in (
        ([0.3, 0.1, -0.4], 0.2, 0.1),
        ([-4.0, -4.0, 0.5], 0.1, 0.2),
        ([0.1, 0.0, -0.1], -3.0, 0.3),
        ([0.1, 0.0, -0.1], 0.2, -5.0),
    ):
        moved = [
            abs(strengths[a] - strengths[b] + coefficient * z)
            for a, b, z in zip(rows.first, rows.second, rows.covariates[:, 0], strict=True)
        ]
        moved += [abs(tau)] * (ties != "half") + [abs(each) for each in strengths if prior]
        step = np.array([*strengths, coefficient, *([tau] if ties != "half" else [])])
        assert _reach(cells, ties, step, prior) == pytest.approx(max(moved))
    assert _reach(cells, ties, np.zeros(4 + (ties != "half")), prior) > 0.0


def test_the_logarithm_of_the_tie_parameter_is_0_where_there_is_none():
    rows = some_votes(5)
    assert fit_strengths(rows).tau == 0.0
    fit = fit_strengths(rows, ties="davidson")
    assert fit.tau == pytest.approx(np.log(fit.tie))


@pytest.mark.parametrize(
    ("df", "words"),
    [
        (1.0, "1"),
        (3.14159, "3.14"),
        (12.345, "12.3"),
        (99.44, "99.4"),
        (100.0, "100"),
        (249.6, "250"),
        (1234.4, "1,234"),
    ],
)
def test_degrees_of_freedom_have_three_digits_or_are_whole(df, words):
    assert df_words(df) == words


def test_single_votes_have_one_degree_of_freedom_less_than_they_are_worth():
    rng = np.random.default_rng(9)
    rows = merged(
        vote_rows(
            rng.integers(0, 3, 90), np.full(90, 3), rng.integers(0, 2, 90), weight=rng.choice([0.5, 1.0, 3.0], 90)
        )
    )
    found = covariance_of(fit_strengths(rows), rows)
    assert found.df == pytest.approx(rows.weight.sum() ** 2 / rows.weight_squares.sum() - 1.0)


@pytest.mark.parametrize(
    ("n_models", "effective", "few"),
    [(3, 39.9, True), (3, 40.0, False), (50, 40.0, True), (50, 49.9, True), (50, 50.0, False)],
)
def test_clusters_are_few_below_40_and_below_the_number_of_models(n_models, effective, few):
    way = Way(name="rater", n_clusters=60, effective=effective, largest_share=0.03)
    unit = np.eye(n_models)
    found = _assembled(unit, unit, (unit,), (way,), np.full(n_models, 60.0), warnings=())
    assert found.few_clusters is few
    assert len(found.warnings) == int(few)
    assert found.df == pytest.approx(effective - 1.0)


def test_a_cluster_with_much_of_one_model_alone_is_jackknifed():
    """Rater 0 holds 4% of all votes, and a third of those on model 4; or as many votes spread over all models."""
    rng = np.random.default_rng(10)
    first = rng.integers(0, 4, 1000)
    second, rater = (first + rng.integers(1, 4, 1000)) % 4, 1 + np.arange(1000) % 50
    outcome = rng.integers(0, 2, 1000)
    rare = np.arange(90)
    second[rare] = 4
    for of_rare, taken in ((True, True), (False, False)):
        own = rare[:30] if of_rare else 90 + np.arange(30)
        codes = rater.copy()
        codes[own] = 0
        rows = vote_rows(first, second, outcome, clusters=(codes,))
        (way,) = covariance_of(fit_strengths(rows), rows, names=["rater"]).ways
        assert way.largest_share <= 0.05
        assert way.jackknife is taken


@pytest.mark.parametrize(("largest", "told"), [(5.0, 0), (5.1, 1)])
def test_of_sums_read_in_parts_a_large_cluster_is_told(largest, told):
    fit = fit_strengths(some_votes(3))
    meat = Meat(matrix=np.eye(4), n_clusters=60, sum_k=100.0, sum_k2=200.0, largest=largest)
    found = covariance_of_meat(fit, meat, meat, name="rater")
    assert len(found.warnings) == told
    assert all("the largest cluster by rater holds 5% of the votes" in words for words in found.warnings)
    assert found.df == pytest.approx(100.0**2 / 200.0 - 1.0)


def test_classes_of_votes_keep_what_is_in_them():
    rng = np.random.default_rng(11)
    few, votes = rng.random(2000), np.ones(2000)
    same, kept = _classes(few, votes)
    assert (same is few, kept is votes) == (True, True)
    apart, count = 3.0 * rng.random(30_000), rng.integers(1, 4, 30_000).astype(float)
    middle, held = _classes(apart, count)
    place = np.minimum((apart / apart.max() * 2000).astype(int), 1999)
    levels = np.unique(place)
    assert held == pytest.approx([count[place == k].sum() for k in levels])
    assert middle == pytest.approx([np.average(apart[place == k], weights=count[place == k]) for k in levels])


def test_ties_of_half_are_none_or_as_many_as_can_be():
    eta, count = np.array([0.0, 1.0]), np.array([10.0, 10.0])
    assert tie_of_half(eta, count, 0.0) == 0.0
    # Votes between unequal models cannot all be ties.
    assert tie_of_half(eta, count, 20.0) == 1e6


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_root_of_a_covariance_has_its_unit(unit):
    rng = np.random.default_rng(12)
    half = rng.normal(size=(4, 3))
    covariance = unit * half @ half.T  # singular
    root = _root(covariance)
    assert root @ root.T == pytest.approx(covariance, abs=1e-8 * unit)
    assert np.array_equal(root, np.tril(root))


def test_four_hundred_points_are_odds_of_ten_to_one():
    assert math.exp(400.0 / ELO_PER_LOG_ODDS) == pytest.approx(10.0)
