"""A mixed model's formula taken apart: products of columns, random parts, and the response."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

Term = tuple[str, ...]  # columns of a product, in the order they were written; () is the intercept
INTERCEPT: Term = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomPart:
    """One term of random effects with one full covariance matrix: `(1 + x | g)`.

    `effects` holds the products on the left without the intercept; `group` the columns whose combinations are the levels.
    """

    intercept: bool
    effects: tuple[Term, ...]
    group: Term

    @property
    def group_name(self) -> str:
        """Name of the grouping, such as "item:model"."""
        return ":".join(self.group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The left-hand side: one column, or `cbind(successes, failures)`, or `cbind(successes, total - successes)`."""

    column: str
    failures: str | None = None
    total: str | None = None

    def __str__(self) -> str:
        if self.total is not None:
            return f"cbind({written(self.column)}, {written(self.total)} - {written(self.column)})"
        if self.failures is not None:
            return f"cbind({written(self.column)}, {written(self.failures)})"
        return written(self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedFormula:
    """A formula taken apart.

    Attributes
    ----------
    fixed
        Products of the fixed part without the intercept, by the number of columns and then as they were written.
    random
        The random parts after `/` and `||` were written out.
    as_factor
        Columns that stand in C(): their values are levels, whatever their type.
    """

    text: str
    response: Response
    intercept: bool
    fixed: tuple[Term, ...]
    random: tuple[RandomPart, ...]
    as_factor: frozenset[str] = frozenset()

    @property
    def fixed_columns(self) -> Term:
        """Columns of the fixed part, as they come in the formula."""
        return columns_of(self.fixed)

    @property
    def effect_columns(self) -> Term:
        """Columns of the fixed part and of random slopes."""
        return columns_of((*self.fixed, *(effect for part in self.random for effect in part.effects)))

    @property
    def group_columns(self) -> Term:
        """Columns of the groupings."""
        return columns_of(part.group for part in self.random)

    def __str__(self) -> str:
        def product(term: Term) -> str:
            return ":".join(f"C({written(name)})" if name in self.as_factor else written(name) for name in term)

        def part(of: RandomPart) -> str:
            left = " + ".join(("1" if of.intercept else "0", *(product(effect) for effect in of.effects)))
            return f"({left} | {':'.join(written(name) for name in of.group)})"

        right = ["1" if self.intercept else "0", *map(product, self.fixed), *map(part, self.random)]
        return f"{self.response} ~ {' + '.join(right)}"


def term_name(term: Term) -> str:
    """Name of a product of columns: `model:scenario`; the intercept is `(Intercept)`."""
    return ":".join(term) if term else "(Intercept)"


def written(name: str) -> str:
    """Write a name as a formula has it: in backticks where it holds anything but letters, digits and _."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def columns_of(terms: Iterable[Term]) -> Term:
    """Return the columns of products, each once, in the order they come."""
    return tuple(dict.fromkeys(itertools.chain.from_iterable(terms)))
