"""From a table and a formula to the cells a mixed model is fitted to."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.linalg import qr

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
    Column,
    Covariate,
    Factor,
    MergedTable,
    ResponseColumns,
    combinations,
    dropped_warnings,
    empty_cell_warnings,
    empty_cells,
    read_covariate,
    read_table,
    used_slopes,
    zero_one_warnings,
)
from evalstats.errors import InputError
from evalstats.grammar import comma_list, plural
from evalstats.record import record
from evalstats.stats.mixed.design import Family, Floats, Ints, MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import Distinct, distinct_rows

_MOST_COLUMNS = 5000
_MOST_NUMBERS = 200_000_000
INTERCEPT_NAME = "(Intercept)"


Bools = npt.NDArray[np.bool_]

# R's tolerance (qr.default, lme4): a column is dropped where less than this share of its length is not explained by others.
TOLERANCE = 1e-7


@record
class Coded:
    """Columns of a design: `matrix`, float64, shape (n, n_columns); `term_of` gives the place of each column's term."""

    matrix: Floats
    names: tuple[str, ...]
    term_of: tuple[int, ...]


def code_columns(terms: Sequence[Term], columns: Mapping[str, Column], n: int, *, intercept: bool) -> Coded:
    """Code products of columns, the intercept first.

    Factors are coded by treatment: the first level is the reference, `model[b]` is b minus it. A factor whose lower-order
    margin is not in the model gets a column for each level, so that the columns span the same space as in R (Chambers & Hastie
    1992, Statistical Models in S, section 2.4).

    >>> model = Factor(name="model", levels=("a", "b"), codes=np.array([0, 1, 1]))
    >>> coded = code_columns([("model",)], {"model": model}, 3, intercept=True)
    >>> coded.names, coded.matrix[:, 1]
    (('(Intercept)', 'model[b]'), array([0., 1., 1.]))
    """
    _check_size(terms, columns, n)
    matrix: list[Floats] = []
    names: list[str] = []
    term_of: list[int] = []
    spanned: set[frozenset[_Part]] = set()
    for at, term in enumerate([INTERCEPT, *terms] if intercept or not terms else terms):
        choices = [((name, False), None) if isinstance(columns[name], Factor) else ((name, True),) for name in term]
        span = [tuple(part for part in parts if part is not None) for parts in itertools.product(*choices)]
        # What the terms before leave: each factor without its reference, or, of a margin that is not there, with it.
        for parts in _merged([parts for parts in span if frozenset(parts) not in spanned]):
            coded: list[tuple[tuple[str, ...], Floats]] = [((), np.ones(n))]
            for part in parts:
                coded = [
                    ((*before, name), product * values)
                    for name, values in _coded(part, columns)
                    for before, product in coded
                ]
            matrix += [values for _, values in coded]
            names += [":".join(parts) or INTERCEPT_NAME for parts, _ in coded]
            term_of += [at] * len(coded)
        spanned.update(map(frozenset, span))
    return Coded(
        matrix=np.column_stack(matrix) if matrix else np.empty((n, 0)), names=tuple(names), term_of=tuple(term_of)
    )


# A factor or covariate of a product, and whether its reference has a column, too.
_Part = tuple[str, bool]


def _coded(part: _Part, columns: Mapping[str, Column]) -> list[tuple[str, Floats]]:
    """Return the columns of one factor or covariate, with their names."""
    column, whole = columns[part[0]], part[1]
    if isinstance(column, Covariate):
        return [(column.name, column.values)]
    return [
        (f"{column.name}[{level}]", (column.codes == code).astype(np.float64))
        for code, level in enumerate(column.levels)
        if whole or code
    ]


def _merged(products: Iterable[tuple[_Part, ...]]) -> list[tuple[_Part, ...]]:
    """Return the fewest products that span the same: a:b without references and a alone are a:b with those of b."""
    kept: list[tuple[_Part, ...]] = []
    for parts in sorted(products, key=len):
        for other in kept:
            more = set(parts) - set(other)
            if len(parts) == len(other) + 1 and len(more) == 1:
                (new,) = more
                whole = tuple((name, full or (name, full) == new) for name, full in parts)
                kept = _merged([*(each for each in kept if each != other), whole])
                break
        else:
            kept.append(parts)
    return kept


def _check_size(terms: Sequence[Term], columns: Mapping[str, Column], n: int) -> None:
    for term in terms:
        size = 1
        for name in term:
            column = columns[name]
            size *= len(column.levels) if isinstance(column, Factor) else 1
        if size > _MOST_COLUMNS or size * n > _MOST_NUMBERS:
            raise InputError(
                f"the term {term_name(term)} would need {size:,} columns for {n:,} distinct rows; at most {_MOST_COLUMNS:,} "
                f"columns and {_MOST_NUMBERS:,} numbers are made: let a factor of many levels be random, (1 | {term[-1]})"
            )


@record
class KeptColumns:
    """Columns of a design that are kept, and what the others are made of.

    `columns` and `dropped` are int64 places; a dropped column is the kept ones times its column of `alias`, float64, shape
    (n_kept, n_dropped).
    """

    columns: Ints
    dropped: Ints
    alias: Floats

    def estimable(self, rows: Floats) -> Bools:
        """Whether the data determine each linear combination; `rows` has all columns, shape (n, n_columns).

        A combination is estimable where it gives the same value for every solution: it must treat a dropped column as it
        treats the columns this one is made of.
        """
        expected = rows[:, self.columns] @ self.alias
        size = np.abs(rows[:, self.columns]) @ np.abs(self.alias) + np.abs(rows[:, self.dropped]) + 1.0
        off = np.abs(rows[:, self.dropped] - expected) > 1e-6 * size
        return np.logical_not(off.any(axis=1))


def independent_columns(matrix: Floats) -> KeptColumns:
    """Keep columns from left to right that are no combination of those before, as R does.

    >>> kept = independent_columns(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]))
    >>> kept.columns, kept.dropped
    (array([0, 2]), array([1]))
    """
    n, p = matrix.shape
    length = np.sqrt((matrix**2).sum(axis=0))
    scaled = matrix / np.where(length > 0.0, length, 1.0)
    if n >= p and bool(np.all(length > 0.0)):
        (triangle,) = qr(scaled, mode="r")
        if bool(np.all(np.abs(np.diag(triangle)) > TOLERANCE)):
            return KeptColumns(
                columns=np.arange(p, dtype=np.int64), dropped=np.empty(0, dtype=np.int64), alias=np.empty((p, 0))
            )
    basis = np.empty((n, min(n, p)))
    kept: list[int] = []
    for column in range(p):
        rest = scaled[:, column].copy()
        for _ in range(2):  # once more, since one pass loses digits where columns nearly agree
            rest -= basis[:, : len(kept)] @ (basis[:, : len(kept)].T @ rest)
        size = float(np.sqrt(rest @ rest))
        if size > TOLERANCE and len(kept) < n:
            basis[:, len(kept)] = rest / size
            kept.append(column)
    columns = np.array(kept, dtype=np.int64)
    dropped = np.setdiff1d(np.arange(p, dtype=np.int64), columns)
    alias = np.linalg.lstsq(scaled[:, columns], matrix[:, dropped])[0] / length[columns, None]
    return KeptColumns(columns=columns, dropped=dropped, alias=alias)


@record
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
    columns, kept
        Names of all columns of the fixed part, those that were dropped included; which of them are in `design.fixed`.
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
    kept: KeptColumns
    n_given: int
    n_dropped: Mapping[str, int]
    cells: pl.DataFrame
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def all_rows(self, grid: pl.DataFrame) -> Floats:
        """Return the fixed part of every row of a grid, dropped columns included, shape (n_grid, n_columns).

        The grid has a column of levels for each factor of the fixed part; a covariate it lacks stands at its mean.
        """
        columns = self._grid_columns(grid)
        return code_columns(self.formula.fixed, columns, grid.height, intercept=self.formula.intercept).matrix

    def slope_rows(self, grid: pl.DataFrame) -> list[Floats]:
        """Return what the effects of each random term are multiplied by in every row of a grid, shape (n_grid, n_columns)."""
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
                if name not in grid.columns:
                    raise InputError(f"the grid has no column {name!r}; give a level of {', '.join(levels[:5])}")
                place = {level: at for at, level in enumerate(levels)}
                labels = [str(value) for value in grid[name].to_list()]
                unknown = sorted({label for label in labels if label not in place})
                if unknown:
                    raise InputError(f"{name!r} has no level {unknown[0]!r}; it has {comma_list(levels, 12)}")
                codes = np.array([place[label] for label in labels], dtype=np.int64)
                columns[name] = Factor(name=name, levels=levels, codes=codes)
            elif name in grid.columns:
                columns[name] = read_covariate(grid[name], name)
            else:
                columns[name] = Covariate(name=name, values=np.full(grid.height, self.covariates[name]))
        return columns

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
    levels: Mapping[str, Sequence[str]] | None = None,
    random: bool = True,
) -> ModelFrame:
    """Read a table by a formula (lme4's notation; see `parse_formula`) and merge its rows to cells.

    Rows with the same value in every column of the formula are one cell with their number, mean and sum of squares. This
    loses nothing that a mixed model uses, and makes the cost of a fit independent of the number of trials. Rows with a null
    or NaN in a column that is used are left out, and counted.

    Text, categories and truth values are factors; numbers are covariates unless they stand in C(). Levels stand in the order
    of `levels`, else of the Enum or the ordered categories that the column is, else numbers by size and text by the alphabet;
    the first level is the reference of the treatment coding.

    `frame` is a pandas, Polars, pyarrow or DuckDB table, a dict of columns, or `EvalData`, of which the outcomes are used. The
    binomial family takes 0/1, a share with its trials in the column `count`, or `cbind(successes, failures)`. A linear model of
    means takes the columns of rows behind each mean (`count`) and of the sum of squared deviations of those rows from it
    (`within`). `random`: a formula without random part is refused.

    >>> table = {"score": [1, 0, 1, 1, 0, 0], "model": list("aabbab"), "item": ["i", "j", "i", "j", "i", "j"]}
    >>> made = model_frame(table, "score ~ model + (1 | item)", family="binomial")
    >>> made.design.n_cells, made.design.n_rows, made.factors, made.design.fixed_names
    (4, 6, {'model': ('a', 'b')}, ('(Intercept)', 'model[b]'))
    """
    parsed = parse_formula(formula) if isinstance(formula, str) else formula
    if random and not parsed.random:
        raise InputError(
            f"the formula '{parsed}' has no random part, and a mixed model needs a grouping whose levels are a sample; add one, "
            "such as (1 | item)"
        )
    if not parsed.intercept and not parsed.fixed:
        raise InputError(f"the formula '{parsed}' has no fixed effect; write 1 for an intercept")
    named = ResponseColumns(response=parsed.response, family=family, count=count, within=within)
    cells = read_table(frame, parsed, named, levels or {})
    coded, fixed, kept, of_fixed = _fixed(parsed, cells.effects, len(cells.count))
    made = [_random_term(part, cells) for part in parsed.random]
    terms = tuple(term for term, _ in made)
    lost = ", ".join(f"{reason}: {n:,}" for reason, n in cells.n_dropped.items())
    of_rows = f"{sum(cells.n_dropped.values()):,} of {plural(cells.n_given, 'row')} dropped ({lost})"
    warnings = [
        *([of_rows] if cells.n_dropped else []),
        *(
            zero_one_warnings(cells.mean, cells.within, str(parsed.response), cells.count)
            if family == "gaussian"
            else ()
        ),
        *of_fixed,
        *(text for _, found in made for text in found),
    ]
    n_fixed = fixed.n_columns
    if n_fixed >= cells.n_rows:
        raise InputError(
            f"there are {plural(n_fixed, 'fixed effect')} for {plural(cells.n_rows, 'row')}; leave terms out"
        )
    design = MixedDesign(
        fixed=fixed,
        fixed_names=tuple(coded.names[int(at)] for at in kept.columns),
        terms=terms,
        count=cells.count,
        response=cells.mean,
        within=cells.within,
        log_constant=cells.log_binomials,
    )
    in_fixed = {name: cells.effects[name] for name in parsed.fixed_columns}
    factors = {name: column.levels for name, column in in_fixed.items() if isinstance(column, Factor)}
    references = ", ".join(f"{name} = {levels[0]}" for name, levels in factors.items())
    coding = f"Fixed effects of factors are differences from the reference levels {references}"
    place = {column: at for at, column in enumerate(kept.columns.tolist())}
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
        terms={
            term_name(term): tuple(place[c] for c, of in enumerate(coded.term_of) if of == at and c in place)
            for at, term in enumerate(_with_intercept(parsed))
        },
        columns=coded.names,
        kept=kept,
        n_given=cells.n_given,
        n_dropped=cells.n_dropped,
        cells=pl.DataFrame(
            [
                pl.Series(name, column.levels, dtype=pl.String).gather(column.codes)
                if isinstance(column, Factor)
                else pl.Series(name, column.values)
                for name, column in {**cells.groups, **cells.effects}.items()
            ]
        ),
        warnings=tuple(dict.fromkeys(warnings)),
        notes=(*cells.notes, *((coding,) if factors else ())),
    )


def _with_intercept(formula: MixedFormula) -> list[Term]:
    return [INTERCEPT, *formula.fixed] if formula.intercept else list(formula.fixed)


def _fixed(
    formula: MixedFormula, effects: Mapping[str, Column], n: int
) -> tuple[Coded, Distinct, KeptColumns, list[str]]:
    """Code the fixed part on its distinct rows, and leave out what cannot be told apart."""
    coded, codes = _coded_once(formula.fixed, effects, n, intercept=formula.intercept)
    kept = independent_columns(coded.matrix)
    factors = {name: column for name, column in effects.items() if isinstance(column, Factor)}
    empty = empty_cells(formula.fixed, factors, n)
    warnings = empty_cell_warnings(empty) + dropped_warnings(
        _with_intercept(formula), coded.names, coded.term_of, kept.dropped.tolist(), empty
    )
    return coded, distinct_rows(coded.matrix[:, kept.columns], codes), kept, warnings


def _coded_once(terms: Sequence[Term], effects: Mapping[str, Column], n: int, *, intercept: bool) -> tuple[Coded, Ints]:
    """Code the distinct rows of the columns that terms use; the second tells which one each cell has."""
    names = columns_of(terms)
    codes, first = combinations([effects[name] for name in names], n)
    distinct = {name: effects[name].take(first) for name in names}
    return code_columns(terms, distinct, len(first), intercept=intercept), codes


def _random_term(part: RandomPart, cells: MergedTable) -> tuple[RandomTerm, list[str]]:
    n = len(cells.count)
    coded, codes = _coded_once(part.effects, cells.effects, n, intercept=part.intercept)
    used, warnings = used_slopes(coded.matrix, coded.names, part.group_name)
    parts = [cells.groups[name] for name in part.group]
    level, first = combinations(parts, n)
    term = RandomTerm(
        group=part.group_name,
        columns=tuple(coded.names[at] for at in used),
        levels=tuple(":".join(factor.levels[factor.codes[row]] for factor in parts) for row in first),
        level=level,
        values=np.ascontiguousarray(coded.matrix[:, used])[codes],
    )
    return term, warnings
