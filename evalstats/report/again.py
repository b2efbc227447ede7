"""Code that repeats the comparison of a page, from the files as they are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.score.result import Score
from evalstats.schema.data import EvalData

READ_FILES = "es.read(...)  # the files of the runs below"
OPEN_STORE = "es.open_store(...).read()  # the store of the runs below"
SHIPPED = "es.datasets.tenacious_held_out()"


@dataclass(frozen=True, slots=True)
class Code:
    """An expression that is printed as it is, and not as text in quotes."""

    text: str

    def __repr__(self) -> str:
        return self.text


def plan_again(plan: str | Path | None) -> Code | None:
    """Return the expression that reads a plan, by its name and no folder: where it lies is nobody's business.

    Examples
    --------
    >>> plan_again("a/b/evalstats.toml"), plan_again(None)
    (es.read_plan('evalstats.toml'), None)
    """
    return Code(f"es.read_plan({Path(plan).name!r})") if plan else None


def arguments(options: Sequence[tuple[str, object, object]]) -> str:
    """Return the further arguments of a call: name, value and default of each, of which only other values are named.

    Examples
    --------
    >>> arguments([("seed", 3, 0), ("metric", None, None)])
    ', seed=3'
    """
    return "".join(f", {name}={value!r}" for name, value, default in options if value != default)


def call_of(function: str, options: Sequence[tuple[str, object, object]]) -> str:
    """Return the call that asks a question of all data."""
    return f"es.{function}(data{arguments(options)})"


def code_again(
    data: EvalData,
    result: Comparison,
    options: Sequence[tuple[str, object, object]],
    *,
    reading: str = READ_FILES,
) -> str:
    """Return lines of Python that give the same comparison.

    A side is called by its name where the data as read hold that name. Where it was given to tell two files of one
    model apart, the run is named instead; where such a side is several runs, the code puts them together again.

    Parameters
    ----------
    data
        What was compared.
    result
        The comparison, with names as they were given to `compare`.
    options
        Name, value and default of every further argument; an expression is `Code`.
    reading
        Expression that reads the data.
    """
    given = arguments(options)
    sides = (result.baseline, result.candidate)
    names = [side.name for side in sides]
    between: list[str] = []
    if result.contrast == "model" and not all(_is_in_files(data, side) for side in sides):
        if all(len(side.runs) == 1 for side in sides):
            names = [side.runs[0] for side in sides]
        else:
            between = _put_together({run: side.name for side in sides for run in side.runs})
    imports = ["from dataclasses import replace", "", "import polars as pl"] if between else []
    call = f"es.compare(data, {names[0]!r}, {names[1]!r}{given})"
    return "\n".join([*imports, "import evalstats as es", "", f"data = {reading}", *between, call])


def _is_in_files(data: EvalData, side: Score) -> bool:
    """Whether the name is a run's, or stands in the table of runs, which nobody renames.

    The latter must hold for the runs of that side and no others, else the name would stand for more than was compared.
    """
    if any(side.name in (run, run.rpartition("~")[0]) for run in side.runs):
        return True
    with_rows = data.runs.filter(pl.col("run").is_in(data.outcomes["run"].unique().to_list()))
    for column in ("system", "model"):
        found = set(with_rows.filter(pl.col(column) == side.name)["run"].to_list())
        if found:
            return found >= set(side.runs)
    return False


def _put_together(sides: Mapping[str, str]) -> list[str]:
    return [
        "sides = {",
        *[f"    {run!r}: {name!r}," for run, name in sides.items()],
        "}",
        'outcomes = data.outcomes.with_columns(system=pl.col("run").replace(sides))',
        "data = replace(data, outcomes=outcomes)",
    ]
