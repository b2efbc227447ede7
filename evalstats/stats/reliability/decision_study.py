"""Decision studies: how far mean scores would repeat themselves, how that grows with items and trials, and how surely."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count, check_level
from evalstats.stats.reliability.generalizability import GStudy, expectations

Coefficient = Literal["relative", "absolute"]
_NAMES: dict[str, str] = {"relative": "E rho^2", "absolute": "Phi"}
_MOST = 10**9
_BLOCKS = 10


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityInterval:
    """A coefficient with its interval.

    Attributes
    ----------
    estimate
        None with a reason where the objects do not differ.
    conf_low, conf_high
        Ends, in [0, 1].
    end_errors
        Monte Carlo errors of both ends.
    """

    estimate: float | None
    conf_low: float | None
    conf_high: float | None
    conf_level: float
    coefficient: Coefficient
    method: str
    n_draws: int
    end_errors: tuple[float, float] | None
    reason: str | None


def component_draws(study: GStudy, *, n_draws: int = 20_000, seed: int = 0) -> FloatArray:
    """Draw variance components that the mean squares leave open, shape (n_draws, n_components).

    For components from mean squares (`g_study`), scores normal; after a mixed model take draws of its parametric bootstrap.

    Notes
    -----
    Mean squares of a balanced design are independent, df MS/E(MS) is chi-squared with df degrees of freedom; so E(MS) is drawn
    as df MS/chi2 and solved for the components: generalised confidence limits. Components may come out negative.

    References
    ----------
    Weerahandi 1993, doi:10.1080/01621459.1993.10476355; Hannig, Iyer & Patterson 2006, doi:10.1198/016214505000000736.

    Examples
    --------
    >>> from evalstats.stats.reliability.generalizability import g_study
    >>> component_draws(g_study([[1, 2, 3], [2, 3, 5], [4, 4, 5]], ["item"]), n_draws=100).shape
    (100, 3)
    """
    squares, free = [part.mean_square for part in study.components], [part.df for part in study.components]
    if any(each is None for each in (*squares, *free)):
        raise InputError(
            "these components have no mean squares; give draws from a parametric bootstrap of the mixed model"
        )
    n = check_count(n_draws, "n_draws", least=_BLOCKS)
    df = np.array(free, dtype=np.float64)
    chi2 = np.random.default_rng(seed).chisquare(df, size=(n, df.size))
    names = (study.object, *(facet.name for facet in study.facets))
    shape = (study.n_objects, *(facet.n_levels for facet in study.facets))
    matrix = expectations(shape, names, [part.factors for part in study.components])
    return np.asarray(np.linalg.solve(matrix, (np.array(squares) * df / chi2).T).T, dtype=np.float64)


def reliability_interval(
    study: GStudy,
    sizes: Mapping[str, int] | None = None,
    *,
    coefficient: Coefficient = "relative",
    conf_level: float = 0.95,
    draws: ArrayLike | None = None,
    n_draws: int = 20_000,
    seed: int = 0,
) -> ReliabilityInterval:
    """Interval of E rho^2 ("relative") or Phi ("absolute") of a design.

    Parameters
    ----------
    sizes
        As in `coefficients.reliability`.
    draws
        Draws of the components, shape (n_draws, n_components), in the order of `study.components`, from a parametric bootstrap
        of the mixed model; by default `component_draws`.

    Notes
    -----
    Percentiles of the coefficient over draws, components below 0 taken as 0. For objects crossed with items the default
    interval of E rho^2 is Feldt's exact one, up to the Monte Carlo error given. It takes the objects as a sample from a normal
    population; of a handful of chosen models it says little more than that reliability is uncertain.

    References
    ----------
    Feldt 1965, doi:10.1007/BF02289499; Weerahandi 1993, doi:10.1080/01621459.1993.10476355.

    Examples
    --------
    >>> from evalstats.stats.reliability.generalizability import g_study
    >>> study = g_study([[1, 2, 3], [2, 3, 5], [4, 4, 5], [1, 1, 2], [3, 5, 5]], ["item"])
    >>> found = reliability_interval(study)
    >>> round(found.estimate, 3), round(found.conf_low, 2), round(found.conf_high, 2)
    (0.943, 0.71, 0.99)
    """
    level = check_level(conf_level)
    values = component_draws(study, n_draws=n_draws, seed=seed) if draws is None else _given(draws, study)
    point = reliability(study, sizes)
    roles = {name: role for name, (role, _) in point.parts.items()}
    counted = {"universe", "relative"} | ({"absolute"} if coefficient == "absolute" else set[str]())
    divisor = [
        math.prod(point.sizes[name] for name in part.factors if name != study.object) for part in study.components
    ]
    variances = np.maximum(values, 0.0) / np.array(divisor, dtype=np.float64)
    universe = variances @ np.array([roles[part.name] == "universe" for part in study.components], dtype=np.float64)
    total = variances @ np.array([roles[part.name] in counted for part in study.components], dtype=np.float64)
    drawn = np.where(total > 0.0, universe / np.where(total > 0.0, total, 1.0), 0.0)
    tails = np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
    low, high = np.quantile(drawn, tails).tolist()
    blocks = np.array([np.quantile(block, tails) for block in np.array_split(drawn, _BLOCKS)])
    errors = (blocks.std(axis=0, ddof=1) / math.sqrt(_BLOCKS)).tolist()
    estimate = point.relative if coefficient == "relative" else point.absolute
    return ReliabilityInterval(
        estimate=estimate,
        conf_low=None if estimate is None else low,
        conf_high=None if estimate is None else high,
        conf_level=level,
        coefficient=coefficient,
        method="generalised confidence limits from mean squares" if draws is None else "percentiles of the draws given",
        n_draws=len(values),
        end_errors=None if estimate is None else (errors[0], errors[1]),
        reason=point.reason,
    )


def _given(draws: ArrayLike, study: GStudy) -> FloatArray:
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(study.components) or len(values) < _BLOCKS:
        raise InputError(
            f"draws have shape {values.shape}; expected at least 10 rows of {len(study.components)} components"
        )
    if not np.isfinite(values).all():
        raise InputError(
            "draws hold NaN or infinite numbers; leave out resamples that were not fitted, and say how many"
        )
    return values
