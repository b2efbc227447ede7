"""Hand-made answers to "where do models break?", for the tests of words, figures and pages: no model is fitted here.

Estimates are made up; what hangs on them (standard errors, intervals, p, verdicts) follows from them by the plainest
formula, so that the parts of a result agree with each other as those of a real one do.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.scenarios.result import (
    CellRow,
    ChangeRow,
    DesignPoint,
    EffectRow,
    Needed,
    ScenarioMean,
    ScenarioModel,
    ScenarioReliability,
    TermTest,
    VarianceRow,
)
from evalstats.document.model import Note
from evalstats.simulate.rutbench_world import published_models
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
            _variance("env_id", "some scenarios are harder for everyone", 0.41, n_levels=n_scenarios),
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
        tests=(),
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


def made(
    estimates: NDArray[np.float64],
    models: Sequence[str],
    scenarios: Sequence[str],
    *,
    n_items: int,
    reference: str = "ideal",
    scenario: str = "scenario",
    higher_is_better: bool = True,
) -> ScenarioModel:
    """Make a result from the true-looking value of every cell, shape (n_models, n_scenarios).

    Values within [0, 1] are taken for rates of a binary score, others for a continuous one. A "drop" is to the worse.
    """
    binary = bool(estimates.min() >= 0 and estimates.max() <= 1)
    sign = 1 if higher_is_better else -1
    best_first = np.argsort(-sign * estimates.mean(axis=1), kind="stable")
    estimate, names = estimates[best_first], tuple(str(models[place]) for place in best_first)
    inside = np.clip(estimate, 1 / (2 * n_items), 1 - 1 / (2 * n_items))
    error = np.sqrt(inside * (1 - inside) / n_items) if binary else np.abs(estimate) * 0.5 / np.sqrt(n_items)

    def numbers(value: float, wide: float) -> dict[str, Any]:
        low, high = value - _Z * wide, value + _Z * wide
        low, high = (max(low, 0.0), min(high, 1.0)) if binary else (low, high)
        return {"estimate": value, "std_error": wide, "conf_low": low, "conf_high": high, "df": n_items - 1.0}

    def means(kind: Any, of: Sequence[str], values: NDArray[np.float64]) -> tuple[ScenarioMean, ...]:
        wide = 0.6 * float(error.mean())
        return tuple(
            ScenarioMean(kind=kind, name=name, **numbers(float(value), wide), n_items=n_items)
            for name, value in zip(of, values, strict=True)
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
        conf_level=0.95,
        weights="equal",
        weight_shares=tuple((name, 1 / len(scenarios)) for name in scenarios),
        cells=tuple(
            CellRow(
                model=names[i],
                scenario=scenarios[j],
                n_items=n_items,
                n_trials=n_items,
                observed=float(estimate[i, j]),
                **numbers(float(estimate[i, j]), float(error[i, j])),
            )
            for i, j in np.ndindex(estimate.shape)
        ),
        models=means("model", names, estimate.mean(axis=1)),
        scenarios=means("scenario", scenarios, estimate.mean(axis=0)),
        drops=_drops(estimate, error, names, scenarios, reference, sign, n_items),
        tests=(
            TermTest(term="model:scenario", method="bootstrap", role="headline", p_value=0.0005, n_resamples=1999),
            TermTest(term="scenario", method="Wald, clustered by item", role="check", p_value=1e-9),
        ),
        variances=(
            _variance("item", "some items are harder for everyone", 1.9, n_levels=n_items),
            _variance("residual", "what is left: chance from run to run", 3.29),
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
        origin=Origin(
            sources=tuple((f"{name}-run", "sha256:" + "0" * 12) for name in names), version=toolkit_version()
        ),
    )


_Z = NormalDist().inv_cdf(0.975)


def _variance(term: str, label: str, value: float, **more: Any) -> VarianceRow:
    """A row of the table of variances; its share is of 5.19, the sum of the usual two."""
    sd = value**0.5
    return VarianceRow(
        term=term,
        label=label,
        variance=value,
        std_dev=sd,
        conf_low=0.8 * sd,
        conf_high=1.2 * sd,
        share=value / 5.19,
        **more,
    )


def _drops(  # noqa: PLR0917 - what a table is made of
    estimate: NDArray[np.float64],
    error: NDArray[np.float64],
    models: Sequence[str],
    scenarios: Sequence[str],
    reference: str,
    sign: int,
    n_items: int,
) -> tuple[ChangeRow, ...]:
    """Every change, p adjusted within the scenarios of each model."""
    average, n = reference == AVERAGE, len(scenarios)
    base = (estimate.sum(axis=1, keepdims=True) - estimate) / (n - 1)
    if not average:
        base = np.repeat(estimate[:, [list(scenarios).index(reference)]], n, axis=1)
    found: list[ChangeRow] = []
    for i, model in enumerate(models):
        own = [j for j in range(n) if scenarios[j] != reference]
        value = (estimate - base)[i, own]
        wide = 0.8 * np.hypot(error[i, own], error[i, own if average else 0])
        p = [max(2 * NormalDist().cdf(-abs(z)), 1e-300) for z in (value / wide).tolist()]
        for j, change, spread, alone, adjusted in zip(
            own, value.tolist(), wide.tolist(), p, holm(np.array(p)), strict=True
        ):
            low, high = change - 1.3 * _Z * spread, change + 1.3 * _Z * spread
            shown = adjusted <= 0.05 and not low <= 0 <= high
            found.append(
                ChangeRow(
                    model=model,
                    scenario=scenarios[j],
                    reference=reference,
                    estimate=change,
                    std_error=spread,
                    conf_low=low,
                    conf_high=high,
                    conf_level=0.95,
                    df=n_items - 1.0,
                    p_value=alone,
                    p_adjusted=float(adjusted),
                    pooled=0.7 * change,
                    n_items=n_items,
                    verdict="not shown" if not shown else "drop" if sign * change < 0 else "gain",
                )
            )
    return tuple(found)


def _reliability(n_items: int) -> ScenarioReliability:
    """Spearman-Brown from the components model .02, item .05, item x model .06: what a D-study is."""
    model, item, rest = 0.02, 0.05, 0.06

    def at(n: int) -> tuple[float, float]:
        return model / (model + rest / n), model / (model + (rest + item) / n)

    relative, absolute = at(n_items)
    return ScenarioReliability(
        relative=relative,
        absolute=absolute,
        relative_low=relative**1.6,
        relative_high=relative**0.7,
        design=f"{n_items} items, 1 trial each",
        curve=tuple(
            DesignPoint(facet="item", n=n, relative=at(n)[0], absolute=at(n)[1]) for n in sorted({1, 10, 100, n_items})
        ),
        needed=(
            Needed(kind="relative", target=0.9, facet="item", n=int(np.ceil(9 * rest / model))),
            Needed(kind="relative", target=0.9, facet="trial", reason="there is one trial: its part is not known"),
        ),
    )
