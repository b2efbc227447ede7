"""Arena-Hard-Auto's judgements, new and old, and WildVision-Bench's: both orders, strengths, games without a verdict."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.arena_hard import FORMAT, UNNAMED_BASELINE
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

NEW: dict[str, Any] = {
    "uid": "2edbb5f36f5b42be",
    "category": "hard_prompt",
    "judge": "gpt-4.1",
    "model": "my-model",
    "baseline": "o3-mini-2025-01-31",
    "games": [
        {"score": "A>B", "judgment": {"answer": "...[[A>B]]"}, "prompt": [{"role": "system", "content": ".."}]},
        {"score": "B>>A", "judgment": {"answer": ".."}, "prompt": []},
    ],
}
OLD: dict[str, Any] = {
    "question_id": "328c149ed45a41c0b9d6f14659e63599",
    "model": "my-model",
    "judge": "gpt-4-1106-preview",
    "games": [{"user_prompt": "..", "judgment": "..", "score": "A=B"}, {"score": "A<<B"}],
}


@pytest.fixture
def judgements(tmp_path: Path) -> Any:
    def write(records: list[dict[str, Any]], name: str = "my-model.jsonl") -> EvalData:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return read_source(FORMAT, with_digest(Source(path=path)))

    return write


COLUMNS = ("item", "event", "model_a", "model_b", "outcome", "strength", "order")


def test_both_games_of_an_item_are_rows_that_share_it(judgements: Any) -> None:
    data = judgements([NEW])
    event = "2edbb5f36f5b42be.my-model.gpt-4.1"
    assert data.comparisons.select(COLUMNS).rows() == [
        (NEW["uid"], event, "o3-mini-2025-01-31", "my-model", "a", "slight", "a_first"),
        (NEW["uid"], event, "my-model", "o3-mini-2025-01-31", "b", "strong", "a_first"),
    ]
    assert data.comparisons["value_raw"].to_list() == ["A>B", "B>>A"]
    assert data.comparisons["scenario"].to_list() == ["hard_prompt"] * 2
    assert data.runs.select("benchmark", "judge").row(0) == ("Arena-Hard v2.0", "gpt-4.1")
    assert set(data.comparisons["setting"]) == {"lab"}
    assert "1 items have a verdict >>, which the benchmark's own score counts three times" in told(data)
    assert "prompt" not in data.comparisons.columns


@pytest.mark.parametrize(
    ("categories", "name"),
    [
        (["hard_prompt", "creative_writing"], "Arena-Hard v2.0"),
        (["arena-hard-v0.1"], "Arena-Hard v0.1"),
        (["hard_prompt", "arena-hard-v0.1"], "Arena-Hard"),
        (["mine"], "Arena-Hard"),
        ([None], "Arena-Hard"),
    ],
)
def test_versions_are_told_apart_by_category(judgements: Any, categories: list[str | None], name: str) -> None:
    """Their questions and baselines differ, so their votes must not be put together."""
    data = judgements([{**NEW, "uid": str(n), "category": category} for n, category in enumerate(categories)])
    assert data.runs["benchmark"].item() == name


def test_the_old_shape_does_not_name_the_baseline(judgements: Any) -> None:
    data = judgements([OLD])
    assert data.comparisons.select(COLUMNS[2:6]).rows() == [
        (UNNAMED_BASELINE, "my-model", "tie", None),
        ("my-model", UNNAMED_BASELINE, "b", "strong"),
    ]
    assert "1 judgements do not name the baseline" in told(data)


def test_wildvision_has_one_game_and_prose_for_a_verdict(judgements: Any) -> None:
    records = [
        {**OLD, "question_id": str(n), "games": [{"score": score}]}
        for n, score in enumerate(["B>A", "x" * 99, "", None])
    ]
    data = judgements(records, "vision_bench_0617/model_judgment/judge/m.jsonl")
    assert data.runs["benchmark"].item() == "WildVision-Bench"
    assert data.comparisons.select("outcome", "status").rows() == [("b", "scored"), *[(None, "unscored")] * 3]
    assert data.comparisons["value_raw"].to_list() == ["B>A", "x" * 60, "", None]
    assert "3 of 4 items have a game without a verdict" in told(data)


@pytest.mark.parametrize(
    "games", [None, [], [None], "A>B", [{"score": None}], [{"judgment": "[[A>B]]"}], [{"score": 1}], [3]]
)
def test_a_game_without_a_verdict_is_never_a_tie(judgements: Any, games: object) -> None:
    data = judgements([{**NEW, "games": games}, {**NEW, "uid": "other"}])
    assert data.comparisons["outcome"].to_list() == [None, "a", "b"]
    assert data.comparisons["status_reason"].to_list()[0] == "the judge gave no verdict"


def test_one_null_game_leaves_the_other(judgements: Any) -> None:
    data = judgements([{**NEW, "games": [None, {"score": "A>B"}]}])
    assert data.comparisons.select("model_a", "outcome").rows() == [("o3-mini-2025-01-31", None), ("my-model", "a")]
    assert "drops such items, here the other game is kept" in told(data)


@pytest.mark.parametrize("label", ["model_a", "left", "tie", "a", "my-model", "A>C", "A>>>B", "both_bad"])
def test_labels_of_other_sources_are_no_verdicts(judgements: Any, label: str) -> None:
    row = judgements([{**NEW, "games": [{"score": label}, {"score": "A=B"}]}]).comparisons.row(0, named=True)
    assert (row["outcome"], row["value_raw"]) == (None, label)


def test_games_beyond_the_second_are_left_out_and_told(judgements: Any) -> None:
    data = judgements([{**NEW, "games": [{"score": "A=B"}] * 4}])
    assert data.comparisons.height == 2
    assert "2 games beyond the second" in told(data)


def test_an_item_that_stands_twice_counts_once_and_is_told(judgements: Any) -> None:
    data = judgements([NEW, {**NEW, "games": [{"score": "A=B"}] * 2}])
    assert data.comparisons["outcome"].to_list() == ["a", "b"]
    assert told(data, "error") == "1 of 2 judgements are dropped (judged before): line 2"


def test_a_judgement_without_question_or_model_is_left_out_and_told(judgements: Any) -> None:
    data = judgements([{**NEW, "uid": None}, NEW, {**OLD, "model": ""}])
    assert data.comparisons.height == 2
    assert told(data, "error").split("\n") == [
        "1 of 3 judgements are dropped (no uid or question_id): line 1",
        "1 of 3 judgements are dropped (no model): line 3",
    ]
    with pytest.raises(UnreadableFileError, match="none of its judgements could be read"):
        judgements([{**NEW, "uid": None}])


VERDICTS = {"A>>B": "a", "A>B": "a", "A=B": "tie", "B>A": "b", "B>>A": "b"}


@given(st.lists(st.tuples(*[st.sampled_from([*VERDICTS, None, "", "?"])] * 2), min_size=1, max_size=30))
def test_scores_agree_with_a_plain_count(
    tmp_path_factory: pytest.TempPathFactory, games: list[tuple[str | None, str | None]]
) -> None:
    """Wins of the model over all games, counted from the labels by hand."""
    path = tmp_path_factory.mktemp("x") / "m.jsonl"
    records = [{**NEW, "uid": str(n), "games": [{"score": label} for label in pair]} for n, pair in enumerate(games)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    table = read_source(FORMAT, with_digest(Source(path=path))).comparisons
    won = sum((pair[0] or "").startswith("B>") for pair in games) + sum(
        (pair[1] or "").startswith("A>") for pair in games
    )
    named = table.filter(
        ((table["model_a"] == "my-model") & (table["outcome"] == "a"))
        | ((table["model_b"] == "my-model") & (table["outcome"] == "b"))
    )
    assert named.height == won
    assert table["outcome"].null_count() == sum(label not in VERDICTS for pair in games for label in pair)
