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
from scipy.special import expit, log_expit

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
    p = expit(eta)
    total, nothing = won + lost, np.zeros_like(eta)
    return Derivatives(
        log_lik=won * log_expit(eta) + lost * log_expit(-eta),
        # Not won - total * p, which loses digits where p is close to 1.
        slope=won * expit(-eta) - lost * p,
        curve=total * p * expit(-eta),
        tie_slope=nothing,
        cross=nothing,
        tie_curve=nothing,
    )


def _davidson(eta: FloatArray, tau: float, won: FloatArray, lost: FloatArray, tied: FloatArray) -> Derivatives:
    log_total = np.logaddexp(np.logaddexp(eta / 2.0, -eta / 2.0), tau)
    a, b, tie = np.exp(eta / 2.0 - log_total), np.exp(-eta / 2.0 - log_total), np.exp(tau - log_total)
    total, lead = won + lost + tied, a - b
    return Derivatives(
        log_lik=(won - lost) * eta / 2.0 + tied * tau - total * log_total,
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
    not_a, not_b = expit(tau - eta), expit(tau + eta)
    curve_a, curve_b = not_a * expit(eta - tau), not_b * expit(-eta - tau)
    gap = -np.expm1(-2.0 * tau)
    above, below = won + tied, lost + tied
    return Derivatives(
        log_lik=above * log_expit(eta - tau) + below * log_expit(-eta - tau) + tied * (2.0 * tau + np.log(gap)),
        slope=above * not_a - below * not_b,
        curve=above * curve_a + below * curve_b,
        tie_slope=tied * (2.0 / gap) - above * not_a - below * not_b,
        cross=below * curve_b - above * curve_a,
        tie_curve=above * curve_a + below * curve_b + tied * (4.0 * (1.0 - gap) / gap**2),
    )
