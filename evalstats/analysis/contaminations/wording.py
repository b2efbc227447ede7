"""A check for contamination in words: who is inflated, by how much at most, and what that rests on."""

from collections.abc import Mapping, Sequence

from evalstats.analysis.compare.result import qualified
from evalstats.analysis.contaminations.results import ContaminationCheck, ContaminationRow, Verdict
from evalstats.analysis.scales import direction_phrases
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table, Tone
from evalstats.document.numbers import interval, number, p_value, plural, scaled

_LISTED = 4
_TONES: Mapping[Verdict, Tone] = {
    "inflated": "bad",
    "clean within the margin": "good",
    "inconclusive": "caution",
    "invalid": "caution",
}
_WHAT = {
    "split": "Old items against new ones",
    "date": "A break at the cut-off",
    "twins": "Originals against rephrased twins",
}


def contamination_sentences(result: ContaminationCheck) -> list[str]:
    """Who is inflated, by how much at most, what it rests on; then the warnings."""
    return [
        f"{headline(result)}.",
        *standing_sentences(result),
        *[f"Warning: {text}." for text in result.warnings],
    ]


def contamination_blocks(result: ContaminationCheck) -> list[Block]:
    """Return the whole check: the answer, the suspects, what stands beside, and the method."""
    blocks: list[Block] = [
        Heading(text=f"{_WHAT[result.design]} on {result.benchmark}", level=1),
        Banner(label=result.verdict, text=f"{headline(result)}.", tone=_TONES[result.verdict]),
        Paragraph(text=" ".join(standing_sentences(result))),
    ]
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=result.warnings, tone="caution"))
    blocks.extend([suspects_table(result), beside_table(result)])
    widths = widths_table(result)
    blocks.extend([] if widths is None else [widths])
    blocks.append(Bullets(title="Method", items=tuple(method_items(result))))
    if result.notes:
        blocks.append(Bullets(title="Notes", items=result.notes))
    return blocks


def headline(result: ContaminationCheck) -> str:
    """Return the answer in one sentence, without its full stop."""
    return qualified(_headline(result), () if result.verdict == "invalid" else direction_phrases(result.direction))


def _headline(result: ContaminationCheck) -> str:
    inflated = result.inflated()
    if inflated:
        rows = [result.row(name) for name in inflated[:_LISTED]]
        told = "; ".join(f"{row.model} by {amount(row.estimate, result)} {ends(row, result)}" for row in rows)
        more = f"; and {len(inflated) - _LISTED} more" if len(inflated) > _LISTED else ""
        return f"Scores on {old_words(result)} are inflated: {told}{more}"
    many = len(result.rows) > 1
    if result.verdict == "clean within the margin":
        whose = "every suspect" if many else result.rows[0].model
        return f"{whose} is clean within the margin of {scaled(result.margin, result.scale)} {result.unit}".rstrip()
    if result.verdict == "invalid":
        return f"Nothing can be said of contamination: {result.reason}"
    if all(row.largest is None for row in result.rows):
        return (
            "Described and not judged: there are too few references to tell an inflation from how clean models differ"
        )
    whose = f"any of {len(result.rows)} suspects" if many else result.rows[0].model
    return f"No inflation is shown for {whose}" + ("" if many else f": {result.reason}")


def standing_sentences(result: ContaminationCheck) -> list[str]:
    """Say what each suspect could have at most, and what is only described."""
    told: list[str] = []
    known = [row for row in result.rows if row.largest is not None]
    if known:
        worst = sorted(known, key=lambda row: -(row.largest or 0.0))[:_LISTED]
        listed = "; ".join(f"{row.model} {amount(row.largest, result)}" for row in worst)
        of = "" if len(known) <= _LISTED else f" (of {len(known)}, the {_LISTED} largest)"
        told.append(f"The largest inflation that the data leave possible, at {level(result)}{of}: {listed}.")
    described = [row for row in result.rows if row.estimate is not None and row.largest is None]
    if described:
        listed = "; ".join(f"{row.model} {amount(row.estimate, result)}" for row in described[:_LISTED])
        told.append(
            f"Advantage beyond the references, described and not judged: {listed}. {capital(described[0].reason)}."
        )
    invalid = [row for row in result.rows if row.verdict == "invalid"]
    if invalid and result.verdict != "invalid":
        told.append(f"Nothing can be said of {', '.join(row.model for row in invalid[:_LISTED])}: {invalid[0].reason}.")
    alone = next((row for row in known if row.item_p_value is not None), None)
    if alone is not None:
        told.append(
            f"Items alone would give {alone.model} p {_p(alone.item_p_value)}, where with how far clean models differ it is "
            f"{_p(alone.p_value).removeprefix('= ')}: items alone take all clean models to be alike, and with three references "
            "can find an inflation in up to 40% of the models that have none."
        )
    return told


def suspects_table(result: ContaminationCheck) -> Table:
    """Every suspect: its inflation with its interval, p, and the verdict."""
    unit = f" ({result.unit})" if result.unit else ""
    p = "p, one-sided" if result.alternative == "greater" else "p"
    return Table(
        columns=(
            "Model",
            f"Inflation{unit}",
            f"{level(result)} interval",
            p,
            "p adjusted",
            "Verdict",
        ),
        rows=tuple(
            (
                row.model,
                scaled(row.estimate, result.scale, 1, sign=True),
                interval(row.conf_low, row.conf_high, result.scale, 1, sign=True),
                p_value(row.p_value),
                p_value(row.p_adjusted),
                row.verdict if row.largest is not None or row.verdict == "invalid" else "described only",
            )
            for row in result.rows
        ),
        align="lrrrrl",
        caption=f"Advantage on {old_words(result)} beyond that of the references; the upper end is the most there can be",
        wide=("p adjusted",) if len(result.rows) == 1 else (p,),
    )


def beside_table(result: ContaminationCheck) -> Table:
    """Every suspect's own advantage, the references', and what each rests on."""
    sides = ("Pairs",) if result.design == "twins" else ("Old", "New")
    return Table(
        columns=("Model", "Own", "Interval", "References", "Number", "Spread", *sides),
        rows=tuple(
            (
                row.model,
                scaled(row.own, result.scale, 1, sign=True),
                interval(row.own_low, row.own_high, result.scale, 1, sign=True),
                scaled(row.reference, result.scale, 1, sign=True),
                str(len(row.references)),
                scaled(row.between_sd, result.scale, 1),
                *((f"{row.n_old:,}",) if result.design == "twins" else (f"{row.n_old:,}", f"{row.n_new:,}")),
            )
            for row in result.rows
        ),
        align="lrrrrr" + "r" * len(sides),
        caption=(
            "Own advantage, which difficulty may explain; that of the references, their number, and how far they differ beyond "
            "item noise; items"
        ),
        wide=("Interval",),
    )


def widths_table(result: ContaminationCheck) -> Table | None:
    """Return the break by other bandwidths and by parabolas; None for other designs."""
    rows = [(row, each) for row in result.rows for each in row.widths]
    if not rows:
        return None
    return Table(
        columns=("Model", "Days", "Lines", "Break", f"{level(result)} interval", "p", "Before", "After"),
        rows=tuple(
            (
                row.model,
                number(each.width, 0),
                "straight" if each.order == 1 else "parabolas",
                scaled(each.estimate, result.scale, 1, sign=True),
                interval(each.conf_low, each.conf_high, result.scale, 1, sign=True),
                p_value(each.p_value),
                f"{each.n_old:,}",
                f"{each.n_new:,}",
            )
            for row, each in rows
        ),
        align="lrlrrrrr",
        caption="Does the break hang on how far from the cut-off items count, or on the shape of the lines?",
        wide=("p",),
    )


def method_items(result: ContaminationCheck) -> list[str]:
    """Return short statements on how the answer was reached."""
    against = (
        f"References: {_some(result.references)}."
        if result.references
        else "References: for each model all the others."
    )
    margin = (
        "none declared" if result.margin is None else f"{scaled(result.margin, result.scale)} {result.unit}".rstrip()
    )
    digests = ", ".join(f"{run} ({digest[:12]})" if digest else run for run, digest in result.sources[:_LISTED])
    more = f" and {len(result.sources) - _LISTED} more" if len(result.sources) > _LISTED else ""
    clusters = f"; clusters: {' and '.join(result.clusters)}" if result.clusters else ""
    told = [
        f"Estimand: {result.estimand}{clusters}.",
        f"Method: {result.method}, because {result.method_reason}.",
        against,
        f"p adjusted by Holm over {plural(len(result.rows), 'suspect')}; intervals are for each one alone. Margin: {margin}.",
        "An advantage on old items is evidence of exposure only where the references are clean and like the suspect otherwise.",
    ]
    told.extend(
        f"{row.model}: cut-off {row.cutoff}, items within {number(row.bandwidth, 0)} days ({row.bandwidth_reason})."
        for row in result.rows[:_LISTED]
        if row.bandwidth is not None
    )
    return [*told, f"Runs: {digests}{more}. evalstats {result.version}."]


def old_words(result: ContaminationCheck) -> str:
    """Say which items may have been seen."""
    if result.design == "date":
        return "items from before the cut-off"
    return f"{result.old} items"


def amount(value: float | None, result: ContaminationCheck) -> str:
    """Write an amount with its sign and unit."""
    shown = scaled(value, result.scale, 1, sign=True)
    return f"{shown} {result.unit}".rstrip()


def ends(row: ContaminationRow, result: ContaminationCheck) -> str:
    """Write the interval of a line."""
    return interval(row.conf_low, row.conf_high, result.scale, 1, sign=True)


def level(result: ContaminationCheck) -> str:
    """Write the level of the intervals."""
    return f"{100 * result.conf_level:g}%"


def capital(text: str) -> str:
    """Begin with a capital."""
    return text[:1].upper() + text[1:]


def _p(value: float | None) -> str:
    shown = p_value(value)
    return shown if shown.startswith(("<", ">")) else f"= {shown}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return shown + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
