"""Hand-made models, line and forecasts for `example_gap`, by the plainest formulas: ordinary lines, normal errors."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from evalstats.analysis.gap.result import (
    CalibrationLine,
    Forecast,
    ForecastCheck,
    GapRow,
    Hierarchy,
    LevelGap,
    OtherLine,
)

_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(0.975)
MARGIN = 0.10


def rows(
    names: Sequence[str],
    lab: np.ndarray,
    live: np.ndarray,
    errors: tuple[float, float] | None,
    *,
    margin: float | None = None,
    same_scale: bool = False,
    n: tuple[int, int] | None = None,
) -> tuple[GapRow, ...]:
    """Each model against the ordinary line through the others, by the normal distribution; the best live come first."""
    lab_se, live_se = errors or (None, None)
    rows = [
        GapRow(
            name=name,
            lab_name=name,
            lab=float(x),
            live=float(z),
            lab_n=n and n[0],
            live_n=n and n[1],
            **(
                {}
                if lab_se is None
                else {
                    "lab_std_error": lab_se,
                    "lab_low": x - _Z * lab_se,
                    "lab_high": x + _Z * lab_se,
                    **_ranks("lab", lab, x, lab_se),
                }
            ),
            **(
                {}
                if live_se is None
                else {
                    "live_std_error": live_se,
                    "live_low": z - _Z * live_se,
                    "live_high": z + _Z * live_se,
                    **_ranks("live", live, z, live_se),
                }
            ),
        )
        for name, x, z in zip(names, lab, live, strict=True)
    ]
    if lab_se is not None and live_se is not None:
        rows = [_with_gap(row, i, lab, live) for i, row in enumerate(rows)]
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


def _with_gap(row: GapRow, i: int, lab: np.ndarray, live: np.ndarray) -> GapRow:
    lab_se, live_se = row.lab_std_error or 0.0, row.live_std_error or 0.0
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
        row,
        expected=expected,
        estimate=gap,
        std_error=error,
        conf_low=gap - _Z * error,
        conf_high=gap + _Z * error,
        p_value=p0,
        p_outlier=p1,
        equivalence_low=gap - narrow,
        equivalence_high=gap + narrow,
        shrunken=shrink * gap,
        shrunken_low=shrink * gap - half,
        shrunken_high=shrink * gap + half,
        leverage=float(leverage / (1 + leverage)),
        detectable=(_NORMAL.inv_cdf(1 - 0.025 / lab.size) + 0.84) * error,
        extrapolated=bool(lab[i] > x.max() or lab[i] < x.min()),
    )


def _judged(row: GapRow, rows: Sequence[GapRow], margin: float | None, what: str) -> GapRow:
    """Benjamini-Hochberg over models, and the interval at the level that it asks for."""
    ps = sorted(each.p_outlier or 1.0 for each in rows)
    n = len(ps)
    mine = row.p_outlier or 1.0
    adjusted = min(min(1.0, p * n / k) for k, p in enumerate(ps, 1) if p >= mine)
    n_flagged = sum(p <= 0.05 * max((k for k, q in enumerate(ps, 1) if q <= 0.05 * k / n), default=0) / n for p in ps)
    flagged = adjusted <= 0.05
    z = _NORMAL.inv_cdf(1 - 0.025 * n_flagged / n) if flagged else _Z
    gap, error = row.estimate or 0.0, row.std_error or 0.0
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
        row,
        difference=difference,
        difference_std_error=error,
        difference_low=low,
        difference_high=high,
        difference_p=p,
        difference_adjusted=min(1.0, p * n),
        difference_verdict=verdict,
    )


def without_line(row: GapRow, reason: str) -> GapRow:
    """Take away what a line gives."""
    gone = (
        "expected",
        "estimate",
        "std_error",
        "conf_low",
        "conf_high",
        "p_value",
        "p_outlier",
        "p_adjusted",
        "adjusted_low",
        "adjusted_high",
        "equivalence_low",
        "equivalence_high",
        "shrunken",
        "shrunken_low",
        "shrunken_high",
        "detectable",
        "leverage",
        "material",
    )
    return replace(row, **dict.fromkeys(gone), verdict="invalid", extrapolated=False, reason=reason)  # pyright: ignore[reportArgumentType]


# --- line and level ---


def line(rows: Sequence[GapRow]) -> CalibrationLine:
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
        slope=slope,
        intercept=intercept,
        slope_std_error=error,
        slope_low=slope - _Z * error,
        slope_high=slope + _Z * error,
        intercept_std_error=error * float(lab.mean()),
        tau=tau,
        tau_low=0.5 * tau,
        tau_high=1.9 * tau,
        statistic=statistic,
        df=n - 2,
        p_value=max(1e-15, 1 - _NORMAL.cdf(cube)),
        detectable=rows[0].detectable,
        n_models=n,
        others=(
            OtherLine(
                key="ols",
                title="Ordinary least squares",
                slope=0.93 * slope,
                intercept=intercept + 0.07 * slope * float(lab.mean()),
                slope_std_error=error,
                n_beyond=max(1, n // 3),
                why="takes the lab as exact, so noise there flattens the line",
            ),
            OtherLine(
                key="theil-sen", title="Theil-Sen", slope=1.01 * slope, intercept=intercept, why="no model can pull it"
            ),
        ),
        influential=(rows[0].name,),
    )


def level(rows: Sequence[GapRow]) -> LevelGap:
    mean = float(np.mean([row.difference or 0.0 for row in rows]))
    error = math.hypot(rows[0].live_std_error or 0.0, rows[0].lab_std_error or 0.0) / 1.6
    low, high = mean - _Z * error, mean + _Z * error
    return LevelGap(
        estimate=mean,
        std_error=error,
        conf_low=low,
        conf_high=high,
        p_value=2 * _NORMAL.cdf(-abs(mean) / error),
        equivalence_low=mean - 1.645 * error,
        equivalence_high=mean + 1.645 * error,
        verdict="gap" if low * high > 0 else "aligned" if max(abs(low), abs(high)) < MARGIN else "inconclusive",
        method="mean over models of live minus lab, normal interval from the errors of both sides",
    )


def hierarchy(rows: Sequence[GapRow], only_lab: Sequence[str]) -> Hierarchy:
    found = line(rows)
    lab, live = np.array([row.lab for row in rows]), np.array([row.live for row in rows])
    half = _Z * math.hypot(found.tau, rows[0].std_error or 0.0)
    forecasts: list[Forecast] = []
    for i, name in enumerate(only_lab):
        score = float(lab.mean() + (i - 1.5) * lab.std())
        expected = found.intercept + found.slope * score
        forecasts.append(
            Forecast(
                name=name,
                lab=score,
                lab_std_error=rows[0].lab_std_error,
                expected=expected,
                std_error=half / _Z,
                pred_low=expected - half,
                pred_high=expected + half,
                rank_low=1 + int((live > expected + half).sum()),
                rank_high=1 + int((live > expected - half).sum()),
                extrapolated=bool(score < lab.min()),
            )
        )
    left = tuple(
        ForecastCheck(
            name=row.name,
            live=row.live,
            expected=row.expected or 0.0,
            pred_low=(row.expected or 0.0) - half,
            pred_high=(row.expected or 0.0) + half,
            inside=abs(row.estimate or 0.0) < half,
        )
        for row in rows
    )
    return Hierarchy(
        slope=found.slope,
        slope_low=found.slope_low,
        slope_high=found.slope_high,
        tau=found.tau,
        tau_low=0.5 * found.tau,
        tau_high=1.9 * found.tau,
        forecasts=tuple(forecasts),
        left_out=left,
        coverage=sum(each.inside for each in left) / len(left),
        coverage_low=0.70,
        coverage_high=0.99,
        probability_below=tuple(_NORMAL.cdf(-(row.shrunken or 0.0) / (row.std_error or 1.0)) for row in rows),
        gap_mean=tuple(row.shrunken or 0.0 for row in rows),
        gap_low=tuple(row.shrunken_low or 0.0 for row in rows),
        gap_high=tuple(row.shrunken_high or 0.0 for row in rows),
        priors="flat on the line, half-Cauchy on the spread of gaps",
        sensitivity=(("half-normal on the spread", 0.97), ("flat on the spread", 1.06)),
        method="One model of both sides, by numerical integration over slope and spread",
    )
