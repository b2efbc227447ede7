"""From a table and a formula to the cells a mixed model is fitted to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evalstats.analysis.mixed.columns import (
    Bools,
    Coded,
    Column,
    Covariate,
    Factor,
    Kept,
    code_columns,
    combinations,
    grid_column,
    independent_columns,
    read_covariate,
)
from evalstats.analysis.mixed.formula import (
    INTERCEPT,
    MixedFormula,
    RandomPart,
    Term,
    columns_of,
    parse_formula,
    term_name,
)
from evalstats.analysis.mixed.table import (
    EmptyCell,
    ResponseColumns,
    TableRead,
    check_groups,
    check_parts,
    check_response,
    check_room,
    dropped_warnings,
    empty_cell_warnings,
    empty_cells,
    merged,
    read_table,
    used_slopes,
)
from evalstats.errors import InputError
from evalstats.stats.mixed.design import Family, Floats, Ints, MixedDesign, RandomTerm


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFrame:
    """A table as a mixed model sees it.

    Attributes
    ----------
    design
        Cells: rows with the same value in every column of the formula are one. Columns that are combinations of others are
        left out of `design.fixed`.
    factors, covariates
        Levels of each factor of the fixed part, the reference first; mean over all rows of each of its numbers.
    terms
        Columns of `design.fixed` of each fixed term, by its name ("model:scenario"); an empty tuple where none was kept.
    columns
        Names of all columns of the fixed part, those that were dropped included.
    kept
        Which of them are in `design.fixed`.
    empty_cells
        Combinations of the levels of interacting factors without rows.
    n_given, n_dropped
        Rows of the table; rows left out, by reason.
    cells
        One row for each cell, in the order of the design, with the columns of the formula as text or numbers.
    """

    formula: MixedFormula
    family: Family
    design: MixedDesign
    factors: Mapping[str, tuple[str, ...]]
    covariates: Mapping[str, float]
    terms: Mapping[str, tuple[int, ...]]
    columns: tuple[str, ...]
    kept: Kept
    empty_cells: tuple[EmptyCell, ...]
    n_given: int
    n_dropped: Mapping[str, int]
    cells: pl.DataFrame
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def dropped_columns(self) -> tuple[str, ...]:
        """Names of the fixed effects that are combinations of others."""
        return tuple(self.columns[at] for at in _places(self.kept.dropped))

    def all_rows(self, grid: pl.DataFrame) -> Floats:
        """Return the fixed part of every row of a grid, dropped columns included, shape (n_grid, n_columns).

        The grid has a column of levels for each factor of the fixed part; a covariate it lacks stands at its mean.

        Raises
        ------
        InputError
            If a factor is not there, or has a level that was not fitted.
        """
        columns = self._grid_columns(grid)
        return code_columns(self.formula.fixed, columns, grid.height, intercept=self.formula.intercept).matrix

    def slope_rows(self, grid: pl.DataFrame) -> list[Floats]:
        """Return what the effects of each random term are multiplied by in every row of a grid, shape (n_grid, n_columns).

        Raises
        ------
        InputError
            If a random slope is of a column that is not in the fixed part.
        """
        columns = self._grid_columns(grid)
        out: list[Floats] = []
        for part, term in zip(self.formula.random, self.design.terms, strict=True):
            for name in columns_of(part.effects):
                if name not in columns:
                    raise InputError(
                        f"the random slope of {name} by {part.group_name} has no fixed effect, so what it adds at a mean is not "
                        f"known; put {name} into the fixed part"
                    )
            coded = code_columns(part.effects, columns, grid.height, intercept=part.intercept)
            out.append(coded.matrix[:, [coded.names.index(name) for name in term.columns]])
        return out

    def _grid_columns(self, grid: pl.DataFrame) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        for name in self.formula.fixed_columns:
            if name in self.factors:
                levels = self.factors[name]
                columns[name] = grid_column(grid, Factor(name=name, levels=levels, codes=np.empty(0, dtype=np.int64)))
            elif name in grid.columns:
                columns[name] = read_covariate(grid[name], name)
            else:
                columns[name] = Covariate(name=name, values=np.full(grid.height, self.covariates[name]))
        return columns

    def fixed_rows(self, grid: pl.DataFrame) -> Floats:
        """Return the fixed part of every row of a grid as columns of `design.fixed`, shape (n_grid, n_fixed).

        A row of which the data say nothing is NaN throughout. Average rows of `all_rows` instead, and ask `estimable` of the
        average, where an average may be known though a part of it is not.
        """
        rows = self.all_rows(grid)
        out = rows[:, self.kept.columns]
        out[~self.kept.estimable(rows)] = np.nan
        return out

    def estimable(self, rows: Floats) -> Bools:
        """Whether the data determine each combination of all columns, shape (n, n_columns)."""
        return self.kept.estimable(rows)

    def kept_rows(self, rows: Floats) -> Floats:
        """Return those columns of `rows` that are in the design."""
        return rows[:, self.kept.columns]


def model_frame(
    frame: object,
    formula: str | MixedFormula,
    *,
    family: Family = "gaussian",
    count: str | None = None,
    within: str | None = None,
    successes: str | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    random: bool = True,
) -> ModelFrame:
    """Read a table by a formula and merge its rows to cells.

    Rows with the same value in every column of the formula are one cell with their number, mean and sum of squares. This
    loses nothing that a mixed model uses, and makes the cost of a fit independent of the number of trials. Rows with a null
    or NaN in a column that is used are left out, and counted.

    Text, categories and truth values are factors; numbers are covariates unless they stand in C(). Levels stand in the order
    of `levels`, else of the Enum or the ordered categories that the column is, else numbers by size and text by the alphabet;
    the first level is the reference of the treatment coding.

    Parameters
    ----------
    frame
        A pandas, Polars, pyarrow or DuckDB table, a dict of columns, or `EvalData`, of which the outcomes are used.
    formula
        lme4's notation; see `parse_formula`.
    family
        "gaussian", or "binomial" for 0/1, for a share with its trials in `count`, or for `cbind(successes, failures)`.
    count
        Binomial: column of trials behind each share. Gaussian: column of rows behind each mean, together with `within`.
    within
        Gaussian: column of the sum of squared deviations of those rows from their mean.
    successes
        Binomial: column of successes in `count` trials; the left-hand side is then only a name.
    levels
        Levels of factors in their order.
    random
        Whether a formula without random part is refused.

    Raises
    ------
    InputError
        If the formula cannot be read, or the table cannot be fitted by it; the message says why.

    Examples
    --------
    >>> table = {"score": [1, 0, 1, 1, 0, 0], "model": list("aabbab"), "item": ["i", "j", "i", "j", "i", "j"]}
    >>> made = model_frame(table, "score ~ model + (1 | item)", family="binomial")
    >>> made.design.n_cells, made.design.n_rows, made.factors, made.design.fixed_names
    (4, 6, {'model': ('a', 'b')}, ('(Intercept)', 'model[b]'))
    """
    parsed = parse_formula(formula) if isinstance(formula, str) else formula
    check_parts(parsed, random=random)
    named = ResponseColumns(response=parsed.response, family=family, count=count, within=within, successes=successes)
    read = read_table(frame, parsed, named, levels or {})
    cells = _cells(read)
    fixed = _fixed(parsed, cells.effects, len(cells.count))
    terms, term_warnings = _random_terms(parsed, cells)
    warnings = [
        *read.warnings,
        *check_response(
            cells.mean, cells.within, str(parsed.response), binomial=family == "binomial", count=cells.count
        ),
        *fixed.warnings,
        *term_warnings,
        *check_groups(terms, cells.n_rows, single=family == "gaussian" or read.rows.single()),
    ]
    check_room(fixed.matrix.shape[1], cells.n_rows)
    design = MixedDesign(
        fixed=fixed.matrix,
        fixed_names=tuple(fixed.coded.names[at] for at in _places(fixed.kept.columns)),
        terms=terms,
        count=cells.count,
        response=cells.mean,
        within=cells.within,
        log_constant=read.rows.log_binomials() if family == "binomial" else 0.0,
    )
    in_fixed = {name: cells.effects[name] for name in parsed.fixed_columns}
    factors = {name: column.levels for name, column in in_fixed.items() if isinstance(column, Factor)}
    return ModelFrame(
        formula=parsed,
        family=family,
        design=design,
        factors=factors,
        covariates={
            name: float(cells.count @ column.values / cells.count.sum())
            for name, column in in_fixed.items()
            if isinstance(column, Covariate)
        },
        terms=fixed.terms(parsed),
        columns=fixed.coded.names,
        kept=fixed.kept,
        empty_cells=fixed.empty,
        n_given=read.n_given,
        n_dropped=read.n_dropped,
        cells=_cells_frame(cells),
        warnings=tuple(dict.fromkeys(warnings)),
        notes=(*read.notes, *_coding_notes(factors)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """Columns of the cells, and what was merged into each; `within` is the sum over all."""

    effects: Mapping[str, Column]
    groups: Mapping[str, Factor]
    count: Floats
    mean: Floats
    within: float

    @property
    def n_rows(self) -> int:
        return round(float(self.count.sum()))


def _cells(read: TableRead) -> _Cells:
    codes, first = combinations([*read.effects.values(), *read.groups.values()], len(read.rows.value))
    count, mean, within = merged(read.rows, codes, len(first))
    return _Cells(
        effects={name: column.take(first) for name, column in read.effects.items()},
        groups={name: column.take(first) for name, column in read.groups.items()},
        count=count,
        mean=mean,
        within=0.0 if read.binomial else within,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _FixedPart:
    matrix: Floats
    coded: Coded
    kept: Kept
    empty: tuple[EmptyCell, ...]
    warnings: list[str]

    def terms(self, formula: MixedFormula) -> dict[str, tuple[int, ...]]:
        """Columns of the design of each term."""
        place = {column: at for at, column in enumerate(_places(self.kept.columns))}
        names = [term_name(term) for term in _with_intercept(formula.fixed, intercept=formula.intercept)]
        return {
            name: tuple(place[c] for c, of in enumerate(self.coded.term_of) if of == at and c in place)
            for at, name in enumerate(names)
        }


def _with_intercept(terms: Sequence[Term], *, intercept: bool) -> list[Term]:
    return [INTERCEPT, *terms] if intercept else list(terms)


def _fixed(formula: MixedFormula, effects: Mapping[str, Column], n: int) -> _FixedPart:
    """Code the fixed part on its distinct rows, and leave out what cannot be told apart."""
    coded, codes = _coded_once(formula.fixed, effects, n, intercept=formula.intercept)
    kept = independent_columns(coded.matrix)
    factors = {name: column for name, column in effects.items() if isinstance(column, Factor)}
    empty = empty_cells(formula.fixed, factors, n)
    warnings = empty_cell_warnings(empty) + dropped_warnings(
        _with_intercept(formula.fixed, intercept=formula.intercept),
        coded.names,
        coded.term_of,
        _places(kept.dropped),
        empty,
    )
    matrix = np.ascontiguousarray(coded.matrix[:, kept.columns])[codes]
    return _FixedPart(matrix=matrix, coded=coded, kept=kept, empty=empty, warnings=warnings)


def _coded_once(terms: Sequence[Term], effects: Mapping[str, Column], n: int, *, intercept: bool) -> tuple[Coded, Ints]:
    """Code the distinct rows of the columns that terms use; the second tells which one each cell has."""
    names = list(dict.fromkeys(name for term in terms for name in term))
    codes, first = combinations([effects[name] for name in names], n)
    distinct = {name: effects[name].take(first) for name in names}
    return code_columns(terms, distinct, len(first), intercept=intercept), codes


def _random_terms(formula: MixedFormula, cells: _Cells) -> tuple[tuple[RandomTerm, ...], list[str]]:
    terms: list[RandomTerm] = []
    warnings: list[str] = []
    for part in formula.random:
        term, found = _random_term(part, cells)
        terms.append(term)
        warnings += found
    return tuple(terms), warnings


def _random_term(part: RandomPart, cells: _Cells) -> tuple[RandomTerm, list[str]]:
    n = len(cells.count)
    coded, codes = _coded_once(part.effects, cells.effects, n, intercept=part.intercept)
    used, warnings = used_slopes(coded.matrix, coded.names, part.group_name)
    parts = [cells.groups[name] for name in part.group]
    level, first = combinations(parts, n)
    levels = tuple(":".join(factor.levels[factor.codes[row]] for factor in parts) for row in first)
    term = RandomTerm(
        group=part.group_name,
        columns=tuple(coded.names[at] for at in used),
        levels=levels,
        level=level,
        values=np.ascontiguousarray(coded.matrix[:, used])[codes],
    )
    return term, warnings


def _cells_frame(cells: _Cells) -> pl.DataFrame:
    columns: dict[str, pl.Series] = {}
    for name, column in {**cells.groups, **cells.effects}.items():
        if isinstance(column, Factor):
            columns[name] = pl.Series(name, column.levels, dtype=pl.String).gather(column.codes)
        else:
            columns[name] = pl.Series(name, column.values)
    return pl.DataFrame(columns)


def _places(columns: Ints) -> list[int]:
    return [int(at) for at in columns]


def _coding_notes(factors: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Say what the levels of each factor are compared with."""
    if not factors:
        return []
    references = ", ".join(f"{name} = {levels[0]}" for name, levels in factors.items())
    return [f"fixed effects of factors are differences from the reference levels {references}"]
