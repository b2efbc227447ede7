"""Numbers that stand for names, written as the tables write them."""

import numpy as np
import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders.frames import from_frame
from evalstats.schema.names import as_names, name_of, names_of


@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], [0.5, 1e20], [1.5, 2.0], [True, False]])
def test_a_model_is_called_what_a_table_calls_it(values: list[float]) -> None:
    frame = pl.DataFrame({"item": [0, 1], "score": [1.0, 0.0], "m": values})
    told = from_frame(frame, item="item", score="score", model="m").outcomes["model"].to_list()
    assert list(names_of(values)) == told
    assert list(names_of(np.array(values))) == told


@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], [1.5, 2.0], [True, False]])
def test_rows_are_kept_by_a_level_that_is_a_number(values: list[float]) -> None:
    frame = pl.DataFrame({"item": [0, 1], "score": [1.0, 0.0], "kind": values})
    data = from_frame(frame, item="item", score="score", model="@m")
    for place, value in enumerate(values):
        assert data.where(kind=value).outcomes["item"].to_list() == [str(place)]
    assert data.where(kind=values).outcomes.height == 2


def test_a_text_is_the_name_it_is() -> None:
    assert name_of("1.0") == "1.0"
    text, several = "a", ["a", "b"]
    assert as_names(text) is text
    assert as_names(several) is several


def test_what_is_no_name_is_refused() -> None:
    with pytest.raises(InputError, match="None is no name; give a text or a number"):
        name_of(None)
    with pytest.raises(InputError, match="two of 1, '1' are the same name"):
        as_names({1: 0.5, "1": 0.5})
