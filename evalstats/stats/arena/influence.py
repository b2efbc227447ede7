"""What leaving out raters or votes does to the ratings: each rater, and the fewest votes that turn an order."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.arena.bradley_terry import fit_strengths, row_scores
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.votes import VoteRows, distinct, merged, summed
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread

_BLOCK = 20_000_000  # numbers held at a time
_HEAVY = 0.02  # a rater with a larger share of the votes takes curvature along, which the step then leaves out
_REFITS = 6


@record
class Influence:
    """One rater left out, by refit.

    `strengths` are those without the rater's `n_votes`; `model` is the one that moves most, by `move` (log-units, new less old).
    `new_first` is the model with the largest strength, where it is another one; else None.
    """

    rater: int
    n_votes: int
    strengths: FloatArray
    model: int
    move: float
    new_first: int | None


@one_thread
def without_each(fit: PairFit, rows: VoteRows, codes: IntArray) -> "StepsWithout":
    """Return changes of the strengths when each cluster (code of `codes`, one a row) is left out, by one Newton step.

    The gradient of what is left is minus that of cluster g, S_g, so the step is -(H - H_g)^-1 S_g. For clusters of at most
    2% of the votes H stands for H - H_g; the refit is what is reported of the largest.
    """
    if codes.shape != (rows.n_rows,):
        raise InputError(f"codes have shape {codes.shape}, but there are {rows.n_rows} rows; give one per row")
    scores = row_scores(fit, rows)
    slope = scores.slope * rows.weight
    tie_slope = None if scores.tie_slope is None else scores.tie_slope * rows.weight
    weight = np.bincount(codes, weights=rows.weight).astype(np.float64)
    steps = StepsWithout(fit=fit, rows=rows, codes=codes, slope=slope, tie_slope=tie_slope, weight=weight, heavy={})
    for cluster in np.flatnonzero(weight > _HEAVY * weight.sum()).tolist():
        steps.heavy[cluster] = steps.exact(cluster)
    return steps


@record
class StepsWithout:
    """Steps of all clusters, computed for a block of them at a time."""

    fit: PairFit
    rows: VoteRows
    codes: IntArray
    slope: FloatArray
    tie_slope: FloatArray | None
    weight: FloatArray
    heavy: dict[int, FloatArray]

    @property
    def n_clusters(self) -> int:
        """Clusters, empty ones counted in."""
        return self.weight.size

    def scores(self, low: int, high: int) -> FloatArray:
        """Return sums of first derivatives by all parameters, shape (high - low, n_parameters)."""
        at = np.flatnonzero((self.codes >= low) & (self.codes < high))
        rows, fit, k = self.rows, self.fit, self.fit.n_parameters
        who, n = self.codes[at] - low, fit.n_models
        out = np.bincount(who * k + rows.first[at], weights=self.slope[at], minlength=(high - low) * k).astype(
            np.float64
        )
        out -= np.bincount(who * k + rows.second[at], weights=self.slope[at], minlength=(high - low) * k)
        for j in range(fit.coefficients.size):
            values = self.slope[at] * rows.covariates[at, j]
            out += np.bincount(who * k + n + j, weights=values, minlength=out.size)
        if self.tie_slope is not None:
            out += np.bincount(who * k + k - 1, weights=self.tie_slope[at], minlength=out.size)
        return out.reshape(high - low, k)

    def exact(self, cluster: int) -> FloatArray:
        """Return the step of one cluster with its own curvature taken out, shape (n_parameters,)."""
        fit, at = self.fit, np.flatnonzero(self.codes == cluster)
        rows = self.rows.take(at)
        design = np.zeros((rows.n_rows, fit.n_parameters))
        design[np.arange(rows.n_rows), rows.first] = 1.0
        design[np.arange(rows.n_rows), rows.second] -= 1.0
        design[:, fit.n_models : fit.n_models + fit.coefficients.size] = rows.covariates
        eta = design[:, : fit.n_models + fit.coefficients.size] @ np.append(fit.strengths, fit.coefficients)
        # The curvature of a logistic vote; with ties a little more than the true one, which the refit corrects.
        curve = rows.weight * 0.25 / np.cosh(eta / 2.0) ** 2
        own = (design.T * curve) @ design
        score = self.scores(cluster, cluster + 1)[0]
        # (H - C)^-1 S = B (I - C B)^-1 S with B = H^-1 on the space where strengths sum to 0.
        left = np.eye(fit.n_parameters) - own @ fit.bread
        try:
            return np.asarray(-fit.bread @ np.linalg.solve(left, score), dtype=np.float64)
        except np.linalg.LinAlgError:
            return -fit.bread @ score

    def blocks(self) -> list[tuple[int, int]]:
        """Return ranges of clusters that fit into memory."""
        chunk = max(1, _BLOCK // max(1, self.fit.n_parameters))
        return [(low, min(low + chunk, self.n_clusters)) for low in range(0, self.n_clusters, chunk)]

    def block(self, low: int, high: int) -> FloatArray:
        """Return steps of all parameters, shape (high - low, n_parameters)."""
        steps = -self.scores(low, high) @ self.fit.bread
        for cluster, step in self.heavy.items():
            if low <= cluster < high:
                steps[cluster - low] = step
        return steps

    def eta(self, clusters: IntArray, first: IntArray, second: IntArray, covariates: FloatArray) -> FloatArray:
        """Return log-odds of side a of single votes by the ratings without the cluster of each vote, shape (n,)."""
        fit, n = self.fit, self.fit.n_models
        eta = fit.strengths[first] - fit.strengths[second] + covariates @ fit.coefficients
        for low, high in self.blocks():
            at = np.flatnonzero((clusters >= low) & (clusters < high))
            steps, who = self.block(low, high), clusters[at] - low
            eta[at] += steps[who, first[at]] - steps[who, second[at]]
            for j in range(fit.coefficients.size):
                eta[at] += steps[who, n + j] * covariates[at, j]
        return eta


def largest_influences(steps: StepsWithout, *, n_clusters: int | None = None) -> tuple[Influence, ...]:
    """Leave out, one after the other, the raters who move the ratings most, or put another model first, and refit.

    Only codes below `n_clusters` are left out (votes of nobody known may have a code of their own above). Those who change the
    first model come before the others, then by the size of the largest move. A rater without whom the models are no longer
    connected is left out of the list.

    Refitted are the six with the largest single step and the six that bring the second model closest to (or farthest beyond) the
    first. All others have been looked at by one step only.
    """
    fit = steps.fit
    last = steps.n_clusters if n_clusters is None else n_clusters
    top = np.argsort(-fit.strengths, kind="stable")
    largest, nearest = list[tuple[float, int]](), list[tuple[float, int]]()
    for low, high in steps.blocks():
        moves = steps.block(low, high)[:, : fit.n_models]
        size = np.abs(moves).max(axis=1)
        new = fit.strengths + moves
        lead = new[:, top[0]] - np.delete(new, top[0], axis=1).max(axis=1, initial=-np.inf)
        present = np.flatnonzero(steps.weight[low : min(high, last)] > 0.0)
        for values, kept in ((-size, largest), (lead, nearest)):
            chosen = present[np.argsort(values[present], kind="stable")[:_REFITS]]
            kept.extend((float(values[i]), low + int(i)) for i in chosen)
    chosen = {code for kept in (largest, nearest) for _, code in sorted(kept)[:_REFITS]}
    kinds, kind = distinct(steps.rows)
    found = [one for one in (_refitted(steps, code, int(top[0]), kinds, kind) for code in chosen) if one is not None]
    return tuple(sorted(found, key=lambda one: (one.new_first is None, -abs(one.move), one.rater)))


def _refitted(steps: StepsWithout, code: int, first: int, kinds: VoteRows, kind: IntArray) -> Influence | None:
    """Refit the votes without those of one rater; `kinds` are votes that differ, `kind` tells which each row is."""
    fit, rows, mine = steps.fit, steps.rows, np.flatnonzero(steps.codes == code)
    of = kind[mine]
    left = summed(of, rows.weight[mine], kinds.n_rows)
    some = np.bincount(of, weights=rows.count[mine], minlength=kinds.n_rows) < kinds.count
    left = np.where(some, kinds.weight - left, 0.0)
    rest = replace(kinds, weight=np.maximum(left, 0.0))
    try:
        new = fit_strengths(rest, ties=fit.ties, prior=fit.prior, start=fit)
    except CannotAnswerError:
        return None
    moves = new.strengths - fit.strengths
    model = int(np.argmax(np.abs(moves)))
    now = int(np.argmax(new.strengths))
    return Influence(
        rater=code,
        n_votes=int(rows.count[mine].sum()),
        strengths=new.strengths,
        model=model,
        move=float(moves[model]),
        new_first=None if now == first else now,
    )


_ROUNDS = 4
_TURNED = -1e-7  # log-units: fits are right to 1e-8, and equal strengths are no turned order
_MOST_REFITS = 60


@record
class OrderFlip:
    """Votes that hold a model above another.

    Attributes
    ----------
    first, second
        Models; `first` is the stronger, by `gap` log-units.
    rows
        The votes merged without clusters.
    n_votes, removed
        Size of the smallest set found, and how many votes of each row are in it; None where none was found.
    gap_after
        The gap by a refit without them: below 0.
    n_predicted
        How many the influence of single votes had said, before any refit; None where all votes together are not enough.
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
    reason: str | None = None

    @property
    def confirmed(self) -> bool:
        """Whether a refit turned the order."""
        return self.gap_after is not None and self.gap_after < 0.0


@one_thread
def smallest_flip(fit: PairFit, rows: VoteRows, *, pair: tuple[int, int] | None = None) -> OrderFlip:
    """Find few votes whose removal puts the second model above the first.

    The set is confirmed by a refit. It is the smallest found, not the smallest there is: to be sure of that one would have to try
    every set. Votes of one row are exchangeable, and clusters play no part. Without a `pair` it is about the two strongest.

    Notes
    -----
    Each vote's influence on the gap is g' H^-1 c, g its score. Votes are removed in the order of influence until the gap is
    gone (approximate maximum influence perturbation), and the number is corrected by refits, halving the interval in which
    it lies. Influences change as votes go, so this is repeated with those at the fit just found, up to four times, as long
    as the set gets smaller.

    References
    ----------
    Broderick, Giordano & Meager 2020, arXiv 2011.14999; Huang, Shen, Wei & Broderick 2025, arXiv 2508.11847.
    """
    top = np.argsort(-fit.strengths, kind="stable")[:2]
    i, j = (int(top[0]), int(top[1])) if pair is None else pair
    gap = float(fit.strengths[i] - fit.strengths[j])
    if gap == 0.0:
        raise InputError("the two models are one or have equal strengths, so no order can be turned")
    if gap < 0.0:
        i, j, gap = j, i, -gap
    votes = merged(rows, keep_clusters=False)
    search = _Search(fit=fit, votes=votes, first=i, second=j, limit=votes.count.copy())
    found, predicted = search.run()
    flip = OrderFlip(first=i, second=j, gap=gap, rows=votes, n_predicted=predicted)
    if found is None:
        return replace(flip, reason="no set of votes was found that turns the order and leaves all models connected")
    removed, after = found
    return replace(flip, n_votes=int(removed.sum()), removed=removed, gap_after=after)


@dataclass(slots=True, kw_only=True)
class _Search:
    """Refits without some votes, counted; `limit` says how many votes of each row may go, so that models stay connected."""

    fit: PairFit
    votes: VoteRows
    first: int
    second: int
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
            guess = predicted if predicted is not None else max(ceiling // 2, 1)
            found = self._halve(order, ceiling, min(guess, ceiling))
            while found is None and best is None and self._spare(order):
                ceiling = int(self.limit[order].sum())
                found = self._halve(order, ceiling, min(guess, ceiling))
            if found is None:
                break
            best, at = (found[0], found[1]), found[2]
        return best, predicted

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

    def _halve(self, order: IntArray, ceiling: int, first_guess: int) -> tuple[IntArray, float, PairFit] | None:
        """Return the fewest votes in this order, at most `ceiling`, that turn the models, if they do."""
        low, high, step = 0, ceiling + 1, max(first_guess // 16, 1)
        self.blocked = 0
        gap_low, found = self._gap, None
        guess = max(first_guess, 1)
        while low + 1 < high and self.n_refits < _MOST_REFITS:
            before = high - low
            tried = self._without(_first_votes(order, self.limit, guess))
            if tried is not None and tried[1] > _TURNED:
                low, gap_low = guess, tried[1]
            else:
                # Turned, or so many are gone that models are not connected: then more cannot help.
                high, found = guess, found if tried is None else tried
                self.blocked = guess if tried is None else self.blocked
            if found is None and high == ceiling + 1:
                guess, step = min(low + step, ceiling), 2 * step
            elif found is None or high - low > before // 2:
                guess = (low + high) // 2
            else:
                # The gap falls nearly in a line.
                guess = low + int(np.ceil((high - low) * gap_low / (gap_low - found[1])))
                guess = min(max(guess, low + 1), high - 1)
        return found

    def _spare(self, order: IntArray) -> bool:
        """Keep the vote without which models fell apart; return whether there was one and time is left to try again."""
        if not self.blocked or self.n_refits >= _MOST_REFITS:
            return False
        with_it, without = (_first_votes(order, self.limit, self.blocked - k) for k in (0, 1))
        row = int(np.argmax(with_it - without))
        self.limit[row] = without[row]
        return bool(self.limit[order].any())

    def _without(self, removed: IntArray) -> tuple[IntArray, float, PairFit] | None:
        self.n_refits += 1
        left = self.votes.count - removed
        # A row that lost all its votes must go: nothing is left to weigh.
        rows = self.votes.reweighted(left / np.maximum(self.votes.count, 1)).take(left > 0)
        try:
            new = fit_strengths(rows, ties=self.fit.ties, prior=self.fit.prior, start=self.fit)
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
