"""Which models of a ranking of votes a figure shows, in which order, with headings where the votes leave several parts."""

from collections.abc import Callable, Sequence

from evalstats.analysis.arena.result import ArenaRanking, RatingRow
from evalstats.analysis.arenas.words import parts, whole
from evalstats.document.numbers import plural
from evalstats.plots.row_panel import PanelRow

MOST_MODELS = 60


def shown_models(result: ArenaRanking, most: int = MOST_MODELS) -> list[RatingRow]:
    """Return the rows that are drawn: parts with several models first, then models that are on no scale."""
    found = parts(result)
    together = [row for part in found if len(part) > 1 for row in part]
    alone = [row for part in found if len(part) == 1 for row in part]
    return [*together, *alone][:most]


def lines(
    result: ArenaRanking, written: Callable[[RatingRow], PanelRow], most: int = MOST_MODELS
) -> list[tuple[RatingRow | None, PanelRow]]:
    """Return every line of a figure with its model; headings have none.

    Parameters
    ----------
    written
        Writes a model's line.
    """
    shown = shown_models(result, most)
    found: list[tuple[RatingRow | None, PanelRow]] = []
    headed = ""
    for row in shown:
        heading = "" if whole(result) else _heading(row, result)
        if heading and heading != headed:
            found.append((None, PanelRow(name=heading, heading=True)))
        headed = heading
        found.append((row, written(row)))
    rest = len(result.rows) - len(shown)
    if rest > 0:
        found.append((None, PanelRow(name=f"The other {plural(rest, 'model')}: in the table", heading=True)))
    return found


def _heading(row: RatingRow, result: ArenaRanking) -> str:
    groups = parts(result)
    own = next(part for part in groups if any(each is row for each in part))
    if len(own) == 1:
        alone = sum(len(part) == 1 for part in groups)
        return f"On no scale: {plural(alone, 'model')}"
    return f"Part {row.component}: {plural(len(own), 'model')}"


def stands_out(row: RatingRow, result: ArenaRanking) -> bool:
    """Whether a model is one of the few that may be the best of its part: where most may, nobody stands out."""
    own = [each for part in parts(result) if any(one.name == row.name for one in part) for each in part]
    ranked = [each for each in own if each.rank_low is not None]
    best = sum(bool(each.may_be_best) for each in ranked)
    return bool(row.may_be_best) and 2 * best <= len(ranked)


def limits_of(values: Sequence[float], room: float = 0.05) -> tuple[float, float]:
    """Return the ends of an axis that holds all values with some room.

    Examples
    --------
    >>> limits_of([0.0, 100.0])
    (-5.0, 105.0)
    >>> limits_of([])
    (0.0, 1.0)
    """
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    wide = room * (high - low) or 1.0
    return low - wide, high + wide
