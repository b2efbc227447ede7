"""Votes drawn under a fit, on the pairs that were observed and with the tastes of those who vote, and fitted again."""

import math

import numpy as np
from scipy.special import expit, logit

from evalstats.record import record
from evalstats.stats.arena.covariance import nested_in
from evalstats.stats.arena.likelihood import (
    PairFit,
    Ties,
    VoteLaw,
    linear_predictor,
    tie_of_half,
    tie_parameter,
    vote_law,
)
from evalstats.stats.arena.votes import A_WINS, B_WINS, TIE, VoteRows, distinct, summed
from evalstats.stats.checks import FloatArray, IntArray, as_codes, check_count, counted_order, levels_and_places
from evalstats.stats.computation import one_thread

# A logistic of mean m and normal noise of variance v is near expit(m / sqrt(1 + c v)).
ATTENUATION = (16.0 * math.sqrt(3.0) / (15.0 * math.pi)) ** 2
_NODES, _AREAS = np.polynomial.hermite_e.hermegauss(41)
_GRID = np.concatenate([[0.0], np.geomspace(0.02, 4.0, 60)])  # standard deviations
_POOL = 4_096  # rows of normal numbers that clusters draw from
_ENTRIES = 65_536  # votes of one cell and of the same clusters that are looked at together


@record
class Tastes:
    """Ways of clustering in which tastes show (codes of the rows), and their standard deviations in log-units, above 0.

    `ways` are their places among the clusters of the rows.
    """

    codes: tuple[IntArray, ...] = ()
    sd: tuple[float, ...] = ()
    ways: tuple[int, ...] = ()

    @property
    def sharper(self) -> float:
        """By how much strengths of one cluster are further apart than those of all, whose votes tastes blur."""
        return math.sqrt(1.0 + ATTENUATION * 2.0 * sum(sd**2 for sd in self.sd))


def tastes_of(fit: PairFit, rows: VoteRows) -> Tastes:
    """Estimate the tastes of every way in which votes are clustered.

    With r the residual of a vote's share, v its derivative by eta and x the contrast of its two models, tastes with variance
    s^2 give two votes of one cluster the covariance s^2 v v' x'x (to first order). So the sum over pairs of votes of one
    cluster of r r' x'x, over that of v v' (x'x)^2, estimates s^2. What first order leaves out is put right by the exact
    variance of a share between equals, and what the fit takes away by G*/(G* - 1) for clusters worth G* equal ones. A way
    inside another (sessions of a rater) is left with what it adds.
    """
    if not rows.clusters or not rows.n_rows:
        return Tastes()
    kinds, kind = distinct(rows)
    tie = tie_parameter(fit, kinds)
    law = vote_law(fit.ties, linear_predictor(fit, kinds), tie)
    share = np.where(kinds.outcome == A_WINS, 1.0, np.where(kinds.outcome >= TIE, 0.5, 0.0))
    count, residual, slope = rows.count.astype(np.float64), (share - law.share)[kind], law.slope[kind]
    columns = [as_codes(codes, rows.n_rows)[0] for codes in rows.clusters]
    inside = nested_in(columns)
    squares = [_shared_variance(rows, codes, count, residual, slope) for codes in columns]
    kept: list[tuple[int, IntArray, float]] = []
    for way, codes in enumerate(columns):
        parent = inside[way]
        square = squares[way] - (0.0 if parent is None else max(squares[parent], 0.0))
        sd = _spread(square, fit.ties, tie)
        if sd > 0.0:
            kept.append((way, codes, sd))
    ways, codes, sds = zip(*kept, strict=True) if kept else ((), (), ())
    return Tastes(codes=codes, sd=sds, ways=ways)


def _shared_variance(
    rows: VoteRows, codes: IntArray, count: FloatArray, residual: FloatArray, slope: FloatArray
) -> float:
    """Return the variance of tastes to first order; 0 where no cluster has two votes."""
    k = rows.n_models
    low, high = np.minimum(rows.first, rows.second), np.maximum(rows.first, rows.second)
    cell, place = levels_and_places(np.concatenate([codes * k + rows.first, codes * k + rows.second]))
    pull = summed(place, np.concatenate([count * residual, -count * residual]), cell.size)
    known = summed(place, np.tile(count * slope, 2), cell.size)
    pair = levels_and_places((codes * k + low) * k + high)[1]
    met = np.bincount(pair, weights=count * slope)
    # A vote together with itself tells nothing of tastes.
    found = float(pull @ pull) - 2.0 * float(count @ residual**2)
    expected = float(known @ known) + 2.0 * float(met @ met) - 4.0 * float(count @ slope**2)
    if expected <= 1e-9 * float(known @ known):
        return 0.0
    size = np.bincount(codes, weights=count)
    worth = float(size.sum()) ** 2 / float(size @ size)
    return found / expected * worth / max(worth - 1.0, 0.5)


def _spread(square: float, ties: Ties, tie: float) -> float:
    """Return the standard deviation of tastes that makes shares between equals vary as much as found."""
    if square <= 0.0:
        return 0.0
    shares = vote_law(ties, math.sqrt(2.0) * _GRID[:, None] * _NODES, tie).share
    varies = ((shares - 0.5) ** 2) @ (_AREAS / _AREAS.sum())
    slope = float(vote_law(ties, np.zeros(1), tie).slope[0])
    return float(np.interp(2.0 * slope**2 * square, varies, _GRID))


@record
class TastedCells:
    """Votes of every cell by whose tastes they follow; an entry is all votes of one cell and of the same clusters.

    Entries of one cluster, in the way of the most clusters, stand together. `cell`, `first`, `second` and `part`
    (share of the cell's votes) are of each entry, and `codes` its cluster in each way.
    """

    tastes: Tastes
    n_models: int
    first: IntArray
    second: IntArray
    cell: IntArray
    part: FloatArray
    codes: tuple[IntArray, ...]

    def shifted(self, eta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw log-odds of cells from tastes of their raters, shape (n, n_cells); shares are on average those of `eta`."""
        k, middle, out = self.n_models, self.tastes.sharper * eta, np.zeros((n, eta.size))
        pools = [rng.standard_normal((max(_POOL, int(codes.max()) + 1), k)) for codes in self.codes]
        for draw in range(n):
            # Every cluster gets a row of the pool anew, with random signs: cheaper than normal numbers for each draw.
            drawn = [(rng.permutation(pool.shape[0]) * k, rng.integers(0, 2, k) * 2.0 - 1.0) for pool in pools]
            for low in range(0, self.cell.size, _ENTRIES):  # as many as a processor's cache holds
                at = slice(low, low + _ENTRIES)
                leaned = middle[self.cell[at]]
                for codes, sd, pool, (row, sign) in zip(self.codes, self.tastes.sd, pools, drawn, strict=True):
                    own, of_model = row[codes[at]], sd * sign
                    leaned += pool.take(own + self.first[at]) * of_model[self.first[at]]
                    leaned -= pool.take(own + self.second[at]) * of_model[self.second[at]]
                out[draw] += summed(self.cell[at], self.part[at] * expit(leaned), eta.size)
        return logit(np.clip(out, 1e-12, 1.0 - 1e-12))


def tasted_cells(rows: VoteRows, cell: IntArray, pairs: tuple[IntArray, IntArray], tastes: Tastes) -> TastedCells:
    """Merge votes of one cell (0, 1, ..., of each row) that follow the tastes of the same; `pairs` are the cells' models."""
    key = cell
    for codes in tastes.codes:
        key = levels_and_places(key * (int(codes.max()) + 1) + codes)[1]
    at = np.empty(int(key.max()) + 1, dtype=np.int64)
    at[key[::-1]] = np.arange(key.size - 1, -1, -1)
    # A cluster reads one row of its pool, which its entries find in a processor's cache where they stand together.
    order = counted_order(max(tastes.codes, key=lambda codes: int(codes.max()))[at])
    at, count = at[order], summed(key, rows.count.astype(np.float64), at.size)[order]
    of_cell = cell[at]
    return TastedCells(
        tastes=tastes,
        n_models=rows.n_models,
        first=pairs[0][of_cell],
        second=pairs[1][of_cell],
        cell=of_cell,
        part=count / summed(of_cell, count, pairs[0].size)[of_cell],
        codes=tuple(codes[at] for codes in tastes.codes),
    )


_STEP_TOLERANCE = 1e-6  # log-units: far below what a statistic of a drawn table needs
_LARGEST_STEP = 1.5
_MOST_STEPS = 30
_RIDGE = 1e-9
_AT_ONCE = 4_000_000  # numbers in one block of matrices
# Of the largest eigenvalue: one of 1e-15 can be a 0 that was rounded, and its inverse moved standard errors in the fifth digit.
_ROUNDING = 1e-12


@one_thread
def fit_replicates(
    cells: "CheckCells",
    votes: tuple[FloatArray, FloatArray, FloatArray],
    ties: Ties,
    *,
    start: FloatArray,
    tie: float,
    prior: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Fit strengths to each of many tables by Fisher scoring.

    `votes` are won by the first model, tied and lost, each of shape (n_tables, n_cells). The search begins at the strengths
    `start` and the tie parameter, which with "half" plays no part and is returned as it is. Returned are the strengths, shape
    (n_tables, n_models), sum 0, and the tie parameters, shape (n_tables, 1).

    A drawn table may have no finite optimum, where a model won all its votes. Its strengths then stop far out, where the
    likelihood is flat and fitted probabilities no longer change by what a check would see.
    """
    won, tied, lost = votes
    n_tables, n = won.shape[0], start.size
    strengths = np.repeat(start[None], n_tables, axis=0)
    parameter = np.full((n_tables, 1), float(tie))
    size = max(1, _AT_ONCE // max((n + 1) ** 2, cells.first.size))
    for begin in range(0, n_tables, size):
        part = slice(begin, min(begin + size, n_tables))
        strengths[part], parameter[part] = _search(
            cells,
            (won[part], tied[part], lost[part]),
            ties,
            strengths=strengths[part],
            parameter=parameter[part],
            prior=prior,
        )
    return strengths, parameter


def _search(
    cells: "CheckCells",
    votes: tuple[FloatArray, FloatArray, FloatArray],
    ties: Ties,
    *,
    strengths: FloatArray,
    parameter: FloatArray,
    prior: float,
) -> tuple[FloatArray, FloatArray]:
    strengths, parameter = strengths.copy(), parameter.copy()
    won, tied, lost = votes
    active: IntArray = np.arange(won.shape[0], dtype=np.int64)
    total, incidence, ahead = (won + tied + lost)[0], cells.incidence(), won + tied / 2.0
    for _ in range(_MOST_STEPS):
        s, nu = strengths[active], parameter[active]
        eta = cells.eta(s)
        if ties == "half":
            share = expit(eta)
            residual, information = ahead[active] - total * share, share * (1.0 - share)
            gradient, matrix = _equations(cells, incidence, residual, total * information, strengths=s, prior=prior)
            step, move = np.linalg.solve(matrix, gradient[..., None])[..., 0], np.zeros_like(nu)
        else:
            law, left = vote_law(ties, eta, nu), (won[active], tied[active], lost[active])
            slope = sum(part * score for part, score in zip(left, law.scores, strict=True))
            gradient, matrix = _equations(
                cells, incidence, np.asarray(slope), total * law.information, strengths=s, prior=prior
            )
            step, move = _with_tie(
                cells, incidence, law, nu, left, equations=(gradient, matrix), davidson=ties == "davidson"
            )
        largest = np.abs(step).max(axis=1, keepdims=True)
        factor = np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, 1e-300))
        strengths[active] = s + factor * step
        parameter[active] = _moved(ties, nu, factor * move)
        far = np.maximum(largest, np.abs(move))[:, 0] > _STEP_TOLERANCE
        active = active[far]
        if not active.size:
            break
    strengths -= strengths.mean(axis=1, keepdims=True)
    return strengths, parameter


def _equations(
    cells: "CheckCells",
    incidence: FloatArray,
    slope: FloatArray,
    information: FloatArray,
    *,
    strengths: FloatArray,
    prior: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient by strengths and the expected information, its missing direction filled in."""
    gradient, matrix = cells.by_pair(slope) @ incidence, cells.laplacian(cells.by_pair(information))
    n, at = cells.n_models, np.arange(cells.n_models)
    if prior > 0.0:
        gradient = gradient + prior * (1.0 - 2.0 * expit(strengths))
        matrix[:, at, at] += 2.0 * prior * expit(strengths) * expit(-strengths)
    level = np.maximum(matrix[:, at, at].mean(axis=1), 1e-300)[:, None, None]
    matrix += level / n
    matrix[:, at, at] += _RIDGE * level[:, 0]
    return gradient - gradient.mean(axis=1, keepdims=True), matrix


def _with_tie(
    cells: "CheckCells",
    incidence: FloatArray,
    law: VoteLaw,
    tie: FloatArray,
    votes: tuple[FloatArray, FloatArray, FloatArray],
    *,
    equations: tuple[FloatArray, FloatArray],
    davidson: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the step of strengths and of the logarithm of the tie parameter together."""
    chances = (law.win, law.tie, law.loss)
    gradient, matrix = equations
    if davidson:
        by_tie = (-law.tie, 1.0 - law.tie, -law.tie)
    else:
        room = 2.0 * tie**2 / np.maximum(tie**2 - 1.0, 1e-9)
        by_tie = (law.win - 1.0, room - (1.0 - law.win) - (1.0 - law.loss), law.loss - 1.0)
    total = votes[0] + votes[1] + votes[2]
    own = np.asarray(sum(n * u for n, u in zip(votes, by_tie, strict=True))).sum(axis=1)
    curve = (total * np.asarray(sum(p * u**2 for p, u in zip(chances, by_tie, strict=True)))).sum(axis=1)
    both = [p * u * score for p, u, score in zip(chances, by_tie, law.scores, strict=True)]
    cross = cells.by_pair(total * (both[0] + both[1] + both[2])) @ incidence
    found = np.linalg.solve(matrix, np.stack([gradient, cross], axis=2))
    left = np.maximum(curve - (cross * found[..., 1]).sum(axis=1), 1e-9 * np.maximum(curve, 1e-300))
    move = np.clip((own - (cross * found[..., 0]).sum(axis=1)) / left, -1.0, 1.0)
    return found[..., 0] - move[:, None] * found[..., 1], move[:, None]


def _moved(ties: Ties, tie: FloatArray, move: FloatArray) -> FloatArray:
    if ties == "rao-kupper":
        # theta stays above 1: its excess is halved at most.
        return np.maximum(tie * np.exp(move), 1.0 + (tie - 1.0) / 2.0)
    return tie * np.exp(move)


_MOST_CELLS = 8_000  # cells of pair and class of covariates
_PILOT = 60
_CLASSES = (20, 8, 4, 2, 1)


@record
class CheckCells:
    """Votes of every pair, the model with the lower number first, sorted by pair.

    Attributes
    ----------
    first, second, pair
        int64, shape (n_cells,): models, and the number of the pair, without gaps.
    offset
        float64, shape (n_cells,): what covariates add to eta. With covariates that differ from vote to vote a pair has
        several cells, one for each class of equal (or near) effects.
    count
        float64, shape (n_cells,): votes.
    pair_first, pair_second
        int64, shape (n_pairs,).
    """

    n_models: int
    first: IntArray
    second: IntArray
    offset: FloatArray
    count: FloatArray
    pair: IntArray
    pair_first: IntArray
    pair_second: IntArray

    @property
    def n_pairs(self) -> int:
        """Pairs that met."""
        return self.pair_first.size

    def eta(self, strengths: FloatArray) -> FloatArray:
        """Return log-odds of the first model, shape (..., n_cells)."""
        return strengths[..., self.first] - strengths[..., self.second] + self.offset

    def by_pair(self, values: FloatArray) -> FloatArray:
        """Sum over the cells of each pair, shape (..., n_pairs)."""
        reading_is_cheaper = self.n_pairs == self.first.size  # the one cell of a pair is its sum
        if reading_is_cheaper:
            return values
        start = np.flatnonzero(np.diff(self.pair, prepend=-1))
        return np.add.reduceat(values, start, axis=-1)

    def incidence(self) -> FloatArray:
        """Return 1 for the first and -1 for the second model of each pair, shape (n_pairs, n_models)."""
        out, at = np.zeros((self.n_pairs, self.n_models)), np.arange(self.n_pairs)
        out[at, self.pair_first], out[at, self.pair_second] = 1.0, -1.0
        return out

    def laplacian(self, weight: FloatArray) -> FloatArray:
        """Return the sum of weight d d' over pairs with contrasts d, shape (..., n_models, n_models)."""
        n, at = self.n_models, np.arange(self.n_models)
        out = np.zeros((*weight.shape[:-1], n, n))
        out[..., self.pair_first, self.pair_second] = out[..., self.pair_second, self.pair_first] = -weight
        out[..., at, at] = -out.sum(axis=-1)
        return out


@record
class VoteTables:
    """Votes of the cells, observed (n_tables = 1) or drawn, with the fit to each.

    `won`, `tied` and `lost`, of shape (n_tables, n_cells), are of the first model; `strengths` has shape (n_tables, n_models),
    and `tie`, (n_tables, 1), is the tie parameter of each (with "half" that of the observed votes for all).
    """

    won: FloatArray
    tied: FloatArray
    lost: FloatArray
    strengths: FloatArray
    tie: FloatArray
    ties: Ties

    def law(self, cells: CheckCells) -> VoteLaw:
        """Law of a vote of every cell under the fit to each table."""
        return vote_law(self.ties, cells.eta(self.strengths), self.tie)

    def shares(self, cells: CheckCells) -> FloatArray:
        """Return the expected share of the first model in a vote of every cell under the fit to each table."""
        return expit(cells.eta(self.strengths)) if self.ties == "half" else self.law(cells).share


@record
class Simulated:
    """The observed table beside tables drawn under its fit."""

    cells: CheckCells
    observed: VoteTables
    drawn: VoteTables
    tastes: Tastes
    seed: int

    @property
    def n_resamples(self) -> int:
        """Tables drawn."""
        return self.drawn.won.shape[0]


@one_thread
def simulated(fit: PairFit, rows: VoteRows, *, n_resamples: int = 200, seed: int = 0) -> Simulated:
    """Draw votes under a fit, pair by pair as many as were observed, and fit strengths to each draw again.

    Every vote counts once, whatever its weight, and graded preferences by their outcome; both bad is a tie. Votes of one cluster
    are drawn with its tastes (`tastes_of`), and the fitted strengths are first drawn together.

    Notes
    -----
    Fitted strengths are further apart than true ones, by the noise in them: votes drawn with them contradict each other less
    than real ones would, and a check against such draws raises false alarms (11% at a level of 5%, for transitivity with 5
    votes a pair). So strengths are multiplied by c, c^2 = 1 - (sum of their error variances under the fit) / (sum of their
    squares), before votes are drawn: then the strengths fitted to the draws are as far apart as those observed.

    Coefficients of covariates stay as fitted, and their effects are taken in classes (at most 20 for a pair, fewer with many
    pairs), so that the cost does not grow with votes. The observed votes are fitted in the same way before comparing.
    """
    n_resamples = check_count(n_resamples, "n_resamples", least=1)
    kinds, kind = distinct(rows)
    cells, won, tied, cell = check_cells(fit, kinds)
    observed = _fitted(fit, cells, won[None], tied[None], tie_parameter(fit, kinds))
    tastes = tastes_of(fit, rows)
    tasted = tasted_cells(rows, cell[kind], (cells.first, cells.second), tastes) if tastes.sd else None
    rng = np.random.default_rng(seed)
    factor = _together(_noise(cells, observed))
    if tasted is not None:
        # What tastes add to the noise in strengths is seen in a few draws.
        pilot = _drawn(fit, cells, observed, tasted, factor=factor, n=_PILOT, rng=rng)
        spread = float(np.square(pilot.strengths).sum(axis=1).mean())
        factor = _together(spread / max(float(np.square(observed.strengths).sum()), 1e-300) - factor**2)
    drawn = _drawn(fit, cells, observed, tasted, factor=factor, n=n_resamples, rng=rng)
    return Simulated(cells=cells, observed=observed, drawn=drawn, tastes=tastes, seed=seed)


def _together(noise: float) -> float:
    """Return by how much strengths must be drawn together; `noise` is its share of their spread."""
    return float(np.sqrt(max(0.0, 1.0 - max(noise, 0.0))))


def _drawn(
    fit: PairFit,
    cells: CheckCells,
    observed: VoteTables,
    tasted: TastedCells | None,
    *,
    factor: float,
    n: int,
    rng: np.random.Generator,
) -> VoteTables:
    """Draw votes with strengths drawn together by a factor, and fit each table again."""
    eta = cells.eta(factor * observed.strengths)
    tie = observed.tie
    if fit.ties == "half":
        tie = np.full((1, 1), tie_of_half(eta[0], cells.count, float(observed.tied.sum())))
    law = vote_law(fit.ties, eta if tasted is None else tasted.shifted(eta[0], n, rng), tie)
    count = cells.count.astype(np.int64)
    wins = rng.binomial(count, law.win, size=(n, count.size))
    rest = np.clip(law.tie / np.maximum(law.tie + law.loss, 1e-300), 0.0, 1.0)
    even = rng.binomial(count - wins, rest)
    return _fitted(fit, cells, wins.astype(np.float64), even.astype(np.float64), float(observed.tie[0, 0]))


def _noise(cells: CheckCells, observed: VoteTables) -> float:
    """Return the sum of error variances of strengths under the fit, over the sum of their squares."""
    law = observed.law(cells)
    inverse = pseudo_inverse(cells.laplacian(cells.by_pair(cells.count * law.information[0])))
    spread = inverse @ cells.laplacian(cells.by_pair(cells.count * law.score_squares[0])) @ inverse
    return float(np.trace(spread)) / max(float(np.square(observed.strengths).sum()), 1e-300)


def pseudo_inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a symmetric matrix where it has one."""
    return np.asarray(np.linalg.pinv(matrix, rcond=_ROUNDING, hermitian=True), dtype=np.float64)


def check_cells(fit: PairFit, rows: VoteRows) -> tuple[CheckCells, FloatArray, FloatArray, IntArray]:
    """Return the cells of the votes, the votes won by the first model and tied in each, and the cell of every row."""
    turned = rows.first > rows.second
    low, high = np.where(turned, rows.second, rows.first), np.where(turned, rows.first, rows.second)
    offset = np.where(turned, -1.0, 1.0) * (rows.covariates @ fit.coefficients)
    pairs, pair = levels_and_places(low * rows.n_models + high)
    classes, middle = _classes(offset, rows.count.astype(np.float64), pairs.size)
    cell, place = levels_and_places(pair * middle.size + classes)
    of_pair = cell // middle.size
    count = rows.count.astype(np.float64)
    ahead = rows.outcome == np.where(turned, B_WINS, A_WINS)
    decided = (rows.outcome == A_WINS) | (rows.outcome == B_WINS)
    total = summed(place, count, cell.size)
    mean = summed(place, count * offset, cell.size) / np.maximum(total, 1e-300)
    cells = CheckCells(
        n_models=rows.n_models,
        first=(pairs // rows.n_models)[of_pair],
        second=(pairs % rows.n_models)[of_pair],
        offset=mean,
        count=total,
        pair=of_pair,
        pair_first=pairs // rows.n_models,
        pair_second=pairs % rows.n_models,
    )
    won = summed(place, count * ahead, cell.size)
    return cells, won, summed(place, count * ~decided, cell.size), place.astype(np.int64)


def _classes(offset: FloatArray, count: FloatArray, n_pairs: int) -> tuple[IntArray, FloatArray]:
    """Return the class of every row's covariate effect, and the classes."""
    levels, place = np.unique(offset, return_inverse=True)
    if levels.size <= _CLASSES[0]:
        return place.astype(np.int64), levels
    wanted = next((k for k in _CLASSES if k * n_pairs <= _MOST_CELLS), 1)
    passed = np.cumsum(np.bincount(place, weights=count, minlength=levels.size))
    codes = np.minimum((passed - 1e-9) / passed[-1] * wanted, wanted - 1).astype(np.int64)
    return codes[place], np.arange(wanted, dtype=np.float64)


def _fitted(fit: PairFit, cells: CheckCells, won: FloatArray, tied: FloatArray, tie: float) -> VoteTables:
    lost = cells.count - won - tied
    strengths, ties = fit_replicates(cells, (won, tied, lost), fit.ties, start=fit.strengths, tie=tie, prior=fit.prior)
    return VoteTables(won=won, tied=tied, lost=lost, strengths=strengths, tie=ties, ties=fit.ties)
