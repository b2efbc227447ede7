"""Deviance and residuals of pairs, and held-out prediction, against sums by hand, and their laws by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena import parametric_bootstrap
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.goodness_of_fit import (
    _folds,
    _log_odds,
    _way,
    against_drawn,
    calibration_error,
    circle_share,
    clustered_mean,
    held_out,
    pair_deviance,
    pair_residuals,
    share_bins,
    transitivity,
)
from evalstats.stats.arena.likelihood import tie_of_half, tie_parameter, vote_law
from evalstats.stats.arena.parametric_bootstrap import _classes as _effect_classes
from evalstats.stats.arena.parametric_bootstrap import (
    _equations,
    _moved,
    _noise,
    _with_tie,
    check_cells,
    fit_replicates,
    pseudo_inverse,
    simulated,
)
from evalstats.stats.arena.votes import vote_rows
from tests.stats.arena.check_votes import drawn_votes, null_p_values, share_small, single_votes
from tests.stats.arena.votes_by_hand import some_votes

TIES = ("half", "davidson", "rao-kupper")
STEP = 1e-5  # fits of drawn tables end there; see replicate_fits
ROUNDING = 1e-9


def some(seed=0, *, n=400, ties="half", n_models=6, **more):
    rng = np.random.default_rng(seed)
    return drawn_votes(rng, rng.normal(0, 0.5, n_models), n, ties=ties, nu=2.0 if ties == "rao-kupper" else 1.0, **more)


@pytest.mark.parametrize("ties", TIES)
def test_the_law_of_votes_has_the_slopes_it_says(ties):
    eta, tie, h = np.linspace(-4, 4, 17), 1.7, 1e-6
    law, up, down = (vote_law(ties, eta + d, tie) for d in (0.0, h, -h))
    np.testing.assert_allclose(law.win + law.tie + law.loss, 1.0, atol=ROUNDING)
    np.testing.assert_allclose(law.share, law.win + law.tie / 2, atol=ROUNDING)
    np.testing.assert_allclose((up.share - down.share) / (2 * h), law.slope, atol=1e-8)
    if ties != "half":
        for k, name in enumerate(("win", "tie", "loss")):
            slope = (np.log(getattr(up, name)) - np.log(getattr(down, name))) / (2 * h)
            np.testing.assert_allclose(law.scores[k], slope, atol=1e-7)


def test_votes_under_half_keep_expected_shares_and_ties():
    eta = np.linspace(-3, 3, 13)
    nu = tie_of_half(eta, np.full(13, 10.0), 40.0)
    law = vote_law("half", eta, nu)
    np.testing.assert_allclose(law.share, 1 / (1 + np.exp(-eta)), atol=ROUNDING)
    np.testing.assert_allclose(law.win + law.tie / 2, law.share, atol=ROUNDING)
    assert 10.0 * law.tie.sum() == pytest.approx(40.0, abs=1e-6)
    # Davidson's form: P(tie)^2 = nu^2 P(win) P(loss).
    np.testing.assert_allclose(law.tie**2, nu**2 * law.win * law.loss, atol=ROUNDING)


def test_the_share_of_ties_is_found_from_classes_as_from_votes():
    rng = np.random.default_rng(0)
    eta, ones = rng.normal(0, 2, 5000), np.ones(5000)
    assert ones @ vote_law("half", eta, tie_of_half(eta, ones, 1500.0)).tie == pytest.approx(1500.0, abs=0.01)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_many_fits_at_once_are_the_fits_one_by_one(ties, prior):
    rows = some(ties=ties)
    fit = fit_strengths(rows, ties=ties, prior=prior)
    drawn = simulated(fit, rows, n_resamples=5)
    cells = drawn.cells
    for k in range(5):
        parts = [(getattr(drawn.drawn, name)[k], code) for name, code in (("won", 0), ("lost", 1), ("tied", 2))]
        table = vote_rows(
            np.tile(cells.first, 3),
            np.tile(cells.second, 3),
            np.repeat([code for _, code in parts], cells.first.size),
            count=np.concatenate([count for count, _ in parts]).astype(int),
        )
        again = fit_strengths(table.take(table.count > 0), ties=ties, prior=prior)
        np.testing.assert_allclose(drawn.drawn.strengths[k], again.strengths, atol=STEP)
        if ties != "half":
            assert drawn.drawn.tie[k, 0] == pytest.approx(again.tie, rel=1e-4)


def test_a_table_without_a_finite_fit_stops_far_out():
    rows = vote_rows([0], [1], [0], count=[9])
    fit = fit_strengths(rows, prior=0.5)
    cells, won, tied, _ = check_cells(fit, rows)
    found, _ = fit_replicates(cells, (won[None], tied[None], 0.0 * won[None]), "half", start=np.zeros(2), tie=0.0)
    assert np.isfinite(found).all()
    assert found[0, 0] - found[0, 1] > 8


@pytest.mark.parametrize("lopsided", [False, True])
@pytest.mark.parametrize("ties", TIES)
def test_deviance_is_the_sum_over_pairs(ties, lopsided):
    rows = some(3, ties=ties)
    if lopsided:  # 0 won every vote against 2: outcomes that were not seen add nothing
        kept = (rows.outcome == np.where(rows.first == 0, 0, 1)) | (np.minimum(rows.first, rows.second) > 0)
        rows = rows.take(kept | (np.maximum(rows.first, rows.second) != 2))
    fit = fit_strengths(rows, ties=ties)
    found = pair_deviance(simulated(fit, rows, n_resamples=2)).observed
    tie = tie_parameter(fit, rows)
    votes, total = single_votes(rows), 0.0
    for i in range(6):
        for j in range(i + 1, 6):
            mine = [o if a == i else (1 - o if o < 2 else o) for a, b, o in votes if {a, b} == {i, j}]
            if not mine:
                continue
            seen = np.array([mine.count(0), mine.count(2), mine.count(1)], dtype=float)
            law = vote_law(ties, np.array([fit.strengths[i] - fit.strengths[j]]), tie)
            if ties == "half":
                ahead = seen[0] + seen[1] / 2
                seen = np.array([ahead, len(mine) - ahead])
                expected = len(mine) * np.array([law.share[0], 1 - law.share[0]])
            else:
                expected = len(mine) * np.array([law.win[0], law.tie[0], law.loss[0]])
            total += 2 * sum(o * np.log(o / e) for o, e in zip(seen, expected, strict=True) if o)
    # The fits behind the two agree to where fits of drawn tables end; the deviance is flat there.
    assert found == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("ties", TIES)
def test_residuals_have_the_spread_that_they_are_divided_by(ties, monkeypatch):
    """Residuals of drawn tables, each fitted again, against the formula."""
    rows = some(1, n=600, ties=ties)
    monkeypatch.setattr(parametric_bootstrap, "_together", lambda _: 1.0)
    votes = simulated(fit_strengths(rows, ties=ties), rows, n_resamples=2000)
    cells, table = votes.cells, votes.drawn
    left = table.won + table.tied / 2 - cells.count * table.shares(cells)
    residuals = pair_residuals(votes)
    size = (residuals.observed - residuals.expected) * residuals.count / residuals.residual
    # 2,000 draws: 1.6% standard error of a standard deviation, 15 pairs; and curvature, which the formula leaves out.
    np.testing.assert_allclose(left.std(axis=0) / size, 1.0, atol=0.08)


def test_a_planted_pair_is_the_worst():
    rng = np.random.default_rng(4)
    rows = drawn_votes(
        rng, np.zeros(8), 2000, extra=lambda a, b: 1.5 * (((a == 2) & (b == 5)) * 1.0 - ((a == 5) & (b == 2)))
    )
    votes = simulated(fit_strengths(rows), rows)
    found, law = pair_residuals(votes), pair_deviance(votes)
    worst = int(np.nanargmax(np.abs(found.residual)))
    assert (found.first[worst], found.second[worst]) == (2, 5)
    assert found.observed[worst] > found.expected[worst]
    assert law.p_value < 0.02


def test_sides_and_order_of_votes_change_nothing():
    rows = some(5)
    turned = replace(
        rows, first=rows.second, second=rows.first, outcome=np.array([1, 0, 2, 3])[rows.outcome], share=1 - rows.share
    )
    mixed = turned.take(np.random.default_rng(0).permutation(turned.n_rows))
    one, other = (pair_deviance(simulated(fit_strengths(each), each, seed=3)) for each in (rows, mixed))
    assert one.observed == pytest.approx(other.observed, rel=ROUNDING)
    assert one.p_value == other.p_value


def test_a_pair_that_alone_joins_two_groups_has_no_residual():
    first, second = [0, 0, 1, 1, 0, 0, 3, 3, 4, 4, 3, 3, 0, 0], [1, 1, 2, 2, 2, 2, 4, 4, 5, 5, 5, 5, 3, 3]
    rows = vote_rows(first, second, [0, 1] * 7, count=[6, 4, 7, 5, 8, 3] * 2 + [5, 2])
    found = pair_residuals(simulated(fit_strengths(rows), rows, n_resamples=2))
    bridge = (found.first == 0) & (found.second == 3)
    np.testing.assert_array_equal(np.isnan(found.residual), bridge)


def test_a_tree_of_pairs_cannot_be_contradicted():
    rows = vote_rows([0, 0, 1, 1], [1, 1, 2, 2], [0, 1, 0, 1], count=[3, 2, 3, 2])
    with pytest.raises(CannotAnswerError, match="cannot contradict them"):
        pair_deviance(simulated(fit_strengths(rows), rows, n_resamples=2))


def test_covariates_are_held_and_taken_in_classes():
    rng = np.random.default_rng(6)
    side = np.column_stack([np.ones(3000), rng.normal(size=3000)])
    rows = drawn_votes(rng, [0.4, 0.1, -0.2, -0.3], 3000, covariates=side, beta=(0.3, 0.8))
    fit = fit_strengths(rows)
    cells, won, tied, _ = check_cells(fit, rows)
    assert cells.first.size <= 6 * 20
    assert cells.count.sum() == 3000
    assert won.sum() + tied.sum() <= 3000
    votes = simulated(fit, rows)
    # Classes of near effects stand for their mean: the fit to them is close to the fit to votes.
    np.testing.assert_allclose(votes.observed.strengths[0], fit.strengths, atol=0.02)
    assert pair_deviance(votes).p_value > 0.01


def test_p_counts_the_observed_value_in():
    assert against_drawn(5.0, np.arange(4.0)).p_value == 1 / 5
    assert against_drawn(0.0, np.arange(4.0)).p_value == 1.0


@pytest.mark.parametrize(
    ("p_of", "world"),
    [
        (lambda votes: pair_deviance(votes).p_value, {"sd": 0.4}),
        (lambda votes: circle_share(votes).p_value, {}),
        (lambda votes: transitivity(votes).share.p_value, {"n_models": 10, "met": 0.8}),
    ],
    ids=["pairs", "circles", "transitivity"],
)
def test_false_alarms_are_as_rare_as_said(p_of, world):
    p = null_p_values(p_of, 15, **world)
    for level in (0.05, 0.2):
        found, most = share_small(p, level)
        assert found <= most


@pytest.mark.slow
def test_p_of_a_true_model_is_uniform():
    """500 tables: .05 +- .03 (3 standard errors), and a Kolmogorov-Smirnov test of all levels."""
    p = null_p_values(lambda votes: pair_deviance(votes).p_value, 500, n=600, n_models=12, sd=0.4)
    found, most = share_small(p, 0.05)
    assert found <= most
    assert stats.kstest(p, "uniform").pvalue > 1e-3


# Prediction


@pytest.mark.parametrize("ties", TIES)
def test_log_loss_is_the_mean_over_held_out_votes(ties):
    rows = some(7, ties=ties, clusters=(np.arange(400) % 10,))
    found = held_out(fit_strengths(rows, ties=ties), rows, n_folds=10)
    losses, plain, brier, middle = [], [], [], []
    for g in range(10):
        known, new = rows.take(rows.clusters[0] != g), rows.take(rows.clusters[0] == g)
        fit = fit_strengths(known, ties=ties)
        votes = single_votes(known)
        n_ties = sum(o == 2 for *_, o in votes)
        eta = fit.strengths[known.first] - fit.strengths[known.second]
        tie = fit.tie or tie_of_half(eta, known.count.astype(float), n_ties + 0.5)
        counts = np.array([sum(o == k for *_, o in votes) for k in (0, 2, 1)])
        counts = np.array([counts[0] + counts[2], 2 * counts[1], counts[0] + counts[2]]) / 2
        constant = (counts + 0.5) / (counts.sum() + 1.5)
        for a, b, o in single_votes(new):
            law = vote_law(ties, np.array([fit.strengths[a] - fit.strengths[b]]), tie)
            losses.append(-np.log({0: law.win, 2: law.tie, 1: law.loss}[o][0]))
            plain.append(-np.log(constant[{0: 0, 2: 1, 1: 2}[o]]))
            brier.append((law.share[0] - {0: 1.0, 2: 0.5, 1: 0.0}[o]) ** 2)
            middle.append((constant[0] + constant[1] / 2 - {0: 1.0, 2: 0.5, 1: 0.0}[o]) ** 2)
    assert found.way == 0
    assert found.n_predicted == 400
    assert found.log_loss == pytest.approx(np.mean(losses), abs=1e-7)
    assert found.log_loss_constant == pytest.approx(np.mean(plain), abs=1e-9)
    assert found.brier == pytest.approx(np.mean(brier), abs=1e-7)
    assert found.brier_constant == pytest.approx(np.mean(middle))


def test_ratings_predict_if_and_only_if_models_differ():
    rng = np.random.default_rng(8)
    clear = drawn_votes(rng, np.linspace(-1, 1, 6), 3000)
    alike = drawn_votes(rng, np.zeros(6), 3000)
    assert held_out(fit_strengths(clear), clear).gain_low > 0
    found = held_out(fit_strengths(alike), alike)
    assert found.gain < 0.005
    assert found.gain_low < 0


def test_a_model_of_one_cluster_is_left_out_and_counted():
    rng = np.random.default_rng(9)
    rater = np.repeat(np.arange(10), 30)
    first, second = rng.integers(0, 3, 300), np.full(300, 3)
    # Model 4 is met by rater 0 alone.
    first = np.where((rater == 0) & (np.arange(300) < 12), 4, first)
    rows = vote_rows(first, second, rng.integers(0, 2, 300), clusters=(rater,))
    found = held_out(fit_strengths(rows), rows, n_folds=5)
    assert found.n_left_out == 12
    assert found.n_predicted == 288


def test_training_votes_that_do_not_connect_get_a_weak_prior():
    rater = np.repeat(np.arange(6), 20)
    first, second = np.tile([0, 1], 60), np.tile([1, 2], 60)
    outcome = np.tile([0, 0, 1, 0], 30)
    outcome[(rater != 0) & (first == 1)] = 0
    outcome[(rater == 0) & (first == 1)] = 1
    rows = vote_rows(first, second, outcome, clusters=(rater,))
    found = held_out(fit_strengths(rows), rows, n_folds=6)
    assert found.n_weak == 1
    assert np.isfinite(found.log_loss)


def test_bins_hold_equal_votes_and_cover_the_truth():
    rng = np.random.default_rng(10)
    p = rng.random(5000)
    bins = share_bins(p, (rng.random(5000) < p) * 1.0, np.ones(5000), None)
    assert [each.n_votes for each in bins] == [500] * 10
    assert all(each.low <= each.predicted <= each.high for each in bins)
    assert sum(each.conf_low <= each.predicted <= each.conf_high for each in bins) >= 8


def test_equal_predictions_stay_in_one_bin():
    bins = share_bins(np.full(100, 0.4), np.repeat([0.0, 1.0], 50), np.ones(100), None)
    assert len(bins) == 1
    assert bins[0].conf_low < 0.5 < bins[0].conf_high


def test_a_bin_without_spread_has_an_interval():
    bins = share_bins(np.full(10, 0.9), np.ones(10), np.ones(10), None)
    assert bins[0].conf_low < bins[0].conf_high == 1.0


def test_clustered_mean_by_hand():
    values, count, codes = np.array([1.0, 0.0, 0.5, 1.0]), np.array([2.0, 1.0, 2.0, 1.0]), np.array([0, 0, 1, 2])
    mean, error, df = clustered_mean(values, count, codes)
    assert mean == pytest.approx(4 / 6)
    sums = np.array([2 - 3 * 4 / 6, 1 - 2 * 4 / 6, 1 - 4 / 6])
    sizes = np.array([3, 2, 1])
    assert error == pytest.approx(np.sqrt((sums**2 / (1 - sizes / 6)).sum()) / 6)
    assert df == pytest.approx(36 / 14 - 1)


def test_too_few_votes_to_hold_out():
    enough = vote_rows([0, 0], [1, 1], [0, 1], count=[6, 4])
    assert held_out(fit_strengths(enough), enough).n_predicted == 10
    with pytest.raises(CannotAnswerError, match="9 votes are too few"):
        held_out(fit_strengths(enough), vote_rows([0, 0], [1, 1], [0, 1], count=[5, 4]))
    rows = vote_rows([0, 0], [1, 1], [0, 1])
    with pytest.raises(CannotAnswerError, match="too few to hold out"):
        held_out(fit_strengths(rows), rows)


def calibration_by_hand(count, won, expected):
    """Pairs by how far apart they are expected to be, in ten bins of votes; the root of the mean squared miss over votes."""
    order = sorted(range(len(count)), key=lambda k: abs(expected[k] - 0.5))
    passed, bins = 0.0, {}
    for k in order:
        label = min(9, int((passed + count[k] / 2) / sum(count) * 10))
        passed += count[k]
        size, miss = bins.get(label, (0.0, 0.0))
        towards = (1 if expected[k] >= 0.5 else -1) * (won[k] - count[k] * expected[k])
        bins[label] = (size + count[k], miss + towards)
    return np.sqrt(sum(size * (miss / size) ** 2 for size, miss in bins.values()) / sum(count))


@pytest.mark.parametrize("ties", TIES)
def test_calibration_is_the_miss_of_pairs_gathered_by_their_distance(ties):
    rows = some(11, ties=ties, n=1200, n_models=9)
    votes = simulated(fit_strengths(rows, ties=ties), rows, n_resamples=30)
    found, pairs = calibration_error(votes), pair_residuals(votes)
    wanted = calibration_by_hand(pairs.count, pairs.observed * pairs.count, pairs.expected)
    assert found.observed == pytest.approx(wanted)
    cells, drawn = votes.cells, []
    count = cells.by_pair(cells.count)
    shares = np.broadcast_to(votes.drawn.shares(cells), votes.drawn.won.shape)
    for won, tied, share in zip(votes.drawn.won, votes.drawn.tied, shares, strict=True):
        ahead, expected = cells.by_pair(won + tied / 2), cells.by_pair(cells.count * share) / count
        drawn.append(calibration_by_hand(count, ahead, expected))
    assert found.expected == pytest.approx(np.mean(drawn))
    assert found.p_value == (1 + sum(each >= wanted for each in drawn)) / 31


def test_a_statistic_stands_beside_mean_and_quantiles_of_the_drawn():
    drawn = np.random.default_rng(0).permutation(np.arange(1000.0))
    found = against_drawn(949.0, drawn)
    assert (found.expected, found.low, found.high, found.n_resamples) == (499.5, 24.0, 974.0, 1000)
    assert found.p_value == (1 + 51) / 1001
    # What is equal but for rounding counts as equal.
    assert against_drawn(949.0 * (1 + 1e-12), drawn).p_value == found.p_value


@pytest.mark.parametrize("clustered", [False, True])
def test_bins_by_hand(clustered):
    """Whole predictions in ten bins of votes; Wilson's interval at the votes that the variance is worth, by t."""
    rng = np.random.default_rng(12)
    n = 150
    predicted = np.round(rng.beta(2, 2, n), 2)
    count = rng.integers(1, 6, n).astype(float)
    share, codes = rng.integers(0, 3, n) / 2, rng.integers(0, 25, n)
    share[predicted < 0.25] = 0.0
    found = share_bins(predicted, share, count, codes if clustered else None, conf_level=0.9)
    members = {}
    passed = 0.0
    for value in np.unique(predicted):
        at = np.flatnonzero(predicted == value)
        label = min(9, int((passed + count[at[0]] / 2) / count.sum() * 10))
        passed += count[at].sum()
        members.setdefault(label, []).extend(at)
    assert len(found) == len(members)
    for one, at in zip(found, members.values(), strict=True):
        assert (one.low, one.high) == (predicted[at].min(), predicted[at].max())
        assert one.n_votes == count[at].sum()
        assert one.predicted == pytest.approx(np.average(predicted[at], weights=count[at]))
        p, error, df = clustered_mean(share[at], count[at], codes[at] if clustered else None)
        assert one.observed == pytest.approx(p)
        if df < 1.0:
            assert (one.conf_low, one.conf_high) == (None, None)
            continue
        worth = min(one.n_votes, p * (1 - p) / error**2) if error else min(one.n_votes, df + 1)
        z = stats.t.ppf(0.95, df)
        middle, half = p + z**2 / (2 * worth), z * np.sqrt(p * (1 - p) / worth + z**2 / (4 * worth**2))
        ends = (middle - half) / (1 + z**2 / worth), (middle + half) / (1 + z**2 / worth)
        assert (one.conf_low, one.conf_high) == pytest.approx(ends, abs=1e-9)


def test_nothing_to_bin_is_refused_and_one_cluster_has_no_interval():
    with pytest.raises(InputError, match="no predictions"):
        share_bins(np.zeros(0), np.zeros(0), np.zeros(0), None)
    (one,) = share_bins(np.full(4, 0.5), np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4), np.zeros(4, dtype=int))
    assert (one.observed, one.conf_low, one.conf_high) == (0.75, None, None)


def test_folds_are_whole_clusters_of_the_fewest_that_are_enough_or_single_votes():
    rng = np.random.default_rng(13)
    rows = some(13, n=600, clusters=(rng.integers(0, 4, 600), rng.integers(0, 30, 600), rng.integers(0, 11, 600)))
    assert [_way(rows, k) for k in (2, 4, 5, 11, 12, 30, 31)] == [0, 0, 2, 2, 1, 1, None]
    parts, fold = _folds(rows, 1, 5, rng)
    assert parts is rows
    by_cluster = [np.unique(fold[rows.clusters[1] == code]) for code in range(30)]
    assert all(each.size == 1 for each in by_cluster)
    sizes = np.bincount(fold, weights=rows.count)
    assert sizes.size == 5
    assert sizes.max() - sizes.min() < 60  # two clusters of about 20
    bare = replace(rows, clusters=())
    split, of = _folds(bare, None, 5, rng)
    assert set(of.tolist()) == set(range(5))
    key, old = split.first * 100 + split.second * 10 + split.outcome, bare.first * 100 + bare.second * 10 + bare.outcome
    for values, whole in ((split.count, bare.count), (split.weight, bare.weight)):
        assert np.bincount(key, weights=values) == pytest.approx(np.bincount(old, weights=whole))
    heavy = replace(bare, weight=2.0 * bare.count, weight_squares=4.0 * bare.count)
    split, _ = _folds(heavy, None, 5, rng)
    assert split.weight == pytest.approx(2.0 * split.count)
    assert split.weight_squares == pytest.approx(4.0 * split.count)
    found = held_out(fit_strengths(bare), bare)
    assert (found.n_folds, found.way, found.n_predicted, found.n_left_out, found.n_weak) == (5, None, 600, 0, 0)


def test_the_gain_is_tested_by_clusters():
    rng = np.random.default_rng(14)
    rows = drawn_votes(rng, np.linspace(-0.4, 0.4, 5), 300, clusters=(rng.integers(0, 15, 300),))
    found = held_out(fit_strengths(rows), rows, n_folds=5, conf_level=0.8)
    assert found.gain == pytest.approx(found.log_loss_constant - found.log_loss)
    size = np.bincount(rows.clusters[0], weights=rows.count)
    df = size.sum() ** 2 / (size @ size) - 1
    error = (found.gain_high - found.gain) / stats.t.ppf(0.9, df)
    assert found.gain_low == pytest.approx(found.gain - stats.t.ppf(0.9, df) * error)
    # The small tail is that of a fit that predicts worse than the shares.
    assert found.loss_p == pytest.approx(stats.t.cdf(found.gain / error, df))
    noise = drawn_votes(rng, np.zeros(8), 160, clusters=(rng.integers(0, 8, 160),))
    worse = held_out(fit_strengths(noise), noise)
    assert worse.gain < 0.0
    assert worse.loss_p < 0.5
    one = replace(rows, clusters=(np.zeros(rows.n_rows, dtype=int),))
    assert held_out(fit_strengths(rows), one).way is None


def test_a_baseline_knows_each_outcome_half_a_vote_more():
    """All decided: the chance of a tie is half a vote of all, and predictions go by the fit of the others' votes."""
    rows = vote_rows([0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], count=[30, 20, 18, 27], clusters=([0, 1, 2, 3],))
    found = held_out(fit_strengths(rows), rows, n_folds=4)
    plain = -sum(n * np.log(((95 - n) / 2 + 0.5) / (95 - n + 1.5)) for n in (30, 20, 18, 27))
    assert found.log_loss_constant == pytest.approx(plain / 95)


@pytest.mark.parametrize("ties", TIES)
def test_predictions_do_not_depend_on_which_side_a_file_names_first(ties):
    """A file of chosen and rejected answers names the winner first: shares of the sides would know who won."""
    rows = some(7, ties=ties, clusters=(np.arange(400) % 10,))
    turned = rows.outcome == 1
    first, second = np.where(turned, rows.second, rows.first), np.where(turned, rows.first, rows.second)
    won, share = np.where(turned, 0, rows.outcome), np.where(turned, 1.0, rows.share)
    winners = replace(rows, first=first, second=second, outcome=won, share=share)
    found, wanted = (held_out(fit_strengths(votes, ties=ties), votes, n_folds=10) for votes in (winners, rows))
    for name in ("log_loss", "log_loss_constant", "gain_low", "gain_high", "loss_p"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-7)


def test_zeros_that_were_rounded_are_not_inverted():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    for rounded in (1e-14, -1e-14, 0.0):
        found = pseudo_inverse((turn * [3.0, 0.5, 1e-8, rounded]) @ turn.T)
        np.testing.assert_allclose(found, (turn * [1 / 3.0, 2.0, 1e8, 0.0]) @ turn.T, rtol=1e-5, atol=10.0)


def test_cells_hold_the_votes_of_a_pair_with_one_effect_of_covariates_the_lower_number_first():
    rows = some_votes(21, n_models=4, n_votes=150, n_covariates=1)
    fit = fit_strengths(rows)
    cells, won, tied, place = check_cells(fit, rows)
    wanted = {}
    for a, b, outcome, z, n in zip(
        rows.first, rows.second, rows.outcome, rows.covariates[:, 0], rows.count, strict=True
    ):
        sign = 1.0 if a < b else -1.0
        key = (min(a, b), max(a, b), round(float(sign * z * fit.coefficients[0]), 9))
        cell = wanted.setdefault(key, np.zeros(3))
        cell += n * np.array([1.0, outcome == (0 if a < b else 1), outcome >= 2])
    keys = list(zip(cells.first, cells.second, cells.offset.round(9), strict=True))
    assert keys == sorted(wanted)
    np.testing.assert_array_equal(np.array([cells.count, won, tied]).T, [wanted[key] for key in keys])
    pairs = sorted({key[:2] for key in wanted})
    assert list(zip(cells.pair_first, cells.pair_second, strict=True)) == pairs
    assert cells.pair.tolist() == [pairs.index(key[:2]) for key in keys]
    np.testing.assert_array_equal(np.bincount(place, weights=rows.count), cells.count)
    np.testing.assert_array_equal(cells.by_pair(won), [sum(wanted[k][1] for k in keys if k[:2] == p) for p in pairs])


@pytest.mark.parametrize(
    ("n_pairs", "classes"),
    [(1, 20), (400, 20), (401, 8), (1000, 8), (1001, 4), (2000, 4), (2001, 2), (4000, 2), (4001, 1), (9000, 1)],
)
def test_effects_of_covariates_fall_into_as_many_classes_as_pairs_leave_room_for(n_pairs, classes):
    """Of about equally many votes, in the order of the effects; up to 20 different effects stay as they are."""
    offset = np.random.default_rng(0).permutation(np.repeat(np.arange(40.0), 3))
    place, middle = _effect_classes(offset, np.full(120, 2.0), n_pairs)
    assert middle.size == classes
    np.testing.assert_array_equal(place, offset * classes // 40)
    for few in (20, 21):
        place, middle = _effect_classes(np.arange(float(few)), np.ones(few), 9000)
        assert middle.size == (20 if few == 20 else 1)


@pytest.mark.parametrize("prior", [0.0, 0.7])
def test_equations_of_strengths_are_sums_over_votes(prior):
    """Gradient without a part along equal strengths; information with that direction filled by its mean own information."""
    rows = some_votes(22, n_models=4, n_votes=120, n_covariates=1)
    cells, _, _, _ = check_cells(fit_strengths(rows), rows)
    rng = np.random.default_rng(0)
    slope, information, strengths = (
        rng.normal(size=(2, cells.first.size)),
        rng.random((2, cells.first.size)),
        rng.normal(size=(2, 4)),
    )
    gradient, matrix = _equations(cells, cells.incidence(), slope, information, strengths=strengths, prior=prior)
    for table in range(2):
        own, curve = np.zeros(4), np.zeros((4, 4))
        for k, (a, b) in enumerate(zip(cells.first, cells.second, strict=True)):
            d = np.eye(4)[a] - np.eye(4)[b]
            own += slope[table, k] * d
            curve += information[table, k] * np.outer(d, d)
        p = 1.0 / (1.0 + np.exp(-strengths[table]))
        # Votes won, and as many lost, against strength 0.
        own += prior * ((1.0 - p) - p)
        curve += np.diag(2.0 * prior * p * (1.0 - p))
        np.testing.assert_allclose(gradient[table], own - own.mean(), atol=1e-12)
        np.testing.assert_allclose(matrix[table], curve + np.trace(curve) / 16, atol=1e-7)


@pytest.mark.parametrize("ties", TIES[1:])
def test_a_step_of_strengths_and_ties_solves_their_expected_information_together(ties):
    """Scores by differences of the law; the step is the pseudo-inverse of their mean square times their sum over votes."""
    rows = some_votes(21, n_models=4, n_votes=150, n_covariates=1, ties=0.3)
    cells, won, tied, _ = check_cells(fit_strengths(rows, ties=ties), rows)
    strengths, tie, h = np.array([[0.2, -0.1, 0.3, -0.4]]), np.array([[1.2]]), 1e-5
    votes = (won[None], tied[None], (cells.count - won - tied)[None])
    law, incidence = vote_law(ties, cells.eta(strengths), tie), cells.incidence()
    slope = sum(n * score for n, score in zip(votes, law.scores, strict=True))
    equations = _equations(cells, incidence, slope, cells.count * law.information, strengths=strengths, prior=0.0)
    step, move = _with_tie(cells, incidence, law, tie, votes, equations=equations, davidson=ties == "davidson")

    def logs(eta, log_tie):
        law = vote_law(ties, eta, np.exp(log_tie))
        return np.log([law.win, law.tie, law.loss])

    gradient, information = np.zeros(5), np.zeros((5, 5))
    for k, eta in enumerate(cells.eta(strengths[0])):
        d, at = np.eye(4)[cells.first[k]] - np.eye(4)[cells.second[k]], np.log(1.2)
        by_eta = (logs(eta + h, at) - logs(eta - h, at)) / (2 * h)
        by_tie = (logs(eta, at + h) - logs(eta, at - h)) / (2 * h)
        for outcome, chance in enumerate(np.exp(logs(eta, at))):
            score = np.append(by_eta[outcome] * d, by_tie[outcome])
            gradient += votes[outcome][0, k] * score
            information += cells.count[k] * chance * np.outer(score, score)
    wanted = np.linalg.pinv(information, rcond=1e-10) @ gradient
    assert abs(wanted[4]) < 1.0
    np.testing.assert_allclose(np.append(step[0], move[0]), wanted, atol=1e-6)
    nothing = np.zeros_like(votes[0])
    every = (nothing, cells.count[None] + 0.0, nothing)
    _, longest = _with_tie(cells, incidence, law, tie, every, equations=equations, davidson=ties == "davidson")
    assert longest.tolist() == [[1.0]]


def test_the_tie_parameter_moves_by_its_logarithm_and_theta_stays_above_one():
    tie, move = np.array([[1.2], [3.0], [1.2]]), np.array([[-1.0], [0.5], [-0.05]])
    np.testing.assert_allclose(_moved("davidson", tie, move), tie * np.exp(move))
    np.testing.assert_allclose(_moved("rao-kupper", tie, move), [[1.1], [3.0 * np.exp(0.5)], [1.2 * np.exp(-0.05)]])


@pytest.mark.parametrize("ties", TIES)
def test_noise_is_the_variance_that_errors_have_under_the_fit_over_the_spread_of_strengths(ties):
    rows = some(9, ties=ties)
    votes = simulated(fit_strengths(rows, ties=ties), rows, n_resamples=2)
    cells, strengths = votes.cells, votes.observed.strengths[0]
    own, score = np.zeros((6, 6)), np.zeros((6, 6))
    for k, (a, b) in enumerate(zip(cells.first, cells.second, strict=True)):
        d = np.eye(6)[a] - np.eye(6)[b]
        law = vote_law(ties, np.array(strengths[a] - strengths[b]), votes.observed.tie[0, 0])
        own += cells.count[k] * law.information * np.outer(d, d)
        score += cells.count[k] * law.score_squares * np.outer(d, d)
    inverse = np.linalg.pinv(own, rcond=1e-10)
    assert _noise(cells, votes.observed) == pytest.approx(
        np.trace(inverse @ score @ inverse) / np.square(strengths).sum()
    )


def test_log_odds_of_pairs_are_smoothed_and_less_the_mean_effect_of_covariates():
    rows = some_votes(23, n_models=4, n_votes=150, n_covariates=1)
    votes = simulated(fit_strengths(rows), rows, n_resamples=3)
    cells = votes.cells
    for table in (votes.observed, votes.drawn):
        found = _log_odds(cells, table)
        for pair in range(cells.n_pairs):
            mine = cells.pair == pair
            n = cells.count[mine].sum()
            ahead = (table.won + table.tied / 2)[:, mine].sum(axis=1)
            added = cells.count[mine] @ cells.offset[mine] / n
            np.testing.assert_allclose(found[:, pair], np.log((ahead + 0.5) / (n - ahead + 0.5)) - added)


def test_two_votes_of_a_bin_have_an_interval_and_one_has_none():
    two = share_bins(np.full(2, 0.4), np.array([1.0, 0.0]), np.ones(2), None)
    assert two[0].conf_low < 0.5 < two[0].conf_high
    (one,) = share_bins(np.full(1, 0.4), np.ones(1), np.ones(1), None)
    assert (one.conf_low, one.conf_high) == (None, None)


def test_votes_that_stand_alone_have_the_standard_error_of_their_mean():
    values, count = np.array([1.0, 0.5, 0.0, 0.7]), np.array([3.0, 1.0, 4.0, 2.0])
    mean, error, df = clustered_mean(values, count, None)
    single = np.repeat(values, count.astype(int))
    assert (mean, error, df) == pytest.approx((single.mean(), stats.sem(single), 9.0))


@pytest.mark.parametrize(
    ("sizes", "df"), [((30, 10), 0.6), ((20, 20), 1.0), ((30, 20, 10), 3600 / 1400 - 1), ((30, 25, 28), None)]
)
def test_a_gain_has_an_interval_from_one_degree_of_freedom_on(sizes, df):
    rng = np.random.default_rng(15)
    rows = drawn_votes(rng, [0.8, 0.0, -0.8], sum(sizes), clusters=(np.repeat(np.arange(len(sizes)), sizes),))
    found = held_out(fit_strengths(rows), rows, n_folds=2)
    df = df or sum(sizes) ** 2 / sum(n**2 for n in sizes) - 1
    assert found.way == 0
    if df < 1.0:
        assert (found.gain_low, found.gain_high, found.loss_p) == (None, None, None)
        return
    error = (found.gain_high - found.gain_low) / (2 * stats.t.ppf(0.975, df))
    assert found.loss_p == pytest.approx(stats.t.cdf(found.gain / error, df))


@pytest.mark.parametrize("n_clusters", [2, 9])
def test_clusters_that_all_won_are_worth_as_many_votes_as_there_are_clusters(n_clusters):
    """A bin of no variance: Wilson's interval at df + 1 votes, which all were won."""
    codes = np.repeat(np.arange(n_clusters), 4)
    (one,) = share_bins(np.full(codes.size, 0.9), np.ones(codes.size), np.ones(codes.size), codes)
    z = stats.t.ppf(0.975, n_clusters - 1)
    assert (one.conf_low, one.conf_high) == pytest.approx((n_clusters / (n_clusters + z**2), 1.0))
