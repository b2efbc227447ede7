"""Arrays inside objects are streamed like any other; what no loader can use is counted; runs are named after their place."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct

from evalstats.loaders.base import Source
from evalstats.loaders.files import JsonPart, iter_json
from evalstats.loaders.record_columns import values_at
from evalstats.loaders.rows import hashed


class Inner(Struct, rename={"b": "0"}):
    a: object = UNSET
    b: object = None


_PLAIN = st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=2) | st.just(UNSET)
_HELD = st.recursive(
    _PLAIN,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "0"]), inner, max_size=2)
        | st.builds(Inner, inner, inner)
    ),
    max_leaves=4,
)


@given(
    records=st.lists(_HELD, max_size=4),
    path=st.sampled_from(["a", "0", "1", "a.0", "0.a", "a.#", "#", "a 0", "a.a 0.0"]),
    absent=st.sampled_from([None, UNSET]),
)
def test_a_block_of_records_holds_at_a_path_what_each_holds(records: list[object], path: str, absent: object) -> None:
    expected = [value for record in records for value in values_at([record], path, absent)]
    assert values_at(records, path, absent) == expected


@pytest.mark.parametrize("indent", [None, 2])
def test_array_inside_an_object_is_streamed_and_its_neighbours_come_one_by_one(
    tmp_path: Path, indent: int | None
) -> None:
    path = tmp_path / "x.json"
    content = {"id": 1, "in": {"n": 2, "rows": [{"a": 1}, 2], "deep": {"rows": [3]}}, "rows": [4], "empty": {}}
    path.write_text(json.dumps(content, indent=indent))
    assert list(iter_json(path, arrays=("in.rows", "in.deep.rows"))) == [
        JsonPart(member="id", value=1),
        JsonPart(member="in.n", value=2),
        JsonPart(member="in.rows", index=0, value={"a": 1}),
        JsonPart(member="in.rows", index=1, value=2),
        JsonPart(member="in.deep.rows", index=0, value=3),
        JsonPart(member="rows", value=[4]),
        JsonPart(member="empty", value={}),
    ]


def test_half_of_a_character_has_a_hash() -> None:
    assert hashed("\ud800") == hashed("\ud800") != hashed("x")


def test_a_name_that_every_file_has_gives_way_to_the_folder() -> None:
    names = [
        "m1/results.json",
        "m2/promptfoo/output.json.gz",
        "m3/.deepeval/.latest_test_run.json",
        "x/gpt.results.json",
    ]
    assert [Source(path=Path(name)).called for name in names] == ["m1", "m2", "m3", "gpt.results"]
