"""Regular expressions meet cells of a million characters that somebody else wrote: none may take their square in steps."""

import pkgutil
import re
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType

import evalstats

# What plots and reports search is drawn or written by us.
_OUR_OWN = ("evalstats.plots", "evalstats.report")
_LENGTH, _SECONDS = 50_000, 10
_UNITS = (
    "9",
    " ",
    "a",
    "-",
    ".",
    "9.",
    "1,",
    "a ",
    "a_",
    "A1",
    "(",
    "(1",
    "[",
    "{a}",
    "/",
    "a/",
    "\n",
    "#",
    '"',
    '"a",',
    "|",
    ": ",
    "*",
)
_CALLS = re.compile(r"\b(?:[a-z_]+\.)?(_?[A-Z][A-Z0-9_]+)\.(search|match|fullmatch|findall|finditer|sub|split)\b")


def _used() -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Yield each pattern at the head of a module with where it stands and how it is applied."""
    for found in pkgutil.walk_packages(evalstats.__path__, "evalstats."):
        if found.name.startswith(_OUR_OWN) or found.ispkg or found.name.endswith("__main__"):
            continue
        source = Path(found.module_finder.path, f"{found.name.rpartition('.')[2]}.py").read_text(encoding="utf-8")
        calls = set(_CALLS.findall(source))
        if calls:
            values = vars(import_module(found.name))
            for name, method in sorted(calls):
                if isinstance(pattern := values.get(name), re.Pattern) and isinstance(pattern.pattern, str):
                    yield f"{found.name}.{name}", pattern, method


PATTERNS = {f"{name}.{method}": (pattern, method) for name, pattern, method in _used()}


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"still at work after {_SECONDS} s")


def _apply(pattern: re.Pattern[str], method: str, text: str) -> None:
    found = pattern.sub("", text) if method == "sub" else getattr(pattern, method)(text)
    if method == "finditer":
        list(found)


def test_no_pattern_takes_the_square_of_a_text_in_steps():
    """A quadratic one takes a minute for such a text, a linear one milliseconds: `\\s*x` starts anew at every blank."""
    assert len(PATTERNS) > 100
    before = signal.signal(signal.SIGALRM, _too_slow)
    slow = set[str]()
    try:
        for name, (pattern, method) in PATTERNS.items():
            for unit in _UNITS:
                signal.alarm(_SECONDS)
                try:
                    _apply(pattern, method, unit * (_LENGTH // len(unit)) + "\0")
                except TimeoutError:
                    slow.add(f"{name} on {unit!r}")
                    break
                finally:
                    signal.alarm(0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not slow
