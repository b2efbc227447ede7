"""Failures of one side that are missing: how often `compare` claims a difference that is not there."""

from functools import partial

import numpy as np
import polars as pl

from dev.validation.deciding import compared_missing, decided, metric
from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, simulated
from evalstats.analysis.compare.design import PairedDesign
from evalstats.analysis.compare.difference import PairedScores
from evalstats.analysis.compare.verdict import judged, missing_account
from evalstats.analysis.design.runs import TrialDesign
from evalstats.schema.data import EvalData
from evalstats.table.score_table import MOST_MISSING, ScoreTable

NAME = "missing-failures"
REPLICATES, PART = 2_000, 100
COMPARED = 1  # of every part, so many data sets go through `compare` itself
BINARY = metric("binary")
FIRST_LINE, CLAIMED = "evalstats: verdict, unqualified", "evalstats: any claim"
IGNORED = "items that both have"
TELLING, TELLING_IGNORED, AGREED = "difference claimed", "difference claimed, declared ignorable", "same"
# Items, share of the candidate's failures that are missing, share of all of its scores that are missing by chance.
WORLDS = ((300, 0.3, 0.0), (1000, 0.3, 0.0), (300, 0.1, 0.0), (1000, 0.1, 0.0), (300, 0.0, 0.1), (300, 0.0, 0.03))
GAIN = 0.5


def draw(
    rng: np.random.Generator, *, items: int, failures: float, chance: float, gain: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both sides' scores, and which of the candidate's are missing."""
    rate = rng.beta(2.0, 1.0, items)
    baseline, candidate = ((rng.random(items) < rate) * 1.0 for _ in range(2))
    candidate = np.where((candidate == 0) & (rng.random(items) < gain), 1.0, candidate)
    lost = ((candidate == 0) & (rng.random(items) < failures)) | (rng.random(items) < chance)
    return baseline, candidate, lost


def decision(baseline: np.ndarray, candidate: np.ndarray, lost: np.ndarray) -> tuple[bool, bool, bool]:
    """Return what is claimed on the items that both have, what is claimed, and what is claimed without a qualifier."""
    kept = ~lost
    scores = PairedScores(metric=BINARY, baseline=baseline[kept], candidate=candidate[kept], n_trials=1)
    found = decided(scores)
    if not found.claims:
        return False, False, False
    values = np.column_stack([baseline, np.where(lost, np.nan, candidate)])
    table = ScoreTable.of_values(values, pl.DataFrame({"item": np.arange(len(lost)).astype(str)}), BINARY)
    design = PairedDesign(
        data=EvalData(), table=table, paired=table.take(kept), trials=TrialDesign(role="draws"), conf_level=0.95
    )
    upward = (found.low or 0.0) > 0
    word = "better" if upward else "worse"
    ruled = judged(missing_account(design), word, "", estimate=1.0 if upward else -1.0, names=("a", "b"))
    claimed = ruled.verdict != "inconclusive"
    return True, claimed, claimed and not ruled.qualifiers


def replicate(rng: np.random.Generator, count: int, *, items: int, failures: float, chance: float) -> dict[str, Tally]:
    """Tally the claims on `count` data sets without a difference, and on as many with one."""
    drawn = [draw(rng, items=items, failures=failures, chance=chance) for _ in range(count)]
    null = np.array([decision(*each) for each in drawn])
    gained = [draw(rng, items=items, failures=failures, chance=chance, gain=GAIN) for _ in range(count)]
    real = np.array([decision(*each) for each in gained])
    same = [
        compared_missing(*one, BINARY) == bool(claimed)
        for one, (_, claimed, _) in zip(drawn[:COMPARED], null.tolist(), strict=False)
    ]
    return {
        IGNORED: of_claims(null[:, 0]),
        CLAIMED: of_claims(null[:, 1]),
        FIRST_LINE: of_claims(null[:, 2]),
        TELLING: of_claims(real[:, 1]),
        TELLING_IGNORED: of_claims(real[:, 0]),
        AGREED: of_claims(same),
    }


def _name(items: int, failures: float, chance: float) -> str:
    what = f"{100 * failures:g}% of one side's failures" if failures else f"{100 * chance:g}% of one side, by chance"
    return f"{items} items, {what} missing"


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for items, failures, chance in WORLDS
        for task in simulated(
            NAME,
            _name(items, failures, chance),
            partial(replicate, items=items, failures=failures, chance=chance),
            replicates=REPLICATES,
            part=PART,
            share=share,
        )
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say what the caution costs where there is a difference, and whether `compare` decides the same."""
    said = [
        f"{case}: where half of the candidate's failures come right, the difference is claimed in "
        f"{100 * tally.errors / tally.total:.0f}%, with --missing ignorable in "
        f"{100 * tallies[case, TELLING_IGNORED].errors / tallies[case, TELLING_IGNORED].total:.0f}%."
        for (case, method), tally in tallies.items()
        if method == TELLING
    ]
    agreed = [tally for (_, method), tally in tallies.items() if method == AGREED]
    same, total = round(sum(t.errors for t in agreed)), round(sum(t.total for t in agreed))
    return [
        *said,
        f"On {total:,} of the data sets compare() itself was run on a table; it claimed the same on {same:,}.",
    ]


CASES = tuple(_name(*world) for world in WORLDS)
QUESTION = Question(
    name=NAME,
    question="How often is a difference claimed where failures of one side are missing?",
    design=(
        "Two models of equal skill answer the same items, which differ in difficulty (success Beta(2, 1)). A share of the "
        "candidate's failures is missing, or a share of all of its scores by chance. Above "
        f"{100 * MOST_MISSING:g}% missing, what the missing scores could undo is not claimed; below, the claim is qualified."
    ),
    measure="false claims",
    nominal=0.05,
    methods={FIRST_LINE: "ours", CLAIMED: "ours", IGNORED: "elsewhere"},
    cases=[
        Case(
            name=_name(items, failures, chance),
            group="failures are missing" if failures else "scores are missing by chance",
            design={"n_items": items, "failures_missing": failures, "missing": chance},
        )
        for items, failures, chance in WORLDS
    ],
    tasks=tasks,
    promises=[Promise(text="verdict without a qualifier", method=FIRST_LINE, cases=CASES, high=0.05)],
    notes=notes,
)
