"""Simulated RUT-Bench results: files in the benchmark's own format whose truth is known.

The overall success rates are the published ones. Everything else is made up from a documented model
(`evalstats.simulate.rutbench_truth.RutEffects`), the rates by user behaviour above all.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import polars as pl

from evalstats.simulate.draws import Calibrate, check_share, model_paths
from evalstats.simulate.rutbench_samples import JUDGE, draw_facts, sample_row, summarise
from evalstats.simulate.rutbench_truth import (
    BEHAVIOURS,
    N_TASKS,
    STABLE,
    RutDesign,
    RutDraw,
    RutEffects,
    RutModel,
    draw_run,
    make_design,
    model_named,
    published_models,
)

GENERATED_AT = (
    "2026-06-03T00:00:00+00:00"  # date of the benchmark's paper; the time of simulation would change the bytes
)

# Invented, as shares of all samples.
CRASH_RATE = 0.005
JUDGE_ERROR_RATE = 0.004


class RutOptions(TypedDict, total=False):
    """Further options of `simulate_rutbench`, `write_rutbench` and `rutbench_truth`.

    `run`: which repetition on the same benchmark (default 0). `calibrate`: "count" (default) makes the observed number
    of successes exactly the published one; "rate" fixes the truth instead and lets the count vary, as coverage studies
    need. `effects`: the model of the truth. `crash_rate`, `judge_error_rate`: shares of samples.
    """

    run: int
    calibrate: Calibrate
    effects: RutEffects
    crash_rate: float
    judge_error_rate: float


def simulate_rutbench(
    model: str | RutModel, *, seed: int = 0, n_tasks: int = N_TASKS, **options: Unpack[RutOptions]
) -> dict[str, object]:
    """Simulate one model's RUT-Bench result file.

    Parameters
    ----------
    model
        Name of a published model, or a `RutModel` of your own.
    seed
        Seed of the benchmark and of everything else. The base tasks, their difficulty and the share of it that models
        have in common depend on the seed alone, so files of several models pair up. One model more changes no other.
    n_tasks
        Base tasks; each is played once with a cooperative user and once with each of six kinds of other user.
    **options
        See `RutOptions`.

    Returns
    -------
    dict
        The document, ready for `json.dump`: metadata (with a key "simulated" that says so), summary, samples.

    Raises
    ------
    InputError
        If no published model has the name, or a number is out of range.

    Notes
    -----
    Tool traces, states and per-requirement lists are left empty; their counts are not. Half of the crashed runs fall on
    tasks without assertions, where the harness's relaxed criterion passes an empty run.

    Examples
    --------
    >>> document = simulate_rutbench("GPT-5.4")
    >>> summary = document["summary"]
    >>> summary["sample_count"], round(summary["success_rate"] * 1638)
    (1638, 611)
    """
    known = model_named(model)
    design = make_design(seed=seed, n_tasks=n_tasks)
    draw = _draw(known, design, seed, options)
    facts = draw_facts(
        draw,
        design,
        seed=seed,
        run=options.get("run", 0),
        judge_error_rate=options.get("judge_error_rate", JUDGE_ERROR_RATE),
    )
    samples = [sample_row(sample) for sample in facts]
    return {"metadata": _metadata(known, seed), "summary": summarise(samples), "samples": samples}


def write_rutbench(
    folder: str | Path,
    models: Iterable[str | RutModel] | None = None,
    *,
    seed: int = 0,
    n_tasks: int = N_TASKS,
    **options: Unpack[RutOptions],
) -> list[Path]:
    """Write one simulated result file for each model (by default all 19 published ones), about 3 MB each.

    Same models, seed and options: same bytes. The files are named `<model>_eval_results.json`.

    Raises
    ------
    InputError
        As `simulate_rutbench`; or if two models would share a file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_rutbench(folder, ["GLM-5"], n_tasks=2)]
    ['GLM-5_eval_results.json']
    """
    chosen = [model_named(model) for model in (published_models() if models is None else models)]
    paths = model_paths(folder, [model.name for model in chosen], "_eval_results.json")
    for model, path in zip(chosen, paths, strict=True):
        document = simulate_rutbench(model, seed=seed, n_tasks=n_tasks, **options)
        path.write_text(_as_json(document), encoding="utf-8", newline="\n")
    return paths


def rutbench_truth(
    models: Iterable[str | RutModel] | None = None,
    *,
    seed: int = 0,
    n_tasks: int = N_TASKS,
    **options: Unpack[RutOptions],
) -> pl.DataFrame:
    """Return what the simulated files are drawn from: each model's probability of success by user behaviour.

    Returns
    -------
    polars.DataFrame
        One row per model and behaviour: `model`, `scenario` (the behaviour), `user_kind`, `probability` (mean over this
        seed's base tasks of the probability of relaxed success, were no run to crash), `successes` (relaxed successes
        among samples that did not crash), `n_items` (samples that did not crash).

    Examples
    --------
    >>> truth = rutbench_truth(["GLM-5"], calibrate="rate")
    >>> truth.height, round(truth["probability"].mean(), 6)
    (7, 0.296)
    """
    design = make_design(seed=seed, n_tasks=n_tasks)
    chosen = [model_named(model) for model in (published_models() if models is None else models)]
    return pl.concat([_truth_frame(_draw(model, design, seed, options)) for model in chosen])


def _truth_frame(draw: RutDraw) -> pl.DataFrame:
    ran = ~draw.crashed
    return pl.DataFrame(
        {
            "model": [draw.model.name] * len(BEHAVIOURS),
            "scenario": list(BEHAVIOURS),
            "user_kind": ["ideal" if behaviour == STABLE else "non_ideal" for behaviour in BEHAVIOURS],
            "probability": draw.probability.mean(axis=0),
            "successes": (draw.success & ran).sum(axis=0),
            "n_items": ran.sum(axis=0),
        }
    )


def _draw(model: RutModel, design: RutDesign, seed: int, options: RutOptions) -> RutDraw:
    for name in ("crash_rate", "judge_error_rate"):
        check_share(name, options.get(name, 0.0))
    return draw_run(
        model,
        design,
        options.get("effects", RutEffects()),
        seed=seed,
        run=options.get("run", 0),
        calibrate=options.get("calibrate", "count"),
        crash_rate=options.get("crash_rate", CRASH_RATE),
    )


def _metadata(model: RutModel, seed: int) -> dict[str, object]:
    known = model in published_models()
    rate = "the overall success rate is the published one" if known else "the overall success rate was asked for"
    return {
        "generated_at": GENERATED_AT,
        "benchmark_file": "eval/benchmark/RUT-Bench.jsonl",
        "blueprint_file": "eval/benchmark/task_blueprints.jsonl",
        "model": model.name,
        "agent_provider": "openai",
        "agent_base_url": None,
        "thinking_budget": None,
        "temperature": 0.0,
        "judge_model": JUDGE,
        "judge_base_url": None,
        "judge_temperature": 0.0,
        "variant_filter": "all",
        "sample_id_filter": "",
        "max_samples": 0,
        "max_steps": 50,
        "max_workers": 4,
        "skip_reliability": False,
        "simulated": f"by evalstats, seed {seed}; {rate}, per-behaviour rates and all else are invented",
    }


def _as_json(document: dict[str, object]) -> str:
    """One sample a line: as compact as the harness's indented form is long, and still easy to look into."""
    samples: Sequence[object] = document["samples"]  # pyright: ignore[reportAssignmentType] - a list by construction
    lines = ",\n".join(_compact(sample) for sample in samples)
    metadata, summary = _compact(document["metadata"]), _compact(document["summary"])
    return f'{{"metadata":{metadata},\n"summary":{summary},\n"samples":[\n{lines}\n]}}\n'


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
