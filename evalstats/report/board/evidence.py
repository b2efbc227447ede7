"""What a leaderboard rests on: figure and table, what is missing, luck at the top, hidden groups."""

from dataclasses import replace

import polars as pl

from evalstats.analysis.leaderboard.figures import MOST_MODELS, ranks, score_digits
from evalstats.analysis.leaderboard.result import Leaderboard, Winner
from evalstats.analysis.leaderboard.wording import models_table
from evalstats.document.blocks import Table
from evalstats.document.numbers import interval, p_value, plural, scaled
from evalstats.report.board.opening import n_parts
from evalstats.report.board.page import LeaderboardPage
from evalstats.report.board.words import leaderboard_words, statement
from evalstats.report.figures import figure_float
from evalstats.report.markup import bullets, csv_link, folded, prose
from evalstats.report.tables import chosen_columns, table_float, without_empty_columns

_MANY_LINES = 10


def standings(page: LeaderboardPage) -> str:
    """Return the figure of the leaderboard, its table, and what the lines alone would hide."""
    board = page.board
    table = table_float(without_empty_columns(_models_table(page)), "tbl-models")
    beside = bullets([prose(statement(text, board)) for text in leaderboard_words(board).beside])
    return "\n\n".join(part for part in (_figure(board), table, beside, _further(board)) if part)


def _figure(board: Leaderboard) -> str:
    unit = f" in {board.score_unit}" if board.score_unit else ""
    caption = f"Scores: {board.metric}{unit}, with {100 * board.conf_level:g}% intervals, each model's own."
    if any(row.rank_low for row in board.rows):
        caption += (
            " On the right the ranks that the data leave open: the pale bar is the set that holds together with all others, "
            "the dark one inside it the set of that model looked at alone."
        )
        open_to = len(board.best()) < sum(row.rank_low is not None for row in board.rows)
        caption += " Bold: may be the best." if open_to else " Any of them may be the best."
    if len(board.rows) > MOST_MODELS:
        caption += f" Drawn are the first {MOST_MODELS} of {len(board.rows):,}."
    return figure_float(
        ranks(board),
        "fig-ranks",
        caption=prose(caption),
        after=csv_link(flat_frame(board), "leaderboard.csv", "Data of this figure (CSV)"),
    )


def flat_frame(board: Leaderboard) -> pl.DataFrame:
    """Return one row for each model, with lists as text: a CSV has none."""
    frame = board.to_frame()
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    return frame.with_columns(pl.col(name).list.join("; ") for name in lists)


def _models_table(page: LeaderboardPage) -> Table:
    """Return the table of models, with the ranks that are left when suspected groups are taken for clusters.

    What is missing has a section of its own, and a number of items that is the same for all stands at the top.
    """
    table = models_table(page.board)
    for factor, other in reversed(page.alternatives):
        column = {row.name: row.ranks for row in other.rows}
        place = table.columns.index("Ranks") + 1
        table = replace(
            table,
            columns=(*table.columns[:place], f"Ranks by {factor}", *table.columns[place:]),
            rows=tuple((*row[:place], column.get(row[0], "–"), *row[place:]) for row in table.rows),
            align=f"{table.align[:place]}r{table.align[place:]}",
        )
    same = len({row.n_items for row in page.board.rows}) == 1
    dropped = {"Missing", *_further_columns(page.board), *(["Items"] if same else [])}
    return chosen_columns(table, [place for place, name in enumerate(table.columns) if name not in dropped])


def _further(board: Leaderboard) -> str:
    """Return what else is known of each model, folded away."""
    explained = _further_columns(board)
    table = models_table(board)
    told = [place for place, name in enumerate(table.columns) if name in explained and _says_anything(table, place)]
    if not told:
        return ""
    rest = chosen_columns(replace(table, caption="What else is known of each model"), [0, *told])
    said = prose(" ".join(text for name, text in explained.items() if name in rest.columns))
    return folded(
        "The lead over the others, each rank alone, shrunken scores", f"{said}\n\n{table_float(rest, 'tbl-further')}"
    )


def _says_anything(table: Table, place: int) -> bool:
    return any(row[place].strip(" –") not in ("", "none") for row in table.rows)


def _further_columns(board: Leaderboard) -> dict[str, str]:
    """Return the columns of the table that are not for the first look, with what they are."""
    unit = f" ({board.unit})" if board.unit else ""
    return {
        f"To the best{unit}": (
            "To the best is the interval of the lead over the best of the others: who ends at 0 from below is not the best."
        ),
        "Alone": "Alone is the rank set of one model looked at by itself.",
        "Shrunken": "Shrunken is the score drawn towards the mean of all, by as much as its noise makes likely.",
    }


def missing(page: LeaderboardPage) -> str:
    """Return which models miss scores, and how far these could move them."""
    table = leaderboard_words(page.board).missing
    if page.board.n_items is None:
        return prose("There are published numbers alone: what they leave out is not known.")
    if table is None:
        return prose("No score is missing: every model was scored on every item.")
    remark = (
        "Missing scores are left out, as if they were like the rest. The last column says how far they could move a score if "
        "they were not."
        if "Lowest and highest" in table.columns
        else "Missing scores are left out, as if they were like the rest; the metric has no bounds, so no worst case exists."
    )
    shown = table_float(without_empty_columns(table), "tbl-missing")
    lead = prose(f"{_missing_words(page.board)} {remark}")
    return f"{lead}\n\n{shown if len(table.rows) <= _MANY_LINES else folded('Missing scores by model', shown)}"


def _missing_words(board: Leaderboard) -> str:
    """Count what is missing, and say how much of it is errors."""
    short = [row for row in board.rows if row.n_missing]
    errors = sum(row.n_error for row in board.rows)
    unscored = sum(row.n_unscored for row in board.rows)
    most = max((row.n_missing for row in board.rows), default=0)
    lacking = f"{len(short):,} of {plural(board.n_models, 'model')} {'lacks' if len(short) == 1 else 'lack'} items"
    lost = [f"{plural(errors, 'row')} failed in the harness" if errors else ""]
    lost += [f"{plural(unscored, 'row')} {'has' if unscored == 1 else 'have'} no score" if unscored else ""]
    rows = " and ".join(text for text in lost if text)
    return f"{lacking}, up to {most:,} each{f'; {rows}' if rows else ''}."


def luck(page: LeaderboardPage) -> str:
    """Return what the score at the top is worth, having been picked for being at the top."""
    board = page.board
    winner = board.winner
    if winner is None:
        why = "the models fall into parts that have no common mean" if n_parts(board) > 1 else "there are no ranks"
        return prose(f"No score is corrected for having come out on top, since {why}.")
    return prose(_winner_words(winner, board))


def _winner_words(winner: Winner, board: Leaderboard) -> str:
    percent = "%" if board.score_unit == "%" else f" {board.score_unit}".rstrip()
    digits = score_digits(board)

    def shown(value: float | None) -> str:
        return f"{scaled(value, board.scale, digits)}{percent}"

    luck_of = "Who stands on top does so by merit and by luck, so the highest of many scores is too high on average."
    if winner.corrected is None:
        return f"{luck_of} The score of {winner.name} ({shown(winner.estimate)}) is not corrected for that: {winner.reason}."
    ends = interval(winner.conf_low, winner.conf_high, board.scale, digits)
    level = f"{100 * winner.conf_level:g}%"
    row = board.row(winner.name)
    own = interval(row.conf_low, row.conf_high, board.scale, digits)
    drawn = (
        f" Drawn towards the mean of all models, by as much as its noise makes likely, it is {shown(winner.shrunken)}; the "
        "column Shrunken has the same for every model."
        if winner.shrunken is not None
        else ""
    )
    return (
        f"{luck_of} {winner.name} shows {shown(winner.estimate)}. Corrected for having been picked it is "
        f"{shown(winner.corrected)}, {level} interval {ends} ({winner.method}); its own interval, which takes no account of "
        f"that, is {own}.{drawn}"
    )


def omnibus(page: LeaderboardPage) -> str:
    """Return one test of whether the models differ at all, and what it does not say."""
    found = page.board.omnibus
    if found is None:
        reason = page.board.omnibus_reason
        return prose(f"Not tested: {reason}.") if reason else ""
    shown = p_value(found.p_value)
    equals = "" if shown.startswith(("<", ">")) else "= "
    rest = f" ({found.reason})" if found.reason else ""
    return prose(
        f"{found.method} over all models, on the {plural(found.n_items, 'item')} that all of them have: p {equals}{shown}{rest}. "
        "It asks whether any model differs from another, names no pair, and decides nothing here."
    )


def dependence(page: LeaderboardPage) -> str:
    """Return whether the lead of the first model runs in groups that nobody declared as clusters."""
    table = leaderboard_words(page.board).dependence
    if page.board.n_items is None:
        return prose("There are published numbers alone, and no items to look at.")
    if table is None:
        return prose(
            "Nothing could be checked for hidden groups: the items have no further factor with several levels."
        )
    words = (
        "Items that share a scenario, a template or an author can rise and fall together; then there is less information "
        "than the number of items says. A design effect of 1 means no such thing; the band shows what chance alone gives."
    )
    return f"{prose(words)}\n\n{table_float(without_empty_columns(table), 'tbl-dependence')}"
