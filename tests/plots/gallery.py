"""Tidy rows for every figure, with names that a careless drawing would cut alike, run or set as mathematics."""

from collections.abc import Callable
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
NODES: dict[str, list[Any]] = {
    "model": list(ALIKE),
    "part": ["Part 1: 9 models"] * 9 + ["Part 2: 3 models"] * 3,
    "detail": [f"{20 + k} items" for k in range(12)],
    "weak": [k == 3 for k in range(12)],
}
EDGES: dict[str, list[Any]] = {
    "first": [ALIKE[0], ALIKE[0], ALIKE[1], ALIKE[4], ALIKE[9]],
    "second": [ALIKE[1], ALIKE[4], ALIKE[3], ALIKE[8], ALIKE[11]],
    "n": [20, 200, 4, 80, 15],
    "dashed": [False, False, True, False, False],
}
SHARES: dict[str, list[Any]] = {
    "label": ["item", "model", "item within a rather long name of a passage", "chance"],
    "estimate": [0.55, 0.1, 0.0, 0.35],
    "words": ["55% (SD 1.38)", "10% (SD 0.4)", "estimated as 0", "35% (SD 1.1)"],
    "faint": [False, False, True, False],
}

Draw = Callable[..., Figure]


def _with(draw: Draw, rows: object, **options: Any) -> Draw:
    return lambda **where: draw(rows, **options, **where)


# Every figure, with all that it can show.
GALLERY: dict[str, Draw] = {
    "differences": _with(
        plots.forest,
        DIFFERENCES,
        title="Difference in correct, candidate minus baseline (percentage points)",
        margin=5.0,
        sides=("← baseline better", "candidate better →"),
        note="The band is the margin.",
    ),
    "ratings": _with(
        plots.forest, RATINGS, title="Rating (points)", reference=None, digits=0, columns={"ranks": "Ranks"}
    ),
    "ranks": _with(plots.ranks, RANKS, title="correct (%), 95% interval", columns={"tier": "Tier"}, bounds=(0, 100)),
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
    "network": _with(plots.network, NODES, edges=EDGES, note="Two further groups not drawn."),
    "bars": _with(plots.bars, SHARES, title="Shares of the variance"),
}
