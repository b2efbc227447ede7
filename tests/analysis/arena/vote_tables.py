"""Small tables of votes with known truths, as the analysis gets them."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from evalstats.stats.arena.votes import vote_rows
from evalstats.table.votes import VoteCounts, VoteTable


def vote_table(first, second, outcome, *, names=None, clusters=None, covariates=None, share=None, **columns):
    """A table of single votes; `clusters` maps names to codes."""
    first, second, outcome = (np.asarray(each, dtype=np.int64) for each in (first, second, outcome))
    n, clusters = first.size, clusters or {}
    names = names or tuple(f"m{k}" for k in range(int(max(first.max(), second.max())) + 1))
    beside = np.zeros((n, 0)) if covariates is None else np.asarray(covariates)
    part = np.array([1.0, 0.0, 0.5, 0.5])[outcome] if share is None else np.asarray(share)
    codes = tuple(np.asarray(each, dtype=np.int64) for each in clusters.values())
    rows = vote_rows(first, second, outcome, n_models=len(names), share=part, covariates=beside, clusters=codes)
    votes = pl.DataFrame(
        {
            "model_a": [names[k] for k in first],
            "model_b": [names[k] for k in second],
            "outcome": [("a", "b", "tie", "both_bad")[k] for k in outcome],
            **columns,
        }
    )
    return VoteTable(
        models=tuple(names),
        votes=votes,
        first=first,
        second=second,
        outcome=outcome,
        share=part,
        weight=np.ones(n),
        label_weight=np.zeros(n),
        rows=rows,
        cluster_names=tuple(clusters),
        codes=codes,
        covariates=beside,
        covariate_names=tuple(f"x{k}" for k in range(beside.shape[1])),
        counts=VoteCounts(n_rows=n, n_votes=n, n_decided=0, n_ties=0, n_both_bad=0, n_unscored=0),
    )


def some_votes(seed=0, *, n=1500, strengths=(0.6, 0.2, 0.0, -0.3, -0.5), ties=0.2, extra=None, **more):
    """Votes between random models; `extra(first, second)` is added to the log-odds."""
    rng = np.random.default_rng(seed)
    strengths = np.asarray(strengths)
    first = rng.integers(0, strengths.size, n)
    second = (first + rng.integers(1, strengths.size, n)) % strengths.size
    eta = strengths[first] - strengths[second] + (0.0 if extra is None else extra(first, second))
    won = rng.random(n) < 1 / (1 + np.exp(-eta))
    outcome = np.where(rng.random(n) < ties, 2, np.where(won, 0, 1))
    return vote_table(first, second, outcome, names=tuple(f"m{k}" for k in range(strengths.size)), **more)


def days(number, start=datetime(2024, 1, 1, 12, tzinfo=UTC)):
    """Times that many days after the start."""
    return [start + timedelta(days=float(k)) for k in number]
