"""The law of a vote given strengths, and whether votes determine strengths at all."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow
from scipy.special import expit

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.arena.votes import A_WINS, B_WINS, VoteRows, merged, summed
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.roots import bracketed_roots

Ties = Literal["half", "davidson", "rao-kupper"]


@record
class PairFit:
    """Strengths of models that explain votes best.

    The parameters, in this order, are the strengths (log-units, natural logarithm of odds, sum 0), the coefficients of the
    covariates, and, for Davidson and Rao-Kupper, the logarithm of the tie parameter. With eta = strength[first] -
    strength[second] + covariates @ coefficients: "half" has P(a) = expit(eta) and takes a tie for half a win of either;
    "davidson" has P(a) : P(tie) : P(b) = exp(eta/2) : nu : exp(-eta/2); "rao-kupper" has P(a) = 1/(1 + theta exp(-eta)) and
    P(b) = 1/(1 + theta exp(eta)). BOTH_BAD counts as a tie in all of them; leave such rows out where it should not.

    Attributes
    ----------
    strengths, coefficients
        float64, shapes (n_models,) and (n_covariates,).
    tie
        nu or theta; None for "half".
    log_lik
        Log-likelihood (for "half" the quasi-log-likelihood), prior not included.
    bread
        float64, shape (n_parameters, n_parameters): inverse of the negative second derivative of what was maximised, under
        the constraint that strengths sum to 0 (their rows and columns of it sum to 0).
    prior
        Votes won and lost by every model against an average one that were added; 0 for none.
    """

    ties: Ties
    strengths: FloatArray
    coefficients: FloatArray
    tie: float | None
    log_lik: float
    bread: FloatArray
    prior: float
    converged: bool
    n_iterations: int
    largest_gradient: float

    @property
    def n_models(self) -> int:
        """Models with a strength."""
        return self.strengths.size

    @property
    def tau(self) -> float:
        """Logarithm of the tie parameter; 0 for "half", where it plays no part."""
        return 0.0 if self.tie is None else float(np.log(self.tie))

    @property
    def n_parameters(self) -> int:
        """Strengths, coefficients and the tie parameter."""
        return self.strengths.size + self.coefficients.size + (self.tie is not None)


@record
class RowScores:
    """First derivatives of the log-likelihood of one vote of each row, of weight 1, each of shape (n_rows,).

    By the parameters the derivative is `slope` (by eta) * (e_first - e_second), then `slope` * covariates, then `tie_slope` (by
    the logarithm of the tie parameter; None for "half").
    """

    slope: FloatArray
    tie_slope: FloatArray | None = None


Votes: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


@record
class Derivatives:
    """Of the log-likelihood of cells, each of shape (n_cells,), by eta and by tau, the logarithm of the tie parameter.

    `slope` and `tie_slope` are first derivatives; `curve`, `cross` and `tie_curve` second ones with the sign changed: by eta
    twice, by eta and tau, by tau twice.
    """

    log_lik: FloatArray
    slope: FloatArray
    curve: FloatArray
    tie_slope: FloatArray
    cross: FloatArray
    tie_curve: FloatArray


def derivatives(ties: Ties, eta: FloatArray, tau: float, votes: Votes) -> Derivatives:
    """Return the log-likelihood of votes won, lost and tied by the first model, with its derivatives, at log-odds `eta`.

    `votes` holds weights; for "half" ties are in the first two, and tau is ignored.
    """
    won, lost, tied = votes
    if ties == "half":
        return _half(eta, won, lost)
    if ties == "davidson":
        return _davidson_derivatives(eta, tau, won, lost, tied)
    return _rao_kupper_derivatives(eta, tau, won, lost, tied)


def first_tie_parameter(ties: Ties, tie_share: float) -> float:
    """Return the tie parameter (tau) that gives equal models the observed share of ties, strictly between 0 and 1."""
    if ties == "davidson":
        return float(np.log(2.0 * tie_share / (1.0 - tie_share)))
    return float(np.log((1.0 + tie_share) / (1.0 - tie_share)))


def _half(eta: FloatArray, won: FloatArray, lost: FloatArray) -> Derivatives:
    p, q, log_p, log_q = _logistic(eta)
    nothing = np.zeros_like(eta)
    return Derivatives(
        log_lik=won * log_p + lost * log_q,
        # Not won - (won + lost) * p, which loses digits where p is close to 1.
        slope=won * q - lost * p,
        curve=(won + lost) * p * q,
        tie_slope=nothing,
        cross=nothing,
        tie_curve=nothing,
    )


def _logistic(eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return p = expit(eta), 1 - p and their logarithms, each with all its digits, from one exponential."""
    small = np.exp(-np.abs(eta))
    larger = 1.0 / (1.0 + small)
    smaller, positive = small * larger, eta >= 0.0
    p, q = np.where(positive, larger, smaller), np.where(positive, smaller, larger)
    rest = np.log1p(small)
    return p, q, np.minimum(eta, 0.0) - rest, np.minimum(-eta, 0.0) - rest


def _davidson_derivatives(
    eta: FloatArray, tau: float, won: FloatArray, lost: FloatArray, tied: FloatArray
) -> Derivatives:
    log_total = np.logaddexp(np.logaddexp(eta / 2.0, -eta / 2.0), tau)
    log_a, log_b, log_tie = eta / 2.0 - log_total, -eta / 2.0 - log_total, tau - log_total
    a, b, tie = np.exp(log_a), np.exp(log_b), np.exp(log_tie)
    total, lead = won + lost + tied, a - b
    return Derivatives(
        log_lik=won * log_a + lost * log_b + tied * log_tie,
        slope=(won - lost - total * lead) / 2.0,
        curve=total * (a * (b + tie) + b * (a + tie) + 2.0 * a * b) / 4.0,
        tie_slope=tied * (a + b) - (won + lost) * tie,
        cross=-total * lead * tie / 2.0,
        tie_curve=total * tie * (a + b),
    )


def _rao_kupper_derivatives(
    eta: FloatArray, tau: float, won: FloatArray, lost: FloatArray, tied: FloatArray
) -> Derivatives:
    if tau <= 0.0:
        # theta of 1 or less leaves no room for ties: the search must step back.
        return _half(np.full_like(eta, np.nan), won, lost)
    above, below = won + tied, lost + tied
    a, not_a, log_a, _ = _logistic(eta - tau)
    b, not_b, log_b, _ = _logistic(-eta - tau)
    curve_a, curve_b = above * a * not_a, below * b * not_b
    gap = -np.expm1(-2.0 * tau)
    return Derivatives(
        log_lik=above * log_a + below * log_b + tied * (2.0 * tau + np.log(gap)),
        slope=above * not_a - below * not_b,
        curve=curve_a + curve_b,
        tie_slope=tied * (2.0 / gap) - above * not_a - below * not_b,
        cross=curve_b - curve_a,
        tie_curve=curve_a + curve_b + tied * (4.0 * (1.0 - gap) / gap**2),
    )


_LARGEST_NU = 1e6
_CLASSES = 2_000
_SURE = 1e-12  # an expected share is never taken for 0 or 1


@record
class VoteLaw:
    """Probabilities of the outcomes of votes, each of the shape of eta.

    `win`, `tie` and `loss` are of side a and sum to 1; `share` is win + tie/2 and `slope` its derivative by eta; `scores` are the
    derivatives by eta of the log-likelihood of a win, a tie and a loss; `information` is the expected negative second derivative
    of the (quasi-)log-likelihood.
    """

    win: FloatArray
    tie: FloatArray
    loss: FloatArray
    share: FloatArray
    slope: FloatArray
    scores: tuple[FloatArray, FloatArray, FloatArray]
    information: FloatArray

    @property
    def share_variance(self) -> FloatArray:
        """Variance of the share of one vote."""
        return np.maximum(self.win + self.tie / 4.0 - self.share**2, 0.0)

    @property
    def score_squares(self) -> FloatArray:
        """Mean square of the score of one vote."""
        a, t, b = self.scores
        return self.win * a**2 + self.tie * t**2 + self.loss * b**2


def vote_law(ties: Ties, eta: FloatArray, tie: float | FloatArray) -> VoteLaw:
    """Return the law of votes at `eta`, log-odds by which side a is the stronger, of any shape.

    `tie` is nu for "davidson" and "half" (see `tie_of_half`), theta for "rao-kupper"; a number, or of a shape that broadcasts.
    """
    if ties == "rao-kupper":
        return _rao_kupper(eta, np.log(tie))
    if ties == "davidson":
        return _davidson(eta, tie)
    share = np.clip(expit(eta), _SURE, 1.0 - _SURE)
    # Davidson's eta for that share: with u = exp(eta/2), (1 - share) u^2 + nu (1/2 - share) u - share = 0.
    half = tie * (share - 0.5)
    root = np.sqrt(half**2 + 4.0 * share * (1.0 - share))
    # Of two equal forms the one that adds numbers of one sign.
    reach = root + np.abs(half)
    u = np.where(half >= 0.0, reach / (2.0 * (1.0 - share)), 2.0 * share / reach)
    spread = share * (1.0 - share)
    scores = (1.0 - share, 0.5 - share, -share)
    return replace(_davidson(2.0 * np.log(u), tie), share=share, slope=spread, scores=scores, information=spread)


def _davidson(eta: FloatArray, nu: float | FloatArray) -> VoteLaw:
    up, down = np.exp(np.minimum(eta, 0.0)), np.exp(np.minimum(-eta, 0.0))
    middle = nu * np.exp(-np.abs(eta) / 2.0)
    total = up + down + middle
    win, loss, tie = up / total, down / total, middle / total
    share = win + tie / 2.0
    spread = np.maximum(win + tie / 4.0 - share**2, 0.0)
    return VoteLaw(
        win=win,
        tie=tie,
        loss=loss,
        share=share,
        slope=spread,
        scores=(1.0 - share, 0.5 - share, -share),
        information=spread,
    )


def _rao_kupper(eta: FloatArray, tau: float | FloatArray) -> VoteLaw:
    win, loss = expit(eta - tau), expit(-eta - tau)
    tie = np.maximum(1.0 - win - loss, 0.0)
    scores = (1.0 - win, loss - win, loss - 1.0)
    return VoteLaw(
        win=win,
        tie=tie,
        loss=loss,
        share=win + tie / 2.0,
        slope=(win * (1.0 - win) + loss * (1.0 - loss)) / 2.0,
        scores=scores,
        information=win * scores[0] ** 2 + tie * scores[1] ** 2 + loss * scores[2] ** 2,
    )


def tie_of_half(eta: FloatArray, count: FloatArray, n_ties: float) -> float:
    """Return the nu under which `n_ties` ties are expected of `count` votes with an expected share of expit(`eta`).

    Votes between unequal models cannot all be ties without moving their shares. Where more ties were seen than that allows,
    the largest nu is taken.
    """
    if n_ties <= 0.0:
        return 0.0
    apart, votes = _classes(np.abs(eta), count)

    def excess(log_nu: FloatArray) -> FloatArray:
        return np.array([votes @ vote_law("half", apart, float(np.exp(each))).tie for each in log_nu]) - n_ties

    low, top = np.array([-30.0]), np.log([_LARGEST_NU])
    at_top = excess(top)
    if at_top[0] <= 0.0:
        return _LARGEST_NU
    # Not by scipy.optimize, which takes as long to load as the ratings of a short arena.
    return float(np.exp(bracketed_roots(excess, low, top, at_low=excess(low), at_high=at_top)[0]))


def _classes(apart: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean |eta| and votes of narrow classes, so that a search does not grow with rows; ties change slowly with it."""
    if apart.size <= _CLASSES:
        return apart, count
    top = max(float(apart.max()), 1e-300)
    place = np.minimum(apart / top * _CLASSES, _CLASSES - 1).astype(np.int64)
    votes = np.bincount(place, weights=count, minlength=_CLASSES).astype(np.float64)
    total = np.bincount(place, weights=count * apart, minlength=_CLASSES).astype(np.float64)
    held = votes > 0.0
    return total[held] / votes[held], votes[held]


def linear_predictor(fit: PairFit, rows: VoteRows) -> FloatArray:
    """Return eta of every row, shape (n_rows,)."""
    return fit.strengths[rows.first] - fit.strengths[rows.second] + rows.covariates @ fit.coefficients


def tie_parameter(fit: PairFit, rows: VoteRows) -> float:
    """Return the tie parameter of the law of votes: the fitted one, or that of `tie_of_half`."""
    if fit.tie is not None:
        return fit.tie
    tied = (rows.outcome != A_WINS) & (rows.outcome != B_WINS)
    return tie_of_half(linear_predictor(fit, rows), rows.count.astype(np.float64), float(rows.count[tied].sum()))


_LARGEST_SQUARE = 4_000_000  # pairs of models that are counted in a table; beyond, rows are sorted


@record
class PairCells:
    """Weight of votes won by the first model, lost by it, and tied, each of shape (n_cells,); models may stand in several cells.

    Where ties count for half a win, they are in `won` and `lost`, and `tied` is 0.
    """

    n_models: int
    first: IntArray
    second: IntArray
    won: FloatArray
    lost: FloatArray
    tied: FloatArray
    covariates: FloatArray

    @property
    def weight(self) -> FloatArray:
        """Votes of each cell."""
        return self.won + self.lost + self.tied

    @property
    def n_covariates(self) -> int:
        """Columns of `covariates`."""
        return int(self.covariates.shape[1])


def split_votes(share: FloatArray, weight: FloatArray, ties: Ties) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weight won by the first model, lost by it, and tied, each of shape (n_rows,)."""
    if ties == "half":
        won = weight * share
        return won, weight - won, np.zeros_like(won)
    won, lost, tied = share == 1.0, share == 0.0, share == 0.5
    graded = share.size - int(np.count_nonzero(won | lost | tied))
    if graded:
        raise InputError(
            f"{graded} of {share.size} rows hold a graded preference (a share other than 0, 1/2 and 1); "
            f'ties="{ties}" needs a win, a loss or a tie: round them or use ties="half"'
        )
    return weight * won, weight * lost, weight * tied


def pair_cells(rows: VoteRows, ties: Ties) -> PairCells:
    """Sum votes to cells; without covariates the two sides of a pair become one cell. Cells without weight are left out."""
    n = rows.n_models
    if rows.n_covariates or n * n > _LARGEST_SQUARE:
        # Rows without clusters were merged when they were made.
        rows = (merged(rows, keep_clusters=False) if rows.clusters else rows).heavy()
        won, lost, tied = split_votes(rows.share, rows.weight, ties)
        return PairCells(
            n_models=n, first=rows.first, second=rows.second, won=won, lost=lost, tied=tied, covariates=rows.covariates
        )
    place = rows.first * n + rows.second
    won, lost, tied = (summed(place, part, n * n).reshape(n, n) for part in split_votes(rows.share, rows.weight, ties))
    won, lost, tied = won + lost.T, lost + won.T, tied + tied.T
    first, second = np.nonzero(np.triu(won + lost + tied, 1))
    return PairCells(
        n_models=n,
        first=first.astype(np.int64),
        second=second.astype(np.int64),
        won=won[first, second],
        lost=lost[first, second],
        tied=tied[first, second],
        covariates=np.zeros((first.size, 0)),
    )


_LARGEST_CAPACITY = 2**30  # of what the search for flows counts in


@record
class Connection:
    """How wins connect the models.

    Strengths have a finite maximum-likelihood estimate if and only if every model can be reached from every other along
    wins, a tie being half a win of either (Ford 1957): one component.

    Attributes
    ----------
    components
        Strongly connected groups of models, best first: no model of a later group ever got anything against one of an
        earlier group. Groups that no votes compare are ordered by their lowest model.
    islands
        Groups of models that no vote connects with the others, the largest first.
    unbeaten, winless
        Models that got all, or nothing, in every vote of theirs.
    """

    components: tuple[tuple[int, ...], ...]
    islands: tuple[tuple[int, ...], ...]
    unbeaten: tuple[int, ...]
    winless: tuple[int, ...]

    @property
    def is_connected(self) -> bool:
        """Whether strengths of all models can be compared and estimated."""
        return len(self.components) == 1


@record
class WinCut:
    """A group of models, at most half of all, that few wins, or few losses, tie to the others.

    `n_wins` is the weight of the votes (ties half) that the group won against the rest ("wins"), or lost to it ("losses").
    """

    group: tuple[int, ...]
    n_wins: float
    side: Literal["wins", "losses"]


def connection(rows: VoteRows) -> Connection:
    """Find the groups of models within which strengths can be estimated."""
    wins = win_table(pair_cells(rows, "half"))
    best_first = _condensed(wins > 0.0)
    apart = _groups((wins + wins.T) > 0.0)
    got, lost = wins.sum(axis=1), wins.sum(axis=0)
    return Connection(
        components=best_first,
        islands=tuple(sorted(apart, key=lambda group: (-len(group), group))),
        unbeaten=_members((got > 0.0) & (lost == 0.0)),
        winless=_members((got == 0.0) & (lost > 0.0)),
    )


def win_table(cells: PairCells) -> FloatArray:
    """Return the weight of what the row's model won against the column's, ties half, shape (n_models, n_models)."""
    n = cells.n_models
    place, back = cells.first * n + cells.second, cells.second * n + cells.first
    half = cells.tied / 2.0
    return (summed(place, cells.won + half, n * n) + summed(back, cells.lost + half, n * n)).reshape(n, n)


def n_components(cells: PairCells) -> int:
    """Return how many strongly connected groups there are."""
    n = cells.n_models
    beats, beaten = cells.won + cells.tied > 0.0, cells.lost + cells.tied > 0.0
    start = np.concatenate([cells.first[beats], cells.second[beaten]])
    end = np.concatenate([cells.second[beats], cells.first[beaten]])
    table_is_cheaper = n <= _CHEAP_TABLE
    if table_is_cheaper and _all_connected(start, end, n):
        return 1
    graph = csr_array((np.ones(start.size), (start, end)), shape=(n, n))
    return _labelled(graph)[0]


_CHEAP_TABLE = 200  # models of which a table of who beat whom is quicker than a sparse graph


def _all_connected(start: IntArray, end: IntArray, n: int) -> bool:
    """Tell whether the first model reaches all others and all others reach it."""
    edges = np.zeros((n, n), dtype=np.bool_)
    edges[start, end] = True
    for onward in (edges, edges.T):
        reached = onward[0].copy()
        reached[0] = True
        while not reached.all():
            further = reached | onward[reached].any(axis=0)
            if np.array_equal(further, reached):
                return False
            reached = further
    return True


def weak_links(rows: VoteRows, *, limit: int = 5) -> tuple[WinCut, ...]:
    """Return the groups of models that the fewest wins connect with the others, weakest first.

    If these wins (or losses) had gone the other way, the group would never have won (or lost) against the rest, and its
    ratings could not be compared with theirs. Among the groups are all minimum directed cuts between a model and the one
    with most votes, found by maximum flows, and every single model. Of groups with the same wins and losses the smallest
    is given, and of a group and the rest the smaller.
    """
    wins = win_table(pair_cells(rows, "half"))
    n = wins.shape[0]
    if _labelled(csr_array(wins))[0] != 1:
        raise CannotAnswerError("wins do not connect all models, so there are no links between them to be weak")
    if n == 1:
        return ()
    singles: list[BoolArray] = list(np.eye(n, dtype=np.bool_))
    weight = np.concatenate([wins.sum(axis=0), wins.sum(axis=1)])
    bar = float(np.sort(weight)[min(limit, weight.size) - 1])
    found = dict[tuple[tuple[int, ...], str], WinCut]()
    for side in ("wins", "losses"):
        table = wins if side == "wins" else wins.T
        for group in (*_cuts_below(table, bar), *singles):
            cut = _win_cut(table, group, side)
            found.setdefault((cut.group, cut.side), cut)
    ordered = sorted(found.values(), key=lambda cut: (cut.n_wins, len(cut.group), cut.group, cut.side))
    return tuple(ordered[:limit])


def _win_cut(table: FloatArray, group: BoolArray, side: Literal["wins", "losses"]) -> WinCut:
    """Return the group, or the rest if that is smaller: then what the group won is what the rest lost."""
    n_wins, inside = float(table[np.ix_(group, ~group)].sum()), int(np.count_nonzero(group))
    lowest_out = not group[0]
    if 2 * inside > group.size or (2 * inside == group.size and lowest_out):
        return WinCut(group=_members(~group), n_wins=n_wins, side="losses" if side == "wins" else "wins")
    return WinCut(group=_members(group), n_wins=n_wins, side=side)


def _cuts_below(table: FloatArray, bar: float) -> Iterator[BoolArray]:
    """Yield for each model the smallest group around it that gets least from the model with most votes, if below `bar`.

    Models between which at least `bar` flows both ways are on the same side of every such cut, so they are made one first.
    In a dense graph little is left after that.
    """
    label = _inseparable(table, bar)
    count = int(label.max()) + 1
    if count == 1:
        return
    small = _contracted(table, label, count)
    root = int(label[np.argmax(table.sum(axis=0) + table.sum(axis=1))])
    # No edge above the bar is ever cut, and whole numbers are what the flow is counted in.
    scale = min(2.0, _LARGEST_CAPACITY / max(bar, 1e-300) / count)
    if not np.array_equal(np.rint(small * scale), small * scale):
        scale = _LARGEST_CAPACITY / max(bar, 1e-300) / count
    capacity = csr_array(np.ceil(np.minimum(small, bar) * scale).astype(np.int32))
    for source in range(count):
        if source == root:
            continue
        flow: Any = maximum_flow(capacity, source, root)
        if flow.flow_value >= bar * scale:
            continue
        left = csr_array(capacity - flow.flow)
        left.eliminate_zeros()
        reached = np.zeros(count, dtype=np.bool_)
        reached[breadth_first_order(left, source, return_predecessors=False)] = True
        yield reached[label]


def _inseparable(table: FloatArray, bar: float) -> IntArray:
    """Return a number for each model, equal where a flow of at least `bar` surely runs both ways, shape (n_models,)."""
    label: IntArray = np.arange(table.shape[0], dtype=np.int64)
    while True:
        count = int(label.max()) + 1
        small = _contracted(table, label, count)
        through = small.copy()
        for middle in range(count):
            through += np.minimum(small[:, [middle]], small[[middle]])
        found, further = _labelled(csr_array(through >= bar))
        if found == count:
            return label
        label = further[label]


def _contracted(table: FloatArray, label: IntArray, count: int) -> FloatArray:
    """Return the table with models of the same label made one, without what they won among themselves."""
    place = label[:, None] * count + label
    out = summed(place.ravel(), table.ravel(), count * count).reshape(count, count)
    np.fill_diagonal(out, 0.0)
    return out


def _labelled(graph: Any) -> tuple[int, IntArray]:
    """Return the number of groups within which edges lead both ways, and that of each model's group."""
    found: Any = connected_components(graph, directed=True, connection="strong")
    return int(found[0]), np.asarray(found[1], dtype=np.int64)


def _members(mask: BoolArray) -> tuple[int, ...]:
    return tuple(int(model) for model in np.flatnonzero(mask))


def _groups(edges: BoolArray) -> list[tuple[int, ...]]:
    """Return the groups of models within which edges lead both ways."""
    count, label = _labelled(csr_array(edges))
    return [_members(label == group) for group in range(count)]


def _condensed(edges: BoolArray) -> tuple[tuple[int, ...], ...]:
    """Return strongly connected groups, those that beat before those that are beaten."""
    groups = _groups(edges)
    group_of = np.empty(edges.shape[0], dtype=np.int64)
    for number, group in enumerate(groups):
        group_of[list(group)] = number
    start, end = np.nonzero(edges)
    between = np.unique(np.column_stack([group_of[start], group_of[end]]), axis=0)
    between = between[between[:, 0] != between[:, 1]]
    waits = np.bincount(between[:, 1], minlength=len(groups))
    ready, order = {g for g in range(len(groups)) if waits[g] == 0}, list[int]()
    while ready:
        best = min(ready, key=lambda g: groups[g])
        ready.remove(best)
        order.append(best)
        for loser in between[between[:, 0] == best, 1]:
            waits[loser] -= 1
            if waits[loser] == 0:
                ready.add(int(loser))
    return tuple(groups[g] for g in order)
