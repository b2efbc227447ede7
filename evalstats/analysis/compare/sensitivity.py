"""What would change the conclusion of a comparison: how many answers, how much data, which missing scores."""

import math
from collections.abc import Callable, Iterable

from evalstats.analysis.compare.result import Comparison, PairedTable
from evalstats.document.numbers import interval_words, number, p_value, scaled
from evalstats.stats.paired.binary import PairedCounts, tango

_REFUSALS = ("invalid", "powerless")


def excludes_zero(low: float | None, high: float | None) -> bool:
    """Whether an interval excludes zero.

    Examples
    --------
    >>> excludes_zero(0.1, 0.2), excludes_zero(-0.1, 0.2), excludes_zero(None, None)
    (True, False, False)
    """
    return low is not None and high is not None and (low > 0 or high < 0)


def changes(result: Comparison) -> list[str]:
    """Return what would change the conclusion of a comparison: answers, data, missing scores, clusters, a margin."""
    found: Iterable[str] = (
        *_flips(result),
        *_bias(result),
        *_smaller_margin(result),
        *_more_data(result),
        *_fewer_missing(result),
        *_no_margin(result),
        *_refused(result),
    )
    return [each for each in found if each]


def _flips(result: Comparison) -> list[str]:
    """Count the items that would have to fall otherwise for the interval to reach, or to leave, zero."""
    table = result.table
    if table is None or result.conf_low is None or not result.method.startswith("Tango"):
        return []
    leads = table.only_candidate > table.only_baseline
    leader, other = result.candidate.name, result.baseline.name
    if not leads:
        leader, other = other, leader
    now = excludes_zero(result.conf_low, result.conf_high)
    ahead, alike = max(table.only_candidate, table.only_baseline), table.both + table.neither
    if table.only_candidate == table.only_baseline or result.verdict not in ("better", "worse", "inconclusive"):
        return []

    def turned(k: int) -> bool:
        counts = _taken(table, k, leads=leads) if now else _given(table, k, leads=leads)
        found = tango(counts, conf_level=result.conf_level)
        nearer = found.conf_low if leads else -(found.conf_high or 0.0)
        return ((nearer or 0.0) > 0) != now

    k = _least(turned, ahead if now else alike)
    if k is None:
        return []
    if now:
        return [
            (
                f"{_of(k, ahead, f'that {leader} alone got right')}: had {other} alone got "
                f"{'it' if k == 1 else 'them'} right instead, the interval would reach zero"
            ),
        ]
    return [
        (
            f"{_of(k, alike, 'that came out alike')}: had {leader} alone got {'it' if k == 1 else 'them'} right, "
            "the interval would exclude zero"
        ),
    ]


def _of(k: int, n: int, which: str) -> str:
    return f"All {n} items {which}" if k == n and n > 1 else f"{k} of the {n} items {which}"


def _least(turned: Callable[[int], bool], limit: int) -> int | None:
    """Return the least k from 1 to `limit` at which the answer has turned; it does not turn back. None: it never does."""
    if limit < 1 or not turned(limit):
        return None
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if turned(middle) else (middle, high)
    return high


def _taken(table: PairedTable, k: int, *, leads: bool) -> PairedCounts:
    """Return the counts after k items that one side alone got right went to the other alone."""
    step = k if leads else -k
    return PairedCounts(table.both, table.only_candidate - step, table.only_baseline + step, table.neither)


def _given(table: PairedTable, k: int, *, leads: bool) -> PairedCounts:
    """Return the counts after k items that came out alike went to the leading side alone: wrong ones first."""
    wrong = min(k, table.neither)
    more = (k, 0) if leads else (0, k)
    return PairedCounts(
        table.both - (k - wrong), table.only_candidate + more[0], table.only_baseline + more[1], table.neither - wrong
    )


def _fewer_missing(result: Comparison) -> list[str]:
    rows = [row for row in result.missing.rows if row.conf_low is not None]
    if not rows or result.verdict in _REFUSALS or result.conf_low is None:
        return []
    now = excludes_zero(result.conf_low, result.conf_high)
    lost = [row for row in rows if excludes_zero(row.conf_low, row.conf_high) != now]
    if not lost:
        return [f"Not the missing scores: whatever they are, the interval {'excludes' if now else 'includes'} zero"]
    worst = lost[0]
    return [
        (
            f"The missing scores: with {worst.note.partition(';')[0]}, the interval would be "
            f"{interval_words(worst.conf_low, worst.conf_high, result.scale)} and {'include' if now else 'exclude'} zero"
        ),
    ]


def _more_data(result: Comparison) -> list[str]:
    estimate, mde = abs(result.estimate or 0.0), result.mde
    if mde is None or result.verdict not in ("inconclusive", "powerless"):
        return []
    if excludes_zero(result.conf_low, result.conf_high):
        return []
    # Far below what can be found, the number needed says only that the observed difference is next to nothing.
    if estimate <= mde / 30:
        return []
    ratio = (mde / estimate) ** 2
    n, what = (
        (result.n_clusters, f"levels of {' and '.join(result.clusters)}")
        if result.clusters and result.n_clusters
        else (result.n_items, "items")
    )
    if ratio < 1:
        return []
    return [
        (
            f"More data: if the true difference is the {_size(estimate, result)} that was "
            f"observed, {_times(ratio)} {what}, some {rounded_up(n * ratio):,}, would find it in four of five "
            "studies. The true one may be smaller, and then it takes more"
        ),
    ]


def _no_margin(result: Comparison) -> list[str]:
    if result.margin is not None or result.verdict != "inconclusive":
        return []
    return [
        (
            "A margin, but not now: with the largest difference that does not matter declared before looking, "
            "data like these could show that the two are equivalent. Chosen after looking it would prove nothing"
        ),
    ]


def _bias(result: Comparison) -> list[str]:
    """Say how large an error that all items share would have to be: no interval knows of such errors."""
    if result.verdict not in ("better", "worse") or result.conf_low is None or result.conf_high is None:
        return []
    least = _size(min(abs(result.conf_low), abs(result.conf_high)), result)
    return [
        (
            f"An error of {least} that all items of one side share, such as a judge's leaning, a prompt that "
            "suits one side or a broken parser; the interval knows nothing of such errors"
        ),
    ]


def _smaller_margin(result: Comparison) -> list[str]:
    low, high = result.equivalence_low, result.equivalence_high
    if result.verdict != "equivalent" or low is None or high is None:
        return []
    least = _size(max(abs(low), abs(high)), result)
    return [f"A smaller margin: with one of {least} or less the two would not have been called equivalent"]


def _refused(result: Comparison) -> list[str]:
    if result.verdict == "powerless" and result.smallest_p is not None and result.smallest_p > 1 - result.conf_level:
        unit = "groups" if result.clusters else "items"
        return [
            (
                f"Only more {unit}: with these, p cannot go below {p_value(result.smallest_p)} even if every one "
                "of them pointed the same way"
            ),
        ]
    return []


def _size(value: float | None, result: Comparison) -> str:
    return f"{scaled(value, result.scale, 1)} {result.unit}".rstrip()


def _times(ratio: float) -> str:
    """Say how many times as much.

    Examples
    --------
    >>> _times(1.07), _times(1.6), _times(12.3), _times(40_000)
    ('about as many', 'about 1.6 times as many', 'about 12 times as many', 'more than a thousand times as many')
    """
    if ratio > 1000:
        return "more than a thousand times as many"
    if ratio < 1.1:
        return "about as many"
    return f"about {number(ratio, 0 if ratio >= 10 else 1)} times as many"


def rounded_up(value: float) -> int:
    """Round a needed number of things up to two digits, since it is not known better.

    Examples
    --------
    >>> rounded_up(1234.0), rounded_up(99.2)
    (1300, 100)
    """
    if value < 100:
        return math.ceil(value)
    unit = 10 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit) * unit
