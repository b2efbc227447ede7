"""Designs for tests of binomial mixed models, and their likelihoods by definition: dense matrices, integrals on a grid."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import gammaln, log_expit

from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows


def codes(labels):
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)


def term(group: str, labels, *columns) -> RandomTerm:
    """A random intercept of a grouping, or the given columns of effects."""
    level = codes(labels)
    values = np.column_stack(columns) if columns else np.ones((len(level), 1))
    return RandomTerm(
        group=group,
        columns=tuple(f"x{j}" for j in range(values.shape[1])) if columns else ("(Intercept)",),
        levels=tuple(str(label) for label in np.unique(labels)),
        level=level,
        values=np.asarray(values, dtype=float),
    )


def dummies(*factors: Sequence[int]) -> np.ndarray:
    """Intercept, treatment contrasts of the factors and of their interaction where there are two in a list."""
    parts = [np.ones((len(factors[0]), 1))]
    parts += [(codes(f)[:, None] == np.arange(1, codes(f).max() + 1)).astype(float) for f in factors]
    return np.hstack(parts)


def interaction(first, second) -> np.ndarray:
    """Columns of `first * second`, the levels of `first` running fastest as in R."""
    a, b = dummies(first)[:, 1:], dummies(second)[:, 1:]
    return np.hstack([dummies(first, second), (b[:, :, None] * a[:, None, :]).reshape(len(a), -1)])


def design_of(fixed, terms, successes, trials, names=None) -> MixedDesign:
    fixed, successes, trials = (np.asarray(a, dtype=float) for a in (fixed, successes, trials))
    return MixedDesign(
        fixed=distinct_rows(fixed),
        fixed_names=tuple(names or (f"b{j}" for j in range(fixed.shape[1]))),
        terms=tuple(terms),
        count=trials,
        response=successes / trials,
        log_constant=float((gammaln(trials + 1) - gammaln(successes + 1) - gammaln(trials - successes + 1)).sum()),
    )


def reordered(design: MixedDesign, order) -> MixedDesign:
    """The same design with its cells in another order."""
    return MixedDesign(
        fixed=distinct_rows(design.fixed.at()[order]),
        fixed_names=design.fixed_names,
        terms=tuple(
            RandomTerm(group=t.group, columns=t.columns, levels=t.levels, level=t.level[order], values=t.values[order])
            for t in design.terms
        ),
        count=design.count[order],
        response=design.response[order],
        offset=None if design.offset is None else design.offset[order],
        log_constant=design.log_constant,
    )


def some_designs(seed: int = 0, n: int = 240, *, covariate: bool = False) -> Mapping[str, MixedDesign]:
    """Unbalanced designs of every kind of elimination."""
    rng = np.random.default_rng(seed)
    item, model = rng.integers(0, 20, n), rng.integers(0, 6, n)
    segment, x = item % 5, rng.normal(size=n)
    domain, one = segment % 2, np.ones(n)
    fixed = dummies(np.minimum(model, 2), domain)
    if covariate:
        fixed = np.column_stack([fixed, rng.normal(size=n)])
    cell = rng.permutation(n)
    trials = rng.integers(1, 5, n)
    successes = rng.binomial(trials, 0.6)
    terms = {
        "item": [term("item", item)],
        "item, model": [term("item", item), term("model", model)],
        "nested in nested": [term("item", item), term("segment", segment), term("domain", domain)],
        "slopes and crossed slopes": [
            term("item", item, one, x),
            term("segment", segment, one, x),
            term("model", model, one, x),
            term("model:domain", model * 2 + domain),
        ],
        "a level for each cell": [term("item", item), term("cell", cell), term("model", model)],
        "slopes for each cell": [
            term("segment", segment),
            term("item", item),
            term("cell", cell, one, x),
            term("model", model),
            term("item", item, x),
        ],
        "only a level for each cell": [term("cell", cell)],
        "crossed": [term("user", rng.integers(0, 40, n)), term("task", rng.integers(0, 30, n))],
    }
    return {name: design_of(fixed, t, successes, trials) for name, t in terms.items()}


def dense_columns(design: MixedDesign, theta) -> np.ndarray:
    """Z Lambda, a column for every random effect."""
    parts = []
    for t, factor in zip(design.terms, design.factors(theta), strict=True):
        z = np.zeros((design.n_cells, t.n_levels, t.n_columns))
        z[np.arange(design.n_cells), t.level] = t.values @ factor
        parts.append(z.reshape(design.n_cells, -1))
    return np.hstack(parts)


def log_likelihood_given(design: MixedDesign, eta) -> float:
    y, n = design.count * design.response, design.count
    return float((y * log_expit(eta) + (n - y) * log_expit(-eta)).sum())


def dense_laplace(design: MixedDesign, theta, beta) -> tuple[float, np.ndarray, np.ndarray]:
    """Laplace deviance without the constants, the spherical modes and H, from the n x q matrix."""
    a = dense_columns(design, theta)
    y, n = design.count * design.response, design.count
    base = design.fixed.at() @ beta + (0.0 if design.offset is None else design.offset)

    def criterion(u):
        return 0.5 * u @ u - log_likelihood_given(design, base + a @ u)

    u = np.zeros(a.shape[1])
    while True:
        mean = 1.0 / (1.0 + np.exp(-(base + a @ u)))
        h = a.T @ ((n * mean * (1.0 - mean))[:, None] * a) + np.eye(u.size)
        slope = u - a.T @ (y - n * mean)
        step = np.linalg.solve(h, slope)
        if slope @ step < 1e-22:
            return 2.0 * criterion(u) + float(np.linalg.slogdet(h)[1]), u, h
        part = 1.0
        while criterion(u - part * step) > criterion(u) + 1e-12:
            part /= 2.0
        u = u - part * step


def integrated_deviance(design: MixedDesign, theta: float, beta) -> float:
    """Minus twice the log-likelihood of one random intercept, by the trapezoidal rule on a fine grid for every level."""
    (t,) = design.terms
    u = np.linspace(-12.0, 12.0, 4001)
    total = 0.0
    for level in range(t.n_levels):
        at = t.level == level
        y, n = (design.count * design.response)[at], design.count[at]
        eta = (design.fixed.at()[at] @ beta)[:, None] + theta * u
        logs = (y[:, None] * log_expit(eta) + (n - y)[:, None] * log_expit(-eta)).sum(axis=0) - 0.5 * u**2
        total += np.log(np.exp(logs - logs.max()).sum() * (u[1] - u[0]) / np.sqrt(2.0 * np.pi)) + logs.max()
    return -2.0 * float(total)
