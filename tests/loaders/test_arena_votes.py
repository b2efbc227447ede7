"""Arena votes of every shape: who won, who judged, what is known of both answers; and what is no vote at all."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders import arena_rows, typed_records
from evalstats.loaders.arena_cells import as_truth, labelled, structured, tags_of
from evalstats.loaders.arena_votes import LOADER
from evalstats.loaders.base import Head, Source, read_head, with_digest
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import read, read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

BATTLE = {
    "model_a": "gpt-4-0613",
    "model_b": "claude-2.0",
    "winner": "model_a",
    "judge": "arena_user_12",
    "turn": 1,
    "anony": True,
    "language": "English",
    "tstamp": 1687849300.5,
}
LMARENA = {
    "id": "c4b9",
    "model_a": "m1",
    "model_b": "m2",
    "winner": "both_bad",
    "evaluation_session_id": "a333",
    "evaluation_order": 2,
    "conversation_a": [{"role": "user", "content": [{"type": "text", "text": "hi", "image": None}]}],
    "conversation_b": [],
    "full_conversation": [],
    "conv_metadata": {
        "sum_assistant_a_tokens": 1854,
        "header_count_a": {"h1": 1, "h2": 0, "h3": 8},
        "list_count_a": {"ordered": 2, "unordered": 39},
        "bold_count_a": {"**": 65, "__": 1},
        "context_a_tokens": 11,
        "sum_assistant_b_tokens": 264,
        "sum_user_tokens": 11,
        "turns": 3,
    },
    "category_tag": {
        "creative_writing_v0.1": {"creative_writing": True, "score": "yes"},
        "criteria_v0.1": {
            name: name != "creativity"
            for name in (
                "complexity",
                "creativity",
                "domain_knowledge",
                "problem_solving",
                "real_world",
                "specificity",
                "technical_accuracy",
            )
        },
        "if_v0.1": {"if": False, "score": 4},
        "math_v0.1": {"math": False},
    },
    "language": "und",
    "is_code": True,
    "timestamp": "2025-05-29T14:48:41.602925",
}
VOTES_CSV = "model_a,model_b,winner\n"


def load(path: Path) -> EvalData:
    return read_source(LOADER, with_digest(Source(path=path)))


@pytest.fixture
def votes(tmp_path: Path) -> Any:
    """Write votes (text, or records as JSON) and read them."""

    def write(content: str | list[dict[str, Any]], name: str = "votes.json") -> EvalData:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return load(path)

    return write


def first(data: EvalData) -> dict[str, Any]:
    return data.comparisons.row(0, named=True)


# Who won


@pytest.mark.parametrize(
    ("label", "outcome", "strength"),
    [
        ("model_a", "a", None),
        ("model_b", "b", None),
        ("Model_A", "a", None),
        (" b ", "b", None),
        ("left", "a", None),
        ("right", "b", None),
        ("tie", "tie", None),
        ("A=B", "tie", None),
        ("tie (bothbad)", "both_bad", None),
        ("both_bad", "both_bad", None),
        ("bothbad", "both_bad", None),
        ("A<B", "b", "slight"),
        ("A<<B", "b", "strong"),
        ("B<<A", "a", "strong"),
        ("B=A", "tie", None),
        ("A>>B", "a", "strong"),
        ("A>B", "a", "slight"),
        ("B>A", "b", "slight"),
        ("B>>A", "b", "strong"),
        ("A is better", "a", None),
        ("both", "tie", None),
        ("B wins", "b", None),
        ("model A wins", "a", None),
        ("Response B is better", "b", None),
        ("Model B", "b", None),
        ("assistant_a", "a", None),
        ("Both are bad", "both_bad", None),
        ("both good", "tie", None),
        ("gpt-4-0613", "a", None),
        ("claude-2.0", "b", None),
    ],
)
def test_labels(votes: Any, label: str, outcome: str, strength: str | None) -> None:
    row = first(votes([{**BATTLE, "winner": label}]))
    assert (row["outcome"], row["strength"], row["status"]) == (outcome, strength, "scored")
    assert (row["value_raw"], row["status_reason"]) == (label, None)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("model_c", "the winner's label is not known"),
        ("neither", "the winner's label is not known"),
        ("0", "the winner's label is not known"),
        (2, "the winner's label is not known"),
        (None, "the winner's label is missing"),
        ("", "the winner's label is missing"),
        ("nan", "the winner's label is missing"),
        (float("nan"), "the winner's label is missing"),
        (["model_a"], "the winner's label is missing"),
    ],
)
def test_a_label_that_is_unknown_or_missing_is_never_a_tie(votes: Any, label: object, reason: str) -> None:
    data = votes([{**BATTLE, "winner": label}, BATTLE])
    row = first(data)
    assert (row["outcome"], row["status"], row["status_reason"]) == (None, "unscored", reason)
    assert data.runs.select("n_scored", "n_unscored").row(0) == (1, 1)
    assert "1 of 2 votes have no outcome and are kept as unscored, not as ties" in told(data)


def test_unread_labels_are_counted_by_label(votes: Any) -> None:
    labels = ["x", "y", "x", None, "tie", "x"]
    data = votes([{**BATTLE, "winner": label} for label in labels])
    assert "5 of 6 votes have no outcome" in told(data)
    assert "('x': 3, 'y': 1, no label: 1)" in told(data)


def test_the_advice_for_an_unknown_label_works(tmp_path: Path) -> None:
    path, toml = tmp_path / "votes.json", tmp_path / "map.toml"
    path.write_text(json.dumps([{**BATTLE, "winner": "the first"}, BATTLE]))
    line = told(load(path)).partition("label stands for (")[2].partition(") (or ")[0]
    toml.write_text(f"[values.winner]\n{line}\n")
    data = read(path, column_map=ColumnMap.from_options([str(toml)]))
    assert data.comparisons["outcome"].to_list()[0] == "a"
    assert "votes have no outcome" not in told(data)


def test_no_advice_for_labels_where_none_is_there(votes: Any) -> None:
    assert "values.winner" not in told(votes([{**BATTLE, "winner": None}, BATTLE]))


def test_endless_labels_do_not_fill_the_note(votes: Any) -> None:
    data = votes([{**BATTLE, "winner": f"{number}{'x' * 500}"} for number in range(200)])
    assert "200 of 200 votes have no outcome" in told(data)
    assert "other labels: 150" in told(data)
    assert len(told(data)) < 1000


def test_old_notebooks_say_win(votes: Any) -> None:
    record = {**BATTLE, "win": "model_b"}
    del record["winner"]
    assert first(votes([record]))["outcome"] == "b"


def test_a_model_against_itself_is_no_vote(votes: Any) -> None:
    data = votes([{**BATTLE, "model_b": "gpt-4-0613"}, BATTLE])
    row = first(data)
    assert (row["outcome"], row["status_reason"], row["value_raw"]) == (None, "a model against itself", "model_a")
    assert "1 votes set a model against itself" in told(data)
    assert "have no outcome" not in told(data)


def test_a_model_called_like_a_label_is_read_as_the_label() -> None:
    assert labelled("tie", "tie", "m").outcome == "tie"
    assert labelled("both", "bm25", "both").outcome == "b"  # as systems of two parts are called


def test_a_name_that_is_the_other_side_s_label_is_unscored(votes: Any) -> None:
    """Model a is called "b": the label "b" may mean either."""
    records = [
        {**BATTLE, "model_a": "b", "model_b": "x", "winner": "b"},
        {**BATTLE, "model_a": "a", "model_b": "b", "winner": "b"},
        {**BATTLE, "model_a": "left", "model_b": "model_a", "winner": "model_a"},
    ]
    assert votes(records).comparisons["outcome"].to_list() == [None, "b", None]


def test_mixed_vocabularies_are_counted_and_told(votes: Any) -> None:
    labels = ["model_a", "left", "left", "A>B", "tie", "claude-2.0", "b", "both_bad"]
    data = votes([{**BATTLE, "winner": label} for label in labels])
    assert data.runs["n_scored"].item() == len(labels)
    assert "winners are named in 5 different ways" in told(data)
    for part in ("left: 2", "model_a: 1", "A>B: 1", "names of models: 1", "a: 1"):
        assert part in told(data)


@pytest.mark.parametrize(
    "labels", [["model_a", "model_b", "tie", "tie (bothbad)"], ["A>B", "A=B", "B>>A"], ["left", "tie"]]
)
def test_one_vocabulary_is_no_mixture(votes: Any, labels: list[str]) -> None:
    assert "different ways" not in told(votes([{**BATTLE, "winner": label} for label in labels]))


def test_mixed_units_of_time_are_counted_and_told(votes: Any) -> None:
    tstamps = [1687849300.5, 1687849300500, 1687849300500000, "2023-06-27T07:01:40.5Z", None]
    data = votes([{**BATTLE, "tstamp": tstamp} for tstamp in tstamps])
    assert data.comparisons["timestamp"].drop_nulls().unique().to_list() == [
        datetime(2023, 6, 27, 7, 1, 40, 500_000, tzinfo=UTC)
    ]
    assert "times are given in 4 different units" in told(data)
    for part in ("seconds: 1", "milliseconds: 1", "microseconds: 1", "dates: 1"):
        assert part in told(data)


@pytest.mark.parametrize("tstamp", [0, 12345.0, "1970-01-01", "2999-01-01", 9e10])
def test_times_that_cannot_be_right_are_told(votes: Any, tstamp: object) -> None:
    data = votes([{**BATTLE, "tstamp": tstamp}, BATTLE])
    assert "1 votes were given before 2015 or after 2100" in told(data)


def test_a_vote_without_a_model_is_left_out_and_told(votes: Any) -> None:
    data = votes([{**BATTLE, "model_a": None}, BATTLE, {**BATTLE, "model_b": ""}, {**BATTLE, "model_b": " "}])
    assert data.comparisons.height == 1
    assert first(data)["battle"] == "1"
    assert told(data, "error") == "3 votes name no model_a or model_b and are dropped (record 0, 2, 3)"


@pytest.mark.parametrize(
    ("cells", "outcome"),
    [
        ("1,0,0", "a"),
        ("0,1,0", "b"),
        ("0,0,1", "tie"),
        ("1.0,0.0,0.0", "a"),
        ("0,0,0", None),
        ("1,1,0", None),
        ("1,,0", None),
    ],
)
def test_one_hot_winners(votes: Any, cells: str, outcome: str | None) -> None:
    text = (
        "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
        f'30192,gpt-4,koala,"[""hi""]","[""a""]","[""b""]",{cells}\n'
    )
    data = votes(text, "train.csv")
    row = first(data)
    assert (row["outcome"], row["value_raw"], row["battle"]) == (outcome, cells, "30192")
    assert row["status"] == ("scored" if outcome else "unscored")
    assert data.runs["benchmark"].item() == "Chatbot Arena"
    assert not {"prompt", "response_a"} & set(data.comparisons.columns)


@pytest.mark.parametrize(
    ("cell", "outcome", "reason"),
    [
        ("0", "a", None),
        ("1.0", "b", None),
        ("", None, "neither completion was accepted"),
        ("2", None, "the accepted index is not 0 or 1"),
    ],
)
def test_copilot_arena(votes: Any, cell: str, outcome: str | None, reason: str | None) -> None:
    text = (
        "prefix,suffix,model_a,model_b,acceptedIndex,completion_a,completion_b\n"
        f'"def f(x):\n  ""doc""\n",,m1,m2,{cell},"return x\n",pass\n'
    )
    data = votes(text, "copilot.csv")
    row = first(data)
    assert (row["outcome"], row["status_reason"]) == (outcome, reason)
    assert data.runs["benchmark"].item() == "Copilot Arena"
    assert data.comparisons.height == 1
    assert not {"prefix", "completion_a"} & set(data.comparisons.columns)


# Chatbot Arena


def test_a_clean_battle(votes: Any) -> None:
    data = votes([BATTLE, {**BATTLE, "winner": "tie (bothbad)"}])
    row = first(data)
    expected = {
        "battle": "0",
        "model_a": "gpt-4-0613",
        "model_b": "claude-2.0",
        "rater": "arena_user_12",
        "judge": None,
        "turn": 1,
        "language": "English",
        "setting": "live",
        "anony": True,
        "timestamp": datetime(2023, 6, 27, 7, 1, 40, 500_000, tzinfo=UTC),
    }
    assert {name: row[name] for name in expected} == expected
    assert data.comparisons["battle"].to_list() == ["0", "1"]
    assert data.runs.select("benchmark", "model", "n_scored").row(0) == ("Chatbot Arena", None, 2)


@pytest.mark.parametrize(
    "tstamp", [1687849300.5, 1687849300500, "1687849300.5", "2023-06-27T07:01:40.5Z", "2023-06-27 07:01:40.5"]
)
def test_times_in_seconds_milliseconds_and_iso(votes: Any, tstamp: object) -> None:
    row = first(votes([{**BATTLE, "tstamp": tstamp}]))
    assert row["timestamp"] == datetime(2023, 6, 27, 7, 1, 40, 500_000, tzinfo=UTC)


def test_a_time_that_cannot_be_read_is_told(votes: Any) -> None:
    data = votes([{**BATTLE, "tstamp": "yesterday"}])
    assert first(data)["timestamp"] is None
    assert "tstamp could not be read in 1 votes" in told(data)


def test_nothing_is_filtered_and_what_leaderboards_filter_by_is_told(votes: Any) -> None:
    records = [
        {**BATTLE, "anony": False, "dedup_tag": {"high_freq": False, "sampled": True}},
        {**BATTLE, "dedup_tag": {"high_freq": True, "sampled": False}},
        BATTLE,
    ]
    data = votes(records)
    assert data.comparisons.select("anony", "dedup_sampled", "dedup_high_freq").rows() == [
        (False, True, False),
        (True, False, True),
        (True, None, None),
    ]
    assert "1 votes were given with the models' names in sight (anony is false)" in told(data)
    assert "1 votes repeat a prompt too often (dedup_sampled is false)" in told(data)


def test_the_older_public_set_marks_refusals_and_code(votes: Any) -> None:
    record = {
        **BATTLE,
        "question_id": "q",
        "is_code": False,
        "is_refusal": True,
        "category_tag": LMARENA["category_tag"],
    }
    data = votes([record])
    row = first(data)
    assert (row["is_refusal"], row["is_code"], row["if_score"], "hard_prompt" in row["tags"]) == (True, False, 4, True)
    assert data.runs["benchmark"].item() == "Chatbot Arena"


def test_a_conversation_may_be_voted_on_more_than_once(votes: Any) -> None:
    """FastChat's question_id is the conversation's id; a conversation that goes on can get another vote."""
    conversation = {
        "question_id": "abc",
        "conversation_a": [
            {"role": "user", "content": "hi", "num_tokens": 1},
            {"role": "assistant", "content": "x", "num_tokens": 30},
            {"role": "user", "content": "more", "num_tokens": 1},
            {"role": "assistant", "content": "y", "num_tokens": 12},
        ],
        "conversation_b": [{"role": "assistant", "content": "z"}],
    }
    data = votes([{**BATTLE, **conversation}, {**BATTLE, **conversation, "turn": 2}])
    assert data.comparisons.select("battle", "session", "turn", "item").rows() == [
        ("0", "abc", 1, None),
        ("1", "abc", 2, None),
    ]
    assert data.comparisons["assistant_tokens_a"].to_list() == [42.0, 42.0]
    assert "assistant_tokens_b" not in data.comparisons.columns


def test_experts_of_mt_bench_are_people(votes: Any) -> None:
    record = {"question_id": 81, "model_a": "m", "model_b": "n", "winner": "tie", "judge": "expert_17", "turn": 2}
    data = votes([record, {**record, "judge": "author_2"}, {**record, "judge": ["gpt-4", "pair-v2"]}])
    assert data.comparisons.select("item", "rater", "judge", "turn", "setting").rows() == [
        ("81", "expert_17", None, 2, "lab"),
        ("81", "author_2", None, 2, "lab"),
        ("81", None, "gpt-4", 2, "lab"),
    ]
    assert data.runs["benchmark"].item() == "MT-bench"


# LMArena


def test_an_lmarena_vote(votes: Any) -> None:
    data = votes([LMARENA])
    row = first(data)
    expected = {
        "battle": "c4b9",
        "outcome": "both_bad",
        "session": "a333",
        "evaluation_order": 2,
        "language": "und",
        "turn": 3,
        "is_code": True,
        "if_score": 4,
        "assistant_tokens_a": 1854.0,
        "assistant_tokens_b": 264.0,
        "header_count_a": 9.0,
        "list_count_a": 41.0,
        "bold_count_a": 66.0,
        "context_tokens_a": 11.0,
        "user_tokens": 11.0,
        "timestamp": datetime(2025, 5, 29, 14, 48, 41, 602_925, tzinfo=UTC),
    }
    assert {name: row[name] for name in expected} == expected
    assert row["tags"] == [
        "creative_writing",
        "complexity",
        "domain_knowledge",
        "problem_solving",
        "real_world",
        "specificity",
        "technical_accuracy",
        "hard_prompt",
        "code",
    ]
    assert data.runs["benchmark"].item() == "LMArena"
    assert data.problems == ()
    assert not {"conversation_a", "full_conversation", "conv_metadata"} & set(data.comparisons.columns)


def as_pandas_writes_it(records: list[dict[str, Any]], path: Path) -> None:
    """Nested cells as Python prints them, as a CSV export by pandas has them."""
    cells = {name: [record[name] for record in records] for name in records[0]}
    frame = pl.DataFrame({name: [str(value) for value in values] for name, values in cells.items()})
    path.write_text(frame.write_csv())


def test_json_lists_lines_csv_and_parquet_give_the_same_votes(tmp_path: Path) -> None:
    records = [LMARENA, {**LMARENA, "id": "d1", "winner": "tie", "is_code": False}]
    (tmp_path / "x.json").write_text(json.dumps(records))
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, records)))
    as_pandas_writes_it(records, tmp_path / "x.csv")
    frame = pl.DataFrame(records).with_columns(pl.col("timestamp").str.to_datetime(time_unit="ns"))
    frame.write_parquet(tmp_path / "x.parquet")
    tables = [load(tmp_path / name).comparisons.drop("run") for name in ("x.json", "x.jsonl", "x.csv", "x.parquet")]
    for table in tables[1:]:
        assert table.select(sorted(table.columns)).equals(tables[0].select(sorted(tables[0].columns)))


def test_a_cell_that_cannot_be_read_is_null_and_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    as_pandas_writes_it([LMARENA, {**LMARENA, "id": "d1", "conv_metadata": "{'turns': nan}"}], path)
    data = load(path)
    assert data.comparisons["turn"].to_list() == [3, None]
    assert "conv_metadata could not be read in 1 votes; what it holds is null there" in told(data)


def test_occupations_of_the_expert_set_are_tags(votes: Any) -> None:
    record = {
        "id": "1",
        "model_a": "m",
        "model_b": "n",
        "winner": "tie",
        "conversation_a": "text",
        "occupational_tags": {"legal": True, "medicine": False, "software": True},
    }
    data = votes([record])
    assert first(data)["tags"] == ["legal", "software"]
    assert data.runs["benchmark"].item() == "LMArena"


def test_no_tag_is_not_the_same_as_not_tagged(votes: Any) -> None:
    tagged = {**BATTLE, "category_tag": {"math_v0.1": {"math": False}}}
    assert votes([tagged, BATTLE]).comparisons["tags"].to_list() == [[], None]


# LLMFAO

LLMFAO = "id,prompt,model_x,model_y,worker,winner,left,right\n"


def test_llmfao_workers(votes: Any) -> None:
    text = LLMFAO + "0,8,97,98,58,tie,Airoboros L2 70B,Weaver 12k\n0,8,97,98,83,right,Airoboros L2 70B,Weaver 12k\n"
    data = votes(text, "crowd-comparisons.csv")
    assert data.comparisons.select("battle", "item", "rater", "outcome", "model_a", "model_b", "setting").rows() == [
        ("0.58", "8", "58", "tie", "Airoboros L2 70B", "Weaver 12k", "lab"),
        ("0.83", "8", "83", "b", "Airoboros L2 70B", "Weaver 12k", "lab"),
    ]
    assert data.runs.select("benchmark", "judge").row(0) == ("LLMFAO", None)
    assert data.comparisons["judge"].null_count() == 2


def test_llmfao_judges_are_named_by_the_file(votes: Any) -> None:
    text = "id,prompt,model_x,model_y,winner,left,right\n0,8,97,98,left,Airoboros L2 70B,Weaver 12k\n"
    data = votes(text, "gpt4-crowd-comparisons.csv")
    assert first(data)["judge"] == "gpt-4"
    assert first(data)["rater"] is None
    assert data.runs["judge"].item() == "gpt-4"
    assert "the judge, gpt-4, is taken from the file's name" in told(data)
    assert first(votes(text, "other.csv"))["judge"] is None


# Inclusion Arena

INCLUSION = {
    "battle_id": "b1",
    "event_id": "e1",
    "app": "joyland",
    "user_id": "u17",
    "turn": 5,
    "model_a": "m1",
    "model_b": "m2",
    "winner": "model_a",
    "tstamp": 1751328000.0,
    "phase": "proximity",
    "language": "en",
}


def test_an_inclusion_arena_vote(votes: Any) -> None:
    row = first(votes([INCLUSION]))
    expected = {
        "battle": "b1",
        "event": "e1",
        "event_size": 2,
        "app": "joyland",
        "rater": "u17",
        "turn": 5,
        "phase": "proximity",
        "timestamp": datetime(2025, 7, 1, tzinfo=UTC),
    }
    assert {name: row[name] for name in expected} == expected


def test_battles_of_one_turn_with_k_models_know_k(votes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three answers to one turn make three battles; they need not stand side by side in the file."""
    monkeypatch.setattr(typed_records, "_BLOCK_BYTES", 400)
    pairs = [("e1", "x", "y"), ("e2", "x", "y"), ("e1", "x", "z"), ("e3", "z", "z"), ("e1", "y", "z"), (None, "x", "y")]
    records = [
        {**INCLUSION, "battle_id": str(number), "event_id": event, "model_a": a, "model_b": b}
        for number, (event, a, b) in enumerate(pairs)
    ]
    data = votes(records)
    assert data.comparisons["event_size"].to_list() == [3, 2, 3, None, 3, None]
    assert votes([{**INCLUSION, "event_size": 4}]).comparisons["event_size"].to_list() == [4]


def test_ranks_within_an_event(votes: Any) -> None:
    row = first(votes([{**INCLUSION, "rank_a": 1, "rank_b": 3}]))
    assert (row["rank_a"], row["rank_b"]) == (1, 3)


# Ids


def test_columns_called_as_our_own_are_kept_beside_them(votes: Any) -> None:
    odd = {f"\x00{name}": "x" for name in ("place", "number", "winner")}
    table = votes([{"model_a": "m", "model_b": "n", "winner": "model_a", **odd}]).comparisons
    assert table.select("battle", "outcome", *(f"source_{name}" for name in odd)).rows() == [("0", "a", "x", "x", "x")]


@pytest.mark.parametrize("size", [1, 2, 5000])
def test_an_id_that_stands_twice_is_an_error(votes: Any, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(typed_records, "_BLOCK_BYTES", 200 * size)
    records = [{**INCLUSION, "battle_id": name} for name in ("b1", "b2", "b1")]
    with pytest.raises(UnreadableFileError, match=r"vote 'b1' appears twice \(record 2 is the second\)"):
        votes(records)


def test_votes_without_ids_are_numbered_through_all_batches(votes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_records, "_BLOCK_BYTES", 400)
    assert votes([BATTLE] * 5).comparisons["battle"].to_list() == ["0", "1", "2", "3", "4"]


def test_a_vote_that_lacks_its_id_is_numbered(votes: Any) -> None:
    records = [INCLUSION, {**INCLUSION, "battle_id": None}]
    assert votes(records).comparisons["battle"].to_list() == ["b1", "1"]


# Other columns


def test_further_columns_are_factors(votes: Any) -> None:
    text = "model_a,model_b,winner,len_a,len_b,share,topic,code,flag,status\nm,n,tie,10,12,0.5,x,012,True,done\n"
    data = votes(text, "votes.csv")
    row = first(data)
    expected = {
        "len_a": 10,
        "len_b": 12,
        "share": 0.5,
        "topic": "x",
        "code": "012",
        "flag": True,
        "source_status": "done",
        "status": "scored",
    }
    assert {name: row[name] for name in expected} == expected
    assert data.runs["benchmark"].item() == "arena"


def test_standard_columns_are_taken_where_they_fit(votes: Any) -> None:
    data = votes(
        [
            {**BATTLE, "preference": 0.75, "strength": "slight", "order": "a_first", "weight": 2},
            {**BATTLE, "preference": 7, "strength": "huge", "order": 2},
        ]
    )
    names = ("preference", "strength", "order", "weight", "source_preference", "source_strength", "source_order")
    assert data.comparisons.select(names).rows() == [
        (0.75, "slight", "a_first", 2.0, None, None, None),
        (None, None, None, None, 7, "huge", 2),
    ]


def test_texts_and_nested_values_are_left_out_and_told(votes: Any) -> None:
    data = votes([{**BATTLE, "essay": "x" * 501, "log": [1], "short": "y" * 500}])
    assert "columns with long texts or nested values are dropped: essay, log" in told(data)
    assert "short" in data.comparisons.columns
    assert "essay" not in data.comparisons.columns


def test_endless_columns_are_cut_off(votes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_rows, "MAX_FACTORS", 10)
    data = votes([{**BATTLE, f"x{number}": 1} for number in range(50)])
    assert sum(name.startswith("x") for name in data.comparisons.columns) <= 10


# Detection


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("model_a,model_b,winner\n", 0.85),
        ("model_a,model_b,win\n", 0.85),
        ("id,model_a,model_b,winner_model_a,winner_model_b,winner_tie\n", 0.85),
        ("prefix,suffix,model_a,model_b,acceptedIndex\n", 0.85),
        (LLMFAO, 0.8),
        (json.dumps([BATTLE]), 0.85),
        ("model_a,model_b\n", None),
        ("left,right,winner\n", None),
        ("item,model,score\n", None),
        (json.dumps(BATTLE), None),
    ],
)
def test_votes_are_known_by_their_columns(text: str, sure: float | None) -> None:
    match = LOADER.sniff(Head(path=Path("x"), size=len(text), data=text.encode()))
    assert (match.confidence if match else None) == sure


def test_a_vote_with_a_long_conversation_is_known_by_what_lies_in_the_head(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{**LMARENA, "conversation_a": [{"role": "user", "content": "x" * 200_000}]}]))
    assert LOADER.sniff(read_head(path)) is not None
    assert load(path).comparisons.height == 1


# Hostile files


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "holds no votes between two models"),
        ('[{"model_a": "m", "model_b": null, "winner": "tie"}]', "holds no votes"),
        ('[{"model_a": "m", "model_b": "n", "winner": "tie"}, 3]', "record 1 (counted from 0) is not a JSON object"),
        ('[{"model_a": "m", "model_b": "n", "winner": "tie"}', "The file is cut off"),
        (VOTES_CSV + "m,n\n", "line 2 has 2 cells, the header 3"),
        (VOTES_CSV, "holds no votes"),
    ],
)
def test_damaged_files_are_refused(votes: Any, content: str, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=r"votes\.\w+: ") as caught:
        votes(content)
    assert said in str(caught.value)


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame([BATTLE] * 5000).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UnreadableFileError, match="is not a Parquet file that can be read"):
        load(path)


@pytest.mark.parametrize(
    "cell",
    [
        "__import__('os').system('true')",
        "-" * 90_000 + "1",
        "(" * 90_000,
        "[" * 90_000,
        "1+" * 40_000 + "1",
        "{'a': " * 5_000,
        "'" * 3,
        "{'a': 1}" + " " * 200_000,
        "array([1])",
        "[1]",
        "nan",
        "",
    ],
)
def test_cells_that_are_no_objects_are_none(cell: str) -> None:
    assert structured(cell) is None


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('{"a": true, "b": null}', {"a": True, "b": None}),
        ("{'a': True, 'b': None, 'c': 'True story'}", {"a": True, "b": None, "c": "True story"}),
        ("{'it': \"it's\"}", {"it": "it's"}),
        (r"{'line': 'a\nb'}", {"line": "a\nb"}),
        ("{'n': array([1, 2]), 'o': array(['x'], dtype=object)}", {"n": [1, 2], "o": ["x"]}),
        ("{1: 2}", {1: 2}),
        ({"a": 1}, {"a": 1}),
        ({}, None),
        (None, None),
    ],
)
def test_cells_as_json_or_as_python_prints_them(cell: object, value: object) -> None:
    assert structured(cell) == value


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
            max_leaves=4,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_python_prints_is_read_back(value: dict[str, object]) -> None:
    assert structured(repr(value)) == value
    assert structured(json.dumps(value)) == value


def test_tags_of_strange_metadata() -> None:
    assert tags_of({"math": True, "code": False, "x": 3, "y_v1": {"deep": {"z": True}}}) == (["math"], {})
    assert [as_truth(value) for value in (1, "false", 0.0, 2, "x", [])] == [True, False, False, None, None, None]


# Real files


def test_real_llmfao_crowd(shared_data: Path) -> None:
    """8,931 votes of 124 workers on 59 models and 13 prompts, 38.9 % ties (tests/golden, bt_llmfao)."""
    data = read(shared_data / "llmfao" / "crowd-comparisons.csv")
    table = data.comparisons
    assert table.height == 8_931
    assert table["status"].unique().to_list() == ["scored"]
    assert Counter(table["outcome"]) == {"a": 2_911, "b": 2_549, "tie": 3_471}
    assert round(3_471 / 8_931, 3) == 0.389
    assert table["rater"].n_unique() == 124
    assert table["item"].n_unique() == 13
    assert len(set(table["model_a"]) | set(table["model_b"])) == 59
    assert data.runs.select("n_scored", "n_unscored").row(0) == (8_931, 0)


def test_real_llmfao_folder(shared_data: Path) -> None:
    """All five files of votes; the lists of models and prompts hold no votes and are passed over without a word."""
    data = read(shared_data / "llmfao")
    assert data.comparisons.height == 8_931 + 2 * 3_236 + 2 * 2_139
    assert data.runs.height == 5
    assert Counter(data.runs["judge"]) == {None: 1, "gpt-3": 2, "gpt-4": 2}
    assert told(data, "error") == ""


@pytest.mark.parametrize(
    "name", ["sample_100.text_removed.jsonl", "arena_human_preference_sample_100.text_removed.csv"]
)
def test_real_lmarena_sample(shared_data: Path, name: str) -> None:
    """100 votes, as nested JSON Lines and as a CSV file with Python-repr cells (winners counted in the raw text)."""
    folder = shared_data / "lmarena_140k_sample"
    records = [json.loads(line) for line in (folder / "sample_100.text_removed.jsonl").read_text().splitlines()]
    data = read(folder / name)
    table = data.comparisons
    assert table.height == len(records) == 100
    labels = {"model_a": "a", "model_b": "b"}
    assert table["outcome"].to_list() == [labels.get(record["winner"], record["winner"]) for record in records]
    assert table["assistant_tokens_a"].to_list() == [
        record["conv_metadata"]["sum_assistant_a_tokens"] for record in records
    ]
    assert table["bold_count_b"].to_list() == [
        sum(record["conv_metadata"]["bold_count_b"].values()) for record in records
    ]
    assert table["language"].to_list() == [record["language"] for record in records]
    assert table["is_code"].sum() == sum(record["is_code"] for record in records)
    assert ["math" in tags for tags in table["tags"]] == [
        record["category_tag"]["math_v0.1"]["math"] for record in records
    ]
    assert ["hard_prompt" in tags for tags in table["tags"]] == [
        sum(record["category_tag"]["criteria_v0.1"].values()) >= 6 for record in records
    ]
    assert data.problems == ()


def test_both_forms_of_the_real_sample_agree(shared_data: Path) -> None:
    folder = shared_data / "lmarena_140k_sample"
    one = load(folder / "sample_100.text_removed.jsonl").comparisons.drop("run")
    other = load(folder / "arena_human_preference_sample_100.text_removed.csv").comparisons.drop("run")
    assert one.equals(other.select(one.columns))


def test_a_duration_is_no_time_of_a_vote(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    frame = pl.DataFrame([BATTLE, BATTLE]).with_columns(pl.duration(seconds=pl.col("tstamp")).alias("tstamp"))
    frame.write_parquet(path)
    data = load(path)
    assert data.comparisons["timestamp"].null_count() == data.comparisons.height == 2


def test_units_of_times_are_told_in_the_order_of_the_file(votes: Any) -> None:
    mixed = [BATTLE | {"tstamp": stamp} for stamp in (1.6e15, 1.6e9, 1.6e15, 1.6e12)]
    for _ in range(9):
        assert "(microseconds: 2, seconds: 1, milliseconds: 1)" in told(votes(mixed))


@pytest.mark.parametrize("bad", ['{"model_a": "a", "mod', "[1, 2]", "no JSON at all"])
def test_one_bad_line_is_named_and_the_other_votes_are_read(bad: str, tmp_path: Path) -> None:
    lines = [json.dumps({"model_a": "a", "model_b": "b", "winner": ["model_a", "tie"][k % 2]}) for k in range(600)]
    path = tmp_path / "votes.jsonl"
    path.write_text("\n".join([*lines[:30], bad, *lines[30:]]) + "\n", encoding="utf-8")
    data = read(path)
    assert data.comparisons.height == 600
    (problem,) = (problem for problem in data.problems if problem.severity == "error")
    assert "1 of 601 rows cannot be read and are dropped" in problem.message
    assert "line 31" in problem.message
    path.write_text("\n".join([bad] * 20 + lines[:30]) + "\n", encoding="utf-8")
    with pytest.raises(InputError):
        read(path)


def test_a_row_of_text_that_does_not_fit_its_header_is_named(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("model_a,model_b,winner\n" + "a,b,model_a\n" * 40 + "a,b\n" + "a,b,tie\n" * 560, encoding="utf-8")
    data = read(path)
    assert data.comparisons.height == 600
    assert any("1 of 601 rows" in problem.message and "line 42" in problem.message for problem in data.problems)


@pytest.mark.parametrize("name", ["annotator", "annotator_id", "rater_id", "voter", "worker_id", "user", "username"])
def test_who_voted_is_called_as_raters_are(name: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(f"prompt_id,model_a,model_b,winner,{name}\n" + "p0,a,b,model_b,ann\n" * 3, encoding="utf-8")
    votes = read(path).comparisons
    assert set(votes["rater"]) == {"ann"}
    assert name not in votes.columns


def test_a_column_mapped_to_a_name_that_only_later_votes_have_is_meant(tmp_path: Path) -> None:
    """It ended in an error of the table library: two columns were called model_a."""
    votes = [{"left": "x", "model_b": "y", "winner": "model_a"} for _ in range(20_000)]
    path = tmp_path / "votes.jsonl"
    path.write_text("\n".join(map(json.dumps, [*votes, {**votes[0], "model_a": "z"}])))
    data = read(path, column_map=ColumnMap.from_options(["model_a=left", "model_b=model_b", "winner=winner"]))
    assert set(data.comparisons["model_a"]) == {"x"}
