"""On which scale lab and live scores are held against each other: their own numbers, or logits of shares of right answers.

Ratings of votes are logits. A share near 0 or 1 is not on a line with them: the best models differ by little in it and by much
in their ratings.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
from scipy import special

from evalstats.analysis.gap.material import Material, Side
from evalstats.analysis.gap.options import Scale
from evalstats.analysis.gap.result import Link, SideAccount
from evalstats.document.numbers import p_words
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.stats.checks import FloatArray
from evalstats.stats.errors_in_variables.line import LineFit, fit_line
from evalstats.stats.errors_in_variables.line_estimators import bend
from evalstats.stats.errors_in_variables.scores import LabLiveScores, shrunken_covariances

_HALF = 0.5
_EXACT = 1e-12
_MANY = 1_000.0  # units behind a published share that says nothing of them


def is_share(side: Side) -> bool:
    """Whether its scores are shares of right answers, or other means between two bounds that are written in percent."""
    bounded = side.low is not None and side.high is not None
    return side.kind != "comparisons" and bounded and (side.metric_kind in ("binary", "proportion") or side.unit == "%")


def is_rating(side: Side) -> bool:
    """Whether its scores are ratings made of votes, which lie on a logit scale."""
    return side.kind == "comparisons" or side.unit == "rating"


def on_scale(made: Material, asked: Scale) -> Material:
    """Return the material with its scores on the scale asked for.

    By default a side of shares is taken in logits where the other one holds ratings, or where the scores bend away from a line.
    """
    shares = {"lab": is_share(made.lab), "live": is_share(made.live)}
    if asked == "logit" and not any(shares.values()):
        raise InputError(
            f"scale is logit, and neither {made.lab.metric!r} (lab) nor {made.live.metric!r} (live) is a share of right answers; "
            f"use {Option('scale', 'identity')}, or leave it out"
        )
    if asked == "identity" or not any(shares.values()):
        return made
    reason = "asked for"
    if asked == "auto":
        rated = (shares["lab"] and is_rating(made.live)) or (shares["live"] and is_rating(made.lab))
        p = None if rated else _bend_p(made)
        bent = p is not None and p <= 1.0 - made.options.conf_level
        if not (rated or bent):
            return made
        reason = "the other side holds ratings, which are logits" if rated else f"as they are they bend ({p_words(p)})"
    found = made
    for name, is_one in shares.items():
        found = _in_logits(found, name) if is_one else found
    return found if found is made else replace(found, plain=made.scores, scale_reason=reason)


def is_straight_otherwise(made: Material) -> bool:
    """Whether scores that bend lie on a line on the other scale: shares as they are, or as logits."""
    if "logit" in links_of(made):
        other = replace(made, scores=made.own_scores)
    elif is_share(made.lab) or is_share(made.live):
        other = on_scale(made, "logit")
    else:
        return False
    p = _bend_p(other)
    return p is not None and p > 1.0 - made.options.conf_level


def _bend_p(made: Material) -> float | None:
    scores = steadied(made)
    if not scores.has_errors:
        return None
    try:
        return bend_p(scores, fit_line(scores, conf_level=made.options.conf_level))
    except CannotAnswerError:
        return None


def bend_p(scores: LabLiveScores, fit: LineFit) -> float | None:
    """Return the p-value of a straight line; None where the data cannot tell."""
    try:
        return bend(scores, fit).p_value
    except CannotAnswerError:
        return None


def fewest_clusters(made: Material) -> int | None:
    """Return how many clusters stand behind the model that has the fewest; None where no covariance rests on clusters."""
    counts = [
        int(side.n_clusters[side.n_clusters > 0].min())
        for side in (made.lab, made.live)
        if not side.marginal and (side.n_clusters > 0).any()
    ]
    return min(counts) if counts and made.scores.has_errors and min(counts) >= 2 else None


def steadied(made: Material) -> LabLiveScores:
    """Return the scores with covariances drawn towards a simple form where clusters are few."""
    fewest = fewest_clusters(made)
    return made.scores if fewest is None else shrunken_covariances(made.scores, fewest)


def _in_logits(made: Material, name: str) -> Material:
    """Turn one side into logits, with the covariances of errors by linearisation."""
    side = made.lab if name == "lab" else made.live
    share, counts = shares_of(side, side.estimate), _counts(side)
    exact = np.flatnonzero((share <= _EXACT) | (share >= 1.0 - _EXACT))
    logits, slope = logits_of(side, share, counts)
    covariance = None
    if side.covariance is not None:
        covariance = slope[:, None] * side.covariance * slope
        covariance[exact, :] = covariance[:, exact] = 0.0
        # Of a share of 0 or 1 the spread is not seen: that of half a success and half a failure more.
        covariance[exact, exact] = slope[exact] * _span(side) / (counts[exact] + 1.0)
    scores = (
        replace(made.scores, lab=logits, lab_covariance=covariance, cross=None)
        if name == "lab"
        else replace(made.scores, live=logits, live_covariance=covariance, cross=None)
    )
    links = {f"{name}_link": "logit"}
    return replace(made, scores=scores, **links)


def logits_of(side: Side, share: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logits of shares of n units, and their slope on the side's scores.

    Of n units x is right in x; the share is (x + 1/2) / (n + 1), so that none is 0 or 1.
    """
    own = (share * n + _HALF) / (n + 1.0)
    return special.logit(own), 1.0 / (own * (1.0 - own) * _span(side))


def new_logits(side: Side, estimate: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logits of further models' shares and their slope; what they rest on is told by their errors, else as usual."""
    share = shares_of(side, estimate)
    told = _told_by(share, side, errors)
    usual = float(np.median(_counts(side)))
    return logits_of(side, share, np.where(told > 0.0, told, usual))


def _counts(side: Side) -> FloatArray:
    """Return how many units each share rests on: clusters, else what was counted, else what its standard error tells.

    Where nothing tells it, many.
    """
    counted = np.where(side.n_clusters > 0, side.n_clusters, side.n).astype(np.float64)
    told = _told_by(shares_of(side, side.estimate), side, side.std_error())
    return np.where(counted > 0.0, counted, np.where(told > 0.0, told, _MANY))


def _told_by(share: FloatArray, side: Side, errors: FloatArray | None) -> FloatArray:
    if errors is None:
        return np.zeros(share.size)
    variance = (errors / _span(side)) ** 2
    known = np.isfinite(variance) & (variance > 0.0)
    return np.where(known, share * (1.0 - share) / np.where(known, variance, 1.0), 0.0)


def shares_of(side: Side, estimate: FloatArray) -> FloatArray:
    """Return scores as shares of the metric's range, more being better."""
    low = (estimate - (side.low or 0.0)) / _span(side)
    return np.clip(1.0 - low if side.turned else low, 0.0, 1.0)


def _span(side: Side) -> float:
    return (side.high or 0.0) - (side.low or 0.0)


def interval_of(made: Material, name: Literal["lab", "live"], reach: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals that reach so many standard errors, on the scale of the line, in the side's own numbers."""
    side = made.lab if name == "lab" else made.live
    linked = (made.lab_link if name == "lab" else made.live_link) == "logit"
    scores: FloatArray = getattr(made.scores, name)
    covariance: FloatArray | None = getattr(made.scores, f"{name}_covariance") if linked else side.covariance
    half = reach * np.sqrt(np.diag(np.zeros((scores.size, scores.size)) if covariance is None else covariance))
    if not linked:
        low = np.maximum(side.estimate - half, -np.inf if side.low is None else side.low)
        return low, np.minimum(side.estimate + half, np.inf if side.high is None else side.high)
    ends = sorted(
        (_own_numbers(side, scores - half), _own_numbers(side, scores + half)), key=lambda each: float(each[0])
    )
    # A share that is 0 or 1 is told as it is, and its interval holds it.
    return np.minimum(ends[0], side.estimate), np.maximum(ends[1], side.estimate)


def _own_numbers(side: Side, logits: FloatArray) -> FloatArray:
    share = special.expit(logits)
    return (side.low or 0.0) + _span(side) * (1.0 - share if side.turned else share)


def on_live_scale(made: Material, logits: FloatArray) -> FloatArray:
    """Return live scores on the scale of the line in the live metric's own numbers."""
    if made.live_link == "identity":
        return -logits if made.live.turned else logits
    return _own_numbers(made.live, logits)


def gap_in_points(made: Material, gap: FloatArray) -> FloatArray:
    """Return gaps on the scale of the line as differences of the models' own live scores, above 0 where live is better."""
    if made.live_link == "identity":
        return gap
    own = made.scores.live
    return _span(made.live) * (special.expit(own) - special.expit(own - gap))


def on_line(side: SideAccount, values: FloatArray) -> FloatArray:
    """Return shown scores of one side, in its own numbers, on the scale of the line that is told of them."""
    if side.link == "identity":
        return values
    low, high = side.low or 0.0, side.high or 1.0
    share = np.clip((values - low) / (high - low), 1e-9, 1.0 - 1e-9)
    return np.asarray(special.logit(share), dtype=np.float64)


def off_line(side: SideAccount, values: FloatArray) -> FloatArray:
    """Return values on the scale of the line in the side's own numbers."""
    if side.link == "identity":
        return values
    low, high = side.low or 0.0, side.high or 1.0
    return low + (high - low) * special.expit(values)


def error_on_line(side: SideAccount, value: float, error: float | None) -> float:
    """Return a standard error of a score of one side on the scale of the line; 0 where it is unknown."""
    if error is None or side.link == "identity":
        return error or 0.0
    low, high = side.low or 0.0, side.high or 1.0
    share = min(max((value - low) / (high - low), 1e-3), 1.0 - 1e-3)
    return error / ((high - low) * share * (1.0 - share))


def links_of(made: Material) -> tuple[Link, Link]:
    """Return how each side enters the line."""
    return made.lab_link, made.live_link
