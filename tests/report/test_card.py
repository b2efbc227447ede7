"""The card and what it spares the page: the interval is drawn once, items are a link away, what is no news is folded."""

import re
from dataclasses import replace
from typing import Any

import pytest

from evalstats.document.model import Document, Figure, Interval, Note, Section, Text
from evalstats.document.names import marked
from evalstats.errors import Option
from evalstats.report.card import card
from evalstats.report.page import Page
from tests.report.page_words import words
from tests.report.quick_pages import DAY

DOCUMENT = Document(
    kind="compare",
    title="Which?",
    label="better",
    tone="good",
    headline="b is better than a",
    number="+10.0 pp",
    number_words="95% CI 2.0 to 18.0",
    interval=Interval(
        estimate=0.1, low=0.02, high=0.18, scale=100, unit="pp", origin=0.0, margin=0.05, sides=("<b>a", "b →")
    ),
    scope="90 items",
    notes=(Note(kind="few", text="Few items", remedy=("Add ", Option("cluster", "x"))),),
    actions=("Ship it",),
)


def places(html: str) -> dict[str, float]:
    """Return where the marks of the drawing stand, in per cent of its width."""
    found = {
        name: re.search(pattern, html)
        for name, pattern in {
            "low": r'class="es-low" x1="([\d.]+)%',
            "high": r'class="es-high" x1="([\d.]+)%',
            "zero": r'class="es-origin" x1="([\d.]+)%',
            "estimate": r'cx="([\d.]+)%" cy="24" r="5"',
            "margin": r'class="es-margin" x="([\d.]+)%',
        }.items()
    }
    return {name: float(match[1]) for name, match in found.items() if match}


def test_marks_stand_in_proportion() -> None:
    at = places(card(DOCUMENT))
    unit = (at["high"] - at["low"]) / 16
    assert at["estimate"] == pytest.approx(at["low"] + 8 * unit, abs=0.02)
    assert at["zero"] == pytest.approx(at["low"] - 2 * unit, abs=0.02)
    assert at["margin"] == pytest.approx(at["zero"] - 5 * unit, abs=0.02)
    assert all(0 <= place <= 100 for place in at.values())


def test_what_stands_beside_the_interval_is_drawn_in_proportion_and_named() -> None:
    drawn = Interval(estimate=0.1, low=0.02, high=0.18)
    beside = replace(drawn, others=(0.0, 0.3), others_words="dots: <i>c and d")
    html = card(replace(DOCUMENT, interval=beside))
    low, high, estimate = (places(html)[name] for name in ("low", "high", "estimate"))
    first, last = (float(at) for at in re.findall(r'class="es-other" cx="([\d.]+)%"', html))
    unit = (high - low) / 16
    assert (estimate - first, last - estimate) == (
        pytest.approx(10 * unit, abs=0.02),
        pytest.approx(20 * unit, abs=0.02),
    )
    assert "dots: &lt;i&gt;c and d</span>" in html
    assert html.partition("{=typst}")[2].count(f"others: ({first:.2f}%, {last:.2f}%, )") == 1


def test_the_card_says_number_basis_caution_and_action_in_this_order_and_escapes_names() -> None:
    html = card(marked(DOCUMENT), items=("tbl-flips", "Items that flipped"))
    told = ["b is better than a", "+10.0 pp", "band: margin ±5 pp", "Basis", "90 items", "Caution", "Few items"]
    told += ["What to do", "Ship it", "Items that flipped"]
    text, start = words(html), 0
    for each in told:
        start = text.index(each, start)
    assert "<b>a" not in html.partition("{=typst}")[0]
    assert '<code class="es-whole">cluster=&#x27;x&#x27;</code>' in html
    assert 'href="#tbl-flips"' in html


def test_what_the_card_has_drawn_is_not_drawn_again(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {"label": ["all"], "estimate": [1.0], "conf_low": [0.5], "conf_high": [1.5]}
    one = Figure(id="difference", plot="forest", rows=rows, alt="One", caption="One")
    two = replace(one, rows={name: column * 2 for name, column in rows.items()})
    for figure, interval, drawn in ((one, DOCUMENT.interval, False), (two, DOCUMENT.interval, True), (one, None, True)):
        shown(replace(DOCUMENT, answer=(figure,), interval=interval), "answer")
        assert ("fig-difference" in capsys.readouterr().out) is drawn


def test_what_is_no_news_stands_folded_with_the_method(capsys: pytest.CaptureFixture[str]) -> None:
    found = Section(id="a", heading="Methods agree", blocks=(Text(text="All of them"),), news=False)
    document = replace(DOCUMENT, evidence=(found, replace(found, id="b", heading="Items flipped", news=True)))
    shown(document, "a", "evidence", "method")
    text = capsys.readouterr().out
    assert "## Items flipped" in text
    assert "## Methods agree" not in text
    assert text.index("## Method\n") < text.index("<summary>Methods agree</summary>")


def shown(document: Document, *names: str) -> None:
    page: Any = Page(document=document, engine="", day=DAY)
    page.show(*names)
