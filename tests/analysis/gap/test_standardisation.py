"""The decomposition of a prepared pair of sides: planted shifts, cells that a side lacks, mixes from outside."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from evalstats.analysis.gap.result import Decomposition
from evalstats.analysis.gap.shared_models import SharedCells, SharedModels
from evalstats.analysis.gap.standardisation import decomposition_of
from evalstats.analysis.result import Estimate
from evalstats.errors import CannotAnswerError
from evalstats.schema.plan import LiveMix
from evalstats.stats.standardisation import PARTS, CellTable, cell_table
from tests.analysis.gap.notes import texts
from tests.analysis.gap.worlds import about, shared_of, side
from tests.stats.standardisation.cell_worlds import LAB_MIX, CellWorld, kitagawa

SCENARIOS = ("ask", "fix", "plan", "search", "write")
ADDS_UP = 1e-12


def made_of(
    lab: CellTable,
    live: CellTable | None,
    *,
    levels: Sequence[tuple[str, ...]] = tuple((name,) for name in SCENARIOS),
    factors: tuple[str, ...] = ("scenario",),
    same_scale: bool = True,
    mix: LiveMix | None = None,
) -> SharedModels:
    models = tuple(f"model-{place}" for place in range(lab.n_models))
    cells = SharedCells(factors=factors, levels=tuple(levels), lab=lab, live=live)
    one = side(np.zeros(len(models)), models=models, about=about(low=0.0, high=1.0))
    return shared_of(one, one, same_scale=same_scale, cells=cells, mix=mix)


def rows_of(rows: Sequence[tuple[int, int, int, float]], n_models: int, n_cells: int) -> CellTable:
    """One outcome a row: cluster, model, cell, score."""
    cluster, model, cell, score = zip(*rows, strict=True)
    return cell_table(cluster, model, cell, np.ones(len(rows)), score, n_models=n_models, n_cells=n_cells)


def decomposed(world: CellWorld, seed: int = 0) -> Decomposition:
    lab, live = world.draw(seed)
    return decomposition_of(made_of(lab, live))


def value(part: Estimate | None) -> float:
    assert part is not None
    assert part.estimate is not None
    return part.estimate


def ends(part: Estimate) -> tuple[float, float]:
    assert part.conf_low is not None
    assert part.conf_high is not None
    return part.conf_low, part.conf_high


def excludes_zero(part: Estimate) -> bool:
    low, high = ends(part)
    return low > 0 or high < 0


def test_parts_add_up_for_each_model_and_their_mean() -> None:
    found = decomposed(CellWorld())
    for row in (found.overall, *found.rows):
        assert value(row.mix) + value(row.behaviour) == pytest.approx(value(row.total), abs=ADDS_UP)
        assert value(row.live) - value(row.lab) == pytest.approx(value(row.total), abs=ADDS_UP)
        assert row.unexplained is None
        low, high = ends(row.mix)
        assert low < value(row.mix) < high
    means = np.mean([value(row.mix) for row in found.rows])
    assert value(found.overall.mix) == pytest.approx(means, abs=ADDS_UP)
    assert sum(value(cell.mix) for cell in found.cells) == pytest.approx(value(found.overall.mix), abs=ADDS_UP)
    assert sum(value(cell.behaviour) for cell in found.cells) == pytest.approx(
        value(found.overall.behaviour), abs=ADDS_UP
    )
    assert [row.model for row in found.rows] == ["model-0", "model-1", "model-2"]


def test_a_row_is_kitagawa_of_the_models_own_shares_and_rates() -> None:
    lab, live = CellWorld().draw(1)
    found = decomposition_of(made_of(lab, live))
    (n_lab, t_lab), (n_live, t_live) = lab.sums(), live.sums()
    for model, row in enumerate(found.rows):
        by_hand = kitagawa(
            n_lab[model] / n_lab[model].sum(),
            t_lab[model] / n_lab[model],
            n_live[model] / n_live[model].sum(),
            t_live[model] / n_live[model],
        )
        told = [value(part) for part in (row.mix, row.behaviour, row.poststratified)]
        assert told == pytest.approx([by_hand.mix, by_hand.behaviour, by_hand.poststratified], abs=ADDS_UP)


def test_a_planted_mix_is_found_as_mix_and_not_as_behaviour() -> None:
    found = decomposed(CellWorld(n_lab=400, items=1, n_users=1500, shift=0.0))
    assert excludes_zero(found.overall.mix)
    assert value(found.overall.mix) == pytest.approx(CellWorld(shift=0.0).truth()[3, 3], abs=0.05)
    assert not excludes_zero(found.overall.behaviour)


def test_a_planted_behaviour_is_found_as_behaviour_and_not_as_mix() -> None:
    found = decomposed(CellWorld(n_lab=400, items=1, n_users=1500, live_mix=tuple(LAB_MIX), shift=-0.8))
    assert excludes_zero(found.overall.behaviour)
    assert not excludes_zero(found.overall.mix)


def test_nothing_is_found_where_nothing_is_planted() -> None:
    world = CellWorld(n_lab=150, items=1, live_mix=tuple(LAB_MIX), shift=0.0, sd=0.0)
    alarms: list[list[bool]] = []
    for seed in range(30):
        found = decomposed(world, seed).overall
        # A lab drawn at random has other shares than its source: that difference is in its mix, and is no alarm.
        shares = world.draw(seed)[0].sums()[0][0]
        mix = world.truth_given(shares / shares.sum())[3, PARTS.index("mix")]
        missed = not found.mix.conf_low <= mix <= found.mix.conf_high
        alarms.append([missed, excludes_zero(found.behaviour)])
    # 5% of 30 is 1.5; 7 or more has a probability below 0.001.
    assert max(np.sum(alarms, axis=0)) < 7


def test_names_and_order_of_entries_do_not_matter() -> None:
    lab, live = CellWorld().draw(2)
    at = np.random.default_rng(0).permutation(live.n.size)
    moved = dataclasses.replace(
        live,
        cluster=(live.cluster[at] * 7 + 3),
        model=live.model[at],
        cell=live.cell[at],
        n=live.n[at],
        total=live.total[at],
    )
    one, other = decomposition_of(made_of(lab, live)), decomposition_of(made_of(lab, moved))
    for first, second in zip(one.rows, other.rows, strict=True):
        assert ends(first.behaviour) == pytest.approx(ends(second.behaviour), abs=1e-12)


def test_cells_that_a_side_lacks_are_named_and_unexplained() -> None:
    rng = np.random.default_rng(4)
    lab = [(i, 0, i % 3, float(rng.random() < 0.7)) for i in range(60)]
    live = [(i, 0, (1, 2, 3)[i % 3], float(rng.random() < 0.5)) for i in range(90)]
    found = decomposition_of(made_of(rows_of(lab, 1, 4), rows_of(live, 1, 4), levels=[("a",), ("b",), ("c",), ("d",)]))
    assert [cell.status for cell in found.cells] == ["live never brings", "covered", "covered", "lab never covers"]
    row = found.rows[0]
    assert value(row.mix) + value(row.behaviour) + value(row.unexplained) == pytest.approx(
        value(row.total), abs=ADDS_UP
    )
    assert found.weighting is not None
    assert found.weighting.uncovered == pytest.approx(1 / 3)
    assert found.cells[3].mix is None
    assert found.cells[3].lab_rate is None


def test_a_model_that_lacks_a_cell_is_compared_on_the_cells_it_has() -> None:
    rng = np.random.default_rng(5)
    lab = [(i, m, i % 3, float(rng.random() < 0.7)) for i in range(60) for m in range(2)]
    live = [(i, m, i % (3 - m), float(rng.random() < 0.5)) for i in range(90) for m in range(2)]
    found = decomposition_of(made_of(rows_of(lab, 2, 3), rows_of(live, 2, 3), levels=[("a",), ("b",), ("c",)]))
    assert found.rows[0].unexplained is None
    assert found.rows[1].unexplained is not None
    assert found.overall.unexplained is not None
    assert any("model-1 in c" in warning for warning in texts(found.notes))
    assert [cell.status for cell in found.cells] == ["covered"] * 3


def test_a_model_without_a_common_cell_is_left_out_of_the_mean() -> None:
    lab = [(i, m, i % 2, float((i + m) % 3 > 0)) for i in range(40) for m in range(2)]
    live = [(i, m, 2 if m else i % 2, float(i % 3 > 0)) for i in range(40) for m in range(2)]
    found = decomposition_of(made_of(rows_of(lab, 2, 3), rows_of(live, 2, 3), levels=[("a",), ("b",), ("c",)]))
    assert found.rows[1].reason == "model-1 has no cell with outcomes on both sides"
    assert found.rows[1].mix.estimate is None
    assert value(found.overall.mix) == pytest.approx(value(found.rows[0].mix))


def test_few_clusters_on_a_side_give_no_interval() -> None:
    rng = np.random.default_rng(6)
    lab = [(i, 0, i % 2, float(rng.random() < 0.7)) for i in range(40)]
    live = [(i % 4, 0, i % 2, float(rng.random() < 0.5)) for i in range(40)]
    row = decomposition_of(made_of(rows_of(lab, 1, 2), rows_of(live, 1, 2), levels=[("a",), ("b",)])).rows[0]
    assert row.lab.conf_low is not None
    assert row.mix.conf_low is None
    assert row.mix.reason is not None
    assert row.mix.reason.startswith("live: 4 clusters are too few")


def test_outcomes_that_are_all_equal_have_no_interval_of_width_zero() -> None:
    lab = [(i, 0, i % 2, 1.0) for i in range(40)]
    live = [(i, 0, i % 2, float(i % 3 > 0)) for i in range(40)]
    found = decomposition_of(made_of(rows_of(lab, 1, 2), rows_of(live, 1, 2), levels=[("a",), ("b",)]))
    assert found.rows[0].lab.conf_low is None
    assert found.rows[0].lab.reason is not None
    assert any("all outcomes are equal for model-0" in warning for warning in texts(found.notes))


def test_several_factors_share_the_mix() -> None:
    rng = np.random.default_rng(7)
    levels = [(a, b) for a in ("ask", "fix") for b in ("ideal", "other")]
    ease = np.array([0.9, 0.7, 0.5, 0.2])
    mixes = ([0.4, 0.2, 0.3, 0.1], [0.1, 0.4, 0.1, 0.4])
    both = []
    for mix in mixes:
        cell = rng.choice(4, 300, p=mix)
        both.append([(i, m, int(cell[i]), float(rng.random() < ease[cell[i]])) for i in range(300) for m in range(2)])
    made = made_of(rows_of(both[0], 2, 4), rows_of(both[1], 2, 4), levels=levels, factors=("scenario", "user_kind"))
    found = decomposition_of(made)
    for row in (found.overall, *found.rows):
        assert [name for name, _ in row.factors] == ["scenario", "user_kind"]
        assert sum(value(part) for _, part in row.factors) == pytest.approx(value(row.mix), abs=ADDS_UP)
    assert excludes_zero(dict(found.overall.factors)["user_kind"])


def test_a_mix_from_outside_gives_the_score_it_leads_to_expect() -> None:
    lab, _ = CellWorld().draw(3)
    mix = {"ask": 0.5, "fix": 0.3, "unheard": 0.2}
    found = decomposition_of(made_of(lab, None, mix=LiveMix(factor="scenario", shares=mix, source="a survey")))
    n, total = lab.sums()
    rate = total / n
    by_hand = (0.5 * rate[:, 0] + 0.3 * rate[:, 1]) / 0.8
    assert [value(row.poststratified) for row in found.rows] == pytest.approx(by_hand.tolist(), abs=ADDS_UP)
    assert found.rows[0].poststratified is not None
    assert found.rows[0].poststratified.conf_low is not None
    assert found.rows[0].live.estimate is None
    assert found.rows[0].behaviour.reason is not None
    assert found.mix_source == "a survey"
    assert found.weighting is not None
    assert found.weighting.uncovered == pytest.approx(0.2)
    assert dict(zip([cell.cell for cell in found.cells], [cell.status for cell in found.cells], strict=True)) == {
        "ask": "covered", "fix": "covered", "plan": "live never brings", "search": "live never brings",
        "unheard": "lab never covers", "write": "live never brings",
    }  # fmt: skip


def test_a_mix_from_outside_stands_for_the_live_shares_where_live_rates_are_known() -> None:
    lab, live = CellWorld().draw(3)
    mix = dict(zip(SCENARIOS, [0.5, 0.2, 0.1, 0.1, 0.1], strict=True))
    found = decomposition_of(made_of(lab, live, mix=LiveMix(factor="scenario", shares=mix)))
    n, total = live.sums()
    by_hand = (total / n) @ np.array(list(mix.values()))
    assert [value(row.live) for row in found.rows] == pytest.approx(by_hand.tolist(), abs=ADDS_UP)
    assert value(found.overall.mix) + value(found.overall.behaviour) == pytest.approx(
        value(found.overall.total), abs=ADDS_UP
    )
    assert found.cells[0].live_share_low is None


def test_live_outcomes_on_another_scale_still_give_the_live_mix() -> None:
    lab, live = CellWorld().draw(3)
    found = decomposition_of(made_of(lab, live, same_scale=False))
    whole = decomposition_of(made_of(lab, live))
    assert found.overall.behaviour.estimate is None
    assert value(found.overall.poststratified) == pytest.approx(value(whole.overall.poststratified), abs=ADDS_UP)


def test_what_cannot_be_answered_is_named() -> None:
    lab, live = CellWorld().draw(0)
    with pytest.raises(CannotAnswerError, match="mix is unknown"):
        decomposition_of(made_of(lab, None))
    apart = [(i, 0, 0, 1.0) for i in range(9)], [(i, 0, 1, 1.0) for i in range(9)]
    with pytest.raises(CannotAnswerError, match="the lab has a, live b"):
        decomposition_of(made_of(rows_of(apart[0], 1, 2), rows_of(apart[1], 1, 2), levels=[("a",), ("b",)]))
    nothing = dataclasses.replace(made_of(lab, live), cells=None, no_cells_reason="they share no factor")
    with pytest.raises(CannotAnswerError, match="no factor"):
        decomposition_of(nothing)
