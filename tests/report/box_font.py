"""Make the font of boxes that PDFs fall back on: `python tests/report/box_font.py FILE`.

One drawing, a box, serves every letter of Unicode but the Latin ones, which are those of DejaVu Sans: where a line of a
drawing has a letter that its font lacks, Typst takes a font for the whole line that has all its letters. Typst ranks fonts by
how like the text's own they are; this one calls itself slanted, thin and wide, so that it is taken last.
"""

import io
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables import _c_m_a_p as cmap_module

NAME = "Evalstats Boxes"
UNITS = 2048
ADVANCE = 1264  # no common font has this width, so that the template can tell a box by it
LATIN = (*range(0x20, 0x7F), *range(0xA0, 0x180), *map(ord, "–—‘’“”•…−×±≤≥←→✓✕"))
# All but the controls and the surrogates, which are no letters.
RANGES = ((0x20, 0xD7FF), (0xE000, 0x10FFFF))
_COPYRIGHT, _FAMILY, _STYLE, _ID, _FULL, _VERSION, _POSTSCRIPT, _LICENCE = 0, 1, 2, 3, 4, 5, 6, 13


def box() -> Any:
    """Return a frame: an outer path one way round, an inner one the other."""
    pen: Any = TTGlyphPen(None)
    left, right, top, line = 140, ADVANCE - 140, 1310, 82
    inner = ((left + line, line), (right - line, line), (right - line, top - line), (left + line, top - line))
    for path in (((left, 0), (left, top), (right, top), (right, 0)), inner):
        pen.moveTo(path[0])
        for point in path[1:]:
            pen.lineTo(point)
        pen.closePath()
    return pen.glyph()


def latin() -> Any:
    """Return DejaVu Sans with nothing but plain Latin letters."""
    font: Any = TTFont(Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", recalcTimestamp=False)
    options = Options(
        layout_features=[], hinting=False, glyph_names=False, name_IDs=[_COPYRIGHT, _LICENCE], notdef_outline=True
    )
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "kern", "FFTM"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=LATIN)
    subsetter.subset(font)
    return font


def made() -> bytes:
    """Return the font; the same bytes each time."""
    font = latin()
    letters = font.getBestCmap()
    order = [*font.getGlyphOrder(), "box"]
    font["glyf"]["box"] = box()
    font["hmtx"]["box"] = (ADVANCE, 140)
    font.setGlyphOrder(order)
    table: Any = cmap_module.CmapSubtable.newSubtable(13)
    table.platformID, table.platEncID, table.language = 0, 6, 0
    table.format, table.reserved, table.length, table.nGroups = 13, 0, 0, 0
    table.cmap = {letter: letters.get(letter, "box") for first, last in RANGES for letter in range(first, last + 1)}
    font["cmap"].tables = [table]
    names = {
        _FAMILY: NAME, _STYLE: "Thin Expanded Italic", _ID: "evalstats-boxes-1", _FULL: f"{NAME} Thin Expanded Italic",
        _VERSION: "Version 1.0", _POSTSCRIPT: "EvalstatsBoxes",
    }  # fmt: skip
    for number, text in names.items():
        font["name"].setName(text, number, 3, 1, 0x409)
    font["OS/2"].usWeightClass, font["OS/2"].usWidthClass, font["OS/2"].fsSelection = 100, 9, 1
    font["head"].macStyle = 2
    font["head"].created = font["head"].modified = 0
    stream = io.BytesIO()
    font.save(stream)
    return stream.getvalue()


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(made())
