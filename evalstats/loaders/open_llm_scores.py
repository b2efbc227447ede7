"""How the Open LLM Leaderboard scores a model: which metric of each task, and version 2's scores above chance.

Source: https://huggingface.co/docs/leaderboards/open_llm_leaderboard/normalization, and the numbers of options that the
leaderboard's own code has for the tasks of BBH and MuSR. A score of `raw` where guessing gives `chance` becomes
100 (raw - chance) / (1 - chance), and 0 where it lies below chance; scores of tasks with parts are averaged afterwards.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from evalstats.loaders.lm_eval_results import LightevalResults, Results
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
    "IFEval": (
        ("leaderboard_ifeval", "inst_level_strict_acc,none", 0),
        ("leaderboard_ifeval", "prompt_level_strict_acc,none", 0),
    ),
    "BBH": tuple((f"leaderboard_bbh_{name}", _ACC_NORM, n) for name, n in BBH_CHOICES.items()),
    "MATH Lvl 5": (("leaderboard_math_hard", "exact_match,none", 0),),
    "GPQA": (("leaderboard_gpqa", _ACC_NORM, GPQA_CHOICES),),
    "MUSR": tuple((f"leaderboard_musr_{name}", _ACC_NORM, n) for name, n in MUSR_CHOICES.items()),
    "MMLU-PRO": (("leaderboard_mmlu_pro", "acc,none", MMLU_PRO_CHOICES),),
}


def above_chance(raw: float, n_choices: int) -> float:
    """Return a share of right answers on a scale on which guessing among `n_choices` is 0 and all right is 100.

    >>> round(above_chance(0.6, 4), 2), above_chance(0.2, 4), above_chance(0.2, 0)
    (46.67, 0.0, 20.0)
    """
    chance = 1 / n_choices if n_choices else 0.0
    return 0.0 if raw < chance else 100 * (raw - chance) / (1 - chance)


def leaderboard_rows(results: Results, model: str) -> list[Row]:
    """Return what a leaderboard shows of a results file: a score for each task, and their mean where all six are there.

    A task has none where a part of it is missing. A score that is NaN is left out, and with it the mean; the first leaderboard
    itself counts it as 0. A file of the first version without all six tasks is none of the leaderboard's.
    """
    is_first = isinstance(results, LightevalResults)
    scores = _v1_scores(results) if is_first else _v2_scores(results)
    how = "from the published scores" if is_first else "chance level taken out, as the Open LLM Leaderboard does"
    common: Row = {"model": model, "benchmark": V1 if is_first else V2, "metric": "score" if is_first else NORMALISED}
    common |= {"unit": "percent", "setting": "lab"}
    rows = [{**common, "task": name, "estimate": score, "method": f"computed: {how}"} for name, score in scores.items()]
    if len(scores) == len(V2_PARTS):
        mean: Row = {"task": "", "estimate": fmean(scores.values()), "method": "computed: mean of the six tasks"}
        rows.append(common | mean)
    return rows


def leaderboard_metric(rows: Sequence[Row]) -> Row:
    """Describe the metric of `leaderboard_rows`."""
    benchmark, metric = str(rows[0]["benchmark"]), str(rows[0]["metric"])
    return metric_row(benchmark, metric, "bounded", high=100.0, unit="percent", primary=True)


def _v2_scores(results: Results) -> dict[str, float]:
    def share(name: str, metric: str) -> float | None:
        numbers = get(results.members.get("results"), name) or get(results.members.get("groups"), name)
        return _share(get(numbers, metric))

    found: dict[str, float] = {}
    for task, parts in V2_PARTS.items():
        shares = [raw for name, metric, _ in parts if (raw := share(name, metric)) is not None]
        if len(shares) == len(parts):
            found[task] = fmean(above_chance(raw, n) for raw, (_, _, n) in zip(shares, parts, strict=True))
    return found


def _v1_scores(results: LightevalResults) -> dict[str, float]:
    shares: dict[str, list[float | None]] = {}
    for name, key in results.task_keys.items():
        if key.benchmark in _V1_NAMES and not key.average:
            share = _share(results.part("results", name).get(V1_METRICS[key.benchmark]))
            shares.setdefault(key.benchmark, []).append(share)
    if len(shares) < len(_V1_NAMES):
        return {}
    return {
        name: 100 * fmean(known)
        for benchmark, name in _V1_NAMES.items()
        if (known := [share for share in shares[benchmark] if share is not None])
        and len(known) == len(shares[benchmark]) == (_MMLU_TASKS if name == "MMLU" else 1)
    }


def _share(value: object) -> float | None:
    number = None if isinstance(value, bool) else as_number(value)  # NaN is none
    return number if number is not None and 0 <= number <= 1 else None
