"""What a user declares in a small file: the plan of an analysis, aliases of models, the mix of the live world.

A plan (`evalstats.toml`, `docs/plan.md`; what it means: `evalstats.schema.plan`) is read strictly, since a key that is misspelt
declares nothing.
"""

import csv
import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Final, TypeVar, cast

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Head, with_path
from evalstats.loaders.column_map import ColumnMap, metric_facts
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import small_text, small_toml
from evalstats.loaders.values import as_dict, as_number
from evalstats.schema.plan import LiveMix, Margin, Plan, live_mix_of

PLAN_FILE = "evalstats.toml"

T = TypeVar("T")

_PLAN = ("baseline", "conf_level", "adjust", "clusters", "families", "accept", "missing", "runs", "run_sd", "scale")
_GATE = ("fail_on",)
_MARGIN = ("value", "reason", "metric", "benchmark")
_MAP = ("columns", "constants", "values", "metrics", "scale", "dependence", "rows", "unscored", "repeats")
# Keys of every table; None where the keys are names that the user chooses.
_TABLES: Mapping[str, tuple[str, ...] | None] = {
    "plan": _PLAN,
    "primary": None,
    "margins": _MARGIN,
    "gate": _GATE,
    "aliases": None,
    "map": _MAP,
    "metrics": None,
}
# What people write who remember the option and not the key.
_OTHER_WORDS = {
    "cluster": "clusters", "by": "families", "family": "families", "margin": "margins", "alias": "aliases",
    "metric": "primary", "fail-on": "fail_on", "conf-level": "conf_level", "confidence": "conf_level",
}  # fmt: skip


def find_plan(folder: str | Path = ".") -> Path | None:
    """Return the `evalstats.toml` of a folder; None where there is none. Folders above it are not searched."""
    path = Path(folder) / PLAN_FILE
    return path if path.is_file() else None


def read_plan(path: str | Path) -> Plan:
    r"""Read a plan from a TOML file of at most 1 MiB.

    Raises
    ------
    InputError
        If it cannot be opened, is no TOML (with the line), or holds a key, a value or a type that no plan has.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "evalstats.toml")
    >>> _ = path.write_text("[plan]\nconf_level = 0.9\n")
    >>> read_plan(path).conf_level
    0.9
    """
    path = Path(path)
    try:
        return plan_from_tables(small_toml(path, "a plan is a few dozen lines"), source=path.name)
    except InputError as error:
        raise InputError(with_path(path, error)) from error


def plan_from_tables(tables: Mapping[str, object], *, source: str = "") -> Plan:
    """Make a plan of the tables of a TOML document."""
    _check_keys(tables, tuple(_TABLES), "")
    plan = _table(tables, "plan")
    gate = _table(tables, "gate")
    _check_keys(plan, _PLAN, "[plan]")
    _check_keys(gate, _GATE, "[gate]")
    return Plan(
        source=source,
        baseline=_optional(plan, "baseline", _text),
        conf_level=_optional(plan, "conf_level", _number),
        adjust=_optional(plan, "adjust", _text),
        clusters=_optional(plan, "clusters", _texts) or (),
        families=_optional(plan, "families", _texts) or (),
        accept=_optional(plan, "accept", _texts) or (),
        missing=_optional(plan, "missing", _text),
        runs=_optional(plan, "runs", _text),
        run_sd=_optional(plan, "run_sd", _text),
        scale=_optional(plan, "scale", _text),
        fail_on=_optional(gate, "fail_on", _texts) or (),
        primary=_names(tables, "primary", "the metric that decides the benchmark"),
        margins=_margins(tables.get("margins")),
        aliases=_names(tables, "aliases", "the name that the model shall have"),
        column_map=_column_map(tables),
        metrics=_metrics(tables),
    )


def column_map_of(plan: Plan) -> ColumnMap | None:
    """Return the column map that a plan declares; None where it declares none."""
    return ColumnMap.from_tables(plan.column_map, where=f"{plan.source or 'plan'} [map]") if plan.column_map else None


def _check_keys(table: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for name in table:
        if name in known:
            continue
        place = f"no key of {where}" if where else "neither a table nor a key of a plan"
        raise InputError(f"{name!r} is {place}; {_advice(name, known, where)}")


def _advice(name: str, known: tuple[str, ...], where: str) -> str:
    name = _OTHER_WORDS.get(name, name)
    elsewhere = [table for table, keys in _TABLES.items() if keys and name in keys and f"[{table}]" != where]
    # A name that is off by a letter is a slip; only then is it asked whether it is at home elsewhere.
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    if near:
        return f"did you mean {near[0]!r}?"
    if elsewhere:
        return f"{name!r} belongs in [{elsewhere[0]}]"
    if name in _TABLES:
        return f"{name!r} is a table of its own: [{name}]"
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"


def _table(tables: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = tables.get(name, {})
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a table, that is [{name}] with its keys below; found {_found(value)}")
    return cast("Mapping[str, object]", value)


def _optional(table: Mapping[str, object], name: str, read: Callable[[object, str], T]) -> T | None:
    return read(table[name], name) if name in table else None


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be text in quotes; found {_found(value)}")
    if not value.strip():
        raise InputError(f"{name} is empty; leave the key out where nothing is declared")
    return value


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        quoted = ", written without quotes" if isinstance(value, str) else ""
        raise InputError(f"{name} must be a number{quoted}; found {_found(value)}")
    return float(value)


def _texts(value: object, name: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (_text(value, name),)
    if not isinstance(value, list):
        raise InputError(f'{name} must be a list of names, as in {name} = ["one", "two"]; found {_found(value)}')
    found = tuple(_text(part, f"every name in {name}") for part in cast("list[object]", value))
    twice = next((part for part in found if found.count(part) > 1), None)
    if twice is not None:
        raise InputError(f"{name} names {twice!r} twice")
    return found


def _names(tables: Mapping[str, object], name: str, meaning: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in _table(tables, name).items():
        if not isinstance(value, str):
            message = f"[{name}] {key} must be {meaning}, in quotes; found {_found(value)}"
            for part in cast("Mapping[str, object]", value) if isinstance(value, Mapping) else ():
                message += f'; a name with a dot in it is written in quotes, "{key}.{part}"'
                break
            raise InputError(message)
        found[key] = _text(value, f"[{name}] {key}")
    return found


def _margins(value: object) -> tuple[Margin, ...]:
    if value is None:
        return ()
    if isinstance(value, Mapping):
        raise InputError("margins is a list of tables; write [[margins]] with two brackets before each")
    if not isinstance(value, list):
        raise InputError(f"margins is a list of tables, each begun by [[margins]]; found {_found(value)}")
    return tuple(_margin(each, number) for number, each in enumerate(cast("list[object]", value), start=1))


def _margin(value: object, number: int) -> Margin:
    where = f"[[margins]] number {number}"
    if not isinstance(value, Mapping):
        raise InputError(f"{where} must be a table with value and reason; found {_found(value)}")
    table = cast("Mapping[str, object]", value)
    _check_keys(table, _MARGIN, where)
    missing = [name for name in ("value", "reason") if name not in table]
    if missing:
        raise InputError(
            f'{where} has no {missing[0]}; a margin needs value (such as "2pp") and reason (why less does not matter)'
        )
    size = table["value"]
    try:
        return Margin(
            value=size if isinstance(size, str) else _number(size, 'value (such as "2pp" or 0.02)'),
            reason=_text(table["reason"], "reason"),
            metric=_optional(table, "metric", _text),
            benchmark=_optional(table, "benchmark", _text),
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _metrics(tables: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Read what is declared of metrics, whatever the files' format; the headline is declared in [primary]."""
    found: dict[str, dict[str, object]] = {}
    for name, value in _table(tables, "metrics").items():
        facts = metric_facts(value, name)
        if facts.primary is not None:
            raise InputError(f"[metrics.{name}] primary belongs in [primary], as BENCHMARK = {name!r}")
        said = {key: getattr(facts, key) for key in ("higher_is_better", "low", "high", "kind", "unit")}
        found[name] = {key: part for key, part in said.items() if part is not None}
    return found


def _column_map(tables: Mapping[str, object]) -> dict[str, object]:
    table = _table(tables, "map")
    _check_keys(table, _MAP, "[map]")
    ColumnMap.from_tables(table, where="[map]")
    return dict(table)


def _found(value: object) -> str:
    """Say what a value of TOML is, in words."""
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, datetime | date | time):
        return f"the date or time {value}"
    return "a table" if isinstance(value, Mapping) else "a list"


_N_COLUMNS: Final = 2
_FORMS: Final = 'TOML ([aliases], then "name" = "other"), CSV with two columns, or one JSON object'
# What people call two columns of which the second holds the name that the first shall have.
_HEADERS: Final = frozenset(
    {("model", "alias"), ("name", "alias"), ("lab", "live"), ("from", "to"), ("old", "new"), ("name", "shall be")}
)


def read_aliases(path: str | Path) -> dict[str, str]:
    """Read aliases of models: a name as a file writes it to the name it shall have.

    The file holds at most 1 MiB of TOML (`.toml`: an `[aliases]` table, as in a plan, or names at the top), delimited text of two
    columns (with or without a header such as model,alias or lab,live or from,to), or a JSON object of names.
    """
    path = Path(path)
    try:
        text = small_text(path, "a file of aliases has a line for each model")
        aliases = _aliases_in(Head(path=path, size=len(text), data=text.encode()), text)
    except InputError as error:
        raise InputError(with_path(path, error)) from error
    if not aliases:
        raise InputError(f"{path}: holds no aliases; give {_FORMS}")
    return dict(aliases)


def _aliases_in(head: Head, text: str) -> Mapping[str, str]:
    if head.name.endswith(".toml"):
        return _from_toml(small_toml(head.path, "a file of aliases has a line for each model"))
    if head.shape in {"object", "lines"}:
        return _from_json(text)
    if head.shape == "text" and head.delimiter in head.text.partition("\n")[0]:
        return _from_columns(head)
    raise InputError(f"{'is empty' if head.shape == 'empty' else 'is no file of aliases'}; give {_FORMS}")


def _from_toml(tables: Mapping[str, object]) -> Mapping[str, str]:
    if not isinstance(tables.get("aliases"), Mapping):
        return plan_from_tables({"aliases": tables}).aliases
    beside = [name for name, value in tables.items() if not isinstance(value, Mapping | list)]
    if beside:
        raise InputError(f"{beside[0]!r} is outside [aliases]; move it below")
    # Its other tables are those of a plan, which are read where a plan is read.
    return plan_from_tables({"aliases": tables["aliases"]}).aliases


def _from_json(text: str) -> Mapping[str, str]:
    try:
        found: object = json.loads(text, object_pairs_hook=_once)
    except RecursionError as error:
        raise InputError("is nested too deeply; a JSON object of names was expected") from error
    except ValueError as error:
        raise InputError(f"is not one JSON object: {error}") from error
    names = as_dict(found)
    inner = as_dict(names.get("aliases"))
    if inner and len(names) == 1:
        names = inner
    for name, value in names.items():
        if value is None:
            raise InputError(f"{name!r} has null for its alias; give the name that the model shall have")
    return plan_from_tables({"aliases": names}).aliases


def _from_columns(head: Head) -> Mapping[str, str]:
    try:
        first = header_of(head.path, head.delimiter)
        if len(first) != _N_COLUMNS:
            raise InputError(f"has {len(first)} columns; two were expected: a name, and the name it shall have")
        rows = iter_rows(head.path, head.delimiter, n_columns=_N_COLUMNS)
        pairs = [(cells[0].strip(), cells[1].strip()) for _, cells in rows]
    except UnreadableFileError as error:
        raise InputError(str(error)) from error
    if tuple(name.lower() for name in first) not in _HEADERS:
        pairs.insert(0, (first[0], first[1]))
    if any(not name for name, _ in pairs):
        raise InputError("a line has no name in its first column; write name,other")
    return plan_from_tables({"aliases": _once(pairs)}).aliases


def _once(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Make a mapping of pairs; a plain dict would forget that a name stands twice."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            raise InputError(f"{name!r} has two aliases, {found[name]!r} and {value!r}; keep one")
        found[name] = value
    return found


_COLUMNS = ("level", "share")
_KEYS = ("mix", "factor", "source", "licence", "note")


def read_live_mix(path: str | Path, *, factor: str = "scenario") -> LiveMix:
    """Read shares of the live world by level of one factor; `factor` names it where the file does not.

    A CSV file has the columns level and share; lines before the header that begin with `#` are a comment, and the words of
    the source. A TOML file has the table `[mix]` (level = share) and, where wanted, `factor`, `source`, `licence`, `note`.

    Shares are percentages if they sum to 98 to 125, proportions if they sum to 0.98 to 1.25; anything else is refused. They
    are divided by their sum, and where it is not 1 `note` says so.
    """
    path = Path(path)
    size = "a mix is a short table of shares"
    try:
        if path.suffix.lower() == ".toml":
            return _mix_from_toml(small_toml(path, size), path, factor)
        return _mix_from_csv(small_text(path, size), path, factor)
    except InputError as error:
        raise InputError(with_path(path, error)) from error


def _mix_from_csv(text: str, path: Path, factor: str) -> LiveMix:
    lines = text.splitlines()
    n_comments = next((place for place, line in enumerate(lines) if not line.startswith("#")), len(lines))
    said = " ".join(line.lstrip("# ").strip() for line in lines[:n_comments])
    reader = csv.DictReader(lines[n_comments:])
    columns = tuple(reader.fieldnames or ())
    if not set(_COLUMNS) <= set(columns):
        raise InputError(f"has the columns {', '.join(columns) or 'none'}; a mix needs the columns level and share")
    shares: dict[str, float] = {}
    for row in reader:
        level, cell = (row["level"] or "").strip(), (row["share"] or "").strip()
        where = f"line {reader.line_num + n_comments}"
        if level in shares:
            raise InputError(f"{where}: names the level {level!r} a second time; give each one share")
        try:
            shares[level] = float(cell.removesuffix("%"))
        except ValueError as error:
            raise InputError(f"{where}: the share of {level!r} is {cell!r}; give a number") from error
    return live_mix_of(shares, factor=factor, source=said or path.name)


def _mix_from_toml(tables: Mapping[str, object], path: Path, factor: str) -> LiveMix:
    unknown = [key for key in tables if key not in _KEYS]
    if unknown:
        raise InputError(f"has the key {unknown[0]!r}, which no mix has; there are {', '.join(_KEYS)}")
    mix = tables.get("mix")
    if not isinstance(mix, dict):
        raise InputError("has no table [mix]; give level = share in it")
    words = {key: value for key, value in tables.items() if key != "mix"}
    for key, value in words.items():
        if not isinstance(value, str):
            raise InputError(f"{key} is {value!r}; give it as text")
    texts = {"factor": factor, "source": path.name, **cast("dict[str, str]", words)}
    return live_mix_of(_mix_numbers(cast("dict[str, object]", mix)), **texts)


def _mix_numbers(mix: Mapping[str, object]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for level, value in mix.items():
        number = None if isinstance(value, bool | str) else as_number(value)
        if number is None:
            raise InputError(f"the share of {level!r} is {value!r}; give a number")
        shares[level] = number
    return shares
