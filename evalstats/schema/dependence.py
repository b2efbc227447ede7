"""Columns that make items dependent by what they are called: passages, templates, users, sessions, conversations."""

from collections.abc import Iterable, Iterator

import polars as pl

from evalstats.errors import Option

# Names that make rows dependent as soon as a column is mapped to them.
DEPENDENT = ("passage", "template", "user", "session")
# Further names by which a column is presumed to do so; each also ends in "id" (conversation_id, threadId).
CONVERSATIONS = ("conversation", "dialogue", "dialog", "session", "thread")

_ITEM = ("benchmark", "task", "item", "variant")
_SHARED = {*DEPENDENT, *CONVERSATIONS}


def is_shared_by_name(name: str) -> bool:
    """Whether a column is called like something that items share, with "id" behind it or without.

    >>> [
    ...     name
    ...     for name in ("conversation", "threadId", "Session ID", "thread_count", "item_id")
    ...     if is_shared_by_name(name)
    ... ]
    ['conversation', 'threadId', 'Session ID']
    """
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return plain in _SHARED or (plain.removesuffix("id") in _SHARED)


class Presumed:
    """Columns called passage, template, user, session, conversation or thread that the user has not said anything about.

    One of them makes items dependent if every item has one level of it, and some items share one. A session that
    each row has for itself, or a user that differs from one answer to the same item to the next, groups no items.

    >>> rows = {"benchmark": ["b"] * 3, "task": [""] * 3, "item": ["1", "2", "3"], "variant": [""] * 3}
    >>> presumed = Presumed(["passage", "session"])
    >>> presumed.add(pl.DataFrame({**rows, "passage": ["x", "x", "y"], "session": ["s", "t", "u"]}))
    >>> presumed.held()
    ['passage']
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._pairs = {name: pl.DataFrame(schema={"item": pl.UInt64, "level": pl.UInt64}) for name in names}
        self._empty: set[str] = set()

    def add(self, frame: pl.DataFrame) -> None:
        """Take note of the levels of some outcomes."""
        for name, known in self._pairs.items():
            level = frame[name].cast(pl.String)
            if level.null_count():
                self._empty.add(name)
            items = frame.select(_ITEM).hash_rows(seed=0).alias("item")
            new = pl.DataFrame([items, level.hash(seed=0).alias("level")]).filter(level.is_not_null())
            self._pairs[name] = pl.concat([known, new]).unique()

    def held(self) -> list[str]:
        """Names of the columns by which items are dependent."""
        return [name for name in self._pairs if not self._differs(name) and self._is_shared(name)]

    def notes(self) -> Iterator[str]:
        """Say what was made of each."""
        held = self.held()
        for name in self._pairs:
            if name in held:
                yield (
                    f"items that share a {name} count as dependent, since a column is called {name}; "
                    f"{Option('cluster', 'none')} takes every item as independent"
                )
            elif self._differs(name) and self._is_shared(name):
                yield (
                    f"column {name} is empty in places or differs within an item, so items are not clustered by it; "
                    f"to insist: {Option('map', name, of='dependence')}"
                )

    def _differs(self, name: str) -> bool:
        return name in self._empty or self._pairs[name]["item"].n_unique() < self._pairs[name].height

    def _is_shared(self, name: str) -> bool:
        return self._pairs[name]["level"].n_unique() < self._pairs[name]["item"].n_unique()
