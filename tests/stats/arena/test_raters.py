"""Bets against honesty: what they are, how often honest raters are flagged, and which manipulators are found."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit, logsumexp

from evalstats.stats.arena import rater_effects
from evalstats.stats.arena.rater_effects import DecidedVotes, decided_line, decided_votes, honest_forecasts
from evalstats.stats.arena.raters import _disagreement, _largest, loyal_log, loyalty, rater_evidence, rings, side_log_e
from tests.stats.arena.voting_by_hand import against, any_flag, clicks, evidence, honest, one_side, ring, ring_found

EXACT = 1e-9  # sums of a few thousand products
PLAIN = (0.0, 1.0)


def _votes(rng: np.random.Generator, n_raters: int, n: int, n_models: int = 6, sd: float = 1.0) -> DecidedVotes:
    rater = np.sort(rng.integers(0, n_raters, n))
    first = rng.integers(n_models, size=n)
    second = (first + rng.integers(1, n_models, size=n)) % n_models
    eta = rng.normal(0.0, sd, n)
    return decided_votes(rater, (first, second), rng.random(n) < expit(eta), eta, np.full(n_models, 0.05))


def _all_outcomes(n: int) -> list[np.ndarray]:
    return [np.array(bits, dtype=bool) for bits in itertools.product((False, True), repeat=n)]


def _one_rater(won: np.ndarray) -> DecidedVotes:
    n = won.size
    first, second = np.array([0, 1, 2, 0, 1, 0, 2, 1])[:n], np.array([1, 2, 0, 2, 0, 1, 1, 2])[:n]
    eta = np.array([0.5, -0.3, 0.2, 1.0, -0.8, 0.4, 0.0, -1.2])[:n]
    return decided_votes(np.zeros(n, dtype=np.int64), (first, second), won, eta, np.full(3, 0.1))


def test_every_bet_is_fair_when_all_sequences_of_votes_are_summed() -> None:
    total, log_e = 0.0, {"disagreement": 0.0, "loyalty": 0.0}
    for won in _all_outcomes(8):
        votes = _one_rater(won)
        p = honest_forecasts(votes, taste=0.8, line=PLAIN)
        chance = float(np.prod(np.where(won, p, 1.0 - p)))
        total += chance
        log_e["disagreement"] += chance * float(np.exp(_disagreement(votes, p, PLAIN)[0]))
        log_e["loyalty"] += chance * float(np.exp(loyalty(votes, p).of_rater[0]))
    assert math.isclose(total, 1.0, abs_tol=EXACT)
    assert math.isclose(log_e["disagreement"], 1.0, abs_tol=EXACT)
    assert math.isclose(log_e["loyalty"], 1.0, abs_tol=EXACT)


@pytest.mark.parametrize("share", [0.45, 0.5, 0.53, 0.56])
def test_the_bet_on_a_side_has_mean_at_most_one_between_the_limits(share: float) -> None:
    n = 30
    a = np.arange(n + 1)
    low, high = np.full(n + 1, 0.45), np.full(n + 1, 0.56)
    assert stats.binom.pmf(a, n, share) @ np.exp(side_log_e(a, n - a, low, high)) <= 1.0 + EXACT


def test_the_bet_on_a_side_against_one_half_is_the_beta_mixture() -> None:
    a, n = 17, 20
    mixed = integrate.quad(lambda p: p**a * (1 - p) ** (n - a) * stats.beta.pdf(p, 0.5, 0.5), 0.0, 1.0)[0]
    half = np.array([0.5])
    assert math.isclose(
        side_log_e(np.array([a]), np.array([n - a]), half, half)[0], math.log(mixed * 2.0**n), rel_tol=1e-7
    )


def test_the_first_forecast_is_everybodys_and_later_ones_follow_the_raters_taste() -> None:
    votes = decided_votes(
        np.zeros(6, dtype=np.int64),
        (np.zeros(6, dtype=np.int64), np.ones(6, dtype=np.int64)),
        np.ones(6, dtype=bool),
        np.full(6, -0.4),
        np.zeros(2),
    )
    p = honest_forecasts(votes, taste=1.0, line=PLAIN)
    # The logistic of normal noise by its usual approximation, right to two digits.
    assert p[0] == pytest.approx(expit(-0.4), abs=0.01)
    assert (np.diff(p) > 0.0).all()
    assert honest_forecasts(votes, taste=0.0, line=PLAIN) == pytest.approx(np.full(6, expit(-0.4)), abs=1e-6)


def test_forecasts_of_two_votes_are_those_of_the_integral() -> None:
    votes = _one_rater(np.array([True, False]))
    p = honest_forecasts(votes, taste=0.9, line=PLAIN)
    variance = 0.9**2 + 0.1
    sharper = math.sqrt(1.0 + (16.0 * math.sqrt(3.0) / (15.0 * math.pi)) ** 2 * 2.0 * 0.9**2)
    nodes, mass = np.polynomial.hermite_e.hermegauss(40)
    x, w = nodes * math.sqrt(variance), mass / mass.sum()
    u0, u1, u2 = np.meshgrid(x, x, x, indexing="ij")
    weight = np.einsum("i,j,k->ijk", w, w, w)
    first, second = expit(sharper * 0.5 + u0 - u1), expit(-sharper * 0.3 + u1 - u2)
    assert p[0] == pytest.approx((weight * first).sum(), abs=1e-6)
    # The filter keeps two moments of a law that is not quite normal.
    assert p[1] == pytest.approx((weight * first * second).sum() / (weight * first).sum(), abs=2e-3)


def test_both_ways_to_filter_give_the_same() -> None:
    votes = _votes(np.random.default_rng(3), 20, 300)
    local, _ = rater_effects._local_models(votes)
    starts = np.searchsorted(votes.rater, np.arange(votes.n_raters + 1))
    sizes = np.diff(starts)
    order = np.argsort(-sizes, kind="stable")
    block = rater_effects._Block(votes=votes, eta=votes.eta, local=local, starts=starts[order], n_votes=sizes[order])
    by_votes, by_models = np.empty(300), np.empty(300)
    block.by_votes(np.full(6, 0.7), by_votes)
    block.by_models(np.full(6, 0.7), by_models, 6)
    assert by_votes == pytest.approx(by_models, abs=1e-12)


def test_sides_and_models_may_be_turned_round() -> None:
    votes = _votes(np.random.default_rng(5), 4, 120)
    turned = decided_votes(votes.rater, (votes.second, votes.first), ~votes.a_won, -votes.eta, votes.uncertainty)
    one, other = rater_evidence(votes, taste=0.7), rater_evidence(turned, taste=0.7)
    assert one is not None
    assert other is not None
    assert one.log_e[:, 1:] == pytest.approx(other.log_e[:, 1:], abs=0.05)  # the intercept's prior is not turned
    assert one.n_first_side.tolist() == (other.n_votes - other.n_first_side).tolist()


def test_tastes_are_found_again() -> None:
    found = []
    for seed in range(4):
        votes = honest(np.random.default_rng(seed), sd=0.8, n_models=8, n_raters=150)
        found.append(evidence(votes).taste)
    # Four tables of 3,000 votes: the standard error of the mean is .05.
    assert np.mean(found) == pytest.approx(0.8, abs=0.15)


def test_a_straight_line_of_log_odds_is_found() -> None:
    rng = np.random.default_rng(0)
    eta = rng.normal(size=40_000)
    intercept, slope = decided_line(eta, rng.random(eta.size) < expit(0.3 + 1.6 * eta))
    assert (intercept, slope) == pytest.approx((0.3, 1.6), abs=0.06)


def test_fewer_than_ten_votes_say_nothing() -> None:
    assert rater_evidence(_votes(np.random.default_rng(1), 30, 60)) is None


def test_a_law_of_rings_is_a_law() -> None:
    """Likelihoods of all outcomes of one rater's votes add up to 1, loyal or not."""
    met = 5
    loyal = [float(loyal_log(np.array([float(w.sum())]), np.array([met]))[0]) for w in _all_outcomes(met)]
    assert math.isclose(float(np.exp(logsumexp(loyal))), 1.0, abs_tol=EXACT)


def test_no_ring_is_seen_where_raters_met_models_once() -> None:
    votes = decided_votes(
        np.arange(40),
        (np.zeros(40, dtype=np.int64), np.ones(40, dtype=np.int64)),
        np.ones(40, dtype=bool),
        np.zeros(40),
        np.full(2, 0.1),
    )
    assert rings(votes, taste=0.5, line=PLAIN).log_e.tolist() == [0.0, 0.0]


def test_rings_have_an_evidence_of_mean_at_most_one() -> None:
    """Under the very law that the null supposes: own taste for the model, blurred tastes for opponents."""
    rng, values = np.random.default_rng(11), []
    for _ in range(150):
        rater = np.repeat(np.arange(30), 6)
        taste = rng.normal(0.0, 0.8, 30)
        eta = rng.normal(0.0, 0.6, rater.size)
        sharper = math.sqrt(1.0 + 2.0 * 0.8**2 * (16.0 * math.sqrt(3.0) / (15.0 * math.pi)) ** 2)
        opponents = rng.normal(0.0, 0.8, rater.size)
        won = rng.random(rater.size) < expit(sharper * eta + taste[rater] + opponents)
        pairs = (np.zeros(rater.size, dtype=np.int64), 1 + np.arange(rater.size) % 180)
        votes = decided_votes(rater, pairs, won, eta, np.full(181, 0.02))
        values.append(float(np.exp(rings(votes, taste=0.8, line=PLAIN).log_e[0])))
    assert np.mean(values) <= 1.0


def test_honest_raters_of_strong_taste_are_not_flagged() -> None:
    flagged = [any_flag(evidence(honest(np.random.default_rng(100 + k), ties=float(k % 2)))) for k in range(8)]
    assert sum(flagged) <= 1


def test_who_always_votes_one_side_is_found() -> None:
    for seed in range(2):
        votes = honest(np.random.default_rng(seed), each=30, n_raters=66)
        one_side(votes, 7)
        found = evidence(votes)
        assert found.adjusted[7, 0] <= 0.05
        assert found.n_first_side[7] == 30
        assert (np.delete(found.adjusted, 7, axis=0) > 0.05).all()


def test_a_ring_of_ten_is_found_in_most_tables() -> None:
    shares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        votes = honest(rng)
        ring(rng, votes, range(10), 4)
        shares.append(ring_found(evidence(votes), 4, range(10)))
    assert np.mean(shares) >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("n_models", "ties"), [(20, 0.0), (10, 1.0)])
def test_honest_tables_are_flagged_less_than_promised(n_models: int, ties: float) -> None:
    flagged = [any_flag(evidence(honest(np.random.default_rng(k), n_models=n_models, ties=ties))) for k in range(300)]
    # A rate of 5% gives more than 26 of 300 once in a thousand times.
    assert sum(flagged) <= 26


@pytest.mark.slow
def test_power_against_planted_manipulators() -> None:
    """What is found of each kind at 5%; `validation.arena_manipulators` prints the table."""
    sides, rings_found, turned, random_clicks = [], [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        votes = honest(rng)
        ring(rng, votes, range(10), 4)
        rings_found.append(ring_found(evidence(votes), 4, range(10)))
        votes = honest(rng, each=30, n_raters=66)
        one_side(votes, 0)
        sides.append(evidence(votes).adjusted[0, 0] <= 0.05)
        votes = honest(rng, each=100, n_raters=20)
        against(votes, 0)
        clicks(rng, votes, 1)
        found = evidence(votes)
        turned.append((found.adjusted[0] <= 0.05).any())
        random_clicks.append((found.adjusted[1] <= 0.05).any())
    assert np.mean(sides) == 1.0
    assert np.mean(rings_found) >= 0.6  # .63 here, .85 in 60 others: mostly all or none, so se .08
    assert np.mean(turned) >= 0.5
    assert np.mean(random_clicks) >= 0.1


def test_votes_that_no_honest_taste_explains_are_still_numbers() -> None:
    """One rater votes 600 times for one model where hardly any taste is: products of likelihoods fall below all numbers."""
    rng = np.random.default_rng(0)
    rater, n = np.repeat(np.arange(5), 600), 3_000
    pairs = np.zeros(n, dtype=np.int64), rng.integers(1, 12, n)
    won = np.where(rater == 0, True, rng.random(n) < 0.5)
    found = rings(decided_votes(rater, pairs, won, np.zeros(n), np.full(12, 1e-3)), taste=0.0, line=(0.0, 4.0))
    assert np.isfinite(found.log_e).all()
    assert found.log_e[0] > 50.0


def test_few_raters_with_many_votes_are_no_ring() -> None:
    """12 honest raters with tastes of 1 and 80 votes on each of 4 models: 19% of tables had a ring."""
    found = [
        evidence(honest(np.random.default_rng([1, k]), n_models=4, n_raters=12, each=167, sd=1.0)) for k in range(12)
    ]
    assert sum(bool((each.ring_adjusted <= 0.05).any()) for each in found) <= 1


@pytest.mark.parametrize("peak", [-3.1, -0.8, -0.2, 0.0, 0.3, 0.7, 1.4, 1.9])
def test_the_best_common_rating_is_found_wherever_it_lies(peak):
    class Bowl:
        def honest(self, shift):
            return np.array([1.0, -((shift - peak) ** 2)])

    shifts = -np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    assert _largest(Bowl(), shifts, 1.0 - (shifts - peak) ** 2) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("line", [PLAIN, (0.7, 0.5), (-1.1, 1.4)])
def test_disagreement_bets_on_chance_and_on_the_weaker_keeping_the_side(line):
    """The mean over slopes 0 and -1 of the product over votes of q / p, q the share of side a with the lead times the slope."""
    votes = _one_rater(np.array([True, False, False, True, True, False, True, False]))
    p = np.full(8, 0.6)
    bets = []
    for slope in (0.0, -1.0):
        q = expit(line[0] + slope * line[1] * votes.eta)
        bets.append(np.prod(np.where(votes.a_won, q / p, (1.0 - q) / (1.0 - p))))
    assert np.exp(_disagreement(votes, p, line)) == pytest.approx([np.mean(bets)])
