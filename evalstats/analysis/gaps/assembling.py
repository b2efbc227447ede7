"""Put the result of `gap()` together: every layer that the data allow, and why the others are left out."""

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from evalstats.analysis.gaps.agreeing import agreement_of
from evalstats.analysis.gaps.calibrating import Calibration, ModelGap, calibrated
from evalstats.analysis.gaps.decomposing import decomposition_of
from evalstats.analysis.gaps.dropping import drop_forecast_of
from evalstats.analysis.gaps.matching import Asked, Matched
from evalstats.analysis.gaps.material import Material, Side
from evalstats.analysis.gaps.predicting import hierarchy_of
from evalstats.analysis.gaps.results import GapRow, GapVerdict, LabLiveGap, LevelGap, SideAccount
from evalstats.analysis.gaps.scenario_gapping import scenario_gaps_of
from evalstats.analysis.gaps.slicing import slices_of
from evalstats.analysis.gaps.threatening import threats_of
from evalstats.analysis.gaps.withholding import without_small_cells
from evalstats.analysis.provenance import toolkit_version
from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import normal_quantile, t_quantile
from evalstats.stats.gap.scores import centred_variance

T = TypeVar("T")
_MANY_DF = 200.0  # from here a t interval is a normal one
NOT_ONE_SCALE = "the two sides are not on one scale"


def gap_of(found: Matched, asked: Asked) -> LabLiveGap:
    """Return the result."""
    made = found.material
    left: list[tuple[str, str]] = []
    agreement = replace(agreement_of(made), slices=slices_of(made, asked))
    calibration = calibrated(made)
    if calibration.line is None:
        left.append(("calibrated gap", calibration.reason or "no line could be drawn"))
    no_cells = made.no_cells_reason or "no outcomes by scenario"
    why_not = no_cells if made.cells is None else _no_gaps_by_cell(made, found.scale_reason)
    usable = made.cells is not None
    decomposition = _layer("decomposition", decomposition_of, made, left, None if usable else no_cells)
    by_scenario = made.cells is not None and made.cells.live is not None and made.same_scale
    scenario_gaps = _layer("gaps by scenario", scenario_gaps_of, made, left, None if by_scenario else why_not)
    drops = _layer("drop from ideal to non-ideal users", drop_forecast_of, made, left, None)
    hierarchy = _layer("forecasts for models that only the lab has", hierarchy_of, made, left, None)
    rows = _rows(made, calibration)
    verdict, reason = _overall(rows, calibration, made)
    result = LabLiveGap(
        lab=_account(made.lab, asked.lab.side),
        live=_account(made.live, asked.live.side),
        same_scale=made.same_scale,
        verdict=verdict,
        verdict_reason=reason,
        conf_level=made.options.conf_level,
        margin=made.options.margin,
        method=_method(calibration),
        method_reason=_method_reason(calibration, made),
        estimand=_estimand(calibration, made),
        rows=rows,
        agreement=agreement,
        line=calibration.line,
        level=calibration.level,
        decomposition=decomposition,
        scenario_gaps=scenario_gaps,
        drops=drops,
        hierarchy=hierarchy,
        threats=threats_of(made),
        left_out=tuple(left),
        near_names=found.names.near,
        joined_by_alias=found.names.by_alias,
        n_models=made.n_models,
        n_resamples=made.options.n_resamples,
        converged=calibration.line is None or calibration.line.converged,
        seed=made.options.seed,
        version=toolkit_version(),
        sources=(*made.lab.sources, *made.live.sources),
        warnings=_once(
            _names(found),
            found.warnings,
            made.lab.warnings,
            made.live.warnings,
            agreement.warnings,
            calibration.warnings,
        ),
        notes=_once(found.names.notes, _scale_note(found), made.lab.notes, made.live.notes),
    )
    return without_small_cells(result, made, asked.min_cell)


def _no_gaps_by_cell(made: Material, scale_reason: str) -> str:
    if made.cells is not None and made.cells.live is None:
        return "the live scores have no such labels: only their mix is known, so live and lab cannot be compared level by level"
    return f"{NOT_ONE_SCALE}: {scale_reason}"


def _layer(
    name: str, of: Callable[[Material], T], made: Material, left: list[tuple[str, str]], why_not: str | None
) -> T | None:
    """Return one layer, or None with its reason added to those left out."""
    if why_not is not None:
        left.append((name, why_not))
        return None
    try:
        return of(made)
    except CannotAnswerError as error:
        left.append((name, str(error)))
        return None


def _rows(made: Material, calibration: Calibration) -> tuple[GapRow, ...]:
    """Return a line for each model, the best live first."""
    lab, live = _intervals(made.lab, made.options.conf_level), _intervals(made.live, made.options.conf_level)
    errors = made.lab.std_error(), made.live.std_error()
    order: list[int] = np.lexsort((np.arange(made.n_models), -made.scores.live)).tolist()
    lines: list[GapRow] = []
    for j in order:
        lab_ranks = _ranks(made.lab, j)
        live_ranks = _ranks(made.live, j)
        own = {field.name: getattr(calibration.rows[j], field.name) for field in dataclasses.fields(ModelGap)}
        lines.append(
            GapRow(
                name=made.models[j],
                lab_name=made.lab.models[j],
                lab=float(made.lab.estimate[j]),
                live=float(made.live.estimate[j]),
                lab_std_error=_at(errors[0], j),
                lab_low=_at(lab[0], j),
                lab_high=_at(lab[1], j),
                lab_rank_low=lab_ranks[0],
                lab_rank_high=lab_ranks[1],
                live_std_error=_at(errors[1], j),
                live_low=_at(live[0], j),
                live_high=_at(live[1], j),
                live_rank_low=live_ranks[0],
                live_rank_high=live_ranks[1],
                lab_n=int(made.lab.n[j]) or None,
                live_n=int(made.live.n[j]) or None,
                **own,
            )
        )
    return tuple(lines)


def _intervals(side: Side, level: float) -> tuple[FloatArray | None, FloatArray | None]:
    errors = side.std_error()
    if errors is None:
        return None, None
    reach = normal_quantile(level) if side.df is None or side.df > _MANY_DF else t_quantile(level, max(side.df, 1.0))
    low, high = side.estimate - reach * errors, side.estimate + reach * errors
    return (
        low if side.low is None else np.maximum(low, side.low),
        high if side.high is None else np.minimum(high, side.high),
    )


def _at(values: FloatArray | None, j: int) -> float | None:
    return None if values is None or not np.isfinite(values[j]) else float(values[j])


def _ranks(side: Side, j: int) -> tuple[int | None, int | None]:
    return (int(side.rank_low[j]), int(side.rank_high[j])) if side.rank_low[j] else (None, None)


def _account(side: Side, whole: Side) -> SideAccount:
    noise = None if side.covariance is None else centred_variance(side.covariance)
    spread = float(np.var(side.estimate, ddof=1))
    # A vote counts for both of its models; what stands behind published numbers may be the same items for each.
    units = {"outcomes": int(side.n.sum()), "comparisons": int(side.n.sum()) // 2}.get(side.kind) or None
    return SideAccount(
        kind=side.kind,
        name=side.name,
        metric=side.metric,
        metric_kind=side.metric_kind,
        unit=side.unit,
        scale=side.scale,
        higher_is_better=not side.turned,
        direction=side.direction,
        errors="none" if side.covariance is None else "marginal" if side.marginal else "full",
        n_models=len(whole.models),
        n_units=units,
        unit_word={"outcomes": "scores", "comparisons": "votes", "aggregates": "units"}[side.kind],
        n_clusters=int(side.n_clusters.max()) or None,
        clusters=side.clusters,
        reliability=None if noise is None or spread == 0.0 else 1.0 - noise / spread,
        noise=None if noise is None else float(np.sqrt(noise)),
        spread=float(np.sqrt(spread)),
        first_day=side.first_day,
        last_day=side.last_day,
        method=side.method,
        only_here=tuple(name for name, _, _ in side.only_here),
    )


def _overall(rows: tuple[GapRow, ...], calibration: Calibration, made: Material) -> tuple[GapVerdict, str]:
    """Return the verdict on all models together.

    Two questions are asked of one scale, whether any model stands off and whether the level differs, so each has to hold at
    half of what is left of the level; the word over everything is then wrong no more often than it says.
    """
    level = calibration.level
    judged = [row for row in rows if row.verdict != "invalid"]
    by_difference = [row for row in rows if row.difference_verdict not in {None, "invalid"}]
    if not judged and not by_difference and level is None:
        return "invalid", calibration.reason or "no model's gap can be estimated"
    models = [(row, row.p_adjusted) for row in judged if row.verdict == "gap"]
    if not judged:
        models = [(row, row.difference_adjusted) for row in by_difference if row.difference_verdict == "gap"]
    limit = (1.0 - made.options.conf_level) / (1 if level is None else 2)
    sure = any(p is not None and p <= limit for _, p in models)
    apart = level is not None and level.verdict == "gap" and level.p_value <= limit
    if sure or apart:
        return "gap", _why_gap(len(models), apart=apart, by_line=bool(judged))
    if models or (level is not None and level.verdict == "gap"):
        what = _why_gap(len(models), apart=level is not None and level.verdict == "gap", by_line=bool(judged))
        return "inconclusive", f"{what}, but only just: not once the models and the level count as two questions"
    if made.options.margin is not None and _all_aligned(rows, level):
        return "aligned", "the narrower interval of every model's gap lies inside the margin"
    if made.options.margin is None:
        return "inconclusive", "no gap is shown, and without a declared margin nothing can be called aligned"
    return "inconclusive", "no gap is shown, and not every interval lies inside the margin"


def _all_aligned(rows: tuple[GapRow, ...], level: LevelGap | None) -> bool:
    every = [verdict for row in rows for verdict in (row.verdict, row.difference_verdict) if verdict is not None]
    return all(verdict == "aligned" for verdict in every) and (level is None or level.verdict == "aligned")


def _why_gap(n_models: int, *, apart: bool, by_line: bool) -> str:
    said = ["the mean of all models differs between lab and live"] if apart else []
    if n_models and by_line:
        said.append(f"{n_models} {'model stands' if n_models == 1 else 'models stand'} off the line through the others")
    elif n_models:
        said.append(f"{n_models} {'model differs' if n_models == 1 else 'models differ'} between lab and live")
    return " and ".join(said)


def _method(calibration: Calibration) -> str:
    if calibration.line is not None:
        return "York's line with errors on both sides and a spread between models; each model against the line of the others"
    return "differences of scores" if calibration.level is not None else "none"


def _method_reason(calibration: Calibration, made: Material) -> str:
    if calibration.line is not None:
        return "the lab is measured with error, so ordinary regression would call noise a gap"
    return calibration.reason or f"{made.n_models} models carry no line"


def _estimand(calibration: Calibration, made: Material) -> str:
    of = f"live {made.live.metric} less what the lab's {made.lab.metric} leads to expect"
    if calibration.line is None:
        return f"live less lab {made.live.metric} of these models" if made.same_scale else of
    return f"{of}, by the relation that holds among the other models"


def _once(*said: tuple[str, ...]) -> tuple[str, ...]:
    """Put sentences together, each once; the one about checks that were not asked for is none here."""
    return tuple(dict.fromkeys(each for part in said for each in part if not each.endswith("as asked")))


def _names(found: Matched) -> tuple[str, ...]:
    """Warn of names that look alike and were not joined."""
    near = found.names.near
    if not near:
        return ()
    first = ", ".join(f"{one} / {other}" for one, other in near[:3])
    more = f" and {len(near) - 3} more" if len(near) > 3 else ""
    said = (
        f"names that look alike were not joined: {first}{more}; join with aliases those that are one model (--near-names FILE "
        "writes them down)"
    )
    return (said,)


def _scale_note(found: Matched) -> tuple[str, ...]:
    return (
        () if found.material.same_scale or not found.scale_reason else (f"no plain difference: {found.scale_reason}",)
    )
