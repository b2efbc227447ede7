"""The decision of `compare` on arrays: the method it picks, its interval, its checks and its verdict."""

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from evalstats.analysis.compare import difference
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.difference import PairedScores, paired_difference
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.compare.verdict import decide, with_unseen
from evalstats.analysis.design.metric import Metric
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows

LEVEL = 0.95
SIDES = ("a", "b")


def metric(kind: str, low: float | None = None, high: float | None = None) -> Metric:
    """Return a metric that is higher for better; right/wrong scores run from 0 to 1."""
    if kind == "binary":
        low, high = 0.0, 1.0
    return Metric(benchmark="simulated", name="score", kind=kind, low=low, high=high, higher_is_better=True, unit="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What `compare` would print: the ends of its interval, whether it claims a direction, p-values by method."""

    low: float | None
    high: float | None
    claims: bool
    p_values: Mapping[str, float]
    mde: float | None

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval alone claims a direction."""
        return self.low is not None and self.high is not None and not self.low <= 0.0 <= self.high


def decided(scores: PairedScores, *, seed: int = 0, detectable: bool = False, checks: bool = False) -> Decision:
    """Return the decision on item means: the analysis behind `compare`, without its tables.

    Without a margin the detectable difference decides nothing, and with clusters it takes most of the time: there it is
    worked out only when it is asked for; so are the p-values of what is shown beside (`checks`).
    """
    with nullcontext() if detectable else patch.object(difference, "mde_clusters", return_value=None):
        found = paired_difference(scores, conf_level=LEVEL, method="auto", seed=seed, further=checks)
    found = with_unseen(found, scores)
    verdict, _ = decide(found, scores.metric)
    return Decision(
        low=found.headline.conf_low,
        high=found.headline.conf_high,
        claims=verdict in ("better", "worse"),
        p_values={row.method: row.p_value for row in found.rows if row.p_value is not None},
        mde=found.mde,
    )


def compared(scores: Sequence[np.ndarray], of: Metric, clusters: np.ndarray | None) -> Decision:
    """Return the decision of `compare` itself, on a table with one row an item, side and trial.

    Parameters
    ----------
    scores
        Baseline's and candidate's scores, shape (n_items, n_trials) each.
    """
    data = _table(scores, of, {} if clusters is None else {"passage": clusters})
    found = compare(data, *SIDES, cluster=None if clusters is None else "passage", conf_level=LEVEL)
    return Decision(
        low=found.conf_low,
        high=found.conf_high,
        claims=found.verdict in ("better", "worse"),
        p_values={row.method: row.p_value for row in found.rows if row.p_value is not None},
        mde=found.mde,
    )


def _table(scores: Sequence[np.ndarray], of: Metric, columns: Mapping[str, np.ndarray]) -> EvalData:
    """Return a table with one row an item, side and trial; a score that is no number is an error."""
    rows = [
        {
            "run": side,
            "model": side,
            "system": side,
            "benchmark": of.benchmark,
            "item": f"i{item:05d}",
            "trial": trial,
            "metric": of.name,
            "score": None if math.isnan(score) else score,
            "status": "error" if math.isnan(score) else "scored",
            **{name: f"c{codes[item]:04d}" for name, codes in columns.items()},
        }
        for side, values in zip(SIDES, scores, strict=True)
        for item, trials in enumerate(values.tolist())
        for trial, score in enumerate(trials)
    ]
    declared = {
        "benchmark": of.benchmark, "metric": of.name, "kind": of.kind, "low": of.low, "high": of.high,
        "higher_is_better": True, "primary": True,
    }  # fmt: skip
    return EvalData(outcomes=frame_from_rows(rows, "outcomes"), metrics=frame_from_rows([declared], "metrics"))


def compared_undeclared(
    scores: Sequence[np.ndarray], of: Metric, groups: np.ndarray, *, column: str = "chapter"
) -> Comparison:
    """Return the answer of `compare` on a table that has the groups in a column which nobody declared.

    What takes long and decides nothing is left out.
    """
    with (
        patch.object(difference, "mde_clusters", return_value=None),
        patch.object(difference, "wild_cluster_p", return_value=1.0),
    ):
        return compare(_table(scores, of, {column: groups}), *SIDES, conf_level=LEVEL)


def compared_missing(baseline: np.ndarray, candidate: np.ndarray, lost: np.ndarray, of: Metric) -> bool:
    """Tell whether `compare` claims a direction where some of the candidate's scores are missing."""
    found = compare(_table((baseline[:, None], np.where(lost, np.nan, candidate)[:, None]), of, {}), *SIDES)
    return found.verdict in ("better", "worse")
