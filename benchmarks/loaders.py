"""Speed of every loader on one large file of its format, in MB a second of CPU, beside a bare parse of the same file.

The bare parse of a declared format or a protocol is `msgspec` into its typed records (of an Inspect archive after `zipfile`), of
any other `json` (the whole document, or line by line), Polars for CSV and Parquet, or YAML's C loader.
`python -m benchmarks.loaders` takes the names of formats, `--mb` the size.
"""

import argparse
import csv
import hashlib
import io
import json
import random
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import msgspec
import polars as pl

Row = dict[str, Any]

DEFAULT_MB = 20
_WORDS = [
    "the",
    "a",
    "of",
    "to",
    "is",
    "in",
    "that",
    "model",
    "answer",
    "number",
    "question",
    "because",
    "total",
    "first",
]
_RNG = random.Random(0)  # noqa: S311 - text to fill a file
_TEXTS = [" ".join(_RNG.choices(_WORDS, k=20_000))[: 1 << 16] for _ in range(8)]


def _text(i: int, chars: int) -> str:
    """Return a text that differs from item to item."""
    start = (i * 7919) % ((1 << 16) - chars)
    return f"{i} {_TEXTS[i % len(_TEXTS)][start : start + chars]}"


def _id(i: int) -> str:
    return hashlib.sha256(str(i).encode()).hexdigest()[:32]


def _mmlu_pro(i: int) -> Row:
    options = [_text(i + k, 25) for k in range(10)]
    known = {"question_id": i, "question": _text(i, 200), "options": options, "answer": "B", "answer_index": 1}
    more = {"cot_content": "", "category": "law", "src": "ori_mmlu-law", "pred": "ABC"[i % 3]}
    return {**known, **more, "model_outputs": _text(i, 900)}


def _mt_bench(i: int) -> Row:
    known = {
        "question_id": i // 20,
        "model": f"m{i % 20}",
        "judge": ["gpt-4", "single-v1"],
        "user_prompt": _text(i, 1500),
    }
    return {**known, "judgment": _text(i, 600), "score": 1 + i % 10, "turn": 1, "tstamp": 1.7e9 + i}


def _langsmith(i: int) -> Row:
    known = {"inputs.question": _text(i, 150), "outputs.answer": _text(i + 1, 300), "reference.answer": _text(i, 60)}
    scores = {"feedback.correctness": i % 2, "feedback.tone": 0.5}
    return {**known, "error": None, **scores, "execution_time": 0.5, "example_id": _id(i), "id": _id(i + 1)}


def _braintrust(i: int) -> Row:
    known = {"id": f"s{i}", "span_id": f"s{i}", "root_span_id": f"s{i}", "is_root": True, "experiment_id": "e"}
    text = {"input": {"question": _text(i, 150)}, "expected": _text(i, 60), "output": _text(i + 1, 300)}
    metrics = {"start": 1.7e9, "end": 1.7e9 + 2, "prompt_tokens": 80, "completion_tokens": 90}
    scores = {"Factuality": 0.6, "Tone": 1}
    more = {"metadata": {"model": "m1", "category": "abc"[i % 3]}, "metrics": metrics, "error": None, "tags": None}
    return {
        **known,
        **text,
        "scores": scores,
        **more,
        "created": "2026-01-01T00:00:00Z",
        "span_attributes": {"name": "eval"},
    }


def _ragas(i: int) -> Row:
    contexts = str([_text(i + k, 400) for k in range(3)])
    known = {"user_input": _text(i, 100), "retrieved_contexts": contexts, "response": _text(i, 300)}
    return {**known, "reference": _text(i, 150), "faithfulness": 0.5, "answer_relevancy": 0.75, "context_recall": 1.0}


def _openai(i: int) -> Row:
    data = {
        "correct": i % 2 == 0,
        "expected": _text(i, 40),
        "picked": _text(i, 40),
        "sampled": _text(i, 200),
        "options": [],
    }
    about = {"run_id": "2601010000ABCD", "event_id": i, "sample_id": f"sums.dev.{i}", "type": "match", "data": data}
    return {**about, "created_by": "", "created_at": "2026-01-01 00:00:01.000000+00:00"}


def _promptfoo(i: int) -> Row:
    graded = {"pass": True, "score": 1, "reason": "All assertions passed", "componentResults": [], "namedScores": {}}
    test = {"vars": {"q": _text(i, 150)}, "assert": [{"type": "contains", "value": "4"}], "metadata": {}}
    known = {
        "promptIdx": 0,
        "testIdx": i,
        "testCase": test,
        "promptId": "p",
        "provider": {"id": "openai:m", "label": ""},
    }
    more = {"prompt": {"raw": _text(i, 200), "label": "p"}, "vars": {"q": _text(i, 150)}, "failureReason": 0}
    said = {"response": {"output": _text(i, 400), "tokenUsage": {"prompt": 8, "completion": 9}}, "latencyMs": 12}
    return {**known, **more, **said, "success": True, "score": 1, "namedScores": {"tone": 1}, "gradingResult": graded}


def _deepeval(i: int) -> Row:
    metric = {"name": "Faithfulness", "threshold": 0.5, "success": True, "score": 0.8, "reason": _text(i, 200)}
    more = {"strictMode": False, "evaluationModel": "gpt-x", "error": None, "evaluationCost": 0.001, "verboseLogs": ""}
    known = {"name": f"case_{i}", "input": _text(i, 150), "actualOutput": _text(i, 300), "expectedOutput": _text(i, 60)}
    return {
        **known,
        "context": None,
        "success": True,
        "metricsData": [{**metric, **more}],
        "runDuration": 1.5,
        "order": i,
    }


def _tau(i: int) -> Row:
    roles = [{"role": role, "content": _text(i + k, 300)} for k in range(8) for role in ("assistant", "user")]
    reward = {"reward": 1.0, "info": {"r_actions": 1.0, "gt_data_hash": "ea"}, "actions": []}
    info = {"task": {"user_id": "u", "actions": [], "instruction": ".."}, "source": "user", "reward_info": reward}
    return {"task_id": i, "reward": 1.0, "info": {**info, "user_cost": 0.0035}, "traj": roles, "trial": 0}


def _alpaca(i: int) -> Row:
    known = {"instruction": _text(i, 150), "output_1": _text(i, 900), "generator_1": "base", "dataset": "koala"}
    more = {"output_2": _text(i + 1, 900), "generator_2": "m", "annotator": "judge", "preference": 1 + i % 2}
    return {**known, **more, "price_per_example": 0.01, "time_per_example": 0.8}


def _arena_hard(i: int) -> Row:
    games = [{"score": "A>B", "judgment": {"answer": _text(i + k, 1500)}, "prompt": []} for k in range(2)]
    return {"uid": _id(i), "category": "hard_prompt", "judge": "gpt-4.1", "model": "m", "baseline": "b", "games": games}


def _mt_pairs(i: int) -> Row:
    known = {"question_id": i // 9, "model_1": f"m{i % 9}", "model_2": "n", "g1_winner": "model_1", "g2_winner": "tie"}
    said = {"g1_user_prompt": _text(i, 900), "g1_judgment": _text(i, 400), "g2_judgment": _text(i, 400)}
    return {**known, "judge": ["gpt-4", "pair-v2"], **said, "turn": 1, "tstamp": 1.7e9}


def _wildbench(i: int) -> Row:
    known = {
        "session_id": _id(i),
        "parsed_result": {"strengths": _text(i, 300), "score": "7"},
        "score": str(1 + i % 10),
    }
    return {**known, "meta_data": {"error": None}, "model_test": "lab/m", "model_output": _text(i, 1200)}


def _wildbench_pair(i: int) -> Row:
    outputs = {"ref": _text(i, 900), "m": _text(i + 1, 900)}
    known = {
        "session_id": _id(i),
        "parsed_result": {"reason": _text(i, 300), "choice": "A+"},
        "winner": "ref",
        "extent": 1,
    }
    return {**known, "model_A": "ref", "model_B": "m", "model_outputs": outputs}


def _judgebench(i: int) -> Row:
    given = {"judge_model": "lab/judge", "prompt": _text(i, 600), "response": _text(i, 600)}
    known = {
        "pair_id": _id(i),
        "source": "mmlu-pro-law",
        "question": _text(i, 300),
        "response_model": "m",
        "label": "A>B",
    }
    more = {"response_A": _text(i, 400), "response_B": _text(i, 400), "judge_name": "arena_hard"}
    return {
        **known,
        **more,
        "judgments": [{"judgment": given, "decision": "A>B"}, {"judgment": given, "decision": "B>A"}],
    }


def _llmbar(i: int) -> Row:
    games = {f"swap = {swap}": {"completion": [_text(i, 200), "stop"], "winner": "1"} for swap in (False, True)}
    texts = {"input": _text(i, 150), "output_1": _text(i, 200), "output_2": _text(i + 1, 200)}
    return {**texts, "label": 1, "results": [games]}


def _reasoning_gym(i: int) -> Row:
    tried = [{"model_answer": "4", "full_model_response": _text(i, 500), "score": 1.0} for _ in range(3)]
    return {
        "question": _text(i, 150),
        "expected_answer": "4",
        "best_score": 1.0,
        "mean_score": 1.0,
        "completions": tried,
    }


def _votes(i: int) -> Row:
    known = {
        "model_a": f"m{i % 20}",
        "model_b": f"m{20 + i % 7}",
        "winner": "model_a",
        "judge": f"u{i % 999}",
        "turn": 1,
    }
    return {
        **known,
        "question_id": _id(i),
        "language": "English",
        "tstamp": 1687849300.5 + i,
        "conversation_a": _text(i, 500),
    }


def _table(i: int) -> Row:
    return {"item": f"q{i // 2}", "model": "ab"[i % 2], "score": i % 3 == 0, "domain": "law", "answer": _text(i, 60)}


def _eee(i: int) -> Row:
    about = {"schema_version": "0.3.0", "evaluation_id": "bar/m/1", "model_id": "maker/m", "evaluation_name": "law"}
    said = {"input": {"raw": _text(i, 300), "reference": ["A"]}, "output": {"raw": [_text(i, 300)]}}
    more = {"evaluation_result_id": "law.acc", "sample_id": f"q{i}", "sample_hash": _id(i) * 2}
    known = {
        "interaction_type": "single_turn",
        "answer_attribution": [],
        "evaluation": {"score": 1.0, "is_correct": True},
    }
    return {**about, **more, **said, **known}


def _livecode(i: int) -> Row:
    known = {"question_title": "t", "question_content": _text(i, 900), "platform": "leetcode", "question_id": f"q{i}"}
    samples = {"output_list": [_text(i, 400)], "code_list": [_text(i, 300)], "graded_list": [True], "metadata": ["{}"]}
    return {**known, "contest_date": "2023-08-21T00:00:00", "difficulty": "hard", **samples, "pass@1": 1.0}


def _lm_eval(i: int) -> Row:
    asked = {"gen_args_0": {"arg_0": _text(i, 600), "arg_1": " A"}}
    known = {
        "doc_id": i,
        "doc": {"question": _text(i, 200)},
        "target": "1",
        "arguments": asked,
        "resps": [[_text(i, 200)]],
    }
    named = {"doc_hash": _id(i) * 2, "prompt_hash": _id(i + 1) * 2, "target_hash": _id(i + 2) * 2}
    return {**known, "filtered_resps": ["1"], "filter": "none", "metrics": ["acc"], **named, "acc": 1.0}


def _helm(i: int) -> Row:
    stats = [
        {
            "name": {"name": name, "split": "test"},
            "count": 1,
            "sum": 1.0,
            "sum_squared": 1.0,
            "min": 1.0,
            "max": 1.0,
            "mean": 1.0,
        }
        for name in ("exact_match", "quasi_exact_match", "num_prompt_tokens", "inference_runtime", "logprob")
    ]
    return {"instance_id": f"id{i}", "train_trial_index": 0, "stats": stats}


def _issue(i: int) -> tuple[str, Row]:
    tests = {"success": [f"tests/test_{k}.py::test_{i}" for k in range(6)], "failure": []}
    found = {"patch_is_None": False, "patch_exists": True, "patch_successfully_applied": True, "resolved": i % 2 == 0}
    return f"owner__repo-{i}", {**found, "tests_status": {"FAIL_TO_PASS": tests, "PASS_TO_PASS": tests}}


def _evalplus(i: int) -> tuple[str, list[Row]]:
    more = {"base_fail_tests": [], "plus_fail_tests": []}
    tried = {
        "task_id": f"HumanEval/{i}",
        "solution": _text(i, 300),
        "base_status": "pass",
        "plus_status": "fail",
        **more,
    }
    return f"HumanEval/{i}", [tried] * 5


def _eq_bench(size: int) -> Row:
    def iteration(n: int) -> Row:
        scores = {str(k): {"first_pass_score": k % 10, "revised_score": 7.5} for k in range(1, 172)}
        answers = {str(k): {"first_pass": {"Sad": "5", "Glad": "2"}, "revised": {"Sad": "5"}} for k in range(1, 172)}
        said = {str(k): _text(k + n, 400) for k in range(1, 172)}
        return {"respondent_answers": answers, "individual_scores_fullscale": scores, "raw_inference": said}

    meta = {"run_id": "1", "eq_bench_version": "eq-bench", "language": "en", "lora_path": ""}
    one = len(json.dumps(iteration(0)))
    return {
        f"{n}--v2--en--lab/m{n}----ChatML--None--openai--None--": {
            "run_metadata": {**meta, "model_path": f"lab/m{n}"},
            "iterations": {"1": iteration(n)},
        }
        for n in range(max(1, size // one))
    }


def _swe_bench(size: int) -> Row:
    ids = [f"django__django-{i}" for i in range(size // 50)]
    return {"total_instances": len(ids), "submitted_ids": ids, "completed_ids": ids, "resolved_ids": ids[::2]} | {
        "unresolved_ids": ids[1::2],
        "error_ids": [],
        "schema_version": 2,
    }


def _cruxeval(size: int) -> Row:
    names = [f"sample_{i}" for i in range(size // 330)]
    said = {name: [_text(i, 20) for _ in range(10)] for i, name in enumerate(names)}
    return {
        "raw_generations": said,
        "raw_scored_generations": {name: [True, False] * 5 for name in names},
        "pass_at_1": 50.0,
    }


def _aider(i: int) -> str:
    known = {
        "dirname": f"2025-01-02-03-04-05--m{i}-diff",
        "test_cases": 225,
        "model": f"lab/m{i}",
        "edit_format": "diff",
    }
    rates = {"pass_rate_1": 20.0, "pass_rate_2": 40.0, "pass_num_1": 45, "pass_num_2": 90, "total_tests": 225}
    more = {"commit_hash": 1234567, "date": "2025-01-02", "percent_cases_well_formed": 99.6, "total_cost": 14.5}
    return "- " + "\n  ".join(f"{name}: {value}" for name, value in {**known, **rates, **more}.items()) + "\n\n"


def _human_eval(i: int) -> Row:
    known = {"task_id": f"HumanEval/{i // 10}", "completion": _text(i, 400)}
    return {**known, "result": "passed" if i % 2 else "failed: x", "passed": i % 2 == 1}


def _ifeval(i: int) -> Row:
    known = {"follow_all_instructions": i % 2 == 1, "follow_instruction_list": [True, i % 2 == 1]}
    return {**known, "instruction_id_list": ["a:b", "c:d"], "prompt": _text(i, 300), "response": _text(i, 1500)}


def _trace(i: int) -> Row:
    known = {"id": _id(i), "timestamp": "2026-01-01T00:00:00.000Z", "name": "qa", "userId": None, "sessionId": None}
    more = {"release": None, "version": "2", "environment": "default", "tags": [], "bookmarked": False, "public": False}
    texts = {"input": {"question": _text(i, 150)}, "output": _text(i + 1, 300), "metadata": {"model": "m1"}}
    return {**known, **more, **texts, "comments": [], "correct": [i % 2], "tone": [0.5]}


def _score(i: int) -> Row:
    known = {"id": _id(i), "traceId": _id(i // 2), "sessionId": None, "datasetRunId": None, "source": "API"}
    more = {"timestamp": "2026-01-01T00:00:00.000Z", "name": "ab"[i % 2], "dataType": "NUMERIC", "value": 0.5}
    about = {"stringValue": None, "comment": _text(i, 150), "metadata": {}, "observationId": None, "traceName": "qa"}
    return {**known, **more, **about, "userId": None, "traceTags": [], "environment": "default", "authorUserName": None}


def _phoenix(i: int) -> Row:
    found = {"name": "correct", "annotator_kind": "LLM", "label": None, "score": i % 2, "explanation": _text(i, 150)}
    known = {"example_id": _id(i), "repetition_number": 1, "input": {"q": _text(i, 150)}, "output": _text(i + 1, 300)}
    more = {"reference_output": {"a": _text(i, 60)}, "error": None, "latency_ms": 12.5, "trace_id": _id(i + 1)}
    usage = {"start_time": "2026-01-01T00:00:00+00:00", "prompt_token_count": 80, "completion_token_count": 90}
    return {**known, **more, **usage, "annotations": [{**found, "error": None, "metadata": {}, "trace_id": None}]}


def _opik(i: int) -> Row:
    scores = [{"name": name, "value": i % 2, "category_name": None, "reason": _text(i, 100)} for name in "ab"]
    known = {"id": _id(i), "dataset_item_id": _id(i), "trace_id": _id(i), "dataset_item_data": {"q": _text(i, 150)}}
    return {**known, "evaluation_task_output": {"a": _text(i, 300)}, "feedback_scores": scores, "assertion_results": []}


def _weave(i: int) -> Row:
    given = {"model": "weave:///l/q/object/M:a1", "example": f"weave:///l/q/object/D:b2/attr/rows/id/{_id(i)}"}
    output = {"output": _text(i, 300), "scores": {"match": i % 2 == 1, "judge": {"tone": 0.5}}, "model_latency": 1.5}
    known = {"id": _id(i), "project_id": "l/q", "op_name": "weave:///l/q/op/Evaluation.predict_and_score:9f"}
    times = {"started_at": "2026-01-01T00:00:00Z", "trace_id": "t", "exception": None, "summary": {}}
    return {**known, **times, "inputs": given, "output": output}


def _pydantic(i: int) -> Row:
    def found(name: str, value: object) -> Row:
        return {"name": name, "value": value, "reason": _text(i, 100), "source": {"name": name, "arguments": None}}

    known = {"name": f"case {i}", "inputs": _text(i, 150), "output": _text(i, 300), "metadata": {"difficulty": "easy"}}
    results = {"scores": {"tone": found("tone", 0.5)}, "assertions": {"ok": found("ok", i % 2 == 1)}, "labels": {}}
    more = {"expected_output": None, "metrics": {"cost": 0.01, "input_tokens": 80}, "attributes": {}}
    return {**known, **results, **more, "task_duration": 1.5, "total_duration": 2.0, "evaluator_failures": []}


def _opencompass(i: int) -> Row:
    known = {"example_abbr": f"gsm8k_{i}", "pred": [_text(i, 300)], "answer": ["4"]}
    return {**known, "correct": [i % 2 == 1]}


def _vlmevalkit(i: int) -> Row:
    known = {"index": i, "question": _text(i, 150), "A": "x", "B": "y", "category": "law", "prediction": _text(i, 200)}
    return {**known, "GT": "A", "hit": i % 2, "log": _text(i, 60)}


def _lmms(i: int) -> Row:
    known = {"doc_id": i, "target": "Yes", "filtered_resps": _text(i, 300), "token_counts": [None], "doc_hash": _id(i)}
    return {**known, "acc": 1.0, "mme": {"question_id": "a", "score": 1.0}, "input": _text(i, 400)}


def _inspect_frame(i: int) -> Row:
    known = {"sample_id": _id(i), "eval_id": "e1", "log": "e1.eval", "id": f"q{i}", "epoch": 1, "input": _text(i, 300)}
    return {
        **known,
        "target": "4",
        "metadata_category": "math",
        "score_match": "CI"[i % 2],
        "total_time": 1.5,
        "error": "",
    }


def _garak(i: int) -> Row:
    prompt = {"turns": [{"role": "user", "content": {"text": _text(i, 300), "lang": "en"}}], "notes": {}}
    known = {"entry_type": "attempt", "uuid": _id(i), "seq": i, "status": 2, "probe_classname": "dan.Dan_11_0"}
    outputs = [{"text": _text(i + k, 600), "lang": "en", "notes": {}} for k in range(5)]
    return {**known, "prompt": prompt, "outputs": outputs, "detector_results": {"dan.DAN": [0.0, 1.0, 0.0, 0.0, i % 2]}}


def _label_studio(i: int) -> Row:
    def given(who: int) -> Row:
        results = [("tone", {"choices": ["good" if (i + who) % 3 else "bad"]}), ("stars", {"rating": 1 + i % 5})]
        return {
            "id": 10 * i + who,
            "completed_by": who,
            "result": [{"from_name": name, "to_name": "text", "value": value} for name, value in results],
            "updated_at": "2026-01-01T00:00:00Z",
        }

    data = {"text": _text(i, 400), "response": _text(i + 1, 800)}
    return {"id": i, "data": data, "annotations": [given(1), given(2)], "total_annotations": 2}


def _argilla(i: int) -> Row:
    answers = [{"value": 1 + (i + k) % 5, "user_id": f"u{k}"} for k in range(3)]
    fields = {"prompt": _text(i, 400), "answer": _text(i + 1, 800)}
    return {"id": f"r{i}", "fields": fields, "metadata": {}, "suggestions": {}, "responses": {"stars": answers}}


def _reward_bench(i: int) -> Row:
    scores = {"results": i % 2, "scores_chosen": 0.5, "scores_rejected": 0.25, "subset": f"s{i % 23}", "id": i}
    return {"prompt": _text(i, 300), **scores, "text_chosen": _text(i, 600), "text_rejected": _text(i + 1, 600)}


def _bigcodebench(i: int) -> tuple[str, object]:
    tries = [
        {"task_id": f"BigCodeBench/{i}", "solution": _text(i + k, 900), "status": "pass", "details": {}}
        for k in range(2)
    ]
    return f"BigCodeBench/{i}", tries


def _azure(i: int) -> Row:
    scores = {
        "f1.f1_score": 0.5,
        "f1.f1_score_result": "pass",
        "coherence.coherence": 4.0,
        "coherence.coherence_reason": "x",
    }
    asked = {"inputs.query": _text(i, 200), "inputs.context": _text(i, 600), "inputs.response": _text(i + 1, 400)}
    return {**asked, **{f"outputs.{name}": value for name, value in scores.items()}}


def _simple_evals(size: int) -> Row:
    rows = list(
        _rows(lambda i: [{"role": "user", "content": _text(i, 400)}, {"role": "assistant", "content": "B"}], size // 2)
    )
    htmls = [f"<h3>Results</h3>{_text(i, 400)}<p>Score: {i % 2}.0</p>" for i in range(len(rows))]
    return {"score": 0.5, "metrics": {"chars": 1.0}, "htmls": htmls, "convos": rows, "metadata": None}


def _adk(i: int) -> Row:
    metrics = [{"metric_name": "response_match_score", "score": 0.5, "threshold": 0.5, "eval_status": 1}]
    events = [{"author": "app", "content": {"parts": [{"text": _text(i + k, 400)}]}} for k in range(4)]
    known = {"eval_id": f"c{i}", "final_eval_status": 1, "session_id": _id(i), "session_details": {"events": events}}
    return {**known, "overall_eval_metric_results": metrics, "eval_metric_result_per_invocation": []}


def _tau2(i: int) -> Row:
    said = [
        {"role": role, "content": _text(i + k, 300), "cost": 0.01} for k in range(6) for role in ("assistant", "user")
    ]
    known = {"id": _id(i), "task_id": str(i), "trial": 0, "termination_reason": "user_stop", "duration": 12.5}
    return {
        **known,
        "messages": said,
        "reward_info": {"reward": 1.0},
        "agent_cost": 0.1,
        "start_time": "2026-01-01T00:00:00",
    }


def _inspect(i: int) -> Row:
    events = [{"event": "model", "output": {"completion": _text(i + k, 600)}} for k in range(9)]
    said = [{"role": role, "content": _text(i, 500)} for role in ("user", "assistant")]
    known = {
        "id": i,
        "epoch": 1,
        "input": _text(i, 300),
        "target": "4",
        "metadata": {"category": "a"},
        "total_time": 1.1,
    }
    return {**known, "messages": said, "scores": {"match": {"value": "C"}, "tone": {"value": 0.5}}, "events": events}


def _lines(record: Callable[[int], Row], first: tuple[Row, ...] = ()) -> Callable[[int], str]:
    def text(size: int) -> str:
        return "".join(f"{json.dumps(row)}\n" for row in (*first, *_rows(record, size)))

    return text


def _rows(record: Callable[[int], Any], size: int) -> Iterator[Any]:
    written, i = 0, 0
    while written < size:
        row = record(i)
        yield row
        written += len(json.dumps(row)) + 2
        i += 1


def _list(record: Callable[[int], Row], wrap: Callable[[list[Row]], object] = list) -> Callable[[int], str]:
    return lambda size: json.dumps(wrap(list(_rows(record, size))))


def _map(record: Callable[[int], tuple[str, object]], wrap: Callable[[Row], Row] = dict) -> Callable[[int], str]:
    return lambda size: json.dumps(wrap(dict(_rows(record, size))))


def _csv(record: Callable[[int], Row]) -> Callable[[int], str]:
    def text(size: int) -> str:
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(record(0)))
        writer.writeheader()
        writer.writerows(_rows(record, size))
        return stream.getvalue()

    return text


def _parquet(record: Callable[[int], Row]) -> Callable[[int], bytes]:
    def data(size: int) -> bytes:
        pl.read_csv(_csv(record)(size).encode()).write_parquet(stream := io.BytesIO())
        return stream.getvalue()

    return data


def _document(make: Callable[[int], object]) -> Callable[[int], str]:
    return lambda size: json.dumps(make(size))


def _archive(size: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for sample in _rows(_inspect, size):
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(_INSPECT))
    return stream.getvalue()


def _yaml(size: int) -> str:
    return "".join(_rows(_aider, size))


_ADK = {"eval_set_result_id": "app_basic_1", "eval_set_id": "basic"}
_TAU2 = {
    "info": {
        "agent_info": {"implementation": "llm_agent", "llm": "m"},
        "user_info": {"llm": "u"},
        "environment_info": {"domain_name": "retail"},
        "num_trials": 1,
    },
    "tasks": [],
}
_EVAL = {
    "eval_id": "e",
    "task": "t",
    "task_id": "ti",
    "created": "2026-01-01T00:00:00+00:00",
    "dataset": {},
    "model": "m",
}
_INSPECT = {"version": 2, "status": "success", "eval": {**_EVAL, "config": {}}, "results": {"scores": []}, "stats": {}}
_SPEC = {"spec": {"completion_fns": ["m"], "eval_name": "sums.dev.v0", "run_config": {}, "run_id": "2601010000ABCD"}}
_GYM = {
    "name": "sums",
    "category": "algebra",
    "config": {"seed": 1},
    "completions_per_prompt": 3,
    "average_mean_score": 0.5,
}
# Name of the format, name of the file, and what makes its text.
FILES: tuple[tuple[str, str, Callable[[int], str | bytes]], ...] = (
    ("aider", "leaderboard.yml", _yaml),
    ("swe-bench", "lab__m.run.json", _document(_swe_bench)),
    ("swe-bench-issues", "report.json", _map(_issue)),
    ("swe-bench-issues", "eval_results.json", _map(lambda i: (f"instance_owner__repo-{i}", i % 2 == 0))),
    ("cruxeval", "sample_scored_m_temp0.2_input.json", _document(_cruxeval)),
    (
        "evalplus",
        "m_temp_0.2_eval_results.json",
        _map(_evalplus, lambda found: {"date": "d", "hash": "h", "eval": found}),
    ),
    ("livecodebench", "Scenario.codegeneration_1_0.2_eval_all.json", _list(_livecode)),
    ("langsmith", "m.csv", _csv(_langsmith)),
    ("langsmith", "m.jsonl", _lines(_langsmith)),
    ("braintrust", "m.json", _list(_braintrust, lambda rows: {"events": rows})),
    ("braintrust", "m.jsonl", _lines(_braintrust)),
    ("promptfoo", "m.jsonl", _lines(_promptfoo)),
    ("deepeval", "run.json", _list(_deepeval, lambda rows: {"testCases": rows, "hyperparameters": {"model": "m"}})),
    ("openai-evals", "m.jsonl", _lines(_openai, (_SPEC,))),
    ("ragas", "m.csv", _csv(_ragas)),
    ("ragas", "m.jsonl", _lines(_ragas)),
    ("helm", "per_instance_stats.json", _list(_helm)),
    ("tau2-bench", "results.json", _list(_tau2, lambda rows: {**_TAU2, "simulations": rows})),
    ("inspect", "2026-01-01T00-00-00-00-00_t_ti.json", _list(_inspect, lambda rows: {**_INSPECT, "samples": rows})),
    ("inspect", "2026-01-01T00-00-00-00-00_t_ti.eval", _archive),
    ("eq-bench-raw", "raw_results.json", _document(_eq_bench)),
    ("every-eval-ever", "x_samples.jsonl", _lines(_eee)),
    ("mmlu-pro", "model_outputs_m_5shots.json", _list(_mmlu_pro)),
    ("mt-bench-single", "gpt-4_single.jsonl", _lines(_mt_bench)),
    ("mt-bench", "gpt-4_pair.jsonl", _lines(_mt_pairs)),
    ("alpaca-eval", "annotations.json", _list(_alpaca)),
    ("arena-hard", "m.jsonl", _lines(_arena_hard)),
    ("wildbench", "m.json", _list(_wildbench)),
    ("wildbench-pairs", "m.json", _list(_wildbench_pair)),
    ("judgebench", "dataset=judgebench,judge_model=m.jsonl", _lines(_judgebench)),
    ("llmbar", "result.json", _list(_llmbar)),
    ("reasoning-gym", "sums.json", _list(_reasoning_gym, lambda rows: {**_GYM, "results": rows})),
    ("human-eval", "m.jsonl_results.jsonl", _lines(_human_eval)),
    ("ifeval", "m.jsonl", _lines(_ifeval)),
    ("langfuse", "1-lf-traces-export-p.jsonl", _lines(_trace)),
    ("langfuse-scores", "1-lf-scores-export-p.jsonl", _lines(_score)),
    ("phoenix", "m.json", _list(_phoenix)),
    ("opik", "e.json", _list(_opik, lambda rows: {"experiment": {"name": "e"}, "items": rows})),
    ("weave", "calls.jsonl", _lines(_weave)),
    ("pydantic-evals", "r.json", _list(_pydantic, lambda rows: {"name": "r", "cases": rows, "failures": []})),
    ("opencompass", "gsm8k.json", _list(_opencompass, lambda rows: {"accuracy": 50.0, "details": rows})),
    ("vlmevalkit", "m_result.json", _list(_vlmevalkit)),
    ("lmms-eval", "20260102_030405_samples_mme.jsonl", _lines(_lmms)),
    ("inspect-frames", "samples.csv", _csv(_inspect_frame)),
    ("garak", "garak.x.report.jsonl", _lines(_garak)),
    ("label-studio", "project.json", _list(_label_studio)),
    ("argilla", "records.json", _list(_argilla)),
    ("reward-bench", "m_outputs.jsonl", _lines(_reward_bench)),
    ("bigcodebench", "m_eval_results.json", _map(_bigcodebench, lambda found: {"date": "d", "eval": found})),
    ("simple-evals", "mmlu_m_20260101_100000_allresults.json", _document(_simple_evals)),
    ("google-adk", "x.evalset_result.json", _list(_adk, lambda rows: {**_ADK, "eval_case_results": rows})),
    ("azure-evaluation", "m.json", _list(_azure, lambda rows: {"rows": rows, "metrics": {}})),
    ("tau-bench", "gpt-4o-airline.json", _list(_tau)),
    ("lm-eval", "samples_t_2026-02-03T04-05-06.789012.jsonl", _lines(_lm_eval)),
    ("arena-votes", "votes.jsonl", _lines(_votes)),
    ("arena-votes", "votes.csv", _csv(_votes)),
    ("arena-votes", "votes.parquet", _parquet(_votes)),
    ("table", "t.jsonl", _lines(_table)),
    ("table", "t.csv", _csv(_table)),
    ("table", "t.parquet", _parquet(_table)),
)


def run(megabytes: int = DEFAULT_MB, only: tuple[str, ...] = ()) -> Iterator[Row]:
    """Yield seconds of CPU to read one file of each format, and to parse it only."""
    from evalstats.loaders.format import Format
    from evalstats.loaders.registry import loader_named, plan, read_source

    for name, file, make in FILES:
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file)
            made = make(megabytes << 20)
            path.write_bytes(made.encode() if isinstance(made, str) else made)
            loader, size = loader_named(name), path.stat().st_size / 1e6
            (part,) = plan([path], format=name)[0]
            ours = _seconds(lambda loader=loader, part=part: read_source(loader, part.source))
            is_declared = isinstance(loader, Format) and path.suffix in {".json", ".jsonl"}
            declared: Any = loader if is_declared else _protocols().get(name)
            bare = _seconds(lambda path=path, declared=declared: _typed(path, declared) if declared else _bare(path))
            speed = f"{size / ours:.0f} MB/s; bare {size / bare:.0f} MB/s"
            what = f"{name} {path.suffix[1:]}, {size:.0f} MB, s"
            yield {"name": what, "ours": ours, "other": bare, "ratio": bare / ours, "note": speed}


def _seconds(call: Callable[[], object]) -> float:
    """Return the processor seconds of a call, after one to warm up."""
    call()
    began = time.process_time()
    call()
    return time.process_time() - began


def _protocols() -> dict[str, Any]:
    """Return where the records of each protocol stand, as a `Format` says it."""
    from evalstats.loaders import every_eval_ever, inspect_log, lm_eval
    from evalstats.loaders.record_columns import record_of

    def of(record: Any, *lists: str) -> SimpleNamespace:
        return SimpleNamespace(typed=record, at=lists)

    return {
        "lm-eval": of(record_of(lm_eval.USED, ["acc"])),
        "every-eval-ever": of(every_eval_ever.EvalSample),
        "inspect": of(inspect_log.LoggedSample, "samples"),
    }


def _typed(path: Path, declared: Any) -> None:
    from evalstats.loaders.typed_records import is_keyed

    if path.suffix == ".eval":
        decode = msgspec.json.Decoder(declared.typed).decode
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                decode(archive.read(name))
        return
    if path.suffix == ".jsonl":
        msgspec.json.Decoder(declared.typed).decode_lines(path.read_bytes())
        return
    keyed = is_keyed(declared.at)
    value = get_type_hints(declared.typed)["value"] if keyed else None
    record: Any = declared.typed if value is None else dict[str, value]
    data = path.read_bytes()
    document: Any = record if keyed or ("." in declared.at and data[:1] == b"{") else list[record]
    for name in reversed(
        [name for name in (*declared.at, "")[0].split(".") if name not in {"", "*"} and data[:1] == b"{"]
    ):
        document = msgspec.defstruct("Document", [(name, document)])
    msgspec.json.decode(data, type=document)


def _bare(path: Path) -> None:
    if path.suffix == ".yml":
        import yaml

        yaml.load(path.read_bytes(), yaml.CSafeLoader)
    elif path.suffix in {".csv", ".parquet"}:
        (pl.read_csv if path.suffix == ".csv" else pl.read_parquet)(path)
        return
    with path.open(encoding="utf-8", newline="") as stream:
        if path.suffix == ".jsonl":
            for line in stream:
                json.loads(line)
        elif path.suffix == ".json":
            json.load(stream)


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of every loader beside a bare parse of the same file.")
    parser.add_argument("--mb", type=int, default=DEFAULT_MB, help="size of each file in MB")
    parser.add_argument("formats", nargs="*", help="names of formats; all without")
    given = parser.parse_args()
    for row in run(given.mb, tuple(given.formats)):
        print(
            f"{row['name']:34} {row['ours']:>8.3f} {row['other']:>8.3f} {row['ratio']:>6.2f}x  {row['note']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
