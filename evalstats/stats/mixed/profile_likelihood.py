"""Profile likelihood intervals of mixed models: variances, correlations, and contrasts of the fixed effects."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import check_level
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.mixed.degrees_of_freedom import as_contrasts, variance_parameters
from evalstats.stats.mixed.design import Floats, MixedDesign, MixedFit
from evalstats.stats.mixed.laplace import BinomialCells, laplace, quadrature
from evalstats.stats.mixed.likelihood_ratio import null_design
from evalstats.stats.mixed.linear import LinearCriterion, fit_linear

_STEP = 1e-6
Surface = Callable[[Floats], tuple[float, Floats]]  # deviance and gradient
_PRECISE = 1e-6  # of the end of an interval, relative to its distance from the estimate
_SLACK = 1e-2  # a profile that falls below the minimum by more shows that the fit was none
_FLAT = 1e-2  # largest slope of the deviance by a standard error at the end of a search
_VANISHED = 1e-3  # relative to where the search began
_FARTHEST_STEPS = 60  # each longer than the one before, after which a profile is called flat


@record
class VarianceTarget:
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
                factor[self.other] = -factor[self.other]
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


def variance_targets(fit: MixedFit) -> list[VarianceTarget]:
    """Return all standard deviations and correlations, term by term, and sigma where there is one."""
    out: list[VarianceTarget] = []
    for t, term in enumerate(fit.design.terms):
        for row, name in enumerate(term.columns):
            out.append(VarianceTarget(name=f"sd of {name} by {term.group}", kind="sd", term=t, row=row))
            out += [
                VarianceTarget(
                    name=f"correlation of {other} and {name} by {term.group}",
                    kind="correlation",
                    term=t,
                    row=row,
                    other=k,
                )
                for k, other in enumerate(term.columns[:row])
            ]
    if fit.family == "gaussian":
        out.append(VarianceTarget(name="sigma", kind="sigma"))
    return out


def _unit(row: Floats) -> Floats:
    """Return the row with length 1; a row of zeros, which has no direction, along its last axis."""
    length = float(np.linalg.norm(row))
    if length > 0.0:
        return row / length
    out = np.zeros_like(row)
    out[-1] = 1.0
    return out


@record
class ProfileInterval:
    """A profile likelihood interval of the quantity `name`; `notes` say what lies on the boundary.

    `estimate` is by maximum likelihood, also where the fit was by REML. An end is None where the quantity does not exist or the
    profile never rises far enough, and `notes` say why.
    """

    name: str
    estimate: float | None
    conf_low: float | None
    conf_high: float | None
    conf_level: float
    notes: tuple[str, ...] = ()


def profile(
    fit: MixedFit,
    *,
    names: Sequence[str] | None = None,
    contrasts: ArrayLike | None = None,
    conf_level: float = 0.95,
    on_step: Callable[[int, int], None] | None = None,
) -> tuple[ProfileInterval, ...]:
    """Intervals of all values that a likelihood ratio test does not reject.

    For each value of one quantity the deviance is minimised over all others; the interval holds the values whose minimum
    exceeds the least one by no more than the quantile of chi-squared with 1 df. Unlike an estimate give or take standard
    errors it need not be symmetric, which matters for variances of few units. Ends are approximate where the true value
    lies on the boundary (they are too wide then).

    `fit` is linear (the likelihood is profiled, also after REML, as lme4 does), or by Laplace or quadrature. `names` are those
    of variance parameters, such as "sd of (Intercept) by item", "correlation of (Intercept) and x by item" or "sigma"; None for
    all. `contrasts`, shape (n_contrasts, n_fixed), are combinations of the fixed effects, which follow them. `on_step` is
    called with the number of intervals done and their total. Bates et al. 2015, doi:10.18637/jss.v067.i01, section 5.1; Venzon
    & Moolgavkar 1988, doi:10.2307/2347496.
    """
    check_level(conf_level)
    if fit.method == "nAGQ=0" or fit.penalty:
        what = "has a prior against separation" if fit.penalty else "is a rough fit with n_quadrature=0"
        raise InputError(f"the model {what}, so there is no likelihood to profile; take bootstrap_intervals")
    best = fit_linear(fit.design, reml=False, start=fit.theta) if fit.method == "REML" else fit
    targets = variance_targets(best)
    known = [target.name for target in targets]
    for name in names or ():
        if name not in known:
            raise InputError(f"there is no variance parameter {name!r}; give some of {', '.join(known)}")
    chosen = targets if names is None else [target for target in targets if target.name in names]
    rows = np.zeros((0, len(fit.beta))) if contrasts is None else as_contrasts(contrasts, fit)
    out: list[ProfileInterval] = []
    for target in chosen:
        out.append(_variance_interval(best, target, conf_level))
        if on_step is not None:
            on_step(len(out), len(chosen) + len(rows))
    for row in rows:
        out.append(_contrast_interval(best, row, conf_level))
        if on_step is not None:
            on_step(len(out), len(chosen) + len(rows))
    return tuple(out)


def _variance_interval(fit: MixedFit, target: VarianceTarget, conf_level: float) -> ProfileInterval:
    estimate = target.value(fit)
    if math.isnan(estimate):
        reason = "one of the two variances is estimated as 0, so they have no correlation"
        return ProfileInterval(
            name=target.name, estimate=None, conf_low=None, conf_high=None, conf_level=conf_level, notes=(reason,)
        )
    surface, n = _surface(fit), len(fit.theta) + 1

    def held(value: float) -> Surface:
        def constrained(x: Floats) -> tuple[float, Floats]:
            deviance, gradient = surface(np.append(target.held(fit.design, x[:n], value), x[n:]))
            back = target.jacobian(fit.design, x[:n], value).T @ gradient[:n]
            return deviance, np.append(back, gradient[n:])

        return constrained

    best = np.concatenate([fit.theta, [math.log(fit.sigma)], fit.beta if fit.family == "binomial" else []])
    # A root of the covariance of the parameters of `surface`: along its columns they vary independently.
    gaussian = fit.family == "gaussian"
    spread = _root(variance_parameters(fit).covariance, None) if gaussian else _root(_joint(fit), len(fit.theta))
    start, spread = _away_from_zero(fit, best, spread)
    walk = _Profile(held, start=start, spread=spread, least=surface(best)[0], what=target.name)
    if target.kind == "correlation":
        step = 0.1
    elif target.kind == "sigma":
        step = estimate / math.sqrt(2.0 * fit.design.n_rows)
    else:
        step = 0.15 * max(estimate, float(fit.sigma * _sizes(fit.design)[target.term]))
    return _interval(walk, estimate, step=step, bounds=target.bounds, conf_level=conf_level)


def _contrast_interval(fit: MixedFit, row: Floats, conf_level: float) -> ProfileInterval:
    """Profile row beta: beta = value row / (row'row) + rest, and the rest is free where row rest = 0."""
    design = fit.design
    smaller = null_design(design, contrasts=row)
    direction = design.fixed.at_cells(row) / float(row @ row)
    offset = np.zeros(design.n_cells) if design.offset is None else design.offset
    estimate = float(row @ fit.beta)
    single = np.count_nonzero(row) == 1 and row.max() == 1.0
    name = design.fixed_names[int(np.argmax(row))] if single else "contrast"
    best = np.append(fit.theta, math.log(fit.sigma))
    if fit.family == "gaussian":
        spread = _root(variance_parameters(fit).covariance, None)
        criterion = LinearCriterion(smaller, reml=False)

        def held(value: float) -> Surface:
            criterion.set_response(design.response - value * direction, design.within)
            return lambda x: _with_sigma(criterion, x)

        least = _surface(fit)(best)[0]
    else:
        inner = smaller.fixed.at()
        first_guess = np.linalg.lstsq(inner, design.fixed.at_cells(fit.beta) - estimate * direction, rcond=None)[0]
        onto = np.linalg.lstsq(inner, design.fixed.at(), rcond=None)[0]
        turn = np.zeros((len(best) + len(first_guess), len(best) + len(fit.beta)))
        turn[: len(best), : len(best)], turn[len(best) :, len(best) :] = np.eye(len(best)), onto
        spread = _root(turn @ _joint(fit) @ turn.T, len(fit.theta))
        least = _surface(fit)(np.append(best, fit.beta))[0]
        best = np.append(best, first_guess)

        def held(value: float) -> Surface:
            return _surface(replace(fit, design=replace(smaller, offset=offset + value * direction)))

    start, spread = _away_from_zero(fit, best, spread)
    walk = _Profile(held, start=start, spread=spread, least=least, what=name)
    step = math.sqrt(float(row @ fit.covariance @ row))
    return _interval(walk, estimate, step=step, bounds=(-math.inf, math.inf), conf_level=conf_level)


class _Profile:
    """The profile: the root of how far the deviance lies above its minimum, with all other parameters at their best."""

    def __init__(
        self, held: Callable[[float], Surface], *, start: Floats, spread: Floats, least: float, what: str
    ) -> None:
        self.held, self.start, self.spread, self.least, self.what = held, start, spread, least, what
        self.at, self.known = start, dict[float, float]()

    def back(self) -> None:
        """Begin again at the estimates."""
        self.at = self.start

    def __call__(self, value: float) -> float:
        """Return the root for one value, beginning from where the last search ended, or else from the estimates."""
        if value not in self.known:
            surface = self.held(value)
            above, at, good = self._search(surface, self.at)
            if not good and self.at is not self.start:
                above, at, good = min((above, at, good), self._search(surface, self.start), key=lambda found: found[0])
            if good:
                self.at = at
            if above < -_SLACK:
                raise CannotAnswerError(
                    f"the deviance falls by {-above:.3g} below that of the fit where {self.what} is {value:.4g}: the fit is not "
                    "at its maximum; refit it from another start"
                )
            self.known[value] = math.sqrt(max(above, 0.0))
        return self.known[value]

    def _search(self, surface: Surface, origin: Floats) -> tuple[float, Floats, bool]:
        """Return the least deviance above that of the fit, where it is, and whether to go on from there.

        Not so where the search has not ended, nor where a variance became 0, which is stationary by symmetry.
        """

        def scaled(z: Floats) -> tuple[float, Floats]:
            try:
                deviance, gradient = surface(origin + self.spread @ z)
            except CannotAnswerError:  # a step far out, where there is no residual variance
                return 1e6, np.zeros_like(z)
            return deviance - self.least, self.spread.T @ gradient

        found = optimize.minimize(
            scaled, np.zeros(self.spread.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-4, "maxiter": 500}
        )
        at = origin + self.spread @ found.x
        flat = float(np.abs(found.jac).max(initial=0.0)) < _FLAT
        return float(found.fun), at, flat and not bool(np.any(np.abs(at) < _VANISHED * np.abs(self.start)))


def _interval(
    walk: _Profile, estimate: float, *, step: float, bounds: tuple[float, float], conf_level: float
) -> ProfileInterval:
    name = walk.what
    quantile = normal_quantile(conf_level)
    ends: list[float | None] = []
    notes: list[str] = []
    for bound, side in zip(bounds, ("lower", "upper"), strict=True):
        walk.back()
        end = _end(walk, estimate, step, bound, quantile)
        ends.append(end)
        if end is None:
            notes.append(f"the {side} end was not found: the deviance hardly rises with {name}")
        elif end == bound:
            notes.append(f"the {side} end is the bound {bound:g}")
    low, high = ends
    return ProfileInterval(
        name=name, estimate=estimate, conf_low=low, conf_high=high, conf_level=conf_level, notes=tuple(notes)
    )


def _end(walk: _Profile, estimate: float, step: float, bound: float, quantile: float) -> float | None:
    """Return where the profile reaches the quantile, or the bound if it does not before that."""
    guess = math.copysign(step * quantile, bound - estimate)
    inside, outside = estimate, estimate + guess
    for _ in range(_FARTHEST_STEPS):
        if guess * (outside - bound) >= 0.0:
            outside = bound
        if inside == bound or (outside == bound and walk(bound) <= quantile):
            return bound
        if walk(outside) > quantile:
            break
        guess = 1.6 * (outside - inside)
        inside, outside = outside, outside + guess
    else:
        return None
    precise = _PRECISE * abs(outside - estimate)
    return float(optimize.brentq(lambda value: walk(value) - quantile, inside, outside, xtol=precise))


def _surface(fit: MixedFit) -> Surface:
    """Return the deviance by (theta, log sigma), and beta for the binomial family, whose log sigma stays 0."""
    n = len(fit.theta)
    if fit.family == "gaussian":
        return partial(_with_sigma, LinearCriterion(fit.design, reml=False))
    cells = BinomialCells(fit.design)
    criterion = laplace if fit.n_quadrature == 1 else partial(quadrature, n_points=fit.n_quadrature)

    def binomial(x: Floats) -> tuple[float, Floats]:
        point = criterion(cells, x[:n], x[n + 1 :], cells.no_effects())
        return point.deviance, np.concatenate([point.gradient[:n], [0.0], point.gradient[n:]])

    return binomial


def _with_sigma(criterion: LinearCriterion, x: Floats) -> tuple[float, Floats]:
    theta, sigma = x[:-1], math.exp(float(x[-1]))
    gradient = criterion.gradient_at(theta, sigma)
    gradient[-1] *= sigma
    return criterion.deviance_at(theta, sigma), gradient


def _joint(fit: MixedFit) -> Floats:
    """Covariance of (theta, log sigma, beta) of a binomial fit; log sigma does not vary."""
    n, p = len(fit.theta), len(fit.beta)
    out = np.zeros((n + 1 + p, n + 1 + p))
    free = np.delete(np.arange(n + 1 + p), n)
    if fit.joint_covariance is not None:
        out[np.ix_(free, free)] = fit.joint_covariance
    else:
        out[n + 1 :, n + 1 :] = fit.covariance
    return out


def _root(covariance: Floats, fixed: int | None) -> Floats:
    """Return a root of the covariance, with a small variance for what is held at 0 and none for `fixed`."""
    root = np.asarray(np.linalg.cholesky(covariance + 1e-8 * np.eye(len(covariance))), dtype=np.float64)
    if fixed is not None:
        root[fixed] = 0.0
    return root


def _sizes(design: MixedDesign) -> Floats:
    """For each term the relative standard deviation whose share of the deviance is like that of the residual."""
    return np.array([math.sqrt(t.n_levels / float(design.count @ (t.values**2).mean(axis=1))) for t in design.terms])


def _away_from_zero(fit: MixedFit, start: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Leave a variance of 0, where the deviance is flat by symmetry."""
    by_term = zip(fit.design.terms, _sizes(fit.design), strict=True)
    sizes = np.concatenate([np.full(term.n_theta, size) for term, size in by_term])
    diagonal = np.concatenate([np.equal(*np.triu_indices(term.n_columns)) for term in fit.design.terms])
    n = len(sizes)
    start, spread = start.copy(), spread.copy()
    flat = diagonal & (np.abs(start[:n]) < 0.05 * sizes)
    start[:n] = np.where(flat, 0.1 * sizes, start[:n])
    at = np.flatnonzero(flat)
    spread[at, at] = np.maximum(spread[at, at], 0.1 * sizes[at])
    return start, spread
