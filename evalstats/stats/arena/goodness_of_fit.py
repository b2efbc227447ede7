"""Does one strength a model describe the votes, pair by pair? Deviance against the saturated model, and the worst pairs."""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.likelihood import VoteLaw
from evalstats.stats.arena.parametric_bootstrap import CheckCells, Simulated, VoteTables, pseudo_inverse
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstDrawn:
    """A statistic beside its law if the fit were true and votes independent.

    Attributes
    ----------
    expected, low, high
        Mean, 2.5% and 97.5% quantile of the drawn values.
    p_value
        Share of drawn values at least as large, the observed one counted in; never 0.
    """

    observed: float
    expected: float
    low: float
    high: float
    p_value: float
    n_resamples: int


def against_drawn(observed: float, drawn: FloatArray) -> AgainstDrawn:
    """Hold a statistic against values drawn under the fit.

    Examples
    --------
    >>> found = against_drawn(3.0, np.array([1.0, 2.0, 3.0]))
    >>> found.expected, found.p_value
    (2.0, 0.5)
    """
    slack = _ROUNDING * max(1.0, abs(observed))
    reached = int(np.count_nonzero(drawn >= observed - slack))
    low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
    return AgainstDrawn(
        observed=observed,
        expected=float(drawn.mean()),
        low=float(low),
        high=float(high),
        p_value=(1 + reached) / (1 + drawn.size),
        n_resamples=drawn.size,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviance:
    """How far pairs are from the fit.

    Attributes
    ----------
    deviance
        Against the model with a free share (for "half") or free shares of outcomes for every pair.
    df
        Pairs (times 2 where ties have a probability) less parameters; only a guide, since pairs with few votes do not
        follow the chi-squared law: `deviance.p_value` is from drawn votes.
    largest
        Largest absolute standardised residual of a pair beside its law.
    """

    deviance: AgainstDrawn
    df: int
    largest: AgainstDrawn


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResiduals:
    """Every pair that met, the model with the lower number first.

    Attributes
    ----------
    observed, expected
        float64, shape (n_pairs,): share of the first model.
    residual
        Their difference over its standard error under the fit, in which it is counted that the fit followed the pair's own
        votes. NaN where the fit follows the pair whatever it does.
    """

    first: IntArray
    second: IntArray
    count: FloatArray
    observed: FloatArray
    expected: FloatArray
    residual: FloatArray


@one_thread
def pair_deviance(votes: Simulated) -> Deviance:
    """Test the fit pair by pair.

    Parameters
    ----------
    votes
        Observed and drawn votes (`evalstats.stats.arena.parametric_bootstrap.simulated`).

    Notes
    -----
    D = 2 sum over pairs and outcomes of O log(O/E), strengths fitted again to every drawn table. For "half" the two
    outcomes are the shares of either model, ties half; else a win, a tie and a loss. With covariates E is summed over a
    pair's votes. Raw D or its chi-squared p would mislead: arenas have many pairs with few votes.

    References
    ----------
    McCullagh & Nelder 1989, Generalized Linear Models, section 4.4.3 and 4.4.5 (sparseness).

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.parametric_bootstrap import simulated
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> cycle = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 1, 0], count=[16, 4, 17, 3, 14, 6])
    >>> found = pair_deviance(simulated(fit_strengths(cycle), cycle))
    >>> found.df, found.deviance.p_value < 0.02
    (1, True)
    """
    _check(votes)
    cells = votes.cells
    sizes = _residual_sizes(votes)
    observed = pair_residuals(votes).residual
    drawn = np.abs(_left_over(cells, votes.drawn)) / sizes
    has_tie = votes.observed.ties != "half"
    return Deviance(
        deviance=against_drawn(float(_deviance(cells, votes.observed)[0]), _deviance(cells, votes.drawn)),
        df=cells.n_pairs * (2 if has_tie else 1) - (cells.n_models - 1) - has_tie,
        largest=against_drawn(float(np.nanmax(np.abs(observed))), np.nanmax(drawn, axis=1)),
    )


@one_thread
def pair_residuals(votes: Simulated) -> PairResiduals:
    """Return the standardised residual of every pair.

    Notes
    -----
    With r the vector of observed less expected shares (in votes), s the scores by eta, H the information of strengths and d
    the pair's contrast, the fitted residual is r - g d'H^- sum(d s) with g the change of the expected share by eta; its
    variance follows from the law of single votes under the fit. For "half" that law has the observed share of ties, so that
    the variance is not that of decided votes.

    References
    ----------
    Pierce & Schafer 1986, doi:10.2307/2289070 (standardised residuals of generalised linear models).
    """
    _check(votes)
    cells, table = votes.cells, votes.observed
    count = cells.by_pair(cells.count)
    share = cells.by_pair(table.won[0] + table.tied[0] / 2.0) / count
    expected = cells.by_pair(cells.count * table.shares(cells)[0]) / count
    return PairResiduals(
        first=cells.pair_first,
        second=cells.pair_second,
        count=count,
        observed=share,
        expected=expected,
        residual=_left_over(cells, table)[0] / _residual_sizes(votes),
    )


def _check(votes: Simulated) -> None:
    if votes.cells.n_pairs < votes.cells.n_models:
        raise CannotAnswerError(
            f"{votes.cells.n_models} models met in so few pairs ({votes.cells.n_pairs}) that ratings can follow every one, and "
            "votes cannot contradict them; votes between more pairs are needed"
        )


def _left_over(cells: CheckCells, table: VoteTables) -> FloatArray:
    """Return votes of each pair less what is expected, shape (n_tables, n_pairs), ties half."""
    return cells.by_pair(table.won + table.tied / 2.0 - cells.count * table.shares(cells))


def _deviance(cells: CheckCells, table: VoteTables) -> FloatArray:
    if table.ties == "half":
        ahead = cells.by_pair(table.won + table.tied / 2.0)
        total, expected = cells.by_pair(cells.count), cells.by_pair(cells.count * table.shares(cells))
        parts = ((ahead, expected), (total - ahead, total - expected))
    else:
        law = table.law(cells)
        parts = tuple(
            (cells.by_pair(seen), cells.by_pair(cells.count * chance))
            for seen, chance in ((table.won, law.win), (table.tied, law.tie), (table.lost, law.loss))
        )
    # Rounding may leave a share of 0 as -1e-17; an outcome that was seen has an expected count above 0.
    parts = tuple((np.maximum(seen, 0.0), np.maximum(chance, 1e-300)) for seen, chance in parts)
    return 2.0 * sum((xlogy(seen, seen / chance) for seen, chance in parts), np.zeros(())).sum(axis=-1)


def _residual_sizes(votes: Simulated) -> FloatArray:
    """Return the standard error of every pair's residual under the fit, shape (n_pairs,)."""
    cells = votes.cells
    law = votes.observed.law(cells)
    count = cells.count

    def total(values: FloatArray) -> FloatArray:
        return cells.by_pair(count * values[0])

    own, both, square = total(law.share_variance), total(_with_share(law)), total(_squares(law))
    gain = total(law.slope)
    inverse = pseudo_inverse(cells.laplacian(total(law.information)))
    leverage = _contrast(cells, inverse)
    spread = _contrast(cells, inverse @ cells.laplacian(square) @ inverse)
    variance = own - 2.0 * gain * both * leverage + gain**2 * spread
    # What is left by rounding of a pair that alone holds two groups together.
    return np.where(variance > _ROUNDING * own, np.sqrt(np.maximum(variance, 1e-300)), np.nan)


def _with_share(law: VoteLaw) -> FloatArray:
    """Covariance of a vote's share with its score."""
    a, t, _ = law.scores
    return law.win * a + law.tie * t / 2.0


def _squares(law: VoteLaw) -> FloatArray:
    a, t, b = law.scores
    return law.win * a**2 + law.tie * t**2 + law.loss * b**2


def _contrast(cells: CheckCells, matrix: FloatArray) -> FloatArray:
    """Return d'Md for the contrast d of every pair."""
    i, j, diagonal = cells.pair_first, cells.pair_second, np.diag(matrix)
    return diagonal[i] + diagonal[j] - 2.0 * matrix[i, j]
