"""What several questions say alike: groups behind items, what the plan declares, which average it is."""

from collections.abc import Sequence

from evalstats.document.model import Note
from evalstats.document.numbers import many, number
from evalstats.schema.plan import PlanAccount
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.clusters import Dependence


def dependence_notes(rows: Sequence[Dependence]) -> tuple[Note, ...]:
    """Return a caution that names the factor along which the differences run in groups, and any further ones.

    The main suspect is the flagged factor with the most levels: coarser ones that it lies within show up as well.
    """
    flagged = sorted((row for row in rows if row.flag == "warn"), key=lambda row: (-row.n_levels, row.factor))
    if not flagged:
        return ()
    main, *others = flagged
    also = f", and so do items of one {' or '.join(row.factor for row in others)}" if others else ""
    remedy = (
        f"to conclude about other {many(main.factor)}, add --cluster {main.factor}"
        if main.n_levels >= FEW_CLUSTERS
        else f"{main.n_levels} {many(main.factor)} are too few to conclude about others, so look at them one by one"
    )
    text = f"items of one {main.factor} behave alike (design effect {number(main.design_effect, 1)}){also}"
    return (Note(kind="dependence", text=text, remedy=remedy),)


def dependence_warnings(rows: Sequence[Dependence]) -> list[str]:
    """Return `dependence_notes` as sentences."""
    return [f"{note.text}: {note.remedy}" for note in dependence_notes(rows)]


def plan_items(plan: PlanAccount | None) -> list[str]:
    """Say which plan holds, what it declares, and where the result departs from it."""
    if plan is None:
        return []
    declared = "; ".join(f"{name} {value}" for name, value in plan.declared) or "nothing that concerns this question"
    departures = "".join(f" It {text}." for text in plan.departures)
    return [f"Declared plan: {plan.source or 'given in code'}, digest {plan.digest[:12]}: {declared}.{departures}"]
