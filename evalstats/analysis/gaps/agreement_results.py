"""How far the lab orders models as live users do: the first layer of `gap()`."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

import polars as pl

Coefficient = Literal["pearson", "spearman", "kendall"]
Source = Literal["items", "votes", "items and votes", "models", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInterval:
    """The interval of a coefficient by one source of uncertainty.

    Attributes
    ----------
    source
        "items": other lab items; "votes": other live votes or sessions; "items and votes": both, for these very models;
        "models": other models like these, scores taken as exact; "all": models, items and votes.
    conf_low, conf_high
        None where it cannot be told; `reason` says why.
    """

    source: Source
    conf_low: float | None = None
    conf_high: float | None = None
    method: str = ""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientRow:
    """One coefficient over all shared models.

    Attributes
    ----------
    intervals
        One for each source that the data have.
    fisher_low, fisher_high
        By Fisher's z (Pearson, and Spearman with the Bonett-Wright variance) or the jackknife (Kendall), models as the
        source: a check of the bootstrap, which repeats models and so makes ties.
    p_value, p_method
        Exact permutation p of no association where models are few, else by draws of permutations.
    ceiling, ceiling_low, ceiling_high
        What this coefficient would be expected to be if the true scores agreed perfectly, given the noise of both sides.
        `ceiling_low` and `ceiling_high` hold what one sample would then show: agreement below them is not noise alone.
    disattenuated, disattenuated_low, disattenuated_high
        Pearson only: the correlation of true scores. May exceed 1, which is reported and not clipped; the ends hold
        correlations that can be. `disattenuated_source` says of what: "all" (models like these), or "items and votes" (these
        models) where models are few.
    these_low, these_high
        The same for these very models.
    true_reason
        Why there is no ceiling, no correlation of true scores, or no interval of it.
    """

    name: Coefficient
    estimate: float | None
    intervals: tuple[SourceInterval, ...] = ()
    fisher_low: float | None = None
    fisher_high: float | None = None
    p_value: float | None = None
    p_method: str = ""
    ceiling: float | None = None
    ceiling_low: float | None = None
    ceiling_high: float | None = None
    disattenuated: float | None = None
    disattenuated_low: float | None = None
    disattenuated_high: float | None = None
    disattenuated_source: Source | None = None
    these_low: float | None = None
    these_high: float | None = None
    true_reason: str | None = None
    reason: str | None = None

    def interval(self, source: Source) -> SourceInterval | None:
        """Return the interval by one source, or None."""
        return next((each for each in self.intervals if each.source == source), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """Agreement within some of the models: the live top k, a tier, a random or adjacent subset.

    Attributes
    ----------
    kind
        "all", "top" (the best k live), "lab top" (the best k in the lab), "tier" (a stretch of the live order).
    conf_low, conf_high
        Of Spearman's coefficient by items and votes, for these models; the set itself is chosen by the live estimates.
    n_shared, n_shared_by_chance
        For "top": how many of the live top k are in the lab's top k, and how many would be by chance.
    """

    kind: Literal["all", "top", "lab top", "tier"]
    label: str
    n_models: int
    pearson: float | None = None
    spearman: float | None = None
    kendall: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    n_shared: int | None = None
    n_shared_by_chance: float | None = None
    models: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetRow:
    """Kendall's coefficient over repeated subsets of models of one size, as BenchBench recommends.

    Attributes
    ----------
    kind
        "random", "top" (random subsets of the better half live), "adjacent" (neighbours in the live order).
    mean, sd, low, high
        Over the subsets: mean, standard deviation, 5% and 95% quantile. They overlap, so `sd` is no standard error.
    """

    kind: Literal["random", "top", "adjacent"]
    size: int
    n_subsets: int
    mean: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two models that both sides separate, in opposite directions.

    `better_live` wins with live users and loses in the lab. Differences are better_live less the other, own units.
    """

    better_live: str
    better_lab: str
    lab_difference: float
    lab_p_adjusted: float
    live_difference: float
    live_p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Brier:
    """How well the lab's probabilities of order forecast the live order of pairs.

    Attributes
    ----------
    score
        Mean of (p_lab - 1{live order})^2; 0.25 for a coin.
    soft_score
        Against the live probability of the order instead of the live order.
    reliability, resolution, uncertainty
        Murphy's parts: score = reliability - resolution + uncertainty (of binned forecasts; `within` is what binning adds).
    """

    score: float
    soft_score: float | None
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    conf_low: float | None = None
    conf_high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOrder:
    """Agreement over all pairs of models.

    Attributes
    ----------
    agreement, agreement_low, agreement_high
        Share of pairs in the same order by estimate; interval by models and errors (pairs are far from independent).
    n_separated_lab, n_separated_live, n_separated_both
        Pairs whose difference is significant, adjusted over all pairs of a side (Holm).
    n_same, n_contradicted
        Of the pairs separated on both sides: in the same, in opposite order.
    separability_lab, separability_live
        Share of pairs whose difference has an unadjusted interval without 0.
    confidence_agreement, confidence_low, confidence_high
        Arena-Hard's: +1 where both sides separate alike, -1 oppositely, 0 else, averaged over pairs (unadjusted intervals).
    matrix
        For each pair (name, name), up to 100 models: "same", "contradicted", "lab only", "live only", "neither".
    """

    n_pairs: int
    agreement: float
    agreement_low: float | None = None
    agreement_high: float | None = None
    n_separated_lab: int | None = None
    n_separated_live: int | None = None
    n_separated_both: int | None = None
    n_same: int | None = None
    n_contradicted: int | None = None
    separability_lab: float | None = None
    separability_live: float | None = None
    confidence_agreement: float | None = None
    confidence_low: float | None = None
    confidence_high: float | None = None
    contradictions: tuple[Contradiction, ...] = ()
    brier: Brier | None = None
    matrix: tuple[tuple[str, str, str], ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRow:
    """Agreement where the lab is cut to one level of a factor (or both sides are).

    Attributes
    ----------
    level
        Of the factor; "" for all.
    cut
        "lab" where only the lab is cut, "both".
    """

    factor: str
    level: str
    cut: Literal["lab", "both"]
    n_models: int
    spearman: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    ceiling: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far the lab orders models as live users do.

    Attributes
    ----------
    parts
        All, top k, tiers. `subsets`: repeated subsets by size. `slices`: by level of a factor.
    """

    n_models: int
    coefficients: tuple[CoefficientRow, ...]
    parts: tuple[PartRow, ...] = ()
    subsets: tuple[SubsetRow, ...] = ()
    pairs: PairOrder | None = None
    slices: tuple[SliceRow, ...] = ()
    n_resamples: int | None = None
    warnings: tuple[str, ...] = ()

    def of(self, name: Coefficient) -> CoefficientRow:
        """Return one coefficient."""
        return next(row for row in self.coefficients if row.name == name)

    def to_frame(self) -> pl.DataFrame:
        """One row for each coefficient and source."""
        rows = [
            {"term": row.name, "estimate": row.estimate, **dataclasses.asdict(each)}
            for row in self.coefficients
            for each in (row.intervals or (SourceInterval(source="all", reason=row.reason),))
        ]
        return pl.DataFrame(rows, infer_schema_length=None)
