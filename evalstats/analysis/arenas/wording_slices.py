"""Ratings by category and over time, in words and tables: what differs from the overall rating, and what is not shown to."""

from collections.abc import Sequence

from evalstats.analysis.arena.result import ArenaRanking, Categories, CategoryRating
from evalstats.analysis.arenas.wording_tables import LINES, table_of
from evalstats.analysis.arenas.words import (
    capital,
    digits_of,
    ends,
    level,
    of,
    p_text,
    points,
    some,
    stopped,
    unit_of,
)
from evalstats.analysis.scenarios.words import short_codes
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import number, p_value, plural

_WIDTH = 80
_NAME = 20
_FLAGGED = 12
_MANY = 12


def categories_blocks(result: ArenaRanking) -> list[Block]:
    """Say whether models stand differently by category, and where."""
    found = result.categories
    if found is None:
        return []
    blocks: list[Block] = [
        Heading(text=f"By {found.by}", level=2),
        Paragraph(text=" ".join(category_sentences(result, found))),
    ]
    tables = (_matrix(result, found), deviations_table(result, found))
    blocks.extend(table for table in tables if table is not None)
    left = [f"{name} is left out: {reason}" for name, reason in found.left_out]
    if left:
        more = [f"{len(left) - _MANY} further levels are left out"] if len(left) > _MANY else []
        blocks.append(Bullets(items=tuple(stopped(text) for text in (*left[:_MANY], *more))))
    return blocks


def category_sentences(result: ArenaRanking, found: Categories) -> list[str]:
    """Say how far true ratings differ between categories, whether that is shown, and how many single ones are."""
    if found.reason is not None:
        return [stopped(f"Ratings by {found.by} cannot be told: {found.reason}")]
    unit = unit_of(result)
    said: list[str] = []
    if found.tau is not None:
        between = f" {ends(found.tau_low, found.tau_high, result)}" if found.tau_low is not None else ""
        said.append(
            f"A model's rating in one of the {plural(len(found.levels), 'level')} of {found.by} departs from its overall one by "
            f"about {number(found.tau, digits_of(result))} {unit}{between} (standard deviation)."
        )
    if found.p_value is not None:
        differs = found.p_value <= 1 - result.conf_level
        what = "Models are shown to stand differently by" if differs else "That models stand differently by"
        end = "" if differs else " is not shown"
        how = f" {stopped(capital(found.method))}" if found.method else ""
        said.append(f"{what} {found.by}{end} ({p_text(found.p_value)}).{how}")
    marked = _apart(found)
    known = [row for row in found.rows if row.conf_low is not None]
    if known:
        have = "have" if len(marked) > 1 else "has"
        said.append(
            f"{len(marked) or 'None'} of {plural(len(known), 'single departure')} {have} an interval "
            f"without 0, about {rough_alarms(len(known), result.conf_level)} would by luck alone."
        )
    return said


def rough_alarms(n: int, conf_level: float) -> str:
    """Write how many of n intervals would leave out a truth by luck.

    Examples
    --------
    >>> rough_alarms(60, 0.95), rough_alarms(6, 0.95)
    ('3', '0.3')
    """
    expected = n * (1 - conf_level)
    return number(expected, 0 if expected >= 1 else 1)


def _apart(found: Categories) -> list[CategoryRating]:
    rows = [row for row in found.rows if row.conf_low is not None and row.conf_high is not None]
    out = [row for row in rows if (row.conf_low or 0.0) > 0 or (row.conf_high or 0.0) < 0]
    return sorted(out, key=lambda row: -abs(row.deviation or 0.0))


def _matrix(result: ArenaRanking, found: Categories) -> Table | None:
    """Every model's departure in every category; None where they do not fit beside each other."""
    texts = {(row.model, row.category): _cell(row, result) for row in found.rows}
    room = _WIDTH - min(max((len(row.name) for row in result.rows), default=0), _NAME)
    codes = found.levels if _wide(found.levels) <= room else short_codes(found.levels)
    if not texts or _wide(codes) > room:
        return None
    rows = [row.name for row in result.rows if any((row.name, each) in texts for each in found.levels)][:LINES]
    columns = {"Model": rows}
    for name, code in zip(found.levels, codes, strict=True):
        columns[code] = [texts.get((row, name), "–") for row in rows]
    legend = "; ".join(f"{code} is {name}" for name, code in zip(found.levels, codes, strict=True) if code != name)
    more = f"; the first {len(rows)} models" if len(rows) < len(result.rows) else ""
    return table_of(
        columns,
        caption=(
            f"{of('Rating in a category less the overall one', unit_of(result))}, drawn towards 0 by as much as noise makes "
            f"likely{more}. * marks an interval without 0, each looked at alone{'. ' + legend if legend else ''}"
        ),
        left=("Model",),
    )


def _wide(names: Sequence[str]) -> int:
    """Return the width of columns with these names."""
    return sum(max(len(name), 4) + 3 for name in names)


def _cell(row: CategoryRating, result: ArenaRanking) -> str:
    if row.deviation is None:
        return "–"
    out = row.conf_low is not None and row.conf_high is not None and (row.conf_low > 0 or row.conf_high < 0)
    return f"{points(row.deviation, result, unit=False)}{'*' if out else ' '}"


def deviations_table(result: ArenaRanking, found: Categories) -> Table | None:
    """List the departures whose interval leaves out 0, the largest first."""
    rows = _apart(found)
    if not rows:
        return None
    shown = rows[:LINES]
    columns = {
        "Model": [row.model for row in shown],
        found.by: [row.category for row in shown],
        "Departs by": [points(row.deviation, result, unit=False) for row in shown],
        f"{level(result)} interval": [ends(row.conf_low, row.conf_high, result, sign=True) for row in shown],
        "Votes": [f"{row.n_votes:,}" for row in shown],
        "Its votes alone": [points(row.unpooled, result, unit=False) for row in shown],
    }
    more = f"; the first {len(shown)} of {len(rows)}" if len(shown) < len(rows) else ""
    return table_of(
        columns,
        caption=f"Departures from the overall rating whose interval leaves out 0, the largest first{more}",
        left=("Model", found.by),
        wide=("Votes", "Its votes alone"),
    )


# --- over time ---


def drift_blocks(result: ArenaRanking) -> list[Block]:
    """Say whether ratings change over time, and of which models."""
    found = result.drift
    if found is None or (found.p_value is None and not found.models):
        return []
    flagged = [row for row in found.models if row.flagged]
    said: list[str] = []
    if found.p_value is not None:
        changes = found.p_value <= (1 - result.conf_level) / 2  # half of the error is for single models
        what = "Ratings are shown to change over time" if changes else "That ratings change over time is not shown"
        said.append(f"{what} ({plural(found.n_periods, found.period)}, {p_text(found.p_value)}).")
    if found.models:
        names = some([row.model for row in flagged]) if flagged else "no single model"
        said.append(f"Single models shown to rise or fall against the others: {names}.")
    if found.method:
        said.append(stopped(f"How: {found.method}"))
    blocks: list[Block] = [Heading(text="Over time", level=2), Paragraph(text=" ".join(said))]
    table = drift_table(result)
    return [*blocks, table] if table is not None else blocks


def drift_table(result: ArenaRanking) -> Table | None:
    """List the models whose rating changes, with their ratings of the first and the last period."""
    found = result.drift
    flagged = [row for row in found.models if row.flagged] if found is not None else []
    if found is None or not flagged:
        return None
    shown = sorted(flagged, key=lambda row: row.p_adjusted)[:_FLAGGED]
    periods = sorted({row.period for row in found.ratings})
    of_period = {(row.period, row.model): row.estimate for row in found.ratings}
    digits = digits_of(result)
    columns = {
        "Model": [row.model for row in shown],
        f"A {found.period}": [number(row.slope, digits, sign=True) for row in shown],
        "SE": [number(row.std_error, digits) for row in shown],
        "p (adjusted)": [p_value(row.p_adjusted) for row in shown],
    }
    for period in (periods[0], periods[-1]) if len(periods) > 1 else ():
        columns[period] = [points(of_period.get((period, row.model)), result, unit=False) for row in shown]
    more = f"; {len(shown)} of {len(flagged)}" if len(shown) < len(flagged) else ""
    return table_of(
        columns,
        caption=(
            f"Models whose rating changes: by how much ({unit_of(result)}) from one {found.period} to the next, against the mean "
            f"of the models that are there all the time; p is adjusted for all models (Holm){more}"
        ),
        left=("Model",),
    )
