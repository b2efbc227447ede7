"""Arenas of honest raters with tastes of their own, and what manipulators do to them."""

from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.influence import without_each
from evalstats.stats.arena.raters import RaterEvidence, rater_evidence
from evalstats.stats.arena.tastes import decided_votes
from evalstats.stats.arena.votes import VoteRows, vote_rows


@dataclass(slots=True)
class Votes:
    """Votes of raters, as arrays that manipulators may change."""

    n_models: int
    rater: np.ndarray
    first: np.ndarray
    second: np.ndarray
    outcome: np.ndarray

    def rows(self) -> VoteRows:
        return vote_rows(self.first, self.second, self.outcome, n_models=self.n_models, clusters=(self.rater,))


def honest(
    rng: np.random.Generator,
    *,
    n_models: int = 20,
    n_raters: int = 100,
    each: int = 20,
    sd: float = 0.8,
    ties: float = 0.0,
) -> Votes:
    """Strengths with standard deviation .8, tastes with `sd`, random pairs and sides; `ties` is Davidson's nu."""
    strengths = rng.normal(0.0, 0.8, n_models)
    tastes = rng.normal(0.0, sd, (n_raters, n_models))
    rater = np.repeat(np.arange(n_raters), each)
    first = rng.integers(n_models, size=rater.size)
    second = (first + rng.integers(1, n_models, size=rater.size)) % n_models
    eta = strengths[first] - strengths[second] + tastes[rater, first] - tastes[rater, second]
    a, b = np.exp(eta / 2.0), np.exp(-eta / 2.0)
    drawn = rng.random(rater.size) * (a + b + ties)
    outcome = np.where(drawn < a, 0, np.where(drawn < a + b, 1, 2))
    return Votes(n_models, rater, first, second, outcome)


def one_side(votes: Votes, rater: int) -> None:
    votes.outcome[votes.rater == rater] = 0


def ring(rng: np.random.Generator, votes: Votes, raters: range, target: int, share: float = 1.0) -> None:
    """Let raters seek the target out in a share of their votes, and vote for it there."""
    mine = np.flatnonzero(np.isin(votes.rater, list(raters)) & (rng.random(votes.rater.size) < share))
    other = (target + rng.integers(1, votes.n_models, mine.size)) % votes.n_models
    on_a = rng.random(mine.size) < 0.5
    votes.first[mine] = np.where(on_a, target, other)
    votes.second[mine] = np.where(on_a, other, target)
    votes.outcome[mine] = np.where(on_a, 0, 1)


def against(votes: Votes, rater: int) -> None:
    """Turn decided votes round."""
    mine = (votes.rater == rater) & (votes.outcome < 2)
    votes.outcome[mine] = 1 - votes.outcome[mine]


def clicks(rng: np.random.Generator, votes: Votes, rater: int) -> None:
    mine = votes.rater == rater
    votes.outcome[mine] = rng.integers(0, 2, int(mine.sum()))


def evidence(votes: Votes) -> RaterEvidence:
    """Judge the raters as the analysis does."""
    rows = VoteRows(
        n_models=votes.n_models,
        first=votes.first,
        second=votes.second,
        outcome=votes.outcome,
        share=np.array([1.0, 0.0, 0.5, 0.5])[votes.outcome],
        weight=np.ones(votes.rater.size),
        weight_squares=np.ones(votes.rater.size),
        count=np.ones(votes.rater.size, dtype=np.int64),
        covariates=np.zeros((votes.rater.size, 0)),
        clusters=(votes.rater,),
    )
    used = np.flatnonzero(votes.outcome < 2)

    def rate(believed: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        kept = rows.take(believed[votes.rater])
        try:
            fit = fit_strengths(kept, prior=0.5)
        except CannotAnswerError:
            return None
        steps = without_each(fit, kept, kept.clusters[0])
        eta = steps.eta(votes.rater[used], votes.first[used], votes.second[used], np.zeros((used.size, 0)))
        return eta, np.diag(fit.bread)[: votes.n_models].copy()

    rated = rate(np.ones(int(votes.rater.max()) + 1, dtype=bool))
    assert rated is not None
    pairs = (votes.first[used], votes.second[used])
    found = rater_evidence(decided_votes(votes.rater[used], pairs, votes.outcome[used] == 0, *rated), rate=rate)
    assert found is not None
    return found


def any_flag(found: RaterEvidence, level: float = 0.05) -> bool:
    return bool((found.adjusted <= level).any() or (found.ring_adjusted <= level).any())


def ring_found(found: RaterEvidence, target: int, raters: range, level: float = 0.05) -> float:
    """Return the share of the ring that is flagged, alone or together."""
    together = found.rings.members(target, level) if found.ring_adjusted[target] <= level else np.zeros(0)
    alone = found.rater[(found.adjusted <= level).any(axis=1)]
    return float(np.mean(np.isin(list(raters), np.union1d(together, alone))))
