"""MT-bench's ratings of single answers: -1 is no rating, turns are variants, the judge is a list."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Source, with_digest
from evalstats.loaders.formats.mt_bench_single import FORMAT
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

RECORD: dict[str, Any] = {
    "question_id": 81,
    "model": "my-model",
    "judge": ["gpt-4", "single-v1"],
    "user_prompt": "[Question] ..",
    "judgment": "Good. Rating: [[8]]",
    "score": 8,
    "turn": 1,
    "tstamp": 1718591557.5,
}


def rated(**changes: Any) -> dict[str, Any]:
    return {**RECORD, **changes}


@pytest.fixture
def judged(tmp_path: Path) -> Any:
    def write(*records: object, name: str = "gpt-4_single.jsonl") -> EvalData:
        path = tmp_path / name
        path.write_text("\n".join(text if isinstance(text, str) else json.dumps(text) for text in records))
        return read_source(FORMAT, with_digest(Source(path=path)))

    return write


def test_a_judgement(judged: Any) -> None:
    data = judged(RECORD, rated(turn=2, judge=["gpt-4", "single-v1-multi-turn"], score=6.5))
    columns = ("item", "variant", "trial", "metric", "score", "judge", "judge_template", "model", "locator")
    assert data.outcomes.select(columns).rows() == [
        ("81", "turn 1", 0, "score", 8.0, "gpt-4", "single-v1", "my-model", "line 1"),
        ("81", "turn 2", 0, "score", 6.5, "gpt-4", "single-v1-multi-turn", "my-model", "line 2"),
    ]
    run = data.runs.row(0, named=True)
    assert (run["model"], run["benchmark"], run["harness"], run["judge"]) == (
        "my-model",
        "MT-bench",
        "FastChat",
        "gpt-4",
    )
    assert data.metrics.select("low", "high", "kind", "higher_is_better").row(0) == (1.0, 10.0, "bounded", True)
    assert data.outcomes["timestamp"][0].year == 2024
    assert data.problems == ()


@pytest.mark.parametrize(
    ("changes", "status", "raw"),
    [
        ({"score": -1}, "unscored", "-1"),
        ({"score": -1.0}, "unscored", "-1.0"),
        ({"score": None}, "unscored", None),
        ({"score": "high"}, "unscored", '"high"'),
        ({"score": True}, "unscored", "true"),
        ({"score": 0}, "unscored", "0"),
        ({"score": 11}, "unscored", "11"),
        ({"score": float("nan")}, "unscored", "NaN"),
        ({"score": -1, "judgment": "$ERROR$"}, "error", "-1"),
        ({"score": "7"}, "scored", '"7"'),
        ({"score": 10}, "scored", None),
    ],
)
def test_states(judged: Any, changes: dict[str, Any], status: str, raw: str | None) -> None:
    row = judged(rated(**changes)).outcomes.row(0, named=True)
    assert (row["status"], row["value_raw"]) == (status, raw)
    assert (row["score"] is None) == (status != "scored")
    assert (row["status_reason"] is None) == (status == "scored")


def test_what_has_no_rating_is_told(judged: Any) -> None:
    data = judged(RECORD, rated(question_id=82, score=-1), rated(question_id=83, score=-1, judgment="$ERROR$"))
    assert "1 of 3 judgements hold no rating" in told(data)
    assert "in 1 of 3 judgements the request to the judge failed" in told(data)
    assert data.runs.select("n_scored", "n_unscored", "n_error").row(0) == (1, 1, 1)


def test_all_models_stand_in_one_file_and_several_judges_do_not_name_a_run(judged: Any) -> None:
    data = judged(RECORD, rated(model="other"), rated(model="other", judge=["claude", "single-v1"]))
    assert data.runs.select("model", "judge").rows() == [("my-model", "gpt-4"), ("other", None)]
    assert data.outcomes["judge"].to_list() == ["gpt-4", "gpt-4", "claude"]


@pytest.mark.parametrize(
    ("judge", "name", "template"),
    [("gpt-4", "gpt-4", None), ([], None, None), (None, None, None), ([None], None, None)],
)
def test_other_judges(judged: Any, judge: object, name: str | None, template: str | None) -> None:
    row = judged(rated(judge=judge)).outcomes.row(0, named=True)
    assert (row["judge"], row["judge_template"]) == (name, template)


@pytest.mark.parametrize("turn", [None, 2**63, 1e19, 1.5, "first"])
def test_a_turn_that_is_no_count_is_none(judged: Any, turn: object) -> None:
    assert judged(rated(turn=turn)).outcomes.select("variant", "score").rows() == [("", 8.0)]


def test_a_judgement_made_again_is_a_trial_and_a_copy_counts_once(judged: Any) -> None:
    data = judged(RECORD, rated(score=6, tstamp=1718591999.0), RECORD)
    assert data.outcomes.select("trial", "score").rows() == [(0, 8.0), (1, 6.0)]
    assert "1 of 3 judgements judge an answer again" in told(data)
    assert told(data, "error") == "1 of 3 judgements are dropped (copies of earlier ones): line 3"


def test_bad_lines_are_left_out_and_named(judged: Any) -> None:
    data = judged(
        RECORD, '{"question_id": 82, "mod', "[1]", '"text"', rated(question_id=None), rated(model=[]), "", RECORD
    )
    assert data.outcomes.height == 1
    assert told(data, "error").split("\n") == [
        "1 of 7 judgements are dropped (no JSON, or cut off): line 2",
        "1 of 7 judgements are dropped (no JSON object): line 3",
        "1 of 7 judgements are dropped (a bare text): line 4",
        "1 of 7 judgements are dropped (no question_id): line 5",
        "1 of 7 judgements are dropped (no model): line 6",
        "1 of 7 judgements are dropped (copies of earlier ones): line 8",
    ]


def test_a_file_without_judgements_is_refused(judged: Any) -> None:
    with pytest.raises(
        UnreadableFileError, match=r"none of its judgements could be read; 1 of 1 .* \(no model\): line 1"
    ):
        judged(rated(model=None))
    with pytest.raises(UnreadableFileError, match="it holds none at all"):
        judged([], name="x.json")


def test_a_list_is_read_too(judged: Any) -> None:
    data = judged([RECORD, 3, rated(turn=2)], name="single.json")
    assert data.outcomes["locator"].to_list() == ["[0]", "[2]"]
    assert told(data, "error") == "1 of 3 judgements are dropped (no JSON object): [1]"


def test_two_files_of_two_models_pair(tmp_path: Path) -> None:
    for model, better in (("a", 0), ("b", 1)):
        records = [
            rated(question_id=q, model=model, turn=turn, score=min(10, 3 + q % 5 + better + turn))
            for q in range(81, 121)
            for turn in (1, 2)
        ]
        (tmp_path / f"{model}_single.jsonl").write_text("\n".join(map(json.dumps, records)))
    result = es.compare(es.read(tmp_path), "a", "b")
    assert (result.n_items, result.n_clusters) == (80, 40)
    assert result.estimate == pytest.approx(1.0)


def test_detection() -> None:
    def name_of(record: dict[str, Any]) -> str | None:
        text = json.dumps(record) + "\n"
        found = sniffed(Head(path=Path("x.jsonl"), size=len(text), data=text.encode()))[0]
        return found[0].name if found else None

    assert name_of(RECORD) == "mt-bench-single"
    pair = {
        "question_id": 81,
        "model_1": "a",
        "model_2": "b",
        "g1_winner": "tie",
        "g2_winner": "tie",
        "judge": ["j", "t"],
    }
    assert name_of({**pair, "turn": 1}) == "mt-bench"
    stripped = {key: value for key, value in RECORD.items() if key not in {"judgment", "user_prompt"}}
    assert name_of(stripped) == "mt-bench-single"
    assert name_of({**stripped, "judge": "gpt-4"}) == "table"
    assert name_of({"question_id": "1", "model": "m", "judge": "j", "games": []}) == "arena-hard"
