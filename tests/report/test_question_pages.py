"""The page of each question, of a result with hostile names, in both forms; `test_render` looks at that of a comparison."""

import base64
import html
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from evalstats.analysis.result import Result
from evalstats.report.engine import loads, page_script
from evalstats.report.examples import EXAMPLES
from evalstats.report.render import render_results
from evalstats.simulate import rutbench
from evalstats.simulate.rutbench_world import N_TASKS
from tests.report.hostile_results import RESULTS
from tests.report.page_words import words

KINDS = tuple(kind for kind in RESULTS if kind not in ("compare", "overview"))


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, str, Path]:
    """A result of the kind, its page and its PDF."""
    folder, found = tmp_path_factory.mktemp("page"), RESULTS[request.param]()
    page, paper = render_results([found], [folder / "page.html", folder / "page.pdf"], engine="embedded")
    return found, page.path.read_text(encoding="utf-8"), paper.path


def test_the_page_answers_first_gives_its_evidence_and_ends_with_the_method(made: tuple[Result, str, Path]) -> None:
    found, page, _ = made
    document, text = found.document(), words(page.partition("<body")[2])
    start = text.index(" ".join(document.title.split()))
    for part in (document.headline, *(section.heading for section in document.evidence), "Repeat this"):
        assert " ".join(part.split()) in text[start:], part
    assert text.rindex("Repeat this") > text.index(" ".join(document.headline.split()), start)


def test_the_page_loads_nothing_and_names_are_text(made: tuple[Result, str, Path]) -> None:
    _, page, _ = made
    assert loads(page, script=page_script()) == []
    tags = set(re.findall(r"<([a-z]+)[\s>]", page))
    assert not tags & {"b", "i", "u", "iframe", "link", "img"}
    assert "hit=1" not in "".join(re.findall(r"<script.*?</script>", page, re.DOTALL))
    data = [base64.b64decode(text).decode() for text in re.findall(r"base64,([A-Za-z0-9+/=]*)", page)]
    assert not re.findall(r"\bu\d{2,}\b", html.unescape("".join([page, *data]))), "a user of live results is named"


def test_the_pdf_asks_the_same(made: tuple[Result, str, Path], pdf_text: Callable[[Path], str]) -> None:
    found, _, paper = made
    text = re.sub(r"\W+", "", pdf_text(paper))
    assert re.sub(r"\W+", "", found.document().title)[:20] in text
    assert "Versions" in text


WHOLE = ("leaderboard", "scenarios")  # take seconds to be written and read: with every run, a tenth of the tasks


@pytest.mark.parametrize(
    ("kind", "n_tasks"),
    [
        *((kind, 25) for kind in EXAMPLES if kind not in ("compare", "score", "items")),
        *(pytest.param(kind, N_TASKS, marks=pytest.mark.slow) for kind in (*WHOLE, "items")),
    ],
)
def test_an_example_says_that_it_is_simulated_and_answers_in_one_line(
    kind: str, n_tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rutbench, "write_rutbench", partial(rutbench.write_rutbench, n_tasks=n_tasks))
    document = EXAMPLES[kind]().document()
    assert document.kind == kind
    assert [note.kind for note in document.banners] == ["simulated"]
    assert len(document.headline.split()) <= 24
    assert document.figures
