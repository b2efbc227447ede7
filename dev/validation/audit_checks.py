"""The audit's checks of items, answers, groups and order on tables where nothing is wrong: how often one of them speaks up."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dev.validation.study import Case, Promise, Question, Tally, Task, of_claims, of_worlds
from evalstats.stats.answer_choices import rival_options
from evalstats.stats.factor_dependence import factor_dependence
from evalstats.stats.item_quality import item_slopes, repeated_rows
from evalstats.stats.score_drift import run_drifts
from evalstats.stats.sequential import order_drift

NAME = "audit-checks"
REPLICATES, PART = 2000, 50
KEYS, RIVALS, COPIES, FACTORS, DRIFT = (
    "evalstats: wrong keys, by who is right",
    "evalstats: wrong keys, by who agrees on another option",
    "evalstats: copies",
    "evalstats: ten factors",
    "evalstats: drift of any run",
)
ANY_EFFECT, PLAIN_DRIFT = "any design effect of 1.5", "drift of any run's own scores, adjusted"
LEVEL = 0.05
OPTIONS = 5
N_FACTORS = 10
SKILL = 1.2  # sd of the models' strength, on the logit scale
LUCK, ALIKE = 2.0, 0.7  # sd of a family's luck with an item, and share of its wrong answers that are the same


class World(NamedTuple):
    """How tables are drawn: how many items and models, and in what way they are awkward without being wrong."""

    name: str
    items: int
    models: int
    flat: float = 0.0  # share of the items that strength does not help with
    order: str = ""  # "sorted" by difficulty, or in "chapters" that models differ in
    families: int = 0  # models of one family share their luck
    graded: bool = False


WORLDS = (
    World("60 items, 8 models", 60, 8),
    World("200 items, 12 models", 200, 12),
    World("1,000 items, 30 models", 1000, 30),
    World("200 items, 12 models, half of the items for luck alone", 200, 12, flat=0.5),
    World("200 graded items, 12 models", 200, 12, graded=True),
    World("200 items, 12 models, file sorted by difficulty", 200, 12, order="sorted"),
    World("200 items, 12 models, file in chapters that suit some models", 200, 12, order="chapters"),
    World("200 items, 12 models of 3 families", 200, 12, families=3),
)
SOUND = tuple(world.name for world in WORLDS if not world.families)


class Drawn(NamedTuple):
    """Scores, shape (items, models); the options chosen, right where 0; and the chapters, where the file has them."""

    scores: np.ndarray
    choices: np.ndarray | None
    chapters: np.ndarray | None


def table(rng: np.random.Generator, world: World) -> Drawn:
    """Draw one table on which no key is wrong, no item a copy, no factor matters and no run changes."""
    n, m = world.items, world.models
    skill, ease = rng.normal(0.0, SKILL, m), rng.normal(size=(n, 1))
    if world.order == "sorted":
        ease = np.sort(ease, axis=0)
    helps = np.where(rng.random((n, 1)) < world.flat, 0.0, 1.0)
    logits = helps * skill + ease
    chapters = None
    if world.order == "chapters":
        chapters = np.arange(n) * 5 // n
        logits = logits + rng.normal(0.0, 1.0, (5, m))[chapters]
    if world.families:
        logits = logits + rng.normal(0.0, LUCK, (n, world.families))[:, np.arange(m) % world.families]
    if world.graded:
        return Drawn(logits + rng.normal(size=(n, m)), None, chapters)
    right = rng.random((n, m)) < 1 / (1 + np.exp(-logits))
    wrong = rng.integers(1, OPTIONS, (n, m))
    if world.families:
        alike = rng.integers(1, OPTIONS, (n, world.families))[:, np.arange(m) % world.families]
        wrong = np.where(rng.random((n, m)) < ALIKE, alike, wrong)
    return Drawn(right.astype(float), np.where(right, 0, wrong), chapters)


def spoken_up(rng: np.random.Generator, world: World) -> dict[str, bool]:
    """Say which checks find something on one table; what a check does not look at there is left out."""
    drawn = table(rng, world)
    n, m = drawn.scores.shape
    found = {KEYS: bool((item_slopes(drawn.scores).p_adjusted <= LEVEL).any())}
    if drawn.choices is not None:
        found[RIVALS] = bool(rival_options(drawn.choices, np.zeros(n, dtype=int)).suspect.any())
    copies = repeated_rows(drawn.scores, n_permutations=99, seed=int(rng.integers(1 << 30)))
    found[COPIES] = copies is not None and copies.far_fewer
    factors = {str(k): rng.integers(0, 5 + 3 * k, n) for k in range(N_FACTORS)}
    effects = factor_dependence(drawn.scores, factors)
    found[FACTORS] = any(each.p_adjusted <= LEVEL for each in effects)
    pair = factor_dependence(drawn.scores[:, :2], factors)
    found[ANY_EFFECT] = any(each.design_effect >= 1.5 for each in pair)
    order = np.repeat(np.arange(float(n))[:, None], m, axis=1)
    found[DRIFT] = any(each.clear for each in run_drifts(drawn.scores, order, strata=drawn.chapters))
    plain = [order_drift(column) for column in drawn.scores.T]
    found[PLAIN_DRIFT] = any(each is not None and each.p_value <= LEVEL / m for each in plain)
    return found


def replicate(rng: np.random.Generator, count: int, *, world: World) -> Mapping[str, Tally]:
    """Tally, over `count` tables, on how many each check finds something."""
    found = [spoken_up(rng, world) for _ in range(count)]
    return {method: of_claims([each[method] for each in found]) for method in found[0]}


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return of_worlds(NAME, WORLDS, replicate, replicates=REPLICATES, part=PART, share=share)


QUESTION = Question(
    name=NAME,
    question="How often does the audit find a fault of items, groups or order where there is none?",
    design=(
        "Models of different strength (normal, sd 1.2 on the logit scale) on items of different difficulty; no key is wrong, no "
        "item a copy, ten factors are drawn at random, and no run changes. A claim counts where any item, factor or run of the "
        "table is found. In three families, models share their luck on every item (sd 2) and 70% of their wrong answers; there "
        "the tests, which take models as independent, promise nothing."
    ),
    measure="false claims",
    nominal=LEVEL,
    methods={
        KEYS: "ours",
        RIVALS: "ours",
        COPIES: "ours",
        FACTORS: "ours",
        DRIFT: "ours",
        ANY_EFFECT: "elsewhere",
        PLAIN_DRIFT: "elsewhere",
    },
    cases=[
        Case(
            name=world.name,
            group="families of models" if world.families else "independent models",
            design={"n_items": world.items, "n_models": world.models},
        )
        for world in WORLDS
    ],
    tasks=tasks,
    promises=[
        Promise(text="audit, wrong keys by who is right", method=KEYS, cases=SOUND, high=0.065),
        Promise(
            text="audit, wrong keys by who agrees on another option",
            method=RIVALS,
            cases=tuple(world.name for world in WORLDS if not (world.families or world.graded)),
            high=0.065,
        ),
        Promise(text="audit, copies", method=COPIES, cases=SOUND, high=0.065),
        Promise(text="audit, ten factors that do not matter", method=FACTORS, cases=SOUND, high=0.065),
        Promise(text="audit, drift of any run", method=DRIFT, cases=SOUND, high=0.065),
    ],
)
