"""Votes of raters and on prompts that have preferences of their own, with known strengths."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from evalstats.stats.arena.votes import VoteRows, vote_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Who votes on what.

    Attributes
    ----------
    strengths
        True strengths of the models, log-units.
    n_raters, n_votes
        Raters and all votes together.
    zipf
        Rater k votes in proportion to 1/k; else all alike.
    rater_sd, prompt_sd
        Of what a rater, or a prompt, adds to the strength of one model.
    n_prompts
        0: prompts do not matter.
    ties
        Chance of a tie between any two models.
    """

    strengths: tuple[float, ...]
    n_raters: int = 100
    n_votes: int = 2000
    zipf: bool = False
    rater_sd: float = 0.8
    n_prompts: int = 0
    prompt_sd: float = 0.0
    ties: float = 0.0


def simulate(arena: Arena, rng: np.random.Generator) -> VoteRows:
    """Return votes, clustered by rater where raters differ, then by prompt where there are any."""
    models, n = len(arena.strengths), arena.n_votes
    activity = 1.0 / np.arange(1, arena.n_raters + 1) if arena.zipf else np.ones(arena.n_raters)
    rater = rng.choice(arena.n_raters, size=n, p=activity / activity.sum())
    prompt = rng.integers(max(1, arena.n_prompts), size=n)
    first = rng.integers(models, size=n)
    second = (first + rng.integers(1, models, size=n)) % models
    liking = arena.rater_sd * rng.normal(size=(arena.n_raters, models))
    suiting = arena.prompt_sd * rng.normal(size=(max(1, arena.n_prompts), models))
    strength = np.array(arena.strengths)

    def of(model: np.ndarray) -> np.ndarray:
        return strength[model] + liking[rater, model] + suiting[prompt, model]

    won = rng.random(n) < expit(of(first) - of(second))
    outcome = np.where(rng.random(n) < arena.ties, 2, np.where(won, 0, 1))
    clusters = ((rater,) if arena.rater_sd else ()) + ((prompt,) if arena.n_prompts else ())
    return vote_rows(first, second, outcome, n_models=models, clusters=clusters)
