"""Figures of the page: order over votes, and differences from random pairs with their intervals."""

from collections.abc import Sequence

from evalstats.datasets.arena_sampling import SamplingMeasure, SamplingRow, SamplingStudy
from evalstats.document.blocks import Tone
from evalstats.plots.arena_sampling import OrderLine, OrderPanel, order_curves, order_curves_alt, with_room
from evalstats.plots.intervals import Row, Scale, intervals
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, prose
from evalstats.report.sampling.answers import amount, unit_words

_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


def order_figure(study: SamplingStudy) -> str:
    """Return the figure of the order of pairs over votes."""
    panels = [OrderPanel(title=world.capitalize(), lines=_lines(study, world)) for world in study.worlds]
    caption = "Pairs of models in the right order, by number of votes: mean over simulated arenas"
    return figure_float(
        lambda medium: order_curves(panels, medium=medium),
        "fig-order",
        caption=prose(caption),
        alt=order_curves_alt(panels),
        after=csv_link(study.to_frame(), "arena-sampling.csv", "All rows of the simulation (CSV)"),
    )


def difference_figure(study: SamplingStudy, key: str, label: str, *, last: bool = False) -> str:
    """Return the figure of one measure: differences from random pairs (for coverage from 95%), by world."""
    measure = study.measure(key)
    rows = difference_rows(study, key, last=last)
    scale = _scale(measure)
    caption = (
        f"{measure.title}, against {measure.against}. Filled points: the interval, which holds for all of the study at "
        "once, leaves out 0"
    )
    said = "; ".join(f"{row.label} {row.words}".strip() for row in rows)
    return figure_float(
        lambda medium: intervals(with_room(rows), scale, medium=medium),
        label,
        caption=prose(caption),
        alt=f"{caption}. {said}.",
    )


def difference_rows(study: SamplingStudy, key: str, *, last: bool = False) -> list[Row]:
    """Return what is drawn: a heading for each world and condition (or the last one), a row for each way of sampling."""
    measure = study.measure(key)
    rows: list[Row] = []
    for world in study.worlds:
        found = study.of(key, world=world)
        conditions = list(dict.fromkeys(row.condition for row in found))
        for condition in conditions[-1:] if last else conditions:
            own = [row for row in found if row.condition == condition]
            rows.append(Row(label=_heading(measure, world, condition, own), words="", heading=True))
            rows += [_row(measure, row) for row in own if row.difference is not None or row.sampling != "random"]
    return rows


def _heading(measure: SamplingMeasure, world: str, condition: str, rows: Sequence[SamplingRow]) -> str:
    name = f"{world.capitalize()}, {condition}" if condition else world.capitalize()
    base = next((row for row in rows if row.sampling == "random"), None)
    if base is None or measure.against != "random pairs":
        return name
    return f"{name}; random pairs: {amount(measure, base.estimate)}"


def _row(measure: SamplingMeasure, row: SamplingRow) -> Row:
    scale = 100.0 if measure.unit == "share" else 1.0
    if row.difference is None or row.conf_low is None or row.conf_high is None:
        return Row(label=row.sampling, words=row.reason or "no interval")
    apart = amount(measure, row.difference, sign=True)
    return Row(
        label=row.sampling,
        words=apart if measure.against == "0" else f"{amount(measure, row.estimate)} ({apart})",
        estimate=scale * row.difference,
        low=scale * row.conf_low,
        high=scale * row.conf_high,
        tone=_TONES.get(row.verdict, "neutral"),
        decided=row.verdict in _TONES,
    )


def _scale(measure: SamplingMeasure) -> Scale:
    """Return the axis, with words and tones for the two sides of zero."""
    title = f"{measure.title}: difference from {measure.against}, {unit_words(measure)}"
    if measure.higher_is_better is None:
        return Scale(title=title, left="distances too small", right="distances too large", right_tone="bad")
    if measure.against == "95%":
        return Scale(title=title, left="misses too often", right="covers more often")
    if measure.higher_is_better:
        return Scale(title=title, left="worse", right="better")
    return Scale(title=title, left="better", right="worse", left_tone="good", right_tone="bad")


def _lines(study: SamplingStudy, world: str) -> tuple[OrderLine, ...]:
    rows = [row for row in study.of("order", world=world) if row.estimate is not None]
    names = [name for name in study.samplings if any(row.sampling == name for row in rows)]
    return tuple(
        OrderLine(
            label=name,
            votes=tuple(
                float(row.condition.removesuffix(" votes").replace(",", "")) for row in rows if row.sampling == name
            ),
            values=tuple(100 * (row.estimate or 0.0) for row in rows if row.sampling == name),
        )
        for name in names
    )
