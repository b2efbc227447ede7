"""Decision studies: how reliability grows with items, trials, scenarios and users, and how many of them are needed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from evalstats.errors import InputError
from evalstats.stats.reliability.coefficients import Reliability, reliability
from evalstats.stats.reliability.generalizability import GStudy

Coefficient = Literal["relative", "absolute"]

_NAMES: dict[str, str] = {"relative": "E rho^2", "absolute": "Phi"}
_MOST = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelsNeeded:
    """How many levels of one facet give a coefficient.

    Attributes
    ----------
    n
        None where no number does.
    target, coefficient
        What was asked for.
    reached
        The coefficient at n; None where n is.
    limit
        What it comes to with unlimited levels of this facet, all else as it is; None where objects do not differ.
    reason
        Why no number does, and what would help.
    """

    facet: str
    coefficient: Coefficient
    target: float
    n: int | None
    reached: float | None
    limit: float | None
    reason: str | None


def d_study(study: GStudy, sizes: Mapping[str, int | Sequence[int]]) -> tuple[Reliability, ...]:
    """Reliability of every design that the sizes allow: the points of a D-study curve.

    Parameters
    ----------
    sizes
        For a facet one number of levels, or several; facets not named stay as observed. The last facet runs fastest.

    Examples
    --------
    >>> from evalstats.stats.reliability.generalizability import from_components
    >>> study = from_components({"model": 4.0, "item": 2.0, "residual": 20.0}, {"model": 10, "item": 10})
    >>> [round(each.relative, 3) for each in d_study(study, {"item": [5, 45, 100]})]
    [0.5, 0.9, 0.952]
    """
    choices = [[n] if isinstance(n, int) else list(n) for n in sizes.values()]
    if not all(choices):
        raise InputError("a facet is given no number of levels; give at least one")
    return tuple(reliability(study, dict(zip(sizes, each, strict=True))) for each in product(*choices))


def levels_needed(
    study: GStudy,
    facet: str,
    target: float = 0.9,
    *,
    coefficient: Coefficient = "relative",
    sizes: Mapping[str, int] | None = None,
) -> LevelsNeeded:
    """How many items (trials, users, ...) reach a reliability, all else as in `sizes`.

    Parameters
    ----------
    facet
        The facet whose number is sought; the other facets have the levels in `sizes`, else those observed. Of a nested facet
        it is the number in each level of what it is nested in.
    target
        Between 0 and 1.
    coefficient
        "relative": E rho^2, for ranking the objects. "absolute": Phi, for their scores.

    Notes
    -----
    With n levels the error is a + b/n, so n is the least whole number at or above b/(universe (1 - target)/target - a), if that
    is above 0.

    Examples
    --------
    >>> from evalstats.stats.reliability.generalizability import from_components
    >>> study = from_components({"model": 4.0, "item": 2.0, "residual": 20.0}, {"model": 10, "item": 10})
    >>> levels_needed(study, "item").n, levels_needed(study, "item", coefficient="absolute").n
    (45, 50)
    """
    if not 0.0 < target < 1.0:
        raise InputError(f"target is {target:g}; give a reliability between 0 and 1")
    if coefficient not in _NAMES:
        raise InputError(f"coefficient is {coefficient!r}; use 'relative' (E rho^2) or 'absolute' (Phi)")
    if study.facet(facet).fixed:
        raise InputError(f"{facet} is fixed at its levels; ask about a facet that is a sample")
    single = reliability(study, {**(sizes or {}), facet: 1})
    roles = {"relative"} if coefficient == "relative" else {"relative", "absolute"}
    factors = {part.name: part.factors for part in study.components}
    error = {name: value for name, (role, value) in single.parts.items() if role in roles and value > 0.0}
    falls = sum(value for name, value in error.items() if facet in factors[name])
    stays = {name: value for name, value in error.items() if facet not in factors[name]}
    left = sum(stays.values())
    if single.reason is not None:
        return _needed(facet, coefficient, target, reason=single.reason)
    limit = single.universe / (single.universe + left)
    room = single.universe * (1.0 - target) / target - left
    if falls <= 0.0 and room >= 0.0:
        return _needed(facet, coefficient, target, n=1, reached=limit, limit=limit)
    if room <= 1e-12 * single.universe or falls / room > _MOST:
        return _needed(
            facet, coefficient, target, limit=limit, reason=_out_of_reach(study, facet, coefficient, limit, stays)
        )
    n = max(1, math.ceil(falls / room * (1.0 - 1e-12)))
    reached = single.universe / (single.universe + left + falls / n)
    return _needed(facet, coefficient, target, n=n, reached=reached, limit=limit)


def _needed(
    facet: str,
    coefficient: Coefficient,
    target: float,
    *,
    n: int | None = None,
    reached: float | None = None,
    limit: float | None = None,
    reason: str | None = None,
) -> LevelsNeeded:
    return LevelsNeeded(
        facet=facet, coefficient=coefficient, target=target, n=n, reached=reached, limit=limit, reason=reason
    )


def _out_of_reach(study: GStudy, facet: str, coefficient: Coefficient, limit: float, stays: Mapping[str, float]) -> str:
    """Say what error is left with unlimited levels of a facet, and which facets reduce it."""
    fixed = {each.name for each in study.facets if each.fixed}
    factors = {part.name: part.factors for part in study.components}
    most = max(stays, key=lambda name: stays[name])
    helpful = sorted({name for part in stays for name in factors[part] if name != study.object and name not in fixed})
    return (
        f"with any number of {facet} {_NAMES[coefficient]} stays below {limit:.3g}: the error that is left, mostly {most}, "
        f"falls only with more of {' or '.join(helpful)}"
    )
