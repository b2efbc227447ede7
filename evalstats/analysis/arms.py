"""Find what the user means: which metric, and which rows are the baseline and the candidate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.columns import METRIC_KINDS
from evalstats.schema.data import EvalData

_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The metric under study: its name, kind and bounds. `low` and `high` are None where it has no bound."""

    benchmark: str
    name: str
    kind: str
    low: float | None
    high: float | None
    higher_is_better: bool
    unit: str

    @property
    def span(self) -> float | None:
        """Distance between its bounds."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def is_share(self) -> bool:
        """Whether it is a share of 1, shown in percentage points."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def scale(self) -> float:
        """What to multiply by when showing it."""
        return 100.0 if self.is_share else 1.0

    @property
    def shown_unit(self) -> str:
        """Unit of a difference as shown."""
        return "pp" if self.is_share else self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side of a comparison: its name, its rows of the metric, and the runs they come from."""

    name: str
    rows: pl.DataFrame
    runs: tuple[str, ...]


def choose_metric(data: EvalData, metric: str | None) -> tuple[Metric, pl.DataFrame]:
    """Return the metric and its outcome rows; a choice that the data leave open is an error, never a guess.

    Raises
    ------
    InputError
        If the metric is unknown, or several are there and none is the benchmark's headline; likewise benchmarks.
    CannotAnswerError
        If there are no outcomes at all.
    """
    outcomes = data.outcomes
    if not outcomes.height:
        message = "there are no outcomes to compare: no file held scores of single items"
        raise CannotAnswerError(message)
    benchmarks = sorted(outcomes["benchmark"].unique().to_list())
    if metric is not None:
        with_metric = outcomes.filter(pl.col("metric") == metric)
        if not with_metric.height:
            message = f"there is no metric {metric!r}; there are {_listed(outcomes['metric'])}"
            raise InputError(message)
        benchmarks = sorted(with_metric["benchmark"].unique().to_list())
    if len(benchmarks) > 1:
        message = (
            f"the data hold {len(benchmarks)} benchmarks ({_listed(pl.Series(benchmarks))}); scores of different benchmarks "
            "are not one quantity: choose one with --where benchmark=NAME (where(benchmark=...) in Python)"
        )
        raise InputError(message)
    rows = outcomes.filter(pl.col("benchmark") == benchmarks[0])
    name = metric if metric is not None else _headline(data, rows, benchmarks[0])
    rows = rows.filter(pl.col("metric") == name)
    return _described(data, rows, benchmarks[0], name), rows


def _headline(data: EvalData, rows: pl.DataFrame, benchmark: str) -> str:
    names: list[str] = sorted(rows["metric"].unique().to_list())
    if len(names) == 1:
        return names[0]
    primary = data.metrics.filter(
        (pl.col("benchmark") == benchmark) & pl.col("primary") & pl.col("metric").is_in(names)
    )
    if primary.height == 1:
        return str(primary["metric"][0])
    message = (
        f"{benchmark} has {len(names)} metrics and none is declared its headline: {_listed(pl.Series(names))}; "
        "choose one with --metric, before looking at the results"
    )
    raise InputError(message)


def _described(data: EvalData, rows: pl.DataFrame, benchmark: str, name: str) -> Metric:
    found = data.metrics.filter((pl.col("benchmark") == benchmark) & (pl.col("metric") == name))
    declared = found.row(0, named=True) if found.height else {}
    scores = rows["score"].drop_nulls()
    kind = declared.get("kind")
    low, high = declared.get("low"), declared.get("high")
    if kind not in METRIC_KINDS:
        kind = _kind_seen(scores)
        low, high = (0.0, 1.0) if kind in ("binary", "bounded") else (None, None)
    if kind in ("binary", "proportion"):
        low, high = 0.0, 1.0
    _check_range(scores, benchmark, name, low, high)
    if kind == "binary" and not scores.is_in([0.0, 1.0]).all():
        kind = "bounded"  # averages of several trials arrive under the name of a binary metric
    return Metric(
        benchmark=benchmark,
        name=name,
        kind=str(kind),
        low=low,
        high=high,
        higher_is_better=bool(declared.get("higher_is_better", True)),
        unit=str(declared.get("unit") or ""),
    )


def _kind_seen(scores: pl.Series) -> str:
    if scores.is_in([0.0, 1.0]).all():
        return "binary"
    return "bounded" if scores.is_between(0.0, 1.0).all() else "continuous"


def _check_range(scores: pl.Series, benchmark: str, name: str, low: float | None, high: float | None) -> None:
    inside = scores.is_between(-math.inf if low is None else low, math.inf if high is None else high)
    outside = scores.filter(~inside)
    if len(outside):
        message = (
            f"{benchmark}: {len(outside)} scores of {name!r} lie outside its range [{low}, {high}], "
            f"first {outside[0]:g}; is the file in percent?"
        )
        raise InputError(message)


def choose_arm(rows: pl.DataFrame, name: str, *, contrast: str, role: str) -> Arm:
    """Return the rows that `name` stands for.

    With `contrast="model"` a name is matched against runs (whole, or the part before "~"), then systems, then models.
    Otherwise against the levels of the contrast's column.

    Raises
    ------
    InputError
        If nothing matches, or the name could mean several runs of the same items; the message lists them.
    """
    columns = ("run", "system", "model") if contrast == "model" else (contrast,)
    for column in columns:
        text = rows[column].cast(pl.String)
        found = rows.filter(text == name)
        if not found.height and column == "run":
            found = rows.filter(text.str.replace(r"~[0-9a-f]{8}$", "") == name)
        if found.height:
            _refuse_overlap(found, name, role)
            return Arm(name=name, rows=found, runs=tuple(sorted(found["run"].unique().to_list())))
    if contrast == "model":
        have = f"models {_listed(rows['model'])}; systems {_listed(rows['system'])}; runs {_listed(rows['run'])}"
    else:
        have = f"{contrast} has {_listed(rows[contrast].cast(pl.String).drop_nulls())}"
    message = f"the {role} {name!r} matches nothing of metric {rows['metric'][0]!r}: {have}"
    raise InputError(message)


def _refuse_overlap(found: pl.DataFrame, name: str, role: str) -> None:
    """Two runs of the same trial of the same item cannot both be the arm."""
    runs = found["run"].unique()
    if len(runs) < 2:
        return
    key = ["task", "item", "variant", "trial"]
    shared = found.group_by(key).agg(pl.col("run").n_unique().alias("n")).filter(pl.col("n") > 1)
    if shared.height:
        message = (
            f"the {role} {name!r} is ambiguous: {len(runs)} runs answered the same {shared.height} items; "
            f"name one of the runs {_listed(runs)}"
        )
        raise InputError(message)


def only_arm(rows: pl.DataFrame, *, role: str) -> str:
    """Return the name of the only system in the rows (for `compare A B` with two files).

    Raises
    ------
    InputError
        If there are several; the message lists them.
    """
    for column in ("system", "model", "run"):
        levels = rows[column].unique().to_list()
        if len(levels) == 1:
            return str(levels[0])
    message = f"the {role}'s file holds several systems: {_listed(rows['system'])}; name one with --{role}"
    raise InputError(message)


def _listed(values: pl.Series | Sequence[str]) -> str:
    levels = sorted(pl.Series(values).cast(pl.String).unique().drop_nulls().to_list())
    shown = ", ".join(repr(level) for level in levels[:_SHOWN])
    return shown + (f" and {len(levels) - _SHOWN} more" if len(levels) > _SHOWN else "")
