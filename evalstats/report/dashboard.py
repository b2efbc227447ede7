"""Watched scores as a page: with Quarto a dashboard of boxes and cards; with the embedded engine a page like the others."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from evalstats.analysis.dashboard.document import change_words, models_table, verdict_words
from evalstats.analysis.dashboard.result import Dashboard, History
from evalstats.analysis.design.metric import asked_direction
from evalstats.analysis.result import draw, load_result
from evalstats.document.escape import for_html, for_pandoc
from evalstats.document.model import Code, Document, Figure, Items, Section, Table, Text, sentence
from evalstats.document.numbers import scaled
from evalstats.errors import InputError
from evalstats.plots.style import svg
from evalstats.regular import read_regular
from evalstats.report.examples import example
from evalstats.report.page import SIGNS, Page, banner, ended, shown_day
from evalstats.report.pieces import bullets, code_block, csv_link, html_table, metadata, raw, show

_MOST_BOXES = 4
_MOST_ROWS = 20
# What stands under "Repeat this".
_REPEATED = ("provenance", "code")
_ORDINARY = "This is the ordinary page. Where Quarto is installed, it lays the same result out as a dashboard."
_NEEDS_QUARTO = Section(id="layout", heading="The dashboard layout needs Quarto", blocks=(Text(text=_ORDINARY),))


def show_dashboard(path: str = "", *, engine: str = "", rendered: str = "") -> None:
    """Print a saved result of watching as Quarto's dashboard; under another format as an ordinary page.

    InputError if the file holds another result.
    """
    result = load_result(path) if path else example("dashboard")
    if not isinstance(result, Dashboard):
        raise InputError(f"{path}: is a saved {type(result).__name__}; this page shows a dashboard")
    if _is_dashboard():
        show(*_cards(result, engine, rendered))
        return
    document = result.document()
    document = replace(document, method=(*document.method, _NEEDS_QUARTO))
    page = Page(document=document, engine=engine, day=shown_day(rendered))
    page.show("title", "answer", "evidence", "method")


def _is_dashboard() -> bool:
    """Whether Quarto is rendering its dashboard; it leaves a file that says what it makes of a page."""
    info = os.environ.get("QUARTO_EXECUTE_INFO", "")
    try:
        told: Any = json.loads(read_regular(info)) if info else {}
        return told["format"]["identifier"]["base-format"] == "dashboard"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _cards(result: Dashboard, engine: str, rendered: str) -> list[str]:
    document = result.document()
    parts = [metadata(title=for_pandoc(document.title)), *(banner(note) for note in document.banners)]
    parts += ["## Row {.es-boxes}", *_boxes(result, document)]
    told = {"Before you rely on this": [note.line for note in document.cautions], "What to do": document.actions}
    if any(told.values()):
        parts += ["## Row", *(_card(title, _lines(lines)) for title, lines in told.items() if lines)]
    parts += ["## Row", *(_card("Scores by day", _drawing(each)) for each in document.figures.values())]
    parts += ["## Row", _card("Models", _table(models_table(result)))]
    for section in (each for each in document.evidence if each.id != "days"):
        parts += ["## Row", _card(section.heading, *_blocks(section))]
    parts += ["## Row", _card("How changes were found", *_blocks(document.section("method")))]
    if document.remarks:
        parts += ["## Row", _card("Notes", _lines([note.line for note in document.remarks]))]
    again = [block for name in _REPEATED for block in _blocks(document.section(name))]
    made = f"Rendered by {engine or 'Quarto'} on {shown_day(rendered)}."
    return [*parts, "## Row", _card("Repeat this", *again, _below(made))]


def _boxes(result: Dashboard, document: Document) -> list[str]:
    """Return a box for each of the first changes, and one for the verdict on all."""
    changed = [row for row in result.rows if row.drifted]
    boxes = [_box("bad" if row.worse else "good", _name(result, row), *_change(row)) for row in changed[:_MOST_BOXES]]
    # A headline stands where it says more than the boxes do.
    all_told = 0 < len(changed) <= _MOST_BOXES and not asked_direction(*(row.direction for row in result.rows))
    lines = [ended(document.scope)] if all_told else [ended(document.headline), ended(document.scope)]
    label = f"{SIGNS[document.tone]} {document.label[:1].upper()}{document.label[1:]}"
    return [*boxes, _box(document.tone, label, "", *lines)]


def _name(result: Dashboard, row: History) -> str:
    return row.name if len(result.benchmarks) == 1 else f"{row.name}, {row.benchmark}"


def _change(row: History) -> tuple[str, str, str]:
    amount = f"{scaled(row.estimate, row.scale, 1, sign=True)} {row.unit}".strip()
    ends = change_words(row).partition("(")[2].rstrip(")")
    return amount, verdict_words(row), f"{100 * row.conf_level:g}% confidence sequence {ends}"


def _box(tone: str, name: str, amount: str, *lines: str) -> str:
    """Return a value box; names stand in the text, where they are escaped, and in no attribute."""
    number = f'<p class="es-amount">{for_html(amount)}</p>' if amount else ""
    told = "".join(f"<p>{for_html(line)}</p>" for line in lines)
    inside = f'<div class="es-box es-{tone}"><p class="es-label">{for_html(name)}</p>{number}{told}</div>'
    return f"::: {{.valuebox}}\n\n{raw('html', inside)}\n\n:::"


def _card(title: str, *parts: str) -> str:
    """Return a card; its title stands in the text too."""
    inside = "\n\n".join([raw("html", f'<h2 class="es-card-title">{for_html(title)}</h2>'), *filter(None, parts)])
    return f"::: {{.card}}\n\n{inside}\n\n:::"


def _lines(lines: Sequence[str]) -> str:
    return bullets([for_pandoc(sentence(line)) for line in lines])


def _blocks(section: Section | None) -> list[str]:
    found: list[str] = []
    for block in section.blocks if section else ():
        match block:
            case Text():
                found.append(for_pandoc(block.text))
            case Items():
                found.append(bullets([for_pandoc(item) for item in block.items]))
            case Table():
                found.append(_table(block))
            case Code():
                found.append(code_block(block.code, block.language))
            case _:
                continue
    return found


def _below(text: str) -> str:
    """Return a caption."""
    return raw("html", f'<p class="es-caption">{for_html(sentence(text))}</p>')


def _drawing(figure: Figure) -> str:
    wide, narrow = (
        svg(draw(figure, size=medium), prefix=f"{figure.id}-{medium}-", alt=figure.alt)
        for medium in ("screen", "phone")
    )
    both = f'<div class="es-figure es-wide">{wide}</div>\n<div class="es-figure es-narrow">{narrow}</div>'
    return _framed(f"fig-{figure.id}", both, figure.caption, figure.rows)


def _table(table: Table) -> str:
    spare = "".join(f" es-spare-{place}" for place, column in enumerate(table.columns, 1) if column.spare)
    rows: Sequence[tuple[Any, ...]] = table.rows[:_MOST_ROWS]
    body = html_table(replace(table, rows=tuple(rows)), f"tbl-{table.id}-table")
    caption = table.caption
    if len(table.rows) > _MOST_ROWS:
        where = "the CSV has all" if table.frame else "the saved result has all"
        caption = f"{sentence(caption)} The first {_MOST_ROWS} of {len(table.rows):,} are shown; {where}".strip()
    label = for_html(table.caption or table.id)
    region = f'<div class="es-table{spare}" role="region" aria-label="{label}" tabindex="0">{body}</div>'
    return _framed(f"tbl-{table.id}", region, caption, table.frame)


def _framed(name: str, inside: str, caption: str, rows: Mapping[str, Sequence[object]]) -> str:
    """Return a figure with its data and its caption below, as the page's script looks for them."""
    data = csv_link(pl.DataFrame(dict(rows), strict=False), f"{name[4:]}.csv", "Data (CSV)") if rows else ""
    told = f'<figcaption class="es-caption">{for_html(sentence(caption))}</figcaption>' if caption else ""
    return raw("html", f'<figure id="{for_html(name)}">{inside}{data}{told}</figure>')
