"""One suspect's question: its scores and the references' on the same items, and the contrast that is asked of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evalstats.analysis.contaminations.items import Bools, Floats, Ints, ItemTable
from evalstats.analysis.contaminations.results import WidthRow
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.contamination.item_contrast import ItemContrast, split_contrast
from evalstats.stats.contamination.regression_discontinuity import DateDensity


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
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
