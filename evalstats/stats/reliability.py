"""Reliability of mean scores: generalizability theory for models measured by items, trials, scenarios, users or judges.

References: Brennan 2001, Generalizability Theory, doi:10.1007/978-1-4757-3456-0; Cronbach et al. 1972, The Dependability of
Behavioral Measurements.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, check_level

Coefficient = Literal["relative", "absolute"]
_NAMES: dict[str, str] = {"relative": "E rho^2", "absolute": "Phi"}
_FEW_OBJECTS = 10
_POINTS = 16
_MOST = 10**9


@record
class Facet:
    """One source of variation besides the models: items, trials, scenarios, users, judges.

    `n_levels` of a nested facet counts those in each level of what it is nested in (`within`). A `fixed` facet has only these
    levels; else they are a sample.
    """

    name: str
    n_levels: int
    within: tuple[str, ...] = ()
    fixed: bool = False


@record
class Component:
    """One component of the variance of a single score, by its factors: "model:item"."""

    name: str
    factors: tuple[str, ...]
    variance: float


@record
class GStudy:
    """Components of the variance of scores, all factors random, of every combination that the design has."""

    facets: tuple[Facet, ...]
    components: tuple[Component, ...]
    warnings: tuple[str, ...] = ()
    measured: str = "model"  # the object of measurement; all other factors are facets

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
    measured: str = "model",
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
    measured
        Name of the object of measurement, one of `levels`.

    Examples
    --------
    >>> study = from_components({"model": 0.7169, "item": 3.7311, "residual": 0.3024}, {"model": 24, "item": 6})
    >>> found = reliability(study)
    >>> round(found.relative, 3), round(found.absolute, 3)
    (0.934, 0.516)
    """
    facets = [name for name in levels if name != measured]
    names = (measured, *facets)
    inside = {name: tuple(within) for name, within in (nested or {}).items()}
    only = set(fixed)
    if only >= set(facets):
        raise InputError("every facet is fixed: then nothing is error; at least one must be a sample")
    effects = effects_of(names, inside)
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
    few = f"only {levels[measured]} levels of {measured}: their variance, and with it any reliability, is known only roughly"
    return GStudy(
        facets=tuple(
            Facet(name=name, n_levels=levels[name], within=inside.get(name, ()), fixed=name in only) for name in facets
        ),
        components=components,
        warnings=(
            *((f"no variance was given for {', '.join(absent)}: taken as 0",) if absent else ()),
            *((few,) if levels[measured] < _FEW_OBJECTS else ()),
        ),
        measured=measured,
    )


def effects_of(names: Sequence[str], inside: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return combinations of factors that hold, with each nested one, all it is nested in; those of few factors first.

    >>> effects_of(["model", "task", "item"], {"item": ["task"]})
    [('model',), ('task',), ('model', 'task'), ('task', 'item'), ('model', 'task', 'item')]
    """
    return [
        chosen
        for size in range(1, len(names) + 1)
        for chosen in combinations(names, size)
        if all(set(inside.get(name, ())) <= set(chosen) for name in chosen)
    ]


@record
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
        facets = [name for name in part.factors if name != study.measured]
        value = part.variance / math.prod(used[name] for name in facets)
        random = any(name not in fixed for name in facets)
        if study.measured in part.factors:
            parts[part.name] = ("relative" if random else "universe", value)
        else:
            parts[part.name] = ("absolute" if random else "none", value)
    total = {role: sum(v for r, v in parts.values() if r == role) for role in ("universe", "relative", "absolute")}
    universe, relative = total["universe"], total["relative"]
    absolute = relative + total["absolute"]
    reason = None
    if not universe > 0.0:
        reason = f"the variance of {study.measured} is estimated as 0: these scores do not tell them apart"
    return Reliability(
        relative=None if reason else universe / (universe + relative),
        absolute=None if reason else universe / (universe + absolute),
        universe=universe,
        parts=parts,
        sizes=used,
        reason=reason,
    )


def study_sizes(study: GStudy, facet: str, reached: Iterable[int]) -> list[int]:
    """Return numbers of levels at which a curve of reliability is drawn: to twice those observed or those that reach a target.

    >>> study_sizes(from_components({"model": 1.0}, {"model": 5, "item": 4}), "item", [9])
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18]
    """
    now = study.facet(facet).n_levels
    top = max(2 * now, min(2 * max(reached, default=1), 20 * now), 10)
    return sorted({*np.unique(np.rint(np.geomspace(1, top, _POINTS)).astype(int)).tolist(), now})


@record
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
    helpful = sorted({name for part in stays for name in factors[part] if name != study.measured and name not in fixed})
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
    drawn = drawn_coefficients(study, np.maximum(np.asarray(draws, dtype=np.float64), 0.0))[coefficient]
    low, high = np.quantile(drawn, [0.5 - 0.5 * level, 0.5 + 0.5 * level]).tolist()
    return low, high


def drawn_coefficients(
    study: GStudy, draws: FloatArray, sizes: Mapping[str, int] | None = None
) -> dict[Coefficient, FloatArray]:
    """Return both coefficients of every draw of the components, shape (n_draws,); 0 where a draw has no variance at all.

    `draws` have shape (n_draws, n_components), in the order of `study.components`; `sizes` are as in `reliability`.
    """
    point = reliability(study, sizes)
    roles = [point.parts[part.name][0] for part in study.components]
    divisor = [
        math.prod(point.sizes[name] for name in part.factors if name != study.measured) for part in study.components
    ]
    variances = draws / np.array(divisor, dtype=np.float64)

    def total(*counted: str) -> FloatArray:
        return variances @ np.array([role in counted for role in roles], dtype=np.float64)

    universe = total("universe")
    relative, absolute = total("universe", "relative"), total("universe", "relative", "absolute")
    return {
        "relative": universe / np.where(relative > 0.0, relative, 1.0),
        "absolute": universe / np.where(absolute > 0.0, absolute, 1.0),
    }


def drawn_levels_needed(
    study: GStudy, draws: FloatArray, facet: str, target: float, *, coefficient: Coefficient = "relative"
) -> FloatArray:
    """Return `levels_needed` of every draw of the components, as whole numbers; infinite where no number is enough.

    `draws` have shape (n_draws, n_components), none below 0, in the order of `study.components`.
    """
    sizes = {each.name: each.n_levels for each in study.facets} | {facet: 1}
    point = reliability(study, sizes)
    roles = {"relative"} if coefficient == "relative" else {"relative", "absolute"}
    universe, falls, stays = (np.zeros(len(draws)) for _ in range(3))
    for part, drawn in zip(study.components, draws.T, strict=True):
        role = point.parts[part.name][0]
        share = drawn / math.prod(sizes[name] for name in part.factors if name != study.measured)
        if role == "universe":
            universe += share
        elif role in roles:
            total = falls if facet in part.factors else stays
            total += share
    room = universe * (1.0 - target) / target - stays
    enough = room > 1e-12 * universe
    return np.where(enough, np.maximum(1.0, np.ceil(falls / np.where(enough, room, 1.0) * (1.0 - 1e-12))), np.inf)


def first_place_changes(
    study: GStudy,
    draws: FloatArray,
    scores: FloatArray,
    renewed: Iterable[str],
    *,
    rng: np.random.Generator,
    n_levels: int | None = None,
    n_repeats: int = 200,
) -> FloatArray:
    """Return how probable it is that another object comes first once facets have other levels, under each draw; shape (n_draws,).

    Parameters
    ----------
    draws
        Of the components, none below 0, shape (n_draws, n_components), in the order of `study.components`.
    scores
        Mean score of each object, higher being better, shape (n_objects,).
    renewed
        Facets whose levels are drawn anew; those of the others stay as they were.
    n_levels
        How many levels are drawn of each of them; by default as many as there were.
    n_repeats
        Sets of new scores under each draw.

    Notes
    -----
    A score is mu + kept + renewed parts, all normal. What is kept has the variance V_k of the true scores and of the error by
    facets that stay, and what is renewed V_r, or V_r' with another number of levels. Given the score seen, the new one is
    normal about mu + V_k/(V_k + V_r) (score - mu) with variance V_k + V_r' - V_k^2/(V_k + V_r), independent between objects;
    mu shifts all alike and drops out. It takes all objects as measured with the same number of levels.

    Examples
    --------
    >>> study = from_components({"model": 1.0, "item": 1.0, "residual": 1.0}, {"model": 12, "item": 4})
    >>> draws = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1000.0]])
    >>> rng = np.random.default_rng(0)
    >>> first_place_changes(study, draws, np.arange(12.0), ["item"], rng=rng).round(1).tolist()
    [0.0, 0.9]
    """
    new = set(renewed)
    now = reliability(study)
    later = reliability(study, dict.fromkeys(new, n_levels)) if n_levels else now
    kept, old, other = (np.zeros(len(draws)) for _ in range(3))
    for part, drawn in zip(study.components, draws.T, strict=True):
        if now.parts[part.name][0] not in {"universe", "relative"}:
            continue
        before, after = (
            drawn / math.prod(each.sizes[name] for name in part.factors if name != study.measured)
            for each in (now, later)
        )
        if new & set(part.factors):
            old += before
            other += after
        else:
            kept += before
    total = np.where(kept + old > 0.0, kept + old, 1.0)
    pull, spread = kept / total, np.sqrt(kept + other - kept**2 / total)
    leader = int(np.argmax(scores))
    changed = np.empty(len(draws))
    for at in range(len(draws)):
        again = pull[at] * scores + spread[at] * rng.standard_normal((n_repeats, len(scores)))
        changed[at] = np.count_nonzero(again.argmax(axis=1) != leader) / n_repeats
    return changed
