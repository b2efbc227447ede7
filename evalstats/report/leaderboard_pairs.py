"""Models against each other on a leaderboard's page: the baseline, who can be told apart, who can be compared at all."""

from dataclasses import replace

from evalstats.analysis.leaderboard.figures import (
    MOST_GROUPS,
    MOST_PAIRS,
    against_baseline,
    comparability,
    is_worth_drawing,
    score_digits,
)
from evalstats.analysis.leaderboard.result import Leaderboard, LeaderboardRow, PairRow
from evalstats.analysis.leaderboard.wording import pairs_table
from evalstats.document.blocks import Block, Bullets, Paragraph, Table, Tone
from evalstats.document.numbers import interval, p_value, plural, scaled
from evalstats.report.board.opening import ADJUSTMENTS, n_parts, tier_letters
from evalstats.report.board.page import LeaderboardPage
from evalstats.report.board.words import leaderboard_words
from evalstats.report.figures import figure_float
from evalstats.report.markup import bullets, csv_link, folded, prose, raw, section
from evalstats.report.tables import table_float, without_empty_columns

_FEW_PAIRS = 10
_MANY_LINES = 10
_NAMED = 6
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "not compared": "caution"}


def baseline(page: LeaderboardPage) -> str:
    """Return every model against the baseline, where one was named."""
    board = page.board
    if board.baseline is None:
        return ""
    strict = board.adjust in ("max-t", "holm")
    caption = (
        f"The difference in {board.metric} of each model to {board.baseline}, with {100 * board.conf_level:g}% intervals"
        f"{' that hold together' if strict else ', each for its pair alone'}. A filled point is separated "
        f"({ADJUSTMENTS.get(board.adjust, board.adjust)}); a hollow one is not."
    )
    if len(board.pairs) > MOST_PAIRS:
        caption += f" Drawn are the {MOST_PAIRS} models nearest to the baseline."
    figure = figure_float(
        against_baseline(board),
        "fig-baseline",
        caption=prose(caption),
        after=csv_link(board.pairs_frame(), "against-baseline.csv", "Data of this figure (CSV)"),
    )
    table = table_float(_verdicts_last(without_empty_columns(pairs_table(board))), "tbl-baseline", tones=_TONES)
    return section(f"Against {board.baseline}", figure, table)


def _verdicts_last(table: Table) -> Table:
    """Put the verdict at the end, where it has its colour."""
    if "Verdict" not in table.columns:
        return table
    place = table.columns.index("Verdict")
    order = [*(i for i in range(len(table.columns)) if i != place), place]
    return replace(
        table,
        columns=tuple(table.columns[i] for i in order),
        rows=tuple(tuple(row[i] for i in order) for row in table.rows),
        align="".join(table.align[i] for i in order),
    )


def pairs(page: LeaderboardPage) -> str:
    """Return who can be told from whom: few pairs in full, of many who is not separated from each model."""
    board = page.board
    lead = prose(_separated_words(board))
    if board.baseline is not None:
        return section("Who can be told apart?", lead, _open(board))
    link = raw("html", csv_link(board.pairs_frame(), "pairs.csv", "All pairs (CSV)"))
    if len(board.pairs) <= _FEW_PAIRS:
        table = table_float(without_empty_columns(all_pairs_table(board)), "tbl-pairs", tones=_TONES)
        return section("Who can be told apart?", lead, table, link)
    neighbours = table_float(_verdicts_last(without_empty_columns(pairs_table(board))), "tbl-pairs", tones=_TONES)
    told = folded("Each model against the next line, with its interval", neighbours)
    return section("Who can be told apart?", lead, link, _open(board), told)


def _open(board: Leaderboard) -> str:
    """Return who is not separated from whom; of many models folded away."""
    table = table_float(open_table(board), "tbl-open")
    return table if len(board.rows) <= _MANY_LINES else folded("Who is not separated from whom", table)


def _separated_words(board: Leaderboard) -> str:
    """Say how many pairs are separated, and what that promises."""
    n, found = len(board.pairs), sum(pair.separated for pair in board.pairs)
    against = "" if board.baseline is None else f" with {board.baseline}"
    promise = (
        f"the chance of even one false separation is at most {100 * (1 - board.conf_level):.3g}%"
        if board.adjust in ("max-t", "holm")
        else f"of those that are, at most {100 * (1 - board.conf_level):.3g}% are expected to be false"
    )
    said = [f"{found:,} of {plural(n, 'pair')}{against} {'is' if found == 1 else 'are'} separated: {promise}."]
    beyond = sum(pair.separated and _includes_zero(pair) for pair in board.pairs)
    if beyond:
        said.append(
            f"Of these {beyond:,} {'is' if beyond == 1 else 'are'} separated by the step-down p though the simultaneous "
            "interval, which is less sharp, includes 0."
        )
    refused = sum(pair.verdict == "not compared" for pair in board.pairs)
    if refused:
        said.append(f"{plural(refused, 'pair')} {'is' if refused == 1 else 'are'} not compared.")
    return " ".join(said)


def _includes_zero(pair: PairRow) -> bool:
    return pair.conf_low is not None and pair.conf_high is not None and pair.conf_low <= 0 <= pair.conf_high


def all_pairs_table(board: Leaderboard) -> Table:
    """Return every pair with its difference, interval and p."""
    digits = score_digits(board)
    unit = f" ({board.unit})" if board.unit else ""
    return Table(
        columns=("Model", "Other model", f"Difference{unit}", "Interval", "p (adjusted)", "Items", "Verdict"),
        rows=tuple(
            (
                pair.first,
                pair.second,
                scaled(pair.estimate, board.scale, digits, sign=True),
                interval(pair.conf_low, pair.conf_high, board.scale, digits, sign=True),
                p_value(pair.p_adjusted),
                "" if pair.n_items is None else f"{pair.n_items:,}",
                pair.verdict,
            )
            for pair in board.pairs
        ),
        align="llrrrrl",
        caption=f"All {plural(len(board.pairs), 'pair')}: first minus second, adjusted for all of them",
    )


def open_table(board: Leaderboard) -> Table:
    """Return for every model those of its part that it shares a tier with: these it is not separated from."""
    lines = [row for row in board.rows if row.tier]
    of_part = " of its part" if n_parts(board) > 1 else ""
    rows = tuple((row.name, row.tier, *_not_separated(row, lines)) for row in lines)
    return Table(
        columns=("Model", "Tier", "How many", "Not separated from"),
        rows=rows,
        align="llrl",
        caption=f"Who cannot be told from whom; every other model{of_part} is shown to be better or worse",
    )


def _not_separated(row: LeaderboardRow, lines: list[LeaderboardRow]) -> tuple[str, str]:
    own = set(tier_letters(row))
    names = [
        other.name
        for other in lines
        if other is not row and other.component == row.component and own & set(tier_letters(other))
    ]
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return f"{len(names):,}", shown or "none"


def compared(page: LeaderboardPage) -> str:
    """Return who can be compared with whom; nothing where all saw the same items and were measured alike."""
    board = page.board
    blocks = leaderboard_words(board).compared
    if not blocks or board.graph is None:
        return ""
    graph = board.graph
    title = "Who can be compared?"
    if not is_worth_drawing(graph):
        return section(title, *(prose(block.text) for block in blocks[:1] if isinstance(block, Paragraph)))
    caption = (
        "Who saw the same items. A point is a group of models that did, and were measured alike; a line is as thick as the "
        "number of items that two groups share, dashed where these are too few to compare."
    )
    if len(graph.groups) > MOST_GROUPS:
        caption += f" Drawn are the {MOST_GROUPS} groups with the most models."
    figure = figure_float(
        comparability(graph),
        "fig-comparability",
        caption=prose(caption),
    )
    first, *rest = [_shown(block) for block in blocks]
    return section(title, first, figure, *rest)


def _shown(block: Block) -> str:
    match block:
        case Paragraph():
            return prose(block.text)
        case Bullets():
            return bullets([prose(item) for item in block.items])
        case Table():
            return table_float(block, "tbl-shared")
        case _:
            return ""
