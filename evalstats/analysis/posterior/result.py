"""The posterior of a difference and of ranks: the frozen results of `posterior()` on a comparison, scenarios or a leaderboard."""

from dataclasses import field, replace
from typing import Any, Literal, TypeVar

import polars as pl

from evalstats.analysis.result import Estimate, OfMetric, Origin, Result, frame_of
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.table.metric import MetricFacts

R = TypeVar("R", bound=Result)

Answer = Literal["better", "worse", "open", "depends on the prior"]
_COLUMNS = (
    *("name", "prior", "estimate", "std_error", "conf_low", "conf_high", "conf_level"),
    *("p_better", "p_better_by_margin", "p_worse_by_margin", "loss_if_chosen", "loss_if_kept", "method", "reason"),
)
_RANK_COLUMNS = (
    *(
        "model",
        "prior",
        "p_first",
        "expected_rank",
        "rank_low",
        "rank_high",
        "loss",
        "estimate",
        "std_error",
        "conf_level",
    ),
    "method",
)


def one_sided(conf_level: float) -> float:
    """Return the probability of one side at which an interval with equal tails lies on that side.

    >>> round(one_sided(0.95), 4)
    0.975
    """
    return 0.5 + 0.5 * conf_level


@record
class PriorRow:
    """What is thought before the data: its name, and its law in words and numbers.

    Attributes
    ----------
    scale
        Its scale, in the metric's own unit.
    words
        The law in words.
    """

    name: str
    scale: float
    words: str


@record
class PosteriorRow(Estimate):
    """A difference under one prior. Numbers are in the metric's own unit; the interval is credible, with equal tails.

    Attributes
    ----------
    name
        What is set against what.
    prior
        Name of the prior.
    estimate, std_error
        Mean and standard deviation of the posterior.
    p_better
        P(the candidate is better), whichever way the metric runs.
    p_better_by_margin, p_worse_by_margin
        P(better by more than the margin), P(worse by more); None without one.
    loss_if_chosen, loss_if_kept
        Expected loss in the score if the candidate is chosen, if the baseline is kept: what is given up where that is wrong,
        averaged over the posterior.
    """

    name: str
    prior: str
    p_better: float | None = None
    p_better_by_margin: float | None = None
    p_worse_by_margin: float | None = None
    loss_if_chosen: float | None = None
    loss_if_kept: float | None = None


@record(repr=False)
class Posterior(OfMetric, Result):
    """How probable is it that one is better than the other? It stands beside the interval of a result, never in its place.

    Attributes
    ----------
    of
        The question whose result it is of: "compare" or "scenarios".
    baseline, candidate
        The two sides; of scenarios the reference, and "" for the candidates, which the rows name.
    rows
        Each difference under each prior, the usual prior first.
    priors
        The priors, the usual one first.
    margin
        The largest difference that does not matter; None where none was declared.
    beside
        What the result says itself: its verdict, and its interval in words.
    """

    about: MetricFacts
    of: Literal["compare", "scenarios"]
    baseline: str
    candidate: str
    rows: tuple[PosteriorRow, ...]
    priors: tuple[PriorRow, ...]
    conf_level: float
    method: str
    beside: str
    margin: float | None = None
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        return f"<Posterior: {self.document().headline}>"

    @property
    def usual(self) -> tuple[PosteriorRow, ...]:
        """The rows under the usual prior."""
        return tuple(row for row in self.rows if row.prior == self.priors[0].name)

    def under_all(self, name: str) -> tuple[PosteriorRow, ...]:
        """Return the rows of one difference, one for each prior."""
        return tuple(row for row in self.rows if row.name == name)

    def answer(self, name: str | None = None) -> Answer:
        """Return what is said of a difference, by itself the first: whether credible intervals lie on one side under all priors.

        At 95% that takes P(better), or P(worse), of at least 97.5%, as an interval with equal tails does: so a posterior is no
        easier to persuade than the interval that it stands beside.
        """
        rows = self.under_all(self.rows[0].name if name is None else name)
        known = [row.p_better for row in rows if row.p_better is not None]
        enough = one_sided(self.conf_level)
        better, worse = (sum(p >= enough for p in side) for side in (known, [1 - p for p in known]))
        if not better and not worse:
            return "open"
        if max(better, worse) < len(known):
            return "depends on the prior"
        return "better" if better else "worse"

    def to_frame(self) -> pl.DataFrame:
        """One row for each difference under each prior, in the metric's own unit."""
        return ShownFrame(frame_of(self.rows, PosteriorRow, _COLUMNS))


@record
class RankProbabilityRow(Estimate):
    """A model's rank under one prior; `estimate` is its score minus the mean of all, drawn towards 0 by its noise.

    Attributes
    ----------
    prior
        Name of the prior.
    p_first
        P(it is the best).
    p_rank
        P(it has rank 1, 2, ...), under the usual prior only.
    p_above
        P(it is better than each of the models, in the order of the rows); under the usual prior only.
    expected_rank
        Mean of its rank.
    rank_low, rank_high
        Ranks between which it lies with `conf_level`, equal tails.
    loss
        Expected loss in the score if it is chosen: how far the best is above it.
    """

    model: str
    prior: str
    p_first: float
    expected_rank: float
    rank_low: int
    rank_high: int
    loss: float
    p_rank: tuple[float, ...] = ()
    p_above: tuple[float, ...] = ()


@record(repr=False)
class RankPosterior(OfMetric, Result):
    """How probable is each rank of each model? It stands beside the rank sets of a leaderboard, never in their place.

    Attributes
    ----------
    rows
        Each model under each prior, the usual prior first; models by expected rank.
    priors
        The priors of the standard deviation between models, the usual one first.
    beside
        What the leaderboard says itself.
    between_sd
        Standard deviation between models, the median of its posterior under the usual prior.
    n_resamples, error
        Draws of all ranks, and the largest Monte Carlo standard error of their probabilities.
    """

    about: MetricFacts
    contrast: str
    rows: tuple[RankProbabilityRow, ...]
    priors: tuple[PriorRow, ...]
    conf_level: float
    method: str
    beside: str
    between_sd: float
    n_resamples: int
    error: float
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        return f"<RankPosterior: {self.document().headline}>"

    @property
    def usual(self) -> tuple[RankProbabilityRow, ...]:
        """The rows under the usual prior: one for each model."""
        return tuple(row for row in self.rows if row.prior == self.priors[0].name)

    def under(self, prior: str) -> tuple[RankProbabilityRow, ...]:
        """Return the rows under a prior, in the order of the models."""
        return tuple(row for row in self.rows if row.prior == prior)

    @property
    def hangs(self) -> bool:
        """Whether it depends on the prior which model has all ranks but the first outside its range, or whether any has."""
        enough = one_sided(self.conf_level)
        tops = {
            next((row.model for row in self.under(prior.name) if row.p_first >= enough), "") for prior in self.priors
        }
        return len(tops) > 1

    def to_frame(self) -> pl.DataFrame:
        """One row for each model under each prior."""
        return ShownFrame(frame_of(self.rows, RankProbabilityRow, _RANK_COLUMNS))

    def ranks_frame(self) -> pl.DataFrame:
        """P(rank) of each model: `model`, `rank`, `estimate`, one row for each of both, under the usual prior."""
        return pl.DataFrame(
            [
                {"model": row.model, "rank": place + 1, "estimate": p}
                for row in self.usual
                for place, p in enumerate(row.p_rank)
            ]
        )

    def pairs_frame(self) -> pl.DataFrame:
        """P(first is better than second): `first`, `second`, `estimate`, one row for each two, under the usual prior."""
        models = [row.model for row in self.usual]
        return pl.DataFrame(
            [
                {"first": row.model, "second": models[place], "estimate": p}
                for i, row in enumerate(self.usual)
                for place, p in enumerate(row.p_above)
                if place > i
            ]
        )


def with_posterior(result: R) -> R:
    """Return a comparison or a leaderboard with its posterior beside it, or with a note that says why there is none."""
    untyped: Any = result
    try:
        return replace(untyped, posterior_beside=untyped.posterior())
    except (CannotAnswerError, InputError) as error:
        note = Note(kind="few", text=f"No posterior was added: {error}")
        return replace(untyped, notes=(*untyped.notes, note))
