"""The gate that a build passes or fails by a score and the number that it is held to."""

from evalstats.analysis.design.metric import open_direction
from evalstats.analysis.score.result import ClaimTest, Score, Scores
from evalstats.grammar import plural
from evalstats.stats.checks import FEW_ITEMS


def score_gate(result: Score | Scores, *fail_on: str) -> tuple[bool | None, str]:
    """Return whether scores pass the rules against the number they are held to, and why; None where the data cannot answer.

    "worse" fails where the interval of the difference shows a score to be worse than the number, also where missing scores
    forbid to say so; "inconclusive" unless a score is shown to be better. One score that fails is a failure.

    >>> from evalstats import datasets, score
    >>> score_gate(score(datasets.tenacious_held_out(), "trained", against=0.9), "inconclusive")[0]
    True
    """
    found = [_passes(row, row.against, fail_on) for row in ((result,) if isinstance(result, Score) else result.rows)]
    for passed in (False, None):
        reasons = [reason for each, reason in found if each is passed]
        if reasons:
            return passed, "; ".join(reasons)
    return True, "; ".join(reason for _, reason in found)


def _passes(row: Score, test: ClaimTest | None, fail_on: tuple[str, ...]) -> tuple[bool | None, str]:
    if row.direction == "asked":
        return None, f"which way is better is not known: {open_direction(row.metric)}"
    if test is None or test.conf_low is None or test.conf_high is None:
        return None, f"{row.name} cannot be held to a number"
    ends = (test.conf_low, test.conf_high) if row.higher_is_better else (-test.conf_high, -test.conf_low)
    if ends[1] < 0:
        return False, f"{row.name} is worse than the number it is held to"
    if test.verdict in ("above", "below"):
        return True, f"{row.name} is better than the number it is held to"
    if "inconclusive" in fail_on:
        return False, f"{row.name} is not shown to be better than the number it is held to"
    if row.n_items < FEW_ITEMS:
        return None, f"{row.name} has {plural(row.n_items, 'item')}, and no method is reliable below {FEW_ITEMS}"
    return True, f"{row.name} is not shown to be worse, which is no proof of being as good"
