"""What the house measures: sizes, calls, helpers, names; `make house` prints it and holds it against `dev/house.json`.

python dev/house.py            print the figures beside the stored ones
python dev/house.py --store    store today's figures
"""

import ast
import inspect
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS, STORED = ROOT / "evalstats", ROOT / "tests", ROOT / "dev" / "house.json"
_N = 60


def sources(folder: Path) -> dict[Path, str]:
    """Every module of a folder, by its path."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def sizes() -> dict[str, float]:
    """Lines and modules, functions, dataclasses, names of classes, and private functions with one caller."""
    package, tests = sources(PACKAGE), sources(TESTS)
    trees = {path: ast.parse(text) for path, text in package.items()}
    lengths = {path: text.count("\n") for path, text in package.items()}
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    named = Counter(node.name for node in classes if not node.name.startswith("_"))
    decorated = [ast.unparse(each) for node in classes for each in node.decorator_list]
    single, private = _one_caller(package, trees)
    return {
        "lines of evalstats": sum(lengths.values()),
        "modules of evalstats": len(package),
        "largest module": max(lengths.values()),
        "lines of loaders": sum(n for path, n in lengths.items() if PACKAGE / "loaders" in path.parents),
        "lines of tests": sum(text.count("\n") for text in tests.values()),
        "functions": sum(1 for tree in trees.values() for _ in functions(tree)),
        "private functions with one caller, %": round(100 * single / private, 1),
        "dataclasses": sum(each.split("(")[0].endswith(("dataclass", "record")) for each in decorated),
        "class names with several meanings": sum(n > 1 for n in named.values()),
    }


def _one_caller(package: dict[Path, str], trees: dict[Path, ast.Module]) -> tuple[int, int]:
    """Count the private functions of modules, and those whose name stands once beside its definition."""
    single = total = 0
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_") and not node.name.startswith("__"):
                total += 1
                single += len(re.findall(rf"\b{re.escape(node.name)}\b", package[path])) == 2
    return single, total


def declared() -> dict[str, float]:
    """Count the most places where one option of `compare` is declared: as a parameter, or as an annotated field."""
    import evalstats

    wanted = [name for name in inspect.signature(evalstats.compare).parameters if name not in {"data", "seed"}]
    places: dict[str, int] = defaultdict(int)
    for path, text in sources(PACKAGE).items():
        if path.parent.name not in {"compare", "comparisons", "cli"} and path.name != "options.py":
            continue
        tree = ast.parse(text)
        for node in functions(tree):
            if node.name == "compare":
                for each in (*node.args.args, *node.args.kwonlyargs):
                    places[each.arg] += 1
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and "Option" in ast.unparse(node.annotation)
            ):
                places[node.target.id] += 1
    return {"places where an option of compare is declared, at most": max(places[name] for name in wanted)}


def entered(call: Callable[[], object]) -> dict[str, set[tuple[str, int]]]:
    """Return the functions of the package that a call runs through, by module ("analysis/compare/compare")."""
    seen: dict[str, set[tuple[str, int]]] = defaultdict(set)

    def watch(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<"):
            module = Path(code.co_filename).relative_to(PACKAGE).with_suffix("").as_posix()
            seen[module].add((code.co_name, code.co_firstlineno))

    call()  # what is imported at the first call is no part of it
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return dict(seen)


def questions() -> dict[str, Callable[[], object]]:
    """Each question on a small table."""
    import random

    import polars as pl

    import evalstats as es

    draw = random.Random(1)  # noqa: S311 - a table, no secret
    rows = [
        {"item": f"q{i}", "model": m, "score": float(draw.random() < share), "category": "ab"[i % 2]}
        for i in range(_N)
        for m, share in (("A", 0.5), ("B", 0.7), ("C", 0.6))
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")
    from evalstats.simulate.lab_live import simulate_lab_live

    world = simulate_lab_live(8, seed=1)
    return {
        "compare": lambda: es.compare(data, "A", "B").document(),
        "score": lambda: es.score(data, name="A").document(),
        "leaderboard": lambda: es.leaderboard(data).document(),
        "scenarios": lambda: es.scenarios(data, scenario="category").document(),
        "audit": lambda: es.audit(data).document(),
        "gap": lambda: es.gap(world.lab, world.live).document(),
    }


def calls() -> dict[str, float]:
    """Modules and functions that each question enters."""
    found: dict[str, float] = {}
    for name, call in questions().items():
        try:
            seen = entered(call)
        except Exception as error:  # noqa: BLE001 - a question that fails has no figure
            sys.stderr.write(f"{name}: {type(error).__name__}: {error}\n")
            continue
        found[f"modules that {name} enters"] = len(seen)
        found[f"functions that {name} enters"] = sum(map(len, seen.values()))
    return found


def main(arguments: list[str]) -> None:
    """Print the figures, and store them where that is asked for."""
    figures = {**sizes(), **declared(), **calls()}
    stored: dict[str, float] = json.loads(STORED.read_text()) if STORED.is_file() else {}
    for name, value in figures.items():
        before = stored.get(name)
        print(f"{name:<62} {value:>9,} {'' if before in (None, value) else f'(stored: {before:,})'}")
    if "--store" in arguments:
        STORED.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
