"""What is advised can be typed: no text below the commands holds an option, and every option that one names is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

import evalstats
from evalstats.cli.advice import as_typed
from evalstats.cli.main import app
from evalstats.errors import Option

PACKAGE = Path(evalstats.__file__).parent
OPTION = re.compile(r"(?<![\w-])(?<!var\()--[a-z]")
# What is written for a shell: how a flag is declared beside its question, the command that gives a result again, and the
# command lines of other programs.
FOR_A_SHELL = (
    "questions.py", "analysis/brief.py", "analysis/settings.py", "pytest_plugin.py", "report/engine.py", "report/kernel.py",
)  # fmt: skip
# Names of files that another program makes of its own options.
NAMES_OF_FILES = ("loaders/formats/bigcodebench.py",)
MODULES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
BELOW = [
    name
    for name in MODULES
    if not name.startswith("cli/") and name not in (*FOR_A_SHELL, *NAMES_OF_FILES) and not name.endswith("options.py")
]


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the constants of a module that are no docstrings."""
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, described) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_no_text_below_the_commands_holds_an_option() -> None:
    sources = {name: MODULES[name].read_text(encoding="utf-8") for name in BELOW}
    found = [
        f"{name}, line {line}: {text!r}"
        for name, source in sources.items()
        if OPTION.search(source)
        for line, text in texts(ast.parse(source))
        if OPTION.search(text)
    ]
    assert not found, "name it by its argument: errors.Option(...)"


def named() -> set[str]:
    """Return the first argument of every `Option(...)` of advice."""
    source = "".join(MODULES[name].read_text(encoding="utf-8") for name in BELOW)
    return set(re.findall(r"""(?<![\w.])Option\(\s*["'](\w+)["']""", source))


def offered() -> set[str]:
    """Return all flags of all commands."""
    group: Any = get_command(app)
    parameters = [each for command in group.commands.values() for each in command.params]
    return {flag for each in parameters for flag in (*each.opts, *each.secondary_opts)}


def test_every_option_that_is_named_can_be_typed() -> None:
    flags = {name: as_typed([Option(name, value=True)]).split(" ")[0] for name in named()}
    assert {name: flag for name, flag in flags.items() if flag not in offered()} == {}
