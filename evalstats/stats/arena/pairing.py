"""Who meets whom: whether pairs were chosen by the ratings so far, and what such a choice does to estimated strengths."""

import itertools
import math
from dataclasses import replace

import numpy as np
from scipy.special import expit, ndtr

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.arena.parametric_bootstrap import Tastes
from evalstats.stats.checks import FloatArray, IntArray, counted_order, levels_and_places
from evalstats.stats.computation import one_thread
from evalstats.stats.roots import solved

FEWEST = 100  # votes of which the pair can be held against later ones
_STEP = 0.092  # log-units by which a sure vote moves running ratings: 16 Elo points
_REFITS = 90
_FADING = 0.5  # prior wins and losses of a running fit
_NEW = 20  # votes of a model that are not looked at: its running rating is still near the middle
_AGAINST = 8  # later pairs that a pair is held against
_MOST = 20_000  # votes that are held against later ones


@record
class PairingTest:
    """Whether pairs that met were nearer in running ratings than later pairs would have been at the time.

    Attributes
    ----------
    n_votes
        Votes of which the pair was held against later ones; a run of votes on one pair is one.
    distance, expected
        Mean difference of running ratings of the pairs that met, and of later pairs in their place, in log-units.
    statistic, p_value
        One-sided, for nearer; by the running ratings (steps of Elo, or fits to all votes so far) that show it most, with
        Bonferroni's factor of two.
    """

    n_votes: int
    distance: float
    expected: float
    statistic: float
    p_value: float


@one_thread
def pairing_test(first: IntArray, second: IntArray, share: FloatArray, *, n_models: int, seed: int = 0) -> PairingTest:
    """Test whether pairs were chosen by the ratings so far, from votes in the order in which they were given.

    `first`, `second`, `share`: shape (n_votes,): models on sides a and b, and how much of the vote the first got.

    Notes
    -----
    If pairs do not hang on past votes, the pair at hand and each of the pairs to come are alike, given all votes so far, and
    so is the difference of running ratings between their models. Their order alone is tested: uneven weights, strata and
    matches against anchors leave no trace in it. A vote's pair is held against eight that come later, drawn with the seed
    among those within the next half of the votes whose models both have had some votes: ratings of new ones begin in the
    middle. Later pairs stand for earlier ones nowhere, since a vote moves the two apart that it is about. Differences add up
    over votes; their standard deviation is their root mean square, with autocorrelations (Newey-West) where these add up to
    more than 0. The cost is linear in the number of votes.
    """
    if n_models < 3:
        raise CannotAnswerError("two models always meet each other")
    pair = np.minimum(first, second) * n_models + np.maximum(first, second)
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    # Refuse votes that stand sorted by their pair or by a side: their order says nothing of when they were given.
    runs = [(starts.size, pair), *((1 + np.count_nonzero(np.diff(side)), side) for side in (first, second))]
    levels = [levels_and_places(values)[0].size for _, values in runs]
    if any(count < 2 * n and first.size > 4 * n for (count, _), n in zip(runs, levels, strict=True)):
        raise CannotAnswerError("the votes stand sorted by model, so their order does not say when they were given")
    own, others = _comparisons(first[starts], second[starts], n_models, seed)
    if own.size < FEWEST:
        raise CannotAnswerError(f"{own.size} votes can be held against later ones; the test needs {FEWEST}")
    votes = (first, second, share)
    found = [
        _held_against(at, first[starts], second[starts], own, others)
        for at in (
            stepped_ratings(votes, starts[own], n_models=n_models, step=_STEP),
            fitted_ratings(votes, starts[own], n_models=n_models),
        )
    ]
    best = min(found, key=lambda each: each.statistic)
    return replace(best, p_value=min(1.0, len(found) * best.p_value))


def _comparisons(first: IntArray, second: IntArray, n_models: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return votes to be looked at, shape (n,), and later ones to hold each against, (n, 8); -1 where one is not used."""
    n = first.size
    few = min(_NEW, n // (2 * n_models))
    models = np.stack([first, second], axis=1).ravel()
    known = np.full(n_models, n)
    known[np.bincount(models, minlength=n_models) > few] = -1
    size = 4 * (few + 1) * n_models
    while (known < 0).any():  # among the first votes of all are most often the first ones of every model
        early = models[:size]
        count = np.bincount(early, minlength=n_models)
        by_model, start = counted_order(early) // 2, np.cumsum(count) - count
        found = (known < 0) & (count > few)
        known[found] = by_model[(start + few)[found]]
        size *= 4
    since = np.maximum(known[first], known[second])  # from when on both models of a vote are known
    own = np.flatnonzero(since[: n - 1] <= np.arange(n - 1))
    if own.size > _MOST:
        own = own[np.linspace(0, own.size - 1, _MOST).astype(np.int64)]
    reach = np.minimum(n // 2, n - 1 - own)
    draw = np.random.default_rng(seed).random((own.size, _AGAINST))
    others = own[:, None] + 1 + np.floor(draw * reach[:, None]).astype(np.int64)
    others[since[others] > own[:, None]] = -1
    some = (others >= 0).any(axis=1)
    return own[some].astype(np.int64), others[some]


def _held_against(at: FloatArray, first: IntArray, second: IntArray, own: IntArray, others: IntArray) -> PairingTest:
    rows = np.arange(own.size)
    near = np.abs(at[rows, first[own]] - at[rows, second[own]])
    used = others >= 0
    later = np.abs(at[rows[:, None], first[others]] - at[rows[:, None], second[others]])
    mean = np.where(used, later, 0.0).sum(axis=1) / used.sum(axis=1)
    less = near - mean
    statistic = float(less.sum()) / math.sqrt(max(_long_run(less), 1e-300))
    return PairingTest(
        n_votes=own.size,
        distance=float(near.mean()),
        expected=float(mean.mean()),
        statistic=statistic,
        p_value=float(ndtr(statistic)),
    )


def _long_run(values: FloatArray) -> float:
    """Return the variance of a sum of values in a row: their sum of squares, times what autocorrelation adds (at least 1)."""
    centred = values - values.mean()
    square, lags = float(centred @ centred), round(values.size ** (1 / 3))
    if square <= 0.0:
        return float(values @ values)
    added = sum(
        2.0 * (1.0 - lag / (lags + 1.0)) * float(centred[lag:] @ centred[:-lag]) / square for lag in range(1, lags + 1)
    )
    return float(values @ values) * max(1.0, 1.0 + added)


Votes = tuple[IntArray, IntArray, FloatArray]  # models on sides a and b, and the share of a, in the order of the votes


def stepped_ratings(votes: Votes, seen: IntArray, *, n_models: int, step: float) -> FloatArray:
    """Return ratings in log-units before each of the votes `seen` (ascending): every vote moves them, as Elo is."""
    first, second, share = votes
    ratings, out, tanh = [0.0] * n_models, np.empty((seen.size, n_models)), math.tanh
    over, begin = share - 0.5, 0
    for row, end in enumerate(seen.tolist()):
        since = slice(begin, end)
        models: tuple[list[int], list[int]] = first[since].tolist(), second[since].tolist()
        shares: list[float] = over[since].tolist()
        for a, b, more in zip(*models, shares, strict=True):
            of_a, of_b = ratings[a], ratings[b]
            gain = step * (more - tanh((of_a - of_b) / 2.0) / 2.0)
            ratings[a], ratings[b] = of_a + gain, of_b - gain
        out[row], begin = ratings, end
    return out


def fitted_ratings(votes: Votes, seen: IntArray, *, n_models: int) -> FloatArray:
    """Return the same by fits to all votes so far, made 90 times."""
    first, second, share = votes
    won, strengths, out = np.zeros((n_models, n_models)), np.zeros(n_models), np.empty((seen.size, n_models))
    ends = np.unique(np.linspace(0, first.size, _REFITS + 1).astype(np.int64))
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        out[(seen >= begin) & (seen < end)] = strengths
        part = slice(begin, end)
        np.add.at(won, (first[part], second[part]), share[part])
        np.add.at(won, (second[part], first[part]), 1.0 - share[part])
        strengths = refitted(strengths[None], won[None], prior=_FADING, steps=2)[0]
    return out


def refitted(strengths: FloatArray, won: FloatArray, *, prior: float, steps: int) -> FloatArray:
    """Take Newton steps of many Bradley-Terry fits at once: strengths (n_tables, n_models), wins (n_tables, n_models, n_models).

    `prior` wins and losses against an average model keep them finite.
    """
    met = won + won.transpose(0, 2, 1)
    diagonal: IntArray = np.arange(won.shape[1], dtype=np.int64)
    for _ in range(steps):
        chance: FloatArray = expit(strengths[:, :, None] - strengths[:, None, :])
        own: FloatArray = expit(strengths)
        gradient = (won - met * chance).sum(axis=2) + prior * (1.0 - 2.0 * own)
        weight = met * chance * (1.0 - chance)
        matrix = -weight
        matrix[:, diagonal, diagonal] += weight.sum(axis=2) + 2.0 * prior * own * (1.0 - own) + 1e-9
        step: FloatArray = solved(matrix, gradient[:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        strengths = strengths + step * np.minimum(1.0, 1.5 / np.maximum(longest, 1e-300))
    return strengths - strengths.mean(axis=1, keepdims=True)


# --- the rule, and votes under it ---

REPLAYS = 200
_MOST_WORK = 6e8  # replays x pairs of models x blocks
_BLOCKS = 900
_STEPS = (0.023, 0.046, 0.092, 0.184)  # 4, 8, 16 and 32 Elo points
_FARTHEST = 400.0  # log-odds a log-unit
_NO_WINS = 0.05
_POOL = 2_048  # tastes drawn for each replay; more raters share them


@record
class PairingRule:
    """A model comes by its share of votes; its opponent in proportion to its own and to exp(-pull x distance).

    The distance is that of running ratings, or of their ranks (`by_rank`). `step` is that of the ratings, 0 where they are fits
    to all votes so far; `activity`, shape (n_models,), holds the models' shares of votes.
    """

    pull: float
    step: float
    by_rank: bool
    activity: FloatArray


def pairing_rule(votes: Votes, *, n_models: int, seed: int = 0) -> PairingRule:
    """Fit the rule to votes in their order, by the running ratings under which the pairs that met are the likeliest."""
    first, second, _ = votes
    n = first.size
    activity = np.bincount(np.concatenate([first, second]), minlength=n_models) / (2.0 * n)
    seen = np.unique(np.linspace(n // 20, n - 1, min(n, 2_000)).astype(np.int64))
    rng = np.random.default_rng(seed)
    # Either of the two may have been there first; who then joined it is held against others.
    here = np.where(rng.random(seen.size) < 0.5, first[seen], second[seen])
    joined = first[seen] + second[seen] - here
    others = rng.choice(n_models, size=(seen.size, 2 * _AGAINST), p=activity)
    found: list[tuple[float, float, float, bool]] = []
    ratings = {0.0: fitted_ratings(votes, seen, n_models=n_models)}
    ratings |= {step: stepped_ratings(votes, seen, n_models=n_models, step=step) for step in _STEPS}
    for step, by_rank in itertools.product(ratings, (False, True)):
        at, rows = _places(ratings[step], by_rank=by_rank), np.arange(seen.size)
        own = np.abs(at[rows, here] - at[rows, joined])
        later = np.abs(at[rows, here][:, None] - at[rows[:, None], others])
        pull, log_lik = _pull(own, np.where(others == here[:, None], np.inf, later))
        found.append((log_lik, pull, step, by_rank))
    _, pull, step, by_rank = max(found)
    return PairingRule(pull=pull, step=step, by_rank=by_rank, activity=activity)


def _places(ratings: FloatArray, *, by_rank: bool) -> FloatArray:
    """Return ratings, or their ranks along the last axis."""
    return ratings.argsort(axis=-1).argsort(axis=-1).astype(np.float64) if by_rank else ratings


def _pull(own: FloatArray, others: FloatArray) -> tuple[float, float]:
    """Return the pull that makes the pairs that met the likeliest among those they are held against, and its log-likelihood."""
    known = np.isfinite(others)
    away = np.where(known, others, 0.0)
    scale = max(float(away[known].mean()), 1e-12)
    best = (0.0, -math.inf)
    for pull in np.concatenate([[0.0], np.geomspace(0.05, 40.0, 40)]) / scale:
        weight = np.where(known, np.exp(-pull * (away - own[:, None])), 0.0)
        log_lik = -float(np.log1p(weight.sum(axis=1)).sum())
        if log_lik > best[1]:
            best = (min(float(pull), _FARTHEST), log_lik)
    return best


@one_thread
def replayed(
    rule: PairingRule, strengths: FloatArray, tastes: Tastes, *, n_votes: int, tie_share: float, seed: int = 0
) -> FloatArray:
    """Draw votes under the rule, as ratings run, and return the strengths fitted to each draw, shape (200, n_models).

    Votes are drawn with `strengths` and normal tastes, whose codes are in the order of the votes; a share of them are ties.
    Ratings run on from block to block of votes (at most 900), so that the cost is that of blocks times pairs of models.
    """
    n_models = strengths.size
    blocks = min(n_votes, _BLOCKS)
    if blocks * float(n_models**2) * REPLAYS > _MOST_WORK:
        raise CannotAnswerError(f"{n_models} models in {n_votes:,} votes are too many to replay")
    rng, rows = np.random.default_rng(seed), np.arange(REPLAYS)[:, None]
    pools = [
        sd * rng.standard_normal((REPLAYS, min(_POOL, int(codes.max()) + 1), n_models))
        for codes, sd in zip(tastes.codes, tastes.sd, strict=True)
    ]
    base, others = np.log(np.maximum(rule.activity, 1e-12)), ~np.eye(n_models, dtype=np.bool_)
    ratings, won = np.zeros((REPLAYS, n_models)), np.zeros((REPLAYS, n_models, n_models))
    ends = np.linspace(0, n_votes, blocks + 1).astype(np.int64)
    refit = set(np.linspace(0, blocks - 1, _REFITS).astype(np.int64).tolist())
    for block, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        if rule.step == 0.0 and block in refit:
            ratings = refitted(ratings, won, prior=_FADING, steps=2)
        at = _places(ratings, by_rank=rule.by_rank)
        logit = base - rule.pull * np.abs(at[:, :, None] - at[:, None, :])
        joins = np.where(others, np.exp(logit - logit.max(axis=2, keepdims=True)), 0.0)
        joins *= (rule.activity / np.maximum(joins.sum(axis=2), 1e-300))[:, :, None]
        chance = joins.reshape(REPLAYS, -1).cumsum(axis=1)
        chance /= chance[:, -1:]
        drawn = rng.random((REPLAYS, end - begin))
        cell = np.searchsorted((chance + rows).ravel(), (drawn + rows).ravel(), side="right").reshape(drawn.shape)
        first, second = np.divmod(np.minimum(cell - rows * chance.shape[1], chance.shape[1] - 2), n_models)
        eta = strengths[first] - strengths[second]
        for codes, pool in zip(tastes.codes, pools, strict=True):
            who = codes[begin:end] % pool.shape[1]
            eta = eta + pool[rows, who, first] - pool[rows, who, second]
        uniform = rng.random(eta.shape)
        share = np.where(uniform < tie_share, 0.5, (uniform - tie_share < (1.0 - tie_share) * expit(eta)) * 1.0)
        np.add.at(won, (rows, first, second), share)
        np.add.at(won, (rows, second, first), 1.0 - share)
        if rule.step > 0.0:
            gain = rule.step * (share - expit(ratings[rows, first] - ratings[rows, second]))
            np.add.at(ratings, (rows, first), gain)
            np.add.at(ratings, (rows, second), -gain)
    return refitted(np.zeros((REPLAYS, n_models)), won, prior=_NO_WINS, steps=12)


def widened(errors: FloatArray, std_error: FloatArray, critical: float, *, level: float) -> float:
    """Return by what factor standard errors have to be multiplied, at least 1.

    `errors`, shape (n_replays, n_models), are replayed strengths less true ones; `std_error`, (n_models, n_models), is of
    contrasts, NaN where unknown. With the factor the largest |error| over standard error of all contrasts exceeds `critical` in
    at most 1 - level of replays.
    """
    a, b = np.triu_indices(errors.shape[1], k=1)
    known = np.isfinite(std_error[a, b]) & (std_error[a, b] > 0.0)
    largest = np.max(np.abs(errors[:, a] - errors[:, b])[:, known] / std_error[a, b][known], axis=1)
    return max(1.0, float(np.quantile(largest, level, method="higher")) / critical)
