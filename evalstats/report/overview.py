"""An overview as a page: a card for each answer, each linked to where it stands; or as a folder of pages."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from evalstats.analysis.overview.changes_result import Changes
from evalstats.analysis.overview.document import holdings_table, refusals_table
from evalstats.analysis.overview.result import Answer, Overview
from evalstats.analysis.saved import load_result
from evalstats.document.escape import for_pandoc
from evalstats.document.model import Document, Section, sentence
from evalstats.document.names import marked
from evalstats.document.pandoc import prose
from evalstats.errors import InputError
from evalstats.report.card import card
from evalstats.report.engine import no_one_listens
from evalstats.report.markup import show
from evalstats.report.page import Page, answers_index, banner, shown_day, title_block
from evalstats.report.render import render_results

INDEX = "index.html"
_UNSAFE = re.compile(r"[^A-Za-z0-9]+")
_LONGEST_NAME = 40


def show_overview(path: str = "", *, pages: Sequence[str] = (), engine: str = "", rendered: str = "") -> None:
    """Print a saved overview: what was answered, what the data hold, every answer with its evidence; or its changes alone.

    With `pages`, one for each answer, cards link to these, and the answers stand there. InputError if the file holds no
    overview.
    """
    result = load_result(path) if path else example_overview()
    if isinstance(result, Changes):
        Page(document=result.document(), engine=engine, day=shown_day(rendered)).show(
            "title", "answer", "evidence", "method"
        )
        return
    if not isinstance(result, Overview):
        raise InputError(f"{path}: is a saved {type(result).__name__}; this page shows an overview")
    if pages and len(pages) != len(result.answers):
        raise InputError(f"{len(pages)} pages are named for {len(result.answers)} answers; name one for each")
    day, said, documents = shown_day(rendered), result.document(), result.documents()
    named = [marked(each) for each in documents]
    show(
        title_block(said.title, day, "overview"),
        *(banner(note) for note in said.banners),
        for_pandoc(sentence(said.scope)),
    )
    cards = [part for each, target in zip(named, pages, strict=False) for part in _card(each, target)]
    show(*(cards or [answers_index(named)]))
    found = [Section(id="holdings", heading="What the data hold", blocks=(holdings_table(result),))]
    if result.refusals:
        found.append(Section(id="refusals", heading="What the data do not answer", blocks=(refusals_table(result),)))
    own = Page(document=replace(said, evidence=tuple(found), notes=()), engine=engine, day=day, level=2)
    own.show("holdings")
    if not pages:
        banners = {note.line for note in said.banners}
        for place, document in enumerate(documents, start=1):
            _show_answer(document, place, engine, rendered, banners)
    own.show("evidence", "method")


def write_pages(result: Overview, folder: Path, *, on_step: Callable[[str], None] = no_one_listens) -> Path:
    """Write a page and the saved result of each answer into a folder, and a page that links them; return the latter.

    InputError if the folder cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be made ({error.strerror or error})") from error
    names = [page_name(answer, place) for place, answer in enumerate(result.answers, start=1)]
    for answer, name in zip(result.answers, names, strict=True):
        on_step(answer.where)
        answer.result.save(folder / f"{name}.json")
        render_results(answer.result, [folder / f"{name}.html"])
    on_step("the page that links them")
    result.save(folder / "overview.json")
    render_results(result, [folder / INDEX], linked=[f"{name}.html" for name in names])
    return folder / INDEX


def page_name(answer: Answer, place: int) -> str:
    """Return the name of an answer's files: letters, digits and hyphens alone, whatever the benchmark is called.

    >>> page_name(Answer(question="compare", benchmark="../a b", result=None), 3)
    '03-compare-a-b'
    """
    parts = (_UNSAFE.sub("-", part).strip("-")[:_LONGEST_NAME] for part in (answer.question, answer.benchmark))
    return "-".join([f"{place:02}", *(part for part in parts if part)])


def example_overview() -> Overview:
    """Return what the page shows without a result: an overview of shipped data."""
    from evalstats.analysis.overview.overview import overview
    from evalstats.datasets.tables import tenacious_held_out

    return overview(tenacious_held_out())


def _card(document: Document, target: str) -> list[str]:
    """Return the question as a link, and its answer with one caution."""
    said = replace(document, scope="", notes=document.cautions[:1], actions=())
    return [f"**[{prose(document.title)}]({target})**", card(said)]


def _show_answer(document: Document, place: int, engine: str, rendered: str, banners: set[str]) -> None:
    """Print one answer with its evidence folded; what was said of all the data stands once, above."""
    kept = tuple(note for note in document.notes if note.line not in banners)
    page = Page(
        document=replace(document, notes=kept),
        engine=engine,
        day=shown_day(rendered),
        prefix=f"r{place}-",
        level=3,
    )
    show(f"## {prose(page.document.title)} {{#sec-r{place}}}")
    page.show("answer", "folded evidence", "folded method")
