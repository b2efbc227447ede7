"""What answers that nobody saw would do to a difference of graded scores: failures, a long tail, costs that ran away."""

from dataclasses import replace

import numpy as np

from evalstats.analysis.compare.difference import Difference, PairedScores
from evalstats.analysis.costs import runaway_words
from evalstats.analysis.result import notes
from evalstats.document.numbers import share_in_percent
from evalstats.stats.one_sample import UnseenFailures, unseen_failures, unseen_runaways
from evalstats.stats.paired.effect_sizes import t_margin_test
from evalstats.stats.paired.means import has_unseen_tail, rests_on_unseen_tail
from evalstats.table.items import Floats


def with_unseen(found: Difference, scores: PairedScores, margin: float | None = None) -> Difference:
    """Limit a result on graded scores by what answers that nobody saw would do to it."""
    if found.headline.conf_low is None:
        return found
    if scores.metric.worst is not None:
        return _failures(found, scores, scores.metric.worst, margin)
    if scores.metric.is_cost(scores.baseline, scores.candidate):
        found = _runaways(found, scores, margin)
    return found if scores.clusters or scores.strata is not None else _tail(found, scores, margin)


def _failures(found: Difference, scores: PairedScores, worst: float, margin: float | None) -> Difference:
    """Limit a result by outright failures that were not seen.

    Where either side failed outright on some item, a result that possible failures would undo is none; elsewhere it is
    qualified. Clustered items are counted as if failures came one by one, which is the least that cannot be excluded.
    """
    level, pull = found.headline.conf_level, _pull(scores)
    own, other = (np.abs(each - worst) * pull for each in (scores.candidate, scores.baseline))
    sides = (("the candidate", own, other), ("the baseline", other, own))

    def words(who: str, risk: UnseenFailures, effect: str) -> str:
        more = "further outright" if risk.failures else "outright"
        return (
            f"{more} failures of {who} on {share_in_percent(risk.undoing)} of the items would {effect}, and {risk.n:,} items "
            f"cannot exclude {share_in_percent(risk.possible)}"
        )

    who, ahead, behind = max(sides, key=lambda side: float(side[1].mean()))
    risk = unseen_failures(ahead, behind, conf_level=level)
    found = replace(found, failures=risk)
    if risk.within and risk.undoing > 0:
        told = words(who, risk, "undo it")
        limit = {"doubts": (*found.doubts, told)} if risk.seen else {"if_claimed": notes("few", (told,))}
        found = replace(found, **limit)
    if margin is None:
        return found
    beyond = [(who, unseen_failures(own, other, allowance=margin, conf_level=level)) for who, own, other in sides]
    who, risk = min(beyond, key=lambda each: each[1].undoing - each[1].possible)
    if not risk.within or risk.undoing <= 0:
        return found
    told = words(who, risk, "take it beyond the margin")
    if risk.seen:
        return replace(found, no_equivalence=(*found.no_equivalence, told))
    return replace(found, if_equivalent=notes("few", (told,)))


def _pull(scores: PairedScores) -> float | Floats:
    """Return what weights items so that their means are those that are compared, where levels are averaged over."""
    return 1.0 if scores.strata is None else len(scores.baseline) * scores.strata.item_weights


def _tail(found: Difference, scores: PairedScores, margin: float | None) -> Difference:
    """Limit a claim on scores without a worst one (costs, seconds) by a tail that was hardly seen.

    A claim that the candidate loses no more than a margin is not made at all: a gate that passes on it is read by nobody.
    """
    metric, headline, level = scores.metric, found.headline, found.headline.conf_level
    sign = 1.0 if metric.higher_is_better else -1.0
    candidate, baseline = sides = (sign * scores.candidate, sign * scores.baseline)
    ahead, behind = sides if candidate.mean() > baseline.mean() else sides[::-1]
    words = ("a few items go far against it, and more of them would undo it",)
    if rests_on_unseen_tail(ahead, behind, headline.p_value, conf_level=level):
        found = replace(found, if_claimed=notes("fit", words))
    if margin is None:
        return found
    if has_unseen_tail(candidate, baseline) or has_unseen_tail(baseline, candidate):
        found = replace(found, if_equivalent=notes("fit", words))
    tested = t_margin_test(headline, margin=margin, conf_level=level, bound=metric.span)
    p = tested.noninferior_p if metric.higher_is_better else tested.nonsuperior_p
    if rests_on_unseen_tail(candidate, baseline, p, conf_level=level):
        found = replace(found, no_equivalence=(*found.no_equivalence, *words))
    return found


def _runaways(found: Difference, scores: PairedScores, margin: float | None) -> Difference:
    """Qualify a claim on costs by runaway answers that would undo it, as many as the items cannot exclude.

    That is told in the first line, too; clustered items are counted as if answers ran away one by one.
    """
    headline, level, pull = found.headline, found.headline.conf_level, _pull(scores)
    own, other = scores.candidate * pull, scores.baseline * pull
    low, high = headline.conf_low or 0.0, headline.conf_high or 0.0
    for who, cheap, dear, lead in (("the candidate", own, other, -high), ("the baseline", other, own, low)):
        risk = unseen_runaways(cheap, dear, lead=lead, conf_level=level)
        if risk.within:
            found = replace(found, if_claimed=notes("fit", (runaway_words(who, risk, "undo it"),)))
    if margin is None or headline.statistic is None:
        return found
    tested = t_margin_test(headline, margin=margin, conf_level=level)
    low, high = tested.low_one_sided or 0.0, tested.high_one_sided or 0.0
    beyond = [
        (who, unseen_runaways(cheap, dear, lead=margin + end, conf_level=level))
        for who, cheap, dear, end in (("the candidate", own, other, -high), ("the baseline", other, own, low))
    ]
    who, risk = min(beyond, key=lambda each: each[1].undoing - each[1].possible)
    if risk.within:
        found = replace(found, if_equivalent=notes("fit", (runaway_words(who, risk, "take it beyond the margin"),)))
    return found
