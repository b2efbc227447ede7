"""Figures of the lab against live: the line, the gaps, ranks, pairs, the mix of scenarios, forecasts."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from evalstats.analysis.gap.result import GapRow, GapVerdict, LabLiveGap, SideAccount
from evalstats.analysis.gap.standardisation import CellPart, DecompositionRow, Part
from evalstats.analysis.gaps.line_band import line_band
from evalstats.analysis.gaps.words import (
    difference_unit,
    ends,
    gap_ends,
    gap_text,
    level,
    metric_side,
    part_ends,
    part_text,
    ranks,
    score_text,
    score_unit,
    share,
    size_text,
    why_no_line,
)
from evalstats.document.model import Figure
from evalstats.document.numbers import plural

MOST_ROWS = 60
MOST_CELLS = 40
MOST_FORECASTS = 20
MOST_CHECKS = 40
UP, DOWN = "▲", "▼"
_UNCOVERED = "lab never covers"
_FORECASTS, _CHECKS = "Only in the lab: what to expect live", "Check: each model predicted by the others"
# What stands in the last column of the mix: a sign first, so that it does not hang on colour.
_SIGNS = {"covered": "", _UNCOVERED: "× not in lab", "live never brings": "not live", "thin": "! thin in lab"}
_PAIRS = {
    "same": ("square", "good", "both sides separate, same order"),
    "contradicted": ("cross", "bad", "both sides separate, opposite order"),
    "lab only": ("left", "neutral", "only the lab separates"),
    "live only": ("right", "neutral", "only live separates"),
    "neither": ("dot", "neutral", "neither separates"),
}

Kind = Literal["gap", "difference"]
Ends = tuple[float | None, float | None]


def scatter(result: LabLiveGap) -> Figure | None:
    """Return every model's live score over its lab score, with the line by which the lab is read; None without models."""
    if not result.rows:
        return None
    by_line = result.line is not None
    rows: list[dict[str, Any]] = []
    for row in result.rows:
        verdict, value = (row.verdict, row.gap) if by_line else (row.difference_verdict, row.difference)
        tone = tone_of(verdict, value)
        kind = {"good": "better", "bad": "worse"}.get(tone, "aligned" if verdict == "aligned" else "open")
        lab, live = result.lab.scale, result.live.scale
        rows.append(
            {"model": row.name, "x": row.lab * lab, "y": row.live * live}
            | _both("x", row.lab_low, row.lab_high, lab)
            | _both("y", row.live_low, row.live_high, live)
            | {"kind": kind, "tone": tone, "settled": verdict in ("gap", "aligned"), "strong": tone != "neutral"}
        )
    than = "expected" if by_line else "in the lab"
    options: dict[str, Any] = {
        "x_title": f"Lab: {side_words(result.lab)}{'' if result.lab.higher_is_better else ', less is better'}",
        "y_title": f"Live: {side_words(result.live)}{'' if result.live.higher_is_better else ', less is better'}",
        "reverse_x": not result.lab.higher_is_better,
        "reverse_y": not result.live.higher_is_better,
        "identity": "live = lab" if result.same_scale else "",
        "keys": {
            "worse": f"worse than {than}",
            "better": f"better than {than}",
            "aligned": "aligned",
            "open": "no gap shown" if by_line else "no difference shown",
        },
        "note": " ".join(_scatter_notes(result)),
    }
    options |= _lines(result)
    flagged = [row["model"] for row in rows if row["strong"]]
    return Figure(
        id="scatter",
        plot="scatter",
        rows=_columns(rows),
        options=options,
        alt=f"Live over lab scores of {plural(len(rows), 'model')}; off the line: {', '.join(flagged) or 'none'}.",
        caption="Live over lab scores with the line by which the lab is read; filled and coloured points are off it.",
    )


def gaps(result: LabLiveGap, kind: Kind = "gap") -> Figure | None:
    """Return every model's gap (or plain difference, live less lab) with its interval and verdict; None without any.

    At most 60 models are drawn, of more those that stand out most; where a margin is declared, the thick part of a line is
    the narrower interval that decides "aligned".
    """
    shown = shown_gaps(result, kind)
    if not shown:
        return None
    rows = [_gap_row(row, result, kind) for row in shown]
    unit = difference_unit(result.live.unit)
    margin = None if result.margin is None else abs(result.margin * result.live.scale)
    n_known = sum((row.gap if kind == "gap" else row.difference) is not None for row in result.rows)
    band = "" if result.margin is None else f"The band is the margin, ±{size_text(result.margin, result)}. "
    rest = n_known - len(shown)
    others = f"The other {plural(rest, 'model')}: in the table." if rest else ""
    what = "live less what the lab leads to expect" if kind == "gap" else "live less lab"
    flagged = [row["model"] for row in rows if row["strong"]]
    return Figure(
        id="gaps" if kind == "gap" else "differences",
        plot="forest",
        rows=_columns(rows),
        options={
            "title": f"{what[0].upper()}{what[1:]}{f' ({unit})' if unit else ''}",
            "sides": ("← worse", "better →"),
            "margin": margin,
            "columns": {"verdict": "Verdict"},
            "note": f"{band}{others}".strip(),
        },
        alt=f"Interval plot of {plural(len(rows), 'model')}: {what}; flagged: {', '.join(flagged) or 'none'}.",
        caption=f"{what[0].upper()}{what[1:]}, with {level(result)} intervals; filled and coloured models are flagged.",
    )


def rank_changes(result: LabLiveGap) -> Figure | None:
    """Return the ranks that the data leave open in the lab and live; None where no rank can be told."""
    known = [row for row in result.rows if row.lab_rank_low is not None or row.live_rank_low is not None]
    if len(result.rows) < 2 or not known:
        return None
    found = climbs(result)
    contradicted = [row["model"] for row in found if row["tone"] != "neutral"]
    notes = [f"{UP} {DOWN}: better or worse live than in the lab, against models that both sides separate."]
    rest = len(result.rows) - len(found)
    said = notes if contradicted else []
    said += [f"The other {plural(rest, 'model')}: in the table."] if rest else []
    return Figure(
        id="ranks",
        plot="bump",
        rows=_columns(found),
        options={"ends": ("Lab", "Live"), "note": " ".join(said)},
        alt=f"Ranks left open of {plural(len(result.rows), 'model')} in the lab and live; contradicted: "
        f"{', '.join(contradicted) or 'none'}.",
        caption="The ranks left open in the lab and live; coloured models are in pairs of which both sides are sure in "
        "opposite orders.",
    )


def pairs(result: LabLiveGap) -> Figure | None:
    """Return which pairs of models both sides put in one order; None where no pair was tested."""
    found = result.agreement.pairs
    matrix = () if found is None else found.matrix
    named = {name for one, other, _ in matrix for name in (one, other)}
    order = [row.name for row in result.rows if row.name in named][:MOST_ROWS]
    if len(order) < 2:
        return None
    kinds = [kind for _, _, kind in matrix]
    rest = len(result.rows) - len(order)
    return Figure(
        id="pairs",
        plot="pairs",
        rows={
            "model_a": [one for one, _, _ in matrix],
            "model_b": [other for _, other, _ in matrix],
            "kind": kinds,
        },
        options={
            "kinds": dict(_PAIRS),
            "order": order,
            "counts": {kind: kinds.count(kind) for kind in _PAIRS},
            "note": f"The other {plural(rest, 'model')}: in the table." if rest else "",
        },
        alt=f"{plural(len(kinds), 'pair')} of models, the best live first: {kinds.count('same')} in the same order on both "
        f"sides, {kinds.count('contradicted')} contradicted.",
        caption="Whether lab and live separate each pair of models, and in which order.",
    )


def waterfall(result: LabLiveGap, model: str = "") -> Figure | None:
    """Return the way from the lab's score to the live one in steps; None where a part that it needs is not known."""
    row = _decomposed(result, model)
    if row is None or any(part.estimate is None for part in (row.lab, row.live, row.mix, row.behaviour)):
        return None
    side = metric_side(result)
    steps: list[tuple[str, str, Part]] = [("Lab", "score", row.lab), ("Mix of scenarios", "step", row.mix)]
    steps += [(f"– {name}", "part", part) for name, part in row.factors if len(row.factors) > 1]
    steps.append(("Behaviour within them", "step", row.behaviour))
    if row.unexplained is not None:
        steps.append(("Unexplained by design", "step", row.unexplained))
    steps.append(("Live", "score", row.live))
    marks = (("Lab in the live mix", row.poststratified), ("Lab raked to the live mix", row.raked))
    steps += [(name, "mark", part) for name, part in marks if part is not None]
    steps = [(name, kind, part) for name, kind, part in steps if part.estimate is not None]
    unit = score_unit(side)
    return Figure(
        id="waterfall",
        plot="waterfall",
        rows=_columns([_step_row(step, result, side) for step in steps]),
        options={
            "title": f"{side.metric}{f', {unit}' if unit else ''}: {model or 'mean over models'}",
            "columns": {"interval": f"{level(result)} interval"},
        },
        alt=f"From lab to live ({model or 'mean over models'}): mix {part_text(row.mix, result)}, behaviour within scenarios "
        f"{part_text(row.behaviour, result)}.",
        caption="From the lab's score to the live one; filled steps have an interval that leaves out 0.",
    )


def mix(result: LabLiveGap) -> Figure | None:
    """Return how often each scenario comes up in the lab and live, at most 40; None where no shares are known."""
    cells = shown_cells(result)
    if not cells or result.decomposition is None:
        return None
    side, rest = metric_side(result), len(result.decomposition.cells) - len(cells)
    missing = [cell.cell for cell in result.decomposition.cells if cell.status == _UNCOVERED]
    columns = {"lab": "Lab", "live": "Live", "rates": "Rates"}
    if any(cell.status != "covered" for cell in cells):
        columns["sign"] = ""
    return Figure(
        id="mix",
        plot="dumbbell",
        rows={
            "label": [cell.cell for cell in cells],
            "start": [100 * cell.lab_share for cell in cells],
            "estimate": [100 * cell.live_share for cell in cells],
            "conf_low": [None if cell.live_share_low is None else 100 * cell.live_share_low for cell in cells],
            "conf_high": [None if cell.live_share_high is None else 100 * cell.live_share_high for cell in cells],
            "loud": [cell.status == _UNCOVERED for cell in cells],
            "lab": [share(cell.lab_share) for cell in cells],
            "live": [_live_share(cell) for cell in cells],
            "rates": [
                " → ".join(score_text(rate, result, side, unit=False) for rate in (cell.lab_rate, cell.live_rate))
                for cell in cells
            ],
            "sign": [_SIGNS[cell.status] for cell in cells],
        },
        options={
            "title": "Share, %: □ lab, ● live",
            "columns": columns,
            "note": f"The other {plural(rest, 'scenario')}: in the table." if rest else "",
        },
        alt=f"Shares of {plural(len(cells), 'scenario')} in the lab and live; never in the lab: {', '.join(missing) or 'none'}.",
        caption=f"How often each scenario comes up in the lab and live, with {level(result)} intervals of the live shares.",
    )


def forecasts(result: LabLiveGap) -> Figure | None:
    """Return prediction intervals of models that only the lab has, and how the method fared on shared ones; None without."""
    fitted = result.hierarchy
    if fitted is None:
        return None
    sign, scale = (-1.0 if result.live.higher_is_better else 1.0), result.live.scale
    known = [each for each in fitted.forecasts if each.expected is not None]
    ahead = sorted(known, key=lambda each: (sign * (each.expected or 0.0), each.name))[:MOST_FORECASTS]
    first = sorted(fitted.left_out, key=lambda each: each.inside)[:MOST_CHECKS]
    checks = [each for each in fitted.left_out if any(each is one for one in first)]
    rows: list[dict[str, Any]] = [
        {
            "model": each.name,
            "group": _FORECASTS,
            "estimate": _times(each.expected, scale),
            **_both("conf", each.pred_low, each.pred_high, scale),
            "words": _expected(each.expected, (each.pred_low, each.pred_high), result),
            "further": f"rank {ranks(each.rank_low, each.rank_high)}" if each.rank_low else "",
            "dashed": each.extrapolated,
        }
        for each in ahead
    ]
    for each in checks:
        came = score_text(each.live, result, result.live, unit=False)
        rows.append(
            {
                "model": each.name,
                "group": _CHECKS,
                "estimate": each.expected * scale,
                **_both("conf", each.pred_low, each.pred_high, scale),
                "words": _expected(each.expected, (each.pred_low, each.pred_high), result),
                "further": f"came {came}" if each.inside else f"× came {came}",
                "observed": each.live * scale,
                "strong": not each.inside,
            }
        )
    if not rows:
        return None
    outside = sum(not each.inside for each in fitted.left_out)
    return Figure(
        id="forecasts",
        plot="forest",
        rows=_columns([{"settled": False, "tone": "neutral", **row} for row in rows]),
        options={
            "title": f"Live: {side_words(result.live)}",
            "reference": None,
            "reverse": not result.live.higher_is_better,
            "columns": {"further": ""},
        },
        alt=f"Prediction intervals of {plural(len(ahead), 'model')} that only the lab has; of "
        f"{plural(len(fitted.left_out), 'model')} predicted by the others {outside} came out outside.",
        caption="What to expect live of models that only the lab has, and how such predictions fared on shared models (×: what "
        "came out).",
    )


def why_not(result: LabLiveGap, name: str, model: str = "") -> str:
    """Say why a figure cannot be drawn, by its name."""
    left = dict(result.left_out)
    parts = result.agreement.pairs
    if name == "waterfall" and result.decomposition is not None:
        row = _decomposed(result, model)
        told = "" if row is None else row.reason or row.total.reason or row.live.reason
        return f"the gap cannot be taken apart: {(told or 'live less lab is not known').rstrip('.')}"
    said = {
        "scatter": "no model has both a lab and a live score",
        "gaps": f"no model's gap can be told: {_no_line(result)}",
        "differences": "lab and live are not on one scale, or have no errors",
        "ranks": f"no rank can be told on either side: {_no_line(result)}",
        "pairs": f"no pair can be compared on both sides: {(parts and parts.reason) or 'no pair was tested'}",
        "waterfall": f"the gap cannot be taken apart: {left.get('decomposition', 'the sides share no scenarios')}",
        "mix": f"the live mix is not known: {left.get('decomposition', 'no shares by scenario are known')}",
        "forecasts": f"no live score can be predicted: {left.get('hierarchy', 'no prediction was made')}",
    }
    return said[name].rstrip(".")


# --- what is drawn ---


def tone_of(verdict: GapVerdict | None, value: float | None) -> str:
    """Return the tone of a gap: gaps have the direction of what is better on every metric, so their sign is all that counts.

    Examples
    --------
    >>> tone_of("gap", -0.2), tone_of("gap", 0.2), tone_of("inconclusive", -0.2)
    ('bad', 'good', 'neutral')
    """
    if verdict != "gap" or value is None:
        return "neutral"
    return "good" if value > 0 else "bad"


def verdict_words(verdict: GapVerdict | None, value: float | None, *, material: bool = False) -> str:
    """Write a verdict with a sign of its direction, so that it does not hang on colour.

    Examples
    --------
    >>> verdict_words("gap", -0.2, material=True), verdict_words("aligned", 0.01), verdict_words(None, None)
    ('▼ gap, material', 'aligned', 'invalid')
    """
    if verdict == "gap" and value is not None:
        return f"{UP if value > 0 else DOWN} gap{', material' if material else ''}"
    return verdict or "invalid"


def side_words(side: SideAccount) -> str:
    """Name a side: its metric, where it comes from, and the unit of its scores."""
    unit = score_unit(side)
    where = f" on {side.name}" if side.name and side.name != side.metric else ""
    return f"{side.metric}{where}" + (f" ({unit})" if unit and unit not in side.metric else "")


def shown_gaps(result: LabLiveGap, kind: Kind = "gap") -> list[GapRow]:
    """Return the rows of `gaps`, the largest on top; of more than 60 those that are flagged or stand out most."""
    if kind == "gap":
        known = [row for row in result.rows if row.gap is not None]
        known.sort(key=lambda row: (row.verdict != "gap", 1.0 if row.p_outlier is None else row.p_outlier))
        return sorted(known[:MOST_ROWS], key=lambda row: (-(row.gap or 0.0), row.name))
    known = [row for row in result.rows if row.difference is not None]
    known.sort(key=lambda row: (row.difference_verdict != "gap", -abs(row.difference or 0.0)))
    return sorted(known[:MOST_ROWS], key=lambda row: (-(row.difference or 0.0), row.name))


def shown_cells(result: LabLiveGap) -> list[CellPart]:
    """Return the cells of `mix`: those that the lab never covers on top, then by live share; at most 40."""
    cells = () if result.decomposition is None else result.decomposition.cells
    order = sorted(cells, key=lambda each: (each.status != _UNCOVERED, -each.live_share, -each.lab_share, each.cell))
    return order[:MOST_CELLS]


def climbs(result: LabLiveGap) -> list[dict[str, Any]]:
    """Return each model's place by estimate and its set of ranks on either side, in the order live; at most 60.

    Blue are models that win pairs live which they lose in the lab, vermillion the reverse, ink those with as many of both.
    """
    found = result.agreement.pairs
    told = () if found is None else found.contradictions
    lab, live = _places(result, "lab"), _places(result, "live")
    rows: list[dict[str, Any]] = []
    for row in result.rows:
        won = sum(each.better_live == row.name for each in told)
        lost = sum(each.better_lab == row.name for each in told)
        tone = "neutral" if won + lost == 0 else "good" if won > lost else "bad" if lost > won else "plain"
        rows.append(
            {
                "model": row.name,
                "start_rank": lab[row.name],
                "end_rank": live[row.name],
                "start_low": row.lab_rank_low,
                "start_high": row.lab_rank_high,
                "end_low": row.live_rank_low,
                "end_high": row.live_rank_high,
                "tone": tone,
                "sign": {"good": UP, "bad": DOWN}.get(tone, ""),
                "weight": won + lost,
            }
        )
    kept = sorted(rows, key=lambda row: (-row["weight"], row["end_rank"]))[:MOST_ROWS]
    return sorted(kept, key=lambda row: row["end_rank"])


def _places(result: LabLiveGap, side: str) -> dict[str, int]:
    """Return each model's place by estimate; equal ones stand in the order of the result."""
    better = (result.lab if side == "lab" else result.live).higher_is_better
    order = sorted(result.rows, key=lambda row: (-1 if better else 1) * (row.lab if side == "lab" else row.live))
    return {row.name: place for place, row in enumerate(order, 1)}


def _no_line(result: LabLiveGap) -> str:
    return why_no_line(result) or "no line could be drawn from lab to live"


def _decomposed(result: LabLiveGap, model: str) -> DecompositionRow | None:
    if result.decomposition is None:
        return None
    if not model:
        return result.decomposition.overall
    return next((row for row in result.decomposition.rows if row.model == model), None)


# --- rows ---


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def _times(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _both(name: str, low: float | None, high: float | None, scale: float) -> dict[str, float | None]:
    return {f"{name}_low": _times(low, scale), f"{name}_high": _times(high, scale)}


def _lines(result: LabLiveGap) -> dict[str, Any]:
    """Return York's line with its band over the lab scores that there are, and the ordinary one; beyond them both are a guess."""
    if result.line is None:
        return {}
    lab = [row.lab for row in result.rows]
    x = np.linspace(min(lab), max(lab), 41, dtype=np.float64)
    lab_scale, live_scale = result.lab.scale, result.live.scale
    found, options = line_band(result, x), dict[str, Any]()
    if found is not None:
        line, low, high = (each * live_scale for each in found)
        options["line"] = {
            "x": (x * lab_scale).tolist(),
            "estimate": line.tolist(),
            "conf_low": low.tolist(),
            "conf_high": high.tolist(),
        }
        options["line_title"] = f"York's line, {100 * result.conf_level:g}% band"
    ordinary = next((each for each in result.line.others if each.key == "ols"), None)
    if ordinary is not None:
        y = (ordinary.intercept + ordinary.slope * x) * live_scale
        options["other_line"] = {"x": (x * lab_scale).tolist(), "estimate": y.tolist()}
        options["other_title"] = "least squares"
    return options


def _scatter_notes(result: LabLiveGap) -> list[str]:
    bare = [name for name, side in (("lab", result.lab), ("live", result.live)) if side.errors == "none"]
    notes = [] if result.line is not None else [f"No line: {_no_line(result).rstrip('.')}."]
    if bare:
        whose = "Neither side has" if len(bare) == 2 else f"The {bare[0]} scores have no"
        notes.insert(0, f"{whose} standard errors.")
    return notes


def _gap_row(row: GapRow, result: LabLiveGap, kind: Kind) -> dict[str, Any]:
    scale = result.live.scale
    low: float | None
    high: float | None
    if kind == "difference":
        value, low, high = row.difference or 0.0, row.difference_low, row.difference_high
        verdict, material = row.difference_verdict, False
    else:
        known = row.adjusted_low is not None and row.adjusted_high is not None
        low, high = (row.adjusted_low, row.adjusted_high) if known else (row.conf_low, row.conf_high)
        value, verdict, material = row.gap or 0.0, row.verdict, bool(row.material)
    shown = gap_text(value, result, unit=False)
    narrow = result.margin is not None and kind == "gap"
    return {
        "model": row.name,
        "estimate": value * scale,
        **_both("conf", low, high, scale),
        **(_both("inner", row.equivalence_low, row.equivalence_high, scale) if narrow else {}),
        "words": f"{shown}, no interval" if low is None or high is None else f"{shown} {gap_ends(low, high, result)}",
        "verdict": verdict_words(verdict, value, material=material),
        "tone": tone_of(verdict, value),
        "settled": verdict in ("gap", "aligned"),
        "strong": verdict == "gap",
    }


def _step_row(step: tuple[str, str, Part], result: LabLiveGap, side: SideAccount) -> dict[str, Any]:
    name, kind, part = step
    sign = kind in ("step", "part")
    better = ((part.estimate or 0.0) > 0) == side.higher_is_better
    return {
        "label": name,
        "kind": kind,
        "estimate": _times(part.estimate, side.scale),
        **_both("conf", part.conf_low, part.conf_high, side.scale),
        "tone": ("good" if better else "bad") if sign else "",
        "words": part_text(part, result, sign=sign),
        "interval": part_ends(part, result, sign=sign),
    }


def _live_share(cell: CellPart) -> str:
    if cell.live_share_low is None or cell.live_share_high is None:
        return share(cell.live_share)
    low, high = (share(end).rstrip("%") for end in (cell.live_share_low, cell.live_share_high))
    return f"{share(cell.live_share)} [{low}, {high}]"


def _expected(value: float | None, predicted: Ends, result: LabLiveGap) -> str:
    shown = score_text(value, result, result.live, unit=False)
    if predicted[0] is None or predicted[1] is None:
        return f"{shown}, no interval"
    return f"{shown} {ends(*predicted, result, result.live)}"
