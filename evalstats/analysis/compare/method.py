"""How a comparison was made, what it takes for granted, what would change it, where its methods come from."""

import math
import re
from collections.abc import Callable, Iterable

from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.provenance import placed, sources_section
from evalstats.document.model import Items, Section, Text, sentence
from evalstats.document.numbers import declared, interval_words, number, p_value, scaled
from evalstats.grammar import plural
from evalstats.stats.paired.binary import MIN_DISCORDANT, PairedCounts, tango

_REFUSALS = ("invalid", "powerless")


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
    now = result.excludes_zero
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


def _taken(table: PairedCounts, k: int, *, leads: bool) -> PairedCounts:
    """Return the counts after k items that one side alone got right went to the other alone."""
    step = k if leads else -k
    return PairedCounts(table.both, table.only_candidate - step, table.only_baseline + step, table.neither)


def _given(table: PairedCounts, k: int, *, leads: bool) -> PairedCounts:
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
    now = result.excludes_zero
    lost = [row for row in rows if row.excludes_zero != now]
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
    if mde is None or result.verdict not in ("inconclusive", "powerless") or result.excludes_zero or result.labels:
        return []
    # Far below what can be found, the number needed says only that the observed difference is next to nothing.
    if estimate <= mde / 30:
        return []
    ratio = times_needed(result)
    if ratio is None:
        return [
            (
                f"More runs, not more items: if the true difference is the {sized(estimate, result)} that was observed, "
                "runs vary too much for any number of items to detect it in four of five studies"
            ),
        ]
    n, what = (
        (result.n_clusters, f"levels of {' and '.join(result.clusters)}")
        if result.clusters and result.n_clusters
        else (result.n_items, "items")
    )
    if ratio < 1:
        return []
    return [
        (
            f"More data: if the true difference is the {sized(estimate, result)} that was "
            f"observed, {_times(ratio)} {what}, some {rounded_up(n * ratio):,}, would detect it in four of five "
            "studies. The true one may be smaller, and then it takes more"
        ),
    ]


def times_needed(result: Comparison) -> float | None:
    """Return how many times as many items find the observed difference with 80% power; None where no number of them does.

    More items leave what runs vary by as it is. The result has an `mde` and a difference other than 0.
    """
    ratio = ((result.mde or 0.0) / (result.estimate or math.nan)) ** 2
    without = result.rows[1] if result.run_std_error and len(result.rows) > 1 else None
    if without is None or without.std_error is None or result.run_std_error is None:
        return ratio
    of_items, of_runs = without.std_error**2, result.run_std_error**2
    left_to_items = (of_items + of_runs) / ratio - of_runs
    return of_items / left_to_items if left_to_items > 0 else None


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
    if result.labels is not None:
        return [
            "Labels that are no random part of the items, or people who err themselves: the interval knows nothing of either"
        ]
    least = sized(min(abs(result.conf_low), abs(result.conf_high)), result)
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
    least = sized(max(abs(low), abs(high)), result)
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


def sized(value: float | None, result: Comparison) -> str:
    """Write an amount of the metric with its unit."""
    return f"{scaled(value, result.scale, 1)} {result.unit}".rstrip()


def _times(ratio: float) -> str:
    """Say how many times as much.

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

    >>> rounded_up(1234.0), rounded_up(99.2)
    (1300, 100)
    """
    if value < 100:
        return math.ceil(value)
    unit = 10 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / unit) * unit


_PAIRING = "Miller 2024, arXiv:2411.00640"
_PASS = re.compile(r" pass([\^@])(\d+)$")
_AT_MARGIN = "tests at the margin"


def method_sections(result: Comparison, *, refused: bool) -> tuple[Section, ...]:
    """Return the parts on the method; nothing was estimated where the runs cannot be compared."""
    if refused:
        grave = [each.explanation for each in result.run_differences if each.severity == "invalid"]
        why = "Runs are compared before any test. A test would lay the whole difference to the systems, however it came about."
        parts = [Section(id="method", heading="Why nothing was tested", blocks=(Text(text=why), _items(grave)))]
    else:
        parts = [
            Section(id="method", heading="How it was answered", blocks=tuple(Text(text=text) for text in _how(result))),
            _section("assumptions", "What this takes for granted", assumptions(result)),
            _section("changes", "What would change the answer", changes(result)),
            _section("references", "References", references(result)),
        ]
    of = result.origin
    parts.append(sources_section(of.sources, version=of.version, seed=f"{of.seed} (permutations only)", plan=of.plan))
    return tuple(part for part in parts if part.blocks)


def _section(name: str, heading: str, texts: Iterable[str]) -> Section:
    kept = [text for text in texts if text]
    return Section(id=name, heading=heading, blocks=(_items(kept),) if kept else ())


def _items(texts: Iterable[str]) -> Items:
    return Items(items=tuple(sentence(text) for text in texts))


# --- how ---


def _how(result: Comparison) -> list[str]:
    asked = (
        f"{result.candidate.name} minus {result.baseline.name} in {result.metric}{placed(result.benchmark)}: the "
        f"{result.estimand}."
    )
    chosen = (
        f"{result.method} was asked for."
        if result.method_reason == "it was asked for"
        else f"{result.method}, because {result.method_reason}."
    )
    texts = " ".join(text.how for text in texts_for(result.method))
    beside = (
        _passing(result),
        _decides(result),
        _margin(result),
        _family(result),
        _dependence(result),
        _screen(result),
    )
    return [part for part in (asked, f"{chosen} {texts}".strip(), " ".join(text for text in beside if text)) if part]


def _passing(result: Comparison) -> str:
    found = _PASS.search(result.metric)
    if found is None:
        return ""
    kind, k = found.groups()
    how = "every one succeeds" if kind == "^" else "at least one succeeds"
    return f"The score of an item is its pass{kind}{k}: the share of all ways to pick {k} of its trials in which {how}."


def _decides(result: Comparison) -> str:
    if result.conf_low is None:
        return ""
    told = "The interval decides, and the p-value beside it is its own"
    if "CR2" in result.method and result.sequential is None:
        return f"{told}. No direction is claimed where the sign-flip over clusters disagrees, or below 4 degrees of freedom."
    told += "; other methods have no say."
    if result.sequential is not None:
        return f"{told} It holds at every look, however often one looks and whenever one stops."
    return told


def _margin(result: Comparison) -> str:
    if result.margin is None:
        return ""
    size = f"{declared(result.margin, result.scale)} {result.unit}".rstrip()
    return f"The two count as equivalent if the {100 * (2 * result.conf_level - 1):.6g}% interval lies within ±{size}."


def _family(result: Comparison) -> str:
    if not result.groups:
        return ""
    return f"The {len(result.groups)} levels of {result.by} are one family, adjusted by Bonferroni; Holm's p is in the data."


def _dependence(result: Comparison) -> str:
    if not result.dependence:
        return ""
    names = ", ".join(row.factor for row in result.dependence)
    return f"Checked for groups that behave alike, by 999 permutations with the smallest p over all: {names}."


def _screen(result: Comparison) -> str:
    if not any(row.p_adjusted is not None for row in result.flipped_by):
        return ""
    return "Flipped items are screened level by level with exact tests, adjusted by Benjamini and Hochberg."


# --- assumptions ---


def assumptions(result: Comparison) -> list[str]:
    """Return what the answer takes for granted; what p means comes last."""
    takes = [text.takes for text in texts_for(result.method) if text.takes]
    unlike = [
        f"the sides differ in nothing but the systems, and {each.explanation}"
        for each in result.run_differences
        if each.severity == "weakens"
    ]
    return [
        _population(result),
        *takes,
        *_few(result),
        *_trials(result),
        *unlike,
        *_one_run(result),
        _p_meaning(result),
    ]


def _population(result: Comparison) -> str:
    n = plural(result.n_items, "item")
    if not result.clusters:
        return f"The {n} are independent of each other and a sample of the items you care about; of other kinds they say nothing"
    groups = " and ".join(result.clusters)
    worth = ""
    if result.design_effect is not None and result.design_effect > 1.1:
        worth = (
            f"; items of one go the same way, the {n} are worth {max(1, round(result.n_items / result.design_effect))}"
        )
    return f"The {result.n_clusters} levels of {groups} are independent of each other and a sample of more{worth}"


def _few(result: Comparison) -> list[str]:
    if result.clusters and result.df is not None and result.df < 10:
        return [f"With {number(result.df, 1)} degrees of freedom the spread between groups is itself poorly known"]
    if result.table is not None and result.method.startswith("Tango"):
        apart = result.table.discordant
        return [
            f"The test goes by a normal curve, which serves from about {MIN_DISCORDANT} items that differ; here {apart} do"
        ]
    if not result.clusters and result.n_items < 20:
        return [f"With {plural(result.n_items, 'item')} every approximation is rough; read the exact checks beside it"]
    return []


def _trials(result: Comparison) -> list[str]:
    if result.n_trials <= 2 * result.n_items:
        return []
    return [f"The {result.n_trials:,} trials are averaged within items: they make each item surer and add no items"]


def _one_run(result: Comparison) -> list[str]:
    if not len(result.baseline.runs) == len(result.candidate.runs) == 1 or result.runs_counted:
        return []
    return ["There is one run of each side, so variation from run to run is not in the interval"]


def _p_meaning(result: Comparison) -> str:
    if result.p_value is None or result.estimate is None or result.p_value >= 1:
        return ""
    size = sized(abs(result.estimate), result)
    return (
        f"The p-value is how often two equal systems would differ by {size} or more, not the chance that they are equal"
    )


# --- references and code ---


def references(result: Comparison) -> list[str]:
    """List the works behind every method that occurs in the result, by author.

    >>> from evalstats import datasets
    >>> from evalstats.analysis.compare.compare import compare
    >>> references(compare(datasets.tenacious_held_out(), "baseline", "trained"))[-1]
    'Wilson 1927, JASA 22:209'
    """
    names = [result.method, result.baseline.method, result.candidate.method]
    names += [row.method for row in (*result.rows, *result.effects, *result.groups)]
    names += [row.method for row in result.costs if row.ratio is not None and row.method]
    if result.margin is not None:
        names.append(_AT_MARGIN)
    if passes := _PASS.search(result.metric):
        names.append(f"mean pass{passes[1]}")
    names += ["Bonferroni", "Holm"] if result.groups else []
    names += ["Benjamini-Hochberg"] if any(row.p_adjusted is not None for row in result.flipped_by) else []
    works = {source for name in names for text in texts_for(name) for source in text.sources}
    permuted = [source for text in texts_for("max-T") for source in text.sources][:1] if result.dependence else []
    return sorted({_PAIRING, *works, *permuted})
