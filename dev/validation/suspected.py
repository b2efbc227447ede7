"""Columns that nobody mapped, on items that are independent: how often one of them is taken for a cluster."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import polars as pl

from dev.validation.deciding import SIDES
from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, simulated
from evalstats.analysis.design.clusters import candidate_groups, dependence
from evalstats.analysis.design.metric import Metric
from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData
from evalstats.stats.clusters import undeclared_dependence
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System

NAME = "suspected-groups"
REPLICATES, PART = 2_000, 50
SYSTEMS = ("a", "b", "c")
OURS, EVERY = "evalstats: columns that describe items", "every column, where it differs a level of its own"
LETTERS = np.array(list("ABCD"))
FAVOUR = 1.15  # sd, on the logit scale, of how much a true group favours one system

Column = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]
# From scores, shape (systems, items), and the key of every item: the values of a column.
KINDS: Mapping[str, tuple[str, Column]] = {
    "a judge's decision": ("approved", lambda rng, s, _: np.where(rng.random(s.shape) < 0.1, 1 - s, s) == 1),
    "the option that was picked": (
        "picked",
        lambda rng, s, key: LETTERS[np.where(s == 1, key, (key + rng.integers(1, 4, s.shape)) % 4)],
    ),
    "a second metric": ("quality", lambda rng, s, _: 2 * s + rng.integers(0, 3, s.shape)),
    "the kind of failure": (
        "failure",
        lambda rng, s, _: np.where(s == 1, None, np.array(["timeout", "wrong"])[rng.integers(0, 2, s.shape)]),
    ),
    "why it stopped": ("stopped", lambda rng, s, _: np.where(rng.random(s.shape) < 0.1, "length", "stop")),
    "the outcome of the pair": ("which", lambda _r, s, _: np.stack([s[0] + 2 * s[1]] * len(s))),
    "difficulty made from the scores": ("level", lambda _r, s, _: np.stack([s.sum(axis=0)] * len(s))),
    "the key of multiple choice": ("right_option", lambda _r, s, key: np.stack([LETTERS[key]] * len(s))),
    "an answer that is a number": ("gold", lambda _r, s, key: np.stack([key * 7] * len(s))),
    "a rating of the item": ("human_rating", lambda _r, s, key: np.stack([key + 1] * len(s))),
    "a chapter that shares nothing": ("chapter", lambda _r, s, _: np.stack([np.arange(s.shape[1]) // 6] * len(s))),
}
TRUE = "a chapter that matters, beside a judge's decision"


def scores(rng: np.random.Generator, *, items: int, groups: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return right-or-wrong scores of three systems, shape (systems, items), and the key of every item.

    The second is better, and the first has a liking for option A; groups of six favour one system by chance.
    """
    key = rng.integers(0, 4, items)
    base = rng.normal(0.5, 1.0, items) + np.array([[0.0], [1.0], [0.0]]) + np.array([[1.5], [0.0], [0.0]]) * (key == 0)
    lean = np.repeat(rng.normal(0.0, FAVOUR / 2, (len(SYSTEMS), items // 6)), 6, axis=1) if groups else 0.0
    return (rng.random((len(SYSTEMS), items)) < 1 / (1 + np.exp(-base - lean))).astype(int), key


def table(values: np.ndarray, columns: Mapping[str, np.ndarray]) -> EvalData:
    """Return a table in long form."""
    n = values.shape[1]
    parts = [
        pl.DataFrame(
            {
                "item": [f"q{i}" for i in range(n)],
                "model": [name] * n,
                "score": values[place].tolist(),
                **{column: each[place].tolist() for column, each in columns.items()},
            }
        )
        for place, name in enumerate(SYSTEMS)
    ]
    return from_frame(pl.concat(parts), item="item", model="model", score="score")


def suspected(data: EvalData, columns: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """Return the columns that are flagged by us, and those that are where every column counts."""
    metric = data.outcomes["metric"][0], data.outcomes["benchmark"][0]
    of = Metric(benchmark=metric[1], name=metric[0], kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="")
    both = [System(name=name, rows=data.outcomes.filter(model=name), runs=()) for name in SIDES]
    pairs = ScoreTable.of(both, of, factors=columns)
    pairs = pairs.take(pairs.paired())
    kept = candidate_groups(data, of, columns, contrast="model").names
    ours = dependence(pairs, kept, (), names={}, seed=0)
    d = pairs.column(1) - pairs.column(0)
    every = undeclared_dependence(d, {name: pairs.codes(name) for name in columns})
    return ({row.factor for row in ours if row.flag == "warn"}, {row.factor for row in every if row.flag == "warn"})


def replicate(rng: np.random.Generator, count: int, *, kind: str) -> dict[str, Tally]:
    """Tally the tables in which the column is flagged; of the true groups, those in which they are."""
    name, make = KINDS["a judge's decision" if kind == TRUE else kind]
    found: list[tuple[bool, bool]] = []
    for _ in range(count):
        values, key = scores(rng, items=120, groups=kind == TRUE)
        columns = {name: make(rng, values, key)}
        if kind == TRUE:
            columns["chapter"] = np.stack([np.arange(120) // 6] * len(values))
        looked_for = "chapter" if kind == TRUE else name
        ours, every = suspected(table(values, columns), tuple(columns))
        found.append((looked_for in ours, looked_for in every))
    return {OURS: of_claims([own for own, _ in found]), EVERY: of_claims([each for _, each in found])}


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for kind in (*KINDS, TRUE)
        for task in simulated(NAME, kind, partial(replicate, kind=kind), replicates=REPLICATES, part=PART, share=share)
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say how often groups that are there are found."""
    if (TRUE, OURS) not in tallies:
        return []
    ours, every = (tallies[TRUE, method] for method in (OURS, EVERY))
    found, before = (f"{100 * each.errors / each.total:.0f}%" for each in (ours, every))
    told = (
        f"A chapter that favours one system (20 of 6 items, sd {FAVOUR} of the logit), beside a judge's decision, is found in "
        f"{found} of the tables; where every column counts, in {before}."
    )
    return [told]


QUESTION = Question(
    name=NAME,
    question="How often is a column of independent items taken for a cluster?",
    design=(
        "Three systems answer 120 independent items; the second is better, the first likes option A. One further column is in "
        "the table that nobody mapped. Counted are tables in which it is flagged as a group of items."
    ),
    measure="false claims",
    nominal=0.05,
    methods={OURS: "ours", EVERY: "elsewhere"},
    cases=[Case(name=kind, group="independent items", design={"n_items": 120}) for kind in KINDS],
    tasks=tasks,
    promises=[Promise(text="a column is taken for a cluster", method=OURS, cases=tuple(KINDS), high=0.07)],
    notes=notes,
)
