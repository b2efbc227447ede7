"""What `gap()` has prepared before any question is asked: both sides, model by model, under one name each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.scales import Direction
from evalstats.document.model import Note
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.errors_in_variables.scores import LabLiveScores

SideKind = Literal["outcomes", "comparisons", "aggregates"]
# From the places of some models of a side, the best and the worst rank of each among them; zeros where ranks cannot be told.
RankSets = Callable[[Sequence[int]], tuple[IntArray, IntArray]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSums:
    """Outcomes of one side as sums: one entry for each cluster x model x cell that has a score.

    A *cell* is a combination of levels of the factors that both sides have (scenario, user kind, language). Weights of rows
    are in the sums. Items of the lab are the clusters of the lab, or groups of items; users are those of the live side.

    Attributes
    ----------
    cluster, model, cell
        int64, shape (n_entries,), codes from 0.
    n, total
        float64, shape (n_entries,): sum of weights (the number of item means in the lab, of rows live), and the weighted sum
        of scores.
    n_clusters, n_models, n_cells
        How many there are.
    """

    cluster: IntArray
    model: IntArray
    cell: IntArray
    n: FloatArray
    total: FloatArray
    n_clusters: int
    n_models: int
    n_cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side: estimates of the models that both sides have, and what they rest on.

    Attributes
    ----------
    kind
        "outcomes": scores of items or sessions; "comparisons": votes; "aggregates": published numbers.
    name
        Benchmark or arena.
    metric, unit, scale
        What is measured; unit for words ("pp", "points", ""); factor from the metric's own numbers to shown ones (100 for a
        share shown in points).
    metric_kind, low, high
        As in the metrics table; "rating" for votes.
    turned
        Whether less is better on this side and the sign of `estimate` was turned (the `scores` only; rows show the number).
    models
        Names on this side, aligned with `Material.models`.
    estimate
        float64, shape (n_models,), in the metric's own unit and direction.
    covariance
        Of the errors of `estimate`; None where none is known.
    marginal
        Whether `covariance` holds published variances alone, so that what models share is unknown: an upper bound of noise.
    df
        Degrees of freedom of the errors, where few clusters make them t; None for normal.
    n, n_clusters
        Items, sessions or votes behind each model; clusters behind each (0 where unknown).
    clusters
        By what errors are clustered.
    rank_low, rank_high
        Rank set of each model among the shared ones; zeros where it cannot be told.
    only_here
        Models that the other side does not have, with their estimate and standard error (None where unknown).
    first_day, last_day
        Dates of the rows, where they have one.
    method
        How estimates and errors were made, in words.
    direction
        Where the direction comes from, as in `evalstats.analysis.scales`.
    """

    kind: SideKind
    name: str
    metric: str
    unit: str
    scale: float
    metric_kind: str
    low: float | None
    high: float | None
    turned: bool
    models: tuple[str, ...]
    estimate: FloatArray
    covariance: FloatArray | None
    marginal: bool
    df: float | None
    n: IntArray
    n_clusters: IntArray
    clusters: tuple[str, ...]
    rank_low: IntArray
    rank_high: IntArray
    only_here: tuple[tuple[str, float, float | None], ...] = ()
    first_day: str | None = None
    last_day: str | None = None
    method: str = ""
    direction: Direction = "declared"
    rows: pl.DataFrame | None = None
    sources: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()

    def std_error(self) -> FloatArray | None:
        """Return the marginal standard errors, or None."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Outcomes of both sides by cell: what the mix and behaviour within scenarios are told from.

    Attributes
    ----------
    factors
        Columns that make up a cell, such as ("scenario",).
    levels
        For each cell, its level of each factor.
    lab, live
        Sums of either side; models are `Material.models`, cells are `levels`. A side may have nothing in a cell. `live` is
        None where only votes or published numbers are known of it: then a mix must be given from outside (`Options.mix`).
    joined
        Levels that were taken together since too few live users stand behind each.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    lab: CellSums
    live: CellSums | None
    joined: tuple[str, ...] = ()

    def label(self, cell: int) -> str:
        """Name a cell for a reader."""
        return " / ".join(self.levels[cell])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked.

    Attributes
    ----------
    margin
        Largest gap that does not matter, in the live metric's own unit; None where none is declared.
    mix
        Shares of the live world by level of one factor, given from outside (a survey) instead of counted in the live rows;
        with the factor's name and the words for where they come from. Sum to 1.
    """

    conf_level: float = 0.95
    margin: float | None = None
    n_resamples: int = 2000
    top: tuple[int, ...] = (5, 10)
    seed: int = 0
    mix_factor: str | None = None
    mix: Mapping[str, float] = field(default_factory=dict[str, float])
    mix_source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Both sides over the models they share, and what was asked.

    Attributes
    ----------
    models
        The shared models under the name used in the result (the live one).
    same_scale
        Whether both sides measure the same thing in the same unit, so that a plain difference means something.
    scores
        The estimates of both with their covariances, turned so that more is better; own units otherwise.
    cells
        Outcomes of both by cell; None where a side has no outcomes or they share no factor.
    lab_data, live_data
        The tables of each side, cut to the shared models under `models`' names and to the metric in question.
    """

    models: tuple[str, ...]
    lab: Side
    live: Side
    same_scale: bool
    scores: LabLiveScores
    options: Options
    cells: Cells | None = None
    no_cells_reason: str | None = None
    lab_data: EvalData | None = None
    live_data: EvalData | None = None

    @property
    def n_models(self) -> int:
        """How many models both sides have."""
        return len(self.models)
