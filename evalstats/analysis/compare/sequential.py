"""Looks while the run goes on: an interval and a p that hold at every look, over the items in the order of finishing."""

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from evalstats import options as opt
from evalstats.analysis.compare.difference import Difference, PairedScores
from evalstats.analysis.compare.result import AtMargin, Order, SequentialAccount, UnevenOrder, Unit
from evalstats.analysis.result import MethodRow, method_row, notes
from evalstats.document.numbers import declared, e_value_words, p_value, scaled
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.schema.columns import LOOKS
from evalstats.schema.data import EvalData
from evalstats.stats.estimate import IntervalEstimate, normal_quantile
from evalstats.stats.sequential import (
    PATH_POINTS,
    ConfidenceSequence,
    asymptotic_cs,
    cumulative_mean,
    normal_mixture_cs,
    order_drift,
)
from evalstats.table.items import HELPER, Codes, Floats, Ints
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import rows_among

_TIME, _PLACE = f"{HELPER}time", f"{HELPER}place"


def check_looks(settings: opt.GivenOptions) -> None:
    """Refuse what looks while the run goes on cannot have."""
    on = Option("sequential", value=True)
    if settings.planned_n is not None and not settings.sequential:
        raise InputError(f"planned_n is for looks during the run; ask for them with {on}")
    if settings.sequential and settings.method != "auto":
        raise InputError(f"method {settings.method!r} gives an interval for one look; leave it out with {on}")
    if settings.sequential and settings.by is not None:
        raise InputError(
            f"looks during the run cover all items together; leave out the split by {settings.by!r}, or look at the end"
        )
    if settings.sequential and (settings.average or settings.weights) is not None:
        raise InputError("looks during the run weight all items equally; leave out the average, or look at the end")


def as_watched(data: EvalData, asked: opt.GivenOptions, sides: tuple[str, str]) -> opt.GivenOptions:
    """Ask about a run that was looked at after every batch by the interval that holds at every look.

    Not where something is asked that this interval cannot have: a caution then says that the other is too short.
    """
    without = ("by", "average", "weights", "labels")
    if (
        data.merged
        or LOOKS not in data.outcomes.columns
        or asked.sequential
        or asked.method != "auto"
        or asked.paired is False
        or any(getattr(asked, name) is not None for name in without)
    ):
        return asked
    own = pl.any_horizontal(pl.col("run", "system", "model").is_in(sides))
    looks = data.outcomes.filter(own)[LOOKS].drop_nulls().cast(pl.String)
    if looks.is_empty():
        return asked
    return asked.but(sequential=True, planned_n=looks.str.extract(r"(\d+) planned").cast(pl.Int64).max())


@record
class Finished:
    """`places` holds the positions of the items in order of finishing, shape (n_items,); `notes` say how they were found."""

    places: Ints
    order: Order
    notes: tuple[str, ...]


def finishing_order(paired: ScoreTable) -> Finished:
    """Put paired items in the order in which both sides had finished them.

    By the timestamps of the scored rows, where every one has one and they differ: an item is finished when the last trial of
    the later side is; items of one timestamp keep the order of their keys. Otherwise by the place of the rows in the files: the
    later of an item's places on the two sides.
    """
    ends = [_ends(paired, column) for column in (0, 1)]
    times = [time for time, _ in ends if time is not None]
    if len(times) == len(ends):
        last = pl.DataFrame([times[0], times[1].alias("later")]).max_horizontal()
        distinct = last.n_unique()
        if distinct > 1:
            by_time = (
                "Items are taken in the order in which they were finished, by the later timestamp of the two sides"
            )
            shared = f"; {plural(distinct, 'timestamp')} for {plural(len(last), 'item')}, ties by name of item"
            return Finished(
                places=np.argsort(last.to_physical().to_numpy(), kind="stable").astype(np.int64),
                order="timestamp",
                notes=(f"{by_time}{shared if distinct < len(last) else ''}",),
            )
        why = "all items carry the same timestamp"
    else:
        why = "not every row has a timestamp"
    places = np.maximum(*(place for _, place in ends))
    note = f"Items are taken in the order of the files, the later place of the two sides, since {why}"
    return Finished(places=np.argsort(places, kind="stable"), order="file order", notes=(note,))


def _ends(paired: ScoreTable, column: int) -> tuple[pl.Series | None, Codes]:
    """Return the last timestamp of the scored rows of every item, and how the last of their places ranks among the items.

    No timestamps where any of these rows has none.
    """
    rows, places = paired.systems[column].rows, paired.row_places(column)
    counted = (rows["status"] == "scored").to_numpy() & (places >= 0)
    if not counted.all():
        rows, places = rows_among(rows, pl.Series(counted)), places[counted]
    last = np.empty(len(paired), dtype=np.int32)
    last[places] = np.arange(len(places), dtype=np.int32)  # a later row of the item takes the place of an earlier one
    if len(counted) > len(last):
        last = (1 + np.argsort(np.argsort(last))).astype(np.int32)
    if rows["timestamp"].null_count():
        return None, last
    timed = pl.DataFrame({_PLACE: places, _TIME: rows["timestamp"]})
    return timed.group_by(_PLACE).agg(pl.col(_TIME).max()).sort(_PLACE)[_TIME], last


_POWER_QUANTILE = normal_quantile(0.6)  # P(Z <= z) = .8
_LARGEST_LOG = 690.0


@record
class _Units:
    """Units in order: their mean differences, their sizes (None where all are single items), and what they are."""

    values: Floats
    sizes: Floats | None
    unit: Unit
    n_items: int
    finished: Finished
    notes: tuple[str, ...] = ()


def sequential_account(
    table: ScoreTable,
    *,
    clusters: tuple[str, ...] = (),
    conf_level: float = 0.95,
    planned_n: int | None = None,
    margin: float | None = None,
) -> SequentialAccount:
    """Watch the difference over the items that both sides have finished, in the order of finishing.

    With bounds the betting confidence sequence is used, without them the asymptotic one, from 100 units on; the level holds for
    all looks together. A cluster is one unit, finished with its last item; the mean is over items all the same, so that it is
    the difference that `compare` reports. The largest cluster counts as known. Clusters of two kinds that cross are refused.
    """
    metric, units = table.metric, _units(table, clusters)
    found = _watched(units, metric, conf_level, planned_n)
    # The difference whose interval, as wide as this one, excludes 0 in four of five runs; none beyond the scale.
    shares = np.ones(units.values.size) if units.sizes is None else units.sizes
    residuals = shares * (units.values - np.average(units.values, weights=shares))
    spread = math.sqrt(float(np.square(residuals).sum())) / float(shares.sum())
    mde = None
    if found.conf_low is not None and found.conf_high is not None:
        mde = (found.conf_high - found.conf_low) / 2 + _POWER_QUANTILE * spread
        mde = None if metric.span is not None and mde >= metric.span else mde
    columns = (found.times.tolist(), found.estimates.tolist(), found.lows.tolist(), found.highs.tolist())
    waiting, unit = int((~table.paired()).sum()), units.unit
    outside = f"{plural(waiting, 'item')} not scored on both sides, or not yet, are excluded"
    if planned_n is None:
        told = f"No number of {unit}s was planned; with one, declared before the first look, the interval is narrower"
    else:
        told = (
            f"The interval is narrowest near the planned {plural(planned_n, unit)}, which must not change between looks"
        )
        told += f"; there are {units.values.size:,} now" if units.values.size > planned_n else ""
    account = SequentialAccount(
        estimate=found.estimate,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        conf_level=conf_level,
        method=found.method,
        n_units=found.n,
        unit=units.unit,
        order=units.finished.order,
        e_value=math.exp(found.log_e) if found.log_e < _LARGEST_LOG else None,
        log_e=found.log_e,
        p_anytime=found.p_value,
        planned_n=planned_n,
        path=tuple(zip(*columns, strict=True)),
        first_crossing=found.first_crossing,
        n_items=units.n_items,
        metric=metric.name,
        scale=metric.scale,
        unit_shown=metric.shown_unit,
        higher_is_better=metric.higher_is_better,
        bound=metric.span,
        mde=mde,
        reason=found.reason,
        notes=(*units.finished.notes, *units.notes, *([outside] if waiting else []), told),
        warnings=(*found.warnings, *_drift_warning(units, metric)),
    )
    finished = table.take(table.paired())
    once = units.unit == "item" and bool((finished.counts()[0] == 1).all())
    right_or_wrong = once and bool(np.isin(finished.values(), (0.0, 1.0)).all())
    account = _with_checks(account, units, metric, planned_n, right_or_wrong=right_or_wrong)
    return account if margin is None else _with_margin(account, units, metric, margin)


def uneven_order(table: ScoreTable, clusters: tuple[str, ...]) -> UnevenOrder | None:
    """Return how the difference adds up over the items in their order, where that is clearly uneven; else None.

    Clusters are the units where there are some; of clusters that cross nothing is said.
    """
    try:
        units = _units(table, clusters)
    except CannotAnswerError:
        return None
    drift = order_drift(units.values, sizes=units.sizes)
    found = cumulative_mean(units.values, sizes=units.sizes) if drift is not None and drift.clear else None
    if found is None:
        return None
    n = units.values.size
    places: Ints = np.union1d(np.rint(np.linspace(0, n, PATH_POINTS)), [found.first - 1, found.last]).astype(np.int64)
    return UnevenOrder(
        unit=units.unit,
        order=units.finished.order,
        n_units=n,
        first=found.first,
        last=found.last,
        inside=found.inside,
        outside=found.outside,
        p_value=found.p_value,
        path=tuple((int(at), float(found.totals[at]), float(found.lows[at]), float(found.highs[at])) for at in places),
    )


def _units(table: ScoreTable, clusters: tuple[str, ...]) -> _Units:
    paired = table.take(table.paired())
    finished = finishing_order(paired)
    d = PairedScores(metric=table.metric, baseline=paired.column(0), candidate=paired.column(1), n_trials=1).differences
    grouped = [name for name in clusters if len(np.unique(paired.codes(name))) < d.size]
    if len(grouped) > 1:
        raise CannotAnswerError(
            f"{len(grouped)} cluster columns cross each other, and an interim look can follow one; "
            "name one cluster column, or compare once, when the run is complete"
        )
    if not grouped:
        return _Units(values=d[finished.places], sizes=None, unit="item", n_items=d.size, finished=finished)
    # Clusters in the order of their last items; shares are of the largest cluster, with its unfinished items.
    every = table.codes(grouped[0])
    levels, codes = np.unique(every[table.paired()], return_inverse=True)
    whole = np.bincount(every)
    when = np.empty(d.size, dtype=np.int64)
    when[finished.places] = np.arange(d.size)
    last = np.zeros(levels.size, dtype=np.int64)
    np.maximum.at(last, codes, when)
    order: Ints = np.argsort(last, kind="stable").astype(np.int64)
    sizes = np.bincount(codes)
    means = np.bincount(codes, weights=d) / sizes
    open_ones = int((sizes < whole[levels]).sum())
    largest = int(whole.max())
    notes = [f"a cluster is one unit, finished with its last item, and counts by its items (the largest has {largest})"]
    if open_ones:
        notes.append(f"{plural(open_ones, 'cluster')} not finished on both sides count with the items they have")
    return _Units(
        values=means[order],
        sizes=(sizes[order] / largest).astype(np.float64),
        unit="cluster",
        n_items=d.size,
        finished=finished,
        notes=tuple(notes),
    )


def _watched(units: _Units, metric: MetricFacts, conf_level: float, planned_n: int | None) -> ConfidenceSequence:
    if metric.span is None:
        return asymptotic_cs(units.values, conf_level=conf_level, planned_n=planned_n, sizes=units.sizes)
    from evalstats.stats.betting import betting_cs  # of looks alone, and every comparison imports this module

    return betting_cs(units.values, bound=metric.span, conf_level=conf_level, planned_n=planned_n, sizes=units.sizes)


def _drift_warning(units: _Units, metric: MetricFacts) -> tuple[str, ...]:
    drift = order_drift(units.values, sizes=units.sizes)
    if drift is None or not drift.clear:
        return ()
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    first, second = (f"{scaled(x, metric.scale, sign=True)}{unit}" for x in (drift.first_half, drift.second_half))
    warning = (
        f"the difference moves along the order of the {units.unit}s: {first} in the first half, {second} in the second "
        f"(p {p_value(drift.p_value)}), so interim looks covered the first ones only: the interval ignores what "
        "they saw. Run items in random order"
    )
    return (warning,)


def _with_checks(
    account: SequentialAccount, units: _Units, metric: MetricFacts, planned_n: int | None, *, right_or_wrong: bool
) -> SequentialAccount:
    if metric.span is not None:
        wide = normal_mixture_cs(
            units.values,
            bound=metric.span,
            conf_level=account.conf_level,
            planned_n=planned_n,
            sizes=units.sizes,
        )
        account = replace(account, wide_low=wide.conf_low, wide_high=wide.conf_high)
    if not right_or_wrong:
        return account
    from evalstats.stats.betting import e_mcnemar

    tested = e_mcnemar(units.values, conf_level=account.conf_level)
    e_value = math.exp(tested.log_e) if tested.log_e < _LARGEST_LOG else None
    return replace(account, mcnemar_e=e_value, mcnemar_p=tested.p_value)


def _with_margin(account: SequentialAccount, units: _Units, metric: MetricFacts, margin: float) -> SequentialAccount:
    narrower = _watched(units, metric, 2 * account.conf_level - 1, account.planned_n)
    account = replace(account, margin=margin, equivalence_low=narrower.conf_low, equivalence_high=narrower.conf_high)
    if metric.span is None or narrower.conf_low is None or narrower.warnings:
        # The p of a sequence without bounds, or of one whose order is in doubt, is left to its interval.
        return account
    from evalstats.stats.betting import betting_margin_p

    def test(side: Literal["lower", "upper"]) -> float:
        return betting_margin_p(
            units.values,
            margin,
            side,
            bound=metric.span or 1.0,
            conf_level=account.conf_level,
            planned_n=account.planned_n,
            sizes=units.sizes,
        )

    low, high = test("lower"), test("upper")
    return replace(account, noninferior_p=low if metric.higher_is_better else high, equivalence_p=max(low, high))


def as_estimate(account: SequentialAccount) -> IntervalEstimate:
    """Return the account as the headline estimate of a comparison: the interval of all looks and the anytime p."""
    return IntervalEstimate(
        estimate=account.estimate,
        method=account.method,
        conf_level=account.conf_level,
        n=account.n_items,
        conf_low=account.conf_low,
        conf_high=account.conf_high,
        p_value=account.p_anytime,
        n_clusters=account.n_units if account.unit == "cluster" else None,
        reason=account.reason,
        warnings=account.warnings,
    )


def sequential_rows(account: SequentialAccount) -> tuple[MethodRow, ...]:
    """Return the rows of the comparison: the headline, the sequential McNemar test, the simple sequence."""
    holds = f"holds at every look, over {plural(account.n_units, account.unit)} by {account.order}"
    headline = method_row(as_estimate(account), "headline", holds)
    bare = replace(
        headline, role="check", estimate=None, conf_low=None, conf_high=None, p_value=None, note="", n_clusters=None
    )
    rows = [headline]
    if account.mcnemar_p is not None:
        note = f"anytime p on the discordant items; e-value {e_value_words(account.mcnemar_e)} now"
        rows.append(replace(bare, method="sequential McNemar", p_value=account.mcnemar_p, note=note))
    if account.wide_low is not None:
        rows.append(
            replace(
                bare,
                method="normal-mixture confidence sequence",
                role="second interval",
                estimate=account.estimate,
                conf_low=account.wide_low,
                conf_high=account.wide_high,
                note="ignores the variance, so it is wider",
            )
        )
    return tuple(rows)


def as_difference(account: SequentialAccount, fixed: Difference) -> Difference:
    """Return what a comparison is made from, with the account in place of the fixed-n headline.

    The fixed-n rows stay below it; the first of them says what they are: right for one look at an n chosen beforehand.
    Their doubts (few discordant items) are of their own method and go; what the items are made of stays.
    """
    once = (
        "this row and those below are for a single look at an n chosen beforehand; they do not hold for interim looks"
    )
    below = tuple(
        replace(row, role="sensitivity", note=f"{once}; {row.note}".rstrip("; ")) if row.role == "headline" else row
        for row in fixed.rows
    )
    return replace(
        fixed,
        headline=as_estimate(account),
        method_reason="the run is monitored, so the interval must hold at every look",
        rows=(*sequential_rows(account), *below),
        mde=account.mde,
        smallest_p=None,
        doubts=(),
        no_equivalence=(),
        # The interval of the account holds for any bounded score, falls that were not seen among them.
        if_claimed=(),
        if_equivalent=(),
        failures=None,
        notes=notes("few", account.warnings),
    )


def sequential_at_margin(account: SequentialAccount) -> AtMargin | None:
    """Return how the candidate stands at the declared margin, at every look; None where none was declared."""
    if account.margin is None:
        return None
    good = account.higher_is_better
    limit = account.equivalence_low if good else account.equivalence_high
    unit = f" {account.unit_shown}" if account.unit_shown else ""
    if limit is None:
        inside, reason = False, f"no test at the margin: {account.reason or 'there is no interval'}"
    else:
        inside = limit > -account.margin if good else limit < account.margin
        bound = declared(account.margin, account.scale)
        reason = (
            f"the one-sided {100 * account.conf_level:g}% {'lower' if good else 'upper'} limit that holds at every look is "
            f"{scaled(limit, account.scale, sign=True)}{unit}, which "
            f"{'excludes a loss of' if inside else 'leaves a loss beyond'} {bound}{unit}{'' if inside else ' possible'}"
        )
    return AtMargin(
        margin=account.margin,
        noninferior=inside,
        reason=reason,
        method=account.method,
        conf_level=account.conf_level,
        limit=limit,
        noninferior_p=account.noninferior_p,
        equivalence_p=account.equivalence_p,
    )
