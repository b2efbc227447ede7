"""Votes that one side won, rater by rater, beside what others' ratings say of them."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray

BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedVotes:
    """Votes that one side won, sorted by rater and, of one rater, by time.

    Attributes
    ----------
    rater
        int64, shape (n,): codes 0..n_raters-1, ascending.
    first, second
        int64, shape (n,): models on sides a and b.
    a_won
        bool, shape (n,).
    eta
        float64, shape (n,): log-odds of side a by the ratings that the others' votes give.
    uncertainty
        float64, shape (n_models,): variance of each strength.
    """

    n_raters: int
    rater: IntArray
    first: IntArray
    second: IntArray
    a_won: BoolArray
    eta: FloatArray
    uncertainty: FloatArray


def decided_votes(
    rater: IntArray, pairs: tuple[IntArray, IntArray], a_won: BoolArray, eta: FloatArray, uncertainty: FloatArray
) -> DecidedVotes:
    """Sort votes by rater; votes of one rater must come in the order in which they were given.

    Raises
    ------
    InputError
        If shapes differ or a number is not finite.
    """
    n = rater.size
    first, second = pairs
    if not (first.shape == second.shape == a_won.shape == eta.shape == (n,)):
        raise InputError(f"{n} raters, {first.size} pairs and {eta.size} log-odds; give one of each for every vote")
    if not (np.isfinite(eta).all() and np.isfinite(uncertainty).all()):
        raise InputError("log-odds or variances of strengths are not finite; rate models on one scale first")
    order = np.argsort(rater, kind="stable")
    return DecidedVotes(
        n_raters=int(rater.max(initial=-1)) + 1,
        rater=rater[order],
        first=first[order],
        second=second[order],
        a_won=np.asarray(a_won[order], dtype=np.bool_),
        eta=eta[order],
        uncertainty=np.maximum(uncertainty, 0.0),
    )


def only_raters(votes: DecidedVotes, kept: BoolArray) -> DecidedVotes:
    """Return the votes of some raters, numbered anew in the same order; `kept` is a boolean mask, shape (n_raters,)."""
    rows = kept[votes.rater]
    number = np.cumsum(kept) - 1
    return DecidedVotes(
        n_raters=int(kept.sum()),
        rater=number[votes.rater[rows]].astype(np.int64),
        first=votes.first[rows],
        second=votes.second[rows],
        a_won=votes.a_won[rows],
        eta=votes.eta[rows],
        uncertainty=votes.uncertainty,
    )
