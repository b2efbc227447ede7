"""Events with K answers: pairs of a choice and of a ranking, in the order in which the answers were shown."""

import json
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import UnreadableFileError
from evalstats.loaders.arena_records import _column
from evalstats.loaders.arena_votes import LOADER, MAX_MODELS, pairs_of
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData
from evalstats.schema.tables import factor_series
from tests.loaders.trees import said as told

EVENT: dict[str, Any] = {
    "event_id": "e1",
    "models": ["x", "y", "z"],
    "winner": "y",
    "user_id": "u1",
    "app": "joyland",
    "phase": "proximity",
    "turn": 3,
    "tstamp": 1751328000.0,
}


@pytest.fixture
def events(tmp_path: Path) -> Any:
    def write(records: list[dict[str, Any]] | str, name: str = "events.jsonl") -> EvalData:
        path = tmp_path / name
        text = records if isinstance(records, str) else "".join(json.dumps(record) + "\n" for record in records)
        path.write_text(text)
        return read_source(LOADER, with_digest(Source(path=path)))

    return write


def outcomes(record: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(str(pair["model_a"]), str(pair["model_b"]), winner.outcome) for pair, winner in pairs_of(record, number=0)]


def test_a_choice_is_the_winner_against_each_loser(events: Any) -> None:
    data = events([EVENT])
    assert data.comparisons.select("battle", "event", "event_size", "model_a", "model_b", "outcome").rows() == [
        ("e1.0-1", "e1", 3, "x", "y", "b"),
        ("e1.1-2", "e1", 3, "y", "z", "a"),
    ]
    row = data.comparisons.row(0, named=True)
    expected = {"rank_a": None, "rater": "u1", "app": "joyland", "phase": "proximity", "turn": 3, "value_raw": "y"}
    assert {name: row[name] for name in expected} == expected
    assert data.runs["benchmark"].item() == "Inclusion Arena"
    assert "is our assumption, see docs/assumed-formats.md" in told(data)


def test_a_ranking_gives_all_pairs_with_ranks(events: Any) -> None:
    record = {**EVENT, "ranking": ["z", ["x", "y"]]}
    data = events([record])
    assert data.comparisons.select("model_a", "model_b", "outcome", "rank_a", "rank_b").rows() == [
        ("x", "y", "tie", 2, 2),
        ("x", "z", "b", 2, 1),
        ("y", "z", "b", 2, 1),
    ]


@pytest.mark.parametrize(
    "ranking",
    [["z", "x", "y"], {"x": 2, "y": 3, "z": 1}, [2, 3, 1], [2.0, 3.0, 1.0], '["z", "x", "y"]', "['z', 'x', 'y']"],
)
def test_rankings_in_every_form(ranking: object) -> None:
    record = {"models": ["x", "y", "z"], "ranking": ranking}
    assert outcomes(record) == [("x", "y", "a"), ("x", "z", "b"), ("y", "z", "b")]


@pytest.mark.parametrize(
    "ranking",
    [["z", "x"], ["z", "x", "x"], ["z", "x", "y", "w"], {"x": 1}, [0, 1, 2], [1, 2], [1.5, 2, 3], "z", 3, [None] * 3],
)
def test_a_ranking_that_does_not_fit_is_unscored(events: Any, ranking: object) -> None:
    data = events([{**EVENT, "ranking": ranking}, {**EVENT, "event_id": "e2"}])
    odd = data.comparisons.filter(event="e1")
    assert odd.height == 3
    assert odd["outcome"].null_count() == 3
    assert "3 of 5 votes have no outcome" in told(data)


@pytest.mark.parametrize("label", ["tie", "TIE", "all_equal"])
def test_a_tie_is_one_among_all(label: str) -> None:
    assert [outcome for *_, outcome in outcomes({**EVENT, "winner": label})] == ["tie"] * 3


def test_all_bad() -> None:
    assert [outcome for *_, outcome in outcomes({**EVENT, "winner": "both_bad"})] == ["both_bad"] * 3


@pytest.mark.parametrize("label", [None, "", "nan", "w", "model_a", "a", 1, "left", ["x"]])
def test_a_winner_that_is_none_of_the_models_is_never_a_tie(events: Any, label: object) -> None:
    data = events([{**EVENT, "winner": label}, {**EVENT, "event_id": "e2"}])
    odd = data.comparisons.filter(event="e1")
    assert odd.select("model_a", "model_b", "outcome").rows() == [("x", "y", None), ("x", "z", None)]


def test_a_winner_that_stands_twice_and_a_model_against_itself(events: Any) -> None:
    data = events([{**EVENT, "models": ["x", "y", "y"]}, {**EVENT, "event_id": "e2", "models": ["y", "x", "x"]}])
    assert data.comparisons.filter(event="e1")["outcome"].null_count() == 2
    assert data.comparisons.filter(event="e2")["outcome"].to_list() == ["a", "a"]


@pytest.mark.parametrize(
    "models", [None, [], ["x"], "x", ["x", None], ["x", ""], 3, [["x"], ["y"]], ["m"] * (MAX_MODELS + 1)]
)
def test_an_event_without_two_models_is_left_out_and_told(events: Any, models: object) -> None:
    data = events([{**EVENT, "models": models}, EVENT])
    assert data.comparisons.height == 2
    assert told(data, "error") == "1 votes name no model_a or model_b and are dropped (line 1)"


def test_an_event_that_stands_twice_is_refused(events: Any) -> None:
    with pytest.raises(UnreadableFileError, match=r"vote 'e1\.0-1' appears twice"):
        events([EVENT, EVENT])


def test_events_without_ids_are_numbered(events: Any) -> None:
    record = {name: value for name, value in EVENT.items() if name != "event_id"}
    assert events([record, record]).comparisons["event"].to_list() == ["0", "0", "1", "1"]


def test_events_in_csv_and_parquet(events: Any, tmp_path: Path) -> None:
    text = 'event_id,models,winner\ne1,"[""x"", ""y"", ""z""]",y\ne2,"[\'x\', \'z\']",x\n'
    data = events(text, "events.csv")
    assert data.comparisons["outcome"].to_list() == ["b", "a", "a"]
    path = tmp_path / "events.parquet"
    pl.DataFrame([{**EVENT, "winner": None, "ranking": ["z", "y", "x"]}]).write_parquet(path)
    table = read_source(LOADER, with_digest(Source(path=path))).comparisons
    assert table["rank_a"].to_list() == [3, 3, 2]


NAMES = st.lists(st.sampled_from([f"m{number}" for number in range(9)]), min_size=2, max_size=7, unique=True)


@given(NAMES, st.data())
def test_pairs_follow_the_ranking(models: list[str], data: st.DataObject) -> None:
    """Every pair once, in the order shown; the better-ranked wins."""
    ranks = data.draw(st.lists(st.integers(1, 4), min_size=len(models), max_size=len(models)))
    found = outcomes({"models": models, "ranking": dict(zip(models, ranks, strict=True))})
    rank = dict(zip(models, ranks, strict=True))
    assert [(a, b) for a, b, _ in found] == list(combinations(models, 2))
    for a, b, outcome in found:
        assert outcome == ("tie" if rank[a] == rank[b] else "a" if rank[a] < rank[b] else "b")


@given(NAMES, st.data())
def test_where_the_winner_stood_does_not_matter(models: list[str], data: st.DataObject) -> None:
    best = data.draw(st.sampled_from(models))
    found = outcomes({"models": models, "winner": best})
    assert len(found) == len(models) - 1
    assert all((a if outcome == "a" else b) == best for a, b, outcome in found)
    assert all(models.index(a) < models.index(b) for a, b, _ in found)


def test_lists_within_lists_are_no_texts_that_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars tries every level of a list against the type of a column: 600 levels took it six seconds."""
    deep = json.loads("[" * 600 + "]" * 600)

    def watched(*given: Any, **options: Any) -> pl.Series:
        tried = [each for each in given if isinstance(each, list) and deep in each]
        assert not tried or options.get("dtype") == pl.Object
        return pl.Series(*given, **options)

    for module in ("evalstats.loaders.arena_records", "evalstats.schema.tables"):
        monkeypatch.setattr(f"{module}.pl", SimpleNamespace(Series=watched, String=pl.String, Object=pl.Object))
    assert _column(["u1", deep, "u3"]).to_list() == ["u1", deep, "u3"]
    assert factor_series("user_id", ["u1", deep]).to_list() == ["u1", str(deep)]
