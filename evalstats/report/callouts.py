"""What a page must not let a reader pass over, and the notes that may be folded away."""

from collections.abc import Sequence

from evalstats.document.numbers import plural
from evalstats.report.markup import bullets, callout, folded, prose, sentence
from evalstats.schema.plan import PlanAccount

_MOST_NOTES = 12


def says_simulated(note: str) -> bool:
    """Whether a note belongs at the top, since it says that the data are not of the world."""
    return "simulated" in note.lower()


def simulated_callout(notes: Sequence[str], what: str = "data") -> str:
    """Return a callout where notes say that the data are simulated; nothing where none does."""
    said = [prose(sentence(note)) for note in notes if says_simulated(note)]
    return callout("important", f"These {what} are simulated", bullets(said)) if said else ""


def departures_callout(plan: PlanAccount | None) -> str:
    """Return a callout where a result departs from the plan that was declared; nothing where it does not."""
    if plan is None or not plan.departures:
        return ""
    said = [prose(sentence(text)) for text in plan.departures]
    return callout("important", f"This is not what was planned ({plan.source or 'plan given in code'})", bullets(said))


def undeparted(warnings: Sequence[str], plan: PlanAccount | None) -> list[str]:
    """Return the warnings that are no departures from the plan: those stand in a callout of their own."""
    departed = () if plan is None else plan.departures
    return [text for text in warnings if text not in departed]


def warnings_callout(texts: Sequence[str]) -> str:
    """Return what must be known before a number is used, written as Markdown; nothing where there is nothing."""
    if not texts:
        return ""
    return callout("warning", f"Before you rely on this: {plural(len(texts), 'point')}", bullets(texts))


def notes_list(texts: Sequence[str]) -> str:
    """Return notes, written as Markdown, as a list; more than twelve are folded away."""
    return bullets(texts) if len(texts) <= _MOST_NOTES else folded(plural(len(texts), "note"), bullets(texts))
