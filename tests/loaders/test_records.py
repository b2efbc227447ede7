"""Arrays inside objects are streamed like any other; what no loader can use is counted; runs are named after their place."""

import json
from pathlib import Path

import pytest

from evalstats.loaders.base import Source
from evalstats.loaders.files import JsonItem, JsonMember, iter_json
from evalstats.loaders.records import Records, hashed


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


def test_records_say_where_they_stand_and_what_is_none_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n\n[1]\n{"a": \n{"a": 1' + "0" * 5_000 + "}\n" + "[" * 60_000 + "\n")
    records = Records(Source(path=path))
    assert [locator for locator, _ in records] == ["line 1", "line 5"]
    assert [problem.message for problem in records.problems()] == [
        "1 of 5 records are left out (no JSON object): line 3",
        "2 of 5 records are left out (no JSON, or cut off): line 4, line 6",
    ]
    assert (records.n_read, records.n_left_out) == (5, 3)


def test_members_that_were_asked_for_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"in": {"at": 5, "rows": [{"a": 1}]}, "big": [1, 2]}')
    records = Records(Source(path=path), "in.rows", keep=("in.at",))
    assert list(records) == [("in.rows[0]", {"a": 1})]
    assert records.members == {"in.at": 5}


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
