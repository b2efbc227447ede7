"""Kitagawa's decomposition against its definition, the reference toy and its symmetries."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.stats.standardisation.cell_worlds import kitagawa

# Sums of a few products of numbers near 1.
CLOSED_FORM = 1e-12


def sides(seed: int, n_cells: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_cells)), rng.random(n_cells), rng.dirichlet(np.ones(n_cells)), rng.random(n_cells)


def test_the_reference_toy(golden: Path) -> None:
    toy = json.loads((golden / "py_golden.json").read_text())["kitagawa"]
    found = kitagawa(toy["w_lab"], toy["rate_lab"], toy["w_live"], toy["rate_live"])
    assert [found.lab, found.live, found.live - found.lab] == pytest.approx(
        [toy["lab"], toy["live"], toy["gap"]], abs=CLOSED_FORM
    )
    assert [found.mix, found.behaviour] == pytest.approx([toy["mix"], toy["behaviour"]], abs=CLOSED_FORM)
    assert found.poststratified == pytest.approx(toy["lab_poststratified_to_live_mix"], abs=CLOSED_FORM)
    assert [found.unexplained_live, found.unexplained_lab] == pytest.approx([0.0, 0.0], abs=CLOSED_FORM)


@pytest.mark.parametrize("seed", range(5))
def test_each_part_is_its_definition(seed: int) -> None:
    w_lab, r_lab, w_live, r_live = sides(seed)
    found = kitagawa(w_lab, r_lab, w_live, r_live)
    mix = sum((v - w) * (a + b) / 2 for w, a, v, b in zip(w_lab, r_lab, w_live, r_live, strict=True))
    behaviour = sum((b - a) * (w + v) / 2 for w, a, v, b in zip(w_lab, r_lab, w_live, r_live, strict=True))
    assert [found.mix, found.behaviour] == pytest.approx([mix, behaviour], abs=CLOSED_FORM)
    assert found.mix_terms.sum() == pytest.approx(found.mix, abs=CLOSED_FORM)
    assert found.behaviour_terms.sum() == pytest.approx(found.behaviour, abs=CLOSED_FORM)


@pytest.mark.parametrize("seed", range(5))
def test_swapping_the_sides_turns_every_sign(seed: int) -> None:
    w_lab, r_lab, w_live, r_live = sides(seed)
    there, back = kitagawa(w_lab, r_lab, w_live, r_live), kitagawa(w_live, r_live, w_lab, r_lab)
    assert [back.mix, back.behaviour] == pytest.approx([-there.mix, -there.behaviour], abs=CLOSED_FORM)
    assert back.mix_terms == pytest.approx(-there.mix_terms, abs=CLOSED_FORM)


def test_terms_do_not_hang_on_the_zero_of_the_scale() -> None:
    w_lab, r_lab, w_live, r_live = sides(3)
    plain, moved = kitagawa(w_lab, r_lab, w_live, r_live), kitagawa(w_lab, r_lab + 7, w_live, r_live + 7)
    assert moved.mix_terms == pytest.approx(plain.mix_terms, abs=1e-11)
    assert moved.behaviour_terms == pytest.approx(plain.behaviour_terms, abs=1e-11)


def test_cells_with_equal_rates_can_be_merged() -> None:
    split = kitagawa([0.2, 0.3, 0.5], [0.4, 0.4, 0.9], [0.5, 0.1, 0.4], [0.3, 0.3, 0.7])
    merged = kitagawa([0.5, 0.5], [0.4, 0.9], [0.6, 0.4], [0.3, 0.7])
    assert [split.mix, split.behaviour] == pytest.approx([merged.mix, merged.behaviour], abs=CLOSED_FORM)


def test_cells_of_one_side_alone_are_unexplained() -> None:
    found = kitagawa([0.5, 0.3, 0.2, 0.0], [0.9, 0.7, 0.1, np.nan], [0.4, 0.2, 0.0, 0.4], [0.8, 0.6, np.nan, 0.3])
    common = kitagawa([0.5 / 0.8, 0.3 / 0.8], [0.9, 0.7], [0.4 / 0.6, 0.2 / 0.6], [0.8, 0.6])
    assert [found.mix, found.behaviour] == pytest.approx([common.mix, common.behaviour], abs=CLOSED_FORM)
    # Nopo: the share outside, times how far its rate lies from the rate inside.
    outside_live = 0.4 * (0.3 - (0.4 * 0.8 + 0.2 * 0.6) / 0.6)
    outside_lab = -0.2 * (0.1 - (0.5 * 0.9 + 0.3 * 0.7) / 0.8)
    assert [found.unexplained_live, found.unexplained_lab] == pytest.approx(
        [outside_live, outside_lab], abs=CLOSED_FORM
    )
    explained = found.mix + found.behaviour + found.unexplained_live + found.unexplained_lab
    assert explained == pytest.approx(found.live - found.lab, abs=CLOSED_FORM)
    assert found.mix_terms[2:].tolist() == [0.0, 0.0]
