"""What is said of a comparison: the verdict, for which items it holds, how it was made, and what would change it."""

import math
import re
from collections.abc import Iterable
from dataclasses import replace

from evalstats.analysis.compare import figures
from evalstats.analysis.compare.evidence import (
    EVIDENCE,
    TONES,
    effects_section,
    ends,
    gained,
    groups_table,
    least,
    levels_by_verdict,
    margin_words,
    own_scores,
    p_beside,
    shown,
    sized,
    worst_items,
)
from evalstats.analysis.compare.result import DECIDED, Comparison, LevelDifferences
from evalstats.analysis.design.averages import weighted_words
from evalstats.analysis.design.clusters import partitions_named
from evalstats.analysis.design.comparability import graver, invalidating
from evalstats.analysis.design.metric import asked_direction, direction_notes
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.posterior.document import beside_sections
from evalstats.analysis.provenance import placed
from evalstats.document.formats import capital
from evalstats.document.model import (
    Block,
    Document,
    Note,
    NoteKind,
    Section,
    Text,
    listed,
    works_section,
)
from evalstats.document.names import named
from evalstats.document.numbers import (
    declared,
    number,
    p_words,
    rounded_up,
    with_unit,
)
from evalstats.errors import Option
from evalstats.grammar import plural, plural_of
from evalstats.schema.metrics import is_money_or_time
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.paired.binary import MIN_DISCORDANT, PairedCounts, tango

# Cautions in the order of what they can undo.
_ORDER: tuple[NoteKind, ...] = (
    "simulated", "withheld", "gate", "plan", "selection", "comparability", "direction", "average", "dependence", "missing",
    "scale", "few", "fit",
)  # fmt: skip
_FINDINGS_SHOWN = 2
_PAIRING = "Miller 2024, arXiv:2411.00640"
_PASS = re.compile(r" pass([\^@])(\d+)$")
_AT_MARGIN = "tests at the margin"


def document(result: Comparison) -> Document:
    """Return what is said of a comparison."""
    p, refused = p_beside(result), bool(graver(result.run_differences))
    said = Document(
        kind="compare",
        title=f"Is {named(result.candidate.name)} better than {named(result.baseline.name)}{placed(result.benchmark)}?",
        label=result.verdict,
        tone=TONES[result.verdict],
        headline=_headline(result),
        scope=_scope(result),
        notes=notes_of(result),
        actions=tuple(_actions(result)),
        method=method_sections(result, refused=refused),
    )
    if refused:
        return said
    answer: list[Block] = [Text(text=_varies(result, found)) for found in result.findings[:_FINDINGS_SHOWN]]
    evidence = [part for section in EVIDENCE if (part := section(result)) is not None]
    worst = worst_items(result, evidence)
    if result.posterior_beside is not None:
        line, section = beside_sections(result.posterior_beside)
        answer.append(line)
        evidence.append(section)
    figure, words = figures.narrowing(result), "no interval"
    if figure is None and any(each.conf_low is not None for each in (result, *result.groups)):
        figure = figures.difference(result, table=groups_table(result))
    if result.conf_low is not None:
        looks = " at every look" if result.sequential is not None else ""
        level = f"{100 * result.conf_level:.5g}% CI{looks} {ends(result, result)}"
        words = ", ".join(filter(None, (level, p_words(p))))
    return replace(
        said,
        number=shown(result, result.estimate),
        number_words=words,
        interval=figures.drawn(result, p),
        answer=(*answer, *([] if figure is None else [figure])),
        worst=worst,
        evidence=tuple(evidence),
    )


# --- the answer ---


def _headline(result: Comparison) -> str:
    """Say the verdict, what limits it, and another average or levels that claim the opposite, or what this one does not."""
    first, second, these = named(result.baseline.name), named(result.candidate.name), result.open_for_others
    if these is None:
        said = _verdict_words(result, first, second)
    else:
        on, others = f"on these {plural(result.n_items, 'item')}", f"on other {plural_of(these.factor)}"
        higher = "higher" if (result.estimate or 0.0) > 0 else "lower"
        said = f"{second} scores {higher} {on}; whether it does {others} is open"
        if these.verdict == "equivalent":
            alike = f"{second} and {first} differ by less than {margin_words(result)} {on}"
            said = f"{alike}; whether they do {others} is open"
    if result.different and result.verdict != "invalid":
        said += f", on different {result.different}"
    against = [row for row in result.other_averages if not row.agrees and row.verdict in ("better", "worse")]
    others = [f"{weighted_words(row.kind, row.factor)} it is {row.verdict}" for row in against[:1]]
    levels = levels_by_verdict(result, [word for word in ("better", "worse") if word != result.verdict])
    others += [f"by {named(result.by)} it is {levels}"] if levels else []
    asked = asked_direction("asked") if any(note.kind == "direction" for note in result.qualifiers) else []
    return "; ".join([said, *limits(result), *others, *asked])


def _verdict_words(result: Comparison, first: str, second: str) -> str:
    match result.verdict:
        case "better" | "worse":
            return f"{second} is {result.verdict} than {first}"
        case "equivalent":
            return f"{second} and {first} differ by less than the margin of {margin_words(result)}"
        case "powerless":
            by = "" if result.margin is None else f" by the margin of {margin_words(result)}"
            return f"These data are too few to tell {second} and {first} apart{by}"
        case "invalid":
            found = graver(result.run_differences)
            why = f"they differ in {' and '.join(found)}" if found else result.verdict_reason
            return f"{second} and {first} cannot be compared: {why}"
        case "inconclusive":
            if result.missing.withheld:
                claim = f"{result.missing.withheld} than {first}"
                return f"{second} is not shown to be {claim}: too many scores are missing"
            if result.higher_known is not None:
                return f"{second} scores {'higher' if result.higher_known else 'lower'} than {first}"
            if result.at_margin is not None and result.at_margin.noninferior:
                return f"{second} is at most {margin_words(result)} worse than {first}; not shown to be better"
            return f"{second} is not shown to differ from {first}"


def limits(result: Comparison) -> list[str]:
    """Return in a few words what limits a verdict; the cautions and the scope say how."""
    kinds = {note.kind for note in result.qualifiers}
    could = (("missing", "missing scores"), ("few", "rare failures"), ("fit", "rare extreme items"))
    undo = [words for kind, words in could if kind in kinds]
    return [f"{' or '.join(undo)} could undo it"] if undo else []


def _scope(result: Comparison) -> str:
    """Say which scores, on which items, and for which further items the answer holds."""
    account, clusters = result.labels, " and ".join(result.clusters)
    sides = own_scores(result)
    items = f"{plural(result.n_items, 'item')}{placed(result.benchmark, 'of')}"
    widened = result.these_items is not None and not result.these_items.too_few
    if result.clusters == ("item",):
        of = f"{plural(result.n_clusters or 0, 'item')}{placed(result.benchmark, 'of')}"
        items = f"{result.n_items:,} variants of {of}"
    elif result.n_clusters is not None and not widened and not result.different:
        items += f" in {plural(result.n_clusters, clusters, plural_of(clusters))}"
    metric = f"{named(result.metric)}{'' if result.higher_is_better else ' (lower is better)'}"
    parts = [f"{sides} in {metric}, on the {items} that both answered"]
    if result.different:
        n = " against ".join(f"{side.n_items:,}" for side in (result.candidate, result.baseline))
        parts = [f"{sides} in {metric}, on {n} {result.counted_as}{placed(result.benchmark, 'of')}"]
        if result.n_clusters is not None:
            parts.append(f"clustered by {clusters} ({result.n_clusters:,})")
    if account is not None:
        alone, n = account.labels_only, plural(account.n_labels, "item")
        judged, labels = (
            shown(result, account.judged.estimate),
            f"{shown(result, alone.estimate)} ({ends(result, alone)})",
        )
        parts.append(f"corrected by people's labels of {n}: the judge alone says {judged}, labels alone {labels}")
    if widened:
        parts.append(f"clustered by {clusters} ({result.n_clusters})")
    # Clusters are a sample of more; the average names the levels of its own factor.
    said = (result.by, *(row.factor for row in result.other_averages[:1] if result.average))
    fixed = "" if result.clusters not in ((), ("item",)) else partitions_named(result.dependence, besides=said)
    reason = ""
    if not plain_reason(result):
        reason = result.verdict_reason
    elif result.verdict not in DECIDED and result.mde is not None:
        reason = f"a difference of {sized(result.mde, result)} would be detected with 80% power"
    return "; ".join([*parts, *filter(None, (fixed, reason, result.average, _beside_margin(result)))])


def _beside_margin(result: Comparison) -> str:
    """Say how the interval lies to the margin, where the headline does not."""
    margin, low, high = result.margin, result.conf_low, result.conf_high
    if margin is None or low is None or high is None:
        return ""
    size = margin_words(result)
    if result.verdict in ("better", "worse"):
        what, exceeds = "gain" if result.verdict == "better" else "loss", min(abs(low), abs(high)) > margin
        return (
            f"the {what} exceeds the margin of {size}" if exceeds else f"the {what} may be within the margin of {size}"
        )
    if result.verdict == "inconclusive" and not (result.at_margin is not None and result.at_margin.noninferior):
        return f"a loss beyond the margin of {size} is not excluded"
    return ""


def _varies(result: Comparison, found: LevelDifferences) -> str:
    who = named(result.candidate.name)
    others = f" {named(Option('cluster', found.factor))} answers for other {plural_of(found.factor)}."
    (high, _, most), (low, _, least) = found.levels[0], found.levels[-1]
    values = {value for _, _, value in found.levels}
    if found.copies and values <= {-1.0, 0.0, 1.0}:
        parts: list[str] = []
        for verb, value in (("gains", 1.0), ("loses", -1.0)):
            items = [n for _, n, each in found.levels if each == (value if result.higher_is_better else -value)]
            if items:
                levels = plural(len(items), found.factor, plural_of(found.factor))
                parts.append(f"{verb} all {plural(sum(items), 'item')} of {levels}")
        same = sum(each == 0.0 for _, _, each in found.levels)
        rest = f" and changes nothing in the other {same}" if same else ""
        return f"{who} {' and '.join(parts)}{rest}."
    p = f" ({p_words(found.p_value)})" if found.p_value is not None else ""
    ends = f"{shown(result, most)} in {high}, {shown(result, least)} in {low}"
    if found.copies:
        return f"By {found.factor}: {ends}. Within each, items go the same way."
    return f"The difference varies by {found.factor}{p}: {ends}.{others if len(found.levels) >= FEW_CLUSTERS else ''}"


def plain_reason(result: Comparison) -> bool:
    """Whether the interval alone gives the verdict, so that its reason is not said again."""
    if result.verdict in ("better", "worse", "equivalent", "invalid"):
        return True
    if result.verdict == "inconclusive":
        return not result.excludes_zero and not result.missing.withheld
    return result.verdict == "powerless" and result.margin is not None


def notes_of(result: Comparison) -> tuple[Note, ...]:
    """Return cautions, those first that can undo most, then remarks."""
    # What keeps runs from being compared is one caution, with what to do about it.
    grave = dict.fromkeys(each.explanation for each in result.run_differences if each.severity == "invalid")
    said = "; ".join(grave)
    alike = ("Run both sides alike, or declare what is meant: ", Option("accept", invalidating(result.run_differences)))
    known = [
        *((Note(kind="comparability", text=capital(said), remedy=alike),) if said else ()),
        *(note for note in result.qualifiers if note.kind in ("missing", "few", "fit")),
        *(note for note in result.notes if note.kind != "comparability" or note.text not in grave),
        *(note for note in direction_notes(result.direction) if not note.caution),
    ]
    metric = result.about
    if result.missing.withheld and metric.low is metric.high is None and not is_money_or_time(metric.name):
        scale = ("If it has a lowest and a highest score, as ratings do: ", Option("map", "1..5", of="scale"))
        known.append(Note(kind="missing", text=f"No bounds of {named(metric.name)} are declared", remedy=scale))
    for row in result.other_averages:
        if not row.agrees:
            level = f"{100 * result.conf_level:.5g}% CI {ends(result, row)}"
            told = ", ".join(filter(None, (level, p_words(row.p_value))))
            how = f" ({told}): {row.verdict}" if row.ends is not None else ", no interval"
            what = f"The difference {weighted_words(row.kind, row.factor)} ({row.kind} average)"
            known.append(Note(kind="average", text=f"{what} is {shown(result, row.estimate)}{how}"))
    return in_order(known)


def in_order(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return cautions, those first that can undo most, then remarks."""
    rank = {kind: place for place, kind in enumerate(_ORDER)}
    return tuple(sorted(notes, key=lambda note: (not note.caution, rank.get(note.kind, len(rank)))))


def _actions(result: Comparison) -> list[str]:
    """Say what to do about it; nothing where the headline asks which way is better."""
    if any(note.kind == "direction" for note in result.qualifiers):
        return []
    first, second = named(result.baseline.name), named(result.candidate.name)
    lost = len(result.flipped) - gained(result)
    found: list[str] = []
    match result.verdict:
        case "better":
            found.append(f"Decide by the near end of the interval: the gain may be as small as {least(result)}.")
        case "worse":
            found.append(f"Keep {first}: {second} loses at least {least(result)}.")
        case "equivalent":
            found.append("Choose by cost, speed or convenience: the scores favour neither.")
        case "powerless" if result.labels is not None:
            found += _how_many(result)
        case "powerless":
            more = f"items of more {_clusters(result)}" if result.n_clusters else "more items"
            found.append(f"Collect {more} before you look again; evalstats power says how many.")
        case "inconclusive" if result.missing.withheld:
            found.append(
                f"Recover the missing scores, or add {named(Option('missing', 'ignorable'))} "
                "if the reason has nothing to do with them."
            )
        case "inconclusive":
            found += [
                "Do not read this as equal: declare a margin before the next run to show that.",
                *_how_many(result),
            ]
        case "invalid":
            if not graver(result.run_differences) and result.conf_low is not None:
                found.append("Find out what sorts users before they are counted, and run the test again.")
    if lost and result.verdict in ("better", "equivalent", "inconclusive"):
        found.append(f"Read the {plural(lost, 'item')} that got worse before you ship it ({named('evalstats flips')}).")
    return found


def _how_many(result: Comparison) -> list[str]:
    """Return how many items, or labels, would detect the observed difference, or the margin, where that is no mere guess."""
    account, estimate, mde = result.labels, abs(result.estimate or 0.0), result.mde
    if account is not None:
        if result.margin is None or (account.labels_for_margin or math.inf) <= account.n_labels:
            return []
        size, n = margin_words(result), account.labels_for_margin
        if n is None:
            return [
                f"Collect more items: even with labels of all, a difference of {size} would not be detected with 80% power."
            ]
        return [f"Labels of about {rounded_up(n):,} items would detect a difference of {size} with 80% power."]
    if mde is None or estimate <= mde / 30 or estimate >= mde:
        return []
    ratio = (mde / estimate) ** 2
    without = result.rows[1] if result.run_std_error and len(result.rows) > 1 else None
    if without is not None and without.std_error is not None and result.run_std_error is not None:
        # More items leave what runs vary by as it is.
        of_items, of_runs = without.std_error**2, result.run_std_error**2
        left_to_items = (of_items + of_runs) / ratio - of_runs
        if left_to_items <= 0:
            return [
                "Add runs, not items: runs vary too much for any number of items to detect the observed difference."
            ]
        ratio = of_items / left_to_items
    n, what = result.n_items, result.different or "items"
    if result.n_clusters:
        n, what = result.n_clusters, _clusters(result)
    return [f"About {rounded_up(n * ratio):,} {what} would detect a difference as large as the one observed."]


def _clusters(result: Comparison) -> str:
    return plural_of(" and ".join(result.clusters))


# --- the method ---


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
        effects_section(result),
    )
    return tuple(part for part in parts if part is not None and part.blocks)


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
    if one_run and not result.runs_counted:
        found.append("Variation from run to run is not in the interval")
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
