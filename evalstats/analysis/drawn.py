"""A figure of a document, drawn: with matplotlib, and as a picture for anybody's document."""

from base64 import b64encode
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from evalstats.document import model as document_model
from evalstats.document import pandoc
from evalstats.document.quarto import Rendering, rendering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches (the width, or width and height), or one of the sizes that pages are drawn in.
Size = float | tuple[float, float] | Literal["screen", "phone", "print"] | None


def draw(
    figure: document_model.Figure,
    *,
    ax: "Axes | None" = None,
    size: Size = None,
    theme: Literal["light", "dark"] | None = None,
) -> "Figure":
    """Draw a figure of a document with the function of `evalstats.plots` that it names."""
    plot = getattr(import_module("evalstats.plots"), figure.plot)
    with import_module("evalstats.plots.style").themed(theme):
        return plot(figure.rows, ax=ax, size=size, **figure.options)


# Inches of a drawing on a slide: below the words it finds so much room.
_SLIDE = (8.0, 3.2)


def picture(figure: document_model.Figure, into: Rendering | None = None) -> str:
    """Return a drawing as Markdown that holds it, a PNG: for what Quarto renders now, or for `into`.

    Where readers turn from light to dark there are two; on slides none is taller than the room below the words.
    """
    into = into or rendering()

    def drawn(theme: Literal["light", "dark"] | None) -> str:
        return pandoc.image(figure, address(figure, into, theme))

    return pandoc.light_and_dark(drawn("light"), drawn("dark")) if into.both_themes else drawn(None)


def address(figure: document_model.Figure, into: Rendering, theme: Literal["light", "dark"] | None = None) -> str:
    """Return a drawing as an address that holds it, a PNG."""
    shown: Any = draw(figure, theme=theme)
    wide, tall = shown.get_size_inches()
    if into.slides and tall * _SLIDE[0] > wide * _SLIDE[1]:
        shown = draw(figure, size=_SLIDE, theme=theme)
    return f"data:image/png;base64,{b64encode(shown._repr_png_()).decode()}"
