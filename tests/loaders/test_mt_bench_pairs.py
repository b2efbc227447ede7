"""MT-bench's judged pairs: two rows in both orders, and games in which the judge gave no verdict."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.mt_bench import FORMAT
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

PAIR: dict[str, Any] = {
    "question_id": 81,
    "model_1": "alpaca-13b",
    "model_2": "gpt-4",
    "g1_winner": "model_2",
    "g2_winner": "model_2",
    "judge": ["gpt-4", "pair-v2"],
    "g1_user_prompt": "..",
    "g1_judgment": "[[B]]",
    "g2_user_prompt": "..",
    "g2_judgment": "[[A]]",
    "turn": 1,
    "tstamp": 1687222712.5,
}


@pytest.fixture
def pairs(tmp_path: Path) -> Any:
    def write(records: list[dict[str, Any]]) -> EvalData:
        path = tmp_path / "gpt-4_pair.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return read_source(FORMAT, with_digest(Source(path=path)))

    return write


def test_a_pair_is_two_rows_in_both_orders(pairs: Any) -> None:
    data = pairs([PAIR])
    columns = ("item", "turn", "model_a", "model_b", "outcome", "order", "judge", "event_size", "setting")
    assert data.comparisons.select(columns).rows() == [
        ("81", 1, "alpaca-13b", "gpt-4", "b", "a_first", "gpt-4", 2, "lab"),
        ("81", 1, "gpt-4", "alpaca-13b", "a", "a_first", "gpt-4", 2, "lab"),
    ]
    assert data.comparisons["event"].n_unique() == 1
    assert data.comparisons["timestamp"].null_count() == 0
    assert data.runs.select("benchmark", "judge").row(0) == ("MT-bench", "gpt-4")
    assert data.problems == ()


LABELS = ("model_1", "model_2", "tie", "error")


@pytest.mark.parametrize(("one", "two"), list(product(LABELS, LABELS)))
def test_every_pair_of_labels(pairs: Any, one: str, two: str) -> None:
    """The winner, by name, is the same as the file's label says; "error" is unscored."""
    data = pairs([{**PAIR, "g1_winner": one, "g2_winner": two}])
    names = {"model_1": "alpaca-13b", "model_2": "gpt-4", "tie": "tie", "error": None}
    won = [
        None if row["outcome"] is None else "tie" if row["outcome"] == "tie" else row[f"model_{row['outcome']}"]
        for row in data.comparisons.iter_rows(named=True)
    ]
    assert won == [names[one], names[two]]
    against = one != two and "error" not in {one, two}
    assert ("changes with the order of the answers" in told(data)) == against
    assert ("have no outcome" in told(data)) == ("error" in {one, two})


@pytest.mark.parametrize("label", [None, "", "model_3", "A", "gpt-4", 1])
def test_other_labels_are_unscored(pairs: Any, label: object) -> None:
    data = pairs([{**PAIR, "g1_winner": label}])
    assert data.comparisons["outcome"].to_list() == [None, "a"]


def test_turns_and_judges_are_told_apart_and_copies_refused(pairs: Any) -> None:
    data = pairs([PAIR, {**PAIR, "turn": 2}, {**PAIR, "judge": ["claude", "pair-v2"]}])
    assert data.comparisons["event"].n_unique() == 3
    assert data.runs["judge"].item() is None
    assert told(pairs([PAIR, PAIR]), "error") == "1 of 2 judged pairs are dropped (judged before): line 2"


def test_a_model_against_itself_and_a_missing_side(pairs: Any) -> None:
    data = pairs([{**PAIR, "model_2": "alpaca-13b"}, {**PAIR, "model_2": None}])
    assert data.comparisons["status_reason"].to_list() == ["a model against itself"] * 2
    assert told(data, "error") == "1 of 2 judged pairs are dropped (no model_2): line 2"
    with pytest.raises(UnreadableFileError, match="none of its judged pairs could be read"):
        pairs([{**PAIR, "model_1": ""}])
