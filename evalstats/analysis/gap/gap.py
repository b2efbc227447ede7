"""Does the lab predict the live world, and for which models does it fail? `gap()`: five layers, each skipped without data."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np

from evalstats import options as opt
from evalstats.analysis.design.metric import margin_in_unit
from evalstats.analysis.gap.agreement import agreement_of
from evalstats.analysis.gap.calibration import BENT, Calibration, calibrated
from evalstats.analysis.gap.forecasts import hierarchy_of
from evalstats.analysis.gap.outcome_sums import factors_of, mix_in_live_rows, mix_of, mix_of_votes, named_once
from evalstats.analysis.gap.result import GapRow, GapVerdict, LabLiveGap, ModelGap, SideAccount
from evalstats.analysis.gap.scenario_gaps import scenario_gaps_of, without_small_cells
from evalstats.analysis.gap.score_scale import interval_of
from evalstats.analysis.gap.shared_models import SharedModels, shared_models
from evalstats.analysis.gap.side_scores import SideScores, by_setting, cluster_columns, side_scores, table_of
from evalstats.analysis.gap.standardisation import decomposition_of
from evalstats.analysis.gap.validity_threats import threats_of
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.settings import answered_by_plan, recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, Option
from evalstats.grammar import and_list, plural
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan, scale_given, settled, with_plan
from evalstats.stats.checks import FloatArray, check_count
from evalstats.stats.errors_in_variables.scores import centred_variance
from evalstats.stats.estimate import normal_quantile, t_quantile

T = TypeVar("T")
DEFAULT_LEVEL = 0.95
_MANY_DF = 200.0  # from here a t interval is a normal one


@recorded
def gap(
    lab: EvalData | object,
    live: EvalData | object | None = None,
    *,
    metric: opt.Metric = None,
    lab_metric: opt.LabMetric = None,
    live_metric: opt.LiveMetric = None,
    by: opt.MixFactors = None,
    cluster: opt.EitherCluster = "auto",
    lab_cluster: opt.LabCluster = None,
    live_cluster: opt.LiveCluster = None,
    aliases: opt.Aliases = None,
    margin: opt.GapMargin = None,
    mix: opt.Mix = None,
    models: opt.Models = None,
    same_scale: opt.SameScale = None,
    scale: opt.SetAgainstOn = "auto",
    higher_is_better: opt.HigherIsBetter = None,
    conf_level: opt.PlannedLevel = None,
    top: opt.TopLive = (5, 10),
    n_resamples: opt.Resamples = 2000,
    min_cell: opt.MinCell = opt.MIN_CELL,
    plan: Plan | None = None,
    seed: opt.Seed = 0,
) -> LabLiveGap:
    """Compare lab scores with live ones: overall agreement, the models that depart from it, and why.

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
    given: dict[str, Any] = {
        "margin": margin,
        "conf_level": conf_level,
        **scale_given(plan, scale, get_args(opt.GapScale)),
    }
    lab_data, live_data = by_setting(table_of(lab)) if live is None else (table_of(lab), table_of(live))
    if plan is not None:
        lab_data, live_data = with_plan(lab_data, plan), with_plan(live_data, plan)
        tables = (live_data.outcomes, live_data.aggregates, live_data.runs)
        named = {name for frame in tables for name in frame["benchmark"].unique()}
        benchmark = str(next(iter(named))) if len(named) == 1 else ""
        found = settled(plan, benchmark=benchmark, metric=live_metric or metric or "", **given)
        margin = cast("float | str | None", found["margin"])
        conf_level = cast("float | None", found["conf_level"])
        scale = cast("opt.GapScale", found.get("scale") or scale)
    lab_data = lab_data.with_metric(lab_metric or metric, higher_is_better=higher_is_better)
    live_data = live_data.with_metric(live_metric or metric, higher_is_better=higher_is_better)
    level, min_cell = (
        DEFAULT_LEVEL if conf_level is None else conf_level,
        check_count(min_cell, "min_cell"),
    )
    by = named_once(by)
    shares = mix_of(mix, by)
    aside: tuple[Note, ...] = () if shares is None else mix_in_live_rows(live_data, shares)
    if aside:
        shares = None
    lab_factors, live_factors = factors_of(lab_data, live_data, by, shares)
    if shares is None:
        shares = mix_of_votes(lab_data, live_data, lab_factors)
    of_lab, of_live = (
        side_scores(
            data,
            live=is_live,
            metric=own_metric or metric,
            cluster=cluster_columns(own_cluster, cluster, data),
            factors=factors,
            conf_level=level,
            min_cell=min_cell,
        )
        for data, is_live, own_metric, own_cluster, factors in (
            (lab_data, False, lab_metric, lab_cluster, lab_factors),
            (live_data, True, live_metric, live_cluster, live_factors),
        )
    )
    shared = shared_models(
        of_lab,
        of_live,
        aliases={**({} if plan is None else plan.aliases), **(aliases or {})},
        models=models,
        same_scale=same_scale,
        scale=scale,
        conf_level=level,
        margin=margin_in_unit(margin, of_live.about),
        n_resamples=check_count(n_resamples, "n_resamples", least=100),
        top=tuple(sorted({check_count(k, "an entry of top", least=3) for k in top})),
        seed=seed,
        mix=shares,
        min_cell=min_cell,
    )
    result = _answer(shared, n_lab=len(of_lab.models), n_live=len(of_live.models))
    result = replace(result, notes=_once(aside, result.notes))
    if plan is None:
        return result
    about = result.live.about
    result = answered_by_plan(result, plan, benchmark=about.benchmark, metric=about.name, **given)
    return replace(result, notes=_once(result.notes))


def _answer(shared: SharedModels, *, n_lab: int, n_live: int) -> LabLiveGap:
    """Compute every layer; what these data cannot give is left out with its reason."""
    left = list[tuple[str, str]]()
    calibration = calibrated(shared)
    if calibration.line is None:
        left.append(("calibrated gap", calibration.reason or "no line could be drawn"))

    def layer(name: str, of: Callable[[SharedModels], T]) -> T | None:
        """Return one layer, or None with its reason added to those left out."""
        try:
            return of(shared)
        except CannotAnswerError as error:
            left.append((name, str(error)))
            return None

    agreement = agreement_of(shared)
    decomposition = layer("decomposition", decomposition_of)
    scenario_gaps = layer("gaps by scenario", scenario_gaps_of)
    hierarchy = layer("forecasts for models that only the lab has", hierarchy_of)
    rows = _rows(shared, calibration)
    verdict, reason = overall_verdict(rows, calibration, shared)
    line, level = calibration.line, calibration.level
    estimand = f"live {shared.live.about.name} minus that expected from the lab's {shared.lab.about.name}"
    if line is not None:
        estimand = f"{estimand}, by the relation among the other models"
    elif shared.same_scale:
        estimand = f"live minus lab {shared.live.about.name} of these models"
    near: tuple[Note, ...] = ()
    if shared.names.near:
        pairs = and_list([" / ".join(pair) for pair in shared.names.near], 3)
        said = f"{plural(len(shared.names.near), 'pair')} of names look alike and were not joined: {pairs}"
        remedy = ("Join those that are one model with ", Option("aliases", blank="FILE"))
        near = (Note(kind="left_out", text=said, remedy=remedy),)
    scales = [
        *([f"No plain difference: {shared.not_one_scale}"] if not shared.same_scale and shared.not_one_scale else []),
        *([f"Shares enter the line as logits: {shared.scale_reason}"] if shared.scale_reason else []),
    ]
    result = LabLiveGap(
        lab=_account(shared, "lab", n_lab),
        live=_account(shared, "live", n_live),
        same_scale=shared.same_scale,
        scale_reason=shared.scale_reason,
        verdict=verdict,
        verdict_reason=reason,
        conf_level=shared.conf_level,
        margin=shared.margin,
        estimand=estimand,
        rows=rows,
        agreement=agreement,
        line=line,
        level=level,
        decomposition=decomposition,
        scenario_gaps=scenario_gaps,
        hierarchy=hierarchy,
        threats=threats_of(shared),
        left_out=tuple(left),
        near_names=shared.names.near,
        joined_by_alias=shared.names.by_alias,
        n_models=shared.n_models,
        n_resamples=shared.n_resamples,
        converged=line is None or line.converged,
        origin=Origin(sources=(*shared.lab.sources, *shared.live.sources), version=toolkit_version(), seed=shared.seed),
        notes=_once(
            shared.lab.notes,
            shared.live.notes,
            shared.notes,
            calibration.notes,
            near,
            agreement.notes,
            shared.names.notes,
            as_notes("scale", scales, caution=False),
        ),
    )
    return without_small_cells(result, shared)


def _rows(shared: SharedModels, calibration: Calibration) -> tuple[GapRow, ...]:
    """Return a line for each model, the best live first."""
    lab, live = (_scores(shared, name) for name in ("lab", "live"))
    names = [field.name for field in dataclasses.fields(ModelGap)]
    return tuple(
        GapRow(
            name=shared.models[j],
            lab_name=shared.lab.models[j],
            **lab[j],
            **live[j],
            **{name: getattr(calibration.rows[j], name) for name in names},
        )
        for j in shared.best_first
    )


def _scores(shared: SharedModels, name: Literal["lab", "live"]) -> list[dict[str, Any]]:
    """Return what a row says of each model's score on one side; the interval stays within the range of the metric."""
    side: SideScores = getattr(shared, name)
    errors = side.std_error()
    low = high = None
    if errors is not None:
        normal = side.df is None or side.df > _MANY_DF
        level = shared.conf_level
        reach = normal_quantile(level) if normal else t_quantile(level, max(side.df or 0.0, 1.0))
        low, high = interval_of(side, getattr(shared.scores, name), getattr(shared.scores, f"{name}_covariance"), reach)

    def at(values: FloatArray | None, j: int) -> float | None:
        return None if values is None or not np.isfinite(values[j]) else float(values[j])

    return [
        {
            name: float(side.estimate[j]),
            f"{name}_std_error": at(errors, j),
            f"{name}_low": at(low, j),
            f"{name}_high": at(high, j),
            f"{name}_n": int(side.n[j]) or None,
        }
        for j in range(len(side.models))
    ]


def _account(shared: SharedModels, name: Literal["lab", "live"], n_models: int) -> SideAccount:
    """Return what is said of one side, which has `n_models` with and without those that are shared."""
    side: SideScores = getattr(shared, name)
    covariance: FloatArray | None = getattr(shared.scores, f"{name}_covariance")
    noise = None if covariance is None else centred_variance(covariance)
    spread = float(np.var(getattr(shared.scores, name), ddof=1))
    # A vote counts for both of its models; what stands behind published numbers may be the same items for each.
    units = {"outcomes": int(side.n.sum()), "comparisons": int(side.n.sum()) // 2}.get(side.kind) or None
    return SideAccount(
        kind=side.kind,
        about=side.about,
        errors="none" if side.covariance is None else "marginal" if side.marginal else "full",
        n_models=n_models,
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
        link=side.link,
    )


def overall_verdict(rows: Sequence[ModelGap], calibration: Calibration, shared: SharedModels) -> tuple[GapVerdict, str]:
    """Return the verdict on all models together.

    Two questions are asked of one scale, whether any model stands off and whether the level differs, so each has to hold at
    half of what is left of the level; the word over everything is then wrong no more often than it says.
    """
    level = calibration.level
    judged = [row for row in rows if row.verdict != "invalid"]
    by_difference = [row for row in rows if row.difference_verdict not in {None, "invalid"}]
    if not judged and not by_difference and level is None:
        return "invalid", calibration.reason or "no model's gap can be estimated"
    models = [row.p_adjusted for row in judged if row.verdict == "gap"]
    if not judged:
        models = [row.difference_adjusted for row in by_difference if row.difference_verdict == "gap"]
    limit = (1.0 - shared.conf_level) / (1 if level is None else 2)
    level_differs = level is not None and level.verdict == "gap"
    apart = level_differs and level is not None and level.p_value is not None and level.p_value <= limit

    def why(*, apart: bool) -> str:
        n, said = len(models), ["the mean of all models differs between lab and live"] if apart else []
        if n and judged:
            said.append(f"{n} {'model lies' if n == 1 else 'models lie'} off the line through the others")
        elif n:
            said.append(f"{n} {'model differs' if n == 1 else 'models differ'} between lab and live")
        return " and ".join(said)

    if apart or any(p is not None and p <= limit for p in models):
        return "gap", why(apart=apart)
    if models or level_differs:
        return (
            "inconclusive",
            f"{why(apart=level_differs)}, but not after adjustment for two questions (models and level)",
        )
    if calibration.line is not None and calibration.line.bent:
        return "inconclusive", BENT
    if shared.margin is None:
        return "inconclusive", "no gap is shown, and without a declared margin nothing can be called aligned"
    verdicts = [verdict for row in rows for verdict in (row.verdict, row.difference_verdict) if verdict is not None]
    if level is not None:
        verdicts.append(level.verdict)
    if all(verdict == "aligned" for verdict in verdicts):
        return "aligned", "the narrower interval of every model's gap lies inside the margin"
    return "inconclusive", "no gap is shown, and not every interval lies inside the margin"


def _once(*said: tuple[Note, ...]) -> tuple[Note, ...]:
    """Put notes together, each once: what data these are first, then cautions."""
    every = list(dict.fromkeys(each for part in said for each in part))
    return tuple(sorted(every, key=lambda note: (note.kind not in ("simulated", "withheld"), not note.caution)))
