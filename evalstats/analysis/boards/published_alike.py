"""Are published numbers one quantity? What they are of, and how the runs behind them were made, looked at before any rank."""

from collections.abc import Collection, Sequence

import polars as pl

from evalstats.analysis.arms import Arm, Metric, listed
from evalstats.analysis.boards.rulers import Rulers, rulers_of
from evalstats.errors import CannotAnswerError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import check_settings
from evalstats.schema.tables import frame_from_rows

# Columns that say what a number is of, and the setting that declares a difference in them as intended.
_OF = {"task": "items", "scenario": "items", "variant": "items", "setting": "lab_or_live"}
_SAME_UNIT = {"%": "percent", "pct": "percent"}
_NOT_GIVEN = "not given"
_SHOWN = 3


def check_one_quantity(
    rows: pl.DataFrame, *, entry: str, metric: Metric, contrast: str, accept: Collection[str] = ()
) -> tuple[str, ...]:
    """Refuse numbers that are of different tasks, scenarios, variants, settings or in different units.

    Parameters
    ----------
    rows
        Published numbers, one row for each model.
    entry
        The column that names the models.
    metric
        What they are numbers of.
    contrast
        The column that is compared; it may differ.
    accept
        Settings that differ on purpose: "items" for what the numbers are of, "lab_or_live" for the setting. A unit cannot be
        accepted: a percentage and a proportion are not ordered by their numbers.

    Returns
    -------
    tuple of str
        What differs and was accepted.

    Raises
    ------
    CannotAnswerError
        Naming the column, its levels and a model of each.
    """
    accepted = check_settings(accept)
    told: list[str] = []
    for column in (*_OF, "unit"):
        if column == contrast:
            continue
        levels = _levels(rows, column, entry)
        if len(levels) < 2:
            continue
        differ = f"the published {metric.name!r} on {metric.benchmark} differ in {column} ({_in_words(levels)})"
        if column == "unit":
            message = (
                f"{differ}: numbers in different units have no order; bring them to one unit, or keep one with "
                "--where unit=LEVEL"
            )
            raise CannotAnswerError(message)
        setting = _OF[column]
        if setting not in accepted:
            message = (
                f"{differ}, so they are not one quantity and are not ranked; keep one with --where {column}=LEVEL, or where the "
                f'difference is intended, declare it: --accept {setting} (in Python: accept=["{setting}"])'
            )
            raise CannotAnswerError(message)
        told.append(f"{differ}; declared as intended")
    return tuple(told)


def rulers_of_published(
    data: EvalData, rows: pl.DataFrame, *, entry: str, contrast: str, accept: Collection[str]
) -> Rulers | None:
    """Compare what is recorded of the runs behind published numbers; None where none of them is known.

    Raises
    ------
    CannotAnswerError
        If the runs differ gravely and the difference is not declared as intended.
    """
    known = rows["run"].is_in(data.runs["run"].to_list()).fill_null(value=False)
    if not known.any():
        return None
    found = rulers_of(data, [_arm(row, entry) for row in rows.to_dicts()], contrast=contrast, accept=accept)
    if found.apart:
        raise CannotAnswerError("; ".join(found.refusal()))
    return found


def _arm(row: dict[str, object], entry: str) -> Arm:
    """Return a published number as the one row of a side, which is what runs are compared by."""
    run = str(row["run"] or "")
    shared = {name: row[name] for name in ("model", "benchmark", "task", "variant", "metric", "setting")}
    outcome = {
        **shared,
        "run": run,
        "system": str(row[entry]),
        "item": "published",
        "status": "scored",
        "score": row["estimate"],
    }
    return Arm(name=str(row[entry]), rows=frame_from_rows([outcome], "outcomes"), runs=(run,) if run else ())


def _levels(rows: pl.DataFrame, column: str, entry: str) -> dict[str, list[str]]:
    """Return the models of every level of a column; a number that does not say its level is of a level of its own."""
    found: dict[str, list[str]] = {}
    for level, name in zip(rows[column].to_list(), rows[entry].to_list(), strict=True):
        text = _NOT_GIVEN if level in (None, "") else str(level)
        if column == "unit":
            text = _SAME_UNIT.get(text.lower(), text.lower())
        found.setdefault(text, []).append(name)
    return found


def _in_words(levels: dict[str, list[str]]) -> str:
    shown = [f"{level}: {_names(names)}" for level, names in sorted(levels.items())[:_SHOWN]]
    return "; ".join([*shown, *([f"and {len(levels) - _SHOWN} more"] if len(levels) > _SHOWN else [])])


def _names(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _SHOWN else f"{listed(names[:_SHOWN])} and {len(names) - _SHOWN} more"
