"""Old and new items, and models that never saw either: how often one of them is called contaminated."""

from functools import cache, partial

import numpy as np
from scipy import special

from dev.validation.study import Case, Promise, Question, Tally, Task, of_claims, simulated
from evalstats.analysis.contamination.contamination import DecisionRules, case_rows
from evalstats.analysis.contamination.items import SuspectCase
from evalstats.analysis.contamination.latent_scale import latent_of_split
from evalstats.analysis.contamination.result import ContaminationRow
from evalstats.analysis.design.metric import Metric
from evalstats.options import Alternative
from evalstats.stats.contamination import ItemContrast, split_contrast
from evalstats.stats.estimate import normal_quantile

NAME = "contamination"
REPLICATES, PART = 2_000, 250
ITEMS = 200
LEVEL = 0.05
REFERENCES = (3, 5, 10)
SPREADS = (0.0, 0.05, 0.15)

OURS = "a clean model called inflated"
IN_POINTS = "the same, in points"
BY_ITEMS = "the same, in points and by items alone"
ALONE = "old against new items, the model alone"
MISSED = "one contaminated by a logit not found"
MISSED_IN_POINTS = "the same missed, in points"
RIGHT = Metric(benchmark="", name="right", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="")


def answers(
    scores: np.ndarray, old: np.ndarray, contrast: ItemContrast, alternative: Alternative
) -> tuple[ContaminationRow, ContaminationRow]:
    """Judge the first column by the others as `contamination` does, on the scale of abilities and in points."""
    rules = DecisionRules(conf_level=1.0 - LEVEL, margin=None, alternative=alternative, bound=2.0)
    by_scale: list[ContaminationRow] = []
    for latent in (latent_of_split(scores, old, RIGHT), None):
        case = SuspectCase(
            suspect="suspect",
            references=tuple(f"r{i}" for i in range(1, scores.shape[1])),
            scores=scores,
            latent=latent,
            contrast=contrast,
            n_old=int(old.sum()),
            n_new=int((~old).sum()),
        )
        by_scale += case_rows([case], rules)
    return by_scale[0], by_scale[1]


def replicate(rng: np.random.Generator, count: int, *, references: int, spread: float, size: int) -> dict[str, Tally]:
    """Tally claims about the first of `references` + 1 clean models on `count` tables."""
    clusters = np.arange(ITEMS) // size
    old = clusters % 2 == 0
    contrast = split_contrast(old, [clusters] if size > 1 else [])
    claims: dict[str, list[bool]] = {OURS: [], IN_POINTS: [], BY_ITEMS: [], ALONE: []}
    for _ in range(count):
        scores = _clean(rng, references + 1, old, clusters, spread)
        ours, points = answers(scores, old, contrast, "greater")
        claims[OURS].append(ours.verdict == "inflated")
        claims[IN_POINTS].append(points.verdict == "inflated")
        claims[BY_ITEMS].append(
            points.item_p_value is not None and points.item_p_value <= 2 * LEVEL and (points.estimate or 0.0) > 0
        )
        own = scores[:, :1]
        alone = float(contrast.estimate(own)[0]) / max(float(contrast.variance(own)[0]), 1e-12) ** 0.5
        claims[ALONE].append(alone > normal_quantile(1 - 2 * LEVEL))
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


HALF = 500  # items on each side
EASIER = 1.0  # logits by which public items are easier for every model
HARDNESS = 1.0  # SD of the difficulties of items, in logits
SKILLS = 0.3  # SD of the references' abilities
# Shares that references and suspect have right on fresh items.
STRONG = 0.88
ABILITIES = ((0.08, 0.46), (0.92, 0.60), (0.50, STRONG), (0.50, 0.50))


@cache
def ability(share: float) -> float:
    """Return the ability with this share of items right, by bisection; difficulties are normal."""
    hard = HARDNESS * special.ndtri((np.arange(4_000) + 0.5) / 4_000)
    low, high = -12.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if special.expit(middle - hard).mean() < share else (low, middle)
    return low


def rasch(
    rng: np.random.Generator, count: int, *, references: int, levels: tuple[float, float], seen: float, easier: float
) -> dict[str, Tally]:
    """Tally verdicts on a suspect that is better by `seen` logits on public items, where all models are clean by 0."""
    old = np.arange(2 * HALF) < HALF
    contrast = split_contrast(old)
    found: dict[str, list[bool]] = {OURS: [], IN_POINTS: []}
    for _ in range(count):
        skill = np.append(ability(levels[1]), ability(levels[0]) + rng.normal(0, SKILLS, references))
        gain = easier + np.append(seen, np.zeros(references))
        logits = skill - rng.normal(0, HARDNESS, (2 * HALF, 1)) + np.outer(old, gain)
        scores = (rng.random(logits.shape) < special.expit(logits)) * 1.0
        ours, points = answers(scores, old, contrast, "two-sided")
        found[OURS].append(ours.verdict == "inflated")
        found[IN_POINTS].append(points.verdict == "inflated")
    if seen == 0.0:
        return {method: of_claims(each) for method, each in found.items()}
    return {
        MISSED: of_claims(~np.array(found[OURS])),
        MISSED_IN_POINTS: of_claims(~np.array(found[IN_POINTS])),
    }


def _rasch_cells() -> list[tuple[Case, partial[dict[str, Tally]]]]:
    cells: list[tuple[Case, partial[dict[str, Tally]]]] = []
    for seen in (0.0, 1.0):
        for references in (5, 10):
            for levels in ABILITIES:
                for easier in (EASIER,) if seen == 0.0 or levels[1] != STRONG else (EASIER, 0.0):
                    name = (
                        f"{references} references at {100 * levels[0]:.0f}%, suspect at {100 * levels[1]:.0f}%, "
                        f"public items easier by {easier:g} "
                        f"logit{'' if easier == 1.0 else 's'}"
                    )
                    group = "clean, abilities unlike" if seen == 0.0 else "contaminated by a logit"
                    design = {"n_items": 2 * HALF, "n_references": references}
                    work = partial(rasch, references=references, levels=levels, seen=seen, easier=easier)
                    cells.append(
                        (Case(name=f"{name}{', contaminated' if seen else ''}", group=group, design=design), work)
                    )
    return cells


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


CELLS = [*_cells(), *_rasch_cells()]


UNLIKE = tuple(case.name for case, _ in CELLS if case.group == "clean, abilities unlike")
UNDECLARED = tuple(case.name for case, _ in CELLS if "%" not in case.name)
# With few references at 92% or a suspect of whose public items nearly all are right anyway, it is found less often.
HARD = ("5 references at 92%", f"at {100 * STRONG:.0f}%, public items easier by 1 ")
TOLD = tuple(
    case.name
    for case, _ in CELLS
    if case.group == "contaminated by a logit" and not any(words in case.name for words in HARD)
)


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
        "each model (SD 0, .05, .15). A model is called inflated where it gains more from old items than 3, 5 or 10 clean "
        "models do, one-sided at 5%. Then 500 of each by the Rasch model, public ones easier by a logit for every model, and the "
        "suspect much better or worse than its references; two-sided at 5%, clean or itself better by one more logit."
    ),
    measure="errors",
    nominal=0.05,
    methods={
        OURS: "ours",
        MISSED: "ours",
        IN_POINTS: "beside",
        MISSED_IN_POINTS: "beside",
        BY_ITEMS: "beside",
        ALONE: "elsewhere",
    },
    cases=[case for case, _ in CELLS],
    tasks=tasks,
    promises=[
        Promise(text="A clean model called contaminated", method=OURS, cases=UNDECLARED, high=0.065),
        Promise(text="A clean model of another ability called contaminated", method=OURS, cases=UNLIKE, high=0.06),
        Promise(text="A model contaminated by a logit not found", method=MISSED, cases=TOLD, high=0.2),
    ],
)
