"""Samples from a simulated lab and live world as arrays: some milliseconds each, for studies of thousands of them."""

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from scipy.special import expit

from evalstats.errors import CannotAnswerError
from evalstats.simulate.arena_world import zipf
from evalstats.simulate.lab_live_world import LabLiveWorld
from evalstats.simulate.streams import generator
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import covariance_of
from evalstats.stats.arena.votes import A_WINS, B_WINS, TIE, vote_rows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.gap.cluster_means import ClusterMeans, cluster_means
from evalstats.stats.gap.scores import LabLiveScores

Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class SumArrays(TypedDict):
    """Outcomes of one side summed by cluster, model and scenario: what makes a `CellSums` of the analysis."""

    cluster: IntArray
    model: IntArray
    cell: IntArray
    n: FloatArray
    total: FloatArray
    n_clusters: int
    n_models: int
    n_cells: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabLiveDraw:
    """One sample of both sides; codes count from 0.

    Attributes
    ----------
    lab_item, lab_scenario
        int64, shape (n_lab,): item and scenario of each thing that was played.
    lab_success
        bool, shape (n_lab, n_names): outcome of every model.
    user, scenario
        int64, shape (n_live,): of each session or vote.
    model, success
        int64 and bool, shape (n_live,), for sessions: model chosen and outcome; empty for votes.
    first, second, outcome
        int64, shape (n_live,), for votes: models on sides a and b, and who won; empty for sessions.
    """

    world: LabLiveWorld
    lab_item: IntArray
    lab_scenario: IntArray
    lab_success: Bools
    user: IntArray
    scenario: IntArray
    model: IntArray
    success: Bools
    first: IntArray
    second: IntArray
    outcome: IntArray

    def lab_sums(self) -> SumArrays:
        """Sum the lab's outcomes of the models that both sides have; items are the clusters."""
        n = self.world.n_models
        rows, model = np.indices((self.lab_item.size, n)).reshape(2, -1)
        return SumArrays(
            cluster=self.lab_item[rows],
            model=model,
            cell=self.lab_scenario[rows],
            n=np.ones(rows.size),
            total=self.lab_success[:, :n].astype(np.float64).ravel(),
            n_clusters=self.world.design.n_items,
            n_models=n,
            n_cells=self.world.lab_mix.size,
        )

    def live_sums(self) -> SumArrays:
        """Sum the sessions; users are the clusters. Users without a session are left out.

        Raises
        ------
        CannotAnswerError
            If the live side holds votes.
        """
        if self.world.strengths is not None:
            raise CannotAnswerError("the live side holds votes; there are no outcomes to add up")
        n_models, n_cells = self.world.n_models, self.world.live_mix.size
        users, cluster = np.unique(self.user, return_inverse=True)
        code = (cluster * n_models + self.model) * n_cells + self.scenario
        entries, place = np.unique(code, return_inverse=True)
        return SumArrays(
            cluster=entries // (n_models * n_cells),
            model=entries // n_cells % n_models,
            cell=entries % n_cells,
            n=np.bincount(place).astype(np.float64),
            total=np.bincount(place, weights=self.success).astype(np.float64),
            n_clusters=users.size,
            n_models=n_models,
            n_cells=n_cells,
        )

    def scores(self) -> LabLiveScores:
        """Estimate every model on both sides, with errors clustered by item and by user.

        The lab's scenarios are fixed shares of its items, which the errors do not use: they are somewhat too large.

        Raises
        ------
        CannotAnswerError
            If a model has too few clusters, or votes do not connect the models.
        """
        lab, live = _means(self.lab_sums()), None
        if self.world.strengths is None:
            live = _means(self.live_sums())
            estimate, covariance = live.estimate, live.covariance
        else:
            rows = vote_rows(self.first, self.second, self.outcome, n_models=self.world.n_models, clusters=(self.user,))
            fit = fit_strengths(rows)
            estimate = fit.strengths
            covariance = covariance_of(fit, rows, names=("user",)).joint
        if lab.covariance is None or covariance is None:
            reason = lab.reason if live is None or live.reason is None else live.reason
            raise CannotAnswerError(f"no error can be estimated: {reason}")
        return LabLiveScores(lab=lab.estimate, live=estimate, lab_covariance=lab.covariance, live_covariance=covariance)


def draw_lab_live(world: LabLiveWorld, *, draw: int = 0) -> LabLiveDraw:
    """Draw one sample. Another `draw` has other items, users and luck; models, scenarios and gaps stay.

    Parameters
    ----------
    draw
        Which sample of this truth, from 0.

    Examples
    --------
    >>> from evalstats.simulate.lab_live_design import LabLiveDesign
    >>> from evalstats.simulate.lab_live_world import make_lab_live_world
    >>> sample = draw_lab_live(make_lab_live_world(LabLiveDesign(n_models=8)))
    >>> sample.lab_success.shape, sample.user.shape, sample.scores().n_models
    ((420, 8), (6000,), 8)
    """
    lab = generator(world.seed, "lab-live", "lab", str(draw))
    live = generator(world.seed, "lab-live", "live", str(draw))
    item, scenario, success = _lab(world, lab)
    user = live.choice(
        world.design.n_users, size=world.design.sessions, p=zipf(world.design.n_users, world.design.activity)
    )
    brought = _brought(world, user, live)
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    parts = {"model": none, "first": none, "second": none, "outcome": none}
    lived = nothing
    if world.live_logits is not None:
        parts["model"], lived = _sessions(world, user, brought, live)
    else:
        parts["first"], parts["second"], parts["outcome"] = _votes(world, user, live)
    return LabLiveDraw(
        world=world, lab_item=item, lab_scenario=scenario, lab_success=success, user=user, scenario=brought, success=lived,
        **parts,
    )  # fmt: skip


def _lab(world: LabLiveWorld, rng: np.random.Generator) -> tuple[IntArray, IntArray, Bools]:
    design = world.design
    difficulty = design.sd_item * rng.standard_normal(design.n_items)
    item, scenario = np.arange(design.n_items), world.item_scenario
    if design.crossed:
        n_scenarios = len(design.scenarios)
        item, scenario = np.repeat(item, n_scenarios), np.tile(np.arange(n_scenarios), design.n_items)
    chance = expit(world.lab_logits[:, scenario].T + difficulty[item, None])
    # One stream for each model would let a model more move no other; one table of draws by item does the same.
    return item, scenario, chance > rng.random((len(world.names), item.size)).T


def _brought(world: LabLiveWorld, user: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the scenario of every session: from the user's own mix, whose mean is the live mix."""
    mix, own = world.live_mix, world.design.user_mix
    place = rng.random(user.size)
    if own is None:
        shares = np.broadcast_to(mix, (world.design.n_users, mix.size))
    else:
        # A Dirichlet draw is a row of gammas over their sum; a share of 0 stays 0.
        drawn = rng.gamma(np.maximum(own * mix, 1e-300), size=(world.design.n_users, mix.size)) * (mix > 0.0)
        total = drawn.sum(axis=1, keepdims=True)
        shares = np.where(total > 0.0, drawn / np.where(total > 0.0, total, 1.0), mix)
    edges = np.cumsum(shares, axis=1)
    edges[:, -1] = np.inf
    last = int(np.flatnonzero(mix > 0.0)[-1])
    return np.minimum((place[:, None] >= edges[user]).sum(axis=1), last).astype(np.int64)


def _sessions(
    world: LabLiveWorld, user: IntArray, scenario: IntArray, rng: np.random.Generator
) -> tuple[IntArray, Bools]:
    design, n = world.design, world.n_models
    assert world.live_logits is not None, "sessions have probabilities of success"  # noqa: S101 - for the type
    ease = design.sd_user * rng.standard_normal(design.n_users)
    liking = design.sd_user_model * rng.standard_normal((design.n_users, n))
    model = rng.integers(n, size=user.size)
    chance = expit(world.live_logits[model, scenario] + ease[user] + liking[user, model])
    return model, rng.random(user.size) < chance


def _votes(world: LabLiveWorld, user: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Votes whose shares (a tie as half) are Bradley-Terry's over all users, whatever the ties and likings."""
    design, n = world.design, world.n_models
    assert world.pair_logits is not None, "votes have strengths"  # noqa: S101 - for the type
    liking = design.sd_user_model * rng.standard_normal((design.n_users, n))
    first = rng.integers(n, size=user.size)
    second = (first + rng.integers(1, n, size=user.size)) % n
    share = expit(world.pair_logits[first, second] + liking[user, first] - liking[user, second])
    # Half of a tie is taken from either side's wins, so that wins plus half the ties stay the share.
    half = design.tie * share * (1.0 - share)
    place = rng.random(user.size)
    outcome = np.where(place < share - half, A_WINS, np.where(place < share + half, TIE, B_WINS))
    return first, second, outcome.astype(np.int64)


def _means(sums: SumArrays) -> ClusterMeans:
    return cluster_means(
        sums["cluster"],
        sums["model"],
        sums["n"],
        sums["total"],
        n_clusters=sums["n_clusters"],
        n_models=sums["n_models"],
    )
