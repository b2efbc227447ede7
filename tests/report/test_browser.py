"""The page in a real browser: nothing overflows, everything can be read, nothing is asked of a network."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browsing import Visit, saved

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def visits(browser: Any, pages: Any, hostile_pages: Any) -> Iterator[dict[bool, Visit]]:
    """The page, and the one with hostile names: each in a window that is resized, which is what a page goes by."""
    made = {hostile: Visit(browser.new_page()) for hostile in (False, True)}
    yield {hostile: visit.go((hostile_pages if hostile else pages).html_path) for hostile, visit in made.items()}
    for visit in made.values():
        visit.page.close()


@pytest.fixture
def opened(visits: dict[bool, Visit]) -> Callable[..., Any]:
    """Look at a page in one way."""

    def open_page(width: int, scheme: str = "light", *, hostile: bool = False, media: str = "screen") -> Any:
        return visits[hostile].seen(width=width, scheme=scheme, media=media)

    return open_page


@pytest.mark.parametrize("names", ["plain", "hostile"])
@pytest.mark.parametrize("width", [1280, 760, 390, 320])
def test_nothing_overflows_sideways(opened: Callable[..., Any], width: int, names: str) -> None:
    page = opened(width, hostile=names == "hostile")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = page.evaluate(
        """() => [...document.querySelectorAll('main *, header *')].filter(e => {
            const box = e.getBoundingClientRect();
            return box.width && box.right > innerWidth + 1 && !e.closest('.es-table, .es-code, pre');
        }).map(e => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []


@pytest.mark.parametrize("width", [760, 390])
def test_punctuation_stays_with_a_name_however_long(opened: Callable[..., Any], width: int) -> None:
    page = opened(width)
    # As a name of more letters than a line of a phone has is set.
    long = "e => { e.textContent = `${'a-long-'.repeat(12)}name`; e.classList.remove('es-whole'); e.after('?'); }"
    page.evaluate(f"() => document.querySelectorAll('h1 > code, .es-answer p > code').forEach({long})")
    alone = page.evaluate(
        """() => [...document.querySelectorAll('h1 > code, .es-answer p > code')].filter(e => {
            const mark = document.createRange();
            mark.selectNode(e.nextSibling);
            return mark.getBoundingClientRect().top > [...e.getClientRects()].pop().bottom - 2;
        }).map(e => e.parentElement.textContent.slice(0, 80))"""
    )
    assert alone == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("names", ["plain", "hostile"])
def test_nothing_is_asked_and_nothing_complains(visits: dict[bool, Visit], scheme: str, names: str) -> None:
    visit = visits[names == "hostile"]
    visit.seen(scheme=scheme)
    visit.anew().wait_for_timeout(200)
    assert visit.noise == []


@pytest.mark.parametrize(("width", "wide"), [(1280, True), (390, False)])
def test_the_drawing_fits_the_screen(opened: Callable[..., Any], width: int, wide: bool) -> None:
    page = opened(width)
    assert page.locator("#fig-flips .es-wide svg").is_visible() is wide
    assert page.locator("#fig-flips .es-narrow svg").is_visible() is not wide
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().width)
            .map(t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width
                 / t.ownerSVGElement.viewBox.baseVal.width))"""
    )
    assert smallest >= 11


def test_dark_is_dark_and_print_is_light(opened: Callable[..., Any]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    assert opened(1280, "dark").evaluate(ground) == "rgb(18, 22, 27)"
    assert opened(1280, "light").evaluate(ground) == "rgb(255, 255, 255)"
    assert opened(1280, "dark", media="print").evaluate(ground) == "rgb(255, 255, 255)"


def test_print_leaves_out_what_paper_cannot_do(opened: Callable[..., Any]) -> None:
    page = opened(1280, media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator(".es-data").first.is_visible()
    assert page.locator(".es-verdict").is_visible()


def test_the_keyboard_reaches_everything_and_shows_where_it_is(visits: dict[bool, Visit]) -> None:
    visits[False].seen()
    page = visits[False].anew()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        name, width = page.evaluate(
            "[document.activeElement.getAttribute('class') || document.activeElement.tagName,"
            " getComputedStyle(document.activeElement).outlineWidth]"
        )
        if name == "BODY":
            break
        assert width != "0px"
        reached.add(name)
    assert any("es-table" in name for name in reached)
    assert {"A", "SUMMARY"} <= reached


def test_wide_tables_scroll_inside_the_page_and_keep_the_name_of_the_row(opened: Callable[..., Any]) -> None:
    page = opened(320)
    region = page.locator("#tbl-dependence .es-table")
    assert region.evaluate("e => e.scrollWidth > e.clientWidth")
    region.evaluate("e => { e.scrollLeft = 200; }")
    stub = page.locator("#tbl-dependence tbody th").first
    assert stub.evaluate("e => e.getBoundingClientRect().left >= e.closest('.es-table').getBoundingClientRect().left")


def test_the_verdict_is_on_the_first_screen(opened: Callable[..., Any]) -> None:
    for width in (1280, 390):
        box = opened(width).locator(".es-verdict").bounding_box()
        assert box["y"] + box["height"] < 900


def test_data_can_be_saved(opened: Callable[..., Any]) -> None:
    page = opened(1280)
    download = saved(page, page.locator("#fig-flips").get_by_role("link", name="Data (CSV)"))
    assert download.suggested_filename == "flips.csv"
    with open(download.path(), encoding="utf-8") as stream:  # noqa: PTH123 - playwright gives a path or text
        assert stream.readline().startswith("task,item,variant,scenario")
