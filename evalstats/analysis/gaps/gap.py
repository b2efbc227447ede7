"""Does the lab predict the live world, and for which models not? `gap()`: five layers, each left out where data are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from evalstats.analysis.gaps.asking import (
    benchmark_of,
    cluster_columns,
    counted_in_votes,
    factors_of,
    margin_of,
    mix_of,
    mix_set_aside,
    named_once,
    score_side,
)
from evalstats.analysis.gaps.assembling import gap_of
from evalstats.analysis.gaps.matching import Asked, matched
from evalstats.analysis.gaps.material import Options
from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.analysis.gaps.sides import by_setting, table_of
from evalstats.schema.data import EvalData
from evalstats.schema.live_mix import LiveMix
from evalstats.schema.plan import Plan, plan_account, settled, with_plan
from evalstats.stats.checks import check_count, check_level

DEFAULT_LEVEL = 0.95


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
    higher_is_better: bool | None = None,
    conf_level: float | None = None,
    top: Sequence[int] = (5, 10),
    n_resamples: int = 2000,
    min_cell: int = 10,
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
    models
        Names to keep.
    same_scale
        Whether live less lab means something. None: where both sides have outcomes (or published shares) of one metric with
        one range.
    higher_is_better
        Which way the metric is better, on both sides; it goes before what the files say. To declare it of one side, call
        `with_metric` of its data.
    conf_level
        Level of all intervals; 0.95 where neither it nor a plan says otherwise.
    top
        For each k, agreement within the k best live.
    n_resamples
        Rounds of the bootstraps.
    min_cell
        Live cells with fewer users than this are withheld, and models with fewer live users are not scored; 1 shows all.
    plan
        What was declared before looking; options that are given go before it, and the result says where it departs.
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
    given: dict[str, Any] = {"margin": margin, "conf_level": conf_level}
    lab_data, live_data = by_setting(table_of(lab)) if live is None else (table_of(lab), table_of(live))
    joined = {**({} if plan is None else plan.aliases), **(aliases or {})}
    if plan is not None:
        lab_data, live_data = with_plan(lab_data, plan), with_plan(live_data, plan)
        name = benchmark_of(live_data)
        found = settled(plan, benchmark=name, metric=live_metric or metric or "", **given)
        margin = cast("float | str | None", found["margin"])
        conf_level = cast("float | None", found["conf_level"])
    lab_data = lab_data.with_metric(lab_metric or metric, higher_is_better=higher_is_better)
    live_data = live_data.with_metric(live_metric or metric, higher_is_better=higher_is_better)
    level = check_level(DEFAULT_LEVEL if conf_level is None else conf_level)
    by = named_once(by)
    factor, shares, source = mix_of(mix, by)
    set_aside = () if factor is None else mix_set_aside(live_data, factor, shares)
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
    )
    asked = Asked(
        lab=sides[0],
        live=sides[1],
        lab_data=lab_data,
        live_data=live_data,
        lab_factors=lab_factors,
        live_factors=live_factors,
        aliases=joined,
        models=models,
        same_scale=same_scale,
        options=options,
        min_cell=check_count(min_cell, "min_cell"),
    )
    result = gap_of(matched(asked), asked)
    result = replace(result, warnings=(*set_aside, *result.warnings))
    if plan is None:
        return result
    account = plan_account(plan, benchmark=result.live.name, metric=result.live.metric, span=None, **given)
    return replace(result, plan=account, warnings=(*account.departures, *result.warnings))
