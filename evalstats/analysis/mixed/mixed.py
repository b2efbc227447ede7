"""`mixed()`: a mixed model in lme4's notation on any table."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from evalstats.analysis.mixed.frame import ModelFrame, model_frame
from evalstats.analysis.mixed.inference import DfChoice, FittedModel, Inference, choose_inference, fit_of, term_tests
from evalstats.analysis.mixed.result import FixedEffect, MixedModel, VarianceComponent
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Origin, finite
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.stats.checks import check_level
from evalstats.stats.mixed.design import Family, MixedFit

LOGISTIC_VARIANCE = math.pi**2 / 3.0
_METHODS = {
    "residual": "t",
    "kenward-roger": "t (Kenward-Roger)",
    "satterthwaite": "t (Satterthwaite)",
    "between-within": "t (between-within)",
    "z": "z",
}


def mixed(
    formula: str,
    frame: object,
    *,
    family: Family = "gaussian",
    reml: bool = True,
    n_quadrature: int = 1,
    count: str | None = None,
    within: str | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    conf_level: float = 0.95,
    df: DfChoice = "auto",
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
    count, within, levels
        See `evalstats.analysis.mixed.frame.model_frame`.
    conf_level
        Level of the intervals.
    df
        "auto": Kenward-Roger up to 5,000 rows, then Satterthwaite; for binomial models between-within where a grouping has
        fewer than 30 levels, else the normal law.
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
    if not isinstance(formula, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
        raise InputError(
            f"the formula comes first, and then the table; the first argument is a {type(formula).__name__}"
        )
    made = model_frame(frame, formula, family=family, count=count, within=within, levels=levels, random=False)
    if n_quadrature != 1 and (family == "gaussian" or not made.design.terms):
        raise InputError(
            "n_quadrature is for random effects of binomial models; any other likelihood is exact: leave it out"
        )
    fit = fit_of(made.design, family, reml=reml, n_quadrature=n_quadrature)
    return describe(fit, made, df=df, conf_level=level, seed=seed)


def describe(
    fit: MixedFit, frame: ModelFrame, *, df: DfChoice = "auto", conf_level: float = 0.95, seed: int = 0
) -> MixedModel:
    """Put a fit and the table it was made from into a result."""
    inference = choose_inference(fit, df)
    design = fit.design
    names = design.fixed_names
    # A factor whose first level has an effect of its own has means, no differences.
    contrasts = {
        f"{name}[{level}]": f"{level} minus {levels[0]}"
        for name, levels in frame.factors.items()
        if f"{name}[{levels[0]}]" not in names
        for level in levels
    }
    found = inference.estimates(fit, np.eye(len(names)), names=names, conf_level=conf_level)
    n_rows = design.n_rows if fit.family == "gaussian" else frame.n_given - sum(frame.n_dropped.values())
    return MixedModel(
        formula=str(frame.formula),
        response=str(frame.formula.response),
        family=fit.family,
        method=fit.method,
        conf_level=conf_level,
        df_method=inference.method,
        df_reason=inference.reason,
        estimand=_estimand(frame),
        fixed=tuple(
            FixedEffect(
                term=name,
                contrast=contrasts.get(name),
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
