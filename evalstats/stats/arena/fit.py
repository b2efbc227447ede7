"""What a fit of strengths to votes is, whichever way it treats ties."""

from dataclasses import dataclass
from typing import Literal

from evalstats.stats.checks import FloatArray

Ties = Literal["half", "davidson", "rao-kupper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFit:
    """Strengths of models that explain votes best.

    The parameters, in this order, are the strengths (log-units, sum 0), the coefficients of the covariates, and, for
    Davidson and Rao-Kupper, the logarithm of the tie parameter. With eta = strength[first] - strength[second] +
    covariates @ coefficients: "half" has P(a) = expit(eta) and takes a tie for half a win of either; "davidson" has
    P(a) : P(tie) : P(b) = exp(eta/2) : nu : exp(-eta/2); "rao-kupper" has P(a) = 1/(1 + theta exp(-eta)) and
    P(b) = 1/(1 + theta exp(eta)).

    Attributes
    ----------
    ties
        How ties were treated. BOTH_BAD counts as a tie in all of them; leave such rows out where it should not.
    strengths
        float64, shape (n_models,), log-units (natural logarithm of odds), sum 0.
    coefficients
        float64, shape (n_covariates,).
    tie
        nu or theta; None for "half".
    log_lik
        Log-likelihood (for "half" the quasi-log-likelihood), ridge or prior not included.
    bread
        float64, shape (n_parameters, n_parameters): inverse of the negative second derivative of what was maximised, under
        the constraint that strengths sum to 0 (their rows and columns of it sum to 0).
    prior
        Votes won and lost by every model against an average one that were added; 0 for none.
    """

    ties: Ties
    strengths: FloatArray
    coefficients: FloatArray
    tie: float | None
    log_lik: float
    bread: FloatArray
    prior: float
    converged: bool
    n_iterations: int
    largest_gradient: float

    @property
    def n_models(self) -> int:
        """Models with a strength."""
        return self.strengths.size

    @property
    def n_parameters(self) -> int:
        """Strengths, coefficients and the tie parameter."""
        return self.strengths.size + self.coefficients.size + (self.tie is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScores:
    """First derivatives of the log-likelihood of one vote of each row, of weight 1.

    The derivative by the parameters is `slope` * (e_first - e_second), then `slope` * covariates, then `tie_slope`.

    Attributes
    ----------
    slope
        float64, shape (n_rows,): by eta.
    tie_slope
        float64, shape (n_rows,): by the logarithm of the tie parameter; None for "half".
    """

    slope: FloatArray
    tie_slope: FloatArray | None = None
