"""What a page shows when it is rendered as it stands, without a result: an answer on shipped or simulated data."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.result import Result
from evalstats.document.model import Note
from evalstats.errors import InputError

_SEED = 0


def example(kind: str) -> Result:
    """Return the example of a page.

    Raises
    ------
    InputError
        If there is none.
    """
    if kind not in EXAMPLES:
        raise InputError(f"the page {kind!r} needs a saved result: render it with result=FILE.json")
    return EXAMPLES[kind]()


def _frontier() -> Result:
    from evalstats.analysis.frontier.frontier import frontier
    from evalstats.loaders.frames import from_frame

    draw = np.random.default_rng(_SEED)
    ease = draw.normal(size=200)
    made = (("small", 0.2, 0.002), ("medium", 0.9, 0.011), ("large", 1.5, 0.060), ("slow", 0.7, 0.055))
    rows = [
        {
            "item": i,
            "model": name,
            "score": int(of + ease[i] + draw.logistic() > 0),
            "cost_usd": price * draw.lognormal(0, 0.4),
        }
        for name, of, price in made
        for i in range(len(ease))
    ]
    found = frontier(from_frame(pl.DataFrame(rows), item="item", model="model", score="score"))
    made_up = Note(kind="simulated", text=f"these data are simulated by evalstats (seed {_SEED})")
    return replace(found, notes=(made_up, *found.notes))


EXAMPLES: Mapping[str, Callable[[], Result]] = {"frontier": _frontier}
