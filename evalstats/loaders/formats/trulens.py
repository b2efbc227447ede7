"""TruLens: the frame of records and feedback (`get_records_and_feedback`), saved as CSV, JSON or Parquet.

A feedback function is a metric: a column beside which `<name>_calls` stands, whose `<name> direction` says whether more is
better. The item is a digest of the input, since ids of records are new in each run; the app and its version are the system. A
feedback without a number was not evaluated, or failed, which the frame does not tell: it is unscored.
"""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from evalstats.loaders.format import RECORDS, TABLE, Format, FormatFile, Sign
from evalstats.loaders.record_columns import members_of
from evalstats.loaders.rows import Row, item_of
from evalstats.loaders.values import as_text

_CALLS: Final = "_calls"
_PART: Final = ":::"
_BETTER: Final = {"true": True, "false": False, "1": True, "0": False}


def _feedback(rows: Sequence[Row], file: FormatFile[Row]) -> dict[str, str]:
    """Return the columns of feedback, and those of a feedback's several results."""
    names = members_of(rows)
    called = {name.removesuffix(_CALLS) for name in names if name.endswith(_CALLS)}
    found = [name for name in names if name in called or (_PART in name and name.partition(_PART)[0] in called)]
    for name in found:
        direction = f"{name.partition(_PART)[0]} direction"
        told = next((text for row in rows if (text := as_text(row.get(direction)))), "")
        file.metric(as_text(name) or "", higher_is_better=_BETTER.get(told.lower()))
    return {as_text(name) or "": name for name in found}


FORMAT: Final = Format(
    name="trulens",
    title="TruLens records and feedback (get_records_and_feedback)",
    version="1",
    upstream="truera/trulens at 97f531a, src/core/trulens/core/database/base.py and sqlalchemy.py",
    benchmark="TruLens",
    harness="TruLens",
    signs=(
        Sign(
            "record_id app_id input output",
            0.95,
            some="app_name app_version app_json record_json",
            like=(r".+_calls",),
            shapes=(*RECORDS, *TABLE),
        ),
    ),
    record=dict[str, Any],
    fields={
        "item": lambda row: item_of(row.get("input")),
        "model": "app_name",
        "_version": "app_version",
        "_app": "app_id",
        "latency_s": "latency",
        "cost_usd": "total_cost",
        "timestamp": "ts",
    },
    scores=_feedback,
    arranged=lambda frame, _: frame.with_columns(
        model=pl.concat_str("model", "_version", separator=" ", ignore_nulls=True)
        .replace("", None)
        .fill_null(pl.col("_app"))
    ),
    repeated=True,
)
