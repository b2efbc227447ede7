"""The study of ways of sampling: its measures against plain definitions, its stored rows, a rerun in small."""

import itertools
from importlib.resources import files

import numpy as np
import pytest
from scipy import stats

from dev.validation.arena_rules import SamplingRule
from dev.validation.arena_study import MEASURES, N_ARENAS, RULE_WORDS, SEED, WORLD_WORDS, Found, arena_study, rows_of
from dev.validation.arena_trials import (
    POINTS,
    Ring,
    TrialWorld,
    covered,
    error_points,
    make_arenas,
    newcomer_errors,
    pairs_in_order,
    places_moved,
    ranks,
    run_arenas,
    table,
    violations,
)
from evalstats.datasets.arena_sampling import SamplingMeasure, load_arena_sampling, study_from_text
from evalstats.errors import InputError

WORLD = TrialWorld(name="test", spread=0.6, n_models=8, n_raters=50)


@pytest.fixture(scope="module")
def arenas():
    return make_arenas(WORLD, 40, seed=1)


@pytest.fixture(scope="module")
def trial(arenas):
    return run_arenas(arenas, SamplingRule(sampling="proximity"), [400, 1500], np.random.default_rng(2))


def test_pairs_in_order_are_kendalls_tau(arenas, trial) -> None:
    found = pairs_in_order(trial.ratings[-1], arenas.truth)
    for share, ratings, truth in zip(found, trial.ratings[-1], arenas.truth, strict=True):
        assert share == pytest.approx((1 + stats.kendalltau(ratings, truth).statistic) / 2)


def test_ranks_begin_with_the_best() -> None:
    assert ranks(np.array([[0.3, 2.0, -1.0]])).tolist() == [[2, 1, 3]]
    assert places_moved(np.array([[3.0, 2.0, 1.0]]), np.array([[1.0, 2.0, 3.0]])).tolist() == [4 / 3]


def test_violations_are_counted_over_triples() -> None:
    rng = np.random.default_rng(4)
    wins = rng.poisson(3.0, (6, 7, 7)).astype(float)
    for found, each in zip(violations(wins), wins, strict=True):
        over = each > each.T
        triples = [t for t in itertools.permutations(range(7), 3) if over[t[0], t[1]] and over[t[1], t[2]]]
        decided = [(i, k) for i, _, k in triples if over[i, k] or over[k, i]]
        assert found == pytest.approx(sum(over[k, i] for i, k in decided) / len(decided))
    assert np.isnan(violations(np.zeros((1, 3, 3)))).all()


def test_tables_hold_every_vote_once(trial) -> None:
    wins = table(trial.first, trial.second, trial.share, WORLD.n_models)
    assert wins.sum(axis=(1, 2)) == pytest.approx(1500.0)
    slow = np.zeros((8, 8))
    for i, j, share in zip(trial.first[3], trial.second[3], trial.share[3], strict=True):
        slow[i, j] += share
        slow[j, i] += 1 - share
    assert wins[3] == pytest.approx(slow)


def test_errors_are_in_rating_points() -> None:
    off = error_points(np.array([[1.0, 0.0]]), np.array([[0.0, 0.0]]), np.array([0]), np.array([1]))
    assert off.item() == pytest.approx(400 / np.log(10)) == POINTS


def test_random_pairs_have_honest_intervals(arenas) -> None:
    """40 arenas of 7 neighbours each: 280 intervals, of one arena dependent; 88% is five standard errors away from 95%."""
    random = run_arenas(arenas, SamplingRule(), [1500], np.random.default_rng(2))
    held = covered(arenas, random, np.arange(7), np.arange(1, 8))
    assert held.mean() > 0.88


def test_ties_come_as_often_as_davidson_says() -> None:
    equal = make_arenas(TrialWorld(name="t", spread=0.0, n_models=4, sd_rater=0.0, sd_prompt=0.0), 50, seed=0)
    run = run_arenas(equal, SamplingRule(), [400], np.random.default_rng(0))
    wanted = 0.4 / 2.4
    assert (run.share == 0.5).mean() == pytest.approx(wanted, abs=4 * (wanted * (1 - wanted) / 20_000) ** 0.5)
    assert equal.truth == pytest.approx(0.0, abs=1e-9)


def test_checkpoints_are_the_way_to_the_end(arenas) -> None:
    rule = SamplingRule(sampling="active")
    both = run_arenas(arenas, rule, [400, 800], np.random.default_rng(5))
    alone = run_arenas(arenas, rule, [400], np.random.default_rng(5))
    assert both.ratings[0] == pytest.approx(alone.ratings[0])


@pytest.mark.parametrize("sampling", ["random", "proximity"])
def test_a_ring_that_waits_wins_more_places_than_one_that_does_not(arenas, sampling: str) -> None:
    rule, target = SamplingRule(sampling=sampling), 4
    runs = [
        run_arenas(arenas, rule, [1500], np.random.default_rng(6), ring=ring)
        for ring in (None, Ring(share=0.1, target=target, waits=False), Ring(share=0.1, target=target, waits=True))
    ]
    honest, takes, waits = (ranks(run.ratings[-1])[:, target].mean() for run in runs)
    assert waits < takes < honest
    of_ring = runs[2].rater >= WORLD.n_raters - 10
    shown = (runs[2].first == target) | (runs[2].second == target)
    # The last ten raters vote honestly too, a little.
    assert (of_ring & shown).mean() > 0.09


@pytest.mark.parametrize("way", ["random", "placement"])
def test_a_new_model_finds_its_place(arenas, trial, way: str) -> None:
    rule = SamplingRule(sampling="proximity", series=10)
    errors = newcomer_errors(arenas, trial, way, (20, 400), np.random.default_rng(7), rule=rule)
    for places, points in errors.values():
        assert places.shape == points.shape == (40,)
    assert errors[400][1].mean() < errors[20][1].mean() / 2


MEASURE = SamplingMeasure(key="m", title="M", unit="places", higher_is_better=False)


def test_differences_are_paired_and_judged_by_their_interval() -> None:
    rng = np.random.default_rng(8)
    base = rng.normal(5.0, 3.0, 100)
    found = Found()
    for name, values in (
        ("random", base),
        ("less", base - 1 + rng.normal(0, 0.5, 100)),
        ("same", base + rng.normal(0, 1, 100)),
    ):
        found.add("w", name, {("m", ""): values[:50]})
        found.add("w", name, {("m", ""): values[50:]})
    rows = {row.sampling: row for row in rows_of(found, [MEASURE], {})}
    assert (rows["random"].difference, rows["random"].verdict) == (None, "")
    assert rows["less"].verdict == "better"
    assert rows["same"].verdict == "not separated"
    apart = np.concatenate(found.parts["w", "m", "", "less"]) - base
    # Two differences: each interval has 97.5%.
    reach = stats.t.ppf(1 - 0.025 / 2, 99) * apart.std(ddof=1) / 10
    assert rows["less"].conf_high == pytest.approx(apart.mean() + reach, abs=1e-5)


def test_where_all_arenas_agree_there_is_no_interval() -> None:
    found = Found()
    for name, value in (("random", 1.0), ("other", 2.0)):
        found.add("w", name, {("m", ""): np.full(10, value)})
    (_, row) = rows_of(found, [MEASURE], {})
    assert (row.conf_low, row.conf_high, row.verdict) == (None, None, "not separated")
    assert row.reason == "every arena has the same number"


def test_votes_needed_are_read_off_the_mean_curve() -> None:
    """Shares .5, .7, .9 at 100, 1,000, 10,000 votes: .8 is reached half-way on the logarithm."""
    found = Found()
    noise = np.random.default_rng(9).normal(0, 0.01, 30)
    for name in ("random", "never"):
        for votes, share in ((100, 0.5), (1000, 0.7), (10_000, 0.9 if name == "random" else 0.75)):
            found.add("w", name, {("order", f"{votes:,} votes"): share + noise - noise.mean()})
    measure = SamplingMeasure(key="needed", title="N", unit="votes", higher_is_better=False)
    random, never = rows_of(found, [measure], {"w": 0.8})
    assert random.estimate == pytest.approx(1000 * 10**0.5, rel=1e-4)
    # d log10(votes) / d share is 1/.2 there, so a standard error of s in the mean share is 5 ln(10) x votes x s in votes.
    spread = noise.std(ddof=1) / 30**0.5
    assert random.std_error == pytest.approx(5 * np.log(10) * random.estimate * spread, rel=0.1)
    assert never.estimate is None
    assert "not reached" in never.reason


def test_the_stored_study_is_that_of_the_module() -> None:
    study = load_arena_sampling()
    text = files("evalstats.datasets").joinpath("arena_sampling.json").read_text(encoding="utf-8")
    assert study.to_text() == text
    assert study_from_text(text) == study
    assert (study.seed, dict(study.n_arenas)) == (SEED, N_ARENAS)
    assert (dict(study.worlds), dict(study.samplings)) == (WORLD_WORDS, RULE_WORDS)
    assert study.measures == MEASURES
    assert {row.measure for row in study.rows} == {measure.key for measure in MEASURES}


def test_stored_verdicts_follow_from_their_intervals() -> None:
    study = load_arena_sampling()
    for row in study.rows:
        measure = study.measure(row.measure)
        if row.conf_low is None or row.conf_high is None:
            assert row.verdict in ("", "not separated")
            continue
        assert row.conf_low < row.difference < row.conf_high
        apart = row.conf_low > 0 or row.conf_high < 0
        good = measure.higher_is_better is not None and (row.difference > 0) == measure.higher_is_better
        assert row.verdict == ("not separated" if not apart else "better" if good else "worse")


def test_random_pairs_are_the_yardstick_that_holds() -> None:
    """Without this, failures of other schedules could be those of the intervals or of the truth they are held against."""
    study = load_arena_sampling()
    for key in ("covered_near", "covered_far", "far_bias"):
        for row in study.of(key, sampling="random"):
            assert row.verdict == "not separated", row


def test_a_share_is_part_of_the_study() -> None:
    with pytest.raises(InputError, match="share is 0"):
        arena_study(share=0.0)


@pytest.mark.slow
def test_a_small_study_is_reproducible_and_near_the_stored_one() -> None:
    small, again = arena_study(share=0.05), arena_study(share=0.05)
    assert small == again
    stored = {(row.world, row.measure, row.condition, row.sampling): row for row in load_arena_sampling().rows}
    far = 0
    for row in small.rows:
        whole = stored[row.world, row.measure, row.condition, row.sampling]
        if row.estimate is not None and whole.estimate is not None and row.std_error and row.measure != "needed":
            far += abs(row.estimate - whole.estimate) > 4 * row.std_error
    # 20 and 5 arenas: standard errors are rough, and a few of some 250 numbers lie further away.
    assert far < 0.05 * len(small.rows)
