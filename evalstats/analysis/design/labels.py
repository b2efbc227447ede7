"""Scores of a judge corrected by people's labels of a part of the items: the labels of a table, and what they say of a score."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.result import Estimate, estimated
from evalstats.document.model import Note
from evalstats.document.numbers import interval_words, scaled, share_in_percent, with_unit
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.in_memory import as_polars
from evalstats.schema.tables import levels_of
from evalstats.stats.estimate import IntervalEstimate, t_estimate
from evalstats.stats.raters.correction import (
    PoweredMean,
    judge_errors,
    powered_mean,
    rogan_gladen,
    rogan_gladen_smoothed,
)
from evalstats.stats.raters.label_sample import chosen_part
from evalstats.stats.stratified import Strata
from evalstats.table.items import Bools, Floats, Ints
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System

_KEY = ("task", "item", "variant")
_SIDES = ("model", "system", "run")
_SHOWN = 3
# Labels whose range is so much another than that of the scores are of another scale.
_SCALES_APART = 4.0


@record
class LabelAccount(Estimate):
    """What people's labels of a part of the items say of the judge, and what each says of the score, or the difference.

    The estimate is the judge's error: by how much it puts the score, or the candidate's lead, higher than people do.

    Attributes
    ----------
    judged, labels_only
        The score, or the difference, by the judge alone, on all items, and by the labels alone.
    by_errors
        Of yes-or-no scores: corrected by the judge's sensitivity and specificity (Rogan and Gladen), for each side.
    n_labels, n_judged
        Items with a label (for both sides), and all items.
    tuning
        Weight of the judge in the corrected number: 0 labels alone, 1 in full.
    label_worth
        So many labels alone would be as precise as the corrected number.
    labels_for_margin
        Items to label in all, for both sides, to find a difference as large as the declared margin with 80% power; None where no
        margin is declared, or labels of all items would not do.
    people
        Who labelled, where that is known.
    """

    judged: Estimate
    labels_only: Estimate
    by_errors: Estimate | None = None
    n_labels: int
    n_judged: int
    tuning: float
    label_worth: float
    labels_for_margin: int | None = None
    people: tuple[str, ...] = ()


@record
class Labels:
    """People's labels of items, shape (n_items, n_systems), NaN where there is none; and the chance of each to be labelled.

    `tuning` is the judge's weight where something else has settled it.
    """

    values: Floats
    chances: Floats | None
    people: tuple[str, ...]
    tuning: float | None = None
    notes: tuple[Note, ...] = ()

    def of_side(self, place: int, tuning: float) -> "Labels":
        """Return the labels of one of two systems, for a score that adds up with the difference of both."""
        own = np.where(np.isfinite(self.values).all(axis=1), self.values[:, place], np.nan)
        return replace(self, values=own[:, np.newaxis], notes=(), tuning=tuning)

    def words(self) -> str:
        """Say of how many items there are labels."""
        counts = sorted(set(np.isfinite(self.values).sum(axis=0).tolist()))
        n = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        return f"people's labels of {n} items"


def label_rows(labels: EvalData | object, names: Sequence[str]) -> pl.DataFrame:
    """Return labels as rows of item, side and value, from ratings, or from a table in one of two forms.

    One form has a row for each label (item, model, value or score or label), the other a row for each item and a column for each
    side. Of one side alone the table need not name it. Raters are people unless `rater_kind` says otherwise.
    """
    if isinstance(labels, EvalData):
        if not labels.ratings.height:
            raise InputError(
                "the labels hold no ratings; give a table with item, model and value, or from_ratings(...)"
            )
        frame = labels.ratings
    else:
        frame = as_polars(labels)
    if {"row", "label", "comment"} <= set(frame.columns):
        raise InputError(
            "the labels are a sheet to fill in, which does not say with what chance a row was drawn; read it with its key: "
            "evalstats.open_labels(PATH).ratings(), or on the shell evalstats label read"
        )
    if set(names) <= set(frame.columns) and "item" in frame.columns:
        index = [each for each in (*_KEY, "label_prob", "rater", "rater_kind") if each in frame.columns]
        frame = frame.unpivot(list(names), index=index, variable_name="model", value_name="value")
    given = [name for name in ("value", "score", "label") if name in frame.columns]
    value = next((name for name in given if frame[name].null_count() < frame.height), given[0] if given else None)
    side = next((name for name in _SIDES if name in frame.columns and frame[name].null_count() < frame.height), None)
    if "item" not in frame.columns or value is None or (side is None and len(names) > 1):
        raise InputError(
            f"labels have the columns {', '.join(frame.columns[:12]) or 'none'}; expected item, model and value (one row for "
            f"each label), or item, {and_list([*names], 3)} (one row for each item)"
        )
    if "criterion" in frame.columns and frame["criterion"].n_unique() > 1:
        there = ", ".join(levels_of(frame["criterion"]))
        raise InputError(f"labels are of several criteria: {there}; give those of one")
    if "rater_kind" in frame.columns:
        frame = frame.filter(pl.col("rater_kind").is_null() | (pl.col("rater_kind") == "human"))
        if not frame.height:
            raise InputError("all raters of the labels are judges; people's labels are needed")
    if not (frame[value].dtype.is_numeric() or frame[value].dtype == pl.Boolean):
        raise InputError(f"labels in column {value} are words; give them as numbers on the scale of the scores")
    frame = frame.with_columns(pl.col(value).cast(pl.Float64).alias("value"), pl.col("item").cast(pl.String))
    if frame["value"].is_infinite().any():
        raise InputError("some labels are infinite; give numbers, and leave the cell empty where there is no label")
    frame = frame.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    if not frame.height:
        raise InputError(f"column {value} of the labels is empty; give people's ratings on the scale of the scores")
    return frame


def labels_of(
    labels: EvalData | object,
    table: ScoreTable,
    data: EvalData,
    *,
    clusters: Sequence[str] = (),
    contrast: str = "model",
) -> Labels:
    """Find the labels of the items of a table; several people's labels of one answer are averaged.

    Whether labelled items were chosen is asked of the scores of all systems of the data, whichever of them the table has.
    InputError if columns are missing, labels name none of the items or systems, or are of another scale than the scores;
    CannotAnswerError if they have no known chance and are no random part of the items.
    """
    rows = label_rows(labels, table.names)
    key = _key(rows, table)
    sides = _by_side(rows, table.systems)
    _check_scale(sides["value"], table)
    one = [*key, "side", *(["rater"] if "rater" in sides.columns else [])]
    doubled = sides.select(one).is_duplicated()
    if "rater" in sides.columns and doubled.any():
        first = sides.filter(doubled).row(0, named=True)
        raise InputError(
            f"{int(doubled.sum()):,} labels repeat a rater and answer, such as {first['rater']!r} on {first['item']!r}"
        )
    wanted = [pl.col("value").mean().alias("value")]
    if "label_prob" in sides.columns:
        wanted += [pl.col("label_prob").min().alias("low"), pl.col("label_prob").max().alias("high")]
        wanted.append(pl.col("label_prob").null_count().alias("unknown"))
    means = sides.group_by(*key, "side").agg(wanted)
    known = means.select(key).unique()
    there = table.items.select(pl.col(name).cast(pl.String) for name in key)
    lost = known.join(there, on=key, how="anti")
    answered = {1: "that has a score", 2: "that both sides answered"}.get(
        len(table.systems), "that the systems answered"
    )
    if lost.height == known.height:
        shown = ", ".join(repr(each) for each in known["item"].sort().to_list()[:_SHOWN])
        own = ", ".join(repr(each) for each in there["item"].to_list()[:_SHOWN])
        raise InputError(f"no label is for an item {answered}: labels name {shown}, the scores {own}")
    columns = [
        there.join(means.filter(side=place), on=key, how="left", maintain_order="left")["value"].to_numpy()
        for place in range(len(table.systems))
    ]
    values = np.column_stack(columns).astype(np.float64)
    some = np.asarray(np.isfinite(values).any(axis=1))
    chances, codes = label_chances(means, there, key, some), [table.codes(name) for name in clusters]
    if chances is None:
        _refuse_chosen(table, _scores_of_all(table, data, contrast), some, codes[0] if len(codes) == 1 else None)
    people = levels_of(sides["rater"]) if "rater" in sides.columns else []
    told: list[Note] = []
    if lost.height:
        text = f"{lost.height:,} of {known.height:,} labelled items are none {answered}, and are dropped"
        told.append(Note(kind="left_out", text=text))
    if one_side := int((some & ~np.isfinite(values).all(axis=1)).sum()) if len(table.systems) == 2 else 0:
        text = f"{plural(one_side, 'item')} with a label of one side alone counted as unlabelled"
        told.append(Note(kind="left_out", text=text, caution=False))
    return Labels(
        values=values,
        chances=chances,
        people=tuple(str(each) for each in people if each is not None),
        notes=tuple(told),
    )


_WORDS = {
    "score": "the judge scores {own} of them above its mean, and {rest} of the others",
    "extremeness": "{own} of the judge's scores of them lie far from its mean, and {rest} of the others",
    "disagreement": "the judge sets two systems far apart on {own} of them, and on {rest} of the others",
}
_OF_TASK = "one task holds {own} of them, and {rest} of the others"


def _scores_of_all(table: ScoreTable, data: EvalData, contrast: str) -> Floats:
    """Return the scores of every system of the data on the items of a table, NaN where there is none."""
    column, metric = "system" if contrast == "model" else contrast, table.metric
    of_metric = (pl.col("benchmark") == metric.benchmark) & (pl.col("metric") == metric.name)
    key = [name for name in _KEY if name in table.items.columns]
    rows = data.outcomes.filter(of_metric & pl.col("score").is_not_null(), pl.col(column).is_not_null())
    rows = rows.select(pl.col(key).cast(pl.String), "score", level=pl.col(column).cast(pl.String).rank("dense"))
    wide = rows.pivot("level", index=key, values="score", aggregate_function="mean")
    items = table.items.select(pl.col(name).cast(pl.String) for name in key)
    found = items.join(wide, on=key, how="left", maintain_order="left", nulls_equal=True).drop(key)
    return found.cast(pl.Float64).to_numpy()


def _refuse_chosen(table: ScoreTable, scores: Floats, labelled: Bools, clusters: Ints | None) -> None:
    found, words = chosen_part(scores, labelled, clusters), _WORDS
    if found is None and "task" in table.items.columns:
        of_task = table.items["task"].cast(pl.String).to_dummies().to_numpy().astype(np.float64)
        found, words = chosen_part(of_task, labelled, clusters), dict.fromkeys(_WORDS, _OF_TASK)
    if found is None:
        return
    feature, own, rest = found
    shares = words[feature].format(own=share_in_percent(own), rest=share_in_percent(rest))
    raise CannotAnswerError(
        f"labelled items are not a random sample: {shares}, so their errors are not those of all. Label items "
        "drawn by label draw, or "
        "give the chance with which each was chosen in a column label_prob"
    )


def _key(rows: pl.DataFrame, table: ScoreTable) -> list[str]:
    """Return the columns that name an item in the labels and in the scores."""
    key, items = ["item"], table.items
    doubled = items["item"].n_unique() < items.height
    for name in ("task", "variant"):
        needed = name in items.columns and doubled and items[name].n_unique() > 1
        if name in rows.columns and name in items.columns and (needed or rows[name].n_unique() > 1):
            key.append(name)
        elif needed:
            raise InputError(f"an item has several levels of {name} in the scores; labels need a column {name} as well")
    there = table.items.select(key)
    if there.n_unique() < there.height:
        raise InputError(
            f"{' and '.join(key)} of the labels name several items of the scores; add the column variant or task"
        )
    return key


def _by_side(rows: pl.DataFrame, systems: Sequence[System]) -> pl.DataFrame:
    """Keep labels of the systems, with the place of each as its side."""
    named = [name for name in _SIDES if name in rows.columns and rows[name].null_count() < rows.height]
    if not named:
        return rows.with_columns(side=pl.lit(0))
    for name in named:
        called = [{each.name, *(levels_of(each.rows[name]) if name in each.rows.columns else ())} for each in systems]
        several = {level for level, n in Counter(level for each in called for level in each).items() if n > 1}
        place = {str(level): j for j, each in enumerate(called) for level in each - several}
        side = (
            rows[name]
            .cast(pl.String)
            .replace_strict(list(place), list(place.values()), default=None, return_dtype=pl.Int64)
        )
        found = rows.with_columns(side.alias("side")).filter(pl.col("side").is_not_null())
        if found["side"].n_unique() == len(systems):
            return found
    there = rows[named[0]].cast(pl.String).drop_nulls().unique().sort().to_list()
    wanted = {1: "", 2: "both "}.get(len(systems), "each of ")
    sides = ", ".join(repr(each.name) for each in systems)
    raise InputError(f"labels are of {', '.join(map(repr, there[:8]))}; expected labels of {wanted}{sides}")


def _check_scale(values: pl.Series, table: ScoreTable) -> None:
    metric = table.metric
    low, high = float(values.to_numpy().min()), float(values.to_numpy().max())
    if (metric.low is not None and low < metric.low) or (metric.high is not None and high > metric.high):
        ends = " to ".join("any" if end is None else f"{end:g}" for end in (metric.low, metric.high))
        raise InputError(
            f"labels run from {low:g} to {high:g}, and {metric.name} from {ends}; give labels on its scale"
        )
    scores = table.values()[table.scored]
    span, own = float(np.ptp(scores)), high - low
    if span > 0 and own > 0 and metric.span is None and not 1 / _SCALES_APART <= own / span <= _SCALES_APART:
        raise InputError(
            f"labels run from {low:g} to {high:g}, and the scores from {scores.min():g} to {scores.max():g}: they are not of one "
            "scale; give labels on the scale of the scores"
        )


def label_chances(means: pl.DataFrame, there: pl.DataFrame, key: list[str], some: Bools) -> Floats | None:
    """Return the chance of each row to be labelled; None where no chances are given, or all are the same."""
    if "unknown" not in means.columns or means["low"].null_count() == means.height:
        return None
    each = means.group_by(key).agg(pl.col("low").min(), pl.col("high").max(), pl.col("unknown").sum())
    if each["unknown"].sum():
        raise InputError(
            "label_prob is missing for some labels; give the chance with which each item was chosen, or none"
        )
    if (each["low"] < each["high"]).any():
        raise InputError(
            "label_prob differs within an item; an item is chosen for all systems at once, with one chance"
        )
    if not ((each["low"] > 0) & (each["low"] <= 1)).all():
        raise InputError("label_prob must lie above 0 and be at most 1")
    found = there.join(each, on=key, how="left", maintain_order="left")["low"].to_numpy().astype(np.float64)
    chosen = found[some]
    # The same chance for all is a simple random part.
    return None if chosen.size and np.ptp(chosen) == 0 else found


# --- what labels say of one score ---


def corrected_score(
    judged: Floats,
    labels: Floats,
    chances: Floats | None,
    clusters: Ints | None,
    metric: MetricFacts,
    *,
    conf_level: float,
    tuning: float | None = None,
) -> PoweredMean:
    """Return the prediction-powered mean of one system's scores.

    `judged`, `labels`: float64, shape (n_items,); labels are NaN where there is none. `clusters` are codes of one column.
    `tuning`: the judge's weight; None: as it goes best with the labels.
    CannotAnswerError where labels are too few, or cover all items.
    """
    known = np.isfinite(labels)
    if known.all():
        raise CannotAnswerError("every item has a label: score the labels themselves, no judge is needed")
    if not known.any():
        raise CannotAnswerError("no item has a label")
    return powered_mean(
        judged[~known],
        judged[known],
        labels[known],
        probabilities=None if chances is None else chances[known],
        clusters=None if clusters is None else (clusters[~known], clusters[known]),
        bounds=metric.bounds,
        tuning=tuning,
        pseudo=pseudo_residual(judged, labels, metric),
        conf_level=conf_level,
    )


def corrected_average(
    judged: Floats,
    labels: Floats,
    chances: Floats | None,
    strata: Strata,
    metric: MetricFacts,
    *,
    conf_level: float,
) -> IntervalEstimate:
    """Return the average over levels of a factor, each corrected by its own labels; t with Satterthwaite's degrees of freedom.

    CannotAnswerError where a level has too few labels, or nothing but labels.
    """
    parts: list[IntervalEstimate] = []
    for code in range(len(strata.shares)):
        at = strata.codes == code
        own = None if chances is None else chances[at]
        parts.append(corrected_score(judged[at], labels[at], own, None, metric, conf_level=conf_level).estimate)
    if any(each.std_error is None or each.df is None for each in parts):
        raise CannotAnswerError("the labels of some level are as the judge has it, which gives its score no error")
    value = float(strata.shares @ [each.estimate for each in parts])
    variances = np.square(strata.shares * np.array([each.std_error for each in parts], dtype=np.float64))
    variance, df = float(variances.sum()), np.array([each.df for each in parts], dtype=np.float64)
    low, high = metric.bounds or (None, None)
    return t_estimate(
        value,
        math.sqrt(variance),
        variance**2 / float((np.square(variances) / df).sum()),
        conf_level,
        method="prediction-powered mean of each level",
        n=sum(each.n for each in parts),
        low=low,
        high=high,
    )


def pseudo_residual(judged: Floats, labels: Floats, metric: MetricFacts) -> float:
    """Return how far the residuals lie off that are counted beside those of yes or no: half of the scale; else 0."""
    ends = metric.bounds
    plain = ends is not None and np.isin(judged, ends).all() and np.isin(labels[np.isfinite(labels)], ends).all()
    return (ends[1] - ends[0]) / 2.0 if plain and ends is not None else 0.0


def by_error_rates(judged: Floats, labels: Floats, *, conf_level: float) -> tuple[IntervalEstimate, ...]:
    """Return a share of yes corrected by the judge's error rates; none where scores or labels are no yes or no, or tell nothing.

    For items labelled at random, none of which share anything.
    """
    # People who are divided on an answer give no yes or no to hold the judge against.
    clear, alone = np.isin(labels, (0, 1)), judged[np.isnan(labels)]
    if not np.isin(judged, (0, 1)).all() or not clear.any():
        return ()
    counts = int(alone.sum()), alone.size, judge_errors(judged[clear], labels[clear])
    with suppress(CannotAnswerError):
        return tuple(method(*counts, conf_level=conf_level) for method in (rogan_gladen, rogan_gladen_smoothed))
    return ()


def label_account(
    found: PoweredMean, judged: IntervalEstimate, beside: Sequence[IntervalEstimate], people: tuple[str, ...]
) -> LabelAccount:
    """Return what labels say of a judge, for a result; `judged` is the same number by the judge alone."""
    return LabelAccount(
        **estimated(found.bias),
        judged=Estimate(**estimated(judged)),
        labels_only=Estimate(**estimated(found.labels_only)),
        by_errors=Estimate(**estimated(beside[0])) if beside else None,
        n_labels=found.n_labels,
        n_judged=found.n_labels + found.n_judged,
        tuning=found.tuning,
        label_worth=found.label_worth,
        people=people,
    )


def judge_note(account: LabelAccount, name: str, metric: MetricFacts) -> tuple[Note, ...]:
    """Say by how much the judge puts a score higher or lower than people do, where that is shown."""
    low, high = account.conf_low, account.conf_high
    if low is None or high is None or account.estimate is None or low <= 0.0 <= high:
        return ()
    size = with_unit(scaled(abs(account.estimate), metric.scale, 1), metric.shown_unit)
    ends = interval_words(min(abs(low), abs(high)), max(abs(low), abs(high)), metric.scale, 1)
    where = "above" if account.estimate > 0 else "below"
    text = f"The judge scores {name} {size} {where} people (CI {ends}); the score shown is corrected for it"
    return (Note(kind="trust", text=text),)


def one_cluster_column(clusters: Sequence[Ints]) -> Ints | None:
    """Return the codes that a correction goes by; InputError where items are clustered in several ways."""
    if len(clusters) > 1:
        raise InputError(
            f"labels correct scores with one cluster column; name the coarsest with {Option('cluster', blank='NAME')}"
        )
    return clusters[0] if clusters else None


def refuse_with_labels(options: Mapping[str, object]) -> None:
    """Refuse options under which a score is no mean over all items alike: each would need labels of its own."""
    for name, wanted in options.items():
        if wanted:
            raise InputError(f"labels correct the mean over all items; leave out {Option(name)}")
