"""Whether the votes can be trusted: every check in a line, and the numbers behind those that warn."""

from evalstats.analysis.arena.check_result import BUDGET, CheckStatus
from evalstats.analysis.arenas.wording_checks import checks_blocks
from evalstats.document.blocks import Table, Tone
from evalstats.document.numbers import plural
from evalstats.report.arena.opening import were_checked
from evalstats.report.arena.page import ArenaPage
from evalstats.report.markup import folded, prose, sentence
from evalstats.report.tables import table_float, without_empty_columns

_TONES: dict[str, Tone] = {"ok": "good", "warning": "caution"}
_ORDER: dict[CheckStatus, int] = {"warning": 0, "limit": 1, "ok": 2, "not run": 3}


def lines(page: ArenaPage) -> str:
    """Return every check with what it found: those that warn first, those that could not be run last."""
    checks = page.found.checks
    if not page.found.converged:
        return ""
    if not were_checked(page.found):
        return prose("Not looked at: the checks were switched off.")
    counts = {status: sum(line.status == status for line in checks) for status in _ORDER}
    told = [f"{counts['warning']} {'warns' if counts['warning'] == 1 else 'warn'}"]
    if counts["limit"]:
        told.append(f"{counts['limit']} {'tells' if counts['limit'] == 1 else 'tell'} a limit of the votes")
    told += [f"{counts['ok']} found nothing amiss", f"{counts['not run']} could not be run"]
    lead = (
        f"{plural(len(checks), 'check')}: {', '.join(told)}. {BUDGET} That nothing was found is no proof: "
        "votes that are bought to look like others cannot be told from them."
    )
    ordered = sorted(checks, key=lambda line: _ORDER[line.status])
    table = Table(
        columns=("Check", "What was found", "Status"),
        rows=tuple((line.title, sentence(line.finding), line.status) for line in ordered),
        align="lll",
        caption="Every check of the votes and of the fit",
    )
    return f"{prose(lead)}\n\n{table_float(table, 'tbl-checks', tones=_TONES)}"


def details(page: ArenaPage) -> str:
    """Return the numbers behind the checks that warn, folded away; nothing where there are none."""
    if not page.found.converged:
        return ""
    tables = [block for block in checks_blocks(page.found) if isinstance(block, Table)]
    shown = [table_float(without_empty_columns(table), f"tbl-check-{n}") for n, table in enumerate(tables, start=1)]
    if not shown:
        return ""
    return folded(f"The numbers behind the warnings: {plural(len(shown), 'table')}", "\n\n".join(shown))
