"""The card: the answer, its number with the interval drawn, what it rests on, what could undo it and what to do."""

import json

from evalstats.document.escape import for_html
from evalstats.document.formats import html_prose
from evalstats.document.model import Document, Interval, sentence
from evalstats.document.numbers import declared, number, with_unit
from evalstats.document.pandoc import bullets, prose, verdict
from evalstats.report.markup import WHOLE, both, typst_prose, typst_string, typst_strings

_SIGNS = {"good": "✓", "bad": "✕", "caution": "?", "neutral": "="}
_EDGE = 0.18  # of the width of a drawing at either side, for the numbers of the ends


def card(document: Document, *, items: tuple[str, str] | None = None) -> str:
    """Return the answer as HTML and Typst; all of it is text, escaped here.

    A sign stands beside the colour of the tone, so that colour alone says nothing. `items` are the address of a list of items
    on the page, and what it is called.
    """
    # Neither is made to begin with a capital: that may be a model's name.
    answer, label = sentence(document.headline), document.label[:1].upper() + document.label[1:]
    parts = (
        ("Basis", [sentence(document.scope)] if document.scope else []),
        ("Caution", [note.line for note in document.cautions]),
        ("What to do", [sentence(text) for text in document.actions]),
    )
    number_html = lines_html = ""
    if document.number:
        told = f"<p>{for_html(document.number)}</p><p>{html_prose(document.number_words, WHOLE)}</p>"
        number_html = f'<div class="es-number">{told}</div>'
    for name, lines in parts:
        inside = [html_prose(line, WHOLE) for line in lines]
        if items is not None and name == "What to do":
            inside.append(f'<a href="#{for_html(items[0])}">{html_prose(items[1], WHOLE)}</a>')
        if inside:
            lines_html += f"<dt>{name}</dt><dd>{'<br>'.join(inside)}</dd>"
    interval = document.interval
    drawn = "" if interval is None else _svg(interval)
    html = (
        # A group rather than a landmark: an overview has many.
        f'<div class="es-verdict es-{document.tone}" role="group" aria-label="Verdict">'
        '<div class="es-answer"><p class="es-label">'
        f'<span aria-hidden="true">{_SIGNS[document.tone]}</span> {for_html(label)}</p>'
        f"<p>{html_prose(answer, WHOLE)}</p></div>{number_html}{drawn}{f'<dl>{lines_html}</dl>' if lines_html else ''}</div>"
    )
    fields = {"label": label, "sign": _SIGNS[document.tone], "tone": document.tone, "amount": document.number}
    given = [f"{name}: {typst_string(text)}" for name, text in fields.items()]
    given += [f"answer: {typst_prose(answer)}", f"range: {typst_prose(document.number_words)}"]
    rows = "".join(
        f"({typst_string(name)}, ({''.join(f'{typst_prose(line)}, ' for line in lines)})), "
        for name, lines in parts
        if lines
    )
    given.append(f"lines: ({rows})")
    if interval is not None:
        given.append(f"interval: {_typst(interval)}")
    below = [*(f"**{name}**\n\n{bullets([prose(line) for line in lines])}" for name, lines in parts[1:] if lines)]
    plain = "\n\n".join(filter(None, [verdict(document.label, document.headline, document.below), *below]))
    return both(html, f"#es-verdict({', '.join(given)})", plain)


def _place(interval: Interval, value: float) -> float:
    """Return where a value stands in the drawing, as a share of its width."""
    least, most = interval.axis
    share = (value - least) / (most - least)
    return min(max(_EDGE + (1 - 2 * _EDGE) * share, 0.0), 1.0)


def _labels(interval: Interval) -> tuple[str, str, str]:
    """Return the origin and both ends as they are written."""
    signed = interval.origin == 0
    low, high = (number(end * interval.scale, interval.digits, sign=signed) for end in (interval.low, interval.high))
    return "" if interval.origin is None else declared(interval.origin, interval.scale), low, high


def _key(interval: Interval) -> str:
    """Return what is drawn beside the interval: the margin, or the others."""
    if interval.others:
        return interval.others_words
    margin = with_unit(declared(interval.margin, interval.scale), interval.unit)
    return f"band: margin ±{margin}" if interval.margin else ""


def _svg(interval: Interval) -> str:
    """Return the drawing as SVG that is as wide as the card; with counts it carries what moves it."""
    origin, low, high = _labels(interval)
    at = {
        name: f"{100 * _place(interval, value):.2f}%"
        for name, value in (("estimate", interval.estimate), ("low", interval.low), ("high", interval.high))
    }
    marks: list[str] = []
    if interval.origin is not None:
        first, last = (_place(interval, interval.origin + side * interval.margin) for side in (-1, 1))
        zero = f"{100 * _place(interval, interval.origin):.2f}%"
        marks += [
            f'<rect class="es-margin" x="{100 * first:.2f}%" width="{100 * (last - first):.2f}%" y="16" height="16"/>',
            f'<line class="es-origin" x1="{zero}" x2="{zero}" y1="15" y2="33"/>',
            f'<text x="{zero}" y="12" text-anchor="middle">{for_html(origin)}</text>',
        ]
    else:
        marks.append('<line class="es-origin" x1="18%" x2="82%" y1="24" y2="24"/>')
    marks += [
        *(
            f'<circle class="es-other" cx="{100 * _place(interval, value):.2f}%" cy="24" r="3.5"/>'
            for value in interval.others
        ),
        f'<line class="es-range" x1="{at["low"]}" x2="{at["high"]}" y1="24" y2="24"/>',
        *(f'<line class="es-{end}" x1="{at[end]}" x2="{at[end]}" y1="19" y2="29"/>' for end in ("low", "high")),
        f'<circle cx="{at["estimate"]}" cy="24" r="5"/>',
        f'<text class="es-low" x="{at["low"]}" y="45" text-anchor="end">{for_html(low)}</text>',
        f'<text class="es-high" x="{at["high"]}" y="45">{for_html(high)}</text>',
    ]
    value = number(interval.estimate * interval.scale, interval.digits, sign=interval.origin == 0)
    beside = " and ".join(filter(None, [origin, interval.others_words]))
    alt = f"{value} [{low}, {high}]{f', beside {beside}' if beside else ''}"
    words = [*([interval.sides[0]] if interval.sides[0] else []), _key(interval), interval.sides[1]]
    said = "".join(f"<span>{for_html(word)}</span>" for word in words) if any(words) else ""
    moved = ""
    if interval.counts:
        known = {
            "method": interval.method,
            "counts": interval.counts,
            "level": interval.conf_level,
            "scale": interval.scale,
            "digits": interval.digits,
            "unit": interval.unit,
            "origin": interval.origin,
            "margin": interval.margin,
            "falling": interval.falling,
            "axis": interval.axis,
        }
        moved = f' data-interval="{for_html(json.dumps(known))}"'
    return (
        f'<div class="es-interval"{moved}><svg role="img" aria-label="{for_html(alt)}" width="100%" height="49">'
        f"{''.join(marks)}</svg>{f'<p>{said}</p>' if said else ''}</div>"
    )


def _typst(interval: Interval) -> str:
    """Return the drawing as a dictionary of Typst: places as shares of the width, and what is written."""
    origin, low, high = _labels(interval)
    values = {"low": interval.low, "high": interval.high, "estimate": interval.estimate}
    if interval.origin is not None:
        values |= {
            "origin": interval.origin,
            "first": interval.origin - interval.margin,
            "last": interval.origin + interval.margin,
        }
    places = [f"{name}: {100 * _place(interval, value):.2f}%" for name, value in values.items()]
    words = typst_strings([origin, low, high, interval.sides[0], _key(interval), interval.sides[1]])
    others = "".join(f"{100 * _place(interval, value):.2f}%, " for value in interval.others)
    return f"({', '.join(places)}, others: ({others}), words: {words})"
