"""Does a model's score break off at its training cut-off? Items by their date, and which references have none there."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from evalstats.analysis.contamination.items import DateBreak, Floats, ItemTable, SuspectCase, few_clusters
from evalstats.analysis.contamination.latent_scale import LatentScores, gaps_of
from evalstats.analysis.contamination.result import WidthRow
from evalstats.document.model import Note
from evalstats.document.numbers import p_words
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural, quoted_list
from evalstats.stats.contamination import (
    DateWindow,
    ReferenceGap,
    break_bandwidth,
    date_density,
    date_window,
)

# Half, the same and double the bandwidth with straight lines, and the same with parabolas.
_OTHERS = ((0.5, 1), (2.0, 1), (1.0, 2))
_UNEVEN = 0.01
_FAR = 0.25
_T = TypeVar("_T")


def date_cases(
    table: ItemTable, column: str, label: str, cutoffs: Mapping[str, str | dt.date], conf_level: float
) -> tuple[list[SuspectCase], tuple[str, str], tuple[str, ...]]:
    """Return the question of every suspect with a cut-off, what the sides are called, and notes."""
    days = dates_of(table.column(column), label)
    if np.isnan(days).all():
        raise InputError(
            f"{label} gives no item a single date; it must be the same on all rows of an item, such as 2024-03-01"
        )
    known = {name: day_of(day, f"the cut-off of {name}") for name, day in cutoffs.items()}
    unknown = [name for name in known if name not in table.board.names]
    if unknown:
        raise InputError(
            f"a cut-off is given for {unknown[0]!r}, which is none of the models: {quoted_list(table.board.names)}"
        )
    lacking = [name for name in table.suspects if name not in known]
    if table.named and lacking:
        raise InputError(f"{lacking[0]!r} has no cut-off; give it: {Option('cutoffs', '2024-03-01', of=lacking[0])}")
    suspects = [name for name in table.suspects if name in known]
    if not suspects:
        raise InputError(f"no suspect has a cut-off; the suspects are {quoted_list(table.suspects)}")
    cases = [_date_case(table, name, days, known, conf_level) for name in suspects]
    empty = int(np.isnan(days).sum())
    notes = (f"{plural(empty, 'item')} without a date, or with several, dropped",) if empty else ()
    return cases, ("before the cut-off", "after the cut-off"), notes


def day_of(given: str | dt.date, what: str) -> float:
    """Return a date as a number of days; a month without a day is its first.

    >>> day_of("2024-03-02", "it") - day_of("2024-03", "it"), day_of("2024-01-01T12:00:00Z", "it") % 1
    (1.0, 0.5)
    """
    text = (
        given.isoformat()
        if isinstance(given, dt.date)
        else str(given).strip().replace("/", "-").replace(" UTC", "+00:00")
    )
    whole = f"{text}-01" if len(text) == len("2024-03") else text
    try:
        moment = dt.datetime.fromisoformat(whole)
    except ValueError as error:
        raise InputError(f"{what} is {given!r}, which is no date; write it as 2024-03-01") from error
    start = dt.datetime(1970, 1, 1, tzinfo=moment.tzinfo)
    return (moment - start).total_seconds() / 86_400.0


def dates_of(levels: Sequence[str | None], label: str) -> Floats:
    """Return every item's date as a number of days, NaN where it has none."""
    read = {level: day_of(level, f"a value of {label}") for level in set(levels) if level is not None}
    return np.array([np.nan if level is None else read[level] for level in levels], dtype=np.float64)


def _date_case(
    table: ItemTable, suspect: str, days: Floats, cutoffs: Mapping[str, float], conf_level: float
) -> SuspectCase:
    """Return one suspect's question; references with a cut-off of their own close by are left out."""
    others = list(table.others(suspect))
    apart = table.measured_apart(suspect, others)
    while True:
        grid = table.grid([suspect, *others])
        keep = ~np.isnan(days) & ~np.isnan(grid).any(axis=1)
        away = days[keep] - cutoffs[suspect]
        scores = grid[keep]
        less = scores[:, 0] - (scores[:, 1:].mean(axis=1) if others else 0.0)
        chosen = _for(suspect, lambda away=away, less=less: break_bandwidth(away, less))
        close = [name for name in others if abs(cutoffs.get(name, np.inf) - cutoffs[suspect]) < chosen.width]
        if not close:
            break
        if table.references is not None:
            raise InputError(
                f"the cut-off of the reference {close[0]!r} lies within {chosen.width:.0f} days of that of {suspect!r}, so that "
                "it may break off there itself; take references with a cut-off from before the first item"
            )
        others = [name for name in others if name not in close]
    codes = [each[keep] for each in table.clusters]
    window = _for(suspect, lambda: date_window(away, chosen.width, clusters=codes))
    inside = window.inside
    invalid = apart or few_clusters([each[inside] for each in codes], away[inside] <= 0, table.labels)
    density = date_density(away, chosen.width)
    dated = DateBreak(
        cutoff=dt.date.fromordinal(dt.date(1970, 1, 1).toordinal() + int(cutoffs[suspect])).isoformat(),
        bandwidth=chosen.width,
        bandwidth_reason=chosen.reason,
        widths=()
        if invalid
        else tuple(_by(table, away, scores, codes, chosen.width * by, order, conf_level) for by, order in _OTHERS),
        density=density,
    )
    return SuspectCase(
        suspect=suspect,
        references=tuple(others),
        scores=scores[inside],
        latent=None if invalid else _latent(table, away, scores, window),
        contrast=None if invalid else window.contrast,
        n_old=window.n_before,
        n_new=window.n_after,
        n_left_out=int(((np.abs(days - cutoffs[suspect]) < chosen.width) & ~keep).sum()),
        clustered=bool(codes),
        invalid=invalid,
        dated=dated,
        groups={name: each[keep][inside] for name, each in table.of_groups().items()},
        notes=(
            *([] if invalid else _uneven(suspect, dated)),
            *([] if invalid else _unsteady(suspect, dated, _gap(table, away, scores, window, conf_level), conf_level)),
            *_closer(suspect, table.others(suspect), others),
        ),
    )


def _for(suspect: str, work: Callable[[], _T]) -> _T:
    """Say of which model data that cannot answer are."""
    try:
        return work()
    except CannotAnswerError as error:
        raise CannotAnswerError(f"{suspect}: {error}") from error


def _latent(table: ItemTable, away: Floats, scores: Floats, window: DateWindow) -> LatentScores | None:
    """Return abilities of the items near the cut-off; the suspect's score is that of the limit from before."""
    near = scores[window.inside]
    level = float(window.contrast.back[0] @ near[:, 0])
    return table.latent(near, away[window.inside] <= 0, level)


def _gap(table: ItemTable, away: Floats, scores: Floats, window: DateWindow, conf_level: float) -> ReferenceGap:
    latent = _latent(table, away, scores, window)
    return gaps_of(scores[window.inside], latent, window.contrast, conf_level=conf_level).answer


def _by(  # noqa: PLR0917 - one choice of several
    table: ItemTable,
    away: Floats,
    scores: Floats,
    codes: Sequence[np.ndarray],
    width: float,
    order: int,
    conf_level: float,
) -> WidthRow:
    """Return the break by another choice; why there is none, where there is none."""
    try:
        window = date_window(away, width, order=order, clusters=codes)
    except (CannotAnswerError, InputError) as error:
        return WidthRow(estimate=None, width=width, order=order, reason=str(error))
    found = _gap(table, away, scores, window, conf_level)
    taken: dict[str, Any] = {
        name: getattr(found, name) for name in ("estimate", "conf_low", "conf_high", "p_value", "reason")
    }
    return WidthRow(width=width, order=order, **taken, n_old=window.n_before, n_new=window.n_after)


def _uneven(suspect: str, dated: DateBreak) -> list[Note]:
    """Warn of items that are gathered on one side, or far from the cut-off."""
    density, found = dated.density, list[Note]()
    if density.p_value < _UNEVEN:
        text = (
            f"{density.n_before} items lie close before the cut-off of {suspect} and {density.n_after} close after it "
            f"({p_words(density.p_value)}), as if chosen by their date"
        )
        found.append(Note(kind="comparability", text=text, remedy="Check how the items were chosen"))
    gap = max(density.gap_before, density.gap_after)
    if gap > _FAR * dated.bandwidth:
        text = f"The nearest item on one side lies {gap:.0f} days from the cut-off of {suspect}"
        found.append(Note(kind="fit", text=f"{text}, so the break is extrapolated"))
    return found


def _unsteady(suspect: str, dated: DateBreak, main: ReferenceGap, conf_level: float) -> list[Note]:
    """Warn where the answer hangs on the bandwidth or on straight lines."""
    shown = main.p_value is not None and main.p_value <= 1.0 - conf_level
    others = [row for row in dated.widths if row.estimate is not None and row.p_value is not None]
    against = [row for row in others if (row.estimate or 0.0) * main.estimate < 0]
    remedy = "Do not rest on it"
    if shown and against:
        row = against[0]
        shape = "straight lines" if row.order == 1 else "parabolas"
        text = f"The break of {suspect} changes sign with {shape} within {row.width:.0f} days"
        return [Note(kind="fit", text=text, remedy=remedy)]
    weaker = [row for row in others if (row.p_value or 0.0) > 1.0 - conf_level]
    if shown and len(weaker) == len(others) > 0:
        text = f"The break of {suspect} shows at this bandwidth alone, at none of the others tried"
        return [Note(kind="fit", text=text, remedy=remedy)]
    return []


def _closer(suspect: str, every: Sequence[str], kept: Sequence[str]) -> list[Note]:
    gone = [name for name in every if name not in kept]
    text = (
        f"For {suspect}, {quoted_list(gone)} are not taken as references: their own cut-offs lie within the bandwidth"
    )
    return [Note(kind="choice", text=text, caution=False)] if gone else []
