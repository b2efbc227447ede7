"""From the optimum of a binomial mixed model to its fit: uncertainty, conditional modes, what must be said."""

import numpy as np
from scipy import linalg

from evalstats.stats.mixed.binomial_optimum import Optimum
from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.fit import Convergence, Method, MixedFit
from evalstats.stats.mixed.laplace_inverse import invert
from evalstats.stats.mixed.laplace_modes import Cells, Modes, find_modes

LARGE = 10.0  # logits: no grouping of real outcomes has such a standard deviation


def make_fit(cells: Cells, optimum: Optimum, n_quadrature: int, penalty: str, warnings: tuple[str, ...]) -> MixedFit:
    """Put a fit together from where the search ended: uncertainty, modes, and an account in words."""
    design, point = cells.design, optimum.point
    method: Method = "nAGQ=0" if n_quadrature == 0 else "Laplace" if n_quadrature == 1 else "AGHQ"
    modes = find_modes(cells, point.theta, point.beta, point.effects)
    given_theta = linalg.inv(cells.fixed_precision(modes))
    joint, curvature = _joint_covariance(optimum)
    k = design.n_theta
    problems = list(warnings)
    settled = optimum.settled
    if optimum.hessian is not None and joint is None:
        settled = False
        problems.append("the Hessian at the end is not positive definite; standard errors are those given theta")
    gradient = point.gradient[~optimum.held] if n_quadrature == 0 else _free_gradient(optimum)
    if not settled:
        left = f"could still fall by about {optimum.fall:.2g}" if np.isfinite(optimum.fall) else "is not at a minimum"
        problems.append(
            f"the fit did not converge: after {optimum.n_evaluations} evaluations the deviance {left}; "
            "simplify the random effects"
        )
    problems += _too_large(design, point.theta)
    effects, covariances = _effects(cells, modes)
    return MixedFit(
        family="binomial",
        method=method,
        design=design,
        theta=point.theta,
        sigma=1.0,
        beta=point.beta,
        covariance=given_theta if joint is None else joint[k:, k:],
        # Of the data alone: what a prior adds would not be the same in a model without the separated cells.
        log_likelihood=design.log_constant - 0.5 * point.deviance - cells.pseudo.log_likelihood(point.beta),
        effects=effects,
        effect_covariances=covariances,
        convergence=Convergence(
            converged=settled,
            message="converged" if settled else "did not converge",
            n_evaluations=optimum.n_evaluations,
            gradient=float(np.abs(gradient).max(initial=0.0)),
            curvature=curvature,
        ),
        n_quadrature=n_quadrature,
        joint_covariance=joint,
        singular=_singular(design, point.theta),
        penalty=penalty,
        warnings=tuple(problems),
    )


def _free_gradient(optimum: Optimum) -> Floats:
    k = optimum.held.size
    return np.concatenate([optimum.point.gradient[:k][~optimum.held], optimum.point.gradient[k:]])


def _joint_covariance(optimum: Optimum) -> tuple[Floats | None, float | None]:
    """Twice the inverse of the Hessian of the deviance, 0 for what is held; None where it is not positive definite."""
    if optimum.hessian is None:
        return None, None
    curvature = float(np.linalg.eigvalsh(optimum.hessian)[0])
    if not curvature > 0.0:
        return None, curvature
    size = optimum.held.size + optimum.point.beta.size
    free = np.flatnonzero(np.concatenate([~optimum.held, np.ones(optimum.point.beta.size, dtype=bool)]))
    out = np.zeros((size, size))
    out[np.ix_(free, free)] = 2.0 * linalg.inv(optimum.hessian)
    return out, curvature


def _singular(design: MixedDesign, theta: Floats) -> tuple[str, ...]:
    out: list[str] = []
    for term, factor in zip(design.terms, design.factors(theta), strict=True):
        spread = np.sqrt((factor**2).sum(axis=1))
        zero = [name for name, size in zip(term.columns, spread, strict=True) if size == 0.0]
        if term.n_columns == 1 and zero:
            what = "" if term.is_intercept else f" of {term.columns[0]}"
            out.append(f"the variance{what} of {term.group} is estimated as 0")
        elif zero:
            out.append(f"the variance of {', '.join(zero)} of {term.group} is estimated as 0")
        elif (np.diag(factor) == 0.0).any():
            out.append(f"the effects of {term.group} are estimated as perfectly correlated")
    return tuple(out)


def _too_large(design: MixedDesign, theta: Floats) -> list[str]:
    out: list[str] = []
    for term, factor in zip(design.terms, design.factors(theta), strict=True):
        largest = float(np.sqrt((factor**2).sum(axis=1)).max())
        if largest > LARGE and term.is_intercept:
            out.append(
                f"the standard deviation of {term.group} is estimated as {largest:.3g} logits, as where it runs to infinity: "
                "nearly all of its levels have only successes or only failures, and the estimate says no more than that"
            )
    return out


def _effects(cells: Cells, modes: Modes) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Conditional modes and covariances of every term, on the logit scale."""
    inverse = invert(modes.elimination)
    found: dict[int, tuple[Floats, Floats]] = {}
    for b, block in enumerate(cells.plan.blocks):
        factor = modes.elimination.factors[b]
        effects = factor @ modes.effects[b]
        spread = np.einsum("ik,klm,jl->mij", factor, inverse.blocks[b], factor)
        first = 0
        if block.given is not None:  # the levels of a leaf are numbered as the cells are
            back = np.argsort(block.given, kind="stable")
            effects, spread = effects[:, back], spread[back]
        for term in block.terms:
            last = first + cells.design.terms[term].n_columns
            found[term] = (effects[first:last].T.copy(), spread[:, first:last, first:last].copy())
            first = last
    terms = range(len(cells.design.terms))
    return tuple(found[t][0] for t in terms), tuple(found[t][1] for t in terms)
