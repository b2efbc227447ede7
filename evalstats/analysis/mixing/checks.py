"""What a table or a model must not be, in words; and what a reader of the result should know."""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from evalstats.analysis.mixing.columns import Factor, combinations
from evalstats.analysis.mixing.terms import MixedFormula, Term, term_name
from evalstats.document.numbers import plural
from evalstats.errors import InputError
from evalstats.stats.mixed.design import Floats, RandomTerm

FEW_LEVELS = 5
_LISTED = 4
_MOST_CELLS = 1_000_000

EmptyCell = tuple[tuple[str, str], ...]  # (factor, level) of each factor of a product


def check_parts(formula: MixedFormula, *, random: bool) -> None:
    """Raise InputError for a formula without fixed effects or, where they are wanted, without random ones."""
    if random and not formula.random:
        raise InputError(
            f"the formula '{formula}' has no random part, and a mixed model needs a grouping whose levels are a sample; add one, "
            "such as (1 | item)"
        )
    if not formula.intercept and not formula.fixed:
        raise InputError(f"the formula '{formula}' has no fixed effect; write 1 for an intercept")


def check_room(n_fixed: int, n_rows: int) -> None:
    """Raise InputError where the fixed effects leave no row to judge them by."""
    if n_fixed >= n_rows:
        raise InputError(f"there are {plural(n_fixed, 'fixed effect')} for {plural(n_rows, 'row')}; leave terms out")


def check_fixed_factors(factors: Mapping[str, Factor]) -> None:
    """Raise InputError for a fixed factor with one level."""
    for factor in factors.values():
        if len(factor.levels) == 1:
            raise InputError(
                f"factor {factor.name!r} has one level ({factor.levels[0]!r}) in the rows that are used, so it has no effect to "
                "estimate; leave it out of the formula"
            )


def check_groups(terms: Sequence[RandomTerm], n_rows: int, *, single: bool) -> list[str]:
    """Raise InputError for groupings that no variance can be estimated for; warn of few levels.

    `single` says whether a level that holds one row leaves nothing to tell its effect from the noise: rows of a linear model,
    or single binomial trials.
    """
    warnings: list[str] = []
    for term in terms:
        if term.n_levels == 1:
            raise InputError(
                f"grouping {term.group!r} has one level ({term.levels[0]!r}), so its variance cannot be estimated; leave its "
                "random part out"
            )
        if single and term.n_levels >= n_rows:
            raise InputError(
                f"grouping {term.group!r} has as many levels as there are rows ({n_rows:,}), so its effects cannot be "
                "told from the noise of single rows; leave its random part out, or give several trials"
            )
        if single and term.n_levels * term.n_columns >= n_rows:
            raise InputError(
                f"the random part of {term.group!r} has {term.n_levels} levels x {term.n_columns} effects for {n_rows:,} "
                "rows, so it cannot be told from the noise; use fewer slopes"
            )
        if term.n_levels < FEW_LEVELS:
            warnings.append(
                f"{term.group} has {term.n_levels} levels: a variance between so few is hardly known (at least {FEW_LEVELS}, "
                f"better 10, are wanted); consider {term.group} as a fixed effect"
            )
    return list(dict.fromkeys(warnings))


def check_response(value: Floats, within: float, column: str, *, binomial: bool, count: Floats) -> list[str]:
    """Raise InputError for a constant response; warn of 0/1 data in a linear model."""
    low, high = float(value.min()), float(value.max())
    if high - low <= 1e-12 * max(abs(low), abs(high)) and within <= 1e-24 * max(low**2, 1.0) * float(count.sum()):
        raise InputError(f"the response {column!r} is {low:g} in every row; there is nothing to explain")
    if binomial:
        return []
    # Rows of 0 and 1 have no spread beyond what their means say: sum of y^2 = sum of y.
    squares = float(count @ value**2) + within
    if low >= 0.0 and high <= 1.0 and abs(squares - float(count @ value)) <= 1e-9 * squares:
        said = f"every value of {column} is 0 or 1, and a linear model takes its noise for normal with one variance; "
        return [said + "family='binomial' fits such data"]
    return []


def empty_cells(terms: Sequence[Term], factors: Mapping[str, Factor], n: int) -> tuple[EmptyCell, ...]:
    """Return the combinations of the levels of interacting factors that no row has.

    A combination is listed once, for the smallest product that lacks it.
    """
    found: list[EmptyCell] = []
    for term in terms:
        parts = [factors[name] for name in term if name in factors]
        size = math.prod(len(part.levels) for part in parts)
        if len(parts) < 2 or size > _MOST_CELLS:
            continue
        _, first = combinations(parts, n)
        if len(first) == size:
            continue
        there = {tuple(int(part.codes[row]) for part in parts) for row in first}
        for levels in itertools.product(*(range(len(part.levels)) for part in parts)):
            if levels not in there:
                cell = tuple((part.name, part.levels[level]) for part, level in zip(parts, levels, strict=True))
                if not any(set(smaller) <= set(cell) for smaller in found if len(smaller) < len(cell)):
                    found.append(cell)
    return tuple(dict.fromkeys(found))


def empty_cell_warnings(cells: Sequence[EmptyCell]) -> list[str]:
    """Name the empty cells."""
    if not cells:
        return []
    shown = "; ".join(cell_name(cell) for cell in cells[:_LISTED])
    more = f" and {len(cells) - _LISTED} more" if len(cells) > _LISTED else ""
    have = "combination of levels has" if len(cells) == 1 else "combinations of levels have"
    return [f"{len(cells):,} {have} no rows ({shown}{more}): their effects and means are not given"]


def cell_name(cell: EmptyCell) -> str:
    """Write a combination of levels."""
    return ", ".join(f"{factor} = {level}" for factor, level in cell)


def dropped_warnings(
    terms: Sequence[Term],
    names: Sequence[str],
    term_of: Sequence[int],
    dropped: Sequence[int],
    empty: Sequence[EmptyCell],
) -> list[str]:
    """Warn of columns that are combinations of others; raise InputError where a whole term is one.

    `terms` are those that `term_of` counts. An interaction that empty cells leave nothing of is only warned of.
    """
    lost = set(dropped)
    for at, term in enumerate(terms):
        own = [column for column, of in enumerate(term_of) if of == at]
        if not own or not lost.issuperset(own):
            continue
        if any({name for name, _ in cell} <= set(term) for cell in empty):
            continue
        raise InputError(
            f"{term_name(term)} cannot be told apart from the terms before it: it is a combination of them (the same column "
            "under two names, or a factor whose levels another one determines); leave one of them out"
        )
    if len(dropped) <= len(empty):
        return []  # the warning of empty cells says it
    shown = ", ".join(names[column] for column in dropped[:_LISTED])
    more = f" and {len(dropped) - _LISTED} more" if len(dropped) > _LISTED else ""
    why = "a combination of the others, so the data cannot tell it apart; means that need it are not given"
    return [f"{plural(len(dropped), 'fixed effect')} dropped ({shown}{more}), each {why}"]


def used_slopes(values: Floats, names: Sequence[str], group: str) -> tuple[list[int], list[str]]:
    """Return the slopes that are not 0 throughout, and a warning that names the others."""
    used = [at for at in range(values.shape[1]) if bool(np.any(values[:, at] != 0.0))]
    gone = [names[at] for at in range(len(names)) if at not in set(used)]
    warning = (
        f"the random effects {', '.join(gone[:_LISTED])} by {group} stand for no rows and are dropped" if gone else ""
    )
    return used, [warning] if warning else []
