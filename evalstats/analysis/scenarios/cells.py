"""Cells of models and scenarios with one covariance: from a mixed model, as plain means, and partially pooled."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from evalstats.analysis.result import finite
from evalstats.analysis.scenarios.design import MOST_FIXED, CellDesign, ModelChoice
from evalstats.analysis.scenarios.table import COUNT, ScenarioTable
from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, too_few_clusters
from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.degrees_of_freedom import satterthwaite
from evalstats.stats.mixed.design import MixedFit
from evalstats.stats.mixed.exchangeable import exchangeable_errors
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.mixed.marginal_means import averaged_expit
from evalstats.stats.mixed.prediction import CombinationErrors, PredictiveLaw, pooled_table, predictive_law
from evalstats.stats.mixed.robust import RobustCovariance, cell_means, robust_covariance

NO_SPREAD = "all scores are the same, so there is no spread to judge by"
NO_VARIANCE = "the SD between scenarios is estimated as 0, which leaves no spread to judge by"
_SMALL = 0.3
# A clustered covariance of c cells needs about this many times c clusters to be used as if it were known.
_CLUSTERS_A_CELL = 2


@record
class SampledCells:
    """Cells of sampled scenarios: the law of their predictions, and their errors on the metric's and the model's scale.

    `effect_variances`, shape (n_points, n_effects), are those of the effects at each point of the law.
    """

    law: PredictiveLaw
    errors: CombinationErrors
    link_errors: CombinationErrors
    effect_variances: FloatArray


@record
class CellEstimates:
    """Estimates of all cells that have a score, and how they vary together.

    Attributes
    ----------
    cells
        int64, shape (n_cells, 2): model and scenario.
    value, link
        float64, shape (n_cells,): on the metric's own scale (averaged over the population of items), and on the model's.
    jacobian, link_jacobian
        float64, shape (n_cells, n_parameters): their derivatives in the parameters.
    covariance, model_covariance
        Of the parameters: the one in force (clustered where it can be), and the model's own.
    thin
        bool, shape (n_cells,): cells in which fewer than five scores differ from the most common one. Their residuals cannot
        tell their own spread, so a contrast that touches one takes the larger of the two standard errors.
    sizes
        float64, shape (n_cells,): questions in each cell.
    sampled
        Where scenarios are a sample, what stands for the jacobians and covariances, which are empty then.
    binary
        Whether scores are plain shares of independent right or wrong answers, whose spread is known even where all are alike.
    df
        Degrees of freedom of contrasts, given rows of coefficients of the parameters; infinite where there are none.
    """

    cells: IntArray
    value: FloatArray
    link: FloatArray
    jacobian: FloatArray
    link_jacobian: FloatArray
    covariance: FloatArray
    model_covariance: FloatArray
    df: Callable[[FloatArray], FloatArray]
    shape: tuple[int, int]
    thin: npt.NDArray[np.bool_]
    sizes: FloatArray
    sampled: SampledCells | None = None
    binary: bool = False
    places: IntArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places = np.full(self.shape, -1, dtype=np.int64)
        places[self.cells[:, 0], self.cells[:, 1]] = np.arange(len(self.cells))
        object.__setattr__(self, "places", places)

    def grid(self, values: FloatArray) -> FloatArray:
        """Lay values of cells out as models x scenarios; NaN where there is no score."""
        out = np.full(self.shape, np.nan)
        out[self.cells[:, 0], self.cells[:, 1]] = values
        return out

    def place(self, model: int, scenario: int) -> int | None:
        """Return where a cell is, None where it has no score."""
        found = int(self.places[model, scenario])
        return None if found < 0 else found

    def contrast(self, weights: sparse.csr_array, *, link: bool = False) -> "CellContrasts":
        """Return linear combinations of cells; `weights` has shape (n_contrasts, n_cells)."""
        if self.sampled is not None:
            rows = np.empty((int(weights.shape[0]), 0))
            errors = self.sampled.link_errors if link else self.sampled.errors
            variance = own = errors.variance(weights)
        else:
            rows = weights @ (self.link_jacobian if link else self.jacobian)
            variance = ((rows @ self.covariance) * rows).sum(axis=1)
            own = ((rows @ self.model_covariance) * rows).sum(axis=1)
        touches = (abs(weights) @ self.thin.astype(np.float64) > 0) & bool(self.covariance.any())
        variance = np.where(touches, np.maximum(variance, own), variance)
        return CellContrasts(
            estimate=weights @ (self.link if link else self.value),
            std_error=np.sqrt(np.maximum(variance, 0.0)),
            model_std_error=np.sqrt(np.maximum(own, 0.0)),
            df=self.df(rows),
        )


@dataclass(frozen=True, kw_only=True)
class CellContrasts:
    """Linear combinations of cells; arrays of shape (n_contrasts,)."""

    estimate: FloatArray
    std_error: FloatArray
    model_std_error: FloatArray
    df: FloatArray

    @cached_property
    def has_spread(self) -> npt.NDArray[np.bool_]:
        """Whether the clustered standard error is more than rounding beside the model's."""
        return self.std_error > np.maximum(1e-6 * self.model_std_error, 1e-12)

    def p_values(self) -> FloatArray:
        """Return two-sided p of each contrast alone, NaN where there is no spread."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.has_spread, self.estimate / self.std_error, np.nan)
        p = 2 * special.stdtr(self.df, -np.abs(t))
        # The tail of t may underflow; a p of 0 would claim that nothing is left open.
        return np.asarray(np.where(p == 0, np.nextafter(0, 1), p), dtype=np.float64)

    def fields(self, k: int, ends: tuple[FloatArray, FloatArray], *, with_df: bool | None = None) -> dict[str, Any]:
        """Return one as fields of an `Estimate`: without a spread it has no error, nor, unless said, degrees of freedom."""
        spread = bool(self.has_spread[k])
        return {
            "estimate": float(self.estimate[k]),
            "std_error": float(self.std_error[k]) if spread else None,
            "conf_low": finite(ends[0][k]),
            "conf_high": finite(ends[1][k]),
            "df": finite(self.df[k]) if (spread if with_df is None else with_df) else None,
        }

    def interval(self, conf_level: float, *, family: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return ends at a level that `family` intervals keep together (Bonferroni), NaN where there is no spread."""
        quantile = -special.stdtrit(self.df, (1 - conf_level) / (2 * family))
        half = np.where(self.has_spread, quantile * self.std_error, np.nan)
        return self.estimate - half, self.estimate + half


@record
class FittedScenarios:
    """The fit, its layout, its cells, and where their covariance comes from.

    There is no fit where plain means of cells are the answer. `covariance_method` says in words where the covariance comes
    from; `notes` hold why it is not the clustered one where it is not, and `no_interval` why there is none at all.
    `model_means` are the models over new scenarios, where scenarios are a sample.
    """

    laid: CellDesign
    fit: MixedFit | None
    cells: CellEstimates
    covariance_method: str
    robust: RobustCovariance | None = None
    notes: tuple[str, ...] = ()
    no_interval: str = ""
    model_means: CellContrasts | None = None
    scores: Literal["gaussian", "binomial"] = "gaussian"

    @property
    def without_spread(self) -> str:
        """Why a number has no interval."""
        if self.no_interval:
            return self.no_interval
        return NO_SPREAD if self.cells.sampled is None else NO_VARIANCE

    @property
    def family(self) -> Literal["gaussian", "binomial"]:
        """Of the model that was fitted; without one, of the scores."""
        return self.scores if self.fit is None else self.fit.family


def no_model_because(table: ScenarioTable, choice: ModelChoice) -> str:
    """Return why plain means of cells are the answer; "" where a model is to be fitted.

    They are the model's estimates where scenarios are fixed, each with items of its own, and nothing is missing. Beyond eight
    fixed scenarios they are the answer in any case: a model of so many cells takes minutes.
    """
    if choice.given or choice.scenario_as != "fixed":
        return ""
    if table.different:
        return f"each model has {table.different} of its own"
    counts = table.frame[COUNT].to_numpy()
    questions = table.frame.select("item", "version", "scenario").n_unique()
    complete = table.frame.height == questions * len(table.models) and counts.min() == counts.max()
    nested = table.frame.select("item", "scenario").n_unique() == table.frame["item"].n_unique()
    if complete and nested:
        return "no score is missing, so that a model would give the same"
    return "a model of so many cells takes long" if len(table.scenarios) > MOST_FIXED else ""


def plain_scenarios(table: ScenarioTable, laid: CellDesign) -> FittedScenarios:
    """Take plain means of cells, with a covariance clustered by unit."""
    few, found = too_few_clusters(table.n_clusters) or "", None
    score = table.frame["score"].to_numpy().astype(np.float64)
    sizes = _sizes(table, laid)
    if few:
        means = np.bincount(laid.of_frame, weights=score) / np.bincount(laid.of_frame)
        covariance = np.zeros((len(means), len(means)))
        method = "none"
    else:
        found = cell_means(score, laid.of_frame, np.unique(table.cluster, return_inverse=True)[1])
        means, covariance = found.mean, found.covariance
        method = f"CR2 covariance of {found.n_clusters} clusters"
    robust = found.robust() if found is not None and table.different else None
    slope, link, own = np.ones(len(means)), means, covariance
    if table.is_single:
        # Half an answer of either kind keeps log-odds finite where all answers are alike, and gives them a spread.
        alike = (means <= 0) | (means >= 1)
        share = np.where(alike, (means * sizes + 0.5) / (sizes + 1), means)
        slope, link = 1 / (share * (1 - share)), np.log(share / (1 - share))
        own = covariance + np.diag(np.maximum(share * (1 - share) / sizes - np.diag(covariance), 0.0)) * (not few)
    n_cells = len(means)
    cells = CellEstimates(
        cells=laid.cells,
        value=means,
        link=link,
        jacobian=np.eye(n_cells),
        link_jacobian=np.diag(slope),
        covariance=covariance,
        model_covariance=own,
        df=lambda rows: np.clip(
            np.ones(len(rows)) if found is None else found.df(rows), 1.0, max(1.0, float(table.n_clusters - 1))
        ),
        shape=(len(table.models), len(table.scenarios)),
        thin=np.zeros(n_cells, dtype=np.bool_),
        sizes=sizes,
        binary=table.is_single and not few and not table.clusters,
    )
    return FittedScenarios(
        laid=laid,
        fit=None,
        cells=cells,
        covariance_method=method,
        robust=robust,
        notes=("whether models differ in where they break was not tested: a cell lies in one cluster",)
        if found is not None and table.different and robust is None
        else (),
        no_interval=few,
        scores="binomial" if table.is_single else "gaussian",
    )


def fitted_scenarios(table: ScenarioTable, choice: ModelChoice, laid: CellDesign) -> FittedScenarios:
    """Fit by REML or Laplace, and find the covariance: clustered by item where scenarios are fixed."""
    fit = fit_binomial(laid.design) if choice.family == "binomial" else fit_linear(laid.design)
    if choice.family == "binomial" and not fit.convergence.converged:
        # Where the search ran off, once more from small standard deviations; the likelier fit is kept.
        again = fit_binomial(laid.design, start=_SMALL * np.ones(laid.design.n_theta))
        fit = again if again.convergence.converged or again.log_likelihood > fit.log_likelihood else fit
    if choice.scenario_as == "random":
        return _sampled(table, laid, fit)
    notes: list[str] = []
    few = too_few_clusters(table.n_clusters) or ""
    try:
        robust = robust_covariance(fit, laid.cluster)
    except CannotAnswerError as error:
        robust = None
        if not few:
            notes.append(f"the model's own covariance is in force: {error}")
    return FittedScenarios(
        laid=laid,
        fit=fit,
        cells=_fixed_cells(table, laid, fit, robust, known=not few),
        covariance_method="none" if few else robust.method if robust else "the model's own covariance",
        robust=robust,
        no_interval=few,
        notes=tuple(notes),
    )


def _fixed_cells(
    table: ScenarioTable, laid: CellDesign, fit: MixedFit, robust: RobustCovariance | None, *, known: bool
) -> CellEstimates:
    """Cells of fixed scenarios: a mean over the population of items, from (theta, beta) of a binomial model, or beta."""
    link = laid.rows @ fit.beta
    if fit.family == "gaussian":
        own, joint, jacobian, value = fit.covariance, None if robust is None else robust.covariance, laid.rows, link
        n_theta = 0
    else:
        n_theta = len(fit.theta)
        own = _of_parameters(fit)
        joint = None if robust is None else robust.joint
        value, by_link, by_spread = averaged_expit(link, laid.spread(fit.theta))
        jacobian = np.hstack([by_spread[:, None] * laid.spread_slope(fit.theta), by_link[:, None] * laid.rows])
    link_jacobian = np.hstack([np.zeros((len(link), n_theta)), laid.rows])
    most = float(table.n_clusters - 1)

    def df(rows: FloatArray) -> FloatArray:
        """Satterthwaite's, of the clustered covariance where it is in force."""
        fixed = rows[:, n_theta:]
        if robust is not None:
            found = robust.df(fixed)
        elif fit.family == "gaussian" and len(fit.theta):
            found = satterthwaite(fit, fixed)
        else:
            found = np.full(len(rows), most)
        # No contrast rests on more than the clusters there are, whatever the approximation gives.
        return np.clip(found, 1.0, max(1.0, most))

    return CellEstimates(
        cells=laid.cells,
        value=value,
        link=link,
        jacobian=jacobian,
        link_jacobian=link_jacobian,
        covariance=np.zeros_like(own) if not known else own if joint is None else joint,
        model_covariance=own,
        df=df,
        shape=(len(table.models), len(table.scenarios)),
        thin=laid.thin(),
        sizes=_sizes(table, laid),
    )


def _sizes(table: ScenarioTable, laid: CellDesign) -> FloatArray:
    """Questions in each cell."""
    question = table.codes("item", "version")
    pairs = np.unique(laid.of_frame * (int(question.max()) + 1) + question)
    return np.bincount(pairs // (int(question.max()) + 1), minlength=len(laid.cells)).astype(np.float64)


def _of_parameters(fit: MixedFit) -> FloatArray:
    """Covariance of (theta, beta) of a binomial fit by the model."""
    if fit.joint_covariance is not None:
        return fit.joint_covariance
    n_theta = len(fit.theta)
    out = np.zeros((n_theta + len(fit.beta),) * 2)
    out[n_theta:, n_theta:] = fit.covariance
    return out


def _sampled(table: ScenarioTable, laid: CellDesign, fit: MixedFit) -> FittedScenarios:
    """Cells of sampled scenarios: the model's mean plus what is predicted for the scenario and for the pair."""
    few = too_few_clusters(table.n_clusters) or ""
    terms, n_cells, n_scenarios = laid.sampled, len(laid.cells), len(table.scenarios)
    levels = [fit.design.terms[k].level[np.unique(laid.of_row, return_index=True)[1]] for k in terms]
    parts = [sparse.csr_array(laid.rows)]
    for k, level in zip(terms, levels, strict=True):
        shape = (n_cells, fit.design.terms[k].n_levels)
        parts.append(sparse.csr_array((np.ones(n_cells), (np.arange(n_cells), level)), shape=shape))
    rows = sparse.csr_array(sparse.hstack(parts, format="csr"))
    law = predictive_law(fit, terms)
    link = np.stack(
        [rows @ np.concatenate([each.beta, *(each.effects[k].ravel() for k in terms)]) for each in law.fits]
    )
    value = link
    closed = exchangeable_errors(law, terms, levels, link)
    if closed is None:
        of_effects = sparse.csr_array(sparse.eye_array(rows.shape[1], format="csr")[len(fit.beta) :])
        variances = np.stack([errors.variance(of_effects) for errors in law.errors])
        link_errors = law.errors_of(rows, link, np.ones(link.shape))
    else:
        link_errors, variances = closed
    errors = link_errors
    if fit.family == "binomial":
        # The items' spread is the same at every point.
        averaged, by_link, _ = averaged_expit(link.ravel(), np.tile(laid.spread(fit.theta), len(link)))
        value = averaged.reshape(link.shape)
        errors = law.errors_of(rows, value, by_link.reshape(link.shape))
    if few:  # without intervals there are no errors
        errors = link_errors = CombinationErrors(
            given=sparse.csr_array((n_cells, n_cells)), root=np.zeros((n_cells, 0)), sign=np.zeros(0)
        )
    # What is left out of the law of the predictions, that other variances are estimated, t makes up for.
    cells = CellEstimates(
        cells=laid.cells,
        value=law.mean(value),
        link=law.mean(link),
        jacobian=np.empty((0, 0)),
        link_jacobian=np.empty((0, 0)),
        covariance=np.empty((0, 0)),
        model_covariance=np.empty((0, 0)),
        sampled=SampledCells(law=law, errors=errors, link_errors=link_errors, effect_variances=variances),
        df=lambda some: np.full(len(some), float(min(n_scenarios, table.n_clusters) - 1)),
        shape=(len(table.models), n_scenarios),
        thin=np.zeros(n_cells, dtype=np.bool_),
        sizes=_sizes(table, laid),
    )
    method = "predictions averaged over the spread of scenarios"
    return FittedScenarios(
        laid=laid,
        fit=fit,
        cells=cells,
        covariance_method="none" if few else method,
        no_interval=few,
        model_means=None if few else _means_over_new(table, laid, fit),
    )


def _means_over_new(table: ScenarioTable, laid: CellDesign, fit: MixedFit) -> CellContrasts:
    """Mean of each model over scenarios that could come: its fixed effects, averaged over all random effects."""
    rows = np.stack([laid.rows[laid.cells[:, 0] == i].mean(axis=0) for i in range(len(table.models))])
    value, jacobian, covariance = rows @ fit.beta, rows, fit.covariance
    if fit.family == "binomial":
        over_all = replace(laid, averaged=tuple(range(len(fit.design.terms))))
        spread, slope = over_all.spread(fit.theta), over_all.spread_slope(fit.theta)
        own = [np.flatnonzero(laid.cells[:, 0] == i) for i in range(len(rows))]
        value, by_link, by_spread = averaged_expit(value, np.array([spread[each].mean() for each in own]))
        by_theta = by_spread[:, None] * np.stack([slope[each].mean(axis=0) for each in own])
        jacobian, covariance = np.hstack([by_theta, by_link[:, None] * rows]), _of_parameters(fit)
    error = np.sqrt(np.maximum(((jacobian @ covariance) * jacobian).sum(axis=1), 0.0))
    df = np.full(len(rows), float(min(len(table.scenarios), table.n_clusters) - 1))
    return CellContrasts(estimate=value, std_error=error, model_std_error=error, df=df)


@record
class PooledCells:
    """Pooled values of all cells with a score on the metric's scale, with intervals.

    `slope` is the derivative of the metric's scale in the model's, `errors` the covariance of the predictions on the latter.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    slope: FloatArray
    errors: FloatArray
    note: str

    def contrast(self, weights: sparse.csr_array, conf_level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return linear combinations of cells with their intervals."""
        rows = weights.toarray() * self.slope
        error = np.sqrt(np.maximum(((rows @ self.errors) * rows).sum(axis=1), 0.0))
        known = ~np.isnan(self.low).any()
        half = -special.ndtri((1 - conf_level) / 2) * error if known else np.full(len(error), np.nan)
        center = weights @ self.value
        return center, center - half, center + half


def pooled_cells(table: ScenarioTable, fitted: FittedScenarios, conf_level: float) -> tuple[PooledCells | None, str]:
    """Pool the cells of fixed scenarios; None and a reason where there is nothing to pool."""
    cells = fitted.cells
    if min(cells.shape) < 2:
        return None, "one model alone is not pooled with others"
    of = cells.link_jacobian
    enough = table.n_clusters >= _CLUSTERS_A_CELL * len(cells.value)
    clustered = fitted.robust is not None and enough and not cells.thin.any()
    covariance = of @ (cells.covariance if clustered else cells.model_covariance) @ of.T
    try:
        found = pooled_table(cells.grid(cells.link), covariance)
    except (CannotAnswerError, np.linalg.LinAlgError) as error:
        return None, f"cells are not pooled: {error}"
    link = found.values[cells.cells[:, 0], cells.cells[:, 1]]
    half = -special.ndtri((1 - conf_level) / 2) * np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    if fitted.family == "binomial":
        # Plain means are averaged over items as they are.
        spread = np.zeros(len(link)) if fitted.fit is None else fitted.laid.spread(fitted.fit.theta)
        value, slope, _ = averaged_expit(link, spread)
        low, high = averaged_expit(link - half, spread)[0], averaged_expit(link + half, spread)[0]
    else:
        value, slope, low, high = link, np.ones(len(link)), link - half, link + half
        if table.metric.low is not None and table.metric.high is not None:
            low, high = np.maximum(low, table.metric.low), np.minimum(high, table.metric.high)
    if fitted.no_interval:
        low, high = np.full(len(value), np.nan), np.full(len(value), np.nan)
    why = "some cells hold almost only one score" if enough else "there are few clusters for so many cells"
    source = "clustered by item" if clustered else f"by the model, since {why}"
    note = f"Cells are pooled with the covariance {source}"
    return PooledCells(value=value, low=low, high=high, slope=slope, errors=found.covariance, note=note), ""
