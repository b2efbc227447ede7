"""Numbers of either side in a reader's units, and the figures of lab against live."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalstats.analysis.gap.result import (
    CellPart,
    CoefficientRow,
    GapRow,
    GapVerdict,
    LabLiveGap,
    PartRow,
    ScenarioGap,
    SideAccount,
    Source,
    SourceInterval,
)
from evalstats.analysis.gap.score_scale import error_on_line, off_line, on_line
from evalstats.analysis.result import Estimate, level, scaled_values
from evalstats.document.model import Column, Figure, Table, Tone
from evalstats.document.numbers import interval_words, number, p_words, scaled, titled
from evalstats.grammar import and_list, plural
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import t_quantile

Ends = tuple[float | None, float | None] | None

_MOST_DIGITS = 6
# How verdicts of tables stand out.
TONES: dict[str, Tone] = {"gap": "bad", "aligned": "good"}
# Where errors are unknown, a hundredth of the spread between models is written.
_FINE = 100.0
_PERCENT = frozenset({"%", "pp"})
_UNITS = {"rating": "rating points"}


def is_share(side: SideAccount) -> bool:
    """Whether scores are shares, written in percent."""
    return side.unit in _PERCENT


def score_unit(side: SideAccount) -> str:
    """Return the unit of a score, in a reader's words."""
    return "%" if is_share(side) else _UNITS.get(side.unit, side.unit)


def difference_unit(unit: str) -> str:
    """Return the unit of a difference in a reader's words."""
    return "pp" if unit in _PERCENT else _UNITS.get(unit, unit)


def digits_of(found: LabLiveGap, side: SideAccount) -> int:
    """Return how many decimals scores of one side get: those that show the first digit of a usual standard error."""
    lab = side is found.lab
    errors = [row.lab_std_error if lab else row.live_std_error for row in found.rows]
    known = sorted(abs(side.scale) * error for error in errors if error)
    if known:
        return _decimals(known[len(known) // 2], side)
    values = [side.scale * (row.lab if lab else row.live) for row in found.rows]
    spread = max(values, default=0.0) - min(values, default=0.0)
    return _decimals(spread / _FINE, side) if spread > 0 else 1


def _decimals(size: float, side: SideAccount) -> int:
    least = 1 if is_share(side) else 0
    return min(max(least, -math.floor(math.log10(size))), _MOST_DIGITS)


def score_column(found: LabLiveGap, side: SideAccount, title: str, *, spare: bool = False) -> Column:
    """Return a column of scores of one side."""
    return Column(title=title, kind="number", digits=digits_of(found, side), scale=side.scale, spare=spare)


def difference_column(found: LabLiveGap, side: SideAccount, title: str, *, spare: bool = False) -> Column:
    """Return a column of differences of scores of one side."""
    digits = digits_of(found, side)
    return Column(title=title, kind="number", digits=digits, scale=side.scale, sign=True, spare=spare)


def ends_column(
    found: LabLiveGap, side: SideAccount, title: str = "", *, sign: bool = True, spare: bool = False
) -> Column:
    """Return a column of intervals in the unit of one side."""
    digits = digits_of(found, side)
    title = title or f"{level(found)} CI"
    return Column(title=title, kind="interval", digits=digits, scale=side.scale, sign=sign, spare=spare)


def score_text(value: float | None, found: LabLiveGap, side: SideAccount) -> str:
    """Write a score of one side, with a percent sign where it is a share."""
    return f"{score_column(found, side, '').written(value)}{'%' if is_share(side) else ''}"


def uncovered(found: LabLiveGap) -> tuple[list[CellPart], list[CellPart]]:
    """Return the cells of live use that the lab has no item of, and those it has few of, the most frequent first."""
    cells = [] if found.decomposition is None else sorted(found.decomposition.cells, key=lambda cell: -cell.live_share)
    none, thin = (
        [cell for cell in cells if cell.status == status and cell.live_share > 0]
        for status in ("lab never covers", "thin")
    )
    return none, thin


def cell_names(cells: Sequence[CellPart]) -> str:
    """Write some names of cells."""
    return and_list([cell.cell for cell in cells], 3)


def difference_text(value: float | None, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write a difference with its sign and unit, in the live side's unit unless another is given."""
    side = side or found.live
    unit = difference_unit(side.unit)
    return f"{scaled(value, side.scale, digits_of(found, side), sign=True)} {unit}".rstrip()


def size_text(value: float, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write the size of a difference without its sign."""
    return difference_text(abs(value), found, side).lstrip("+")


def points(value: float, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write the size of a difference as a headline does: "10 points"."""
    side = side or found.live
    size = abs(value) * side.scale
    digits = 0 if size >= 2 else digits_of(found, side)
    unit = "points" if is_share(side) else difference_unit(side.unit)
    return f"{number(size, digits)} {unit}".rstrip()


def ends_text(ends: Ends, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write an interval as running text does: "95% CI −4.3 to +3.2"; "" where there is none."""
    if ends is None or None in ends:
        return ""
    side = side or found.live
    return f"{level(found)} CI {interval_words(*ends, side.scale, digits_of(found, side), sign=True)}"


def told(estimate: Estimate | None, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write a difference with its interval: "−0.5 pp, 95% CI −4.3 to +3.2"."""
    if estimate is None:
        return "–"
    return ", ".join(
        filter(None, (difference_text(estimate.estimate, found, side), ends_text(estimate.ends, found, side)))
    )


def printed(value: float, found: LabLiveGap) -> float:
    """Return a gap or level as printed scores differ, whichever direction is better: above 0 of it is always better."""
    return value if found.live.higher_is_better else -value


def printed_ends(ends: Ends, found: LabLiveGap) -> Ends:
    """Return an interval of a gap or level as printed scores differ."""
    if ends is None or found.live.higher_is_better:
        return ends
    low, high = ends
    return None if high is None else -high, None if low is None else -low


def metric_side(found: LabLiveGap) -> SideAccount:
    """Return the side in whose numbers parts and drops are told: where scales differ they are those of the lab."""
    return found.live if found.same_scale else found.lab


def share(value: float | None, digits: int = 0) -> str:
    """Write a share in percent that is neither 0 nor 100 by rounding.

    >>> share(0.0004), share(0.31), share(0.9999), share(0.0), share(None)
    ('<1%', '31%', '>99%', '0%', '–')
    """
    if value is None:
        return "–"
    shown = f"{number(100 * value, digits)}%"
    if 0 < value < 1 and round(100 * value, digits) == 0:
        return "<1%"
    return ">99%" if 0 < value < 1 and round(100 * value, digits) == 100 else shown


def spread_text(value: float, found: LabLiveGap) -> str:
    """Write a standard deviation of gaps, which has the scale of the line."""
    return size_text(value, found) if found.live.link == "identity" else f"{number(value, 2)} logits"


def flagged(found: LabLiveGap) -> list[GapRow]:
    """Return the rows with a gap, the largest first."""
    rows = [row for row in found.rows if row.verdict == "gap"]
    return sorted(rows, key=lambda row: -abs(row.estimate or 0.0))


def apart(found: LabLiveGap) -> list[GapRow]:
    """Return the rows whose live score differs from the lab's on one scale, the largest difference first."""
    rows = [row for row in found.rows if row.difference_verdict == "gap"]
    return sorted(rows, key=lambda row: -abs(row.difference or 0.0))


def part_label(row: PartRow) -> str:
    """Return what a part of the order is called in a sentence."""
    if row.kind == "top":
        return f"best {row.n_models} live"
    return f"best {row.n_models} in the lab" if row.kind == "lab top" else row.label


def part_ends(row: PartRow) -> tuple[float, float] | None:
    """Return the interval of agreement in a part of the order; of no width where all its pairs are separated."""
    if row.conf_low is None or row.conf_high is None:
        return None
    return row.conf_low, row.conf_high


def verdict_words(verdict: str) -> str:
    """Return a verdict as a table writes it."""
    return {"inconclusive": "open", "invalid": "–"}.get(verdict, verdict)


def these_models(row: CoefficientRow) -> SourceInterval | None:
    """Return the interval of a coefficient for these very models: by all noise there is."""
    return _first(row, "items and votes", "votes", "items")


def models_like_these(row: CoefficientRow) -> SourceInterval | None:
    """Return the interval of a coefficient for other models like these."""
    return _first(row, "all", "models")


def _first(row: CoefficientRow, *sources: Source) -> SourceInterval | None:
    found = (row.interval(source) for source in sources)
    return next((each for each in found if each and each.conf_low is not None and each.conf_high is not None), None)


def spearman_words(found: LabLiveGap) -> str:
    """Write the interval of Spearman's coefficient, and what it is of: true scores, or scores as measured."""
    row = found.agreement.of("spearman")
    each = models_like_these(row) or these_models(row)
    if each is None:
        return p_words(row.p_value)
    return f"{level(found)} CI {interval_words(each.conf_low, each.conf_high, digits=2)} for {_WHOM[each.source]}"


_WHOM: dict[Source, str] = {
    "items and votes": "the true scores of these models",
    "items": "the true lab scores of these models",
    "votes": "the true live scores of these models",
    "models": "models like these, as measured",
    "all": "models like these, as measured",
}


def grouped(found: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Collect names under the same reason, in the order of their first appearance.

    >>> grouped([("too few", "a"), ("no error", "b"), ("too few", "c")])
    [('too few', ['a', 'c']), ('no error', ['b'])]
    """
    collected: dict[str, list[str]] = {}
    for reason, name in found:
        collected.setdefault(reason.rstrip("."), []).append(name)
    return list(collected.items())


MOST_ROWS = 30
_STEPS = 41
_KEYS = {"gap": "does not do live what the lab leads to expect", "aligned": "within the margin", "open": "open"}


def scores(found: LabLiveGap, table: Table) -> Figure:
    """Return the figure of every model's lab and live score, with the line between them."""
    lab, live = found.lab, found.live
    verdicts = [_shown_verdict(row) for row in found.rows]
    kinds = ["open" if verdict in {"inconclusive", "invalid"} else verdict for verdict in verdicts]
    options: dict[str, Any] = {
        "x_title": titled(f"{lab.metric} in the lab", score_unit(lab)),
        "y_title": titled(f"{live.metric} live", score_unit(live)),
        "reverse_x": not lab.higher_is_better,
        "reverse_y": not live.higher_is_better,
        "logit_x": _ends_of(lab),
        "logit_y": _ends_of(live),
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
            "x": [lab.scale * row.lab for row in found.rows],
            "x_low": scaled_values([row.lab_low for row in found.rows], lab.scale),
            "x_high": scaled_values([row.lab_high for row in found.rows], lab.scale),
            "y": [live.scale * row.live for row in found.rows],
            "y_low": scaled_values([row.live_low for row in found.rows], live.scale),
            "y_high": scaled_values([row.live_high for row in found.rows], live.scale),
            "kind": kinds,
            "tone": [_tone(verdict, _shown_gap(row)) for row, verdict in zip(found.rows, verdicts, strict=True)],
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


def _ends_of(side: SideAccount) -> tuple[float, float] | None:
    """Return the range of a side that is drawn in logits, as shown."""
    return None if side.link == "identity" else (side.scale * (side.low or 0.0), side.scale * (side.high or 1.0))


def _shown_verdict(row: GapRow) -> GapVerdict:
    """Return the verdict by the line, or by the plain difference where no line can be drawn."""
    return row.verdict if row.estimate is not None else row.difference_verdict or row.verdict


def _shown_gap(row: GapRow) -> float:
    return (row.estimate if row.estimate is not None else row.difference) or 0.0


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
    scaled = (part * found.live.scale for part in band)
    names = ("estimate", "conf_low", "conf_high")
    return {"x": (lab * found.lab.scale).tolist()} | dict(zip(names, (part.tolist() for part in scaled), strict=True))


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
    less = "live less expected" if found.live.higher_is_better else "expected less live"
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
            **_axis(found, f"Gap: {less}"),
            "margin": None if found.margin is None else found.margin * found.live.scale,
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
    row, side = parts.overall, metric_side(found)
    steps = [("Lab", "score", row.lab), ("Other tasks", "step", row.mix)]
    steps += [(name, "part", part) for name, part in row.factors if len(row.factors) > 1]
    steps.append(("Same tasks, other score", "step", row.behaviour))
    if row.unexplained is not None and row.unexplained.estimate:
        steps.append(("Tasks of one side alone", "step", row.unexplained))
    steps.append(("Live", "score", row.live))
    if row.poststratified is not None and row.poststratified.estimate is not None:
        steps.append(("Lab in the live mix", "mark", row.poststratified))
    better = 1.0 if side.higher_is_better else -1.0
    return Figure(
        id="mix",
        plot="waterfall",
        rows={
            "label": [name for name, _, _ in steps],
            "kind": [kind for _, kind, _ in steps],
            **_intervals([(part.estimate, part.ends) for _, _, part in steps], side),
            "tone": [
                "" if kind in {"score", "mark"} else "good" if better * (part.estimate or 0.0) > 0 else "bad"
                for _, kind, part in steps
            ],
            "words": [
                scaled(part.estimate, side.scale, digits_of(found, side), sign=kind in {"step", "part"})
                for _, kind, part in steps
            ],
        },
        options={
            "title": titled(f"{side.metric}, mean over models", score_unit(side)),
            "digits": digits_of(found, side),
        },
        alt="From the lab's score to the live one: by other tasks, then by other scores on the same tasks, with intervals.",
        caption=f"From the lab's score to the live one; filled steps have a {level(found)} interval that leaves out 0",
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
    better = found.live.higher_is_better
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
            **_axis(found, "Live minus lab, mean over models"),
            "margin": None if found.margin is None else found.margin * found.live.scale,
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
    side = found.live
    ends = [(row.expected, (row.pred_low, row.pred_high)) for row in new]
    options = _axis(found, titled(f"{side.metric} live", score_unit(side)), unit=False)
    options |= {"reference": None, "reverse": not side.higher_is_better}
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


def _intervals(
    values: Sequence[tuple[float | None, tuple[float | None, float | None] | None]], side: SideAccount
) -> dict[str, list[float | None]]:
    return {
        "estimate": scaled_values([estimate for estimate, _ in values], side.scale),
        "conf_low": scaled_values([None if ends is None else ends[0] for _, ends in values], side.scale),
        "conf_high": scaled_values([None if ends is None else ends[1] for _, ends in values], side.scale),
    }


def _axis(found: LabLiveGap, title: str, side: SideAccount | None = None, *, unit: bool = True) -> dict[str, Any]:
    side = side or found.live
    return {
        "title": titled(title, difference_unit(side.unit)) if unit else title,
        "digits": digits_of(found, side),
    }
