"""Make the website without Quarto: the same pages, in the same order, from the same settings; `make site` runs this.

Pandoc makes each page's text, this module the shell around it: navigation, search, previous and next, both themes.
"""

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape, unescape
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from dev.website import pages
from evalstats.report.engine import pandoc_program

ROOT = pages.ROOT
HERE = ROOT / "dev" / "website"
EXTENSION = ROOT / "reports" / "_extensions" / "evalstats"
# Options are marked before the extension writes short code out.
FILTERS = (
    HERE / "options.lua",
    EXTENSION / "quarto.lua",
    HERE / "tables.lua",
    HERE / "links.lua",
)
_SOURCES = re.compile(r"\.(md|qmd|ipynb)$")
_READERS = {".ipynb": "ipynb+raw_html+raw_attribute", ".md": "markdown-citations", ".qmd": "markdown-citations"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page: its source below the root, its title, and the sidebar and the part of it that it stands in ("" for none)."""

    source: str
    title: str
    sidebar: str = ""
    part: str = ""
    contents: bool = True

    @property
    def target(self) -> str:
        """Where its HTML goes, below the site."""
        return _SOURCES.sub(".html", self.source)

    @property
    def up(self) -> str:
        """The way from the page to the site's root."""
        return "../" * self.source.count("/")


def build(output: Path) -> Path:
    """Make the site in a new folder, which takes the place of `output` when it is whole. Return the start page."""
    pages.main()
    settings = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))
    listed = tuple(entries())
    output.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}-"))
    try:
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            found = list(pool.map(lambda entry: _page(entry, listed, settings, new), listed))
        index = json.dumps([row for rows in found for row in rows], ensure_ascii=False).replace("</", "<\\/")
        (new / "search.js").write_text(f"window.esSearch({index});\n", encoding="utf-8")
        for name in ("site.css", "site.js", "mark.svg"):
            shutil.copy(HERE / name, new / name)
        for name in settings["project"].get("resources", ()):
            shutil.copy(ROOT / name, new / name)
        for name in ("evalstats.css", "page.js"):
            shutil.copy(EXTENSION / name, new / name)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    new.chmod(0o755)
    shutil.rmtree(output, ignore_errors=True)
    new.rename(output)
    return output / "index.html"


# --- what there is ---


def entries() -> Iterator[Entry]:
    """Yield every page once, those of a sidebar in its order."""
    settings = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))
    placed: dict[str, tuple[str, str]] = {}
    for bar in settings["website"]["sidebar"]:
        placed |= {source: (bar["id"], part) for source, part in _listed(bar["contents"])}
    rendered = [
        path.relative_to(ROOT).as_posix()
        for pattern in settings["project"]["render"]
        for path in sorted(ROOT.glob(pattern))
    ]
    for source in dict.fromkeys([*placed, *rendered]):
        sidebar, part = placed.get(source, ("", ""))
        fields = _front(ROOT / source)
        title = str(fields["title"]) if "title" in fields else _heading(ROOT / source)
        yield Entry(source=source, title=title, sidebar=sidebar, part=part, contents=fields.get("toc", True))


def _listed(contents: Any) -> Iterator[tuple[str, str]]:
    """Yield the sources that a sidebar names, with the part each is in: a folder, a list of files, patterns."""
    for item in [contents] if isinstance(contents, str) else contents:
        pattern = item["auto"] if isinstance(item, dict) else item
        if (ROOT / pattern).is_dir():
            yield from _folder(ROOT / pattern)
        else:
            found = sorted(ROOT.glob(pattern))
            yield from ((path.relative_to(ROOT).as_posix(), "") for path in found if _SOURCES.search(path.name))


def _folder(folder: Path, part: str = "") -> Iterator[tuple[str, str]]:
    """Yield a folder's sources by their `order`, then those of each folder in it, whose index names the part."""
    sources = [path for path in folder.iterdir() if _SOURCES.search(path.name)]
    for path in sorted(sources, key=lambda path: (path.stem != "index", *_place(path))):
        yield path.relative_to(ROOT).as_posix(), part
    inside = [path / "index.md" for path in folder.iterdir() if (path / "index.md").is_file()]
    for index in sorted(inside, key=_place):
        yield from _folder(index.parent, str(_front(index)["title"]))


def _place(path: Path) -> tuple[float, str]:
    return _front(path).get("order", math.inf), path.name.lower()


def _front(path: Path) -> Mapping[str, Any]:
    """Return what stands in a page's front matter."""
    if path.suffix == ".ipynb":
        return {}
    front = re.match(r"---\n(.*?)\n---\n", path.read_text(encoding="utf-8"), re.DOTALL)
    return yaml.safe_load(front[1]) if front else {}


def _heading(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    heading = re.search(r"^# (.+?)(?: \{.*\})?$", text, re.MULTILINE)
    return re.sub(r"[\\`]", "", heading[1]) if heading else path.stem


# --- one page ---

_SPLIT = "<!-- es-split -->"
# A table of contents whose only heading of the first level is the page's title.
_WITHIN_TITLE = re.compile(r"<ul>\s*<li><a[^>]*>.*?</a>\s*(<ul>.*</ul>)?\s*</li>\s*</ul>", re.DOTALL)


def _page(entry: Entry, entries: Sequence[Entry], settings: Mapping[str, Any], output: Path) -> list[dict[str, str]]:
    """Write a page; return what is found in it: a row for each of its sections."""
    target = output / entry.target
    target.parent.mkdir(parents=True, exist_ok=True)
    source = ROOT / entry.source
    if source.suffix == ".ipynb":
        # Pandoc shows the HTML of a notebook as it is; only Quarto needs another form of it.
        source = ROOT / "notebooks" / source.name
    contents, body = _converted(source, target.parent)
    target.write_text(_shell(entry, entries, settings, contents, body), encoding="utf-8")
    return list(_sections(entry, body))


def _converted(source: Path, folder: Path) -> tuple[str, str]:
    """Return a page's table of contents and its text, as HTML."""
    program, _ = pandoc_program()
    command = [
        program,
        str(source),
        f"--from={_READERS[source.suffix]}",
        "--to=html5",
        f"--template={HERE / 'body.html'}",
        *(f"--lua-filter={path}" for path in FILTERS),
        "--toc",
        "--toc-depth=3",
        "--mathml",
        "--section-divs",
        f"--resource-path={source.parent}",
        f"--extract-media={source.stem}_media",
        "--fail-if-warnings",
    ]
    done = subprocess.run(  # noqa: S603 - our own arguments
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise SystemExit(f"{source.relative_to(ROOT)}: {done.stderr.strip()}")
    contents, _, body = (part.strip() for part in done.stdout.partition(_SPLIT))
    within = _WITHIN_TITLE.fullmatch(contents) if body.count("<h1") == 1 else None
    return (within[1] or "" if within else contents), body


_TAG = re.compile(r"<(svg|style|script)\b.*?</\1>|<[^>]+>", re.DOTALL)
_MOST_WORDS = 60


def _sections(entry: Entry, body: str) -> Iterator[dict[str, str]]:
    parts = re.split(r'(?=<section id="[^"]*" class="level2)', body)
    for part in parts:
        heading = re.search(r'<section id="([^"]*)" class="level2[^>]*>\s*<h2[^>]*>(.*?)</h2>', part, re.DOTALL)
        words = unescape(_TAG.sub(" ", part)).split()
        yield {
            "href": entry.target + (f"#{heading[1]}" if heading else ""),
            "title": entry.title,
            "section": " ".join(unescape(_TAG.sub("", heading[2])).split()) if heading else "",
            "text": " ".join(words[:_MOST_WORDS]),
        }


def _shell(entry: Entry, entries: Sequence[Entry], settings: Mapping[str, Any], contents: str, body: str) -> str:
    up, site = entry.up, settings["website"]
    side = [other for other in entries if entry.sidebar and other.sidebar == entry.sidebar]
    here = side.index(entry) if entry in side else -1
    before, after = (side[place] if here >= 0 and 0 <= place < len(side) else None for place in (here - 1, here + 1))
    named = {other.source: other for other in entries}
    return _PAGE.format(
        title=escape(entry.title if entry.source != "index.qmd" else site["title"]),
        site=escape(site["title"]),
        up=up,
        navbar="".join(_menu(item, entry, named) for item in site["navbar"]["left"]),
        sidebar=_sidebar(entry, side),
        heading="" if re.search(r"<h1[ >]", body) else f"<h1>{escape(entry.title)}</h1>",
        contents=_contents(contents) if contents and entry.contents else "",
        body=body,
        around=_around(before, after, up),
        footer=escape(site["page-footer"]["left"]),
    )


def _menu(item: Mapping[str, Any], entry: Entry, named: Mapping[str, Entry]) -> str:
    if "menu" in item:
        inside = "".join(_link(named[source], entry) for source in item["menu"])
        return f"<details><summary>{escape(item['text'])}</summary><div>{inside}</div></details>"
    other = named[item["href"]]
    current = ' aria-current="true"' if other.sidebar and other.sidebar == entry.sidebar else ""
    return f'<a href="{entry.up}{other.target}"{current}>{escape(item["text"])}</a>'


def _link(other: Entry, entry: Entry) -> str:
    current = ' aria-current="page"' if other == entry else ""
    return f'<a href="{entry.up}{other.target}"{current}>{escape(other.title)}</a>'


def _contents(listed: str) -> str:
    return f'<nav class="toc" aria-label="On this page"><p>On this page</p>{listed}</nav>'


def _sidebar(entry: Entry, side: Sequence[Entry]) -> str:
    """Return the sidebar: of a part with an index, that link alone, unless the page stands in it."""
    links: list[str] = []
    for part, members in groupby(side, key=lambda each: each.part):
        inside = list(members)
        head = inside[0] if part and inside[0].title == part else None
        if head and entry.part != part:
            links.append(_link(head, entry))
            continue
        listed = "".join(_link(other, entry) for other in inside if other is not head)
        links.append(f'{_link(head, entry)}<div class="part">{listed}</div>' if head else listed)
    return f'<nav class="side" aria-label="Pages of this part">{"".join(links)}</nav>' if links else ""


def _around(before: Entry | None, after: Entry | None, up: str) -> str:
    links = [
        f'<a rel="{rel}" href="{up}{other.target}">{sign}{escape(other.title)}</a>' if other else "<span></span>"
        for rel, sign, other in (("prev", "← ", before), ("next", "→ ", after))
    ]
    return f'<nav class="around" aria-label="Previous and next">{"".join(links)}</nav>' if before or after else ""


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="{up}mark.svg">
<link rel="stylesheet" href="{up}evalstats.css">
<link rel="stylesheet" href="{up}site.css">
<script src="{up}site.js" data-up="{up}" defer></script>
<script src="{up}page.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header class="bar">
<a class="home" href="{up}index.html">{site}</a>
<nav aria-label="Site">{navbar}</nav>
<div class="find" hidden><input type="search" placeholder="Search" aria-label="Search the site"><ul></ul></div>
<button class="theme" type="button" hidden>Dark</button>
</header>
<div class="columns">
{sidebar}
<main id="main">
{heading}
{body}
{around}
</main>
{contents}
</div>
<footer class="foot">{footer}</footer>
</body>
</html>
"""


def main() -> None:
    """Make the site where the command line says."""
    parser = argparse.ArgumentParser(description="Make the website without Quarto.")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "_site")
    print(build(parser.parse_args().output))


if __name__ == "__main__":
    main()
