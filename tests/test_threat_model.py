"""The page of threats names tests that are there, and the package has no means of what it rules out."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
MODULES = sorted((ROOT / "evalstats").rglob("*.py"))
RUNS = {"eval", "exec", "__import__"}
LOADS = {"marshal", "shelve", "dill", "cloudpickle", "joblib"}
NETWORK = {"socket", "ssl", "http", "urllib.request", "urllib3", "requests", "httpx", "aiohttp", "ftplib", "smtplib"}
# Work for the processes of one computation, packed by the process that started them.
PICKLES = {"evalstats/stats/computation.py"}
# Runs the cells of the pages that ship with the package, and of no other.
OUR_PAGES = {"evalstats/report/engine.py": {"exec"}}
LAZY_YAML = {"load", "load_all", "full_load", "unsafe_load"}
# Nothing of this can be in a module that has none of these words; most have none, and need not be read as code.
_HEADS = {name.partition(".")[0] for name in RUNS | LOADS | NETWORK}
WORDS = re.compile(rf"\b(?:{'|'.join(sorted(_HEADS | {'pickle', 'yaml', 'system', 'shell'}))})\b")


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def faults(source: str, path: str) -> set[str]:
    """Name what runs code or reaches the network in a module."""
    if not WORDS.search(source):
        return set()
    nodes = list(ast.walk(ast.parse(source)))
    ruled_out = LOADS | NETWORK | (set() if path in PICKLES else {"pickle"})
    found = {name for name in set(imported(nodes)) if any(f"{name}.".startswith(f"{each}.") for each in ruled_out)}
    for node in nodes:
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in RUNS:
                found.add(called.id)
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                dotted = f"{called.value.id}.{called.attr}"
                if (called.value.id == "yaml" and called.attr in LAZY_YAML) or dotted == "os.system":
                    found.add(dotted)
            found |= {"shell=True"} & {
                f"shell={ast.unparse(each.value)}" for each in node.keywords if each.arg == "shell"
            }
    return found


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("eval(cell)", "eval"),
        ("import pickle", "pickle"),
        ("from urllib.request import urlopen", "urllib.request"),
        ("from urllib import request", "urllib.request"),
        ("import yaml\nyaml.load(text)", "yaml.load"),
        ("run(command, shell=True)", "shell=True"),
    ],
)
def test_what_is_ruled_out_is_found(source: str, fault: str) -> None:
    assert fault in faults(source, "x.py")


def test_no_module_can_run_what_a_file_holds_or_reach_the_network() -> None:
    assert len(MODULES) > 100
    names = [(path, path.relative_to(ROOT).as_posix()) for path in MODULES]
    found = {name: faults(path.read_text(encoding="utf-8"), name) for path, name in names}
    assert {name: what for name, what in found.items() if what} == OUR_PAGES


def test_the_tests_that_the_page_names_are_there() -> None:
    named = re.findall(r"`(tests/[^`]+)`", PAGE)
    assert len(named) >= 10
    assert [name for name in named if not (ROOT / name).is_file()] == []
