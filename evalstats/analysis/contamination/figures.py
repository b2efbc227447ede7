"""The figure of a check for contamination: what a suspect gains, what references gain, and what is left."""

from evalstats.analysis.contamination.result import ContaminationCheck, ContaminationRow
from evalstats.document.model import Figure, Table
from evalstats.document.numbers import interval_words, number, plural, several


def inflation(result: ContaminationCheck, table: Table) -> Figure:
    """Return every suspect's inflation; for a single one also the two gains whose difference it is."""
    alone = len(result.rows) == 1
    rows = _steps(result.rows[0], result) if alone else _suspects(result)
    level = f"{100 * result.conf_level:g}%"
    unit = f" ({result.unit})" if result.unit else ""
    return Figure(
        id="inflation",
        plot="forest",
        rows=rows,
        options={
            "title": f"{gain_words(result)}{unit}",
            "reference": 0.0,
            "margin": None if result.margin is None else result.margin * result.scale,
            "digits": 1,
            "side_tones": ("neutral", "bad"),
        },
        alt=_alt(result),
        caption=(
            f"What {result.rows[0].model} gains, what clean models gain, and the difference: inflation; {level} intervals"
            if alone
            else f"Gain beyond that of the references, with {level} intervals, each for itself"
        ),
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


def _steps(row: ContaminationRow, result: ContaminationCheck) -> dict[str, list[object]]:
    scale = result.scale
    own = (row.own, row.own_low, row.own_high)
    left = (row.estimate, row.conf_low, row.conf_high)
    values = [own, (row.reference, None, None), left]
    names = [row.model, f"Mean of {plural(len(row.references), 'reference')}", "Difference: inflation"]
    kept = [place for place, each in enumerate(values) if each[0] is not None]

    def shown(end: int) -> list[object]:
        found = (values[place][end] for place in kept)
        return [None if value is None else value * scale for value in found]

    return {
        "label": [names[place] for place in kept],
        "estimate": shown(0),
        "conf_low": shown(1),
        "conf_high": shown(2),
        "tone": [_tone(row) if place == len(names) - 1 else "neutral" for place in kept],
        "strong": [place == len(names) - 1 for place in kept],
    }


def _suspects(result: ContaminationCheck) -> dict[str, list[object]]:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value * result.scale

    ordered = by_estimate(result)
    return {
        "model": [row.model for row in ordered],
        "estimate": [scaled(row.estimate) for row in ordered],
        "conf_low": [scaled(row.conf_low) for row in ordered],
        "conf_high": [scaled(row.conf_high) for row in ordered],
        "tone": [_tone(row) for row in ordered],
        "settled": [row.verdict in ("inflated", "clean within the margin") for row in ordered],
        "words": [None if row.estimate is not None else "not judged" for row in ordered],
    }


def _tone(row: ContaminationRow) -> str:
    return {"inflated": "bad", "clean within the margin": "good"}.get(row.verdict, "neutral")


def _alt(result: ContaminationCheck) -> str:
    """Say what the figure shows in words."""
    shown = [
        f"{row.model} {number((row.estimate or 0.0) * result.scale, 1, sign=True)} {result.unit}".rstrip()
        + (f" ({interval_words(row.conf_low, row.conf_high, result.scale, 1)})" if row.conf_low is not None else "")
        for row in by_estimate(result)
        if row.estimate is not None
    ]
    return f"Gain beyond the references: {several(shown, 8)}."
