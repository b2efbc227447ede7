"""How fits are computed: on one thread of linear algebra, and replicates on one process or several."""

import math
import os
import pickle
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, wraps
from multiprocessing import get_context
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from evalstats.errors import InputError
from evalstats.stats.checks import check_count

P = ParamSpec("P")
R = TypeVar("R")
OnStep = Callable[[int, int], None]
_WORTH = 4.0  # seconds of work left that repay the start of other processes
_TRIAL = 8  # replicates after which the time of the others is estimated
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
Result = TypeVar("Result")
Replicate: TypeAlias = Callable[[np.random.Generator], Result]  # to be sent to other processes it must be picklable


@cache
def _controller() -> Any:
    return ThreadpoolController()


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with the linear algebra inside it on one thread, and as many as before after it.

    On two busy cores a mixed model of 300 effects was 25 times as slow with two threads as with one: they wait for each
    other at every small factorisation.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


def replicates(
    compute: Replicate[Result], n: int, *, seed: int, workers: int | None = None, on_step: OnStep | None = None
) -> list[Result]:
    """Return `n` replicates, in order.

    Replicate i has the generator of `SeedSequence(seed, spawn_key=(i,))`, so that neither the number of processes nor
    the order in which they finish changes a result. `workers` None stands for as many processes as there are processors,
    once the work is seen to be worth starting them; `on_step` is called with the number of replicates done and `n`.
    """
    n = check_count(n, "n_resamples", least=1)
    if workers is not None:
        workers = check_count(workers, "workers", least=1)
    started = time.perf_counter()
    first = n if workers == 1 else min(n, _TRIAL)
    out = _here(compute, range(first), seed, on_step, n)
    left = (time.perf_counter() - started) / first * (n - first)
    if first == n or (workers is None and (left < _WORTH or (os.cpu_count() or 1) == 1)):
        return out + _here(compute, range(first, n), seed, on_step, n)
    payload = _pickled(compute, needed=workers is not None)
    if payload is None:
        return out + _here(compute, range(first, n), seed, on_step, n)
    return out + _in_pool(payload, compute, range(first, n), seed=seed, workers=workers, on_step=on_step, total=n)


def _here(compute: Replicate[Result], which: range, seed: int, on_step: OnStep | None, total: int) -> list[Result]:
    out: list[Result] = []
    for index in which:
        out.append(compute(_generator(seed, index)))
        _tell(on_step, index + 1, total)
    return out


def _in_pool(
    payload: bytes,
    compute: Replicate[Result],
    which: range,
    *,
    seed: int,
    workers: int | None,
    on_step: OnStep | None,
    total: int,
) -> list[Result]:
    processes = workers or os.cpu_count() or 1
    size = max(1, min(25, math.ceil(len(which) / (8 * processes))))
    parts = [which[at : at + size] for at in range(0, len(which), size)]
    found: dict[int, list[Result]] = {}
    done = which.start
    try:
        with _one_thread_each(), ProcessPoolExecutor(processes, get_context("spawn"), _load, (payload, seed)) as pool:
            futures: dict[Future[list[Result]], range] = {pool.submit(_part, part): part for part in parts}
            for future in as_completed(futures):
                part = futures[future]
                found[part.start] = future.result()
                done += len(part)
                _tell(on_step, done, total)
    except (BrokenProcessPool, OSError):  # no further processes can be had here, such as in a restricted environment
        for part in parts:
            if part.start not in found:
                found[part.start] = _here(compute, part, seed, None, total)
                done += len(part)
                _tell(on_step, done, total)
    return [result for part in parts for result in found[part.start]]


_loaded: list[tuple[Replicate[Any], int]] = []


def _load(payload: bytes, seed: int) -> None:
    _loaded[:] = [(pickle.loads(payload), seed)]  # noqa: S301 - made by the parent process


def _part(which: Sequence[int]) -> list[Any]:
    compute, seed = _loaded[0]
    return [compute(_generator(seed, index)) for index in which]


def _generator(seed: int, index: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))


def _tell(on_step: OnStep | None, done: int, total: int) -> None:
    if on_step is not None:
        on_step(done, total)


def _pickled(compute: Replicate[Result], *, needed: bool) -> bytes | None:
    try:
        return pickle.dumps(compute)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if needed:
            raise InputError(
                f"the computation cannot be sent to other processes ({error}); define its function at the top of a module, "
                "or give workers=1"
            ) from error
        return None


@contextmanager
def _one_thread_each() -> Generator[None]:
    """Let each new process use one thread of linear algebra, so that processes do not crowd each other out."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
