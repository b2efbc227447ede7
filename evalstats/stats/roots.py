"""Roots of one function at many places at once, and of linear equations."""

from collections.abc import Callable

import numpy as np

from evalstats.stats.checks import FloatArray

# Each step halves the bracket at least, and near a root doubles the digits.
_MOST_STEPS = 60
# As a share of the first bracket: the error of the last place is about the square of its step.
_SETTLED = 1e-12


def solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve linear equations; a stack of matrices takes a stack of right sides.

    >>> solved(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def bracketed_roots(
    function: Callable[[FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    *,
    at_low: FloatArray,
    at_high: FloatArray,
) -> FloatArray:
    """Return where a continuous function is 0 between `low` and `high`, elementwise, by Ridders' method.

    `function`: Takes and returns float64 of the shape of `low`; each element depends on its own place alone. `low`, `high`:
    Brackets, shape (n,). `at_low`, `at_high`: Finite values there, of opposite sign or 0.

    References
    ----------
    Ridders 1979, IEEE Transactions on Circuits and Systems 26:979.

    Examples
    --------
    >>> two = np.array([2.0, 3.0])
    >>> ends = {"at_low": -two, "at_high": 4 - two}
    >>> (bracketed_roots(lambda x: x**2 - two, np.zeros(2), np.full(2, 2.0), **ends) ** 2).round(12)
    array([2., 3.])
    """
    found, near = low, _SETTLED * np.abs(high - low)
    for _ in range(_MOST_STEPS):
        middle = 0.5 * (low + high)
        at_middle = function(middle)
        root = np.sqrt(at_middle**2 - at_low * at_high)
        toward = np.sign(at_low - at_high) * at_middle / np.where(root > 0.0, root, 1.0)
        before, found = found, middle + (middle - low) * toward
        at_found = function(found)
        # The root lies between the two new places, or else between the nearer of them and an end.
        between = at_middle * at_found <= 0.0
        from_low = ~between & (at_found * at_low > 0.0)
        low, at_low, high, at_high = (
            np.where(between, middle, np.where(from_low, found, low)),
            np.where(between, at_middle, np.where(from_low, at_found, at_low)),
            np.where(from_low, high, found),
            np.where(from_low, at_high, at_found),
        )
        if (np.abs(found - before) <= near).all():
            break
    return found
