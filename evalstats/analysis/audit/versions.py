"""Runs that were not measured alike, and comparisons that no outcome could decide."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY, Bools, Ints
from evalstats.analysis.arms import Arm
from evalstats.analysis.audit.panel import NotChecked, Observation, Panel, Treatment
from evalstats.analysis.comparability.rules import setting_words
from evalstats.analysis.leaderboard.comparability import (
    MIN_SHARED,
    EntryDifference,
    Measured,
    measured_alike,
    shared_counts,
)
from evalstats.analysis.leaderboard.entries import ENTRY
from evalstats.document.numbers import plural, several
from evalstats.stats.checks import FEW_CLUSTERS

_SIDE = f"{HELPER}side"
# Of what says how a run was made: two runs with the same of all are one kind.
_MADE = (
    *("harness", "harness_version", "task_version", "n_shots", "prompt_hash", "temperature", "judge", "item_limit"),
    *("status", "config"),
)
_MOST_SIDES = 300
_MOST_KINDS = 3


def versions(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Find settings in which runs differ, by the rules of `compare`: grave ones keep models apart, or mix two things in one."""
    names, side = _sides(panel)
    if len(names) < 2:
        yield NotChecked(kind="versions", reason="there is one kind of run")
        return
    if len(names) > _MOST_SIDES:
        yield NotChecked(
            kind="versions", reason=f"{len(names):,} kinds of runs are too many to compare with each other"
        )
        return
    arms = [_arm(panel, name, side == k) for k, name in enumerate(names)]
    measured = measured_alike(panel.data, arms, contrast="model", accept=panel.accept)
    told = [each for each in measured.differences if each.severity != "note" or each.setting == "date"]
    if not told and any(each.setting == "unrecorded" for each in measured.differences):
        reason = next(each.explanation for each in measured.differences if each.setting == "unrecorded")
        yield NotChecked(kind="versions", reason=reason.partition(", so whether")[0])
    grave = [each for each in told if each.severity == "invalid"]
    if grave:
        kind = np.array(measured.kind, dtype=np.int64)[side]
        yield _observation(grave, _remedy_apart(measured), _alike(panel, kind, measured.apart))
    light = [each for each in told if each.severity != "invalid"]
    for setting in dict.fromkeys(each.setting for each in light):
        own = [each for each in light if each.setting == setting]
        yield _observation(own, f"read differences as those of model and {setting_words(setting)} together", ())


def too_small(panel: Panel) -> Iterator[Observation]:
    """Find comparisons that cannot be made: too few items in common, or too few clusters."""
    n_models = panel.shape[1]
    if n_models < 2:
        return
    shared = shared_counts(~np.isnan(panel.scores))[np.triu_indices(n_models, 1)]
    few = int((shared < MIN_SHARED).sum())
    if few:
        yield Observation(
            kind="too small",
            text=f"{few:,} of {plural(shared.size, 'comparison')} cannot be made: fewer than {MIN_SHARED} items in common",
            remedy="run the models on the same items",
            n_items=int(shared.min()),
        )
    n_clusters = 0 if panel.codes is None else len(np.unique(panel.codes))
    if 0 < n_clusters < FEW_CLUSTERS:
        yield Observation(
            kind="too small",
            text=f"items lie in {n_clusters} clusters of {several(panel.clusters)}, too few for any interval",
            remedy="look at the clusters one by one, or say that these are all there are: --cluster none",
        )


def _sides(panel: Panel) -> tuple[list[str], Ints]:
    """Name the kinds of runs, and give every row its own.

    A model is one kind, whatever its runs; where its runs answered the same items, those made alike are.
    """
    rows = panel.rows.select(ENTRY, "run", *ITEM_KEY)
    several_runs = rows.select(ENTRY, "run").unique().group_by(ENTRY).len().filter(pl.col("len") > 1)[ENTRY].to_list()
    made = pl.lit("")
    if several_runs:
        own = rows.filter(pl.col(ENTRY).is_in(several_runs))
        shared = own.group_by(ENTRY, *ITEM_KEY).agg(pl.col("run").n_unique().alias("runs")).filter(pl.col("runs") > 1)
        known = panel.data.runs.select("run", pl.struct(_MADE).rank("dense").cast(pl.String).alias("made"))
        rows = rows.join(known.unique("run"), on="run", how="left", maintain_order="left")
        made = pl.when(pl.col(ENTRY).is_in(shared[ENTRY].unique().to_list())).then(pl.col("made")).otherwise(pl.lit(""))
    labels = rows.select(pl.concat_str(pl.col(ENTRY), pl.lit("\x1f"), made.fill_null("")).alias(_SIDE))
    names: list[str] = labels[_SIDE].unique().sort().to_list()
    places = pl.DataFrame({_SIDE: names, "k": range(len(names))}, schema_overrides={_SIDE: pl.String})
    side = labels.join(places, on=_SIDE, how="left", maintain_order="left")["k"].to_numpy().astype(np.int64)
    return [name.partition("\x1f")[0] for name in names], side


def _arm(panel: Panel, name: str, keep: Bools) -> Arm:
    rows = panel.rows.filter(pl.Series(keep)).drop(ENTRY)
    return Arm(name=name, rows=rows, runs=tuple(rows["run"].unique().sort().to_list()))


def _observation(own: list[EntryDifference], remedy: str, treatments: tuple[Treatment, ...]) -> Observation:
    """Say the first difference in full, and of others only the settings and how many models they concern."""
    first = own[0]
    settings = list(dict.fromkeys(setting_words(each.setting) for each in own))
    models = list(dict.fromkeys(name for each in own for name in each.models))
    more = f" and {len(models) - 1} more" if len(models) > 1 else ""
    also = f"; the {several(settings[1:])} differ{'s' if len(settings) == 2 else ''} too" if len(settings) > 1 else ""
    told = first.explanation.replace(" between the two sides", "")
    return Observation(
        kind="versions",
        text=f"{told} ({first.models[0]}{more} against {first.reference}){also}",
        remedy=remedy,
        models=tuple(models[:5]),
        treatments=treatments,
    )


def _remedy_apart(measured: Measured) -> str:
    settings = several([setting_words(name) for name in measured.apart])
    accepted = " ".join(f"--accept {name}" for name in measured.apart)
    return f"compare only runs with the same {settings}, or where it is intended: {accepted}"


def _alike(panel: Panel, kind: Ints, settings: tuple[str, ...]) -> tuple[Treatment, ...]:
    """Compare only rows that were measured alike: each kind alone where models mix several, else models of one kind."""
    of_model = [np.unique(kind[panel.model == j]) for j in range(len(panel.models))]
    if all(len(each) == 1 for each in of_model):
        codes = np.array([each[0] for each in of_model], dtype=np.int64)
        return (Treatment(words="comparing only models that were measured alike", apart=codes),)
    largest: list[int] = np.argsort(-np.bincount(kind), kind="stable")[:_MOST_KINDS].tolist()
    return tuple(
        Treatment(words=f"with {_named(panel, kind == k, settings)} alone", keep=kind == k)
        for k in largest
        if sum(k in each for each in of_model) > 1
    )


def _named(panel: Panel, rows: Bools, settings: tuple[str, ...]) -> str:
    """Name a kind of runs by what is recorded of it in the settings that set it apart."""
    runs = panel.rows["run"].filter(pl.Series(rows)).unique()
    recorded = panel.data.runs.filter(pl.col("run").is_in(runs.to_list()))
    told: list[str] = []
    for name in settings:
        values = recorded[name].drop_nulls().unique().to_list() if name in recorded.columns else []
        if len(values) == 1:
            told.append(f"{setting_words(name)} {values[0]}")
    return several(told) if told else f"runs like {runs.sort()[0]}"
