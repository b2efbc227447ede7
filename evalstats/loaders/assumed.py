"""Formats whose result files nobody has published: the columns that are assumed, or that a column map names instead.

A form says which columns there are and what they mean, `bind_form` finds them in a table, and `assumed_rows` reads it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Head, read_head
from evalstats.loaders.blocks import MAX_FACTOR_CHARS, Block, Survey, open_table, safe_name, surveyed
from evalstats.loaders.cells import Places, factor_of, failures_of, read_standard, text_of, without_points
from evalstats.loaders.column_map import ORDER, ROW, ColumnMap, column_named
from evalstats.schema.columns import OUTCOMES, Column

SHAPES: Final = frozenset({"text", "lines", "array", "parquet"})
# Glossary columns that a file may hold under their own names, beside the columns of its form.
_KEPT: Final = (
    *("trial", "n_trials", "weight", "setting", "user_kind", "tags", "judge", "user", "session", "n_turns"),
    *("cost_usd", "latency_s", "input_tokens", "output_tokens", "timestamp"),
)
KEPT: Final[Mapping[str, Column]] = {column.name: column for column in OUTCOMES if column.name in _KEPT}

_GLOSSARY: Final = frozenset(column.name for column in OUTCOMES)
_SHOWN_COLUMNS = 30
_MAX_FACTORS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column of a form: its name and what it holds.

    `also` are standard names that a column map may call it by. A `needed` column must be there; one that may be the same
    on all rows (`constant`) can be given as `name=@value`.
    """

    name: str
    meaning: str
    also: tuple[str, ...] = ()
    needed: bool = False
    constant: bool = False


# What every form has.
SHARED: Final = (
    Field(name="run", meaning="name of the run, where a file holds several of one system", constant=True),
    Field(name="error", meaning="why there is no answer; the row's scores are then errors"),
    Field(name="judge_error", meaning="why the judge failed; the row is then unscored"),
    Field(name="score_min", meaning="lowest score of the scale, the same in all rows"),
    Field(name="score_max", meaning="highest score of the scale, the same in all rows"),
    Field(name="simulated", meaning="where the row is simulated: by what", constant=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The columns that the results of a benchmark are assumed to have.

    `loader` is the name of the format in the command line; `made` are factors that the rows get besides; `choice` is what
    else was decided that the benchmark leaves open.
    """

    benchmark: str
    loader: str
    fields: tuple[Field, ...]
    made: tuple[str, ...] = ()
    choice: str = ""

    def called(self, name: str) -> Field | None:
        """Return the field of that name."""
        return next((each for each in self.fields if each.name == name), None)

    def meant(self, name: str) -> Field | None:
        """Return the field that a column map means by a name: its own, or the standard name it stands for."""
        return self.called(name) or next((each for each in self.fields if name in each.also), None)

    def how_to_map(self, option: str) -> str:
        """Say how a column map is given to this format.

        >>> Form(benchmark="HarmAmp", loader="harmamp", fields=()).how_to_map("label=kind")
        '--input-format harmamp --map label=kind'
        """
        return f"--input-format {self.loader} --map {option}"

    @property
    def note(self) -> str:
        """What every run that was read must say of its format."""
        chosen = f"; {self.choice}" if self.choice else ""
        return (
            f"{self.benchmark} publishes no format of results: columns are as evalstats assumes, or as mapped{chosen}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A form applied to a table: its fields, columns of the glossary and factors, each with its column in the table.

    `constants` hold the one value of a field, a column of the glossary or a factor; `dependence` are columns of the
    outcomes whose levels make rows dependent, as the map says.
    """

    fields: Mapping[str, str]
    kept: Mapping[str, str]
    factors: Mapping[str, str]
    constants: Mapping[str, str]
    trial_from_order: bool
    n_left_out: int
    dependence: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Whether a field has a column, or one value for all rows."""
        return name in self.fields or name in self.constants


def looks_like(head: Head, needed: frozenset[str], some: frozenset[str]) -> bool:
    """Whether a file is a table that has all of the needed columns and at least one of some others."""
    names = frozenset(head.columns) or head.keys
    return head.shape in SHAPES and names >= needed and bool(names & some)


def bind_form(form: Form, map_: ColumnMap, columns: Sequence[str]) -> Bound:
    """Find the columns of a form: those that the map names, then those that are called as the form calls them.

    Every other column is a factor.

    >>> plan = Field(name="plan", meaning="the plan", also=("item",), needed=True)
    >>> form = Form(benchmark="b", loader="b", fields=(plan,))
    >>> bound = bind_form(form, ColumnMap.from_options(["item=id"]), ["id", "size"])
    >>> bound.fields, bound.factors
    ({'plan': 'id'}, {'size': 'size'})
    """
    fields: dict[str, str] = {}
    kept: dict[str, str] = {}
    factors: dict[str, str] = {}
    by_order = map_.columns.get("trial") == (ORDER,)
    for name, sources in map_.columns.items():
        known = form.meant(name)
        if by_order and name == "trial":
            continue
        if known is not None and known.name in fields:
            raise InputError(f"{known.name} is mapped twice, as {name} too; give one column for it")
        target = fields if known is not None else kept if name in KEPT else factors
        if target is factors:
            _refuse_strange(form, name)
        target[known.name if known is not None else name] = _source(name, sources, columns)
    constants = {_constant_name(form, name): value for name, value in map_.constants.items()}
    for name in map_.values:
        if form.meant(name) is None and name not in KEPT:
            raise InputError(f"[values.{name}] says what labels stand for, but {form.benchmark} results have no {name}")
    used = {*fields.values(), *kept.values(), *factors.values()}
    named = {*fields, *kept, *factors, *constants, *(["trial"] if by_order else [])}
    n_left_out = 0
    for name in (name for name in columns if name and "\x00" not in name and name not in used):
        if name not in named and form.called(name) is not None:
            fields[name] = name
        elif name not in named and name in KEPT:
            kept[name] = name
        elif len(factors) < _MAX_FACTORS:
            taken = name in _GLOSSARY or name in form.made or name in named or form.called(name) is not None
            factors[f"source_{name}" if taken else name] = name
        else:
            n_left_out += 1
    bound = Bound(
        fields=fields,
        kept=kept,
        factors=factors,
        constants=constants,
        trial_from_order=by_order,
        n_left_out=n_left_out,
        dependence=tuple(_dependent(form, name, {**kept, **factors}, fields) for name in map_.dependence),
    )
    _require(form, bound, columns)
    return bound


def _refuse_strange(form: Form, name: str) -> None:
    if name in _GLOSSARY or name in form.made:
        known = ", ".join(each.name for each in form.fields)
        raise InputError(f"{form.benchmark} results have no {name} that could be mapped; their columns are {known}")


def _constant_name(form: Form, name: str) -> str:
    known = form.meant(name)
    if known is None:
        if name not in KEPT:
            _refuse_strange(form, name)
        return name
    if not known.constant:
        raise InputError(
            f"{name} is the same on every row ({name}=@...); map the column that holds it: --map {name}=COLUMN"
        )
    return known.name


def _source(name: str, sources: tuple[str, ...], columns: Sequence[str]) -> str:
    if len(sources) != 1 or sources[0] in {ROW, ORDER}:
        raise InputError(f"{name}={','.join(sources)} has no meaning here; name one column (only trial may be {ORDER})")
    source = safe_name(column_named(sources[0]) or "")
    if source not in columns:
        raise InputError(f"there is no column {source!r} for {name}; the table has {listed(columns)}")
    return source


def _dependent(form: Form, name: str, columns: Mapping[str, str], fields: Mapping[str, str]) -> str:
    """Return what a column that the map calls dependence is called in the outcomes."""
    usable = {**{own: source for own, source in fields.items() if own in form.made}, **columns}
    found = name if name in usable else next((own for own, source in usable.items() if source == name), None)
    if found is None:
        raise InputError(f"there is no column {name!r} for dependence; there are {listed(list(usable))}")
    return found


def _require(form: Form, bound: Bound, columns: Sequence[str]) -> None:
    for each in form.fields:
        if each.needed and not bound.has(each.name):
            fixed = f", or for all rows {each.name}=@VALUE" if each.constant else ""
            raise InputError(
                f"there is no column {each.name} ({each.meaning}); the table has {listed(columns)}. "
                f"Say which one it is: {form.how_to_map(f'{each.name}=COLUMN')}{fixed}"
            )


def listed(columns: Sequence[str]) -> str:
    """Name the first columns of a table.

    >>> listed(["a", "b"])
    'a, b'
    """
    return ", ".join(columns[:_SHOWN_COLUMNS]) + (", ..." if len(columns) > _SHOWN_COLUMNS else "")


_PLACE = "\x00place"
_FAILURES = ("error", "judge_error")


@dataclass(frozen=True, slots=True)
class Record:
    """One row: where it stands, its fields as text (None where empty), and what goes into the outcome as it is."""

    where: str
    locator: str
    fields: Mapping[str, str | None]
    kept: Mapping[str, object]


@dataclass(slots=True)
class AssumedTable:
    """A table that is read by a form, row by row."""

    form: Form
    map_: ColumnMap
    bound: Bound
    word: str
    _survey: Survey = field(repr=False)
    _blocks: Iterator[Block] = field(repr=False)

    @classmethod
    def open(cls, path: Path, form: Form, map_: ColumnMap) -> "AssumedTable":
        """Look at all of a file and find the form's columns."""
        head = read_head(path)
        if head.shape not in SHAPES:
            what = "CSV, TSV, JSON Lines, a JSON list of records, or Parquet"
            raise UnreadableFileError(f"{path}: is no table; {form.benchmark} results are read from {what}")
        survey, blocks = surveyed(open_table(head))
        if survey.n_rows == 0:
            raise UnreadableFileError(f"{path}: holds no rows")
        word = {"array": "record", "parquet": "row"}.get(head.shape, "line")
        return cls(form, map_, bind_form(form, map_, survey.columns), word, survey, blocks)

    def records(self) -> Iterator[Record]:
        """Yield the rows in the order of the file; once only."""
        fixed = {name: value for name, value in self.bound.constants.items() if self.form.called(name)}
        others = {name: value for name, value in self.bound.constants.items() if name not in fixed and name not in KEPT}
        for block in self._blocks:
            fields = [self._field(block, name, source) for name, source in self.bound.fields.items()]
            kept = [*self._kept(block), *self._factors(block), block.places.alias(_PLACE)]
            rows = zip(
                pl.DataFrame(fields).iter_rows(named=True),
                pl.DataFrame(kept).iter_rows(named=True),
                strict=True,
            )
            for own, passed in rows:
                place = passed.pop(_PLACE)
                where = f"{self.word} {place}"
                locator = f"[{place}]" if self.word == "record" else where
                yield Record(where, locator, {**fixed, **own}, {**others, **passed})

    def notes(self) -> Iterator[str]:
        """Say what a reader should know: that the columns are assumed, and which were left out."""
        yield self.form.note
        left_out = [name for name in self.bound.factors.values() if self._is_no_factor(name)]
        if left_out:
            what = f"lists, objects or texts over {MAX_FACTOR_CHARS} characters"
            yield f"left out as factors, since they hold {what}: {listed(left_out)}"
        if self.bound.n_left_out:
            how = self.form.how_to_map("NAME=COLUMN")
            yield f"{self.bound.n_left_out} more columns are left out; name those that you need: {how}"
        repaired = sorted(self._survey.repaired)
        if repaired:
            yield f"half characters were replaced, and numbers too large for any table are 'inf', in: {listed(repaired)}"

    def _is_no_factor(self, source: str) -> bool:
        return source in self._survey.nested or source in self._survey.long

    def _field(self, block: Block, name: str, source: str) -> pl.Series:
        cells = self._cells(block, name, source)
        if name in _FAILURES:
            return failures_of(cells).alias(name)
        text = text_of(cells).str.strip_chars()
        return text.set(text == "", None).alias(name)

    def _kept(self, block: Block) -> Iterator[pl.Series]:
        places = Places(self.word, block.places)
        for name, column in KEPT.items():
            if name in self.bound.kept:
                cells = self._cells(block, name, self.bound.kept[name])
            elif name in self.bound.constants:
                cells = pl.Series([self.bound.constants[name]]).new_from_index(0, block.frame.height)
            else:
                continue
            yield read_standard(column, cells, places).alias(name)

    def _factors(self, block: Block) -> Iterator[pl.Series]:
        for name, source in self.bound.factors.items():
            if not self._is_no_factor(source):
                yield factor_of(_column(block, source), self._survey.dtype(source)).alias(name)

    def _cells(self, block: Block, name: str, source: str) -> pl.Series:
        """Return a column with the words that the map gives for its labels, and whole numbers without a point."""
        if source in self._survey.nested and name != "tags":
            raise InputError(f"column {source!r} holds lists or objects; {name} needs one plain value a row")
        cells = _column(block, source)
        if cells.dtype == pl.String and self._survey.are_numbers(source):
            cells = without_points(cells)
        known = self.form.called(name)
        labels: dict[str, str] = {}
        for given in (*(known.also if known is not None else ()), name):
            labels |= {label: str(meaning) for label, meaning in self.map_.values.get(given, {}).items()}
        return text_of(cells).replace(labels) if labels else cells


def _column(block: Block, source: str) -> pl.Series:
    """Take a column out of a block; a JSON block may lack a column that others have."""
    if source in block.frame.columns:
        return block.frame[source]
    return pl.Series([None], dtype=pl.String).new_from_index(0, block.frame.height)
