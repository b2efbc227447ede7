"""lm-evaluation-harness: genuine files, and every shape the format notes list."""

import gzip
import json
from collections.abc import Iterable
from math import exp, log, sqrt
from pathlib import Path

import polars as pl
import pytest

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Frame, Source, read_head, with_digest
from evalstats.loaders.lm_eval import LOADER, model_of_folder
from evalstats.loaders.registry import read, read_source
from evalstats.schema.data import EvalData, combine
from tests.loaders.trees import write

STAMP = "2026-02-03T04-05-06.789012"
HASHES = {n: f"{n:02d}" * 32 for n in range(100)}


def sample(
    doc_id: object, *, filter_name: str | None = "none", doc: int | None = None, **metrics: object
) -> dict[str, object]:
    """One line of a samples file as 0.4.13 writes it; `doc` numbers the document's content."""
    number = int(str(doc_id)) if doc is None else doc
    return {
        "doc_id": doc_id,
        "doc": {"q": f"question {number}"},
        "target": "1",
        "arguments": {"gen_args_0": {"arg_0": f"Q: question {number}", "arg_1": " A"}},
        "resps": [[["-0.79", "False"]], [["-0.08", "False"]]],
        "filtered_resps": [["-0.79", "False"], ["-0.08", "False"]],
        "filter": filter_name,
        "metrics": list(metrics),
        "doc_hash": HASHES[number],
        "prompt_hash": f"p{number:02d}" * 16,
        "target_hash": "6b",
        **metrics,
    }


def old_sample(doc_id: int, **metrics: object) -> dict[str, object]:
    """One element of an older samples file: no filter, no list of metrics, no hashes, raw floats."""
    return {
        "doc_id": doc_id,
        "doc": {"q": f"question {doc_id}"},
        "target": 1,
        "arguments": [[f"Q: question {doc_id}", " A"]],
        "resps": [[[-0.79, False]], [[-0.08, False]]],
        "filtered_resps": [[-0.79, False], [-0.08, False]],
        **metrics,
    }


def results(published: dict[str, dict[str, object]], **members: object) -> dict[str, object]:
    """A results file as 0.4.13 writes it."""
    return {
        "results": published,
        "group_subtasks": {},
        "configs": {},
        "versions": dict.fromkeys(published, 1.0),
        "n-shot": dict.fromkeys(published, 0),
        "higher_is_better": {},
        "n-samples": {},
        "config": {"model": "hf", "model_args": "pretrained=org/m,dtype=bfloat16", "limit": None, "gen_kwargs": None},
        "git_hash": "abc",
        "date": 1770091506.0,
        "lm_eval_version": "0.4.13",
        "task_hashes": {},
        "model_source": "hf",
        "model_name": "org/m",
        "model_name_sanitized": "org__m",
        "total_evaluation_time_seconds": "7.6",
        **members,
    }


def lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_run(folder: Path, published: dict[str, object], samples: dict[str, list[dict[str, object]]]) -> Path:
    """A results file with its samples beside it, as the harness lays them out."""
    for task, rows in samples.items():
        write(folder / f"samples_{task}_{STAMP}.jsonl", lines(rows))
    return write(folder / f"results_{STAMP}.json", published)


def plan(folder: Path) -> list[Source]:
    sources = list(LOADER.plan(sorted(path for path in folder.rglob("*") if path.is_file())))
    assert all(isinstance(source, Source) for source in sources)
    return [source for source in sources if isinstance(source, Source)]


def load(folder: Path) -> EvalData:
    return combine(read_source(LOADER, with_digest(source)) for source in plan(folder))


def messages(data: EvalData) -> str:
    assert {problem.severity for problem in data.problems} <= {"note"}
    return "\n".join(problem.message for problem in data.problems)


def only(frame: pl.DataFrame, **levels: object) -> dict[str, object]:
    found = frame.filter(**levels)
    assert found.height == 1, found
    return found.row(0, named=True)


def test_genuine_group_accuracy_and_pooled_stderr(shared_data: Path) -> None:
    """The published .3 and .10758 come out; the size-weighted mean of the items and the pooled formula equal them."""
    data = load(shared_data / "lm_eval" / "genuine_lm_eval_0.4.13_dummy_model")
    group = only(data.aggregates, benchmark="toy_mc", task="", metric="acc")
    assert (group["estimate"], group["n"], group["method"]) == (0.3, 20, "published, pooled stderr")
    assert group["std_error"] == pytest.approx(0.10758287072798381, abs=1e-15)

    items = data.outcomes.filter(pl.col("benchmark") == "toy_mc", pl.col("metric") == "acc")
    by_task = {task: part["score"].to_numpy() for (task,), part in items.group_by("task")}
    assert {task: len(scores) for task, scores in by_task.items()} == {"toy_mc_a": 12, "toy_mc_b": 8}
    assert sum(len(scores) * scores.mean() for scores in by_task.values()) / 20 == pytest.approx(0.3, abs=1e-15)
    # pooled_sample_stderr: within-task variance pooled by size - 1, over the number of all items
    pooled = sum((len(scores) - 1) * scores.var(ddof=1) for scores in by_task.values()) / (20 - 2)
    assert sqrt(pooled / 20) == pytest.approx(group["std_error"], abs=1e-15)
    for task, scores in by_task.items():
        row = only(data.aggregates, task=task, metric="acc")
        assert row["estimate"] == pytest.approx(scores.mean())
        assert row["std_error"] == pytest.approx(scores.std(ddof=1) / sqrt(len(scores)))
        assert (row["benchmark"], row["method"], row["n"]) == ("toy_mc", "published", len(scores))


def test_genuine_files_tell_runs_and_metrics(shared_data: Path) -> None:
    data = load(shared_data / "lm_eval" / "genuine_lm_eval_0.4.13_dummy_model")
    assert sorted(data.runs["benchmark"]) == ["toy_gen", "toy_mc"]
    gen = only(data.runs, benchmark="toy_gen")
    assert (gen["harness"], gen["harness_version"], gen["task_version"]) == ("lm-eval", "0.4.13", "3")
    assert (gen["n_shots"], gen["temperature"], gen["item_limit"]) == (0, 0.0, None)
    assert only(data.runs, benchmark="toy_mc")["temperature"] is None  # log-likelihoods are not sampled
    assert set(data.metrics.filter(benchmark="toy_gen")["metric"]) == {
        "exact_match,strict-match",
        "exact_match,flexible-extract",
    }
    assert data.metrics["kind"].unique().to_list() == ["binary"]
    assert only(data.metrics, benchmark="toy_mc", primary=True)["metric"] == "acc"
    assert "may be one that lm-eval made up" in messages(data)  # the dummy model's arguments name none
    assert data.outcomes["item"].str.len_chars().unique().to_list() == [64]  # SHA-256 of the document


def test_genuine_run_with_fewer_samples_than_documents_says_so(shared_data: Path) -> None:
    data = load(shared_data / "every_eval_ever" / "lm_eval")
    assert "rest on 5,000 documents, the samples file holds 10" in messages(data)
    assert "only published numbers: math_rephrased_full" in messages(data)
    published = only(data.aggregates, task="math_rephrased_full")
    assert (published["estimate"], published["n"]) == (0.0004, 5000)
    assert published["std_error"] == pytest.approx(0.0002828144211304471)
    assert data.models() == ("RylanSchaeffer/mem_Qwen3-93M_minerva_math_rep_0_sbst_1.0000_epch_1_ot_1",)


def test_samples_join_results_by_folder_and_stamp(tmp_path: Path) -> None:
    other = "2026-02-03T04-05-07.000001"
    write_run(tmp_path / "org__m", results({"t_a": {"acc,none": 1.0}}), {"t_a": [sample(0, acc=1.0)]})
    write(tmp_path / "org__m" / f"results_{other}.json", results({"t_a": {"acc,none": 0.0}}))
    write(tmp_path / "org__m" / f"samples_t_a_{other}.jsonl", lines([sample(0, acc=0.0)]))
    write(tmp_path / "org__k" / f"samples_t_a_{STAMP}.jsonl", lines([sample(0, acc=0.0)]))
    joined = {
        (source.path.parent.name, source.path.name): [path.name for path in source.companions]
        for source in plan(tmp_path)
    }
    assert joined == {
        ("org__m", f"results_{STAMP}.json"): [f"samples_t_a_{STAMP}.jsonl"],
        ("org__m", f"results_{other}.json"): [f"samples_t_a_{other}.jsonl"],
        ("org__k", f"samples_t_a_{STAMP}.jsonl"): [],
    }


def test_results_named_by_the_output_path_have_samples_beside_them(tmp_path: Path) -> None:
    """`--output_path X/foo.json` writes `X/foo_<stamp>.json` and no folder for the model."""
    write(tmp_path / f"foo_{STAMP}.json", results({"t": {"acc,none": 1.0}}))
    write(tmp_path / f"samples_t_{STAMP}.jsonl", lines([sample(0, acc=1.0)]))
    (source,) = plan(tmp_path)
    assert source.path.name == f"foo_{STAMP}.json"
    assert len(source.companions) == 1
    assert load(tmp_path).outcomes.height == 1


def test_stamps_with_colons_and_packed_files(tmp_path: Path) -> None:
    stamp = "2023-08-09T10:55:53"
    write(tmp_path / f"results_{stamp}.json", results({"my_task": {"acc,none": 1.0}}))
    packed = tmp_path / f"samples_my_task_{stamp}.jsonl.gz"
    packed.write_bytes(gzip.compress(lines([sample(0, acc=1.0)]).encode()))
    assert LOADER.sniff(read_head(packed)) is not None
    assert load(tmp_path).outcomes["task"].to_list() == ["my_task"]


def test_orphan_samples_are_named_after_their_folder(tmp_path: Path) -> None:
    write(tmp_path / "EleutherAI__pythia-14m" / f"samples_a_b_{STAMP}.jsonl", lines([sample(0, acc=1.0)]))
    write(tmp_path / "EleutherAI__pythia-14m" / f"samples_c_{STAMP}.jsonl", lines([sample(0, acc=0.0)]))
    (source,) = plan(tmp_path)
    assert len(source.companions) == 1
    data = load(tmp_path)
    assert data.models() == ("EleutherAI/pythia-14m",)
    assert sorted(data.runs["benchmark"]) == ["a_b", "c"]
    assert model_of_folder(Path("x/details_org__m__v2/f")) == "org/m__v2"  # only the first "__" was a slash
    assert data.aggregates.is_empty()
    assert "samples without their results file" in messages(data)


def test_samples_without_a_stamp_stand_alone(tmp_path: Path) -> None:
    write(tmp_path / "m" / "samples_t.jsonl", lines([sample(0, acc=1.0)]))
    write(tmp_path / "m" / "mine.jsonl", lines([sample(0, acc=1.0)]))
    assert {source.path.name for source in plan(tmp_path)} == {"samples_t.jsonl", "mine.jsonl"}
    assert set(load(tmp_path).outcomes["task"]) == {"t", "mine"}


def test_samples_of_older_versions_are_one_json_list(tmp_path: Path) -> None:
    write(tmp_path / f"results_{STAMP}.json", results({"t": {"acc,none": 0.5}}))
    path = write(
        tmp_path / f"samples_t_{STAMP}.json", json.dumps([old_sample(0, acc=1.0), old_sample(1, acc=0.0)], indent=2)
    )
    assert LOADER.sniff(read_head(path)) is not None
    data = load(tmp_path)
    assert data.outcomes.select("item", "score", "metric").rows() == [("0", 1.0, "acc"), ("1", 0.0, "acc")]
    assert "no doc_hash, so doc_id" in messages(data)


def test_samples_within_the_results_file(tmp_path: Path) -> None:
    """`simple_evaluate()` returns samples in the same object; some people dump it as it is."""
    write(tmp_path / "dump.json", results({"t": {"acc,none": 1.0}}, samples={"t": [sample(0, acc=1.0)]}))
    assert load(tmp_path).outcomes.select("task", "score").rows() == [("t", 1.0)]


def test_results_without_samples_give_published_numbers_only(tmp_path: Path) -> None:
    write(tmp_path / f"results_{STAMP}.json", results({"t": {"acc,none": 0.25, "acc_stderr,none": 0.1}}))
    data = load(tmp_path)
    assert data.outcomes.is_empty()
    assert only(data.aggregates)["estimate"] == 0.25
    assert only(data.metrics, benchmark="t")["kind"] == "bounded"
    assert "published numbers without samples" in messages(data)
    assert only(data.runs)["n_scored"] == 0


def test_bare_keys_of_0_3_and_keys_that_are_no_metrics(tmp_path: Path) -> None:
    old = {
        "results": {"arc_easy": {"acc": 0.5, "acc_stderr": 0.1, "acc_norm": 0.4, "acc_norm_stderr": 0.2}},
        "versions": {"arc_easy": 0},
        "config": {
            "model": "gpt2",
            "model_args": "pretrained=gpt2",
            "num_fewshot": 5,
            "limit": None,
            "bootstrap_iters": 100000,
        },
    }
    write(tmp_path / "out.json", old)
    data = load(tmp_path)
    assert data.aggregates.select("metric", "estimate", "std_error").rows() == [
        ("acc", 0.5, 0.1),
        ("acc_norm", 0.4, 0.2),
    ]
    run = only(data.runs)
    assert (run["model"], run["n_shots"], run["task_version"]) == ("gpt2", 5, "0")


def test_sample_len_sample_count_alias_and_bypass_are_no_metrics(tmp_path: Path) -> None:
    numbers = {
        "name": "t",
        "alias": " - t",
        "sample_len": 7,
        "sample_count": {"acc,none": 7},
        "bypass,none": 999,
        "acc,none": 0.5,
        "acc_stderr,none": "N/A",
    }
    write(tmp_path / "results.json", results({"t": numbers}))
    data = load(tmp_path)
    row = only(data.aggregates)
    assert (row["metric"], row["estimate"], row["std_error"], row["n"]) == ("acc", 0.5, None, 7)
    assert row["method"] == "published, no stderr"


def test_published_nan_is_null_and_kept_raw(tmp_path: Path) -> None:
    write(
        tmp_path / "results.json", '{"results": {"t": {"acc,none": NaN, "acc_stderr,none": NaN}}, "n-shot": {"t": 0}}'
    )
    row = only(load(tmp_path).aggregates)
    assert (row["estimate"], row["std_error"], row["value_raw"]) == (None, None, "nan")


GROUPED = {
    "mmlu": {"alias": "mmlu", "acc,none": 0.5, "acc_stderr,none": 0.05},
    "mmlu_stem": {"alias": " - stem", "acc,none": 0.5, "acc_stderr,none": 0.06},
    "mmlu_physics": {"alias": "  - physics", "acc,none": 0.5, "acc_stderr,none": 0.07},
    "alone": {"alias": "alone", "acc,none": 1.0, "acc_stderr,none": 0.0},
}
SUBTASKS = {"mmlu": ["mmlu_stem"], "mmlu_stem": ["mmlu_physics"], "mmlu_physics": [], "alone": []}


@pytest.mark.parametrize("named", [True, False], ids=["groups named", "older: groups among the tasks only"])
def test_groups_are_aggregates_once_and_never_outcomes(tmp_path: Path, named: bool) -> None:
    groups = {"groups": {name: GROUPED[name] for name in ("mmlu", "mmlu_stem")}} if named else {}
    published = results(GROUPED, group_subtasks=SUBTASKS, **groups)
    write_run(
        tmp_path, published, {"mmlu_physics": [sample(0, acc=1.0), sample(1, acc=0.0)], "alone": [sample(0, acc=1.0)]}
    )
    data = load(tmp_path)
    assert sorted(data.aggregates.select("benchmark", "task", "method").rows()) == [
        ("alone", "alone", "published"),
        ("mmlu", "", "published, pooled stderr"),
        ("mmlu", "mmlu_physics", "published"),
        ("mmlu", "mmlu_stem", "published, pooled stderr"),
    ]
    assert sorted(data.outcomes.select("benchmark", "task").unique().rows()) == [
        ("alone", "alone"),
        ("mmlu", "mmlu_physics"),
    ]
    assert sorted(data.runs["benchmark"]) == ["alone", "mmlu"]


def test_groups_that_stand_under_groups_only(tmp_path: Path) -> None:
    published = results({"t": GROUPED["alone"]}, groups={"g": {"acc,none": 0.5}}, group_subtasks={"g": ["t"]})
    write(tmp_path / "results.json", published)
    rows = load(tmp_path).aggregates.select("benchmark", "task", "estimate").rows()
    assert sorted(rows) == [("g", "", 0.5), ("g", "t", 1.0)]


def test_task_in_two_groups_and_circular_groups_are_their_own_benchmark(tmp_path: Path) -> None:
    """A task that two top-level groups share belongs to neither; groups that contain each other have no top."""
    published = results(
        {"shared": {"acc,none": 1.0}, "round": {"acc,none": 1.0}},
        group_subtasks={"g1": ["shared"], "g2": ["shared"], "c1": ["c2", "round"], "c2": ["c1"]},
    )
    write(tmp_path / "results.json", published)
    assert sorted(load(tmp_path).aggregates["benchmark"]) == ["round", "shared"]


def test_a_group_whose_tasks_share_no_metric_is_a_list_of_benchmarks(tmp_path: Path) -> None:
    """A suite of one's own, or the group `leaderboard`: no metric of it would speak of all of its tasks."""
    published = results(
        {**GROUPED, "gsm8k": {"exact_match,strict-match": 0.5}},
        group_subtasks={"suite": ["mmlu", "gsm8k"], **SUBTASKS},
        groups={"suite": {"alias": "suite"}},
    )
    answers = [sample(0, filter_name="strict-match", exact_match=1.0)]
    write_run(tmp_path, published, {"mmlu_physics": [sample(0, acc=1.0)], "gsm8k": answers})
    data = load(tmp_path)
    assert sorted(data.outcomes.select("benchmark", "task").rows()) == [("gsm8k", "gsm8k"), ("mmlu", "mmlu_physics")]
    headlines = data.metrics.filter(pl.col("primary") & pl.col("benchmark").is_in(data.outcomes["benchmark"].to_list()))
    assert dict(headlines.select("benchmark", "metric").iter_rows()) == {
        "gsm8k": "exact_match,strict-match",
        "mmlu": "acc",
    }


def test_a_results_file_given_alone_is_read_with_the_samples_beside_it(tmp_path: Path) -> None:
    path = write_run(tmp_path, results({"t": {"acc,none": 1.0}}), {"t": [sample(0, acc=1.0)]})
    write(tmp_path / "samples_t_2020-01-01T00-00-00.jsonl", lines([sample(7, acc=0.0)]))
    (told, source) = LOADER.plan([path])
    assert isinstance(source, Source)
    assert [each.name for each in source.companions] == [f"samples_t_{STAMP}.jsonl"]
    assert "its samples lie beside it (1 file) and are read too" in str(told)
    path.write_text(path.read_text("utf-8")[:-9], "utf-8")
    with pytest.raises(InputError, match=r"could be read: \S+: is not JSON, or is cut off"):
        read(path)


def test_a_results_file_in_a_folder_that_may_not_be_listed_is_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_run(tmp_path, results({"t": {"acc,none": 1.0}}), {})

    def refuse(_: Path) -> Iterable[Path]:
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert [*LOADER.plan([path])] == [Source(path=path)]


def test_the_first_metric_of_samples_without_results_is_their_headline(tmp_path: Path) -> None:
    write(tmp_path / "org__m" / f"samples_t_{STAMP}.jsonl", lines([sample(0, acc=1.0, acc_norm=0.0)]))
    assert load(tmp_path).metrics.filter("primary")["metric"].to_list() == ["acc"]


def test_samples_that_list_other_metrics_than_the_first_are_read_whole(tmp_path: Path) -> None:
    rows = [sample(0, acc=1.0), sample(1, acc=0.0, f1=0.5), old_sample(2, acc=1.0)]
    write_run(tmp_path, results({"t": {}}), {"t": rows})
    assert load(tmp_path).outcomes.select("doc_id", "metric", "score").rows() == [
        (0, "acc", 1.0),
        (1, "acc", 0.0),
        (1, "f1", 0.5),
        (2, "acc", 1.0),
    ]


def test_a_metric_may_be_called_as_no_field_of_a_record_may(tmp_path: Path) -> None:
    write_run(tmp_path, results({"t": {}}), {"t": [sample(0, **{'a"c\\': 1.0})]})
    assert load(tmp_path).outcomes.select("metric", "score").rows() == [('a"c\\', 1.0)]


def test_a_sample_whose_metrics_are_no_list_has_the_scores_that_it_holds(tmp_path: Path) -> None:
    write_run(tmp_path, results({"t": {}}), {"t": [sample(0, acc=1.0), sample(1, acc=0.0) | {"metrics": "acc"}]})
    assert load(tmp_path).outcomes.select("metric", "score").rows() == [("acc", 1.0), ("acc", 0.0)]


def test_settings_that_make_runs_incomparable_are_in_runs(tmp_path: Path) -> None:
    config = {
        "model": "vllm",
        "model_args": {"pretrained": "org/m", "dtype": "auto"},
        "model_sha": "cafe",
        "limit": 10.0,
        "gen_kwargs": "temperature=0.6,top_p=0.95",
        "random_seed": 0,
    }
    configs = {
        "t": {
            "doc_to_text": "Q: {{q}}",
            "num_fewshot": 3,
            "generation_kwargs": {"temperature": 0.0, "do_sample": False},
            "repeats": 8,
        }
    }
    published = results(
        {"t": {"exact_match,none": 0.0}},
        config=config,
        configs=configs,
        versions={"t": 2.5},
        model_name=None,
        **{"n-shot": {"t": 3}, "task_hashes": {"t": "ha"}, "chat_template_sha": "c0ffee"},
    )
    write(tmp_path / "a" / "results.json", published)
    write(
        tmp_path / "b" / "results.json", published | {"configs": {"t": configs["t"] | {"doc_to_text": "Frage: {{q}}"}}}
    )
    write(tmp_path / "c" / "results.json", published | {"date": 1.0, "chat_template_sha": "dead"})
    a, b, c = (only(load(tmp_path / folder).runs) for folder in "abc")
    assert (a["model"], a["task_version"], a["n_shots"], a["temperature"], a["item_limit"]) == (
        "org/m",
        "2.5",
        3,
        0.6,
        10,
    )
    assert a["prompt_hash"] != b["prompt_hash"]  # another template
    assert a["prompt_hash"] == c["prompt_hash"]  # each model has its own chat template
    kept = json.loads(a["config"])
    assert kept["model_args"] == {"pretrained": "org/m", "dtype": "auto"}
    assert (kept["model_sha"], kept["chat_template_sha"], kept["random_seed"]) == ("cafe", "c0ffee", 0)
    assert (kept["repeats"], kept["task_hashes"]) == ({"t": 8}, {"t": "ha"})


def test_settings_that_tasks_of_a_group_do_not_share_are_kept_task_by_task(tmp_path: Path) -> None:
    published = results(
        {"t_a": {"acc,none": 1.0}, "t_b": {"acc,none": 1.0}},
        group_subtasks={"g": ["t_a", "t_b"]},
        versions={"t_a": 1, "t_b": 2},
        config={"limit": 0.5},
        **{"n-shot": {"t_a": 0, "t_b": 5}, "n-samples": {"t_a": {"effective": 6}, "t_b": {"effective": 4}}},
    )
    write(tmp_path / "results.json", published)
    run = only(load(tmp_path).runs)
    assert (run["benchmark"], run["n_shots"], run["task_version"]) == ("g", None, None)
    assert run["item_limit"] == 10  # half of each task: the documents that were run
    kept = json.loads(run["config"])
    assert (kept["shots"], kept["versions"]) == ({"t_a": 0, "t_b": 5}, {"t_a": "1", "t_b": "2"})


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("pretrained=org/base,peft=org/adapter,dtype=auto", "org/adapter"),
        ({"model": "gpt-x", "base_url": "http://localhost"}, "gpt-x"),
        ('{"path": "/models/m"}', "/models/m"),
    ],
)
def test_model_is_named_by_its_arguments_where_the_harness_gives_no_name(
    tmp_path: Path, args: object, expected: str
) -> None:
    published = results({"t": {"acc,none": 1.0}}, config={"model": "hf", "model_args": args})
    del published["model_name"]
    write(tmp_path / "results.json", published)
    assert only(load(tmp_path).runs)["model"] == expected


def test_direction_of_metrics(tmp_path: Path) -> None:
    published = results(
        {"t": {"acc,none": 1.0, "word_perplexity,none": 20.0, "odd,none": 3.0}},
        higher_is_better={"t": {"acc": True, "word_perplexity": None, "odd": False}},
    )
    write_run(tmp_path, published, {"t": [sample(0, acc=1.0, odd=3.0)]})
    directions = dict(load(tmp_path).metrics.select("metric", "higher_is_better").rows())
    # null in the file: the harness defines perplexity as lower-is-better (lm_eval/api/metrics.py)
    assert directions == {"acc": True, "odd": False, "word_perplexity": False}


def test_a_document_has_a_row_for_every_filter(tmp_path: Path) -> None:
    rows = [
        sample(n, filter_name=f, exact_match=float(f == "flexible-extract"))
        for f in ("strict-match", "flexible-extract")
        for n in (0, 1)
    ]
    write_run(
        tmp_path, results({"t": {"exact_match,strict-match": 0.0, "exact_match,flexible-extract": 1.0}}), {"t": rows}
    )
    data = load(tmp_path)
    means = dict(data.outcomes.group_by("metric").agg(pl.col("score").mean()).rows())
    assert means == {"exact_match,strict-match": 0.0, "exact_match,flexible-extract": 1.0}
    assert data.outcomes["item"].n_unique() == 2
    assert set(data.outcomes["metric"]) == set(data.aggregates["metric"])


def test_a_line_lost_under_one_of_two_filters_is_noticed(tmp_path: Path) -> None:
    """The document is known from its other line, so that no count of documents shows it."""
    rows = [sample(n, filter_name=f, exact_match=1.0) for f in ("strict-match", "flexible-extract") for n in range(8)]
    published = results({"t": {"exact_match,strict-match": 1.0, "exact_match,flexible-extract": 1.0}})
    write_run(tmp_path / "whole", published, {"t": rows})
    assert "under one filter" not in messages(load(tmp_path / "whole"))
    write_run(tmp_path / "cut", published, {"t": rows[1:]})
    told = messages(load(tmp_path / "cut"))
    assert "7 documents under one filter and 8 under another: lines were lost" in told


def test_rows_without_filter_names_take_those_of_the_task_in_order(tmp_path: Path) -> None:
    """0.4.0 to 0.4.2 wrote a row per filter and did not say which."""
    rows = [old_sample(n, exact_match=score) for score in (0.0, 1.0) for n in (0, 1)]
    filters = [{"name": "strict", "filter": []}, {"name": "flexible", "filter": []}]
    write_run(tmp_path / "a", results({"t": {}}, configs={"t": {"filter_list": filters}}), {"t": rows})
    means = dict(load(tmp_path / "a").outcomes.group_by("metric").agg(pl.col("score").mean()).rows())
    assert means == {"exact_match,strict": 0.0, "exact_match,flexible": 1.0}
    write(tmp_path / "b" / f"samples_t_{STAMP}.jsonl", lines(rows))
    assert set(load(tmp_path / "b").outcomes["metric"]) == {"exact_match", "exact_match,filter-2"}


def test_item_is_the_documents_hash_and_doc_id_a_factor(tmp_path: Path) -> None:
    """Two models pair by content: doc_id is only a place in the split, and `--limit` or shuffling move it."""
    write_run(tmp_path / "a", results({"t": {}}), {"t": [sample(0, doc=7, acc=1.0), sample(1, doc=8, acc=0.0)]})
    write_run(tmp_path / "b", results({"t": {}}, model_name="org/k"), {"t": [sample(0, doc=8, acc=1.0)]})
    a, b = load(tmp_path / "a").outcomes, load(tmp_path / "b").outcomes
    assert a.select("item", "doc_id").rows() == [(HASHES[7], 0), (HASHES[8], 1)]
    joined = a.join(b, on=["benchmark", "task", "item", "metric"])
    assert joined.select("item", "score", "score_right").rows() == [(HASHES[8], 0.0, 1.0)]
    assert a["prompt_hash"].to_list() == [("p07" * 16)[:16], ("p08" * 16)[:16]]


def test_documents_that_stand_twice_in_a_task_stay_apart_alike_for_all_models(tmp_path: Path) -> None:
    rows = [
        sample(n, doc=doc, filter_name=f, acc=1.0) for f in ("x", "y") for n, doc in ((0, 5), (1, 6), (2, 5), (3, 5))
    ]
    write_run(tmp_path / "a", results({"t": {}}), {"t": rows})
    write_run(tmp_path / "b", results({"t": {}}), {"t": rows[:4]})
    a, b = load(tmp_path / "a").outcomes, load(tmp_path / "b").outcomes
    expected = [HASHES[5], HASHES[6], f"{HASHES[5]}#2", f"{HASHES[5]}#3"]
    assert a.filter(filter="x")["item"].to_list() == expected
    assert a.filter(filter="y")["item"].to_list() == expected
    assert b["item"].to_list() == expected


def test_documents_without_doc_id_are_told_apart_by_hash(tmp_path: Path) -> None:
    rows = [{key: value for key, value in sample(0, acc=1.0).items() if key != "doc_id"} for _ in range(2)]
    write_run(tmp_path, results({"t": {}}), {"t": rows})
    assert load(tmp_path).outcomes["item"].to_list() == [HASHES[0], f"{HASHES[0]}#2"]


def test_instruction_level_lists_become_means_whose_pooled_mean_is_the_published_number(tmp_path: Path) -> None:
    """IFEval: `agg_inst_level_acc` flattens all lists, so here (1 + 0 + 1 + 1) / 4 = .75, not the mean of means .833."""
    rows = [
        sample(0, prompt_level_strict_acc=False, inst_level_strict_acc=[True, False, True]),
        sample(1, prompt_level_strict_acc=True, inst_level_strict_acc=[True]),
    ]
    write_run(tmp_path, results({"ifeval": {"inst_level_strict_acc,none": 0.75}}), {"ifeval": rows})
    data = load(tmp_path)
    parts = data.outcomes.filter(metric="inst_level_strict_acc")
    assert parts.select("trial", "n_trials", "value_raw").rows() == [(None, 3, "[true, false, true]"), (0, 1, "[true]")]
    pooled = (parts["score"] * parts["n_trials"]).sum() / parts["n_trials"].sum()
    assert pooled == pytest.approx(0.75)
    kinds = dict(data.metrics.select("metric", "kind").rows())
    assert kinds == {"prompt_level_strict_acc": "binary", "inst_level_strict_acc": "proportion"}
    assert data.outcomes.filter(metric="prompt_level_strict_acc").select("score", "value_raw").rows() == [
        (0.0, "false"),
        (1.0, "true"),
    ]


@pytest.mark.parametrize(
    ("metric", "value", "raw", "reason"),
    [
        ("f1", [1, 0], "[1, 0]", "from all documents together"),
        ("mcc", [True, False], "[true, false]", "from all documents together"),
        ("word_perplexity", [-12.5, 7], "[-12.5, 7]", "from all documents together"),
        ("brier_score", [1, [0.2, 0.8]], "[1, [0.2, 0.8]]", "from all documents together"),
        ("chart", {"pred": "D"}, '{"pred": "D"}', "not a number"),
        ("acc", "wrong", "wrong", "not a number"),
        ("acc", None, None, "null"),
        ("acc", float("nan"), "NaN", "NaN"),
        ("bypass", 999, "999", "only to predict"),
    ],
)
def test_values_that_are_no_number_per_document_are_unscored(
    tmp_path: Path, metric: str, value: object, raw: str | None, reason: str
) -> None:
    write_run(tmp_path, results({"t": {}}), {"t": [sample(0, **{metric: value})]})
    row = only(load(tmp_path).outcomes)
    assert (row["status"], row["score"], row["value_raw"]) == ("unscored", None, raw)
    assert reason in str(row["status_reason"])


def test_numbers_that_were_turned_into_text_are_numbers(tmp_path: Path) -> None:
    """`handle_non_serializable` writes np.float32 as text."""
    write_run(tmp_path, results({"t": {}}), {"t": [sample(0, acc="0.5")]})
    row = only(load(tmp_path).outcomes)
    assert (row["score"], row["value_raw"]) == (0.5, "0.5")


def test_perplexity_of_a_document_is_its_log_likelihood(tmp_path: Path) -> None:
    """The harness logs `{"perplexity": ll}` per document and publishes exp(-mean ll): the directions are opposite."""
    scores = [-log(2), -log(8)]
    published = results({"t": {"perplexity,none": 4.0}})
    write_run(tmp_path, published, {"t": [sample(n, perplexity=score) for n, score in enumerate(scores)]})
    data = load(tmp_path)
    assert set(data.outcomes["metric"]) == {"loglikelihood"}
    assert exp(-data.outcomes["score"].mean()) == pytest.approx(only(data.aggregates)["estimate"])
    directions = dict(data.metrics.select("metric", "higher_is_better").rows())
    assert directions == {"loglikelihood": True, "perplexity": False}


def test_metrics_named_but_absent_are_unscored(tmp_path: Path) -> None:
    row = sample(0, acc=1.0) | {"metrics": ["acc", "acc_norm"]}
    write_run(tmp_path, results({"t": {}}), {"t": [row]})
    assert sorted(load(tmp_path).outcomes.select("metric", "status").rows()) == [
        ("acc", "scored"),
        ("acc_norm", "unscored"),
    ]


def test_a_metric_named_by_half_a_character_does_not_cost_the_file(tmp_path: Path) -> None:
    write_run(tmp_path, results({"t": {}}), {"t": [sample(0, **{"a\ud83d": 1.0, "acc": 1.0}), sample(1, acc=0.0)]})
    write_run(tmp_path / "old", results({"t": {}}), {"t": [old_sample(0, **{"a\ud83d": 1.0, "acc": 1.0})]})
    for folder, n in ((tmp_path / "old", 1), (tmp_path, 3)):
        data = load(folder)
        assert data.outcomes.filter(metric="acc").height == n
        assert "a\ufffd" in data.outcomes["metric"]


def test_row_without_any_metric_is_unscored_for_those_published(tmp_path: Path) -> None:
    write_run(
        tmp_path, results({"t": {"acc,none": 1.0, "exact_match,other": 0.0}}), {"t": [sample(0), sample(1, acc=1.0)]}
    )
    assert load(tmp_path).outcomes.select("metric", "status").rows() == [("acc", "unscored"), ("acc", "scored")]


def generation(doc_id: int, filter_name: str, answers: list[str], score: float) -> dict[str, object]:
    return sample(doc_id, filter_name=filter_name, exact_match=score) | {
        "resps": [answers],
        "filtered_resps": answers[:1],
    }


def test_repeats_in_one_row_have_no_score_per_trial(tmp_path: Path) -> None:
    """`repeats: 4`: the filter that votes over k gives one number over k trials, the one that takes the first one trial."""
    answers = ["1", "2", "1", "1"]
    steps = {
        "first": [{"function": "regex"}, {"function": "take_first"}],
        "maj@4": [{"function": "regex"}, {"function": "majority_vote"}, {"function": "take_first"}],
        "maj@2": [{"function": "take_first_k", "k": 2}, {"function": "majority_vote"}, {"function": "take_first"}],
        "all": [{"function": "regex"}],
    }
    configs = {
        "t": {"repeats": 4, "filter_list": [{"name": name, "filter": filters} for name, filters in steps.items()]}
    }
    write_run(
        tmp_path / "a",
        results({"t": {}}, configs=configs),
        {"t": [generation(0, name, answers, 1.0) for name in steps]},
    )
    rows = load(tmp_path / "a").outcomes.select("filter", "trial", "n_trials").rows()
    assert rows == [("first", 0, 1), ("maj@4", None, 4), ("maj@2", None, 2), ("all", None, 4)]
    # without the task's configuration, what the filter did is unknown
    write(
        tmp_path / "b" / f"samples_t_{STAMP}.jsonl",
        lines([generation(0, "x", answers, 1.0), generation(1, "x", ["1"], 1.0)]),
    )
    assert load(tmp_path / "b").outcomes.select("trial", "n_trials").rows() == [(None, 4), (0, 1)]


def test_choices_are_not_taken_for_repeats(tmp_path: Path) -> None:
    """Multiple choice has one list of responses for each choice, each with a pair [log-likelihood, greedy]."""
    one_choice = sample(0, acc=1.0) | {"resps": [[["-0.79", "False"]]]}
    write_run(tmp_path, results({"t": {}}), {"t": [one_choice, sample(1, acc=1.0)]})
    assert load(tmp_path).outcomes["n_trials"].to_list() == [1, 1]


def test_metric_kind_follows_from_the_scores_seen(tmp_path: Path) -> None:
    rows = [sample(0, acc=1.0, part=0.5, bleu=31.4), sample(1, acc=0.0, part=1.0, bleu=2.0)]
    write_run(tmp_path, results({"t": {}}), {"t": rows})
    kinds = {
        row["metric"]: (row["kind"], row["low"], row["high"]) for row in load(tmp_path).metrics.iter_rows(named=True)
    }
    assert kinds == {"acc": ("binary", 0.0, 1.0), "part": ("bounded", 0.0, 1.0), "bleu": ("continuous", None, None)}


def test_first_leaderboard_results(tmp_path: Path) -> None:
    old = {
        "config_general": {
            "lighteval_sha": "ab12",
            "model_name": "org/m",
            "model_sha": "cafe",
            "max_samples": 0,
            "start_time": 1.5,
        },
        "results": {
            "harness|arc:challenge|25": {"acc": 0.5, "acc_stderr": 0.01, "acc_norm": 0.6, "acc_norm_stderr": 0.02},
            "harness|hendrycksTest-anatomy|5": {"acc": 0.3, "acc_stderr": 0.04},
            "harness|hendrycksTest-virology|5": {"acc": 0.4, "acc_stderr": 0.05},
            "leaderboard|mmlu:_average|5": {"acc": 0.35},
            "all": {"acc": 0.9, "acc_stderr": 0.001},
        },
        "versions": {"harness|arc:challenge|25": 0, "all": 0},
        "config_tasks": {"harness|arc:challenge": "LM Harness task"},
        "summary_tasks": {"harness|arc:challenge|25": {"hashes": {}}},
    }
    path = write(tmp_path / "results_2023-08-09T10-55-53.123456.json", old)
    assert LOADER.sniff(read_head(path)) is not None
    data = load(tmp_path)
    assert data.aggregates.select("benchmark", "task", "metric", "estimate", "std_error").rows() == [
        ("arc", "challenge", "acc", 0.5, 0.01),
        ("arc", "challenge", "acc_norm", 0.6, 0.02),
        ("hendrycksTest", "anatomy", "acc", 0.3, 0.04),
        ("hendrycksTest", "virology", "acc", 0.4, 0.05),
        ("mmlu", "", "acc", 0.35, None),
    ]
    assert data.aggregates["date"].cast(pl.String).unique().to_list() == ["2023-08-09"]
    arc = only(data.runs, benchmark="arc")
    assert (arc["model"], arc["harness"], arc["harness_version"], arc["n_shots"]) == ("org/m", "lighteval", "ab12", 25)
    assert arc["item_limit"] is None  # max_samples 0 is none
    assert "without samples" in messages(data)


def test_files_are_recognised_by_a_head_that_cuts_them_off(tmp_path: Path) -> None:
    many = {f"task_{n}": {"alias": f"task_{n}", "acc,none": 0.5, "acc_stderr,none": 0.1} for n in range(2000)}
    long_document = sample(0, acc=1.0) | {"doc": {"text": "x" * 200_000}}
    assert LOADER.sniff(read_head(write(tmp_path / f"results_{STAMP}.json", results(many)))) is not None
    assert LOADER.sniff(read_head(write(tmp_path / f"samples_t_{STAMP}.jsonl", lines([long_document])))) is not None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"results": {"t": {"acc,none": 0.5}', "cut off"),
        (b"", "empty"),
        (b'{"results": {"t\xff": {"acc,none": 0.5}}}', "not utf-8 text"),
        (b'{"results": [1, 2]}', "no object 'results'"),
        (b'{"config": {}}', "no object 'results'"),
        (b'{"results": {}}', "nothing to read"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_damaged_results_are_refused_by_name(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / f"results_{STAMP}.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=expected) as error:
        read_source(LOADER, with_digest(Source(path=path)))
    assert path.name in str(error.value)


GOOD_LINE = json.dumps(sample(0, acc=1.0))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"{GOOD_LINE}\n{GOOD_LINE[:50]}".encode(), "line 2: is not JSON, or is cut off"),
        (f"{GOOD_LINE}\n".encode() + b'{"doc_id": "\xe9"}\n', "not utf-8 text"),
        (f"{GOOD_LINE}\n[1]\n".encode(), "line 2: no JSON object"),
        (f'{GOOD_LINE}\n{{"acc": 1.0}}\n'.encode(), "line 2: has neither 'doc_hash' nor 'doc_id'"),
        (f"{GOOD_LINE}\n{GOOD_LINE}\n".encode(), "document 0 appears twice under the filter 'none'"),
    ],
    ids=["cut off", "encoding", "no object", "no id", "appended twice"],
)
def test_damaged_samples_are_refused_by_name_and_line(tmp_path: Path, content: bytes, expected: str) -> None:
    write(tmp_path / f"results_{STAMP}.json", results({"t": {}}))
    (tmp_path / f"samples_t_{STAMP}.jsonl").write_bytes(content)
    with pytest.raises(UnreadableFileError, match=expected) as error:
        load(tmp_path)
    assert f"samples_t_{STAMP}.jsonl" in str(error.value)


def test_rows_are_handed_on_while_the_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded by a block; a fault further on is met before the first rows are made."""
    monkeypatch.setattr("evalstats.loaders.typed_records._BLOCK_BYTES", 1 << 20)
    good = lines(sample(n, doc=n % 100, acc=1.0) | {"target": "x" * 10_000} for n in range(1_000))
    path = write(tmp_path / f"samples_t_{STAMP}.jsonl", good)
    heights = [part.frame.height for part in LOADER.read(Source(path=path)) if isinstance(part, Frame)]
    assert len(heights) > 1
    assert sum(heights) == 1_000
    cut = write(tmp_path / f"samples_u_{STAMP}.jsonl", good + "{cut")
    with pytest.raises(UnreadableFileError):
        next(part for part in LOADER.read(Source(path=cut)) if isinstance(part, Frame))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a|b", "a\nb", "=cmd()", "../../etc/passwd"])
def test_hostile_names_are_data(tmp_path: Path, name: str) -> None:
    published = results(
        {name: {"acc,none": 1.0}}, model_name=name, samples={name: [sample(0, acc=1.0) | {"doc_hash": name}]}
    )
    write(tmp_path / "results.json", published)
    data = load(tmp_path)
    assert data.models() == (name,)
    assert data.outcomes.select("benchmark", "task", "item").rows() == [(name, name, name)]


def test_numbers_out_of_bounds_do_not_cost_the_file(tmp_path: Path) -> None:
    published = results(
        {"t": {"acc,none": 0.5, "acc_stderr,none": -1.0}},
        config={"limit": -5, "gen_kwargs": {"temperature": -1}},
        **{"n-shot": {"t": -1}, "n-samples": {"t": {"effective": -3}}},
    )
    write(tmp_path / "results.json", published)
    data = load(tmp_path)
    assert only(data.aggregates)["std_error"] is None
    assert only(data.runs)["n_shots"] is None
