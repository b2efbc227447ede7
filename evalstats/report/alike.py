"""Were the two run alike? In what else than the systems the runs differ, how grave that is, and why."""

from collections.abc import Sequence
from typing import Final

from evalstats.analysis.comparability.rules import RunDifference, graver, setting_words
from evalstats.analysis.compare.result import Comparison
from evalstats.document.blocks import Table, Tone
from evalstats.document.numbers import plural
from evalstats.report.comparison import ComparisonPage
from evalstats.report.markup import folded, prose, section, sentence
from evalstats.report.tables import table_float, without_empty_columns

_TONES: Final[dict[str, Tone]] = {"invalid": "bad", "weakens": "caution", "note": "neutral"}
# Fewer notes than this are not worth folding away.
_WORTH_A_FOLD = 2
_UNRECORDED = "unrecorded"


def refusal_sentence(result: Comparison) -> str:
    """Say in short why the two cannot be compared; what differs stands in the table below.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from evalstats import compare, datasets
    >>> judge = RunDifference(setting="judge", baseline="a", candidate="b", severity="invalid", explanation="")
    >>> result = compare(datasets.tenacious_held_out(), "baseline", "trained")
    >>> refusal_sentence(replace(result, run_differences=(judge,)))
    'The runs differ in the judge, so a difference in scores cannot be laid to the systems.'
    """
    named = " and the ".join(graver(result.run_differences))
    return f"The runs differ in the {named}, so a difference in scores cannot be laid to the systems."


def why_refused(page: ComparisonPage) -> str:
    """Return what the runs differ in, for the top of a page that compares nothing; nothing on others."""
    if not page.refused:
        return ""
    result = page.comparison
    names = list(dict.fromkeys(each.setting for each in result.run_differences if each.severity == "invalid"))
    options = " ".join(f"--accept {name}" for name in names)
    way_out = f"If that is intended, it can be declared before looking: {options}, or accept in evalstats.toml."
    return f"{_told(result)}\n\n{prose(way_out)}"


def alike(page: ComparisonPage) -> str:
    """Return the section on how the two were run; nothing where it stands at the top already."""
    return "" if page.refused else section("Were the two run alike?", _told(page.comparison))


def _told(result: Comparison) -> str:
    grave = [each for each in result.run_differences if each.severity != "note"]
    notes = [each for each in result.run_differences if each.severity == "note"]
    parts = [_lead(grave, notes)]
    if grave:
        caption = "In what else than the systems the runs differ"
        parts.append(table_float(_table(result, grave, caption), "tbl-alike", tones=_TONES))
    if notes:
        parts.append(_notes(result, notes, more=bool(grave)))
    return "\n\n".join(part for part in parts if part)


def _lead(grave: Sequence[RunDifference], notes: Sequence[RunDifference]) -> str:
    if not grave and not notes:
        return prose("The files record nothing in which the runs of the two sides differ.")
    if grave or all(each.setting == _UNRECORDED for each in notes):
        return ""
    return prose("Nothing that the files record speaks against comparing the two.")


def _notes(result: Comparison, notes: Sequence[RunDifference], *, more: bool) -> str:
    """Fold away what needs no caution; a single note is a sentence."""
    if len(notes) < _WORTH_A_FOLD:
        return "\n\n".join(prose(sentence(each.explanation)) for each in notes)
    title = f"{plural(len(notes), 'note')} on the runs{', which weaken nothing' if more else ''}"
    table = _table(result, notes, "Notes on the runs, which weaken nothing")
    return folded(title, table_float(table, "tbl-alike-notes", tones=_TONES))


def _table(result: Comparison, found: Sequence[RunDifference], caption: str) -> Table:
    rows = tuple(
        (
            setting_words(each.setting).capitalize(),
            each.baseline or "–",
            each.candidate or "–",
            sentence(why(each)),
            each.severity,
        )
        for each in found
    )
    columns = ("Setting", result.baseline.name, result.candidate.name, "Why it matters", "Severity")
    return without_empty_columns(Table(columns=columns, rows=rows, align="lllll", caption=caption))


def why(difference: RunDifference) -> str:
    """Return why a difference matters, without the values that stand beside it in the table.

    Examples
    --------
    >>> told = "the judge differs between the two sides (a against b): a score by another judge is another quantity"
    >>> why(RunDifference(setting="judge", baseline="a", candidate="b", severity="invalid", explanation=told))
    'a score by another judge is another quantity'
    """
    _, found, rest = difference.explanation.partition(f"({difference.baseline} against {difference.candidate})")
    where, colon, reason = rest.partition(": ")
    if not found or not colon:
        return difference.explanation
    return f"{where.strip()}: {reason}" if where.strip() else reason
