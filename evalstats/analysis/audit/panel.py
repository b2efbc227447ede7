"""The prepared rows of one metric, where each stands in the table of items by models, and what can be done with them instead."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.audit.result import Kind
from evalstats.analysis.design.metric import Metric
from evalstats.errors import Advice
from evalstats.schema.data import EvalData
from evalstats.table.items import HELPER, ITEM_KEY, Bools, Floats, Ints

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

    def models_of(self, rows: Bools, most: int = 5) -> tuple[str, ...]:
        """Name the models that some rows are of, those with the largest share first."""
        share = self.shares(rows)
        order: list[int] = np.argsort(-share, kind="stable").tolist()
        return tuple(self.models[j] for j in order[:most] if share[j] > 0)

    def item_names(self, items: Bools | Sequence[int] | Ints, most: int = 10) -> tuple[str, ...]:
        """Name some items, the first of them."""
        places = np.flatnonzero(items) if np.asarray(items).dtype == np.bool_ else np.asarray(items, dtype=np.int64)
        rows = self.items.select(ITEM_KEY)[places[:most].tolist()].iter_rows()
        return tuple(" / ".join(part for part in row if part) for row in rows)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check: what it looks for, and the function that looks.

    The function takes the panel of one metric and yields an `Observation` for each thing it sees, or `NotChecked` where the
    data do not allow to look; nothing at all is a pass.
    """

    kinds: tuple[Kind, ...]
    look: Callable[[Panel], Iterable[Observation | NotChecked]]
