"""Votes of raters and on prompts with preferences of their own: how often intervals and rank sets of ten models are wrong.

python -m dev.validation.arena_coverage           prints the table; about ten minutes of processor
python -m dev.validation.arena_coverage --quick   a tenth of the data sets
"""

import sys
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import expit, stdtrit

from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.contrasts import strength_ranks
from evalstats.stats.arena.covariance import (
    clustered_meat,
    contrast_df,
    contrast_variance,
    covariance_of,
    covariance_of_meat,
    intersection,
    variances_of,
    vote_meat,
)
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.votes import VoteRows, vote_rows

MODELS = 10
SEED = 2_718_281_828
REPLICATES = 1_000
RANKED = 4  # one data set in so many goes through the rank sets
NORMAL = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Ten equal models; raters and prompts add normal amounts to the strength of each model.

    `zipf`: rater k votes in proportion to 1/k.
    """

    name: str
    n_raters: int = 100
    n_votes: int = 2_000
    zipf: bool = False
    rater_sd: float = 0.8
    n_prompts: int = 0
    prompt_sd: float = 0.6
    ties: float = 0.0

    def draw(self, rng: np.random.Generator) -> VoteRows:
        """Return votes, clustered by raters and prompts, whichever matter."""
        activity = 1.0 / np.arange(1, self.n_raters + 1) if self.zipf else np.ones(self.n_raters)
        rater = rng.choice(self.n_raters, size=self.n_votes, p=activity / activity.sum())
        prompt = rng.integers(max(1, self.n_prompts), size=self.n_votes)
        first = rng.integers(MODELS, size=self.n_votes)
        second = (first + rng.integers(1, MODELS, size=self.n_votes)) % MODELS
        liking = self.rater_sd * rng.normal(size=(self.n_raters, MODELS))
        suiting = self.prompt_sd * rng.normal(size=(max(1, self.n_prompts), MODELS)) * (self.n_prompts > 0)
        ahead = liking[rater, first] - liking[rater, second] + suiting[prompt, first] - suiting[prompt, second]
        won = rng.random(self.n_votes) < expit(ahead)
        outcome = np.where(rng.random(self.n_votes) < self.ties, 2, np.where(won, 0, 1))
        clusters = ((rater,) if self.rater_sd else ()) + ((prompt,) if self.n_prompts else ())
        return vote_rows(first, second, outcome, n_models=MODELS, clusters=clusters)


WORLDS = (
    World(name="100 raters x 20 votes"),
    World(name="100 uneven raters (Zipf)", zipf=True),
    World(name="13 prompts", rater_sd=0.0, n_prompts=13),
    World(name="100 raters, 13 prompts", n_prompts=13),
    World(name="100 uneven raters, 13 prompts", zipf=True, n_prompts=13),
    World(name="100 raters, 13 prompts, 30% ties", n_prompts=13, ties=0.3),
    World(name="20 raters x 100 votes", n_raters=20),
    World(name="8 prompts", rater_sd=0.0, n_prompts=8),
)

COLUMNS = ("votes, normal", "plain sandwich, normal", "plain sandwich, t", "evalstats", "worst pair", "rank sets wrong")


def measure(world: World, replicates: int) -> dict[str, float]:
    """Return shares of intervals that cover, over all pairs and data sets, and of data sets with a false rank."""
    rng = np.random.default_rng([SEED, WORLDS.index(world)])
    i, j = np.triu_indices(MODELS, 1)
    inside: dict[str, list[np.ndarray]] = {name: [] for name in COLUMNS[:4]}
    wrong: list[bool] = []
    for r in range(replicates):
        rows = world.draw(rng)
        fit = fit_strengths(rows)
        ours, plain = covariance_of(fit, rows), _textbook(fit, rows)
        # The textbook's variance by two ways can be negative; such an interval covers nothing.
        plain_error = np.sqrt(np.maximum(variances_of(plain, i, j), 0.0))
        own = np.diagonal(ours.votes)
        t = -stdtrit(contrast_df(ours, i, j), 0.025)
        reaches = {
            "votes, normal": NORMAL * np.sqrt(own[i] + own[j] - 2.0 * ours.votes[i, j]),
            "plain sandwich, normal": NORMAL * plain_error,
            "plain sandwich, t": t * plain_error,
            "evalstats": t * np.sqrt(contrast_variance(ours, i, j)),
        }
        for name, reach in reaches.items():
            inside[name].append(np.abs(fit.strengths[i] - fit.strengths[j]) <= reach)
        if r % RANKED == 0:
            ranks = strength_ranks(fit, ours, rows, n_resamples=1_999, seed=r)
            wrong.append(bool((ranks.low > 1).any() or (ranks.high < MODELS).any()))
    found = {name: float(np.mean(each)) for name, each in inside.items()}
    worst = float(np.mean(inside["evalstats"], axis=0).min())
    return found | {"worst pair": worst, "rank sets wrong": float(np.mean(wrong))}


def _textbook(fit: PairFit, rows: VoteRows) -> np.ndarray:
    """Return the sandwich by every way and intersection of ways, each with its G/(G - 1): no jackknife, no repair."""
    single, total = vote_meat(fit, rows), np.zeros_like(fit.bread)
    for size in range(1, len(rows.clusters) + 1):
        for columns in combinations(rows.clusters, size):
            meat = clustered_meat(fit, [replace(rows, clusters=(intersection(list(columns)),))])
            total += (-1.0) ** (size + 1) * covariance_of_meat(fit, meat, single).covariance
    return total


def main(arguments: list[str]) -> int:
    """Print the table."""
    replicates = REPLICATES // 10 if "--quick" in arguments else REPLICATES
    out = sys.stdout
    out.write(f"Coverage of nominal 95% intervals of all pairs of ten equal models, {replicates} data sets each\n\n")
    out.write(f"{'':34}" + "".join(f"{name:>24}" for name in COLUMNS) + "\n")
    for world in WORLDS:
        found = measure(world, replicates)
        out.write(f"{world.name:34}" + "".join(f"{found[name]:24.3f}" for name in COLUMNS) + "\n")
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
