"""Pages of results that are documents: the example that each page shows, and a result of hostile names, in both forms."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from evalstats.analysis.result import Result
from evalstats.report import examples
from evalstats.report.examples import EXAMPLES
from evalstats.report.render import render_results

KINDS = ("arena", "audit", "contamination", "dashboard", "frontier", "leaderboard", "power")
# The others have tests of their own that render a page full of hostile names in both forms.
RENDERED = tuple(kind for kind in KINDS if kind not in ("arena", "leaderboard"))
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def answered() -> Iterator[Callable[[str], Result]]:
    """Return the example of a page; each is computed once. That of the leaderboard has three models instead of ten."""
    ten = examples._rutbench
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examples, "_rutbench", lambda *, every: ten(every=4 * every))
        # Not `example`, which would keep the small one for all that ask after these tests.
        yield cache(lambda kind: EXAMPLES[kind]())


def test_every_page_has_an_example() -> None:
    assert set(KINDS) <= set(EXAMPLES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_says_that_it_is_simulated_and_answers_in_one_line(
    kind: str, answered: Callable[[str], Result]
) -> None:
    said = answered(kind).document()
    assert said.kind == kind
    assert [note.kind for note in said.banners] == ["simulated"]
    assert len(said.headline.split()) <= 20
    assert said.figures


@pytest.mark.parametrize("kind", RENDERED)
def test_a_page_is_one_file_that_loads_nothing_and_shows_names_as_text(
    kind: str, answered: Callable[[str], Result], tmp_path: Path
) -> None:
    found = answered(kind)
    banner = replace(found.notes[0], text=f"simulated by {HOSTILE}")
    render_results([replace(found, notes=(banner, *found.notes[1:]))], [tmp_path / "page.html", tmp_path / "page.pdf"])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r'(?:src|href)="https?://', page.partition("<body")[0])
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
