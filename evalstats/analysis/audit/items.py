"""Items that are copies of each other, that tell models nothing apart, or that no model gets right."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from evalstats.aggregate.items import ITEM_KEY, Bools, Floats, Ints
from evalstats.analysis.audit.panel import NotChecked, Observation, Panel, Treatment
from evalstats.analysis.leaderboard.entries import ENTRY, with_entries
from evalstats.document.numbers import plural, share_in_percent
from evalstats.stats.item_quality import item_information, repeated_rows

# Columns that hold what an item says, or a digest of it.
_CONTENT = ("doc_hash", "prompt_hash", "input_hash", "question", "prompt", "input", "instruction", "text")
_FEWEST_CHARACTERS = 6
_FEWEST_MODELS = 3
_FEWEST_FOR_UNSOLVABLE, _MANY = 8, 0.05
_SHOWN = 5


def near_duplicates(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Items with the same text, or with the same scores of all models more often than chance gives."""
    same_text = _same_content(panel)
    if same_text is not None:
        name, codes = same_text
        groups = np.bincount(codes)
        copies = groups[codes] > 1
        n_copies, n_groups = int(copies.sum()), int((groups > 1).sum())
        yield Observation(
            kind="near-duplicate items",
            text=f"{n_copies:,} of {plural(panel.items.height, 'item')} share a {name} with another ({n_groups:,} in all)",
            remedy="keep one of each, or count copies as one cluster",
            n_items=n_copies,
            examples=_copies(panel, codes),
            treatments=(Treatment(words="with copies as one cluster", clusters=codes),),
        )
    if len(panel.models) < 2:
        yield NotChecked(kind="near-duplicate items", reason="there is one model")
        return
    scores, models = _all_scores(panel)
    found = repeated_rows(scores, models=models)
    if found is None or not found.far_fewer:
        return
    graded = np.unique(scores[~np.isnan(scores)]).size > 2
    yield Observation(
        kind="near-duplicate items",
        text=(
            f"{plural(found.n_rows, 'item')} have only {found.n_distinct:,} different rows of scores, where about "
            f"{found.expected:,.0f} are expected"
        ),
        remedy="look for copies and templates, and cluster by what they share",
        n_items=found.n_rows - found.n_distinct,
        examples=_copies(panel, found.group),
        # Right-or-wrong rows agree by chance too, and grouping by them would be grouping by the outcome.
        treatments=(Treatment(words="with equal rows as one cluster", clusters=found.group),) if graded else (),
    )


def uninformative_items(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Items on which every model has the same score, and items that none gets right."""
    metric, m = panel.metric, len(panel.models)
    reason = None
    if m < _FEWEST_MODELS:
        reason = f"there are fewer than {_FEWEST_MODELS} models"
    elif metric.low is None or metric.high is None:
        reason = "the metric has no lowest and highest score"
    if metric.low is None or metric.high is None or reason is not None:
        yield NotChecked(kind="saturated items", reason=str(reason))
        yield NotChecked(kind="unsolvable items", reason=str(reason))
        return
    found = item_information(panel.scores, low=metric.low, high=metric.high)
    best, worst = (
        (found.saturated, found.unsolvable) if metric.higher_is_better else (found.unsolvable, found.saturated)
    )
    n = int(found.informative.sum() + found.tied.sum())
    if found.informative.sum() < n / 2:
        yield Observation(
            kind="saturated items",
            text=(
                f"{int(found.informative.sum()):,} of {plural(n, 'item')} tell models apart: all models get {int(best.sum()):,} "
                f"right and {int(worst.sum()):,} wrong"
            ),
            remedy="plan with the number of items that tell models apart; more of the others add nothing",
            n_items=int(found.tied.sum()),
            examples=panel.item_names(found.tied, _SHOWN),
        )
    if m < _FEWEST_FOR_UNSOLVABLE:
        yield NotChecked(kind="unsolvable items", reason=f"there are fewer than {_FEWEST_FOR_UNSOLVABLE} models")
    elif worst.sum() > _MANY * n:
        share = share_in_percent(float(worst.sum()) / n)
        yield Observation(
            kind="unsolvable items",
            text=f"no model gets {int(worst.sum()):,} of {plural(n, 'item')} right ({share})",
            remedy="check the keys and tests of some of them: they change no difference, but every score",
            n_items=int(worst.sum()),
            examples=panel.item_names(worst, _SHOWN),
        )


def first_rows(panel: Panel, name: str) -> pl.Series:
    """Return the value of a column for every item: that of its first row that has one."""
    filled = np.flatnonzero(panel.rows[name].is_not_null().to_numpy())
    place = np.full(panel.items.height, -1, dtype=np.int64)
    place[panel.item[filled[::-1]]] = filled[::-1]
    taken = panel.rows[name].gather(np.maximum(place, 0))
    return pl.select(pl.when(pl.Series(place >= 0)).then(taken)).to_series().alias(name)


def differing_items(panel: Panel, name: str) -> Bools:
    """Return the items of which some rows have another value of a column than the first, shape (n_items,)."""
    values = panel.rows[name]
    other = values.is_not_null() & (values != first_rows(panel, name).gather(panel.item)).fill_null(value=False)
    differ = np.zeros(panel.items.height, dtype=np.bool_)
    differ[panel.item[other.to_numpy()]] = True
    return differ


def _same_content(panel: Panel) -> tuple[str, Ints] | None:
    """Return the column by which items have the same content, and the group of every item; None where none has."""
    for name in _CONTENT:
        if name not in panel.rows.columns or not isinstance(panel.rows[name].dtype, pl.String | pl.Categorical):
            continue
        if differing_items(panel, name).any():
            continue
        text = first_rows(panel, name).cast(pl.String)
        usable = (text.str.len_chars() >= _FEWEST_CHARACTERS).fill_null(value=False)
        # Versions of an item may well share their text: only other items count.
        own = pl.concat_str("task", "item", separator="\x1f")
        frame = panel.items.select(own.alias("own")).with_columns(
            pl.when(usable).then(text).otherwise(pl.format("\x1f{}", pl.int_range(pl.len()))).alias("text")
        )
        several = frame.group_by("text").agg(pl.col("own").n_unique().alias("n")).filter(pl.col("n") > 1)
        if several.height and several.height < frame["text"].n_unique() / 2:
            return name, frame["text"].rank("dense").cast(pl.Int64).to_numpy().astype(np.int64) - 1
    return None


def _all_scores(panel: Panel) -> tuple[Floats, Ints]:
    """Return a column for every model and every metric of the benchmark, and the code of each column's model."""
    rows = with_entries(panel.data.outcomes.filter(pl.col("benchmark") == panel.metric.benchmark), "model")[0]
    others = rows.filter((pl.col("metric") != panel.metric.name) & pl.col(ENTRY).is_in(list(panel.models)))
    tables, models = [panel.scores], list(range(len(panel.models)))
    key = list(ITEM_KEY)
    for metric in others["metric"].unique().sort().to_list():
        cells = others.filter(pl.col("metric") == metric).select(*key, ENTRY, "score")
        wide = cells.pivot(ENTRY, index=key, values="score", aggregate_function="mean")
        names = [name for name in wide.columns if name not in key]
        placed = panel.items.join(wide, on=key, how="left", maintain_order="left").select(names)
        tables.append(placed.cast(pl.Float64).to_numpy())
        models += [panel.models.index(name) for name in names]
    return np.column_stack(tables), np.array(models, dtype=np.int64)


def _copies(panel: Panel, codes: Ints) -> tuple[str, ...]:
    """Name the items of the largest groups, a group in one line."""
    sizes = np.bincount(codes)
    largest = np.argsort(-sizes, kind="stable")[:_SHOWN]
    return tuple(", ".join(panel.item_names(codes == group, 4)) for group in largest if sizes[group] > 1)
