"""Which rank each model will have on a task not yet seen, where a leaderboard is of many tasks."""

from dataclasses import replace

import numpy as np

from evalstats.analysis.design.clusters import label_of
from evalstats.analysis.leaderboard import figures
from evalstats.analysis.leaderboard.board import Board
from evalstats.analysis.leaderboard.result import Leaderboard, NewTask, NewTaskRow
from evalstats.document.model import Section, Text
from evalstats.document.numbers import share_in_percent
from evalstats.grammar import plural, plural_of
from evalstats.schema.tables import is_constant
from evalstats.stats.many.task_ranks import new_task_ranks, tasks_needed


def new_task_of(board: Board, conf_level: float) -> NewTask | None:
    """Return conformal intervals for ranks on a new level of what the board averages over, or else on a new task.

    A task counts with the items that every model has of it, and not at all where there are none. None where no two tasks
    count, or labels correct the scores.
    """
    column = "task" if board.average is None else board.average.column
    items = board.whole.items
    if board.labels is not None or column not in items.columns or is_constant(items[column]):
        return None
    values = [part.values()[part.paired()] for _, part in board.whole.levels(column)]
    means = np.array([own.mean(axis=0) for own in values if len(own)])
    if len(means) < 2:
        return None
    label = label_of(column, board.data.factor_names())
    found = NewTask(factor=label, n_tasks=len(means), n_left_out=len(values) - len(means), conf_level=conf_level)
    if len(means) < (needed := tasks_needed(conf_level)):
        few = f"{plural(len(means), label)} are too few to predict a rank at {100 * conf_level:g}%; at least {needed} are needed"
        return replace(found, reason=few)
    ranks = new_task_ranks(means if board.metric.higher_is_better else -means, conf_level=conf_level)
    rows = tuple(
        NewTaskRow(
            name=name,
            rank_low=int(ranks.low[j]),
            rank_high=int(ranks.high[j]),
            rank_median=float(ranks.median[j]),
            share_inside=None if ranks.inside is None else float(ranks.inside[j]),
        )
        for j, name in enumerate(board.names)
    )
    return replace(found, rows=rows, share_together=ranks.together, method="conformal prediction over tasks")


def new_task(result: Leaderboard) -> Section | None:
    """Say which ranks a new task leaves open; why that cannot be said stands with the method."""
    found = result.new_task
    if found is None or not found.rows:
        return None
    first, many = found.rows[0], len(found.rows)
    text = (
        f"Each interval holds its model's rank by score with {100 * found.conf_level:g}% probability, if the new {found.factor} "
        f"is drawn as these {found.n_tasks} were and has as many items."
    )
    inside = [row.share_inside for row in found.rows if row.share_inside is not None]
    if inside and found.share_together is not None:
        text += (
            f" Each {found.factor} predicted from the others: {share_in_percent(float(np.mean(inside)))} of ranks were inside, "
            f"all {many} at once on {share_in_percent(found.share_together)} of {plural_of(found.factor)}."
        )
    heading = f"On a new {found.factor}, {first.name} would rank {first.ranks.replace('-', ' to ')} of {many}"
    return Section(id="new-task", heading=heading, blocks=(figures.new_task(result, found), Text(text=text)))
