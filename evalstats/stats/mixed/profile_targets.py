"""Standard deviations, correlations and sigma of a mixed model as what a profile holds fixed."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.fit import MixedFit

_STEP = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One quantity; `row` and `other` are effects of the term."""

    name: str
    kind: Literal["sd", "correlation", "sigma"]
    term: int = 0
    row: int = 0
    other: int = 0

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of the quantity."""
        return (-1.0, 1.0) if self.kind == "correlation" else (0.0, np.inf)

    def value(self, fit: MixedFit) -> float:
        """Return the estimate."""
        if self.kind == "sigma":
            return fit.sigma
        covariance = fit.covariances()[self.term]
        spread = np.sqrt(np.diag(covariance))
        if self.kind == "sd":
            return float(spread[self.row])
        product = float(spread[self.row] * spread[self.other])
        return float(covariance[self.row, self.other]) / product if product > 0.0 else float("nan")

    def held(self, design: MixedDesign, parameters: Floats, value: float) -> Floats:
        """Return (theta, log sigma) changed so that the quantity has the value.

        A standard deviation is the length of a row of the factor times sigma; the correlation of two effects the cosine
        of the angle between their rows.
        """
        out = parameters.copy()
        if self.kind == "sigma":
            out[-1] = np.log(value)
            return out
        factor = design.factors(parameters[:-1])[self.term].copy()
        row = factor[self.row, : self.row + 1]
        if self.kind == "sd":
            factor[self.row, : self.row + 1] = value * np.exp(-parameters[-1]) * _unit(row)
        else:
            # The sign of a row says nothing; with a positive diagonal the formula is smooth where the row passes 0.
            if factor[self.other, self.other] < 0.0:
                factor[self.other] *= -1.0
            along = _unit(factor[self.other, : self.row + 1])
            across = _unit(row - (row @ along) * along)
            factor[self.row, : self.row + 1] = np.linalg.norm(row) * (value * along + np.sqrt(1.0 - value**2) * across)
        start = sum(term.n_theta for term in design.terms[: self.term])
        columns, rows = np.triu_indices(len(factor))
        out[start : start + len(rows)] = factor[rows, columns]
        return out

    def jacobian(self, design: MixedDesign, parameters: Floats, value: float) -> Floats:
        """Return the derivatives of `held`, by central differences of this short formula."""
        steps = _STEP * np.eye(len(parameters))
        columns = [
            (self.held(design, parameters + h, value) - self.held(design, parameters - h, value)) / (2.0 * _STEP)
            for h in steps
        ]
        return np.stack(columns, axis=1)


def variance_targets(fit: MixedFit) -> list[Target]:
    """Return all standard deviations and correlations, term by term, and sigma where there is one."""
    out: list[Target] = []
    for t, term in enumerate(fit.design.terms):
        for row, name in enumerate(term.columns):
            out.append(Target(name=f"sd of {name} by {term.group}", kind="sd", term=t, row=row))
            out += [
                Target(
                    name=f"correlation of {other} and {name} by {term.group}",
                    kind="correlation",
                    term=t,
                    row=row,
                    other=k,
                )
                for k, other in enumerate(term.columns[:row])
            ]
    if fit.family == "gaussian":
        out.append(Target(name="sigma", kind="sigma"))
    return out


def _unit(row: Floats) -> Floats:
    """Return the row with length 1; a row of zeros, which has no direction, along its last axis."""
    length = float(np.linalg.norm(row))
    if length > 0.0:
        return row / length
    out = np.zeros_like(row)
    out[-1] = 1.0
    return out
