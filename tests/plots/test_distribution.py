"""The raincloud: drops are the values, the box their quartiles, counts the same as repetition."""

from typing import Any

import numpy as np
import pytest

from evalstats import plots
from evalstats.errors import InputError
from tests.plots.drawing import panels, points, texts


def drops(axes: Any) -> list[float]:
    (rain,) = (line for line in axes.lines if line.get_alpha() == 0.55)
    return sorted(map(float, rain.get_xdata()))


def test_every_value_is_a_drop_and_the_mean_a_diamond() -> None:
    values = np.random.default_rng(3).normal(size=90).round(3)
    axes = panels(plots.raincloud({"estimate": values}))[0]
    assert drops(axes) == sorted(values.tolist())
    assert [x for x, _ in points(axes, "D")] == pytest.approx([values.mean()])


def test_counts_draw_what_repetition_does() -> None:
    values, counts = [-1.0, 0.0, 2.0], [3, 10, 5]
    counted, repeated = (
        panels(plots.raincloud(rows))[0]
        for rows in ({"estimate": values, "n": counts}, {"estimate": np.repeat(values, counts)})
    )
    assert drops(counted) == drops(repeated) == sorted(np.repeat(values, counts).tolist())
    assert "median 0.00, mean +0.39" in texts(plots.raincloud({"estimate": values, "n": counts}))


def test_of_many_values_drops_are_evenly_spaced_ranks() -> None:
    found = drops(panels(plots.raincloud({"estimate": np.arange(10_000.0)}))[0])
    assert len(found) == 400
    assert np.diff(found) == pytest.approx(np.full(399, 25.0))


@pytest.mark.parametrize("rows", [{"estimate": [None, None]}, {"estimate": [1.0, 2.0], "n": [1, -1]}], ids=str)
def test_what_cannot_be_drawn_is_refused(rows: dict[str, list[float | None]]) -> None:
    with pytest.raises(InputError, match="raincloud needs values"):
        plots.raincloud(rows)
