"""Reliability over facets: how often intervals of E rho^2 and Phi miss the true ones.

In a balanced design with normal effects the mean squares are independent multiples of chi-squared variables, so they are drawn
and not the scores. Elsewhere the scores are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from dev.validation.study import Case, Promise, Question, Tally, Task, of_ends, of_worlds
from evalstats.stats.reliability import GStudy, drawn_coefficients, from_components, reliability
from evalstats.stats.variance_components import VarianceComponents, variance_components

NAME = "facet-reliability"
REPLICATES, PART = 2_000, 250
DRAWS = 4_000
RELATIVE, ABSOLUTE = "E rho^2", "Phi"
NAMES = ("model", "scaffold", "item")
RIGHT = "right or wrong"

# Standard deviations of effects, the residual last.
BOARD = {
    "model": 0.14, "scaffold": 0.1, "item": 0.25, "model:scaffold": 0.08, "model:item": 0.17, "scaffold:item": 0.08,
    "model:scaffold:item": 0.32,
}  # fmt: skip
# Right or wrong: effects of half the size, which hardly leave 0 to 1, and what is left of the variance of .25.
HALF = {effect: sd / 2 for effect, sd in BOARD.items()}
HALF["model:scaffold:item"] = (0.25 - sum(sd**2 for sd in [*HALF.values()][:-1])) ** 0.5
# By name: what differs from the board.
COMPONENTS: Mapping[str, Mapping[str, float]] = {
    "a board of agents": BOARD,
    RIGHT: HALF,
    "scaffolds matter": BOARD | {"scaffold": 0.2, "model:scaffold": 0.2},
    "models hardly differ": BOARD | {"model": 0.04},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Models crossed with scaffolds and items, of which a share of the cells is kept."""

    components: str
    n_models: int
    n_scaffolds: int
    n_items: int = 30
    keep: float = 1.0

    @property
    def name(self) -> str:
        """How the case is called."""
        said = "" if self.keep == 1.0 else ", a fifth missing"
        return f"{self.n_models} models, {self.n_scaffolds} scaffolds, {self.components}{said}"

    @property
    def binary(self) -> bool:
        """Whether scores are right or wrong."""
        return self.components == RIGHT

    @property
    def shape(self) -> dict[str, int]:
        """Levels of every factor."""
        return dict(zip(NAMES, (self.n_models, self.n_scaffolds, self.n_items), strict=True))

    def scores(self, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return codes of the cells that are kept, and their scores."""
        codes = dict(zip(NAMES, (each.ravel() for each in np.indices(tuple(self.shape.values()))), strict=True))
        value = np.zeros(len(codes["model"]))
        for effect, sd in COMPONENTS[self.components].items():
            factors = effect.split(":")
            if self.binary and len(factors) == len(NAMES):
                continue
            levels = np.ravel_multi_index([codes[name] for name in factors], [self.shape[name] for name in factors])
            value += sd * rng.normal(size=levels.max() + 1)[levels]
        if self.binary:
            value = (rng.random(value.size) < np.clip(0.5 + value, 0.0, 1.0)) * 1.0
        kept = rng.random(value.size) < self.keep
        return {name: each[kept] for name, each in codes.items()}, value[kept]

    def study(self) -> GStudy:
        """Return the true components."""
        variances = {effect: sd**2 for effect, sd in COMPONENTS[self.components].items()}
        residual = variances.pop(":".join(NAMES))
        return from_components({**variances, "residual": residual}, self.shape)


WORLDS = (
    *(
        World(components=components, n_models=models, n_scaffolds=scaffolds)
        for components in COMPONENTS
        if components != RIGHT
        for models in (5, 10, 30)
        for scaffolds in (3, 5, 20)
    ),
    *(
        World(components=RIGHT, n_models=models, n_scaffolds=3)
        for models in (5, 10, 30)
    ),
    *(
        World(components="a board of agents", n_models=models, n_scaffolds=3, n_items=20, keep=0.8)
        for models in (5, 10)
    ),
)  # fmt: skip


def replicate(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally both intervals on `count` tables, from the draws that `reliability` makes of every table."""
    truth = reliability(world.study())
    by_squares = world.keep == 1.0 and not world.binary
    pattern = variance_components(*world.scores(rng)) if by_squares else None
    ends = {RELATIVE: np.empty((2, count)), ABSOLUTE: np.empty((2, count))}
    for k in range(count):
        found = variance_components(*world.scores(rng)) if pattern is None else _drawn(pattern, world, rng)
        study = from_components({":".join(effect): 0.0 for effect in found.effects}, found.levels, nested=found.within)
        drawn = drawn_coefficients(study, np.maximum(_draws(found), 0.0))
        for name, values in ((RELATIVE, drawn["relative"]), (ABSOLUTE, drawn["absolute"])):
            ends[name][:, k] = np.quantile(values, [0.025, 0.975])
    return {
        RELATIVE: of_ends(*ends[RELATIVE], float(truth.relative or 0.0)),
        ABSOLUTE: of_ends(*ends[ABSOLUTE], float(truth.absolute or 0.0)),
    }


def _draws(found: VarianceComponents) -> np.ndarray:
    """Return what `draws` of seed 0 gives, the same chi-squared variables for every table of a shape."""
    squares = found.mean_squares * _shares(tuple(found.df.tolist()))
    return np.linalg.solve(found.weights, squares.T).T


@cache
def _shares(df: tuple[float, ...]) -> np.ndarray:
    free = np.array(df)
    return free / np.random.default_rng(0).chisquare(free, size=(DRAWS, len(df)))


def _drawn(pattern: VarianceComponents, world: World, rng: np.random.Generator) -> VarianceComponents:
    """Return a table's components by their mean squares, drawn from the law that normal effects give them."""
    variances = np.array([part.variance for part in world.study().components])
    squares = pattern.weights @ variances * rng.chisquare(pattern.df) / pattern.df
    return replace(pattern, mean_squares=squares)


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return of_worlds(NAME, WORLDS, replicate, replicates=REPLICATES, part=PART, share=share)


def _group(world: World) -> str:
    return world.components if world.keep == 1.0 else "a fifth missing"


QUESTION = Question(
    name=NAME,
    question="How often do the intervals of reliability over facets miss the true reliability?",
    design=(
        "5, 10 or 30 models, 3, 5 or 20 scaffolds and 30 items, all crossed, with normal effects of every combination: models "
        "that differ by 14 points (standard deviation) and scaffolds by 10, scaffolds that matter more, or models that differ by "
        "4. Then right-or-wrong scores with effects of half that size, and 20 items with a fifth of the cells missing."
    ),
    measure="misses",
    nominal=0.05,
    methods={RELATIVE: "ours", ABSOLUTE: "ours"},
    cases=[
        Case(
            name=world.name,
            group=_group(world),
            design={"n_models": world.n_models, "n_scaffolds": world.n_scaffolds, "n_items": world.n_items},
        )
        for world in WORLDS
    ],
    tasks=tasks,
    promises=[Promise(text=f"{name} of a design", method=name, high=0.075) for name in (RELATIVE, ABSOLUTE)],
)
