"""What is said of a comparison by several metrics: one table of answers, then each metric with its own figure and unit."""

from dataclasses import replace

from evalstats.analysis.by_metric import notes_by_metric
from evalstats.analysis.compare import figures
from evalstats.analysis.compare.document import assumptions, in_order, limits, notes_of, plain_reason, references
from evalstats.analysis.compare.evidence import TONES, ends, least, own_score, p_beside, shown, sized
from evalstats.analysis.compare.result import DECIDED, Comparison, Comparisons
from evalstats.analysis.design.comparability import graver, invalidating
from evalstats.analysis.design.metric import how_to_direct
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.provenance import placed
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Items,
    Note,
    Section,
    Table,
    Tabs,
    Text,
    Tone,
    sentence,
    works_section,
)
from evalstats.document.names import named
from evalstats.errors import Option
from evalstats.grammar import and_list, plural, plural_of

_SHOWN = 3
_SHORT = 5  # letters of a unit


def document(result: Comparisons) -> Document:
    """Return what is said of a comparison by several metrics."""
    first = result.rows[0]
    where = placed(first.benchmark) if len({row.benchmark for row in result.rows}) == 1 else ""
    n_metrics = len(result.metrics)
    what = and_list(result.metrics) if n_metrics <= _SHOWN else plural(n_metrics, "metric")  # a title is a line or two
    label, tone = _label(result)
    refused = graver(first.run_differences)
    return Document(
        kind="compare",
        title=f"Is {named(first.candidate.name)} better than {named(first.baseline.name)}{where} in {what}?",
        label=label,
        tone=tone,
        headline=_headline(result),
        scope="" if refused else _scope(result),
        answer=() if refused else (*_posteriors(result), figures.by_metric(result, _overview(result))),
        notes=(*result.notes, *_notes(result)),
        actions=tuple(_actions(result)),
        evidence=() if refused else (_each(result),),
        method=_method(result),
    )


# --- the answer ---


def _posteriors(result: Comparisons) -> tuple[Block, ...]:
    """Return a line for the posterior of each metric, where it was asked for."""
    lines = tuple(
        f"{row.metric}: {row.posterior_beside.document().headline}." for row in result.rows if row.posterior_beside
    )
    return (
        (Text(text="Posterior, beside the intervals, not adjusted for other metrics:"), Items(items=lines))
        if lines
        else ()
    )


def _label(result: Comparisons) -> tuple[str, Tone]:
    """Return the answer in a word or two; two metrics that go different ways are a trade-off, which no test settles."""
    verdicts = [row.verdict for row in result.rows]
    if len(set(verdicts)) == 1:
        return verdicts[0], TONES[verdicts[0]]
    claimed = {"better", "worse"} & set(verdicts)
    if len(claimed) == 2:
        return "trade-off", "caution"
    for word in claimed:
        return f"{word} in {verdicts.count(word)} of {len(verdicts)}", TONES[word]
    return "inconclusive", TONES["inconclusive"]


def _headline(result: Comparisons) -> str:
    row = result.rows[0]
    first, second = named(row.baseline.name), named(row.candidate.name)
    found = graver(row.run_differences)
    if found:
        return f"{second} and {first} cannot be compared: they differ in {' and '.join(found)}"
    told = [
        f"{word} {and_list([each.metric for each in result.rows if _word(each) == word], _SHOWN)}"
        for word in ("better in", "worse in", "equivalent in", "higher in", "lower in")
        if any(_word(each) == word for each in result.rows)
    ]
    if not told:
        here, left = _on_these(result), _open(result)
        if not here:
            return f"{second} is not shown to differ from {first} in {and_list(result.metrics, _SHOWN)}"
        return "; ".join([f"{second} scores {' and '.join(here)}", *left])
    start, *rest = told
    word, _, names = start.partition(" ")
    joined = f"{word} {'to' if word == 'equivalent' else 'than'} {first} {names}"
    return "; ".join(
        [f"{second} is {' and '.join([joined, *rest])}", *_on_these(result), *_open(result), *_limits(result)]
    )


def _word(row: Comparison) -> str:
    return f"{row.verdict_word} in" if row.verdict_word in (*DECIDED, "higher", "lower") else ""


def _on_these(result: Comparisons) -> list[str]:
    """Say what holds on these items, and for which others it is open."""
    found: dict[str, list[str]] = {}
    for row in result.rows:
        these = row.open_for_others
        if these is not None:
            word = "higher" if (row.estimate or 0.0) > 0 else "lower"
            words = "alike" if these.verdict == "equivalent" else word
            found.setdefault(f"{words} on these items, open on other {plural_of(these.factor)}, in", []).append(
                row.metric
            )
    return [f"{words} {and_list(names, _SHOWN)}" for words, names in found.items()]


def _open(result: Comparisons) -> list[str]:
    left = [row.metric for row in result.rows if not _word(row) and row.open_for_others is None]
    return [f"not shown to differ in {and_list(left, _SHOWN)}"] if left else []


def _limits(result: Comparisons) -> list[str]:
    """Return what limits the verdicts, with the metrics where it does not limit all of them."""
    decided = [row for row in result.rows if row.verdict in DECIDED]
    told = dict.fromkeys(words for row in decided for words in limits(row))
    found: list[str] = []
    for words in told:
        names = [row.metric for row in decided if words in limits(row)]
        found.append(words if len(names) == len(decided) else f"{words} in {and_list(names, _SHOWN)}")
    return found


def _scope(result: Comparisons) -> str:
    """Say on how many items the answers rest, and that their intervals are one family."""
    counts = sorted({row.n_items for row in result.rows})
    items = plural(counts[0], "item") if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} items"
    names = dict.fromkeys(name for row in result.rows for name in row.clusters)
    clusters = f", clustered by {' and '.join(names)}" if names else ""
    level = f"{100 * result.conf_level:g}%"
    assumed = [row.metric for row in result.rows if row.direction == "assumed"]
    better = f"; higher is assumed better in {and_list(assumed, _SHOWN)}" if assumed else ""
    family = f"intervals and p are adjusted for {len(result.rows)} metrics, so that all hold together at {level}"
    if len(result.rows) == 1:
        family = f"the interval is at {level}"
    if result.rows[0].different:
        return f"On different {result.rows[0].different}{clusters}; {family}{better}"
    return f"On the {items} that both answered{clusters}; {family}{better}"


def _overview(result: Comparisons) -> Table:
    """Return one line for each metric, in the metric's own unit."""
    first = result.rows[0]
    several = len({row.benchmark for row in result.rows}) > 1
    unlike = len({row.n_items for row in result.rows}) > 1
    rows = tuple(
        (
            _named(row, several=several, unit=True),
            _short(row, shown(row, row.estimate)),
            "none" if row.ends is None else ends(row, row),
            p_beside(row),
            *(_short(row, own_score(side, figures.digits_of(row))) for side in (row.baseline, row.candidate)),
            *((row.n_items,) if unlike else ()),
            row.verdict_word,
        )
        for row in result.rows
    )
    return Table(
        id="metrics",
        columns=(
            Column(title="Metric", kind="name"),
            Column(title="Difference", kind="amount"),
            Column(title="CI, all metrics", kind="amount"),
            # Where there is little room the scores go first, and then p, which says no more than the interval.
            Column(title="Adjusted p", kind="p", spare=True),
            Column(title=first.baseline.name, kind="amount", spare=True),
            Column(title=first.candidate.name, kind="amount", spare=True),
            *((Column(title="Items", kind="count"),) if unlike else ()),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=rows,
        caption=f"The difference is {named(first.candidate.name)} minus {named(first.baseline.name)}, "
        "each metric in its own unit",
        tones=TONES,
        frame=result.to_frame().to_dict(as_series=False),
    )


def _named(row: Comparison, *, several: bool = False, unit: bool = False) -> str:
    where = placed(row.benchmark) if several else ""
    said = [row.unit] if unit and len(row.unit) > _SHORT else []
    said += [] if row.higher_is_better or row.direction == "asked" else ["lower is better"]
    told = f" ({', '.join(said)})" if said else ""
    return f"{row.metric}{where}{told}"


def _short(row: Comparison, amount: str) -> str:
    """Return an amount without a unit that is long, which stands behind the metric's name."""
    return amount.removesuffix(row.unit).rstrip() if len(row.unit) > _SHORT else amount


def _notes(result: Comparisons) -> tuple[Note, ...]:
    """Return what is known of every metric once, and what is known of some under their names; cautions first."""
    own = {row.metric: [note for note in notes_of(row) if note.kind != "direction"] for row in result.rows}
    found = notes_by_metric(own)
    if asked := [row.metric for row in result.rows if row.direction == "asked"]:
        text = f"Nothing declares which way {and_list(asked, _SHOWN)} {'is' if len(asked) == 1 else 'are'} better"
        found.append(Note(kind="direction", text=text, remedy=("Say which: ", *how_to_direct(asked))))
    return in_order(found)


def _actions(result: Comparisons) -> list[str]:
    if graver(result.rows[0].run_differences):
        meant = named(Option("accept", invalidating(result.rows[0].run_differences)))
        return [f"Run both sides in the same way, or declare what is meant with {meant}."]
    words = {word: [row.metric for row in result.rows if row.verdict == word] for word in ("better", "worse")}
    left = [row.metric for row in result.rows if row.verdict == "inconclusive" and row.higher_known is None]
    found: list[str] = []
    if words["better"] and words["worse"]:
        gained, lost = and_list(words["better"], _SHOWN), and_list(words["worse"], _SHOWN)
        found.append(f"Decide what the gain in {gained} is worth in {lost}: no test weighs one metric against another.")
    elif words["worse"]:
        found.append(
            f"Keep {named(result.rows[0].baseline.name)}, unless {and_list(words['worse'], _SHOWN)} does not matter."
        )
    if left:
        found.append(
            f"Do not read {and_list(left, _SHOWN)} as equal: declare margins before the next run to show that."
        )
    return found


# --- the evidence ---


def _each(result: Comparisons) -> Section:
    """Return a panel for each metric: its answer in a sentence, and its figure on an axis of its own."""
    panels: list[Section] = []
    for place, row in enumerate(result.rows, start=1):
        blocks: list[Block] = [Text(text=sentence(_beside(row)))]
        if row.conf_low is not None:
            caption = (
                f"The difference in {row.metric}, with intervals adjusted for all metrics; filled points are settled."
            )
            blocks.append(replace(figures.difference(row), id=f"difference-m{place}", caption=caption))
        panels.append(Section(id=f"m{place}", heading=_named(row), blocks=tuple(blocks)))
    apart = sum(row.verdict in ("better", "worse") or row.higher_known is not None for row in result.rows)
    head = f"A difference is shown in {apart or 'none'} of {plural(len(result.rows), 'metric')}"
    text = Text(text="Ask for one metric alone to see its flipped items, other methods and missing scores.")
    return Section(id="each", heading=head, blocks=(Tabs(id="metrics", title="By metric", panels=tuple(panels)), text))


def _beside(row: Comparison) -> str:
    """Say what the table does not: the least that is claimed, what could have been found, or the reason of the verdict."""
    if row.verdict in ("better", "worse"):
        return f"The {'gain' if row.verdict == 'better' else 'loss'} may be as small as {least(row)}"
    if plain_reason(row) and row.mde is not None:
        return f"A difference of {sized(row.mde, row)} would be detected with 80% power"
    return row.verdict_reason


# --- the method ---


def _method(result: Comparisons) -> tuple[Section, ...]:
    first, of = result.rows[0], result.rows[0].origin
    own = [
        f"For {row.metric}: {row.method}"
        + ("" if row.method_reason == "it was asked for" else f", because {row.method_reason}")
        for row in result.rows
        if row.method
    ]
    texts = dict.fromkeys(text.how for row in result.rows for text in texts_for(row.method))
    family = (
        f"The {len(result.rows)} metrics are one family, adjusted by Bonferroni: each interval is at "
        f"{100 * first.conf_level:.4g}%, and each p is multiplied by {len(result.rows)}. Holm's p is in the data. "
        "Nothing is averaged over metrics."
    )
    takes = dict.fromkeys(text for row in result.rows for text in assumptions(row)[:-1] if text)
    works = {work for row in result.rows for work in references(row)}
    works |= {work for name in ("Bonferroni", "Holm") for text in texts_for(name) for work in text.sources}
    parts = (
        Section(
            id="method",
            heading="How it was answered",
            blocks=(Text(text=family), Items(items=tuple(map(sentence, own))), *(Text(text=text) for text in texts)),
        ),
        Section(
            id="assumptions",
            heading="What this assumes",
            blocks=(Items(items=tuple(map(sentence, takes))),) if takes else (),
        ),
        works_section(works),
        of.section(seed=f"{of.seed} (permutations only)"),
    )
    return tuple(part for part in parts if part.blocks)
