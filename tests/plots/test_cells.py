"""Maps of cells: every number is there, what is settled is filled, the deeper the farther from the centre."""

from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from evalstats.plots import heatmap
from evalstats.plots.style import LIGHT
from tests.plots.drawing import texts
from tests.plots.gallery import ALIKE, CELLS, SCENARIOS, WINS


def filled(figure) -> list[Rectangle]:
    return [patch for patch in figure.axes[0].patches if patch.get_alpha() is not None]


def test_every_cell_says_its_number_and_half_the_width_of_its_interval() -> None:
    found = texts(heatmap(CELLS, sign=True))
    assert {"+70.0", "−24.0", "−1.0"} <= set(found)
    assert found.count("±9.0") == 6 * (len(SCENARIOS) - 1)


def test_only_settled_cells_are_filled_and_the_deeper_the_farther() -> None:
    figure = heatmap(CELLS)
    cells = filled(figure)
    assert len(cells) == sum(s and not b for s, b in zip(CELLS["settled"], CELLS["base"], strict=True))
    assert {to_hex(cell.get_facecolor()) for cell in cells} == {LIGHT.bad}
    shades = [cell.get_alpha() for cell in cells]
    values = [
        -value for value, s, b in zip(CELLS["estimate"], CELLS["settled"], CELLS["base"], strict=True) if s and not b
    ]
    assert sorted(range(len(shades)), key=shades.__getitem__) == sorted(range(len(values)), key=values.__getitem__)


def test_a_cell_that_is_not_there_is_a_dash() -> None:
    assert texts(heatmap({"model": ["a", "b"], "scenario": ["x", "y"], "estimate": [1, 2]})).count("–") == 2


def test_a_matrix_has_no_numbers_on_its_diagonal_and_its_columns_the_numbers_of_their_rows() -> None:
    found = texts(heatmap(WINS, row="model_a", column="model_b", centre=0.5, size=12))
    assert found.count("–") == 0
    named = [text for text in found if "name" in text or "…" in text]
    assert [text.split()[0] for text in named] == found[: len(ALIKE)] == [str(k) for k in range(1, 13)]


def test_a_heading_wider_than_its_column_is_broken_and_none_stands_upright() -> None:
    names = [f"underspecification_{k}" for k in range(7)]
    figure = heatmap({"model": ["a"] * 7, "scenario": names, "estimate": [1.0] * 7}, size=6)
    assert {text.get_rotation() for text in figure.axes[0].texts} == {0.0}
    assert texts(figure)[:3] == ["0", "ecification_", "undersp-"]  # from below


def test_columns_without_room_stand_below() -> None:
    names = [f"m{k}" for k in range(12)]
    pairs = [(one, other) for one in names for other in names if one != other]
    rows = {"model_a": [a for a, _ in pairs], "model_b": [b for _, b in pairs], "estimate": [0.5] * 132}
    wide, thin = (texts(heatmap(rows, row="model_a", column="model_b", digits=4, size=size)) for size in (14, 4))
    assert len(thin) == len(wide) + 2 * 12


def test_a_value_near_nothing_has_no_more_digits_than_its_interval_allows() -> None:
    rows = {"model": ["a", "b"], "scenario": ["s", "s"], "estimate": [0.042, 12.3], "conf_low": [-3.4, 9.0]}
    found = texts(heatmap({**rows, "conf_high": [3.5, 15.0]}, row="model", column="scenario", digits=1, sign=True))
    assert "0.0" in found
    assert "+0.042" not in found
    exact = texts(heatmap({**rows, "conf_low": [0.041, 9.0], "conf_high": [0.043, 15.0]}, digits=1, sign=True))
    assert "+0.042" in exact
