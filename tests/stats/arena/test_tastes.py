"""Tastes from residuals that go together, and draws of votes that share them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, log_expit

from evalstats.errors import InputError
from evalstats.stats.arena import tastes
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.goodness_of_fit import pair_deviance
from evalstats.stats.arena.likelihood import tie_parameter, vote_law
from evalstats.stats.arena.parametric_bootstrap import Tastes, simulated, tasted_cells, tastes_of
from evalstats.stats.arena.tastes import (
    DecidedVotes,
    _some_raters,
    decided_line,
    decided_votes,
    estimated_taste,
    filtered,
    honest_forecasts,
    log_likelihood,
    only_raters,
)
from evalstats.stats.arena.votes import VoteRows, vote_rows


def _votes(
    seed: int, *, n: int, n_models: int, raters: int, taste: float, ties: float = 0.0, sessions: int = 0
) -> VoteRows:
    rng = np.random.default_rng(seed)
    rater, first = rng.integers(raters, size=n), rng.integers(n_models, size=n)
    second = (first + rng.integers(1, n_models, size=n)) % n_models
    own = np.linspace(-1.0, 1.0, n_models) + taste * rng.normal(size=(raters, n_models))
    lost = rng.random(n) > expit(own[rater, first] - own[rater, second])
    outcome = np.where(rng.random(n) < ties, 2, lost.astype(int))
    return vote_rows(
        first,
        second,
        outcome,
        n_models=n_models,
        clusters=(rater, rater * sessions + rng.integers(sessions, size=n)) if sessions else (rater,),
    )


@pytest.mark.parametrize("taste", [0.0, 0.5, 1.0])
def test_tastes_are_found_again(taste: float) -> None:
    """Mean over 20 tables against the truth; a table has a standard deviation of about .08."""
    sds = [tastes_of(fit_strengths(rows), rows).sd for rows in _many(taste)]
    found = np.sqrt(np.mean([sd[0] ** 2 if sd else 0.0 for sd in sds]))
    assert found == pytest.approx(taste, abs=0.1 if taste else 0.15)


def _many(taste: float) -> list[VoteRows]:
    return [_votes(seed, n=3_000, n_models=8, raters=60, taste=taste) for seed in range(20)]


def test_a_way_inside_another_is_left_with_what_it_adds() -> None:
    """Three sessions of each rater: raters have tastes, sessions none of their own."""
    rows = _votes(1, n=6_000, n_models=5, raters=100, taste=0.8, sessions=3)
    found = tastes_of(fit_strengths(rows), rows)
    assert found.sd[0] == pytest.approx(0.8, abs=0.12)
    assert sum(found.sd[1:]) < 0.35


def test_votes_without_clusters_have_no_tastes() -> None:
    rows = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 0, 1], count=[6, 4, 7, 3, 8, 2])
    assert tastes_of(fit_strengths(rows), rows).sd == ()


def test_draws_vary_as_votes_of_few_raters_do() -> None:
    """Deviance of 8 raters with tastes of 1: far in the law of independent votes, in the midst of the one with tastes."""
    plain, shared = [], []
    for seed in range(12):
        rows = _votes(seed, n=4_000, n_models=5, raters=8, taste=1.0)
        fit = fit_strengths(rows)
        plain.append(pair_deviance(simulated(fit, replace(rows, clusters=()), n_resamples=99)).p_value)
        shared.append(pair_deviance(simulated(fit, rows, n_resamples=99)).p_value)
    # Uniform p have a mean of .5, give or take .08 for 12 tables.
    assert np.mean(plain) < 0.32
    assert 0.3 < np.mean(shared) < 0.75


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_draws_have_as_many_ties_as_there_were(ties: str) -> None:
    rows = _votes(3, n=4_000, n_models=6, raters=40, taste=0.7, ties=0.3)
    votes = simulated(fit_strengths(rows, ties=ties), rows, n_resamples=50)
    assert votes.tastes.sd[0] > 0.3
    seen = (rows.outcome == 2) @ rows.count
    assert votes.drawn.tied.sum(axis=1).mean() == pytest.approx(seen, rel=0.03)


def test_taste_is_estimated_from_whole_raters_of_at_most_6000_votes() -> None:
    def votes(sizes: list[int]) -> DecidedVotes:
        rater = np.repeat(np.arange(len(sizes)), sizes)
        n = rater.size
        return DecidedVotes(
            n_raters=len(sizes),
            rater=rater,
            first=np.arange(n) % 3,
            second=(np.arange(n) + 1) % 3,
            a_won=np.arange(n) % 2 == 0,
            eta=np.arange(n, dtype=np.float64),
            uncertainty=np.ones(3),
        )

    few = votes([3000, 3000])
    assert _some_raters(few, 0) is few
    many = votes([500] * 30)
    kept = _some_raters(many, 0)
    assert kept.rater.size == 6000
    assert (np.bincount(kept.rater) == 500).all()
    assert set(kept.eta) != set(_some_raters(many, 1).eta)
    np.testing.assert_array_equal(kept.eta, _some_raters(many, 0).eta)
    assert (
        len({tuple(part) for part in kept.eta.reshape(12, 500)} & {tuple(part) for part in many.eta.reshape(30, 500)})
        == 12
    )
    huge = _some_raters(votes([7000, 7000]), 0)
    assert huge.rater.size == 7000  # one rater at least


def test_clusters_without_votes_have_no_tastes() -> None:
    rows = _votes(0, n=200, n_models=3, raters=10, taste=0.5)
    assert tastes_of(fit_strengths(rows), rows.take(np.zeros(rows.n_rows, dtype=bool))).sd == ()


# Definitions in their slow form


def _decided(seed: int, sizes: list[int], n_models: int = 5) -> DecidedVotes:
    """Votes of raters of these sizes, in a mixed order."""
    rng = np.random.default_rng(seed)
    rater = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    first = rng.integers(n_models, size=rater.size)
    second = (first + rng.integers(1, n_models, size=rater.size)) % n_models
    eta = rng.normal(0.0, 0.8, rater.size)
    return decided_votes(
        rater, (first, second), rng.random(rater.size) < expit(eta), eta, rng.uniform(0.01, 0.2, n_models)
    )


@pytest.mark.parametrize("sizes", [[30, 1, 0, 4, 12, 12, 2], [3, 0, 3, 2], [40]])
def test_forecasts_keep_a_normal_law_of_tastes_vote_by_vote(sizes: list[int]) -> None:
    """Of every vote: mean and variance of the difference, moved as Bayes' rule moves them (by integration), one rater by one."""
    votes = _decided(len(sizes), sizes)
    variance, eta = np.linspace(0.3, 1.5, 5), 1.3 * votes.eta + 0.1
    found = filtered(votes, eta, variance)
    x = np.linspace(-9.0, 9.0, 2001)
    normal = np.exp(-0.5 * x**2)
    for rater in range(votes.n_raters):
        mean, cov = np.zeros(5), np.diag(variance)
        for row in np.flatnonzero(votes.rater == rater):
            d = np.zeros(5)
            d[votes.first[row]], d[votes.second[row]] = 1.0, -1.0
            middle, square = eta[row] + d @ mean, d @ cov @ d
            difference = middle + np.sqrt(square) * x
            p = (expit(difference) * normal).sum() / normal.sum()
            assert found[row] == pytest.approx(p, abs=1e-4)  # by 15 nodes
            law = normal * expit(difference if votes.a_won[row] else -difference)
            law /= law.sum()
            new = law @ difference
            spread = law @ (difference - new) ** 2
            gain = cov @ d / square
            mean = mean + gain * (new - middle)
            cov = cov - np.outer(gain, gain) * (square - spread)


def test_forecasts_are_the_same_whatever_is_kept_and_however_many_raters_go_together(monkeypatch) -> None:
    votes = _decided(7, [25, 3, 9, 1, 14, 2, 40])
    whole = filtered(votes, votes.eta, np.full(5, 0.8))
    monkeypatch.setattr(tastes, "_TOGETHER", 2)
    assert filtered(votes, votes.eta, np.full(5, 0.8)) == pytest.approx(whole, abs=1e-12)
    monkeypatch.setattr(tastes, "_BLOCK", 1)
    assert filtered(votes, votes.eta, np.full(5, 0.8)) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize(("taste", "line"), [(0.0, (0.2, 1.5)), (0.9, (-0.3, 0.7)), (1.6, (0.1, 1.0))])
def test_a_first_vote_is_forecast_by_the_line_blurred_by_tastes_and_uncertainty(
    taste: float, line: tuple[float, float]
) -> None:
    """The line's log-odds are stretched, so that what taste blurs is again near to them."""
    votes = _decided(3, [1] * 12)
    found = honest_forecasts(votes, taste=taste, line=line)
    sharper = np.sqrt(1.0 + (16.0 * np.sqrt(3.0) / (15.0 * np.pi)) ** 2 * 2.0 * taste**2)
    for row in range(12):
        both = votes.uncertainty[votes.first[row]] + votes.uncertainty[votes.second[row]]
        law = stats.norm(sharper * (line[0] + line[1] * votes.eta[row]), np.sqrt(2.0 * taste**2 + line[1] ** 2 * both))
        assert found[row] == pytest.approx(law.expect(expit), abs=3e-4)
    assert found == pytest.approx(expit(line[0] + line[1] * votes.eta), abs=0.05)


def test_the_line_of_decided_votes_has_the_largest_penalised_likelihood() -> None:
    rng = np.random.default_rng(1)
    for eta, a_won in (
        (rng.normal(size=40), rng.random(40) < 0.7),
        (np.array([-3.0, -1.0, 1.0, 30.0]), np.array([False, False, True, True])),
        (np.full(200, 25.0), np.arange(200) > 190),
    ):

        def loss(beta, eta=eta, a_won=a_won):
            logs = log_expit(np.where(a_won, 1.0, -1.0) * (beta[0] + beta[1] * eta))
            return -logs.sum() + 0.5 * (beta[0] ** 2 + (beta[1] - 1.0) ** 2)

        best = optimize.minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
        assert decided_line(eta, a_won) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("near", [None, 0.0, 0.1, 1.3, 9.0])
@pytest.mark.parametrize(
    ("top", "found"), [(0.3, 0.3), (0.62, 0.62), (0.7, 0.7), (1.1, 1.1), (1.74, 1.74), (-1.0, 0.0), (3.0, 2.0)]
)
def test_taste_is_at_the_top_of_the_likelihood(monkeypatch, top: float, found: float, near: float | None) -> None:
    """A parabola has its top where it is, within the tastes that are looked at; whatever the search begins with."""
    votes, line, tried = _decided(0, [3, 3]), (0.2, 1.1), []

    def forecasts(_votes, *, taste, line):
        tried.append((taste, line))
        return taste

    monkeypatch.setattr(tastes, "honest_forecasts", forecasts)
    monkeypatch.setattr(tastes, "log_likelihood", lambda _, taste: 5.0 - 3.0 * (taste - top) ** 2)
    assert estimated_taste(votes, line, seed=0, near=near) == pytest.approx(found)
    assert len({taste for taste, _ in tried}) == len(tried)
    assert {each for _, each in tried} == {line}


def test_the_likelihood_of_forecasts_is_their_product() -> None:
    votes = _decided(2, [4, 3])
    p = np.linspace(0.1, 0.9, 7)
    assert log_likelihood(votes, p) == pytest.approx(np.log(np.prod(np.where(votes.a_won, p, 1.0 - p))))


def test_votes_are_sorted_by_rater_and_those_of_some_are_numbered_anew() -> None:
    rater, eta = np.array([2, 0, 2, 1, 0]), np.arange(5.0)
    votes = decided_votes(rater, (rater % 2, 1 - rater % 2), eta > 1, eta, np.array([-0.5, 0.3]))
    assert votes.eta.tolist() == [1.0, 4.0, 3.0, 0.0, 2.0]
    assert votes.a_won.tolist() == [False, True, True, False, True]
    assert votes.uncertainty.tolist() == [0.0, 0.3]
    some = only_raters(votes, np.array([True, False, True]))
    assert (some.n_raters, some.rater.tolist(), some.eta.tolist()) == (2, [0, 0, 1, 1], [1.0, 4.0, 0.0, 2.0])
    assert (some.first.tolist(), some.second.tolist()) == ([0, 0, 0, 0], [1, 1, 1, 1])
    with pytest.raises(InputError, match="one of each"):
        decided_votes(rater, (rater[1:], rater), eta > 1, eta, np.ones(2))
    for broken, uncertainty in ((np.full(5, np.nan), np.ones(2)), (eta, np.array([1.0, np.inf]))):
        with pytest.raises(InputError, match="not finite"):
            decided_votes(rater, (rater, rater), eta > 1, broken, uncertainty)
    nobody = decided_votes(rater[:0], (rater[:0], rater[:0]), eta[:0] > 1, eta[:0], np.ones(2))
    assert nobody.n_raters == 0


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_tastes_are_the_covariance_of_residuals_over_pairs_of_votes(ties: str) -> None:
    """Sum over pairs of votes of one cluster of r r' x'x over that of v v' (x'x)^2, for clusters worth G* equal ones."""
    rows = _votes(4, n=80, n_models=4, raters=6, taste=1.2, ties=0.2)
    fit = fit_strengths(rows, ties=ties)
    eta = fit.strengths[rows.first] - fit.strengths[rows.second]
    law = vote_law(ties, eta, tie_parameter(fit, rows))
    x = np.eye(4)[rows.first] - np.eye(4)[rows.second]
    at = np.repeat(np.arange(rows.n_rows), rows.count)
    codes, share = rows.clusters[0][at], np.array([1.0, 0.0, 0.5])[rows.outcome[at]]
    r, v, x = share - law.share[at], law.slope[at], x[at]
    found = expected = 0.0
    for i in range(at.size):
        for j in range(at.size):
            if i != j and codes[i] == codes[j]:
                both = x[i] @ x[j]
                found += r[i] * r[j] * both
                expected += v[i] * v[j] * both**2
    size = np.bincount(codes)
    worth = size.sum() ** 2 / (size @ size)
    square = found / expected * worth / (worth - 1.0)
    assert square > 0.0

    def varies(sd: float) -> float:
        u = np.linspace(-9.0, 9.0, 1001)
        law = vote_law(ties, np.sqrt(2.0) * sd * u, tie_parameter(fit, rows))
        return (law.share - 0.5) ** 2 @ (np.exp(-0.5 * u**2) / np.exp(-0.5 * u**2).sum())

    middle = float(vote_law(ties, np.zeros(1), tie_parameter(fit, rows)).slope[0])
    wanted = optimize.brentq(lambda sd: varies(sd) - 2.0 * middle**2 * square, 0.0, 4.0)
    (sd,) = tastes_of(fit, rows).sd
    # Between points of a grid of standard deviations the figure is taken in a line.
    assert sd == pytest.approx(wanted, rel=5e-3)


def test_raters_of_one_vote_each_and_votes_that_lean_apart_show_no_tastes() -> None:
    rows = _votes(5, n=60, n_models=4, raters=6, taste=0.0)
    alone = replace(rows, clusters=(np.arange(rows.n_rows),), count=np.ones(rows.n_rows, dtype=np.int64))
    assert tastes_of(fit_strengths(rows), alone).sd == ()
    # Two votes of each rater on the same pair, one for each side: the covariance is negative.
    apart = vote_rows(
        np.zeros(40, dtype=int), np.ones(40, dtype=int), np.arange(40) % 2, clusters=(np.arange(40) // 2,)
    )
    assert tastes_of(fit_strengths(apart), apart).sd == ()


def test_votes_of_a_cell_are_parted_by_the_clusters_whose_tastes_they_follow() -> None:
    rng = np.random.default_rng(6)
    n = 60
    rater, prompt = rng.integers(0, 4, n), rng.integers(0, 3, n)
    first = rng.integers(0, 3, n)
    second = (first + 1) % 3
    rows = vote_rows(first, second, rng.integers(0, 2, n), clusters=(rater, prompt))
    tastes = Tastes(codes=rows.clusters, sd=(0.7, 1.2))
    found = tasted_cells(rows, rows.first.astype(np.int64), (np.arange(3), (np.arange(3) + 1) % 3), tastes)
    wanted: dict[tuple[int, int, int], float] = {}
    for row in range(rows.n_rows):
        key = (int(rows.first[row]), int(rows.clusters[0][row]), int(rows.clusters[1][row]))
        wanted[key] = wanted.get(key, 0.0) + float(rows.count[row])
    keys = list(zip(found.cell.tolist(), found.codes[0].tolist(), found.codes[1].tolist(), strict=True))
    assert sorted(keys) == sorted(wanted)
    total = {cell: sum(votes for key, votes in wanted.items() if key[0] == cell) for cell in range(3)}
    assert found.part == pytest.approx([wanted[key] / total[key[0]] for key in keys])
    assert found.first.tolist() == found.cell.tolist()
    assert found.second.tolist() == ((found.cell + 1) % 3).tolist()
    assert tastes.sharper == pytest.approx(
        np.sqrt(1.0 + (16.0 * np.sqrt(3.0) / (15.0 * np.pi)) ** 2 * 2.0 * (0.49 + 1.44))
    )

    # Draws: every entry leans by the tastes of its clusters for its two models.
    eta, n_draws = np.array([0.8, -0.4, 0.0]), 1500
    drawn = expit(found.shifted(eta, n_draws, np.random.default_rng(0)))
    rng = np.random.default_rng(1)
    own = [sd * rng.normal(size=(n_draws, 4, 3)) for sd in tastes.sd]
    by_hand = np.zeros((n_draws, 3))
    for part, cell, codes in zip(found.part, found.cell, zip(*found.codes, strict=True), strict=True):
        lean = sum(each[:, k, cell] - each[:, k, (cell + 1) % 3] for each, k in zip(own, codes, strict=True))
        by_hand[:, cell] += part * expit(tastes.sharper * eta[cell] + lean)
    # Means and covariances of 1,500 draws of either kind.
    assert drawn.mean(axis=0) == pytest.approx(by_hand.mean(axis=0), abs=0.03)
    assert np.cov(drawn.T) == pytest.approx(np.cov(by_hand.T), abs=0.15 * np.cov(by_hand.T).max())
    assert drawn.mean(axis=0) == pytest.approx(expit(eta), abs=0.05)
