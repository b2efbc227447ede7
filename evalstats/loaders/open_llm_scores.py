"""How the Open LLM Leaderboard scores a model: which metric of each task, and version 2's scores above chance.

Source: https://huggingface.co/docs/leaderboards/open_llm_leaderboard/normalization, and the numbers of options that the
leaderboard's own code has for the tasks of BBH and MuSR. A score of `raw` where guessing gives `chance` becomes
100 (raw - chance) / (1 - chance), and 0 where it lies below chance; scores of tasks with parts are averaged afterwards.
"""

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Final

from evalstats.loaders.lm_eval_results import Results, TaskKey, task_keys
from evalstats.loaders.rows import Row, metric_row
from evalstats.loaders.values import as_number, get

V1: Final = "Open LLM Leaderboard v1"
V2: Final = "Open LLM Leaderboard v2"
NORMALISED: Final = "normalised"

# Name of the benchmark in a results file, and the metric that the first leaderboard takes of it.
V1_METRICS: Final[Mapping[str, str]] = {
    "arc": "acc_norm", "hellaswag": "acc_norm", "hendrycksTest": "acc", "truthfulqa": "mc2", "winogrande": "acc",
    "gsm8k": "acc", "drop": "f1",
}  # fmt: skip
_V1_NAMES: Final[Mapping[str, str]] = {
    "arc": "ARC", "hellaswag": "HellaSwag", "hendrycksTest": "MMLU", "truthfulqa": "TruthfulQA", "winogrande": "Winogrande",
    "gsm8k": "GSM8K",
}  # fmt: skip
_MMLU_TASKS: Final = 57

# 19 for object_counting is what the leaderboard divides by, and what its published BBH comes from.
BBH_CHOICES: Final[Mapping[str, int]] = {
    "boolean_expressions": 2, "causal_judgement": 2, "date_understanding": 6, "disambiguation_qa": 3, "formal_fallacies": 2,
    "geometric_shapes": 11, "hyperbaton": 2, "logical_deduction_five_objects": 5, "logical_deduction_seven_objects": 7,
    "logical_deduction_three_objects": 3, "movie_recommendation": 6, "navigate": 2, "object_counting": 19,
    "penguins_in_a_table": 5, "reasoning_about_colored_objects": 18, "ruin_names": 6,
    "salient_translation_error_detection": 6, "snarks": 2, "sports_understanding": 2, "temporal_sequences": 4,
    "tracking_shuffled_objects_five_objects": 5, "tracking_shuffled_objects_seven_objects": 7,
    "tracking_shuffled_objects_three_objects": 3, "web_of_lies": 2,
}  # fmt: skip
MUSR_CHOICES: Final[Mapping[str, int]] = {"murder_mysteries": 2, "object_placements": 5, "team_allocation": 3}
GPQA_CHOICES: Final = 4
MMLU_PRO_CHOICES: Final = 10

_ACC_NORM: Final = "acc_norm,none"
# Parts whose mean is the score: name, metric, number of options (0: nothing can be guessed).
_Part = tuple[str, str, int]
V2_PARTS: Final[Mapping[str, tuple[_Part, ...]]] = {
    "leaderboard_ifeval": (
        ("leaderboard_ifeval", "inst_level_strict_acc,none", 0),
        ("leaderboard_ifeval", "prompt_level_strict_acc,none", 0),
    ),
    "leaderboard_bbh": tuple((f"leaderboard_bbh_{name}", _ACC_NORM, n) for name, n in BBH_CHOICES.items()),
    "leaderboard_math_hard": (("leaderboard_math_hard", "exact_match,none", 0),),
    "leaderboard_gpqa": (("leaderboard_gpqa", _ACC_NORM, GPQA_CHOICES),),
    "leaderboard_musr": tuple((f"leaderboard_musr_{name}", _ACC_NORM, n) for name, n in MUSR_CHOICES.items()),
    "leaderboard_mmlu_pro": (("leaderboard_mmlu_pro", "acc,none", MMLU_PRO_CHOICES),),
}


def above_chance(raw: float, n_choices: int) -> float:
    """Return a share of right answers on a scale on which guessing among `n_choices` is 0 and all right is 100.

    >>> round(above_chance(0.6, 4), 2), above_chance(0.2, 4), above_chance(0.2, 0)
    (46.67, 0.0, 20.0)
    """
    chance = 1 / n_choices if n_choices else 0.0
    return 0.0 if raw < chance else 100 * (raw - chance) / (1 - chance)


def normalised_rows(results: Results, model: str, run_of: Mapping[str, str]) -> Iterator[Row]:
    """Yield the scores above chance of a results file of version 2, and their mean where all six tasks are there.

    A task whose parts are not all there has none.
    """
    found: dict[str, float] = {}
    for task, parts in V2_PARTS.items():
        raw = [_share(get(_numbers(results, name), metric)) for name, metric, _ in parts]
        shares = [share for share in raw if share is not None]
        if len(shares) == len(parts):
            scores = [above_chance(share, n) for share, (_, _, n) in zip(shares, parts, strict=True)]
            found[task] = fmean(scores)
    benchmarks = {task: results.benchmark(task) for task in found}
    for task, score in found.items():
        benchmark = benchmarks[task]
        yield _computed(model, benchmark, "" if benchmark == task else task, score, run_of.get(benchmark))
    if len(found) == len(V2_PARTS) and len(set(benchmarks.values())) == 1:
        (benchmark,) = set(benchmarks.values())
        yield _computed(model, benchmark, "", fmean(found.values()), run_of.get(benchmark))


def _numbers(results: Results, name: str) -> object:
    """Return the numbers of a task or group, wherever the file keeps them."""
    return get(results.members.get("results"), name) or get(results.members.get("groups"), name)


def _share(value: object) -> float | None:
    number = None if isinstance(value, bool) else as_number(value)  # NaN is none
    return number if number is not None and 0 <= number <= 1 else None


def _computed(model: str, benchmark: str, task: str, score: float, run: str | None) -> Row:
    return {
        "model": model,
        "benchmark": benchmark,
        "task": task,
        "metric": NORMALISED,
        "estimate": score,
        "method": "computed: chance level taken out, as the Open LLM Leaderboard does",
        "unit": "percent",
        "setting": "lab",
        "run": run,
    }


def normalised_metric(benchmark: str) -> Row:
    """Describe the metric of `normalised_rows`."""
    return metric_row(benchmark, NORMALISED, "bounded", low=0.0, high=100.0, unit="percent")


def v1_rows(results: Results, model: str, run: str) -> Iterator[Row]:
    """Yield what the first leaderboard shows of a results file: a score for each task, and the mean of all six.

    MMLU is the mean of its 57 subjects and is left out where one is missing. A score that is NaN is left out, and with it the
    mean; the leaderboard itself counts it as 0. A file without all six tasks is none of the leaderboard's.
    """
    shares: dict[str, list[float | None]] = {}
    for key in task_keys(results):
        if key.benchmark in _V1_NAMES and not key.average:
            shares.setdefault(key.benchmark, []).append(_v1_share(results, key))
    if len(shares) < len(_V1_NAMES):
        return
    scores = {
        name: 100 * fmean(known)
        for benchmark, name in _V1_NAMES.items()
        if (known := [share for share in shares[benchmark] if share is not None])
        and len(known) == len(shares[benchmark]) == (_MMLU_TASKS if name == "MMLU" else 1)
    }
    common: Row = {"model": model, "benchmark": V1, "metric": "score", "unit": "percent", "setting": "lab", "run": run}
    for name, score in scores.items():
        yield {**common, "task": name, "estimate": score, "method": "computed from the published scores"}
    if len(scores) == len(_V1_NAMES):
        average = fmean(scores.values())
        yield {**common, "task": "", "estimate": average, "method": "computed: mean of the six tasks"}


def v1_metric() -> Row:
    """Describe the metric of `v1_rows`."""
    return metric_row(V1, "score", "bounded", high=100.0, unit="percent", primary=True)


def with_v1_headlines(metrics: Iterable[Row]) -> list[Row]:
    """Name as each benchmark's headline the metric that the first leaderboard takes of it; others keep theirs."""
    taken = ((row, V1_METRICS.get(str(row["benchmark"]))) for row in metrics)
    return [row if metric is None else {**row, "primary": row["metric"] == metric} for row, metric in taken]


def _v1_share(results: Results, key: TaskKey) -> float | None:
    return _share(results.part("results", key.key).get(V1_METRICS[key.benchmark]))
