"""Tenacious-Bench: accuracies, differences and scores that its authors published, as aggregates.

The first publication has the accuracy of both critics in every split, and the difference in percentage points with its interval
and p-value; `delta_a` and `delta_b` repeat the held-out split there and are not read. Other authors list arms (`variant_summary`,
`conditions`, `statistics`) with their shares and means, or name an arm in each number (`baseline_mean`, `trained_pass_rate`), and
differences as `delta_a` (trained less baseline) and `delta_b` (trained less prompted). `score_log.json` has the published numbers
of a run of tau2-bench. Nothing is derived.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.format import Format, FormatFile, Sample, Sign
from evalstats.loaders.formats.tenacious import ABOUT, BENCHMARK, CRITICS
from evalstats.loaders.formats.tenacious_arms import ARMS, FILES, TAU2
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, dicts, get

_OBJECT: Final = ("object", "lines")
_Ends = tuple[float, float]


def _ends(low: object, high: object) -> _Ends | None:
    """Return an interval that has a width; one without says nothing."""
    ends = as_number(low), as_number(high)
    return (ends[0], ends[1]) if ends[0] is not None and ends[1] is not None and ends[0] < ends[1] else None


def _first(numbers: Mapping[str, object], *names: str) -> object:
    return next((numbers[name] for name in names if numbers.get(name) is not None), None)


def _splits(record: Row, file: FormatFile[Row]) -> Iterable[Sample]:
    systems = [as_text(record.get(name)) for name in ("baseline", "trained_component")]
    about = {"note": as_text(record.get("run_name")), **ABOUT}
    runs = {name: file.run(name, system=system or name, **about) for name, system in zip(CRITICS, systems, strict=True)}
    file.metric("accuracy", primary=True)
    for name in ("latency_ms", "cost_usd"):
        file.metric(name, higher_is_better=False, low=0.0)
    file.metric("delta_accuracy", kind="bounded", low=-100.0, high=100.0)
    for split, value in as_dict(record.get("splits")).items():
        numbers, before = as_dict(value), len(file.published.rows)
        known: dict[str, Any] = {"task": split, "n": numbers.get("pair_count")}
        for name, run in runs.items():
            for metric, key, unit in (
                ("accuracy", f"{name}_accuracy", "proportion"),
                ("latency_ms", f"{name}_latency_ms", "milliseconds"),
                ("cost_usd", f"cost_per_pair_usd_{name}", "US dollars"),
            ):
                file.publish(numbers.get(key), run, metric, unit=unit, **known)
        ends = _ends(*(numbers.get(f"delta_accuracy_pp_ci_{end}") for end in ("lower", "upper")))
        p_value, delta = (as_number(numbers.get(name)) for name in ("paired_bootstrap_p_value", "delta_accuracy_pp"))
        method = f"published, trained minus baseline{', percentile bootstrap over pairs' if ends else ''}"
        more: Row = {**known, "unit": "points", "method": method, "p_value": p_value}
        file.publish(delta, runs["trained"], "delta_accuracy", ends=ends, **more)
        if len(file.published.rows) == before:
            raise UnreadableFileError(f"{file.path}: splits.{split} holds no accuracy; expected the numbers of a split")
        if p_value == 0:
            file.note(f"split {split!r}: a p-value of 0 is published; it says less than one in its number of resamples")
    return ()


FORMAT: Final = Format(
    name="tenacious-ablation",
    title="Tenacious-Bench ablation results by split (ablation_results.json)",
    version="3",
    upstream="nebiyuephrata/SignalForge at 7d1a806, ablations/ablation_results.json",
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(Sign("run_name baseline trained_component splits", shapes=_OBJECT),),
    record=dict[str, Any],
    rows=_splits,
    at=(".",),
    called="splits",
    expected="The accuracies of train, dev or held_out were expected",
)

# How authors call a number of an arm, the metric that it is, and its unit.
_METRICS: Final = {
    **dict.fromkeys(("pass_rate", "pass_at_1", "overall_pass_at_1", "pass@1"), ("passed", "proportion")),
    "accuracy": ("correct", "proportion"),
    "mean_score_pct": ("score", "percent"),
    "avg_score": ("score", "proportion"),
    "mean": ("score", None),
}
_OF_ARM: Final = re.compile(
    rf"(?P<arm>baseline|prompt_only|prompted|trained|trained_judge)_(?P<metric>{'|'.join(_METRICS)})"
)
_DELTA: Final = re.compile(r"delta_[ab](?:_.*)?")
_COUNTS: Final = ("n", "held_out_task_count", "n_held_out_tasks", "n_tasks", "held_out_tasks", "total_tasks")


def _numbers(record: Row, file: FormatFile[Row]) -> Iterable[Sample]:
    counted = next((record[name] for name in _COUNTS if as_number(record.get(name)) is not None), None)
    for member in ("variant_summary", "statistics", "model_conditions", "conditions"):
        listed = record.get(member)
        by_arm = as_dict(listed) or {as_text(arm.get("condition")) or "": arm for arm in dicts(listed)}
        for arm, numbers in by_arm.items():
            _publish(arm, as_dict(numbers), counted, file)
    for member, value in {"": record, **record}.items():
        numbers = as_dict(value)
        if member and not _DELTA.fullmatch(member):
            continue
        for key, number in numbers.items():
            if found := _OF_ARM.fullmatch(key):
                _publish(found["arm"], {found["metric"]: number}, counted, file)
        if member:
            given = _first(numbers, "ci_95", "ci95", "bootstrap_95_ci")
            pair = as_list(given) or [get(given, "low"), get(given, "high")]
            against = "baseline" if member.startswith("delta_a") else "prompted"
            file.publish(
                _first(numbers, "delta", "mean_diff", "mean"),
                file.run("trained", **ABOUT),
                member[:7],
                ends=_ends(*pair)
                if len(pair) == 2 and given
                else _ends(numbers.get("ci_lower"), numbers.get("ci_upper")),
                n=numbers.get("n", counted),
                method=f"published, trained minus {against}",
                p_value=as_number(_first(numbers, "p_value", "p_value_two_sided", "p_value_sign_test")),
            )
    return ()


def _publish(arm: str, numbers: Mapping[str, object], counted: object, file: FormatFile[Row]) -> None:
    """Publish the numbers of an arm, each once."""
    given = as_list(_first(numbers, "95_ci", "ci_95"))
    for key, (metric, unit) in _METRICS.items():
        if arm and key in numbers and not file.again(arm, metric):
            ends = _ends(*given) if len(given) == 2 and metric != "score" else None
            run = file.run(arm, **ABOUT)
            file.publish(numbers[key], run, metric, unit=unit, n=numbers.get("n", counted), ends=ends)


NUMBERS: Final = Format(
    name="tenacious-numbers",
    title="Tenacious-Bench numbers by arm, as its other authors publish them (ablation_results.json)",
    version="1",
    upstream=f"{ARMS}; IbnuEyni/tenacious-sales-bench at 5b537e1, ablations/compute_deltas.py; files of {FILES}",
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(
        Sign("run_mode variant_summary delta_a_trained_vs_week10_baseline", shapes=_OBJECT),
        Sign("meta training_run variants statistics comparisons", shapes=_OBJECT),
        Sign("held_out_slice conditions deltas", shapes=_OBJECT),
        Sign("evaluation_date bench_version held_out_tasks", some="model_conditions conditions", shapes=_OBJECT),
        Sign("evaluation_date partition conditions delta_a delta_b", shapes=_OBJECT),
        Sign("bootstrap_samples n_tasks baseline delta_a delta_b", shapes=_OBJECT),
        Sign("n_held_out_tasks delta_a delta_b", shapes=_OBJECT),
        Sign("held_out_task_count baseline_mean trained_judge_mean", shapes=_OBJECT),
    ),
    record=dict[str, Any],
    rows=_numbers,
    at=(".",),
    called="numbers",
)


def _summary(record: Row, file: FormatFile[Row]) -> Iterable[Sample]:
    run = file.run(None, "")
    known: dict[str, Any] = {"task": as_text(record.get("domain")) or "", "n": record.get("evaluated_simulations")}
    given = as_list(record.get("pass_at_1_ci_95"))
    ends = _ends(*given) if len(given) == 2 else None
    file.publish(record.get("pass_at_1"), run, "pass_at_1", ends=ends, unit="proportion", **known)
    for metric, name, unit in (
        ("agent_cost_usd", "avg_agent_cost", "US dollars"),
        ("p50_latency", "p50_latency_seconds", "seconds"),
        ("p95_latency", "p95_latency_seconds", "seconds"),
    ):
        file.metric(metric, higher_is_better=False, low=0.0)
        file.publish(record.get(name), run, metric, unit=unit, **known)
    return ()


SUMMARY: Final = Format(
    name="tau2-score-log",
    title="tau2-bench scores of a run (score_log.json)",
    version="1",
    upstream="samuellachisa/tenacious_bench at 21869ee, eval/score_log.json",
    benchmark=TAU2,
    harness=TAU2,
    signs=(Sign("pass_at_1 pass_at_1_ci_95 evaluated_simulations num_trials", shapes=_OBJECT),),
    record=dict[str, Any],
    rows=_summary,
    at=(".",),
    called="scores",
    metrics={"pass_at_1": {"primary": True}},
)
