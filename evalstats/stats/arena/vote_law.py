"""With which probability a vote is a win, a tie or a loss, under each way to treat ties.

"half" says nothing of ties, only that a vote's expected share is expit(eta). To draw votes under it, ties are given the law
of Davidson, with his strengths moved so that the expected share of every vote stays expit(eta) and with nu such that as many
ties are expected as were observed. So the mean model is exactly the fitted one, and ties are as frequent as they were.

References
----------
.. [1] R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments",
   J. Am. Stat. Assoc. 65 (1970) 317-328.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from evalstats.stats.arena.fit import PairFit, Ties
from evalstats.stats.arena.votes import A_WINS, B_WINS, VoteRows
from evalstats.stats.checks import FloatArray

_LARGEST_NU = 1e6
_CLASSES = 2_000
_SURE = 1e-12  # an expected share is never taken for 0 or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteLaw:
    """Probabilities of the outcomes of votes, each of the shape of eta.

    Attributes
    ----------
    win, tie, loss
        Of side a; sum 1.
    share
        Expected share of side a: win + tie/2.
    slope
        Derivative of `share` by eta.
    scores
        Derivatives by eta of the log-likelihood of a win, a tie and a loss.
    information
        Expected negative second derivative by eta of the (quasi-)log-likelihood.
    """

    win: FloatArray
    tie: FloatArray
    loss: FloatArray
    share: FloatArray
    slope: FloatArray
    scores: tuple[FloatArray, FloatArray, FloatArray]
    information: FloatArray

    @property
    def share_variance(self) -> FloatArray:
        """Variance of the share of one vote."""
        return np.maximum(self.win + self.tie / 4.0 - self.share**2, 0.0)


def vote_law(ties: Ties, eta: FloatArray, tie: float | FloatArray) -> VoteLaw:
    """Return the law of votes at eta.

    Parameters
    ----------
    eta
        Log-odds by which side a is the stronger, of any shape.
    tie
        nu for "davidson" and "half" (see `tie_of_half`), theta for "rao-kupper"; a number, or of a shape that broadcasts.

    Examples
    --------
    >>> law = vote_law("half", np.array([0.0, 1.0]), 1.0)
    >>> law.win.round(4).tolist(), law.share.round(4).tolist()
    ([0.3333, 0.5923], [0.5, 0.7311])
    """
    if ties == "rao-kupper":
        return _rao_kupper(eta, np.log(tie))
    if ties == "davidson":
        return _davidson(eta, tie)
    share = np.clip(expit(eta), _SURE, 1.0 - _SURE)
    # Davidson's eta for that share: with u = exp(eta/2), (1 - share) u^2 + nu (1/2 - share) u - share = 0.
    half = tie * (share - 0.5)
    root = np.sqrt(half**2 + 4.0 * share * (1.0 - share))
    # Of two equal forms the one that adds numbers of one sign.
    reach = root + np.abs(half)
    u = np.where(half >= 0.0, reach / (2.0 * (1.0 - share)), 2.0 * share / reach)
    spread = share * (1.0 - share)
    law = _davidson(2.0 * np.log(u), tie)
    return VoteLaw(
        win=law.win,
        tie=law.tie,
        loss=law.loss,
        share=share,
        slope=spread,
        scores=(1.0 - share, 0.5 - share, -share),
        information=spread,
    )


def _davidson(eta: FloatArray, nu: float | FloatArray) -> VoteLaw:
    up, down = np.exp(np.minimum(eta, 0.0)), np.exp(np.minimum(-eta, 0.0))
    middle = nu * np.exp(-np.abs(eta) / 2.0)
    total = up + down + middle
    win, loss, tie = up / total, down / total, middle / total
    share = win + tie / 2.0
    spread = np.maximum(win + tie / 4.0 - share**2, 0.0)
    return VoteLaw(
        win=win,
        tie=tie,
        loss=loss,
        share=share,
        slope=spread,
        scores=(1.0 - share, 0.5 - share, -share),
        information=spread,
    )


def _rao_kupper(eta: FloatArray, tau: float | FloatArray) -> VoteLaw:
    win, loss = expit(eta - tau), expit(-eta - tau)
    tie = np.maximum(1.0 - win - loss, 0.0)
    scores = (1.0 - win, loss - win, loss - 1.0)
    return VoteLaw(
        win=win,
        tie=tie,
        loss=loss,
        share=win + tie / 2.0,
        slope=(win * (1.0 - win) + loss * (1.0 - loss)) / 2.0,
        scores=scores,
        information=win * scores[0] ** 2 + tie * scores[1] ** 2 + loss * scores[2] ** 2,
    )


def tie_of_half(eta: FloatArray, count: FloatArray, n_ties: float) -> float:
    """Return the nu under which `n_ties` ties are expected of votes whose expected share is expit(eta).

    Parameters
    ----------
    eta, count
        Shape (n,): log-odds, and how many votes.

    Notes
    -----
    Votes between unequal models cannot all be ties without moving their shares. Where more ties were seen than that allows,
    the largest nu is taken.

    Examples
    --------
    >>> round(tie_of_half(np.array([0.0]), np.array([30.0]), 10.0), 6)
    1.0
    """
    if n_ties <= 0.0:
        return 0.0
    apart, votes = _classes(np.abs(eta), count)

    def excess(log_nu: float) -> float:
        return float(votes @ vote_law("half", apart, float(np.exp(log_nu))).tie) - n_ties

    top = float(np.log(_LARGEST_NU))
    if excess(top) <= 0.0:
        return _LARGEST_NU
    return float(np.exp(brentq(excess, -30.0, top, xtol=1e-10)))


def _classes(apart: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean |eta| and votes of narrow classes, so that a search does not grow with rows; ties change slowly with it."""
    if apart.size <= _CLASSES:
        return apart, count
    top = max(float(apart.max()), 1e-300)
    place = np.minimum(apart / top * _CLASSES, _CLASSES - 1).astype(np.int64)
    votes = np.bincount(place, weights=count, minlength=_CLASSES).astype(np.float64)
    total = np.bincount(place, weights=count * apart, minlength=_CLASSES).astype(np.float64)
    held = votes > 0.0
    return total[held] / votes[held], votes[held]


def linear_predictor(fit: PairFit, rows: VoteRows) -> FloatArray:
    """Return eta of every row, shape (n_rows,)."""
    return fit.strengths[rows.first] - fit.strengths[rows.second] + rows.covariates @ fit.coefficients


def tie_parameter(fit: PairFit, rows: VoteRows) -> float:
    """Return the tie parameter of the law of votes: the fitted one, or that of `tie_of_half`."""
    if fit.tie is not None:
        return fit.tie
    tied = (rows.outcome != A_WINS) & (rows.outcome != B_WINS)
    return tie_of_half(linear_predictor(fit, rows), rows.count.astype(np.float64), float(rows.count[tied].sum()))
