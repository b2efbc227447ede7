"""Tables that the page has and the command has not: every drop in full, and every pair that may change places."""

from collections.abc import Sequence

from evalstats.analysis.scenarios.figures import base_name
from evalstats.analysis.scenarios.result import DropRow, ScenarioModel
from evalstats.analysis.scenarios.words import change_text, digits_of, ends_text, of, worst_first
from evalstats.document.blocks import Table, Tone
from evalstats.document.numbers import p_value, plural, scaled

TONES: dict[str, Tone] = {"drop": "bad", "gain": "good", "invalid": "caution"}


def worst_drop(rows: Sequence[DropRow]) -> DropRow | None:
    """Return the largest drop among those that the data show; without one, None."""
    shown = [row for row in rows if row.verdict == "drop" and row.estimate is not None]
    return max(shown, key=lambda row: abs(row.estimate or 0.0), default=None)


def drops_table(result: ScenarioModel, rows: Sequence[DropRow], caption: str, *, full: bool = False) -> Table:
    """Return drops with what stands beside each: without a model, and pooled over models. The verdict is last.

    Parameters
    ----------
    full
        Give the intervals beside as well, and the numbers of items.
    """
    columns: dict[str, list[str]] = {
        result.contrast[:1].upper() + result.contrast[1:]: [row.model for row in rows],
        "Scenario": [row.scenario for row in rows],
        of("Change", result.unit): [change_text(row.estimate, result, unit=False) for row in rows],
        "Interval": [ends_text(row.conf_low, row.conf_high, result, sign=True) for row in rows],
        "p (adjusted)": [p_value(row.p_adjusted) for row in rows],
        "Paired": [change_text(row.paired, result, unit=False) for row in rows],
        "Paired interval": [_ends(row.paired_low, row.paired_high, result) for row in rows],
        "Pooled": [change_text(row.pooled, result, unit=False) for row in rows],
        "Pooled interval": [_ends(row.pooled_low, row.pooled_high, result) for row in rows],
        "Items": [f"{row.n_items:,}" for row in rows],
        "Verdict": [row.verdict for row in rows],
    }
    if not full:
        for name in ("Paired interval", "Pooled interval", "Items"):
            del columns[name]
    return Table(
        columns=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        align="ll" + "r" * (len(columns) - 3) + "l",
        caption=caption,
    )


def _ends(low: float | None, high: float | None, result: ScenarioModel) -> str:
    return "" if low is None else ends_text(low, high, result, sign=True)


def largest_drops(result: ScenarioModel, most: int) -> list[DropRow]:
    """Return the drops that the data show, the largest first, at most so many."""
    return worst_first([row for row in result.drops if row.verdict == "drop"], result)[:most]


def crossings_table(result: ScenarioModel) -> Table:
    """Return pairs of models whose estimates change places between two scenarios, shown or not."""
    found = () if result.ranking is None else result.ranking.crossings
    digits, scale = digits_of(result), result.scale
    return Table(
        columns=(
            "Model",
            "Other model",
            of("Ahead in, by", result.unit),
            of("Behind in, by", result.unit),
            "p",
            "Verdict",
        ),
        rows=tuple(
            (
                row.first,
                row.second,
                f"{row.ahead_in} {scaled(row.ahead_by, scale, digits)}",
                f"{row.behind_in} {scaled(row.behind_by, scale, digits)}",
                p_value(row.p_adjusted),
                "shown" if row.shown else "not shown",
            )
            for row in found
        ),
        align="llllrl",
        caption=f"The {plural(len(found), 'pair')} of models most certain to change places between two scenarios; p is adjusted",
    )


def every_change(result: ScenarioModel) -> str:
    """Return the caption of the table of all drops."""
    return f"Every change from {base_name(result)}"
