"""Replicates of votes: drawn as they should be, each fitted as if it were all there is, and as spread as the sandwich says."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena import bootstrap
from evalstats.stats.arena.bootstrap import (
    LENT_VOTES,
    BootstrapStrengths,
    RefitReplicates,
    VoteUnits,
    _chord,
    _framed,
    _newton,
    _warnings,
    bootstrap_strengths,
    percentile_intervals,
    refit_replicates,
    single_votes,
    whole_clusters,
)
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, fit_strengths
from evalstats.stats.arena.covariance import covariance_of
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.votes import VoteRows, vote_rows
from evalstats.stats.bootstrap import order_statistic
from tests.stats.arena.votes_by_hand import llmfao

OPTIMUM = 1e-8  # log-units, promised of a fit; two fits may differ by twice that
TIES = ("half", "davidson", "rao-kupper")


def some(n_votes: int = 3000, *, models: int = 6, seed: int = 1, covariates: int = 0, clusters: int = 0) -> VoteRows:
    """Votes with ties, between models of unlike strength; raters each with a liking for one model."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(-0.8, 0.8, models)
    first = rng.integers(0, models, n_votes)
    second = (first + rng.integers(1, models, n_votes)) % models
    beside = rng.integers(-1, 2, size=(n_votes, covariates)).astype(float) * 50.0
    eta = strength[first] - strength[second] + 0.005 * beside.sum(axis=1)
    codes = ()
    if clusters:
        rater = rng.integers(0, clusters, n_votes)
        liking = 0.8 * rng.normal(size=(clusters, models))
        eta = eta + liking[rater, first] - liking[rater, second]
        codes = (np.arange(n_votes) % 7, rater)
    won = rng.random(n_votes) < 1.0 / (1.0 + np.exp(-eta))
    outcome = np.where(rng.random(n_votes) < 0.25, rng.integers(2, 4, n_votes), np.where(won, 0, 1))
    return vote_rows(first, second, outcome, n_models=models, covariates=beside if covariates else None, clusters=codes)


def refitted(units: VoteUnits, fit: PairFit, seed: int, n: int) -> np.ndarray:
    """The definition: the votes of each replicate by themselves, given to the fit that everyone else uses."""
    parts = units.votes(units.draw(np.random.default_rng(seed), n))
    cells, found = units.cells, []
    for column in range(n):
        kinds = [0, 1, 2][: len(parts)]
        rows = VoteRows(
            n_models=cells.n_models,
            first=np.tile(cells.first, len(kinds)),
            second=np.tile(cells.second, len(kinds)),
            outcome=np.repeat(kinds, cells.first.size),
            share=np.repeat([1.0, 0.0, 0.5][: len(kinds)], cells.first.size),
            weight=np.concatenate([part[:, column] for part in parts]),
            weight_squares=np.concatenate([part[:, column] for part in parts]),
            count=np.ones(len(kinds) * cells.first.size, dtype=np.int64),
            covariates=np.tile(cells.covariates, (len(kinds), 1)),
        )
        own = fit_strengths(rows, ties=fit.ties, prior=fit.prior)
        found.append(np.concatenate([own.strengths, own.coefficients, [] if own.tie is None else [np.log(own.tie)]]))
    return np.array(found)


# What is drawn


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("covariates", [0, 1])
def test_every_unit_drawn_once_gives_the_votes_themselves(ties: str, covariates: int) -> None:
    rows = some(covariates=covariates, clusters=40)
    for units in (single_votes(rows, ties, 100), whole_clusters(rows, ties, 1)):
        parts = units.votes(units.expected[:, None])
        for part, own in zip(parts, (units.cells.won, units.cells.lost, units.cells.tied), strict=False):
            np.testing.assert_allclose(part[:, 0], own, atol=1e-9)
        assert sum(float(part.sum()) for part in parts) == pytest.approx(rows.n_votes)


def test_clusters_are_drawn_whole() -> None:
    rows = some(clusters=40)
    units = whole_clusters(rows, "half", 1)
    times = units.draw(np.random.default_rng(3), 5)
    assert (times.sum(axis=0) == units.n_drawn).all()
    assert units.n_drawn == 40
    for column in range(5):
        drawn = rows.reweighted(times[rows.clusters[1], column])
        expected = single_votes(drawn, "half", 100).cells
        won, lost = (part[:, column] for part in units.votes(times))
        place = {(a, b): k for k, (a, b) in enumerate(zip(units.cells.first, units.cells.second, strict=True))}
        at = [place[pair] for pair in zip(expected.first, expected.second, strict=True)]
        np.testing.assert_allclose(won[at], expected.won)
        np.testing.assert_allclose(lost[at], expected.lost)
        assert won.sum() + lost.sum() == pytest.approx(drawn.weight.sum())


@pytest.mark.parametrize("poisson", [False, True])
def test_votes_of_unequal_weight_keep_the_mean_and_variance_of_their_sum(poisson: bool) -> None:
    # Two votes of weight 3 and six of weight 1 in a row, beside eight of weight 1.
    rows = VoteRows(
        n_models=2,
        first=np.array([0, 0]),
        second=np.array([1, 1]),
        outcome=np.array([0, 1]),
        share=np.array([1.0, 0.0]),
        weight=np.array([12.0, 8.0]),
        weight_squares=np.array([24.0, 8.0]),
        count=np.array([8, 8]),
        covariates=np.zeros((2, 0)),
    )
    units = replace(single_votes(rows, "half", 100), poisson=poisson)
    n = 40_000
    won, lost = units.votes(units.draw(np.random.default_rng(0), n))
    spread = 4.0 / np.sqrt(n)  # four standard errors of a mean of variance 1
    for drawn, weight, squares in ((won[0], 12.0, 24.0), (lost[0], 8.0, 8.0)):
        variance = squares if poisson else squares - weight**2 / 16.0
        assert drawn.mean() == pytest.approx(weight, abs=spread * np.sqrt(variance))
        assert drawn.var() == pytest.approx(variance, rel=2.0 * spread)


# How replicates are fitted


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("covariates", [0, 2])
@pytest.mark.parametrize("way", [None, 1])
def test_replicates_are_refits_of_drawn_votes(covariates: int, way: int | None, prior: float) -> None:
    rows = some(covariates=covariates, clusters=60)
    fit = fit_strengths(rows, prior=prior)
    units = single_votes(rows, "half", 100) if way is None else whole_clusters(rows, "half", way)
    found = refit_replicates(units, fit, np.random.default_rng(7), 20)
    expected = refitted(units, fit, 7, 20)
    np.testing.assert_allclose(found.parameters, expected, atol=2 * OPTIMUM)
    assert not found.apart.any()


@pytest.mark.parametrize("ties", TIES[1:])
def test_fits_with_a_tie_parameter_are_refitted_too(ties: str) -> None:
    rows = some(covariates=1)
    fit = fit_strengths(rows, ties=ties)
    units = single_votes(rows, ties, 100)
    found = refit_replicates(units, fit, np.random.default_rng(7), 10)
    np.testing.assert_allclose(found.parameters, refitted(units, fit, 7, 10), atol=2 * OPTIMUM)
    boot = bootstrap_strengths(fit, rows, n_resamples=100)
    assert boot.tie is not None
    # Errors of the tie parameter's logarithm: a hundred replicates tell a spread to a fifth or so.
    assert np.log(boot.tie).std() == pytest.approx(np.sqrt(fit.bread[-1, -1]), rel=0.3)


def test_replicates_that_do_not_settle_are_fitted_by_newton() -> None:
    """Few votes: a replicate may hold several times the information that the votes have about a model."""
    rows = some(40, models=6)
    fit = fit_strengths(rows)
    boot = bootstrap_strengths(fit, rows, n_resamples=300)
    assert boot.apart.any()
    units = single_votes(rows, "half", 300)
    found = refit_replicates(units, fit, np.random.default_rng(0), 300)
    np.testing.assert_array_equal(found.apart, boot.apart)
    whole = ~found.apart.any(axis=1)
    parts = units.votes(units.draw(np.random.default_rng(0), 300))
    several = np.flatnonzero(whole)[:40]
    for k in several:
        cells = replace(units.cells, won=parts[0][:, k], lost=parts[1][:, k])
        eta = found.parameters[k, cells.first] - found.parameters[k, cells.second]
        left = cells.won - cells.weight / (1.0 + np.exp(-eta))
        gradient = np.bincount(cells.first, left, 6) - np.bincount(cells.second, left, 6)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-6)


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("covariates", [0, 2])
def test_steps_by_the_information_of_all_votes_settle_without_newton(covariates: int, prior: float) -> None:
    """What they do not settle is fitted by Newton's steps, so that a fault in them would only make them slow."""
    rows = some(covariates=covariates)
    fit = fit_strengths(rows, prior=prior)
    units = single_votes(rows, "half", 100)
    frame = _framed(units, fit)
    won, lost = units.votes(units.draw(np.random.default_rng(7), 8))
    found, settled = _chord(frame, won, lost)
    assert settled.all()
    np.testing.assert_allclose(found * frame.unit, refitted(units, fit, 7, 8), atol=2 * OPTIMUM)


def test_replicates_with_models_apart_are_lent_half_a_vote_of_the_mean_weight() -> None:
    rows = vote_rows([0, 0, 2, 2, 2], [1, 1, 0, 1, 1], [0, 1, 1, 1, 0], count=[30, 28, 9, 9, 1])
    rows = rows.reweighted(np.full(5, 3.0))
    fit = fit_strengths(rows)
    for units in (
        single_votes(rows, "half", 100),
        whole_clusters(replace(rows, clusters=(np.arange(5) % 4,)), "half", 0),
    ):
        found = refit_replicates(units, fit, np.random.default_rng(0), 12)
        apart = found.apart.any(axis=1)
        assert 0 < apart.sum() < 12
        lent = refitted(units, replace(fit, prior=LENT_VOTES * 3.0), 0, 12)
        np.testing.assert_allclose(found.parameters[apart], lent[apart], atol=2 * OPTIMUM)


def test_blocks_of_replicates_change_nothing(monkeypatch) -> None:
    rows = some(clusters=20)
    fit, units = fit_strengths(rows), whole_clusters(rows, "half", 1)
    whole = refit_replicates(units, fit, np.random.default_rng(3), 10)
    monkeypatch.setattr(bootstrap, "_HELD", 3 * max(units.cells.first.size, 20))
    parts = refit_replicates(units, fit, np.random.default_rng(3), 10)
    np.testing.assert_allclose(parts.parameters, whole.parameters, atol=2 * OPTIMUM)


@pytest.mark.parametrize("ties", TIES[1:])
def test_replicates_without_ties_or_of_ties_alone_have_no_tie_parameter(ties: str) -> None:
    rows = vote_rows([0, 0, 0], [1, 1, 1], [0, 1, 2], count=[60, 40, 1])
    fit = fit_strengths(rows, ties=ties)
    boot = bootstrap_strengths(fit, rows, n_resamples=100)
    units = single_votes(rows, ties, 100)
    _, _, tied = units.votes(units.draw(np.random.default_rng(0), 100))
    none = tied[0] == 0
    assert 0 < none.sum() < 100
    assert boot.tie is not None
    np.testing.assert_array_equal(np.isnan(boot.tie), none)
    np.testing.assert_array_equal(np.isnan(boot.replicates[:, 0]), none)
    words = f"{none.sum()} of 100 replicates have no optimum; they count as beyond either end of every interval"
    assert boot.warnings == (words,)
    assert "there is no optimum" in str(boot.contrasts().reasons[0])
    found, apart = _newton(_framed(units, fit), [np.zeros(1), np.zeros(1), np.ones(1)])
    assert np.isnan(found).all()
    assert not apart.any()


# What is said of them


def test_models_that_are_apart_are_counted_and_count_as_beyond_either_end() -> None:
    # Model 2 lost all but one of its votes: in about exp(-1) of the replicates it loses all.
    rows = vote_rows([0, 0, 2, 2, 2], [1, 1, 0, 1, 1], [0, 1, 1, 1, 0], count=[300, 280, 40, 40, 1])
    fit = fit_strengths(rows)
    boot = bootstrap_strengths(fit, rows, n_resamples=300)
    lost_all = boot.apart.any(axis=1).sum() / 300
    assert lost_all == pytest.approx(np.exp(-1.0), abs=4.0 * np.sqrt(0.23 / 300))
    assert (boot.apart.sum(axis=0) == [0, 0, boot.apart.any(axis=1).sum()]).all()
    assert np.isfinite(boot.replicates).all()
    assert f"in {boot.apart.any(axis=1).sum()} of 300 replicates" in boot.warnings[0]
    assert f"{LENT_VOTES:g} votes" in boot.warnings[0]
    found = boot.contrasts()
    # 0 against 1 is known; what rests on model 2 is not.
    assert found.reasons[0] is None
    assert found.conf_low[0] < found.estimate[0] < found.conf_high[0]
    assert all("do not connect" in str(reason) for reason in found.reasons[1:])
    assert np.isnan(found.conf_low[1:]).all()
    assert np.isnan(found.std_error[1:]).all()


def test_few_clusters_give_no_interval_or_a_warning() -> None:
    rows = some()
    for n_clusters, fits in ((5, False), (12, True)):
        own = vote_rows(
            rows.first, rows.second, rows.outcome, count=rows.count, clusters=(np.arange(rows.n_rows) % n_clusters,)
        )
        boot = bootstrap_strengths(fit_strengths(own), own, n_resamples=100, way=0)
        found = boot.intervals()
        assert np.isfinite(found.conf_low).all() == fits
        assert any(f"{n_clusters} clusters are too short" in words for words in boot.warnings) == fits
        if not fits:
            assert set(found.reasons) == {"5 clusters are too few for an interval; at least 6 are needed"}


def test_intervals_are_order_statistics() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(3, 400))
    outside = np.zeros(values.shape, dtype=bool)
    outside[1, :4] = True
    found = percentile_intervals(values.mean(axis=1), values, outside, conf_level=0.9)
    for k in range(3):
        low = order_statistic(np.sort(np.where(outside[k], -np.inf, values[k])), 0.05)
        high = -order_statistic(np.sort(np.where(outside[k], -np.inf, -values[k])), 0.05)
        assert (found.conf_low[k], found.conf_high[k]) == (low, high)
    same = percentile_intervals(np.ones(1), np.ones((1, 400)), outside[:1], conf_level=0.9)
    assert "the same value" in str(same.reasons[0])
    assert np.isnan(same.conf_low[0])


def test_spread_by_its_definition() -> None:
    """The standard deviation of the values that there are."""
    rng = np.random.default_rng(8)
    values, outside = rng.normal(size=(4, 405)), np.zeros((4, 405), dtype=bool)
    outside[1, [0, 50, 100]] = True
    outside[2, 40:43] = True
    outside[3, 1:] = True  # a single value has no spread
    found = percentile_intervals(np.zeros(4), values, outside, conf_level=0.9)
    for k in range(3):
        assert found.std_error[k] == pytest.approx(values[k][~outside[k]].std(ddof=1))
    assert np.isfinite(found.conf_low[:3]).all()
    for column in (found.std_error, found.conf_low, found.conf_high):
        assert np.isnan(column[3])


@pytest.mark.parametrize(("n_clusters", "told"), [(5, False), (6, True), (19, True), (20, False)])
def test_percentile_intervals_of_6_to_19_clusters_are_called_too_short(n_clusters: int, told: bool) -> None:
    units = replace(whole_clusters(some(200, clusters=9), "half", 1), n_drawn=n_clusters)
    found = RefitReplicates(parameters=np.zeros((2, 6)), apart=np.zeros((2, 6), dtype=bool))
    words = f"percentile intervals from {n_clusters} clusters are too short; prefer the sandwich with t"
    assert _warnings(units, found, clustered=True) == ((words,) if told else ())
    assert _warnings(units, found, clustered=False) == ()


@pytest.fixture(scope="module")
def drawn() -> tuple[VoteRows, PairFit, BootstrapStrengths]:
    rows = some(clusters=150)
    fit = fit_strengths(rows)
    return rows, fit, bootstrap_strengths(fit, rows)


def test_the_seed_tells_all_and_the_order_of_votes_nothing(drawn) -> None:
    rows, fit, boot = drawn
    np.testing.assert_array_equal(bootstrap_strengths(fit, rows).replicates, boot.replicates)
    assert not np.array_equal(bootstrap_strengths(fit, rows, seed=1).replicates, boot.replicates)
    shuffled = rows.take(np.random.default_rng(0).permutation(rows.n_rows))
    swapped = replace(
        shuffled,
        first=shuffled.second,
        second=shuffled.first,
        outcome=np.array([1, 0, 2, 3])[shuffled.outcome],
        share=1.0 - shuffled.share,
    )
    for way in (None, 1):
        own = bootstrap_strengths(fit, rows, n_resamples=100, way=way)
        for other in (shuffled, swapped):
            again = bootstrap_strengths(fit, other, n_resamples=100, way=way)
            np.testing.assert_allclose(again.replicates, own.replicates, atol=2 * OPTIMUM)


def test_pairs_are_turned_with_their_sign(drawn) -> None:
    _, _, boot = drawn
    one, other = boot.contrasts([0, 2], [3, 1]), boot.contrasts([3, 1], [0, 2])
    np.testing.assert_array_equal(one.conf_low, -other.conf_high)
    np.testing.assert_array_equal(one.estimate, -other.estimate)
    every = boot.contrasts()
    np.testing.assert_array_equal(every.conf_low[2], one.conf_low[0])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"way": 2}, "way 2 was asked for, but votes have 2 ways"),
        ({"n_resamples": 10}, "n_resamples is 10; give a whole number of at least 100"),
    ],
)
def test_what_cannot_be_is_said(asked: dict[str, int], words: str) -> None:
    rows = some(clusters=30)
    with pytest.raises(InputError, match=words):
        bootstrap_strengths(fit_strengths(rows), rows, **asked)


def test_votes_and_fit_must_belong_together() -> None:
    fit = fit_strengths(some())
    with pytest.raises(InputError, match="votes are about 7 models"):
        bootstrap_strengths(fit, some(models=7))
    with pytest.raises(CannotAnswerError, match="nothing to draw from"):
        bootstrap_strengths(fit, some().reweighted(np.zeros(some().n_rows)))
    boot = bootstrap_strengths(fit, some(), n_resamples=100)
    with pytest.raises(InputError, match="both sides"):
        boot.contrasts([1])
    with pytest.raises(InputError, match="numbered from 0 to 5"):
        boot.contrasts([1], [6])
    for first, second in (([1, -1], [2, 3]), ([1, 2], [3]), ([[1]], [[2]])):
        with pytest.raises(InputError, match="numbered from 0 to 5"):
            boot.contrasts(first, second)
    assert boot.contrasts([5], [0]).estimate == pytest.approx(boot.strengths[5] - boot.strengths[0])
    with pytest.raises(InputError, match="draw at least"):
        boot.intervals(conf_level=0.999)


# Against other ways to the same truth


def ratio(boot: BootstrapStrengths, fit: PairFit, rows: VoteRows) -> np.ndarray:
    """Standard errors of all contrasts over those of the sandwich."""
    v = covariance_of(fit, rows).covariance
    i, j = np.triu_indices(fit.n_models, 1)
    return boot.contrasts().std_error / np.sqrt(v[i, i] + v[j, j] - 2.0 * v[i, j])


def test_spread_is_that_of_the_sandwich(drawn) -> None:
    rows, fit, boot = drawn
    # A standard deviation of 1,000 draws has a relative error of .022.
    np.testing.assert_allclose(ratio(boot, fit, replace(rows, clusters=())), 1.0, atol=0.09)
    np.testing.assert_allclose(
        np.cov(boot.replicates, rowvar=False), covariance_of(fit, replace(rows, clusters=())).covariance, atol=3e-4
    )


def test_spread_by_clusters_is_that_of_the_clustered_sandwich(drawn) -> None:
    rows, fit, boot = drawn
    own = replace(rows, clusters=rows.clusters[1:])
    by_cluster = bootstrap_strengths(fit, own, way=0)
    found = ratio(by_cluster, fit, own)
    # 150 clusters: the sandwich is of first order, and its G/(G - 1) is not in the bootstrap.
    np.testing.assert_allclose(found, 1.0, atol=0.12)
    assert np.median(by_cluster.contrasts().std_error / boot.contrasts().std_error) > 1.2  # raters do differ


def test_many_votes_are_drawn_as_poisson_with_the_same_spread() -> None:
    rows = some(40_000, models=20)
    fit = fit_strengths(rows)
    boot = bootstrap_strengths(fit, rows, n_resamples=2000)
    assert boot.poisson
    np.testing.assert_allclose(ratio(boot, fit, rows), 1.0, atol=0.08)


def test_llmfao_is_as_spread_as_the_published_sandwich(shared_data, golden) -> None:
    rows, names = llmfao(shared_data)
    with (golden / "bt_llmfao.csv").open(encoding="utf-8") as file:
        known = {row["model"]: row for row in csv.DictReader(file)}
    fit = fit_strengths(rows)
    boot = bootstrap_strengths(fit, rows)
    published = np.array([float(known[name]["se_sandwich"]) for name in names])
    found = ELO_PER_LOG_ODDS * boot.intervals().std_error / published
    # .022 of Monte Carlo error each; with 300 votes a model the bootstrap is a little wider than first order.
    assert np.median(found) == pytest.approx(1.0, abs=0.03)
    np.testing.assert_allclose(found, 1.0, atol=0.12)
    assert np.isfinite(boot.replicates).all()


@pytest.mark.slow
def test_intervals_cover() -> None:
    """600 simulated arenas of 800 votes: percentile intervals of all contrasts hold the truth in about 95%."""
    truth = np.linspace(-0.8, 0.8, 6)
    i, j = np.triu_indices(6, 1)
    held = []
    for seed in range(600):
        rng = np.random.default_rng([seed, 1])
        first = rng.integers(0, 6, 800)
        second = (first + rng.integers(1, 6, 800)) % 6
        won = rng.random(800) < 1.0 / (1.0 + np.exp(truth[second] - truth[first]))
        rows = vote_rows(first, second, np.where(won, 0, 1), n_models=6)
        found = bootstrap_strengths(fit_strengths(rows), rows, seed=seed).contrasts()
        gap = truth[i] - truth[j]
        held.append(float(((found.conf_low <= gap) & (gap <= found.conf_high)).mean()))
    # Contrasts of one arena go together: at worst 600 independent ones, standard error .009.
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)
