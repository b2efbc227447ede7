"""What is said of an audit: how many findings change a conclusion, each in words, the comparisons that flip, what was checked."""

from collections.abc import Sequence

from evalstats.analysis.audit.result import Audit, Audited, Finding, FlippedComparison, Kind, Shift, Verdict
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import Estimate, level
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Figure,
    Interval,
    Items,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    listed,
    sentence,
)
from evalstats.document.numbers import interval_words, number, titled
from evalstats.errors import written
from evalstats.grammar import and_list, conjugate, plural

_TOLD = 3  # findings told in the answer
_DRAWN = 8  # comparisons in the figure
_EACH = 3  # of them at most so many of one finding
_EFFECTS: dict[str, Tone] = {"flips": "bad", "moves": "caution", "stands": "good"}
_CHANGES: dict[tuple[Verdict, Verdict], str] = {
    ("better", "inconclusive"): "{first} is no longer shown to be better than {second}",
    ("worse", "inconclusive"): "{first} is no longer shown to be worse than {second}",
    ("inconclusive", "better"): "{first} is shown to be better than {second}",
    ("inconclusive", "worse"): "{first} is shown to be worse than {second}",
    ("better", "worse"): "{first} turns from better to worse than {second}",
    ("worse", "better"): "{first} turns from worse to better than {second}",
}


def document(result: Audit) -> Document:
    """Return all that is said of an audit."""
    # The findings that the answer only names.
    others = tuple(_told(result, each) for each in result.findings[_TOLD:])
    benchmarks = list(dict.fromkeys(each.benchmark for each in result.metrics))
    where = placed(benchmarks[0]) if len(benchmarks) == 1 else f" on {and_list(benchmarks)}"
    looked = [
        f"{each.metric}{placed(each.benchmark)}: {plural(each.n_models, 'model')}, {plural(each.n_items, 'item', each.units)}, "
        f"{plural(each.n_rows, 'row')}"
        for each in result.metrics
    ]
    more = f"; and {plural(len(looked) - 2, 'more metric')}" if len(looked) > 2 else ""
    return Document(
        kind="audit",
        title=f"Can these scores{where} be trusted?",
        label="Settle first" if result.n_flipping else "Holds" if result.n_pairs else "No comparison",
        tone="bad" if result.n_flipping else "good" if result.n_pairs else "neutral",
        headline=_headline(result),
        interval=_interval(result),
        scope="; ".join(looked[:2]) + more,
        answer=_answer(result),
        notes=result.notes,
        evidence=(_findings(result),) if result.findings else (),
        method=(
            *([listed("others", "The other findings in words", others)] if others else []),
            _method(result),
            result.origin.section(seed=""),
        ),
    )


# --- the answer ---


def _headline(result: Audit) -> str:
    flipping, findings = result.n_flipping, plural(len(result.findings), "finding")
    pairs = plural(result.n_pairs, "comparison")
    if not result.n_pairs:
        return f"{findings if result.findings else 'Nothing found'}, and no two models to compare on enough items"
    if not result.findings:
        return f"Nothing was found that could change a verdict ({pairs})"
    if not flipping:
        return f"{findings}, changing no verdict of {pairs}"
    changes = f"{flipping} of {findings} {conjugate(flipping, 'change')} a conclusion"
    which = "the comparison" if result.n_pairs == 1 else f"{result.n_depend:,} of {pairs}"
    return f"{changes}; {which} would have another verdict"


def _answer(result: Audit) -> tuple[Block, ...]:
    told = [_told(result, each) for each in result.findings[:_TOLD]]
    if len(result.findings) > _TOLD:
        rest = result.findings[_TOLD:]
        told.append(f"{len(rest)} more: {and_list(list(dict.fromkeys(each.kind for each in rest)), 5)}.")
    blocks: list[Block] = [Items(items=tuple(told))] if told else []
    figure = _figure(result)
    if figure is not None:
        blocks.append(figure)
    if not told:
        blocks.append(Text(text=f"Checked: {', '.join(result.passed)}."))
    return tuple(blocks)


def _told(result: Audit, finding: Finding) -> str:
    """Say in two sentences what was found, and what hangs on it."""
    several = len({each.metric for each in result.metrics}) > 1
    parts = [f"{finding.metric}: {sentence(finding.text)}" if several else sentence(finding.text)]
    if finding.shifts:
        parts.append(_consequence(result.of(finding.benchmark, finding.metric), finding))
    parts.append(sentence(written(finding.remedy)))
    return " ".join(part for part in parts if part)


def _consequence(audited: Audited, finding: Finding) -> str:
    shift = finding.shifts[0]
    # A treatment begins with a word of ours ("without these items"), never with a name.
    when = f"{shift.treatment[:1].upper()}{shift.treatment[1:]}"
    moved = shift.leader_after and shift.leader_before != shift.leader_after
    top = f"; {shift.leader_after} leads instead of {shift.leader_before}" if moved else ""
    if not shift.flips:
        return f"{when}, no verdict changes{top}."
    flip = shift.flips[0]
    if flip.after.estimate is None:
        numbers = f"{_estimate(audited, flip.before)} now, and no comparison then"
    else:
        numbers = f"{_estimate(audited, flip.before)} becomes {_estimate(audited, flip.after)}"
    if not (shift.n_flips or shift.n_lost):
        return f"{when}, no verdict changes; {flip.first} minus {flip.second} moves most: {numbers}{top}."
    change = _CHANGES[flip.verdict_before, flip.verdict_after].format(first=flip.first, second=flip.second)
    # How many comparisons change beside the one that is told.
    others = ""
    if shift.n_flips + shift.n_lost > 1:
        lost = f", {shift.n_lost:,} cannot be made" if shift.n_lost else ""
        others = f"; {shift.n_flips:,} of {shift.n_pairs:,} comparisons flip{lost}"
    return f"{when}, {change}: {numbers}{others}{top}."


def _estimate(audited: Audited, found: Estimate) -> str:
    if found.estimate is None:
        return "no comparison"
    unit = f" {audited.unit}" if audited.unit else ""
    digits = 1 if audited.scale > 1 or audited.unit == "pp" else 2
    value = number(found.estimate * audited.scale, digits, sign=True)
    if found.ends is None:
        return f"{value}{unit} (no interval)"
    return f"{value}{unit} ({interval_words(found.conf_low, found.conf_high, audited.scale, digits)})"


def _drawn(result: Audit) -> list[tuple[Finding, Shift, FlippedComparison]]:
    """Choose the comparisons to draw: the weightiest of every finding that moves some, those of flips first."""
    found: list[tuple[Finding, Shift, FlippedComparison]] = []
    unit = None
    for finding in result.findings:
        if finding.effect not in ("flips", "moves") or not finding.shifts:
            continue
        audited = result.of(finding.benchmark, finding.metric)
        unit = unit or (audited.unit, audited.scale)
        if unit != (audited.unit, audited.scale):
            continue  # one axis, one unit
        shift = finding.shifts[0]
        found += [
            (finding, shift, flip)
            for flip in shift.flips[:_EACH]
            if flip.before.estimate is not None and flip.after.estimate is not None
        ]
    return found[:_DRAWN]


def _interval(result: Audit) -> Interval | None:
    """Return the comparison that hangs most on a finding: as it would be, beside what it is now."""
    drawn = _drawn(result)[:1] if result.n_flipping else []
    for finding, shift, flip in drawn:
        audited = result.of(finding.benchmark, finding.metric)
        what = titled(f"{flip.first} minus {flip.second}", audited.unit)
        return drawn_interval(
            flip.after.estimate,
            flip.after.ends,
            scale=audited.scale,
            origin=0.0,
            others=(flip.before.estimate or 0.0,),
            others_words=f"{what}, {shift.treatment}; dot: now",
        )
    return None


def _figure(result: Audit) -> Figure | None:
    drawn = _drawn(result)
    if not drawn:
        return None
    audited = result.of(drawn[0][0].benchmark, drawn[0][0].metric)

    def scaled(values: Sequence[float | None]) -> list[float | None]:
        return [None if value is None else value * audited.scale for value in values]

    unit = f" ({audited.unit})" if audited.unit else ""
    told = [
        f"{flip.first} minus {flip.second}, {finding.kind}: {_estimate(audited, flip.before)} becomes "
        f"{_estimate(audited, flip.after)}"
        for finding, _, flip in drawn
    ]
    return Figure(
        id="flips",
        plot="dumbbell",
        rows={
            "label": [f"{flip.first} − {flip.second}" for _, _, flip in drawn],
            "start": scaled([flip.before.estimate for _, _, flip in drawn]),
            "estimate": scaled([flip.after.estimate for _, _, flip in drawn]),
            "conf_low": scaled([flip.after.conf_low for _, _, flip in drawn]),
            "conf_high": scaled([flip.after.conf_high for _, _, flip in drawn]),
            "kind": [finding.kind for finding, _, _ in drawn],
            "verdict": [
                flip.verdict_after if shift.n_flips or shift.n_lost else "same verdict" for _, shift, flip in drawn
            ],
        },
        options={
            "title": f"Difference{unit}: before (square), after with its {level(result)} interval",
            "reference": 0.0,
            "columns": {"kind": "Finding", "verdict": "Then"},
        },
        alt=f"Comparisons that move most: {'; '.join(told)}.",
        caption="The comparisons that hang most on each finding, before and after",
    )


# --- evidence and method ---


def _findings(result: Audit) -> Section:
    counts = {
        effect: sum(each.effect == effect for each in result.findings)
        for effect in ("flips", "moves", "stands", "open")
    }
    words = {
        "flips": ("{} changes a verdict", "{} change a verdict"),
        "moves": ("{} moves a difference", "{} move a difference"),
        "stands": ("{} makes no difference", "{} make no difference"),
        "open": ("{} has no other handling to try", "{} have no other handling to try"),
    }
    told = [words[effect][n > 1].format(n) for effect, n in counts.items() if n]
    several_metrics = len(result.metrics) > 1
    rows = tuple(
        (
            each.kind,
            f"{each.benchmark} {each.metric}" if several_metrics else None,
            each.effect,
            f"{each.n_depend:,} of {each.shifts[0].n_pairs:,}" if each.shifts else None,
            each.shifts[0].treatment if each.shifts else None,
        )
        for each in result.findings
    )
    table = Table(
        id="findings",
        columns=(
            Column(title="Finding"),
            Column(title="Metric", kind="name"),
            Column(title="Effect", kind="verdict"),
            Column(title="Depend", kind="amount"),
            Column(title="When"),
        ),
        rows=rows,
        caption="What each finding does to the comparisons of two models",
        tones=_EFFECTS,
        frame=result.to_frame().to_dict(as_series=False),
    )
    return Section(id="findings", heading=and_list(told), blocks=(table,))


def _method(result: Audit) -> Section:
    clusters = sorted({name for each in result.metrics for name in each.clusters})
    by = f", clustered by {and_list(clusters)}" if clusters else ""
    drawn = (
        "Conclusions: the verdict on every two models with 10 items or more to compare, each by its own "
        f"{level(result)} interval, not adjusted for their number{by}."
    )
    flips = (
        "A finding flips a conclusion where another defensible handling of its rows gives another verdict; it moves one where a "
        "difference changes by more than a quarter of its standard error, or half a point of a hundred; else it stands."
    )
    items = [drawn, flips, "A finding is consistent with the fault that it names, not proof of it."]
    if result.passed and result.findings:
        items.append(f"Checked, nothing found: {', '.join(result.passed)}.")
    items += _unchecked(result)
    return listed("method", "How it was audited", items)


def _unchecked(result: Audit) -> list[str]:
    reasons: dict[str, list[Kind]] = {}
    for each in result.unchecked:
        if each.kind in result.passed or any(each.kind == found.kind for found in result.findings):
            continue  # another metric was looked at
        kinds = reasons.setdefault(each.reason, [])
        if each.kind not in kinds:
            kinds.append(each.kind)
    return [f"Not checked: {and_list(list(kinds), 9)}, because {reason}." for reason, kinds in reasons.items()]
