"""Figures of the page: order over votes, and differences from random pairs with their intervals."""

from collections.abc import Sequence
from typing import Any

from evalstats.datasets.arena_sampling import SamplingMeasure, SamplingRow, SamplingStudy
from evalstats.document.model import Figure
from evalstats.report.sampling.answers import amount, unit_words

_TONES: dict[str, str] = {"better": "good", "worse": "bad"}


def order(study: SamplingStudy) -> Figure:
    """Return the percentage of pairs in the right order over the number of votes, a panel for each world."""
    known = [row for row in study.of("order") if row.estimate is not None]
    rows = [
        row
        for world in study.worlds
        for name in study.samplings
        for row in known
        if row.world == world and row.sampling == name
    ]
    values = [100 * (row.estimate or 0.0) for row in rows]
    room = 0.06 * (max(values) - min(values))
    return Figure(
        id="order",
        plot="curves",
        rows={
            "panel": [row.world.capitalize() for row in rows],
            "line": [row.sampling for row in rows],
            "x": [float(row.condition.removesuffix(" votes").replace(",", "")) for row in rows],
            "estimate": values,
        },
        options={"x_title": "Votes", "percent": True, "limits": (min(values) - room, max(values) + room)},
        alt=f"Pairs in the right order by votes, for {len(study.samplings)} ways of sampling.",
        caption="Pairs of models in the right order, by number of votes: mean over simulated arenas",
    )


def difference(study: SamplingStudy, key: str, label: str, *, only: str = "") -> Figure:
    """Return what is drawn: a heading for each world and condition (that begins so), a row for each way of sampling."""
    measure = study.measure(key)
    rows: list[dict[str, Any]] = []
    for world in study.worlds:
        found = study.of(key, world=world)
        conditions = list(dict.fromkeys(row.condition for row in found))
        for condition in conditions:
            if not condition.startswith(only):
                continue
            own = [row for row in found if row.condition == condition]
            heading = _heading(measure, world, condition, own)
            known = [row for row in own if row.difference is not None or row.sampling != "random"]
            rows += [{**_row(measure, row), "group": heading} for row in known]
    caption = (
        f"{measure.title}, against {measure.against}. Filled points: the interval, which holds for all of the study at "
        "once, leaves out 0"
    )
    return Figure(
        id=label,
        plot="forest",
        rows={name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)},
        options=_options(measure),
        alt=f"{measure.title} of each way of sampling, against {measure.against}.",
        caption=caption,
    )


def _heading(measure: SamplingMeasure, world: str, condition: str, rows: Sequence[SamplingRow]) -> str:
    name = f"{world.capitalize()}, {condition}" if condition else world.capitalize()
    base = next((row for row in rows if row.sampling == "random"), None)
    if base is None or measure.against != "random pairs":
        return name
    return f"{name}; random pairs: {amount(measure, base.estimate)}"


def _row(measure: SamplingMeasure, row: SamplingRow) -> dict[str, Any]:
    scale = 100.0 if measure.unit == "share" else 1.0
    if row.difference is None or row.conf_low is None or row.conf_high is None:
        return {"label": row.sampling, "words": row.reason or "no interval"}
    apart = amount(measure, row.difference, sign=True)
    return {
        "label": row.sampling,
        "words": apart if measure.against == "0" else f"{amount(measure, row.estimate)} ({apart})",
        "estimate": scale * row.difference,
        "conf_low": scale * row.conf_low,
        "conf_high": scale * row.conf_high,
        "tone": _TONES.get(row.verdict, "neutral"),
        "settled": row.verdict in _TONES,
    }


def _options(measure: SamplingMeasure) -> dict[str, Any]:
    """Return the axis, with words and tones for the two sides of zero."""
    title = f"{measure.title}: difference from {measure.against}, {unit_words(measure)}"
    sides, tones = ("worse", "better"), ("bad", "good")
    if measure.higher_is_better is None:
        sides, tones = ("distances too small", "distances too large"), ("bad", "bad")
    elif measure.against == "95%":
        sides = ("misses too often", "covers more often")
    elif not measure.higher_is_better:
        sides, tones = ("better", "worse"), ("good", "bad")
    return {"title": title, "sides": sides, "side_tones": tones}
