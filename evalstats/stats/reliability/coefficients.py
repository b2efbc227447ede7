"""Generalizability and dependability: how far mean scores would repeat themselves over other items, scenarios or trials."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from evalstats.errors import InputError
from evalstats.stats.reliability.generalizability import GStudy


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How reliable mean scores of a design are.

    Attributes
    ----------
    relative
        E rho^2, for comparing objects with one another; None with a reason where the objects do not differ.
    absolute
        Phi, for the scores themselves: how hard the items happened to be counts as error.
    universe
        Variance of the objects' true scores.
    relative_error, absolute_error
        Variances of a mean score around it; their square roots are standard errors of measurement, in score units.
    parts
        What each component contributes: ("universe" | "relative" | "absolute" | "none", variance), by name. Absolute error is
        the sum of both errors.
    sizes
        Levels of every facet in the design.
    """

    relative: float | None
    absolute: float | None
    universe: float
    relative_error: float
    absolute_error: float
    parts: dict[str, tuple[str, float]]
    sizes: dict[str, int]
    reason: str | None


def reliability(study: GStudy, sizes: Mapping[str, int] | None = None) -> Reliability:
    """Find the coefficients of a design: E rho^2 for comparing objects, Phi for their scores.

    Parameters
    ----------
    sizes
        Levels of each facet in the design; by default as observed. A nested facet counts in each level of what it is nested
        in, and a fixed facet stays as it is.

    Notes
    -----
    A component with the object and only fixed facets belongs to the true scores (over the number of their levels); with the
    object and a random facet, to the relative error; without the object but with a random facet, to the absolute error; each
    is divided by the levels of its facets. E rho^2 = universe/(universe + relative error), Phi with the absolute error.
    Reliability is that of these objects: where they differ more, it is higher.

    References
    ----------
    Brennan 2001, doi:10.1007/978-1-4757-3456-0; Cronbach et al. 1972, The Dependability of Behavioral Measurements.

    Examples
    --------
    >>> from evalstats.stats.reliability.generalizability import from_components
    >>> study = from_components(
    ...     {"model": 0.04, "item": 0.10, "residual": 0.09}, {"model": 8, "item": 50}, object="model"
    ... )
    >>> found = reliability(study, {"item": 10})
    >>> round(found.relative, 3), round(found.absolute, 3)
    (0.816, 0.678)
    """
    used = _sizes(study, sizes)
    fixed = {facet.name for facet in study.facets if facet.fixed}
    parts: dict[str, tuple[str, float]] = {}
    for part in study.components:
        facets = [name for name in part.factors if name != study.object]
        value = part.variance / math.prod(used[name] for name in facets)
        random = any(name not in fixed for name in facets)
        if study.object in part.factors:
            parts[part.name] = ("relative" if random else "universe", value)
        else:
            parts[part.name] = ("absolute" if random else "none", value)
    total = {role: sum(v for r, v in parts.values() if r == role) for role in ("universe", "relative", "absolute")}
    universe, relative = total["universe"], total["relative"]
    absolute = relative + total["absolute"]
    reason = None
    if not universe > 0.0:
        reason = f"the variance of {study.object} is estimated as 0: these scores do not tell them apart"
    return Reliability(
        relative=None if reason else universe / (universe + relative),
        absolute=None if reason else universe / (universe + absolute),
        universe=universe,
        relative_error=relative,
        absolute_error=absolute,
        parts=parts,
        sizes=used,
        reason=reason,
    )


def _sizes(study: GStudy, sizes: Mapping[str, int] | None) -> dict[str, int]:
    used = {facet.name: facet.n_levels for facet in study.facets}
    for name, n in (sizes or {}).items():
        facet = study.facet(name)
        if n < 1 or int(n) != n:
            raise InputError(f"the design has {n} of {name}; give a whole number of at least 1")
        if facet.fixed and n != facet.n_levels:
            raise InputError(
                f"{name} is fixed at its {facet.n_levels} levels; a design with {n} would be of something else"
            )
        used[name] = int(n)
    return used
