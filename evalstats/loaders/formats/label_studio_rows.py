"""Label Studio: exports with a row an annotation (JSON_MIN, CSV), which put the task's data and the results into one row.

Only the project's settings tell which is which. Results are the members between `id` and `annotator` (JSON_MIN, whose data come
first), cells that list a result, and columns that differ between annotations of one task; a file where that finds nothing is
refused. What a result is, is that of the export as JSON.
"""

from collections.abc import Iterable
from typing import Any, Final, cast

from msgspec import ValidationError, convert

from evalstats.errors import Option, UnreadableFileError
from evalstats.loaders.files import cell_value
from evalstats.loaders.format import Format, FormatFile, Sample, Sign
from evalstats.loaders.formats.label_studio import UPSTREAM, ResultValue, take
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_text, as_time

# What every row says of its annotation.
_OF_ROW: Final = frozenset(
    {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history"}
)
# A longer cell is a text.
_MOST_CHARS: Final = 1_000


class _Table:
    """One export: its rows, which only together tell the results from the data."""

    def __init__(self, file: FormatFile[dict[str, Any]]) -> None:
        self.file = file
        self.kept: list[Row] = []

    def rows(self, row: dict[str, Any], /) -> Iterable[Sample]:
        """Keep a row, without its long texts."""
        if not as_text(row.get("id")) or row.get("annotation_id") is None:
            self.file.leave_out("no annotation" if row.get("annotation_id") is None else "no id")
        else:
            long = {name for name, cell in row.items() if isinstance(cell, str) and len(cell) > _MOST_CHARS}
            self.kept.append({name: cell for name, cell in row.items() if name not in long or name == "id"})
        return ()

    def finish(self) -> Iterable[Sample]:
        """Make ratings and votes of the results."""
        criteria = _criteria(self.kept, in_order=self.file.head.shape != "text")
        if self.kept and not criteria:
            options = (
                Option("map", blank="COLUMN", of="value"),
                Option("map", "annotator", of="rater"),
                Option("map", "id", of="item"),
            )
            raise UnreadableFileError(
                f"{self.file.path}: does not tell the annotators' results from the tasks' data, as no task was annotated twice; "
                f"export the project as JSON, or read it as a table of ratings: {' '.join(map(str, options))}"
            )
        for row in sorted(self.kept, key=_time):
            who = as_text(row.get("annotator")) or "annotator"
            known: Row = {"rater_kind": "human", "timestamp": as_time(_time(row))}
            for name in criteria:
                value = _result(row.get(name)) or row.get(name)
                if isinstance(value, ResultValue | str):
                    take(self.file, (as_text(row["id"]) or "", name, who), value, row, known)
        return ()


def _time(row: Row) -> str:
    return as_text(row.get("updated_at") or row.get("created_at")) or ""


def _criteria(rows: list[Row], *, in_order: bool) -> list[str]:
    """Return the members that hold results."""
    found: dict[str, None] = {}
    first: dict[tuple[str | None, str], object] = {}
    for row in rows:
        names = [*row]
        # With `id` at the head the data hold one of their own, and the order tells nothing.
        if in_order and names[0] != "id" and "annotator" in names:
            found |= dict.fromkeys(names[names.index("id") + 1 : names.index("annotator")])
        for name in (name for name in names if name not in _OF_ROW):
            if _result(cell := row[name]) is not None or first.setdefault((as_text(row["id"]), name), cell) != cell:
                found.setdefault(name)
    return [*found]


def _result(value: object) -> ResultValue | None:
    """Return the one result that a cell lists; None where it holds something else."""
    value = cell_value(value)
    if not isinstance(value, list) or len(cast("list[object]", value)) != 1:
        return None
    try:
        found = convert(cast("list[object]", value)[0], ResultValue)
    except (ValidationError, UnicodeError):
        return None
    return found if found != ResultValue() else None


FORMAT: Final = Format(
    name="label-studio-rows",
    title="Label Studio exports, a row an annotation (JSON_MIN, CSV)",
    version="1",
    upstream=UPSTREAM,
    benchmark="Label Studio",
    harness="Label Studio",
    signs=(Sign("id annotator annotation_id created_at updated_at lead_time", 0.9, shapes=("array", "text")),),
    record=dict[str, Any],
    rows=lambda record, file: file.state(_Table).rows(record),
    finish=lambda file: file.state(_Table).finish(),
    called="annotations",
)
