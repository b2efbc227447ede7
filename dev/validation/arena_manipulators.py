"""Which manipulators of an arena's votes are found, and how often honest raters are flagged.

`python -m dev.validation.arena_manipulators [TABLES]` prints the table. Honest raters have strengths of their own: everybody's
plus normal tastes of standard deviation .8. Votes are on random pairs with random sides, 100 raters x 20 votes where nothing
else is said. "Tables with a flag": any rater or ring at all, at a false discovery rate of 5%.
"""

import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from tests.stats.arena.voting_by_hand import (
    Votes,
    against,
    any_flag,
    clicks,
    evidence,
    honest,
    one_side,
    ring,
    ring_found,
)

TABLES = 200
TARGET = 4
RING = range(10)
Plant = Callable[[np.random.Generator, Votes], None]
LEVEL = 0.05


def _honest(_rng: np.random.Generator, _votes: Votes) -> None:
    """Leave the votes as they are."""


def _side(_rng: np.random.Generator, votes: Votes) -> None:
    one_side(votes, 0)


def _against(_rng: np.random.Generator, votes: Votes) -> None:
    against(votes, 0)


def _clicks(rng: np.random.Generator, votes: Votes) -> None:
    clicks(rng, votes, 0)


def _ring(rng: np.random.Generator, votes: Votes, share: float) -> None:
    ring(rng, votes, RING, TARGET, share)


# What is planted, on how many raters with how many votes each among how many models with which share of ties (nu).
WORLDS: tuple[tuple[str, Plant, range, dict[str, float]], ...] = (
    ("nobody", _honest, range(0), {}),
    ("nobody, 10 models, ties", _honest, range(0), {"n_models": 10, "ties": 1.0}),
    ("nobody, 20 raters x 200 votes", _honest, range(0), {"n_raters": 20, "each": 200}),
    ("one side, 20 votes", _side, range(1), {}),
    ("one side, 30 of 1,980 votes", _side, range(1), {"n_raters": 66, "each": 30}),
    ("against the ratings, 20 votes", _against, range(1), {}),
    ("against the ratings, 100 votes", _against, range(1), {"n_raters": 20, "each": 100}),
    ("random clicks, 100 votes", _clicks, range(1), {"n_raters": 20, "each": 100}),
    ("random clicks, 300 votes", _clicks, range(1), {"n_raters": 20, "each": 300}),
    ("ring of 10, all votes on its model", partial(_ring, share=1.0), RING, {}),
    ("the same, 10 models, ties", partial(_ring, share=1.0), RING, {"n_models": 10, "ties": 1.0}),
    ("ring of 10, every other vote", partial(_ring, share=0.5), RING, {}),
    ("ring of 10, every other of 60 votes", partial(_ring, share=0.5), RING, {"each": 60}),
    ("ring of 10, every fourth vote", partial(_ring, share=0.25), RING, {}),
)


def measured(world: int, tables: int) -> tuple[float, float, float]:
    """Return the share of planted raters that are found, of tables with any flag, and of those with an honest one."""
    _, plant, planted, options = WORLDS[world]
    found, flags, wrong = [], [], []
    for number in range(tables):
        rng = np.random.default_rng([world, number])
        votes = honest(rng, **options)
        plant(rng, votes)
        told = evidence(votes)
        alone = told.rater[(told.adjusted <= LEVEL).any(axis=1)]
        together = [told.rings.members(m, LEVEL) for m in np.flatnonzero(told.ring_adjusted <= LEVEL).tolist()]
        named = set(np.concatenate([alone, *together]).tolist())
        if len(planted) > 1:
            found.append(ring_found(told, TARGET, planted))
        elif len(planted):
            found.append(float(0 in named))
        flags.append(any_flag(told))
        wrong.append(bool(named - set(planted)))
    return float(np.mean(found)) if found else float("nan"), float(np.mean(flags)), float(np.mean(wrong))


def main(arguments: list[str]) -> None:
    """Print the table."""
    tables = int(arguments[0]) if arguments else TABLES
    sys.stdout.write(f"{tables} tables each\n{'planted':38} {'found':>7} {'tables with':>12} {'with an honest':>15}\n")
    sys.stdout.write(f"{'':38} {'':>7} {'a flag':>12} {'rater flagged':>15}\n")
    for world, (name, *_) in enumerate(WORLDS):
        found, flags, wrong = measured(world, tables)
        share = "      –" if np.isnan(found) else f"{100 * found:6.1f}%"
        sys.stdout.write(f"{name:38} {share:>7} {100 * flags:11.1f}% {100 * wrong:14.1f}%\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
