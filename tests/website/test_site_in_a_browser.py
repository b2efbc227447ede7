"""The website in a real browser: a small one of real pages with every run of the tests, the whole of it in the long one.

Of the whole one, what depends on words (width) is looked at on every page, what depends on elements on a sample of them.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.website import build, pages
from evalstats.report.page import open_page
from tests.browsing import Visit, axe, faint, live_names, on_paper, overflow, wrong_tables
from tests.report.hostile_results import RESULTS

pytestmark = pytest.mark.browser

SETTINGS = {
    "project": {"render": ["index.qmd", "gallery/*.md", "docs/*.md", "questions/*.ipynb"]},
    "website": {
        "title": "evalstats",
        "navbar": {
            "left": [
                {"text": "Reports", "href": "gallery/judges.md"},
                {"text": "Notebooks", "menu": ["questions/plan-an-eval.ipynb"]},
            ]
        },
        "sidebar": [{"id": "guides", "contents": ["docs/ci.md", "gallery/judges.md"]}],
        "page-footer": {"left": "evalstats"},
    },
}


@dataclass(frozen=True, slots=True)
class Site:
    """A site that was made, and one visit that goes from page to page."""

    root: Path
    visit: Visit
    look: Callable[[str], Any]

    def pages(self) -> list[str]:
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*.html"))

    def sample(self) -> list[str]:
        """Return about the fewest pages that hold every kind of element of the site, and at least one of each folder."""
        held = {name: kinds(self.root / name) for name in self.pages()}
        left = set().union(*held.values())
        chosen: list[str] = []
        while left:
            chosen.append(max(held, key=lambda name: len(held[name] & left)))
            left -= held[chosen[-1]]
        return sorted(chosen)

    def faults(self, check: Callable[[Any], list[str]], pages: list[str], **seen: Any) -> dict[str, list[str]]:
        """Return what a check finds on each of these pages, where it finds something."""
        looked = {name: check(self.look(name).seen(**seen)) for name in pages}
        return {name: found for name, found in looked.items() if found}


_DRAWING = re.compile(r"<(svg|math)\b.*?</\1>", re.DOTALL)
_ELEMENT = re.compile(r'<([a-z][a-z0-9]*)\b(?:[^>]*?\sclass="([^"]*)")?')


def kinds(page: Path) -> set[tuple[str, str]]:
    """Return what a page is made of: its folder, and its elements with each of their classes; a drawing is one of them."""
    text = _DRAWING.sub(r"<\1>", page.read_text(encoding="utf-8"))
    elements = {(name, each) for name, classes in _ELEMENT.findall(text) for each in classes.split() or ("",)}
    return {("in", page.parent.as_posix()), *elements}


def small_site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the site of a start page, a guide, a notebook, and a report with hostile names."""
    real, root = build.ROOT, folder / "root"
    for name in ("index.qmd", "docs/ci.md", "docs/images/comparison-report.png", "notebooks/plan-an-eval.ipynb"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(real / name, root / name)
    shutil.copytree(root / "notebooks", root / "questions")
    (root / "_quarto.yml").write_text(yaml.safe_dump(SETTINGS), encoding="utf-8")
    page = open_page(RESULTS["judges"]())
    body = pages._printed(lambda: page.show("answer", "evidence", "method"))
    (root / "gallery").mkdir()
    (root / "gallery" / "judges.md").write_text(pages.front("Judges <b>") + body, encoding="utf-8")
    monkeypatch.setattr(build, "ROOT", root)
    monkeypatch.setattr(pages, "main", lambda: None)
    return build.build(folder / "site").parent


@pytest.fixture(scope="module", params=["small", pytest.param("whole", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest, browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as monkeypatch:
        whole = request.param == "whole"
        root = build.build(folder / "site").parent if whole else small_site(folder, monkeypatch)
    visit, at = Visit(browser.new_page()), [""]
    visit.listen(root)

    def look(name: str) -> Visit:
        if at[0] != name:
            visit.page.goto((root / name).as_uri())
            at[0] = name
        return visit

    yield Site(root, visit, look)
    visit.page.close()


def test_pages_fit_the_screen_and_hold_no_live_names(site: Site) -> None:
    def check(page: Any) -> list[str]:
        found = [*live_names(page), *overflow(page)]
        for width in (320, 390):
            page.set_viewport_size({"width": width, "height": 900})
            found += [f"at {width} pixels: {each}" for each in overflow(page)]
        return found

    assert site.faults(check, site.pages()) == {}
    assert site.visit.noise == []


def test_axe_finds_no_fault_and_all_can_be_read(site: Site) -> None:
    def check(page: Any) -> list[str]:
        # Contrast, half of what axe spends, is what `faint` measures, in drawings too.
        found = [*axe(page, without=("color-contrast",)), *faint(page)]
        page.emulate_media(color_scheme="dark")
        return [*found, *(f"in the dark: {each}" for each in faint(page))]

    assert site.faults(check, site.sample()) == {}
    assert site.visit.noise == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_can_read_everything(site: Site, scheme: str) -> None:
    assert site.faults(lambda page: axe(page, "color-contrast"), site.sample(), scheme=scheme) == {}


def test_print_leaves_out_what_paper_cannot_do(site: Site) -> None:
    assert site.faults(on_paper, site.sample(), media="print") == {}


def test_tables_sort_and_filter_where_they_do(site: Site) -> None:
    assert site.faults(wrong_tables, site.sample()) == {}


def test_search_finds_a_page_and_leads_there(site: Site) -> None:
    page = site.look("index.html").seen()
    page.locator(".find input").fill("gate")
    page.locator(".find li a").first.click()
    assert page.url.endswith(".html") or ".html#" in page.url
    assert "gate" in page.locator("main").text_content().lower()
    page.goto((site.root / "index.html").as_uri())
    assert site.visit.noise == []


def test_the_theme_is_chosen_and_kept(site: Site) -> None:
    page = site.look("index.html").seen(scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(ground) == "rgb(18, 22, 27)"
    assert faint(page) == []
    page.reload()
    assert page.evaluate(ground) == "rgb(18, 22, 27)"
    page.get_by_role("button", name="Light").click()
    page.evaluate("localStorage.clear()")
    page.reload()


def test_what_scrolls_can_be_reached_by_the_keyboard_and_what_does_not_is_passed_over(site: Site) -> None:
    page = site.look("docs/ci.html").seen(width=390)
    own = "[...document.querySelectorAll('main pre')].map(e => e.scrollWidth > e.clientWidth)"
    # The page hears of another width a moment later.
    agrees = (
        f"() => {own}.every((wide, place) => document.querySelectorAll('main pre')[place].tabIndex === (wide ? 0 : -1))"
    )
    seen: list[bool] = []
    for width in (390, 1280):
        site.visit.seen(width=width).wait_for_function(agrees)
        seen += page.evaluate(own)
    assert set(seen) == {True, False}
