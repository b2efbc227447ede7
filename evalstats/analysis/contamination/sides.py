"""Scores of all items under suspects and references, which of them are old and which new, and what is asked of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.contamination.latent_scale import LatentScores, latent_of_split, latent_of_twins, scale_for
from evalstats.analysis.contamination.result import Compared, WidthRow
from evalstats.analysis.design.clusters import chosen_clusters, label_of, named_clusters
from evalstats.analysis.design.entries import EntryTable, entries_of, entry_of, entry_table
from evalstats.analysis.design.metric import Metric
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option, together
from evalstats.grammar import plural, quoted_list
from evalstats.options import InflationScale
from evalstats.schema.data import EvalData
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FEW_CLUSTERS, FEW_ITEMS
from evalstats.stats.contamination import DateDensity, ItemContrast, split_contrast, twin_contrast
from evalstats.table.items import HELPER, ITEM_OF_VARIANTS
from evalstats.table.systems import System

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for, before anything was looked up."""

    metric: str | None
    suspects: tuple[str, ...] | None
    references: tuple[str, ...] | None
    cluster: str | Sequence[str] | None
    accept: tuple[str, ...]
    scale: InflationScale = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTable:
    """All items under all models in question; `values` are turned so that more is better, NaN where there is none.

    `clusters` are codes for each column of clusters, and `labels` their names. `references` is None where each suspect
    is held against all the others; `named`: suspects were named, rather than being all the models there are.
    """

    table: EntryTable
    metric: Metric
    values: Floats
    clusters: tuple[Ints, ...]
    labels: tuple[str, ...]
    suspects: tuple[str, ...]
    references: tuple[str, ...] | None
    named: bool
    compared: Compared
    compared_reason: str
    notes: tuple[str, ...]

    def column(self, name: str) -> list[str | None]:
        """Return the level of a column for every item, None where it has none or several."""
        if name not in self.table.table.items.columns:
            return [None] * len(self.table.table)
        return [None if level is None else str(level) for level in self.table.table.items[name].to_list()]

    def others(self, suspect: str) -> tuple[str, ...]:
        """Return the models that a suspect is held against."""
        if self.references is not None:
            return self.references
        return tuple(name for name in self.table.names if name != suspect)

    def grid(self, names: Sequence[str]) -> Floats:
        """Return the values of some models, shape (n_items, len(names))."""
        return np.asarray(self.values[:, [self.table.names.index(name) for name in names]], dtype=np.float64)

    def latent(self, values: Floats, old: Bools, level: float | None = None) -> LatentScores | None:
        """Return what the scores of a suspect and its references show of abilities; None where points are compared."""
        if self.compared == "points" or values.shape[1] < 2:
            return None
        return latent_of_split(values, old, self.metric, level)

    def measured_apart(self, suspect: str, others: Sequence[str]) -> str | None:
        """Return why a suspect cannot be held against these: they were measured by another ruler."""
        kind = dict(zip(self.table.names, self.table.kinds.kind, strict=True))
        apart = [name for name in others if kind[name] != kind[suspect]]
        if not apart:
            return None
        return f"measured otherwise than {quoted_list(apart)}: {self.table.kinds.why_apart()}"

    def left_out(self, short: Mapping[str, str]) -> tuple[str, ...]:
        """Return notes on the models with too few items; an error where one was named, or no suspect is left."""
        named = [name for name in short if name in (self.references or ()) or (self.named and name in self.suspects)]
        if named or all(name in short for name in self.suspects):
            raise CannotAnswerError(short[(named or list(short))[0]])
        return tuple(f"left out: {text}" for text in short.values())

    def of_groups(self) -> dict[str, Ints]:
        """Return the columns that may make items hang together and were not declared."""
        names = [name for name in self.table.groups if name not in self.labels]
        return {name: self.table.table.codes(name) for name in names if name in self.table.table.items.columns}


def item_table(data: EvalData, wanted: Wanted, column: str, *, paired: bool = False) -> ItemTable:
    """Reduce the rows to one value for every item and model; variants that are to be `paired` are no clusters."""
    _check_names(wanted)
    named = None if wanted.suspects is None or wanted.references is None else [*wanted.suspects, *wanted.references]
    metric, arms, notes = entries_of(data, metric=wanted.metric, models=named, contrast="model", least=1)
    if len(arms) < 2:
        alone = ", ".join(arm.name for arm in arms)
        raise CannotAnswerError(
            f"{alone} is the only model: without others to hold it against, what is difficulty cannot be told"
        )
    suspects = None if wanted.suspects is None else _resolved(arms, wanted.suspects, "suspect")
    references = None if wanted.references is None else _resolved(arms, wanted.references, "reference")
    extra = sorted({column, *named_clusters(data, wanted.cluster)})
    table = entry_table(
        data,
        metric,
        arms,
        contrast="model",
        named=extra,
        accept=wanted.accept,
        reference=suspects[0] if suspects else None,
    )
    for name in (*(suspects or ()), *(references or ())):
        table.place(name)
    contrast = "variant" if paired else "model"
    chosen, told = chosen_clusters(
        data, table.table, wanted.cluster, table.runs, contrast=contrast, counted=table.counted
    )
    chosen = tuple(name for name in chosen if not (paired and name == ITEM_OF_VARIANTS))
    codes = [table.table.codes(name) for name in chosen]
    compared, why = scale_for(metric, wanted.scale)
    every = tuple(name for name in table.names if name not in (references or ()))
    return ItemTable(
        table=table,
        metric=metric,
        values=table.values * (1.0 if metric.higher_is_better else -1.0),
        clusters=tuple(codes),
        labels=tuple(label_of(name, data.factor_names()) for name in chosen),
        suspects=every if suspects is None else suspects,
        references=references,
        named=suspects is not None,
        compared=compared,
        compared_reason=why,
        notes=(*told, *notes, *(text for arm in table.table.systems for text in arm.remarks)),
    )


def _check_names(wanted: Wanted) -> None:
    for names, role in ((wanted.suspects, "suspects"), (wanted.references, "references")):
        if names is not None and not names:
            raise InputError(f"{role} is empty; name at least one model, or leave it out")
        if names is not None and len(set(names)) < len(names):
            raise InputError(f"{role} names a model twice; name each once")
    both = sorted(set(wanted.suspects or ()) & set(wanted.references or ()))
    if both:
        raise InputError(f"{both[0]!r} is named as suspect and as reference; a model cannot be held against itself")


def _resolved(arms: Sequence[System], names: Collection[str], role: str) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        try:
            found.append(entry_of(arms, name))
        except InputError as error:
            raise InputError(str(error).replace("the baseline", f"the {role}")) from error
    return tuple(found)


def enough(table: ItemTable, sides: tuple[Bools, Bools], words: tuple[str, str]) -> dict[str, str]:
    """Return the models with too few items on a side, and why."""
    scored = ~np.isnan(table.values)
    short: dict[str, str] = {}
    for j, name in enumerate(table.table.names):
        for side, word in zip(sides, words, strict=True):
            n = int((scored[:, j] & side).sum())
            if n < FEW_ITEMS and name not in short:
                short[name] = f"{name!r} has {n} scored items that are {word}; at least {FEW_ITEMS} are needed"
    return short


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """What a break at a date has beside: the cut-off, how far items count and why, other choices, how items are spread."""

    cutoff: str
    bandwidth: float
    bandwidth_reason: str
    widths: tuple[WidthRow, ...]
    density: DateDensity


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A suspect against its references; scores have a row for each item and the suspect's column first, and more is better.

    `latent` is what they show of abilities (None where points are compared), `contrast` what is asked of the items, `invalid`
    why nothing can be said, `n_left_out` the items of either side that the suspect or a reference lacks. The suspect's own
    interval is set where another machinery gives it.
    """

    suspect: str
    references: tuple[str, ...]
    scores: Floats
    latent: LatentScores | None
    contrast: ItemContrast | None
    n_old: int
    n_new: int
    n_left_out: int = 0
    clustered: bool = False
    invalid: str | None = None
    old_score: float | None = None
    new_score: float | None = None
    own_low: float | None = None
    own_high: float | None = None
    own_method: str = ""
    dated: Dated | None = None
    groups: dict[str, Ints] = field(default_factory=dict[str, Ints])
    notes: tuple[Note, ...] = ()

    def residuals(self) -> Floats:
        """Return what the contrast's regression leaves of suspect less references."""
        scores = self.scores if self.latent is None else self.latent.scores
        less = scores[:, 0] - (scores[:, 1:].mean(axis=1) if self.references else 0.0)
        if self.contrast is None:
            return less
        return np.asarray(less - self.contrast.design @ (self.contrast.back @ less), dtype=np.float64)


def split_asked(table: ItemTable, suspect: str, others: Sequence[str], old: Bools, new: Bools) -> Asked:
    """Return the question of old items less new ones, on the items that the suspect and all references have."""
    grid = table.grid([suspect, *others])
    either = old | new
    keep = either & ~np.isnan(grid).any(axis=1)
    scores, is_old = grid[keep], old[keep]
    codes = [each[keep] for each in table.clusters]
    n_old, n_new = int(is_old.sum()), int((~is_old).sum())
    sign = 1.0 if table.metric.higher_is_better else -1.0
    invalid = (
        table.measured_apart(suspect, others) or few_sides(n_old, n_new) or few_clusters(codes, is_old, table.labels)
    )
    return Asked(
        suspect=suspect,
        references=tuple(others),
        scores=scores,
        latent=None if invalid else table.latent(scores, is_old),
        contrast=None if invalid else split_contrast(is_old, codes),
        n_old=n_old,
        n_new=n_new,
        n_left_out=int(either.sum()) - int(keep.sum()),
        clustered=bool(codes),
        invalid=invalid,
        old_score=sign * float(scores[is_old, 0].mean()) if n_old else None,
        new_score=sign * float(scores[~is_old, 0].mean()) if n_new else None,
        groups={name: each[keep] for name, each in table.of_groups().items()},
    )


def few_sides(n_old: int, n_new: int) -> str | None:
    """Return why there are too few items that the suspect and all references share."""
    if min(n_old, n_new) >= FEW_ITEMS:
        return None
    return (
        f"the model and all its references share {n_old} old and {n_new} new items; at least {FEW_ITEMS} of each are needed: "
        "leave out the references with the fewest items"
    )


def few_clusters(codes: Sequence[Ints], old: Bools, labels: Sequence[str]) -> str | None:
    """Return why there are too few clusters on a side to know the noise."""
    for each, label in zip(codes, labels, strict=True):
        for side, word in ((old, "old"), (~old, "new")):
            count = len(np.unique(each[side]))
            if side.any() and count < FEW_CLUSTERS:
                return (
                    f"the {word} items lie in {plural(count, 'level')} of {label}: too few clusters for an "
                    f"interval; at least {FEW_CLUSTERS} are needed on each side"
                )
    return None


Levels = str | Sequence[str] | None
OLD_NAMES = frozenset({"old", "public", "seen", "published", "train", "original"})
NEW_NAMES = frozenset(
    [
        "new",
        "fresh",
        "held-out",
        "held_out",
        "heldout",
        "private",
        "unseen",
        "hidden",
        "test",
        "rephrased",
        "paraphrased",
    ]
)


def side_levels(
    found: Sequence[str], old: Levels, new: Levels, column: str
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the levels of both sides, and a note where a side was not named."""
    olds, news = as_levels(old), as_levels(new)
    if () in (olds, news):
        raise InputError("old and new need at least one level each; leave the option out to take the rest")
    for level in (*(olds or ()), *(news or ())):
        if level not in found:
            raise InputError(f"{column} has no level {level!r}; it has {quoted_list(found)}")
    both = sorted(set(olds or ()) & set(news or ()))
    if both:
        raise InputError(f"{both[0]!r} is named as old and as new; an item is one or the other")
    if olds is not None and news is not None:
        return olds, news, ""
    if len(found) < 2:
        have = f"one level, {found[0]!r}" if found else "no level"
        raise CannotAnswerError(f"{column} has {have}; old and new items are both needed")
    if olds is not None or news is not None:
        rest = tuple(level for level in found if level not in (olds or news or ()))
        told = f"The rest of {column} ({quoted_list(rest)}) is taken as {'new' if olds else 'old'}"
        return (olds, rest, told) if olds else (rest, news or (), told)
    known = [tuple(level for level in found if level.lower() in names) for names in (OLD_NAMES, NEW_NAMES)]
    if len(found) == 2 and all(len(each) == 1 for each in known):
        return (
            known[0],
            known[1],
            f"By their names, {known[0][0]!r} of {column} is taken as old and {known[1][0]!r} as new",
        )
    raise InputError(
        f"which items are old and which new? {column} has {quoted_list(found)}: "
        f"name them, {together(Option('old', blank='LEVEL'), Option('new', blank='LEVEL'))}"
    )


def as_levels(given: Levels) -> tuple[str, ...] | None:
    """Return names as a tuple; None for nothing given."""
    return (given,) if isinstance(given, str) else None if given is None else tuple(given)


def ask_of_split(
    table: ItemTable, column: str, label: str, old: Levels, new: Levels
) -> tuple[list[Asked], tuple[str, str], tuple[str, ...]]:
    """Return every suspect's question, what the sides are called, and notes."""
    levels = table.column(column)
    found = sorted({level for level in levels if level is not None})
    olds, news, told = side_levels(found, old, new, label)
    is_old, is_new = _among(levels, olds), _among(levels, news)
    for side, names, word in ((is_old, olds, "old"), (is_new, news, "new")):
        if int(side.sum()) < FEW_ITEMS:
            raise CannotAnswerError(
                f"{plural(int(side.sum()), 'item')} of {label} {quoted_list(names)} ({word}); at least {FEW_ITEMS} of each side "
                "are needed"
            )
    short = enough(table, (is_old, is_new), ("old", "new"))
    left_out = table.left_out(short)
    asked = [
        split_asked(table, name, [other for other in table.others(name) if other not in short], is_old, is_new)
        for name in table.suspects
        if name not in short
    ]
    return (
        asked,
        (" and ".join(olds), " and ".join(news)),
        (*([told] if told else []), *_neither(levels, olds, news, label), *left_out),
    )


def _among(levels: Sequence[str | None], names: Sequence[str]) -> Bools:
    return np.array([level in names for level in levels], dtype=np.bool_)


def _neither(levels: Sequence[str | None], olds: Sequence[str], news: Sequence[str], label: str) -> tuple[str, ...]:
    empty = sum(level is None for level in levels)
    other = sum(level is not None and level not in (*olds, *news) for level in levels)
    told = [f"{plural(empty, 'item')} with no level of {label}, or with several, left out"] if empty else []
    return (*told, *([f"{plural(other, 'item')} of other levels of {label} left out"] if other else []))


SOURCE = f"{HELPER}benchmark"
_MEANING = ("kind", "low", "high", "higher_is_better", "unit")


def joined(data: EvalData, old: Levels, new: Levels) -> EvalData:
    """Return the benchmarks named, or all, under one name, with a column that says which is which.

    Item ids of different benchmarks are kept apart by their tasks. Only metrics that all of them define alike are one
    quantity.
    """
    named = [*(as_levels(old) or ()), *(as_levels(new) or ())] if old is not None and new is not None else []
    present: list[str] = levels_of(data.outcomes["benchmark"])
    names = [name for name in dict.fromkeys(named) if name in present] or present
    title = " and ".join(names)
    parts = pl.concat_str(
        pl.col("benchmark"), pl.when(pl.col("task") != "").then("/" + pl.col("task")).otherwise(pl.lit(""))
    )
    rows = data.outcomes.filter(pl.col("benchmark").is_in(names)).with_columns(
        parts.alias("task"), pl.lit(title).alias("benchmark"), pl.col("benchmark").alias(SOURCE)
    )
    return replace(data, outcomes=rows, metrics=_one_meaning(data.metrics, names, title))


def _one_meaning(metrics: pl.DataFrame, names: Sequence[str], title: str) -> pl.DataFrame:
    """Return the definitions that all benchmarks share, under the common name."""
    own = metrics.filter(pl.col("benchmark").is_in(names))
    kept: list[pl.DataFrame] = []
    for (metric,), found in own.partition_by("metric", as_dict=True).items():
        # A benchmark that declares no direction has the one that the others declare.
        said = found["higher_is_better"].drop_nulls()
        rows = found if said.is_empty() else found.with_columns(pl.col("higher_is_better").fill_null(said[0]))
        if rows.select(_MEANING).unique().height > 1:
            raise InputError(f"{metric!r} means something else in each of {title}: their scores are not one quantity")
        if rows.height == len(names):
            every = bool(rows["primary"].all())
            kept.append(rows.head(1).with_columns(pl.lit(title).alias("benchmark"), pl.lit(every).alias("primary")))
    return pl.concat(kept) if kept else own.clear()


ORIGINAL, REPHRASED = "original", "rephrased"
_PLACE = f"{HELPER}place"


def twin_rows(
    data: EvalData, column: str, label: str, old: Levels, new: Levels
) -> tuple[EvalData, tuple[str, str], tuple[str, ...]]:
    """Return the data with every item under the name of its original, and original or rephrased as its variant.

    Several twins of one item become trials of one: they are averaged.
    """
    rows = data.outcomes
    text = rows[column].cast(pl.String)
    found = levels_of(text)
    found = [level for level in found if level]
    items = set(rows["item"].unique().to_list())
    named = sum(level in items for level in found)
    if old is None and new is None and named and column != "variant":
        marked, notes = _by_name(rows, text, label, [level for level in found if level not in items])
        sides = (ORIGINAL, REPHRASED)
    else:
        olds, news, told = side_levels(found, old, new, label)
        kind = pl.when(text.is_in(olds)).then(pl.lit(ORIGINAL)).when(text.is_in(news)).then(pl.lit(REPHRASED))
        marked = rows.with_columns(_kind=pl.select(kind).to_series(), _own=rows["item"])
        sides, notes = (" and ".join(olds), " and ".join(news)), ((told,) if told else ())
    kept = marked.filter(pl.col("_kind").is_not_null())
    whole = kept.group_by("task", "_own").agg(pl.col("_kind").n_unique().alias("_n")).filter(pl.col("_n") == 2)
    if whole.height < FEW_ITEMS:
        raise CannotAnswerError(
            f"{plural(whole.height, 'item')} with an original and a twin by {label}; at least {FEW_ITEMS} are needed"
        )
    alone = marked.select("task", "_own").unique().height - whole.height
    notes = (*notes, *([f"{plural(alone, 'item')} without a twin, or without its original, left out"] if alone else []))
    paired = kept.join(whole.select("task", "_own"), on=["task", "_own"], how="semi")
    return replace(data, outcomes=_renumbered(paired, rows.columns)), sides, notes


def _by_name(
    rows: pl.DataFrame, text: pl.Series, label: str, unknown: Sequence[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Mark rows whose column names another item as twins of it, and that item's rows as originals."""
    if unknown:
        raise InputError(
            f"{label} names {quoted_list(unknown)}, and no item is called so; if these are levels, give {Option('old')} and "
            f"{Option('new')}"
        )
    # An item that names itself is an original, as a table may say of each row.
    twin = text.is_not_null() & (text != "") & (text != rows["item"])
    originals = set(text.filter(twin).unique().to_list())
    chained = rows.filter(twin & rows["item"].is_in(list(originals)))["item"].unique().sort().to_list()
    if chained:
        raise InputError(
            f"{chained[0]!r} is a twin by {label} and is itself named as an original; name the first original on every twin"
        )
    kind = pl.when(twin).then(pl.lit(REPHRASED)).when(rows["item"].is_in(list(originals))).then(pl.lit(ORIGINAL))
    own = pl.when(twin).then(text).otherwise(rows["item"])
    return rows.with_columns(_kind=pl.select(kind).to_series(), _own=pl.select(own).to_series()), ()


def _renumbered(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Put originals and twins under one item, and number the trials of several twins through."""
    cell = ["run", "model", "system", "benchmark", "task", "_own", "_kind", "metric", "judge"]
    ordered = rows.sort(
        "run", "benchmark", "task", "_own", "_kind", "metric", "item", "variant", "trial", nulls_last=True
    )
    numbered = ordered.with_columns(pl.int_range(pl.len()).over(cell).alias(_PLACE))
    trial = (
        pl.when(pl.col("trial").is_null() & (pl.col("n_trials").fill_null(1) > 1)).then(None).otherwise(pl.col(_PLACE))
    )
    return numbered.with_columns(item=pl.col("_own"), variant=pl.col("_kind"), trial=trial.cast(pl.Int64)).select(
        columns
    )


def ask_of_twins(data: EvalData, table: ItemTable, conf_level: float, seed: int) -> tuple[list[Asked], tuple[str, ...]]:
    """Return every suspect's question of originals less rephrased twins, with the paired comparison of its own."""
    originals, twins, first = _both(table)
    differences = originals - twins
    counts = {name: int((~np.isnan(differences[:, j])).sum()) for j, name in enumerate(table.table.names)}
    short = {
        name: f"{name!r} has {plural(n, 'pair')} of an original and a twin; at least {FEW_ITEMS} are needed"
        for name, n in counts.items()
        if n < FEW_ITEMS
    }
    notes = table.left_out(short)
    asked = [
        _own(data, table, _asked(table, (originals, twins), first, name, short), conf_level, seed)
        for name in table.suspects
        if name not in short
    ]
    return asked, notes


def _both(table: ItemTable) -> tuple[Floats, Floats, Ints]:
    """Return the scores on originals and on their twins, and the row of the table that each original is."""
    items = table.table.table.items.select("task", "item", "variant").with_row_index(_PLACE)
    originals = items.filter(pl.col("variant") == ORIGINAL)
    both = originals.join(items.filter(pl.col("variant") == REPHRASED), on=["task", "item"], suffix=" twin").sort(
        _PLACE
    )
    first = both[_PLACE].to_numpy().astype(np.int64)
    return table.values[first], table.values[both[f"{_PLACE} twin"].to_numpy()], first


def _asked(table: ItemTable, sides: tuple[Floats, Floats], first: Ints, suspect: str, short: Collection[str]) -> Asked:
    others = [name for name in table.others(suspect) if name not in short]
    places = [table.table.names.index(name) for name in (suspect, *others)]
    keep = ~np.isnan((sides[0] - sides[1])[:, places]).any(axis=1)
    originals, twins, rows = sides[0][keep][:, places], sides[1][keep][:, places], first[keep]
    codes = [each[rows] for each in table.clusters]
    n = len(rows)
    few = [label for each, label in zip(codes, table.labels, strict=True) if len(np.unique(each)) < FEW_CLUSTERS]
    invalid = table.measured_apart(suspect, others) or few_sides(n, n)
    if invalid is None and few:
        invalid = f"the pairs lie in fewer than {FEW_CLUSTERS} levels of {few[0]}: too few clusters for an interval"
    sign = 1.0 if table.metric.higher_is_better else -1.0
    return Asked(
        suspect=suspect,
        references=tuple(others),
        scores=originals - twins,
        latent=None
        if invalid or table.compared == "points" or not others
        else latent_of_twins(originals, twins, table.metric),
        contrast=None if invalid else twin_contrast(n, codes),
        n_old=n,
        n_new=n,
        n_left_out=len(first) - n,
        clustered=bool(codes),
        invalid=invalid,
        old_score=sign * float(originals[:, 0].mean()) if n else None,
        new_score=sign * float(twins[:, 0].mean()) if n else None,
        groups={name: each[rows] for name, each in table.of_groups().items()},
    )


def _own(data: EvalData, table: ItemTable, asked: Asked, conf_level: float, seed: int) -> Asked:
    """Add the suspect's own paired comparison, original against rephrased, by the machinery of `compare`."""
    if asked.contrast is None:
        return asked
    arm = next(arm for arm in table.table.table.systems if arm.name == asked.suspect)
    own = replace(data, outcomes=arm.rows)
    found = compare(
        own,
        REPHRASED,
        ORIGINAL,
        metric=table.metric.name,
        contrast="variant",
        cluster=list(table.labels) or None,
        conf_level=conf_level,
        seed=seed,
    )
    sign = 1.0 if table.metric.higher_is_better else -1.0
    limits = [each for each in (found.conf_low, found.conf_high) if each is not None]
    low, high = sorted(sign * each for each in limits) if len(limits) == 2 else (None, None)
    return replace(asked, own_low=low, own_high=high, own_method=found.method)
