"""Drawings as lists of shapes, in whole pixels: what a figure looks like, in a form that a diff shows.

`python -m tests.plots.snapshots` writes them anew, after a change that is meant; look at the figures then.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from evalstats.plots.style import svg
from tests.plots.gallery import GALLERY

FOLDER = Path(__file__).with_name("snapshots")
# The answer's figures: a comparison, an arena's ratings and wins, a board's ranks, lab against live, scenarios.
NAMES = ("differences", "ratings", "wins", "ranks", "points", "cells", "caterpillar")
# Another version of the library or of its font may move a mark by this many pixels.
TOLERANCE = 2
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_ROLE = re.compile(r"var\(--es-([\w-]+)[^)]*\)")


def drawn(name: str) -> list[str]:
    """Return the shapes of a figure of the gallery, as a page shows it on a screen."""
    return shapes(svg(GALLERY[name](size="screen")))


def shapes(drawing: str) -> list[str]:
    """Return what is drawn, in its order: a word for the shape, its box (left, top, width, height) or place, and its colours.

    What answers a pointer is left out: it is not seen.
    """
    root = ET.fromstring(drawing)  # noqa: S314 - of our own making
    named = {each.get("id", ""): each for each in root.iter(f"{_SVG}path") if each.get("id")}
    return list(_shapes(root, named))


def _shapes(node: ET.Element, named: dict[str, ET.Element]) -> Iterator[str]:
    for each in node:
        if each.tag == f"{_SVG}path":
            yield from _shape("shape", each, _style(each), 0.0, 0.0)
        elif each.tag == f"{_SVG}use":
            shape = named[each.get(_LINK, "").removeprefix("#")]
            style = _style(shape) | _style(each)
            yield from _shape("mark", shape, style, float(each.get("x", 0)), float(each.get("y", 0)))
        elif each.tag == f"{_SVG}text":
            place = f"{round(float(each.get('x', 0)))} {round(float(each.get('y', 0)))}"
            yield f"text {place} {_style(each).get('fill', '')} {' '.join(''.join(each.itertext()).split())}"
        elif each.tag != f"{_SVG}defs":
            yield from _shapes(each, named)


def _shape(word: str, path: ET.Element, style: dict[str, str], right: float, down: float) -> Iterator[str]:
    colours = [f"{key}={value}" for key in ("fill", "stroke", "opacity") if (value := style.get(key, "none")) != "none"]
    numbers = [float(each) for each in _NUMBER.findall(path.get("d", ""))]
    if not colours or not numbers:
        return
    across, along = ([place + by for place in numbers[start::2]] for start, by in ((0, right), (1, down)))
    box = (min(across), min(along), max(across) - min(across), max(along) - min(along))
    yield " ".join([word, *(str(round(each)) for each in box), *colours])


def _style(each: ET.Element) -> dict[str, str]:
    pairs = (part.split(":", 1) for part in each.get("style", "").split(";") if ":" in part)
    return {key.strip(): _ROLE.sub(r"\1", value.strip()) for key, value in pairs}


def departures(found: list[str], stored: list[str]) -> list[str]:
    """Return what is drawn otherwise than it was: another shape, another colour, another word, or moved beyond the tolerance."""
    if len(found) != len(stored):
        return [f"{len(found)} shapes instead of {len(stored)}"]
    return [f"{own}, instead of {other}" for own, other in zip(found, stored, strict=True) if not _alike(own, other)]


def _alike(own: str, other: str) -> bool:
    # Numbers first: a name may hold any of them.
    head = re.compile(r"(\w+)((?: -?\d+){2,4})(.*)")
    left, right = head.fullmatch(own), head.fullmatch(other)
    if left is None or right is None or (left[1], left[3]) != (right[1], right[3]):
        return own == other
    numbers = ([int(each) for each in found[2].split()] for found in (left, right))
    return all(abs(a - b) <= TOLERANCE for a, b in zip(*numbers, strict=True))


def main() -> None:
    """Write all snapshots."""
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        (FOLDER / f"{name}.txt").write_text("\n".join(drawn(name)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
