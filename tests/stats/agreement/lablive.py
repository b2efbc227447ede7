"""Published scores of the same models in a lab and with live users, and what was computed from them elsewhere."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from evalstats.stats.errors_in_variables.scores import LabLiveScores

NAMES = (
    "arena_hard_240829_holistic",
    "livebench_240829_holistic",
    "mmlu_pro_240829_knowledge",
    "alphacaeval_v2lc_240829_holistic",
    "mtbench_240829_holistic",
)


def published(golden: Path) -> dict[str, tuple[LabLiveScores, dict[str, Any]]]:
    """Scores (lab, arena rating) and reference values of each of the five benchmarks."""
    known = json.loads((golden / "lablive_benchbench.json").read_text())
    return {name: (scores_of(golden, known[name]["col"]), known[name]) for name in NAMES}


def scores_of(golden: Path, column: str) -> LabLiveScores:
    """Both scores of the models of one benchmark."""
    rows = rows_of(golden, column)
    return LabLiveScores(
        lab=np.array([float(row[column]) for row in rows]), live=np.array([float(row["arena_elo"]) for row in rows])
    )


def rows_of(golden: Path, column: str) -> list[dict[str, str]]:
    """Rows of one benchmark's table."""
    with (golden / f"lablive_{column}.csv").open(newline="") as file:
        return list(csv.DictReader(file))
