"""What readers see of each frozen result is what was read and found good: `python -m tests.golden_texts` renews it.

And what holds for any result: its texts fit, have no holes, and say no thing under two ids.
"""

import re
from difflib import unified_diff

import pytest

from evalstats.document import terminal
from tests.frozen.cases import CASES
from tests.golden_texts.texts import FOLDER, results, texts


@pytest.mark.parametrize("name", CASES)
def test_a_result_reads_as_before(name: str) -> None:
    before = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    lines = [*unified_diff(before.splitlines(), texts(name).splitlines(), "before", "now", lineterm="", n=2)]
    assert not lines, "\n".join([*lines, f"if this is meant: python -m tests.golden_texts {name}"])


def test_every_text_has_its_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_texts_fit_and_have_no_holes(name: str) -> None:
    for result in results(name):
        document = result.document()
        whole = terminal.to_text(document, full=True)
        shown = re.sub(r"^    .*$", "", whole, flags=re.MULTILINE)  # code is as long as it is
        assert max(map(len, terminal.to_text(document).splitlines())) <= 80
        assert "\n" not in terminal.headline(document)
        assert len(document.headline.split()) <= 24
        assert document.title.endswith("?")
        line = " ".join(shown.split())
        holes = re.findall(
            r".{30}(?:\bNone\b(?! of| shown)|\bnan\b|(?<!\d)\.\.(?!\.)| ,|\( |: :|p = –|; ;|—).{9}", line
        )
        assert not holes
        for form in (result.summary(), result.explain(), result.to_markdown(), result.to_html(), result.to_latex()):
            assert form.strip()
            assert not re.search(r"\bNone\b(?! of|\*| shown)|\bnan\b", form)


@pytest.mark.parametrize("name", CASES)
def test_sections_have_content_and_figures_words(name: str) -> None:
    for result in results(name):
        document = result.document()
        ids = [section.id for section in document.sections]
        assert len(set(ids)) == len(ids)
        assert all(section.blocks and section.heading for section in document.sections)
        for figure in document.figures.values():
            assert figure.alt
