"""Where do models break? Success by model and scenario type, from a mixed model."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from evalstats import options as opt
from evalstats.analysis.design.different_users import assigned_units, rows_may_align, split_mismatch, unpaired_arms
from evalstats.analysis.design.entries import entries_of
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.scenarios.cells import (
    FittedScenarios,
    fitted_scenarios,
    no_model_because,
    plain_scenarios,
    pooled_cells,
)
from evalstats.analysis.scenarios.contrasts import cell_rows, drop_rows, item_means, mean_rows, pair_rows, within_rows
from evalstats.analysis.scenarios.design import (
    ModelChoice,
    cell_design,
    chosen_model,
    formula_design,
    weight_shares,
)
from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.analysis.scenarios.table import ScenarioTable, scenario_table
from evalstats.analysis.scenarios.variation import (
    effect_rows,
    ranking,
    reliability_of,
    term_tests,
    variance_rows,
)
from evalstats.analysis.settings import answered_by_plan, recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import has_have, is_are, plural
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan as DeclaredPlan
from evalstats.schema.plan import settled, with_plan
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import check_count
from evalstats.stats.computation import one_thread
from evalstats.table.systems import require_outcomes

DEFAULT_LEVEL = 0.95
OnStep = Callable[..., None]
_FEW_ITEMS = 10
_MOST_SPLIT = 20_000
PLAIN = "plain means of cells"
# A binomial model beyond these is not believed: log-odds between levels, and distance of a cell from its plain mean.
_WIDEST = 6.0
_FARTHEST = 0.03


@one_thread
@recorded
def scenarios(
    data: EvalData | object,
    *,
    formula: opt.Formula = None,
    metric: opt.Metric = None,
    scenario: opt.Scenario = None,
    reference: opt.ScenarioReference = None,
    weights: opt.ScenarioWeights = "equal",
    as_: opt.ScenariosAre = None,
    cluster: opt.Cluster = None,
    models: opt.Models = None,
    contrast: opt.Contrast = "model",
    paired: opt.Paired = None,
    higher_is_better: opt.HigherIsBetter = None,
    conf_level: opt.PlannedLevel = None,
    n_resamples: opt.Bootstrap = None,
    accept: opt.Accept = (),
    plan: DeclaredPlan | None = None,
    seed: opt.Seed = 0,
    on_step: OnStep | None = None,
) -> ScenarioModel:
    """Estimate every model in every scenario, and its loss from the reference scenario to each other one.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    formula
        The model in lme4's notation with the columns `score`, `model`, `scenario`, `item`, `version` and the data's factors,
        such as "score ~ model * scenario + (1 | item)". None: chosen from the design of the data, and said.
    metric, cluster, models, contrast, higher_is_better, conf_level, accept, plan
        As in `leaderboard`; items with several versions are clusters in any case.
    scenario
        Column that names the scenarios; None for the standard one, else the only one that could name them.
    reference
        The scenario that drops are counted from, or "average". None: that of ideal users where the data mark one, else
        "average", each scenario against the mean of the others.
    paired
        As in `leaderboard`. False: each model has users or items of its own; then plain means of cells are compared, also within
        each scenario, with the CR2 covariance of users, and scenarios are fixed.
    weights
        How scenarios count in a model's mean: "equal", "observed" (by their items), or a share for every scenario (a live mix).
    as_
        "fixed" or "random" scenarios; None: fixed up to eight, random beyond.
    n_resamples
        Draws of the parametric bootstrap of the test of the interaction; None: 199 where there are fewer than 20 independent
        units and the data are small, else none. 0 for none.
    seed
        For random signs and draws.
    on_step
        Told what is being done: a text, and of draws how many are done and how many there are.

    Raises
    ------
    InputError
        If a name, column, weight or option is unknown, or the formula cannot be read.
    CannotAnswerError
        If there is nothing to estimate, or the fit fails.

    Notes
    -----
    Binary scores: a binomial mixed model (Laplace), its means averaged over the population of items. Others: a linear mixed
    model (REML). Every cell has its own fixed effect where scenarios are fixed. The covariance is clustered by item (CR2, or a
    sandwich with leverage correction), since a random intercept takes one correlation for all pairs of models, which near-copies
    among them belie. Where scenarios have items of their own and no score is missing, plain means of cells are the estimates
    and no model is fitted. Scores of sampled scenarios are shrunk towards the model's mean, and their intervals are averaged over
    what the standard deviations of scenarios could be (Rue, Martino & Chopin 2009). All changes of the table are one family
    (Benjamini & Hochberg): interval and adjusted p agree, by likelihood ratio and score of proportions where scores have bounds.
    A drop needs its interval to exclude 0, and the differences within items not to speak against it.

    References
    ----------
    Baayen, Davidson & Bates 2008, doi:10.1016/j.jml.2007.12.005; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004.

    Examples
    --------
    >>> from evalstats import datasets
    >>> found = scenarios(datasets.tenacious_held_out())
    >>> found.n_models, found.n_scenarios, found.scenario_as
    (2, 7, 'fixed')
    """
    data = as_data(data, opt.GivenOptions.of(scenarios, locals()).names())
    given: dict[str, Any] = {
        "clusters": [cluster] if isinstance(cluster, str) else cluster,
        "conf_level": conf_level,
        "accept": list(accept) or None,
    }
    if plan is not None:
        data = with_plan(data, plan)
        benchmarks = levels_of(data.outcomes["benchmark"])
        benchmark = benchmarks[0] if len(benchmarks) == 1 else ""
        metric = metric or plan.primary_for(benchmark)
        found: dict[str, Any] = settled(plan, benchmark=benchmark, metric=metric or "", **given)
        cluster, conf_level, accept = found["clusters"], found["conf_level"], found["accept"] or ()
    level = _checked(conf_level, as_=as_, formula=formula, n_resamples=n_resamples)
    data = data.with_metric(metric, higher_is_better=higher_is_better)
    require_outcomes(data, *(models or ()))
    column = data.factor(contrast)
    chosen, arms, notes = entries_of(data, metric=metric, models=models, contrast=column, least=1)
    arms, unpaired, numbered = unpaired_arms(data, arms, paired=paired)
    table = scenario_table(
        data,
        chosen,
        arms,
        scenario=scenario,
        reference=reference,
        cluster=cluster,
        contrast=column,
        accept=accept,
        apart=unpaired and len(arms) > 1,
    )
    counts = table.frame.group_by("scenario").agg(pl.struct("item", "version").n_unique().alias("n"))
    sizes = dict(counts.iter_rows())
    shares, words, told = weight_shares(
        dict(weights) if isinstance(weights, Mapping) else weights,
        table.scenarios,
        [float(sizes[name]) for name in table.scenarios],
    )
    step: OnStep = on_step or (lambda *_: None)
    step("fitting the model")
    if formula is not None:
        laid, choice = formula_design(table, formula)
    else:
        choice = chosen_model(table, as_)
        laid = cell_design(table, choice)
    plain = no_model_because(table, choice)
    if plain:
        fitted = plain_scenarios(table, laid)
        # The variation alone is split by a model then, and a binomial one of so many scores takes long.
        choice = replace(choice, family="gaussian") if table.frame.height > _MOST_SPLIT else choice
    else:
        choice, fitted = _sound(table, choice, fitted_scenarios(table, choice, laid))
    result = _answer(
        table,
        choice,
        fitted,
        conf_level=level,
        shares=shares,
        weights=words,
        n_resamples=n_resamples,
        seed=seed,
        notes=(*notes, *told),
        step=step,
    )
    split = None
    if table.different:
        split = split_mismatch(data, table.scores, assigned_units(data, table.scores, table.cluster_columns))
    aligned = rows_may_align(table.scores) if numbered else ()
    result = replace(result, notes=(*result.notes, *(() if split is None else (split,)), *aligned))
    if plan is None:
        return result
    return answered_by_plan(result, plan, benchmark=result.benchmark, metric=result.metric, **given)


def _sound(table: ScenarioTable, choice: ModelChoice, fitted: FittedScenarios) -> tuple[ModelChoice, FittedScenarios]:
    """Return the fit, or a linear one of the shares where a binomial one is not to be believed.

    Where most items always succeed or always fail, log-odds are far from normal: the standard deviation runs off and the
    averaged probability leaves the plain mean, though the fit converges.
    """
    fit = fitted.fit
    if fit is None or choice.given or choice.family != "binomial":
        return choice, fitted
    why = ""
    widest = float(np.abs(fit.theta).max(initial=0.0))
    place = fitted.laid.of_frame
    observed = np.bincount(place, weights=table.frame["score"].to_numpy()) / np.bincount(place)
    complete = len(np.unique(np.bincount(place))) == 1 or choice.scenario_as == "fixed"
    off = float(np.abs(observed - fitted.cells.value)[~fitted.cells.thin].max(initial=0.0)) if complete else 0.0
    if not fit.convergence.converged:
        why = "did not converge"
    elif widest > _WIDEST:
        why = f"puts an SD of {widest:.1f} log-odds between levels, as where most items always succeed or always fail"
    elif choice.scenario_as == "fixed" and off > _FARTHEST:
        why = f"leaves the plain mean of a cell by {100 * off:.0f} percentage points"
    if not why:
        return choice, fitted
    note = f"a binomial mixed model {why}; the numbers are those of a linear model of the shares of successes"
    linear = replace(choice, family="gaussian", notes=(*choice.notes, note))
    try:
        return linear, fitted_scenarios(table, linear, cell_design(table, linear))
    except CannotAnswerError as error:
        if fit.convergence.converged:
            raise CannotAnswerError(
                f"no model of these scores is reliable: a binomial one {why}, and of a linear one {error}"
            ) from error
        # A fit that did not converge answers nothing, and the result says so.
        return choice, fitted


def _answer(
    table: ScenarioTable,
    choice: ModelChoice,
    fitted: FittedScenarios,
    *,
    conf_level: float,
    shares: tuple[float, ...],
    weights: str,
    n_resamples: int | None,
    seed: int,
    notes: tuple[str, ...],
    step: OnStep,
) -> ScenarioModel:
    """Put the result together."""
    metric, fit, level = table.metric, fitted.fit, conf_level
    step("drops and means")
    random = choice.scenario_as == "random"
    pooled, no_pooling = (None, "") if random else pooled_cells(table, fitted, level)
    pooling = [text for text in (pooled.note if pooled else "", no_pooling) if text]
    # Against the average of the others, and on items of each model's own, no two cells are compared item by item.
    items = None if table.base == "average" or table.different else item_means(table, fitted.laid)
    cells = cell_rows(table, fitted, pooled, level)
    drops = drop_rows(table, fitted, pooled, items, reference=table.base, conf_level=level)
    if fit is not None and not fit.convergence.converged:
        drops = tuple(replace(row, verdict="invalid", verdict_reason="the fit did not converge") for row in drops)
    models, by_scenario = mean_rows(table, fitted, shares, level)
    step("tests")
    tests, untested = term_tests(table, choice, fitted, n_resamples=n_resamples, seed=seed, on_step=step)
    kind = "binomial (logit) mixed model" if choice.family == "binomial" else "linear mixed model"
    fitted_by = "" if fit is None else f"{kind}, {fit.method}"
    units = " and ".join(table.clusters) if table.clusters else "item"
    over = f"new {units}s like these" if not random else f"new {table.label} types and {units}s like these"
    step("splitting the variation")
    # Of different users nothing tells what items share.
    variances, unsplit = ((), ()) if table.different else variance_rows(table, choice, level)
    return ScenarioModel(
        about=metric.facts,
        contrast=table.contrast,
        scenario=table.label,
        by_user=table.by_user,
        different=table.different,
        scenario_as=choice.scenario_as,
        scenario_reason=choice.reason,
        reference=table.base,
        formula=choice.formula,
        family=choice.family,
        method=PLAIN if fit is None else fitted_by,
        method_reason=no_model_because(table, choice) if fit is None else _method_reason(table, choice),
        estimand="mean score of a model in a scenario, averaged over the population of items, for "
        f"{over} ({units} is the unit sampled)",
        conf_level=level,
        weights=weights,
        weight_shares=tuple(zip(table.scenarios, shares, strict=True)),
        cells=cells,
        models=models,
        scenarios=by_scenario,
        drops=drops,
        pairs=() if random else (*pair_rows(table, fitted, shares, level), *within_rows(table, fitted, level)),
        tests=tests,
        ranking=None if random else ranking(table, fitted, conf_level=level),
        variances=variances,
        effects=effect_rows(fitted, level),
        reliability=None if table.different else reliability_of(table, choice, conf_level=level, seed=seed),
        covariance_method=fitted.covariance_method,
        log_likelihood=None if fit is None else fit.log_likelihood,
        aic=None if fit is None else fit.deviance + 2 * fit.n_parameters,
        bic=None if fit is None else fit.deviance + float(np.log(fit.design.n_rows)) * fit.n_parameters,
        converged=fit is None or fit.convergence.converged,
        convergence="" if fit is None else fit.convergence.message,
        singular=() if fit is None else fit.singular,
        penalty="" if fit is None else fit.penalty,
        n_models=len(table.models),
        n_scenarios=len(table.scenarios),
        n_items=table.frame.select("item", "version").n_unique(),
        n_trials=round(float(fitted.laid.design.count.sum())),
        n_error=table.count("error"),
        n_unscored=table.count("unscored"),
        n_clusters=table.n_clusters,
        clusters=table.clusters,
        n_resamples=next((test.n_resamples for test in tests if test.n_resamples), None),
        origin=Origin(sources=sources_of(table.data, table.runs), version=toolkit_version(), seed=seed),
        notes=(
            *run_notes(table.data, table.runs),
            *metric.cautions,
            *_cautions(table, choice, fitted, table.base),
            *as_notes("choice", (*notes, *table.notes), caution=False),
            *as_notes("fit", (*fitted.notes, *pooling, *untested, *unsplit), caution=False),
            *table.kinds.notes("note"),
        ),
    )


def _method_reason(table: ScenarioTable, choice: ModelChoice) -> str:
    if choice.given:
        return "the formula was given"
    if choice.family == "binomial":
        return "scores are right or wrong"
    if table.is_single:
        return "a binomial model was not reliable, see the warnings"
    return "scores are graded"


def _cautions(table: ScenarioTable, choice: ModelChoice, fitted: FittedScenarios, reference: str) -> list[Note]:
    """Return what every reader must know."""
    found = [*as_notes("fit", choice.notes)]
    questions = table.frame.select("item", "version", "scenario").n_unique()
    missing = questions * len(table.models) - table.frame.height
    if fitted.fit is not None:
        found += as_notes("fit", fitted.fit.warnings)
    elif missing and not table.different:
        scores = f"{plural(missing, 'score')} of single models {is_are(missing)} missing"
        remedy = "Compare models on items that all of them have"
        found.append(Note(kind="missing", text=f"{scores}, so plain means are not of the same items", remedy=remedy))
    if fitted.no_interval:
        found.append(Note(kind="few", text=f"No interval can be given: {fitted.no_interval}"))
    if table.frame.select("item", "scenario").n_unique() == table.frame["item"].n_unique():
        text = "Every item belongs to one scenario, so a change may come from harder or easier items"
        found.append(Note(kind="comparability", text=text, caution=reference != "average"))
    found += _thin_cells(table, fitted)
    lost = table.count("error") + table.count("unscored")
    if lost:
        parts = ((table.count("error"), "harness error"), (table.count("unscored"), "unscored trial"))
        counted = " and ".join(plural(n, what) for n, what in parts if n)
        text = f"{counted} {is_are(lost)} dropped, not counted as wrong"
        found.append(Note(kind="missing", text=text))
    return [*found, *table.kinds.refusal(), *table.kinds.notes("weakens")]


def _thin_cells(table: ScenarioTable, fitted: FittedScenarios) -> list[Note]:
    """Return what is said of cells with few items, and of those with none."""
    n_cells = len(table.models) * len(table.scenarios)
    few = table.frame.group_by("model", "scenario").len().filter(pl.col("len") < _FEW_ITEMS).sort("model", "scenario")
    found: list[Note] = []
    if few.height:
        model, scenario, _ = few.row(0)
        have = has_have(few.height)
        text = f"{few.height:,} of {plural(n_cells, 'cell')} {have} fewer than {_FEW_ITEMS} items"
        remedy = f"Take the numbers there as rough (first: {model} in {scenario})"
        found.append(Note(kind="few", text=text, remedy=remedy))
    empty = n_cells - len(fitted.laid.cells)
    if empty:
        text = f"{empty:,} of {plural(n_cells, 'cell')} {has_have(empty)} no score, and no number is given there"
        found.append(Note(kind="missing", text=text))
    return found


def _checked(conf_level: float | None, *, as_: object, formula: str | None, n_resamples: int | None) -> float:
    level = DEFAULT_LEVEL if conf_level is None else conf_level
    if as_ is not None and formula is not None:
        raise InputError(
            f"a formula says itself whether scenarios are fixed or random; give either it or {Option('as_')}"
        )
    if n_resamples is not None:
        check_count(n_resamples, "n_resamples")
    return level
