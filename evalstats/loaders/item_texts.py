"""What was asked and answered in single items, read again from the files that they came from.

A locator leads to a record whatever wrote the file: a line, a row, a place in a document, a member of an archive. Which of its
members are texts a format says in `texts`, as dotted paths; else the usual names are looked for. Only files of the source are
opened: a locator names no path.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, cast

from evalstats.errors import InputError, Option
from evalstats.grammar import comma_list, plural
from evalstats.loaders.base import Loader, SingleFileLoader, Source, read_head, readable_name
from evalstats.loaders.blocks import oriented, rows_at
from evalstats.loaders.files import cell_value, load_json
from evalstats.loaders.inspect_log import is_archive, open_archive
from evalstats.loaders.registry import plan, sniffed
from evalstats.loaders.rows import Row
from evalstats.loaders.table import LOADER as TABLE
from evalstats.loaders.typed_records import PlainRecords
from evalstats.loaders.values import as_dict, as_list, as_text, dicts, json_text
from evalstats.regular import digest_of
from evalstats.schema.columns import USUAL_TEXTS, plain

_NUMBERED: Final = re.compile(r"(?:line|row) (\d{1,15})(.*)", re.DOTALL)
_ROW: Final = re.compile(r"(.*)\[(\d{1,15})\]", re.DOTALL)
_INDEX: Final = re.compile(r"\[(\d{1,15})\]")
_DEEPEST: Final = 12


def texts_of_rows(
    rows: Collection[tuple[str, str]], paths: Iterable[Path], *, most_chars: int
) -> dict[tuple[str, str], dict[str, str]]:
    """Return the texts of rows, each named by the digest of its source and its locator.

    `paths` are the files that were read. Each text ("question", "expected", "answer") is cut behind `most_chars`.

    Raises
    ------
    InputError
        If no file has a digest that is asked for: it is not there, or has changed since it was read.
    """
    sources = _sources({digest for digest, _ in rows}, [*dict.fromkeys(paths)])
    found: dict[tuple[str, str], dict[str, str]] = {}
    for digest, (loader, source) in sources.items():
        declared: Mapping[str, str] = getattr(loader, "texts", {})
        locators = {locator for each, locator in rows if each == digest}
        for locator, record in _records(source, locators):
            found[digest, locator] = _texts(record, declared, most_chars)
    return found


def _sources(digests: set[str], paths: list[Path]) -> dict[str, tuple[Loader, Source]]:
    """Return the source of each digest among the files, or among those that lie beside them; every one is read again for it."""
    found: dict[str, tuple[Loader, Source]] = {}
    folders = [path for path in paths if path.is_dir()]
    for path in (path for path in paths if path.is_file()):
        digest, match = digest_of(path), sniffed(read_head(path))[0]
        loader = TABLE if match is None else match[0]
        if digest in digests:
            found[digest] = loader, Source(path=path, digest=digest)
        elif not isinstance(loader, SingleFileLoader) and getattr(loader, "grouped", folders) is not None:
            folders.append(path.parent)  # the digest is that of files which belong together
    if digests - found.keys() and folders:
        planned = plan(dict.fromkeys(folders))[0]
        found |= {each.source.digest: (each.loader, each.source) for each in planned if each.source.digest in digests}
    if missing := digests - found.keys():
        named = comma_list(map(str, paths), 3) if paths else "this folder"
        raise InputError(
            f"{plural(len(missing), 'source')} of these items cannot be found again in {named}: moved, or changed since it was "
            f"read (its SHA-256 is another); name the files as they were, {Option('source', blank='PATH')}, or compare them anew"
        )
    return found


def _records(source: Source, locators: Collection[str]) -> Iterator[tuple[str, Row]]:
    """Yield the record at each locator, with what stands around it in its document; what stands nearest counts."""
    files: dict[Path, dict[str, str]] = {}
    for locator in locators:
        path, rest = source.path, locator
        files_of = (*source.companions, source.path)
        names = {
            name: each
            for each in files_of
            for name in (readable_name("/".join(each.parts[-2:])), readable_name(each.name))
        }
        named = max((name for name in names if locator.startswith(name)), key=len, default="")
        if named:
            path, rest = names[named], locator.removeprefix(named).lstrip(" ")
        files.setdefault(path, {})[rest] = locator
    for path, places in files.items():
        numbered: dict[int, list[tuple[str, str]]] = {}
        inside: dict[str, str] = {}
        for place, locator in places.items():
            if match := _NUMBERED.fullmatch(place):
                numbered.setdefault(int(match[1]), []).append((match[2], locator))
            else:
                inside[place] = locator
        # What is no record was told when they were read.
        rows = PlainRecords(path, lambda _: None).numbered() if numbered else ()
        for number, value in islice(rows, 1 + max(numbered, default=0)):
            for rest, locator in numbered.get(number, ()):
                yield from _followed(value, rest, locator)
        if inside and is_archive(path):
            with open_archive(path) as archive:
                for place in [*inside]:
                    name = place if place in archive else place.partition("[")[0]
                    if name in archive:
                        yield from _followed(archive.json(name), place.removeprefix(name), inside.pop(place))
        document = _document(path) if inside else None
        for place, locator in inside.items():
            yield from [*_followed(document, place, locator)] or _in_rows(document, place, locator)


def _document(path: Path) -> object:
    is_lines = read_head(path).shape == "lines"
    return [value for _, value in PlainRecords(path, lambda _: None).numbered()] if is_lines else load_json(path)


def _in_rows(document: object, place: str, locator: str) -> Iterator[tuple[str, Row]]:
    """Yield a row of a table that is no single list of its document: lists inside a list, or one list for each column."""
    if not (match := _ROW.fullmatch(place)):
        return
    try:
        rows = rows_at(document, match[1]) if match[1] else iter(oriented(document) or ())
        yield from ((locator, row) for row in islice(rows, int(match[2]), int(match[2]) + 1))
    except InputError:  # there are no rows at such a path
        return


def _followed(value: object, place: str, locator: str) -> Iterator[tuple[str, Row]]:
    """Yield what a place inside a value leads to, with the members on the way; nothing where it leads nowhere."""
    around: Row = {**as_dict(value)}
    while place := place.lstrip(". "):
        if match := _INDEX.match(place):
            elements, at, step = as_list(value), int(match[1]), match[0]
            if at >= len(elements):
                return
            value = elements[at]
        else:
            members = as_dict(value)
            # A name may hold dots and brackets itself: the longest that is there is meant.
            names = (name for name in members if name and place.startswith(name))
            step = max((name for name in names if place[len(name) :][:1] in ("", ".", "[", " ")), key=len, default="")
            if not step:
                return
            value = members[step]
        place = place[len(step) :]
        around |= as_dict(value)
    if around:
        yield locator, around


def _texts(record: Row, declared: Mapping[str, str], most_chars: int) -> dict[str, str]:
    """Return the texts of a record by what they are; no member is two of them."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name, usual in USUAL_TEXTS.items():
        for path in (*declared.get(name, "").split(), *usual.split()):
            if path in taken or name in found:
                continue
            text = _shown(_at(record, path))
            if text:
                taken.add(path)
                found[name] = text if len(text) <= most_chars else f"{text[:most_chars].rstrip()}…"
    return found


def _at(value: object, path: str) -> object:
    """Follow a dotted path: names of members (as people spell them), places in lists, the last one -1.

    >>> _at({"inputs.q": "2+2", "log": [{"text": "4"}]}, "inputs"), _at({"log": [{"text": "4"}]}, "log.-1.text")
    ({'q': '2+2'}, '4')
    """
    steps = path.split(".")
    for place, step in enumerate(steps):
        value = cell_value(value)
        if isinstance(value, list):
            elements, at = cast("list[object]", value), int(step) if step.lstrip("-").isdecimal() else None
            value = elements[at] if at is not None and -len(elements) <= at < len(elements) else None
            continue
        members = as_dict(value)
        rest = ".".join(steps[place:])
        if rest in members:
            return members[rest]
        known = {plain(name): name for name in reversed(members)}
        if step in members or step in known:
            value = members[step if step in members else known[step]]
            continue
        # A table writes the members of an object as columns: inputs.question, inputs.context.
        return {name[len(rest) + 1 :]: cell for name, cell in members.items() if name.startswith(f"{rest}.")} or None
    return value


def _shown(value: object, depth: int = 0) -> str:
    r"""Return a value as a reader sees it: messages of a chat a line each, members by name, anything else as JSON.

    >>> _shown(
    ...     [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}, {"role": "assistant", "content": "Yes?"}]
    ... )
    'user: Hi\nassistant: Yes?'
    >>> _shown({"question": "2+2"}), _shown({"a": 1, "b": None}), _shown(["4"])
    ('2+2', '1', '4')
    """
    value = cell_value(value)
    if depth > _DEEPEST:
        return json_text(value)
    if isinstance(value, list):
        shown = [_shown(each, depth + 1) for each in cast("list[object]", value)]
        roles = [as_text(each.get("role")) for each in dicts(cast("object", value))]
        if len(roles) == len(shown) and any(roles) and len(shown) > 1:
            shown = [f"{role}: {text}" if role else text for role, text in zip(roles, shown, strict=True)]
        return "\n".join(filter(None, shown))
    if isinstance(value, dict):
        scalars = [each for each in as_dict(cast("object", value)).values() if not isinstance(each, dict | list)]
        if len(scalars) > 2 and 2 * sum(isinstance(each, str) for each in scalars) < len(scalars):
            return ""  # counts and flags, and no text
        members = {
            name: text for name, each in as_dict(cast("object", value)).items() if (text := _shown(each, depth + 1))
        }
        for name in ("content", "text"):
            if name in members:
                return members[name]
        return (
            "\n".join(f"{name}: {text}" for name, text in members.items())
            if len(members) > 1
            else "".join(members.values())
        )
    return (as_text(value) or "").strip()
