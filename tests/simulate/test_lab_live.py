"""Simulated lab and live worlds: what is drawn has the margins that the truth names, planted things are there, others not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from evalstats.datasets import rutbench_live_mix
from evalstats.errors import InputError
from evalstats.loaders.declarations import read_aliases
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData, combine
from evalstats.simulate.lab_live import LabLiveDraw, draw_lab_live, simulate_lab_live, write_lab_live
from evalstats.simulate.lab_live_world import (
    LabLiveDesign,
    LabLiveTruth,
    LabLiveWorld,
    lab_live_truth,
    logit_for_mean,
    make_lab_live_world,
    mean_of_logits,
)

EXACT = 1e-9  # numbers that are solved for to the precision of floats
# Differences of means and truths in standard errors: among some 100 of them 4.5 is passed once in 1,500 times.
FAR = 4.5
MIX = rutbench_live_mix().shares


def world_of(**options: Any) -> LabLiveWorld:
    return make_lab_live_world(LabLiveDesign(**{"n_models": 6, **options}))


def draws_of(world: LabLiveWorld, n: int) -> list[LabLiveDraw]:
    return [draw_lab_live(world, draw=draw) for draw in range(n)]


def off(samples: np.ndarray, truth: np.ndarray) -> float:
    """Largest distance of mean and truth, in standard errors of the mean."""
    spread = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return float(np.abs((samples.mean(axis=0) - truth) / spread).max())


@pytest.mark.parametrize("sd", [0.0, 0.5, 1.5, 3.0])
def test_quadrature_is_the_integral(sd: float) -> None:
    def integral(logit: float) -> float:
        return quad(lambda x: expit(logit + sd * x) * norm.pdf(x), -12.0, 12.0, epsabs=1e-12)[0]

    logits = np.array([-2.0, 0.0, 1.3])
    # 61 nodes; at sd 3 the curve is steep against them.
    assert mean_of_logits(logits, sd) == pytest.approx(
        [integral(each) for each in logits], abs=1e-9 if sd < 2 else 1e-6
    )


def test_solved_logits_give_the_asked_means() -> None:
    wanted = np.array([[0.01, 0.2], [0.5, 0.999]])
    assert mean_of_logits(logit_for_mean(wanted, 1.2), 1.2) == pytest.approx(wanted, abs=EXACT)


@pytest.mark.parametrize("crossed", [False, True])
def test_margins_of_outcomes_are_the_truth(crossed: bool) -> None:
    """Means by model and scenario of 60 samples, on both sides, the mix shifted and a gap planted."""
    options = {"crossed": True, "n_items": 30} if crossed else {"n_items": 210}
    world = world_of(live_mix=MIX, gaps={"model-02": -0.1}, behaviour_shift=-0.05, n_users=60, **options)
    truth, draws = lab_live_truth(world), draws_of(world, 60)
    assert off(np.array([draw.lab_success.mean(axis=0) for draw in draws]), truth.lab) < FAR
    cells = [[draw.lab_success[draw.lab_scenario == s].mean(axis=0) for s in range(7)] for draw in draws]
    assert off(np.array(cells).swapaxes(1, 2).reshape(60, -1), truth.lab_cells.ravel()) < FAR
    live = np.array([[draw.success[draw.model == m].mean() for m in range(6)] for draw in draws])
    assert off(live, truth.live) < FAR
    shares = np.array([np.bincount(draw.scenario, minlength=7) / draw.scenario.size for draw in draws])
    assert off(shares, truth.live_mix) < FAR


def test_shares_of_votes_are_bradley_terrys() -> None:
    """Whatever ties and likings: wins plus half the ties of each pair over 60 samples."""
    world = world_of(live="comparisons", gaps={"model-02": -0.8}, n_users=60, sd_user_model=1.0, tie=0.8)
    strengths = lab_live_truth(world).live
    shares = np.empty((60, 15))
    pairs = list(zip(*np.triu_indices(6, 1), strict=True))
    for r, draw in enumerate(draws_of(world, 60)):
        worth = np.array([1.0, 0.0, 0.5])[draw.outcome]
        for k, (i, j) in enumerate(pairs):
            ahead = worth[(draw.first == i) & (draw.second == j)]
            behind = worth[(draw.first == j) & (draw.second == i)]
            shares[r, k] = np.concatenate([ahead, 1.0 - behind]).mean()
    assert off(shares, np.array([expit(strengths[i] - strengths[j]) for i, j in pairs])) < FAR
    assert 0.1 < np.mean(draw_lab_live(world).outcome == 2) < 0.4


def test_errors_of_the_scores_are_what_samples_vary_by() -> None:
    """Standard deviations of 150 samples against the mean standard error: within a fifth on both sides."""
    world = world_of(n_users=80, n_live=2000, sd_user_model=0.8)
    scores = [draw.scores() for draw in draws_of(world, 150)]
    for side, covariance in (("lab", "lab_covariance"), ("live", "live_covariance")):
        spread = np.array([getattr(each, side) for each in scores]).std(axis=0, ddof=1)
        errors = np.sqrt(np.mean([np.diag(getattr(each, covariance)) for each in scores], axis=0))
        assert (spread / errors).mean() == pytest.approx(1.0, abs=0.2)


def test_with_the_defaults_nothing_is_wrong() -> None:
    for live in ("outcomes", "comparisons"):
        truth = lab_live_truth(world_of(n_models=15, live=live))
        assert np.abs(truth.calibrated).max() < EXACT
        assert np.abs(truth.deleted).max() < EXACT
        assert truth.tau == pytest.approx(0.0, abs=EXACT)
        assert truth.slope == pytest.approx(1.0, abs=EXACT)
        assert np.array_equal(truth.lab_mix, truth.live_mix)
    assert (
        lab_live_truth(world_of(n_models=15)).to_frame().select("total", "mix", "behaviour").to_numpy()
    ) == pytest.approx(0.0, abs=EXACT)


def test_the_truth_of_what_is_planted() -> None:
    """Parts against their definitions, cell by cell."""
    planted = {("model-03", "impatience_and_hostility"): -0.2}
    world = world_of(live_mix=MIX, gaps={"model-02": -0.1}, scenario_gaps=planted, behaviour_shift=-0.05)
    truth = lab_live_truth(world)
    assert truth.live_cells is not None
    change = truth.live_cells - truth.lab_cells
    expected = np.full((6, 7), -0.05)
    expected[1] -= 0.1
    expected[2, 6] -= 0.2
    assert change == pytest.approx(expected, abs=EXACT)
    for m in range(6):
        lab = sum(w * p for w, p in zip(truth.lab_mix, truth.lab_cells[m], strict=True))
        live = sum(w * p for w, p in zip(truth.live_mix, truth.live_cells[m], strict=True))
        behaviour = sum((v + w) / 2 * d for v, w, d in zip(truth.live_mix, truth.lab_mix, change[m], strict=True))
        drop = (
            sum(MIX[s] * p for s, p in zip(truth.scenarios[1:], truth.lab_cells[m, 1:], strict=True))
            / (1 - MIX["stable"])
            - truth.lab_cells[m, 0]
        )
        assert _row(truth, m) == pytest.approx(
            {"lab": lab, "live": live, "total": live - lab, "behaviour": behaviour, "mix": live - lab - behaviour,
             "poststratified": float(truth.lab_cells[m] @ truth.live_mix), "drop": drop}, abs=EXACT,
        )  # fmt: skip


def _row(truth: LabLiveTruth, m: int) -> dict[str, float]:
    names = ("lab", "live", "total", "behaviour", "mix", "poststratified", "drop")
    return truth.to_frame().select(names).row(m, named=True)


def test_deleted_gaps_are_distances_from_the_line_of_the_others() -> None:
    truth = lab_live_truth(world_of(n_models=9, tau=0.03, gaps={"model-04": 0.08}))
    for m in range(9):
        x, z = np.delete(truth.lab, m), np.delete(truth.live, m)
        slope, intercept = np.polyfit(x, z, 1)
        assert truth.deleted[m] == pytest.approx(truth.live[m] - intercept - slope * truth.lab[m], abs=1e-8)
    # One mix on both sides: the line is known, and what is off it was planted.
    assert (truth.slope, truth.intercept) == pytest.approx((1.0, 0.0), abs=EXACT)
    assert truth.calibrated == pytest.approx(truth.planted, abs=EXACT)


def test_a_scenario_that_the_lab_never_covers_leaves_no_parts() -> None:
    truth = lab_live_truth(world_of(lab_mix={"stable": 0.5, "goal_switching": 0.5}, live_mix=MIX))
    assert (truth.mix, truth.behaviour, truth.poststratified) == (None, None, None)
    assert truth.total is not None


def test_same_seed_same_data_and_each_thing_has_a_stream_of_its_own() -> None:
    def both(**options: Any) -> tuple[EvalData, EvalData]:
        made = simulate_lab_live(6, n_users=40, **options)
        return made.lab, made.live

    for one, other in zip(both(seed=3), both(seed=3), strict=True):
        assert one.outcomes.equals(other.outcomes)
    lab, live = both(seed=3)
    assert not lab.outcomes.equals(both(seed=4)[0].outcomes)
    again = both(seed=3, draw=1)
    assert not lab.outcomes.equals(again[0].outcomes)
    assert not live.outcomes.equals(again[1].outcomes)
    # A planted gap changes nothing in the lab, and a further model of the lab no other model.
    assert both(seed=3, gaps={"model-01": -0.2})[0].outcomes.equals(lab.outcomes)
    more = both(seed=3, n_lab_only=2)
    assert more[0].outcomes.filter(~pl.col("model").str.starts_with("lab-only")).equals(lab.outcomes)
    assert more[1].outcomes.equals(live.outcomes)


def test_tables_hold_what_was_drawn() -> None:
    made = simulate_lab_live(6, n_users=50, live_mix=MIX, n_lab_only=1, aliases=True)
    lab, live = made.lab.outcomes, made.live.outcomes
    assert lab.height == 7 * 420
    assert live.height == 50 * 15
    assert lab["setting"].unique().to_list() == ["lab"]
    assert live["setting"].unique().to_list() == ["live"]
    assert live["timestamp"].is_sorted()
    assert set(made.truth.aliases) == set(lab["model"]) - {"lab-only-01"}
    assert set(made.truth.aliases.values()) == set(live["model"])
    for side in (made.lab, made.live):
        assert side.runs["simulated"].str.starts_with("by evalstats").all()
        assert side.outcomes.filter((pl.col("scenario") == "stable") != (pl.col("user_kind") == "ideal")).is_empty()
    ideal = (live["scenario"] == "stable").mean()
    assert ideal == pytest.approx(MIX["stable"], abs=0.06)
    assert (lab["scenario"] == "stable").mean() == pytest.approx(1 / 7, abs=0.002)


@pytest.mark.parametrize("live", ["outcomes", "comparisons", "aggregates"])
def test_both_sides_fit_into_one_set_of_tables(live: Any) -> None:
    made = simulate_lab_live(6, n_users=30, live=live)
    whole = combine([made.lab, made.live])
    for table in ("outcomes", "comparisons", "aggregates", "runs"):
        assert whole.table(table).height == made.lab.table(table).height + made.live.table(table).height


def test_published_numbers_are_those_of_the_outcomes() -> None:
    shown = simulate_lab_live(6, n_users=50, n_lab_only=1, live="aggregates")
    rows = simulate_lab_live(6, n_users=50, n_lab_only=1)
    for side in ("lab", "live"):
        table: pl.DataFrame = getattr(shown, side).aggregates
        means = dict(getattr(rows, side).outcomes.group_by("model").agg(pl.col("score").mean()).iter_rows())
        assert dict(table.select("model", "estimate").iter_rows()) == pytest.approx(means)
        assert (table["std_error"] > 0).all()
        assert table["setting"].unique().to_list() == [side]


@pytest.mark.parametrize("crossed", [False, True])
def test_files_read_back_as_what_was_simulated(tmp_path: Path, crossed: bool) -> None:
    options: Any = {"n_users": 30, "n_items": 14, "crossed": crossed, "aliases": True, "seed": 2}
    made = simulate_lab_live(6, **options)
    paths = write_lab_live(tmp_path, 6, **options)
    assert all(path.is_file() for path in paths)
    for side in ("lab", "live"):
        data = read(tmp_path / side, strict=True)
        simulated: pl.DataFrame = getattr(made, side).outcomes
        columns = [
            "benchmark",
            "model",
            "item",
            "variant",
            "scenario",
            "user_kind",
            "user",
            "session",
            "metric",
            "score",
        ]
        columns += ["setting", "timestamp", "trial", "status"]
        assert data.outcomes.select(columns).equals(simulated.select(columns))
        assert data.metrics["kind"].to_list() == ["binary"]
    assert read(tmp_path / "live").runs["dependence"].to_list() == [["user"]] * 6
    assert read_aliases(tmp_path / "aliases.toml") == made.truth.aliases
    told = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    assert [row["live"] for row in told["models"]] == made.truth.live.tolist()


def test_votes_read_back_as_what_was_simulated(tmp_path: Path) -> None:
    made = simulate_lab_live(6, live="comparisons", n_users=30)
    write_lab_live(tmp_path, 6, live="comparisons", n_users=30)
    votes = read(tmp_path / "live", strict=True).comparisons
    columns = ["battle", "model_a", "model_b", "outcome", "rater", "scenario", "timestamp", "setting", "status"]
    assert votes.select(columns).equals(made.live.comparisons.select(columns))
    assert votes["simulated"].unique().to_list() == ["by evalstats, seed 0"]


def test_same_bytes_again_and_nothing_left_beside(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in write_lab_live(tmp_path, 6, n_users=20)]
    assert [path.read_bytes() for path in write_lab_live(tmp_path, 6, n_users=20)] == first
    with pytest.raises(InputError, match=r"holds sessions\.csv, which would be read beside votes\.jsonl"):
        write_lab_live(tmp_path, 6, n_users=20, live="comparisons")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_models": 1}, "give two or more names"),
        ({"n_models": ("a", "a")}, "some perhaps twice"),
        ({"live": "votes"}, "use 'outcomes', 'comparisons' or 'aggregates'"),
        ({"gaps": {"model-99": 0.1}}, "'model-99', which is no model here"),
        ({"gaps": {"model-01": 0.6}}, r"take its success from 0\.\d+ in the lab to 1\.\d+ live"),
        ({"scenario_gaps": {("model-01", "x"): 0.1}}, "planted in 'x'"),
        ({"live": "comparisons", "behaviour_shift": 0.1}, "votes are about models"),
        ({"live_mix": {"stable": 0.5}}, "sum to 0.5"),
        ({"live_mix": {"ideal": 1.0}}, "has the scenario 'ideal'"),
        ({"crossed": True, "lab_mix": {"stable": 1.0}}, "leave out lab_mix"),
        ({"tau": -1.0}, "tau is -1"),
        ({"tie": 2.0}, "tie is 2"),
        ({"n_users": 1}, "n_users"),
    ],
)
def test_what_cannot_be_is_refused(options: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulate_lab_live(**{"n_models": 6, **options})


def test_published_numbers_read_back(tmp_path: Path) -> None:
    made = simulate_lab_live(6, live="aggregates", n_users=30, n_lab_only=1)
    write_lab_live(tmp_path, 6, live="aggregates", n_users=30, n_lab_only=1)
    columns = ["model", "benchmark", "metric", "estimate", "std_error", "n", "unit", "setting"]
    for side in ("lab", "live"):
        read_back = read(tmp_path / side, strict=True).aggregates
        simulated: pl.DataFrame = getattr(made, side).aggregates
        assert read_back.select(columns).equals(simulated.select(columns))
