"""The visual language: colours by role, and figures that look the same wherever they are made.

Colours have roles, not names. A figure is drawn in the light palette; `svg` writes each role as a CSS variable with the
light colour behind it, so one file follows a page's dark mode and still reads where no style sheet reaches it.
"""

import io
import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, Final, Literal
from xml.sax.saxutils import escape, quoteattr

import matplotlib as mpl
from matplotlib.figure import Figure

from evalstats.errors import InputError
from evalstats.record import record

Medium = Literal["screen", "phone", "print"]


@record
class Palette:
    """A colour for every role.

    `good`, `bad` and `neutral` are the Okabe-Ito blue, vermillion and a grey, darkened or lightened until text in them
    has a contrast of at least 4.5 to 1 on `surface`. Blue and vermillion stay apart in every common colour blindness.
    """

    surface: str
    raised: str
    ink: str
    muted: str
    line: str
    band: str
    good: str
    bad: str
    caution: str
    neutral: str


LIGHT: Final = Palette(
    surface="#ffffff",
    raised="#f5f7f9",
    ink="#1b2129",
    muted="#55606c",
    line="#d6dce3",
    band="#e6edf4",
    good="#0069a8",
    bad="#b84300",
    caution="#855800",
    neutral="#4a5663",
)
DARK: Final = Palette(
    surface="#12161b",
    raised="#1a2027",
    ink="#e7ebef",
    muted="#a2adb9",
    line="#37414c",
    band="#222d39",
    good="#62bbee",
    bad="#f59a63",
    caution="#e5b557",
    neutral="#b3bdc8",
)


@record
class Tooltip:
    """A rectangle of a figure that answers a pointer, in pixels from the top left: whose it is, what it says in `words`.

    `mark` is where across it its mark stands, from 0 to 1. `also` is a second rectangle of the same mark: its name, written
    apart from it.
    """

    name: str
    words: str
    left: float
    top: float
    width: float
    height: float
    mark: float
    also: tuple[float, float, float, float] | None = None


# Pages are measured in the one family that comes with matplotlib; their SVG then takes the font of the page around it,
# and every such font is narrower.
_RC: Final[dict[str, Any]] = {
    "font.family": ["DejaVu Sans"],
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "evalstats",
    "path.simplify": False,
    "axes.unicode_minus": True,
}
# What figures that stand in no page take from the user's settings and style sheets.
_FOLLOWED = ("font.", "text.color", "figure.facecolor", "figure.dpi", "path.sketch", "path.effects", "savefig.")
_READABLE = 4.5
_ROLES = ("ink", "muted", "good", "bad", "caution", "neutral")
_FAMILY = re.compile(r"font(?:-family)?: ?[^;\"]*")
_IDENTIFIER = re.compile(r'\s+id="([^"]+)"')
_REFERENCE = re.compile(r'(?<=#)([^")]+)(?=[")])')
# What a drawing of a thousand numbers is long by: turns by nothing, groups of one, millionths of a pixel.
_NO_TURN = re.compile(r' transform="rotate\(-?0 [^"]*"')
_GROUP_OF_ONE = re.compile(r"<g>\s*(<text\b[^>]*>[^<]*</text>)\s*</g>")
_BETWEEN_TAGS = re.compile(r">\s*\n\s*<")
_PLACE = re.compile(r'(?<= )(?:d|x|y)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d\d)\d+|\n")


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as WCAG 2 defines it, from 1 to 21.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: str) -> float:
    """Return the relative luminance of a colour as WCAG 2 defines it, from 0 to 1.

    >>> luminance("#ffffff")
    1.0
    """
    channels = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def untyped(thing: object) -> Any:
    """Return `thing` without its type: matplotlib leaves the types of its keyword arguments unknown.

    >>> untyped(1)
    1
    """
    return thing


def palette_on(ground: str, ink: str) -> Palette:
    """Return the colours that read on a ground, with ink of a colour that reads there.

    >>> palette_on("#ffffff", "#000000").good == LIGHT.good, palette_on("#000000", "#000000").ink == DARK.ink
    (True, True)
    """
    light = luminance(ground) > 0.18  # black and white read alike well
    palette, end = (LIGHT, "#000000") if light else (DARK, "#ffffff")

    def mixed(one: str, other: str, share: float) -> str:
        parts = ((int(each[k : k + 2], 16) for each in (one, other)) for k in (1, 3, 5))
        return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in parts)

    colors: dict[str, str] = {"ink": ink if contrast(ink, ground) >= _READABLE else palette.ink, "surface": ground}
    for role in _ROLES:
        plain = colors.get(role) or getattr(palette, role)
        ways = (mixed(plain, end, share / 20) for share in range(21))
        colors[role] = next((way for way in ways if contrast(way, ground) >= _READABLE), end)
    if ground != palette.surface:
        colors |= {"line": mixed(ground, colors["ink"], 0.18), "band": mixed(ground, colors["neutral"], 0.12)}
    return replace(palette, **colors)


@contextmanager
def themed(theme: Literal["light", "dark"] | None) -> Generator[None]:
    """Make figures on the ground of a theme; None: on that of matplotlib's settings."""
    palette = {"light": LIGHT, "dark": DARK}.get(theme or "")
    if theme is not None and palette is None:
        raise InputError(f"no theme {theme!r} of figures; it is 'light' or 'dark'")
    own = {"figure.facecolor": palette.surface, "text.color": palette.ink} if palette else {}
    with untyped(mpl).rc_context(own):
        yield


@contextmanager
def house_style(*, followed: bool = False) -> Generator[None]:
    """Make and save figures under the same settings; where they are `followed`, with the user's own fonts and colours."""
    own = {name: value for name, value in untyped(mpl.rcParams).items() if followed and name.startswith(_FOLLOWED)}
    with untyped(mpl).rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        untyped(mpl.rcParams).update({**_RC, **own})
        # A name in a script that the measuring font lacks is still drawn by the reader's browser.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def svg(figure: Figure, *, prefix: str = "", adaptive: bool = True, font: str = "inherit", alt: str = "") -> str:
    """Return the figure as an SVG element whose bytes depend on nothing but the figure.

    The figure is one made by this package. `prefix` is put before every id, so that several figures can stand in one page.
    `adaptive` writes colours as CSS variables (`var(--es-ink, #1b2129)`); plain colours are for programs that know no variables
    (Typst, editors). `font` is the CSS family: text stays text, which can be searched, copied and read in any script. `alt` is
    for those who do not see the figure. An adaptive figure has its tooltips on top, which a browser shows as titles.
    """
    buffer = io.StringIO()
    with house_style():
        no_metadata: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        untyped(Figure).savefig(figure, buffer, format="svg", transparent=True, metadata=no_metadata)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # Inside a page matplotlib's own style sheet would reach every other drawing.
    text = re.sub(r"\s*<(metadata|style).*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', text, count=2)
    text = _short(_own_ids(_own_font(text, font), prefix))
    label = f'role="img" aria-label={quoteattr(alt)}' if alt else 'aria-hidden="true"'
    text = text.replace("<svg ", f'<svg {label} stroke-linejoin="round" ', 1)
    if not adaptive:
        return text
    tooltips = "".join(_tooltip(tooltip) for tooltip in getattr(figure, "tooltips", ()))
    group = f'<g fill="none" pointer-events="all">{tooltips}</g>' if tooltips else ""
    return _with_variables(text).replace("</svg>", f"{group}</svg>", 1)


def _tooltip(tooltip: Tooltip) -> str:
    # matplotlib knows no titles, and its units here are those of the drawing: 72 to the inch, from the top left.
    boxes = [(tooltip.left, tooltip.top, tooltip.width, tooltip.height), *([tooltip.also] if tooltip.also else [])]
    path = "".join(f"M{x:.1f} {y:.1f}h{wide:.1f}v{tall:.1f}h-{wide:.1f}z" for x, y, wide, tall in boxes)
    own = f'data-name={quoteattr(tooltip.name)} data-mark="{tooltip.mark:.2f}"'
    title = escape(f"{tooltip.name}: {tooltip.words}" if tooltip.words else tooltip.name)
    return f'<path class="es-spot" d="{path}" {own}><title>{title}</title></path>'


def _short(text: str) -> str:
    """Leave out what shows nowhere."""
    text = _BETWEEN_TAGS.sub("><", _GROUP_OF_ONE.sub(r"\1", _NO_TURN.sub("", text)))
    # Words are outside of tags, and may look like an attribute.
    return re.sub(r"<[^>]*>", lambda tag: _PLACE.sub(lambda place: _DECIMALS.sub(r"\1", place[0]), tag[0]), text)


def _own_font(text: str, font: str) -> str:
    """Set the family once, at the root, in place of matplotlib's at every word."""

    def replaced(style: re.Match[str]) -> str:
        declarations = [part.strip() for part in style.group(1).split(";") if part.strip()]
        kept: list[str] = []
        for declaration in declarations:
            name, _, value = declaration.partition(":")
            if name == "font":
                kept += _long_font(value)
            elif name != "font-family":
                kept.append(declaration)
        return f'style="{"; ".join(kept)}"'

    text = re.sub(r'style="([^"]*font[^"]*)"', replaced, text)
    return text.replace("<svg ", f'<svg style="font-family: {font}" ', 1)


def _long_font(value: str) -> list[str]:
    """Write the shorthand `font: 600 12px 'DejaVu Sans'` out, without the family."""
    size = re.search(r"([\d.]+)px", value)
    parts = [f"font-size: {size.group(1)}px"] if size else []
    weight = re.search(r"\b(bold|[1-9]00)\b", value.partition("px")[0])
    return [*parts, f"font-weight: {weight.group(1)}"] if weight else parts


def _own_ids(text: str, prefix: str) -> str:
    """Drop ids that nothing refers to and put the prefix before the rest: figures in one page never share an id."""
    used = set(_REFERENCE.findall(text))

    def kept(found: re.Match[str]) -> str:
        name = found.group(1)
        return f' id="{prefix}{name}"' if name in used else ""

    renamed = _IDENTIFIER.sub(kept, text)
    return re.sub(r'(href="|url\()#', rf"\g<1>#{prefix}", renamed)


def _with_variables(text: str) -> str:
    roles = {color: role for role, color in asdict(LIGHT).items()}

    def variable(found: re.Match[str]) -> str:
        color = found.group(0).lower()
        return f"var(--es-{roles[color]}, {color})" if color in roles else color

    return re.sub(r'style="[^"]*"', lambda style: re.sub(r"#[0-9a-fA-F]{6}", variable, style.group(0)), text)
