"""Items that are copies of each other, that tell nothing, that nobody gets right, or that hang together; runs that drift."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.audit.panel import NotChecked, Observation, Panel, Treatment
from evalstats.analysis.design.averages import other_averages
from evalstats.analysis.design.clusters import candidate_groups, group_columns, kind_of, label_of, usable_factors
from evalstats.analysis.design.entries import ENTRY, with_entries
from evalstats.document.numbers import number, share_in_percent
from evalstats.errors import Option
from evalstats.grammar import and_list, plural, plural_of
from evalstats.schema.columns import is_partition_by_name
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.factor_dependence import FactorDependence, double_centred, factor_dependence
from evalstats.stats.item_quality import item_information, repeated_rows
from evalstats.stats.one_sample import satterthwaite_df
from evalstats.stats.score_drift import FEWEST_RUNS, RunDrift, run_drifts
from evalstats.table.items import (
    EARLIEST,
    FIRST_LOCATOR,
    HELPER,
    ITEM_KEY,
    LATEST,
    Bools,
    Floats,
    Ints,
    item_factors,
    row_counts,
)

# Columns that hold what an item says, or a digest of it.
_CONTENT = ("doc_hash", "prompt_hash", "input_hash", "question", "prompt", "input", "instruction", "text")
_NUMBER = f"{HELPER}number"
_FEWEST_CHARACTERS = 6
_FEWEST_MODELS = 3
_FEWEST_FOR_UNSOLVABLE, _MANY = 8, 0.05
_SHOWN = 5
_MOST_LACKING = 0.5


def near_duplicates(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Items with the same text, or with the same scores of all models more often than chance gives."""
    same_text = _same_content(panel)
    if same_text is not None:
        name, codes = same_text[0].removesuffix("_digest"), same_text[1]
        groups = np.bincount(codes)
        copies = groups[codes] > 1
        n_copies, n_groups = int(copies.sum()), int((groups > 1).sum())
        yield Observation(
            kind="near-duplicate items",
            text=f"{n_copies:,} of {plural(panel.items.height, 'item')} share a {name} with another ({n_groups:,} in all)",
            remedy="Keep one of each, or count copies as one cluster",
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
        remedy="Look for copies and templates, and cluster by what they share",
        n_items=found.n_rows - found.n_distinct,
        examples=_copies(panel, found.group),
        # Right-or-wrong rows agree by chance too, and grouping by them would be grouping by the outcome.
        treatments=(Treatment(words="with equal rows as one cluster", clusters=found.group),) if graded else (),
    )


def unlike_levels(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Levels of a usual factor (task, subject, category, language, ...) that differ in size, where averages can part."""
    names = [name for name in group_columns(panel.rows) if name not in panel.clusters]
    factors = item_factors(panel.rows, [name for name in names if name not in ITEM_KEY])
    items = factors.with_columns(panel.items["task"])
    averages = [each for each in other_averages(panel.data, items) if each.column not in panel.clusters]
    if not averages:
        return
    if np.isnan(panel.scores).any(axis=1).mean() > _MOST_LACKING:
        yield NotChecked(kind="average", reason="more than half of the items lack a score of some model")
        return
    yield Observation(
        kind="average",
        text=f"A mean of all items is the {' and the '.join(replace(each, kind='micro').words(items) for each in averages)}",
        remedy=("State which average is meant; ", Option("average", "macro"), " weights levels equally"),
        treatments=tuple(
            Treatment(words=f"with {plural_of(each.label)} weighted equally", strata=strata.codes)
            for each in averages
            if (strata := each.strata(items)) is not None
        ),
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
            remedy="Plan with the number of items that tell models apart; more of the others add nothing",
            n_items=int(found.tied.sum()),
            examples=panel.item_names(found.tied, _SHOWN),
        )
    if m < _FEWEST_FOR_UNSOLVABLE:
        yield NotChecked(kind="unsolvable items", reason=f"there are fewer than {_FEWEST_FOR_UNSOLVABLE} models")
    elif worst.sum() > _MANY * n:
        share = share_in_percent(float(worst.sum()) / n)
        yield Observation(
            kind="unsolvable items",
            text=f"No model gets {int(worst.sum()):,} of {plural(n, 'item')} right ({share})",
            remedy="Check the keys and tests of some of them: they change no difference, but every score",
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
    for name in (*_CONTENT, *(name for name in panel.rows.columns if name.endswith("_digest"))):
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
    for metric in levels_of(others["metric"]):
        cells = others.filter(pl.col("metric") == metric)
        cells = cells.select(*key, ENTRY, "score", pl.Series(_NUMBER, row_counts(cells))).drop_nulls("score")
        if not cells.height:
            continue
        mean = (pl.col("score") * pl.col(_NUMBER)).sum() / pl.col(_NUMBER).sum()
        wide = cells.group_by(*key, ENTRY, maintain_order=True).agg(mean.alias("score"))
        wide = wide.pivot(ENTRY, index=key, values="score")
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


_SHOWN_FACTORS = 3
_FEWEST_DF = 4.0
# A stratum for drift needs so many items on average.
_FEWEST_IN_STRATUM = 20


def groups_and_drift(panel: Panel) -> Iterator[Observation | NotChecked]:
    """Look which factors the differences between models go by, then for runs that change beyond these."""
    if len(panel.models) < 2:
        yield NotChecked(kind="dependence", reason="there is one model")
        yield NotChecked(kind="drift", reason="there is one model")
        return
    every = _factors(panel)
    # Fewer levels are these levels and no sample of more.
    factors, few = (
        {name: codes for name, codes in every.items() if (codes.max() + 1 < FEW_CLUSTERS) == small}
        for small in (False, True)
    )
    found = [each for each in _dependence(panel, factors) if each.matters]
    if not factors:
        yield NotChecked(kind="dependence", reason="no column groups items")
    else:
        # Levels that are a sample of more, or tests of which their items are copies.
        residuals = double_centred(panel.scores, ~np.isnan(panel.scores))
        samples: list[FactorDependence] = []
        for each in found:
            named = is_partition_by_name(label_of(each.factor, panel.data.factor_names()))
            kind, copies = kind_of(factors[each.factor], residuals, named=named)
            samples += [each] if kind == "sample" or copies else []
        if samples:
            yield _dependent(panel, samples, factors)
    # Tasks that follow one another in the file are no change of the run, however small they are.
    found += [each for each in _dependence(panel, few) if (each.p_adjusted or 1.0) <= 1.0 - panel.conf_level]
    # The levels of the factor that the differences go by most, of those with enough items in each.
    usable = [each for each in found if each.n_levels <= panel.items.height / _FEWEST_IN_STRATUM]
    yield from _drift(panel, every[usable[0].factor] if usable else None)


def _factors(panel: Panel) -> dict[str, Ints]:
    """Return the codes of every column that groups items, of those with the same groups the first."""
    names = candidate_groups(panel.data, panel.metric, group_columns(panel.data.outcomes), contrast="system").names
    codes: dict[str, Ints] = {}
    for name in (*names, "item"):
        if name not in panel.clusters:
            level = panel.items["item"] if name == "item" else first_rows(panel, name)
            codes[name] = level.cast(pl.String).fill_null("").rank("dense").cast(pl.Int64).to_numpy().astype(np.int64)
    return usable_factors(codes, panel.items.height)


def _dependence(panel: Panel, factors: Mapping[str, Ints]) -> tuple[FactorDependence, ...]:
    """Measure the dependence by each factor, between the clusters that are known already if there are any."""
    scores = panel.scores
    if panel.codes is None:
        return factor_dependence(scores, factors)
    n = int(panel.codes.max()) + 1
    first = np.unique(panel.codes, return_index=True)[1]
    whole = {name: codes[first] for name, codes in factors.items() if np.array_equal(codes[first][panel.codes], codes)}
    means: Floats = np.full((n, scores.shape[1]), np.nan)
    for model in range(scores.shape[1]):
        seen = ~np.isnan(scores[:, model])
        count = np.bincount(panel.codes[seen], minlength=n)
        total = np.bincount(panel.codes[seen], weights=scores[seen, model], minlength=n)
        np.divide(total, count, out=means[:, model], where=count > 0)
    return factor_dependence(means, whole)


def _dependent(panel: Panel, found: list[FactorDependence], factors: Mapping[str, Ints]) -> Observation:
    label = {each.factor: label_of(each.factor, panel.data.factor_names()) for each in found}
    first = found[0]
    told = f"Differences between models go by {label[first.factor]} ({first.n_levels} levels, design effect {_effect(first)})"
    others = [f"{label[each.factor]} ({each.n_levels}, {_effect(each)})" for each in found[1:_SHOWN_FACTORS]]
    return Observation(
        kind="dependence",
        text=told + (f", and by {and_list(others)}" if others else ""),
        remedy=(
            f"If these {first.n_levels} {plural_of(label[first.factor])} are all you ask about, add ",
            Option("cluster", "none"),
        ),
        treatments=tuple(
            Treatment(words=f"clustered by {label[each.factor]}", clusters=factors[each.factor])
            for each in found[:_SHOWN_FACTORS]
            # With fewer degrees of freedom every verdict is inconclusive.
            if satterthwaite_df(np.bincount(factors[each.factor]) / panel.items.height) >= _FEWEST_DF
        ),
    )


def _effect(found: FactorDependence) -> str:
    return number(found.design_effect, 1)


# --- order ---


def _drift(panel: Panel, strata: Ints | None) -> Iterator[Observation | NotChecked]:
    if len(panel.models) < FEWEST_RUNS:
        yield NotChecked(kind="drift", reason=f"there are fewer than {FEWEST_RUNS} models")
        return
    order = _order(panel)
    if np.isnan(order).all():
        yield NotChecked(kind="drift", reason="no row has a time or a place in its file")
        return
    tested = run_drifts(panel.scores, order, strata=strata)
    if not tested:
        yield NotChecked(
            kind="drift",
            reason="the items come sorted by difficulty, or are too few, so no run's drift can be separated",
        )
    clear = [each for each in tested if each.clear]
    if clear:
        yield _drifting(panel, clear, order)


def _order(panel: Panel) -> Floats:
    """Return when each model came to each item: by time, else by the place in its file; NaN where neither is known."""
    rows, model = panel.rows, pl.Series(panel.model)
    time = rows["timestamp"].dt.epoch("us").cast(pl.Float64)
    # Of merged rows the time and the place of the first.
    ends = [rows[name] for name in (EARLIEST, LATEST) if name in rows.columns] or [rows["timestamp"]] * 2
    known = (
        pl.DataFrame({"model": model, "time": time, "earliest": ends[0], "latest": ends[1], "run": rows["run"]})
        .group_by("model")
        .agg(
            one_file=pl.col("run").n_unique() == 1,
            timed=(pl.col("time").null_count() == 0) & (pl.col("earliest").min() < pl.col("latest").max()),
        )
    )
    timed, one_file = (np.isin(panel.model, known.filter(name)["model"]) for name in ("timed", "one_file"))
    locator = rows[FIRST_LOCATOR if FIRST_LOCATOR in rows.columns else "locator"]
    places = locator.cast(pl.String).str.extract(r"(\d+)\D*$").cast(pl.Float64, strict=False).fill_null(np.nan)
    chosen = np.where(timed, time.fill_null(np.nan).to_numpy(), np.where(one_file, places.to_numpy(), np.nan))
    return panel.firsts(chosen, np.nan)


def _drifting(panel: Panel, clear: list[RunDrift], order: Floats) -> Observation:
    first = clear[0]
    scale, unit = panel.metric.scale, panel.metric.shown_unit
    change = number(first.change * scale, 1 if scale > 1 else 2, sign=True)
    rest = f"; so do {len(clear) - 1} more" if len(clear) > 1 else ""
    treatments: list[Treatment] = []
    for each in clear[:_SHOWN_FACTORS]:
        own = order[panel.item, panel.model]
        places = np.sort(order[np.isfinite(order[:, each.run]), each.run])
        cut = places[min(round(each.at * places.size), places.size - 1)]
        late = (panel.model == each.run) & (own >= cut)
        treatments.append(
            Treatment(
                words=f"without what {panel.models[each.run]} did after the first {share_in_percent(each.at)}",
                keep=~late,
            )
        )
    return Observation(
        kind="drift",
        text=(
            f"The scores of {panel.models[first.run]} change by about {change}{f' {unit}' if unit else ''} after the first "
            f"{share_in_percent(first.at)} of its items, against the others on the same ones{rest}"
        ),
        remedy="Look in its log for errors, limits or a new version from there on",
        models=tuple(panel.models[each.run] for each in clear),
        treatments=tuple(treatments),
    )
