"""What the columns of a table hold, and a column map applied to those that a table really has."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import polars as pl

from evalstats.errors import InputError, Option
from evalstats.loaders.blocks import (
    MAX_FACTOR_CHARS,
    TableBlock,
    TableFile,
    check_width,
    column_list,
    is_nested,
    own_name,
    safe_name,
)
from evalstats.loaders.column_map import MADE, STANDARD, ColumnMap, column_named, side_in
from evalstats.loaders.roles import words_of
from evalstats.loaders.values import CURRENCY, Places, misfit
from evalstats.schema.columns import DEPENDENT, OUTCOMES, is_shared_by_name, is_usual_text
from evalstats.schema.memory import held_bytes

# Columns of Parquet are read again in a twentieth of the time that is spent on them.
KEPT_BYTES = {"text": 256 << 20, "json": 256 << 20, "typed": 32 << 20}
_FIRST = 100
_THOUSANDS = rf"^[+-]?{CURRENCY}?\s*[1-9]\d{{0,2}}(?:,\d{{3}})+(?:\s*{CURRENCY})?$"
# What all texts of a column may be. A float is a number as programs write it that hold all numbers of a column as floats; no
# two such texts are the same number.
_FORM = {
    name: pl.first().str.contains(pattern).all().alias(name)
    for name, pattern in {
        "whole": r"^-?(?:0|[1-9]\d{0,17})$",
        "number": r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$",
        "float": r"^-?(?:0|[1-9]\d*)\.(?:0|\d*[1-9])$",
        "comma": rf"^(?:[+\-−]?{CURRENCY}?\s*(?:\d*,\d+|\d+)(?:\s*(?:{CURRENCY}|%))?|-|(?i:n/?a|nan|null|none))$",
        "truth": r"^(?i:true|false)$",
        "percent": r"^\s*(?:[+\-−]?(?:\d+[.,]?\d*|[.,]\d+)\s*%|-|(?i:n/?a|nan|null|none))\s*$",
    }.items()
}
_FORMS = [*_FORM.values()]
_SEVERAL_WORDS = r"\S\s+\S"
_FEW_LEVELS = 20

# Standard columns that a column may merely be called like. Without item, model and score there is no table, and what
# trials are called is asked where they are numbered.
_STANDARD = {
    column.name: column for column in OUTCOMES if column.name not in {"item", "model", "score", "trial", *MADE}
}
# Names, which are no prompts, answers or explanations.
_SHORT = frozenset({"run", "system", "benchmark", "task", "variant", "metric", "scenario", "judge", "user", "session"})

_ROLES = (*STANDARD, "error", *MADE)
# As many columns that nobody named are kept; the time that a table takes grows with them.
MAX_FACTORS = 200


class _Seen(msgspec.Struct):
    """What all values of one column have in common so far."""

    whole: bool = True
    number: bool = True
    truth: bool = True
    any: bool = False
    long: bool = False
    words: bool = False
    nested: bool = False
    repaired: bool = False
    floats: bool = True
    commas: bool | None = None
    percents: bool | None = None
    dtype: pl.DataType | None = None
    misfit: str = ""


class Survey(msgspec.Struct):
    """The columns of a whole table in order, and what each of them holds.

    `watched` are pairs of columns of which it is also kept which values stand together; `named` are columns that the question or
    the map names. `first` and `last` are the rows at the table's ends.
    """

    watched: tuple[tuple[str, str], ...] = ()
    word: str = "row"
    named: frozenset[str] = frozenset()
    seen: dict[str, _Seen] = msgspec.field(default_factory=dict[str, _Seen])
    n_rows: int = 0
    first: Mapping[str, object] = msgspec.field(default_factory=dict[str, object])
    last: Mapping[str, object] = msgspec.field(default_factory=dict[str, object])
    _together: dict[tuple[str, str], pl.DataFrame] = msgspec.field(default_factory=dict[tuple[str, str], pl.DataFrame])

    def add(self, block: TableBlock) -> None:
        """Take one more block into account."""
        if block.frame.height:
            self.first = self.first or block.frame.row(0, named=True)
            self.last = block.frame.row(-1, named=True)
        self.n_rows += block.frame.height
        for series in block.frame.iter_columns():
            seen = self.seen.setdefault(series.name, _Seen())
            seen.nested |= series.name in block.nested or is_nested(series.dtype)
            seen.repaired |= series.name in block.repaired
            values = series.drop_nulls() if series.dtype == pl.String else series
            if series.dtype == pl.String:
                if 2 * values.head(_FIRST).n_unique() < min(
                    _FIRST, len(values)
                ):  # what holds of its levels holds of all
                    values = values.gather(values.hash(seed=0).arg_unique())
                _look_at_text(values, seen, block.kind if series.name not in block.texts else "words")
                if not seen.words and is_usual_text(series.name) and values.str.contains(_SEVERAL_WORDS).any():
                    n = values.n_unique() + (series.null_count() > 0)
                    seen.words |= n > _FEW_LEVELS or 4 * n > series.len()  # few levels of many rows are kinds
            else:
                seen.floats = False
                seen.dtype = seen.dtype if seen.nested else series.dtype
            if (column := _STANDARD.get(series.name)) is not None and not (seen.misfit or seen.nested):
                values = self._pointed(values, series.name, series.name)
                fits = not misfit(column, values, places := Places(self.word, block.places))
                seen.misfit = "" if fits else misfit(column, series, places)
        check_width(len(self.seen))
        for first, second in self.watched:
            if {first, second} <= set(block.frame.columns):
                self._watch(block.frame[first], block.frame[second])

    def _watch(self, first: pl.Series, second: pl.Series) -> None:
        texts = [series.cast(pl.String) for series in (first, second) if not is_nested(series.dtype)]
        if len(texts) == 2:
            pairs = pl.DataFrame(
                {"first": texts[0].hash(seed=0), "second": texts[1].hash(seed=0), "chars": texts[1].str.len_chars()}
            ).filter(pl.Series(texts[1].is_not_null()))
            name = first.name, second.name
            known = self._together.get(name)
            self._together[name] = (pairs if known is None else pl.concat([known, pairs])).unique()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.seen)

    @property
    def nested(self) -> frozenset[str]:
        """Columns that hold lists or objects."""
        return frozenset(name for name, seen in self.seen.items() if seen.nested)

    def is_factor(self, name: str) -> bool:
        """Whether a column holds plain values, and no texts unless it is named.

        Texts are long, or of several words in a column that is called like what was asked or answered.
        """
        seen = self.seen[name]
        return not seen.nested and (name in self.named or not (seen.long or seen.words))

    def is_question(self, name: str) -> bool:
        """Whether a column holds texts of what was asked, of which the digests are kept: they tell copies of an item."""
        return self.seen[name].dtype is None and not self.seen[name].nested and is_usual_text(name, "question")

    def cells(self, block: TableBlock, source: str, role: str) -> pl.Series:
        """Take the column for something out of a block, the whole numbers in it written without a point."""
        if self.seen[source].nested and role != "tags":
            raise InputError(f"column {source!r} holds lists or objects; {role} needs one plain value a row")
        cells = self._pointed(block.cells(source), source, role)
        pointed = role != "score" and cells.dtype == pl.String and self.seen[source].floats
        return cells.str.strip_suffix(".0") if pointed else cells

    def _pointed(self, cells: pl.Series, source: str, role: str) -> pl.Series:
        """Return numbers in text with a point for the comma of a column that has these."""
        is_number = role == "score" or (role in _STANDARD and _STANDARD[role].dtype.is_numeric())
        has_commas = is_number and self.seen[source].commas and cells.dtype == pl.String
        return cells.str.replace(",", ".", literal=True) if has_commas else cells

    def in_percent(self, sources: Iterable[str]) -> bool:
        """Whether each number in these columns has a percent sign."""
        return all(self.seen[source].percents for source in sources)

    def notes(self, factors: Iterable[str]) -> Iterator[str]:
        """Say which of these columns are no factors, and where values were put in another way."""
        left_out = [name for name in factors if not self.is_factor(name)]
        if left_out:
            yield f"dropped as factors, since they hold texts, lists or objects: {column_list(left_out)}"
        if commas := [name for name, seen in self.seen.items() if seen.commas]:
            yield f"numbers are written with a decimal comma in: {column_list(commas)}"
        if renamed := [name for name in self.seen if own_name(name) != name]:
            yield f"columns whose names are patterns to Polars got other names: {column_list(renamed)}"
        repaired = sorted(name for name, seen in self.seen.items() if seen.repaired)
        if repaired:
            shown = column_list(repaired)
            yield f"half characters were replaced, and numbers too large for any table are 'inf', in: {shown}"

    def together(self, first: str, second: str) -> pl.DataFrame | None:
        """Return which values of two watched columns stand together: hashes, and how long the second is as text."""
        return self._together.get((first, second))

    def misfit(self, name: str) -> str:
        """Say why a column that is called as a standard column cannot be that column; "" where it can."""
        seen = self.seen[name]
        if name not in _STANDARD:
            return ""
        if seen.nested:
            return "" if name == "tags" else "it holds lists or objects"
        if seen.long and name in _SHORT:
            return f"it holds texts of more than {MAX_FACTOR_CHARS} characters"
        return seen.misfit

    def dtype(self, name: str) -> pl.DataType:
        """Return the dtype that fits all values of a column."""
        seen = self.seen[name]
        if seen.dtype is not None:
            return seen.dtype
        found = [(seen.whole, pl.Int64()), (seen.number, pl.Float64()), (seen.truth, pl.Boolean())]
        return next((dtype for fits, dtype in found if fits and seen.any), pl.String())


def surveyed(
    table: TableFile, watched: tuple[tuple[str, str], ...] = (), named: Iterable[str] = ()
) -> tuple[Survey, Iterator[TableBlock]]:
    """Look at all of a table, then hand on its blocks. Only a table too large to be kept is read twice."""
    survey = Survey(watched=watched, word=table.word, named=frozenset(named))
    kept: list[TableBlock] | None = []
    size = 0
    for block in table.blocks():
        survey.add(block)
        size += held_bytes(block.frame) + held_bytes(block.places.to_frame())
        if size > KEPT_BYTES[block.kind]:
            kept = None
        elif kept is not None:
            kept.append(block)

    def handed_on() -> Iterator[TableBlock]:
        # None of those that were handed on is kept. What the first reading left out is known until the next one begins.
        yield from table.blocks() if kept is None else (kept.pop(0) for _ in range(len(kept)))

    return survey, handed_on()


def _look_at_text(present: pl.Series, seen: _Seen, kind: str) -> None:
    """Take note of what cells are: of "words" known to be none but texts, of "json" no texts, of "text" anything."""
    # Of a column where some do not match, the first most often tell.
    first = present.head(_FIRST).to_frame().select(_FORMS).row(0, named=True)

    def are_all(form: str) -> bool:
        return first[form] and (len(present) <= _FIRST or present.to_frame().select(_FORM[form]).item())

    seen.floats = seen.floats and (kind == "json" or (kind == "text" and are_all("float")))
    if not len(present):
        return
    seen.any = True
    if kind == "words":
        seen.whole = seen.number = seen.truth = False
    elif kind == "text" and seen.floats:
        seen.whole = seen.truth = False
    else:
        is_whole = (seen.whole or seen.number) and are_all("whole")
        seen.number = seen.number and (is_whole or are_all("number"))
        seen.whole = seen.whole and seen.number and is_whole
        seen.truth = seen.truth and are_all("truth")
    if seen.commas is not False and not seen.number:
        # Each of them may as well have its thousands behind a comma: then that is not told yet.
        if not are_all("comma"):
            seen.commas = False
        elif (present.str.contains(",", literal=True) & ~present.str.contains(_THOUSANDS)).any():
            seen.commas = True
    if seen.percents is not False:
        has_sign = are_all("percent") and bool(present.str.contains("%", literal=True).any())
        seen.percents = are_all("percent") and (has_sign or seen.percents)
    if not seen.long and (present.str.len_bytes() > MAX_FACTOR_CHARS).any():
        seen.long = bool((present.str.len_chars() > MAX_FACTOR_CHARS).any())


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """What each column of one table is.

    `columns` maps standard names (`error` among them) to source columns, `scores` metrics: None where a column or a constant
    names the metric; a level stands in the metric's place where columns are those of the model, trial or judge. `sides` are
    level and metric of columns whose names a pattern takes apart. `constants` are the values of every row, `factors` map names
    to source columns. `dependence` are columns of the outcomes whose levels make rows dependent, as the user said; `presumed`
    further ones that are called like it. `aliased` are columns taken for a standard name though
    nobody said so, `unfit` those that bear one and cannot be it, with why: they are factors. `own_names` are the source's
    names of standard columns, as `own=standard`.
    """

    columns: Mapping[str, str]
    scores: Mapping[str | None, str]
    sides: Mapping[str, tuple[str, str]]
    constants: Mapping[str, str]
    factors: Mapping[str, str]
    dependence: tuple[str, ...]
    presumed: tuple[str, ...]
    n_left_out: int
    own_names: tuple[str, ...]
    unfit: Mapping[str, str]


def bind(
    map_: ColumnMap, columns: Sequence[str], *, model: str | None = None, unfit: Mapping[str, str] | None = None
) -> Binding:
    """Find every mapped column, and take each column with a standard name that is left for what it is called.

    `model` is the model's name where no column and no constant gives it (a file's name). `unfit` are columns that merely bear a
    standard name, and why they cannot be that column; those that the map names are taken all the same.
    """
    mapped = {name: _found(name, sources, columns) for name, sources in map_.columns.items()}
    used = {source for sources in mapped.values() for source in sources}
    not_it = {name: why for name, why in (unfit or {}).items() if name not in mapped and name not in map_.values}
    for name in columns:
        if name in STANDARD and name not in {*used, *mapped, *map_.constants, *not_it}:
            mapped[name] = (name,)
    constants = dict(map_.constants)
    if "model" not in mapped and "model" not in constants and model is not None:
        constants["model"] = model
    _require(mapped, constants, columns, across=map_.across)
    single = {name: sources[0] for name, sources in mapped.items() if sources and name != "score"}
    standard = {name: source for name, source in single.items() if name in _ROLES}
    renamed = {name: source for name, source in single.items() if name not in _ROLES}
    taken = {source for sources in mapped.values() for source in sources}
    left = [name for name in columns if name and "\x00" not in name and name not in taken]
    asked = {*map(safe_name, map_.dependence)}
    first = {*[name for name in left if name in asked or is_shared_by_name(name)], *left[:MAX_FACTORS]}
    n_left_out = len(left) - len(first)
    left = [name for name in left if name in first]
    # A column that bears a side's name is of that side's answers, and says nothing of the items.
    patterns = [pattern for pattern in map_.patterns if pattern not in columns]
    of_sides = mapped["score"] if map_.across != "item" else ()
    sides = {name: found for name in of_sides if (found := side_in(name, patterns))}
    theirs = "|".join(re.escape(side) for side, _ in sides.values())
    left = [name for name in left if not (theirs and re.search(rf"(?:^|[_\-./ ])(?:{theirs})(?:$|[_\-./ ])", name))]
    names = {*STANDARD, *MADE, *renamed, *constants}
    factors = {**renamed, **{f"source_{name}" if name in names else name: name for name in left}}
    dependence = _dependence(map_, standard, factors, columns)
    is_named = not map_.across and ("metric" in mapped or "metric" in constants)
    return Binding(
        columns=standard,
        scores={None: mapped["score"][0]} if is_named else {source: source for source in mapped["score"]},
        sides=sides,
        constants=constants,
        factors=factors,
        dependence=dependence,
        presumed=tuple(
            name
            for name, source in (*standard.items(), *factors.items())
            if name == source and is_shared_by_name(name) and name not in dependence
        ),
        n_left_out=n_left_out,
        own_names=tuple(
            f"{source}={name}"
            for name, source in standard.items()
            # What a trial is called tells whether it is a run or a judge; persons may be versions of items, and clusters.
            if source != name
            and (source not in _ROLES or name in {"trial", "variant"})
            and name not in {"error", "metric"}
        )
        + ((f"{words_of(mapped['score'][0]).split('_')[0]}=trial",) if map_.across == "trial" else ()),
        unfit={name: why for name, why in not_it.items() if name not in used},
    )


def _found(name: str, sources: tuple[str, ...], columns: Sequence[str]) -> tuple[str, ...]:
    wanted = [column for source in sources if (column := column_named(source)) is not None]
    if name == "score" and len(wanted) == 1 and wanted[0] not in columns and "," in wanted[0]:
        wanted = [part.strip() for part in wanted[0].split(",") if part.strip()]
    if name == "score":  # a star stands for the model
        fits = {part: [column for column in columns if side_in(column, [part])] for part in {*wanted} - {*columns}}
        wanted = list(dict.fromkeys(column for part in wanted for column in fits.get(part) or [part]))
    wanted = [safe_name(column) for column in wanted]
    for column in wanted:
        if column not in columns:
            one_value = f"; for one value on every row write {Option('map', '@' + column, of=name)}"
            raise no_column(column, name, columns, "" if name in {"item", "score", "trial"} else one_value)
    return tuple(wanted)


def _require(
    mapped: Mapping[str, tuple[str, ...]], constants: Mapping[str, str], columns: Sequence[str], *, across: str
) -> None:
    remedies = {
        "score": "",
        "item": f", or, if every model was given the same items in the same order, {Option('map', '#row', of='item')}",
        "model": f", or for all rows {Option('map', '@NAME', of='model')}",
    }
    for role, remedy in remedies.items():
        if role not in {*mapped, *constants}:
            raise InputError(
                f"no column is called {role}; name it: {Option('map', blank='COLUMN', of=role)} (the table has "
                f"{column_list(columns)}){remedy}"
            )
    if len(mapped["score"]) > 1 and not across and ("metric" in mapped or "metric" in constants):
        raise InputError(
            "metric is given, and score has several columns, which name their metrics themselves; give one of the two"
        )
    if mapped["item"] == () and mapped.get("trial") == () and across != "trial":
        raise InputError("item=#row and trial=#order cannot go together: a repetition would look like another item")


def no_column(column: str, role: str, columns: Iterable[str], remedy: str = "") -> InputError:
    """Return the refusal of a column that is named for a role and is not there."""
    lacking = f"no column is called {role}" if column == role else f"there is no column {column!r} for {role}"
    return InputError(f"{lacking}; the table has {column_list(columns)}{remedy}")


def _dependence(
    map_: ColumnMap, standard: Mapping[str, str], factors: Mapping[str, str], columns: Sequence[str]
) -> tuple[str, ...]:
    """Name the columns as they stand in the outcomes, whatever the user calls them."""
    found = [name for name in DEPENDENT if name in map_.columns]
    for asked in map(safe_name, map_.dependence):
        if asked in factors or asked in standard:
            found.append(asked)
            continue
        names = [name for name, source in (*standard.items(), *factors.items()) if source == asked]
        if not names:
            raise no_column(asked, "dependence", columns)
        found.append(names[0])
    return tuple(dict.fromkeys(found))
