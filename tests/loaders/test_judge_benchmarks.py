"""JudgeBench and LLMBar: the judge is what is tested, and one of the two swaps its second verdict back."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Match, Source, with_digest
from evalstats.loaders.formats.judgebench import FORMAT as JUDGEBENCH
from evalstats.loaders.formats.llmbar import FORMAT as LLMBAR
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told


def verdict(decision: object, model: str = "lab/judge-1") -> dict[str, Any]:
    return {"judgment": {"judge_model": model, "prompt": "..", "response": ".."}, "decision": decision}


PAIR: dict[str, Any] = {
    "pair_id": "p1",
    "original_id": 3,
    "source": "mmlu-pro-law",
    "question": "Which?",
    "response_model": "gpt-4o",
    "response_A": "one",
    "response_B": "two",
    "label": "A>B",
    "judge_name": "arena_hard",
    "judgments": [verdict("A>B"), verdict("B>A")],
}
BENCH_NAME = "dataset=judgebench,response_model=gpt-4o,judge_name=arena_hard,judge_model=lab_judge-1.jsonl"


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    def write(*records: object, name: str = BENCH_NAME) -> EvalData:
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, records)) + "\n")
        return read_source(JUDGEBENCH, with_digest(Source(path=path)))

    return write


def test_the_second_verdict_speaks_of_the_swapped_answers(bench: Any) -> None:
    data = bench(PAIR)
    columns = ("item", "variant", "metric", "score", "value_raw", "scenario", "response_model", "label")
    about = ("mmlu-pro-law", "gpt-4o", "A>B")
    assert data.outcomes.select(columns).rows() == [
        ("p1", "A first", "correct", 1.0, "A>B", *about),
        ("p1", "B first", "correct", 1.0, "B>A", *about),
        ("p1", "", "pair_correct", 1.0, None, *about),
    ]
    run = data.runs.row(0, named=True)
    assert (run["model"], run["system"]) == ("lab/judge-1", "lab/judge-1 (arena_hard)")
    assert (run["benchmark"], run["harness"]) == ("JudgeBench", "JudgeBench")
    assert data.metrics.filter(primary=True)["metric"].to_list() == ["pair_correct"]
    assert data.problems == ()


@pytest.mark.parametrize(
    ("first", "second", "games", "pair"),
    [
        ("A>B", "B>A", [1.0, 1.0], 1.0),
        ("A>B", "A=B", [1.0, 0.0], 1.0),
        ("A>B", "A>B", [1.0, 0.0], 0.0),
        ("A=B", "A=B", [0.0, 0.0], 0.0),
        ("B>A", "A>B", [0.0, 0.0], 0.0),
        ("A=B", "A>B", [0.0, 0.0], 0.0),
        ("B<A", "A<B", [1.0, 1.0], 1.0),
        ("A>B", None, [1.0, None], None),
        ("who knows", 7, [None, None], None),
        ("A>B", ["A>B"], [1.0, None], None),
    ],
)
def test_verdicts(bench: Any, first: object, second: object, games: list[float | None], pair: float | None) -> None:
    scores = bench({**PAIR, "judgments": [verdict(first), verdict(second)]}).outcomes["score"].to_list()
    assert scores == [*games, pair]


def test_a_judge_that_failed_is_an_error_and_no_verdict_is_unscored(bench: Any) -> None:
    data = bench(
        {**PAIR, "judgments": [None, verdict("B>A")]}, {**PAIR, "pair_id": "p2", "judgments": [verdict(None)] * 2}
    )
    assert data.outcomes.select("item", "metric", "status").rows() == [
        ("p1", "correct", "error"),
        ("p1", "correct", "scored"),
        ("p1", "pair_correct", "error"),
        ("p2", "correct", "unscored"),
        ("p2", "correct", "unscored"),
        ("p2", "pair_correct", "unscored"),
    ]
    assert "2 of 2 pairs have an order without a verdict" in told(data)
    assert (data.outcomes["status_reason"].is_null() == data.outcomes["score"].is_not_null()).all()


def test_one_order_only(bench: Any) -> None:
    data = bench({**PAIR, "judgments": [verdict("A>B")]})
    assert data.outcomes.select("variant", "metric", "score").rows() == [
        ("A first", "correct", 1.0),
        ("", "pair_correct", 1.0),
    ]
    assert "1 of 1 pairs were judged in one order only" in told(data)


def test_who_the_judge_is(bench: Any) -> None:
    silent = {**PAIR, "judgments": [{"judgment": "..", "decision": "A>B"}, None]}
    assert bench(silent).runs["model"].to_list() == ["lab_judge-1"]
    assert bench(silent, {**PAIR, "pair_id": "p2"}).runs["model"].to_list() == ["lab/judge-1"]
    data = bench({key: value for key, value in silent.items() if key != "judge_name"}, name="mine.jsonl")
    assert data.runs.select("model", "system").row(0) == ("mine", "mine")
    assert "it is called 'mine'" in told(data)


def test_bad_pairs_are_left_out_and_named(bench: Any) -> None:
    bad: list[Any] = [{**PAIR, "pair_id": None}, {**PAIR, "label": "B"}, {**PAIR, "judgments": {}}, "text", PAIR]
    data = bench(PAIR, *bad)
    assert data.outcomes.height == 3
    assert sorted(told(data, "error").split("\n"), key=lambda problem: problem[-1]) == [
        "1 of 6 pairs are dropped (no pair_id): line 2",
        "1 of 6 pairs are dropped (no label): line 3",
        "1 of 6 pairs are dropped (no judgments): line 4",
        "1 of 6 pairs are dropped (a bare text): line 5",
        "1 of 6 pairs are dropped (copies of earlier ones): line 6",
    ]
    with pytest.raises(UnreadableFileError, match="none of its pairs could be read"):
        bench(*bad[:4])


def result(first: object, second: object, **more: Any) -> dict[str, Any]:
    games = {"swap = False": first, "swap = True": second}
    return {**more, **{swap: {"completion": ["..", "stop"], "winner": winner} for swap, winner in games.items()}}


INSTANCE: dict[str, Any] = {
    "input": "Do.",
    "output_1": "done",
    "output_2": "no",
    "label": 1,
    "results": [result("1", "1")],
}
FOLDER = "Dataset/LLMBar/Adversarial/Manual/evaluators/GPT-4/CoT"


@pytest.fixture
def bar(tmp_path: Path) -> Any:
    def write(*records: object, folder: str = FOLDER, name: str = "result.json") -> EvalData:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(records))
        return read_source(LLMBAR, with_digest(Source(path=path)))

    return write


def test_the_second_verdict_is_swapped_back_already(bar: Any) -> None:
    data = bar(
        INSTANCE, {**INSTANCE, "input": "Do more.", "label": 2, "results": [["metrics", "stop"], result("2", "1")]}
    )
    assert data.outcomes.select("variant", "metric", "score", "label").rows() == [
        ("A first", "correct", 1.0, 1),
        ("B first", "correct", 1.0, 1),
        ("", "correct_both", 1.0, 1),
        ("", "consistent", 1.0, 1),
        ("A first", "correct", 1.0, 2),
        ("B first", "correct", 0.0, 2),
        ("", "correct_both", 0.0, 2),
        ("", "consistent", 0.0, 2),
    ]
    assert data.outcomes["task"].unique().to_list() == ["Adversarial/Manual"]
    assert data.runs.select("model", "system", "benchmark").row(0) == ("GPT-4", "GPT-4 (CoT)", "LLMBar")
    assert data.problems == ()


def test_the_verdict_after_a_synthesis_counts(bar: Any) -> None:
    data = bar({**INSTANCE, "results": [result("1", "2"), result("2", "2")]})
    assert data.outcomes.filter(metric="correct")["score"].to_list() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("game", "status", "reason"),
    [
        (
            {"winner": None, "completion": ["Both.", "stop"]},
            "unscored",
            "no verdict could be read out of the judge's answer",
        ),
        ({"winner": "3"}, "unscored", "no verdict could be read out of the judge's answer"),
        (
            {"winner": None, "completion": ["", "content management policy"]},
            "error",
            "the API gave no answer: content management policy",
        ),
        ("lost", "unscored", "no verdict could be read out of the judge's answer"),
    ],
)
def test_games_without_a_verdict(bar: Any, game: object, status: str, reason: str) -> None:
    data = bar({**INSTANCE, "results": [{**result("1", "1"), "swap = True": game}]})
    assert data.outcomes["status"].to_list() == ["scored", status, status, status]
    assert data.outcomes["status_reason"].to_list()[1] == reason
    assert "1 of 1 pairs have an order without a verdict" in told(data)


def test_ratings_that_could_not_be_read_give_no_verdict(bar: Any) -> None:
    """The harness writes output 1 for one order and output 2 for the other, which is half a point for nothing."""
    made_up = result("1", "2", score_1=["Eight", "stop"], score_2=["3", "stop"])
    data = bar({**INSTANCE, "results": [made_up]}, {**INSTANCE, "results": [{**made_up, "score_1": ["8", "stop"]}]})
    assert data.outcomes["status"].to_list() == ["unscored"] * 4 + ["scored"] * 4
    assert data.outcomes["value_raw"][0] == '["Eight", "3"]'


def test_the_item_is_a_hash_of_what_the_judge_saw(bar: Any) -> None:
    data = bar(INSTANCE, {**INSTANCE, "output_2": "other"}, INSTANCE)
    first, second, third = data.outcomes.filter(metric="consistent")["item"].to_list()
    assert first != second
    assert third == f"{first}#2"


def test_elsewhere_the_judge_is_not_known(bar: Any) -> None:
    data = bar(INSTANCE, folder="somewhere", name="mine.json")
    assert data.runs["model"].item() == "mine"
    assert "the judge is called 'mine'" in told(data)


def test_bad_instances_are_left_out_and_named(bar: Any) -> None:
    bad = [
        {**INSTANCE, "label": 3},
        {**INSTANCE, "input": None},
        {**INSTANCE, "results": ["x"]},
        {**INSTANCE, "results": 1},
    ]
    data = bar(INSTANCE, *bad)
    assert told(data, "error").split("\n") == [
        "1 of 5 pairs are dropped (no label 1 or 2): [1]",
        "1 of 5 pairs are dropped (no input or output): [2]",
        "2 of 5 pairs are dropped (no results): [3], [4]",
    ]


def sniff(content: object, name: str = "x.json") -> tuple[str, Match] | None:
    text = json.dumps(content) + "\n"
    found = sniffed(Head(path=Path(name), size=len(text), data=text.encode()))[0]
    return (found[0].name, found[1]) if found else None


def test_pairs_that_nobody_judged_and_statistics_are_passed_over() -> None:
    pair = {key: value for key, value in PAIR.items() if key not in {"judgments", "judge_name"}}
    instance = {key: value for key, value in INSTANCE.items() if key != "results"}
    statistics = {"correct_False": "1 / 1", "correct_True": "1 / 1", "kappa_agreement": 0.5}
    for content, name in ((pair, "x.jsonl"), ([instance], "dataset.json"), (statistics, "statistics.json")):
        found = sniff(content, name)
        assert found is not None
        assert found[1].skip


def test_two_judges_pair(tmp_path: Path) -> None:
    for judge, right in (("a", 3), ("b", 2)):
        records = [
            {
                **PAIR,
                "pair_id": f"p{k}",
                "judgments": [
                    verdict("A>B" if k % right else "B>A", judge),
                    verdict("B>A" if k % right else "A>B", judge),
                ],
            }
            for k in range(60)
        ]
        (tmp_path / f"dataset=x,judge_model={judge}.jsonl").write_text("\n".join(map(json.dumps, records)))
    compared = es.compare(es.read(tmp_path), "a", "b")
    assert compared.n_items == 60
    assert compared.estimate == pytest.approx(30 / 60 - 40 / 60)
