"""What the checks of votes found, in words and tables: what warns first, then what holds, then what could not be looked at."""

from collections.abc import Callable

from evalstats.analysis.arena.check_result import BUDGET, CheckLine, WeakLink
from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.arenas.wording_tables import percent, table_of
from evalstats.analysis.arenas.words import points, some, stopped
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import interval, number, p_value, plural

_LINES = 8
_KINDS: dict[str, str] = {"side": "one side", "disagreement": "against the ratings", "loyalty": "one model"}


def checks_blocks(result: ArenaRanking) -> list[Block]:
    """Return every check in a sentence, and the numbers behind those that warn."""
    if not result.checks:
        return [
            Heading(text="Can the votes be trusted?", level=2),
            Paragraph(text="Not looked at: the checks were switched off."),
        ]
    blocks: list[Block] = [Heading(text="Can the votes be trusted?", level=2), Paragraph(text=BUDGET)]
    warned = [line for line in result.checks if line.status == "warning"]
    passed = [line for line in result.checks if line.status == "ok"]
    limits = [line for line in result.checks if line.status == "limit"]
    not_run = [line for line in result.checks if line.status == "not run"]
    if warned:
        blocks.append(Bullets(title="Warnings of checks", items=_items(warned), tone="caution"))
    if limits:
        blocks.append(Bullets(title="Limits of these votes", items=_items(limits)))
    if passed:
        blocks.append(Bullets(title="Nothing amiss (which is no proof)", items=_items(passed)))
    if not_run:
        blocks.append(Bullets(title="Not run", items=_items(not_run)))
    keys = {line.check for line in (*warned, *limits)}
    for check, table in _DETAILS:
        found = table(result) if check in keys else None
        if found is not None:
            blocks.append(found)
    return blocks


def _items(lines: list[CheckLine]) -> tuple[str, ...]:
    return tuple(stopped(f"{line.title}: {line.finding}") for line in lines)


# --- how votes are connected ---


def links_table(result: ArenaRanking) -> Table | None:
    """List the groups of models that few votes tie to the rest."""
    links = () if result.graph is None else result.graph.links[:_LINES]
    if not links:
        return None
    columns = {
        "Group": [_group(link) for link in links],
        "Models": [str(link.n_models) for link in links],
        "Few": [link.side for link in links],
        "Votes": [number(link.n_wins, 0 if float(link.n_wins).is_integer() else 1) for link in links],
    }
    return table_of(
        columns,
        caption=(
            "Groups that few votes hold to the rest: the wins of the group against the others (or its losses, whichever are "
            "fewer; a tie is half of one). Without them its ratings could not be compared with the others'"
        ),
        left=("Group", "Few"),
    )


def _group(link: WeakLink) -> str:
    more = link.n_models - len(link.group)
    return some(link.group, 3) if more <= 0 else f"{', '.join(link.group[:3])} and {link.n_models - 3} more"


# --- whether raters can be trusted ---


def raters_table(result: ArenaRanking) -> Table | None:
    """List the raters whose votes do not go as those of others."""
    flags = () if result.trust is None else result.trust.raters
    if not flags:
        return None
    shown = flags[:_LINES]
    columns = {
        "Rater": [flag.rater for flag in shown],
        "Pattern": [_KINDS.get(flag.check, flag.check) for flag in shown],
        "Votes": [f"{flag.n_votes:,}" for flag in shown],
        "Evidence": [evidence(flag.e_value) for flag in shown],
        "What": [flag.detail for flag in shown],
    }
    return table_of(
        columns,
        caption=(
            f"Raters whose votes do not go as those of others{_first(len(shown), len(flags))}. Evidence is at most 1 on average "
            "for an honest rater; the list allows for how many were looked at (e-BH). A rater of unusual taste is no cheat"
        ),
        left=("Rater", "Pattern", "What"),
        wide=("What",),
    )


def evidence(value: float) -> str:
    """Write an e-value: whole numbers up to a million, then powers of ten.

    Examples
    --------
    >>> evidence(24.2), evidence(8.1e9)
    ('24', '8.1e+09')
    """
    return f"{value:,.0f}" if value < 1e6 else f"{value:.1e}"


def bursts_table(result: ArenaRanking) -> Table | None:
    """List times at which far more votes came in than usual."""
    bursts = () if result.trust is None else result.trust.bursts
    if not bursts:
        return None
    shown = bursts[:_LINES]
    columns = {
        "For or by": [burst.name for burst in shown],
        "Kind": [burst.kind for burst in shown],
        "From": [f"{burst.start:%Y-%m-%d %H:%M}" for burst in shown],
        "To": [f"{burst.end:%Y-%m-%d %H:%M}" for burst in shown],
        "Votes": [f"{burst.n_votes:,}" for burst in shown],
        "Expected": [number(burst.expected, 1) for burst in shown],
        "p (adjusted)": [p_value(burst.p_adjusted) for burst in shown],
    }
    return table_of(
        columns,
        caption=f"More votes in a short time than the usual pace explains{_first(len(shown), len(bursts))}",
        left=("For or by", "Kind", "From", "To"),
        wide=("To", "p (adjusted)"),
    )


def influence_table(result: ArenaRanking) -> Table | None:
    """List what leaving out a single rater does."""
    rows = () if result.trust is None else result.trust.influences
    if not rows:
        return None
    shown = rows[:_LINES]
    columns = {
        "Without": [row.rater for row in shown],
        "Votes": [f"{row.n_votes:,}" for row in shown],
        "Moves": [row.model for row in shown],
        "By": [points(row.move, result, unit=False) for row in shown],
        "Rated first": [row.new_first or "the same" for row in shown],
    }
    return table_of(
        columns,
        caption=f"What leaving out one rater does, by a new fit{_first(len(shown), len(rows))}",
        left=("Without", "Moves", "Rated first"),
    )


# --- whether the model fits ---


def worst_pairs_table(result: ArenaRanking) -> Table | None:
    """List the pairs that do not go as the ratings say."""
    pairs = () if result.fit is None else result.fit.worst_pairs
    if not pairs:
        return None
    shown = pairs[:_LINES]
    columns = {
        "Model": [pair.first for pair in shown],
        "Against": [pair.second for pair in shown],
        "Votes": [f"{pair.n_votes:,}" for pair in shown],
        "Won": [percent(pair.observed) for pair in shown],
        "By ratings": [percent(pair.expected) for pair in shown],
        "Residual": [number(pair.residual, 1, sign=True) for pair in shown],
    }
    return table_of(
        columns,
        caption=(
            f"Pairs that go least as the ratings say{_first(len(shown), len(pairs))}: the share the first model won (a tie is "
            "half) and the share its rating promises; the residual is in standard errors of independent votes"
        ),
        left=("Model", "Against"),
        wide=("Votes",),
    )


def calibration_table(result: ArenaRanking) -> Table | None:
    """Set the shares that ratings promise beside those that came."""
    bins = () if result.fit is None else result.fit.calibration
    if not bins:
        return None
    columns = {
        "Promised": [f"{number(100 * each.low, 0)} to {number(100 * each.high, 0)}%" for each in bins],
        "Votes": [f"{each.n_votes:,}" for each in bins],
        "Mean": [f"{number(100 * each.predicted, 1)}%" for each in bins],
        "Came": [f"{number(100 * each.observed, 1)}%" for each in bins],
        "Interval (%)": [interval(each.conf_low, each.conf_high, 100, 1) for each in bins],
        "": ["misses" if _misses(each.predicted, each.conf_low, each.conf_high) else "" for each in bins],
    }
    return table_of(
        columns,
        caption="Votes by the share that ratings promise the model named first, and the share it got",
        left=("Promised", ""),
    )


def _misses(predicted: float, low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and not low <= predicted <= high


def _first(shown: int, of: int) -> str:
    return f" (the first {shown} of {plural(of, 'line')})" if shown < of else ""


_DETAILS: tuple[tuple[str, Callable[[ArenaRanking], Table | None]], ...] = (
    ("connected", links_table),
    ("raters", raters_table),
    ("bursts", bursts_table),
    ("one rater", influence_table),
    ("deviance", worst_pairs_table),
    ("calibration", calibration_table),
)
