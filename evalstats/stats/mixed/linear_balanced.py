"""One evaluation of a balanced linear mixed model, in which many replicates (models, say) answered the same questions.

An orthogonal turn of the replicates, the same for every question, leaves their mean (times the root of their number) and
directions in which they differ. Between directions nothing is correlated, and all but the mean have one law: the likelihood is
that of the mean, a design with as many cells as there are questions, and that of the differences, in closed form. Henderson &
Searle 1979, doi:10.1080/03081087908817274 (balanced models as Kronecker products).
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from evalstats.record import record
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, RandomTerm, nested_in
from evalstats.stats.mixed.distinct_rows import Distinct, Groups, distinct_rows
from evalstats.stats.mixed.linear_elimination import Pieces, StagedCore, invert_lower
from evalstats.stats.mixed.linear_stages import plan_elimination

_MOST_CODES = 2**62  # combinations of levels that one number tells apart
_KEPT_POSITIVE = 1.0  # sum of squares lent to the mean, which may have none, so that it has a Cholesky factor


@record
class Balance:
    """How a design is balanced.

    Attributes
    ----------
    cells
        int64, shape (n_replicates, n_questions): the cell of every answer.
    shared
        For every term, whether its levels go over the replicates: else each replicate has levels of its own.
    group, first
        Question group within a replicate, of the one term whose levels are several questions of one replicate (all questions are
        one group where there is none), shape (n_questions,), and the first question of each.
    finest, whole
        Places of that term, and of the one with a level for each replicate; None where there is none.
    own_mean
        Whether the fixed part is a mean for each replicate; else it is the same for all.
    """

    cells: Ints
    shared: tuple[bool, ...]
    group: Ints
    first: Ints
    finest: int | None
    whole: int | None
    own_mean: bool


def balance_of(design: MixedDesign) -> Balance | None:
    """Find replicates that make the design balanced; None where there are none.

    Terms are random intercepts, of questions or of a replicate's own: all of its answers, or groups of them.
    """
    if not all(term.is_intercept for term in design.terms):
        return None
    fixed = design.fixed
    if _one_each(fixed.rows):
        return _balance(design, fixed.of_cell, own_mean=True)
    for term in sorted(design.terms, key=lambda term: -term.n_levels):
        found = _balance(design, Groups(term.level, term.n_levels), own_mean=False)
        if found is not None:
            return found
    return None


def _one_each(rows: Floats) -> bool:
    """Whether every row and every column has one number that is not 0."""
    there = rows != 0.0
    return len(rows) == rows.shape[1] > 1 and bool((there.sum(axis=0) == 1).all() and (there.sum(axis=1) == 1).all())


def _balance(design: MixedDesign, replicate: Groups, *, own_mean: bool) -> Balance | None:
    if not 1 < replicate.n_levels < design.n_cells:
        return None
    shared = tuple(not nested_in(term.level, replicate.level) for term in design.terms)
    over = [term for term, each in zip(design.terms, shared, strict=True) if each]
    # What stands beside a question: its levels of shared terms, its row of X and its number of rows.
    codes = [(term.level, term.n_levels) for term in over]
    if not own_mean:
        codes.append((design.fixed.of_cell.level, design.fixed.of_cell.n_levels))
    cells = _arranged(codes, replicate, design.count)
    if cells is None:
        return None
    finest = whole = None
    group, first = np.zeros(cells.shape[1], dtype=np.int64), np.zeros(1, dtype=np.int64)
    for k in np.flatnonzero(np.logical_not(shared)).tolist():
        level = design.terms[k].level[cells]
        _, start, found = np.unique(level[0], return_index=True, return_inverse=True)
        of_group = np.sort(level[:, start], axis=1)
        alike = (level == level[:, start][:, found]).all() and (np.diff(of_group, axis=1) > 0).all()
        alike = alike and of_group.size == design.terms[k].n_levels  # a level that no answer has is of no replicate
        if alike and len(start) == 1 and whole is None and not own_mean:
            whole = k
        elif alike and len(start) > 1 and finest is None:
            finest, group, first = k, found.astype(np.int64), start.astype(np.int64)
        else:
            return None
    return Balance(cells=cells, shared=shared, group=group, first=first, finest=finest, whole=whole, own_mean=own_mean)


def _arranged(codes: list[tuple[Ints, int]], replicate: Groups, count: Floats) -> Ints | None:
    """Lay cells out as replicates x questions by codes below a size and the number of rows; None where replicates differ."""
    n = replicate.n_levels
    sizes = np.bincount(replicate.level, minlength=n)
    if (sizes != sizes[0]).any() or math.prod(size for _, size in codes) > _MOST_CODES:
        return None
    question = np.zeros(len(count), dtype=np.int64)
    for level, size in codes:
        question = question * size + level
    cells = np.lexsort((count, question, replicate.level)).reshape(n, -1)
    alike = all(bool((values[cells] == values[cells[0]]).all()) for values in (question, count))
    return cells if alike else None


class BalancedCore:
    """Evaluations of one balanced design with given fixed part and response; the methods of `StagedCore` that a fit needs.

    `mean` is the core of the replicates' mean, to be evaluated at `turned(theta)`. A direction in which replicates differ has the
    precision W - kappa w w' over sigma^2, W = diag(w), of the groups of questions: with n rows in a group, t the finest term's
    theta and u that of whole replicates, w = n / (1 + t^2 n) and kappa = 1 / (1 / u^2 + sum(w)), or 1 / sum(w) where a mean of
    each replicate is fitted.
    """

    def __init__(self, design: MixedDesign, balance: Balance, fixed: Distinct, response: Floats, within: float) -> None:
        self.design, self.balance = design, balance
        # Where each replicate has a column of X of its own: whose it is, and what it is multiplied by.
        there = fixed.rows if balance.own_mean else np.eye(1)
        self._replicate, self._over = np.argmax(there != 0.0, axis=0), 1.0 / there.sum(axis=0)
        questions = balance.cells[0]
        self._count = design.count[questions]
        self._sizes = np.bincount(balance.group, weights=self._count)
        self._turn = np.where(balance.shared, math.sqrt(len(balance.cells)), 1.0)
        if balance.own_mean:
            of_mean = distinct_rows(np.full((1, 1), self._count.sum() ** -0.5), np.zeros_like(questions))
        else:
            of_mean = distinct_rows(math.sqrt(len(balance.cells)) * fixed.rows, fixed.of_cell.level[questions])
        one_design = replace(
            design,
            fixed=of_mean,
            terms=tuple(self._of_mean(k) for k in range(len(design.terms))),
            count=self._count,
            response=np.zeros(len(questions)),
            within=_KEPT_POSITIVE,
        )
        plan = plan_elimination(one_design)
        self.mean = StagedCore(one_design, plan, of_mean, one_design.response, _KEPT_POSITIVE)
        self.set_response(response, within)

    def _of_mean(self, k: int) -> RandomTerm:
        """Return a term as the mean of the replicates has it."""
        term, balance = self.design.terms[k], self.balance
        if balance.shared[k]:
            return replace(term, level=term.level[balance.cells[0]], values=term.values[balance.cells[0]])
        group = balance.group if k == balance.finest else np.zeros_like(balance.group)
        first = balance.first if k == balance.finest else balance.first[:1]
        levels = tuple(term.levels[int(level)] for level in term.level[balance.cells[0]][first])
        return replace(term, levels=levels, level=group, values=term.values[balance.cells[0]])

    def set_response(self, response: Floats, within: float) -> None:
        """Replace the response; what does not involve it stays."""
        n, group = len(self.balance.cells), self.balance.group
        answers = response[self.balance.cells]
        mean = answers.mean(axis=0)
        self.mean.set_response(math.sqrt(n) * mean, _KEPT_POSITIVE)
        answers -= mean
        indicator = csr_array((self._count, (np.arange(len(group)), group)))
        self._differences = (answers @ indicator) / self._sizes
        self._squares = np.square(self._differences).sum(axis=0)
        total = float(np.square(answers).sum(axis=0) @ self._count)
        self._within = within + total - float(self._squares @ self._sizes)

    def turned(self, theta: Floats) -> Floats:
        """Return theta of the mean."""
        return theta * self._turn

    def evaluate(self, theta: Floats) -> Pieces:
        """Log-determinants, penalised residual sum of squares and fixed effects at theta."""
        n, mean, at = len(self.balance.cells), self.mean.evaluate(self.turned(theta)), self._at(theta)
        logdet = float(np.log1p(at.t**2 * self._sizes).sum()) + math.log1p(at.u**2 * at.total)
        squares = float(at.weight @ self._squares - at.kappa * (at.sums @ at.sums))
        beta, of_fixed = mean.beta, mean.logdet_fixed
        if self.balance.own_mean:
            of_fixed += (n - 1) * math.log(at.total / self._sizes.sum())
            each = mean.beta[0] * (n * self._sizes.sum()) ** -0.5 + at.sums / at.total
            beta = self._over * each[self._replicate]
        return Pieces(
            logdet_effects=mean.logdet_effects + (n - 1) * logdet,
            logdet_fixed=of_fixed,
            rss=mean.rss - _KEPT_POSITIVE + squares + self._within,
            beta=beta,
            root=mean.root,
        )

    def gradient(self, theta: Floats, *, reml: bool, precision: float) -> Floats:
        """Return derivatives by theta of logdet_effects + (logdet_fixed, if reml) + precision * rss."""
        out = self._turn * self.mean.gradient(self.turned(theta), reml=reml, precision=precision)
        n, at = len(self.balance.cells), self._at(theta)
        if self.balance.finest is not None:
            by_weight = (
                self._squares - 2.0 * at.kappa * (at.sums @ self._differences) + at.kappa**2 * (at.sums @ at.sums)
            )
            slope = -2.0 * at.t * at.weight**2
            # The determinant goes by kappa both with whole replicates and, restricted, with a mean of each.
            of_total = at.kappa if reml or not self.balance.own_mean else 0.0
            logdet = 2.0 * at.t * at.weight.sum() + of_total * slope.sum()
            out[self.balance.finest] += (n - 1) * logdet + precision * float(by_weight @ slope)
        if self.balance.whole is not None:
            scaled = 1.0 + at.u**2 * at.total
            by_kappa = -2.0 * at.u / scaled**2 * float(at.sums @ at.sums)
            out[self.balance.whole] += (n - 1) * 2.0 * at.u * at.total / scaled + precision * by_kappa
        return out

    def effects(self, theta: Floats, of_mean: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """Return conditional modes of every term, from those of the mean."""
        at = self._at(theta)
        differ = at.t**2 * at.weight * (self._differences - at.kappa * at.sums[:, np.newaxis])
        return self._joined(of_mean, 0.5, differ, at.kappa * at.sums[:, np.newaxis])

    def effect_covariances(self, theta: Floats, of_mean: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """Return conditional covariances of every term over sigma^2, from those of the mean."""
        n, at = len(self.balance.cells), self._at(theta)
        kappa = 0.0 if self.balance.own_mean else at.kappa
        differ = at.t**2 * at.weight / self._sizes + at.t**4 * kappa * at.weight**2
        return self._joined(of_mean, 1.0, np.tile((1 - 1 / n) * differ, (n, 1)), np.full((n, 1), (1 - 1 / n) * kappa))

    def fixed_covariance(self, theta: Floats) -> Floats:
        """Return the covariance of the fixed effects over sigma^2."""
        inverse = invert_lower(self.mean.evaluate(self.turned(theta)).root)
        if not self.balance.own_mean:
            return inverse.T @ inverse
        n, each = len(self.balance.cells), 1.0 / self._at(theta).total
        of_mean = float(inverse[0, 0]) ** 2 / self._sizes.sum()
        return self._over[:, np.newaxis] * (each * np.eye(n) + (of_mean - each) / n) * self._over

    def _at(self, theta: Floats) -> "_Direction":
        t = 0.0 if self.balance.finest is None else float(theta[self.balance.finest])
        u = 0.0 if self.balance.whole is None else float(theta[self.balance.whole])
        weight = self._sizes / (1.0 + t**2 * self._sizes)
        total = float(weight.sum())
        kappa = 1.0 / total if self.balance.own_mean else u**2 / (1.0 + u**2 * total)
        return _Direction(t, u, weight, total, kappa, self._differences @ weight)

    def _joined(self, of_mean: tuple[Floats, ...], power: float, finest: Floats, whole: Floats) -> tuple[Floats, ...]:
        """Add what the mean gives and what differences give, shape (n_replicates, levels of one)."""
        over, balance = len(self.balance.cells) ** -power, self.balance
        out = [over * values for values in of_mean]
        for k, differ, first in ((balance.finest, finest, balance.first), (balance.whole, whole, balance.first[:1])):
            if k is not None:
                both = out[k].reshape(-1) + differ
                out[k] = np.empty((both.size, *out[k].shape[1:]))
                out[k][self.design.terms[k].level[balance.cells[:, first]]] = both.reshape(
                    *both.shape, *out[k].shape[1:]
                )
        return tuple(out)


class _Direction(NamedTuple):
    """The law of a direction at one theta, and the weighted sum of every replicate's differences from the mean."""

    t: float
    u: float
    weight: Floats
    total: float
    kappa: float
    sums: Floats
