"""Does one rating a model describe the votes: pair by pair, in prediction, without circles, and over time?"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl

from evalstats.analysis.arena.checks import DRIFT_LEVEL, TEST_LEVEL, check_line, guarded, votes_of
from evalstats.analysis.arena.notes import source_word
from evalstats.analysis.arena.result import CheckLine, FitChecks, ModelDrift, PairResidual, PeriodRating, RatingDrift
from evalstats.document.numbers import number, p_words
from evalstats.errors import CannotAnswerError
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS
from evalstats.stats.arena.drift import LinearDrift, PeriodTest, linear_drift, period_test
from evalstats.stats.arena.goodness_of_fit import (
    AgainstDrawn,
    HeldOut,
    PairResiduals,
    calibration_error,
    circle_share,
    held_out,
    pair_deviance,
    pair_residuals,
    transitivity,
)
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.parametric_bootstrap import Simulated, simulated
from evalstats.stats.arena.slices import SliceFit, slice_fit
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import t_quantile
from evalstats.table.votes import VoteTable

_SHOWN = 10
_ENOUGH_VOTES = 30  # a model; at 12 true ratings fail the checks of circles in 13% of tables, at a nominal 5%
_FEW_TRIPLES = 10  # below, hardly any share would stand out
_DRAWS = 399
_MOST_DRAWS = 1_000_000  # cells times resamples
_MOST_ROWS = 20_000_000  # rows of votes, whose tastes are drawn, times resamples
_FEWEST_DRAWS = 199  # with fewer no p-value is as small as `TEST_LEVEL`
_BIN_LEVEL = 0.95
_AVERAGE = "a rating is then an average over opponents, not a law"
_READY = check_line("deviance", "ok", "votes are drawn")
Test = TypeVar("Test")
# The fields of `FitChecks` that a check fills, and its line.
Checked = tuple[dict[str, Any], CheckLine]
_FEWEST_MONTHS = 3  # else votes are sorted into weeks
_DAYS = 7
_SIGNS = 999
_FEWEST_VOTES = (
    10  # a model and period; with 6 the test of periods x models was below .05 in 27% of tables without a change
)
_ANY, _STEADY = DRIFT_LEVEL / 3.0, DRIFT_LEVEL * 2.0 / 3.0
_NAMED = 3


def fit_checks(
    table: VoteTable, fit: PairFit, *, seed: int, told_apart: bool = True
) -> tuple[FitChecks, tuple[CheckLine, ...]]:
    """Check whether strengths describe the votes, each statistic beside what chance alone would make of it.

    Draws give raters (prompts, sessions, whatever votes are clustered by) tastes of their own, as large as the votes show
    them: what exceeds the draws is misfit. Where no two models are told apart, ratings need not predict a vote.
    """
    nothing: dict[str, Any] = {}
    drawn, failed = guarded(
        "deviance", lambda: (simulated(fit, table.rows, n_resamples=_draws(fit, table), seed=seed), _READY), None
    )
    fields, line = guarded("prediction", lambda: _prediction(fit, table, seed, told_apart=told_apart), nothing)
    lines: dict[str, CheckLine] = dict.fromkeys(("deviance", "calibration", "prediction"), line)
    of_draws: dict[str, Callable[[Simulated], Checked]] = {
        "deviance": lambda votes: _deviance(votes, table),
        "calibration": _calibration,
        "transitivity": _transitivity,
        "cycles": _circles,
    }
    for check, run in of_draws.items():
        if drawn is None:
            lines[check] = check_line(check, "not run", failed.finding)
        else:
            found, lines[check] = guarded(check, partial(run, drawn), nothing)
            fields = fields | found
    few = 2.0 * table.n_votes / table.n_models
    if few < _ENOUGH_VOTES:
        # Simulated laws of circles are too low there.
        for check in ("transitivity", "cycles"):
            if lines[check].status == "warning":
                told = f"{few:.0f} votes a model are too few to tell cycles from noise"
                lines[check] = check_line(check, "not run", f"{told}: {lines[check].finding.partition(': ')[0]}")
    return FitChecks(**fields), tuple(lines.values())


def _percent(share: float, digits: int = 0) -> str:
    return f"{number(100.0 * share, digits)}%"


def _draws(fit: PairFit, table: VoteTable) -> int:
    """Return how many tables are drawn: fewer where pairs are so many that it would take long."""
    pairs = fit.n_models * (fit.n_models - 1) // 2
    cells = min(pairs, table.rows.n_rows) if not table.rows.n_covariates else max(pairs, min(8_000, 20 * pairs))
    most = min(_MOST_DRAWS // max(cells, 1), _MOST_ROWS // max(table.rows.n_rows, 1))
    return min(_DRAWS, max(_FEWEST_DRAWS, most))


def _deviance(votes: Simulated, table: VoteTable) -> Checked:
    law, worst = pair_deviance(votes), _worst(pair_residuals(votes), table.models)
    allowed = ", tastes allowed for" if votes.tastes.sd else "" if table.rows.clusters else " and votes are independent"
    said = (
        f"the deviance of {plural(votes.cells.n_pairs, 'pair')} is {law.observed:,.0f}, where {law.expected:,.0f} "
        f"[{law.low:,.0f}, {law.high:,.0f}] is expected if ratings say all{allowed} ({p_words(law.p_value)})"
    )
    far = "".join(
        f"; farthest off is {pair.first} against {pair.second}: {_percent(pair.observed)} of {plural(pair.n_votes, 'vote')}, "
        f"{_percent(pair.expected)} by their ratings"
        for pair in worst[:1]
    )
    line = _tested("deviance", law.p_value, said, f"some pairs go otherwise than ratings say{far}")
    return {"deviance": law, "worst_pairs": worst}, line


def _tested(check: str, p_value: float, said: str, alarm: str) -> CheckLine:
    """Return the line of a test: a warning at `TEST_LEVEL` and below."""
    if p_value > TEST_LEVEL:
        return check_line(check, "ok", said, p_value)
    return check_line(check, "warning", f"{said}: {alarm}", p_value)


def _calibration(votes: Simulated) -> Checked:
    law = calibration_error(votes)
    said = (
        f"shares of votes differ from predicted ones by {_percent(law.observed, 1)} in the root mean square, where "
        f"{_percent(law.low, 1)} to {_percent(law.high, 1)} is expected of true ratings ({p_words(law.p_value)})"
    )
    alarm = "ratings further apart do not win as much more as they promise"
    return {"calibration_error": law}, _tested("calibration", law.p_value, said, alarm)


def _prediction(fit: PairFit, table: VoteTable, seed: int, *, told_apart: bool) -> Checked:
    tried = held_out(fit, table.rows, conf_level=_BIN_LEVEL, seed=seed)
    folds_by = "vote"
    if tried.way is not None:
        folds_by = source_word(table.cluster_names[tried.way]) if tried.way < len(table.cluster_names) else "cluster"
    names = ("brier", "brier_constant", "log_loss", "log_loss_constant", "n_folds")
    found = {"calibration": tried.bins, "folds_by": folds_by, **{name: getattr(tried, name) for name in names}}
    if table.n_models == 2:
        reason = "of two models the share of wins is the rating: there is nothing more to predict"
        return found, check_line("prediction", "not run", reason)
    return found, _prediction_line(tried, folds_by, told_apart=told_apart)


def _prediction_line(found: HeldOut, folds_by: str, *, told_apart: bool) -> CheckLine:
    said = (
        f"log loss of held-out votes ({found.n_folds} folds by {folds_by}) is {number(found.log_loss, 4)}, "
        f"{number(found.log_loss_constant, 4)} without ratings"
    )
    if found.gain_low is None or found.gain_high is None or found.loss_p is None:
        return check_line("prediction", "not run", f"{said}; too few clusters to say whether that is more than chance")
    gain = f"a gain of {number(found.gain, 4)} [{number(found.gain_low, 4)}, {number(found.gain_high, 4)}]"
    if found.gain_low > 0.0:
        return check_line("prediction", "ok", f"{said}: {gain}", found.loss_p)
    unshown = f"{said}: {gain}, so ratings are not shown to predict new votes"
    if not told_apart:
        return check_line("prediction", "ok", f"{unshown}; nor are any models told apart", found.loss_p)
    return _tested(
        "prediction", found.loss_p, unshown, "they predict worse than no ratings, though models are told apart"
    )


def _transitivity(votes: Simulated) -> Checked:
    tested = transitivity(votes)
    found = {"triples": tested.triples, "violations": tested.violations, "transitivity": tested.share}
    if tested.triples < _FEW_TRIPLES and tested.share.p_value > TEST_LEVEL:
        few = f"{plural(tested.triples, 'triple')} of models with a majority each say little; {_FEW_TRIPLES} are needed"
        return found, check_line("transitivity", "not run", few)
    said = (
        f"{tested.violations:,} of {plural(tested.triples, 'triple')} contradict the order of their majorities "
        f"({_percent(tested.share.observed, 1)}), {_law(tested.share)}"
    )
    alarm = f"majorities are cyclic more often than by chance; {_AVERAGE}"
    return found, _tested("transitivity", tested.share.p_value, said, alarm)


def _circles(votes: Simulated) -> Checked:
    share = circle_share(votes)
    said = (
        f"{_percent(share.observed, 1)} of the energy of log-odds between pairs is in cycles that no rating "
        f"can describe (HodgeRank), {_law(share)}"
    )
    return {"curl": share}, _tested("cycles", share.p_value, said, f"that is more than noise; {_AVERAGE}")


def _law(share: AgainstDrawn) -> str:
    return (
        f"where {_percent(share.expected, 1)} [{_percent(share.low, 1)}, {_percent(share.high, 1)}] is expected of true "
        f"ratings with as many votes ({p_words(share.p_value)})"
    )


def _worst(pairs: PairResiduals, models: tuple[str, ...]) -> tuple[PairResidual, ...]:
    size = np.where(np.isnan(pairs.residual), -1.0, np.abs(pairs.residual))
    order = [k for k in np.argsort(-size, kind="stable")[:_SHOWN].tolist() if size[k] >= 0.0]
    return tuple(
        PairResidual(
            first=models[int(pairs.first[k])],
            second=models[int(pairs.second[k])],
            n_votes=int(pairs.count[k]),
            observed=float(pairs.observed[k]),
            expected=float(pairs.expected[k]),
            residual=float(pairs.residual[k]),
        )
        for k in order
    )


@record
class DatedVotes:
    """Votes with a time, merged, and the period of every row.

    `labels` and `times` (months or weeks after the first) are those of the periods that have votes; `n_undated` votes have no
    time and are left out.
    """

    unit: Literal["month", "week"]
    rows: VoteRows
    period: IntArray
    labels: tuple[str, ...]
    times: FloatArray
    n_undated: int


def period_ratings(
    dated: DatedVotes, names: Sequence[str], fit: PairFit, *, conf_level: float, points: float, reasons: list[str]
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
        known = _rated(each, anchors, conf_level, points) if each is not None and whole else {}
        for m, (name, n) in enumerate(zip(names, votes.tolist(), strict=True)):
            if n:
                out.append(PeriodRating(period=label, model=name, n_votes=n, **{"estimate": None} | known.get(m, {})))
    return tuple(out)


def _rated(found: SliceFit, anchors: IntArray, conf_level: float, points: float) -> dict[int, dict[str, float]]:
    """Return each model's rating against the anchors, with its error and interval where they are known."""
    estimate, error = found.against(anchors)
    df = found.covariance.df
    sure = found.covariance.reason is None and df >= 1.0
    reach = t_quantile(conf_level, df) if sure else 0.0
    out: dict[int, dict[str, float]] = {}
    for model, value, size in zip(found.models, points * estimate, points * error, strict=True):
        out[int(model)] = {"estimate": float(value)}
        if sure and np.isfinite(size):
            ends = {"conf_low": float(value - reach * size), "conf_high": float(value + reach * size)}
            out[int(model)] |= {"std_error": float(size), **ends}
    return out


def drift_of(
    table: VoteTable,
    fit: PairFit,
    *,
    conf_level: float = 0.95,
    points: float = ELO_PER_LOG_ODDS,
) -> tuple[RatingDrift, CheckLine]:
    """Test whether ratings change with time (`timestamp`), and rate models by period, in rating points (`points` a log-unit).

    Periods are months where votes are of at least 3, otherwise weeks. Two questions are asked, whether anything changes in any
    way and which model rises or falls steadily; the first has a third of `DRIFT_LEVEL` for its false alarms, the second, which
    errs far less often, two thirds.
    """
    try:
        dated = _dated(table)
    except CannotAnswerError as error:
        return RatingDrift(period="month", n_periods=0, reason=str(error)), check_line("drift", "not run", str(error))
    reasons: list[str] = []
    test = _attempted(lambda: _of_periods(fit, dated), reasons)
    linear = _attempted(lambda: linear_drift(fit, dated.rows, dated.period, times=dated.times, level=_STEADY), reasons)
    ratings = period_ratings(dated, table.models, fit, conf_level=conf_level, points=points, reasons=reasons)
    models = () if linear is None else _models(linear, table.models, points)
    parts = [
        *([] if test is None else [f"score test of {dated.unit}s x models ({test.n_resamples} draws of signs)"]),
        *([] if linear is None else ["a straight line for each model, t, Holm"]),
        *([f"{plural(dated.n_undated, 'vote')} without a time dropped"] if dated.n_undated else []),
    ]
    drift = RatingDrift(
        period=dated.unit,
        n_periods=len(dated.labels),
        statistic=None if test is None else test.statistic,
        df=None if test is None else float(test.df),
        p_value=None if test is None else test.p_value,
        method="; ".join(parts),
        models=models,
        ratings=ratings,
        reason="; ".join(reasons) or None,
    )
    return drift, _told(drift, dated)


def _dated(table: VoteTable) -> DatedVotes:
    """Sort votes into periods."""
    if table.votes is None:
        raise CannotAnswerError("votes were merged, so their times are not known")
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
    unit: Literal["month", "week"] = "week" if np.unique(month).size < _FEWEST_MONTHS else "month"
    number_of = month if unit == "month" else week
    levels, place = np.unique(number_of, return_inverse=True)
    if levels.size < 2:
        raise CannotAnswerError(f"all votes are of one {unit}, so no change can be seen")
    rows = table.rows_at(known, further=(place.astype(np.int64),))
    return DatedVotes(
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


def _attempted(make: Callable[[], Test], reasons: list[str]) -> Test | None:
    """Return a test, or add why there is none."""
    try:
        return make()
    except CannotAnswerError as error:
        reasons.append(str(error))
        return None


def _of_periods(fit: PairFit, dated: DatedVotes) -> PeriodTest:
    each = 2.0 * dated.rows.n_votes / dated.rows.n_models / len(dated.labels)
    if each < _FEWEST_VOTES:
        few = f"{each:.0f} votes per model and {dated.unit} are too few to test all {dated.unit}s at once"
        raise CannotAnswerError(f"{few}; {_FEWEST_VOTES} are needed")
    return period_test(fit, dated.rows, dated.period, n_resamples=_SIGNS)


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
            linear.models, linear.slope, linear.std_error, linear.p_value, linear.p_adjusted, strict=True
        )
    ]
    return tuple(sorted(found, key=lambda each: each.p_value))


def _told(drift: RatingDrift, dated: DatedVotes) -> CheckLine:
    if drift.p_value is None and not drift.models:
        return check_line("drift", "not run", drift.reason or "no change can be seen")
    flagged = [each for each in drift.models if each.flagged]
    changed = drift.p_value is not None and drift.p_value <= _ANY
    test = "" if drift.p_value is None else f" (test of {drift.period}s x models: {p_words(drift.p_value)})"
    if not flagged and not changed:
        wide = sorted(each.std_error for each in drift.models)
        seen = "" if not wide else f"; a steady change shows from about {number(_least(wide, dated), 0)} points in all"
        return check_line(
            "drift", "ok", f"no change is seen over {plural(drift.n_periods, drift.period)}{test}{seen}", _p(drift)
        )
    named = "; ".join(
        f"{each.model} {'rises' if each.slope > 0 else 'falls'} by {number(abs(each.slope), 1)} points a {drift.period} "
        f"(adjusted {p_words(each.p_adjusted)})"
        for each in flagged[:_NAMED]
    )
    more = f"; and {plural(len(flagged) - _NAMED, 'model')} more" if len(flagged) > _NAMED else ""
    what = f": {named}{more}" if flagged else ""
    return check_line(
        "drift",
        "warning",
        f"ratings change over {plural(drift.n_periods, drift.period)}{test}{what}; one rating for the whole time is an average",
        _p(drift),
    )


def _p(drift: RatingDrift) -> float:
    """Return the p-value of both questions together."""
    steady = min((model.p_adjusted for model in drift.models), default=1.0) * DRIFT_LEVEL / _STEADY
    return min(1.0, steady, 1.0 if drift.p_value is None else drift.p_value * DRIFT_LEVEL / _ANY)


def _least(errors: list[float], dated: DatedVotes) -> float:
    """Change over the whole time that the model in the middle would show with about 80% power, all models tested."""
    sure = t_quantile(1.0 - _STEADY / len(errors), 1e6) + t_quantile(0.6, 1e6)
    return errors[len(errors) // 2] * sure * float(np.ptp(dated.times))
