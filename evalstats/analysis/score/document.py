"""What is said of a score: the number with its interval, what it rests on, and whether a published number holds."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from evalstats.analysis.design.averages import weighted_words
from evalstats.analysis.design.metric import asked_direction, direction_notes
from evalstats.analysis.design.reliability import reliability_figure
from evalstats.analysis.method_texts import MethodText, texts_for
from evalstats.analysis.provenance import placed
from evalstats.analysis.score.result import Score, Scores
from evalstats.document.model import (
    Column,
    Document,
    Note,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    interval_column,
    listed,
    number_column,
    works_section,
)
from evalstats.document.names import named
from evalstats.document.numbers import digits_of_interval, interval_words, p_words, scaled, with_unit
from evalstats.errors import Option
from evalstats.grammar import and_list, plural
from evalstats.stats.checks import FEW_ITEMS, few_items

_SHOWN = 20
Key = TypeVar("Key", bound=Hashable)
_TONES: dict[str, Tone] = {"above": "good", "below": "bad", "not shown to differ": "neutral", "no answer": "caution"}


def document(result: Score | Scores) -> Document:
    """Return what is said of a score, or of several."""
    return _of_one(result) if isinstance(result, Score) else _of_several(result)


def _of_one(result: Score) -> Document:
    test = result.against
    # A score alone is read the same way whichever is better.
    asked = [] if test is None else asked_direction(result.direction)
    number = words = ""
    if test is not None:
        unit = "pp" if result.unit == "%" else result.unit
        digits = digits_of_interval(test.conf_low, test.conf_high, result.scale)
        number = with_unit(scaled(test.estimate, result.scale, digits, sign=True), unit)
        ends = interval_words(test.conf_low, test.conf_high, result.scale, digits)
        words = ", ".join(filter(None, (f"{100 * test.conf_level:g}% CI {ends}", p_words(test.p_value))))
        words = f"no interval: {test.reason}" if test.conf_low is None else words
        drawn = drawn_interval(
            test.estimate,
            test.ends,
            scale=result.scale,
            unit=unit,
            origin=0.0,
            conf_level=test.conf_level,
            p_value=test.p_value,
        )
    else:
        counts = (
            (round(result.estimate * result.n_items), result.n_items)
            if result.method == "Wilson" and result.estimate is not None
            else ()
        )
        drawn = drawn_interval(
            result.estimate,
            result.ends,
            scale=result.scale,
            unit=result.unit,
            sides=tuple(_shown(result, end) for end in result.about.bounds or ()) or ("", ""),
            bounds=result.about.bounds,
            conf_level=result.conf_level,
            method=result.method,
            counts=counts,
        )
    method = _estimated((_how(result),), (f"What is estimated: {result.estimand}", *_takes(result)), _works(result))
    return Document(
        kind="score",
        title=f"How does {named(result.name)} score{placed(result.benchmark)}?",
        label="score" if test is None else test.verdict,
        tone="neutral" if test is None else _TONES[test.verdict],
        headline="; ".join((_headline(result), *asked)),
        number=number,
        number_words=words,
        interval=drawn,
        scope=_scope(result),
        answer=(*_of_tasks([result]), *reliability_figure([(result.name, result.reliability)], result.conf_level)),
        notes=(*_other_averages(result), *result.notes, *_assumed(result)),
        evidence=_evidence(result),
        method=(*method, result.origin.section(seed="")),
    )


def _of_several(result: Scores) -> Document:
    first = result.rows[0]
    scales = {(row.benchmark, row.metric) for row in result.rows}
    level = f"{100 * first.conf_level:g}% CI"
    micro = {row.name: [each for each in row.other_averages if each.kind == "micro"][:1] for row in result.rows}
    unlike = any(not each.agrees for own in micro.values() for each in own)
    table = Table(
        id="scores",
        columns=(
            Column(title="System", kind="name"),
            *((Column(title="Benchmark", kind="name"), Column(title="Metric", kind="name")) if len(scales) > 1 else ()),
            Column(title="Score", kind="amount"),
            Column(title=level, kind="text"),
            *((Column(title="Every item alike", kind="amount"),) if unlike else ()),
            Column(title="Items", kind="count", spare=True),
            *((Column(title="Claim", kind="verdict"),) if any(row.against for row in result.rows) else ()),
        ),
        rows=tuple(
            (
                row.name,
                *((row.benchmark, row.metric) if len(scales) > 1 else ()),
                _shown(row, row.estimate),
                "–" if row.conf_low is None else interval_words(row.conf_low, row.conf_high, row.scale, _digits(row)),
                *(("".join(_shown(row, each.estimate) for each in micro[row.name]),) if unlike else ()),
                row.n_items or None,
                *((row.against.verdict if row.against else "",) if any(each.against for each in result.rows) else ()),
            )
            for row in result.rows
        ),
        caption="Each system's own score",
        tones=_TONES,
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )
    few = [row for row in result.rows if any(note.text in few_items(row.n_items) for note in row.notes)]
    averages = [*dict.fromkeys(row.average for row in result.rows if row.average)]

    def averaged(row: Score) -> tuple[Note, ...]:
        """Name the average of a score, where not all are the same."""
        text = f"A score is the {row.average}"
        return (Note(kind="average", text=text, caution=False),) if row.average and len(averages) > 1 else ()

    said = [
        (note, row)
        for row in result.rows
        for note in dict.fromkeys((*row.notes, *_assumed(row), *averaged(row)))
        if len(few) < 2 or note.text not in few_items(row.n_items)
    ]
    notes = tuple(
        note if len(rows) == len(result.rows) else replace(note, text=f"{note.text} ({_names(rows, result.rows)})")
        for note, rows in _grouped(said)
    )
    if len(few) > 1:
        which = [f"{name} ({row.n_items})" for name, row in zip(_apart(few, result.rows), few, strict=True)]
        text = f"Fewer than {FEW_ITEMS} items, where no method is reliable: {and_list(which, 3)}"
        notes = (Note(kind="few", text=text), *notes)
    where = placed(first.benchmark) if len({row.benchmark for row in result.rows}) == 1 else " on several benchmarks"
    what = f" in {first.metric}" if len(scales) == 1 else ""
    intervals = ", each with its own interval" if any(row.conf_low is not None for row in result.rows) else ""
    return Document(
        kind="score",
        title=f"How does each system score{where}?",
        label="scores",
        tone="neutral",
        headline=f"{plural(len({row.name for row in result.rows}), 'system')}{where}{what}{intervals}",
        scope=". ".join(
            (
                *([f"A score is the {averages[0]}"] if len(averages) == 1 else []),
                *(["Levels differ in size, and the notes name the average of each score"] if len(averages) > 1 else []),
                *_corrected(result.rows),
                f"To test whether two of them differ, use {named('compare')} or {named('leaderboard')}",
            )
        ),
        answer=(table,),
        notes=(*result.notes, *notes),
        evidence=tuple(
            Section(id="tasks", heading=_range_of_tasks(result.rows), blocks=(own,)) for own in _of_tasks(result.rows)
        ),
        method=_method_of_several(result),
    )


def _corrected(rows: Sequence[Score]) -> list[str]:
    counts = sorted({row.labels.n_labels for row in rows if row.labels is not None})
    if not counts:
        return []
    n = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return [f"Scores are corrected by people's labels of {n} items each"]


def _grouped(pairs: Iterable[tuple[Key, Score]]) -> list[tuple[Key, list[Score]]]:
    """Return what is said of some scores, each thing once, with all scores that it is said of."""
    found: dict[Key, list[Score]] = {}
    for key, row in pairs:
        found.setdefault(key, []).append(row)
    return list(found.items())


def _names(rows: Sequence[Score], among: Sequence[Score]) -> str:
    return and_list(_apart(rows, among), 3)


def _apart(rows: Sequence[Score], among: Sequence[Score]) -> list[str]:
    """Name scores by the least that tells all apart: the system, the benchmark, the metric, or two of these."""
    ways: list[Callable[[Score], str]] = [
        lambda row: row.name,
        lambda row: row.benchmark,
        lambda row: row.metric,
        lambda row: f"{row.name} on {row.benchmark}",
        lambda row: f"{row.name} in {row.metric}",
    ]
    way = next((way for way in ways if len({*map(way, among)}) == len(among)), ways[-1])
    return [*map(way, rows)]


def _digits(result: Score) -> int:
    """Return how many decimals a score is shown with: those of its interval; without one a share of no unit has two."""
    if result.conf_low is None and result.scale == 1 and result.estimate is not None and abs(result.estimate) < 1:
        return 2
    return digits_of_interval(result.conf_low, result.conf_high, result.scale)


def _shown(result: Score, value: float | None) -> str:
    return with_unit(scaled(value, result.scale, _digits(result)), result.unit)


def _headline(result: Score) -> str:
    name, test = named(result.name), result.against
    if test is not None:
        claimed = _shown(result, test.claim)
        return {
            "above": f"{name} scores above the claimed {claimed}",
            "below": f"{name} scores below the claimed {claimed}",
            "not shown to differ": f"{name} is not shown to differ from the claimed {claimed}",
            "no answer": f"{name} cannot be compared with the claimed {claimed}",
        }[test.verdict]
    by_labels = "" if result.labels is None else f", corrected by {plural(result.labels.n_labels, 'label')}"
    more = f", extrapolated from {plural(result.extrapolated_from, 'trial')}" if result.extrapolated_from else ""
    return f"{name} scores {_with_interval(result)} in {named(result.metric)}{by_labels}{more}"


def _with_interval(result: Score) -> str:
    if result.conf_low is None:
        return f"{_shown(result, result.estimate)} (no interval)"
    ends = interval_words(result.conf_low, result.conf_high, result.scale, _digits(result))
    return f"{_shown(result, result.estimate)} ({100 * result.conf_level:g}% CI {ends})"


def _scope(result: Score) -> str:
    parts = [plural(result.n_items, "item")] if result.n_items else ["items whose number is not published"]
    if result.n_trials > result.n_items:
        parts.append(f"{result.n_trials:,} trials")
    if result.n_clusters is not None:
        parts.append(f"{result.n_clusters} clusters of {' and '.join(result.clusters)}")
    suite = result.benchmark in result.average
    told = f"On {', '.join(parts)}{'' if suite else placed(result.benchmark, 'of')}"
    if result.against is not None:
        told = f"It scores {_with_interval(result)} {told[0].lower()}{told[1:]}"
    elif result.conf_low is None and result.reason:
        told += f"; no interval: {result.reason}"
    if result.labels is not None:
        judged, alone = (_shown(result, each.estimate) for each in (result.labels.judged, result.labels.labels_only))
        told += f"; the judge alone says {judged}, people's labels of {plural(result.labels.n_labels, 'item')} alone {alone}"
    lost = [(result.n_error, "harness error"), (result.n_unscored, "unscored row")]
    left = " and ".join(plural(n, what) for n, what in lost if n)
    return "; ".join(part for part in (told, f"{left} left out" if left else "", result.average) if part)


def _assumed(result: Score) -> tuple[Note, ...]:
    told = [note for note in direction_notes(result.direction) if not note.caution]
    test = result.against
    if test is not None and test.n is None and test.std_error is None:
        remedy = (Option("against_n"), " or ", Option("against_se"), " count its own error")
        told.append(Note(kind="choice", text="The claim is taken as it stands", remedy=remedy, caution=False))
    elif test is not None:
        text = "The claim is treated as measured on other items"
        told.append(Note(kind="choice", text=text, remedy="On the same items, compare item by item", caution=False))
    return tuple(told)


def _evidence(result: Score) -> tuple[Section, ...]:
    # The micro average is a row already: every item alike.
    others = ((row.words, row.estimate, row.ends) for row in result.other_averages if row.kind == "macro")
    rows = Table(
        id="scores",
        columns=(
            Column(title="Method", kind="name"),
            number_column(result, "Score"),
            interval_column(result),
        ),
        rows=(*((row.method, row.estimate, row.ends) for row in result.rows), *others),
        caption="The score by every method; the first row is the headline",
        lead=True,
        frame=result.to_frame().to_dict(as_series=False),
    )
    ends = [row.ends for row in result.rows if row.ends is not None]
    low = min((low for low, _ in ends if low is not None), default=None)
    high = max((high for _, high in ends if high is not None), default=None)
    between = f"{scaled(low, result.scale, _digits(result))} and {_shown(result, high)}"
    heading = f"By every method the score lies between {between}" if ends else "No method gives an interval"
    return (Section(id="scores", heading=heading, blocks=(rows,)),)


def _of_tasks(scores: Sequence[Score]) -> tuple[Table, ...]:
    """Return the table of the scores of each task, each with an interval of its own; none where there is one task."""
    rows = [(score, row) for score in scores for row in score.tasks]
    if not rows:
        return ()
    first, several = scores[0], len(scores) > 1
    frame = {
        "system": [score.name for score, _ in rows],
        "level": [row.level for _, row in rows],
        **{name: [getattr(row, name) for _, row in rows] for name in ("estimate", "conf_low", "conf_high", "n_items")},
    }
    table = Table(
        id="tasks",
        columns=(
            *((Column(title="System", kind="name"),) if several else ()),
            Column(title=(first.by or "task").capitalize(), kind="name"),
            Column(title="Score", kind="amount"),
            Column(title=f"{100 * first.conf_level:g}% CI", kind="text"),
            Column(title="Items", kind="count"),
        ),
        rows=tuple(
            (
                *((score.name,) if several else ()),
                row.level,
                _shown(score, row.estimate),
                "–" if row.conf_low is None else interval_words(row.conf_low, row.conf_high, score.scale),
                row.n_items,
            )
            for score, row in rows
        ),
        caption=f"The score of each {first.by}, with an interval of its own",
        most=_SHOWN,
        frame=frame,
    )
    return (table,)


def _range_of_tasks(scores: Sequence[Score]) -> str:
    known = [(row.estimate, row.level, score) for score in scores for row in score.tasks if row.estimate is not None]
    ends = (min(known, key=lambda each: each[0]), max(known, key=lambda each: each[0]))
    low, high = (f"{_shown(score, value)} ({score.name} on {level})" for value, level, score in ends)
    return f"Scores run from {low} to {high}"


def _other_averages(result: Score) -> tuple[Note, ...]:
    """Say the score by another average, where it lies outside the interval of this one."""
    found: list[Note] = []
    for row in result.other_averages:
        if not row.agrees:
            ends = "" if row.conf_low is None else interval_words(row.conf_low, row.conf_high, result.scale)
            interval = f", {100 * row.conf_level:g}% CI {ends}" if ends else ""
            what = f"The score {weighted_words(row.kind, row.factor)} is {_shown(result, row.estimate)}"
            found.append(Note(kind="average", text=f"{what} ({row.kind} average{interval})"))
    return tuple(found)


def _method_of_several(result: Scores) -> tuple[Section, ...]:
    """Return the same of several systems, each method and each population with the systems that it is of."""
    rows, all_of_them = result.rows, len(result.rows)
    how = [
        text if len(own) == all_of_them else f"{_names(own, rows)}: {text}"
        for text, own in _grouped((_how(r), r) for r in rows)
    ]
    told = [
        f"What is estimated{'' if len(own) == all_of_them else f' of {_names(own, rows)}'}: {estimand}"
        for estimand, own in _grouped((row.estimand, row) for row in rows)
    ]
    takes = dict.fromkeys(text for row in rows for text in _takes(row))
    return _estimated(how, (*told, *takes), {work for row in rows for work in _works(row)})


def _estimated(how: Iterable[str], told: Iterable[str], works: Iterable[str]) -> tuple[Section, ...]:
    blocks = (*(Text(text=text) for text in how), *listed("", "", told).blocks)
    return (
        Section(id="method", heading="How it was estimated", blocks=blocks),
        works_section(works),
    )


def _texts(result: Score) -> list[MethodText]:
    methods = [result.method, *([] if result.against is None else [result.against.method])]
    return list(dict.fromkeys(text for name in methods for text in texts_for(name)))


def _how(result: Score) -> str:
    return f"{result.method}. {' '.join(text.how for text in _texts(result))}".strip()


def _takes(result: Score) -> list[str]:
    return [text.takes for text in _texts(result) if text.takes]


def _works(result: Score) -> set[str]:
    named = [text for row in result.rows for text in texts_for(row.method)]
    return {source for text in (*named, *_texts(result)) for source in text.sources}
