"""Replicates are the same whoever computes them."""

import os
import threading
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from evalstats.errors import InputError
from evalstats.stats import computation
from evalstats.stats.computation import one_thread, replicates


def one_normal(rng):
    return float(rng.normal())


def test_each_has_its_own_stream():
    expected = [np.random.default_rng(np.random.SeedSequence(7, spawn_key=(i,))).normal() for i in range(5)]
    assert replicates(one_normal, 5, seed=7, workers=1) == expected
    assert replicates(one_normal, 3, seed=7) == expected[:3]
    assert replicates(one_normal, 1, seed=7) == expected[:1]
    assert len(set(replicates(one_normal, 20, seed=8) + expected)) == 25


def test_processes_change_nothing_and_report_every_replicate():
    steps = []
    before = dict(os.environ)
    many = replicates(one_normal, 30, seed=3, workers=2, on_step=lambda done, total: steps.append((done, total)))
    assert many == replicates(one_normal, 30, seed=3, workers=1)
    assert steps[-1] == (30, 30)
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert dict(os.environ) == before


class Drawn:
    """A replicate that holds more than a megabyte, which joblib lends to other processes, and writes into it."""

    def __init__(self):
        self.values = np.zeros(200_000)

    def __call__(self, rng):
        self.values[:3] = rng.normal(size=3)
        time.sleep(0.001)  # as long as another thread takes to write into the same array
        return self.values[:3].tolist()


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
def test_the_backend_changes_nothing(backend, monkeypatch):
    expected = replicates(one_normal, 50, seed=3, workers=1)
    large = replicates(Drawn(), 20, seed=5, workers=1)
    monkeypatch.setattr(computation, "_WORTH", -1.0)  # as if it would take long
    for workers in (None, 2, 3):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert replicates(one_normal, 50, seed=3, workers=workers) == expected
            assert replicates(Drawn(), 20, seed=5, workers=workers) == large


def test_all_processors_unless_joblib_says_otherwise(monkeypatch):
    asked = []
    plain = joblib.Parallel

    def watched(**options):
        asked.append(options["n_jobs"])
        return plain(**options)

    monkeypatch.setattr(joblib, "Parallel", watched)
    monkeypatch.setattr(computation, "_WORTH", -1.0)
    with joblib.parallel_config(backend="threading"):
        replicates(one_normal, 12, seed=1)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        replicates(one_normal, 12, seed=1)
        replicates(one_normal, 12, seed=1, workers=3)
        replicates(one_normal, 12, seed=1, workers=1)
    assert asked[0] in (-1, None)  # joblib's threads take all by themselves where there are several
    assert asked[1:] == [None, 3]


def test_a_number_of_workers_is_obeyed_and_quick_work_stays_here(monkeypatch):
    asked, sent = [], []
    plain, delayed = joblib.Parallel, joblib.delayed

    def watched(**options):
        asked.append(options["n_jobs"])
        return plain(**{**options, "n_jobs": 1})

    def counted(function):
        sent.append(function)
        return delayed(function)

    monkeypatch.setattr(joblib, "delayed", counted)
    monkeypatch.setattr(joblib, "Parallel", watched)
    replicates(one_normal, 12, seed=1)
    replicates(one_normal, 8, seed=1, workers=2)  # all of them tell how long one takes: none is left
    assert asked == []
    replicates(one_normal, 12, seed=1, workers=2)
    assert len(sent) == 12 - 8
    monkeypatch.setattr(computation, "_WORTH", -1.0)
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda jobs=None: 1 if jobs is None else 2)
    replicates(one_normal, 12, seed=1)
    assert asked == [2, -1]  # all processors where nobody says otherwise


class Slow:
    """A clock that goes on by half a second with every replicate."""

    now = 1000.0

    def perf_counter(self):
        return self.now

    def __call__(self, rng):
        self.now += 0.5
        return one_normal(rng)


@pytest.mark.parametrize(("n", "spread"), [(15, False), (16, True)])
def test_work_is_spread_where_four_seconds_of_it_are_left(n, spread, monkeypatch):
    """Eight replicates tell that each takes half a second."""
    sent, slow = [], Slow()
    monkeypatch.setattr(computation, "time", slow)
    monkeypatch.setattr(computation, "_spread", lambda _, which, **__: sent.extend(which) or ())
    found = replicates(slow, n, seed=1)
    assert found == replicates(one_normal, n, seed=1, workers=1)
    assert sent == (list(range(8, n)) if spread else [])


def test_linear_algebra_has_one_thread_inside_and_as_many_as_before_after_it():
    def threads():
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        inside = one_thread(threads)()
        assert inside == [1] * len(before)
        assert threads() == before


def test_what_cannot_be_sent_is_computed_here():
    lock = threading.Lock()

    def local(rng):
        return one_normal(rng)

    def locked(rng):
        with lock:
            return one_normal(rng)

    expected = replicates(one_normal, 30, seed=1)
    assert replicates(local, 30, seed=1, workers=2) == expected
    assert replicates(locked, 30, seed=1, workers=2) == expected


def test_without_processes_the_work_is_done_here(monkeypatch):
    def none(*args, **more):
        raise OSError("no processes")

    monkeypatch.setattr(joblib, "Parallel", none)
    steps = []
    found = replicates(one_normal, 30, seed=3, workers=2, on_step=lambda done, _: steps.append(done))
    assert found == replicates(one_normal, 30, seed=3, workers=1)
    assert steps == list(range(1, 31))


def failing(rng):
    raise InputError("no such replicate")


def test_an_error_of_a_replicate_is_raised():
    with pytest.raises(InputError, match="no such replicate"):
        replicates(failing, 30, seed=1, workers=2)


def test_counts():
    with pytest.raises(InputError, match="n_resamples"):
        replicates(one_normal, 0, seed=1)
    with pytest.raises(InputError, match="workers"):
        replicates(one_normal, 3, seed=1, workers=0)
