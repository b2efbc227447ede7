"""What each page costs: words, height, paper, seconds, size, by either engine. Run as `python -m benchmarks.pages`.

    python -m benchmarks.pages [PAGE ...] [--large] [--output FILE.json]

Seconds are of processor time, of all processes that a page takes: its cells, Pandoc, Typst. Words are
those in sight: what is folded away, drawings and the contents are not counted. Height is at a width of 1280 pixels, where
Chromium and playwright are there. `--large` adds pages of many models and items, and the website.
"""

import argparse
import ctypes
import json
import os
import platform
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

Row = dict[str, Any]

# Most words in sight, and most pixels of height at a width of 1280; a screen is 1000 of them. A test holds
# pages to it; some room is left for the fonts of other machines.
BUDGET: Final[Mapping[str, tuple[int, int]]] = {
    "arena": (240, 2700),
    "arena-sampling": (640, 7000),
    "audit": (240, 1400),
    "compare": (400, 2700),
    "compare-metrics": (300, 1600),
    "contamination": (140, 1300),
    "frontier": (110, 1450),
    "items": (450, 3100),  # items that no curve fits, and those that a family knows
    "reliability": (390, 2500),
    "judges": (430, 2400),
    "lab-live": (420, 4000),
    "leaderboard": (450, 2500),  # also says what it can tell apart
    "overview": (660, 3700),
    "power": (410, 2200),
    "published-claims": (870, 4200),
    "results": (590, 3300),
    "scenarios": (500, 3200),
    "score": (120, 1200),
    "tenacious": (740, 3500),
    "validation": (940, 5600),
}

_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_UNSEEN = frozenset({"script", "style", "head", "template", "svg", "nav", "footer"})
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: whoever loses its parent becomes our child, and its seconds are ours
_HEIGHT = "document.documentElement.scrollHeight"


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        unseen = tag in _UNSEEN or "hidden" in given or "es-narrow" in (given.get("class") or "")
        if tag not in _VOID:
            self._open.append((tag, unseen or (tag == "details" and "open" not in given)))

    def handle_endtag(self, tag: str) -> None:
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place][0] == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        if not any(unseen for _, unseen in self._open):
            self.count += len(data.split())


def words(html: str) -> int:
    """Count the words of a page that are in sight when it is opened.

    >>> words("<h1>Two words</h1><details><summary>a</summary>folded</details>")
    2
    """
    parser = _Words()
    parser.feed(html)
    return parser.count


def results() -> Mapping[str, Callable[[], Any]]:
    """Return every page by name, with what gives the results that it shows."""
    from functools import partial

    from evalstats.report.examples import EXAMPLES, example
    from evalstats.report.overview import example_overview
    from evalstats.report.render import STUDIES

    pages: dict[str, Callable[[], Any]] = {kind: partial(example, kind) for kind in EXAMPLES}
    pages |= {study: partial(str, study) for study in STUDIES}
    pages["compare-metrics"] = _metrics
    pages["overview"] = example_overview
    pages["results"] = lambda: [example("judges"), example("score")]
    return dict(sorted(pages.items()))


def _metrics() -> Any:
    """Compare two models by what they score, cost and take."""
    import numpy as np
    import polars as pl

    import evalstats as es

    draw = np.random.default_rng(0)
    rows = [
        {
            "item": i,
            "model": model,
            "correct": int(draw.random() < share),
            "cost": price * draw.lognormal(0, 0.3),
            "latency_s": 3 * draw.lognormal(0, 0.5),
        }
        for model, share, price in (("old", 0.5, 0.02), ("new", 0.68, 0.04))
        for i in range(150)
    ]
    scores = ["correct", "cost:lower", "latency_s:lower"]
    units = {"cost": {"unit": "USD"}, "latency_s": {"unit": "s"}}
    data = es.from_frame(pl.DataFrame(rows), item="item", model="model", score=scores, metrics=units)
    return es.compare(data, "old", "new", metric=["correct", "cost", "latency_s"])


def _seconds(of: Callable[[], object]) -> float:
    """Return the processor time of a call, with that of all processes it starts."""
    before = _spent()
    of()
    return _spent() - before


def _spent() -> float:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


@contextmanager
def _browser() -> Generator[Any]:
    """Give a browser; nothing where there is none."""
    named = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))
    program = next((path for path in named if path), None)
    if program is None or find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def height(browser: Any, path: Path) -> tuple[int, float]:
    """Return the height of a page that is 1280 pixels wide, and the seconds until it is there."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    try:
        began = time.perf_counter()
        page.goto(path.resolve().as_uri())
        return int(page.evaluate(_HEIGHT)), time.perf_counter() - began
    finally:
        page.close()


def _measured(name: str, of: Callable[[], Any], engine: str, folder: Path) -> Row:
    import pypdfium2

    from evalstats.report.render import render_results

    given = of()
    html, pdf = folder / f"{name}.html", folder / f"{name}.pdf"
    row: Row = {"page": name, "engine": engine}
    row["html_s"] = _seconds(lambda: render_results(given, [html], engine=engine))
    row["pdf_s"] = _seconds(lambda: render_results(given, [pdf], engine=engine))
    row |= {"words": words(html.read_text(encoding="utf-8")), "kB": html.stat().st_size / 1000}
    row["pdf_pages"] = len(pypdfium2.PdfDocument(pdf))
    return row


def _large(folder: Path) -> Iterator[Row]:
    """Yield what large pages take, from their data to the file."""
    import evalstats as es
    from evalstats.report.overview import write_pages
    from evalstats.simulate.rutbench import write_rutbench
    from evalstats.simulate.rutbench_world import published_models

    for models, items in ((29, 12_000), (100, 1_000)):
        data, path = _scores(models, items), folder / f"board-{models}.html"
        took = _seconds(lambda data=data, path=path: es.report(es.leaderboard(data), path, engine="embedded"))
        yield {"page": f"leaderboard, {models} models x {items:,} items", "html_s": took, "path": path}
    inside, pages = folder / "rutbench-simulated", folder / "overview"
    write_rutbench(inside, published_models()[:20])
    took = _seconds(lambda: write_pages(es.overview(es.read(inside)), pages))
    yield {"page": "overview of 20 models, a folder of pages", "html_s": took, "path": pages / "index.html"}
    yield {
        "page": "website",
        "html_s": _seconds(lambda: _site(folder / "site")),
        "path": folder / "site" / "index.html",
    }


def _scores(models: int, items: int) -> Any:
    import numpy as np
    import polars as pl

    import evalstats as es

    draw = np.random.default_rng(0)
    ease = draw.normal(size=items)
    frames = [
        pl.DataFrame(
            {
                "item": np.arange(items),
                "model": f"model-{k:03}",
                "score": (ease + 2 * k / models + draw.logistic(size=items) > 1).astype(float),
            }
        )
        for k in range(models)
    ]
    return es.from_frame(pl.concat(frames), item="item", model="model", score="score", benchmark="@simulated")


def _site(folder: Path) -> None:
    import subprocess

    subprocess.run(
        [sys.executable, "-m", "dev.website.build", "--output", str(folder)], check=True, capture_output=True
    )


_FORMS = {"words": "6,.0f", "height": "7,.0f", "pdf_pages": "4.0f", "html_s": "7.1f", "pdf_s": "6.1f", "kB": "7,.0f"}


def _line(row: Row) -> str:
    cells = [format(row[name], form) if name in row else " " * int(form[0]) for name, form in _FORMS.items()]
    return " ".join([f"{row['page']:42} {row.get('engine', ''):9}", *cells])


def main(arguments: list[str]) -> None:
    """Measure the pages that are named, or all."""
    from evalstats.report.engine import find_quarto

    parser = argparse.ArgumentParser(description="What each page costs.")
    parser.add_argument("page", nargs="*", help=f"of {', '.join(results())}; none: all")
    parser.add_argument("--large", action="store_true", help="add pages of many models and items, and the website")
    parser.add_argument("--output", type=Path, help="write the rows as JSON")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.page) - set(results()):
        parser.error(f"there is no page {', '.join(sorted(unknown))}; there are {', '.join(results())}")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    engines = ["embedded", *(["quarto"] if find_quarto(required=False) else [])]
    rows: list[Row] = []
    print(f"{'page':42} {'engine':9} {'words':>6} {'height':>7} {'pdf':>4} {'html s':>7} {'pdf s':>6} {'kB':>7}")

    def add(row: Row, path: Path) -> None:
        if path.is_file():
            row["kB"] = path.stat().st_size / 1000
            with _browser() as browser:
                if browser is not None:
                    row["height"], row["open_s"] = height(browser, path)
        rows.append(row)
        print(_line(row), flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, of in results().items():
            for engine in engines if not asked.page or name in asked.page else ():
                add(_measured(name, of, engine, folder), folder / f"{name}.html")
        for row in _large(folder) if asked.large else ():
            add(row, row.pop("path"))
    machine = f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"
    print(f"{time.strftime('%Y-%m-%d')}; {machine}")
    if asked.output:
        told = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "pages": rows}
        asked.output.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
