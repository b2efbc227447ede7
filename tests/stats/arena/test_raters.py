"""Bets against honesty: what they are, how often honest raters are flagged, and which manipulators are found."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit, logsumexp

from evalstats.stats.arena import raters, tastes
from evalstats.stats.arena.raters import (
    Rings,
    _adjusted,
    _balanced,
    _disagreement,
    _evidence,
    _largest,
    _lower_ratings,
    _Model,
    _rings_of_the_careful,
    _side_against,
    _side_bands,
    _suspects,
    _weight_of,
    loyal_log,
    loyalty,
    rater_evidence,
    rings,
    side_log_e,
)
from evalstats.stats.arena.tastes import (
    DecidedVotes,
    decided_line,
    decided_votes,
    estimated_taste,
    honest_forecasts,
    only_raters,
)
from evalstats.stats.many.multiplicity import e_bh
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
    local, _ = tastes._local_models(votes)
    starts = np.searchsorted(votes.rater, np.arange(votes.n_raters + 1))
    sizes = np.diff(starts)
    order = np.argsort(-sizes, kind="stable")
    block = tastes._Block(votes=votes, eta=votes.eta, local=local, starts=starts[order], n_votes=sizes[order])
    by_votes, by_models = np.empty(300), np.empty(300)
    block.by_votes(np.full(6, 0.7), by_votes)
    block.by_models(np.full(6, 0.7), by_models, 6)
    assert by_votes == pytest.approx(by_models, abs=1e-12)


def test_sides_and_models_may_be_turned_round(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = _votes(np.random.default_rng(5), 4, 120)
    turned = decided_votes(votes.rater, (votes.second, votes.first), ~votes.a_won, -votes.eta, votes.uncertainty)
    monkeypatch.setattr(raters, "estimated_taste", lambda *_, **__: 0.7)
    one, other = rater_evidence(votes), rater_evidence(turned)
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
    for _ in range(80):
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
    flagged = [any_flag(evidence(honest(np.random.default_rng(100 + k), ties=float(k % 2)))) for k in range(4)]
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
    for seed in range(2):
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
        evidence(honest(np.random.default_rng([1, k]), n_models=4, n_raters=12, each=167, sd=1.0)) for k in range(4)
    ]
    assert not any((each.ring_adjusted <= 0.05).any() for each in found)


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


# Definitions in their slow form


def _gathered(seed: int, *, n_raters: int = 7, n: int = 150, n_models: int = 4) -> DecidedVotes:
    rng = np.random.default_rng(seed)
    votes = _votes(rng, n_raters, n, n_models)
    return decided_votes(
        votes.rater, (votes.first, votes.second), votes.a_won, votes.eta, rng.uniform(0.01, 0.3, n_models)
    )


def _on_model(votes: DecidedVotes, rater: int, model: int) -> list[tuple[int, float, bool]]:
    """Opponent, log-odds of the model, and whether it won, of every vote of a rater on a model."""
    out = []
    for row in np.flatnonzero(votes.rater == rater):
        if votes.first[row] == model:
            out.append((int(votes.second[row]), float(votes.eta[row]), bool(votes.a_won[row])))
        elif votes.second[row] == model:
            out.append((int(votes.first[row]), -float(votes.eta[row]), not votes.a_won[row]))
    return out


def test_loyalty_bets_on_every_model_met_as_often_as_it_was_met() -> None:
    votes = _gathered(2, n=60)
    p = np.random.default_rng(0).uniform(0.2, 0.8, 60)
    found = loyalty(votes, p)
    for rater in range(votes.n_raters):
        mine = np.flatnonzero(votes.rater == rater)
        parts = []
        for model in range(4):
            seen = [row for row in mine if model in {votes.first[row], votes.second[row]}]
            won = [(votes.first[row] == model) == votes.a_won[row] for row in seen]
            chance = np.prod([p[row] if votes.a_won[row] else 1.0 - p[row] for row in seen])
            loyal = np.mean([q ** sum(won) * (1.0 - q) ** (len(won) - sum(won)) for q in (0.85, 0.95, 0.99)])
            parts.append((len(seen) / (2.0 * mine.size) * loyal / chance, model, len(seen), sum(won)))
        assert found.of_rater[rater] == pytest.approx(np.log(sum(part[0] for part in parts)))
        assert (found.model[rater], found.met[rater], found.won[rater]) == max(parts)[1:]


@pytest.mark.parametrize(("taste", "line"), [(0.8, (0.2, 1.2)), (0.05, (-0.1, 0.8))])
def test_the_evidence_of_a_ring_is_that_of_its_mixture_over_the_best_honest_rating(
    taste: float, line: tuple[float, float]
) -> None:
    """Every integral over tastes on a fine grid, rater by rater and opponent by opponent."""
    votes = _gathered(4, n_raters=9, n=110)
    found = rings(votes, taste=taste, line=line)
    u = np.linspace(-7.0, 7.0, 281)
    c = (16.0 * math.sqrt(3.0) / (15.0 * math.pi)) ** 2
    sharper, blur, wide = math.sqrt(1.0 + 2.0 * c * taste**2), math.sqrt(1.0 + c * taste**2), max(taste, 0.15)
    opponents = np.exp(-0.5 * (u / wide) ** 2)
    opponents /= opponents.sum()
    for model in range(2):
        lined = replace(votes, eta=line[0] + line[1] * votes.eta)
        cells = [(rater, _on_model(lined, rater, model)) for rater in range(9)]
        cells = [(rater, seen) for rater, seen in cells if len(seen) >= 3]
        given, loyal = [], []
        for _, seen in cells:
            law = np.ones_like(u)
            for other in {each[0] for each in seen}:
                against_it = [each for each in seen if each[0] == other]
                eta = np.mean([sharper * each[1] for each in against_it])
                won = sum(each[2] for each in against_it)
                lost = len(against_it) - won
                if len(against_it) == 1:
                    law = law * expit((won - lost) * (eta + u) / blur)
                else:
                    at = eta + u[:, None] + u
                    law = law * (expit(at) ** won * expit(-at) ** lost @ opponents)
            given.append(law)
            won = sum(each[2] for each in seen)
            loyal.append(np.mean([q**won * (1.0 - q) ** (len(seen) - won) for q in (0.85, 0.95, 0.99)]))

        def honest(shift: float, given=given) -> np.ndarray:
            weight = np.exp(-0.5 * ((u - sharper * line[1] * shift) / wide) ** 2)
            return np.array(given) @ weight / weight.sum()

        se = math.sqrt(votes.uncertainty[model])
        shifts = [0.0, *(-se * 2.0**k for k in range(1 + math.ceil(math.log2(4.0 / se))))]
        parts = [
            (size, shift, np.log((1.0 - size) * honest(shift) + size * np.array(loyal)).sum())
            for size in (0.02, 0.05, 0.1, 0.2)
            for shift in shifts
        ]
        null = max(np.log(honest(shift)).sum() for shift in np.linspace(-4.0, 2.0, 301))
        total = logsumexp([part[2] for part in parts])
        assert found.log_e[model] == pytest.approx(total - math.log(len(parts)) - null, abs=2e-3)
        member = sum(
            math.exp(log - total) * size * np.array(loyal) / ((1.0 - size) * honest(shift) + size * np.array(loyal))
            for size, shift, log in parts
        )
        at = found.model == model
        assert found.rater[at].tolist() == [rater for rater, _ in cells]
        assert found.member[at] == pytest.approx(member, abs=2e-3)


@pytest.mark.parametrize(
    ("std_error", "wanted"),
    [(0.5, [0, 0.5, 1, 2, 4]), (0.3, [0, 0.3, 0.6, 1.2, 2.4, 4.8]), (7.0, [0, 1, 2, 4]), (0.0, [0, 0.001])],
)
def test_ratings_lower_by_none_one_two_and_four_standard_errors(std_error: float, wanted: list[float]) -> None:
    found = -_lower_ratings(std_error)
    assert found[: len(wanted)] == pytest.approx(wanted)
    if std_error:
        assert found.size == len(wanted)
    assert 4.0 <= found[-1] < 8.0


def test_members_of_a_ring_are_as_many_as_keep_the_share_of_honest_ones() -> None:
    around = Rings(
        log_e=np.zeros(2),
        model=np.array([0, 1, 0, 0, 0, 0]),
        rater=np.array([5, 9, 3, 8, 2, 1]),
        member=np.array([0.93, 1.0, 0.99, 0.91, 0.89, 0.2]),
    )
    assert around.members(0, 0.05).tolist() == [3, 5]  # .01, then (.01 + .07) / 2, then .17 / 3
    assert around.members(0, 0.06).tolist() == [3, 5, 8]
    assert around.members(0, 0.9).tolist() == [3, 5, 8]
    assert around.members(0, 0.005).tolist() == []
    assert around.members(1, 0.05).tolist() == [9]
    # Limits count in: a probability of .9, and a share of 1/16.
    assert replace(around, member=np.full(6, 0.9)).members(1, 0.2).tolist() == [9]
    assert replace(around, member=np.full(6, 0.9375)).members(1, 0.0625).tolist() == [9]


def test_sides_are_judged_by_what_the_other_raters_show() -> None:
    rng = np.random.default_rng(9)
    votes = _gathered(6, n_raters=8, n=400)
    for share in (0.5, 0.65, 0.2, 0.995):
        others = decided_votes(
            votes.rater, (votes.first, votes.second), rng.random(400) < share, votes.eta, votes.uncertainty
        )
        n = np.bincount(others.rater)
        wins = np.bincount(others.rater, weights=others.a_won).astype(int)
        low, high = _side_bands(wins, n, others)
        for rater in range(8):
            rest = others.a_won[others.rater != rater]
            reach = 2.0 * math.sqrt((rest.mean() * (1.0 - rest.mean()) + 1.0 / rest.size) / rest.size)
            if abs(rest.mean() - 0.5) <= reach:
                assert (low[rater], high[rater]) == (0.5, 0.5)
            else:
                ends = rest.mean() - reach, rest.mean() + reach
                assert low[rater] == pytest.approx(max(0.01, min(ends[0], 0.5)))
                assert high[rater] == pytest.approx(min(0.99, max(ends[1], 0.5)))
    alone = _one_rater(np.array([True, True, False]))
    assert [each.tolist() for each in _side_bands(np.array([2]), np.array([3]), alone)] == [[0.5], [0.5]]


@pytest.mark.parametrize(("n", "balanced"), [(8, True), (10, False)])
def test_sides_are_unbalanced_where_the_stronger_stands_on_one_too_often(n: int, balanced: bool) -> None:
    """n times the same lead add up to n of it, and their chance to sqrt(n): three standard errors are passed at n = 9."""
    for sign in (1.0, -1.0):
        votes = _one_rater(np.ones(8, dtype=bool))
        eta = np.full(n, sign * 0.7)
        votes = decided_votes(
            np.zeros(n, dtype=int), (np.zeros(n, dtype=int), np.ones(n, dtype=int)), eta > 0, eta, np.ones(2)
        )
        assert _balanced(votes) is balanced
        assert _balanced(replace(votes, eta=np.zeros(n)))


def test_evidence_is_put_together_from_its_bets() -> None:
    """Who votes as expected, how often, and the bet on a side, which where sides are unbalanced must also beat the forecasts."""
    for seed, lead in ((1, 0.0), (2, 1.5)):
        votes = _gathered(seed, n=200)
        votes = replace(votes, eta=np.where(np.arange(200) % 9, votes.eta + lead, 0.0))  # models may be level
        line, taste = (0.1, 0.9), 0.6
        found = _evidence(votes, votes, line, taste)
        p = honest_forecasts(votes, taste=taste, line=line)
        n, wins = np.bincount(votes.rater), np.bincount(votes.rater, weights=votes.a_won).astype(int)
        assert (found.n_votes.tolist(), found.n_first_side.tolist()) == (n.tolist(), wins.tolist())
        plain = side_log_e(wins, n - wins, *_side_bands(wins, n, votes))
        assert _balanced(votes) is (lead == 0.0)
        for rater in range(votes.n_raters):
            mine = np.flatnonzero(votes.rater == rater)
            agree, expected, bet, before = 0, 0.0, 0.0, 0
            for k, row in enumerate(mine):
                ahead = votes.eta[row] > 0
                agree += ahead == votes.a_won[row]
                expected += p[row] if ahead else 1.0 - p[row]
                q = (before + 0.5) / (k + 1.0)
                bet += np.log(q / p[row]) if votes.a_won[row] else np.log((1.0 - q) / (1.0 - p[row]))
                before += votes.a_won[row]
            assert found.n_agree[rater] == agree
            assert found.expected_agree[rater] == pytest.approx(expected)
            side = plain[rater] if lead == 0.0 else min(plain[rater], bet)
            assert found.log_e[rater, 0] == pytest.approx(side)
        assert found.log_e[:, 1] == pytest.approx(_disagreement(votes, p, line))
        bets = loyalty(votes, p)
        assert found.log_e[:, 2] == pytest.approx(bets.of_rater)
        assert found.loyal_to.tolist() == bets.model.tolist()
        assert (found.loyal_met.tolist(), found.loyal_won.tolist()) == (bets.met.tolist(), bets.won.tolist())
        assert found.adjusted.ravel() == pytest.approx(np.minimum(1.0, 2.0 * e_bh(np.exp(found.log_e.ravel()))))
        assert found.ring_adjusted == pytest.approx(np.minimum(1.0, 2.0 * e_bh(np.exp(found.rings.log_e))))
        assert found.taste == taste


def test_e_values_beyond_all_numbers_are_flagged_and_nothing_overflows() -> None:
    assert _adjusted(np.array([2000.0, -5.0, 0.0])).tolist() == pytest.approx([0.0, 1.0, 1.0], abs=1e-200)


def test_who_is_suspect_alone_or_in_a_ring() -> None:
    votes = _gathered(3, n=100)
    plain = _evidence(votes, votes, PLAIN, 0.5)
    log_e = np.full((7, 3), -1.0)
    log_e[2, 1], log_e[4, 0] = math.log(31.0), math.log(29.0)
    around = Rings(
        log_e=np.array([math.log(6.0), math.log(4.0), 0.0, 0.0]),
        model=np.array([0, 0, 1, 1]),
        rater=np.array([5, 6, 1, 3]),
        member=np.array([0.51, 0.49, 0.99, 0.99]),
    )
    assert _suspects(replace(plain, log_e=log_e, rings=around)).tolist() == [2, 5]


def test_the_weight_of_some_raters_is_their_largest_share_of_a_models_votes() -> None:
    votes = _gathered(5, n=90)
    some = np.array([True, False, False, True, False, False, False])
    shares = []
    for model in range(4):
        on_it = (votes.first == model) | (votes.second == model)
        shares.append(some[votes.rater[on_it]].mean())
    assert _weight_of(votes, some) == pytest.approx(max(shares))
    wider = replace(votes, uncertainty=np.ones(6))  # two models without votes
    assert _weight_of(wider, some) == pytest.approx(max(shares))
    theirs_alone = decided_votes(
        np.array([0, 0, 1]),
        (np.array([0, 0, 2]), np.array([1, 1, 1])),
        np.array([True, False, True]),
        np.zeros(3),
        np.ones(3),
    )
    assert _weight_of(theirs_alone, np.array([False, True])) == 1.0  # the one vote on the third model


def test_a_suspect_is_left_out_of_ratings_line_and_taste_and_judged_by_the_rest() -> None:
    rng = np.random.default_rng(3)
    votes = _votes(rng, 12, 900, 4, sd=1.0)
    turned = np.where(votes.rater == 5, ~(votes.eta > 0), votes.a_won).astype(bool)
    votes = replace(votes, a_won=turned)
    asked, again = [], (0.9 * votes.eta, np.full(4, 0.07))

    def rate(believed):
        asked.append(believed.tolist())
        return again

    found = rater_evidence(votes, rate=rate)
    wanted = [rater != 5 for rater in range(12)]
    assert asked == [wanted]
    used = replace(votes, eta=again[0], uncertainty=again[1])
    rest = only_raters(used, np.array(wanted))
    line = decided_line(rest.eta, rest.a_won)
    taste = estimated_taste(rest, line, seed=0)
    assert found.taste == pytest.approx(taste)
    expected = _evidence(used, used, line, taste)
    assert found.log_e == pytest.approx(expected.log_e)
    assert found.adjusted[5].min() <= 0.05
    # Without other ratings to be had the votes are judged by those they came with.
    alone = rater_evidence(votes, rate=lambda _: None)
    assert alone.log_e == pytest.approx(rater_evidence(votes).log_e)
    # A suspect with a hundredth of the votes changes nothing that matters: no second look.
    few = only_raters(votes, np.arange(12) != 5)
    small = decided_votes(
        np.append(few.rater, [11] * 14),
        (np.append(few.first, [0, 1, 2, 3] * 3 + [0, 1]), np.append(few.second, [1, 2, 3, 0] * 3 + [1, 2])),
        np.append(few.a_won, [False] * 14),
        np.append(few.eta, [3.0] * 14),
        few.uncertainty,
    )
    asked.clear()
    assert rater_evidence(small, rate=rate).log_e[11, 1] > math.log(30.0)
    assert asked == []


def test_raters_of_ten_votes_and_more_are_judged_under_their_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rater = np.repeat(np.arange(4), [10, 9, 30, 12])
    first = rng.integers(0, 3, rater.size)
    votes = decided_votes(
        rater, (first, (first + 1) % 3), rng.random(rater.size) < 0.5, rng.normal(size=rater.size), np.full(3, 0.1)
    )
    monkeypatch.setattr(raters, "estimated_taste", lambda *_, **__: 0.4)
    found = rater_evidence(votes)
    assert found.rater.tolist() == [0, 2, 3]
    assert found.n_votes.tolist() == [10, 30, 12]
    assert set(found.rings.rater.tolist()) <= {0, 2, 3}
    assert 3 in found.rings.rater


def test_one_rater_alone_is_no_ring() -> None:
    rater = np.repeat([0, 1, 2], [9, 2, 2])
    pairs = np.zeros(13, dtype=np.int64), 1 + np.arange(13) % 6
    found = rings(
        decided_votes(rater, pairs, np.ones(13, dtype=bool), np.zeros(13), np.full(7, 0.1)), taste=0.5, line=PLAIN
    )
    assert found.log_e.tolist() == [0.0] * 7
    assert (found.model.tolist(), found.rater.tolist(), found.member.tolist()) == ([0], [0], [0.0])
    with_two = np.repeat([0, 1], [7, 6])
    found = rings(
        decided_votes(with_two, pairs, np.ones(13, dtype=bool), np.zeros(13), np.full(7, 0.1)), taste=0.5, line=PLAIN
    )
    assert found.log_e[0] != 0.0
    assert found.rater.tolist() == [0, 1]


def test_of_one_vote_the_nearest_share_within_the_limits_is_that_of_the_side_chosen() -> None:
    low, high = np.array([0.4]), np.array([0.9])
    mixed = integrate.quad(lambda p: p * stats.beta.pdf(p, 0.5, 0.5), 0.0, 1.0)[0]
    assert side_log_e(np.array([1]), np.array([0]), low, high)[0] == pytest.approx(math.log(mixed / 0.9))
    assert side_log_e(np.array([0]), np.array([1]), low, high)[0] == pytest.approx(math.log(mixed / 0.6))
    assert side_log_e(np.array([0]), np.array([0]), low, high)[0] == pytest.approx(0.0)


def test_a_bet_on_a_side_against_forecasts_follows_the_rater_s_own_votes_so_far() -> None:
    """(wins + 1/2) / (votes + 1) before each vote, over the forecast."""
    votes = _gathered(5, n=50)
    p = np.random.default_rng(1).uniform(0.2, 0.8, 50)
    found = _side_against(votes, p)
    for rater in range(votes.n_raters):
        bet, seen = 0.0, []
        for row in np.flatnonzero(votes.rater == rater):
            q = (sum(seen) + 0.5) / (len(seen) + 1.0)
            bet += math.log(q / p[row] if votes.a_won[row] else (1.0 - q) / (1.0 - p[row]))
            seen.append(bool(votes.a_won[row]))
        assert found[rater] == pytest.approx(bet)


def test_rings_are_looked_for_among_raters_who_read(monkeypatch) -> None:
    """Strong evidence for one side or of disagreement takes a rater out, unless that of loyalty is stronger."""
    votes = _gathered(6, n_raters=6)
    log_e = np.array([[0, 0, 0], [9, 0, 5], [9, 0, 12], [0, 9, 5], [3, 3, 0], [0, 9, 12]], dtype=float)

    def all_of(some, **_):
        return Rings(log_e=np.zeros(4), model=np.zeros(0), rater=np.arange(some.n_raters), member=np.zeros(0))

    monkeypatch.setattr(raters, "rings", all_of)
    assert _rings_of_the_careful(votes, log_e, 0.5, PLAIN).rater.tolist() == [0, 2, 4, 5]


def test_forecasts_of_what_is_certain_are_still_within_0_and_1() -> None:
    votes = replace(_one_rater(np.ones(8, dtype=bool)), eta=np.array([40.0, -40.0] * 4))
    found = honest_forecasts(votes, taste=0.3, line=PLAIN)
    assert (found[0], found[1]) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-11))
    assert ((found > 0.0) & (found < 1.0)).all()


def test_votes_that_a_taste_hardly_explains_have_the_likelihood_of_the_sum_in_logs() -> None:
    """Beside raters whose votes it does explain: products below all numbers are those of the far ones alone."""
    grid = raters._GRID
    logs = -0.5 * (np.array([0.0, 4.0, 6.5, -9.0])[:, None] - grid) ** 2 / 0.02
    logs -= logs.max(axis=1, keepdims=True)
    most = np.array([-1.0, -2.0, -3.0, -4.0])
    model = _Model(most=most, logs=logs, likelihood=np.exp(logs), loyal=np.zeros(4), taste=0.15, sharper=1.3)
    for shift in (0.0, -0.5):
        weight = -0.5 * ((grid - 1.3 * shift) / 0.15) ** 2
        wanted = most + logsumexp(logs + weight, axis=1) - logsumexp(weight)
        assert wanted.min() < -590.0 < wanted.max()
        assert model.honest(shift) == pytest.approx(wanted)
