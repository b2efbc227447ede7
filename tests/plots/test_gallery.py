"""What holds of every figure: no word is clipped or covered, names stay different, any frame will do, any axes will do."""

import matplotlib as mpl
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from evalstats import plots
from evalstats.errors import InputError
from evalstats.plots.style import DARK, LIGHT, contrast
from tests.plots.drawing import all_axes, assert_words_stand_apart, covered_marks, texts
from tests.plots.gallery import DIFFERENCES, GALLERY

pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")


# Four inches have fewer letters to a line than print and more than a phone; without a size a figure is eight inches wide.
@pytest.mark.parametrize(
    "size",
    ["screen", "phone", *(pytest.param(each, marks=pytest.mark.slow) for each in (4, None, "print"))],
    ids=str,
)
@pytest.mark.parametrize("name", GALLERY)
def test_words_stand_apart_and_on_no_point_and_a_size_in_inches_is_kept(name: str, size: object) -> None:
    figure = GALLERY[name](size=size)
    assert_words_stand_apart(figure)
    assert covered_marks(figure) == []
    if isinstance(size, int):
        assert figure.get_size_inches()[0] == pytest.approx(size)


@pytest.mark.parametrize("name", GALLERY)
def test_it_stays_within_the_axes_that_it_is_given(name: str) -> None:
    figure = Figure(figsize=(13, 4.8), dpi=200)  # tiny letters are rounded to whole pixels
    left, right = figure.subplots(1, 2)
    assert GALLERY[name](ax=left) is figure
    assert_words_stand_apart(figure, left)
    assert covered_marks(figure, left) == []
    assert not right.texts


@pytest.mark.parametrize("name", GALLERY)
def test_what_are_no_axes_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="ax is 'left'; give axes of matplotlib"):
        GALLERY[name](ax="left")


@pytest.mark.parametrize("name", GALLERY)
def test_it_reads_on_dark_ground(name: str) -> None:
    with mpl.rc_context({"figure.facecolor": "#101418"}):
        figure = GALLERY[name](size=(8, 6))
    # No colour moves a word, so this is the look at a wide figure, too.
    assert_words_stand_apart(figure)
    assert covered_marks(figure) == []
    assert tuple(figure.get_size_inches()) == pytest.approx((8, 6))
    assert to_hex(figure.get_facecolor()) == "#101418"
    for text in (text for axes in all_axes(figure) for text in axes.texts):
        assert contrast(to_hex(text.get_color()), "#101418") > 4.5
    used = {to_hex(text.get_color()) for axes in all_axes(figure) for text in axes.texts}
    assert used & {DARK.ink, DARK.muted}


def test_light_ground_is_opaque() -> None:
    assert to_hex(GALLERY["differences"]().get_facecolor()) == LIGHT.surface


@pytest.mark.parametrize("name", dir(plots))
def test_a_missing_column_is_named(name: str) -> None:
    with pytest.raises(InputError, match=r"needs a column '.*'; the rows have nothing"):
        getattr(plots, name)({"nothing": [1]})


@pytest.mark.parametrize("name", dir(plots))
def test_no_rows_are_said(name: str) -> None:
    with pytest.raises(InputError, match="no rows to draw"):
        getattr(plots, name)({"model": []})


def test_dir_shows_the_figures_and_nothing_else() -> None:
    assert set(dir(plots)) == {draw.__name__ for draw in map(plots.__getattr__, dir(plots))}


def test_any_frame_will_do() -> None:
    frame = pl.DataFrame(DIFFERENCES, strict=False)
    wanted = texts(plots.forest(DIFFERENCES))
    assert texts(plots.forest(frame)) == wanted
    assert texts(plots.forest(frame.lazy())) == wanted
    assert texts(plots.forest(frame.to_arrow())) == wanted


def test_what_is_no_frame_is_said() -> None:
    with pytest.raises(InputError, match="needs a data frame or a dict of columns, not int"):
        plots.forest(3)


def test_words_for_numbers_are_said() -> None:
    with pytest.raises(InputError, match="needs numbers in column 'estimate'; it holds 'high'"):
        plots.forest({"model": ["a"], "estimate": ["high"]})
