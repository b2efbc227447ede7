"""What a reader sees of each frozen result: on a terminal by default and with --full, and of one result of each kind the
Markdown and the page too, which are views of the same document.

What differs from machine to machine or from one release to the next is masked: versions, digests, folders of their own.
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from html import unescape
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

from evalstats.cli.advice import on_the_shell
from evalstats.cli.output import written
from evalstats.report import markup
from evalstats.report.engine import find_page
from tests.frozen.cases import CASES

FOLDER = Path(__file__).parent
# One of each kind of result, by the names of its case.
WHOLE = frozenset({
    "arena_of_labels", "comparison_shipped", "comparison_of_different_users",
    "comparisons_by_three_metrics", "score_clusters", "leaderboard_baseline_clusters",
    "scenarios_rut", "arena_simulated", "gap_of_outcomes", "contamination_split",
    "frontier_of_cost", "items_short_form", "power_of_a_difference", "judges_of_labels", "audit_of_scores", "overview_of_trials",
    "changes_of_weeks", "reliability_of_scaffolds", "posterior_of_clusters", "posterior_of_ranks",
})  # fmt: skip
_MASKS = (
    (re.compile(re.escape(tempfile.gettempdir()) + r"[\w./-]*"), "FOLDER"),
    (re.compile(r"(?<=evalstats )\d+\.\d+\.\d+\w*"), "VERSION"),
    (re.compile(r"(?<=Versions: ).*"), "VERSIONS."),
    (re.compile(r"\b[0-9a-f]{12,}(?:…[0-9a-f]+)?"), lambda found: "·" * len(found[0])),
    (re.compile(r"(?<=~)[0-9a-f]{8}\b"), "········"),
)


@cache
def results(name: str) -> tuple[Any, ...]:
    """Return what a frozen case returns: one result or several."""
    found = CASES[name]()
    return found if isinstance(found, tuple) else (found,)


@cache
def texts(name: str) -> str:
    """Return all views of a frozen case, one below the other."""
    return masked("".join(f"=== {view} ===\n{text.strip()}\n\n" for view, text in _views(name)))


def _views(name: str) -> Iterator[tuple[str, str]]:
    for each in results(name):
        with on_the_shell():
            yield "terminal", written(each)
            yield "terminal, --full", written(each, full=True)
        if name in WHOLE:
            yield "Markdown", each.to_markdown()
            yield "page", page_text(each)


def page_text(result: Any) -> str:
    """Return what the cells of the result's page print: of a figure its words, of a table its caption."""
    source = find_page(result.document().kind).source.read_text(encoding="utf-8")
    printed, names = StringIO(), {"page": None}
    with (
        tempfile.TemporaryDirectory() as folder,
        redirect_stdout(printed),
        patch.multiple(markup, draw=_undrawn, svg=_words, html_table=_no_table),
        patch.dict("os.environ", {markup.PRINTED: "0"}),
    ):
        result.save(Path(folder) / "result.json")
        for cell in re.findall(r"```\{python\}\n(.*?)```", source, re.DOTALL):
            exec(cell, names)  # noqa: S102 - a page of our own
            if "tags: [parameters]" in cell:
                names |= {"result": f"{folder}/result.json", "rendered": "2026-01-31"}
    return plain(printed.getvalue())


def plain(markdown: str) -> str:
    """Return the text of a page: without Typst, tags and escapes."""
    text = re.sub(r"^(`{3,})\{=typst\}\n.*?^\1$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^`{3,}(\{=html\})?$|^:::.*$|`[^`\n]*`\{=typst\}", "", text, flags=re.MULTILINE)
    text = re.sub(r'<(code|span) class="es-whole">(.*?)</\1>', r"\2", text)
    text = re.sub(r"\\([^\s\w]|_)", r"\1", unescape(re.sub(r"<(?!http)[^>]*>", "\n", text)))
    # A figure is drawn twice, for a wide screen and for a narrow one.
    return "\n".join(line for line, _ in groupby(line.strip() for line in text.splitlines() if line.strip()))


def masked(text: str) -> str:
    """Return the text with marks in place of what is not of the result."""
    for pattern, mark in _MASKS:
        text = pattern.sub(mark, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _undrawn(*_: object, **__: object) -> None:
    return None


def _words(_: object, *, alt: str = "", **__: object) -> str:
    return f"[{alt}]"


def _no_table(*_: object, **__: object) -> str:
    return ""
