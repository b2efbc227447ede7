"""The site made without Quarto: pages, links between them, navigation, search; whole or not at all."""

import json
import re
from pathlib import Path

import pytest
import yaml

from dev.website import build, pages

SETTINGS = {
    "project": {"render": ["index.qmd", "docs/*.md", "questions/*.ipynb"]},
    "website": {
        "title": "a & b",
        "navbar": {
            "left": [{"text": "Guides", "href": "docs/one.md"}, {"text": "Questions", "menu": ["questions/q.ipynb"]}]
        },
        "sidebar": [{"id": "guides", "contents": ["docs/two.md", {"auto": "docs/*.md"}]}],
        "page-footer": {"left": "<foot>"},
    },
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "notebooks").mkdir()
    (root / "questions").mkdir()
    (root / "_quarto.yml").write_text(yaml.safe_dump(SETTINGS))
    (root / "index.qmd").write_text(
        "---\ntitle: Start\n---\n\nSee [one](docs/one.md#here) and [afar](https://example.org/x.md).\n"
    )
    (root / "docs" / "one.md").write_text('# One <b>\n\n## Here\n\nwords "found" here\n\n![](pic.svg)\n')
    (root / "docs" / "pic.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (root / "docs" / "two.md").write_text(
        "---\ntitle: Two\n---\n\n[home](../index.qmd), [asked](../questions/q.ipynb)\n"
    )
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["# Asked?\n", "\n", "So."]}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    for folder in ("notebooks", "questions"):
        (root / folder / "q.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setattr(build, "ROOT", root)
    monkeypatch.setattr(pages, "main", lambda: None)
    return root


def test_pages_link_to_each_other_and_load_nothing_from_elsewhere(site: Path, tmp_path: Path) -> None:
    start = build.build(tmp_path / "out")
    made = {path.relative_to(start.parent).as_posix() for path in start.parent.rglob("*.html")}
    assert made == {"index.html", "docs/one.html", "docs/two.html", "questions/q.html"}
    assert 'href="docs/one.html#here"' in start.read_text()
    assert "https://example.org/x.md" in start.read_text()
    two = (start.parent / "docs" / "two.html").read_text()
    assert 'href="../index.html"' in two
    assert 'href="../questions/q.html"' in two
    for name in made:
        path = start.parent / name
        for address in re.findall(r'(?:src|href)="([^"#]+)', path.read_text()):
            assert address.startswith("https://example.org") or (path.parent / address).is_file(), (name, address)


def test_navigation_follows_the_settings(site: Path, tmp_path: Path) -> None:
    start = build.build(tmp_path / "out")
    one = (start.parent / "docs" / "one.html").read_text()
    side = one.partition('<nav class="side"')[2].partition("</nav>")[0]
    assert re.findall(r'href="\.\./docs/(\w+)\.html"', side) == ["two", "one"]
    assert re.search(r'<a rel="prev" href="\.\./docs/two\.html">', one)
    assert 'rel="next"' not in one
    assert '<a href="../docs/one.html" aria-current="true">Guides</a>' in one
    assert "<title>One &lt;b&gt;</title>" in one
    assert "&lt;foot&gt;" in one
    assert one.count("<h1") == 1
    assert start.read_text().count("<h1") == 1


def test_a_part_is_one_link_where_the_page_is_in_another(site: Path, tmp_path: Path) -> None:
    for folder, order in (("second", 2), ("first", 1)):
        (site / "docs" / folder).mkdir()
        (site / "docs" / folder / "index.md").write_text(f"---\ntitle: The {folder}\norder: {order}\n---\n")
        (site / "docs" / folder / "a.md").write_text(f"---\ntitle: A of the {folder}\ntoc: false\n---\n\n## Here\n")
    sidebar = [{"id": "guides", "contents": "docs"}]
    (site / "_quarto.yml").write_text(
        yaml.safe_dump({**SETTINGS, "website": {**SETTINGS["website"], "sidebar": sidebar}})
    )
    start = build.build(tmp_path / "out")
    page = (start.parent / "docs" / "first" / "a.html").read_text()
    side = page.partition('<nav class="side"')[2].partition("</nav>")[0]
    assert re.findall(r">([^<>]+)</a>", side) == ["One &lt;b&gt;", "Two", "The first", "A of the first", "The second"]
    assert 'class="toc"' not in page
    assert 'class="toc"' in (start.parent / "docs" / "one.html").read_text()


def test_columns_are_halves_only_where_somebody_chose_so(site: Path, tmp_path: Path) -> None:
    row = f"| x | {'long ' * 40}|"
    tables = [f"| a | b |\n{dashes}\n{row}\n" for dashes in ("|---|---|", "|---|---------|")]
    (site / "docs" / "one.md").write_text("# One\n\n" + "\n\n".join(tables))
    start = build.build(tmp_path / "out")
    page = (start.parent / "docs" / "one.html").read_text()
    assert page.count("<table") == 2
    assert re.findall(r'<col style="width: (\d+)%', page) == ["25", "75"]


def test_no_line_ends_within_an_option(site: Path, tmp_path: Path) -> None:
    (site / "docs" / "one.md").write_text("# One\n\n## `--by`\n\n`a --x <b> --lab-live=c`, `a-b`, `-q`\n")
    start = build.build(tmp_path / "out")
    page = (start.parent / "docs" / "one.html").read_text().partition("<main")[2].partition("</main>")[0]
    assert re.findall(r"<code[^>]*>(.*?)</code>", page) == [
        '<span class="es-option">--by</span>',
        'a <span class="es-option">--x</span> &lt;b&gt; <span class="es-option">--lab-live</span>=c',
        "a-b",
        '<span class="es-option">-q</span>',
    ]
    (found,) = (row for row in json.loads((start.parent / "search.js").read_text()[16:-3]) if row["section"])
    assert found["section"] == "--by"


def test_the_title_is_no_entry_of_its_own_contents(site: Path, tmp_path: Path) -> None:
    start = build.build(tmp_path / "out")
    toc = (start.parent / "docs" / "one.html").read_text().partition('<nav class="toc"')[2].partition("</nav>")[0]
    assert re.findall(r">([^<>]+)</a>", toc) == ["Here"]


def test_search_finds_sections_by_their_words(site: Path, tmp_path: Path) -> None:
    start = build.build(tmp_path / "out")
    text = (start.parent / "search.js").read_text()
    assert "</" not in text
    rows = json.loads(text.removeprefix("window.esSearch(").removesuffix(");\n"))
    (found,) = (row for row in rows if "found" in row["text"])
    assert (found["href"], found["section"]) == ("docs/one.html#here", "Here")


def test_a_site_that_fails_leaves_the_old_one(site: Path, tmp_path: Path) -> None:
    start = build.build(tmp_path / "out")
    before = start.read_text()
    (site / "docs" / "one.md").write_text("![](nowhere.svg)\n")
    with pytest.raises(SystemExit, match=r"docs/one\.md: .*nowhere"):
        build.build(tmp_path / "out")
    assert start.read_text() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
def test_no_link_of_the_real_site_leads_nowhere(tmp_path: Path) -> None:
    start = build.build(tmp_path / "site")
    files = list(start.parent.rglob("*.html"))
    assert len(files) > 80
    lost = [
        (path.name, address)
        for path in files
        for address in re.findall(
            r'(?:src|href)="([^"#]+)', re.sub(r"<svg.*?</svg>", "", path.read_text(), flags=re.DOTALL)
        )
        if not re.match(r"[a-z]+:", address) and not (path.parent / address).is_file()
    ]
    assert lost == []
