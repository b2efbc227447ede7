"""The modules of evalstats as a graph: who imports whom, deferred and type-only imports included."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from evalstats.loaders.registry import BUILT_IN

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "evalstats"
_ENTRIES = (
    *("evalstats", "evalstats.__main__", "evalstats.cli.start"),
    *("evalstats.plots", "evalstats.testing", "evalstats.pytest_plugin"),
)

_IMPORT = re.compile(
    r"^ *(?:from (?P<of>evalstats[\w.]*) import (?P<parts>\([^)]*\)|.*)|import (?P<whole>evalstats\.[\w.]+))",
    re.MULTILINE,
)
_REFERENCE = re.compile(r"""["'](evalstats(?:\.\w+)+(?::\w+)?)["']""")

Graph = Mapping[str, set[str]]


def modules() -> dict[str, Path]:
    """Every module of evalstats with its file."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def import_graph(*, strings: bool = False) -> dict[str, set[str]]:
    """The modules that each module imports; with `strings` also those named as in "evalstats.cli.compare:command"."""
    known = modules()
    return {
        name: {
            module
            for named, _, imported in names_in(path)
            if (imported or strings) and (module := _module_of(named, known))
        }
        - {name}
        for name, path in known.items()
    }


@cache
def names_in(path: Path) -> tuple[tuple[str, int, bool], ...]:
    """Dotted names in a module and its stub, each with its line, and whether it is imported there or stands in a text."""
    stub = path.with_suffix(".pyi")
    sources = [path, *([stub] if stub.is_file() else [])]
    return tuple(found for each in sources for found in _names(each.read_text(encoding="utf-8")))


def _names(source: str) -> Iterator[tuple[str, int, bool]]:
    # By patterns, which is a tenth of the time of reading all of the package as code; they find the same names.
    for found in _IMPORT.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        parts = re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#.*", "", found["parts"] or ""))
        yield from ((f"{found['of']}.{part}", line, True) for part in parts)
        if found["whole"]:
            yield found["whole"], line, True
    for found in _REFERENCE.finditer(source):
        yield found[1].replace(":", "."), source.count("\n", 0, found.start()) + 1, False


def _module_of(name: str, known: Iterable[str]) -> str | None:
    """The module in which a dotted name stands; None outside evalstats."""
    parts = name.split(".")
    if parts[0] != "evalstats":
        return None
    return next(stem for end in range(len(parts), 0, -1) if (stem := ".".join(parts[:end])) in known)


def circles(graph: Graph) -> list[list[str]]:
    """Groups of modules that import one another in a circle, largest first."""
    reach = {name: reached(graph, [name]) for name in graph}
    groups = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph}
    return sorted((sorted(group) for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


def reached(graph: Graph, entries: Iterable[str]) -> set[str]:
    """The entries and all that they import, directly or by way of others."""
    done: set[str] = set()
    waiting = [name for name in entries if name in graph]
    while waiting:
        name = waiting.pop()
        if name not in done:
            done.add(name)
            waiting.extend(graph[name])
    return done


def circle_through(graph: Graph, members: Iterable[str]) -> list[str]:
    """One short circle among the members: each module imports the next, the last is the first."""
    among = set(members)
    best: list[str] = []
    for start in sorted(among):
        paths = [[start]]
        seen = {start}
        while paths and not (best and len(paths[0]) >= len(best)):
            path = paths.pop(0)
            for other in sorted(graph[path[-1]] & among):
                if other == start and (not best or len(path) + 1 < len(best)):
                    best = [*path, start]
                elif other not in seen:
                    seen.add(other)
                    paths.append([*path, other])
    return best


def unreachable() -> list[str]:
    """Modules that no public name, command, assertion or page reaches; the packages around a reached module count as reached."""
    known, graph = modules(), import_graph(strings=True)
    found = reached(graph, [*_ENTRIES, *_imported_by_pages(known)])
    found = reached(graph, [*found, *(module for module, _, _ in BUILT_IN)])
    # A result finds its document by its place: the module beside its own.
    beside = (f"{name.removesuffix('.result')}.document" for name in found if name.endswith(".result"))
    found = reached(graph, [*found, *beside])
    found |= {name.rsplit(".", depth)[0] for name in found for depth in range(1, name.count(".") + 1)}
    found = reached(graph, found)
    return sorted(set(graph) - found)


def _imported_by_pages(known: Iterable[str]) -> set[str]:
    names = (name for page in _pages() for name, _, imported in _names(page) if imported)
    return {module for name in names if (module := _module_of(name, known))}


def _pages() -> Iterator[str]:
    """The code of the cells of every page that ships."""
    for path in sorted((ROOT / "reports").glob("*.qmd")):
        yield "\n".join(
            re.findall(r"^```\{python\}\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        )


def in_circles(graph: Graph) -> int:
    """How many modules stand in some circle."""
    return sum(map(len, circles(graph)))


def circle_message(graph: Graph) -> str:
    """The circles in words: how many modules, and one short way round each."""
    return "\n".join(f"{len(group)} modules: {' -> '.join(circle_through(graph, group))}" for group in circles(graph))
