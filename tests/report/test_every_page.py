"""Every kind of page in a real browser: with hostile names in it, and as the engine renders the example.

What holds for any page holds for all of them.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalstats.report.examples import EXAMPLES, example
from evalstats.report.overview import show_overview, write_pages
from evalstats.report.page import show_results
from evalstats.report.render import STUDIES, report
from tests.browsing import Visit, axe, disorder, faint, live_names, on_paper, overflow, wrong_tables, wrong_tabs
from tests.report.hostile_results import MODELS, RESULTS, several_metrics, table
from tests.report.quick_pages import printed_page, quick_page

pytestmark = pytest.mark.browser

# Of these an overview shows the answers with every run of the tests; their own pages wait for the long one.
IN_THE_OVERVIEW = ("compare", "leaderboard", "scenarios")


def hostile_page(kind: str, folder: Path) -> Path:
    result = RESULTS[kind]()
    if kind != "overview":
        return quick_page(result.document(), folder)
    result.save(folder / "overview.json")
    return printed_page(lambda: show_overview(str(folder / "overview.json")), folder)


def several_hostile(folder: Path) -> Path:
    paths = [str(folder / f"{kind}.json") for kind in ("power", "judges")]
    for kind, path in zip(("power", "judges"), paths, strict=True):
        RESULTS[kind]().save(path)
    return printed_page(lambda: show_results(paths), folder)


def rendered(what: str, folder: Path) -> Path:
    (path,) = report(what if what in STUDIES else example(what), folder / "page.html", engine="embedded")
    return path


def linked_pages(folder: Path) -> Path:
    return write_pages(RESULTS["overview"](), folder / "pages")


def pages() -> Iterator[Any]:
    for kind in RESULTS:
        marks = [pytest.mark.slow] if kind in IN_THE_OVERVIEW else []
        yield pytest.param(lambda folder, kind=kind: hostile_page(kind, folder), id=f"hostile {kind}", marks=marks)
    longer: Mapping[str, Callable[[Path], Path]] = {
        "hostile results": several_hostile,
        "hostile folder": linked_pages,
        "hostile metrics": lambda folder: quick_page(several_metrics().document(), folder),
        **{kind: lambda folder, kind=kind: rendered(kind, folder) for kind in (*EXAMPLES, *STUDIES)},
    }
    yield from (pytest.param(make, id=name, marks=pytest.mark.slow) for name, make in longer.items())


@pytest.fixture(scope="module")
def window(browser: Any) -> Any:
    """One for all pages: another costs a process each."""
    return browser.new_page()


@pytest.fixture(scope="module", params=list(pages()))
def visit(request: pytest.FixtureRequest, window: Any, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """A page that all tests of it look at; each says how."""
    path = request.param(tmp_path_factory.mktemp("page"))
    return Visit(window).go(path)


def test_names_are_text(visit: Visit, request: pytest.FixtureRequest) -> None:
    page = visit.seen()
    assert live_names(page) == []
    assert page.locator("script").count() == 1
    if "hostile" in request.node.name:
        told = page.evaluate("document.querySelector('main').textContent.replace(/\\s+/g, ' ')")
        assert any(name in told for name in MODELS), "no model is named"


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_stands_beyond_the_edge(visit: Visit, width: int) -> None:
    assert overflow(visit.seen(width=width)) == []


def test_headings_ids_drawings_and_data_are_in_order(visit: Visit) -> None:
    assert disorder(visit.seen()) == []


def test_print_leaves_out_what_paper_cannot_do(visit: Visit) -> None:
    assert on_paper(visit.seen(media="print", scheme="dark")) == []
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_tables_sort_and_filter(visit: Visit) -> None:
    assert wrong_tables(visit.seen()) == []


def test_tabs_switch(visit: Visit) -> None:
    assert wrong_tabs(visit.seen()) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(visit: Visit, scheme: str) -> None:
    assert faint(visit.seen(scheme=scheme)) == []


def test_axe_finds_no_fault(visit: Visit) -> None:
    # Contrast, half of its time, is what the test above measures, in drawings too.
    assert axe(visit.seen(), without=("color-contrast",)) == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_can_read_everything(visit: Visit, scheme: str) -> None:
    assert axe(visit.seen(scheme=scheme), "color-contrast") == []


def test_nothing_is_asked_and_nothing_complains(visit: Visit) -> None:
    assert visit.noise == []


# --- the tests themselves ---

FAULTS = """<!DOCTYPE html><html lang="en"><title>Faults</title><main><h1>Faults</h1>
<p style="color: #aaa">faint</p><p style="color: #0008; background: #fff">thin</p>
<div style="opacity: 0.6"><p style="color: #333; background: #fff">veiled</p></div>
<svg width="90" height="20"><rect width="90" height="20" style="fill: #333"/>
<text x="5" y="15" style="fill: #555">drawn</text></svg>
<div style="width: 2000px">wide</div><img src="data:," onerror="1"><a href="javascript:1">x</a><a download href="data:,">CSV</a>
<details><summary>more</summary><p>folded</p></details><h3 id="p1">Twice</h3>
<a download href="data:text/csv;charset=utf-8;base64,YSxiCjEsPWNtZCgpCg==">sheet</a>
<figure><div class="es-tools"><input type="search"></div><div class="es-table"><table><thead><tr>
<th><button class="es-sort">Name</button></th><th class="es-right"><button class="es-sort">n</button></th></tr></thead>
<tbody><tr><td>b</td><td>1</td></tr><tr><td>a</td><td>2</td></tr><tr><td>c</td><td>1,000</td></tr></tbody></table></div></figure>
<div role="tablist"><button role="tab" aria-controls="p1" aria-selected="true">one</button>
<button role="tab" aria-controls="p2" aria-selected="false">two</button></div><p id="p1">1</p><p id="p2" hidden>2</p>
</main></html>"""


def test_faults_are_found(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "faults.html"
    path.write_text(FAULTS + "<script>console.error('said'); fetch('https://example.org/')</script>", encoding="utf-8")
    visit = Visit(browser.new_page()).go(path)
    page = visit.seen()
    assert [each.partition(":")[0] for each in faint(page)] == ["'faint'", "'thin'", "'veiled'", "'drawn'"]
    assert overflow(page)[0].endswith("pixels too wide")
    assert len(live_names(page)) == 2
    assert {each.split()[1] for each in axe(page)} >= {"image-alt:", "color-contrast:"}
    wrong = wrong_tables(page)
    assert len([each for each in wrong if "is not in order" in each]) == 3
    assert len([each for each in wrong if "finds 3 rows" in each]) == 1
    assert len(wrong_tabs(page)) == 2
    assert {
        "heading 2 skips a level",
        "the id p1 stands twice",
        "sheet holds a formula",
        "a figure without caption",
    } < set(disorder(page))
    # An input, two links that save, a fold, and two buttons.
    assert len(on_paper(visit.seen(media="print"))) == 6
    assert "said" in visit.noise
    assert "https://example.org/" in visit.noise
    page.close()


def test_every_kind_of_result_has_a_page_with_hostile_names() -> None:
    assert set(RESULTS) == {*EXAMPLES, "overview", "changes", "posterior"}


def test_the_hostile_table_is_hostile() -> None:
    assert "<script>" in table().outcomes["benchmark"][0]
    assert set(table().models()) == set(MODELS[:3])
