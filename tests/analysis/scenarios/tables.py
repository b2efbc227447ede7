"""Small tables of scores of models in scenarios, drawn from a known truth."""

from collections.abc import Mapping, Sequence

import numpy as np

from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of

SCENARIO = "scenario"


def rows(
    scores: np.ndarray,
    *,
    models: Sequence[str] | None = None,
    scenarios: Sequence[str] | None = None,
    nested: bool = False,
    items: Sequence[str] | None = None,
    extra: Mapping[str, np.ndarray] | None = None,
    metric: str = "correct",
    benchmark: str = "bench",
) -> list[dict[str, object]]:
    """Rows of `scores`, shape (models, scenarios, items) or (models, scenarios, items, trials); NaN leaves a row out.

    Items are asked in every scenario, or with `nested` each in one. `extra` are factors by item (crossed: shape (items,)).
    """
    scores = scores[..., None] if scores.ndim == 3 else scores
    out: list[dict[str, object]] = []
    for i, j, k, t in np.argwhere(~np.isnan(scores)).tolist():
        name = f"{items[k] if items is not None else f'q{k:03d}'}{f'-s{j}' if nested else ''}"
        model = models[i] if models is not None else f"m{i}"
        row: dict[str, object] = {
            "run": f"{model}-run-{benchmark}",
            "model": model,
            "system": model,
            "benchmark": benchmark,
            "item": name,
            "scenario": scenarios[j] if scenarios is not None else f"s{j}",
            "trial": t,
            "metric": metric,
            "score": float(scores[i, j, k, t]),
            "status": "scored",
        }
        if not nested:
            row["variant"] = str(row["scenario"])
        row.update({key: str(values[k]) for key, values in (extra or {}).items()})
        out.append(row)
    return out


def table(scores: np.ndarray, *, kind: str | None = "continuous", **more) -> EvalData:
    """`rows` as data; a kind of None leaves it to the scores."""
    declared = {name: more.pop(name) for name in ("low", "high", "higher_is_better", "dependence") if name in more}
    return data_of(rows(scores, **more), kind=kind, **declared)


def graded(
    rng: np.random.Generator,
    *,
    n_models: int = 3,
    n_scenarios: int = 3,
    n_items: int = 30,
    n_trials: int = 1,
    means: np.ndarray | None = None,
    item_sd: float = 1.0,
    sd: float = 1.0,
    clones: float = 0.0,
) -> np.ndarray:
    """Scores of items crossed with scenarios; the first two models share the part `clones` of what is their own."""
    shape = (n_models, n_scenarios, n_items)
    own = rng.normal(size=shape)
    if clones:
        own[1] = clones * own[0] + np.sqrt(1 - clones**2) * own[1]
    center = (0.0 if means is None else means[..., None]) + item_sd * rng.normal(size=n_items) + sd * own
    return center[..., None] + (0.0 if n_trials == 1 else rng.normal(size=(*shape, n_trials)))


def binary(
    rng: np.random.Generator,
    *,
    logits: np.ndarray,
    n_items: int = 60,
    n_trials: int = 1,
    item_sd: float = 1.0,
    nested: bool = False,
) -> np.ndarray:
    """0/1 scores; `logits` has shape (models, scenarios)."""
    n_models, n_scenarios = logits.shape
    item = item_sd * rng.normal(size=(n_scenarios if nested else 1, n_items))
    chance = 1 / (1 + np.exp(-(logits[:, :, None] + item)))
    return (rng.random((n_models, n_scenarios, n_items, n_trials)) < chance[..., None]).astype(float)


def lines(found: ScenarioModel) -> list[str]:
    """What the result notes, each as the line that is shown."""
    return [note.line for note in found.notes]
