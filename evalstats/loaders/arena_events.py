"""One turn with K answers, of which a user chose one or ranked all: pairs of models that share an event.

The record is our assumption (docs/assumed-formats.md): no arena has published votes of this shape.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from evalstats.loaders.arena_cells import MAX_CELL_CHARS, Winner
from evalstats.loaders.arena_naming import parsed_list
from evalstats.loaders.values import as_dict, as_list, as_number, as_text

# More answers side by side than this are no turn of a conversation, and K models make K*(K-1)/2 pairs.
MAX_MODELS: Final = 64
EVENT_KEYS: Final = frozenset({"models", "winner", "ranking"})
_DRAWS: Final = {
    **dict.fromkeys(("tie", "all_equal"), "tie"),
    **dict.fromkeys(("both_bad", "bothbad", "tie (bothbad)", "all_bad", "none_good"), "both_bad"),
}


def is_event(names: frozenset[str]) -> bool:
    """Whether a file with these columns holds events instead of pairs.

    Examples
    --------
    >>> is_event(frozenset({"models", "winner"})), is_event(frozenset({"models", "model_a", "winner"}))
    (True, False)
    """
    return "models" in names and bool(names & {"winner", "ranking"}) and "model_a" not in names


def pairs_of(record: Mapping[str, object], number: int) -> Iterator[tuple[dict[str, object], Winner]]:
    """Yield the pairs of one event, each with what the user said of it; nothing where fewer than two models are named.

    The model that was shown first is model a, so that which side won tells nothing of who won. A ranking gives all pairs,
    with ranks from 1; a choice gives the winner against each other model, and says nothing of the others among each other.

    Examples
    --------
    >>> event = {"models": ["x", "y", "z"], "winner": "y"}
    >>> [(pair["model_a"], pair["model_b"], winner.outcome) for pair, winner in pairs_of(event, 0)]
    [('x', 'y', 'b'), ('y', 'z', 'a')]
    >>> [winner.outcome for _, winner in pairs_of({"models": ["x", "y", "z"], "ranking": ["z", "x", "y"]}, 0)]
    ['a', 'b', 'b']
    """
    models = models_of(record)
    if len(models) < 2:
        return
    event = as_text(record.get("event_id")) or as_text(record.get("battle_id", record.get("id"))) or str(number)
    common = {name: value for name, value in record.items() if name not in EVENT_KEYS}
    common |= {"event_id": event, "event_size": len(models)}
    for (i, j), winner, ranks in _verdicts(record, models):
        yield (
            {
                **common,
                "battle_id": f"{event}.{i}-{j}",
                "model_a": models[i],
                "model_b": models[j],
                "rank_a": ranks[0],
                "rank_b": ranks[1],
            },
            winner,
        )


def models_of(record: Mapping[str, object]) -> list[str]:
    """Return the models of an event in the order in which they were shown; none where the list cannot be read."""
    models = [as_text(name) for name in _listed(record.get("models"))]
    named = [name for name in models if name and name.strip()]
    return named if len(named) == len(models) <= MAX_MODELS else []


_Verdict = tuple[tuple[int, int], Winner, tuple[int | None, int | None]]


def _verdicts(record: Mapping[str, object], models: list[str]) -> Iterator[_Verdict]:
    ranking = record.get("ranking")
    if ranking not in (None, "", [], {}):
        yield from _ranked(ranking, models)
        return
    raw = as_text(record.get("winner"))
    label = (raw or "").strip()
    if raw in models and models.count(raw) == 1:
        best = models.index(raw)
        for other in range(len(models)):
            if other != best:
                place = (min(best, other), max(best, other))
                yield place, Winner(raw=raw, outcome="a" if place[0] == best else "b"), (None, None)
        return
    draw = _DRAWS.get(label.lower())
    if draw is not None:
        for place in combinations(range(len(models)), 2):
            yield place, Winner(raw=raw, outcome=draw), (None, None)
        return
    missing = not label or label.lower() in {"nan", "none", "null"}
    reason = "there is no winner's label" if missing else "the winner is not one of the event's models"
    if raw in models:
        reason = "the winner stands more than once among the event's models"
    for other in range(1, len(models)):
        yield (0, other), Winner(raw=raw, reason=reason), (None, None)


def _ranked(ranking: object, models: list[str]) -> Iterator[_Verdict]:
    raw = (as_text(ranking) or str(ranking))[:200]
    ranks = _ranks(ranking, models)
    for i, j in combinations(range(len(models)), 2):
        if ranks is None:
            reason = "the ranking does not rank the event's models, each once"
            yield (i, j), Winner(raw=raw, reason=reason), (None, None)
        else:
            outcome = "tie" if ranks[i] == ranks[j] else "a" if ranks[i] < ranks[j] else "b"
            yield (i, j), Winner(raw=raw, outcome=outcome), (ranks[i], ranks[j])


def _ranks(ranking: object, models: list[str]) -> list[int] | None:
    """Return each model's rank from 1: of names best first (a list inside is a tie), name to rank, or ranks in order."""
    if len(set(models)) < len(models):
        return None
    by_name = as_dict(ranking)
    if by_name:
        listed: list[object] = [by_name.get(name) for name in models] if set(by_name) == set(models) else []
    else:
        listed = _listed(ranking)
    numbers = [as_number(value) for value in listed if not isinstance(value, bool)]
    if len(listed) == len(numbers) == len(models) and not set(map(as_text, listed)) & set(models):
        whole = [int(number) for number in numbers if number is not None and number.is_integer() and number >= 1]
        return whole if len(whole) == len(models) else None
    ranks: dict[str, int] = {}
    for group in listed:
        names = [as_text(name) or "" for name in (as_list(group) or [group])]
        rank = len(ranks) + 1
        for name in names:
            if name in ranks or name not in models:
                return None
            ranks[name] = rank
    return [ranks[name] for name in models] if len(ranks) == len(models) else None


def _listed(value: object) -> list[object]:
    """Return a list, which a cell of a CSV file holds as text."""
    if isinstance(value, str):
        return (parsed_list(value) or []) if len(value) <= MAX_CELL_CHARS else []
    return as_list(value)
