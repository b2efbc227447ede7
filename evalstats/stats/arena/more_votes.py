"""How many more votes between two models would tell them apart."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.arena.contrasts import PairContrasts
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.strength_covariance import ENOUGH_CLUSTERS, StrengthCovariance
from evalstats.stats.arena.ties import derivatives
from evalstats.stats.checks import FloatArray, IntArray, check_count, check_level

_CAP = 10_000_000
_NO_SPREAD = "the difference has no standard error, so what votes would add is unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreVotes:
    """Further direct votes for pairs of models, one entry for each pair asked for.

    Attributes
    ----------
    first, second
        Models of each pair.
    n_votes
        Votes between these two alone, on top of those there are, or None with the reason in `reasons`.
    design_effect
        Variance of each contrast over what it would be if every vote stood on its own; NaN where unknown.
    power, critical
        The power aimed at, and what |t| has to exceed; None for the t quantile of one pair alone.
    """

    first: IntArray
    second: IntArray
    n_votes: tuple[int | None, ...]
    reasons: tuple[str | None, ...]
    design_effect: FloatArray
    power: float
    critical: float | None

    @property
    def total(self) -> int | None:
        """Votes for all these pairs together; None where it is unknown for one that is not separated yet."""
        known = [n for n, why in zip(self.n_votes, self.reasons, strict=True) if why != SEPARATED]
        return None if any(n is None for n in known) else sum(n for n in known if n is not None)


SEPARATED = "separated already"


def more_votes(
    fit: PairFit,
    covariance: StrengthCovariance,
    contrasts: PairContrasts,
    pairs: ArrayLike,
    *,
    power: float = 0.8,
    critical: float | None = None,
    cap: int = _CAP,
) -> MoreVotes:
    """Count the direct votes that would separate pairs if their difference is as estimated.

    Parameters
    ----------
    contrasts
        From `pair_contrasts`.
    pairs
        Integers, shape (n, 2): models, in either order.
    critical
        What |t| has to exceed: `StrengthRanks.critical` for claims among all pairs. None: the t quantile of one pair alone.
    cap
        Where more votes than these are needed, a reason is given instead of a number.

    Notes
    -----
    A direct vote adds the information I = -E[d2 log-likelihood / d eta2] to that of the contrast. With b the contrast's
    variance by the model alone and V its variance by the covariance, n further votes leave V / (1 + n I b): the new votes
    are as dependent as the old ones (design effect V / V_votes) and as informative, whatever ties do to them. That holds for
    votes of new raters on new prompts; more votes of the same few raters add less. With d the estimate, n is the least
    number for which |d| reaches (critical + t_power) times the standard error. Estimated differences are somewhat too large
    where they were looked for, and n then too small.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.contrasts import pair_contrasts
    >>> from evalstats.stats.arena.covariance import covariance_of
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [0, 1], count=[55, 45])
    >>> fit = fit_strengths(rows)
    >>> covariance = covariance_of(fit, rows)
    >>> more_votes(fit, covariance, pair_contrasts(fit, covariance), [(0, 1)]).n_votes
    (704,)
    """
    share, most = check_level(power), check_count(cap, "cap", least=1)
    asked = _pairs(pairs, fit.n_models)
    first, second = asked.min(axis=1), asked.max(axis=1)
    at = [contrasts.place(int(i), int(j)) for i, j in zip(first, second, strict=True)]
    estimate, std_error = contrasts.estimate[at], contrasts.std_error[at]
    if critical is not None and not critical > 0.0:
        raise InputError(f"critical is {critical:g}; give what |t| has to exceed, a number above 0")
    df = contrasts.df[at]
    bar = -special.stdtrit(df, (1.0 - contrasts.conf_level) / 2.0) if critical is None else critical
    decided = contrasts.p_adjusted[at] if critical is not None else contrasts.p_value[at]
    reach = bar + special.stdtrit(df, share)
    gain = _information(fit, estimate) * _of(fit.bread, first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (np.square(std_error * reach / estimate) - 1.0) / gain
        design_effect = std_error**2 / _of(covariance.votes, first, second)
    lacking = contrasts.reason or (None if critical is None else _clusters_lacking(covariance))
    found = [
        _one(float(n), float(p), lacking, 1.0 - contrasts.conf_level, most)
        for n, p in zip(needed, decided, strict=True)
    ]
    return MoreVotes(
        first=asked[:, 0],
        second=asked[:, 1],
        n_votes=tuple(n for n, _ in found),
        reasons=tuple(why for _, why in found),
        design_effect=design_effect,
        power=share,
        critical=critical,
    )


def _clusters_lacking(covariance: StrengthCovariance) -> str | None:
    """Say of which clusters more are needed where claims rest on sign flips of few: votes in the same ones cannot help."""
    few = [way for way in covariance.used if covariance.few_clusters and way.n_clusters < ENOUGH_CLUSTERS]
    if not few:
        return None
    least = min(few, key=lambda way: way.n_clusters)
    return f"more clusters by {least.name} are needed, not more votes: there are {least.n_clusters}"


def _one(needed: float, p: float, reason: str | None, alpha: float, cap: int) -> tuple[int | None, str | None]:
    """Return the number of votes of one pair, or why there is none."""
    if p <= alpha:
        return None, SEPARATED
    if reason is not None:
        return None, reason
    if math.isnan(needed):
        return None, _NO_SPREAD
    if not needed <= cap:
        return None, f"more than {cap:,} votes: the estimated difference is too close to 0"
    # A pair that is not separated though its estimate already stands out enough needs a vote at least to change anything.
    return max(1, math.ceil(needed)), None


def _information(fit: PairFit, eta: FloatArray) -> FloatArray:
    """Return the expected information by eta of one vote between models that differ by `eta`, covariates 0."""
    tau = 0.0 if fit.tie is None else math.log(fit.tie)
    none, one = np.zeros_like(eta), np.ones_like(eta)
    information = np.zeros_like(eta)
    kinds = [(one, none, none), (none, one, none), (none, none, one)]
    for votes in kinds[: 2 if fit.ties == "half" else 3]:
        at = derivatives(fit.ties, eta, tau, votes)
        information += np.exp(at.log_lik) * at.curve
    return information


def _of(matrix: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    own = np.diagonal(matrix)
    return own[first] + own[second] - 2.0 * matrix[first, second]


def _pairs(pairs: ArrayLike, n_models: int) -> IntArray:
    asked = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    wrong = (asked[:, 0] == asked[:, 1]) | (asked.min(axis=1) < 0) | (asked.max(axis=1) >= n_models)
    if wrong.any():
        bad = asked[int(np.flatnonzero(wrong)[0])]
        raise InputError(f"pair ({bad[0]}, {bad[1]}) is not two different models of 0 to {n_models - 1}")
    return asked
