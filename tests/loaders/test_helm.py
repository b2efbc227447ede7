"""HELM's run folders: real ones, every state, perturbations, trials, and files that are not whole."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Source
from evalstats.loaders.formats.helm import FORMAT, perturbation_name
from evalstats.loaders.registry import plan

TYPOS = {"name": "typos", "robustness": True, "fairness": False, "computed_on": "perturbed", "prob": 0.05}


def stat(name: str, value: float | None, *, split: str = "test", count: int = 1, **more: Any) -> dict[str, Any]:
    """One statistic as HELM writes it; without a value, one whose count is 0."""
    called = {"name": name, "split": split, **more}
    if value is None:
        return {"name": called, "count": 0, "sum": 0, "sum_squared": 0}
    numbers = {"count": count, "sum": value * count, "sum_squared": value * value * count, "min": value, "max": value}
    return {"name": called, **numbers, "mean": value, "variance": 0.0, "stddev": 0.0}


def entry(item: str, *stats: dict[str, Any], trial: int = 0, perturbation: object = None) -> dict[str, Any]:
    found: dict[str, Any] = {"instance_id": item, "train_trial_index": trial, "stats": list(stats)}
    return {**found, "perturbation": perturbation} if perturbation else found


def right(item: str, value: float | None, **more: Any) -> dict[str, Any]:
    """An instance with one score among the statistics of its request."""
    perturbation = {"perturbation": more["perturbation"]} if more.get("perturbation") else {}
    request = (stat("num_prompt_tokens", 12), stat("num_completion_tokens", 3), stat("inference_runtime", 0.25))
    return entry(item, *request, stat("logprob", -1.5), stat("exact_match", value, **perturbation), **more)


def request(
    item: str, text: str, *, success: bool = True, trial: int = 0, perturbation: object = None
) -> dict[str, Any]:
    instance = {"input": {"text": text}, "references": [], "split": "test", "id": item}
    result: dict[str, Any] = {
        "success": success,
        "embedding": [],
        "completions": [{"text": "", "logprob": 0}],
        "cached": False,
    }
    result |= {"request_datetime": 1_700_000_000} if success else {"error": "content was blocked\nat line 1"}
    if perturbation:
        instance["perturbation"] = perturbation
    return {"instance": instance, "train_trial_index": trial, "request": {"prompt": f"Q: {text}"}, "result": result}


def spec(model: str = "maker/one", *, perturbed: bool = False, **adapter: Any) -> dict[str, Any]:
    settings = {
        "method": "multiple_choice_joint",
        "instructions": "Answer.",
        "max_train_instances": 5,
        "temperature": 0.0,
    }
    settings |= {"max_eval_instances": 4, "num_train_trials": 1, "model": model, "model_deployment": f"host/{model}"}
    return {
        "name": f"mmlu:subject=law,method=multiple_choice_joint,model={model.replace('/', '_')},stop=hash",
        "scenario_spec": {"class_name": "helm.MMLUScenario", "args": {"subject": "law"}},
        "adapter_spec": settings | adapter,
        "metric_specs": [{"class_name": "BasicGenerationMetric", "args": {"names": ["exact_match"]}}],
        "data_augmenter_spec": {"perturbation_specs": [{"class_name": "TyposPerturbation"}] if perturbed else []},
        "groups": ["mmlu"],
    }


def folder(where: Path, **files: object) -> Path:
    """A run folder with these files (`state`, `stats`, `instances`, `spec`)."""
    names = {"instances": "per_instance_stats", "state": "scenario_state", "spec": "run_spec"}
    where.mkdir(parents=True)
    for name, content in files.items():
        (where / f"{names.get(name, name)}.json").write_text(json.dumps(content, indent=2))
    return where


def outcomes(data: es.EvalData, *columns: str) -> list[tuple[object, ...]]:
    return data.outcomes.select("item", "variant", "trial", "metric", "score", "status", *columns).rows()


def test_real_runs_give_the_published_means(shared_data: Path) -> None:
    data = es.read(shared_data / "every_eval_ever" / "helm")
    assert sorted(data.models()) == ["eleutherai/pythia-1b-v0", "openai/gpt2"]
    assert data.runs["n_scored"].to_list() == [80, 80]
    assert data.outcomes.group_by("run").agg(pl.col("item").n_unique())["item"].to_list() == [10, 10]
    keys = ["run", "metric", "split"]
    means = data.outcomes.group_by(keys).agg(pl.col("score").mean(), n_items=pl.len())
    both = data.aggregates.join(means, on=keys, how="full", coalesce=True)
    assert both.height == data.aggregates.height == 24
    assert (both["estimate"] - both["score"]).abs().max() < 1e-12
    assert both["n"].to_list() == both["n_items"].to_list()
    # gpt2 in philosophy: 1 of 9 in the split test, 0 of 1 in valid; 3 of 10 of HellaSwag
    shown = (
        data.aggregates.filter(metric="exact_match").select("benchmark", "split", "estimate").sort("benchmark", "split")
    )
    assert shown.rows() == [
        ("commonsense", "valid", 0.3),
        ("mmlu", "test", pytest.approx(1 / 9)),
        ("mmlu", "valid", 0.0),
    ]
    (note,) = data.problems
    assert "splits test, valid" in note.message
    assert "--where split=test" in note.message


def test_rows_of_a_small_run(tmp_path: Path) -> None:
    files = {
        "spec": spec(),
        "instances": [right("id1", 1.0), right("id2", 0.0)],
        "stats": [stat("exact_match", 0.5), stat("num_prompt_tokens", 12.0)],
        "state": {"adapter_spec": {}, "request_states": [request("id1", "a"), request("id2", "b")]},
    }
    data = es.read(folder(tmp_path / "mmlu:subject=law,model=maker_one", **files))
    # the tokens' likelihood is no score of an answer that was chosen
    assert outcomes(data) == [
        ("id1", "", 0, "exact_match", 1.0, "scored"),
        ("id2", "", 0, "exact_match", 0.0, "scored"),
    ]
    first = data.outcomes.row(0, named=True)
    # the argument `stop`, which the model brings with it, does not part it from other models
    assert (first["benchmark"], first["task"]) == ("mmlu", "subject=law,method=multiple_choice_joint")
    assert (first["input_tokens"], first["output_tokens"], first["latency_s"]) == (12, 3, 0.25)
    assert (first["split"], first["locator"]) == ("test", "[0]")
    assert data.outcomes["prompt_hash"].n_unique() == 2
    (run,) = data.runs.to_dicts()
    assert (run["model"], run["harness"], run["n_shots"], run["item_limit"]) == ("maker/one", "HELM", 5, 4)
    assert (run["temperature"], run["timestamp"].year) == (0.0, 2023)
    assert json.loads(run["config"])["model_deployment"] == "host/maker/one"
    (published,) = data.aggregates.to_dicts()
    assert (published["estimate"], published["n"], published["std_error"]) == (0.5, 2, None)
    (metric,) = data.metrics.to_dicts()
    assert (metric["kind"], metric["higher_is_better"], metric["primary"]) == ("binary", True, True)
    assert data.problems == ()


def test_a_perturbed_instance_is_a_variant_with_a_metric_of_its_own(tmp_path: Path) -> None:
    seeded = {**TYPOS, "seed": 1}
    files = {
        "spec": spec(perturbed=True),
        "instances": [
            right("id1", 1.0),
            right("id1", 0.0, perturbation=TYPOS),
            right("id1", 1.0, perturbation=seeded),
            right("id1", 0.0, trial=1),
        ],
        "stats": [
            stat("exact_match", 0.5, count=2),
            stat("exact_match", 0.0, perturbation=TYPOS),
            stat("exact_match", 0.0, perturbation={**TYPOS, "computed_on": "worst"}),
            stat("exact_match", 1.0, perturbation={**TYPOS, "computed_on": "original"}),
        ],
    }
    data = es.read(folder(tmp_path / "run", **files))
    assert outcomes(data) == [
        ("id1", "", 0, "exact_match", 1.0, "scored"),
        ("id1", "typos(prob=0.05)", 0, "exact_match/perturbed", 0.0, "scored"),
        ("id1", "typos(prob=0.05,seed=1)", 0, "exact_match/perturbed", 1.0, "scored"),
        ("id1", "", 1, "exact_match", 0.0, "scored"),
    ]
    # `count` is the number of trials, not of instances
    assert data.aggregates.select("metric", "variant", "n", "estimate").rows() == [
        ("exact_match", "", 2, 0.5),
        ("exact_match/perturbed", "typos(prob=0.05)", 1, 0.0),
        ("exact_match/worst", "typos(prob=0.05)", None, 0.0),
        ("exact_match/original", "typos(prob=0.05)", None, 1.0),
    ]
    assert "over 2 trials" in data.aggregates["method"][0]
    assert data.metrics.filter(primary=True)["metric"].to_list() == ["exact_match"]


def test_worst_cases_of_no_perturbation_are_left_out(tmp_path: Path) -> None:
    worst = {"name": "robustness", "robustness": True, "fairness": False, "computed_on": "worst"}
    stats = [stat("exact_match", 1.0), stat("exact_match", 1.0, perturbation=worst)]
    data = es.read(folder(tmp_path / "run", spec=spec(), instances=[right("id1", 1.0)], stats=stats))
    assert data.aggregates["variant"].to_list() == [""]


def test_states_of_instances(tmp_path: Path) -> None:
    instances = [right("id1", 1.0), right("id2", 0.0), right("id3", None), entry("id4", stat("num_prompt_tokens", 3))]
    nan = right("id6", 1.0)
    nan["stats"][-1]["mean"] = math.nan
    asked = [request("id1", "a"), request("id2", "b", success=False), request("id3", "c"), request("id4", "d")]
    state = {"adapter_spec": {}, "request_states": [*asked, request("id5", "e", success=False)]}
    data = es.read(folder(tmp_path / "run", spec=spec(), instances=[*instances, nan], state=state))
    assert outcomes(data, "status_reason", "value_raw") == [
        ("id1", "", 0, "exact_match", 1.0, "scored", None, None),
        ("id2", "", 0, "exact_match", None, "error", "content was blocked", "0.0"),
        ("id3", "", 0, "exact_match", None, "unscored", "its count is 0", None),
        ("id6", "", 0, "exact_match", None, "unscored", "its mean is no number", "NaN"),
        ("id4", "", 0, "exact_match", None, "unscored", "HELM wrote no statistics of it", None),
        ("id5", "", 0, "exact_match", None, "error", "content was blocked", None),
    ]
    (run,) = data.runs.to_dicts()
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (1, 2, 3)
    (failed,) = (problem.message for problem in data.problems)
    assert failed.startswith("2 scores are of requests that failed")


def test_tokens_that_are_no_count_are_null(tmp_path: Path) -> None:
    instances = [
        entry(f"id{k}", stat("exact_match", 1.0), stat("num_prompt_tokens", n))
        for k, n in enumerate((3, 2.5, -1, 1e300))
    ]
    data = es.read(folder(tmp_path / "run", spec=spec(), instances=instances))
    assert data.outcomes["input_tokens"].to_list() == [3, None, None, None]


def test_entries_of_one_instance_are_merged_and_bad_ones_are_counted(tmp_path: Path) -> None:
    instances: list[object] = [
        entry("id1", stat("exact_match", 1.0)),
        entry("id1", stat("exact_match", 1.0), stat("rouge_l", 0.25)),
        entry("id1", stat("exact_match", 0.0)),
        entry("id2", {"count": 1, "mean": 1.0}, {"name": "exact_match"}, stat("exact_match", 2.5, count=4)),
        "text",
        {"instance_id": "id3", "train_trial_index": 0.5, "stats": []},
        {"instance_id": None, "train_trial_index": 0, "stats": []},
        {"instance_id": "id4", "train_trial_index": 0, "stats": {}},
    ]
    data = es.read(folder(tmp_path / "run", spec=spec(), instances=instances))
    assert outcomes(data, "n_trials") == [
        ("id1", "", 0, "exact_match", 1.0, "scored", 1),
        ("id1", "", 0, "rouge_l", 0.25, "scored", 1),
        ("id2", "", 0, "exact_match", 2.5, "scored", 4),
    ]
    messages = [problem.message for problem in data.problems]
    assert any(message.startswith("1 statistics appear twice with different values") for message in messages)
    assert any("2 statistics have no name" in message for message in messages)
    bad = "are dropped (no instance_id, no whole train_trial_index, or no list of stats): "
    assert any(bad in message for message in messages)


def test_two_models_pair_up_and_perturbed_scores_stay_out(tmp_path: Path) -> None:
    for name, shift in (("one", 0), ("two", 1)):
        clean = [right(f"id{k}", float((k + shift) % 3 == 0)) for k in range(30)]
        noisy = [right(f"id{k}", 0.0, perturbation=TYPOS) for k in range(30)]
        folder(tmp_path / name, spec=spec(f"maker/{name}", perturbed=True), instances=clean + noisy)
    result = es.compare(es.read(tmp_path), "maker/one", "maker/two")
    assert (result.n_items, result.metric) == (30, "exact_match")
    assert result.estimate == pytest.approx(0)


def test_other_inputs_under_the_same_ids_are_not_compared(tmp_path: Path) -> None:
    for name in ("one", "two"):
        instances = [right(f"id{k}", float(k % 2)) for k in range(30)]
        asked = [request(f"id{k}", f"{name} {k}") for k in range(30)]
        folder(
            tmp_path / name,
            spec=spec(f"maker/{name}"),
            instances=instances,
            state={"adapter_spec": {}, "request_states": asked},
        )
    result = es.compare(es.read(tmp_path), "maker/one", "maker/two")
    assert result.verdict == "invalid"
    assert "they differ in prompt" in str(result.summary())


def test_the_model_is_in_the_folder_s_name_where_no_file_has_it(tmp_path: Path) -> None:
    where = folder(tmp_path / "gsm:model=maker_one-7b", instances=[right("id1", 1.0)])
    data = es.read(where)
    assert data.outcomes.select("model", "benchmark", "task").row(0) == ("maker/one-7b", "gsm", "")
    (note,) = data.problems
    assert "no run_spec.json is beside it" in note.message
    alone = tmp_path / "mine_stats.json"
    alone.write_text(json.dumps([right("id1", 1.0)]))
    assert es.read(alone).models() == ("mine_stats",)


def test_settings_are_found_in_the_requests_too(tmp_path: Path) -> None:
    state = {"adapter_spec": spec()["adapter_spec"], "request_states": []}
    data = es.read(folder(tmp_path / "mmlu:model=x_y", instances=[right("id1", 1.0)], state=state))
    assert data.runs.select("model", "n_shots").row(0) == ("maker/one", 5)
    assert data.problems == ()


def test_a_text_to_be_predicted_is_scored_by_its_likelihood(tmp_path: Path) -> None:
    settings = spec(method="language_modeling")
    instances = [entry("id1", stat("logprob", -12.5), stat("num_bytes", 40))]
    data = es.read(folder(tmp_path / "run", spec=settings, instances=instances, stats=[stat("bits_per_byte", 0.9)]))
    assert dict(data.metrics.select("metric", "higher_is_better").rows()) == {"logprob": True, "bits_per_byte": False}


def test_published_numbers_alone_are_aggregates(tmp_path: Path) -> None:
    data = es.read(folder(tmp_path / "run", spec=spec(), stats=[stat("exact_match", 0.5), stat("exact_match", None)]))
    assert data.outcomes.height == 0
    assert data.aggregates.select("metric", "estimate", "n").rows() == [("exact_match", 0.5, None)]
    assert data.metrics["primary"].to_list() == [True]
    assert "published numbers without items" in data.problems[0].message


def test_files_beside_the_results_are_passed_over(tmp_path: Path) -> None:
    where = folder(
        tmp_path / "runs" / "s" / "run",
        spec=spec(),
        instances=[right("id1", 1.0)],
        scenario={"name": "mmlu", "description": "d", "tags": []},
        display_predictions=[{"instance_id": "id1", "train_trial_index": 0, "predicted_text": "A", "stats": {}}],
        display_requests=[{"instance_id": "id1", "train_trial_index": 0, "request": {}}],
        instances_={},
    )
    (where / "instances_.json").unlink()
    (where / "instances.json").write_text(json.dumps([{"input": {"text": "q"}, "references": [], "id": "id1"}]))
    (where.parent / "run_specs.json").write_text(json.dumps([spec()]))
    (where.parent / "runs.json").write_text(json.dumps([{"run_spec": spec(), "run_path": "x"}]))
    planned, problems = plan([tmp_path])
    assert [(one.loader.name, one.source.path.name, len(one.source.companions)) for one in planned] == [
        ("helm", "per_instance_stats.json", 1)
    ]
    assert problems == []


def test_packed_files_are_read(tmp_path: Path) -> None:
    where = folder(tmp_path / "run", spec=spec())
    (where / "per_instance_stats.json.gz").write_bytes(gzip.compress(json.dumps([right("id1", 1.0)]).encode()))
    assert es.read(where).outcomes.height == 1


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"state": {"adapter_spec": {}, "request_states": [request("id1", "a")]}}, "has no scores"),
        ({"spec": spec()}, "has no scores"),
        ({"instances": [{"instance_id": None, "stats": 3}]}, "none of its statistics could be read; 1 of 1"),
    ],
)
def test_what_holds_no_scores_is_refused_in_words(tmp_path: Path, files: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        es.read(folder(tmp_path / "run", **files))


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    where = folder(tmp_path / "run", spec=spec(), instances=[right(f"id{k}", 1.0) for k in range(9)])
    path = where / "per_instance_stats.json"
    path.write_text(path.read_text()[:-200])
    with pytest.raises(UnreadableFileError, match=r"per_instance_stats\.json"):
        es.read(where, strict=True)
    path.write_text('{"instance_id": "x", "stats": []}')
    with pytest.raises(InputError, match="a list of statistics was expected"):
        es.read(where, format="helm")


def test_names_of_perturbations() -> None:
    gender = {"name": "gender", "fairness": True, "mode": "pronouns", "prob": 1.0, "seed": None}
    assert perturbation_name(gender) == "gender(mode=pronouns,prob=1.0)"
    assert perturbation_name("text") == ""
    assert perturbation_name({"robustness": True}) == "perturbed"


def test_files_group_by_folder(tmp_path: Path) -> None:
    paths = [tmp_path / name / file for name in "ab" for file in ("run_spec.json", "per_instance_stats.json")]
    parts = list(FORMAT.plan(paths))
    assert all(isinstance(part, Source) and part.path.name == "per_instance_stats.json" for part in parts)
    assert len(parts) == 2
