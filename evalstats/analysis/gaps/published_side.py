"""One side made of published numbers: scores with the errors that their source gives, or none."""

import numpy as np
import polars as pl

from evalstats.analysis.arms import Metric, choose_metric
from evalstats.analysis.boards.published import PUBLISHED_ENTRY, refuse_several, with_std_errors
from evalstats.analysis.gaps.material import RankSets, Side
from evalstats.analysis.provenance import notes_of, sources_of
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.many.ranks import rank_sets_normal

_NAMED = 4
_RANK_DRAWS = 4_999  # rank sets are shown beside the answer, and decide nothing
_FEW = 0.1  # of the models may have several numbers and be left out


def published_side(data: EvalData, *, live: bool, metric: str | None) -> tuple[Side, RankSets]:
    """Take published numbers of one metric, one for each model.

    Errors are those published, or taken from the width of published intervals; NaN on the diagonal of the covariance for a
    model without one. A model that has several numbers is left out, unless many have.

    Raises
    ------
    InputError
        If a metric has to be chosen, or a model has several numbers.
    CannotAnswerError
        If there is no number.
    """
    where = "live" if live else "lab"
    rows = data.aggregates.with_columns(pl.col("estimate", "std_error", "conf_low", "conf_high").fill_nan(None))
    rows = rows.filter(pl.col("estimate").is_not_null()).with_columns(pl.col("model").alias(PUBLISHED_ENTRY))
    if not rows.height:
        raise CannotAnswerError(f"the {where} data hold no published number")
    chosen = choose_metric(data, rows.with_columns(score=pl.col("estimate")), metric)
    rows = rows.filter((pl.col("metric") == chosen.name) & (pl.col("benchmark") == chosen.benchmark))
    rows, notes = with_std_errors(rows)
    rows, doubled = _one_each(rows, chosen, where)
    doubled = (*doubled, *_without_level(rows, where))
    rows = rows.sort(PUBLISHED_ENTRY)
    covariance = _errors(rows)
    estimate = rows["estimate"].to_numpy().astype(np.float64)
    runs = rows["run"].drop_nulls().unique().sort().to_list()
    side = Side(
        kind="aggregates",
        name=chosen.benchmark,
        metric=chosen.name,
        unit=chosen.score_unit,
        scale=chosen.scale,
        metric_kind=chosen.kind,
        low=chosen.low,
        high=chosen.high,
        turned=not chosen.higher_is_better,
        direction=chosen.direction,
        models=tuple(rows[PUBLISHED_ENTRY].to_list()),
        estimate=estimate,
        covariance=covariance,
        marginal=True,
        df=None,
        n=rows["n"].fill_null(0).to_numpy().astype(np.int64),
        n_clusters=np.zeros(rows.height, dtype=np.int64),
        clusters=(),
        rank_low=np.zeros(rows.height, dtype=np.int64),
        rank_high=np.zeros(rows.height, dtype=np.int64),
        first_day=_day(rows["date"].min()),
        last_day=_day(rows["date"].max()),
        method="published numbers" + (", with published errors" if covariance is not None else ", without errors"),
        sources=sources_of(data, runs),
        warnings=doubled,
        notes=(*notes, *notes_of(data, runs)),
    )
    return side, lambda places: _ranks(side, list(places))


def _one_each(rows: pl.DataFrame, metric: Metric, where: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Leave out the few models that have several numbers; refuse where they are not few, since then a choice is missing."""
    several = rows[PUBLISHED_ENTRY].is_duplicated()
    names = rows.filter(several)[PUBLISHED_ENTRY].unique().sort().to_list()
    if not names:
        return rows, ()
    if len(names) > _FEW * rows[PUBLISHED_ENTRY].n_unique():
        refuse_several(rows, metric)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    has = "has several published numbers and is" if len(names) == 1 else "have several published numbers each and are"
    said = f"{', '.join(names[:_NAMED])}{more} {has} left out of the {where} side: which one is meant is not known"
    return rows.filter(~several), (said,)


def _without_level(rows: pl.DataFrame, where: str) -> tuple[str, ...]:
    """Warn of intervals whose level is not known: no error can be taken from them."""
    ends = rows["conf_low"].is_not_null() & rows["conf_high"].is_not_null()
    n = int((ends & rows["std_error"].is_null() & rows["conf_level"].is_null()).sum())
    if not n:
        return ()
    said = (
        f"{plural(n, f'{where} number')} {'has' if n == 1 else 'have'} an interval whose level is not known, so no error can be "
        "taken from it; fill conf_level (0.95, say)"
    )
    return (said,)


def _errors(rows: pl.DataFrame) -> FloatArray | None:
    """Return the published variances; NaN for a model without one, None where no model has one."""
    usable = ((rows["std_error"] > 0) & rows["std_error"].is_finite()).fill_null(value=False)
    if not usable.any():
        return None
    errors = np.where(usable.to_numpy(), rows["std_error"].fill_null(np.nan).to_numpy().astype(np.float64), np.nan)
    return np.diag(errors**2)


def _ranks(side: Side, at: list[int]) -> tuple[IntArray, IntArray]:
    none = np.zeros(len(at), dtype=np.int64)
    if side.covariance is None or len(at) < 2:
        return none, none
    sign = -1.0 if side.turned else 1.0
    found = rank_sets_normal(sign * side.estimate[at], side.covariance[np.ix_(at, at)], n_resamples=_RANK_DRAWS)
    return (none, none) if found.reason else (found.low, found.high)


def _day(moment: object) -> str | None:
    return None if moment is None else str(moment)[:10]
