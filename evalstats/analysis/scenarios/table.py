"""The rows behind 'where do models break', reduced to one row for each item, scenario and model."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.design.clusters import (
    chosen_clusters,
    group_columns,
    label_of,
    named_clusters,
    with_item_column,
)
from evalstats.analysis.design.comparability import RunKinds, run_kinds
from evalstats.analysis.design.entries import ENTRY
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.pairs import Pairs, Side
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import comma_list, plural, quoted_list
from evalstats.schema.data import EvalData
from evalstats.stats.checks import IntArray
from evalstats.table.items import HELPER, ITEM_KEY, constant_factors, item_sums
from evalstats.table.systems import System

# Separates the parts of a key that is made of several columns.
_JOIN = "\x1f"
COUNT, WITHIN = f"{HELPER}count", f"{HELPER}within"
_CLUSTER = f"{HELPER}cluster"
_LEVEL = f"{HELPER}level"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTable:
    """Scores of every model on every version of every item, with the scenario of each.

    Attributes
    ----------
    frame
        One row for each model and version of an item with a score: `model`, `scenario`, `item`, `version` (text), the further
        factors that are constant within a version under their own names, `score` (mean over trials), and under the names
        COUNT and WITHIN the trials behind it and their sum of squares about it.
    models, scenarios
        In the order of the result: models by their mean, the best first; the reference first.
    column
        The column of the data that names scenarios, and `label`, what the source calls it.
    clusters
        Labels of the columns that items are clustered by, and `cluster_columns` the columns themselves; `cluster` has the
        cluster of every row of the frame.
    """

    data: EvalData
    metric: Metric
    arms: tuple[System, ...]
    frame: pl.DataFrame
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    column: str
    label: str
    contrast: str
    clusters: tuple[str, ...]
    cluster_columns: tuple[str, ...]
    cluster: IntArray
    measured: RunKinds
    n_error: int
    n_unscored: int
    notes: tuple[str, ...]

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs behind all models."""
        return tuple(sorted({run for arm in self.arms for run in arm.runs}))

    @property
    def is_single(self) -> bool:
        """Whether the scores are right or wrong, so that a binomial model fits them."""
        return self.metric.kind == "binary"

    @property
    def n_clusters(self) -> int:
        """Independent units."""
        return len(np.unique(self.cluster))

    def codes(self, *columns: str) -> IntArray:
        """Return numbers of the distinct combinations of columns of the frame."""
        text = pl.concat_str([pl.col(name) for name in columns], separator=_JOIN)
        return self.frame.select(text.rank("dense") - 1).to_series().to_numpy().astype(np.int64)


def scenario_table(
    data: EvalData,
    metric: Metric,
    arms: Sequence[System],
    *,
    scenario: str | None,
    reference: str | None,
    cluster: str | Sequence[str] | None,
    contrast: str,
    accept: Collection[str] = (),
) -> ScenarioTable:
    """Reduce the rows of all models to the table."""
    rows = pl.concat([arm.rows.with_columns(pl.lit(arm.name).alias(ENTRY)) for arm in arms])
    column = _scenario_column(data, rows, scenario)
    label = scenario if scenario is not None else label_of(column, data.factor_names(rows["run"]))
    named = named_clusters(data, cluster)
    groups = [name for name in group_columns(rows) if name not in (contrast, ENTRY)]
    key = [name for name in ITEM_KEY if name != contrast]
    wanted = sorted({*groups, *named, column} - set(key))
    items = constant_factors(rows, wanted, key=key)
    # Under a name of our own: a factor may be called anything.
    items = items.with_columns(items[column].cast(pl.String).alias(_LEVEL))
    sums = item_sums(rows, arm=ENTRY, key=key)
    known = items.filter(pl.col(_LEVEL).is_not_null())
    notes = _left_out(items, known, label)
    every = _as_pairs(known, sums, key)
    clusters, told = chosen_clusters(
        data, every, cluster, tuple(run for arm in arms for run in arm.runs), contrast=contrast
    )
    every, crossed = _one_clustering(every, clusters)
    frame = _frame(sums, every.items, key)
    if frame["scenario"].n_unique() < 2:
        only = frame["scenario"][0]
        raise InputError(f"{label} has the one level {only!r}; where models break can be told from two on")
    models = _by_mean(frame, metric)
    scenarios = _reference_first(rows, frame, column, reference, higher_is_better=metric.higher_is_better)
    keep = [arm for arm in arms if arm.name in models]
    return ScenarioTable(
        data=data,
        metric=metric,
        arms=tuple(keep),
        frame=frame.drop(_CLUSTER),
        models=models,
        scenarios=scenarios,
        column=column,
        label=label,
        contrast=contrast,
        clusters=tuple(label_of(name, data.factor_names()) for name in clusters),
        cluster_columns=tuple(clusters),
        cluster=np.unique(frame[_CLUSTER].to_numpy(), return_inverse=True)[1].astype(np.int64),
        measured=run_kinds(data, keep, contrast=contrast, accept=accept),
        n_error=int(sums["n_error"].sum()),
        n_unscored=int(sums["n_unscored"].sum()),
        notes=(*notes, *told, *crossed, *_remarks(arms)),
    )


def _scenario_column(data: EvalData, rows: pl.DataFrame, scenario: str | None) -> str:
    if scenario is not None:
        column = data.factor(scenario)
        if column not in rows.columns:
            raise InputError(f"{scenario!r} is no column of the outcomes")
        return column
    if rows["scenario"].n_unique() > 1 or rows["scenario"].null_count() == 0:
        return "scenario"
    factors = [
        name
        for name in group_columns(rows)
        if name != "scenario" and ":" not in name and 2 <= rows[name].n_unique() <= rows.height / 4
    ]
    hint = f"; columns that could: {', '.join(factors)}" if factors else ""
    raise InputError(f"no row says what scenario it belongs to; name the column with {Option('scenario')}{hint}")


def _left_out(items: pl.DataFrame, known: pl.DataFrame, label: str) -> list[str]:
    if known.height == items.height:
        return []
    if not known.height:
        raise CannotAnswerError(f"no item has one level of {label!r}: it is empty, or differs between rows of one item")
    return [
        f"{plural(items.height - known.height, 'item')} of {items.height} have no single level of {label} and are left out"
    ]


def _as_pairs(items: pl.DataFrame, sums: pl.DataFrame, key: Sequence[str]) -> Pairs:
    """Return the items of any model as one side: what groups them does not depend on the model."""
    per_item = sums.group_by(list(key)).agg(
        pl.col("n_scored").sum(), (pl.col("n_error") + pl.col("n_unscored")).sum().alias("lost"), pl.col("total").sum()
    )
    joined = items.select(key).join(per_item, on=list(key), how="left", maintain_order="left")
    scored = joined["n_scored"].to_numpy().astype(np.int64)
    side = Side(
        n_scored=scored,
        present=scored + joined["lost"].to_numpy().astype(np.int64),
        total=joined["total"].cast(pl.Float64).fill_null(0.0).to_numpy().astype(np.float64),
    )
    return with_item_column(Pairs(items=items, baseline=side, candidate=side))


def _one_clustering(every: Pairs, clusters: Sequence[str]) -> tuple[Pairs, list[str]]:
    """Give every item the number of its independent unit: what is linked by any of the cluster columns belongs together.

    Items that share a level of either column are one unit; that is wider than two-way clustering, and never too sure.
    """
    if not clusters:
        own = np.arange(every.items.height, dtype=np.int64)
        return _with_cluster(every, own), []
    codes = [every.codes(name) for name in clusters]
    if len(codes) == 1:
        return _with_cluster(every, codes[0]), []
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
    return _with_cluster(every, part[first].astype(np.int64)), [note]


def _with_cluster(every: Pairs, codes: IntArray) -> Pairs:
    return replace(every, items=every.items.with_columns(pl.Series(_CLUSTER, codes)))


def _frame(sums: pl.DataFrame, items: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Join scores and items; text keys for item and version."""
    text = {name: pl.col(name).cast(pl.String) for name in key}
    parts = [text[name] for name in ("task", "item") if name in text]
    several = items["task"].n_unique() > 1 if "task" in items.columns else False
    item = pl.concat_str(parts, separator=_JOIN) if several else text.get("item", pl.lit(""))
    version = text.get("variant", pl.lit(""))
    scored = sums.filter(pl.col("n_scored") > 0)
    joined = scored.join(items, on=list(key), how="inner", maintain_order="left")
    if not joined.height:
        raise CannotAnswerError("no item has both a score and a scenario")
    count = pl.col("n_scored").cast(pl.Float64)
    score = pl.col("total") / count
    within = (pl.col("total_sq") - pl.col("total") * score).clip(lower_bound=0.0)
    own = {"model": pl.col(ENTRY).cast(pl.String), "scenario": pl.col(_LEVEL), "item": item, "version": version}
    further = [
        name for name in items.columns if name not in (*key, *own, _LEVEL, _CLUSTER) and not name.startswith(HELPER)
    ]
    # Under names of our own while they move: Polars takes some names of factors for patterns.
    renamed = joined.rename({name: f"{HELPER}{place}" for place, name in enumerate(further)})
    taken = renamed.select(
        *(expression.alias(f"{HELPER}own {name}") for name, expression in own.items()),
        score.alias("score"),
        count.alias(COUNT),
        within.alias(WITHIN),
        pl.col(_CLUSTER),
        *(pl.col(f"{HELPER}{place}") for place in range(len(further))),
    )
    return taken.rename(
        {f"{HELPER}own {name}": name for name in own}
        | {f"{HELPER}{place}": name for place, name in enumerate(further) if name not in ("score", COUNT, WITHIN)}
    )


def _by_mean(frame: pl.DataFrame, metric: Metric) -> tuple[str, ...]:
    """Order the models by the plain mean over scenarios of their scenario means, the best first."""
    means = (
        frame.group_by("model", "scenario").agg(pl.col("score").mean()).group_by("model").agg(pl.col("score").mean())
    )
    sign = -1.0 if metric.higher_is_better else 1.0
    ordered = sorted(means.iter_rows(), key=lambda row: (round(sign * row[1], 12), row[0]))
    return tuple(name for name, _ in ordered)


def _reference_first(
    rows: pl.DataFrame, frame: pl.DataFrame, column: str, reference: str | None, *, higher_is_better: bool
) -> tuple[str, ...]:
    """Order the scenarios: the reference first, then by the text of their names; of two without one, the better first."""
    levels: list[str] = frame["scenario"].unique().sort().to_list()
    if reference not in (None, "average"):
        if reference not in levels:
            raise InputError(f"the reference {reference!r} is no scenario; there are {quoted_list(levels)}")
        return (reference, *(level for level in levels if level != reference))
    if reference is None:
        found = ideal_levels(rows, column, levels)
        if len(found) == 1:
            return (found[0], *(level for level in levels if level != found[0]))
        if len(levels) == 2:
            means = dict(frame.group_by("scenario").agg(pl.col("score").mean()).iter_rows())
            return tuple(sorted(levels, key=lambda level: -means[level] if higher_is_better else means[level]))
    return tuple(levels)


def ideal_levels(rows: pl.DataFrame, column: str, scenarios: Sequence[str]) -> list[str]:
    """Return the scenarios, of those given, that ideal users have."""
    ideal = rows.filter(pl.col("user_kind") == "ideal")[column].cast(pl.String).drop_nulls().unique().to_list()
    return [level for level in ideal if level in scenarios]


def _remarks(arms: Sequence[System]) -> list[str]:
    """Gather what was done to the rows of single models, each thing said once."""
    by_text: dict[str, list[str]] = {}
    for arm in arms:
        for remark in arm.remarks:
            by_text.setdefault(remark.removeprefix(f"{arm.name}: "), []).append(arm.name)
    return [f"{comma_list(names, 3)}: {text}" for text, names in by_text.items()]
