"""Elimination of all random effects at given weights of the cells: solve, log-determinant, entries of the inverse.

The system is H = A'WA + I for the spherical random effects u, where cell c adds w_c a_c a_c' and a_c = Lambda' z_c; with
the fixed effects beside it,

    J = [[A'WA + I, A'WX], [X'WA, X'WX]].

Eliminating block s of the chain turns the weights M (first diagonal, W) into M - N D^-1 N', with N = M A_s and
D = I + A_s' N. Levels do not mix, so N is kept as one value a cell, and D as one small matrix a level. What crosses the
chain is left in one dense matrix S.
"""

import numpy as np
from scipy import linalg, sparse

from evalstats.stats.mixed.design import Floats
from evalstats.stats.mixed.laplace_gram import Gram, make_gram
from evalstats.stats.mixed.laplace_plan import Plan

Blocks = list[Floats]  # one array for each block, shape (n_columns, n_levels)


class System:
    """What every elimination of one design shares."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._grams: dict[int, Gram] = {}
        self._squares = _Squares(plan.profiles)

    def gram(self, block: int) -> Gram:
        """Return the pairs of a block's levels with the distinct rows, found when first asked for."""
        if block not in self._grams:
            self._grams[block] = make_gram(self.plan.blocks[block].groups, self.plan.profile, self.plan.profiles)
        return self._grams[block]

    def weighted(self, weights: Floats) -> Floats:
        """Return P' diag(weights) P for the distinct rows P of the rest and the fixed effects."""
        return self._squares.weighted(weights)


class _Squares:
    """Products of the entries of every row of P with each other, listed once where rows have few entries."""

    def __init__(self, profiles: "sparse.csr_array[np.float64]") -> None:
        self.width = int(profiles.shape[1])
        filled = np.diff(profiles.indptr).astype(np.int64)
        self.listed = int((filled**2).sum()) < profiles.shape[0] * self.width**2 / 10
        self.dense = np.empty((0, 0))
        if not self.listed:
            self.dense = np.asarray(profiles.toarray(), dtype=np.float64)
            return
        # Entry e of a row meets each of the row's filled[row] entries, which begin at indptr[row].
        of_entry = np.repeat(np.arange(filled.size), filled)
        first = np.repeat(np.arange(of_entry.size), filled[of_entry])
        begins = np.cumsum(filled[of_entry]) - filled[of_entry]
        within = np.arange(first.size) - np.repeat(begins, filled[of_entry])
        second = profiles.indptr[of_entry[first]] + within
        self.row = of_entry[first]
        self.value = profiles.data[first] * profiles.data[second]
        self.where = profiles.indices[first].astype(np.int64) * self.width + profiles.indices[second]

    def weighted(self, weights: Floats) -> Floats:
        if not self.listed:
            return (self.dense.T * weights) @ self.dense
        total = np.bincount(self.where, weights=self.value * weights[self.row], minlength=self.width**2)
        return np.asarray(total, dtype=np.float64).reshape(self.width, self.width)


class Elimination:
    """All random effects eliminated at one set of weights and scaled columns; see the module.

    Parameters
    ----------
    system
        The plan with its pairs.
    factors, columns
        Relative covariance factor and scaled columns of every block.
    weights
        float64, shape (n_cells,), not negative.
    extra
        What is added to X'WX (a prior), where the fixed effects are solved for too; None to leave them out.
    """

    def __init__(
        self,
        system: System,
        factors: tuple[Floats, ...],
        columns: tuple[Floats, ...],
        weights: Floats,
        extra: Floats | None = None,
    ) -> None:
        self.system = system
        self.plan = plan = system.plan
        self.factors = factors
        self.columns = columns
        self.weights = weights
        self.has_fixed = extra is not None
        self.log_determinant = 0.0
        self.leaf_scale: Floats = np.empty(0)  # 1 / D of the leaf, where there is one
        self.effective: Floats = weights  # weights once the leaf is gone
        if plan.has_leaf:
            self.leaf_scale = 1.0 / (1.0 + weights * (columns[0] ** 2).sum(axis=0))
            self.effective = weights * self.leaf_scale
            self.log_determinant -= float(np.log(self.leaf_scale).sum())
        self.left: dict[int, Floats] = {}  # N of each block of the chain, shape (n_columns, n_cells)
        self.inverse: dict[int, Floats] = {}  # D^-1, shape (n_columns, n_columns, n_levels)
        self.root: dict[int, Floats] = {}  # lower factors C with C C' = D^-1
        for b in plan.chain:
            self._eliminate(b)
        self.lower: Floats = np.empty((0, 0))  # Cholesky factor of S, of the rest and then the fixed effects
        if plan.n_rest or extra is not None:
            self._factor_rest(extra)

    def _eliminate(self, b: int) -> None:
        groups, columns = self.plan.blocks[b].groups, self.columns[b]
        size = len(columns)
        left = np.stack([self.reweight(column, before=b) for column in columns])
        block = np.empty((size, size, groups.n_levels))
        for i in range(size):
            for j in range(i + 1):
                block[i, j] = block[j, i] = groups.sums(columns[i] * left[j])
            block[i, i] += 1.0
        self.left[b] = left
        if size == 1:
            self.log_determinant += float(np.log(block).sum())
            self.inverse[b] = 1.0 / block
            self.root[b] = np.sqrt(self.inverse[b])
            return
        lower = np.linalg.cholesky(np.ascontiguousarray(block.transpose(2, 0, 1)))
        self.log_determinant += 2.0 * float(np.log(np.diagonal(lower, axis1=1, axis2=2)).sum())
        root = np.asarray(np.linalg.inv(lower).transpose(2, 1, 0), dtype=np.float64, order="C")  # D^-1 = L^-T L^-1
        self.root[b] = root
        self.inverse[b] = np.einsum("ikl,jkl->ijl", root, root)

    def reweight(self, values: Floats, before: int | None = None) -> Floats:
        """M v: the weights after eliminating the leaf and the chain (as far as `before`), times a value of every cell."""
        out = self.effective * values
        for b in self.left:
            if before is None or b < before:
                out -= self._through(b, self._solved(b, self._sums(b, self.left[b] * values)))
        return out

    def _sums(self, b: int, values: Floats) -> Floats:
        groups = self.plan.blocks[b].groups
        return np.stack([groups.sums(row) for row in values])

    def _solved(self, b: int, sums: Floats) -> Floats:
        inverse = self.inverse[b]
        return inverse[0] * sums if len(inverse) == 1 else np.einsum("ijl,jl->il", inverse, sums)

    def _through(self, b: int, effects: Floats) -> Floats:
        return self._spread(b, self.left[b], effects)

    def _spread(self, b: int, columns: Floats, effects: Floats) -> Floats:
        """Sum of columns times the effects of each cell's level."""
        groups = self.plan.blocks[b].groups
        out = columns[0] * groups.at_cells(effects[0])
        for column, effect in zip(columns[1:], effects[1:], strict=True):
            out += column * groups.at_cells(effect)
        return out

    def _factor_rest(self, extra: Floats | None) -> None:
        plan = self.plan
        n_rest = plan.n_rest
        width = plan.profiles.shape[1] if extra is not None else n_rest
        gram = self.system.weighted(plan.profile.sums(self.effective))
        for b in plan.chain:
            pairs = self.system.gram(b)
            sums = np.stack([pairs.sums(row) for row in self.left[b]])
            pairs.subtract(gram, np.einsum("ikp,ip->kp", self.root[b][:, :, pairs.level], sums))
        gram = gram[:width, :width]
        gram = self.scale_rest(self.scale_rest(gram).T).T
        gram[np.arange(n_rest), np.arange(n_rest)] += 1.0
        if extra is not None:
            gram[n_rest:, n_rest:] += extra
        factor = linalg.cholesky(gram, lower=True, check_finite=False)
        self.lower = np.asarray(factor, dtype=np.float64)
        self.log_determinant += 2.0 * float(np.log(np.diagonal(factor)[:n_rest]).sum())

    def scale_rest(self, rows: Floats) -> Floats:
        """Multiply the rows of the effects that stay by the factors of their blocks, from the left and turned."""
        out, start = rows.copy(), 0
        for b in self.plan.rest:
            block, factor = self.plan.blocks[b], self.factors[b]
            end = start + block.size * block.n_levels
            part = rows[start:end].reshape(block.n_levels, block.size, -1)
            out[start:end] = np.einsum("ab,lac->lbc", factor, part).reshape(end - start, -1)
            start = end
        return out

    def solve(self, sides: Blocks, fixed: Floats | None = None) -> tuple[Blocks, Floats, Floats]:
        """Solve for random and fixed effects.

        Returns the random effects of every block, the fixed effects (empty where left out), and for every cell what both
        add to the linear predictor.
        """
        plan = self.plan
        sides = list(sides)
        carried = np.zeros(plan.n_cells)  # what the blocks gone so far take from the later sides, before A_b'
        if plan.has_leaf:
            scaled = self.weights * self.leaf_scale
            carried += scaled * (self.columns[0] * sides[0]).sum(axis=0)
        for b in plan.chain:
            sides[b] = sides[b] - self._sums(b, self.columns[b] * carried)
            carried += self._through(b, self._solved(b, sides[b]))
        effects: Blocks = [np.empty(0)] * len(plan.blocks)
        change = np.zeros(plan.n_cells)
        beta = np.empty(0)
        if self.lower.size:
            right = np.zeros(0) if fixed is None else fixed
            beta, change = self._solve_rest(sides, carried, right, effects)
        for b in reversed(plan.chain):
            right = sides[b] - self._sums(b, self.left[b] * change)
            effects[b] = self._solved(b, right)
            change = change + self._spread(b, self.columns[b], effects[b])
        if plan.has_leaf:
            column = self.columns[0]
            right = sides[0] - column * (self.weights * change)
            along = self.weights * self.leaf_scale * (column * right).sum(axis=0)
            effects[0] = right - column * along
            change = change + (column * effects[0]).sum(axis=0)
        return effects, beta, change

    def _solve_rest(self, sides: Blocks, carried: Floats, fixed: Floats, effects: Blocks) -> tuple[Floats, Floats]:
        plan = self.plan
        parts = [(sides[b] - self._sums(b, self.columns[b] * carried)).T.ravel() for b in plan.rest]
        if self.has_fixed:
            parts.append(fixed - plan.distinct.rows.T @ plan.distinct.of_cell.sums(carried))
        solution = linalg.cho_solve((self.lower, True), np.concatenate(parts), check_finite=False)
        change, start = np.zeros(plan.n_cells), 0
        for b in plan.rest:
            block = plan.blocks[b]
            end = start + block.size * block.n_levels
            effects[b] = np.ascontiguousarray(solution[start:end].reshape(block.n_levels, block.size).T)
            change += self._spread(b, self.columns[b], effects[b])
            start = end
        beta = solution[start:]
        if self.has_fixed:
            change += plan.distinct.of_cell.at_cells(plan.distinct.rows @ beta)
        return beta, change

    def fixed_precision(self) -> Floats:
        """X'MX with every random effect eliminated: the precision of the fixed effects at these weights."""
        lower = self.lower[self.plan.n_rest :, self.plan.n_rest :]
        return lower @ lower.T
