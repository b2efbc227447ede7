"""The summary block of a RUT-Bench result file, with the meanings that the benchmark's harness gives its keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

Row = Mapping[str, object]

_GROUPS = (
    ("variant_summary", "variant", False),
    ("difficulty_summary", "difficulty_bucket", False),
    ("task_type_summary", "task_type", False),
    ("num_user_turns_summary", "num_user_turns", False),
    ("min_required_action_turn_summary", "min_required_action_turn", False),
    ("behavior_summary", "behavior_bundle", True),
    ("unstable_behavior_summary", "unstable_behavior", False),
    ("profile_summary", "profile_bundle", True),
)


def summarise(rows: Sequence[Row]) -> dict[str, object]:
    """Summarise samples as the harness does, quirks included.

    The key `semantic_success_rate` holds the relaxed rate; the semantic rate stands under `strict_success_rate`. Judge
    errors count as zeros. A crashed run counts as a success where nothing was there to fail. Stable samples are
    "unknown" among the unstable behaviours.
    """
    summary: dict[str, object] = {"sample_count": len(rows), "missing_runtime_task_ids": [], **_metrics(rows)}
    for name, column, is_list in _GROUPS:
        summary[name] = _grouped(rows, column, is_list=is_list)
    return summary


def relaxed_success(completion: Row) -> bool:
    """Headline success of the harness: final state as asserted, expected changes made, nothing forbidden done.

    Examples
    --------
    >>> relaxed_success({"final_state_assertion_total": 0, "expected_state_diff_passed": True})
    True
    """
    asserted = completion.get("final_state_assertion_total", 0) == completion.get("final_state_assertion_pass_count", 0)
    return (
        asserted
        and bool(completion["expected_state_diff_passed"])
        and not completion.get("forbidden_action_violations")
    )


def _metrics(rows: Sequence[Row]) -> dict[str, object]:
    relaxed = _mean(rows, lambda row: float(relaxed_success(_block(row, "completion"))))
    faithfulness = _mean(rows, _number("reliability", "faithfulness_score"))
    clarification = _mean(rows, _number("reliability", "clarification_score"))
    discipline = _mean(rows, _number("reliability", "tool_discipline_score"))
    return {
        "success_rate": relaxed,
        "sr": relaxed,
        "completion_rate": relaxed,
        "semantic_success_rate": relaxed,
        "strict_success_rate": _mean(rows, _number("completion", "strict_sr")),
        "avg_efficiency": _mean(rows, _number("efficiency", "efficiency")),
        "avg_task_score": _mean(rows, _number("efficiency", "task_score")),
        "avg_reliability": _mean(rows, _number("reliability", "reliability")),
        "avg_faithfulness_score": faithfulness,
        "avg_clarification_score": clarification,
        "avg_tool_discipline_score": discipline,
        "avg_faithfulness_norm": faithfulness / 4.0,
        "avg_clarification_norm": clarification / 3.0,
        "avg_tool_discipline_norm": discipline / 3.0,
    }


def _grouped(rows: Sequence[Row], column: str, *, is_list: bool) -> dict[str, object]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        value = row[column]
        labels = cast("Iterable[str]", value) if is_list else [str(value) or "unknown"]
        for label in labels:
            groups.setdefault(label, []).append(row)
    return {label: _group(groups[label]) for label in sorted(groups)}


def _group(rows: Sequence[Row]) -> dict[str, object]:
    errors = sum(1 for row in rows if _block(row, "run")["run_error"])
    return {"sample_count": len(rows), **_metrics(rows), "run_error_count": errors}


def _block(row: Row, name: str) -> Row:
    return cast("Row", row[name])


def _number(block: str, key: str) -> Callable[[Row], float]:
    return lambda row: float(cast("float", _block(row, block)[key]))


def _mean(rows: Sequence[Row], value: Callable[[Row], float]) -> float:
    return sum(map(value, rows)) / len(rows)
