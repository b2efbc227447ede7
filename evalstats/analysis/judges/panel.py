"""Ratings of one criterion as arrays: things rated, raters, and values as numbers or codes of labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
import polars as pl

from evalstats.analysis.judges.options import Scale
from evalstats.analysis.judges.sources import Rated, rated
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, comma_list, plural
from evalstats.schema.data import EvalData
from evalstats.schema.names import unknown_name
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.raters.agreement import MOST_LEVELS, Metric

MOST_ORDERED = 20
_UNIT = ("item", "variant", "run", "model")
_SIDES = {1.0: "first", 0.5: "tie", 0.0: "second"}
_PREFERENCES = frozenset({0.0, 0.5, 1.0})


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Ratings of one criterion: units, raters, and values as numbers or codes of labels."""

    frame: pl.DataFrame
    source: Rated
    truth_name: str
    benchmark: str
    criterion: str
    people: tuple[str, ...]
    judges: tuple[str, ...]
    levels: tuple[str, ...]
    numbers: FloatArray
    scale: Metric
    clusters: tuple[str, ...]
    codes: IntArray | None
    notes: tuple[Note, ...]

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs whose answers were rated."""
        return self.source.runs

    @cached_property
    def sides(self) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None":
        """The two models of every unit; None where units are no pairs of named models."""
        if "first" not in self.frame.columns:
            return None
        units = self.frame.unique("unit", keep="first").sort("unit")
        return units["first"].to_numpy(), units["second"].to_numpy()

    @cached_property
    def prompts(self) -> IntArray:
        """Codes of the questions that units are about: what pairs and answers share at the least."""
        units = self.frame.unique("unit", keep="first").sort("unit")
        name = "prompt" if "prompt" in units.columns else "item"
        return units.select(pl.col(name).rank("dense").sub(1).cast(pl.Int64)).to_series().to_numpy()

    @cached_property
    def model_names(self) -> tuple[str, ...]:
        """The models that units are of, in order; "" where none is named."""
        return tuple(sorted(set(self.models.tolist())))

    @cached_property
    def model_codes(self) -> IntArray:
        """Each unit's place in `model_names`."""
        places = {name: place for place, name in enumerate(self.model_names)}
        return np.array([places[name] for name in self.models.tolist()], dtype=np.int64)

    @property
    def has_models(self) -> bool:
        """Whether units are of named models."""
        return any(self.model_names)

    @property
    def n_units(self) -> int:
        """Things rated."""
        return self.models.size

    @cached_property
    def models(self) -> "np.ndarray[Any, Any]":
        """The model of every unit; "" where none is named."""
        return self.frame.unique("unit", keep="first").sort("unit")["model"].fill_null("").to_numpy()

    @property
    def is_number(self) -> bool:
        """Whether ratings can be averaged: numbers, or yes and no."""
        return self.frame["value"].null_count() == 0

    @property
    def is_binary(self) -> bool:
        """Whether ratings are 0 and 1."""
        return self.is_number and set(self.numbers.tolist()) <= {0.0, 1.0}

    def counts(self, raters: Sequence[str]) -> IntArray:
        """Count ratings of these raters by unit and level."""
        wanted = tuple(raters)
        if wanted not in self._counted:
            self._counted[wanted] = self._count(wanted)
        return self._counted[wanted]

    @cached_property
    def _counted(self) -> dict[tuple[str, ...], IntArray]:
        return {}

    def _count(self, raters: Sequence[str]) -> IntArray:
        own = self.frame.filter(pl.col("rater").is_in(list(raters)))
        q = len(self.numbers)
        flat = np.bincount(
            own["unit"].to_numpy().astype(np.int64) * q + own["level"].to_numpy(), minlength=self.n_units * q
        )
        return flat.reshape(self.n_units, q).astype(np.int64, copy=False)

    @cached_property
    def truth(self) -> FloatArray:
        """The people's rating of every unit as a number: their mean; NaN where there is none."""
        counts = self.counts(self.people).astype(np.float64)
        n = counts.sum(axis=1)
        return np.where(n > 0, counts @ self.numbers / np.maximum(n, 1.0), np.nan)

    @cached_property
    def settled(self) -> FloatArray:
        """The rating that most people gave each unit; NaN where there is none, or two are tied."""
        counts = self.counts(self.people)
        top = counts.max(axis=1)
        alone = (counts == top[:, None]).sum(axis=1) == 1
        return np.where((top > 0) & alone, self.numbers[counts.argmax(axis=1)], np.nan)

    def codes_of(self, units: BoolArray) -> IntArray | None:
        """Return the clusters of some units; None where units share nothing."""
        return None if self.codes is None else self.codes[units]

    def given_by(self, judge: str) -> FloatArray:
        """Return one judge's rating of every unit; NaN where there is none."""
        counts = self.counts([judge])
        return np.where(counts.sum(axis=1) > 0, self.numbers[counts.argmax(axis=1)], np.nan)


def panel_of(
    data: EvalData, reference: tuple[str, ...], criterion: str | None, scale: Scale, cluster: str | Sequence[str] | None
) -> Panel:
    """Check the ratings of one criterion and bring them into arrays.

    Raises
    ------
    InputError
        If a name is unknown, or ratings are of several criteria or kinds.
    CannotAnswerError
        If nobody rated.
    """
    source = rated(data, criterion)
    frame, named = _one_criterion(source.frame, criterion)
    people, others = _sides(frame, reference)
    known = pl.col("value").is_not_null() & pl.col("value").is_not_nan() | pl.col("label").is_not_null()
    empty = frame.height - frame.filter(known).height
    frame = frame.filter(known)
    _require_one_vocabulary(frame, people, others)
    frame, levels, values, metric = _levels(frame, scale)
    if source.unit == "pair":
        levels = tuple(_SIDES.get(value, word) for value, word in zip(values.tolist(), levels, strict=True))
    frame = frame.with_columns(pl.struct(_UNIT).rank("dense").sub(1).cast(pl.Int64).alias("unit")).sort("unit", "rater")
    clusters = () if cluster is None else (cluster,) if isinstance(cluster, str) else tuple(cluster)
    if not clusters and "prompt" in frame.columns and frame["prompt"].n_unique() < frame["unit"].n_unique():
        clusters = ("prompt",)  # pairs of answers to one question
    clusters = () if clusters == ("none",) else clusters
    notes: list[Note] = [*source.notes]
    if empty:
        notes.append(Note(kind="missing", text=f"{plural(empty, 'rating')} without a value left out", caution=False))
    doubles = (
        frame.filter(pl.col("rater").is_in(others)).select(pl.struct("unit", "rater").is_duplicated().sum()).item()
    )
    if doubles:
        raise InputError(
            f"{doubles:,} ratings of a judge stand twice for one answer; give each rating its own rater or criterion"
        )
    return Panel(
        frame=frame,
        source=source,
        truth_name=_truth_name(source, frame, people),
        benchmark=benchmark_of(data, source.runs),
        criterion=named,
        people=people,
        judges=others,
        levels=levels,
        numbers=values,
        scale=metric,
        clusters=clusters,
        codes=_codes(frame, clusters),
        notes=tuple(notes),
    )


def _truth_name(source: Rated, frame: pl.DataFrame, people: tuple[str, ...]) -> str:
    """Say whose ratings are the truth: people's, the key's, or a judge's by name."""
    if source.keyed:
        return "the key"
    kinds = frame.filter(pl.col("rater").is_in(list(people)))["rater_kind"].unique().to_list()
    return and_list(list(people)) if "judge" in kinds else "people"


def benchmark_of(data: EvalData, runs: tuple[str, ...]) -> str:
    """Name the benchmarks of some runs."""
    known = data.rows_of_runs(runs)
    names = levels_of(known["benchmark"])
    return and_list(names) if names else ""


def _one_criterion(frame: pl.DataFrame, criterion: str | None) -> tuple[pl.DataFrame, str]:
    frame = frame.with_columns(pl.col("criterion").fill_null(""))
    there = levels_of(frame["criterion"])
    if not there:
        raise CannotAnswerError("nothing that a judge rated has a score")
    if criterion is None and len(there) > 1:
        named = ", ".join(name or repr(name) for name in there)
        raise InputError(
            f"ratings are of {len(there)} criteria: {named}; choose one with {Option('criterion', blank='NAME')}"
        )
    if criterion is not None and criterion not in there:
        raise InputError(unknown_name(criterion, there, what="criterion"))
    name = there[0] if criterion is None else criterion
    return frame.filter(pl.col("criterion") == name), name


def _sides(frame: pl.DataFrame, reference: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    raters = levels_of(frame["rater"])
    if reference == ("human",):
        people = frame.filter(pl.col("rater_kind") == "human")["rater"].unique().sort().to_list()
        if not people and len(raters) == 1:
            raise CannotAnswerError(
                f"no person rated, only {raters[0]}, so nobody can be held against anybody; give people's ratings of the same "
                "things"
            )
        if not people:
            raise InputError(
                f"no person rated, only {plural(len(raters), 'judge')}: say whose ratings are the truth with "
                f"{Option('reference', blank='NAME')}; judges: {comma_list(raters, 10)}"
            )
    else:
        people = sorted(set(reference))
        for name in people:
            if name not in raters:
                raise InputError(unknown_name(name, raters, what="rater"))
    return tuple(people), tuple(name for name in raters if name not in people)


def _require_one_vocabulary(frame: pl.DataFrame, people: Sequence[str], judges: Sequence[str]) -> None:
    """Refuse a judge who shares no label with people: the two speak of different things, and agreement would be 0 by spelling."""
    if frame["value"].null_count() == 0:
        return
    said = {
        rater: set(levels_of(frame.filter(pl.col("rater") == rater)["label"].drop_nulls()))
        for rater in (*people, *judges)
    }
    by_people = set[str]().union(*(said[name] for name in people))
    for judge in judges:
        if min(len(by_people), len(said[judge])) > 1 and by_people.isdisjoint(said[judge]):
            raise InputError(
                f"people say {comma_list(sorted(by_people), 4)}, and {judge} says {comma_list(sorted(said[judge]), 4)}: they "
                "have no rating in common; give both the same words"
            )


def _levels(frame: pl.DataFrame, scale: Scale) -> tuple[pl.DataFrame, tuple[str, ...], FloatArray, Metric]:
    """Return the ratings with a code for each level, the levels in order as words and numbers, and the scale."""
    if scale not in get_args(Scale):
        raise InputError(f"scale {scale!r} is unknown; choose one of {', '.join(get_args(Scale))}")
    is_number = frame["value"].null_count() == 0
    column = "value" if is_number else "label"
    if not is_number and frame["label"].null_count():
        raise InputError("some ratings are numbers and some are labels; give all of one kind")
    there = frame[column].unique().sort()
    if there.len() > MOST_LEVELS:
        # Numbers too fine for a table are read to a two-hundredth of their range.
        if not is_number:
            raise InputError(f"{there.len()} different labels are no categories; at most {MOST_LEVELS} are")
        low, high = float(frame["value"].min()), float(frame["value"].max())  # pyright: ignore[reportArgumentType] - numbers
        step = (high - low) / (MOST_LEVELS - 1)
        frame = frame.with_columns(((pl.col("value") - low) / step).round() * step + low)
        there = frame[column].unique().sort()
    words = [str(each) for each in there.to_list()]
    code = pl.col(column).replace_strict(there, pl.Series(range(there.len()), dtype=pl.Int64), return_dtype=pl.Int64)
    frame = frame.with_columns(code.alias("level"))
    values = there.to_numpy().astype(np.float64) if is_number else np.arange(there.len(), dtype=np.float64)
    if is_number:
        words = [f"{value:g}" for value in values]
    chosen: Metric = "nominal" if scale == "auto" else scale
    if scale == "auto" and is_number and there.len() > 2 and set(values.tolist()) <= _PREFERENCES:
        chosen = "ordinal"
    elif scale == "auto" and is_number and there.len() > 2:
        whole = bool((values == np.round(values)).all())
        chosen = "ordinal" if whole and there.len() <= MOST_ORDERED else "interval"
    if chosen != "nominal" and not is_number:
        raise InputError(f"labels have no {chosen} order; give them as numbers")
    return frame, tuple(words), values, chosen


def _codes(frame: pl.DataFrame, clusters: tuple[str, ...]) -> IntArray | None:
    if not clusters:
        return None
    name, *others = clusters
    if others:
        raise InputError("judges takes one cluster; name the coarsest")
    if name not in frame.columns:
        raise InputError(
            unknown_name(name, [each for each in frame.columns if each not in ("unit", "level")], what="column")
        )
    units = frame.unique("unit", keep="first").sort("unit")
    return (
        units.select(pl.col(name).cast(pl.String).fill_null("").rank("dense").sub(1).cast(pl.Int64))
        .to_series()
        .to_numpy()
    )
