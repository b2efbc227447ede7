"""What is refused before a linear mixed model is fitted, in words."""

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.design import MixedDesign, RandomTerm

FEW_LEVELS = 5


def check_linear(design: MixedDesign) -> tuple[str, ...]:
    """Refuse a design that cannot be fitted; return warnings about what can but should not be trusted."""
    n, p = design.n_rows, design.fixed.shape[1]
    if not design.terms:
        raise InputError("the model has no random effect; a mixed model needs one, such as (1|item)")
    values = (design.fixed, design.response, design.count, *(term.values for term in design.terms))
    if not all(np.isfinite(array).all() for array in values) or not np.isfinite(design.within):
        raise InputError("the design holds NaN or infinite values; leave out rows that have no outcome")
    if (design.count <= 0).any() or design.within < 0:
        raise InputError("every cell needs at least one row, and the sum of squares within cells cannot be negative")
    if n <= p:
        raise InputError(f"{n} rows for {p} fixed effects; a mixed model needs more rows than fixed effects")
    y = design.response if design.offset is None else design.response - design.offset
    if design.within == 0.0 and np.ptp(y) <= 1e-13 * np.abs(y).max():
        raise CannotAnswerError(f"all {n} rows have the same response, {y[0]:g}: there is no variance to divide")
    return tuple(warning for term in design.terms for warning in _check_term(design, term))


def _check_term(design: MixedDesign, term: RandomTerm) -> list[str]:
    n, k = design.n_rows, term.n_columns
    seen = int(np.count_nonzero(np.bincount(term.level, minlength=term.n_levels)))
    if seen < 2:
        raise InputError(
            f"the grouping {term.group!r} has one level; its variance cannot be estimated, so leave it out"
        )
    if seen >= n:
        raise InputError(
            f"the grouping {term.group!r} has as many levels as there are rows ({n}), so its variance cannot be told from the "
            "residual's; leave it out, or give repeated trials"
        )
    if seen * k >= n and k > 1:
        raise InputError(
            f"the random effects of {term.group!r} are {seen * k} for {n} rows, so their variances cannot be told from the "
            "residual's; take fewer effects for each level, or give repeated trials"
        )
    empty = [name for name, column in zip(term.columns, term.values.T, strict=True) if not np.any(column)]
    if empty:
        raise InputError(f"the effect {empty[0]!r} of the grouping {term.group!r} is 0 in all rows; leave it out")
    if seen < FEW_LEVELS:
        return [f"{term.group} has only {seen} levels; the estimate of its variance is poor, consider it as fixed"]
    return []
