"""Pairs of models beyond plain items: crossed clusters, and the variation of full runs counted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.arms import Arm, Metric
from evalstats.analysis.pairs import ENOUGH, Floats, Ints, labels_in_common, run_matrix, run_variance_of
from evalstats.document.numbers import scaled
from evalstats.errors import InputError, Option
from evalstats.stats.clusters import multiway_mean
from evalstats.stats.estimate import t_quantile, two_sided_t_p
from evalstats.stats.many.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from evalstats.stats.many.pairwise import Adjust, PairwiseDifferences
from evalstats.stats.trials import RunVariance, shared_run_variances


def crossed_pairs(
    values: Floats,
    clusters: Sequence[Ints],
    pairs: Sequence[tuple[int, int]],
    *,
    span: float | None,
    conf_level: float,
    adjust: Adjust,
) -> PairwiseDifferences:
    """Compare pairs of models on items that are clustered in several ways at once; intervals are clipped to the `span`.

    "max-t" is answered by Holm's method, and a warning says so: random signs need one way of clustering.
    """
    stepped = "holm" if adjust == "max-t" else adjust
    strict = stepped == "holm"
    level = 1.0 - (1.0 - conf_level) / (len(pairs) if strict else 1)
    rows: list[tuple[float, ...]] = []
    for i, j in pairs:
        d = values[:, i] - values[:, j]
        both = ~np.isnan(d)
        codes = [each[both] for each in clusters]
        low, high = (None, None) if span is None else (-span, span)
        found = multiway_mean(d[both], codes, conf_level=level, low=low, high=high)
        own = found.estimate
        p = own.p_value if d[both].any() else 1.0
        numbers = (own.estimate, own.std_error, own.df, p, own.conf_low, own.conf_high)
        rows.append((*(np.nan if x is None else x for x in numbers), int(both.sum()), found.n_clusters))
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 8)
    first, second = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2).T
    return PairwiseDifferences(
        first=first,
        second=second,
        estimate=table[:, 0],
        std_error=table[:, 1],
        df=table[:, 2],
        p_value=table[:, 3],
        p_adjusted=adjusted(table[:, 3], stepped),
        conf_low=table[:, 4],
        conf_high=table[:, 5],
        n_items=table[:, 6].astype(np.int64),
        n_clusters=table[:, 7].astype(np.int64),
        critical=np.nan,
        conf_level=conf_level,
        method=f"CR2 on {len(clusters)} cluster columns, Satterthwaite df{', Bonferroni intervals' if strict else ''}",
        adjust=stepped,
        exact=True,
        n_resamples=None,
        seed=None,
        warnings=(
            ("max-T needs one way of clustering, and there are several: p is adjusted by Holm's method",)
            if adjust == "max-t"
            else ()
        ),
    )


def adjusted(p_values: Floats, adjust: str) -> Floats:
    """Adjust p-values as one family; a pair without a p is not of it."""
    found = np.full(len(p_values), np.nan)
    tested = ~np.isnan(p_values)
    if tested.any():
        by = {"holm": holm, "bh": benjamini_hochberg, "by": benjamini_yekutieli}[adjust]
        found[tested] = by(p_values[tested])
    return found


_ADJUSTMENTS = {"max-t": holm, "holm": holm, "bh": benjamini_hochberg, "by": benjamini_yekutieli}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRuns:
    """What full runs add to the squared standard error of each pair: fields of `RunVariance`, shape (n_models, n_models)."""

    variance: Floats
    slack: Floats
    always: npt.NDArray[np.bool_]
    notes: tuple[str, ...]

    def of(self, members: npt.NDArray[np.bool_]) -> "BoardRuns":
        """Keep some models."""
        both = np.ix_(members, members)
        return replace(self, variance=self.variance[both], slack=self.slack[both], always=self.always[both])


def board_runs(
    items: pl.DataFrame,
    arms: Sequence[Arm],
    metric: Metric,
    *,
    weights: Floats | None = None,
    declared: bool | None = None,
) -> BoardRuns | None:
    """Estimate what full runs add; None where no model has several.

    Trials with the same labels under all models (three or more) are shared by them, so that what one adds to all cancels;
    `declared` says so of trials that are counted, or denies it.
    """
    if not any(arm.several_trials for arm in arms):
        return None
    if declared or (declared is None and labels_in_common(arms)):
        found = _shared(items, arms, metric, weights)
        if found is not None or not declared:
            return found
        raise InputError(
            "shared trials need three or more that every model has on the same items, and there are none; leave out "
            f"{Option('shared_trials', value=True)}"
        )
    parts = [run_variance_of(items, [arm], shared=False, weights=weights) for arm in arms]
    known = [part if part is not None and part.n_runs[0] > 1 else None for part in parts]
    if not any(known):
        return None
    raw, slack, df = (np.array([_run_part(part, name) for part in known]) for name in ("raw", "slack", "df"))
    total = df[:, np.newaxis] + df
    alone = np.minimum(df[:, np.newaxis], df) == 0
    return BoardRuns(
        variance=np.where(total >= 2, np.maximum(raw[:, np.newaxis] + raw, 0.0), 0.0),
        slack=slack[:, np.newaxis] + slack,
        always=(total == 2) & alone,
        notes=(_told(known, metric),),
    )


def _run_part(part: RunVariance | None, name: str) -> float:
    if part is None:
        return 0.0
    return {"raw": part.raw, "slack": part.slack, "df": float(part.n_runs[0] - 1)}[name]


def _told(parts: Sequence[RunVariance | None], metric: Metric) -> str:
    """Say how far scores vary from run to run."""
    known = [part for part in parts if part is not None]
    spreads = [max(0.0, part.raw * part.n_runs[0]) ** 0.5 for part in known]
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    middle = scaled(float(np.median(spreads)), metric.scale)
    least, most = (scaled(end(spreads), metric.scale) for end in (min, max))
    without = len(parts) - len(known)
    one = f"; {without} of {len(parts)} models have one run, whose variation is in no interval" if without else ""
    return (
        f"Scores vary from run to run with standard deviations of {least} to {most}{unit} (median {middle}): pairs and rank "
        f"sets count it, the corrected top score and the test over all models do not{one}"
    )


def _shared(items: pl.DataFrame, arms: Sequence[Arm], metric: Metric, weights: Floats | None) -> BoardRuns | None:
    found = run_matrix(items, arms)
    if found is None or found[0].shape[1] < ENOUGH:
        return None
    scores, rows = found
    variance, slack = shared_run_variances(scores, weights=None if weights is None else weights[rows])
    n_trials = scores.shape[1]
    apart = variance[np.triu_indices(len(arms), 1)]
    spread = scaled(float(np.sqrt(np.median(apart) * n_trials)), metric.scale)
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    note = (
        f"all models share their {n_trials} trials, so what one adds to all cancels; differences vary between them with a "
        f"standard deviation of {spread}{unit} (median of the pairs), which pairs and rank sets count"
    )
    always = np.full(variance.shape, n_trials == 3)
    np.fill_diagonal(always, val=False)
    return BoardRuns(variance=variance, slack=slack, always=always, notes=(note,))


def counting_runs(
    found: PairwiseDifferences, runs: BoardRuns | None, *, span: float | None, conf_level: float
) -> PairwiseDifferences:
    """Widen pairs by the variation of their runs: p is the larger of both, intervals hold both.

    The joint law of sign flips knows nothing of runs. So the test with runs counted stands beside it, adjusted for the
    family in closed form (Holm where the family-wise rate is wanted), and a pair is separated where both find it so.
    """
    if runs is None:
        return found
    at = found.first, found.second
    variance, slack, always = runs.variance[at], runs.slack[at], runs.always[at]
    touched = np.isfinite(found.std_error) & ((variance > 0.0) | always)
    if not touched.any():
        return found
    strict = found.adjust in ("max-t", "holm")
    level = 1.0 - (1.0 - conf_level) / (max(1, found.first.size) if strict else 1)
    squared = np.square(found.std_error)
    items_df = np.where(np.isfinite(found.df), found.df, np.maximum(found.n_items - 1.0, 1.0))
    total = squared + variance
    with np.errstate(invalid="ignore", divide="ignore"):
        df = np.where(touched, np.minimum(items_df, total**2 / (squared**2 / items_df + slack)), found.df)
    std_error = np.where(touched, np.sqrt(total), found.std_error)
    p, reach = found.p_value.copy(), np.zeros(found.p_value.size)
    for k in np.flatnonzero(touched).tolist():
        p[k] = np.fmax(p[k], two_sided_t_p(found.estimate[k] / std_error[k], df[k]))
        reach[k] = t_quantile(level, df[k]) * std_error[k]
    p_adjusted, tested = found.p_adjusted.copy(), np.isfinite(p)
    if tested.any() and found.adjust in _ADJUSTMENTS:
        p_adjusted[tested] = np.fmax(p_adjusted[tested], _ADJUSTMENTS[found.adjust](p[tested]))
    ends = [np.fmin(found.conf_low, found.estimate - reach), np.fmax(found.conf_high, found.estimate + reach)]
    if span is not None:
        ends = [np.clip(each, -span, span) for each in ends]
    return replace(
        found,
        std_error=std_error,
        df=df,
        p_value=p,
        p_adjusted=p_adjusted,
        conf_low=np.where(touched, ends[0], found.conf_low),
        conf_high=np.where(touched, ends[1], found.conf_high),
        method=f"{found.method}, runs counted",
    )
