"""What the test of a fixed term says is 0: differences of equally weighted means, whatever the coding."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl
from scipy import linalg

from evalstats.analysis.mixed.formula import INTERCEPT, Term, term_name
from evalstats.analysis.mixed.frame import ModelFrame
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import and_list
from evalstats.record import record
from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.contrasts import LinearEstimates, joint_test, linear_estimates
from evalstats.stats.mixed.degrees_of_freedom import (
    ENOUGH_GROUPS,
    MOST_EFFECTS,
    MOST_ROWS,
    KenwardRoger,
    VarianceParameters,
    between_within_df,
    few_groups,
    kenward_roger,
    kenward_roger_f,
    most_effects,
    satterthwaite,
    satterthwaite_f,
    variance_parameters,
)
from evalstats.stats.mixed.design import Family, Floats, MixedDesign, MixedFit
from evalstats.stats.mixed.glm import fit_logistic, fit_ordinary
from evalstats.stats.mixed.linear import fit_linear

MOST_GRID_ROWS = 50_000
_RANK = 1e-9
DfMethod = Literal["kenward-roger", "satterthwaite", "residual", "between-within", "z"]
DfChoice = Literal["auto", "kenward-roger", "satterthwaite", "between-within", "z"]
_NAMES = {"kenward-roger": "Kenward-Roger", "satterthwaite": "Satterthwaite", "z": "normal"}


def factor_grid(frame: ModelFrame) -> pl.DataFrame:
    """Return every combination of the levels of the fixed factors, the last factor running fastest."""
    size = 1
    for levels in frame.factors.values():
        size *= len(levels)
    if size > MOST_GRID_ROWS:
        raise InputError(
            f"the fixed factors have {size:,} combinations of levels; at most {MOST_GRID_ROWS:,} are averaged"
        )
    rows = list(itertools.product(*frame.factors.values()))
    if not frame.factors:
        return pl.DataFrame({"": [0]})
    return pl.DataFrame(rows, schema=dict.fromkeys(frame.factors, pl.String), orient="row")


def term_rows(frame: ModelFrame, term: Term) -> Floats:
    """Return the combinations of all fixed columns that are 0 if a term has no effect, shape (n_rows, n_columns).

    For a factor these are the differences of its levels' means, all other factors averaged with equal weights and numbers at
    their means; for an interaction differences of differences; for a number its slope. This is the hypothesis of type III
    tests, free of which level is the reference. A factor whose margin is not in the model is taken level by level, as its
    coding does.
    """
    # Rows of the grid, one axis a factor; for the numbers of a term, what one unit more of each changes together.
    grid = factor_grid(frame)
    covariates = [name for name in term if name in frame.covariates]
    total = np.zeros((grid.height, len(frame.columns)))
    for raised in itertools.product((0, 1), repeat=len(covariates)):
        at = grid.with_columns(
            pl.lit(frame.covariates[name] + step).alias(name) for name, step in zip(covariates, raised, strict=True)
        )
        total += (-1.0) ** (len(covariates) - sum(raised)) * frame.all_rows(at)
    values = total.reshape(*(len(levels) for levels in frame.factors.values()), -1)
    for axis, name in enumerate(frame.factors):
        if name not in term:
            values = values.mean(axis=axis, keepdims=True)
        elif _margin_is_in_model(frame, term, name):
            values = np.take(values, range(1, values.shape[axis]), axis=axis) - np.take(values, [0], axis=axis)
    rows = values.reshape(-1, values.shape[-1])
    differenced = any(_margin_is_in_model(frame, term, name) for name in term if name in frame.factors)
    if not differenced and not covariates and frame.formula.intercept:
        rows = rows[1:] - rows[:1]
    return rows


def estimable_part(frame: ModelFrame, rows: Floats) -> tuple[Floats, int]:
    """Return independent rows that span what the data can say of `rows`, and how many dimensions are lost."""
    size = np.abs(rows).max(initial=0.0)
    if size == 0.0:
        return rows[:0], 0
    rank = int(np.linalg.matrix_rank(rows / size, tol=_RANK * max(rows.shape)))
    if not len(frame.kept.dropped):
        return rows, 0
    nothing = rows[:, frame.kept.dropped] - rows[:, frame.kept.columns] @ frame.kept.alias
    # Combinations of the rows that do not touch what the data say nothing about.
    combine = linalg.null_space(nothing.T, rcond=1e-8)
    left = np.asarray(combine, dtype=np.float64).T @ rows
    kept = int(np.linalg.matrix_rank(left / size, tol=_RANK * max(rows.shape))) if len(left) else 0
    return left, rank - kept


def _margin_is_in_model(frame: ModelFrame, term: Term, name: str) -> bool:
    margin = frozenset(term) - {name}
    return margin == frozenset(INTERCEPT) or any(frozenset(other) == margin for other in frame.formula.fixed)


@record
class FixedTermTest:
    """A test that a fixed term has no effect: a factor's equally weighted means are all equal, an interaction is 0.

    `statistic` is F, or chi-squared where `df_denominator` is None. `n_lost` counts hypotheses of the term that empty cells
    leave untestable. `reason` says why there is no test.
    """

    term: str
    statistic: float | None = None
    df: int = 0
    df_denominator: float | None = None
    p_value: float | None = None
    method: str = ""
    n_lost: int = 0
    reason: str | None = None


@record
class Inference:
    """How one fit's fixed effects are judged, and why so.

    `covariance`, shape (n_fixed, n_fixed), is the model's, or Kenward and Roger's; `residual_df` are rows less fixed effects,
    for a linear model without random effects.
    """

    method: DfMethod
    reason: str
    covariance: Floats
    corrected: KenwardRoger | None = None
    parameters: VarianceParameters | None = None
    residual_df: float | None = None
    warnings: tuple[str, ...] = ()

    def df(self, fit: MixedFit, rows: Floats) -> Floats:
        """Degrees of freedom of each row of contrasts, shape (n_rows,); infinite for the normal law."""
        out = np.full(len(rows), np.inf)
        there = np.any(rows != 0.0, axis=1)
        if self.corrected is not None:
            out[there] = self.corrected.df(rows[there])
        elif self.parameters is not None:
            out[there] = satterthwaite(fit, rows[there], parameters=self.parameters)
        elif self.residual_df is not None:
            out[there] = self.residual_df
        elif self.method == "between-within":
            out[there] = between_within_df(fit.design, rows[there])
        return out

    def estimates(self, fit: MixedFit, rows: Floats, *, names: Sequence[str], conf_level: float) -> LinearEstimates:
        """Estimates, tests and intervals of combinations of the fixed effects, each on its own."""
        free = self.df(fit, rows)
        return linear_estimates(rows, fit.beta, self.covariance, df=free, conf_level=conf_level, names=names)

    def test(self, fit: MixedFit, rows: Floats, *, term: str, n_lost: int) -> FixedTermTest:
        """Test that all rows are 0."""
        if self.corrected is None and self.parameters is None:
            # Of several rows the fewest degrees of freedom hold for all.
            wald = joint_test(rows, fit.beta, self.covariance, df=float(self.df(fit, rows).min(initial=np.inf)))
            return FixedTermTest(
                term=term,
                statistic=wald.statistic,
                df=wald.df,
                df_denominator=wald.df_denominator,
                p_value=wald.p_value,
                method=wald.method,
                n_lost=n_lost,
                reason=wald.reason,
            )
        found = (
            kenward_roger_f(fit, rows, corrected=self.corrected)
            if self.corrected is not None
            else satterthwaite_f(fit, rows, parameters=self.parameters)
        )
        return FixedTermTest(
            term=term,
            statistic=found.statistic,
            df=found.df_numerator,
            df_denominator=None if np.isinf(found.df_denominator) else found.df_denominator,
            p_value=found.p_value,
            method=found.method,
            n_lost=n_lost,
        )


def choose_inference(fit: MixedFit, df: DfChoice) -> Inference:
    """Pick the degrees of freedom: Kenward-Roger up to 5,000 rows, then Satterthwaite.

    For binomial models: those between groups where a grouping has fewer than 30 levels, else the normal law.

    What "auto" picks and cannot be had is replaced by the next one, and a warning says so; what was asked for raises.
    """
    if df not in ("auto", "kenward-roger", "satterthwaite", "between-within", "z"):
        raise InputError(f"df is {df!r}; it is 'auto', 'kenward-roger', 'satterthwaite', 'between-within' or 'z'")
    if fit.family == "binomial":
        return _binomial(fit, df)
    if df == "between-within":
        raise InputError(
            "df='between-within' is for binomial models; a linear one has 'kenward-roger' or 'satterthwaite'"
        )

    def normal(reason: str, *warnings: str) -> Inference:
        return Inference(method="z", reason=reason, covariance=fit.covariance, warnings=warnings)

    if df == "z":
        return normal("asked for; right for many units only")
    if fit.method == "OLS":
        # Kenward and Roger's and Satterthwaite's degrees of freedom are these where there is one variance.
        free = float(fit.design.n_rows - len(fit.beta))
        why = "rows minus fixed effects, which is exact for independent normal rows"
        return Inference(method="residual", reason=why, covariance=fit.covariance, residual_df=free)
    if df != "auto":
        return _one(fit, df, "asked for")
    tried: list[str] = []
    for method, reason in _candidates(fit):
        try:
            found = _one(fit, method, reason)
        except CannotAnswerError as error:
            tried.append(f"{_NAMES[method]} degrees of freedom are not available: {error}")
            continue
        return replace(found, warnings=(*tried, *found.warnings))
    said = "p-values and intervals are by the normal law, which is overconfident with few units"
    return normal("no degrees of freedom are available", *tried, said)


def _binomial(fit: MixedFit, df: DfChoice) -> Inference:
    if df not in ("auto", "between-within", "z"):
        raise InputError(f"df={df!r} is for linear models; a binomial one has 'between-within' or 'z', the normal law")
    few = few_groups(fit.design)
    if df == "z" or not few:
        many = (
            f"no grouping has fewer than {ENOUGH_GROUPS} levels" if fit.design.terms else "there are no random effects"
        )
        why = "asked for; right for many groups only" if df == "z" else f"{many}: the normal law"
        return Inference(method="z", reason=why, covariance=fit.covariance)
    named = and_list([f"{term.group} has {term.n_levels}" for term in few])
    why = f"{named} levels, fewer than {ENOUGH_GROUPS}: what differs between them has as many degrees of freedom as they leave"
    return Inference(method="between-within", reason=why, covariance=fit.covariance)


def _candidates(fit: MixedFit) -> list[tuple[DfMethod, str]]:
    n_rows, n_effects = fit.design.n_rows, most_effects(fit.design)
    if fit.method != "REML":
        return [("satterthwaite", "the model is fitted by ML")]
    if n_rows > MOST_ROWS:
        return [("satterthwaite", f"the model has more than {MOST_ROWS:,} rows")]
    if n_effects > MOST_EFFECTS:
        why = f"{n_effects:,} random effects hang together, too many for Kenward and Roger's matrices"
        return [("satterthwaite", why)]
    few = f"{n_rows:,} rows are few enough for the correction of standard errors"
    return [("kenward-roger", few), ("satterthwaite", "the next best")]


def _one(fit: MixedFit, method: DfMethod, reason: str) -> Inference:
    if method == "kenward-roger":
        corrected = kenward_roger(fit)
        corrected.df(np.eye(len(fit.beta)))  # raises where the approximation has no answer
        covariance = corrected.covariance
        return Inference(
            method=method, reason=reason, covariance=covariance, corrected=corrected, warnings=corrected.notes
        )
    parameters = variance_parameters(fit)
    return Inference(
        method=method, reason=reason, covariance=fit.covariance, parameters=parameters, warnings=parameters.notes
    )


def term_tests(fit: MixedFit, frame: ModelFrame, inference: Inference) -> tuple[FixedTermTest, ...]:
    """Test every fixed term but the intercept."""
    tests: list[FixedTermTest] = []
    for term in frame.formula.fixed:
        name, n_lost, reason = term_name(term), 0, "empty cells leave nothing of it to test"
        try:
            rows, n_lost = estimable_part(frame, term_rows(frame, term))
            if len(rows):
                tests.append(inference.test(fit, frame.kept_rows(rows), term=name, n_lost=n_lost))
                continue
        except (InputError, CannotAnswerError) as error:
            reason = str(error)
        tests.append(FixedTermTest(term=name, n_lost=n_lost, reason=reason))
    return tuple(tests)


def fit_of(design: MixedDesign, family: Family, *, reml: bool, n_quadrature: int = 1) -> MixedFit:
    """Fit a design by the method of its family, with random effects or without any."""
    if not design.terms:
        return fit_ordinary(design) if family == "gaussian" else fit_logistic(design)
    return fit_linear(design, reml=reml) if family == "gaussian" else fit_binomial(design, n_quadrature=n_quadrature)


@record
class FittedModel:
    """A fit, the table it was made from, and how its fixed effects are judged: what further questions are answered from."""

    fit: MixedFit
    frame: ModelFrame
    inference: Inference
