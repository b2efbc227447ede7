"""The law of all contrasts of strengths together: multivariate t, or sign flips where clusters are few."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.stats.arena.cluster_flips import flipped_contrasts
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.scores import with_weight
from evalstats.stats.arena.strength_covariance import StrengthCovariance, contrast_df, contrast_variance, df_words
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.many.max_t import ReferenceLaw
from evalstats.stats.many.reference_laws import normal_known

FLAT = 1e-12  # a variance below this share of those of its two models is rounding
_LEAST_DRAWS, _MOST_DRAWS = 4_999, 29_999
_MOST_STATISTICS = 25_000_000
_MOST_FLIPPED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLaw:
    """Pairs with their law.

    Attributes
    ----------
    first, second
        Models of each pair, shape (n_pairs,). Pairs without a standard error are left out.
    law
        Of the studentised contrasts.
    """

    first: IntArray
    second: IntArray
    law: ReferenceLaw
    method: str


@one_thread
def joint_law(
    fit: PairFit, covariance: StrengthCovariance, rows: VoteRows | None, *, seed: int, n_resamples: int | None = None
) -> JointLaw | str:
    """Return the law of all pairs of models if none differed, or why there is none.

    Models are put in the order of their strengths, so that their numbers and the order of votes do not matter.

    Parameters
    ----------
    rows
        The votes; needed where `covariance.few_clusters`.
    n_resamples
        None: as many draws as 25 million statistics allow, from 4,999 to 29,999.
    """
    if covariance.reason is not None:
        return covariance.reason
    order, a, b, size = _pairs(fit, covariance)
    first, second = order[a], order[b]
    if not first.size:
        return "no difference between two models has a standard error"
    draws = n_resamples or int(np.clip(_MOST_STATISTICS // first.size, _LEAST_DRAWS, _MOST_DRAWS))
    if covariance.few_clusters:
        if rows is None:
            return "clusters are few, and sign flips of clusters need the votes themselves"
        codes, name = _flipped(covariance, rows := with_weight(rows))
        law = flipped_contrasts(fit, rows, codes, first, second, std_error=size, seed=seed, n_resamples=draws)
        return JointLaw(first=first, second=second, law=law, method=f"sign flips of clusters by {name}")
    law = normal_known(
        fit.strengths[order],
        covariance.joint[np.ix_(order, order)],
        a,
        b,
        seed=seed,
        n_resamples=draws,
        df=covariance.df,
        variance=_in_one_law(fit, covariance, first, second, size) ** 2,
    )
    return JointLaw(first=first, second=second, law=law, method=f"multivariate t with {df_words(covariance.df)} df")


def _pairs(fit: PairFit, covariance: StrengthCovariance) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return the models in the order of their strengths, pairs of places in it, and the pairs' standard errors.

    Pairs without one are left out.
    """
    own = np.diagonal(covariance.joint)
    order = np.lexsort((own, fit.strengths))
    a, b = np.triu_indices(fit.n_models, k=1)
    first, second = order[a], order[b]
    joint = own[first] + own[second] - 2.0 * covariance.joint[first, second]
    # What is shown of many pairs is never shown with less doubt than of one alone.
    variance = np.maximum(contrast_variance(covariance, first, second), joint)
    known = (joint > FLAT * (own[first] + own[second])) & ~np.isnan(contrast_df(covariance, first, second))
    return order.astype(np.int64), a[known], b[known], np.sqrt(variance[known])


def _in_one_law(
    fit: PairFit, covariance: StrengthCovariance, first: IntArray, second: IntArray, size: FloatArray
) -> FloatArray:
    """Return standard errors that make each t of its own degrees of freedom as unlikely as one of those of the law."""
    df = contrast_df(covariance, first, second)
    t = (fit.strengths[first] - fit.strengths[second]) / size
    p = np.maximum(special.stdtr(df, -np.abs(t)), SMALLEST_P)
    alike = -special.stdtrit(covariance.df, p)
    return np.where((df < covariance.df) & (alike > 0.0), size * np.abs(t) / np.where(alike > 0.0, alike, 1.0), size)


def _flipped(covariance: StrengthCovariance, rows: VoteRows) -> tuple[IntArray, str]:
    """Return the codes and the name of the way that is worth the fewest clusters.

    Of many clusters the largest stay as they are and the others are dealt out to groups: groups of independent clusters are
    independent too, and flipping so many signs more would tell no more.
    """
    used = [w for w, way in enumerate(covariance.ways) if way.nested_in is None]
    fewest = min(used, key=lambda w: covariance.ways[w].effective)
    codes, count = as_codes(rows.clusters[fewest], rows.n_rows)
    if count > _MOST_FLIPPED:
        by_size = np.argsort(-np.bincount(codes, weights=rows.weight), kind="stable")
        group, half = np.empty(count, dtype=np.int64), _MOST_FLIPPED // 2
        group[by_size] = np.where(np.arange(count) < half, np.arange(count), half + np.arange(count) % half)
        codes = group[codes]
    return codes, covariance.ways[fewest].name
