"""The smallest set of votes found whose removal turns the order of two models."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths, row_scores
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.votes import VoteRows, merged
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread

_ROUNDS = 4
_TURNED = -1e-7  # log-units: fits are right to 1e-8, and equal strengths are no turned order
_MOST_REFITS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """Votes that hold a model above another.

    Attributes
    ----------
    first, second
        Models; `first` is the stronger.
    gap
        Strength of `first` less that of `second`, log-units.
    n_votes
        Size of the smallest set found; None where none was found.
    removed
        int64, shape (n_rows,): how many votes of each row (of `rows`) are in the set.
    rows
        The votes merged without clusters.
    gap_after
        The gap by a refit without them: below 0.
    n_predicted
        How many the influence of single votes had said, before any refit; None where all votes together are not enough.
    n_refits
        Fits that were made.
    reason
        Why none was found.
    """

    first: int
    second: int
    gap: float
    rows: VoteRows
    n_votes: int | None = None
    removed: IntArray | None = None
    gap_after: float | None = None
    n_predicted: int | None = None
    n_refits: int = 0
    reason: str | None = None

    @property
    def confirmed(self) -> bool:
        """Whether a refit turned the order."""
        return self.gap_after is not None and self.gap_after < 0.0


@one_thread
def smallest_flip(
    fit: PairFit,
    rows: VoteRows,
    *,
    pair: tuple[int, int] | None = None,
    refit: Callable[..., PairFit] = fit_strengths,
) -> Flip:
    """Find few votes whose removal puts the second model above the first.

    Parameters
    ----------
    fit
        Of `rows`, whichever way it treats ties.
    rows
        Votes; those of one row are exchangeable, and clusters play no part.
    pair
        Two models; None for the two strongest.

    Returns
    -------
    Flip
        A set that a refit confirms. It is the smallest found, not the smallest there is: to be sure of that one would have
        to try every set.

    Raises
    ------
    InputError
        If the two models are one, or their strengths are equal already.

    Notes
    -----
    Each vote's influence on the gap is g' H^-1 c, g its score. Votes are removed in the order of influence until the gap is
    gone (approximate maximum influence perturbation), and the number is corrected by refits, halving the interval in which
    it lies. Influences change as votes go, so this is repeated with those at the fit just found, up to four times, as long
    as the set gets smaller; last, votes are put back one at a time while the order stays turned.

    References
    ----------
    Broderick, Giordano & Meager 2020, arXiv 2011.14999; Huang, Shen, Wei & Broderick 2025, arXiv 2508.11847.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import A_WINS, B_WINS, vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [A_WINS, B_WINS], count=[10, 7])
    >>> found = smallest_flip(fit_strengths(rows), rows)
    >>> found.n_votes, found.confirmed
    (4, True)
    """
    top = np.argsort(-fit.strengths, kind="stable")[:2]
    i, j = (int(top[0]), int(top[1])) if pair is None else pair
    gap = float(fit.strengths[i] - fit.strengths[j])
    if i == j or gap == 0.0:
        raise InputError("the two models are one or have equal strengths, so no order can be turned")
    if gap < 0.0:
        i, j, gap = j, i, -gap
    votes = merged(rows, keep_clusters=False)
    search = _Search(fit=fit, votes=votes, first=i, second=j, refit=refit, limit=votes.count.copy())
    found, predicted = search.run()
    if found is None:
        return Flip(
            first=i,
            second=j,
            gap=gap,
            rows=votes,
            n_predicted=predicted,
            n_refits=search.n_refits,
            reason="no set of votes was found that turns the order and leaves all models connected",
        )
    removed, after = found
    return Flip(
        first=i,
        second=j,
        gap=gap,
        rows=votes,
        n_votes=int(removed.sum()),
        removed=removed,
        gap_after=after,
        n_predicted=predicted,
        n_refits=search.n_refits,
    )


@dataclass(slots=True, kw_only=True)
class _Search:
    """Refits without some votes, counted; `limit` says how many votes of each row may go, so that models stay connected."""

    fit: PairFit
    votes: VoteRows
    first: int
    second: int
    refit: Callable[..., PairFit]
    limit: IntArray
    n_refits: int = 0
    blocked: int = 0

    @property
    def _gap(self) -> float:
        return float(self.fit.strengths[self.first] - self.fit.strengths[self.second])

    def run(self) -> tuple[tuple[IntArray, float] | None, int | None]:
        """Return the smallest set found with the gap after it, and the size predicted at first."""
        best: tuple[IntArray, float] | None = None
        at, predicted = self.fit, None
        for turn in range(_ROUNDS):
            order, effect = self._order(at)
            if turn == 0:
                predicted = _enough(effect, self.limit[order], self._gap)
            ceiling = int(self.limit[order].sum()) if best is None else int(best[0].sum()) - 1
            start = predicted if predicted is not None else max(ceiling // 2, 1)
            found = self._halve(order, ceiling, min(start, ceiling))
            while found is None and best is None and self._spare(order):
                ceiling = int(self.limit[order].sum())
                found = self._halve(order, ceiling, min(start, ceiling))
            if found is None:
                break
            best, at = (found[0], found[1]), found[2]
        return (None if best is None else self._put_back(best, at)), predicted

    def _order(self, at: PairFit) -> tuple[IntArray, FloatArray]:
        """Return rows whose votes hold the first model up, the most influential first, and by how much each vote does."""
        scores = row_scores(at, self.votes)
        along = at.bread[:, self.first] - at.bread[:, self.second]
        n, k = at.n_models, at.coefficients.size
        effect = scores.slope * (along[self.votes.first] - along[self.votes.second])
        if k:
            effect = effect + scores.slope * (self.votes.covariates @ along[n : n + k])
        if scores.tie_slope is not None:
            effect = effect + scores.tie_slope * along[-1]
        effect = effect * self.votes.weight / np.maximum(self.votes.count, 1)
        order = np.argsort(-effect, kind="stable")
        order = order[(effect[order] > 0.0) & (self.limit[order] > 0)]
        return order.astype(np.int64), effect[order]

    def _halve(self, order: IntArray, ceiling: int, start: int) -> tuple[IntArray, float, PairFit] | None:
        """Return the fewest votes in this order, at most `ceiling`, that turn the models, if they do."""
        low, high, step = 0, ceiling + 1, max(start // 16, 1)
        self.blocked = 0
        gap_low, found = self._gap, None
        size = max(start, 1)
        while low + 1 < high and self.n_refits < _MOST_REFITS:
            before = high - low
            tried = self._without(_first_votes(order, self.limit, size))
            if tried is not None and tried[1] > _TURNED:
                low, gap_low = size, tried[1]
            else:
                # Turned, or so many are gone that models are not connected: then more cannot help.
                high, found = size, found if tried is None else tried
                self.blocked = size if tried is None else self.blocked
            if found is None and high == ceiling + 1:
                size, step = min(low + step, ceiling), 2 * step
            elif found is None or high - low > before // 2:
                size = (low + high) // 2
            else:
                # The gap falls nearly in a line.
                size = low + int(np.ceil((high - low) * gap_low / (gap_low - found[1])))
                size = min(max(size, low + 1), high - 1)
        return found

    def _spare(self, order: IntArray) -> bool:
        """Keep the vote without which models fell apart; return whether there was one and time is left to try again."""
        if not self.blocked or self.n_refits >= _MOST_REFITS:
            return False
        with_it, without = (_first_votes(order, self.limit, self.blocked - k) for k in (0, 1))
        row = int(np.argmax(with_it - without))
        self.limit[row] = without[row]
        return bool(self.limit[order].any())

    def _put_back(self, best: tuple[IntArray, float], at: PairFit) -> tuple[IntArray, float]:
        """Put single votes back, the least influential first, while the order stays turned."""
        removed, after = best
        order, effect = self._order(at)
        while self.n_refits < _MOST_REFITS:
            taken = order[removed[order] > 0]
            # A vote whose influence is larger than what is left over cannot come back.
            slack = effect[removed[order] > 0] < -after
            if not slack.any():
                break
            less = removed.copy()
            less[taken[slack][0]] -= 1
            tried = self._without(less)
            if tried is None or tried[1] > _TURNED or not less.any():
                break
            removed, after = less, tried[1]
        return removed, after

    def _without(self, removed: IntArray) -> tuple[IntArray, float, PairFit] | None:
        self.n_refits += 1
        left = self.votes.count - removed
        # A row that lost all its votes must go: nothing is left to weigh.
        rows = self.votes.reweighted(left / np.maximum(self.votes.count, 1)).take(left > 0)
        try:
            new = self.refit(rows, ties=self.fit.ties, prior=self.fit.prior, start=self.fit)
        except CannotAnswerError:
            return None
        return removed, float(new.strengths[self.first] - new.strengths[self.second]), new


def _enough(effect: FloatArray, count: IntArray, gap: float) -> int | None:
    """Return how many votes, in this order, take away the gap if influences add up."""
    reached = np.cumsum(effect * count)
    if not reached.size or reached[-1] <= gap:
        return None
    row = int(np.searchsorted(reached, gap, side="right"))
    before = float(reached[row - 1]) if row else 0.0
    return int(count[:row].sum()) + max(1, int(np.ceil((gap - before) / effect[row])))


def _first_votes(order: IntArray, count: IntArray, size: int) -> IntArray:
    """Return how many votes of each row are among the first `size` in an order of rows."""
    inside = count[order]
    before = np.cumsum(inside) - inside
    removed = np.zeros(count.size, dtype=np.int64)
    removed[order] = np.clip(size - before, 0, inside)
    return removed
