"""What luck adds when several variants of a model are tried in private and the best is published."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import check_count

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_REACH = 9.0  # standard deviations within which the law of the maximum lies
TRIED = (2, 3, 5, 10, 20)


def expected_maximum(n: int) -> float:
    """Return the mean of the largest of `n` independent standard normal numbers.

    n integral x phi(x) Phi(x)^(n-1) dx, by Gauss-Legendre quadrature; right to 12 digits up to n of some thousands.

    Raises
    ------
    InputError
        If `n` is no whole number of at least 1.

    References
    ----------
    Harter 1961, Biometrika 48:151, doi:10.1093/biomet/48.1-2.151.

    Examples
    --------
    >>> round(expected_maximum(2), 6), round(1 / math.sqrt(math.pi), 6)
    (0.56419, 0.56419)
    """
    count = check_count(n, "n", least=1)
    x = _REACH * _NODES
    log_density = (count - 1) * special.log_ndtr(x) - 0.5 * x**2 - 0.5 * math.log(2.0 * math.pi)
    return _REACH * count * float(_WEIGHTS @ (x * np.exp(log_density)))


def selection_bias(std_error: float, tried: Sequence[int] = TRIED) -> tuple[tuple[int, float], ...]:
    """Return, for each number of variants tried, by how much the best looks better than it is.

    Parameters
    ----------
    std_error
        Standard error of the rating of one variant, in rating points; above 0.

    Returns
    -------
    tuple of (number tried, points)

    Notes
    -----
    For equally strong variants with independent normal errors. Truly different variants gain less by luck (and something by
    merit); ratings that share opponents have errors a little alike, which also makes it less. So it is the most that luck
    alone adds on average.

    References
    ----------
    Singh et al. 2025, The leaderboard illusion, arXiv 2504.20879.

    Examples
    --------
    >>> [(n, round(points, 1)) for n, points in selection_bias(10.0, (2, 10))]
    [(2, 5.6), (10, 15.4)]
    """
    if not (math.isfinite(std_error) and std_error > 0.0):
        raise InputError(f"std_error is {std_error:g}; give the standard error of a rating, above 0")
    return tuple((n, std_error * expected_maximum(n)) for n in tried)
