"""HumanEval: whether each sampled completion passes the tests of its problem, as `evaluate_functional_correctness` writes it.

The problem is the item and its samples are trials, in the order of the file, so that pass@k can be estimated. A completion that
raised, was wrong or ran out of time failed; the harness keeps nothing of failures of its own.
"""

from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.format import RECORDS, Format, FormatFile, Sign
from evalstats.loaders.format_columns import series, verdicts
from evalstats.loaders.values import text_of

_PASSED: Final = "passed"


class _Sample(Struct):
    task_id: Any = None
    passed: Any = None
    result: Any = None


def _columns(records: list[_Sample], file: FormatFile[_Sample]) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "item": text_of(series([record.task_id for record in records])),
            "result": text_of(series([record.result for record in records])),
            "locator": file.locators,
        }
    ).hstack(verdicts([record.passed for record in records]))
    said = pl.col("result").str.split("\n").list.first().str.slice(0, 200)
    frame = frame.with_columns(
        metric=pl.lit("passed"),
        run=pl.lit(file.run(None)),
        status_reason=pl.coalesce("status_reason", pl.when(pl.col("result") != _PASSED).then(said)),
    )
    frame = file.without(frame, pl.col("item").is_null() | (pl.col("item") == ""), "no task_id")
    return frame.with_columns(trial=file.trials(frame.select("item"))).drop("result")


FORMAT: Final = Format(
    name="human-eval",
    title="HumanEval results (samples.jsonl_results.jsonl)",
    version="1",
    upstream="openai/human-eval at 6d43fb9, human_eval/evaluation.py",
    benchmark="HumanEval",
    harness="human-eval",
    signs=(Sign("task_id completion result passed", shapes=RECORDS),),
    record=_Sample,
    columns=_columns,
    called="samples",
    ending=".jsonl_results",
    metrics={"passed": {"kind": "binary", "low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
    unscored="{n} of {all} samples have no verdict; they are unscored",
)
