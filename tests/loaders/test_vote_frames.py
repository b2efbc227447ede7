"""Votes in a frame: labels, names of columns, and what is never a tie."""

import pandas as pd
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.loaders.frames import found_columns, from_votes


def _votes(**more: list[object]) -> dict[str, list[object]]:
    return {"model_a": ["x", "x", "y", "z"], "model_b": ["y", "z", "z", "x"], **more}


def test_a_winner_may_be_named_by_its_model():
    data = from_votes(_votes(winner=["x", "z", "y", "tie"]))
    assert data.comparisons["outcome"].to_list() == ["a", "b", "a", "tie"]


def test_an_unknown_label_is_counted_by_label_and_is_no_tie():
    data = from_votes(_votes(winner=["model_a", "Tie?", "Tie?", None]))
    assert data.comparisons["outcome"].to_list() == ["a", None, None, None]
    assert data.comparisons["status"].to_list() == ["scored", "unscored", "unscored", "unscored"]
    told = [problem.message for problem in data.problems]
    assert any("3 of 4 votes have no outcome" in line and "('Tie?': 2, no label: 1)" in line for line in told)


def test_a_model_that_is_called_like_a_label_gets_no_vote_where_nothing_tells():
    """Dropping only the votes in doubt would leave its wins and take its losses."""
    data = from_votes({"model_a": ["b", "b", "y"], "model_b": ["z", "y", "z"], "winner": ["b", "y", "model_a"]})
    assert data.comparisons["outcome"].to_list() == [None, None, "a"]
    assert any("2 votes have a model whose name is also a label" in problem.message for problem in data.problems)


def test_other_votes_tell_whether_labels_are_sides_or_names():
    models = {"model_a": ["a", "x", "x", "y"], "model_b": ["x", "a", "y", "a"]}
    sides = from_votes({**models, "winner": ["a", "a", "b", "b"]})
    assert sides.comparisons["outcome"].to_list() == ["a", "a", "b", "b"]
    names = from_votes({**models, "winner": ["a", "a", "x", "y"]})
    assert names.comparisons["outcome"].to_list() == ["a", "b", "a", "a"]


def test_a_name_and_a_label_that_say_the_same_are_no_doubt():
    data = from_votes({"model_a": ["a", "x"], "model_b": ["b", "b"], "winner": ["a", "b"]})
    assert data.comparisons["outcome"].to_list() == ["a", "b"]


def test_own_labels_and_columns():
    frame = {"l": ["x", "x", "y"], "r": ["y", "y", "x"], "w": [1, 2, 0], "user": [7, 7, 8], "chars_a": [1, 2, 3]}
    data = from_votes(
        frame, model_a="l", model_b="r", winner="w", rater="user", labels={"1": "a", "2": "b", "0": "both_bad"}
    )
    assert data.comparisons["outcome"].to_list() == ["a", "b", "both_bad"]
    assert data.comparisons["rater"].to_list() == ["7", "7", "8"]
    assert data.comparisons["chars_a"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pl.LazyFrame])
def test_any_table_gives_the_same(make):
    frame = _votes(winner=["model_a", "tie", "model_b", "tie"])
    plain = from_votes(frame).comparisons.drop("run")
    assert from_votes(make(frame)).comparisons.drop("run").equals(plain)


def test_a_column_in_the_way_keeps_its_values_under_another_name():
    data = from_votes({"a": ["x"], "b": ["y"], "w": ["a"], "model_a": ["other"]}, model_a="a", model_b="b", winner="w")
    assert data.comparisons["model_a"].to_list() == ["x"]
    assert data.comparisons["source_model_a"].to_list() == ["other"]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"rater": "nobody"}, "no column 'nobody' for rater"),
        ({"colour": "winner"}, "'colour' is no column of comparisons"),
        ({"rater": "winner"}, "column 'winner' is named for two things"),
    ],
)
def test_names_that_do_not_fit_are_refused(named, said):
    with pytest.raises(InputError, match=said):
        from_votes(_votes(winner=["tie"] * 4), **named)


def test_an_empty_frame_is_refused():
    with pytest.raises(InputError, match="holds no rows"):
        from_votes({"model_a": [], "model_b": [], "winner": []})


def test_winners_and_losers_are_sides_in_the_order_of_their_names():
    table = {"winner": ["y", "x", "z"], "loser": ["x", "z", "x"]}
    votes = from_votes(table, loser="loser").comparisons
    assert votes.select("model_a", "model_b", "outcome").rows() == [("x", "y", "b"), ("x", "z", "a"), ("x", "z", "b")]
    assert (
        found_columns(table, {})[0].comparisons.select("model_a", "outcome").rows()
        == votes.select("model_a", "outcome").rows()
    )
    with pytest.raises(InputError, match=r"from_votes\(table, winner='winner_model', loser='loser_model'\)"):
        es.arena({f"{name}_model": cells for name, cells in table.items()})


def test_a_side_may_be_called_as_its_column():
    table = {"gen_a": ["x", "y"], "gen_b": ["y", "z"], "better": ["gen_a", "gen_b"]}
    votes = from_votes(table, model_a="gen_a", model_b="gen_b", winner="better")
    assert votes.comparisons["outcome"].to_list() == ["a", "b"]


def test_columns_of_votes_may_be_named_as_those_of_any_table():
    frame = {"left": ["x", "y"] * 10, "right": ["y", "x"] * 10, "won": ["model_a", "tie"] * 10}
    data = es.from_frame(frame, model_a="left", model_b="right", winner="won")
    assert data.comparisons["outcome"].to_list() == ["a", "tie"] * 10
    # All was said, so there is nothing to tell.
    assert data.problems == ()
    called = {"model_a": frame["left"], "model_b": frame["right"], "winner": frame["won"]}
    assert es.from_frame(called).problems == ()
    with pytest.raises(InputError, match="no column is called winner"):
        es.from_frame(frame, model_a="left", model_b="right")
