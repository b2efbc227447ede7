"""A suite: several benchmarks that are one question, such as a harness's folder with twenty tasks.

The benchmarks become tasks of one benchmark, each with its own headline metric, so that all that is asked of levels of a factor
is asked of tasks: macro and micro averages, a row for each, one family. Scores of another scale stay out of it, by name.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from evalstats.analysis.design.metric import metrics_to_show
from evalstats.document.model import Note
from evalstats.errors import InputError, Option
from evalstats.grammar import and_list, comma_list, quoted_list
from evalstats.options import GivenOptions
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.tables import levels_of
from evalstats.table.systems import rows_named

# What scores have in common that may be averaged.
_SCALE = ("low", "high", "higher_is_better", "unit")
_SHOWN = 5
_MERGED_METRIC = "score"


@record
class Suite:
    """Data whose one benchmark has the benchmarks of a suite as its tasks; what was left out, in words."""

    data: EvalData
    tasks: tuple[str, ...]
    metric: str
    notes: tuple[Note, ...] = ()


def as_one(
    data: EvalData, asked: GivenOptions, names: Sequence[str] | None, *, contrast: str, split: bool = False
) -> tuple[EvalData, GivenOptions, tuple[Note, ...]]:
    """Return data whose benchmarks are tasks of one, what is then asked of them, and what was left out; else all as it was.

    Where nothing else is said, the macro average over tasks is asked for, and with `split` each task. Labels correct the mean
    over all items, the micro average, which is said.
    """
    suite = suite_between(data, names, metric=asked.metric, contrast=contrast)
    if suite is None:
        return data, asked, ()
    changes: dict[str, object] = {"metric": suite.metric}
    if asked.values.get("labels") is not None:
        text = f"Labels correct the mean over all items: the micro average over {len(suite.tasks)} tasks"
        return suite.data, asked.but(**changes), (*suite.notes, Note(kind="choice", text=text, caution=False))
    if not asked.values.get("sequential"):
        if not asked.average and not asked.weights:
            changes |= {"average": "macro", "over": asked.over or "task"}
        if split and asked.by is None:
            changes["by"] = "task"
    return suite.data, asked.but(**changes), suite.notes


def suite_between(data: EvalData, names: Sequence[str] | None, *, metric: str | None, contrast: str) -> Suite | None:
    """Return the benchmarks that all named systems (None: all that there are) share, as one; None where they share one."""
    if data.outcomes["benchmark"].n_unique() < 2:
        return None
    if names is None:
        column = "system" if contrast == "model" else contrast
        sides = data.outcomes.select(column, "benchmark").drop_nulls().unique().partition_by(column)
    else:
        sides = [rows_named(data.outcomes, name, contrast=contrast, role="system") for name in names]
    shared = [
        name for name in levels_of(data.outcomes["benchmark"]) if all(name in side["benchmark"] for side in sides)
    ]
    suite = suite_of(data, shared, metric) if len(shared) > 1 else None
    alone = sorted({name for side in sides for name in levels_of(side["benchmark"])} - {*shared})
    if suite is None or not alone:
        return suite
    lacking = (
        f"{comma_list(alone, _SHOWN)} dropped from the average: not all have run {'it' if len(alone) == 1 else 'them'}"
    )
    return replace(suite, notes=(Note(kind="left_out", text=lacking), *suite.notes))


def metrics_of_both(data: EvalData, names: Sequence[str], *, contrast: str) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return what is asked of named systems where no metric is named and no headline declared: every metric that all have.

    There are none where each of the benchmarks that they share has one metric or one headline; what only some have is noted.
    """
    outcomes = data.outcomes
    if outcomes["metric"].n_unique() < 2:
        return (), ()
    columns = {"run", "system", "model", "benchmark", "metric", contrast}
    held = outcomes.select(sorted(columns)).unique(maintain_order=True)
    sides = [rows_named(held, name, contrast=contrast, role="system") for name in names]
    shared = [name for name in levels_of(held["benchmark"]) if all(name in side["benchmark"] for side in sides)]
    rows = {name: [side.filter(benchmark=name) for side in sides] for name in shared}
    asked = {name: metrics_to_show(data, pl.concat(own), name, None) for name, own in rows.items()}
    if all(len(own) == 1 for own in asked.values()):
        return (), ()
    every = list(dict.fromkeys(held["metric"]))
    wanted = [name for name in every if any(name in own for own in asked.values())]
    common = [name for name in wanted if all(name in side["metric"] for own in rows.values() for side in own)]
    alone = [name for name in wanted if name not in common]
    text = f"Not compared in {and_list(alone, _SHOWN)}: {'these are' if len(alone) > 1 else 'it is'} not on every side and task"
    return tuple(common), (Note(kind="left_out", text=text),) if common and alone else ()


def suite_of(data: EvalData, benchmarks: Sequence[str], metric: str | None) -> Suite | None:
    """Return several benchmarks as one; None where there is one alone, or one alone has the metric that is asked for.

    Each has its declared headline, else its only metric, else the one that all of them have. Those on the scale of most are
    kept. InputError where the metric of a benchmark is open.
    """
    text = pl.col("benchmark", "metric", "task").cast(pl.String)  # a store has them as codes
    rows = data.outcomes.filter(pl.col("benchmark").is_in(benchmarks)).with_columns(text)
    if metric is not None:
        rows = rows.filter(pl.col("metric") == metric)
    chosen = _chosen(data, rows, metric)
    if len(chosen) < 2:
        return None
    facts = {
        name: next(iter(data.metrics.filter(benchmark=name, metric=own).select(_SCALE).rows()), None)
        for name, own in chosen.items()
    }
    # A benchmark that declares no direction has the one that the others of its scale declare.
    said = {scale[:2] + scale[3:]: scale for scale in facts.values() if scale is not None and scale[2] is not None}
    scales = {
        name: None if scale is None else said.get(scale[:2] + scale[3:], scale) if scale[2] is None else scale
        for name, scale in facts.items()
    }
    usual = Counter(scales.values()).most_common(1)[0][0]
    tasks = [name for name, scale in scales.items() if scale == usual]
    others = [f"{name} ({chosen[name]})" for name in chosen if name not in tasks]
    if len(tasks) < 2:
        raise InputError(
            f"the data hold {len(chosen)} benchmarks, each with a scale of its own ({comma_list(others, _SHOWN)}): scores of "
            f"different scales have no average; choose one with {Option('where', blank='NAME', of='benchmark')}"
        )
    names = {chosen[name] for name in tasks}
    called, title = names.pop() if len(names) == 1 else _MERGED_METRIC, f"{len(tasks)} tasks"
    wanted = pl.DataFrame({"benchmark": tasks, "metric": [chosen[name] for name in tasks]})
    inner = (
        pl.when(~pl.col("task").is_in(["", *tasks])).then(pl.concat_str("task", pl.lit("/"), "item")).otherwise("item")
    )
    kept = rows.join(wanted, on=["benchmark", "metric"], how="semi", maintain_order="left").with_columns(
        task=pl.col("benchmark"), item=inner, metric=pl.lit(called), benchmark=pl.lit(title)
    )
    own = data.metrics.join(wanted, on=["benchmark", "metric"], how="semi", maintain_order="left")
    kinds = own["kind"].unique().to_list()
    kind = kinds[0] if len(kinds) == 1 else "bounded" if own["high"].is_not_null().all() else "continuous"
    known = own["higher_is_better"].drop_nulls().unique().to_list()
    row = own.head(1).with_columns(
        benchmark=pl.lit(title), metric=pl.lit(called), kind=pl.lit(kind), primary=pl.lit(value=True),
        higher_is_better=pl.lit(known[0] if len(known) == 1 else None, dtype=pl.Boolean),
    )  # fmt: skip
    whose = "its scores are" if len(others) == 1 else "their scores are"
    unlike = f"{comma_list(others, _SHOWN)} dropped from the average: {whose} on another scale"
    return Suite(
        data=replace(data, outcomes=kept, metrics=row.select(data.metrics.columns)),
        tasks=tuple(tasks),
        metric=called,
        notes=(Note(kind="left_out", text=unlike),) if others else (),
    )


def _chosen(data: EvalData, rows: pl.DataFrame, metric: str | None) -> dict[str, str]:
    """Return the metric of each benchmark."""
    found = {
        str(name): metrics_to_show(data, part, str(name), metric)
        for (name,), part in rows.select("benchmark", "metric")
        .unique()
        .sort("benchmark", "metric")
        .group_by("benchmark", maintain_order=True)
    }
    several = {name: own for name, own in found.items() if len(own) > 1}
    if several:
        common = [name for name in next(iter(found.values())) if all(name in own for own in found.values())]
        if len(common) != 1:
            name, own = next(iter(several.items()))
            shared = f"; all of them have {quoted_list(common)}" if common else ""
            raise InputError(
                f"{name} has {len(own)} metrics and none is declared its headline: {quoted_list(own)}{shared}; choose one with "
                f"{Option('metric')}, before looking at the results"
            )
        return dict.fromkeys(found, common[0])
    return {name: own[0] for name, own in found.items()}
