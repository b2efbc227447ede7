"""Explain a result in plain words: what was asked, how it was answered, what that takes for granted, what it means.

The words for methods are in `evalstats.analysis.method_texts`; other kinds of results join with `add_explainer`.
"""

from collections.abc import Callable
from typing import Any

from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.explaining.arena import explain_arena
from evalstats.document.blocks import Block
from evalstats.document.text import to_text
from evalstats.errors import InputError

__all__ = ["add_explainer", "explain", "explain_text"]

_EXPLAINERS: dict[type, Callable[[Any], list[Block]]] = {
    ArenaRanking: explain_arena,
}


def explain(result: object) -> list[Block]:
    """Return the explanation of a result as neutral blocks.

    Parameters
    ----------
    result
        What `arena` gave, or another
        result whose kind was added.

    Raises
    ------
    InputError
        If nothing is known of results of that kind.
    """
    for kind, explainer in _EXPLAINERS.items():
        if isinstance(result, kind):
            return explainer(result)
    known = ", ".join(kind.__name__ for kind in _EXPLAINERS)
    message = f"a {type(result).__name__} cannot be explained; results that can: {known}"
    raise InputError(message)


def explain_text(result: object, *, width: int = 80) -> str:
    """Return the explanation of a result as plain text.

    Parameters
    ----------
    result
        As for `explain`.
    width
        Longest line, in characters.
    """
    return to_text(explain(result), width=width)


def add_explainer(kind: type, explainer: Callable[[Any], list[Block]]) -> None:
    """Say how results of a kind are explained.

    Raises
    ------
    InputError
        If that is said already.
    """
    if kind in _EXPLAINERS:
        message = f"{kind.__name__} has an explanation already"
        raise InputError(message)
    _EXPLAINERS[kind] = explainer
