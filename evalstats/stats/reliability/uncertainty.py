"""How uncertain a reliability is: intervals from the laws of mean squares, or from draws of a bootstrap."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count, check_level
from evalstats.stats.reliability.coefficients import reliability
from evalstats.stats.reliability.dstudy import Coefficient
from evalstats.stats.reliability.generalizability import GStudy, expectations

_BLOCKS = 10


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
