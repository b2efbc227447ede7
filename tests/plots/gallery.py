"""Tidy rows for every figure, with names that a careless drawing would cut alike, run or set as mathematics."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from evalstats import plots

HOSTILE = ("<script>alert(1)</script>", "a|b", "=cmd()", "$x_1$ #eval @ref `code`", "通义千问 客服")
ALIKE = tuple(f"provider/a-rather-long-model-name-{k}-instruct-2024-11-20" for k in range(12))

DIFFERENCES: dict[str, list[Any]] = {
    "label": ["All items", "conflicting_signals", *HOSTILE],
    "detail": ["43 items", "9 items", *["6 items"] * 5],
    "estimate": [48.84, 100.0, 50.0, 0.0, -17.0, -66.0, None],
    "conf_low": [34.62, 69.0, 6.0, -36.0, -62.0, -96.0, None],
    "conf_high": [63.25, 100.0, 94.0, 36.0, 28.0, -36.0, None],
    "tone": ["good", "good", "good", "neutral", "neutral", "bad", "neutral"],
    "settled": [True, True, True, False, False, True, False],
    "strong": [True, *[False] * 6],
}
RATINGS: dict[str, list[Any]] = {
    "model": list(ALIKE),
    "estimate": [1150.0 - 12 * k for k in range(12)],
    "conf_low": [1130.0 - 12 * k for k in range(12)],
    "conf_high": [1165.0 - 12 * k for k in range(12)],
    "group": ["Part 1: 8 models"] * 8 + ["Part 2: 4 models"] * 4,
    "ranks": [f"{k + 1}-{k + 3}" for k in range(12)],
}
RANKS: dict[str, list[Any]] = {
    "model": list(ALIKE),
    "estimate": [90.0 - 2 * k for k in range(12)],
    "conf_low": [86.0 - 2 * k for k in range(12)],
    "conf_high": [93.0 - 2 * k for k in range(12)],
    "rank_low": [max(1, k - 1) for k in range(12)],
    "rank_high": [min(12, k + 3) for k in range(12)],
    "rank_low_marginal": [max(1, k) for k in range(12)],
    "rank_high_marginal": [min(12, k + 2) for k in range(12)],
    "rank": list(range(1, 13)),
    "tier": ["a-d", "abc"] * 6,
    "best": [k < 2 for k in range(12)],
}
BOARD = {name: RANKS[name] for name in ("model", "estimate", "tier", "best")}
_RNG = np.random.default_rng(5)
_X = np.sort(_RNG.uniform(40, 90, 12))
_Y = 5 + 0.8 * _X + _RNG.normal(0, 4, 12)
POINTS: dict[str, list[Any]] = {
    "model": list(ALIKE),
    "x": _X.tolist(),
    "x_low": (_X - 3).tolist(),
    "x_high": (_X + 3).tolist(),
    "y": _Y.tolist(),
    "y_low": (_Y - 4).tolist(),
    "y_high": (_Y + 4).tolist(),
    "kind": ["worse" if k in (2, 9) else "open" for k in range(12)],
    "tone": ["bad" if k in (2, 9) else "neutral" for k in range(12)],
    "settled": [k in (2, 9) for k in range(12)],
    "strong": [k in (2, 9) for k in range(12)],
}
LINE = {"x": [40.0, 90.0], "estimate": [37.0, 77.0], "conf_low": [35.0, 75.0], "conf_high": [39.0, 79.0]}
COSTS: dict[str, list[Any]] = {
    "model": list(ALIKE),
    "cost": [0.002 * 1.8**k for k in range(12)],
    "cost_low": [0.0016 * 1.8**k for k in range(12)],
    "cost_high": [0.0026 * 1.8**k for k in range(12)],
    "estimate": _Y.tolist(),
    "conf_low": (_Y - 4).tolist(),
    "conf_high": (_Y + 4).tolist(),
    "on_frontier": [bool(_Y[k] >= _Y[: k + 1].max()) for k in range(12)],
    "settled": [bool(_Y[k] >= _Y[: k + 1].max()) for k in range(12)],
}
SCENARIOS = ("stable", "fabricated_parameters", "goal_switching", "contradictory constraints", "$x_1$")
CELLS: dict[str, list[Any]] = {
    "model": [model for model in ALIKE[:6] for _ in SCENARIOS],
    "scenario": [name for _ in range(6) for name in SCENARIOS],
    "estimate": [70.0 if name == "stable" else -4.0 * k - j for k in range(6) for j, name in enumerate(SCENARIOS)],
    "conf_low": [None if name == "stable" else -4.0 * k - j - 9 for k in range(6) for j, name in enumerate(SCENARIOS)],
    "conf_high": [None if name == "stable" else -4.0 * k - j + 9 for k in range(6) for j, name in enumerate(SCENARIOS)],
    "settled": [4 * k + j > 9 for k in range(6) for j in range(5)],
    "base": [name == "stable" for _ in range(6) for name in SCENARIOS],
}
WINS: dict[str, list[Any]] = {
    "model_a": [one for one in ALIKE for other in ALIKE if one != other],
    "model_b": [other for one in ALIKE for other in ALIKE if one != other],
    "estimate": [0.5 + 0.04 * (k - j) for j in range(12) for k in range(12) if j != k],
    "words": [f"{50 + 4 * (k - j)}" for j in range(12) for k in range(12) if j != k],
    "settled": [abs(k - j) > 2 for j in range(12) for k in range(12) if j != k],
}
SHARED_ITEMS: dict[str, list[Any]] = {
    "first": [one for one in ALIKE[:5] for other in ALIKE[:5] if (one == ALIKE[4]) == (other == ALIKE[4])],
    "second": [other for one in ALIKE[:5] for other in ALIKE[:5] if (one == ALIKE[4]) == (other == ALIKE[4])],
    "estimate": [1200, 300, 20, 4, 300, 310, 7, 5, 20, 7, 40, 11, 4, 5, 11, 90, 2],
    "words": ["1,200", *map(str, (300, 20, 4, 300, 310, 7, 5, 20, 7, 40, 11, 4, 5, 11, 90, 2))],
    "settled": [n > 10 for n in (1200, 300, 20, 4, 300, 310, 7, 5, 20, 7, 40, 11, 4, 5, 11, 90, 2)],
    "base": [k in (0, 5, 10, 15, 16) for k in range(17)],
}
SHARES: dict[str, list[Any]] = {
    "label": ["item", "model", "item within a rather long name of a passage", "chance"],
    "estimate": [0.55, 0.1, 0.0, 0.35],
    "words": ["55% (SD 1.38)", "10% (SD 0.4)", "estimated as 0", "35% (SD 1.1)"],
    "faint": [False, False, True, False],
}

MOVES: dict[str, list[Any]] = {
    "model": list(ALIKE),
    "start": [1100.0 - 9 * k for k in range(12)],
    "estimate": [1100.0 - 9 * k + 6 * (k % 4 - 2) for k in range(12)],
    "move": [f"{6 * (k % 4 - 2):+d}" for k in range(12)],
}
COVER: dict[str, list[Any]] = {
    "label": ["law", "engineering", "harassment", *HOSTILE],
    "start": [40.0, 30.0, 20.0, 10.0, 0.0, 0.0, 0.0, 0.0],
    "estimate": [20.0, 30.0, 10.0, 10.0, 15.0, 5.0, 5.0, 5.0],
    "conf_low": [15.0, 25.0, 5.0, 5.0, 10.0, 2.0, 2.0, 2.0],
    "conf_high": [25.0, 35.0, 15.0, 15.0, 20.0, 8.0, 8.0, 8.0],
    "loud": [False, False, False, False, True, True, True, True],
    "rate": ["71% → 63%"] * 8,
}
POWERS: dict[str, list[Any]] = {
    "panel": ["Power for a true difference of 5.00 pp"] * 9 + ["Difference detected with 80% power (pp)"] * 9,
    "x": [50.0 * 1.6**k for k in range(9)] * 2,
    "estimate": [1 - 0.9 * 0.72**k for k in range(9)] + [18.0 / 1.27**k for k in range(9)],
}
POWER_GOALS = {
    "panel": ["Power for a true difference of 5.00 pp", "Difference detected with 80% power (pp)"],
    "estimate": [0.8, 5.0],
    "words": ["80% power", "5.00 asked for"],
}
POWER_MARKS = {
    "panel": POWER_GOALS["panel"],
    "x": [524.288, 524.288],
    "estimate": [1 - 0.9 * 0.72**5, 18.0 / 1.27**5],
    "words": ["524 items: 83%", "524 items"],
}
ORDERS: dict[str, list[Any]] = {
    "panel": [world for world in ("Spread out", "Crowded") for _ in range(6) for _ in range(5)],
    "line": [
        name
        for _ in range(2)
        for name in ("random", "near", "near, shared", "bandit", "swiss", "uncertain")
        for _ in range(5)
    ],
    "x": [600.0, 1900.0, 6000.0, 19000.0, 60000.0] * 12,
    "estimate": [70.0 + 2 * j + 5 * k for _ in range(2) for j in range(6) for k in range(5)],
}
LOOKS: dict[str, list[Any]] = {
    "n": list(range(1, 201)),
    "estimate": [8.0 + 10 / k for k in range(1, 201)],
    "conf_low": [None, *[8.0 + 10 / k - 90 / k**0.5 for k in range(2, 201)]],
    "conf_high": [None, *[8.0 + 10 / k + 90 / k**0.5 for k in range(2, 201)]],
}
SUMS: dict[str, list[Any]] = {
    "n": list(range(121)),
    "estimate": [0.02 * k + 0.4 * min(max(k - 60, 0), 30) for k in range(121)],
    "conf_low": [0.12 * k - 5.5 for k in range(121)],
    "conf_high": [0.12 * k + 5.5 for k in range(121)],
}
CHANGES: dict[str, list[Any]] = {
    "estimate": [round(float(value), 3) for value in np.random.default_rng(8).normal(0.3, 1.0, 120)],
}
PERIODS: dict[str, list[Any]] = {
    "model": [name for name in ALIKE for _ in range(8)],
    "period": [f"2025-{month:02d}" for _ in ALIKE for month in range(1, 9)],
    "estimate": [10.0 * (k % 5) + (month if k < 2 else 0) * (4 - 8 * k) for k in range(12) for month in range(8)],
    "conf_low": [10.0 * (k % 5) + (month if k < 2 else 0) * (4 - 8 * k) - 6 for k in range(12) for month in range(8)],
    "conf_high": [10.0 * (k % 5) + (month if k < 2 else 0) * (4 - 8 * k) + 6 for k in range(12) for month in range(8)],
    "strong": [k < 2 for k in range(12) for _ in range(8)],
    "tone": [("good", "bad")[k] if k < 2 else "neutral" for k in range(12) for _ in range(8)],
}
LEVELS: dict[str, list[Any]] = {
    "group": ["scenario"] * 9 + ["item"] * 80,
    "level": [*(f"a scenario of kind {k}" for k in range(9)), *(f"an-item-with-a-long-name-{k}" for k in range(80))],
    "estimate": [0.4 * (k - 4) for k in range(9)] + [0.03 * (k - 40) for k in range(80)],
    "conf_low": [0.4 * (k - 4) - 0.5 for k in range(9)] + [0.03 * (k - 40) - 0.6 for k in range(80)],
    "conf_high": [0.4 * (k - 4) + 0.5 for k in range(9)] + [0.03 * (k - 40) + 0.6 for k in range(80)],
}

Draw = Callable[..., Figure]


def _with(draw: Draw, rows: object, **options: Any) -> partial[Figure]:
    return partial(draw, rows, **options)


WATCHED = (*HOSTILE, *ALIKE[:3])
_WEEKS = [
    "2026-03-02",
    "2026-03-09",
    "2026-03-16",
    "2026-03-23",
    "2026-03-30",
    "2026-04-06",
    "2026-04-13",
    "2026-04-20",
]
_BY_WEEK = [75.0 - 3 * k - 7 * (k == 0 and week > 3) + (week * 7 + k) % 3 for k in range(8) for week in range(8)]
DAYS: dict[str, list[Any]] = {
    "model": [name for name in WATCHED for _ in _WEEKS],
    "day": _WEEKS * 8,
    "estimate": _BY_WEEK,
    "conf_low": [value - 5 for value in _BY_WEEK],
    "conf_high": [value + 5 for value in _BY_WEEK],
    "aside": [k == 2 and week < 2 for k in range(8) for week in range(8)],
    "words": [f"{name}, week {week}" for name in WATCHED for week in range(8)],
}

# Every figure, with all that it can show.
GALLERY: dict[str, partial[Figure]] = {
    "differences": _with(
        plots.forest,
        DIFFERENCES,
        title="Difference in correct, candidate minus baseline (percentage points)",
        margin=5.0,
        sides=("← baseline better", "candidate better →"),
        note="The band is the margin.",
    ),
    "ratings": _with(plots.forest, RATINGS, title="Rating (points)", reference=None, digits=0),
    "ranks": _with(plots.ranks, RANKS, title="correct (%), 95% interval", columns={"tier": "Tier"}, bounds=(0, 100)),
    "critical": _with(plots.critical_differences, BOARD, title="correct (%)", bounds=(0, 100)),
    "points": _with(
        plots.scatter,
        POINTS,
        line=LINE,
        line_title="York's line, 95% band",
        identity="live = lab",
        x_title="Lab: accuracy (%)",
        y_title="Live: accuracy (%)",
        keys={"worse": "worse than expected", "open": "no gap shown"},
        note="The lab scores have no standard errors.",
    ),
    "frontier": _with(plots.frontier, COSTS, x_title="Cost (US dollars), mean of an item", y_title="correct (%)"),
    "cells": _with(plots.heatmap, CELLS, sign=True, note="Filled: shown."),
    "wins": _with(plots.heatmap, WINS, row="model_a", column="model_b", centre=0.5, reach=0.4),
    "shared": _with(plots.heatmap, SHARED_ITEMS, row="first", column="second", note="Two further groups not drawn."),
    "bars": _with(plots.bars, SHARES, title="Shares of the variance"),
    "moves": _with(plots.dumbbell, MOVES, title="Rating (points): □ without, ● with style", columns={"move": "Move"}),
    "dumbbell": _with(plots.dumbbell, COVER, title="Share, %: □ lab, ● live", reference=0.0, columns={"rate": "Rate"}),
    "curves": _with(
        plots.curves, POWERS, goals=POWER_GOALS, marks=POWER_MARKS, x_title="Items", note="What each size can find."
    ),
    "orders": _with(plots.curves, ORDERS, x_title="Votes", limits=(60.0, 105.0), percent=True),
    "sequence": _with(
        plots.sequence,
        LOOKS,
        title="Difference in correct, candidate minus baseline (percentage points)",
        x_title="Items, in order of finishing",
        margin=5.0,
        crossing=140,
        crossing_words="0 first excluded after 140 items",
        planned=150,
        tone="good",
        note="band along 0: margin ±5.00 pp; dashed: 150 items planned",
    ),
    "cumulative": _with(
        plots.cumulative,
        SUMS,
        title="Difference in correct, candidate minus baseline, added up (percentage points)",
        x_title="Items, in the order of the files",
        stretch=(61, 90),
        note="Shaded: the items that differ most from the others.",
    ),
    "raincloud": _with(
        plots.raincloud, CHANGES, title="candidate minus baseline, item by item", sides=("← worse", "better →")
    ),
    "timeline": _with(plots.timeline, PERIODS, title="points, by month"),
    "histories": _with(
        plots.histories,
        DAYS,
        levels={
            "model": [WATCHED[0], WATCHED[0], WATCHED[1]],
            "first": ["2026-03-02", "2026-03-30", "2026-03-02"],
            "last": ["2026-03-23", "2026-04-20", "2026-04-20"],
            "estimate": [75, 68, 71],
            "tone": ["neutral", "bad", "neutral"],
            "words": ["dropped since 2026-03-30: −7.1 pp (−11.0 to −3.2)", "", "no drift shown"],
        },
        events={"model": [WATCHED[2]], "day": ["2026-03-16"]},
        title="correct (%), 95% interval of each day",
        event_words="items or settings changed",
        aside_words="not compared with the last day",
    ),
    "caterpillar": _with(plots.caterpillar, LEVELS, unit="log-odds"),
}
