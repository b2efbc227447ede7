"""Other lines through the same scores, beside York's, and a check of whether a straight line will do.

References: Sen 1968, doi:10.1080/01621459.1968.10480934; Fuller 1987, Measurement Error Models, doi:10.1002/9780470316665,
section 1.2.3 (residuals and adjusted scores are uncorrelated); York et al. 2004, doi:10.1119/1.1632486.
"""

import math

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.line import LineFit, fit_line
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance, unique_variances
from evalstats.stats.errors_in_variables.slope_search import (
    check_models,
    contrast_rows,
    scaled_sides,
    solved,
)
from evalstats.stats.estimate import (
    normal_quantile,
    two_sided_t_p,
)

LEAST_MODELS = 10
# Below this share of the live spread a residual is rounding, and a column beside the straight one is no column of its own.
_ROUNDING = 1e-9


@record
class Bend:
    """A check of the straight line: t of the square of the lab score, n_models - 3 degrees of freedom, two-sided.

    Above 0 both ends lie above the line through the middle (more is better on both sides), below 0 both lie below.
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

    Examples
    --------
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


_ANGLES = 361
# With up to 60 models all slopes between two models are tried; of more, this many first, and all near the best of them.
_MOST_SLOPES = 2200
_MOST_PAIRS = 20_000
_BLOCK = 2_000_000  # numbers held at once
_MAD = 1.482602218505602  # the normal law's standard deviation over its median absolute deviation


@record
class AnotherLine:
    """A line by another method, in the units of the scores; None where the method gives no error.

    `n_beyond` counts models whose residual its own arithmetic would call significant, unadjusted. `place` is that of the model
    left out, for the line without the highest leverage.
    """

    slope: float
    intercept: float
    slope_std_error: float | None = None
    n_beyond: int | None = None
    place: int | None = None


def least_squares(scores: LabLiveScores, *, conf_level: float = 0.95) -> AnotherLine:
    """Regress live on lab as if the lab were exact: what a "gap" is commonly read from.

    Noise in the lab draws the slope towards 0 by the lab's reliability, and the residuals of the best and worst models away
    from it. `n_beyond` counts residuals beyond what the live standard error alone explains, as such tables do: it shows the
    harm, and is nothing to act on. Raises CannotAnswerError with fewer than 3 models or a constant side.

    Examples
    --------
    >>> lab = np.array([0.0, 1.0, 2.0, 3.0])
    >>> line = least_squares(LabLiveScores(lab=lab, live=1 + 2 * lab, live_covariance=np.eye(4)))
    >>> round(line.slope, 12), round(line.intercept, 12), line.n_beyond
    (2.0, 1.0, 0)
    """
    check_level(conf_level)
    check_models(scores)
    x, z, n = scores.lab, scores.live, scores.n_models
    away = x - x.mean()
    slope = float(away @ z / (away @ away))
    intercept = float(z.mean() - slope * x.mean())
    residual = z - intercept - slope * x
    beyond = None
    if scores.live_covariance is not None:
        spread = np.sqrt(unique_variances(scores.live_covariance))
        beyond = int((np.abs(residual) > normal_quantile(conf_level) * spread).sum())
    return AnotherLine(
        slope=slope,
        intercept=intercept,
        slope_std_error=math.sqrt(float(residual @ residual) / (n - 2) / float(away @ away)),
        n_beyond=beyond,
    )


def theil_sen(scores: LabLiveScores) -> AnotherLine:
    """Fit a line by ranks that few outlying models cannot move, with errors on both sides.

    Theil and Sen choose the slope at which residuals have no rank correlation (Kendall's) with the lab scores. Where the lab
    has errors these are in both, so that the slope is drawn to 0. Here residuals shall have none with the *adjusted* lab
    scores x + k r, k = b s_x^2 / Var(r), from which the common error is removed as York removes it; Var(r) is robust (from the
    median absolute deviation) and no less than the noise. Without errors in the lab this is the Theil-Sen line.

    With up to 60 models all pairs of models and all slopes between them are tried. With more, slopes are first tried a few
    steps apart, and one by one where the correlation passes 0; with more than 200, on 20,000 pairs drawn once with a fixed
    seed. Raises as `least_squares`, and without errors.

    Examples
    --------
    >>> lab = np.arange(6.0)
    >>> live = 2 * lab + np.array([0, 0, 0, 0, 0, 30.0])
    >>> line = theil_sen(LabLiveScores(lab=lab, live=live, lab_covariance=np.zeros((6, 6)), live_covariance=np.eye(6)))
    >>> round(line.slope, 2)
    2.0
    """
    check_models(scores)
    x, z, n = scores.lab, scores.live, scores.n_models
    v_x, v_z = _mean_variances(scores)
    ranks = _Ranks(x=x, z=z, v_x=v_x, v_z=v_z, pairs=_pairs(n))
    steps, edges = _edges(x, z, *ranks.pairs)
    every = max(1, -(-edges.size // (_MOST_SLOPES - steps.size)))
    if edges.size > _MOST_SLOPES:
        slope = ranks.crossing(np.union1d(edges[::every], steps))
        at = int(np.searchsorted(edges, slope))
        edges = edges[max(0, at - 3 * every) : at + 3 * every]
    slope = ranks.crossing(edges)
    return AnotherLine(slope=slope, intercept=float(np.median(z - slope * x)))


def without_leverage(scores: LabLiveScores, fit: LineFit, *, conf_level: float = 0.95) -> AnotherLine:
    """Fit York's line without the model that holds most of the information on its slope; at least 4 models are needed.

    Examples
    --------
    >>> lab = np.array([0.0, 1.0, 2.0, 3.0, 20.0])
    >>> scores = LabLiveScores(lab=lab, live=2 * lab, lab_covariance=np.eye(5) * 0.01, live_covariance=np.eye(5) * 0.01)
    >>> line = without_leverage(scores, fit_line(scores))
    >>> line.place, round(line.slope, 6)
    (4, 2.0)
    """
    place = int(fit.leverage.argmax())
    rest = fit_line(scores.subset(np.delete(np.arange(scores.n_models), place)), conf_level=conf_level)
    return AnotherLine(slope=rest.slope, intercept=rest.intercept, slope_std_error=rest.slope_std_error, place=place)


def _mean_variances(scores: LabLiveScores) -> tuple[float, float]:
    if scores.lab_covariance is None or scores.live_covariance is None:
        raise CannotAnswerError("a line with errors on both sides needs the standard errors of both")
    return centred_variance(scores.lab_covariance), centred_variance(scores.live_covariance)


@record
class _Ranks:
    """Scores, mean noise variances, and the pairs of models whose order is looked at."""

    x: FloatArray
    z: FloatArray
    v_x: float
    v_z: float
    pairs: tuple[IntArray, IntArray]

    def crossing(self, edges: FloatArray) -> float:
        """Return the slope between the edges at which residuals and adjusted lab scores have no rank correlation."""
        slopes = (edges[1:] + edges[:-1]) / 2.0
        rows = max(1, _BLOCK // self.pairs[0].size)
        parts = [self._told(slopes[at : at + rows]) for at in range(0, slopes.size, rows)]
        agreement, size = (np.concatenate(each) for each in zip(*parts, strict=True))
        return _crossing(edges, agreement, size)

    def _told(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return concordant less discordant pairs, and the size of residuals against their noise, for each slope."""
        first, second = self.pairs
        residual = self.z - slopes[:, None] * self.x
        residual -= np.median(residual, axis=1, keepdims=True)
        noise = np.maximum(self.v_z + slopes**2 * self.v_x, 1e-300)
        middle = _MAD * np.median(np.abs(residual), axis=1)
        points = self.x + (slopes * self.v_x / np.maximum(middle**2, noise))[:, None] * residual
        moved = np.sign(residual[:, second] - residual[:, first]) * np.sign(points[:, second] - points[:, first])
        return moved.sum(axis=1), middle / np.sqrt(noise)


def _pairs(n: int) -> tuple[IntArray, IntArray]:
    """Return all pairs of models, or as many as are looked at, drawn with a fixed seed."""
    first, second = (at.astype(np.int64) for at in np.triu_indices(n, 1))
    if first.size <= _MOST_PAIRS:
        return first, second
    kept = np.sort(np.random.default_rng(0).choice(first.size, _MOST_PAIRS, replace=False))
    return first[kept], second[kept]


def _edges(x: FloatArray, z: FloatArray, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return slopes at even angles, and these with the slopes through two models between which ranks may change."""
    up, along = (float(np.median(np.abs(side - np.median(side)))) for side in (z, x))
    # Where most scores of a side are equal the middle distance is 0.
    unit = up / along if up > 0.0 and along > 0.0 else float(z.std() / x.std())
    with np.errstate(divide="ignore", invalid="ignore"):
        through = (z[second] - z[first]) / (x[second] - x[first])
    steps = np.tan(np.linspace(-np.pi / 2, np.pi / 2, _ANGLES + 2)[1:-1]) * unit
    return steps, np.unique(np.concatenate([through[np.isfinite(through)], steps]))


def _crossing(edges: FloatArray, agreement: FloatArray, size: FloatArray) -> float:
    """Return the middle of the slopes where agreement, told between the edges, passes from above to below 0.

    With errors in the lab it may do so twice; then where residuals are smallest against their noise.
    """
    sign = np.sign(agreement)
    at, away = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
    found: list[tuple[float, float]] = []
    for last in at:
        after = away[away > last]
        if after.size and not np.any((at > last) & (at < after[0])):
            found.append((float(size[last]), float(edges[last + 1] + edges[after[0]]) / 2.0))
    return min(found)[1] if found else float(edges[1:-1][np.abs(agreement[1:]).argmin()])
