"""Small outcome tables for the tests of the analyses."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalstats.analysis.result import Result
from evalstats.document import terminal
from evalstats.errors import written
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows


def rows_of(
    model: str,
    scores: Sequence[float | None],
    *,
    items: Sequence[str] | None = None,
    metric: str = "correct",
    benchmark: str = "bench",
    trials: int = 1,
    factors: Mapping[str, Sequence[object]] | None = None,
    status: str = "unscored",
) -> list[dict[str, object]]:
    """One row for every score; with `trials`, consecutive scores are trials of one item. None has the given status."""
    rows: list[dict[str, object]] = []
    for i, score in enumerate(scores):
        item, trial = divmod(i, trials)
        name = items[item] if items is not None else f"q{item:04d}"
        row: dict[str, object] = {
            "run": f"{model}-run",
            "model": model,
            "system": model,
            "benchmark": benchmark,
            "item": name,
            "trial": trial,
            "metric": metric,
            "score": score,
            "status": "scored" if score is not None else status,
        }
        row.update({factor: levels[item] for factor, levels in (factors or {}).items()})
        rows.append(row)
    return rows


def data_of(
    *rows: list[dict[str, object]],
    kind: str | None = None,
    low: float | None = None,
    high: float | None = None,
    higher_is_better: bool = True,
    metric: str = "correct",
    dependence: Sequence[str] = (),
    note: str | None = None,
) -> EvalData:
    """Outcome rows as `EvalData`, with a run for each model and, if wanted, a declared metric."""
    every = [row for part in rows for row in part]
    runs = [
        {"run": run, "benchmark": benchmark, "dependence": list(dependence), "note": note}
        for run, benchmark in sorted({str(row["run"]): str(row["benchmark"]) for row in every}.items())
    ]
    metrics = [] if kind is None else [
        {
            "benchmark": "bench",
            "metric": metric,
            "kind": kind,
            "low": low,
            "high": high,
            "higher_is_better": higher_is_better,
        }
    ]  # fmt: skip
    return EvalData(
        outcomes=frame_from_rows(every, "outcomes"),
        runs=frame_from_rows(runs, "runs"),
        metrics=frame_from_rows(metrics, "metrics"),
    )


def told(result: Any) -> tuple[str, ...]:
    """All that a result says beside its numbers, cautions and remarks alike."""
    said = [*getattr(result, "warnings", ()), *result.notes]
    return tuple(
        each if isinstance(each, str) else "; ".join(filter(None, (each.text, written(each.remedy)))) for each in said
    )


def printed(result: Result, *, full: bool = True) -> str:
    """A result as the terminal shows it, 80 columns wide."""
    return terminal.to_text(result.document(), full=full)
