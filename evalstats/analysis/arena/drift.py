"""Do ratings change over time? Periods by models, tested together and one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.arena.check_result import (
    DRIFT_LEVEL,
    CheckLine,
    CheckStatus,
    Drift,
    ModelDrift,
    PeriodRating,
    check_line,
    votes_of,
)
from evalstats.analysis.arena.votes import VoteTable
from evalstats.analysis.scenarios.words import p_text
from evalstats.document.numbers import number, plural
from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.drift import LinearDrift, PeriodTest, linear_drift, period_test
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.slices import SliceFit, slice_fit
from evalstats.stats.arena.votes import VoteRows, vote_rows
from evalstats.stats.checks import FloatArray, IntArray, check_level
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


POINTS = 400.0 / float(np.log(10.0))  # rating points for a log-unit
Period = Literal["month", "week", "auto"]
_FEWEST_PERIODS = 3  # for "auto" to take the longer unit
_DAYS = 7
_DRAWS = 999
_FEWEST_VOTES = (
    10  # a model and period; with 6 the test of periods x models was below .05 in 27% of tables without a change
)
_ANY, _STEADY = DRIFT_LEVEL / 3.0, DRIFT_LEVEL * 2.0 / 3.0
_NAMED = 3


def drift_of(
    table: VoteTable,
    fit: PairFit,
    *,
    period: Period = "auto",
    conf_level: float = 0.95,
    points: float = POINTS,
) -> tuple[Drift, CheckLine]:
    """Test whether ratings change with time, and rate models by period.

    Parameters
    ----------
    table
        The votes that were fitted; times stand in the column `timestamp`.
    period
        "auto": months where votes are of at least 3, otherwise weeks.
    conf_level
        Of intervals. Two questions are asked, whether anything changes in any way and which model rises or falls steadily;
        the first has a third of `DRIFT_LEVEL` for its false alarms, the second, which errs far less often, two thirds.
    points
        Rating points for a log-unit.

    Returns
    -------
    tuple
        Ratings and slopes in rating points; `reason` where the votes cannot tell.
    """
    conf_level = check_level(conf_level)
    try:
        dated = _dated(table, period)
    except CannotAnswerError as error:
        unit = "month" if period == "auto" else period
        return Drift(period=unit, n_periods=0, reason=str(error)), _line("not run", str(error))
    reasons: list[str] = []
    test, linear = _tested(fit, dated, reasons)
    ratings = period_ratings(dated, table.models, fit, conf_level=conf_level, points=points, reasons=reasons)
    models = () if linear is None else _models(linear, table.models, points)
    drift = Drift(
        period=dated.unit,
        n_periods=len(dated.labels),
        statistic=None if test is None else test.statistic,
        df=None if test is None else float(test.df),
        p_value=None if test is None else test.p_value,
        method=_method(test, linear, dated, table),
        models=models,
        ratings=ratings,
        reason="; ".join(reasons) or None,
    )
    return drift, _told(drift, dated)


def _dated(table: VoteTable, wanted: Period) -> Dated:
    """Sort votes into periods."""
    if table.votes is None:
        raise CannotAnswerError("votes came merged, so their times are not known")
    if "timestamp" not in table.votes.columns or table.votes["timestamp"].null_count() == table.votes.height:
        raise CannotAnswerError("votes have no timestamp")
    column = table.votes["timestamp"]
    known = column.is_not_null().to_numpy()
    day = column.drop_nulls().cast(pl.Date)
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone not in {None, "UTC"}:
        day = column.drop_nulls().dt.convert_time_zone("UTC").cast(pl.Date)
    month = (day.dt.year().cast(pl.Int64) * 12 + day.dt.month().cast(pl.Int64) - 1).to_numpy()
    # Weeks begin on Mondays; 1970-01-01 was a Thursday.
    week = ((day.cast(pl.Int32).cast(pl.Int64) + 3) // _DAYS).to_numpy()
    unit: Literal["month", "week"] = "week" if wanted == "week" else "month"
    if wanted == "auto" and np.unique(month).size < _FEWEST_PERIODS:
        unit = "week"
    number_of = month if unit == "month" else week
    levels, place = np.unique(number_of, return_inverse=True)
    if levels.size < 2:
        raise CannotAnswerError(f"all votes are of one {unit}, so no change can be seen")
    rows = vote_rows(
        table.first[known],
        table.second[known],
        table.outcome[known],
        n_models=table.n_models,
        share=table.share[known],
        weight=table.weight[known],
        covariates=table.covariates[known],
        clusters=(*(codes[known] for codes in table.codes), place),
    )
    return Dated(
        unit=unit,
        rows=replace(rows, clusters=rows.clusters[:-1]),
        period=rows.clusters[-1],
        labels=tuple(_label(unit, int(value)) for value in levels),
        times=(levels - levels[0]).astype(np.float64),
        n_undated=int(np.count_nonzero(~known)),
    )


def _label(unit: Literal["month", "week"], value: int) -> str:
    if unit == "month":
        return f"{value // 12:04d}-{value % 12 + 1:02d}"
    year, week, _ = (date(1970, 1, 1) + timedelta(days=value * _DAYS - 3)).isocalendar()
    return f"{year:04d}-W{week:02d}"


def _tested(fit: PairFit, dated: Dated, reasons: list[str]) -> tuple[PeriodTest | None, LinearDrift | None]:
    test, linear = None, None
    try:
        test = _of_periods(fit, dated)
    except CannotAnswerError as error:
        reasons.append(str(error))
    try:
        linear = linear_drift(fit, dated.rows, dated.period, times=dated.times, level=_STEADY)
    except CannotAnswerError as error:
        reasons.append(str(error))
    return test, linear


def _of_periods(fit: PairFit, dated: Dated) -> PeriodTest:
    each = 2.0 * dated.rows.n_votes / dated.rows.n_models / len(dated.labels)
    if each < _FEWEST_VOTES:
        few = f"{each:.0f} votes a model and {dated.unit} are too few to test all {dated.unit}s at once"
        raise CannotAnswerError(f"{few}; {_FEWEST_VOTES} are needed")
    return period_test(fit, dated.rows, dated.period, n_resamples=_DRAWS)


def _models(linear: LinearDrift, names: Sequence[str], points: float) -> tuple[ModelDrift, ...]:
    """Return the models' slopes, the surest change first."""
    found = [
        ModelDrift(
            model=names[int(model)],
            slope=points * float(slope),
            std_error=points * float(error),
            p_value=float(p),
            p_adjusted=float(adjusted),
            flagged=bool(adjusted <= _STEADY),
        )
        for model, slope, error, p, adjusted in zip(
            linear.models,
            linear.slope,
            linear.std_error,
            linear.p_value,
            linear.p_adjusted,
            strict=True,
        )
    ]
    return tuple(sorted(found, key=lambda each: each.p_value))


def _method(test: PeriodTest | None, linear: LinearDrift | None, dated: Dated, table: VoteTable) -> str:
    by = f"clusters of {' and '.join(table.cluster_names)}" if table.cluster_names else "single votes"
    parts: list[str] = []
    if test is not None:
        parts.append(
            f"score test of {dated.unit}s x models, its law by random signs of {by} ({test.n_resamples} draws)"
        )
    if linear is not None:
        parts.append(
            f"a straight line for each of {plural(linear.models.size, 'model')} against {plural(linear.anchors.size, 'anchor')}"
            f", t with {linear.df:,.0f} df by {by}, Holm; the test of all changes has a third of the error rate"
        )
    if dated.n_undated:
        parts.append(f"{plural(dated.n_undated, 'vote')} without a time left out")
    return "; ".join(parts)


def _told(drift: Drift, dated: Dated) -> CheckLine:
    if drift.p_value is None and not drift.models:
        return _line("not run", drift.reason or "no change can be seen")
    flagged = [each for each in drift.models if each.flagged]
    changed = drift.p_value is not None and drift.p_value <= _ANY
    test = "" if drift.p_value is None else f" (test of {drift.period}s x models: {p_text(drift.p_value)})"
    if not flagged and not changed:
        wide = sorted(each.std_error for each in drift.models)
        seen = "" if not wide else f"; a steady change shows from about {number(_least(wide, dated), 0)} points in all"
        return _line("ok", f"no change is seen over {plural(drift.n_periods, drift.period)}{test}{seen}", _p(drift))
    named = "; ".join(
        f"{each.model} {'rises' if each.slope > 0 else 'falls'} by {number(abs(each.slope), 1)} points a {drift.period} "
        f"(adjusted {p_text(each.p_adjusted)})"
        for each in flagged[:_NAMED]
    )
    more = f"; and {plural(len(flagged) - _NAMED, 'model')} more" if len(flagged) > _NAMED else ""
    what = f": {named}{more}" if flagged else ""
    return _line(
        "warning",
        f"ratings change over {plural(drift.n_periods, drift.period)}{test}{what}; one rating for the whole time is an average",
        _p(drift),
    )


def _p(drift: Drift) -> float:
    """Return the p-value of both questions together."""
    steady = min((model.p_adjusted for model in drift.models), default=1.0) * DRIFT_LEVEL / _STEADY
    return min(1.0, steady, 1.0 if drift.p_value is None else drift.p_value * DRIFT_LEVEL / _ANY)


def _least(errors: list[float], dated: Dated) -> float:
    """Change over the whole time that the model in the middle would show with about 80% power, all models tested."""
    sure = t_quantile(1.0 - _STEADY / len(errors), 1e6) + t_quantile(0.6, 1e6)
    return errors[len(errors) // 2] * sure * float(np.ptp(dated.times))


def _line(status: CheckStatus, finding: str, p_value: float | None = None) -> CheckLine:
    return check_line("drift", status, finding, p_value)
