"""Does one strength a model describe the votes? Pairs, circles of majorities, and predictions of votes held out.

Checks of pairs and circles take observed and drawn votes, from `evalstats.stats.arena.parametric_bootstrap.simulated`: strengths
are fitted again to every drawn table, and in truth all models are transitive there.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import variances_of
from evalstats.stats.arena.likelihood import PairFit, linear_predictor, tie_of_half, vote_law
from evalstats.stats.arena.parametric_bootstrap import CheckCells, Simulated, VoteTables, pseudo_inverse
from evalstats.stats.arena.votes import A_WINS, B_WINS, VoteRows, distinct, summed
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes, check_count, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import t_quantile, two_sided_t_p
from evalstats.stats.one_sample import wilson_ends

_ROUNDING = 1e-9
_AT_ONCE = 4_000_000  # numbers in one block of tables of majorities


@record
class AgainstDrawn:
    """A statistic beside its law if the fit were true: mean, 2.5% and 97.5% quantile of the drawn values.

    `p_value` is the share of drawn values at least as large, the observed one counted in; never 0.

    Attributes
    ----------
    observed
        The statistic of the votes.
    expected, low, high
        Mean, 2.5% and 97.5% quantile of the drawn values.
    """

    observed: float
    expected: float
    low: float
    high: float
    p_value: float
    n_resamples: int


def against_drawn(observed: float, drawn: FloatArray) -> AgainstDrawn:
    """Hold a statistic against values drawn under the fit."""
    slack = _ROUNDING * max(1.0, abs(observed))
    reached = int(np.count_nonzero(drawn >= observed - slack))
    low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
    return AgainstDrawn(
        observed=observed,
        expected=float(drawn.mean()),
        low=float(low),
        high=float(high),
        p_value=(1 + reached) / (1 + drawn.size),
        n_resamples=drawn.size,
    )


@record
class PairResiduals:
    """Every pair that met, the model with the lower number first; arrays of shape (n_pairs,).

    `observed` and `expected` are shares of the first model; `residual` is their difference over its standard error under the fit,
    in which it is counted that the fit followed the pair's own votes: NaN where it follows the pair whatever it does.
    """

    first: IntArray
    second: IntArray
    count: FloatArray
    observed: FloatArray
    expected: FloatArray
    residual: FloatArray


@one_thread
def pair_deviance(votes: Simulated) -> AgainstDrawn:
    """Test the fit pair by pair.

    D = 2 sum over pairs and outcomes of O log(O/E). For "half" the two outcomes are the shares of either model, ties half; else a
    win, a tie and a loss. With covariates E is summed over a pair's votes. Raw D or its chi-squared p would mislead: arenas have
    many pairs with few votes (McCullagh & Nelder 1989, Generalized Linear Models, section 4.4.3 and 4.4.5).
    """
    _check(votes)
    return against_drawn(float(_deviance(votes.cells, votes.observed)[0]), _deviance(votes.cells, votes.drawn))


@one_thread
def pair_residuals(votes: Simulated) -> PairResiduals:
    """Return the standardised residual of every pair.

    With r the vector of observed less expected shares (in votes), s the scores by eta, H the information of strengths and d
    the pair's contrast, the fitted residual is r - g d'H^- sum(d s) with g the change of the expected share by eta; its
    variance follows from the law of single votes under the fit (Pierce & Schafer 1986, doi:10.2307/2289070). For "half" that law
    has the observed share of ties, so that the variance is not that of decided votes.
    """
    _check(votes)
    cells, table = votes.cells, votes.observed
    count = cells.by_pair(cells.count)
    share = cells.by_pair(table.won[0] + table.tied[0] / 2.0) / count
    expected = cells.by_pair(cells.count * table.shares(cells)[0]) / count
    return PairResiduals(
        first=cells.pair_first,
        second=cells.pair_second,
        count=count,
        observed=share,
        expected=expected,
        residual=cells.by_pair(table.won + table.tied / 2.0 - cells.count * table.shares(cells))[0]
        / _residual_sizes(votes),
    )


def _check(votes: Simulated) -> None:
    if votes.cells.n_pairs < votes.cells.n_models:
        raise CannotAnswerError(
            f"{votes.cells.n_models} models met in so few pairs ({votes.cells.n_pairs}) that ratings can follow every one, and "
            "votes cannot contradict them; votes between more pairs are needed"
        )


def _deviance(cells: CheckCells, table: VoteTables) -> FloatArray:
    if table.ties == "half":
        ahead = cells.by_pair(table.won + table.tied / 2.0)
        total, expected = cells.by_pair(cells.count), cells.by_pair(cells.count * table.shares(cells))
        parts = ((ahead, expected), (total - ahead, total - expected))
    else:
        law = table.law(cells)
        parts = tuple(
            (cells.by_pair(seen), cells.by_pair(cells.count * chance))
            for seen, chance in ((table.won, law.win), (table.tied, law.tie), (table.lost, law.loss))
        )
    # Rounding may leave a share of 0 as -1e-17; an outcome that was seen has an expected count above 0.
    parts = tuple((np.maximum(seen, 0.0), np.maximum(chance, 1e-300)) for seen, chance in parts)
    return 2.0 * sum((xlogy(seen, seen / chance) for seen, chance in parts), np.zeros(())).sum(axis=1)


def _residual_sizes(votes: Simulated) -> FloatArray:
    """Return the standard error of every pair's residual under the fit, shape (n_pairs,)."""
    cells = votes.cells
    law = votes.observed.law(cells)
    count = cells.count

    def total(values: FloatArray) -> FloatArray:
        return cells.by_pair(count * values[0])

    a, t, _ = law.scores
    with_score = total(law.win * a + law.tie * t / 2.0)
    own, square = total(law.share_variance), total(law.score_squares)
    gain, i, j = total(law.slope), cells.pair_first, cells.pair_second
    inverse = pseudo_inverse(cells.laplacian(total(law.information)))
    leverage = variances_of(inverse, i, j)
    spread = variances_of(inverse @ cells.laplacian(square) @ inverse, i, j)
    variance = own - 2.0 * gain * with_score * leverage + gain**2 * spread
    # What is left by rounding of a pair that alone holds two groups together.
    return np.where(variance > _ROUNDING * own, np.sqrt(np.maximum(variance, 1e-300)), np.nan)


@record
class Transitivity:
    """Triples of models that contradict transitivity, beside what chance makes of transitive strengths.

    Attributes
    ----------
    triples
        Ordered triples i, j, k with i ahead of j and j of k by a majority of their direct votes, where i and k met.
    violations
        Those in which k is ahead of i. A circle counts three times, once from each of its models.
    share
        violations / triples beside its law under the fit. Never to be read without it: with few votes a pair, majorities
        contradict the best of models.
    """

    triples: int
    violations: int
    share: AgainstDrawn


@one_thread
def transitivity(votes: Simulated) -> Transitivity:
    """Count contradictions among majorities, and compare with votes drawn under the fit.

    References
    ----------
    Kendall & Babington Smith 1940, doi:10.1093/biomet/31.3-4.324 (circular triads).
    """
    triples, violations = _counts(votes.cells, votes.observed)
    if not triples[0]:
        raise CannotAnswerError(
            "no three models met each other with a majority between them, so nothing can contradict transitivity"
        )
    drawn, against = _counts(votes.cells, votes.drawn)
    some = drawn > 0
    if some.mean() < 0.5:
        raise CannotAnswerError(
            "most tables drawn under the fit hold no three models with majorities, so there is no expected share to compare"
        )
    observed = float(violations[0] / triples[0])
    return Transitivity(
        triples=int(triples[0]),
        violations=int(violations[0]),
        share=against_drawn(observed, against[some] / drawn[some]),
    )


def _counts(cells: CheckCells, table: VoteTables) -> tuple[IntArray, IntArray]:
    """Return triples and violations of each table, shape (n_tables,)."""
    n = cells.n_models
    lead = cells.by_pair(table.won - table.lost)
    met: npt.NDArray[np.float32] = np.zeros((n, n), dtype=np.float32)
    met[cells.pair_first, cells.pair_second] = met[cells.pair_second, cells.pair_first] = 1.0
    tables = max(1, _AT_ONCE // max(n * n, 1))
    found: list[FloatArray] = []
    for k in range(0, len(lead), tables):
        part = lead[k : k + tables]
        ahead = np.zeros((len(part), n, n), dtype=np.float32)  # who is ahead of whom in each table
        ahead[:, cells.pair_first, cells.pair_second] = part > 0.0
        ahead[:, cells.pair_second, cells.pair_first] = part < 0.0
        # Ways from i to k by one model in between, where i and k met, and where k is ahead of i. Single precision counts
        # exactly up to 2^24 models in between; sums over pairs are made in double.
        ways = ahead @ ahead
        found.append(
            np.array([(ways * kept).sum(axis=(1, 2), dtype=np.float64) for kept in (met, ahead.swapaxes(1, 2))])
        )
    triples, violations = np.rint(np.concatenate(found, axis=1)).astype(np.int64)
    return triples, violations


SMOOTHING = 0.5


_NO_ENERGY = 1e-12


@one_thread
def circle_share(votes: Simulated) -> AgainstDrawn:
    """Return the share of the energy (weighted squares) of log-odds that is in circles, which no rating describes (HodgeRank).

    Notes
    -----
    The log-odds of a pair with share y of n votes (ties half) are log((n y + 1/2)/(n - n y + 1/2)): half a vote is added
    to either side, which keeps them finite where one model won all; effects of covariates are taken off. Weights are the
    information of the pair under the fit, for "half" n p (1 - p), the same for all tables. Weighted least squares gives
    ratings; what is left is all circles.

    Chance alone makes circles: a share of them means nothing without its law. In a drawn table that law has its own circles
    and the ratings' energy as observed, since strengths that are estimated are further apart than true ones.
    """
    cells = votes.cells
    _check(votes)
    weight = cells.by_pair(cells.count * votes.observed.law(cells).information[0])
    solve = pseudo_inverse(cells.laplacian(weight))
    flow = _log_odds(cells, votes.observed)
    rest = _left_in_circles(cells, flow, weight, solve)
    circles = float((weight * rest**2).sum())
    gradient = float((weight * (flow[0] - rest[0]) ** 2).sum())
    if circles + gradient <= _NO_ENERGY:
        raise CannotAnswerError("every pair of models is even, so there is nothing for ratings or circles to describe")
    left = _left_in_circles(cells, _log_odds(cells, votes.drawn), weight, solve)
    drawn = (weight * left**2).sum(axis=1)
    energy = drawn + gradient
    # A drawn table in which every pair came out even has no circles, and no ratings beside them.
    shares = np.divide(drawn, energy, out=np.zeros_like(drawn), where=energy > 0.0)
    return replace(
        against_drawn(circles / (circles + gradient), shares),
        # The same order as that of the shares, also where ratings describe nothing and every share is 1.
        p_value=against_drawn(circles, drawn).p_value,
    )


def _log_odds(cells: CheckCells, table: VoteTables) -> FloatArray:
    """Return smoothed log-odds of every pair less what covariates add, shape (n_tables, n_pairs)."""
    ahead = cells.by_pair(table.won + table.tied / 2.0)
    count = cells.by_pair(cells.count)
    added = cells.by_pair(cells.count * cells.offset) / count
    return np.log(ahead + SMOOTHING) - np.log(count - ahead + SMOOTHING) - added


def _left_in_circles(cells: CheckCells, flow: FloatArray, weight: FloatArray, solve: FloatArray) -> FloatArray:
    """Return what the best ratings of every table leave over of the log-odds."""
    i, j = cells.pair_first, cells.pair_second
    potential = (flow * weight) @ cells.incidence() @ solve
    return flow - (potential[:, i] - potential[:, j])


N_BINS = 10


@record
class ShareBin:
    """Held-out votes whose predicted share of side a lies between `low` and `high`, and their mean shares.

    Attributes
    ----------
    predicted, observed
        Mean predicted and observed share of side a.
    """

    low: float
    high: float
    n_votes: int
    predicted: float
    observed: float
    conf_low: float | None
    conf_high: float | None


def share_bins(
    predicted: FloatArray,
    share: FloatArray,
    count: FloatArray,
    codes: IntArray | None,
    *,
    place: IntArray | None = None,
    conf_level: float = 0.95,
) -> tuple[ShareBin, ...]:
    """Sort votes into bins by predicted share of side a, as equal as whole predictions allow, and compare with observed shares.

    `codes` are clusters or None. `place`: where predictions and shares are of kinds of votes, the kind of every vote, whose
    `count` and cluster are given. The interval is Wilson's at the number of votes that the variance between clusters (or votes)
    is worth, with a t quantile; none with fewer than 2 clusters' worth.
    """
    if predicted.size == 0:
        raise InputError("there are no predictions to sort into bins")
    kind = np.arange(predicted.size, dtype=np.int64) if place is None else place
    order = np.argsort(predicted, kind="stable")
    value, held = predicted[order], summed(kind, count, predicted.size)[order]
    # Equal predictions stay together, in the bin of the first of them.
    start = np.flatnonzero(np.concatenate([[True], np.diff(value) > 1e-12]))
    first = np.empty(predicted.size)
    first[kind[::-1]] = count[::-1]
    label = _bin_labels(np.cumsum(held), held - first[order] / 2.0)[start]
    of_kind = np.empty(predicted.size, dtype=np.int8)
    of_kind[order] = np.repeat(label, np.diff(np.append(start, value.size)))
    of_vote = of_kind[kind]
    bins: list[ShareBin] = []
    for each in np.unique(of_kind):
        at = np.flatnonzero(of_vote == each)
        likely = predicted[kind[at]]
        observed, error, df = clustered_mean(share[kind[at]], count[at], None if codes is None else codes[at])
        n = float(count[at].sum())
        low, high = None, None
        if df >= 1.0:
            worth = min(n, observed * (1.0 - observed) / error**2) if error > 0.0 else min(n, df + 1.0)
            low, high = wilson_ends(observed, max(worth, 1e-9), t_quantile(conf_level, df))
        bins.append(
            ShareBin(
                low=float(likely.min()),
                high=float(likely.max()),
                n_votes=int(n),
                predicted=float(count[at] @ likely) / n,
                observed=observed,
                conf_low=low,
                conf_high=high,
            )
        )
    return tuple(bins)


@one_thread
def calibration_error(votes: Simulated) -> AgainstDrawn:
    """Return how far shares of pairs are from predicted ones, pairs sorted by how far apart their ratings are.

    In each of up to 10 bins of about equally many votes the share that the stronger models won is compared with that which
    their ratings predict; the statistic is the root of the mean squared difference over votes. Fitting every drawn table again
    makes up for the boldness of ratings of few votes, and draws have the tastes of raters.
    """
    _check(votes)
    drawn = _calibration_errors(votes.cells, votes.drawn)
    return against_drawn(float(_calibration_errors(votes.cells, votes.observed)[0]), drawn)


def _calibration_errors(cells: CheckCells, table: VoteTables) -> FloatArray:
    count = cells.by_pair(cells.count)
    expected = cells.by_pair(cells.count * table.shares(cells)) / count
    stronger = np.where(expected >= 0.5, 1.0, -1.0)
    rest = stronger * cells.by_pair(table.won + table.tied / 2.0 - cells.count * table.shares(cells))
    out = np.empty(rest.shape[0])
    for row, (apart, left) in enumerate(zip(np.abs(expected - 0.5), rest, strict=True)):
        order = np.argsort(apart, kind="stable")
        held = count[order]
        passed = np.cumsum(held)
        label = _bin_labels(passed, held / 2.0)
        size, off = np.bincount(label, weights=held), np.bincount(label, weights=left[order])
        out[row] = np.sqrt((off**2 / np.maximum(size, 1e-300)).sum() / passed[-1])
    return out


def _bin_labels(passed: FloatArray, back: FloatArray) -> IntArray:
    """Return the bin of each entry in order, bins of about equally many votes: by those passed, less some of its own."""
    return ((passed - back) / passed[-1] * N_BINS).astype(np.int64)


def clustered_mean(values: FloatArray, count: FloatArray, codes: IntArray | None) -> tuple[float, float, float]:
    """Return the mean of votes' values, its standard error by clusters, and degrees of freedom G* - 1.

    V = sum of R_g^2 / (1 - f_g) / n^2 with R_g the sum of residuals of a cluster and f_g its share of votes.
    """
    n = float(count.sum())
    mean = float(count @ values) / n
    rest = values - mean
    if codes is None:
        squares, df = float(count @ rest**2) / max(1.0 - 1.0 / n, 1e-12), n - 1.0
    else:
        size, sums = np.bincount(codes, weights=count), np.bincount(codes, weights=count * rest)
        several = np.count_nonzero(size) > 1
        squares = float((sums**2 / np.maximum(1.0 - size / n, 1e-12)).sum()) if several else 0.0
        df = n**2 / float(size @ size) - 1.0
    return mean, float(np.sqrt(squares)) / n, df


WEAK_PRIOR = 0.5  # votes won and lost against an average model, where training votes do not connect all models
_FLOOR = 1e-12


@record
class HeldOut:
    """Predictions of held-out votes.

    Attributes
    ----------
    log_loss, log_loss_constant
        Mean of -log(probability) of win, tie or loss of side a under the fit, and under the training votes' shares of these.
    gain, gain_low, gain_high, loss_p
        Their difference with its interval, in which votes of one cluster count together, and the one-sided p that the fit
        predicts no worse than those shares; None where clusters are too few.
    brier, brier_constant
        Mean squared difference of the predicted from the observed share of side a, and that of the training votes' mean.
    bins
        Calibration: up to 10 bins of equally many votes by predicted share.
    way
        Place in `rows.clusters` of what was held out together; None where single votes were.
    n_left_out, n_weak
        Votes about a model that the training votes do not know; folds whose training votes did not connect all models, so that a
        weak prior was added.
    """

    log_loss: float
    log_loss_constant: float
    gain: float
    gain_low: float | None
    gain_high: float | None
    loss_p: float | None
    brier: float
    brier_constant: float
    bins: tuple[ShareBin, ...]
    n_folds: int
    way: int | None
    n_predicted: int
    n_left_out: int
    n_weak: int


def held_out(fit: PairFit, rows: VoteRows, *, n_folds: int = 5, conf_level: float = 0.95, seed: int = 0) -> HeldOut:
    """Predict votes from strengths that were fitted without them, by folds.

    `fit`: says how ties are treated and which prior was added; its strengths are not used. `rows`: votes. Where they have
    clusters, whole clusters are held out together: by the way with the fewest clusters that is still at least `n_folds`, the
    hardest to predict.

    Notes
    -----
    Every vote counts once. Probabilities of a win, a tie and a loss come from the fitted law; "half" has none for ties, and
    takes Davidson's ties beside its expected shares (`evalstats.stats.arena.likelihood`). The baseline has one share for
    wins of either side, as the fit has no side, or two where it has covariates; half a vote is added to each outcome, so that
    an outcome new to it is not impossible.

    References
    ----------
    Gneiting & Raftery 2007, doi:10.1198/016214506000001437 (proper scores).
    """
    n_folds = check_count(n_folds, "n_folds", least=2)
    level = check_level(conf_level)
    if rows.n_votes < 2 * n_folds:
        raise CannotAnswerError(f"{rows.n_votes} votes are too few to hold out parts of them")
    way = _way(rows, n_folds)
    parts, fold = _folds(rows, way, n_folds, np.random.default_rng(seed))
    # Votes of one fold that differ in their clusters alone are predicted alike.
    votes, place = distinct(parts, fold)
    chances, constant = np.full((votes.n_rows, 3), np.nan), np.full((votes.n_rows, 3), np.nan)
    n_weak = 0
    for k in range(n_folds):
        out = votes.clusters[0] == k
        known, new = votes.take(~out).heavy(), np.flatnonzero(out)
        met = np.isin(np.arange(rows.n_models), (known.first, known.second))
        new = new[met[votes.first[new]] & met[votes.second[new]]]
        chances[new], constant[new], weak = _predict(fit, known, votes.take(new), met)
        n_weak += weak
    predicted = ~np.isnan(chances[:, 0])
    if not predicted.any():
        raise CannotAnswerError("no held-out vote is between models that other votes know")
    votes, chances, constant = votes.take(predicted), chances[predicted], constant[predicted]
    outcome, count = _outcomes(votes), votes.count.astype(np.float64)
    at, total = np.arange(outcome.size), float(count.sum())
    share = np.array([1.0, 0.5, 0.0])[outcome]
    likely, middle = (table[:, 0] + table[:, 1] / 2.0 for table in (chances, constant))
    loss, plain = -np.log(np.maximum(chances[at, outcome], _FLOOR)), -np.log(constant[at, outcome])
    if way is None:
        place, counted, codes = at, count, None
    else:
        given = predicted[place]
        place = (np.cumsum(predicted) - 1)[place[given]]
        counted, codes = parts.count[given].astype(np.float64), parts.clusters[way][given]
    gain, error, df = clustered_mean((plain - loss)[place], counted, codes)
    reach = t_quantile(level, df) * error if error > 0.0 and df >= 1.0 else None
    half = None if reach is None else two_sided_t_p(gain / error, df) / 2.0
    return HeldOut(
        log_loss=float(count @ loss) / total,
        log_loss_constant=float(count @ plain) / total,
        gain=gain,
        gain_low=None if reach is None else gain - reach,
        gain_high=None if reach is None else gain + reach,
        loss_p=half if half is None or gain < 0.0 else 1.0 - half,
        brier=float(count @ (likely - share) ** 2) / total,
        brier_constant=float(count @ (middle - share) ** 2) / total,
        bins=share_bins(likely, share, counted, codes, place=place, conf_level=level),
        n_folds=n_folds,
        way=way,
        n_predicted=int(count.sum()),
        n_left_out=rows.n_votes - int(count.sum()),
        n_weak=n_weak,
    )


def _way(rows: VoteRows, n_folds: int) -> int | None:
    counts = [(int(np.count_nonzero(np.bincount(codes))), w) for w, codes in enumerate(rows.clusters)]
    enough = [(count, w) for count, w in counts if count >= n_folds]
    return min(enough)[1] if enough else None


def _folds(rows: VoteRows, way: int | None, n_folds: int, rng: np.random.Generator) -> tuple[VoteRows, IntArray]:
    """Return rows, split where votes of one row fall to several folds, and the fold of each."""
    if way is not None:
        codes, n = as_codes(rows.clusters[way], rows.n_rows)
        order = rng.permutation(n)
        size = np.bincount(codes, weights=rows.count, minlength=n)[order]
        fold = np.empty(n, dtype=np.int64)
        # By votes passed, so that folds are as equal as whole clusters allow.
        fold[order] = ((np.cumsum(size) - size / 2.0) / size.sum() * n_folds).astype(np.int64)
        return rows, fold[codes]
    shares = rng.multinomial(rows.count, np.full(n_folds, 1.0 / n_folds))
    at, fold = np.nonzero(shares)
    part = shares[at, fold]
    of = part / rows.count[at]
    split = rows.take(at)
    split = replace(
        split, count=part.astype(np.int64), weight=split.weight * of, weight_squares=split.weight_squares * of
    )
    return split, fold.astype(np.int64)


def _predict(fit: PairFit, known: VoteRows, new: VoteRows, met: BoolArray) -> tuple[FloatArray, FloatArray, bool]:
    """Fit to the known votes, which are of the models `met`, and predict the new ones.

    Returned are chances of a win, a tie and a loss of each, those of any known vote, and whether a weak prior was needed.
    """
    number = np.cumsum(met) - 1
    known, new = (
        replace(votes, n_models=int(met.sum()), first=number[votes.first], second=number[votes.second])
        for votes in (known, new)
    )
    weak = False
    try:
        trained = fit_strengths(known, ties=fit.ties, prior=fit.prior)
    except CannotAnswerError:
        weak = True
        trained = fit_strengths(known, ties=fit.ties, prior=max(WEAK_PRIOR, fit.prior))
    count = known.count.astype(np.float64)
    seen = np.bincount(_outcomes(known), weights=count, minlength=3)
    if not known.n_covariates:  # a file may list the winner first, which ratings cannot know
        seen[[0, 2]] = seen[[0, 2]].mean()
    tie = trained.tie
    if tie is None:
        tie = tie_of_half(linear_predictor(trained, known), count, float(seen[1]) + 0.5)
    law = vote_law(fit.ties, linear_predictor(trained, new), tie)
    return np.column_stack([law.win, law.tie, law.loss]), (seen + 0.5) / (seen.sum() + 1.5), weak


def _outcomes(rows: VoteRows) -> IntArray:
    """Return 0 for a win of side a, 1 for a tie (both bad too), 2 for a loss."""
    return np.where(rows.outcome == A_WINS, 0, np.where(rows.outcome == B_WINS, 2, 1))
