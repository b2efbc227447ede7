"""Rows of the answer that are contrasts of cells: drops from the reference, means, pairs of models."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from evalstats.analysis.arms import Metric
from evalstats.analysis.scenarios.cells import Cells, Contrasts
from evalstats.analysis.scenarios.fitting import FittedScenarios
from evalstats.analysis.scenarios.paired import ItemMeans, PairedDrop
from evalstats.analysis.scenarios.pooled import PooledCells
from evalstats.analysis.scenarios.results import CellRow, DropRow, DropVerdict, MeanRow, ModelPairRow
from evalstats.analysis.scenarios.table import COUNT, ScenarioTable
from evalstats.stats.multiplicity import holm

Floats = npt.NDArray[np.float64]
MIN_DF = 4
MIN_DIFFERENT = 6
NO_SPREAD = "all scores are the same, so there is no spread to judge by"


def level_interval(found: Contrasts, metric: Metric, conf_level: float) -> tuple[Floats, Floats]:
    """Return ends of intervals of scores: on the log-odds scale of the metric's range, so that they stay inside it."""
    low, high = found.interval(conf_level)
    if metric.low is None or metric.high is None:
        return low, high
    span = metric.high - metric.low
    share = (found.estimate - metric.low) / span
    inside = (share > 0) & (share < 1) & found.has_spread
    safe = np.where(inside, share, 0.5)
    center, error = np.log(safe / (1 - safe)), found.std_error / span / (safe * (1 - safe))
    half = stats.t.isf((1 - conf_level) / 2, found.df) * error
    ends = [metric.low + span / (1 + np.exp(-(center + sign * half))) for sign in (-1, 1)]
    return np.where(inside, ends[0], np.nan), np.where(inside, ends[1], np.nan)


def cell_rows(
    table: ScenarioTable, fitted: FittedScenarios, pooled: PooledCells | None, conf_level: float
) -> tuple[CellRow, ...]:
    """Return every model in every scenario."""
    cells = fitted.cells
    found = cells.contrast(np.eye(len(cells.value)))
    on_link = cells.contrast(np.eye(len(cells.value)), link=True)
    low, high = level_interval(found, table.metric, conf_level)
    frame = table.frame
    score, trials = frame["score"].to_numpy(), frame[COUNT].to_numpy()
    item = table.codes("item", "version")
    in_scenario = [_distinct(frame["scenario"].to_numpy() == name, item) for name in table.scenarios]
    out: list[CellRow] = []
    for i, model in enumerate(table.models):
        for j, scenario in enumerate(table.scenarios):
            place = cells.place(i, j)
            if place is None:
                reason = "the model was not scored in this scenario"
                out.append(CellRow(model=model, scenario=scenario, n_missing=in_scenario[j], reason=reason))
                continue
            here = fitted.laid.of_frame == place
            n = _distinct(here, item)
            spread = bool(found.has_spread[place])
            out.append(
                CellRow(
                    model=model,
                    scenario=scenario,
                    n_items=n,
                    n_trials=round(float(trials[here].sum())),
                    n_missing=in_scenario[j] - n,
                    observed=float(score[here].mean()),
                    estimate=float(found.estimate[place]),
                    std_error=float(found.std_error[place]) if spread else None,
                    conf_low=_number(low[place]),
                    conf_high=_number(high[place]),
                    df=_number(found.df[place]) if spread else None,
                    link=float(on_link.estimate[place]),
                    link_std_error=float(on_link.std_error[place]) if spread else None,
                    pooled=None if pooled is None else _number(pooled.value[place]),
                    pooled_low=None if pooled is None or not spread else _number(pooled.low[place]),
                    pooled_high=None if pooled is None or not spread else _number(pooled.high[place]),
                    reason=None if _number(low[place]) is not None else fitted.no_interval or NO_SPREAD,
                )
            )
    return tuple(out)


def drop_weights(cells: Cells, model: int, scenario: int, reference: str) -> tuple[Floats | None, str]:
    """Coefficients of the cells in a drop, or why there is none."""
    at = cells.place(model, scenario)
    if at is None:
        return None, "the model was not scored in this scenario"
    weights = np.zeros(len(cells.value))
    weights[at] = 1.0
    if reference != "average":
        base = cells.place(model, 0)
        if base is None:
            return None, "the model was not scored in the reference"
        weights[base] -= 1.0
        return weights, ""
    others = [place for j in range(cells.shape[1]) if j != scenario and (place := cells.place(model, j)) is not None]
    if not others:
        return None, "the model was scored in no other scenario"
    weights[others] -= 1.0 / len(others)
    return weights, ""


def drop_rows(
    table: ScenarioTable,
    fitted: FittedScenarios,
    pooled: PooledCells | None,
    items: ItemMeans,
    *,
    reference: str,
    conf_level: float,
) -> tuple[DropRow, ...]:
    """Return every model in every scenario but the reference, as one family for each model."""
    out: list[DropRow] = []
    for i in range(len(table.models)):
        out.extend(_drops_of(table, fitted, pooled, items, i, reference=reference, conf_level=conf_level))
    return tuple(out)


def _drops_of(
    table: ScenarioTable,
    fitted: FittedScenarios,
    pooled: PooledCells | None,
    items: ItemMeans,
    i: int,
    *,
    reference: str,
    conf_level: float,
) -> list[DropRow]:
    cells = fitted.cells
    first = 0 if reference == "average" else 1
    made = {j: drop_weights(cells, i, j, reference) for j in range(first, len(table.scenarios))}
    with_weights = {j: weights for j, (weights, _) in made.items() if weights is not None}
    model = table.models[i]
    rows = [
        DropRow(model=model, scenario=table.scenarios[j], reference=reference, verdict="invalid", verdict_reason=why)
        for j, (weights, why) in made.items()
        if weights is None
    ]
    if not with_weights:
        return rows
    weights = np.stack(list(with_weights.values()))
    found, on_link = cells.contrast(weights), cells.contrast(weights, link=True)
    low, high = _clipped(found.interval(conf_level, family=len(weights)), table.metric)
    log_low, log_high = on_link.interval(conf_level, family=len(weights))
    p = found.p_values()
    adjusted, stepped = np.minimum(len(p) * p, 1.0), np.full(len(p), np.nan)
    stepped[~np.isnan(p)] = holm(p[~np.isnan(p)])
    shrunk = None if pooled is None else pooled.contrast(weights, conf_level)
    binary = fitted.fit.family == "binomial"
    for k, j in enumerate(with_weights):
        place, base = cells.place(i, j), None if reference == "average" else cells.place(i, 0)
        paired = None if place is None or base is None else items.drop(table, place, base, conf_level)
        spread = bool(found.has_spread[k])
        row = DropRow(
            model=model,
            scenario=table.scenarios[j],
            reference=reference,
            estimate=float(found.estimate[k]),
            std_error=float(found.std_error[k]) if spread else None,
            conf_low=_number(low[k]),
            conf_high=_number(high[k]),
            conf_level=conf_level,
            df=_number(found.df[k]) if spread else None,
            statistic=float(found.estimate[k] / found.std_error[k]) if spread else None,
            p_value=_number(p[k]),
            p_adjusted=_number(adjusted[k]),
            p_holm=_number(stepped[k]),
            log_odds=float(on_link.estimate[k]) if binary else None,
            log_odds_low=_number(log_low[k]) if binary else None,
            log_odds_high=_number(log_high[k]) if binary else None,
            model_std_error=float(found.model_std_error[k]),
            paired=None if paired is None else paired.estimate,
            paired_low=None if paired is None or paired.found is None else paired.found.conf_low,
            paired_high=None if paired is None or paired.found is None else paired.found.conf_high,
            pooled=None if shrunk is None else _number(shrunk[0][k]),
            pooled_low=None if shrunk is None else _number(shrunk[1][k]),
            pooled_high=None if shrunk is None else _number(shrunk[2][k]),
            n_items=paired.n_items if paired is not None else _n_items(table, fitted, place),
        )
        doubt = _doubt(row, paired, no_interval=fitted.no_interval)
        verdict, why = _verdict(row, doubt, higher_is_better=table.metric.higher_is_better)
        rows.append(replace(row, verdict=verdict, verdict_reason=why))
    order = {name: k for k, name in enumerate(table.scenarios)}
    return sorted(rows, key=lambda row: order[row.scenario])


def _verdict(row: DropRow, doubt: str, *, higher_is_better: bool) -> tuple[DropVerdict, str]:
    if row.conf_low is None:
        return "invalid", doubt
    if doubt:
        return "not shown", doubt
    if (row.conf_low > 0) != higher_is_better:
        return "drop", "the interval lies wholly on the side of a loss"
    return "gain", "the interval lies wholly on the side of a gain"


def _doubt(row: DropRow, paired: PairedDrop | None, *, no_interval: str) -> str:
    """Return the first thing that forbids a direction: only an interval that excludes 0 gives one, and nothing against it."""
    if row.conf_low is None or row.conf_high is None:
        return no_interval or NO_SPREAD
    if not (row.conf_low > 0 or row.conf_high < 0):
        return "the interval includes 0"
    if (row.p_adjusted or 1.0) > 1 - row.conf_level:
        return "the adjusted p does not reach the level"
    if (row.df or 0.0) < MIN_DF:
        return _too_few_df(row.df or 0.0)
    if paired is None:
        return ""
    if paired.n_differ < MIN_DIFFERENT:
        return f"only {paired.n_differ} items differ between the two; {MIN_DIFFERENT} are needed"
    ends = (row.paired_low, row.paired_high) if row.conf_low > 0 else (row.paired_high, row.paired_low)
    near = ends[0]
    agrees = near is None or (near > 0) == (row.conf_low > 0)
    return "" if agrees else "the differences within items alone do not show it"


def mean_rows(
    table: ScenarioTable, fitted: FittedScenarios, shares: Sequence[float], conf_level: float
) -> tuple[tuple[MeanRow, ...], tuple[MeanRow, ...]]:
    """Return the models averaged over scenarios by their shares, and the scenarios averaged over models."""
    cells = fitted.cells
    if fitted.model_means is None:
        models = tuple(
            _mean_row(table, fitted, model_weights(cells, i, shares), kind="model", name=name, conf_level=conf_level)
            for i, name in enumerate(table.models)
        )
    else:
        models = _sampled_means(table, fitted.model_means, conf_level)
    even = [1 / len(table.models)] * len(table.models)
    scenarios = tuple(
        _mean_row(table, fitted, _scenario_weights(cells, j, even), kind="scenario", name=name, conf_level=conf_level)
        for j, name in enumerate(table.scenarios)
    )
    return models, scenarios


def _sampled_means(table: ScenarioTable, found: Contrasts, conf_level: float) -> tuple[MeanRow, ...]:
    """Return the models over scenarios that could come."""
    low, high = level_interval(found, table.metric, conf_level)
    codes = table.codes("item", "version")
    return tuple(
        MeanRow(
            kind="model",
            name=name,
            estimate=float(found.estimate[i]),
            std_error=_number(found.std_error[i]),
            conf_low=_number(low[i]),
            conf_high=_number(high[i]),
            df=_number(found.df[i]),
            n_items=_distinct(table.frame["model"].to_numpy() == name, codes),
            reason=None if _number(low[i]) is not None else NO_SPREAD,
        )
        for i, name in enumerate(table.models)
    )


def model_weights(cells: Cells, i: int, shares: Sequence[float]) -> Floats | None:
    """Coefficients of the cells in the mean of a model; None where a cell with a share is empty."""
    weights = np.zeros(len(cells.value))
    for j, share in enumerate(shares):
        place = cells.place(i, j)
        if place is None:
            if share > 0:
                return None
            continue
        weights[place] = share
    return weights


def _scenario_weights(cells: Cells, j: int, shares: Sequence[float]) -> Floats | None:
    places = [cells.place(i, j) for i in range(cells.shape[0])]
    if any(place is None for place in places):
        return None
    weights = np.zeros(len(cells.value))
    weights[[place for place in places if place is not None]] = shares
    return weights


def _mean_row(
    table: ScenarioTable,
    fitted: FittedScenarios,
    weights: Floats | None,
    *,
    kind: Literal["model", "scenario"],
    name: str,
    conf_level: float,
) -> MeanRow:
    n = _distinct(table.frame[kind].to_numpy() == name, table.codes("item", "version"))
    what = "scenario" if kind == "model" else "model"
    if weights is None:
        reason = f"a mean over all {what}s needs a score in each, and one is missing"
        return MeanRow(kind=kind, name=name, n_items=n, reason=reason)
    found = fitted.cells.contrast(weights[None, :])
    low, high = level_interval(found, table.metric, conf_level)
    spread = bool(found.has_spread[0])
    return MeanRow(
        kind=kind,
        name=name,
        estimate=float(found.estimate[0]),
        std_error=float(found.std_error[0]) if spread else None,
        conf_low=_number(low[0]),
        conf_high=_number(high[0]),
        df=_number(found.df[0]) if spread else None,
        n_items=n,
        reason=None if _number(low[0]) is not None else fitted.no_interval or NO_SPREAD,
    )


def pair_rows(
    table: ScenarioTable, fitted: FittedScenarios, shares: Sequence[float], conf_level: float
) -> tuple[ModelPairRow, ...]:
    """Return every two models averaged over scenarios, as one family."""
    cells = fitted.cells
    weights = [model_weights(cells, i, shares) for i in range(len(table.models))]
    allowed = table.rulers.allowed()
    pairs = [(i, j) for i, j in combinations(range(len(table.models)), 2) if allowed[i, j]]
    made = [(i, j, wi - wj) for i, j in pairs if (wi := weights[i]) is not None and (wj := weights[j]) is not None]
    if not made:
        return ()
    found = cells.contrast(np.stack([each for _, _, each in made]))
    low, high = _clipped(found.interval(conf_level, family=len(made)), table.metric)
    p = found.p_values()
    adjusted, stepped = np.minimum(len(p) * p, 1.0), np.full(len(p), np.nan)
    stepped[~np.isnan(p)] = holm(p[~np.isnan(p)])
    return tuple(
        ModelPairRow(
            first=table.models[i],
            second=table.models[j],
            estimate=float(found.estimate[k]),
            std_error=float(found.std_error[k]) if found.has_spread[k] else None,
            conf_low=_number(low[k]),
            conf_high=_number(high[k]),
            df=_number(found.df[k]),
            p_value=_number(p[k]),
            p_adjusted=_number(adjusted[k]),
            p_holm=_number(stepped[k]),
            separated=bool((low[k] > 0 or high[k] < 0) and found.df[k] >= MIN_DF),
            reason=_pair_reason(found, k, fitted.no_interval),
        )
        for k, (i, j, _) in enumerate(made)
    )


def _pair_reason(found: Contrasts, k: int, no_interval: str) -> str | None:
    if not found.has_spread[k]:
        return no_interval or NO_SPREAD
    return None if found.df[k] >= MIN_DF else _too_few_df(found.df[k])


def _too_few_df(df: float) -> str:
    return f"the estimate rests on {df:.1f} degrees of freedom; {MIN_DF} are needed"


def _clipped(ends: tuple[Floats, Floats], metric: Metric) -> tuple[Floats, Floats]:
    """No difference is wider than the metric."""
    if metric.span is None:
        return ends
    return np.maximum(ends[0], -metric.span), np.minimum(ends[1], metric.span)


def _distinct(keep: npt.NDArray[np.bool_], codes: npt.NDArray[np.int64]) -> int:
    return len(np.unique(codes[keep]))


def _n_items(table: ScenarioTable, fitted: FittedScenarios, place: int | None) -> int:
    return 0 if place is None else _distinct(fitted.laid.of_frame == place, table.codes("item", "version"))


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
