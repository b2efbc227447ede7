"""Ranks on a new task: the definition in its slow form, symmetries, coverage where tasks are exchangeable and where not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.many.task_ranks import new_task_ranks, tasks_needed


def by_definition(ranks: np.ndarray, n_models: int, conf_level: float) -> tuple[int, int]:
    """Every rank, quarters included, of which enough of all n + 1 are as far from their median."""
    kept: list[float] = []
    for rank in np.arange(1, n_models + 0.1, 0.25):
        every = np.append(ranks, rank)
        far = np.abs(every - np.median(every))
        if np.mean(far >= far[-1] - 1e-12) > 1 - conf_level + 1e-9:
            kept.append(float(rank))
    return int(np.floor(min(kept))), int(np.ceil(max(kept)))


@pytest.mark.parametrize(
    ("n_tasks", "digits", "conf_level"),
    [(19, 0, 0.9), (20, 2, 0.9), (25, 0, 0.9), (39, 2, 0.95), (41, 0, 0.95), (41, 2, 0.9)],
)
def test_definition(n_tasks: int, digits: int, conf_level: float) -> None:
    scores = np.round(np.random.default_rng(n_tasks).normal(np.arange(6) * 0.3, 1, (n_tasks, 6)), digits)
    ranks = stats.rankdata(-scores, axis=1)
    found = new_task_ranks(scores, conf_level=conf_level)
    assert [*zip(found.low, found.high, strict=True)] == [by_definition(own, 6, conf_level) for own in ranks.T]
    assert found.median.tolist() == np.median(ranks, axis=0).tolist()
    if found.inside is None:
        assert n_tasks == tasks_needed(conf_level)
        return
    inside = np.empty(ranks.shape, dtype=bool)
    for task, model in np.ndindex(*ranks.shape):
        low, high = by_definition(np.delete(ranks[:, model], task), 6, conf_level)
        inside[task, model] = low <= ranks[task, model] <= high
    assert found.inside.tolist() == pytest.approx(inside.mean(axis=0))
    assert found.together == pytest.approx(inside.all(axis=1).mean())


@given(st.integers(0, 1000), st.integers(2, 6), st.integers(19, 24))
def test_symmetries(seed: int, n_models: int, n_tasks: int) -> None:
    """The order of tasks says nothing, that of models goes along, turned scores turn ranks, only order within tasks counts."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(0, 1, (n_tasks, n_models)), 1)
    found, order = new_task_ranks(scores), rng.permutation(n_models)
    for same in (scores[rng.permutation(n_tasks)], np.exp(scores), scores * rng.uniform(1, 9, (n_tasks, 1))):
        again = new_task_ranks(same)
        assert (again.low.tolist(), again.high.tolist()) == (found.low.tolist(), found.high.tolist())
    assert new_task_ranks(scores[:, order]).high.tolist() == found.high[order].tolist()
    assert new_task_ranks(-scores).low.tolist() == (n_models + 1 - found.high).tolist()
    assert (found.low <= found.median).all()
    assert (found.median <= found.high).all()
    wide = new_task_ranks(scores, conf_level=0.9)
    assert (wide.low >= found.low).all()
    assert (wide.high <= found.high).all()


def test_what_cannot_be_said() -> None:
    assert [tasks_needed(level) for level in (0.8, 0.9, 0.95, 0.99)] == [4, 9, 19, 99]
    with pytest.raises(CannotAnswerError, match=r"18 tasks are too few .* at 95%; at least 19 are needed"):
        new_task_ranks(np.zeros((18, 3)))
    with pytest.raises(InputError, match="missing"):
        new_task_ranks(np.where(np.eye(20) > 0, np.nan, 1.0))
    with pytest.raises(InputError, match="two models"):
        new_task_ranks(np.zeros((20, 1)))


def test_models_that_always_tie_share_their_places() -> None:
    found = new_task_ranks(np.zeros((19, 3)))
    assert (found.low.tolist(), found.high.tolist(), found.median.tolist()) == ([2] * 3, [2] * 3, [2.0] * 3)


def coverage(rng: np.random.Generator, n_tasks: int, reps: int, kind: str) -> tuple[float, float]:
    """How often the rank on one task more is inside, and what leaving each task out says."""
    ability, held, inside = np.linspace(1, -1, 8), 0.0, 0.0
    for _ in range(reps):
        families = rng.normal(0, 0.7, (6, 8))
        place = rng.integers(0, 5, n_tasks + 1)
        if kind == "new family":
            place[-1] = 5
        scores = ability + families[place] + rng.normal(0, 0.3, (n_tasks + 1, 8))
        if kind == "independent":
            scores = ability + rng.normal(0, 0.7, scores.shape)
        found, rank = new_task_ranks(scores[:-1]), stats.rankdata(-scores[-1])
        held += ((found.low <= rank) & (rank <= found.high)).mean() / reps
        inside += 0.0 if found.inside is None else found.inside.mean() / reps
    return held, inside


@pytest.mark.parametrize("kind", ["independent", "families"])
def test_exchangeable_tasks_are_covered(kind: str) -> None:
    held, inside = coverage(np.random.default_rng(1), 30, 80, kind)
    assert held >= 0.94
    assert inside >= 0.95  # by arithmetic


def test_a_new_family_is_not_covered_and_leaving_tasks_out_does_not_tell() -> None:
    held, inside = coverage(np.random.default_rng(2), 30, 80, "new family")
    assert held < 0.945
    assert inside >= 0.95
