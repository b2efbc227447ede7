"""What stands beside the headline: further intervals and tests of the same difference, each with what it is for.

None of them decides. They are there for comparison with published numbers, for readers who ask for a posterior, and to
show whether the answer hangs on the method.
"""

import numpy as np
import numpy.typing as npt

from evalstats.analysis.arms import Metric
from evalstats.analysis.results import MethodRow, Role
from evalstats.analysis.rows import method_row
from evalstats.document.numbers import scaled
from evalstats.stats.bootstrap.exact import bca_law
from evalstats.stats.bootstrap.studentised import bootstrap_t
from evalstats.stats.estimate import Estimate
from evalstats.stats.paired.binary import PairedCounts, bonett_price, newcombe, paired_posterior
from evalstats.stats.paired.means import signed_rank

# Above this many items the studentised bootstrap and t agree, and its draws take seconds.
MOST_STUDENTISED = 5000
# Above this many, ranking all pairwise averages takes seconds.
MOST_RANKED = 100_000
Floats = npt.NDArray[np.float64]


def further_rows(
    method: str,
    baseline: Floats,
    candidate: Floats,
    differences: Floats,
    metric: Metric,
    *,
    margin: float | None,
    conf_level: float,
    seed: int,
) -> tuple[MethodRow, ...]:
    """Return the rows that stand beside a headline by `method` ("tango", "augmented-t", "t", "cr2" or "stratified").

    Parameters
    ----------
    baseline, candidate
        Item means, shape (n_items,).
    differences
        Candidate minus baseline, where differences that are rounding alone are one number.
    """
    if method == "tango":
        counts = PairedCounts.from_scores(baseline, candidate)
        return (_bca(differences, conf_level), *_binary_rows(counts, metric, margin, conf_level))
    if method in ("cr2", "stratified"):
        return ()
    rows = [_bca(differences, conf_level)]
    if (metric.span is None or metric.kind == "ordinal") and len(differences) <= MOST_RANKED:
        words = "the centre of symmetric differences (Hodges and Lehmann), which is not the mean"
        rows.append(_row(signed_rank(differences, conf_level=conf_level), "other estimand", words))
    if len(differences) <= MOST_STUDENTISED:
        rows.append(_studentised(differences, metric, conf_level, seed))
    return tuple(rows)


def _bca(differences: Floats, conf_level: float) -> MethodRow:
    words = "exact law, no seed; for comparison with published BCa intervals, and no cure near 0 and 1"
    return _row(bca_law(differences, conf_level=conf_level), "second interval", words)


def _studentised(differences: Floats, metric: Metric, conf_level: float, seed: int) -> MethodRow:
    """Return the studentised bootstrap, with how far its ends may be off by the luck of the draws."""
    found = bootstrap_t(differences, conf_level=conf_level, seed=seed)
    words = [f"seed {seed}"]
    if found.error_low is not None and found.error_high is not None:
        ends = " and ".join(scaled(error, metric.scale) for error in (found.error_low, found.error_high))
        words.append(f"Monte Carlo error of its ends {ends}{f' {metric.shown_unit}' if metric.shown_unit else ''}")
    return _row(found.estimate, "second interval", "; ".join(words))


def _binary_rows(
    counts: PairedCounts, metric: Metric, margin: float | None, conf_level: float
) -> tuple[MethodRow, ...]:
    """Closed-form intervals and the posterior of a right-or-wrong score with one trial."""
    posterior = paired_posterior(counts, margin=margin, conf_level=conf_level)
    words = [f"P(candidate above baseline) {_probability(posterior.p_better)}"]
    if margin is not None:
        shown = f"{scaled(margin, metric.scale)}{f' {metric.shown_unit}' if metric.shown_unit else ''}"
        words.append(f"P(above by more than {shown}) {_probability(posterior.p_above_margin)}")
        words.append(f"P(below by more than {shown}) {_probability(posterior.p_below_margin)}")
    words.append("probabilities of the difference given the data and the prior, not p-values")
    return (
        _row(newcombe(counts, conf_level=conf_level), "second interval", "square-and-add; closed form, a little wider"),
        _row(bonett_price(counts, conf_level=conf_level), "second interval", "one pseudo-item in each discordant cell"),
        _row(posterior.estimate, "second interval", "; ".join(words)),
    )


def _probability(p: float | None) -> str:
    """Write a probability that is no p-value: three digits, and never 0 or 1."""
    if p is None:
        return "unknown"
    return "below 0.001" if p < 0.001 else "above 0.999" if p > 0.999 else f"= {p:.3f}"


def _row(found: Estimate, role: Role, note: str) -> MethodRow:
    return method_row(found, term="difference", role=role, note=note)
