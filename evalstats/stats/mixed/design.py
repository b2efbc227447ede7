"""What a mixed model is fitted to: cells of rows that share everything, and the terms of the model.

Rows with the same fixed effects and the same levels of every grouping are one cell. A cell keeps its number of rows (or of
binomial trials) and their mean; with the sum of squares inside cells that is all a fit needs, so its cost does not grow
with the number of trials.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomTerm:
    """One term of random effects, lme4's `(1 + x | g)`; its effects have a full covariance matrix.

    `(1 + x || g)` is two terms with the same grouping and one column each.

    Attributes
    ----------
    group
        Name of the grouping, such as "item" or "item:model".
    columns
        Names of the effects of a level, such as ("(Intercept)",) or ("(Intercept)", "Days").
    levels
        Labels of the levels of the grouping.
    level
        int64, shape (n_cells,): the level of every cell, from 0.
    values
        float64, shape (n_cells, n_columns): what each effect is multiplied by; a column of ones for an intercept.
    """

    group: str
    columns: tuple[str, ...]
    levels: tuple[str, ...]
    level: Ints
    values: Floats

    @property
    def n_columns(self) -> int:
        """Effects of each level."""
        return len(self.columns)

    @property
    def n_levels(self) -> int:
        """Levels of the grouping."""
        return len(self.levels)

    @property
    def n_theta(self) -> int:
        """Entries of the lower triangle of the relative covariance factor."""
        return self.n_columns * (self.n_columns + 1) // 2

    @property
    def is_intercept(self) -> bool:
        """Whether the term is one plain random intercept."""
        return self.n_columns == 1 and bool(np.all(self.values == 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedDesign:
    """Cells of a mixed model.

    Attributes
    ----------
    fixed
        float64, shape (n_cells, n_fixed), of full column rank.
    fixed_names
        Names of its columns.
    terms
        The random effects; their order says nothing.
    count
        float64, shape (n_cells,): rows of every cell; binomial: trials.
    response
        float64, shape (n_cells,): mean response of the rows of a cell; binomial: share of successes, in [0, 1].
    within
        Sum over all cells of squared deviations of the rows from their cell's mean (linear models).
    offset
        float64, shape (n_cells,), added to the linear predictor; None for none.
    log_constant
        What the log-likelihood of a binomial model gets on top: the sum of the logarithms of the binomial coefficients of the
        rows as they were given; 0 for rows of single trials.
    """

    fixed: Floats
    fixed_names: tuple[str, ...]
    terms: tuple[RandomTerm, ...]
    count: Floats
    response: Floats
    within: float = 0.0
    offset: Floats | None = None
    log_constant: float = 0.0

    @property
    def n_cells(self) -> int:
        """Distinct rows."""
        return len(self.count)

    @property
    def n_rows(self) -> int:
        """Rows, or binomial trials, behind the cells."""
        return round(float(self.count.sum()))

    @property
    def n_theta(self) -> int:
        """Parameters of all covariance factors."""
        return sum(term.n_theta for term in self.terms)

    def factors(self, theta: Floats) -> tuple[Floats, ...]:
        """Split theta into one lower-triangular relative covariance factor for each term.

        `theta` runs through the terms in order, and through each lower triangle column by column, as in lme4. The covariance
        of a level's effects is sigma^2 L L'.
        """
        out: list[Floats] = []
        start = 0
        for term in self.terms:
            factor = np.zeros((term.n_columns, term.n_columns))
            columns, rows = np.triu_indices(term.n_columns)
            factor[rows, columns] = theta[start : start + term.n_theta]
            out.append(factor)
            start += term.n_theta
        return tuple(out)
