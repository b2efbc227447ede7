"""What a fitted mixed model is: estimates, their uncertainty, and an account of how the fit ended."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstats.stats.mixed.design import Floats, MixedDesign

Family = Literal["gaussian", "binomial"]
# OLS and GLM are fits without random effects.
Method = Literal["REML", "ML", "Laplace", "AGHQ", "nAGQ=0", "OLS", "GLM"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """How an optimisation ended; `message` says it in words.

    `gradient` is the largest absolute entry of the gradient of the deviance that is not held at a bound; `curvature` the
    smallest eigenvalue of its Hessian among those, None where it was not computed.
    """

    converged: bool
    message: str
    n_evaluations: int
    gradient: float | None = None
    curvature: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedFit:
    """A fitted linear or binomial mixed model.

    Attributes
    ----------
    theta
        float64, shape (n_theta,): entries of the relative covariance factors, in the order of `MixedDesign.factors`.
    sigma
        Residual standard deviation; 1 for the binomial family.
    beta, covariance
        Fixed effects, and their covariance by the model, shapes (n_fixed,) and (n_fixed, n_fixed).
    joint_covariance
        Covariance of (theta, beta) together from the Hessian of the deviance (Laplace and AGHQ), shape
        (n_theta + n_fixed,) squared; rows of theta entries held at their bound are 0. None where it was not computed.
    log_likelihood
        The maximised criterion: restricted where `method` is "REML".
    effects
        For each term the conditional modes (BLUPs), shape (n_levels, n_columns).
    effect_covariances
        For each term their conditional covariances given theta and beta, shape (n_levels, n_columns, n_columns).
    singular
        What lies on the boundary, in words, such as "the variance of item:model is estimated as 0".
    penalty
        The weakly informative prior in words where one was used (separation), else "".
    warnings
        What a reader must know, in words; a failed convergence is among them.
    """

    family: Family
    method: Method
    design: MixedDesign
    theta: Floats
    sigma: float
    beta: Floats
    covariance: Floats
    log_likelihood: float
    effects: tuple[Floats, ...]
    effect_covariances: tuple[Floats, ...]
    convergence: Convergence
    n_quadrature: int = 1
    joint_covariance: Floats | None = None
    singular: tuple[str, ...] = ()
    penalty: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def deviance(self) -> float:
        """Minus twice the maximised log-likelihood (the REML criterion for REML)."""
        return -2.0 * self.log_likelihood

    @property
    def n_parameters(self) -> int:
        """Fixed effects, covariance parameters, and the residual variance where there is one."""
        return len(self.beta) + len(self.theta) + (self.family == "gaussian")

    @property
    def std_errors(self) -> Floats:
        """Standard errors of the fixed effects by the model."""
        return np.sqrt(np.diag(self.covariance))

    def covariances(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Covariance matrix of the effects of one level, for each term: sigma^2 L L'."""
        return tuple(self.sigma**2 * factor @ factor.T for factor in self.design.factors(self.theta))
