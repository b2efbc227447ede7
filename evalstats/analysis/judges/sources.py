"""Ratings out of whatever was read: ratings, votes on pairs, scores by judges, or a judge's verdicts beside a key."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import plural
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.names import unknown_name
from evalstats.schema.tables import as_polars, check_table, levels_of

KEY = "key"
PEOPLE = "voters"
OTHER = "the other answer"
# Columns that say how long an answer is, the first that is there; of pairs with _a and _b behind.
LENGTHS = (
    "length", "n_tokens", "tokens", "output_tokens", "completion_tokens", "assistant_tokens", "output_chars", "n_chars",
    "chars", "n_words", "words", "len",
)  # fmt: skip
# Between the two models of a pair, in the place of its variant.
_BETWEEN = "\x1f"
# Who a score's judge is when its name says a person; a column judge_kind says it of any.
_PERSON = r"^(human|people|person|annotator|expert|crowd)s?\b|^(human|annotator|expert)[-_ ]"
_FIRST, _TIE, _SECOND = 1.0, 0.5, 0.0
# Verdicts of benchmarks of judges, in the frame of the pair.
_VERDICTS = {"A>B": _FIRST, "A=B": _TIE, "B>A": _SECOND}
_KEYS = {**_VERDICTS, "1": _FIRST, "2": _SECOND}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """Ratings with the columns of that table, and what they are of.

    Attributes
    ----------
    frame
        Of pairs: `value` is 1 where the rater preferred `first`, 0 where `second`, 0.5 for a tie.
    runs
        The runs they come from.
    unit
        "answer" or "pair".
    games
        Verdicts on pairs as they were given, one row each; None of answers. Columns: question, first, second, `value` (for the
        first), `shown_first` (whether the first was shown first), `doublings` (of the first's length over the second's), who,
        rater_kind, prompt.
    """

    frame: pl.DataFrame
    runs: tuple[str, ...]
    unit: str = "answer"
    games: pl.DataFrame | None = None
    keyed: bool = False
    notes: tuple[Note, ...] = ()


def ratings_data(data: EvalData | object) -> EvalData:
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
    return as_data(frame)


def rated(data: EvalData, criterion: str | None) -> Rated:
    """Find the ratings in what was read.

    Raises
    ------
    CannotAnswerError
        If there are none; the message says what would be.
    """
    if data.ratings.height:
        frame = data.ratings
        runs = tuple(levels_of(frame["run"]))
        return Rated(frame=frame, runs=runs) if "order" not in frame.columns else _ordered(frame, runs)
    if data.comparisons.height:
        return _of_votes(data.comparisons)
    outcomes = data.outcomes
    if outcomes.height and "verdict" in outcomes.columns:
        return _of_verdicts(outcomes)
    if outcomes.height and outcomes["judge"].null_count() < outcomes.height:
        return _of_scores(outcomes, data, criterion)
    if outcomes.height:
        raise CannotAnswerError(
            "these scores name no judge, so nobody can be held against anybody; give a column judge, or a table of ratings "
            "(rater, value)"
        )
    raise CannotAnswerError("these data hold no ratings; evalstats.from_ratings makes them of a table")


def votes_of_judges(data: EvalData) -> Rated | None:
    """Return votes on pairs where judges alone gave them; None of other data."""
    if data.ratings.height or not data.comparisons.height or data.comparisons["judge"].null_count():
        return None
    return _of_votes(data.comparisons)


def _left_out(lost: int, what: str) -> tuple[Note, ...]:
    return (Note(kind="missing", text=f"{plural(lost, what)} left out", caution=False),) if lost else ()


def _of_scores(outcomes: pl.DataFrame, data: EvalData, criterion: str | None) -> Rated:
    """Take scores by judges for ratings: several judges of the same answers, some of whom may be people."""
    runs = tuple(levels_of(outcomes["run"]))
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
    several_tasks = scored["task"].n_unique() > 1
    item = pl.concat_str("task", "item", separator="/") if several_tasks else pl.col("item")
    trial = (
        pl.when(pl.col("trial").fill_null(0) > 0).then(pl.format(" trial {}", pl.col("trial"))).otherwise(pl.lit(""))
    )
    frame = scored.with_columns(
        item.alias("item"),
        (pl.col("variant") + trial).alias("variant"),
        pl.col("run").alias("source_run"),
        pl.lit(None, pl.String).alias("run"),
        pl.col("system").alias("model"),
        pl.col("judge").alias("rater"),
        kind.otherwise(pl.lit("judge")).alias("rater_kind"),
        pl.col("metric").alias("criterion"),
        pl.col("score").alias("value"),
        pl.lit(None, pl.String).alias("label"),
        *([] if "label_prob" in scored.columns else [pl.lit(None, pl.Float64).alias("label_prob")]),
    )
    one = ["item", "variant", "model", "rater", "criterion"]
    once = frame.sort("source_run").unique(one, keep="first", maintain_order=True)
    notes = [*_left_out(outcomes.height - scored.height, "row without a score")]
    if once.height < frame.height:
        again = plural(frame.height - once.height, "further rating")
        text = f"{again} of an answer by the same judge in another run left out: two of one judge are no two raters"
        notes.append(Note(kind="left_out", text=text, caution=False))
    return Rated(frame=once, runs=runs, notes=tuple(notes))


def _of_votes(comparisons: pl.DataFrame) -> Rated:
    """Take votes for ratings of pairs: the judge's where a judge gave them, else a person's."""
    runs = tuple(levels_of(comparisons["run"]))
    known = comparisons.filter(pl.col("outcome").is_not_null())
    if known["item"].null_count():
        raise CannotAnswerError(
            "votes name no item (the question), so a judge's and people's on the same pair cannot be found; give a column item"
        )
    preference = (
        pl.when(pl.col("outcome") == "a").then(_FIRST).when(pl.col("outcome") == "b").then(_SECOND).otherwise(_TIE)
    )
    games = known.with_columns(
        preference.alias("for_a"),
        pl.coalesce("judge", "rater", pl.lit(PEOPLE)).alias("who"),
        pl.when(pl.col("judge").is_not_null()).then(pl.lit("judge")).otherwise(pl.lit("human")).alias("rater_kind"),
    )
    sided, common = _sided(games)
    return Rated(
        frame=_as_ratings(sided, common),
        runs=runs,
        unit="pair",
        games=sided,
        notes=_left_out(comparisons.height - known.height, "vote without a verdict"),
    )


def _sided(games: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Return votes in the frame of the pair, whichever side was shown first, and the model that is in all pairs.

    Where one model is in all pairs, the other one is the pair's first; else it is the first by name.
    """
    common = _common_model(games)
    swap = pl.col("model_b") < pl.col("model_a") if common is None else pl.col("model_a") == common
    turn = pl.format(" turn {}", pl.col("turn")) if games["turn"].n_unique() > 1 else pl.lit("")
    a_first = pl.col("order") == "a_first"
    doublings = _doublings(games.columns)
    return games.with_columns(
        pl.when(swap).then("model_b").otherwise("model_a").alias("first"),
        pl.when(swap).then("model_a").otherwise("model_b").alias("second"),
        pl.when(swap).then(1.0 - pl.col("for_a")).otherwise("for_a").alias("value"),
        pl.when(swap).then(~a_first).otherwise(a_first).alias("shown_first"),
        pl.when(swap).then(-doublings).otherwise(doublings).alias("doublings"),
        (pl.col("item") + turn).alias("question"),
        pl.col("item").alias("prompt"),
    ), common


def length_column(columns: Sequence[str], suffix: str = "") -> str | None:
    """Return the column that holds how long an answer is."""
    return next((name for name in LENGTHS if f"{name}{suffix}" in columns), None)


def _doublings(columns: Sequence[str]) -> pl.Expr:
    """Return the logarithm to base 2 of a's length over b's; null where it is not known."""
    name = length_column(columns, "_a")
    if name is None or f"{name}_b" not in columns:
        return pl.lit(None, pl.Float64)
    a, b = (pl.col(f"{name}_{side}").cast(pl.Float64, strict=False) for side in "ab")
    return pl.when((a > 0) & (b > 0)).then((a / b).log(2.0))


def _as_ratings(sided: pl.DataFrame, common: str | None) -> pl.DataFrame:
    """Return one rating for each rater and pair; where its games differ it is a tie."""
    one = sided.group_by("question", "first", "second", "who", "rater_kind", maintain_order=True).agg(
        pl.col("value").min().alias("low"),
        pl.col("value").max().alias("high"),
        *(pl.col(name).first() for name in ("item", "scenario")),
    )
    return one.select(
        pl.col("question").alias("item"),
        pl.concat_str("first", "second", separator=_BETWEEN).alias("variant"),
        pl.lit(None, pl.String).alias("run"),
        (pl.lit(None, pl.String) if common is None else pl.col("first")).alias("model"),
        pl.col("who").alias("rater"),
        "rater_kind",
        pl.lit("").alias("criterion"),
        pl.when(pl.col("low") == pl.col("high")).then("low").otherwise(_TIE).alias("value"),
        pl.lit(None, pl.String).alias("label"),
        pl.lit(None, pl.Float64).alias("label_prob"),
        "first",
        "second",
        pl.col("item").alias("prompt"),
        "scenario",
    )


def _common_model(games: pl.DataFrame) -> str | None:
    """Return the model that is in every pair; None where there is none, or no pair."""
    pairs = games.select("model_a", "model_b").unique()
    if not pairs.height:
        return None
    shared = [name for name in sorted(pairs.row(0)) if ((pairs["model_a"] == name) | (pairs["model_b"] == name)).all()]
    return shared[-1] if shared else None


def _of_verdicts(outcomes: pl.DataFrame) -> Rated:
    """Take the verdicts of a benchmark of judges for ratings of pairs, beside its key."""
    runs = tuple(levels_of(outcomes["run"]))
    each = outcomes.filter((pl.col("metric") == "correct") & pl.col("variant").is_in(("A first", "B first")))
    known = each.filter(pl.col("verdict").is_not_null() & (pl.col("status") == "scored"))
    if not known.height:
        raise CannotAnswerError("no verdict of a judge could be read")
    item = pl.concat_str("task", "item", separator="/") if known["task"].n_unique() > 1 else pl.col("item")
    columns = (
        pl.lit(None, pl.String).alias("run"),
        pl.lit(None, pl.String).alias("model"),
        pl.lit("").alias("criterion"),
        pl.lit(None, pl.String).alias("label"),
        pl.lit(None, pl.Float64).alias("label_prob"),
    )
    said = known.select(
        item.alias("item"),
        "variant",
        pl.col("system").alias("rater"),
        pl.lit("judge").alias("rater_kind"),
        pl.col("verdict").replace_strict(_VERDICTS, default=None, return_dtype=pl.Float64).alias("value"),
        *columns,
        pl.col("item").alias("prompt"),
        "scenario",
    )
    key = known.select(
        item.alias("item"),
        "variant",
        pl.lit(KEY).alias("rater"),
        pl.lit("human").alias("rater_kind"),
        pl.col("label").cast(pl.String).replace_strict(_KEYS, default=None, return_dtype=pl.Float64).alias("value"),
        *columns,
        pl.col("item").alias("prompt"),
        "scenario",
    ).unique(subset=["item", "variant"], keep="first", maintain_order=True)
    games = said.select(
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
    return Rated(
        frame=pl.concat([said, key], how="vertical"),
        runs=runs,
        unit="pair",
        games=games,
        keyed=True,
        notes=_left_out(each.height - known.height, "order without a verdict"),
    )


def _ordered(frame: pl.DataFrame, runs: tuple[str, ...]) -> Rated:
    """Take ratings with the order of two answers: each is a preference for a, from 0 to 1, or one of a, b and tie."""
    if not set(levels_of(frame["order"])) <= {"a_first", "b_first"}:
        return Rated(frame=frame, runs=runs)
    if frame["value"].null_count() == frame.height:
        words = {"a": _FIRST, "tie": _TIE, "b": _SECOND}
        unlike = sorted(set(levels_of(frame["label"])) - set(words))
        if unlike:
            raise InputError(unknown_name(unlike[0], list(words), what="verdict on a pair (column label)"))
        frame = frame.with_columns(
            pl.col("label").replace_strict(words, default=None, return_dtype=pl.Float64).alias("value"),
            pl.lit(None, pl.String).alias("label"),
        )
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
    same = pl.when(pl.col("value").min() == pl.col("value").max()).then(pl.col("value").min()).otherwise(_TIE)
    merged = frame.group_by(one, maintain_order=True).agg(same.alias("value"), pl.lit(None, pl.String).alias("label"))
    return Rated(frame=merged, runs=runs, unit="pair", games=games)
