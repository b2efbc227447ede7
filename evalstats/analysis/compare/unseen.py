"""What answers that nobody saw would do to a difference of graded scores: failures, a long tail, costs that ran away."""

from dataclasses import replace

import numpy as np

from evalstats.analysis.costs import runaway_words
from evalstats.analysis.result import notes
from evalstats.document.model import Note
from evalstats.document.numbers import share_in_percent
from evalstats.record import record
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.one_sample import UnseenFailures, unseen_failures, unseen_runaways
from evalstats.stats.paired.effect_sizes import t_margin_test
from evalstats.stats.paired.means import has_unseen_tail, rests_on_unseen_tail
from evalstats.table.items import Floats
from evalstats.table.metric import MetricFacts


@record
class Unseen:
    """What limits a difference: fields of the same names in `Difference`, to be added to its own."""

    failures: UnseenFailures | None = None
    doubts: tuple[str, ...] = ()
    no_equivalence: tuple[str, ...] = ()
    if_claimed: tuple[Note, ...] = ()
    if_equivalent: tuple[Note, ...] = ()


def unseen_failures_of(
    baseline: Floats,
    candidate: Floats,
    worst: float,
    *,
    weights: Floats | None,
    margin: float | None,
    conf_level: float,
) -> Unseen:
    """Return what outright failures that were not seen would do to a result on graded scores, shape (n_items,) each.

    Where either side failed outright on some item, a result that possible failures would undo is none; elsewhere it is
    qualified. Clustered items are counted as if failures came one by one, which is the least that cannot be excluded.
    """
    # Weighted so that their means are those that are compared, where levels are averaged over.
    pull = 1.0 if weights is None else len(baseline) * weights
    own, other = (np.abs(each - worst) * pull for each in (candidate, baseline))
    sides = (("the candidate", own, other), ("the baseline", other, own))

    def words(who: str, risk: UnseenFailures, effect: str) -> str:
        more = "further outright" if risk.failures else "outright"
        return (
            f"{more} failures of {who} on {share_in_percent(risk.undoing)} of the items would {effect}, and {risk.n:,} items "
            f"cannot exclude {share_in_percent(risk.possible)}"
        )

    who, ahead, behind = max(sides, key=lambda side: float(side[1].mean()))
    risk = unseen_failures(ahead, behind, conf_level=conf_level)
    found = Unseen(failures=risk)
    if risk.within and risk.undoing > 0:
        told = (words(who, risk, "undo it"),)
        found = replace(found, doubts=told) if risk.seen else replace(found, if_claimed=notes("few", told))
    if margin is None:
        return found
    beyond = [(who, unseen_failures(own, other, allowance=margin, conf_level=conf_level)) for who, own, other in sides]
    who, risk = min(beyond, key=lambda each: each[1].undoing - each[1].possible)
    if not risk.within or risk.undoing <= 0:
        return found
    told = (words(who, risk, "take it beyond the margin"),)
    return replace(found, no_equivalence=told) if risk.seen else replace(found, if_equivalent=notes("few", told))


def unseen_tail(
    headline: IntervalEstimate,
    baseline: Floats,
    candidate: Floats,
    metric: MetricFacts,
    *,
    weights: Floats | None,
    clustered: bool,
    margin: float | None,
    conf_level: float,
) -> Unseen:
    """Return what a tail that was hardly seen would do to a claim on scores without a worst one (costs, seconds).

    A claim that the candidate loses no more than a margin is not made at all: a gate that passes on it is read by nobody. Costs
    whose tail was not seen at all are told in the first line too: clustered items are counted as if answers ran away one by one.
    """
    found = Unseen()
    if metric.is_cost(baseline, candidate):
        found = _runaways(headline, baseline, candidate, weights=weights, margin=margin, conf_level=conf_level)
    if clustered or weights is not None:
        return found
    sign = 1.0 if metric.higher_is_better else -1.0
    candidate, baseline = sides = (sign * candidate, sign * baseline)
    ahead, behind = sides if candidate.mean() > baseline.mean() else sides[::-1]
    words = ("a few items go far against it, and more of them would undo it",)
    if rests_on_unseen_tail(ahead, behind, headline.p_value, conf_level=conf_level):
        found = replace(found, if_claimed=notes("fit", words))
    if margin is None:
        return found
    if has_unseen_tail(candidate, baseline) or has_unseen_tail(baseline, candidate):
        found = replace(found, if_equivalent=notes("fit", words))
    tested = t_margin_test(headline, margin=margin, conf_level=conf_level, bound=metric.span)
    p = tested.noninferior_p if metric.higher_is_better else tested.nonsuperior_p
    if rests_on_unseen_tail(candidate, baseline, p, conf_level=conf_level):
        found = replace(found, no_equivalence=words)
    return found


def _runaways(
    headline: IntervalEstimate,
    baseline: Floats,
    candidate: Floats,
    *,
    weights: Floats | None,
    margin: float | None,
    conf_level: float,
) -> Unseen:
    """Qualify a claim on costs that runaway answers would undo, as many as the items cannot exclude."""
    pull, found = 1.0 if weights is None else len(baseline) * weights, Unseen()
    own, other = candidate * pull, baseline * pull
    low, high = headline.conf_low or 0.0, headline.conf_high or 0.0
    for who, cheap, dear, lead in (("the candidate", own, other, -high), ("the baseline", other, own, low)):
        risk = unseen_runaways(cheap, dear, lead=lead, conf_level=conf_level)
        if risk.within:
            found = replace(found, if_claimed=notes("fit", (runaway_words(who, risk, "undo it"),)))
    if margin is None or headline.statistic is None:
        return found
    tested = t_margin_test(headline, margin=margin, conf_level=conf_level)
    low, high = tested.low_one_sided or 0.0, tested.high_one_sided or 0.0
    beyond = [
        (who, unseen_runaways(cheap, dear, lead=margin + end, conf_level=conf_level))
        for who, cheap, dear, end in (("the candidate", own, other, -high), ("the baseline", other, own, low))
    ]
    who, risk = min(beyond, key=lambda each: each[1].undoing - each[1].possible)
    if risk.within:
        found = replace(found, if_equivalent=notes("fit", (runaway_words(who, risk, "take it beyond the margin"),)))
    return found
