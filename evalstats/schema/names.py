"""Names of models and levels as the tables hold them, where somebody gives a number instead."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Final, cast

import numpy as np
import polars as pl

from evalstats.errors import InputError
from evalstats.grammar import comma_list

_TRUTH: Final[tuple[type, ...]] = (bool, np.bool_)
_NUMBERS: Final = (Real, *_TRUTH)


def name_of(value: object, dtype: pl.DataType | None = None) -> str:
    """Return a name or level as tables write it; text stays as it is, and 1.0 is the 1 that a table shows.

    Parameters
    ----------
    value
        Text, a number or a truth value, of Python or numpy.
    dtype
        Of the column that holds it, where that may be a factor: one of floating point writes 1 as 1.0.

    Raises
    ------
    InputError
        If it is none of these.

    Examples
    --------
    >>> [name_of(value) for value in ("1.0", 1, 1.0, 1.5, True, np.int64(7))]
    ['1.0', '1', '1', '1.5', 'true', '7']
    >>> name_of(1, pl.Float64())
    '1.0'
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, _TRUTH):
        return "true" if value else "false"
    floating = dtype is not None and dtype.is_float()
    if isinstance(value, Integral) and not floating:
        return str(int(value))
    if isinstance(value, Real):
        text = str(pl.Series([float(value)]).cast(pl.String).item())
        return text if floating else text.removesuffix(".0")
    raise InputError(f"{value!r} is no name; give a text or a number")


def names_of(values: object, dtype: pl.DataType | None = None) -> tuple[str, ...]:
    """Return one name, or all of several (a list, an array, a column), as tables write them.

    >>> names_of("a"), names_of([1, 2.0]), names_of(np.array([3]))
    (('a',), ('1', '2'), ('3',))
    """
    if isinstance(values, Iterable) and not isinstance(values, str):
        return tuple(name_of(each, dtype) for each in cast("Iterable[object]", values))
    return (name_of(values, dtype),)


def as_names(value: object, dtype: pl.DataType | None = None) -> object:
    """Return an argument that holds names (one, several, or the keys of a mapping) with numbers written as tables do.

    None, and what holds text alone, is returned as it is.

    >>> as_names(None), as_names(1), as_names(["a", 2]), as_names({1: 0.5, "b": 0.5})
    (None, '1', ('a', '2'), {'1': 0.5, 'b': 0.5})
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return pairs if all(isinstance(key, str) for key in pairs) else _keyed(pairs, dtype)
    if isinstance(value, Iterable):
        held = tuple(cast("Iterable[object]", value))
        plain = isinstance(value, list | tuple | set | frozenset) and all(isinstance(each, str) for each in held)
        return cast("object", value) if plain else names_of(held, dtype)
    return name_of(cast("object", value), dtype) if isinstance(value, _NUMBERS) else value


def _keyed(pairs: Mapping[object, object], dtype: pl.DataType | None) -> dict[str, object]:
    """Return a mapping by names; two keys of one name are refused, since one would be lost."""
    named = {name_of(key, dtype): each for key, each in pairs.items()}
    if len(named) < len(pairs):
        raise InputError(f"two of {', '.join(map(repr, pairs))} are the same name; give each once")
    return named


def unknown_name(name: str, known: list[str], *, what: str = "model", most: int = 10) -> str:
    """Say that a name is not known, what comes closest, and what there is.

    >>> print(unknown_name("gpt4o", ["gpt-4o", "claude"]))
    no model 'gpt4o'; closest: gpt-4o; all 2: gpt-4o, claude
    """
    close = (
        get_close_matches(name, known, n=3, cutoff=0.5) or [each for each in known if name.lower() in each.lower()][:3]
    )
    closest = f"; closest: {', '.join(name if name == name.strip() else repr(name) for name in close)}" if close else ""
    return f"no {what} {name!r}{closest}; all {len(known):,}: {comma_list(known, most)}"
