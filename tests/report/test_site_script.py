"""The page script on the site: loaded once as a file of its own, beside the site's own; a notebook's drawings, too."""

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
from evalstats import plots
from evalstats.plots.style import svg
from evalstats.report.page import Page
from tests.report.test_page_script import document

SETTINGS: dict[str, Any] = {"title": "site", "navbar": {"left": []}, "sidebar": [], "page-footer": {"left": "foot"}}
ROWS = {
    "model": ["a", "b", "c"],
    "estimate": [1.0, 4.0, 2.0],
    "conf_low": [-2.0, 2.0, 0.0],
    "conf_high": [4.0, 6.0, 3.0],
}


def notebook(path: Path) -> Path:
    """Return a stored notebook that shows one drawing twice."""
    drawing = svg(plots.ranks({**ROWS, "rank_low": [1, 1, 2], "rank_high": [3, 2, 3]}, size="screen"))
    output = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/html": [drawing]}}
    code = {"cell_type": "code", "source": "1", "metadata": {}, "execution_count": 1, "outputs": [output]}
    title = {"cell_type": "markdown", "source": "# Asked?\n", "metadata": {}}
    held = {"cells": [title, code, code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(held))
    return path


def test_drawings_of_a_notebook_are_figures_whose_ids_stand_once(tmp_path: Path) -> None:
    found = pages.with_figures(notebook(tmp_path / "q.ipynb"))
    html = "".join(cell["outputs"][0]["data"]["text/html"] for cell in found["cells"][1:])
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert ids[0] == "fig-q-1"
    assert "fig-q-2" in ids
    assert len(ids) == len(set(ids)) > 2
    referred = re.findall(r'(?:href="|url\()#([^")]+)', html)
    assert referred
    assert set(referred) <= set(ids)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report's page and a notebook, as the site shows them."""
    root, out = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("out")
    (root / "gallery").mkdir()
    told = io.StringIO()
    with chdir(tmp_path_factory.mktemp("drawn")), redirect_stdout(told):
        Page(document=document(), engine="", day=date(2026, 1, 31)).show("answer", "evidence", "method")
    (root / "gallery" / "page.md").write_text(f"---\ntitle: Which?\n---\n\n{told.getvalue()}")
    (root / "notebooks").mkdir()
    notebook(root / "notebooks" / "q.ipynb")
    (root / "questions").mkdir()
    (root / "questions" / "q.ipynb").write_text(json.dumps(pages.with_figures(root / "notebooks" / "q.ipynb")))
    (root / "_quarto.yml").write_text(
        json.dumps({"project": {"render": ["gallery/*.md", "questions/*.ipynb"]}, "website": SETTINGS})
    )
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
    source = build.FILTERS[0].with_name("page.js")
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


@pytest.mark.browser
def test_a_drawing_in_a_notebook_tells_follows_and_can_be_taken_along(opened: Any) -> None:
    page = opened("questions/q.html")
    first = page.locator(".es-spot").first
    first.hover()
    assert page.locator(".es-tip").text_content() == "a: 1.0 [−2.0, 4.0], rank 1–3"
    first.click()
    assert page.locator(".es-picked").count() == 2
    assert page.locator("a[download$='.svg']").evaluate_all("all => all.map((each) => each.download)") == [
        "q-1.svg",
        "q-2.svg",
    ]
