"""Votes of a judge corrected by labels: against the definition, against known strengths, and how often the intervals miss."""

import numpy as np
import pytest
from scipy.special import expit, logit

from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import contrast_df, contrast_variance, covariance_of
from evalstats.stats.arena.labelled import corrected_shares, with_labels
from evalstats.stats.arena.votes import vote_rows
from evalstats.stats.estimate import t_quantile


def judged_world(rng, strengths, n, n_labels, *, accurate, favour=0.0, place=0.0, n_prompts=None):
    """Votes of people and of a judge on n battles: it follows people on a share, else its own taste for model 0 and side a."""
    strengths, n_models = np.asarray(strengths), len(strengths)
    first = rng.integers(0, n_models, n)
    second = (first + rng.integers(1, n_models, n)) % n_models
    lead = strengths[first] - strengths[second]
    prompts = None
    if n_prompts is not None:
        prompts = rng.integers(0, n_prompts, n)
        taste = rng.normal(0.0, 0.3, (n_prompts, n_models))
        lead = lead + taste[prompts, first] - taste[prompts, second]
    people = (rng.random(n) < expit(lead)).astype(float)
    own = rng.random(n) < expit(lead + favour * ((first == 0).astype(float) - (second == 0)) + place)
    judged = np.where(rng.random(n) < accurate, people, own)
    known = np.zeros(n, dtype=bool)
    known[rng.choice(n, n_labels, replace=False)] = True
    return first, second, people, judged, known, prompts


def rows_of(first, second, share, n_models, *, clusters=(), weight=None):
    outcome = np.where(share > 0.5, 0, np.where(share < 0.5, 1, 2))
    return vote_rows(first, second, outcome, n_models=n_models, share=share, clusters=clusters, weight=weight)


def corrected_fit(votes, n_models):
    first, second, people, judged, known, prompts = votes
    clusters = () if prompts is None else (prompts,)
    alone = fit_strengths(rows_of(first, second, judged, n_models))
    expected = expit(alone.strengths[first] - alone.strengths[second])
    share, stands_for, _ = corrected_shares(judged, np.where(known, people, np.nan), expected, np.ones(first.size))
    rows = rows_of(first, second, share, n_models, clusters=clusters)
    fit = fit_strengths(rows)
    own = tuple(codes[known] for codes in clusters)
    labelled = rows_of(first[known], second[known], people[known], n_models, clusters=own, weight=stands_for[known])
    return fit, with_labels(covariance_of(fit, rows), fit, labelled), alone


def test_shares_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    f, q, w = rng.integers(0, 3, 40) / 2.0, rng.uniform(0.2, 0.8, 40), rng.uniform(0.5, 2.0, 40)
    y = np.where(rng.random(40) < 0.4, rng.integers(0, 3, 40) / 2.0, np.nan)
    known, chance = np.isfinite(y), rng.uniform(0.2, 0.9, 40)
    share, stands_for, tuning = corrected_shares(f, y, q, w, probabilities=chance[known])
    by_hand = np.where(known, w / chance, 0.0)
    by_hand *= w.sum() / by_hand.sum()
    # Least squares by its normal equations, written out.
    x, z, v, at = f - 0.5, q - 0.5, y - 0.5, known
    s = by_hand[at] ** 2
    a = [[(s * x[at] ** 2).sum(), (s * x[at] * z[at]).sum()], [(s * x[at] * z[at]).sum(), (s * z[at] ** 2).sum()]]
    slope = np.linalg.solve(a, [(s * x[at] * v[at]).sum(), (s * z[at] * v[at]).sum()])
    wanted = 0.5 + slope[0] * x + slope[1] * z
    wanted[at] += by_hand[at] / w[at] * (y[at] - wanted[at])
    assert np.allclose(share, wanted)
    assert np.allclose(stands_for, by_hand)
    assert tuning == pytest.approx(slope[0])


def test_a_judge_that_says_what_people_say_is_left_as_it_is():
    first, second, people, _, known, _ = judged_world(np.random.default_rng(1), [0.5, 0.0, -0.5], 600, 80, accurate=1.0)
    fit, _, alone = corrected_fit((first, second, people, people, known, None), 3)
    assert np.allclose(fit.strengths, alone.strengths)


def test_sides_turned_round_give_the_same_votes_turned_round():
    rng = np.random.default_rng(2)
    f, q = rng.integers(0, 2, 60).astype(float), rng.uniform(0.2, 0.8, 60)
    y = np.where(rng.random(60) < 0.5, rng.integers(0, 2, 60), np.nan)
    share, _, _ = corrected_shares(f, y, q, np.ones(60))
    back, _, _ = corrected_shares(1 - f, 1 - y, 1 - q, np.ones(60))
    assert np.allclose(share, 1 - back)


def test_two_models_differ_by_the_log_odds_of_the_corrected_share():
    """With two models the strengths are in closed form; the mean share is the prediction-powered mean."""
    first, second, people, judged, known, _ = judged_world(
        np.random.default_rng(3), [0.4, -0.4], 500, 100, accurate=0.6, favour=1.0
    )
    fit, _, alone = corrected_fit((first, second, people, judged, known, None), 2)
    share, _, tuning = corrected_shares(
        judged,
        np.where(known, people, np.nan),
        expit(alone.strengths[first] - alone.strengths[second]),
        np.ones(500),
    )
    of_first = np.where(first == 0, share, 1 - share).mean()
    assert fit.strengths[0] - fit.strengths[1] == pytest.approx(logit(of_first))
    assert 0.3 < tuning < 0.9


def test_two_residuals_more_are_those_of_the_definition():
    rng = np.random.default_rng(4)
    first, second, people, judged, known, prompts = judged_world(
        rng, [0.5, 0.0, -0.5], 400, 60, accurate=0.8, n_prompts=50
    )
    fit, found, _ = corrected_fit((first, second, people, judged, known, prompts), 3)
    rows = rows_of(first, second, people, 3, clusters=(prompts,))
    alone = fit_strengths(rows_of(first, second, judged, 3))
    expected = expit(alone.strengths[first] - alone.strengths[second])
    share, _, _ = corrected_shares(judged, np.where(known, people, np.nan), expected, np.ones(400))
    before = covariance_of(fit, rows_of(first, second, share, 3, clusters=(prompts,)))
    counts = np.bincount(np.concatenate((first[known], second[known])), minlength=3)
    meat = np.zeros((3, 3))
    for a, b in zip(first[known], second[known], strict=True):
        pull = np.zeros(3)
        pull[a], pull[b] = 400 / 60, -400 / 60
        meat += 0.5 / min(counts[a], counts[b]) * np.outer(pull, pull)
    assert np.allclose(found.covariance, before.covariance + fit.bread @ meat @ fit.bread)
    k = np.bincount(prompts[known])
    assert found.df == pytest.approx(k.sum() ** 2 / (k**2).sum() - 1)
    assert (found.model_effective <= before.model_effective).all()
    assert rows.n_votes == 400


# Judges: one that says what people say in nine cases of ten and else prefers model 0; one that prefers model 0 by 1.5 in half of
# its votes; one that prefers side a; and one that only guesses.
JUDGES = {
    "rare and one-sided": {"accurate": 0.9, "favour": 10.0},
    "prefers model 0": {"accurate": 0.5, "favour": 1.5},
    "prefers side a": {"accurate": 0.4, "place": 1.5},
    "guesses": {"accurate": 0.0, "favour": 0.0, "place": 3.0},
}


def misses(judge, n_models, n_votes, n_labels, *, n_prompts=None, rounds=300, seed=0):
    """Return the share of pairs whose 95% interval misses, of those with model 0, and by the judge alone; and mean widths."""
    rng, strengths = np.random.default_rng(seed), np.linspace(0.7, -0.7, n_models)
    truth = strengths
    if n_prompts is not None:  # the average over prompts, of very many votes
        many = judged_world(np.random.default_rng(99), strengths, 1_500_000, 1, accurate=1.0, n_prompts=50_000)
        truth = fit_strengths(rows_of(many[0], many[1], many[2], n_models)).strengths
    i, j = np.triu_indices(n_models, 1)
    found = []
    for _ in range(rounds):
        votes = judged_world(rng, strengths, n_votes, n_labels, n_prompts=n_prompts, **JUDGES[judge])
        fit, covariance, alone = corrected_fit(votes, n_models)
        first, second, _, judged, _, prompts = votes
        rows = rows_of(first, second, judged, n_models, clusters=() if prompts is None else (prompts,))
        row = []
        for own, spread in ((fit, covariance), (alone, covariance_of(alone, rows))):
            q = np.array([t_quantile(0.95, df) for df in contrast_df(spread, i, j)])
            reach = q * np.sqrt(contrast_variance(spread, i, j))
            off = np.abs(own.strengths[i] - own.strengths[j] - truth[i] + truth[j])
            row += [(off > reach).mean(), (off > reach)[i == 0].mean(), reach.mean() * 2]
        found.append(row)
    return np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("n_models", "n_votes", "n_labels"), [(2, 1000, 50), (4, 2000, 100), (8, 4000, 400)])
def test_intervals_hold_the_strengths_of_people(judge, n_models, n_votes, n_labels):
    """Nominal 5%; 300 rounds have a Monte Carlo error of about 1.3 points at two models."""
    pairs, with_favourite, _, alone, *_ = misses(judge, n_models, n_votes, n_labels)
    assert pairs < 0.085
    assert with_favourite < 0.09
    if judge != "prefers side a":
        assert alone > pairs


@pytest.mark.slow
def test_intervals_hold_the_strengths_where_votes_share_prompts():
    """Forty prompts with tastes of their own, of which labels see all."""
    pairs, _, _, alone, *_ = misses("prefers model 0", 4, 2000, 200, n_prompts=60)
    assert pairs < 0.08
    assert alone > 0.2
