"""For which scenarios the lab does not predict, and whether the drop from ideal to non-ideal users forecasts the gap."""

from evalstats.analysis.arenas.wording_tables import table_of
from evalstats.analysis.gap.layers import DropForecast, DropRow, Part, ScenarioGaps
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.wording_parts import scenario_ends
from evalstats.analysis.gaps.words import (
    capital,
    coefficient,
    gap_text,
    gap_unit,
    grouped,
    level,
    metric_side,
    of,
    p_text,
    part_ends,
    part_text,
    score_unit,
    share,
    some,
    stopped,
)
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import number, p_value, plural

LINES = 20
_CELLS = 10
_NAMED = 6


# --- scenarios ---


def scenario_blocks(found: LabLiveGap) -> list[Block]:
    """Return live less lab in each scenario, over models and, where it is shown, for single models."""
    scenarios = found.scenario_gaps
    if scenarios is None:
        return []
    blocks: list[Block] = [
        Heading(text=f"Where the lab does not predict, by {scenarios.factor}", level=2),
        means_table(found, scenarios),
    ]
    table = single_table(found, scenarios)
    if table is not None:
        blocks.append(table)
    blocks.append(Bullets(items=tuple(_beside(found, scenarios, listed=table is not None))))
    return blocks


def means_table(found: LabLiveGap, scenarios: ScenarioGaps) -> Table:
    """Live less lab in each scenario, mean over models; the largest first."""
    order = sorted(scenarios.means, key=lambda row: (row.estimate is None, -abs(row.estimate or 0.0)))
    shown = order[:LINES]
    more = f"; the {len(shown)} largest of {len(order)}" if len(shown) < len(order) else ""
    columns = {
        capital(scenarios.factor): [row.scenario for row in shown],
        of("Live less lab", gap_unit(found.live)): [gap_text(row.estimate, found, unit=False) for row in shown],
        f"{level(found)} interval": [scenario_ends(row, found) for row in shown],
        "Verdict": [row.verdict for row in shown],
        "p (adjusted)": [p_value(row.p_adjusted) for row in shown],
        "Lab n": [f"{row.n_lab:,}" for row in shown],
        "Live n": [f"{row.n_live:,}" for row in shown],
    }
    return table_of(
        columns,
        caption=f"Mean over models in each level of {scenarios.factor} (Benjamini-Hochberg over levels){more}",
        left=(capital(scenarios.factor), "Verdict"),
        wide=("p (adjusted)", "Lab n", "Live n"),
    )


def single_table(found: LabLiveGap, scenarios: ScenarioGaps) -> Table | None:
    """Show the cells of model and scenario that are shown to differ; the surest first."""
    rows = [row for row in scenarios.rows if row.verdict == "gap"]
    if not rows:
        return None
    order = sorted(
        rows, key=lambda row: (row.p_adjusted if row.p_adjusted is not None else 1.0, -abs(row.estimate or 0.0))
    )
    shown = order[:_CELLS]
    more = f"; the {len(shown)} surest of {len(rows):,}" if len(shown) < len(rows) else ""
    columns = {
        "Model": [row.model for row in shown],
        capital(scenarios.factor): [row.scenario for row in shown],
        of("Live less lab", gap_unit(found.live)): [gap_text(row.estimate, found, unit=False) for row in shown],
        f"{level(found)} interval": [scenario_ends(row, found) for row in shown],
        "Pooled": [gap_text(row.pooled, found, unit=False) for row in shown],
        "p (adjusted)": [p_value(row.p_adjusted) for row in shown],
    }
    return table_of(
        columns,
        caption=f"Single models in single levels that are shown to differ, of {_judged(scenarios)}{more}",
        left=("Model", capital(scenarios.factor)),
        wide=("Pooled", "p (adjusted)"),
    )


def _judged(scenarios: ScenarioGaps) -> str:
    """Count the cells that were judged, and say of what: one model in one level."""
    n, of_all = sum(row.verdict != "invalid" for row in scenarios.rows), len(scenarios.rows)
    pairs = f"{plural(n, 'pair')} of a model and a level of {scenarios.factor}"
    return pairs if n == of_all else f"{pairs} that could be judged ({of_all:,} in all)"


def _beside(found: LabLiveGap, scenarios: ScenarioGaps, *, listed: bool) -> list[str]:
    said: list[str] = []
    judged = [row for row in scenarios.rows if row.verdict != "invalid"]
    if judged and not listed:
        said.append(f"Of {_judged(scenarios)} none is shown to differ.")
    if listed:
        said.append("Pooled: drawn towards the model's and the level's own mean, by as much as the noise makes likely.")
    if scenarios.tau_interaction is not None:
        p = (
            ""
            if scenarios.p_interaction is None
            else f" ({p_text(scenarios.p_interaction)} if there were no such spread)"
        )
        spread = gap_text(scenarios.tau_interaction, found).lstrip("+")
        said.append(f"Beyond the means of model and {scenarios.factor}, true gaps of cells spread by {spread}{p}.")
    reasons = grouped((row.reason, row.scenario) for row in scenarios.means if row.reason)
    said.extend(f"{some(names, _NAMED)}: {why}." for why, names in reasons)
    return [*said, *map(stopped, scenarios.warnings), f"Method: {stopped(scenarios.method)}"]


# --- drops ---


def drop_blocks(found: LabLiveGap) -> list[Block]:
    """Return what non-ideal users take in the lab, and the live score to expect from that."""
    drops = found.drops
    if drops is None:
        return []
    blocks: list[Block] = [
        Heading(text="From ideal to non-ideal users", level=2),
        Paragraph(text=" ".join(drop_sentences(found, drops))),
    ]
    table = drops_table(found, drops)
    if table is not None:
        blocks.append(table)
    said = [
        f"{some(names, _NAMED)}: {why}."
        for why, names in grouped((row.reason, row.model) for row in drops.rows if row.reason)
    ]
    said += map(stopped, drops.warnings)
    return [*blocks, *([Bullets(items=tuple(said))] if said else [])]


def drop_sentences(found: LabLiveGap, drops: DropForecast) -> list[str]:
    """Say how much non-ideal users take, whether models differ in it, and whether it forecasts the gap."""
    unit = gap_unit(metric_side(found))
    said = [
        (
            f"In the lab, non-ideal users change the score by {_with_unit(drops.mean_drop, found)} on average over models; "
            f"{share(drops.share_non_ideal)} of live users are non-ideal ({drops.share_source.rstrip('.')})."
        )
    ]
    if drops.spread_p is not None:
        differ = (
            "that models differ in this is not shown"
            if drops.spread_p > 1 - found.conf_level
            else "models differ in this"
        )
        said.append(f"{capital(differ)} ({p_text(drops.spread_p)}).")
    if drops.slope is not None and drops.slope.conf_low is not None:
        whole = "" if drops.expected_slope is None else f"; {number(drops.expected_slope)} if drops carried over whole"
        each = unit or "point"
        said.append(
            f"For each {each} by which non-ideal users change a model's lab score, {_moves(found)} changes by "
            f"{coefficient(drops.slope.estimate, drops.slope.conf_low, drops.slope.conf_high)} {each}{whole}."
        )
    elif drops.slope_reason:
        said.append(f"Whether drops forecast gaps cannot be told: {stopped(drops.slope_reason)}")
    if drops.explained is not None:
        said.append(f"The drop explains about {share(drops.explained)} of the variance of true gaps.")
    if drops.flips:
        pairs = [f"{first} and {second}" for first, second in drops.flips]
        said.append(f"Pairs whose order the non-ideal users turn: {some(pairs, _NAMED)}.")
    return said


def _moves(found: LabLiveGap) -> str:
    """Name what is set against the drop: not the gap from the line, but what is left beside the ideal lab score."""
    return (
        "live less its lab score with ideal users"
        if found.same_scale
        else "its live score, at the same ideal lab score,"
    )


def _with_unit(part: Part, found: LabLiveGap) -> str:
    unit = gap_unit(metric_side(found))
    return f"{part_text(part, found)}{f' {unit}' if unit else ''} {part_ends(part, found)}"


def drops_table(found: LabLiveGap, drops: DropForecast) -> Table | None:
    """One line for each model: ideal score, drop, forecast, and what live users said."""
    place = {row.name: i for i, row in enumerate(found.rows)}
    rows = sorted(drops.rows, key=lambda row: place.get(row.model, len(place)))
    rows = [row for row in rows if row.reason is None]
    if not rows:
        return None
    shown = sorted(rows, key=_size)[:LINES] if len(rows) > LINES else rows
    more = f"; {len(shown)} of {len(rows)}, the largest misses" if len(shown) < len(rows) else ""
    unit = score_unit(metric_side(found))
    columns = {
        "Model": [row.model for row in shown],
        of("Ideal", unit): [part_text(row.ideal, found, sign=False) for row in shown],
        "Drop": [part_text(row.pooled, found) for row in shown],
        "Forecast": [part_text(row.forecast, found, sign=False) for row in shown],
        "Live": [part_text(row.live, found, sign=False) for row in shown],
        "Miss": [part_text(row.miss, found) for row in shown],
        f"{level(found)} interval": [part_ends(row.miss, found) for row in shown],
    }
    if all(row.live is None for row in shown):
        del columns["Live"], columns["Miss"], columns[f"{level(found)} interval"]
    return table_of(
        columns,
        caption=(
            "Drop: non-ideal less ideal users in the lab, pooled over models. Forecast: the lab score with ideal users, plus the "
            f"drop times the share of non-ideal users. Miss: live less forecast{more}"
        ),
        left=("Model",),
    )


def _size(row: DropRow) -> float:
    return 0.0 if row.miss is None else -abs(row.miss.estimate or 0.0)
