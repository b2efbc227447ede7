"""How fits are computed: on one thread of linear algebra, and replicates here or wherever joblib spreads them."""

import math
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from copy import deepcopy
from functools import cache, wraps
from importlib import import_module
from pickle import PicklingError
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from evalstats.stats.checks import check_count

P = ParamSpec("P")
R = TypeVar("R")
OnStep = Callable[[int, int], None]
_WORTH = 4.0  # seconds of work left that repay the start of other processes
_LEAST_BATCH = 4  # replicates sent to a worker at once
_BATCHES = 20  # for each worker, about
_TRIAL = 8  # replicates after which the time of the others is estimated
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


# All of it, since threads of joblib's that each set the number and put it back would undo one another's.
@one_thread
def replicates(
    compute: Replicate[Result], n: int, *, seed: int, workers: int | None = None, on_step: OnStep | None = None
) -> list[Result]:
    """Return `n` replicates, in order.

    Replicate i has the generator of `SeedSequence(seed, spawn_key=(i,))`, so that neither the number of workers nor the order in
    which they finish changes a result. Joblib spreads them, once the work is seen to be worth it: over all processors, or as
    `joblib.parallel_config` says (other machines by `backend="dask"`); `workers` is for another number. `on_step` is called with
    the number of replicates done and `n`.
    """
    n = check_count(n, "n_resamples", least=1)
    if workers is not None:
        workers = check_count(workers, "workers", least=1)
    started = time.perf_counter()
    out: list[Result] = []

    def take(found: Iterable[Result]) -> None:
        for each in found:
            out.append(each)
            if on_step is not None:
                on_step(len(out), n)

    first = n if workers == 1 else min(n, _TRIAL)
    take(_replicate(compute, seed, i) for i in range(first))
    left = (time.perf_counter() - started) / first * (n - first)
    if first < n and (workers is not None or left >= _WORTH):
        # What cannot be sent to other processes, and where there are none to be had, is computed here.
        with suppress(PicklingError, BrokenProcessPool, OSError):
            take(_spread(compute, range(first, n), seed=seed, workers=workers))
    take(_replicate(compute, seed, i) for i in range(len(out), n))
    return out


def _spread(compute: Replicate[Result], which: range, *, seed: int, workers: int | None) -> Generator[Result]:
    """Yield replicates in order, a block at a time, as joblib's backend computes them; each block is told as progress."""
    joblib = import_module("joblib")
    # Outside of `parallel_config`, joblib would take one.
    jobs = workers or (None if joblib.effective_n_jobs() > 1 else -1)
    at_once: int = joblib.effective_n_jobs(jobs)
    chunk = max(_LEAST_BATCH, math.ceil(len(which) / (_BATCHES * at_once)))
    block = 2 * chunk * at_once
    with joblib.Parallel(n_jobs=jobs, batch_size=chunk, mmap_mode="c") as spread:
        for at in range(0, len(which), block):
            yield from spread(joblib.delayed(_replicate)(compute, seed, i) for i in which[at : at + block])


_thread = threading.local()


def _replicate(compute: Replicate[Result], seed: int, index: int) -> Result:
    """Compute one replicate, in a thread beside others by a copy: what a fit keeps for the next is for one at a time."""
    if threading.current_thread() is not threading.main_thread():
        if getattr(_thread, "given", None) is not compute:
            _thread.given, _thread.copy = compute, deepcopy(compute)
        compute = _thread.copy
    return compute(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,))))
