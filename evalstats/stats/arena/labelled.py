"""Votes of a judge corrected by people's votes on a random part of them: shares whose sums are those that people would give.

A judge's share f of a vote becomes m + (y - m)/c where a person voted y, chosen with the chance c, and m elsewhere; m is what is
expected of a person by f and by the strengths that the judge's votes give. Whatever m is, its sum over all votes is on average
that of y, so that the estimating equations of Bradley and Terry, which are linear in the shares, have people's strengths as
their solution, and the clustered sandwich of these scores is its variance. No further method is needed.

References: Robins, Rotnitzky & Zhao 1994, doi:10.1080/01621459.1994.10476818; Angelopoulos, Bates et al. 2023,
doi:10.1126/science.adi6000; Horvitz & Thompson 1952, doi:10.1080/01621459.1952.10483446.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.arena.covariance import StrengthCovariance, model_clusters, plus
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray


def corrected_shares(
    judged: ArrayLike,
    labels: ArrayLike,
    expected: ArrayLike,
    weight: ArrayLike,
    *,
    probabilities: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray, float]:
    """Return corrected shares of all votes, the weight of votes that the label of each stands for (or 0), and the judge's weight.

    `judged`, `labels`: float64, shape (n_votes,): the share of the first model by the judge and by people, NaN where there is no
    label. `expected`: the same by the strengths that the judge's votes give. `weight`: of the votes. `probabilities`: chance of
    each labelled vote to be chosen; None where all had the same. They are normalised, so that labels stand for all votes.

    A person's lean from one half is taken for a sum of the judge's and the expected one, fitted by least squares to the labels;
    the judge's weight in it is 1 where people follow its verdict, 0 where its verdict says no more than the strengths do.

    >>> share, stands_for, _ = corrected_shares([1, 1, 0, 0], [1, np.nan, 1, np.nan], [0.5] * 4, [1] * 4)
    >>> round(float(share.sum()), 9), stands_for.tolist()
    (4.0, [2.0, 0.0, 2.0, 0.0])
    """
    f, y, q, w = (np.asarray(each, dtype=np.float64) for each in (judged, labels, expected, weight))
    known = np.isfinite(y)
    stands_for = np.zeros(f.size)
    stands_for[known] = w[known] if probabilities is None else w[known] / np.asarray(probabilities)
    stands_for *= w.sum() / stands_for.sum()
    lean = np.column_stack((f, q)) - 0.5
    root = stands_for[known, np.newaxis]
    inverse: FloatArray = np.asarray(np.linalg.pinv(root * lean[known]), dtype=np.float64)
    slopes = inverse @ (root[:, 0] * (y[known] - 0.5))
    share = 0.5 + lean @ slopes
    share[known] += stands_for[known] / w[known] * (y[known] - share[known])
    return share, stands_for, float(slopes[0])


def with_labels(covariance: StrengthCovariance, fit: PairFit, labelled: VoteRows) -> StrengthCovariance:
    """Return the covariance of strengths from corrected shares, with what few labels leave unknown.

    `labelled`: the votes with a label, of the weight that each stands for. Degrees of freedom are those of labels, and of the
    clusters that hold them. As for scores, two residuals more, of half a vote, are counted for each model: a judge that agrees
    with all of few labels would seem never to err.
    """
    n_models, n = fit.n_models, labelled.n_rows
    design = np.zeros((n, fit.n_parameters))
    design[np.arange(n), labelled.first], design[np.arange(n), labelled.second] = 1.0, -1.0
    design[:, n_models : n_models + labelled.n_covariates] = labelled.covariates
    both = np.concatenate((labelled.first, labelled.second))
    n_labels = np.bincount(both, weights=np.tile(labelled.count, 2), minlength=n_models)
    residual = 2.0 * 0.5**2 / np.minimum(n_labels[labelled.first], n_labels[labelled.second])
    meat = design.T @ ((labelled.weight_squares * residual)[:, np.newaxis] * design)
    effective, worth = covariance.model_effective, covariance.df + 1.0
    for codes in labelled.clusters or (None,):
        effective = np.minimum(effective, model_clusters(labelled, codes)[0])
        squares = labelled.weight_squares if codes is None else np.square(np.bincount(codes, weights=labelled.weight))
        worth = min(worth, float(labelled.weight.sum()) ** 2 / float(squares.sum()))
    found = plus(covariance, fit.bread @ meat @ fit.bread)
    return replace(found, model_effective=effective, df=worth - 1.0)
