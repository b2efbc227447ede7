"""Two measurements of the same models, with the covariance of their errors: what every question about the gap starts from."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray

_SYMMETRY = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class LabLiveScores:
    """Scores of the same models in the lab and with live users. More is better on both sides.

    Attributes
    ----------
    lab, live
        float64, shape (n_models,): the estimates, each on its own scale.
    lab_covariance, live_covariance
        float64, shape (n_models, n_models): covariance of the errors of the estimates. A component that all models share
        (easy items, the zero of a rating scale) may be in it or not: nothing here may depend on it. None where no error is
        known.
    cross
        Covariance of lab errors (rows) with live errors (columns), where both rest on the same items or raters; None where
        they are independent.
    """

    lab: FloatArray
    live: FloatArray
    lab_covariance: FloatArray | None = None
    live_covariance: FloatArray | None = None
    cross: FloatArray | None = None

    def __post_init__(self) -> None:
        n = self.lab.size
        if self.lab.shape != (n,) or self.live.shape != (n,):
            raise InputError(
                f"lab has shape {self.lab.shape} and live {self.live.shape}; give one score a model on both"
            )
        for name, side in (("lab", self.lab), ("live", self.live)):
            if not np.isfinite(side).all():
                raise InputError(f"{name} holds NaN or an infinite number; leave models without a score out")
        for name, table in (("lab_covariance", self.lab_covariance), ("live_covariance", self.live_covariance)):
            if table is not None:
                _check_covariance(name, table, n)
        if self.cross is not None and (self.cross.shape != (n, n) or not np.isfinite(self.cross).all()):
            raise InputError(f"cross has shape {self.cross.shape}; it must be ({n}, {n}) of finite numbers")

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return self.lab.size

    @property
    def has_errors(self) -> bool:
        """Whether the errors of both sides are known."""
        return self.lab_covariance is not None and self.live_covariance is not None

    def subset(self, keep: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> "LabLiveScores":
        """Keep some of the models, by place or by mask."""
        at = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep

        def cut(table: FloatArray | None) -> FloatArray | None:
            return None if table is None else table[np.ix_(at, at)]

        return replace(
            self,
            lab=self.lab[at],
            live=self.live[at],
            lab_covariance=cut(self.lab_covariance),
            live_covariance=cut(self.live_covariance),
            cross=cut(self.cross),
        )


def centred_variance(covariance: FloatArray) -> float:
    """Return the noise variance of one score about the mean of all: tr(C V C)/(n - 1), with C the centring matrix.

    Errors of models that answered the same items move together; the part that moves all of them alike changes no comparison
    and is left out. It is the mean of the variances less the mean of the covariances.

    Examples
    --------
    >>> centred_variance(np.array([[2.0, 1.0], [1.0, 2.0]])), centred_variance(np.full((3, 3), 5.0))
    (1.0, 0.0)
    """
    n = covariance.shape[0]
    total, diagonal = float(covariance.sum()), float(np.trace(covariance))
    return max(0.0, diagonal / n - (total - diagonal) / (n * (n - 1)))


def _check_covariance(name: str, table: FloatArray, n: int) -> None:
    if table.shape != (n, n) or not np.isfinite(table).all():
        raise InputError(f"{name} has shape {table.shape}; it must be ({n}, {n}) of finite numbers")
    scale = float(np.abs(table).max(initial=0.0))
    if np.abs(table - table.T).max(initial=0.0) > _SYMMETRY * scale or (np.diag(table) < 0).any():
        raise InputError(f"{name} is no covariance: it must be symmetric, with no negative variance")
