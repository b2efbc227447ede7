"""Where models break: the frozen result of `scenarios()`."""

import math
from dataclasses import field, replace
from typing import Literal

import polars as pl

from evalstats.analysis.posterior.difference import difference_posterior, need_direction, notes_of_data
from evalstats.analysis.posterior.difference import prior_scale as usual_scale
from evalstats.analysis.posterior.result import Posterior
from evalstats.analysis.result import Estimate, OfMetric, Origin, Result, frame_of, row_named
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.posterior import TLikelihood
from evalstats.table.metric import MetricFacts

DropVerdict = Literal["drop", "gain", "not shown", "invalid"]
Verdict = Literal["breaks shown", "none shown", "scenarios sampled", "scores only", "no answer", "not converged"]
_ENDS = ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "df")
_POOLED = ("pooled", "pooled_low", "pooled_high")
CELL_COLUMNS = (
    *("model", "scenario", "n_items", "n_trials", "n_missing", "observed", *_ENDS),
    *("link", "link_std_error", *_POOLED, "reason"),
)
MEAN_COLUMNS = ("kind", "name", *_ENDS, "n_items", "reason")
DROP_COLUMNS = (
    *("model", "scenario", "reference", *_ENDS, "statistic", "p_value", "p_adjusted", "p_holm"),
    *("log_odds", "log_odds_low", "log_odds_high", "model_std_error", "paired", "paired_low", "paired_high"),
    *(*_POOLED, "n_items", "verdict", "verdict_reason"),
)
PAIR_COLUMNS = ("first", "second", "scenario", *_ENDS, "p_value", "p_adjusted", "p_holm", "separated", "reason")
VARIANCE_COLUMNS = ("term", "label", "variance", "std_dev", "conf_low", "conf_high", "share", "n_levels", "singular")
EFFECT_COLUMNS = ("group", "column", "level", "estimate", "std_error", "conf_low", "conf_high", "conf_level")


@record
class CellRow(Estimate):
    """One model in one scenario. Numbers are in the metric's own unit.

    Attributes
    ----------
    observed
        Plain mean of the item means.
    estimate
        Marginal mean by the model: for a binary score the probability averaged over the population of items, not that of an
        item of average difficulty. Of sampled scenarios a prediction, shrunk towards the model's mean.
    link, link_std_error
        The same on the scale the model is fitted on (log-odds for binary scores, else the metric's unit).
    pooled
        Drawn towards what the model and the scenario do elsewhere, by as much as the noise makes likely.
    n_missing
        Items that another model or scenario has and this cell has not; of different users its own items without a score.
    model, scenario
        The cell.
    """

    model: str
    scenario: str
    n_items: int = 0
    n_trials: int = 0
    n_missing: int = 0
    observed: float | None = None
    estimate: float | None = None
    link: float | None = None
    link_std_error: float | None = None
    pooled: float | None = None
    pooled_low: float | None = None
    pooled_high: float | None = None


@record
class ScenarioMean(Estimate):
    """A model averaged over scenarios with the stated weights, or a scenario averaged over models with equal ones.

    Attributes
    ----------
    kind
        Whether it is a model or a scenario.
    """

    kind: Literal["model", "scenario"]
    name: str
    estimate: float | None = None
    n_items: int = 0


@record
class ChangeRow(Estimate):
    """One model in one scenario against the reference: scenario minus reference, in the metric's own unit.

    Attributes
    ----------
    reference
        The scenario it is set against ("ideal"), or "average": the model's mean over the other scenarios.
    statistic, p_value
        Of likelihood ratio and score of proportions where scores have bounds, else Wald's, with the covariance clustered by item.
        The interval excludes 0 exactly where `p_adjusted` is at most 1 - conf_level.
    p_adjusted, p_holm
        Adjusted for all changes of the table, by Benjamini and Hochberg (of the changes that are shown, a share of at most
        1 - conf_level is expected to be false) and by Holm (the chance of any false one is at most that).
    log_odds
        The same contrast on the logit scale (binary scores), with the interval that belongs to the same test.
    model_std_error
        The standard error if the model's own variances were exactly right: the second row, never the headline.
    paired
        Without any model: mean of the differences within items that were scored in both.
    pooled
        What to expect for this model if its drop is one of a kind with the others'.
    model, scenario
        The cell.
    verdict, verdict_reason
        "drop" where the model is shown to do worse there, "gain" where better; and why.
    """

    model: str
    scenario: str
    reference: str
    estimate: float | None = None
    statistic: float | None = None
    p_holm: float | None = None
    log_odds: float | None = None
    log_odds_low: float | None = None
    log_odds_high: float | None = None
    model_std_error: float | None = None
    paired: float | None = None
    paired_low: float | None = None
    paired_high: float | None = None
    pooled: float | None = None
    pooled_low: float | None = None
    pooled_high: float | None = None
    n_items: int = 0
    verdict: DropVerdict = "not shown"
    verdict_reason: str = ""


@record
class ModelPairRow(Estimate):
    """Two models, averaged over scenarios with the stated weights, or within one `scenario`: first minus second.

    All pairs of either kind are one family: the interval and `p_adjusted` are Bonferroni's and agree; `p_holm` is never larger.

    Attributes
    ----------
    separated
        Whether the adjusted p is small.
    """

    first: str
    second: str
    scenario: str | None = None
    estimate: float | None = None
    p_holm: float | None = None
    separated: bool = False


@record
class TermTest:
    """A test of one term of the model: the interaction first. `role` is "headline" or "check".

    Attributes
    ----------
    df_denominator
        Denominator degrees of freedom of an F test.
    note
        What to know before it is used.
    """

    term: str
    method: str
    role: Literal["headline", "check"]
    statistic: float | None = None
    df: float | None = None
    df_denominator: float | None = None
    p_value: float | None = None
    n_resamples: int | None = None
    note: str = ""


@record
class Crossing:
    """Two models whose order turns round between two scenarios: `first` is ahead in `ahead_in`, behind in `behind_in`.

    Attributes
    ----------
    ahead_by, behind_by
        By how much, in the metric's own unit.
    shown
        Whether the adjusted p is small.
    """

    first: str
    second: str
    ahead_in: str
    behind_in: str
    ahead_by: float
    behind_by: float
    p_value: float
    p_adjusted: float
    shown: bool


@record
class RankingChange:
    """Does the ranking of models change from scenario to scenario?

    `crossings` lists pairs of models whose estimates cross, the most certain first; only where `shown` is it more than noise.

    Attributes
    ----------
    n_crossed
        Pairs whose estimates cross.
    """

    shown: bool
    p_value: float | None = None
    method: str = ""
    n_crossed: int = 0
    crossings: tuple[Crossing, ...] = ()


@record
class VarianceRow:
    """One source of variation: its variance on the scale of the model, and its share of the whole.

    `label` says it in words ("item: some tasks are harder for everyone"). The interval is that of the standard deviation.

    Attributes
    ----------
    variance, std_dev, share
        The variance, its square root, and its share of the whole.
    singular
        Whether it lies at zero, the boundary.
    """

    term: str
    label: str
    variance: float
    std_dev: float
    conf_low: float | None = None
    conf_high: float | None = None
    share: float | None = None
    n_levels: int | None = None
    singular: bool = False


@record
class EffectRow(Estimate):
    """One level of a random effect: its conditional mode (BLUP) with the interval of what is left open about it.

    Those of sampled scenarios are averaged over what their standard deviations could be.

    Attributes
    ----------
    group, column
        The random effect, and the column that it is of.
    """

    group: str
    column: str
    level: str
    estimate: float


@record
class DesignPoint:
    """One point of a D-study: how reliable the scores would be with `n` of the facet, the others held as they are.

    Attributes
    ----------
    facet
        What there are `n` of: items, scenarios.
    relative, absolute
        The two coefficients then.
    """

    facet: str
    n: int
    relative: float
    absolute: float


@record
class Needed:
    """How many of a facet give a reliability of `target`; None where no number does, and why.

    Attributes
    ----------
    kind, facet
        Which coefficient, and what there must be more of.
    n
        How many.
    """

    kind: Literal["relative", "absolute"]
    target: float
    facet: str
    n: int | None = None
    reason: str = ""


@record
class ScenarioReliability:
    """How well the benchmark tells these models apart (generalizability theory).

    `relative` (E rho squared) is about order, `absolute` (Phi) about the scores themselves. Both depend on how unlike the
    models are that were measured.

    Attributes
    ----------
    design
        What is crossed with what, in words.
    components
        The variance of each source.
    curve, needed
        Reliability by number of items, and how many a target needs.
    """

    relative: float | None
    absolute: float | None
    relative_low: float | None = None
    relative_high: float | None = None
    absolute_low: float | None = None
    absolute_high: float | None = None
    design: str = ""
    components: tuple[tuple[str, float], ...] = ()
    curve: tuple[DesignPoint, ...] = ()
    needed: tuple[Needed, ...] = ()
    reason: str | None = None


@record(repr=False)
class ScenarioModel(OfMetric, Result):
    """Where do models break? The answer, and how it was reached.

    All numbers are in the metric's own unit; `scale` and `unit` say how differences are shown (100 and "pp" for
    proportions), `about.score_unit` how scores are.

    Attributes
    ----------
    scenario
        The column that names the scenarios.
    reference
        The scenario that drops are counted from, or "average".
    different
        What the models do not share ("users", "items"), where each has its own; "" where they answered the same items.
    cells
        Every model in every scenario: models by their mean, the best first; the reference scenario first.
    drops
        Every model in every scenario but the reference.
    weights
        How scenarios are weighted in the means of models, in words.
    tests
        Tests of terms: the interaction of model and scenario first.
    effects
        Levels of the random effects.
    scenario_as, scenario_reason
        Whether effects of scenarios are "fixed" or "random", and why.
    by_user
        Whether the reference is the scenario of ideal users.
    formula, family
        The model as written in lme4's notation, and its law.
    weight_shares
        Share of each scenario in the means of models.
    models, scenarios
        The mean of each model over scenarios, and of each scenario over models.
    pairs
        Pairs of models, over all scenarios and within each.
    ranking
        Whether the order of models changes from scenario to scenario.
    variances
        Variances of the random effects.
    reliability
        How well the benchmark tells these models apart, and with how many items it would do so well enough.
    covariance_method
        How the standard errors of cells are made.
    log_likelihood, aic, bic
        Fit of the model.
    convergence, singular, penalty
        How the optimisation ended, what lies on the boundary, and the weak prior where one was used; empty where all is
        well.
    n_scenarios
        Scenarios that are compared.
    """

    about: MetricFacts
    contrast: str
    scenario: str
    scenario_as: Literal["fixed", "random"]
    scenario_reason: str
    reference: str
    by_user: bool = False
    different: str = ""
    formula: str
    family: Literal["gaussian", "binomial"]
    method: str
    method_reason: str
    estimand: str
    conf_level: float
    weights: str
    weight_shares: tuple[tuple[str, float], ...]
    cells: tuple[CellRow, ...]
    models: tuple[ScenarioMean, ...]
    scenarios: tuple[ScenarioMean, ...]
    drops: tuple[ChangeRow, ...] = ()
    pairs: tuple[ModelPairRow, ...] = ()
    tests: tuple[TermTest, ...] = ()
    ranking: RankingChange | None = None
    variances: tuple[VarianceRow, ...] = ()
    effects: tuple[EffectRow, ...] = ()
    reliability: ScenarioReliability | None = None
    covariance_method: str = ""
    log_likelihood: float | None = None
    aic: float | None = None
    bic: float | None = None
    converged: bool = True
    convergence: str = ""
    singular: tuple[str, ...] = ()
    penalty: str = ""
    n_models: int = 0
    n_scenarios: int = 0
    n_items: int = 0
    n_trials: int = 0
    n_error: int = 0
    n_unscored: int = 0
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    n_resamples: int | None = None
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        shown = sum(row.verdict == "drop" for row in self.drops)
        size = f"{self.n_models} models x {self.n_scenarios} scenarios on {self.benchmark} ({self.metric})"
        return f"<ScenarioModel: {size}: {shown} of {len(self.drops)} drops shown>"

    @property
    def model_names(self) -> tuple[str, ...]:
        """Models in the order of the result."""
        return tuple(row.name for row in self.models)

    @property
    def scenario_names(self) -> tuple[str, ...]:
        """Scenarios in the order of the result, the reference first."""
        return tuple(row.name for row in self.scenarios)

    @property
    def verdict(self) -> Verdict:
        """The answer in two or three words: what the changes show, or why they cannot."""
        if not self.converged:
            return "not converged"
        estimated = any(row.conf_low is not None for row in (*self.cells, *self.scenarios, *self.models))
        if any(row.verdict == "drop" for row in self.drops):
            return "breaks shown"
        if self.scenario_as == "random" and estimated:
            return "scenarios sampled"
        if self.judged:
            return "none shown"
        return "scores only" if not self.drops and estimated else "no answer"

    @property
    def answered(self) -> bool:
        """Whether the data answer the question at all: the fit ended well, and some number has an interval."""
        return self.verdict not in ("no answer", "not converged")

    @property
    def judged(self) -> tuple[ChangeRow, ...]:
        """Changes that have a verdict other than "invalid"."""
        return tuple(row for row in self.drops if row.verdict != "invalid")

    @property
    def digits(self) -> int:
        """Decimals of scores and changes as shown: those that show the first digit of a usual standard error, at least one."""
        errors = sorted(row.std_error for row in (*self.cells, *self.drops) if row.std_error)
        usual = errors[len(errors) // 2] * self.scale if errors else 1.0
        return min(max(1, -math.floor(math.log10(usual))), 6)

    @property
    def interaction(self) -> TermTest | None:
        """The headline test of whether models differ in where they break."""
        return next((test for test in self.tests if test.role == "headline"), None)

    def cell(self, model: str, scenario: str) -> CellRow:
        """Return one cell; an unknown name is an `InputError` that names the closest."""
        rows = [row for row in self.cells if row.model == row_named(self.cells, model, key="model").model]
        return row_named(rows, scenario, what="scenario", key="scenario")

    def drop(self, model: str, scenario: str) -> ChangeRow:
        """Return one drop; an unknown name is an `InputError` that names the closest."""
        rows = [row for row in self.drops if row.model == row_named(self.drops, model, key="model").model]
        return row_named(rows, scenario, what="scenario", key="scenario")

    def posterior(
        self, *, margin: float | None = None, prior_scale: float | None = None, conf_level: float | None = None
    ) -> Posterior:
        """Return how probable it is that each model does worse in each scenario than in the reference: beside the table.

        Parameters
        ----------
        margin
            The largest change that does not matter, in the metric's own unit.
        prior_scale
            Scale of the usual prior of a change, in the metric's own unit; None: a tenth of the score's range. A score without
            bounds needs one.
        conf_level
            How much of the posterior a credible interval holds; None: the level of the result.

        Raises
        ------
        CannotAnswerError
            If no change has a standard error.
        InputError
            If an option is out of its range, or which way is better is not known.

        Notes
        -----
        Each change is taken by itself, from its estimate, standard error and degrees of freedom; nothing is adjusted for their
        number. Priors are those of `Comparison.posterior`.
        """
        need_direction(self.about)
        if not self.drops:
            raise CannotAnswerError("there is no posterior: no change between scenarios is estimated")
        drops = sum(row.verdict == "drop" for row in self.drops)
        return difference_posterior(
            {
                f"{row.model} in {row.scenario}": row.reason
                or "the change has no standard error, so nothing tells how sure it is"
                if row.estimate is None or not row.std_error
                else TLikelihood(centre=row.estimate, spread=row.std_error, df=math.inf if row.df is None else row.df)
                for row in self.drops
            },
            self.about,
            of="scenarios",
            baseline=self.reference,
            candidate="",
            scale=usual_scale(self.about, prior_scale, None),
            margin=margin,
            conf_level=self.conf_level if conf_level is None else conf_level,
            beside=f"{drops} of {len(self.drops)} drops shown",
            origin=replace(self.origin, settings=None),
            notes=notes_of_data(self.notes),
        )

    def to_frame(self) -> pl.DataFrame:
        """One row for each model and scenario, in glossary names."""
        return ShownFrame(frame_of(self.cells, CellRow, CELL_COLUMNS))

    def drops_frame(self) -> pl.DataFrame:
        """One row for each drop."""
        return frame_of(self.drops, ChangeRow, DROP_COLUMNS)

    def means_frame(self) -> pl.DataFrame:
        """Means of models and of scenarios."""
        return frame_of((*self.models, *self.scenarios), ScenarioMean, MEAN_COLUMNS)

    def pairs_frame(self) -> pl.DataFrame:
        """One row for each pair of models."""
        return frame_of(self.pairs, ModelPairRow, PAIR_COLUMNS)

    def variances_frame(self) -> pl.DataFrame:
        """One row for each source of variation."""
        return frame_of(self.variances, VarianceRow, VARIANCE_COLUMNS)

    def effects_frame(self) -> pl.DataFrame:
        """One row for each level of each random effect."""
        return frame_of(self.effects, EffectRow, EFFECT_COLUMNS)
