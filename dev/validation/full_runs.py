"""Two models with several runs each: how often the interval of their difference misses it, and how wide it is for that."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_intervals, simulated
from evalstats.analysis.compare.compare import compare
from evalstats.loaders.frames import from_frame
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.paired.means import augmented_t
from evalstats.stats.runs import RunSd, run_effects, run_spread, with_runs

NAME = "full-runs"
REPLICATES, PART = 4_000, 500
PRIOR = RunSd(value=0.01)
# Difficulty of items, in logits.
ITEM_SD = 1.0
COUNTED, MEANS = "runs counted", "augmented t on item means"
AGREED, EPOCHS = "compare agrees", "epochs as item means"
EDGES = np.geomspace(1.0, 12.0, 240)
# What methods.md lists, three runs a side.
LISTED = ((100, 0.0), (1000, 0.0), (3000, 0.0), (300, 0.1), (1000, 0.1), (3000, 0.1), (1000, 0.05))
MISSING = 1 / 3


def draw(
    rng: np.random.Generator,
    *,
    items: int,
    runs: int,
    run_sd: float,
    shared_sd: float = 0.0,
    gain: float = 0.0,
    own_sd: float = 0.0,
    missing: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw right or wrong, shape (items, runs), of two models, NaN for what is missing; sds and the gain are logits."""
    level = ITEM_SD * rng.standard_normal((items, 1))
    together = shared_sd * rng.standard_normal(runs)
    sides = []
    for plus in (0.0, gain):
        logit = level + own_sd * rng.standard_normal((items, 1)) + together + run_sd * rng.standard_normal(runs) + plus
        right = (rng.random((items, runs)) < 1 / (1 + np.exp(-logit))) * 1.0
        if missing:
            right[rng.random(right.shape) < missing] = np.nan
        sides.append(right)
    return sides[0], sides[1]


def intervals(a: np.ndarray, b: np.ndarray, *, shared: bool = False) -> dict[str, IntervalEstimate]:
    """Return every method's interval of one data set; `shared`: the k-th run of both sides is the same judge."""
    if shared:
        both = np.isnan(a) | np.isnan(b)
        a, b = np.where(both, np.nan, a), np.where(both, np.nan, b)
    there = ~(np.isnan(a).all(axis=1) | np.isnan(b).all(axis=1))
    a, b = a[there], b[there]
    plain = augmented_t(np.nanmean(b, axis=1) - np.nanmean(a, axis=1))
    sides = [run_effects(b - a, difference=True)] if shared else [run_effects(a), run_effects(b)]
    return {COUNTED: with_runs(plain, run_spread(*sides, prior=PRIOR), low=-1.0, high=1.0), MEANS: plain}


def table(a: np.ndarray, b: np.ndarray, called: str, labels: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a row for every item and run (or epoch) of two models."""
    items, runs = a.shape
    names = np.arange(runs) if labels is None else np.array(labels)
    frame = pl.DataFrame(
        {
            "item": np.tile(np.repeat(np.arange(items), runs), 2),
            "model": np.repeat(["a", "b"], items * runs),
            called: np.tile(names, 2 * items),
            "score": np.concatenate([a.ravel(), b.ravel()]),
        }
    )
    return frame.filter(pl.col("score").is_not_nan())


def replicate(rng: np.random.Generator, count: int, *, shared: bool, **world: float) -> dict[str, Tally]:
    """Tally every method on `count` data sets of two models that do not differ; `compare` itself answers the first."""
    drawn = [draw(rng, **world) for _ in range(count)]
    found = [intervals(a, b, shared=shared) for a, b in drawn]
    wider = np.array([_width(each[COUNTED]) / _width(each[MEANS]) for each in found])
    a, b = drawn[0]
    called = "judge" if shared else "run"
    names = [f"judge {k}" for k in range(a.shape[1])] if shared else None
    asked = {"item": "item", "model": "model", "score": "score"}
    runs = compare(from_frame(table(a, b, called, names), trial=called, **asked), "a", "b", runs="sample")
    alike = np.isclose(runs.conf_low or np.nan, found[0][COUNTED].conf_low or 0.0, rtol=1e-6)
    epochs = compare(from_frame(table(a, b, "epoch"), trial="epoch", **asked), "a", "b")
    plain = intervals(a, b)[MEANS]
    same = np.isclose(epochs.conf_low or np.nan, plain.conf_low or 0.0, rtol=1e-9)
    below = {f"at most {edge:.4f} times": Tally(float((wider <= edge).sum()), float(count)) for edge in EDGES}
    return {
        **{method: of_intervals([each[method] for each in found], 0.0) for method in (COUNTED, MEANS)},
        AGREED: Tally(float(alike), 1.0),
        EPOCHS: Tally(float(same), 1.0),
        **below,
    }


def _width(interval: IntervalEstimate) -> float:
    return (interval.conf_high or 0.0) - (interval.conf_low or 0.0)


def _cases() -> list[tuple[Case, dict]]:
    made = []
    made += [
        ({"items": items, "runs": 3, "run_sd": run_sd, "missing": missing}, False)
        for items, run_sd in LISTED
        for missing in (0.0, MISSING)
    ]
    made += [
        ({"items": 1000, "runs": runs, "run_sd": run_sd, "missing": 0.0}, False)
        for runs in (2, 5, 10)
        for run_sd in (0.0, 0.1)
    ]
    made += [
        ({"items": 1000, "runs": 6, "run_sd": run_sd, "shared_sd": 0.5, "missing": 0.0}, True) for run_sd in (0.0, 0.1)
    ]
    return [(_case(world, shared=shared), {**world, "shared": shared}) for world, shared in made]


def _case(world: dict[str, float], *, shared: bool) -> Case:
    what = "judges that both share" if shared else "runs"
    gaps = ", a third missing" if world["missing"] else ""
    name = f"{world['items']} items, {world['runs']} {what} of sd {world['run_sd']:g}{gaps}"
    group = "shared judges" if shared else f"{world['runs']} runs a side{gaps}"
    return Case(name=name, group=group, design={f"n_{key}": value for key, value in world.items()})


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for case, world in _cases()
        for task in simulated(
            NAME, case.name, partial(replicate, **world), replicates=REPLICATES, part=PART, share=share
        )
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say how wide the interval is for counting runs, and that `compare` gives the same."""
    told = [
        "Coverage by item means, then with runs counted, whose width is so many times that of item means (median, 90%)."
    ]
    for case, _ in _cases():
        if (case.name, COUNTED) in tallies:
            held = [1 - tallies[case.name, name].errors / tallies[case.name, name].total for name in (MEANS, COUNTED)]
            middle, most = (_quantile(tallies, case.name, share) for share in (0.5, 0.9))
            told.append(f"{case.name}: {held[0]:.3f}, {held[1]:.3f}, {middle:.2f} and {most:.2f} times as wide.")
    for method, words in (
        (AGREED, "compare() gave the same interval"),
        (EPOCHS, "as epochs of one run that of item means"),
    ):
        found = [tally for (_, name), tally in tallies.items() if name == method]
        told.append(f"On {round(sum(t.errors for t in found))} of {round(sum(t.total for t in found))} tables {words}.")
    return told


def _quantile(tallies: Tallies, case: str, share: float) -> float:
    below = [tallies[case, f"at most {edge:.4f} times"] for edge in EDGES]
    reached = [edge for edge, tally in zip(EDGES, below, strict=True) if tally.errors >= share * tally.total]
    return float(reached[0]) if reached else float("inf")


def _named(*, run_sd: bool, shared: bool = False) -> tuple[str, ...]:
    return tuple(case.name for case, w in _cases() if (w["run_sd"] > 0) == run_sd and w["shared"] == shared)


QUESTION = Question(
    name=NAME,
    question="How often does the interval of a difference miss the truth, when whole runs move all items alike?",
    design=(
        "Two models that do not differ answer the same items (difficulty sd 1 logit) in 2 to 10 runs; every run shifts the logit "
        "of all its items by an amount of its own. In some cases a third of all answers is missing; in the last both sides "
        "share six judges, who shift the logit of both with sd 0.5, and of each side with the sd named."
    ),
    measure="misses",
    nominal=0.05,
    methods={COUNTED: "ours", MEANS: "elsewhere"},
    cases=[case for case, _ in _cases()],
    tasks=tasks,
    promises=[
        Promise(text="Runs counted, runs that do not differ", method=COUNTED, cases=_named(run_sd=False), high=0.05),
        Promise(text="Runs counted, runs that differ", method=COUNTED, cases=_named(run_sd=True), high=0.1),
        Promise(
            text="Runs counted, six judges that both share",
            method=COUNTED,
            cases=_named(run_sd=True, shared=True),
            high=0.1,
        ),
    ],
    notes=notes,
)
