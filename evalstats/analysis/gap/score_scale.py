"""On which scale lab and live scores are held against each other: their own numbers, or logits of shares of right answers.

Ratings of votes are logits. A share near 0 or 1 is not on a line with them: the best models differ by little in it and by much
in their ratings.
"""

from dataclasses import replace

import numpy as np
from scipy import special

from evalstats.analysis.gap.result import SideAccount
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.document.numbers import p_words
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.options import GapScale
from evalstats.stats.checks import FloatArray
from evalstats.stats.errors_in_variables.line import LineFit, fit_line
from evalstats.stats.errors_in_variables.line_estimators import bend
from evalstats.stats.errors_in_variables.scores import LabLiveScores, shrunken_covariances

_HALF = 0.5
_EXACT = 1e-12
_MANY = 1_000.0  # units behind a published share that says nothing of them


def is_share(side: SideScores) -> bool:
    """Whether its scores are shares of right answers, or other means between two bounds that are written in percent."""
    about = side.about
    shares = about.kind in ("binary", "proportion") or about.is_share or about.is_percent
    return side.kind != "comparisons" and about.bounds is not None and shares


def on_scale(
    lab: SideScores, live: SideScores, scores: LabLiveScores, asked: GapScale, *, conf_level: float
) -> tuple[SideScores, SideScores, LabLiveScores, str]:
    """Return both sides and their scores on the scale asked for, and why shares enter as logits ("" where none does).

    By default a side of shares is taken in logits where the other one holds ratings, or where the scores bend away from a line.
    """
    any_share = is_share(lab) or is_share(live)
    if asked == "logit" and not any_share:
        raise InputError(
            f"scale is logit, and neither {lab.about.name!r} (lab) nor {live.about.name!r} (live) is a share of right answers; "
            f"use {Option('scale', 'identity')}, or leave it out"
        )
    if asked == "identity" or not any_share:
        return lab, live, scores, ""
    reason = "asked for"
    if asked == "auto":
        rated = (is_share(lab) and live.is_preference) or (is_share(live) and lab.is_preference)
        p = None if rated else straight_p(lab, live, scores, conf_level=conf_level)
        if not rated and (p is None or p > 1.0 - conf_level):
            return lab, live, scores, ""
        reason = "the other side holds ratings, which are logits" if rated else f"as they are they bend ({p_words(p)})"
    return (*in_logits(lab, live, scores), reason)


def in_logits(lab: SideScores, live: SideScores, scores: LabLiveScores) -> tuple[SideScores, SideScores, LabLiveScores]:
    """Turn each side of shares into logits, with the covariances of errors by linearisation."""
    sides: list[SideScores] = []
    for name, side in (("lab", lab), ("live", live)):
        if not is_share(side):
            sides.append(side)
            continue
        share, n = _shares(side, side.estimate), _units(side)
        logits, slope = _logits(side, share, n)
        covariance = None
        if side.covariance is not None:
            exact = np.flatnonzero((share <= _EXACT) | (share >= 1.0 - _EXACT))
            covariance = slope[:, None] * side.covariance * slope
            covariance[exact, :] = covariance[:, exact] = 0.0
            # Of a share of 0 or 1 the spread is not seen: that of half a success and half a failure more.
            covariance[exact, exact] = slope[exact] * side.span / (n[exact] + 1.0)
        scores = replace(scores, cross=None, **{name: logits, f"{name}_covariance": covariance})
        sides.append(replace(side, link="logit"))
    return sides[0], sides[1], scores


def straight_p(lab: SideScores, live: SideScores, scores: LabLiveScores, *, conf_level: float) -> float | None:
    """Return the p of a straight line through these scores; None where the data cannot tell."""
    scores = steadied(lab, live, scores)
    if not scores.has_errors:
        return None
    try:
        return bend_p(scores, fit_line(scores, conf_level=conf_level))
    except CannotAnswerError:
        return None


def bend_p(scores: LabLiveScores, fit: LineFit) -> float | None:
    """Return the p-value of a straight line; None where the data cannot tell."""
    try:
        return bend(scores, fit).p_value
    except CannotAnswerError:
        return None


def fewest_clusters(lab: SideScores, live: SideScores, scores: LabLiveScores) -> int | None:
    """Return how many clusters stand behind the model that has the fewest; None where no covariance rests on clusters."""
    counts = [
        int(side.n_clusters[side.n_clusters > 0].min())
        for side in (lab, live)
        if not side.marginal and (side.n_clusters > 0).any()
    ]
    return min(counts) if counts and scores.has_errors and min(counts) >= 2 else None


def steadied(lab: SideScores, live: SideScores, scores: LabLiveScores) -> LabLiveScores:
    """Return the scores with covariances drawn towards a simple form where clusters are few."""
    fewest = fewest_clusters(lab, live, scores)
    return scores if fewest is None else shrunken_covariances(scores, fewest)


def new_logits(side: SideScores, estimate: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logits of further models' shares and their slope; what they rest on is told by their errors, else as usual."""
    share = _shares(side, estimate)
    told = _units_by_error(share, side, errors)
    return _logits(side, share, np.where(told > 0.0, told, float(np.median(_units(side)))))


def _logits(side: SideScores, share: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logits of shares of n units, and their slope on the side's scores.

    Of n units x is right in x; the share is (x + 1/2) / (n + 1), so that none is 0 or 1.
    """
    own = (share * n + _HALF) / (n + 1.0)
    return special.logit(own), 1.0 / (own * (1.0 - own) * side.span)


def _units(side: SideScores) -> FloatArray:
    """Return how many units each share rests on: clusters, else what was counted, else what its standard error tells."""
    counted = np.where(side.n_clusters > 0, side.n_clusters, side.n).astype(np.float64)
    told = _units_by_error(_shares(side, side.estimate), side, side.std_error())
    return np.where(counted > 0.0, counted, np.where(told > 0.0, told, _MANY))


def _units_by_error(share: FloatArray, side: SideScores, errors: FloatArray | None) -> FloatArray:
    if errors is None:
        return np.zeros(share.size)
    variance = (errors / side.span) ** 2
    known = np.isfinite(variance) & (variance > 0.0)
    return np.where(known, share * (1.0 - share) / np.where(known, variance, 1.0), 0.0)


def _shares(side: SideScores, estimate: FloatArray) -> FloatArray:
    """Return scores as shares of the metric's range, more being better."""
    low = (estimate - (side.about.low or 0.0)) / side.span
    return np.clip(low if side.about.higher_is_better else 1.0 - low, 0.0, 1.0)


def in_own_numbers(side: SideScores, values: FloatArray) -> FloatArray:
    """Return scores on the scale of the line in the side's own numbers and direction."""
    if side.link == "identity":
        return side.sign * values
    share = special.expit(values)
    return (side.about.low or 0.0) + side.span * (share if side.about.higher_is_better else 1.0 - share)


def gap_in_points(live: SideScores, own: FloatArray, gap: FloatArray) -> FloatArray:
    """Return gaps on the scale of the line as differences of the models' `own` live scores, above 0 where live is better."""
    if live.link == "identity":
        return gap
    return live.span * (special.expit(own) - special.expit(own - gap))


def interval_of(
    side: SideScores, scores: FloatArray, covariance: FloatArray | None, reach: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals that reach so many standard errors, on the scale of the line, in the side's own numbers."""
    linked = side.link == "logit"
    own = covariance if linked else side.covariance
    half = reach * np.sqrt(np.zeros(scores.size) if own is None else np.diag(own))
    if not linked:
        low = np.maximum(side.estimate - half, -np.inf if side.about.low is None else side.about.low)
        return low, np.minimum(side.estimate + half, np.inf if side.about.high is None else side.about.high)
    ends = (in_own_numbers(side, scores - half), in_own_numbers(side, scores + half))
    low, high = sorted(ends, key=lambda each: float(each[0]))
    # A share that is 0 or 1 is told as it is, and its interval holds it.
    return np.minimum(low, side.estimate), np.maximum(high, side.estimate)


# --- of a result ---


def on_line(side: SideAccount, values: FloatArray) -> FloatArray:
    """Return shown scores of one side, in its own numbers, on the scale of the line that is told of them."""
    if side.link == "identity":
        return values
    low, high = side.about.low or 0.0, side.about.high or 1.0
    share = np.clip((values - low) / (high - low), 1e-9, 1.0 - 1e-9)
    return np.asarray(special.logit(share), dtype=np.float64)


def off_line(side: SideAccount, values: FloatArray) -> FloatArray:
    """Return values on the scale of the line in the side's own numbers."""
    if side.link == "identity":
        return values
    low, high = side.about.low or 0.0, side.about.high or 1.0
    return low + (high - low) * special.expit(values)


def error_on_line(side: SideAccount, value: float, error: float | None) -> float:
    """Return a standard error of a score of one side on the scale of the line; 0 where it is unknown."""
    if error is None or side.link == "identity":
        return error or 0.0
    low, high = side.about.low or 0.0, side.about.high or 1.0
    share = min(max((value - low) / (high - low), 1e-3), 1.0 - 1e-3)
    return error / ((high - low) * share * (1.0 - share))
