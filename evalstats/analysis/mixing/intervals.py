"""Intervals of fixed effects, standard deviations and correlations that do not rest on a normal law of the estimates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from evalstats.analysis.mixing.fitted import Fitted
from evalstats.errors import InputError
from evalstats.stats.checks import check_level
from evalstats.stats.mixed.design import Floats, MixedFit

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
