"""The visual language: readable colours, the same bytes every time, drawings that can share a page."""

import re
from dataclasses import asdict
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from evalstats.plots import forest
from evalstats.plots.style import DARK, LIGHT, Palette, contrast, svg
from tests.plots.gallery import DIFFERENCES

EXTENSION = Path(__file__).resolve().parents[2] / "reports" / "_extensions" / "evalstats"
TEXT_ROLES = ("ink", "muted", "good", "bad", "caution", "neutral")


def drawing() -> Figure:
    return forest(DIFFERENCES, margin=5.0, sides=("worse", "better"), size="screen")


def test_contrast_of_published_pairs() -> None:
    # WCAG 2: white on black is 21:1; #767676 on white is the lightest grey that reaches 4.5:1.
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert contrast("#777777", "#ffffff") < 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("role", TEXT_ROLES)
@pytest.mark.parametrize("ground", ["surface", "raised", "band"])
def test_text_reads_on_every_ground(palette: Palette, role: str, ground: str) -> None:
    assert contrast(getattr(palette, role), getattr(palette, ground)) >= 4.5


def test_good_and_bad_differ_for_the_colour_blind() -> None:
    """Red-green blindness takes away red against green; the two tones must differ along blue, by more than noise."""
    for palette in (LIGHT, DARK):
        good, bad = int(palette.good[5:7], 16), int(palette.bad[5:7], 16)
        assert good - bad > 100


def blocks_of(css: str) -> list[dict[str, str]]:
    return [
        dict(re.findall(r"(--es-[a-z]+):\s*(#[0-9a-f]{6})", block)) for block in re.findall(r":root\s*\{([^}]*)\}", css)
    ]


def css_variables(palette: Palette) -> dict[str, str]:
    return {f"--es-{role}": color for role, color in asdict(palette).items()}


def test_the_style_sheet_has_the_same_colours() -> None:
    light, dark = blocks_of((EXTENSION / "evalstats.css").read_text(encoding="utf-8"))
    assert light == css_variables(LIGHT)
    assert dark == css_variables(DARK)


def test_the_pdf_template_has_the_same_colours() -> None:
    typst = (EXTENSION / "typst-template.typ").read_text(encoding="utf-8")
    found = dict(re.findall(r'(\w+): rgb\("(#[0-9a-f]{6})"\)', typst))
    assert found.pop("plain") == LIGHT.ink
    assert found.items() <= asdict(LIGHT).items()


def test_the_same_figure_has_the_same_bytes() -> None:
    first = svg(drawing(), alt="x")
    assert first == svg(drawing(), alt="x")
    assert "<dc:date>" not in first
    assert "metadata" not in first


def test_settings_of_the_user_change_nothing() -> None:
    plain = svg(drawing())
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "yellow", "svg.fonttype": "path", "lines.linewidth": 9}):
        assert svg(drawing()) == plain


def test_two_drawings_share_no_id() -> None:
    drawings = [svg(drawing(), prefix=prefix) for prefix in ("a-", "b-")]
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in drawings]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip(drawings, ids, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) == own


def test_a_drawing_brings_no_style_sheet() -> None:
    assert "<style" not in svg(drawing())


def test_text_is_text_in_the_font_of_the_page() -> None:
    text = svg(drawing())
    assert ">conflicting_signals<" in text
    assert "通义千问" in text
    assert set(re.findall(r"font-family: ([^;\"]+)", text)) == {"inherit"}
    assert "DejaVu" not in text


def test_names_are_escaped_and_never_mathematics() -> None:
    text = svg(drawing(), alt='"><script>')
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert ">$x_1$" in text


def test_every_colour_follows_the_page() -> None:
    text = svg(drawing())
    bare = re.sub(r"var\(--es-[a-z]+, #[0-9a-f]{6}\)", "", text)
    assert not re.findall(r"#[0-9a-f]{6}", " ".join(re.findall(r'style="([^"]*)"', bare)))
    for role in ("ink", "muted", "good", "bad", "line"):
        assert f"var(--es-{role}, {getattr(LIGHT, role)})" in text


def test_plain_colours_for_programs_without_variables() -> None:
    assert "var(" not in svg(drawing(), adaptive=False)


def test_alternative_text_or_hidden() -> None:
    assert 'role="img" aria-label="a &amp; b"' in svg(drawing(), alt="a & b")
    assert 'aria-hidden="true"' in svg(drawing())


def test_a_drawing_is_as_short_as_it_can_be_and_its_words_stay() -> None:
    figure = drawing()
    figure.axes[0].text(1, 1, 'a x="1.23456" b')
    text = svg(figure)
    assert 'a x="1.23456" b' in text
    assert not re.search(r">\s+<|rotate\(-?0 |<g><text[^>]*>[^<]*</text></g>", text)
    assert not re.search(r"<[^>]* (?:d|x|y)=\"[^\"]*(?:\.\d{3}|\n)", text)
