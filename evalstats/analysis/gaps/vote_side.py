"""One side made of votes: a rating for every model, with the full covariance of all ratings."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from evalstats.analysis.arenas.arena import arena
from evalstats.analysis.arenas.results import ArenaRanking
from evalstats.analysis.gaps.material import RankSets, Side
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError
from evalstats.schema.data import EvalData
from evalstats.stats.checks import IntArray

_NAMED = 4


def vote_side(data: EvalData, *, cluster: str | Sequence[str] | None, conf_level: float) -> tuple[Side, RankSets]:
    """Rate every model by `arena`, in Elo points about the mean of all.

    Where votes do not put all models on one scale, those of the largest part are taken; the others are not scored.

    Raises
    ------
    CannotAnswerError
        If no two models can be rated.
    """
    found = arena(data, cluster="auto" if cluster is None else cluster, conf_level=conf_level, checks=False)
    part, left = _largest_part(found)
    at = [j for j, row in enumerate(found.rows) if row.component == part and row.estimate is not None]
    rows = [found.rows[j] for j in at]
    covariance = None if found.covariance is None else found.covariance[np.ix_(at, at)]
    told: tuple[str, ...] = ()
    if covariance is None or not np.isfinite(covariance).all():
        covariance = None
        reason = next((row.reason for row in rows if row.reason), "the votes give no standard error")
        told = (f"the ratings have no standard errors: {reason}",)
    kept = data.comparisons
    side = Side(
        kind="comparisons",
        name=found.arena,
        metric="rating",
        unit="points",
        scale=1.0,
        metric_kind="rating",
        low=None,
        high=None,
        turned=False,
        models=tuple(row.name for row in rows),
        estimate=np.array([row.estimate for row in rows], dtype=np.float64),
        covariance=covariance,
        marginal=False,
        df=found.df,
        n=np.array([row.n_votes for row in rows], dtype=np.int64),
        n_clusters=np.array([min(row.n_clusters, default=0) for row in rows], dtype=np.int64),
        clusters=tuple(each.name for each in found.clusters),
        rank_low=np.zeros(len(rows), dtype=np.int64),
        rank_high=np.zeros(len(rows), dtype=np.int64),
        first_day=_day(kept["timestamp"].min()),
        last_day=_day(kept["timestamp"].max()),
        method=found.method,
        rows=None,
        sources=found.sources,
        warnings=(*found.warnings, *told, *left),
        notes=found.notes,
    )
    return side, lambda places: _ranks(found, [side.models[j] for j in places])


def _largest_part(found: ArenaRanking) -> tuple[int, tuple[str, ...]]:
    """Return the number of the part with the most models, and a warning that names the others."""
    sizes: dict[int, int] = {}
    for row in found.rows:
        if row.component is not None and row.estimate is not None:
            sizes[row.component] = sizes.get(row.component, 0) + 1
    if not sizes or max(sizes.values()) < 2:
        raise CannotAnswerError("the votes put no two models on one scale; collect votes between them")
    part = max(sizes, key=lambda number: (sizes[number], -number))
    out = [row.name for row in found.rows if row.component != part or row.estimate is None]
    if not out or found.prior > 0.0:
        return part, ()
    more = f" and {len(out) - _NAMED} more" if len(out) > _NAMED else ""
    said = (
        f"the votes do not put all models on one scale: {plural(len(out), 'model')} outside the largest part "
        f"({', '.join(out[:_NAMED])}{more}) cannot be scored"
    )
    return part, (said,)


def _ranks(found: ArenaRanking, names: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Count among these models those shown to be better and worse, over all pairs of the arena at once."""
    place = {name: j for j, name in enumerate(names)}
    above, below = np.zeros(len(names), dtype=np.int64), np.zeros(len(names), dtype=np.int64)
    known = False
    for pair in found.pairs:
        i, j = place.get(pair.first), place.get(pair.second)
        if i is None or j is None or pair.p_adjusted is None:
            continue
        known = True
        if pair.verdict in {"better", "worse"}:
            winner, loser = (i, j) if pair.verdict == "better" else (j, i)
            above[loser] += 1
            below[winner] += 1
    if not known:
        return np.zeros(len(names), dtype=np.int64), np.zeros(len(names), dtype=np.int64)
    return 1 + above, len(names) - below


def _day(moment: object) -> str | None:
    return None if moment is None or isinstance(moment, pl.Expr) else str(moment)[:10]
