"""The six verdicts: their word, a sign beside the colour, and what each means."""

from collections.abc import Iterable
from typing import Final, get_args

from evalstats.analysis.compare.result import Verdict

SIGNS: Final[dict[Verdict, str]] = {
    "better": "▲",
    "worse": "▼",
    "equivalent": "=",
    "inconclusive": "?",
    "powerless": "?",
    "invalid": "×",
}
MEANINGS: Final[dict[Verdict, str]] = {
    "better": "the whole interval lies on the candidate's side of 0",
    "worse": "the whole interval lies on the baseline's side of 0",
    "equivalent": "the interval lies within the margin that was declared beforehand",
    "inconclusive": "neither a difference nor its absence is shown",
    "powerless": "there are too few data to answer the question, whatever they say",
    "invalid": "the data give no interval that could be relied on",
}


def word(verdict: Verdict) -> str:
    """Return the verdict's own word, as the terminal and the tables have it, with a capital.

    Examples
    --------
    >>> word("powerless")
    'Powerless'
    """
    return verdict.capitalize()


def glossary(verdicts: Iterable[Verdict]) -> str:
    """Say what each of these verdicts means, in the order in which they are given out.

    Examples
    --------
    >>> glossary(["worse", "invalid"])
    "Invalid: the data give no interval that could be relied on. Worse: the whole interval lies on the baseline's side of 0."
    """
    found = set(verdicts)
    known: tuple[Verdict, ...] = get_args(Verdict)
    return " ".join(f"{word(verdict)}: {MEANINGS[verdict]}." for verdict in known if verdict in found)
