"""Formats whose result files nobody has published: the columns that are assumed, or that a column map names instead.

A form says which columns there are and what they mean, `bind_form` finds them in a table, and `assumed_rows` reads it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evalstats.errors import InputError
from evalstats.loaders.base import Head
from evalstats.loaders.blocks import safe_name
from evalstats.loaders.mapping import ORDER, ROW, ColumnMap, column_named
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

        Examples
        --------
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

    Raises
    ------
    InputError
        If a mapped or needed column is not there, or the map names something that the form does not have.

    Examples
    --------
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
        message = f"{form.benchmark} results have no {name} that could be mapped; their columns are {known}"
        raise InputError(message)


def _constant_name(form: Form, name: str) -> str:
    known = form.meant(name)
    if known is None:
        if name not in KEPT:
            _refuse_strange(form, name)
        return name
    if not known.constant:
        message = f"{name} is the same on every row ({name}=@...); map the column that holds it: --map {name}=COLUMN"
        raise InputError(message)
    return known.name


def _source(name: str, sources: tuple[str, ...], columns: Sequence[str]) -> str:
    if len(sources) != 1 or sources[0] in {ROW, ORDER}:
        message = f"{name}={','.join(sources)} has no meaning here; name one column (only trial may be {ORDER})"
        raise InputError(message)
    source = safe_name(column_named(sources[0]) or "")
    if source not in columns:
        message = f"there is no column {source!r} for {name}; the table has {listed(columns)}"
        raise InputError(message)
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
            message = (
                f"there is no column {each.name} ({each.meaning}); the table has {listed(columns)}. "
                f"Say which one it is: {form.how_to_map(f'{each.name}=COLUMN')}{fixed}"
            )
            raise InputError(message)


def listed(columns: Sequence[str]) -> str:
    """Name the first columns of a table.

    Examples
    --------
    >>> listed(["a", "b"])
    'a, b'
    """
    return ", ".join(columns[:_SHOWN_COLUMNS]) + (", ..." if len(columns) > _SHOWN_COLUMNS else "")
