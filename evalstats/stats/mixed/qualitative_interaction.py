"""Does a difference change its sign between strata? Gail and Simon's test, and pairs of models that swap their order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count, check_level
from evalstats.stats.estimate import SMALLEST_P, positive_p
from evalstats.stats.many.multiplicity import holm

_INDEPENDENT = 1e-6  # correlations below this are rounding
_SWEEPS, _SETTLED = 400, 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitativeInteraction:
    """Test of "the difference never changes its sign".

    Attributes
    ----------
    q_positive, q_negative
        Squared distance of the differences, in standard errors, from "none is below 0" and from "none is above 0".
    statistic
        The smaller of the two.
    p_value
        Never 0.
    p_error
        Standard error of p from the draws behind its weights; 0 where they are exact.
    """

    q_positive: float
    q_negative: float
    statistic: float
    p_value: float
    method: str
    p_error: float = 0.0
    n_draws: int | None = None
    seed: int | None = None


def gail_simon(
    differences: ArrayLike, covariance: ArrayLike, *, n_draws: int = 4_000, seed: int = 0
) -> QualitativeInteraction:
    """Test whether a difference is above 0 in some strata and below 0 in others, by likelihood ratio.

    A difference that is large in one stratum and small in another does not count: only its sign does.

    Parameters
    ----------
    differences
        float64, shape (n_strata,), n_strata at least 2; approximately normal.
    covariance
        Their covariance, shape (n_strata, n_strata), of full rank.
    n_draws, seed
        Of the weights of the law, where the differences are correlated.

    Notes
    -----
    Q+ is the squared distance (in the metric of the covariance) from the nearest differences that are all >= 0, Q- from
    those <= 0, and the test rejects for a large min(Q+, Q-). Independent differences: Q+ = sum (d/se)^2 over d < 0, and the
    law is that of Gail and Simon, chi-squared with h degrees of freedom with binomial(S - 1, 1/2) weights. Correlated ones:
    p = sup over "all >= 0" of P(Q+ >= q), which lies at 0 and is chi-bar-squared with weights for S strata, found by draws; a
    bound on the p sought, so the test is conservative.

    References
    ----------
    Gail & Simon 1985, doi:10.2307/2530862; Silvapulle & Sen 2005, Constrained Statistical Inference, ch. 3.

    Examples
    --------
    >>> se = np.array([0.0788, 0.0689, 0.0614, 0.0547])
    >>> found = gail_simon([0.163, -0.114, -0.047, -0.151], np.diag(se**2))
    >>> round(found.statistic, 3), round(found.p_value, 4)
    (4.279, 0.0877)
    """
    d, v = np.asarray(differences, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if d.ndim != 1 or d.size < 2 or v.shape != (d.size, d.size) or not (np.isfinite(d).all() and np.isfinite(v).all()):
        raise InputError(
            f"differences have shape {d.shape} and covariance {v.shape}; give at least 2, and their covariance"
        )
    se = np.sqrt(np.maximum(np.diagonal(v), 0.0))
    if not (se > 0.0).all():
        raise InputError("a difference has a standard error of 0; leave out strata where it is not estimated")
    z, correlation = d / se, np.asarray(v / np.outer(se, se), dtype=np.float64)
    off = correlation - np.diag(np.diagonal(correlation))
    if float(np.abs(off).max()) < _INDEPENDENT:
        positive, negative = float(np.square(z[z < 0.0]).sum()), float(np.square(z[z > 0.0]).sum())
        q = min(positive, negative)
        h = np.arange(1, z.size)
        weights = special.binom(z.size - 1, h) * 0.5 ** (z.size - 1)
        p = float(weights @ special.gammaincc(0.5 * h, 0.5 * q)) if q > 0.0 else 1.0
        return QualitativeInteraction(
            q_positive=positive,
            q_negative=negative,
            statistic=q,
            p_value=positive_p(p),
            method="Gail-Simon test, independent strata",
        )
    if float(np.linalg.eigvalsh(correlation)[0]) < 1e-8:
        raise InputError("the covariance of the differences is singular; leave out strata that follow from the others")
    precision = np.asarray(np.linalg.inv(correlation), dtype=np.float64)
    positive, _ = _distances(z[np.newaxis], precision)
    negative, _ = _distances(-z[np.newaxis], precision)
    q = min(float(positive[0]), float(negative[0]))
    draws = check_count(n_draws, "n_draws", least=100)
    p, error = _chi_bar(q, correlation, precision, draws, seed)
    return QualitativeInteraction(
        q_positive=float(positive[0]),
        q_negative=float(negative[0]),
        statistic=q,
        p_value=positive_p(p),
        method="Gail-Simon statistic, correlated strata, conservative law",
        p_error=error,
        n_draws=draws,
        seed=seed,
    )


def _chi_bar(q: float, correlation: FloatArray, precision: FloatArray, n_draws: int, seed: int) -> tuple[float, float]:
    """Return P(Q+ >= q) where all differences are 0, and its error: draws give weights only, the tails are exact."""
    if q <= 1e-12:
        return 1.0, 0.0
    draws = np.random.default_rng(seed).standard_normal((n_draws, len(correlation)))
    _, n_held = _distances(draws @ np.linalg.cholesky(correlation).T, precision)
    tail = np.concatenate([[0.0], special.gammaincc(0.5 * np.arange(1, len(correlation) + 1), 0.5 * q)])
    each = tail[n_held]
    return float(each.mean()), float(each.std(ddof=1)) / np.sqrt(n_draws)


def _distances(z: FloatArray, precision: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Return squared distances of rows of z from the orthant x >= 0, and how many x are held at 0 in each.

    min (x - z)' P (x - z) over x >= 0, all rows at once, coordinate by coordinate until nothing moves.
    """
    x = np.maximum(z, 0.0)
    scale = np.diagonal(precision)
    for _ in range(_SWEEPS):
        moved = 0.0
        for j in range(z.shape[1]):
            slope = (x - z) @ precision[:, j]
            new = np.maximum(x[:, j] - slope / scale[j], 0.0)
            moved = max(moved, float(np.abs(new - x[:, j]).max()))
            x[:, j] = new
        if moved < _SETTLED:
            break
    rest = x - z
    return np.square(rest @ np.linalg.cholesky(precision)).sum(axis=1), (x <= 0.0).sum(axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """One pair of models.

    Attributes
    ----------
    first, second
        The models.
    first_better, second_better
        The scenario in which the data speak most clearly for each; None where its estimate is the better one in none.
    p_value
        Of "their order is the same in all scenarios" (either way, or equal): the larger of two p, one for each direction,
        each the smallest one-sided p times the number of scenarios. Null where fewer than two scenarios can be compared.
    p_adjusted
        The same by Holm over all pairs.
    shown
        Whether p_adjusted is at most 1 - conf_level: the order changes somewhere.
    between
        Pairs of scenarios (first better, second better) between which the swap itself is shown: both orders hold at once, with
        every order claimed for any pair in any scenario.
    test
        Gail and Simon's test of the same hypothesis; None where it cannot be made.
    reason
        Why there is no test.
    """

    first: str
    second: str
    first_better: str | None
    second_better: str | None
    p_value: float | None
    p_adjusted: float | None
    shown: bool
    between: tuple[tuple[str, str], ...]
    test: QualitativeInteraction | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingChange:
    """Whether and where the order of models depends on the scenario.

    Attributes
    ----------
    swaps
        Every pair of models, in the order given.
    p_any
        Of "no two models swap anywhere": the smallest Gail-Simon p times the number of pairs; None where there is none.
    conclusion
        What may be said, in words.
    """

    swaps: tuple[Swap, ...]
    p_any: float | None
    n_pairs: int
    conf_level: float
    method: str
    conclusion: str
    warnings: tuple[str, ...] = ()


def ranking_change(
    estimates: ArrayLike,
    covariance: ArrayLike,
    *,
    models: Sequence[str],
    scenarios: Sequence[str],
    df: float | None = None,
    conf_level: float = 0.95,
    seed: int = 0,
) -> RankingChange:
    """Find pairs of models whose order is shown to differ between scenarios.

    "A is ahead here and not there" is no swap; both orders must be shown. An interaction, too, may leave the order as it is.

    Parameters
    ----------
    estimates
        float64, shape (n_models, n_scenarios), higher is better, on any scale that keeps the order; NaN where null.
    covariance
        Of the estimates together, shape (n_models * n_scenarios,) squared, scenarios running fastest.
    df
        Degrees of freedom of the differences; None for the normal law. The Gail-Simon test always takes the normal law.
    seed
        Of the weights of the Gail-Simon law where differences are correlated between scenarios.

    Notes
    -----
    A swap is shown by intersection-union: "A is never better" and "B is never better" must both be rejected, each by the
    smallest one-sided p over scenarios times their number, so the larger p counts and needs no further adjustment; Holm
    over pairs of models. `between` takes Holm over every one-sided order of every pair in every scenario.

    References
    ----------
    Gail & Simon 1985, doi:10.2307/2530862; Piantadosi & Gail 1993, doi:10.1002/sim.4780121308; Berger 1982,
    doi:10.1080/00401706.1982.10487790 (intersection-union); Holm 1979, Scandinavian Journal of Statistics 6:65.

    Examples
    --------
    >>> found = ranking_change(
    ...     [[0.9, 0.2], [0.6, 0.5]], 0.002 * np.eye(4), models=["A", "B"], scenarios=["ideal", "rude"]
    ... )
    >>> found.swaps[0].between, round(found.swaps[0].p_value, 6)
    ((('ideal', 'rude'),), 2e-06)
    >>> found.conclusion
    'The order changes for 1 of 1 pairs of models: A and B (most clearly A ahead in ideal, B in rude).'
    """
    level = check_level(conf_level)
    theta, sigma = _checked(estimates, covariance, models, scenarios)
    pairs = list(combinations(range(len(models)), 2))
    found = [_one_pair(theta, sigma, i, j, df=df, seed=seed) for i, j in pairs]
    adjusted = _holm_of([each.p for each in found])
    tests = [each.test.p_value for each in found if each.test is not None]
    # All one-sided orders are one family: two for each pair and scenario.
    ahead = np.concatenate([np.concatenate([each.ahead, each.behind]) for each in found])
    made = np.isfinite(ahead)
    clear = np.zeros(ahead.size, dtype=np.bool_)
    if made.any():
        clear[made] = holm(ahead[made]) <= 1.0 - level
    clear = clear.reshape(len(pairs), 2, len(scenarios))
    swaps: list[Swap] = []
    for at, (i, j) in enumerate(pairs):
        better = [name for name, yes in zip(scenarios, clear[at, 0].tolist(), strict=True) if yes]
        worse = [name for name, yes in zip(scenarios, clear[at, 1].tolist(), strict=True) if yes]
        p = adjusted[at]
        swaps.append(
            Swap(
                first=models[i],
                second=models[j],
                first_better=_clearest(found[at].ahead, scenarios),
                second_better=_clearest(found[at].behind, scenarios),
                p_value=found[at].p,
                p_adjusted=p,
                shown=p is not None and p <= 1.0 - level,
                between=tuple((s, t) for s in better for t in worse),
                test=found[at].test,
                reason=found[at].reason,
            )
        )
    skipped = sum(each.p is None for each in found)
    return RankingChange(
        swaps=tuple(swaps),
        p_any=min(1.0, max(min(tests) * len(tests), SMALLEST_P)) if tests else None,
        n_pairs=len(pairs),
        conf_level=level,
        method="intersection-union of one-sided tests, Holm over pairs; Gail-Simon test",
        conclusion=_in_words(swaps),
        warnings=(f"{skipped} of {len(pairs)} pairs share fewer than two scenarios and are not tested",)
        * bool(skipped),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """One-sided p of each model being better, scenario by scenario (NaN where null), and the tests."""

    ahead: FloatArray
    behind: FloatArray
    p: float | None
    test: QualitativeInteraction | None
    reason: str | None


def _one_pair(theta: FloatArray, sigma: FloatArray, i: int, j: int, *, df: float | None, seed: int) -> _Pair:
    n = theta.shape[1]
    d = theta[i] - theta[j]
    blocks = sigma.reshape(theta.shape + theta.shape)
    v = blocks[i, :, i] + blocks[j, :, j] - blocks[i, :, j] - blocks[j, :, i]
    total = np.diagonal(blocks[i, :, i]) + np.diagonal(blocks[j, :, j])
    known = np.isfinite(d) & (np.diagonal(v) > 1e-12 * np.maximum(total, 1e-300))
    z = np.full(n, np.nan)
    z[known] = d[known] / np.sqrt(np.diagonal(v)[known])
    ahead, behind = _upper(z, df), _upper(-z, df)
    m = int(known.sum())
    if m < 2:
        why = f"{m} scenario{'s' if m != 1 else ''} in which both have an estimate and a standard error; 2 are needed"
        return _Pair(ahead=ahead, behind=behind, p=None, test=None, reason=why)
    p = max(min(1.0, m * float(np.nanmin(ahead))), min(1.0, m * float(np.nanmin(behind))))
    inner = v[np.ix_(known, known)]
    scale = np.sqrt(np.diagonal(inner))
    full = float(np.linalg.eigvalsh(inner / np.outer(scale, scale))[0]) > 1e-8
    test = gail_simon(d[known], inner, seed=seed) if full else None
    return _Pair(ahead=ahead, behind=behind, p=p, test=test, reason=None)


def _upper(z: FloatArray, df: float | None) -> FloatArray:
    """Return P(Z >= z), in (0, 1]; NaN stays NaN."""
    tail = special.ndtr(-z) if df is None or math.isinf(df) else special.stdtr(df, -z)
    return np.clip(np.asarray(tail, dtype=np.float64), SMALLEST_P, 1.0)


def _checked(
    estimates: ArrayLike, covariance: ArrayLike, models: Sequence[str], scenarios: Sequence[str]
) -> tuple[FloatArray, FloatArray]:
    theta, sigma = np.asarray(estimates, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    shape = (len(models), len(scenarios))
    if theta.shape != shape or sigma.shape != (theta.size, theta.size):
        raise InputError(
            f"estimates have shape {theta.shape} and covariance {sigma.shape}; expected {shape} and that size squared"
        )
    if min(shape) < 2:
        raise InputError(f"{shape[0]} models in {shape[1]} scenarios: an order can change with at least 2 of each")
    inside = np.isfinite(theta.ravel())
    if not np.isfinite(sigma[np.ix_(inside, inside)]).all():
        raise InputError("covariance holds NaN for estimates that are given; set those estimates to NaN")
    return theta, np.where(np.isfinite(sigma), sigma, 0.0)


def _holm_of(p_values: Sequence[float | None]) -> list[float | None]:
    made = [p for p in p_values if p is not None]
    stepped = iter(holm(made).tolist() if made else [])
    return [None if p is None else next(stepped) for p in p_values]


def _clearest(p: FloatArray, scenarios: Sequence[str]) -> str | None:
    if not (p < 0.5).any():
        return None
    return scenarios[int(np.nanargmin(p))]


def _in_words(swaps: Sequence[Swap]) -> str:
    tested, shown = [each for each in swaps if each.p_value is not None], [each for each in swaps if each.shown]
    if not tested:
        return "Nothing can be said about the order: no two models share two scenarios."
    if not shown:
        return (
            f"No pair of models (of {len(tested)}) is shown to change its order between scenarios. "
            "That does not show that the order is the same in all of them."
        )
    parts = [
        f"{each.first} and {each.second} (most clearly {each.first} ahead in {each.first_better}, "
        f"{each.second} in {each.second_better})"
        for each in shown[:3]
    ]
    more = f"; and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"The order changes for {len(shown)} of {len(tested)} pairs of models: {'; '.join(parts)}{more}."
