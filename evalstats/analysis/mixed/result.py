"""A fitted mixed model: the frozen result of `mixed()`, and the further questions it answers.

Marginal means: Searle, Speed & Milliken 1980, doi:10.1080/00031305.1980.10483031; averaged probabilities: Zeger, Liang & Albert
1988, doi:10.2307/2531734. Likelihood ratios: Stram & Lee 1994, doi:10.2307/2533455; Halekoh & Hojsgaard 2014,
doi:10.18637/jss.v059.i09.
"""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import polars as pl

from evalstats.analysis.mixed.frame import ModelFrame
from evalstats.analysis.mixed.inference import FittedModel, FixedTermTest, Inference, fit_of
from evalstats.analysis.mixed.means import ContrastKind, Means, Scale, means
from evalstats.analysis.result import Estimate, OfOrigin, Origin, Result, frame_of, json_safe, row_named
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.document.numbers import number, p_words
from evalstats.errors import InputError
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.schema.names import unknown_name
from evalstats.stats.checks import check_level
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.mixed.contrasts import Adjustment
from evalstats.stats.mixed.design import Convergence, Family, Floats, MixedDesign, MixedFit, RandomTerm
from evalstats.stats.mixed.likelihood_ratio import (
    bootstrap_intervals,
    parametric_bootstrap,
    random_structure,
    standard_deviations,
    variance_ratio,
)
from evalstats.stats.mixed.likelihood_ratio import likelihood_ratio as chi_squared_ratio
from evalstats.stats.mixed.marginal_means import Weights
from evalstats.stats.mixed.profile_likelihood import profile

OnStep = Callable[[int, int], None]
_EFFECT = (
    *("term", "estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"),
    *("method", "reason", "conf_level"),
)
_EFFECTS: dict[str, pl.DataType] = {
    **dict.fromkeys(("group", "level", "term"), pl.String()),
    **dict.fromkeys(("estimate", "conditional_sd", "conf_low", "conf_high"), pl.Float64()),
}


@record
class FixedEffect(Estimate):
    """One fixed effect, in the unit of the response (log-odds for the binomial family).

    `df` is None where the normal law is used. `reason` says why there is no interval; `contrast` which level of a factor minus
    which the effect is.
    """

    term: str
    contrast: str | None = None
    estimate: float
    statistic: float | None = None


@record
class VarianceComponent:
    """A variance of random effects, a covariance of two of them, or the residual variance.

    Attributes
    ----------
    group
        Name of the grouping; "Residual" for what is left.
    term, other
        Name of the effect; of the second one for a covariance, else None.
    variance
        In squared units of the response (log-odds squared for the binomial family); for a covariance the covariance.
    share
        Of the total variance, for models of random intercepts only; binomial: with pi^2/3 as the variance of a trial on the
        logit scale.
    std_dev, correlation
        Square root of a variance; a covariance as a correlation.
    """

    group: str
    term: str
    other: str | None = None
    variance: float
    std_dev: float | None = None
    correlation: float | None = None
    share: float | None = None


@record
class ModelComparison:
    """A test of the smaller of two nested models: twice the difference of the log-likelihoods.

    `df` is its law as (weight, degrees of freedom) of chi-squared laws; empty for a bootstrap, of which alone `n_resamples` and
    `seed` are known.
    """

    small: str
    large: str
    statistic: float
    df: tuple[tuple[float, int], ...]
    p_value: float
    method: str
    n_resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe values."""
        return json_safe(self)

    def summary(self) -> str:
        """One sentence, and the notes."""
        test = f"{self.method}, statistic {number(self.statistic)}, {p_words(self.p_value)}"
        first = f"{self.large} against {self.small}: {test}."
        return " ".join([first, *(f"Note: {note}." for note in self.notes)])


@record(repr=False)
class MixedModel(OfOrigin, Result):
    """A fitted linear or binomial mixed model, and how it was reached.

    Attributes
    ----------
    formula
        As it was understood, written out.
    method
        "REML", "ML", "Laplace", "AGHQ", "nAGQ=0"; "OLS" or "GLM" without random effects.
    df_method, df_reason
        How tests and intervals of fixed effects are made, and why so.
    groups
        Each grouping and how many levels it has.
    n_rows, n_trials, n_cells, n_given
        Rows that were used; binomial trials behind them (rows of a linear model); distinct rows they were merged to; rows of
        the table.
    log_likelihood
        The maximised criterion: restricted for REML, and then comparable only between models with the same fixed effects.
    bic
        With `n_rows` for n.
    singular
        What lies on the boundary of the parameter space, in words.
    penalty
        The weakly informative prior in words where one was used (separation), else "".
    numbers
        What is behind the tables, for further questions; it is not saved, so that a loaded model answers none of these.
    response, family
        Name of the response, and its law: "gaussian" or "binomial".
    fixed, tests
        Fixed effects, and a test of each term.
    variances
        Variances and covariances of the random effects, and of the residual.
    n_parameters, aic
        Number of parameters, and Akaike's criterion.
    convergence
        How the optimisation ended.
    """

    formula: str
    response: str
    family: Family
    method: str
    conf_level: float
    df_method: str
    df_reason: str
    estimand: str
    fixed: tuple[FixedEffect, ...]
    tests: tuple[FixedTermTest, ...]
    variances: tuple[VarianceComponent, ...]
    groups: tuple[tuple[str, int], ...]
    n_rows: int
    n_trials: int
    n_cells: int
    n_given: int
    log_likelihood: float
    n_parameters: int
    aic: float
    bic: float
    convergence: Convergence
    singular: tuple[str, ...] = ()
    penalty: str = ""
    origin: Origin = field(default_factory=Origin)
    notes: tuple[Note, ...] = ()
    numbers: Any = field(default=None, compare=False)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        state = "" if self.converged else ", not converged"
        return f"<MixedModel: {self.formula} by {self.method} on {plural(self.n_rows, 'row')}{state}>"

    @property
    def converged(self) -> bool:
        """Whether the optimisation ended at an optimum."""
        return self.convergence.converged

    @property
    def fit(self) -> MixedFit:
        """Estimates, random effects and the design they were found from."""
        return self._fitted().fit

    @property
    def frame(self) -> ModelFrame:
        """The table as the model read it."""
        return self._fitted().frame

    @property
    def inference(self) -> Inference:
        """How fixed effects are judged."""
        return self._fitted().inference

    def _fitted(self) -> FittedModel:
        if not isinstance(self.numbers, FittedModel):
            raise InputError("a saved model holds no data, and this needs them; fit it again with evalstats.mixed")
        return self.numbers

    def effect(self, term: str) -> FixedEffect:
        """Return one fixed effect; an unknown name is an `InputError` that names the closest."""
        return row_named(self.fixed, term, what="fixed effect", key="term")

    def variance(self, group: str, term: str = "(Intercept)", other: str | None = None) -> VarianceComponent:
        """Return one variance component; an unknown name is an `InputError` that names the closest."""
        for row in self.variances:
            if (row.group, row.term, row.other) == (group, term, other):
                return row
        wanted = f"{group}: {term}" + (f" with {other}" if other else "")
        there = [f"{row.group}: {row.term}" + (f" with {row.other}" if row.other else "") for row in self.variances]
        raise InputError(unknown_name(wanted, there, what="variance component"))

    def means(
        self,
        specs: str | Sequence[str],
        *,
        by: str | Sequence[str] | None = (),
        weights: Weights = "equal",
        contrasts: ContrastKind = "pairwise",
        reference: str | None = None,
        adjust: Adjustment = "holm",
        scale: Scale = "response",
        conf_level: float | None = None,
    ) -> Means:
        """Return marginal means of one or several fixed factors, and contrasts between them.

        Linear models: means in the unit of the response, with the degrees of freedom of the fit. Binomial models: probabilities
        averaged over the population of the random effects (scale="response"), which is not the probability at random effects of
        0; or log-odds given random effects of 0 (scale="link"). Numbers among the fixed effects stand at their means. Means that
        rest on a combination without rows are null, with the reason.

        Parameters
        ----------
        specs
            Factors whose levels are told apart; the fixed factors not named are averaged over.
        by
            Further factors: contrasts are made within each of their combinations, each a family of its own.
        weights
            "equal", "observed" (how often the combinations of the other factors occur), or a mix of the user's, such as
            `{"scenario": {"ideal": 0.7, "rude": 0.3}}`.
        contrasts
            "pairwise"; "reference": each level minus `reference` (by default the first); "mean": each minus the mean of all; a
            dict of weights for each contrast; or "none".
        adjust
            "holm", "tukey", "max-t" or "none", within each family.

        Raises
        ------
        InputError
            If a factor, level or option is not known.

        Examples
        --------
        >>> from evalstats.analysis.mixed.mixed import mixed
        >>> table = {
        ...     "score": [3.1, 2.9, 4.0, 3.8, 2.2, 2.5, 3.3, 3.0, 4.1, 3.7, 2.6, 2.4],
        ...     "model": list("ababab" * 2),
        ...     "item": list("ppqqrrppqqrr"),
        ... }
        >>> found = mixed("score ~ model + (1 | item)", table).means("model")
        >>> [(row.name, round(row.estimate, 3)) for row in found.rows]
        [('a', 3.217), ('b', 3.05)]
        """
        return means(
            self._fitted(),
            specs,
            by=by,
            weights=weights,
            contrasts=contrasts,
            reference=reference,
            adjust=adjust,
            scale=scale,
            conf_level=self.conf_level if conf_level is None else conf_level,
        )

    def profile(
        self, *, conf_level: float | None = None, fixed: bool = True, on_step: OnStep | None = None
    ) -> pl.DataFrame:
        """Return profile likelihood intervals of variance parameters and, with `fixed`, of fixed effects.

        An interval holds the values that a likelihood ratio test does not reject; it need not be symmetric, which matters
        for variances of few units. Linear models are profiled by full maximum likelihood, also after REML. Rows: term,
        estimate (by maximum likelihood), conf_low, conf_high, conf_level, method, reason. InputError if the fit has no
        likelihood to profile (a prior against separation, or n_quadrature=0).
        """
        self._needs_random()
        level = check_level(self.conf_level if conf_level is None else conf_level)
        names = self.fit.design.fixed_names
        contrasts = np.eye(len(names)) if fixed else None
        found = profile(self.fit, contrasts=contrasts, conf_level=level, on_step=on_step)
        labels = [each.name for each in found]
        if fixed:
            labels[len(found) - len(names) :] = names
        shown = ("estimate", "conf_low", "conf_high")
        rows = [
            {"term": label}
            | {name: getattr(each, name) for name in shown}
            | {"conf_level": level, "method": "profile likelihood", "reason": "; ".join(each.notes) or None}
            for label, each in zip(labels, found, strict=True)
        ]
        return _rows_frame(rows, shown)

    def bootstrap(
        self,
        *,
        n_resamples: int = 1000,
        seed: int | None = None,
        conf_level: float | None = None,
        workers: int | None = None,
        on_step: OnStep | None = None,
    ) -> pl.DataFrame:
        """Return percentile intervals of fixed effects and of standard deviations by parametric bootstrap.

        Data are drawn from the fitted model with new random effects, and the model is fitted to each. Rows: kind ("fixed" or
        "std_dev"), group, term, estimate, std_error, conf_low, conf_high, conf_level, method, n_resamples, reason.
        """
        self._needs_random()
        level = check_level(self.conf_level if conf_level is None else conf_level)
        design = self.fit.design
        named = [("fixed", "", name) for name in design.fixed_names]
        named += [("std_dev", term.group, name) for term in design.terms for name in term.columns]
        named += [("std_dev", "Residual", "")] if self.family == "gaussian" else []
        found = bootstrap_intervals(
            self.fit,
            _effects_and_deviations,
            names=[" ".join(part for part in parts if part) for parts in named],
            n_resamples=n_resamples,
            seed=self.origin.seed if seed is None else seed,
            conf_level=level,
            workers=workers,
            on_step=on_step,
        )
        shown = ("estimate", "std_error", "conf_low", "conf_high")
        names = (*shown, "conf_level", "method", "n_resamples", "reason")
        rows = [
            dict(zip(("kind", "group", "term"), parts, strict=True)) | {name: getattr(each, name) for name in names}
            for parts, each in zip(named, found, strict=True)
        ]
        return _rows_frame(rows, shown)

    def _needs_random(self) -> None:
        if not self.groups:
            raise InputError(
                f"{self.formula} has no random effects, and the intervals of the fit itself are by t or the normal law; add a "
                "random part, such as (1 | item), for profiles or a bootstrap"
            )

    def likelihood_ratio(
        self,
        smaller: "MixedModel",
        *,
        n_resamples: int | None = None,
        seed: int | None = None,
        workers: int | None = None,
        on_step: OnStep | None = None,
    ) -> ModelComparison:
        """Test a smaller model of the same rows, nested in this one.

        Fixed effects: chi-squared, with both linear models refitted by ML, since REML's criteria are not comparable. One
        variance: half chi-squared laws, as 0 is the edge of what it can be. With few units, or for binomial models, take the
        parametric bootstrap.

        Parameters
        ----------
        n_resamples
            Replicates of a parametric bootstrap; None for the chi-squared law.
        seed
            Of the bootstrap; by default that of this fit.

        Raises
        ------
        InputError
            If the models are not nested, or not of the same rows.
        """
        own = self.fit.design
        _check_same_rows(smaller, self)
        if bool(smaller.groups) != bool(self.groups):
            raise InputError(
                "one of the models has no random effects; keep at least one random part in both, and test the others against it"
            )
        if n_resamples is not None and not self.groups:
            raise InputError(
                "neither model has random effects, so the likelihood ratio has its law; leave n_resamples out"
            )
        design = _smaller(smaller.fit.design, own)
        same_fixed = design.fixed_names == own.fixed_names
        same_random = random_structure(design) == random_structure(own)
        if same_fixed and same_random:
            raise InputError(f"both models are {self.formula}; there is nothing to test")
        by_ml = self.method == "REML" and not same_fixed
        full = fit_of(own, self.family, reml=False) if by_ml else self.fit
        reml = self.method == "REML" and not by_ml
        null = fit_of(design, self.family, reml=reml, n_quadrature=self.fit.n_quadrature)
        notes = ("both models were refitted by ML",) if by_ml else ()
        start = self.origin.seed if seed is None else seed
        df: tuple[tuple[float, int], ...] = ()
        if n_resamples is not None:
            law = parametric_bootstrap(
                null, full, n_resamples=n_resamples, seed=start, workers=workers, on_step=on_step
            )
        elif same_fixed or same_random:
            law = chi_squared_ratio(null, full) if same_random else variance_ratio(null, full)
            df = law.df
        else:
            raise InputError(
                "the models differ in fixed and in random effects, for which there is no law at hand; change one at a time, or "
                "give n_resamples for a parametric bootstrap"
            )
        return ModelComparison(
            small=smaller.formula,
            large=self.formula,
            statistic=law.statistic,
            df=df,
            p_value=law.p_value,
            method=law.method,
            n_resamples=n_resamples,
            seed=None if n_resamples is None else start,
            notes=(*notes, *law.notes),
        )

    def to_frame(self) -> pl.DataFrame:
        """Return the fixed effects in glossary names, one row each."""
        return ShownFrame(frame_of(self.fixed, FixedEffect, _EFFECT))

    def tests_frame(self) -> pl.DataFrame:
        """Return the tests of the terms, one row each."""
        return frame_of(self.tests, FixedTermTest, FixedTermTest.__dataclass_fields__)

    def variances_frame(self) -> pl.DataFrame:
        """Return variances and covariances, one row each."""
        return frame_of(self.variances, VarianceComponent, VarianceComponent.__dataclass_fields__)

    def effects_frame(self) -> pl.DataFrame:
        """Conditional modes of the random effects (BLUPs), one row for each effect of each level.

        `conditional_sd` is their standard deviation given the parameters; `conf_low` and `conf_high` take it as all there is.
        """
        z = normal_quantile(self.conf_level)
        parts: list[pl.DataFrame] = []
        for term, modes, spread in zip(
            self.fit.design.terms, self.fit.effects, self.fit.effect_covariances, strict=True
        ):
            for at, name in enumerate(term.columns):
                estimate, sd = modes[:, at], spread[:, at, at].clip(min=0.0) ** 0.5
                known = pl.Series("conditional_sd", sd)
                parts.append(
                    pl.DataFrame({"group": [term.group] * term.n_levels, "level": list(term.levels)}).with_columns(
                        pl.lit(name).alias("term"),
                        pl.Series("estimate", estimate),
                        known,
                        # No interval of width 0: where a variance is 0, that is an estimate, and not known of any level.
                        pl.Series("conf_low", estimate - z * sd).set(known <= 0.0, None),
                        pl.Series("conf_high", estimate + z * sd).set(known <= 0.0, None),
                    )
                )
        return pl.concat(parts) if parts else pl.DataFrame(schema=_EFFECTS)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-safe values: all but the numbers behind the tables."""
        kept = (name for name in self.__dataclass_fields__ if name != "numbers")
        return {"result": type(self).__name__, **{name: json_safe(getattr(self, name)) for name in kept}}


def _rows_frame(rows: list[dict[str, Any]], numbers: Sequence[str]) -> pl.DataFrame:
    types = dict.fromkeys(numbers, pl.Float64()) | {"reason": pl.String()}
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def _effects_and_deviations(fit: MixedFit) -> Floats:
    """Return the fixed effects of a fit, then its standard deviations: what is resampled."""
    return np.concatenate([fit.beta, standard_deviations(fit)])


def _check_same_rows(small: "MixedModel", large: "MixedModel") -> None:
    if (small.family, small.response) != (large.family, large.response):
        raise InputError(
            f"the models explain {small.response} ({small.family}) and {large.response} ({large.family}); give one response"
        )
    totals = [(m.n_rows, m.n_trials, float(m.fit.design.count @ m.fit.design.response)) for m in (small, large)]
    if totals[0][:2] != totals[1][:2] or not np.isclose(totals[0][2], totals[1][2], rtol=1e-9, atol=1e-9):
        raise InputError(
            f"the models are fitted to {small.n_rows:,} and {large.n_rows:,} rows, or to other responses; fit both to the same "
            "rows (leave out those that lack a column of the larger model)"
        )


def _smaller(small: MixedDesign, large: MixedDesign) -> MixedDesign:
    """Return the smaller model on the cells of the larger, so that both are fitted to the same numbers."""
    missing = [name for name in small.fixed_names if name not in large.fixed_names]
    if missing:
        raise InputError(f"the smaller model has the fixed effect {missing[0]}, which the larger has not: not nested")
    order = sorted(large.fixed_names.index(name) for name in small.fixed_names)
    terms: list[RandomTerm] = []
    for term in small.terms:
        wider = [
            other for other in large.terms if other.group == term.group and set(term.columns) <= set(other.columns)
        ]
        if not wider:
            raise InputError(
                f"the smaller model has the random effects ({' + '.join(term.columns)} | {term.group}), which the larger has "
                "not; give nested models"
            )
        at = [wider[0].columns.index(name) for name in term.columns]
        terms.append(replace(wider[0], columns=term.columns, values=np.ascontiguousarray(wider[0].values[:, at])))
    return replace(
        large,
        fixed=large.fixed.replaced(large.fixed.rows[:, order]),
        fixed_names=tuple(large.fixed_names[at] for at in order),
        terms=tuple(terms),
    )
