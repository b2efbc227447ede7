"""Which metadata of Inspect samples become columns, and under which names."""

import math
from typing import Final

from evalstats.loaders.values import as_text
from evalstats.schema.columns import column_names

# Longer text is a prompt or a document, not a level of a factor.
MAX_TEXT: Final = 1_000
MAX_FACTORS: Final = 200
# Columns that the loader fills itself, besides the standard ones.
_TAKEN: Final = frozenset({*column_names("outcomes"), "prompt_hash", "limit_reached"})
_PREFIX: Final = "metadata_"


class Factors:
    """Turn the metadata of samples into factors, and remember what was renamed or left out.

    Text, numbers and booleans become factors under their own names. A name that is a standard column gets the prefix
    `metadata_`. The scenario of a sample is its `scenario`, or else its `category`, where that is text.

    Examples
    --------
    >>> factors = Factors()
    >>> factors.of({"category": "law", "level": 3, "item": "x", "steps": [1, 2]})
    {'scenario': 'law', 'level': 3, 'metadata_item': 'x'}
    >>> factors.own_names
    ['category=scenario']
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._left_out: dict[str, None] = {}
        self._by_category = False

    @property
    def own_names(self) -> list[str]:
        """The metadata's own names of standard columns, as `own=standard`."""
        return ["category=scenario"] if self._by_category else []

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of metadata left out since their text is long or there were too many names."""
        return tuple(self._left_out)

    def of(self, metadata: dict[str, object]) -> dict[str, object]:
        """Return the factors of one sample."""
        found: dict[str, object] = {}
        scenario = next((key for key in ("scenario", "category") if isinstance(metadata.get(key), str)), None)
        for key, value in metadata.items():
            if not isinstance(value, str | int | float | bool):
                continue
            if key == scenario:
                self._by_category = self._by_category or key == "category"
                found["scenario"] = as_text(value)
            elif self._has_room(key) and not (isinstance(value, str) and len(value) > MAX_TEXT):
                found[_column(as_text(key) or key)] = _level(value)
            elif len(self._left_out) < MAX_FACTORS:
                self._left_out.setdefault(key)
        return found

    def _has_room(self, key: str) -> bool:
        if len(self._names) < MAX_FACTORS:
            self._names.add(key)
        return key in self._names


def _level(value: object) -> object:
    if isinstance(value, str):
        return as_text(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _column(key: str) -> str:
    """Return a column's name for a key; no two keys get the same one."""
    bare = key
    while bare.startswith(_PREFIX):
        bare = bare.removeprefix(_PREFIX)
    return f"{_PREFIX}{key}" if bare in _TAKEN or not bare else key
