"""A question that several tests of a module ask of the same data is answered once.

These tests look at what a command makes of its options and of an answer, which is computed as ever, but not again for each
form in which it is shown.
"""

from collections.abc import Iterator
from functools import wraps
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from evalstats.schema.columns import TABLES
from evalstats.schema.data import EvalData


def answered_once(module: ModuleType, name: str) -> Iterator[None]:
    """Keep the answers of the function of that name, for a fixture of a module to yield from."""
    answer, known = getattr(module, name), dict[str, Any]()

    @wraps(answer)
    def kept(*data: Any, **options: Any) -> Any:
        held = [each for each in (*data, *options.values()) if isinstance(each, EvalData)]
        asked = {
            name: value for name, value in options.items() if name != "on_step" and not isinstance(value, EvalData)
        }
        if not held or any(isinstance(value, pl.LazyFrame) for value in asked.values()):
            return answer(*data, **options)
        key = repr(([contents(each) for each in held], sorted(asked.items())))
        if key not in known:
            known[key] = answer(*data, **options)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, kept)
        yield


def contents(data: EvalData) -> list[tuple[int, int]]:
    """Tell two sets of data apart by all that their tables hold."""
    tables = [data.table(name) for name in TABLES]
    return [(table.height, table.hash_rows().sum() if table.height else 0) for table in tables]
