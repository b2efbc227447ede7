"""Do models differ in where they break? Tests of the interaction and of the scenarios, and of whether the ranking changes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstats.analysis.scenarios.cells import FittedScenarios
from evalstats.analysis.scenarios.design import Choice, places
from evalstats.analysis.scenarios.result import Crossing, RankingChange, TermTest
from evalstats.analysis.scenarios.table import COUNT, ScenarioTable
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.design import MixedDesign, MixedFit
from evalstats.stats.mixed.interaction import parallelism_test, ranking_change
from evalstats.stats.mixed.likelihood_ratio import likelihood_ratio, variance_ratio
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.mixed.parametric_bootstrap import null_design, parametric_bootstrap

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
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


def term_tests(
    table: ScenarioTable,
    choice: Choice,
    fitted: FittedScenarios,
    *,
    n_resamples: int | None,
    seed: int,
    on_step: OnStep | None,
) -> tuple[tuple[TermTest, ...], tuple[str, ...]]:
    """Return the tests, the interaction first, and notes on those that could not be made."""
    if fitted.no_interval:
        return (), (f"no test of whole terms was made: {fitted.no_interval}",)
    fit = fitted.fit
    if choice.scenario_as == "random":
        return ((), ()) if fit is None else _variance_tests(table, fit)
    several = len(table.models) > 1
    term = INTERACTION if several else "scenario"
    basis = _contrast_basis(fitted, several=several)
    if not len(basis):
        return (), ("no contrast of models and scenarios is left once empty cells are left out",)
    tests: list[TermTest] = []
    notes: list[str] = []
    contrasts = basis if fit is None else basis @ fitted.cells.link_jacobian[:, -len(fit.beta) :]
    if np.abs(contrasts).max() < 1e-9:
        return (), (
            "the formula has no interaction of model and scenario: that models change alike is assumed, not tested",
        )
    tests.extend(_attempt(lambda: _permuted(table, term, role="headline", seed=seed), notes, term))
    enough = len(basis) * _CLUSTERS_A_CONTRAST <= table.n_clusters
    if fit is not None and fitted.robust is not None and enough and not fit.penalty:
        tests.extend(_attempt(lambda: _hotelling(fitted, fit, basis, term), notes, term))
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


def _interaction_rows(fitted: FittedScenarios, *, several: bool) -> Floats:
    """Coefficients of the cells in what is left of each once rows and columns (or the mean) are taken out."""
    cells = fitted.cells.cells
    columns = np.ones((len(cells), 1))
    if several:
        columns = np.hstack([(cells[:, k][:, None] == np.unique(cells[:, k])).astype(np.float64) for k in (0, 1)])
    left, size, _ = np.linalg.svd(columns, full_matrices=False)
    basis = left[:, size > 1e-9 * size[0]]
    rows = np.eye(len(cells)) - basis @ basis.T
    return rows[np.abs(rows).max(axis=1) > 1e-9]


def _contrast_basis(fitted: FittedScenarios, *, several: bool) -> Floats:
    """As few contrasts as span them."""
    rows = _interaction_rows(fitted, several=several)
    if not len(rows):
        return rows
    _, size, right = np.linalg.svd(rows, full_matrices=False)
    return right[size > 1e-9]


def _permuted(table: ScenarioTable, term: str, *, role: Literal["headline", "check"], seed: int) -> TermTest:
    """Test by permutation of scenarios, from the plain scores: nothing of the mixed model is in it."""
    questions = _Questions.of(table)
    alone = term == "scenario"
    scores = questions.level() if alone else questions.scores
    binary = table.is_single and not alone
    found = parallelism_test(scores, questions.scenario, questions.unit, binary=binary, seed=seed)
    return TermTest(
        term=term,
        method=(STRATIFIED if binary else PERMUTED),
        role=role,
        statistic=found.statistic,
        p_value=found.p_value,
        n_resamples=found.n_resamples,
        note=f"seed {seed}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Questions:
    """Scores laid out with one row for each question (an item's version in a scenario), one column for each model."""

    scores: Floats
    scenario: Ints
    unit: Ints

    @classmethod
    def of(cls, table: ScenarioTable) -> "_Questions":
        question = table.codes("item", "version", "scenario")
        first = np.unique(question, return_index=True)[1]
        scores = np.full((len(first), len(table.models)), np.nan)
        scores[question, places(table.frame["model"], table.models)] = table.frame["score"].to_numpy()
        return cls(scores=scores, scenario=table.codes("scenario")[first], unit=table.cluster[first])

    def level(self) -> Floats:
        """Mean over models of each question, free of which models have a score."""
        return np.nanmean(self.scores - np.nanmean(self.scores, axis=0), axis=1, keepdims=True)


def _hotelling(fitted: FittedScenarios, fit: MixedFit, basis: Floats, term: str) -> TermTest:
    if fitted.robust is None:
        message = "no clustered covariance is in force"
        raise CannotAnswerError(message)
    rows = basis @ fitted.laid.rows
    if np.linalg.cond(rows @ fitted.robust.covariance @ rows.T) > _SINGULAR:
        message = "some contrasts are combinations of others, as those of equal models are"
        raise CannotAnswerError(message)
    found = fitted.robust.f_test(fit.beta, rows)
    return TermTest(
        term=term,
        method="approximate Hotelling test (HTZ)",
        role="check",
        statistic=found.statistic,
        df=float(found.df_numerator),
        df_denominator=found.df_denominator,
        p_value=found.p_value,
    )


def _ratio(
    fit: MixedFit,
    contrasts: Floats,
    term: str,
    *,
    wanted: int | None,
    seed: int,
    on_step: OnStep | None,
) -> TermTest:
    """Test by the likelihood ratio: its law drawn from the smaller model where draws are wanted, else chi-squared."""
    large = _likelihood_fit(fit)
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
        + "takes the model's variances as right for every pair of models",
    )


def _likelihood_fit(fit: MixedFit) -> MixedFit:
    """REML criteria of models with different fixed effects measure different things: refit by ML."""
    return fit_linear(fit.design, reml=False) if fit.method == "REML" else fit


def _variance_tests(table: ScenarioTable, fit: MixedFit) -> tuple[tuple[TermTest, ...], tuple[str, ...]]:
    """Test the variances of sampled scenarios: of the interaction first."""
    notes: list[str] = []
    tests: list[TermTest] = []
    design = fit.design
    for group in (INTERACTION, "scenario"):
        if group not in {term.group for term in design.terms}:
            continue
        if group == INTERACTION and _has_unmodelled_luck(table, fit):
            notes.append(
                f"a test of {group} was not made: a model's own luck with an item is not in the model, and would be taken for it"
            )
            continue
        role = "headline" if not tests else "check"
        made = _attempt(lambda group=group, role=role: _without(fit, design, group, role), notes, group)
        tests.extend(made)
    if len(table.models) == 1:
        notes.append("one model: nothing is said of whether models differ in where they break")
    return tuple(tests), tuple(notes)


def _has_unmodelled_luck(table: ScenarioTable, fit: MixedFit) -> bool:
    """Whether models answer an item more than once within a scenario and the fit has no term for that."""
    if any("item" in term.group and "model" in term.group for term in fit.design.terms):
        return False
    codes = table.codes("item", "model", "scenario")
    return bool(np.mean(np.bincount(codes, weights=table.frame[COUNT].to_numpy()) > 1) > 0.1)


def _without(fit: MixedFit, design: MixedDesign, group: str, role: str) -> TermTest:
    kept = [k for k, term in enumerate(design.terms) if term.group != group]
    smaller = null_design(design, terms=kept)
    small = fit_binomial(smaller) if fit.family == "binomial" else fit_linear(smaller)
    found = variance_ratio(small, fit)
    return TermTest(
        term=group,
        method="likelihood ratio of a variance, mixture of chi-squared",
        role="headline" if role == "headline" else "check",
        statistic=found.statistic,
        p_value=found.p_value,
        note="; ".join(found.notes),
    )


def ranking(table: ScenarioTable, fitted: FittedScenarios, *, conf_level: float) -> RankingChange | None:
    """Say whether the order of models changes between scenarios; None where there is one model or no interval."""
    if len(table.models) < 2 or fitted.no_interval or table.measured.apart:
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
    except (InputError, CannotAnswerError) as error:
        return RankingChange(shown=False, words=f"whether the ranking changes was not tested: {error}")
    place = {name: k for k, name in enumerate(table.models)}
    at = {name: k for k, name in enumerate(table.scenarios)}
    crossings = [
        Crossing(
            first=swap.first,
            second=swap.second,
            ahead_in=swap.first_better,
            behind_in=swap.second_better,
            ahead_by=float(
                grid[place[swap.first], at[swap.first_better]] - grid[place[swap.second], at[swap.first_better]]
            ),
            behind_by=float(
                grid[place[swap.second], at[swap.second_better]] - grid[place[swap.first], at[swap.second_better]]
            ),
            p_value=swap.p_value or 1.0,
            p_adjusted=swap.p_adjusted or 1.0,
            shown=swap.shown,
        )
        for swap in found.swaps
        if swap.first_better is not None and swap.second_better is not None and swap.p_value is not None
    ]
    crossings = [row for row in crossings if row.ahead_by > 0 and row.behind_by > 0]
    crossings.sort(key=lambda row: (row.p_value, row.first, row.second))
    return RankingChange(
        shown=any(row.shown for row in crossings),
        words=found.conclusion,
        p_value=min((row.p_adjusted for row in crossings), default=None),
        method="intersection-union of one-sided tests, Holm over pairs",
        n_crossed=len(crossings),
        crossings=tuple(crossings[:_MOST_CROSSINGS]),
    )
