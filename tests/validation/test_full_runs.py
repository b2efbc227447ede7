"""How wide intervals are for counting runs, as stored, and the draws that the rates rest on."""

import re

import numpy as np

from dev.validation.full_runs import ITEM_SD, draw
from evalstats.datasets.validation import load_validation

NOTE = re.compile(
    r"(\d+) items, (\d+) (runs|judges).* of sd (\S+?)(, a third missing)?: [\d., ]+, ([\d.]+) and ([\d.]+) times as wide"
)


def test_runs_that_do_not_differ_cost_little_width() -> None:
    study = load_validation("full-runs")
    found = [match for note in study.notes if (match := NOTE.match(note))]
    same = [match for match in found if float(match[4]) == 0.0]
    assert len(found) > 20
    assert len(same) > 9
    for match in same:
        assert 1.0 <= float(match[6]) <= 1.35, match[0]
        assert float(match[7]) <= 1.7, match[0]
    assert all("176 of 176" in note for note in study.notes[-2:])


def test_the_draws_are_those_of_the_design() -> None:
    rng = np.random.default_rng(0)
    a, b = draw(rng, items=40_000, runs=3, run_sd=0.0, missing=1 / 3)
    assert np.isnan(a).mean() == np.clip(np.isnan(a).mean(), 0.325, 0.342)
    level = ITEM_SD * rng.standard_normal(400_000)
    assert abs(np.nanmean(a) - 0.5) < 0.01
    both = np.nanmean(a * b)
    assert abs(both - np.mean((1 / (1 + np.exp(-level))) ** 2)) < 0.01
    moved, _ = draw(rng, items=2_000, runs=60, run_sd=0.5)
    assert 0.08 < moved.mean(axis=0).std() < 0.14
