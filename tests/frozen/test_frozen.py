"""Numbers stay where they are: every number of some sixty results, to the last digit. Texts are free.

The same results, saved and loaded, are what they were; those of hostile names are in `analysis/test_every_result`.
"""

import copy
import json
from pathlib import Path

import pytest

import evalstats as es
from tests.frozen.cases import CASES
from tests.frozen.values import FOLDER, moved


@pytest.mark.parametrize("name", CASES)
def test_numbers_have_not_moved(name: str) -> None:
    lines = moved(name, CASES[name]())
    assert not lines, "\n".join([f"{len(lines)} rows of {name} have moved", *lines[:10]])


@pytest.mark.parametrize("name", CASES)
def test_a_saved_result_is_the_same_again(name: str, tmp_path: Path) -> None:
    found = CASES[name]()
    for each in found if isinstance(found, tuple) else (found,):
        each.save(tmp_path / "r.json")
        assert es.load_result(tmp_path / "r.json") == each


def test_every_frozen_file_has_its_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(CASES)


class _Given:
    def __init__(self, tree: dict) -> None:
        self._tree = tree

    def to_dict(self) -> dict:
        return self._tree


@pytest.fixture(scope="module")
def board() -> dict:
    return json.loads(json.dumps(CASES["leaderboard_published"]().to_dict()))


def test_a_number_that_moves_is_seen(board: dict) -> None:
    changed = copy.deepcopy(board)
    changed["rows"][2]["conf_low"] *= 1 + 1e-8
    (line,) = moved("leaderboard_published", _Given(changed))
    assert "conf_low" in line


def test_a_number_that_goes_or_comes_is_seen(board: dict) -> None:
    gone = copy.deepcopy(board)
    del gone["rows"][0]["rank_high"]
    gone["rows"][0].pop("rank_high_marginal", None)
    assert moved("leaderboard_published", _Given(gone))
    swapped = copy.deepcopy(board)
    first, last = swapped["rows"][0], swapped["rows"][-1]
    first["estimate"], last["estimate"] = last["estimate"], first["estimate"]
    assert len(moved("leaderboard_published", _Given(swapped))) == 2


def test_a_field_may_move_into_a_nested_object(board: dict) -> None:
    nested = copy.deepcopy(board)
    for row in nested["rows"]:
        row["score"] = {name: row.pop(name) for name in ("estimate", "std_error", "conf_low", "conf_high")}
    assert moved("leaderboard_published", _Given(nested)) == []
