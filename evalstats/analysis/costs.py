"""What two systems cost on the same items: dollars, time, turns and tokens, as ratios with intervals.

A trial's cost counts once, however many metrics and judges score it: only rows of the metric under study are used, and
of those only the scored ones, so that cost and score speak of the same answers.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.document.numbers import number, share_in_percent
from evalstats.errors import CannotAnswerError
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.schema.columns import OUTCOMES
from evalstats.stats.checks import is_constant, too_few_clusters
from evalstats.stats.clusters import cluster_mean, multiway_mean
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.one_sample import UnseenRunaways, unseen_runaways
from evalstats.stats.paired.means import paired_t
from evalstats.stats.paired.ratios import geometric_ratio, ratio_of_means
from evalstats.table.items import COUNT_OF, ITEM_KEY, SUM_OF, Floats, Ints
from evalstats.table.score_table import ScoreTable

COSTS = ("cost_usd", "latency_s", "n_turns", "input_tokens", "output_tokens")
PER_SUCCESS = "cost_usd per success"
# Below this many successes on a side the logarithm of their number is too far from normal for an interval.
MIN_SUCCESSES = 10

# What each row is called in a table.
WORDS = {
    "cost_usd": "Cost (US dollars)",
    "latency_s": "Time (seconds)",
    "n_turns": "Turns",
    "input_tokens": "Input tokens",
    "output_tokens": "Output tokens",
    PER_SUCCESS: "Cost of a success (US dollars)",
}

_UNITS = {column.name: column.unit for column in OUTCOMES if column.name in COSTS}
_CAUTIONS = {"latency_s": "time also depends on the machine, its load and what ran beside it"}


@record
class CostRow:
    """One quantity on the items for which both sides have it: the candidate as a multiple of the baseline.

    `ratio` is that of the means, which is that of the totals: what the whole suite costs. `typical_ratio` is the geometric mean
    of the items' own ratios: what happens to one item. Means are over items, trials averaged first. Each interval stands for
    itself: the rows are no family. Of `n_paired` items scored on both sides `n_items` have the quantity on both; `reason` says
    why there is no ratio or no interval, `note` what to know before the numbers are used.

    Attributes
    ----------
    quantity
        The column: cost_usd, latency_s, output_tokens, ...
    baseline_mean, candidate_mean
        Mean over items in `unit`, trials averaged first.
    typical_ratio
        Geometric mean of the items' own ratios.
    typical_low, typical_high
        Its interval.
    unit
        Unit of the quantity: "US dollars", "seconds", ...
    """

    quantity: str
    unit: str
    conf_level: float
    n_items: int
    n_paired: int
    baseline_mean: float | None = None
    candidate_mean: float | None = None
    ratio: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    typical_ratio: float | None = None
    typical_low: float | None = None
    typical_high: float | None = None
    n_clusters: int | None = None
    method: str = ""
    reason: str | None = None
    note: str = ""


def cost_rows(table: ScoreTable, *, clusters: Sequence[str] = (), conf_level: float = 0.95) -> tuple[CostRow, ...]:
    """Compare cost, time, turns and tokens on the items that both systems of a table have, each as a ratio with its interval.

    A quantity that one side alone has makes a row without a ratio. If the metric is a share that is better the higher, the cost
    of a success is a further row; not for pass^k, whose successes are no trials. Ratio of means: Fieller's interval. Typical
    ratio: t on the logs. Cost of a success: the ratio of (cost / success) with a t interval for its logarithm, linearised
    (delta method). With clusters CR2 and Satterthwaite df throughout.
    """
    paired, metric = table.take(table.paired()), table.metric
    before, after = (item_amounts(system.rows, paired.items) for system in table.systems)
    codes = [paired.codes(name) for name in clusters]
    rows = [
        _row(name, before[name], after[name], codes, conf_level)
        for name in COSTS
        if not (np.isnan(before[name]).all() and np.isnan(after[name]).all())
    ]
    if metric.is_share and metric.higher_is_better and table.passes is None:
        costs = (before["cost_usd"], after["cost_usd"])
        has = ~(np.isnan(costs[0]) | np.isnan(costs[1]))
        if has.any():
            rows.append(_per_success(costs, (paired.column(0), paired.column(1)), has, codes, conf_level))
    return tuple(rows)


def item_amounts(rows: pl.DataFrame, items: pl.DataFrame) -> dict[str, Floats]:
    """Mean of every quantity over the scored trials of every item, in the order of `items`; NaN where no trial has it."""
    key = [name for name in ITEM_KEY if name in items.columns]
    merged = {name: (pl.col(SUM_OF + name), pl.col(COUNT_OF + name)) for name in COSTS if SUM_OF + name in rows.columns}
    held = [name for name in COSTS if name in rows.columns and rows[name].null_count() < rows.height]
    have = [name for name in COSTS if name in merged or name in held]
    nothing = np.broadcast_to(np.nan, items.height)
    if not have:
        return dict.fromkeys(COSTS, nothing)
    shares = {name: total.sum() / number.sum() for name, (total, number) in merged.items()}
    found = [shares.get(name, pl.col(name).cast(pl.Float64).mean()).fill_nan(None).alias(name) for name in have]
    means = rows.filter(pl.col("status") == "scored").group_by(key).agg(found)
    placed = items.select(key).join(means, on=key, how="left", maintain_order="left")
    return {name: placed[name].fill_null(math.nan).to_numpy() if name in have else nothing for name in COSTS}


def cost_word(name: str) -> str:
    """Return what a cost is called in a sentence.

    >>> cost_word("latency_s")
    'time'
    """
    return WORDS[name].partition(" (")[0].lower()


def amount(value: float | None) -> str:
    """Write an amount with three digits that count, and thousands set apart.

    >>> amount(12345.6), amount(3.14159), amount(0.00123456), amount(0.0), amount(None)
    ('12,346', '3.14', '0.00123', '0', '–')
    """
    if value is None or not math.isfinite(value) or value == 0:
        return number(value, 0)
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def runaway_words(who: str, risk: UnseenRunaways, effect: str) -> str:
    """Say which share of runaway answers would change a result on costs, and which the items cannot exclude."""
    more = "Further answers" if risk.runaways else "Answers"
    without = "" if risk.runaways else " without one"
    return (
        f"{more} of {who} at {number(risk.ratio, 0)} times the median on {share_in_percent(risk.undoing)} of the items would "
        f"{effect}, and {risk.n:,} items{without} cannot exclude {share_in_percent(risk.possible)}"
    )


def _row(name: str, before: Floats, after: Floats, codes: Sequence[Ints], conf_level: float) -> CostRow:
    has = ~(np.isnan(before) | np.isnan(after))
    n = int(has.sum())
    bare = CostRow(quantity=name, unit=_UNITS[name], conf_level=conf_level, n_items=n, n_paired=len(before))
    if n == 0:
        sides = [_mean(before), _mean(after)]
        reason = "no item has it on both sides"
        if None in sides:
            reason = f"only the {'candidate' if sides[0] is None else 'baseline'} has it"
        return replace(bare, baseline_mean=sides[0], candidate_mean=sides[1], reason=reason)
    a, b = before[has], after[has]
    bare = replace(bare, baseline_mean=float(a.mean()), candidate_mean=float(b.mean()))
    notes = [_CAUTIONS.get(name, ""), _coverage(n, len(before))]
    free = [side for side, values in (("baseline", a), ("candidate", b)) if name == "cost_usd" and not values.any()]
    if free:  # no answer costs nothing, but many a price is unknown
        of = " and the ".join(free)
        reason = f"the cost of the {of} is 0 on every item, as harnesses write if the price is unknown"
        return replace(bare, reason=reason, note=_joined(notes))
    kept = _with_company([each[has] for each in codes])
    try:
        found = ratio_of_means(a, b, clusters=kept, conf_level=conf_level)
    except CannotAnswerError as error:
        return replace(bare, reason=str(error), note=_joined(notes))
    notes.extend(found.warnings)
    if found.conf_low is not None and found.conf_high is not None and not found.conf_low <= 1.0 <= found.conf_high:
        cheaper = found.conf_high < 1.0
        who, cheap, dear = ("the candidate", b, a) if cheaper else ("the baseline", a, b)
        nearest = found.conf_high if cheaper else 1.0 / found.conf_low
        risk = unseen_runaways(cheap, dear, lead=(1.0 - nearest) * float(dear.mean()), conf_level=conf_level)
        notes.append(runaway_words(who, risk, "undo the lead") if risk.within else "")
    try:
        typical = geometric_ratio(a, b, clusters=kept, conf_level=conf_level)
    except CannotAnswerError as error:
        return _filled(bare, found, None, [*notes, f"no typical ratio: {error}"])
    if typical.reason is not None and typical.reason != found.reason:
        notes.append(f"no interval of the typical ratio: {typical.reason}")
    return _filled(bare, found, typical, [*notes, *(text for text in typical.warnings if text not in found.warnings)])


def _filled(bare: CostRow, found: IntervalEstimate, typical: IntervalEstimate | None, notes: Sequence[str]) -> CostRow:
    return replace(
        bare,
        ratio=found.estimate,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        typical_ratio=None if typical is None else typical.estimate,
        typical_low=None if typical is None else typical.conf_low,
        typical_high=None if typical is None else typical.conf_high,
        n_clusters=found.n_clusters,
        method=found.method,
        reason=found.reason,
        note=_joined(notes),
    )


def _per_success(
    costs: tuple[Floats, Floats],
    scores: tuple[Floats, Floats],
    has: npt.NDArray[np.bool_],
    codes: Sequence[Ints],
    conf_level: float,
) -> CostRow:
    """Compare what a success costs: all costs, those of failures too, over the number of successes."""
    n = int(has.sum())
    (a, b), (right_a, right_b) = (tuple(each[has] for each in both) for both in (costs, scores))
    bare = CostRow(
        quantity=PER_SUCCESS,
        unit="US dollars per success",
        conf_level=conf_level,
        n_items=n,
        n_paired=len(has),
        method="ratio of (cost / successes), t on the log",
        note=_coverage(n, len(has)),
    )
    sums = [float(each.sum()) for each in (right_a, right_b)]
    dear = [float(cost.sum()) / right if right > 0 else None for cost, right in zip((a, b), sums, strict=True)]
    bare = replace(bare, baseline_mean=dear[0], candidate_mean=dear[1])
    for side, right, cost in (("baseline", sums[0], a), ("candidate", sums[1], b)):
        if right <= 0:
            return replace(bare, reason=f"the {side} has no success, so nothing has a cost of a success")
        if not cost.any():
            return replace(bare, reason=f"the cost of the {side} is 0 on every item")
    ratio = (dear[1] or 0.0) / (dear[0] or math.inf)
    if min(sums) < MIN_SUCCESSES:
        reason = f"{number(min(sums), 0)} successes on one side are too few for an interval; {MIN_SUCCESSES} are needed"
        return replace(bare, ratio=ratio, reason=reason)
    # d log R = dB/B - dSb/Sb - dA/A + dSa/Sa
    linear = b / b.mean() - right_b / right_b.mean() - a / a.mean() + right_a / right_a.mean()
    found = _mean_estimate(linear, _with_company([each[has] for each in codes]), conf_level)
    if found.conf_high is None:
        return replace(bare, ratio=ratio, n_clusters=found.n_clusters, reason=found.reason)
    factor = math.exp(found.conf_high - found.estimate)
    return replace(bare, ratio=ratio, conf_low=ratio / factor, conf_high=ratio * factor, n_clusters=found.n_clusters)


def log_scale_mean(values: Floats, codes: Sequence[Ints], *, conf_level: float) -> IntervalEstimate:
    """Mean of positive amounts with a t interval for its logarithm: an end of 0 or less would mean nothing.

    log m +- t se(m)/m, CR2 with clusters. Amounts are skewed to the right, and so is this interval.
    """
    method = "mean, t on the log"
    mean = float(values.mean())
    if mean <= 0:
        reason = "it is 0 on every item"
        return IntervalEstimate(estimate=mean, method=method, conf_level=conf_level, n=values.size, reason=reason)
    found = _mean_estimate(values / mean, _with_company(codes), conf_level)
    if found.conf_high is None:
        return replace(found, estimate=mean, std_error=None, method=method, p_value=None, statistic=None)
    factor = math.exp(found.conf_high - found.estimate)
    return IntervalEstimate(
        estimate=mean,
        method=method + (", CR2" if found.n_clusters else ""),
        conf_level=conf_level,
        n=values.size,
        std_error=mean * (found.std_error or 0.0),
        conf_low=mean / factor,
        conf_high=mean * factor,
        df=found.df,
        n_clusters=found.n_clusters,
    )


def _mean_estimate(values: Floats, clusters: npt.NDArray[np.int64] | None, conf_level: float) -> IntervalEstimate:
    if clusters is None:
        # Moved to 1, where equal means equal up to the rounding of numbers of that size.
        if len(values) < 2 or is_constant(values - values.min() + 1.0):
            reason = "one item has no spread" if len(values) < 2 else "it is the same on every item"
            return IntervalEstimate(
                estimate=float(values.mean()), method="", conf_level=conf_level, n=len(values), reason=reason
            )
        return paired_t(values, conf_level=conf_level)
    few = too_few_clusters(min(len(np.unique(each)) for each in clusters))
    if few is not None:
        return IntervalEstimate(
            estimate=float(values.mean()), method="", conf_level=conf_level, n=len(values), reason=few
        )
    if len(clusters) == 1:
        return cluster_mean(values, clusters[0], conf_level=conf_level).estimate
    return multiway_mean(values, list(clusters), conf_level=conf_level).estimate


def _with_company(codes: Sequence[Ints]) -> npt.NDArray[np.int64] | None:
    """Cluster columns in which some items share a cluster, as the ratios take them; None where there is none."""
    kept = [each for each in codes if len(np.unique(each)) < len(each)]
    return np.stack(kept) if kept else None


def _mean(values: Floats) -> float | None:
    present = values[~np.isnan(values)]
    return float(present.mean()) if present.size else None


def _coverage(n: int, total: int) -> str:
    return "" if n == total else f"{n:,} of {plural(total, 'paired item')} have it on both sides"


def _joined(notes: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(note for note in notes if note))
