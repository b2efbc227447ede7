"""The definitions written out: every pattern of signs, one pair at a time."""

from itertools import product

import numpy as np


def cr2_t(d, codes):
    """Return t of the mean of clustered differences by its definition, of each row of `d`; NaN where the variance is 0."""
    n = d.shape[-1]
    mean = d.sum(axis=-1) / n
    variance = np.zeros_like(mean)
    for g in sorted(set(codes)):
        inside = d[..., np.array(codes) == g]
        size = inside.shape[-1]
        variance += (inside.sum(axis=-1) - size * mean) ** 2 / (1 - size / n) / n**2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / np.sqrt(variance)
    flat = np.where(np.abs(mean) <= 1e-13, np.nan, np.copysign(np.inf, mean))
    return np.where(variance <= 1e-13 * (d * d).sum(axis=-1) / n, flat, t)


def all_flips(scores, codes, pairs):
    """Return signed t of every pair under every pattern of the clusters' signs, shape (2^G, n_pairs); the observed first.

    A pair uses the items that both models have.
    """
    scores, groups = np.array(scores), sorted(set(codes))
    patterns = np.array(list(product((1, -1), repeat=len(groups))))
    signs = patterns[:, [groups.index(code) for code in codes]]  # of each item, one pattern a row
    columns = []
    for i, j in pairs:
        both = np.flatnonzero(np.isfinite(scores[:, i]) & np.isfinite(scores[:, j]))
        d = signs[:, both] * (scores[both, i] - scores[both, j])
        columns.append(cr2_t(d, [codes[k] for k in both]))
    return np.stack(columns, axis=1)


def reaches(drawn, observed):
    """At least as large, ties by rounding included."""
    return np.nan_to_num(drawn) >= observed * (1 - 1e-9)


def step_down(flips):
    """Westfall and Young's step-down p-values from all flips, two-sided."""
    observed = np.abs(flips[0])
    order = list(np.argsort(-observed, kind="stable"))
    p, last = np.empty(len(order)), 0.0
    for k, pair in enumerate(order):
        largest = np.nanmax(np.abs(flips[:, order[k:]]), axis=1)
        last = max(last, float(np.mean(reaches(largest, observed[pair]))))
        p[pair] = last
    return p


def shown_one_sided(flips, alpha, members=None):
    """Pairs (with their direction) that the stepwise one-sided procedure rejects: critical values anew until none falls.

    Returns the set of (pair, direction) with direction +1 where the first is shown to be above the second.
    """
    members = range(flips.shape[1]) if members is None else members
    left = {(pair, way) for pair in members for way in (1, -1)}
    rejected = set()
    while left:
        largest = np.nanmax(np.stack([way * flips[:, pair] for pair, way in left]), axis=0)
        falls = {(pair, way) for pair, way in left if np.mean(reaches(largest, way * flips[0, pair])) <= alpha}
        if not falls:
            break
        rejected |= falls
        left -= falls
    return rejected
