"""The page of scenarios, rendered from a result with hostile names: it answers first, loads nothing, and runs nothing."""

from pathlib import Path

import pytest

from evalstats.report.engine import loads, page_script
from evalstats.report.render import render_results
from tests.analysis.scenarios import example
from tests.report.page_words import words


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("rendered") / "page.html"
    (made,) = render_results([example.hostile()], [file], engine="embedded")
    return made.path.read_text(encoding="utf-8")


def test_the_page_answers_first_and_gives_its_evidence(page: str) -> None:
    text, document = words(page), example.hostile().document()
    places = [text.index(part.heading) for part in document.evidence]
    assert text.index(document.title) < text.index("What to do") < places[0]
    assert places == sorted(places)
    assert places[-1] < text.index("What this assumes") < text.index("Repeat this")


def test_hostile_names_stay_text_and_nothing_is_loaded(page: str) -> None:
    assert not loads(page, script=page_script())
    for wrong in ("<script>alert", "<img src=x", "<b>$y$</b>", "{{< pagebreak >}}"):
        assert wrong not in page.replace("&lt;", "‹")


def test_the_visible_words_are_few(page: str) -> None:
    import re

    unfolded = re.sub(r"<(details|svg|script|style|head|nav)\b.*?</\1>", " ", page, flags=re.DOTALL)
    assert len(re.sub(r"<[^>]+>", " ", unfolded).split()) < 1300


def test_a_pdf_is_made(tmp_path: Path) -> None:
    (made,) = render_results([example.with_missing_cells()], [tmp_path / "page.pdf"], engine="embedded")
    assert made.path.read_bytes().startswith(b"%PDF")
