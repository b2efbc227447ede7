"""The truth behind a simulated RUT-Bench: environments, tasks and users, the models, and a logistic model of success."""

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from evalstats.datasets.tables import rows_of
from evalstats.errors import InputError
from evalstats.record import record
from evalstats.simulate.draws import (
    Calibrate,
    apportion,
    check_spread,
    generator,
    intercept_for_count,
    intercept_for_rate,
)


@record
class RutModel:
    """What is known of one model before anything is simulated.

    `success_rate` is the share of all samples it solves; `honesty` and `discipline` are the mean of the judge's
    faithfulness and tool-discipline scores over their maximum. All are proportions strictly between 0 and 1.

    Examples
    --------
    >>> RutModel(name="mine", success_rate=0.4).group
    'made up'
    >>> RutModel(name="mine", success_rate=40)
    Traceback (most recent call last):
        ...
    evalstats.errors.InputError: success_rate of 'mine' is 40; give a proportion strictly between 0 and 1
    """

    name: str
    success_rate: float
    honesty: float = 0.75
    discipline: float = 0.75
    group: str = "made up"

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("the model's name is empty; give it one")
        for rate in ("success_rate", "honesty", "discipline"):
            value: float = getattr(self, rate)
            if not 0 < value < 1:
                raise InputError(f"{rate} of {self.name!r} is {value:g}; give a proportion strictly between 0 and 1")


@cache
def published_models() -> tuple[RutModel, ...]:
    """Return the 19 models of the benchmark's performance figure, best first within its three groups.

    The success rates are printed in the figure; honesty and discipline were read off its bars to within a point.

    Examples
    --------
    >>> models = published_models()
    >>> len(models), models[0].name, models[0].success_rate
    (19, 'GPT-5.4', 0.373)
    """
    return tuple(
        RutModel(
            name=row["model"],
            group=row["group"],
            success_rate=_proportion(row["success_rate"]),
            honesty=_proportion(row["informational_honesty"]),
            discipline=_proportion(row["tool_discipline"]),
        )
        for row in rows_of("evalstats.simulate", "rut_models.csv")
    )


def _proportion(percent: str) -> float:
    return round(float(percent) / 100, 6)  # 37.3 / 100 is 0.37299999999999994


def model_named(model: str | RutModel) -> RutModel:
    """Return the published model of that name, or the model itself; InputError lists all names."""
    if isinstance(model, RutModel):
        return model
    for known in published_models():
        if known.name == model:
            return known
    names = ", ".join(known.name for known in published_models())
    raise InputError(
        f"no published model is called {model!r}; known are {names}; or pass RutModel(name=..., success_rate=...)"
    )


STABLE = "stable"
BEHAVIOURS = (
    STABLE,
    "underspecification",
    "information_overload",
    "fabricated_parameters",
    "goal_switching",
    "contradictory_constraints",
    "impatience_and_hostility",
)
DIFFICULTIES = ("easy", "medium", "hard")
N_ENVS = 59
N_TASKS = 234

# Counts of base tasks behind the percentages of the benchmark's statistics figure. They fit 235 tasks exactly; the
# published file holds 234.
DIFFICULTY_COUNTS: Mapping[str, int] = {"easy": 59, "medium": 118, "hard": 58}
USER_TURN_COUNTS: Mapping[int, int] = {1: 118, 2: 71, 3: 46}
ACTION_TURN_COUNTS: Mapping[int, int] = {3: 15, 4: 69, 5: 31, 6: 11, 7: 37, 8: 41, 9: 28, 10: 3}

# Invented: tasks that change nothing and so have no assertion about the final state.
READ_ONLY_SHARE = 0.05


@record(eq=False)
class RutDesign:
    """Base tasks, one element of each array a task; every array has shape (n_tasks,).

    `env` and `number` count from 1 (environment, and task within it); `difficulty` is an index into `DIFFICULTIES`;
    `user_turns` are the user's messages; `action_turns` the fewest user turns, answers and tool calls that solve the
    task; `read_only` marks tasks whose solution changes nothing.
    """

    env: NDArray[np.int64]
    number: NDArray[np.int64]
    difficulty: NDArray[np.int64]
    user_turns: NDArray[np.int64]
    action_turns: NDArray[np.int64]
    read_only: NDArray[np.bool_]

    @property
    def n_tasks(self) -> int:
        """Base tasks; each is played with all seven behaviours."""
        return self.env.size

    @property
    def n_samples(self) -> int:
        """Samples: base tasks times behaviours."""
        return self.n_tasks * len(BEHAVIOURS)

    def env_id(self, task: int) -> str:
        """Name of a task's environment, as the benchmark writes it."""
        return f"env_{self.env[task]}"

    def task_id(self, task: int) -> str:
        """Name of a base task, as the benchmark writes it.

        Examples
        --------
        >>> make_design().task_id(0)
        'env_1_env_1_cfg_1_task_1'
        """
        env = self.env_id(task)
        return f"{env}_{env}_cfg_1_task_{self.number[task]}"


def make_design(*, seed: int = 0, n_tasks: int = N_TASKS) -> RutDesign:
    """Draw the base tasks: published margins of difficulty, user turns and fewest action turns.

    How the three margins hang together is not published. Here difficulty is independent of the rest, and a task
    with t user turns needs at least 2t + 1 action turns (each turn is answered, and one tool is called).
    """
    if n_tasks < 1:
        raise InputError(f"n_tasks is {n_tasks}; a benchmark needs at least one base task")
    rng = generator(seed, "rutbench", "design")
    per_env = apportion([1] * N_ENVS, n_tasks)
    env = np.repeat(np.arange(1, N_ENVS + 1), per_env)
    number = np.concatenate([np.arange(1, count + 1) for count in per_env])
    difficulty = np.repeat(np.arange(len(DIFFICULTIES)), apportion(list(DIFFICULTY_COUNTS.values()), n_tasks))
    action_turns = np.repeat(list(ACTION_TURN_COUNTS), apportion(list(ACTION_TURN_COUNTS.values()), n_tasks))
    action_turns = rng.permutation(action_turns)
    read_only = np.zeros(n_tasks, dtype=np.bool_)
    read_only[rng.choice(n_tasks, size=round(READ_ONLY_SHARE * n_tasks), replace=False)] = True
    return RutDesign(
        env=env,
        number=number,
        difficulty=rng.permutation(difficulty),
        user_turns=_user_turns(action_turns, rng),
        action_turns=action_turns,
        read_only=read_only,
    )


def _user_turns(action_turns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    wanted = dict(zip(USER_TURN_COUNTS, apportion(list(USER_TURN_COUNTS.values()), action_turns.size), strict=True))
    turns = np.ones(action_turns.size, dtype=np.int64)
    for level in sorted(wanted, reverse=True)[:-1]:
        able = np.flatnonzero((turns == 1) & (action_turns > 2 * level))
        turns[rng.choice(able, size=min(wanted[level], able.size), replace=False)] = level
    return turns


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


@record
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
                raise InputError(f"{name} effects are given for {', '.join(given)}; give exactly {', '.join(known)}")
        names = ("env", "task", "task_behaviour", "task_model", "behaviour_model")
        check_spread(**{f"sd_{name}": getattr(self, f"sd_{name}") for name in names})


@record(eq=False)
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
        intercept = intercept_for_count(latent[~crashed], wanted)
    return RutDraw(
        model=model,
        intercept=intercept,
        probability=expit(intercept + eta),
        success=np.where(crashed, passed_by_crash, intercept + latent > 0),
        crashed=crashed,
    )


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
