"""What of the gap is mix and what is behaviour, by model and by scenario; where the lab does not predict; drops as forecasts."""

from evalstats.analysis.arenas.wording_tables import table_of
from evalstats.analysis.gap.layers import CellPart, Decomposition, DecompositionRow, Part, Weighting
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.words import (
    gap_unit,
    grouped,
    is_share,
    level,
    metric_side,
    part_ends,
    part_text,
    score_unit,
    share,
    some,
    stopped,
)
from evalstats.document.blocks import Block, Bullets, Heading, Table
from evalstats.document.numbers import number, plural

LINES = 20
_NAMED = 6
_COVERED = {"covered": "yes", "lab never covers": "no", "live never brings": "unused", "thin": "thin"}


def mix_blocks(found: LabLiveGap) -> list[Block]:
    """Return the decomposition: the mean over models, each model, each scenario, and how the lab was weighted."""
    parts = found.decomposition
    if parts is None:
        return []
    tables = [overall_table(found, parts), by_model_table(found, parts), cells_table(found, parts)]
    blocks: list[Block] = [
        Heading(text=f"{_title(parts)}, by {' and '.join(parts.factors)}", level=2),
        *[table for table in tables if table is not None],
    ]
    said = [
        *_beside_cells(parts),
        *_threefold(found, parts),
        *_weighting(parts.weighting),
        *_weighting(parts.raking),
        *map(stopped, parts.warnings),
    ]
    source = f"Live shares: {parts.mix_source.rstrip('.')}."
    blocks.append(Bullets(items=(source, *said)))
    return blocks


def _title(parts: Decomposition) -> str:
    known = _known(parts.overall.total)
    return "What is mix and what is behaviour" if known else "What the lab says for the live mix"


def _known(part: Part | None) -> bool:
    return part is not None and part.conf_low is not None


def overall_table(found: LabLiveGap, parts: Decomposition) -> Table:
    """Show the mean over models in parts that add up."""
    row = parts.overall
    lines: list[tuple[str, Part | None, bool]] = [
        ("Lab", row.lab, False),
        ("Live", row.live, False),
        ("Live less lab", row.total, True),
        ("  mix: other scenarios", row.mix, True),
        *((f"    {name}", part, True) for name, part in row.factors),
        ("  behaviour within scenarios", row.behaviour, True),
        ("  unexplained by design", row.unexplained, True),
        ("Lab, weighted to the live mix", row.poststratified, False),
        ("Lab, raked to the live margins", row.raked, False),
    ]
    shown = [(words, part, sign) for words, part, sign in lines if _known(part)]
    columns = {
        "Mean over models": [words for words, _, _ in shown],
        "Value": [part_text(part, found, sign=sign) for _, part, sign in shown],
        f"{level(found)} interval": [part_ends(part, found, sign=sign) for _, part, sign in shown],
    }
    told = (
        "Live less lab in parts that add up. Mix: live users bring other scenarios. Behaviour: the same scenarios come out "
        "otherwise. Unexplained: scenarios that one side never has"
        if _known(row.total)
        else "The lab as it is, and with its scenarios as frequent as they are live"
    )
    return table_of(columns, caption=f"{told}{_units(found)}", left=("Mean over models",))


def by_model_table(found: LabLiveGap, parts: Decomposition) -> Table | None:
    """Show the parts of each model; of many those whose behaviour differs most."""
    place = {row.name: i for i, row in enumerate(found.rows)}
    rows = sorted(parts.rows, key=lambda row: place.get(row.model, len(place)))
    rows = [row for row in rows if _known(row.total) or _known(row.poststratified)]
    if not rows:
        return None
    if not any(_known(row.total) for row in rows):
        return _predicted_table(found, rows)
    order = sorted(rows, key=lambda row: -abs(row.behaviour.estimate or 0.0))
    kept = {row.model for row in order[:LINES]}
    shown = [row for row in rows if row.model in kept]
    more = f"; the {len(shown)} of {len(rows)} with the largest behaviour part" if len(shown) < len(rows) else ""
    columns = {
        "Model": [row.model for row in shown],
        "Live less lab": [part_text(row.total, found) for row in shown],
        "Mix": [part_text(row.mix, found) for row in shown],
        "Behaviour": [part_text(row.behaviour, found) for row in shown],
        f"{level(found)} interval": [part_ends(row.behaviour, found) for row in shown],
        "Unexplained": [part_text(row.unexplained, found) for row in shown],
        "Mix interval": [part_ends(row.mix, found) for row in shown],
    }
    return table_of(
        columns,
        caption=f"By model{_in_unit(found)}; the interval is that of behaviour, for this model alone{more}",
        left=("Model",),
        wide=("Unexplained", "Mix interval"),
    )


def _units(found: LabLiveGap) -> str:
    side = metric_side(found)
    return " (% and pp)" if is_share(side) else f" ({score_unit(side)})" if side.unit else ""


def _in_percent(found: LabLiveGap) -> str:
    return f" ({score_unit(metric_side(found))})" if metric_side(found).unit else ""


def _in_unit(found: LabLiveGap) -> str:
    unit = gap_unit(metric_side(found))
    return f", in {unit}" if unit else ""


def _predicted_table(found: LabLiveGap, rows: list[DecompositionRow]) -> Table:
    """Show what the lab predicts for the live mix, where no live outcome is known."""
    shown = rows[:LINES]
    columns = {
        "Model": [row.model for row in shown],
        "Lab": [part_text(row.lab, found, sign=False) for row in shown],
        "For the live mix": [part_text(row.poststratified, found, sign=False) for row in shown],
        f"{level(found)} interval": [part_ends(row.poststratified, found, sign=False) for row in shown],
    }
    return table_of(
        columns, caption=f"What the lab predicts of each model for the live mix{_in_percent(found)}", left=("Model",)
    )


def cells_table(found: LabLiveGap, parts: Decomposition) -> Table | None:
    """Shares, rates and contributions of each scenario: whether the lab has items for what live users bring."""
    if not parts.cells:
        return None
    order = sorted(parts.cells, key=lambda cell: (-cell.live_share, cell.cell))
    shown = order[:LINES]
    more = f"; {len(shown)} of {len(order)}, the most frequent live" if len(shown) < len(order) else ""

    def rate(value: float | None) -> str:
        return part_text(None if value is None else Part(estimate=value), found, sign=False)

    columns = {
        " / ".join(parts.factors).capitalize(): [cell.cell for cell in shown],
        "Lab share": [share(cell.lab_share) for cell in shown],
        "Live share": [share(cell.live_share) for cell in shown],
        "Covered": [_COVERED[cell.status] for cell in shown],
        "Lab": [rate(cell.lab_rate) for cell in shown],
        "Live": [rate(cell.live_rate) for cell in shown],
        "Mix": [part_text(cell.mix, found) for cell in shown],
        "Behaviour": [part_text(cell.behaviour, found) for cell in shown],
        "Items": [f"{cell.n_lab:,}" for cell in shown],
        "Live n": [f"{cell.n_live:,}" for cell in shown],
    }
    for name in ("Mix", "Behaviour", "Live", "Live n"):
        if name in columns and all(value in ("–", "0") for value in columns[name]):
            del columns[name]
    adds = ", and what each adds to mix and behaviour" if "Mix" in columns else ""
    return table_of(
        columns,
        caption=(
            "Does the lab cover what live users bring? Shares of each side, mean rates over models"
            f"{_in_percent(found)}{adds}{more}"
        ),
        left=(next(iter(columns)), "Covered"),
        wide=("Items", "Live n"),
    )


def _beside_cells(parts: Decomposition) -> list[str]:
    """Say what each failure of coverage means."""
    told = {
        "lab never covers": "the lab has no item of it, so what live users meet there is told by nothing in the lab",
        "live never brings": "live users never bring it, so the lab spends items on what does not happen",
        "thin": "fewer than ten lab items, so its rate is uncertain",
    }

    def line(cell: CellPart) -> tuple[str, str]:
        return told[cell.status], cell.cell

    failing = grouped(line(cell) for cell in parts.cells if cell.status != "covered")
    return [f"{some(names, _NAMED)}: {why}." for why, names in failing]


def _threefold(found: LabLiveGap, parts: Decomposition) -> list[str]:
    three = parts.overall.threefold
    if three is None:
        return []
    told = ", ".join(
        f"{word} {part_text(Part(estimate=value), found)}"
        for word, value in zip(("mix", "behaviour", "interaction"), three, strict=True)
    )
    return [f"By the three-fold version, which hangs on the lab being taken first: {told}."]


def _weighting(weights: Weighting | None) -> list[str]:
    if weights is None:
        return []
    raked = "raked to margins" if weights.method == "raked" else weights.method
    trim = (
        f", {share(weights.trimmed)} cut at {number(weights.trim, 0)} times the mean"
        if weights.trim and weights.trimmed
        else ""
    )
    digits = 1 if weights.ratio < 10 else 0
    said = [
        (
            f"Lab items weighted to the live mix ({raked}): {plural(weights.n, 'item')} are worth "
            f"{number(weights.effective_n, 0)}, the largest weight is {number(weights.ratio, digits)} times the smallest{trim}."
        )
    ]
    if not weights.converged:
        said.append("Raking did not converge: the margins are not met, and the weighted scores stand for no mix.")
    return said
