"""From the lab to live in steps: mix of scenarios, behaviour within them, and what neither explains."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from matplotlib.figure import Figure

from evalstats.analysis.gap.layers import DecompositionRow, Part
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.words import level, metric_side, part_ends, part_text, score_unit
from evalstats.document.blocks import Tone
from evalstats.document.escape import one_line
from evalstats.plots.arena_rows import limits_of
from evalstats.plots.gap_marks import change_tone, draw_interval, draw_point
from evalstats.plots.row_panel import PanelRow, RowPanel, row_figure
from evalstats.plots.style import LIGHT, Medium, tone_color

StepKind = Literal["score", "step", "part of a step", "mark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One row of the waterfall, in the metric's own unit.

    A "step" runs from `start` by its part to the next one; a "part of a step" is drawn fainter (a factor of the mix). A
    "score" is the lab or live, a "mark" the lab weighted to the live mix.
    """

    name: str
    part: Part
    kind: StepKind
    start: float = 0.0

    @property
    def end(self) -> float:
        """Where the step ends, or the score."""
        return self.start + (self.part.estimate or 0.0)

    @property
    def settled(self) -> bool:
        """Whether the interval of the step leaves out 0."""
        low, high = self.part.conf_low, self.part.conf_high
        return low is not None and high is not None and low * high > 0


def gap_waterfall_reason(result: LabLiveGap, *, model: str = "") -> str | None:
    """Say why there is nothing to draw; None where there is."""
    if waterfall_steps(result, model):
        return None
    if result.decomposition is None:
        told = next((why for layer, why in result.left_out if layer == "decomposition"), "the sides share no scenarios")
        return f"the gap cannot be taken apart: {told.rstrip('.')}"
    row = _row(result, model)
    if row is None:
        return f"no decomposition of {one_line(model)}"
    told = row.reason or row.total.reason or row.live.reason or "live less lab is not known"
    return f"the gap cannot be taken apart: {told.rstrip('.')}"


def _row(result: LabLiveGap, model: str) -> DecompositionRow | None:
    if result.decomposition is None:
        return None
    if not model:
        return result.decomposition.overall
    return next((row for row in result.decomposition.rows if row.model == model), None)


def waterfall_steps(result: LabLiveGap, model: str = "") -> list[Step]:
    """Return the rows that `gap_waterfall` draws, from the lab to live; none where a part that it needs is not known."""
    row = _row(result, model)
    if row is None or any(part.estimate is None for part in (row.lab, row.live, row.mix, row.behaviour)):
        return []
    at = row.lab.estimate or 0.0
    steps = [Step(name="Lab", part=row.lab, kind="score")]
    steps.append(Step(name="Mix of scenarios", part=row.mix, kind="step", start=at))
    within = at
    for name, part in row.factors if len(row.factors) > 1 else ():
        if part.estimate is not None:
            steps.append(Step(name=f"– {name}", part=part, kind="part of a step", start=within))
            within += part.estimate
    at = steps[1].end
    steps.append(Step(name="Behaviour within them", part=row.behaviour, kind="step", start=at))
    at = steps[-1].end
    if row.unexplained is not None and row.unexplained.estimate is not None:
        steps.append(Step(name="Unexplained by design", part=row.unexplained, kind="step", start=at))
    steps.append(Step(name="Live", part=row.live, kind="score"))
    marks = (("Lab in the live mix", row.poststratified), ("Lab raked to the live mix", row.raked))
    known = [(name, part) for name, part in marks if part is not None and part.estimate is not None]
    return [*steps, *(Step(name=name, part=part, kind="mark") for name, part in known)]


def gap_waterfall(result: LabLiveGap, *, model: str = "", medium: Medium = "screen") -> Figure:
    """Draw the way from the lab's score to the live one in steps that add up, each with its interval.

    A step is a bar from where the last one ended. It is filled and coloured where its interval leaves out 0 (blue: to the
    better), an empty grey frame where it does not; the line on it is the interval of where it may end. Where there are several
    factors each one's part of the mix is a thin bar. The diamond below is the lab weighted to the live mix.

    Parameters
    ----------
    result
        What `gap` returned.
    model
        A model; empty for the mean over models.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_waterfall_reason`.
    """
    reason = gap_waterfall_reason(result, model=model)
    if reason is not None:
        raise ValueError(reason)
    steps, side = waterfall_steps(result, model), metric_side(result)

    def draw(panel: RowPanel) -> None:
        _draw_joints(panel, steps, side.scale)
        for place, step in enumerate(steps):
            if step.kind in ("score", "mark"):
                _draw_score(panel, place, step, side.scale)
            else:
                _draw_step(panel, place, step, change_tone(step.part.estimate or 0.0, side), side.scale)

    low, high = limits_of([side.scale * value for step in steps for value in _reach(step)])
    unit = score_unit(side)
    whom = model or "mean over models"
    return row_figure(
        [_line(step, result) for step in steps],
        draw,
        title=f"{side.metric}{f', {unit}' if unit else ''}: {whom}",
        columns=("", f"{level(result)} interval"),
        limits=(low, high),
        medium=medium,
    )


def _reach(step: Step) -> list[float]:
    ends = [step.start + value for value in (step.part.conf_low, step.part.conf_high) if value is not None]
    return [step.end, *ends, *([step.start] if step.kind in ("step", "part of a step") else [])]


def _line(step: Step, result: LabLiveGap) -> PanelRow:
    sign = step.kind in ("step", "part of a step")
    value, ends = part_text(step.part, result, sign=sign), part_ends(step.part, result, sign=sign)
    told = f"{value} {ends}" if ends != "–" else f"{value}, no interval"
    if sign and ends != "–" and not step.settled:
        told += ", not settled"
    return PanelRow(
        name=step.name,
        words=(value, ends),
        line=told,
        strong=step.kind == "score",
        faint=step.kind == "part of a step",
    )


def _draw_joints(panel: RowPanel, steps: Sequence[Step], scale: float) -> None:
    """Tie where a step ends to where the next one begins."""
    chain = [place for place, step in enumerate(steps) if step.kind in ("score", "step")]
    for place, after in pairwise(chain):
        x = steps[place].end * scale
        ends = [panel.level(place), panel.level(after)]
        if panel.size.stacked:
            # Words stand between the rows of a phone: a tick below says where the next one begins.
            ends = [panel.level(place), panel.level(place) + 0.24]
        panel.axes.plot([x, x], ends, color=LIGHT.muted, linewidth=0.07 * panel.size.font, zorder=1)


def _draw_score(panel: RowPanel, place: int, step: Step, scale: float) -> None:
    row, mark = panel.level(place), step.kind == "mark"
    if step.part.conf_low is not None and step.part.conf_high is not None:
        draw_interval(panel, row, step.part.conf_low * scale, step.part.conf_high * scale, color=LIGHT.ink)
    face = LIGHT.surface if mark else LIGHT.ink
    draw_point(panel, (step.end * scale, row), "D" if mark else "o", face=face, edge=LIGHT.ink, letters=0.5)


def _draw_step(panel: RowPanel, place: int, step: Step, tone: Tone, scale: float) -> None:
    row, whole = panel.level(place), step.kind == "step"
    color = tone_color(tone) if step.settled else LIGHT.neutral
    half = min(panel.half(0.42 if whole else 0.2), 0.36)
    left, right = sorted((step.start * scale, step.end * scale))
    panel.axes.fill_betweenx(
        [row - half, row + half],
        left,
        right,
        facecolor=color if step.settled else LIGHT.surface,
        alpha=0.55 if whole else 0.35,
        edgecolor=color,
        linewidth=0.08 * panel.size.font,
        zorder=1.5,
    )
    low, high = step.part.conf_low, step.part.conf_high
    if low is not None and high is not None:
        draw_interval(panel, row, (step.start + low) * scale, (step.start + high) * scale, color=color)
    draw_point(
        panel,
        (step.end * scale, row),
        "o",
        face=color if step.settled else LIGHT.surface,
        edge=color,
        letters=0.46 if whole else 0.32,
    )


def gap_waterfall_alt(result: LabLiveGap, *, model: str = "") -> str:
    """Describe `gap_waterfall` in words: every step with its interval, in order."""
    steps = waterfall_steps(result, model)
    if not steps:
        return one_line(gap_waterfall_reason(result, model=model) or "")
    told = "; ".join(f"{step.name.removeprefix('– ')} {_line(step, result).line}" for step in steps)
    side = metric_side(result)
    unit = f" in {score_unit(side)}" if score_unit(side) else ""
    whom = model or "mean over models"
    return one_line(f"Steps from lab to live, {whom}: {side.metric}{unit} with {level(result)} intervals. {told}.")
