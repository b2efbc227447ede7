"""Degrees of freedom of a binomial mixed model with few groups: those between groups for what differs between them.

Schluchter & Elashoff 1990, doi:10.1080/00949659008811286; Li & Redden 2015, doi:10.1186/s12874-015-0026-x (few clusters, binary
outcomes).
"""

import numpy as np

from evalstats.stats.mixed.design import Floats, MixedDesign, RandomTerm

ENOUGH_GROUPS = 30
_ROUNDING = 1e-9
_WITHIN = (
    0.1  # a smaller share between groups is within them: 100 times the degrees of freedom are as good as the normal law
)


def few_groups(design: MixedDesign) -> list[RandomTerm]:
    """Return the random terms with fewer than 30 levels, which the normal law takes for more than they are."""
    return [term for term in design.terms if term.n_levels < ENOUGH_GROUPS]


def between_within_df(design: MixedDesign, rows: Floats) -> Floats:
    """Return the degrees of freedom of contrasts of the fixed effects, shape (n_rows,); infinite where few groups play no part.

    Of a contrast, the share b of its least-squares weights that lies in the space of a term's random effects is what differs
    between groups: 1 for a factor between groups, 0 for one balanced within them. With G levels and r fixed columns in that
    space, G - r degrees of freedom are between groups, those within are many, and Satterthwaite's formula puts both
    together: (G - r) / b^2; infinite for b below 0.1. Of several terms the fewest count.

    Examples
    --------
    >>> from evalstats.stats.mixed.design import RandomTerm
    >>> group, treated = np.repeat(np.arange(8), 2), np.repeat([0.0, 1.0], 8)
    >>> later = np.tile([0.0, 1.0], 8)
    >>> design = MixedDesign(
    ...     fixed=np.column_stack([np.ones(16), treated, later]),
    ...     fixed_names=("(Intercept)", "treated", "later"),
    ...     terms=(
    ...         RandomTerm(
    ...             group="g", levels=tuple("abcdefgh"), columns=("(Intercept)",), level=group, values=np.ones((16, 1))
    ...         ),
    ...     ),
    ...     count=np.full(16, 20.0),
    ...     response=np.full(16, 0.5),
    ... )
    >>> between_within_df(design, np.eye(3)[1:]).tolist()
    [6.0, inf]
    """
    x, count = design.fixed, design.count
    weights = rows @ np.linalg.pinv(x.T @ (count[:, None] * x)) @ x.T
    size = np.square(weights) @ count
    df = np.full(len(rows), np.inf)
    for term in few_groups(design):
        inside = np.square(_projected(term, count, weights.T)).T @ count
        share = np.where(size > 0.0, inside / np.maximum(size, 1e-300), 0.0)
        share = np.where(share > 1.0 - _ROUNDING, 1.0, share)  # whole degrees of freedom are shown as such
        own = _projected(term, count, x)
        there = np.abs(own - x).max(axis=0) <= _ROUNDING * np.maximum(np.abs(x).max(axis=0), 1e-300)
        used = np.linalg.matrix_rank(x[:, there]) if there.any() else 0
        between = max(1.0, term.n_levels - np.ceil(used / term.n_columns))
        df = np.minimum(df, np.where(share >= _WITHIN, between / np.maximum(share, _WITHIN) ** 2, np.inf))
    return df


def _projected(term: RandomTerm, count: Floats, columns: Floats) -> Floats:
    """Return columns, shape (n_cells, n_columns), projected onto what the random effects of a term can make, by rows."""
    out = np.zeros_like(columns)
    order = np.argsort(term.level, kind="stable")
    for cells in np.split(order, np.cumsum(np.bincount(term.level, minlength=term.n_levels))[:-1]):
        z, n = term.values[cells], count[cells, None]
        out[cells] = z @ (np.linalg.pinv(z.T @ (n * z)) @ (z.T @ (n * columns[cells])))
    return out
