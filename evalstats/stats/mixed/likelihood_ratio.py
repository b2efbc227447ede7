"""Likelihood ratio tests of nested mixed models, by their laws or by parametric bootstrap, and bootstrap intervals."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, EvalStatsError, InputError
from evalstats.record import record
from evalstats.stats.checks import check_count, check_level
from evalstats.stats.computation import OnStep, replicates
from evalstats.stats.estimate import IntervalEstimate, positive_p
from evalstats.stats.mixed.binomial import refit_binomial
from evalstats.stats.mixed.design import Floats, MixedDesign, MixedFit
from evalstats.stats.mixed.distinct_rows import numbered
from evalstats.stats.mixed.linear import Refitter

_SAME = 1e-8  # relative: data that differ by rounding are the same
# A larger model whose criterion is lower by more than this was not maximised.
_SLACK = 1e-4
_ROUNDING = 1e-6  # maxima of two fits that are one and the same differ by less


@record
class LikelihoodRatio:
    """Twice the difference of two maximised log-likelihoods (0 or more), and its p-value, never 0.

    `df` are the degrees of freedom of the parts of the reference law, with their weights: ((1.0, 3),) is chi-squared with 3;
    ((0.5, 0), (0.5, 1)) the mixture for one variance.
    """

    statistic: float
    df: tuple[tuple[float, int], ...]
    p_value: float
    method: str
    notes: tuple[str, ...] = ()


def likelihood_ratio(null: MixedFit, alternative: MixedFit) -> LikelihoodRatio:
    """Test fixed effects by the likelihood ratio: chi-squared with as many df as fixed effects are left out.

    It needs many units: with few, its false alarms exceed the level; take `kenward_roger` or `parametric_bootstrap`.
    Pinheiro & Bates 2000, Mixed-Effects Models in S and S-PLUS, section 2.4.2.

    The fits are by ML, Laplace or quadrature to the same responses, with the same random terms; the fixed effects of `null` are
    combinations of those of `alternative`. InputError if they are not comparable: REML criteria of models with different fixed
    effects measure different things.
    """
    check_nested(null, alternative)
    if random_structure(null.design) != random_structure(alternative.design):
        raise InputError(
            "the two models have different random terms; test those with variance_ratio or a parametric bootstrap"
        )
    if alternative.method == "REML":
        raise InputError(
            "the models are fitted by REML, whose criteria cannot be compared between different fixed effects; fit both by ML"
        )
    df = len(alternative.beta) - len(null.beta)
    if df == 0:
        raise InputError("the two models have the same fixed effects; there is nothing to test")
    statistic = ratio_statistic(null, alternative)
    return LikelihoodRatio(
        statistic=statistic,
        df=((1.0, df),),
        p_value=mixture_p(statistic, ((1.0, df),)),
        method=f"likelihood ratio, chi-squared with {df} df",
    )


def mixture_p(statistic: float, df: tuple[tuple[float, int], ...]) -> float:
    """P(T >= statistic) for a mixture of chi-squared laws, of which that with 0 df is the point 0; never 0."""
    if statistic <= 0.0:
        return 1.0
    return positive_p(sum(weight * float(special.chdtrc(k, statistic)) for weight, k in df if k > 0))


def ratio_statistic(null: MixedFit, alternative: MixedFit) -> float:
    """Twice the log-likelihood ratio, 0 where the larger model is lower by rounding alone."""
    difference = 2.0 * (alternative.log_likelihood - null.log_likelihood)
    if not np.isfinite(difference):
        raise CannotAnswerError("one of the two models has no finite likelihood, so they cannot be compared")
    slack = _SLACK * max(1.0, 1e-6 * abs(null.log_likelihood))
    if difference < -slack:
        raise CannotAnswerError(
            f"the larger model has the smaller likelihood (by {-difference / 2:.3g}), so it was not fitted to its maximum "
            "or does not contain the smaller one; refit it"
        )
    return max(difference, 0.0)


def check_nested(null: MixedFit, alternative: MixedFit) -> None:
    """Raise InputError unless both are fits of one kind to the same data, the fixed part of one within that of the other."""
    if (null.family, null.method, null.n_quadrature) != (
        alternative.family,
        alternative.method,
        alternative.n_quadrature,
    ):
        raise InputError(
            f"one model is {null.family} by {null.method}, the other {alternative.family} by {alternative.method}; fit both "
            "in the same way"
        )
    if null.penalty or alternative.penalty:
        raise InputError(
            "a prior answered separation in one of the models, so their criteria are no likelihoods to compare; take the "
            "intervals of the contrasts instead"
        )
    for found, wanted in zip(_totals(null), _totals(alternative), strict=True):
        if not np.isclose(found, wanted, rtol=_SAME, atol=_SAME):
            raise InputError("the two models are fitted to different responses; fit both to the same rows")
    if np.array_equal(null.design.response, alternative.design.response):
        larger, smaller = alternative.design.fixed, null.design.fixed
        _, first = numbered((larger.of_cell.level * len(smaller.rows) + smaller.of_cell.level).astype(np.uint64))
        x, inner = larger.at(first), smaller.at(first)
        if np.array_equal(x, inner):
            return
        left = inner - x @ np.linalg.lstsq(x, inner, rcond=None)[0]
        if float(np.abs(left).max(initial=0.0)) > 1e-7 * float(np.abs(inner).max(initial=1.0)):
            raise InputError("the fixed effects of the smaller model are not all within the larger; give nested models")
    elif not set(null.design.fixed_names) <= set(alternative.design.fixed_names):
        raise InputError("the smaller model has fixed effects that the larger has not; give nested models")


def random_structure(design: MixedDesign) -> frozenset[tuple[str, tuple[str, ...]]]:
    """Return the random terms by the names of their grouping and effects."""
    return frozenset((term.group, term.columns) for term in design.terms)


def _totals(fit: MixedFit) -> tuple[float, float, float]:
    """Rows, sum, and sum of squares, none of which depends on how rows were merged to cells."""
    design = fit.design
    weighted: Floats = design.count * design.response
    if fit.family == "binomial":
        return float(design.count.sum()), float(weighted.sum()), design.log_constant
    return float(design.count.sum()), float(weighted.sum()), float(weighted @ design.response) + design.within


def variance_ratio(null: MixedFit, alternative: MixedFit) -> LikelihoodRatio:
    """Test one more random effect by the likelihood ratio and its mixture of chi-squared laws.

    Under the null one variance lies on the edge, and the statistic is 0 about half the time: half chi-squared with 0 and
    half with 1 df for a new intercept; with q new covariances besides, half with q and half with q + 1. The law holds for
    many levels; with few, the statistic is 0 more often than that and the test is cautious. Self & Liang 1987,
    doi:10.2307/2289471; Stram & Lee 1994, doi:10.2307/2533455.

    The fits are by the same method, REML or ML, with the same fixed effects; `alternative` has one more random effect: a new
    term of one column, or one more column in a term.
    """
    check_nested(null, alternative)
    if len(null.beta) != len(alternative.beta):
        raise InputError("the two models have different fixed effects; keep them equal when a variance is tested")
    covariances = _new_covariances(null.design, alternative.design)
    law = ((0.5, covariances), (0.5, covariances + 1))
    statistic = ratio_statistic(null, alternative)
    statistic = 0.0 if statistic < _ROUNDING else statistic
    return LikelihoodRatio(
        statistic=statistic,
        df=law,
        p_value=mixture_p(statistic, law),
        method=f"likelihood ratio, half chi-squared with {covariances} and half with {covariances + 1} df",
        notes=("the variance is estimated as 0",) if statistic == 0.0 else (),
    )


def _new_covariances(null: MixedDesign, alternative: MixedDesign) -> int:
    """Return how many covariances the one new random effect brings, or raise InputError."""
    grown: list[int] = []
    for group in dict.fromkeys(term.group for term in (*null.terms, *alternative.terms)):
        old, new = (Counter(t.n_columns for t in d.terms if t.group == group) for d in (null, alternative))
        before, after = list((old - new).elements()), list((new - old).elements())
        if old == new:
            continue
        if after == [1] and not before:
            grown.append(0)
        elif len(after) == len(before) == 1 and after[0] == before[0] + 1:
            grown.append(before[0])
        elif new:
            raise InputError(
                f"the random effects by {group} differ by more than one variance with its covariances; test one at a time, or "
                "take the parametric bootstrap"
            )
        else:
            grown.append(-1)  # a grouping of the smaller model that the larger has not
    if len(grown) != 1 or grown[0] < 0:
        raise InputError(
            "the larger model does not have exactly one more random effect than the smaller; test one at a time, or take "
            "the parametric bootstrap"
        )
    return grown[0]


_MANY_FAILED = 0.05  # share of failed replicates that is worth a warning
_MOST_FAILED = 0.5  # share beyond which nothing follows from the others
_TIE = 1e-9
Summary = Callable[[MixedFit], ArrayLike]


def simulate(fit: MixedFit, rng: np.random.Generator) -> tuple[Floats, float]:
    """Draw a data set of the same design from a fitted model: the response of every cell, and the squares within cells.

    Random effects are drawn anew from their estimated covariance, not kept at their predictions. Rows are not drawn: the
    mean of a cell of m rows is normal with variance sigma^2 / m, and the squares within cells are sigma^2 chi-squared.
    """
    design = fit.design
    eta = design.fixed.at_cells(fit.beta) + (0.0 if design.offset is None else design.offset)
    for term, factor in zip(design.terms, design.factors(fit.theta), strict=True):
        effects = fit.sigma * rng.standard_normal((term.n_levels, term.n_columns)) @ factor.T
        eta = eta + np.einsum("cj,cj->c", effects[term.level], term.values)
    if fit.family == "binomial":
        trials = np.round(design.count).astype(np.int64)
        return np.asarray(rng.binomial(trials, special.expit(eta)) / design.count, dtype=np.float64), 0.0
    noise = rng.standard_normal(design.n_cells) / np.sqrt(design.count)
    free = design.n_rows - design.n_cells
    within = fit.sigma**2 * float(rng.chisquare(free)) if free > 0 else 0.0
    return eta + fit.sigma * noise, within


@record
class BootstrapRatio:
    """A likelihood ratio test whose law was drawn from the smaller model.

    `statistic` is twice the log-likelihood ratio of the data, `draws` those of the replicates that could be fitted, in order;
    `p_value` is (1 + draws that reach it) / (1 + draws), never 0. The `n_failed` replicates whose fit failed count neither way.
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

    `null` and `alternative` are fits to the same cells in the same order (see `null_design`), by ML, Laplace or quadrature; by
    REML where the fixed effects are the same. The p-value is at least 1 / (1 + n_resamples), with a standard error of sqrt(p (1
    - p) / n_resamples); it depends on the seed alone, not on the number of processes (`workers`). `on_step` is called with the
    number of replicates done and their total. InputError if the two fits cannot be compared, CannotAnswerError if more than
    half of the replicates could not be fitted. Halekoh & Hojsgaard 2014, doi:10.18637/jss.v059.i09 (PBmodcomp).
    """
    check_nested(null, alternative)
    if not np.array_equal(null.design.response, alternative.design.response):
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

    `contrasts`, shape (n_contrasts, n_fixed), are combinations of the fixed effects that are 0 in the smaller model; `terms`
    positions of the random terms that it keeps, all if None.
    """
    kept = design.terms if terms is None else tuple(design.terms[t] for t in terms)
    if contrasts is None:
        return replace(design, terms=kept)
    rows = np.atleast_2d(np.asarray(contrasts, dtype=np.float64))
    named = (rows != 0.0).any(axis=0)
    if np.linalg.matrix_rank(rows) == np.count_nonzero(named):  # whole columns are left out
        names = tuple(name for name, out in zip(design.fixed_names, named.tolist(), strict=True) if not out)
        return replace(design, fixed=design.fixed.replaced(design.fixed.rows[:, ~named]), fixed_names=names, terms=kept)
    _, values, right = np.linalg.svd(rows)
    basis = right[int(np.count_nonzero(values > 1e-10 * values[0])) :].T
    names = tuple(f"combination {j + 1}" for j in range(basis.shape[1]))
    return replace(design, fixed=design.fixed.replaced(design.fixed.rows @ basis), fixed_names=names, terms=kept)


def bootstrap_intervals(
    fit: MixedFit,
    summary: Summary,
    *,
    names: Sequence[str],
    n_resamples: int = 1000,
    seed: int = 0,
    conf_level: float = 0.95,
    workers: int | None = None,
    on_step: OnStep | None = None,
) -> tuple[IntervalEstimate, ...]:
    """Percentile intervals for functions of a fit, such as variances, intraclass correlations or contrasts.

    Data are drawn from the fit with new random effects, and the model is fitted to each. The intervals stay within the range of
    the quantity, so they suit variances and correlations; `std_error` is the standard deviation of the replicates. A number that
    is the same in all replicates has no interval, and says so. Davison & Hinkley 1997, Bootstrap Methods and their Application,
    section 5.2.

    `summary` takes a fit and returns numbers, which `names` names; it is defined at the top of a module where several processes
    are to be used.
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
    found = replicates(_SummaryReplicate(fit, summary), draws, seed=seed, workers=workers, on_step=on_step)
    values = np.array([v for v in found if v is not None])
    notes = _failures(len(found) - len(values), len(found))
    out: list[IntervalEstimate] = []
    for j, (name, estimate) in enumerate(zip(names, estimates, strict=True)):
        own = values[:, j]
        # (B + 1) p-th value, so that the ends and the data share the unit interval equally.
        low, high = np.quantile(own, [tail, 1.0 - tail], method="weibull")
        without = IntervalEstimate(
            estimate=float(estimate),
            method="parametric bootstrap, percentile interval",
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


def standard_deviations(fit: MixedFit) -> Floats:
    """Return the standard deviations of all random effects, term by term, then sigma for linear models."""
    out = [np.sqrt(np.diag(covariance)) for covariance in fit.covariances()]
    return np.concatenate([*out, [fit.sigma]] if fit.family == "gaussian" else out)


class _Refit:
    """Fits one model to many draws; what can be kept between them is made when first needed."""

    def __init__(self, fit: MixedFit, *, prior: bool) -> None:
        self.fit, self.prior = fit, prior
        self.again = None if fit.family == "binomial" else Refitter(fit)

    def __reduce__(self) -> tuple[Callable[..., "_Refit"], tuple[MixedFit]]:
        return partial(_Refit, prior=self.prior), (self.fit,)

    def __call__(self, response: Floats, within: float) -> MixedFit | None:
        """Return the fit, or None where it failed: not converged, a draw that cannot be fitted, a prior that is not wanted."""
        try:
            fit = refit_binomial(self.fit, response) if self.again is None else self.again(response, within)
        except (EvalStatsError, np.linalg.LinAlgError, FloatingPointError):
            return None
        return fit if fit.convergence.converged and (self.prior or not fit.penalty) else None


class _RatioReplicate:
    def __init__(self, null: MixedFit, alternative: MixedFit) -> None:
        self.null, self.alternative = _Refit(null, prior=False), _Refit(alternative, prior=False)

    def __call__(self, rng: np.random.Generator) -> float | None:
        drawn = simulate(self.null.fit, rng)
        smaller, larger = self.null(*drawn), self.alternative(*drawn)
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
        fit = self.refit(*simulate(self.refit.fit, rng))
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
    lean = " - more than 5 %, so that the result may lean to the replicates that are easy to fit"
    share = lean if failed > _MANY_FAILED * total else ""
    return (
        f"{failed} of {total} replicates could not be fitted (no convergence, or separation) and count neither way{share}",
    )
