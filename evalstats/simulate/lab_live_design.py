"""What a simulated pair of lab and live world is made of: every number of it, with its default. All of it is invented."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

import numpy as np

from evalstats.errors import InputError
from evalstats.simulate.rut_design import BEHAVIOURS
from evalstats.simulate.rut_truth import BEHAVIOUR_EFFECTS
from evalstats.simulate.scenario_truth import check_share, check_spread
from evalstats.stats.checks import FloatArray, check_count

Live = Literal["outcomes", "comparisons", "aggregates"]
FEWEST_MODELS = 2
_LOWEST_EFFECT = -1.0


class LabLiveOptions(TypedDict, total=False):
    """Further options of `simulate_lab_live` and `write_lab_live`: the fields of `LabLiveDesign`."""

    n_lab_only: int
    n_items: int
    n_users: int
    n_live: int | None
    live: Live
    scenarios: Sequence[str]
    crossed: bool
    lab_mix: Mapping[str, float] | None
    live_mix: Mapping[str, float] | None
    gaps: Mapping[str, float]
    scenario_gaps: Mapping[tuple[str, str], float]
    behaviour_shift: float
    tau: float
    mean: float
    spread: float
    scenario_effects: Mapping[str, float] | None
    sd_drop: float
    sd_cell: float
    sd_item: float
    sd_user: float
    sd_user_model: float
    user_mix: float | None
    activity: float
    slope: float
    tie: float
    aliases: bool


@dataclass(frozen=True, slots=True, kw_only=True)
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
        Model to its planted gap, live less lab, the same in all scenarios: a difference of success probabilities; for votes
        of log-odds.
    scenario_gaps
        (model, scenario) to a further difference of success probabilities there. Not for votes.
    behaviour_shift
        Difference of success probabilities of all models in all scenarios: everything is harder live. Not for votes.
    tau
        Standard deviation of further true gaps, one for each model, in the unit of `gaps`.
    mean, spread
        Of the models' abilities: logits of success with the ideal user. Evenly spaced quantiles of a normal law.
    scenario_effects
        Logits against the ideal user. None: those of simulated RUT-Bench for its behaviours, else evenly spaced to -1.
    sd_drop, sd_cell
        Standard deviations of a model's own deviation with all users that are not ideal, and in each of those scenarios.
    sd_item, sd_user, sd_user_model
        Standard deviations, in logits, of an item's difficulty (shared by all models), of a user's (shared by all models)
        and of a user's with one model. For votes only the last one counts: a user's own liking of each model.
    user_mix
        How alike the users' own mixes of scenarios are: concentration of a Dirichlet law around the live mix. None: all have
        the live mix.
    activity
        Exponent of Zipf's law of sessions by user; 0: all alike.
    slope
        For votes: log-odds of winning for one whole unit of the lab's success probability.
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
    scenario_effects: Mapping[str, float] | None = None
    sd_drop: float = 0.25
    sd_cell: float = 0.1
    sd_item: float = 1.0
    sd_user: float = 0.5
    sd_user_model: float = 0.3
    user_mix: float | None = 10.0
    activity: float = 0.6
    slope: float = 4.0
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
        sds = ("tau", "spread", "sd_drop", "sd_cell", "sd_item", "sd_user", "sd_user_model", "activity")
        check_spread(**{name: getattr(self, name) for name in sds})
        check_share("tie", self.tie, high=1.0)
        if self.user_mix is not None and not self.user_mix > 0:
            raise InputError(
                f"user_mix is {self.user_mix:g}; give a number above 0, or None for users who are all alike"
            )
        self._check_scenarios()
        self._check_gaps()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models that both sides have."""
        if isinstance(self.n_models, int):
            return tuple(f"model-{number:02d}" for number in range(1, self.n_models + 1))
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
        """Return the logits of each scenario against the ideal user, shape (n_scenarios,)."""
        if self.scenario_effects is not None:
            return np.array([self.scenario_effects[name] for name in self.scenarios])
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
        if self.scenario_effects is not None and set(self.scenario_effects) != set(self.scenarios):
            known = ", ".join(self.scenarios)
            raise InputError(f"scenario_effects are given for {', '.join(self.scenario_effects)}; give exactly {known}")

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
