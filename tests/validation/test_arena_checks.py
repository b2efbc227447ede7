"""The simulated checks of arenas are those of `arena` itself."""

import numpy as np
import pytest

from dev.validation import arena_checks
from dev.validation.arena_checks import JUDGED, WEIGHED, World, warned
from evalstats import arena

ODD = (
    World(name="a ring", n_models=6, n_votes=900, n_raters=40, ring=6),
    World(name="a side", n_models=6, n_votes=900, n_raters=40, side=0.5),
    World(name="equal models", n_models=8, n_votes=500, n_raters=30, spread=0.0),
    World(name="parts", n_models=12, n_votes=45, n_raters=4),
)


@pytest.mark.parametrize(
    "world", [*ODD, *(pytest.param(each, marks=pytest.mark.slow) for each in JUDGED)], ids=lambda world: world.name
)
def test_checks_warn_as_those_of_arena(world: World) -> None:
    votes = world.draw(np.random.default_rng(7))
    assert warned(votes) == [line.check for line in arena(votes).checks if line.status == "warning"]


def test_whether_models_are_told_apart_is_asked_where_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equal models ratings predict nothing: a warning, were it not known that none is told apart."""
    votes = ODD[2].draw(np.random.default_rng(8))
    asked: list[object] = []
    monkeypatch.setattr(arena_checks, "arena", lambda frame: asked.append(frame) or arena(frame))
    assert WEIGHED.isdisjoint(warned(votes))
    assert len(asked) == 1
