"""The columns of a formula in any table: found, complete, and read as levels or numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl

from evalstats.analysis.mixing.checks import check_fixed_factors
from evalstats.analysis.mixing.columns import Column, Factor, check_column, is_missing, read_covariate, read_factor
from evalstats.analysis.mixing.response import ResponseColumns, Rows
from evalstats.analysis.mixing.terms import MixedFormula
from evalstats.document.numbers import plural
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.tables import as_polars


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """Rows that are complete: columns of effects (levels or numbers) and of groupings (levels), and the response."""

    effects: Mapping[str, Column]
    groups: Mapping[str, Factor]
    rows: Rows
    binomial: bool
    n_given: int
    n_dropped: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """How many rows were left out, and why."""
        if not self.n_dropped:
            return []
        parts = ", ".join(f"{reason}: {n:,}" for reason, n in self.n_dropped.items())
        return [f"{sum(self.n_dropped.values()):,} of {plural(self.n_given, 'row')} left out ({parts})"]


def read_table(
    frame: object, formula: MixedFormula, named: ResponseColumns, levels: Mapping[str, Sequence[str]]
) -> TableRead:
    """Read the columns of a formula.

    Raises
    ------
    InputError
        If a column is not there or holds what it must not, or no row is complete.
    """
    table, notes = _table(frame, formula, named, levels)
    used, n_dropped = _complete(table, formula, named)
    rows = named.read(used)
    some = rows.count > 0.0
    if not bool(np.all(some)):
        n_dropped["no trials"] = int(np.count_nonzero(~some))
        used = used.filter(pl.Series(some))
        rows = rows.where(some)
    if used.height == 0:
        raise InputError(f"none of {plural(table.height, 'row')} has a response and every column of the formula")
    effects, groups = _read_columns(used, formula, levels)
    return TableRead(
        effects=effects,
        groups=groups,
        rows=rows,
        binomial=named.family == "binomial",
        n_given=table.height,
        n_dropped=n_dropped,
        notes=tuple(notes),
    )


def _table(
    frame: object, formula: MixedFormula, named: ResponseColumns, levels: Mapping[str, Sequence[str]]
) -> tuple[pl.DataFrame, list[str]]:
    """Return the columns of the formula of any table; a source's own names of standard columns are understood."""
    wanted = {
        **dict.fromkeys((*formula.effect_columns, *formula.group_columns), "the formula"),
        **named.named(),
    }
    notes: list[str] = []
    table = _outcomes(frame, wanted, notes) if isinstance(frame, EvalData) else _as_table(frame)
    for name, role in wanted.items():
        check_column(table, name, role)
    for name in levels:
        if name not in wanted:
            raise InputError(f"levels= names {name!r}, which is not in the formula; it has {', '.join(wanted)}")
    if table.height == 0:
        raise InputError("the table has no rows")
    return table.select(list(wanted)), notes


def _as_table(frame: object) -> pl.DataFrame:
    if isinstance(frame, Mapping):
        # Lists of a dict may mix whole and other numbers.
        return pl.DataFrame(cast("Mapping[str, Sequence[Any]]", frame), strict=False)
    return as_polars(frame)


def _outcomes(data: EvalData, wanted: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """Return the outcomes of one metric, with the sources' own names of the columns that are wanted."""
    table = data.outcomes
    own = [name for name in wanted if name not in table.columns and name in data.factor_names()]
    table = table.with_columns(pl.col(data.factor(name)).alias(name) for name in own)
    metrics = sorted(table["metric"].unique().to_list())
    if "score" in wanted and "metric" not in wanted and len(metrics) > 1:
        raise InputError(
            f"the outcomes hold {len(metrics)} metrics ({', '.join(metrics[:6])}), and one is modelled at a time; choose it by "
            f"data.where(metric={metrics[0]!r})"
        )
    n_benchmarks = table["benchmark"].n_unique()
    if "benchmark" not in wanted and n_benchmarks > 1:
        together = f"the outcomes of {n_benchmarks} benchmarks are modelled together, and items"
        notes.append(f"{together} of the same name are taken for the same item")
    return table


def _complete(
    table: pl.DataFrame, formula: MixedFormula, named: ResponseColumns
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Leave out rows with a null or NaN; count them by the first column that has one, the response first."""
    n_dropped: dict[str, int] = {}
    complete = pl.repeat(value=True, n=table.height, eager=True)
    for name in dict.fromkeys([*named.named(), *formula.effect_columns, *formula.group_columns]):
        missing = is_missing(table[name]) & complete
        if missing.any():
            n_dropped[f"{name} missing"] = int(missing.sum())
            complete &= ~missing
    return (table.filter(complete) if n_dropped else table), n_dropped


def _read_columns(
    used: pl.DataFrame, formula: MixedFormula, levels: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Column], dict[str, Factor]]:
    """Read the columns of effects (factors or numbers) and of groupings (always factors)."""
    effects: dict[str, Column] = {}
    for name in formula.effect_columns:
        numeric = used[name].dtype.is_numeric() and name not in formula.as_factor and name not in levels
        effects[name] = read_covariate(used[name], name) if numeric else read_factor(used[name], name, levels.get(name))
    groups: dict[str, Factor] = {}
    for name in formula.group_columns:
        known = effects.get(name)
        groups[name] = known if isinstance(known, Factor) else read_factor(used[name], name, levels.get(name))
    fixed = set(formula.fixed_columns)
    check_fixed_factors({name: f for name, f in effects.items() if isinstance(f, Factor) and name in fixed})
    return effects, groups
