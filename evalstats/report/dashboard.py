"""Watched scores as a page: with Quarto a dashboard of boxes and cards; with the embedded engine a page like the others."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from evalstats.analysis.dashboard.document import change_words, models_table, verdict_words
from evalstats.analysis.dashboard.result import Dashboard, History
from evalstats.analysis.result import draw, load_result
from evalstats.document.escape import for_html
from evalstats.document.model import Figure, Items, Section, Table, Text, sentence
from evalstats.document.numbers import scaled
from evalstats.errors import InputError
from evalstats.plots.style import svg
from evalstats.report.examples import example
from evalstats.report.page import SIGNS, Page, banner, ended, shown_day
from evalstats.report.pieces import bullets, csv_link, html_table, linked, metadata, prose, raw, show

_MOST_BOXES = 4
_MOST_ROWS = 20
_ORDINARY = (
    "This is the ordinary page. Where Quarto is installed, `evalstats report RESULT.json --engine quarto` lays the same result "
    "out as a dashboard."
)
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
    said = result.document()
    page = Page(document=replace(said, method=(*said.method, _NEEDS_QUARTO)), engine=engine, day=shown_day(rendered))
    page.show("title", "answer", "evidence", "method")


def _is_dashboard() -> bool:
    """Whether Quarto is rendering its dashboard; it leaves a file that says what it makes of a page."""
    info = os.environ.get("QUARTO_EXECUTE_INFO", "")
    try:
        told: Any = json.loads(Path(info).read_text(encoding="utf-8")) if info else {}
        return told["format"]["identifier"]["base-format"] == "dashboard"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _cards(result: Dashboard, engine: str, rendered: str) -> list[str]:
    said = result.document()
    parts = [metadata(title=prose(said.title)), *(banner(note) for note in said.banners)]
    changed = [row for row in result.rows if row.drifted][:_MOST_BOXES]
    boxes = [_box("bad" if row.worse else "good", _name(result, row), *_change(row)) for row in changed]
    summary = [ended(said.headline) if not changed else "", ended(said.scope)]
    boxes.append(
        _box(said.tone, f"{SIGNS[said.tone]} {said.label[:1].upper()}{said.label[1:]}", "", *filter(None, summary))
    )
    parts += ["## Row {.es-boxes}", *boxes]
    if said.cautions or said.actions:
        told = (("Before you rely on this", [note.line for note in said.cautions]), ("What to do", said.actions))
        cards = [_card(title, bullets([linked(sentence(line)) for line in lines])) for title, lines in told if lines]
        parts += ["## Row", *cards]
    parts += [
        "## Row",
        *(_card("Scores by day", _drawing(each)) for each in said.figures.values()),
    ]
    parts += ["## Row", _card("Models", _table(models_table(result)))]
    for section in (each for each in said.evidence if each.id != "days"):
        parts += ["## Row", _card(section.heading, *_blocks(section))]
    made = f"Rendered by {engine or 'Quarto'} on {shown_day(rendered)}; evalstats {result.version}."
    how = said.section("method")
    parts += ["## Row", _card("How changes were found", *(_blocks(how) if how else ()), _below(made))]
    return parts


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


def _blocks(section: Section) -> list[str]:
    found: list[str] = []
    for block in section.blocks:
        match block:
            case Text():
                found.append(linked(block.text))
            case Items():
                found.append(bullets([linked(item) for item in block.items]))
            case Table():
                found.append(_table(block))
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
    label = for_html(table.caption or table.id)
    region = f'<div class="es-table{spare}" role="region" aria-label="{label}" tabindex="0">{body}</div>'
    return _framed(f"tbl-{table.id}", region, table.caption, table.frame)


def _framed(name: str, inside: str, caption: str, rows: Mapping[str, Sequence[object]]) -> str:
    """Return a figure with its data and its caption below, as the page's script looks for them."""
    data = csv_link(pl.DataFrame(dict(rows), strict=False), f"{name[4:]}.csv", "Data (CSV)") if rows else ""
    told = f'<figcaption class="es-caption">{for_html(sentence(caption))}</figcaption>' if caption else ""
    return raw("html", f'<figure id="{for_html(name)}">{inside}{data}{told}</figure>')
