"""Sound items called unsound: tests of curves and of families of models, on answers that follow the two-parameter model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from dev.validation.study import Case, Promise, Question, Tally, Task, of_worlds
from evalstats.stats.item_fit import FALSE_DISCOVERIES, curvature_tests, family_tests
from evalstats.stats.item_response import two_parameter
from evalstats.stats.many.multiplicity import benjamini_hochberg

NAME = "item-checks"
REPLICATES, PART = 2_000, 125
CURVE, ANY_CURVE = "items whose curve has p up to 5%", "tables in which some curve is called unsound"
FAMILY, ANY_FAMILY = "items and families with p up to 5%", "tables in which some family is called different"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Models that answer items, and families among them, the first of them abler by `ahead` standard deviations."""

    n_models: int
    n_items: int = 30
    families: tuple[int, ...] = ()
    ahead: float = 0.0

    @property
    def name(self) -> str:
        """How the case is called."""
        named = f", families of {' and '.join(map(str, self.families))}" if self.families else ""
        return f"{self.n_items} items, {self.n_models} models{named}{', the first abler' if self.ahead else ''}"


WORLDS = (
    World(n_models=20),
    World(n_models=40),
    World(n_models=20, families=(6,)),
    World(n_models=20, families=(6,), ahead=1.0),
)


def replicate(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally the share of small p-values, and the tables in which something is found, of `count` tables."""
    codes = np.concatenate([np.repeat(np.arange(len(world.families)), world.families), np.full(world.n_models, -1)])
    codes = codes[: world.n_models]
    small, some = np.zeros(count), np.zeros(count)
    for k in range(count):
        ability = rng.normal(size=world.n_models) + world.ahead * (codes == 0)
        slope, easy = rng.lognormal(0.0, rng.choice([0.2, 0.5]), world.n_items), rng.normal(0.3, 1.3, world.n_items)
        right = (
            rng.random((world.n_items, world.n_models)) < special.expit(np.outer(slope, ability) + easy[:, None])
        ) * 1.0
        curves, seed = two_parameter(right), int(rng.integers(2**31))
        if world.families:
            found = family_tests(right, curves, codes, seed=seed)
            p = found.p_value[~np.isnan(found.p_value)]
            adjusted = found.p_adjusted[~np.isnan(found.p_adjusted)]
        else:
            tests = curvature_tests(right, curves, seed=seed)
            p = tests.p_value[tests.tested, 0]
            adjusted = benjamini_hochberg(p)
        small[k], some[k] = (p <= 0.05).mean(), (adjusted <= FALSE_DISCOVERIES).any()
    names = (FAMILY, ANY_FAMILY) if world.families else (CURVE, ANY_CURVE)
    return {name: Tally(float(each.sum()), float(count)) for name, each in zip(names, (small, some), strict=True)}


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return of_worlds(NAME, WORLDS, replicate, replicates=REPLICATES, part=PART, share=share)


def _design(world: World) -> Mapping[str, float]:
    return {"n_items": world.n_items, "n_models": world.n_models, "n_families": len(world.families)}


QUESTION = Question(
    name=NAME,
    question="How often is a sound item called unsound, or one that a family of models knows?",
    design=(
        "Right-or-wrong answers that follow the two-parameter model, in half of the tables with slopes that differ much, and "
        "families that differ at most in ability. Shares of items are means over tables."
    ),
    measure="false claims",
    nominal=0.05,
    methods={CURVE: "ours", ANY_CURVE: "ours", FAMILY: "ours", ANY_FAMILY: "ours"},
    cases=[
        Case(name=world.name, group="families" if world.families else "curves", design=_design(world))
        for world in WORLDS
    ],
    tasks=tasks,
    promises=[
        Promise(text="An item whose curve fits, p up to 5%", method=CURVE, high=0.065),
        Promise(text="A benchmark whose curves fit, some item named", method=ANY_CURVE, high=0.075),
        Promise(text="An item that is alike for a family, p up to 5%", method=FAMILY, high=0.065),
        Promise(text="A benchmark alike for all families, some item named", method=ANY_FAMILY, high=0.075),
    ],
)
