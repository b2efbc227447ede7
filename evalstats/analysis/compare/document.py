"""What is said of a comparison: the verdict, for which items it holds, and the evidence in the order a sceptic asks."""

from evalstats.analysis.compare import figures
from evalstats.analysis.compare.flips import Flip
from evalstats.analysis.compare.method import method_sections, rounded_up, sized, times_needed
from evalstats.analysis.compare.result import DECIDED, Comparison, GroupRow, LevelDifferences, OtherAverage, TheseItems
from evalstats.analysis.compare.sequential import e_value_words
from evalstats.analysis.costs import WORDS, CostRow, amount
from evalstats.analysis.design.averages import weighted_words
from evalstats.analysis.design.comparability import graver, invalidating
from evalstats.analysis.design.dependence import partitions_named
from evalstats.analysis.design.metric import asked_direction, direction_notes
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import MethodRow
from evalstats.analysis.score.result import Score
from evalstats.document.model import Block, Column, Document, Items, Note, NoteKind, Section, Table, Text, Tone
from evalstats.document.numbers import declared, interval_words, number, p_words, scaled, titled
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
    "simulated", "withheld", "gate", "plan", "comparability", "direction", "average", "dependence", "missing", "scale", "few",
    "fit",
)  # fmt: skip
_GROUPS_SHOWN, _FLIPS_SHOWN = 8, 12
_FINDINGS_SHOWN = 2


def document(result: Comparison) -> Document:
    """Return what is said of a comparison."""
    refused = bool(graver(result.run_differences))
    drawn = result.conf_low is not None or any(group.conf_low is not None for group in result.groups)
    figure = figures.narrowing(result) or (figures.difference(result, table=_groups(result)) if drawn else None)
    return Document(
        kind="compare",
        title=f"Is {result.candidate.name} better than {result.baseline.name}{placed(result.benchmark)}?",
        label=result.verdict,
        tone=TONES[result.verdict],
        headline=_headline(result),
        number="" if refused else shown(result, result.estimate),
        number_words="" if refused else _number_words(result),
        scope=_scope(result),
        answer=() if refused else (*_findings(result), *(() if figure is None else (figure,))),
        notes=notes_of(result),
        actions=tuple(_actions(result)),
        evidence=() if refused else tuple(_evidence(result)),
        method=(*method_sections(result, refused=refused), *_beside(result, refused=refused)),
    )


# --- the answer ---


def _headline(result: Comparison) -> str:
    first, second = result.baseline.name, result.candidate.name
    asked = asked_direction("asked") if any(note.kind == "direction" for note in result.qualifiers) else []
    these = result.open_for_others
    said = _verdict_words(result, first, second) if these is None else _both_facts(result, these)
    return "; ".join([said, *limits(result), *_by_other_averages(result), *asked])


def _by_other_averages(result: Comparison) -> list[str]:
    """Return what another average says, where it claims the opposite, or claims what this one does not."""
    against = [row for row in result.other_averages if not row.agrees and row.verdict in ("better", "worse")]
    return [f"{weighted_words(row.kind, row.factor)} it is {row.verdict}" for row in against[:1]]


def _other_average_words(row: OtherAverage, result: Comparison) -> str:
    """Say the difference by another average with its interval and p."""
    value = (
        f"The difference {weighted_words(row.kind, row.factor)} ({row.kind} average) is {shown(result, row.estimate)}"
    )
    if row.ends is None:
        return f"{value}, no interval"
    ends = interval_words(row.conf_low, row.conf_high, result.scale, figures.digits_of(result))
    told = ", ".join(part for part in (f"{100 * result.conf_level:.5g}% CI {ends}", p_words(row.p_value)) if part)
    return f"{value} ({told}): {row.verdict}"


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
                return (
                    f"{second} is not shown to be {result.missing.withheld} than {first}: too many scores are missing"
                )
            if result.higher_known is not None:
                return f"{second} scores {'higher' if result.higher_known else 'lower'} than {first}"
            if result.at_margin is not None and result.at_margin.noninferior:
                return f"{second} is at most {_margin_words(result)} worse than {first}; not shown to be better"
            return f"{second} is not shown to differ from {first}"


def _both_facts(result: Comparison, these: TheseItems) -> str:
    """Say what holds on these items, and that it is open for others."""
    first, second = result.baseline.name, result.candidate.name
    on, others = f"on these {plural(result.n_items, 'item')}", f"on other {plural_of(these.factor)}"
    if these.verdict == "equivalent":
        return (
            f"{second} and {first} differ by less than {_margin_words(result)} {on}; whether they do {others} is open"
        )
    higher = (result.estimate or 0.0) > 0
    return f"{second} scores {'higher' if higher else 'lower'} {on}; whether it does {others} is open"


def limits(result: Comparison) -> list[str]:
    """Return in a few words what limits a verdict; the cautions and the scope say how."""
    kinds = {note.kind for note in result.qualifiers}
    could = (("missing", "missing scores"), ("few", "rare failures"), ("fit", "rare extreme items"))
    undo = [words for kind, words in could if kind in kinds]
    return [f"{' or '.join(undo)} could undo it"] if undo else []


def _number_words(result: Comparison) -> str:
    if result.conf_low is None:
        return "no interval"
    level = f"{100 * result.conf_level:.5g}% CI"
    looks = " at every look" if result.sequential is not None else ""
    return ", ".join(part for part in (f"{level}{looks} {_ends(result)}", p_words(result.p_value)) if part)


def _scope(result: Comparison) -> str:
    """Say which scores, on which items, and for which further items the answer holds."""
    sides = " against ".join(own_score(side, figures.digits_of(result)) for side in (result.candidate, result.baseline))
    items = f"{plural(result.n_items, 'item')}{placed(result.benchmark, 'of')}"
    widened = result.these_items is not None and not result.these_items.too_few
    if result.clusters == ("item",):
        items = (
            f"{result.n_items:,} variants of {plural(result.n_clusters or 0, 'item')}{placed(result.benchmark, 'of')}"
        )
    elif result.n_clusters is not None and not widened:
        items += f" in {result.n_clusters} {plural_of(' and '.join(result.clusters))}"
    judge = " by the judge" if result.labels is not None else ""
    parts = [f"{sides} in {result.metric}{judge}, on the {items} that both answered", *_by_labels(result)]
    if widened:
        parts.append(f"clustered by {' and '.join(result.clusters)} ({result.n_clusters})")
    # Clusters are a sample of more; the average names the levels of its own factor.
    said = (result.by, *(row.factor for row in result.other_averages[:1] if result.average))
    fixed = "" if result.clusters not in ((), ("item",)) else partitions_named(result.dependence, besides=said)
    if fixed:
        parts.append(fixed)
    if not plain_reason(result):
        parts.append(result.verdict_reason)
    elif result.verdict not in DECIDED and result.mde is not None:
        parts.append(f"a difference of {sized(result.mde, result)} would be detected with 80% power")
    if result.average:
        parts.append(result.average)
    return "; ".join(parts)


def _findings(result: Comparison) -> tuple[Text, ...]:
    """Say over which partitions of the items the difference varies, in numbers."""
    return tuple(Text(text=_varies(result, found)) for found in result.findings[:_FINDINGS_SHOWN])


def _varies(result: Comparison, found: LevelDifferences) -> str:
    who = result.candidate.name
    others = f" {Option('cluster', found.factor)} answers for other {plural_of(found.factor)}."
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


def _by_labels(result: Comparison) -> list[str]:
    """Say what the correction is made of: the judge's difference, and that of the labels alone."""
    account = result.labels
    if account is None:
        return []
    alone = account.labels_only
    ends = interval_words(alone.conf_low, alone.conf_high, result.scale, figures.digits_of(result))
    judged, labels = shown(result, account.judged.estimate), f"{shown(result, alone.estimate)} ({ends})"
    n = plural(account.n_labels, "item")
    return [f"corrected by people's labels of {n}: the judge alone says {judged}, labels alone {labels}"]


def plain_reason(result: Comparison) -> bool:
    """Whether the interval alone gives the verdict, so that its reason is not said again."""
    if result.verdict in ("better", "worse", "equivalent", "invalid"):
        return True
    if result.verdict == "inconclusive":
        return not result.excludes_zero and not result.missing.withheld
    return result.verdict == "powerless" and result.margin is not None


def own_score(score: Score, digits: int) -> str:
    """Write one side's score with its unit."""
    unit = "%" if score.unit == "%" else f" {score.unit}".rstrip()
    return f"{scaled(score.estimate, score.scale, digits)}{unit}"


def notes_of(result: Comparison) -> tuple[Note, ...]:
    """Return cautions, those first that can undo most, then remarks."""
    limits = [note for note in result.qualifiers if note.kind in ("missing", "few", "fit")]
    known = [
        *limits,
        *(note for note in result.notes if not _repeats(note, result)),
        *(note for note in direction_notes(result.direction) if not note.caution),
    ]
    known += [
        Note(kind="average", text=_other_average_words(row, result)) for row in result.other_averages if not row.agrees
    ]
    rank = {kind: place for place, kind in enumerate(NOTE_ORDER)}
    return tuple(sorted(known, key=lambda note: (not note.caution, rank.get(note.kind, len(rank)))))


def _repeats(note: Note, result: Comparison) -> bool:
    """Whether the headline has said it: in what runs differ that cannot be compared."""
    return note.kind == "comparability" and any(
        each.severity == "invalid" and each.explanation == note.text for each in result.run_differences
    )


def _actions(result: Comparison) -> list[str]:
    """Say what to do about it."""
    first, second = result.baseline.name, result.candidate.name
    lost = len(result.flipped) - gained(result)
    found: list[str] = []
    match result.verdict:
        case "better":
            found.append(f"Decide by the near end of the interval: the gain may be as small as {least(result)}.")
        case "worse":
            found.append(f"Keep {first}: {second} loses at least {least(result)}.")
        case "equivalent":
            found.append("Choose by cost, speed or convenience: the scores do not speak against either.")
        case "powerless" if result.labels is not None:
            found += _more_labels(result)
        case "powerless":
            found.append("Collect more items before you look again; evalstats power says how many.")
        case "inconclusive" if result.missing.withheld:
            found.append(
                f"Recover the missing scores, or add {Option('missing', 'ignorable')} if the reason has nothing to do with them."
            )
        case "inconclusive":
            found += [
                "Do not read this as equal: declare a margin before the next run to show that.",
                *(_more_items(result) if result.labels is None else _more_labels(result)),
            ]
        case "invalid":
            grave = graver(result.run_differences)
            if grave:
                meant = Option("accept", invalidating(result.run_differences))
                found.append(
                    f"Run both sides with the same {' and '.join(grave)}, or declare what is meant with {meant}."
                )
    if lost and result.verdict in ("better", "equivalent", "inconclusive"):
        found.append(f"Read the {plural(lost, 'item')} that got worse before you ship it.")
    return found


def _more_labels(result: Comparison) -> list[str]:
    """Return how many items need labels to find a difference as large as the margin."""
    account = result.labels
    if account is None or result.margin is None:
        return []
    size = _margin_words(result)
    if account.labels_for_margin is None:
        return [
            f"Collect more items: even with labels of all, a difference of {size} would not be detected with 80% power."
        ]
    if account.labels_for_margin <= account.n_labels:
        return []
    return [
        f"Labels of about {rounded_up(account.labels_for_margin):,} items would detect a difference of {size} with 80% power."
    ]


def _more_items(result: Comparison) -> list[str]:
    """Return how many items would find the observed difference, where that is no mere guess."""
    estimate, mde = abs(result.estimate or 0.0), result.mde
    if mde is None or estimate <= mde / 30 or estimate >= mde:
        return []
    n, what = (
        (result.n_clusters, plural_of(" and ".join(result.clusters)))
        if result.n_clusters
        else (result.n_items, "items")
    )
    ratio = times_needed(result)
    if ratio is None:
        return ["Add runs, not items: runs vary too much for any number of items to find the observed difference."]
    return [f"About {rounded_up(n * ratio):,} {what} would detect a difference as large as the one observed."]


# --- the evidence ---


def _evidence(result: Comparison) -> list[Section]:
    parts = (
        _scores(result),
        _labels(result),
        _by_group(result),
        _margin(result),
        _looks(result),
        _flipped(result),
        _hidden_groups(result),
        _missing(result),
        _methods(result),
        _costs(result),
    )
    return [part for part in parts if part is not None]


def _beside(result: Comparison, *, refused: bool) -> list[Section]:
    found = None if refused else _effects(result)
    return [] if found is None else [found]


def _scores(result: Comparison) -> Section:
    digits = figures.digits_of(result)
    table = Table(
        id="scores",
        columns=(
            Column(title="System", kind="name"),
            Column(title=titled("Score", result.baseline.unit), kind="number", scale=result.scale, digits=digits),
            Column(title=f"{100 * result.conf_level:.5g}% CI", kind="interval", scale=result.scale, digits=digits),
            Column(title="Method", kind="text", spare=True),
        ),
        rows=tuple((side.name, side.estimate, side.ends, side.method) for side in (result.candidate, result.baseline)),
        caption=f"{result.metric} of either side on the items that both answered",
    )
    shared = "The difference is paired item by item, so it is surer than these two intervals suggest."
    blocks: tuple[Block, ...] = (table, Text(text=shared)) if result.conf_low is not None else (table,)
    sides = " against ".join(own_score(side, digits) for side in (result.candidate, result.baseline))
    judge = " by the judge" if result.labels is not None else ""
    return Section(id="scores", heading=f"Each side on its own{judge}: {sides}", blocks=blocks)


def _labels(result: Comparison) -> Section | None:
    """Show what the judge, people's labels and both together say of the difference, and how the judge errs."""
    account = result.labels
    if account is None:
        return None
    head = "The judge is not shown to favour a side"
    if account.excludes_zero and account.estimate:
        favoured = result.candidate if (account.estimate > 0) == result.higher_is_better else result.baseline
        head = f"The judge favours {favoured.name} by {sized(abs(account.estimate), result)}"
    digits = figures.digits_of(result)
    corrected = (result.estimate, result.ends, result.p_value)
    rows: list[tuple[str, float | None, tuple[float | None, float | None] | None, float | None]] = [
        ("Corrected", *corrected),
        *(
            (name, each.estimate, each.ends, each.p_value)
            for name, each in (
                ("Judge alone", account.judged),
                ("Labels alone", account.labels_only),
                ("By the judge's error rates", account.by_errors),
                ("Judge minus people", account),
            )
            if each is not None
        ),
    ]
    table = Table(
        id="labels",
        columns=(
            Column(title="Difference by", kind="name"),
            Column(
                title=titled("Difference", result.unit), kind="number", scale=result.scale, sign=True, digits=digits
            ),
            Column(title=f"{100 * result.conf_level:.5g}% CI", kind="interval", scale=result.scale, digits=digits),
            Column(title="p", kind="p"),
        ),
        rows=tuple(rows),
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
            Column(title="Items", kind="count"),
            Column(
                title=f"Difference{_unit_title(result)}", kind="number", scale=result.scale, sign=True, digits=digits
            ),
            Column(title="CI, all levels", kind="interval", scale=result.scale, digits=digits),
            Column(title="Adjusted p", kind="p", spare=True),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=tuple(
            (each.level, each.n_items, each.estimate, each.ends, each.p_adjusted, _group_word(each))
            for each in result.groups
        ),
        caption=f"By {result.by}: intervals and p are adjusted for all {len(result.groups)} levels (Bonferroni)",
        tones=TONES,
        most=_GROUPS_SHOWN,
        frame=result.to_frame().filter(role="headline").to_dict(as_series=False),
    )


def _group_word(group: GroupRow) -> str:
    return f"{group.verdict}, scores missing" if group.qualifiers else group.verdict


def _by_group(result: Comparison) -> Section | None:
    if not result.groups:
        return None
    n = len(result.groups)
    parts = [
        f"{word} in {and_list([group.level for group in result.groups if group.verdict == word], 3)}"
        for word in ("better", "worse", "equivalent")
        if any(group.verdict == word for group in result.groups)
    ]
    who = result.candidate.name
    head = f"By {result.by}: {who} is {' and '.join(parts)}" if parts else f"In no {result.by} is a difference shown"
    text = (
        f"The {n} levels are one family, so each interval is wider than alone. A verdict in one level and none in another "
        "is not by itself a difference between the two."
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


def gained(result: Comparison) -> int:
    """Count the flipped items on which the candidate does better."""
    changes = result.flipped.changes()
    return int(((changes > 0) if result.higher_is_better else (changes < 0)).sum())


def _flipped(result: Comparison) -> Section | None:
    if not result.flipped:
        return None
    won = gained(result)
    lost = len(result.flipped) - won
    table = Table(
        id="flips",
        columns=(
            Column(title="Item", kind="name"),
            Column(title="Scenario", kind="name", spare=True),
            Column(title=result.baseline.name, kind="number", scale=result.scale, digits=0),
            Column(title=result.candidate.name, kind="number", scale=result.scale, digits=0),
            Column(title=f"Row of {result.candidate.name}", kind="text", spare=True),
        ),
        rows=tuple(
            (_item(flip), flip.scenario or "", flip.baseline, flip.candidate, str(flip.candidate_source or ""))
            for flip in result.flipped[:_FLIPS_SHOWN]
        ),
        caption=f"Items that flipped{_first_of(len(result.flipped), _FLIPS_SHOWN)}",
        frame=result.flipped.columns(),
    )
    blocks: list[Block] = [figures.flips(result, table=table)]
    screened = [
        row for row in result.flipped_by if row.p_adjusted is not None and row.p_adjusted <= 1 - result.conf_level
    ]
    found = [
        f"{row.scenario}: {row.gained:,} gained, {row.lost:,} lost ({p_words(row.p_adjusted)}, adjusted)"
        for row in screened
    ]
    if found:
        blocks.append(Items(items=tuple(found)))
    who = result.candidate.name
    return Section(
        id="flips",
        heading=f"{who} gained {plural(won, 'item')} and lost {lost or 'none'}{' by the judge' if result.labels else ''}",
        blocks=tuple(blocks),
    )


def _item(flip: Flip) -> str:
    return "/".join(part for part in (flip.task, flip.item, flip.variant) if part)


def _hidden_groups(result: Comparison) -> Section | None:
    these = result.these_items
    flagged = [row for row in result.dependence if row.flag == "warn"]
    if not flagged and these is None:
        return None
    main = flagged[0].factor if these is None else these.factor
    head = f"Items of one {main} rise and fall together"
    if result.open_for_others is not None:
        head = f"On other {plural_of(main)} the answer is open"
    table = Table(
        id="dependence",
        columns=(
            Column(title="Factor", kind="name"),
            Column(title="Levels", kind="count"),
            Column(title="They are", kind="text"),
            Column(title="Design effect", kind="number"),
            Column(title="By chance", kind="interval", spare=True),
            Column(title="p (adjusted)", kind="p"),
        ),
        rows=tuple(
            (row.factor, row.n_levels, row.what, row.design_effect, (row.band_low, row.band_high), row.p_adjusted)
            for row in result.dependence
        ),
        caption="Groups that nobody declared as clusters: a design effect of 1 means that items of one group are unrelated",
    )
    told = [Text(text=_wider(result, these))] if these is not None else []
    return Section(id="dependence", heading=head, blocks=(table, *told))


def _wider(result: Comparison, these: TheseItems) -> str:
    """Say what the items give if they were independent, and what decides instead."""
    level, digits = f"{100 * result.conf_level:.5g}% CI", figures.digits_of(result)
    alone = interval_words(these.conf_low, these.conf_high, result.scale, digits)
    if these.too_few:
        return f"If items were independent, the {level} would be {alone} ({these.verdict})."
    return (
        f"If items were independent, the {level} would be {alone} ({these.verdict}); clustered by {these.factor} it is "
        f"{_ends(result)} ({result.verdict}). The wider decides."
    )


def _missing(result: Comparison) -> Section | None:
    missing = result.missing
    if not missing.any:
        return None
    counts = (
        (missing.n_only_baseline, f"only for {result.baseline.name}"),
        (missing.n_only_candidate, f"only for {result.candidate.name}"),
        (missing.n_neither, "on neither side"),
    )
    said = [f"{plural(n, 'item')} scored {where}" for n, where in counts if n]
    words = f"{missing.explanation[:1].upper()}{missing.explanation[1:]}." if missing.explanation else ""
    text = " ".join(part for part in (f"{', '.join(said)}." if said else "", words) if part)
    blocks: list[Block] = [Text(text=text)]
    if missing.rows:
        digits = figures.digits_of(result)
        blocks.append(
            Table(
                id="missing",
                columns=(
                    Column(title="If", kind="text"),
                    Column(
                        title=f"Difference{_unit_title(result)}",
                        kind="number",
                        scale=result.scale,
                        sign=True,
                        digits=digits,
                    ),
                    Column(
                        title=f"{100 * result.conf_level:.5g}% CI", kind="interval", scale=result.scale, digits=digits
                    ),
                    Column(title="p", kind="p"),
                ),
                rows=tuple((row.note.partition(";")[0], row.estimate, row.ends, row.p_value) for row in missing.rows),
                caption="The same analysis on all items, with the missing scores filled in",
            )
        )
    return Section(id="missing", heading=_missing_heading(result), blocks=tuple(blocks))


def _missing_heading(result: Comparison) -> str:
    rows = result.missing.rows
    if not rows or result.ends is None:
        return "Some scores are missing"
    alike = all(row.ends is not None and row.excludes_zero == result.excludes_zero for row in rows)
    return "Missing scores would not change the answer" if alike else "Missing scores could change the answer"


def _methods(result: Comparison) -> Section | None:
    rows = [
        row for row in result.rows if row.term == "difference" and row.role in ("headline", "check", "second interval")
    ]
    # What labels say of a judge's difference has a section of its own.
    if len(rows) < 2 or result.ends is None or result.labels is not None:
        return None
    said = [(row.method, _excludes(row, 1 - result.conf_level)) for row in rows[1:]]
    against = [method for method, excludes in said if excludes is not None and excludes != result.excludes_zero]
    head = (
        f"All {len(rows)} methods agree"
        if not against
        else f"{len(against)} of {len(rows)} methods {conjugate(len(against), 'disagree')}: {and_list(against, 3)}"
    )
    digits = figures.digits_of(result)
    table = Table(
        id="methods",
        columns=(
            Column(title="Method", kind="name"),
            Column(title="Role", kind="text", spare=True),
            Column(
                title=f"Difference{_unit_title(result)}", kind="number", scale=result.scale, sign=True, digits=digits
            ),
            Column(title=f"{100 * result.conf_level:.5g}% CI", kind="interval", scale=result.scale, digits=digits),
            Column(title="p", kind="p"),
        ),
        rows=tuple((row.method, row.role, row.estimate, row.ends, row.p_value) for row in result.rows),
        caption="The difference by every method; the first row decides",
        lead=True,
        frame=result.to_frame().to_dict(as_series=False),
    )
    return Section(id="methods", heading=head, blocks=(figures.methods(result, table=table),))


def _excludes(row: MethodRow, alpha: float) -> bool | None:
    if row.ends is not None:
        return row.excludes_zero
    return None if row.p_value is None else row.p_value <= alpha


def _effects(result: Comparison) -> Section | None:
    rows = [row for row in result.effects if row.estimate is not None]
    if not rows:
        return None
    table = Table(
        id="effects",
        columns=(
            Column(title="Effect size", kind="name"),
            Column(title="Value", kind="number", digits=2),
            Column(title=f"{100 * result.conf_level:.5g}% CI", kind="interval", digits=2),
            Column(title="What it is", kind="text", spare=True),
        ),
        rows=tuple((row.term, row.estimate, row.ends, row.note) for row in rows),
        caption="The difference in terms that do not hang on the metric's unit",
    )
    return Section(id="effects", heading="Effect sizes", blocks=(table,))


def _costs(result: Comparison) -> Section | None:
    if not result.costs:
        return None
    table = Table(
        id="costs",
        columns=(
            Column(title="Mean of an item", kind="text"),
            Column(title=result.baseline.name, kind="amount"),
            Column(title=result.candidate.name, kind="amount"),
            Column(title="Ratio", kind="number", digits=2),
            Column(title=f"{100 * result.conf_level:.5g}% CI", kind="interval", digits=2),
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
        caption=f"What {result.candidate.name} takes as a multiple of {result.baseline.name}, on the same items",
    )
    drawn = figures.drawn_costs(result.costs)
    notes = [f"{WORDS[row.quantity]}: {text}" for row in result.costs for text in (row.reason, row.note) if text]
    blocks: list[Block] = [figures.costs(result, drawn, table=table) if drawn else table]
    if notes:
        blocks.append(Items(items=tuple(notes)))
    return Section(id="costs", heading=_costs_heading(result), blocks=tuple(blocks))


def _costs_heading(result: Comparison) -> str:
    settled = [row for row in result.costs if _settled(row)]
    if not settled:
        return "No difference in cost or time is shown"
    said = [f"{number(row.ratio)} times the {WORDS[row.quantity].partition(' (')[0].lower()}" for row in settled[:2]]
    return f"{result.candidate.name} takes {' and '.join(said)}"


def _settled(row: CostRow) -> bool:
    return row.conf_low is not None and row.conf_high is not None and not row.conf_low <= 1 <= row.conf_high


# --- words ---


def _ends(result: Comparison) -> str:
    return interval_words(result.conf_low, result.conf_high, result.scale, figures.digits_of(result))


def shown(result: Comparison, value: float | None) -> str:
    """Write a difference with its sign and unit."""
    return f"{scaled(value, result.scale, figures.digits_of(result), sign=True)} {result.unit}".rstrip()


def _margin_words(result: Comparison) -> str:
    """Write the margin as it was declared, without digits that nobody gave."""
    return f"{declared(result.margin or 0.0, result.scale)} {result.unit}".rstrip()


def least(result: Comparison) -> str:
    """Write the end of the interval that is nearer to 0."""
    return sized(min(abs(result.conf_low or 0.0), abs(result.conf_high or 0.0)), result)


def _unit_title(result: Comparison) -> str:
    return f" ({result.unit})" if result.unit else ""


def _first_of(n: int, shown: int) -> str:
    return f": the first {shown} of {n:,}" if n > shown else ""
