"""What loaders of a lab's judged pairs share: the row of a judgement, and marks of judgements that stand twice."""

from collections.abc import Iterable
from typing import Final

from evalstats.errors import InputError
from evalstats.loaders.arena_cells import Winner
from evalstats.loaders.arena_tally import Tally

TWICE_SHOWN: Final = 5


def judged(
    winner: Winner, tally: Tally, *, run: str, battle: str, model_a: str, model_b: str, **more: object
) -> dict[str, object]:
    """Make a row of `comparisons` of one judgement, and count its label.

    Examples
    --------
    >>> row = judged(Winner(raw="A>B", outcome="a"), Tally(), run="r", battle="1", model_a="m", model_b="n")
    >>> row["outcome"], row["status"], row["setting"]
    ('a', 'scored', 'lab')
    """
    itself = model_a == model_b
    if itself:
        winner = Winner(raw=winner.raw, reason="a model against itself")
    tally.count_winner(winner, against_itself=itself)
    return {
        "run": run,
        "battle": battle,
        "model_a": model_a,
        "model_b": model_b,
        "outcome": winner.outcome,
        "strength": winner.strength,
        "setting": "lab",
        "status": "scored" if winner.outcome else "unscored",
        "status_reason": winner.reason,
        "value_raw": winner.raw,
        **more,
    }


class Once:
    """Refuses a second judgement of the same name.

    Examples
    --------
    >>> once = Once("line")
    >>> once.add("q1", 1)
    >>> once.add("q1", 2)
    Traceback (most recent call last):
    evalstats.errors.InputError: 'q1' is judged twice (line 2 is the second); drop the copies
    """

    def __init__(self, word: str) -> None:
        self._word = word
        self._seen: set[str] = set()

    def add(self, name: str, place: int) -> None:
        """Take note of a judgement.

        Raises
        ------
        InputError
            If there was one of that name before.
        """
        if name in self._seen:
            message = f"{name!r} is judged twice ({self._word} {place} is the second); drop the copies"
            raise InputError(message)
        self._seen.add(name)


def some_of(places: Iterable[object]) -> str:
    """Name a few places in words.

    Examples
    --------
    >>> some_of([1, 2]), some_of(range(9))
    ('1, 2', '0, 1, 2, 3, 4, ...')
    """
    listed = [str(place) for place in places]
    return ", ".join(listed[:TWICE_SHOWN]) + (", ..." if len(listed) > TWICE_SHOWN else "")
