"""One evaluation of a linear mixed model by sparse factorisation, for designs whose dense remainder would be too large.

The whole matrix M = Lambda'Z'wZLambda + I is factored by SuperLU with a fill-reducing symmetric ordering and without
pivoting, which for a positive definite matrix is its LDL' factorisation.
"""

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array, hstack
from scipy.sparse.linalg import SuperLU, splu

from evalstats.stats.mixed.blocks import cholesky, invert_lower, lower_entries
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, RandomTerm
from evalstats.stats.mixed.linear_structured import Pieces

_STEP = 1e-4  # of the differences by theta
_CHUNK = 256  # columns solved for together


def term_columns(term: RandomTerm) -> csr_array:
    """Z of one term, shape (n_cells, n_levels * n_columns): the columns of a level stand together."""
    n, k = len(term.level), term.n_columns
    rows = np.repeat(np.arange(n), k)
    columns = (term.level[:, None] * k + np.arange(k)).reshape(-1)
    return csr_array((term.values.reshape(-1), (rows, columns)), (n, term.n_levels * k))


class Sparse:
    """Evaluations of one design with given fixed part and response; the same methods as `Structured`."""

    def __init__(self, design: MixedDesign, fixed: Floats, response: Floats, within: float) -> None:
        self.design, self.n_fixed, self.within = design, fixed.shape[1], within
        self.Z = csr_array(hstack([term_columns(term) for term in design.terms], format="csr"))
        weighted = csr_array(self.Z.multiply(design.count[:, None]))
        self.ZtZ = csc_array(self.Z.T @ weighted)
        self.dense = np.column_stack([fixed, response])
        self.ZtW: Floats = np.asarray(weighted.T @ self.dense)
        self.WtW: Floats = self.dense.T @ (design.count[:, None] * self.dense)
        self.WtW[-1, -1] += within
        self._pattern = _factor_pattern(design)

    def set_response(self, response: Floats, within: float) -> None:
        """Replace the response; what does not involve it stays."""
        self.dense[:, -1] = response
        weighted = self.design.count * response
        self.ZtW[:, -1] = self.Z.T @ weighted
        self.WtW[-1] = self.WtW[:, -1] = self.dense.T @ weighted
        self.WtW[-1, -1] += within

    def evaluate(self, theta: Floats) -> Pieces:
        """Log-determinants, penalised residual sum of squares and fixed effects at theta."""
        return self._solve(theta)[0]

    def gradient(self, theta: Floats, *, reml: bool, precision: float) -> Floats:
        """Return derivatives by theta of logdet_effects + (logdet_fixed, if reml) + precision * rss, by central differences."""

        def value(at: Floats) -> float:
            p = self.evaluate(at)
            return p.logdet_effects + (p.logdet_fixed if reml else 0.0) + precision * p.rss

        out = np.empty_like(theta)
        for j in range(len(theta)):
            step = np.zeros_like(theta)
            step[j] = _STEP * max(1e-2, abs(float(theta[j])))
            out[j] = (value(theta + step) - value(theta - step)) / (2.0 * step[j])
        return out

    def effects(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional modes of every term."""
        pieces, factor, scaled, spread = self._solve(theta)
        right = scaled[:, -1] - scaled[:, :-1] @ pieces.beta
        return self._split(spread @ factor.solve(right))

    def effect_covariances(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional covariances of the effects of every level over sigma^2: diagonal blocks of spread matrix^-1 spread'."""
        _, factor, _, spread = self._solve(theta)
        out: list[Floats] = []
        start = 0
        transposed = csc_array(spread.T)
        for term in self.design.terms:
            k, size = term.n_columns, term.n_levels * term.n_columns
            blocks = np.empty((term.n_levels, k, k))
            chunk = max(_CHUNK // k, 1) * k
            for first in range(start, start + size, chunk):
                at = np.arange(first, min(first + chunk, start + size))
                inverse: Floats = spread @ factor.solve(transposed[:, at].toarray())
                level = (at - start) // k
                for i in range(k):
                    blocks[level, i, (at - start) % k] = inverse[start + level * k + i, np.arange(len(at))]
            out.append(blocks)
            start += size
        return tuple(out)

    def _split(self, b: Floats) -> tuple[Floats, ...]:
        ends = np.cumsum([term.n_levels * term.n_columns for term in self.design.terms])[:-1]
        parts = np.split(b, ends)
        return tuple(part.reshape(term.n_levels, -1) for part, term in zip(parts, self.design.terms, strict=True))

    def _solve(self, theta: Floats) -> tuple[Pieces, SuperLU, Floats, csc_array]:
        entry, rows, starts = self._pattern
        spread = csc_array((theta[entry], rows, starts), (self.ZtZ.shape[0], self.ZtZ.shape[0]))
        matrix = csc_array(spread.T @ self.ZtZ @ spread + eye_array(spread.shape[0]))
        factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        scaled: Floats = np.asarray(spread.T @ self.ZtW)
        p = self.n_fixed
        root_of_rest = cholesky(self.WtW - scaled.T @ factor.solve(scaled))
        root = invert_lower(root_of_rest[:p, :p])
        pieces = Pieces(
            logdet_effects=float(np.log(np.abs(factor.U.diagonal())).sum()),
            logdet_fixed=2.0 * float(np.log(np.diag(root_of_rest)[:p]).sum()),
            rss=float(root_of_rest[-1, -1]) ** 2,
            beta=root.T @ root_of_rest[-1, :p],
            unscaled=root.T @ root,
        )
        return pieces, factor, scaled, spread


def _factor_pattern(design: MixedDesign) -> tuple[Ints, Ints, Ints]:
    """Lambda of all levels by columns: which entry of theta each number is, its row, and where columns start."""
    entry: list[Ints] = []
    rows: list[Ints] = []
    lengths: list[Ints] = []
    first = first_entry = 0
    for term in design.terms:
        k = term.n_columns
        below, columns = lower_entries(k)
        levels = first + np.arange(term.n_levels)[:, None] * k
        entry.append(np.tile(first_entry + np.arange(term.n_theta), term.n_levels))
        rows.append((levels + below).reshape(-1))
        lengths.append(np.tile(np.bincount(columns, minlength=k), term.n_levels))
        first += term.n_levels * k
        first_entry += term.n_theta
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return np.concatenate(entry), np.concatenate(rows), starts
