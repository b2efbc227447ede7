"""Marginal means and contrasts: the frozen result of `means()`."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.mixed.frame import ModelFrame
from evalstats.analysis.mixed.inference import FittedModel, factor_grid
from evalstats.analysis.result import Estimate, Result, finite, frame_of
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.checks import check_level
from evalstats.stats.mixed.contrasts import (
    Adjustment,
    FamilyEstimates,
    LinearEstimates,
    MeanContrasts,
    adjusted,
    against,
    against_mean,
    custom,
    linear_estimates,
    pairwise,
    within_each,
)
from evalstats.stats.mixed.design import Floats
from evalstats.stats.mixed.marginal_means import (
    MarginalMeans,
    ProbabilityDifferences,
    ProbabilityMeans,
    ReferenceGrid,
    Weights,
    expanded,
    marginal_means,
    population_means,
    probability_differences,
    random_effect_sd,
)

Levels = tuple[tuple[str, str], ...]
_CONTRAST = (
    *("name", "family", "estimate", "std_error", "df", "statistic", "p_value", "p_adjusted"),
    *("conf_low", "conf_high", "reason"),
)
_TYPES: dict[str, pl.DataType] = {
    **{name: pl.Float64() for name in ("estimate", "std_error", "df", "conf_low", "conf_high", "conf_level")},
    "reason": pl.String(),
}
ContrastKind = Literal["pairwise", "reference", "mean", "none"] | Mapping[str, Mapping[str, float]]
Scale = Literal["response", "link"]


@record
class MarginalMean(Estimate):
    """One marginal mean; `levels` holds (factor, level). `df` is None where the normal law is used.

    Attributes
    ----------
    name
        The levels in words.
    """

    name: str
    levels: Levels


@record
class ContrastRow(Estimate):
    """One contrast of marginal means.

    `p_value` is for the contrast alone; `p_adjusted` and the interval for all contrasts of its `family` together.

    Attributes
    ----------
    name
        What is set against what, in words.
    """

    name: str
    family: str
    statistic: float | None = None


@record(repr=False)
class Means(Result):
    """Marginal means of a fitted model, and their contrasts: what `means` returns.

    Attributes
    ----------
    specs, by
        Factors whose levels are told apart; those within whose levels contrasts are made.
    scale
        What the means are, in words.
    averaging
        What they are averaged over, and how.
    adjust
        How p and intervals of the contrasts are adjusted within each family.
    df_method
        As in `MixedModel`.
    response
        Name of the response.
    rows, contrasts
        The means, and their differences.
    """

    specs: tuple[str, ...]
    by: tuple[str, ...]
    response: str
    scale: str
    averaging: str
    adjust: str
    conf_level: float
    df_method: str
    rows: tuple[MarginalMean, ...]
    contrasts: tuple[ContrastRow, ...] = ()
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        counts = f"{plural(len(self.rows), 'mean')} and {plural(len(self.contrasts), 'contrast')}"
        return f"<Means: {self.response} for {', '.join(self.specs)}{by}: {counts}, {self.adjust}>"

    def to_frame(self) -> pl.DataFrame:
        """Return the means, one row each, with a column for each factor."""
        rows = [dict(row.levels) | {name: getattr(row, name) for name in _TYPES} for row in self.rows]
        return ShownFrame(rows, schema_overrides=_TYPES, infer_schema_length=None)

    def contrasts_frame(self) -> pl.DataFrame:
        """Return the contrasts, one row each."""
        return frame_of(self.contrasts, ContrastRow, _CONTRAST)


def means(
    fitted: FittedModel,
    specs: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = (),
    weights: Weights = "equal",
    contrasts: ContrastKind = "pairwise",
    reference: str | None = None,
    adjust: Adjustment = "holm",
    scale: Scale = "response",
    conf_level: float,
) -> Means:
    """Return what `MixedModel.means` says it returns."""
    frame, fit = fitted.frame, fitted.fit
    over, groups = _names(specs), _names(by)
    level = check_level(conf_level)
    if scale not in ("response", "link"):
        raise InputError(f"scale is {scale!r}; it is 'response' (scores, probabilities) or 'link' (log-odds)")
    has = f"{', '.join(frame.factors) or 'none'}"
    if not over:
        raise InputError(f"no factor is named; the model has {has}")
    unknown = [name for name in (*over, *groups) if name not in frame.factors]
    if unknown:
        raise InputError(f"{unknown[0]!r} is no fixed factor of the model, which has {has}")
    if len({*over, *groups}) < len(over) + len(groups):
        raise InputError("a factor is named twice in specs and by; name each once")
    table, names = factor_grid(frame), tuple(frame.factors)
    counted = frame.cells.select(names).with_columns(pl.Series("", fit.design.count))
    joined = table.join(counted.group_by(names).agg(pl.col("").sum()), on=names, how="left", maintain_order="left")
    grid = ReferenceGrid(
        factors=names,
        levels=tuple(frame.factors.values()),
        rows=frame.all_rows(table),
        count=joined[""].fill_null(0.0).to_numpy().astype(np.float64),
    )
    marginal = marginal_means(grid, [*groups, *over], weights)
    wanted = _contrasts(frame, over, groups, contrasts, reference)
    levels = [
        tuple((name, frame.factors[name][int(code)]) for name, code in zip([*groups, *over], codes, strict=True))
        for codes in marginal.codes
    ]
    linear, unit = fit.family == "gaussian", str(frame.formula.response)
    if not linear:
        population = "probability, averaged over the random effects"
        unit = population if scale == "response" else "log-odds at random effects of 0"
    if linear or scale == "link":
        rows, compared, warnings = _linear(fitted, marginal, levels, wanted, adjust=adjust, level=level)
    else:
        rows, compared, warnings = _probabilities(fitted, table, grid, marginal, levels, wanted, adjust, level)
    return Means(
        specs=tuple(over),
        by=tuple(groups),
        response=str(frame.formula.response),
        scale=unit,
        averaging=marginal.averaging,
        adjust=adjust if compared else "none",
        conf_level=level,
        df_method=fitted.inference.method,
        rows=rows,
        contrasts=compared,
        notes=as_notes("fit", dict.fromkeys([*marginal.notes, *warnings])),
    )


def _names(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _contrasts(
    frame: ModelFrame, over: Sequence[str], groups: Sequence[str], wanted: ContrastKind, reference: str | None
) -> MeanContrasts | None:
    names = _combinations(frame, over)
    if wanted == "none" or len(names) < 2:
        return None
    if reference is not None and wanted != "reference":
        raise InputError(f"reference={reference!r} is given with contrasts={wanted!r}; pass contrasts='reference'")
    if isinstance(wanted, Mapping):
        made = custom(names, wanted)
    elif wanted == "pairwise":
        made = pairwise(names)
    elif wanted == "reference":
        made = against(names, names[0] if reference is None else reference)
    elif wanted == "mean":
        made = against_mean(names)
    else:
        raise InputError(f"contrasts is {wanted!r}; it is 'pairwise', 'reference', 'mean', 'none' or a dict of weights")
    return within_each(_combinations(frame, groups), made) if groups else made


def _combinations(frame: ModelFrame, names: Sequence[str]) -> list[str]:
    labels = [""]
    for name in names:
        labels = [f"{label}, {level}" if label else level for label in labels for level in frame.factors[name]]
    return labels


def _linear(
    fitted: FittedModel,
    marginal: MarginalMeans,
    levels: Sequence[Levels],
    wanted: MeanContrasts | None,
    *,
    adjust: Adjustment,
    level: float,
) -> tuple[tuple[MarginalMean, ...], tuple[ContrastRow, ...], tuple[str, ...]]:
    frame, inference, fit = fitted.frame, fitted.inference, fitted.fit
    beta, covariance = expanded(fit.beta, inference.covariance, frame.kept.columns, len(frame.columns))
    nothing, kept = None, frame.kept
    if len(
        kept.dropped
    ):  # directions of all fixed columns that the data say nothing about, one for each dropped column
        basis = np.zeros((len(frame.columns), len(kept.dropped)))
        basis[kept.columns] = -kept.alias
        basis[kept.dropped] = np.eye(len(kept.dropped))
        nothing = basis / np.linalg.norm(basis, axis=0)

    def estimates(rows: Floats, names: Sequence[str]) -> LinearEstimates:
        free = inference.df(fit, frame.kept_rows(rows))
        return linear_estimates(rows, beta, covariance, df=free, conf_level=level, names=names, null_basis=nothing)

    found = estimates(marginal.rows, marginal.names)
    rows = _mean_rows(found, levels, found.df, level)
    if wanted is None:
        return rows, (), ()
    compared = estimates(wanted.weights @ marginal.rows, wanted.names)
    family = adjusted(compared, adjust, family=wanted.family)
    return rows, _contrast_rows(wanted, compared, family, compared.df, level), family.warnings


def _mean_rows(
    found: LinearEstimates | ProbabilityMeans,
    levels: Sequence[Levels],
    df: Floats,
    level: float,
) -> tuple[MarginalMean, ...]:
    return tuple(
        MarginalMean(
            name=found.names[at],
            levels=levels[at],
            estimate=finite(found.estimate[at]),
            std_error=finite(found.std_error[at]),
            df=finite(df[at]),
            conf_low=finite(found.conf_low[at]),
            conf_high=finite(found.conf_high[at]),
            conf_level=level,
            reason=found.reasons[at],
        )
        for at in range(len(levels))
    )


def _contrast_rows(
    wanted: MeanContrasts,
    found: LinearEstimates | ProbabilityDifferences,
    family: FamilyEstimates | ProbabilityDifferences,
    df: Floats,
    level: float,
) -> tuple[ContrastRow, ...]:
    return tuple(
        ContrastRow(
            name=wanted.names[at],
            family=wanted.family[at],
            estimate=finite(found.estimate[at]),
            std_error=finite(found.std_error[at]),
            df=finite(df[at]),
            statistic=finite(found.statistic[at]),
            p_value=finite(found.p_value[at]),
            p_adjusted=finite(family.p_adjusted[at]),
            conf_low=finite(family.conf_low[at]),
            conf_high=finite(family.conf_high[at]),
            conf_level=level,
            reason=found.reasons[at],
        )
        for at in range(len(wanted.names))
    )


def _probabilities(  # noqa: PLR0917 - as `_linear`, and the grid
    fitted: FittedModel,
    table: pl.DataFrame,
    grid: ReferenceGrid,
    marginal: MarginalMeans,
    levels: Sequence[Levels],
    wanted: MeanContrasts | None,
    adjust: Adjustment,
    level: float,
) -> tuple[tuple[MarginalMean, ...], tuple[ContrastRow, ...], tuple[str, ...]]:
    inference, fit, frame = fitted.inference, fitted.fit, fitted.frame
    free = inference.df(fit, frame.kept_rows(marginal.rows))
    sd, by_theta = random_effect_sd(fit.design.factors(fit.theta), frame.slope_rows(table))
    lost = ~frame.kept.estimable(grid.rows)
    said = "not estimable: the data hold nothing about some combination it needs"
    joint = fit.joint_covariance
    found = population_means(
        frame.kept_rows(grid.rows),
        fit.beta,
        np.broadcast_to(sd, (table.height,)),
        fit.covariance if joint is None else joint,
        sd_jacobian=None if joint is None else np.broadcast_to(by_theta, (table.height, by_theta.shape[1])),
        weights=marginal.weights,
        names=marginal.names,
        reasons=[said if bool(np.any(weight[lost] > 0.0)) else None for weight in marginal.weights],
        df=free,
        conf_level=level,
    )
    rows = _mean_rows(found, levels, free, level)
    if wanted is None:
        return rows, (), found.warnings
    pairs = [(np.flatnonzero(row == 1.0), np.flatnonzero(row == -1.0)) for row in wanted.weights]
    if any(len(up) != 1 or len(down) != 1 for up, down in pairs):
        raise InputError(
            "probabilities are compared in pairs (contrasts='pairwise' or 'reference'); pass scale='link' for other contrasts"
        )
    of_pairs = inference.df(fit, frame.kept_rows(wanted.weights @ marginal.rows))
    compared = probability_differences(
        found,
        [int(up[0]) for up, _ in pairs],
        [int(down[0]) for _, down in pairs],
        method=adjust,
        family=wanted.family,
        names=wanted.names,
        df=of_pairs,
    )
    made = _contrast_rows(wanted, compared, compared, of_pairs, level)
    return rows, made, (*found.warnings, *compared.warnings)
