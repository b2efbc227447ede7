"""The scores of one RUT-Bench sample, each with the reason where there is none."""

import json
from dataclasses import dataclass
from typing import Final

from evalstats.loaders.conversations import first_line
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_whole, get


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score, or None with the reason; `raw` is what the file held, `judge` who gave it."""

    value: float | None
    reason: str | None = None
    raw: str | None = None
    judge: str | None = None


def _metric(name: str, kind: str, high: float, unit: str = "proportion", *, primary: bool = False) -> dict[str, object]:
    bounds = {"low": 0.0, "high": high, "higher_is_better": True}
    return {"metric": name, "kind": kind, **bounds, "unit": unit, "primary": primary}


METRICS: Final[tuple[dict[str, object], ...]] = (
    _metric("success", "binary", 1.0, primary=True),
    _metric("semantic_success", "binary", 1.0),
    _metric("efficiency", "bounded", 1.0),
    _metric("task_score", "bounded", 1.0),
    _metric("reliability", "bounded", 1.0),
    _metric("faithfulness", "ordinal", 4.0, "points"),
    _metric("clarification", "ordinal", 3.0, "points"),
    _metric("tool_discipline", "ordinal", 3.0, "points"),
)

# Metric of the judge, its key in the file, its highest value.
_JUDGED = (
    ("reliability", "reliability", 1.0),
    ("faithfulness", "faithfulness_score", 4.0),
    ("clarification", "clarification_score", 3.0),
    ("tool_discipline", "tool_discipline_score", 3.0),
)


def relaxed_success(completion: dict[str, object]) -> bool:
    """Whether the final state is right and nothing forbidden was done, by the harness's own rule.

    What is absent counts as passed: an empty `completion` is a success, so ask only where there is one.

    Examples
    --------
    >>> relaxed_success({"final_state_assertion_total": 3, "final_state_assertion_pass_count": 3})
    True
    >>> relaxed_success({"expected_state_diff_passed": False})
    False
    """
    total = as_whole(completion.get("final_state_assertion_total")) or 0
    passed = as_whole(completion.get("final_state_assertion_pass_count")) or 0
    final_state = total in (0, passed)
    difference = bool(completion.get("expected_state_diff_passed", True))
    return final_state and difference and not as_list(completion.get("forbidden_action_violations"))


def semantic_value(completion: dict[str, object]) -> object:
    """Return the stricter success, under whichever of its five names it stands; None where it is absent."""
    named = (completion.get(name) for name in ("semantic_sr", "sr", "semantic_success", "success", "passed"))
    return next((value for value in named if value is not None), None)


def scores_of(sample: dict[str, object]) -> dict[str, Score]:
    """Return the score of every metric of `METRICS`, in their order."""
    return {
        **_success(sample),
        **_efficiency(as_dict(sample.get("efficiency"))),
        **_judgment(sample.get("reliability")),
    }


def _success(sample: dict[str, object]) -> dict[str, Score]:
    completion = as_dict(sample.get("completion"))
    stored = get(sample, "relaxed_completion", "relaxed_success")
    if stored is not None:
        success = _flag(stored, "relaxed_success")
    elif completion:
        success = Score(value=float(relaxed_success(completion)))
    else:
        success = Score(value=None, reason="the sample has no completion")
    semantic = _flag(semantic_value(completion), "semantic_sr")
    return {"success": success, "semantic_success": semantic}


def _efficiency(efficiency: dict[str, object]) -> dict[str, Score]:
    names = ("efficiency", "task_score")
    required = as_whole(efficiency.get("min_required_action_turns"))
    if required is not None and required <= 0:
        # the harness writes 0 where it knows no shortest solution to divide by
        reason = "min_required_action_turns is 0: there is nothing to measure efficiency by"
        return {name: Score(value=None, reason=reason, raw=_held(efficiency.get(name))) for name in names}
    return {name: _within(efficiency.get(name), 1.0, name) for name in names}


def _judgment(reliability: object) -> dict[str, Score]:
    """Return the judge's scores; the zeros of a failed or skipped judgment are none."""
    judgment = as_dict(reliability)
    judge = as_text(judgment.get("judge_model"))
    error = judgment.get("judge_error")
    if not judgment:
        reason = "the sample has no judgment"
    elif error is not None:
        reason = f"judge: {first_line(error) or 'failed'}"
    elif judge is None:
        reason = "judge: none"
    else:
        return {name: _within(judgment.get(key), high, key, judge) for name, key, high in _JUDGED}
    return {
        name: Score(value=None, reason=reason, raw=_held(judgment.get(key)), judge=judge) for name, key, _ in _JUDGED
    }


def _flag(value: object, name: str) -> Score:
    if as_number(value) in (0.0, 1.0):
        return Score(value=as_number(value))
    held = _held(value)
    return Score(value=None, reason=f"{name} is {held or 'absent'}, neither 0 nor 1", raw=held)


def _within(value: object, high: float, name: str, judge: str | None = None) -> Score:
    number = as_number(value)
    if number is not None and 0 <= number <= high:
        return Score(value=number, judge=judge)
    held = _held(value)
    reason = f"{name} is absent" if value is None else f"{name} is {held}, not within 0 to {high:g}"
    return Score(value=None, reason=reason, raw=held, judge=judge)


def _held(value: object) -> str | None:
    return None if value is None else json.dumps(value)[:200]
