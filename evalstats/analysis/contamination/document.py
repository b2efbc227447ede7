"""What is said of a check for contamination: who is inflated, by how much at most, and what that rests on."""

from collections.abc import Mapping
from typing import Literal

from evalstats.analysis.contamination.result import ContaminationCheck, ContaminationRow, Verdict
from evalstats.analysis.design.metric import asked_direction
from evalstats.analysis.method_texts import MethodText, known_methods
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import Estimate, level, scaled_values
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
    interval_column,
    listed,
    number_column,
    sentence,
)
from evalstats.document.names import named
from evalstats.document.numbers import declared, interval_words, number, p_words
from evalstats.errors import Option
from evalstats.grammar import and_list, first_lines, plural
from evalstats.stats.contamination import MIN_REFERENCES

_LISTED = 5
_DIFFERENCE = "Difference: inflation"
Ends = tuple[float | None, float | None] | None


def inflation(result: ContaminationCheck, table: Table) -> Figure:
    """Return every suspect's inflation; for a single one also the two gains whose difference it is."""
    ordered, alone = by_estimate(result), len(result.rows) == 1
    tones = {"inflated": "bad", "clean within the margin": "good"}
    if alone:
        row = result.rows[0]
        shown = [step for step in _gains_of(row, latent=result.compared == "latent") if step[1] is not None]
        answers = [name == _DIFFERENCE for name, _, _ in shown]
        marks = {
            "tone": [tones.get(row.verdict, "neutral") if each else "neutral" for each in answers],
            "strong": answers,
        }
        caption = f"Gain of {row.model}, gain of clean models, and the difference: inflation; {level(result)} intervals"
    else:
        shown = [(row.model, row.estimate, row.ends) for row in ordered]
        marks = {
            "tone": [tones.get(row.verdict, "neutral") for row in ordered],
            "settled": [row.verdict in tones for row in ordered],
        }
        caption = f"Gain beyond that of the references, with {level(result)} intervals, each for itself"
    unit = f" ({result.unit})" if result.unit else ""
    said = [f"{row.model} {_amount(row.estimate, result, sign=True)}" for row in ordered if row.estimate is not None]
    return Figure(
        id="inflation",
        plot="forest",
        rows={
            "label" if alone else "model": [name for name, _, _ in shown],
            "estimate": [*scaled_values([value for _, value, _ in shown], result.scale)],
            "conf_low": [*scaled_values([ends and ends[0] for _, _, ends in shown], result.scale)],
            "conf_high": [*scaled_values([ends and ends[1] for _, _, ends in shown], result.scale)],
            **marks,
        },
        options={
            "title": f"{gain_words(result)}{unit}",
            "reference": 0.0,
            "margin": None if result.margin is None else result.margin * result.scale,
            "digits": 1,
            "side_tones": ("neutral", "bad"),
        },
        alt=f"Gain beyond the references: {and_list(said, 8)}.",
        caption=caption,
        table=table,
    )


def old_words(result: ContaminationCheck) -> str:
    """Say which items may have been seen."""
    return "items from before its cut-off" if result.design == "date" else f"{result.old} items"


def gain_words(result: ContaminationCheck) -> str:
    """Say what is measured of every model."""
    return "Drop at the cut-off" if result.design == "date" else f"Gain on {result.old} items"


def by_estimate(result: ContaminationCheck) -> list[ContaminationRow]:
    """Return the suspects, the most inflated first; those without an estimate last."""
    return sorted(result.rows, key=lambda row: (row.estimate is None, -(row.estimate or 0.0)))


def _gains_of(row: ContaminationRow, *, latent: bool) -> tuple[tuple[str, float | None, Ends], ...]:
    """Return the gains of a suspect and of clean models, and their difference, with intervals."""
    own = None if row.own_low is None else (row.own_low, row.own_high)
    return (
        (row.model, row.own, own),
        (
            "A clean model of its ability" if latent else f"Mean of {plural(len(row.references), 'reference')}",
            row.reference,
            None,
        ),
        (_DIFFERENCE, row.estimate, row.ends),
    )


def method_sections(result: ContaminationCheck) -> tuple[Section, ...]:
    """Return how it was computed, what it assumes, and the references."""
    texts = _texts(result)
    return (
        Section(
            id="method",
            heading="How inflation is measured",
            blocks=(
                *(Text(text=each.how) for each in texts),
                Text(text=_error(result)),
                Items(items=_facts(result)),
            ),
        ),
        listed("assumptions", "What this assumes", _assumptions(result)),
        Section(
            id="references",
            heading="References",
            blocks=(Items(items=tuple(source for each in texts for source in each.sources)),),
        ),
    )


def _texts(result: ContaminationCheck) -> list[MethodText]:
    """Return what is told of each part of the method."""
    return [known_methods()[name] for name in result.method.split("; ")]


def _error(result: ContaminationCheck) -> str:
    few = min((len(row.references) for row in result.rows), default=0)
    if few < MIN_REFERENCES:
        rest = f"{plural(few, 'reference')} cannot show the second, so there is no interval and no verdict."
    else:
        df = min((row.df for row in result.rows if row.df is not None), default=few - 1.0)
        rest = (
            f"The second is estimated from {few} references: the interval is Student's with {number(df, 0)} "
            "degrees of freedom."
        )
    return (
        f"Two things blur the answer: items are a sample, and clean models differ in what they gain. {rest} "
        "Items alone would ignore the second, and with three references call up to 40% of clean models inflated."
    )


def _facts(result: ContaminationCheck) -> tuple[str, ...]:
    clusters = f"; clusters: {' and '.join(result.clusters)}" if result.clusters else ""
    family = len(result.rows)
    unit = f" {result.unit}" if result.unit else ""
    found = [
        f"Estimand: {result.estimand}{clusters}.",
        f"Method: {result.method}.",
        *([f"Models are compared in points: {result.compared_reason}."] if result.compared == "points" else []),
        f"References: {and_list(result.references, _LISTED)}."
        if result.references
        else "References: for each model all the others.",
    ]
    if family > 1:
        found.append(f"p is adjusted by Holm over {family} suspects; intervals are for each one alone.")
    if result.margin is not None:
        found.append(f"Margin: {declared(result.margin, result.scale)}{unit}.")
    spread = result.rows[0].between_sd if family == 1 else None
    if spread is not None:
        more = f"by an SD of {number(spread * result.scale, 1)}{unit} beyond" if spread > 0 else "no more than by"
        found.append(f"References differ {more} item noise.")
    if result.direction == "assumed":
        found.append("Higher is assumed better; no file declares it.")
    dated = [
        f"{row.model}: cut-off {row.cutoff}, items within {number(row.bandwidth, 0)} days ({row.bandwidth_reason})."
        for row in result.rows
        if row.bandwidth is not None
    ]
    return (*found, *first_lines(dated, _LISTED))


def _assumptions(result: ContaminationCheck) -> tuple[str, ...]:
    clean = (
        "The references have not seen the items; if they have, inflation is hidden."
        if result.references
        else "Most models are clean: each is compared with all the others, so what most of them have seen cannot show."
    )
    lost = [row for row in result.rows if row.n_left_out]
    missing = [f"{plural(lost[0].n_left_out, 'item')} that some model lacks are like the rest."] if lost else []
    proof = "A gain is evidence of exposure, not proof: something else may set the model apart on these items."
    return (clean, *(each.takes for each in _texts(result)), *missing, proof)


_SHOWN = 20
# More references than this hardly narrow the interval.
_ENOUGH = 10
_TONES: Mapping[Verdict | Literal["described only"], Tone] = {
    "inflated": "bad",
    "clean within the margin": "good",
    "inconclusive": "caution",
    "invalid": "caution",
    "described only": "caution",
}


def document(result: ContaminationCheck) -> Document:
    """Return what is said of a check for contamination."""
    asked = [] if result.verdict == "invalid" else asked_direction(result.direction)
    value, words, drawn = _number(result)
    alone = named(result.rows[0].model) if len(result.rows) == 1 else ""
    if result.design == "date":
        cutoff = "its training cut-off" if alone else "their training cut-offs"
        question = f"{f'Does {alone}' if alone else 'Do models'} drop{placed(result.benchmark)} at {cutoff}"
    else:
        seen = f"inflated on {result.old} items{placed(result.benchmark, 'of')}"
        question = f"{f'Is {alone}' if alone else 'Are models'} {seen}"
    return Document(
        kind="contamination",
        title=f"{question}?",
        label="described only" if _described(result) else result.verdict,
        tone=_TONES[result.verdict],
        headline="; ".join((_headline(result), *asked)),
        number=value,
        number_words=words,
        interval=drawn,
        scope=_scope(result),
        answer=_answer(result),
        notes=result.notes,
        actions=tuple(_actions(result)),
        evidence=(*_own(result), *_scales(result), *_bandwidths(result)),
        method=(
            *method_sections(result),
            result.origin.section(),
        ),
    )


def _headline(result: ContaminationCheck) -> str:
    rows, first = result.rows, result.rows[0]
    others = "clean models do" if result.references else "the others do"
    inflated = result.inflated()
    if inflated:
        return f"{and_list([*map(named, inflated)])} {_gains(result, many=len(inflated) > 1)} than {others}"
    whose = named(first.model) if len(rows) == 1 else f"any of {len(rows)} models"
    if result.verdict == "invalid":
        return f"These data cannot tell whether {whose} is inflated"
    if result.verdict == "clean within the margin":
        whose = named(first.model) if len(rows) == 1 else f"all {len(rows)} models"
        margin = f"{declared(result.margin or 0.0, result.scale)} {result.unit}".rstrip()
        return f"An inflation of {margin} is ruled out for {whose}"
    if _described(result):
        few = max(len(row.references) for row in rows)
        return f"{plural(few, 'reference')} cannot show what clean models do, so {whose} is not judged"
    unsettled = [named(row.model) for row in rows if _unsettled(row, result)]
    if unsettled:
        return (
            f"It is not settled whether {and_list(unsettled)} {_gains(result, many=len(unsettled) > 1)} than {others}"
        )
    if all(row.conf_high is not None and row.conf_high < 0 for row in rows):
        return f"No sign of contamination: {whose} {_gains(result).replace('more', 'less')} than {others}"
    most = max(row.largest for row in rows if row.largest is not None)
    return f"No inflation of {whose} is shown, and up to {_amount(most, result)} is possible"


def _gains(result: ContaminationCheck, *, many: bool = False) -> str:
    s = "" if many else "s"
    if result.design == "date":
        return f"drop{s} more at {'their' if many else 'its'} training cut-off"
    return f"gain{s} more on {old_words(result)}"


def _number(result: ContaminationCheck) -> tuple[str, str, Interval | None]:
    """Return the amount that answers with its interval: of the one suspect, or the one that is inflated."""
    told = result.inflated() or tuple(row.model for row in result.rows)
    row = result.row(told[0])
    if len(told) != 1 or row.estimate is None or row.conf_low is None:
        return "", "", None
    family = len([each for each in result.rows if each.p_value is not None])
    p = p_words(row.p_adjusted) + (f" adjusted for {family} suspects" if family > 1 else "")
    ends = interval_words(row.conf_low, row.conf_high, result.scale, 1)
    drawn = drawn_interval(
        row.estimate,
        row.ends,
        scale=result.scale,
        unit=result.unit,
        origin=0.0,
        margin=result.margin or 0.0,
        conf_level=result.conf_level,
        p_value=row.p_adjusted,
    )
    return _amount(row.estimate, result, sign=True), f"{level(result)} CI {ends}, {p}", drawn


def _scope(result: ContaminationCheck) -> str:
    if result.verdict == "invalid":
        return ""
    counts = sorted({row.n_old for row in result.rows}), sorted({row.n_new for row in result.rows})
    n_old, n_new = (f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}" for found in counts)
    what = {
        "split": f"Mean {result.metric} on {n_old} {result.old} minus {n_new} {result.new} items",
        "date": f"Drop of {result.metric} at the cut-off, from {n_old} items before and {n_new} after",
        "twins": f"Mean {result.metric} on {n_old} {result.old} items minus their {result.new} twins",
    }[result.design]
    few = sorted({len(row.references) for row in result.rows})
    count = f"{few[0]}" if len(few) == 1 else f"{few[0]} to {few[-1]}"
    model = "model" if few == [1] else "models"
    others = f"{model} named as clean" if result.references else f"other {model}"
    return f"{what}, beyond that of {count} {others}"


def _answer(result: ContaminationCheck) -> tuple[Block, ...]:
    if result.verdict == "invalid":
        return (Text(text=sentence(result.reason)),)
    blocks: list[Block] = [inflation(result, _steps(result) if len(result.rows) == 1 else _suspects(result))]
    apart = [row for row in result.rows if row.verdict == "invalid"]
    if apart:
        blocks.append(Text(text=f"Not judged: {and_list([row.model for row in apart])}. {sentence(apart[0].reason)}"))
    blocks += [Text(text=f"{row.model}: {row.reason}.") for row in result.rows if _unsettled(row, result)][:_LISTED]
    return tuple(blocks)


def _unsettled(row: ContaminationRow, result: ContaminationCheck) -> bool:
    """Whether a model would be inflated, were it not for its range or for the other scale."""
    beyond = (row.estimate or 0.0) > 0 and (row.p_adjusted or 1.0) <= 1.0 - result.conf_level
    return row.verdict == "inconclusive" and beyond


def _steps(result: ContaminationCheck) -> Table:
    """Return the two gains of a single suspect and their difference."""
    row = result.rows[0]
    return Table(
        id="suspects",
        columns=(
            Column(title="Gain of", kind="name"),
            number_column(result, gain_words(result), sign=True),
            interval_column(result),
        ),
        rows=tuple(step for step in _gains_of(row, latent=result.compared == "latent") if step[1] is not None),
        caption=f"Gain of {row.model}, gain of clean models, and the difference",
        frame=result.to_frame().to_dict(as_series=False),
    )


def _suspects(result: ContaminationCheck) -> Table:
    return Table(
        id="suspects",
        columns=(
            Column(title="Model", kind="name"),
            number_column(result, "Inflation", sign=True),
            interval_column(result),
            Column(title="p adjusted" if len(result.rows) > 1 else "p", kind="p"),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=tuple(
            (
                row.model,
                row.estimate,
                row.ends,
                row.p_adjusted,
                row.verdict if row.largest is not None or row.verdict == "invalid" else "described only",
            )
            for row in by_estimate(result)
        ),
        caption=f"Advantage on {old_words(result)} beyond that of the references; its upper end is the largest possible",
        tones={str(word): tone for word, tone in _TONES.items()},
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )


def _actions(result: ContaminationCheck) -> list[str]:
    found: list[str] = []
    inflated = result.inflated()
    if inflated:
        other = "the items after the cut-off" if result.design == "date" else f"the {result.new} items"
        found.append(f"Rank {and_list([*map(named, inflated)])} by {other} alone.")
    few = min((len(row.references) for row in result.rows), default=0)
    open_ = any(row.verdict not in {"inflated", "clean within the margin"} for row in result.rows)
    if open_ and few < _ENOUGH:
        found.append(f"Add models known to be clean: {few} leave the interval wide.")
    if result.margin is None and not inflated:
        found.append(
            f"Declare the inflation that would not matter ({named(Option('margin'))}); without it no model can be called clean."
        )
    if open_ and result.design != "twins":
        found.append("Rephrase the items: twins remove difficulty pair by pair.")
    return found


def _own(result: ContaminationCheck) -> list[Section]:
    means = [row.reference for row in result.rows if row.reference is not None]
    if len(result.rows) < 2 or not means:
        return []
    ends = interval_words(min(means), max(means), result.scale, 1, sign=True)
    whose = "Clean models" if result.references else "The others"
    text = "Gains of references are attributed to difficulty; a suspect's gain beyond them estimates inflation."
    heading = f"{whose} gain {ends} {result.unit}".rstrip()
    twins, scale = result.design == "twins", result.scale
    spread = (
        "; SD: how far they differ beyond item noise" if any(row.between_sd is not None for row in result.rows) else ""
    )
    table = Table(
        id="difficulty",
        columns=(
            Column(title="Model", kind="name"),
            number_column(result, "Own gain", sign=True),
            interval_column(result, spare=True),
            Column(title="References", kind="number", scale=scale, sign=True),
            Column(title="Their SD", kind="number", scale=scale),
            Column(title="Pairs" if twins else "Old", kind="count"),
            *(() if twins else (Column(title="New", kind="count"),)),
        ),
        rows=tuple(
            (
                *(row.model, row.own, None if row.own_low is None else (row.own_low, row.own_high)),
                *(row.reference, row.between_sd, row.n_old, *(() if twins else (row.n_new,))),
            )
            for row in by_estimate(result)
        ),
        caption=f"Gain on {old_words(result)} of each suspect, and the mean of its references{spread}",
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )
    return [Section(id="difficulty", heading=heading, blocks=(Text(text=text), table))]


def _scales(result: ContaminationCheck) -> list[Section]:
    """Return the answer on both scales, side by side."""
    rows = [row for row in by_estimate(result) if row.logits is not None and row.points is not None]
    if not rows:
        return []
    apart = [
        row.model
        for row in rows
        if (row.logits and row.logits.excludes_zero) != (row.points and row.points.excludes_zero)
    ]
    heading = f"In points alone {and_list(apart)} would look different" if apart else "Points alone agree"
    table = Table(
        id="scales",
        columns=(
            Column(title="Model", kind="name"),
            Column(title="Ability (logits)", kind="number", sign=True),
            interval_column(result, scale=1.0),
            Column(title="p", kind="p"),
            number_column(result, "Points", sign=True),
            interval_column(result),
            Column(title="p", kind="p"),
        ),
        rows=tuple((row.model, *_cells(row.logits), *_cells(row.points)) for row in rows),
        caption="Gain of each beyond its references, in ability and in points; ability decides",
        most=_SHOWN,
    )
    return [Section(id="scales", heading=heading, blocks=(table,), news=bool(apart))]


def _cells(found: Estimate | None) -> tuple[float | None, Ends, float | None]:
    ends = None if found is None or found.conf_low is None else (found.conf_low, found.conf_high)
    return (None, None, None) if found is None else (found.estimate, ends, found.p_value)


def _bandwidths(result: ContaminationCheck) -> list[Section]:
    """Return whether the break hangs on how far from the cut-off items count, or on the shape of the lines."""
    rows = [(row, each) for row in result.rows for each in row.widths]
    if not rows:
        return []
    known = [(row, each) for row, each in rows if each.estimate is not None and row.estimate is not None]
    turned = [row.model for row, each in known if (row.estimate or 0.0) * (each.estimate or 0.0) < 0]
    heading = "The break keeps its sign at other bandwidths"
    if turned:
        heading = f"The break of {and_list(list(dict.fromkeys(turned)))} changes sign at another bandwidth"
    table = Table(
        id="bandwidths",
        columns=(
            Column(title="Model", kind="name"),
            Column(title="Days", kind="number", digits=0),
            Column(title="Lines"),
            number_column(result, "Break", sign=True),
            interval_column(result),
            Column(title="p", kind="p"),
            Column(title="Before", kind="count", spare=True),
            Column(title="After", kind="count", spare=True),
        ),
        rows=tuple(
            (
                *(row.model, each.width, "straight" if each.order == 1 else "parabolas"),
                *(each.estimate, each.ends, each.p_value, each.n_old, each.n_new),
            )
            for row, each in rows
        ),
        caption="The break within other distances from the cut-off, and with parabolas",
        most=_SHOWN,
    )
    return [Section(id="bandwidths", heading=heading, blocks=(table,), news=bool(turned))]


def _described(result: ContaminationCheck) -> bool:
    return result.verdict == "inconclusive" and all(row.largest is None for row in result.rows)


def _amount(value: float | None, result: ContaminationCheck, *, sign: bool = False) -> str:
    shown = number(None if value is None else value * result.scale, 1, sign=sign)
    return f"{shown} {result.unit}".rstrip()
