"""Slices of the items (levels of their factors, tags) in which losses concentrate: more so than over the other items."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.design.clusters import label_of
from evalstats.record import record
from evalstats.schema.column_names import is_answer, plain
from evalstats.schema.tables import is_constant
from evalstats.stats.many.concentration import FEWEST_UNITS, low_slices
from evalstats.stats.paired.means import sign_flip
from evalstats.table.items import ITEM_KEY, Floats
from evalstats.table.score_table import ScoreTable

TAGS = "tags"
_ASKED = frozenset({"question", "query", "prompt", "problem", "input", "instruction", "text"})
# A factor with more levels names items rather than kinds of them; of tags, the most frequent are looked at.
_MOST_LEVELS = 100


@record
class LossSlice:
    """A slice in which the candidate lost more against the baseline than elsewhere, of its paired items.

    `p_adjusted` belongs to a permutation test of all `n_slices` slices together (of all factors and tags); items that both
    sides got right, or both wrong, count in `n_items`.

    Attributes
    ----------
    factor, level
        Column and level that make the slice.
    gained, lost
        Its items on which the candidate did better, and worse, than the baseline.
    p_adjusted
        Of a permutation test over all slices.
    n_slices
        How many slices that test looked at.
    """

    factor: str
    level: str
    n_items: int
    gained: int
    lost: int
    p_adjusted: float
    n_slices: int

    @property
    def name(self) -> str:
        """Factor and level, as a condition is written."""
        return f"{self.factor}={self.level}"


def loss_slices(
    paired: ScoreTable,
    flips: Floats,
    columns: Iterable[str],
    *,
    names: Mapping[str, str],
    clusters: Sequence[str] = (),
    conf_level: float = 0.95,
    seed: int = 0,
) -> tuple[LossSlice, ...]:
    """Return the slices in which losses concentrate, the surest first; none where nothing stands out.

    Such a slice lost more than the rest of the items did, by the permutation test of all slices, and more than it gained, by the
    exact sign-flip of its own items (McNemar's exact test): both are needed, so neither needs an adjustment for the other.
    `flips` says of every paired item whether the candidate gained it (1), lost it (-1) or neither. With clusters (of several,
    the coarsest) the cluster is the unit, and only what is the same in all of its items makes a slice. `names` are sources' own
    names of standard columns.
    """
    slices = _slices(paired, columns, names)
    if not slices or not (flips < 0).any():
        return ()
    member = np.stack([held for _, _, held in slices], axis=1)
    d = flips
    if clusters:
        _, unit = np.unique(
            min((paired.codes(name) for name in clusters), key=lambda codes: len(np.unique(codes))), return_inverse=True
        )
        size = np.bincount(unit)
        shares = np.stack([np.bincount(unit, weights=held) / size for held in member.T], axis=1)
        whole = ((shares == 0) | (shares == 1)).all(axis=0)
        d, member = np.bincount(unit, weights=flips) / size, (shares == 1) & whole
    # Where gains concentrate elsewhere, a slice lies below the rest and has lost nothing.
    lost = [d[units].sum() < 0 and sign_flip(d[units]).p_value <= 1 - conf_level for units in member.T]
    if not any(lost):
        return ()
    found = low_slices(d, member, seed=seed)
    rows = [
        LossSlice(
            factor=factor,
            level=level,
            n_items=int(held.sum()),
            gained=int((flips[held] > 0).sum()),
            lost=int((flips[held] < 0).sum()),
            p_adjusted=p,
            n_slices=found.n_slices,
        )
        for (factor, level, held), has_lost, p in zip(slices, lost, found.p_adjusted, strict=True)
        if has_lost and p is not None and p <= 1 - conf_level
    ]
    return tuple(sorted(rows, key=lambda row: (row.p_adjusted, -row.lost)))


def _slices(
    paired: ScoreTable, columns: Iterable[str], names: Mapping[str, str]
) -> list[tuple[str, str, npt.NDArray[np.bool_]]]:
    """Return factor, level and items of every slice, once where several levels hold the same items."""
    found: dict[bytes, tuple[str, str, npt.NDArray[np.bool_]]] = {}
    # What was asked or answered names no kind of items, and is nobody's to print unasked.
    wanted = [
        name
        for name in dict.fromkeys(columns)
        if name in paired.items.columns and not (is_answer(name) or plain(name) in _ASKED)
        if not is_constant(paired.items[name])
    ]
    levels: list[tuple[str, pl.Series]] = [(label_of(name, names), paired.items[name]) for name in wanted]
    rows = paired.systems[1].rows
    if TAGS in rows.columns and rows[TAGS].null_count() < rows.height:
        key = [name for name in ITEM_KEY if name in paired.items.columns]
        rows = rows.select(*key, TAGS).drop_nulls(TAGS).unique(key, keep="first", maintain_order=True)
        tags = paired.items.select(key).join(rows, on=key, how="left", maintain_order="left")[TAGS]
        levels.append((TAGS, tags))
    for label, column in levels:
        exploded = pl.DataFrame({"place": np.arange(len(column)), "level": column})
        exploded = exploded.explode("level") if column.dtype.is_nested() else exploded
        exploded = exploded.with_columns(pl.col("level").cast(pl.String)).drop_nulls().unique(maintain_order=True)
        groups = exploded.group_by("level", maintain_order=True).agg("place").filter(pl.col("level") != "")
        if groups.height > _MOST_LEVELS:
            if label != TAGS:
                continue
            groups = groups.sort(pl.col("place").list.len(), descending=True, maintain_order=True).head(_MOST_LEVELS)
        for level, places in groups.iter_rows():
            if FEWEST_UNITS <= len(places) < len(column):
                held = np.zeros(len(column), dtype=np.bool_)
                held[places] = True
                found.setdefault(held.tobytes(), (label, level, held))
    return list(found.values())
