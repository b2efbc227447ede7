"""Figures are matplotlib's own: its settings, its axes of any size, what is set on them afterwards."""

import io
import pickle
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

import evalstats as es
from evalstats.errors import InputError
from evalstats.plots import critical_differences, forest
from evalstats.plots.style import contrast, palette_on
from evalstats.plots.text import text_width
from tests.plots.drawing import all_axes, assert_words_stand_apart, panels
from tests.plots.gallery import DIFFERENCES, GALLERY

pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")
STYLES = ("ggplot", "dark_background", "Solarize_Light2", "grayscale")
SHOWN = ("differences", "points", "cells", "curves")
ROLES = ("ink", "muted", "good", "bad", "caution", "neutral")


def picture(figure: Figure) -> tuple[int, int]:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=72)
    return Image.open(buffer).size


@pytest.mark.parametrize(("style", "name"), [*zip(STYLES, SHOWN, strict=True), *zip(STYLES, SHOWN[::-1], strict=True)])
def test_a_style_sheet_gives_the_ground_and_colours_read_on_it(style: str, name: str) -> None:
    with mpl.style.context(style):
        figure = GALLERY[name]()
        ground = to_hex(mpl.rcParams["figure.facecolor"])
    assert to_hex(figure.get_facecolor()) == ground
    for text in (text for axes in all_axes(figure) for text in axes.texts if text.get_text()):
        assert contrast(to_hex(text.get_color()), ground) >= 4.5


@pytest.mark.parametrize("ground", ["#ffffff", "#e5e5e5", "#808080", "#757575", "#777777", "#002b36", "#000000"])
def test_every_role_reads_on_every_ground(ground: str) -> None:
    palette = palette_on(ground, "#ffff00")
    assert all(contrast(getattr(palette, role), ground) >= 4.5 for role in ROLES)


def test_letters_are_of_the_font_and_size_asked_for_and_are_measured_in_it() -> None:
    plain = text_width("WWWW iiii", 10)
    with mpl.rc_context({"font.family": "monospace", "font.size": 16}):
        assert text_width("WWWW iiii", 10) == pytest.approx(text_width("iiiiiiiii", 10))
        assert text_width("WWWW iiii", 10) != pytest.approx(plain)
        figure = forest(DIFFERENCES)
        assert_words_stand_apart(figure)
    (name,) = (text for text in figure.axes[0].texts if text.get_text() == "All items")
    assert (name.get_fontsize(), name.get_fontfamily()) == (16, ["monospace"])


def test_a_theme_is_of_one_figure_and_settings_stay() -> None:
    found = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained")
    before = mpl.rcParams.copy()
    assert to_hex(found.figure(theme="dark").get_facecolor()) == "#12161b"
    assert to_hex(found.figure().get_facecolor()) == "#ffffff"
    assert dict(mpl.rcParams) == dict(before)
    with pytest.raises(InputError, match="no theme 'blue' of figures; it is 'light' or 'dark'"):
        found.figure(theme="blue")


def test_titles_and_labels_set_afterwards_are_in_the_picture() -> None:
    figure = forest(DIFFERENCES)
    plain = picture(figure)
    figure.axes[0].set_xlabel("a label below")
    labelled = picture(figure)
    figure.suptitle("a title above")
    titled = picture(figure)
    assert plain[0] == labelled[0] == titled[0]
    assert plain[1] < labelled[1] < titled[1]
    assert_words_stand_apart(figure)


# One of each module that lays figures out.
LAID_OUT = {"differences", "critical", "cells", "bars", "sequence", "timeline", "raincloud", "frontier"}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[] if each in LAID_OUT else [pytest.mark.slow]) for each in GALLERY]
)
def test_a_figure_that_is_resized_is_laid_out_anew(name: str) -> None:
    figure = GALLERY[name](size=(9, 6))
    figure.set_size_inches(5, 4.5)
    FigureCanvasAgg(figure).draw()
    assert_words_stand_apart(figure)


@pytest.mark.parametrize("layout", ["constrained", pytest.param("tight", marks=pytest.mark.slow)])
def test_a_layout_engine_may_move_axes_and_what_others_drew_stays(layout: str) -> None:
    figure = Figure(figsize=(11, 4), layout=layout)
    for ax, name in zip(figure.subplots(1, 2), ("cells", "ranks"), strict=True):
        ax.set_title(name)
        own = ax.text(0, 0, "mine")
        GALLERY[name](ax=ax)
        FigureCanvasAgg(figure).draw()
        assert own in ax.texts
        own.remove()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    for ax in figure.axes:
        wide = ax.get_window_extent().width * 72 / figure.dpi
        assert ax.get_xlim()[1] == pytest.approx(wide, abs=1.5)
        assert_words_stand_apart(figure, ax)


def test_a_figure_can_be_pickled() -> None:
    assert picture(pickle.loads(pickle.dumps(forest(DIFFERENCES)))) == picture(forest(DIFFERENCES))  # noqa: S301 - ours


def test_the_frame_of_a_figure_draws_the_same_figure() -> None:
    found = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained", cluster="none")
    frame = found.figure_frame("flips")
    assert isinstance(frame, pl.DataFrame)
    assert frame["estimate"].to_list() == [22, 21, 0, 0]
    with pytest.raises(InputError, match="no figure 'nothing' in this result; it has difference"):
        found.figure_frame("nothing")


def test_the_blocks_of_the_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of packages that are not installed here begin with their import, and are left out."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "figures.md").read_text(encoding="utf-8")
    first, second, third = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(first, names)  # noqa: S102 - the reader's own code
    made = {path.name for path in (tmp_path / "build").iterdir()}
    assert made == {"dark.png", "two.png"}
    rows, *others = re.split(r"\n(?=(?:import|from) )", second)
    for block in (rows, *others, third):
        needed = re.match(r"(?:import|from) (\w+)", block)
        if needed is None or find_spec(needed[1]):
            exec(block, names)  # noqa: S102 - the guide's own code
    assert {"estimate", "conf_low", "conf_high", "label"} <= set(names["rows"].columns)


def test_a_line_of_identity_rises_at_45_degrees() -> None:
    for size in ((8, 5), "screen", "phone", (4, 3)):
        axes = panels(GALLERY["points"](size=size))[0]
        (one, other) = axes.transData.transform([(45, 45), (70, 70)])
        assert other[0] - one[0] == pytest.approx(other[1] - one[1])


def test_no_line_of_a_frontier_lies_on_an_interval() -> None:
    lines = panels(GALLERY["frontier"]())[0].lines
    assert {len(line.get_xdata()) for line in lines} <= {1, 2}


@pytest.mark.parametrize("size", [(3.4, 6), (3.4, 12)], ids=str)
def test_marks_stand_right_below_their_words(size: tuple[float, float]) -> None:
    """However high rows are where words stand above marks."""
    figure = forest(DIFFERENCES, size=size)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (name,) = (text for text in figure.axes[0].texts if text.get_text() == "All items")
    mark = next(line for line in panels(figure)[0].lines if line.get_marker() == "o")
    down = name.get_window_extent().y0 - mark.get_transform().transform(mark.get_xydata()[0])[1]
    assert 0 < down * 72 / figure.dpi < 1.5 * name.get_fontsize()


def test_lines_join_the_models_of_a_letter() -> None:
    rows = {"model": list("abcd"), "estimate": [4, 3, 2, 1], "tier": ["a", "ab", "b", "c"]}
    figure = critical_differences(rows)
    _, joined = panels(figure)
    found = sorted((float(line.get_xdata()[0]), round(sum(line.get_ydata()) / 2)) for line in joined.lines)
    steps = sorted({y for _, y in found})
    assert [(x, steps.index(y)) for x, y in found] == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert figure.tooltips[1].words.endswith("tier ab")


def test_few_rows_stand_in_the_middle_of_tall_axes() -> None:
    figure = Figure(figsize=(6.4, 4.8))
    forest(DIFFERENCES, ax=figure.add_axes((0, 0, 1, 1)))
    one = {name: column[:1] for name, column in DIFFERENCES.items()}
    single = Figure(figsize=(6.4, 4.8))
    forest(one, ax=single.add_axes((0, 0, 1, 1)))
    for drawn in (figure, single):
        renderer = FigureCanvasAgg(drawn).get_renderer()
        boxes = [text.get_window_extent(renderer) for axes in all_axes(drawn) for text in axes.texts if text.get_text()]
        below, above = min(box.y0 for box in boxes), drawn.bbox.height - max(box.y1 for box in boxes)
        assert abs(below - above) < 0.1 * drawn.bbox.height
