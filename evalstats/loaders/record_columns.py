"""Records of a block as columns, and what their values say: the state and score of an outcome, one by one or as columns.

What a file may hold in place of a number, a verdict or a time is told apart here once: nothing is guessed, and what does not fit
is null or unscored with its reason.

A place in a record is a path: names of members with points between them ("info.error"), a number for an element of a list
("judge.0"), `#` for how many there are, or characters; `[]` behind a name for every element of a list, which are then
the rows ("tries[].score"). Of several paths with blanks between them the first counts that has something in it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from math import isfinite
from operator import attrgetter
from typing import Any, Final, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import UNSET, Struct, UnsetType

from evalstats.loaders.rows import Row, Said, held, scored, unscored
from evalstats.loaders.typed_records import Other, Plain
from evalstats.loaders.values import as_list, as_number, as_text, dicts, first_line, numbers_of, text_of, units_of_times
from evalstats.schema.tables import TABLES, columns_of_rows, lists_of_texts

T = TypeVar("T")
_COUNTED: Final = ("_n_", "length_")
_IS_SCORED: Final = pl.Series("status", ["scored"])
_NOTHING: Final = pl.Series([None], dtype=pl.String)


class InEvery(Struct, frozen=True):
    """The outcome of a record in every metric of the file, or in those that one evaluator gives, which only its end tells."""

    said: Row
    evaluator: str | None = None


# What one record says: what all of its outcomes share, and each outcome, a metric with its score or with why there is none.
# Costs, times, counts and timestamps may be as the file has them.
Scores = tuple[Row, Sequence[tuple[str, Said]]]
Sample = tuple[Row, Sequence[tuple[str, Said]] | InEvery]
# What a member holds in the records of a block, or a column of a table.
Values = Sequence[object] | pl.Series


def amounts(values: Values) -> pl.Series:
    """Return costs, times and the like as a column; what is no number from 0 is null.

    >>> amounts([1, "2.5", -1, None, "x"]).to_list()
    [1.0, 2.5, None, None, None]
    """
    return _where(found := _numpy(values), found >= 0)


def counts(values: Values) -> pl.Series:
    """Return whole numbers from 0 as a column; what is none is null.

    >>> counts([3, 2.0, 0.5, -1, 1e300]).to_list()
    [3, 2, None, None, None]
    """
    found = _numpy(values)
    return _where(found, (found >= 0) & (found < 2.0**63) & (found == np.floor(found))).cast(pl.Int64)


def times(values: list[object]) -> pl.Series:
    """Return times in UTC as a column, from ISO 8601 or counts since 1970; what is none is null."""
    return units_of_times(series(values))[0]


# Columns whose cells may hold anything in a file: what does not fit is null.
MAKERS: Final[Mapping[str, Callable[[list[object]], pl.Series]]] = {
    **dict.fromkeys(("cost_usd", "latency_s"), amounts),
    **dict.fromkeys(("n_turns", "input_tokens", "output_tokens"), counts),
    "timestamp": times,
}


def number(value: object, low: float | None = None, high: float | None = None) -> Said:
    """Return a score, where a value is a number in the range; else why there is none.

    >>> number(0.5), number("high")["status_reason"], number(11, 0, 10)["status_reason"]
    (0.5, 'the score is no number', 'the score lies outside 0 to 10')
    """
    found = None if value is True or value is False else as_number(value)
    if found is None:
        return unscored("there is no score" if value is None else "the score is no number", held(value))
    if (low is not None and found < low) or (high is not None and found > high):
        return unscored(f"the score lies outside {low:g} to {high:g}", held(value))
    return scored(found, value_raw=held(value)) if isinstance(value, str) else found


def series(values: Sequence[object]) -> pl.Series:
    """Return the values of one member as a column: numbers, true and false, or text; text where they are of several kinds.

    Lists and objects are null.

    >>> series([1, None, 0.5]).to_list(), series(["a", 2.0, [1]]).to_list()
    ([1.0, None, 0.5], ['a', '2', None])
    """
    kinds = {*map(type, values)} - {type(None)}
    dtype = next((dtype for some, dtype in _DTYPES if kinds <= some), None)
    try:
        if dtype is not None:
            return pl.Series(values, dtype=dtype, strict=dtype != pl.Float64)
    except (OverflowError, TypeError, UnicodeEncodeError):  # more than 64 bits, or half of a character
        pass
    return pl.Series([*map(as_text, values)], dtype=pl.String)


def sample_columns(samples: Iterable[Scores]) -> pl.DataFrame:
    """Return what records of a block say as columns, for a format whose records mean something only beside each other."""
    said = list(samples)
    shared = columns_of_rows([of_all for of_all, _ in said], "outcomes", MAKERS)
    return with_outcomes(shared, [outcomes for _, outcomes in said]) if said else pl.DataFrame()


def with_outcomes(shared: pl.DataFrame, outcomes: Sequence[Sequence[tuple[str, Said]]]) -> pl.DataFrame:
    """Repeat what outcomes share for each of them, and put it beside what they say."""
    if any(len(found) != 1 for found in outcomes):
        shared = shared[[place for place, found in enumerate(outcomes) for _ in found]]
    metrics = texts([metric for found in outcomes for metric, _ in found])
    return shared.hstack([metrics.alias("metric"), *states([said for found in outcomes for _, said in found])])


def states(said: Sequence[Said]) -> pl.DataFrame:
    """Return scores, and what is said in place of one or beside it, as columns; a dict that comes again is looked at once.

    >>> states([1.0, unscored("no verdict"), 0.5])["status_reason"].to_list()
    [None, 'no verdict', None]
    """
    odd = {id(each): each for each in said if isinstance(each, dict)}
    if not odd:
        return _scored(pl.Series(said, dtype=pl.Float64))
    if len(odd) == len(said):  # each is one of its own
        frame = columns_of_rows([*odd.values()], "outcomes")
        lacking = (each.new_from_index(0, frame.height) for each in _SAYS_NOTHING if each.name not in frame.columns)
        frame = frame.hstack([*lacking])
        return frame[[*_OUTCOME, *(name for name in frame.columns if name not in _OUTCOME)]]
    places = {key: place for place, key in enumerate(odd, start=1)}
    rows: list[Row] = [{**_OUTCOME, "status": "scored"}, *odd.values()]
    frame = columns_of_rows(rows, "outcomes")[[places.get(id(each), 0) for each in said]]
    plain = [None if isinstance(each, dict) else each for each in said]
    return frame.with_columns(score=pl.coalesce(pl.Series(plain, dtype=pl.Float64), "score"))


def _scored(scores: pl.Series) -> pl.DataFrame:
    status, nothing = (each.new_from_index(0, len(scores)) for each in (_IS_SCORED, _NOTHING))
    return pl.DataFrame([status, nothing.alias("status_reason"), scores.alias("score"), nothing.alias("value_raw")])


def texts(values: Sequence[object]) -> pl.Series:
    """Return ids or labels as a column of text."""
    return text_of(series(values))


def floats(values: Values) -> pl.Series:
    """Return numbers as a column; what is none is null."""
    return _where(found := _numpy(values), np.isfinite(found))


def _numpy(values: Values) -> npt.NDArray[np.float64]:
    """Return numbers, NaN for what is none or not finite: for columns of a block NumPy takes a tenth of what expressions do."""
    found = values if isinstance(values, pl.Series) and _is_plain(values.dtype) else series([*values])
    is_plain = found.dtype.is_numeric() or found.null_count() == len(found)
    found = found.cast(pl.Float64) if is_plain else numbers_of(found)[0]
    number = found.to_numpy()
    return np.where(np.isfinite(number), number, np.nan)


def _is_plain(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or isinstance(dtype, pl.Boolean | pl.String)


def _where(numbers: npt.NDArray[np.float64], fits: npt.NDArray[np.bool_]) -> pl.Series:
    return pl.Series(np.where(fits, numbers, np.nan), nan_to_null=True)


def numbers(values: Sequence[object], low: float | None = None, high: float | None = None) -> pl.DataFrame:
    """Return what `number` says of each value, as the columns `status`, `status_reason`, `score` and `value_raw`.

    >>> numbers([1, None, 0.5])["status"].to_list()
    ['scored', 'unscored', 'scored']
    """
    found = series(values)
    if len(found) and found.dtype.is_numeric() and not found.null_count():
        score = found.cast(pl.Float64).to_numpy()
        lowest, highest = score.min(), score.max()  # NaN where one is
        inside = (low is None or lowest >= low) and (high is None or highest <= high)
        if inside and isfinite(lowest) and isfinite(highest):
            return _scored(found.cast(pl.Float64))
    return states(each_once(values, lambda value: number(value, low, high)))


def each_once(values: Sequence[object], say: Callable[[object], T]) -> list[T]:
    """Return what is said of each value; one that comes again is looked at once."""
    kinds = {*map(type, values)}
    if kinds <= {str, type(None)}:
        words = {value: say(value) for value in {*values}}
        return [words[value] for value in values]
    if kinds.isdisjoint(_PLAIN):  # a list is none of another
        return [*map(say, values)]
    known: dict[object, T] = {}
    found: list[T] = []
    for value in values:
        kind = type(value)
        key = (kind, value) if kind in _PLAIN else id(value)
        if key not in known:
            known[key] = say(value)
        found.append(known[key])
    return found


def verdicts(values: Sequence[object]) -> pl.DataFrame:
    """Return what `verdict` says of each value, as the columns `status`, `status_reason`, `score` and `value_raw`.

    >>> verdicts([True, None])["status"].to_list()
    ['scored', 'unscored']
    """
    found = series(values)
    if found.dtype == pl.Boolean and not found.null_count():
        return _scored(found.cast(pl.Float64))
    return states(each_once(values, verdict))


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_OUTCOME: Final[Row] = {"status": None, "status_reason": None, "score": None, "value_raw": None}
_SAYS_NOTHING: Final = [*columns_of_rows([_OUTCOME], "outcomes").iter_columns()]
_DTYPES: Final = (
    ({str}, pl.String),
    ({bool}, pl.Boolean),
    ({int}, pl.Int64),
    ({int, float}, pl.Float64),
)


def verdict(value: object) -> Said:
    """Return 1 or 0, where a value is one of these, true or false; else why there is no score.

    >>> verdict(True), verdict(0), verdict(None)["status"]
    (1.0, 0.0, 'unscored')
    """
    if value is True or value is False:
        return float(value)
    found = as_number(value)
    if found in (0.0, 1.0):
        return found
    return unscored("there is no verdict" if value is None else "the verdict is neither true nor false", held(value))


def with_said(shared: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Put states beside what outcomes share, whose `error` comes before what the values say, and its `status_reason` behind.

    >>> shared = pl.DataFrame({"item": ["a", "b"], "error": [None, "timeout"]})
    >>> with_said(shared, numbers([0.5, 0.0])).select("item", "status", "status_reason", "score").rows()
    [('a', 'scored', None, 0.5), ('b', 'error', 'timeout', None)]
    """
    if "status_reason" in shared.columns:
        reason = pl.coalesce(said["status_reason"], shared["status_reason"])
        shared, said = shared.drop("status_reason"), said.with_columns(reason.alias("status_reason"))
    if "error" in shared.columns and shared["error"].null_count() < shared.height:
        error, failed = shared["error"], shared["error"].is_not_null()
        said = said.with_columns(
            status=pl.when(failed).then(pl.lit("error")).otherwise("status"),
            status_reason=pl.coalesce(error, "status_reason"),
            value_raw=pl.when(failed).then(pl.coalesce("value_raw", text_of(said["score"]))).otherwise("value_raw"),
            score=pl.when(~failed).then("score"),
        )
    return shared.drop("error", strict=False).hstack(said)


def unscored_where(frame: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    """Return outcomes without the scores for which there is a reason why they are none.

    >>> frame = pl.DataFrame({"item": ["a", "b"]}).hstack(numbers([0.5, 0.0]))
    >>> unscored_where(frame, pl.when(pl.col("score") == 0).then(pl.lit("not run"))).select("status", "score").rows()
    [('scored', 0.5), ('unscored', None)]
    """
    none = reason.is_not_null() & (pl.col("status") != "error")
    return frame.with_columns(
        status=pl.when(none).then(pl.lit("unscored")).otherwise("status"),
        status_reason=pl.when(none).then(reason).otherwise("status_reason"),
        value_raw=pl.when(none).then(pl.coalesce("value_raw", text_of(frame["score"]))).otherwise("value_raw"),
        score=pl.when(~none).then("score"),
    )


def first_lines(values: Sequence[object]) -> pl.Series:
    r"""Return messages as their first lines, short enough for a table; null where there is none.

    >>> first_lines(["APIError: 500\n  at line 3", "", None]).to_list()
    ['APIError: 500', None, None]
    """
    return pl.Series(each_once(values, lambda value: first_line(value) or None), dtype=pl.String)


def _errors(values: Sequence[object]) -> pl.Series:
    """Return what went wrong, which may be an object; null where nothing did."""
    return first_lines(
        [held(cast("object", value)) if value and isinstance(value, dict | list) else value or None for value in values]
    )


def _tags(values: Sequence[object]) -> pl.Series:
    return lists_of_texts("tags", [[text for part in as_list(each) if (text := as_text(part))] for each in values])


# What a column is read with; a factor is numbers, true and false, or text.
_READ: Final[Mapping[str, Callable[[list[object]], pl.Series]]] = {
    **{
        column.name: texts
        for table in ("outcomes", "comparisons", "runs")
        for column in TABLES[table]
        if column.dtype == pl.String
    },
    **MAKERS,
    **dict.fromkeys(("trial", "n_trials", "api_calls"), counts),
    "tags": _tags,
    "error": _errors,
    "_failed": _errors,
    "status_reason": first_lines,
}


def members_of(records: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the names of the members that records have, in their order."""
    return [*dict.fromkeys(chain.from_iterable(records))]


def column_of(name: str, values: list[object]) -> pl.Series:
    """Return values as the column of this name.

    One that begins with `_` holds texts, with `_n_` or `length_` counts, with `_v_` what the file has; so does any other factor.
    """
    by_name = counts if name.startswith(_COUNTED) else texts if name[0] == "_" and name[1:3] != "v_" else series
    return _READ.get(name, by_name)(values).alias(name)


def _turned(records: Sequence[object]) -> dict[str, list[object]] | None:
    """Return the members of objects that all have the same as columns, which looks at each object once; else None."""
    if not records or type(records[0]) is not dict or {*map(type, records)} != {dict}:
        return None
    if len({*map(tuple, cast("Sequence[Row]", records))}) > 1:
        return None
    rows = cast("Sequence[Row]", records)
    return dict(zip(rows[0], map(list, zip(*(row.values() for row in rows), strict=True)), strict=True))


def values_at(
    records: Sequence[object], paths: str, absent: object = None, turned: Mapping[str, list[object]] | None = None
) -> list[object]:
    """Return what records hold at a path, or at the first of several that has something in it.

    >>> values_at([{"a": {"b": [7, 8]}}, {"c": 9}], "a.b.1 c")
    [8, 9]
    """
    first, *others = (_at(records, path, absent, turned) for path in paths.split(" "))
    for other in others:
        pairs = zip(first, other, strict=True)
        first = [b if b is not absent and (a is absent or a is None or a == "") else a for a, b in pairs]
    return first


def _at(
    records: Sequence[object], path: str, absent: object, turned: Mapping[str, list[object]] | None
) -> list[object]:
    # In delimited text a name with points in it is one.
    told = "." in path and bool(records) and isinstance(records[0], dict)
    holders = [turned] if turned is not None else records if told else ()
    whole = any(isinstance(each, dict) and path in each for each in holders)
    names = [path] if whole else path.split(".")
    if turned is not None:
        records, names = turned.get(names[0]) or [absent] * len(records), names[1:]
    for name in names:
        records = _members(records, name, absent)
    return cast("list[object]", records)


def _members(values: Sequence[object], name: str, absent: object) -> list[object]:
    """Return one member of each value."""
    kinds = {*map(type, values)}
    structs = [kind for kind in kinds if issubclass(kind, Struct)]
    if name == "#":
        return [len(cast("str", value)) if type(value) in {str, list} else absent for value in values]
    if len(structs) + len(kinds & {dict, list}) > 1:
        return [_member(value, name, absent) for value in values]
    if dict in kinds:
        rows = cast("Sequence[Row]", values)
        if len(kinds) == 1:
            return [value.get(name, absent) for value in rows]
        return [value.get(name, absent) if type(value) is dict else absent for value in rows]
    if list in kinds and name.isdecimal():
        place, lists = int(name), cast("Sequence[list[object]]", values)
        return [value[place] if type(value) is list and len(value) > place else absent for value in lists]
    if not structs or name not in (attributes := _attributes(structs[0])):
        return [absent] * len(values)
    read = attrgetter(attributes[name])
    if len(kinds) == 1:
        return [*map(read, values)]
    return [read(value) if isinstance(value, Struct) else absent for value in values]


def _member(value: object, name: str, absent: object) -> object:
    if isinstance(value, dict):
        return cast("Row", value).get(name, absent)
    if isinstance(value, Struct):
        attribute = _attributes(type(value)).get(name)
        return absent if attribute is None else getattr(value, attribute)
    if isinstance(value, list) and name.isdecimal():
        listed = cast("list[object]", value)
        return listed[int(name)] if int(name) < len(listed) else absent
    return absent


@cache
def _attributes(kind: type[Struct]) -> dict[str, str]:
    return {field.encode_name: field.name for field in msgspec.structs.fields(kind)}


class _Tree(dict[str, "_Tree"]):
    """The members of a record by name; "" is there where one is read as it is."""


def record_of(fields: Iterable[str], scores: Sequence[str], *, keyed: bool = False) -> type[Struct]:
    """Make the typed record that has the members which paths name: what else a record holds is passed over.

    What may be absent (`?`) is UNSET then, any other member null.
    """
    tree, wanted = _Tree(), [paths.replace(" | ", " ").removesuffix("?").split(" ") for paths in scores]
    unset = [path for paths, every in zip(scores, wanted, strict=True) if paths.endswith("?") for path in every]
    for path in chain.from_iterable([*(paths.split(" ") for paths in fields), *wanted]):
        node = tree
        for name in path.split("."):
            if name.isdecimal() or name[:1] in {"*", "#"}:
                break
            node = node.setdefault(name, _Tree())
        node.setdefault("", _Tree())
    if keyed:
        tree.setdefault("key", _Tree())
    return _struct(tree, "", frozenset(unset), keyed=keyed)


def _struct(tree: _Tree, before: str, scores: frozenset[str], *, keyed: bool = False) -> type[Struct]:
    fields: list[tuple[str, Any, object]] = []
    names: dict[str, str] = {}
    for place, (marked, inner) in enumerate((marked, inner) for marked, inner in tree.items() if marked):
        path, name = f"{before}{marked}", marked.removesuffix("[]")
        own = name if keyed else f"m{place}"
        kind: Any = str if keyed and name == "key" else Any
        if "" not in inner and inner:
            inside = _struct(inner, f"{path}.", scores) | Other
            kind = list[inside] | Plain if path.endswith("[]") else inside
        names[own] = name
        fields.append((own, kind, UNSET if path in scores else None))
    return msgspec.defstruct("Record", fields, rename=names, gc=False)


class RecordBlock:
    """Records of a block, or, with `each`, the elements of a list in each of them, which are its trials."""

    def __init__(self, records: Sequence[object], each: str = "") -> None:
        self.records, self._each = records, each
        self._turned = _turned(records)
        self._elements: list[object] = []
        self.parents: npt.NDArray[np.int64] = np.arange(len(records))
        self.trials: list[int] = []
        self.without: list[int] = []
        if each:
            lists = [as_list(value) for value in values_at(records, each)]
            self.without = [place for place, listed in enumerate(lists) if not listed]
            self._elements = [*chain.from_iterable(lists)]
            self.parents = np.repeat(self.parents, [*map(len, lists)])
            self.trials = [trial for listed in lists for trial in range(len(listed))]

    def at(self, paths: str | Callable[[Any], object], absent: object = None) -> list[object]:
        """Return what each row holds at a path, or what a function says of its record."""
        inside = f"{self._each}[]"
        if paths == inside:
            return self._elements
        if isinstance(paths, str) and paths.startswith(f"{inside}."):
            return values_at(self._elements, paths.replace(f"{inside}.", ""), absent)
        records, turned = self.records, self._turned
        known = values_at(records, paths, absent, turned) if isinstance(paths, str) else [*map(paths, records)]
        return [known[place] for place in self.parents] if self._each else known

    def located(self, locators: pl.Series) -> pl.Series:
        """Return where each row stands, from where the records do."""
        if not self._each:
            return locators
        member = "" if self._each == "value" else f".{self._each}"
        places = pl.DataFrame(
            {"of": locators.gather(self.parents), "trial": self.trials}, {"of": pl.String, "trial": pl.Int64}
        )
        return places.select(pl.format(f"{{}}{member}[{{}}]", "of", "trial")).to_series()

    def named(self, members: Mapping[str, str], absent: object = UNSET) -> Iterator[tuple[str, list[object]]]:
        """Yield each metric with the values of a member, whose name may hold anything."""
        for metric, name in members.items():
            if self._turned is None:
                yield metric, _members(self.records, name, absent)
            else:
                yield metric, self._turned.get(name) or [absent] * len(self.records)

    def scores(self, declared: Mapping[str, str]) -> Iterator[tuple[str, list[object]]]:
        """Yield each metric with its values, which are UNSET where a row has none: with `?` behind a path it may be absent.

        `*` in a path stands for each member of an object, `**` for what lies in it however deep, `*key` for each object in a
        list, called by that member of it; and `*` in the name of the metric for what it is called. Several such have ` | `
        between them.

        >>> block = RecordBlock([{"marks": [{"name": "tone", "value": 1}]}, {"marks": []}])
        >>> list(block.scores({"score/*": "marks.*name.value"}))
        [('score/tone', [1, UNSET])]
        """
        every = ((metric, path) for metric, paths in declared.items() for path in paths.split(" | "))
        for metric, path in every:
            before, star, after = path.partition(".*")
            if not star:
                yield metric, self.at(path.removesuffix("?"), UNSET if path.endswith("?") else None)
                continue
            key, _, behind = after.partition(".")
            for name, values in _named_values(self.at(before), key):
                yield metric.replace("*", name), values_at(values, behind, UNSET) if behind else values


def _named_values(values: Sequence[object], key: str) -> Iterator[tuple[str, list[object]]]:
    if key not in {"", "*"}:
        values = [{as_text(each.get(key)): each for each in dicts(value)} for value in values]
    objects = [cast("Row", value) if isinstance(value, dict) else {} for value in values]
    for name in dict.fromkeys(chain.from_iterable(objects)):
        found, label = [each.get(name, UNSET) for each in objects], as_text(name) or ""
        if key == "*" and any(isinstance(value, dict) for value in found):
            yield from ((f"{label}/{inner}", inside) for inner, inside in _named_values(found, key))
            found = [UNSET if isinstance(value, dict) else value for value in found]
        if label and any(value is not UNSET for value in found):
            yield label, found


def outcomes_of(
    shared: pl.DataFrame,
    scores: Iterable[tuple[str, list[object]]],
    metrics: Mapping[str, Row],
    reads: Callable[[object], Said | UnsetType] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Repeat what the outcomes of records share for each metric that a record has a value of, in the order of the records.

    `reads` says what a value means that is no plain number or verdict, or UNSET where it means nothing. The second frame is of
    the records that have a value of none.
    """
    there: list[npt.NDArray[np.bool_]] = []
    parts: list[pl.DataFrame] = []
    for metric, given in scores:
        values = (
            given if reads is None else [*each_once(given, lambda value: UNSET if value is UNSET else reads(value))]
        )
        present = np.ones(len(values), dtype=np.bool_)
        plain: list[Any] = list(values)
        if UnsetType in {*map(type, values)}:
            present = np.array([value is not UNSET for value in values], dtype=np.bool_)
            plain = [None if value is UNSET else value for value in values]
        there.append(present)
        said = _said(plain, facts_of(metric, metrics)) if reads is None else states(cast("list[Said]", plain))
        parts.append(said.hstack([pl.Series("metric", [metric]).new_from_index(0, said.height)]))
    n, k = shared.height, len(parts)
    if not n or not k:
        return shared.clear(), shared
    if k == 1 and there[0].all():
        return with_said(shared, parts[0]), shared.clear()
    has, places = np.array(there), np.arange(n * k).reshape(k, n).T.ravel()
    places = places[has.ravel()[places]]
    return with_said(shared[places % n], pl.concat(parts)[places]), shared.filter(
        pl.Series(np.atleast_1d(~has.any(axis=0)))
    )


def of_words(words: Mapping[str, float]) -> Callable[[object], Said]:
    """Return what reads words that stand for a score.

    >>> of_words({"pass": 1.0})("pass")["score"], of_words({"pass": 1.0})("no")["status"]
    (1.0, 'unscored')
    """
    known = {word: scored(score, value_raw=word) for word, score in words.items()}

    def reads(value: object) -> Said:
        return (known.get(value) if isinstance(value, str) else None) or verdict(value)

    return reads


def facts_of(metric: str, metrics: Mapping[str, Row]) -> Row:
    """Return what is declared of a metric, by its name or the first pattern that fits it ("score/*")."""
    fit = (facts for name, facts in metrics.items() if "*" in name and fnmatchcase(metric, name))
    return metrics.get(metric) or next(fit, Row())


def _said(values: list[object], facts: Row) -> pl.DataFrame:
    """Return the states of a metric's values, as far as its facts say what they may be."""
    if facts.get("kind") == "binary" or ("kind" not in facts and {*map(type, values)} == {bool}):
        return verdicts(values)
    return numbers(values, as_number(facts.get("low")), as_number(facts.get("high")))
