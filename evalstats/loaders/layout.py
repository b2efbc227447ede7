"""What the paths of tables say that their columns do not: whose results they are, of which task, metric, judge, day, repetition.

A layout is a template of paths, such as `{model}/{benchmark}` or `{model}__{benchmark}`: the user's (`files=` of a column map),
or the one that the files show. Names say first what a part of a path is: a model, benchmark, metric, judge or repetition. Where
they say nothing, models share items, and tasks do not.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Final

import msgspec

from evalstats.errors import InputError, Option
from evalstats.loaders.base import Source, readable_name
from evalstats.loaders.column_map import FIELD
from evalstats.loaders.roles import (
    LANGUAGES,
    SIDES,
    is_called_score,
    is_known_benchmark,
    names_a_benchmark,
    names_a_judge,
    names_a_model,
    names_a_repetition,
    words_of,
)

# Of a grid of models and tasks so much is there.
_NEARLY: Final = 0.8
# Files share items where so many of the smaller one's are in both, and share none where no more than so many are.
_SHARED, _APART = 0.5, 0.1
# What may stand between two parts of a file's name, and so many pairs of files are compared.
_BETWEEN: Final = ("__", "--", "@", "_", "-", ".", " ")
_PAIRS: Final = 60
# So many readings of one name are looked at.
_READINGS: Final = 50
# Files whose items are merely numbered are tasks where there are so many; two may be two gradings of the same answers.
_HARDLY_GRADINGS: Final = 3
_NUMBERS: Final = re.compile(r"\d+(?:[-_:T]\d+)*")
# A day, with or without its time.
_TIME: Final = re.compile(
    r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?:[-_.T ]?(\d\d)[-_.:]?(\d\d)(?:[-_.:]?(\d\d))?Z?)?(?!\d)"
)
_ANY: Final = "*"
# What the names of files alone may say.
_NAMED: Final = frozenset({"metric", "judge", "variant"})


class Contents(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a table holds, as far as its layout goes: items of its first rows with what they ask, and the models that it names.

    `says` are the standard columns that it has or is given, `every_item` reads the items of all rows.
    """

    questions: Mapping[str, str]
    models: frozenset[str] = frozenset()
    says: frozenset[str] = frozenset()
    every_item: Callable[[], frozenset[str]]

    @cached_property
    def items(self) -> frozenset[str]:
        """The items of all rows."""
        return self.every_item()

    def shares_items(self, other: "Contents") -> bool | None:
        """Whether the items of another table are the same; None where that is not clear."""
        both = self.questions.keys() & other.questions.keys()
        if not (fewer := min(len(self.questions), len(other.questions))):
            return None  # its rows have no names
        if len(both) > _SHARED * fewer and not all(map(str.isdecimal, both)):
            return True
        # Numbers may count the items of each file anew.
        asked = [self.questions[item] == other.questions[item] for item in both if self.questions[item]]
        if asked:
            return 2 * sum(asked) > len(asked)
        if self.counts and other.counts:
            return None if len(self.items) == len(other.items) else False
        common = len(self.items & other.items) / max(min(len(self.items), len(other.items)), 1)
        return True if common > _SHARED else False if common <= _APART else None

    @property
    def counts(self) -> bool:
        """Whether items are merely numbered."""
        first = 0 if "0" in self.items else 1
        return self.items == frozenset(str(k) for k in range(first, len(self.items) + first))


def _may_count(contents: Sequence[Contents]) -> bool:
    """Whether items may be numbered anew in each file, also behind a word: q1, q2, ..."""
    words = {re.sub(r"\d+", "", item) for each in contents for item in each.questions}
    return len(words) == 1 and not any(any(each.questions.values()) for each in contents)


def values_by_path(template: str, paths: Sequence[Path]) -> list[dict[str, str]]:
    """Return what each path says by a template, which is held against its last parts; a role that stands twice is joined.

    The template may have the ending of the files. A name that can be taken apart in several places is taken apart so that its
    parts are those of other names too.

    >>> values_by_path("{model}_{task}", [Path(f"{m}_{t}.csv") for m in ("gpt_4", "o1") for t in ("arc", "law")])[0]
    {'model': 'gpt_4', 'task': 'arc'}
    """
    parts = [_parts(path) for path in paths]
    endings = {path.name.removeprefix(each[-1]) for path, each in zip(paths, parts, strict=True)}
    patterns = (template.removesuffix(endings.pop()) if len(endings) == 1 else template).split("/")
    found: list[dict[str, str]] = [{} for _ in paths]
    for place, pattern in enumerate(patterns, start=-len(patterns)):
        texts = [each[place] if len(each) >= -place else "" for each in parts]
        roles = [role or _ANY for role in re.findall(r"\{(\w+)\}|\*", pattern)]
        readings = {text: _readings(pattern, text) for text in {*texts}}
        for path, text in zip(paths, texts, strict=True):
            if not readings[text]:
                raise InputError(
                    f"{path} does not fit {Option('map', template, of='files')}; give a template of its path"
                )
        counts = Counter((k, value) for text in texts for each in readings[text] for k, value in enumerate(each))
        for said, text in zip(found, texts, strict=True):
            best = max(readings[text], key=lambda each: prod(counts[pair] for pair in enumerate(each)))
            for role, value in zip(roles, best, strict=True):
                if role == _ANY:
                    continue
                said[role] = f"{said[role]}/{value}" if role in said else value
    return found


def _parts(path: Path) -> list[str]:
    """Return the folders of a path and the name of its file without the ending."""
    return [*map(readable_name, path.absolute().parts[:-1]), Source(path=path).stem]


def _readings(pattern: str, text: str) -> list[tuple[str, ...]]:
    """Return the ways in which a text fits one part of a template: what stands for its roles and stars.

    >>> _readings("{a}_{b}", "x_y_z"), _readings("run-{a}", "run-1"), _readings("*", "x"), _readings("{a}.{b}", "x")
    ([('x', 'y_z'), ('x_y', 'z')], [('1',)], [('x',)], [])
    """
    tokens = [token for token in re.split(r"(\{\w+\}|\*)", pattern) if token]

    def fits(at: int, start: int) -> Iterator[tuple[str, ...]]:
        if at == len(tokens):
            if start == len(text):
                yield ()
        elif tokens[at] == _ANY or FIELD.fullmatch(tokens[at]):
            for end in range(start + 1, len(text) + 1):
                for rest in fits(at + 1, end):
                    yield (text[start:end], *rest)
        elif text.startswith(tokens[at], start):
            yield from fits(at + 1, start + len(tokens[at]))

    return [reading for _, reading in zip(range(_READINGS), fits(0, 0), strict=False)]


def equally_deep(files: Sequence[tuple[Path, Contents]]) -> list[tuple[Path, Contents]]:
    """Return the files of a layout without the few that lie elsewhere: a summary above them, an old copy below."""
    depths = [len(path.absolute().parts) for path, _ in files]
    ((depth, n_files),) = Counter(depths).most_common(1) or [(0, 0)]
    return [file for file, own in zip(files, depths, strict=True) if own == depth or n_files < _NEARLY * len(files)]


def layout_of(
    files: Sequence[tuple[Path, Contents]], *, sides: bool = False, asked: Collection[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the layout of tables that name no tasks; "" where they show none: then each is what it is called.

    The coarsest template counts under which it is clear of each part of a path what it is. With `sides`, files of two folders
    are compared, which are then the models, and so is what bears the names that are `asked` for. Beside it stand the layouts that
    may be meant where that is not clear.
    """
    paths, contents = [path for path, _ in files], [held for _, held in files]
    parts = [_parts(path) for path in paths]
    named = {bool(held.models) for held in contents}
    if len({*map(tuple, parts)}) < 2 or len({*map(len, parts)}) > 1 or len(named) > 1:
        return "", ()
    columns = [*zip(*parts, strict=True)]
    first = next(k for k, texts in enumerate(columns) if len({*texts}) > 1)
    has_model = True in named
    perhaps: tuple[str, ...] = ()
    of_one = ""
    for template, fields in _grids(columns[first:], paths):
        roles = _roles(template, fields, contents, has_model=has_model, sides=sides, asked=asked)
        is_clear, model = "" not in roles, has_model or "model" in roles
        if is_clear and model:
            says_more = {*roles} - {"model", _ANY} or (not has_model and len(fields) > 1)
            return _filled(template, roles) if says_more else of_one, ()
        if is_clear and not of_one and first > 1 and _are_of_one_model(roles, fields, contents):
            names = template.split("/")
            own = [name for name in names if names_a_model(name) and not FIELD.search(name)]
            names = ["{model}" if name in own else name for name in names] if own else ["{model}", *names]
            of_one = _filled("/".join(names), roles)
        if not perhaps and first > 1:
            perhaps = () if _are_sides(fields) else _perhaps(template, roles, has_model=has_model)
    return of_one, () if of_one else perhaps


def time_in(text: str) -> datetime | None:
    """Return the time, in UTC, that a part of a path says; None where it is no date.

    >>> [str(time_in(text)) for text in ("2025-10-01", "20251001_093000", "2025-13-01", "2025")]
    ['2025-10-01 00:00:00+00:00', '2025-10-01 09:30:00+00:00', 'None', 'None']
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, _, *others = found.groups(default="0")
    try:
        return datetime(int(year), *map(int, others), tzinfo=UTC)
    except ValueError:
        return None


def _are_of_one_model(roles: Sequence[str], fields: Sequence[tuple[str, ...]], contents: Sequence[Contents]) -> bool:
    """Whether files that name no model are runs, repetitions, metrics or judgements of one, or its tasks."""
    if roles != ["benchmark"]:
        return not {"timestamp", "trial", *_NAMED}.isdisjoint(roles)
    names = {*fields[0]}
    return _called(names) == "benchmark" or (
        len(names) >= _HARDLY_GRADINGS and not (_are_sides(fields) or _may_count(contents))
    )


def _grids(columns: Sequence[tuple[str, ...]], paths: Sequence[Path]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return the templates under which files make a grid, with the values of each field.

    Those with a field that says it is a repetition or a date come first, then the coarsest. Where each model has seeds of its
    own, these count as its first, second and so on.
    """
    found: list[tuple[str, list[tuple[str, ...]]]] = []
    # A part of a template: a field where the paths vary.
    alike = [_ANY if re.search(r"[{}*]", texts[0]) else texts[0] for texts in columns]
    whole = ["{}" if len({*texts}) > 1 else same for texts, same in zip(columns, alike, strict=True)]
    cut = [[*whole[:k], cut, *whole[k + 1 :]] for k, texts in enumerate(columns) for cut in _cuts(texts)]
    for patterns in (whole, *cut):
        numbers = iter(range(_READINGS))
        template = re.sub("{}", lambda _, numbers=numbers: f"{{{next(numbers)}}}", "/".join(patterns))
        fields = [*zip(*(said.values() for said in values_by_path(template, paths)), strict=True)]
        vary = min(len({*values}) for values in fields) > 1
        nested = [_numbered(fields, k) for k, values in enumerate(fields) if vary and _may_repeat(values, template, k)]
        found += [(template, each) for each in (fields, *nested) if vary and _are_crossed(each)][:1]
    told = (names_a_repetition, time_in)
    return sorted(
        found, key=lambda grid: (not any(all(map(says, values)) for says in told for values in grid[1]), len(grid[1]))
    )


def _are_crossed(fields: Sequence[Sequence[str]]) -> bool:
    """Whether nearly each value of each field stands with each of all others, once."""
    n_files, n_cells = len(fields[0]), prod(len({*values}) for values in fields)
    return len({*zip(*fields, strict=True)}) == n_files >= _NEARLY * n_cells


def _numbered(fields: Sequence[tuple[str, ...]], k: int) -> list[tuple[str, ...]]:
    """Return the fields, of which one is numbered anew within the others.

    >>> _numbered([("a", "a", "b", "b"), ("seed1", "seed2", "seed41", "seed42")], 1)[1]
    ('seed1', 'seed2', 'seed1', 'seed2')
    """
    others = [*fields[:k], *fields[k + 1 :]]
    days = sorted({*fields[k]}) if all(map(time_in, fields[k])) else []
    so_far: Counter[tuple[str, ...]] = Counter()
    numbered: list[str] = []
    for row, value in enumerate(fields[k]):
        group = tuple(values[row] for values in others)
        so_far[group] += 1
        place = so_far[group]
        numbered.append(days[place - 1] if days else f"{names_a_repetition(value)}{place}")
    return [*fields[:k], tuple(numbered), *fields[k + 1 :]]


def _cuts(texts: Sequence[str]) -> list[str]:
    """Return how one part of paths may be taken apart, in two or three, or a date taken out of it."""
    if len({*texts}) == 1:
        return []
    # Versions of a model are called by dates, too (`gpt-4o-2024-08-06`).
    dated = {_TIME.sub("{}", text) for text in texts}
    alike = [text for text in dated if len(dated) == 1 and text.count("{") == 1 and not names_a_model(text)]
    inside = [between for between in _BETWEEN if all(between in text.strip(between) for text in texts)]
    pairs = [(one, other) for one in inside for other in inside]
    return [
        *alike,
        *(f"{{}}{one}{{}}" for one in inside),
        *(
            f"{{}}{one}{{}}{other}{{}}"
            for one, other in pairs
            if all(map(re.compile(f".+{re.escape(one)}.+{re.escape(other)}.+").fullmatch, texts))
        ),
    ]


def _roles(
    template: str,
    fields: Sequence[tuple[str, ...]],
    contents: Sequence[Contents],
    *,
    has_model: bool,
    sides: bool,
    asked: Collection[str],
) -> list[str]:
    """Return what each field is: model, benchmark, ..., "*" for none of the roles, "" where that is not clear."""
    roles: list[str] = []
    for k, values in enumerate(fields):
        same = _shared([each for at, each in enumerate(fields) if at != k], contents)
        if True in same and same.count(False) > _APART * len(same):
            return [""] * len(fields)
        is_side = sides and k == 0 and len({*values}) > 1 and _is_whole(template, k)
        is_side = not has_model and (is_side or bool({*asked} & {*values}))
        # Of several fields, one of numbers alone counts the repetitions of what shares items.
        repeats = _may_repeat(values, template, k) and (
            all(map(names_a_repetition, values)) or (True in same and len(fields) > 1)
        )
        roles.append("model" if is_side else _role(values, same, contents, repeats=repeats, has_model=has_model))
    unclear = [k for k, role in enumerate(roles) if not role]
    if len(unclear) == 1:
        values = fields[unclear[0]]
        if not (has_model or "model" in roles):
            roles[unclear[0]] = "model"
            return roles
        names = {re.sub(r"\d+", "", value) for value in values}
        if _is_whole(template, unclear[0]) and len(names) >= _HARDLY_GRADINGS:
            roles[unclear[0]] = "benchmark"
    return roles


def _role(
    values: Sequence[str], same: Sequence[bool | None], contents: Sequence[Contents], *, repeats: bool, has_model: bool
) -> str:
    """Return what one field is, by its names and by whether files that are alike in the others share items (`same`)."""
    if len({*values}) > 1 and all(map(time_in, values)):
        return "timestamp"
    apart = bool(same) and same.count(False) == len(same)
    parts = len({re.sub(r"\d+", "", value) for value in values}) < len({*values})
    if len({*values}) < 2 or (not same and has_model) or (apart and parts and not _mostly(names_a_benchmark, values)):
        return _ANY
    called = _called(values)
    called = "" if any(called in each.says for each in contents) else called
    if called in _NAMED and not apart:
        return called
    if called == "benchmark" and (True not in same or _may_count(contents)):
        return called
    if apart and called != "model":
        return "benchmark"
    if repeats:
        return "trial"
    if True in same or _mostly(names_a_model, values):
        return "model"
    return "benchmark" if _mostly(names_a_benchmark, values) else ""


def _called(values: Iterable[str]) -> str:
    """Return what names of files or folders say that they are; "" where they say nothing.

    >>> [
    ...     _called(names.split())
    ...     for names in ("gpt4_judge judge_b", "accuracy toxicity", "gpt-4o o1", "arc mmlu", "en de", "a b")
    ... ]
    ['judge', 'metric', 'model', 'benchmark', 'variant', '']
    """
    if all(names_a_judge(words_of(value)) for value in values):
        return "judge"
    if all(map(is_called_score, values)):
        return "metric"
    if all(value.lower() in LANGUAGES for value in values):
        return "variant"
    return "model" if _mostly(names_a_model, values) else "benchmark" if _mostly(is_known_benchmark, values) else ""


def _shared(others: Sequence[tuple[str, ...]], contents: Sequence[Contents]) -> list[bool | None]:
    """Return whether files share items that are alike in all other fields; of those that name models, files of one model."""
    groups: dict[tuple[str, ...], list[Contents]] = {}
    for k, held in enumerate(contents):
        groups.setdefault(tuple(values[k] for values in others), []).append(held)
    pairs = [
        pair
        for group in groups.values()
        for pair in combinations(group, 2)
        if not pair[0].models or pair[0].models & pair[1].models
    ]
    return [one.shares_items(other) for one, other in pairs[:: max(len(pairs) // _PAIRS, 1)]]


def _is_whole(template: str, k: int) -> bool:
    """Whether a field is a folder, or a file's name."""
    return f"{{{k}}}" in template.split("/")


def _may_repeat(values: Iterable[str], template: str, k: int) -> bool:
    """Whether a field may be a repetition, by its values: seeds and runs, or a folder's or file's number."""
    return all(map(names_a_repetition, values)) or (_is_whole(template, k) and all(map(_NUMBERS.fullmatch, values)))


def _mostly(says: Callable[[str], bool], values: Iterable[str]) -> bool:
    named = [says(value) for value in {*values}]
    return 2 * sum(named) > len(named)


def _filled(template: str, roles: Sequence[str]) -> str:
    """Return a template with its roles."""
    said = {str(k): _ANY if role == _ANY else f"{{{role}}}" for k, role in enumerate(roles)}
    return FIELD.sub(lambda field: said.get(field[1], field[0]), template)


def _are_sides(fields: Sequence[tuple[str, ...]]) -> bool:
    """Whether paths say in one place alone what is compared: models, or the arms of a test."""
    return len(fields) == 1 and _mostly(lambda value: names_a_model(value) or value.lower() in SIDES, fields[0])


def _perhaps(template: str, roles: Sequence[str], *, has_model: bool) -> tuple[str, ...]:
    """Return the templates that may be meant where it is not clear of one or two parts of a path what they are."""
    unclear = [k for k, role in enumerate(roles) if not role]
    if roles == ["benchmark"]:
        return (f"{{model}}/{_filled(template, roles)}",)
    pairs = [("model", "benchmark"), ("benchmark", "model")]
    ways = pairs if len(unclear) == 2 else [("benchmark",), ("trial",)] if len(unclear) == 1 else []
    filled = [
        [way[unclear.index(k)] if k in unclear else role for k, role in enumerate(roles)]
        for way in ways
        if len(unclear) == 1 or not (has_model or "model" in roles)
    ]
    return tuple(_filled(template, each) for each in filled)
