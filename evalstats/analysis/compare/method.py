"""How a comparison was made, what it takes for granted, what would change it, where its methods come from."""

import math
import re

from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.provenance import placed
from evalstats.document.model import Section, Text, listed, works_section
from evalstats.document.names import named
from evalstats.document.numbers import declared, number, scaled, with_unit
from evalstats.grammar import plural
from evalstats.stats.paired.binary import MIN_DISCORDANT, PairedCounts, tango

_REFUSALS = ("invalid", "powerless")
_PAIRING = "Miller 2024, arXiv:2411.00640"
_PASS = re.compile(r" pass([\^@])(\d+)$")
_AT_MARGIN = "tests at the margin"


def method_sections(result: Comparison, *, refused: bool) -> tuple[Section, ...]:
    """Return the parts on the method; nothing was estimated where the runs cannot be compared."""
    of = result.origin
    origin = of.section(seed=f"{of.seed} (permutations only)")
    if refused:
        heading = "Why nothing was tested"
        why = "Runs are compared before any test. A test would attribute the whole difference to the systems, whatever its cause."
        grave = [each.explanation for each in result.run_differences if each.severity == "invalid"]
        blocks = (Text(text=why), *listed("method", heading, grave).blocks)
        return Section(id="method", heading=heading, blocks=blocks), origin
    parts = (
        Section(id="method", heading="How it was answered", blocks=tuple(Text(text=text) for text in _how(result))),
        listed("assumptions", "What this assumes", assumptions(result)),
        listed("changes", "What would change the answer", _changes(result)),
        works_section(references(result)),
        origin,
    )
    return tuple(part for part in parts if part.blocks)


# --- how ---


def _how(result: Comparison) -> list[str]:
    """Say what was asked, why this method, and what else had a say."""
    asked = (
        f"{named(result.candidate.name)} minus {named(result.baseline.name)} in "
        f"{named(result.metric)}{placed(result.benchmark)}: the {result.estimand}."
    )
    chosen = (
        f"{result.method} was asked for."
        if result.method_reason == "it was asked for"
        else f"{result.method}, because {result.method_reason}."
    )
    texts = " ".join(text.how for text in texts_for(result.method))
    beside: list[str] = []
    if passes := _PASS.search(result.metric):
        kind, k = passes.groups()
        how = "every one succeeds" if kind == "^" else "at least one succeeds"
        beside.append(
            f"The score of an item is its pass{kind}{k}: the share of all ways to pick {k} of its trials in which {how}."
        )
    if result.conf_low is not None:
        decides = "The interval decides; the p-value is from the same method"
        if result.sequential is not None:
            beside.append(f"{decides}. It holds at every look, however often one looks and whenever one stops.")
        elif "CR2" in result.method:
            beside.append(
                f"{decides}. No direction is claimed where the sign-flip over clusters disagrees, or below 4 degrees of freedom."
            )
        else:
            beside.append(f"{decides}.")
    if result.margin is not None:
        size = with_unit(declared(result.margin, result.scale), result.unit)
        level = 100 * (2 * result.conf_level - 1)
        beside.append(f"The two count as equivalent if the {level:.6g}% interval lies within ±{size}.")
    if result.groups:
        family = f"The {len(result.groups)} levels of {result.by} are one family"
        beside.append(f"{family}, adjusted by Bonferroni; Holm's p is in the data.")
    if result.dependence:
        names = ", ".join(row.factor for row in result.dependence)
        beside.append(f"Tested for dependence within groups, by 999 permutations of the smallest p over all: {names}.")
    if result.loss_slices:
        n = plural(result.loss_slices[0].n_slices, "slice")
        beside.append(f"Where losses concentrate: a studentised permutation test of {n}, adjusted by its maximum.")
    return [part for part in (asked, f"{chosen} {texts}".strip(), " ".join(beside)) if part]


# --- assumptions ---


def assumptions(result: Comparison) -> list[str]:
    """Return what the answer takes for granted; what p means comes last."""
    n = f"{result.n_items:,} {result.counted_as}" if result.different else plural(result.n_items, "item")
    one_run = len(result.baseline.runs) == len(result.candidate.runs) == 1
    if result.clusters:
        units = f"The {result.n_clusters} levels of {' and '.join(result.clusters)}"
        found = [f"{units} are independent of each other and a sample of more"]
        if result.design_effect is not None and result.design_effect > 1.1:
            worth = max(1, round(result.n_items / result.design_effect))
            found[0] += f"; items of one are correlated, so the {n} are worth {worth}"
    else:
        what = result.different or "items"
        found = [f"The {n} are independent of each other and a sample of the {what} you care about"]
    if result.different:
        found.append("Assignment was random; otherwise the sides differ in more than the systems")
    found += [text.takes for text in texts_for(result.method) if text.takes]
    if result.clusters and result.df is not None and result.df < 10:
        found.append(f"With {number(result.df, 1)} degrees of freedom the spread between groups is itself poorly known")
    elif result.table is not None and result.method.startswith("Tango"):
        found.append(
            f"The test goes by a normal curve, which serves from about {MIN_DISCORDANT} items that differ; here "
            f"{result.table.discordant} do"
        )
    elif not result.clusters and result.n_items < 20:
        found.append(f"With {n} every approximation is rough; read the exact checks beside it")
    if result.n_trials > 2 * result.n_items:
        found.append(
            f"The {result.n_trials:,} trials are averaged within items: they make each item more precise and add no items"
        )
    weak = (each.explanation for each in result.run_differences if each.severity == "weakens")
    found += [f"the sides differ only in the systems, and {why}" for why in weak]
    if one_run and not result.runs_counted:
        found.append("There is one run of each side, so variation from run to run is not in the interval")
    if result.p_value is None or result.estimate is None or result.p_value >= 1:
        return [*found, ""]
    size = sized(abs(result.estimate), result)
    meaning = (
        f"The p-value is how often two equal systems would differ by {size} or more, not the chance that they are equal"
    )
    return [*found, meaning]


# --- what would change it ---


def _changes(result: Comparison) -> list[str]:
    """Return what would change the conclusion, besides more data and the missing scores, which are spoken of elsewhere."""
    low, high = result.conf_low, result.conf_high
    found = _flips(result)
    if result.verdict in ("better", "worse") and low is not None and high is not None:
        # No interval knows of an error that all items share.
        least = sized(min(abs(low), abs(high)), result)
        found.append(
            f"An error of {least} that all {result.different or 'items'} of one side share, such as a judge's "
            "bias, a prompt that suits one side or a broken parser; the interval does not cover such errors"
            if result.labels is None
            else "Labels that are not a random sample of the items, or labelling errors: the interval covers neither"
        )
    if result.verdict == "equivalent" and result.equivalence_low is not None and result.equivalence_high is not None:
        least = sized(max(abs(result.equivalence_low), abs(result.equivalence_high)), result)
        found.append(f"A smaller margin: with one of {least} or less the two would not have been called equivalent")
    return found


def _flips(result: Comparison) -> list[str]:
    """Count the items that would have to fall otherwise for the interval to reach, or to leave, zero."""
    table, now = result.table, result.excludes_zero
    if table is None or result.conf_low is None or not result.method.startswith("Tango"):
        return []
    if table.only_candidate == table.only_baseline or result.verdict not in ("better", "worse", "inconclusive"):
        return []
    leads = table.only_candidate > table.only_baseline
    leader, other = (result.candidate.name, result.baseline.name)[:: 1 if leads else -1]
    n = max(table.only_candidate, table.only_baseline) if now else table.both + table.neither

    def turned(k: int) -> bool:
        """Whether k items that the leader alone got right, or else that came out alike, turn the answer."""
        both, candidate, baseline, neither = table.both, table.only_candidate, table.only_baseline, table.neither
        step = k if leads else -k
        if now:
            counts = PairedCounts(both, candidate - step, baseline + step, neither)
        else:
            wrong = min(k, neither)  # wrong ones first
            counts = PairedCounts(
                both - (k - wrong), candidate + max(step, 0), baseline + max(-step, 0), neither - wrong
            )
        found = tango(counts, conf_level=result.conf_level)
        nearer = found.conf_low if leads else -(found.conf_high or 0.0)
        return ((nearer or 0.0) > 0) != now

    if n < 1 or not turned(n):
        return []
    low, k = 0, n
    while k - low > 1:  # it does not turn back
        middle = (low + k) // 2
        low, k = (low, middle) if turned(middle) else (middle, k)
    which, it = (f"that {leader} alone got right" if now else "that came out alike"), "it" if k == 1 else "them"
    of = f"All {n} items {which}" if k == n and n > 1 else f"{k} of the {n} items {which}"
    if now:
        return [f"{of}: had {other} alone got {it} right instead, the interval would reach zero"]
    return [f"{of}: had {leader} alone got {it} right, the interval would exclude zero"]


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


def sized(value: float | None, result: Comparison) -> str:
    """Write an amount of the metric with its unit."""
    return with_unit(scaled(value, result.scale, 1), result.unit)


# --- references ---


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
    works = {source for name in {*names} for text in texts_for(name) for source in text.sources}
    permuted = [source for text in texts_for("max-T") for source in text.sources][:1] if result.dependence else []
    return sorted({*([] if result.different else [_PAIRING]), *works, *permuted})
