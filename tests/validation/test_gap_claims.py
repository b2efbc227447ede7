"""What is claimed of lab and live scores, decided on arrays: as `gap` itself, and held against the truth."""

from dataclasses import replace

import numpy as np
import pytest

from dev.validation import gap_claims
from dev.validation.gap_claims import AGREED, INTERVAL, LEVEL, MODEL, REGRESSION, SHARE, VERDICT, WORLDS, errors
from evalstats.simulate.lab_live import draw_lab_live
from evalstats.simulate.lab_live_world import lab_live_truth, make_lab_live_world

ONE = gap_claims.World(name="one gap", options={"gaps": {"model-03": -0.15}})
VERSIONS = gap_claims.World(name="items of many versions", options={"crossed": True}, n_items=60, models=8)


# One of each kind of data; of more models, and of other true scores, where there is time.
QUICK = {"no gap, 8 models", "no gap, votes", "one gap", "items of many versions"}


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(world, id=world.name, marks=() if world.name in QUICK else pytest.mark.slow)
        for world in (*WORLDS, ONE, VERSIONS)
    ],
)
def test_the_decision_on_arrays_is_that_of_gap(world: gap_claims.World) -> None:
    """Every verdict and the interval of every model are compared, on outcomes and on votes."""
    found = gap_claims.replicate(np.random.default_rng(5), 1, world=world)
    assert (found[AGREED].errors, found[AGREED].total) == (1.0, 1.0)


def held_against(world: gap_claims.World, **changes: object) -> dict[str, float]:
    """Errors of one data set, with rows of the result replaced."""
    made = make_lab_live_world(world.design, seed=4)
    found = gap_claims.decided(draw_lab_live(made))
    if changes:
        rows = tuple(replace(row, **changes) for row in found.calibration.rows)
        found = found._replace(calibration=replace(found.calibration, rows=rows), verdict="gap")
    return dict(errors(found, lab_live_truth(made)))


def test_a_claim_counts_where_there_is_no_gap_and_not_where_there_is_one() -> None:
    none, one = WORLDS[0], ONE
    quiet = held_against(none)
    assert (quiet[MODEL], quiet[SHARE], quiet[VERDICT], quiet[LEVEL]) == (0.0, 0.0, 0.0, 0.0)
    loud = held_against(none, verdict="gap")
    assert (loud[MODEL], loud[SHARE], loud[VERDICT]) == (1.0, 1.0, 1.0)
    # Of 15 models called gaps one is, and nothing is promised of the verdict over all.
    planted = held_against(one, verdict="gap")
    assert (planted[MODEL], planted[SHARE]) == (1.0, pytest.approx(14 / 15))
    assert VERDICT not in planted


def test_intervals_are_held_against_each_models_own_gap() -> None:
    assert held_against(WORLDS[0], conf_low=-1.0, conf_high=1.0)[INTERVAL] == 0.0
    assert held_against(WORLDS[0], conf_low=0.5, conf_high=1.0)[INTERVAL] == 1.0
    assert INTERVAL not in held_against(WORLDS[0], conf_low=None, conf_high=None)


def test_least_squares_is_the_textbooks() -> None:
    """One model far off the line, the others on it: with small live errors it is beyond, with large ones not."""
    from evalstats.stats.errors_in_variables.scores import LabLiveScores

    lab = np.arange(10.0)
    live = 2.0 * lab + np.where(lab == 4.0, 3.0, 0.0)
    slope, intercept = np.linalg.lstsq(np.stack([lab, np.ones(10)], axis=1), live, rcond=None)[0]
    residuals = np.abs(live - intercept - slope * lab)
    for sd in (0.2, 1.0, 3.0):
        scores = LabLiveScores(lab=lab, live=live, lab_covariance=np.eye(10), live_covariance=sd**2 * np.eye(10))
        assert gap_claims._beyond(scores).tolist() == (residuals > 1.96 * sd).tolist()
    assert REGRESSION in held_against(WORLDS[0])
