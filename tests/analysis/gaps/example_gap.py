"""Hand-made answers to "does the lab predict the live world?", for the tests of words, figures and pages.

Nothing is fitted here as `gap()` fits it. Scores are made up; what hangs on them (gaps, intervals, verdicts, pairs) follows
from them by the plainest formula, so that the parts of a result agree with each other as those of a real one do.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from statistics import NormalDist

import numpy as np

from evalstats.analysis.gaps.agreement_results import (
    Agreement,
    Brier,
    CoefficientRow,
    Contradiction,
    PairOrder,
    PartRow,
    SliceRow,
    SourceInterval,
    SubsetRow,
)
from evalstats.analysis.gaps.results import (
    CalibrationLine,
    Forecast,
    GapRow,
    Hierarchy,
    LabLiveGap,
    LeftOut,
    LevelGap,
    OtherLine,
    SideAccount,
    Threat,
)
from evalstats.schema.plan import PlanAccount
from tests.analysis.gaps.example_mix import decomposition, drops, scenario_gaps

HOSTILE = (
    "<script>alert(1)</script>|$x$",
    "a|b\n\n# heading \x1b[2J",
    "=cmd() `code` #eval @ref",
    f"{'long-name-' * 9}one",
    f"{'long-name-' * 9}two",
    "模型日本語" * 8,
)
_BIRDS = ("auk", "bittern", "crane", "dunlin", "egret", "falcon", "grebe", "heron", "ibis", "jay", "kestrel", "linnet")
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(0.975)
_MARGIN = 0.10


def one_scale(names: Sequence[str] = _BIRDS) -> LabLiveGap:
    """Twelve models by success in the lab and with live users: `grebe` (the seventh) does far worse live than expected."""
    n = len(names)
    lab = 0.78 - 0.035 * np.arange(n) + 0.012 * np.sin(5.0 * np.arange(n))
    live = 0.05 + 0.80 * lab + 0.015 * np.cos(3.0 * np.arange(n))
    live[6] -= 0.22
    rows = _rows(names, names, lab, live, 0.018, 0.022, margin=_MARGIN, same_scale=True, n=(400, 510))
    lab_side = _side(
        "outcomes", "rutbench", "success", scale=100.0, unit="pp", n_models=14, n_units=400, unit_word="items",
        only_here=("merlin", "nightjar"), n_clusters=120, clusters=("task",), first_day="2026-02-03",
        last_day="2026-02-20", reliability=0.96, noise=0.018, spread=float(np.std(lab, ddof=1)),
    )  # fmt: skip
    live_side = _side(
        "outcomes", "support-app", "success", scale=100.0, unit="pp", n_models=13, n_units=6120, unit_word="sessions",
        only_here=("owl",), n_clusters=1840, clusters=("user",), first_day="2026-03-01", last_day="2026-04-30",
        reliability=0.95, noise=0.022, spread=float(np.std(live, ddof=1)),
    )  # fmt: skip
    by_live = tuple(row.name for row in rows)
    return _result(
        lab_side, live_side, rows, _agreement(rows, top=(5, 10)), same_scale=True, margin=_MARGIN,
        line=_line(rows), level=_level(rows), decomposition=decomposition(by_live), scenario_gaps=scenario_gaps(by_live),
        drops=drops(by_live), hierarchy=_hierarchy(rows, ("merlin", "nightjar")), n_resamples=2000,
        joined_by_alias=(("auk-2026-02-01", "auk"),), near_names=(("owl-1", "owl"),),
        plan=PlanAccount(source="evalstats.toml", digest="0123456789abcdef", declared=(("margin", "10 pp"),)),
        notes=("the behaviour of users is counted in the live data",),
    )  # fmt: skip


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
    rows = _rows(names, names, np.clip(lab, 0.02, 0.98), live, 0.02, 6.0, margin=None, same_scale=False, n=(500, 3200))
    lab_side = _side(
        "outcomes", "hard-prompts", "wins", scale=100.0, unit="pp", n_models=51, n_units=500, unit_word="items",
        only_here=("lab-a", "lab-b", "lab-c"), reliability=0.98, noise=0.02, spread=0.19,
    )  # fmt: skip
    live_side = _side(
        "comparisons", "arena", "rating", scale=1.0, unit="points", n_models=60, n_units=153_600, unit_word="votes",
        only_here=tuple(f"arena-only-{i}" for i in range(12)), n_clusters=41_000, clusters=("rater", "item"),
        first_day="2025-11-01", last_day="2026-03-31", reliability=0.99, noise=6.0, spread=90.0, metric_kind="rating",
    )  # fmt: skip
    return _result(
        lab_side, live_side, rows, _agreement(rows, top=(5, 10)), line=_line(rows), n_resamples=2000,
        hierarchy=_hierarchy(rows, ("lab-a", "lab-b", "lab-c")),
        left_out=(
            ("level", "lab and live are on different scales, so a plain difference means nothing"),
            ("decomposition", "the live side holds votes, which have no success of their own; give a live mix with --mix"),
        ),
    )  # fmt: skip


def without_errors() -> LabLiveGap:
    """Thirty-five models of two published tables without standard errors: agreement, and nothing of any gap."""
    n = 35
    names = tuple(f"model-{i:02d}" for i in range(n))
    order = np.arange(n)
    lab, live = 60.0 - 2.0 * order + 6.0 * np.sin(order), 1250.0 - 9.0 * order + 20.0 * np.cos(2.0 * order)
    rows = _rows(names, names, lab, live, None, None, margin=None, same_scale=False, n=None)
    reason = "neither side has standard errors, so what is noise cannot be told from what is a gap"
    found = _result(
        _side("aggregates", "wildbench", "score", n_models=62, errors="none", metric_kind="continuous"),
        _side("aggregates", "arena", "elo", n_models=120, unit="points", errors="none", metric_kind="rating"),
        rows, _agreement(rows, top=(5, 10)), n_resamples=2000,
        left_out=(("line", reason), ("level", reason), ("hierarchy", reason), ("decomposition", "no outcomes")),
        warnings=("no standard errors: intervals know the choice of models alone, and no model can be shown to have a gap",),
    )  # fmt: skip
    return replace(found, verdict="invalid", verdict_reason=reason)


def four() -> LabLiveGap:
    """Four models on one scale: too few for a line, so only differences are told."""
    names = ("auk", "crane", "egret", "heron")
    lab, live = np.array([0.81, 0.74, 0.70, 0.66]), np.array([0.55, 0.68, 0.60, 0.57])
    rows = _rows(names, names, lab, live, 0.02, 0.025, margin=None, same_scale=True, n=(300, 400))
    reason = "4 models are in both, and a line through fewer than 6 says nothing"
    rows = tuple(_without_line(row, reason) for row in rows)
    side = {"scale": 100.0, "unit": "pp", "n_models": 4, "unit_word": "items", "reliability": 0.6, "noise": 0.02}
    return _result(
        _side("outcomes", "bench", "success", n_units=300, spread=0.06, **side),  # pyright: ignore[reportArgumentType]
        _side("outcomes", "app", "success", n_units=400, spread=0.06, **side),  # pyright: ignore[reportArgumentType]
        rows, _agreement(rows, top=()), same_scale=True, level=_level(rows), n_resamples=2000,
        left_out=(("line", reason), ("hierarchy", reason), ("decomposition", "the sides share no factor")),
        warnings=("4 models: agreement is told for these models alone",),
    )  # fmt: skip


def invalid() -> LabLiveGap:
    """Five models on two scales: neither a difference nor a line."""
    names = ("auk", "crane", "egret", "heron", "ibis")
    lab, live = np.array([61.0, 55.0, 50.0, 47.0, 31.0]), np.array([1201.0, 1190.0, 1215.0, 1150.0, 1101.0])
    rows = _rows(names, names, lab, live, 1.5, 8.0, margin=None, same_scale=False, n=None)
    reason = "5 models are in both and the scales differ; a line needs at least 6"
    rows = tuple(replace(_without_line(row, reason), verdict="invalid") for row in rows)
    found = _result(
        _side("aggregates", "bench", "score", n_models=9, errors="marginal", metric_kind="continuous"),
        _side("aggregates", "arena", "elo", n_models=30, unit="points", errors="marginal", metric_kind="rating"),
        rows, _agreement(rows, top=()),
        left_out=(("line", reason), ("level", "lab and live are on different scales"), ("hierarchy", reason)),
    )  # fmt: skip
    return replace(found, verdict="invalid", verdict_reason=reason)


def aligned() -> LabLiveGap:
    """Ten models that all lie within a declared margin."""
    names, order = _BIRDS[:10], np.arange(10)
    lab = 0.75 - 0.04 * order
    live = lab + 0.004 * np.sin(7.0 * order)
    rows = _rows(names, names, lab, live, 0.006, 0.006, margin=_MARGIN, same_scale=True, n=(4000, 5000))
    side = {"scale": 100.0, "unit": "pp", "n_models": 10, "reliability": 0.99, "noise": 0.006, "spread": 0.12}
    found = _result(
        _side("outcomes", "bench", "success", n_units=4000, unit_word="items", **side),  # pyright: ignore[reportArgumentType]
        _side("outcomes", "app", "success", n_units=50_000, unit_word="sessions", **side),  # pyright: ignore[reportArgumentType]
        rows, _agreement(rows, top=(5,)), same_scale=True, margin=_MARGIN, line=_line(rows), level=_level(rows),
    )  # fmt: skip
    return replace(found, verdict="aligned", verdict_reason="all 10 models and the level lie within the margin of 10 pp")


# --- both sides ---


def _side(kind: str, name: str, metric: str, **given: object) -> SideAccount:
    """One side with everything plain unless it is given."""
    plain: dict[str, object] = {
        "metric_kind": "binary", "unit": "", "scale": 1.0, "higher_is_better": True, "errors": "full", "n_models": 12,
        "n_units": None, "unit_word": "", "method": "mean of item means" if kind == "outcomes" else "as published",
    }  # fmt: skip
    return SideAccount(kind=kind, name=name, metric=metric, **{**plain, **given})  # pyright: ignore[reportArgumentType]


def _result(
    lab: SideAccount, live: SideAccount, rows: tuple[GapRow, ...], agreement: Agreement, **given: object
) -> LabLiveGap:
    flagged = [row.name for row in rows if row.verdict == "gap"]
    apart = [row for row in rows if row.difference_verdict == "gap"]
    plain: dict[str, object] = {
        "same_scale": False, "conf_level": 0.95, "margin": None, "method": "York regression with variance between models",
        "method_reason": "both sides have errors, and ordinary regression would take the noise of the lab for gaps",
        "estimand": "live less what the lab score leads to expect, by a line through the other models",
        "verdict": "gap" if flagged or apart else "inconclusive",
        "verdict_reason": f"{len(flagged)} of {len(rows)} models are flagged" if flagged else "no model is flagged",
        "n_models": len(rows), "threats": THREATS, "version": "1.0.0",
        "sources": (("lab.jsonl", "aa" * 32), ("live.parquet", "bb" * 32)),
    }  # fmt: skip
    return LabLiveGap(lab=lab, live=live, rows=rows, agreement=agreement, **{**plain, **given})  # pyright: ignore[reportArgumentType]


THREATS = tuple(
    Threat(key=key, title=title, text=text, status=status)
    for key, title, text, status in (
        ("self-selection", "Self-selection", "Live users choose what they ask and which model they use.", "possible"),
        ("versions", "Versions and dates", "Lab runs end on 2026-02-20, live sessions begin on 2026-03-01.", "seen"),
        ("prompts", "Prompts and tools", "Neither side names a system prompt.", "possible"),
        ("outcome", "Outcome", "Both sides measure success.", "ruled out"),
        ("contamination", "Contamination", "Public items may have been trained on.", "possible"),
        ("judge", "Judge and user", "A judge scores the lab, users score live.", "possible"),
        ("survivorship", "Survivorship", "2 of 14 lab models have no live score; they score lower in the lab.", "seen"),
    )
)


# --- models ---


def _rows(
    names: Sequence[str], lab_names: Sequence[str], lab: np.ndarray, live: np.ndarray, lab_se: float | None,
    live_se: float | None, *, margin: float | None, same_scale: bool, n: tuple[int, int] | None,
) -> tuple[GapRow, ...]:  # fmt: skip
    """Each model against the ordinary line through the others, by the normal distribution; the best live come first."""
    rows = [
        GapRow(
            name=name, lab_name=lab_name, lab=float(x), live=float(z), lab_n=n and n[0], live_n=n and n[1],
            **({} if lab_se is None else {
                "lab_std_error": lab_se, "lab_low": x - _Z * lab_se, "lab_high": x + _Z * lab_se,
                **_ranks("lab", lab, x, lab_se),
            }),
            **({} if live_se is None else {
                "live_std_error": live_se, "live_low": z - _Z * live_se, "live_high": z + _Z * live_se,
                **_ranks("live", live, z, live_se),
            }),
        )
        for name, lab_name, x, z in zip(names, lab_names, lab, live, strict=True)
    ]  # fmt: skip
    if lab_se is not None and live_se is not None:
        rows = [_with_gap(row, i, lab, live, lab_se, live_se, margin) for i, row in enumerate(rows)]
        rows = [_judged(row, rows, margin, "gap") for row in rows]
        if same_scale:
            rows = [_with_difference(row, len(rows), margin) for row in rows]
    return tuple(sorted(rows, key=lambda row: -row.live))


def _ranks(side: str, values: np.ndarray, value: float, error: float) -> dict[str, int]:
    """Places that are open: those above for certain, and those not below for certain."""
    z = _NORMAL.inv_cdf(1 - 0.025 / len(values)) * error * math.sqrt(2)
    return {
        f"{side}_rank_low": 1 + int((values > value + z).sum()),
        f"{side}_rank_high": int((values >= value - z).sum()),
    }


def _with_gap(
    row: GapRow, i: int, lab: np.ndarray, live: np.ndarray, lab_se: float, live_se: float, margin: float | None
) -> GapRow:
    x, z = np.delete(lab, i), np.delete(live, i)
    slope, intercept = np.polyfit(x, z, 1)
    noise = live_se**2 + slope**2 * lab_se**2
    leverage = 1 / x.size + (lab[i] - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
    tau2 = max(0.0, float(np.var(z - intercept - slope * x, ddof=2)) - noise)
    error = math.sqrt(noise * (1 + leverage))
    expected = float(intercept + slope * lab[i])
    gap = float(live[i]) - expected
    p0, p1 = (2 * _NORMAL.cdf(-abs(gap) / math.sqrt(v)) for v in (error**2, error**2 + tau2))
    shrink = tau2 / (tau2 + error**2)
    half = _Z * error * math.sqrt(shrink)
    narrow = _NORMAL.inv_cdf(0.95) * error
    return replace(
        row, expected=expected, gap=gap, std_error=error, conf_low=gap - _Z * error, conf_high=gap + _Z * error,
        p_value=p0, p_outlier=p1, equivalence_low=gap - narrow, equivalence_high=gap + narrow, shrunken=shrink * gap,
        shrunken_low=shrink * gap - half, shrunken_high=shrink * gap + half, leverage=float(leverage / (1 + leverage)),
        detectable=(_NORMAL.inv_cdf(1 - 0.025 / lab.size) + 0.84) * error,
        extrapolated=bool(lab[i] > x.max() or lab[i] < x.min()),
    )  # fmt: skip


def _judged(row: GapRow, rows: Sequence[GapRow], margin: float | None, what: str) -> GapRow:
    """Benjamini-Hochberg over models, and the interval at the level that it asks for."""
    ps = sorted(each.p_outlier or 1.0 for each in rows)
    n = len(ps)
    mine = row.p_outlier or 1.0
    adjusted = min(min(1.0, p * n / k) for k, p in enumerate(ps, 1) if p >= mine)
    n_flagged = sum(p <= 0.05 * max((k for k, q in enumerate(ps, 1) if q <= 0.05 * k / n), default=0) / n for p in ps)
    flagged = adjusted <= 0.05
    z = _NORMAL.inv_cdf(1 - 0.025 * n_flagged / n) if flagged else _Z
    gap, error = row.gap or 0.0, row.std_error or 0.0
    low, high = gap - z * error, gap + z * error
    narrow_low, narrow_high = row.equivalence_low or 0.0, row.equivalence_high or 0.0
    inside = margin is not None and -margin < narrow_low and narrow_high < margin
    beyond = None if margin is None else low > margin or high < -margin
    verdict = "aligned" if inside else "gap" if flagged and low * high > 0 and (n > 9 or beyond) else "inconclusive"
    reason = {
        "aligned": "the equivalence interval lies within the margin",
        "gap": f"stands out among the {what}s of the others, and its interval excludes 0",
        "inconclusive": f"the data do not tell a {what} from none",
    }[verdict]
    return replace(
        row, p_adjusted=adjusted, adjusted_low=low, adjusted_high=high, verdict=verdict, material=beyond, reason=reason
    )


def _with_difference(row: GapRow, n: int, margin: float | None) -> GapRow:
    difference = row.live - row.lab
    error = math.hypot(row.live_std_error or 0.0, row.lab_std_error or 0.0)
    p = 2 * _NORMAL.cdf(-abs(difference) / error)
    low, high = difference - _Z * error, difference + _Z * error
    inside = margin is not None and max(abs(low), abs(high)) < margin
    verdict = "aligned" if inside else "gap" if min(1.0, p * n) <= 0.05 else "inconclusive"
    return replace(
        row, difference=difference, difference_std_error=error, difference_low=low, difference_high=high,
        difference_p=p, difference_adjusted=min(1.0, p * n), difference_verdict=verdict,
    )  # fmt: skip


def _without_line(row: GapRow, reason: str) -> GapRow:
    """Take away what a line gives."""
    gone = (
        "expected", "gap", "std_error", "conf_low", "conf_high", "p_value", "p_outlier", "p_adjusted", "adjusted_low",
        "adjusted_high", "equivalence_low", "equivalence_high", "shrunken", "shrunken_low", "shrunken_high", "detectable",
        "leverage", "material",
    )  # fmt: skip
    return replace(row, **dict.fromkeys(gone), verdict="invalid", extrapolated=False, reason=reason)  # pyright: ignore[reportArgumentType]


# --- line and level ---


def _line(rows: Sequence[GapRow]) -> CalibrationLine:
    lab, live = np.array([row.lab for row in rows]), np.array([row.live for row in rows])
    slope, intercept = (float(each) for each in np.polyfit(lab, live, 1))
    left = live - intercept - slope * lab
    noise = (rows[0].live_std_error or 0.0) ** 2 + slope**2 * (rows[0].lab_std_error or 0.0) ** 2
    tau = math.sqrt(max(0.0, float(np.var(left, ddof=2)) - noise))
    error = math.sqrt((noise + tau**2) / float(((lab - lab.mean()) ** 2).sum()))
    statistic = float((left**2).sum() / noise)
    n = len(rows)
    # Wilson and Hilferty's cube root is near enough to chi-squared for an example.
    cube = ((statistic / (n - 2)) ** (1 / 3) - (1 - 2 / (9 * (n - 2)))) / math.sqrt(2 / (9 * (n - 2)))
    return CalibrationLine(
        slope=slope, intercept=intercept, slope_std_error=error, slope_low=slope - _Z * error, slope_high=slope + _Z * error,
        intercept_std_error=error * float(lab.mean()), tau=tau, tau_low=0.5 * tau, tau_high=1.9 * tau, statistic=statistic,
        df=n - 2, p_value=max(1e-15, 1 - _NORMAL.cdf(cube)), detectable=rows[0].detectable, n_models=n,
        others=(
            OtherLine(
                key="ols", title="Ordinary least squares", slope=0.93 * slope, intercept=intercept + 0.07 * slope * float(lab.mean()),
                slope_std_error=error, n_beyond=max(1, n // 3), why="takes the lab as exact, so noise there flattens the line",
            ),
            OtherLine(key="theil-sen", title="Theil-Sen", slope=1.01 * slope, intercept=intercept, why="no model can pull it"),
        ),
        influential=(rows[0].name,),
    )  # fmt: skip


def _level(rows: Sequence[GapRow]) -> LevelGap:
    mean = float(np.mean([row.difference or 0.0 for row in rows]))
    error = math.hypot(rows[0].live_std_error or 0.0, rows[0].lab_std_error or 0.0) / 1.6
    low, high = mean - _Z * error, mean + _Z * error
    return LevelGap(
        estimate=mean, std_error=error, conf_low=low, conf_high=high,
        p_value=2 * _NORMAL.cdf(-abs(mean) / error), equivalence_low=mean - 1.645 * error,
        equivalence_high=mean + 1.645 * error,
        verdict="gap" if low * high > 0 else "aligned" if max(abs(low), abs(high)) < _MARGIN else "inconclusive",
        method="mean of live less lab over models, with the covariance of their errors",
    )  # fmt: skip


def _hierarchy(rows: Sequence[GapRow], only_lab: Sequence[str]) -> Hierarchy:
    line = _line(rows)
    lab, live = np.array([row.lab for row in rows]), np.array([row.live for row in rows])
    half = _Z * math.hypot(line.tau, rows[0].std_error or 0.0)
    forecasts: list[Forecast] = []
    for i, name in enumerate(only_lab):
        score = float(lab.mean() + (i - 1.5) * lab.std())
        expected = line.intercept + line.slope * score
        forecasts.append(
            Forecast(
                name=name, lab=score, lab_std_error=rows[0].lab_std_error, expected=expected, std_error=half / _Z,
                pred_low=expected - half, pred_high=expected + half,
                rank_low=1 + int((live > expected + half).sum()), rank_high=1 + int((live > expected - half).sum()),
                extrapolated=score < lab.min(),
            )
        )  # fmt: skip
    left = tuple(
        LeftOut(
            name=row.name, live=row.live, expected=row.expected or 0.0, pred_low=(row.expected or 0.0) - half,
            pred_high=(row.expected or 0.0) + half, inside=abs(row.gap or 0.0) < half,
        )
        for row in rows
    )  # fmt: skip
    return Hierarchy(
        slope=line.slope, slope_low=line.slope_low, slope_high=line.slope_high, tau=line.tau,
        tau_low=0.5 * line.tau, tau_high=1.9 * line.tau, forecasts=tuple(forecasts), left_out=left,
        coverage=sum(each.inside for each in left) / len(left), coverage_low=0.70, coverage_high=0.99,
        probability_below=tuple(_NORMAL.cdf(-(row.shrunken or 0.0) / (row.std_error or 1.0)) for row in rows),
        gap_mean=tuple(row.shrunken or 0.0 for row in rows), gap_low=tuple(row.shrunken_low or 0.0 for row in rows),
        gap_high=tuple(row.shrunken_high or 0.0 for row in rows),
        priors="flat on the line, half-Cauchy on the spread of gaps",
        sensitivity=(("half-normal on the spread", 0.97), ("flat on the spread", 1.06)),
        method="numerical integration over slope and spread",
    )  # fmt: skip


# --- agreement ---


def _agreement(rows: Sequence[GapRow], *, top: Sequence[int]) -> Agreement:
    lab, live = np.array([row.lab for row in rows]), np.array([row.live for row in rows])
    known, n = rows[0].lab_std_error is not None, len(rows)
    parts = [_part("all", "all", rows, lab, live, known)]
    for k in (k for k in top if 2 < k < n):
        parts.append(_part("top", f"live top {k}", rows[:k], lab[:k], live[:k], known, over=(k, rows)))
    if n > 20:
        for name, low, high in (("upper", 0, n // 3), ("middle", n // 3, 2 * n // 3), ("lower", 2 * n // 3, n)):
            parts.append(_part("tier", f"{name} third", rows[low:high], lab[low:high], live[low:high], known))
    return Agreement(
        n_models=n,
        coefficients=tuple(_coefficient(name, lab, live, known) for name in ("pearson", "spearman", "kendall")),
        parts=tuple(parts),
        subsets=tuple(
            SubsetRow(kind=kind, size=size, n_subsets=1000, mean=mean, sd=0.11, low=mean - 0.2, high=min(1.0, mean + 0.17))
            for kind, size, mean in (("random", 5, 0.62), ("top", 5, 0.31), ("adjacent", 5, 0.22))
        ) if n > 20 else (),
        pairs=_pairs(rows, known),
        slices=tuple(
            SliceRow(factor="scenario", level=level, cut="lab", n_models=n, spearman=value, conf_low=value - 0.2, conf_high=min(0.99, value + 0.1), ceiling=0.95)
            for level, value in (("", 0.80), ("ideal", 0.55), ("goal switching", 0.83))
        ) if known and n == 12 else (),
        n_resamples=2000,
    )  # fmt: skip


def _rank_correlation(lab: np.ndarray, live: np.ndarray) -> float:
    return float(np.corrcoef(lab.argsort().argsort(), live.argsort().argsort())[0, 1])


def _kendall(lab: np.ndarray, live: np.ndarray) -> float:
    signs = [math.copysign(1.0, (lab[i] - lab[j]) * (live[i] - live[j])) for i, j in combinations(range(lab.size), 2)]
    return float(np.mean(signs))


def _coefficient(name: str, lab: np.ndarray, live: np.ndarray, known: bool) -> CoefficientRow:
    value = {
        "pearson": float(np.corrcoef(lab, live)[0, 1]), "spearman": _rank_correlation(lab, live), "kendall": _kendall(lab, live),
    }[name]  # fmt: skip
    n = lab.size

    def around(half: float) -> dict[str, float]:
        z = math.atanh(min(value, 0.995))
        return {"conf_low": math.tanh(z - half), "conf_high": math.tanh(z + half)}

    reason = "there are no standard errors"
    few = f"{n} models are too few to stand for others like them" if n < 10 else None
    wide = _Z / math.sqrt(max(1, n - 3))
    own = [
        SourceInterval(source=source, method="parametric draws", **around(half))
        if known else SourceInterval(source=source, reason=reason)
        for source, half in (("items", 0.10), ("votes", 0.12), ("items and votes", 0.16))
    ]  # fmt: skip
    others = [
        SourceInterval(source=source, reason=few) if few else SourceInterval(source=source, method="bootstrap", **around(half))
        for source, half in (("models", wide), ("all", math.hypot(wide, 0.16)))
    ]  # fmt: skip
    if not known:
        others[1] = SourceInterval(source="all", reason=few or reason)
    ceiling = {"pearson": 0.97, "spearman": 0.95, "kendall": 0.84}[name]
    fisher = None if few else around(wide)
    return CoefficientRow(
        name=name, estimate=value, intervals=(*own, *others), fisher_low=fisher and fisher["conf_low"],
        fisher_high=fisher and fisher["conf_high"], p_value=max(2e-4, 2 * _NORMAL.cdf(-math.atanh(min(0.999, abs(value))) * math.sqrt(n - 3 or 1))),
        p_method="exact permutations" if n < 10 else "10,000 random permutations",
        **({"ceiling": ceiling, "ceiling_low": ceiling - 0.05, "ceiling_high": ceiling + 0.02} if known else {}),
        **({"disattenuated": value / ceiling, "disattenuated_low": value / ceiling - 0.12, "disattenuated_high": value / ceiling + 0.08} if known and name == "pearson" else {}),
    )  # fmt: skip


def _part(
    kind: str, label: str, rows: Sequence[GapRow], lab: np.ndarray, live: np.ndarray, known: bool,
    over: tuple[int, Sequence[GapRow]] | None = None,
) -> PartRow:  # fmt: skip
    value = _rank_correlation(lab, live)
    z = math.atanh(max(-0.99, min(0.99, value)))
    shared = None
    if over:
        k, every = over
        best = {row.name for row in sorted(every, key=lambda row: -row.lab)[:k]}
        shared = sum(row.name in best for row in rows)
    return PartRow(
        kind=kind, label=label, n_models=len(rows), pearson=float(np.corrcoef(lab, live)[0, 1]), spearman=value,  # pyright: ignore[reportArgumentType]
        kendall=_kendall(lab, live), conf_low=math.tanh(z - 0.3) if known else None, conf_high=math.tanh(z + 0.3) if known else None,
        n_shared=shared, n_shared_by_chance=over[0] ** 2 / len(over[1]) if over else None, models=tuple(row.name for row in rows),
    )  # fmt: skip


def _pairs(rows: Sequence[GapRow], known: bool) -> PairOrder:
    """All pairs, separated where the difference is beyond a Bonferroni bound."""
    pairs = list(combinations(range(len(rows)), 2))
    same = [(rows[i].lab - rows[j].lab) * (rows[i].live - rows[j].live) > 0 for i, j in pairs]
    agreement = float(np.mean(same))
    if not known:
        return PairOrder(
            n_pairs=len(pairs), agreement=agreement, agreement_low=agreement - 0.08, agreement_high=agreement + 0.06,
            reason="without standard errors no pair can be separated",
        )  # fmt: skip
    ps = [
        [min(1.0, len(pairs) * 2 * _NORMAL.cdf(-abs(a - b) / (error * math.sqrt(2)))) for a, b in both]
        for both, error in (
            ([(rows[i].lab, rows[j].lab) for i, j in pairs], rows[0].lab_std_error or 1.0),
            ([(rows[i].live, rows[j].live) for i, j in pairs], rows[0].live_std_error or 1.0),
        )
    ]
    lab_apart, live_apart = ([p <= 0.05 for p in side] for side in ps)
    found = [
        Contradiction(
            better_live=rows[i].name, better_lab=rows[j].name, lab_difference=rows[i].lab - rows[j].lab,
            lab_p_adjusted=ps[0][k], live_difference=rows[i].live - rows[j].live, live_p_adjusted=ps[1][k],
        )
        for k, (i, j) in enumerate(pairs) if lab_apart[k] and live_apart[k] and not same[k]
    ]  # fmt: skip
    both = sum(a and b for a, b in zip(lab_apart, live_apart, strict=True))
    words = [
        ("same" if same[k] else "contradicted") if a and b else "lab only" if a else "live only" if b else "neither"
        for k, (a, b) in enumerate(zip(lab_apart, live_apart, strict=True))
    ]
    confident = (both - 2 * len(found)) / len(pairs)
    return PairOrder(
        n_pairs=len(pairs), agreement=agreement, agreement_low=agreement - 0.06, agreement_high=min(1.0, agreement + 0.05),
        n_separated_lab=sum(lab_apart), n_separated_live=sum(live_apart), n_separated_both=both,
        n_same=both - len(found), n_contradicted=len(found), separability_lab=sum(lab_apart) / len(pairs),
        separability_live=sum(live_apart) / len(pairs), confidence_agreement=confident, confidence_low=confident - 0.08,
        confidence_high=confident + 0.07, contradictions=tuple(found),
        brier=Brier(score=0.11, soft_score=0.10, reliability=0.02, resolution=0.16, uncertainty=0.25, within=0.0, conf_low=0.06, conf_high=0.17),
        matrix=tuple((rows[i].name, rows[j].name, words[k]) for k, (i, j) in enumerate(pairs)),
    )  # fmt: skip
