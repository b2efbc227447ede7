"""What items share that nobody declared, though a column holds it: how often `compare` claims a difference that is not there."""

from collections.abc import Callable
from functools import partial

import numpy as np

from dev.validation.deciding import LEVEL, compared_undeclared, decided, metric
from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, simulated
from evalstats.analysis.compare.difference import PairedScores, headline_interval
from evalstats.stats.clusters import undeclared_dependence

NAME = "undeclared-clusters"
REPLICATES, PART = 2_000, 50
VARYING = 10  # of every part, so many tables are asked whether the difference varies
COPIES = 300  # tables of copies, on nearly all of which items alone and clusters disagree
MANY, CLEAR = 20, 0.005
BINARY = metric("binary")
RULE, STRICT, ALWAYS, ITEMS = (
    "evalstats: verdict",
    "clustered where it is clear (p to .05, deff from 1.5)",
    "clustered always",
    "items as independent",
)
LOST = "claims of independent items that are lost"
FOUND = "a finding: the difference varies"
REAL = "a difference"
SHAPES = ((8, 12), (20, 10), (30, 6), (60, 5))  # chapters, and items in each
SPREAD, EFFECT = 0.8, 0.5  # logits: sd of the chapters' differences, and a difference that is there
# Eight categories that differ, about a mean of 0 over those that there are.
UNLIKE = np.array([-1.2, -0.9, -0.6, -0.3, 0.3, 0.6, 0.9, 1.2])
Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray, np.ndarray]]


def chapters(
    rng: np.random.Generator, *, n: int, items: int, spread: float, effect: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both sides' scores, right or wrong, and the chapter of every item.

    Each chapter moves the candidate by a random amount on the logit scale, none on average over the chapters there could be.
    """
    return _sides(rng, np.repeat(np.arange(n), items), rng.normal(effect, spread, n))


def categories(rng: np.random.Generator, *, moves: np.ndarray, items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both sides' scores and the category of every item; what each category does is fixed."""
    return _sides(rng, np.repeat(np.arange(len(moves)), items), moves)


def copies(rng: np.random.Generator, *, n: int, items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return categories whose items are copies of one test, on which either side is right or wrong throughout."""
    first, second, _ = _sides(rng, np.arange(n), np.zeros(n))
    return np.repeat(first, items), np.repeat(second, items), np.repeat(np.arange(n), items)


def _sides(rng: np.random.Generator, group: np.ndarray, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    base = rng.normal(0.0, 1.0, group.size)
    first, second = (rng.random(group.size) < 1.0 / (1.0 + np.exp(-x)) for x in (base, base + moves[group]))
    return first * 1.0, second * 1.0, group


def replicate(rng: np.random.Generator, count: int, *, draw: Draw, column: str, real: bool) -> dict[str, Tally]:
    """Tally the claims of all rules on the same tables, what the rule loses of those of independent items, and the findings.

    Where items alone and clusters say the same, every rule does; where they do not, `compare` is asked.
    """
    claims: dict[str, list[bool]] = {name: [] for name in (RULE, STRICT, ALWAYS, ITEMS, LOST, FOUND)}
    for place in range(count):
        baseline, candidate, groups = draw(rng)
        alone, clustered = claimed(baseline, candidate, ()), claimed(baseline, candidate, (groups,))
        rule = strict = alone
        if alone != clustered:
            answer = compared_undeclared((baseline[:, None], candidate[:, None]), BINARY, groups, column=column)
            rule = answer.verdict in ("better", "worse")
            strict = clustered if any(row.flag == "warn" for row in answer.dependence) else alone
        claims[RULE].append(rule)
        claims[STRICT].append(strict)
        claims[ALWAYS].append(clustered)
        claims[ITEMS].append(alone)
        claims[LOST].append(alone and not rule)
        if place < VARYING and column == "category":
            rows = undeclared_dependence(candidate - baseline, {column: groups})
            claims[FOUND].append(any(row.p_adjusted <= 0.05 for row in rows))
    tallies = {name: of_claims(made) for name, made in claims.items() if made}
    lost = tallies.pop(LOST)
    return {f"{name}, {REAL}": tally for name, tally in tallies.items()} | {LOST: lost} if real else tallies


def claimed(baseline: np.ndarray, candidate: np.ndarray, clusters: tuple[np.ndarray, ...]) -> bool:
    """Whether a direction is claimed: checks are looked at only where the interval excludes 0."""
    scores = PairedScores(metric=BINARY, baseline=baseline, candidate=candidate, n_trials=1, clusters=clusters)
    found = headline_interval(scores, conf_level=LEVEL, method="auto")
    if found.conf_low is None or found.conf_high is None or found.conf_low <= 0.0 <= found.conf_high:
        return False
    # With many clusters CR2 and their sign-flip disagree near the limit alone.
    clear = len(clusters) > 0 and (found.n_clusters or 0) >= MANY and (found.p_value or 1.0) < CLEAR
    return clear or decided(scores).claims


MATTER, POWER = "chapters that matter", "a difference, chapters that share nothing"
PARTITION = "8 categories of 12, named for what they hold"
SAME = f"{PARTITION}: all or nothing in each"


def _name(n: int, items: int, group: str) -> str:
    return f"{n} x {items}, {group}"


_CHAPTERS = ((MATTER, SPREAD, 0.0), (POWER, 0.0, EFFECT))
# Name, group, how to draw, the column's name, numbers of the design.
WORLDS: tuple[tuple[str, str, Draw, str, dict[str, float]], ...] = (
    *(
        (
            _name(n, k, group),
            group,
            partial(chapters, n=n, items=k, spread=spread, effect=effect),
            "chapter",
            {"n_clusters": n, "n_items": n * k, "spread": spread, "effect": effect},
        )
        for group, spread, effect in _CHAPTERS
        for n, k in SHAPES
    ),
    *(
        (f"{PARTITION}: {words}", PARTITION, draw, "category", {"n_clusters": 8, "n_items": 96})
        for words, draw in (
            ("alike", partial(categories, moves=np.zeros(8), items=12)),
            ("unlike, no difference on average", partial(categories, moves=UNLIKE, items=12)),
            ("all or nothing in each", partial(copies, n=8, items=12)),
        )
    ),
)


def _cases(group: str, least: int = 0) -> tuple[str, ...]:
    return tuple(name for name, of, _, _, design in WORLDS if of == group and design["n_clusters"] >= least)


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for name, group, draw, column, _ in WORLDS
        for task in simulated(
            NAME,
            name,
            partial(replicate, draw=draw, column=column, real=group == POWER),
            replicates=COPIES if name == SAME else REPLICATES,
            part=PART,
            share=share,
        )
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say what the rules find of a difference where items are independent, and how often one that varies is a finding."""

    def rate(case: str, method: str) -> str:
        tally = tallies.get((case, method))
        return "none" if tally is None else f"{100 * tally.errors / tally.total:.1f}%"

    power = "; ".join(
        f"{case.partition(',')[0]} "
        + ", ".join(rate(case, f"{name}, {REAL}") for name in (ITEMS, STRICT, ALWAYS, RULE))
        for case in _cases(POWER)
    )
    alike, unlike, _ = _cases(PARTITION)
    found = (
        f"A difference of {EFFECT:g} logits on items that share nothing is claimed, as independent items, clustered where it is "
        f"clear, clustered always and by evalstats, in: {power}."
    )
    varies = (
        f"Categories are said to differ in {rate(alike, FOUND)} of the tables where they are alike, in "
        f"{rate(unlike, FOUND)} where they are not."
    )
    return [found, varies]


QUESTION = Question(
    name=NAME,
    question="How often is a difference claimed where a column holds what items share, and nobody declared it?",
    design=(
        "Two models of equal skill, right or wrong on items of unequal difficulty (normal, sd 1 on the logit scale). Every "
        "chapter moves one of them by a random amount (normal, sd 0.8): over all chapters that could have been drawn there is no "
        "difference. What categories do is fixed, and over the eight that there are it comes to nothing. "
        "A claim counts where `compare` says better or worse."
    ),
    measure="false claims",
    nominal=0.05,
    methods={RULE: "ours", LOST: "ours", STRICT: "beside", ALWAYS: "beside", ITEMS: "elsewhere"},
    cases=[Case(name=name, group=group, design=design) for name, group, _, _, design in WORLDS],
    tasks=tasks,
    promises=[
        Promise(text="8 chapters that matter", method=RULE, cases=_cases(MATTER)[:1], high=0.075, up_to_chance=True),
        Promise(
            text="20 chapters or more that matter", method=RULE, cases=_cases(MATTER, 20), high=0.065, up_to_chance=True
        ),
        Promise(text="power lost on independent items", method=LOST, cases=_cases(POWER), high=0.05, up_to_chance=True),
        Promise(
            text="categories, alike or not", method=RULE, cases=_cases(PARTITION)[:2], high=0.05, up_to_chance=True
        ),
    ],
    notes=notes,
)
