"""Outcomes of a large store, merged as they are read: equal rows become one, with their number and the trials that they were.

Nothing of a row that an answer could use is lost: which trials a merged row stands for, where the first of its rows stood, and
what its trials cost together. Where that cannot be told, `CannotMergeError` says why, and the rows are read one by one.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import polars as pl
from polars.selectors import by_name

from evalstats.errors import CannotAnswerError
from evalstats.schema.columns import ANSWER_KEYS, CHOSEN, TRIAL_LABEL
from evalstats.table.items import (
    COUNT_OF,
    EARLIEST,
    FIRST,
    FIRST_LOCATOR,
    FIRST_TRIAL,
    HELPER,
    ITEM_KEY,
    LATEST,
    SUM_OF,
    TRIAL_LABELS,
    TRIALS,
)

# From so many rows on, a command asks whether merging pays.
FROM_ROWS = 1_000_000
# Sources are merged together up to so many rows: a group takes some hundred bytes while it is counted, and fewer after.
MERGED_AT_A_TIME = 4_000_000
# It pays where at least so many rows become one, and no more than so many are left to hold.
_PAYS, _MOST_MERGED = 2.0, 20_000_000
_MOST_TRIALS, _BITS = 1024, 32
COSTS = ("n_turns", "cost_usd", "latency_s", "input_tokens", "output_tokens")
# What differs from trial to trial, and is told otherwise or of the first row alone.
_OF_TRIALS = frozenset({"trial", "n_trials", "locator", "link", "timestamp", "tags", "value_raw", TRIAL_LABEL, *COSTS})
_IDENTITY = ("run", "model", "system", "benchmark", "task", "item", "variant", "metric", "judge")
# These tell how rows were made or why they have no score; rows that differ in them stay apart.
_TELLING = frozenset({"weight", "setting", "status_reason", "prompt_hash"})
_SAMPLE = 200_000
_FEWEST_ITEMS = 20
# A column that differs within so many of the items that were looked at describes none of them (`candidate_groups`).
_DIFFERS, _FEWEST_DIFFERING = 0.2, 100
# So few texts may be the options of a multiple-choice test.
_OPTIONS = 26
# An audit looks at no more raw values than 100,000; the estimate of their number is good to some percent.
_MOST_TEXTS = 130_000

Collected = Callable[[pl.LazyFrame], pl.DataFrame]


class Merged(NamedTuple):
    """Merged rows, and the columns that were left out, which are null."""

    outcomes: pl.DataFrame
    left_out: tuple[str, ...]


class CannotMergeError(CannotAnswerError):
    """Merged rows would not tell all that single rows do, or be as many."""


def merged_outcomes(
    rows: pl.LazyFrame,
    stretches: Sequence[tuple[pl.LazyFrame, int]],
    fixed: Mapping[str, str | None],
    collect: Collected,
    *,
    named: Collection[str],
    without: Collection[str],
    whole: bool,
    shared: bool,
    always: bool,
) -> Merged:
    """Count the rows that agree in all that answers use, in the order of the first of each.

    Parameters
    ----------
    rows, stretches
        Outcomes, with the columns of the glossary; and the same in stretches that share no run, each with its number of rows, of
        which one is merged after the other.
    fixed
        Columns with one value on every row, which need not be read.
    collect
        Collects a lazy frame, streamed.
    named, without
        Columns that stay whatever they hold, and those that nobody uses, which become null.
    whole
        Whether raw values and options count (an audit), and not scores alone.
    shared
        Whether trials that one side lacks are left out of the other.
    always
        Merge even where hardly any rows agree.

    Raises
    ------
    CannotMergeError
        If trials are not told apart, or most rows differ.
    """
    dtypes, n_rows = rows.collect_schema(), sum(n for _, n in stretches)
    left = {name for name in dtypes if name in without and name not in named}
    if told := sorted(set(named) & _OF_TRIALS):
        raise CannotMergeError(f"{told[0]} differs from trial to trial, and merged rows keep no such column")
    trials = _trials(rows, dtypes, fixed, collect)
    if n_rows and trials.names == ("0",) and not always:
        raise CannotMergeError("every item has one trial")
    if (shared or trials.labels) and any(name not in {*fixed, *left} for name in COSTS):
        raise CannotMergeError("trials may be left out, and what each of them cost would not be known")
    if whole and "value_raw" not in {*fixed, *left} and not _too_many_texts(rows, collect):
        left.discard("value_raw")
    else:
        left.add("value_raw")
    unread = {*fixed, *left, *(_OF_TRIALS - {"value_raw"})}
    open_names = [name for name in dtypes if name not in unread]
    base = [name for name in open_names if name in {*_IDENTITY, "score", "status"}]
    sample = _sample(rows, open_names, n_rows, collect)
    kept = _kept(sample, base, [name for name in open_names if name not in base], named, whole=whole)
    share = sample.select(map(by_name, kept)).n_unique() / max(sample.height, 1)
    if share * _PAYS > 1.0 and not always:
        raise CannotMergeError(f"{share:.0%} of the rows differ in {', '.join(kept)}")
    if share * n_rows > _MOST_MERGED:
        raise CannotMergeError(f"some {share * n_rows:,.0f} rows would be left, more than {_MOST_MERGED:,}")
    # A comparison names the place of the first trial, an audit that of the first row.
    places = [name for name, wanted in (("trial", not whole or always), (FIRST, whole)) if wanted]
    parts: list[pl.DataFrame] = []
    before = 0
    for stretch, n in stretches:
        counted = collect(_counted(stretch, dtypes, kept, trials, left | set(fixed), places=places))
        parts.append(_with_sets(counted.sort(FIRST).with_columns(pl.col(FIRST).cast(pl.Int64) + before), trials))
        before += n
    found = pl.concat(parts)  # in pieces as it is: put together, all of it would stand in memory twice
    _refuse_several_runs(found, collect)
    held = {name for name in open_names if sample[name].null_count() < sample.height}
    return Merged(_completed(found, dtypes, fixed), tuple(sorted((held | left) - {*kept, *_OF_TRIALS})))


class _Trials:
    """What tells trials apart: numbers from 0, or labels."""

    __slots__ = ("labels", "n")

    def __init__(self, n: int, labels: tuple[str, ...] = ()) -> None:
        self.n, self.labels = n, labels

    @property
    def names(self) -> tuple[str, ...]:
        return self.labels or tuple(map(str, range(self.n)))

    @property
    def words(self) -> list[str]:
        return [f"{HELPER}word{k}" for k in range(-(-self.n // _BITS))]

    def bits(self) -> list[pl.Expr]:
        """Return a column for each word: the bit of the row's trial, and 0 where that is in another word."""
        place = pl.col("trial")
        if self.labels:
            place = pl.col(TRIAL_LABEL).replace_strict(self.labels, range(self.n), default=None, return_dtype=pl.Int64)
        bit = (pl.lit(2.0) ** (place % _BITS)).cast(pl.Int64)
        return [pl.when(place // _BITS == k).then(bit).otherwise(0).alias(word) for k, word in enumerate(self.words)]


def _trials(rows: pl.LazyFrame, dtypes: pl.Schema, fixed: Mapping[str, str | None], collect: Collected) -> _Trials:
    """Return how trials are told apart; `CannotMergeError` where they are not."""
    labelled = TRIAL_LABEL in dtypes
    asked = [
        pl.len(),
        pl.col("trial").null_count().alias("unknown"),
        pl.col("trial").max().alias("last"),
        pl.col("n_trials").max().alias("averaged"),
        *([pl.col(TRIAL_LABEL).null_count().alias("unlabelled")] if labelled else []),
    ]
    if "judge" not in fixed:
        asked += [
            pl.col("judge").null_count().alias("unjudged"),
            (pl.col("judge").min() != pl.col("judge").max()).alias("judges"),
        ]
    facts = collect(rows.select(asked)).row(0, named=True)
    if facts["unknown"] or (facts["averaged"] or 1) > 1:
        raise CannotMergeError("some rows are averages over trials already")
    if facts.get("judges") or 0 < facts.get("unjudged", 0) < facts["len"]:
        raise CannotMergeError("the scores are those of several judges, which are averaged within a trial")
    if labelled and facts["unlabelled"] < facts["len"]:
        if facts["unlabelled"]:
            raise CannotMergeError("some trials have names and others have not")
        labels = collect(rows.select(TRIAL_LABEL).unique())[TRIAL_LABEL].cast(pl.String).sort().to_list()
        return _Trials(_few(len(labels)), tuple(labels))
    return _Trials(_few(int(facts["last"] or 0) + 1))


def _few(n_trials: int) -> int:
    if n_trials > _MOST_TRIALS:
        raise CannotMergeError(f"there are {n_trials:,} trials, of which {_MOST_TRIALS:,} can be told apart")
    return n_trials


def _too_many_texts(rows: pl.LazyFrame, collect: Collected) -> bool:
    """Whether every metric has more different raw values than anybody looks at."""
    texts = rows.group_by("benchmark", "metric").agg(pl.col("value_raw").approx_n_unique().alias("n"))
    return bool((collect(texts)["n"] > _MOST_TEXTS).all())


def _sample(rows: pl.LazyFrame, names: Sequence[str], n_rows: int, collect: Collected) -> pl.DataFrame:
    """Return all rows of some items, by a digest of their names: enough to see what differs within an item."""
    n_items = int(collect(rows.select(pl.col("item").approx_n_unique())).item())
    every = max(1, min(n_rows // _SAMPLE, n_items // _FEWEST_ITEMS))
    some = rows.select(map(by_name, names)).filter(pl.col("item").cast(pl.String).hash() % every == 0)
    return collect(some)


def _kept(
    sample: pl.DataFrame, base: Sequence[str], others: Sequence[str], named: Collection[str], *, whole: bool
) -> list[str]:
    """Return the columns in which merged rows agree: those that keep hardly any rows apart, and those that are needed."""
    n = sample.select(map(by_name, base)).n_unique()
    kept = list(base)
    for name in others:
        column = sample[name]
        if isinstance(column.dtype, pl.List):
            continue
        alike = sample.select(map(by_name, (*base, name))).n_unique() == n
        needed = name in named or name in _TELLING or name == "value_raw" or (whole and _is_option(sample, column))
        if alike or needed or not (column.dtype.is_float() or _differs_often(sample, column)):
            kept.append(name)
    return kept


def _differs_often(sample: pl.DataFrame, column: pl.Series) -> bool:
    item = [name for name in ("benchmark", "metric", *ITEM_KEY) if name in sample.columns]
    held = sample.select(item).with_columns(column.alias(f"{HELPER}level"))
    levels = held.group_by(item).agg(pl.col(f"{HELPER}level").drop_nulls().n_unique().alias("n"))
    several = levels["n"] > 1
    return levels.height >= _FEWEST_DIFFERING and float(several.mean() or 0.0) > _DIFFERS  # pyright: ignore[reportArgumentType] - a share


def _is_option(sample: pl.DataFrame, column: pl.Series) -> bool:
    """Whether a column of answers that are right or wrong, or of their keys, may hold options."""
    if column.name not in {*CHOSEN, *ANSWER_KEYS}:
        return False
    answered = column.filter(sample["score"].is_in([0.0, 1.0]))
    return answered.cast(pl.String).str.strip_chars(" ().").n_unique() <= _OPTIONS + 1


def _counted(
    rows: pl.LazyFrame,
    dtypes: pl.Schema,
    kept: Sequence[str],
    trials: _Trials,
    unread: Collection[str],
    *,
    places: Sequence[str],
) -> pl.LazyFrame:
    """Return the query that merges."""
    coded = [name for name in kept if dtypes[name] == pl.String]
    frame = rows.with_row_index(FIRST).with_columns(
        *trials.bits(),
        *(by_name(name).cast(pl.Categorical) for name in coded),
        (pl.col("score") + 0.0).alias("score"),  # -0 becomes 0
    )
    wanted = [pl.len().cast(pl.Int64).alias("n_trials"), pl.col("trial").min().alias(FIRST_TRIAL), pl.col(FIRST).min()]
    wanted += [pl.col(word).sum() for word in trials.words]
    if "locator" not in unread:
        called = {"trial": "locator", FIRST: FIRST_LOCATOR}
        wanted += [pl.col("locator").min_by(by).alias(called[by]) for by in places]
    if "timestamp" not in unread:
        time = pl.col("timestamp")
        whole = time.null_count() == 0
        wanted += [
            pl.when(whole).then(time.min_by(FIRST)).alias("timestamp"),
            time.min().alias(EARLIEST),
            time.max().alias(LATEST),
        ]
    for name in COSTS:
        if name not in unread:
            amount = pl.col(name).cast(pl.Float64)
            wanted += [amount.sum().alias(SUM_OF + name), amount.count().cast(pl.Int64).alias(COUNT_OF + name)]
    return frame.group_by(map(by_name, kept)).agg(wanted)


def _with_sets(found: pl.DataFrame, trials: _Trials) -> pl.DataFrame:
    """Put beside the rows which trials they stand for, and the trial itself where an item has one alone.

    `CannotMergeError` where a trial stands twice.
    """
    same = [name for name in _IDENTITY if name in found.columns]
    every = found.group_by(same).agg(pl.col("n_trials", *trials.words).sum()) if same else found
    bits = pl.sum_horizontal(pl.col(trials.words).bitwise_count_ones())
    if not every.select((bits == pl.col("n_trials")).all()).item():
        raise CannotMergeError("a trial stands twice in a run")
    several = (pl.col("n_trials").sum().over(same) if same else pl.col("n_trials").sum()) > 1
    found = found.with_columns(pl.when(several).then(None).otherwise(FIRST_TRIAL).alias("trial"))
    words = [found[word].to_numpy() for word in trials.words]
    stands = {name: (words[k // _BITS] >> (k % _BITS)) & 1 == 1 for k, name in enumerate(trials.names)}
    called = TRIAL_LABELS if trials.labels else TRIALS
    return found.drop(trials.words).with_columns(pl.DataFrame(stands).to_struct().alias(called))


def _refuse_several_runs(found: pl.DataFrame, collect: Collected) -> None:
    """Refuse items that several runs of one system answered: each of these runs is a trial, and they are read apart."""
    if "run" not in found.columns:
        return
    item = [name for name in ("benchmark", "metric", *ITEM_KEY) if name in found.columns]
    for side in ("model", "system"):
        own = [side] if side in found.columns else []
        pairs = collect(found.lazy().select(*own, "run").unique())
        if own and pairs.height == pairs[side].n_unique():
            continue
        runs = found.group_by(*own, *item).agg(pl.col("run").n_unique())
        if int(runs["run"].max() or 0) > 1:  # pyright: ignore[reportArgumentType] - a count
            raise CannotMergeError("several runs of one system answered the same items")


def _completed(found: pl.DataFrame, dtypes: pl.Schema, fixed: Mapping[str, str | None]) -> pl.DataFrame:
    """Return the rows with all columns, those that were not read as they are known to be, or null."""
    lacking = [
        pl.lit(fixed.get(name), dtype=dtype).cast(pl.Categorical if dtype == pl.String else dtype).alias(name)
        for name, dtype in dtypes.items()
        if name not in found.columns
    ]
    beside = [name for name in found.columns if name not in dtypes]
    rows = found.with_columns(lacking).select(map(by_name, (*dtypes, *beside)))
    return rows.with_columns(
        by_name(name).cast(dtypes[name]) for name in ("value_raw", "status_reason", "locator", "link")
    )
