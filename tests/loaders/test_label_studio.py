"""Label Studio's exports: results are ratings and votes, annotators raters, predictions judges."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats import label_studio, label_studio_rows
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told


def result(name: str, **value: Any) -> dict[str, Any]:
    return {"id": "r", "from_name": name, "to_name": "text", "type": "choices", "value": value}


def annotation(who: Any, *results: Any, at: str = "2026-01-01T00:00:00Z", **changes: Any) -> dict[str, Any]:
    known = {"id": 1, "completed_by": who, "result": [*results], "was_cancelled": False, "ground_truth": False}
    return {**known, "created_at": at, "updated_at": at, **changes}


def task(number: int, *annotations: Any, **changes: Any) -> dict[str, Any]:
    known = {"id": number, "annotations": [*annotations], "predictions": [], "data": {"text": "Hello"}, "project": 1}
    return {**known, "total_annotations": len(annotations), **changes}


TASKS = [
    task(
        7,
        annotation(3, result("tone", choices=["good"]), result("stars", rating=4), result("note", text=["well"])),
        annotation({"id": 4, "email": "b@x.org"}, result("tone", choices=["bad"])),
        predictions=[{"id": 9, "model_version": "gpt", "result": [result("tone", choices=["good"])], "score": 0.9}],
    ),
    task(8, annotation(3, result("tone", choices=["good"])), data={"text": "Bye", "model": "m1"}),
]
# As JSON_MIN has them: data, id, results, and who gave them.
ROW: dict[str, Any] = {
    "text": "Hello",
    "id": 7,
    "tone": "good",
    "stars": [{"rating": 4}],
    "annotator": 3,
    "annotation_id": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
    "lead_time": 5.5,
}


def row(number: int, annotator: int, tone: str) -> dict[str, Any]:
    return {**ROW, "id": number, "annotator": annotator, "tone": tone, "annotation_id": 10 * number + annotator}


def as_csv(rows: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, sorted(rows[0]), quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows(
        {name: json.dumps(cell) if isinstance(cell, list) else cell for name, cell in each.items()} for each in rows
    )
    return stream.getvalue()


@pytest.fixture
def exported(tmp_path: Path) -> Any:
    def write(*tasks: object, rows: bool = False, text: str = "") -> EvalData:
        path = tmp_path / ("project.csv" if text else "project.json")
        path.write_text(text or json.dumps(tasks))
        return read_source((label_studio_rows if rows else label_studio).FORMAT, with_digest(Source(path=path)))

    return write


def ratings(data: EvalData) -> list[tuple[object, ...]]:
    return data.ratings.select("item", "criterion", "rater", "value", "label").rows()


def test_results_are_ratings(exported: Any) -> None:
    data = exported(*TASKS)
    assert data.ratings.select("item", "criterion", "rater", "rater_kind", "value", "label", "model").rows() == [
        ("7", "tone", "gpt", "judge", None, "good", None),
        ("7", "tone", "3", "human", None, "good", None),
        ("7", "stars", "3", "human", 4.0, None, None),
        ("7", "tone", "b@x.org", "human", None, "bad", None),
        ("8", "tone", "3", "human", None, "good", "m1"),
    ]
    assert data.ratings["timestamp"][1].year == 2026
    run = data.runs.row(0, named=True)
    assert (data.runs.height, run["model"], run["benchmark"]) == (1, None, "Label Studio")
    assert told(data) == "1 answers are texts, regions or rankings, and no ratings"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"choices": ["b", "a"]}, (None, "a, b")),
        ({"number": 3}, (3.0, None)),
        ({"rating": True}, (1.0, None)),
        ({"taxonomy": [["Food", "Fruit"]]}, (None, "Food / Fruit")),
        ({"taxonomy": [["B"], ["A", "C"]]}, (None, "A / C, B")),
        ({"choices": []}, None),
        ({"choices": "x"}, None),
        ({"rating": float("nan")}, None),
        ({"start": 1, "end": 5, "labels": ["PER"]}, None),
        ({"text": ["a text"]}, None),
    ],
)
def test_values(exported: Any, value: dict[str, Any], expected: tuple[float | None, str | None] | None) -> None:
    data = exported(task(1, annotation(1, result("other", choices=["x"]), result("c", **value))))
    assert [each[3:] for each in ratings(data)[1:]] == ([] if expected is None else [expected])


def test_skipped_annotations_and_parts_of_an_item_are_no_ratings(exported: Any) -> None:
    part = result("tone", choices=["x"]) | {"parentID": "r2"}
    data = exported(
        *TASKS, task(9, annotation(3, result("tone", choices=["x"]), was_cancelled=True), annotation(4, part))
    )
    assert data.ratings.filter(item="9").height == 0
    assert "1 annotations were skipped" in told(data)


def test_the_latest_of_two_annotations_counts(exported: Any) -> None:
    late = annotation(3, result("tone", choices=["bad"]), at="2026-02-01T00:00:00Z")
    data = exported(task(1, late, annotation(3, result("tone", choices=["good"]))))
    assert ratings(data) == [("1", "tone", "3", None, "bad")]
    assert "1 ratings were given again" in told(data)


def test_a_question_that_is_answered_in_writing_is_none(exported: Any) -> None:
    data = exported(
        *TASKS,
        task(1, annotation(1, result("why", choices=["short"])), annotation(2, result("why", choices=["l" * 101]))),
    )
    assert "why" not in data.ratings["criterion"]


def test_pairwise_results_are_votes(exported: Any) -> None:
    data = exported(
        task(1, annotation(3, result("pw", selected="left")), data={"model_a": "x", "model_b": "y"}),
        task(2, annotation(3, result("pw", selected="right"))),
        task(3, annotation(3, result("pw", selected="none"))),
    )
    assert data.comparisons.select("item", "model_a", "model_b", "outcome", "status", "rater").rows() == [
        ("1", "x", "y", "a", "scored", "3"),
        ("2", "left", "right", "b", "scored", "3"),
        ("3", "left", "right", None, "unscored", "3"),
    ]
    assert "2 votes are of the left answer against the right" in told(data)


def test_a_judge_is_held_against_people(exported: Any) -> None:
    words = ["good", "bad"]
    tasks = [
        task(
            n,
            annotation(1, result("tone", choices=[words[n % 2]])),
            annotation(2, result("tone", choices=[words[n % 2]])),
            predictions=[{"model_version": "gpt", "result": [result("tone", choices=[words[n % 2 if n % 5 else 0]])]}],
        )
        for n in range(40)
    ]
    report = es.judges(exported(*tasks))
    assert (report.n_units, report.criterion) == (40, "tone")


def test_ratings_are_no_scores_of_models(exported: Any) -> None:
    with pytest.raises(
        es.EvalStatsError, match="the files hold 5 ratings; ask how well raters agree with `evalstats judges`"
    ):
        es.score(exported(*TASKS))


@pytest.mark.parametrize("as_text", [False, True])
def test_a_row_an_annotation(exported: Any, as_text: bool) -> None:
    rows = [row(7, 3, "good"), row(7, 4, "bad"), row(8, 3, "good")]
    data = exported(*rows, rows=True, text=as_csv(rows) if as_text else "")
    assert sorted(ratings(data), key=str) == [
        ("7", "stars", "3", 4.0, None),
        ("7", "stars", "4", 4.0, None),
        ("7", "tone", "3", None, "good"),
        ("7", "tone", "4", None, "bad"),
        ("8", "stars", "3", 4.0, None),
        ("8", "tone", "3", None, "good"),
    ]


def test_rows_that_do_not_tell_results_from_data_are_refused(exported: Any) -> None:
    plain = [{name: cell for name, cell in row(n, 3, "good").items() if name != "stars"} for n in (1, 2)]
    assert [each[1] for each in ratings(exported(*plain, rows=True))] == ["tone", "tone"]
    with pytest.raises(es.EvalStatsError, match="no task was annotated twice; export the project as JSON"):
        exported(rows=True, text=as_csv(plain))


def test_bad_tasks_are_left_out_and_named(exported: Any) -> None:
    data = exported(*TASKS, 3, {"data": {}}, task(1) | {"id": None})
    assert told(data, "error").split("\n") == [
        "1 of 5 tasks are dropped (no JSON object): [2]",
        "2 of 5 tasks are dropped (no id): [3], [4]",
    ]


def test_detection(tmp_path: Path) -> None:
    old = {name: TASKS[0][name] for name in ("id", "data")} | {"completions": TASKS[0]["annotations"]}
    for content, name in (
        (TASKS, "label-studio"),
        ([old], "label-studio"),
        ([ROW], "label-studio-rows"),
        ([{"id": 1, "data": {}, "annotations": []}], None),
    ):
        path = tmp_path / "x.json"
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert (found and found[0].name) == name
