"""Clean tables of scores, in which tests plant faults."""

import numpy as np
import polars as pl

import evalstats as es
from evalstats.schema.data import EvalData


def clean(n_items: int = 120, models: int = 5, *, seed: int = 0, spread: float = 1.2) -> pl.DataFrame:
    """Draw right-or-wrong scores of models of different strength on items of different difficulty, nothing missing."""
    draw = np.random.default_rng(seed)
    ease = draw.normal(size=n_items)
    strength = np.linspace(-spread, spread, models)
    rows = [
        {"item": f"q{i:03d}", "model": f"m{j}", "score": float(ease[i] + strength[j] + draw.logistic() > 0)}
        for j in range(models)
        for i in range(n_items)
    ]
    return pl.DataFrame(rows, schema_overrides={"score": pl.Float64})


def read(frame: pl.DataFrame) -> EvalData:
    """Take a table as a user would give it."""
    return es.from_frame(frame, item="item", model="model", score="score", benchmark="@planted")


def kinds(found: es.Audit) -> dict[str, str]:
    """Return what was found, with its effect."""
    return {each.kind: each.effect for each in found.findings}
