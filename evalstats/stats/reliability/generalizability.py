"""Generalizability studies: what part of the variance of scores lies between models, items, scenarios, trials."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray

_FEW_OBJECTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """One source of variation besides the objects: items, trials, scenarios, users, judges.

    Attributes
    ----------
    name
        Such as "item".
    n_levels
        How many were observed; of a nested facet, in each level of what it is nested in.
    within
        What it is nested in: items in ("scenario",), trials in every other facet and the object.
    fixed
        Whether these levels are the only ones of interest; else they are a sample.
    """

    name: str
    n_levels: int
    within: tuple[str, ...] = ()
    fixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component of the variance of a single score.

    Attributes
    ----------
    name
        Its factors, such as "model:item"; for mean squares the last one also holds the error.
    factors
        The same, as a tuple.
    estimate
        As estimated without bias, which may be below 0.
    variance
        The estimate, or 0 where it is negative.
    df, mean_square
        Of the analysis of variance; None for components that were given.
    """

    name: str
    factors: tuple[str, ...]
    estimate: float
    variance: float
    df: float | None = None
    mean_square: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GStudy:
    """Components of the variance of scores, all factors random, and the design that they come from.

    Attributes
    ----------
    object
        What is measured, such as "model".
    n_objects
        How many were observed.
    facets
        In the order of the axes of the scores.
    components
        Of every combination of factors that the design has.
    method
        How they were estimated.
    """

    object: str
    n_objects: int
    facets: tuple[Facet, ...]
    components: tuple[Component, ...]
    method: str
    warnings: tuple[str, ...] = ()

    def facet(self, name: str) -> Facet:
        """Return the facet of that name, or raise InputError."""
        for facet in self.facets:
            if facet.name == name:
                return facet
        raise InputError(f"{name!r} is not a facet of this study, which has {', '.join(f.name for f in self.facets)}")


def g_study(
    scores: ArrayLike,
    facets: Sequence[str],
    *,
    object: str = "model",  # noqa: A002 - the word of the theory
    nested: Mapping[str, Sequence[str]] | None = None,
    fixed: Iterable[str] = (),
) -> GStudy:
    """Estimate variance components of balanced scores from expected mean squares.

    For scores with gaps or unequal groups fit a mixed model and give its variances to `from_components`.

    Parameters
    ----------
    scores
        float64, shape (n_objects, n_1, n_2, ...), one axis a facet; complete. A nested facet has an axis of its own: item 0
        of one scenario has nothing to do with item 0 of another.
    facets
        Names of the facets, in the order of the axes.
    nested
        For a nested facet, what it is nested in: {"item": ["scenario"]}; a trial is {"trial": ["model", "item"]}.
    fixed
        Facets whose levels are the only ones of interest.

    Returns
    -------
    GStudy
        Negative estimates are kept as `estimate`, taken as 0 in `variance`, and named in `warnings`.

    Notes
    -----
    In a balanced design whose factors are all random, E(MS_a) = sum over b containing a of c_b sigma^2_b, with c_b the number
    of scores in each level of b: solved from the largest combination down. Facets that are fixed change what is error
    (`coefficients.reliability`), not the components.

    References
    ----------
    Brennan 2001, Generalizability Theory, ch. 3 and 4, doi:10.1007/978-1-4757-3456-0.

    Examples
    --------
    >>> found = g_study([[0.9, 0.5, 0.8], [0.6, 0.3, 0.7], [0.5, 0.1, 0.2]], ["item"])
    >>> [(part.name, round(part.estimate, 4)) for part in found.components]
    [('model', 0.0511), ('item', 0.0322), ('model:item', 0.0111)]
    """
    y = np.asarray(scores, dtype=np.float64)
    names = (object, *facets)
    if y.ndim != len(names):
        raise InputError(f"scores have {y.ndim} axes for {', '.join(names)}; give one axis each, {object} first")
    if min(y.shape) < 2:
        short = names[int(np.argmin(y.shape))]
        raise InputError(f"{short} has {min(y.shape)} level; at least 2 are needed to tell its variance from others")
    missing = int(np.count_nonzero(~np.isfinite(y)))
    if missing:
        raise InputError(
            f"{missing} of {y.size} scores are NaN or infinite; fit a mixed model and give its variances to from_components"
        )
    inside, only = _design(object, facets, nested, fixed)
    effects = _effects(names, inside)
    squares, free = _mean_squares(y, names, effects)
    raw = np.linalg.solve(expectations(y.shape, names, effects), squares)
    spread = float(np.square(y - y.mean()).mean())
    raw = np.where(np.abs(raw) <= 1e-14 * spread, 0.0, raw)
    components = tuple(
        Component(
            name=":".join(effect),
            factors=effect,
            estimate=value,
            variance=max(0.0, value),
            df=df,
            mean_square=square,
        )
        for effect, value, df, square in zip(effects, raw.tolist(), free.tolist(), squares.tolist(), strict=True)
    )
    return GStudy(
        object=object,
        n_objects=y.shape[0],
        facets=tuple(
            Facet(name=name, n_levels=size, within=inside.get(name, ()), fixed=name in only)
            for name, size in zip(facets, y.shape[1:], strict=True)
        ),
        components=components,
        method="expected mean squares of a balanced design",
        warnings=(*_negative(components), *_few(object, y.shape[0])),
    )


def from_components(
    variances: Mapping[str, float],
    levels: Mapping[str, int],
    *,
    object: str = "model",  # noqa: A002
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
        Observed levels of the object and every facet; of a nested facet, on average in each level of what it is nested in.

    Examples
    --------
    >>> from evalstats.stats.reliability.decision_study import reliability
    >>> study = from_components(
    ...     {"plate": 0.7169, "sample": 3.7311, "residual": 0.3024}, {"plate": 24, "sample": 6}, object="plate"
    ... )
    >>> found = reliability(study)
    >>> round(found.relative, 3), round(found.absolute, 3)
    (0.934, 0.516)
    """
    if object not in levels:
        raise InputError(f"levels do not name the object {object!r}; give how many there were")
    facets = [name for name in levels if name != object]
    names = (object, *facets)
    inside, only = _design(object, facets, nested, fixed)
    effects = _effects(names, inside)
    given: dict[frozenset[str], float] = {}
    for name, value in variances.items():
        factors = frozenset(names) if name == "residual" else frozenset(name.split(":"))
        if tuple(each for each in names if each in factors) not in effects or not factors <= set(names):
            raise InputError(f"component {name!r} is none of this design's: {', '.join(':'.join(e) for e in effects)}")
        if not math.isfinite(value):
            raise InputError(f"the variance of {name} is {value}; give a finite number")
        if factors in given:
            raise InputError(f"the variance of {name} is given twice (the residual is that of all factors); add them")
        given[factors] = float(value)
    components = tuple(
        Component(
            name=":".join(effect),
            factors=effect,
            estimate=given.get(frozenset(effect), 0.0),
            variance=max(0.0, given.get(frozenset(effect), 0.0)),
        )
        for effect in effects
    )
    absent = [part.name for part in components if frozenset(part.factors) not in given]
    return GStudy(
        object=object,
        n_objects=levels[object],
        facets=tuple(
            Facet(name=name, n_levels=levels[name], within=inside.get(name, ()), fixed=name in only) for name in facets
        ),
        components=components,
        method="variances of a mixed model",
        warnings=(
            *_negative(components),
            *((f"no variance was given for {', '.join(absent)}: taken as 0",) if absent else ()),
            *_few(object, levels[object]),
        ),
    )


def _design(
    object: str,  # noqa: A002
    facets: Sequence[str],
    nested: Mapping[str, Sequence[str]] | None,
    fixed: Iterable[str],
) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    names = (object, *facets)
    if not facets or len(set(names)) < len(names) or any(":" in name or name == "residual" for name in names):
        raise InputError(
            f"names are {', '.join(names)}; give an object and a facet or more, all different, without ':'"
        )
    inside: dict[str, tuple[str, ...]] = {}
    for name, within in (nested or {}).items():
        unknown = [each for each in (name, *within) if each not in names]
        if unknown or name == object or name in within:
            raise InputError(f"{name!r} cannot be nested in {', '.join(within)}; the facets are {', '.join(facets)}")
        inside[name] = tuple(within)
    only = set(fixed)
    if not only <= set(facets):
        raise InputError(f"fixed names {', '.join(sorted(only - set(facets)))}; the facets are {', '.join(facets)}")
    if only == set(facets):
        raise InputError("every facet is fixed: then nothing is error; at least one must be a sample")
    return inside, only


def _effects(names: Sequence[str], inside: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return combinations of factors that hold, with each nested one, all it is nested in."""
    return [
        chosen
        for size in range(1, len(names) + 1)
        for chosen in combinations(names, size)
        if all(set(inside.get(name, ())) <= set(chosen) for name in chosen)
    ]


def _mean_squares(
    y: FloatArray, names: Sequence[str], effects: Sequence[tuple[str, ...]]
) -> tuple[FloatArray, FloatArray]:
    """Return the mean square and degrees of freedom of every effect."""
    found: dict[tuple[str, ...], FloatArray] = {}
    free: dict[tuple[str, ...], int] = {}
    squares: list[float] = []
    centred = y - y.mean()
    for effect in effects:
        others = tuple(axis for axis, name in enumerate(names) if name not in effect)
        part = centred.mean(axis=others, keepdims=True)
        df = part.size - 1
        for smaller in effects:
            if set(smaller) < set(effect):
                part = part - found[smaller]
                df -= free[smaller]
        found[effect], free[effect] = part, df
        squares.append(float(np.square(part).sum()) * (y.size / part.size) / df)
    return np.array(squares), np.array([free[effect] for effect in effects], dtype=np.float64)


def expectations(shape: Sequence[int], names: Sequence[str], effects: Sequence[tuple[str, ...]]) -> FloatArray:
    """Return the matrix that turns components into expected mean squares."""
    size = dict(zip(names, shape, strict=True))
    matrix = np.zeros((len(effects), len(effects)))
    for i, effect in enumerate(effects):
        for j, larger in enumerate(effects):
            if set(effect) <= set(larger):
                matrix[i, j] = math.prod(size[name] for name in names if name not in larger)
    return matrix


def _negative(components: Iterable[Component]) -> tuple[str, ...]:
    return tuple(
        f"the variance of {part.name} is estimated as {part.estimate:.3g}, which is taken as 0"
        for part in components
        if part.estimate < 0.0
    )


def _few(name: str, n: int) -> tuple[str, ...]:
    if n >= _FEW_OBJECTS:
        return ()
    return (f"only {n} levels of {name}: their variance, and with it any reliability, is known only roughly",)
