"""LangSmith: the file that the page of an experiment offers.

It has whole inputs, outputs and reference in a cell each, then a column for each key of feedback and what was measured. Its
columns may be renamed, hidden and broken out there: feedback is what holds numbers and is no known fact.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, cast

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.format import Format, FormatFile, Sign
from evalstats.loaders.formats.langsmith import FORMAT, NO_VALUE, WORDS
from evalstats.loaders.record_columns import members_of
from evalstats.loaders.records import item_of
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_number

_PAGE_NAMES: Final = {"reference_output": "reference_outputs", "latency_seconds": "latency", "model_name": "model"}
# Columns that are no feedback.
_PAGE_FACTS: Final = re.compile(
    r"inputs|outputs|reference_outputs|(?:.*_)?(?:id|name|status|error|run|created_at|modified_at|start_time|end_time|latency|time"
    r"|duration|tokens?|cost|url|split|model|repetition|metadata|tags|notes?|comments?|first_token|)"
)
_LOOKED_AT: Final = 1_000


@lru_cache(maxsize=1_000)
def _page_name(name: str) -> str:
    """Return a column's name as the page of an experiment may have it, spelled in one way; that of feedback as it is."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    plain = _PAGE_NAMES.get(plain, plain)
    return plain if _PAGE_FACTS.fullmatch(plain) else name


def _page(rows: list[Row], file: FormatFile[Any]) -> tuple[list[Row], pl.Series]:
    found = [{_page_name(name): value for name, value in row.items()} for row in rows]
    for row in found:
        if row.get("error") is None and str(row.get("status")).lower() == "error":
            row["error"] = "the run failed; the file does not say why"
    return found, file.locators


def _columns_of_feedback(rows: Sequence[Row], file: FormatFile[Any]) -> dict[str, str]:
    """Return the columns that are no known fact and hold numbers, or words for right and wrong, wherever they hold anything."""
    if "feedback" not in file.kept:
        names = [name for name in members_of(rows[:1]) if not _PAGE_FACTS.fullmatch(_page_name(name))]
        cells = {name: {str(row[name]).strip().lower() for row in rows[:_LOOKED_AT]} - NO_VALUE for name in names}
        file.kept["feedback"] = found = {
            name: name
            for name, texts in cells.items()
            if texts and all(text in WORDS or as_number(text) is not None for text in texts)
        }
        if not found:
            raise UnreadableFileError(
                f"{file.source.path}: has no column of feedback, one with a number in each row; "
                f"found {comma_list(file.head.columns, 12)}"
            )
    return cast("dict[str, str]", file.kept["feedback"])


PAGE: Final[Format[Any]] = replace(
    FORMAT,
    name="langsmith-page",
    title="LangSmith's page of an experiment (.csv)",
    signs=(
        Sign(
            confidence=0.6,
            like=(r"(?i)[\W_]*inputs[\W_]*", r"(?i)[\W_]*outputs[\W_]*", r"(?i)[\W_]*reference[\W_]+outputs?[\W_]*"),
            shapes=("text",),
        ),
    ),
    inner=_page,
    fields={"model": "model", "latency_s": "latency", "error": "error", "_example": "example_id"},
    scores=_columns_of_feedback,
    asked=("inputs", "reference_outputs"),
    cells=("inputs", "reference_outputs"),
    identity=item_of,
)
