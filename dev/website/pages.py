"""Write the pages of the website that are made rather than written: `quarto render` runs this first.

Every page is Markdown with its results in it, so that nothing has to run while the site is rendered: examples of all reports,
the notebooks with their stored outputs, methods, tables, the API. What is made is not kept under version control.
"""

import contextlib
import io
import itertools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats.document.escape import for_pandoc
from evalstats.report.markup import raw

if TYPE_CHECKING:
    from evalstats.analysis.result import Result
    from evalstats.document.model import Figure

ROOT = Path(__file__).resolve().parents[2]
# Rooms of the site that are made anew each time.
MADE = ("gallery", "questions", "docs/methods", "docs/reference")

QUESTIONS = {
    "compare": "Is B better than A?",
    "leaderboard": "How do all models stand?",
    "scenarios": "Where do models break?",
    "arena": "Which models do live users prefer?",
    "lab-live": "Does the lab predict the live world?",
    "judges": "Can the judge be trusted?",
    "audit": "Can these numbers be trusted?",
    "contamination": "Has a model seen the items?",
    "frontier": "Which systems score the most for their cost?",
    "items": "Which items tell models apart, and would fewer do?",
    "reliability": "Would other items, scaffolds or judges give the same order?",
    "score": "How precise is one score?",
    "power": "How many items do I need?",
}


def main() -> None:
    """Write all made pages, each room whole or not at all."""
    sys.path.insert(0, str(ROOT))  # Quarto runs this as a file
    only_what_changed = os.environ.get("QUARTO_PROJECT_RENDER_ALL") != "1" and "QUARTO_PROJECT_OUTPUT_DIR" in os.environ
    if only_what_changed and all((ROOT / room).is_dir() for room in MADE):
        return  # one page is being rendered again
    from dev.website.sheet import typeset
    from evalstats.analysis.schemas import brief_schema, result_schema

    for room, pages in rooms():
        replace_room(ROOT / room, pages)
    _write(ROOT / "docs" / "tables.md", tables_page())
    _write(ROOT / "docs" / "formats" / "index.md", formats_page())
    _write(ROOT / "llms.txt", list_for_models())
    for form, schema in (("brief", brief_schema()), ("result", result_schema())):
        _write(ROOT / f"{form}.schema.json", json.dumps(schema, indent=1) + "\n")
    (ROOT / "docs" / "cheat-sheet.pdf").write_bytes(typeset())


def rooms() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each room's folder with its files: names and texts."""
    yield "gallery", gallery()
    yield "questions", notebooks()
    yield "docs/methods", methods()
    yield "docs/reference", reference()


def front(title: str, **more: object) -> str:
    """Return a page's front matter; JSON is YAML."""
    return "\n".join(
        ["---", f"title: {json.dumps(title)}", *(f"{k}: {json.dumps(v)}" for k, v in more.items()), "---", ""]
    )


# --- reports on shipped data ---


def gallery() -> dict[str, str]:
    """Return the pages of reports, on shipped or simulated data, and the page that shows them all."""
    from evalstats.plots.style import svg

    files: dict[str, str] = {}
    cards: dict[str, list[str]] = {_ANSWERS: [], _STUDIES: []}
    for each in [*_answers(), *_studies()]:
        files[f"{each.name}.md"] = front(each.title, **{"description-meta": each.headline}) + each.body
        if each.figure is not None:
            drawn = draw_figure(each.figure)
            files[f"{each.name}.svg"] = svg(drawn, adaptive=False, font="sans-serif", alt=each.figure.alt)
        cards[each.part].append(_card(each.name, each.title, each.headline, picture=each.figure is not None))
    parts = ["\n\n".join([said, "::: {.es-cards}", *own, ":::\n"]) for said, own in cards.items()]
    files["index.md"] = front("Reports", toc=False) + "\n".join(parts)
    return files


_ANSWERS = "Each page is the output of `--report page.html`, here on bundled or simulated data."
_STUDIES = """## More pages

All answers of a store on one page, and four bundled studies (`evalstats report validation`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A page of the gallery with what its card says; `figure` is drawn on the card."""

    name: str
    title: str
    headline: str
    body: str
    figure: "Figure | None"
    part: str


def _answers() -> Iterator[Shown]:
    from evalstats.report.engine import find_page
    from evalstats.report.examples import example
    from evalstats.report.page import open_page

    for kind, question in QUESTIONS.items():
        result = example(kind)
        page = open_page(result)
        # What is open and what is folded is said once, in the report itself.
        calls = re.findall(r"page\.show\((.*)\)", find_page(kind).source.read_text(encoding="utf-8"))
        parts = [name for name in re.findall(r'"([^"]+)"', " ".join(calls)) if name != "title"]
        body = _printed(lambda page=page, parts=parts: page.show(*(parts or ("answer", "evidence", "method"))))
        figure = next(iter(page.document.figures.values()), None)
        if kind == "score":
            figure = _score_figure(result)
        yield Shown(name=kind, title=question, headline=page.document.headline, body=body, figure=figure, part=_ANSWERS)


def _score_figure(result: "Result") -> "Figure":
    """Return the intervals of one score, by method: its page has a table of them and no figure."""
    from evalstats.document.model import Figure

    rows = result.to_frame().drop_nulls("conf_low")
    return Figure(
        id="score",
        plot="forest",
        rows={
            "label": rows["method"].to_list(),
            **{name: (100 * rows[name]).to_list() for name in ("estimate", "conf_low", "conf_high")},
        },
        options={"title": "score (%)", "reference": None, "digits": 1, "bounds": (0, 100)},
        alt="The score with its interval by several methods",
        caption="",
    )


def _studies() -> Iterator[Shown]:
    from evalstats.report.overview import example_overview, show_overview
    from evalstats.report.render import STUDIES

    found = example_overview()
    said = found.document()
    body = _BLOCK.sub("", _printed(show_overview))
    figure = next(iter(found.documents()[-1].figures.values()))
    yield Shown(name="overview", title=said.title, headline=said.headline, body=body, figure=figure, part=_STUDIES)
    for name in STUDIES:
        body, names = run_page(name)
        document = names["page"].document
        yield Shown(
            name=name,
            title=document.title,
            headline=document.headline,
            body=_BLOCK.sub("", body.lstrip()),
            figure=names["page"].drawn[0],
            part=_STUDIES,
        )


def run_page(name: str) -> tuple[str, dict[str, Any]]:
    """Run the cells of a page here; return it as Markdown, and the names that its cells gave."""
    from evalstats.report.engine import find_page
    from evalstats.report.qmd import Cell, read_document

    names: dict[str, Any] = {}
    parts: list[str] = []
    for part in read_document(find_page(name).source).parts:
        if isinstance(part, Cell):
            code = compile(part.code, name, "exec")
            parts.append(_printed(lambda code=code: exec(code, names)))  # noqa: S102 - a page of this project
        else:
            parts.append(part.text)
    return "\n\n".join(parts), names


# A page that sets its own title; here the front matter does.
_BLOCK = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def draw_figure(figure: "Figure") -> Any:
    """Draw a figure as wide as a card."""
    from evalstats.analysis.drawn import draw

    return draw(figure, size="phone")


def _card(kind: str, question: str, headline: str, *, picture: bool) -> str:
    # The picture leads where the words below it lead, and those are read aloud.
    silent = '{tabindex="-1" aria-hidden="true"}'
    shown = f"[![]({kind}.svg){{fig-alt=''}}]({kind}.md){silent}\n\n" if picture else ""
    return f"::: {{.es-card}}\n\n{shown}**[{for_pandoc(question)}]({kind}.md)**\n\n{for_pandoc(headline)}\n\n:::"


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """Work in a folder that is thrown away, for the drawings of a PDF."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _printed(show: Callable[[], None]) -> str:
    """Return what a page prints."""
    printed = io.StringIO()
    with _elsewhere(), contextlib.redirect_stdout(printed):
        show()
    return printed.getvalue()


# --- notebooks ---


def notebooks() -> dict[str, str]:
    """Return the notebooks with their outputs, HTML as raw Markdown: for any other HTML Quarto loads scripts from afar."""
    files: dict[str, str] = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for data in (output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", ())):
            if "text/html" in data:
                html = "".join(data["text/html"])
                data.clear()
                data["text/markdown"] = raw("html", html)
        files[path.name] = json.dumps(notebook)
    return files


# --- methods, Python, formats, tables ---


def methods() -> dict[str, str]:
    """Return a page for each method, from the texts that `explain()` shows, and those that list them."""
    from dev.website.methods import method_pages

    return method_pages(front)


def reference() -> dict[str, str]:
    """Return the pages of all that is public in Python, from the code."""
    from dev.website.reference import Reference

    return Reference(front).pages()


def list_for_models() -> str:
    """Return the list of pages that language models look for beside a site (llmstxt.org): each sidebar and its first words."""
    from dev.website.build import entries

    lines = [
        "# evalstats",
        "",
        "> Turns LLM-evaluation results into conclusions one can defend: Python and command line.",
        "",
        "- [From raw files to a gate in five steps](AGENTS.md)",
        "- [JSON Schema of a brief answer](brief.schema.json), [of a whole result](result.schema.json)",
        "",
    ]
    for bar, pages in itertools.groupby(entries(), key=lambda each: each.sidebar):
        # Of a part, its index says enough.
        shown = [page for page in pages if not page.part or page.source.endswith("/index.md")]
        lines += [f"## {bar.capitalize() or 'Start'}", "", *(f"- [{page.title}]({page.target})" for page in shown), ""]
    return "\n".join(lines)


def formats_page() -> str:
    """Return the list of formats, with links to those that have a page."""
    from evalstats.loaders.registry import loaders

    pages: dict[str, str] = {}
    for path in sorted((ROOT / "docs" / "formats").glob("*.md")):
        if path.name != "index.md":
            heading = path.read_text(encoding="utf-8").partition("\n")[0]
            pages |= dict.fromkeys([path.stem, *re.findall(r"`([^`]+)`", heading)], path.name)
    rows: list[str] = []
    for loader in loaders():
        name = for_pandoc(loader.name)
        shown = f"[{name}]({pages[loader.name]})" if loader.name in pages else name
        rows.append(f"| {shown} | {for_pandoc(loader.title)} |")
    return "\n".join(
        [front("Formats", toc=False) + _FORMATS, "| format | what it reads |", "|:---|:--------|", *rows, ""]
    )


_FORMATS = """Files are recognised by their contents; `evalstats formats FILE` shows how. To read any other table,
[name its columns](../own-tables.md) or declare [a format of your own](your-own.md) in twenty lines.
"""


def tables_page() -> str:
    """Return the glossary: every table, every column."""
    from evalstats.schema.columns import glossary

    parts = [front("Tables", description="Every column of the tidy tables: its type, unit and meaning"), _TABLES]
    for (table,), rows in glossary().group_by("table", maintain_order=True):
        parts += [f"## {for_pandoc(str(table))}", "", "| column | type | meaning |", "|:---|:---|:------------|"]
        for row in rows.iter_rows(named=True):
            more = f" ({row['levels']})" if row["levels"] else f" ({row['unit']})" if row["unit"] else ""
            meaning = _with_code(f"{row['meaning']}{more}.")
            needed = " *Required.*" if row["required"] else ""
            parts.append(f"| `{row['column']}` | {for_pandoc(row['dtype'])} | {meaning}{needed} |")
        parts.append(': {tbl-colwidths="[22,18,60]"}\n')
    return "\n".join(parts)


def _with_code(text: str) -> str:
    """Escape a text of ours for Markdown, but for what stands in backticks."""
    return re.sub(r"`[^`]*`|[^`\s]+", lambda word: word[0] if word[0].startswith("`") else for_pandoc(word[0]), text)


_TABLES = """All formats are read into these Polars frames; `evalstats.glossary()` returns this page as a frame. Other columns of
a file are kept by name, as factors.
"""


# --- files ---


def replace_room(folder: Path, files: Mapping[str, str]) -> None:
    """Put new files in place of a folder's old ones."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    for name, text in files.items():
        _write(new / name, text)
    shutil.rmtree(folder, ignore_errors=True)
    new.chmod(0o755)
    new.rename(folder)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
