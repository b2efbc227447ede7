"""What scores vary by: tests of whole terms, shares of the variance, levels that stand out, and reliability."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal

import numpy as np
import polars as pl
from scipy import special

from evalstats.analysis.scenarios.cells import FittedScenarios, SampledCells
from evalstats.analysis.scenarios.contrasts import MIN_DIFFERENT
from evalstats.analysis.scenarios.design import ModelChoice, places, random_intercept
from evalstats.analysis.scenarios.result import (
    Crossing,
    DesignPoint,
    EffectRow,
    Needed,
    RankingChange,
    ScenarioReliability,
    TermTest,
    VarianceRow,
)
from evalstats.analysis.scenarios.table import COUNT, WITHIN, ScenarioTable
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import plural
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.degrees_of_freedom import variance_parameters
from evalstats.stats.mixed.design import MixedDesign, MixedFit
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.interaction import parallelism_test, ranking_change
from evalstats.stats.mixed.likelihood_ratio import likelihood_ratio, null_design, parametric_bootstrap, variance_ratio
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.reliability import (
    Coefficient,
    GStudy,
    from_components,
    levels_needed,
    reliability,
    reliability_interval,
    study_sizes,
)
from evalstats.stats.variance_components import variance_components

OnStep = Callable[..., None]
INTERACTION = "model:scenario"
STRATIFIED = "permutation of scenarios within strata of equal success"
PERMUTED = "permutation of scenarios, largest studentised difference"
# A joint test of more contrasts than a quarter of the clusters has no power and takes long.
_CLUSTERS_A_CONTRAST = 4
_MOST_CROSSINGS = 50
# Below so many independent units the law of the likelihood ratio is drawn, not assumed, while that is quick.
FEW_UNITS = 20
_QUICK_ROWS = 5_000
_SINGULAR = 1e10
DEFAULT_DRAWS = 199
_LATENT = np.pi**2 / 3
_DRAWS = 4_000
_LEAST_DF = 2.0
_SAME = 1e-9
_FEW_MODELS = 5
_TARGET = 0.9
_LABELS = {
    "model": "some models are better everywhere",
    "scenario": "some scenarios are harder for every model",
    "model:scenario": "models differ in where they break",
    "item": "some items are harder for every model",
    "item:scenario": "a scenario hits some items harder",
    "item:version": "versions of one item differ",
    "item:model": "a model has items that suit it",
    "item:scenario:model": "an item suits a model in one scenario",
    "item:version:model": "a version of an item suits a model",
    "residual": "what repeats of one answer differ by, and all else",
}


def term_tests(
    table: ScenarioTable,
    choice: ModelChoice,
    fitted: FittedScenarios,
    *,
    n_resamples: int | None,
    seed: int,
    on_step: OnStep | None,
) -> tuple[tuple[TermTest, ...], tuple[str, ...]]:
    """Return the tests, the interaction first, and notes on those that could not be made.

    Where models differ on fewer than six items, the interaction has no p: so few say nothing of others, whatever the test.
    """
    if fitted.no_interval:
        return (), (f"no test of whole terms was made: {fitted.no_interval}",)
    tests, notes = _all_tests(table, choice, fitted, n_resamples=n_resamples, seed=seed, on_step=on_step)
    n, several = differing_items(table), len(table.models) > 1
    if n >= MIN_DIFFERENT:
        return tests, notes
    who = "models differ" if several else "scores differ"
    note = f"{who} on {plural(n, 'item')}, and a claim needs {MIN_DIFFERENT}"
    term = INTERACTION if several else "scenario"
    return tuple(replace(test, p_value=None, note=note) if test.term == term else test for test in tests), notes


def differing_items(table: ScenarioTable) -> int:
    """Count the independent items on which models differ; of one model those whose score is not the commonest one."""
    scores, _, unit = _questions(table)
    if len(table.models) > 1 and not table.different:
        differ = np.nanmax(scores, axis=1) - np.nanmin(scores, axis=1) > _SAME
    else:
        differ = _apart_from_most(scores)
    return int(np.unique(unit[differ]).size)


def _apart_from_most(scores: FloatArray) -> BoolArray:
    """Tell which questions have a score that is not the commonest one; shape (n_questions, n_models), NaN where there is none."""
    levels, counts = np.unique(np.round(scores[~np.isnan(scores)], 9), return_counts=True)
    return np.asarray((np.abs(scores - levels[np.argmax(counts)]) > _SAME).any(axis=1))


def _all_tests(
    table: ScenarioTable,
    choice: ModelChoice,
    fitted: FittedScenarios,
    *,
    n_resamples: int | None,
    seed: int,
    on_step: OnStep | None,
) -> tuple[tuple[TermTest, ...], tuple[str, ...]]:
    fit = fitted.fit
    if choice.scenario_as == "random":
        return ((), ()) if fit is None else _variance_tests(table, fit)
    several = len(table.models) > 1
    term = INTERACTION if several else "scenario"
    basis = _contrast_basis(fitted, several=several)
    if not len(basis):
        return (), ("no contrast of models and scenarios remains without empty cells",)
    tests: list[TermTest] = []
    notes: list[str] = []
    contrasts = basis if fit is None else basis @ fitted.cells.link_jacobian[:, -len(fit.beta) :]
    if np.abs(contrasts).max() < 1e-9:
        return (), (
            "the formula has no interaction of model and scenario: that models change alike is assumed, not tested",
        )
    if not table.different:  # else no question is answered by two models, and there is nothing to permute between them
        tests.extend(_attempt(lambda: _permuted(table, term, role="headline", seed=seed), notes, term))
    enough = len(basis) * _CLUSTERS_A_CONTRAST <= table.n_clusters
    if fitted.robust is not None and enough and not (fit is not None and fit.penalty):
        robust, rows, beta = fitted.robust, basis @ fitted.laid.rows, fitted.cells.value if fit is None else fit.beta

        def hotelling() -> TermTest:
            if np.linalg.cond(rows @ robust.covariance @ rows.T) > _SINGULAR:
                raise CannotAnswerError("some contrasts are combinations of others, as those of equal models are")
            found = robust.f_test(beta, rows)
            return TermTest(
                term=term,
                method="approximate Hotelling test (HTZ)",
                role="check",
                statistic=found.statistic,
                df=float(found.df_numerator),
                df_denominator=found.df_denominator,
                p_value=found.p_value,
            )

        tests.extend(_attempt(hotelling, notes, term))
    if several:
        tests.extend(_attempt(lambda: _permuted(table, "scenario", role="check", seed=seed), notes, "scenario"))
    wanted = n_resamples
    if wanted is None and table.n_clusters < FEW_UNITS and fitted.laid.design.n_cells <= _QUICK_ROWS:
        wanted = DEFAULT_DRAWS
    if fit is not None:
        tests.extend(
            _attempt(lambda: _ratio(fit, contrasts, term, wanted=wanted, seed=seed, on_step=on_step), notes, term)
        )
    if tests and all(test.role == "check" for test in tests) and tests[0].term == term:
        tests[0] = replace(tests[0], role="headline")
    return tuple(tests), tuple(notes)


def _attempt(make: Callable[[], TermTest], notes: list[str], term: str) -> list[TermTest]:
    """Make a test, or note why it cannot be made."""
    try:
        return [make()]
    except (CannotAnswerError, InputError) as error:
        notes.append(f"a test of {term} was not made: {error}")
        return []
    except np.linalg.LinAlgError:
        notes.append(
            f"a test of {term} was not made: some contrasts are combinations of others, as those of equal models are"
        )
        return []


def _contrast_basis(fitted: FittedScenarios, *, several: bool) -> FloatArray:
    """Return as few contrasts as span what is left of each cell once rows and columns (or the mean) are taken out."""
    cells = fitted.cells.cells
    columns = np.ones((len(cells), 1))
    if several:
        columns = np.hstack([(cells[:, k][:, None] == np.unique(cells[:, k])).astype(np.float64) for k in (0, 1)])
    left, size, _ = np.linalg.svd(columns, full_matrices=False)
    basis = left[:, size > 1e-9 * size[0]]
    rows = np.eye(len(cells)) - basis @ basis.T
    rows = rows[np.abs(rows).max(axis=1) > 1e-9]
    if not len(rows):
        return rows
    _, size, right = np.linalg.svd(rows, full_matrices=False)
    return right[size > 1e-9]


def _permuted(table: ScenarioTable, term: str, *, role: Literal["headline", "check"], seed: int) -> TermTest:
    """Test by permutation of scenarios, from the plain scores: nothing of the mixed model is in it."""
    scores, scenario, unit = _questions(table)
    alone = term == "scenario"
    if alone:
        # The mean over models of each question, free of which models have a score.
        scores = np.nanmean(scores - np.nanmean(scores, axis=0), axis=1, keepdims=True)
    binary = table.is_single and not alone
    found = parallelism_test(scores, scenario, unit, binary=binary, seed=seed)
    return TermTest(
        term=term,
        method=(STRATIFIED if binary else PERMUTED),
        role=role,
        statistic=found.statistic,
        p_value=found.p_value,
        n_resamples=found.n_resamples,
    )


def _questions(table: ScenarioTable) -> tuple[FloatArray, IntArray, IntArray]:
    """Return scores of each question (an item's version in a scenario) by each model, its scenario and its unit."""
    question = table.codes("item", "version", "scenario")
    first = np.unique(question, return_index=True)[1]
    scores = np.full((len(first), len(table.models)), np.nan)
    scores[question, places(table.frame["model"], table.models)] = table.frame["score"].to_numpy()
    return scores, table.codes("scenario")[first], table.cluster[first]


def _ratio(
    fit: MixedFit,
    contrasts: FloatArray,
    term: str,
    *,
    wanted: int | None,
    seed: int,
    on_step: OnStep | None,
) -> TermTest:
    """Test by the likelihood ratio: its law drawn from the smaller model where draws are wanted, else chi-squared."""
    # REML criteria of models with different fixed effects measure different things.
    large = fit_linear(fit.design, reml=False) if fit.method == "REML" else fit
    smaller = null_design(large.design, contrasts=contrasts)
    small = fit_binomial(smaller) if large.family == "binomial" else fit_linear(smaller, reml=False)
    if wanted:

        def told(done: int, total: int) -> None:
            if on_step is not None:
                on_step("drawing from the model", done, total)

        drawn = parametric_bootstrap(small, large, n_resamples=wanted, seed=seed, on_step=told)
        return TermTest(
            term=term,
            method="likelihood ratio, parametric bootstrap",
            role="check",
            statistic=drawn.statistic,
            p_value=drawn.p_value,
            n_resamples=wanted,
            note="; ".join(drawn.notes),
        )
    found = likelihood_ratio(small, large)
    return TermTest(
        term=term,
        method="likelihood ratio, chi-squared",
        role="check",
        statistic=found.statistic,
        df=float(sum(weight * df for weight, df in found.df)),
        p_value=found.p_value,
        note=("in log-odds; " if large.family == "binomial" else "")
        + "assumes the model's variances for every pair of models",
    )


def _variance_tests(table: ScenarioTable, fit: MixedFit) -> tuple[tuple[TermTest, ...], tuple[str, ...]]:
    """Test the variances of sampled scenarios: of the interaction first."""
    notes: list[str] = []
    tests: list[TermTest] = []
    design = fit.design
    # Whether models answer an item more than once within a scenario and the fit has no term for that.
    codes = table.codes("item", "model", "scenario")
    often = np.mean(np.bincount(codes, weights=table.frame[COUNT].to_numpy()) > 1) > 0.1
    luck = often and not any("item" in term.group and "model" in term.group for term in design.terms)
    theta_of = np.split(fit.theta, np.cumsum([term.n_theta for term in design.terms])[:-1])
    for group in (INTERACTION, "scenario"):
        if group not in {term.group for term in design.terms}:
            continue
        if group == INTERACTION and luck:
            notes.append(
                f"a test of {group} was not made: a model's own luck with an item is not in the model, and would be taken for it"
            )
            continue
        role: Literal["headline", "check"] = "check" if tests else "headline"

        def without(group: str = group, role: Literal["headline", "check"] = role) -> TermTest:
            kept = [k for k, term in enumerate(design.terms) if term.group != group]
            smaller = null_design(design, terms=kept)
            start = np.concatenate([np.zeros(0), *(theta_of[k] for k in kept)])
            small = fit_binomial(smaller) if fit.family == "binomial" else fit_linear(smaller, start=start)
            found = variance_ratio(small, fit)
            return TermTest(
                term=group,
                method="likelihood ratio of a variance, mixture of chi-squared",
                role=role,
                statistic=found.statistic,
                p_value=found.p_value,
                note="; ".join(found.notes),
            )

        tests.extend(_attempt(without, notes, group))
    if len(table.models) == 1:
        notes.append("one model: nothing is said of whether models differ in where they break")
    return tuple(tests), tuple(notes)


def ranking(table: ScenarioTable, fitted: FittedScenarios, *, conf_level: float) -> RankingChange | None:
    """Say whether the order of models changes between scenarios; None where there is one model or no interval."""
    if len(table.models) < 2 or fitted.no_interval or table.kinds.apart:
        return None
    cells = fitted.cells
    sign = 1.0 if table.metric.higher_is_better else -1.0
    grid = sign * cells.grid(cells.value)
    n_scenarios = grid.shape[1]
    covariance = np.full((grid.size, grid.size), np.nan)
    places = cells.cells[:, 0] * n_scenarios + cells.cells[:, 1]
    covariance[np.ix_(places, places)] = cells.jacobian @ cells.covariance @ cells.jacobian.T
    try:
        found = ranking_change(
            grid,
            np.nan_to_num(covariance),
            models=table.models,
            scenarios=table.scenarios,
            df=float(max(1, table.n_clusters - 1)),
            conf_level=conf_level,
        )
    except (InputError, CannotAnswerError):
        return None
    place = {name: k for k, name in enumerate(table.models)}
    at = {name: k for k, name in enumerate(table.scenarios)}

    scores, scenario_of, unit = _questions(table)

    def enough(one: str, other: str, *scenarios: str) -> bool:
        """Tell whether two models differ on six items of each of some scenarios."""
        two = scores[:, [place[one], place[other]]]
        differ = _apart_from_most(two) if table.different else np.abs(two[:, 0] - two[:, 1]) > _SAME
        of = [np.unique(unit[differ & (scenario_of == at[name])]).size for name in scenarios]
        return min(of) >= MIN_DIFFERENT

    def lead(one: str, other: str, scenario: str) -> float:
        return float(grid[place[one], at[scenario]] - grid[place[other], at[scenario]])

    crossings = [
        Crossing(
            first=swap.first,
            second=swap.second,
            ahead_in=swap.first_better,
            behind_in=swap.second_better,
            ahead_by=lead(swap.first, swap.second, swap.first_better),
            behind_by=lead(swap.second, swap.first, swap.second_better),
            p_value=swap.p_value or 1.0,
            p_adjusted=swap.p_adjusted or 1.0,
            shown=swap.shown and enough(swap.first, swap.second, swap.first_better, swap.second_better),
        )
        for swap in found
        if swap.first_better is not None and swap.second_better is not None and swap.p_value is not None
    ]
    crossings = [row for row in crossings if row.ahead_by > 0 and row.behind_by > 0]
    crossings.sort(key=lambda row: (row.p_value, row.first, row.second))
    return RankingChange(
        shown=any(row.shown for row in crossings),
        p_value=min((row.p_adjusted for row in crossings), default=None),
        method="intersection-union of one-sided tests, Holm over pairs",
        n_crossed=len(crossings),
        crossings=tuple(crossings[:_MOST_CROSSINGS]),
    )


def variance_rows(
    table: ScenarioTable, choice: ModelChoice, conf_level: float
) -> tuple[tuple[VarianceRow, ...], tuple[str, ...]]:
    """Split the variance of a single score with models, scenarios and items all taken as samples."""
    several = ("model", "model:scenario") if len(table.models) > 1 else ()
    groups = [*several[:1], "scenario", *several[1:], *choice.item_terms]
    binomial = choice.family == "binomial"
    share = table.frame["score"].to_numpy().astype(np.float64)
    design = MixedDesign(
        fixed=distinct_rows(np.ones((1, 1)), np.zeros(table.frame.height, dtype=np.int64)),
        fixed_names=("(Intercept)",),
        terms=tuple(random_intercept(table, group) for group in groups),
        count=table.frame[COUNT].to_numpy().astype(np.float64),
        response=np.clip(share, 0.0, 1.0) if table.is_single else share,
        within=0.0 if binomial else float(table.frame[WITHIN].sum()),
    )
    try:
        fit = fit_binomial(design) if binomial else fit_linear(design)
    except (CannotAnswerError, InputError) as error:
        return (), (f"the variation was not split: {error}",)
    if not fit.convergence.converged:
        return (), (f"the variation was not split: the fit did not converge ({fit.convergence.message})",)
    rows = _component_rows(fit, conf_level)
    total = sum(row.variance for row in rows)
    told = tuple(f"In the split of the variation, where all sources are random: {text}" for text in fit.warnings)
    return tuple(replace(row, share=row.variance / total) for row in rows), told


def _component_rows(fit: MixedFit, conf_level: float) -> list[VarianceRow]:
    """One row for each random intercept, then what is left."""
    variances, free = _components(fit)
    levels = [term.n_levels for term in fit.design.terms]
    rows: list[VarianceRow] = []
    for name, n, variance, df in zip(
        [*(term.group for term in fit.design.terms), "residual"], [*levels, None], variances, free, strict=True
    ):
        low, high = _sd_interval(variance, df, conf_level)
        rows.append(
            VarianceRow(
                term=name,
                label=_LABELS.get(name, f"levels of {name} differ"),
                variance=float(variance),
                std_dev=float(np.sqrt(variance)),
                conf_low=low,
                conf_high=high,
                n_levels=n,
                singular=n is not None and bool(variance < 1e-10),
            )
        )
    if fit.family == "binomial":
        label = "noise of a single answer"
        rows[-1] = VarianceRow(term="residual", label=label, variance=_LATENT, std_dev=_LATENT**0.5)
    return rows


def _components(fit: MixedFit) -> tuple[FloatArray, FloatArray]:
    """Variances of intercepts and the residual, with the degrees of freedom that match their estimated variance.

    Satterthwaite: df = 2 v^2 / Var(v), so that v df / chi-squared(df) has the right first two moments.
    """
    theta = fit.theta
    variances = np.append((fit.sigma * theta) ** 2, fit.sigma**2)
    if fit.family == "binomial":
        spread = np.zeros((len(theta) + 1,) * 2)
        if fit.joint_covariance is not None:
            spread[:-1, :-1] = fit.joint_covariance[: len(theta), : len(theta)]
    else:
        spread = variance_parameters(fit).covariance
    # d log v = 2 d log theta + 2 d log sigma.
    inverse = np.divide(1.0, theta, out=np.zeros(len(theta)), where=theta > 1e-8)
    slope = 2.0 * np.hstack([np.diag(np.append(inverse, 0.0))])
    slope[:, -1] += 2.0 * (fit.family == "gaussian")
    of_log = np.einsum("ip,pq,iq->i", slope, spread, slope)
    return variances, np.divide(2.0, of_log, out=np.zeros(len(variances)), where=of_log > 0)


def _sd_interval(variance: float, df: float, conf_level: float) -> tuple[float | None, float | None]:
    if not (variance > 1e-10 and df >= _LEAST_DF):
        return None, None
    tail = (1 - conf_level) / 2
    ends = [float(np.sqrt(variance * df / special.chdtri(df, p))) for p in (tail, 1 - tail)]
    return ends[0], ends[1] if np.isfinite(ends[1]) else None


def effect_rows(fitted: FittedScenarios, conf_level: float) -> tuple[EffectRow, ...]:
    """Return every level of the random effects of the fit, with what is left open about it."""
    tail = (1 - conf_level) / 2
    fit, sampled = fitted.fit, fitted.cells.sampled
    if fit is None:
        return ()
    predicted = {} if sampled is None else _predicted_effects(sampled, fitted.laid.sampled)
    df = np.inf if sampled is None else float(fitted.cells.df(np.zeros((1, 0)))[0])
    out: list[EffectRow] = []
    for place, (term, effects, spread) in enumerate(
        zip(fit.design.terms, fit.effects, fit.effect_covariances, strict=True)
    ):
        errors = np.sqrt(np.maximum(np.einsum("lkk->lk", spread), 0.0))
        values, errors = predicted.get(place, (effects, errors))
        quantile = float(-special.stdtrit(df if place in predicted else np.inf, tail))
        for level, name in enumerate(term.levels):
            for k, column in enumerate(term.columns):
                value, error = float(values[level, k]), float(errors[level, k])
                out.append(
                    EffectRow(
                        group=term.group,
                        column=column,
                        level=name,
                        estimate=value,
                        std_error=error,
                        conf_low=value - quantile * error,
                        conf_high=value + quantile * error,
                        conf_level=conf_level,
                    )
                )
    return tuple(out)


def _predicted_effects(sampled: SampledCells, terms: Sequence[int]) -> dict[int, tuple[FloatArray, FloatArray]]:
    """Return effects of sampled scenarios with their errors, shape (n_levels, 1), by the place of the term."""
    out: dict[int, tuple[FloatArray, FloatArray]] = {}
    law, first = sampled.law, 0
    for k in terms:
        values = np.stack([fit.effects[k].ravel() for fit in law.fits])
        last = first + values.shape[1]
        variance = law.variance(values, sampled.effect_variances[:, first:last])
        out[k] = law.mean(values)[:, None], np.sqrt(np.maximum(variance, 0.0))[:, None]
        first = last
    return out


def reliability_of(table: ScenarioTable, choice: ModelChoice, *, conf_level: float, seed: int) -> ScenarioReliability:
    """Generalizability on the metric's own scale, as `evalstats.reliability` has it of the facets scenario, item and trial."""
    if len(table.models) < 2:
        return ScenarioReliability(
            relative=None, absolute=None, reason="one model alone has nothing to be told apart from"
        )
    try:
        return _reliability(table, choice, conf_level=conf_level, seed=seed)
    except (CannotAnswerError, InputError) as error:
        return ScenarioReliability(relative=None, absolute=None, reason=str(error))


def _reliability(table: ScenarioTable, choice: ModelChoice, *, conf_level: float, seed: int) -> ScenarioReliability:
    key, frame = ["model", "scenario", "item"], table.frame
    if not frame.select(key).is_unique().all():
        # The versions of an item within a scenario are averaged, so that it has one score for each model and scenario.
        frame = frame.group_by(key, maintain_order=True).agg(
            pl.col("score").mean(), pl.lit(1.0).alias(COUNT), pl.lit(0.0).alias(WITHIN), pl.lit("").alias("version")
        )
    own = replace(table, frame=frame)
    counts = frame[COUNT].to_numpy().astype(np.float64)
    found = variance_components(
        {name: own.codes(name) for name in key},
        frame["score"].to_numpy().astype(np.float64),
        counts=counts,
        within=float(frame[WITHIN].sum()),
        repetition="trial" if np.mean(counts > 1) > 0.1 else None,
    )
    # Means weigh scenarios alike, so that items count by the harmonic mean over the cells.
    n_items = 1.0 / float(np.mean(1.0 / np.bincount(own.codes("model", "scenario"))))
    study = from_components(
        {":".join(effect): float(value) for effect, value in zip(found.effects, found.variances, strict=True)},
        found.levels | {"scenario": len(table.scenarios), "item": max(1, round(n_items))},
        nested=found.within,
        fixed=("scenario",) if choice.scenario_as == "fixed" else (),
    )
    point = reliability(study)
    kinds: tuple[Coefficient, ...] = ("relative", "absolute")
    ends: dict[str, tuple[float | None, float | None]] = {"relative": (None, None), "absolute": (None, None)}
    if point.reason is None and len(table.models) >= _FEW_MODELS:
        draws = found.draws(_DRAWS, np.random.default_rng(seed))
        for kind in kinds:
            ends[kind] = reliability_interval(study, draws, coefficient=kind, conf_level=conf_level)
    facets = [facet.name for facet in study.facets if not facet.fixed]
    needed: list[Needed] = []
    for facet, kind in product(facets, kinds):
        enough = levels_needed(study, facet, _TARGET, coefficient=kind)
        needed.append(Needed(kind=kind, target=_TARGET, facet=facet, n=enough.n, reason=enough.reason or ""))
    # Such as "7 scenarios, 234 items".
    words = [plural(n, name) for name, n in point.sizes.items() if name != "model"]
    nested = [
        f"{text} in each scenario on average" if "item" in text and found.within.get("item") else text for text in words
    ]
    return ScenarioReliability(
        relative=point.relative,
        absolute=point.absolute,
        relative_low=ends["relative"][0],
        relative_high=ends["relative"][1],
        absolute_low=ends["absolute"][0],
        absolute_high=ends["absolute"][1],
        design=", ".join(nested),
        components=tuple((part.name, part.variance) for part in study.components if part.variance > 0),
        curve=_curve(study, facets, needed),
        needed=tuple(needed),
        reason=point.reason,
    )


def _curve(study: GStudy, facets: Sequence[str], needed: Sequence[Needed]) -> tuple[DesignPoint, ...]:
    out: list[DesignPoint] = []
    for facet in facets:
        reached = [row.n for row in needed if row.facet == facet and row.n is not None]
        for n in study_sizes(study, facet, reached):
            at = reliability(study, {facet: n})
            if at.relative is not None and at.absolute is not None:
                out.append(DesignPoint(facet=facet, n=n, relative=at.relative, absolute=at.absolute))
    return tuple(out)
