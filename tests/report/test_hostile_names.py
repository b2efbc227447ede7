"""Names that would read a file, run Typst, lay a block over the page, or lead elsewhere: a page says them, and that is all."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats import audit, compare, from_frame, leaderboard, scenarios
from evalstats.analysis.result import Result
from evalstats.document.escape import one_line
from evalstats.report.engine import FONTS, READER, find_page, pandoc_program, run_pandoc, typst_arguments
from evalstats.report.render import render_results
from evalstats.report.typeset import typeset
from evalstats.schema.data import EvalData
from tests.report.quick_pages import DAY, quick_page

NAMES = (
    "10.1234/)![](../../../../../etc/passwd)x\\",
    "10.1234/)`#panic(1)`{=typst}\\",
    "10.1234/)[x]{style=position:fixed;inset:0;background:red}\\",
    "10.1234/)[here](https://evil.example/x)\\",
    "10.1234/)[click](javascript:alert(1))\\",
    "https://evil.example/x",
    "arXiv:2411.00640",
    "`--cluster x`",
    "{{< include /etc/passwd >}}",
    "\\input{/etc/passwd}",
    "](x){.es-more}\n\n---\ntitle: x\n---\n",
)
PLAIN = tuple(f"model-{letter}" for letter in "abcdefghijk")


def table(names: Sequence[str], levels: Sequence[str]) -> EvalData:
    rows = [
        {
            "item": f"q{i}",
            "model": name,
            "score": int((i * 7 + k * k) % (5 + k) < 3),
            "scenario": levels[i % len(levels)],
        }
        for k, name in enumerate(names)
        for i in range(48)
    ]
    return from_frame(pl.DataFrame(rows), item="item", model="model", score="score", benchmark="@b")


QUESTIONS: dict[str, Callable[[EvalData, Sequence[str]], Result]] = {
    "leaderboard": lambda data, _: leaderboard(data),
    "compare": lambda data, names: compare(data, names[0], names[1], by="scenario"),
    "audit": lambda data, _: audit(data),
    "scenarios": lambda data, _: scenarios(data),
}


def nodes(tree: Any) -> Iterator[str]:
    """Yield what a page is made of but for its words; of links the address too."""
    if isinstance(tree, list):
        for each in tree:
            yield from nodes(each)
    elif isinstance(tree, dict):
        if "t" in tree and tree["t"] not in ("Str", "Space"):
            yield f"{tree['t']} {tree['c'][2][0] if tree['t'] in ('Link', 'Image') else ''}"
        for each in tree.values():
            yield from nodes(each)


def read(page: Path, reader: str) -> Any:
    command = [pandoc_program()[0], f"--from={reader}", "--to=json", page]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)


class Shown(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.addresses: set[str] = set()
        self.tags: Counter[str] = Counter()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.addresses |= {value for name, value in attrs if name in ("href", "src") and value and value[0] != "#"}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Sequence[str]], Path]:
    """The page of a question about models of these names, made once."""

    def made(question: str, names: Sequence[str]) -> Path:
        result = QUESTIONS[question](table(names, names[:4]), names)
        return quick_page(result.document(), tmp_path_factory.mktemp(question))

    return cache(made)


@pytest.mark.parametrize(
    "question", [pytest.param(each, marks=[pytest.mark.slow] if each == "scenarios" else []) for each in QUESTIONS]
)
def test_a_page_of_hostile_names_is_made_of_what_a_page_of_plain_names_is(
    question: str, page_of: Callable[[str, Sequence[str]], Path]
) -> None:
    """As our engine reads it, and as Quarto does, which has no filter of ours."""
    made = {kind: page_of(question, names) for kind, names in {"hostile": NAMES, "plain": PLAIN}.items()}
    for reader in (READER, "markdown"):
        hostile, plain = (Counter(nodes(read(page.with_name("page.md"), reader))) for page in made.values())
        # A name is set as code where code can hold it.
        assert hostile - Counter({"Code ": hostile["Code "]}) == plain - Counter({"Code ": plain["Code "]})
    pages = {kind: Shown() for kind in made}
    for kind, page in made.items():
        pages[kind].feed(page.read_text(encoding="utf-8"))
    assert pages["hostile"].tags["img"] == 0
    outside = {kind: {each for each in page.addresses if not each.startswith("data:")} for kind, page in pages.items()}
    assert outside["hostile"] == outside["plain"]
    assert all(each.startswith(("https://doi.org/10.", "https://arxiv.org/abs/")) for each in outside["plain"])
    told = " ".join(pages["hostile"].text.split())
    for name in NAMES[:2] if question == "compare" else NAMES:
        assert " ".join(one_line(name).split()) in told or question == "audit", name


def test_a_pdf_is_made_of_hostile_names(page_of: Callable[[str, Sequence[str]], Path]) -> None:
    extension, page = find_page("compare").extension, page_of("leaderboard", NAMES)
    source, paper = page.with_suffix(".typ"), page.with_suffix(".pdf")
    run_pandoc(page.with_suffix(".md"), source, typst_arguments(extension), extension=extension, time_limit=60)
    typeset(source, paper, boxes=extension / FONTS, day=DAY, time_limit=60)
    assert paper.read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_reports_of_hostile_names_hold_no_file_of_this_machine(tmp_path: Path) -> None:
    import pypdfium2

    page, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    render_results(compare(table(NAMES, NAMES[:4]), *NAMES[:2]), [page, paper], engine="embedded")
    secret = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()[0]
    html = page.read_text(encoding="utf-8")
    text = " ".join(sheet.get_textpage().get_text_range() for sheet in pypdfium2.PdfDocument(paper))
    assert secret not in html + text
    assert "<img" not in html
    assert "etc/passwd" in "".join(text.split())
