"""What a simulated lab and live world is made of, and every true number in it that a layer of `gap()` estimates."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

import numpy as np
import polars as pl
from scipy.special import expit, logit, ndtri

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.simulate.draws import apportion, check_models, check_share, check_spread, generator
from evalstats.simulate.rutbench_world import BEHAVIOUR_EFFECTS, BEHAVIOURS
from evalstats.stats.checks import FloatArray, IntArray, check_count

Live = Literal["outcomes", "comparisons", "aggregates"]
FEWEST_MODELS = 2
_LOWEST_EFFECT = -1.0
# Standard deviations, in logits, all invented: of a model's own deviation with all users that are not ideal, and in each of
# those scenarios; of an item's difficulty and of a user's, both shared by all models.
SD_DROP, SD_CELL, SD_ITEM, SD_USER = 0.25, 0.1, 1.0, 0.5
USER_MIX = 10.0  # how alike the users' own mixes of scenarios are: concentration of a Dirichlet law around the live mix
ACTIVITY = 0.6  # exponent of Zipf's law of sessions by user


@record
class LabLiveDesign:
    """Models, items, users, and what differs between lab and live. With the defaults nothing differs.

    Attributes
    ----------
    n_models
        Models that both sides have, or their names; else "model-01", the best with the ideal user, "model-02", ...
    n_lab_only
        Further models that only the lab has, "lab-only-01", ...: what a forecast is for.
    n_items
        Lab items in all, each played once by every model. Each belongs to one scenario; with `crossed` each is played in
        every scenario.
    n_users, n_live
        Live users; sessions (or votes) of all together, None: 15 for each user.
    live
        What the live side holds: "outcomes" (success of sessions), "comparisons" (votes between two models), "aggregates"
        (published success rates with standard errors, on both sides).
    scenarios
        Names, the first of them the ideal user.
    lab_mix, live_mix
        Share of each scenario among lab items (None: all alike) and live sessions (None: as in the lab). A scenario that is
        not named has share 0. The lab has whole items: its true mix is the nearest that `n_items` allows.
    gaps
        Model to its planted gap, live minus lab, the same in all scenarios: a difference of success probabilities; for votes
        of log-odds.
    scenario_gaps
        (model, scenario) to a further difference of success probabilities there. Not for votes.
    behaviour_shift
        Difference of success probabilities of all models in all scenarios: everything is harder live. Not for votes.
    tau
        Standard deviation of further true gaps, one for each model, in the unit of `gaps`.
    mean, spread
        Of the models' abilities: logits of success with the ideal user. Evenly spaced quantiles of a normal law.
    sd_user_model
        Standard deviation, in logits, of a user's own liking of each model.
    tie
        For votes: ties as a share of the most that leaves the shares of wins what they are, 0 to 1.
    aliases
        Whether both sides write the models' names differently.

    Raises
    ------
    InputError
        If a number is out of range, or a name is unknown.
    """

    n_models: int | Sequence[str] = 15
    n_lab_only: int = 0
    n_items: int = 420
    n_users: int = 400
    n_live: int | None = None
    live: Live = "outcomes"
    scenarios: Sequence[str] = BEHAVIOURS
    crossed: bool = False
    lab_mix: Mapping[str, float] | None = None
    live_mix: Mapping[str, float] | None = None
    gaps: Mapping[str, float] = field(default_factory=dict[str, float])
    scenario_gaps: Mapping[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    behaviour_shift: float = 0.0
    tau: float = 0.0
    mean: float = 1.0
    spread: float = 0.6
    sd_user_model: float = 0.3
    tie: float = 0.3
    aliases: bool = False

    def __post_init__(self) -> None:
        names = self.names
        if len(names) < FEWEST_MODELS or len(set(names)) < len(names):
            raise InputError(
                f"there are {len(names)} models, some perhaps twice; give two or more names, all different"
            )
        if self.live not in ("outcomes", "comparisons", "aggregates"):
            raise InputError(f"live is {self.live!r}; use 'outcomes', 'comparisons' or 'aggregates'")
        check_count(self.n_lab_only, "n_lab_only", least=0)
        check_count(self.n_items, "n_items", least=len(self.scenarios))
        check_count(self.n_users, "n_users", least=2)
        check_count(self.sessions, "n_live", least=len(names))
        check_spread(tau=self.tau, spread=self.spread, sd_user_model=self.sd_user_model)
        check_share("tie", self.tie, high=1.0)
        self._check_scenarios()
        self._check_gaps()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models that both sides have."""
        if isinstance(self.n_models, int):
            return tuple(f"model-{number:02d}" for number in range(1, check_models(self.n_models) + 1))
        return tuple(self.n_models)

    @property
    def lab_only(self) -> tuple[str, ...]:
        """Names of the models that only the lab has."""
        return tuple(f"lab-only-{number:02d}" for number in range(1, self.n_lab_only + 1))

    @property
    def sessions(self) -> int:
        """Live sessions, or votes."""
        return 15 * self.n_users if self.n_live is None else self.n_live

    def effects(self) -> FloatArray:
        """Return the logits of each scenario against the ideal user: RUT-Bench's, else evenly spaced to -1."""
        if set(self.scenarios) <= set(BEHAVIOUR_EFFECTS):
            return np.array([BEHAVIOUR_EFFECTS[name] for name in self.scenarios])
        return np.linspace(0.0, _LOWEST_EFFECT, len(self.scenarios))

    def _check_scenarios(self) -> None:
        if len(set(self.scenarios)) < max(1, len(self.scenarios)):
            raise InputError("a scenario is named twice, or there is none; name each once")
        for name, mix in (("lab_mix", self.lab_mix), ("live_mix", self.live_mix)):
            if mix is not None:
                _check_mix(name, mix, self.scenarios)
        if self.crossed and self.lab_mix is not None:
            raise InputError("with crossed items every item is played in every scenario; leave out lab_mix")

    def _check_gaps(self) -> None:
        if self.live == "comparisons" and (self.scenario_gaps or self.behaviour_shift):
            raise InputError("votes are about models, not about scenarios; leave out scenario_gaps and behaviour_shift")
        models = (*self.gaps, *(model for model, _ in self.scenario_gaps))
        unknown = next((model for model in models if model not in (*self.names, *self.lab_only)), None)
        if unknown is not None:
            raise InputError(
                f"a gap is planted for {unknown!r}, which is no model here; there are {', '.join(self.names)}"
            )
        strange = next((name for _, name in self.scenario_gaps if name not in self.scenarios), None)
        if strange is not None:
            raise InputError(f"a gap is planted in {strange!r}, which is no scenario; use {', '.join(self.scenarios)}")


def _check_mix(name: str, mix: Mapping[str, float], scenarios: Sequence[str]) -> None:
    unknown = next((level for level in mix if level not in scenarios), None)
    if unknown is not None:
        raise InputError(f"{name} has the scenario {unknown!r}; use {', '.join(scenarios)}")
    shares = np.array(list(mix.values()), dtype=np.float64)
    if not (np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1.0) < 1e-6):
        raise InputError(f"the shares of {name} sum to {shares.sum():g}; give shares from 0 that sum to 1")


# With 61 nodes the mean of a logistic curve over a normal law of standard deviation up to 3 is right to 1e-7.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_NORMAL_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_FURTHEST = 60.0  # logits; the search starts that far out
_ROUNDS = 70  # halvings of 120 logits: beyond the precision of a float
_PARTS = 10_000_000  # shares are apportioned as whole parts


@record(eq=False)
class LabLiveWorld:
    """One draw of the truth. Models are `names`: those of both sides, then those that only the lab has.

    Attributes
    ----------
    lab_mix, live_mix
        float64, shape (n_scenarios,), each of sum 1: of lab items as they are, and of live sessions.
    item_scenario
        int64, shape (n_items,): scenario of each lab item; with crossed items unused.
    lab_cells, live_cells
        float64, shape (n_names, n_scenarios): probability of success of a model in a scenario, over endless items and users.
        `live_cells` is None for votes.
    strengths
        float64, shape (n_names,), for votes: Bradley-Terry strengths, in log-odds, sum 0 over the models of both sides, of the
        shares of wins (ties as half) over endless users. None otherwise.
    gaps
        float64, shape (n_names,): planted gap, and the random one where `tau` is above 0.
    lab_logits, live_logits
        float64, shape (n_names, n_scenarios): logits for an item, or user, of effect 0 that give those probabilities.
    pair_logits
        float64, shape (n_models, n_models): the same for votes.
    """

    design: LabLiveDesign
    seed: int
    names: tuple[str, ...]
    lab_mix: FloatArray
    live_mix: FloatArray
    item_scenario: IntArray
    lab_cells: FloatArray
    live_cells: FloatArray | None
    strengths: FloatArray | None
    gaps: FloatArray
    lab_logits: FloatArray
    live_logits: FloatArray | None
    pair_logits: FloatArray | None

    @property
    def n_models(self) -> int:
        """Models that both sides have."""
        return len(self.design.names)


def make_lab_live_world(design: LabLiveDesign, *, seed: int = 0) -> LabLiveWorld:
    """Draw the truth of a seed. Probabilities are exact: logits are solved for them by quadrature.

    Raises
    ------
    InputError
        If a planted gap makes a probability leave 0 to 1; the message names model and scenario.

    Examples
    --------
    >>> world = make_lab_live_world(LabLiveDesign(n_models=8, gaps={"model-03": -0.15}))
    >>> (world.live_cells - world.lab_cells).round(9)[2].tolist()
    [-0.15, -0.15, -0.15, -0.15, -0.15, -0.15, -0.15]
    """
    names = (*design.names, *design.lab_only)
    n_scenarios = len(design.scenarios)
    counts = np.full(n_scenarios, design.n_items, dtype=np.int64)
    if not design.crossed:
        asked = np.full(n_scenarios, 1.0 / n_scenarios) if design.lab_mix is None else _shares(design, design.lab_mix)
        counts = np.array(apportion([round(_PARTS * share) for share in asked], design.n_items), dtype=np.int64)
    lab_mix = counts / counts.sum()
    live_mix = lab_mix if design.live_mix is None else _shares(design, design.live_mix)
    lab_cells = _lab_cells(design, seed)
    random = design.tau * generator(seed, "lab-live", "tau").standard_normal(len(names))
    gaps = np.array([design.gaps.get(name, 0.0) for name in names]) + random
    votes = design.live == "comparisons"
    live_cells = None if votes else _live_cells(design, names, lab_cells, gaps)
    strengths = _strengths(design, lab_cells @ lab_mix, gaps) if votes else None
    sd_user = float(np.hypot(SD_USER, design.sd_user_model))
    pair_logits = None
    if strengths is not None:
        own = strengths[: len(design.names)]
        # Two likings, one of each model.
        pair_logits = logit_for_mean(expit(own[:, None] - own[None, :]), float(np.sqrt(2.0)) * design.sd_user_model)
    return LabLiveWorld(
        design=design,
        seed=seed,
        names=names,
        lab_mix=lab_mix,
        live_mix=live_mix,
        item_scenario=np.repeat(np.arange(counts.size), counts),
        lab_cells=lab_cells,
        live_cells=live_cells,
        strengths=strengths,
        gaps=gaps,
        lab_logits=logit_for_mean(lab_cells, SD_ITEM),
        live_logits=None if live_cells is None else logit_for_mean(live_cells, sd_user),
        pair_logits=pair_logits,
    )


def mean_of_logits(logits: FloatArray, sd: float) -> FloatArray:
    """Return the mean of expit(logit + sd x standard normal), by Gauss-Hermite quadrature."""
    return expit(logits[..., None] + sd * _NODES) @ _NORMAL_WEIGHTS


def logit_for_mean(probability: FloatArray, sd: float) -> FloatArray:
    """Return the logits at which `mean_of_logits` is `probability`, by halving."""
    if sd == 0.0:
        return logit(probability)
    low, high = np.full(probability.shape, -_FURTHEST), np.full(probability.shape, _FURTHEST)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2.0
        below = mean_of_logits(middle, sd) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2.0


def _shares(design: LabLiveDesign, mix: Mapping[str, float]) -> FloatArray:
    shares = np.array([mix.get(name, 0.0) for name in design.scenarios])
    return shares / shares.sum()


def _lab_cells(design: LabLiveDesign, seed: int) -> FloatArray:
    """Return the probabilities of success in the lab; a model more moves no other."""
    n, n_more, n_scenarios = len(design.names), design.n_lab_only, len(design.scenarios)
    ability = design.mean + design.spread * np.asarray(ndtri((n - np.arange(n) - 0.5) / n), dtype=np.float64)
    more = design.mean + design.spread * generator(seed, "lab-live", "lab-only").standard_normal(n_more)
    own = [generator(seed, "lab-live", "model", name) for name in (*design.names, *design.lab_only)]
    deviation = np.array(
        [SD_DROP * stream.standard_normal() + SD_CELL * stream.standard_normal(n_scenarios) for stream in own]
    )
    deviation[:, 0] = 0.0  # the ideal user is what abilities are about
    return expit(np.concatenate([ability, more])[:, None] + design.effects() + deviation)


def _live_cells(design: LabLiveDesign, names: tuple[str, ...], lab_cells: FloatArray, gaps: FloatArray) -> FloatArray:
    cells = lab_cells + design.behaviour_shift + gaps[:, None]
    for (model, scenario), gap in design.scenario_gaps.items():
        cells[names.index(model), list(design.scenarios).index(scenario)] += gap
    outside = np.argwhere((cells <= 0.0) | (cells >= 1.0))
    if outside.size:
        m, s = outside[0]
        raise InputError(
            f"the gaps of {names[m]} in {design.scenarios[s]} take its success from {lab_cells[m, s]:.3f} in the lab to "
            f"{cells[m, s]:.3f} live; plant smaller ones, or raise or lower mean"
        )
    return cells


def _strengths(design: LabLiveDesign, lab: FloatArray, gaps: FloatArray) -> FloatArray:
    strengths = logit(lab) + gaps
    return strengths - strengths[: len(design.names)].mean()


_BY_MODEL = ("lab", "live", "total", "mix", "behaviour", "poststratified", "drop", "planted", "calibrated")


@record(eq=False)
class LabLiveTruth:
    """True values over endless users, and over endless items in the lab's own mix.

    Arrays go along `models` (both sides), then `lab_only`, unless they say otherwise; gaps are live minus lab.

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
        live minus lab; the part that the mix makes, and that behaviour within scenarios makes (Kitagawa's, without
        interaction). None for votes, and the parts also where one side never has a scenario that the other has.
    poststratified
        The lab's probabilities over the live mix, which are what the lab can know; None where the lab never covers one.
    drop
        Success with users that are not ideal, in their live shares, less that with the ideal one, both in the lab (negative:
        the model does worse); None where the live mix has ideal users only.
    planted
        The gap put in (with the random one where tau is above 0), scenario by scenario ones left out.
    across
        The lab's scores as the line has them: for votes in logits.
    slope, intercept
        Line through the true scores of `models`, planted gaps taken out: with one mix on both sides slope 1 and intercept
        `behaviour_shift`.
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
    across: FloatArray
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
            **{name: getattr(self, name) for name in _BY_MODEL},
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
    >>> truth = lab_live_truth(make_lab_live_world(LabLiveDesign(n_models=8, gaps={"model-03": -0.15})))
    >>> round(truth.slope, 9), truth.calibrated[2].round(9), abs(truth.mix).max() < 1e-12
    (1.0, np.float64(-0.15), np.True_)
    """
    design, n = world.design, world.n_models
    lab = world.lab_cells @ world.lab_mix
    live = world.strengths if world.live_cells is None else world.live_cells @ world.live_mix
    assert live is not None, "a world has cells or strengths"  # noqa: S101 - for the type
    across = lab if world.strengths is None else logit(lab)
    slope, intercept = _line(across[:n], (live - world.gaps)[:n])
    calibrated = live - intercept - slope * across
    mix, behaviour = _kitagawa(world)
    uncovered = ((world.lab_mix == 0.0) & (world.live_mix > 0.0)).any()
    # The live side may write names in its own way: `model-03` is `Model 03 (2026-03)`.
    live_names = world.names[:n]
    if design.aliases:
        live_names = tuple(f"{name.replace('-', ' ').title()} (2026-03)" for name in live_names)
    others, rest = world.live_mix[1:], calibrated[:n][[name not in design.gaps for name in design.names]]
    return LabLiveTruth(
        models=design.names,
        lab_only=design.lab_only,
        lab_names=world.names,
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
        poststratified=None if uncovered else world.lab_cells @ world.live_mix,
        drop=world.lab_cells[:, 1:] @ (others / others.sum()) - world.lab_cells[:, 0] if others.sum() else None,
        planted=world.gaps,
        slope=slope,
        intercept=intercept,
        calibrated=calibrated,
        across=across,
        deleted=_deleted(across[:n], live[:n]),
        tau=None if rest.size < 3 else float(np.sqrt(rest @ rest / (rest.size - 2))),
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


def _kitagawa(world: LabLiveWorld) -> tuple[FloatArray | None, FloatArray | None]:
    if world.live_cells is None or ((world.lab_mix > 0.0) != (world.live_mix > 0.0)).any():
        return None, None
    mix = (world.lab_cells + world.live_cells) / 2.0 @ (world.live_mix - world.lab_mix)
    behaviour = (world.live_cells - world.lab_cells) @ ((world.lab_mix + world.live_mix) / 2.0)
    return mix, behaviour
