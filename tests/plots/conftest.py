"""Comparisons made by hand, with names that a careless page would run."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evalstats.analysis.compare.result import Comparison, GroupRow, Missing, Verdict
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import MethodRow, Origin
from evalstats.analysis.score.result import Score
from evalstats.table.metric import MetricFacts

HOSTILE = ("<script>alert(1)</script>", "a|b", "=cmd()", "$x_1$ #eval @ref `code`", "通义千问 客服")


CORRECT = MetricFacts(
    benchmark="Tenacious-Bench", name="correct", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit=""
)


def _score(name: str, estimate: float, low: float, high: float) -> Score:
    return Score(
        name=name,
        estimate=estimate,
        conf_low=low,
        conf_high=high,
        conf_level=0.95,
        method="Wilson",
        about=CORRECT,
        n_items=43,
        n_trials=43,
    )


@pytest.fixture(scope="session")
def tenacious() -> Comparison:
    """The published headline: 43 pairs, 22 right against 43; Tango's interval from golden/py_golden.json."""
    headline = {"estimate": 0.4884, "conf_low": 0.3462, "conf_high": 0.6325, "p_value": 4.6e-6}
    return Comparison(
        baseline=_score("baseline", 0.5116, 0.3676, 0.6539),
        candidate=_score("trained", 1.0, 0.918, 1.0),
        contrast="model",
        about=CORRECT,
        tasks=(),
        conf_level=0.95,
        method="Tango score",
        method_reason="the score is binary, with one trial an item",
        estimand="mean difference over items, for new items like these",
        verdict="better",
        verdict_reason="the interval excludes 0",
        rows=(
            MethodRow(term="difference", method="Tango score", role="headline", conf_level=0.95, **headline),
            MethodRow(term="difference", method="McNemar mid-p", role="check", conf_level=0.95, p_value=4.8e-7),
            MethodRow(
                term="difference",
                method="CR2 by dimension",
                role="sensitivity",
                conf_level=0.95,
                estimate=0.4884,
                conf_low=-0.0556,
                conf_high=1.0,
                p_value=0.0697,
                n_clusters=7,
            ),
        ),
        n_items=43,
        n_trials=86,
        mde=0.2,
        missing=Missing(n_both=43, n_only_baseline=0, n_only_candidate=0, n_neither=0),
        origin=Origin(version=toolkit_version()),
        **headline,
    )


@pytest.fixture(scope="session")
def group() -> Callable[..., GroupRow]:
    """Make one group's row; without `half` there is no interval."""

    def made(
        level: str,
        n: int,
        estimate: float | None,
        half: float | None = None,
        *,
        verdict: Verdict = "inconclusive",
        reason: str = "the interval includes 0",
        n_clusters: int | None = None,
    ) -> GroupRow:
        ends = (None, None) if half is None or estimate is None else (max(estimate - half, -1), min(estimate + half, 1))
        return GroupRow(
            level=level,
            n_items=n,
            baseline=None if estimate is None else 0.5,
            candidate=None if estimate is None else 0.5 + estimate / 2,
            estimate=estimate,
            std_error=None,
            conf_low=ends[0],
            conf_high=ends[1],
            conf_level=0.95,
            p_value=None,
            p_adjusted=None,
            p_holm=None,
            method="Tango score",
            verdict=verdict,
            verdict_reason=reason,
            n_clusters=n_clusters,
        )

    return made


@pytest.fixture(scope="session")
def grouped(tenacious: Comparison, group: Callable[..., GroupRow]) -> Comparison:
    """Seven scenario types with hostile names, groups without an interval, and missing items."""
    groups = (
        group("conflicting_signals", 9, 1.0, 0.31, verdict="better", reason="the interval excludes 0"),
        group(HOSTILE[0], 8, 0.5, 0.44, verdict="better", reason="the interval excludes 0"),
        group(HOSTILE[1], 7, 0.0, 0.36),
        group(HOSTILE[2], 6, -0.17, 0.45),
        group(HOSTILE[3], 6, -0.66, 0.3, verdict="worse", reason="the interval excludes 0"),
        group(HOSTILE[4], 6, 1.0, verdict="invalid", reason="fewer than 5 clusters", n_clusters=3),
        group("empty", 1, None, verdict="invalid", reason="no item was scored on both sides"),
    )
    missing = Missing(
        n_both=43,
        n_only_baseline=2,
        n_only_candidate=1,
        n_neither=0,
        only_baseline=HOSTILE[:2],
        only_candidate=HOSTILE[2:3],
        explanation="missing scores could move the difference",
    )
    return replace(tenacious, by="scenario", groups=groups, missing=missing, margin=0.05)
