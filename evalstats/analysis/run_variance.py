"""How far whole runs vary: what that adds to an interval, and the estimand of these very items."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.aggregate.items import ITEM_KEY
from evalstats.analysis.arms import Arm, Metric
from evalstats.analysis.method_rows import MethodRow, method_row
from evalstats.analysis.pairs import Floats, Ints
from evalstats.analysis.trials import unit_of
from evalstats.document.numbers import p_value, plural, scaled
from evalstats.stats.trials import RunVariance, run_variance, same_items_difference

# A run that holds fewer than this share of the items of the fullest one says more of its items than of itself.
_FULL_RUN = 0.5
# Shared trials whose means move together this much more than apart are worth a hint; three numbers do so by chance in a
# seventh of cases.
_TOGETHER = 0.1
_SMALL = 0.05


def run_scores(items: pl.DataFrame, arm: Arm) -> pl.DataFrame | None:
    """Return the scores by item (in the order of `items`) and full run; None where only averages of trials are known.

    Several runs of the same items are full runs; in a single run, its k-th trials are taken for its k-th full run.
    """
    key = [name for name in ITEM_KEY if name in items.columns]
    rows = arm.rows.filter(pl.col("status") == "scored")
    if not arm.by_run and (rows["trial"].null_count() or (rows["n_trials"].fill_null(1) > 1).any()):
        return None
    unit = unit_of(arm)
    name = unit.meta.output_name()
    wide = rows.select(*key, unit, "score").pivot(name, index=key, values="score", aggregate_function="mean")
    found = items.select(key).join(wide, on=key, how="left", maintain_order="left").drop(key).cast(pl.Float64)
    return found.select(sorted(found.columns))


def run_variance_of(
    items: pl.DataFrame, arms: Sequence[Arm], *, shared: bool, weights: Floats | None = None
) -> RunVariance | None:
    """Estimate what whole runs add to the variance of a score (one arm) or of a difference (two).

    Each side's runs are compared on the items that all of them scored, each with its weight in the mean. None where there
    are no trials to speak of.
    """
    if not any(arm.several_trials for arm in arms):
        return None
    tables = [run_scores(items, arm) for arm in arms]
    if any(table is None for table in tables):
        return None
    wide = [table for table in tables if table is not None]
    if shared:
        common = [name for name in wide[0].columns if name in wide[1].columns]
        wide = [pl.DataFrame([wide[1][name] - wide[0][name] for name in common])]
    matrices = [_matrix(table) for table in wide]
    held = [_complete(scores) for scores in matrices]
    scores = [side[np.ix_(rows, runs)] for side, (rows, runs) in zip(matrices, held, strict=True)]
    if any(len(side) < 2 or not side.shape[1] for side in scores):
        return None
    return run_variance(*scores, weights=None if weights is None else [weights[rows] for rows, _ in held])


def run_matrix(items: pl.DataFrame, arms: Sequence[Arm]) -> tuple[Floats, Ints] | None:
    """Return the scores of trials that all arms share, shape (n_items, n_trials, n_arms), and which items these are.

    Only items of which every arm has every trial count; None with fewer than 2.
    """
    tables = [run_scores(items, arm) for arm in arms]
    if any(table is None or table.columns != tables[0].columns for table in tables if tables[0] is not None):
        return None
    scores = np.stack([_matrix(table) for table in tables if table is not None], axis=2)
    rows = np.flatnonzero(~np.isnan(scores).any(axis=(1, 2)))
    return (scores[rows], rows) if rows.size > 1 else None


def _matrix(table: pl.DataFrame) -> Floats:
    scores: npt.NDArray[np.float64] = table.to_numpy()
    return scores


def _complete(scores: Floats) -> tuple[Ints, Ints]:
    """Return the items to keep and the runs: those that hold most items, and the items that all of these scored."""
    there = ~np.isnan(scores)
    counts = there.sum(axis=0)
    full = counts >= _FULL_RUN * counts.max(initial=1)
    return np.flatnonzero(there[:, full].all(axis=1)), np.flatnonzero(full)


def same_items_row(items: pl.DataFrame, arms: Sequence[Arm], *, shared: bool, conf_level: float) -> MethodRow | None:
    """Return the difference on these very items for new trials, where every item has the same trials."""
    if not any(arm.several_trials for arm in arms):
        return None
    tables = [run_scores(items, arm) for arm in arms]
    scores = [_matrix(table) for table in tables if table is not None]
    if len(scores) < 2 or any(side.shape[1] < 2 or np.isnan(side).any() for side in scores):
        return None
    if shared:
        # What trials add to both cancels in the difference of each.
        scores = [np.zeros_like(scores[0]), scores[1] - scores[0]]
    found = same_items_difference(*scores, conf_level=conf_level)
    return method_row(found, term="difference", role="other estimand", note="for these very items, and new trials")


def run_remarks(runs: RunVariance | None, arms: Sequence[Arm], metric: Metric, *, shared: bool) -> tuple[str, ...]:
    """Say what the interval takes in of the variation from run to run, and what it cannot."""
    if runs is None:
        return ()
    if runs.variance is None:
        return (f"{runs.reason}; it is not in the interval",) if max(runs.n_runs) > 1 else ()
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    spread = " and ".join(scaled(sd, metric.scale) for sd in runs.run_sd if sd is not None)
    counts = f"{' and '.join(str(n) for n in runs.n_runs if n > 1)} {'trials' if shared else 'runs'}"
    what = "the difference varies from one shared trial to another" if shared else "scores vary from run to run"
    tested = "" if runs.p_value is None else f"; F test p {_p(runs.p_value)}"
    told = [
        f"{what} with a standard deviation of {spread}{unit} ({counts}{tested}); the interval counts it"
        if runs.variance
        else f"{what} no more than the noise of single trials explains ({counts}{tested})"
    ]
    alone = [arm.name for arm, n in zip(arms, runs.n_runs, strict=False) if n == 1 and len(runs.n_runs) > 1]
    told.extend(f"{name} has one run: its own variation from run to run is not in the interval" for name in alone)
    return tuple(told)


def sharing_hint(items: pl.DataFrame, arms: Sequence[Arm], apart: RunVariance | None) -> tuple[str, ...]:
    """Hint that trials look shared: their means vary, and rise and fall together on both sides."""
    if apart is None or not apart.variance or apart.p_value is None or apart.p_value > _SMALL:
        return ()
    if len(set(apart.n_runs)) > 1 or any(arm.by_run for arm in arms):
        return ()
    tables = [run_scores(items, arm) for arm in arms]
    columns = [[] if table is None else table.columns for table in tables]
    if columns[0] != columns[1]:
        return ()
    first, second = (np.array(means) for means in apart.run_means)
    if np.var(second - first) > _TOGETHER * (np.var(first) + np.var(second)):
        return ()
    hint = (
        f"the {plural(apart.n_runs[0], 'trial')} move both sides alike, and the interval counts that as noise. If trial k is "
        "the same judge or seed on both sides, add --shared-trials (shared_trials=True)"
    )
    return (hint,)


def _p(p: float) -> str:
    shown = p_value(p)
    return shown if shown.startswith(("<", ">")) else f"= {shown}"
