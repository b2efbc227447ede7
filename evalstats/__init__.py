"""evalstats turns LLM-evaluation results into defensible conclusions.

The whole public interface is listed in the stub beside this file; nothing heavy is imported until it is used.
"""

from functools import cache
from importlib import import_module
from os import PathLike, environ
from sys import modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


@cache
def _where() -> "Mapping[str, str]":
    """Return each public name, and the module that it comes from; who imports a module of ours alone needs none of it."""
    import ast
    from pkgutil import get_data

    return {
        name.name: str(node.module)
        for node in ast.parse(get_data(__name__, "__init__.pyi") or b"").body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name == "__version__":
        return import_module("importlib.metadata").version("evalstats-toolkit")
    if name == "__all__":
        return sorted(_where())
    if name not in _where():
        message = f"module 'evalstats' has no attribute {name!r}"
        raise AttributeError(message)
    # A package of the name of a public function can be called, and stays what it is once it is imported.
    own = f"{__name__}.{name}"
    found = (
        import_module(own)
        if _where()[name] == __name__ or name == "report"
        else getattr(import_module(_where()[name]), name)
    )
    data = modules.get(f"{__name__}.schema.data")
    if data is not None and not data.FIND_COLUMNS:
        data.FIND_COLUMNS.append(_found)
        data.AS_SIDES.append(_as_sides)
    return found


def _found(table: object, names: "Mapping[str, Collection[str]]") -> Any:
    """Read a path that is given where data are expected; find the columns of a table there, as those of a file are found."""
    is_path = isinstance(table, str | PathLike)
    if is_path and import_module("evalstats.store.manifest").is_store(table):
        return import_module("evalstats.store.read").open_store(table).read(), ""
    names = {**names}
    humans = names.pop("humans", ())
    if names.get("question") == "judges":
        data = import_module("evalstats.loaders.ratings").found_ratings(table, humans)
    elif is_path:
        data = import_module("evalstats.loaders.registry").read(table, **names)
    else:
        return import_module("evalstats.loaders.frames").found_columns(table, names)
    return data, "\n".join(str(problem) for problem in data.problems if problem.severity != "detail")


def _as_sides(targets: Any, parts: Any) -> Any:
    return import_module("evalstats.loaders.sides").as_sides(targets, parts)


def __dir__() -> list[str]:
    return sorted(_where())


# A page that a command makes names options as they are typed; the cells of a page of one's own run in a process of their own.
if "EVALSTATS_OPTIONS_TYPED" in environ:
    _typed = import_module("evalstats.cli.advice").on_the_shell()
    _typed.__enter__()
