"""Tastes from residuals that go together, and draws of votes that share them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.goodness_of_fit import pair_deviance
from evalstats.stats.arena.parametric_bootstrap import simulated
from evalstats.stats.arena.rater_effects import DecidedVotes, _some_raters, tastes_of
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
        plain.append(pair_deviance(simulated(fit, replace(rows, clusters=()), n_resamples=99)).deviance.p_value)
        shared.append(pair_deviance(simulated(fit, rows, n_resamples=99)).deviance.p_value)
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
