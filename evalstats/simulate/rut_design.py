"""The benchmark side of a simulated RUT-Bench: environments, base tasks and the seven ways a user may behave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalstats.errors import InputError
from evalstats.simulate.streams import generator

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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


def apportion(counts: Sequence[int], total: int) -> list[int]:
    """Scale counts to a new total by largest remainders; the first of equal remainders wins.

    Examples
    --------
    >>> apportion([59, 118, 58], 234)
    [59, 117, 58]
    """
    exact = [count * total / sum(counts) for count in counts]
    whole = [int(share) for share in exact]
    by_remainder = sorted(range(len(counts)), key=lambda level: whole[level] - exact[level])
    for level in by_remainder[: total - sum(whole)]:
        whole[level] += 1
    return whole


def make_design(*, seed: int = 0, n_tasks: int = N_TASKS) -> RutDesign:
    """Draw the base tasks: published margins of difficulty, user turns and fewest action turns.

    How the three margins hang together is not published. Here difficulty is independent of the rest, and a task
    with t user turns needs at least 2t + 1 action turns (each turn is answered, and one tool is called).

    Raises
    ------
    InputError
        If `n_tasks` is below 1 or the seed is negative.
    """
    if n_tasks < 1:
        message = f"n_tasks is {n_tasks}; a benchmark needs at least one base task"
        raise InputError(message)
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
