"""From tallies to the stored file: rates with their Monte Carlo intervals, promises with what was found."""

import json
import math
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dev.validation.study import SEED, Promise, Question, Tallies, Tally
from evalstats.datasets.validation import ENOUGH, PromisedRate
from evalstats.stats.one_sample import wilson

FOLDER = Path(__file__).resolve().parents[2] / "evalstats" / "datasets" / "validation"

# Fewer digits than two builds of one program could disagree on.
_DIGITS = 7


def record(question: Question, tallies: Tallies) -> dict[str, Any]:
    """Return what is stored of a question: only the cases that were run."""
    cases = [case for case in question.cases if any(key[0] == case.name for key in tallies)]
    rows = [
        _row(case.name, method, tallies[case.name, method])
        for case in cases
        for method in question.methods
        if (case.name, method) in tallies
    ]
    claims = [_claim(promise, question, tallies) for promise in question.promises]
    return {
        "name": question.name,
        "question": question.question,
        "design": question.design,
        "measure": question.measure,
        "nominal": question.nominal,
        "seed": SEED if question.seeded else None,
        "version": version("evalstats-toolkit"),
        "methods": [{"method": method, "role": role} for method, role in question.methods.items()],
        "cases": [{"case": case.name, "group": case.group, "design": dict(case.design)} for case in cases],
        "rows": rows,
        "claims": [asdict(claim) for claim in claims if claim is not None],
        "notes": question.notes(tallies),
    }


def text_of(stored: dict[str, Any]) -> str:
    """Return the file: JSON with one row a line, so that a change shows as the rows that changed."""
    parts: list[str] = []
    for key, value in stored.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in value)
            parts.append(f" {json.dumps(key)}: [\n{lines}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _row(case: str, method: str, tally: Tally) -> dict[str, Any]:
    row: dict[str, Any] = {"case": case, "method": method, "rate": _rate(tally)}
    replicates = _replicates(tally)
    if replicates is not None:
        found = wilson(round(row["rate"] * replicates), replicates)
        row |= {
            "replicates": replicates,
            "low": round(found.conf_low, _DIGITS),
            "high": round(found.conf_high, _DIGITS),
        }
    if tally.width is not None:
        row["width"] = round(tally.width / tally.total, _DIGITS)
    return row


def _rate(tally: Tally) -> float:
    return round(tally.errors / tally.total, _DIGITS)


def _replicates(tally: Tally) -> int | None:
    """Return how many data sets were drawn; an enumeration's total is 1."""
    return None if abs(tally.total - 1.0) < 1e-6 else round(tally.total)


def _claim(promise: Promise, question: Question, tallies: Tallies) -> PromisedRate | None:
    named = promise.cases or tuple(case.name for case in question.cases)
    found = {case: tallies[case, promise.method] for case in named if (case, promise.method) in tallies}
    if len(found) < len(promise.cases) or not found:
        return None
    low, high = promise.low, promise.high
    tables = [drawn for case in found if (drawn := _drawn(case, tallies)) is not None]
    judged = not tables or min(tables) >= ENOUGH

    def room(case: str) -> float:
        least, most = _reach(found[case]) if promise.up_to_chance else (_rate(found[case]),) * 2
        below = math.inf if high is None else high - least
        above = math.inf if low is None else most - low
        return min(below, above)

    tightest = min(found, key=room)
    return PromisedRate(
        text=promise.text,
        method=promise.method,
        cases=promise.cases,
        low=low,
        high=high,
        found=_rate(found[tightest]),
        replicates=_replicates(found[tightest]),
        tables=min(tables, default=None),
        up_to_chance=promise.up_to_chance,
        holds=room(tightest) >= 0.0 if judged else None,
    )


def _drawn(case: str, tallies: Tallies) -> int | None:
    """Return how many tables were drawn in a case: a method that refuses some has fewer intervals than that."""
    counts = [_replicates(tally) for (name, _), tally in tallies.items() if name == case]
    return max((count for count in counts if count is not None), default=None)


def _reach(tally: Tally) -> tuple[float, float]:
    """Return the 95% interval of a simulated rate; an exact one is a point."""
    replicates = _replicates(tally)
    if replicates is None:
        return (_rate(tally),) * 2
    found = wilson(round(tally.errors), replicates)
    return found.conf_low, found.conf_high
