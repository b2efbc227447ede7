"""Scores of two sides as contrasts between models, scaled to unit spread: what a line is searched in."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, IntArray, is_constant
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.gap.slope_search import Problems

# A variance below this share of the live spread is rounding: exact scores are taken as known to that.
_EXACT = 1e-9


@cache
def contrast_rows(n: int) -> FloatArray:
    """Return n - 1 orthonormal rows that each sum to 0 (Helmert's), float64, shape (n - 1, n).

    Examples
    --------
    >>> rows = contrast_rows(4)
    >>> bool(np.allclose(rows @ rows.T, np.eye(3)) and np.allclose(rows.sum(axis=1), 0))
    True
    """
    rows = np.tril(np.ones((n - 1, n)))
    at = np.arange(1, n)
    rows[at - 1, at] = -at
    rows /= np.sqrt(at * (at + 1.0))[:, None]
    rows.setflags(write=False)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both sides centred and scaled to unit spread, with full covariances (zeros where none is given).

    Attributes
    ----------
    x, z
        float64, shape (n_models,): centred on their mean, divided by `unit_x`, `unit_z`.
    v_x, v_z, cross
        float64, shape (n_models, n_models), in those units; `cross` has lab errors in rows.
    has_cross
        Whether errors of the sides go together.
    floor
        Smallest tau2 (in units of z) at which a residual's covariance can be inverted; 0 but for exact scores.
    """

    x: FloatArray
    z: FloatArray
    v_x: FloatArray
    v_z: FloatArray
    cross: FloatArray
    has_cross: bool
    unit_x: float
    unit_z: float
    mean_x: float
    mean_z: float
    floor: float

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return self.x.size

    def problems(self, keep: IntArray) -> Problems:
        """Return one problem for each row of places in `keep`, shape (n_problems, n_kept)."""
        rows = contrast_rows(keep.shape[1])

        def cut(table: FloatArray) -> FloatArray:
            return rows @ table[keep[:, :, None], keep[:, None, :]] @ rows.T

        return Problems(
            x=self.x[keep] @ rows.T,
            z=self.z[keep] @ rows.T,
            v_x=cut(self.v_x),
            v_z=cut(self.v_z),
            v_cross=cut(self.cross + self.cross.T) if self.has_cross else None,
        )

    def contrast_cross(self) -> FloatArray:
        """Return the covariance of contrasts of the lab (rows) with those of the live scores (columns)."""
        rows = contrast_rows(self.n_models)
        return rows @ self.cross @ rows.T

    def all_models(self) -> Problems:
        """Return the one problem with all models."""
        return self.problems(np.arange(self.n_models)[None, :])


def scaled_sides(scores: LabLiveScores, least: int = 3) -> Sides:
    """Centre and scale both sides.

    Raises
    ------
    CannotAnswerError
        With fewer than `least` models, without errors on a side, or where a side is constant.
    """
    n = scores.n_models
    if n < least:
        raise CannotAnswerError(
            f"{n} shared models are too few for a line from lab to live; at least {least} are needed"
        )
    if scores.lab_covariance is None or scores.live_covariance is None:
        side = "lab" if scores.lab_covariance is None else "live"
        raise CannotAnswerError(
            f"not every {side} score has a standard error, so that noise cannot be told from a gap; give them with the scores"
        )
    for side, values in (("lab", scores.lab), ("live", scores.live)):
        if is_constant(values):
            raise CannotAnswerError(f"all {n} models have the same {side} score, {values[0]:g}; no line can be drawn")
    unit_x, unit_z = float(scores.lab.std(ddof=1)), float(scores.live.std(ddof=1))
    mean_x, mean_z = float(scores.lab.mean()), float(scores.live.mean())
    v_x, v_z = scores.lab_covariance / unit_x**2, scores.live_covariance / unit_z**2
    cross = np.zeros_like(v_x) if scores.cross is None else scores.cross / (unit_x * unit_z)
    has_cross = bool(np.abs(cross).max() > 0.0)
    return Sides(
        x=(scores.lab - mean_x) / unit_x,
        z=(scores.live - mean_z) / unit_z,
        v_x=v_x,
        v_z=v_z,
        cross=cross,
        has_cross=has_cross,
        unit_x=unit_x,
        unit_z=unit_z,
        mean_x=mean_x,
        mean_z=mean_z,
        floor=_floor(v_x, v_z, cross),
    )


def _floor(v_x: FloatArray, v_z: FloatArray, cross: FloatArray) -> float:
    """0 where the noise of every contrast of residuals is above rounding at any slope."""
    rows = contrast_rows(v_x.shape[0])
    live = rows @ v_z @ rows.T
    if np.any(cross):
        lab, both = rows @ v_x @ rows.T, rows @ cross @ rows.T
        # What is left of the live noise where the lab noise is known: the least noise that any slope leaves.
        live = live - both.T @ np.linalg.pinv(lab, rcond=_EXACT, hermitian=True) @ both
    return 0.0 if float(np.linalg.eigvalsh(live)[0]) > _EXACT else _EXACT
