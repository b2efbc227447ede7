"""What the page of scenarios is about: the data it was given, the answer, and the same question of further metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.errors import EvalStatsError, InputError
from evalstats.loaders.plan_file import read_plan
from evalstats.report.again import plan_again
from evalstats.report.handover import read_data
from evalstats.report.opened import files_of, names_given, reading_of, shown_day
from evalstats.report.rutbench import code_to_repeat, simulated_rutbench
from evalstats.report.scenario.names import scenario_page_names, with_scenario_names
from evalstats.schema.data import EvalData

# Metrics that belong to a benchmark's question, beyond the one that the page is about.
_FURTHER: dict[str, tuple[str, ...]] = {
    "RUT-Bench": ("success", "faithfulness", "tool_discipline"),
    "HarmAmp": ("harmfulness", "over_refusal"),
    "device-repair": ("correctness", "completeness", "practicality", "safety"),
}
_MOST_FURTHER = 3
_LISTS = ("models", "cluster", "accept")
Weights = str | Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Further:
    """The same question of another metric: the answer, or why there is none."""

    metric: str
    model: ScenarioModel | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPage:
    """Where models break, and what the page says around it.

    Attributes
    ----------
    model
        Names in it are as the page shows them: long ones shortened.
    further
        The same question of further metrics of the benchmark.
    reproduce
        Code that gives the same result.
    full_names
        Shortened names of `model` with what they stand for.
    files
        Name of the file of every run.
    """

    model: ScenarioModel
    further: tuple[Further, ...] = ()
    engine: str = ""
    rendered: date
    reproduce: str = ""
    full_names: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def open_page(
    *,
    store: str = "",
    metric: str | None = None,
    scenario: str | None = None,
    reference: str | None = None,
    weights: Weights = "equal",
    models: str | Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = None,
    formula: str | None = None,
    as_: str | None = None,
    n_resamples: int | None = None,
    further: str | Sequence[str] | None = None,
    conf_level: float | None = None,
    contrast: str = "model",
    accept: str | Sequence[str] | None = None,
    plan: str | Path | None = None,
    seed: int = 0,
    reading: str = "",
    engine: str = "",
    rendered: str = "",
) -> ScenarioPage:
    """Read the data and ask where models break.

    Parameters
    ----------
    store
        Folder of a store or of tables; empty for simulated results of RUT-Bench, so that the page can be rendered as it
        stands.
    scenario, reference, weights, formula, as_, n_resamples
        As `evalstats.scenarios` takes them.
    models, cluster, accept
        One or several names.
    further
        Other metrics to ask the same of; "none" for none; by itself those that the benchmark is about, else up to three.
    plan
        Path of an `evalstats.toml`.
    reading
        Python expression that reads the data, for the code that repeats the analysis.
    rendered
        The date the page shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC.

    Raises
    ------
    EvalStatsError
        Whatever `evalstats.scenarios` raises for the metric of the page.
    """
    data = read_data(store) if store else simulated_rutbench()
    options: dict[str, Any] = {
        "scenario": scenario,
        "reference": reference,
        "weights": weights,
        "models": names_given(models),
        "cluster": names_given(cluster),
        "formula": formula,
        "as_": as_,
        "n_resamples": n_resamples,
        "conf_level": conf_level,
        "contrast": contrast,
        "accept": names_given(accept) or (),
        "plan": read_plan(plan) if plan else None,
        "seed": seed,
    }
    found = ask(data, metric=metric, **options)
    alike = _as_planned(options, found)
    others = [_asked(data, name, alike) for name in further_metrics(data, found, names_given(further))]
    names = scenario_page_names(found, *(other.model for other in others if other.model is not None))
    return ScenarioPage(
        model=with_scenario_names(found, names),
        further=tuple(
            Further(
                metric=other.metric,
                model=None if other.model is None else with_scenario_names(other.model, names),
                reason=other.reason,
            )
            for other in others
        ),
        engine=engine,
        rendered=shown_day(rendered),
        reproduce=code_to_repeat("scenarios", _arguments(metric, options, plan), reading_of(store, reading)),
        full_names=tuple((short, name) for name, short in names.items()),
        files=files_of(data),
    )


def ask(data: EvalData, **options: Any) -> ScenarioModel:
    """Ask where models break, with the options of the page that were given."""
    from evalstats.analysis.scenarios.scenarios import scenarios

    return scenarios(data, **options)


def further_metrics(data: EvalData, found: ScenarioModel, asked: tuple[str, ...] | None) -> list[str]:
    """Return the metrics that the page asks the same of.

    Raises
    ------
    InputError
        If one was asked for that the benchmark's data do not hold.
    """
    rows = data.outcomes.filter(pl.col("benchmark") == found.benchmark)
    known = [name for name in rows["metric"].unique(maintain_order=True).to_list() if name != found.metric]
    if asked == ("none",):
        return []
    if asked is not None:
        unknown = next((name for name in asked if name not in known and name != found.metric), None)
        if unknown is not None:
            message = f"{found.benchmark} has no metric {unknown!r} beside {found.metric}; it has {', '.join(known) or 'none'}"
            raise InputError(message)
        return [name for name in asked if name != found.metric]
    own = [name for name in _FURTHER.get(found.benchmark, ()) if name in known]
    return own or sorted(known)[:_MOST_FURTHER]


def _as_planned(options: Mapping[str, Any], found: ScenarioModel) -> dict[str, Any]:
    """Return the options for further metrics: what a plan declares holds for them too, but it is not about them."""
    if options["plan"] is None:
        return dict(options)
    return {**options, "plan": None, "conf_level": found.conf_level, "cluster": found.clusters or options["cluster"]}


def _asked(data: EvalData, metric: str, options: Mapping[str, Any]) -> Further:
    try:
        return Further(metric=metric, model=ask(data, metric=metric, **options))
    except EvalStatsError as error:
        return Further(metric=metric, reason=str(error))


def _arguments(
    metric: str | None, options: Mapping[str, Any], plan: str | Path | None
) -> tuple[tuple[str, object, object], ...]:
    """Return the arguments of the question: name, value, default."""
    usual: dict[str, object] = {"weights": "equal", "contrast": "model", "seed": 0, "accept": ()}

    def shown(name: str) -> object:
        if name in _LISTS and options[name]:
            return [str(part) for part in options[name]]
        return options[name]

    given = [(name, shown(name), usual.get(name)) for name in options if name != "plan"]
    declared = plan_again(plan)
    return (("metric", metric, None), *given, ("plan", declared, None))
