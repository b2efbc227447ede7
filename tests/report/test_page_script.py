"""What a reader can do with a page: sort, filter, ask marks, follow a name, take things along; and all without a script."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from evalstats.document.model import Code, Column, Document, Figure, Items, Section, Table, Tabs, Text
from tests.browsing import Visit, saved
from tests.report.quick_pages import quick_page

pytestmark = pytest.mark.browser

HOSTILE = ("<img src=x onerror='window.hit=1'>", "javascript:window.hit=1//", '"></title><script>window.hit=1</script>')
NAMES = (*HOSTILE, *(f"vendor/model_{number}" for number in range(69)))
N = len(NAMES)
# Neither sorted nor sorted as text: thousands, minus signs, halves; one model has no score.
SCORES = tuple(None if place == 5 else ((place * 37) % N - 20) * 151.5 for place in range(N))
SHOWN = 15


def document() -> Document:
    """A figure of five models, a long table of all, a short one that has two of the five."""
    drawn = {"model": NAMES[:5], "estimate": [3.0, -1.0, 0.5, 2.0, 1.0]}
    drawn |= {"conf_low": [1.0, -2.0, -1.0, 1.0, 0.0], "conf_high": [5.0, 0.0, 2.0, 3.0, 2.0]}
    columns = (Column(title="Model", kind="name"), Column(title="Score", kind="number"), Column(title="p", kind="p"))
    rows = tuple((name, score, 0.0001 * place) for place, (name, score) in enumerate(zip(NAMES, SCORES, strict=True)))
    long = Table(
        id="long", columns=columns, rows=rows, caption="All models", lead=True, most=SHOWN, frame={"model": NAMES}
    )
    short = Table(id="short", columns=columns[:2], rows=tuple(row[:2] for row in rows[:3]), caption="Three models")
    figure = Figure(
        id="effects", plot="forest", rows=drawn, options={"title": "points"}, alt="Five models", caption="Five"
    )
    return Document(
        kind="compare",
        title="Which?",
        label="Better",
        tone="good",
        headline="a is better",
        answer=(figure,),
        evidence=(
            Section(id="all", heading="All", blocks=(long, short)),
            Section(id="by", heading="By metric", blocks=(tabs(),)),
            Section(id="list", heading="Many", blocks=(Items(items=tuple(f"finding {k}" for k in range(286))),)),
        ),
        method=(Section(id="code", heading="The same", blocks=(Code(code="import evalstats as es\nx = 1 < 2"),)),),
    )


def tabs() -> Tabs:
    """Three metrics, of which one has a name that would be markup."""
    names = ("accuracy", HOSTILE[0], "cost")
    blocks = [(Text(text=f"The answer for {place}."),) for place in range(3)]
    panels = (
        Section(id=f"p{place}", heading=name, blocks=own)
        for place, (name, own) in enumerate(zip(names, blocks, strict=True))
    )
    return Tabs(id="metrics", title="Metrics", panels=tuple(panels))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, made as the embedded engine makes it, without a kernel."""
    return quick_page(document(), tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def visits(browser: Any, path: Path) -> Iterator[dict[bool, Visit]]:
    """A window with scripts, and one without."""
    made = {script: Visit(browser.new_page(java_script_enabled=script)).go(path) for script in (True, False)}
    yield made
    for visit in made.values():
        visit.page.close()


@pytest.fixture
def opened(visits: dict[bool, Visit]) -> Iterator[Callable[..., Any]]:
    """Open the page; when all is done nothing has been asked of a network, nothing complained, no name was run."""
    looked: list[Visit] = []

    def open_page(width: int = 1280, *, scheme: str = "light", script: bool = True, at: str = "") -> Any:
        visit = visits[script]
        if visit not in looked:
            visit.noise.clear()
            looked.append(visit)
        visit.seen(width=width, scheme=scheme)
        return visit.anew(at)

    yield open_page
    for visit in looked:
        assert visit.page.evaluate("window.hit") is None
        assert visit.noise == []


def column(page: Any, number: int, table: str = "long") -> list[str]:
    """Return the cells of a column as far as they are seen, in their order."""
    # All at once: to ask for one cell after another takes longer than most tests.
    script = "(rows, number) => rows.map(row => row.cells[number].textContent)"
    return page.locator(f"#tbl-{table} tbody tr:visible").evaluate_all(script, number)


def heading(page: Any, title: str, table: str = "long") -> Any:
    return page.locator(f"#tbl-{table} thead").get_by_role("button", name=title)


def written(scores: Any) -> list[str]:
    return ["–" if score is None else f"{score:.1f}".replace("-", "−") for score in scores]


def test_numbers_sort_as_numbers_and_what_has_none_stands_last(opened: Callable[..., Any]) -> None:
    page = opened()
    page.get_by_role("button", name=f"Show all {N}").click()
    known = sorted(score for score in SCORES if score is not None)
    head = page.locator("#tbl-long thead th").nth(1)
    assert head.get_attribute("aria-sort") is None
    heading(page, "Score").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, 1) == [*written(reversed(known)), "–"]
    heading(page, "Score").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, 1) == [*written(known), "–"]
    heading(page, "Score").click()
    assert head.get_attribute("aria-sort") is None
    assert column(page, 1) == written(SCORES)


def test_words_sort_by_the_keyboard_with_numbers_in_them_as_numbers(opened: Callable[..., Any]) -> None:
    page = opened()
    heading(page, "Model").focus()
    page.keyboard.press("Enter")
    names = [name for name in column(page, 0) if name.startswith("vendor")]
    assert names == [f"vendor/model_{number}" for number in range(len(names))]
    assert page.locator("#tbl-long thead th").nth(0).get_attribute("aria-sort") == "ascending"
    # The row that decides is still the one in bold, wherever it stands.
    assert page.locator("#tbl-long .es-first").text_content().strip().startswith(HOSTILE[0])


def test_a_filter_finds_folded_rows_and_says_how_many(opened: Callable[..., Any]) -> None:
    page = opened()
    assert len(column(page, 0)) == SHOWN
    field = page.locator("#tbl-long").get_by_role("searchbox")
    assert page.locator("#tbl-short").get_by_role("searchbox").count() == 0
    field.fill("MODEL_6")
    assert column(page, 0) == [name for name in NAMES if "model_6" in name]
    assert page.locator("#tbl-long [role=status]").text_content() == f"10 of {N}"
    field.fill("")
    assert len(column(page, 0)) == SHOWN


def test_all_rows_unfold_and_the_caption_stays_true(opened: Callable[..., Any]) -> None:
    page = opened()
    more = page.get_by_text(f"The first {SHOWN} of {N} are shown")
    assert more.is_visible()
    page.get_by_role("button", name=f"Show all {N}").click()
    assert column(page, 0) == list(NAMES)
    assert not more.is_visible()


def test_a_long_list_is_folded_and_found_in(opened: Callable[..., Any]) -> None:
    page = opened()
    findings = page.locator("main li").filter(has_text="finding")
    shown = findings.locator("visible=true")
    assert shown.count() == 15
    field = page.get_by_role("searchbox", name="Filter list")
    field.fill("finding 27")
    assert shown.all_text_contents() == ["finding 27", *(f"finding {k}" for k in range(270, 280))]
    field.fill("")
    page.get_by_role("button", name="Show all 286").click()
    assert shown.count() == 286


def panels(page: Any) -> list[bool]:
    return [page.get_by_text(f"The answer for {place}.").is_visible() for place in range(3)]


def test_panels_are_tabs_for_pointer_and_keyboard(opened: Callable[..., Any]) -> None:
    page = opened()
    tabs = page.get_by_role("tab")
    assert tabs.all_text_contents() == ["accuracy", HOSTILE[0], "cost"]
    assert panels(page) == [True, False, False]
    tabs.nth(2).click()
    assert panels(page) == [False, False, True]
    assert page.evaluate("location.hash") == "#tab-metrics-p2"
    page.keyboard.press("ArrowRight")
    assert panels(page) == [True, False, False]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert panels(page) == [False, True, False]
    assert [tab.get_attribute("aria-selected") for tab in tabs.all()] == ["false", "true", "false"]
    assert [tab.get_attribute("tabindex") for tab in tabs.all()] == ["-1", "0", "-1"]
    named = page.get_by_role("tabpanel")
    assert (named.count(), named.get_attribute("aria-label")) == (1, HOSTILE[0])
    assert tabs.nth(1).get_attribute("aria-controls") == named.get_attribute("id")


def test_an_address_names_a_tab(opened: Callable[..., Any]) -> None:
    page = opened(at="#tab-metrics-p1")
    assert panels(page) == [False, True, False]
    page.evaluate("location.hash = '#tab-metrics-p2'")
    page.wait_for_function("document.querySelectorAll('[role=tab]')[2].ariaSelected === 'true'")
    assert panels(page) == [False, False, True]
    page.evaluate("location.hash = '#all'")
    assert panels(page) == [False, False, True]


def test_print_shows_every_panel_and_every_line(opened: Callable[..., Any]) -> None:
    page = opened()
    page.emulate_media(media="print")
    assert panels(page) == [True] * 3
    assert page.get_by_role("tab").count() == 0
    assert page.locator(".es-part").locator("visible=true").all_text_contents()[:3] == ["accuracy", HOSTILE[0], "cost"]
    assert page.locator("main li:visible").filter(has_text="finding").count() == 286
    assert len(column(page, 0)) == N


def test_a_mark_tells_its_value_and_interval_to_pointer_and_keyboard(opened: Callable[..., Any]) -> None:
    page = opened()
    tip, spots = page.locator(".es-tip"), page.locator(".es-wide .es-spot")
    assert not tip.is_visible()
    spots.nth(3).hover()
    assert tip.text_content() == f"{NAMES[3]}: +2.00 [+1.00, +3.00]"
    box, mark = tip.bounding_box(), spots.nth(3).bounding_box()
    assert -1 < mark["y"] - (box["y"] + box["height"]) < 10
    page.locator("h1").hover()
    assert not tip.is_visible()
    page.locator(".es-wide svg").focus()
    page.keyboard.press("ArrowDown")
    assert tip.text_content() == f"{HOSTILE[0]}: +3.00 [+1.00, +5.00]"
    page.keyboard.press("ArrowDown")
    assert tip.text_content() == f"{HOSTILE[1]}: −1.00 [−2.00, 0.00]"
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def marked(page: Any, look: str) -> list[str]:
    script = "look => [...document.querySelectorAll(look)].map(e => e.dataset.name || e.cells[0].textContent)"
    return page.evaluate(script, f".{look}")


@pytest.mark.parametrize("name", [HOSTILE[0], HOSTILE[2]])
def test_a_name_is_followed_through_figures_and_tables(opened: Callable[..., Any], name: str) -> None:
    page = opened()
    page.locator("#tbl-short .es-name").nth(NAMES.index(name)).click()
    assert marked(page, "es-picked") == [name] * 4  # both sizes of the drawing, two tables
    page.locator(".es-wide .es-spot").nth(3).click()
    assert marked(page, "es-picked") == [NAMES[3]] * 3
    page.keyboard.press("Escape")
    assert marked(page, "es-picked") == []
    page.locator(".es-wide svg").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert marked(page, "es-picked") == [NAMES[0]] * 4
    page.keyboard.press("Enter")
    assert marked(page, "es-picked") == []


def test_a_row_under_the_pointer_is_seen_in_the_figure_too(opened: Callable[..., Any]) -> None:
    page = opened()
    page.locator("#tbl-long tbody tr").nth(3).locator("th").hover()
    assert marked(page, "es-near") == [NAMES[3]] * 3
    # A model that stands nowhere else leads nowhere.
    page.locator("#tbl-long tbody tr").nth(9).locator("th").hover()
    assert marked(page, "es-near") == []
    assert page.locator("#tbl-long tbody tr").nth(9).locator("button").count() == 0


def test_a_drawing_is_saved_as_a_file_of_its_own(opened: Callable[..., Any]) -> None:
    page = opened(scheme="dark")
    drawing = saved(page, page.get_by_role("link", name="Drawing (SVG)"))
    assert drawing.suggested_filename == "effects.svg"
    text = Path(drawing.path()).read_text(encoding="utf-8")
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - of our own page
    assert "var(" not in text
    assert "es-spot" not in text
    assert "#0069a8" in text or "#4a5663" in text
    assert NAMES[3] in text


def test_code_is_copied_as_it_is(opened: Callable[..., Any]) -> None:
    page = opened()
    page.locator("summary").get_by_text("Repeat this").click()
    page.get_by_role("button", name="Copy").click()
    assert page.get_by_role("button", name="Copied").is_visible()
    assert page.evaluate("getSelection().toString().trim()") == "import evalstats as es\nx = 1 < 2"


def test_the_policy_stops_any_other_script(visits: dict[bool, Visit]) -> None:
    page = visits[True].anew()
    run = "const own = document.createElement('script'); own.textContent = 'window.hit = 1'; document.body.append(own);"
    page.evaluate(run)
    assert page.evaluate("window.hit") is None


def test_all_is_there_without_a_script(opened: Callable[..., Any]) -> None:
    page = opened(script=False)
    assert page.get_by_role("button").count() == 0
    assert len(page.locator("#tbl-long tbody tr:visible").all()) == SHOWN
    assert page.get_by_text(f"The first {SHOWN} of {N} are shown").is_visible()
    assert page.locator(".es-wide .es-spot title").nth(3).text_content() == f"{NAMES[3]}: +2.00 [+1.00, +3.00]"
    assert page.get_by_role("link", name="Data (CSV)").first.is_visible()
    assert page.locator("nav li").first.is_visible()
    assert panels(page) == [True] * 3
    assert page.locator("main li:visible").filter(has_text="finding").count() == 286


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_folds_the_contents_and_nothing_overflows(opened: Callable[..., Any], scheme: str) -> None:
    page = opened(390, scheme=scheme)
    assert not page.locator("nav li").first.is_visible()
    page.locator("nav summary").click()
    assert page.locator("nav li").first.is_visible()
    page.locator(".es-narrow .es-spot").first.hover()
    assert page.locator(".es-tip").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    box = page.locator(".es-tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
