"""Reliability of mean scores: generalizability theory for models measured by items, trials, scenarios, users or judges.

References: Brennan 2001, Generalizability Theory, doi:10.1007/978-1-4757-3456-0; Cronbach et al. 1972, The Dependability of
Behavioral Measurements.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import check_level

Coefficient = Literal["relative", "absolute"]
_NAMES: dict[str, str] = {"relative": "E rho^2", "absolute": "Phi"}
_OBJECT = "model"  # what is measured; all other factors are facets
_FEW_OBJECTS = 10
_MOST = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """One source of variation besides the models: items, trials, scenarios, users, judges.

    `n_levels` of a nested facet counts those in each level of what it is nested in (`within`). A `fixed` facet has only these
    levels; else they are a sample.
    """

    name: str
    n_levels: int
    within: tuple[str, ...] = ()
    fixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component of the variance of a single score, by its factors: "model:item"."""

    name: str
    factors: tuple[str, ...]
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GStudy:
    """Components of the variance of scores, all factors random, of every combination that the design has."""

    facets: tuple[Facet, ...]
    components: tuple[Component, ...]
    warnings: tuple[str, ...] = ()

    def facet(self, name: str) -> Facet:
        """Return the facet of that name, or raise InputError."""
        for facet in self.facets:
            if facet.name == name:
                return facet
        raise InputError(f"{name!r} is not a facet of this study, which has {', '.join(f.name for f in self.facets)}")


def from_components(
    variances: Mapping[str, float],
    levels: Mapping[str, int],
    *,
    nested: Mapping[str, Sequence[str]] | None = None,
    fixed: Iterable[str] = (),
) -> GStudy:
    """Take variance components from a mixed model, whose data need not be balanced.

    Parameters
    ----------
    variances
        Variance of each grouping, by name: {"model": ..., "item": ..., "model:item": ..., "residual": ...}; factors of one
        name may stand in any order. "residual" is the combination of all factors. What is not given is 0.
    levels
        Observed levels of "model" and every facet; of a nested facet, on average in each level of what it is nested in.
    nested
        For a nested facet, what it is nested in: {"item": ["scenario"]}; a trial is {"trial": ["model", "item"]}.
    fixed
        Facets whose levels are the only ones of interest. They change what is error, not the components.

    Examples
    --------
    >>> study = from_components({"model": 0.7169, "item": 3.7311, "residual": 0.3024}, {"model": 24, "item": 6})
    >>> found = reliability(study)
    >>> round(found.relative, 3), round(found.absolute, 3)
    (0.934, 0.516)
    """
    facets = [name for name in levels if name != _OBJECT]
    names = (_OBJECT, *facets)
    inside = {name: tuple(within) for name, within in (nested or {}).items()}
    only = set(fixed)
    if only >= set(facets):
        raise InputError("every facet is fixed: then nothing is error; at least one must be a sample")
    effects = _effects(names, inside)
    given: dict[frozenset[str], float] = {}
    for name, value in variances.items():
        factors = frozenset(names) if name == "residual" else frozenset(name.split(":"))
        if tuple(each for each in names if each in factors) not in effects or not factors <= set(names):
            raise InputError(f"component {name!r} is none of this design's: {', '.join(':'.join(e) for e in effects)}")
        given[factors] = float(value)
    components = tuple(
        Component(name=":".join(effect), factors=effect, variance=given.get(frozenset(effect), 0.0))
        for effect in effects
    )
    absent = [part.name for part in components if frozenset(part.factors) not in given]
    few = f"only {levels[_OBJECT]} levels of {_OBJECT}: their variance, and with it any reliability, is known only roughly"
    return GStudy(
        facets=tuple(
            Facet(name=name, n_levels=levels[name], within=inside.get(name, ()), fixed=name in only) for name in facets
        ),
        components=components,
        warnings=(
            *((f"no variance was given for {', '.join(absent)}: taken as 0",) if absent else ()),
            *((few,) if levels[_OBJECT] < _FEW_OBJECTS else ()),
        ),
    )


def _effects(names: Sequence[str], inside: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return combinations of factors that hold, with each nested one, all it is nested in."""
    return [
        chosen
        for size in range(1, len(names) + 1)
        for chosen in combinations(names, size)
        if all(set(inside.get(name, ())) <= set(chosen) for name in chosen)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How reliable mean scores of a design are.

    `relative` is E rho^2, for comparing models with one another, `absolute` Phi, for the scores themselves: how hard the items
    happened to be counts as error. Both are None with a reason where the models do not differ. `universe` is the variance of
    the models' true scores, `parts` what each component contributes: ("universe" | "relative" | "absolute" | "none",
    variance), by name; absolute error is the sum of both errors. `sizes` are the levels of every facet in the design.
    """

    relative: float | None
    absolute: float | None
    universe: float
    parts: dict[str, tuple[str, float]]
    sizes: dict[str, int]
    reason: str | None


def reliability(study: GStudy, sizes: Mapping[str, int] | None = None) -> Reliability:
    """Find the coefficients of a design: E rho^2 for comparing models, Phi for their scores.

    Parameters
    ----------
    sizes
        Levels of each facet in the design; by default as observed. A nested facet counts in each level of what it is nested
        in, and a fixed facet stays as it is.

    Notes
    -----
    A component with the model and only fixed facets belongs to the true scores (over the number of their levels); with the
    model and a random facet, to the relative error; without the model but with a random facet, to the absolute error; each
    is divided by the levels of its facets. E rho^2 = universe/(universe + relative error), Phi with the absolute error.
    Reliability is that of these models: where they differ more, it is higher.

    Examples
    --------
    >>> study = from_components({"model": 0.04, "item": 0.10, "residual": 0.09}, {"model": 8, "item": 50})
    >>> found = reliability(study, {"item": 10})
    >>> round(found.relative, 3), round(found.absolute, 3)
    (0.816, 0.678)
    """
    used = {facet.name: facet.n_levels for facet in study.facets} | dict(sizes or {})
    fixed = {facet.name for facet in study.facets if facet.fixed}
    parts: dict[str, tuple[str, float]] = {}
    for part in study.components:
        facets = [name for name in part.factors if name != _OBJECT]
        value = part.variance / math.prod(used[name] for name in facets)
        random = any(name not in fixed for name in facets)
        if _OBJECT in part.factors:
            parts[part.name] = ("relative" if random else "universe", value)
        else:
            parts[part.name] = ("absolute" if random else "none", value)
    total = {role: sum(v for r, v in parts.values() if r == role) for role in ("universe", "relative", "absolute")}
    universe, relative = total["universe"], total["relative"]
    absolute = relative + total["absolute"]
    reason = None
    if not universe > 0.0:
        reason = f"the variance of {_OBJECT} is estimated as 0: these scores do not tell them apart"
    return Reliability(
        relative=None if reason else universe / (universe + relative),
        absolute=None if reason else universe / (universe + absolute),
        universe=universe,
        parts=parts,
        sizes=used,
        reason=reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelsNeeded:
    """How many levels of one facet reach a coefficient; None where no number does, and `reason` says what would help.

    `limit` is what the coefficient comes to with unlimited levels, all else as it is; None where models do not differ.
    """

    n: int | None = None
    limit: float | None = None
    reason: str | None = None


def levels_needed(study: GStudy, facet: str, target: float, *, coefficient: Coefficient = "relative") -> LevelsNeeded:
    """How many items (trials, users, ...) reach a reliability between 0 and 1, all else as observed.

    Of a nested facet it is the number in each level of what it is nested in. With n levels the error is a + b/n, so n is the
    least whole number at or above b/(universe (1 - target)/target - a), if that is above 0.

    Examples
    --------
    >>> study = from_components({"model": 4.0, "item": 2.0, "residual": 20.0}, {"model": 10, "item": 10})
    >>> levels_needed(study, "item", 0.9).n, levels_needed(study, "item", 0.9, coefficient="absolute").n
    (45, 50)
    """
    if not 0.0 < target < 1.0:
        raise InputError(f"target is {target:g}; give a reliability between 0 and 1, such as 0.8")
    if study.facet(facet).fixed:
        raise InputError(f"{facet} is fixed at its levels; ask about a facet that is a sample")
    single = reliability(study, {facet: 1})
    roles = {"relative"} if coefficient == "relative" else {"relative", "absolute"}
    factors = {part.name: part.factors for part in study.components}
    error = {name: value for name, (role, value) in single.parts.items() if role in roles and value > 0.0}
    falls = sum(value for name, value in error.items() if facet in factors[name])
    stays = {name: value for name, value in error.items() if facet not in factors[name]}
    left = sum(stays.values())
    if single.reason is not None:
        return LevelsNeeded(reason=single.reason)
    limit = single.universe / (single.universe + left)
    room = single.universe * (1.0 - target) / target - left
    if falls <= 0.0 and room >= 0.0:
        return LevelsNeeded(n=1, limit=limit)
    if room <= 1e-12 * single.universe or falls / room > _MOST:
        return LevelsNeeded(limit=limit, reason=_out_of_reach(study, facet, coefficient, limit, stays))
    return LevelsNeeded(n=max(1, math.ceil(falls / room * (1.0 - 1e-12))), limit=limit)


def _out_of_reach(study: GStudy, facet: str, coefficient: Coefficient, limit: float, stays: Mapping[str, float]) -> str:
    """Say what error is left with unlimited levels of a facet, and which facets reduce it."""
    if not stays:
        return f"more than {_MOST:,} levels of {facet} are needed; aim lower"
    fixed = {each.name for each in study.facets if each.fixed}
    factors = {part.name: part.factors for part in study.components}
    most = max(stays, key=lambda name: stays[name])
    helpful = sorted({name for part in stays for name in factors[part] if name != _OBJECT and name not in fixed})
    return (
        f"with any number of {facet} {_NAMES[coefficient]} stays below {limit:.3g}: the error that is left, mostly {most}, "
        f"falls only with more of {' or '.join(helpful)}"
    )


def reliability_interval(
    study: GStudy, draws: ArrayLike, *, coefficient: Coefficient = "relative", conf_level: float = 0.95
) -> tuple[float, float]:
    """Interval of E rho^2 ("relative") or Phi ("absolute"): percentiles over draws, components below 0 taken as 0.

    `draws` of the components have shape (n_draws, n_components), in the order of `study.components`. The interval takes the
    models as a sample from a normal population; of a handful of chosen models it says little more than that reliability is
    uncertain.
    """
    level = check_level(conf_level)
    point = reliability(study)
    roles = {name: role for name, (role, _) in point.parts.items()}
    counted = {"universe", "relative"} | ({"absolute"} if coefficient == "absolute" else set[str]())
    divisor = [math.prod(point.sizes[name] for name in part.factors if name != _OBJECT) for part in study.components]
    variances = np.maximum(np.asarray(draws, dtype=np.float64), 0.0) / np.array(divisor, dtype=np.float64)
    universe = variances @ np.array([roles[part.name] == "universe" for part in study.components], dtype=np.float64)
    total = variances @ np.array([roles[part.name] in counted for part in study.components], dtype=np.float64)
    drawn = universe / np.where(total > 0.0, total, 1.0)
    low, high = np.quantile(drawn, [0.5 - 0.5 * level, 0.5 + 0.5 * level]).tolist()
    return low, high
