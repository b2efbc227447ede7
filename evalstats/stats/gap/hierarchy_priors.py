"""What is held likely of slope and spreads before the scores are seen: little, and on no scale of its own."""

from dataclasses import dataclass

import numpy as np

from evalstats.stats.checks import FloatArray

_TAU_DF = 4.0
_SIGMA_DF = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Scales of the priors, as multiples of the spread of the data.

    Attributes
    ----------
    slope
        Standard deviation of the normal prior of the slope of standardised scores (each side divided by the standard deviation
        of its estimates). Errors in the lab push that slope to at most 1/sqrt(reliability), so 2 holds any lab with a
        reliability of a quarter or more within one standard deviation.
    tau
        Scale of the half-t prior (4 degrees of freedom) of tau, in standard deviations of the live estimates.
    sigma
        The same for the spread of true lab scores, in standard deviations of the lab estimates.

    Examples
    --------
    >>> Priors().words().startswith("slope of standardised scores: normal, mean 0, standard deviation 2;")
    True
    """

    slope: float = 2.0
    tau: float = 1.0
    sigma: float = 1.0

    def log_density(self, slope: FloatArray, sigma: FloatArray, tau: FloatArray) -> FloatArray:
        """Return the log density but for a constant, at parameters of standardised scores."""
        return (
            -0.5 * np.square(slope / self.slope)
            - (_SIGMA_DF + 1) / 2 * np.log1p(np.square(sigma / self.sigma) / _SIGMA_DF)
            - (_TAU_DF + 1) / 2 * np.log1p(np.square(tau / self.tau) / _TAU_DF)
        )

    def words(self) -> str:
        """Say what the priors are."""
        return (
            f"slope of standardised scores: normal, mean 0, standard deviation {self.slope:g}; "
            f"spread of true gaps: half-t with {_TAU_DF:g} degrees of freedom and scale {self.tau:g} x the standard deviation of "
            f"the live scores; spread of true lab scores: the same with {self.sigma:g} x that of the lab scores; "
            "mean and intercept: flat"
        )


ALTERNATIVES: tuple[tuple[str, Priors], ...] = (
    ("half the scale of the prior on the spread of gaps", Priors(tau=0.5)),
    ("twice that scale", Priors(tau=2.0)),
    ("a prior on the slope ten times as wide, so almost flat", Priors(slope=20.0)),
)
