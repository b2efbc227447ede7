"""Replicates are the same whoever computes them."""

import os

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.computation import replicates


def one_normal(rng):
    return float(rng.normal())


def test_each_has_its_own_stream():
    expected = [np.random.default_rng(np.random.SeedSequence(7, spawn_key=(i,))).normal() for i in range(5)]
    assert replicates(one_normal, 5, seed=7, workers=1) == expected
    assert replicates(one_normal, 3, seed=7) == expected[:3]
    assert len(set(replicates(one_normal, 20, seed=8) + expected)) == 25


def test_processes_change_nothing_and_report_every_replicate():
    steps = []
    before = dict(os.environ)
    many = replicates(one_normal, 30, seed=3, workers=2, on_step=lambda done, total: steps.append((done, total)))
    assert many == replicates(one_normal, 30, seed=3, workers=1)
    assert steps[-1] == (30, 30)
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert dict(os.environ) == before


def test_what_cannot_be_sent_is_computed_here_or_refused():
    def local(rng):
        return one_normal(rng)

    assert replicates(local, 12, seed=1) == replicates(one_normal, 12, seed=1)
    with pytest.raises(InputError, match="top of a module"):
        replicates(local, 12, seed=1, workers=2)


def test_without_processes_the_work_is_done_here(monkeypatch):
    def none(*args, **more):
        raise OSError("no processes")

    monkeypatch.setattr("evalstats.stats.computation.ProcessPoolExecutor", none)
    steps = []
    found = replicates(one_normal, 30, seed=3, workers=2, on_step=lambda done, _: steps.append(done))
    assert found == replicates(one_normal, 30, seed=3, workers=1)
    assert steps[-1] == 30


def test_counts():
    with pytest.raises(InputError, match="n_resamples"):
        replicates(one_normal, 0, seed=1)
    with pytest.raises(InputError, match="workers"):
        replicates(one_normal, 3, seed=1, workers=0)
