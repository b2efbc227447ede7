"""The truth behind a simulated RUT-Bench: a logistic model of success, every number of it written down here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from evalstats.errors import InputError
from evalstats.simulate.rut_design import BEHAVIOURS, DIFFICULTIES, RutDesign
from evalstats.simulate.rut_models import RutModel
from evalstats.simulate.streams import generator

Calibrate = Literal["count", "rate"]

# Invented, in logits against a cooperative user. The benchmark's numbers by behaviour were never published in a form
# that could be carried over.
BEHAVIOUR_EFFECTS: Mapping[str, float] = MappingProxyType(
    {
        "stable": 0.0,
        "underspecification": -0.6,
        "information_overload": -0.3,
        "fabricated_parameters": -0.9,
        "goal_switching": -0.7,
        "contradictory_constraints": -1.1,
        "impatience_and_hostility": -0.2,
    }
)
DIFFICULTY_EFFECTS: Mapping[str, float] = MappingProxyType({"easy": 0.7, "medium": 0.0, "hard": -0.7})


@dataclass(frozen=True, slots=True, kw_only=True)
class RutEffects:
    """Effects on the logit of success. All are invented; only each model's overall rate is published.

    logit P(success) = intercept of the model + difficulty + (user turns - 1) turn + env + task + task x behaviour
    + task x model + behaviour + behaviour x model.

    `behaviour` and `difficulty` are fixed and the same for all models. The `sd_` fields are standard deviations of
    normal effects: env, task and task x behaviour are drawn once for a seed and shared by all models (which is
    what makes pairs of models correlated); the two with `model` are drawn for each model.
    """

    behaviour: Mapping[str, float] = field(default_factory=lambda: BEHAVIOUR_EFFECTS)
    difficulty: Mapping[str, float] = field(default_factory=lambda: DIFFICULTY_EFFECTS)
    turn: float = -0.15
    sd_env: float = 0.3
    sd_task: float = 1.2
    sd_task_behaviour: float = 0.4
    sd_task_model: float = 0.7
    sd_behaviour_model: float = 0.2

    def __post_init__(self) -> None:
        for name, given, known in (
            ("behaviour", self.behaviour, BEHAVIOURS),
            ("difficulty", self.difficulty, DIFFICULTIES),
        ):
            if set(given) != set(known):
                message = f"{name} effects are given for {', '.join(given)}; give exactly {', '.join(known)}"
                raise InputError(message)
        for name in ("sd_env", "sd_task", "sd_task_behaviour", "sd_task_model", "sd_behaviour_model"):
            value: float = getattr(self, name)
            if not value >= 0:
                message = f"{name} is {value:g}; a standard deviation is at least 0"
                raise InputError(message)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RutDraw:
    """One run of one model: the truth and what came of it; arrays of shape (n_tasks, 7), behaviours as `BEHAVIOURS`.

    `probability` is the probability of success were the run not to crash; `success` is relaxed success as the
    harness would count it, crashed runs included; `crashed` marks those.
    """

    model: RutModel
    intercept: float
    probability: NDArray[np.float64]
    success: NDArray[np.bool_]
    crashed: NDArray[np.bool_]


def linear_predictor(model: str, design: RutDesign, effects: RutEffects, seed: int) -> NDArray[np.float64]:
    """Logit of success without the model's intercept, shape (n_tasks, 7)."""
    shared = generator(seed, "rutbench", "effects")
    own = generator(seed, "rutbench", "effects", model)
    n_tasks, n_behaviours = design.n_tasks, len(BEHAVIOURS)
    env = effects.sd_env * shared.standard_normal(int(design.env.max()))
    task = effects.sd_task * shared.standard_normal(n_tasks)
    task += env[design.env - 1] + effects.turn * (design.user_turns - 1)
    task += np.array([effects.difficulty[level] for level in DIFFICULTIES])[design.difficulty]
    task += effects.sd_task_model * own.standard_normal(n_tasks)
    behaviour = np.array([effects.behaviour[name] for name in BEHAVIOURS])
    behaviour = behaviour + effects.sd_behaviour_model * own.standard_normal(n_behaviours)
    cell = effects.sd_task_behaviour * shared.standard_normal((n_tasks, n_behaviours))
    return task[:, None] + behaviour[None, :] + cell


def draw_run(
    model: RutModel,
    design: RutDesign,
    effects: RutEffects,
    *,
    seed: int,
    run: int,
    calibrate: Calibrate,
    crash_rate: float,
) -> RutDraw:
    """Set the model's intercept, then let it play every sample once.

    calibrate = "rate": the intercept makes the mean probability equal to the model's success rate, so the truth is
    the same for every `run` and the observed rate varies round it. calibrate = "count": the intercept is the one
    at which the observed number of successes equals the rate times the samples, as in the published figure; the
    truth then moves a little from run to run, and the overall rate has no sampling error.
    """
    eta = linear_predictor(model.name, design, effects, seed)
    crashed = _crashes(model.name, design, seed=seed, run=run, crash_rate=crash_rate)
    # A sample succeeds where intercept + eta + logistic noise > 0, which has probability expit(intercept + eta).
    latent = eta + generator(seed, "rutbench", "noise", model.name, str(run)).logistic(size=eta.shape)
    # A crashed run changed nothing, which is all that a read-only task asks for by the relaxed criterion.
    passed_by_crash = crashed & design.read_only[:, None]
    if calibrate == "rate":
        intercept = intercept_for_rate(eta, model.success_rate)
    else:
        wanted = round(model.success_rate * eta.size) - int(passed_by_crash.sum())
        intercept = _intercept_for_count(latent[~crashed], wanted)
    return RutDraw(
        model=model,
        intercept=intercept,
        probability=expit(intercept + eta),
        success=np.where(crashed, passed_by_crash, intercept + latent > 0),
        crashed=crashed,
    )


def intercept_for_rate(eta: NDArray[np.float64], rate: float) -> float:
    """Return a such that the mean of expit(a + eta) is `rate`.

    Examples
    --------
    >>> round(intercept_for_rate(np.zeros(3), 0.5), 6)
    0.0
    """
    low, high = -float(eta.max()) - 40.0, -float(eta.min()) + 40.0
    return float(brentq(lambda intercept: float(expit(intercept + eta).mean()) - rate, low, high, xtol=1e-12))


def _intercept_for_count(latent: NDArray[np.float64], wanted: int) -> float:
    """Half-way between the last latent value that must be above zero and the first that must not."""
    ordered = np.sort(latent)[::-1]
    padded = np.concatenate([[ordered[0] + 2.0], ordered, [ordered[-1] - 2.0]])
    place = min(max(wanted, 0), latent.size)
    return -float(padded[place] + padded[place + 1]) / 2


def _crashes(model: str, design: RutDesign, *, seed: int, run: int, crash_rate: float) -> NDArray[np.bool_]:
    """Mark the crashed samples: the rate times the samples, half of them on read-only tasks.

    On those an empty run passes, the quirk a reader of such files must survive; by chance alone most files would
    not show it.
    """
    rng = generator(seed, "rutbench", "crashes", model, str(run))
    n_crashes = round(crash_rate * design.n_samples)
    read_only = np.repeat(design.read_only, len(BEHAVIOURS))
    crashed = np.zeros(design.n_samples, dtype=np.bool_)
    half = min((n_crashes + 1) // 2, int(read_only.sum()))
    crashed[rng.choice(np.flatnonzero(read_only), size=half, replace=False)] = True
    others = np.flatnonzero(~read_only)
    crashed[rng.choice(others, size=min(n_crashes - half, others.size), replace=False)] = True
    return crashed.reshape(design.n_tasks, len(BEHAVIOURS))
