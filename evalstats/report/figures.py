"""Figures for both targets: two inline drawings for the page (wide and narrow), one file for the PDF."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure as Drawing

from evalstats.analysis.result import draw
from evalstats.document.model import Figure
from evalstats.plots.style import Medium, svg
from evalstats.report.markup import both, float_block, typst_string

FOLDER = "comparison_files"
_PDF_FONT = "Libertinus Serif"


def figure_float(
    figure: Figure | Callable[[Medium], Drawing], label: str, *, caption: str, alt: str = "", after: str = ""
) -> str:
    """Return a figure as a float, drawn once for each medium.

    Inline drawings take their colours from the page, so they follow its dark mode, and their text is the page's text.
    The PDF's drawing is written to a file in the working folder.

    Parameters
    ----------
    figure
        What is drawn; or a function called with "screen", "phone" and "print".
    label
        Such as "fig-difference".
    caption
        Markdown.
    alt
        Text for those who do not see the figure; by itself the figure's.
    after
        HTML below the drawing: the link to its data.
    """
    alt = figure.alt if isinstance(figure, Figure) else alt

    def drawn(medium: Medium) -> Drawing:
        return draw(figure, size=medium) if isinstance(figure, Figure) else figure(medium)

    wide, narrow = (svg(drawn(medium), prefix=f"{label}-{medium}-", alt=alt) for medium in ("screen", "phone"))
    html = f'<div class="es-figure es-wide">{wide}</div>\n<div class="es-figure es-narrow">{narrow}</div>\n{after}'
    path = Path(FOLDER) / f"{label}.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg(drawn("print"), adaptive=False, font=_PDF_FONT), encoding="utf-8")
    typst = f"#image({typst_string(path.as_posix())}, alt: {typst_string(alt)}, width: 100%)"
    return float_block(label, both(html, typst), caption)
