"""What is said of a comparison: the verdict, for which items it holds, and the evidence in the order a sceptic asks."""

import math

from evalstats.analysis.compare import figures
from evalstats.analysis.compare.changed_items import flipped_section, gained, worst_items
from evalstats.analysis.compare.method import method_sections, sized, times_needed
from evalstats.analysis.compare.result import DECIDED, Comparison, GroupRow, LevelDifferences
from evalstats.analysis.costs import WORDS, amount
from evalstats.analysis.design.averages import weighted_words
from evalstats.analysis.design.clusters import dependence_table, partitions_named
from evalstats.analysis.design.comparability import graver, invalidating
from evalstats.analysis.design.metric import asked_direction, direction_notes
from evalstats.analysis.design.reliability import reliability_figure
from evalstats.analysis.posterior.document import beside_sections
from evalstats.analysis.provenance import placed
from evalstats.analysis.score.result import Score
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Items,
    Note,
    NoteKind,
    Section,
    Table,
    Text,
    Tone,
    interval_column,
    number_column,
)
from evalstats.document.names import named
from evalstats.document.numbers import (
    declared,
    e_value_words,
    interval_words,
    number,
    p_words,
    rounded_up,
    scaled,
    share_in_percent,
    with_unit,
)
from evalstats.errors import Option
from evalstats.grammar import and_list, conjugate, plural, plural_of
from evalstats.stats.checks import FEW_CLUSTERS

TONES: dict[str, Tone] = {
    "better": "good",
    "worse": "bad",
    "equivalent": "neutral",
    "inconclusive": "caution",
    "powerless": "caution",
    "invalid": "bad",
}
# Cautions in the order of what they can undo.
NOTE_ORDER: tuple[NoteKind, ...] = (
    "simulated", "withheld", "gate", "plan", "selection", "comparability", "direction", "average", "dependence", "missing",
    "scale", "few", "fit",
)  # fmt: skip
_GROUPS_SHOWN = 8
_FINDINGS_SHOWN = 2


def document(result: Comparison) -> Document:
    """Return what is said of a comparison."""
    refused = bool(graver(result.run_differences))
    ends = interval_words(result.conf_low, result.conf_high, result.scale, figures.digits_of(result))
    looks = " at every look" if result.sequential is not None else ""
    level = f"{100 * result.conf_level:.5g}% CI{looks} {ends}"
    words = (
        ", ".join(filter(None, (level, p_words(p_beside(result))))) if result.conf_low is not None else "no interval"
    )
    drawn = result.conf_low is not None or any(group.conf_low is not None for group in result.groups)
    figure = figures.narrowing(result) or (figures.difference(result, table=_groups(result)) if drawn else None)
    findings = tuple(Text(text=_varies(result, found)) for found in result.findings[:_FINDINGS_SHOWN])
    evidence = () if refused else tuple(part for section in _EVIDENCE if (part := section(result)) is not None)
    effects = None if refused else _effects(result)
    beside = None if refused or result.posterior_beside is None else beside_sections(result.posterior_beside)
    return Document(
        kind="compare",
        title=f"Is {named(result.candidate.name)} better than {named(result.baseline.name)}{placed(result.benchmark)}?",
        label=result.verdict,
        tone=TONES[result.verdict],
        headline=_headline(result),
        number="" if refused else shown(result, result.estimate),
        number_words="" if refused else words,
        interval=None if refused else figures.drawn(result, p_beside(result)),
        scope=_scope(result),
        answer=()
        if refused
        else (*findings, *([] if beside is None else [beside[0]]), *([] if figure is None else [figure])),
        notes=notes_of(result),
        actions=tuple(_actions(result)),
        worst=worst_items(result, evidence),
        evidence=evidence if beside is None else (*evidence, beside[1]),
        method=(*method_sections(result, refused=refused), *(() if effects is None else (effects,))),
    )


# --- the answer ---


def _headline(result: Comparison) -> str:
    """Say the verdict, what limits it, and another average that claims the opposite, or claims what this one does not."""
    first, second, these = named(result.baseline.name), named(result.candidate.name), result.open_for_others
    if these is None:
        said = _verdict_words(result, first, second)
    else:
        on, others = f"on these {plural(result.n_items, 'item')}", f"on other {plural_of(these.factor)}"
        higher = "higher" if (result.estimate or 0.0) > 0 else "lower"
        said = f"{second} scores {higher} {on}; whether it does {others} is open"
        if these.verdict == "equivalent":
            alike = f"{second} and {first} differ by less than {_margin_words(result)} {on}"
            said = f"{alike}; whether they do {others} is open"
    if result.different and result.verdict != "invalid":
        said += f", on different {result.different}"
    against = [row for row in result.other_averages if not row.agrees and row.verdict in ("better", "worse")]
    others = [f"{weighted_words(row.kind, row.factor)} it is {row.verdict}" for row in against[:1]]
    asked = asked_direction("asked") if any(note.kind == "direction" for note in result.qualifiers) else []
    return "; ".join([said, *limits(result), *others, *asked])


def _verdict_words(result: Comparison, first: str, second: str) -> str:
    match result.verdict:
        case "better" | "worse":
            return f"{second} is {result.verdict} than {first}"
        case "equivalent":
            return f"{second} and {first} differ by less than the margin of {_margin_words(result)}"
        case "powerless":
            by = "" if result.margin is None else f" by the margin of {_margin_words(result)}"
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
                return f"{second} is at most {_margin_words(result)} worse than {first}; not shown to be better"
            return f"{second} is not shown to differ from {first}"


def limits(result: Comparison) -> list[str]:
    """Return in a few words what limits a verdict; the cautions and the scope say how."""
    kinds = {note.kind for note in result.qualifiers}
    could = (("missing", "missing scores"), ("few", "rare failures"), ("fit", "rare extreme items"))
    undo = [words for kind, words in could if kind in kinds]
    return [f"{' or '.join(undo)} could undo it"] if undo else []


def _scope(result: Comparison) -> str:
    """Say which scores, on which items, and for which further items the answer holds."""
    digits, account, clusters = figures.digits_of(result), result.labels, " and ".join(result.clusters)
    sides = _own_scores(result)
    items = f"{plural(result.n_items, 'item')}{placed(result.benchmark, 'of')}"
    widened = result.these_items is not None and not result.these_items.too_few
    if result.clusters == ("item",):
        of = f"{plural(result.n_clusters or 0, 'item')}{placed(result.benchmark, 'of')}"
        items = f"{result.n_items:,} variants of {of}"
    elif result.n_clusters is not None and not widened and not result.different:
        items += f" in {result.n_clusters} {plural_of(clusters)}"
    metric = f"{named(result.metric)}{'' if result.higher_is_better else ' (lower is better)'}"
    parts = [f"{sides} in {metric}, on the {items} that both answered"]
    if result.different:
        n = " against ".join(f"{side.n_items:,}" for side in (result.candidate, result.baseline))
        parts = [f"{sides} in {metric}, on {n} {result.counted_as}{placed(result.benchmark, 'of')}"]
        if result.n_clusters is not None:
            parts.append(f"clustered by {clusters} ({result.n_clusters:,})")
    if account is not None:
        alone, n = account.labels_only, plural(account.n_labels, "item")
        ends = interval_words(alone.conf_low, alone.conf_high, result.scale, digits)
        judged, labels = shown(result, account.judged.estimate), f"{shown(result, alone.estimate)} ({ends})"
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
    size = _margin_words(result)
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


def own_score(score: Score, digits: int) -> str:
    """Write one side's score with its unit."""
    return with_unit(scaled(score.estimate, score.scale, digits), score.unit)


def _own_scores(result: Comparison) -> str:
    digits = figures.digits_of(result)
    return " against ".join(
        f"{named(side.name)} {own_score(side, digits)}" for side in (result.candidate, result.baseline)
    )


def notes_of(result: Comparison) -> tuple[Note, ...]:
    """Return cautions, those first that can undo most, then remarks."""
    # What keeps runs from being compared is one caution, with what to do about it.
    grave = dict.fromkeys(each.explanation for each in result.run_differences if each.severity == "invalid")
    said = "; ".join(grave)
    alike = ("Run both sides alike, or declare what is meant: ", Option("accept", invalidating(result.run_differences)))
    known = [
        *((Note(kind="comparability", text=said[:1].upper() + said[1:], remedy=alike),) if said else ()),
        *(note for note in result.qualifiers if note.kind in ("missing", "few", "fit")),
        *(note for note in result.notes if note.kind != "comparability" or note.text not in grave),
        *(note for note in direction_notes(result.direction) if not note.caution),
    ]
    for row in result.other_averages:
        if not row.agrees:
            ends = interval_words(row.conf_low, row.conf_high, result.scale, figures.digits_of(result))
            told = ", ".join(filter(None, (f"{100 * result.conf_level:.5g}% CI {ends}", p_words(row.p_value))))
            how = f" ({told}): {row.verdict}" if row.ends is not None else ", no interval"
            what = f"The difference {weighted_words(row.kind, row.factor)} ({row.kind} average)"
            known.append(Note(kind="average", text=f"{what} is {shown(result, row.estimate)}{how}"))
    rank = {kind: place for place, kind in enumerate(NOTE_ORDER)}
    return tuple(sorted(known, key=lambda note: (not note.caution, rank.get(note.kind, len(rank)))))


def _actions(result: Comparison) -> list[str]:
    """Say what to do about it."""
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
        size, n = _margin_words(result), account.labels_for_margin
        if n is None:
            return [
                f"Collect more items: even with labels of all, a difference of {size} would not be detected with 80% power."
            ]
        return [f"Labels of about {rounded_up(n):,} items would detect a difference of {size} with 80% power."]
    if mde is None or estimate <= mde / 30 or estimate >= mde:
        return []
    ratio = times_needed(result)
    if ratio is None:
        return ["Add runs, not items: runs vary too much for any number of items to detect the observed difference."]
    n, what = result.n_items, result.different or "items"
    if result.n_clusters:
        n, what = result.n_clusters, _clusters(result)
    return [f"About {rounded_up(n * ratio):,} {what} would detect a difference as large as the one observed."]


def _clusters(result: Comparison) -> str:
    return plural_of(" and ".join(result.clusters))


# --- the evidence ---


def _scores(result: Comparison) -> Section:
    digits, sides = figures.digits_of(result), (result.candidate, result.baseline)
    where = f"its own {result.different}" if result.different else "the items that both answered"
    table = Table(
        id="scores",
        columns=(
            Column(title="System", kind="name"),
            number_column(result, "Score", result.baseline.unit, digits=digits),
            interval_column(result, digits=digits),
            Column(title="Method", kind="text", spare=True),
        ),
        rows=tuple((side.name, side.estimate, side.ends, side.method) for side in sides),
        caption=f"{result.metric} of either side on {where}",
    )
    shared = Text(text="The difference is paired item by item, so it is more precise than these intervals suggest.")
    blocks: tuple[Block, ...] = (table, shared) if result.conf_low is not None and not result.different else (table,)
    judge = ", corrected" if result.labels is not None else ""
    return Section(id="scores", heading=f"Each side on its own{judge}: {_own_scores(result)}", blocks=blocks)


def _labels(result: Comparison) -> Section | None:
    """Show what the judge, people's labels and both together say of the difference, and how the judge errs."""
    account, digits = result.labels, figures.digits_of(result)
    if account is None:
        return None
    head = "The judge is not shown to favour a side"
    if account.excludes_zero and account.estimate:
        favoured = result.candidate if (account.estimate > 0) == result.higher_is_better else result.baseline
        head = f"The judge favours {named(favoured.name)} by {sized(abs(account.estimate), result)}"
    rows = (
        ("Corrected", result),
        ("Judge alone", account.judged),
        ("Labels alone", account.labels_only),
        ("By the judge's error rates", account.by_errors),
        ("Judge minus people", account),
    )
    table = Table(
        id="labels",
        columns=(
            Column(title="Difference by", kind="name"),
            number_column(result, "Difference", digits=digits, sign=True),
            interval_column(result, digits=digits),
            Column(title="p", kind="p"),
        ),
        rows=tuple((name, each.estimate, each.ends, each.p_value) for name, each in rows if each is not None),
        caption=f"The difference by the judge on {account.n_judged:,} items and by people on {account.n_labels:,} of them",
        lead=True,
        frame=result.to_frame().to_dict(as_series=False),
    )
    worth = f"The correction is as precise as {number(account.label_worth, 0)} labels alone would be."
    return Section(id="labels", heading=head, blocks=(table, Text(text=worth)))


def _groups(result: Comparison) -> Table | None:
    if not result.groups:
        return None
    digits = figures.digits_of(result)
    return Table(
        id="groups",
        columns=(
            Column(title=str(result.by), kind="name"),
            Column(title=result.counted_as.capitalize(), kind="count"),
            number_column(result, "Difference", digits=digits, sign=True),
            interval_column(result, "CI, all levels", digits=digits),
            Column(title="Adjusted p", kind="p", spare=True),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=tuple(
            (
                group.level,
                group.n_items,
                group.estimate,
                group.ends,
                p_beside(group),
                f"{group.verdict}, scores missing" if group.qualifiers else group.verdict,
            )
            for group in result.groups
        ),
        caption=f"By {result.by}: intervals and p are adjusted for all {len(result.groups)} levels (Bonferroni)",
        tones=TONES,
        most=_GROUPS_SHOWN,
        frame=result.to_frame().filter(role="headline").to_dict(as_series=False),
    )


def _by_group(result: Comparison) -> Section | None:
    if not result.groups:
        return None
    n = len(result.groups)
    parts = [
        f"{word} in {and_list([group.level for group in result.groups if group.verdict == word], 3)}"
        for word in ("better", "worse", "equivalent")
        if any(group.verdict == word for group in result.groups)
    ]
    who = named(result.candidate.name)
    head = f"By {result.by}: {who} is {' and '.join(parts)}" if parts else f"No {result.by} shows a difference"
    text = (
        f"The {n} levels are one family, so each interval is wider than alone. A verdict in only one of two "
        "levels does not show that the two differ."
    )
    return Section(id="groups", heading=head, blocks=(Text(text=text),))


def _margin(result: Comparison) -> Section | None:
    account = result.at_margin
    if account is None:
        return None
    size = _margin_words(result)
    head = f"A loss of {size} or more is {'excluded' if account.noninferior else 'not excluded'}"
    tests = ", ".join(
        f"{name} {p_words(p)}"
        for name, p in (("non-inferiority", account.noninferior_p), ("equivalence", account.equivalence_p))
        if p is not None
    )
    text = f"{account.reason[:1].upper()}{account.reason[1:]}{f' ({tests}; {account.method})' if tests else ''}."
    return Section(id="margin", heading=head, blocks=(Text(text=text),))


def _looks(result: Comparison) -> Section | None:
    account = result.sequential
    if account is None or account.conf_low is None:
        return None
    needed = number(1 / (1 - account.conf_level), 0)
    if account.first_crossing is None:
        head = "A difference of 0 is not excluded so far"
        evidence = (
            f"The e-value against no difference is {e_value_words(account.e_value)} now, and {needed} would exclude it."
        )
    else:
        head = f"A difference of 0 was first excluded after {plural(account.first_crossing, account.unit)}"
        evidence = f"The run could have stopped there; the e-value is {e_value_words(account.e_value)} now."
    order = "in which they were finished" if account.order == "timestamp" else "of the files"
    text = f"{evidence} The {account.unit}s were taken in the order {order}."
    return Section(id="looks", heading=head, blocks=(Text(text=text),))


def _spread(result: Comparison) -> Section | None:
    """Say on how many items either side is ahead, of graded scores: a mean alone could be all items or a few.

    It is news where the side with the higher mean is not ahead on more items.
    """
    found = result.spread
    if found is None:
        return None
    ahead, behind = (found.n_higher, found.n_lower) if result.higher_is_better else (found.n_lower, found.n_higher)
    parts = (f"{100 * n / result.n_items:.0f}%" for n in (ahead, behind))
    head = "{} is ahead on {} of the items, behind on {}".format(named(result.candidate.name), *parts)
    ends = " to ".join(shown(result, value) for value in (found.values[0], found.values[-1]))
    text = f"Item by item the difference runs from {ends}."
    ahead_by_mean = (result.estimate or 0.0) > 0 if result.higher_is_better else (result.estimate or 0.0) < 0
    against = ahead <= behind if ahead_by_mean else behind <= ahead
    return Section(id="spread", heading=head, blocks=(Text(text=text), figures.spread(result, found)), news=against)


def _order(result: Comparison) -> Section | None:
    """Say which stretch of the items differs from the others, where the order matters."""
    found = result.uneven
    if found is None:
        return None
    inside, outside = shown(result, found.inside), shown(result, found.outside)
    stretch = f"{found.unit}s {found.first:,} to {found.last:,}"
    head = f"The difference varies along the order of the {found.unit}s; {stretch} stand out"
    order = "they were finished" if found.order == "timestamp" else "the files have them"
    text = (
        f"In the order in which {order}, the difference adds up unevenly ({p_words(found.p_value)}, CUSUM test). It is {inside} "
        f"in {stretch} and {outside} in the others. The stretch was picked because it stands out, which exaggerates the "
        f"contrast. If its {found.unit}s share something, declare that with {named(Option('cluster'))}."
    )
    return Section(id="order", heading=head, blocks=(Text(text=text), figures.uneven(result, found)))


def _hidden_groups(result: Comparison) -> Section | None:
    """Say what items share that nobody declared, and what they would give if they were independent."""
    these = result.these_items
    flagged = [row for row in result.dependence if row.flag == "warn"]
    if not flagged and these is None:
        return None
    main = flagged[0].factor if these is None else these.factor
    head = f"Items of one {main} rise and fall together"
    if result.open_for_others is not None:
        head = f"On other {plural_of(main)} the answer is open"
    caption = "Groups not declared as clusters; a design effect of 1 means that items of one group are unrelated"
    blocks: list[Block] = [dependence_table(result.dependence, caption)]
    if these is not None:
        digits = figures.digits_of(result)
        alone = interval_words(these.conf_low, these.conf_high, result.scale, digits)
        text = f"If items were independent, the {100 * result.conf_level:.5g}% CI would be {alone} ({these.verdict})"
        if not these.too_few:
            ends = interval_words(result.conf_low, result.conf_high, result.scale, digits)
            text += f"; clustered by {these.factor} it is {ends} ({result.verdict}). The wider decides"
        blocks.append(Text(text=f"{text}."))
    return Section(id="dependence", heading=head, blocks=tuple(blocks))


def _missing(result: Comparison) -> Section | None:
    missing, rows = result.missing, result.missing.rows
    if not missing.any:
        return None
    counts = (
        (missing.n_only_baseline, f"only for {named(result.baseline.name)}"),
        (missing.n_only_candidate, f"only for {named(result.candidate.name)}"),
        (missing.n_neither, "on neither side"),
    )
    said = ", ".join(f"{plural(n, 'item')} scored {where}" for n, where in counts if n)
    words = f"{missing.explanation[:1].upper()}{missing.explanation[1:]}"
    blocks: list[Block] = [Text(text=" ".join(f"{part}." for part in (said, words) if part))]
    if rows:
        digits = figures.digits_of(result)
        blocks.append(
            Table(
                id="missing",
                columns=(
                    Column(title="If", kind="text"),
                    number_column(result, "Difference", digits=digits, sign=True),
                    interval_column(result, digits=digits),
                    Column(title="p", kind="p"),
                ),
                rows=tuple((row.note.partition(";")[0], row.estimate, row.ends, row.p_value) for row in rows),
                caption="The same analysis on all items, with the missing scores filled in",
            )
        )
    head, alike = "Some scores are missing", False
    if rows and result.ends is not None:
        alike = all(row.ends is not None and row.excludes_zero == result.excludes_zero for row in rows)
        head = f"Missing scores {'would not' if alike else 'could'} change the answer"
    return Section(id="missing", heading=head, blocks=tuple(blocks), news=not alike)


def _methods(result: Comparison) -> Section | None:
    rows = [
        row for row in result.rows if row.term == "difference" and row.role in ("headline", "check", "second interval")
    ]
    # What labels say of a judge's difference has a section of its own.
    if len(rows) < 2 or result.ends is None or result.labels is not None:
        return None
    against: list[str] = []
    for row in rows[1:]:
        excludes = row.excludes_zero if row.ends is not None else (row.p_value or 0.0) <= 1 - result.conf_level
        if (row.ends is not None or row.p_value is not None) and excludes != result.excludes_zero:
            against.append(row.method)
    head = "The other methods of this difference agree"
    if against:
        n = len(against)
        head = f"{plural(n, 'method')} {conjugate(n, 'disagree')} with the one that decides: {and_list(against, 3)}"
    digits = figures.digits_of(result)
    table = Table(
        id="methods",
        columns=(
            Column(title="Method", kind="name"),
            Column(title="Role", kind="text", spare=True),
            number_column(result, "Difference", digits=digits, sign=True),
            interval_column(result, digits=digits),
            Column(title="p", kind="p"),
        ),
        rows=tuple((row.method, row.role, row.estimate, row.ends, row.p_value) for row in result.rows),
        caption="The difference by every method; the first row decides",
        lead=True,
        frame=result.to_frame().to_dict(as_series=False),
    )
    return Section(id="methods", heading=head, blocks=(figures.methods(result, table=table),), news=bool(against))


def _costs(result: Comparison) -> Section | None:
    if not result.costs:
        return None
    who, whose = result.candidate.name, result.baseline.name
    table = Table(
        id="costs",
        columns=(
            Column(title="Mean of an item", kind="text"),
            Column(title=whose, kind="amount"),
            Column(title=who, kind="amount"),
            Column(title="Ratio", kind="number", digits=2),
            interval_column(result, scale=1.0, digits=2),
            Column(title="Typical item", kind="number", digits=2, spare=True),
            Column(title="Items", kind="count", spare=True),
        ),
        rows=tuple(
            (
                WORDS[row.quantity],
                amount(row.baseline_mean),
                amount(row.candidate_mean),
                row.ratio,
                None if row.conf_low is None else (row.conf_low, row.conf_high),
                row.typical_ratio,
                row.n_items,
            )
            for row in result.costs
        ),
        caption=f"{named(who)} as a multiple of {named(whose)}, on the same items",
    )
    notes = [f"{WORDS[row.quantity]}: {text}" for row in result.costs for text in (row.reason, row.note) if text]
    settled = [
        f"{number(row.ratio)} times the {WORDS[row.quantity].partition(' (')[0].lower()}"
        for row in result.costs
        if row.conf_low is not None and row.conf_high is not None and not row.conf_low <= 1 <= row.conf_high
    ]
    head = f"{named(who)} takes {' and '.join(settled[:2])}" if settled else "No difference in cost or time is shown"
    blocks: list[Block] = [figures.costs(result, table=table), *([Items(items=tuple(notes))] if notes else [])]
    return Section(id="costs", heading=head, blocks=tuple(blocks), news=bool(settled))


def _reliability(result: Comparison) -> Section | None:
    """Say how often all trials of an item succeed, and any, for the trials run."""
    if not result.reliability:
        return None
    names = (result.baseline.name, result.candidate.name)
    k = min(each.n_trials for each in result.reliability)
    ends = [{row.k: row.estimate for row in each.of("hat")}.get(k) for each in result.reliability]
    shares = " and ".join(f"{share_in_percent(end or 0.0)} ({name})" for name, end in zip(names, ends, strict=True))
    figure = reliability_figure([*zip(names, result.reliability, strict=True)], result.conf_level)
    return Section(id="reliability", heading=f"All of {k} trials of an item succeed for {shares}", blocks=figure)


_EVIDENCE = (
    _scores, _spread, _labels, _by_group, _margin, _looks, _order, flipped_section, _hidden_groups, _missing, _reliability,
    _methods, _costs,
)  # fmt: skip


def _effects(result: Comparison) -> Section | None:
    rows = [row for row in result.effects if row.estimate is not None]
    if not rows:
        return None
    table = Table(
        id="effects",
        columns=(
            Column(title="Effect size", kind="name"),
            Column(title="Value", kind="number", digits=2),
            interval_column(result, scale=1.0, digits=2),
            Column(title="What it is", kind="text", spare=True),
        ),
        rows=tuple((row.term, row.estimate, row.ends, row.note) for row in rows),
        caption="The difference in terms that do not depend on the metric's unit",
    )
    return Section(id="effects", heading="Effect sizes", blocks=(table,))


# --- words ---


def p_beside(row: Comparison | GroupRow) -> float | None:
    """Return the p that stands beside a verdict: none where it is powerless, or invalid, since no p has a say there."""
    if row.verdict in ("powerless", "invalid"):
        return None
    return row.p_value if row.p_adjusted is None else row.p_adjusted


def shown(result: Comparison, value: float | None) -> str:
    """Write a difference with its sign and unit."""
    return with_unit(scaled(value, result.scale, figures.digits_of(result), sign=True), result.unit)


def _margin_words(result: Comparison) -> str:
    """Write the margin as it was declared, without digits that nobody gave."""
    return with_unit(declared(result.margin or 0.0, result.scale), result.unit)


def least(result: Comparison) -> str:
    """Write the end of the interval that is nearer to 0."""
    return sized(min(abs(result.conf_low or 0.0), abs(result.conf_high or 0.0)), result)
