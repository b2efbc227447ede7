"""What happened in each simulated sample besides success: tool calls, kind of failure, judge scores."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from evalstats.simulate.rut_design import BEHAVIOURS, DIFFICULTIES, RutDesign
from evalstats.simulate.rut_samples import Failure, SampleFacts
from evalstats.simulate.rut_truth import RutDraw, intercept_for_rate
from evalstats.simulate.streams import generator

# All invented.
FLAW_RATE = 0.15  # share of relaxed successes that fail the semantic criterion
FAILURE_SHARES: tuple[tuple[Failure, float], ...] = (("state", 0.80), ("diff", 0.12), ("forbidden", 0.08))
EXTRA_CALLS_SOLVED, EXTRA_CALLS_FAILED = 1.5, 3.0  # mean number of tool calls beyond the required ones
JUDGE_SUCCESS_EFFECT = 0.8  # how much better a solved sample is judged, in logits of a point
FAITHFULNESS_TOP, CLARIFICATION_TOP, DISCIPLINE_TOP = 4, 3, 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Details:
    """Draws for every sample, each array of shape (n_samples,), samples in task-major order."""

    flawed: NDArray[np.bool_]
    failure: NDArray[np.int64]
    extra_calls: NDArray[np.int64]
    judge_failed: NDArray[np.bool_]
    faithfulness: NDArray[np.int64]
    clarification: NDArray[np.int64]
    discipline: NDArray[np.int64]


def draw_facts(
    draw: RutDraw, design: RutDesign, *, seed: int, run: int, judge_error_rate: float
) -> Iterator[SampleFacts]:
    """Yield the facts of every sample: base task by base task, behaviours in the order of `BEHAVIOURS`."""
    rng = generator(seed, "rutbench", "details", draw.model.name, str(run))
    details = _draw_details(draw, judge_error_rate, rng)
    success, crashed = draw.success.ravel(), draw.crashed.ravel()
    for row in range(success.size):
        task, place = divmod(row, len(BEHAVIOURS))
        read_only = bool(design.read_only[task])
        turns, needed = int(design.user_turns[task]), int(design.action_turns[task])
        failed = not (success[row] or crashed[row])
        yield SampleFacts(
            env_id=design.env_id(task),
            task_id=design.task_id(task),
            behaviour=BEHAVIOURS[place],
            difficulty=DIFFICULTIES[int(design.difficulty[task])],
            user_turns=turns,
            action_turns=needed,
            read_only=read_only,
            crashed=bool(crashed[row]),
            failure=_failure(int(details.failure[row]), read_only=read_only) if failed else None,
            flawed=bool(details.flawed[row]),
            tool_calls=needed - 2 * turns + int(details.extra_calls[row]),
            judge_failed=bool(details.judge_failed[row]),
            faithfulness=int(details.faithfulness[row]),
            clarification=int(details.clarification[row]),
            discipline=int(details.discipline[row]),
        )


def _draw_details(draw: RutDraw, judge_error_rate: float, rng: np.random.Generator) -> _Details:
    success, crashed = draw.success.ravel(), draw.crashed.ravel()
    honesty, discipline = draw.model.honesty, draw.model.discipline
    return _Details(
        flawed=success & ~crashed & (rng.random(success.size) < FLAW_RATE),
        failure=rng.choice(len(FAILURE_SHARES), p=[share for _, share in FAILURE_SHARES], size=success.size),
        extra_calls=rng.poisson(np.where(success, EXTRA_CALLS_SOLVED, EXTRA_CALLS_FAILED)),
        judge_failed=_judge_failures(crashed, judge_error_rate, rng),
        faithfulness=_points(success, honesty, FAITHFULNESS_TOP, rng),
        clarification=_points(success, (honesty + discipline) / 2, CLARIFICATION_TOP, rng),
        discipline=_points(success, discipline, DISCIPLINE_TOP, rng),
    )


def _failure(drawn: int, *, read_only: bool) -> Failure:
    # a task that changes nothing can only fail by a forbidden write
    return "forbidden" if read_only else FAILURE_SHARES[drawn][0]


def _judge_failures(crashed: NDArray[np.bool_], rate: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark `rate` times the samples; a crashed run never reaches the judge."""
    able = np.flatnonzero(~crashed)
    failed = np.zeros(crashed.size, dtype=np.bool_)
    failed[rng.choice(able, size=min(round(rate * crashed.size), able.size), replace=False)] = True
    return failed


def _points(success: NDArray[np.bool_], share: float, top: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole points from 0 to `top` with mean `share * top`, more of them where the sample was solved."""
    eta = logit(share) + JUDGE_SUCCESS_EFFECT * success
    return rng.binomial(top, expit(eta + intercept_for_rate(eta, share)))
