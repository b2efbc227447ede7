"""User behaviours of the lab, and what difficult users take from each model's score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.gap.material import LIVE_CLUSTERS, Material, Side
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import plural, several
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray
from evalstats.stats.gap import CellRates, Drops, cell_rates, combined
from evalstats.table.items import item_sums

# What benchmarks and surveys call the user who says what is needed, where no column marks it.
IDEAL_NAMES = ("ideal", "stable")
IDEAL, NON_IDEAL = "ideal", "non_ideal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviours:
    """The column whose levels are behaviours of users in the lab: the one `ideal` level, and the `others`, sorted."""

    column: str
    ideal: str
    others: tuple[str, ...]

    def is_ideal(self, level: str) -> bool:
        """Whether a level found elsewhere (in a survey, with live users) is that of ideal users."""
        return level == self.ideal or level.casefold() in IDEAL_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveShares:
    """Share of live users who are not ideal, and of each non-ideal behaviour of the lab among those (`weights`, sum 1).

    `level`, `cluster` and `weight` are the live rows behind it (place of the behaviour in `weights`, -1 for ideal, -2
    for a behaviour that the lab has not); None where the mix was given from outside.
    """

    non_ideal: float
    weights: tuple[float, ...]
    source: str
    level: IntArray | None = None
    cluster: IntArray | None = None
    weight: np.ndarray | None = None
    notes: tuple[Note, ...] = ()

    def variance(self, drops: np.ndarray) -> float | None:
        """Variance of share x drop from counting live users; `drops` is the mean drop of each behaviour in the lab.

        None where there are too few live clusters to tell. Live behaviours that the lab has not take the mean drop.
        """
        if self.level is None or self.cluster is None or self.weight is None:
            return 0.0
        own = np.append(drops, [float(np.dot(self.weights, drops)), 0.0])[self.level]
        zero = np.zeros(own.size, dtype=np.int64)
        rates = cell_rates(
            self.cluster,
            zero,
            zero,
            self.weight,
            self.weight * own,
            n_clusters=int(self.cluster.max()) + 1,
            n_models=1,
            n_cells=1,
        )
        if int(rates.n_clusters[0, 0]) < FEW_CLUSTERS:
            return None
        return float(combined(rates, np.ones((1, 1))).covariance[0, 0])


def behaviours_of(material: Material) -> tuple[Behaviours, pl.DataFrame]:
    """Return how ideal users are told from others in the lab, and its scored rows with a column of levels.

    `user_kind` decides: where every scenario has users of one kind, scenarios are the behaviours; else the two kinds
    are. Without it, the level called "ideal" or "stable" is that of ideal users.
    """
    if material.lab_data is None or not material.lab_data.outcomes.height:
        raise CannotAnswerError(
            "the lab has no outcomes of single items, so ideal and non-ideal users cannot be told apart"
        )
    data = material.lab_data
    rows = data.outcomes.filter(pl.col("status") == "scored")
    column = _column(material, data)
    known = rows.filter(pl.col("user_kind").is_not_null())
    if known.height and known["user_kind"].n_unique() > 1:
        found = _by_kind(known, column)
        return found, known.filter(pl.col(found.column).is_not_null())
    if known.height:
        only = known["user_kind"][0]
        raise CannotAnswerError(
            f"all lab outcomes are of users of the kind {only!r}; a drop needs items with ideal and with non-ideal users"
        )
    levels = _levels(rows, column)
    ideal = [level for level in levels if level.casefold() in IDEAL_NAMES]
    if len(ideal) != 1 or len(levels) < 2:
        raise CannotAnswerError(
            f"no column user_kind, and {plural(len(ideal), 'level')} of {column} called ideal or stable (it has "
            f"{several(levels)}); a drop needs items with ideal and with non-ideal users, and one level of ideal ones"
        )
    others = tuple(level for level in levels if level != ideal[0])
    return Behaviours(column=column, ideal=ideal[0], others=others), rows.filter(pl.col(column).is_not_null())


def live_shares(material: Material, behaviours: Behaviours) -> LiveShares:
    """Return the shares of behaviours: those given from outside, else counted in the live rows."""
    options = material.options
    if options.mix:
        source = options.mix_source or f"given from outside, by {options.mix_factor or behaviours.column}"
        return _shares(behaviours, options.mix, source)
    rows, column = _live_rows(material, behaviours)
    text = rows[column].cast(pl.String)
    weight = rows["weight"].fill_null(1.0).to_numpy().astype(np.float64)
    totals = {level: float(weight[(text == level).to_numpy()].sum()) for level in text.unique().sort().to_list()}
    found = _shares(behaviours, totals, f"counted in {plural(rows.height, 'live row')}, by {column}")
    place = {name: at for at, name in enumerate(behaviours.others)}
    if column == "user_kind" and behaviours.column != "user_kind":
        place = {}
    codes = [-1 if behaviours.is_ideal(level) else place.get(level, -2) for level in text]
    return LiveShares(
        non_ideal=found.non_ideal,
        weights=found.weights,
        source=found.source,
        level=np.array(codes, dtype=np.int64),
        cluster=_clusters(material, rows),
        weight=weight,
        notes=(*found.notes, *_without_level(material, rows)),
    )


def _column(material: Material, data: EvalData) -> str:
    """Name the column of behaviours: that of the mix, else the first factor of the cells, else the scenario."""
    cells = () if material.cells is None else material.cells.factors
    named = next((name for name in (material.options.mix_factor, *cells) if name and name != "user_kind"), "scenario")
    try:
        return data.factor(named)
    except InputError:
        return "scenario"


def _by_kind(rows: pl.DataFrame, column: str) -> Behaviours:
    kinds = rows.filter(pl.col(column).is_not_null()).group_by(column).agg(pl.col("user_kind").unique())
    sets = {str(level): kind for level, kind in kinds.iter_rows()}
    ideal = sorted(level for level, kind in sets.items() if kind == [IDEAL])
    others = tuple(sorted(level for level, kind in sets.items() if kind == [NON_IDEAL]))
    if len(ideal) == 1 and others and len(ideal) + len(others) == len(sets):
        return Behaviours(column=column, ideal=ideal[0], others=others)
    return Behaviours(column="user_kind", ideal=IDEAL, others=(NON_IDEAL,))


def _shares(behaviours: Behaviours, mix: Mapping[str, float], source: str) -> LiveShares:
    """Divide a mix into ideal and other users, and the others among the behaviours of the lab."""
    total = float(sum(mix.values()))
    if not total > 0.0:
        raise CannotAnswerError("the mix of live users is empty; give shares by behaviour, or live rows with a label")
    ideal = sum(share for level, share in mix.items() if behaviours.is_ideal(level)) / total
    weights = np.array([mix.get(level, 0.0) for level in behaviours.others]) / total
    plain = {level for level in mix if not behaviours.is_ideal(level)} == {NON_IDEAL}
    notes: list[Note] = []
    if plain and behaviours.others != (NON_IDEAL,):
        weights = np.full(len(behaviours.others), (1.0 - ideal) / len(behaviours.others))
        said = "Which non-ideal behaviours live users show is not known; those of the lab are weighted equally"
        notes.append(Note(kind="choice", text=said, caution=False))
    covered = float(weights.sum())
    lost = max(1.0 - ideal - covered, 0.0)
    if covered <= 0.0:
        raise CannotAnswerError(
            f"none of the lab's non-ideal behaviours ({several(behaviours.others)}) has a share among live users "
            f"({several(sorted(mix))}); map the names onto each other"
        )
    if ideal <= 0.0:
        said = "No live user is ideal by these shares; check that the level of ideal users is named as in the lab"
        notes.append(Note(kind="missing", text=said, caution=False))
    if lost > 1e-9:
        names = [level for level in sorted(mix) if not behaviours.is_ideal(level) and level not in behaviours.others]
        said = (
            f"The lab has no items with {several(names)}, {100.0 * lost:.1f}% of live users; the forecast takes them to lower "
            "scores as much as the other behaviours do"
        )
        notes.append(Note(kind="missing", text=said, caution=False))
    return LiveShares(
        non_ideal=1.0 - ideal, weights=tuple((weights / covered).tolist()), source=source, notes=tuple(notes)
    )


def _live_rows(material: Material, behaviours: Behaviours) -> tuple[pl.DataFrame, str]:
    """Return the live rows that name a behaviour, and the column that does."""
    data = material.live_data
    if data is not None:
        for rows in (data.outcomes, data.comparisons):
            for column in (behaviours.column, "user_kind"):
                if column in rows.columns and rows[column].null_count() < rows.height:
                    return rows.filter(pl.col(column).is_not_null()), column
    raise CannotAnswerError(
        f"live rows do not say how users behave (no {behaviours.column}, no user_kind), and no mix is given from outside; "
        "without the share of non-ideal users there is no forecast"
    )


def _clusters(material: Material, rows: pl.DataFrame) -> IntArray:
    for name in (*material.live.clusters, *LIVE_CLUSTERS, "rater"):
        if name in rows.columns and rows[name].null_count() < rows.height:
            alone = pl.concat_str(pl.lit("row \x1f"), pl.int_range(pl.len()).cast(pl.String))
            levels = rows.select(pl.coalesce(pl.col(name).cast(pl.String), alone)).to_series()
            return levels.rank("dense").to_numpy().astype(np.int64) - 1
    return np.arange(rows.height, dtype=np.int64)


def _without_level(material: Material, rows: pl.DataFrame) -> tuple[Note, ...]:
    data = material.live_data
    every = 0 if data is None else max(data.outcomes.height, data.comparisons.height)
    if every <= rows.height:
        return ()
    said = f"{plural(every - rows.height, 'live row')} of {every:,} without a label are left out of the shares"
    return (Note(kind="left_out", text=said, caution=False),)


def _levels(rows: pl.DataFrame, column: str) -> list[str]:
    return levels_of(rows[column].cast(pl.String))


_ITEM = ("benchmark", "task", "item")
_LEVEL, _CLUSTER = "evalstats: level", "evalstats: cluster"
_PAIRED_FROM = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LabDrops:
    """The lab by model: cell 0 holds ideal items, each other cell one behaviour (differences to ideal where paired).

    `paired` and `weights` have one entry for each behaviour; `keep` are places in `Material.models`.
    """

    models: tuple[str, ...]
    keep: IntArray
    rates: CellRates
    paired: np.ndarray
    notes: tuple[Note, ...]


def lab_drops(material: Material, behaviours: Behaviours, rows: pl.DataFrame, shares: LiveShares) -> LabDrops:
    """Bring the lab's items into cells: ideal, and one for each behaviour that live users show."""
    used = [name for name, weight in zip(behaviours.others, shares.weights, strict=True) if weight > 0.0]
    table = _wide(material, behaviours, rows, used)
    values = table.select(behaviours.ideal, *used).to_numpy().astype(np.float64)
    paired, told = _paired(values, used)
    values[:, 1:] = np.where(paired, values[:, 1:] - values[:, :1], values[:, 1:])
    model = np.array([material.models.index(name) for name in table["model"]], dtype=np.int64)
    cluster = table[_CLUSTER].rank("dense").to_numpy().astype(np.int64) - 1
    keep, left = _enough(values, model, cluster, material.models)
    place = np.full(material.n_models, -1, dtype=np.int64)
    place[keep] = np.arange(keep.size)
    row, cell = np.nonzero(np.isfinite(values) & (place[model] >= 0)[:, np.newaxis])
    rates = cell_rates(
        cluster[row],
        place[model[row]],
        cell.astype(np.int64),
        np.ones(row.size),
        values[row, cell],
        n_clusters=int(cluster.max()) + 1,
        n_models=keep.size,
        n_cells=values.shape[1],
        low=material.lab.low,
        high=material.lab.high,
    )
    return LabDrops(
        models=tuple(material.models[int(at)] for at in keep),
        keep=keep,
        rates=_with_floors(rates, paired, material.lab),
        paired=paired,
        notes=(*as_notes("missing", told, caution=False), *as_notes("few", left, caution=False)),
    )


def _wide(material: Material, behaviours: Behaviours, rows: pl.DataFrame, used: Sequence[str]) -> pl.DataFrame:
    """One row for each model x base item, with its cluster and its mean score at each level; null where not played."""
    own = rows.with_columns(
        pl.col(behaviours.column).cast(pl.String).alias(_LEVEL), _cluster(material, rows).alias(_CLUSTER)
    ).filter(pl.col("model").is_in(list(material.models)), pl.col(_LEVEL).is_in([behaviours.ideal, *used]))
    sums = item_sums(own, arm="model", key=(*_ITEM, _CLUSTER, _LEVEL))
    means = sums.filter(pl.col("n_scored") > 0).with_columns((pl.col("total") / pl.col("n_scored")).alias("score"))
    wide = means.pivot(on=_LEVEL, index=["model", *_ITEM, _CLUSTER], values="score")
    missing = [name for name in (behaviours.ideal, *used) if name not in wide.columns]
    if missing:
        raise CannotAnswerError(f"no shared model has a lab score with {', '.join(map(repr, missing))} users")
    return wide.sort("model", *_ITEM, _CLUSTER)


def _cluster(material: Material, rows: pl.DataFrame) -> pl.Expr:
    """By what the lab's errors are clustered; the base item where nothing else is known."""
    item = pl.concat_str([pl.col(name).cast(pl.String).fill_null("") for name in _ITEM], separator="\x1f")
    for name in material.lab.clusters:
        try:
            column = name if material.lab_data is None else material.lab_data.factor(name)
        except InputError:
            continue
        if column != "item" and rows[column].null_count() < rows.height:
            return pl.coalesce(pl.col(column).cast(pl.String), item)
    return item


def _paired(values: FloatArray, used: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Tell which behaviours were played on the items of ideal users."""
    ideal = np.isfinite(values[:, 0])
    played = np.isfinite(values[:, 1:])
    twins = (played & ideal[:, np.newaxis]).sum(axis=0)
    paired = twins >= _PAIRED_FROM * np.maximum(played.sum(axis=0), 1)
    lost = int((played & ~ideal[:, np.newaxis])[:, paired].sum())
    told: list[str] = []
    if lost:
        told.append(f"{lost:,} scores with non-ideal users have no twin with ideal ones and are left out of the drops")
    if not paired.all():
        names = ", ".join(repr(name) for name, yes in zip(used, paired.tolist(), strict=True) if not yes)
        told.append(f"{names}: other items than with ideal users, so the drop may come from the items")
    return np.asarray(paired, dtype=np.bool_), tuple(told)


def _enough(
    values: FloatArray, model: IntArray, cluster: IntArray, models: Sequence[str]
) -> tuple[IntArray, tuple[str, ...]]:
    """Keep the models that have five clusters of scores with ideal users and with each behaviour."""
    counts = np.array(
        [
            [np.unique(cluster[(model == m) & np.isfinite(column)]).size for column in values.T]
            for m in range(len(models))
        ]
    )
    keep = np.flatnonzero((counts >= FEW_CLUSTERS).all(axis=1)).astype(np.int64)
    if not keep.size:
        raise CannotAnswerError(
            f"no model has {FEW_CLUSTERS} clusters of lab items with ideal users and with every other behaviour that live "
            "users show; that many are needed for the error of a drop"
        )
    left = [name for at, name in enumerate(models) if at not in keep]
    if not left:
        return keep, ()
    names = ", ".join(left[:4]) + (f" and {len(left) - 4} more" if len(left) > 4 else "")
    return keep, (f"{names}: fewer than {FEW_CLUSTERS} clusters of some behaviour in the lab, so no drop",)


def _with_floors(rates: CellRates, paired: np.ndarray, side: Side) -> CellRates:
    """Give a difference that is the same on every item the variance of one step up and one step down more."""
    n_models, n_cells = rates.rate.shape
    flat = np.asarray(rates.residual.power(2).sum(axis=0)).ravel().reshape(n_models, n_cells) == 0.0
    flat[:, 1:] &= paired
    flat[:, 0] = False
    k = rates.n_clusters[flat].astype(np.float64)
    floor = rates.floor.reshape(n_models, n_cells).copy()
    if side.low is not None and side.high is not None:
        floor[flat] = 2.0 * (side.high - side.low) ** 2 / (k * (k + 2.0))
    return replace(rates, floor=floor.ravel())


def weights_of(lab: LabDrops, used: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of cells that make ideal scores and drops, each of shape (n_models, n_models * n_cells)."""
    n_models, n_cells = lab.rates.rate.shape
    own = np.concatenate([[-float(used[~lab.paired].sum())], used])
    ideal: FloatArray = np.zeros((n_models, n_models * n_cells))
    drop: FloatArray = np.zeros((n_models, n_models * n_cells))
    for at in range(n_models):
        ideal[at, at * n_cells] = 1.0
        drop[at, at * n_cells : (at + 1) * n_cells] = own
    return ideal, drop


def drops_of(lab: LabDrops, weights: FloatArray) -> Drops:
    """Average the behaviours in their live shares: ideal scores and drops with the covariance of their errors."""
    ideal, drop = weights_of(lab, weights[weights > 0.0])
    found = combined(lab.rates, np.vstack([ideal, drop]))
    n = lab.keep.size
    flat = np.flatnonzero(~(np.diag(found.covariance)[n:] > 0.0))
    if flat.size:
        raise CannotAnswerError(
            f"{lab.models[int(flat[0])]} has the same difference on every item, and the metric has no bounds to say what else "
            "could have been; the error of its drop is unknown"
        )
    return Drops(
        ideal=found.estimate[:n],
        drop=found.estimate[n:],
        covariance=found.covariance,
        df=np.minimum(found.df[:n], found.df[n:]),
    )


def by_behaviour(lab: LabDrops, weights: FloatArray) -> FloatArray:
    """Mean drop over models of each behaviour; 0 for one that live users never show."""
    rate = lab.rates.rate.mean(axis=0)
    drops = np.zeros(weights.size)
    drops[weights > 0.0] = np.where(lab.paired, rate[1:], rate[1:] - rate[0])
    return drops
