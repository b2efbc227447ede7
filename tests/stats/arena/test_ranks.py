"""Rank sets of strengths: a published toy, the step-down by another program, sign flips by hand, and how often they err."""

import csv
import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.contrasts import (
    _clusters_lacking,
    _flipped,
    _in_one_law,
    _one,
    arena_ranks,
    flipped_contrasts,
    pair_contrasts,
    strength_ranks,
)
from evalstats.stats.arena.covariance import StrengthCovariance, Way, contrast_variance, covariance_of
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.votes import vote_rows
from evalstats.stats.many.ranks import rank_sets_normal
from evalstats.stats.many.step_down import OneSided
from tests.stats.arena.simulated_votes import Arena, simulate


def known(strengths, covariance, df=1e9, **more):
    """A fit and a covariance that were given, not estimated."""
    theta, sigma = np.asarray(strengths, dtype=float), np.asarray(covariance, dtype=float)
    fit = PairFit(
        ties="half",
        strengths=theta,
        coefficients=np.zeros(0),
        tie=None,
        log_lik=-1.0,
        bread=sigma,
        prior=0.0,
        converged=True,
        n_iterations=1,
        largest_gradient=0.0,
    )
    return fit, StrengthCovariance(
        covariance=sigma,
        joint=sigma,
        votes=sigma,
        one_way=(),
        df=df,
        model_effective=np.full(theta.size, np.inf),
        method="given",
        **more,
    )


def test_published_sets(golden):
    """The R package csranks on ten estimates .1 to 1 with standard error .1 (its draws may move a bound by 1)."""
    toy = json.loads((golden / "r_misc.json").read_text())["csranks_toy"]
    found = strength_ranks(*known(toy["x"], toy["se"] ** 2 * np.eye(10)), n_resamples=60_000)
    for ours, theirs in (("low", "simulL"), ("high", "simulU"), ("marginal_low", "margL"), ("marginal_high", "margU")):
        assert np.abs(getattr(found, ours) - toy[theirs]).max() <= 1
        assert np.mean(getattr(found, ours) == toy[theirs]) >= 0.8
    assert found.top[3].tolist() == [low <= 3 for low in found.low]


def test_same_sets_as_from_known_standard_errors():
    rng = np.random.default_rng(4)
    root = rng.normal(size=(6, 6))
    strengths, sigma = rng.normal(size=6), 0.02 * root @ root.T
    ours = strength_ranks(*known(strengths, sigma), n_resamples=2999, seed=3)
    theirs = rank_sets_normal(strengths, sigma, n_resamples=2999, seed=3)
    for name in ("low", "high", "marginal_low", "marginal_high"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()


def test_fewer_degrees_of_freedom_leave_more_open():
    strengths = np.linspace(-1.0, 1.0, 6)
    many = strength_ranks(*known(strengths, 0.01 * np.eye(6)))
    few = strength_ranks(*known(strengths, 0.01 * np.eye(6), df=4.0))
    assert many.critical < few.critical
    assert ((few.low <= many.low) & (few.high >= many.high)).all()
    assert (few.low < many.low).any()


class _Slow:
    """One-sided step-down by its definition: the largest of the rest in a draw, or of all in its mirror image."""

    def __init__(self, observed, members):
        t = observed[members]
        self.members, self.order = members, np.argsort(-np.abs(t), kind="stable")
        self.orient = np.copysign(1.0, t[self.order])
        self.bound = np.abs(t)[self.order] * (1.0 - 1e-9)
        self.hits, self.total = np.zeros(t.size), 0.0

    def add(self, t, weight):
        ahead = t[:, self.members[self.order]] * self.orient
        up, down = (np.maximum.accumulate(each[:, ::-1], axis=1)[:, ::-1] for each in (ahead, -ahead))
        self.hits += weight @ (np.maximum(up, down[:, :1]) >= self.bound)
        self.hits += weight @ (np.maximum(down, up[:, :1]) >= self.bound)
        self.total += 2.0 * float(weight.sum())

    def p_adjusted(self):
        adjusted = np.empty_like(self.hits)
        adjusted[self.order] = np.clip(np.maximum.accumulate(self.hits / self.total), 1e-300, 1.0)
        return adjusted


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_step_down_by_the_slow_form(seed, whole):
    """Whole numbers make ties; draws with weights."""
    rng = np.random.default_rng(seed)
    n_pairs = int(rng.integers(1, 12))
    observed = 2.0 * rng.normal(size=n_pairs)
    observed = np.rint(observed) if whole else observed
    members = np.sort(rng.choice(n_pairs, size=rng.integers(1, n_pairs + 1), replace=False))
    slow, quick = _Slow(observed, members), OneSided(observed, members)
    for _ in range(2):
        t = 1.5 * rng.normal(size=(60, n_pairs))
        weight = rng.random(60)
        for found in (slow, quick):
            found.add(np.rint(t) if whole else t, weight)
    np.testing.assert_allclose(quick.p_adjusted(), slow.p_adjusted(), atol=1e-12)


def few_clusters(seed=0, n_raters=7, models=8, zipf=False):
    arena = Arena(strengths=tuple(np.linspace(-2, 2, models)), n_raters=n_raters, n_votes=1200, zipf=zipf)
    return simulate(arena, np.random.default_rng(seed))


def test_sign_flips_by_hand():
    """Every pattern of seven signs; contributions from the restricted score, one cluster and pair at a time."""
    rows = few_clusters()
    fit = fit_strengths(rows)
    pairs = [(0, 1), (2, 6), (5, 4)]
    first, second = np.array(pairs).T
    law = flipped_contrasts(
        fit, rows, rows.clusters[0], first, second, std_error=np.zeros(3), seed=0, n_resamples=99
    )  # fmt: skip
    assert law.exact
    chunks = [chunk for chunk, _ in law.chunks()]
    # What counts them goes through one pair's draws after another's.
    assert all(chunk.T.flags.c_contiguous for chunk in chunks)
    t = np.concatenate(chunks)
    wanted = np.column_stack([_flips_of(fit, rows, i, j) for i, j in pairs])
    # Listed up to a change of all signs, and in another order.
    both = np.concatenate([t, -t])
    for k in range(3):
        np.testing.assert_allclose(np.sort(both[:, k]), np.sort(wanted[:, k]), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(law.observed, wanted[0], rtol=1e-6)


def _flips_of(fit, rows, i, j):
    contrast = np.zeros(fit.n_models)
    contrast[i], contrast[j] = 1.0, -1.0
    pull = fit.bread @ contrast
    share, part = np.zeros(7), np.zeros(7)
    d = fit.strengths[i] - fit.strengths[j]
    for g in range(7):
        for r in np.flatnonzero(rows.clusters[0] == g):
            a, b = rows.first[r], rows.second[r]
            p = 1.0 / (1.0 + np.exp(fit.strengths[b] - fit.strengths[a]))
            along = pull[a] - pull[b]
            share[g] += rows.weight[r] * p * (1 - p) * along**2
            part[g] += rows.weight[r] * (rows.share[r] - p) * along
    share /= contrast @ fit.bread @ contrast
    assert share.sum() == pytest.approx(1.0)
    part += share * d
    out = []
    for signs in product([1.0, -1.0], repeat=7):
        flipped = np.array(signs) * part
        mean = flipped.sum()
        out.append(mean / np.sqrt((((flipped - share * mean) ** 2) / (1 - share)).sum()))
    return np.array(out)


def test_fewer_clusters_than_models_go_by_sign_flips():
    rows = few_clusters()
    fit = fit_strengths(rows)
    covariance = covariance_of(fit, rows, names=["rater"])
    found = strength_ranks(fit, covariance, rows)
    assert found.method == "rank sets, max-T step-down, sign flips of clusters by rater"
    assert found.exact
    # Seven signs: no pattern is rarer than 1 in 64.
    assert np.nanmin(found.p_adjusted) >= 1 / 64
    without = strength_ranks(fit, covariance)
    assert "need the votes themselves" in without.reason
    assert without.low.tolist() == [1] * 8
    assert without.high.tolist() == [8] * 8


def test_many_uneven_clusters_are_dealt_out():
    arena = Arena(strengths=(-1.0, 0.0, 1.0), n_raters=900, n_votes=5000, zipf=True)
    rows = simulate(arena, np.random.default_rng(3))
    fit = fit_strengths(rows)
    covariance = covariance_of(fit, rows)
    assert covariance.few_clusters
    codes, _ = _flipped(covariance, rows)
    size = np.bincount(codes, weights=rows.weight)
    by_rater = np.sort(np.bincount(rows.clusters[0], weights=rows.weight))[::-1]
    assert size.size == 256
    np.testing.assert_array_equal(size[:128], by_rater[:128])
    assert size[128:].max() < 0.01 * rows.n_votes
    assert size.sum() == rows.n_votes
    assert strength_ranks(fit, covariance, rows).low.tolist() == [3, 2, 1]


def test_too_few_clusters_leave_every_rank_open():
    rows = few_clusters(n_raters=5)
    fit = fit_strengths(rows)
    found = strength_ranks(fit, covariance_of(fit, rows, names=["rater"]), rows)
    assert found.reason == "rater: 5 are too few for an interval; at least 6 are needed"
    assert (found.low == 1).all()
    assert (found.marginal_high == 8).all()
    assert np.isnan(found.p_adjusted).all()
    assert np.isnan(found.critical)


@pytest.mark.parametrize("few", [True, False])
def test_order_of_models_and_votes_changes_nothing(few):
    rows = few_clusters(1, n_raters=7 if few else 90)
    fit = fit_strengths(rows)
    found = strength_ranks(fit, covariance_of(fit, rows), rows, n_resamples=999)
    turn = np.random.default_rng(0).permutation(8)
    order = np.random.default_rng(1).permutation(rows.n_rows)
    other = vote_rows(
        turn[rows.first[order]],
        turn[rows.second[order]],
        rows.outcome[order],
        count=rows.count[order],
        clusters=(rows.clusters[0][order],),
    )
    again = fit_strengths(other)
    turned = strength_ranks(again, covariance_of(again, other), other, n_resamples=999)
    for name in ("low", "high", "marginal_low", "marginal_high"):
        assert getattr(turned, name)[turn].tolist() == getattr(found, name).tolist()
    np.testing.assert_allclose(turned.p_adjusted[np.ix_(turn, turn)], found.p_adjusted, atol=1e-9)


def test_sets_hang_together():
    rows = few_clusters(2, n_raters=90)
    fit = fit_strengths(rows)
    found = strength_ranks(fit, covariance_of(fit, rows), top=(1, 3))
    rank = 1 + (fit.strengths[:, np.newaxis] < fit.strengths).sum(axis=1)
    assert ((found.low <= found.marginal_low) & (found.marginal_high <= found.high)).all()
    assert ((found.marginal_low <= rank) & (rank <= found.marginal_high)).all()
    assert (found.top[1] <= found.top[3]).all()
    above = (found.p_adjusted <= 0.05) & (fit.strengths > fit.strengths[:, np.newaxis])
    assert (found.low == 1 + above.sum(axis=1)).all()


def test_models_that_move_as_one_are_not_separated():
    sigma = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) * 0.01
    found = strength_ranks(*known([0.9, 0.8, -1.7], sigma))
    assert found.low.tolist() == [1, 1, 3]
    assert found.high.tolist() == [2, 2, 3]
    assert found.warnings == ("1 of 3 pairs have no standard error and are not separated",)
    assert "no difference" in strength_ranks(*known([0.1, -0.1], sigma[:2, :2])).reason


def test_arena_ranks_are_the_published_ones(golden):
    """Rank upper bounds from 95% intervals by the sandwich of single votes."""
    with (golden / "bt_llmfao.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    elo, se = (np.array([float(line[name]) for line in table]) for name in ("elo", "se_sandwich"))
    wanted = [int(line["rank_ub_arena"]) for line in table]
    reach = 1.959963984540054 * se
    assert arena_ranks(elo - reach, elo + reach).tolist() == wanted


def test_arena_ranks_by_counting():
    rng = np.random.default_rng(2)
    middle, half = rng.normal(size=30), rng.random(30)
    low, high = middle - half, middle + half
    assert arena_ranks(low, high).tolist() == [1 + sum(other > end for other in low) for end in high]
    assert arena_ranks([1.0, np.nan], [2.0, np.nan]).tolist() == [1, 1]
    with pytest.raises(InputError, match="give one each"):
        arena_ranks([1.0], [1.0, 2.0])


def test_bad_options_are_refused():
    fit, covariance = known([0.1, -0.1], 0.01 * np.eye(2))
    with pytest.raises(InputError, match="an entry of top"):
        strength_ranks(fit, covariance, top=(0,))
    with pytest.raises(InputError, match="n_resamples"):
        strength_ranks(fit, covariance, n_resamples=0)


def falsely_shown(arena: Arena, replicates: int, seed: int) -> float:
    """Share of data sets in which a difference between any two of equal models is shown."""
    rng = np.random.default_rng(seed)
    wrong = 0
    for r in range(replicates):
        rows = simulate(arena, rng)
        fit = fit_strengths(rows)
        found = strength_ranks(fit, covariance_of(fit, rows), rows, n_resamples=999, seed=r)
        wrong += bool((found.low > 1).any() or (found.high < len(arena.strengths)).any())
    return wrong / replicates


TEN = Arena(strengths=(0.0,) * 10)
WORLDS = {
    "100 raters": TEN,
    "100 uneven raters": replace(TEN, zipf=True),
    "300 uneven raters": replace(TEN, zipf=True, n_raters=300, n_votes=3000),
    "8 prompts": replace(TEN, rater_sd=0.0, n_prompts=8, prompt_sd=0.6),
    "9 uneven raters": replace(TEN, n_raters=9, zipf=True),
    "8 prompts and 100 uneven raters": replace(TEN, zipf=True, n_prompts=8, prompt_sd=0.6),
}


@pytest.mark.parametrize("world", ["100 raters", "8 prompts"])
def test_sets_hold_their_level(world):
    # Of 30 data sets, 5 or more false ones have a chance of .02 at a level of .05.
    assert falsely_shown(WORLDS[world], 30, seed=5) <= 4 / 30


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_sets_hold_their_level_in_every_world(world):
    assert falsely_shown(WORLDS[world], 600, seed=6) <= 0.08


def test_law_of_pairs_and_single_contrasts_agree():
    """One pair alone: the joint law is the t law of that pair, up to draws."""
    rows = vote_rows([0, 0], [1, 1], [0, 1], count=[58, 42])
    fit = fit_strengths(rows)
    covariance = covariance_of(fit, rows)
    found = strength_ranks(fit, covariance, n_resamples=29_999)
    assert found.p_adjusted[0, 1] == pytest.approx(0.11, abs=0.02)
    assert found.critical == pytest.approx(1.98, abs=0.05)
    assert contrast_variance(covariance, 0, 1) > 0.0
    law = known([1.0, -1.0], np.eye(2))
    assert strength_ranks(*law, n_resamples=999).p_adjusted[1, 0] == pytest.approx(0.157, abs=0.04)


def test_a_difference_without_variance_has_no_error_and_no_p():
    sigma = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) * 0.01
    found = pair_contrasts(*known([0.9, 0.8, -1.7], sigma))
    for column in (found.std_error, found.df, found.conf_low, found.p_value, found.order_probability):
        assert np.isnan(column).tolist() == [True, False, False]


def test_each_t_is_as_unlikely_in_the_common_law_as_in_its_own():
    """Two-sided p by the contrast's own degrees of freedom, and by those of the law with the error that is given."""
    fit, covariance = known([1.0, 0.4, 0.4, -1.8], 0.04 * np.eye(4), df=12.0)
    covariance = replace(covariance, model_effective=np.array([5.0, 30.0, 4.5, 13.0]))
    first, second = np.triu_indices(4, k=1)
    size = np.linspace(0.2, 0.5, 6)
    found = _in_one_law(fit, covariance, first, second, size)
    assert _in_one_law(fit, covariance, second, first, size) == pytest.approx(found, rel=0.0, abs=0.0)
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        own = min(12.0, *(covariance.model_effective[[i, j]] - 1.0))
        difference = abs(fit.strengths[i] - fit.strengths[j])
        p = stats.t.sf(difference / size[k], own)
        assert stats.t.sf(difference / found[k], 12.0) == pytest.approx(p)
        # Nothing is changed where there is nothing to change.
        assert (found[k] == size[k]) == (own == 12.0 or difference == 0.0)


@pytest.mark.parametrize(("n_raters", "exact"), [(7, True), (30, False)])
def test_sign_flips_are_all_listed_or_drawn_beside_the_votes_themselves(n_raters, exact):
    rows = few_clusters(3, n_raters=n_raters)
    fit = fit_strengths(rows)
    first, second = np.triu_indices(8, k=1)
    law = flipped_contrasts(
        fit, rows, rows.clusters[0], first, second, std_error=np.zeros(28), seed=5, n_resamples=99
    )  # fmt: skip
    assert (law.exact, law.n_resamples, law.seed) == ((True, None, None) if exact else (False, 99, 5))
    drawn = [(np.array(t), np.array(weight)) for t, weight in law.chunks()]
    if exact:
        # A pattern and its mirror image tell the same.
        assert sum(len(t) for t, _ in drawn) == 64
    else:
        np.testing.assert_array_equal(drawn[0][0], law.observed[None])
        assert sum(weight.sum() for _, weight in drawn) == 100.0


def test_what_one_cluster_alone_knows_is_not_claimed():
    rng = np.random.default_rng(6)
    rater = np.arange(240) % 12
    first = rng.integers(0, 3, 240)
    second = (first + rng.integers(1, 3, 240)) % 3
    # One rater alone votes on model 3, and against 4 only, which no other connects with it.
    first[rater == 4], second[rater == 4] = 3, 4
    second[rater == 5] = 4
    rows = vote_rows(first, second, rng.integers(0, 2, 240), clusters=(rater,))
    fit = fit_strengths(rows)
    pairs = np.array([[0, 1], [3, 4], [4, 3]]).T
    law = flipped_contrasts(fit, rows, rows.clusters[0], *pairs, std_error=np.zeros(3), seed=0, n_resamples=9)
    assert (law.observed == 0.0).tolist() == [False, True, True]
    for t, _ in law.chunks():
        assert not t[:, 1:].any()
        assert t[:, 0].any()


@pytest.mark.parametrize(
    ("needed", "p", "reason", "found"),
    [
        (3.2, 0.2, None, (4, None)),
        (4.0, 0.2, None, (4, None)),
        (0.3, 0.2, None, (1, None)),
        (-5.0, 0.2, None, (1, None)),
        (1e7, 0.2, None, (10_000_000, None)),
        (1e7 + 1, 0.2, None, (None, "more than 10,000,000 votes: the estimated difference is too close to 0")),
        (np.inf, 0.2, None, (None, "more than 10,000,000 votes: the estimated difference is too close to 0")),
        (np.nan, 0.2, None, (None, "the difference has no standard error, so what votes would add is unknown")),
        (3.2, 0.05, "too few", (None, "separated already")),
        (3.2, 0.06, "too few", (None, "too few")),
    ],
)
def test_votes_needed_are_whole_and_at_least_one(needed, p, reason, found):
    assert _one(needed, p, reason, 0.05) == found


def test_clusters_that_lack_are_those_of_the_way_with_the_fewest_in_use():
    def way(name, n, **more):
        return Way(name=name, n_clusters=n, effective=3.0, largest_share=0.5, **more)

    several = (way("rater", 39), way("prompt", 12), way("day", 40), way("session", 7, nested_in="rater"))
    _, covariance = known([0.1, -0.1], np.eye(2), ways=several, few_clusters=True)
    assert _clusters_lacking(covariance) == "more clusters by prompt are needed, not more votes: there are 12"
    assert _clusters_lacking(replace(covariance, few_clusters=False)) is None
    assert _clusters_lacking(replace(covariance, ways=(way("day", 40),))) is None


def test_one_draw_is_enough_to_ask_for():
    found = strength_ranks(*known([1.0, -1.0], np.eye(2)), n_resamples=1)
    assert found.n_resamples == 1
