"""Figures of scenarios: the map of models and scenarios, every change, what scores vary by."""

from typing import Any

from evalstats.analysis.result import as_columns, columns, scaled_values
from evalstats.analysis.scenarios.result import CellRow, ChangeRow, EffectRow, ScenarioMean, ScenarioModel
from evalstats.document.model import Figure
from evalstats.document.numbers import number
from evalstats.grammar import plural

AVERAGE = "average"
MOST_ACROSS, MOST_DOWN = 14, 40
_MOST_EFFECTS = 4
_TONES: dict[str, str] = {"drop": "bad", "gain": "good", "invalid": "caution"}


def drop_map(result: ScenarioModel) -> Figure:
    """Return the map of every model's change in every scenario, beside the score that changes are counted from."""
    models, scenarios, models_down = drawn_names(result)
    base = base_name(result)
    made = {(row.model, row.scenario): row for row in result.drops}
    # A change from the average stands beside the model's mean.
    scores: dict[str, CellRow | ScenarioMean] = {row.name: row for row in result.models}
    if result.reference != AVERAGE:
        scores = {row.model: row for row in result.cells if row.scenario == result.reference}
    digits = result.digits
    cells: list[dict[str, Any]] = []
    for model in models:
        score = _numbers(result, scores.get(model))
        # A score is no change: without a sign.
        words = number(score["estimate"], digits)
        cells.append({"model": model, "scenario": base, **score, "words": words, "base": True, "tone": "neutral"})
        for name in scenarios:
            row = made.get((model, name))
            verdict = "" if row is None else row.verdict
            marks = {"tone": _TONES.get(verdict, "neutral"), "settled": verdict in ("drop", "gain")}
            cells.append({"model": model, "scenario": name, **_numbers(result, row), **marks})
    if not models_down:
        order = [base, *scenarios]
        cells.sort(key=lambda cell: order.index(cell["scenario"]))
    shown = [row for row in result.drops if row.verdict in ("drop", "gain")]
    worse = sum(row.verdict == "drop" for row in shown)
    return Figure(
        id="map",
        plot="heatmap",
        rows=as_columns(cells),
        options={
            "row": "model" if models_down else "scenario",
            "column": "scenario" if models_down else "model",
            "sign": True,
            "digits": digits,
        },
        alt=f"Map of {plural(len(models), 'model')} by {plural(len(scenarios), 'scenario')}: change in {result.metric} from "
        f"{base}; {worse} of {len(result.drops)} changes are shown to be worse.",
        caption=f"The change in {result.metric} from {base}; filled cells are shown by the data, the line in a cell is its "
        "interval.",
    )


def variance_shares(result: ScenarioModel) -> Figure:
    """Return the share of every source in the whole variation; a source without a share is left to the table."""
    rows = [row for row in result.variances if row.share is not None]
    scale, _ = deviation_unit(result)
    shown = [f"{100 * (row.share or 0.0):.0f}%" if (row.share or 0.0) >= 0.01 else "below 1%" for row in rows]
    words = [
        "estimated as 0" if row.singular else f"{share} (SD {number(scale * row.std_dev)})"
        for row, share in zip(rows, shown, strict=True)
    ]
    largest = max(rows, key=lambda row: row.share or 0.0)
    return Figure(
        id="variance-shares",
        plot="bars",
        rows={
            "label": [row.label or row.term for row in rows],
            "estimate": [row.share for row in rows],
            "words": words,
            "faint": [row.singular for row in rows],
        },
        alt=f"What {result.metric} varies by; {largest.label or largest.term} has the largest share, "
        f"{number(100 * (largest.share or 0.0), 0)}%.",
        caption="What scores vary by, as shares of the variance; SD is the standard deviation.",
    )


def deviation_unit(result: ScenarioModel) -> tuple[float, str]:
    """Return what standard deviations are multiplied by to be shown, and their unit; none where the metric has none."""
    return (1.0, "log-odds") if result.family == "binomial" else (result.scale, result.unit)


def base_name(result: ScenarioModel) -> str:
    """Return what changes are counted from, as a heading."""
    return "average" if result.reference == AVERAGE else result.reference


def drawn_names(result: ScenarioModel) -> tuple[list[str], list[str], bool]:
    """Return the models and scenarios of a map, and whether models stand in rows: unless scenarios are many and models fewer."""
    compared = [name for name in result.scenario_names if name != result.reference]
    models_down = len(compared) <= MOST_ACROSS or len(result.model_names) >= len(compared)
    models = result.model_names[: MOST_DOWN if models_down else MOST_ACROSS]
    scenarios = compared[: MOST_ACROSS if models_down else MOST_DOWN]
    return list(models), list(scenarios), models_down


# --- rows ---


def _numbers(result: ScenarioModel, row: ChangeRow | CellRow | ScenarioMean | None) -> dict[str, float | None]:
    values = (None, None, None) if row is None else (row.estimate, row.conf_low, row.conf_high)
    return dict(zip(("estimate", "conf_low", "conf_high"), scaled_values(values, result.scale), strict=True))


# --- levels, reliability ---


def scenario_effects(result: ScenarioModel, *, alone: bool = False) -> list[EffectRow]:
    """Return the levels of random effects that scenarios have a part in, or `alone` those of the scenario itself."""
    names = {result.scenario, "scenario"}
    parts = [({part.strip("` ") for part in row.group.split(":")}, row) for row in result.effects]
    return [row for group, row in parts if group & names and (not alone or group <= names)]


def caterpillar(result: ScenarioModel) -> Figure | None:
    """Return the levels of the scenarios' random effects, those with the fewest levels first; None without any."""
    found: dict[tuple[str, str], list[EffectRow]] = {}
    for row in scenario_effects(result):
        found.setdefault((row.group, row.column), []).append(row)
    order = sorted(found.items(), key=lambda entry: len(entry[1]))[:_MOST_EFFECTS]
    if not order:
        return None
    names = [group if column in ("", "(Intercept)", "1") else f"{column} by {group}" for (group, column), _ in order]
    rows = [(name, row) for name, (_, own) in zip(names, order, strict=True) for row in own]
    apart = sum(row.excludes_zero for _, row in rows)
    scale, unit = deviation_unit(result)
    effects = columns((row for _, row in rows), "estimate", "conf_low", "conf_high")
    return Figure(
        id="effects",
        plot="caterpillar",
        rows={
            "group": [name for name, _ in rows],
            "level": [row.level for _, row in rows],
            **{name: [None if each is None else scale * each for each in values] for name, values in effects.items()},
        },
        options={"unit": unit},
        alt=f"Levels of the random effects {', '.join(names)}; {apart} of {len(rows)} intervals exclude 0.",
        caption="Levels of the random effects, drawn towards 0 by as much as their noise makes likely; dark ones exclude 0.",
    )


def reliability(result: ScenarioModel) -> Figure | None:
    """Return reliability by the number of items, and of trials or scenarios where known; None without a curve."""
    found = result.reliability
    if found is None:
        return None
    facets = [
        facet
        for facet in dict.fromkeys(point.facet for point in found.curve)
        if sum(point.facet == facet for point in found.curve) > 1
    ]
    points = [point for point in found.curve if point.facet in facets]
    if not points:
        return None
    titles = {facet: f"By {facet}s" for facet in facets}
    needed = [each for each in found.needed if each.n is not None and each.facet in facets]
    targets = [(facet, each) for facet in facets for each in sorted({each.target for each in found.needed})]
    return Figure(
        id="reliability",
        plot="curves",
        rows={
            "panel": [titles[point.facet] for point in points] * 2,
            "line": ["relative (order of models)"] * len(points) + ["absolute (scores)"] * len(points),
            "x": [point.n for point in points] * 2,
            "estimate": [*(point.relative for point in points), *(point.absolute for point in points)],
        },
        options={
            "goals": {
                "panel": [titles[facet] for facet, _ in targets],
                "estimate": [target for _, target in targets],
                "words": [f"target {target:g}" for _, target in targets],
            },
            "marks": {
                "panel": [titles[each.facet] for each in needed],
                "x": [each.n for each in needed],
                "estimate": [each.target for each in needed],
                "words": [f"{each.n:,}" for each in needed],
                "tone": ["good" if each.kind == "relative" else "neutral" for each in needed],
            },
            "x_title": {titles[facet]: f"{facet[:1].upper()}{facet[1:]}s" for facet in facets},
            "limits": (0.0, 1.02),
        },
        alt=f"Reliability by the number of {' and '.join(f'{facet}s' for facet in facets)}"
        + (f"; now relative {found.relative:.2f}." if found.relative is not None else "."),
        caption="How reliable order and scores would be with other numbers, all else equal; points reach the target.",
    )
