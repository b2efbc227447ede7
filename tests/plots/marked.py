"""What must hold of the marks of any figure: each row has one that says its numbers, and no mark says any other."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from evalstats.plots.canvas import ShownFigure

NUMBER = re.compile(r"(?<![\w.-])[+−]?\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")
NAMES = ("model", "label", "level", "line", "model_a", "scenario")
# Figures of which some rows share a mark or have none.
SHARED = {
    "caterpillar": "of many levels the highest and the lowest are drawn",
    "cumulative": "looks nearer than five pixels to the next are told by it",
    "raincloud": "values are told by their quartiles",
    "sequence": "looks nearer than five pixels to the next are told by it",
}


def amounts(words: str) -> list[tuple[float, float]]:
    """Return the numbers in some words, each with half the unit of its last digit."""
    # "<0.001" and "below 1%" bound a number and are none.
    plain = re.sub(r"(?:<|below )[\d.]+", "", words)
    found = [text.replace(",", "").replace("−", "-") for text in NUMBER.findall(plain)]
    return [(float(text), 0.5 * 10.0 ** -len(text.partition(".")[2])) for text in found]


def stands(value: float, words: str) -> bool:
    """Whether words hold a number, as it is or in percent, rounded to what is written."""
    return any(abs(scale * value - shown) <= half + 1e-6 for shown, half in amounts(words) for scale in (1, 100))


def tooltips(figure: Figure) -> list[Any]:
    assert isinstance(figure, ShownFigure)
    return figure.tooltips


def numbers_of(rows: Mapping[str, Sequence[Any]], place: int) -> list[float]:
    return [
        float(own[place]) for own in rows.values() if isinstance(own[place], int | float) and own[place] == own[place]
    ]


def unmarked(figure: Figure, rows: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the rows with an estimate of which no mark of their name says the estimate and both ends of its interval."""
    told = {(tooltip.name, tooltip.words) for tooltip in tooltips(figure)}
    named = {name for name, _ in told}
    missing: list[str] = []
    for place in range(len(next(iter(rows.values())))):
        row = {name: own[place] for name, own in rows.items()}
        own = {str(row[name]).strip() for name in NAMES if name in row} & named
        values = [row[name] for name in ("estimate", "conf_low", "conf_high") if row.get(name) is not None]
        mine = [words for name, words in told if name in own or not own]
        # What stands for a number in words, such as "9 items", "test only".
        instead = str(row.get("words") or "")
        said = any(all(stands(float(value), words) for value in values) for words in mine)
        if values and not said and not (instead and any(instead in words for words in mine)):
            missing.append(f"{own}: {values}")
    return missing


def invented(figure: Figure, rows: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the marks that say a number that no row of theirs holds, neither as a number nor in its words."""
    n = len(next(iter(rows.values())))
    found: list[str] = []
    names = sorted(
        {str(name) for column in (*NAMES, "model_b") for name in rows.get(column, ())}, key=len, reverse=True
    )
    for tooltip in tooltips(figure):
        said = tooltip.words
        for name in names:
            said = said.replace(name, "")
        mine = [
            k for k in range(n) if any(tooltip.name == str(rows[name][k]).strip() for name in NAMES if name in rows)
        ]
        places = mine or range(n)
        values = [value for place in places for value in numbers_of(rows, place)]
        texts = " ".join(str(own[place]) for own in rows.values() for place in places if isinstance(own[place], str))
        for shown, half in amounts(said):
            known = any(abs(scale * value - shown) <= half + 1e-6 for value in values for scale in (1, 100))
            if not known and not any(shown == other for other, _ in amounts(texts)):
                found.append(f"{tooltip.name}: {tooltip.words} ({shown})")
    return found
