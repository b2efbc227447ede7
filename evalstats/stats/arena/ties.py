"""What a vote says about the strengths under each way to treat ties: log-likelihood, first and second derivatives.

Davidson (1970) gives ties a probability that grows as models come closer; Rao and Kupper (1967) take a tie for a difference
too small to be seen, which is an ordered logit with cuts at -log(theta) and log(theta). Both are log-concave in eta and
log(theta) or log(nu).

References
----------
.. [1] R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments",
   J. Am. Stat. Assoc. 65 (1970) 317-328.
.. [2] P. V. Rao and L. L. Kupper, "Ties in paired-comparison experiments: a generalization of the Bradley-Terry model",
   J. Am. Stat. Assoc. 62 (1967) 194-204.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from evalstats.stats.arena.fit import Ties
from evalstats.stats.checks import FloatArray

Votes: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivatives:
    """Of the log-likelihood of cells, each of shape (n_cells,), by eta and by tau, the logarithm of the tie parameter.

    Attributes
    ----------
    slope, tie_slope
        First derivatives by eta and by tau.
    curve, cross, tie_curve
        Second derivatives with the sign changed: by eta twice, by eta and tau, by tau twice.
    """

    log_lik: FloatArray
    slope: FloatArray
    curve: FloatArray
    tie_slope: FloatArray
    cross: FloatArray
    tie_curve: FloatArray


def derivatives(ties: Ties, eta: FloatArray, tau: float, votes: Votes) -> Derivatives:
    """Return the log-likelihood of votes won, lost and tied by the first model, with its derivatives.

    Parameters
    ----------
    eta
        Shape (n_cells,): log-odds by which the first model is the stronger.
    tau
        Logarithm of nu or theta; ignored for "half".
    votes
        Weights of votes won, lost and tied, each of shape (n_cells,). For "half", ties are in the first two.
    """
    won, lost, tied = votes
    if ties == "half":
        return _half(eta, won, lost)
    if ties == "davidson":
        return _davidson(eta, tau, won, lost, tied)
    return _rao_kupper(eta, tau, won, lost, tied)


def first_tie_parameter(ties: Ties, tie_share: float) -> float:
    """Return the tie parameter (tau) that gives equal models the observed share of ties, strictly between 0 and 1."""
    if ties == "davidson":
        return float(np.log(2.0 * tie_share / (1.0 - tie_share)))
    return float(np.log((1.0 + tie_share) / (1.0 - tie_share)))


def _half(eta: FloatArray, won: FloatArray, lost: FloatArray) -> Derivatives:
    p, q, log_p, log_q = _logistic(eta)
    nothing = np.zeros_like(eta)
    return Derivatives(
        log_lik=won * log_p + lost * log_q,
        # Not won - (won + lost) * p, which loses digits where p is close to 1.
        slope=won * q - lost * p,
        curve=(won + lost) * p * q,
        tie_slope=nothing,
        cross=nothing,
        tie_curve=nothing,
    )


def _logistic(eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return p = expit(eta), 1 - p and their logarithms, each with all its digits, from one exponential."""
    small = np.exp(-np.abs(eta))
    larger = 1.0 / (1.0 + small)
    smaller, positive = small * larger, eta >= 0.0
    p, q = np.where(positive, larger, smaller), np.where(positive, smaller, larger)
    rest = np.log1p(small)
    return p, q, np.minimum(eta, 0.0) - rest, np.minimum(-eta, 0.0) - rest


def _davidson(eta: FloatArray, tau: float, won: FloatArray, lost: FloatArray, tied: FloatArray) -> Derivatives:
    log_total = np.logaddexp(np.logaddexp(eta / 2.0, -eta / 2.0), tau)
    log_a, log_b, log_tie = eta / 2.0 - log_total, -eta / 2.0 - log_total, tau - log_total
    a, b, tie = np.exp(log_a), np.exp(log_b), np.exp(log_tie)
    total, lead = won + lost + tied, a - b
    return Derivatives(
        log_lik=won * log_a + lost * log_b + tied * log_tie,
        slope=(won - lost - total * lead) / 2.0,
        curve=total * (a * (b + tie) + b * (a + tie) + 2.0 * a * b) / 4.0,
        tie_slope=tied * (a + b) - (won + lost) * tie,
        cross=-total * lead * tie / 2.0,
        tie_curve=total * tie * (a + b),
    )


def _rao_kupper(eta: FloatArray, tau: float, won: FloatArray, lost: FloatArray, tied: FloatArray) -> Derivatives:
    if tau <= 0.0:
        # theta of 1 or less leaves no room for ties: the search must step back.
        return _half(np.full_like(eta, np.nan), won, lost)
    above, below = won + tied, lost + tied
    a, not_a, log_a, _ = _logistic(eta - tau)
    b, not_b, log_b, _ = _logistic(-eta - tau)
    curve_a, curve_b = above * a * not_a, below * b * not_b
    gap = -np.expm1(-2.0 * tau)
    return Derivatives(
        log_lik=above * log_a + below * log_b + tied * (2.0 * tau + np.log(gap)),
        slope=above * not_a - below * not_b,
        curve=curve_a + curve_b,
        tie_slope=tied * (2.0 / gap) - above * not_a - below * not_b,
        cross=curve_b - curve_a,
        tie_curve=curve_a + curve_b + tied * (4.0 * (1.0 - gap) / gap**2),
    )
