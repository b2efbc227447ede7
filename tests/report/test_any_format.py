"""Pages and results in formats of Quarto that are none of ours: what is printed there, and what real Quarto makes of it."""

import base64
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalstats.document.quarto import EXECUTED
from evalstats.report.engine import find_page, find_quarto
from evalstats.report.overview import show_overview
from evalstats.report.page import open_page, open_study
from tests.report.small_examples import example

pypandoc = pytest.importorskip("pypandoc")

FORMATS = ("html", "docx", "pptx", "revealjs", "typst", "pdf", "epub", "gfm")
PARTS = ("title", "answer", "evidence", "method")


@pytest.fixture
def rendering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """As in a kernel that Quarto started: a file says which format is made."""

    def into(base: str, extension: str = "", theme: object = "cosmo") -> None:
        identifier = {
            "base-format": base,
            "target-format": base,
            **({"extension-name": extension} if extension else {}),
        }
        told = tmp_path / f"{base}{extension}{len(list(tmp_path.iterdir()))}.json"
        known = {"identifier": identifier, "metadata": {"theme": theme}}
        told.write_text(json.dumps({"document-path": "x.qmd", "format": known}))
        monkeypatch.setenv(EXECUTED, str(told))

    monkeypatch.chdir(tmp_path)
    return into


def printed(kind: str, *parts: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        open_page(example(kind)).show(*parts)
    return stream.getvalue()


def shown(kind: str) -> str:
    result: Any = example(kind)
    return result._repr_markdown_()


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", pypandoc.convert_text(text, "plain", format="markdown", extra_args=["--wrap=none"]))


@pytest.mark.parametrize(
    "kind", ["compare", "scenarios", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("leaderboard", "arena"))]
)
def test_a_page_is_words_and_pictures_in_a_format_that_is_none_of_ours(
    kind: str, rendering: Callable[..., None]
) -> None:
    rendering("docx")
    text, document = printed(kind, *PARTS), example(kind).document()
    assert not re.search(r"\{=(html|typst)\}|</?[a-z]+[ >]", text)
    told = plain(text)
    for said in (document.headline.rstrip("."), document.number, document.scope, *(n.line for n in document.banners)):
        assert re.sub(r"\s+", " ", said) in told
    for section in document.sections:
        assert section.id in ("provenance", "code") or section.heading in told
    drawn = re.findall(r"^::: \{#fig-([\w-]+) fig-pos=\"H\"\}\n\n!\[", text, re.MULTILINE)
    assert drawn
    assert len(drawn) == len(set(drawn)) == text.count("data:image/png;base64,")


def test_our_own_formats_and_older_quartos_keep_their_pages(
    rendering: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(EXECUTED, raising=False)
    before = printed("score", *PARTS)
    assert "{=html}" in before
    rendering("html", "evalstats")
    assert printed("score", *PARTS) == before
    monkeypatch.setenv(EXECUTED, "/nowhere/gone")
    assert printed("score", *PARTS) == before


def test_a_theme_with_a_dark_side_gets_a_drawing_for_each(rendering: Callable[..., None]) -> None:
    rendering("html", theme={"light": "cosmo", "dark": "darkly"})
    answer, page = shown("contamination"), printed("contamination", "answer")
    drawings = [re.findall(r"\.(\w+)-content\}\n\n!\[.*?\]\(<(data:image/png\S+)>\)", text) for text in (answer, page)]
    for found in drawings:
        assert [side for side, _ in found] == ["light", "dark"]
        assert found[0][1] != found[1][1]
    assert drawings[0] == drawings[1]
    for base, theme in (("html", "darkly"), ("docx", {"light": "cosmo", "dark": "darkly"})):
        rendering(base, theme=theme)
        assert "-content}" not in shown("contamination")


def size(markdown: str) -> tuple[int, int]:
    """Return width and height of the first picture, as a PNG says them."""
    found = re.search(r"data:image/png;base64,([^>]+)>", markdown)
    assert found
    header = base64.b64decode(found[1][:64])
    return int.from_bytes(header[16:20]), int.from_bytes(header[20:24])


@pytest.mark.parametrize("kind", ["leaderboard", "contamination", "frontier"])
def test_a_picture_on_a_slide_leaves_room_for_the_words(kind: str, rendering: Callable[..., None]) -> None:
    shapes = {}
    for base in ("html", "revealjs", "beamer"):
        rendering(base)
        width, height = size(shown(kind))
        shapes[base] = height / width
    assert shapes["revealjs"] == shapes["beamer"] <= 0.41
    assert shapes["revealjs"] == shapes["html"] or shapes["html"] > 0.4


def test_tables_on_slides_are_no_floats_since_quarto_drops_those(rendering: Callable[..., None]) -> None:
    rendering("pptx")
    assert "#tbl-" not in (slides := printed("leaderboard", *PARTS))
    assert "#fig-" in slides
    assert "|:--" in slides.replace(" ", "")


def test_studies_and_overviews_are_words_there_too(
    rendering: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    rendering("docx")
    page = open_study("Ours?", kind="study", label="yes", tone="good", headline="It is", number="3", scope="All items")
    page.section("Found", "A paragraph.", ["one", "two"])
    page.fold("Folded", "Inside.")
    page.box("Label", "In a box.")
    show_overview()
    out = capsys.readouterr().out
    assert "{=" not in out
    told = plain(out)
    for said in (
        "Yes. It is.",
        "3. All items.",
        "A paragraph.",
        "Folded",
        "Inside.",
        "Label. In a box.",
        "What the data hold",
    ):
        assert said in told


SHORTCODE = """
local shortcodes = dofile({path!r})
function Pandoc(document)
  return pandoc.Pandoc(shortcodes.evalstats({{ {{ pandoc.Str({result!r}) }}, {{ pandoc.Str({part!r}) }} }}))
end
"""


def test_the_shortcode_of_the_extension_shows_parts_without_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extension = find_page("compare").extension
    declared = yaml.safe_load((extension / "_extension.yml").read_text())["contributes"]["shortcodes"]
    saved, result = tmp_path / "r.json", example("compare")
    result.save(saved)
    monkeypatch.setenv("QUARTO_PYTHON", sys.executable)

    # A document's folder may hold what is called as a module is.
    (tmp_path / "json.py").write_text("raise SystemExit('a module beside the document was run')")
    monkeypatch.chdir(tmp_path)

    def shown(path: Path, part: str) -> str:
        (tmp_path / "x.lua").write_text(
            SHORTCODE.format(path=str(extension / declared[0]), result=str(path), part=part)
        )
        return pypandoc.convert_text("", "plain", format="markdown", filters=[str(tmp_path / "x.lua")])

    document = result.document()
    told = re.sub(r"\s+", " ", shown(saved, "answer"))
    assert document.headline.rstrip(".") in told
    assert document.evidence[0].heading not in told
    with pytest.raises(RuntimeError, match=r"(?s)there is no file.*could not show the result"):
        shown(tmp_path / "no.json", "answer")


DOCUMENT = """---
title: Ours
format: html
execute: {echo: false}
---

## Result

See @fig-mine and @fig-difference.

```{python}
import evalstats as es

result = es.load_result("r.json")
result
```

## Parts

```{python}
es.show(result, "flips")
```

## Mine

```{python}
#| label: fig-mine
#| fig-cap: My caption
result.figure()
```

## Page

```{python}
#| output: asis
from evalstats.report.page import open_page

open_page(result).show("answer", "evidence")
```
"""


@pytest.mark.quarto
@pytest.mark.parametrize("to", FORMATS)
def test_real_quarto_keeps_verdict_and_pictures_in_every_format(to: str, tmp_path: Path) -> None:
    program = find_quarto(required=False)
    if program is None:
        pytest.skip("Quarto is not on this machine: set QUARTO_PATH or put it on the path")
    if to == "pdf" and shutil.which("lualatex") is None:
        pytest.skip("LaTeX is not on this machine")
    result = example("compare")
    result.save(tmp_path / "r.json")
    (tmp_path / "x.qmd").write_text(DOCUMENT)
    ending = {"typst": "pdf", "revealjs": "html", "gfm": "md"}.get(to, to)
    whole = ["-M", "embed-resources:true"] if ending == "html" else []
    command = [str(program), "render", "x.qmd", "--to", to, "--output", f"x.{ending}", *whole]
    environment = {**os.environ, "QUARTO_PYTHON": sys.executable}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    text, pictures = content(tmp_path / f"x.{ending}")
    headline = result.document().headline.rstrip(".")
    assert text.count(headline) == 2  # the cell's and the page's
    # Of the cell, its parts, the cell with a label and three of the page; packed files hold the same picture once, and a PDF
    # the labelled one as lines.
    assert pictures == {"docx": 4, "pptx": 4, "epub": 4, "typst": 5, "pdf": 5}.get(to, 6)


def content(path: Path) -> tuple[str, int]:
    """Return the words of a file and how many pictures it holds."""
    if path.suffix == ".pdf":
        document = pytest.importorskip("pypdfium2").PdfDocument(path)
        words = " ".join(page.get_textpage().get_text_range() for page in document)
        pictures = sum(each.type == 3 for page in document for each in page.get_objects(max_depth=4))
    elif path.suffix in (".html", ".md"):
        written = re.sub(r"<(style|script)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        pictures = len(re.findall(r"<img\s|!\[", written))
        words = re.sub(r"<[^>]*>", " ", written)
    else:
        with zipfile.ZipFile(path) as packed:
            pictures = sum(name.endswith((".png", ".svg")) for name in packed.namelist())
            pages = [name for name in packed.namelist() if re.search(r"(document|slide\d+|ch\d+)\.x(ht)?ml$", name)]
            words = re.sub(r"<[^>]*>", "", " ".join(packed.read(name).decode() for name in sorted(pages)))
    return re.sub(r"[\s\ufffe-]+", " ", unescape(words)), pictures
