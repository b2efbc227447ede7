"""Votes with known truths for checks of fit: perfect models, circles, drift, categories; and slow sums over single votes."""

from dataclasses import replace

import numpy as np

from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.likelihood import vote_law
from evalstats.stats.arena.parametric_bootstrap import simulated
from evalstats.stats.arena.votes import VoteRows, vote_rows


def drawn_votes(rng, strengths, n, *, ties="half", nu=1.0, met=1.0, extra=None, clusters=(), covariates=None, beta=()):
    """Votes whose law is that of `ties`; `extra(first, second)` is added to eta."""
    n_models = len(strengths)
    i, j = np.triu_indices(n_models, 1)
    kept = rng.random(i.size) < met
    pair = rng.integers(int(kept.sum()), size=n)
    flip = rng.random(n) < 0.5
    first, second = np.where(flip, i[kept][pair], j[kept][pair]), np.where(flip, j[kept][pair], i[kept][pair])
    eta = np.asarray(strengths)[first] - np.asarray(strengths)[second]
    if extra is not None:
        eta = eta + extra(first, second)
    if covariates is not None:
        eta = eta + covariates @ np.asarray(beta)
    law = vote_law(ties, eta, nu)
    u = rng.random(n)
    outcome = np.where(u < law.win, 0, np.where(u < law.win + law.tie, 2, 1))
    return vote_rows(first, second, outcome, n_models=n_models, clusters=clusters, covariates=covariates)


def with_slices(rows: VoteRows) -> tuple[VoteRows, np.ndarray]:
    """Take the last of the clusters for the period or category of each row."""
    return replace(rows, clusters=rows.clusters[:-1]), rows.clusters[-1]


def single_votes(rows: VoteRows) -> list[tuple[int, int, int]]:
    """First, second and outcome of every vote."""
    return [
        (int(a), int(b), int(o))
        for a, b, o, n in zip(rows.first, rows.second, rows.outcome, rows.count, strict=True)
        for _ in range(int(n))
    ]


def null_p_values(p_of, n_tables, *, n=300, n_models=8, sd=0.5, met=1.0, n_resamples=99):
    """P-values of a check of fit on tables whose votes follow the model; `p_of` takes the drawn tables."""
    out = []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        rows = drawn_votes(rng, rng.normal(0, sd, n_models), n, met=met)
        out.append(p_of(simulated(fit_strengths(rows), rows, n_resamples=n_resamples, seed=seed)))
    return np.array(out)


def share_small(p_values, level):
    """Share of p at most `level`, and the most that chance makes of a true share (three standard errors)."""
    p = np.asarray(p_values)
    return float((p <= level).mean()), level + 3.0 * float(np.sqrt(level * (1.0 - level) / p.size))
