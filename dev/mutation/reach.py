"""Which tests run which lines of a suite's folder: every test is traced once, and again when it or what it tests changes."""

import ast
import hashlib
import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from dev.mutation.chapters import PACKAGE, ROOT, Suite
from dev.mutation.mutants import Mutant, header

STORE = ROOT / "build" / "mutation"


def digest(files: Iterable[Path]) -> str:
    """Return a digest of files of the repository: their places in it and what they hold."""
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]


def shared_digest(suite: Suite) -> str:
    """Return the digest of what any test may depend on besides the code: helpers and values of the tests."""
    folders = [ROOT / place for place in suite.tests if place.startswith("tests/")]
    helpers = [file for folder in folders for file in folder.rglob("*.py") if not file.name.startswith("test_")]
    return digest([*helpers, *(ROOT / "tests" / "golden").glob("*.json")])


class Tracer:
    """Lines of a folder of the package that ran since `begin`."""

    def __init__(self, folder: Path) -> None:
        self._seen: set[tuple[str, int]] = set()
        self._left: dict[int, set[int]] = {}  # lines of a code object that have not run in this test
        self._lines: dict[int, frozenset[int]] = {}
        self._others: dict[int, CodeType] = {}  # code of other files; kept, so that an id stays its own
        self._kept: list[CodeType] = []
        self._prefix = str(folder)

    def begin(self) -> None:
        """Forget what ran, and trace."""
        self._seen, self._left = set(), {}
        sys.settrace(self._called)
        threading.settrace(self._called)  # of threads that the test starts

    def end(self) -> dict[str, list[int]]:
        """Stop, and return the lines by file."""
        sys.settrace(None)
        threading.settrace(None)
        out: dict[str, list[int]] = {}
        for file, line in sorted(self._seen):
            out.setdefault(str(Path(file).relative_to(PACKAGE)), []).append(line)
        return out

    def _called(self, frame: FrameType, *_: object) -> Any:
        code = frame.f_code
        name = id(code)
        if name in self._others:
            return None
        if name not in self._lines:
            if not code.co_filename.startswith(self._prefix):
                self._others[name] = code
                return None
            self._kept.append(code)
            self._lines[name] = frozenset(line for _, _, line in code.co_lines() if line is not None)
        left = self._left.setdefault(name, set(self._lines[name]))
        if not left:
            return None  # nothing new can be seen in it
        seen, file = self._seen, code.co_filename

        def line(frame: FrameType, event: str, _: object) -> Any:
            if event == "line" and frame.f_lineno in left:
                left.discard(frame.f_lineno)
                seen.add((file, frame.f_lineno))
            return line

        seen.add((file, frame.f_lineno))
        left.discard(frame.f_lineno)
        return line


class Reach:
    """What is known of every test: its seconds, whether it passes, and the lines that it runs."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.file = STORE / f"reach-{suite.name}.json"
        self.shared = shared_digest(suite)
        stored = json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {}
        known = stored.get("shared") == self.shared
        self.tests: dict[str, dict[str, Any]] = stored["tests"] if known else {}
        self.modules: list[str] = stored.get("modules", [])
        self._digests: dict[Path, str] = {}
        self._saved = time.monotonic()
        self._uses: dict[str, list[tuple[str, range]]] | None = None

    def of_file(self, path: Path) -> str:
        """Return the digest of a file."""
        return self._digests.setdefault(path, digest([path]))

    def knows(self, test: str, path: Path) -> bool:
        """Whether this test was traced as it is now, with all modules that it ran as they are now."""
        about = self.tests.get(test)
        return about is not None and about["state"] == self._state(path, about["lines"])

    def add(self, test: str, path: Path, about: dict[str, Any]) -> None:
        """Keep what was traced."""
        self.tests[test] = {"state": self._state(path, about["lines"]), **about}

    def _state(self, path: Path, files: Iterable[str]) -> str:
        parts = [
            self.of_file(path),
            *(self.of_file(PACKAGE / file) for file in sorted(files) if (PACKAGE / file).exists()),
        ]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]

    def save(self, *, now: bool = True) -> None:
        """Store what is known, or once in a while."""
        if now or time.monotonic() - self._saved > 30.0:
            STORE.mkdir(parents=True, exist_ok=True)
            part = self.file.with_suffix(".part")
            part.write_text(
                json.dumps({"shared": self.shared, "modules": self.modules, "tests": self.tests}), encoding="utf-8"
            )
            part.replace(self.file)
            self._saved = time.monotonic()

    def stamp(self, mutant: Mutant, tests: Iterable[str]) -> str:
        """Return a digest of the mutated file and of these tests with all that they run."""
        parts = [
            self.of_file(mutant.file),
            *(self.tests[test]["state"] if test in self.tests else "" for test in tests),
        ]
        return hashlib.sha256(" ".join([parts[0], *sorted(parts[1:])]).encode()).hexdigest()[:16]

    def reaching(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a mutated line, the quickest first."""
        places = [(str(mutant.file.relative_to(PACKAGE)), mutant.lines)]
        if not mutant.function:
            places = self._users(mutant.constant)
        found = [
            (about["seconds"], test)
            for test, about in self.tests.items()
            if about["passed"]
            and any(not lines.isdisjoint(about["sets"].get(file, ())) for file, lines in _as_sets(places))
        ]
        return [test for _, test in sorted(found)]

    def index(self) -> None:
        """Make the lines sets, once all tests are known."""
        for about in self.tests.values():
            about["sets"] = {file: frozenset(lines) for file, lines in about.pop("lines").items()}

    def _users(self, constant: str) -> list[tuple[str, range]]:
        if self._uses is None:
            self._uses = {}
            for file in self.suite.folder.rglob("*.py"):
                for name, lines in _names(ast.parse(file.read_text(encoding="utf-8"))):
                    self._uses.setdefault(name, []).append((str(file.relative_to(PACKAGE)), lines))
        return self._uses.get(constant, [])


def _as_sets(places: list[tuple[str, range]]) -> list[tuple[str, frozenset[int]]]:
    return [(file, frozenset(lines)) for file, lines in places]


def _names(tree: ast.Module) -> Iterator[tuple[str, range]]:
    """Give every name that a statement uses, with the statement's lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            lines = header(node)
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and part.lineno in lines:
                    yield part.id, lines
