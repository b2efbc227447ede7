"""Hand-made answers to "does the lab predict the live world?", for the tests of words, figures and pages.

Nothing is fitted here as `gap()` fits it. Scores are made up; what hangs on them (gaps, intervals, verdicts, pairs) follows
from them by the plainest formula, so that the parts of a result agree with each other as those of a real one do.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evalstats.analysis.gap.result import Agreement, GapRow, LabLiveGap, SideAccount, Threat
from evalstats.analysis.provenance import toolkit_version
from evalstats.document.model import Note
from evalstats.schema.plan import PlanAccount
from tests.analysis.gap.example_agreement import agreement
from tests.analysis.gap.example_mix import decomposition, drops, scenario_gaps
from tests.analysis.gap.example_rows import MARGIN, hierarchy, level, line, without_line
from tests.analysis.gap.example_rows import rows as made

HOSTILE = (
    "<script>alert(1)</script>|$x$",
    "a|b\n\n# heading \x1b[2J",
    "=cmd() `code` #eval @ref",
    f"{'long-name-' * 9}one",
    f"{'long-name-' * 9}two",
    "模型日本語" * 8,
)
_BIRDS = ("auk", "bittern", "crane", "dunlin", "egret", "falcon", "grebe", "heron", "ibis", "jay", "kestrel", "linnet")


def one_scale(names: Sequence[str] = _BIRDS) -> LabLiveGap:
    """Twelve models by success in the lab and with live users: `grebe` (the seventh) does far worse live than expected."""
    n = len(names)
    lab = 0.78 - 0.035 * np.arange(n) + 0.012 * np.sin(5.0 * np.arange(n))
    live = 0.05 + 0.80 * lab + 0.015 * np.cos(3.0 * np.arange(n))
    live[6] -= 0.22
    rows = made(names, lab, live, (0.018, 0.022), margin=MARGIN, same_scale=True, n=(400, 510))
    lab_side = _side(
        "outcomes",
        "rutbench",
        "success",
        scale=100.0,
        unit="pp",
        n_models=14,
        n_units=400,
        unit_word="items",
        only_here=("merlin", "nightjar"),
        n_clusters=120,
        clusters=("task",),
        first_day="2026-02-03",
        last_day="2026-02-20",
        reliability=0.96,
        noise=0.018,
        spread=float(np.std(lab, ddof=1)),
    )
    live_side = _side(
        "outcomes",
        "support-app",
        "success",
        scale=100.0,
        unit="pp",
        n_models=13,
        n_units=6120,
        unit_word="sessions",
        only_here=("owl",),
        n_clusters=1840,
        clusters=("user",),
        first_day="2026-03-01",
        last_day="2026-04-30",
        reliability=0.95,
        noise=0.022,
        spread=float(np.std(live, ddof=1)),
    )
    by_live = tuple(row.name for row in rows)
    return _result(
        lab_side,
        live_side,
        rows,
        agreement(rows, top=(5, 10)),
        same_scale=True,
        margin=MARGIN,
        line=line(rows),
        level=level(rows),
        decomposition=decomposition(by_live),
        scenario_gaps=scenario_gaps(by_live),
        drops=drops(by_live),
        hierarchy=hierarchy(rows, ("merlin", "nightjar")),
        n_resamples=2000,
        joined_by_alias=(("auk-2026-02-01", "auk"),),
        near_names=(("owl-1", "owl"),),
        plan=PlanAccount(source="evalstats.toml", digest="0123456789abcdef", declared=(("margin", "10 pp"),)),
        notes=(Note(kind="choice", text="the behaviour of users is counted in the live data", caution=False),),
    )


def hostile() -> LabLiveGap:
    """As `one_scale`, with names that try to break out of a table or a page."""
    return one_scale((*HOSTILE, *_BIRDS[6:]))


def votes() -> LabLiveGap:
    """Forty-eight models by a benchmark of prompts and by live votes: agreement is high over all, low within the top."""
    n = 48
    names = tuple(f"laboratory-{i % 7}/model-{i:02d}-instruct-2026" for i in range(n))
    order = np.arange(n)
    live = 1280.0 - 6.5 * order + 5.0 * np.sin(2.0 * order)
    lab = 0.80 - 0.014 * order + 0.10 * np.sin(1.7 * order) * np.exp(-order / 20) + 0.03 * np.cos(4.0 * order)
    live[[9, 30]] += (95.0, -90.0)
    rows = made(names, np.clip(lab, 0.02, 0.98), live, (0.02, 6.0), margin=None, same_scale=False, n=(500, 3200))
    lab_side = _side(
        "outcomes",
        "hard-prompts",
        "wins",
        scale=100.0,
        unit="pp",
        n_models=51,
        n_units=500,
        unit_word="items",
        only_here=("lab-a", "lab-b", "lab-c"),
        reliability=0.98,
        noise=0.02,
        spread=0.19,
    )
    live_side = _side(
        "comparisons",
        "arena",
        "rating",
        scale=1.0,
        unit="points",
        n_models=60,
        n_units=153_600,
        unit_word="votes",
        only_here=tuple(f"arena-only-{i}" for i in range(12)),
        n_clusters=41_000,
        clusters=("rater", "item"),
        first_day="2025-11-01",
        last_day="2026-03-31",
        reliability=0.99,
        noise=6.0,
        spread=90.0,
        metric_kind="rating",
    )
    return _result(
        lab_side,
        live_side,
        rows,
        agreement(rows, top=(5, 10)),
        line=line(rows),
        n_resamples=2000,
        hierarchy=hierarchy(rows, ("lab-a", "lab-b", "lab-c")),
        left_out=(
            ("level", "lab and live are on different scales, so a plain difference means nothing"),
            (
                "decomposition",
                "the live side holds votes, which have no success of their own; give a live mix with --mix",
            ),
        ),
    )


def without_errors() -> LabLiveGap:
    """Thirty-five models of two published tables without standard errors: agreement, and nothing of any gap."""
    n = 35
    names = tuple(f"model-{i:02d}" for i in range(n))
    order = np.arange(n)
    lab, live = 60.0 - 2.0 * order + 6.0 * np.sin(order), 1250.0 - 9.0 * order + 20.0 * np.cos(2.0 * order)
    rows = made(names, lab, live, None, margin=None, same_scale=False, n=None)
    reason = "neither side has standard errors, so what is noise cannot be told from what is a gap"
    rows = tuple(replace(row, verdict="invalid", reason=reason) for row in rows)
    found = _result(
        _side("aggregates", "wildbench", "score", n_models=62, errors="none", metric_kind="continuous"),
        _side("aggregates", "arena", "elo", n_models=120, unit="points", errors="none", metric_kind="rating"),
        rows,
        agreement(rows, top=(5, 10)),
        n_resamples=2000,
        left_out=(("line", reason), ("level", reason), ("hierarchy", reason), ("decomposition", "no outcomes")),
        notes=(Note(kind="few", text="no standard errors, so no gap can be told"),),
    )
    return replace(found, verdict="invalid", verdict_reason=reason)


def four() -> LabLiveGap:
    """Four models on one scale: too few for a line, so only differences are told."""
    names = ("auk", "crane", "egret", "heron")
    lab, live = np.array([0.81, 0.74, 0.70, 0.66]), np.array([0.55, 0.68, 0.60, 0.57])
    rows = made(names, lab, live, (0.02, 0.025), margin=None, same_scale=True, n=(300, 400))
    reason = "4 models are in both, and a line through fewer than 6 says nothing"
    rows = tuple(without_line(row, reason) for row in rows)
    side = {"scale": 100.0, "unit": "pp", "n_models": 4, "unit_word": "items", "reliability": 0.6, "noise": 0.02}
    return _result(
        _side("outcomes", "bench", "success", n_units=300, spread=0.06, **side),  # pyright: ignore[reportArgumentType]
        _side("outcomes", "app", "success", n_units=400, spread=0.06, **side),  # pyright: ignore[reportArgumentType]
        rows,
        agreement(rows, top=()),
        same_scale=True,
        level=level(rows),
        n_resamples=2000,
        left_out=(("line", reason), ("hierarchy", reason), ("decomposition", "the sides share no factor")),
        notes=(Note(kind="few", text="4 models: agreement is told for these models alone"),),
    )


def invalid() -> LabLiveGap:
    """Five models on two scales: neither a difference nor a line."""
    names = ("auk", "crane", "egret", "heron", "ibis")
    lab, live = np.array([61.0, 55.0, 50.0, 47.0, 31.0]), np.array([1201.0, 1190.0, 1215.0, 1150.0, 1101.0])
    rows = made(names, lab, live, (1.5, 8.0), margin=None, same_scale=False, n=None)
    reason = "5 models are in both and the scales differ; a line needs at least 6"
    rows = tuple(replace(without_line(row, reason), verdict="invalid") for row in rows)
    found = _result(
        _side("aggregates", "bench", "score", n_models=9, errors="marginal", metric_kind="continuous"),
        _side("aggregates", "arena", "elo", n_models=30, unit="points", errors="marginal", metric_kind="rating"),
        rows,
        agreement(rows, top=()),
        left_out=(("line", reason), ("level", "lab and live are on different scales"), ("hierarchy", reason)),
    )
    return replace(found, verdict="invalid", verdict_reason=reason)


def aligned() -> LabLiveGap:
    """Ten models that all lie within a declared margin."""
    names, order = _BIRDS[:10], np.arange(10)
    lab = 0.75 - 0.04 * order
    live = lab + 0.004 * np.sin(7.0 * order)
    rows = made(names, lab, live, (0.006, 0.006), margin=MARGIN, same_scale=True, n=(4000, 5000))
    side = {"scale": 100.0, "unit": "pp", "n_models": 10, "reliability": 0.99, "noise": 0.006, "spread": 0.12}
    found = _result(
        _side("outcomes", "bench", "success", n_units=4000, unit_word="items", **side),  # pyright: ignore[reportArgumentType]
        _side("outcomes", "app", "success", n_units=50_000, unit_word="sessions", **side),  # pyright: ignore[reportArgumentType]
        rows,
        agreement(rows, top=(5,)),
        same_scale=True,
        margin=MARGIN,
        line=line(rows),
        level=level(rows),
    )
    return replace(
        found, verdict="aligned", verdict_reason="all 10 models and the level lie within the margin of 10 pp"
    )


# --- both sides ---


def _side(kind: str, name: str, metric: str, **given: object) -> SideAccount:
    """One side with everything plain unless it is given."""
    plain: dict[str, object] = {
        "metric_kind": "binary",
        "unit": "",
        "scale": 1.0,
        "higher_is_better": True,
        "errors": "full",
        "n_models": 12,
        "n_units": None,
        "unit_word": "",
        "method": "mean of item means" if kind == "outcomes" else "as published",
    }
    return SideAccount(kind=kind, name=name, metric=metric, **{**plain, **given})  # pyright: ignore[reportArgumentType]


def _result(
    lab: SideAccount, live: SideAccount, rows: tuple[GapRow, ...], found: Agreement, **given: object
) -> LabLiveGap:
    flagged = [row.name for row in rows if row.verdict == "gap"]
    apart = [row for row in rows if row.difference_verdict == "gap"]
    plain: dict[str, object] = {
        "same_scale": False,
        "conf_level": 0.95,
        "margin": None,
        "method": (
            "York's line with errors on both sides and a spread between models; each model against the line of the others"
        ),
        "method_reason": "both sides have errors, and ordinary regression would take the noise of the lab for gaps",
        "estimand": "live less what the lab score leads to expect, by a line through the other models",
        "verdict": "gap" if flagged or apart else "inconclusive",
        "verdict_reason": f"{len(flagged)} of {len(rows)} models are flagged" if flagged else "no model is flagged",
        "n_models": len(rows),
        "threats": THREATS,
        "version": toolkit_version(),
        "sources": (("lab.jsonl", "aa" * 32), ("live.parquet", "bb" * 32)),
    }
    if "line" not in given:
        why = dict(given.get("left_out", ())).get("line", "no line")  # pyright: ignore[reportArgumentType, reportCallIssue]
        plain |= {"method": "differences of scores" if "level" in given else "none", "method_reason": why}
    return LabLiveGap(lab=lab, live=live, rows=rows, agreement=found, **{**plain, **given})  # pyright: ignore[reportArgumentType]


THREATS = tuple(
    Threat(key=key, title=title, text=text, status=status)
    for key, title, text, status in (
        ("self-selection", "Self-selection", "Live users choose what they ask and which model they use.", "possible"),
        ("versions", "Versions and dates", "Lab runs end on 2026-02-20, live sessions begin on 2026-03-01.", "seen"),
        ("prompts", "Prompts and tools", "Neither side names a system prompt.", "possible"),
        ("outcome", "Outcome", "Both sides measure success.", "possible"),
        ("contamination", "Contamination", "Public items may have been trained on.", "possible"),
        ("judge", "Judge and user", "A judge scores the lab, users score live.", "possible"),
        ("survivorship", "Survivorship", "2 of 14 lab models have no live score; they score lower in the lab.", "seen"),
    )
)
