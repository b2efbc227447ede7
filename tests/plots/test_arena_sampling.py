"""Curves of order: every line is there, in every medium, and in words."""

import re
from dataclasses import replace

import pytest

from evalstats.plots.arena_sampling import OrderLine, OrderPanel, order_curves, order_curves_alt
from evalstats.plots.style import Medium, svg

VOTES = (600.0, 1200.0, 2400.0, 6000.0)
NAMES = ("random", "proximity, wide", "proximity, narrow", "narrow + random", "active", "largest variance")
PANEL = OrderPanel(
    title="Spread out",
    lines=tuple(
        OrderLine(label=name, votes=VOTES, values=tuple(80.0 + place + step for step in range(4)))
        for place, name in enumerate(NAMES)
    ),
)
PANELS = (PANEL, replace(PANEL, title="Crowded"), replace(PANEL, title="Many votes"))
MEDIA: tuple[Medium, ...] = ("screen", "phone", "print")


@pytest.mark.parametrize("medium", MEDIA)
def test_every_panel_has_every_line(medium: Medium) -> None:
    figure = order_curves(PANELS, medium=medium)
    assert len(figure.axes) == 3
    for axes in figure.axes:
        assert [tuple(line.get_xdata()) for line in axes.lines] == [VOTES] * 6
        assert [tuple(line.get_ydata()) for line in axes.lines] == [line.values for line in PANEL.lines]


@pytest.mark.parametrize("medium", MEDIA)
def test_words_stay_within_the_figure_and_apart(medium: Medium) -> None:
    figure = order_curves(PANELS, medium=medium)
    figure.draw_without_rendering()
    width, height = figure.bbox.width, figure.bbox.height
    keys = [text.get_window_extent() for text in figure.texts]
    assert [text.get_text() for text in figure.texts] == list(NAMES)
    for box in (*keys, *(axes.texts[0].get_window_extent() for axes in figure.axes)):
        assert box.x0 >= 0
        assert box.x1 <= width
        assert 0 <= box.y0 < box.y1 <= height
    assert not any(one.overlaps(other) for place, one in enumerate(keys) for other in keys[:place])


def test_lines_differ_in_more_than_colour() -> None:
    (axes,) = order_curves([PANEL]).axes
    assert len({(line.get_marker(), line.get_linestyle()) for line in axes.lines}) == 6


def test_words_say_first_and_last_of_every_line() -> None:
    alt = order_curves_alt(PANELS)
    assert "Crowded: random 80.0% at 600 votes, 83.0% at 6,000; proximity, wide 81.0% at 600 votes" in alt


def test_the_drawing_is_text_in_the_page_colours() -> None:
    drawn = svg(order_curves(PANELS), prefix="p-", alt="alt")
    assert "largest variance" in drawn
    assert re.search(r"var\(--es-good, #", drawn)


@pytest.mark.parametrize(
    "panels", [[], [replace(PANEL, lines=())], [replace(PANEL, lines=(*PANEL.lines, PANEL.lines[0]))]]
)
def test_nothing_to_draw_or_too_much_is_told(panels: list[OrderPanel]) -> None:
    with pytest.raises(ValueError, match="one to 6 lines"):
        order_curves(panels)
