"""Intervals by profile likelihood and bootstrap, and two nested models compared by their likelihoods."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from evalstats.analysis.mixed.inference import Fitted
from evalstats.analysis.result import json_safe
from evalstats.document.numbers import number, p_value
from evalstats.errors import InputError
from evalstats.stats.checks import check_level
from evalstats.stats.mixed.design import Floats, MixedDesign, MixedFit, RandomTerm

OnStep = Callable[[int, int], None]


def profile(
    result: Fitted, *, conf_level: float | None = None, fixed: bool = True, on_step: OnStep | None = None
) -> pl.DataFrame:
    """Return what `MixedModel.profile` says it returns."""
    from evalstats.stats.mixed.profile_likelihood import profile as profiled

    _needs_random(result)
    level = check_level(result.conf_level if conf_level is None else conf_level)
    names = result.fit.design.fixed_names
    contrasts = np.eye(len(names)) if fixed else None
    found = profiled(result.fit, contrasts=contrasts, conf_level=level, on_step=on_step)
    labels = [each.name for each in found]
    if fixed:
        labels[len(found) - len(names) :] = names
    rows = [
        {
            "term": label,
            "estimate": each.estimate,
            "conf_low": each.conf_low,
            "conf_high": each.conf_high,
            "conf_level": level,
            "method": "profile likelihood",
            "reason": "; ".join(each.notes) or None,
        }
        for label, each in zip(labels, found, strict=True)
    ]
    return _frame(rows)


def bootstrap(
    result: Fitted,
    *,
    n_resamples: int = 1000,
    seed: int | None = None,
    conf_level: float | None = None,
    workers: int | None = None,
    on_step: OnStep | None = None,
) -> pl.DataFrame:
    """Return what `MixedModel.bootstrap` says it returns."""
    from evalstats.stats.mixed.parametric_bootstrap import bootstrap_intervals

    _needs_random(result)
    level = check_level(result.conf_level if conf_level is None else conf_level)
    design = result.fit.design
    named = [("fixed", "", name) for name in design.fixed_names]
    named += [("std_dev", term.group, name) for term in design.terms for name in term.columns]
    named += [("std_dev", "Residual", "")] if result.family == "gaussian" else []
    found = bootstrap_intervals(
        result.fit,
        effects_and_deviations,
        names=[" ".join(part for part in parts if part) for parts in named],
        n_resamples=n_resamples,
        seed=result.seed if seed is None else seed,
        conf_level=level,
        workers=workers,
        on_step=on_step,
    )
    rows = [
        {
            "kind": kind,
            "group": group,
            "term": term,
            "estimate": each.estimate,
            "std_error": each.std_error,
            "conf_low": each.conf_low,
            "conf_high": each.conf_high,
            "conf_level": level,
            "method": each.method,
            "n_resamples": each.n_resamples,
            "reason": each.reason,
        }
        for (kind, group, term), each in zip(named, found, strict=True)
    ]
    return _frame(rows)


def _needs_random(result: Fitted) -> None:
    if not result.groups:
        raise InputError(
            f"{result.formula} has no random effects, and the intervals of the fit itself are by t or the normal law; add a "
            "random part, such as (1 | item), for profiles or a bootstrap"
        )


def effects_and_deviations(fit: MixedFit) -> Floats:
    """Return the fixed effects of a fit, then its standard deviations: what `bootstrap` resamples."""
    from evalstats.stats.mixed.parametric_bootstrap import standard_deviations

    return np.concatenate([fit.beta, standard_deviations(fit)])


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    types: dict[str, pl.DataType] = {name: pl.Float64() for name in ("estimate", "std_error", "conf_low", "conf_high")}
    known = {name: dtype for name, dtype in types.items() if rows and name in rows[0]}
    return pl.DataFrame(rows, schema_overrides={**known, "reason": pl.String()}, infer_schema_length=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """A test of the smaller of two nested models.

    Attributes
    ----------
    statistic
        Twice the difference of the log-likelihoods.
    df
        The reference law as (weight, degrees of freedom) of chi-squared laws; empty for a bootstrap.
    n_resamples, seed
        Of the bootstrap; None without one.
    """

    small: str
    large: str
    statistic: float
    df: tuple[tuple[float, int], ...]
    p_value: float
    method: str
    n_resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe values."""
        return json_safe(self)

    def summary(self) -> str:
        """One sentence, and the notes."""
        p = p_value(self.p_value)
        shown = p if p.startswith(("<", ">")) else f"= {p}"
        first = f"{self.large} against {self.small}: {self.method}, statistic {number(self.statistic)}, p {shown}."
        return " ".join([first, *(f"Note: {note}." for note in self.notes)])


def likelihood_ratio(
    small: Fitted,
    large: Fitted,
    *,
    n_resamples: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    on_step: OnStep | None = None,
) -> ModelComparison:
    """Return what `MixedModel.likelihood_ratio` says it returns."""
    from evalstats.stats.mixed import likelihood_ratio as ratio
    from evalstats.stats.mixed.likelihood_ratio import variance_ratio
    from evalstats.stats.mixed.parametric_bootstrap import parametric_bootstrap

    _check_same_rows(small, large)
    if bool(small.groups) != bool(large.groups):
        raise InputError(
            "one of the models has no random effects; keep at least one random part in both, and test the others against it"
        )
    if n_resamples is not None and not large.groups:
        raise InputError("neither model has random effects, so the likelihood ratio has its law; leave n_resamples out")
    design = _smaller(small.fit.design, large.fit.design)
    same_fixed = design.fixed_names == large.fit.design.fixed_names
    same_random = ratio.random_structure(design) == ratio.random_structure(large.fit.design)
    if same_fixed and same_random:
        raise InputError(f"both models are {large.formula}; there is nothing to test")
    by_ml = large.method == "REML" and not same_fixed
    full = _refitted(large, large.fit.design, reml=False) if by_ml else large.fit
    null = _refitted(large, design, reml=not by_ml and large.method == "REML")
    notes = ("both models were refitted by ML",) if by_ml else ()
    if n_resamples is not None:
        start = large.seed if seed is None else seed
        drawn = parametric_bootstrap(null, full, n_resamples=n_resamples, seed=start, workers=workers, on_step=on_step)
        return ModelComparison(
            small=small.formula,
            large=large.formula,
            statistic=drawn.statistic,
            df=(),
            p_value=drawn.p_value,
            method=drawn.method,
            n_resamples=drawn.n_resamples,
            seed=drawn.seed,
            notes=(*notes, *drawn.notes),
        )
    if not same_fixed and not same_random:
        raise InputError(
            "the models differ in fixed and in random effects, for which there is no law at hand; change one at a time, or give "
            "n_resamples for a parametric bootstrap"
        )
    found = ratio.likelihood_ratio(null, full) if same_random else variance_ratio(null, full)
    return ModelComparison(
        small=small.formula,
        large=large.formula,
        statistic=found.statistic,
        df=found.df,
        p_value=found.p_value,
        method=found.method,
        notes=(*notes, *found.notes),
    )


def _check_same_rows(small: Fitted, large: Fitted) -> None:
    if (small.family, small.response) != (large.family, large.response):
        raise InputError(
            f"the models explain {small.response} ({small.family}) and {large.response} ({large.family}); give one response"
        )
    totals = [(m.n_rows, m.n_trials, float(m.fit.design.count @ m.fit.design.response)) for m in (small, large)]
    if totals[0][:2] != totals[1][:2] or not np.isclose(totals[0][2], totals[1][2], rtol=1e-9, atol=1e-9):
        raise InputError(
            f"the models are fitted to {small.n_rows:,} and {large.n_rows:,} rows, or to other responses; fit both to the same "
            "rows (leave out those that lack a column of the larger model)"
        )


def _smaller(small: MixedDesign, large: MixedDesign) -> MixedDesign:
    """Return the smaller model on the cells of the larger, so that both are fitted to the same numbers."""
    missing = [name for name in small.fixed_names if name not in large.fixed_names]
    if missing:
        raise InputError(f"the smaller model has the fixed effect {missing[0]}, which the larger has not: not nested")
    columns = [large.fixed_names.index(name) for name in small.fixed_names]
    order = sorted(columns)
    return replace(
        large,
        fixed=np.ascontiguousarray(large.fixed[:, order]),
        fixed_names=tuple(large.fixed_names[at] for at in order),
        terms=tuple(_within(term, large) for term in small.terms),
    )


def _within(term: RandomTerm, large: MixedDesign) -> RandomTerm:
    for other in large.terms:
        if other.group == term.group and set(term.columns) <= set(other.columns):
            at = [other.columns.index(name) for name in term.columns]
            return replace(other, columns=term.columns, values=np.ascontiguousarray(other.values[:, at]))
    raise InputError(
        f"the smaller model has the random effects ({' + '.join(term.columns)} | {term.group}), which the larger has not; give "
        "nested models"
    )


def _refitted(model: Fitted, design: MixedDesign, *, reml: bool) -> MixedFit:
    if not design.terms:
        from evalstats.stats.mixed.glm import fit_logistic, fit_ordinary

        return fit_ordinary(design) if model.family == "gaussian" else fit_logistic(design)
    if model.family == "gaussian":
        from evalstats.stats.mixed.linear import fit_linear

        return fit_linear(design, reml=reml)
    from evalstats.stats.mixed.binomial import fit_binomial

    return fit_binomial(design, n_quadrature=model.fit.n_quadrature)
