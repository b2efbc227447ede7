"""What difficult users take from each model's score in the lab, and the live score to expect from that."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.gap.outcome_sums import LIVE_CLUSTERS
from evalstats.analysis.gap.result import DropForecast, DropSlope, ModelDrop
from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.analysis.result import Estimate
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import and_list, plural
from evalstats.record import record
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FEW_CLUSTERS, BoolArray, FloatArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.line import fit_line, fit_plane, slope_covariance
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.estimate import normal_quantile, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.gap import (
    CellRates,
    Drops,
    PooledDrops,
    cell_rates,
    combined,
    flipped_pairs,
    no_spread_p,
    pooled_drops,
    spread_beyond_noise,
)

# What benchmarks and surveys call the user who says what is needed, where no column marks it.
IDEAL_NAMES = ("ideal", "stable")
IDEAL, NON_IDEAL = "ideal", "non_ideal"
FEWEST_FOR_SLOPE = 6
_ITEM = ("benchmark", "task", "item")
_LEVEL, _CLUSTER = "evalstats: level", "evalstats: cluster"
_PAIRED_FROM = 0.5
_EXACT_SHARES = "fewer than five live clusters: the live shares are taken as exact"
_NO_REST = "the search for the slope did not come to rest"


@one_thread
def drop_forecast_of(shared: SharedModels) -> DropForecast:
    """Forecast live scores, in the lab metric's own unit, from what non-ideal users do to each model in the lab.

    A drop is the mean over the non-ideal behaviours, in their live shares, of the score with that behaviour less the
    score with ideal users: on the same items where at least half of a behaviour's items were played with ideal users
    too (items without a twin are then left out), else a difference of means. The forecast counts in the errors of ideal
    score and drop with their covariance, the spread of drops, and the counting of live users; shares from outside are
    taken as exact.
    """
    behaviours, rows = _behaviours(shared)
    shares = _live_shares(shared, behaviours)
    lab = _lab_drops(shared, behaviours, rows, shares)
    weights = np.array(shares.weights)
    used = weights[weights > 0.0]
    drops = _drops(lab, used)
    variance = _share_variance(shares, lab, weights)
    pooled = pooled_drops(drops, shares.non_ideal, share_variance=variance or 0.0)
    slope = drop_slope(shared, lab.keep, drops, shares.non_ideal)
    level = shared.conf_level
    flips = [(lab.models[i], lab.models[j]) for i, j in flipped_pairs(drops, pooled, conf_level=level)]
    mean = combined(lab.rates, _cell_weights(lab, used)[1].mean(axis=0, keepdims=True))
    return DropForecast(
        rows=tuple(_rows(shared, lab, drops, pooled)),
        share_non_ideal=shares.non_ideal,
        share_source=shares.source,
        mean_drop=_estimate(float(mean.estimate[0]), float(mean.covariance[0, 0]), float(mean.df[0]), level),
        spread=pooled.spread,
        spread_p=pooled.spread_p,
        slope=slope,
        flips=tuple((behind, ahead) if shared.lab.sign < 0 else (ahead, behind) for ahead, behind in flips),
        notes=(
            *shares.notes,
            *lab.notes,
            *as_notes("few", () if variance is not None else (_EXACT_SHARES,), caution=False),
            *as_notes("fit", () if slope.converged else (_NO_REST,), caution=False),
        ),
        conf_level=level,
    )


# --- behaviours ---


@record
class Behaviours:
    """The column whose levels are behaviours of users in the lab: the one `ideal` level, and the `others`, sorted."""

    column: str
    ideal: str
    others: tuple[str, ...]

    def is_ideal(self, level: str) -> bool:
        """Whether a level found elsewhere (in a survey, with live users) is that of ideal users."""
        return level == self.ideal or level.casefold() in IDEAL_NAMES


def _behaviours(shared: SharedModels) -> tuple[Behaviours, pl.DataFrame]:
    """Return how ideal users are told from others in the lab, and its scored rows with a column of levels.

    `user_kind` decides: where every scenario has users of one kind, scenarios are the behaviours; else the two kinds
    are. Without it, the level called "ideal" or "stable" is that of ideal users.
    """
    data = shared.lab.data
    if data is None or not data.outcomes.height:
        raise CannotAnswerError(
            "the lab has no outcomes of single items, so ideal and non-ideal users cannot be told apart"
        )
    rows = data.outcomes.filter(pl.col("status") == "scored")
    # The column of the mix, else the first factor of the cells, else the scenario.
    named = [*([shared.mix.factor] if shared.mix else []), *(shared.cells.factors if shared.cells else ())]
    try:
        column = data.factor(next((name for name in named if name != "user_kind"), "scenario"))
    except InputError:
        column = "scenario"
    known = rows.filter(pl.col("user_kind").is_not_null())
    if known.height and known["user_kind"].n_unique() > 1:
        kinds = known.filter(pl.col(column).is_not_null()).group_by(column).agg(pl.col("user_kind").unique())
        sets = {str(level): kind for level, kind in kinds.iter_rows()}
        ideal = sorted(level for level, kind in sets.items() if kind == [IDEAL])
        others = tuple(sorted(level for level, kind in sets.items() if kind == [NON_IDEAL]))
        found = Behaviours(column="user_kind", ideal=IDEAL, others=(NON_IDEAL,))
        if len(ideal) == 1 and others and len(ideal) + len(others) == len(sets):
            found = Behaviours(column=column, ideal=ideal[0], others=others)
        return found, known.filter(pl.col(found.column).is_not_null())
    if known.height:
        only = known["user_kind"][0]
        raise CannotAnswerError(
            f"all lab outcomes are of users of the kind {only!r}; a drop needs items with ideal and with non-ideal users"
        )
    levels = levels_of(rows[column].cast(pl.String))
    ideal = [level for level in levels if level.casefold() in IDEAL_NAMES]
    if len(ideal) != 1 or len(levels) < 2:
        raise CannotAnswerError(
            f"no column user_kind, and {plural(len(ideal), 'level')} of {column} called ideal or stable (it has "
            f"{and_list(levels)}); a drop needs items with ideal and with non-ideal users, and one level of ideal ones"
        )
    others = tuple(level for level in levels if level != ideal[0])
    return Behaviours(column=column, ideal=ideal[0], others=others), rows.filter(pl.col(column).is_not_null())


# --- live shares ---


@record
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
    weight: FloatArray | None = None
    notes: tuple[Note, ...] = ()


def _live_shares(shared: SharedModels, behaviours: Behaviours) -> LiveShares:
    """Return the shares of behaviours: those given from outside, else counted in the live rows."""
    mix = shared.mix
    if mix is not None:
        return _shares(behaviours, mix.shares, mix.source or f"given from outside, by {mix.factor}")
    data = shared.live.data
    labelled = [
        (rows.filter(pl.col(column).is_not_null()), column)
        for rows in (() if data is None else (data.outcomes, data.comparisons))
        for column in (behaviours.column, "user_kind")
        if column in rows.columns and rows[column].null_count() < rows.height
    ]
    if data is None or not labelled:
        raise CannotAnswerError(
            f"live rows do not say how users behave (no {behaviours.column}, no user_kind), and no mix is given from outside; "
            "without the share of non-ideal users there is no forecast"
        )
    rows, column = labelled[0]
    text = rows[column].cast(pl.String)
    weight = rows["weight"].fill_null(1.0).to_numpy().astype(np.float64)
    totals = {level: float(weight[(text == level).to_numpy()].sum()) for level in text.unique().sort().to_list()}
    found = _shares(behaviours, totals, f"counted in {plural(rows.height, 'live row')}, by {column}")
    place = {name: at for at, name in enumerate(behaviours.others)}
    if column == "user_kind" and behaviours.column != "user_kind":
        place = {}
    codes = [-1 if behaviours.is_ideal(level) else place.get(level, -2) for level in text]
    cluster = np.arange(rows.height, dtype=np.int64)
    for name in (*shared.live.clusters, *LIVE_CLUSTERS, "rater"):
        if name in rows.columns and rows[name].null_count() < rows.height:
            alone = pl.concat_str(pl.lit("row \x1f"), pl.int_range(pl.len()).cast(pl.String))
            levels = rows.select(pl.coalesce(pl.col(name).cast(pl.String), alone)).to_series()
            cluster = levels.rank("dense").to_numpy().astype(np.int64) - 1
            break
    return replace(found, level=np.array(codes, dtype=np.int64), cluster=cluster, weight=weight)


def _shares(behaviours: Behaviours, mix: Mapping[str, float], source: str) -> LiveShares:
    """Divide a mix into ideal and other users, and the others among the behaviours of the lab."""
    total = float(sum(mix.values()))
    if not total > 0.0:
        raise CannotAnswerError("the mix of live users is empty; give shares by behaviour, or live rows with a label")
    ideal = sum(share for level, share in mix.items() if behaviours.is_ideal(level)) / total
    weights = np.array([mix.get(level, 0.0) for level in behaviours.others]) / total
    kind_alone = {level for level in mix if not behaviours.is_ideal(level)} == {NON_IDEAL}
    notes: list[Note] = []
    if kind_alone and behaviours.others != (NON_IDEAL,):
        weights = np.full(len(behaviours.others), (1.0 - ideal) / len(behaviours.others))
        said = "Which non-ideal behaviours live users show is not known; those of the lab are weighted equally"
        notes.append(Note(kind="choice", text=said, caution=False))
    covered = float(weights.sum())
    lost = max(1.0 - ideal - covered, 0.0)
    if covered <= 0.0:
        raise CannotAnswerError(
            f"none of the lab's non-ideal behaviours ({and_list(behaviours.others)}) has a share among live users "
            f"({and_list(sorted(mix))}); map the names onto each other"
        )
    if lost > 1e-9:
        names = [level for level in sorted(mix) if not behaviours.is_ideal(level) and level not in behaviours.others]
        said = (
            f"The lab has no items with {and_list(names)}, {100.0 * lost:.1f}% of live users; the forecast takes them to lower "
            "scores as much as the other behaviours do"
        )
        notes.append(Note(kind="missing", text=said, caution=False))
    return LiveShares(
        non_ideal=1.0 - ideal, weights=tuple((weights / covered).tolist()), source=source, notes=tuple(notes)
    )


def _share_variance(shares: LiveShares, lab: "LabDrops", weights: FloatArray) -> float | None:
    """Return the variance of share x drop from counting live users; None where too few live clusters tell it.

    Live behaviours that the lab has not take the mean drop over models and behaviours.
    """
    if shares.level is None or shares.cluster is None or shares.weight is None:
        return 0.0
    rate = lab.rates.rate.mean(axis=0)
    drops = np.zeros(weights.size)
    drops[weights > 0.0] = np.where(lab.paired, rate[1:], rate[1:] - rate[0])
    own = np.append(drops, [float(np.dot(shares.weights, drops)), 0.0])[shares.level]
    zero = np.zeros(own.size, dtype=np.int64)
    n_clusters = int(shares.cluster.max()) + 1
    rates = cell_rates(
        shares.cluster, zero, zero, shares.weight, shares.weight * own, n_clusters=n_clusters, n_models=1, n_cells=1
    )
    if int(rates.n_clusters[0, 0]) < FEW_CLUSTERS:
        return None
    return float(combined(rates, np.ones((1, 1))).covariance[0, 0])


# --- the lab ---


@record
class LabDrops:
    """The lab by model: cell 0 holds ideal items, each other cell one behaviour (differences to ideal where paired).

    `paired` has one entry for each behaviour; `keep` are places of the models among the shared ones.
    """

    models: tuple[str, ...]
    keep: IntArray
    rates: CellRates
    paired: BoolArray
    notes: tuple[Note, ...]


def _lab_drops(shared: SharedModels, behaviours: Behaviours, rows: pl.DataFrame, shares: LiveShares) -> LabDrops:
    """Bring the lab's items into cells: ideal, and one for each behaviour that live users show."""
    used = [name for name, weight in zip(behaviours.others, shares.weights, strict=True) if weight > 0.0]
    table = _by_item(shared, behaviours, rows, used)
    values = table.select(behaviours.ideal, *used).to_numpy().astype(np.float64)
    ideal, played = np.isfinite(values[:, :1]), np.isfinite(values[:, 1:])
    paired = (played & ideal).sum(axis=0) >= _PAIRED_FROM * np.maximum(played.sum(axis=0), 1)
    told: list[str] = []
    if lost := int((played & ~ideal)[:, paired].sum()):
        told.append(
            f"{lost:,} scores with non-ideal users have no twin with ideal ones and are excluded from the drops"
        )
    if not paired.all():
        names = ", ".join(name for name, yes in zip(used, paired.tolist(), strict=True) if not yes)
        told.append(f"{names}: not the items of ideal users, so the drop may come from the items")
    values[:, 1:] = np.where(paired, values[:, 1:] - values[:, :1], values[:, 1:])
    model = np.array([shared.models.index(name) for name in table["model"]], dtype=np.int64)
    cluster = table[_CLUSTER].rank("dense").to_numpy().astype(np.int64) - 1
    keep, few = _enough(values, model, cluster, shared.models)
    place = np.full(shared.n_models, -1, dtype=np.int64)
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
        low=shared.lab.about.low,
        high=shared.lab.about.high,
    )
    return LabDrops(
        models=tuple(shared.models[int(at)] for at in keep),
        keep=keep,
        rates=_with_floors(rates, paired, shared.lab),
        paired=paired,
        notes=(*as_notes("missing", told, caution=False), *as_notes("few", few, caution=False)),
    )


def _by_item(shared: SharedModels, behaviours: Behaviours, rows: pl.DataFrame, used: Sequence[str]) -> pl.DataFrame:
    """One row for each model x base item, with its cluster and its mean score at each level; null where not played."""
    # By what the lab's errors are clustered; the base item where nothing else is known.
    cluster = pl.concat_str([pl.col(name).cast(pl.String).fill_null("") for name in _ITEM], separator="\x1f")
    for name in shared.lab.clusters:
        try:
            column = name if shared.lab.data is None else shared.lab.data.factor(name)
        except InputError:
            continue
        if column != "item" and rows[column].null_count() < rows.height:
            cluster = pl.coalesce(pl.col(column).cast(pl.String), cluster)
            break
    own = rows.with_columns(pl.col(behaviours.column).cast(pl.String).alias(_LEVEL), cluster.alias(_CLUSTER)).filter(
        pl.col("model").is_in(list(shared.models)), pl.col(_LEVEL).is_in([behaviours.ideal, *used])
    )
    averaged = pl.col("trial").is_null() & pl.col("n_trials").is_not_null()
    counts = pl.when(averaged).then(pl.col("n_trials")).otherwise(1)
    scored = own.filter(pl.col("status") == "scored").group_by("model", *_ITEM, _CLUSTER, _LEVEL)
    means = scored.agg(((pl.col("score") * counts).sum() / counts.sum()).alias("score")).sort("model", *_ITEM, _CLUSTER)
    wide = means.pivot(on=_LEVEL, index=["model", *_ITEM, _CLUSTER], values="score")
    missing = [name for name in (behaviours.ideal, *used) if name not in wide.columns]
    if missing:
        raise CannotAnswerError(f"no shared model has a lab score with {', '.join(map(repr, missing))} users")
    return wide.sort("model", *_ITEM, _CLUSTER)


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
    return keep, (f"{and_list(left, 4)}: fewer than {FEW_CLUSTERS} clusters of some behaviour in the lab, so no drop",)


def _with_floors(rates: CellRates, paired: BoolArray, side: SideScores) -> CellRates:
    """Give a difference that is the same on every item the variance of one step up and one step down more."""
    n_models, n_cells = rates.rate.shape
    flat = np.asarray(rates.residual.power(2).sum(axis=0)).ravel().reshape(n_models, n_cells) == 0.0
    flat[:, 1:] &= paired
    flat[:, 0] = False
    k = rates.n_clusters[flat].astype(np.float64)
    floor = rates.floor.reshape(n_models, n_cells).copy()
    if side.about.span is not None:
        floor[flat] = 2.0 * side.about.span**2 / (k * (k + 2.0))
    return replace(rates, floor=floor.ravel())


def _cell_weights(lab: LabDrops, used: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of cells that make ideal scores and drops, each of shape (n_models, n_models * n_cells)."""
    n_models, n_cells = lab.rates.rate.shape
    own = np.concatenate([[-float(used[~lab.paired].sum())], used])
    ideal: FloatArray = np.zeros((n_models, n_models * n_cells))
    drop: FloatArray = np.zeros((n_models, n_models * n_cells))
    for at in range(n_models):
        ideal[at, at * n_cells] = 1.0
        drop[at, at * n_cells : (at + 1) * n_cells] = own
    return ideal, drop


def _drops(lab: LabDrops, used: FloatArray) -> Drops:
    """Average the behaviours in their live shares: ideal scores and drops with the covariance of their errors."""
    found = combined(lab.rates, np.vstack(_cell_weights(lab, used)))
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


# --- rows ---


def _rows(shared: SharedModels, lab: LabDrops, drops: Drops, pooled: PooledDrops) -> list[ModelDrop]:
    level, live = shared.conf_level, shared.live
    errors = np.diag(pooled.forecast_covariance)
    rows: list[ModelDrop] = []
    for at, model in enumerate(lab.models):
        df, forecast, error = float(drops.df[at]), float(pooled.forecast[at]), float(errors[at])
        row = ModelDrop(
            model=model,
            ideal=_estimate(float(drops.ideal[at]), float(drops.of_ideal[at, at]), df, level, shared.lab),
            drop=_estimate(float(drops.drop[at]), float(drops.of_drop[at, at]), df, level),
            pooled=_estimate(float(pooled.pooled[at]), float(pooled.pooled_std_error[at]) ** 2, df, level),
            forecast=_estimate(forecast, error, df, level, shared.lab),
        )
        if shared.same_scale and live.kind == "outcomes":
            place = int(lab.keep[at])
            score = float(live.estimate[place])
            if live.covariance is None:
                reason = "the live scores have no standard errors"
                beside = Estimate(estimate=score, reason=reason), Estimate(estimate=score - forecast, reason=reason)
            else:  # live score and forecast have independent errors
                own = float(live.covariance[place, place])
                live_df = np.inf if live.df is None else live.df
                both = (own + error) ** 2 / (own**2 / live_df + error**2 / df) if own + error > 0.0 else df
                miss = _estimate(score - forecast, own + error, float(both), level)
                beside = _estimate(score, own, live_df, level, live), miss
            row = replace(row, live=beside[0], miss=beside[1])
        rows.append(row)
    return rows


def _estimate(
    estimate: float, variance: float, df: float, conf_level: float, side: SideScores | None = None
) -> Estimate:
    """Give an estimate its t interval, cut at the bounds of the metric where it is a score."""
    if not variance > 0.0:
        return Estimate(estimate=estimate, reason="the spread of its scores is unknown")
    error = float(np.sqrt(variance))
    half = t_quantile(conf_level, min(df, 1e9)) * error
    low, high = estimate - half, estimate + half
    if side is not None and side.about.low is not None:
        low = max(low, min(side.about.low, estimate))
    if side is not None and side.about.high is not None:
        high = min(high, max(side.about.high, estimate))
    return Estimate(estimate=estimate, std_error=error, conf_low=low, conf_high=high, conf_level=conf_level)


# --- the slope ---


def drop_slope(shared: SharedModels, keep: IntArray, drops: Drops, share: float) -> DropSlope:
    """Fit the gap on the drop over the models at places `keep`, with errors on both sides.

    On one scale the gap is live less the ideal lab score, and the line is York's with the covariance that the ideal
    score makes by entering gap and drop. On different scales live scores are fitted on ideal score and drop together.
    """
    n, level = keep.size, shared.conf_level
    scores = shared.own_scores.subset(keep)
    live, noise = scores.live, scores.live_covariance
    if n < FEWEST_FOR_SLOPE or noise is None:
        why = f"a slope over models needs {FEWEST_FOR_SLOPE} with a drop and a live score, and the errors of these"
        return DropSlope(estimate=None, reason=why)
    turn = shared.lab.sign
    own = replace(drops, ideal=turn * drops.ideal, drop=turn * drops.drop).smooth()
    try:
        if shared.same_scale:
            gap = LabLiveScores(
                lab=own.drop,
                live=live - own.ideal,
                lab_covariance=own.of_drop,
                live_covariance=noise + own.of_ideal,
                cross=-own.drop_with_ideal,
            )
            fit, df = fit_line(gap, conf_level=level), float(n - 2)
            slope, variance = fit.slope, slope_covariance(gap, fit.slope, fit.tau2)
            expected, alone = share, spread_beyond_noise(gap.live, noise + own.of_ideal)
        else:
            fit, df = fit_plane(live, np.stack([own.ideal, own.drop]), noise, own.covariance), float(n - 3)
            slope, variance = float(fit.slopes[1]), float(fit.covariance[1, 1])
            on_ideal = LabLiveScores(lab=own.ideal, live=live, lab_covariance=own.of_ideal, live_covariance=noise)
            expected, alone = share * float(fit.slopes[0]), fit_line(on_ideal, conf_level=level).tau2
        unlike = no_spread_p(own) <= 1.0 - level
    except (CannotAnswerError, np.linalg.LinAlgError) as error:
        return DropSlope(estimate=None, reason=str(error))
    known_df = df if fit.tau2 > 0.0 else None
    found = DropSlope(
        estimate=None,
        conf_level=level,
        df=known_df,
        expected=expected,
        explained=None if alone <= 0.0 else float(np.clip(1.0 - fit.tau2 / alone, 0.0, 1.0)),
        converged=fit.converged,
    )
    if not unlike:
        why = "models do not differ in their drop by more than noise, so no slope is determined"
        return replace(found, reason=why)
    error = math.sqrt(variance)
    half = (normal_quantile(level) if known_df is None else t_quantile(level, known_df)) * error
    p = two_sided_normal_p(slope / error) if known_df is None else two_sided_t_p(slope / error, known_df)
    return replace(found, estimate=slope, std_error=error, conf_low=slope - half, conf_high=slope + half, p_value=p)
