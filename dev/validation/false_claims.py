"""Two models of equal skill: how often `compare` claims that they differ, and how often the usual tests do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

import numpy as np

from dev.validation.deciding import Decision, compared, decided, metric
from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, simulated
from evalstats.analysis.compare import difference
from evalstats.analysis.compare.difference import PairedScores
from evalstats.analysis.design.metric import Metric
from evalstats.stats.bootstrap import percentile_law
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.paired.means import paired_t

NAME = "false-claims"
# The limits of independent items and of sixty clusters are the narrowest.
MANY, SOME, PART = 5_000, 2_000, 125
# Where fewer do not tell on which side of its limit the rate lies.
MORE = {"12 uneven clusters, 1 trial": 8_000, "80 items, 1 trial": 80_000, "60 items, 1 to 5 points": 20_000}
COMPARED = 1  # of every part, so many data sets go through `compare` itself
WILD = 25  # of every part; the wild cluster bootstrap is shown beside and takes two thirds of the time
SEVEN = (8, 6, 8, 6, 2, 6, 7)  # the judgment dimensions of Tenacious-Bench
TWELVE = (2, 2, 3, 3, 4, 4, 5, 5, 6, 8, 8, 10)
FAVOUR = 1.15  # sd, on the logit scale, of how much a cluster favours one model

VERDICT = "evalstats: verdict"
INTERVAL = "evalstats: interval alone"
_WILD = "wild cluster bootstrap (Webb)"
# Methods of the rows that `compare` prints, and what they are called here.
CHECKS = {
    "cluster sign-flip": "cluster sign-flip (exact)",
    _WILD: "wild cluster bootstrap",
    "sign-flip": "sign-flip (exact)",
    "McNemar exact": "McNemar exact",
    "McNemar mid-p": "McNemar mid-p",
}
AGREED = "compare agrees"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Scores of both sides, shape (n_items, n_trials), and the cluster of each item."""

    baseline: np.ndarray
    candidate: np.ndarray
    clusters: np.ndarray | None = None

    def scores(self, of: Metric, *, clustered: bool = True) -> PairedScores:
        """Return item means."""
        return PairedScores(
            metric=of,
            baseline=self.baseline.mean(axis=1),
            candidate=self.candidate.mean(axis=1),
            n_trials=self.baseline.shape[1],
            clusters=(self.clusters,) if clustered and self.clusters is not None else (),
        )


def clustered(
    rng: np.random.Generator, *, sizes: tuple[int, ...], trials: int, middle: float = 0.5, favour: float = FAVOUR
) -> Drawn:
    """Items of unequal difficulty in clusters, each of which favours one model or the other by chance."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    base = rng.normal(middle, 1.0, clusters.size)
    leaning = rng.normal(0.0, favour, len(sizes))[clusters] / 2
    sides = [rng.random((clusters.size, trials)) < _expit(base + sign * leaning)[:, np.newaxis] for sign in (-1, 1)]
    return Drawn(baseline=sides[0] * 1.0, candidate=sides[1] * 1.0, clusters=clusters)


def independent(rng: np.random.Generator, *, items: int, trials: int) -> Drawn:
    """Items of unequal difficulty, the same for both models."""
    rate = rng.beta(2.0, 1.0, items)[:, np.newaxis]
    return Drawn(
        baseline=(rng.random((items, trials)) < rate) * 1.0, candidate=(rng.random((items, trials)) < rate) * 1.0
    )


def ceiling(rng: np.random.Generator, *, items: int, trials: int) -> Drawn:
    """Both models are right 95 times in 100."""
    return Drawn(
        baseline=(rng.random((items, trials)) < 0.95) * 1.0, candidate=(rng.random((items, trials)) < 0.95) * 1.0
    )


def graded(rng: np.random.Generator, *, items: int) -> Drawn:
    """Rubric points from 1 to 5, most of them 4 and 5; some items are worth less to both models."""
    hard = rng.random((items, 1)) < 0.4
    weights = np.where(hard, [[0.15, 0.2, 0.3, 0.25, 0.1]], [[0.0, 0.02, 0.08, 0.4, 0.5]])
    cuts = weights.cumsum(axis=1)[:, :-1]
    sides = [1.0 + (rng.random((items, 1)) > cuts).sum(axis=1, keepdims=True) for _ in range(2)]
    return Drawn(baseline=sides[0], candidate=sides[1])


def skewed(rng: np.random.Generator, *, items: int) -> Drawn:
    """Scores without bounds whose differences have a long tail on one side (exponential less 1)."""
    base = rng.normal(0.0, 1.0, (items, 1))
    return Drawn(baseline=base + 1.0, candidate=base + rng.exponential(1.0, (items, 1)))


def _expit(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


BINARY, POINTS, UNBOUNDED = metric("binary"), metric("ordinal", 1.0, 5.0), metric("continuous")
Draw = Callable[[np.random.Generator], Drawn]
# Name, group, how to draw, metric, numbers of the design.
WORLDS: tuple[tuple[str, str, Draw, Metric, Mapping[str, float]], ...] = (
    *(
        (
            f"{words}, {trials} {'trial' if trials == 1 else 'trials'}",
            "clustered items",
            partial(clustered, sizes=sizes, trials=trials),
            BINARY,
            {"n_clusters": len(sizes), "n_items": sum(sizes), "n_trials": trials, "favour": FAVOUR},
        )
        for words, sizes in (
            ("60 clusters of 5 items", (5,) * 60),
            ("7 uneven clusters", SEVEN),
            ("12 uneven clusters", TWELVE),
        )
        for trials in (1, 3)
    ),
    (
        "20 clusters of 5 items near the ceiling, 1 trial",
        "clustered items",
        partial(clustered, sizes=(5,) * 20, trials=1, middle=3.5, favour=FAVOUR),
        BINARY,
        {"n_clusters": 20, "n_items": 100, "n_trials": 1, "favour": FAVOUR},
    ),
    *(
        (
            f"{items} items{words}, {trials} {'trial' if trials == 1 else 'trials'}",
            "independent items",
            partial(draw, items=items, trials=trials),
            BINARY,
            {"n_items": items, "n_trials": trials},
        )
        for items, words, draw in ((80, "", independent), (43, " near the ceiling", ceiling))
        for trials in (1, 3)
    ),
    ("60 items, 1 to 5 points", "independent items", partial(graded, items=60), POINTS, {"n_items": 60, "n_trials": 1}),
    *(
        (f"{items} items, skewed", "independent items", partial(skewed, items=items), UNBOUNDED, {"n_items": items})
        for items in (30, 100)
    ),
)


def replicate(rng: np.random.Generator, count: int, *, draw: Draw, of: Metric) -> dict[str, Tally]:
    """Tally the claims of every method on `count` data sets."""
    drawn = [draw(rng) for _ in range(count)]
    decisions = [decided(one.scores(of), checks=True) for one in drawn[:WILD]]
    with patch.object(difference, "wild_cluster_p", return_value=None):
        decisions += [decided(one.scores(of), checks=True) for one in drawn[WILD:]]
    found = {
        VERDICT: of_claims([each.claims for each in decisions]),
        INTERVAL: of_claims([each.excludes_zero for each in decisions]),
    }
    for method, name in CHECKS.items():
        known = decisions[:WILD] if name == CHECKS[_WILD] else decisions
        p_values = [each.p_values.get(method) for each in known]
        # Where both models agree on every item the sign-flip stands alone: nothing is claimed.
        if any(p is not None for p in p_values):
            found[name] = of_claims([p is not None and p <= 0.05 for p in p_values])
    means = [one.scores(of).differences for one in drawn]
    found["t on items"] = of_claims([_excludes_zero(paired_t(d)) for d in means])
    found["bootstrap of items"] = of_claims([_excludes_zero(percentile_law(d)) for d in means])
    if drawn[0].baseline.shape[1] > 1:
        rows = [(one.candidate - one.baseline).ravel() for one in drawn]
        found["t on all trials as items"] = of_claims([_excludes_zero(paired_t(d)) for d in rows])
    same = [_same(decision, one, of) for decision, one in zip(decisions, drawn[:COMPARED], strict=False)]
    return found | {AGREED: Tally(float(sum(same)), float(len(same)))}


def _excludes_zero(found: IntervalEstimate) -> bool:
    if found.conf_low is None or found.conf_high is None:
        return found.estimate != 0.0
    return not found.conf_low <= 0.0 <= found.conf_high


def _same(decision: Decision, drawn: Drawn, of: Metric) -> bool:
    whole = compared((drawn.baseline, drawn.candidate), of, drawn.clusters)
    ends = [(decision.low, whole.low), (decision.high, whole.high)]
    alike = all(a == b or (a is not None and b is not None and abs(a - b) < 1e-9) for a, b in ends)
    return alike and decision.claims == whole.claims


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for name, _, draw, of, _ in WORLDS
        for task in simulated(
            NAME,
            name,
            partial(replicate, draw=draw, of=of),
            replicates=MORE.get(name, MANY if name in (*ALIKE, *SIXTY) else SOME),
            part=PART,
            share=share,
        )
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say on how many data sets `compare` itself was run, and whether it decided the same."""
    agreed = [tally for (_, method), tally in tallies.items() if method == AGREED]
    same, total = round(sum(t.errors for t in agreed)), round(sum(t.total for t in agreed))
    words = "The decision is computed on arrays. On {:,} of the data sets compare() itself was run on a table of the same scores"
    return [f"{words.format(total)}; interval and verdict were the same on {same:,}."]


def _named(*beginnings: str) -> tuple[str, ...]:
    return tuple(name for name, *_ in WORLDS if name.startswith(beginnings))


SIXTY, SEVEN_CASES, TWELVE_CASES = _named("60 clusters"), _named("7 uneven"), _named("12 uneven")
ALIKE = tuple(name for name, group, *_ in WORLDS if group == "independent items" and "skewed" not in name)
QUESTION = Question(
    name=NAME,
    question="How often is a difference claimed between two models of equal skill?",
    design=(
        "Two models of equal skill answer the same items. Where items are clustered, each cluster favours one of the two "
        "by a random amount (normal, sd 1.15 on the logit scale): over all clusters that could have been drawn there is no "
        "difference. Items differ in difficulty. Three trials repeat one run. "
        "Skewed scores are exponential less 1."
    ),
    measure="false claims",
    nominal=0.05,
    methods={
        VERDICT: "ours",
        INTERVAL: "ours",
        "cluster sign-flip (exact)": "beside",
        "wild cluster bootstrap": "beside",
        "sign-flip (exact)": "beside",
        "McNemar exact": "beside",
        "McNemar mid-p": "beside",
        "t on items": "elsewhere",
        "bootstrap of items": "elsewhere",
        "t on all trials as items": "elsewhere",
    },
    cases=[Case(name=name, group=group, design=design) for name, group, _, _, design in WORLDS],
    tasks=tasks,
    promises=[
        Promise(
            text="compare, 60 clusters, 1 trial: interval and p-value",
            method=INTERVAL,
            cases=SIXTY[:1],
            low=0.04,
            high=0.06,
        ),
        Promise(
            text="compare, 60 clusters, 3 trials: interval and p-value", method=INTERVAL, cases=SIXTY[1:], high=0.06
        ),
        Promise(text="compare, 60 clusters: verdict", method=VERDICT, cases=SIXTY, high=0.06),
        *(
            Promise(
                text=f"compare, {count} uneven clusters: {words}",
                method=method,
                cases=cases,
                high=0.065,
            )
            for count, cases in (("7", SEVEN_CASES), ("12", TWELVE_CASES))
            for words, method in (("interval and p-value", INTERVAL), ("verdict", VERDICT))
        ),
        Promise(
            text="compare, independent items: verdict",
            method=VERDICT,
            cases=ALIKE,
            high=0.055,
        ),
        *(
            Promise(
                text=f"{words}, differences symmetric",
                method=method,
                cases=cases,
                high=0.05,
                up_to_chance=True,
            )
            for words, method, cases in (
                ("Sign-flip of clusters", "cluster sign-flip (exact)", (*SIXTY, *SEVEN_CASES, *TWELVE_CASES)),
                ("Sign-flip of items", "sign-flip (exact)", tuple(n for n in ALIKE if "3 trials" in n)),
                ("McNemar exact", "McNemar exact", tuple(n for n in ALIKE if "1 trial" in n)),
            )
        ),
    ],
    notes=notes,
)
