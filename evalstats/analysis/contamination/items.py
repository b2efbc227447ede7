"""Scores of all items under suspects and references, which of them are old and which new, and what is cases of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.contamination.latent_scale import LatentScores, latent_of_split, scale_for
from evalstats.analysis.contamination.result import Compared, WidthRow
from evalstats.analysis.design.clusters import chosen_clusters, label_of, named_clusters
from evalstats.analysis.design.entries import EntryTable, entries_of, entry_of, entry_table
from evalstats.analysis.design.metric import Metric
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option, together
from evalstats.grammar import plural, quoted_list
from evalstats.options import InflationScale
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FEW_CLUSTERS, FEW_ITEMS
from evalstats.stats.contamination import DateDensity, ItemContrast, split_contrast
from evalstats.table.items import HELPER, ITEM_OF_VARIANTS

_DATE, _DAY_CHARS = re.compile(r"\d{4}[-/]\d\d(?:[-/]\d\d)?(?!\d)"), 10
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@record
class ItemTable:
    """All items under all models in question; `values` are turned so that more is better, NaN where there is none.

    `clusters` are codes for each column of clusters, and `labels` their names. `references` is None where each suspect
    is held against all the others; `named`: suspects were named, rather than being all the models there are.
    """

    board: EntryTable
    values: Floats
    clusters: tuple[Ints, ...]
    labels: tuple[str, ...]
    suspects: tuple[str, ...]
    references: tuple[str, ...] | None
    named: bool
    compared: Compared
    compared_reason: str
    notes: tuple[str, ...]

    @property
    def metric(self) -> Metric:
        """The metric that is compared."""
        return self.board.metric

    def column(self, name: str) -> list[str | None]:
        """Return the level of a column for every item, None where it has none or several."""
        if name not in self.board.table.items.columns:
            return [None] * len(self.board.table)
        return [None if level is None else str(level) for level in self.board.table.items[name].to_list()]

    def others(self, suspect: str) -> tuple[str, ...]:
        """Return the models that a suspect is held against."""
        if self.references is not None:
            return self.references
        return tuple(name for name in self.board.names if name != suspect)

    def grid(self, names: Sequence[str]) -> Floats:
        """Return the values of some models, shape (n_items, len(names))."""
        return np.asarray(self.values[:, [self.board.names.index(name) for name in names]], dtype=np.float64)

    def latent(self, values: Floats, old: Bools, level: float | None = None) -> LatentScores | None:
        """Return what the scores of a suspect and its references show of abilities; None where points are compared."""
        if self.compared == "points" or values.shape[1] < 2:
            return None
        return latent_of_split(values, old, self.metric, level)

    def measured_apart(self, suspect: str, others: Sequence[str]) -> str | None:
        """Return why a suspect cannot be held against these: they were measured by another ruler."""
        kind = dict(zip(self.board.names, self.board.kinds.kind, strict=True))
        apart = [name for name in others if kind[name] != kind[suspect]]
        if not apart:
            return None
        return f"measured otherwise than {quoted_list(apart)}: {self.board.kinds.why_apart()}"

    def left_out(self, short: Mapping[str, str]) -> tuple[str, ...]:
        """Return notes on the models with too few items; an error where one was named, or no suspect is left."""
        named = [name for name in short if name in (self.references or ()) or (self.named and name in self.suspects)]
        if named or all(name in short for name in self.suspects):
            raise CannotAnswerError(short[(named or list(short))[0]])
        return tuple(f"dropped: {text}" for text in short.values())

    def of_groups(self) -> dict[str, Ints]:
        """Return the columns that may make items hang together and were not declared."""
        names = [name for name in self.board.groups if name not in self.labels]
        return {name: self.board.table.codes(name) for name in names if name in self.board.table.items.columns}


def item_table(
    data: EvalData,
    column: str,
    *,
    metric: str | None,
    suspects: tuple[str, ...] | None,
    references: tuple[str, ...] | None,
    cluster: str | Sequence[str] | None,
    accept: Sequence[str],
    scale: InflationScale,
    paired: bool = False,
) -> ItemTable:
    """Count the scores of all models, and settle who is held against whom; variants that are to be `paired` are no clusters."""
    for names, role in ((suspects, "suspects"), (references, "references")):
        if names is not None and not names:
            raise InputError(f"{role} is empty; name at least one model, or leave it out")
        if names is not None and len(set(names)) < len(names):
            raise InputError(f"{role} names a model twice; name each once")
    both = sorted(set(suspects or ()) & set(references or ()))
    if both:
        raise InputError(f"{both[0]!r} is named as suspect and as reference; a model cannot be compared with itself")
    named = None if suspects is None or references is None else [*suspects, *references]
    chosen, systems, notes = entries_of(data, metric=metric, models=named, contrast="model", least=1)
    if len(systems) < 2:
        alone = ", ".join(system.name for system in systems)
        raise CannotAnswerError(
            f"{alone} is the only model: without others to compare with, difficulty cannot be estimated"
        )
    resolved: list[tuple[str, ...] | None] = []
    for names, role in ((suspects, "suspect"), (references, "reference")):
        try:
            resolved.append(None if names is None else tuple(entry_of(systems, name) for name in names))
        except InputError as error:
            raise InputError(str(error).replace("the baseline", f"the {role}")) from error
    suspects, references = resolved
    board = entry_table(
        data,
        chosen,
        systems,
        contrast="model",
        named=sorted({column, *named_clusters(data, cluster)}),
        accept=accept,
        reference=suspects[0] if suspects else None,
    )
    for name in (*(suspects or ()), *(references or ())):
        board.place(name)
    contrast, table = "variant" if paired else "model", board.table
    clusters, told = chosen_clusters(data, table, cluster, board.runs, contrast=contrast, counted=board.counted)
    clusters = tuple(name for name in clusters if not (paired and name == ITEM_OF_VARIANTS))
    compared, why = scale_for(chosen, scale)
    every = tuple(name for name in board.names if name not in (references or ()))
    return ItemTable(
        board=board,
        values=board.values * (1.0 if chosen.higher_is_better else -1.0),
        clusters=tuple(table.codes(name) for name in clusters),
        labels=tuple(label_of(name, data.factor_names()) for name in clusters),
        suspects=every if suspects is None else suspects,
        references=references,
        named=suspects is not None,
        compared=compared,
        compared_reason=why,
        notes=(*told, *notes, *(text for system in table.systems for text in system.remarks)),
    )


def short_of_items(table: ItemTable, sides: tuple[Bools, Bools], words: tuple[str, str]) -> dict[str, str]:
    """Return the models with too few items on a side, and why."""
    scored = ~np.isnan(table.values)
    short: dict[str, str] = {}
    for j, name in enumerate(table.board.names):
        for side, word in zip(sides, words, strict=True):
            n = int((scored[:, j] & side).sum())
            if n < FEW_ITEMS and name not in short:
                short[name] = f"{name!r} has {n} scored items that are {word}; at least {FEW_ITEMS} are needed"
    return short


@record
class DateBreak:
    """What a break at a date has beside: the cut-off, how far items count and why, other choices, how items are spread."""

    cutoff: str
    bandwidth: float
    bandwidth_reason: str
    widths: tuple[WidthRow, ...]
    density: DateDensity


@record
class SuspectCase:
    """A suspect against its references; scores have a row for each item and the suspect's column first, and more is better.

    `latent` is what they show of abilities (None where points are compared), `contrast` what is cases of the items, `invalid`
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
    own_ends: tuple[float | None, float | None] | None = None
    dated: DateBreak | None = None
    groups: dict[str, Ints] = field(default_factory=dict[str, Ints])
    notes: tuple[Note, ...] = ()

    def residuals(self) -> Floats:
        """Return what the contrast's regression leaves of suspect less references."""
        scores = self.scores if self.latent is None else self.latent.scores
        less = scores[:, 0] - (scores[:, 1:].mean(axis=1) if self.references else 0.0)
        if self.contrast is None:
            return less
        return np.asarray(less - self.contrast.design @ (self.contrast.back @ less), dtype=np.float64)


def _split_case(table: ItemTable, suspect: str, others: Sequence[str], old: Bools, new: Bools) -> SuspectCase:
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
    return SuspectCase(
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
_OLD_WORDS = "old public seen published train original before"
_NEW_WORDS = "new fresh held-out held_out heldout private unseen hidden test rephrased paraphrased after"
OLD_NAMES, NEW_NAMES = frozenset(_OLD_WORDS.split()), frozenset(_NEW_WORDS.split())


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
        have = (
            f"{column} has one level, {found[0]!r}"
            if found
            else (f"no item has one level of {column}: it is empty, or differs between rows of one item")
        )
        raise CannotAnswerError(f"{have}; old and new items are both needed")
    if olds is not None or news is not None:
        rest = tuple(level for level in found if level not in (olds or news or ()))
        told = f"The rest of {column} ({quoted_list(rest)}) is taken as {'new' if olds else 'old'}"
        return (olds, rest, told) if olds else (rest, news or (), told)
    known = [tuple(level for level in found if level.lower() in names) for names in (OLD_NAMES, NEW_NAMES)]
    if len(found) == 2 and all(len(each) == 1 for each in known):
        return (
            known[0],
            known[1],
            f"By their names, {known[0][0]!r} of {column} is treated as old and {known[1][0]!r} as new",
        )
    if all(map(_DATE.match, found)):
        dated = together(Option("date", column), Option("cutoffs", found[len(found) // 2][:_DAY_CHARS], of="MODEL"))
        raise InputError(f"{column} holds dates, which a suspect's cut-off splits into old and new: {dated}")
    raise InputError(
        f"which items are old and which new? {column} has {quoted_list(found)}: "
        f"name them, {together(Option('old', blank='LEVEL'), Option('new', blank='LEVEL'))}"
    )


def as_levels(given: Levels) -> tuple[str, ...] | None:
    """Return names as a tuple; None for nothing given."""
    return (given,) if isinstance(given, str) else None if given is None else tuple(given)


def split_cases(
    table: ItemTable, column: str, label: str, old: Levels, new: Levels
) -> tuple[list[SuspectCase], tuple[str, str], tuple[str, ...]]:
    """Return every suspect's question, what the sides are called, and notes."""
    levels = table.column(column)
    found = sorted({level for level in levels if level is not None})
    olds, news, told = side_levels(found, old, new, label)
    is_old, is_new = (np.array([level in names for level in levels], dtype=np.bool_) for names in (olds, news))
    for side, names, word in ((is_old, olds, "old"), (is_new, news, "new")):
        if int(side.sum()) < FEW_ITEMS:
            raise CannotAnswerError(
                f"{plural(int(side.sum()), 'item')} of {label} {quoted_list(names)} ({word}); at least {FEW_ITEMS} of each side "
                "are needed"
            )
    short = short_of_items(table, (is_old, is_new), ("old", "new"))
    left_out = table.left_out(short)
    cases = [
        _split_case(table, name, [other for other in table.others(name) if other not in short], is_old, is_new)
        for name in table.suspects
        if name not in short
    ]
    notes = [told] if told else []
    empty = sum(level is None for level in levels)
    other = sum(level is not None and level not in (*olds, *news) for level in levels)
    if empty:
        notes.append(f"{plural(empty, 'item')} with no level of {label}, or with several, dropped")
    if other:
        notes.append(f"{plural(other, 'item')} of other levels of {label} dropped")
    return cases, (" and ".join(olds), " and ".join(news)), (*notes, *left_out)


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
