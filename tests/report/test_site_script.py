"""The page script on the site: loaded once as a file of its own, beside the site's own."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from dev.website import build, pages
from evalstats.report.page import Page
from tests.report.test_page_script import document

SETTINGS: dict[str, Any] = {"title": "site", "navbar": {"left": []}, "sidebar": [], "page-footer": {"left": "foot"}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report's page, as the site shows it."""
    root, out = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("out")
    (root / "gallery").mkdir()
    told = io.StringIO()
    with chdir(tmp_path_factory.mktemp("drawn")), redirect_stdout(told):
        Page(document=document(), engine="", day=date(2026, 1, 31)).show("answer", "evidence", "method")
    (root / "gallery" / "page.md").write_text(f"---\ntitle: Which?\n---\n\n{told.getvalue()}")
    (root / "_quarto.yml").write_text(json.dumps({"project": {"render": ["gallery/*.md"]}, "website": SETTINGS}))
    patch = pytest.MonkeyPatch()
    patch.setattr(build, "ROOT", root)
    patch.setattr(pages, "ROOT", root)
    patch.setattr(pages, "main", lambda: None)
    build.build(out / "site")
    patch.undo()
    return out / "site"


@pytest.fixture
def opened(browser: Any, site: Path) -> Iterator[Any]:
    """Open a page of the site; nothing complained, and nothing was asked of a network."""
    noise: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def open_page(name: str) -> Any:
        page = context.new_page()
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("file:", "blob:")) or noise.append(request.url))
        page.goto((site / name).as_uri())
        return page

    yield open_page
    context.close()
    assert noise == []


def test_pages_of_the_site_hold_no_script_and_load_two(site: Path) -> None:
    text = (site / "gallery" / "page.html").read_text()
    assert re.findall(r"<script[^>]*>", text) == [
        '<script src="../site.js" data-up="../" defer>',
        '<script src="../page.js" defer>',
    ]
    source = build.EXTENSION / "page.js"
    assert (site / "page.js").read_bytes() == source.read_bytes()


@pytest.mark.browser
def test_a_report_on_the_site_sorts_filters_tells_and_follows_as_its_page_does(opened: Any) -> None:
    page = opened("gallery/page.html")
    page.locator("#tbl-long thead").get_by_role("button", name="Score").click()
    assert page.locator("#tbl-long thead th").nth(1).get_attribute("aria-sort") == "descending"
    page.get_by_role("searchbox", name="Filter All models").fill("model_6")
    assert page.locator("#tbl-long tbody tr:visible").count() == 10
    spot = page.locator(".es-wide .es-spot").nth(3)
    spot.hover()
    assert page.locator(".es-tip").text_content() == spot.get_attribute("aria-label")
    spot.click()
    assert page.locator(".es-wide .es-picked").count() == 1
    # The site's own search and theme still work.
    assert page.get_by_role("button", name="Dark").is_visible()
    assert page.locator("a[download='effects.svg']").count() == 1
