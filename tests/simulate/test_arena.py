"""Simulated arenas: the truth is what fits find, the file is what was simulated, and what is published is kept."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.simulate.arena import ArenaAttack, arena_truth, simulate_arena, write_arena
from evalstats.simulate.arena_world import (
    N_COMPARISONS,
    N_MODELS,
    N_USERS,
    TOP_FIVE,
    ArenaDesign,
    ArenaEffects,
    expected_shares,
    make_world,
    mean_share,
)
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import contrast_variance, covariance_of
from evalstats.stats.arena.likelihood import connection
from evalstats.stats.arena.votes import OUTCOMES, VoteRows, vote_rows

# Differences of estimates and truths in standard errors: with some 20 of them, 4.5 is passed once in 10,000 times.
FAR = 4.5
PLAIN = ArenaEffects(sd_rater=0.0, sd_prompt=0.0, tau_app=0.0, tau_scenario=0.0, side=0.0, style=0.0, sd_verbosity=0.0)
SMALL = ArenaDesign(models=8)


def rows_of(votes: pl.DataFrame, names: list[str], *, covariates: np.ndarray | None = None) -> VoteRows:
    code = {name: place for place, name in enumerate(names)}
    rater = votes["rater"].rank("dense").to_numpy() - 1
    return vote_rows(
        votes["model_a"].replace_strict(code).to_numpy(),
        votes["model_b"].replace_strict(code).to_numpy(),
        votes["outcome"].replace_strict({name: place for place, name in enumerate(OUTCOMES)}).to_numpy(),
        n_models=len(names),
        covariates=covariates,
        clusters=(rater.astype(np.int64),),
    )


def distances(rows: VoteRows, truth: np.ndarray) -> np.ndarray:
    """Errors of all contrasts with the first model, in standard errors clustered by rater."""
    fit = fit_strengths(rows)
    others = np.arange(1, rows.n_models)
    spread = np.sqrt(contrast_variance(covariance_of(fit, rows), np.zeros_like(others), others))
    off = fit.strengths - truth
    return (off[0] - off[others]) / spread


@pytest.mark.parametrize("size", [2, 4])
def test_a_fit_finds_the_marginal_truth(size: int) -> None:
    """With four models at once ties are not exactly those of pairs; they are left out."""
    design = ArenaDesign(models=8, event_size=size)
    effects = ArenaEffects(tie=0.4 if size == 2 else 0.0)
    truth = arena_truth(n_votes=60_000, design=design, effects=effects)
    votes = simulate_arena(60_000, design=design, effects=effects).comparisons
    names = truth["model"].to_list()
    assert np.abs(distances(rows_of(votes, names), truth["marginal"].to_numpy())).max() < FAR


def test_davidsons_parameter_side_and_style_are_found() -> None:
    effects = ArenaEffects(sd_rater=0.0, sd_prompt=0.0, tau_app=0.0, tau_scenario=0.0, tie=0.6, side=0.2, style=0.8)
    votes = simulate_arena(80_000, design=SMALL, effects=effects).comparisons
    truth = arena_truth(design=SMALL, effects=effects)
    a, b = votes["assistant_tokens_a"].to_numpy(), votes["assistant_tokens_b"].to_numpy()
    beside = np.column_stack([np.ones_like(a), (a - b) / (a + b)])
    rows = rows_of(votes, truth["model"].to_list(), covariates=beside)
    fit = fit_strengths(rows, ties="davidson")
    spread = np.sqrt(np.diag(fit.bread))
    found = np.concatenate([fit.strengths, fit.coefficients, [np.log(fit.tie or 0.0)]])
    wanted = np.concatenate([truth["strength"].to_numpy(), [0.2, 0.8], [np.log(0.6)]])
    assert np.abs((found - wanted) / spread).max() < FAR


def test_shares_of_outcomes_are_those_of_the_model() -> None:
    """Equal models without tastes: a tie has nu/(2 + nu), of which a share is both bad."""
    design = ArenaDesign(models=["x", "y"], strengths=[0.0, 0.0])
    effects = ArenaEffects(sd_rater=0.0, sd_prompt=0.0, tau_app=0.0, tau_scenario=0.0, style=0.0, side=0.0)
    votes = simulate_arena(40_000, design=design, effects=effects).comparisons
    tie = effects.tie / (2.0 + effects.tie)
    wanted = {"a": (1 - tie) / 2, "b": (1 - tie) / 2, "tie": 0.7 * tie, "both_bad": 0.3 * tie}
    for outcome, share in wanted.items():
        found = (votes["outcome"] == outcome).mean()
        assert abs(found - share) < FAR * np.sqrt(share * (1 - share) / votes.height)


def test_expected_shares_are_means_over_raters_and_lengths() -> None:
    """Against a plain average of two million draws."""
    effects = ArenaEffects(side=0.3, tau_app=0.0, tau_scenario=0.0)
    world = make_world(ArenaDesign(models=["x", "y"], strengths=[0.6, -0.6]), effects, n_votes=100, seed=1)
    rng = np.random.default_rng(0)
    n = 2_000_000
    length = np.exp(world.log_length[:, None] + effects.sd_length * rng.standard_normal((2, n)))
    eta = 1.2 + np.hypot(0.5, 0.3) * (rng.standard_normal(n) - rng.standard_normal(n))
    eta += effects.style * (length[0] - length[1]) / length.sum(axis=0) + 0.3 * rng.choice([-1.0, 1.0], n)
    up, none, down = np.exp(eta / 2), effects.tie, np.exp(-eta / 2)
    drawn = (up + none / 2) / (up + none + down)
    assert abs(expected_shares(world, effects)[0, 1] - drawn.mean()) < FAR * drawn.std() / np.sqrt(n)
    assert mean_share(np.array([-2.0, 2.0]), 0.7, 0.5).sum() == pytest.approx(1.0)


def test_what_is_published_shapes_the_default() -> None:
    design = ArenaDesign()
    assert len(design.names) == N_MODELS == 49
    world = make_world(design, ArenaEffects(), n_votes=N_COMPARISONS, seed=0)
    assert world.activity.size == N_USERS == 46_611
    for seed in range(5):
        assert arena_truth(seed=seed, n_votes=1000)["model"].to_list()[:5] == list(TOP_FIVE)
    assert set(simulate_arena(500).comparisons["app"]) == {"joyland", "t-box"}


def test_a_seed_gives_the_same_votes_and_another_seed_others() -> None:
    first, again, other = (simulate_arena(400, design=SMALL, seed=seed).comparisons for seed in (3, 3, 4))
    assert first.equals(again)
    assert not first.equals(other)
    more = ArenaDesign(models=8, n_raters=900)
    columns = ["model", "strength", "app_joyland"]
    assert arena_truth(design=more, seed=3).select(columns).equals(arena_truth(design=SMALL, seed=3).select(columns))


@pytest.mark.parametrize("size", [2, 3])
def test_the_file_read_back_holds_the_same_votes(tmp_path: Path, size: int) -> None:
    design = ArenaDesign(models=8, event_size=size)
    attack = ArenaAttack(duplicate_share=0.05)
    (path,) = write_arena(tmp_path, 600, design=design, attack=attack)
    assert all("evalstats" in json.loads(line)["simulated"] for line in path.read_text("utf-8").splitlines())
    data = read(path, strict=True)
    simulated = simulate_arena(600, design=design, attack=attack).comparisons
    shared = [name for name in simulated.columns if name not in ("run", "made_as", "event_size")]
    assert data.comparisons.select(shared).equals(simulated.select(shared))
    assert data.comparisons["event_size"].drop_nulls().max() == size
    assert data.runs["benchmark"].to_list() == ["Inclusion Arena"]


def test_the_same_numbers_write_the_same_bytes(tmp_path: Path) -> None:
    first, again = (write_arena(tmp_path / name, 200)[0].read_bytes() for name in ("one", "two"))
    assert first == again


def test_an_event_of_several_models_has_one_choice_and_one_rater() -> None:
    votes = simulate_arena(900, design=ArenaDesign(models=8, event_size=4)).comparisons
    assert votes.height == 900
    for _, event in votes.group_by("event"):
        assert event.height == 3
        assert event["rater"].n_unique() == event["timestamp"].n_unique() == 1
        both = [*event["model_a"], *event["model_b"]]
        assert len(set(both)) == 4
        decided = event.filter(pl.col("outcome").is_in(["a", "b"]))
        winners = decided.select(pl.when(pl.col("outcome") == "a").then("model_a").otherwise("model_b")).to_series()
        assert winners.n_unique() == (1 if decided.height else 0)
        assert (decided["rank_a"] + decided["rank_b"] == 3).all()
        assert decided.height in (0, 3)


def test_islands_never_meet() -> None:
    names = ArenaDesign(models=8).names
    votes = simulate_arena(2000, design=ArenaDesign(models=8, n_islands=2)).comparisons
    found = connection(rows_of(votes, list(names)))
    assert {frozenset(part) for part in found.components} == {frozenset(range(0, 8, 2)), frozenset(range(1, 8, 2))}


def test_dishonest_votes_are_as_many_as_asked_and_do_what_they_do() -> None:
    target = "sim-model-08"
    attack = ArenaAttack(
        ring_share=0.1, ring_raters=4, target=target, waits=True, side_share=0.1, side_raters=3, duplicate_share=0.05
    )
    votes = simulate_arena(6000, design=SMALL, attack=attack).comparisons
    counts = dict(votes["made_as"].value_counts().iter_rows())
    for kind, share in (("ring", 0.1), ("side", 0.1), ("copy", 0.05)):
        # A copy keeps no mark of what it is a copy of.
        assert abs(counts[kind] - share * 6000) < FAR * np.sqrt(6000 * share)
    ring, side = votes.filter(made_as="ring"), votes.filter(made_as="side")
    assert (
        ring.select(pl.when(pl.col("outcome") == "a").then("model_a").otherwise("model_b")).to_series() == target
    ).all()
    assert set(side["outcome"]) == {"a"}
    assert ring["rater"].n_unique() == 4
    assert side["rater"].n_unique() == 3
    assert not set(ring["rater"]) & set(side["rater"])
    keys = ["event", "rater", "model_a", "model_b", "outcome"]
    copies = votes.filter(made_as="copy")
    assert copies.join(votes.filter(pl.col("made_as") != "copy"), on=keys, how="semi").height == copies.height


def test_deviations_of_apps_and_scenarios_cancel() -> None:
    truth = arena_truth(design=SMALL)
    apps = 0.7 * truth["app_joyland"] + 0.3 * truth["app_t-box"]
    assert apps.abs().max() < 1e-12
    scenarios = truth.select(pl.sum_horizontal(pl.selectors.starts_with("scenario_"))).to_series()
    assert scenarios.abs().max() < 1e-12


def test_zipf_makes_some_raters_vote_much_more() -> None:
    even = simulate_arena(5000, design=ArenaDesign(models=8, n_raters=100, activity=0.0)).comparisons
    zipf = simulate_arena(5000, design=ArenaDesign(models=8, n_raters=100, activity=1.0)).comparisons
    most = [votes["rater"].value_counts()["count"].max() for votes in (even, zipf)]
    assert most[0] < 100
    # 1/(1 + 1/2 + ... + 1/100) of the votes.
    assert most[1] == pytest.approx(5000 / 5.187, rel=0.15)


def test_shared_prompts_are_items() -> None:
    votes = simulate_arena(500, design=ArenaDesign(models=8, n_prompts=20)).comparisons
    assert votes["item"].n_unique() == 20
    assert simulate_arena(500, design=SMALL).comparisons["item"].null_count() == 500


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ArenaDesign(models=["x", "x"]), "give two or more names"),
        (lambda: ArenaDesign(models=3, event_size=4), "need as many models"),
        (lambda: ArenaDesign(models=10**20), "at most 100,000 can be simulated"),
        (lambda: ArenaDesign(models=3, strengths=[1.0, 2.0]), "2 strengths are given for 3 models"),
        (lambda: ArenaDesign(models=2, strengths=[1.0, float("nan")]), "not a finite number"),
        (lambda: ArenaEffects(sd_rater=-1.0), "sd_rater is -1"),
        (lambda: ArenaEffects(tie=-0.1), "tie is -0.1"),
        (lambda: ArenaAttack(ring_share=0.1), "name its target"),
        (lambda: ArenaAttack(side_share=0.9), "side_share is 0.9"),
        (lambda: simulate_arena(100, attack=ArenaAttack(ring_share=0.1, target="nobody")), "is no model of this arena"),
        (lambda: simulate_arena(0), "n_votes is 0"),
    ],
)
def test_what_cannot_be_is_refused_in_words(make, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()
