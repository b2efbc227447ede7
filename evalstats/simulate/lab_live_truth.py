"""What there is to find in a simulated lab and live world: every true number that a layer of `gap()` estimates."""

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import polars as pl
from scipy.special import expit

from evalstats.errors import CannotAnswerError
from evalstats.simulate.arena_world import zipf
from evalstats.simulate.draws import generator
from evalstats.simulate.lab_live_world import LabLiveWorld
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import covariance_of
from evalstats.stats.arena.votes import A_WINS, B_WINS, TIE, vote_rows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.errors_in_variables.scores import ClusterMeans, LabLiveScores, cluster_means


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabLiveTruth:
    """True values over endless users, and over endless items in the lab's own mix.

    Arrays go along `models` (both sides), then `lab_only`, unless they say otherwise; gaps are live less lab.

    Attributes
    ----------
    unit
        Of the live side: "proportion", or "log-odds" for votes.
    lab_names, live_names
        Names as either side writes them; `aliases` maps the first to the second where they differ.
    ideal
        The scenario of the ideal user.
    lab_mix, live_mix
        Shares of the scenarios.
    lab_cells, live_cells
        Shape (n, n_scenarios): probabilities of success; `live_cells` is None for votes.
    lab, live
        Score of each model: probability of success over its side's mix; for votes the strength, sum 0 over `models`.
    total, mix, behaviour
        live less lab; the part that the mix makes, and that behaviour within scenarios makes (Kitagawa's, without
        interaction). None for votes, and the parts also where one side never has a scenario that the other has.
    poststratified
        The lab's probabilities over the live mix, which are what the lab can know; None where the lab never covers one.
    drop
        Success with users that are not ideal, in their live shares, less that with the ideal one, both in the lab (negative:
        the model does worse); None where the live mix has ideal users only.
    planted
        The gap put in (with the random one where tau is above 0), scenario by scenario ones left out.
    slope, intercept
        Line through the true scores of `models`, planted gaps taken out: with one mix on both sides slope 1 and intercept
        `behaviour_shift`; for votes the slope asked for.
    calibrated
        Distance of the true live score from that line: the planted gap, and what no line can follow.
    deleted
        Of `models` only: distance from the line through the true scores of all other models, planted gaps and all.
    tau
        Standard deviation (n - 2) of `calibrated` over models without a planted gap; None where fewer than 3 are left.
    """

    models: tuple[str, ...]
    lab_only: tuple[str, ...]
    lab_names: tuple[str, ...]
    live_names: tuple[str, ...]
    scenarios: tuple[str, ...]
    ideal: str
    unit: str
    lab_mix: FloatArray
    live_mix: FloatArray
    lab_cells: FloatArray
    live_cells: FloatArray | None
    lab: FloatArray
    live: FloatArray
    total: FloatArray | None
    mix: FloatArray | None
    behaviour: FloatArray | None
    poststratified: FloatArray | None
    drop: FloatArray | None
    planted: FloatArray
    slope: float
    intercept: float
    calibrated: FloatArray
    deleted: FloatArray
    tau: float | None

    @property
    def aliases(self) -> dict[str, str]:
        """Name in the lab to name live, where they differ."""
        return {
            lab: live
            for lab, live in zip(self.lab_names[: len(self.models)], self.live_names, strict=True)
            if lab != live
        }

    def to_frame(self) -> pl.DataFrame:
        """One row for each model, with every number that is one a model."""
        columns: dict[str, object] = {
            "model": [*self.models, *self.lab_only],
            "lab_name": list(self.lab_names),
            "live_name": [*self.live_names, *[None] * len(self.lab_only)],
            **{
                name: getattr(self, name)
                for name in (
                    "lab",
                    "live",
                    "total",
                    "mix",
                    "behaviour",
                    "poststratified",
                    "drop",
                    "planted",
                    "calibrated",
                )
            },
            "deleted": [*self.deleted.tolist(), *[None] * len(self.lab_only)],
        }
        return pl.DataFrame(columns, strict=False)

    def to_dict(self) -> dict[str, object]:
        """Return what a JSON file can hold."""
        cells: dict[str, object] = {
            name: [] if table is None else table.tolist()
            for name, table in (("lab_cells", self.lab_cells), ("live_cells", self.live_cells))
        }
        return {
            "unit": self.unit,
            "ideal": self.ideal,
            "scenarios": list(self.scenarios),
            "lab_mix": self.lab_mix.tolist(),
            "live_mix": self.live_mix.tolist(),
            "slope": self.slope,
            "intercept": self.intercept,
            "tau": self.tau,
            "aliases": self.aliases,
            "models": self.to_frame().to_dicts(),
            **cells,
        }


def lab_live_truth(world: LabLiveWorld) -> LabLiveTruth:
    """Work out every true value of a world.

    Examples
    --------
    >>> from evalstats.simulate.lab_live_world import LabLiveDesign
    >>> from evalstats.simulate.lab_live_world import make_lab_live_world
    >>> truth = lab_live_truth(make_lab_live_world(LabLiveDesign(n_models=8, gaps={"model-03": -0.15})))
    >>> round(truth.slope, 9), truth.calibrated[2].round(9), abs(truth.mix).max() < 1e-12
    (1.0, np.float64(-0.15), np.True_)
    """
    design, n = world.design, world.n_models
    lab = world.lab_cells @ world.lab_mix
    live = world.strengths if world.live_cells is None else world.live_cells @ world.live_mix
    assert live is not None, "a world has cells or strengths"  # noqa: S101 - for the type
    slope, intercept = _line(lab[:n], (live - world.gaps)[:n])
    calibrated = live - intercept - slope * lab
    mix, behaviour = _kitagawa(world)
    lab_names, live_names = _written(world.names, n, aliases=design.aliases)
    return LabLiveTruth(
        models=design.names,
        lab_only=design.lab_only,
        lab_names=lab_names,
        live_names=live_names,
        scenarios=tuple(design.scenarios),
        ideal=design.scenarios[0],
        unit="log-odds" if world.live_cells is None else "proportion",
        lab_mix=world.lab_mix,
        live_mix=world.live_mix,
        lab_cells=world.lab_cells,
        live_cells=world.live_cells,
        lab=lab,
        live=live,
        total=None if world.live_cells is None else live - lab,
        mix=mix,
        behaviour=behaviour,
        poststratified=world.lab_cells @ world.live_mix if _covers(world) else None,
        drop=_drop(world),
        planted=world.gaps,
        slope=slope,
        intercept=intercept,
        calibrated=calibrated,
        deleted=_deleted(lab[:n], live[:n]),
        tau=_tau(calibrated[:n], np.array([name in design.gaps for name in design.names])),
    )


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    across = x - x.mean()
    slope = float(across @ y / (across @ across))
    return slope, float(y.mean() - slope * x.mean())


def _deleted(x: FloatArray, y: FloatArray) -> FloatArray:
    if x.size <= 2:
        return np.full(x.size, np.nan)
    lines = [_line(np.delete(x, m), np.delete(y, m)) for m in range(x.size)]
    return np.array([y[m] - intercept - slope * x[m] for m, (slope, intercept) in enumerate(lines)])


def _tau(calibrated: FloatArray, planted: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float | None:
    rest = calibrated[~planted]
    return None if rest.size < 3 else float(np.sqrt(rest @ rest / (rest.size - 2)))


def _covers(world: LabLiveWorld) -> bool:
    return not ((world.lab_mix == 0.0) & (world.live_mix > 0.0)).any()


def _kitagawa(world: LabLiveWorld) -> tuple[FloatArray | None, FloatArray | None]:
    if world.live_cells is None or ((world.lab_mix > 0.0) != (world.live_mix > 0.0)).any():
        return None, None
    mix = (world.lab_cells + world.live_cells) / 2.0 @ (world.live_mix - world.lab_mix)
    behaviour = (world.live_cells - world.lab_cells) @ ((world.lab_mix + world.live_mix) / 2.0)
    return mix, behaviour


def _drop(world: LabLiveWorld) -> FloatArray | None:
    others = world.live_mix[1:]
    if others.sum() == 0.0:
        return None
    return world.lab_cells[:, 1:] @ (others / others.sum()) - world.lab_cells[:, 0]


def _written(names: tuple[str, ...], n: int, *, aliases: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names as the lab and as the live side write them: `model-03` and `Model 03 (2026-03)`."""
    if not aliases:
        return names, names[:n]
    return names, tuple(f"{name.replace('-', ' ').title()} (2026-03)" for name in names[:n])


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
    >>> from evalstats.simulate.lab_live_world import LabLiveDesign
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
