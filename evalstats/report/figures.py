"""Figures for both targets: two inline drawings for the page (wide and narrow), one file for the PDF."""

from pathlib import Path

from evalstats.analysis.result import draw
from evalstats.document.model import Figure
from evalstats.plots.style import svg
from evalstats.report.markup import both, float_block, typst_string

FOLDER = "comparison_files"
_PDF_FONT = "Libertinus Serif"


def figure_float(figure: Figure, label: str, *, caption: str, after: str = "") -> str:
    """Return a figure as a float, drawn once for each medium.

    Inline drawings take their colours from the page, so they follow its dark mode, and their text is the page's text.
    The PDF's drawing is written to a file in the working folder.

    Parameters
    ----------
    figure
        What is drawn, and what it shows in words for those who do not see it.
    label
        Such as "fig-difference".
    caption
        Markdown.
    after
        HTML below the drawing: the link to its data.
    """
    wide, narrow = (
        svg(draw(figure, size=medium), prefix=f"{label}-{medium}-", alt=figure.alt) for medium in ("screen", "phone")
    )
    html = f'<div class="es-figure es-wide">{wide}</div>\n<div class="es-figure es-narrow">{narrow}</div>\n{after}'
    path = Path(FOLDER) / f"{label}.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg(draw(figure, size="print"), adaptive=False, font=_PDF_FONT), encoding="utf-8")
    typst = f"#image({typst_string(path.as_posix())}, alt: {typst_string(figure.alt)}, width: 100%)"
    return float_block(label, both(html, typst), caption)
