"""The samples of one log of Every Eval Ever: a line for every row of outcomes, whatever became of it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.exporters.scored_results import GROUP, Key, MetricFacts, evaluation_name
from evalstats.loaders.every_eval_ever_annex import SHARED, UNSCORED, to_text

_DEFAULTS: Final[Mapping[str, object]] = {"task": "", "variant": "", "setting": "lab", "status": "scored"}
# These stand in fields of the schema.
_OWN_FIELDS: Final = frozenset({*SHARED, "item", "score", "n_turns", "input_tokens", "output_tokens"})
_NO_ITEM: Final = "(none)"


def write_samples(
    outcomes: pl.DataFrame, path: Path, fixed: Mapping[str, str], linked: Mapping[Key, str], facts: MetricFacts
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
