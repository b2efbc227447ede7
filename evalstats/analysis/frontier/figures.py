"""The figure of a frontier: score against cost."""

from collections.abc import Sequence

from evalstats.analysis.costs import WORDS
from evalstats.analysis.frontier.result import Frontier, Standing
from evalstats.document.model import Figure
from evalstats.document.numbers import plural

_TONES: dict[Standing, str] = {"on the frontier": "good", "open": "neutral", "dominated": "neutral"}
_KEYS: dict[Standing, str] = {"on the frontier": "on the frontier", "open": "not settled", "dominated": "dominated"}


def frontier(result: Frontier) -> Figure:
    """Return the figure of every system's score against its cost, with the frontier as observed."""
    rows, scale = result.rows, result.scale

    def shown(values: Sequence[float | None]) -> list[float | None]:
        return [None if value is None else value * scale for value in values]

    unit = f" ({result.score_unit})" if result.score_unit else ""
    best = [row.name for row in rows if row.on_frontier]
    less = "" if result.higher_is_better else ", less is better"
    return Figure(
        id="frontier",
        plot="frontier",
        rows={
            "model": [row.name for row in rows],
            "cost": [row.cost for row in rows],
            "cost_low": [row.cost_low for row in rows],
            "cost_high": [row.cost_high for row in rows],
            "estimate": shown([row.estimate for row in rows]),
            "conf_low": shown([row.conf_low for row in rows]),
            "conf_high": shown([row.conf_high for row in rows]),
            "on_frontier": [row.on_frontier for row in rows],
            "kind": [row.standing for row in rows],
            "tone": [_TONES[row.standing] for row in rows],
            "settled": [row.standing != "open" for row in rows],
            "weak": [row.standing == "dominated" for row in rows],
        },
        options={
            "x_title": f"{WORDS[result.cost]}, mean of an item",
            "y_title": f"{result.metric}{unit}{less}, {100 * result.conf_level:g}% intervals both ways",
            "reverse_y": not result.higher_is_better,
            "keys": dict(_KEYS),
        },
        alt=f"{result.metric} against cost of {plural(len(rows), 'system')}; on the frontier: {', '.join(best)}.",
        caption="Score against cost; a filled point on the line is on the frontier in nearly all resamples, a hollow one "
        "is not settled.",
    )
