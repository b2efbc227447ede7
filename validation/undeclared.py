"""Clusters that nobody declared, though a column holds them: how often the first line claims a difference that is not there."""

from functools import partial
from typing import NamedTuple

import numpy as np

from evalstats.stats.clusters import undeclared_dependence
from validation.deciding import compared_undeclared, decided, metric
from validation.false_claims import FAVOUR, Drawn, clustered
from validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, simulated

NAME = "undeclared-clusters"
REPLICATES, PART = 2_000, 50
COMPARED = 1  # of every part, so many data sets go through `compare` itself
GAINED = 10  # of every part, so many are looked at with a difference too
BINARY = metric("binary")
FIRST_LINE, DECLARED = "evalstats: first line, unqualified", "evalstats: cluster declared"
ITEMS = "verdict on items alone"
FLAGGED, TELLING, TELLING_DECLARED, AGREED = (
    "groups found",
    "difference claimed",
    "difference claimed, declared",
    "same",
)
SHAPES = ((8, 12), (12, 10), (20, 8), (40, 5), (60, 5))  # clusters, and items in each
GAIN = 0.5  # share of the candidate's wrong answers that come right where there is a difference


class FirstLine(NamedTuple):
    """What is claimed on items alone, with the groups as clusters, and on the first line without a qualifier."""

    alone: bool
    declared: bool
    unqualified: bool
    found: bool


def first_line(drawn: Drawn) -> FirstLine:
    """Decide as `compare` does where a column holds the groups: a claim that the groups undo is qualified."""
    items = drawn.scores(clustered=False)
    alone, declared = decided(items, BINARY).claims, decided(drawn.scores(), BINARY).claims
    rows = undeclared_dependence(items.differences, {"chapter": drawn.clusters})
    found = any(row.flag == "warn" for row in rows)
    return FirstLine(alone, declared, alone and (declared or not found), found)


def better(drawn: Drawn, rng: np.random.Generator) -> Drawn:
    """Let some of the candidate's wrong answers come right."""
    lucky = (drawn.candidate == 0) & (rng.random(drawn.candidate.shape) < GAIN)
    return Drawn(baseline=drawn.baseline, candidate=np.where(lucky, 1.0, drawn.candidate), clusters=drawn.clusters)


def replicate(rng: np.random.Generator, count: int, *, sizes: tuple[int, ...], favour: float) -> dict[str, Tally]:
    """Tally the claims on `count` data sets without a difference, and on a part of them with one."""
    drawn = [clustered(rng, sizes=sizes, trials=1, favour=favour) for _ in range(count)]
    null, gained = (
        [first_line(each) for each in side] for side in (drawn, [better(each, rng) for each in drawn[:GAINED]])
    )
    same = [
        compared_undeclared((one.baseline, one.candidate), BINARY, one.clusters) == found.unqualified
        for one, found in zip(drawn[:COMPARED], null, strict=False)
    ]
    return {
        FIRST_LINE: of_claims([each.unqualified for each in null]),
        DECLARED: of_claims([each.declared for each in null]),
        ITEMS: of_claims([each.alone for each in null]),
        FLAGGED: of_claims([each.found for each in null]),
        TELLING: of_claims([each.unqualified for each in gained]),
        TELLING_DECLARED: of_claims([each.declared for each in gained]),
        AGREED: of_claims(same),
    }


def _name(clusters: int, items: int, favour: float) -> str:
    return f"{clusters} groups of {items} items{'' if favour else ', independent'}"


WORLDS = tuple((n, k, favour) for favour in (FAVOUR, 0.0) for n, k in SHAPES)
GROUPED = tuple(_name(*world) for world in WORLDS if world[2])
INDEPENDENT = tuple(_name(*world) for world in WORLDS if not world[2])


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for n, k, favour in WORLDS
        for task in simulated(
            NAME,
            _name(n, k, favour),
            partial(replicate, sizes=(k,) * n, favour=favour),
            replicates=REPLICATES,
            part=PART,
            share=share,
        )
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say how often the groups are found, what a real difference loses, and whether `compare` decides the same."""

    def percent(method: str, cases: tuple[str, ...]) -> str:
        rates = [t.errors / t.total for (case, name), t in tallies.items() if name == method and case in cases]
        return f"{100 * min(rates):.0f}% to {100 * max(rates):.0f}%" if rates else "none"

    agreed = [tally for (_, method), tally in tallies.items() if method == AGREED]
    same, total = round(sum(t.errors for t in agreed)), round(sum(t.total for t in agreed))
    found = (
        f"Groups that are there are found in {percent(FLAGGED, GROUPED)} of the tables, groups that share nothing are suspected "
        f"in {percent(FLAGGED, INDEPENDENT)}."
    )
    telling = (
        f"Where half of the candidate's wrong answers come right, an unqualified claim is made in {percent(TELLING, GROUPED)} "
        f"with groups that matter ({percent(TELLING_DECLARED, GROUPED)} with the cluster declared), in "
        f"{percent(TELLING, INDEPENDENT)} with groups that share nothing."
    )
    return [
        found,
        telling,
        f"On {total:,} of the data sets compare() itself was run on a table; its first line was the same on {same:,}.",
    ]


QUESTION = Question(
    name=NAME,
    question="How often is a difference claimed where a column holds clusters that nobody declared?",
    design=(
        "Two models of equal skill. Every group favours one of the two by a random amount (normal, sd 1.15 on the logit scale): "
        "over all groups that could have been drawn there is no difference. A column names the groups and nobody declares it. "
        "A claim counts where the first line says better or worse and does not say that it is not established for other groups."
    ),
    measure="false claims",
    nominal=0.05,
    methods={FIRST_LINE: "ours", DECLARED: "beside", ITEMS: "elsewhere"},
    cases=[
        Case(
            name=_name(n, k, favour),
            group="groups that matter" if favour else "groups that share nothing",
            design={"n_clusters": n, "n_items": n * k, "favour": favour},
        )
        for n, k, favour in WORLDS
    ],
    tasks=tasks,
    promises=[
        Promise(text="first line, groups that matter", method=FIRST_LINE, cases=GROUPED, high=0.12),
        Promise(text="first line, groups that share nothing", method=FIRST_LINE, cases=INDEPENDENT, high=0.065),
    ],
    notes=notes,
)
