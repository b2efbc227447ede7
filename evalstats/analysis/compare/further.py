"""Beside the headline of a comparison: further intervals, what the posterior says, and sizes of the effect."""

from collections.abc import Sequence

import numpy as np

from evalstats.analysis.result import MethodRow, method_row
from evalstats.document.numbers import declared, scaled, share_in_percent
from evalstats.grammar import plural
from evalstats.stats.bootstrap import bca_law, bootstrap_t
from evalstats.stats.one_sample import UnseenFailures
from evalstats.stats.paired.binary import PairedCounts, bonett_price, newcombe, paired_posterior
from evalstats.stats.paired.effect_sizes import EffectSize, conditional_odds_ratio, standardised_difference, superiority
from evalstats.stats.paired.means import signed_rank
from evalstats.table.items import Floats, Ints
from evalstats.table.metric import MetricFacts

# Above this many items the studentised bootstrap and t agree, and its draws take seconds.
MOST_STUDENTISED = 5000


# Above this many, ranking all pairwise averages takes seconds.
MOST_RANKED = 100_000


def further_rows(
    method: str,
    baseline: Floats,
    candidate: Floats,
    differences: Floats,
    metric: MetricFacts,
    *,
    margin: float | None,
    conf_level: float,
    seed: int,
) -> tuple[MethodRow, ...]:
    """Return the rows that stand beside a headline by `method`, one of those of `paired_difference`.

    In `differences` those that are rounding alone are one number.
    """
    if method in ("cr2", "stratified"):
        return ()
    words = "exact law, no seed; for comparison with published BCa intervals, and no cure near 0 and 1"
    bca = method_row(bca_law(differences, conf_level=conf_level), "second interval", words)
    unit = f" {metric.shown_unit}".rstrip()
    if method == "tango":
        counts = PairedCounts.from_scores(baseline, candidate)
        closed, pseudo = newcombe(counts, conf_level=conf_level), bonett_price(counts, conf_level=conf_level)
        posterior = paired_posterior(counts, margin=margin, conf_level=conf_level)
        told = [f"P(candidate above baseline) {_probability(posterior.p_better)}"]
        if margin is not None:
            size = f"{declared(margin, metric.scale)}{unit}"
            told.append(f"P(above by more than {size}) {_probability(posterior.p_above_margin)}")
            told.append(f"P(below by more than {size}) {_probability(posterior.p_below_margin)}")
        told.append("probabilities of the difference given the data and the prior, not p-values")
        return (
            bca,
            method_row(closed, "second interval", "square-and-add; closed form, a little wider"),
            method_row(pseudo, "second interval", "one pseudo-item in each discordant cell"),
            method_row(posterior.estimate, "second interval", "; ".join(told)),
        )
    rows = [bca]
    if (metric.span is None or metric.kind == "ordinal") and len(differences) <= MOST_RANKED:
        words = "the centre of symmetric differences (Hodges and Lehmann), which is not the mean"
        rows.append(method_row(signed_rank(differences, conf_level=conf_level), "other estimand", words))
    if len(differences) <= MOST_STUDENTISED:
        found, words = bootstrap_t(differences, conf_level=conf_level, seed=seed), f"seed {seed}"
        if found.error_low is not None and found.error_high is not None:
            ends = " and ".join(scaled(error, metric.scale) for error in (found.error_low, found.error_high))
            words += f"; Monte Carlo error of its ends {ends}{unit}"
        rows.append(method_row(found.estimate, "second interval", words))
    return tuple(rows)


def _probability(p: float | None) -> str:
    """Write a probability that is no p-value: three digits, and never 0 or 1."""
    if p is None:
        return "unknown"
    return "below 0.001" if p < 0.001 else "above 0.999" if p > 0.999 else f"= {p:.3f}"


def effect_rows(
    differences: Floats,
    table: PairedCounts | None,
    clusters: Sequence[Ints],
    conf_level: float,
    *,
    failures: UnseenFailures | None = None,
) -> tuple[MethodRow, ...]:
    """Return the probability of superiority and, for independent items, d_z and the conditional odds ratio.

    For graded scores, the share of outright failures that would undo the result as well. Of several clusters the coarsest counts.
    """
    coarsest = min(clusters, key=lambda codes: len(np.unique(codes))) if clusters else None
    found = superiority(differences, clusters=coarsest, conf_level=conf_level)
    note = "chance that the candidate does better on an item, ties counted half"
    rows = [method_row(found, "other estimand", note, term="superiority")]
    risk: list[MethodRow] = []
    if failures is not None and failures.undoing > 0:
        seen = f"; {plural(failures.failures, 'such failure')} seen" if failures.failures else ""
        possible = f"{share_in_percent(failures.possible)}{' more' if failures.failures else ''}"
        note = (
            f"share of items on which the side ahead would have to fall to the worst score for the difference to be gone{seen}; "
            f"{failures.n:,} items cannot exclude {possible}"
        )
        undo = MethodRow(
            term="failures to undo it",
            method="unseen-failure limit",
            role="other estimand",
            conf_level=failures.conf_level,
            estimate=failures.undoing,
            n_items=failures.n,
            note=note,
        )
        risk.append(undo)
    if clusters:
        return (*rows, *risk)
    if table is not None:
        odds = conditional_odds_ratio(table, conf_level=conf_level)
        rows.append(_effect_row("odds ratio", odds, "odds that the candidate wins an item that one alone got right"))
    else:
        size = standardised_difference(differences, conf_level=conf_level)
        rows.append(_effect_row("d_z", size, "mean difference in standard deviations of the differences"))
    return (*rows, *risk)


def _effect_row(term: str, found: EffectSize, note: str) -> MethodRow:
    return MethodRow(
        term=term,
        method=found.method,
        role="other estimand",
        conf_level=found.conf_level,
        estimate=found.estimate,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        n_items=found.n,
        note="; ".join(part for part in (note, found.reason) if part),
    )
