"""Mixed models by their definitions: V is formed, nothing is eliminated. For comparison in tests."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import optimize

from evalstats.stats.mixed.design import Convergence, MixedDesign, MixedFit, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def golden_cases():
    return json.loads((GOLDEN / "mixed_inference.json").read_text())


def term(group, labels, *columns):
    """`columns` are pairs (name, values); none is a plain intercept."""
    levels, code = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    columns = columns or (("(Intercept)", np.ones(len(code))),)
    return RandomTerm(
        group=group,
        columns=tuple(name for name, _ in columns),
        levels=tuple(levels.tolist()),
        level=code.astype(np.int64),
        values=np.column_stack([values for _, values in columns]),
    )


def dummies(labels):
    """Treatment contrasts: one column for each level but the first."""
    return [(str(level), (np.asarray(labels) == level) * 1.0) for level in np.unique(labels)[1:]]


def rows_design(fixed, terms, response, *, merge=False, **more):
    """A design with a cell for each row, or with equal rows merged."""
    x = np.column_stack([values for _, values in fixed])
    names = tuple(name for name, _ in fixed)
    response = np.asarray(response, dtype=float)
    n = len(response)
    design = MixedDesign(
        fixed=distinct_rows(x), fixed_names=names, terms=tuple(terms), count=np.ones(n), response=response, **more
    )  # fmt: skip
    return merged(design) if merge else design


def merged(design):
    key = np.column_stack([design.fixed.at()] + [t.level for t in design.terms] + [t.values for t in design.terms])
    _, first, code = np.unique(key, axis=0, return_index=True, return_inverse=True)
    code = code.ravel()
    count = np.bincount(code).astype(float)
    mean = np.bincount(code, weights=design.response) / count
    terms = tuple(
        RandomTerm(group=t.group, columns=t.columns, levels=t.levels, level=t.level[first], values=t.values[first])
        for t in design.terms
    )
    return MixedDesign(
        fixed=distinct_rows(design.fixed.at()[first]),
        fixed_names=design.fixed_names,
        terms=terms,
        count=count,
        response=mean,
        within=float(((design.response - mean[code]) ** 2).sum()),
    )


def random_matrices(design):
    """Z of each term and column, dense: a list of lists of (n_cells, n_levels) matrices."""
    out = []
    for t in design.terms:
        indicator = np.eye(t.n_levels)[t.level]
        out.append([indicator * t.values[:, [c]] for c in range(t.n_columns)])
    return out


def derivatives(design):
    """dV / d psi for each entry of each lower triangle, column by column, then for sigma^2; one cell is one row."""
    out = []
    for columns in random_matrices(design):
        for b in range(len(columns)):
            for a in range(b, len(columns)):
                half = columns[a] @ columns[b].T
                out.append(half if a == b else half + half.T)
    return [*out, np.eye(design.n_cells)]


def relative_covariance(design, theta):
    v = np.eye(design.n_cells)
    for columns, factor in zip(random_matrices(design), design.factors(np.asarray(theta, float)), strict=True):
        covariance = factor @ factor.T
        for a, left in enumerate(columns):
            for b, right in enumerate(columns):
                v = v + covariance[a, b] * left @ right.T
    return v


def deviance(design, theta, sigma, *, restricted):
    """Minus twice the (restricted) log-likelihood at its best beta; the design has a cell for each row."""
    n, p = design.fixed.at().shape
    v = sigma**2 * relative_covariance(design, theta)
    inverse = np.linalg.inv(v)
    information = design.fixed.at().T @ inverse @ design.fixed.at()
    beta = np.linalg.solve(information, design.fixed.at().T @ inverse @ design.response)
    e = design.response - design.fixed.at() @ beta
    value = n * np.log(2 * np.pi) + np.linalg.slogdet(v)[1] + e @ inverse @ e
    if restricted:
        value += np.linalg.slogdet(information)[1] - p * np.log(2 * np.pi)
    return value


def fit_at(design, theta, sigma, *, method="REML"):
    """The fit that has the given variances: beta and its covariance by generalised least squares."""
    theta = np.asarray(theta, dtype=float).reshape(-1)
    v = relative_covariance(design, theta) - np.eye(design.n_cells) + np.diag(1.0 / design.count)
    inverse = np.linalg.inv(v)
    covariance = sigma**2 * np.linalg.inv(design.fixed.at().T @ inverse @ design.fixed.at())
    beta = covariance @ design.fixed.at().T @ inverse @ design.response / sigma**2
    return MixedFit(
        family="gaussian",
        method=method,
        design=design,
        theta=theta,
        sigma=float(sigma),
        beta=beta,
        covariance=covariance,
        log_likelihood=float("nan"),
        effects=(),
        effect_covariances=(),
        convergence=Convergence(converged=True, message="given", n_evaluations=0),
    )


def golden_design(name, case, *, merge=False):
    """The design of a section of mixed_inference.json, terms in lme4's order of theta."""
    data = {key: np.asarray(values) for key, values in case["data"].items()}
    ones = ("(Intercept)", np.ones(len(next(iter(data.values())))))
    if name.startswith(("sleepstudy", "robust_sleepstudy")):
        days = ("days", data["days"].astype(float))
        fixed, response = [ones, days], data["reaction"]
        if "uncorrelated" in name:
            terms = [term("subject", data["subject"]), term("subject", data["subject"], days)]
        else:
            terms = [term("subject", data["subject"], ones, days)]
    elif name == "penicillin":
        fixed, response = [ones, *dummies(data["lab"])], data["diameter"]
        terms = [term("plate", data["plate"]), term("sample", data["sample"])]
    elif name in ("pastes", "rlrt"):
        fixed, response = [ones, *dummies(data["cask"])], data["strength"]
        terms = [term("sample", data["sample"]), term("batch", data["batch"])]
    else:
        fixed, response = [ones, *dummies(data["model"])], data["score"]
        groups = {"item": data["item"]}
        both = np.char.add(np.char.add(data["model"], ":"), data.get("scenario", data["item"]))
        if name in ("crossed", "robust_scenarios"):
            groups |= {"model:scenario": both, "scenario": data["scenario"]}
        elif name == "boundary":
            groups = {"model:item": both, "item": data["item"]}
        if name.startswith("robust"):
            (kind,) = dummies(data["kind"])
            fixed.append(kind)
            if name == "robust_scenarios":
                fixed += [(f"{m}:{kind[0]}", x * kind[1]) for m, x in fixed[1:4]]
        terms = [term(group, labels) for group, labels in groups.items()]
    return rows_design(fixed, terms, response, merge=merge)


def numeric_gradient(function, at, step=1e-4):
    """Central differences with one step of Richardson's extrapolation."""
    at = np.asarray(at, dtype=float)

    def difference(h):
        return np.array([(function(at + h * e) - function(at - h * e)) / (2 * h) for e in np.eye(len(at))])

    return (4 * difference(step) - difference(2 * step)) / 3


def fit_dense(design, *, method="REML"):
    """Maximise the likelihood itself; slow, for a few hundred rows with a cell each."""
    n, p = design.fixed.at().shape
    free = n - p if method == "REML" else n

    def profiled(theta):
        v = relative_covariance(design, theta)
        inverse = np.linalg.inv(v)
        e = design.response - design.fixed.at() @ fit_at(design, theta, 1.0).beta
        sigma = np.sqrt(e @ inverse @ e / free)
        return deviance(design, theta, sigma, restricted=method == "REML"), sigma

    lower = [0.0 if a == b else None for t in design.terms for b in range(t.n_columns) for a in range(b, t.n_columns)]
    start = np.array([0.0 if low is None else 1.0 for low in lower])
    found = optimize.minimize(
        lambda theta: profiled(theta)[0], start, bounds=[(low, None) for low in lower], tol=1e-12, method="L-BFGS-B"
    )
    value, sigma = profiled(found.x)
    return replace(fit_at(design, found.x, sigma, method=method), log_likelihood=-value / 2)
