"""The scores behind 'where do models break': a `ScoreTable` of items that have one scenario each, and its cells in long form."""

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from evalstats.analysis.design.clusters import chosen_clusters, group_columns, label_of, named_clusters
from evalstats.analysis.design.different_users import assigned_units
from evalstats.analysis.design.entries import RunKinds, run_kinds
from evalstats.analysis.design.metric import Metric
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural, quoted_list
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.stats.checks import IntArray
from evalstats.table.items import HELPER, ITEM_KEY
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System, remarks_of

AVERAGE = "average"
# Separates the parts of a key that is made of several columns.
_JOIN = "\x1f"
# Of items, as many have one level of a column that describes items.
_SAME = 0.95
COUNT, WITHIN = f"{HELPER}count", f"{HELPER}within"


@record
class ScenarioTable:
    """Scores of every model on every version of every item, with the scenario of each.

    Attributes
    ----------
    scores
        The table of items that have a scenario; `frame` is its long form, one row for each model and version of an item with a
        score: `model`, `scenario`, `item`, `version` (text), the further factors that are constant within a version under their
        own names, `score` (mean over trials), and under the names COUNT and WITHIN the trials behind it and their sum of
        squares about it.
    models, scenarios
        In the order of the result: models by their mean, the best first; the reference first.
    base
        The scenario that changes are counted from, or "average"; `by_user` says whether it is that of ideal users.
    column
        The column of the data that names scenarios, and `label`, what the source calls it.
    clusters
        Labels of the columns that items are clustered by, and `cluster_columns` the columns themselves; `cluster` has the
        cluster of every row of the frame.
    kinds
        Who was measured alike, in the order of the models.
    different
        What the models do not share, where each has users or items of its own; else "".
    """

    data: EvalData
    metric: Metric
    scores: ScoreTable
    frame: pl.DataFrame
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    base: str
    by_user: bool
    column: str
    label: str
    contrast: str
    clusters: tuple[str, ...]
    cluster_columns: tuple[str, ...]
    cluster: IntArray
    kinds: RunKinds
    notes: tuple[str, ...]
    different: str = ""

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs behind all models."""
        return tuple(sorted({run for each in self.scores.systems if each.name in self.models for run in each.runs}))

    @property
    def is_single(self) -> bool:
        """Whether the scores are right or wrong, so that a binomial model fits them."""
        return self.metric.kind == "binary"

    @property
    def n_clusters(self) -> int:
        """Independent units."""
        return len(np.unique(self.cluster))

    def count(self, status: str) -> int:
        """Trials of all systems that ended so."""
        return sum(system.count(status) for system in self.scores.systems)

    def without_score(self, model: str, scenario: str) -> int:
        """Items of a cell that the model saw and that have no score of it."""
        j = self.scores.names.index(model)
        here = self.scores.items[self.column].cast(pl.String).to_numpy() == scenario
        return int((here & self.scores.seen[:, j] & ~self.scores.scored[:, j]).sum())

    def codes(self, *columns: str) -> IntArray:
        """Return numbers of the distinct combinations of columns of the frame."""
        text = pl.concat_str([pl.col(name) for name in columns], separator=_JOIN)
        return self.frame.select(text.rank("dense") - 1).to_series().to_numpy().astype(np.int64)


def scenario_table(
    data: EvalData,
    metric: Metric,
    systems: Sequence[System],
    *,
    scenario: str | None,
    reference: str | None,
    cluster: str | Sequence[str] | None,
    contrast: str,
    accept: Collection[str] = (),
    apart: bool = False,
) -> ScenarioTable:
    """Count the scores of all systems, and find the scenario of every item; items without a single one are left out."""
    rows = pl.concat([system.rows for system in systems])
    column = _scenario_column(data, rows, scenario)
    label = scenario if scenario is not None else label_of(column, data.factor_names(rows["run"]))
    groups = [name for name in group_columns(rows) if name != contrast]
    factors = sorted({*groups, *named_clusters(data, cluster), column})
    table = ScoreTable.of(systems, metric, factors=factors, contrast=contrast)
    n_items, notes = len(table), list[str]()
    if scenario is None and column != "scenario":
        which = "the versions of items" if column == "variant" else "the only column that could name them"
        notes.append(f"Scenarios are the levels of {label}, {which}")
    known = (
        table.items[column].is_not_null().to_numpy() if column in table.items.columns else np.zeros(n_items, dtype=bool)
    )
    if not known.any():
        raise CannotAnswerError(f"no item has one level of {label!r}: it is empty, or differs between rows of one item")
    if not known.all():
        left_out = plural(n_items - int(known.sum()), "item")
        notes.append(f"{left_out} of {n_items} have no single level of {label} and are dropped")
    table = table.take(known)
    scored = np.asarray((table.n_scored > 0).any(axis=1), dtype=np.bool_)
    clusters, told = chosen_clusters(data, table, cluster, table.runs, contrast=contrast, counted=scored)
    unit, crossed = _one_clustering(table, clusters)
    frame, place = _long(table, column)
    if frame["scenario"].n_unique() < 2:
        only = frame["scenario"][0]
        raise InputError(f"{label} has the one level {only!r}; where models break can be told from two on")
    if frame.height == frame.select("scenario", "model").n_unique() and frame[COUNT].max() == 1:
        raise CannotAnswerError(
            f"each level of {label} has one item, answered once, so nothing tells what is hard for a model from chance; "
            f"name a coarser column with {Option('scenario')}"
        )
    models = _by_mean(frame, metric)
    levels: list[str] = frame["scenario"].unique().sort().to_list()
    ideal = rows.filter(pl.col("user_kind") == "ideal")[column].cast(pl.String).drop_nulls().unique().to_list()
    of_ideal = [level for level in ideal if level in levels]
    scenarios = _reference_first(frame, levels, of_ideal, reference, higher_is_better=metric.higher_is_better)
    by_user = reference in (None, scenarios[0]) and scenarios[0] in of_ideal
    # Of two scenarios the one against the other is the only change there is.
    from_first = reference != AVERAGE and (reference is not None or len(scenarios) == 2 or by_user)
    kept = [system for system in systems if system.name in models]
    names = [system.name for system in kept]
    kinds = run_kinds(data, kept, contrast=contrast, accept=accept, apart=apart)
    labels = tuple(label_of(name, data.factor_names()) for name in clusters)
    units = assigned_units(data, table, clusters) if apart else None
    return ScenarioTable(
        data=data,
        metric=metric,
        scores=table,
        frame=frame,
        models=models,
        scenarios=scenarios,
        base=scenarios[0] if from_first else AVERAGE,
        by_user=by_user,
        column=column,
        label=label,
        contrast=contrast,
        clusters=labels,
        cluster_columns=tuple(clusters),
        cluster=np.unique(unit[place], return_inverse=True)[1].astype(np.int64),
        kinds=kinds.ordered([names.index(name) for name in models]),
        notes=(*notes, *told, *crossed, *remarks_of(systems)),
        different="" if units is None else units.noun,
    )


def _scenario_column(data: EvalData, rows: pl.DataFrame, scenario: str | None) -> str:
    """Return the column that is named, else scenarios or versions of items where there are several, else the only one that could.

    One that differs within more than a few items describes answers, and is none that could.
    """
    if scenario is not None:
        column = data.factor(scenario)
        if column not in rows.columns:
            raise InputError(f"{scenario!r} is no column of the outcomes")
        return column
    several = [name for name in ("scenario", "variant") if rows[name].n_unique() > 1]
    if several or rows["scenario"].null_count() == 0:
        return (*several, "scenario")[0]
    factors = [
        name for name in group_columns(rows) if ":" not in name and 2 <= rows[name].n_unique() <= rows.height / 4
    ]
    if factors:
        one = rows.group_by(ITEM_KEY).agg(pl.col(factors).n_unique() == 1)
        factors = [name for name in factors if one[name].sum() >= _SAME * one.height]
    if len(factors) == 1:
        return factors[0]
    hint = f"; columns that could: {', '.join(factors)}" if factors else ""
    raise InputError(f"no row says what scenario it belongs to; name the column with {Option('scenario')}{hint}")


def _one_clustering(table: ScoreTable, clusters: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Return the independent unit of every item: what is linked by any of the cluster columns belongs together.

    Items that share a level of either column are one unit; that is wider than two-way clustering, and never too sure.
    """
    codes = [table.codes(name) for name in clusters] or [np.arange(len(table), dtype=np.int64)]
    if len(codes) == 1:
        return codes[0], []
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    offsets = np.cumsum([0, *(int(each.max()) + 1 for each in codes)])
    first, others = codes[0], codes[1:]
    ends = np.concatenate([each + offset for each, offset in zip(others, offsets[1:-1], strict=True)])
    graph = coo_array((np.ones(len(ends)), (np.tile(first, len(others)), ends)), shape=(offsets[-1], offsets[-1]))
    part = connected_components(graph, directed=False)[1]
    note = (
        f"items that share a level of any of {len(codes)} cluster columns are taken as one unit: "
        f"{plural(len(np.unique(part[first])), 'unit')}"
    )
    return part[first].astype(np.int64), [note]


def _long(table: ScoreTable, column: str) -> tuple[pl.DataFrame, IntArray]:
    """Return the cells with a score, system by system by name, and the item of each; keys of item and version are text."""
    names = np.array(table.names)
    order = np.argsort(names, kind="stable")
    system, item = np.nonzero(table.n_scored[:, order].T)
    if not len(item):
        raise CannotAnswerError("no item has both a score and a scenario")
    cell = item, order[system]
    items = table.items
    text = {name: items[name].cast(pl.String) for name in ITEM_KEY if name in items.columns}
    own = text.get("item", pl.repeat("", len(table), eager=True))
    if "task" in text and items["task"].n_unique() > 1:
        parts = [text[name] for name in ("task", "item") if name in text]
        own = pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator=_JOIN)).to_series()
    count = table.n_scored[cell].astype(np.float64)
    total = table.total[cell]
    score = total / count
    known = {
        "scenario": items[column].cast(pl.String),
        "item": own,
        "version": text.get("variant", pl.repeat("", len(table), eager=True)),
    }
    numbers = {"score": score, COUNT: count, WITHIN: np.maximum(table.total_sq[cell] - total * score, 0.0)}
    taken = {*ITEM_KEY, "model", *known, *numbers}
    further = [name for name in items.columns if name not in taken and not name.startswith(HELPER)]
    # Column by column: Polars takes some names of factors for patterns.
    columns = [pl.Series("model", names[cell[1]])]
    columns += [values.gather(item).alias(name) for name, values in known.items()]
    columns += [pl.Series(name, values) for name, values in numbers.items()]
    columns += [items[name].gather(item) for name in further]
    return pl.DataFrame(columns), item.astype(np.int64)


def _by_mean(frame: pl.DataFrame, metric: Metric) -> tuple[str, ...]:
    """Order the models by the plain mean over scenarios of their scenario means, the best first."""
    means = (
        frame.group_by("model", "scenario").agg(pl.col("score").mean()).group_by("model").agg(pl.col("score").mean())
    )
    sign = -1.0 if metric.higher_is_better else 1.0
    ordered = sorted(means.iter_rows(), key=lambda row: (round(sign * row[1], 12), row[0]))
    return tuple(name for name, _ in ordered)


def _reference_first(
    frame: pl.DataFrame, levels: list[str], ideal: list[str], reference: str | None, *, higher_is_better: bool
) -> tuple[str, ...]:
    """Order the scenarios: the reference first, then by the text of their names; of two without one, the better first."""
    first = reference if reference not in (None, AVERAGE) else None
    if first is not None and first not in levels:
        raise InputError(f"the reference {first!r} is no scenario; there are {quoted_list(levels)}")
    if reference is None and len(ideal) == 1:
        first = ideal[0]
    elif reference is None and len(levels) == 2:
        means = dict(frame.group_by("scenario").agg(pl.col("score").mean()).iter_rows())
        return tuple(sorted(levels, key=lambda level: -means[level] if higher_is_better else means[level]))
    return tuple(sorted(levels, key=lambda level: level != first))
