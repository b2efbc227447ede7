"""A published number that a score is held against: how precise it is, its test, and what missing scores could undo."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from evalstats.analysis.design.averages import Average
from evalstats.analysis.score.result import ClaimTest
from evalstats.document.numbers import scaled, share_in_percent
from evalstats.errors import InputError, Option
from evalstats.record import record
from evalstats.stats.checks import check_count
from evalstats.stats.estimate import IntervalEstimate, normal_quantile, positive_p, two_sided_normal_p, two_sided_t_p
from evalstats.stats.one_sample import wilson_ends
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable, too_much_missing

IntervalAt = Callable[[float], IntervalEstimate]
# Below this the level of an interval is 1 to a computer, and only a law in closed form could say more.
_SMALLEST = 1e-13
_HALVINGS = 60


@record
class Claim:
    """A published number in the metric's own unit, with the items or the standard error behind it where they are known."""

    value: float
    n: int | None = None
    std_error: float | None = None

    @property
    def fixed(self) -> bool:
        """Whether the number is taken as it stands."""
        return self.n is None and self.std_error is None

    def ends(self, conf_level: float) -> tuple[float, float]:
        """Return the claim's own interval: Wilson's, or the normal one."""
        z = normal_quantile(conf_level)
        if self.n is not None:
            return wilson_ends(self.value, self.n, z)
        reach = z * (self.std_error or 0.0)
        return self.value - reach, self.value + reach


def check_claim(
    metrics: Sequence[MetricFacts], against: float | str | None, n: int | None, std_error: float | str | None
) -> None:
    """Refuse a precision without a claim, and a claim about several metrics."""
    if against is None:
        if n is not None or std_error is not None:
            raise InputError(
                f"against_n and against_se say how precise a claim is; give the claim itself with {Option('against')}"
            )
        return
    quantities = sorted({f"{metric.name} on {metric.benchmark}" for metric in metrics})
    if len(quantities) > 1:
        raise InputError(
            f"a claim is of one metric, and there are {len(quantities)}: {', '.join(quantities)}; choose one with "
            f"{Option('metric')}, or {Option('where', blank='NAME', of='benchmark')}"
        )


def claim_of(against: float | str, metric: MetricFacts, *, n: float | None, std_error: float | str | None) -> Claim:
    """Return the claim in the metric's unit; "87%" is 0.87 of a share."""
    value = _claimed_number(against, metric, "against")
    low, high = metric.low, metric.high
    if (low is not None and value < low) or (high is not None and value > high):
        hint = f"; write {value / 100:g} or {value:g}%" if metric.is_share and 1 < value <= 100 else ""
        ends = " to ".join("no limit" if end is None else f"{end:g}" for end in (low, high))
        raise InputError(f"against is {against}, and {metric.name!r} runs from {ends}{hint}")
    if n is not None and std_error is not None:
        raise InputError("against_n and against_se are given; one of them says how precise the claim is, so give one")
    if n is not None and metric.kind not in ("binary", "proportion"):
        raise InputError(
            f"against_n is for right-or-wrong scores; {metric.name!r} is {metric.kind}, so give against_se instead"
        )
    if std_error is None:
        return Claim(value=value, n=None if n is None else check_count(n, "against_n", least=1))
    error = _claimed_number(std_error, metric, "against_se")
    if error <= 0:
        raise InputError(
            f"against_se is {std_error}; a standard error is above 0 (leave it out for a number taken as it stands)"
        )
    return Claim(value=value, std_error=error)


def _claimed_number(value: float | str, metric: MetricFacts, what: str) -> float:
    text = str(value).strip()
    percent = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{what} is {value!r}; give a number in the metric's own unit, such as 0.87 or 87%")
    if percent and not (metric.is_share or metric.is_percent):
        raise InputError(f"{what} is {value!r}, and {metric.name!r} is not a share; give it in its own unit")
    return number / 100 if percent and metric.is_share else number


def tested_claim(claim: Claim, interval_at: IntervalAt, conf_level: float) -> ClaimTest:
    """Test a score against a claim by the interval that the score is reported with.

    The claim differs at level 1 - p, and at no lower one, from the interval: p is where the interval's end meets it. For
    Wilson's interval that is the score test, for t the t test. A claim with an error of its own is met by the interval of the
    difference, put together from both intervals (square-and-add).

    References
    ----------
    Wilson 1927, JASA 22:209; Newcombe 1998, doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.
    """
    own = interval_at(conf_level)
    difference = own.estimate - claim.value
    base = ClaimTest(
        claim=claim.value,
        n=claim.n,
        std_error=claim.std_error,
        estimate=difference,
        conf_level=conf_level,
        method=own.method if claim.fixed else f"square-and-add of {own.method} and the claim's own interval",
        verdict="no answer",
        reason=own.reason,
    )
    ends = _difference_ends(own, claim, conf_level)
    if ends is None:
        return base
    p = _p_value(claim, own, interval_at)
    verdict: Literal["above", "below", "not shown to differ"] = "not shown to differ"
    if ends[0] > 0 or ends[1] < 0:
        verdict = "above" if ends[0] > 0 else "below"
    return replace(base, conf_low=ends[0], conf_high=ends[1], p_value=p, verdict=verdict)


def _difference_ends(own: IntervalEstimate, claim: Claim, conf_level: float) -> tuple[float, float] | None:
    if own.conf_low is None or own.conf_high is None:
        return None
    if claim.fixed:
        return own.conf_low - claim.value, own.conf_high - claim.value
    low, high = claim.ends(conf_level)
    difference = own.estimate - claim.value
    return (
        difference - math.hypot(own.estimate - own.conf_low, high - claim.value),
        difference + math.hypot(own.conf_high - own.estimate, claim.value - low),
    )


def _p_value(claim: Claim, own: IntervalEstimate, interval_at: IntervalAt) -> float:
    if claim.fixed and own.method == "Wilson" and 0.0 < claim.value < 1.0:
        z = (own.estimate - claim.value) / math.sqrt(claim.value * (1.0 - claim.value) / own.n)
        return two_sided_normal_p(z)
    if claim.fixed and own.method == "t" and own.std_error and own.df:
        return two_sided_t_p((own.estimate - claim.value) / own.std_error, own.df)
    if own.estimate == claim.value:
        return 1.0
    low, high = math.log(_SMALLEST), math.log(1.0 - 1e-9)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        ends = _difference_ends(interval_at(-math.expm1(middle)), claim, -math.expm1(middle))
        # A p below the true one belongs to an interval that still holds the claim.
        if ends is not None and ends[0] <= 0.0 <= ends[1]:
            low = middle
        else:
            high = middle
    return positive_p(math.exp(0.5 * (low + high)))


def held_with_missing(
    test: ClaimTest, table: ScoreTable, average: Average | None, *, n_absent: int
) -> tuple[ClaimTest, str | None]:
    """Say that scores which are missing could undo the verdict on a claim, and above 5% missing take it back.

    Missing are lost trials, and items that other systems have and this one has not. Above 5% the score with all of it at its
    worst has to be apart from the claim by as much as chance could move it.
    """
    metric, strata = table.metric, None if average is None else average.strata(table.items)
    n, n_absent = len(table), n_absent if strata is None else 0
    have, meant = (each[:, 0].copy() for each in table.counts())
    lost = 1.0 - np.divide(have, meant, out=np.zeros(n), where=meant > 0)
    share = (float(lost.sum()) + n_absent) / (n + n_absent)
    upward, decides = test.verdict == "above", too_much_missing(share)
    if test.verdict not in ("above", "below") or not share:
        return test, None
    worst = metric.low if upward else metric.high
    if metric.bounds is None or worst is None:
        undone, could = decides, "the metric has no bounds that limit what they could be"
    else:
        weights = np.full(n, 1 / n) if strata is None else strata.item_weights
        end = (float(weights @ table.filled(worst)[:, 0].copy()) * n + worst * n_absent) / (n + n_absent)
        limit = test.conf_low if upward else test.conf_high
        reach = abs(test.estimate - limit) if decides and limit is not None else 0.0
        undone = end - reach <= test.claim if upward else end + reach >= test.claim
        shown = f"{scaled(end, metric.scale, 1)}{metric.score_unit}"
        could = f"with them at their worst the score is {shown}, which is not told from the claim"
    if not undone:
        return test, None
    told = f"{share_in_percent(share)} of the scores of {table.names[0]} are missing, and {could}"
    return (replace(test, verdict="not shown to differ") if decides else test), told
