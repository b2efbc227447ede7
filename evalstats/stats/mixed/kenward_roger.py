"""Kenward and Roger's small-sample covariance, degrees of freedom and F test for a linear mixed model fitted by REML."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.design import Floats
from evalstats.stats.mixed.fit import MixedFit
from evalstats.stats.mixed.marginal import Forms, forms
from evalstats.stats.mixed.satterthwaite import FTest, as_contrasts, f_p, held_at_zero, independent_rows

MOST_ROWS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class KenwardRoger:
    """What the tests of any contrasts of one fit need.

    Attributes
    ----------
    covariance
        float64, shape (n_fixed, n_fixed): covariance of beta, corrected for what the estimation of the variances adds.
    unadjusted
        The same before the correction.
    variances
        float64, shape (R, R): covariance of the R estimated (co)variances, from the expected information.
    single
        float64, shape (R, n_fixed, n_fixed): X' V^-1 G_r V^-1 X.
    notes
        What a reader must know, in words.
    """

    covariance: Floats
    unadjusted: Floats
    variances: Floats
    single: Floats
    notes: tuple[str, ...] = ()

    @property
    def std_errors(self) -> Floats:
        """Corrected standard errors of the fixed effects."""
        return np.sqrt(np.diag(self.covariance))

    def df(self, contrasts: Floats) -> Floats:
        """Degrees of freedom of the t statistic of each row, shape (n_contrasts,)."""
        return np.array([self.f_law(row[None, :])[0] for row in contrasts])

    def f_law(self, rows: Floats) -> tuple[float, float]:
        """Return the denominator df of F, and what F is multiplied by."""
        q = len(rows)
        theta = rows.T @ np.linalg.solve(rows @ self.unadjusted @ rows.T, rows)
        # Theta Phi X' V^-1 G_r V^-1 X Phi, of which only traces are needed.
        moved = theta @ self.unadjusted @ self.single @ self.unadjusted
        first = np.einsum("rii->r", moved)
        a1 = float(first @ self.variances @ first)
        a2 = float(np.einsum("rs,rij,sji->", self.variances, moved, moved))
        b = (a1 + 6.0 * a2) / (2.0 * q)
        if a2 <= 0.0:  # no estimated variance enters these contrasts
            return float("inf"), 1.0
        g = ((q + 1.0) * a1 - (q + 4.0) * a2) / ((q + 2.0) * a2)
        below = 3.0 * q + 2.0 * (1.0 - g)
        c1, c2, c3 = g / below, (q - g) / below, (q + 2.0 - g) / below
        v0, v1, v2 = (0.0 if abs(v) < 1e-10 else v for v in (1.0 + c1 * b, 1.0 - c2 * b, 1.0 - c3 * b))
        # Of expectation and variance of F: rho = V* / (2 E*^2); 0/0 is 1, as in pbkrtest.
        ratio = 1.0 if abs(v1) + abs(1.0 - a2 / q) < 1e-14 else (1.0 - a2 / q) / v1
        rho = ratio**2 * v0 / (v2 * q)
        df = 4.0 + (q + 2.0) / (q * rho - 1.0)
        if not np.isfinite(df) or df <= 0.0:
            raise CannotAnswerError(
                f"Kenward and Roger's approximation gives {df:.3g} degrees of freedom for these contrasts: there are too "
                "few units for it; take the parametric bootstrap"
            )
        return df, 1.0 if abs(df - 2.0) < 1e-2 else df * (1.0 - a2 / q) / (df - 2.0)


def kenward_roger(fit: MixedFit) -> KenwardRoger:
    """Covariance of the fixed effects and all that their tests need, after Kenward and Roger.

    V is linear in the (co)variances here, so that the terms with second derivatives vanish. A variance that is estimated
    as 0 stays among the parameters, as in pbkrtest: leaving it out would give the df of a model that knew it to be 0.

    Returns
    -------
    KenwardRoger
        Give it to `kenward_roger_f`, or ask its `df(contrasts)` and `covariance` for t statistics.

    Raises
    ------
    InputError
        If the fit is not a linear model fitted by REML, or has more than 5,000 rows: take `satterthwaite` then, which
        differs little there.

    References
    ----------
    Kenward & Roger 1997, doi:10.2307/2533558; Halekoh & Hojsgaard 2014, doi:10.18637/jss.v059.i09 (whose program,
    pbkrtest, this follows step by step).
    """
    if fit.family != "gaussian" or fit.method != "REML":
        raise InputError(
            f"Kenward and Roger's tests need a linear model fitted by REML; this is a {fit.family} model fitted by "
            f"{fit.method}"
        )
    if fit.design.n_rows > MOST_ROWS:
        raise InputError(
            f"the model has {fit.design.n_rows:,} rows; Kenward and Roger's correction is made for at most {MOST_ROWS:,}, "
            "take Satterthwaite's degrees of freedom"
        )
    found = forms(fit)
    phi = found.covariance
    information = 0.5 * found.restricted_trace_pairs()
    variances = _inverse(information)
    # 2 Phi {sum over r, s of W_rs (Q_rs - P_r Phi P_s)} Phi, in the symbols of the paper.
    correction = np.einsum("rs,rsij->ij", variances, found.pairs - _products(found))
    adjusted = phi + 2.0 * phi @ correction @ phi
    held = len(held_at_zero(fit))
    notes = (
        (f"{held} variance{'s are' if held > 1 else ' is'} estimated as 0 and counted as estimated, not as known",)
        if held
        else ()
    )
    return KenwardRoger(
        covariance=0.5 * (adjusted + adjusted.T),
        unadjusted=phi,
        variances=variances,
        single=found.single,
        notes=notes,
    )


def kenward_roger_f(fit: MixedFit, contrasts: ArrayLike, *, corrected: KenwardRoger | None = None) -> FTest:
    """F test that all contrasts are 0, with Kenward and Roger's covariance, scaling and degrees of freedom.

    Parameters
    ----------
    contrasts
        float64, shape (n_contrasts, n_fixed) or (n_fixed,).
    corrected
        `kenward_roger(fit)`, where it is at hand.
    """
    rows = independent_rows(as_contrasts(contrasts, fit))
    corrected = kenward_roger(fit) if corrected is None else corrected
    df, scaling = corrected.f_law(rows)
    estimate = rows @ fit.beta
    statistic = scaling / len(rows) * float(estimate @ np.linalg.solve(rows @ corrected.covariance @ rows.T, estimate))
    return FTest(
        statistic=statistic,
        df_numerator=len(rows),
        df_denominator=df,
        p_value=f_p(statistic, len(rows), df),
        method="F test after Kenward and Roger",
        scaling=scaling,
        notes=corrected.notes,
    )


def _products(found: Forms) -> Floats:
    """P_r Phi P_s for all pairs, shape (R, R, p, p)."""
    left = found.single @ found.covariance
    return np.einsum("rij,sjk->rsik", left, found.single)


def _inverse(information: Floats) -> Floats:
    """Inverse of the expected information; directions without information are left out."""
    scale = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    kept = values > 1e-10
    turned = vectors[:, kept] / scale[:, None]
    return np.asarray((turned / values[kept]) @ turned.T, dtype=np.float64)
