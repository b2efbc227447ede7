"""The page of an overview: a card for each answer that leads to where it stands."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evalstats import datasets
from evalstats.analysis.overview.overview import overview
from evalstats.analysis.overview.result import Overview
from evalstats.errors import InputError
from evalstats.report.engine import loads, page_script
from evalstats.report.overview import page_name, show_overview, write_pages
from evalstats.report.render import report

HOSTILE = "<script>alert(1)</script>](javascript:x)"


@pytest.fixture(scope="module")
def found() -> Overview:
    return overview(datasets.tenacious_held_out())


def test_cards_lead_to_their_answers_and_no_id_stands_twice(found: Overview, tmp_path: Path) -> None:
    report(found, tmp_path / "all.html", tmp_path / "all.pdf", engine="embedded")
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    targets = set(re.findall(r'href="#(sec-r\d+)"', page))
    assert targets == {f"sec-r{place}" for place, _ in enumerate(found.answers, start=1)}
    assert targets <= set(ids)
    # The card and the answer say the same number.
    assert page.count("+48.8 pp") >= 2
    assert loads(page, script=page_script()) == []
    assert (tmp_path / "all.pdf").read_bytes().startswith(b"%PDF")


def test_hostile_names_stay_text_and_leave_no_folder(found: Overview, tmp_path: Path) -> None:
    answers = tuple(replace(each, benchmark="../../" + HOSTILE) for each in found.answers[-1:])
    holdings = tuple(replace(each, model=HOSTILE) for each in found.holdings)
    refusals = tuple(replace(each, reason=HOSTILE) for each in found.refusals)
    hostile = replace(found, answers=answers, holdings=holdings, refusals=refusals)
    index = write_pages(hostile, tmp_path / "pages")
    assert not list(tmp_path.glob("*.html"))
    assert all(re.fullmatch(r"[\w.-]+", path.name) for path in (tmp_path / "pages").iterdir())
    page = index.read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert 'href="javascript' not in page
    assert loads(page, script=page_script()) == []


def test_names_of_pages_differ_where_benchmarks_look_alike(found: Overview) -> None:
    same = [replace(found.answers[0], benchmark=name) for name in ("a/b", "a b", "a-b")]
    names = [page_name(answer, place) for place, answer in enumerate(same, start=1)]
    assert len(set(names)) == 3


def test_a_page_of_another_result_is_refused(found: Overview, tmp_path: Path) -> None:
    found.results[0].save(tmp_path / "compare.json")
    with pytest.raises(InputError, match="saved Comparison"):
        show_overview(str(tmp_path / "compare.json"))
    found.save(tmp_path / "overview.json")
    with pytest.raises(InputError, match="2 pages are named for 3 answers"):
        show_overview(str(tmp_path / "overview.json"), pages=["a.html", "b.html"])
