"""The evidence for a comparison in the order a sceptic asks, a section each; and the items on which the two sides differ."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import polars as pl

from evalstats.analysis.compare import figures
from evalstats.analysis.compare.flips import MAY_FLIP
from evalstats.analysis.compare.result import DECIDED, Comparison, GroupRow
from evalstats.analysis.costs import WORDS, amount
from evalstats.analysis.design.clusters import dependence_table
from evalstats.analysis.design.reliability import reliability_figure
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import Estimate, Result, json_safe
from evalstats.analysis.score.result import Score
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.escape import is_web_address
from evalstats.document.formats import capital
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Figure,
    Items,
    LateColumns,
    Section,
    SideBySide,
    Table,
    Text,
    Tone,
    interval_column,
    number_column,
)
from evalstats.document.names import named, told
from evalstats.document.numbers import (
    declared,
    e_value_words,
    interval_words,
    number,
    p_words,
    scaled,
    share_in_percent,
    with_unit,
)
from evalstats.errors import Option
from evalstats.grammar import and_list, conjugate, has_have, plural, plural_of

TONES: dict[str, Tone] = {
    "better": "good",
    "worse": "bad",
    "equivalent": "neutral",
    "inconclusive": "caution",
    "powerless": "caution",
    "invalid": "bad",
}
_GROUPS_SHOWN = 8
# Rows of a comparison's section; of the document of its own, rows on its first screen, and those with an address below each.
_SHOWN, _ON_SCREEN, _WITH_LINKS = 12, 6, 2
_SLICES = 2
_WORST = 5
_FLIPS = "flips"


# --- words ---


def p_beside(row: Comparison | GroupRow) -> float | None:
    """Return the p that stands beside a verdict: none where it is powerless, or invalid, since no p has a say there."""
    if row.verdict in ("powerless", "invalid"):
        return None
    return row.p_value if row.p_adjusted is None else row.p_adjusted


def shown(result: Comparison, value: float | None) -> str:
    """Write a difference with its sign and unit."""
    return with_unit(scaled(value, result.scale, figures.digits_of(result), sign=True), result.unit)


def ends(result: Comparison, row: Estimate) -> str:
    """Write the interval of a difference, the result's or another of the same scores."""
    return interval_words(row.conf_low, row.conf_high, result.scale, figures.digits_of(result))


def margin_words(result: Comparison) -> str:
    """Write the margin as it was declared, without digits that nobody gave."""
    return with_unit(declared(result.margin or 0.0, result.scale), result.unit)


def least(result: Comparison) -> str:
    """Write the end of the interval that is nearer to 0."""
    return sized(min(abs(result.conf_low or 0.0), abs(result.conf_high or 0.0)), result)


def sized(value: float | None, result: Comparison) -> str:
    """Write an amount of the metric with its unit."""
    return with_unit(scaled(value, result.scale, 1), result.unit)


def own_score(score: Score, digits: int) -> str:
    """Write one side's score with its unit."""
    return with_unit(scaled(score.estimate, score.scale, digits), score.unit)


def own_scores(result: Comparison) -> str:
    """Write the scores of both sides."""
    digits = figures.digits_of(result)
    return " against ".join(
        f"{named(side.name)} {own_score(side, digits)}" for side in (result.candidate, result.baseline)
    )


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
    return Section(id="scores", heading=f"Each side on its own{judge}: {own_scores(result)}", blocks=blocks)


def _difference_columns(result: Comparison) -> tuple[Column, Column, Column]:
    """Return the columns of a difference in several forms: by people or a judge, with scores filled in, by other methods."""
    digits = figures.digits_of(result)
    return (
        number_column(result, "Difference", digits=digits, sign=True),
        interval_column(result, digits=digits),
        Column(title="p", kind="p"),
    )


def _labels(result: Comparison) -> Section | None:
    """Show what the judge, people's labels and both together say of the difference, and how the judge errs."""
    account = result.labels
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
            *_difference_columns(result),
        ),
        rows=tuple((name, each.estimate, each.ends, each.p_value) for name, each in rows if each is not None),
        caption=f"The difference by the judge on {account.n_judged:,} items and by people on {account.n_labels:,} of them",
        lead=True,
        frame=result.to_frame().to_dict(as_series=False),
    )
    worth = f"The correction is as precise as {number(account.label_worth, 0)} labels alone would be."
    return Section(id="labels", heading=head, blocks=(table, Text(text=worth)))


def groups_table(result: Comparison) -> Table | None:
    """Return the answer within each level of the factor that the comparison is split by."""
    if not result.groups:
        return None
    digits = figures.digits_of(result)
    groups = result.groups
    if len(groups) > _GROUPS_SHOWN:  # where some are left out, none that is shown to differ is
        groups = sorted(groups, key=lambda group: (group.verdict not in DECIDED, p_beside(group) or 1.0))
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
            for group in groups
        ),
        caption=f"By {result.by}: intervals and p are adjusted for all {len(result.groups)} levels (Bonferroni)",
        tones=TONES,
        most=_GROUPS_SHOWN,
        frame=result.to_frame().filter(role="headline").to_dict(as_series=False),
    )


def levels_by_verdict(result: Comparison, verdicts: Iterable[str]) -> str:
    """Name the levels that have one of these verdicts: "worse in law and better in code"."""
    levels = {word: [named(group.level) for group in result.groups if group.verdict == word] for word in verdicts}
    return " and ".join(f"{word} in {and_list(found, 3)}" for word, found in levels.items() if found)


def _by_group(result: Comparison) -> Section | None:
    if not result.groups:
        return None
    n, parts = len(result.groups), levels_by_verdict(result, DECIDED)
    who = named(result.candidate.name)
    head = f"By {result.by}: {who} is {parts}" if parts else f"No {result.by} shows a difference"
    text = (
        f"The {n} levels are one family, so each interval is wider than alone. A verdict in only one of two "
        "levels does not show that the two differ."
    )
    return Section(id="groups", heading=head, blocks=(Text(text=text),))


def _margin(result: Comparison) -> Section | None:
    account = result.at_margin
    if account is None:
        return None
    size = margin_words(result)
    head = f"A loss of {size} or more is {'excluded' if account.noninferior else 'not excluded'}"
    tests = ", ".join(
        f"{name} {p_words(p)}"
        for name, p in (("non-inferiority", account.noninferior_p), ("equivalence", account.equivalence_p))
        if p is not None
    )
    text = f"{capital(account.reason)}{f' ({tests}; {account.method})' if tests else ''}."
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
        alone = f"{100 * result.conf_level:.5g}% CI would be {ends(result, these)} ({these.verdict})"
        text = f"If items were independent, the {alone}"
        if not these.too_few:
            text += f"; clustered by {these.factor} it is {ends(result, result)} ({result.verdict}). The wider decides"
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
    blocks: list[Block] = [Text(text=" ".join(f"{part}." for part in (said, capital(missing.explanation)) if part))]
    if rows:
        blocks.append(
            Table(
                id="missing",
                columns=(
                    Column(title="If", kind="text"),
                    *_difference_columns(result),
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
    table = Table(
        id="methods",
        columns=(
            Column(title="Method", kind="name"),
            Column(title="Role", kind="text", spare=True),
            *_difference_columns(result),
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


def effects_section(result: Comparison) -> Section | None:
    """Return the difference in terms of effect sizes, where any could be computed."""
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


# --- the items on which they differ ---


def gained(result: Comparison) -> int:
    """Count the flipped items on which the candidate does better."""
    changes = result.flipped.changes()
    return int(((changes > 0) if result.higher_is_better else (changes < 0)).sum())


def flipped_section(result: Comparison) -> Section | None:
    """Return what a comparison says of them; None where no item flipped."""
    if not result.flipped:
        return None
    n, won = len(result.flipped), gained(result)
    caption = f"Items that flipped, losses first{f': {_SHOWN} of {n:,}' if n > _SHOWN else ''}"
    blocks: list[Block] = [figures.flips(result, table=_flips_table(result, most=_SHOWN, caption=caption))]
    blocks += [Text(text=text) for text in _by_trials(result) if text]
    blocks += [Text(text=text) for text in slice_words(result)]
    lost = f"lost {n - won:,}" if n > won else "lost none"
    by = " by the judge" if result.labels else ""
    head = f"{named(result.candidate.name)} gained {plural(won, 'item')} and {lost}{by}"
    return Section(id=_FLIPS, heading=head, blocks=(*blocks, *_texts(result)))


def worst_items(result: Comparison, evidence: Iterable[Section]) -> Table | None:
    """Return the items that got worse most, of those that the evidence lists, losses first; None where none did."""
    listed = [block.table for section in evidence for block in section.blocks if isinstance(block, Figure)]
    table = next((table for table in listed if table is not None and table.id == _FLIPS), None)
    lost = len(result.flipped) - gained(result)
    if table is None or not lost:
        return None
    title = f"Got worse: {_WORST} of {lost:,}" if lost > _WORST else "Got worse"
    columns = replace(table.columns[0], title=title), *table.columns[1:]
    return replace(table, id="worst", columns=columns, rows=table.rows[: min(lost, _WORST)], caption="")


def changed_items(result: Comparison) -> Document:
    """Return the items on which the two sides differ as a document of its own: losses first, and where they concentrate."""
    n, won = len(result.flipped), gained(result)
    lost = n - won
    first, second, both = named(result.baseline.name), named(result.candidate.name), plural(result.n_items, "item")
    scores = own_scores(result)
    of = placed(result.benchmark, "of")
    blocks: list[Block] = [Text(text=text) for text in slice_words(result)]
    if result.average:
        scores = f"{scores} ({result.average})"
    if n:
        label, tone = f"{lost:,} lost, {won:,} gained", "bad" if lost > won else "good" if not lost else "neutral"
        headline = f"{second} changed {plural(n, 'item')} of {result.n_items:,} against {first}"
        table = _flips_table(result, most=n, caption="Items that flipped, losses first")
        linked = any(column.kind == "link" for column in table.without_empty_columns().columns)
        noise = "With one trial a side, no single change can be told from noise."
        blocks.append(replace(table, most=_WITH_LINKS if linked else _ON_SCREEN))
        blocks += [Text(text=text) for text in _by_trials(result) or [noise]]
    else:
        label, tone, headline = "no change", "neutral", f"{second} and {first} have the same outcome on all {both}"
        if result.different:
            label, headline = "no answer", f"The sides share no {result.different}, so no item can change"
        elif result.metric_kind not in MAY_FLIP:
            label = "no answer"
            headline = (
                f"By {named(result.metric)} items have no outcome that could change: it is graded, not right or wrong"
            )
    document = Document(
        kind="compare",
        title=f"On which items do {second} and {first} differ?",
        label=label,
        tone=tone,
        headline=headline,
        scope=f"{scores} in {named(result.metric)}, on the {both}{of}{'' if result.different else ' that both answered'}",
        answer=(*blocks, *_texts(result)),
        notes=tuple(note for note in result.notes if note.kind in ("simulated", "withheld")),
    )
    return told(document)


class ChangedItems(Result):
    """A comparison as the list of its flipped items; a page of it is the comparison's own."""

    __slots__ = ("comparison",)

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def document(self) -> Document:
        """Return what is said of the items."""
        return replace(changed_items(self.comparison), names=self.comparison.document().names)

    def to_frame(self) -> pl.DataFrame:
        """Return the items, with their texts where these were read."""
        frame, key = self.comparison.flips(), ["task", "item", "variant"]
        texts = pl.DataFrame(json_safe(self.comparison.texts), infer_schema_length=None)
        if not texts.height:
            return ShownFrame(frame)
        renamed = texts.rename({side: f"{side}_answer" for side in ("baseline", "candidate")})
        return ShownFrame(frame.join(renamed, on=key, how="left", maintain_order="left"))

    def to_dict(self) -> dict[str, Any]:
        """Return what the comparison was, its slices and its items."""
        of = self.comparison
        about = {
            "baseline": of.baseline.name,
            "candidate": of.candidate.name,
            **{name: getattr(of, name) for name in ("benchmark", "metric", "n_items", "loss_slices")},
        }
        return {**json_safe(about), "flips": json_safe(self.to_frame().to_dicts())}


def slice_words(result: Comparison) -> list[str]:
    """Say in which slices losses concentrate, a sentence each; nothing where none stands out."""
    lost = len(result.flipped) - gained(result)
    return [
        f"Losses concentrate in {row.name}: {row.lost:,} of {lost:,}, on {row.n_items:,} of {result.n_items:,} items "
        f"({p_words(row.p_adjusted)})."
        for row in result.loss_slices[:_SLICES]
    ]


def _flips_table(result: Comparison, *, most: int, caption: str) -> Table:
    flips, better = result.flipped, result.higher_is_better
    by_trials = bool(flips.p_values())
    first, second = result.baseline.name, result.candidate.name
    return Table(
        id=_FLIPS,
        columns=(
            Column(title="Item", kind="name"),
            Column(title="Scenario", kind="name", spare=True),
            Column(title=first, kind="amount"),
            Column(title=second, kind="amount"),
            *([Column(title="p of its trials", kind="p")] if by_trials else []),
            Column(title=f"Row of {second}", kind="text", spare=True),
            Column(title=f"Transcript of {first}", kind="link"),
            Column(title=f"Transcript of {second}", kind="link"),
        ),
        rows=tuple(
            (
                "/".join(filter(None, (flip.task, flip.item, flip.variant))),
                flip.scenario or "",
                _item_score(result, flip.baseline),
                _item_score(result, flip.candidate),
                *([flip.p_value] if by_trials else []),
                str(flip.candidate_source or ""),
                *(
                    source.link if source and source.link and is_web_address(source.link) else ""
                    for source in (flip.baseline_source, flip.candidate_source)
                ),
            )
            for flip in flips.worst_first(higher_is_better=better, most=most)
        ),
        caption=caption,
        frame=LateColumns(lambda: flips.worst_first(higher_is_better=better).columns()),
    )


def _item_score(result: Comparison, score: float) -> str:
    return with_unit(scaled(score, result.scale, 0), result.baseline.unit)


def _by_trials(result: Comparison) -> list[str]:
    """Say how many changes are more than the noise of trials, where there are several of an item."""
    known = result.flipped.p_values()
    if not known:
        return []
    n, sure = len(result.flipped), sum(p <= 1 - result.conf_level for p in known)
    which = f"{sure:,} of the {n:,} {has_have(sure)}"
    rest = "; the others may be trial noise" if sure < n else ""
    return [f"{which} trials that differ by more than chance, item by item{rest}."]


def _texts(result: Comparison) -> tuple[SideBySide, ...]:
    """Return what was asked and answered, where the texts were asked for."""
    scores = {(flip.task, flip.item, flip.variant): flip for flip in (result.flipped if result.texts else ())}
    blocks: list[SideBySide] = []
    for each in result.texts:
        flip = scores.get((each.task, each.item, each.variant))
        title = "/".join(filter(None, (each.task, each.item, each.variant)))
        sides = [
            (
                f"{side.name}{'' if score is None else f': {_item_score(result, score)}'}",
                answer or "(no text found)",
            )
            for side, score, answer in (
                (result.baseline, flip and flip.baseline, each.baseline),
                (result.candidate, flip and flip.candidate, each.candidate),
            )
        ]
        above = tuple((name, text) for name, text in (("Question", each.question), ("Expected", each.expected)) if text)
        blocks.append(SideBySide(title=title, above=above, left=sides[0], right=sides[1]))
    return tuple(blocks)


EVIDENCE = (
    _scores, _spread, _labels, _by_group, _margin, _looks, _order, flipped_section, _hidden_groups, _missing, _reliability,
    _methods, _costs,
)  # fmt: skip
