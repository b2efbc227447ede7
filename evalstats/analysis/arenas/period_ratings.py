"""Ratings of every month or week, against the models that are in all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evalstats.analysis.arenas.check_results import PeriodRating
from evalstats.analysis.arenas.connecting import votes_of
from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.slices import SliceFit, slice_fit
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import t_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """Votes with a time, merged, and the period of every row.

    Attributes
    ----------
    labels, times
        Of every period that has votes: its name, and its number of months or weeks after the first.
    n_undated
        Votes without a time, which are left out.
    """

    unit: Literal["month", "week"]
    rows: VoteRows
    period: IntArray
    labels: tuple[str, ...]
    times: FloatArray
    n_undated: int


def period_ratings(
    dated: Dated, names: Sequence[str], fit: PairFit, *, conf_level: float, points: float, reasons: list[str]
) -> tuple[PeriodRating, ...]:
    """Rate the models of every period against the mean of those that are in all periods (but poor ones)."""
    parts = [dated.rows.take(dated.period == k) for k in range(len(dated.labels))]
    fits: list[SliceFit | None] = []
    for part in parts:
        try:
            fits.append(slice_fit(part, ties=fit.ties, prior=fit.prior))
        except CannotAnswerError:
            fits.append(None)
    rated = [each.models for each in fits if each is not None]
    # A period with few models would leave nothing common to all: it is not rated, so that the others are.
    rich = [models for models in rated if 2 * models.size >= max(each.size for each in rated)]
    anchors = np.arange(len(names))
    for models in rich:
        anchors = np.intersect1d(anchors, models)
    if len(rich) < 2 or anchors.size < 2:
        reasons.append(
            f"no two models are rated in every {dated.unit}, so ratings of {dated.unit}s have no common measure"
        )
        return ()
    out: list[PeriodRating] = []
    for label, part, each in zip(dated.labels, parts, fits, strict=True):
        votes = votes_of(part)
        whole = each is not None and bool(np.isin(anchors, each.models).all())
        found = {} if each is None or not whole else _estimates(each, anchors, conf_level, points)
        out.extend(
            _rating(label, name, int(n), found.get(m))
            for m, (name, n) in enumerate(zip(names, votes, strict=True))
            if n
        )
    return tuple(out)


def _estimates(
    found: SliceFit, anchors: IntArray, conf_level: float, points: float
) -> dict[int, tuple[float, float | None, float]]:
    """Return each model's rating against the anchors, its standard error, and how many of these an interval reaches."""
    estimate, error = found.against(anchors)
    df = found.covariance.df
    sure = found.covariance.reason is None and df >= 1.0
    reach = t_quantile(conf_level, df) if sure else 0.0
    errors = [points * float(size) if sure and np.isfinite(size) else None for size in error]
    return {
        int(model): (points * float(value), size, reach)
        for model, value, size in zip(found.models, estimate, errors, strict=True)
    }


def _rating(label: str, name: str, n_votes: int, found: tuple[float, float | None, float] | None) -> PeriodRating:
    if found is None:
        return PeriodRating(period=label, model=name, estimate=None, n_votes=n_votes)
    estimate, error, reach = found
    return PeriodRating(
        period=label,
        model=name,
        estimate=estimate,
        std_error=error,
        conf_low=None if error is None else estimate - reach * error,
        conf_high=None if error is None else estimate + reach * error,
        n_votes=n_votes,
    )
