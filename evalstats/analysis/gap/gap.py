"""Does the lab predict the live world, and for which models not? `gap()`: five layers, each left out where data are missing."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np

from evalstats.analysis.gap.agreement import agreement_of, slices_of
from evalstats.analysis.gap.calibration import BENT, Calibration, ModelGap, calibrated
from evalstats.analysis.gap.forecasts import drop_forecast_of, hierarchy_of
from evalstats.analysis.gap.material import Material, Options, Side
from evalstats.analysis.gap.options import MIN_CELL, Scale
from evalstats.analysis.gap.result import GapRow, GapVerdict, LabLiveGap, LevelGap, SideAccount
from evalstats.analysis.gap.scenario_gaps import scenario_gaps_of, without_small_cells
from evalstats.analysis.gap.score_scale import interval_of
from evalstats.analysis.gap.shared_models import Asked, Matched, matched
from evalstats.analysis.gap.sides import (
    benchmark_of,
    by_setting,
    cluster_columns,
    counted_in_votes,
    factors_of,
    margin_of,
    mix_of,
    mix_set_aside,
    named_once,
    score_side,
    table_of,
)
from evalstats.analysis.gap.standardisation import decomposition_of
from evalstats.analysis.gap.validity_threats import threats_of
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.document.numbers import plural, several
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.schema.data import EvalData
from evalstats.schema.plan import LiveMix, Plan, plan_account, scale_given, settled, with_plan
from evalstats.stats.checks import FloatArray, check_count, check_level
from evalstats.stats.errors_in_variables.scores import centred_variance
from evalstats.stats.estimate import normal_quantile, t_quantile

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
    verdict, reason = overall_verdict(rows, calibration, made)
    result = LabLiveGap(
        lab=_account(made, "lab", asked.lab.side),
        live=_account(made, "live", asked.live.side),
        same_scale=made.same_scale,
        scale_reason=made.scale_reason,
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
        notes=_once(
            made.lab.notes,
            made.live.notes,
            found.notes,
            calibration.notes,
            _names(found),
            agreement.notes,
            found.names.notes,
            _scale_note(found),
        ),
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
    lab, live = (_scores(made, name) for name in ("lab", "live"))
    order: list[int] = np.lexsort((np.arange(made.n_models), -made.own_scores.live)).tolist()
    names = [field.name for field in dataclasses.fields(ModelGap)]
    return tuple(
        GapRow(
            name=made.models[j],
            lab_name=made.lab.models[j],
            **lab[j],
            **live[j],
            **{name: getattr(calibration.rows[j], name) for name in names},
        )
        for j in order
    )


def _scores(made: Material, name: Literal["lab", "live"]) -> list[dict[str, Any]]:
    """Return what a row says of each model's score on one side; the interval stays within the range of the metric."""
    side, level = (made.lab if name == "lab" else made.live), made.options.conf_level
    errors = side.std_error()
    low = high = None
    if errors is not None:
        normal = side.df is None or side.df > _MANY_DF
        reach = normal_quantile(level) if normal else t_quantile(level, max(side.df or 0.0, 1.0))
        low, high = interval_of(made, name, reach)
    return [
        {
            name: float(side.estimate[j]),
            f"{name}_std_error": _at(errors, j),
            f"{name}_low": _at(low, j),
            f"{name}_high": _at(high, j),
            f"{name}_rank_low": int(side.rank_low[j]) or None,
            f"{name}_rank_high": int(side.rank_high[j]) or None,
            f"{name}_n": int(side.n[j]) or None,
        }
        for j in range(len(side.models))
    ]


def _at(values: FloatArray | None, j: int) -> float | None:
    return None if values is None or not np.isfinite(values[j]) else float(values[j])


def _account(made: Material, name: Literal["lab", "live"], whole: Side) -> SideAccount:
    side: Side = getattr(made, name)
    covariance: FloatArray | None = getattr(made.scores, f"{name}_covariance")
    noise = None if covariance is None else centred_variance(covariance)
    spread = float(np.var(getattr(made.scores, name), ddof=1))
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
        n_clusters=side.n_distinct or None,
        clusters=side.clusters,
        reliability=None if noise is None or spread == 0.0 else 1.0 - noise / spread,
        noise=None if noise is None else float(np.sqrt(noise)),
        spread=float(np.sqrt(spread)),
        first_day=side.first_day,
        last_day=side.last_day,
        method=side.method,
        only_here=tuple(name for name, _, _ in side.only_here),
        low=side.low,
        high=side.high,
        link=getattr(made, f"{name}_link"),
    )


def overall_verdict(rows: Sequence[ModelGap], calibration: Calibration, made: Material) -> tuple[GapVerdict, str]:
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
    apart = level is not None and level.verdict == "gap" and level.p_value is not None and level.p_value <= limit
    if sure or apart:
        return "gap", _why_gap(len(models), apart=apart, by_line=bool(judged))
    if models or (level is not None and level.verdict == "gap"):
        what = _why_gap(len(models), apart=level is not None and level.verdict == "gap", by_line=bool(judged))
        return "inconclusive", f"{what}, but not once models and level count as two questions"
    if calibration.line is not None and calibration.line.bent:
        return "inconclusive", BENT
    if made.options.margin is not None and _all_aligned(rows, level):
        return "aligned", "the narrower interval of every model's gap lies inside the margin"
    if made.options.margin is None:
        return "inconclusive", "no gap is shown, and without a declared margin nothing can be called aligned"
    return "inconclusive", "no gap is shown, and not every interval lies inside the margin"


def _all_aligned(rows: Sequence[ModelGap], level: LevelGap | None) -> bool:
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
        return f"live minus lab {made.live.metric} of these models" if made.same_scale else of
    return f"{of}, by the relation that holds among the other models"


def _once(*said: tuple[Note, ...]) -> tuple[Note, ...]:
    """Put notes together, each once: what data these are first, then cautions."""
    every = list(dict.fromkeys(each for part in said for each in part))
    return tuple(sorted(every, key=lambda note: (note.kind not in ("simulated", "withheld"), not note.caution)))


def _names(found: Matched) -> tuple[Note, ...]:
    """Warn of names that look alike and were not joined."""
    near = found.names.near
    if not near:
        return ()
    shown = several([" / ".join(pair) for pair in near], 3)
    said = f"{plural(len(near), 'pair')} of names look alike and were not joined: {shown}"
    return (
        Note(
            kind="left_out", text=said, remedy=("Join those that are one model with ", Option("aliases", blank="FILE"))
        ),
    )


def _scale_note(found: Matched) -> tuple[Note, ...]:
    made, said = found.material, list[str]()
    if not made.same_scale and found.scale_reason:
        said.append(f"No plain difference: {found.scale_reason}")
    if made.scale_reason:
        said.append(f"Shares enter the line as logits: {made.scale_reason}")
    return as_notes("scale", said, caution=False)


DEFAULT_LEVEL = 0.95


@recorded
def gap(
    lab: EvalData | object,
    live: EvalData | object | None = None,
    *,
    metric: str | None = None,
    lab_metric: str | None = None,
    live_metric: str | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = "auto",
    lab_cluster: str | Sequence[str] | None = None,
    live_cluster: str | Sequence[str] | None = None,
    aliases: Mapping[str, str] | None = None,
    margin: float | str | None = None,
    mix: LiveMix | Mapping[str, float] | None = None,
    models: Sequence[str] | None = None,
    same_scale: bool | None = None,
    scale: Scale = "auto",
    higher_is_better: bool | None = None,
    conf_level: float | None = None,
    top: Sequence[int] = (5, 10),
    n_resamples: int = 2000,
    min_cell: int = MIN_CELL,
    plan: Plan | None = None,
    seed: int = 0,
) -> LabLiveGap:
    """Set lab scores against live ones: how far they agree, for which models they do not, and why.

    Parameters
    ----------
    lab, live
        What `evalstats.read`, `from_frame`, `from_votes` or a store gave, or a table with the glossary's columns. Each side
        may hold outcomes, votes or published numbers. Without `live`, `lab` is split by its column `setting`.
    metric, lab_metric, live_metric
        The score to use, on both sides or on one; needed only where a benchmark declares no headline.
    by
        Factors (scenario, user kind, language) that make up the mix; by itself `scenario`, where both sides have it.
    cluster, lab_cluster, live_cluster
        By what rows share their errors. "auto": in the lab what is declared, and the item over its variants; live the user,
        else the session; of votes prompt, rater, session and event.
    aliases
        Name of a model on either side to the name it shall have. Names that merely look alike are proposed in the result and
        not joined.
    margin
        The largest gap that does not matter, in the live metric's unit ("5pp" for a share). Without one no model can be
        called aligned.
    mix
        Shares of the live world by level of a factor, where live rows have no such labels: a `LiveMix`, or a mapping for the
        factor named in `by` (else `scenario`).
    models, conf_level, higher_is_better, plan
        As in `leaderboard`; to declare the direction of one side alone, call `with_metric` of its data.
    same_scale
        Whether live minus lab means something. None: where both sides have outcomes (or published shares) of one metric with
        one range.
    scale
        On what scores are held against each other. "logit": shares of right answers as logits, "identity": as they are. By itself
        logits where the other side holds ratings, which are logits, or where the scores bend away from a line.
    top
        For each k, agreement within the k best live.
    n_resamples
        Rounds of the bootstraps.
    min_cell
        Live cells with fewer users than this are withheld, and models with fewer live users are not scored; 1 shows all.
    seed
        For everything that is drawn.

    Returns
    -------
    LabLiveGap
        A line for each shared model, agreement with intervals from three sources, the line with errors on both sides, the
        parts of the gap, forecasts, threats to validity, and what was left out and why.

    Raises
    ------
    InputError
        If a name, column or option is unknown, or no data are given.
    CannotAnswerError
        If the sides share fewer than three models; names that look alike are proposed.

    Notes
    -----
    Live on lab by ordinary regression calls up to half of all models gaps when there is none, since the lab is measured with
    error. Here the line has errors on both sides and a spread between models (York 2004), each model is judged by the line
    through the others, and models are adjusted for as one family. Fewer than six models get no line.

    References
    ----------
    York et al. 2004, doi:10.1119/1.1632486; Kitagawa 1955; Perlitz et al. 2024, arXiv:2407.13696; Benjamini & Yekutieli 2005.

    Examples
    --------
    >>> lab = {
    ...     "model": list("abcdefgh"),
    ...     "estimate": [0.9, 0.8, 0.75, 0.7, 0.6, 0.55, 0.5, 0.4],
    ...     "std_error": [0.02] * 8,
    ... }
    >>> live = {
    ...     "model": list("abcdefgh"),
    ...     "estimate": [1290, 1240, 1235, 1190, 1150, 1125, 1100, 1050],
    ...     "std_error": [8] * 8,
    ... }
    >>> found = gap(lab, live, n_resamples=200)
    >>> found.n_models, found.verdict, found.flagged()
    (8, 'inconclusive', ())
    """
    if scale not in get_args(Scale):
        raise InputError(f"scale is {scale!r}; give one of {', '.join(get_args(Scale))}")
    given: dict[str, Any] = {"margin": margin, "conf_level": conf_level, **scale_given(plan, scale, get_args(Scale))}
    lab_data, live_data = by_setting(table_of(lab)) if live is None else (table_of(lab), table_of(live))
    joined = {**({} if plan is None else plan.aliases), **(aliases or {})}
    if plan is not None:
        lab_data, live_data = with_plan(lab_data, plan), with_plan(live_data, plan)
        name = benchmark_of(live_data)
        found = settled(plan, benchmark=name, metric=live_metric or metric or "", **given)
        margin = cast("float | str | None", found["margin"])
        conf_level = cast("float | None", found["conf_level"])
        scale = cast("Scale", found.get("scale") or scale)
    lab_data = lab_data.with_metric(lab_metric or metric, higher_is_better=higher_is_better)
    live_data = live_data.with_metric(live_metric or metric, higher_is_better=higher_is_better)
    level = check_level(DEFAULT_LEVEL if conf_level is None else conf_level)
    by = named_once(by)
    factor, shares, source = mix_of(mix, by)
    set_aside: tuple[Note, ...] = () if factor is None else mix_set_aside(live_data, factor, shares)
    if set_aside:
        factor, shares, source = None, {}, ""
    lab_factors, live_factors = factors_of(lab_data, live_data, by, factor)
    if factor is None:
        factor, shares, source = counted_in_votes(lab_data, live_data, lab_factors)
    sides = [
        score_side(
            data,
            live=is_live,
            metric=own_metric or metric,
            cluster=cluster_columns(own_cluster, cluster, data),
            factors=factors,
            conf_level=level,
            min_cell=check_count(min_cell, "min_cell"),
        )
        for data, is_live, own_metric, own_cluster, factors in (
            (lab_data, False, lab_metric, lab_cluster, lab_factors),
            (live_data, True, live_metric, live_cluster, live_factors),
        )
    ]
    options = Options(
        conf_level=level,
        margin=margin_of(margin, sides[1]),
        n_resamples=check_count(n_resamples, "n_resamples", least=100),
        top=tuple(sorted({check_count(k, "an entry of top", least=3) for k in top})),
        seed=check_count(seed, "seed"),
        mix_factor=factor,
        mix=shares,
        mix_source=source,
        scale=scale,
    )
    asked = Asked(
        lab=sides[0],
        live=sides[1],
        aliases=joined,
        models=models,
        same_scale=same_scale,
        options=options,
        min_cell=check_count(min_cell, "min_cell"),
    )
    result = gap_of(matched(asked), asked)
    result = replace(result, notes=_once(set_aside, result.notes))
    if plan is None:
        return result
    account = plan_account(plan, benchmark=result.live.name, metric=result.live.metric, span=None, **given)
    return replace(result, plan=account, notes=_once(as_notes("plan", account.departures), result.notes))
