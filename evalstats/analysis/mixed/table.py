"""What a table or a model must not be, in words; and what a reader of the result should know."""

import difflib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import polars as pl
from scipy.special import gammaln

from evalstats.analysis.mixed.formula import MixedFormula, Response, Term, term_name
from evalstats.errors import InputError
from evalstats.grammar import comma_list, plural
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.in_memory import as_polars
from evalstats.stats.mixed.design import Family, Floats, Ints

_LISTED = 4
_MOST_CELLS = 1_000_000

EmptyCell = tuple[tuple[str, str], ...]  # (factor, level) of each factor of a product


_KEY_ROOM = 2**62
# Shares are often stored rounded to a few digits: share x trials may miss a whole number by this much.
_WHOLE = 1e-4


@record
class Factor:
    """A column of levels: `codes`, int64, shape (n,), count from 0 in the order of `levels`."""

    name: str
    levels: tuple[str, ...]
    codes: Ints

    def take(self, at: Ints) -> "Factor":
        """Return the rows at the given places."""
        return replace(self, codes=self.codes[at])

    def key(self) -> tuple[Ints, int]:
        """Codes and how many there can be."""
        return self.codes, len(self.levels)


@record
class Covariate:
    """A column of numbers: `values`, float64, shape (n,)."""

    name: str
    values: Floats

    def take(self, at: Ints) -> "Covariate":
        """Return the rows at the given places."""
        return replace(self, values=self.values[at])

    def key(self) -> tuple[Ints, int]:
        """Codes of the distinct values in their order, and how many there are."""
        distinct, codes = np.unique(self.values, return_inverse=True)
        return codes.astype(np.int64), len(distinct)


Column = Factor | Covariate


def read_factor(series: pl.Series, name: str, order: Sequence[str] | None = None) -> Factor:
    """Return a column without nulls as levels.

    Levels stand in the order given; else in that of an Enum; else numbers by size and text by the alphabet. A level that no
    row has is left out.

    >>> read_factor(pl.Series([10, 9, 10]), "day").levels
    ('9', '10')
    >>> read_factor(pl.Series(["b", "a"]), "model", ["b", "a"]).codes
    array([0, 1])
    """
    if series.dtype.is_nested():
        raise InputError(f"column {name!r} holds several values a row ({series.dtype}); a factor has one level a row")
    if series.dtype.is_numeric():
        values, inverse = np.unique(series.to_numpy(), return_inverse=True)
        levels = [str(int(v)) if math.isfinite(v) and v == int(v) else repr(v) for v in values.tolist()]
        codes = inverse.astype(np.int64)
    else:
        text = series.cast(pl.String)
        present = text.unique()
        if isinstance(series.dtype, pl.Enum):
            here = set(present.to_list())
            levels = [level for level in series.dtype.categories.to_list() if level in here]
        else:
            levels = present.sort().to_list()
        codes = text.cast(pl.Enum(levels)).to_physical().to_numpy().astype(np.int64)
    if order is not None:
        named = [str(level) for level in order]
        if len(set(named)) < len(named):
            raise InputError(f"levels of {name!r} name a level twice; name each once")
        left_out = [level for level in levels if level not in set(named)]
        if left_out:
            raise InputError(
                f"levels of {name!r} lack {', '.join(repr(level) for level in left_out[:5])}, which the table has; "
                "name every level, or filter the table first"
            )
        wanted = [level for level in named if level in set(levels)]
        place = {level: at for at, level in enumerate(wanted)}
        codes = np.array([place[level] for level in levels], dtype=np.int64)[codes]
        levels = wanted
    return Factor(name=name, levels=tuple(levels), codes=codes)


def read_covariate(series: pl.Series, name: str) -> Covariate:
    """Return a column of finite numbers."""
    values = series.cast(pl.Float64).to_numpy().astype(np.float64)
    infinite = int(np.count_nonzero(np.isinf(values)))
    if infinite:
        raise InputError(f"column {name!r} holds {infinite} infinite values; leave those rows out or make them null")
    return Covariate(name=name, values=values)


def combinations(columns: Sequence[Column], n: int) -> tuple[Ints, Ints]:
    """Count the distinct combinations of columns off, sorted by the first column, then the second, and so on.

    Returns the combination of each row, from 0, shape (n,), and a row that has each, shape (n_combinations,).

    >>> model = Factor(name="model", levels=("a", "b"), codes=np.array([1, 0, 1]))
    >>> combinations([model], 3)
    (array([1, 0, 1]), array([1, 0]))
    """
    key = np.zeros(n, dtype=np.int64)
    room = 1
    for column in columns:
        codes, size = column.key()
        if room * max(size, 1) > _KEY_ROOM:
            distinct, key = np.unique(key, return_inverse=True)
            room = len(distinct)
        key = key * size + codes
        room *= max(size, 1)
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    return codes.astype(np.int64), first.astype(np.int64)


def zero_one_warnings(value: Floats, within: float, column: str, count: Floats) -> list[str]:
    """Warn of a linear model of 0 and 1."""
    # Rows of 0 and 1 have no spread beyond what their means say: sum of y^2 = sum of y.
    squares = float(count @ value**2) + within
    in_range = value.min() >= 0.0 and value.max() <= 1.0
    if in_range and squares > 0.0 and abs(squares - float(count @ value)) <= 1e-9 * squares:
        said = f"every value of {column} is 0 or 1, and a linear model takes its noise for normal with one variance; "
        return [said + "family='binomial' fits such data"]
    return []


def empty_cells(terms: Sequence[Term], factors: Mapping[str, Factor], n: int) -> tuple[EmptyCell, ...]:
    """Return the combinations of the levels of interacting factors that no row has.

    A combination is listed once, for the smallest product that lacks it.
    """
    found: list[EmptyCell] = []
    for term in terms:
        parts = [factors[name] for name in term if name in factors]
        size = math.prod(len(part.levels) for part in parts)
        if len(parts) < 2 or size > _MOST_CELLS:
            continue
        _, first = combinations(parts, n)
        if len(first) == size:
            continue
        there = {tuple(int(part.codes[row]) for part in parts) for row in first}
        for levels in itertools.product(*(range(len(part.levels)) for part in parts)):
            if levels not in there:
                cell = tuple((part.name, part.levels[level]) for part, level in zip(parts, levels, strict=True))
                if not any(set(smaller) <= set(cell) for smaller in found if len(smaller) < len(cell)):
                    found.append(cell)
    return tuple(dict.fromkeys(found))


def empty_cell_warnings(cells: Sequence[EmptyCell]) -> list[str]:
    """Name the empty cells."""
    if not cells:
        return []
    shown = comma_list((", ".join(f"{factor} = {level}" for factor, level in cell) for cell in cells), _LISTED, "; ")
    have = "combination of levels has" if len(cells) == 1 else "combinations of levels have"
    return [f"{len(cells):,} {have} no rows ({shown}): their effects and means are not given"]


def dropped_warnings(
    terms: Sequence[Term],
    names: Sequence[str],
    term_of: Sequence[int],
    dropped: Sequence[int],
    empty: Sequence[EmptyCell],
) -> list[str]:
    """Warn of columns that are combinations of others; raise InputError where a whole term is one.

    `terms` are those that `term_of` counts. An interaction that empty cells leave nothing of is only warned of.
    """
    lost = set(dropped)
    for at, term in enumerate(terms):
        own = [column for column, of in enumerate(term_of) if of == at]
        if not own or not lost.issuperset(own):
            continue
        if any({name for name, _ in cell} <= set(term) for cell in empty):
            continue
        raise InputError(
            f"{term_name(term)} cannot be told apart from the terms before it: it is a combination of them (the same column "
            "under two names, or a factor whose levels another one determines); leave one of them out"
        )
    if len(dropped) <= len(empty):
        return []  # the warning of empty cells says it
    shown = comma_list((names[column] for column in dropped), _LISTED)
    why = "a combination of the others, so the data cannot tell it apart; means that need it are not given"
    return [f"{plural(len(dropped), 'fixed effect')} dropped ({shown}), each {why}"]


def used_slopes(values: Floats, names: Sequence[str], group: str) -> tuple[list[int], list[str]]:
    """Return the slopes that are not 0 throughout, and a warning that names the others."""
    some = np.any(values != 0.0, axis=0)
    gone = [name for name, kept in zip(names, some, strict=True) if not kept]
    warning = f"the random effects {comma_list(gone, _LISTED)} by {group} stand for no rows and are dropped"
    return np.flatnonzero(some).tolist(), [warning] if gone else []


@record
class ResponseRows:
    """What is known of each row: `value` is its mean, `count` the rows (binomial: trials) behind it, `within` their spread.

    All are float64, shape (n_rows,); `within` is the sum of squared deviations of a row's own rows from its mean.
    """

    value: Floats
    count: Floats
    within: Floats

    def log_binomials(self) -> float:
        """Sum of the logarithms of the binomial coefficients of the rows."""
        n, k = self.count, np.rint(self.value * self.count)
        return float((gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)).sum())


@record
class ResponseColumns:
    """Which columns hold the response, as the user named them."""

    response: Response
    family: Family
    count: str | None = None
    within: str | None = None

    def __post_init__(self) -> None:
        """Check that the columns named go together."""
        response, given = self.response, self.response.failures or self.response.total
        if self.family not in ("gaussian", "binomial"):
            raise InputError(f"family is {self.family!r}; it is 'gaussian' (a linear model) or 'binomial' (successes)")
        if self.family == "gaussian":
            if given is not None:
                raise InputError("successes are given to a linear model; pass family='binomial'")
            if (self.count is None) != (self.within is None):
                raise InputError(
                    "a linear model of means needs both count= (rows behind each mean) and within= (their sum of squared "
                    "deviations from it); for unaggregated rows give neither"
                )
            return
        if self.within is not None:
            raise InputError("within= is for linear models; a binomial one needs count= only")
        if given is not None and self.count is not None:
            raise InputError(f"{response} already names successes and trials; leave out count=")

    def named(self) -> dict[str, str]:
        """Columns that are read, each with its part."""
        parts = {
            self.response.column: "the response",
            self.response.failures: "failures",
            self.response.total: "the total",
            self.count: "count=",
            self.within: "within=",
        }
        return {name: part for name, part in parts.items() if name is not None}

    def read(self, frame: pl.DataFrame) -> ResponseRows:
        """Return the response of rows without nulls."""
        column, failures, total = self.response.column, self.response.failures, self.response.total
        if self.family == "binomial":
            if failures is not None:
                good = _numbers(frame, column)
                return _shares(good, good + _numbers(frame, failures), str(self.response))
            if total is not None:
                return _shares(_numbers(frame, column), _numbers(frame, total), str(self.response))
            share = _numbers(frame, column)
            _check_share(share, column, counted=self.count is not None)
            trials = np.ones(len(share)) if self.count is None else _numbers(frame, self.count)
            return _shares(share * trials, trials, column)
        value = _numbers(frame, column)
        if self.count is None or self.within is None:
            return ResponseRows(value=value, count=np.ones(len(value)), within=np.zeros(len(value)))
        count, within = _numbers(frame, self.count), _numbers(frame, self.within)
        _check_whole(count, self.count)
        if bool(np.any(within < 0.0)):
            raise InputError(f"{self.within!r} holds negative numbers; a sum of squared deviations is 0 or more")
        alone = int(np.count_nonzero((count == 1.0) & (within > 0.0)))
        if alone:
            raise InputError(f"{self.within!r} is above 0 in {alone} rows with a count of 1; one value has no spread")
        return ResponseRows(value=value, count=count, within=within)


def _shares(successes: Floats, trials: Floats, what: str) -> ResponseRows:
    _check_whole(trials, "the trials")
    whole = np.rint(successes)
    off = np.abs(successes - whole) > _WHOLE * np.maximum(trials, 1.0)
    if bool(np.any(off)):
        at = int(np.argmax(off))
        raise InputError(
            f"{what!r} gives {successes[at]:g} successes in {trials[at]:g} trials in {int(off.sum())} rows; successes are whole "
            "numbers: name the column of trials in count=, or fit a linear model where the score is a grade"
        )
    outside = (whole < 0.0) | (whole > trials)
    if bool(np.any(outside)):
        at = int(np.argmax(outside))
        raise InputError(
            f"{what!r} gives {whole[at]:g} successes in {trials[at]:g} trials; there can be 0 to {trials[at]:g}"
        )
    share = np.divide(whole, trials, out=np.zeros_like(whole), where=trials > 0.0)
    return ResponseRows(value=share, count=trials, within=np.zeros(len(whole)))


def _check_share(share: Floats, column: str, *, counted: bool) -> None:
    outside = (share < 0.0) | (share > 1.0)
    if not bool(np.any(outside)):
        return
    hint = (
        f"for counts of successes write cbind({column}, total - {column})"
        if bool(np.all(share >= 0.0))
        else "a binomial model explains shares of successes"
    )
    needed = "a share" if counted else "0 or 1 (or a share, with its trials in count=)"
    raise InputError(
        f"{column!r} holds {share[int(np.argmax(outside))]:g} ({int(outside.sum())} values outside [0, 1]), and {needed} is "
        f"needed; {hint}"
    )


def _check_whole(count: Floats, what: str) -> None:
    wrong = (count < 0.0) | (count != np.rint(count))
    if bool(np.any(wrong)):
        raise InputError(f"{what!r} holds {count[int(np.argmax(wrong))]:g}; counts are whole numbers of 0 or more")


def _numbers(frame: pl.DataFrame, name: str) -> Floats:
    series = frame[name]
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        shown = ", ".join(repr(value) for value in series.unique(maintain_order=True).head(3).to_list())
        raise InputError(f"column {name!r} holds {series.dtype} ({shown}), and numbers are needed; convert it first")
    values = series.cast(pl.Float64).to_numpy().astype(np.float64)
    if bool(np.any(np.isinf(values))):
        raise InputError(f"column {name!r} holds infinite values; leave those rows out or make them null")
    return values


@record
class MergedTable:
    """Cells: complete rows that share every column of a formula, with columns of effects (levels or numbers) and groupings.

    `count` and `mean` of the response have a number for each cell, `within` is the sum of squares inside all of them.
    `log_binomials` is that of the rows; `n_dropped` counts rows that were left out, by reason.
    """

    effects: Mapping[str, Column]
    groups: Mapping[str, Factor]
    count: Floats
    mean: Floats
    within: float
    log_binomials: float
    n_given: int
    n_dropped: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows, or trials, behind the cells."""
        return round(float(self.count.sum()))


def read_table(
    frame: object, formula: MixedFormula, named: ResponseColumns, levels: Mapping[str, Sequence[str]]
) -> MergedTable:
    """Read the columns of a formula, leave out rows that lack a value, and merge the others to cells.

    Rows are added up in the order of their values, so that the order of the table leaves no trace, not even in rounding.
    """
    table, notes = _table(frame, formula, named, levels)
    used, n_dropped = _complete(table, formula, named)
    rows = named.read(used)
    some = rows.count > 0.0
    if not bool(np.all(some)):
        n_dropped["no trials"] = int(np.count_nonzero(~some))
        used = used.filter(pl.Series(some))
        rows = ResponseRows(value=rows.value[some], count=rows.count[some], within=rows.within[some])
    if used.height == 0:
        raise InputError(f"none of {plural(table.height, 'row')} has a response and every column of the formula")
    effects, groups = _read_columns(used, formula, levels)
    cells, first = combinations([*effects.values(), *groups.values()], used.height)
    order = np.lexsort((rows.within, rows.count, rows.value, cells))
    start = np.searchsorted(cells[order], np.arange(len(first)))
    value, weight = rows.value[order], rows.count[order]
    count = np.add.reduceat(weight, start)
    mean = np.add.reduceat(weight * value, start) / count
    spread = weight * (value - np.repeat(mean, np.diff([*start, len(order)]))) ** 2 + rows.within[order]
    binomial = named.family == "binomial"
    return MergedTable(
        effects={name: column.take(first) for name, column in effects.items()},
        groups={name: column.take(first) for name, column in groups.items()},
        count=count,
        mean=mean,
        within=0.0 if binomial else float(np.add.reduceat(spread, start).sum()),
        log_binomials=rows.log_binomials() if binomial else 0.0,
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
    if isinstance(frame, EvalData):
        table = _outcomes(frame, wanted, notes)
    elif isinstance(frame, Mapping):
        # Lists of a dict may mix whole and other numbers.
        table = pl.DataFrame(cast("Mapping[str, Sequence[Any]]", frame), strict=False)
    else:
        table = as_polars(frame)
    for name, role in wanted.items():
        if name not in table.columns:
            near = difflib.get_close_matches(name, table.columns, n=2, cutoff=0.6)
            shown = comma_list(map(repr, table.columns), 15)
            hint = f"did you mean {' or '.join(repr(each) for each in near)}?" if near else f"it has {shown}"
            raise InputError(f"the table has no column {name!r} ({role}); {hint}")
    for name in levels:
        if name not in wanted:
            raise InputError(f"levels= names {name!r}, which is not in the formula; it has {', '.join(wanted)}")
    if table.height == 0:
        raise InputError("the table has no rows")
    return table.select(list(wanted)), notes


def _outcomes(data: EvalData, wanted: Mapping[str, str], notes: list[str]) -> pl.DataFrame:
    """Return the outcomes of one metric, with the sources' own names of the columns that are wanted."""
    data.need_rows("a model of your own formula")
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
        missing = table[name].is_null()
        if table.schema[name].is_float():
            missing |= table[name].is_nan().fill_null(value=False)
        missing &= complete
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
    for name in formula.fixed_columns:
        factor = effects[name]
        if isinstance(factor, Factor) and len(factor.levels) == 1:
            raise InputError(
                f"factor {name!r} has one level ({factor.levels[0]!r}) in the rows that are used, so it has no effect to "
                "estimate; leave it out of the formula"
            )
    return effects, groups
