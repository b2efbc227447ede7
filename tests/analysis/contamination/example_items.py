"""Small tables with planted inflation for the tests of `contamination`."""

import datetime as dt
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData

REFERENCES = ("r1", "r2", "r3", "r4", "r5")
MODELS = ("suspect", *REFERENCES)
CUTOFF = "2023-05-16"


def as_results(rows: Sequence[Mapping[str, object]]) -> EvalData:
    frame = pl.DataFrame(rows)
    given = {name: name for name in ("variant",) if name in frame.columns}
    return from_frame(frame, item="item", score="score", model="model", **given)


def split_rows(
    *, n: int = 120, inflation: float = 0.0, easier: float = 0.0, models: Sequence[str] = MODELS, seed: int = 0
) -> list[dict[str, object]]:
    """Old ("public") and new ("fresh") items; old ones are `easier` for all, and more by `inflation` for the suspect."""
    rng = np.random.default_rng(seed)
    return [
        {
            "item": f"q{i:03d}",
            "model": model,
            "source": "public" if i < n else "fresh",
            "topic": f"t{i % 24}",
            "score": int(rng.random() < 0.4 + (i < n) * (easier + inflation * (model == "suspect"))),
        }
        for model in models
        for i in range(2 * n)
    ]


def dated_rows(
    *, n: int = 500, jump: float = 0.0, seed: int = 0, models: Sequence[str] = MODELS
) -> list[dict[str, object]]:
    """Items released over 1000 days and harder the later; the suspect is better by `jump` up to day 500."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 1000, n)
    return [
        {
            "item": f"q{i:03d}",
            "model": model,
            "released": str(dt.date(2022, 1, 1) + dt.timedelta(int(days[i]))),
            "score": int(rng.random() < 0.55 - 0.0002 * days[i] + jump * (model == "suspect" and days[i] <= 500)),
        }
        for model in models
        for i in range(n)
    ]


def twin_pairs(
    *, n: int = 120, inflation: float = 0.0, harder: float = 0.0, seed: int = 0, models: Sequence[str] = MODELS
) -> list[dict[str, object]]:
    """Originals and rephrased twins as variants; rephrasing is `harder` for all."""
    rng = np.random.default_rng(seed)
    return [
        {
            "item": f"q{i:03d}",
            "model": model,
            "variant": kind,
            "score": int(rng.random() < 0.5 + (inflation * (model == "suspect") if kind == "asked" else -harder)),
        }
        for model in models
        for i in range(n)
        for kind in ("asked", "reworded")
    ]


def twins_by_name(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """The same pairs, twins as items of their own that name their original."""
    found = []
    for row in rows:
        twin = row["variant"] == "reworded"
        rest = {name: value for name, value in row.items() if name not in ("item", "variant")}
        found.append(
            {**rest, "item": f"{row['item']}-b" if twin else row["item"], "twin_of": row["item"] if twin else None}
        )
    return found
