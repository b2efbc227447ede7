"""A name is what it is: in every form of every result it stands as the file wrote it, whatever it looks like to a program.

Each result is made twice, of names like options, commands and calls and of plain ones; the two may differ in the names alone.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evalstats.analysis.result import Result
from evalstats.document.escape import for_html, one_line
from evalstats.document.formats import to_html, to_markdown
from evalstats.document.terminal import headline, to_text
from tests.report import hostile_results

# What a pattern would take for an option, a command, an argument, or the word at a sentence's start. In the order of their
# letters, since tables are.
LIKE_OPTIONS = {
    "MODELS": ("--metric x", "`evalstats audit`", "a (b in Python)", "gpt --max-tokens 5", "gpt-4o"),
    "SCENARIOS": ("(in from_frame: x)", "--cluster none", "`y`", "data.where(...)"),
    "METRIC": "rate --average macro",
    "BENCHMARK": "suite --where a=b",
}
LIKE_WORDS = {
    "MODELS": ("answers", "baseline", "gpt-4o", "items", "live"),
    "SCENARIOS": ("clusters", "easy", "scores", "the"),
    "METRIC": "correct",
    "BENCHMARK": "evalstats",
}


def plain_of(names: dict[str, Any]) -> dict[str, Any]:
    """Return names that no pattern takes for anything, in the same order among all others."""
    return {
        kind: tuple(f"{name[:2]}q{kind[0]}{k}" for k, name in enumerate(given))
        if isinstance(given, tuple)
        else f"q{kind[0]}"
        for kind, given in names.items()
    }


def made(kind: str, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Result:
    with monkeypatch.context() as patch:
        for name, value in names.items():
            patch.setattr(hostile_results, name, value)
        return hostile_results.MAKERS[kind]()


def flat(names: dict[str, Any]) -> Sequence[str]:
    return [*names["MODELS"], *names["SCENARIOS"], names["METRIC"], names["BENCHMARK"]]


def forms(result: Result) -> dict[str, str]:
    """Return what is said in every form; code, which quotes names for a shell, is compared elsewhere, as are digests."""
    document = result.document()
    words = replace(document, method=tuple(part for part in document.method if part.id != "code"))
    told = {
        "line": headline(document),
        "text": " ".join(to_text(words, full=True, width=100_000).replace("─", "").split()),
        "summary": result.summary(),
        "explain": result.explain(),
        "Markdown": to_markdown(words),
        "HTML": to_html(words),
    }
    # Which names are set as code depends on their letters; what they say does not.
    told["Markdown"] = _ESCAPED.sub("", _CODE.sub(r"\1", told["Markdown"]))
    told["HTML"] = re.sub(r"</?code[^>]*>", "", told["HTML"])
    return {form: _DIGEST.sub("digest", text) for form, text in told.items()}


SHOWN = {
    "line": one_line,
    "text": one_line,
    "summary": one_line,
    "explain": one_line,
    "Markdown": one_line,
    "HTML": for_html,
}
_CODE = re.compile(r"(?<![\\`])`([^`]+)`(?!`)")
_DIGEST = re.compile(r"(?<=~)[0-9a-f]{8}\b|\b[0-9a-f]{64}\b")
_ESCAPED = re.compile(r"\\(?=[!-/:-@\[-`{-~])")


# Each takes a second for every set of names.
LONG = ("arena", "items", "lab-live", "overview", "scenarios")


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        *(pytest.param(kind, LIKE_OPTIONS, id=f"{kind}-options") for kind in hostile_results.RESULTS),
        *(
            pytest.param(kind, LIKE_WORDS, id=f"{kind}-words", marks=[pytest.mark.slow] if kind in LONG else [])
            for kind in hostile_results.RESULTS
        ),
    ],
)
def test_a_name_stands_as_it_is(kind: str, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    others = plain_of(names)
    plain, odd = forms(made(kind, others, monkeypatch)), forms(made(kind, names, monkeypatch))
    for form, text in plain.items():
        replaced = dict(zip(map(SHOWN[form], flat(others)), map(SHOWN[form], flat(names)), strict=True))
        expected = re.sub("|".join(map(re.escape, replaced)), lambda found, names=replaced: names[found[0]], text)
        assert odd[form] == expected, form
