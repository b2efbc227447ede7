"""Answers side by side on a page and in a PDF: as they stand in the file, whatever stands there."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import evalstats as es
from evalstats.analysis.compare.flips import ItemTexts
from evalstats.analysis.compare.result import Comparison
from evalstats.report.render import render_results

ANSWERS = (
    'plain\n    indented "quoted"',
    '#eval("1 + 1") $x^2$ *b* _i_ <label> @ref \\ ``` {{< env HOME >}} ]#panic()',
    "<script>alert(1)</script><img src=x onerror=alert(1)></div></details>",
    "\x1b[2J\u202eright to left\x00 ::error::x ##[group]",
)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    pypdfium2 = pytest.importorskip("pypdfium2")
    result = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained")
    assert isinstance(result, Comparison)
    flips = result.flipped.worst_first(higher_is_better=True)
    texts = tuple(
        ItemTexts(
            task=flip.task, item=flip.item, variant="", question=answer, expected="4", baseline="4", candidate=answer
        )
        for flip, answer in zip(flips, ANSWERS, strict=False)
    )
    folder = tmp_path_factory.mktemp("texts")
    page, paper = render_results(
        [replace(result, texts=texts)], [folder / "p.html", folder / "p.pdf"], engine="embedded"
    )
    document = pypdfium2.PdfDocument(paper.path)
    return Path(page.path).read_text(encoding="utf-8"), " ".join(
        each.get_textpage().get_text_range() for each in document
    )


def test_a_page_shows_every_answer_as_text(rendered: tuple[str, str]) -> None:
    page, _ = rendered
    assert page.count('class="es-side"') == len(ANSWERS)
    assert "plain\n    indented &quot;quoted&quot;" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&lt;/div&gt;&lt;/details&gt;" in page
    assert "#eval(&quot;1 + 1&quot;) $x^2$ *b* _i_ &lt;label&gt; @ref" in page
    assert "{{&lt; env HOME &gt;}}" in page
    assert "\\x1b[2J\\u202eright to left\\x00" in page
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)


def test_a_pdf_shows_every_answer_as_text(rendered: tuple[str, str]) -> None:
    paper = re.sub(r"[\s\x02\ufffe]+", "", rendered[1])
    for wanted in (
        'plainindented"quoted"',
        '#eval("1+1")$x^2$*b*_i_<label>@ref',
        "{{<envHOME>}}",
        "<script>alert(1)</script>",
    ):
        assert wanted in paper, wanted
    assert "\\x1b[2J\\u202erighttoleft\\x00" in paper
