"""What is refused before a binomial mixed model is fitted, in words."""

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.laplace_plan import Distinct, nested_in
from evalstats.stats.mixed.separation import dependent_columns

FEW_LEVELS = 5
WHOLE = 1e-6  # of a success: shares times counts are rounded by far less


def check_binomial(design: MixedDesign) -> tuple[str, ...]:
    """Refuse a response or groupings that cannot be fitted; return warnings about what can but should not be trusted."""
    check_shares(design)
    if not design.terms:
        raise InputError("the model has no random effect; a mixed model needs one, such as (1|item)")
    return tuple(warning for term in design.terms for warning in _check_term(design, term))


def check_rank(distinct: Distinct, names: tuple[str, ...]) -> None:
    """Refuse fixed effects that are not of full rank, and name what is too much."""
    dependent = [repr(names[int(j)]) for j in dependent_columns(distinct.rows)]
    if dependent:
        several = len(dependent) > 1
        raise InputError(
            f"{len(names)} fixed effects, but column{'s' if several else ''} {', '.join(dependent)} "
            f"follow{'' if several else 's'} from those before; leave out empty combinations or one of the factors"
        )


def check_shares(design: MixedDesign) -> None:
    """Refuse a response that is no share of whole successes, or that never varies."""
    share, count = design.response, design.count
    if not (np.isfinite(share).all() and np.isfinite(count).all() and np.isfinite(design.fixed).all()):
        raise InputError("the design holds NaN or infinite values; leave out rows that have no outcome")
    if (count <= 0).any():
        raise InputError(f"{int((count <= 0).sum())} cells have no trial; leave them out")
    outside = int(((share < 0.0) | (share > 1.0)).sum())
    if outside:
        raise InputError(f"{outside} of {share.size} cells have a response outside 0 to 1; give shares of successes")
    successes = share * count
    broken = np.abs(successes - np.rint(successes)) > WHOLE * np.maximum(1.0, count)
    broken |= np.abs(count - np.rint(count)) > WHOLE
    if broken.any():
        at = int(np.argmax(broken))
        raise InputError(
            f"{int(broken.sum())} cells hold no whole number of successes (the first: {share[at]:.6g} of {count[at]:g} "
            "trials); a binomial model needs outcomes of 0 or 1, so fit bounded or averaged scores by a linear model"
        )
    if successes.sum() <= WHOLE or (count - successes).sum() <= WHOLE:
        what = "successes" if successes.sum() > WHOLE else "failures"
        raise CannotAnswerError(f"all {design.n_rows} trials are {what}: there is nothing to tell effects from")


def _check_term(design: MixedDesign, term: RandomTerm) -> list[str]:
    seen = np.unique(term.level).size
    if seen < 2:
        raise InputError(
            f"the grouping {term.group!r} has one level; its variance cannot be estimated, so leave it out"
        )
    if term.is_intercept:
        trials = np.bincount(term.level, weights=design.count)
        if trials.max() <= 1.0 + WHOLE:
            raise CannotAnswerError(
                f"every level of {term.group!r} has one trial: outcomes of 0 or 1 seen once say nothing about its "
                "variance; leave the term out, or give repeated trials"
            )
    out: list[str] = []
    if seen < FEW_LEVELS:
        out.append(f"{term.group} has only {seen} levels; the estimate of its variance is poor, consider it as fixed")
    if term.is_intercept and _outcomes_constant(design, term):
        out.append(
            f"every level of {term.group} has only successes or only failures: the likelihood rises as its variance runs to "
            "infinity, so the estimate only says that it is large"
        )
    return out


def _outcomes_constant(design: MixedDesign, term: RandomTerm) -> bool:
    """Whether no level holds both outcomes, which no fixed effect already explains."""
    share = np.bincount(term.level, weights=design.count * design.response) / np.bincount(
        term.level, weights=design.count
    )
    constant = bool(((share < WHOLE) | (share > 1.0 - WHOLE)).all())
    if not constant:
        return False
    rows = np.unique(design.fixed, axis=0, return_inverse=True)[1].ravel()
    return not nested_in(term.level, rows) or np.unique(rows).size < np.unique(term.level).size
