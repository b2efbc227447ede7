"""Small valid files of every format: what the fuzz suite starts from, and what a new loader has to add here."""

import csv
import io
import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

import evalstats as es
from tests.loaders import (
    test_agent_runs,
    test_aider,
    test_alpaca_eval,
    test_arena_events,
    test_arena_hard,
    test_arena_votes,
    test_argilla,
    test_azure_evaluation,
    test_bfcl,
    test_bigcodebench,
    test_braintrust,
    test_code_trials,
    test_deepeval,
    test_devicerepair,
    test_eq_bench,
    test_every_eval_ever,
    test_feedback_tables,
    test_garak,
    test_google_adk,
    test_harbor,
    test_harmamp,
    test_helm,
    test_human_eval,
    test_ifeval,
    test_inspect_ai,
    test_inspect_frames,
    test_judge_benchmarks,
    test_label_studio,
    test_langfuse,
    test_langsmith,
    test_leaderboards,
    test_livecodebench,
    test_lm_eval,
    test_lmms_eval,
    test_mlflow,
    test_mmlu,
    test_mmlu_pro,
    test_mt_bench_pairs,
    test_mt_bench_single,
    test_mteb,
    test_open_llm_leaderboard,
    test_openai_evals,
    test_opencompass,
    test_opik,
    test_phoenix,
    test_promptfoo,
    test_pydantic_evals,
    test_ragas,
    test_reasoning_gym,
    test_reward_bench,
    test_rutbench,
    test_simple_evals,
    test_swe_bench,
    test_swe_bench_issues,
    test_tau2_bench,
    test_tau_bench,
    test_tenacious,
    test_tenacious_arms,
    test_terminal_bench,
    test_vlmevalkit,
    test_weave,
    test_wildbench,
)
from tests.loaders.trees import tree

Row = dict[str, Any]
# The files of one source by their paths in a folder; the first is the one that is damaged most often.
Tree = dict[str, bytes]


def _json(content: object) -> bytes:
    return json.dumps(content).encode()


def _lines(rows: list[Any]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _csv(rows: list[Row], delimiter: str = ",") -> bytes:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(dict.fromkeys(name for row in rows for name in row)), delimiter=delimiter)
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {name: json.dumps(cell) if isinstance(cell, dict | list) else cell for name, cell in row.items()}
        )
    return stream.getvalue().encode()


def _parquet(rows: list[Row]) -> bytes:
    stream = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(stream)
    return stream.getvalue()


def _archive(members: list[tuple[str, object]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), _json(content))
    return stream.getvalue()


def _lm_eval() -> list[Tree]:
    stamp, samples = test_lm_eval.STAMP, [test_lm_eval.sample(n, acc=float(n % 2)) for n in range(3)]
    published = test_lm_eval.results({"t": {"acc,none": 1 / 3, "acc_stderr,none": 0.3}})
    old = [test_lm_eval.old_sample(n, acc=1.0) for n in range(2)]
    return [
        {f"samples_t_{stamp}.jsonl": _lines(samples), f"results_{stamp}.json": _json(published)},
        {f"samples_t_{stamp}.json": _json(old)},
    ]


def _inspect() -> list[Tree]:
    samples = [test_inspect_ai.sample(n, scores={"s": "C", "t": 0.5}) for n in (1, 2)] + [test_inspect_ai.failed(3)]
    head = test_inspect_ai.header(test_inspect_ai.published("s"))
    return [
        {"log.json": _json(head | {"samples": samples, "reductions": []})},
        {"log.eval": _archive(test_inspect_ai.members_of(head, samples))},
    ]


def _tau2() -> list[Tree]:
    index = [{"id": "s-7-0", "task_id": "7", "trial": 0, "reward": 1.0, "termination_reason": "user_stop"}]
    whole = [test_tau2_bench.sim("3"), test_tau2_bench.ended("max_steps", "5"), test_tau2_bench.sim("3", 1, 0.0)]
    return [
        {"results.json": _json(test_tau2_bench.results(whole, trials=2, tasks=6))},
        {
            "results.json": _json(test_tau2_bench.results(None, simulation_index=index)),
            "simulations/s-3-0.json": _json(test_tau2_bench.sim("3")),
        },
    ]


def _rutbench() -> list[Tree]:
    samples = [test_rutbench.sample("t1"), test_rutbench.sample("t2", "goal_switching"), test_rutbench.crashed("t3")]
    return [{"eval_results.json": _json({"metadata": test_rutbench.METADATA, "summary": {}, "samples": samples})}]


def _tables(rows: list[Row]) -> list[Tree]:
    return [{"x.jsonl": _lines(rows)}, {"x.csv": _csv(rows)}, {"x.json": _json(rows)}, {"x.parquet": _parquet(rows)}]


def _votes() -> list[Tree]:
    battles = [test_arena_votes.BATTLE, test_arena_votes.BATTLE | {"winner": "tie", "judge": "u2"}]
    return [
        {"votes.jsonl": _lines(battles)},
        {"votes.csv": _csv(battles)},
        {"votes.json": _json([test_arena_votes.LMARENA, test_arena_votes.LMARENA | {"id": "c5", "winner": "model_b"}])},
        {"votes.parquet": _parquet(battles)},
        {"events.jsonl": _lines([test_arena_events.EVENT, test_arena_events.EVENT | {"event_id": "e2"}])},
    ]


def _judgebench() -> list[Tree]:
    pairs = [test_judge_benchmarks.PAIR, test_judge_benchmarks.PAIR | {"pair_id": "p2", "label": "B>A"}]
    return [{test_judge_benchmarks.BENCH_NAME: _lines(pairs)}]


def _llmbar() -> list[Tree]:
    instances = [test_judge_benchmarks.INSTANCE, test_judge_benchmarks.INSTANCE | {"input": "Go.", "label": 2}]
    return [{f"{test_judge_benchmarks.FOLDER}/result.json": _json(instances)}]


def _reasoning_gym() -> list[Tree]:
    one, two = test_reasoning_gym.completion(), test_reasoning_gym.completion(0.01, None)
    results = [test_reasoning_gym.result("2+2", one, two), test_reasoning_gym.result("3+3", one, error="no")]
    where = "lab_my-model_20250315_163713"
    return [
        {
            f"{where}/algebra/sums.json": _json(test_reasoning_gym.dataset(*results)),
            f"{where}/summary.json": _json(test_reasoning_gym.SUMMARY),
        }
    ]


def _helm() -> list[Tree]:
    state = [test_helm.request("id1", "a"), test_helm.request("id2", "b", success=False)]
    found = [test_helm.right("id1", 1.0), test_helm.right("id2", 0.0)]
    return [
        {
            "run/per_instance_stats.json": _json(found),
            "run/stats.json": _json([test_helm.stat("exact_match", 0.5, count=2)]),
            "run/scenario_state.json": _json({"adapter_spec": {}, "request_states": state}),
            "run/run_spec.json": _json(test_helm.spec()),
        }
    ]


def _evalplus() -> list[Tree]:
    attempt = test_code_trials.attempt
    tries = {"HumanEval/0": [attempt("pass", "fail"), attempt("pass", "pass")], "HumanEval/1": [attempt("fail", None)]}
    return [{"m_temp_0.2_eval_results.json": _json(test_code_trials.plus_results(tries))}]


def _cruxeval() -> list[Tree]:
    scored = {"sample_0": [True, False], "sample_1": [False, None]}
    content = {"raw_generations": {"sample_0": ["x"]}, "raw_scored_generations": scored, "pass_at_1": 25.0}
    return [{"sample_scored_m_temp0.2_input.json": _json(content)}]


def _every_eval_ever() -> list[Tree]:
    name, log = test_every_eval_ever.UUID, test_every_eval_ever.log(test_every_eval_ever.result())
    samples = [test_every_eval_ever.sample("q1"), test_every_eval_ever.sample("q2", 0.0)]
    where = f"data/bar/maker/one/{name}"
    return [
        {f"{where}.json": _json(log), f"{where}_samples.jsonl": _lines(samples)},
        {f"{name}_samples.jsonl": _lines(samples)},
    ]


def _leaderboards() -> list[Tree]:
    arena = test_leaderboards.ARENA + '1,2,m,1470,"+5/-3",26019,Org,MIT,,http://x\n3,3,n,1400,+4/-4,,Org,,2024,x\n'
    hard = test_leaderboards.HARD + 'm,79.3,77.4,81.3,"(-1.88, +1.97)",700,2024-08-29\n'
    alpaca = test_leaderboards.ALPACA + "m,76.9,0.91,676,129,0,805,83.9,community,872,86.5,0.14\n"
    return [
        {"leaderboard_table.csv": arena.encode()},
        {"arena_hard_leaderboard.csv": hard.encode()},
        {"alpaca.csv": alpaca.encode()},
        {"lmarena.json": _json(test_leaderboards.CATALOG)},
    ]


def _langsmith() -> list[Tree]:
    rows = test_langsmith.RESULTS
    return [{"m.csv": _csv(rows)}, {"m.jsonl": _lines(rows)}]


def _promptfoo() -> list[Tree]:
    rows = [test_promptfoo.result(1), test_promptfoo.crash(2), test_promptfoo.result(3, passed=False)]
    return [{"out.json": _json(test_promptfoo.export(*rows))}, {"out.jsonl": _lines(rows)}]


def _deepeval() -> list[Tree]:
    case, metric = test_deepeval.case, test_deepeval.metric
    run = test_deepeval.run(case(0, metric("F", 0.8), test_deepeval.failed("B")), case(1, metric("F", 0.2)))
    return [{".latest_test_run.json": _json({"testRunData": run})}, {"run.json": _json(run)}]


def _bfcl() -> list[Tree]:
    with TemporaryDirectory() as folder:
        paths = [test_bfcl.scores(Path(folder), 4, "java_1", "java_3"), test_bfcl.answers(Path(folder), 4)]
        return [{path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}]


def _mlflow() -> list[Tree]:
    rows = [test_mlflow.row("q1"), test_mlflow.row("q2", None, test_mlflow.FAILED), test_mlflow.row("q1", 5)]
    where = "mlruns/0/0a1b2c"
    return [
        {
            f"{where}/artifacts/eval_results_table.json": _json({"columns": test_mlflow.COLUMNS, "data": rows}),
            f"{where}/metrics.json": _json({"answer_correctness/v1/mean": 4.5, "exact_match/v1": 0.5}),
        }
    ]


def _open_llm() -> list[Tree]:
    rows = [test_open_llm_leaderboard.table_row(), test_open_llm_leaderboard.table_row("org/n", Precision="float16")]
    return [{"contents.csv": _csv(rows)}, {"contents.json": _json(rows)}, {"contents.parquet": _parquet(rows)}]


def _lighteval() -> list[Tree]:
    rows = [test_open_llm_leaderboard.detail(f"q{n}", float(n)) for n in range(2)]
    where = "details_org__m_x/2024-01-06T09-45-44.755529"
    return [{f"{where}/{test_open_llm_leaderboard.TASK}": _parquet(rows)}]


def _exported() -> list[Tree]:
    trees: list[Tree] = []
    frame = pl.DataFrame(_TABLE, infer_schema_length=None)
    data = es.from_frame(frame, item="item", model="model", score="score", benchmark="@b")
    for to in ("csv", "json", "parquet"):
        with TemporaryDirectory() as folder:
            es.export(data, Path(folder, "out"), to=to)
            files = sorted(
                Path(folder, "out").iterdir(), key=lambda path: (path.name != "evalstats-tables.json", path.name)
            )
            trees.append({path.name: path.read_bytes() for path in files})
    return trees


def _terminal_bench() -> list[Tree]:
    trials = [
        test_terminal_bench.trial("a", 1),
        test_terminal_bench.trial("b", 1, resolved=False, mode="agent_timeout"),
    ]
    content = {"id": "x", "results": trials, "n_resolved": 1, "accuracy": 0.5}
    return [{f"{test_terminal_bench.FOLDER.as_posix()}/results.json": _json(content)}]


def _langfuse() -> list[Tree]:
    traces = [test_langfuse.trace(scores={"correct": [1], "tone": ["polite"]}) for _ in range(2)]
    return [tree({test_langfuse.TRACES: traces}), tree({"traces.csv": traces})]


def _langfuse_scores() -> list[Tree]:
    scores = [test_langfuse.score(0.5), test_langfuse.score(5, source="ANNOTATION", authorUserName="Ann")]
    return [tree({test_langfuse.SCORES: scores})]


def _vlmevalkit() -> list[Tree]:
    rows = [test_vlmevalkit.hit(), test_vlmevalkit.hit(2, 0, prediction=test_vlmevalkit.FAILED)]
    return [
        tree({f"{test_vlmevalkit.NAME}.tsv": rows}),
        tree({f"{test_vlmevalkit.NAME}.json": rows}),
    ]


_TRIALS = [test_tau_bench.row(4), test_tau_bench.row(4, 0.0, 1), test_tau_bench.crash(9, 0)]
_RAGAS = [test_ragas.row(0), test_ragas.row(1, None), test_ragas.row(2, "nan", 1)]
_TABLE: list[Row] = [
    {"item": "q1", "model": "a", "score": 1, "domain": "law"},
    {"item": "q1", "model": "b", "score": 0, "domain": "law"},
    {"item": "q2", "model": "a", "score": 0.5, "domain": None},
    {"item": "q2", "model": "b", "score": None, "domain": "tax"},
]
_PUBLISHED = [{"model": "m 1", "score": 85.9, "std_error": 1.5}, {"model": "m-2", "score": 90.1, "std_error": 0.5}]
_MADE = [test_arena_hard.NEW, test_arena_hard.OLD]
_TWO_TURNS = [test_mt_bench_pairs.PAIR, test_mt_bench_pairs.PAIR | {"turn": 2, "g1_winner": "tie"}]
_ANNOTATED = [test_alpaca_eval.ANNOTATION, test_alpaca_eval.ANNOTATION | {"instruction": "Go", "preference": 1.2}]
_ASKED = [test_mmlu_pro.QUESTION, test_mmlu_pro.QUESTION | {"question_id": 71, "pred": None}]
_JUDGED_TASKS = [test_tenacious.result("a"), test_tenacious.result("b", 0.0, passed=False)]
_ASKED_TWICE = test_livecodebench.question("q1", [True, False], [test_livecodebench.WRONG, test_livecodebench.RUNNER])
_AVERAGES = [test_livecodebench.average("m", name, **{"pass@1": 50.0}) for name in ("q1", "q2")]
_EQ_RUN = {"run_metadata": test_eq_bench.META, "iterations": {"1": test_eq_bench.iteration()}}
_ENTRY = {"name": "m", "folder": "20240101_m", "resolved": 12.5, "date": "2024-01-01"}
_SCORE, _CHOICE = test_wildbench.SCORE, test_wildbench.PAIR
_LOG = [test_openai_evals.spec("gpt-x"), test_openai_evals.match(0), test_openai_evals.match(1, correct=False)]

SEEDS: dict[str, list[Tree]] = {
    "lm-eval": _lm_eval(),
    "inspect": _inspect(),
    "tau-bench": [{"gpt-4o-airline.json": _json(_TRIALS)}],
    "promptfoo": _promptfoo(),
    "deepeval": _deepeval(),
    "openai-evals": [{"x.jsonl": _lines([*_LOG, test_openai_evals.report(accuracy=0.5, boostrap_std=0.02)])}],
    "ragas": [{"m.csv": _csv(_RAGAS)}, {"m.jsonl": _lines(_RAGAS)}],
    "tau2-bench": _tau2(),
    "tau2-submission": [{"submission.json": _json(test_tau2_bench.submission())}],
    "rutbench": _rutbench(),
    "tenacious": [{"held_out_traces.jsonl": _lines([test_tenacious.pair("a"), test_tenacious.pair("b")])}],
    "tenacious-evaluation": [{"m_dev_eval.json": _json(test_tenacious.evaluation(*_JUDGED_TASKS))}],
    "tenacious-ablation": [{"ablation_results.json": _json(test_tenacious.ablation())}],
    "tenacious-arms": [
        {"x.jsonl": _lines([test_tenacious_arms.LINE, test_tenacious_arms.LINE | {"variant": "trained"}])},
        {"x.jsonl": _lines([test_tenacious_arms.WIDE, test_tenacious_arms.WIDE | {"task_id": "b"}])},
    ],
    "tau2-log": [
        {
            "trace_log.jsonl": _lines(
                [test_tenacious_arms.SIMULATION, test_tenacious_arms.SIMULATION | {"simulation_id": "2"}]
            )
        }
    ],
    "tau2-score-log": [{"score_log.json": _json(test_tenacious_arms.SCORES)}],
    "tenacious-numbers": [
        {"ablation_results.json": _json({"held_out_task_count": 3, "baseline_mean": 6.5, "trained_judge_mean": 8})}
    ],
    "harmamp": _tables(test_harmamp.ROWS),
    "devicerepair": _tables([test_devicerepair.row(f"q{n}", language) for n in range(2) for language in ("bn", "en")]),
    "aider": [{"polyglot_leaderboard.yml": test_aider.BOARD.encode()}],
    "arena-votes": _votes(),
    "mt-bench-single": [
        {"gpt-4_single.jsonl": _lines([test_mt_bench_single.RECORD, test_mt_bench_single.rated(turn=2)])}
    ],
    "mteb": [
        {
            f"{test_mteb.FOLDER}/Sick.json": _json(test_mteb.RESULT),
            f"{test_mteb.FOLDER}/model_meta.json": _json(test_mteb.META),
        },
        {"Sick.json": _json(test_mteb.OLD)},
    ],
    "garak": [{"garak.r1.report.jsonl": _lines(test_garak.ENTRIES)}],
    "label-studio": [{"project.json": _json(test_label_studio.TASKS)}],
    "label-studio-rows": [
        {"project.json": _json([test_label_studio.row(7, n, "good") for n in (3, 4)])},
        {"project.csv": test_label_studio.as_csv([test_label_studio.row(7, n, "good") for n in (3, 4)]).encode()},
    ],
    "argilla": [{"records.json": _json([test_argilla.RECORD, test_argilla.RECORD | {"id": "r2"}])}],
    "argilla-flat": _tables([test_argilla.ROW, test_argilla.ROW | {"id": "r2"}]),
    "reward-bench": [
        {"rm.json": _json(test_reward_bench.COLUMNS)},
        {"rm_outputs.jsonl": _lines([test_reward_bench.ROW, test_reward_bench.ROW | {"prompt": "Bye"}])},
    ],
    "reward-bench-summary": [{"rm.json": _json(test_reward_bench.SUMMARY)}],
    "bigcodebench": [{test_bigcodebench.NAME: _json(test_bigcodebench.RESULTS)}],
    "bigcodebench-pass-at-k": [{"pass_at_k.json": _json(test_bigcodebench.RATES)}],
    "bigcodebench-board": [{"results.json": _json(test_bigcodebench.BOARD)}],
    "simple-evals": [
        {test_simple_evals.NAME: _json(test_simple_evals.RESULTS)},
        {"gpqa_o3_20250709_101500.json": _json(test_simple_evals.METRICS)},
    ],
    "google-adk": [
        {"x.evalset_result.json": _json(json.dumps(test_google_adk.result(*test_google_adk.CASES)))},
        {"x.evalset_result.json": _json(test_google_adk.result(*test_google_adk.CASES))},
    ],
    "azure-evaluation": [
        {
            "results.json": _json(
                test_azure_evaluation.output(test_azure_evaluation.row(1), test_azure_evaluation.row(2))
            )
        },
        {"results.jsonl": _lines([test_azure_evaluation.row(1), test_azure_evaluation.row(2)])},
    ],
    "mmlu": [{"results_davinci/anatomy.csv": test_mmlu.TABLE.encode()}],
    "hal": [{"run_UPLOAD.json": _json(test_agent_runs.HAL)}],
    "agent-bench": [
        {"o/2026/gpt-4o/os-std/runs.jsonl": _lines([test_agent_runs.sample(0), test_agent_runs.sample(1)])}
    ],
    "browser-gym": [{f"{test_agent_runs.EPISODE}/summary_info.json": _json(test_agent_runs.SUMMARY)}],
    "tool-eval": [{"G1_instruction_gpt-4.json": _json(test_agent_runs.JUDGED)}],
    "trulens": _tables([test_feedback_tables.RECORD, test_feedback_tables.RECORD | {"input": "Why?"}]),
    "uptrain": _tables([test_feedback_tables.CHECKED, test_feedback_tables.CHECKED | {"question": "Why?"}]),
    "judgebench": _judgebench(),
    "llmbar": _llmbar(),
    "mmlu-pro": [{test_mmlu_pro.NAME: _json(_ASKED)}, {"law_result.json": _json(_ASKED)}],
    "eq-bench": [{"m_eqbench_v2_results.json": _json(test_eq_bench.FLAT)}],
    "eq-bench-raw": [{"raw_results.json": _json({test_eq_bench.INDEX: _EQ_RUN})}],
    "reasoning-gym": _reasoning_gym(),
    "alpaca-eval": [{"annotations.json": _json(_ANNOTATED)}, {"annotations.jsonl": _lines(_ANNOTATED)}],
    "arena-hard": [{"gpt-4.1/my-model.jsonl": _lines(_MADE[:1])}, {"my-model.jsonl": _lines(_MADE[1:])}],
    "mt-bench": [{"gpt-4_pair.jsonl": _lines(_TWO_TURNS)}],
    "wildbench": [
        {"v2/score.v2/eval=gpt-4o/my-model.json": _json([_SCORE, _SCORE | {"session_id": "s2", "score": "3"}])}
    ],
    "wildbench-pairs": [
        {f"{test_wildbench.FOLDER}/my-model.json": _json([_CHOICE, _CHOICE | {"session_id": "s2", "winner": "tie"}])}
    ],
    "langsmith": _langsmith(),
    "langsmith-runs": [{"runs.json": _json(test_langsmith.RUNS)}],
    "langsmith-page": [{"page.csv": _csv([test_langsmith.page_row("a"), test_langsmith.page_row("b", None)])}],
    "braintrust": [{"m.json": _json({"events": test_braintrust.EVENTS})}, {"m.csv": _csv(test_braintrust.EVENTS)}],
    "helm": _helm(),
    "human-eval": [tree({test_human_eval.NAME: test_human_eval.SAMPLES})],
    "ifeval": [tree(test_ifeval.FILES)],
    "langfuse": _langfuse(),
    "langfuse-scores": _langfuse_scores(),
    "opik": [tree({"e.json": test_opik.EXPORT}), tree({"e.csv": test_opik.PAGE}), tree({"p.json": test_opik.PAGE})],
    "weave": [tree({"calls.jsonl": test_weave.CALLS}), tree({"results.json": test_weave.ANSWER})],
    "harbor": [tree(test_harbor.JOB)],
    "inspect-frames": [tree(test_inspect_frames.FILES), {"samples.parquet": _parquet(test_inspect_frames.SAMPLES)}],
    "lmms-eval": [tree(test_lmms_eval.FILES)],
    "opencompass": [tree(test_opencompass.FILES)],
    "vlmevalkit": _vlmevalkit(),
    "vlmevalkit-accuracies": [tree({"M/M_MMBench_acc.csv": test_vlmevalkit.ACCURACIES})],
    "phoenix": [tree({"m.json": test_phoenix.RUNS}), tree({"m.csv": [*map(test_phoenix.flat, test_phoenix.RUNS)]})],
    "pydantic-evals": [tree({"report.json": test_pydantic_evals.REPORT})],
    "swe-bench": [{"lab__model-4.1.dev.json": _json(test_swe_bench.REPORT)}],
    "swe-bench-issues": [
        {"report.json": _json({"a__r-1": test_swe_bench_issues.ISSUE, "a__r-2": {"resolved": True}})},
        {"eval_results.json": _json({"instance_a__b-1": True, "instance_a__b-2": False})},
    ],
    "swe-bench-systems": [{"info.json": _json({"m": {"a__r-1": {"resolved": True}, "a__r-2": {"resolved": False}}})}],
    "swe-bench-board": [{"leaderboards.json": _json({"leaderboards": [{"name": "Lite", "results": [_ENTRY]}]})}],
    "evalplus": _evalplus(),
    "cruxeval": _cruxeval(),
    "every-eval-ever": _every_eval_ever(),
    "livecodebench": [{"Scenario.codegeneration_1_0.2_eval_all.json": _json([_ASKED_TWICE])}],
    "livecodebench-site": [{"performances_generation.json": _json(test_livecodebench.site(*_AVERAGES))}],
    "leaderboard": _leaderboards(),
    "benchbench": [{"my_bench_240829_safety.csv": b"model,total,Part/A\nlab/m,61.5,0.5\nn*,,1\n"}],
    "score-table": [
        {"bench.csv": _csv(_PUBLISHED)},
        {"bench.json": _json(_PUBLISHED)},
        {
            "bench.md": "| Model | Score ± (95% CI) |\n|--|--|\n| [m](http://x) | **71.2%** ± 2 |\n| n | 60% -3/+2 |\n".encode()
        },
    ],
    "terminal-bench": _terminal_bench(),
    "bfcl": _bfcl(),
    "mlflow": _mlflow(),
    "open-llm-leaderboard": _open_llm(),
    "lighteval": _lighteval(),
    "evalstats-tables": _exported(),
    "table": [*_tables(_TABLE), {"x.tsv": _csv(_TABLE, "\t")}],
}
