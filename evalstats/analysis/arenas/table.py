"""The votes that are analysed: checked, coded, merged, with their clusters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteTable:
    """Votes with an outcome between two different models, as a frame and as arrays.

    Attributes
    ----------
    models
        Names, sorted; a model's number is its place here.
    votes
        One row per vote, columns of the glossary and the factors of the file. None where votes came merged (a lazy frame too
        large to hold); then checks that need single votes are not run.
    first, second, outcome, share, weight
        Shape (n_votes,): the same votes coded as in `VoteRows`, in the order of `votes`; empty where `votes` is None.
    rows
        All of them merged, with covariates and clusters.
    cluster_names
        What `rows.clusters` are, in order.
    codes
        For each cluster its codes per vote, shape (n_votes,), in the order of `votes`.
    chunks
        Where `votes` is None and `cluster_names` has one name: gives the merged votes by that cluster, whole clusters at a
        time; `rows` has no clusters then.
    covariates
        float64, shape (n_votes, n_covariates), as in `rows`; `covariate_names` names them, "side" first where it is one.
    """

    arena: str
    models: tuple[str, ...]
    votes: pl.DataFrame | None
    first: IntArray
    second: IntArray
    outcome: IntArray
    share: FloatArray
    weight: FloatArray
    rows: VoteRows
    cluster_names: tuple[str, ...] = ()
    codes: tuple[IntArray, ...] = ()
    covariates: FloatArray
    covariate_names: tuple[str, ...] = ()
    chunks: Callable[[], Iterator[VoteRows]] | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def n_models(self) -> int:
        """Models with a vote."""
        return len(self.models)

    @property
    def n_votes(self) -> int:
        """Votes that are analysed."""
        return self.rows.n_votes
