"""The answer in one line: is there a gap, in which models, in which direction?"""

from typing import Literal

from evalstats.analysis.compare.result import qualified
from evalstats.analysis.gap.result import GapRow, LabLiveGap
from evalstats.analysis.gaps.words import (
    apart,
    capital,
    caveat,
    direction,
    flagged,
    gap_ends,
    gap_text,
    level,
    size_text,
    some,
)
from evalstats.analysis.scales import direction_phrases
from evalstats.document.blocks import Tone
from evalstats.document.numbers import plural

Subject = Literal["models", "level", "differences", "nothing"]
_NAMED = 3
_TONES: dict[str, Tone] = {"aligned": "good", "gap": "bad", "inconclusive": "caution", "invalid": "bad"}


def answer_tone(found: LabLiveGap) -> Tone:
    """Return the tone of the answer."""
    return _TONES[found.verdict]


def about(found: LabLiveGap) -> Subject:
    """Return what the answer in one line is about: models off the line, the level, models off their lab score, or nothing."""
    if found.verdict != "gap":
        return "nothing"
    if flagged(found):
        return "models"
    if found.level is not None and found.level.verdict == "gap":
        return "level"
    return "differences" if apart(found) else "nothing"


def headline(found: LabLiveGap) -> str:
    """Return the answer in one sentence without its full stop."""
    if found.verdict == "invalid":
        return _headline(found)
    sides = {found.lab.direction, found.live.direction}
    open_ = next((each for each in ("asked", "assumed") if each in sides), "declared")
    return qualified(_headline(found), direction_phrases(open_))


def _headline(found: LabLiveGap) -> str:
    n = plural(found.n_models, "model")
    if found.verdict == "invalid":
        return f"No gap can be told: {found.verdict_reason.rstrip('.')}"
    if found.verdict == "aligned":
        within = "" if found.margin is None else f", to within {size_text(found.margin, found)}"
        return f"All {n} do live as the lab leads to expect{within}"
    rows = flagged(found)
    if found.verdict == "inconclusive" and (rows or (found.level is not None and found.level.verdict == "gap")):
        return capital(found.verdict_reason.rstrip("."))  # shown at the level of one question, not of two
    subject = about(found)
    if subject == "models":
        have = "has a gap" if len(rows) == 1 else "have a gap"
        doubt = caveat(rows, found)
        return f"{len(rows)} of {n} {have}: {_told(rows, found)}{f'; {doubt}' if doubt else ''}"
    if subject == "level":
        return "; ".join([capital(level_told(found)), *_single_models(found)])
    if subject == "differences":
        others = apart(found)
        differ = "differs" if len(others) == 1 else "differ"
        return f"{len(others)} of {n} {differ} live from the lab: {_told_apart(others, found)}"
    return _open(found)


def _told(rows: list[GapRow], found: LabLiveGap) -> str:
    """Say of the flagged models where they lie, by name where they are few."""
    if len(rows) == 1:
        where = direction(rows[0].gap or 0.0, found)
        return f"{rows[0].name} lies {where} what its lab score leads to expect"
    sides = [
        (where, [row.name for row in rows if direction(row.gap or 0.0, found) == where]) for where in ("below", "above")
    ]
    told = [f"{some(names, _NAMED)} {'lie' if len(names) > 1 else 'lies'} {where}" for where, names in sides if names]
    return f"{', and '.join(told)} what the lab leads to expect"


def _told_apart(rows: list[GapRow], found: LabLiveGap) -> str:
    sides = [
        (where, [row.name for row in rows if direction(row.difference or 0.0, found) == where])
        for where in ("below", "above")
    ]
    told = [f"{some(names, _NAMED)} {'lie' if len(names) > 1 else 'lies'} {where}" for where, names in sides if names]
    return f"{', and '.join(told)} the lab score"


def _single_models(found: LabLiveGap) -> list[str]:
    """Say of single models, beside a difference of all: off the line, off the mean change, off the own lab score.

    These are three questions, so each has a clause of its own.
    """
    said = [] if found.line is None else ["no model stands off the line through the others"]
    off, own = off_mean(found), len(apart(found))
    for n, what in ((off, "that mean change"), (own, f"{'its' if own == 1 else 'their'} own lab score")):
        if n:
            said.append(f"{n} of {plural(found.n_models, 'model')} {'differs' if n == 1 else 'differ'} from {what}")
    return said


def off_mean(found: LabLiveGap) -> int:
    """Count the models whose live less lab is shown to be another than the mean over all models."""
    deviations = () if found.level is None else found.level.deviations
    return sum(each.p_adjusted <= 1 - found.conf_level for each in deviations)


def _open(found: LabLiveGap) -> str:
    aligned = sum(row.verdict == "aligned" for row in found.rows)
    inside = f"; {aligned} of {found.n_models} are aligned, the others are open" if aligned else ""
    if found.line is None:
        return f"No model is shown to differ live from the lab, and that none does is not shown either{inside}"
    return f"No model is shown to have a gap, and that none has is not shown either{inside}"


def level_told(found: LabLiveGap) -> str:
    """Say how far live scores lie from the lab's on average, without a full stop; "" where that was not estimated."""
    row = found.level
    if row is None:
        return ""
    return (
        f"on average over models, live scores lie {size_text(row.estimate, found)} {direction(row.estimate, found)} the lab's "
        f"({level(found)} interval {level_number(found)[1]})"
    )


def level_number(found: LabLiveGap) -> tuple[str, str]:
    """Return the mean of live less lab and its interval, both as printed scores differ, whichever direction is better."""
    row = found.level
    if row is None:
        return "", ""
    ends = (row.conf_low, row.conf_high) if found.live.higher_is_better else (-row.conf_high, -row.conf_low)
    estimate = row.estimate if found.live.higher_is_better else -row.estimate
    return gap_text(estimate, found), gap_ends(*ends, found)
