"""What is said of the items on which the two sides differ: a section of a comparison, and a document of its own."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import polars as pl

from evalstats.analysis.compare import figures
from evalstats.analysis.compare.flips import MAY_FLIP
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import Result, json_safe
from evalstats.analysis.shown_frame import shown_frame
from evalstats.document.escape import is_web_address
from evalstats.document.model import Block, Column, Document, Figure, LateColumns, Section, SideBySide, Table, Text
from evalstats.document.names import named, told
from evalstats.document.numbers import p_words, scaled, with_unit
from evalstats.grammar import has_have, plural

# Rows of a comparison's section; of the document of its own, rows on its first screen, and those with an address below each.
_SHOWN, _ON_SCREEN, _WITH_LINKS = 12, 6, 2
_SLICES = 2
_WORST = 5
_FLIPS = "flips"


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
    blocks: list[Block] = [figures.flips(result, table=_table(result, most=_SHOWN, caption=caption))]
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
    lost, digits = n - won, figures.digits_of(result)
    first, second, both = named(result.baseline.name), named(result.candidate.name), plural(result.n_items, "item")
    scores = " against ".join(
        f"{named(side.name)} {with_unit(scaled(side.estimate, side.scale, digits), side.unit)}"
        for side in (result.candidate, result.baseline)
    )
    of = placed(result.benchmark, "of")
    blocks: list[Block] = [Text(text=text) for text in slice_words(result)]
    if result.average:
        scores = f"{scores} ({result.average})"
    if n:
        label, tone = f"{lost:,} lost, {won:,} gained", "bad" if lost > won else "good" if not lost else "neutral"
        headline = f"{second} changed {plural(n, 'item')} of {result.n_items:,} against {first}"
        table = _table(result, most=n, caption="Items that flipped, losses first")
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

    @shown_frame
    def to_frame(self) -> pl.DataFrame:
        """Return the items, with their texts where these were read."""
        frame, key = self.comparison.flips(), ["task", "item", "variant"]
        texts = pl.DataFrame(json_safe(self.comparison.texts), infer_schema_length=None)
        if not texts.height:
            return frame
        renamed = texts.rename({side: f"{side}_answer" for side in ("baseline", "candidate")})
        return frame.join(renamed, on=key, how="left", maintain_order="left")

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


def _table(result: Comparison, *, most: int, caption: str) -> Table:
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
