"""Rows without a score, items that only some models were run on, and scores not of the scale they seem to be of."""

import re
from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import polars as pl

from evalstats.analysis.audit.panel import ITEM, NotChecked, Observation, Panel, Treatment
from evalstats.analysis.design.entries import ENTRY, MIN_SHARED
from evalstats.analysis.design.metric import is_no_score
from evalstats.document.numbers import number, share_in_percent
from evalstats.errors import Advice, Option
from evalstats.grammar import and_list, is_are, plural
from evalstats.stats.score_scales import lone_code
from evalstats.table.items import Bools

# Items that all models have stand for all items where they are so many of them.
_MOST = 0.5


def harness_errors(panel: Panel) -> Iterator[Observation]:
    """Rows on which the harness failed, left out of every mean: would the conclusions differ if they counted?"""
    rows = panel.has_status("error")
    if not rows.any():
        return
    yield Observation(
        kind="harness errors",
        remedy="Run them again, or decide before looking whether they count as failures",
        treatments=_counted(panel, rows, both_ends=True),
        **_concerned(panel, rows, "row", ("is a harness error", "are harness errors")),
    )


def missing_scores(panel: Panel) -> Iterator[Observation]:
    """Rows that ran and got no score, without those that a judge left open."""
    rows = panel.has_status("unscored") & ~_judged(panel)
    if not rows.any():
        return
    yield Observation(
        kind="missing scores",
        remedy="Decide before looking how such answers count",
        treatments=(*_counted(panel, rows), *_without_their_items(panel, rows)),
        **_concerned(panel, rows, "answer", ("has no score", "have no score")),
    )


def judge_failures(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Answers that a judge was given and did not score."""
    judged = _judged(panel)
    if not judged.any():
        yield NotChecked(kind="judge failures", reason="no row names a judge")
        return
    rows = judged & panel.has_status("unscored")
    if not rows.any():
        return
    yield Observation(
        kind="judge failures",
        remedy="Have them judged again",
        treatments=(*_counted(panel, rows, both_ends=True), *_without_their_items(panel, rows)),
        **_concerned(panel, rows, "answer", ("was judged and got no score", "were judged and got no score")),
    )


def item_sets(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Items that only some of the models were run on: averages over each model's own items are of other things.

    Of users of their own it is how many each model has: what sorts them against chance may be what the models differ by.
    """
    n, m = panel.shape
    if panel.split is not None:
        yield Observation(kind="item sets", text=panel.split.text, remedy=panel.split.remedy)
    if panel.different:
        return
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
    treatments: list[Treatment] = []
    if shared >= _MOST * n:
        # A small remainder would be other items, not another handling of these.
        words = f"on the {plural(shared, 'item')} that all models have"
        treatments.append(Treatment(words=words, keep=panel.of_items(~lacking)))
        # Failures may be what is missing; and a model that is behind may have been ahead there, as a comparison asks too.
        worst = panel.metric.worst
        ends = [] if worst is None else [worst, panel.metric.low, panel.metric.high]
        treatments += [
            Treatment(words=f"counted as {end:g} where they are missing", absent=end)
            for end in dict.fromkeys(ends)
            if end is not None
        ]
    text = f"Models were run on different items: all share {shared:,} of {n:,}, and {panel.models[fewest]} has {sizes[fewest]:,}"
    yield Observation(
        kind="item sets",
        text=text,
        remedy="Compare models on the items that they share, never by averages over their own",
        n_items=int(lacking.sum()),
        models=tuple(panel.models[j] for j in order[:5] if sizes[j] < n),
        examples=panel.item_names(lacking),
        treatments=tuple(treatments),
    )


def run_item_sets(panel: Panel) -> Iterator[Observation]:
    """Find systems whose runs share items and yet hold different ones: versions of a benchmark, or runs that were cut."""
    runs = panel.rows.group_by(ENTRY).agg(pl.col("run").n_unique().alias("runs")).filter(pl.col("runs") > 1)
    several = pl.col(ENTRY).is_in(runs[ENTRY].to_list())
    cells = panel.rows.select(ENTRY, "run").with_columns(pl.Series(ITEM, panel.item)).filter(several).unique()
    per_item = cells.group_by(ENTRY, ITEM).agg(pl.len().alias("n"))
    of_model = per_item.group_by(ENTRY).agg(pl.col("n").max().alias("most"), pl.len().alias("items"))
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
        text=f"The {own['runs'][0]} runs of {first} hold different items: all share {shared:,} of {own.height:,}{also}",
        remedy="Find out which set of items is meant, and compare on that one",
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


class _Concerned(TypedDict):
    text: str
    n_rows: int
    models: tuple[str, ...]
    examples: tuple[str, ...]


def _concerned(panel: Panel, rows: Bools, noun: str, verbs: tuple[str, str]) -> _Concerned:
    """Say how many rows are concerned, whose most of all where shares differ, and the commonest reasons in the files."""
    n, share = panel.number(rows), panel.shares(rows)
    top = int(np.argmax(share))
    apart = len(share) > 1 and share[top] >= 1.5 * n / panel.n_rows
    whose = f", {share_in_percent(float(share[top]))} of {panel.models[top]}'s" if apart else ""
    told = panel.rows.select("status_reason", pl.Series("n", panel.counts)).filter(pl.Series(rows)).drop_nulls()
    reasons = told.group_by("status_reason").agg(pl.col("n").sum()).sort("n", "status_reason", descending=[True, False])
    return _Concerned(
        text=f"{n:,} of {plural(panel.n_rows, noun)} {verbs[n > 1]}{whose}",
        n_rows=n,
        models=panel.models_of(rows),
        examples=tuple(map(str, reasons["status_reason"].head(3).to_list())),
    )


# What harnesses write where an answer, or a judge's verdict, could not be read.
_UNREAD = re.compile(
    r"\[?invalid\]?|n/?a|nan|null|none|error\b.*|time[d ]*-?out.*|no answer(?: found)?|unpars(?:e?able|ed).*|"
    r".*(?:could not|cannot|can't|couldn't|failed to|unable to) (?:be )?(?:parse|extract|read|find|match).*|"
    r".*(?:parse|parsing|extraction)[ _-](?:error|failed|failure).*",
    re.IGNORECASE | re.DOTALL,
)
# Columns of the source that say what failed.
_ERRORS = re.compile(r"(?:^|_)(?:error|exception)(?:$|_(?:message|msg|type))", re.IGNORECASE)
_ENOUGH = 20
_MOST_TEXTS = 100_000


def failure_codes(panel: Panel) -> Iterator[Observation]:
    """Find a lone value far from all others (-1, 999), and worst scores of rows that failed or could not be read."""
    values, place = np.unique(panel.score[panel.scored], return_inverse=True)
    weights = panel.counts[panel.scored]
    counts = np.bincount(place.reshape(-1), weights=weights, minlength=len(values)).astype(np.int64)
    code = lone_code(values, counts) if panel.metric.low is None or panel.metric.is_share or panel.refusal else None
    if code is not None:
        rows, others = panel.score == code, values[values != code]
        n = panel.number(rows)
        yield _coded(
            panel,
            rows,
            text=f"{plural(n, 'score')} {is_are(n)} {code:g}, far from all others "
            f"({others[0]:g} to {others[-1]:g}), and counted in the mean",
            remedy=is_no_score(code),
        )
    said = _failure_texts(panel)
    failed = said.is_not_null().to_numpy()
    if failed.any():
        yield _coded(
            panel,
            failed,
            text=f"{plural(panel.number(failed), 'score')} of {panel.metric.worst:g} have an error, or a raw value that says "
            "nothing was read",
            remedy=(
                "Decide before looking whether such answers count as wrong; for errors of the harness, which do not, say ",
                Option("map", of="error", blank="COLUMN"),
            ),
            examples=tuple(said.drop_nulls().unique().sort().head(3).to_list()),
        )


def scale_oddities(panel: Panel) -> Iterator[Observation]:
    """Find scores outside their range or of two scales, a binary metric with fractions, and models with one value alone."""
    if panel.refusal is not None:
        text, _, remedy = panel.refusal.partition(". ")
        text, _, more = text.partition("; declare") if not remedy else (text, "", "")
        yield Observation(
            kind="scale",
            text=text,
            remedy=remedy or (f"declare{more}" if more else "Declare what the metric is in evalstats.toml"),
            treatments=_as_shares(panel),
        )
    else:
        told = [code.remedy for code in failure_codes(panel)]
        for note in panel.metric.cautions:
            if note.remedy not in told:
                yield Observation(kind="scale", text=note.text, remedy=note.remedy)
    yield from _fractions(panel)
    yield from _one_value(panel)


def _coded(panel: Panel, rows: Bools, *, text: str, remedy: Advice, examples: tuple[str, ...] = ()) -> Observation:
    without = Treatment(words="without them", score=np.where(rows, np.nan, panel.score))
    is_worst = bool((panel.score[rows] == panel.metric.worst).all())
    return Observation(
        kind="failure codes",
        text=text,
        remedy=remedy,
        n_rows=panel.number(rows),
        models=panel.models_of(rows),
        examples=examples,
        treatments=(without, *(() if is_worst else _counted(panel, rows))),
    )


def _failure_texts(panel: Panel) -> pl.Series:
    """Return what says of rows with the worst score that they failed or could not be read; null elsewhere.

    A column of errors may hold other words where nothing failed ("none", "ok"): these stand beside better scores too.
    """
    worst = panel.score == panel.metric.worst
    texts = {name: panel.rows[name] for name in ("value_raw", "status_reason")}
    errors = [name for name in panel.rows.columns if _ERRORS.search(name) and panel.rows.schema[name] == pl.String]
    said = pl.Series([None], dtype=pl.String).new_from_index(0, panel.rows.height)
    for name, column in (texts | {name: panel.rows[name] for name in errors}).items():
        levels = column.drop_nulls().unique()
        if levels.len() > _MOST_TEXTS:
            continue
        fine = {"", *column.filter(panel.scored & ~worst).drop_nulls().unique().to_list()}
        failures = [
            text
            for text in levels.to_list()
            if (text not in fine if name in errors else _UNREAD.fullmatch(text.strip()))
        ]
        said = said.zip_with(~(column.is_in(failures).fill_null(value=False) & pl.Series(worst)), column)
    return said


def _as_shares(panel: Panel) -> tuple[Treatment, ...]:
    """Take the scores of models that go beyond 1 for percentages, where those of others are shares."""
    top = np.full(len(panel.models), -np.inf)
    np.maximum.at(top, panel.model[panel.scored], panel.score[panel.scored])
    beyond = top > 1.0
    if not beyond.any() or beyond.all() or top.max() > 100.0 or panel.score[panel.scored].min() < 0:
        return ()
    score = np.where(beyond[panel.model], panel.score / 100.0, panel.score)
    return (Treatment(words="with percentages written as shares", score=score),)


def _fractions(panel: Panel) -> Iterator[Observation]:
    declared = panel.data.metrics.filter(
        (pl.col("benchmark") == panel.metric.benchmark)
        & (pl.col("metric") == panel.metric.name)
        & (pl.col("kind") == "binary")
    )
    rows = panel.scored & ~np.isin(panel.score, (0.0, 1.0)) & (panel.trials == panel.counts)
    if not declared.height or not rows.any() or panel.refusal is not None:
        return
    yield Observation(
        kind="scale",
        text=f"{plural(panel.number(rows), 'score')} of a right-or-wrong metric lie between 0 and 1",
        remedy="Check whether they are averages, or half credit that others do not give",
        n_rows=panel.number(rows),
        models=panel.models_of(rows),
        treatments=(
            Treatment(
                words="with half credit and less as wrong",
                score=np.where(rows & (panel.score <= 0.5), 0.0, panel.score),
            ),
        ),
    )


def _one_value(panel: Panel) -> Iterator[Observation]:
    """Say when nothing varies: over all models, or for one that has the worst score throughout while others do not."""
    values = np.unique(panel.score[panel.scored])
    if len(values) == 1 and panel.number(panel.scored) >= _ENOUGH:
        text = f"Every score is {values[0]:g}, so nothing can be compared"
        yield Observation(kind="scale", text=text, remedy="Check that the column is the intended score")
        return
    worst, scores = panel.metric.worst, panel.scores
    n = (~np.isnan(scores)).sum(axis=0)
    silent = [
        name
        for j, name in enumerate(panel.models)
        if n[j] >= _ENOUGH and bool((scores[~np.isnan(scores[:, j]), j] == worst).all())
    ]
    if silent and len(silent) < len(panel.models):
        yield Observation(
            kind="scale",
            text=f"Every score of {and_list(silent, 3)} is {number(worst, 0)}, consistent with a run that broke",
            remedy="Read some of the answers before comparing",
            models=tuple(silent[:5]),
        )
