"""A comparison of judge-made scores corrected by people's labels of a part of the items."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.compare.difference import Difference
from evalstats.analysis.compare.result import LabelAccount
from evalstats.analysis.result import Estimate, estimated, method_row, notes
from evalstats.document.model import Note
from evalstats.document.numbers import interval_words, scaled
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural
from evalstats.schema.data import EvalData
from evalstats.schema.tables import as_polars, levels_of
from evalstats.stats import estimate as numbers
from evalstats.stats.planning.power import mde_from_std_error
from evalstats.stats.raters.correction import (
    JudgedPair,
    PoweredMean,
    judged_pair,
    labels_needed,
    not_random,
    powered_difference,
    rogan_gladen_difference,
    std_error_for_power,
)
from evalstats.stats.runs import RunSpread, with_runs
from evalstats.table.items import Floats, Ints
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System

_POWER = 0.8
_SURE = 0.05
_KEY = ("task", "item", "variant")
_SIDES = ("model", "system", "run")
_SHOWN = 3
# Labels whose range is so much another than that of the scores are of another scale.
_SCALES_APART = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """People's labels of paired items, shape (n_items, 2), NaN where there is none; and the chance of each to be labelled."""

    values: Floats
    chances: Floats | None
    people: tuple[str, ...]
    notes: tuple[Note, ...] = ()

    def pair(self, judged: tuple[Floats, Floats], clusters: Sequence[Ints]) -> JudgedPair:
        """Return the judge's scores and labels for the statistics."""
        if len(clusters) > 1:
            raise InputError(
                "labels correct a comparison with one cluster column; name the coarsest with "
                f"{Option('cluster', blank='NAME')}"
            )
        return judged_pair(
            np.column_stack(judged), self.values, probabilities=self.chances, clusters=clusters[0] if clusters else None
        )


def label_rows(labels: EvalData | object, names: tuple[str, str]) -> pl.DataFrame:
    """Return labels as rows of item, side and value, from ratings, or from a table in one of two forms.

    One form has a row for each label (item, model, value or score or label), the other a row for each item and a column for each
    side. Raters are people unless `rater_kind` says otherwise.
    """
    if isinstance(labels, EvalData):
        if not labels.ratings.height:
            raise InputError(
                "the labels hold no ratings; give a table with item, model and value, or from_ratings(...)"
            )
        frame = labels.ratings
    else:
        frame = as_polars(labels)
    if set(names) <= set(frame.columns) and "item" in frame.columns:
        index = [each for each in (*_KEY, "label_prob", "rater", "rater_kind") if each in frame.columns]
        frame = frame.unpivot(list(names), index=index, variable_name="model", value_name="value")
    given = [name for name in ("value", "score", "label") if name in frame.columns]
    value = next((name for name in given if frame[name].null_count() < frame.height), given[0] if given else None)
    side = next((name for name in _SIDES if name in frame.columns and frame[name].null_count() < frame.height), None)
    if "item" not in frame.columns or value is None or side is None:
        raise InputError(
            f"labels have the columns {', '.join(frame.columns[:12]) or 'none'}; expected item, model and value (one row for "
            f"each label), or item, {names[0]} and {names[1]} (one row for each item)"
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


def labels_of(labels: EvalData | object, paired: ScoreTable) -> Labels:
    """Find the labels of the paired items; several people's labels of one answer are averaged.

    InputError if columns are missing, labels name none of the items or sides, or are of another scale than the scores.
    """
    first, second = paired.names
    rows = label_rows(labels, (first, second))
    key = _key(rows, paired)
    sides = _by_side(rows, paired.systems)
    _check_scale(sides["value"], paired)
    _check_once(sides, key)
    wanted = [pl.col("value").mean().alias("value")]
    if "label_prob" in sides.columns:
        wanted += [pl.col("label_prob").min().alias("low"), pl.col("label_prob").max().alias("high")]
        wanted.append(pl.col("label_prob").null_count().alias("unknown"))
    means = sides.group_by(*key, "side").agg(wanted)
    known = means.select(key).unique()
    there = paired.items.select(pl.col(name).cast(pl.String) for name in key)
    lost = known.join(there, on=key, how="anti")
    if lost.height == known.height:
        shown = ", ".join(repr(each) for each in known["item"].sort().to_list()[:_SHOWN])
        own = ", ".join(repr(each) for each in there["item"].to_list()[:_SHOWN])
        raise InputError(f"no label is of an item that both sides answered: labels name {shown}, the scores {own}")
    columns = [
        there.join(means.filter(side=place), on=key, how="left", maintain_order="left")["value"].to_numpy()
        for place in (0, 1)
    ]
    values = np.column_stack(columns).astype(np.float64)
    both = np.asarray(np.isfinite(values).all(axis=1))
    people = levels_of(sides["rater"]) if "rater" in sides.columns else []
    return Labels(
        values=values,
        chances=_chances(means, there, key, both),
        people=tuple(str(each) for each in people if each is not None),
        notes=_left_out(lost.height, known.height, int((np.isfinite(values).any(axis=1) & ~both).sum())),
    )


def _key(rows: pl.DataFrame, paired: ScoreTable) -> list[str]:
    """Return the columns that name an item in the labels and in the scores."""
    key = ["item"]
    for name in ("task", "variant"):
        several = name in paired.items.columns and paired.items.select("item").n_unique() < paired.items.height
        if name in rows.columns and name in paired.items.columns and rows[name].n_unique() > 1:
            key.append(name)
        elif (
            several and name in paired.items.columns and paired.items[name].n_unique() > 1 and name not in rows.columns
        ):
            raise InputError(f"an item has several levels of {name} in the scores; labels need a column {name} as well")
    there = paired.items.select(key)
    if there.n_unique() < there.height:
        raise InputError(
            f"{' and '.join(key)} of the labels name several items of the scores; add the column variant or task"
        )
    return key


def _by_side(rows: pl.DataFrame, systems: Sequence[System]) -> pl.DataFrame:
    """Keep labels of either side, with 0 for the baseline's and 1 for the candidate's."""
    for name in _SIDES:
        if name not in rows.columns or rows[name].null_count() == rows.height:
            continue
        called = [{each.name, *(levels_of(each.rows[name]) if name in each.rows.columns else ())} for each in systems]
        called = [called[0] - called[1], called[1] - called[0]]
        text = pl.col(name).cast(pl.String)
        place = pl.when(text.is_in(list(called[0]))).then(0).when(text.is_in(list(called[1]))).then(1)
        found = rows.with_columns(place.alias("side")).filter(pl.col("side").is_not_null())
        if found["side"].n_unique() == len(systems):
            return found
    sides = ", ".join(repr(each.name) for each in systems)
    there = next(rows[name].cast(pl.String).unique().sort().to_list() for name in _SIDES if name in rows.columns)
    raise InputError(f"labels are of {', '.join(map(repr, there[:8]))}; expected labels of both {sides}")


def _check_scale(values: pl.Series, paired: ScoreTable) -> None:
    metric = paired.metric
    low, high = float(values.to_numpy().min()), float(values.to_numpy().max())
    if (metric.low is not None and low < metric.low) or (metric.high is not None and high > metric.high):
        ends = " to ".join("any" if end is None else f"{end:g}" for end in (metric.low, metric.high))
        raise InputError(
            f"labels run from {low:g} to {high:g}, and {metric.name} from {ends}; give labels on its scale"
        )
    scores = paired.values()
    span, own = float(np.ptp(scores)), high - low
    if span > 0 and own > 0 and metric.span is None and not 1 / _SCALES_APART <= own / span <= _SCALES_APART:
        raise InputError(
            f"labels run from {low:g} to {high:g}, and the scores from {scores.min():g} to {scores.max():g}: they are not of one "
            "scale; give labels on the scale of the scores"
        )


def _check_once(rows: pl.DataFrame, key: Sequence[str]) -> None:
    one = [*key, "side", *(["rater"] if "rater" in rows.columns else [])]
    doubled = rows.select(one).is_duplicated()
    if "rater" in rows.columns and doubled.any():
        first = rows.filter(doubled).row(0, named=True)
        raise InputError(
            f"{int(doubled.sum()):,} labels stand twice for one rater and answer, such as {first['rater']!r} on {first['item']!r}"
        )


def _chances(means: pl.DataFrame, there: pl.DataFrame, key: list[str], both: np.ndarray) -> Floats | None:
    """Return the chance of each item to be labelled; None where no chances are given."""
    if "unknown" not in means.columns or means["low"].null_count() == means.height:
        return None
    each = means.group_by(key).agg(pl.col("low").min(), pl.col("high").max(), pl.col("unknown").sum())
    if each["unknown"].sum():
        raise InputError(
            "label_prob is missing for some labels; give the chance with which each item was chosen, or none"
        )
    if (each["low"] < each["high"]).any():
        raise InputError("label_prob differs within an item; an item is chosen for both sides at once, with one chance")
    if not ((each["low"] > 0) & (each["low"] <= 1)).all():
        raise InputError("label_prob must lie above 0 and be at most 1")
    found = there.join(each, on=key, how="left", maintain_order="left")["low"].to_numpy().astype(np.float64)
    chosen = found[both]
    # The same chance for all is a simple random part.
    return None if chosen.size and np.ptp(chosen) == 0 else found


def _left_out(lost: int, known: int, one_side: int) -> tuple[Note, ...]:
    told: list[Note] = []
    if lost:
        text = f"{lost:,} of {known:,} labelled items are none that both sides answered, and are left out"
        told.append(Note(kind="left_out", text=text, caution=2 * lost > known))
    if one_side:
        text = f"{plural(one_side, 'item')} with a label of one side alone counted as unlabelled"
        told.append(Note(kind="left_out", text=text, caution=False))
    return tuple(told)


# --- the corrected difference ---


def corrected_headline(
    pair: JudgedPair, metric: MetricFacts, *, conf_level: float, runs: RunSpread | None = None
) -> tuple[PoweredMean, numbers.IntervalEstimate]:
    """Return the prediction-powered difference, and the headline made of it: runs counted, kept within the metric's bounds."""
    found = powered_difference(pair, conf_level=conf_level)
    headline = with_runs(found.estimate, runs)
    span = metric.span
    if span is not None and headline.conf_low is not None and headline.conf_high is not None:
        headline = replace(headline, conf_low=max(headline.conf_low, -span), conf_high=min(headline.conf_high, span))
    return found, headline


def corrected(
    judged: Difference,
    pair: JudgedPair,
    metric: MetricFacts,
    *,
    labels: Labels,
    names: tuple[str, str],
    conf_level: float,
    margin: float | None,
    runs: RunSpread | None,
) -> Difference:
    """Put the corrected difference in the judge's place; the judge's and the labels' own stand below it."""
    found, headline = corrected_headline(pair, metric, conf_level=conf_level, runs=runs)
    by_errors = _by_errors(pair, metric, conf_level)
    words = "by the judge alone, whose errors no interval of its own scores counts"
    rows = [
        method_row(headline, "headline", f"labels of {found.n_labels:,} items, the judge on all"),
        method_row(found.labels_only, "second interval", "people's labels alone"),
        *([] if by_errors is None else [method_row(by_errors, "check", "the judge's error rates on each side undone")]),
        *(replace(row, role="sensitivity", note=words) for row in judged.rows[:1]),
    ]
    account = LabelAccount(
        **estimated(found.bias),
        judged=Estimate(**estimated(judged.headline)),
        labels_only=Estimate(**estimated(found.labels_only)),
        by_errors=None if by_errors is None else Estimate(**estimated(by_errors)),
        n_labels=found.n_labels,
        n_judged=len(pair.judged),
        tuning=found.tuning,
        label_worth=found.label_worth,
        labels_for_margin=None if margin is None else _needed(pair, found, margin, conf_level),
        people=labels.people,
    )
    mde = None
    if headline.std_error and headline.df:
        mde = mde_from_std_error(headline.std_error, headline.df, conf_level=conf_level, power=_POWER)
    return Difference(
        headline=headline,
        without_runs=None if runs is None else found.estimate,
        method_reason="people labelled a part of the items, and the judge's scores of all are corrected by it",
        rows=tuple(rows),
        mde=mde,
        labels=account,
        notes=(*_cautions(found, pair, metric, names), *labels.notes),
    )


def _needed(pair: JudgedPair, found: PoweredMean, margin: float, conf_level: float) -> int | None:
    """Return how many items need labels to find a difference as large as the margin; clusters widen as they do now."""
    both = pair.both
    d, f = pair.labels[:, 1] - pair.labels[:, 0], pair.judged[:, 1] - pair.judged[:, 0]
    inflation = 1.0
    if pair.clusters is not None and found.labels_only.std_error:
        inflation = max(found.labels_only.std_error**2 * both.sum() / max(d[both].var(ddof=1), 1e-12), 1.0)
    wanted = std_error_for_power(margin, conf_level=conf_level, power=_POWER)
    try:
        return labels_needed(f[both], d[both], wanted, n_items=len(f), inflation=inflation).n
    except CannotAnswerError:
        return None


def _by_errors(pair: JudgedPair, metric: MetricFacts, conf_level: float) -> numbers.IntervalEstimate | None:
    if metric.kind != "binary" or not np.isin(pair.judged, (0, 1)).all():
        return None
    clear = np.isnan(pair.labels) | np.isin(pair.labels, (0, 1))
    # People who are divided on an answer give no yes or no to hold the judge against.
    settled = replace(pair, labels=np.where(clear, pair.labels, np.nan))
    try:
        return rogan_gladen_difference(settled, conf_level=conf_level)
    except CannotAnswerError:
        return None


def _cautions(found: PoweredMean, pair: JudgedPair, metric: MetricFacts, names: tuple[str, str]) -> tuple[Note, ...]:
    told: list[Note] = []
    bias = found.bias
    if bias.p_value is not None and bias.p_value < _SURE and bias.estimate:
        favoured = names[1] if (bias.estimate > 0) == metric.higher_is_better else names[0]
        reach = abs(bias.conf_low or 0.0), abs(bias.conf_high or 0.0)
        size = f"{scaled(abs(bias.estimate), metric.scale, 1)} {metric.shown_unit}".rstrip()
        ends = interval_words(min(reach), max(reach), metric.scale, 1)
        text = f"The judge favours {favoured} by {size} (CI {ends}) against people; the difference shown is corrected for it"
        told.append(Note(kind="trust", text=text))
    both = pair.both
    f = pair.judged[:, 1] - pair.judged[:, 0]
    sides = (f, pair.judged[:, 0], pair.judged[:, 1])
    if pair.probabilities is None and any(not_random(each[both], each[~both]) for each in sides):
        told.append(
            Note(
                kind="selection",
                text="Labelled items are no random part: the judge rates the rest otherwise",
                remedy="Label items drawn at random, or give the chance of each (column label_prob).",
            )
        )
    return (*told, *notes("few", found.estimate.warnings))
