"""One log of Every Eval Ever: its published and computed scores with their uncertainty, and its samples, a line for every row."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.analysis.design.metric import direction_of
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.score.result import Score, Scores
from evalstats.analysis.score.score import score
from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.every_eval_ever_annex import ANNEX, NUMBERS, SHARED, UNSCORED, packed, to_text
from evalstats.schema.data import EvalData

# Rows of one log with the same of these are one result of it.
GROUP: Final = ("task", "variant", "metric", "judge", "setting")
# Published and computed score are the same number if they agree to this share of the metric's range (or of their size).
_SAME: Final = 5e-4
_PUBLISHED: Final = "published"
COMPUTED: Final = "computed by evalstats"
_PARTS: Final = {"standard error: ": "standard_error", "interval: ": "confidence_interval"}

Key = tuple[str | None, ...]


class ScoredMetrics:
    """What is declared of the metrics of a benchmark, as the schema writes it."""

    def __init__(self, data: EvalData, benchmark: str) -> None:
        self.rows = data.metrics.filter(pl.col("benchmark") == benchmark).sort("metric").to_dicts()
        self._declared: dict[str, dict[str, Any]] = {row["metric"]: row for row in self.rows}

    def declared(self, metric: str) -> dict[str, Any]:
        """Return the row of `metrics`; empty where there is none."""
        return self._declared.get(metric, {})

    def best(self, metric: str) -> float | None:
        """Return the score of a wholly right answer; None where the metric has no such end."""
        facts = self.declared(metric)
        better, _ = direction_of(metric, declared=facts.get("higher_is_better"))
        return facts.get("high") if better else facts.get("low")

    def config(self, metric: str, judge: str | None, value: float) -> dict[str, Any]:
        """Return `metric_config`. Bounds that nobody declared, or that the score leaves, are left out."""
        facts = self.declared(metric)
        better, direction = direction_of(metric, declared=facts.get("higher_is_better"))
        low, high, kind = facts.get("low"), facts.get("high"), facts.get("kind")
        if (low is not None and value < low) or (high is not None and value > high):
            low = high = None
        more = {"judge": judge, "kind": kind, "direction": None if direction == "declared" else "assumed, not declared"}
        found: dict[str, Any] = {
            "metric_id": metric,
            "metric_name": metric,
            "metric_unit": facts.get("unit"),
            "lower_is_better": not better,
            "min_score": low,
            "max_score": high,
            "score_type": _score_type(kind, low, high),
            "additional_details": {name: text for name, text in more.items() if text},
        }
        return {name: value for name, value in found.items() if value not in (None, {})}


def _score_type(kind: str | None, low: float | None, high: float | None) -> str | None:
    if kind == "binary" and (low, high) == (0.0, 1.0):
        return "binary"
    # "levels" asks for names of the levels, which no table of ours holds.
    return "continuous" if kind and low is not None and high is not None else None


def result_id(key: Key, benchmark: str) -> str:
    """Name a result by what tells it from the others of its log.

    >>> result_id(("", "", "acc", None, "lab"), "mmlu")
    'mmlu/acc'
    """
    task, variant, metric, judge, setting = key
    parts = (task or benchmark, variant, metric, judge, setting if setting != "lab" else None)
    return "/".join(part for part in parts if part)


def evaluation_name(task: str | None, variant: str | None, benchmark: str) -> str:
    """Return what people call a result: its task, else the benchmark, and the variant."""
    name = task or benchmark
    return f"{name} ({variant})" if variant else name


def computed_score(data: EvalData, rows: pl.DataFrame, key: Key) -> Score | str | None:
    """Return the score of one group of rows with its interval; why there is none; None where no row is scored."""
    if not (rows["status"] == "scored").any():
        return None
    runs = data.rows_of_runs(rows["run"].unique())
    part = replace(data, outcomes=rows, runs=runs)
    try:
        found = score(part, metric=key[2])
    except (CannotAnswerError, InputError) as error:
        return str(error)
    return found[0] if isinstance(found, Scores) else found


def score_details(found: Score | str, rows: pl.DataFrame, n_missing: int, row: Mapping[str, object]) -> dict[str, Any]:
    """Return `score_details` of a computed score; where no interval can be had, the mean and why."""
    counts = dict(rows.group_by("status").len().iter_rows())
    scores = rows.filter(pl.col("status") == "scored")
    means = scores.group_by("task", "item", "variant", maintain_order=True).agg(pl.col("score").mean())["score"]
    details: dict[str, str] = {
        **{f"n_{status}": str(counts.get(status, 0)) for status in ("scored", "error", "unscored")},
        "n_missing": str(n_missing),
        "n_items": str(len(means)),
        ANNEX: json.dumps({"computed": True, "row": packed(row)}),
    }
    if isinstance(found, str):
        details["no_interval"] = found
        return {"score": float(means.mean() or 0.0), "details": details}  # pyright: ignore[reportArgumentType] - a number
    details["estimand"] = found.estimand
    cautions = [note.text for note in found.notes if note.caution]
    if cautions:
        details["cautions"] = "; ".join(cautions)
    spread = means.std()
    uncertainty = uncertainty_of(found)
    if isinstance(spread, float) and math.isfinite(spread):
        uncertainty["standard_deviation"] = spread
    return {"score": found.estimate, "details": details, "uncertainty": uncertainty}


def uncertainty_of(found: Score) -> dict[str, Any]:
    """Return the uncertainty of a score as the schema writes it, with the method that made it."""
    within = f", clustered by {' and '.join(found.clusters)}" if found.clusters and found.n_clusters else ""
    by = f"evalstats {toolkit_version()}"
    record: dict[str, Any] = {"num_samples": found.n_items}
    if found.std_error:
        record["standard_error"] = {"value": found.std_error, "method": f"analytic{within} ({by})"}
    if found.conf_low is not None and found.conf_high is not None:
        record["confidence_interval"] = {
            "lower": found.conf_low,
            "upper": found.conf_high,
            "confidence_level": found.conf_level,
            "method": f"{found.method}{within} ({by})",
        }
    return record


def published_details(row: Mapping[str, Any], computed: Score | str | None, span: float | None) -> dict[str, Any]:
    """Return `score_details` of a published number; what its uncertainty lacks is filled in from its samples.

    Only where these give the same score of as many items: a number that was made otherwise has another uncertainty.
    """
    methods = _methods_of(row.get("method"))
    record: dict[str, Any] = {} if row["n"] is None else {"num_samples": row["n"]}
    if row["std_error"] is not None:
        record["standard_error"] = {"value": row["std_error"], "method": methods["standard_error"]}
    if row["conf_low"] is not None and row["conf_high"] is not None:
        interval = {"lower": row["conf_low"], "upper": row["conf_high"], "confidence_level": row["conf_level"]}
        record["confidence_interval"] = {
            **{name: value for name, value in interval.items() if value is not None},
            "method": methods["confidence_interval"],
        }
    if isinstance(computed, Score) and agrees(row["estimate"], computed, span) and row["n"] in (None, computed.n_items):
        record = {**uncertainty_of(computed), **record}
    filled = [name for name in NUMBERS if row[name] is None and _holds(record, name)]
    kept = {
        name: value for name, value in row.items() if name not in {*NUMBERS, *SHARED, "estimate"} or name == "system"
    }
    annex = {"row": packed(kept), "filled": filled}
    details = {ANNEX: json.dumps(annex)}
    return {"score": row["estimate"], "details": details, **({"uncertainty": record} if record else {})}


def agrees(published: float, computed: Score, span: float | None) -> bool:
    """Whether a published and a computed score are the same number, written with fewer digits."""
    return computed.estimate is not None and abs(published - computed.estimate) <= _SAME * (
        span or max(1.0, abs(published))
    )


def _holds(record: Mapping[str, Any], name: str) -> bool:
    interval = record.get("confidence_interval", {})
    where = {
        "std_error": "standard_error" in record,
        "conf_low": "lower" in interval,
        "conf_high": "upper" in interval,
        "conf_level": "confidence_level" in interval,
        "n": "num_samples" in record,
    }
    return where[name]


def _methods_of(method: str | None) -> dict[str, str]:
    """Return how standard error and interval were made, as far as the row says it.

    >>> _methods_of("published; standard error: bootstrap")
    {'standard_error': 'bootstrap', 'confidence_interval': 'published; standard error: bootstrap'}
    """
    found = dict.fromkeys(_PARTS.values(), method or _PUBLISHED)
    for part in (method or "").split("; "):
        for beginning, name in _PARTS.items():
            if part.startswith(beginning):
                found[name] = part.removeprefix(beginning)
    return found


_DEFAULTS: Final[Mapping[str, object]] = {"task": "", "variant": "", "setting": "lab", "status": "scored"}
# These stand in fields of the schema.
_OWN_FIELDS: Final = frozenset({*SHARED, "item", "score", "n_turns", "input_tokens", "output_tokens"})
_NO_ITEM: Final = "(none)"


def write_samples(
    outcomes: pl.DataFrame, path: Path, fixed: Mapping[str, str], linked: Mapping[Key, str], facts: ScoredMetrics
) -> tuple[str, int]:
    """Write a line for each row; return the digest of the file and the number of lines."""
    digest, n = hashlib.sha256(), 0
    present = [name for name in outcomes.columns if outcomes[name].null_count() < outcomes.height or name in GROUP]
    best = {metric: facts.best(metric) for metric in outcomes["metric"].unique().to_list()}
    with path.open("wb") as stream:
        for row in outcomes.select(pl.selectors.by_name(*present)).iter_rows(named=True):
            key = tuple(row[name] for name in GROUP)
            # Letters beyond ASCII are escaped: some readers take U+2028 for the end of a line.
            line = json.dumps({**fixed, **_sample(row, linked.get(key), best[row["metric"]])}).encode() + b"\n"
            digest.update(line)
            stream.write(line)
            n += 1
    return digest.hexdigest(), n


def _sample(row: dict[str, Any], result: str | None, best: float | None) -> dict[str, Any]:
    score, turns = row.get("score"), row.get("n_turns")
    several = turns is not None and turns > 1
    metadata = {
        name: to_text(value)
        for name, value in row.items()
        if value is not None and name not in _OWN_FIELDS and _DEFAULTS.get(name) != value
    }
    evaluation: dict[str, Any] = {
        "score": 0.0 if score is None else score,
        "is_correct": score is not None and score == best,
    }
    if turns is not None and turns >= 1:
        evaluation["num_turns"] = turns
    elif turns is not None:
        metadata["n_turns"] = str(turns)
    if not row["item"]:
        metadata["item"] = row["item"]
    return {
        "evaluation_name": evaluation_name(row["task"], row["variant"], row["benchmark"]),
        **({"evaluation_result_id": result} if result else {}),
        "sample_id": row["item"] or _NO_ITEM,
        "interaction_type": "multi_turn" if several else "single_turn",
        # The tables hold no texts: neither what was asked nor what was answered.
        "input": {"raw": "", "reference": []},
        **({"messages": []} if several else {"output": {"raw": []}}),
        "answer_attribution": [],
        "evaluation": evaluation,
        **_measured(row, metadata),
        **_failure(row),
        "metadata": metadata,
    }


def _measured(row: Mapping[str, Any], metadata: dict[str, str]) -> dict[str, Any]:
    """Return tokens and time as the schema has them; tokens of one kind alone go with the rest."""
    found: dict[str, Any] = {}
    given, made = row.get("input_tokens"), row.get("output_tokens")
    if given is not None and made is not None:
        found["token_usage"] = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    elif given is not None:
        metadata["input_tokens"] = str(given)
    elif made is not None:
        metadata["output_tokens"] = str(made)
    if row.get("latency_s") is not None:
        found["performance"] = {"latency_ms": row["latency_s"] * 1000}
    return found


def _failure(row: Mapping[str, Any]) -> dict[str, str]:
    status, reason = row["status"], row.get("status_reason")
    if status == "error":
        return {"error": reason or "error"}
    if status == UNSCORED:
        return {"error": f"{UNSCORED}: {reason}" if reason else UNSCORED}
    return {}
