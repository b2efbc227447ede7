"""The rows of one metric, where each stands in the table of items by models, and what can be done with them instead."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.audit.result import Kind
from evalstats.analysis.design.clusters import named_clusters
from evalstats.analysis.design.different_users import (
    assigned_units,
    may_be_unpaired,
    persons_as_items,
    split_mismatch,
    unpaired_arms,
)
from evalstats.analysis.design.entries import ENTRY, with_entries
from evalstats.analysis.design.metric import Metric, choose_metric, direction_of
from evalstats.document.model import Note
from evalstats.errors import Advice, CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.names import unknown_name
from evalstats.schema.tables import levels_of, parts_of
from evalstats.table.items import (
    HELPER,
    ITEM_KEY,
    Bools,
    Floats,
    Ints,
    item_codes,
    item_factors,
    level_codes,
    row_counts,
)
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System, rows_among

ITEM = f"{HELPER}item"
Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """Another defensible handling of the same rows. What is None stays as it is.

    Attributes
    ----------
    words
        What is done, as the end of a sentence: "counted as 0", "without them".
    keep
        Rows that stay, shape (n_rows,).
    score
        Score of every row, NaN for none, shape (n_rows,).
    absent
        Score of an item of which a model has no row at all.
    clusters
        Code of every item's cluster, shape (n_items,): intervals change, scores do not.
    strata
        Code of every item's level, shape (n_items,): levels weigh equally in the mean of a model.
    apart
        Code of every model, shape (n_models,): models with other codes are not compared.
    """

    words: str
    keep: Bools | None = None
    score: Floats | None = None
    absent: float | None = None
    clusters: Ints | None = None
    strata: Ints | None = None
    apart: Ints | None = None


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What a check saw. `text` and `remedy` are clauses without a full stop; see `Finding` for the rest."""

    kind: Kind
    text: str
    remedy: Advice
    n_rows: int | None = None
    n_items: int | None = None
    models: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    treatments: tuple[Treatment, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NotChecked:
    """That these data do not allow a check, and why: a clause."""

    kind: Kind
    reason: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Rows of one metric of one benchmark, in the order of the files.

    Attributes
    ----------
    rows
        Outcomes of the metric, shape (n_rows, ...): all glossary columns and factors.
    models, items
        Names of the columns, and the key of every line (task, item, variant), of the table of scores.
    item, model
        Line and column of every row, shape (n_rows,).
    score, trials
        Score of every row (NaN where it has none) and trials that stand behind it, shape (n_rows,).
    counts
        How many rows of the files every row stands for, shape (n_rows,): one, unless a large store merged them.
    clusters, codes
        Columns by which items are known to be dependent, and the cluster of every item, shape (n_items,); None without any.
    accept
        Settings in which runs differ on purpose.
    different, split
        What the models do not share ("users"), where each has its own, so that none is paired; and that chance does not explain
        how many each has.
    refusal
        Why a comparison of this metric would be refused, if it would.
    """

    data: EvalData
    metric: Metric
    rows: pl.DataFrame
    models: tuple[str, ...]
    items: pl.DataFrame
    item: Ints
    model: Ints
    score: Floats
    trials: Floats
    counts: Ints
    clusters: tuple[str, ...] = ()
    codes: Ints | None = None
    accept: tuple[str, ...] = ()
    different: str = ""
    split: Note | None = None
    refusal: str | None = None
    conf_level: float = 0.95

    @property
    def shape(self) -> tuple[int, int]:
        """Number of items and of models."""
        return self.items.height, len(self.models)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows in the files."""
        return int(self.counts.sum())

    def number(self, rows: Bools) -> int:
        """Return how many rows of the files some rows stand for."""
        return int(self.counts[rows].sum())

    def each(self, rows: Bools) -> Ints:
        """Return the places of some rows, each as often as it stands for rows of the files."""
        return np.repeat(np.flatnonzero(rows), self.counts[rows])

    def has_status(self, status: str) -> Bools:
        """Return the rows of a status: scored, error or unscored."""
        found: Bools = (self.rows["status"] == status).to_numpy()
        return found

    @cached_property
    def scored(self) -> Bools:
        """Rows that have a score."""
        return ~np.isnan(self.score)

    @cached_property
    def present(self) -> Bools:
        """Cells of the table that have any row, shape (n_items, n_models)."""
        return self.count(np.ones(self.rows.height, dtype=np.bool_)) > 0

    @cached_property
    def scores(self) -> Floats:
        """Mean score of every item under every model, NaN where there is none, shape (n_items, n_models)."""
        return self.table()

    def count(self, keep: Bools) -> Ints:
        """Count some of the rows by item and model."""
        n, m = self.shape
        cell = self.item[keep] * m + self.model[keep]
        return np.bincount(cell, weights=self.counts[keep], minlength=n * m).reshape(n, m).astype(np.int64)

    def table(self, treatment: Treatment | None = None) -> Floats:
        """Return the mean score of every item under every model, under a treatment of the rows."""
        n, m = self.shape
        score = self.score if treatment is None or treatment.score is None else treatment.score
        use = ~np.isnan(score)
        if treatment is not None and treatment.keep is not None:
            use = use & treatment.keep
        cell = self.item[use] * m + self.model[use]
        total = np.bincount(cell, weights=score[use] * self.trials[use], minlength=n * m)
        count = np.bincount(cell, weights=self.trials[use], minlength=n * m)
        means = np.divide(total, count, out=np.full(n * m, np.nan), where=count > 0).reshape(n, m)
        if treatment is not None and treatment.absent is not None:
            means[~self.present] = treatment.absent
        return means

    def firsts(self, values: "npt.NDArray[Number]", empty: float) -> "npt.NDArray[Number]":
        """Return the value of the first row of every cell, `empty` where there is none, shape (n_items, n_models)."""
        n, m = self.shape
        table = np.full(n * m, empty, dtype=values.dtype)
        # Copies: through three views turned round numpy writes from front to back, and the last row would stand.
        table[(self.item * m + self.model)[::-1].copy()] = values[::-1].copy()
        return table.reshape(n, m)

    def of_items(self, items: Bools) -> Bools:
        """Return the rows of some items, shape (n_rows,)."""
        return items[self.item]

    def shares(self, rows: Bools) -> Floats:
        """Return the share of each model's rows that are among these."""
        m = len(self.models)
        every = np.bincount(self.model, weights=self.counts, minlength=m)
        return np.bincount(self.model[rows], weights=self.counts[rows], minlength=m) / np.maximum(every, 1)

    def models_of(self, rows: Bools) -> tuple[str, ...]:
        """Name five models that some rows are of, those with the largest share first."""
        share = self.shares(rows)
        order: list[int] = np.argsort(-share, kind="stable").tolist()
        return tuple(self.models[j] for j in order[:5] if share[j] > 0)

    def item_names(self, items: Bools | Sequence[int] | Ints, most: int = 10) -> tuple[str, ...]:
        """Name some items, the first of them."""
        places = np.flatnonzero(items) if np.asarray(items).dtype == np.bool_ else np.asarray(items, dtype=np.int64)
        rows = self.items.select(ITEM_KEY)[places[:most].tolist()].iter_rows()
        return tuple(" / ".join(part for part in row if part) for row in rows)


# --- the rows of every metric ---


def rows_of_models(data: EvalData, models: Sequence[str] | None) -> pl.DataFrame:
    """Return the outcomes with the name of the system that each is of, of some systems or all."""
    rows = with_entries(data.outcomes, "model")[0]
    known = rows[ENTRY].unique().sort().to_list()
    for name in models or ():
        if name not in known:
            raise InputError(unknown_name(name, known))
    return rows if models is None else rows.filter(pl.col(ENTRY).is_in(list(models)))


def panels_of(
    data: EvalData,
    rows: pl.DataFrame,
    metric: str | None,
    cluster: str | Sequence[str] | None,
    *,
    all_metrics: bool,
    conf_level: float,
) -> Iterator[Panel]:
    """Yield the panel of every metric to look at: the one named, else the headline of each benchmark, else all."""
    for benchmark, name in _metrics(data, rows, metric, all_metrics=all_metrics):
        own = rows_among(rows, (rows["benchmark"] == benchmark) & (rows["metric"] == name))
        described, refusal = _described(data, own, benchmark, name)
        of, own = _of_persons(data, own)
        own, different, split = _of_different(of, own, described, cluster)
        place, first = item_codes(own)
        items = own.select(ITEM_KEY)[first]
        models, model = level_codes(own[ENTRY])
        names, codes = _clusters(of, own, items, cluster)
        # A row stands for more than one trial where only their average is known.
        averaged = pl.when(pl.col("trial").is_null()).then(pl.col("n_trials").fill_null(1)).otherwise(1)
        yield Panel(
            data=of,
            metric=described,
            rows=own,
            models=tuple(models),
            items=items,
            item=place.astype(np.int64),
            model=model.astype(np.int64),
            score=own["score"].to_numpy(),
            trials=own.select(averaged.cast(pl.Float64)).to_series().to_numpy(),
            counts=row_counts(own),
            clusters=names,
            codes=codes,
            different=different,
            split=split,
            refusal=refusal,
            conf_level=conf_level,
        )


def _metrics(data: EvalData, rows: pl.DataFrame, metric: str | None, *, all_metrics: bool) -> list[tuple[str, str]]:
    """Return the metrics to look at: the one that was named, else the headline of each benchmark, else all."""
    there = rows.select("benchmark", "metric").unique().cast(pl.String).sort("benchmark", "metric")
    if metric is not None:
        found = there.filter(pl.col("metric") == metric)
        if not found.height:
            raise InputError(unknown_name(metric, levels_of(there["metric"]), what="metric"))
        return found.rows()
    if all_metrics:
        return there.rows()
    primary = data.metrics.filter(pl.col("primary")).select("benchmark", "metric").unique()
    heads = there.join(primary, on=["benchmark", "metric"], how="semi")
    headless = there.join(heads.select("benchmark").unique(), on="benchmark", how="anti")
    return pl.concat([heads, headless]).sort("benchmark", "metric").rows()


def _described(data: EvalData, rows: pl.DataFrame, benchmark: str, name: str) -> tuple[Metric, str | None]:
    """Return the metric, and why a comparison would refuse it, if it would."""
    try:
        return choose_metric(data, rows, name), None
    except (InputError, CannotAnswerError) as error:
        found = data.metrics.filter((pl.col("benchmark") == benchmark) & (pl.col("metric") == name)).to_dicts()
        declared = found[0] if found else {}
        better, direction = direction_of(name, declared=declared.get("higher_is_better"))
        metric = Metric(
            benchmark=benchmark,
            name=name,
            kind=str(declared.get("kind") or "continuous"),
            low=declared.get("low"),
            high=declared.get("high"),
            higher_is_better=better,
            unit=str(declared.get("unit") or ""),
            direction=direction,
        )
        return metric, str(error)


def _of_different(
    data: EvalData, rows: pl.DataFrame, metric: Metric, cluster: str | Sequence[str] | None
) -> tuple[pl.DataFrame, str, Note | None]:
    """Return the rows, what the models do not share if a comparison would not pair them, and what is odd in their numbers.

    Rows that are numbered, and not aligned, are no items of another model: its name is put before each number.
    """
    names = rows[ENTRY].unique().sort().to_list()
    if len(names) < 2 or not may_be_unpaired(data, levels_of(rows["run"])):
        return rows, "", None
    first = rows.unique([ENTRY, *ITEM_KEY], keep="first", maintain_order=True)
    arms, unpaired, numbered = unpaired_arms(data, _arms(first, names), paired=None)
    if not unpaired:
        return rows, "", None
    named = named_clusters(data, cluster)
    table = ScoreTable.of(arms, metric, factors=named)
    units = assigned_units(data, table, [name for name in named if name in table.items.columns])
    if numbered:
        rows = rows.with_columns(item=pl.format("{}/{}", ENTRY, "item"))
    return rows, units.noun, split_mismatch(data, table, units)


def _of_persons(data: EvalData, rows: pl.DataFrame) -> tuple[EvalData, pl.DataFrame]:
    """Return data and rows with persons as their items, where a comparison would pair them so."""
    names = rows[ENTRY].unique().sort().to_list()
    if not may_be_unpaired(data, levels_of(rows["run"])):
        return data, rows
    data, arms, of_persons = persons_as_items(data, _arms(rows, names), paired=None)
    return data, pl.concat(
        [arm.rows.with_columns(pl.lit(arm.name).alias(ENTRY)) for arm in arms]
    ) if of_persons else rows


def _arms(rows: pl.DataFrame, names: Sequence[str]) -> list[System]:
    parts = [(name, rows.filter(pl.col(ENTRY) == name).drop(ENTRY)) for name in names]
    return [System(name=name, rows=part, runs=tuple(levels_of(part["run"]))) for name, part in parts]


def _clusters(
    data: EvalData, rows: pl.DataFrame, items: pl.DataFrame, cluster: str | Sequence[str] | None
) -> tuple[tuple[str, ...], Ints | None]:
    """Return the columns by which items are known to be dependent, and every item's cluster by the coarsest of them."""
    named = named_clusters(data, cluster)
    if not named and cluster is None:
        declared = parts_of(data.rows_of_runs(rows["run"].unique())["dependence"])
        named = [each for each in declared if each in rows.columns]
    found = item_factors(rows, [each for each in named if each not in ITEM_KEY])
    levels = {name: found[name] for name in named if found[name].null_count() == 0}
    if not levels and cluster is None and items["item"].n_unique() < items.select("task", "item", "variant").height:
        # Versions of one item are dependent by what they are.
        whole = items.select(pl.concat_str("task", "item", separator="\x1f")).to_series()
        levels = {"item": whole} if whole.n_unique() < items.height else {}
    coarsest = min(levels, key=lambda name: levels[name].n_unique(), default=None)
    if coarsest is None:
        return (), None
    codes = levels[coarsest].rank("dense").cast(pl.Int64).to_numpy() - 1
    return (coarsest,), codes.astype(np.int64)
