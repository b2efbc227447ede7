"""Arrays inside objects are streamed like any other; what no loader can use is counted; runs are named after their place."""

import json
from pathlib import Path

import pytest

from evalstats.loaders.base import Source
from evalstats.loaders.files import JsonItem, JsonMember, iter_json
from evalstats.loaders.records import hashed


@pytest.mark.parametrize("indent", [None, 2])
def test_array_inside_an_object_is_streamed_and_its_neighbours_come_one_by_one(
    tmp_path: Path, indent: int | None
) -> None:
    path = tmp_path / "x.json"
    content = {"id": 1, "in": {"n": 2, "rows": [{"a": 1}, 2], "deep": {"rows": [3]}}, "rows": [4], "empty": {}}
    path.write_text(json.dumps(content, indent=indent))
    assert list(iter_json(path, arrays=("in.rows", "in.deep.rows"))) == [
        JsonMember(member="id", value=1),
        JsonMember(member="in.n", value=2),
        JsonItem(member="in.rows", index=0, value={"a": 1}),
        JsonItem(member="in.rows", index=1, value=2),
        JsonItem(member="in.deep.rows", index=0, value=3),
        JsonMember(member="rows", value=[4]),
        JsonMember(member="empty", value={}),
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
