"""The minimum of a smooth function of a few parameters: Newton steps within a radius of trust."""

from collections.abc import Callable

import numpy as np

from evalstats.record import record
from evalstats.stats.mixed.design import Floats

ValueGradient = Callable[[Floats], tuple[float, Floats]]
_MOST_STEPS = 100  # whether taken or refused
_STEP = 1e-5  # of the differences of the gradient
_GAIN = 1e-9  # predicted decrease at which the search ends
_NEARLY = 1e-5  # the same with an updated Hessian, after which it is computed anew
_CLOSE_ENOUGH = 1e-2  # length of a step after which the Hessian is as good as new
_FLOOR = 1e-14  # relative size of the rounding errors of the function
_FAR = 30.0  # parameters are logarithms in the main; beyond this nothing changes any more


@record
class Minimum:
    """Where a search ended: the point, the function and its derivatives there, and whether it is a minimum, in words too."""

    x: Floats
    value: float
    gradient: Floats
    hessian: Floats
    converged: bool
    message: str
    n_evaluations: int


def minimise(function: ValueGradient, start: Floats) -> Minimum:
    """Minimise by Newton steps, each the best within a radius that grows and shrinks with how well the model predicts.

    `function` gives value and gradient; a value of infinity is a step refused. The Hessian comes from forward differences of the
    gradient at the start, and is updated from the gradients that the steps bring. A minimum is accepted with a Hessian computed
    there. Negative curvature is followed: a point that is stationary by symmetry alone (a standard deviation of 0 whose variance
    has a negative derivative) is left. Nocedal & Wright (2006), Numerical Optimization, chapters 4 and 6.2.
    """
    x = np.array(start, dtype=np.float64)
    value, gradient = function(x)
    hessian, exact, count = difference_hessian(function, x, gradient), True, 1 + len(x)
    message = f"no minimum found in {_MOST_STEPS} steps"
    converged, radius = False, 2.0
    for _ in range(_MOST_STEPS):
        step, predicted = trust_step(gradient, hessian, radius)
        small = predicted <= (_GAIN if exact else _NEARLY) + _FLOOR * abs(value)
        if small and not exact:
            hessian, exact, count = difference_hessian(function, x, gradient), True, count + len(x)
            continue
        new_value, new_gradient = function(x + step)
        count += 1
        if small:
            converged, message = True, "a minimum was found"
            if np.linalg.norm(new_gradient) < np.linalg.norm(gradient):
                x, value, gradient = x + step, new_value, new_gradient
            break
        ratio = (value - new_value) / predicted if np.isfinite(new_value) else -1.0
        length = float(np.linalg.norm(step))
        if ratio < 0.25:
            radius = 0.25 * length
        elif ratio > 0.75 and length > 0.8 * radius:
            radius = min(2.0 * radius, 8.0)
        if np.isfinite(new_value):
            hessian = symmetric_update(hessian, step, new_gradient - gradient)
            exact = exact and length < _CLOSE_ENOUGH
        if ratio > 1e-4:
            x, value, gradient = x + step, new_value, new_gradient
        elif radius < 1e-10 * (1.0 + float(np.abs(x).max())):
            message = "the search stopped where no step lowers the deviance, though its slope says one should"
            break
        if ratio < 0.1:
            hessian, exact, count = difference_hessian(function, x, gradient), True, count + len(x)
        if np.abs(x).max() > _FAR:
            message = "a parameter grew without bound"
            break
    return Minimum(
        x=x, value=value, gradient=gradient, hessian=hessian, converged=converged, message=message, n_evaluations=count
    )


def difference_hessian(function: ValueGradient, x: Floats, gradient: Floats) -> Floats:
    """Hessian from forward differences of the gradient, one evaluation a parameter, made symmetric."""
    out = np.empty((len(x), len(x)))
    for j in range(len(x)):
        shifted = x.copy()
        shifted[j] += _STEP * (1.0 + abs(x[j]))
        out[j] = (function(shifted)[1] - gradient) / (shifted[j] - x[j])
    return 0.5 * (out + out.T)


def symmetric_update(hessian: Floats, step: Floats, change: Floats) -> Floats:
    """Update of rank one after which the Hessian maps the step to the change of the gradient (SR1)."""
    missed = change - hessian @ step
    along = float(missed @ step)
    if abs(along) <= 1e-8 * float(np.linalg.norm(missed) * np.linalg.norm(step)):
        return hessian
    return hessian + np.outer(missed, missed) / along


def trust_step(gradient: Floats, hessian: Floats, radius: float) -> tuple[Floats, float]:
    """Minimise gradient'p + p'hessian p / 2 over |p| <= radius: the step and the decrease it promises."""
    values, vectors = np.linalg.eigh(hessian)
    slope = vectors.T @ gradient
    tiny = 1e-10 * max(1.0, float(np.abs(values).max()))
    if values[0] > tiny and np.linalg.norm(slope / values) <= radius:
        along = -slope / values
    else:
        along = _on_boundary(values, slope, radius, tiny)
    step: Floats = vectors @ along
    return step, float(-(slope @ along + 0.5 * values @ along**2))


def _on_boundary(values: Floats, slope: Floats, radius: float, tiny: float) -> Floats:
    """Step of length `radius` in coordinates of eigenvectors, by bisection on the multiplier that shortens it."""
    low = max(0.0, -float(values[0])) + tiny
    if np.linalg.norm(slope / (values + low)) < radius:  # no slope along the lowest curvature, or a flat direction
        along = -slope / (values + low)
        if values[0] < -tiny:
            along[0] = 0.0
            along[0] = np.copysign(np.sqrt(max(radius**2 - float(along @ along), 0.0)), -slope[0])
        return along
    high = low + float(np.linalg.norm(slope)) / radius
    for _ in range(80):
        middle = 0.5 * (low + high)
        if np.linalg.norm(slope / (values + middle)) > radius:
            low = middle
        else:
            high = middle
    return -slope / (values + high)
