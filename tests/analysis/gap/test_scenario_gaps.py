"""Gaps by scenario: what they are by hand, how they are judged, and that planted ones are found and others not."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalstats.analysis.gap.result import ScenarioGaps
from evalstats.analysis.gap.scenario_gaps import scenario_gaps_of
from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.errors import CannotAnswerError
from evalstats.stats.many.multiplicity import benjamini_hochberg
from tests.analysis.gap.notes import texts
from tests.analysis.gap.worlds import made_of, names_of, world

SCENARIOS = ("a", "b", "c")


def two_sides(
    lab: np.ndarray,
    live: np.ndarray,
    *,
    seed: int = 0,
    clusters: int = 30,
    users: int = 600,
) -> SharedModels:
    rng = np.random.default_rng(seed)
    models = names_of(lab.shape[0])
    scenarios = SCENARIOS[: lab.shape[1]]
    return made_of(
        world(rng, lab, models=models, scenarios=scenarios, n_clusters=clusters, per_cluster=4, spread=0.15),
        world(
            rng, live, models=models, scenarios=scenarios, n_clusters=users, per_cluster=4, spread=0.15, crossed=False
        ),
    )


@pytest.fixture(scope="module")
def planted() -> tuple[SharedModels, ScenarioGaps]:
    live = np.full((4, 3), 0.5)
    live[1, 2] = 0.1
    made = two_sides(np.full((4, 3), 0.5), live, users=1500)
    return made, scenario_gaps_of(made)


def test_each_gap_is_the_difference_of_two_means(planted: tuple[SharedModels, ScenarioGaps]):
    made, found = planted
    assert made.lab.data is not None
    assert made.live.data is not None
    lab, live = (
        data.outcomes.group_by("model", "scenario").agg(pl.col("score").mean(), pl.len())
        for data in (made.lab.data, made.live.data)
    )
    both = lab.join(live, on=["model", "scenario"], suffix="_live")
    known = {(m, s): (b - a, na, nb) for m, s, a, na, b, nb in both.iter_rows()}
    for row in found.rows:
        gap, n_lab, n_live = known[row.model, row.scenario]
        assert row.estimate == pytest.approx(gap)
        assert (row.n_lab, row.n_live) == (n_lab, n_live)
    for mean in found.means:
        assert mean.estimate == pytest.approx(np.mean([known[m, mean.scenario][0] for m in made.models]))


def test_the_planted_gap_is_found_and_sized_and_no_other(planted: tuple[SharedModels, ScenarioGaps]):
    _, found = planted
    flagged = [row for row in found.rows if row.verdict == "gap"]
    assert [(row.model, row.scenario) for row in flagged] == [("m01", "c")]
    row = flagged[0]
    assert row.conf_low is not None
    assert row.conf_high is not None
    assert row.conf_low < -0.4 < row.conf_high
    assert row.adjusted_low is not None
    assert row.adjusted_low < row.conf_low
    assert row.p_adjusted is not None


def test_p_values_are_adjusted_over_the_table_and_intervals_hold_together(planted: tuple[SharedModels, ScenarioGaps]):
    _, found = planted
    for rows in (found.rows, found.means):
        p = np.array([row.p_value for row in rows], dtype=np.float64)
        np.testing.assert_allclose([row.p_adjusted for row in rows], benjamini_hochberg(p))
        for row in rows:
            assert row.estimate is not None
            assert row.std_error is not None
            assert row.df is not None
            t = stats.t(row.df)
            assert row.p_value == pytest.approx(2 * t.sf(abs(row.estimate / row.std_error)))
            assert row.conf_high == pytest.approx(row.estimate + t.ppf(0.975) * row.std_error)
            assert row.equivalence_high == pytest.approx(row.estimate + t.ppf(0.95) * row.std_error)


def test_swapping_sides_turns_the_gaps(planted: tuple[SharedModels, ScenarioGaps]):
    made, found = planted
    assert made.cells is not None
    assert made.cells.live is not None
    cells = replace(made.cells, lab=made.cells.live, live=made.cells.lab)
    back = scenario_gaps_of(replace(made, cells=cells, lab=made.live, live=made.lab))
    for there, here in zip(found.rows, back.rows, strict=True):
        assert here.estimate == pytest.approx(-(there.estimate or 0.0))
        assert here.std_error == pytest.approx(there.std_error)
        assert here.verdict == there.verdict


def test_aligned_needs_a_margin_and_the_interval_inside_it(planted: tuple[SharedModels, ScenarioGaps]):
    made, found = planted
    assert "aligned" not in {row.verdict for row in (*found.rows, *found.means)}
    wide = scenario_gaps_of(replace(made, margin=0.3))
    for row in wide.rows:
        assert row.equivalence_low is not None
        assert row.equivalence_high is not None
        inside = row.equivalence_low > -0.3 and row.equivalence_high < 0.3
        assert (row.verdict == "aligned") == inside
    assert {row.verdict for row in wide.rows} == {"aligned", "gap"}


def test_several_factors_are_summed_to_the_first():
    rng = np.random.default_rng(1)
    models = names_of(3)
    frames = [
        world(rng, np.full((3, 2), 0.5), models=models, scenarios="ab", n_clusters=12).with_columns(
            language=pl.Series(rng.choice(["en", "de"], size=12 * 2 * 3 * 2))
        )
        for _ in range(2)
    ]
    one = scenario_gaps_of(made_of(frames[0], frames[1]))
    two = scenario_gaps_of(made_of(frames[0], frames[1], factors=("scenario", "language")))
    assert [row.estimate for row in two.rows] == pytest.approx([row.estimate for row in one.rows])
    assert [row.std_error for row in two.rows] == pytest.approx([row.std_error for row in one.rows])
    assert two.factor == "scenario"
    assert any("mix of language" in text for text in texts(two.notes))


def test_few_users_in_a_cell_make_it_invalid_and_the_rest_stands():
    made = two_sides(np.full((3, 2), 0.5), np.full((3, 2), 0.5))
    assert made.live.data is not None
    assert made.cells is not None
    live = made.live.data.outcomes.with_columns(cluster=pl.col("user"))
    few = (pl.col("model") == "m01") & (pl.col("scenario") == "b")
    kept = pl.concat([live.filter(~few), live.filter(few).head(3)])
    lab = made.lab.data.outcomes.with_columns(cluster=pl.col("env_id")) if made.lab.data else None
    assert lab is not None
    found = scenario_gaps_of(made_of(lab, kept))
    invalid = [row for row in found.rows if row.verdict == "invalid"]
    assert [(row.model, row.scenario) for row in invalid] == [("m01", "b")]
    assert "clusters are too few" in str(invalid[0].reason)
    assert invalid[0].estimate is not None
    assert invalid[0].conf_low is None
    assert all(row.conf_low is not None for row in found.rows if row.verdict != "invalid")


def test_a_scenario_of_one_side_is_named():
    rng = np.random.default_rng(0)
    models = names_of(2)
    lab = world(rng, np.full((2, 3), 0.5), models=models, scenarios="abc", n_clusters=10)
    live = world(rng, np.full((2, 3), 0.5), models=models, scenarios="abd", n_clusters=10)
    found = scenario_gaps_of(made_of(lab, live))
    assert [row.scenario for row in found.means] == ["a", "b"]
    assert "c: only the lab has it" in found.notes[0].text
    assert "d: only the live side has it" in found.notes[1].text


def test_all_alike_in_a_cell_still_has_an_error():
    rng = np.random.default_rng(0)
    models = names_of(2)
    lab = world(rng, np.array([[1.5, 0.5], [0.5, 0.5]]), models=models, scenarios="ab", n_clusters=10)
    live = world(rng, np.array([[1.5, 0.5], [0.5, 0.5]]), models=models, scenarios="ab", n_clusters=10)
    found = scenario_gaps_of(made_of(lab, live))
    sure = found.rows[0]
    assert sure.estimate == 0.0
    assert sure.std_error is not None
    assert sure.std_error > 0.05
    assert any("one success and one failure more" in text for text in texts(found.notes))


def test_what_cannot_be_told_is_said():
    rng = np.random.default_rng(0)
    frames = [
        world(rng, np.full((2, 2), 0.5), models=names_of(2), scenarios=names, n_clusters=6) for names in ("ab", "xy")
    ]
    with pytest.raises(CannotAnswerError, match="share no level"):
        scenario_gaps_of(made_of(frames[0], frames[1]))


def simulated(draws: int, *, seed: int, clusters: int = 30, interaction: float = 0.0) -> dict[str, float]:
    """Coverage of raw and mean gaps, and the share of false findings where one gap of 40 is planted."""
    rng = np.random.default_rng(seed)
    parts: dict[str, list[float]] = {"raw": [], "mean": [], "false": [], "found": []}
    for _ in range(draws):
        lab = rng.uniform(0.35, 0.65, (8, 1)) + rng.uniform(-0.08, 0.08, (1, 3))
        truth = rng.normal(0.0, interaction, lab.shape) if interaction else np.zeros(lab.shape)
        if not interaction:
            truth[2, 1] = -0.3
        made = two_sides(lab, lab + truth, seed=int(rng.integers(2**31)), clusters=clusters)
        found = scenario_gaps_of(made)
        rows, flat = found.rows, truth.ravel()
        parts["raw"] += [
            float(abs(r.estimate - t) <= r.conf_high - r.estimate) for r, t in zip(rows, flat, strict=True)
        ]
        parts["mean"] += [
            float(r.conf_low <= t <= r.conf_high) for r, t in zip(found.means, truth.mean(axis=0), strict=True)
        ]
        gaps = [(row.verdict == "gap", bool(t)) for row, t in zip(rows, flat, strict=True)]
        parts["false"].append(sum(g and not t for g, t in gaps) / max(1, sum(g for g, _ in gaps)))
        parts["found"].append(float(any(g and t for g, t in gaps)))
    return {name: float(np.mean(values)) for name, values in parts.items()}


def test_intervals_cover_and_false_findings_are_few():
    seen = simulated(15, seed=3)
    # 360 cells of 15 tables that are not independent: far from nominal is a fault.
    assert seen["raw"] > 0.91
    assert seen["false"] < 0.2
    assert seen["found"] > 0.6


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "interaction"), [(30, 0.0), (30, 0.05), (10, 0.0), (10, 0.05)])
def test_many_tables(clusters: int, interaction: float):
    draws = 150
    seen = simulated(draws, seed=5, clusters=clusters, interaction=interaction)
    assert 0.935 < seen["raw"] < 0.965
    assert 0.93 < seen["mean"] < 0.97
    # The share of false findings of a table is 0 or near 1: its error is at most half over the root of the draws.
    assert seen["false"] < 0.05 + 3 * 0.22 / np.sqrt(draws)
