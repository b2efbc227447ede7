"""A result of every kind whose names a careless page would run: models, items, scenarios, metrics, raters, benchmarks.

Small, so that a page of each can be made with every run of the tests; each is computed from a table by the question itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl

from evalstats import (
    arena,
    audit,
    compare,
    contamination,
    from_frame,
    frontier,
    gap,
    items,
    judges,
    leaderboard,
    overview,
    power,
    reliability,
    scenarios,
    score,
)
from evalstats.analysis.overview.changes import changes
from evalstats.analysis.result import Result
from evalstats.loaders.frames import from_votes
from evalstats.loaders.ratings import from_ratings
from evalstats.schema.data import EvalData
from evalstats.simulate.lab_live import simulate_lab_live

MODELS = (
    "<img src=x onerror='window.hit=1'>",
    "javascript:window.hit=1//{{< env HOME >}}",
    '"></title></script><script>window.hit=1</script>',
    "[a](javascript:window.hit=1) `=cmd()` $x_1$ #eval @ref",
    "vendor/" + "n" * 70,
)
SCENARIOS = (
    "<svg onload='window.hit=1'>",
    "```{=html}\n<img src=x onerror='window.hit=1'>\n```",
    "a|b\n\n# heading {onclick='window.hit=1'}",
    "::: {.callout-note}\n</table><script>window.hit=1</script>",
)
METRIC = "<b onmouseover='window.hit=1'>rate|$x$"
BENCHMARK = '<i>1. bench</i> #import "x" &amp; <script>window.hit=1</script>'


def table(n_models: int = 3, n_items: int = 80) -> EvalData:
    """Return outcomes of the first models on the same items, ever better; every item is of a scenario and costs something."""
    draw = np.random.default_rng(3)
    ease = draw.normal(size=n_items)
    rows = [
        {
            "item": f"<u onclick='window.hit=1'>item {i}</u>|`x`",
            "model": model,
            METRIC: int(ease[i] + 0.7 * place - 0.6 * (i % len(SCENARIOS)) + draw.logistic() > 0),
            "scenario": SCENARIOS[i % len(SCENARIOS)],
            "source": "<i>public" if i % 2 else "<i>fresh",
            "cost_usd": 0.01 * (1 + place) * draw.lognormal(0, 0.3),
        }
        for place, model in enumerate(MODELS[:n_models])
        for i in range(n_items)
    ]
    return from_frame(pl.DataFrame(rows), item="item", model="model", score=METRIC, benchmark=f"@{BENCHMARK}")


def _arena() -> Result:
    draw = np.random.default_rng(5)
    pairs = [draw.choice(len(MODELS), 2, replace=False) for _ in range(500)]
    rows = [
        {
            "model_a": MODELS[a],
            "model_b": MODELS[b],
            "winner": "a" if draw.random() < 1 / (1 + np.exp(0.4 * (b - a))) else "b",
            "rater": f"<i>rater {k % 60}",
            "scenario": SCENARIOS[k % len(SCENARIOS)],
        }
        for k, (a, b) in enumerate(pairs)
    ]
    return arena(from_votes(pl.DataFrame(rows)), by="scenario")


def _judges() -> Result:
    draw = np.random.default_rng(7)
    rows = [
        {
            "item": f"<u>{i}",
            "model": model,
            "rater": rater,
            "value": int((draw.random() < 0.85) == bool((i + place) % 3)),
        }
        for place, model in enumerate(MODELS[:2])
        for i in range(60)
        for rater in ("<b>ann", "<script>window.hit=1</script>", *SCENARIOS[:1])
    ]
    rated = from_ratings(pl.DataFrame(rows), humans=("<b>ann",), model="model", benchmark=BENCHMARK)
    return judges(rated)


def _lab_live() -> Result:
    # What is drawn hangs on the names, so these are given afterwards.
    drawn = tuple(f"model-{k}" for k in range(len(MODELS) + 2))
    both = simulate_lab_live(drawn, n_items=120, n_users=80, seed=1)
    models = dict(zip(drawn, (*MODELS, "m", "n"), strict=True))
    seen = both.lab.outcomes["scenario"].unique(maintain_order=True).drop_nulls().to_list()
    names = dict(zip(seen, SCENARIOS, strict=False))

    def renamed(data: EvalData) -> EvalData:
        outcomes = data.outcomes.with_columns(
            pl.col("scenario").replace(names), pl.col("model").replace(models), pl.col("system").replace(models)
        )
        return replace(data, outcomes=outcomes)

    return gap(renamed(both.lab), renamed(both.live), n_resamples=200)


def _changes() -> Result:
    draw = np.random.default_rng(9)
    rows = [
        {
            "item": f"<u>{i}",
            "model": model,
            "run": f"{model} {week}",
            "judge": f"<i>judge {week // 4}" if place == 1 else "judge",
            "timestamp": f"2026-0{1 + week // 4}-0{1 + week % 4}T06:00:00Z",
            "score": int(draw.random() < 0.8 - 0.4 * (week > 3 and place == 0)),
        }
        for place, model in enumerate(MODELS)
        for week in range(8)
        for i in range(60)
    ]
    data = from_frame(
        pl.DataFrame(rows), item="item", model="model", score="score", run="run", benchmark="@<script>hit=1</script>"
    )
    return changes(data)


def _items() -> Result:
    draw = np.random.default_rng(11)
    ability = draw.normal(size=25)
    ease = draw.normal(size=60)
    logit = ease[:, np.newaxis] + ability
    logit[0] = 4 - 4 * ability**2  # what the strongest fail
    logit[5:7] -= 2
    logit[5:7, :8] += 8  # what one family knows
    right = draw.random(logit.shape) < 1 / (1 + np.exp(-logit))
    names = [MODELS[place] if place < len(MODELS) else f"<b>{place}" for place in range(25)]

    def answers(models: range, n_items: int) -> EvalData:
        rows = [
            {
                "item": f"<u onclick='window.hit=1'>item {i}</u>|`x`" if i else SCENARIOS[1],
                "model": names[place],
                METRIC: int(right[i, place]),
            }
            for place in models
            for i in range(n_items)
        ]
        return from_frame(pl.DataFrame(rows), item="item", model="model", score=METRIC, benchmark=f"@{BENCHMARK}")

    family = {name: SCENARIOS[place >= 8] for place, name in enumerate(names[:24])}
    return items(answers(range(24), 60), size=20, family=family, new=answers(range(24, 25), 30))


def _reliability() -> Result:
    draw = np.random.default_rng(12)
    scaffolds = ("<b onclick='window.hit=1'>scaffold</b>", "|`plain`|", SCENARIOS[1])
    rows = [
        {
            "item": f"<u>item {i}</u>|`x`",
            "model": name,
            "<i>scaffold": scaffold,
            METRIC: int(place - 2 + draw.logistic() > 0),
        }
        for place, name in enumerate(MODELS)
        for scaffold in scaffolds
        for i in range(12)
    ]
    data = from_frame(
        pl.DataFrame(rows), item="item", model="model", variant="<i>scaffold", score=METRIC, benchmark=f"@{BENCHMARK}"
    )
    return reliability(data, facets=["<i>scaffold", "item"])


MAKERS: Mapping[str, Callable[[], Result]] = {
    "arena": _arena,
    "audit": lambda: audit(table()),
    "compare": lambda: compare(table(), *MODELS[:2], by="scenario"),
    "changes": _changes,
    "contamination": lambda: contamination(
        table(5), split="source", suspects=MODELS[0], references=list(MODELS[1:]), new="<i>fresh"
    ),
    "frontier": lambda: frontier(table()),
    "items": _items,
    "judges": _judges,
    "lab-live": _lab_live,
    "leaderboard": lambda: leaderboard(table(5)),
    "overview": lambda: overview(table()),
    "posterior": lambda: compare(table(), *MODELS[:2]).posterior(),
    "power": lambda: power(pilot=table(2), baseline=MODELS[0], candidate=MODELS[1], delta="5pp"),
    "reliability": _reliability,
    "scenarios": lambda: scenarios(table(4, 120)),
    "score": lambda: score(table(2), MODELS[0]),
}
# What they return, computed once in a process.
RESULTS = {kind: cache(make) for kind, make in MAKERS.items()}


def several_metrics() -> Result:
    """Return a comparison by two metrics of hostile names, one of which is better where it is lower."""
    given = table()
    more = given.outcomes.with_columns(metric=pl.lit(SCENARIOS[2]), score=3 - 2 * pl.col("score"))
    both = replace(given, outcomes=pl.concat([given.outcomes, more]))
    return compare(
        both.with_metric(SCENARIOS[2], higher_is_better=False, unit="<i>s"), *MODELS[:2], metric=[METRIC, SCENARIOS[2]]
    )
