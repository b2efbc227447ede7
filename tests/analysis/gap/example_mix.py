"""Hand-made decompositions, scenario gaps and drops for `example_gap`: rates by scenario are made up, the rest follows."""

import numpy as np

from evalstats.analysis.gap.result import (
    CellPart,
    Decomposition,
    DecompositionRow,
    DropForecast,
    ModelDrop,
    ScenarioGap,
    ScenarioGaps,
    Weighting,
)
from evalstats.analysis.result import Estimate
from evalstats.document.model import Note

SCENARIOS = ("ideal", "goal switching", "underspecified", "impatient", "off topic")
_LAB_SHARE = np.array([0.40, 0.20, 0.20, 0.20, 0.0])
_LIVE_SHARE = np.array([0.62, 0.08, 0.17, 0.07, 0.06])
_COVERED = _LAB_SHARE > 0
_Z = 1.96


def part(value: float, error: float) -> Estimate:
    """One part with a normal interval."""
    return Estimate(estimate=value, std_error=error, conf_low=value - _Z * error, conf_high=value + _Z * error)


def _rates(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Lab and live rates, shape (n models, n scenarios)."""
    base = 0.80 - 0.03 * np.arange(n)[:, None]
    lab = base + np.array([0.06, -0.05, -0.02, -0.08, 0.0])
    live = lab - np.array([0.05, 0.12, 0.08, 0.16, 0.20])
    return lab, live


def decomposition(models: tuple[str, ...]) -> Decomposition:
    """Kitagawa's two parts by definition; what the lab never covers is unexplained."""
    lab, live = _rates(len(models))
    rows = tuple(_row(name, lab[i], live[i], 0.03) for i, name in enumerate(models))
    overall = _row("", lab.mean(0), live.mean(0), 0.012)
    cells = tuple(_cell(s, lab.mean(0), live.mean(0)) for s in range(len(SCENARIOS)))
    return Decomposition(
        factors=("scenario",),
        overall=overall,
        rows=rows,
        cells=cells,
        weighting=Weighting(method="post-stratified", n=400, effective_n=296.0, ratio=4.4, uncovered=0.06),
        method="Kitagawa, symmetric; joint bootstrap of lab tasks and live users",
        notes=(
            Note(kind="missing", text="6% of live outcomes fall into scenarios that the lab never covers (off topic)"),
        ),
    )


def _row(model: str, lab: np.ndarray, live: np.ndarray, error: float) -> DecompositionRow:
    covered = _LIVE_SHARE * _COVERED / (_LIVE_SHARE * _COVERED).sum()
    lab_rate, live_rate = float(_LAB_SHARE @ lab), float(_LIVE_SHARE @ live)
    inside = float(covered @ live)
    mix = float((covered - _LAB_SHARE) @ (lab + live)) / 2
    behaviour = float((live - lab) @ (covered + _LAB_SHARE)) / 2
    return DecompositionRow(
        model=model,
        lab=part(lab_rate, error),
        live=part(live_rate, error),
        total=part(live_rate - lab_rate, 1.4 * error),
        mix=part(mix, 0.3 * error),
        behaviour=part(behaviour, 1.5 * error),
        unexplained=part(live_rate - inside, 0.5 * error),
        poststratified=part(float(covered @ lab), 1.1 * error),
        n_lab=400,
        n_live=510,
    )


def _cell(s: int, lab: np.ndarray, live: np.ndarray) -> CellPart:
    share = float(_LIVE_SHARE[s])
    if not _COVERED[s]:
        return CellPart(
            cell=SCENARIOS[s],
            lab_share=0.0,
            live_share=share,
            live_share_low=share - 0.01,
            live_share_high=share + 0.01,
            live_rate=float(live[s]),
            n_live=370,
            status="lab never covers",
        )
    covered = _LIVE_SHARE / (_LIVE_SHARE * _COVERED).sum()
    middle = float(_LAB_SHARE @ (lab + live)) / 2
    mix = float((covered[s] - _LAB_SHARE[s]) * ((lab[s] + live[s]) / 2 - middle))
    behaviour = float((live[s] - lab[s]) * (covered[s] + _LAB_SHARE[s]) / 2)
    return CellPart(
        cell=SCENARIOS[s],
        lab_share=float(_LAB_SHARE[s]),
        live_share=share,
        live_share_low=share - 0.015,
        live_share_high=share + 0.015,
        lab_rate=float(lab[s]),
        live_rate=float(live[s]),
        mix=part(mix, 0.003),
        behaviour=part(behaviour, 0.006),
        n_lab=int(400 * _LAB_SHARE[s]),
        n_live=int(6120 * share),
    )


def scenario_gaps(models: tuple[str, ...]) -> ScenarioGaps:
    """Live minus lab in each scenario, for each model and for the mean."""
    lab, live = _rates(len(models))
    gaps = live - lab
    means = tuple(
        ScenarioGap(
            scenario=name,
            model="",
            estimate=float(gaps[:, s].mean()),
            std_error=0.02,
            conf_low=float(gaps[:, s].mean()) - 0.04,
            conf_high=float(gaps[:, s].mean()) + 0.04,
            p_value=0.001,
            p_adjusted=0.004,
            n_lab=80,
            n_live=400,
            verdict="gap",
        )
        if _COVERED[s]
        else ScenarioGap(
            scenario=name, model="", estimate=None, n_live=370, verdict="invalid", reason="the lab never covers it"
        )
        for s, name in enumerate(SCENARIOS)
    )
    rows = tuple(
        ScenarioGap(
            scenario=name,
            model=model,
            estimate=float(gaps[m, s]),
            std_error=0.05,
            conf_low=float(gaps[m, s]) - 0.098,
            conf_high=float(gaps[m, s]) + 0.098,
            p_value=0.05,
            p_adjusted=0.02 if s == 3 else 0.2,
            pooled=0.9 * float(gaps[m, s]),
            pooled_low=0.9 * float(gaps[m, s]) - 0.06,
            pooled_high=0.9 * float(gaps[m, s]) + 0.06,
            n_lab=80,
            n_live=40,
            verdict="gap" if s == 3 else "inconclusive",
        )
        for s, name in enumerate(SCENARIOS)
        if _COVERED[s]
        for m, model in enumerate(models)
    )
    return ScenarioGaps(
        factor="scenario",
        means=means,
        rows=rows,
        tau_interaction=0.02,
        p_interaction=0.31,
        method="difference of rates in each scenario, clusters of tasks and users",
    )


def drops(models: tuple[str, ...]) -> DropForecast:
    """What non-ideal users take in the lab, and what that says of live users."""
    lab, live = _rates(len(models))
    share = 0.38
    drop = lab[:, 1:4].mean(1) - lab[:, 0]
    rows = tuple(
        ModelDrop(
            model=name,
            ideal=part(float(lab[i, 0]), 0.02),
            drop=part(float(drop[i]), 0.03),
            pooled=part(float(drop.mean()), 0.02),
            forecast=part(float(lab[i, 0] + share * drop.mean()), 0.025),
            live=part(float(_LIVE_SHARE @ live[i]), 0.03),
            miss=part(float(_LIVE_SHARE @ live[i] - lab[i, 0] - share * drop.mean()), 0.04),
        )
        for i, name in enumerate(models)
    )
    return DropForecast(
        rows=rows,
        share_non_ideal=share,
        share_source="counted in the live data",
        mean_drop=part(float(drop.mean()), 0.015),
        spread=0.01,
        spread_p=0.44,
        slope=part(0.9, 0.5),
        expected_slope=share,
        explained=0.2,
        method="linear mixed model with a drop for each model",
    )
