"""Whether live scores bend away from the straight line in the lab scores, so that "gaps" at the ends may be the bend."""

import math
from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import two_sided_t_p
from evalstats.stats.gap.contrasts import contrast_rows, scaled_sides
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.gap.slope_search import solved
from evalstats.stats.gap.york import LineFit

LEAST_MODELS = 10
# Below this share of the live spread a residual is rounding, and a column beside the straight one is no column of its own.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Bend:
    """A check of the straight line.

    Attributes
    ----------
    statistic, df, p_value
        t of the square of the lab score, n_models - 3 degrees of freedom, two-sided. Above 0 both ends lie above the line
        through the middle (more is better on both sides), below 0 both lie below.
    """

    statistic: float
    df: int
    p_value: float


@one_thread
def bend(scores: LabLiveScores, fit: LineFit) -> Bend:
    """Test whether the residuals of York's line go with the square of the lab score.

    Weighted least squares of the residuals r = live - a - b lab on [1, x, x^2], whitened by their covariance

        Omega(b) = V_z + b^2 V_x - b (V_xz + V_zx) + tau^2 I

    as the line is, with a scale estimated from what is left, so that t has n_models - 3 degrees of freedom. For x stand York's
    adjusted lab scores (centred, scaled), not the raw ones: on a straight line the raw ones share their error with r, and with
    skewed true scores that alone looks like a bend, while the adjusted ones are independent of r. Contrasts between models take
    the place of the intercept, as if c 11' with c large were added to Omega: what moves all models alike does not matter.

    Parameters
    ----------
    scores
        At least 10 models, with the covariances of both sides.
    fit
        York's line through these scores.

    Returns
    -------
    Bend

    Raises
    ------
    CannotAnswerError
        With fewer than 10 models, without errors on a side or with a constant one, where covariances are none, where the lab
        scores take only two values, or where nothing is left beside the curve to tell noise from it.

    Notes
    -----
    A check and no estimate: noise in the lab blurs the curve, so its size would be drawn towards 0 and bends are found less
    often than with an exact lab. It cannot tell a bend from a single model at an end of the scale that really is apart: either
    may be what the other seems. A square finds curves that bend one way; one that bends as much up as down (a share against
    its log-odds, both ends alike about a half) has no square in it. The slope and tau^2 are taken as known at their estimates;
    the tests hold simulations of what that costs.

    References
    ----------
    York, Evensen, Martinez & Delgado 2004, doi:10.1119/1.1632486 (adjusted points); Fuller 1987, Measurement Error Models,
    section 1.2.3 (residuals and adjusted scores are uncorrelated), doi:10.1002/9780470316665.

    Examples
    --------
    >>> from evalstats.stats.gap.york import fit_line
    >>> lab = np.linspace(-2.0, 2.0, 12)
    >>> wiggle = 0.1 * np.cos(5.0 * np.arange(12))
    >>> errors = {"lab_covariance": np.zeros((12, 12)), "live_covariance": 0.01 * np.eye(12)}
    >>> straight = LabLiveScores(lab=lab, live=lab + wiggle, **errors)
    >>> bent = LabLiveScores(lab=lab, live=np.exp(lab) + wiggle, **errors)
    >>> bend(straight, fit_line(straight)).p_value > 0.2, bend(bent, fit_line(bent)).p_value < 1e-4
    (True, True)
    """
    n = scores.n_models
    if n < LEAST_MODELS:
        raise CannotAnswerError(
            f"{n} shared models are too few to tell a bend from a straight line; at least {LEAST_MODELS} are needed"
        )
    residual, points, root = _whitened(scores, fit)
    points = points / float(np.abs(points).max())
    square = points**2 - float((points**2).mean())
    rows = contrast_rows(n)
    design = solved(root, rows @ np.stack([points, square], axis=1))
    left, straight = _without(design[:, 0], solved(root, rows @ residual)), design[:, 0]
    curve = _without(straight, design[:, 1])
    if float(curve @ curve) <= _ROUNDING * float(design[:, 1] @ design[:, 1]):
        raise CannotAnswerError(
            "the lab scores take two values only, so that no bend of a line through them can be told"
        )
    df = n - 3
    rest = _without(curve, left)
    scale = float(rest @ rest) / df
    if not math.sqrt(scale) > _ROUNDING * float(np.linalg.norm(solved(root, rows @ scores.live))):
        raise CannotAnswerError("the scores lie on a curve exactly, which leaves no noise to hold a bend against")
    statistic = float(curve @ left) / math.sqrt(float(curve @ curve) * scale)
    return Bend(statistic=statistic, df=df, p_value=two_sided_t_p(statistic, df))


def _whitened(scores: LabLiveScores, fit: LineFit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return residuals, adjusted lab scores (centred), and the root of the covariance of the residuals' contrasts."""
    sides = scaled_sides(scores, LEAST_MODELS)
    ratio = sides.unit_x / sides.unit_z
    b, tau2 = fit.slope * ratio, fit.tau2 / sides.unit_z**2 + sides.floor
    rows = contrast_rows(sides.n_models)
    omega = sides.v_z + b**2 * sides.v_x - b * (sides.cross + sides.cross.T)
    noise = rows @ omega @ rows.T + tau2 * np.eye(sides.n_models - 1)
    try:
        root = np.asarray(np.linalg.cholesky(noise), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise CannotAnswerError("the errors of the scores are no covariance, so that no bend can be told") from error
    residual = sides.z - b * sides.x
    pulled = rows.T @ solved(root.T, solved(root, rows @ residual))
    # Cov(lab error, r) = V_xz - b V_x: what the residual tells of the lab's error is taken off the lab score.
    points = sides.x - (sides.cross - b * sides.v_x) @ pulled
    return residual * sides.unit_z, points - points.mean(), root


def _without(column: FloatArray, values: FloatArray) -> FloatArray:
    return values - column * float(column @ values) / float(column @ column)
