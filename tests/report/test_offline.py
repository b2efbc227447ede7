"""A finished page may link, and may load nothing."""

import pytest

from evalstats.errors import RenderError
from evalstats.report.engine import check_offline, loads


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
