"""TruLens: the frame of records and feedback (`get_records_and_feedback`), saved as CSV, JSON or Parquet.

A feedback function is a metric: a column beside which `<name>_calls` stands, whose `<name> direction` says whether more is
better. The item is a digest of the input, since ids of records are new in each run; the app and its version are the system. A
feedback without a number was not evaluated, or failed, which the frame does not tell: it is unscored.
"""

from collections.abc import Iterator
from typing import Any, Final

from evalstats.loaders.format import RECORDS, TABLE, Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.records import item_of
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_amount, as_text, as_time

_CALLS: Final = "_calls"
_DIRECTION: Final = " direction"
_PART: Final = ":::"
_BETTER: Final = {"true": True, "false": False, "1": True, "0": False}


def _rows(record: dict[str, Any], file: FormatFile[dict[str, Any]]) -> Iterator[Sample]:
    item, feedback = item_of(record.get("input")), _feedback(record)
    if item is None:
        file.leave_out("no input")
        return
    names = [as_text(record.get(name)) for name in ("app_name", "app_version")]
    run = file.run(" ".join(filter(None, names)) or as_text(record.get("app_id")))
    shared: Row = {"run": run, "item": item}
    shared |= {"latency_s": as_amount(record.get("latency")), "cost_usd": as_amount(record.get("total_cost"))}
    shared["timestamp"] = as_time(record.get("ts"))
    for name in feedback:
        direction = as_text(record.get(f"{name.partition(_PART)[0]}{_DIRECTION}"))
        if name not in file.metrics:
            file.metric(as_text(name) or "", higher_is_better=_BETTER.get((direction or "").lower()))
    if feedback:
        yield shared, [(as_text(name) or "", number(record[name])) for name in feedback]
    else:
        file.leave_out("no feedback")


def _feedback(record: dict[str, Any]) -> list[str]:
    """Return the columns of feedback, and those of a feedback's several results."""
    named = {name.removesuffix(_CALLS) for name in record if name.endswith(_CALLS)}
    return [name for name in record if name in named or (_PART in name and name.partition(_PART)[0] in named)]


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
    rows=_rows,
    repeated=True,
)
