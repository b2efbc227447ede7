"""The answer's figures look as they did: every mark in its place and colour, to within two pixels."""

import pytest

from evalstats import plots
from evalstats.plots.style import svg
from tests.plots.gallery import RANKS
from tests.plots.snapshots import FOLDER, NAMES, departures, drawn, shapes


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_looks_as_it_did(name: str) -> None:
    stored = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert departures(drawn(name), stored) == [], "if this is meant: python -m tests.plots.snapshots"


def board(**changes: object) -> list[str]:
    rows = {key: list(values) for key, values in RANKS.items()}
    for column, value in changes.items():
        rows[column][4] = value
    return shapes(svg(plots.ranks(rows, title="correct (%)", bounds=(0, 100), size="screen")))


def test_a_mark_that_moves_is_seen_and_one_that_hardly_moves_is_not() -> None:
    before = board()
    (place,) = {
        k for k, (own, other) in enumerate(zip(before, board(estimate=92.0), strict=True))
        if own.startswith("mark") and own != other
    }  # fmt: skip
    word, left, *rest = before[place].split()
    moved = [*before]
    moved[place] = " ".join([word, str(int(left) + 3), *rest])
    assert len(departures(moved, before)) == 1
    moved[place] = " ".join([word, str(int(left) + 2), *rest])
    assert departures(moved, before) == []


def test_another_colour_word_or_number_of_marks_is_seen() -> None:
    before = board()
    assert departures(board(best=True), before)
    assert departures(board(model="another"), before)
    assert departures(before[1:], before) == [f"{len(before) - 1} shapes instead of {len(before)}"]
    assert departures(before, before) == []
