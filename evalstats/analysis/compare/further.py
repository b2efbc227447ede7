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
    if method == "tango":
        counts = PairedCounts.from_scores(baseline, candidate)
        return (_bca(differences, conf_level), *_binary_rows(counts, metric, margin, conf_level))
    if method in ("cr2", "stratified"):
        return ()
    rows = [_bca(differences, conf_level)]
    if (metric.span is None or metric.kind == "ordinal") and len(differences) <= MOST_RANKED:
        words = "the centre of symmetric differences (Hodges and Lehmann), which is not the mean"
        rows.append(method_row(signed_rank(differences, conf_level=conf_level), "other estimand", words))
    if len(differences) <= MOST_STUDENTISED:
        rows.append(_studentised(differences, metric, conf_level, seed))
    return tuple(rows)


def _bca(differences: Floats, conf_level: float) -> MethodRow:
    words = "exact law, no seed; for comparison with published BCa intervals, and no cure near 0 and 1"
    return method_row(bca_law(differences, conf_level=conf_level), "second interval", words)


def _studentised(differences: Floats, metric: MetricFacts, conf_level: float, seed: int) -> MethodRow:
    """Return the studentised bootstrap, with how far its ends may be off by the luck of the draws."""
    found = bootstrap_t(differences, conf_level=conf_level, seed=seed)
    words = [f"seed {seed}"]
    if found.error_low is not None and found.error_high is not None:
        ends = " and ".join(scaled(error, metric.scale) for error in (found.error_low, found.error_high))
        words.append(f"Monte Carlo error of its ends {ends}{f' {metric.shown_unit}' if metric.shown_unit else ''}")
    return method_row(found.estimate, "second interval", "; ".join(words))


def _binary_rows(
    counts: PairedCounts, metric: MetricFacts, margin: float | None, conf_level: float
) -> tuple[MethodRow, ...]:
    """Closed-form intervals and the posterior of a right-or-wrong score with one trial."""
    posterior = paired_posterior(counts, margin=margin, conf_level=conf_level)
    words = [f"P(candidate above baseline) {_probability(posterior.p_better)}"]
    if margin is not None:
        shown = f"{declared(margin, metric.scale)}{f' {metric.shown_unit}' if metric.shown_unit else ''}"
        words.append(f"P(above by more than {shown}) {_probability(posterior.p_above_margin)}")
        words.append(f"P(below by more than {shown}) {_probability(posterior.p_below_margin)}")
    words.append("probabilities of the difference given the data and the prior, not p-values")
    return (
        method_row(
            newcombe(counts, conf_level=conf_level), "second interval", "square-and-add; closed form, a little wider"
        ),
        method_row(
            bonett_price(counts, conf_level=conf_level), "second interval", "one pseudo-item in each discordant cell"
        ),
        method_row(posterior.estimate, "second interval", "; ".join(words)),
    )


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
    risk = [] if failures is None or failures.undoing <= 0 else [_failures_row(failures)]
    if clusters:
        return (*rows, *risk)
    if table is not None:
        odds = conditional_odds_ratio(table, conf_level=conf_level)
        rows.append(_effect_row("odds ratio", odds, "odds that the candidate wins an item that one alone got right"))
    else:
        size = standardised_difference(differences, conf_level=conf_level)
        rows.append(_effect_row("d_z", size, "mean difference in standard deviations of the differences"))
    return (*rows, *risk)


def _failures_row(found: UnseenFailures) -> MethodRow:
    seen = f"; {plural(found.failures, 'such failure')} seen" if found.failures else ""
    more = " more" if found.failures else ""
    note = (
        f"share of items on which the side ahead would have to fall to the worst score for the difference to be gone{seen}; "
        f"{found.n:,} items cannot exclude {share_in_percent(found.possible)}{more}"
    )
    return MethodRow(
        term="failures to undo it",
        method="unseen-failure limit",
        role="other estimand",
        conf_level=found.conf_level,
        estimate=found.undoing,
        n_items=found.n,
        note=note,
    )


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
