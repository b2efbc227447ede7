"""Ratings of one criterion as arrays, out of ratings, votes on pairs, scores by judges, or verdicts beside a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, comma_list, plural
from evalstats.options import RatingKind, asked_names
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.in_memory import as_polars
from evalstats.schema.names import unknown_name
from evalstats.schema.tables import check_table, levels_of
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.raters.agreement import MOST_LEVELS, Metric

KEY = "key"
OTHER = "the other answer"
# Columns that say how long an answer is, the first that is there; of pairs with _a and _b behind.
LENGTHS = (
    "length", "n_tokens", "tokens", "output_tokens", "completion_tokens", "assistant_tokens", "output_chars", "n_chars",
    "chars", "n_words", "words", "len",
)  # fmt: skip
MOST_ORDERED = 20
_VOTERS = "voters"
# Between the two models of a pair, in the place of its variant.
_BETWEEN = "\x1f"
# Who a score's judge is when its name says a person; a column judge_kind says it of any.
_PERSON = r"^(human|people|person|annotator|expert|crowd)s?\b|^(human|annotator|expert)[-_ ]"
_FIRST, _TIE, _SECOND = 1.0, 0.5, 0.0
# Verdicts of benchmarks of judges, in the frame of the pair.
_VERDICTS = {"A>B": _FIRST, "A=B": _TIE, "B>A": _SECOND}
_KEYS = {**_VERDICTS, "1": _FIRST, "2": _SECOND}
_SIDES = {_FIRST: "first", _TIE: "tie", _SECOND: "second"}
_UNIT = ("item", "variant", "run", "model")

# Ratings with the columns of that table; verdicts on pairs as they were given (None of answers); and what must be known of both.
# Of pairs a rating is 1 where the rater preferred `first`, 0 where `second`, .5 for a tie, and the verdicts have the columns
# question, first, second, `value` (for the first), `shown_first` (whether the first was shown first), `doublings` (of the first's
# length over the second's), who, rater_kind, prompt.
Read = tuple[pl.DataFrame, pl.DataFrame | None, tuple[Note, ...]]
# Such verdicts, the runs they come from, and notes.
Verdicts = tuple[pl.DataFrame, tuple[str, ...], tuple[Note, ...]]


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """Ratings of one criterion: units, raters, and values as numbers or codes of labels.

    Attributes
    ----------
    frame
        One row a rating; `unit` is its thing rated and `level` its value's place in `levels`.
    games
        Verdicts on pairs as they were given (see `Read`); None where units are answers.
    truth_name
        Whose ratings are the truth: people's, the key's, or a judge's by name.
    levels, numbers
        The values in order, as words and as numbers.
    codes
        Clusters of units; None where units share nothing.
    """

    frame: pl.DataFrame
    games: pl.DataFrame | None
    runs: tuple[str, ...]
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

    @classmethod
    def of(
        cls,
        data: EvalData,
        reference: tuple[str, ...],
        criterion: str | None,
        scale: RatingKind,
        cluster: str | Sequence[str] | None,
    ) -> Self:
        """Check the ratings of one criterion and bring them into arrays; `CannotAnswerError` if nobody rated."""
        frame, games, notes = _read(data, criterion)
        frame, named = _one_criterion(frame, criterion)
        people, judges = _people_and_judges(frame, reference)
        known = pl.col("value").is_not_null() & pl.col("value").is_not_nan() | pl.col("label").is_not_null()
        empty = frame.height - frame.filter(known).height
        frame = frame.filter(known)
        if empty:
            text = f"{plural(empty, 'rating')} without a value dropped"
            notes = (*notes, Note(kind="missing", text=text, caution=False))
        _require_one_vocabulary(frame, people, judges)
        frame, levels, values, metric = _leveled(frame, scale)
        if games is not None:
            levels = tuple(_SIDES.get(value, word) for value, word in zip(values.tolist(), levels, strict=True))
        frame = frame.with_columns(_dense(pl.struct(_UNIT)).alias("unit")).sort("unit", "rater")
        doubled = pl.struct("unit", "rater").is_duplicated().sum()
        if doubles := frame.filter(pl.col("rater").is_in(judges)).select(doubled).item():
            raise InputError(
                f"{doubles:,} ratings of a judge stand twice for one answer; give each rating its own rater or criterion"
            )
        clusters = () if cluster is None else (cluster,) if isinstance(cluster, str) else tuple(cluster)
        if not clusters and "prompt" in frame.columns and frame["prompt"].n_unique() < frame["unit"].n_unique():
            clusters = ("prompt",)  # pairs of answers to one question
        clusters = () if clusters == ("none",) else clusters
        kinds = frame.filter(pl.col("rater").is_in(people))["rater_kind"].unique().to_list()
        runs = _runs(data)
        return cls(
            frame=frame,
            games=games,
            runs=runs,
            truth_name="the key" if people == (KEY,) else and_list(people) if "judge" in kinds else "people",
            benchmark=benchmark_of(data, runs),
            criterion=named,
            people=people,
            judges=judges,
            levels=levels,
            numbers=values,
            scale=metric,
            clusters=clusters,
            codes=_cluster_codes(frame, clusters),
            notes=notes,
        )

    @property
    def unit(self) -> str:
        """What was rated."""
        return "answer" if self.games is None else "pair"

    @cached_property
    def units(self) -> pl.DataFrame:
        """The first rating of every unit, in the order of units."""
        return self.frame.unique("unit", keep="first").sort("unit")

    @property
    def n_units(self) -> int:
        """Things rated."""
        return self.units.height

    @cached_property
    def sides(self) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None":
        """The two models of every unit; None where units are no pairs of named models."""
        if "first" not in self.frame.columns:
            return None
        return self.units["first"].to_numpy(), self.units["second"].to_numpy()

    @cached_property
    def prompts(self) -> IntArray:
        """Codes of the questions that units are about: what pairs and answers share at the least."""
        return dense_codes(self.units, "prompt" if "prompt" in self.frame.columns else "item")

    @cached_property
    def model_names(self) -> tuple[str, ...]:
        """The models that units are of, in order; "" where none is named."""
        return tuple(self.units["model"].fill_null("").unique().sort().to_list())

    @cached_property
    def model_codes(self) -> IntArray:
        """Each unit's place in `model_names`."""
        places = {name: place for place, name in enumerate(self.model_names)}
        return self.units["model"].fill_null("").replace_strict(places, return_dtype=pl.Int64).to_numpy()

    @property
    def has_models(self) -> bool:
        """Whether units are of named models."""
        return any(self.model_names)

    @property
    def has_labels(self) -> bool:
        """Whether people's ratings are labels of scores: numbers for named models, or for answers."""
        return self.truth_name == "people" and self.is_number and (self.games is None or self.has_models)

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
            own, q = self.frame.filter(pl.col("rater").is_in(wanted)), len(self.numbers)
            place = own["unit"].to_numpy().astype(np.int64) * q + own["level"].to_numpy()
            flat = np.bincount(place, minlength=self.n_units * q)
            self._counted[wanted] = flat.reshape(self.n_units, q).astype(np.int64, copy=False)
        return self._counted[wanted]

    @cached_property
    def _counted(self) -> dict[tuple[str, ...], IntArray]:
        return {}

    @cached_property
    def truth(self) -> FloatArray:
        """The people's rating of every unit as a number: their mean; NaN where there is none."""
        counts = self.counts(self.people).astype(np.float64)
        n = counts.sum(axis=1)
        return np.where(n > 0, counts @ self.numbers / np.maximum(n, 1.0), np.nan)

    @cached_property
    def majority(self) -> FloatArray:
        """The rating that most people gave each unit; NaN where there is none, or two are tied."""
        counts = self.counts(self.people)
        top = counts.max(axis=1)
        alone = (counts == top[:, None]).sum(axis=1) == 1
        return np.where((top > 0) & alone, self.numbers[counts.argmax(axis=1)], np.nan)

    def given_by(self, judge: str) -> FloatArray:
        """Return one judge's rating of every unit; NaN where there is none."""
        counts = self.counts([judge])
        return np.where(counts.sum(axis=1) > 0, self.numbers[counts.argmax(axis=1)], np.nan)

    def codes_of(self, units: BoolArray) -> IntArray | None:
        """Return the clusters of some units; None where units share nothing."""
        return None if self.codes is None else self.codes[units]


def _dense(expression: pl.Expr) -> pl.Expr:
    return expression.rank("dense").sub(1).cast(pl.Int64)


def dense_codes(rows: pl.DataFrame, name: str) -> IntArray:
    """Return a number 0, 1, ... for every level of a column."""
    return rows.select(_dense(pl.col(name))).to_series().to_numpy()


def benchmark_of(data: EvalData, runs: tuple[str, ...]) -> str:
    """Name the benchmarks of some runs."""
    names = levels_of(data.rows_of_runs(runs)["benchmark"])
    return and_list(names) if names else ""


def length_column(columns: Sequence[str], suffix: str = "") -> str | None:
    """Return the column that holds how long an answer is."""
    return next((name for name in LENGTHS if f"{name}{suffix}" in columns), None)


# --- one criterion, two kinds of raters, values in order ---


def _one_criterion(frame: pl.DataFrame, criterion: str | None) -> tuple[pl.DataFrame, str]:
    frame = frame.with_columns(pl.col("criterion").fill_null(""))
    there = levels_of(frame["criterion"])
    if not there:
        raise CannotAnswerError("nothing that a judge rated has a score")
    if criterion is None and len(there) > 1:
        named = ", ".join(name or repr(name) for name in there)
        raise InputError(
            f"ratings are of {len(there)} criteria: {named}; choose one, as in {Option('criterion', there[-1])}"
        )
    if criterion is not None and criterion not in there:
        raise InputError(unknown_name(criterion, there, what="criterion"))
    name = there[0] if criterion is None else criterion
    return frame.filter(pl.col("criterion") == name), name


def _people_and_judges(frame: pl.DataFrame, reference: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    raters = levels_of(frame["rater"])
    if reference == ("human",):
        people = frame.filter(pl.col("rater_kind") == "human")["rater"].unique().sort().to_list()
        if not people and len(raters) == 1:
            raise CannotAnswerError(
                f"no person rated, only {raters[0]}, so there is nothing to compare; give people's ratings of the same "
                "things"
            )
        people = people or raters  # of judges alone, the agreement of all
    else:
        people = sorted(set(reference))
        for name in people:
            if name not in raters:
                raise InputError(unknown_name(name, raters, what="rater"))
    return tuple(people), tuple(name for name in raters if name not in people)


def _require_one_vocabulary(frame: pl.DataFrame, people: Sequence[str], judges: Sequence[str]) -> None:
    """Refuse a rater who shares no label with the others: they speak of different things, and agreement is 0 by spelling."""
    if frame["value"].null_count() == 0:
        return
    said = {
        rater: set(levels_of(frame.filter(pl.col("rater") == rater)["label"].drop_nulls()))
        for rater in (*people, *judges)
    }
    for rater in (*judges, *people):
        others = [name for name in people if name != rater]
        theirs = set[str]().union(*(said[name] for name in others))
        if min(len(theirs), len(said[rater])) > 1 and theirs.isdisjoint(said[rater]):
            who = "people" if rater in judges else and_list(others)
            raise InputError(
                f"{who} say {comma_list(sorted(theirs), 4)}, and {rater} says {comma_list(sorted(said[rater]), 4)}: they "
                "have no rating in common; give both the same words"
            )


def _leveled(frame: pl.DataFrame, scale: RatingKind) -> tuple[pl.DataFrame, tuple[str, ...], FloatArray, Metric]:
    """Return the ratings with a code for each level, the levels in order as words and numbers, and the scale."""
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
    code = pl.col(column).replace_strict(there, pl.Series(range(there.len()), dtype=pl.Int64), return_dtype=pl.Int64)
    values = there.to_numpy().astype(np.float64) if is_number else np.arange(there.len(), dtype=np.float64)
    words = tuple(f"{value:g}" for value in values) if is_number else tuple(map(str, there.to_list()))
    metric: Metric = "nominal" if scale == "auto" else scale
    if scale == "auto" and is_number and there.len() > 2:
        few_steps = bool((values == np.round(values)).all()) and there.len() <= MOST_ORDERED
        metric = "ordinal" if few_steps or set(values.tolist()) <= set(_SIDES) else "interval"
    if metric != "nominal" and not is_number:
        raise InputError(f"labels have no {metric} order; give them as numbers")
    return frame.with_columns(code.alias("level")), words, values, metric


def _cluster_codes(frame: pl.DataFrame, clusters: tuple[str, ...]) -> IntArray | None:
    if not clusters:
        return None
    name, *others = clusters
    if others:
        raise InputError("judges takes one cluster; name the coarsest")
    if name not in frame.columns:
        known = [each for each in frame.columns if each not in ("unit", "level")]
        raise InputError(unknown_name(name, known, what="column"))
    units = frame.unique("unit", keep="first").sort("unit")
    return dense_codes(units.with_columns(pl.col(name).cast(pl.String).fill_null("")), name)


# --- from what was read ---


def ratings_data(data: EvalData | object, humans: Sequence[str] | str = "human") -> EvalData:
    """Return `data`, or a table of ratings or of other rows with the glossary's columns, as `EvalData`."""
    if isinstance(data, EvalData):
        data.need_rows("a report on judges")
        return data
    frame = as_polars(data)
    if "rater" in frame.columns and {"value", "label"} & set(frame.columns) and "model_a" not in frame.columns:
        if "rater_kind" not in frame.columns:
            raise InputError("this table does not say who is a person: from_ratings(table, humans=...) does")
        texts = [name for name in ("item", "model", "run", "rater", "label") if name in frame.columns]
        numbers = [name for name in ("value", "label_prob") if name in frame.columns]
        frame = frame.with_columns(
            *(pl.col(name).cast(pl.String) for name in texts), *(pl.col(name).cast(pl.Float64) for name in numbers)
        )
        return EvalData(ratings=check_table(frame, "ratings", source="frame"))
    if {"model_a", "model_b", "outcome"} <= set(frame.columns):
        return EvalData(comparisons=check_table(frame, "comparisons", source="frame"))
    return as_data(data, asked_names("judges", {"humans": humans}))


def _runs(data: EvalData) -> tuple[str, ...]:
    tables = (data.ratings, data.comparisons, data.outcomes)
    return tuple(levels_of(next(table for table in tables if table.height)["run"]))


def verdicts_of_judges(data: EvalData) -> Verdicts | None:
    """Return verdicts on pairs where judges alone gave them, with their runs and notes; None of other data."""
    if data.ratings.height or not data.comparisons.height or data.comparisons["judge"].null_count():
        return None
    _, games, notes = _of_votes(data.comparisons)
    return None if games is None else (games, _runs(data), notes)


def _read(data: EvalData, criterion: str | None) -> Read:
    """Find the ratings in what was read; `CannotAnswerError` says what would be some."""
    outcomes = data.outcomes
    if data.ratings.height:
        ordered = "order" in data.ratings.columns and set(levels_of(data.ratings["order"])) <= {"a_first", "b_first"}
        return _of_orders(data.ratings) if ordered else (data.ratings, None, ())
    if data.comparisons.height:
        return _of_votes(data.comparisons)
    if outcomes.height and "verdict" in outcomes.columns:
        return _of_verdicts(outcomes)
    if outcomes.height and outcomes["judge"].null_count() < outcomes.height:
        return _of_scores(outcomes, data, criterion)
    if outcomes.height:
        raise CannotAnswerError(
            "these scores name no judge, so there is nothing to compare; give a column judge, or a table of ratings "
            "(rater, value)"
        )
    raise CannotAnswerError("these data hold no ratings; evalstats.from_ratings makes them of a table")


def _left_out(lost: int, what: str) -> tuple[Note, ...]:
    return (Note(kind="missing", text=f"{plural(lost, what)} dropped", caution=False),) if lost else ()


def _blank(*names: str) -> list[pl.Expr]:
    """Return columns of ratings that are not known here."""
    numbers = {"label_prob"}
    return [pl.lit(None, pl.Float64 if name in numbers else pl.String).alias(name) for name in names]


def _item(rows: pl.DataFrame) -> pl.Expr:
    """Return the item, with its task where there are several."""
    return pl.concat_str("task", "item", separator="/") if rows["task"].n_unique() > 1 else pl.col("item")


def _of_scores(outcomes: pl.DataFrame, data: EvalData, criterion: str | None) -> Read:
    """Take scores by judges for ratings: several judges of the same answers, some of whom may be people."""
    # What a harness makes of its judges' scores (passed or not) names no judge: it is no rating.
    outcomes = outcomes.filter(pl.col("judge").is_not_null())
    metrics = levels_of(outcomes["metric"])
    declared = data.metrics.filter(pl.col("primary") & pl.col("metric").is_in(metrics))["metric"].unique().to_list()
    if criterion is None and len(metrics) > 1 and len(declared) == 1:
        outcomes = outcomes.filter(metric=declared[0])
    scored = outcomes.filter(pl.col("status") == "scored")
    kind = pl.when(pl.col("judge").str.to_lowercase().str.contains(_PERSON)).then(pl.lit("human"))
    if "judge_kind" in scored.columns:
        said = pl.col("judge_kind").cast(pl.String)
        kind = pl.when(said.is_in(("human", "judge"))).then(said).when(pl.lit(value=False)).then(pl.lit("human"))
    trial = (
        pl.when(pl.col("trial").fill_null(0) > 0).then(pl.format(" trial {}", pl.col("trial"))).otherwise(pl.lit(""))
    )
    frame = scored.with_columns(
        _item(scored).alias("item"),
        (pl.col("variant") + trial).alias("variant"),
        pl.col("run").alias("source_run"),
        *_blank("run"),
        pl.col("system").alias("model"),
        pl.col("judge").alias("rater"),
        kind.otherwise(pl.lit("judge")).alias("rater_kind"),
        pl.col("metric").alias("criterion"),
        pl.col("score").alias("value"),
        *_blank("label", *(() if "label_prob" in scored.columns else ("label_prob",))),
    )
    one = ["item", "variant", "model", "rater", "criterion"]
    once = frame.sort("source_run").unique(one, keep="first", maintain_order=True)
    notes = _left_out(outcomes.height - scored.height, "row without a score")
    if once.height < frame.height:
        again = plural(frame.height - once.height, "further rating")
        text = f"{again} of an answer by the same judge in another run dropped: one judge is not two raters"
        notes = (*notes, Note(kind="left_out", text=text, caution=False))
    return once, None, notes


def _of_votes(comparisons: pl.DataFrame) -> Read:
    """Take votes for ratings of pairs: the judge's where a judge gave them, else a person's.

    Pairs are told whichever side was shown first: where one model is in all pairs, the other one is the pair's first; else it
    is the first by name. One rating for each rater and pair; where its verdicts differ it is a tie.
    """
    known = comparisons.filter(pl.col("outcome").is_not_null())
    if known["item"].null_count():
        raise CannotAnswerError(
            "votes name no item (the question), so a judge's and people's on the same pair cannot be found; give a column item"
        )
    pairs = known.select("model_a", "model_b").unique()
    shared = [
        name
        for name in (sorted(pairs.row(0)) if pairs.height else ())
        if ((pairs["model_a"] == name) | (pairs["model_b"] == name)).all()
    ]
    swap = pl.col("model_a") == shared[-1] if shared else pl.col("model_b") < pl.col("model_a")
    for_a = pl.when(pl.col("outcome") == "a").then(_FIRST).when(pl.col("outcome") == "b").then(_SECOND).otherwise(_TIE)
    turn = pl.format(" turn {}", pl.col("turn")) if known["turn"].n_unique() > 1 else pl.lit("")
    a_first, doublings = pl.col("order") == "a_first", _doublings(known.columns)
    games = known.with_columns(
        pl.coalesce("judge", "rater", pl.lit(_VOTERS)).alias("who"),
        pl.when(pl.col("judge").is_not_null()).then(pl.lit("judge")).otherwise(pl.lit("human")).alias("rater_kind"),
        pl.when(swap).then("model_b").otherwise("model_a").alias("first"),
        pl.when(swap).then("model_a").otherwise("model_b").alias("second"),
        pl.when(swap).then(1.0 - for_a).otherwise(for_a).alias("value"),
        pl.when(swap).then(~a_first).otherwise(a_first).alias("shown_first"),
        pl.when(swap).then(-doublings).otherwise(doublings).alias("doublings"),
        (pl.col("item") + turn).alias("question"),
        pl.col("item").alias("prompt"),
    )
    one = games.group_by("question", "first", "second", "who", "rater_kind", maintain_order=True).agg(
        _agreed().alias("value"), *(pl.col(name).first() for name in ("item", "scenario"))
    )
    frame = one.select(
        pl.col("question").alias("item"),
        pl.concat_str("first", "second", separator=_BETWEEN).alias("variant"),
        *_blank("run"),
        (pl.col("first") if shared else pl.lit(None, pl.String)).alias("model"),
        pl.col("who").alias("rater"),
        "rater_kind",
        pl.lit("").alias("criterion"),
        "value",
        *_blank("label", "label_prob"),
        "first",
        "second",
        pl.col("item").alias("prompt"),
        "scenario",
    )
    return frame, games, _left_out(comparisons.height - known.height, "vote without a verdict")


def _agreed() -> pl.Expr:
    """Return the verdict that all of a rater's verdicts on a pair give, else a tie."""
    value = pl.col("value")
    return pl.when(value.min() == value.max()).then(value.min()).otherwise(_TIE)


def _doublings(columns: Sequence[str]) -> pl.Expr:
    """Return the logarithm to base 2 of a's length over b's; null where it is not known."""
    name = length_column(columns, "_a")
    if name is None or f"{name}_b" not in columns:
        return pl.lit(None, pl.Float64)
    a, b = (pl.col(f"{name}_{side}").cast(pl.Float64, strict=False) for side in "ab")
    return pl.when((a > 0) & (b > 0)).then((a / b).log(2.0))


def _of_verdicts(outcomes: pl.DataFrame) -> Read:
    """Take the verdicts of a benchmark of judges for ratings of pairs, beside its key."""
    each = outcomes.filter((pl.col("metric") == "correct") & pl.col("variant").is_in(("A first", "B first")))
    known = each.filter(pl.col("verdict").is_not_null() & (pl.col("status") == "scored"))
    if not known.height:
        raise CannotAnswerError("no verdict of a judge could be read")

    def said(rater: pl.Expr, kind: str, value: pl.Expr) -> pl.DataFrame:
        return known.select(
            _item(known).alias("item"),
            "variant",
            rater.alias("rater"),
            pl.lit(kind).alias("rater_kind"),
            value.alias("value"),
            *_blank("run", "model"),
            pl.lit("").alias("criterion"),
            *_blank("label", "label_prob"),
            pl.col("item").alias("prompt"),
            "scenario",
        )

    verdict = pl.col("verdict").replace_strict(_VERDICTS, default=None, return_dtype=pl.Float64)
    truth = pl.col("label").cast(pl.String).replace_strict(_KEYS, default=None, return_dtype=pl.Float64)
    judged = said(pl.col("system"), "judge", verdict)
    key = said(pl.lit(KEY), "human", truth).unique(subset=["item", "variant"], keep="first", maintain_order=True)
    games = judged.select(
        pl.col("item").alias("question"),
        pl.lit("A").alias("first"),
        pl.lit("B").alias("second"),
        "value",
        (pl.col("variant") == "A first").alias("shown_first"),
        pl.lit(None, pl.Float64).alias("doublings"),
        pl.col("rater").alias("who"),
        "rater_kind",
        "prompt",
    )
    notes = _left_out(each.height - known.height, "order without a verdict")
    return pl.concat([judged, key], how="vertical"), games, notes


def _of_orders(frame: pl.DataFrame) -> Read:
    """Take ratings with the order of two answers: each is a preference for a, from 0 to 1, or one of a, b and tie."""
    if frame["value"].null_count() == frame.height:
        words = {"a": _FIRST, "tie": _TIE, "b": _SECOND}
        unlike = sorted(set(levels_of(frame["label"])) - set(words))
        if unlike:
            raise InputError(unknown_name(unlike[0], list(words), what="verdict on a pair (column label)"))
        value = pl.col("label").replace_strict(words, default=None, return_dtype=pl.Float64)
        frame = frame.with_columns(value.alias("value"), *_blank("label"))
    if not frame["value"].drop_nulls().is_between(0, 1).all():
        raise InputError("ratings with an order are preferences for a, from 0 to 1, or one of a, tie and b")
    games = frame.select(
        pl.concat_str("item", "variant", separator=_BETWEEN).alias("question"),
        pl.coalesce(pl.col("model"), pl.lit("a")).alias("first"),
        pl.lit(OTHER).alias("second"),
        "value",
        (pl.col("order") == "a_first").alias("shown_first"),
        _doublings(frame.columns).alias("doublings"),
        pl.col("rater").alias("who"),
        "rater_kind",
        pl.col("item").alias("prompt"),
    ).filter(pl.col("value").is_not_null())
    one = ["item", "variant", "run", "model", "rater", "rater_kind", "criterion", "label_prob"]
    merged = frame.group_by(one, maintain_order=True).agg(_agreed().alias("value"), *_blank("label"))
    return merged, games, ()
