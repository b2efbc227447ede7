"""Which column of a table is what: the user's map from standard names to the names in the file.

On the command line a map is written option by option (`--map item=question_id --map model=@gpt-4o`), in a TOML file all at
once: `dependence`, `scale`, `unscored`, `models`, `items`, `trials`, `judges` and `rows` at the top, then the tables

    [columns]            [constants]              [values.score]      [metrics.wer]
    item = "question_id" benchmark = "my-bench"   pass = 1            higher_is_better = false
    score = ["a", "f1"]                           -1 = "unscored"     unit = "percent"
"""

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from evalstats.errors import InputError
from evalstats.loaders.files import small_toml
from evalstats.loaders.values import as_list, as_number, as_text
from evalstats.schema.columns import column_names

# What a label in the column of scores may stand for instead of a number.
NO_SCORE = ("unscored", "error")
ROW = "#row"
ORDER = "#order"
COLUMNS = "#columns"
FILE, FOLDER = "#file", "#folder"
# Standard columns that no column can be mapped to, and what each is made from.
_MADE_OF_VOTES = ("value_raw", "run")
MADE = {"value_raw": "the score", "locator": "the place of the row in its file"}
# Standard names that a column can be mapped to. `error` is a column of failures; it becomes status and status_reason.
STANDARD = tuple(name for name in column_names("outcomes") if name not in MADE)
MAPPABLE = (*STANDARD, "error", "passage", "template")
# What a vote has besides. A map that names one of the first three is one of votes.
OF_VOTES = ("model_a", "model_b", "winner")
_OF_COMPARISONS = (*OF_VOTES, *column_names("comparisons"))

# What columns of scores may be the levels of, by the option that says so.
OF_LEVELS: Final = {"models": "model", "items": "item", "trials": "trial", "judges": "judge"}
_GENERATED = {ROW: ("item",), ORDER: ("trial",), COLUMNS: (*OF_LEVELS.values(),)}
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)?\.\.(-?\d+(?:\.\d+)?)?")
# Which of repeated rows stay: the first or the last of an item, or every row that is no copy of another in all its cells.
REPEATS = ("first", "last", "drop")
_ONE_WORD = frozenset({"scale", "rows", "repeats", "files"})
# A part of a template of paths that stands for what its name says.
FIELD = re.compile(r"\{(\w+)\}")
# How a direction is written behind a column of scores, or before the names of metrics.
WAYS = {"lower": False, "higher": True}


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Lowest and highest possible score, both inclusive, in `unit`; None where there is none.

    Attributes
    ----------
    low, high
        Lowest and highest possible score.
    """

    low: float | None
    high: float | None
    unit: str | None = None


SCALES: Final[Mapping[str, Scale]] = {
    unit: Scale(low=0.0, high=high, unit=unit) for unit, high in (("percent", 100.0), ("proportion", 1.0))
}


class DeclaredMetric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user says of a metric; None leaves it to what is seen in the column.

    Attributes
    ----------
    kind
        binary, proportion, bounded, ordinal or continuous.
    low, high
        Lowest and highest possible score.
    higher_is_better
        Whether more is better.
    unit
        Unit of a score.
    primary
        Whether it is the headline of its benchmark.
    """

    kind: Literal["binary", "proportion", "bounded", "continuous", "ordinal"] | None = None
    low: float | None = None
    high: float | None = None
    higher_is_better: bool | None = None
    unit: str | None = None
    primary: bool | None = None

    def __post_init__(self) -> None:
        ends = [end for end in (self.low, self.high) if end is not None]
        if not all(map(math.isfinite, ends)) or ends != sorted({*ends}):
            raise ValueError(f"low = {ends[0]:g} is not below high = {ends[-1]:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
    """Where the standard columns of `outcomes` are found in a table.

    Attributes
    ----------
    columns
        Standard name (or a factor's new name) to the source's column names; only `score` may have several. `#row`
        stands for the row's place within its run, `#order` numbers repetitions in the order of the file, and
        `#columns` takes each column of scores for a model, repetition or judge of that name (`##` starts the name of a column
        that itself starts with #).
    constants
        Standard name (or a factor's name) to the one value of every row. `#file` stands for the name of the file, `#folder` for
        that of its folder.
    values
        Standard name to what its labels stand for: for `score` a number, or "unscored" or "error" where the label says
        that there is no score; text for others.
    metrics
        Metric to what is known of it.
    scale
        Range of all scores, where `metrics` gives none.
    dependence
        Columns whose levels make rows dependent, beside those mapped to passage, template, user or session.
    rows
        Where in a JSON document the list of rows lies, as a dotted path (`results.items`).
    files
        What the last parts of a file's path are, without its ending (`{model}/{benchmark}`); `*` stands for anything.
    directions
        Metric or column of scores to whether more of it is better; "" for all of them.
    repeats
        Which rows stay where an item stands twice for a system: the "first", the "last", or all but the copies of a whole row
        ("drop").
    unknown
        Names in options that are no standard ones: a table refuses them, a format may have columns of these names.

    Examples
    --------
    >>> map_ = ColumnMap.from_options(["item=question_id", "score=acc", "model=@gpt-4o", "scale=1..5"])
    >>> map_.columns["item"], map_.constants["model"], map_.scale.high
    (('question_id',), 'gpt-4o', 5.0)
    """

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    values: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict[str, Mapping[str, str | float]])
    metrics: Mapping[str, DeclaredMetric] = field(default_factory=dict[str, DeclaredMetric])
    scale: Scale | None = None
    dependence: tuple[str, ...] = ()
    rows: str | None = None
    files: str | None = None
    directions: Mapping[str, bool] = field(default_factory=dict[str, bool])
    repeats: str | None = None
    unknown: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, sources in self.columns.items():
            _check_name(name)
            _check_sources(name, sources)
        for name in self.constants:
            _check_name(name)
            if name in {"item", "score", "trial"}:
                raise InputError(
                    f"{name} is the same on every row ({name}=@...); map the column that holds it: {name}=COLUMN"
                )

    @property
    def named(self) -> frozenset[str]:
        """The columns that it names, but for the scores' settings."""
        return frozenset({*self.dependence, *(each for sources in self.columns.values() for each in sources)})

    @classmethod
    def from_options(cls, options: Iterable[str]) -> "ColumnMap":
        """Read `--map` options: `standard=column`, `standard=@constant`, or the path of a TOML file.

        Later options win over earlier ones. `@@` starts the name of a column that itself starts with @. Beside
        columns there are `scale=percent` (or `scale=1..5`; `scale=0..` for a metric without a top),
        `dependence=passage,template`, `unscored=-1` for a value that stands for no score, and `rows=results.items` for rows
        that lie inside a JSON document; `files={model}/{benchmark}` takes standard columns from the paths of files;
        `repeats=first` (or `last`, `drop`) chooses among rows that repeat each other.
        `models=gpt,claude` names columns that hold the scores of a model each, and `models=*_f1,*_em` those of a metric each,
        where the star stands for the model; `trials` and `judges` name those of repetitions and judges.
        `score=acc,f1` names two columns unless one is called "acc,f1"; `score=wer:lower` says
        that lower is better, `score=acc:higher` the opposite, and so do `lower=wer` and `higher=acc,f1` of metrics by name,
        whether these are columns or stand in rows.

        Raises
        ------
        InputError
            If an option is neither, or names no standard column.
        """
        merged = cls()
        for option in options:
            name, equals, source = (part.strip() for part in option.partition("="))
            if not equals and name.endswith(".toml"):
                merged = merged.overlaid(cls.from_toml(name))
            elif not equals or not name or not source:
                raise InputError(f"{option!r} is not a map of a column; write standard=column, as in item=question_id")
            else:
                merged = merged.overlaid(cls.from_pairs([(name, source)]))
                # What stands beside the rows of a document has no name of its own in them.
                if name in {*merged.columns, *merged.constants} - {*MAPPABLE, source} and not source.startswith("/"):
                    merged = replace(merged, unknown=(*merged.unknown, name))
        return merged

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> "ColumnMap":
        """Make a map of (standard name, column or @constant); see `from_options`."""
        merged = cls()
        for name, source in pairs:
            merged = merged.overlaid(_from_option(name, source))
        return merged

    @classmethod
    def from_toml(cls, path: str | Path) -> "ColumnMap":
        """Read a TOML file (its form stands at the head of this module); raise `InputError` where it holds no map."""
        return cls.from_tables(small_toml(Path(path), "a column map is a few lines"), where=str(path))

    @classmethod
    def from_tables(cls, tables: Mapping[str, object], *, where: str = "column map") -> "ColumnMap":
        """Make a map from the tables of a TOML document; raise `InputError` where they hold what is no part of a map."""
        options = ("dependence", "unscored", *OF_LEVELS, *WAYS, *_ONE_WORD)
        known = {"columns", "constants", "values", "metrics", *options}
        unknown = [name for name in tables if name not in known]
        if unknown:
            raise InputError(
                f"{where}: {unknown[0]!r} is not part of a column map; it may hold {', '.join(sorted(known))}"
            )
        try:
            map_ = cls(
                columns={name: _names(value, name) for name, value in _table(tables, "columns").items()},
                constants={name: _constant(value, name) for name, value in _table(tables, "constants").items()},
                values={name: _labels(value, name) for name, value in _table(tables, "values").items()},
                metrics={name: metric_facts(value, name) for name, value in _table(tables, "metrics").items()},
            )
            for name in options:
                if tables.get(name) is not None:
                    map_ = map_.overlaid(_from_option(name, tables[name]))
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        return map_

    def overlaid(self, other: "ColumnMap") -> "ColumnMap":
        """Return this map with everything that `other` says in place of what this one says."""
        columns = {name: source for name, source in self.columns.items() if name not in other.constants}
        constants = {name: value for name, value in self.constants.items() if name not in other.columns}
        return replace(
            self,
            columns={**columns, **other.columns},
            constants={**constants, **other.constants},
            values={
                name: {**self.values.get(name, {}), **other.values.get(name, {})}
                for name in dict.fromkeys((*self.values, *other.values))
            },
            metrics={**self.metrics, **other.metrics},
            scale=other.scale or self.scale,
            dependence=tuple(dict.fromkeys((*self.dependence, *other.dependence))),
            rows=other.rows or self.rows,
            files=other.files or self.files,
            directions={**self.directions, **other.directions},
            repeats=other.repeats or self.repeats,
            unknown=(*self.unknown, *other.unknown),
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """Mapped columns that may lie deep inside a record of a JSON document, or behind a / in the document itself."""
        parts = [part.strip() for sources in self.columns.values() for source in sources for part in source.split(",")]
        return tuple(part for part in (*parts, *self.dependence) if "." in part or part.startswith("/"))

    @property
    def across(self) -> str:
        """What the columns of scores are the levels of: model, trial or judge; "" where each is a metric."""
        return next((name for name in OF_LEVELS.values() if self.columns.get(name) == (COLUMNS,)), "")

    @property
    def patterns(self) -> tuple[str, ...]:
        """Names of columns of scores in which a star stands for the model, repetition or judge."""
        sources = self.columns.get("score", ()) if self.across else ()
        return tuple(part.strip() for source in sources for part in source.split(",") if "*" in part)

    def placed(self, file: str, folder: str) -> "ColumnMap":
        """Return the map of one file: with its name and its folder's where these are asked for.

        >>> ColumnMap.from_options(["task=#file"]).placed("arc", "runs").constants
        {'task': 'arc'}
        """
        names = {FILE: file, FOLDER: folder}
        return replace(self, constants={name: names.get(value, value) for name, value in self.constants.items()})

    def makes(self, name: str) -> bool:
        """Whether a standard column is no column of the table, but numbers its rows or repetitions."""
        return self.columns.get(name, ())[:1] in ((ROW,), (ORDER,))

    def as_config(self) -> dict[str, object]:
        """Return the map as JSON-safe values, to be kept with the run."""
        parts = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "unknown"}
        parts |= {
            "metrics": {name: _present(facts) for name, facts in self.metrics.items()},
            "scale": self.scale and _present(self.scale),
        }
        return msgspec.json.decode(msgspec.json.encode({name: part for name, part in parts.items() if part}))


def side_in(column: str, patterns: Iterable[str]) -> tuple[str, str] | None:
    """Return the model and the metric of a column whose name fits a pattern with a star; None where none fits.

    >>> side_in("baseline_f1", ["*_f1"]), side_in("check_old.passed", ["check_*.passed"]), side_in("f1", ["*_f1"])
    (('baseline', 'f1'), ('old', 'check.passed'), None)
    """
    for pattern in patterns:
        head, star, tail = pattern.partition("*")
        inside = column[len(head) : len(column) - len(tail)]
        if star and inside not in {"", "*"} and column == f"{head}{inside}{tail}":
            ends = "_-./ ()[]"
            return inside, f"{head.rstrip(ends)}{tail}".strip(ends)
    return None


def scale_of(text: str) -> Scale:
    """Read a scale: `percent`, `proportion`, or the lowest and highest score as in `1..5`; one of the two may be missing."""
    if text in SCALES:
        return SCALES[text]
    match = _RANGE.fullmatch(text)
    low, high = (as_number(part) for part in match.groups()) if match else (None, None)
    if (low is None and high is None) or (low is not None and high is not None and low >= high):
        raise InputError(
            f"scale {text!r} is not understood; write percent, proportion, LOW..HIGH as in 1..5, or 0.. for a metric without "
            "a top"
        )
    return Scale(low=low, high=high)


def column_named(source: str) -> str | None:
    """Return the column that a mapped source names; None when it is to be made (`#row`, `#order`).

    A column whose own name starts with # is written with the sign twice.
    """
    if source in _GENERATED:
        return None
    return source[1:] if source.startswith("##") else source


def source_of_column(name: str) -> str:
    """Return what names a column in a map, where a sign in front would stand for something else.

    >>> [source_of_column(name) for name in ("id", "@id", "#row", "#")]
    ['id', '@@id', '##row', '#']
    """
    return f"{name[0]}{name}" if name.startswith(("@", "##")) or name in {*_GENERATED, FILE, FOLDER} else name


def _from_option(name: str, source: object) -> ColumnMap:
    """Read one option, or the value that a TOML file has for it: several names are parted by commas in a text, or a list."""
    if name == "unscored":
        return ColumnMap(values={"score": _codes(source)})
    if name in OF_LEVELS:
        return ColumnMap(columns={"score": _names(source, name), OF_LEVELS[name]: (COLUMNS,)})
    if name == "dependence" or name in WAYS:
        parts = source.split(",") if isinstance(source, str) else _names(source, name)
        names = tuple(part.strip() for part in parts if part.strip())
        return ColumnMap(directions=dict.fromkeys(names, WAYS[name])) if name in WAYS else ColumnMap(dependence=names)
    text = _constant(source, name)
    if name in _ONE_WORD:
        word: dict[str, Any] = {
            name: {"scale": scale_of, "rows": str, "repeats": _repeats, "files": _template}[name](text)
        }
        return ColumnMap(**word)
    if name == "score":
        return _from_score(text)
    if text in (FILE, FOLDER):
        return ColumnMap(constants={name: text})
    if text.startswith("@") and not text.startswith("@@"):
        return ColumnMap(constants={name: text[1:]})
    return ColumnMap(columns={name: (text.removeprefix("@"),)})


def _repeats(word: str) -> str:
    if word not in REPEATS:
        raise InputError(f"repeats={word} is not understood; write {' or '.join(REPEATS)}")
    return word


def _template(text: str) -> str:
    roles = FIELD.findall(text)
    for role in roles:
        _check_name(role)
    if not roles or {"item", "score"} & {*roles}:
        raise InputError(
            f"files={text} is not understood; write what is what in a path, as in files={{model}}/{{benchmark}}"
        )
    return text.strip("/")


def _from_score(source: str) -> ColumnMap:
    """Read `score=acc`, `score=wer:lower`, `score=acc:higher,wer:lower`; without such an end nothing is taken apart."""
    directions: dict[str, bool] = {}
    columns: list[str] = []
    for part in source.split(","):
        column, _, way = part.strip().rpartition(":")
        known = way in WAYS and bool(column)
        columns.append((column if known else part).strip())
        if known:
            directions[columns[-1].removeprefix("@")] = WAYS[way]
    if not directions:
        columns = [source]
    if columns[0].startswith("@") and not columns[0].startswith("@@"):
        return ColumnMap(constants={"score": columns[0][1:]})
    return ColumnMap(columns={"score": tuple(each.removeprefix("@") for each in columns)}, directions=directions)


def _codes(given: object) -> dict[str, str | float]:
    """Return the values that stand for no score, as labels of the score."""
    values = given.split(",") if isinstance(given, str) else as_list(given) or [given]
    codes = [(as_text(value) or "").strip().removesuffix(".0") for value in values]
    if not all(codes):
        raise InputError(
            f"unscored must be a value that means no score, or several of them, such as -1; found {given!r}"
        )
    return dict.fromkeys(codes, NO_SCORE[0])


def _check_name(name: str) -> None:
    if name in MAPPABLE or (name in _OF_COMPARISONS and name not in _MADE_OF_VOTES):
        return
    if name in {"dependence", "unscored", *OF_LEVELS, *WAYS, *_ONE_WORD}:
        raise InputError(f"{name} is not a column; in a TOML file it stands at the top, before the first table")
    if name == "*" or (name.startswith("^") and name.endswith("$")):
        raise InputError(f"{name!r} cannot be a factor's name, since Polars takes it for a pattern; choose another")
    if name in MADE or not name:
        raise InputError(f"{name!r} cannot be mapped; it is {f'made from {MADE[name]}' if name else 'no name'}")
    near = difflib.get_close_matches(name, MAPPABLE, n=1, cutoff=0.8)
    if near:
        raise InputError(
            f"{name!r} is no standard column; did you mean {near[0]!r}? "
            "(A column that is not mapped is kept as a factor under its own name.)"
        )


def _check_sources(name: str, sources: tuple[str, ...]) -> None:
    if not sources or (len(sources) > 1 and name != "score"):
        raise InputError(f"{name} is mapped to {len(sources)} columns; give one (only score may have several)")
    for source in sources:
        wanted = _GENERATED.get(source)
        if wanted is not None and name not in wanted:
            raise InputError(
                f"{name}={source} has no meaning; write {wanted[0]}={source}, or ##... for a column of that name"
            )


def _table(tables: Mapping[str, object], name: str) -> dict[str, object]:
    """Return one part of a column map, which must be a table of names."""
    value = tables.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"[{name}] must be a table; found {value!r}")
    return {_constant(key, f"name in {name}"): part for key, part in cast("Mapping[object, object]", value).items()}


def _names(value: object, name: str) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else as_list(value)
    texts = tuple(text for text in found if isinstance(text, str) and text)
    if not texts or len(texts) != len(found):
        raise InputError(f"{name} must name a column, or several in a list; found {value!r}")
    return texts


def _constant(value: object, name: str) -> str:
    text = str(value).lower() if isinstance(value, bool) else as_text(value)
    if text is None:
        raise InputError(f"constant {name} must be a text or a number; found {value!r}")
    return text


def _labels(value: object, name: str) -> dict[str, str | float]:
    labels: dict[str, str | float] = {}
    for label, meaning in _table({f"values.{name}": value}, f"values.{name}").items():
        if name != "score":
            labels[label] = _constant(meaning, f"of {name} for {label!r}")
        elif meaning in NO_SCORE:
            labels[label] = str(meaning)
        elif (number := as_number(meaning)) is not None:
            labels[label] = number
        else:
            raise InputError(
                f"[values.score] {label} must stand for a number, or be {' or '.join(NO_SCORE)}; found {meaning!r}"
            )
    if not labels:
        raise InputError(f"[values.{name}] must be a table of labels and their meanings")
    return labels


def metric_facts(value: object, name: str) -> DeclaredMetric:
    """Read what is declared of one metric, as in the tables [metrics.NAME] of a TOML file.

    >>> metric_facts({"scale": "1..5", "higher_is_better": False}, "harm").high
    5.0
    """
    given = _table({f"metrics.{name}": value}, f"metrics.{name}")
    facts = _present(scale_of(str(given.pop("scale")))) if "scale" in given else {}
    for fact, part in given.items():
        try:
            facts[fact] = part
            msgspec.convert({fact: part}, DeclaredMetric)
        except msgspec.ValidationError as error:
            allowed = ", ".join((*DeclaredMetric.__struct_fields__, "scale"))
            raise InputError(f"[metrics.{name}] {fact} = {part!r} is not understood; it may hold {allowed}") from error
    try:
        return msgspec.convert(facts, DeclaredMetric)
    except msgspec.ValidationError as error:
        raise InputError(f"[metrics.{name}] {error}") from error


def _present(facts: DeclaredMetric | Scale) -> dict[str, object]:
    return {name: part for name, part in msgspec.structs.asdict(facts).items() if part is not None}
