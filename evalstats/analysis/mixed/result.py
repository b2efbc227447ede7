"""A fitted mixed model: the frozen result of `mixed()`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evalstats.analysis.mixed.inference import Fitted, TermTest
from evalstats.analysis.mixed.intervals import ModelComparison, OnStep, bootstrap, likelihood_ratio, profile
from evalstats.analysis.mixed.means import ContrastKind, Means, Scale, means
from evalstats.analysis.result import Estimate, Result, json_safe, row_named, unknown_name
from evalstats.document.model import Note
from evalstats.document.numbers import plural
from evalstats.errors import InputError
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.mixed.contrasts import Adjustment
from evalstats.stats.mixed.design import Convergence, Family
from evalstats.stats.mixed.marginal_means import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedEffect(Estimate):
    """One fixed effect, in the unit of the response (log-odds for the binomial family).

    `df` is None where the normal law is used. `reason` says why there is no interval.
    """

    term: str
    estimate: float
    statistic: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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
    std_dev, correlation
        Its root, for a variance; the correlation, for a covariance. None where there is none.
    share
        Of the total variance, for models of random intercepts only; binomial: with pi^2/3 as the variance of a trial on the
        logit scale.
    """

    group: str
    term: str
    other: str | None
    variance: float
    std_dev: float | None
    correlation: float | None
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MixedModel(Result, Fitted):
    """A fitted linear or binomial mixed model, and how it was reached.

    Attributes
    ----------
    formula
        As it was understood, written out.
    method
        "REML", "ML", "Laplace", "AGHQ", "nAGQ=0"; "OLS" or "GLM" without random effects.
    df_method, df_reason
        How tests and intervals of fixed effects are made, and why so.
    fixed, tests
        Fixed effects one by one, and each term of the formula as a whole.
    variances
        Variances, covariances and the residual.
    groups
        Each grouping and how many levels it has.
    n_rows, n_trials, n_cells, n_given
        Rows that were used; binomial trials behind them (rows of a linear model); distinct rows they were merged to; rows of
        the table.
    log_likelihood
        The maximised criterion: restricted for REML, and then comparable only between models with the same fixed effects.
    aic, bic
        From it; for BIC n is `n_rows`.
    singular
        What lies on the boundary of the parameter space, in words.
    penalty
        The weakly informative prior in words where one was used (separation), else "".
    numbers
        What is behind the tables, for further questions; it is not saved, so that a loaded model answers none of these.
    """

    formula: str
    response: str
    family: Family
    method: str
    backend: str
    conf_level: float
    df_method: str
    df_reason: str
    estimand: str
    fixed: tuple[FixedEffect, ...]
    tests: tuple[TermTest, ...]
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
    seed: int = 0
    version: str = ""
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

    def effect(self, term: str) -> FixedEffect:
        """Return one fixed effect by its name.

        Raises
        ------
        InputError
            If there is none of that name; it names the closest.
        """
        return row_named(self.fixed, term, what="fixed effect", key="term")

    def variance(self, group: str, term: str = "(Intercept)", other: str | None = None) -> VarianceComponent:
        """Return one variance component.

        Raises
        ------
        InputError
            If there is no such component; it names those of the group.
        """
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
        0; or log-odds given random effects of 0 (scale="link"). Numbers among the fixed effects stand at their means.

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
        conf_level
            By default that of the result.

        Returns
        -------
        Means
            Means that rest on a combination without rows are null, with the reason.

        Raises
        ------
        InputError
            If a factor, level or option is not known.

        References
        ----------
        Searle, Speed & Milliken 1980, doi:10.1080/00031305.1980.10483031; Zeger, Liang & Albert 1988, doi:10.2307/2531734.

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
            self,
            specs,
            by=by,
            weights=weights,
            contrasts=contrasts,
            reference=reference,
            adjust=adjust,
            scale=scale,
            conf_level=conf_level,
        )

    def profile(
        self, *, conf_level: float | None = None, fixed: bool = True, on_step: OnStep | None = None
    ) -> pl.DataFrame:
        """Return profile likelihood intervals of variance parameters and fixed effects.

        An interval holds the values that a likelihood ratio test does not reject; it need not be symmetric, which matters for
        variances of few units. Linear models are profiled by full maximum likelihood, also after REML.

        Parameters
        ----------
        fixed
            Whether to profile the fixed effects too.

        Returns
        -------
        polars.DataFrame
            A row for each: term, estimate (by maximum likelihood), conf_low, conf_high, conf_level, method, reason.

        Raises
        ------
        InputError
            If the fit has no likelihood to profile (a prior against separation, or n_quadrature=0).
        """
        return profile(self, conf_level=conf_level, fixed=fixed, on_step=on_step)

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

        Data are drawn from the fitted model with new random effects, and the model is fitted to each.

        Returns
        -------
        polars.DataFrame
            A row for each: kind ("fixed" or "std_dev"), group, term, estimate, std_error, conf_low, conf_high, conf_level,
            method, n_resamples, reason.
        """
        return bootstrap(
            self, n_resamples=n_resamples, seed=seed, conf_level=conf_level, workers=workers, on_step=on_step
        )

    def likelihood_ratio(
        self,
        smaller: Fitted,
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
        smaller
            A fit of the same rows, with fewer fixed or random effects.
        n_resamples
            Replicates of a parametric bootstrap; None for the chi-squared law.
        seed
            Of the bootstrap; by default that of this fit.

        Raises
        ------
        InputError
            If the models are not nested, or not of the same rows.

        References
        ----------
        Stram & Lee 1994, doi:10.2307/2533455; Halekoh & Hojsgaard 2014, doi:10.18637/jss.v059.i09.
        """
        return likelihood_ratio(smaller, self, n_resamples=n_resamples, seed=seed, workers=workers, on_step=on_step)

    def to_frame(self) -> pl.DataFrame:
        """Return the fixed effects in glossary names, one row each."""
        schema = {name: pl.String() if name in ("term", "method", "reason") else pl.Float64() for name in _EFFECT}
        return pl.DataFrame([{name: getattr(row, name) for name in _EFFECT} for row in self.fixed], schema=schema)

    def tests_frame(self) -> pl.DataFrame:
        """Return the tests of the terms, one row each."""
        types = _FLOATS | {"term": pl.String(), "method": pl.String(), "reason": pl.String(), "n_lost": pl.Int64()}
        schema = {name: types.get(name, pl.Float64()) for name in TermTest.__dataclass_fields__}
        return pl.DataFrame([_fields(row) for row in self.tests], schema=schema | {"df": pl.Int64()})

    def variances_frame(self) -> pl.DataFrame:
        """Return variances and covariances, one row each."""
        texts = ("group", "term", "other")
        types = {
            name: pl.String() if name in texts else pl.Float64() for name in VarianceComponent.__dataclass_fields__
        }
        return pl.DataFrame([_fields(row) for row in self.variances], schema=types)

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


def _fields(row: TermTest | VarianceComponent) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


_EFFECT = (
    *("term", "estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"),
    *("method", "reason", "conf_level"),
)
_EFFECTS: dict[str, pl.DataType] = {
    **dict.fromkeys(("group", "level", "term"), pl.String()),
    **dict.fromkeys(("estimate", "conditional_sd", "conf_low", "conf_high"), pl.Float64()),
}
_FLOATS: dict[str, pl.DataType] = dict.fromkeys(
    ("estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high", "conf_level"), pl.Float64()
)
