"""Limits for a model that won or lost every vote: their definition, what must not move them, and how often they miss."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from evalstats.errors import InputError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.contrasts import PerfectRecord, RecordLimits, perfect_record, record_limits
from evalstats.stats.arena.covariance import covariance_of
from evalstats.stats.arena.votes import VoteRows, vote_rows

RATED = np.array([0.5, 0.0, -0.5])
# Of votes by the million, so that the opponents' strengths have no error to speak of.
_EXACT = vote_rows(
    [0, 0, 0, 0, 1, 1],
    [1, 1, 2, 2, 2, 2],
    [0, 1, 0, 1, 0, 1],
    count=np.round(1e9 * np.array([expit(0.5), expit(-0.5), expit(1.0), expit(-1.0), expit(0.5), expit(-0.5)])).astype(
        int
    ),
)


def _limits(record: PerfectRecord, rated: VoteRows = _EXACT, conf_level: float = 0.95) -> RecordLimits:
    fit = fit_strengths(rated)
    against = np.vstack([np.full((1, 3), 1 / 3), np.eye(3)])
    return record_limits(record, fit, covariance_of(fit, rated), against, conf_level=conf_level)


def _record(opponent: list[int], *, won: bool = True, ways: tuple[list[int], ...] = ()) -> PerfectRecord:
    n = len(opponent)
    return PerfectRecord(
        won=won,
        opponent=np.array(opponent),
        lift=np.zeros(n),
        count=np.ones(n, dtype=np.int64),
        ways=tuple(np.array(codes) for codes in ways),
    )


@pytest.mark.parametrize("n", [1, 5, 40])
def test_against_one_opponent_it_is_the_limit_of_a_share_of_1(n: int) -> None:
    """Clopper and Pearson: p^n = a, here at half of 2.5% since the other half is for the opponent."""
    share = (0.025 / 2.0) ** (1.0 / n)
    found = _limits(_record([1] * n))
    assert found.limit[2] == pytest.approx(math.log(share / (1.0 - share)), abs=1e-3)
    assert found.limit[0] == pytest.approx(found.limit[2], abs=1e-3)  # the opponent is the mean
    assert found.limit[3] == pytest.approx(found.limit[2] + 0.5, abs=1e-3)


def test_the_p_value_is_the_chance_of_such_a_record() -> None:
    """Twice for both halves of the level, twice for both directions, and up to a step of the grid above."""
    found = _limits(_record([1] * 12))
    exact = 4.0 * 0.5**12
    assert exact <= found.p_value[2] <= exact * 10 ** (1 / 12) * 1.001
    assert found.p_value[1] > found.p_value[2] > found.p_value[3]


def test_losses_are_wins_turned_round() -> None:
    """The rated models lie about 0 evenly, so that turning all of them round maps 0 to 2."""
    won, lost = _limits(_record([0, 1, 1, 2, 2])), _limits(_record([2, 1, 1, 0, 0], won=False))
    assert lost.limit[[0, 3, 2, 1]] == pytest.approx(-won.limit, abs=1e-6)
    assert lost.p_value[[0, 3, 2, 1]] == pytest.approx(won.p_value)


def test_votes_of_one_cluster_count_once() -> None:
    alone = _limits(_record([0, 1, 1, 2]))
    # Of the votes on models 0 and 1 by rater 0 that on the stronger, model 0, is the least likely win.
    clustered = _limits(_record([0, 1, 1, 1, 1, 2, 2], ways=([0, 0, 1, 1, 2, 3, 3],)))
    assert clustered.limit == pytest.approx(alone.limit)


def test_of_two_ways_the_one_counts_that_says_less() -> None:
    raters, prompts = [0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1]
    both = _limits(_record([1] * 6, ways=(raters, prompts)))
    assert both.limit == pytest.approx(_limits(_record([1] * 6, ways=(prompts,))).limit)
    assert both.limit[0] < _limits(_record([1] * 6, ways=(raters,))).limit[0]


def test_more_wins_and_stronger_opponents_say_more() -> None:
    limits = [_limits(_record([1] * n)).limit[0] for n in (2, 4, 8)]
    assert limits == sorted(limits)
    assert _limits(_record([0] * 8)).limit[0] > _limits(_record([2] * 8)).limit[0]


def test_doubt_about_the_opponents_lowers_the_limit() -> None:
    few = vote_rows([0, 0, 0, 0, 1, 1], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 0, 1], count=[12, 8, 15, 5, 12, 8])
    assert _limits(_record([0] * 20), few).limit[0] < _limits(_record([0] * 20)).limit[0]


def test_the_level_counts() -> None:
    wide, narrow = (_limits(_record([1] * 9), conf_level=level) for level in (0.99, 0.8))
    assert wide.limit[0] < narrow.limit[0]
    assert wide.p_value == pytest.approx(narrow.p_value)


def test_a_record_is_taken_from_votes_on_either_side() -> None:
    rows = vote_rows([3, 0, 3, 1], [0, 3, 4, 0], [0, 1, 1, 0], covariates=[[0.5], [0.25], [1.0], [0.0]])
    record = perfect_record(rows, 3, np.array([0, 1, 2, -1, -1]), np.array([2.0]))
    assert record.won
    assert record.opponent.tolist() == [0, 0]
    assert sorted(record.lift.tolist()) == [-0.5, 1.0]
    with pytest.raises(InputError, match="did not win or lose all"):
        perfect_record(rows, 3, np.array([0, 1, 2, -1, 3]), np.array([2.0]))


# --- how often limits miss ---


def _misses(draws: int, *, n: int, raters: int, taste: float, lead: float, rated_votes: int, seed: int = 0) -> float:
    """Return how often a model with all its votes won gets a limit above its true strength, of all draws."""
    rng = np.random.default_rng([seed, n, raters])
    truth, missed = float(lead), 0
    for _ in range(draws):
        codes, opponent = rng.integers(raters, size=n), rng.integers(3, size=n)
        liking = taste * rng.normal(size=(raters, 4))
        eta = truth + liking[codes, 3] - RATED[opponent] - liking[codes, opponent]
        # Tastes flatten what all raters together do: the strength that ratings estimate is that of the average vote.
        if not np.all(rng.random(n) < expit(eta)):
            continue
        first = rng.integers(3, size=rated_votes)
        second = (first + rng.integers(1, 3, size=rated_votes)) % 3
        by = rng.integers(raters, size=rated_votes)
        odds = RATED[first] + liking[by, first] - RATED[second] - liking[by, second]
        outcome = np.where(rng.random(rated_votes) < expit(odds), 0, 1)
        rated = vote_rows(first, second, outcome, clusters=(by,))
        found = _limits(
            PerfectRecord(
                won=True, opponent=opponent, lift=np.zeros(n), count=np.ones(n, dtype=np.int64), ways=(codes,)
            ),
            rated,
        )
        missed += bool(found.limit[0] > truth)
    return missed / draws


def test_a_limit_is_seldom_above_the_truth() -> None:
    """Every sixth draw has all votes won, so that a limit above the truth in half of these is noticed."""
    draws = 60
    missed = _misses(draws, n=12, raters=20, taste=0.0, lead=1.5, rated_votes=200)
    assert missed * draws <= stats.binom.ppf(0.999, draws, 0.025)


@pytest.mark.slow
@pytest.mark.parametrize("raters", [8, 20, 60])
@pytest.mark.parametrize("taste", [0.0, 0.6, 1.0])
@pytest.mark.parametrize(("n", "lead"), [(6, 0.0), (12, 0.8), (12, 1.5), (30, 2.0), (60, 3.0)])
def test_limits_miss_as_seldom_as_promised(n: int, lead: float, raters: int, taste: float) -> None:
    draws = 6_000
    missed = _misses(draws, n=n, raters=raters, taste=taste, lead=lead, rated_votes=200, seed=1)
    assert missed * draws <= stats.binom.ppf(0.999, draws, 0.025)
