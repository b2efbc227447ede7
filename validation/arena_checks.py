"""How often the checks of an arena warn of honest votes, and of planted trouble."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

START = datetime(2026, 1, 5, tzinfo=UTC)
DAYS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An arena: normal strengths (`spread`), normal tastes of raters and of prompts, random pairs and sides.

    `zipf`: rater k votes in proportion to 1/k^zipf. `ties`: Davidson's nu. Without prompts each vote has one of its own.
    """

    name: str
    n_models: int = 10
    n_votes: int = 2_000
    n_raters: int = 100
    taste: float = 0.6
    spread: float = 0.6
    zipf: float = 0.0
    ties: float = 0.0
    n_prompts: int = 0
    prompt_taste: float = 0.0

    def draw(self, rng: np.random.Generator) -> pl.DataFrame:
        """Return votes with raters, prompts and times."""
        n, k = self.n_votes, self.n_models
        strengths = self.spread * rng.normal(size=k)
        activity = np.arange(1, self.n_raters + 1) ** -self.zipf
        rater = rng.choice(self.n_raters, size=n, p=activity / activity.sum())
        prompt = rng.integers(self.n_prompts, size=n) if self.n_prompts else np.arange(n)
        first = rng.integers(k, size=n)
        second = (first + rng.integers(1, k, size=n)) % k
        liking = strengths + self.taste * rng.normal(size=(self.n_raters, k))
        suits = self.prompt_taste * rng.normal(size=(max(1, self.n_prompts), k)) * (self.n_prompts > 0)
        at = prompt if self.n_prompts else np.zeros(n, dtype=np.int64)
        eta = liking[rater, first] - liking[rater, second] + suits[at, first] - suits[at, second]
        a, b = np.exp(eta / 2.0), np.exp(-eta / 2.0)
        drawn = rng.random(n) * (a + b + self.ties)
        outcome = np.where(drawn < a, 0, np.where(drawn < a + b, 1, 2))
        seconds = np.sort(rng.uniform(0.0, DAYS * 86_400.0, n))
        names = np.array([f"model {m:02d}" for m in range(k)])
        return pl.DataFrame(
            {
                "model_a": names[first],
                "model_b": names[second],
                "outcome": np.array(["a", "b", "tie"])[outcome],
                "rater": [f"r{code:05d}" for code in rater.tolist()],
                "item": [f"p{code:05d}" for code in prompt.tolist()],
                "timestamp": [START + timedelta(seconds=float(s)) for s in seconds.tolist()],
            }
        )
