"""`mixed()`: a mixed model in lme4's notation on any table, by our engine or, as a cross-check, by statsmodels."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy import linalg

from evalstats.analysis.mixed.frame import ModelFrame, model_frame
from evalstats.analysis.mixed.inference import DfChoice, FittedModel, Inference, choose_inference, term_tests
from evalstats.analysis.mixed.result import FixedEffect, MixedModel, VarianceComponent
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Origin, finite
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import check_level
from evalstats.stats.mixed.design import (
    Convergence,
    Family,
    Floats,
    Ints,
    MixedDesign,
    MixedFit,
    RandomTerm,
    lower_entries,
)

MOST_ROWS = 3000
MOST_EFFECTS = 600
_ZERO = 1e-4  # relative standard deviation below which statsmodels' answer is called a boundary
Backend = Literal["evalstats", "statsmodels"]
LOGISTIC_VARIANCE = math.pi**2 / 3.0
_METHODS = {
    "residual": "t",
    "kenward-roger": "t (Kenward-Roger)",
    "satterthwaite": "t (Satterthwaite)",
    "between-within": "t (between-within)",
    "z": "z",
}


def fit_statsmodels(frame: ModelFrame, *, reml: bool = True) -> MixedFit:
    """Fit a small linear mixed model by statsmodels' MixedLM.

    Crossed and nested groupings are variance components of one group that holds all rows; correlated slopes are taken where
    one grouping is all there is. It is dense: its cost grows with the cube of the number of random effects. `InputError` for a
    binomial or too large a model, or correlated slopes beside another grouping; `CannotAnswerError` where statsmodels gives up.
    """
    design = frame.design
    _check(frame)
    # Rows that stand for the cells, and the cell of each. The likelihood hangs on the spread inside cells only through its sum,
    # so all of it goes to one cell of several rows.
    at = np.repeat(np.arange(design.n_cells), design.count.astype(np.int64))
    y = design.response[at].copy()
    if design.within > 0.0:
        two = np.flatnonzero(at == int(np.argmax(np.bincount(at) > 1)))[:2]
        y[two] += math.sqrt(design.within / 2.0) * np.array([1.0, -1.0])
    x = design.fixed[at]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = _by_statsmodels(design, y, x, at, reml=reml)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise CannotAnswerError(
                f"statsmodels could not fit this model: {error}; use backend='evalstats'"
            ) from error
    scale = float(result.scale)
    sigma = math.sqrt(scale)
    if _is_correlated(design):
        # A triangular root also where the covariance is singular: QR of a square root.
        values, vectors = np.linalg.eigh(np.asarray(result.cov_re, dtype=np.float64) / scale)
        root = np.asarray(linalg.qr((vectors * np.sqrt(values.clip(min=0.0))).T)[1]).T
        root = root * np.where(np.diag(root) < 0.0, -1.0, 1.0)
        theta = np.asarray(root[lower_entries(len(root))], dtype=np.float64)
    else:
        theta = np.sqrt(np.maximum(result.vcomp, 0.0) / scale)
    beta = np.asarray(result.fe_params, dtype=np.float64)
    covariance = np.asarray(result.cov_params(), dtype=np.float64)[: len(beta), : len(beta)]
    effects, spreads = _effects(design, theta, sigma, beta)
    converged = bool(result.converged)
    message = "converged by statsmodels' account" if converged else "statsmodels reports no convergence"
    said = dict.fromkeys(f"statsmodels: {' '.join(str(item.message).split())}" for item in caught)
    return MixedFit(
        family="gaussian",
        method="REML" if reml else "ML",
        design=design,
        theta=theta,
        sigma=sigma,
        beta=beta,
        covariance=0.5 * (covariance + covariance.T),
        log_likelihood=float(result.llf),
        effects=effects,
        effect_covariances=spreads,
        convergence=Convergence(converged=converged, message=message, n_evaluations=0),
        singular=tuple(
            f"The variance of {term.group} is estimated as 0"
            for term, factor in zip(design.terms, design.factors(theta), strict=True)
            if bool(np.any(np.diag(factor) < _ZERO))
        ),
        warnings=(*said, *(() if converged else (f"the fit did not converge: {message}",))),
    )


def _check(frame: ModelFrame) -> None:
    design = frame.design
    if frame.family != "gaussian":
        raise InputError(
            "backend='statsmodels' is for linear models: its binomial mixed model is a mean-field variational approximation "
            "whose standard errors are several times too small, so it is no check; use backend='evalstats'"
        )
    if not design.terms:
        raise InputError(
            "backend='statsmodels' checks random effects, and the formula has none; use backend='evalstats'"
        )
    n_effects = sum(term.n_levels * term.n_columns for term in design.terms)
    if design.n_rows > MOST_ROWS or n_effects > MOST_EFFECTS:
        raise InputError(
            f"backend='statsmodels' is dense and fits at most {MOST_ROWS:,} rows and {MOST_EFFECTS:,} random effects; the model "
            f"has {design.n_rows:,} and {n_effects:,}. Use backend='evalstats'"
        )
    if len(design.terms) > 1 and any(term.n_columns > 1 for term in design.terms):
        raise InputError(
            "statsmodels has correlated slopes for one grouping alone; write them without correlation, (x || g), or use "
            "backend='evalstats'"
        )


def _by_statsmodels(design: MixedDesign, y: Floats, x: Floats, at: Ints, *, reml: bool) -> Any:
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    terms = design.terms
    if _is_correlated(design):
        model: Any = MixedLM(y, x, groups=terms[0].level[at], exog_re=terms[0].values[at])
    else:
        names = [f"{k}" for k in range(len(terms))]
        spec = VCSpec(names, [[list(term.levels)] for term in terms], [[_whole(term)[at]] for term in terms])
        model = MixedLM(y, x, groups=np.zeros(len(y), dtype=np.int64), exog_vc=spec)
    return model.fit(reml=reml, method=["bfgs", "lbfgs", "powell"], maxiter=500)


def _is_correlated(design: MixedDesign) -> bool:
    """Whether the model has one grouping alone, with correlated slopes."""
    return len(design.terms) == 1 and design.terms[0].n_columns > 1


def _effects(
    design: MixedDesign, theta: Floats, sigma: float, beta: Floats
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Conditional modes and covariances of the random effects, by dense algebra on the cells."""
    factors = design.factors(theta)
    z = np.column_stack([_whole(term) for term in design.terms])
    blocks = [np.kron(np.eye(t.n_levels), f @ f.T) for t, f in zip(design.terms, factors, strict=True)]
    g = sigma**2 * linalg.block_diag(*blocks)
    v = z @ g @ z.T + np.diag(sigma**2 / design.count)
    gain = np.linalg.solve(v, z @ g).T
    modes = gain @ (design.response - design.fixed @ beta)
    spread = g - gain @ z @ g
    effects: list[Floats] = []
    spreads: list[Floats] = []
    start = 0
    for term in design.terms:
        size = term.n_levels * term.n_columns
        effects.append(modes[start : start + size].reshape(term.n_levels, term.n_columns))
        own = spread[start : start + size, start : start + size]
        own = own.reshape(term.n_levels, term.n_columns, term.n_levels, term.n_columns)
        levels = np.arange(term.n_levels)
        spreads.append(own[levels, :, levels, :])
        start += size
    return tuple(effects), tuple(spreads)


def _whole(term: RandomTerm) -> Floats:
    z = np.zeros((len(term.level), term.n_levels, term.n_columns))
    z[np.arange(len(term.level)), term.level] = term.values
    return z.reshape(len(term.level), -1)


def mixed(
    formula: str,
    frame: object,
    *,
    family: Family = "gaussian",
    reml: bool = True,
    n_quadrature: int = 1,
    count: str | None = None,
    within: str | None = None,
    successes: str | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    conf_level: float = 0.95,
    df: DfChoice = "auto",
    backend: Backend = "evalstats",
    seed: int = 0,
) -> MixedModel:
    """Fit a linear or binomial model with crossed and nested random effects, or without any.

    The random effects are taken as normal and independent between levels; a linear model takes its residuals as normal with
    one variance, a binomial one its trials as independent given the random effects. For the question where models break, use
    `scenarios`, which chooses the model; for two systems on the same items, `compare`.

    Parameters
    ----------
    formula
        lme4's notation: `score ~ model * scenario + (1 | item) + (1 | item:model)`. Names, `+ - : * / ^`, parentheses, 0, 1,
        C(name), and random parts `(1 | g)`, `(1 + x | g)`, `(x || g)`, `(1 | a/b)`; nothing is evaluated. Without a random
        part it is an ordinary linear or logistic model, and every row counts as independent.
    frame
        A pandas, Polars, pyarrow or DuckDB table, a dict of columns, or `EvalData`, of which the outcomes of one metric are
        taken.
    family
        "gaussian", or "binomial" for 0/1, shares with `count`, or `cbind(successes, failures)` on the left; logit link.
    reml
        Restricted maximum likelihood (linear models); False for maximum likelihood.
    n_quadrature
        Binomial: 1 is Laplace's approximation, more is adaptive Gauss-Hermite quadrature (one random intercept), 0 the
        fast first look.
    count, within, successes, levels
        See `evalstats.analysis.mixed.frame.model_frame`.
    df
        "auto": Kenward-Roger up to 5,000 rows, then Satterthwaite; for binomial models between-within where a grouping has
        fewer than 30 levels, else the normal law.
    backend
        "statsmodels" fits small linear models by its MixedLM, as a cross-check.
    seed
        Of resampling that is later asked of the result.

    Raises
    ------
    InputError
        If the formula cannot be read or the table cannot be fitted by it; the message says why.
    CannotAnswerError
        If there is no answer in the data, such as complete separation that no prior mends.

    Notes
    -----
    Rows that share every column of the formula are merged first, so the cost does not grow with the number of trials.

    References
    ----------
    Bates et al. 2015, doi:10.18637/jss.v067.i01; Kenward & Roger 1997, doi:10.2307/2533558.

    Examples
    --------
    >>> table = {
    ...     "score": [3.1, 2.9, 4.0, 3.8, 2.2, 2.5, 3.3, 3.0, 4.1, 3.7, 2.6, 2.4],
    ...     "model": list("ababab" * 2),
    ...     "item": list("ppqqrrppqqrr"),
    ... }
    >>> result = mixed("score ~ model + (1 | item)", table)
    >>> [(row.term, round(row.estimate, 3)) for row in result.fixed]
    [('(Intercept)', 3.217), ('model[b]', -0.167)]
    """
    level = check_level(conf_level)
    made = model_frame(
        frame, formula, family=family, count=count, within=within, successes=successes, levels=levels, random=False
    )
    fit = _fitted(made, backend=backend, reml=reml, n_quadrature=n_quadrature)
    return describe(fit, made, df=df, conf_level=level, backend=backend, seed=seed)


def describe(
    fit: MixedFit,
    frame: ModelFrame,
    *,
    df: DfChoice = "auto",
    conf_level: float = 0.95,
    backend: str = "evalstats",
    seed: int = 0,
) -> MixedModel:
    """Put a fit and the table it was made from into a result."""
    inference = choose_inference(fit, df)
    design = fit.design
    names = design.fixed_names
    found = inference.estimates(fit, np.eye(len(names)), names=names, conf_level=conf_level)
    n_rows = design.n_rows if fit.family == "gaussian" else frame.n_given - sum(frame.n_dropped.values())
    return MixedModel(
        formula=str(frame.formula),
        response=str(frame.formula.response),
        family=fit.family,
        method=fit.method,
        backend=backend,
        conf_level=conf_level,
        df_method=inference.method,
        df_reason=inference.reason,
        estimand=_estimand(frame),
        fixed=tuple(
            FixedEffect(
                term=name,
                estimate=float(found.estimate[at]),
                std_error=finite(found.std_error[at]),
                df=finite(found.df[at]),
                statistic=finite(found.statistic[at]),
                p_value=finite(found.p_value[at]),
                conf_low=finite(found.conf_low[at]),
                conf_high=finite(found.conf_high[at]),
                conf_level=conf_level,
                method=_METHODS[inference.method],
                reason=found.reasons[at],
            )
            for at, name in enumerate(found.names)
        ),
        tests=term_tests(fit, frame, inference),
        variances=variance_components(fit),
        groups=tuple({term.group: term.n_levels for term in design.terms}.items()),
        n_rows=n_rows,
        n_trials=design.n_rows,
        n_cells=design.n_cells,
        n_given=frame.n_given,
        log_likelihood=fit.log_likelihood,
        n_parameters=fit.n_parameters,
        aic=fit.deviance + 2.0 * fit.n_parameters,
        bic=fit.deviance + math.log(n_rows) * fit.n_parameters,
        convergence=fit.convergence,
        singular=fit.singular,
        penalty=fit.penalty,
        origin=Origin(version=toolkit_version(), seed=seed),
        notes=(*_cautions(fit, frame, inference), *as_notes("choice", frame.notes, caution=False)),
        numbers=FittedModel(fit=fit, frame=frame, inference=inference),
    )


def _fitted(frame: ModelFrame, *, backend: str, reml: bool, n_quadrature: int) -> MixedFit:
    if backend not in ("evalstats", "statsmodels"):
        raise InputError(f"backend is {backend!r}; it is 'evalstats' or 'statsmodels'")
    if backend == "statsmodels":
        return fit_statsmodels(frame, reml=reml)
    if not frame.design.terms:
        from evalstats.stats.mixed.glm import fit_logistic, fit_ordinary

        if n_quadrature != 1:
            raise InputError("n_quadrature is for random effects, and the formula has none; leave it out")
        return fit_ordinary(frame.design) if frame.family == "gaussian" else fit_logistic(frame.design)
    if frame.family == "gaussian":
        if n_quadrature != 1:
            raise InputError("n_quadrature is for binomial models; the likelihood of a linear one is exact")
        from evalstats.stats.mixed.linear import fit_linear

        return fit_linear(frame.design, reml=reml)
    from evalstats.stats.mixed.binomial import fit_binomial

    return fit_binomial(frame.design, n_quadrature=n_quadrature)


def variance_components(fit: MixedFit) -> tuple[VarianceComponent, ...]:
    """Return variances and covariances of the random effects of a fit, the residual last."""
    terms, matrices = fit.design.terms, fit.covariances()
    intercepts = bool(terms) and all(term.is_intercept for term in terms)
    rest = fit.sigma**2 if fit.family == "gaussian" else LOGISTIC_VARIANCE
    total = sum(float(np.trace(matrix)) for matrix in matrices) + rest
    rows: list[VarianceComponent] = []
    for term, matrix in zip(terms, matrices, strict=True):
        for i, name in enumerate(term.columns):
            variance = float(matrix[i, i])
            share = variance / total if intercepts else None
            rows.append(
                VarianceComponent(
                    group=term.group, term=name, variance=variance, std_dev=math.sqrt(variance), share=share
                )
            )
        for i, j in zip(*np.tril_indices(term.n_columns, -1), strict=True):
            scale, covariance = math.sqrt(float(matrix[i, i]) * float(matrix[j, j])), float(matrix[i, j])
            correlation = max(-1.0, min(1.0, covariance / scale)) if scale > 0.0 else None
            rows.append(
                VarianceComponent(
                    group=term.group,
                    term=term.columns[j],
                    other=term.columns[i],
                    variance=covariance,
                    correlation=correlation,
                )
            )
    if fit.family == "gaussian":
        share = rest / total if intercepts else None
        rows.append(VarianceComponent(group="Residual", term="", variance=rest, std_dev=fit.sigma, share=share))
    return tuple(rows)


def _cautions(fit: MixedFit, frame: ModelFrame, inference: Inference) -> tuple[Note, ...]:
    """Return what every reader must know, each thing once."""
    said = [*frame.warnings, *fit.warnings]
    if not fit.convergence.converged and not any("converge" in text for text in fit.warnings):
        said.append(f"the fit did not converge ({fit.convergence.message}); its numbers are not an answer")
    said += [f"singular fit: {text}" for text in fit.singular]
    if fit.method == "nAGQ=0":
        said.append("n_quadrature=0 is a first look: fixed effects are drawn towards 0 a little; use 1 for an answer")
    found = list(as_notes("fit", dict.fromkeys([*said, *inference.warnings])))
    if not fit.design.terms:
        text = "Every row counts as independent"
        found.append(Note(kind="dependence", text=text, remedy="If rows share an item or a user, add (1 | item)"))
    return tuple(found)


def _estimand(frame: ModelFrame) -> str:
    groups = list(dict.fromkeys(part.group_name for part in frame.formula.random))
    if not groups:
        of = f" for these levels of {' and '.join(frame.factors)}" if frame.factors else ""
        return f"effects{of}, every row being independent of the others"
    sampled = f"new levels of {' and '.join(groups)} drawn as those seen"
    if not frame.factors:
        return f"effects for {sampled}"
    return f"effects for these levels of {' and '.join(frame.factors)}, and for {sampled}"
