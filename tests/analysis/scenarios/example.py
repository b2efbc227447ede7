"""Hand-made answers to "where do models break?", for the tests of words, figures and pages: no model is fitted here.

Estimates are made up; what hangs on them (standard errors, intervals, p, verdicts) follows from them by the plainest
formula, so that the parts of a result agree with each other as those of a real one do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.scenarios.result import (
    CellRow,
    ChangeRow,
    Crossing,
    DesignPoint,
    EffectRow,
    ModelPairRow,
    Needed,
    RankingChange,
    ScenarioMean,
    ScenarioModel,
    ScenarioReliability,
    TermTest,
    VarianceRow,
)
from evalstats.document.model import Note
from evalstats.simulate.rutbench_truth import published_models
from evalstats.stats.many.multiplicity import holm
from evalstats.table.metric import MetricFacts

BEHAVIOURS = (
    "ideal",
    "underspecification",
    "information_overload",
    "fabricated_parameters",
    "goal_switching",
    "contradictory_constraints",
    "impatience_and_hostility",
)
_EFFECTS = (0.0, -0.6, -0.3, -0.9, -0.7, -1.1, -0.2)
HOSTILE_MODELS = (
    "<script>alert(1)</script>|$x$",
    "a|b\n\n# heading",
    "=cmd() `code` #eval @ref",
    f"{'long-name-' * 9}one",
    f"{'long-name-' * 9}two",
)
HOSTILE_SCENARIOS = ("{{< env HOME >}}", "::: {.callout-note}", "<b>$y$</b> & \\textbf{z}", "日本語のシナリオ")
AVERAGE = "average"


def rut() -> ScenarioModel:
    """19 models in 7 behaviours of users, the reference "ideal": binary scores of 234 items."""
    rng = np.random.default_rng(4)
    means = np.array([model.success_rate for model in published_models()])
    logits = np.log(means / (1 - means))[:, None] + 0.55
    logits = logits + np.array(_EFFECTS) + rng.normal(0, 0.22, (means.size, len(_EFFECTS)))
    names = tuple(model.name for model in published_models())
    return made(1 / (1 + np.exp(-logits)), names, BEHAVIOURS, n_items=234)


def small() -> ScenarioModel:
    """Two models in two scenarios: one breaks, one does not."""
    return made(np.array([[0.82, 0.55], [0.74, 0.71]]), ("alpha", "beta"), ("ideal", "impatient"), n_items=150)


def medium() -> ScenarioModel:
    """Four models in five domains without a reference: drops are counted from each model's average."""
    rates = np.array(
        [
            [0.81, 0.78, 0.62, 0.70, 0.75],
            [0.77, 0.80, 0.66, 0.45, 0.72],
            [0.61, 0.63, 0.60, 0.52, 0.58],
            [0.40, 0.48, 0.33, 0.35, 0.41],
        ]
    )
    domains = ("airline", "retail", "telecom", "banking", "health care")
    names = ("north", "east", "south", "west")
    return made(rates, names, domains, n_items=90, reference=AVERAGE, scenario="domain")


def random_scenarios(n_scenarios: int = 40) -> ScenarioModel:
    """Three models in 40 scenarios whose effects are random, with conditional modes of every one of them."""
    rng = np.random.default_rng(7)
    tilt = rng.normal(0, 0.7, n_scenarios)
    logits = np.array([0.9, 0.4, -0.3])[:, None] + tilt + rng.normal(0, 0.25, (3, n_scenarios))
    levels = tuple(f"env_{place:02d}" for place in range(n_scenarios))
    found = made(
        1 / (1 + np.exp(-logits)), ("alpha", "beta", "gamma"), levels, n_items=12, reference=AVERAGE, scenario="env_id"
    )
    effects = [
        EffectRow(
            group="env_id",
            column="(Intercept)",
            level=level,
            estimate=float(value),
            std_error=0.28,
            conf_low=float(value) - 0.55,
            conf_high=float(value) + 0.55,
        )
        for level, value in zip(levels, tilt * 0.7, strict=True)
    ]
    return replace(
        found,
        scenario_as="random",
        scenario_reason=f"{n_scenarios} scenarios are more than a report shows one by one: they are a sample of more",
        formula="success ~ model + (1|env_id) + (1|model:env_id) + (1|item)",
        effects=tuple(effects),
        variances=(
            variance("env_id", "scenario: some are harder for everyone", 0.41, 0.11, n_levels=n_scenarios),
            variance("model:env_id", "model in scenario: models break in different places", 0.07, 0.02, n_levels=120),
            *found.variances,
        ),
    )


def with_missing_cells() -> ScenarioModel:
    """As `medium`; one cell was never run, one has a single item, and one has a drop without an interval."""
    found = medium()
    cells = list(found.cells)
    drops = list(found.drops)
    for model, scenario, reason in (
        ("east", "telecom", "no score: no item of telecom was run"),
        ("west", "banking", "1 item: fewer than 2"),
    ):
        place = next(i for i, row in enumerate(cells) if (row.model, row.scenario) == (model, scenario))
        n_items = int(reason.startswith("1"))
        cells[place] = CellRow(
            model=model,
            scenario=scenario,
            n_items=n_items,
            n_trials=n_items,
            n_missing=90 - n_items,
            observed=1.0 if n_items else None,
            reason=reason,
        )
        place = next(i for i, row in enumerate(drops) if (row.model, row.scenario) == (model, scenario))
        drops[place] = ChangeRow(
            model=model,
            scenario=scenario,
            reference=found.reference,
            n_items=n_items,
            verdict="invalid",
            verdict_reason=reason,
        )
    return replace(
        found,
        cells=tuple(cells),
        drops=tuple(drops),
        n_error=7,
        n_unscored=12,
        notes=(Note(kind="missing", text="2 of 20 cells have no estimate (east in telecom, west in banking)"),),
    )


def without_answer() -> ScenarioModel:
    """Nothing but two models in two scenarios: no drop has an interval, and nothing else could be estimated."""
    found = small()
    reason = "3 items: fewer than 5 give no interval"
    bare = {"std_error": None, "conf_low": None, "conf_high": None, "df": None}
    return replace(
        found,
        cells=tuple(replace(row, **bare, n_items=3, reason=reason) for row in found.cells),
        models=tuple(replace(row, **bare) for row in found.models),
        scenarios=tuple(replace(row, **bare) for row in found.scenarios),
        drops=tuple(
            ChangeRow(
                model=row.model,
                scenario=row.scenario,
                reference=row.reference,
                estimate=row.estimate,
                paired=row.paired,
                n_items=3,
                verdict="invalid",
                verdict_reason=reason,
            )
            for row in found.drops
        ),
        pairs=(),
        tests=(),
        ranking=None,
        variances=(),
        reliability=ScenarioReliability(relative=None, absolute=None, reason="2 models are too few to tell apart"),
        n_items=3,
        converged=False,
        convergence="did not converge: gradient 0.3 after 200 steps",
        notes=(Note(kind="fit", text="the fit did not converge", remedy="use none of these numbers"),),
    )


def costs() -> ScenarioModel:
    """A continuous metric in its own unit where lower is better: seconds, three models, three languages."""
    values = np.array([[12.1, 12.9, 19.5], [14.0, 14.2, 15.1], [30.5, 41.2, 32.7]])
    found = made(
        values,
        ("fast", "steady", "slow"),
        ("en", "de", "ja"),
        n_items=200,
        reference="en",
        scenario="language",
        higher_is_better=False,
    )
    return replace(found, about=replace(found.about, name="latency"))


def hostile() -> ScenarioModel:
    """Five models in four scenarios whose names a careless page would run, and warnings of the same kind."""
    rng = np.random.default_rng(2)
    rates = rng.uniform(0.2, 0.9, (len(HOSTILE_MODELS), len(HOSTILE_SCENARIOS)))
    found = made(
        rates, HOSTILE_MODELS, HOSTILE_SCENARIOS, n_items=60, reference=HOSTILE_SCENARIOS[0], scenario="a|<b>$c$"
    )
    return replace(
        found,
        about=replace(found.about, benchmark="b $y$ <b>", name="co|rrect_$x$"),
        notes=(
            Note(kind="few", text="scenario <img src=x onerror=alert(1)> has $5$ items"),
            Note(kind="source", text="a note with <i> and $z$ and {{< pagebreak >}}", caution=False),
        ),
    )


# --- making one ---


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """Estimates and standard errors, shape (n_models, n_scenarios), in the metric's own unit."""

    estimate: NDArray[np.float64]
    std_error: NDArray[np.float64]
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    n_items: int
    reference: str
    binary: bool
    sign: int
    z: float
    conf_level: float

    def numbers(self, value: float, error: float) -> dict[str, float]:
        """An estimate with its interval, within the bounds of the score."""
        low, high = value - self.z * error, value + self.z * error
        if self.binary:
            low, high = max(low, 0.0), min(high, 1.0)
        df = float(self.n_items - 1)
        return {"estimate": value, "std_error": error, "conf_low": low, "conf_high": high, "df": df}


def made(
    estimates: NDArray[np.float64],
    models: Sequence[str],
    scenarios: Sequence[str],
    *,
    n_items: int,
    reference: str = "ideal",
    scenario: str = "scenario",
    conf_level: float = 0.95,
    higher_is_better: bool = True,
) -> ScenarioModel:
    """Make a result from the true-looking value of every cell, shape (n_models, n_scenarios).

    Values within [0, 1] are taken for rates of a binary score, others for a continuous one. A "drop" is to the worse.
    """
    binary = bool(estimates.min() >= 0 and estimates.max() <= 1)
    sign = 1 if higher_is_better else -1
    best_first = np.argsort(-sign * estimates.mean(axis=1), kind="stable")
    estimate = estimates[best_first]
    inner = np.clip(estimate, 1 / (2 * n_items), 1 - 1 / (2 * n_items))
    table = _Table(
        estimate=estimate,
        std_error=np.sqrt(inner * (1 - inner) / n_items) if binary else np.abs(estimate) * 0.5 / np.sqrt(n_items),
        models=tuple(str(models[place]) for place in best_first),
        scenarios=tuple(scenarios),
        n_items=n_items,
        reference=reference,
        binary=binary,
        sign=sign,
        z=NormalDist().inv_cdf(0.5 + conf_level / 2),
        conf_level=conf_level,
    )
    return ScenarioModel(
        about=MetricFacts(
            benchmark="RUT-Bench",
            name="success" if binary else "seconds",
            kind="binary" if binary else "continuous",
            low=0.0 if binary else None,
            high=1.0 if binary else None,
            higher_is_better=higher_is_better,
            unit="" if binary else "s",
        ),
        contrast="model",
        scenario=scenario,
        scenario_as="fixed",
        scenario_reason=f"{len(scenarios)} named scenarios that are shown one by one",
        reference=reference,
        formula=f"{'success' if binary else 'seconds'} ~ model * {scenario} + (1|item) + (1|item:model)",
        family="binomial" if binary else "gaussian",
        method="binomial mixed model (Laplace)" if binary else "linear mixed model (REML)",
        method_reason="scores are 0 or 1" if binary else "scores are continuous",
        estimand="new items of these scenarios",
        conf_level=conf_level,
        weights="equal",
        weight_shares=tuple((name, 1 / len(scenarios)) for name in scenarios),
        cells=_cells(table),
        models=_means("model", table.models, table.estimate.mean(axis=1), table),
        scenarios=_means("scenario", table.scenarios, table.estimate.mean(axis=0), table),
        drops=_drops(table),
        pairs=_pairs(table),
        tests=(
            TermTest(term="model:scenario", method="bootstrap", role="headline", p_value=0.0005, n_resamples=1999),
            TermTest(term="model:scenario", method="Wald, clustered by item", role="check", p_value=0.0004),
            TermTest(term="scenario", method="Wald, clustered by item", role="check", p_value=1e-9),
        ),
        ranking=_ranking(table),
        variances=(
            variance("item", "item: some tasks are harder for everyone", 1.9, 0.51, n_levels=n_items),
            variance("item:model", "item within model: tasks that one model alone finds hard", 0.6, 0.16, p_value=0.01),
            variance("residual", "what is left: chance from run to run", 3.29, None, note="fixed at π²/3"),
        ),
        reliability=_reliability(n_items),
        covariance_method="CR2, clustered by item",
        log_likelihood=-1234.5,
        aic=2489.0,
        bic=2560.25,
        convergence="converged: gradient 2e-07",
        n_models=len(models),
        n_scenarios=len(scenarios),
        n_items=n_items,
        n_trials=n_items * len(models) * len(scenarios),
        n_resamples=2000,
        origin=Origin(
            sources=tuple((f"{name}-run", "sha256:" + "0" * 12) for name in table.models), version=toolkit_version()
        ),
    )


def variance(term: str, label: str, value: float, error: float | None, **more: Any) -> VarianceRow:
    """A row of the table of variances; its share is of 5.79, the sum of the usual three."""
    sd = value**0.5
    if error is not None:
        half = error / (2 * sd) * 1.96
        more |= {"conf_low": max(sd - half, 0.0), "conf_high": sd + half}
    return VarianceRow(term=term, label=label, variance=value, std_dev=sd, share=value / 5.79, **more)


def _places(table: _Table) -> Iterator[tuple[int, int, float, float]]:
    for i, j in np.ndindex(table.estimate.shape):
        yield i, j, float(table.estimate[i, j]), float(table.std_error[i, j])


def _cells(table: _Table) -> tuple[CellRow, ...]:
    n, mean = table.n_items, table.estimate.mean
    pooled = 0.85 * table.estimate + 0.15 * (mean(axis=1, keepdims=True) + mean(axis=0, keepdims=True) - mean())
    shrunk = {(i, j): table.numbers(float(pooled[i, j]), 0.9 * error) for i, j, _, error in _places(table)}
    return tuple(
        CellRow(
            model=table.models[i],
            scenario=table.scenarios[j],
            n_items=n,
            n_trials=n,
            observed=value,
            **table.numbers(value, error),
            link=float(np.log(max(value, 1e-3) / max(1 - value, 1e-3))) if table.binary else value,
            link_std_error=error / max(value * (1 - value), 0.01) if table.binary else error,
            pooled=shrunk[i, j]["estimate"],
            pooled_low=shrunk[i, j]["conf_low"],
            pooled_high=shrunk[i, j]["conf_high"],
        )
        for i, j, value, error in _places(table)
    )


def _means(kind: str, names: tuple[str, ...], values: NDArray[np.float64], table: _Table) -> tuple[ScenarioMean, ...]:
    error = float(table.std_error.mean()) * 0.6
    return tuple(
        ScenarioMean(kind=kind, name=name, **table.numbers(float(value), error), n_items=table.n_items)
        for name, value in zip(names, values, strict=True)
    )


def _drops(table: _Table) -> tuple[ChangeRow, ...]:
    """Every change, p adjusted within the scenarios of each model."""
    average, n = table.reference == AVERAGE, len(table.scenarios)
    base = (table.estimate.sum(axis=1, keepdims=True) - table.estimate) / (n - 1)
    if not average:
        base = np.repeat(table.estimate[:, [table.scenarios.index(table.reference)]], n, axis=1)
    change = table.estimate - base
    found: list[ChangeRow] = []
    for i, model in enumerate(table.models):
        own: list[ChangeRow] = []
        for j, name in enumerate(table.scenarios):
            if name == table.reference:
                continue
            value = float(change[i, j])
            error = float(np.hypot(table.std_error[i, j], table.std_error[i, j if average else 0]) * 0.8)
            wide, pooled = table.z * 1.3 * error, 0.7 * value + 0.3 * float(change[:, j].mean())
            row = ChangeRow(
                model=model,
                scenario=name,
                reference=table.reference,
                estimate=value,
                std_error=error,
                conf_low=value - wide,
                conf_high=value + wide,
                conf_level=table.conf_level,
                df=float(table.n_items - 1),
                statistic=value / error,
                p_value=_two_sided(value / error),
                model_std_error=0.93 * error,
                paired=value + 0.004 * (1 if table.binary else abs(value)),
                paired_low=value - 1.05 * wide,
                paired_high=value + 1.05 * wide,
                pooled=pooled,
                pooled_low=pooled - 0.8 * wide,
                pooled_high=pooled + 0.8 * wide,
                n_items=table.n_items,
            )
            odds = {"log_odds": 6 * value, "log_odds_low": 6 * (value - wide), "log_odds_high": 6 * (value + wide)}
            own.append(replace(row, **odds) if table.binary else row)
        adjusted = holm(np.array([row.p_value for row in own])).tolist()
        for row, p in zip(own, adjusted, strict=True):
            shown = p <= 1 - table.conf_level and row.excludes_zero
            verdict = "not shown" if not shown else "drop" if table.sign * (row.estimate or 0) < 0 else "gain"
            found.append(replace(row, p_adjusted=p, verdict=verdict))
    return tuple(found)


def _two_sided(statistic: float) -> float:
    return max(2 * NormalDist().cdf(-abs(statistic)), 1e-300)


def _pairs(table: _Table) -> tuple[ModelPairRow, ...]:
    means, error = table.estimate.mean(axis=1), float(table.std_error.mean()) * 0.7
    rows: list[ModelPairRow] = []
    for one, other in combinations(range(len(table.models)), 2):
        value = float(means[one] - means[other])
        p = _two_sided(value / error)
        adjusted = min(1.0, p * len(table.models))
        rows.append(
            ModelPairRow(
                first=table.models[one],
                second=table.models[other],
                estimate=value,
                std_error=error,
                conf_low=value - 1.5 * table.z * error,
                conf_high=value + 1.5 * table.z * error,
                df=float(table.n_items - 1),
                p_value=p,
                p_adjusted=adjusted,
                separated=adjusted <= 1 - table.conf_level,
            )
        )
    return tuple(rows)


def _ranking(table: _Table) -> RankingChange:
    """Every pair of models that crosses, judged by the smaller of its two leads."""
    crossings: list[Crossing] = []
    for one, other in combinations(range(len(table.models)), 2):
        lead = table.sign * (table.estimate[one] - table.estimate[other])
        ahead, behind = int(lead.argmax()), int(lead.argmin())
        if lead[ahead] <= 0 or lead[behind] >= 0:
            continue
        p = _two_sided(min(float(lead[ahead]), float(-lead[behind])) / float(table.std_error.mean()))
        crossings.append(
            Crossing(
                first=table.models[one],
                second=table.models[other],
                ahead_in=table.scenarios[ahead],
                behind_in=table.scenarios[behind],
                ahead_by=float(lead[ahead]),
                behind_by=float(-lead[behind]),
                p_value=p,
                p_adjusted=min(1.0, 3 * p),
                shown=3 * p <= 0.05,
            )
        )
    crossings.sort(key=lambda crossing: crossing.p_value)
    n_shown = sum(crossing.shown for crossing in crossings)
    return RankingChange(
        shown=n_shown > 0,
        words=f"{n_shown} pairs of models are shown to swap order",
        p_value=crossings[0].p_adjusted if crossings else None,
        method="intersection-union test of both leads, Holm over pairs",
        n_crossed=len(crossings),
        crossings=tuple(crossings[:10]),
    )


def _reliability(n_items: int) -> ScenarioReliability:
    """Spearman-Brown from the components model .02, item .05, item x model .06: what a D-study is."""
    model, item, rest = 0.02, 0.05, 0.06

    def at(n: int) -> tuple[float, float]:
        return model / (model + rest / n), model / (model + (rest + item) / n)

    sizes = sorted({1, 2, 5, 10, 20, 50, 100, 200, 500, n_items})
    relative, absolute = at(n_items)
    needed = {"relative": rest, "absolute": rest + item}
    return ScenarioReliability(
        relative=relative,
        absolute=absolute,
        relative_low=relative**1.6,
        relative_high=relative**0.7,
        absolute_low=absolute**1.6,
        absolute_high=absolute**0.7,
        design=f"{n_items} items, 1 trial each",
        components=(("model", model), ("item", item), ("item:model", rest)),
        curve=tuple(DesignPoint(facet="item", n=n, relative=at(n)[0], absolute=at(n)[1]) for n in sizes),
        needed=(
            *(
                Needed(kind=kind, target=0.9, facet="item", n=int(np.ceil(9 * noise / model)))
                for kind, noise in needed.items()
            ),
            Needed(kind="relative", target=0.9, facet="trial", reason="there is one trial: its part is not known"),
        ),
        notes=("reliability depends on how unlike these models are",),
    )
