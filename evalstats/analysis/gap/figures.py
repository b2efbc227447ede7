"""The figures of lab against live."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evalstats.analysis.gap.result import LabLiveGap, ScenarioGap, SideAccount
from evalstats.analysis.gap.score_scale import error_on_line, off_line, on_line
from evalstats.analysis.gap.shown import Ends, ShownSide, of_parts, share
from evalstats.analysis.result import level, scaled_values
from evalstats.document.model import Figure, Table
from evalstats.document.numbers import titled
from evalstats.grammar import and_list, plural
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import t_quantile

MOST_ROWS = 30
_STEPS = 41
_KEYS = {"gap": "does not do live what the lab leads to expect", "aligned": "within the margin", "open": "open"}


def scores(found: LabLiveGap, table: Table) -> Figure:
    """Return the figure of every model's lab and live score, with the line between them."""
    lab, live = found.lab, found.live
    # By the line, or by the plain difference where no line can be drawn.
    by_line = [row.estimate is not None for row in found.rows]
    verdicts = [
        row.verdict if line else row.difference_verdict or row.verdict
        for row, line in zip(found.rows, by_line, strict=True)
    ]
    values = [(row.estimate if line else row.difference) or 0.0 for row, line in zip(found.rows, by_line, strict=True)]
    kinds = ["open" if verdict in {"inconclusive", "invalid"} else verdict for verdict in verdicts]
    options: dict[str, Any] = {
        "x_title": titled(f"{lab.about.name} in the lab", ShownSide(found, lab).unit),
        "y_title": titled(f"{live.about.name} live", ShownSide(found, live).unit),
        "reverse_x": not lab.about.higher_is_better,
        "reverse_y": not live.about.higher_is_better,
        # The range of a side that is drawn in logits.
        **{
            name: None
            if side.link == "identity"
            else tuple(side.about.scale * end for end in side.about.bounds or (0.0, 1.0))
            for name, side in (("logit_x", lab), ("logit_y", live))
        },
        "keys": {kind: words for kind, words in _KEYS.items() if kind in kinds} if set(kinds) - {"open"} else {},
    }
    line = _line(found)
    if line is not None:
        options |= {"line": line, "line_title": "what the lab leads to expect"}
    if found.same_scale:
        options["identity"] = "live as in the lab"
    return Figure(
        id="scores",
        plot="scatter",
        rows={
            "model": [row.name for row in found.rows],
            "x": [lab.about.scale * row.lab for row in found.rows],
            "x_low": scaled_values([row.lab_low for row in found.rows], lab.about.scale),
            "x_high": scaled_values([row.lab_high for row in found.rows], lab.about.scale),
            "y": [live.about.scale * row.live for row in found.rows],
            "y_low": scaled_values([row.live_low for row in found.rows], live.about.scale),
            "y_high": scaled_values([row.live_high for row in found.rows], live.about.scale),
            "kind": kinds,
            "tone": list(map(_tone, verdicts, values)),
            "settled": [verdict in {"gap", "aligned"} for verdict in verdicts],
            "strong": [verdict == "gap" for verdict in verdicts],
        },
        options=options,
        alt=f"Live score against lab score of {plural(found.n_models, 'model')}, with {level(found)} intervals both ways"
        f"{' and the line between them' if line is not None else ''}.",
        caption=f"Every model in the lab and live, with {level(found)} intervals"
        f"{'; the band holds the line through all of them' if line is not None else ''}",
        table=table,
    )


def _tone(verdict: str, value: float) -> str:
    if verdict == "gap":
        return "good" if value > 0 else "bad"
    return "good" if verdict == "aligned" else "neutral"


def _line(found: LabLiveGap) -> dict[str, list[float]] | None:
    """Return the line over the range of the lab scores, in shown units."""
    ends = [row.lab for row in found.rows]
    low, high = on_line(found.lab, np.array([min(ends), max(ends)], dtype=np.float64)).tolist()
    lab = off_line(found.lab, np.linspace(low, high, _STEPS, dtype=np.float64))
    band = line_band(found, lab)
    if band is None:
        return None
    scaled = (part * found.live.about.scale for part in band)
    names = ("estimate", "conf_low", "conf_high")
    return {"x": (lab * found.lab.about.scale).tolist()} | dict(
        zip(names, (part.tolist() for part in scaled), strict=True)
    )


def line_band(found: LabLiveGap, lab: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return York's line at lab scores in the lab's own unit, and the ends of its pointwise band; None without a line.

    The band is `y(x) ± t sqrt(1 / sum(w) + (x - x̄)² se(slope)²)` with York's weights `w = 1 / (live² + slope² lab² +
    tau²)` and their mean `x̄` (doi:10.1119/1.1632486). It holds the line, not the models, whose true gaps spread about
    it by `tau`; errors that all models share move line and models alike and are not in it.
    """
    line = found.line
    if line is None:
        return None
    at = on_line(found.lab, lab)
    expected = line.intercept + line.slope * at
    noise = [
        error_on_line(found.live, row.live, row.live_std_error) ** 2
        + (line.slope * error_on_line(found.lab, row.lab, row.lab_std_error)) ** 2
        + line.tau**2
        for row in found.rows
    ]
    if not noise or min(noise) <= 0.0:
        alone = off_line(found.live, expected)
        return alone, alone, alone
    weights: FloatArray = 1.0 / np.array(noise, dtype=np.float64)
    total = float(weights.sum())
    middle = float(weights @ on_line(found.lab, np.array([row.lab for row in found.rows], dtype=np.float64))) / total
    error = np.sqrt(1.0 / total + ((at - middle) * line.slope_std_error) ** 2)
    half = t_quantile(found.conf_level, max(line.df, 1)) * error
    low, high = (off_line(found.live, expected + side * half) for side in (-1.0, 1.0))
    return off_line(found.live, expected), low, high


def gaps(found: LabLiveGap, table: Table) -> Figure:
    """Return the figure of every model's gap: at most 30, those that stand out most."""
    rows = [row for row in found.rows if row.estimate is not None]
    most = sorted(rows, key=lambda row: (row.verdict != "gap", row.p_outlier if row.p_outlier is not None else 1.0))
    kept = {row.name for row in most[:MOST_ROWS]}
    shown = sorted((row for row in rows if row.name in kept), key=lambda row: -(row.estimate or 0.0))
    rest = len(rows) - len(shown)
    less = "live minus expected" if found.live.about.higher_is_better else "expected minus live"
    return Figure(
        id="gaps",
        plot="forest",
        rows={
            "model": [row.name for row in shown],
            **_intervals([(row.estimate, row.deciding) for row in shown], found.live),
            "tone": [_tone(row.verdict, row.estimate or 0.0) for row in shown],
            "settled": [row.verdict in {"gap", "aligned"} for row in shown],
            "strong": [row.verdict == "gap" for row in shown],
            "detail": ["beyond the line" if row.extrapolated else "" for row in shown],
        },
        options={
            **_axis(ShownSide(found, found.live), f"Gap: {less}"),
            "margin": None if found.margin is None else found.margin * found.live.about.scale,
            "sides": ("← worse than expected", "better than expected →"),
            "note": f"The other {plural(rest, 'model')} stand out less." if rest else "",
        },
        alt=f"Gap of {plural(len(shown), 'model')} from what the lab leads to expect, with intervals; "
        f"{and_list([row.name for row in shown if row.verdict == 'gap'])} stand out.",
        caption="Each model against the line through the others; filled: settled, adjusted for all models; hollow: open",
        table=table,
    )


def mix(found: LabLiveGap, table: Table) -> Figure | None:
    """Return the figure of the way from the lab's score to the live one: by other tasks, and by other scores on the same."""
    parts = found.decomposition
    if parts is None or parts.overall.total.estimate is None or parts.overall.mix.conf_low is None:
        return None
    row, shown = parts.overall, of_parts(found)
    side = shown.side
    named_parts = [("Other tasks", "", row.mix)]
    named_parts += [(name, "of which", part) for name, part in row.factors if len(row.factors) > 1]
    named_parts.append(("Same tasks, other score", "", row.behaviour))
    if row.unexplained is not None and row.unexplained.estimate:
        named_parts.append(("Tasks of one side alone", "", row.unexplained))
    named_parts.append(("Live minus lab", "", row.total))
    better = 1.0 if side.about.higher_is_better else -1.0
    return Figure(
        id="mix",
        plot="forest",
        rows={
            "label": [name for name, _, _ in named_parts],
            "detail": [detail for _, detail, _ in named_parts],
            **_intervals([(part.estimate, part.ends) for _, _, part in named_parts], side),
            "tone": ["good" if better * (part.estimate or 0.0) > 0 else "bad" for _, _, part in named_parts],
            "strong": [name == "Live minus lab" for name, _, _ in named_parts],
        },
        options={
            "title": titled(f"{side.about.name}, live minus lab, mean over models", side.about.shown_unit),
            "digits": shown.digits,
        },
        alt="Live minus lab, and its parts: other tasks, and other scores on the same tasks, with intervals.",
        caption=f"Live minus lab and its parts, which add up; filled: the {level(found)} interval excludes 0",
        table=table,
    )


def coverage(found: LabLiveGap, table: Table) -> Figure | None:
    """Return the figure of how often each scenario comes up in the lab and live."""
    cells = () if found.decomposition is None else found.decomposition.cells
    if not cells:
        return None
    shown = sorted(cells, key=lambda cell: (-cell.live_share, cell.cell))[:MOST_ROWS]
    rest = len(cells) - len(shown)
    return Figure(
        id="coverage",
        plot="dumbbell",
        rows={
            "label": [cell.cell for cell in shown],
            "start": [100 * cell.lab_share for cell in shown],
            "estimate": [100 * cell.live_share for cell in shown],
            "conf_low": scaled_values([cell.live_share_low for cell in shown], 100),
            "conf_high": scaled_values([cell.live_share_high for cell in shown], 100),
            "loud": [cell.status == "lab never covers" for cell in shown],
            "lab": [share(cell.lab_share) for cell in shown],
            "live": [share(cell.live_share) for cell in shown],
        },
        options={
            "title": "Share, %: □ lab, ● live",
            "columns": {"lab": "Lab", "live": "Live"},
            "note": f"The other {plural(rest, 'scenario')}: in the CSV." if rest else "",
        },
        alt=f"Shares of {plural(len(shown), 'scenario')} in the lab and live, with intervals of the live shares.",
        caption="How often each scenario comes up in the lab and live",
        table=table,
    )


def scenarios(found: LabLiveGap, rows: Sequence[ScenarioGap], table: Table) -> Figure:
    """Return the figure of live minus lab within each scenario, mean over models."""
    shown = [row for row in rows if row.estimate is not None][:MOST_ROWS]
    better = found.live.about.higher_is_better
    return Figure(
        id="scenarios",
        plot="forest",
        rows={
            "label": [row.scenario for row in shown],
            **_intervals([(row.estimate, row.deciding) for row in shown], found.live),
            "tone": [_tone(row.verdict, (row.estimate or 0.0) if better else -(row.estimate or 0.0)) for row in shown],
            "settled": [row.verdict in {"gap", "aligned"} for row in shown],
        },
        options={
            **_axis(ShownSide(found, found.live), "Live minus lab, mean over models"),
            "margin": None if found.margin is None else found.margin * found.live.about.scale,
        },
        alt=f"Live minus lab in {plural(len(shown), 'scenario')}, mean over models, with intervals; "
        f"{and_list([row.scenario for row in shown if row.verdict == 'gap'])} differ.",
        caption="Within each scenario, mean over models; filled: settled, adjusted for all of them; hollow: open",
        table=table,
    )


def forecasts(found: LabLiveGap, table: Table) -> Figure | None:
    """Return the figure of live scores to expect of models that only the lab has."""
    fitted = found.hierarchy
    if fitted is None:
        return None
    new = [row for row in fitted.forecasts if row.expected is not None][:MOST_ROWS]
    if not new:
        return None
    side, shown = found.live, ShownSide(found, found.live)
    ends = [(row.expected, (row.pred_low, row.pred_high)) for row in new]
    options = {
        "title": titled(f"{side.about.name} live", shown.unit),
        "digits": shown.digits,
        "reference": None,
        "reverse": not side.about.higher_is_better,
    }
    return Figure(
        id="forecasts",
        plot="forest",
        rows={
            "model": [row.name for row in new],
            **_intervals(ends, side),
            "dashed": [row.extrapolated for row in new],
        },
        options=options,
        alt=f"Live score to expect of {plural(len(new), 'model')} with a lab score alone, with prediction intervals.",
        caption=f"{level(found)} prediction intervals; a dashed one goes beyond the known models",
        table=table,
    )


def _intervals(values: Sequence[tuple[float | None, Ends]], side: SideAccount) -> dict[str, list[float | None]]:
    return {
        "estimate": scaled_values([estimate for estimate, _ in values], side.about.scale),
        "conf_low": scaled_values([None if ends is None else ends[0] for _, ends in values], side.about.scale),
        "conf_high": scaled_values([None if ends is None else ends[1] for _, ends in values], side.about.scale),
    }


def _axis(shown: ShownSide, title: str) -> dict[str, Any]:
    return {"title": titled(title, shown.step), "digits": shown.digits}
