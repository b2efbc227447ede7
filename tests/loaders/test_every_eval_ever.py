"""Every Eval Ever: real logs, a tree with samples, every state, uncertainty, older schemas, and files that are not whole."""

import gzip
import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.loaders.base import read_head
from evalstats.loaders.every_eval_ever import LOADER
from evalstats.loaders.registry import plan

UUID = "0b5c6a52-7d0e-4f0b-9b61-3a8c3f2d9e10"
ACCURACY = {"metric_id": "accuracy", "metric_name": "accuracy", "metric_unit": "proportion", "lower_is_better": False}
ACCURACY |= {"score_type": "continuous", "min_score": 0.0, "max_score": 1.0}


def result(name: str = "law", score: object = 0.5, own_id: str | None = "law.acc", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"evaluation_name": name, "source_data": {"dataset_name": "bar-exam", "source_type": "url"}}
    found |= {"metric_config": more.pop("metric_config", ACCURACY)}
    found |= {"score_details": {"score": score, **more.pop("details", {})}}
    return {**({"evaluation_result_id": own_id} if own_id else {}), **found, **more}


def log(*results: dict[str, Any], model: str = "maker/one", **more: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"bar/{model.replace('/', '_')}/1750000000",
        "evaluation_timestamp": "1750000000",
        "retrieved_timestamp": "1750000001",
        "source_metadata": {
            "source_name": "Bar",
            "source_type": "evaluation_run",
            "evaluator_relationship": "third_party",
        },
        "eval_library": {"name": "inspect_ai", "version": "0.3.1"},
        "model_info": {"id": model, "name": model.rpartition("/")[2], "additional_details": {}},
        "evaluation_results": list(results),
        **more,
    }


def sample(item: object, score: object = 1.0, model: str = "maker/one", **more: Any) -> dict[str, Any]:
    text = more.pop("text", f"question {item}")
    return {
        "schema_version": "0.3.0",
        "evaluation_id": f"bar/{model.replace('/', '_')}/1750000000",
        "model_id": model,
        "evaluation_name": "law",
        "evaluation_result_id": "law.acc",
        "sample_id": item,
        "sample_hash": hashlib.sha256(text.encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": text, "reference": ["A"]},
        "output": {"raw": ["A"]},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == 1.0},
        **more,
    }


def tree(where: Path, content: object, samples: list[Any] | None = None, name: str = UUID) -> Path:
    """A log in the layout of the datastore, with its samples beside it."""
    folder = where / "data" / "bar" / "maker" / name
    folder.mkdir(parents=True)
    (folder / f"{name}.json").write_text(json.dumps(content, indent=2))
    if samples is not None:
        lines = [each if isinstance(each, str) else json.dumps(each) for each in samples]
        (folder / f"{name}_samples.jsonl").write_text("\n".join(lines) + "\n")
    return where


def test_real_logs(shared_data: Path) -> None:
    folder = shared_data / "every_eval_ever"
    data = es.read(folder / "community_evals_converter")
    assert data.runs["model"].to_list() == ["01-ai/yi-1.5-34b-chat"]
    assert data.aggregates.height == 15
    first = data.aggregates.row(0, named=True)
    assert (first["benchmark"], first["task"], first["metric"]) == ("mmlu-pro", "MMLU-Pro (overall)", "accuracy")
    assert (first["estimate"], first["unit"], first["std_error"]) == (0.5229, "proportion", None)
    old = es.read(folder / "98ea850e-7019-4728-a558-8b1819ec47c2.json").aggregates
    assert old.select("task", "estimate").rows() == [
        ("IFEval", 0.4486),
        ("BBH", 0.4224),
        ("MATH Level 5", 0.0249),
        ("GPQA", 0.2743),
        ("MUSR", 0.419),
        ("MMLU-PRO", 0.1946),
    ]


def test_a_real_tree_with_samples(shared_data: Path) -> None:
    data = es.read(shared_data / "every_eval_ever" / "skill_reference_conversion")
    (row,) = data.outcomes.to_dicts()
    assert (row["item"], row["trial"], row["metric"], row["score"]) == ("demo_0001", 0, "accuracy", 1.0)
    assert (row["task"], row["input_tokens"], row["subject"]) == ("demo-source.demo_bench", 12, "arithmetic")
    assert data.aggregates["estimate"].to_list() == [0.75]
    assert data.problems == ()


def test_uncertainty_is_taken_with_its_methods(tmp_path: Path) -> None:
    uncertainty = {
        "standard_error": {"value": 0.02, "method": "analytic"},
        "confidence_interval": {"lower": 0.46, "upper": 0.54, "confidence_level": 0.9, "method": "bootstrap"},
        "num_samples": 400,
    }
    fixed = {
        "standard_error": {"value": 0.0},
        "confidence_interval": {"lower": 0.5, "upper": 0.5, "confidence_level": 0.95},
    }
    percent = {"confidence_interval": {"lower": 0.4, "upper": 0.6, "confidence_level": 95}}
    bare = {"confidence_interval": {"lower": 0.4, "upper": 0.6}}
    results = [
        result(f"t{k}", own_id=None, details={"uncertainty": each})
        for k, each in enumerate([uncertainty, fixed, percent, bare])
    ]
    results.append(result("t4", 0.25, own_id=None, source_data={"dataset_name": "d", "samples_number": 30}))
    rows = es.read(tree(tmp_path, log(*results))).aggregates
    assert rows.select("std_error", "conf_low", "conf_high", "conf_level", "n").rows() == [
        (0.02, 0.46, 0.54, 0.9, 400),
        (None, None, None, None, None),
        (None, 0.4, 0.6, 0.95, None),
        (None, 0.4, 0.6, None, None),
        (None, None, None, None, 30),
    ]
    assert rows["method"][0] == "published; standard error: analytic; interval: bootstrap"
    assert rows["date"][0] == date(2025, 6, 15)
    assert rows["dataset"].to_list() == ["bar-exam"] * 4 + ["d"]


def test_settings_of_a_run(tmp_path: Path) -> None:
    judged = {**ACCURACY, "llm_scoring": {"judges": [{"model_info": {"id": "judge/x"}}], "input_prompt": "p"}}
    generation = {"generation_args": {"temperature": 0.7, "max_tokens": 100}}
    content = log(result(metric_config=judged, generation_config=generation))
    (run,) = es.read(tree(tmp_path, content)).runs.to_dicts()
    assert (run["model"], run["benchmark"], run["harness"], run["harness_version"]) == (
        "maker/one",
        "bar",
        "inspect_ai",
        "0.3.1",
    )
    assert (run["temperature"], run["judge"], run["timestamp"].year) == (0.7, "judge/x", 2025)
    config = json.loads(run["config"])
    assert config["generation_config"] == generation
    assert config["evaluation_id"] == "bar/maker_one/1750000000"


def test_variants_of_one_model_differ_in_the_evaluation_s_id(tmp_path: Path) -> None:
    for effort in ("high", "low"):
        tree(tmp_path, {**log(result()), "evaluation_id": f"bar/maker/one/{effort}/1750000000"}, name=effort)
    data = es.read(tmp_path)
    assert sorted(data.runs["system"]) == ["maker/one (high)", "maker/one (low)"]
    assert set(data.runs["model"]) == {"maker/one"}


def test_metrics_of_one_task_and_their_ranges(tmp_path: Path) -> None:
    unbounded = {"metric_name": "elo", "lower_is_better": True, "score_type": "continuous", "min_score": "-Infinity"}
    unbounded |= {"max_score": "Infinity"}
    steps = {"metric_kind": "grade", "lower_is_better": False, "score_type": "levels", "min_score": 1, "max_score": 5}
    nameless = {"evaluation_description": "Share of right answers", "score_type": "binary"}
    again = {**ACCURACY, "max_score": 100.0}
    results = [
        result(),
        result("law", 1200.5, "law.elo", metric_config=unbounded),
        result("law", 3, "g", metric_config=steps),
    ]
    results += [result("law", 0.4, "n", metric_config=nameless), result("tax", 40.0, "tax.acc", metric_config=again)]
    results += [result("law", 0.3, "second")]
    data = es.read(tree(tmp_path, log(*results)))
    found = data.metrics.select("metric", "kind", "low", "high", "higher_is_better").rows()
    assert sorted(found) == [
        ("accuracy", "continuous", None, None, True),
        ("accuracy/second", "bounded", 0.0, 1.0, True),
        ("elo", "continuous", None, None, False),
        ("grade", "ordinal", 1.0, 5.0, True),
        ("score", "binary", None, None, None),
    ]


def test_states_and_trials_of_samples(tmp_path: Path) -> None:
    failed = sample("q2", 0.0, error="APIError: 500\nat line 3")
    samples = [
        sample(
            "q1", 1.0, performance={"latency_ms": 1500}, evaluation={"score": 1.0, "is_correct": True, "num_turns": 2}
        ),
        failed,
        sample("q3", None),
        sample("q4", -1),
        sample("q5", "0.5"),
        sample("q6", "n/a"),
        sample("q1", 0.0),
        sample("q7", 1.0, metadata={"epoch": "2", "subject": "torts", "score": "9"}),
        sample("q7", 0.0, metadata={"epoch": "1"}),
        sample("q7", 0.0, metadata={"epoch": "1"}),
        sample("q8", 1.0, text="other"),
        sample("q8", 0.0, text="still other"),
    ]
    data = es.read(tree(tmp_path, log(result()), samples))
    rows = data.outcomes.select("item", "trial", "score", "status", "status_reason", "value_raw").rows()
    assert rows[:10] == [
        ("q1", 0, 1.0, "scored", None, None),
        ("q2", 0, None, "error", "APIError: 500", "0.0"),
        ("q3", 0, None, "unscored", "there is no score", None),
        ("q4", 0, None, "unscored", "the score lies outside the declared range", "-1"),
        ("q5", 0, 0.5, "scored", None, "0.5"),
        ("q6", 0, None, "unscored", "the score is no number", '"n/a"'),
        ("q1", 1, 0.0, "scored", None, None),
        ("q7", 1, 1.0, "scored", None, None),
        ("q7", 0, 0.0, "scored", None, None),
        ("q8", 0, 1.0, "scored", None, None),
    ]
    assert rows[10][0] == "q8~" + hashlib.sha256(b"still other").hexdigest()[:8]
    assert len(rows) == 11
    assert data.outcomes.select("n_turns", "latency_s").row(0) == (2, 1.5)
    assert data.outcomes["subject"].drop_nulls().to_list() == ["torts"]
    (run,) = data.runs.to_dicts()
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (7, 1, 3)
    told = " | ".join(problem.message for problem in data.problems)
    assert "1 samples repeat an epoch" in told
    assert "1 scores lie outside the declared range" in told
    assert "1 samples have the id of another sample" in told


def test_several_metrics_of_a_sample_are_several_rows(tmp_path: Path) -> None:
    f1 = {**ACCURACY, "metric_name": "f1"}
    samples = [
        sample("q1"),
        sample("q1", 0.25, evaluation_result_id="law.f1"),
        sample("q1", 0.1, evaluation_result_id="x:y"),
    ]
    data = es.read(tree(tmp_path, log(result(), result("law", 0.3, "law.f1", metric_config=f1)), samples))
    assert not data.metrics["primary"].any()
    assert data.outcomes.select("metric", "trial", "score").rows() == [
        ("accuracy", 0, 1.0),
        ("f1", 0, 0.25),
        ("x", 0, 0.1),
    ]
    assert any("1 samples belong to no result" in problem.message for problem in data.problems)


def test_samples_alone_are_read_and_say_what_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / f"{UUID}_samples.jsonl"
    old = sample("q2", 0.0, "maker/two")
    del old["evaluation_result_id"]
    path.write_text("\n".join(map(json.dumps, [sample("q1"), old])))
    data = es.read(path)
    assert data.outcomes.select("model", "task", "metric", "score").rows() == [
        ("maker/one", "law", "law.acc", 1.0),
        ("maker/two", "law", "score", 0.0),
    ]
    assert data.runs.height == 2
    assert "samples without their log" in data.problems[0].message


def test_two_models_pair_up_and_other_questions_are_refused(tmp_path: Path) -> None:
    for model, word in (("one", ""), ("two", ""), ("three", "another ")):
        samples = [
            sample(k, float((k + len(model)) % 3 == 0), f"maker/{model}", text=f"{word}question {k}") for k in range(40)
        ]
        tree(tmp_path, log(result(), model=f"maker/{model}"), samples, name=model)
    data = es.read(tmp_path)
    assert es.compare(data, "maker/one", "maker/two").n_items == 40
    assert data.metrics["kind"].to_list() == ["binary"]
    assert es.compare(data, "maker/one", "maker/three").verdict == "invalid"


def test_a_document_s_hash_counts_where_the_prompt_s_would_not(tmp_path: Path) -> None:
    samples = [sample("q1", text="<chat> q", metadata={"doc_hash": "d" * 40}), sample("q2", sample_hash=None)]
    rows = es.read(tree(tmp_path, log(result()), samples)).outcomes
    assert rows["prompt_hash"][0] == "d" * 16
    assert len(rows["prompt_hash"][1]) == 16


def test_what_the_log_says_of_its_samples_is_checked(tmp_path: Path) -> None:
    details = {"file_path": "x_samples.jsonl", "hash_algorithm": "sha256", "checksum": "0", "total_rows": 5}
    data = es.read(tree(tmp_path / "a", log(result(), detailed_evaluation_results=details), [sample("q1")]))
    told = " ".join(problem.message for problem in data.problems)
    assert "counts 5 samples, the file beside it holds 1" in told
    assert "their checksum differs" in told
    alone = es.read(tree(tmp_path / "b", log(result(), detailed_evaluation_results=details)))
    assert "the log names x_samples.jsonl; only its published numbers are read" in alone.problems[0].message


def test_samples_of_another_log_are_runs_of_their_own(tmp_path: Path) -> None:
    data = es.read(tree(tmp_path, log(result()), [sample("q1"), sample("q1", 0.0, "maker/two")]))
    assert sorted(data.runs["model"]) == ["maker/one", "maker/two"]


def test_samples_inside_a_log(tmp_path: Path) -> None:
    inside = [{"sample_id": "q1", "evaluation": {"score": 1}}, {"sample_id": "q2", "response": "A"}]
    inside += [{"sample_id": "q3", "error": "timeout", "\ud83d": 1}]
    data = es.read(tree(tmp_path, log(result(), detailed_evaluation_results_per_samples=inside)))
    assert data.outcomes.select("item", "task", "metric", "status").rows() == [
        ("q1", "law", "accuracy", "scored"),
        ("q3", "law", "accuracy", "error"),
    ]
    assert any("1 samples inside the log have neither" in problem.message for problem in data.problems)


def test_lists_and_lines_of_logs_and_packed_ones(tmp_path: Path) -> None:
    logs = [
        log(result(), model="m/a"),
        log(result(), model="m/b"),
        log(result(), model="m/b"),
        {"evaluation_results": 3},
    ]
    (tmp_path / "logs.jsonl").write_text("\n".join(map(json.dumps, logs)))
    (tmp_path / "more.json.gz").write_bytes(gzip.compress(json.dumps([log(result(), model="m/c")]).encode()))
    data = es.read(tmp_path)
    assert sorted(data.runs["model"]) == ["m/a", "m/b", "m/c"]
    lost = [problem.message for problem in data.problems if problem.severity == "error"]
    assert lost == [
        "1 of 4 logs are dropped (an evaluation_id that appears above): line 3",
        "1 of 4 logs are dropped (no list evaluation_results): line 4",
    ]


def test_bad_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    samples = [sample("q1"), '{"sample_id": "q2", "eval', "[1]", sample(None), sample("q3", model_id=None)]
    data = es.read(tree(tmp_path, log(result()), samples))
    assert data.outcomes["item"].to_list() == ["q1"]
    told = [problem.message for problem in data.problems if problem.severity == "error"]
    assert told == [
        "1 of 5 samples are dropped (no JSON, or cut off): line 2",
        "1 of 5 samples are dropped (no JSON object): line 3",
        "2 of 5 samples are dropped (no sample_id, evaluation_name or model_id): line 4, line 5",
    ]


def test_a_score_outside_its_range_keeps_the_number(tmp_path: Path) -> None:
    data = es.read(tree(tmp_path, log(result(score=54.0), result("tax", "high"), result("art", None))))
    assert data.aggregates["estimate"].to_list() == [54.0]
    assert data.metrics["high"].to_list() == [None]
    told = " | ".join(problem.message for problem in data.problems)
    assert "accuracy of 1 models could not be read" in told


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps(log(model="")), "holds no log with model_info.id"),
        (json.dumps(log(result()))[:-40], "is not JSON, or is cut off"),
        (json.dumps([{"evaluation_results": 1, "evaluation_id": "x"}]), "holds no log"),
    ],
)
def test_what_is_no_log_is_refused_in_words(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(content)
    with pytest.raises(InputError, match=said):
        es.read(path, format="every-eval-ever")


def test_an_index_is_passed_over_and_other_files_are_left_alone(tmp_path: Path) -> None:
    index = {"object_path": "flat/x.json", "object_uuid": UUID, "record_type": "aggregate", "sha256": "0"}
    (tmp_path / "aggregate.jsonl").write_text(json.dumps(index))
    assert plan([tmp_path]) == ([], [])
    for k, content in enumerate(
        [{"results": []}, {"sample_id": 1, "score": 2}, {"evaluation_id": "x", "model_id": "y"}]
    ):
        path = tmp_path / f"{k}.json"
        path.write_text(json.dumps(content))
        assert LOADER.sniff(read_head(path)) is None
