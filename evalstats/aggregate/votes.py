"""Votes between two models reduced to cells of equal votes: as many rows as there are different votes, not as there are votes.

The votes are grouped once, where they are (Polars lazy, streaming; DuckDB; any table in memory); only the cells are
collected. Names are decoded after grouping: physical codes of categorical columns differ by column and by file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.aggregate.vote_reading import (
    ARENA_LABELS,
    LABEL,
    LOW,
    OUTCOME,
    OUTCOMES,
    SHARE,
    W2,
    WHY,
    A,
    B,
    N,
    W,
    beside_names,
    check_numbers,
    counted,
    group_names,
    lazy_votes,
    own_names,
    read_votes,
    winner_column,
)
from evalstats.errors import InputError

__all__ = ["ARENA_LABELS", "OUTCOMES", "VoteCells", "vote_cells"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CELL = f"{HELPER}cell"


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCells:
    """Votes between two different models, equal ones merged, and how many were left out and why.

    Attributes
    ----------
    models
        Names, sorted; a model's code is its place here. Only models with a vote that counts.
    first, second, outcome
        int64, shape (n_cells,): codes of the models on sides a and b; the place of the outcome in `OUTCOMES`.
    share
        float64, shape (n_cells,): how much of the vote the model on side a got, in [0, 1].
    weight, weight_squares
        float64, shape (n_cells,): sums of the votes' weights and of their squares; a vote without a weight weighs 1.
    count
        int64, shape (n_cells,): votes.
    covariates
        float64, shape (n_cells, n_covariates), in the order of `covariate_names`.
    clusters
        For each cluster asked for, int64 codes 0..G-1, shape (n_cells,), and in `cluster_levels` what they stand for. A
        vote without a level is a cluster of its own, whose level is null.
    n_rows
        Rows of the frame: votes that count, and those left out.
    n_unnamed, n_self, n_unscored, unknown
        Votes left out: without the name of a model; of a model against itself; without an outcome; with a label that is
        not known, by label, the most frequent first. A vote is counted once, for the first of these that holds.
    keys
        For `cluster_chunks`: what tells the cell of a vote, and the cell's number. Empty where cells are told apart by
        clusters.
    """

    models: tuple[str, ...]
    first: Ints
    second: Ints
    outcome: Ints
    share: Floats
    weight: Floats
    weight_squares: Floats
    count: Ints
    covariates: Floats
    covariate_names: tuple[str, ...]
    clusters: tuple[Ints, ...]
    cluster_names: tuple[str, ...]
    cluster_levels: tuple[pl.Series, ...]
    n_rows: int
    n_unnamed: int
    n_self: int
    n_unscored: int
    unknown: tuple[tuple[str, int], ...]
    keys: pl.DataFrame

    @property
    def n_cells(self) -> int:
        """Cells: different votes."""
        return self.first.size

    @property
    def n_votes(self) -> int:
        """Votes that count."""
        return int(self.count.sum())


def vote_cells(
    frame: object,
    *,
    clusters: Sequence[str] = (),
    covariates: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    winner: str | None = None,
) -> VoteCells:
    """Merge equal votes, and count those that cannot be used.

    Parameters
    ----------
    frame
        One row per vote, in any table that narwhals knows, lazy or not: `model_a`, `model_b`, the winner, and `preference`,
        `weight` and `status` where there are such columns. A lazy Polars frame is streamed.
    clusters
        Columns whose levels tell which votes belong together. Cells are then told apart by them; where nearly every vote
        has a cell of its own (raters of a large arena), leave them out and use `cluster_chunks`.
    covariates
        Columns of numbers, told apart like outcomes: they should have few different values if votes are many.
    labels
        What the labels of the winner's column stand for (a, b, tie or both_bad); labels are compared in lower case and
        without blanks around them. None: the glossary's own words for `outcome`, those of public arenas for `winner`. But
        for `outcome`, a label may also be the name of either model; one that is also the label of the other side is unknown.
    winner
        The winner's column; None for `outcome`, or `winner` where there is no `outcome`.

    Raises
    ------
    InputError
        If a column is missing, a weight is negative or not finite, a preference lies outside [0, 1], a covariate is null or
        not finite, or `labels` name something that is no outcome.

    Notes
    -----
    A label that is missing or not known is never a tie. A vote whose `status` is not "scored" has no outcome. Which row
    comes first has no effect, but for the rounding of sums of weights.

    Examples
    --------
    >>> votes = {"model_a": ["x", "x", "y"], "model_b": ["y", "y", "x"], "winner": ["model_a", "Model_A", "?"]}
    >>> cells = vote_cells(votes)
    >>> cells.models, cells.count.tolist(), cells.unknown
    (('x', 'y'), [2], (('?', 1),))
    """
    source = lazy_votes(frame)
    names = source.collect_schema().names()
    column, known = winner_column(names, winner, labels)
    extra = [name for name in ("preference", "status") if name in names]
    basic = ["model_a", "model_b", column, *extra]
    missing = [name for name in (*basic, *covariates, *clusters) if name not in names]
    if missing:
        raise InputError(f"column {missing[0]!r} is not among the votes; have {', '.join(names)}")
    source = source.rename(own_names(clusters, covariates, taken=(*basic, "weight")))
    key = [*basic, *beside_names(covariates)]
    groups = group_names(clusters)
    grouped = counted(source, [*key, *groups], weighted="weight" in names, by_weight=bool(clusters))
    read = read_votes(grouped, column, known)
    kept = read.filter(pl.col(WHY) == "counts")
    check_numbers(kept, covariates)
    return _cells(read, kept, key, tuple(clusters), tuple(covariates))


def _cells(
    read: pl.DataFrame, kept: pl.DataFrame, key: list[str], clusters: tuple[str, ...], covariates: tuple[str, ...]
) -> VoteCells:
    models = tuple(pl.concat([kept[A], kept[B]]).unique().sort().to_list())
    place = {name: code for code, name in enumerate(models)}
    coded = kept.with_columns(pl.col(A, B).replace_strict(place, return_dtype=pl.Int64, default=None))
    coded = coded.with_columns(pl.col(name).cast(pl.Float64) for name in beside_names(covariates))
    levels: list[pl.Series] = []
    by = [A, B, OUTCOME, SHARE, *beside_names(covariates), *group_names(clusters)]
    for own in group_names(clusters):
        coded, known = _coded(coded, own, by)
        levels.append(known)
    order, begin = _sorted(coded, by)
    left = dict(read.group_by(WHY).agg(pl.col(N).sum()).iter_rows())
    unknown = read.filter(pl.col(WHY) == "unknown").group_by(LABEL).agg(pl.col(N).sum())

    def column(name: str) -> npt.NDArray[Any]:
        return coded[name].to_numpy()[order[begin]]

    def total(name: str) -> npt.NDArray[Any]:
        values = coded[name].to_numpy()[order]
        return np.add.reduceat(values, begin) if 0 < begin.size < values.size else values

    return VoteCells(
        models=models,
        first=column(A),
        second=column(B),
        outcome=column(OUTCOME),
        share=column(SHARE),
        weight=total(W),
        weight_squares=total(W2),
        count=total(N),
        covariates=np.column_stack([np.zeros((begin.size, 0)), *map(column, beside_names(covariates))]),
        covariate_names=covariates,
        clusters=tuple(map(column, group_names(clusters))),
        cluster_names=clusters,
        cluster_levels=tuple(level.alias(name) for level, name in zip(levels, clusters, strict=True)),
        n_rows=int(read[N].sum()),
        n_unnamed=int(left.get("unnamed", 0)),
        n_self=int(left.get("self", 0)),
        n_unscored=int(left.get("unscored", 0)),
        unknown=tuple(unknown.sort(N, LABEL, descending=[True, False]).iter_rows()),
        # Two labels may stand for one outcome: several keys lead to one cell.
        keys=pl.DataFrame() if clusters else kept.select(key).with_columns(_numbers(order, begin)),
    )


def _sorted(coded: pl.DataFrame, by: list[str]) -> tuple[Ints, Ints]:
    """Return the order of the rows by the columns of `by`, and where in it a new cell begins."""
    label, room = np.zeros(coded.height, dtype=np.int64), 1
    for name in by:
        values = coded[name].to_numpy()
        if values.dtype.kind == "f":
            levels, code = np.unique(values, return_inverse=True)
            size = levels.size
        else:
            code, size = values, int(values.max(initial=0)) + 1
        if room * size >= 2**62:
            label = np.unique(label, return_inverse=True)[1]
            room = int(label.max(initial=0)) + 1
        label, room = label * size + code, room * size
    order = np.argsort(label, kind="stable").astype(np.int64)
    ordered = label[order]
    new = np.concatenate([np.ones(min(1, ordered.size), dtype=np.bool_), ordered[1:] != ordered[:-1]])
    return order, np.flatnonzero(new).astype(np.int64)


def _numbers(order: Ints, begin: Ints) -> pl.Series:
    """Return the cell of every row."""
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.repeat(np.arange(begin.size), np.diff(begin, append=order.size))
    return pl.Series(CELL, number)


def _coded(table: pl.DataFrame, own: str, by: list[str]) -> tuple[pl.DataFrame, pl.Series]:
    """Put codes for the levels of a cluster, in sorted order; every vote without a level gets a code of its own."""
    if isinstance(table.schema[own], pl.Categorical | pl.Enum):
        table = table.with_columns(pl.col(own).cast(pl.String))
    if table[own].null_count():
        lonely = pl.col(own).is_null()
        # In an order of their own, so that the rows' order has no effect on who gets which code.
        table = pl.concat([table.filter(~lonely), _one_by_one(table.filter(lonely).sort(*by, LOW))])
    levels = table[own].drop_nulls().unique().sort()
    numbered = pl.DataFrame({own: levels, CELL: np.arange(levels.len())})
    code = table.select(own).join(numbered, on=own, how="left", maintain_order="left")[CELL]
    lonely = code.is_null()
    fresh = lonely.cast(pl.Int64).cum_sum() + (levels.len() - 1)
    code = fresh.zip_with(lonely, code.fill_null(0))
    return table.with_columns(code.alias(own)), levels.extend_constant(None, int(lonely.sum()))


def _one_by_one(table: pl.DataFrame) -> pl.DataFrame:
    """Return votes one by one; they were counted by weight, so that all in a row weigh the same."""
    times = table[N].to_numpy()
    each = table.with_columns(pl.col(W, W2) / pl.col(N), pl.lit(1, pl.Int64).alias(N))
    return each[np.repeat(np.arange(table.height), times)]
