"""Parametric bootstrap of mixed models: a likelihood ratio with its own law, and intervals for any function of a fit."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, EvalStatsError, InputError
from evalstats.stats.checks import check_count, check_level
from evalstats.stats.computation import OnStep, replicates
from evalstats.stats.estimate import Estimate, positive_p
from evalstats.stats.mixed.binomial import refit_binomial
from evalstats.stats.mixed.degrees_of_freedom import as_contrasts
from evalstats.stats.mixed.design import Floats, MixedDesign, MixedFit
from evalstats.stats.mixed.likelihood_ratio import check_nested, ratio_statistic
from evalstats.stats.mixed.linear import Refitter

_MANY_FAILED = 0.05  # share of failed replicates that is worth a warning
_MOST_FAILED = 0.5  # share beyond which nothing follows from the others
_TIE = 1e-9
Summary = Callable[[MixedFit], ArrayLike]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Drawn data sets as their sufficient statistics.

    Attributes
    ----------
    responses
        float64, shape (n, n_cells): mean of the rows of each cell, or share of successes.
    within
        float64, shape (n,): sum of squares of the rows about the mean of their cell; 0 for the binomial family.
    """

    responses: Floats
    within: Floats


def simulate(fit: MixedFit, rng: np.random.Generator, n: int = 1) -> Simulated:
    """Draw `n` data sets of the same design from a fitted model.

    Random effects are drawn anew from their estimated covariance, not kept at their predictions. Rows are not drawn: the
    mean of a cell of m rows is normal with variance sigma^2 / m, and the squares within cells are sigma^2 chi-squared.

    Parameters
    ----------
    fit
        A linear or binomial fit.
    rng
        The source of all draws.
    n
        Data sets.

    Examples
    --------
    A binomial cell of 4 trials has a share in quarters:

    >>> from evalstats.stats.mixed.design import Convergence, MixedFit
    >>> from evalstats.stats.mixed.design import MixedDesign
    >>> design = MixedDesign(
    ...     fixed=np.ones((2, 1)), fixed_names=("(Intercept)",), terms=(), count=np.full(2, 4.0), response=np.full(2, 0.5)
    ... )
    >>> fit = MixedFit(
    ...     family="binomial", method="Laplace", design=design, theta=np.zeros(0), sigma=1.0, beta=np.zeros(1),
    ...     covariance=np.eye(1), log_likelihood=0.0, effects=(), effect_covariances=(),
    ...     convergence=Convergence(converged=True, message="", n_evaluations=0),
    ... )
    >>> drawn = simulate(fit, np.random.default_rng(0), 3).responses
    >>> drawn.shape, bool(np.all(drawn * 4 % 1 == 0))
    ((3, 2), True)
    """  # fmt: skip
    n = check_count(n, "n", least=1)
    design = fit.design
    eta = linear_predictors(fit, rng, n)
    if fit.family == "binomial":
        trials = np.round(design.count).astype(np.int64)
        shares = rng.binomial(trials, special.expit(eta)) / design.count
        return Simulated(responses=shares, within=np.zeros(n))
    noise = rng.standard_normal((n, design.n_cells)) / np.sqrt(design.count)
    free = design.n_rows - design.n_cells
    within = fit.sigma**2 * rng.chisquare(free, n) if free > 0 else np.zeros(n)
    return Simulated(responses=eta + fit.sigma * noise, within=within)


def linear_predictors(fit: MixedFit, rng: np.random.Generator, n: int) -> Floats:
    """Draw linear predictors with new random effects, shape (n, n_cells)."""
    design = fit.design
    eta = np.tile(design.fixed @ fit.beta + (0.0 if design.offset is None else design.offset), (n, 1))
    for term, factor in zip(design.terms, design.factors(fit.theta), strict=True):
        effects = fit.sigma * rng.standard_normal((n, term.n_levels, term.n_columns)) @ factor.T
        eta += np.einsum("ncj,cj->nc", effects[:, term.level], term.values)
    return eta


def with_responses(design: MixedDesign, response: Floats, within: float) -> MixedDesign:
    """Return the design with other responses, such as one of `simulate`."""
    return replace(design, response=response, within=within)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapRatio:
    """A likelihood ratio test whose law was drawn from the smaller model.

    Attributes
    ----------
    statistic
        Twice the log-likelihood ratio of the data.
    p_value
        (1 + draws that reach it) / (1 + draws); never 0.
    draws
        float64, the statistics of the replicates that could be fitted, in order.
    n_resamples, n_failed
        Replicates asked for, and those whose fit failed; the latter count neither way.
    seed, method, notes
        How it was done, in words; what a reader must know.
    """

    statistic: float
    p_value: float
    draws: Floats
    n_resamples: int
    n_failed: int
    seed: int
    method: str
    notes: tuple[str, ...] = ()


def parametric_bootstrap(
    null: MixedFit,
    alternative: MixedFit,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    workers: int | None = None,
    on_step: OnStep | None = None,
) -> BootstrapRatio:
    """Test the smaller of two nested mixed models by its own simulated likelihood ratios.

    Data are drawn from `null`, both models are fitted to each, and the likelihood ratio of the real data takes its place
    among theirs. It needs no number of units to be large, serves fixed effects and variances alike, and is the test to
    take for binomial models and for fewer than about 20 units.

    Parameters
    ----------
    null, alternative
        Fits to the same cells in the same order (see `null_design`), by ML, Laplace or quadrature; by REML where the
        fixed effects are the same.
    n_resamples
        Replicates. The p-value is at least 1 / (1 + n_resamples), with a standard error of sqrt(p (1 - p) / n_resamples).
    seed, workers
        The result depends on the seed alone, not on the number of processes.
    on_step
        Called with the number of replicates done and their total.

    Raises
    ------
    InputError
        If the two fits cannot be compared.
    CannotAnswerError
        If more than half of the replicates could not be fitted.

    References
    ----------
    Halekoh & Hojsgaard 2014, doi:10.18637/jss.v059.i09 (PBmodcomp).
    """
    check_nested(null, alternative)
    if null.design.n_cells != alternative.design.n_cells or not np.array_equal(
        null.design.response, alternative.design.response
    ):
        raise InputError(
            f"the models have {null.design.n_cells} and {alternative.design.n_cells} cells; fit the smaller one to "
            "null_design(alternative.design, ...), so that both are refitted to the same draws"
        )
    if null.method == "REML" and len(null.beta) != len(alternative.beta):
        raise InputError("REML criteria of different fixed effects are not comparable; fit both models by ML")
    statistic = ratio_statistic(null, alternative)
    found = replicates(_RatioReplicate(null, alternative), n_resamples, seed=seed, workers=workers, on_step=on_step)
    draws = np.array([t for t in found if t is not None])
    failed = len(found) - len(draws)
    notes = _failures(failed, len(found))
    hits = int(np.count_nonzero(draws >= statistic * (1.0 - _TIE)))
    return BootstrapRatio(
        statistic=statistic,
        p_value=positive_p((1 + hits) / (1 + len(draws))),
        draws=draws,
        n_resamples=len(found),
        n_failed=failed,
        seed=seed,
        method=f"likelihood ratio, law from {len(draws):,} parametric bootstrap replicates",
        notes=notes,
    )


def null_design(
    design: MixedDesign, *, contrasts: ArrayLike | None = None, terms: Sequence[int] | None = None
) -> MixedDesign:
    """Return the design of a smaller model on the same cells: some contrasts 0, or only some of the random terms.

    Parameters
    ----------
    contrasts
        float64, shape (n_contrasts, n_fixed): combinations of the fixed effects that are 0 in the smaller model.
    terms
        Positions of the random terms that it keeps; all if None.

    Examples
    --------
    >>> design = MixedDesign(
    ...     fixed=np.array([[1.0, 0], [1, 1]]),
    ...     fixed_names=("(Intercept)", "b"),
    ...     terms=(),
    ...     count=np.ones(2),
    ...     response=np.ones(2),
    ... )
    >>> null_design(design, contrasts=[0.0, 1.0]).fixed_names
    ('(Intercept)',)
    """
    kept = design.terms if terms is None else tuple(design.terms[t] for t in terms)
    if contrasts is None:
        return replace(design, terms=kept)
    rows = np.atleast_2d(np.asarray(contrasts, dtype=np.float64))
    if rows.shape[1] != len(design.fixed_names):
        raise InputError(
            f"contrasts have shape {rows.shape}; give one column for each of {len(design.fixed_names)} fixed effects"
        )
    named = (rows != 0.0).any(axis=0)
    if np.linalg.matrix_rank(rows) == np.count_nonzero(named):  # whole columns are left out
        names = tuple(name for name, out in zip(design.fixed_names, named.tolist(), strict=True) if not out)
        return replace(design, fixed=design.fixed[:, ~named], fixed_names=names, terms=kept)
    _, values, right = np.linalg.svd(rows)
    basis = right[int(np.count_nonzero(values > 1e-10 * values[0])) :].T
    names = tuple(f"combination {j + 1}" for j in range(basis.shape[1]))
    return replace(design, fixed=design.fixed @ basis, fixed_names=names, terms=kept)


def bootstrap_intervals(
    fit: MixedFit,
    summary: Summary,
    *,
    names: Sequence[str],
    n_resamples: int = 1000,
    seed: int = 0,
    conf_level: float = 0.95,
    kind: Literal["percentile", "basic"] = "percentile",
    workers: int | None = None,
    on_step: OnStep | None = None,
) -> tuple[Estimate, ...]:
    """Intervals for functions of a fit, such as variances, intraclass correlations or contrasts.

    Data are drawn from the fit with new random effects, and the model is fitted to each. `percentile` intervals stay
    within the range of the quantity, so they suit variances and correlations; `basic` ones, 2 estimate - quantile, also
    correct a bias that does not depend on the quantity, and may leave its range.

    Parameters
    ----------
    summary
        Takes a fit, returns numbers; defined at the top of a module where several processes are to be used.
    names
        What the numbers are; used in messages.

    Returns
    -------
    tuple of Estimate
        One for each number; `std_error` is the standard deviation of the replicates. A number that is the same in all
        replicates has no interval, and says so.

    References
    ----------
    Davison & Hinkley 1997, Bootstrap Methods and their Application, section 5.2.
    """
    check_level(conf_level)
    draws = check_count(n_resamples, "n_resamples", least=1)
    tail = (1.0 - conf_level) / 2.0
    least = math.ceil(1.0 / tail - 1.0 - 1e-9)
    if draws < least:
        raise InputError(
            f"{draws} replicates do not reach the ends of a {conf_level:g} interval; take at least {least}"
        )
    estimates = np.atleast_1d(np.asarray(summary(fit), dtype=np.float64))
    if estimates.shape != (len(names),):
        raise InputError(f"the summary gives {estimates.shape} numbers, but there are {len(names)} names")
    found = replicates(_SummaryReplicate(fit, summary), draws, seed=seed, workers=workers, on_step=on_step)
    values = np.array([v for v in found if v is not None])
    notes = _failures(len(found) - len(values), len(found))
    out: list[Estimate] = []
    for j, (name, estimate) in enumerate(zip(names, estimates, strict=True)):
        own = values[:, j]
        # (B + 1) p-th value, so that the ends and the data share the unit interval equally.
        low, high = np.quantile(own, [tail, 1.0 - tail], method="weibull")
        if kind == "basic":
            low, high = 2.0 * estimate - high, 2.0 * estimate - low
        without = Estimate(
            estimate=float(estimate),
            method=f"parametric bootstrap, {kind} interval",
            conf_level=conf_level,
            n=fit.design.n_rows,
            n_resamples=len(own),
            reason=f"{name} is {estimate:.4g} in all replicates, so they do not show how uncertain it is",
            warnings=notes,
        )
        if not high > low:
            out.append(without)
            continue
        spread = float(own.std(ddof=1))
        out.append(replace(without, std_error=spread, conf_low=float(low), conf_high=float(high), reason=None))
    return tuple(out)


def contrast_summary(contrasts: ArrayLike, fit: MixedFit) -> "ContrastSummary":
    """Return the summary of contrasts of the fixed effects, ready for other processes."""
    return ContrastSummary(as_contrasts(contrasts, fit))


@dataclass(frozen=True, slots=True)
class ContrastSummary:
    """Contrasts of the fixed effects of a fit."""

    rows: Floats

    def __call__(self, fit: MixedFit) -> Floats:
        """Return L beta."""
        return self.rows @ fit.beta


def standard_deviations(fit: MixedFit) -> Floats:
    """Return the standard deviations of all random effects, term by term, then sigma for linear models."""
    out = [np.sqrt(np.diag(covariance)) for covariance in fit.covariances()]
    return np.concatenate([*out, [fit.sigma]] if fit.family == "gaussian" else out)


class _Refit:
    """Fits one model to many draws; what can be kept between them is made when first needed."""

    def __init__(self, fit: MixedFit, *, prior: bool) -> None:
        self.fit, self.prior = fit, prior
        self.again = None if fit.family == "binomial" else Refitter(fit)

    def __reduce__(self) -> tuple[Callable[[MixedFit, bool], "_Refit"], tuple[MixedFit, bool]]:
        return _made, (self.fit, self.prior)

    def __call__(self, drawn: Simulated) -> MixedFit | None:
        """Return the fit, or None where it failed: not converged, a draw that cannot be fitted, a prior that is not wanted."""
        try:
            if self.again is None:
                fit = refit_binomial(self.fit, drawn.responses[0])
            else:
                fit = self.again(drawn.responses[0], float(drawn.within[0]))
        except (EvalStatsError, np.linalg.LinAlgError, FloatingPointError):
            return None
        return fit if fit.convergence.converged and (self.prior or not fit.penalty) else None


def _made(fit: MixedFit, prior: bool) -> _Refit:  # noqa: FBT001 - what pickle calls
    return _Refit(fit, prior=prior)


class _RatioReplicate:
    def __init__(self, null: MixedFit, alternative: MixedFit) -> None:
        self.null, self.alternative = _Refit(null, prior=False), _Refit(alternative, prior=False)

    def __call__(self, rng: np.random.Generator) -> float | None:
        drawn = simulate(self.null.fit, rng)
        smaller, larger = self.null(drawn), self.alternative(drawn)
        if smaller is None or larger is None:
            return None
        try:
            return ratio_statistic(smaller, larger)
        except EvalStatsError:
            return None


class _SummaryReplicate:
    def __init__(self, fit: MixedFit, summary: Summary) -> None:
        self.refit, self.summary = _Refit(fit, prior=True), summary

    def __call__(self, rng: np.random.Generator) -> Floats | None:
        fit = self.refit(simulate(self.refit.fit, rng))
        if fit is None:
            return None
        values = np.atleast_1d(np.asarray(self.summary(fit), dtype=np.float64))
        return values if np.all(np.isfinite(values)) else None


def _failures(failed: int, total: int) -> tuple[str, ...]:
    if failed > _MOST_FAILED * total:
        raise CannotAnswerError(
            f"{failed} of {total} replicates could not be fitted (no convergence, or separation), so nothing follows from the "
            "others; simplify the random terms"
        )
    if failed == 0:
        return ()
    share = (
        " - more than 5 %, so that the result may lean to the replicates that are easy to fit"
        if failed > _MANY_FAILED * total
        else ""
    )
    return (
        f"{failed} of {total} replicates could not be fitted (no convergence, or separation) and count neither way{share}",
    )
