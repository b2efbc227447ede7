"""Scores of all items under suspects and references, and what is asked of them about each suspect."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from evalstats.analysis.arms import Arm, Metric, listed
from evalstats.analysis.contamination.result import WidthRow
from evalstats.analysis.grouping import ITEM_OF_VARIANTS, chosen_clusters, label_of, named_clusters
from evalstats.analysis.leaderboard.entries import entries_of, entry_of
from evalstats.analysis.leaderboard.entry_table import EntryTable, entry_table
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FEW_CLUSTERS, FEW_ITEMS
from evalstats.stats.contamination.item_contrast import ItemContrast, split_contrast
from evalstats.stats.contamination.regression_discontinuity import DateDensity

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTable:
    """All items under all models in question.

    Attributes
    ----------
    values
        float64, shape (n_items, n_models), turned so that more is better; NaN where there is none.
    clusters
        Integer codes for each column of clusters, shape (n_items,); `labels` are their names.
    suspects, references
        Names of models. `references` is None where each suspect is held against all the others; `named` is whether the
        suspects were named, rather than being all the models there are.
    """

    table: EntryTable
    metric: Metric
    values: Floats
    clusters: tuple[Ints, ...]
    labels: tuple[str, ...]
    suspects: tuple[str, ...]
    references: tuple[str, ...] | None
    named: bool
    notes: tuple[str, ...]

    def column(self, name: str) -> list[str | None]:
        """Return the level of a column for every item, None where it has none or several."""
        return [None if level is None else str(level) for level in self.table.values.matrix.items[name].to_list()]

    def others(self, suspect: str) -> tuple[str, ...]:
        """Return the models that a suspect is held against."""
        if self.references is not None:
            return self.references
        return tuple(name for name in self.table.names if name != suspect)

    def of(self, name: str) -> Floats:
        """Return the values of one model."""
        return np.asarray(self.values[:, self.table.names.index(name)], dtype=np.float64)

    def grid(self, names: Sequence[str]) -> Floats:
        """Return the values of some models, shape (n_items, len(names))."""
        return np.asarray(self.values[:, [self.table.names.index(name) for name in names]], dtype=np.float64)

    def measured_apart(self, suspect: str, others: Sequence[str]) -> str | None:
        """Return why a suspect cannot be held against these: they were measured by another ruler."""
        kind = dict(zip(self.table.names, self.table.measured.kind, strict=True))
        apart = [name for name in others if kind[name] != kind[suspect]]
        if not apart:
            return None
        return f"measured otherwise than {listed(apart)}: {'; '.join(self.table.measured.refusal())}"

    def of_groups(self) -> dict[str, Ints]:
        """Return the columns that may make items hang together and were not declared."""
        names = [name for name in self.table.groups if name not in self.labels]
        return {name: self.table.every.codes(name) for name in names if name in self.table.every.items.columns}


def item_table(data: EvalData, wanted: Wanted, column: str, *, paired: bool = False) -> ItemTable:
    """Reduce the rows to one value for every item and model.

    Parameters
    ----------
    column
        The column that tells old items from new ones.
    paired
        Whether the variants of an item are to be paired, so that they are no clusters.

    Raises
    ------
    InputError
        If a name is unknown or ambiguous, or a suspect is also a reference.
    CannotAnswerError
        If there is only one model, or a named one has no scored item.
    """
    _check_names(wanted)
    named = None if wanted.suspects is None or wanted.references is None else [*wanted.suspects, *wanted.references]
    metric, arms, notes = entries_of(data, metric=wanted.metric, models=named, contrast="model", least=1)
    if len(arms) < 2:
        alone = ", ".join(arm.name for arm in arms)
        message = f"{alone} is the only model: without others to hold it against, what is difficulty cannot be told"
        raise CannotAnswerError(message)
    suspects = None if wanted.suspects is None else _resolved(arms, wanted.suspects, "suspect")
    references = None if wanted.references is None else _resolved(arms, wanted.references, "reference")
    extra = sorted({column, *named_clusters(data, wanted.cluster)})
    table = entry_table(
        data,
        metric,
        arms,
        extra,
        None,
        contrast="model",
        accept=wanted.accept,
        baseline=suspects[0] if suspects else None,
    )
    for name in (*(suspects or ()), *(references or ())):
        table.place(name)
    chosen, told = chosen_clusters(
        data, table.every, wanted.cluster, table.runs, contrast="variant" if paired else "model"
    )
    chosen = tuple(name for name in chosen if not (paired and name == ITEM_OF_VARIANTS))
    codes = [table.every.codes(name) for name in chosen]
    every = tuple(name for name in table.names if name not in (references or ()))
    return ItemTable(
        table=table,
        metric=metric,
        values=table.values.values * (1.0 if metric.higher_is_better else -1.0),
        clusters=tuple(codes),
        labels=tuple(label_of(name, data.factor_names()) for name in chosen),
        suspects=every if suspects is None else suspects,
        references=references,
        named=suspects is not None,
        notes=(*told, *notes, *(text for arm in table.arms for text in arm.remarks)),
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


def _resolved(arms: Sequence[Arm], names: Collection[str], role: str) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        try:
            found.append(entry_of(arms, name))
        except InputError as error:
            raise InputError(str(error).replace("the baseline", f"the {role}")) from error
    return tuple(found)


def enough(table: ItemTable, sides: tuple[Bools, Bools], words: tuple[str, str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the models with enough items on both sides, and a note on those without.

    Raises
    ------
    CannotAnswerError
        If a model that was named, or too many of the rest, lack a side.
    """
    scored = ~np.isnan(table.values)
    short: dict[str, str] = {}
    for j, name in enumerate(table.table.names):
        for side, word in zip(sides, words, strict=True):
            n = int((scored[:, j] & side).sum())
            if n < FEW_ITEMS:
                short[name] = f"{name!r} has {n} scored items that are {word}; at least {FEW_ITEMS} are needed"
                break
    named = [name for name in short if name in (table.references or ()) or (table.named and name in table.suspects)]
    if named or all(name in short for name in table.suspects):
        raise CannotAnswerError(short[(named or list(short))[0]])
    return list(short), tuple(f"left out: {text}" for text in short.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """What a break at a date has beside: the cut-off, how far items count and why, other choices, how items are spread."""

    cutoff: str
    bandwidth: float
    reason: str
    widths: tuple[WidthRow, ...]
    density: DateDensity


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A suspect against its references.

    Attributes
    ----------
    suspect_scores, reference_scores
        float64, shapes (n_items,) and (n_items, n_references), more is better.
    contrast
        What is asked of the items.
    invalid
        Why nothing can be said of this suspect, where nothing can.
    n_left_out
        Items of either side that the suspect or a reference lacks.
    own_low, own_high, own_method
        Interval of the suspect's own advantage, where another machinery gives it.
    residuals, groups
        What is left of the difference on every item, and columns along which it may run in groups.
    """

    suspect: str
    references: tuple[str, ...]
    suspect_scores: Floats
    reference_scores: Floats
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
        less = self.suspect_scores - (self.reference_scores.mean(axis=1) if self.references else 0.0)
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
        suspect_scores=scores[:, 0],
        reference_scores=scores[:, 1:],
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


def few_sides(n_old: int, n_new: int, least: int = 10) -> str | None:
    """Return why there are too few items that the suspect and all references share."""
    if min(n_old, n_new) >= least:
        return None
    return (
        f"the model and all its references share {n_old} old and {n_new} new items; at least {least} of each are needed: "
        "leave out the references with the fewest items"
    )


def few_clusters(codes: Sequence[Ints], old: Bools, labels: Sequence[str]) -> str | None:
    """Return why there are too few clusters on a side to know the noise."""
    for each, label in zip(codes, labels, strict=True):
        for side, word in ((old, "old"), (~old, "new")):
            count = len(np.unique(each[side]))
            if side.any() and count < FEW_CLUSTERS:
                return (
                    f"the {word} items lie in {count} level{'s' if count != 1 else ''} of {label}: too few clusters for an "
                    f"interval; at least {FEW_CLUSTERS} are needed on each side"
                )
    return None
