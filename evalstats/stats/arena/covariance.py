"""The covariance of strengths from votes that share raters, prompts, sessions or events, and the variances of contrasts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.sandwich import (
    LARGE,
    Meat,
    clustered_meat,
    few_factor,
    inclusion_exclusion,
    model_clusters,
    nested_in,
    sandwich,
    terms,
    vote_meat,
    with_weight,
)
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes
from evalstats.stats.estimate import SMALLEST_P

ENOUGH_CLUSTERS = 40  # clusters that a way must be worth for claims by a multivariate t: see `strength_ranks`
_NO_VARIANCE = 1e-9  # of the variances that stand in: less than that is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way in which votes share something.

    Attributes
    ----------
    n_clusters
        Clusters with a vote of some weight.
    effective
        (sum k)^2 / sum k^2 for the weights k of the clusters' votes: how many equal clusters these are worth.
    largest_share
        Share of all votes in the largest cluster.
    jackknife
        Whether its part is the one-step cluster jackknife, which is taken where the largest share exceeds .05.
    nested_in
        The way inside which every one of these clusters lies, so that this one adds nothing; None where it was used.
    """

    name: str
    n_clusters: int
    effective: float
    largest_share: float
    jackknife: bool = False
    nested_in: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthCovariance:
    """Covariance of the parameters of a fit, and what may be claimed with it.

    Attributes
    ----------
    covariance
        float64, shape (n_parameters, n_parameters), in the order of the fit's parameters. With several ways of clustering it
        may have negative eigenvalues: variances are to be taken by `contrast_variance` and `combination_variance`.
    joint
        float64, shape (n_models, n_models): the part of the strengths with negative eigenvalues set to 0, for claims about
        several contrasts at once.
    votes
        The same as `covariance` if every vote stood on its own.
    one_way
        One covariance for each way that was used.
    df
        Degrees of freedom of the t law, of what all votes bear on; of two models see `contrast_df`.
    model_effective
        float64, shape (n_models,): how many equal clusters the votes on each model are worth, in the way where these are the
        fewest.
    ways
        What the votes share, in the order of `rows.clusters`; empty where every vote stands on its own.
    repaired, repair
        Whether `joint` differs from `covariance`, and the sum of the negative eigenvalues over that of the positive ones.
    few_clusters
        Whether some way is worth fewer clusters than there are models, or fewer than 40: then claims about several pairs go
        by sign flips of clusters.
    reason
        Why no interval may be claimed; None where it may.
    """

    covariance: FloatArray
    joint: FloatArray
    votes: FloatArray
    one_way: tuple[FloatArray, ...]
    df: float
    model_effective: FloatArray
    method: str
    ways: tuple[Way, ...] = ()
    repaired: bool = False
    repair: float = 0.0
    few_clusters: bool = False
    plain: bool = False
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[Way, ...]:
        """Ways that are not nested in another."""
        return tuple(way for way in self.ways if way.nested_in is None)

    @property
    def n_models(self) -> int:
        """Models with a strength."""
        return self.joint.shape[0]


def contrast_variance(covariance: StrengthCovariance, i: ArrayLike, j: ArrayLike) -> FloatArray:
    """Return the variances of strength i less strength j, one for each pair of entries of `i` and `j`.

    Notes
    -----
    V_ii + V_jj - 2 V_ij. Inclusion and exclusion can come out at or below 0 by chance: then the largest of the one-way
    variances and that of single votes is returned. A plain covariance is taken as it is.
    """
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    return _positive(covariance, [variances_of(matrix, first, second) for matrix in _matrices(covariance)])


def contrast_df(covariance: StrengthCovariance, i: ArrayLike, j: ArrayLike) -> FloatArray:
    """Return the degrees of freedom of strength i less strength j; NaN where all votes on one of them lie in one cluster.

    Notes
    -----
    min(df, G*_i - 1, G*_j - 1), with G*_i of the votes on model i alone: a model that few raters saw is known no better than
    so many raters allow, however many others there are.
    """
    fewest = np.minimum(covariance.model_effective[np.asarray(i)], covariance.model_effective[np.asarray(j)])
    df = np.minimum(covariance.df, fewest - 1.0)
    return np.where(df > _NO_VARIANCE, df, np.nan)


def variances_of(matrix: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """Return the variances of the differences first - second under one covariance."""
    own = np.diagonal(matrix)
    return own[first] + own[second] - 2.0 * matrix[first, second]


def combination_variance(covariance: StrengthCovariance, weights: ArrayLike) -> FloatArray:
    """Return the variances of combinations of parameters, `weights` of shape (n_combinations, n_parameters).

    As `contrast_variance`, for coefficients and single strengths too.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.covariance import covariance_of
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [0, 1], count=[30, 10])
    >>> found = covariance_of(fit_strengths(rows), rows)
    >>> combination_variance(found, [[1, -1], [1, 0]]).round(6).tolist()
    [0.133333, 0.033333]
    """
    rows = np.asarray(weights, dtype=np.float64)
    return _positive(covariance, [np.einsum("cp,pq,cq->c", rows, matrix, rows) for matrix in _matrices(covariance)])


def _matrices(covariance: StrengthCovariance) -> tuple[FloatArray, ...]:
    """Return the covariance, and behind it those that stand in for it."""
    return (covariance.covariance, covariance.votes, *covariance.one_way)


def _positive(covariance: StrengthCovariance, variances: list[FloatArray]) -> FloatArray:
    """Return the first variances, or where they are not positive the largest of the others."""
    value, others = variances[0], np.max(variances[1:], axis=0)
    return value if covariance.plain else np.where(value > _NO_VARIANCE * others, value, others)


def contrast_p(fit: PairFit, covariance: StrengthCovariance, i: ArrayLike, j: ArrayLike) -> FloatArray:
    """Return two-sided p-values of strength i = strength j by the t law; NaN where a contrast has no standard error."""
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    variance = contrast_variance(covariance, first, second)
    df = contrast_df(covariance, first, second)
    known = (variance > 0.0) & ~np.isnan(df)
    t = (fit.strengths[first] - fit.strengths[second]) / np.sqrt(np.where(known, variance, 1.0))
    p = 2.0 * special.stdtr(np.where(known, df, 1.0), -np.abs(t))
    return np.where(known, np.clip(p, SMALLEST_P, 1.0), np.nan)


def df_words(df: float) -> str:
    """Write degrees of freedom, with a decimal where they are few.

    Examples
    --------
    >>> df_words(12.0), df_words(73.46), df_words(2999.0)
    ('12', '73.5', '2,999')
    """
    return f"{df:.3g}" if df < 100.0 else f"{df:,.0f}"


__all__ = [
    "ENOUGH_CLUSTERS",
    "FEWEST_CLUSTERS",
    "Meat",
    "StrengthCovariance",
    "Way",
    "clustered_meat",
    "combination_variance",
    "contrast_df",
    "contrast_variance",
    "covariance_of",
    "covariance_of_meat",
    "vote_meat",
]

FEWEST_CLUSTERS = 6  # with fewer in some way no interval is claimed
_MOST_WAYS = 6
_FEW_DF = 4.0
_NEGATIVE = 1e-9  # of the largest eigenvalue: less than that below 0 is rounding


def covariance_of(
    fit: PairFit, rows: VoteRows, *, names: Sequence[str] | None = None, plain: bool = False
) -> StrengthCovariance:
    """Covariance of a fit's parameters, clustered by every way in which votes share something.

    Parameters
    ----------
    fit
        Strengths fitted to `rows`.
    names
        What `rows.clusters` are, for the words of the result; by default "way 1", "way 2", ...
    plain
        The sandwich as in textbooks: every term with G/(G - 1), no jackknife, no repair; without clusters no correction.

    Raises
    ------
    InputError
        If rows and fit do not belong together, there is no vote of any weight, or there are more than 6 ways.

    Notes
    -----
    Without clusters: the sandwich B M B of single votes, with B the bread and M the sum of the outer products of scores.
    With one way, M is summed by cluster, times G/(G - 1). With several: inclusion and exclusion over the ways and their
    intersections (for two, V_a + V_b - V_ab), each with its own G/(G - 1). A way whose clusters each lie inside a cluster of
    another is left out. A term of which one cluster holds more than .05 of all votes, or of those on some model, is the
    one-step cluster jackknife: D_g = (H - H_g)^- S_g, V = (G - 1)/G times the sum of D_g D_g'.

    The law of a contrast over its standard error is t with min G* - 1 degrees of freedom, G* = (sum k)^2 / sum k^2 over all
    votes, and over those on either of the two models: see `contrast_df`.

    Coverage of nominal .95 intervals, ten models, 2,000 votes, raters' own preferences of sd .8 and prompts' of sd .6: 100
    raters .95, with the k-th voting in proportion to 1/k .95, 13 prompts .96, both .95 (single votes: .90, .70, .75, .75).
    For a model that 4, 8 or 20 of 100 raters voted on: .97, .97, .96; with the degrees of freedom of all votes and no
    jackknife .79, .88, .92.

    References
    ----------
    Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136; MacKinnon, Nielsen & Webb 2023,
    doi:10.1016/j.jeconom.2022.04.001.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rater = np.arange(40) // 4
    >>> rows = vote_rows([0, 1] * 20, [1, 0] * 20, [0, 1, 0, 0] * 5 + [1, 0, 1, 1] * 5, clusters=(rater,))
    >>> found = covariance_of(fit_strengths(rows), rows, names=["rater"])
    >>> float(contrast_variance(found, 0, 1).round(3)), found.df, found.method
    (0.111, 9.0, 'sandwich clustered by rater (one-step jackknife), t with 9 df')
    """
    called = _names(rows, names)
    rows = with_weight(rows)
    votes = vote_meat(fit, rows)
    by_vote = sandwich(fit.bread, votes.matrix)
    columns = [as_codes(codes, rows.n_rows)[0] for codes in rows.clusters]
    if not columns:
        return _of_votes(by_vote, votes, model_clusters(rows, None).effective, plain=plain)
    parents = nested_in(columns)
    used = [w for w, parent in enumerate(parents) if parent is None]
    found = terms(fit, rows, [columns[w] for w in used], plain=plain)
    ways = tuple(
        _way(
            called[w],
            found[used.index(w),].meat if parent is None else _sizes(columns[w], rows.weight),
            jackknife=parent is None and found[used.index(w),].jackknife,
            nested=None if parent is None else called[parent],
        )
        for w, parent in enumerate(parents)
    )
    return _assembled(
        inclusion_exclusion(found),
        by_vote,
        tuple(found[k,].covariance for k in range(len(used))),
        ways,
        np.min([found[k,].models.effective for k in range(len(used))], axis=0),
        plain=plain,
        warnings=_whole(sum(each.n_whole for key, each in found.items() if len(key) == 1)),
    )


def covariance_of_meat(fit: PairFit, meat: Meat, votes: Meat, *, name: str = "way 1") -> StrengthCovariance:
    """Covariance from sums that were read in parts: the sandwich clustered by one way, with G/(G - 1).

    Parameters
    ----------
    meat
        From `clustered_meat` over all votes.
    votes
        From `vote_meat` of the same votes; merged without clusters they are few.

    Notes
    -----
    The jackknife needs the votes themselves; where it would have been taken for the share of all votes, a warning says so.
    How the votes on single models lie in clusters is not known here: degrees of freedom are those of all votes.
    """
    warnings = ()
    if meat.largest_share > LARGE:
        words = (
            f"the largest cluster by {name} holds {meat.largest_share:.0%} of the votes, so the standard errors of this "
            "sandwich are somewhat too small; the jackknife needs all votes at once"
        )
        warnings = (words,)
    covariance = sandwich(fit.bread, meat.matrix) * few_factor(meat.n_clusters)
    way = _way(name, meat, jackknife=False, nested=None)
    by_vote = sandwich(fit.bread, votes.matrix)
    alike = np.full(fit.n_models, meat.effective)
    return _assembled(covariance, by_vote, (covariance,), (way,), alike, plain=False, warnings=warnings)


def _of_votes(by_vote: FloatArray, meat: Meat, effective: FloatArray, *, plain: bool) -> StrengthCovariance:
    df, n_models = meat.effective - 1.0, effective.size
    return StrengthCovariance(
        covariance=by_vote,
        joint=by_vote[:n_models, :n_models],
        votes=by_vote,
        one_way=(),
        df=df,
        model_effective=effective,
        method=f"sandwich of single votes, t with {df_words(df)} df",
        plain=plain,
        reason=_too_few("votes", meat.n_clusters),
    )


def _assembled(
    covariance: FloatArray,
    by_vote: FloatArray,
    one_way: tuple[FloatArray, ...],
    ways: tuple[Way, ...],
    model_effective: FloatArray,
    *,
    plain: bool,
    warnings: tuple[str, ...],
) -> StrengthCovariance:
    """Put the parts together and say what may be claimed."""
    n_models = model_effective.size
    used = [way for way in ways if way.nested_in is None]
    df = min(way.effective for way in used) - 1.0
    joint, repair = (covariance[:n_models, :n_models], 0.0) if plain else _repaired(covariance, n_models)
    words = " and ".join(way.name + (" (one-step jackknife)" if way.jackknife else "") for way in used)
    few = [way for way in used if way.effective < max(n_models, ENOUGH_CLUSTERS)]
    reasons = [reason for way in used if (reason := _too_few(way.name, way.n_clusters))]
    return StrengthCovariance(
        covariance=covariance,
        joint=joint,
        votes=by_vote,
        one_way=one_way,
        df=df,
        model_effective=model_effective,
        method=f"sandwich clustered by {words}, t with {df_words(df)} df",
        ways=ways,
        repaired=repair > 0.0,
        repair=repair,
        few_clusters=bool(few),
        plain=plain,
        reason="; ".join(reasons) or None,
        warnings=(*warnings, *_cautions(few, model_effective, df, repair)),
    )


def _repaired(covariance: FloatArray, n_models: int) -> tuple[FloatArray, float]:
    """Return the strengths' part with negative eigenvalues set to 0, and how much that was."""
    strengths = covariance[:n_models, :n_models]
    values, vectors = np.linalg.eigh(strengths)
    if values[0] >= -_NEGATIVE * values[-1]:
        return strengths, 0.0
    above = np.maximum(values, 0.0)
    return (vectors * above) @ vectors.T, float((above - values).sum() / above.sum())


def _cautions(few: Sequence[Way], model_effective: FloatArray, df: float, repair: float) -> tuple[str, ...]:
    enough = max(model_effective.size, ENOUGH_CLUSTERS)
    warnings = [
        f"{way.name}: {way.n_clusters} cluster{'s' if way.n_clusters > 1 else ''} worth {way.effective:.0f} equal "
        f"{'ones' if way.n_clusters > 1 else 'one'}, where {enough:.0f} are needed to draw from their covariance: which pairs "
        "differ is told by sign flips of clusters"
        for way in few
    ]
    if df < _FEW_DF - 1e-9:
        warnings.append(f"the clusters are so unequal that they are worth {1.0 + df:.1f}: too few for a verdict")
    rare = int(np.count_nonzero(model_effective < FEWEST_CLUSTERS))
    if rare and df >= FEWEST_CLUSTERS - 1:
        warnings.append(
            f"the votes on {rare} model{'s come' if rare > 1 else ' come'} from clusters worth fewer than {FEWEST_CLUSTERS}: "
            "their differences from others have few degrees of freedom and wide intervals"
        )
    if repair > 0.0:
        warnings.append(
            f"the covariance by several ways had negative eigenvalues ({repair:.1%} of the positive ones), which were set to "
            "0 for claims about several pairs"
        )
    return tuple(warnings)


def _whole(n_whole: int) -> tuple[str, ...]:
    if not n_whole:
        return ()
    words = (
        f"{n_whole} cluster{'s hold' if n_whole > 1 else ' holds'} all votes on some model, so how much that model's "
        "strength varies between clusters cannot be seen"
    )
    return (words,)


def _too_few(name: str, count: int) -> str | None:
    if count >= FEWEST_CLUSTERS:
        return None
    return f"{name}: {count} are too few for an interval; at least {FEWEST_CLUSTERS} are needed"


def _way(name: str, meat: Meat, *, jackknife: bool, nested: str | None) -> Way:
    return Way(
        name=name,
        n_clusters=meat.n_clusters,
        effective=meat.effective,
        largest_share=meat.largest_share,
        jackknife=jackknife,
        nested_in=nested,
    )


def _sizes(codes: IntArray, weight: FloatArray) -> Meat:
    """Return the sizes of clusters without their scores."""
    k = np.bincount(codes, weights=weight)
    return Meat(
        matrix=np.zeros((0, 0)),
        n_clusters=k.size,
        sum_k=float(k.sum()),
        sum_k2=float(np.square(k).sum()),
        largest=float(k.max()),
    )


def _names(rows: VoteRows, names: Sequence[str] | None) -> tuple[str, ...]:
    count = len(rows.clusters)
    if count > _MOST_WAYS:
        raise InputError(f"votes are clustered in {count} ways; give at most {_MOST_WAYS}")
    if names is None:
        return tuple(f"way {w + 1}" for w in range(count))
    if len(names) != count:
        raise InputError(f"{len(names)} names for {count} ways of clustering; give one name for each")
    return tuple(names)
