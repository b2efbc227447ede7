"""How often evalstats is wrong: stored results of its own simulations, one JSON file a question.

The files are written by `make validate` in the project, which reruns every simulation from its seed.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import polars as pl

from evalstats.errors import InputError
from evalstats.record import record

_FOLDER = "validation"
ENOUGH = 2000  # tables; on fewer no promise is judged

# Columns that a question may leave empty altogether.
_TYPES = {"rate_low": pl.Float64, "rate_high": pl.Float64, "n_replicates": pl.Int64, "width": pl.Float64}

Measure = Literal["misses", "false claims", "power", "errors"]
Role = Literal["ours", "beside", "elsewhere"]
Standing = Literal["kept", "at the limit", "undecided", "missed", "not judged"]
_Z = 1.959963984540054


@record
class Rate:
    """How often one `method` was wrong in one `case`; cases of one `group` belong together.

    `role`: "ours" decides in evalstats, "beside" is shown beside it, "elsewhere" is what other tools do. `rate` is the share of
    intervals that miss the truth, of comparisons that claim a difference that is not there (or both: errors), or, for power, of
    comparisons that find one that is; `low` and `high` are its 95% Wilson interval. These and `replicates` (simulated data
    sets) are None where every outcome was enumerated, so that the rate is exact. `width` is the mean width of the intervals, in
    the score's unit; `design` are numbers that describe the case (items, clusters, rates).
    """

    case: str
    method: str
    role: Role
    group: str
    rate: float
    replicates: int | None = None
    low: float | None = None
    high: float | None = None
    width: float | None = None
    design: Mapping[str, float] = field(default_factory=dict[str, float])


@record
class PromisedRate:
    """What is promised of a method in some cases, and what was found.

    The rates must lie between `low` and `high`; None for no limit. `found` is the rate that is closest to a limit, or furthest
    beyond it, with the `replicates` behind it (None where it is exact). `tables` is how many were drawn at least in each case.
    `up_to_chance`: the limit is proved of the method, so a simulated rate may exceed it as far as its Monte Carlo interval
    reaches back. `holds`: whether all rates keep the limits; None where fewer than 2,000 tables were drawn.
    """

    text: str
    method: str
    cases: tuple[str, ...]
    low: float | None
    high: float | None
    found: float
    replicates: int | None
    up_to_chance: bool
    holds: bool | None
    tables: int | None = None

    @property
    def chance(self) -> tuple[float, float]:
        """The 95% Monte Carlo interval of the rate that was found (Wilson); an exact rate is its own."""
        p, n = self.found, self.replicates
        if n is None:
            return p, p
        middle, whole = p + _Z**2 / (2 * n), 1 + _Z**2 / n
        half = _Z * (p * (1 - p) / n + _Z**2 / (4 * n**2)) ** 0.5
        return max((middle - half) / whole, 0.0), min((middle + half) / whole, 1.0)

    @property
    def standing(self) -> Standing:
        """Whether the promise is kept: an exact rate, or the whole Monte Carlo interval of a simulated one, decides.

        Where it is proved that the rate is at most its limit, and may be the limit itself, no number of tables would show it
        below.

        >>> told = dict(text="", method="", cases=(), low=None, high=0.06, up_to_chance=False, holds=True)
        >>> [PromisedRate(found=0.05, replicates=n, tables=n, **told).standing for n in (None, 200, 2_000, 20_000)]
        ['kept', 'not judged', 'undecided', 'kept']
        >>> PromisedRate(found=0.055, replicates=2_000, tables=2_000, **{**told, "up_to_chance": True}).standing
        'at the limit'
        """
        if self.tables is not None and self.tables < ENOUGH:
            return "not judged"
        least, most = self.chance
        low, high = (-1.0 if self.low is None else self.low), (2.0 if self.high is None else self.high)
        if low <= least and most <= high:
            return "kept"
        if least > high or most < low:
            return "missed"
        return "at the limit" if self.up_to_chance else "undecided"

    @property
    def limit(self) -> str:
        """The limit in percent: "at most 6.5%", "75% to 87%"."""
        if self.low is not None and self.high is not None:
            return f"{100 * self.low:g}% to {100 * self.high:g}%"
        if self.high is not None:
            return f"at most {100 * self.high:g}%"
        return f"at least {100 * (self.low or 0.0):g}%"


@record
class Study:
    """One question about error rates with everything that was found.

    `design` says in words how data were made, `measure` what `rate` counts, `nominal` the rate that the methods state; `seed` is
    the root of all seeds, `version` the evalstats that was simulated, `notes` what else was checked along the way.
    """

    name: str
    question: str
    design: str
    measure: Measure
    nominal: float
    seed: int | None
    version: str
    rows: tuple[Rate, ...]
    claims: tuple[PromisedRate, ...]
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pl.DataFrame:
        """Return one row a case and method; numbers of the design are columns of their own.

        >>> frame = load_validation("one-score").to_frame()
        >>> frame.filter(method="Wilson", n=43, p=0.99)["rate"].round(3).item()
        0.069
        """
        names = list(dict.fromkeys(name for row in self.rows for name in row.design))
        records: list[dict[str, object]] = [
            {
                "study": self.name,
                "group": row.group,
                "case": row.case,
                "method": row.method,
                "role": row.role,
                "rate": row.rate,
                "rate_low": row.low,
                "rate_high": row.high,
                "n_replicates": row.replicates,
                "width": row.width,
                **{name: row.design.get(name) for name in names},
            }
            for row in self.rows
        ]
        return pl.DataFrame(records, infer_schema_length=None, schema_overrides=_TYPES)


@cache
def load_validation(name: str) -> Study:
    """Return the stored results of one question."""
    if name not in validation_names():
        raise InputError(f"there are no stored error rates {name!r}; there are {', '.join(validation_names())}")
    path = files("evalstats.datasets").joinpath(_FOLDER, f"{name}.json")
    return _study(json.loads(path.read_text(encoding="utf-8")))


def validation_names() -> tuple[str, ...]:
    """Return the names of the questions whose answers are stored.

    Examples
    --------
    >>> "one-score" in validation_names()
    True
    """
    stored = files("evalstats.datasets").joinpath(_FOLDER)
    return tuple(sorted(path.name.removesuffix(".json") for path in stored.iterdir() if path.name.endswith(".json")))


def _study(read: dict[str, Any]) -> Study:
    cases = {case["case"]: case for case in read["cases"]}
    roles: dict[str, Role] = {method["method"]: method["role"] for method in read["methods"]}
    rows = tuple(
        Rate(**row, role=roles[row["method"]], group=cases[row["case"]]["group"], design=cases[row["case"]]["design"])
        for row in read["rows"]
    )
    claims = tuple(_claim(**claim) for claim in read["claims"])
    plain = {key: read[key] for key in ("name", "question", "design", "measure", "nominal", "seed", "version")}
    return Study(**plain, rows=rows, claims=claims, notes=tuple(read["notes"]))


def _claim(*, cases: list[str], **rest: Any) -> PromisedRate:
    return PromisedRate(cases=tuple(cases), **rest)
