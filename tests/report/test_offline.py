"""A finished page may link, and may load nothing."""

import base64
import hashlib
from pathlib import Path

import pytest

from evalstats.errors import RenderError
from evalstats.report.engine import check_offline, find_page, loads, page_script

EXTENSION = find_page("compare").extension
SCRIPT = page_script(EXTENSION)


@pytest.mark.parametrize(
    "html",
    [
        '<img src="https://example.org/x.png">',
        '<img srcset="x.png 2x">',
        '<link rel="stylesheet" href="x.css">',
        "<script>1</script>",
        '<iframe src="data:text/html,x"></iframe>',
        '<object data="x"></object>',
        "<base href='https://example.org'>",
        '<svg><use xlink:href="other.svg#a"/></svg>',
        '<svg><image href="https://example.org/x.png"/></svg>',
        "<style>@import 'x.css';</style>",
        "<style>body { background: url(https://example.org/x.png) }</style>",
        '<p style="background: url(x.png)">x</p>',
        '<p onclick="x()">x</p>',
        '<a href="javascript:x()">x</a>',
        '<a href=" JavaScript:x()">x</a>',
        '<a href="#" ping="https://example.org">x</a>',
        '<form action="https://example.org"></form>',
        '<video poster="x.png"></video>',
    ],
)
def test_what_loads_or_runs_is_found(html: str) -> None:
    assert loads(html)
    with pytest.raises(RenderError, match="load or run"):
        check_offline(html)


@pytest.mark.parametrize(
    "html",
    [
        '<a href="https://example.org">x</a>',
        '<img src="data:image/png;base64,AA==">',
        '<svg><use xlink:href="#a"/></svg>',
        "<style>a { background: url(data:image/png;base64,AA==) }</style>",
        "<p>&lt;script src=x&gt; url(x)</p>",
        '<a download="a.csv" href="data:text/csv;base64,AA==">x</a>',
    ],
)
def test_links_and_embedded_things_pass(html: str) -> None:
    assert loads(html) == []


def test_a_page_runs_its_own_script_and_no_other() -> None:
    own = f"<script>{SCRIPT}</script>"
    assert loads(own, script=SCRIPT) == []
    assert loads(own) == ["<script>"]
    changed = [
        own.replace("const all", "const  all"),
        f"<script>{SCRIPT}\nalert(1)</script>",
        f'<script src="x.js">{SCRIPT}</script>',
        f'<script type="module">{SCRIPT}</script>',
        f"{own}<script>alert(1)</script>",
        "<script></script>",
        f"<script>{SCRIPT[:200]}",
        f"<svg>{own.replace('const all', 'const every')}</svg>",
    ]
    for html in changed:
        assert "<script" in loads(html, script=SCRIPT)[0], html[:60]
        with pytest.raises(RenderError, match="load or run"):
            check_offline(html, script=SCRIPT)


def test_an_extension_without_a_script_allows_none(tmp_path: Path) -> None:
    assert page_script(tmp_path) == ""
    assert loads("<script></script>", script="") == ["<script>"]


def test_the_policy_of_the_page_names_its_script_and_lets_nothing_else_in() -> None:
    template = (EXTENSION / "template.html").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in template, f"page.js has changed; template.html needs sha256-{digest}"
    assert "default-src 'none'" in template


def test_the_script_is_small_and_passes_both_engines_as_it_is() -> None:
    assert len(SCRIPT.encode()) < 14_000
    # A template reads dollars as its own, one engine writes tabs as spaces, and an end tag would end the script.
    assert not {"$", "\t"} & set(SCRIPT)
    assert "</" not in SCRIPT
    # Names from data must not become markup.
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval", "Function(", "fetch", "import"):
        assert word not in SCRIPT
