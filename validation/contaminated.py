"""Old and new items, and models that never saw either: how often one of them is called contaminated."""

from functools import partial

import numpy as np

from evalstats.stats.contamination import reference_gap, split_contrast
from evalstats.stats.estimate import normal_quantile
from validation.study import Case, Promise, Question, Tally, Task, of_claims, simulated

NAME = "contamination"
REPLICATES, PART = 4_000, 250
ITEMS = 200
LEVEL = 0.05
REFERENCES = (3, 5, 10)
SPREADS = (0.0, 0.05, 0.15)

OURS = "beyond the references"
BY_ITEMS = "beyond the references, by items alone"
ALONE = "old against new items, the model alone"


def replicate(rng: np.random.Generator, count: int, *, references: int, spread: float, size: int) -> dict[str, Tally]:
    """Tally claims about the first of `references` + 1 clean models on `count` tables."""
    clusters = np.arange(ITEMS) // size
    old = clusters % 2 == 0
    contrast = split_contrast(old, [clusters] if size > 1 else [])
    claims: dict[str, list[bool]] = {OURS: [], BY_ITEMS: [], ALONE: []}
    for _ in range(count):
        scores = _clean(rng, references + 1, old, clusters, spread)
        found = reference_gap(scores[:, 0], scores[:, 1:], contrast)
        claims[OURS].append(found.p_greater is not None and found.p_greater <= LEVEL)
        claims[BY_ITEMS].append(
            found.item_p_value is not None and found.item_p_value <= 2 * LEVEL and found.estimate > 0
        )
        claims[ALONE].append(found.own > normal_quantile(1 - 2 * LEVEL) * (found.own_std_error or np.inf))
    return {method: of_claims(each) for method, each in claims.items()}


def _clean(rng: np.random.Generator, models: int, old: np.ndarray, clusters: np.ndarray, spread: float) -> np.ndarray:
    """Draw right or wrong: old items are easier by .05 on average, by another amount for each model."""
    advantage = rng.normal(0.05, spread, models)
    hard = rng.normal(0, 0.12, clusters.size)
    if clusters[-1] + 1 < clusters.size:
        # In clusters each model has ups and downs of its own: only then do items of one cluster move together.
        own = rng.normal(0, 0.15, (clusters[-1] + 1, models))[clusters]
    else:
        own = np.zeros((clusters.size, models))
    chance = rng.uniform(0.35, 0.6, models) + hard[:, None] + own + np.outer(old, advantage)
    return (rng.random(chance.shape) < np.clip(chance, 0.02, 0.98)) * 1.0


def _cells() -> list[tuple[Case, partial[dict[str, Tally]]]]:
    found: list[tuple[Case, partial[dict[str, Tally]]]] = []
    for size, words in ((1, ""), (5, ", items in clusters of 5")):
        for spread in SPREADS:
            alike = "models alike" if spread == 0 else f"models differ by an SD of {spread:.2f}".replace("0.", ".")
            for references in REFERENCES:
                name = f"{references} references, {alike}{words}"
                design = {"n_items": ITEMS, "n_references": references, "spread": spread}
                if size > 1:
                    design["n_clusters"] = ITEMS // size
                case = Case(name=name, group=f"{alike}{words}", design=design)
                found.append((case, partial(replicate, references=references, spread=spread, size=size)))
    return found


CELLS = _cells()


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for case, work in CELLS
        for task in simulated(NAME, case.name, work, replicates=REPLICATES, part=PART, share=share)
    ]


QUESTION = Question(
    name=NAME,
    question="How often is a model called contaminated that has seen no item?",
    design=(
        "Old and new items, 100 of each, right or wrong. Old ones are easier by .05 on average, by a little more or less for "
        "each model (SD 0, .05, .15). A model is called contaminated where it gains more from old items than 3, 5 or 10 clean "
        "models do, one-sided at 5%."
    ),
    measure="false claims",
    nominal=0.05,
    methods={OURS: "ours", BY_ITEMS: "beside", ALONE: "elsewhere"},
    cases=[case for case, _ in CELLS],
    tasks=tasks,
    promises=[Promise(text="A clean model called contaminated", method=OURS, high=0.065)],
)
