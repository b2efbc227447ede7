"""Rows without a score, and items that only some models were run on: who is concerned, and what they would change."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from evalstats.aggregate.items import Bools
from evalstats.analysis.audit.panel import ITEM, NotChecked, Observation, Panel, Treatment
from evalstats.analysis.leaderboard.comparability import MIN_SHARED
from evalstats.analysis.leaderboard.entries import ENTRY
from evalstats.document.numbers import plural, share_in_percent

# Items that all models have stand for all items where they are so many of them.
_MOST = 0.5


def harness_errors(panel: Panel) -> Iterator[Observation]:
    """Rows on which the harness failed, left out of every mean: would the conclusions differ if they counted?"""
    rows = panel.status == "error"
    if not rows.any():
        return
    yield Observation(
        kind="harness errors",
        text=f"{_count(panel, rows, 'row', ('is a harness error', 'are harness errors'))}{_most(panel, rows)}",
        remedy="run them again, or say before looking whether they count as failures",
        n_rows=int(rows.sum()),
        models=panel.models_of(rows),
        examples=_reasons(panel, rows),
        treatments=_counted(panel, rows, both_ends=True),
    )


def missing_scores(panel: Panel) -> Iterator[Observation]:
    """Rows that ran and got no score, without those that a judge left open."""
    rows = (panel.status == "unscored") & ~_judged(panel)
    if not rows.any():
        return
    yield Observation(
        kind="missing scores",
        text=f"{_count(panel, rows, 'answer', ('has no score', 'have no score'))}{_most(panel, rows)}",
        remedy="say before looking how such answers count",
        n_rows=int(rows.sum()),
        models=panel.models_of(rows),
        examples=_reasons(panel, rows),
        treatments=(*_counted(panel, rows), *_without_their_items(panel, rows)),
    )


def judge_failures(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Answers that a judge was given and did not score."""
    judged = _judged(panel)
    if not judged.any():
        yield NotChecked(kind="judge failures", reason="no row names a judge")
        return
    rows = judged & (panel.status == "unscored")
    if not rows.any():
        return
    yield Observation(
        kind="judge failures",
        text=f"{_count(panel, rows, 'answer', ('was', 'were'))} judged and got no score{_most(panel, rows)}",
        remedy="have them judged again",
        n_rows=int(rows.sum()),
        models=panel.models_of(rows),
        examples=_reasons(panel, rows),
        treatments=(*_counted(panel, rows, both_ends=True), *_without_their_items(panel, rows)),
    )


def item_sets(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Items that only some of the models were run on: averages over each model's own items are of other things."""
    n, m = panel.shape
    if m < 2:
        yield NotChecked(kind="item sets", reason="there is one model")
        return
    present = panel.present
    lacking: Bools = present.sum(axis=1) < m
    if not lacking.any():
        return
    shared = n - int(lacking.sum())
    sizes = present.sum(axis=0)
    order = sorted(range(m), key=lambda j: int(sizes[j]))
    fewest = order[0]
    text = f"models were run on different items: all share {shared:,} of {n:,}, and {panel.models[fewest]} has {sizes[fewest]:,}"
    yield Observation(
        kind="item sets",
        text=text,
        remedy="compare models on the items that they share, never by averages over their own",
        n_items=int(lacking.sum()),
        models=tuple(panel.models[j] for j in order[:5] if sizes[j] < n),
        examples=panel.item_names(lacking),
        treatments=_complete(panel, present),
    )


def run_item_sets(panel: Panel) -> Iterator[Observation]:
    """Find systems whose runs share items and yet hold different ones: versions of a benchmark, or runs that were cut."""
    cells = panel.rows.select(ENTRY, "run").with_columns(pl.Series(ITEM, panel.item)).unique()
    per_item = cells.group_by(ENTRY, ITEM).agg(pl.len().alias("n"))
    of_model = per_item.group_by(ENTRY).agg(pl.col("n").max().alias("most"), pl.len().alias("items"))
    runs = cells.select(ENTRY, "run").unique().group_by(ENTRY).agg(pl.len().alias("runs"))
    of_model = of_model.join(runs, on=ENTRY).filter(pl.col("most") > 1)
    per_item = per_item.join(of_model, on=ENTRY).with_columns((pl.col("n") == pl.col("runs")).alias("whole"))
    partial = per_item.filter(~pl.col("whole"))
    if not partial.height:
        return
    first = str(partial.group_by(ENTRY).len().sort("len", ENTRY, descending=[True, False])[ENTRY][0])
    own = per_item.filter(pl.col(ENTRY) == first)
    shared = int(own["whole"].sum())
    models = partial[ENTRY].unique().sort().to_list()
    also = f", and those of {plural(len(models) - 1, 'other model')} differ too" if len(models) > 1 else ""
    concerned = np.zeros(panel.shape[0], dtype=np.bool_)
    concerned[partial[ITEM].unique().to_numpy()] = True
    kept = int((~concerned).sum())
    words = f"on the {plural(kept, 'item')} that all {'its ' if len(models) == 1 else ''}runs hold"
    yield Observation(
        kind="item sets",
        text=f"the {own['runs'][0]} runs of {first} hold different items: all share {shared:,} of {own.height:,}{also}",
        remedy="find out which set of items is meant, and compare on that one",
        n_items=int(concerned.sum()),
        models=tuple(models[:5]),
        examples=panel.item_names(concerned),
        treatments=(Treatment(words=words, keep=panel.of_items(~concerned)),) if kept >= MIN_SHARED else (),
    )


def _judged(panel: Panel) -> Bools:
    return panel.rows["judge"].is_not_null().to_numpy()


def _counted(panel: Panel, rows: Bools, *, both_ends: bool = False) -> tuple[Treatment, ...]:
    """Give some rows the worst score, or (in turn) either end of the scale; nothing where the metric has no end."""
    metric = panel.metric
    ends = [metric.low, metric.high] if both_ends else [metric.worst]
    return tuple(
        Treatment(words=f"counted as {end:g}", score=np.where(rows, end, panel.score))
        for end in ends
        if end is not None
    )


def _without_their_items(panel: Panel, rows: Bools) -> tuple[Treatment, ...]:
    """Leave out, for all models, the items on which any has such a row."""
    concerned: Bools = panel.count(rows).sum(axis=1) > 0
    if concerned.mean() > 1.0 - _MOST:
        return ()
    words = f"without the {plural(int(concerned.sum()), 'item')} concerned"
    return (Treatment(words=words, keep=~panel.of_items(concerned)),)


def _complete(panel: Panel, there: Bools) -> tuple[Treatment, ...]:
    """Keep the items that all models have, if these are most: a small remainder would be other items, not another handling."""
    whole: Bools = there.sum(axis=1) == there.shape[1]
    if whole.mean() < _MOST or whole.all():
        return ()
    return (
        Treatment(words=f"on the {plural(int(whole.sum()), 'item')} that all models have", keep=panel.of_items(whole)),
    )


def _count(panel: Panel, rows: Bools, noun: str, verbs: tuple[str, str]) -> str:
    n = int(rows.sum())
    return f"{n:,} of {plural(panel.rows.height, noun)} {verbs[n > 1]}"


def _most(panel: Panel, rows: Bools) -> str:
    """Name the model with the largest share of these rows, where shares differ."""
    share = panel.shares(rows)
    top = int(np.argmax(share))
    if len(share) < 2 or share[top] < 1.5 * rows.mean():
        return ""
    return f", {share_in_percent(float(share[top]))} of {panel.models[top]}'s"


def _reasons(panel: Panel, rows: Bools, most: int = 3) -> tuple[str, ...]:
    """Return the commonest reasons that the files give."""
    counted = panel.rows["status_reason"].filter(rows.tolist()).drop_nulls().value_counts(sort=True)
    return tuple(str(text) for text in counted["status_reason"].head(most).to_list())
