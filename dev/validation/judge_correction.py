"""Scores corrected for a judge's errors by people's labels: how often their intervals miss the truth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from dev.validation.mean_score import rates
from dev.validation.study import (
    Case,
    Promise,
    Question,
    Tallies,
    Tally,
    Task,
    of_claims,
    of_ends,
    of_intervals,
    simulated,
)
from evalstats.analysis.judges.judges import judges
from evalstats.errors import CannotAnswerError, EvalStatsError
from evalstats.loaders.ratings import from_ratings
from evalstats.stats.estimate import IntervalEstimate, normal_quantile
from evalstats.stats.one_sample import mean_t
from evalstats.stats.raters.correction import PoweredMean, judge_errors, powered_mean, rogan_gladen

NAME = "judge-correction"
REPLICATES, PART = 4_000, 100
LABELS = (20, 50, 150)
JUDGED = 2_000

SCORE = "PPI++ of a score"
SHARE = "Rogan-Gladen, profile likelihood"
ALONE = "labels alone"
NORMAL = "PPI++, ± 1.96 standard errors"
DELTA = "Rogan-Gladen, ± 1.96 standard errors"
LEFT_OUT = "PPI++, clusters left out"
JUDGE = "the judge alone"
REFUSED = "no interval given"
CHOSEN = "about 100 labels, chosen with known chances"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What people would say of every item of one model, and what the judge says."""

    people: np.ndarray
    judge: np.ndarray
    labelled: np.ndarray
    bounds: tuple[float, float] | None = None
    chance: np.ndarray | None = None
    clusters: np.ndarray | None = None


Draw = Callable[[np.random.Generator], Drawn]


# --- worlds ---


def first(n_labels: int, n: int) -> np.ndarray:
    """Items come in no order, so the first are a random part."""
    return np.arange(n) < n_labels


def yes_no(rng: np.random.Generator, *, n_labels: int, share: float, hit: float, false_yes: float) -> Drawn:
    """Right or wrong; the judge says yes to `hit` of the right ones and `false_yes` of the wrong ones."""
    people = (rng.random(n_labels + JUDGED) < share) * 1.0
    judge = (rng.random(people.size) < np.where(people == 1, hit, false_yes)) * 1.0
    return Drawn(people=people, judge=judge, labelled=first(n_labels, people.size), bounds=(0.0, 1.0))


GRADES = np.arange(1.0, 11.0)
GRADE_SHARES = np.array([0.02, 0.03, 0.05, 0.05, 0.08, 0.1, 0.17, 0.25, 0.17, 0.08])


def grades(rng: np.random.Generator, *, n_labels: int) -> Drawn:
    """Grades from 1 to 10; the judge gives half a point more, with an SD of 1.5 about the people's grade."""
    people = rng.choice(GRADES, size=n_labels + JUDGED, p=GRADE_SHARES)
    return Drawn(people=people, judge=_graded(rng, people + 0.5), labelled=first(n_labels, people.size))


def _graded(rng: np.random.Generator, middle: np.ndarray) -> np.ndarray:
    return np.clip(np.round(middle + rng.normal(0, 1.5, middle.size)), 1, 10)


def clustered(rng: np.random.Generator, *, n_clusters: int) -> Drawn:
    """Clusters of 55 items with rates of their own (mean .6, ICC .2) and a judge who errs more in some; 5 have labels."""
    clusters = np.repeat(np.arange(n_clusters), 55)
    people = (rng.random(clusters.size) < rates(rng, 0.6, 0.2, n_clusters)[clusters]) * 1.0
    off = rates(rng, 0.15, 0.1, n_clusters)[clusters]
    judge = np.where(rng.random(people.size) < off, 1 - people, people)
    labelled = np.arange(clusters.size) % 55 < 5
    return Drawn(people=people, judge=judge, labelled=labelled, bounds=(0.0, 1.0), clusters=clusters)


def chosen(rng: np.random.Generator) -> Drawn:
    """1,000 items; one in ten of those with the judge's no is labelled, one in twenty with its yes."""
    people = (rng.random(1_000) < 0.6) * 1.0
    judge = (rng.random(1_000) < np.where(people == 1, 0.88, 0.25)) * 1.0
    chance = np.where(judge == 1, 0.05, 0.15)
    return Drawn(people=people, judge=judge, labelled=rng.random(1_000) < chance, bounds=(0.0, 1.0), chance=chance)


# --- intervals ---


def replicate(rng: np.random.Generator, count: int, *, draw: Draw, truth: float) -> dict[str, Tally]:
    """Tally every method on `count` data sets; a score of the first goes through `judges()` too."""
    kept: list[tuple[Drawn, PoweredMean]] = []
    refused: list[bool] = []
    for place in range(count):
        drawn = draw(rng)
        found = _powered(drawn)
        if place == 0:
            _same_as_judges(found.estimate if found else None, drawn)
        refused.append(found is None or found.estimate.conf_low is None)
        if found is not None and not refused[-1]:
            kept.append((drawn, found))
    tallies = {
        SCORE: of_intervals([found.estimate for _, found in kept], truth),
        ALONE: of_intervals([found.labels_only for _, found in kept], truth),
        JUDGE: of_intervals([mean_t(drawn.judge) for drawn, _ in kept], truth),
        REFUSED: of_claims(refused),
    }
    if kept[0][0].clusters is not None:
        flat = [_powered(drawn, clusters=False) for drawn, _ in kept]
        tallies[LEFT_OUT] = of_intervals([found.estimate for found in flat if found], truth)
    elif kept[0][0].chance is None:
        ends = np.array([_normal_ends(drawn, found) for drawn, found in kept])
        tallies[NORMAL] = of_ends(ends[:, 0], ends[:, 1], truth)
    return tallies


def _powered(drawn: Drawn, *, clusters: bool = True) -> PoweredMean | None:
    known = drawn.labelled
    codes = drawn.clusters if clusters else None
    try:
        return powered_mean(
            drawn.judge[~known],
            drawn.judge[known],
            drawn.people[known],
            probabilities=None if drawn.chance is None else drawn.chance[known],
            clusters=None if codes is None else (codes[~known], codes[known]),
            bounds=drawn.bounds,
        )
    except CannotAnswerError:
        return None


def _normal_ends(drawn: Drawn, found: PoweredMean) -> tuple[float, float]:
    """Return the interval of the paper: variances divided by n, the normal quantile, no end of the scale."""
    judge, labels = drawn.judge[drawn.labelled], drawn.people[drawn.labelled]
    rest = drawn.judge[~drawn.labelled]
    error = (found.tuning**2 * rest.var() / rest.size + (labels - found.tuning * judge).var() / labels.size) ** 0.5
    half = normal_quantile(0.95) * error
    return found.estimate.estimate - half, found.estimate.estimate + half


def replicate_share(
    rng: np.random.Generator, count: int, *, n_labels: int, share: float, hit: float, false_yes: float
) -> dict[str, Tally]:
    """Tally Rogan-Gladen on `count` data sets: labels of a random part, so how many of them are yes is chance too."""
    kept: list[tuple[Drawn, IntervalEstimate]] = []
    refused: list[bool] = []
    for _ in range(count):
        drawn = yes_no(rng, n_labels=n_labels, share=share, hit=hit, false_yes=false_yes)
        known, rest = drawn.labelled, drawn.judge[~drawn.labelled]
        try:
            found = rogan_gladen(int(rest.sum()), rest.size, judge_errors(drawn.judge[known], drawn.people[known]))
        except CannotAnswerError:
            refused.append(True)
            continue
        refused.append(False)
        kept.append((drawn, found))
    half = normal_quantile(0.95)
    delta = np.array([(e.estimate, half * (e.std_error or 0.0)) for _, e in kept])
    return {
        SHARE: of_intervals([found for _, found in kept], share),
        DELTA: of_ends(delta[:, 0] - delta[:, 1], delta[:, 0] + delta[:, 1], share),
        JUDGE: of_intervals([mean_t(drawn.judge) for drawn, _ in kept], share),
        REFUSED: of_claims(refused),
    }


def _same_as_judges(found: IntervalEstimate | None, drawn: Drawn) -> None:
    """Stop where `judges()`, on a table of these ratings, says something else."""
    known = drawn.labelled
    n, items = drawn.people.size, np.arange(drawn.people.size)
    rows: dict[str, object] = {
        "item": np.concatenate((items, items[known])),
        "rater": np.repeat(["judge", "person"], [n, int(known.sum())]),
        "value": np.concatenate((drawn.judge, drawn.people[known])),
        "block": np.zeros(n + int(known.sum()))
        if drawn.clusters is None
        else np.r_[drawn.clusters, drawn.clusters[known]],
    }
    if drawn.chance is not None:
        rows["label_prob"] = [*[None] * n, *drawn.chance[known].tolist()]
    try:
        said = judges(
            from_ratings(rows, humans="person"),
            cluster=None if drawn.clusters is None else "block",
            n_resamples=200,
        ).corrected
    except EvalStatsError:  # where all ratings are the same it says so, and corrects nothing
        return
    ends = (said[0].conf_low, said[0].conf_high) if said else (None, None)
    own = (found.conf_low, found.conf_high) if found else (None, None)
    if ends != own and not np.allclose(np.array(ends, dtype=float), np.array(own, dtype=float), atol=1e-9):
        raise AssertionError(f"judges() says {said}, the method {found}")


# --- the cells ---

Cell = tuple[Case, Callable[[np.random.Generator, int], Mapping[str, Tally]]]


def _cell(words: str, group: str, design: Mapping[str, float], draw: Draw, *, truth: float) -> Cell:
    case = Case(name=f"{words}, {group}", group=group, design={**design, "truth": truth})
    return case, partial(replicate, draw=draw, truth=truth)


def _scores() -> list[Cell]:
    return [
        *(
            _cell(
                f"{n} labels",
                f"right in {share:.0%}",
                {"n_labels": n},
                partial(yes_no, n_labels=n, share=share, hit=hit, false_yes=false_yes),
                truth=share,
            )
            for share, hit, false_yes in ((0.6, 0.88, 0.25), (0.9, 0.9, 0.2))
            for n in LABELS
        ),
        *(
            _cell(
                f"{n} labels", "grades 1 to 10", {"n_labels": n}, partial(grades, n_labels=n),
                truth=float(GRADES @ GRADE_SHARES),
            )
            for n in LABELS
        ),
        *(
            _cell(
                f"{5 * g} labels in {g} clusters", "right in 60%, clusters", {"n_labels": 5 * g, "n_clusters": g},
                partial(clustered, n_clusters=g), truth=0.6,
            )
            for g in (10, 20, 40)
        ),
        _cell(CHOSEN.partition(", ")[0], CHOSEN.partition(", ")[2], {"n_labels": 85}, chosen, truth=0.6),
    ]  # fmt: skip


def _shares() -> list[Cell]:
    return [
        (
            Case(
                name=f"{n} labels, {words}, errors corrected",
                group=f"{words}, errors corrected",
                design={"n_labels": n, "truth": share},
            ),
            partial(replicate_share, n_labels=n, share=share, hit=hit, false_yes=false_yes),
        )
        for words, share, hit, false_yes in (
            ("right in 60%", 0.6, 0.88, 0.25),
            ("right in 90%", 0.9, 0.9, 0.2),
            ("right in 60%, weak judge", 0.6, 0.7, 0.4),
        )
        for n in (50, 100, 200)
    ]


CELLS = [*_scores(), *_shares()]


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for case, work in CELLS
        for task in simulated(NAME, case.name, work, replicates=REPLICATES, part=PART, share=share)
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say where no interval is given."""
    most = {
        case: tally.errors / tally.total
        for (case, method), tally in tallies.items()
        if method == REFUSED and tally.errors
    }
    if not most:
        return []
    worst = max(most, key=lambda case: most[case])
    left_out = f"{100 * most[worst]:.1f}% of data sets at most ({worst})"
    return [f"No interval is given for {left_out}; they are left out of all rates here."]


QUESTION = Question(
    name=NAME,
    question="How often does a score that is corrected for a judge's errors miss the truth?",
    design=(
        "A judge on all items, people's labels on a part: 2,000 items beside those drawn at random, or 1,000 of which those with "
        "the judge's no are labelled more often, with known chances, or clusters of 55 items, 5 of them labelled. Answers are "
        "right or wrong, or graded from 1 to 10; the judge errs to one side. One score in 100 goes through judges() as a whole, "
        "which must say the same."
    ),
    measure="misses",
    nominal=0.05,
    methods={
        SCORE: "ours",
        SHARE: "ours",
        ALONE: "beside",
        NORMAL: "elsewhere",
        DELTA: "elsewhere",
        LEFT_OUT: "elsewhere",
        JUDGE: "elsewhere",
    },
    cases=[case for case, _ in CELLS],
    tasks=tasks,
    promises=[
        Promise(
            text="Corrected score, random labels",
            method=SCORE,
            cases=tuple(case.name for case, _ in _scores() if case.name != CHOSEN),
            high=0.065,
        ),
        Promise(text="Corrected score, labels by known chances", method=SCORE, cases=(CHOSEN,), high=0.075),
        Promise(text="Corrected share (Rogan-Gladen)", method=SHARE, high=0.07),
    ],
    notes=notes,
)
