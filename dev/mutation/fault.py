"""A mutant put into the running program: no file changes, and nothing is imported again."""

import ast
import gc
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

from dev.mutation.chapters import PACKAGE, ROOT
from dev.mutation.mutants import Mutant, compiled, functions_of, mutated, program_of

Functions: TypeAlias = Mapping[str, list[FunctionType]]


def live_functions() -> dict[str, list[FunctionType]]:
    """Return every function object of evalstats that there is, however decorated, by its file."""
    gc.unfreeze()  # frozen objects are not listed
    out: dict[str, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(str(PACKAGE)):
            out.setdefault(thing.__code__.co_filename, []).append(thing)
    return out


def put(mutant: Mutant, functions: Functions) -> bool:
    """Make this process run the mutant; False where nothing that lives in it changes."""
    if not mutant.function:
        return _constant(mutant)
    if ("args", None) in mutant.path:
        return _default(mutant, functions)
    new = functions_of(compiled(mutant))
    changed = False
    for function in functions.get(str(mutant.file), []):
        old = function.__code__
        code = new.get((old.co_qualname, old.co_firstlineno))
        if code is not None and program_of(code) != program_of(old):
            function.__code__ = code
            changed = True
    return changed


def _constant(mutant: Mutant) -> bool:
    statement: Any = mutated(mutant).body[mutant.path[0][1] or 0]
    home, name = _module(mutant.file), mutant.constant
    old, new = home.__dict__[name], _value(statement.value, home)
    for module in list(sys.modules.values()):  # the name may have been imported elsewhere
        space = getattr(module, "__dict__", {})
        if getattr(module, "__name__", "").startswith("evalstats") and space.get(name) is old:
            space[name] = new
    return True


def _default(mutant: Mutant, functions: Functions) -> bool:
    at = mutant.path.index(("args", None))
    node: Any = mutated(mutant)
    for step, index in mutant.path[:at]:
        node = getattr(node, step) if index is None else getattr(node, step)[index]
    home, changed = _module(mutant.file), False
    for function in functions.get(str(mutant.file), []):
        if function.__qualname__ == mutant.function:
            if node.args.defaults:
                function.__defaults__ = tuple(_value(each, home) for each in node.args.defaults)
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            function.__kwdefaults__ = {each.arg: _value(value, home) for each, value in pairs if value is not None}
            changed = True
    return changed


def _value(node: ast.expr, home: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), home.__file__ or "", "eval"), home.__dict__)  # noqa: S307 - our own code


def _module(file: Path) -> ModuleType:
    name = file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    return sys.modules[name]
