"""Scores of every object of measurement under every combination of levels of the facets, from rows to cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.design.entries import ENTRY, run_kinds
from evalstats.analysis.design.metric import Metric, choose_metric
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural, quoted_list
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.table.items import ITEM_KEY
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import SeveralRunsError, System, remarks_of, system_of

TRIAL = "trial"
# Facets that are no columns of conditions: the items, what they are parts of, and repetitions.
_OF_KEYS = ("item", "task", "benchmark", TRIAL)
_PART = "\x1f"
_MOSTLY = 0.5


@record
class MeasuredCells:
    """Cells of a design: codes of each factor from 0, shape (n_cells,), the object first; mean, number and spread of scores.

    `names` are those of the objects by code. `repetition` is "trial" where scores of one cell are told apart; else every
    mean counts as one score, and `within` is 0. `n_lost` of `n_meant` scores are missing.
    """

    metric: Metric
    factors: dict[str, IntArray]
    names: tuple[str, ...]
    means: FloatArray
    counts: FloatArray
    within: float
    repetition: str | None
    n_items: int
    n_lost: int
    n_meant: int
    runs: tuple[str, ...]
    notes: tuple[Note, ...]

    def named(self, words: Mapping[str, str]) -> "MeasuredCells":
        """Call factors as the user does, where a column of another name holds them."""
        return replace(self, factors={words.get(name, name): codes for name, codes in self.factors.items()})


@record
class _Part:
    """The table of one benchmark: entries are combinations of the object and the conditions, `levels` what each stands for."""

    table: ScoreTable
    levels: pl.DataFrame
    notes: tuple[Note, ...]


def measured_cells(
    data: EvalData,
    *,
    column: str,
    facets: Sequence[str] | None,
    metric: str | None,
    models: Sequence[str] | None,
    accept: Sequence[str],
) -> MeasuredCells:
    """Count and sum the scores of every cell; `facets` are columns, by default items, their versions, and trials of most cells.

    InputError for a facet that the rows cannot tell; CannotAnswerError where levels are missing throughout.
    """
    rows = data.outcomes
    by_default = ("variant", "item") if rows["variant"].n_unique() > 1 else ("item",)
    named = by_default if facets is None else tuple(facets)
    if models is not None:
        known = levels_of(rows[column])
        absent = [name for name in models if name not in known]
        if absent:
            raise InputError(f"no {column} {absent[0]!r}; there are {quoted_list(known)}")
        rows = rows.filter(pl.col(column).is_in(list(models)))
    asked = [column, *(name for name in named if name not in (TRIAL, "item"))]
    for name in asked:
        if rows[name].null_count() == rows.height:
            raise CannotAnswerError(f"no row has a level of {name}")
    known_rows = rows.drop_nulls(asked)
    dropped = rows.height - known_rows.height
    lacking = " or ".join(name for name in asked if rows[name].null_count())
    text = f"{dropped:,} of {rows.height:,} rows have no level of {lacking} and are dropped"
    notes = [Note(kind="left_out", text=text)] if dropped else []
    chosen = _metrics(data, known_rows, metric, column=column, several="benchmark" in named)
    parts = [_part(data, known_rows, each, column=column, facets=named, accept=accept) for each in chosen]
    notes += [note for part in parts for note in part.notes]
    cells = pl.concat([_cells(part, column, named) for part in parts])
    averaged = known_rows.select(((pl.col("trial").is_null()) & (pl.col("n_trials") > 1)).any()).item()
    repeated = float((cells["n"] > 1).mean() or 0.0)  # pyright: ignore[reportArgumentType] - a boolean column
    repetition = TRIAL if TRIAL in named or (facets is None and repeated > _MOSTLY and not averaged) else None
    factors = [name for name in named if name != TRIAL]
    if repetition and "item" not in factors:
        raise InputError(f"trials repeat an item; name item among the facets, or leave {TRIAL} out")
    if repetition and averaged:
        raise CannotAnswerError(
            f"some rows hold averages of several trials, so that trials cannot be told apart; leave {TRIAL} out"
        )
    if "item" not in factors:
        cells = cells.group_by(column, *factors, maintain_order=True).agg(
            pl.col("mean").mean(), pl.lit(1.0).alias("n"), pl.lit(0.0).alias("within")
        )
    coded = {name: cells[name].rank("dense").cast(pl.Int64).to_numpy() - 1 for name in (column, *factors)}
    tables = [part.table for part in parts]
    lost = sum(int(table.n_lost.sum()) for table in tables)
    return MeasuredCells(
        metric=replace(chosen[0], benchmark=and_list([each.benchmark for each in chosen])),
        factors=coded,
        names=tuple(cells[column].unique().sort().to_list()),
        means=cells["mean"].to_numpy(),
        counts=cells["n"].to_numpy() if repetition else np.ones(cells.height),
        within=float(cells["within"].sum()) if repetition else 0.0,
        repetition=repetition,
        n_items=sum(len(table) for table in tables),
        n_lost=lost,
        n_meant=lost + sum(int(table.n_scored.sum()) for table in tables),
        runs=tuple(sorted({run for table in tables for run in table.runs})),
        notes=tuple(notes),
    )


def _metrics(
    data: EvalData, rows: pl.DataFrame, metric: str | None, *, column: str, several: bool
) -> tuple[Metric, ...]:
    """Return the metric, of every benchmark where these are a facet; they must be on one scale."""
    if not several:
        return (choose_metric(data, rows, metric, contrast=column),)
    having = rows if metric is None else rows.filter(pl.col("metric") == metric)
    found = [
        choose_metric(data, having.filter(pl.col("benchmark") == name), metric, contrast=column)
        for name in levels_of(having["benchmark"])
    ]
    if not found:
        raise InputError(f"there is no metric {metric!r}; the data have {quoted_list(rows['metric'])}")
    first = found[0]
    for each in found[1:]:
        if (each.bounds, each.higher_is_better) != (first.bounds, first.higher_is_better):
            raise InputError(
                f"{first.name!r} of {first.benchmark} and {each.name!r} of {each.benchmark} are not on one scale, so that "
                f"benchmarks cannot be a facet; name a metric that all have with {Option('metric')}"
            )
    return tuple(found)


def _part(
    data: EvalData, rows: pl.DataFrame, metric: Metric, *, column: str, facets: Sequence[str], accept: Sequence[str]
) -> _Part:
    """Count one benchmark: an entry for every combination of the object and what varies within items."""
    own = rows.filter((pl.col("benchmark") == metric.benchmark) & (pl.col("metric") == metric.name))
    columns = [name for name in facets if name not in _OF_KEYS]
    items = [name for name in ITEM_KEY if name not in (*columns, column)]
    varied = own.group_by(items).agg(pl.col(name).n_unique().alias(name) for name in columns) if columns else None
    conditions = [name for name in columns if varied is not None and varied.select((pl.col(name) > 1).any()).item()]
    entry = [column, *conditions]
    _refuse_merged_systems(own, entry)
    labels = pl.concat_str([pl.col(name).cast(pl.String) for name in entry], separator=_PART)
    pieces = own.with_columns(labels.alias(ENTRY)).partition_by(ENTRY, as_dict=True)
    systems: list[System] = []
    for (name,), piece in sorted(pieces.items(), key=lambda each: str(each[0][0])):
        try:
            systems.append(system_of(piece, str(name).replace(_PART, ", "), metric, role="system"))
        except SeveralRunsError as error:
            raise InputError(f"{error}; if runs are a facet, name them: {Option('facets', 'run')}") from error
    of_items = [name for name in columns if name not in conditions]
    contrast = "variant" if "variant" in conditions else column
    table = ScoreTable.of(systems, metric, factors=of_items, contrast=contrast)
    kinds = run_kinds(data, table.systems, contrast=column, accept=accept)
    apart = tuple(name for name in kinds.apart if name not in facets)
    differences = [
        Note(
            kind="comparability",
            text=f"Runs differ in {and_list(apart)}: what that does to scores counts as variance of {and_list(entry)}",
            remedy=("If that is intended, declare it: ", Option("accept", apart)),
        )
    ]
    remarks = [Note(kind="left_out", text=text, caution=False) for text in remarks_of(systems)]
    first = [system.rows.select(pl.col(name).first().cast(pl.String) for name in entry) for system in systems]
    return _Part(
        table=table, levels=pl.concat(first), notes=(*metric.cautions, *(differences if apart else ()), *remarks)
    )


def _refuse_merged_systems(rows: pl.DataFrame, entry: Sequence[str]) -> None:
    """Refuse to take several systems of a model for its repetitions."""
    if "system" in entry:
        return
    several = (
        rows.group_by(entry)
        .agg(pl.col("system").unique().sort().alias("systems"))
        .filter(pl.col("systems").list.len() > 1)
    )
    if several.height:
        first = several.sort(entry).row(0, named=True)
        whose = ", ".join(str(first[name]) for name in entry)
        raise InputError(
            f"{whose} stands for {plural(len(first['systems']), 'system')} ({quoted_list(first['systems'])}). If they differ in "
            f"a scaffold or prompt, name it as a facet, such as {Option('facets', 'system')}; if each is to be told apart: "
            f"{Option('object', 'system')}"
        )


def _cells(part: _Part, column: str, facets: Sequence[str]) -> pl.DataFrame:
    """Return a row for every filled cell: the level of each factor, mean and number of scores, their squares about the mean."""
    table = part.table
    item, entry = np.nonzero(table.n_scored > 0)
    n, total, squares = (each[item, entry].astype(np.float64) for each in (table.n_scored, table.total, table.total_sq))
    keys = pl.concat_str(
        [
            pl.lit(table.metric.benchmark),
            *(pl.col(name).cast(pl.String) for name in ITEM_KEY if name in table.items.columns),
        ],
        separator=_PART,
    )
    found = {column: part.levels[column].gather(entry)}
    for name in facets:
        if name == "item":
            found[name] = table.items.select(keys.alias("item"))["item"].gather(item)
        elif name == "benchmark":
            found[name] = pl.Series([table.metric.benchmark]).new_from_index(0, len(item))
        elif name in part.levels.columns:
            found[name] = part.levels[name].gather(entry)
        elif name != TRIAL:
            found[name] = table.items[name].cast(pl.String).gather(item)
    numbers = {"mean": total / n, "n": n, "within": np.maximum(squares - total**2 / n, 0.0)}
    return pl.DataFrame([values.alias(name) for name, values in found.items()]).with_columns(
        pl.Series(name, values) for name, values in numbers.items()
    )
