"""Explain a result in plain words: what was asked, how it was answered, what that takes for granted, what it means.

The words for methods are in `evalstats.analysis.method_texts`; other kinds of results join with `add_explainer`.
"""

from collections.abc import Callable
from typing import Any

from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.explaining.arena import explain_arena
from evalstats.analysis.explaining.comparison import explain_comparison
from evalstats.analysis.explaining.leaderboard import explain_leaderboard
from evalstats.analysis.explaining.mixed import explain_mixed
from evalstats.analysis.explaining.scenarios import explain_scenarios
from evalstats.analysis.explaining.score import explain_score
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.analysis.mixed.result import MixedModel
from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.analysis.score.result import Score
from evalstats.document.blocks import Block
from evalstats.document.text import to_text
from evalstats.errors import InputError

__all__ = ["add_explainer", "explain", "explain_text"]

_EXPLAINERS: dict[type, Callable[[Any], list[Block]]] = {
    Comparison: explain_comparison,
    Score: explain_score,
    Leaderboard: explain_leaderboard,
    ScenarioModel: explain_scenarios,
    MixedModel: explain_mixed,
    ArenaRanking: explain_arena,
}


def explain(result: object) -> list[Block]:
    """Return the explanation of a result as neutral blocks.

    Parameters
    ----------
    result
        What `compare`, `score`, `leaderboard`, `scenarios`, `mixed` or `arena` gave, or another
        result whose kind was added.

    Raises
    ------
    InputError
        If nothing is known of results of that kind.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.compare.compare import compare
    >>> blocks = explain(compare(datasets.tenacious_held_out(), "baseline", "trained"))
    >>> blocks[0].text
    'trained against baseline: what this result says'
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

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.score.score import score
    >>> print(explain_text(score(datasets.tenacious_held_out(), "trained"))[:56])
    trained on Tenacious-Bench: what this score says
    =======
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
