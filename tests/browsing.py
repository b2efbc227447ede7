"""Pages in a real browser: how they are opened, and what may be wrong with them, as lists that are empty when all is well."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from evalstats.plots.style import contrast

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
# WCAG: text as large as this needs less contrast.
_LARGE, _LARGE_BOLD = 24.0, 18.66


@contextmanager
def started_browser() -> Iterator[Any]:
    """Start the Chromium of this machine; skip the tests where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no Chromium on this machine; looked for {', '.join(PROGRAMS)}")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()


def saved(page: Any, link: Any) -> Any:
    """Press a link and return what the browser saves."""
    from playwright.sync_api import TimeoutError as Missed

    # A busy machine has lost a press, once in some hundred runs: whoever sees nothing saved presses again.
    for _ in range(2):
        with suppress(Missed):
            with page.expect_download(timeout=10_000) as waiting:
                link.click()
            return waiting.value
    with page.expect_download() as waiting:
        link.click()
    return waiting.value


@dataclass(slots=True)
class Visit:
    """A page that is open; `noise` collects what it says on the console, what fails, and what it asks for elsewhere."""

    page: Any
    noise: list[str] = field(default_factory=list)
    home: str = ""

    def go(self, path: Path) -> "Visit":
        """Open a page that may load nothing but itself."""
        self.listen(path)
        self.home = path.as_uri()
        self.page.goto(self.home)
        return self

    def anew(self, at: str = "") -> Any:
        """Return the page as one who opens it sees it, by an address inside it: nothing is chosen or under the pointer.

        A window of its own for each look costs a process, which takes twice as long as the page does.
        """
        self.page.mouse.move(0, 0)
        # From a page to an address inside it a browser would only scroll.
        self.page.goto("about:blank")
        self.page.goto(self.home + at)
        return self.page

    def listen(self, own: Path) -> None:
        """Collect noise from here on; the page may load from this file or folder alone."""
        allowed = (own.as_uri(), "blob:", "data:")
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.on("pageerror", lambda error: self.noise.append(str(error)))
        self.page.on("request", lambda request: request.url.startswith(allowed) or self.noise.append(request.url))
        # What the next page's coming broke off was not missing.
        self.page.on(
            "requestfailed",
            lambda request: request.failure == "net::ERR_ABORTED" or self.noise.append(f"{request.url} was not found"),
        )

    def seen(self, *, width: int = 1280, scheme: str = "light", media: str = "screen") -> Any:
        """Return the page, looked at in this way."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(media=media, color_scheme=scheme)
        return self.page


_OPEN, _CLOSE = (
    f"document.querySelectorAll('details').forEach(each => {{ each.open = {way}; }})" for way in ("true", "false")
)

# --- wider than the screen ---

_OUTSIDE = """() => [...document.querySelectorAll('body *')].filter(e => {
    const box = e.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1 || !e.checkVisibility()) return false;
    for (let own = e; own; own = own.parentElement)
        if (own !== document.documentElement && /auto|scroll|hidden/.test(getComputedStyle(own).overflowX)) return false;
    return true;
}).map(e => e.outerHTML.slice(0, 80))"""
_CUT = """() => [...document.querySelectorAll('main svg text')].filter(t => {
    const box = t.getBoundingClientRect(), own = t.ownerSVGElement.getBoundingClientRect();
    // The box of an f is wider than the room it takes in its line.
    const svg = t.ownerSVGElement, room = t.getComputedTextLength() * own.width / svg.viewBox.baseVal.width;
    const right = box.left + (room ? Math.min(box.width, room) : box.width);
    return box.width && (box.left < own.left - 1 || right > own.right + 1 || box.top < own.top - 1);
}).map(t => `cut: ${t.textContent}`)"""


def overflow(page: Any) -> list[str]:
    """Open what is folded away; return what stands beyond the right edge of the screen and in no region that scrolls.

    So does a word that a drawing cuts, on screens that drawings are made for.
    """
    page.evaluate(_OPEN)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    cut = page.evaluate(_CUT) if page.evaluate("innerWidth") >= 390 else []
    return [*([f"the page is {wide} pixels too wide"] if wide > 0 else []), *page.evaluate(_OUTSIDE), *cut]


# --- what a page is made of ---

_ORDER = """() => {
    const all = selector => [...document.querySelectorAll(selector)], found = [], ids = all('[id]').map(e => e.id);
    const levels = all('h1, h2, h3, h4, h5, h6').map(e => +e.tagName[1]);
    if (levels[0] !== 1) found.push(`the first heading is of level ${levels[0]}`);
    levels.forEach((level, n) => { if (n && level > levels[n - 1] + 1) found.push(`heading ${n + 1} skips a level`); });
    found.push(...ids.filter((id, n) => ids.indexOf(id) !== n).map(id => `the id ${id} stands twice`));
    all('[headers]').forEach(cell => cell.getAttribute('headers').split(/ +/).filter(id => id).forEach(
        id => document.getElementById(id) || found.push('a header that is nowhere: ' + id)));
    all('th').forEach(th => th.scope && th.textContent.trim() || found.push('a header without scope or words'));
    all('a').forEach(a => a.textContent.trim() || found.push('a link without words'));
    all('figure').forEach(f => f.querySelector('figcaption') || found.push('a figure without caption'));
    all('[tabindex]').forEach(e => e.tabIndex > 0 && found.push('an order of its own for the keyboard'));
    all('a, summary').forEach(e => {
        const height = e.getBoundingClientRect().height;
        if (height && height < 14) found.push('a target too small: ' + e.textContent);
    });
    all('.es-figure svg[role="img"]').forEach(drawing => {
        if ((drawing.getAttribute('aria-label') || '').length <= 40) found.push('a drawing has no words');
    });
    all('a[download][href^="data:text/csv"]').forEach(link => {
        const text = atob(link.href.split('base64,')[1] || '');
        if (/(^|,)"?[=@+](?!\\d)/m.test(text)) found.push(`${link.download || link.textContent} holds a formula`);
    });
    return found;
}"""


def disorder(page: Any) -> list[str]:
    """Return what a reader without eyes, or with a spreadsheet, would stumble over.

    Headings that skip a level, ids that stand twice, headers, links, figures and drawings without words, targets too
    small to hit, and data that a sheet would run.
    """
    return page.evaluate(_ORDER)


# --- what axe finds ---


@cache
def _axe() -> str:
    pytest.importorskip(
        "axe_playwright_python", reason="axe-playwright-python, which brings axe-core, is not installed"
    )
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def axe(page: Any, *rules: str, without: Sequence[str] = ()) -> list[str]:
    """Return what axe-core holds to be a serious or critical fault; with `rules`, by these alone.

    What is folded away is opened first: axe passes over it otherwise.
    """
    page.evaluate(_OPEN)
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_axe())
    # Without `preload` axe asks for no style sheet again.
    options: dict[str, object] = {"resultTypes": ["violations"], "preload": False}
    options |= {"runOnly": list(rules)} if rules else {"rules": {rule: {"enabled": False} for rule in without}}
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [
        f"{each['impact']} {each['id']}: {node['html'][:120]}"
        for each in found
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]


# --- too faint to read ---

_INKS = """() => {
    const clear = colour => /, 0\\)$|transparent/.test(colour), found = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const fills = new Map();
    const filled = svg => fills.get(svg) || fills.set(svg, [...svg.querySelectorAll('path, rect')]
        .map(e => [e, getComputedStyle(e)]).filter(([, s]) => s.fill !== 'none' && s.fillOpacity > 0.9 && s.opacity > 0.9)
        .map(([e, s]) => [e, s.fill, e.getBoundingClientRect()])).get(svg);
    const ground = e => {
        const svg = e.ownerSVGElement;
        if (svg) {
            const box = e.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
            const under = filled(svg).filter(([own, , b]) => b.left <= x && x <= b.right && b.top <= y && y <= b.bottom
                && b.width >= box.width && (own.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING));
            if (under.length) return under.at(-1)[1];
        }
        let own = e;
        while (own && clear(getComputedStyle(own).backgroundColor)) own = own.parentElement;
        return own ? getComputedStyle(own).backgroundColor : 'rgb(255, 255, 255)';
    };
    while (walker.nextNode()) {
        const e = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
        if (!text || e.closest('script, style, math, .es-tip') || !e.getClientRects().length) continue;
        const style = getComputedStyle(e), svg = e instanceof SVGElement;
        if (style.visibility === 'hidden') continue;
        let shown = svg ? +style.fillOpacity : 1;
        for (let own = e; own; own = own.parentElement) shown *= getComputedStyle(own).opacity;
        const ink = svg ? style.fill : style.color;
        const large = parseFloat(style.fontSize), row = [ink, ground(e), large, +style.fontWeight, shown];
        found.set(row.join(), [text.slice(0, 40), ...row]);
    }
    return [...found.values()];
}"""


def faint(page: Any) -> list[str]:
    """Return text whose colour is too near to what stands behind it; in drawings too, where axe does not look."""
    inks = page.evaluate(_INKS)
    assert inks, "the page shows no text"
    found: list[str] = []
    for text, ink, ground, size, weight, shown in inks:
        large = size >= _LARGE or (size >= _LARGE_BOLD and weight >= 700)
        (*drawn, alpha), (*behind, _) = _parts(ink), _parts(ground)
        seen = [below + alpha * shown * (above - below) for above, below in zip(drawn, behind, strict=True)]
        if contrast(_hexadecimal(seen), _hexadecimal(behind)) < (3.0 if large else 4.5):
            found.append(f"{text!r}: {ink} on {ground}")
    return found


def _parts(colour: str) -> list[float]:
    """Return red, green and blue as the page has them, and how much of the colour shows."""
    numbers = [float(each) for each in re.findall(r"[\d.]+", colour)]
    scale = 255 if colour.startswith("color(") else 1
    return [*(scale * each for each in numbers[:3]), *(numbers[3:] or [1.0])]


def _hexadecimal(colour: Sequence[float]) -> str:
    return "#" + "".join(f"{round(each):02x}" for each in colour)


# --- what paper cannot do ---

_ON_PAPER = """() => [
    ...[...document.querySelectorAll('nav, button:not(.es-sort, .es-name), input, a[download], [role=status], .es-tip')]
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().height).map(e => 'on paper: ' + e.outerHTML.slice(0, 80)),
    ...[...document.querySelectorAll('main details')]
        .filter(e => !e.closest('nav') && ![...e.children].some(c => c.tagName !== 'SUMMARY' && c.checkVisibility()))
        .map(e => 'folded on paper: ' + e.textContent.trim().slice(0, 60)),
]"""


def on_paper(page: Any) -> list[str]:
    """Fold everything away; return what a print would show and cannot do, and what it would leave folded."""
    page.evaluate(_CLOSE)
    return page.evaluate(_ON_PAPER)


# --- names that are more than text ---

_LIVE = """() => [...document.querySelectorAll('*')].filter(e =>
    [...e.attributes].some(a => a.name.startsWith('on') || (/^(href|src|action|xlink:href)$/.test(a.name)
        && /^\\s*(javascript|vbscript|https?:\\/\\/hostile)/i.test(a.value)))
    || e.matches('iframe, object, embed, base, img[src=x], u, svg svg, .callout, h1[onclick]')
).map(e => e.outerHTML.slice(0, 100))"""


def live_names(page: Any) -> list[str]:
    """Return what became of a name that is more than text: an element, a script, an address."""
    hit = page.evaluate("window.hit")
    return [*([] if hit is None else ["a name was run"]), *page.evaluate(_LIVE)]


# --- tables ---

_TABLES = """() => [...document.querySelectorAll('.es-table')].map((region, place) => ({
    place, rows: region.querySelectorAll('tbody tr').length,
    numbers: [...region.querySelectorAll('thead th')].map(e => e.matches('.es-right')),
    sorts: region.querySelectorAll('.es-sort').length,
    field: !!region.parentElement.querySelector(':scope > .es-tools input'),
}))"""
_COLUMN = """([place, column]) => [...document.querySelectorAll('.es-table')[place].querySelectorAll('tbody tr')]
    .map(row => row.cells[column].textContent)"""
_SORT = (
    "([place, column]) => document.querySelectorAll('.es-table')[place].querySelectorAll('.es-sort')[column].click()"
)
_IN_ORDER = """words => words.every((word, place) =>
    !place || words[place - 1].localeCompare(word, 'en', { numeric: true }) <= 0)"""
_FILTER = """([place, text]) => {
    const region = document.querySelectorAll('.es-table')[place], field = region.parentElement.querySelector('.es-tools input');
    field.value = text;
    field.dispatchEvent(new Event('input'));
    return [...region.querySelectorAll('tbody tr')].filter(row => !row.hidden).map(row => row.textContent);
}"""


def wrong_tables(page: Any) -> list[str]:
    """Sort every table by every column, filter every table that can be filtered, and return what goes wrong."""
    wrong: list[str] = []
    tables = page.evaluate(_TABLES)
    for table in tables:
        place = table["place"]
        for column, is_number in enumerate(table["numbers"][: table["sorts"]]):
            wrong += [
                f"table {place}, column {column}: {each}" for each in _wrong_order(page, place, column, is_number)
            ]
        if table["field"]:
            wrong += [f"table {place}: {each}" for each in _wrong_filter(page, place)]
        if table["rows"] > 2 and table["sorts"] != len(table["numbers"]):
            wrong.append(f"table {place} has {table['sorts']} headings that sort, of {len(table['numbers'])}")
    return wrong


def _wrong_order(page: Any, place: int, column: int, is_number: bool) -> list[str]:
    found: list[str] = []
    before = page.evaluate(_COLUMN, [place, column])
    for way in (-1, 1) if is_number else (1, -1):
        page.evaluate(_SORT, [place, column])
        cells: Sequence[str] = page.evaluate(_COLUMN, [place, column])
        if sorted(cells) != sorted(before):
            found.append("rows are lost")
        if is_number:
            amounts = [amount for cell in cells if (amount := written_amount(cell)) is not None]
            missing = [written_amount(cell) is None for cell in cells]
            right = amounts == sorted(amounts, reverse=way < 0) and missing == sorted(missing)
        else:
            right = page.evaluate(_IN_ORDER, list(cells)[::way])
        if not right:
            found.append(f"is not in order: {list(cells)[:6]}")
    page.evaluate(_SORT, [place, column])
    if page.evaluate(_COLUMN, [place, column]) != before:
        found.append("a third click does not give the first order back")
    return found


def written_amount(cell: str) -> float | None:
    """Read a number as we write it, the lower end of an interval; None where there is none."""
    found = re.search(r"[-−]?(\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?", cell.replace("−", "-"))
    return float(found[0].replace(",", "")) if found else None


def _wrong_filter(page: Any, place: int) -> list[str]:
    all_rows = page.evaluate(_FILTER, [place, ""])
    wanted = all_rows[-1].strip().splitlines()[0][:12].strip()
    found = page.evaluate(_FILTER, [place, wanted.upper()])
    back = page.evaluate(_FILTER, [place, ""])
    wrong = (
        []
        if found and all(wanted.lower() in row.lower() for row in found)
        else [f"finds {len(found)} rows of {wanted!r}"]
    )
    return wrong if back == all_rows else [*wrong, "an empty filter does not give all rows back"]


# --- tabs ---

_TABS = """() => [...document.querySelectorAll('[role=tablist]')].flatMap((bar, place) => {
    const tabs = [...bar.querySelectorAll('[role=tab]')];
    const panels = tabs.map(e => document.getElementById(e.getAttribute('aria-controls')));
    const wrong = tabs.flatMap((tab, chosen) => {
        tab.click();
        return tabs.filter((each, k) => (each.ariaSelected === 'true') !== (k === chosen)
            || panels[k].checkVisibility() !== (k === chosen))
            .map(each => `tabs ${place}: ${each.textContent} when ${tab.textContent} is chosen`);
    });
    tabs[0].click();
    return tabs.length > 1 ? wrong : [...wrong, `tabs ${place}: a single one`];
})"""


def wrong_tabs(page: Any) -> list[str]:
    """Choose every tab; return those that are shown when another is chosen, or not when they are."""
    page.evaluate(_OPEN)
    return page.evaluate(_TABS)
