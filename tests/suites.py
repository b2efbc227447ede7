"""Folders as lm-evaluation-harness writes them: twenty tasks of unlike sizes, two of them groups, for several models."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

STAMP = "2026-02-03T04-05-06.789012"
TASKS = {
    "anli_r1": 100, "arc_challenge": 240, "arc_easy": 400, "boolq": 330, "cb": 24, "copa": 40, "gsm8k": 130,
    "hellaswag": 500, "lambada": 300, "logiqa": 120, "openbookqa": 90, "piqa": 180, "qnli": 280, "race": 150, "rte": 60,
    "sciq": 160, "triviaqa": 450, "winogrande": 220,
}  # fmt: skip
GROUPS: Mapping[str, Mapping[str, int]] = {
    "mmlu": {"mmlu_anatomy": 30, "mmlu_law": 300, "mmlu_nutrition": 60, "mmlu_virology": 40},
    "musr": {"musr_murders": 25, "musr_objects": 250, "musr_teams": 50},
}
# Groups whose tasks count alike, as `weight_by_size: false` asks for.
UNWEIGHTED = ("musr",)


def pooled(std_errors: Sequence[float], sizes: Sequence[int]) -> float:
    """The standard error that the harness writes for a group, whichever way its tasks are weighted."""
    squares = sum((n - 1) * n * error**2 for n, error in zip(sizes, std_errors, strict=True))
    return math.sqrt(squares / (sum(sizes) - len(sizes)) / sum(sizes))


def write_suite(folder: Path, models: Mapping[str, float], *, seed: int = 0, share: float = 1.0) -> Path:
    """Write a run of all tasks for each model, whose skill is the mean of its logits; everybody answers the same items.

    `share` is how many of the items of each task.
    """
    whole = {**TASKS, **{task: n for group in GROUPS.values() for task, n in group.items()}}
    sizes = {task: round(share * n) for task, n in whole.items()}
    rng = np.random.default_rng(seed)
    ease = {task: rng.normal(rng.normal(0.3, 0.9), 1.2, n) for task, n in sizes.items()}
    for model, skill in models.items():
        own = folder / model
        own.mkdir(parents=True, exist_ok=True)
        published: dict[str, dict[str, object]] = {}
        for task, n in sizes.items():
            scores = (rng.random(n) < 1 / (1 + np.exp(-skill - ease[task]))).astype(float)
            published[task] = {"alias": task, "sample_len": n, "acc,none": scores.mean()}
            published[task]["acc_stderr,none"] = scores.std(ddof=1) / math.sqrt(n)
            lines = [
                json.dumps(
                    {
                        "doc_id": i, "doc": {"q": f"{task} {i}"}, "target": "1", "arguments": {}, "resps": [],
                        "filtered_resps": [], "filter": "none", "metrics": ["acc"], "doc_hash": f"{task}-{i:06d}",
                        "prompt_hash": f"{task}-{i:06d}", "target_hash": "t", "acc": score,
                    }
                )
                for i, score in enumerate(scores.tolist())
            ]  # fmt: skip
            (own / f"samples_{task}_{STAMP}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        groups: dict[str, dict[str, object]] = {}
        for group, tasks in GROUPS.items():
            means = [float(str(published[task]["acc,none"])) for task in tasks]
            errors = [float(str(published[task]["acc_stderr,none"])) for task in tasks]
            n = [sizes[task] for task in tasks]
            mean = np.mean(means) if group in UNWEIGHTED else np.average(means, weights=n)
            groups[group] = {"alias": group, "acc,none": float(mean), "acc_stderr,none": pooled(errors, n)}
        text = {
            "results": {**published, **groups},
            "groups": groups,
            "group_subtasks": {group: list(tasks) for group, tasks in GROUPS.items()},
            "versions": dict.fromkeys(published, 1.0),
            "n-shot": dict.fromkeys(published, 0),
            "higher_is_better": {task: {"acc": True} for task in published},
            "n-samples": {task: {"original": n, "effective": n} for task, n in sizes.items()},
            "config": {"model": "hf", "model_args": f"pretrained={model}", "limit": None, "gen_kwargs": None},
            "git_hash": "abc",
            "date": 1770091506.0,
            "lm_eval_version": "0.4.13",
            "task_hashes": {},
            "model_source": "hf",
            "model_name": model,
            "model_name_sanitized": model,
        }
        (own / f"results_{STAMP}.json").write_text(json.dumps(text), encoding="utf-8")
    return folder
