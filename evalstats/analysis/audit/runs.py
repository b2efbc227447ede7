"""Runs not measured alike, comparisons that no outcome could decide, and what stands twice: rows, runs, models."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.audit.panel import NotChecked, Observation, Panel, Treatment
from evalstats.analysis.design.entries import ENTRY, MIN_SHARED, EntryDifference, run_kinds, shared_counts
from evalstats.analysis.design.run_settings import setting_words
from evalstats.document.formats import capital
from evalstats.document.numbers import share_in_percent
from evalstats.errors import Advice, Option
from evalstats.grammar import and_list, conjugate, plural
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.table.items import FIRST, HELPER, ITEM_KEY, Bools, Floats, Ints
from evalstats.table.systems import System

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
    kinds: list[System] = []
    for k, name in enumerate(names):
        rows = panel.rows.filter(pl.Series(side == k)).drop(ENTRY)
        kinds.append(System(name=name, rows=rows, runs=tuple(levels_of(rows["run"]))))
    measured = run_kinds(panel.data, kinds, contrast="model", accept=panel.accept, apart=bool(panel.different))
    told = [each for each in measured.differences if each.severity != "note" or each.setting == "date"]
    if not told and any(each.setting == "unrecorded" for each in measured.differences):
        yield NotChecked(kind="versions", reason="the files do not say how the runs were made")
    grave = [each for each in told if each.severity == "invalid"]
    if grave:
        kind = np.array(measured.kind, dtype=np.int64)[side]
        settings = and_list([setting_words(name) for name in measured.apart])
        same = f"Compare only runs with the same {settings}, or where it is intended: "
        treatments = _alike(panel, kind, measured.apart)
        yield _observation(grave, (same, Option("accept", measured.apart)), treatments)
    light = [each for each in told if each.severity != "invalid"]
    for setting in dict.fromkeys(each.setting for each in light):
        own = [each for each in light if each.setting == setting]
        yield _observation(own, f"Read differences as those of model and {setting_words(setting)} together", ())


def too_small(panel: Panel) -> Iterator[Observation]:
    """Find comparisons that cannot be made: too few items in common, or too few clusters."""
    n_models = panel.shape[1]
    if n_models < 2:
        return
    own = (~np.isnan(panel.scores)).sum(axis=0)
    counts = np.minimum.outer(own, own) if panel.different else shared_counts(~np.isnan(panel.scores))
    shared = counts[np.triu_indices(n_models, 1)]
    few = int((shared < MIN_SHARED).sum())
    if few and panel.different:
        yield Observation(
            kind="too small",
            text=f"{few:,} of {plural(shared.size, 'comparison')} cannot be made: fewer than {MIN_SHARED} {panel.different} "
            "a side",
            remedy=f"Wait for more {panel.different}",
            n_items=int(shared.min()),
        )
    elif few:
        yield Observation(
            kind="too small",
            text=f"{few:,} of {plural(shared.size, 'comparison')} cannot be made: fewer than {MIN_SHARED} items in common",
            remedy="Run the models on the same items",
            n_items=int(shared.min()),
        )
    n_clusters = 0 if panel.codes is None else len(np.unique(panel.codes))
    if 0 < n_clusters < FEW_CLUSTERS:
        yield Observation(
            kind="too small",
            text=f"Items lie in {n_clusters} clusters of {and_list(panel.clusters)}, too few for any interval",
            remedy=(
                "Look at the clusters one by one, or declare that these are all: ",
                Option("cluster", "none"),
            ),
        )


def _sides(panel: Panel) -> tuple[list[str], Ints]:
    """Name the kinds of runs, and give every row its own.

    A model is one kind, whatever its runs; where its runs answered the same items, those made alike are.
    """
    rows = panel.rows.select(ENTRY, "run", *ITEM_KEY)
    several_runs = rows.group_by(ENTRY).agg(pl.col("run").n_unique()).filter(pl.col("run") > 1)[ENTRY].to_list()
    made = pl.lit("")
    if several_runs:
        own = rows.filter(pl.col(ENTRY).is_in(several_runs))
        shared = own.group_by(ENTRY, *ITEM_KEY).agg(pl.col("run").n_unique().alias("runs")).filter(pl.col("runs") > 1)
        known = panel.data.runs.select("run", pl.struct(_MADE).rank("dense").cast(pl.String).alias("made"))
        known = known.with_columns(pl.col("run").cast(rows.schema["run"]))
        rows = rows.join(known.unique("run"), on="run", how="left", maintain_order="left")
        made = pl.when(pl.col(ENTRY).is_in(shared[ENTRY].unique().to_list())).then(pl.col("made")).otherwise(pl.lit(""))
    labels = rows.select(pl.concat_str(pl.col(ENTRY), pl.lit("\x1f"), made.fill_null("")).alias(_SIDE))
    names: list[str] = labels[_SIDE].unique().sort().to_list()
    places = pl.DataFrame({_SIDE: names, "k": range(len(names))}, schema_overrides={_SIDE: pl.String})
    side = labels.join(places, on=_SIDE, how="left", maintain_order="left")["k"].to_numpy().astype(np.int64)
    return [name.partition("\x1f")[0] for name in names], side


def _observation(own: list[EntryDifference], remedy: Advice, treatments: tuple[Treatment, ...]) -> Observation:
    """Say the first difference in full, and of others only the settings and how many models they concern."""
    first = own[0]
    settings = list(dict.fromkeys(setting_words(each.setting) for each in own))
    models = list(dict.fromkeys(name for each in own for name in each.models))
    more = f" and {len(models) - 1} more" if len(models) > 1 else ""
    also = f"; the {and_list(settings[1:])} differ{'s' if len(settings) == 2 else ''} too" if len(settings) > 1 else ""
    told = capital(first.explanation.replace(" between the two sides", ""))
    return Observation(
        kind="versions",
        text=f"{told} ({first.models[0]}{more} against {first.reference}){also}",
        remedy=remedy,
        models=tuple(models[:5]),
        treatments=treatments,
    )


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
    recorded = panel.data.rows_of_runs(runs)
    told: list[str] = []
    for name in settings:
        values = levels_of(recorded[name]) if name in recorded.columns else []
        if len(values) == 1:
            told.append(f"{setting_words(name)} {values[0]}")
    return and_list(told) if told else f"runs like {runs.sort()[0]}"


_TRIAL = (ENTRY, *ITEM_KEY, "trial", "judge")
_PLACE = f"{HELPER}place"
# Two tables of scores that agree throughout are called the same only where chance would do that so seldom.
_CHANCE = 1e-6
_FEWEST_OTHERS = 3
_VARIED = 10


def repeated_rows(panel: Panel) -> Iterator[Observation]:
    """Find rows of the same trial of the same item in the same run: copies, or answers that contradict each other."""
    if not _any_twice(panel):
        return
    key = ["run", *_TRIAL]
    rows = panel.rows.select(*key, "score").with_row_index(_PLACE)
    twice = rows.filter(rows.select(key).is_duplicated())
    if not twice.height:
        return
    groups = twice.group_by(key).agg(pl.col("score").n_unique().alias("values"), pl.len())
    n, contradicting = groups.height, int((groups["values"] > 1).sum())
    same = f"{contradicting:,} with other scores" if contradicting else "all with the same score"
    first, last = (rows.unique(key, keep=which)[_PLACE].to_numpy() for which in ("first", "last"))
    treatments = [_only(panel, first, "with the first of each alone")]
    if contradicting:
        treatments.append(_only(panel, last, "with the last of each alone"))
    yield Observation(
        kind="repeated rows",
        text=f"{plural(n, 'trial')} {conjugate(n, 'occur')} more than once in a run ({same}) and count in full",
        remedy="Drop the copies, or number repetitions as trials",
        n_rows=int(groups["len"].sum()),
        models=tuple(twice[ENTRY].unique().sort().head(5).to_list()),
        examples=tuple(twice["item"].unique().sort().head(5).to_list()),
        treatments=tuple(treatments),
    )


def repeated_runs(panel: Panel) -> Iterator[Observation]:
    """Find runs of one system that answered the same trials: a file read twice, or repetitions, which are averaged."""
    if not _any_twice(panel):
        return
    key = list(_TRIAL)
    shared = panel.rows.group_by(key).agg(
        pl.col("run").n_unique().alias("runs"), pl.col("score").n_unique().alias("values")
    )
    shared = shared.filter(pl.col("runs") > 1)
    if not shared.height:
        return
    models = shared[ENTRY].unique().sort().to_list()
    differ = int((shared["values"] > 1).sum())
    most = int(shared["runs"].max() or 2)  # pyright: ignore[reportArgumentType] - a count
    runs = panel.rows.filter(pl.col(ENTRY).is_in(models))
    same = (
        "with the same score throughout"
        if not differ
        else f"{share_in_percent(differ / shared.height)} with other scores"
    )
    yield Observation(
        kind="repeated runs",
        text=f"Up to {most} runs of {and_list(models, 2)} answered the same {plural(shared.height, 'trial')} ({same})",
        remedy="Read one copy alone"
        if not differ
        else ("Keep the run that is meant, or take runs as trials: ", Option("trials_from_runs")),
        n_rows=int(shared["runs"].sum()),
        models=tuple(models[:5]),
        examples=tuple(runs["run"].unique().sort().head(5).to_list()),
        treatments=_each_run(panel, most),
    )


def identical_models(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Find two names with the same score on every item they share, where chance would not do that."""
    n_models = panel.shape[1]
    if n_models < 2:
        yield NotChecked(kind="identical models", reason="there is one model")
        return
    scores = panel.scores
    for i, j in _equal_columns(scores):
        both = ~np.isnan(scores[:, i]) & ~np.isnan(scores[:, j])
        names = panel.models[i], panel.models[j]
        if not _telling(scores, both, i, j):
            if n_models - 2 < _FEWEST_OTHERS:
                reason = f"{names[0]} and {names[1]} have equal scores, and too few other models show whether chance gives that"
                yield NotChecked(kind="identical models", reason=reason)
            continue
        yield Observation(
            kind="identical models",
            text=(
                f"The scores of {names[0]} and {names[1]} are the same on each of {plural(int(both.sum()), 'item')}, "
                "consistent with one run under two names"
            ),
            remedy="Check where both files come from before ranking both",
            n_items=int(both.sum()),
            models=names,
        )


def _any_twice(panel: Panel) -> bool:
    """Whether any model has two rows of an item, without which nothing can stand twice; nothing does among merged rows."""
    if FIRST in panel.rows.columns:
        return False
    return bool((panel.count(np.ones(panel.rows.height, dtype=np.bool_)) > 1).any())


def _only(panel: Panel, places: npt.NDArray[np.uint32], words: str) -> Treatment:
    keep = np.zeros(panel.rows.height, dtype=np.bool_)
    keep[places] = True
    return Treatment(words=words, keep=keep)


def _each_run(panel: Panel, most: int) -> tuple[Treatment, ...]:
    """Keep of every trial the row of its first, second, ... run alone, in the order of their times, then files, then names."""
    key = list(_TRIAL)
    known = panel.data.runs.select("run", "timestamp", "source").unique("run", keep="first")
    known = known.with_columns(pl.col("run").cast(panel.rows.schema["run"]))
    rows = panel.rows.select(*key, "run").with_row_index(_PLACE).join(known, on="run", how="left")
    rows = rows.sort("timestamp", "source", "run", _PLACE, nulls_last=True)
    numbered = rows.with_columns(
        pl.int_range(1, pl.len() + 1).over(key).alias("number"), pl.len().over(key).alias("of")
    )
    numbered = numbered.sort(_PLACE)
    number, of = numbered["number"].to_numpy(), numbered["of"].to_numpy()
    return tuple(
        Treatment(words=f"with the {word} of these runs alone", keep=np.minimum(k + 1, of) == number)
        for k, word in enumerate(("first", "second", "third")[:most])
    )


def _equal_columns(scores: Floats) -> list[tuple[int, int]]:
    """Return pairs of models whose scores are the same on every item that both have, if these are enough."""
    seen = ~np.isnan(scores)
    held, filled = seen.astype(np.float64), np.where(seen, scores, 0.0)
    shared = held.T @ held
    apart = (filled**2).T @ held + held.T @ (filled**2) - 2.0 * filled.T @ filled
    close = (apart <= 1e-9 * np.maximum(1.0, np.abs(filled).max(initial=0.0) ** 2)) & (shared >= MIN_SHARED)
    found: list[tuple[int, int]] = []
    for i, j in zip(*np.nonzero(np.triu(close, 1)), strict=True):
        both = seen[:, i] & seen[:, j]
        if np.array_equal(scores[both, i], scores[both, j]):
            found.append((int(i), int(j)))
    return found


def _telling(scores: Floats, both: Bools, i: int, j: int) -> bool:
    """Whether equal scores are no chance: they take many values, or items on which other models differ make it so."""
    own = scores[both, i]
    if len(np.unique(own)) >= _VARIED:
        return True
    others = np.delete(scores[both], [i, j], axis=1)
    if not np.isin(scores[~np.isnan(scores)], (0.0, 1.0)).all() or others.shape[1] < _FEWEST_OTHERS:
        return False
    seen = ~np.isnan(others)
    # Each model at its own level would agree more often than these shares say; items that others find mixed count for little.
    share = (np.where(seen, others, 0.0).sum(axis=1) + 1.0) / (seen.sum(axis=1) + 2.0)
    level: Ints | float = float(own.mean())
    if level in (0.0, 1.0):
        return False
    agree = np.maximum(share**2 + (1.0 - share) ** 2, level**2 + (1.0 - level) ** 2)
    return float(np.log(agree).sum()) < np.log(_CHANCE)
