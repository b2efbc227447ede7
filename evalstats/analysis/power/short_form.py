"""Whether a few chosen items of a pilot would tell a model's score as well as the random items of a plan."""

import numpy as np

from evalstats.analysis.design.entries import entries_of, entry_table, measured_alike
from evalstats.analysis.power.result import PowerPlan, ShortFormPlan
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.stats.item_response import two_parameter
from evalstats.stats.short_form import FEWEST_MODELS, form_errors, worth_of_form

_SIZES = (20, 50, 100, 150, 200, 300, 500)
# Curves of more answers than this take longer than the whole plan; `items` is there for them.
_MOST_CELLS = 30_000


def short_form_plan(data: EvalData, plan: PowerPlan, *, contrast: str, seed: int) -> ShortFormPlan | None:
    """Return the smallest short form of the pilot's items that tells a score as well as the plan's random items.

    None where the plan has no number of independent right-or-wrong items below the pilot's, fewer than ten models answered
    alike, the pilot is large, or no form is smaller.
    """
    wanted = plan.n_items
    if plan.solved != "n_items" or wanted is None or plan.n_clusters or plan.n_tasks or plan.discordance is None:
        return None
    column = contrast if contrast == "model" else data.factor(contrast)
    try:
        metric, systems, _ = entries_of(
            data, metric=plan.metric, models=None, contrast=column, least=FEWEST_MODELS, ambiguous={}
        )
        board, _ = measured_alike(entry_table(data, metric, systems, contrast=column), "no short form can be tried")
    except (CannotAnswerError, InputError):  # an offer beside the plan, which stands without it
        return None
    table = board.table.take(board.table.paired())
    n_items, n_models = table.total.shape
    sizes = [size for size in _SIZES if size < wanted and 2 * size <= n_items]
    if n_models < FEWEST_MODELS or not sizes or wanted >= n_items or n_items * n_models > _MOST_CELLS:
        return None
    # Which items are picked may hang on the last digit of a sum, and so on the order of the cells in memory.
    trials, total = (np.array(cells, dtype=np.float64, order="C") for cells in (table.n_scored, table.total))
    right = total if metric.higher_is_better else trials - total
    tried = form_errors(right, sizes, trials=trials, curves=two_parameter(right, trials), seed=seed)
    for form in tried:
        worth = worth_of_form(form.score_error, form.random_error, form.size, n_items)
        if worth >= wanted:
            return ShortFormPlan(
                size=form.size,
                n_items=n_items,
                n_models=n_models,
                score_error=form.score_error,
                random_size=worth,
                difference_error=form.difference_error,
                difference_size=worth_of_form(form.difference_error, form.random_difference_error, form.size, n_items),
            )
    return None
