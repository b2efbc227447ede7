"""Names of columns in plain words, and the systems by which several of them are named."""

import re
from collections.abc import Iterable
from typing import Final

from evalstats.loaders.published_numbers import plain
from evalstats.loaders.roles import ANSWERS, ASKED, JUDGES, NO_SIDES, ROLES, names_a_model

# What is called so is a score beside others.
CALLED: Final = 0.67
# Also a name in camel case has words.
_CASED: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
IN_PARENTHESES: Final = re.compile(r"\s*\(([^()]*)\)\s*$")
_FIRST_OF: Final = re.compile(r"(?:@|_at_)(?:k|\d+)(?=_|$)|_(?:mean|avg|average)$")
_WORD: Final = re.compile(r"[^_\-./ ]+")
_MOST_WORDS, _MOST_SIDES = 8, 20


def words_of(name: str) -> str:
    """Return a column's name in plain words, without what is said of it in parentheses, or of the first how many (`hit@5`).

    >>> words_of("HITId"), words_of("Rating (1-5)"), words_of("Is Correct?"), words_of("recall_at_k")
    ('hit_id', 'rating', 'is_correct', 'recall')
    """
    return plain(_FIRST_OF.sub("", _CASED.sub("_", IN_PARENTHESES.sub("", name) or name)))


def is_called_score(name: str) -> bool:
    """Whether a column's name alone says that it holds scores.

    >>> is_called_score("is_correct"), is_called_score("answer")
    (True, False)
    """
    return ROLES["score"].weight(words_of(name)) >= CALLED


def crossed_names(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the systems by which names of columns are crossed with something, and the patterns that are; nothing for others.

    A side is whatever stands in the place of the star in all of its patterns. Metrics, answers, judges, splits are no sides.

    >>> crossed_names(["id", "old_f1", "old_em", "old_answer", "new_f1", "new_em", "new_answer"])
    (['old', 'new'], ['*_f1', '*_em', '*_answer'])
    >>> crossed_names(["a.old.f1", "a.old.text", "a.new.f1", "a.new.text"])
    (['old', 'new'], ['a.*.f1', 'a.*.text'])
    >>> crossed_names(["answer_relevance", "context_relevance", "answer_recall", "context_recall"])
    ([], [])
    """
    sides: dict[str, dict[str, None]] = {}
    for name in (name for name in names if "*" not in name):
        words = [found.span() for found in _WORD.finditer(name)][:_MOST_WORDS]
        for first, (start, _) in enumerate(words):
            for _, end in words[first:]:
                if end - start < len(name):
                    sides.setdefault(f"{name[:start]}*{name[end:]}", {})[name[start:end]] = None
    crossed: dict[frozenset[str], list[str]] = {}
    for pattern, found in sides.items():
        if not any(map(str.isalpha, pattern)) or names_a_model(pattern.replace("*", "")):
            continue  # the rest of a name is a metric's
        if 1 < len(found) <= _MOST_SIDES and 2 * sum(map(_is_no_side, found)) < len(found):
            crossed.setdefault(frozenset(found), []).append(pattern)
    best = max(crossed.values(), key=lambda each: (len(each), len("".join(sides[each[0]]))), default=list[str]())
    if len(best) < 2:
        return [], []
    # What stands in an object of each system (`answers.old.f1`) has the object's name in front.
    found = [*sides[best[0]]]
    heads = [found[0][: dot.end()] for dot in re.finditer(r"\.", found[0])]
    inside = max((head for head in heads if all(side.startswith(head) for side in found)), key=len, default="")
    return [side.removeprefix(inside) for side in found], [pattern.replace("*", f"{inside}*") for pattern in best]


def _is_no_side(word: str) -> bool:
    words = words_of(word)
    other = ANSWERS | ASKED | JUDGES | NO_SIDES
    return ROLES["score"].weight(words) > 0 or ROLES["score"].bars(words) or not other.isdisjoint(words.split("_"))
