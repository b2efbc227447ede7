"""Which models an arena lets meet, and what that does to its ratings: the stored results of a simulation.

The file is written by `python -m dev.validation.arena_sampling` in the project, which reruns everything from its seed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl

from evalstats.record import record

_FILE = "arena_sampling.json"


@record
class SamplingRow:
    """One measure of one way of sampling in one world.

    `condition` says when ("1200 votes"), or "". `estimate` is the mean over the arenas with its Monte Carlo `std_error`;
    None where it cannot be said, and `reason` tells why. `difference` is against random pairs (for coverage: against 95%,
    for the bias: against 0), with an interval that holds for all differences of the study at once with 95%; None for
    random pairs themselves. `verdict` is "better", "worse" or "not separated", by the interval alone; "" where there is
    nothing to compare.
    """

    world: str
    measure: str
    condition: str
    sampling: str
    estimate: float | None
    std_error: float | None
    difference: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    verdict: str = ""
    reason: str | None = None


@record
class SamplingMeasure:
    """What a measure is: its name for a reader, its unit, which end is good, and what it is compared with."""

    key: str
    title: str
    unit: str
    higher_is_better: bool | None
    against: str = "random pairs"


@record
class SamplingStudy:
    """The whole simulation: `seed` is the root of all seeds, `version` the evalstats that was simulated.

    `n_arenas` counts simulated arenas by world, `settings` are numbers that all share; `worlds` and `samplings` say in words what
    each is.
    """

    seed: int
    version: str
    n_arenas: Mapping[str, int]
    settings: Mapping[str, float]
    worlds: Mapping[str, str]
    samplings: Mapping[str, str]
    measures: tuple[SamplingMeasure, ...]
    rows: tuple[SamplingRow, ...]

    def measure(self, key: str) -> SamplingMeasure:
        """Return a measure by its key."""
        return next(measure for measure in self.measures if measure.key == key)

    def of(self, measure: str, *, world: str | None = None, sampling: str | None = None) -> list[SamplingRow]:
        """Return the rows of a measure, in a world and for a way of sampling where they are named."""
        return [
            row
            for row in self.rows
            if row.measure == measure and world in (None, row.world) and sampling in (None, row.sampling)
        ]

    def to_frame(self) -> pl.DataFrame:
        """Return one row for each measure, world, condition and way of sampling.

        >>> frame = load_arena_sampling().to_frame()
        >>> set(frame["verdict"].unique()) <= {"", "better", "worse", "not separated"}
        True
        """
        return pl.DataFrame([asdict(row) for row in self.rows], infer_schema_length=None)

    def to_text(self) -> str:
        """Return the file: JSON with one row a line, so that a change shows as the rows that changed."""
        lines = ",\n".join(f"  {_json(asdict(row))}" for row in self.rows)
        measures = ",\n".join(f"  {_json(asdict(measure))}" for measure in self.measures)
        plain = {"seed": self.seed, "version": self.version}
        named = {
            "n_arenas": self.n_arenas,
            "settings": self.settings,
            "worlds": self.worlds,
            "samplings": self.samplings,
        }
        head = "".join(f" {_json(key)}: {_json(value)},\n" for key, value in {**plain, **named}.items())
        return f'{{\n{head} "measures": [\n{measures}\n ],\n "rows": [\n{lines}\n ]\n}}\n'


def study_from_text(text: str) -> SamplingStudy:
    """Read what `SamplingStudy.to_text` wrote."""
    read: dict[str, Any] = json.loads(text)
    rows = tuple(SamplingRow(**row) for row in read.pop("rows"))
    measures = tuple(SamplingMeasure(**measure) for measure in read.pop("measures"))
    return SamplingStudy(**read, rows=rows, measures=measures)


@cache
def load_arena_sampling() -> SamplingStudy:
    """Return the stored simulation of ways of sampling."""
    return study_from_text(files("evalstats.datasets").joinpath(_FILE).read_text(encoding="utf-8"))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
