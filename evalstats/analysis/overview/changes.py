"""Watch the scores of models over the days of their runs, and say which have changed."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl

from evalstats import options as opt
from evalstats.analysis.design.comparability import run_comparability
from evalstats.analysis.design.metric import Metric, choose_metric, direction_notes
from evalstats.analysis.design.run_settings import RULES, setting_words
from evalstats.analysis.overview.changes_result import Changes, Day, Drifted, History
from evalstats.analysis.provenance import plan_notes, run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Origin, estimated
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.document.numbers import number, share_in_percent
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, conjugate, is_are, plural
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.names import unknown_name
from evalstats.schema.plan import Plan, check_settings, settled, with_plan, with_primary
from evalstats.schema.tables import levels_of
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.one_sample import mean_t, variance_matched_wilson, wilson
from evalstats.stats.score_drift import FEWEST_UNITS, Change, score_changes
from evalstats.table.items import HELPER, Floats, Ints
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System

METHOD = "confidence sequence of a change at any run, Bonferroni over models"
METHOD_REFERENCE = "confidence sequence against the reference runs, Bonferroni over models"
DEFAULT_LEVEL = 0.95
_DAY = f"{HELPER}day"
# Days of which the smaller shares fewer of its items than this are other sets of questions; a part of the same items is not.
_SHARED = 0.5
# Beyond this share of rows without a score, those that are left may not be like the rest.
_MANY_LOST = 0.1
# How a model is run is no part of what the model is; of what it is, a change is what we look for.
_TREATMENTS = frozenset(rule.name for rule in RULES if rule.treatment) - {"model_revision", "model_dtype"}
# What differs from run to run anyhow, or is looked at here by itself.
_EXPECTED = frozenset({"items", "date", "several", "unrecorded"})
_NOT_SETTINGS = (
    "run",
    "source",
    "source_digest",
    "timestamp",
    "note",
    "n_scored",
    "n_error",
    "n_unscored",
    "loader_version",
)

Severity = Literal["cut", "told"]


@record
class _Series:
    """One model's rows of the metric, and its scores by day: items x days."""

    name: str
    metric: Metric
    rows: pl.DataFrame
    days: tuple[date, ...]
    table: ScoreTable
    codes: Ints | None
    changes: tuple[tuple[str, ...], ...]
    start: int


@recorded
def changes(
    data: EvalData | object,
    *,
    metric: opt.Metric = None,
    models: opt.Models = None,
    cluster: opt.RunCluster = None,
    since: opt.Since = None,
    accept: opt.Accept = (),
    conf_level: opt.PlannedLevel = None,
    plan: Plan | None = None,
) -> Changes:
    """Show each model's score by the day of its runs, and say whose score has changed: valid however often one looks.

    The options are those of `overview`. After every day with runs, the runs since each earlier day are compared with those before
    it, each item against itself (`evalstats.stats.score_drift`). Where the judge, the task, the prompt or another setting that
    makes a score another quantity changes, or fewer than half of the items stay, watching begins anew at that day, with an error
    rate of its own. CannotAnswerError if there are no scores, or no run has a date.
    """
    data = as_data(data) if plan is None else with_primary(with_plan(as_data(data), plan), plan)
    data.need_rows("a change from run to run")
    named = [accept] if isinstance(accept, str) else [*accept]
    given: dict[str, Any] = settled(plan, accept=named or None, conf_level=conf_level)
    level = DEFAULT_LEVEL if given["conf_level"] is None else given["conf_level"]
    accepted = check_settings(given["accept"] or ())
    try:
        until = date.fromisoformat(since) if isinstance(since, str) else since
    except ValueError:
        raise InputError(f"reference is {since!r}; give a day as 2026-01-31") from None
    if not data.outcomes.height:
        raise CannotAnswerError(
            "the data hold no scores of items, so there is nothing to watch; add runs with `evalstats ingest`"
        )
    rows, undated = _dated(data)
    names: list[str] = rows["system"].unique().sort().to_list()
    for name in models or ():
        if name not in names:
            raise InputError(unknown_name(name, names))
    rows = rows.filter(pl.col("system").is_in(list(models))) if models else rows
    found, notes = _all_series(data, rows, metric, cluster, accepted)
    n_watched = sum(_too_few(each, until) is None for each in found)
    histories = tuple(_history(each, until, level, max(n_watched, 1)) for each in found)

    def place(k: int) -> tuple[bool, bool, bool, str, str]:
        row = histories[k]
        return not row.worse, not row.drifted, row.verdict == "too few", row.benchmark, row.name

    order = sorted(range(len(found)), key=place)
    days = tuple(day for k in order for day in _scores(found[k], level))
    runs = sorted(set(rows["run"].to_list()))
    return Changes(
        rows=tuple(histories[k] for k in order),
        days=days,
        conf_level=level,
        method=METHOD if until is None else METHOD_REFERENCE,
        estimand="the mean score of these items in the runs since a day, minus that in the runs before",
        n_watched=n_watched,
        reference=until,
        cluster=cluster,
        accept=accepted,
        models=tuple(models or ()),
        metric=metric,
        origin=Origin(sources=sources_of(data, runs), version=toolkit_version()),
        notes=(
            *run_notes(data, runs),
            *plan_notes(plan),
            *undated,
            *notes,
            *_mood_notes(histories),
            *_lost_notes(histories, days),
        ),
    )


# --- what there is ---


def no_changes(data: EvalData) -> str:
    """Say why there is no change to look for; "" where a system has runs on two days."""
    if not data.outcomes.height:
        return "no scores of items"
    try:
        data.need_rows("a change from run to run")
        rows, _ = _dated(data)
    except CannotAnswerError as error:
        return str(error)
    days = rows.group_by("system", "benchmark").agg(pl.col(_DAY).n_unique())[_DAY]
    return "" if (days > 1).any() else "no system has runs on two days"


def _dated(data: EvalData) -> tuple[pl.DataFrame, list[Note]]:
    """Return the outcomes with the day of their run; runs without one are left out and named."""
    rows = data.outcomes
    known = data.runs.group_by("run").agg(pl.col("timestamp").min().dt.date().alias("own"))
    of_rows = rows.group_by("run").agg(pl.col("timestamp").min().dt.date().alias("seen"))
    days = of_rows.join(known, on="run", how="left").select("run", pl.coalesce("own", "seen").alias(_DAY))
    rows = rows.join(days, on="run", how="left")
    lacking = days.filter(pl.col(_DAY).is_null())["run"].sort().to_list()
    if len(lacking) == days.height:
        raise CannotAnswerError(
            f"none of the {plural(len(lacking), 'run')} has a date; name it: {Option('map', blank='COLUMN', of='timestamp')}"
        )
    if not lacking:
        return rows, []
    text = f"{plural(len(lacking), 'run')} without a date {is_are(len(lacking))} dropped: {and_list(lacking, 3)}"
    return rows.filter(pl.col(_DAY).is_not_null()), [Note(kind="left_out", text=text)]


def _all_series(
    data: EvalData, rows: pl.DataFrame, metric: str | None, cluster: str | None, accept: Collection[str]
) -> tuple[list[_Series], list[Note]]:
    """Return a series for each model on each benchmark; a benchmark whose metric is open is named, unless it is the only one."""
    factor = None if cluster is None else data.factor(cluster)
    benchmarks: list[str] = levels_of(rows["benchmark"])
    found: list[_Series] = []
    notes: list[Note] = []
    if metric is not None and not (rows["metric"] == metric).any():
        raise InputError(unknown_name(metric, levels_of(rows["metric"]), what="metric"))
    for benchmark in benchmarks:
        own = rows.filter(pl.col("benchmark") == benchmark)
        if metric is not None and not (own["metric"] == metric).any():
            notes.append(Note(kind="left_out", text=f"{benchmark} has no {metric!r} and is left out"))
            continue
        try:
            chosen = choose_metric(data, own, metric)
        except InputError as error:
            if len(benchmarks) == 1:
                raise
            notes.append(Note(kind="left_out", text=f"{benchmark} is dropped: {error}"))
            continue
        notes += [*direction_notes(chosen.direction), *chosen.cautions]
        of_metric, twice = _each_once(own.filter(pl.col("metric") == chosen.name))
        notes += twice
        parts = of_metric.partition_by("system", as_dict=True)
        found += [_series(data, chosen, parts[name], factor, accept) for name in sorted(parts)]
    return found, list(dict.fromkeys(notes))


def _each_once(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Drop rows that stand twice in a run with the same score; of those with other scores, say that they are averaged."""
    key = ["run", "system", "task", "item", "variant", "trial", "judge"]
    unique = rows.unique([*key, "score", "status"], keep="first", maintain_order=True)
    notes: list[Note] = []
    dropped = rows.height - unique.height
    if dropped:
        text = f"{plural(dropped, 'row')} that {conjugate(dropped, 'stand')} twice in a run count once"
        notes.append(Note(kind="left_out", text=text))
    contradicting = int(unique.select(key).is_duplicated().sum())
    if contradicting:
        text = f"{contradicting:,} rows give a trial of a run several scores, which are averaged"
        notes.append(Note(kind="trust", text=text, remedy="Look where they come from, or number repetitions as trials"))
    return unique, notes


def _series(data: EvalData, metric: Metric, rows: pl.DataFrame, factor: str | None, accept: Collection[str]) -> _Series:
    days: list[date] = rows[_DAY].unique().sort().to_list()
    changes: list[tuple[str, ...]] = [()]
    start = 0
    sides = [_side(data, rows, day) for day in days]
    table = ScoreTable.of([side for side, _ in sides], metric, factors=[factor] if factor else [])
    for place, (before, after) in enumerate(pairwise(sides), start=1):
        told: list[str] = []
        for severity, words in (*_item_changes(table, place), *_setting_changes(data, before, after, accept)):
            told.append(words)
            if severity == "cut":
                start = place
        changes.append(tuple(told))
    return _Series(
        name=str(rows["system"][0]),
        metric=metric,
        rows=rows,
        days=tuple(days),
        table=table,
        codes=_codes(table, factor),
        changes=tuple(changes),
        start=start,
    )


def _codes(table: ScoreTable, factor: str | None) -> Ints | None:
    """Return the cluster of every item: a named column's level, else the item wherever it has several variants."""
    items = table.items
    if factor is None:
        codes = items.select(pl.struct("task", "item").rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
        return None if len(np.unique(codes)) == len(codes) else codes
    column = items[factor]
    if column.null_count():
        first = items.filter(column.is_null())["item"].head(3).to_list()
        raise InputError(
            f"cluster {factor!r} has no single level for {plural(column.null_count(), 'item')} (first {first}): it is empty "
            "there, or differs between rows of one item; fill it or choose another column"
        )
    return (column.rank("dense").cast(pl.Int64) - 1).to_numpy()


# --- what else changed ---


def _side(data: EvalData, rows: pl.DataFrame, day: date) -> tuple[System, tuple[object, ...]]:
    """Return the rows of a day, and all that is recorded of its runs: days alike in that are not looked at."""
    own = rows.filter(pl.col(_DAY) == day)
    runs = tuple(sorted(own["run"].unique().to_list()))
    settings = data.rows_of_runs(runs).drop(*_NOT_SETTINGS, strict=False).drop("dependence", "factor_names")
    judges = tuple(levels_of(own["judge"]))
    setting = tuple(own["setting"].unique().sort().to_list())
    return System(name=day.isoformat(), rows=own, runs=runs), (
        *sorted(map(str, settings.unique().rows())),
        judges,
        setting,
    )


def _setting_changes(
    data: EvalData,
    before: tuple[System, tuple[object, ...]],
    after: tuple[System, tuple[object, ...]],
    accept: Collection[str],
) -> Iterator[tuple[Severity, str]]:
    prompts = "prompt_hash" in before[0].rows.columns
    if before[1] == after[1] and not prompts:
        return
    for each in run_comparability(data, before[0], after[0], contrast="run", accept=accept):
        if each.setting in _EXPECTED or (each.setting == "status" and each.candidate == "success"):
            continue
        cut = each.setting not in accept and (each.severity == "invalid" or each.setting in _TREATMENTS | {"judge"})
        change = f" from {each.baseline} to {each.candidate}" if each.baseline and each.candidate else ""
        yield "cut" if cut else "told", f"{setting_words(each.setting)} changed{change}"


def _item_changes(table: ScoreTable, place: int) -> Iterator[tuple[Severity, str]]:
    """Say how the items of a day differ from those of the day before, whatever became of them."""
    given = table.seen[:, place - 1 : place + 1]
    before, after = given[:, 0], given[:, 1]
    shared, new, gone = int((before & after).sum()), int((after & ~before).sum()), int((before & ~after).sum())
    if not new and not gone:
        return
    words = " and ".join(f"{n:,} {what}" for n, what in ((new, "new"), (gone, "gone")) if n)
    cut = shared < _SHARED * min(int(before.sum()), int(after.sum()))
    yield "cut" if cut else "told", f"items: {words}, {shared:,} stay"


# --- scores by day, and whether they changed ---


def _scores(series: _Series, level: float) -> Iterator[Day]:
    table, means = series.table, series.table.values()
    for place, day in enumerate(series.days):
        own = series.rows.filter(pl.col(_DAY) == day)
        known = ~np.isnan(means[:, place])
        codes = None if series.codes is None else series.codes[known]
        found = _interval(means[known, place], table.n_scored[known, place], series.metric, codes, level)
        none: dict[str, Any] = {"estimate": None, "conf_level": level, "reason": "no item has a score"}
        made = none if found is None else estimated(found, p_value=None)
        yield Day(
            **made,
            name=series.name,
            benchmark=series.metric.benchmark,
            day=day,
            n_items=int(known.sum()),
            n_lost=table.systems[place].count("error", "unscored"),
            watched=place >= series.start,
            changes=series.changes[place],
            runs=tuple(sorted(own["run"].unique().to_list())),
        )


def _interval(
    means: Floats, n_scored: Ints, metric: Metric, codes: Ints | None, level: float
) -> IntervalEstimate | None:
    """Return a day's mean with the interval that `score` gives it."""
    if not len(means):
        return None
    if codes is not None:
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        codes = codes if len(np.unique(codes)) < len(codes) else None
    if metric.low is None or metric.high is None:
        return mean_t(means, conf_level=level)
    if codes is None and (n_scored == 1).all() and np.isin(means, (0.0, 1.0)).all():
        return wilson(int(means.sum()), len(means), conf_level=level)
    return variance_matched_wilson(means, low=metric.low, high=metric.high, conf_level=level, clusters=codes)


def _reference_days(series: _Series, until: date | None) -> int | None:
    """Return how many of the compared days belong to the reference; None without one."""
    return None if until is None else sum(day <= until for day in series.days[series.start :])


def _too_few(series: _Series, until: date | None) -> str | None:
    """Say why there is nothing to compare; None where there is."""
    n = len(series.days) - series.start
    if n < 2:
        if not series.start:
            return "one day with runs, so there is nothing to compare it with"
        changed = "; ".join(series.changes[series.start])
        return f"one day with runs since {series.days[series.start].isoformat()}, when {changed}"
    held = _reference_days(series, until)
    if held == 0:
        return f"no comparable day up to {until}"
    return f"no day after {until}" if held == n else None


def _history(series: _Series, until: date | None, level: float, n_models: int) -> History:
    metric, days = series.metric, series.days[series.start :]
    base = History(
        name=series.name,
        benchmark=metric.benchmark,
        metric=metric.name,
        scale=metric.scale,
        unit=metric.shown_unit,
        score_unit=metric.score_unit,
        higher_is_better=metric.higher_is_better,
        direction=metric.direction,
        verdict="too few",
        conf_level=level,
        first=days[0],
        last=days[-1],
        n_days=len(days),
        reason=_too_few(series, until),
    )
    if base.reason:
        return base
    means = series.table.values()[:, series.start :]
    # Scores that are all alike on all days have no span of their own; any will do then.
    span = metric.span or float(np.nanmax(means) - np.nanmin(means)) or 1.0
    looks = score_changes(
        means,
        clusters=series.codes,
        conf_level=1.0 - (1.0 - level) / n_models,
        span=span,
        reference=_reference_days(series, until),
    )
    last = looks[-1] if looks and looks[-1].look == len(days) - 1 else None
    if last is None or last.conf_low is None or last.p_value is None:
        units = last.n_units if last else 0
        what = "items" if series.codes is None else "clusters"
        few = (
            f"{units} {what} have scores on both sides; at least {FEWEST_UNITS}, and more with many models, are needed"
        )
        return replace(base, reason=few)
    return _judged(replace(base, method=METHOD), series, looks, means, n_models)


def _judged(base: History, series: _Series, looks: Sequence[Change], means: Floats, n_models: int) -> History:
    last, days = looks[-1], series.days[series.start :]
    earlier, later = means[:, : last.since], means[:, last.since :]
    both = ~np.isnan(earlier).all(axis=1) & ~np.isnan(later).all(axis=1)
    flagged = next((days[each.look] for each in looks if each.clear), None)
    verdict: Drifted = "no drift shown" if not last.clear else "dropped" if last.estimate < 0 else "rose"
    return replace(
        base,
        estimate=last.estimate,
        conf_low=last.conf_low,
        conf_high=last.conf_high,
        p_value=last.p_value,
        p_adjusted=min(1.0, (last.p_value or 1.0) * n_models),
        verdict=verdict,
        since=days[last.since],
        first_flagged=flagged,
        before=float(np.nanmean(earlier[both], axis=1).mean()),
        after=float(np.nanmean(later[both], axis=1).mean()),
        n_items=int(both.sum()),
        n_clusters=None if series.codes is None else last.n_units,
        n_since=len(days) - last.since,
        dispersion=last.dispersion,
        beside=series.changes[series.start + last.since] if last.clear else (),
    )


def _mood_notes(histories: Sequence[History]) -> Iterator[Note]:
    """Name the models whose days differ more than their items explain."""
    moody = sorted((row for row in histories if row.dispersion > 1.0), key=lambda row: -row.dispersion)
    if moody:
        who = and_list([row.name for row in moody], 3)
        ratio = number(moody[0].dispersion, 1)
        text = f"Days differ as a whole for {who}: up to {ratio} times the variance that items explain; intervals are widened"
        yield Note(
            kind="dependence",
            text=text,
            remedy="Check whether the service, the harness or the judge varies from day to day",
        )


def _lost_notes(histories: Sequence[History], days: Sequence[Day]) -> Iterator[Note]:
    """Name the day on which the largest share of rows has no score, where that is a large one."""
    compared = {(row.name, row.benchmark) for row in histories if row.verdict != "too few"}
    own = [each for each in days if each.watched and each.n_lost and (each.name, each.benchmark) in compared]
    shares = [(each.n_lost / (each.n_lost + each.n_items), each) for each in own]
    worst = max(shares, key=lambda pair: pair[0], default=None)
    if worst is not None and worst[0] > _MANY_LOST:
        share, each = worst
        more = sum(other > _MANY_LOST for other, _ in shares) - 1
        text = f"{share_in_percent(share)} of {each.name}'s rows of {each.day} have no score"
        also = f", and many on {plural(more, 'other day')}" if more else ""
        yield Note(
            kind="missing", text=f"{text}{also}", remedy="A failing harness looks like a change: run evalstats audit"
        )
