"""What the answer cannot say: layers that the data do not carry, and threats to validity."""

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.wording import left_out_blocks
from evalstats.document.blocks import Table, Tone
from evalstats.report.lab_live.blocks import listed
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import prose, section, sentence
from evalstats.report.tables import table_float

_STATUS = {"seen": "seen", "possible": "not ruled out", "ruled out": "ruled out"}
_TONES: dict[str, Tone] = {"seen": "caution", "ruled out": "good"}


def threats(page: LabLivePage) -> str:
    """Return what threatens any comparison of lab and live, those that these data show first."""
    found = page.found
    if not found.threats:
        return prose("Not looked at.")
    lead = (
        f"{_counts(found)} Lab and live differ in more than the users; none of this is adjusted for, and what is not ruled out "
        "may be part of any gap above."
    )
    order = list(_STATUS)
    rows = sorted(found.threats, key=lambda each: order.index(each.status))
    table = Table(
        columns=("Threat", "What these data say of it", "Status"),
        rows=tuple((each.title, sentence(each.text), _STATUS[each.status]) for each in rows),
        align="lll",
        caption="Threats to the validity of this comparison",
    )
    return f"{prose(lead)}\n\n{table_float(table, 'tbl-threats', tones=_TONES)}"


def _counts(found: LabLiveGap) -> str:
    told = [(sum(each.status == status for each in found.threats), words) for status, words in _STATUS.items()]
    said = ", ".join(f"{n} {words}" for n, words in told if n)
    return f"Of {len(found.threats)} threats: {said}."


def not_answered(page: LabLivePage) -> str:
    """Return the questions that these data cannot answer, each with its reason; nothing where all are answered."""
    return (
        section("What these data cannot answer", listed(left_out_blocks(page.found)), level=2)
        if page.found.left_out
        else ""
    )
